// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A huge entry is made not present with a load and a store, and hardware sets
 * its dirty bit in between.
 *
 * Linux, series "mm: use updated pmdp_invalidate() interface to track
 * dirty/accessed bits" (2017-18).
 *
 *	CPU 0: split			CPU 1: user
 *	read the PMD: clean
 *					store; the walker sets D in the PMD
 *	store it, not present: D is gone
 *	flush
 *	the page is clean, says the first read
 *
 * Rule: LOST-DIRTY. The fix exchanges the entry in one atomic step and asks the value
 * that it replaced.
 *
 * The huge page here is the first 2 MiB of memory. Of it, one allocated frame is
 * stored to.
 */
#include <tlblab/check.h>

#define HUGE_VA 0x40000000UL
#define CPUS 0x3

struct state {
	u64 root, frame, *pmd;
	struct mach_lock ptl;
	u32 page_dirty;		/* PG_dirty of the compound page */
};

#define S ((struct state *)check_state())
#define VA (HUGE_VA + (S->frame << 12))

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pmd = check_map(S->root, HUGE_VA, 0, CHECK_READ | CHECK_WRITE | CHECK_HUGE);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

static u64 pmdp_invalidate(u64 *pmdp)
{
	u64 pmd;

	if (check_option("bug")) {
		pmd = mach_load(pmdp, MACH_RELAXED);
		mach_store(pmdp, pmd & ~X86_PTE_P, MACH_RELAXED);
	} else {
		pmd = mach_rmw(pmdp, MACH_AND, ~X86_PTE_P, 0, MACH_FULL);
	}
	check_x86_flush_page(CPUS, HUGE_VA);
	return pmd;
}

/* __split_huge_pmd_locked(), up to where the dirty bit has found a home. */
static void split_huge_pmd(void)
{
	u64 pmd;

	mach_spin_lock(&S->ptl);
	pmd = pmdp_invalidate(S->pmd);
	if (pmd & X86_PTE_D)
		(void)mach_rmw(&S->page_dirty, MACH_OR, 1, 0, MACH_FULL);
	mach_spin_unlock(&S->ptl);
}

static void store(void)
{
	check_user_store(VA, 7);
}

/* Reclaim drops a page that is clean, here and in the entry. */
static void final(void)
{
	u64 pmd = mach_load(S->pmd, MACH_RELAXED);
	bool pmd_dirty = check_present(pmd) && (pmd & X86_PTE_D);

	if (!pmd_dirty && !mach_load(&S->page_dirty, MACH_RELAXED) &&
	    mach_load(check_frame(S->frame), MACH_RELAXED))
		check_fail("LOST-DIRTY", "a clean page was written to");
}

CHECK_MODEL(pmdp_invalidate,
	.what = "a huge entry is invalidated without atomicity, and loses its dirty bit",
	.arch = CHECK_X86,
	.cpus = 2,
	.frames = 512,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.final = final,
	.option = { CHECK_BUG("load, then store, as before 4.17") },
	.thread = {
		{ "split", 0, { KERNEL(split_huge_pmd) } },
		{ "user", 1, { USER(store) } },
	},
	.expect = {
		{ "bug=on", "LOST-DIRTY" },
		{ "bug=off", "pass" },
	})
