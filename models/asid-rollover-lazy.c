// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ASIDs run out, all are given out anew, and a CPU that comes back from a kernel thread goes
 * on with the old one.
 *
 * Linux 8678c1f04277 "[ARM] Fix ASID version switch" (2007).
 *
 *	CPU 0				CPU 1: in A, ASID 1
 *					a kernel thread: A's tables and ASID stay
 *	a new mm B: none is left; a new
 *	version: B is given 1
 *	A's thread runs here: A is given 2
 *					back to A: the same tables, so nothing is
 *					  done; hardware has ASID 1
 *	munmap in A: flush ASID 2
 *	free F
 *					load VA: VA -> F by ASID 1
 *
 * Rule: STALE-READ. The fix looks at the version on every return to an mm. It is told here with
 * arm64's instructions, which broadcast, so that CPU 1's entry is out of reach for its
 * ASID's sake alone; and at the new version each CPU flushes all, when it next looks. What is
 * done about CPUs that are in user mode when ASIDs run out is left out: CPU 1 is not.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define NR_ASIDS 2UL	/* 1 and 2; 0 is the kernel's */

struct mm {
	u64 root;
	u64 context;		/* shared, as all but root; version << 8 | ASID */
};

struct state {
	struct mm a, b;
	u64 frame, *pte;
	struct mach_lock lock;
	u64 version, next;	/* under lock */
	u64 flushed[2];		/* of each CPU: the version for which it flushed all */
	u32 lazy, rolled;	/* CPU 1 is in the kernel thread; the version is new */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->a.root = check_alloc_table();
	S->b.root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->a.root, VA, S->frame, CHECK_READ);
	mach_store(&S->a.context, 1 << 8 | 1, MACH_RELAXED);
	/* The other one went to an mm that is gone. */
	S->version = 1;
	S->next = NR_ASIDS + 1;
	S->flushed[0] = 1;
	S->flushed[1] = 1;
}

static void cpu_init(void)
{
	check_load_root(S->a.root, 1);
}

/* __new_context() and switch_mm(). */
static void switch_mm(struct mm *mm)
{
	u32 cpu = mach_env()->cpu;
	bool irqs = mach_irq_save(), flush;
	u64 context;

	mach_spin_lock(&S->lock);
	context = mach_load(&mm->context, MACH_RELAXED);
	if (context >> 8 != S->version) {
		if (S->next > NR_ASIDS) {
			S->version++;
			S->next = 1;
		}
		context = S->version << 8 | S->next++;
		mach_store(&mm->context, context, MACH_RELAXED);
	}
	flush = S->flushed[cpu] != S->version;
	S->flushed[cpu] = S->version;
	mach_spin_unlock(&S->lock);
	check_load_root(mm->root, context & 0xff);
	if (flush) {
		mach_arm64_tlbi(VMALLE1, 0);
		mach_fence(MACH_DSB_NSH);
	}
	mach_irq_restore(irqs);
}

/* While CPU 1 is in its kernel thread. */
static void roll_over(void)
{
	check_wait(&S->lazy, 1);
	switch_mm(&S->b);
	switch_mm(&S->a);
	mach_store(&S->rolled, 1, MACH_RELEASE);
}

static void munmap(void)
{
	u64 asid = mach_load(&S->a.context, MACH_RELAXED) & 0xff;

	mach_store(S->pte, 0, MACH_RELAXED);
	mach_fence(MACH_DSB_ISHST);
	mach_arm64_tlbi(VAE1IS, check_tlbi_va(asid, VA));
	mach_fence(MACH_DSB_ISH);
	check_free_frame(S->frame);
}

/* CPU 1 is in a kernel thread, which leaves A's tables loaded, and comes back. */
static void kernel_thread(void)
{
	mach_store(&S->lazy, 1, MACH_RELEASE);
	check_wait(&S->rolled, 1);
	if (!check_option("bug"))
		switch_mm(&S->a);
}

static void load(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(asid_rollover_lazy,
	.what = "ASIDs are given out anew, and a CPU goes on with its old one (ARM)",
	.arch = CHECK_ARM64,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("no look at the version on return, as before 2.6.24") },
	.thread = {
		{ "munmap", 0, { KERNEL(roll_over), KERNEL(munmap) } },
		{ "lazy", 1, { KERNEL(kernel_thread), USER(load) } },
	},
	.expect = {
		{ "bug=on", "STALE-READ" },
		{ "bug=off", "pass" },
	})
