/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/swap.h"

#include "mm/lru.h"

void swap_init(struct kernel *k)
{
	struct swap_info *si = kzalloc(sizeof(*si));
	u64 nr = min(mach_env()->nr_frames, (u64)SWAP_MAX_SLOTS);

	si->nr_slots = (u32)nr;
	si->slot = kzalloc(nr * sizeof(*si->slot));
	si->lock = kzalloc((nr / SWAP_CLUSTER + 1) * sizeof(*si->lock));
	k->swap = si;
	/* CPUs start apart. */
	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++)
		k->cpu[cpu].swap_next = (u32)(nr / nr_cpu_ids * cpu);
}

static struct swap_slot *swap_slot(u64 offset)
{
	return &kernel()->swap->slot[offset];
}

static spinlock_t *slot_lock(u64 offset)
{
	return &kernel()->swap->lock[offset / SWAP_CLUSTER];
}

static struct swap_slot *swap_slot_locked(u64 offset)
{
	lockdep_assert_held(slot_lock(offset));
	return swap_slot(offset);
}

/* ---- slots ---- */

/* Nothing holds it any more. Under its lock; whoever wrote its frame is done. */
static void slot_release(struct swap_slot *s)
{
	if (s->count || s->cache || !s->frame)
		return;
	mach_free_frames(s->frame - 1, 0, 0);
	s->frame = 0;
}

static bool slots_free(u64 offset, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		const struct swap_slot *slot = swap_slot_locked(offset + i);

		if (slot->count || slot->cache)
			return false;
	}
	return true;
}

/* So many free slots of [from, to), one cluster, in an aligned row, taken; 0: none. */
static u64 take_slots(u64 from, u64 to, u32 row, struct page *cache)
{
	u64 at = round_up(max(from, 1UL), row);

	spin_lock(slot_lock(from));
	while (at + row <= to && !slots_free(at, row))
		at += row;
	for (u32 i = 0; i < row && at + row <= to; i++) {
		struct swap_slot *slot = swap_slot_locked(at + i);

		slot->cache = cache;
		slot->count = !cache;
	}
	spin_unlock(slot_lock(from));
	return at + row <= to ? at : 0;
}

/* Each CPU goes its own way through the slots, so that CPUs seldom share a cluster. */
static u64 alloc_slots(struct page *cache, u32 row)
{
	u64 nr = kernel()->swap->nr_slots, at = this_cpu()->swap_next, slot = 0;

	for (u64 seen = 0; !slot && seen <= nr;) {
		u64 end = min((at / SWAP_CLUSTER + 1) * SWAP_CLUSTER, nr);

		slot = take_slots(at, end, row, cache);
		seen += end - at;
		at = end < nr ? end : 0;
	}
	this_cpu()->swap_next = (u32)(slot + row < nr ? slot + row : 0);
	return slot;
}

u64 swap_alloc_slot(void)
{
	return alloc_slots(NULL, 1);
}

void swap_duplicate(u64 offset)
{
	spin_lock(slot_lock(offset));
	swap_slot_locked(offset)->count++;
	spin_unlock(slot_lock(offset));
}

u32 swap_count(u64 offset)
{
	u32 count;

	spin_lock(slot_lock(offset));
	count = swap_slot_locked(offset)->count;
	spin_unlock(slot_lock(offset));
	return count;
}

void swap_free(u64 offset)
{
	struct swap_slot *s;

	spin_lock(slot_lock(offset));
	s = swap_slot_locked(offset);
	BUG_ON(!s->count);
	s->count--;
	slot_release(s);
	spin_unlock(slot_lock(offset));
}

void free_swap_and_cache(u64 offset)
{
	struct page *page;

	swap_free(offset);
	page = swap_cache_get(offset);
	if (!page)
		return;
	/* Else whoever has it locked sees to it. */
	if (trylock_page(page))
		unlock_swap_page(page);
	put_page(page);
}

static int write_slot(struct page *page, u64 offset)
{
	struct swap_slot *s = swap_slot(offset);
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ZERO);

	if (pfn == MACH_NO_FRAME)
		return -ENOMEM;
	mach_charge(ZRAM_WRITE, 1);
	mach_copy_frame(pfn, page_to_pfn(page));
	if (s->frame)
		mach_free_frames(s->frame - 1, 0, 0);
	s->frame = pfn + 1;
	count_vm_event(pswpout);
	return 0;
}

int swap_writepage(struct page *page, u64 offset)
{
	u32 nr = compound_nr(page);
	int err = 0;

	for (u32 i = 0; i < nr && !err; i++)
		err = write_slot(page + i, offset + i);
	if (nr > 1 && !err)
		count_vm_event(thp_swpout);
	return err;
}

void swap_readpage(struct page *page, u64 offset)
{
	struct swap_slot *s = swap_slot(offset);

	BUG_ON(!s->frame);
	mach_charge(ZRAM_READ, 1);
	mach_copy_frame(page_to_pfn(page), s->frame - 1);
	/* The contents before the entry that leads to them (SetPageUptodate()). */
	smp_wmb();
	count_vm_event(pswpin);
}

