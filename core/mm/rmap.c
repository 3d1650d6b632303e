/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/rmap.h"

#include "mm/swap.h"
#include "mm/swapops.h"

/* ---- the rmap lock ---- */

static void rmap_assert_write(const struct rmap_lock *lock)
{
	BUG_ON(lock->owner != smp_processor_id() + 1U);
}

/* Until it is no longer so: seen is what it was. */
static void rmap_lock_wait(struct rmap_lock *lock, u32 seen)
{
	struct mach_watch watch = { &lock->word, sizeof(lock->word), seen };

	mach_wait_change(&watch, 1);
}

void rmap_lock_read(struct rmap_lock *lock)
{
	u32 old = 0, seen;

	while ((seen = cmpxchg_acquire(&lock->word, old, old + 1)) != old) {
		/* Others walk: beside them. A writer: after it. */
		if (seen & (RMAP_WRITER | RMAP_WAITING))
			rmap_lock_wait(lock, seen);
		old = seen & ~(RMAP_WRITER | RMAP_WAITING);
	}
}

void rmap_unlock_read(struct rmap_lock *lock)
{
	(void)mach_rmw(&lock->word, MACH_ADD, -1, 0, MACH_RELEASE);
}

/* Who gets it while others wait clears RMAP_WAITING with it; they set it again. */
void rmap_lock_write(struct rmap_lock *lock)
{
	u32 old = 0, seen;

	while ((seen = cmpxchg_acquire(&lock->word, old, RMAP_WRITER)) != old) {
		old = seen & RMAP_WAITING;
		if (seen == old)
			continue;
		if (!old)
			seen = mach_rmw(&lock->word, MACH_OR, RMAP_WAITING, 0, MACH_RELAXED) |
			       RMAP_WAITING;
		if (seen != RMAP_WAITING)
			rmap_lock_wait(lock, seen);
		old = RMAP_WAITING;
	}
	lock->owner = smp_processor_id() + 1;
}

void rmap_unlock_write(struct rmap_lock *lock)
{
	rmap_assert_write(lock);
	lock->owner = 0;
	(void)mach_rmw(&lock->word, MACH_AND, ~RMAP_WRITER, 0, MACH_RELEASE);
}

/* ---- VMAs come and go ---- */

static void anon_vma_free_rcu(struct rcu_head *head)
{
	struct anon_vma *av = container_of(head, struct anon_vma, rcu);

	anon_vma_free(av);
}

/* False: it has one. Who makes the first one holds the mm's lock. */
static bool set_anon_vma(struct vm_area_struct *vma, struct anon_vma *av)
{
	lockdep_assert_held(&vma->vm_mm->page_table_lock);
	if (READ_ONCE(vma->anon_vma))
		return false;
	list_add_tail(&vma->rmap_node, &av->head);
	smp_store_release(&vma->anon_vma, av);
	return true;
}

/*
 * Two threads may fault at once, each with the VMA locked for reading. Linux first looks
 * whether a neighbour's will do, so that the two may merge later; for that the mmap_lock is
 * needed.
 */
int anon_vma_prepare(struct vm_area_struct *vma)
{
	struct anon_vma *av;

	if (likely(READ_ONCE(vma->anon_vma)))
		return 0;
	av = mach_kalloc(sizeof(*av), MACH_GFP_ATOMIC);
	if (!av)
		return -ENOMEM;
	INIT_LIST_HEAD(&av->head);
	atomic_set(&av->refcount, 1);
	spin_lock(&vma->vm_mm->page_table_lock);
	if (set_anon_vma(vma, av))
		av = NULL;
	spin_unlock(&vma->vm_mm->page_table_lock);
	if (av)
		anon_vma_free(av);
	return 0;
}

struct rmap_lock *vma_rmap_lock(struct vm_area_struct *vma)
{
	struct anon_vma *av;

	if (vma->vm_file)
		return &vma->vm_file->i_mmap_lock;
	av = READ_ONCE(vma->anon_vma);
	return av ? &av->lock : NULL;
}

static void link_to_file(struct vm_area_struct *vma, struct address_space *file)
{
	rmap_assert_write(&file->i_mmap_lock);
	list_add_tail(&vma->rmap_node, &file->i_mmap);
}

