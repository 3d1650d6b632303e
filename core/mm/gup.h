/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that the kernel gets hold of by their address, for a device or another process to read
 * or write there: gup.c without a lock, pin.c with the mmap_lock and by faults.
 *
 * A reference keeps a page from being freed. A pin also says that somebody may write to it at
 * any time: fork gives the child a copy at once (page_needs_cow_for_dma()), for the parent
 * must keep the page that the device has. A pin is GUP_PIN_COUNTING_BIAS references more than
 * entries map the page (Linux counts pins of huge pages apart); so a page with very many
 * other references seems pinned, and is copied without need.
 *
 *	gup_fast				fork
 *	  mm->has_pinned = 1			  write_protect_seq is odd
 *	  is write_protect_seq even?		  page: pinned? then copy it
 *	  take the pin				  else write-protect, share
 *	  has write_protect_seq changed?	  write_protect_seq is even
 */
#ifndef CORE_MM_GUP_H
#define CORE_MM_GUP_H

#include "mm/page.h"

#define GUP_PIN_COUNTING_BIAS 1024

struct gup {
	struct mm_struct *mm;
	bool write;
	s32 refs;		/* to take of each page: 1, or GUP_PIN_COUNTING_BIAS */
	u32 nr;
	struct page **pages;
};

/* Takes pages from [addr, end) on, to the first that it cannot have at once. */
void gup_fast(struct gup *g, u64 addr, u64 end);

/* A reference, refs times, unless the page is being freed: its head, or NULL. */
struct page *try_grab(struct page *page, s32 refs);
void put_refs(struct page *head, s32 refs);

/*
 * gup_write(): as a device, or a debugger, to which the page of addr is given: pins it for
 * writing, stores val at addr through the frame, and unpins it, dirty. force: the right to
 * write is not needed in a private mapping, which then gets a copy (FOLL_FORCE). 0;
 * -EFAULT: there is no such page; -EINVAL: addr is not that of a word.
 */
s64 gup_write(u64 addr, u64 val, bool force);

/* Of a page that is this mm's alone, while nobody can map or unmap it. */
static inline bool page_maybe_dma_pinned(struct page *page)
{
	return page_count(page) - page_mapcount(page) >= GUP_PIN_COUNTING_BIAS;
}

/* Of an entry of mm, under its lock, while write_protect_seq is odd. */
static inline bool page_needs_cow_for_dma(struct mm_struct *mm, struct page *page)
{
	return READ_ONCE(mm->has_pinned) && PageAnonExclusive(page) &&
	       page_maybe_dma_pinned(page);
}

#endif
