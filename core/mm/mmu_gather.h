/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gather: unmapping many pages with few invalidations.
 *
 * One rule stands behind everything here:
 *
 *	1. unhook the entry (or the table) from the page table,
 *	2. invalidate the translations that any CPU may still hold of it,
 *	3. free the page (or the table).
 *
 * A page that is freed between 1 and 2 can be read and written by any CPU that
 * still holds the translation, whoever owns the page by then; a table that is
 * freed between them can be walked by hardware. The gather does 1 for as long
 * as it has room to remember what 3 must free, and then does 2 once for all.
 *
 * Use, with the mmap_lock held in any mode (or the mm without users):
 *
 *	tlb_gather_mmu(&tlb, mm)	or tlb_gather_mmu_fullmm() at exit
 *	  tlb_start_vma(); per entry cleared: tlb_remove_tlb_entry() under the
 *	  entry's page-table lock and __tlb_remove_page(); tlb_end_vma()
 *	  pte_free_tlb() and so on for tables that were unhooked
 *	tlb_finish_mmu(&tlb)		interrupts on; all three steps are done
 *
 * What to invalidate is remembered as one range [start, end), the levels at
 * which entries were cleared (an architecture may use the smallest as its
 * stride, or tell hardware the level), and whether tables were freed (walk
 * caches must go too). Note that the bits belong to the range: they are
 * reset together, after each flush.
 *
 * Several gathers may run on one mm at a time. A gather that finds an entry
 * already cleared by another one does nothing and yet must not return before
 * that entry's translation is gone: tlb_flush_pending counts the gathers
 * in flight, and who is not alone at its end flushes more than it changed
 * (mmu_gather.nested says what). See inc_tlb_flush_pending().
 *
 * The architecture supplies tlb.h: tlb_flush(), and as 0 or 1 what Linux has as
 * MMU_GATHER_MERGE_VMAS, MMU_GATHER_PAGE_SIZE and MMU_GATHER_RCU_TABLE_FREE.
 */
#ifndef CORE_MM_MMU_GATHER_H
#define CORE_MM_MMU_GATHER_H

#include "mm/mm_types.h"

/* Slots of the gather itself, when no page can be had for more. */
#define MMU_GATHER_BUNDLE 8

/* Header of a batch; max slots of struct encoded_page * follow. */
struct mmu_gather_batch {
	struct mmu_gather_batch *next;
	u32 nr;
	u32 max;
};

#define MAX_GATHER_BATCH                                                        \
	((PAGE_SIZE - sizeof(struct mmu_gather_batch)) / sizeof(void *))
/* About 10,000 pages are freed at once at most. */
#define MAX_GATHER_BATCH_COUNT (10000UL / MAX_GATHER_BATCH)

/* Tables waiting for their grace period; fills one page. */
struct mmu_table_batch {
	struct rcu_head rcu;
	u32 nr;
	struct page *tables[];
};

#define MAX_TABLE_BATCH                                                         \
	((PAGE_SIZE - sizeof(struct mmu_table_batch)) / sizeof(void *))

/* On whose behalf a gather works, for counters. */
enum gather_call {
	GATHER_OTHER,
	GATHER_NUMA,
	GATHER_MADVISE,
	GATHER_MUNMAP,
	GATHER_MPROTECT,
};

/* On its owner's stack, and the owner's alone: no lock. */
struct mmu_gather {
	struct mm_struct *mm;
	struct mmu_table_batch *batch;
	u64 start;
	u64 end;
	/* The mm has no users and is going away. */
	unsigned int fullmm : 1;
	/* MADV_DONTNEED: tables that it leaves empty go, too (zap_details.reclaim_pt). */
	unsigned int reclaim_pt : 1;
	/* An architecture asks for everything. */
	unsigned int need_flush_all : 1;
	unsigned int freed_tables : 1;
	/* Pages in the batches whose rmap is yet to be removed. */
	unsigned int delayed_rmap : 1;
	/* Levels at which entries were cleared. */
	unsigned int cleared_ptes : 1;
	unsigned int cleared_pmds : 1;
	unsigned int cleared_puds : 1;
	unsigned int cleared_p4ds : 1;
	/* Of the VMA, set by tlb_start_vma(); a reset leaves them. */
	unsigned int vma_exec : 1;
	unsigned int vma_huge : 1;
	unsigned int vma_pfn : 1;
	/* Shared tables were unhooked (hugetlb). */
	unsigned int unshared_tables : 1;

	u32 batch_count;
	struct mmu_gather_batch *active;
	struct mmu_gather_batch local;
	void *__pages[MMU_GATHER_BUNDLE];	/* slots of local */

	u32 page_size;		/* only with ARCH_MMU_GATHER_PAGE_SIZE */

	/*
	 * The whole range of the call, as tlb_finish_mmu() was told up to 5.12;
	 * only ranged variants of mmu_gather.nested look at it.
	 */
	u64 call_start, call_end;
	enum gather_call call;
};

