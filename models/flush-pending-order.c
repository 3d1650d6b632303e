// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether a flush is pending is asked without the page-table lock, and the note of it becomes
 * visible after the entries that it is about.
 *
 * Linux af2c1401e6f9 "mm: numa: guarantee that tlb_flush_pending updates are visible before
 * page table updates" (2013), and 0a2c40487f3e "mm: Rework {set,clear,mm}_tlb_flush_pending()"
 * (2017). numa-migrate.c has the race that the note is against.
 *
 *	CPU 0: change_protection	CPU 1: fault, migrate	CPU 2: user
 *								VA -> F is in its TLB
 *	pending = 1: in the store buffer
 *	lock PTL; make the entry
 *	inaccessible
 *					inaccessible, nothing
 *					  is pending
 *	unlock PTL
 *					lock PTL; copy F to G
 *								store to F
 *					map G; unlock PTL
 *	flush: too late
 *
 * Rule: LOST-WRITE: the store is in F, and VA leads to G. Taking the lock orders nothing that
 * came before it. The fix of 2013 is a barrier between the flag and the entries ("barrier"; its
 * reader needs one as well). That of 2017 asks under the lock: whoever finds the entry
 * changed has the lock after it was let go, and that orders the flag, too.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define ASID 1UL

struct state {
	u64 root, frame, copy, *pte;
	struct mach_lock ptl;
	u32 pending;		/* mm->tlb_flush_pending: a flag, then */
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
	check_load_root(S->root, ASID);
}

static void flush_page(void)
{
	mach_fence(MACH_DSB_ISHST);
	mach_arm64_tlbi(VALE1IS, check_tlbi_va(ASID, VA));
	mach_fence(MACH_DSB_ISH);
}

/* change_protection_range(). */
static void change_protection(void)
{
	mach_store(&S->pending, 1, MACH_RELAXED);
	if (check_option("barrier"))
		mach_fence(MACH_SMP_MB);
	mach_spin_lock(&S->ptl);
	(void)mach_rmw(S->pte, MACH_AND, ~1ULL, 0, MACH_RELAXED);
	mach_spin_unlock(&S->ptl);
	flush_page();
	mach_store(&S->pending, 0, MACH_RELAXED);
}

/* In Linux, locks lie between this look and the copy; the acquire stands for them. */
static bool may_migrate(void)
{
	if (check_present(mach_load(S->pte, MACH_RELAXED)))
		return false;
	mach_fence(MACH_SMP_RMB);
	return !mach_load(&S->pending, MACH_ACQUIRE);
}

/*
 * migrate_misplaced_transhuge_page(), with the copy under the lock. While a flush is pending
 * Linux flushes the page itself; here it leaves it for the next fault.
 */
static void migrate(void)
{
	bool early = check_option("bug") && may_migrate();

	mach_spin_lock(&S->ptl);
	if (early || (!check_option("bug") && may_migrate())) {
		mach_copy_frame(S->copy, S->frame);
		mach_fence(MACH_SMP_WMB);
		mach_store(S->pte, check_leaf(S->copy, CHECK_RW), MACH_RELAXED);
	}
	mach_spin_unlock(&S->ptl);
}

static void store(void)
{
	check_user_store(VA, 7);
}

CHECK_MODEL(flush_pending_order,
	.what = "a pending flush is noted after the entries that it is about",
	.arch = CHECK_ARM64,
	.cpus = 3,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = {
		CHECK_BUG("ask for it without the page-table lock, as before 4.14"),
		CHECK_ON_OFF("barrier", "between the flag and the entries, as since 3.13"),
	},
	.thread = {
		{ "protect", 0, { KERNEL(change_protection) } },
		{ "migrate", 1, { KERNEL(migrate) } },
		{ "user", 2, { USER(store) } },
	},
	.expect = {
		{ "bug=on barrier=off", "LOST-WRITE" },
		{ "bug=on barrier=on", "pass" },
		{ "bug=off", "pass" },
	})
