// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gup_fast looks again at the PTE alone, and khugepaged replaces the page under it.
 *
 * Linux 70cbc3cc78a9 "mm: gup: fix the fast GUP race against THP collapse" (2022).
 *
 *	CPU 1: gup_fast, interrupts off	CPU 0: collapse
 *	read the PMD: a table; the PTE: F
 *					clear the PMD, flush (a broadcast: nobody is
 *					interrupted)
 *					F has one reference, as it should
 *	take a reference to F
 *	the PTE is as it was: keep it
 *					copy F to H, map H, drop F
 *	a device writes to F: nobody reads it any more
 *
 * Rule: LOST-WRITE. The fix looks at the PMD as well. (scenarios/collapse-walker.tlb
 * has the other half, the table that goes away meanwhile.)
 */
#include <tlblab/check.h>

#define VA 0x40000000UL
#define ASID 1UL
#define HUGE (VA + (2UL << 20))	/* one frame stands for the huge page; it has a table of its own */

struct state {
	u64 root, frame, copy;
	u64 *pmd;
	u64 huge;		/* what the PMD is to be */
	struct mach_lock ptl;
	u32 refs;		/* of frame */
	u32 collapsed;
	bool pinned;		/* CPU 1's */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->copy = check_alloc_frame();
	check_map(S->root, VA, S->frame, CHECK_RW);
	S->pmd = check_entry(S->root, VA, 1);
	check_map(S->root, HUGE, S->copy, CHECK_RW);
	S->huge = mach_load(check_entry(S->root, HUGE, 1), MACH_RELAXED);
	mach_store(&S->refs, 1, MACH_RELAXED);
}

static void cpu_init(void)
{
	check_load_root(S->root, ASID);
}

/* gup_pte_range(), and what the pin is for. */
static void gup_fast_and_write(void)
{
	bool irqs = mach_irq_save();
	u64 pmd = mach_load(S->pmd, MACH_RELAXED), pte, *ptep;

	if (!check_present(pmd))
		goto out;
	ptep = check_frame(check_pfn(pmd)) + (VA >> 12 & 511);
	pte = mach_load(ptep, MACH_RELAXED);
	/* Of the new page the references do not matter here. */
	if (!check_present(pte) || check_pfn(pte) != S->frame)
		goto out;
	(void)mach_rmw(&S->refs, MACH_ADD, 1, 0, MACH_FULL);
	if ((!check_option("bug") && mach_load(S->pmd, MACH_RELAXED) != pmd) ||
	    mach_load(ptep, MACH_RELAXED) != pte) {
		(void)mach_rmw(&S->refs, MACH_ADD, -1, 0, MACH_FULL);
		goto out;
	}
	S->pinned = true;
	mach_store(check_frame(S->frame), 7, MACH_RELAXED);
out:
	mach_irq_restore(irqs);
}

/* collapse_huge_page(). The old table is set aside as it is. */
static void collapse(void)
{
	u64 pmd;

	mach_spin_lock(&S->ptl);
	pmd = mach_rmw(S->pmd, MACH_XCHG, 0, 0, MACH_FULL);
	mach_fence(MACH_DSB_ISHST);
	mach_arm64_tlbi(ASIDE1IS, ASID << 48);
	mach_fence(MACH_DSB_ISH);
	if (mach_load(&S->refs, MACH_RELAXED) == 1) {
		mach_copy_frame(S->copy, S->frame);
		pmd = S->huge;
		mach_store(&S->collapsed, 1, MACH_RELAXED);
		mach_fence(MACH_DSB_ISHST);
	}
	mach_store(S->pmd, pmd, MACH_RELAXED);
	mach_spin_unlock(&S->ptl);
}

static void final(void)
{
	if (S->pinned && mach_load(&S->collapsed, MACH_RELAXED) &&
	    mach_load(check_frame(S->copy), MACH_RELAXED) != 7)
		check_fail("LOST-WRITE", "what was written through the pin is in no page");
}

CHECK_MODEL(gup_collapse,
	.what = "gup_fast keeps a page that khugepaged replaces (it looked at the PTE alone)",
	.arch = CHECK_ARM64,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.final = final,
	.option = { CHECK_BUG("look again at the PTE, not at the PMD, as before 6.1") },
	.thread = {
		{ "collapse", 0, { KERNEL(collapse) } },
		{ "gup", 1, { KERNEL(gup_fast_and_write) } },
	},
	.expect = {
		{ "bug=on", "LOST-WRITE" },
		{ "bug=off", "pass" },
	})
