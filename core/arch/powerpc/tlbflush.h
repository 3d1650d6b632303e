/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER: invalidation of user translations. tlb.c decides how far a flush must
 * reach (this CPU, all, none), how it gets there, and how much it drops at once;
 * radix_tlb.h has the instructions.
 *
 * How far. mm_cpumask() has every CPU that has run the mm since it was last
 * trimmed; active_cpus counts them. A CPU leaves it only by exit_lazy_flush_tlb().
 * Against a CPU that starts to run the mm:
 *
 *	flusher				switch_mm_irqs_off()
 *	  change the entry		  set own bit; active_cpus++
 *	  smp_mb()			  smp_mb()
 *	  read active_cpus		  mtpid; walks
 *
 * Either the flusher counts the CPU, or the CPU walks by the changed entry.
 *
 * How it gets there. tlbie, which all CPUs obey without an interrupt; without
 * powerpc.tlbie an interrupt to every CPU of the mask, which issues
 * tlbiel; where the partition may not issue tlbie (powerpc.gtse off), the call
 * H_RPT_INVALIDATE to the hypervisor, which issues it.
 *
 * How much. Up to a ceiling page by page, above it the whole PID. Broadcast
 * operations are dear, and a PID takes one of them; local ones are cheap, and a PID
 * takes 128 of them on POWER9. Hence two ceilings, far apart. The hypervisor has a
 * ceiling of its own (powerpc.hcall_ceiling, which the machine reads, not this code).
 *
 * All functions return when the invalidation is complete on every CPU that it has
 * to reach. The entry was changed before, by this CPU. Interrupts on: trimming
 * the mask and powerpc.tlbie=off wait for other CPUs. The kernel is not preempted,
 * so the CPU stays the same throughout. Nothing can fail.
 *
 * H_RPT_INVALIDATE (PAPR) passes six registers. Over the seam they are
 *
 *	a	first byte of the range
 *	b	first byte after it; a = 0, b = ~0: everything of the PID
 *	c	 30    28 27    24 23     20 19                   0
 *		+--------+--------+---------+----------------------+
 *		| target |  type  |  pages  |         PID          |
 *		+--------+--------+---------+----------------------+
 *		target 1 all CPUs, 4 nest MMU	type 2 TLB, 4 walk cache, 8 process table
 *		pages 1 4K, 2 64K, 4 2M, 8 1G
 *
 * and it is complete when it returns 0.
 */
#ifndef CORE_ARCH_POWERPC_TLBFLUSH_H
#define CORE_ARCH_POWERPC_TLBFLUSH_H

#include "pgtable.h"

/* Reclaim flushes each page. */
#define ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH 0
#include "radix_tlb.h"

#define H_SUCCESS 0
#define H_BUSY 1
#define H_RPTI_TYPE_TLB 0x2U
#define H_RPTI_TYPE_PWC 0x4U
#define H_RPTI_TYPE_PRT 0x8U
#define H_RPTI_TYPE_ALL (H_RPTI_TYPE_TLB | H_RPTI_TYPE_PWC | H_RPTI_TYPE_PRT)
#define H_RPTI_TARGET_CMMU 0x1U
#define H_RPTI_TARGET_NMMU 0x4U
#define H_RPTI_PAGE(psize) (1U << (psize))	/* in the order of MMU_PAGE_* */
#define H_RPTI_PAGE_ALL 0xfU
#define H_RPTI_ARGS(pid, target, type, pages)                                   \
	((u32)(pid) | (pages) << 20 | (type) << 24 | (target) << 28)

/* Every translation of mm; its walk caches stay. */
void flush_tlb_mm(struct mm_struct *mm);
/* Walk caches and process table, too. */
void radix__flush_all_mm(struct mm_struct *mm);
/* One base page; leaves walk caches alone. */
void flush_tlb_page(struct vm_area_struct *vma, u64 addr);
/*
 * [start, end), base pages and 2 MiB pages. From PMD_SIZE on walk caches, too:
 * mremap() moves whole tables and relies on it.
 */
void flush_tlb_range(struct vm_area_struct *vma, u64 start, u64 end);
/* [start, end) of pages of one size; pwc: and walk caches. */
void radix__flush_tlb_range_psize(struct mm_struct *mm, u64 start, u64 end, int psize);
void radix__flush_tlb_pwc_range_psize(struct mm_struct *mm, u64 start, u64 end,
				      int psize);

/* One page of a given size. */
void radix__flush_tlb_page_psize(struct mm_struct *mm, u64 addr, int psize);
#define flush_pmd_tlb_range(vma, start, end)                                    \
	radix__flush_tlb_range_psize((vma)->vm_mm, start, end, MMU_PAGE_2M)
/*
 * The table that maps [addr, addr + PMD_SIZE) was unhooked: its pages and the walk
 * caches. With 64 KiB pages one by one, whatever the ceilings say; with 4 KiB
 * pages everything of the PID.
 */
void radix__flush_tlb_collapsed_pmd(struct mm_struct *mm, u64 addr);

/*
 * On this CPU: give mm up, if all we have of it is borrowed, and leave its mask;
 * then, or always_flush, drop everything of it. Any context.
 */
void exit_lazy_flush_tlb(struct mm_struct *mm, bool always_flush);

/* Only a change of rights, R or C: is a right or C taken away? */
bool pte_needs_flush(pte_t oldpte, pte_t newpte);
#define huge_pmd_needs_flush(oldpmd, newpmd)                                    \
	pte_needs_flush(pmd_pte(oldpmd), pmd_pte(newpmd))

#endif
