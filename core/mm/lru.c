/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/lru.h"

KNOB_ENUM(mm_lru, "mm.lru", KNOB_POLICY, LRU_NONE,
	  "the LRU's lock: not modelled; with drains in madvise's zaps; without them",
	  "mm: remove unnecessary calls to lru_add_drain (6.14)", "none", "drain", "batch");

static spinlock_t *lru_lock(struct page *page)
{
	return &kernel()->lru_lock[mach_frame_node(page_to_pfn(page))].lock;
}

/* The lists' lines come with the lock from the CPU that had them. */
#define lock_lru(lock, flags) do {		\
	spin_lock_irqsave(lock, flags);		\
	mach_charge(LRU_MOVE, 1);		\
} while (0)

void lru_cache_add(struct page *page)
{
	struct core_cpu *cpu = this_cpu();

	if (!lru_enabled())
		return;
	get_page(page);
	cpu->lru_batch[cpu->nr_lru++] = page;
	if (cpu->nr_lru == LRU_BATCH_SIZE)
		lru_add_drain();
}

/*
 * Taken out of the batch first: while we wait for the lock, or free pages, others that run on
 * this CPU may add to it.
 */
static void lru_add_drain_cpu(struct core_cpu *cpu)
{
	struct page *pages[LRU_BATCH_SIZE];
	u32 n = cpu->nr_lru;
	spinlock_t *locked = NULL;
	bool flags = false;

	for (u32 i = 0; i < n; i++)
		pages[i] = cpu->lru_batch[i];
	cpu->nr_lru = 0;
	for (u32 i = 0; i < n; i++) {
		spinlock_t *lock = lru_lock(pages[i]);

		if (lock != locked) {
			if (locked)
				spin_unlock_irqrestore(locked, flags);
			lock_lru(lock, flags);
			locked = lock;
		}
		/* One that nobody else has goes off again at once, in the same lock. */
		if (page_count(pages[i]) != 1)
			(void)mach_rmw(&pages[i]->flags, MACH_OR, PG_lru_listed, 0, MACH_RELAXED);
	}
	if (locked)
		spin_unlock_irqrestore(locked, flags);
	for (u32 i = 0; i < n; i++)
		put_page(pages[i]);
}

void lru_add_drain(void)
{
	lru_add_drain_cpu(this_cpu());
}

void lru_add_drain_all(void)
{
	for (u32 i = 0; i < nr_cpu_ids; i++)
		lru_add_drain_cpu(&kernel()->cpu[i]);
}

void lru_del(struct page *page)
{
	spinlock_t *lock = lru_lock(page);
	bool flags;

	lock_lru(lock, flags);
	(void)mach_rmw(&page->flags, MACH_AND, ~PG_lru_listed, 0, MACH_RELAXED);
	spin_unlock_irqrestore(lock, flags);
}
