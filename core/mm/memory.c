/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking mappings away: entries first, then the tables that held them. */
#include "mm/huge_mm.h"
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"

KNOB_ENUM(mm_pt_reclaim, "mm.pt_reclaim", KNOB_POLICY, PT_RECLAIM_OFF,
	  "MADV_DONTNEED frees page tables that it leaves empty: never, on x86, on all",
	  "6375e95f381e (6.14, x86); all 64-bit architectures later", "off", "x86", "all");

/*
 * A reader that takes the lock of a table which is being freed:
 *
 *	reader				zap
 *	  pmd = *pmdp
 *					  pmd_clear(pmdp); unlock
 *	  spin_lock(ptl of pmd)		  call_rcu() -> free the table
 *	  *pmdp is not pmd: out
 *
 * RCU keeps the table, and with it the lock, until the reader has let go of it.
 */
pte_t *pte_offset_map_recheck(pmd_t *pmdp, u64 addr, spinlock_t **ptl)
{
	pte_t *pte = NULL;

	rcu_read_lock();
	for (;;) {
		pmd_t pmd = pmdp_get(pmdp);

		if (pmd_none(pmd) || pmd_trans_huge(pmd))
			break;
		*ptl = pte_lockptr(pmd);
		spin_lock(*ptl);
		if (pmd_same(pmdp_get(pmdp), pmd)) {
			pte = pte_offset_map(pmd, addr);
			break;
		}
		spin_unlock(*ptl);
	}
	rcu_read_unlock();
	return pte;
}

pte_t ptep_clear_flush(struct vm_area_struct *vma, u64 addr, pte_t *ptep)
{
	pte_t pte = ptep_get_and_clear(vma->vm_mm, addr, ptep);

	if (pte_accessible(vma->vm_mm, pte))
		flush_tlb_page(vma, addr);
	return pte;
}

/* ---- zapping entries ---- */

KNOB_BOOL(mm_zap_dirty_flush, "mm.zap_dirty_flush", KNOB_POLICY, 1,
	  "a zap that finds an entry of a file dirty flushes before it lets its lock go",
	  "1cf35d47712d (3.15)");

struct zap {
	bool force_flush;	/* before the page-table lock is let go */
	bool force_break;	/* the gather has no more room */
};

/* One present entry, under its lock. */
static void zap_present_pte(struct mmu_gather *tlb, struct vm_area_struct *vma,
			    pte_t *ptep, u64 addr, struct zap *zap)
{
	pte_t pte = ptep_get_and_clear_full(tlb->mm, addr, ptep, tlb->fullmm);
	bool delay_rmap = false;
	struct page *page;

	mach_charge(ZAP_PTE, 1);
	tlb_remove_tlb_entry(tlb, addr);
	if (pte_pfn(pte) == kernel()->zero_pfn)
		return;

	page = pfn_to_page(pte_pfn(pte));
	if (!PageAnon(page) && pte_dirty(pte)) {
		/*
		 * Whoever next holds this lock may find the entry none and take
		 * the page for clean and unmapped, while a CPU goes on writing
		 * through its TLB. So flush before the lock is let go.
		 */
		set_page_dirty(page);
		if (knob(mm_zap_dirty_flush)) {
			zap->force_flush = true;
			delay_rmap = tlb_delay_rmap(tlb);
		}
	}
	if (!delay_rmap)
		page_remove_rmap(page, vma);
	if (__tlb_remove_page(tlb, page, delay_rmap)) {
		zap->force_flush = true;
		zap->force_break = true;
	}
}

/* One that says where the page is. A migration entry has no reference to it. */
static void zap_nonpresent_pte(struct mmu_gather *tlb, pte_t *ptep, u64 addr)
{
	swp_entry_t entry = pte_to_swp_entry(ptep_get(ptep));

	if (!is_migration_entry(entry))
		free_swap_and_cache(swp_offset(entry));
	pte_clear(tlb->mm, addr, ptep);
}

/*
 * Under ptl, by who has just found, or made, all entries of the table none. PMD locks come
 * before it in order, so this one is only tried.
 */
static bool zap_empty_pte_table(struct mm_struct *mm, pmd_t *pmdp)
{
	spinlock_t *pml = pmd_lockptr(mm, pmdp);

	if (!spin_trylock(pml))
		return false;
	pmd_clear_locked(mm, pmdp);
	spin_unlock(pml);
	return true;
}

