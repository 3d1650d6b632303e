/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gather; mmu_gather.h has the rules. */
#include "mm/huge_mm.h"
#include "mm/mmu_gather.h"
#include "mm/pgalloc.h"

enum {
	NESTED_IGNORE, NESTED_FORCE_RANGE, NESTED_NO_RESET,
	NESTED_FORCE_RANGE_TABLES, NESTED_FULLMM, NESTED_FULLMM_TABLES,
};
KNOB_ENUM(mmu_gather_nested, "mmu_gather.nested", KNOB_POLICY,
	  NESTED_FULLMM_TABLES,
	  "what a gather flushes that ends beside others of its mm",
	  "7a30df49f63a (5.2); thread S0", "ignore", "force_range", "no_reset",
	  "force_range_tables", "fullmm", "fullmm_tables");

enum { FLUSH_TEST_END, FLUSH_TEST_LEVELS };
KNOB_ENUM(mmu_gather_flush_test, "mmu_gather.flush_test", KNOB_POLICY,
	  FLUSH_TEST_LEVELS, "what tells a gather that it has something to flush",
	  "0758cd830494 (5.6)", "end", "levels");

enum { INVALIDATE_BEFORE_FREE, INVALIDATE_AFTER_FREE };
KNOB_ENUM(mmu_gather_table_invalidate, "mmu_gather.table_invalidate",
	  KNOB_POLICY, INVALIDATE_BEFORE_FREE,
	  "when a gather invalidates for a full batch of tables",
	  "d86564a2f085 (4.19)", "before_free", "after_free");

KNOB_BOOL(mmu_gather_table_batch_fail, "mmu_gather.table_batch_fail",
	  KNOB_POLICY, 0, "no memory for batches of tables: free each at once",
	  "tlb_remove_table_one()");

enum { ONE_USER_BATCH, ONE_USER_FREE, ONE_USER_FLUSH_FREE };
KNOB_ENUM(mmu_gather_table_one_user, "mmu_gather.table_one_user", KNOB_POLICY,
	  ONE_USER_BATCH,
	  "a table of an mm with one user: as any other; freed at once; flushed first",
	  "285994a62c80 (4.0, arm64); gone with a6f572084fbe (4.19)", "batch", "free",
	  "flush_free");

KNOB_ENUM(mmu_gather_pending_order, "mmu_gather.pending_order", KNOB_POLICY, PENDING_PTL,
	  "what orders a gather's look for others after what it saw of entries: page-table locks; barriers, too",
	  "here: the second is in no Linux", "ptl", "barrier");

KNOB_BOOL(mm_delayed_rmap, "mm.delayed_rmap", KNOB_POLICY, 1,
	  "keep zapped dirty pages in the rmap until they are flushed",
	  "5df397dec7c4 (6.2)");

/* ---- pages ---- */

/* A slot: a pointer to a page with flags, or a count. */
#define ENCODED_PAGE_BIT_DELAY_RMAP	1UL
#define ENCODED_PAGE_BIT_NR_PAGES_NEXT	2UL
#define ENCODED_PAGE_BITS		3UL

static inline void **batch_slots(struct mmu_gather_batch *batch)
{
	return (void **)((char *)batch + sizeof(*batch));
}

static inline u64 slot_flags(void *slot)
{
	return (u64)slot & ENCODED_PAGE_BITS;
}

static inline struct page *slot_page(void *slot)
{
	return (struct page *)((u64)slot & ~ENCODED_PAGE_BITS);
}

static bool tlb_next_batch(struct mmu_gather *tlb)
{
	struct mmu_gather_batch *batch = tlb->active;
	u64 pfn;

	/* tlb_flush_rmaps() looks into local and the active batch only. */
	if (tlb->delayed_rmap && tlb->active != &tlb->local)
		return false;
	if (batch->next) {
		tlb->active = batch->next;
		return true;
	}
	if (tlb->batch_count == MAX_GATHER_BATCH_COUNT)
		return false;

	pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ATOMIC |
				MACH_GFP_TABLE | MACH_GFP_ZERO);
	if (pfn == MACH_NO_FRAME)
		return false;

	tlb->batch_count++;
	batch = __va(pfn << PAGE_SHIFT);
	batch->next = NULL;
	batch->nr = 0;
	batch->max = MAX_GATHER_BATCH;
	tlb->active->next = batch;
	tlb->active = batch;
	return true;
}

