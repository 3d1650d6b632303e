/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collapse: base pages of 2 MiB that are mapped by a table become one huge page, and the
 * table is set aside for it. On request only (MADV_COLLAPSE); Linux has a thread that does
 * the same.
 *
 * The mmap_lock, for writing, and vma_start_write() keep out faults. Then
 *
 *	unhook the table, flush		nobody can translate by it any more
 *	wait for lockless walkers	nobody is still reading it
 *	check the pages' references	whoever has one (gup_fast) is seen now: give up
 *	take them off the LRU		and what he wrote before he gave it back
 *	copy, clear the entries
 *	hook in the huge page, deposit the table
 *
 * Without the wait, gup_fast on a machine whose flush interrupts nobody (arm64, POWER) is
 * still in the table when it is given away.
 */
#include "mm/huge_mm.h"
#include "mm/lru.h"
#include "mm/mmap_lock.h"
#include "mm/mmu_gather.h"
#include "mm/rmap.h"

KNOB_BOOL(mm_collapse_sync, "mm.collapse_sync", KNOB_POLICY, 1,
	  "collapse interrupts every CPU after its flush, to see lockless walkers out",
	  "2ba99c5e0881 (6.1)");

/* Not where nothing is, or zeroes. Of an entry that is not present the PFN says nothing. */
static bool is_page(pte_t entry)
{
	return !pte_none(entry) &&
	       (!pte_present(entry) || pte_pfn(entry) != kernel()->zero_pfn);
}

/* Of the first n entries. */
static void release_ptes(pte_t *pte, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		pte_t entry = ptep_get(&pte[i]);

		if (is_page(entry))
			putback_lru_page(pfn_to_page(pte_pfn(entry)));
	}
}

/*
 * The table at pte, which nobody can reach: may every page be moved? Each must be private,
 * this mm's alone, and have no other reference. If so, they are off the LRU.
 */
static bool collapse_isolate(pte_t *pte)
{
	bool any = false;

	for (u32 i = 0; i < HPAGE_PMD_NR; i++) {
		pte_t entry = ptep_get(&pte[i]);
		struct page *page;

		if (!is_page(entry))
			continue;
		page = pfn_to_page(pte_pfn(entry));
		/* Part of a huge page: not again. Shared after a fork: not yet. */
		if (!pte_present(entry) || PageHuge(page) || !PageAnonExclusive(page) ||
		    page_count(page) != 1 || !isolate_lru_page(page)) {
			release_ptes(pte, i);
			return false;
		}
		any = true;
	}
	return any;
}

static void collapse_copy(struct vm_area_struct *vma, pte_t *pte, struct page *huge,
			  spinlock_t *ptl)
{
	u64 addr = 0;

	mach_charge(COPY_HUGE, 1);
	for (u32 i = 0; i < HPAGE_PMD_NR; i++, addr += PAGE_SIZE) {
		pte_t entry = ptep_get(&pte[i]);
		struct page *page;

		mach_copy_frame(page_to_pfn(huge + i),
				pte_none(entry) ? kernel()->zero_pfn : pte_pfn(entry));
		if (pte_none(entry))
			continue;
		spin_lock(ptl);
		pte_clear(vma->vm_mm, addr, &pte[i]);
		spin_unlock(ptl);
		if (pte_pfn(entry) == kernel()->zero_pfn)
			continue;
		page = pfn_to_page(pte_pfn(entry));
		page_remove_rmap(page, vma);
		put_page(page);
		putback_lru_page(page);
	}
}

static void install_collapsed(struct vm_area_struct *vma, pmd_t *pmdp, u64 addr,
			      struct page *huge, pgtable_t pgtable)
{
	spinlock_t *ptl = pmd_lockptr(vma->vm_mm, pmdp);
	pmd_t entry = pmd_mkyoung(mk_huge_pmd(huge, vma->vm_page_prot));

