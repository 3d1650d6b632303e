/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86: which address space a CPU translates by. context.c.
 *
 * A CPU keeps up to TLB_NR_DYN_ASIDS address spaces in its TLB, each under a PCID
 * of its own (slot + 1; PCID 0 is nobody's). Without PCID there is one slot and
 * every switch flushes.
 *
 * Switching orders itself against flushers as follows; tlb.c has the other side:
 *
 *	flusher				switcher
 *	  change the entry		  loaded_mm = SWITCHING
 *	  context.tlb_gen++ [full]	  set own bit in mm_cpumask() [full]
 *	  read mm_cpumask()		  read tlb_gen
 *					  write CR3; loaded_mm = next
 *
 * Either the flusher sees the bit and sends an interrupt, which waits until the
 * switcher enables them; or the switcher sees the new generation and flushes with its
 * CR3 write. That both miss is impossible: it is store buffering with a full barrier
 * on each side.
 *
 * PTI. In user mode CR3 holds the twin tables under PCID slot + 1 + 2048. Entries
 * under that PCID go stale by user_pcid_flush_mask and are dropped by the CR3
 * write that leaves the kernel.
 */
#ifndef CORE_ARCH_X86_MMU_CONTEXT_H
#define CORE_ARCH_X86_MMU_CONTEXT_H

#include "mm/mm_types.h"

#define LOADED_MM_SWITCHING ((struct mm_struct *)1UL)

/*
 * After the geometry is known, before any init_new_context(). Returns NULL or
 * why this machine or these knobs cannot be, in one line.
 */
const char *arch_boot(void);
/* On the CPU, interrupts off; kernel()->init_mm exists with its pgd and context. */
void arch_cpu_online(void);

/* mm is zero but for its pgd. 0 (never fails here). */
int init_new_context(struct task_struct *tsk, struct mm_struct *mm);
#define destroy_context(mm) mm_free_global_asid(mm)
void mm_free_global_asid(struct mm_struct *mm); /* invlpgb.h */
#define arch_exit_mmap(mm) ((void)(mm))

/*
 * Interrupts off. prev is not used: loaded_mm knows better, since a lazy CPU may
 * have been switched to init_mm by an interrupt.
 */
void switch_mm_irqs_off(struct mm_struct *prev, struct mm_struct *next,
			struct task_struct *tsk);
/* Interrupts off. The CPU goes to a task without mm and keeps mm's tables. */
void enter_lazy_tlb(struct mm_struct *mm, struct task_struct *tsk);

/*
 * A thread crosses between user and kernel mode. Each does nothing when
 * the CPU is there already. A thread that is preempted in user mode must enter
 * before switch_mm_irqs_off() and exit again when it resumes.
 */
void arch_enter_kernel(void);
void arch_exit_kernel(void);

/* For tlb.c; context.c has their meaning. Interrupts off. */
void invalidate_user_asid(u16 asid);
u64 build_cr3(struct mm_struct *mm, u16 asid);
u16 user_pcid(u16 asid);

#endif