void vma_rmap_link_file(struct vm_area_struct *vma)
{
	rmap_lock_write(&vma->vm_file->i_mmap_lock);
	link_to_file(vma, vma->vm_file);
	rmap_unlock_write(&vma->vm_file->i_mmap_lock);
}

/* Under the rmap lock. */
static void link_behind(struct vm_area_struct *vma, struct vm_area_struct *of)
{
	if (of->vm_file) {
		link_to_file(vma, of->vm_file);
		return;
	}
	rmap_assert_write(&of->anon_vma->lock);
	list_add_tail(&vma->rmap_node, &of->anon_vma->head);
	atomic_inc(&of->anon_vma->refcount);
	WRITE_ONCE(vma->anon_vma, of->anon_vma);
}

static void unlink_under(struct vm_area_struct *vma, const struct rmap_lock *lock)
{
	rmap_assert_write(lock);
	list_del(&vma->rmap_node);
}

void vma_rmap_clone(struct vm_area_struct *vma, struct vm_area_struct *of)
{
	struct rmap_lock *lock = take_rmap_lock(of);

	if (lock)
		link_behind(vma, of);
	drop_rmap_lock(lock);
}

void vma_rmap_split(struct vm_area_struct *vma, struct vm_area_struct *new, u64 addr)
{
	struct rmap_lock *lock = take_rmap_lock(vma);

	if (lock)
		link_behind(new, vma);
	vma->vm_end = addr;
	drop_rmap_lock(lock);
}

void vma_rmap_merge(struct vm_area_struct *prev, struct vm_area_struct *next)
{
	struct rmap_lock *lock = take_rmap_lock(vma_rmap_lock(next) ? next : prev);

	prev->vm_end = next->vm_end;
	if (vma_rmap_lock(next)) {
		if (!vma_rmap_lock(prev))
			link_behind(prev, next);
		unlink_under(next, lock);
	}
	drop_rmap_lock(lock);
}

void vma_rmap_unlink(struct vm_area_struct *vma)
{
	struct rmap_lock *lock = vma_rmap_lock(vma);

	if (!lock)
		return;
	rmap_lock_write(lock);
	unlink_under(vma, lock);
	rmap_unlock_write(lock);
}

void page_add_new_anon_rmap(struct page *page, struct vm_area_struct *vma, u64 addr)
{
	struct page *head = compound_head(page);

	head->anon_vma = READ_ONCE(vma->anon_vma);
	BUG_ON(!head->anon_vma);
	head->index = linear_page_index(vma, addr) - (u64)(page - head);
	page_add_rmap(page);
}

/* ---- walking ---- */

struct rmap_walk {
	struct page *page;
	rmap_one_t one;
	void *arg;
};

/* The part of page that lies in vma, if any. Under the rmap lock, for reading. */
static bool walk_vma(const struct rmap_walk *w, struct vm_area_struct *vma)
{
	u64 from = w->page->index, to = from + compound_nr(w->page);
	u64 first = vma->vm_pgoff;
	u64 last = first + ((vma->vm_end - vma->vm_start) >> PAGE_SHIFT);

	from = max(from, first);
	to = min(to, last);
	if (from >= to)
		return true;
	return w->one(w->page, vma, vma->vm_start + ((from - first) << PAGE_SHIFT),
		      vma->vm_start + ((to - first) << PAGE_SHIFT), w->arg);
}

static void walk_list(struct rmap_walk *w, struct rmap_lock *lock, struct list_head *head)
{
	struct vm_area_struct *vma;

	rmap_lock_read(lock);
	list_for_each_entry(vma, head, rmap_node)
		if (!walk_vma(w, vma))
			break;
	rmap_unlock_read(lock);
}

struct anon_vma *page_get_anon_vma(struct page *page)
{
	struct anon_vma *av = NULL;

	rcu_read_lock();
	if (PageAnon(page) && page_mapped(page)) {
		av = page->anon_vma;
		if (!atomic_inc_not_zero(&av->refcount))
			av = NULL;
	}
	rcu_read_unlock();
	return av;
}

void put_anon_vma(struct anon_vma *av)
{
	if (atomic_dec_and_test(&av->refcount))
		call_rcu(&av->rcu, anon_vma_free_rcu);
}

