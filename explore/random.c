// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uniform random choice at every question. Execution number i of a seed is the
 * same in any process. Ends only by its budget: nothing here is ever complete.
 */
#include "explore/search.h"

struct random {
	struct rng rng;
	struct xchoices *choices;
};

static u32 random_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct random *r = ctx;
	u32 i = rng_below(&r->rng, n);

	(void)running;
	choices_add(r->choices, (u16)xagent_id(enabled[i].agent_kind, enabled[i].agent_index));
	return i;
}

static u32 random_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct random *r = ctx;
	u32 value = rng_below(&r->rng, n);

	(void)kind;
	choices_add(r->choices, (u16)value);
	return value;
}

enum search_end search_random(struct search *s)
{
	struct random r = { .choices = &s->choices };
	const struct xchooser chooser = { .pick = random_pick, .choose = random_choose, .ctx = &r,
		.bare = true };
	u64 index;

	while (!search_over(s) && search_next_seed(s, &index)) {
		rng_seed(&r.rng, s->how->seed, index);
		s->choices.n = 0;
		if (!search_execute(s, &chooser, false))
			continue;
		if (!s->workers)
			return SEARCH_FOUND;
		workers_found_seed(s, index);
	}
	return SEARCH_OVER;
}
