/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages: the memmap, reference and map counts, and pages that are tables.
 *
 * _refcount counts who would be hurt if the page were freed: the page cache,
 * each entry that maps it, each gather that holds it. The last put_page()
 * frees. _mapcount counts entries alone, from -1, and changes under the
 * page-table lock of the entry.
 */
#ifndef CORE_MM_PAGE_H
#define CORE_MM_PAGE_H

#include "mm/mm_types.h"

/* At boot: the memmap and the page of zeroes. */
void page_init(struct kernel *k);

/* A zeroed page for user mode, one reference, not mapped; NULL: no memory. */
struct page *alloc_user_page(void);
void __put_page(struct page *page);

static inline void get_page(struct page *page)
{
	atomic_inc(&page->_refcount);
}

static inline void put_page(struct page *page)
{
	if (atomic_dec_and_test(&page->_refcount))
		__put_page(page);
}

static inline bool PageAnon(const struct page *page)
{
	return READ_ONCE(page->flags) & PG_anon;
}

/* Looks before it writes: pages are dirtied far more often than cleaned. */
static inline void set_page_dirty(struct page *page)
{
	if (!(READ_ONCE(page->flags) & PG_dirty))
		(void)mach_rmw(&page->flags, MACH_OR, PG_dirty, 0, MACH_RELAXED);
}

/* Under the page-table lock of the entry. */
static inline void page_add_rmap(struct page *page)
{
	mach_charge(RMAP, 1);
	atomic_inc(&page->_mapcount);
}

static inline void page_remove_rmap(struct page *page, struct vm_area_struct *vma)
{
	(void)vma;
	mach_charge(RMAP, 1);
	BUG_ON(atomic_add_return(-1, &page->_mapcount) < -1);
}

/* A zeroed table with its lock; NULL: no memory. */
struct page *alloc_table_page(struct mm_struct *mm);
/* All of its entries are none. Any context. */
void free_table_page(struct page *table);

#endif
