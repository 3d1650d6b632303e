// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Store buffering: a CPU's load passes its own earlier store. The pattern behind
 * every "set the mask, then read the entry" race (models/switch-mm-barrier.c).
 *
 *	CPU 0		CPU 1
 *	x = 1		y = 1
 *	[fence]		[fence]
 *	r0 = y		r1 = x
 */
#include <tlblab/check.h>

struct state {
	u64 x, y;
	u64 r0, r1;	/* each its thread's own */
};

#define S ((struct state *)check_state())

static u64 store_then_load(u64 *mine, u64 *other)
{
	mach_store(mine, 1, MACH_RELAXED);
	if (check_option("fence"))
		mach_fence(MACH_SMP_MB);
	return mach_load(other, MACH_RELAXED);
}

static void p0(void)
{
	S->r0 = store_then_load(&S->x, &S->y);
}

static void p1(void)
{
	S->r1 = store_then_load(&S->y, &S->x);
}

static void final(void)
{
	check_outcome("r0=%d r1=%d", (int)S->r0, (int)S->r1);
}

CHECK_MODEL(sb,
	.what = "store buffering",
	.arch = CHECK_ALL_ARCHS,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.final = final,
	.option = { CHECK_ON_OFF("fence", "smp_mb() between store and load") },
	.thread = { { "P0", 0, { USER(p0) } }, { "P1", 1, { USER(p1) } } },
	.expect = { { "fence=off", "pass" }, { "fence=on", "pass" } },
	.outcome = {
		{ "r0=0 r1=0", CHECK_ALL_ARCHS, "fence=off" },
		{ "r0=0 r1=1", CHECK_ALL_ARCHS, NULL },
		{ "r0=1 r1=0", CHECK_ALL_ARCHS, NULL },
		{ "r0=1 r1=1", CHECK_ALL_ARCHS, NULL },
	})
