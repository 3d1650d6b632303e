/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/vmscan.h"

#include "mm/lru.h"
#include "mm/mmap_lock.h"
#include "mm/rmap.h"
#include "mm/swap.h"

/* Pages of one MADV_PAGEOUT call are gathered by table: no more than are in one. */
#define MAX_FREE_BATCH 8192

KNOB_INT(vmscan_free_batch, "vmscan.free_batch", KNOB_POLICY, 31, 1, MAX_FREE_BATCH,
	 "unmapped pages that reclaim gathers before it flushes and frees them",
	 "bc2ff4cbc329 (6.9)");

enum { PAGEOUT_YOUNG_IGNORE, PAGEOUT_YOUNG_CLEAR };
KNOB_ENUM(mm_pageout_young, "mm.pageout_young", KNOB_POLICY, PAGEOUT_YOUNG_IGNORE,
	  "MADV_PAGEOUT ignores accessed bits, or clears them and flushes for that, too",
	  "2864f3d0f583 (6.9)", "ignore", "clear");

/* ---- pages to memory ---- */

/* Unmapped, flushed for nothing yet, and in nobody's reach: count 0. */
struct free_batch {
	struct list_head pages;
	u32 nr;			/* a huge page counts once, */
	u64 freed;		/* and here as the base pages that it is */
};

/* Not before this flush may another owner have the frame. */
static void free_batch_flush(struct free_batch *b)
{
	struct page *page, *next;
	u32 nr = 0;

	try_to_unmap_flush();
	list_for_each_entry_safe(page, next, &b->pages, lru) {
		nr += compound_nr(page);
		__put_page(page);
	}
	INIT_LIST_HEAD(&b->pages);
	b->freed += nr;
	count_vm_events(pgsteal, nr);
	b->nr = 0;
}

/*
 * A CPU that has the page dirty in its TLB goes on writing without a look at the page table,
 * even after what we write out was read. One that has it clean must look, and faults.
 */
static bool pageout(struct page *page)
{
	int err;

	try_to_unmap_flush_dirty();
	if (!TestClearPageDirty(page))
		return true;
	err = PageAnon(page) ? swap_writepage(page, page->private) : shmem_writepage(page);
	if (err)
		set_page_dirty(page);
	return !err;
}

/*
 * Page locked, with our reference. True: its count is 0. Looking for references comes after
 * the write: who found the page meanwhile may have written to it.
 */
static bool shrink_locked_page(struct page *page)
{
	/* Zapped, or truncated, since it was isolated. */
	if (page_count(page) == 1 && page_ref_freeze(page, 1))
		return true;
	if (!PageAnon(page) && !page->mapping)
		return false;
	if (PageAnon(page) && !PageSwapCache(page) && !add_to_swap(page))
		return false;
	if (page_mapped(page))
		try_to_unmap(page, TTU_BATCH_FLUSH);
	if (page_mapped(page) || !pageout(page))
		return false;
	return PageAnon(page) ? swap_cache_remove_frozen(page) : shmem_remove_frozen(page);
}

static void keep_page(struct page *page)
{
	count_vm_event(reclaim_kept);
	putback_lru_page(page);
}

static void shrink_page(struct page *page, struct free_batch *b)
{
	mach_charge(RECLAIM, 1);
	if (!trylock_page(page)) {
		keep_page(page);
		return;
	}
	if (!shrink_locked_page(page)) {
		unlock_swap_page(page);
		keep_page(page);
		return;
	}
	/* Nobody can find it, but somebody may have waited for its lock, without a reference. */
	unlock_page(page);
	list_add_tail(&page->lru, &b->pages);
	if (++b->nr >= knob(vmscan_free_batch))
		free_batch_flush(b);
}

u64 reclaim_pages(struct list_head *pages)
{
	struct free_batch b = { .nr = 0 };

	INIT_LIST_HEAD(&b.pages);
	while (!list_empty(pages)) {
		struct page *page = list_first_entry(pages, struct page, lru);

		list_del(&page->lru);
		shrink_page(page, &b);
	}
	free_batch_flush(&b);
	return b.freed;
}

/* ---- which pages ---- */

/* What to take from an address space. */
struct isolate {
	struct list_head *list;
	/* MADV_PAGEOUT: only pages that this entry alone maps; its gather. */
	struct mmu_gather *tlb;
};

static void clear_young(struct mmu_gather *tlb, pte_t *ptep, u64 addr)
{
	pte_t pte = ptep_get_and_clear_full(tlb->mm, addr, ptep, tlb->fullmm);

	set_pte_at(tlb->mm, addr, ptep, pte_mkold(pte));
	tlb_remove_tlb_entry(tlb, addr);
}

static void isolate_pte(struct isolate *iso, pte_t *ptep, u64 addr)
{
	pte_t pte = ptep_get(ptep);
	struct page *page;

	if (!pte_present(pte) || pte_pfn(pte) == kernel()->zero_pfn)
		return;
	page = pfn_to_page(pte_pfn(pte));
	/* MADV_PAGEOUT: what is left of a huge page Linux breaks up; here it stays. */
	if (iso->tlb && (PageHuge(page) || page_mapcount(page) != 1))
		return;
	page = compound_head(page);
	if (iso->tlb && knob(mm_pageout_young) == PAGEOUT_YOUNG_CLEAR && pte_young(pte))
		clear_young(iso->tlb, ptep, addr);
	if (isolate_lru_page(page))
		list_add_tail(&page->lru, iso->list);
}

