/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/migrate.h"

#include "mm/lru.h"
#include "mm/mmap_lock.h"
#include "mm/numa.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"
#include "mm/vmscan.h"

KNOB_BOOL(migrate_batch, "migrate.batch", KNOB_POLICY, 1,
	  "migrate_pages() unmaps many pages before it flushes and moves them",
	  "7e12beb8ca2a (6.3)");

KNOB_BOOL(migrate_ad, "migrate.ad", KNOB_POLICY, 1,
	  "a page that moved is accessed and dirty in its entry if it was before",
	  "2e3468778dbe (6.1)");

/* Pages under way at a time. */
#define NR_MAX_BATCHED_MIGRATION 512
/* A page that somebody has a reference to is tried so often. */
#define NR_MAX_MIGRATE_PAGES_RETRY 10

/* A page under way: unmapped, both locked. */
struct migration {
	struct page *src, *dst;
	struct anon_vma *anon_vma;	/* held; NULL: a file's, or it was not mapped */
	bool was_mapped;
};

/* ---- the end: entries map the page again ---- */

struct remap {
	struct page *old, *new;
};

/* The entry that maps page (not a head), as the migration entry says. */
static pte_t migration_pte(struct vm_area_struct *vma, struct page *page, swp_entry_t entry)
{
	bool exclusive = PageAnon(page) && swp_type(entry) != SWP_MIGRATION_READ;
	u32 ad = swp_ad_bits(entry);
	pte_t pte = mk_pte(page, vma->vm_page_prot);

	pte = ad & SWP_MIGRATION_YOUNG ? pte_mkyoung(pte) : pte_mkold(pte);
	if ((ad & SWP_MIGRATION_DIRTY) && (READ_ONCE(compound_head(page)->flags) & PG_dirty))
		pte = pte_mkdirty(pte);

	if (is_writable_migration_entry(entry))
		pte = maybe_mkwrite(pte, vma);
	if (exclusive)
		SetPageAnonExclusive(page);
	return pte;
}

static bool remove_migration_pte(struct page *head, struct vm_area_struct *vma, u64 addr,
				 u64 end, void *arg)
{
	struct remap *r = arg;
	u64 first = page_to_pfn(r->old), nr = compound_nr(r->old);

	(void)head;
	for (; addr < end; addr += PAGE_SIZE) {
		spinlock_t *ptl;
		pte_t *ptep = page_vma_mapped_pte(vma, addr, &ptl), pte;
		swp_entry_t entry;
		struct page *page;

		if (!ptep)
			continue;
		pte = ptep_get(ptep);
		if (!pte_none(pte) && !pte_present(pte)) {
			entry = pte_to_swp_entry(pte);
			if (is_migration_entry(entry) && swp_offset(entry) >= first &&
			    swp_offset(entry) < first + nr) {
				page = r->new + (swp_offset(entry) - first);
				mach_charge(FAULT_PTE, 1);
				get_page(page);
				page_add_rmap(page);
				set_pte_at(vma->vm_mm, addr, ptep,
					   migration_pte(vma, page, entry));
			}
		}
		spin_unlock(ptl);
	}
	return true;
}

/* Both locked. new, which may be old, is where old was. */
static void remove_migration_ptes(struct migration *m, struct page *new)
{
	struct remap r = { .old = m->src, .new = new };

	if (m->was_mapped)
		rmap_walk_held(new, m->anon_vma, remove_migration_pte, &r);
}

/* ---- one page ---- */

static struct page *alloc_migration_target(struct page *src, s32 node)
{
	u32 flags = READ_ONCE(src->flags) & (PG_anon | PG_swapbacked);
	struct page *dst;

	if (!PageHuge(src))
		return alloc_page_to_copy(node, flags | PG_locked);
	dst = alloc_huge_page(false, node);
	if (dst)
		for (u32 i = 0; i < HPAGE_PMD_NR; i++)
			WRITE_ONCE(dst[i].flags, flags | (i ? 0 : PG_locked));
	return dst;
}

/* Unlock and put what is left of a page under way. */
static void migration_undo(struct migration *m)
{
	unlock_page(m->dst);
	put_page(m->dst);
	unlock_swap_page(m->src);
	if (m->anon_vma)
		put_anon_vma(m->anon_vma);
}

