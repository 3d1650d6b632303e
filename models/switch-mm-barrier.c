// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flusher reads the CPU mask before its change of the entry is visible: store
 * buffering between the page table and the mask.
 *
 * CVE-2016-2069; Linux 71b3c126e611 "x86/mm: Add barriers and document
 * switch_mm()-vs-flush synchronization" (2016).
 *
 *	CPU 0: switch_mm		CPU 1: munmap
 *					clear the entry: still in the store buffer
 *					read mm_cpumask: CPU 0 is not in it
 *	set the bit in mm_cpumask
 *	write CR3 (serialising)
 *	load VA: walks the old entry
 *					no interrupt; free F
 *	load VA: F is free
 *
 * Rule: STALE-READ. The fix is a full barrier between entry and mask; on the other side
 * the bit's locked instruction and CR3 are one.
 */
#include <tlblab/check.h>

#define VA 0x400000UL

struct state {
	u64 root, other_root, frame, *pte;
	struct mach_lock ptl;
	u64 mm_cpumask;
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->other_root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_READ);
	mach_store(&S->mm_cpumask, 0x2, MACH_RELAXED);
}

/* CPU 0 is somewhere else at first. */
static void cpu_init(void)
{
	check_load_root(mach_env()->cpu ? S->root : S->other_root, 0);
}

static void flush_tlb_page(u64 va)
{
	u64 mask;

	if (!check_option("bug"))
		mach_fence(MACH_SMP_MB);
	mask = mach_load(&S->mm_cpumask, MACH_RELAXED);
	check_x86_flush_page(mask, va);
}

static void munmap(void)
{
	mach_spin_lock(&S->ptl);
	mach_store(S->pte, 0, MACH_RELAXED);
	mach_spin_unlock(&S->ptl);
	flush_tlb_page(VA);
	check_free_frame(S->frame);
}

static void switch_mm(void)
{
	bool irqs = mach_irq_save();

	(void)mach_rmw(&S->mm_cpumask, MACH_OR, 1, 0, MACH_FULL);
	check_load_root(S->root, 0);
	mach_irq_restore(irqs);
}

static void load(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(switch_mm_barrier,
	.what = "no barrier between the entry and the CPU mask (CVE-2016-2069)",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("read the mask without a barrier, as before 4.5") },
	.thread = {
		{ "switch", 0, { KERNEL(switch_mm), USER(load), USER(load) } },
		{ "munmap", 1, { KERNEL(munmap) } },
	},
	.expect = {
		{ "bug=on", "STALE-READ" },
		{ "bug=off", "pass" },
	})
