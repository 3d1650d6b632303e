/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Swap: slots of compressed memory (zram), and the swap cache.
 *
 * A huge page goes as a whole, into slots in a row (THP_SWAP), and stays in the cache until
 * none of them is in use; it comes back page by page. No such row: it is left alone, where
 * Linux would break it up.
 *
 * A slot is held by the entries that name it (count), or by a file that has it in place of
 * a page, and by the swap cache, which knows the page that has the slot's contents: put
 * there before the first entry names the slot, or by the fault that reads it back. So any
 * number of faults on one slot meet at one page. Its slot is free again when neither is
 * left.
 *
 * Reading and writing are synchronous, as zram's are: no page is ever under writeback. Their
 * cost is named (zram_write, zram_read). Each slot in use takes a frame: nothing here
 * compresses. As Linux does with such devices, a fault that reads the last use of a slot
 * frees it, so a page that is swapped out again is written again.
 *
 * Locks. A slot is guarded by the lock of its cluster, innermost but for nothing; what its frame
 * holds, by the lock of the page whose slot it is. PG_swapcache and private change under
 * both. Nothing here sleeps.
 */
#ifndef CORE_MM_SWAP_H
#define CORE_MM_SWAP_H

#include "mm/filemap.h"

/* Of slots; a huge page's lie in one. */
#define SWAP_CLUSTER	512
#define SWAP_MAX_SLOTS	(1U << 18)

struct swap_slot {
	u32 count;		/* cluster's lock: entries, or one file */
	struct page *cache;	/* cluster's lock: a head */
	u64 frame;		/* page lock: pfn + 1 of what was written; 0: nothing */
};

struct swap_info {
	u32 nr_slots;		/* const; slot 0 is never used */
	struct swap_slot *slot;	/* const pointer */
	spinlock_t *lock;	/* const pointer: of each cluster */
};

void swap_init(struct kernel *k);

static inline bool PageSwapCache(const struct page *page)
{
	return READ_ONCE(page->flags) & PG_swapcache;
}

/* ---- anonymous pages: page locked ---- */

/* A slot for page (huge: a row of them), which is dirty in it. False: swap is full. */
bool add_to_swap(struct page *page);
/* Drops the cache's reference. */
void delete_from_swap_cache(struct page *page);
/*
 * Takes page out of the cache if nobody but the cache and the caller has a reference
 * and it is clean: then its count is 0, and the caller frees it. Else nothing changes.
 */
bool swap_cache_remove_frozen(struct page *page);
/*
 * Both locked: if nobody but the cache and the caller has a reference to old, new takes its
 * place, and the caller's is the last one of old.
 */
bool swap_cache_replace_frozen(struct page *old, struct page *new);
/*
 * Unlocks it, and takes it out of the cache if no entry names its slot any more. Who
 * dropped the last one may have found the page locked and left it to us.
 */
void unlock_swap_page(struct page *page);

/* ---- slots ---- */

/* The cached page of a slot, a head, with a reference, or NULL. */
struct page *swap_cache_get(u64 offset);
/*
 * The same, read back if need be; NULL: no memory, or the slot is no longer in use: look
 * at the entry again.
 */
struct page *swap_cache_read(u64 offset);
/* One more entry names the slot. */
void swap_duplicate(u64 offset);
/* One fewer. */
void swap_free(u64 offset);
/* One fewer, and its page, if that was the last, goes as well. */
void free_swap_and_cache(u64 offset);
/* Entries that name it now. */
u32 swap_count(u64 offset);
/* A slot without a page in the cache, count 1; 0: swap is full. */
u64 swap_alloc_slot(void);

/* The slot of page, which may be a part of one that is in the cache, huge and locked. */
static inline u64 page_swap_offset(struct page *page)
{
	struct page *head = compound_head(page);

	return head->private + (u64)(page - head);
}

/* zram. Page, a head, locked; 0 or -ENOMEM. */
int swap_writepage(struct page *page, u64 offset);
/* page is new: zero. */
void swap_readpage(struct page *page, u64 offset);

#endif