/*
 * A frame of ours was zero when we got it, and we know what we wrote: it goes
 * back as zero, so that nobody need clear it again.
 */
static void free_batch_frame(void *batch, size_t used)
{
	memset(batch, 0, used);
	mach_free_frames(__pa(batch) >> PAGE_SHIFT, 0, MACH_FREE_ZEROED);
}

static void tlb_batch_list_free(struct mmu_gather *tlb)
{
	struct mmu_gather_batch *batch, *next;

	for (batch = tlb->local.next; batch; batch = next) {
		next = batch->next;
		/* The slots were cleared as their pages were freed. */
		free_batch_frame(batch, sizeof(*batch));
	}
	tlb->local.next = NULL;
}

/* A lot may be freed: let others run now and then. */
#define MAX_NR_FOLIOS_PER_FREE 512

static void tlb_batch_free_pages(struct mmu_gather_batch *batch)
{
	void **slots = batch_slots(batch);

	for (u32 i = 0; i < batch->nr; i++) {
		u64 flags = slot_flags(slots[i]);
		struct page *page = slot_page(slots[i]);
		u64 nr = 1;

		slots[i] = NULL;
		if (flags & ENCODED_PAGE_BIT_NR_PAGES_NEXT) {
			nr = (u64)slots[++i] >> 2;
			slots[i] = NULL;
		}
		for (; nr; nr--, page++) {
			if (is_huge_zero_page(page))
				put_huge_zero_page();
			else
				put_page(page);
		}
		if ((i + 1) % MAX_NR_FOLIOS_PER_FREE == 0)
			cond_resched();
	}
	batch->nr = 0;
	cond_resched();
}

static void tlb_batch_pages_flush(struct mmu_gather *tlb)
{
	struct mmu_gather_batch *batch;

	for (batch = &tlb->local; batch && batch->nr; batch = batch->next)
		tlb_batch_free_pages(batch);
	tlb->active = &tlb->local;
}

bool __tlb_remove_folio_pages(struct mmu_gather *tlb, struct page *page,
			      u32 nr_pages, bool delay_rmap)
{
	u64 flags = delay_rmap ? ENCODED_PAGE_BIT_DELAY_RMAP : 0;
	struct mmu_gather_batch *batch = tlb->active;
	void **slots = batch_slots(batch);

	if (nr_pages == 1) {
		slots[batch->nr++] = (void *)((u64)page | flags);
	} else {
		flags |= ENCODED_PAGE_BIT_NR_PAGES_NEXT;
		slots[batch->nr++] = (void *)((u64)page | flags);
		slots[batch->nr++] = (void *)((u64)nr_pages << 2);
	}
	/* There must always be room for a run, which takes two. */
	if (batch->nr >= batch->max - 1)
		return !tlb_next_batch(tlb);
	return false;
}

bool __tlb_remove_page_size(struct mmu_gather *tlb, struct page *page,
			    bool delay_rmap, u32 page_size)
{
	BUG_ON(ARCH_MMU_GATHER_PAGE_SIZE && tlb->page_size != page_size);
	return __tlb_remove_folio_pages(tlb, page, 1, delay_rmap);
}

bool tlb_delay_rmap(struct mmu_gather *tlb)
{
	if (!knob(mm_delayed_rmap))
		return false;
	tlb->delayed_rmap = 1;
	return true;
}

static void tlb_flush_rmap_batch(struct mmu_gather_batch *batch,
				 struct vm_area_struct *vma)
{
	void **slots = batch_slots(batch);

	for (u32 i = 0; i < batch->nr; i++) {
		u64 flags = slot_flags(slots[i]);
		struct page *page = slot_page(slots[i]);
		u64 nr = 1;

		if (flags & ENCODED_PAGE_BIT_NR_PAGES_NEXT)
			nr = (u64)slots[++i] >> 2;
		if (flags & ENCODED_PAGE_BIT_DELAY_RMAP)
			for (; nr; nr--)
				page_remove_rmap(page++, vma);
	}
}

