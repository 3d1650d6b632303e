// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The zap of a dirty page of a file lets go of the PTL before it flushes, and
 * writeback finds no entry to clean.
 *
 * Linux 1cf35d47712d "mm: split 'tlb_flush_mmu()' into tlb flushing and memory freeing
 * parts" (2014).
 *
 *	CPU 0: munmap		CPU 1: user		CPU 2: writeback
 *				VA -> F, writable and dirty, is in its TLB
 *	lock PTL
 *	clear the entry
 *	set_page_dirty(F)
 *	unlock PTL
 *							page_mkclean: no entry
 *							clear the dirty flag
 *							write F to disk
 *				store to F, no fault
 *	flush: too late
 *
 * Rule: LOST-DIRTY: a clean page that differs from the disk is dropped without writing.
 * The fix flushes dirty pages of files before the PTL is released.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define CPUS 0x3	/* mm_cpumask: whoever writes back is no thread of it */

struct state {
	u64 root, frame, *pte;
	struct mach_lock page_lock;	/* outside the PTL */
	struct mach_lock ptl;
	u32 page_dirty;		/* PG_dirty */
	u64 disk;		/* what writeback wrote; only CPU 2 and final */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_RW);
}

static void cpu_init(void)
{
	if (CPUS & 1 << mach_env()->cpu)
		check_load_root(S->root, 0);
}

/* zap_pte_range(). */
static void munmap(void)
{
	bool late = check_option("bug");
	u64 pte;

	mach_spin_lock(&S->ptl);
	pte = mach_rmw(S->pte, MACH_XCHG, 0, 0, MACH_FULL);
	if (pte & X86_PTE_D)
		(void)mach_rmw(&S->page_dirty, MACH_OR, 1, 0, MACH_FULL);
	if (!late)
		check_x86_flush_page(CPUS, VA);
	mach_spin_unlock(&S->ptl);
	if (late)
		check_x86_flush_page(CPUS, VA);
}

/*
 * clear_page_dirty_for_io(): what entries say goes to the flag, then the flag goes. The
 * page lock keeps a fault from setting it in between.
 */
static void writeback(void)
{
	u64 pte;

	mach_spin_lock(&S->page_lock);
	mach_spin_lock(&S->ptl);
	pte = mach_load(S->pte, MACH_RELAXED);
	if (check_present(pte)) {
		pte = mach_rmw(S->pte, MACH_AND, ~(X86_PTE_W | X86_PTE_D), 0, MACH_FULL);
		check_x86_flush_page(CPUS, VA);
		if (pte & X86_PTE_D)
			(void)mach_rmw(&S->page_dirty, MACH_OR, 1, 0, MACH_FULL);
	}
	mach_spin_unlock(&S->ptl);
	if (mach_rmw(&S->page_dirty, MACH_XCHG, 0, 0, MACH_FULL))
		S->disk = mach_load(check_frame(S->frame), MACH_RELAXED);
	mach_spin_unlock(&S->page_lock);
}

/* do_wp_page() of a shared mapping: dirty before it is writable. */
static int fault(u64 va, u32 flags)
{
	int sig = MACH_SIGSEGV;
	u64 pte;

	(void)va, (void)flags;
	mach_spin_lock(&S->page_lock);
	mach_spin_lock(&S->ptl);
	pte = mach_load(S->pte, MACH_RELAXED);
	if (check_present(pte)) {
		(void)mach_rmw(&S->page_dirty, MACH_OR, 1, 0, MACH_FULL);
		(void)mach_rmw(S->pte, MACH_OR, X86_PTE_W | X86_PTE_D, 0, MACH_FULL);
		sig = 0;
	}
	mach_spin_unlock(&S->ptl);
	mach_spin_unlock(&S->page_lock);
	return sig;
}

static void store(void)
{
	check_user_store(VA, 7);
}

static void final(void)
{
	u64 pte = mach_load(S->pte, MACH_RELAXED);
	bool pte_dirty = check_present(pte) && (pte & X86_PTE_D);

	if (!pte_dirty && !mach_load(&S->page_dirty, MACH_RELAXED) &&
	    mach_load(check_frame(S->frame), MACH_RELAXED) != S->disk)
		check_fail("LOST-DIRTY", "the page is clean and differs from the disk");
}

CHECK_MODEL(shared_dirty,
	.what = "a dirty shared page is unmapped without a flush under the PTL",
	.arch = CHECK_X86,
	.cpus = 3,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.fault = fault,
	.final = final,
	.option = { CHECK_BUG("flush after the PTL is released, as before 3.15") },
	.thread = {
		{ "munmap", 0, { KERNEL(munmap) } },
		{ "user", 1, { USER(store) } },
		{ "writeback", 2, { KERNEL(writeback) } },
	},
	.expect = {
		{ "bug=on", "LOST-DIRTY" },
		{ "bug=off", "pass" },
	})