/* ---- the cache ---- */

bool add_to_swap(struct page *page)
{
	u64 offset = alloc_slots(page, compound_nr(page));

	if (!offset)
		return false;
	get_page(page);
	page->private = offset;
	/* Nothing of it was ever written to the slot. */
	(void)mach_rmw(&page->flags, MACH_OR, PG_swapcache | PG_dirty, 0, MACH_RELAXED);
	return true;
}

/* Under the slot's lock and the page's. */
static void uncache(struct swap_slot *s, struct page *page)
{
	u32 nr = compound_nr(page);

	page->private = 0;
	(void)mach_rmw(&page->flags, MACH_AND, (u64)(u32)~PG_swapcache, 0, MACH_RELAXED);
	for (u32 i = 0; i < nr; i++) {
		s[i].cache = NULL;
		slot_release(&s[i]);
	}
}

void delete_from_swap_cache(struct page *page)
{
	u64 offset = page->private;

	spin_lock(slot_lock(offset));
	uncache(swap_slot_locked(offset), page);
	spin_unlock(slot_lock(offset));
	/* What the slot had is nowhere but here. */
	set_page_dirty(page);
	put_page(page);
}

bool swap_cache_remove_frozen(struct page *page)
{
	u64 offset = page->private;
	bool done;

	/* swap_cache_get() takes its reference under this lock. */
	spin_lock(slot_lock(offset));
	done = page_ref_freeze(page, 2);
	if (done && (READ_ONCE(page->flags) & PG_dirty)) {
		page_ref_unfreeze(page, 2);
		done = false;
	}
	if (done)
		uncache(swap_slot_locked(offset), page);
	spin_unlock(slot_lock(offset));
	return done;
}

bool swap_cache_replace_frozen(struct page *old, struct page *new)
{
	u64 offset = old->private;
	u32 nr = compound_nr(old);
	bool done;

	spin_lock(slot_lock(offset));
	done = page_ref_freeze(old, 2);
	if (done) {
		for (u32 i = 0; i < nr; i++)
			swap_slot_locked(offset + i)->cache = new;
		get_page(new);
		new->private = offset;
		(void)mach_rmw(&new->flags, MACH_OR, PG_swapcache, 0, MACH_RELAXED);
		old->private = 0;
		(void)mach_rmw(&old->flags, MACH_AND, (u64)(u32)~PG_swapcache, 0,
			       MACH_RELAXED);
		page_ref_unfreeze(old, 1);
	}
	spin_unlock(slot_lock(offset));
	return done;
}

/* In the cache, in so many slots, for nothing: no entry names them. */
static bool unused_in_cache(struct page *page, u64 offset, u32 nr)
{
	u32 used = 0;

	if (!PageSwapCache(page))
		return false;
	spin_lock(slot_lock(offset));
	for (u32 i = 0; i < nr && !used; i++)
		used = swap_slot_locked(offset + i)->count;
	spin_unlock(slot_lock(offset));
	return !used;
}

/*
 * Looking once, before the unlock, is not enough:
 *
 *	we				free_swap_and_cache()
 *	  count is 1: stays cached
 *					  count is 0; trylock fails
 *	  unlock
 */
void unlock_swap_page(struct page *page)
{
	u32 nr = compound_nr(page);
	u64 offset;

	do {
		offset = page->private;
		if (unused_in_cache(page, offset, nr))
			delete_from_swap_cache(page);
		unlock_page(page);
	} while (unused_in_cache(page, offset, nr) && trylock_page(page));
}

struct page *swap_cache_get(u64 offset)
{
	struct page *page;

	spin_lock(slot_lock(offset));
	page = swap_slot_locked(offset)->cache;
	if (page)
		get_page(page);
	spin_unlock(slot_lock(offset));
	return page;
}

/* Puts page, locked, into the cache, unless another is there, or the slot is not in use. */
static struct page *cache_or_get(u64 offset, struct page *page)
{
	struct swap_slot *s;

	spin_lock(slot_lock(offset));
	s = swap_slot_locked(offset);
	if (!s->count) {
		page = NULL;
	} else if (s->cache) {
		page = s->cache;
		get_page(page);
	} else {
		s->cache = page;
		get_page(page);
	}
	spin_unlock(slot_lock(offset));
	return page;
}

struct page *swap_cache_read(u64 offset)
{
	struct page *new, *page = swap_cache_get(offset);

	if (page)
		return page;
	new = alloc_page_to_copy(MACH_NODE_LOCAL, PG_anon | PG_swapbacked | PG_lru |
				 PG_swapcache | PG_locked);
	if (!new)
		return NULL;
	new->private = offset;
	page = cache_or_get(offset, new);
	if (page != new) {
		put_page(new);
		return page;
	}
	lru_cache_add(page);
	swap_readpage(page, offset);
	unlock_page(page);
	return page;
}