/*
 * The lock was let go since, and others may have put entries in: look at all of them. The table
 * that was unhooked, or NULL.
 */
static struct page *zap_pte_table_if_empty(struct mm_struct *mm, pmd_t *pmdp)
{
	spinlock_t *pml = pmd_lockptr(mm, pmdp), *ptl;
	u32 n = kernel()->geo.ptrs_per_pte;
	struct page *table = NULL;
	pmd_t pmd;

	spin_lock(pml);
	pmd = pmdp_get(pmdp);
	if (!pmd_none(pmd) && !pmd_trans_huge(pmd)) {
		ptl = pte_lockptr(pmd);
		spin_lock(ptl);
		if (mach_scan_zero(page_to_virt(pmd_page(pmd)), n) == n) {
			table = pmd_page(pmd);
			pmd_clear_locked(mm, pmdp);
		}
		spin_unlock(ptl);
	}
	spin_unlock(pml);
	return table;
}

/*
 * [addr, end) of one table. Returns where it stopped. The table may go, too, if span: all that
 * it maps, [end - PMD_SIZE, end), is being zapped.
 */
static u64 zap_pte_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			 pmd_t *pmdp, pmd_t pmd, u64 addr, u64 end, bool span)
{
	const u32 shift = PAGE_SHIFT;
	bool reclaim = span && tlb->reclaim_pt, whole = end - addr == PMD_SIZE;
	struct page *table = NULL;
	struct zap zap = { false, false };
	spinlock_t *ptl;
	pte_t *pte;

	tlb_change_page_size(tlb, 1U << shift);
	pte = pte_offset_map_lock(pmdp, pmd, addr, &ptl);
	if (!pte)
		return addr;
	flush_tlb_batched_pending(tlb->mm);
	while (addr != end && !zap.force_break) {
		u32 none = mach_scan_zero(&pte->pte, (u32)((end - addr) >> shift));

		pte += none;
		addr += (u64)none << shift;
		if (addr == end || need_resched())
			break;
		if (pte_present(ptep_get(pte)))
			zap_present_pte(tlb, vma, pte, addr, &zap);
		else
			zap_nonpresent_pte(tlb, pte, addr);
		pte++;
		addr += 1UL << shift;
	}
	reclaim = reclaim && addr == end;
	if (reclaim && whole) {
		/* Not pmd: the entry may have changed before we had the lock. */
		pmd_t now = pmdp_get(pmdp);

		if (zap_empty_pte_table(tlb->mm, pmdp))
			table = pmd_page(now);
	}
	if (zap.force_flush) {
		tlb_flush_mmu_tlbonly(tlb);
		tlb_flush_rmaps(tlb, vma);
	}
	spin_unlock(ptl);
	/* What was flushed can be freed as well. */
	if (zap.force_flush)
		tlb_flush_mmu(tlb);
	if (reclaim && !table)
		table = zap_pte_table_if_empty(tlb->mm, pmdp);
	if (table) {
		mm_dec_nr_tables(tlb->mm);
		pte_free_tlb(tlb, table, end - PMD_SIZE);
		count_vm_event(tables_reclaimed);
	}
	return addr;
}

/*
 * [addr, end) of what one PMD entry spans. Returns where it stopped: to flush, or to let
 * others run.
 */
static u64 zap_one_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
		       u64 addr, u64 end, bool span)
{
	pmd_t pmd = pmdp_get(pmdp);

	if (!pmd_none(pmd) && pmd_trans_huge(pmd)) {
		if (end - addr != HPAGE_PMD_SIZE)
			split_huge_pmd(vma, pmdp, addr);
		else if (zap_huge_pmd(tlb, vma, pmdp, addr))
			return end;
		/* Split, or another thread has zapped it, or another page is there. */
		pmd = pmdp_get(pmdp);
	}
	if (pmd_none(pmd))
		return end;
	if (pmd_trans_huge(pmd))
		return addr;
	return zap_pte_range(tlb, vma, pmdp, pmd, addr, end, span);
}

