// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel thread adopts an address space; a flush comes between the moment when its CPU says
 * that it runs there and the moment when it does.
 *
 * Linux 38cf307c1f20 "mm: fix kthread_use_mm() vs TLB invalidate" (2020).
 *
 *	CPU 0: munmap			CPU 1: kthread_use_mm
 *					active_mm = mm; the tables are still init_mm's
 *	clear the entry
 *	IPI
 *					  active_mm is mm: flush its page, of the
 *					  context that is loaded, which is not mm's
 *	free F
 *					switch_mm: the PCID still has VA -> F
 *					copy_from_user(VA)
 *
 * The handler flushes the context that hardware has; which that is, it takes from a word of
 * software. CPU 1 was in mm before, so that its TLB can have VA -> F under mm's PCID, and its
 * tables are loaded again without a flush, for it knows of none that it missed.
 *
 * Rule: STALE-READ. The fix has interrupts off over both steps.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define MM_PCID 1UL
#define INIT_PCID 2UL

struct state {
	u64 root, init_root, frame, *pte;
	struct mach_lock ptl;
	u32 tlb_gen;		/* shared: flushes that mm has had */
	u32 active;		/* CPU 1's, and its interrupts': active_mm is mm */
	u32 seen_gen;		/* likewise: the flushes that its PCID has had */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->init_root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_READ);
	mach_store(&S->active, 1, MACH_RELAXED);
}

static void cpu_init(void)
{
	check_load_root(S->root, MM_PCID);
}

/* flush_tlb_func(): of mm, if this CPU is in it; else it catches up when it comes back. */
static void flush_tlb_func(void *va)
{
	if (mach_env()->cpu == 1 && !mach_load(&S->active, MACH_RELAXED))
		return;
	mach_x86_invlpg((u64)va);
	if (mach_env()->cpu == 1)
		mach_store(&S->seen_gen, mach_load(&S->tlb_gen, MACH_RELAXED), MACH_RELAXED);
}

static void munmap(void)
{
	u64 others = 0x2;

	mach_spin_lock(&S->ptl);
	mach_store(S->pte, 0, MACH_RELAXED);
	mach_spin_unlock(&S->ptl);
	(void)mach_rmw(&S->tlb_gen, MACH_ADD, 1, 0, MACH_FULL);
	flush_tlb_func((void *)VA);
	mach_ipi(&others, flush_tlb_func, (void *)VA, true);
	check_free_frame(S->frame);
}

/* Load mm's tables; flush if flushes were missed. */
static void switch_mm(void)
{
	u32 gen = mach_load(&S->tlb_gen, MACH_RELAXED);
	u64 keep = gen == mach_load(&S->seen_gen, MACH_RELAXED) ? MACH_X86_CR3_NOFLUSH_BIT : 0;

	mach_store(&S->seen_gen, gen, MACH_RELAXED);
	mach_x86_write_cr3(S->root << 12 | MM_PCID | keep);
}

/* What it has of mm in its TLB stays there. */
static void kthread_unuse_mm(void)
{
	bool irqs = mach_irq_save();

	mach_store(&S->active, 0, MACH_RELAXED);
	mach_x86_write_cr3(S->init_root << 12 | INIT_PCID | MACH_X86_CR3_NOFLUSH_BIT);
	mach_irq_restore(irqs);
}

static void kthread_use_mm(void)
{
	bool irqs = false;

	if (!check_option("bug"))
		irqs = mach_irq_save();
	mach_store(&S->active, 1, MACH_RELAXED);
	if (check_option("bug"))
		irqs = mach_irq_save();
	switch_mm();
	mach_irq_restore(irqs);
}

static void copy_from_user(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(kthread_use_mm,
	.what = "a flush hits a CPU between adopting an address space and loading it",
	.arch = CHECK_X86,
	.cpus = 2,
	.feature = { { "x86.pcid", "on" } },
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("interrupts on between the two, as before 5.9") },
	.thread = {
		{ "munmap", 0, { KERNEL(munmap) } },
		{ "kthread", 1, { USER(copy_from_user), KERNEL(kthread_unuse_mm),
				  KERNEL(kthread_use_mm), USER(copy_from_user) } },
	},
	.expect = {
		{ "bug=on", "STALE-READ" },
		{ "bug=off", "pass" },
	})
