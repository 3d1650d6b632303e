/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: invalidation of user translations. tlb.c.
 *
 * The template of every flush:
 *
 *	DSB ISHST	the changed entries are visible to every walker
 *	TLBI ...IS	broadcast
 *	DSB ISH		all CPUs have done it, and no access that used the old
 *			translation is under way
 *
 * No ISB: only kernel mappings need one, user mode comes back by an exception
 * return. All functions return when the invalidation is complete everywhere. The
 * entry was changed before, by this CPU. Callable with interrupts off and locks held;
 * nothing sleeps or fails.
 *
 * The ASID is read after the DSB ISHST. Against a rollover that gives mm a new one:
 *
 *	flusher				another CPU
 *	  change the entry
 *	  DSB ISHST
 *	  read the old ASID
 *					  mm->context.id = new; TTBR0; ISB
 *					  walks
 *	  TLBI old ASID
 *
 * The other's walks come after our DSB, so they see the change, and nothing stale
 * can be under the new ASID. Read before the DSB, it might.
 */
#ifndef CORE_ARCH_ARM64_TLBFLUSH_H
#define CORE_ARCH_ARM64_TLBFLUSH_H

#include "pgtable.h"

/* No level hint: the leaf may be anywhere. */
#define TLBI_TTL_UNKNOWN (-1)

/* Every translation on this CPU, all ASIDs. */
void local_flush_tlb_all(void);
/* Everything of mm, walk caches too. */
void flush_tlb_mm(struct mm_struct *mm);
/* The last-level entry of one page; leaves walk caches alone. */
void flush_tlb_page(struct vm_area_struct *vma, u64 uaddr);
/*
 * [start, end) of vma->vm_mm in steps of stride bytes, the size of the smallest
 * leaf that was changed. last_level: no table was unhooked, so walk caches may
 * stay. tlb_level: level of all the leaves (a wrong one may
 * invalidate nothing), or TLBI_TTL_UNKNOWN.
 */
void __flush_tlb_range(struct vm_area_struct *vma, u64 start, u64 end, u64 stride,
		       bool last_level, int tlb_level);
/*
 * Deferred flushes (mm/rmap.h). The TLBI is issued at once, without a wait; a DSB at the
 * end waits for all that this CPU has issued. For no other CPU's: so who finds in
 * mm->tlb_flush_batched that others owe a flush cannot wait for them with a DSB of its own, as
 * was believed until 6.16, and does the flush itself (arm64.batched_pending):
 *
 *	CPU 0: reclaim		CPU 1: mprotect		CPU 2
 *							  caches the entry, writes
 *	  clear; TLBI ...
 *				  finds it none, and
 *				  a flush pending: DSB ISH
 *				  returns
 *							  writes
 *	  DSB ISH
 */
#define ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH 1
bool arch_tlbbatch_should_defer(struct mm_struct *mm);
/* The thread stays on its CPU until arch_tlbbatch_flush(): it does not sleep. */
void arch_tlbbatch_add_pending(struct arch_tlbflush_unmap_batch *batch,
			       struct mm_struct *mm, u64 uaddr);
void arch_tlbbatch_flush(struct arch_tlbflush_unmap_batch *batch);
void arch_flush_tlb_batched_pending(struct mm_struct *mm);

/* Callers may have collapsed or moved tables: walk caches too, no hint. */
#define flush_tlb_range(vma, start, end)                                        \
	__flush_tlb_range(vma, start, end, PAGE_SIZE, false, TLBI_TTL_UNKNOWN)

/* Blocks of level 2. Not last-level only: the entry may become a table. */
#define flush_pmd_tlb_range(vma, start, end)                                    \
	__flush_tlb_range(vma, start, end, PMD_SIZE, false, 2)

/* Linux does not look at the entries here. */
#define huge_pmd_needs_flush(oldpmd, newpmd) ((void)(oldpmd), (void)(newpmd), true)
#define pte_needs_flush(oldpte, newpte) ((void)(oldpte), (void)(newpte), true)

#endif