/* Lock it, find it a new place, take its entries away. False: not this time. */
static bool migrate_page_unmap(struct migration *m, struct page *src, s32 node,
			       enum migrate_mode mode, u32 ttu)
{
	*m = (struct migration){ .src = src };
	if (!trylock_page(src)) {
		if (mode == MIGRATE_ASYNC)
			return false;
		lock_page(src);
	}
	/* Truncated: it will be free once we let go. */
	if (!PageAnon(src) && !src->mapping) {
		unlock_page(src);
		return false;
	}
	mach_charge(MIGRATE, 1);
	m->dst = alloc_migration_target(src, node);
	if (!m->dst) {
		unlock_swap_page(src);
		return false;
	}
	m->anon_vma = page_get_anon_vma(src);
	m->was_mapped = page_mapped(src);
	if (m->was_mapped)
		try_to_migrate(src, ttu);
	if (!page_mapped(src))
		return true;
	remove_migration_ptes(m, src);
	migration_undo(m);
	return false;
}

/* The references: one of ours, and that of where the page is kept. */
static bool migrate_mapping(struct page *src, struct page *dst)
{
	if (!PageAnon(src))
		return shmem_replace_frozen(src, dst);
	dst->anon_vma = src->anon_vma;
	dst->index = src->index;
	if (PageSwapCache(src))
		return swap_cache_replace_frozen(src, dst);
	/* Nobody finds it any more, so nobody can take a reference after the look. */
	return page_count(src) == 1;
}

static void copy_contents(struct page *src, struct page *dst)
{
	u32 nr = compound_nr(src);

	if (nr == 1)
		mach_charge(COPY_PAGE, 1);
	else
		mach_charge(COPY_HUGE, 1);
	for (u32 i = 0; i < nr; i++)
		mach_copy_frame(page_to_pfn(dst) + i, page_to_pfn(src) + i);
	if (READ_ONCE(src->flags) & PG_dirty)
		set_page_dirty(dst);
	if (numa_balancing())
		WRITE_ONCE(dst->cpupid, READ_ONCE(src->cpupid));
	/* The contents before the entries that lead to them: a store may overtake another. */
	smp_wmb();
}

/*
 * Flushed. True: moved, and src is free if nobody has looked at it without a reference;
 * dst can be reclaimed.
 */
static bool migrate_page_move(struct migration *m)
{
	struct page *src = m->src, *dst = m->dst;

	if (!migrate_mapping(src, dst)) {
		remove_migration_ptes(m, src);
		migration_undo(m);
		return false;
	}
	copy_contents(src, dst);
	remove_migration_ptes(m, dst);
	if (m->anon_vma)
		put_anon_vma(m->anon_vma);
	unlock_swap_page(dst);
	unlock_page(src);
	/* Its entries and its file have references of their own; this was ours. */
	putback_lru_page(dst);
	put_page(src);
	count_vm_event(pgmigrate_success);
	return true;
}

/* ---- many ---- */

static struct page *pop(struct list_head *list)
{
	struct page *page = list_first_entry(list, struct page, lru);

	list_del(&page->lru);
	return page;
}

/* One by one, each flushed. What is left is on from. */
static u32 migrate_pages_single(struct list_head *from, s32 node, enum migrate_mode mode)
{
	struct list_head failed;
	u32 nr = 0;

	INIT_LIST_HEAD(&failed);
	while (!list_empty(from)) {
		struct page *page = pop(from);
		struct migration m;

		if (migrate_page_unmap(&m, page, node, mode, 0) && migrate_page_move(&m))
			continue;
		list_add_tail(&page->lru, &failed);
		nr++;
	}
	while (!list_empty(&failed))
		list_add_tail(&pop(&failed)->lru, from);
	return nr;
}

/* At most NR_MAX_BATCHED_MIGRATION of from, with one flush. Those that failed go to failed. */
static u32 migrate_pages_batch(struct list_head *from, s32 node, struct migration *m,
			       struct list_head *failed)
{
	u32 n = 0, nr_failed = 0;

	for (u32 taken = 0; taken < NR_MAX_BATCHED_MIGRATION && !list_empty(from); taken++) {
		struct page *page = pop(from);

		if (migrate_page_unmap(&m[n], page, node, MIGRATE_ASYNC,
				       TTU_BATCH_FLUSH)) {
			n++;
			continue;
		}
		list_add_tail(&page->lru, failed);
		nr_failed++;
	}
	/* Nothing is copied, and no lock waited for, before this. */
	try_to_unmap_flush();
	for (u32 i = 0; i < n; i++) {
		if (migrate_page_move(&m[i]))
			continue;
		list_add_tail(&m[i].src->lru, failed);
		nr_failed++;
	}
	return nr_failed;
}

