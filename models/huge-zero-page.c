// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The huge page of zeroes is freed by a shrinker before its last translation is flushed.
 *
 * Linux "thp: keep huge zero page pinned until tlb flush" (2016).
 *
 *	CPU 0: zap			CPU 1: user		CPU 2: shrinker
 *					VA -> Z, 2 MiB, is in
 *					its TLB
 *	lock PMD; clear it; unlock
 *	drop the reference to Z
 *								none is left: free Z
 *					load VA: Z is free
 *	flush: too late
 *
 * Rule: STALE-READ. Z is counted, but was no page of the gather, which frees what it holds behind
 * its flush. The fix has the gather drop the reference. One frame stands for the 512 of Z,
 * and a page for the 2 MiB: which size the entry has does not matter here.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define CPUS 0x3	/* mm_cpumask: the shrinker is no thread of the mm */

struct state {
	u64 root, zero, *pmd;
	struct mach_lock ptl;
	u32 refs;		/* huge_zero_refcount: one of the mm, one of the shrinker */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->zero = check_alloc_frame();
	S->pmd = check_map(S->root, VA, S->zero, CHECK_READ);
	mach_store(&S->refs, 2, MACH_RELAXED);
}

static void cpu_init(void)
{
	if (CPUS & 1 << mach_env()->cpu)
		check_load_root(S->root, 0);
}

static void put_huge_zero_page(void)
{
	(void)mach_rmw(&S->refs, MACH_ADD, -1, 0, MACH_FULL);
}

/* zap_huge_pmd(), and the gather's end. */
static void zap(void)
{
	bool early = check_option("bug");

	mach_spin_lock(&S->ptl);
	(void)mach_rmw(S->pmd, MACH_XCHG, 0, 0, MACH_FULL);
	mach_spin_unlock(&S->ptl);
	if (early)
		put_huge_zero_page();
	check_x86_flush_page(CPUS, VA);
	if (!early)
		put_huge_zero_page();
}

/* shrink_huge_zero_page_scan(). */
static void shrink(void)
{
	if (mach_rmw(&S->refs, MACH_CMPXCHG, 0, 1, MACH_FULL) == 1)
		check_free_frame(S->zero);
}

static void load(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(huge_zero_page,
	.what = "the huge page of zeroes is dropped before the flush",
	.arch = CHECK_X86,
	.cpus = 3,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("drop the reference as the entry is cleared, as before 2016") },
	.thread = {
		{ "zap", 0, { KERNEL(zap) } },
		{ "user", 1, { USER(load) } },
		{ "shrinker", 2, { KERNEL(shrink) } },
	},
	.expect = {
		{ "bug=on", "STALE-READ" },
		{ "bug=off", "pass" },
	})
