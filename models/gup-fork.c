// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gup_fast pins a page for a device while a fork makes it the child's as well.
 *
 * Linux 57efa1fe5957 "mm/gup: prevent gup_fast from racing with COW during fork" (2020).
 *
 *	CPU 0: fork			CPU 1: gup_fast, no lock
 *					read the entry: F, writable
 *	F is not pinned: share it
 *					pin F
 *					the entry is as it was: keep F
 *	write-protect the entry
 *	user: write, which copies F to G
 *					the device writes to F: nobody reads it any more
 *
 * Rule: LOST-WRITE. A pinned page is copied for the child, so that the parent keeps it: but F was
 * pinned behind the look. The fix has fork count up write_protect_seq before and behind, and
 * gup_fast gives up a page (to go the slow way, under the mmap_lock) if that was odd or has changed.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define CPUS 0x3

struct state {
	u64 root, frame, copy, *pte;
	struct mach_lock ptl;
	u32 write_protect_seq;
	u32 pincount;		/* of frame */
	u32 shared;		/* under ptl: the child maps frame as well */
	bool pinned;		/* CPU 1's */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->copy = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_RW);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

/* copy_page_range() and copy_present_pte(). */
static void fork(void)
{
	mach_store(&S->write_protect_seq, 1, MACH_RELAXED);
	mach_fence(MACH_SMP_WMB);
	mach_spin_lock(&S->ptl);
	if (!mach_load(&S->pincount, MACH_RELAXED)) {
		(void)mach_rmw(S->pte, MACH_AND, ~X86_PTE_W, 0, MACH_FULL);
		S->shared = 1;
	}
	mach_spin_unlock(&S->ptl);
	mach_fence(MACH_SMP_WMB);
	mach_store(&S->write_protect_seq, 2, MACH_RELAXED);
	check_x86_flush_page(CPUS, VA);
}

/* do_wp_page() */
static int fault(u64 va, u32 flags)
{
	(void)va, (void)flags;
	mach_spin_lock(&S->ptl);
	if (S->shared) {
		(void)mach_rmw(S->pte, MACH_XCHG, 0, 0, MACH_FULL);
		check_x86_flush_page(CPUS, VA);
		mach_copy_frame(S->copy, S->frame);
		mach_store(S->pte, check_leaf(S->copy, CHECK_RW), MACH_RELAXED);
		S->shared = 0;
	}
	mach_spin_unlock(&S->ptl);
	return 0;
}

static void store(void)
{
	check_user_store(VA, 5);
}

static bool pin(void)
{
	u64 pte = mach_load(S->pte, MACH_RELAXED);

	if (!(pte & X86_PTE_W) || check_pfn(pte) != S->frame)
		return false;
	(void)mach_rmw(&S->pincount, MACH_ADD, 1, 0, MACH_FULL);
	if (mach_load(S->pte, MACH_RELAXED) == pte)
		return true;
	(void)mach_rmw(&S->pincount, MACH_ADD, -1, 0, MACH_FULL);
	return false;
}

/* lockless_pages_from_mm() */
static void gup_fast(void)
{
	bool irqs = mach_irq_save();
	u32 seq = mach_load(&S->write_protect_seq, MACH_ACQUIRE);
	bool pinned = (check_option("bug") || !(seq & 1)) && pin();

	mach_irq_restore(irqs);
	mach_fence(MACH_SMP_RMB);
	if (pinned && !check_option("bug") &&
	    mach_load(&S->write_protect_seq, MACH_RELAXED) != seq) {
		(void)mach_rmw(&S->pincount, MACH_ADD, -1, 0, MACH_FULL);
		pinned = false;
	}
	S->pinned = pinned;
}

static void final(void)
{
	if (S->pinned && check_pfn(mach_load(S->pte, MACH_RELAXED)) != S->frame)
		check_fail("LOST-WRITE", "the device writes to a page that the process has left");
}

CHECK_MODEL(gup_fork,
	.what = "a page is pinned for writing while a fork shares it",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.fault = fault,
	.final = final,
	.option = { CHECK_BUG("gup_fast does not look for forks, as before 5.11") },
	.thread = {
		{ "fork", 0, { KERNEL(fork), USER(store) } },
		{ "gup", 1, { KERNEL(gup_fast) } },
	},
	.expect = {
		{ "bug=on", "LOST-WRITE" },
		{ "bug=off", "pass" },
	})
