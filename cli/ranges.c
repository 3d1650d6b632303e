// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/ranges.h"

/* A number of 64 bits for each (seed, index): splitmix64's finaliser. */
static u64 draw(u64 seed, u64 index)
{
	u64 z = (seed + 1) * 0x9e3779b97f4a7c15ULL + index * 0xd1342543de82ef95ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#define GROUP_INDEX 100000U

static void draw_cost(struct cost *c, u64 seed, u32 index)
{
	u64 u = draw(seed, c->group ? GROUP_INDEX + c->group : index);
	u64 span = c->hi_ps - c->lo_ps + 1;

	if (!c->given || c->kind == COST_PUBLISHED)
		return;
	c->ps = c->lo_ps + (u64)(((unsigned __int128)u * span) >> 64);
}

void ranges_draw(const struct machine_desc *desc, u64 seed,
		 struct machine_desc *drawn)
{
	*drawn = *desc;
	for (u32 i = 0; i < MACH_NR_COSTS; i++)
		draw_cost(&drawn->core_cost[i], seed, i);
	for (u32 i = 0; i < HW_NR_COSTS; i++)
		draw_cost(&drawn->hw_cost[i], seed, MACH_NR_COSTS + i);
}
