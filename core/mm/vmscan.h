/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reclaim: pages that nobody will miss become swap slots.
 *
 *	isolate		off the list of pages that reclaim may take (PG_lru), with a
 *			reference
 *	lock		or leave it for another time
 *	add_to_swap	an anonymous page: its entries must have something to become
 *	try_to_unmap	TTU_BATCH_FLUSH
 *	pageout		what is dirty; try_to_unmap_flush_dirty() before
 *	remove		no reference but ours, and clean still: out of its file or cache
 *	flush, free	try_to_unmap_flush() for a batch of pages, then they are free
 *
 * Which pages. There are no LRU lists here, and nothing runs by itself: MADV_PAGEOUT says
 * which pages, as in Linux; and do_reclaim() does, in the place of kswapd, which would have
 * found them by their age: it does not mind how often a page is mapped, and holds no
 * mmap_lock while it works.
 *
 * A huge page is written out as a whole (swap.h), after its PMD entries were split; MADV_PAGEOUT
 * takes it if it is mapped by one PMD entry and lies in the range.
 */
#ifndef CORE_MM_VMSCAN_H
#define CORE_MM_VMSCAN_H

#include "mm/huge_mm.h"

/*
 * Reclaims the pages of a list (by lru, one reference each, isolated); the list is empty
 * then. Returns how many are free. May sleep.
 */
u64 reclaim_pages(struct list_head *pages);

/*
 * Isolates the pages that [start, end) maps, or maps a part of. Takes the mmap_lock. Who calls
 * has drained: lru.h.
 */
void isolate_range(struct mm_struct *mm, u64 start, u64 end, struct list_head *list);

/* MADV_PAGEOUT of [start, end) of vma. mmap_lock in any mode. */
void madvise_pageout(struct vm_area_struct *vma, u64 start, u64 end);
/* core_syscalls.reclaim. How many pages are free. */
s64 do_reclaim(u64 start, u64 len);

#endif