void tlb_flush_rmaps(struct mmu_gather *tlb, struct vm_area_struct *vma)
{
	if (!tlb->delayed_rmap)
		return;
	tlb_flush_rmap_batch(&tlb->local, vma);
	if (tlb->active != &tlb->local)
		tlb_flush_rmap_batch(tlb->active, vma);
	tlb->delayed_rmap = 0;
}

/* ---- tables ---- */

/*
 * Software may walk page tables without a lock, with interrupts off (gup_fast).
 * Where a flush is an interrupt to every CPU that may walk, it waits for them;
 * where hardware broadcasts it, nothing would. So tables are freed after a
 * grace period of RCU, which interrupts that are off hold up. The batch needs a
 * page to keep them in; if there is none, an interrupt that does nothing finds
 * every walker out, and the table is freed at once.
 */
static void tlb_remove_table_smp_sync(void *info)
{
	(void)info;
}

void tlb_remove_table_sync_one(void)
{
	/*
	 * Not a grace period: a reader of RCU that leaves interrupts on
	 * is not waited for.
	 */
	struct cpumask online = { { 0 } };

	for (u32 w = 0; w < cpumask_words(); w++)
		online.bits[w] = ~0UL;
	if (nr_cpu_ids % 64)
		online.bits[cpumask_words() - 1] = BIT(nr_cpu_ids % 64) - 1;
	mach_ipi(online.bits, tlb_remove_table_smp_sync, NULL, true);
}

static void tlb_remove_table_rcu(struct rcu_head *head)
{
	struct mmu_table_batch *batch =
		container_of(head, struct mmu_table_batch, rcu);
	u32 nr = batch->nr;

	for (u32 i = 0; i < nr; i++)
		free_table_page(batch->tables[i]);
	free_batch_frame(batch, sizeof(*batch) + nr * sizeof(void *));
}

static void tlb_table_invalidate(struct mmu_gather *tlb)
{
	if (tlb_needs_table_invalidate())
		tlb_flush_mmu_tlbonly(tlb);
}

static void tlb_table_flush(struct mmu_gather *tlb)
{
	struct mmu_table_batch *batch = tlb->batch;

	if (!batch)
		return;
	/*
	 * After call_rcu() nothing keeps the tables but the grace period.
	 * After_free, that runs against an invalidation which may come only at
	 * the end of the gather: hardware can walk a table that has been freed.
	 */
	if (knob(mmu_gather_table_invalidate) == INVALIDATE_BEFORE_FREE)
		tlb_table_invalidate(tlb);
	tlb->batch = NULL;
	call_rcu(&batch->rcu, tlb_remove_table_rcu);
}

/* A table that is freed alone. */
struct table_one {
	struct rcu_head rcu;
	struct page *table;
};

static void tlb_remove_table_one_rcu(struct rcu_head *head)
{
	struct table_one *one = container_of(head, struct table_one, rcu);

	free_table_page(one->table);
	kfree(one, sizeof(*one));
}

/*
 * The interrupt waits for no reader that has its interrupts on, and there are such where tables
 * are reclaimed: pte_offset_map_recheck(). (Linux has the head in struct page, where here
 * the lock is that such a reader may yet take.)
 */
static void tlb_remove_table_one_late(struct page *table)
{
	struct table_one *one = kzalloc(sizeof(*one));

	one->table = table;
	call_rcu(&one->rcu, tlb_remove_table_one_rcu);
}

static void tlb_remove_table_one(struct mmu_gather *tlb, struct page *table)
{
	count_vm_event(table_batch_failed);
	if (knob(mmu_gather_table_invalidate) == INVALIDATE_BEFORE_FREE)
		tlb_table_invalidate(tlb);
	if (pt_reclaim_enabled()) {
		tlb_remove_table_one_late(table);
		return;
	}
	tlb_remove_table_sync_one();
	free_table_page(table);
}

/*
 * To 4.19. Nobody else could look for the table, so it need not wait for walkers; but hardware
 * still knows the way to it: our own CPU, which may walk whenever it likes, and those that
 * have the mm on loan. True: it is freed.
 */