void rmap_walk_held(struct page *page, struct anon_vma *av, rmap_one_t one, void *arg)
{
	struct rmap_walk w = { .page = page, .one = one, .arg = arg };
	/* It stays as long as the page, locked, is in it. */
	struct address_space *file = PageAnon(page) ? NULL : page->mapping;

	if (av)
		walk_list(&w, &av->lock, &av->head);
	else if (file)
		walk_list(&w, &file->i_mmap_lock, &file->i_mmap);
}

static void rmap_walk(struct page *page, rmap_one_t one, void *arg)
{
	struct anon_vma *av = page_get_anon_vma(page);

	rmap_walk_held(page, av, one, arg);
	if (av)
		put_anon_vma(av);
}

/* ---- deferred flushes ---- */

enum { UNMAP_FLUSH_IMMEDIATE, UNMAP_FLUSH_BATCHED };
KNOB_ENUM(rmap_unmap_flush, "rmap.unmap_flush", KNOB_POLICY, UNMAP_FLUSH_BATCHED,
	  "reclaim flushes each page that it unmaps, or many at once",
	  "72b252aed506 (4.3)", "immediate", "batched");

enum { FLUSH_BATCHED_OFF, FLUSH_BATCHED_FLAG, FLUSH_BATCHED_COUNTERS };
KNOB_ENUM(mm_tlb_flush_batched, "mm.tlb_flush_batched", KNOB_POLICY, FLUSH_BATCHED_COUNTERS,
	  "how others learn of deferred flushes: not, by a flag, or by two counters",
	  "3ea277194daa (4.13), 5ee2fa2f0636 (5.18)", "off", "flag", "counters");

KNOB_INT(mm_tlb_flush_batched_large, "mm.tlb_flush_batched_large", KNOB_POLICY, 16383, 1, 16383,
	 "deferred flushes that are counted before the count begins anew",
	 "TLB_FLUSH_BATCH_PENDING_LARGE, 5ee2fa2f0636 (5.18)");

#if ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH

/* Two counters in one word: pending in 14:0, flushed in 30:16. */
#define TLB_FLUSH_BATCH_FLUSHED_SHIFT	16
#define TLB_FLUSH_BATCH_PENDING_MASK	((1 << (TLB_FLUSH_BATCH_FLUSHED_SHIFT - 1)) - 1)

static bool should_defer_flush(struct mm_struct *mm, u32 flags)
{
	return (flags & TTU_BATCH_FLUSH) &&
	       knob(rmap_unmap_flush) == UNMAP_FLUSH_BATCHED && arch_tlbbatch_should_defer(mm);
}

static void count_pending(struct mm_struct *mm)
{
	s32 batch = atomic_read(&mm->tlb_flush_batched), seen;

	/* Long before it runs into the other counter. */
	while ((batch & TLB_FLUSH_BATCH_PENDING_MASK) > knob(mm_tlb_flush_batched_large)) {
		/* One pending, none flushed. */
		seen = cmpxchg(&mm->tlb_flush_batched.counter, batch, 1);
		if (seen == batch)
			return;
		batch = seen;
	}
	atomic_inc(&mm->tlb_flush_batched);
}

/* Under the page-table lock: pte was just cleared. */
static void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pte, u64 addr)
{
	struct tlbflush_unmap_batch *ubc = &current->tlb_ubc;

	if (!pte_accessible(mm, pte))
		return;
	count_vm_event(unmap_deferred);
	arch_tlbbatch_add_pending(&ubc->arch, mm, addr);
	ubc->flush_required = true;
	if (knob(mm_tlb_flush_batched) == FLUSH_BATCHED_COUNTERS)
		count_pending(mm);
	else if (knob(mm_tlb_flush_batched) == FLUSH_BATCHED_FLAG)
		atomic_set(&mm->tlb_flush_batched, 1);
	/* A CPU that has it dirty may go on writing without a walk. */
	if (pte_dirty(pte))
		ubc->writable = true;
}

void try_to_unmap_flush(void)
{
	struct tlbflush_unmap_batch *ubc = &current->tlb_ubc;

	if (!ubc->flush_required)
		return;
	count_vm_event(unmap_flushes);
	arch_tlbbatch_flush(&ubc->arch);
	ubc->flush_required = false;
	ubc->writable = false;
}