static void zap_pmd_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			  pud_t *pud, u64 addr, u64 end)
{
	const u32 shift = PMD_SHIFT;
	pmd_t *pmd = pmd_offset(pud, addr);

	while (addr != end) {
		/* Entries from here on, the last one perhaps in part. */
		u32 left = (u32)(((end - 1) >> shift) - (addr >> shift)) + 1;
		u32 none = mach_scan_zero(&pmd->pmd, left);
		bool span;
		u64 next;

		if (none == left)
			break;
		if (none) {
			pmd += none;
			addr = ((addr >> shift) + none) << shift;
		}
		next = addr_end(addr, end, shift);
		span = next - addr == PMD_SIZE;
		/* Zapping stops early to flush and to let others run. */
		do {
			addr = zap_one_pmd(tlb, vma, pmd, addr, next, span);
			cond_resched();
		} while (addr != next);
		pmd++;
	}
}

static void zap_pud_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			  p4d_t *p4d, u64 addr, u64 end)
{
	pud_t *pud = pud_offset(p4d, addr);
	u64 next;

	for (; addr != end; pud++, addr = next) {
		next = pud_addr_end(addr, end);
		if (kernel()->geo.pmd_folded || !pud_none(pudp_get(pud)))
			zap_pmd_range(tlb, vma, pud, addr, next);
	}
}

static void zap_p4d_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			  pgd_t *pgd, u64 addr, u64 end)
{
	p4d_t *p4d = p4d_offset(pgd, addr);
	u64 next;

	for (; addr != end; p4d++, addr = next) {
		next = p4d_addr_end(addr, end);
		if (kernel()->geo.pud_folded || !p4d_none(p4dp_get(p4d)))
			zap_pud_range(tlb, vma, p4d, addr, next);
	}
}

void unmap_page_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
		      u64 addr, u64 end)
{
	pgd_t *pgd = pgd_offset(tlb->mm, addr);
	u64 next;

	tlb_start_vma(tlb, vma);
	for (; addr != end; pgd++, addr = next) {
		next = pgd_addr_end(addr, end);
		if (kernel()->geo.p4d_folded || !pgd_none(pgdp_get(pgd)))
			zap_p4d_range(tlb, vma, pgd, addr, next);
	}
	tlb_end_vma(tlb, vma);
}

void unmap_vmas(struct mmu_gather *tlb, struct vm_area_struct **vmas, u32 n,
		u64 start, u64 end)
{
	for (u32 i = 0; i < n; i++) {
		u64 from = max(vmas[i]->vm_start, start);
		u64 to = min(vmas[i]->vm_end, end);

		if (from < to)
			unmap_page_range(tlb, vmas[i], from, to);
	}
}

void zap_page_range_single(struct vm_area_struct *vma, u64 address, u64 size)
{
	struct mmu_gather tlb;

	if (knob(mm_lru) == LRU_DRAIN)
		lru_add_drain();
	tlb_gather_mmu(&tlb, vma->vm_mm);
	tlb_gather_call(&tlb, GATHER_MADVISE, address, address + size);
	tlb.reclaim_pt = pt_reclaim_enabled();
	unmap_page_range(&tlb, vma, address, address + size);
	tlb_finish_mmu(&tlb);
}

/* ---- freeing tables ----
 *
 * Every function frees the tables below [addr, end) that lead nowhere else, and
 * then the table that its own entries are in, if all of what that one spans
 * lies between floor and ceiling: between the neighbours that stay. Addresses
 * are rounded outwards at each level, so the table's span, and with it the
 * range that is invalidated, may begin before addr. Sums may wrap at the top of
 * the address space: "- 1" on both sides of a comparison takes care of a
 * ceiling of 0, which means none.
 */

/* Does the table with entries of size 1 << shift, around [start, end), go too? */
static bool table_is_free(u64 *start, u64 end, u64 floor, u64 ceiling, u32 shift)
{
	const u64 mask = ~((1UL << shift) - 1);

	*start &= mask;
	if (*start < floor)
		return false;
	if (ceiling) {
		ceiling &= mask;
		if (!ceiling)
			return false;
	}
	return end - 1 <= ceiling - 1;
}

static void free_pte_range(struct mmu_gather *tlb, pmd_t *pmdp, pmd_t pmd,
			   u64 addr)
{
	pmd_clear(pmdp);
	mm_dec_nr_tables(tlb->mm);
	pte_free_tlb(tlb, pmd_page(pmd), addr);
}

