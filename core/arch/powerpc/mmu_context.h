/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER: which address space a CPU translates by, and the PIDs. context.c.
 *
 * A CPU that has run an mm stays in its mm_cpumask() after it went on to another:
 * its TLB keeps what it has under the PID. So an mm that has been on two CPUs
 * flushes globally from then on, until the mask is trimmed (tlb.c). A kernel thread
 * borrows the mm that it finds (active_mm) and changes nothing.
 *
 * The process table tells hardware where the tree of a PID is. An entry is written
 * before the PID is first loaded, and cleared before the flush (RIC = 2) at the
 * end of the mm, which drops what is cached of it.
 */
#ifndef CORE_ARCH_POWERPC_MMU_CONTEXT_H
#define CORE_ARCH_POWERPC_MMU_CONTEXT_H

#include "mm/mm_types.h"

/*
 * After the geometry is known, before any init_new_context(). Returns NULL or
 * why this machine or these knobs cannot be, in one line.
 */
const char *arch_boot(void);
/* On the CPU, interrupts off; kernel()->init_mm exists with its pgd and context. */
void arch_cpu_online(void);

/*
 * mm is zero but for its pgd. 0, or -ENOMEM when all PIDs are in use. The first one
 * (init_mm) gets PID 0.
 */
int init_new_context(struct task_struct *tsk, struct mm_struct *mm);
/* No CPU has mm loaded; it was flushed since arch_exit_mmap(). */
void destroy_context(struct mm_struct *mm);
/* Before the last gather, whose flush drops what is cached of the entry. */
void arch_exit_mmap(struct mm_struct *mm);

/* Interrupts off. prev is what this CPU had (active_mm). */
void switch_mm_irqs_off(struct mm_struct *prev, struct mm_struct *next,
			struct task_struct *tsk);
/* Nothing: the PID stays, and so does the bit in the mask. */
#define enter_lazy_tlb(mm, tsk) ((void)(mm), (void)(tsk))

/* One tree serves user and kernel mode. */
#define arch_enter_kernel() ((void)0)
#define arch_exit_kernel() ((void)0)

static inline void inc_mm_active_cpus(struct mm_struct *mm)
{
	atomic_inc(&mm->context.active_cpus);
}

static inline void dec_mm_active_cpus(struct mm_struct *mm)
{
	BUG_ON(atomic_read(&mm->context.active_cpus) <= 0);
	atomic_dec(&mm->context.active_cpus);
}

/*
 * A coprocessor begins or ends to translate by mm's PID. It obeys tlbie only, so while
 * there is one every flush is global.
 */
void mm_context_add_copro(struct mm_struct *mm);
void mm_context_remove_copro(struct mm_struct *mm);

#endif