void try_to_unmap_flush_dirty(void)
{
	if (current->tlb_ubc.writable)
		try_to_unmap_flush();
}

/*
 * The counters. If reclaim adds another one meanwhile, the store of ours fails, and the next
 * one who asks flushes again. With a flag (to 5.17), it is lost:
 *
 *	we			reclaim
 *	  flag is set: flush
 *				  clears an entry; sets the flag
 *	  clear the flag
 */
void flush_tlb_batched_pending(struct mm_struct *mm)
{
	s32 batch, pending, flushed;

	if (knob(mm_tlb_flush_batched) == FLUSH_BATCHED_OFF)
		return;
	batch = atomic_read(&mm->tlb_flush_batched);
	if (knob(mm_tlb_flush_batched) == FLUSH_BATCHED_FLAG) {
		if (!batch)
			return;
		count_vm_event(unmap_pending);
		arch_flush_tlb_batched_pending(mm);
		atomic_set(&mm->tlb_flush_batched, 0);
		return;
	}
	pending = batch & TLB_FLUSH_BATCH_PENDING_MASK;
	flushed = batch >> TLB_FLUSH_BATCH_FLUSHED_SHIFT;
	if (pending == flushed)
		return;
	count_vm_event(unmap_pending);
	arch_flush_tlb_batched_pending(mm);
	(void)cmpxchg(&mm->tlb_flush_batched.counter, batch,
		      pending | pending << TLB_FLUSH_BATCH_FLUSHED_SHIFT);
}

#else

static bool should_defer_flush(struct mm_struct *mm, u32 flags)
{
	(void)mm;
	(void)flags;
	return false;
}

static void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pte, u64 addr)
{
	(void)mm;
	(void)pte;
	(void)addr;
}

void try_to_unmap_flush(void)
{
}

void try_to_unmap_flush_dirty(void)
{
}

void flush_tlb_batched_pending(struct mm_struct *mm)
{
	(void)mm;
}

#endif

/* ---- taking entries away ---- */

pte_t *page_vma_mapped_pte(struct vm_area_struct *vma, u64 addr, spinlock_t **ptl)
{
	pmd_t *pmdp = mm_find_pmd(vma->vm_mm, addr);
	pmd_t pmd = pmdp ? pmdp_get(pmdp) : __pmd(0);

	if (pmd_none(pmd))
		return NULL;
	if (pmd_trans_huge(pmd)) {
		split_huge_pmd(vma, pmdp, addr);
		pmd = pmdp_get(pmdp);
		if (pmd_none(pmd))
			return NULL;
	}
	return pte_offset_map_lock(pmdp, pmd, addr, ptl);
}

/* Does pte map page, or a part of it? */
static bool maps_page(pte_t pte, struct page *page)
{
	u64 first = page_to_pfn(page);

	return !pte_none(pte) && pte_present(pte) && pte_pfn(pte) >= first &&
	       pte_pfn(pte) < first + compound_nr(page);
}

/* What reclaim and migration differ in. */
struct ttu {
	u32 flags;
	bool migrate;
};

/* The entry that comes in place of pte, which maps page (not a head); none for a file. */
static pte_t replacement(const struct ttu *ttu, struct page *page, pte_t pte)
{
	bool exclusive = PageAnon(page) && PageAnonExclusive(page);
	u32 type;

	if (exclusive)
		ClearPageAnonExclusive(page);
	if (ttu->migrate) {
		type = pte_write(pte) ? SWP_MIGRATION_WRITE :
		       exclusive ? SWP_MIGRATION_READ_EXCLUSIVE : SWP_MIGRATION_READ;
		if (knob(migrate_ad))
			type |= (pte_young(pte) ? SWP_MIGRATION_YOUNG : 0) |
				(pte_dirty(pte) ? SWP_MIGRATION_DIRTY : 0);
		return swp_entry_to_pte(swp_entry(type, page_to_pfn(page)));
	}
	if (!PageAnon(page))
		return __pte(0);
	swap_duplicate(page_swap_offset(page));
	type = exclusive ? SWP_SWAP_EXCLUSIVE : SWP_SWAP;
	return swp_entry_to_pte(swp_entry(type, page_swap_offset(page)));
}

