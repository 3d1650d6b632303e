/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POWER: PIDs, the process table, address-space switching. */
#include "mmu_context.h"
#include "pgtable.h"
#include "tlbflush.h"

KNOB_INT(powerpc_pid_bits, "powerpc.pid_bits", KNOB_HW, 20, 8, 20,
	 "width of a PID", "ibm,mmu-pid-bits");

#define NR_PIDS (1UL << knob(powerpc_pid_bits))
#define PRTB_SIZE_SHIFT (knob(powerpc_pid_bits) + 4)
/* Tree size 52 bits: 52 - 31, in two fields of the entry. */
#define RADIX_TREE_SIZE ((0x5UL << 5) | (0x2UL << 61))

static struct arch_root *root(void)
{
	return &kernel()->arch;
}

const char *arch_boot(void)
{
	u64 pfn;

	if (mach_env()->page_shift != 12 && mach_env()->page_shift != 16)
		return "POWER has base pages of 4 KiB or 64 KiB here";

	root()->pid_map = kzalloc(NR_PIDS / 8);
	root()->walkers = kzalloc(nr_cpu_ids * sizeof(root()->walkers[0]));
	pfn = mach_alloc_frames((u32)max(PRTB_SIZE_SHIFT - (s64)PAGE_SHIFT, (s64)0),
				MACH_NODE_LOCAL, MACH_GFP_ZERO | MACH_GFP_TABLE);
	if (pfn == MACH_NO_FRAME)
		return "no memory for the process table (powerpc.pid_bits)";
	root()->process_tb = __va(pfn << PAGE_SHIFT);
	/* As in the partition table's entry: base, and log2 of the size less 12. */
	(void)mach_insn(MACH_PPC_PRTB,
			(pfn << PAGE_SHIFT) | (u64)(PRTB_SIZE_SHIFT - 12), 0, 0);
	return NULL;
}

/* ---- PIDs ---- */

/* Takes the lowest free one, or NR_PIDS; under pid_lock. */
static u64 take_pid(void)
{
	u64 pid = NR_PIDS, words = NR_PIDS / 64;

	lockdep_assert_held(&root()->pid_lock);
	for (u64 w = root()->pid_first_free / 64; w < words; w++) {
		u64 free = ~root()->pid_map[w];

		if (!free)
			continue;
		root()->pid_map[w] |= free & -free;
		pid = w * 64 + (u64)__builtin_ctzl(free);
		break;
	}
	root()->pid_first_free = pid;
	return pid;
}

static void give_pid_back(u64 pid)
{
	lockdep_assert_held(&root()->pid_lock);
	root()->pid_map[pid / 64] &= ~(1UL << (pid % 64));
	root()->pid_first_free = min(root()->pid_first_free, pid);
}

static u64 alloc_context_id(void)
{
	bool flags;
	u64 pid;

	spin_lock_irqsave(&root()->pid_lock, flags);
	pid = take_pid();
	spin_unlock_irqrestore(&root()->pid_lock, flags);
	return pid;
}

static void free_context_id(u64 pid)
{
	bool flags;

	spin_lock_irqsave(&root()->pid_lock, flags);
	give_pid_back(pid);
	spin_unlock_irqrestore(&root()->pid_lock, flags);
}

int init_new_context(struct task_struct *tsk, struct mm_struct *mm)
{
	u64 pid = alloc_context_id();

	(void)tsk;
	if (pid == NR_PIDS)
		return -ENOMEM;
	mm->context.id = pid;
	atomic_set(&mm->context.active_cpus, 0);
	atomic_set(&mm->context.copros, 0);
	atomic_set(&mm->context.lockless_pgtbl_walkers, 0);
	WRITE_ONCE(root()->process_tb[pid].prtb0,
		   RADIX_TREE_SIZE | (mm->pgd_pfn << PAGE_SHIFT) | RADIX_PGD_INDEX_SIZE);
	/* Visible to every walker before any CPU loads the PID. */
	mach_fence(MACH_PTESYNC);
	mach_fence(MACH_ISYNC);
	return 0;
}

void destroy_context(struct mm_struct *mm)
{
	/* Nothing is cached of it if the mm never ran; else arch_exit_mmap() was first. */
	WRITE_ONCE(root()->process_tb[mm->context.id].prtb0, 0);
	free_context_id(mm->context.id);
}

void arch_exit_mmap(struct mm_struct *mm)
{
	/*
	 * There is no valid bit, but no tree has size 0. The ptesync at the head of the
	 * last gather's flush orders the store before its RIC = 2.
	 */
	WRITE_ONCE(root()->process_tb[mm->context.id].prtb0, 0);
}

/* ---- switching ---- */

static void write_pid(struct mm_struct *mm)
{
	mach_ppc_write_pid(mm->context.id);
	mach_fence(MACH_ISYNC);
}

void arch_cpu_online(void)
{
	struct mm_struct *init_mm = kernel()->init_mm;

	radix__tlbiel_all();
	/* init_mm's mask has every CPU: nothing of it is ever flushed by mask. */
	cpumask_set_cpu(smp_processor_id(), mm_cpumask(init_mm));
	inc_mm_active_cpus(init_mm);
	write_pid(init_mm);
}

void switch_mm_irqs_off(struct mm_struct *prev, struct mm_struct *next,
			struct task_struct *tsk)
{
	u32 cpu = smp_processor_id();

	(void)tsk;
	if (!cpumask_test_cpu(cpu, mm_cpumask(next))) {
		cpumask_set_cpu(cpu, mm_cpumask(next));
		inc_mm_active_cpus(next);
		/*
		 * The bit and the count are visible before the first walk by the new
		 * PID: tlbflush.h has the interleaving.
		 */
		smp_mb();
	}
	if (prev == next)
		return;
	mach_charge(SWITCH_MM, 1);
	write_pid(next);
}

/* ---- coprocessors ---- */

void mm_context_add_copro(struct mm_struct *mm)
{
	if (atomic_inc_return(&mm->context.copros) == 1)
		inc_mm_active_cpus(mm);
}

/* The next flush may be local again, so what the coprocessor has goes now. */
void mm_context_remove_copro(struct mm_struct *mm)
{
	radix__flush_all_mm(mm);
	BUG_ON(atomic_read(&mm->context.copros) <= 0);
	if (atomic_dec_and_test(&mm->context.copros))
		dec_mm_active_cpus(mm);
}