void tlb_gather_mmu(struct mmu_gather *tlb, struct mm_struct *mm);
void tlb_gather_mmu_fullmm(struct mmu_gather *tlb, struct mm_struct *mm);
void tlb_finish_mmu(struct mmu_gather *tlb);
/* All three steps for what is gathered so far; the gather goes on. */
void tlb_flush_mmu(struct mmu_gather *tlb);
/* Step 2 alone: pages stay in the gather. Callable under a page-table lock. */
void tlb_flush_mmu_tlbonly(struct mmu_gather *tlb);

/* Says for whom and over which range this gather works. */
static inline void tlb_gather_call(struct mmu_gather *tlb, enum gather_call call,
				   u64 start, u64 end)
{
	tlb->call = call;
	tlb->call_start = start;
	tlb->call_end = end;
}

/*
 * Gathers in flight.
 *
 * The increment comes before this gather takes any page-table lock, and every
 * change of an entry is made under the lock of its table. So another CPU
 * that takes that same lock after us and sees our change sees our
 * increment too:
 *
 *	CPU A					CPU B
 *	tlb_flush_pending++
 *	lock(ptl); clear entry; unlock(ptl)
 *						lock(ptl); entry is none
 *						unlock(ptl)
 *						tlb_flush_pending > 1: flush
 *
 * The promise holds for that lock alone: one table's lock orders nothing of
 * another's. No barrier orders the decrement; what makes it late enough is that
 * the flush before it has completed.
 *
 * And who finds a PMD entry none has found it without the lock (zap_pmd_range(), as Linux
 * does). What it then reads of tlb_flush_pending may be older, on arm64 and POWER:
 *
 *	CPU A					CPU B
 *	tlb_flush_pending++			tlb_flush_pending++
 *	lock; clear PMD; unlock
 *						PMD is none: nothing to do
 *						tlb_flush_pending: its own 1 yet
 *						returns; uses the huge page still
 *	TLBI
 *
 * The page is not freed before A has flushed; but B's MADV_DONTNEED has returned. The same
 * with a table that mm.pt_reclaim takes away. Linux lives with it, or does not know:
 * mmu_gather.pending_order=barrier is what would keep it out, scenarios/huge-zappers.tlb.
 */
enum { PENDING_PTL, PENDING_BARRIER };

static inline void inc_tlb_flush_pending(struct mm_struct *mm)
{
	atomic_inc(&mm->tlb_flush_pending);
	if (knob(mmu_gather_pending_order) == PENDING_BARRIER)
		smp_mb__after_atomic();
}

static inline void dec_tlb_flush_pending(struct mm_struct *mm)
{
	atomic_dec(&mm->tlb_flush_pending);
}

static inline bool mm_tlb_flush_pending(struct mm_struct *mm)
{
	return atomic_read(&mm->tlb_flush_pending) != 0;
}

/* Asked by a gather: is there another one beside me? */
static inline bool mm_tlb_flush_nested(struct mm_struct *mm)
{
	if (knob(mmu_gather_pending_order) == PENDING_BARRIER)
		smp_rmb();
	return atomic_read(&mm->tlb_flush_pending) > 1;
}

static inline void __tlb_adjust_range(struct mmu_gather *tlb, u64 address,
				      u64 range_size)
{
	tlb->start = min(tlb->start, address);
	tlb->end = max(tlb->end, address + range_size);
}

static inline void __tlb_reset_range(struct mmu_gather *tlb)
{
	if (tlb->fullmm) {
		tlb->start = tlb->end = ~0UL;
	} else {
		tlb->start = TASK_SIZE;
		tlb->end = 0;
	}
	tlb->freed_tables = 0;
	tlb->cleared_ptes = 0;
	tlb->cleared_pmds = 0;
	tlb->cleared_puds = 0;
	tlb->cleared_p4ds = 0;
	tlb->unshared_tables = 0;
	/* vma_*: nobody would set them again after a flush amid a VMA. */
}

/* The smallest level at which an entry was cleared: the stride of a flush. */
static inline u32 tlb_get_unmap_shift(struct mmu_gather *tlb)
{
	if (tlb->cleared_ptes)
		return PAGE_SHIFT;
	if (tlb->cleared_pmds)
		return PMD_SHIFT;
	if (tlb->cleared_puds)
		return PUD_SHIFT;
	if (tlb->cleared_p4ds)
		return P4D_SHIFT;
	return PAGE_SHIFT;
}

static inline u64 tlb_get_unmap_size(struct mmu_gather *tlb)
{
	return 1UL << tlb_get_unmap_shift(tlb);
}

static inline void tlb_update_vma_flags(struct mmu_gather *tlb,
					struct vm_area_struct *vma)
{
	tlb->vma_huge = !!(vma->vm_flags & VM_HUGETLB);
	tlb->vma_exec = !!(vma->vm_flags & VM_EXEC);
	tlb->vma_pfn = !!(vma->vm_flags & (VM_PFNMAP | VM_MIXEDMAP));
}