	entry = pmd_mkdirty(entry);
	if (vma->vm_flags & VM_WRITE)
		entry = pmd_mkwrite(entry);
	/* The contents before the entry. */
	smp_wmb();
	spin_lock(ptl);
	BUG_ON(!pmd_none(pmdp_get(pmdp)));
	mach_charge(FAULT_PTE, 1);
	page_add_new_anon_rmap(huge, vma, addr);
	pgtable_trans_huge_deposit(pmdp, pgtable);
	set_pmd_at(vma->vm_mm, addr, pmdp, entry);
	spin_unlock(ptl);
	count_vm_event(thp_collapse_alloc);
}

/*
 * mmap_lock for writing. Takes over huge's reference if it returns 0; -EAGAIN: somebody
 * has an eye on a page of it.
 */
static int collapse_table(struct vm_area_struct *vma, pmd_t *pmdp, u64 addr,
			  struct page *huge)
{
	struct mm_struct *mm = vma->vm_mm;
	spinlock_t *pmd_ptl = pmd_lockptr(mm, pmdp);
	struct rmap_lock *rmap_lock;
	pmd_t old;
	pte_t *pte;

	/* Only zeroes, or nothing, was ever there. */
	if (!vma->anon_vma)
		return -EAGAIN;
	vma_start_write(vma);
	/* Nobody who comes by the reverse map is in the table, or gets in. */
	rmap_lock = take_rmap_lock(vma);
	spin_lock(pmd_ptl);
	old = pmdp_collapse_flush(vma, addr, pmdp);
	spin_unlock(pmd_ptl);
	if (knob(mm_collapse_sync))
		tlb_remove_table_sync_one();

	pte = pte_offset_map(old, addr);
	if (!collapse_isolate(pte)) {
		spin_lock(pmd_ptl);
		pmd_populate_locked(mm, pmdp, pmd_page(old));
		spin_unlock(pmd_ptl);
		drop_rmap_lock(rmap_lock);
		return -EAGAIN;
	}
	drop_rmap_lock(rmap_lock);
	collapse_copy(vma, pte, huge, pte_lockptr(old));
	install_collapsed(vma, pmdp, addr, huge, pmd_page(old));
	return 0;
}

/* 0, also if it is a huge page already. */
static int collapse_huge_page(struct mm_struct *mm, u64 addr)
{
	struct page *huge = alloc_huge_page(false, MACH_NODE_LOCAL);
	struct vm_area_struct *vma;
	int err = -EINVAL;
	pmd_t *pmdp, pmd;

	if (!huge)
		return -ENOMEM;
	mmap_write_lock(mm);
	vma = find_vma(mm, addr);
	/* Linux collapses here whatever MADV_HUGEPAGE says, but for VM_NOHUGEPAGE. */
	if (!vma || addr < vma->vm_start || addr + HPAGE_PMD_SIZE > vma->vm_end ||
	    !vma_is_anonymous(vma) || (vma->vm_flags & VM_NOHUGEPAGE))
		goto out;
	pmdp = mm_find_pmd(mm, addr);
	pmd = pmdp ? pmdp_get(pmdp) : __pmd(0);
	if (!pmd_none(pmd) && pmd_trans_huge(pmd))
		err = 0;
	else if (!pmd_none(pmd))
		err = collapse_table(vma, pmdp, addr, huge);
	if (!err && !pmd_trans_huge(pmd))
		huge = NULL;
out:
	mmap_write_unlock(mm);
	if (huge)
		put_page(huge);
	return err;
}

s64 madvise_collapse(struct mm_struct *mm, u64 start, u64 end)
{
	s64 ret = 0;

	/* A page in a batch would seem to be somebody's. */
	lru_add_drain_all();
	start = round_up(start, HPAGE_PMD_SIZE);
	end = round_down(end, HPAGE_PMD_SIZE);
	for (u64 addr = start; addr < end; addr += HPAGE_PMD_SIZE) {
		int err = collapse_huge_page(mm, addr);

		if (err && !ret)
			ret = err;
		cond_resched();
	}
	return ret;
}
