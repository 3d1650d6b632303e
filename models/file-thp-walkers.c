// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting lockless walkers in the mm (thread S1), and a file's huge page that two address
 * spaces map.
 *
 * "powerpc/mm: Skip IPI if no lockless walkers" (Leonardo Bras, 2019); the objection is
 * Peter Zijlstra's: a file's pages belong to no one mm.
 *
 *	CPU 0: khugepaged, in A's context	CPU 1: walker in B, interrupts off
 *						B's count goes up
 *						reads B's PMD: a table
 *	A's and B's PMD are cleared
 *	A's count is 0: nobody to wait for
 *	frees both tables
 *						reads the PTE: in a free frame
 *
 * Rule: WALK-FREED. The fix asks the count of every mm whose table goes. (What landed in 5.8
 * asks none, and frees tables after a grace period.)
 */
#include <tlblab/check.h>

struct mm {
	u32 walkers;
	u64 *pmd;		/* one entry, in a table of its own */
	u64 table;		/* the PTE table's frame */
};

struct state {
	struct mm mm[2];	/* A, B */
};

#define S ((struct state *)check_state())

static void init(void)
{
	for (u32 i = 0; i < 2; i++) {
		struct mm *mm = &S->mm[i];

		mm->pmd = check_frame(check_alloc_frame());
		mm->table = check_alloc_frame();
		mach_store(mm->pmd, mm->table, MACH_RELAXED);
		mach_store(check_frame(mm->table), 1, MACH_RELAXED);
	}
}

/* find_current_mm_pte() and the use of what it found, as v4 of the patch has it. */
static void walk(void)
{
	struct mm *mm = &S->mm[1];
	bool irqs = mach_irq_save();
	u64 table;

	(void)mach_rmw(&mm->walkers, MACH_ADD, 1, 0, MACH_RELAXED);
	mach_fence(MACH_SMP_MB);
	table = mach_load(mm->pmd, MACH_RELAXED);
	if (table)
		(void)mach_load(check_frame(table), MACH_RELAXED);
	mach_fence(MACH_SMP_MB);
	(void)mach_rmw(&mm->walkers, MACH_ADD, -1, 0, MACH_RELAXED);
	mach_irq_restore(irqs);
}

static void nothing(void *info)
{
	(void)info;
}

/* serialize_against_pte_lookup(). */
static void serialize(const struct mm *mm)
{
	static const u64 others[] = { 0x2 };

	mach_fence(MACH_SMP_MB);
	if (mach_load(&mm->walkers, MACH_RELAXED))
		mach_ipi(others, nothing, NULL, true);
}

/* retract_page_tables() of both mappings. */
static void collapse_file(void)
{
	for (u32 i = 0; i < 2; i++)
		mach_store(S->mm[i].pmd, 0, MACH_RELAXED);
	serialize(&S->mm[0]);
	if (!check_option("bug"))
		serialize(&S->mm[1]);
	for (u32 i = 0; i < 2; i++)
		check_free_frame(S->mm[i].table);
}

CHECK_MODEL(file_thp_walkers,
	.what = "walkers are counted in an mm, and a file's huge page is mapped by two (S1)",
	.arch = CHECK_POWERPC | CHECK_ARM64,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.option = { CHECK_BUG("ask the count of the mm that khugepaged works for") },
	.thread = {
		{ "khugepaged", 0, { KERNEL(collapse_file) } },
		{ "walker", 1, { KERNEL(walk) } },
	},
	.expect = {
		{ "bug=on", "WALK-FREED" },
		{ "bug=off", "pass" },
	})