/* One entry, under its lock. */
static void unmap_pte(const struct ttu *ttu, struct vm_area_struct *vma, u64 addr, pte_t *ptep)
{
	struct mm_struct *mm = vma->vm_mm;
	struct page *page;
	pte_t pte, new;

	mach_charge(ZAP_PTE, 1);
	count_vm_event(unmap_ptes);
	if (should_defer_flush(mm, ttu->flags)) {
		pte = ptep_get_and_clear(mm, addr, ptep);
		set_tlb_ubc_flush_pending(mm, pte, addr);
	} else {
		pte = ptep_clear_flush(vma, addr, ptep);
	}
	page = pfn_to_page(pte_pfn(pte));
	if (pte_dirty(pte))
		set_page_dirty(compound_head(page));
	new = replacement(ttu, page, pte);
	if (!pte_none(new))
		set_pte_at(mm, addr, ptep, new);
	page_remove_rmap(page, vma);
	put_page(page);
}

static bool unmap_one(struct page *page, struct vm_area_struct *vma, u64 addr, u64 end,
		      void *arg)
{
	for (; addr < end; addr += PAGE_SIZE) {
		spinlock_t *ptl;
		pte_t *ptep = page_vma_mapped_pte(vma, addr, &ptl);

		if (!ptep)
			continue;
		if (maps_page(ptep_get(ptep), page))
			unmap_pte(arg, vma, addr, ptep);
		spin_unlock(ptl);
	}
	return page_mapped(page);
}

void try_to_unmap(struct page *page, u32 flags)
{
	struct ttu ttu = { .flags = flags };

	rmap_walk(page, unmap_one, &ttu);
}

void try_to_migrate(struct page *page, u32 flags)
{
	struct ttu ttu = { .flags = flags, .migrate = true };

	rmap_walk(page, unmap_one, &ttu);
}

/* ---- writeback ---- */

static bool mkclean_one(struct page *page, struct vm_area_struct *vma, u64 addr, u64 end,
			void *arg)
{
	bool *dirty = arg;
	spinlock_t *ptl;
	pte_t *ptep = page_vma_mapped_pte(vma, addr, &ptl);
	pte_t pte;

	(void)end;
	if (!ptep)
		return true;
	pte = ptep_get(ptep);
	if (maps_page(pte, page) && (pte_dirty(pte) || pte_write(pte))) {
		pte = ptep_clear_flush(vma, addr, ptep);
		*dirty |= pte_dirty(pte);
		set_pte_at(vma->vm_mm, addr, ptep, pte_mkclean(pte_wrprotect(pte)));
	}
	spin_unlock(ptl);
	return true;
}

bool page_mkclean(struct page *page)
{
	bool dirty = false;

	if (page_mapped(page))
		rmap_walk(page, mkclean_one, &dirty);
	return dirty;
}

/* ---- truncation ---- */

/* Under the rmap lock, for reading. */
static void vma_flush_batched_pending(struct vm_area_struct *vma, u64 addr, u64 end)
{
	for (u64 next; addr < end; addr = next) {
		pmd_t *pmdp = mm_find_pmd(vma->vm_mm, addr);
		pmd_t pmd = pmdp ? pmdp_get(pmdp) : __pmd(0);

		next = pmd_addr_end(addr, end);
		if (pmd_none(pmd) || pmd_trans_huge(pmd))
			continue;
		spin_lock(pte_lockptr(pmd));
		flush_tlb_batched_pending(vma->vm_mm);
		spin_unlock(pte_lockptr(pmd));
	}
}

void mapping_flush_batched_pending(struct address_space *file, u64 start, u64 end)
{
	struct vm_area_struct *vma;

	rmap_lock_read(&file->i_mmap_lock);
	list_for_each_entry(vma, &file->i_mmap, rmap_node) {
		u64 first = vma->vm_pgoff;
		u64 from = max(start, first);
		u64 to = min(end, first + ((vma->vm_end - vma->vm_start) >> PAGE_SHIFT));

		if (from < to)
			vma_flush_batched_pending(vma, vma->vm_start +
						  ((from - first) << PAGE_SHIFT),
						  vma->vm_start +
						  ((to - first) << PAGE_SHIFT));
	}
	rmap_unlock_read(&file->i_mmap_lock);
}