static bool tlb_remove_table_one_user(struct mmu_gather *tlb, struct page *table)
{
	if (knob(mmu_gather_table_one_user) == ONE_USER_BATCH ||
	    atomic_read(&tlb->mm->mm_users) > 1)
		return false;
	if (knob(mmu_gather_table_one_user) == ONE_USER_FLUSH_FREE)
		tlb_table_invalidate(tlb);
	free_table_page(table);
	return true;
}

static struct mmu_table_batch *tlb_table_batch_alloc(void)
{
	u64 pfn;

	if (knob(mmu_gather_table_batch_fail))
		return NULL;
	pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ATOMIC |
				MACH_GFP_TABLE | MACH_GFP_ZERO);
	return pfn == MACH_NO_FRAME ? NULL : __va(pfn << PAGE_SHIFT);
}

void tlb_remove_table(struct mmu_gather *tlb, struct page *table)
{
	count_vm_event(tables_freed);
	if (!ARCH_MMU_GATHER_RCU_TABLE_FREE) {
		tlb_remove_page(tlb, table);
		return;
	}
	if (tlb_remove_table_one_user(tlb, table))
		return;
	if (!tlb->batch) {
		tlb->batch = tlb_table_batch_alloc();
		if (!tlb->batch) {
			tlb_remove_table_one(tlb, table);
			return;
		}
	}
	tlb->batch->tables[tlb->batch->nr++] = table;
	if (tlb->batch->nr == MAX_TABLE_BATCH)
		tlb_table_flush(tlb);
}

/* ---- flushing ---- */

static bool tlb_has_work(struct mmu_gather *tlb)
{
	if (knob(mmu_gather_flush_test) == FLUSH_TEST_END)
		return tlb->end;
	return tlb->freed_tables || tlb->cleared_ptes || tlb->cleared_pmds ||
	       tlb->cleared_puds || tlb->cleared_p4ds || tlb->unshared_tables;
}

void tlb_flush_mmu_tlbonly(struct mmu_gather *tlb)
{
	if (!tlb_has_work(tlb))
		return;
	tlb_flush(tlb);
	__tlb_reset_range(tlb);
}

void tlb_flush_mmu(struct mmu_gather *tlb)
{
	tlb_flush_mmu_tlbonly(tlb);
	tlb_table_flush(tlb);
	tlb_batch_pages_flush(tlb);
}

void tlb_end_vma(struct mmu_gather *tlb, struct vm_area_struct *vma)
{
	(void)vma;
	if (tlb->fullmm)
		return;
	/*
	 * Where ranges are not merged, flush here, so that the range does not
	 * grow by what lies between VMAs. Pages without a struct page
	 * (vma_pfn) are not counted: their owner must be able to trust that
	 * an unmapped VMA has no translations.
	 */
	if (tlb->vma_pfn || !ARCH_MMU_GATHER_MERGE_VMAS)
		tlb_flush_mmu_tlbonly(tlb);
}

void tlb_change_page_size(struct mmu_gather *tlb, u32 page_size)
{
	if (!ARCH_MMU_GATHER_PAGE_SIZE)
		return;
	if (tlb->page_size && tlb->page_size != page_size &&
	    !tlb->fullmm && !tlb->need_flush_all)
		tlb_flush_mmu(tlb);
	tlb->page_size = page_size;
}

/* ---- beginning and end ---- */

static void __tlb_gather_mmu(struct mmu_gather *tlb, struct mm_struct *mm,
			     bool fullmm)
{
	tlb->mm = mm;
	tlb->batch = NULL;
	tlb->fullmm = fullmm;
	tlb->reclaim_pt = 0;
	tlb->need_flush_all = 0;
	tlb->delayed_rmap = 0;
	tlb->vma_exec = 0;
	tlb->vma_huge = 0;
	tlb->vma_pfn = 0;
	tlb->local.next = NULL;
	tlb->local.nr = 0;
	tlb->local.max = MMU_GATHER_BUNDLE;
	tlb->active = &tlb->local;
	tlb->batch_count = 0;
	tlb->page_size = 0;
	tlb_gather_call(tlb, GATHER_OTHER, 0, mm->task_size);

	mach_charge(GATHER, 1);
	__tlb_reset_range(tlb);
	inc_tlb_flush_pending(mm);
}

