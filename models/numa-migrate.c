// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page is migrated whose entry was made inaccessible by somebody who has not flushed yet.
 *
 * Linux 20841405940e "mm: fix TLB flush race between migration, and change_protection_range"
 * (2013).
 *
 *	CPU 0: change_protection	CPU 1: fault, migrate	CPU 2: user
 *								VA -> F is in its TLB
 *	make the entry inaccessible
 *					not accessible: nothing
 *					  to flush
 *					copy F to G
 *								store to F
 *					map G
 *	flush: too late
 *
 * Rule: LOST-WRITE: the store is in F, and VA leads to G. The fix counts who has a flush to
 * do (tlb_flush_pending), and then an inaccessible entry is taken for one that
 * may be cached.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define CPUS 0x7

struct state {
	u64 root, frame, copy, *pte;
	struct mach_lock ptl;
	u32 pending;		/* mm->tlb_flush_pending */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->copy = check_alloc_frame();
	mach_store(check_frame(S->frame), 1, MACH_RELAXED);
	S->pte = check_map(S->root, VA, S->frame, CHECK_RW);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

/* change_prot_numa(). */
static void change_protection(void)
{
	(void)mach_rmw(&S->pending, MACH_ADD, 1, 0, MACH_FULL);
	mach_spin_lock(&S->ptl);
	(void)mach_rmw(S->pte, MACH_AND, ~X86_PTE_P, 0, MACH_FULL);
	mach_spin_unlock(&S->ptl);
	check_x86_flush_page(CPUS, VA);
	(void)mach_rmw(&S->pending, MACH_ADD, -1, 0, MACH_FULL);
}

/*
 * do_numa_page(), with the copy under the lock. While a flush is pending Linux flushes the page
 * itself; here it leaves it for the next fault.
 */
static void migrate(void)
{
	mach_spin_lock(&S->ptl);
	if (!check_present(mach_load(S->pte, MACH_RELAXED)) &&
	    (check_option("bug") || !mach_load(&S->pending, MACH_RELAXED))) {
		mach_copy_frame(S->copy, S->frame);
		mach_store(S->pte, check_leaf(S->copy, CHECK_RW), MACH_RELAXED);
	}
	mach_spin_unlock(&S->ptl);
}

static void store(void)
{
	check_user_store(VA, 7);
}

CHECK_MODEL(numa_migrate,
	.what = "a page is migrated while another CPU has yet to flush its entry",
	.arch = CHECK_X86,
	.cpus = 3,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("an inaccessible entry needs no flush, as before 3.13") },
	.thread = {
		{ "protect", 0, { KERNEL(change_protection) } },
		{ "migrate", 1, { KERNEL(migrate) } },
		{ "user", 2, { USER(store) } },
	},
	.expect = {
		{ "bug=on", "LOST-WRITE" },
		{ "bug=off", "pass" },
	})
