/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/lru.h"

KNOB_ENUM(mm_lru, "mm.lru", KNOB_POLICY, LRU_NONE,
	  "the LRU's lock: not modelled; with drains in madvise's zaps; without them",
	  "mm: remove unnecessary calls to lru_add_drain (6.14)", "none", "drain", "batch");

static spinlock_t *lru_lock(struct page *page)
{
	return &kernel()->lru_lock[mach_frame_node(page_to_pfn(page))].lock;
}

void lru_cache_add(struct page *page)
{
	struct core_cpu *cpu = this_cpu();

	if (!lru_enabled())
		return;
	get_page(page);
	if (!cpu->nr_lru)
		WRITE_ONCE(cpu->lru_needs_drain, 1);
	cpu->lru_batch[cpu->nr_lru++] = page;
	if (cpu->nr_lru == LRU_BATCH_SIZE)
		lru_add_drain();
}

/* The lists' lines come with the lock from the CPU that had them. Interrupts are off. */
static void lock_lru(spinlock_t *lock)
{
	spin_lock(lock);
	mach_charge(LRU_MOVE, 1);
}

/*
 * With interrupts off from the first to the last: of a page that is out of the batch and
 * still has our reference, an interrupt of lru_add_drain_all() would tell its caller that it
 * is drained.
 */
static void lru_add_drain_cpu(struct core_cpu *cpu)
{
	spinlock_t *lock, *locked = NULL;
	struct page *page;
	bool flags;

	if (!cpu->nr_lru)
		return;
	local_irq_save(flags);
	for (u32 i = 0; i < cpu->nr_lru; i++) {
		page = cpu->lru_batch[i];
		lock = lru_lock(page);
		if (lock != locked) {
			if (locked)
				spin_unlock(locked);
			lock_lru(lock);
			locked = lock;
		}
		/* One that nobody else has goes off again at once, in the same lock. */
		if (page_count(page) != 1)
			(void)mach_rmw(&page->flags, MACH_OR, PG_lru_listed, 0, MACH_RELAXED);
	}
	/* Or an interrupt was here first, before they were off. */
	if (locked)
		spin_unlock(locked);
	for (u32 i = 0; i < cpu->nr_lru; i++)
		put_page(cpu->lru_batch[i]);
	cpu->nr_lru = 0;
	WRITE_ONCE(cpu->lru_needs_drain, 0);
	local_irq_restore(flags);
}

void lru_add_drain(void)
{
	lru_add_drain_cpu(this_cpu());
}

static void lru_add_drain_per_cpu(void *unused)
{
	(void)unused;
	lru_add_drain();
}

void lru_add_drain_all(void)
{
	struct cpumask has_work = { { 0 } };
	u32 self = smp_processor_id();
	bool any = false;

	if (!lru_enabled())
		return;
	lru_add_drain();
	/* What we saw of other CPUs' pages, before what they have in their batches. */
	smp_mb();
	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (cpu == self || !READ_ONCE(kernel()->cpu[cpu].lru_needs_drain))
			continue;
		has_work.bits[cpu / 64] |= BIT(cpu % 64);
		any = true;
	}
	if (any)
		mach_ipi(has_work.bits, lru_add_drain_per_cpu, NULL, true);
}

void lru_drain_quiet(void)
{
	for (u32 i = 0; i < nr_cpu_ids; i++)
		lru_add_drain_cpu(&kernel()->cpu[i]);
}

void lru_del(struct page *page)
{
	spinlock_t *lock = lru_lock(page);
	bool flags;

	local_irq_save(flags);
	lock_lru(lock);
	(void)mach_rmw(&page->flags, MACH_AND, ~PG_lru_listed, 0, MACH_RELAXED);
	spin_unlock(lock);
	local_irq_restore(flags);
}
