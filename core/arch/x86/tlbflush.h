/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86: invalidation of user translations. tlb.c.
 *
 * x86 cannot invalidate another CPU's TLB: each must do its own, so a flush is an
 * interrupt to every CPU of mm_cpumask() that may hold something, and a wait.
 * All functions return when that is done. Interrupts on, in kernel mode; the
 * entry was changed before, by this CPU (the generation's increment is the
 * barrier). The kernel is not preempted, so the CPU stays the same throughout.
 * Nothing can fail.
 */
#ifndef CORE_ARCH_X86_TLBFLUSH_H
#define CORE_ARCH_X86_TLBFLUSH_H

#include "pgtable.h"

#define TLB_FLUSH_ALL (~0UL)
#define TLB_GENERATION_INVALID 0

/*
 * What one flush asks for. On the stack of the CPU that asks, constant; the
 * others read it during the interrupt that it waits for.
 */
struct flush_tlb_info {
	struct mm_struct *mm;	/* NULL: every mm that is loaded */
	u64 start, end;		/* end TLB_FLUSH_ALL: everything of mm */
	u64 new_tlb_gen;
	u32 initiating_cpu;
	u8 stride_shift;
	bool freed_tables;
};

/*
 * [start, end) of mm, in steps of 1 << stride_shift, which must not exceed the
 * size of the smallest leaf that was changed. freed_tables: tables of the
 * range were unhooked, so even lazy CPUs must drop what leads to them.
 */
void flush_tlb_mm_range(struct mm_struct *mm, u64 start, u64 end,
			u32 stride_shift, bool freed_tables);

#define flush_tlb_mm(mm) flush_tlb_mm_range(mm, 0, TLB_FLUSH_ALL, 0, true)
#define flush_tlb_range(vma, start, end)                                        \
	flush_tlb_mm_range((vma)->vm_mm, start, end, PAGE_SHIFT, true)
#define flush_tlb_page(vma, a)                                                  \
	flush_tlb_mm_range((vma)->vm_mm, (a), (a) + PAGE_SIZE, PAGE_SHIFT, false)

/* Of the kernel's own mappings, by every CPU. Interrupts on. */
void flush_tlb_kernel_range(u64 start, u64 end);

/*
 * Deferred flushes (mm/rmap.h): the batch adds up the CPUs of the masks, and each of them then
 * drops whatever mm it runs. Each page raises its mm's generation, so that a CPU that
 * comes to the mm later catches up by itself. Worth it only if there is somebody to
 * interrupt.
 */
#define ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH 1
#define arch_tlbbatch_should_defer(mm)                                          \
	cpumask_any_but(mm_cpumask(mm), smp_processor_id())
void arch_tlbbatch_add_pending(struct arch_tlbflush_unmap_batch *batch,
			       struct mm_struct *mm, u64 uaddr);
void arch_tlbbatch_flush(struct arch_tlbflush_unmap_batch *batch);
#define arch_flush_tlb_batched_pending(mm) flush_tlb_mm(mm)

/* In steps of base pages, as Linux does: 512 of them are above the ceiling. */
#define flush_pmd_tlb_range(vma, start, end) flush_tlb_range(vma, start, end)

/* Is a translation by old more than new allows? ACCESSED does not count. */
bool pte_needs_flush(pte_t oldpte, pte_t newpte);
/* Of huge pages ACCESSED does. */
bool huge_pmd_needs_flush(pmd_t oldpmd, pmd_t newpmd);

#endif
