// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 2+2W: two CPUs write two words in opposite orders. Do both words end with the
 * value that was written first?
 *
 *	CPU 0		CPU 1
 *	x = 1		y = 1
 *	[wmb]		[wmb]
 *	y = 2		x = 2
 */
#include <tlblab/check.h>

struct state {
	u64 x, y;
};

#define S ((struct state *)check_state())

static void two_stores(u64 *first, u64 *second)
{
	mach_store(first, 1, MACH_RELAXED);
	if (check_option("fence"))
		mach_fence(MACH_SMP_WMB);
	mach_store(second, 2, MACH_RELAXED);
}

static void p0(void)
{
	two_stores(&S->x, &S->y);
}

static void p1(void)
{
	two_stores(&S->y, &S->x);
}

static void final(void)
{
	check_outcome("x=%d y=%d", (int)mach_load(&S->x, MACH_RELAXED),
		      (int)mach_load(&S->y, MACH_RELAXED));
}

CHECK_MODEL(two_plus_two_w,
	.what = "2+2W",
	.arch = CHECK_ALL_ARCHS,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.final = final,
	.option = { CHECK_ON_OFF("fence", "smp_wmb() between the stores") },
	.thread = { { "P0", 0, { USER(p0) } }, { "P1", 1, { USER(p1) } } },
	.expect = { { "fence=off", "pass" }, { "fence=on", "pass" } },
	.outcome = {
		{ "x=1 y=1", CHECK_ARM64 | CHECK_POWERPC, "fence=off" },
		{ "x=1 y=2", CHECK_ALL_ARCHS, NULL },
		{ "x=2 y=1", CHECK_ALL_ARCHS, NULL },
		{ "x=2 y=2", CHECK_ALL_ARCHS, NULL },
	})
