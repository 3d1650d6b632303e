// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CPU spins for a lock with interrupts off, while the holder waits for it to
 * acknowledge a shootdown.
 *
 * Linux 08dc2ca61e68, parisc (2005-06): spin_lock_irqsave() now spins with
 * interrupts as they were.
 *
 *	CPU 0: vfree				CPU 1
 *	lock vmlist_lock
 *						local_irq_save
 *						spin for vmlist_lock
 *	flush_tlb_all: interrupt CPU 1,
 *	wait for it: for ever
 *
 * Rule: DEADLOCK.
 *
 * The lock is parisc's: a word that LDCW takes, by reading it and leaving 0; so 1 is
 * free. The interrupt is the machine's own, since what counts is who waits for whom.
 */
#include <tlblab/check.h>

#define VA 0x400000UL

struct state {
	u64 root, frame, *pte;
	u32 vmlist_lock;	/* 1: free */
	u64 vmlist;		/* under vmlist_lock */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_RW);
	mach_store(&S->vmlist_lock, 1, MACH_RELAXED);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

static bool ldcw(u32 *lock)
{
	return mach_rmw(lock, MACH_XCHG, 0, 0, MACH_ACQUIRE);
}

static void wait_for(u32 *lock)
{
	struct mach_watch held = { lock, sizeof(*lock), 0 };

	mach_wait_change(&held, 1);
}

/* spin_lock_irqsave(): the lock is taken, and spun for, after the interrupts are off. */
static bool spin_lock_irqsave(u32 *lock)
{
	bool irqs = mach_irq_save();

	while (!ldcw(lock)) {
		if (check_option("bug")) {
			wait_for(lock);
			continue;
		}
		mach_irq_restore(irqs);
		wait_for(lock);
		mach_irq_save();
	}
	return irqs;
}

/* spin_lock(): leaves interrupts as they are. */
static void spin_lock(u32 *lock)
{
	while (!ldcw(lock))
		wait_for(lock);
}

static void spin_unlock(u32 *lock)
{
	mach_store(lock, 1, MACH_RELEASE);
}

/* Holds the lock over flush_tlb_all(), as vfree() did. Interrupts stay on. */
static void vfree(void)
{
	spin_lock(&S->vmlist_lock);
	(void)mach_rmw(S->pte, MACH_XCHG, 0, 0, MACH_FULL);
	check_x86_flush_page(0x3, VA);
	S->vmlist++;
	spin_unlock(&S->vmlist_lock);
	check_free_frame(S->frame);
}

static void vmalloc(void)
{
	bool irqs = spin_lock_irqsave(&S->vmlist_lock);

	S->vmlist++;
	spin_unlock(&S->vmlist_lock);
	mach_irq_restore(irqs);
}

CHECK_MODEL(parisc_irqoff_spin,
	.what = "spinning for a lock with interrupts off meets a waited shootdown",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("spin with interrupts off, as before 2.6.16") },
	.thread = {
		{ "vfree", 0, { KERNEL(vfree) } },
		{ "vmalloc", 1, { KERNEL(vmalloc) } },
	},
	.expect = {
		{ "bug=on", "DEADLOCK" },
		{ "bug=off", "pass" },
	})
