/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: which address space a CPU translates by, and the ASID allocator. context.c.
 *
 * TLBIs reach every CPU of the inner-shareable domain by themselves, so no mask of
 * CPUs is kept. Translations of an ASID may stay in any TLB for ever; a context
 * keeps its ASID until all are used up. Then the generation advances, what is
 * running keeps its ASID, every CPU is to flush all before it next runs
 * anything else, and every other context gets a new ASID when it next runs.
 *
 * KPTI: ASIDs come in pairs, even for the kernel and odd for user mode; the
 * crossings switch between them. TLBIs are issued for both.
 */
#ifndef CORE_ARCH_ARM64_MMU_CONTEXT_H
#define CORE_ARCH_ARM64_MMU_CONTEXT_H

#include "mm/mm_types.h"

/* TTBR0: the odd ASID of a pair. */
#define USER_ASID_FLAG (1UL << 48)
/* Of a context that is running or has run; 0 before. */
#define ASID(mm) (atomic64_read(&(mm)->context.id) & 0xffff)

/*
 * After the geometry is known, before any init_new_context(). Returns NULL or
 * why this machine or these knobs cannot be, in one line.
 */
const char *arch_boot(void);
/* On the CPU, interrupts off; kernel()->init_mm exists with its pgd and context. */
void arch_cpu_online(void);

/* mm is zero but for its pgd. 0 (never fails here). */
int init_new_context(struct task_struct *tsk, struct mm_struct *mm);
#define destroy_context(mm) ((void)(mm))
#define arch_exit_mmap(mm) ((void)(mm))

/* Interrupts off. prev is what this CPU had (active_mm). */
void switch_mm_irqs_off(struct mm_struct *prev, struct mm_struct *next,
			struct task_struct *tsk);
/* Nothing: TTBR0 stays, and broadcast TLBIs reach this CPU, too. */
#define enter_lazy_tlb(mm, tsk) ((void)(mm), (void)(tsk))

/*
 * A thread crosses between user and kernel mode. Each does nothing when
 * the CPU is there already. A thread that is preempted in user mode must enter
 * before switch_mm_irqs_off() and exit again when it resumes.
 */
void arch_enter_kernel(void);
void arch_exit_kernel(void);

#endif