static inline void tlb_start_vma(struct mmu_gather *tlb,
				 struct vm_area_struct *vma)
{
	if (!tlb->fullmm)
		tlb_update_vma_flags(tlb, vma);
}

void tlb_end_vma(struct mmu_gather *tlb, struct vm_area_struct *vma);
void tlb_change_page_size(struct mmu_gather *tlb, u32 page_size);

static inline void tlb_flush_pte_range(struct mmu_gather *tlb, u64 address,
				       u64 size)
{
	__tlb_adjust_range(tlb, address, size);
	tlb->cleared_ptes = 1;
}

static inline void tlb_flush_pmd_range(struct mmu_gather *tlb, u64 address,
				       u64 size)
{
	__tlb_adjust_range(tlb, address, size);
	tlb->cleared_pmds = 1;
}

static inline void tlb_flush_pud_range(struct mmu_gather *tlb, u64 address,
				       u64 size)
{
	__tlb_adjust_range(tlb, address, size);
	tlb->cleared_puds = 1;
}

static inline void tlb_flush_p4d_range(struct mmu_gather *tlb, u64 address,
				       u64 size)
{
	__tlb_adjust_range(tlb, address, size);
	tlb->cleared_p4ds = 1;
}

/* An entry was cleared. */
static inline void tlb_remove_tlb_entry(struct mmu_gather *tlb, u64 address)
{
	tlb_flush_pte_range(tlb, address, PAGE_SIZE);
}

/*
 * Remember a page to free; takes over the caller's reference. True: the gather
 * is full, and the caller must tlb_flush_mmu() before it adds another.
 * delay_rmap: its rmap goes in tlb_flush_rmaps(), after the flush.
 */
bool __tlb_remove_page_size(struct mmu_gather *tlb, struct page *page,
			    bool delay_rmap, u32 page_size);
/* A run of nr_pages pages of one folio; takes two slots when more than one. */
bool __tlb_remove_folio_pages(struct mmu_gather *tlb, struct page *page,
			      u32 nr_pages, bool delay_rmap);

static inline bool __tlb_remove_page(struct mmu_gather *tlb, struct page *page,
				     bool delay_rmap)
{
	return __tlb_remove_page_size(tlb, page, delay_rmap, PAGE_SIZE);
}

static inline void tlb_remove_page_size(struct mmu_gather *tlb,
					struct page *page, u32 page_size)
{
	if (__tlb_remove_page_size(tlb, page, false, page_size))
		tlb_flush_mmu(tlb);
}

static inline void tlb_remove_page(struct mmu_gather *tlb, struct page *page)
{
	tlb_remove_page_size(tlb, page, PAGE_SIZE);
}

/*
 * A page whose entry was dirty stays in the rmap until the flush. Else
 * writeback, which asks the rmap who may still write, could find nobody, clean
 * and free the page, while a CPU with the stale writable entry writes on. False
 * where the knob mm.delayed_rmap says that this kernel is too old.
 */
bool tlb_delay_rmap(struct mmu_gather *tlb);
/* Under the page-table lock, after tlb_flush_mmu_tlbonly(). */
void tlb_flush_rmaps(struct mmu_gather *tlb, struct vm_area_struct *vma);

/* Remember an unhooked table to free. */
void tlb_remove_table(struct mmu_gather *tlb, struct page *table);
/* Wait until no CPU walks page tables with its interrupts off. */
void tlb_remove_table_sync_one(void);

/*
 * A table of PTEs (PMDs, ...) was unhooked, so an entry of the level above
 * was cleared. The range grows by one base page only: an architecture's
 * flush of an address takes the walk caches above it, or its stride does.
 */
static inline void pte_free_tlb(struct mmu_gather *tlb, struct page *table,
				u64 address)
{
	tlb_flush_pmd_range(tlb, address, PAGE_SIZE);
	tlb->freed_tables = 1;
	tlb_remove_table(tlb, table);
}

static inline void pmd_free_tlb(struct mmu_gather *tlb, struct page *table,
				u64 address)
{
	tlb_flush_pud_range(tlb, address, PAGE_SIZE);
	tlb->freed_tables = 1;
	tlb_remove_table(tlb, table);
}

static inline void pud_free_tlb(struct mmu_gather *tlb, struct page *table,
				u64 address)
{
	tlb_flush_p4d_range(tlb, address, PAGE_SIZE);
	tlb->freed_tables = 1;
	tlb_remove_table(tlb, table);
}

static inline void p4d_free_tlb(struct mmu_gather *tlb, struct page *table,
				u64 address)
{
	__tlb_adjust_range(tlb, address, PAGE_SIZE);
	tlb->freed_tables = 1;
	tlb_remove_table(tlb, table);
}

#include "tlb.h"

#endif