void tlb_gather_mmu(struct mmu_gather *tlb, struct mm_struct *mm)
{
	__tlb_gather_mmu(tlb, mm, false);
}

void tlb_gather_mmu_fullmm(struct mmu_gather *tlb, struct mm_struct *mm)
{
	__tlb_gather_mmu(tlb, mm, true);
}

/*
 * A nested gather. The other one may have cleared entries and unhooked tables
 * that we passed by, and we do not know which, nor at which level. What follows
 * are the answers that were given, in the order of their history.
 */

/* Before 99baac21e458 (2017): flush what we changed ourselves. */
static void nested_ignore(struct mmu_gather *tlb)
{
	(void)tlb;
}

/*
 * 99baac21e458: our whole range. But the reset forgets levels and freed
 * tables, so that arm64 leaves the walk caches alone: threads fault for ever
 * on an entry that leads to a table long gone.
 */
static void nested_force_range(struct mmu_gather *tlb)
{
	__tlb_reset_range(tlb);
	__tlb_adjust_range(tlb, tlb->call_start, tlb->call_end - tlb->call_start);
}

/* S0, first version: keep what we know. Of the other gather we know nothing. */
static void nested_no_reset(struct mmu_gather *tlb)
{
	__tlb_adjust_range(tlb, tlb->call_start, tlb->call_end - tlb->call_start);
}

/* S0, second version: our range, and assume the worst of it. */
static void nested_force_range_tables(struct mmu_gather *tlb)
{
	tlb->start = tlb->call_start;
	tlb->end = tlb->call_end;
	tlb->freed_tables = 1;
	tlb->cleared_ptes = 1;
	tlb->cleared_pmds = 1;
	tlb->cleared_puds = 1;
	tlb->cleared_p4ds = 1;
	tlb->vma_exec = 1;
	tlb->vma_huge = 0;
}

/*
 * S0, third version without its last line: arm64 takes this for an mm that
 * dies, whose ASID is not used again before a full flush, and does nothing.
 */
static void nested_fullmm(struct mmu_gather *tlb)
{
	tlb->fullmm = 1;
	__tlb_reset_range(tlb);
}

/* 7a30df49f63a: the whole mm, tables included. */
static void nested_fullmm_tables(struct mmu_gather *tlb)
{
	tlb->fullmm = 1;
	__tlb_reset_range(tlb);
	tlb->freed_tables = 1;
}

static void (*const nested_flush[])(struct mmu_gather *tlb) = {
	[NESTED_IGNORE] = nested_ignore,
	[NESTED_FORCE_RANGE] = nested_force_range,
	[NESTED_NO_RESET] = nested_no_reset,
	[NESTED_FORCE_RANGE_TABLES] = nested_force_range_tables,
	[NESTED_FULLMM] = nested_fullmm,
	[NESTED_FULLMM_TABLES] = nested_fullmm_tables,
};

static void count_gather(struct mmu_gather *tlb, bool nested)
{
	switch (tlb->call) {
	case GATHER_MADVISE:
		count_vm_event(gathers_madvise);
		count_vm_events(nested_madvise, nested);
		break;
	case GATHER_MUNMAP:
		count_vm_event(gathers_munmap);
		count_vm_events(nested_munmap, nested);
		break;
	case GATHER_MPROTECT:
		count_vm_event(gathers_mprotect);
		count_vm_events(nested_mprotect, nested);
		break;
	case GATHER_NUMA:
	case GATHER_OTHER:
		count_vm_events(gathers_exit, tlb->fullmm);
		break;
	}
}

void tlb_finish_mmu(struct mmu_gather *tlb)
{
	bool nested = mm_tlb_flush_nested(tlb->mm);

	count_gather(tlb, nested);
	/*
	 * Even if we changed nothing: the other may have, before us, what
	 * our caller asked to be gone when we return.
	 */
	if (nested)
		nested_flush[knob(mmu_gather_nested)](tlb);
	tlb_flush_mmu(tlb);
	tlb_batch_list_free(tlb);
	dec_tlb_flush_pending(tlb->mm);
}
