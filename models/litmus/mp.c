// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Message passing: is what was written before the flag seen by who sees the
 * flag? (A pending flag and the entries that it announces, reference: the numa
 * pending-flag bug of 2013, Linux af2c1401e6f9.)
 *
 *	CPU 0		CPU 1
 *	x = 1		r0 = y
 *	[wmb]		[rmb]
 *	y = 1		r1 = x
 */
#include <tlblab/check.h>

enum { FENCE_NONE, FENCE_WMB, FENCE_RMB, FENCE_BOTH };

struct state {
	u64 x, y;
	u64 r0, r1;	/* P1's */
};

#define S ((struct state *)check_state())

static void p0(void)
{
	mach_store(&S->x, 1, MACH_RELAXED);
	if (check_option("fence") & FENCE_WMB)
		mach_fence(MACH_SMP_WMB);
	mach_store(&S->y, 1, MACH_RELAXED);
}

static void p1(void)
{
	S->r0 = mach_load(&S->y, MACH_RELAXED);
	if (check_option("fence") & FENCE_RMB)
		mach_fence(MACH_SMP_RMB);
	S->r1 = mach_load(&S->x, MACH_RELAXED);
}

static void final(void)
{
	check_outcome("r0=%d r1=%d", (int)S->r0, (int)S->r1);
}

CHECK_MODEL(mp,
	.what = "message passing",
	.arch = CHECK_ALL_ARCHS,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.final = final,
	.option = { {
		.name = "fence",
		.values = (const char *const[]){ "none", "wmb", "rmb", "both", NULL },
		.max = FENCE_BOTH,
		.meaning = "which of the two fences are there",
	} },
	.thread = { { "P0", 0, { USER(p0) } }, { "P1", 1, { USER(p1) } } },
	.expect = {
		{ "fence=none", "pass" }, { "fence=wmb", "pass" },
		{ "fence=rmb", "pass" }, { "fence=both", "pass" },
	},
	.outcome = {
		{ "r0=0 r1=0", CHECK_ALL_ARCHS, NULL },
		{ "r0=0 r1=1", CHECK_ALL_ARCHS, NULL },
		{ "r0=1 r1=1", CHECK_ALL_ARCHS, NULL },
		/* Either half alone is not enough, but on x86. */
		{ "r0=1 r1=0", CHECK_ARM64 | CHECK_POWERPC, "fence=none" },
		{ "r0=1 r1=0", CHECK_ARM64 | CHECK_POWERPC, "fence=wmb" },
		{ "r0=1 r1=0", CHECK_ARM64 | CHECK_POWERPC, "fence=rmb" },
	})