static void free_pmd_range(struct mmu_gather *tlb, pud_t *pud, u64 addr, u64 end,
			   u64 floor, u64 ceiling)
{
	const u32 shift = PMD_SHIFT;
	pmd_t *pmdp = pmd_offset(pud, addr);
	u64 start = addr, next;
	struct page *table;

	for (; addr != end; pmdp++, addr = next) {
		pmd_t pmd = pmdp_get(pmdp);

		next = addr_end(addr, end, shift);
		if (!pmd_none(pmd))
			free_pte_range(tlb, pmdp, pmd, addr);
	}
	if (kernel()->geo.pmd_folded ||
	    !table_is_free(&start, end, floor, ceiling, PUD_SHIFT))
		return;
	table = pud_page(pudp_get(pud));
	pud_clear(pud);
	mm_dec_nr_tables(tlb->mm);
	pmd_free_tlb(tlb, table, start);
}

static void free_pud_range(struct mmu_gather *tlb, p4d_t *p4d, u64 addr, u64 end,
			   u64 floor, u64 ceiling)
{
	pud_t *pud = pud_offset(p4d, addr);
	u64 start = addr, next;
	struct page *table;

	for (; addr != end; pud++, addr = next) {
		next = pud_addr_end(addr, end);
		if (kernel()->geo.pmd_folded || !pud_none(pudp_get(pud)))
			free_pmd_range(tlb, pud, addr, next, floor, ceiling);
	}
	if (kernel()->geo.pud_folded ||
	    !table_is_free(&start, end, floor, ceiling, P4D_SHIFT))
		return;
	table = p4d_page(p4dp_get(p4d));
	p4d_clear(p4d);
	mm_dec_nr_tables(tlb->mm);
	pud_free_tlb(tlb, table, start);
}

static void free_p4d_range(struct mmu_gather *tlb, pgd_t *pgd, u64 addr, u64 end,
			   u64 floor, u64 ceiling)
{
	p4d_t *p4d = p4d_offset(pgd, addr);
	u64 start = addr, next;
	struct page *table;

	for (; addr != end; p4d++, addr = next) {
		next = p4d_addr_end(addr, end);
		if (kernel()->geo.pud_folded || !p4d_none(p4dp_get(p4d)))
			free_pud_range(tlb, p4d, addr, next, floor, ceiling);
	}
	if (kernel()->geo.p4d_folded ||
	    !table_is_free(&start, end, floor, ceiling, PGDIR_SHIFT))
		return;
	table = pgd_page(pgdp_get(pgd));
	pgd_clear(pgd);
	mm_dec_nr_tables(tlb->mm);
	p4d_free_tlb(tlb, table, start);
}

static void free_pgd_range(struct mmu_gather *tlb, u64 addr, u64 end, u64 floor,
			   u64 ceiling)
{
	const u64 size = PMD_SIZE, mask = ~(size - 1);
	pgd_t *pgd;
	u64 next;

	/* A PTE table at either edge that a neighbour uses, too, stays. */
	addr &= mask;
	if (addr < floor) {
		addr += size;
		if (!addr)
			return;
	}
	if (ceiling) {
		ceiling &= mask;
		if (!ceiling)
			return;
	}
	if (end - 1 > ceiling - 1)
		end -= size;
	if (addr > end - 1)
		return;
	/* Tables must be flushed for with the base page's size. */
	tlb_change_page_size(tlb, PAGE_SIZE);
	for (pgd = pgd_offset(tlb->mm, addr); addr != end; pgd++, addr = next) {
		next = pgd_addr_end(addr, end);
		if (kernel()->geo.p4d_folded || !pgd_none(pgdp_get(pgd)))
			free_p4d_range(tlb, pgd, addr, next, floor, ceiling);
	}
}

void free_pgtables(struct mmu_gather *tlb, struct vm_area_struct **vmas, u32 n,
		   u64 floor, u64 ceiling)
{
	u32 i = 0;

	while (i < n) {
		u64 addr = vmas[i]->vm_start, end = vmas[i]->vm_end;

		/* Who comes by the reverse map walks tables without the mmap_lock. */
		vma_rmap_unlink(vmas[i]);
		/*
		 * VMAs close together: one walk. What the next one may use too
		 * is left to it: its floor is the same.
		 */
		for (i++; i < n && vmas[i]->vm_start <= end + PMD_SIZE; i++) {
			end = vmas[i]->vm_end;
			vma_rmap_unlink(vmas[i]);
		}
		free_pgd_range(tlb, addr, end, floor,
			       i < n ? vmas[i]->vm_start : ceiling);
	}
}
