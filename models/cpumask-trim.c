// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that is alone again takes the other CPUs out of its mask; one of them
 * has just begun to use it.
 *
 * Linux a665eec0a22e "powerpc/64s/radix: Fix mm_cpumask trimming race vs kthread_use_mm" (2020).
 *
 *	CPU 0: exit_flush_lazy_tlbs	CPU 1: kthread_use_mm
 *	one user: alone
 *					a reference; set its bit in the mask;
 *					load the tables
 *	IPI: it does not only
 *	borrow them, so it stays
 *	mask = CPU 0 alone
 *					copy_from_user(VA): VA -> F in its TLB
 *	clear the entry; CPU 0 is alone
 *	in the mask: flush locally
 *	free F
 *					copy_from_user(VA)
 *
 * Rule: STALE-READ. The fix leaves each bit to its own CPU: the interrupt clears it if the
 * tables are only borrowed.
 *
 * POWER's tlbiel is here INVLPG, and its tlbie INVLPG here and by interrupts to the others. CPU 1 is
 * lazy at first: it has the tables loaded, and its bit set, and uses nothing.
 */
#include <tlblab/check.h>

#define VA 0x400000UL

struct state {
	u64 root, init_root, frame, *pte;
	struct mach_lock ptl;
	u32 mm_users;		/* shared, as the mask */
	u64 mm_cpumask;
	u32 in_use;		/* CPU 1's, and its interrupts': not lazy */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->init_root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_READ);
	mach_store(&S->mm_users, 1, MACH_RELAXED);
	mach_store(&S->mm_cpumask, 0x3, MACH_RELAXED);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

/* do_exit_flush_lazy_tlb(), on CPU 1. */
static void exit_lazy(void *unused)
{
	(void)unused;
	if (mach_load(&S->in_use, MACH_RELAXED))
		return;
	check_load_root(S->init_root, 0);
	if (!check_option("bug"))
		(void)mach_rmw(&S->mm_cpumask, MACH_AND, ~0x2ULL, 0, MACH_FULL);
}

static void exit_flush_lazy_tlbs(void)
{
	u64 others = 0x2;

	if (mach_load(&S->mm_users, MACH_RELAXED) != 1)
		return;
	mach_ipi(&others, exit_lazy, NULL, true);
	if (check_option("bug"))
		mach_store(&S->mm_cpumask, 0x1, MACH_RELAXED);
}

static void munmap(void)
{
	exit_flush_lazy_tlbs();
	mach_spin_lock(&S->ptl);
	mach_store(S->pte, 0, MACH_RELAXED);
	mach_spin_unlock(&S->ptl);
	mach_fence(MACH_SMP_MB);
	if (mach_load(&S->mm_cpumask, MACH_RELAXED) == 0x1)
		check_x86_flush_one((void *)VA);
	else
		check_x86_flush_page(0x3, VA);
	check_free_frame(S->frame);
}

/* mmget(), and the tables: interrupts off, as since F3's fix. */
static void kthread_use_mm(void)
{
	bool irqs;

	(void)mach_rmw(&S->mm_users, MACH_ADD, 1, 0, MACH_FULL);
	irqs = mach_irq_save();
	mach_store(&S->in_use, 1, MACH_RELAXED);
	/* A full barrier: the bit is seen before any walk. Its other side is munmap()'s. */
	(void)mach_rmw(&S->mm_cpumask, MACH_OR, 0x2, 0, MACH_FULL);
	check_load_root(S->root, 0);
	mach_irq_restore(irqs);
}

static void copy_from_user(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(cpumask_trim,
	.what = "a CPU is taken out of a process's mask while it begins to use it",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("the trimmer writes the whole mask, as before 5.10") },
	.thread = {
		{ "munmap", 0, { KERNEL(munmap) } },
		{ "kthread", 1, { KERNEL(kthread_use_mm), USER(copy_from_user) } },
	},
	.expect = {
		{ "bug=on", "STALE-READ" },
		{ "bug=off", "pass" },
	})
