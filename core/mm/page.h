/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages: the memmap, reference and map counts, huge pages, and pages that are tables.
 *
 * _refcount counts who would be hurt if the page were freed: the page cache,
 * each entry that maps it, each gather that holds it. The last put_page()
 * frees. _mapcount counts entries alone, from -1, and changes under the
 * page-table lock of the entry.
 *
 * A huge page is a run of HPAGE_PMD_NR pages, the first of which, its head, has both
 * counts for all of them: one for the PMD entry that maps the whole, or one for each
 * PTE that maps a part. It is freed as a whole, when nothing of it is mapped any more, and
 * goes to swap as a whole: Linux may break one up earlier, under memory pressure. Of the
 * other pages nothing but the flags is used, and those only once they are mapped by PTEs. So a
 * fault touches one struct page and not 512; what Linux keeps in each of them (compound_head) is a byte of
 * huge_map for the run. It is plain: set before the page is mapped, cleared when it
 * has no reference left; gup_fast, which looks without one, looks again.
 */
#ifndef CORE_MM_PAGE_H
#define CORE_MM_PAGE_H

#include "mm/mm_types.h"

/* At boot: the memmap and the page of zeroes. */
void page_init(struct kernel *k);

/* A zeroed page for user mode, one reference, not mapped, with flags; NULL: no memory. */
struct page *alloc_user_page(u32 flags);
/* A copy of old, likewise, anonymous. */
struct page *copy_user_page(struct page *old);
/* One on node (MACH_NODE_LOCAL: any) that is about to be copied to: zeroing costs nothing. */
struct page *alloc_page_to_copy(s32 node, u32 flags);
/*
 * As alloc_user_page(), huge, on node. zero: the time to zero it counts; else it is copied
 * to. NULL: the caller makes do without.
 */
struct page *alloc_huge_page(bool zero, s32 node);
void __put_page(struct page *head);

static inline bool PageHuge(const struct page *page)
{
	const struct kernel *k = kernel();

	return k->huge_map && k->huge_map[page_to_pfn(page) >> HPAGE_PMD_ORDER];
}

/* The page that has the counts. */
static inline struct page *compound_head(struct page *page)
{
	if (!PageHuge(page))
		return page;
	return pfn_to_page(page_to_pfn(page) & ~(HPAGE_PMD_NR - 1));
}

static inline void get_page(struct page *page)
{
	atomic_inc(&compound_head(page)->_refcount);
}

static inline void put_page(struct page *page)
{
	struct page *head = compound_head(page);

	if (atomic_dec_and_test(&head->_refcount))
		__put_page(head);
}

/* Unless it is being freed. */
static inline bool get_page_unless_zero(struct page *head)
{
	return atomic_inc_not_zero(&head->_refcount);
}

/*
 * With all of the references, which are count, at hand: take them away, so that nobody can
 * get a new one. False: there are others, and nothing has changed.
 */
static inline bool page_ref_freeze(struct page *head, s32 count)
{
	return cmpxchg(&head->_refcount.counter, count, 0) == count;
}

static inline void page_ref_unfreeze(struct page *head, s32 count)
{
	smp_store_release(&head->_refcount.counter, count);
}

/* How many base pages have their counts in this one. */
static inline u32 compound_nr(struct page *head)
{
	return PageHuge(head) ? (u32)HPAGE_PMD_NR : 1;
}

static inline s32 page_count(struct page *page)
{
	return atomic_read(&compound_head(page)->_refcount);
}

static inline bool PageAnon(const struct page *page)
{
	return READ_ONCE(page->flags) & PG_anon;
}

static inline bool PageAnonExclusive(const struct page *page)
{
	return READ_ONCE(page->flags) & PG_anon_exclusive;
}

static inline bool page_mapped(struct page *page)
{
	return atomic_read(&compound_head(page)->_mapcount) >= 0;
}

/* Entries that map it, or a part of it. */
static inline s32 page_mapcount(struct page *page)
{
	return atomic_read(&compound_head(page)->_mapcount) + 1;
}

#define PG_new_anon (PG_anon | PG_swapbacked | PG_lru | PG_anon_exclusive)

/* Under the page-table lock of the entry. */
static inline void SetPageAnonExclusive(struct page *page)
{
	(void)mach_rmw(&page->flags, MACH_OR, PG_anon_exclusive, 0, MACH_RELAXED);
}

static inline void ClearPageAnonExclusive(struct page *page)
{
	(void)mach_rmw(&page->flags, MACH_AND, ~PG_anon_exclusive, 0, MACH_RELAXED);
}

/* Off the list that reclaim takes pages from, with a reference; false: somebody was faster. */
static inline bool isolate_lru_page(struct page *page)
{
	struct page *head = compound_head(page);

	if (!(mach_rmw(&head->flags, MACH_AND, (u64)(u32)~PG_lru, 0, MACH_FULL) & PG_lru))
		return false;
	get_page(head);
	return true;
}

static inline void putback_lru_page(struct page *head)
{
	(void)mach_rmw(&head->flags, MACH_OR, PG_lru, 0, MACH_RELAXED);
	put_page(head);
}

/* Looks before it writes: pages are dirtied far more often than cleaned. */
static inline void set_page_dirty(struct page *page)
{
	if (!(READ_ONCE(page->flags) & PG_dirty))
		(void)mach_rmw(&page->flags, MACH_OR, PG_dirty, 0, MACH_RELAXED);
}

/* Page locked. Was it? */
static inline bool TestClearPageDirty(struct page *page)
{
	return mach_rmw(&page->flags, MACH_AND, (u64)(u32)~PG_dirty, 0, MACH_FULL) & PG_dirty;
}

/* Under the page-table lock of the entry. */
static inline void page_add_rmap(struct page *page)
{
	mach_charge(RMAP, 1);
	atomic_inc(&compound_head(page)->_mapcount);
}

static inline void page_remove_rmap(struct page *page, struct vm_area_struct *vma)
{
	(void)vma;
	mach_charge(RMAP, 1);
	BUG_ON(atomic_add_return(-1, &compound_head(page)->_mapcount) < -1);
}

/* A zeroed table with its lock; NULL: no memory. */
struct page *alloc_table_page(struct mm_struct *mm);
/* All of its entries are none. Any context. */
void free_table_page(struct page *table);

#endif
