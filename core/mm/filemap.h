/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page lock, and sleeping for it (Linux: mm/filemap.c).
 *
 * It guards what a page is: its place in a file or in the swap cache, and that its contents
 * are there. Reclaim, migration, truncation and writeback hold it from their first look to
 * their last; a fault holds it while it maps a page of a file or of the swap cache.
 * Outermost of the locks of a page: rmap locks, page-table locks, i_pages_lock and those
 * of the swap slots lie inside. Who has the mmap_lock may wait for it; who holds it may not
 * take the mmap_lock.
 *
 * The lock is a bit of flags; of a huge page, the head's. Waiters sleep in a small table
 * of queues. Nobody is missed:
 *
 *	waiter, under the queue's lock		unlock_page()
 *	  set PG_waiters, read PG_locked
 *						  clear PG_locked, read PG_waiters
 *	  it was locked: queue up, sleep	  it was set: lock the queue, wake
 *
 * Both are one atomic operation on flags, so one of them comes second and sees the other.
 */
#ifndef CORE_MM_FILEMAP_H
#define CORE_MM_FILEMAP_H

#include "mm/page.h"

void page_wait_init(struct kernel *k);
/* May sleep. */
void __lock_page(struct page *head);
void __wake_page(struct page *head);

static inline bool trylock_page(struct page *page)
{
	return !(mach_rmw(&compound_head(page)->flags, MACH_OR, PG_locked, 0,
			  MACH_ACQUIRE) & PG_locked);
}

/* The caller has a reference. May sleep. */
static inline void lock_page(struct page *page)
{
	if (!trylock_page(page))
		__lock_page(compound_head(page));
}

static inline void unlock_page(struct page *page)
{
	struct page *head = compound_head(page);

	if (mach_rmw(&head->flags, MACH_AND, (u64)(u32)~PG_locked, 0, MACH_FULL) & PG_waiters)
		__wake_page(head);
}

static inline bool PageLocked(struct page *page)
{
	return READ_ONCE(compound_head(page)->flags) & PG_locked;
}

/*
 * Sleep until page, which ptl keeps in place, is unlocked, or return at once if it is; lets
 * go of ptl. Without a reference: one more would make its migration fail.
 */
void migration_entry_wait_on_locked(struct page *page, spinlock_t *ptl);

#endif