static u32 migrate_pages_batched(struct list_head *from, s32 node)
{
	u64 size = NR_MAX_BATCHED_MIGRATION * sizeof(struct migration);
	struct migration *m = mach_kalloc(size, MACH_GFP_ATOMIC);
	struct list_head failed;
	u32 nr = 0;

	if (!m)
		return migrate_pages_single(from, node, MIGRATE_ASYNC);
	INIT_LIST_HEAD(&failed);
	while (!list_empty(from)) {
		nr += migrate_pages_batch(from, node, m, &failed);
		cond_resched();
	}
	while (!list_empty(&failed))
		list_add_tail(&pop(&failed)->lru, from);
	kfree(m, size);
	return nr;
}

/*
 * Synchronous callers, too, go through the batch first: holding many pages locked, one may
 * not wait for another lock. What is left then is done one by one, which may wait.
 */
u32 migrate_pages(struct list_head *from, s32 node, enum migrate_mode mode)
{
	u32 nr = 0;

	if (list_empty(from))
		return 0;
	if (knob(migrate_batch))
		nr = migrate_pages_batched(from, node);
	else
		nr = migrate_pages_single(from, node, mode);
	for (u32 pass = 1; nr && mode == MIGRATE_SYNC && pass < NR_MAX_MIGRATE_PAGES_RETRY;
	     pass++) {
		cond_resched();
		nr = migrate_pages_single(from, node, MIGRATE_SYNC);
	}
	count_vm_events(pgmigrate_fail, nr);
	return nr;
}

void putback_movable_pages(struct list_head *list)
{
	while (!list_empty(list))
		putback_lru_page(pop(list));
}

/* ---- who wants pages elsewhere ---- */

int migrate_misplaced_page(struct page *page, s32 node)
{
	struct page *head = compound_head(page);
	struct list_head list;
	u32 left;

	/* Ours is one more reference than a page may have that moves. */
	if (!isolate_lru_page(head)) {
		put_page(head);
		return 0;
	}
	put_page(head);
	if (lru_enabled())
		lru_add_drain();
	INIT_LIST_HEAD(&list);
	list_add(&head->lru, &list);
	left = migrate_pages(&list, node, MIGRATE_ASYNC);
	putback_movable_pages(&list);
	return !left;
}

/* What is on node already goes back; the others are left on the list. */
static void drop_pages_on(struct list_head *list, s32 node)
{
	struct page *page, *next;

	if (node < 0)
		return;
	list_for_each_entry_safe(page, next, list, lru) {
		if (mach_frame_node(page_to_pfn(page)) != (u32)node)
			continue;
		list_del(&page->lru);
		putback_lru_page(page);
	}
}

s64 do_move_pages(u64 addr, u64 nr_pages, s32 node)
{
	u64 end = addr + (nr_pages << PAGE_SHIFT);
	struct list_head list;
	s64 left;

	if ((addr & ~PAGE_MASK) || end < addr || end > TASK_SIZE ||
	    node >= (s32)mach_env()->nr_nodes)
		return -EINVAL;
	lru_add_drain_all();
	INIT_LIST_HEAD(&list);
	isolate_range(current->mm, addr, end, &list);
	drop_pages_on(&list, node);
	left = migrate_pages(&list, node < 0 ? MACH_NODE_LOCAL : node, MIGRATE_SYNC);
	putback_movable_pages(&list);
	return left;
}

/* ---- faults ---- */

void migration_entry_wait(pmd_t *pmdp, u64 addr)
{
	pmd_t pmd = pmdp_get(pmdp);
	spinlock_t *ptl;
	swp_entry_t entry;
	pte_t *ptep, pte;

	if (pmd_none(pmd) || pmd_trans_huge(pmd))
		return;
	ptep = pte_offset_map_lock(pmdp, pmd, addr, &ptl);
	if (!ptep)
		return;
	pte = ptep_get(ptep);
	if (!pte_none(pte) && !pte_present(pte)) {
		entry = pte_to_swp_entry(pte);
		if (is_migration_entry(entry)) {
			count_vm_event(migration_waits);
			migration_entry_wait_on_locked(pfn_to_page(swp_offset(entry)), ptl);
			return;
		}
	}
	spin_unlock(ptl);
}