static void isolate_pte_range(struct isolate *iso, struct vm_area_struct *vma, pmd_t *pmdp,
			      pmd_t pmd, u64 addr, u64 end)
{
	spinlock_t *ptl;
	pte_t *pte = pte_offset_map_lock(pmdp, pmd, addr, &ptl);

	if (!pte)
		return;
	if (iso->tlb)
		flush_tlb_batched_pending(vma->vm_mm);
	while (addr != end) {
		u32 none = mach_scan_zero(&pte->pte, (u32)((end - addr) >> PAGE_SHIFT));

		pte += none;
		addr += (u64)none << PAGE_SHIFT;
		if (addr == end)
			break;
		isolate_pte(iso, pte, addr);
		pte++;
		addr += PAGE_SIZE;
	}
	spin_unlock(ptl);
}

static void clear_huge_young(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
			     u64 addr)
{
	pmd_t pmd;

	tlb_change_page_size(tlb, HPAGE_PMD_SIZE);
	pmd = pmdp_invalidate(vma, addr, pmdp);
	set_pmd_at(vma->vm_mm, addr, pmdp, pmd_mkold(pmd));
	tlb_flush_pmd_range(tlb, addr, HPAGE_PMD_SIZE);
}

static void isolate_huge_pmd(struct isolate *iso, struct vm_area_struct *vma, u64 addr)
{
	pmd_t *pmdp = mm_find_pmd(vma->vm_mm, addr);
	spinlock_t *ptl = pmdp && !pmd_none(pmdp_get(pmdp)) ?
				  __pmd_trans_huge_lock(pmdp, vma) : NULL;
	struct page *page;
	pmd_t pmd;

	if (!ptl)
		return;
	pmd = pmdp_get(pmdp);
	page = pfn_to_page(pmd_pfn(pmd));
	if (!iso->tlb || page_mapcount(page) == 1) {
		if (iso->tlb && knob(mm_pageout_young) == PAGEOUT_YOUNG_CLEAR && pmd_young(pmd))
			clear_huge_young(iso->tlb, vma, pmdp, addr & HPAGE_PMD_MASK);
		if (isolate_lru_page(page))
			list_add_tail(&page->lru, iso->list);
	}
	spin_unlock(ptl);
}

/* The entry that leads to the table of addr; NULL: there is none, or a huge page. */
static pmd_t *find_pte_table(struct mm_struct *mm, u64 addr, pmd_t *pmd)
{
	pmd_t *pmdp = mm_find_pmd(mm, addr);

	*pmd = pmdp ? pmdp_get(pmdp) : __pmd(0);
	return pmd_none(*pmd) || pmd_trans_huge(*pmd) ? NULL : pmdp;
}

void madvise_pageout(struct vm_area_struct *vma, u64 start, u64 end)
{
	struct mmu_gather tlb;
	struct list_head pages;
	struct isolate iso = { .list = &pages, .tlb = &tlb };
	u64 next;

	if (lru_enabled())
		lru_add_drain();
	tlb_gather_mmu(&tlb, vma->vm_mm);
	tlb_gather_call(&tlb, GATHER_MADVISE, start, end);
	tlb_start_vma(&tlb, vma);
	for (u64 addr = start; addr < end; addr = next) {
		pmd_t pmd, *pmdp = find_pte_table(vma->vm_mm, addr, &pmd);

		next = pmd_addr_end(addr, end);
		INIT_LIST_HEAD(&pages);
		if (pmdp) {
			tlb_change_page_size(&tlb, 1U << PAGE_SHIFT);
			isolate_pte_range(&iso, vma, pmdp, pmd, addr, next);
		} else if (next - addr == HPAGE_PMD_SIZE) {
			isolate_huge_pmd(&iso, vma, addr);
		}
		reclaim_pages(&pages);
		cond_resched();
	}
	tlb_end_vma(&tlb, vma);
	tlb_finish_mmu(&tlb);
}

void isolate_range(struct mm_struct *mm, u64 start, u64 end, struct list_head *list)
{
	struct isolate iso = { .list = list };
	u64 next;

	mmap_read_lock(mm);
	for (u64 addr = start; addr < end; addr = next) {
		struct vm_area_struct *vma = find_vma(mm, addr);
		pmd_t pmd, *pmdp;

		if (!vma || vma->vm_start >= end)
			break;
		addr = max(addr, vma->vm_start);
		next = pmd_addr_end(addr, min(end, vma->vm_end));
		pmdp = find_pte_table(mm, addr, &pmd);
		if (pmdp)
			isolate_pte_range(&iso, vma, pmdp, pmd, addr, next);
		else
			isolate_huge_pmd(&iso, vma, addr);
	}
	mmap_read_unlock(mm);
}

s64 do_reclaim(u64 start, u64 len)
{
	u64 end = start + PAGE_ALIGN(len);
	struct list_head pages;

	if ((start & ~PAGE_MASK) || end < start || end > TASK_SIZE)
		return -EINVAL;
	if (lru_enabled())
		lru_add_drain();
	INIT_LIST_HEAD(&pages);
	isolate_range(current->mm, start, end, &pages);
	return (s64)reclaim_pages(&pages);
}
