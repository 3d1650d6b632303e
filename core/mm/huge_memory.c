/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Huge pages; huge_mm.h has the rules. */
#include "mm/huge_mm.h"

#include "mm/gup.h"
#include "mm/mmu_gather.h"
#include "mm/numa.h"
#include "mm/rmap.h"

enum { CHANGE_INVALIDATE, CHANGE_CLEAR };
KNOB_ENUM(mm_change_huge_pmd, "mm.change_huge_pmd", KNOB_POLICY, CHANGE_INVALIDATE,
	  "how a huge page's entry is taken while its rights change",
	  "ced108037c2a (4.12)", "invalidate", "clear");

static pmd_t maybe_pmd_mkwrite(pmd_t pmd, struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE ? pmd_mkwrite(pmd) : pmd;
}

spinlock_t *__pmd_trans_huge_lock(pmd_t *pmdp, struct vm_area_struct *vma)
{
	spinlock_t *ptl = pmd_lockptr(vma->vm_mm, pmdp);

	spin_lock(ptl);
	if (pmd_trans_huge(pmdp_get(pmdp)))
		return ptl;
	spin_unlock(ptl);
	return NULL;
}

/* ---- deposited tables ---- */

/* Last in, first out: which of them a huge page gets does not matter. */
void pgtable_trans_huge_deposit(pmd_t *pmdp, pgtable_t pgtable)
{
	struct page *table = virt_to_page(pmdp);

	pgtable->deposited = table->deposited;
	table->deposited = pgtable;
}

pgtable_t pgtable_trans_huge_withdraw(pmd_t *pmdp)
{
	struct page *table = virt_to_page(pmdp);
	pgtable_t pgtable = table->deposited;

	BUG_ON(!pgtable);
	table->deposited = pgtable->deposited;
	pgtable->deposited = NULL;
	return pgtable;
}

static void pte_free(struct mm_struct *mm, pgtable_t pgtable)
{
	mm_dec_nr_tables(mm);
	free_table_page(pgtable);
}

static void zap_deposited_table(struct mm_struct *mm, pmd_t *pmdp)
{
	pte_free(mm, pgtable_trans_huge_withdraw(pmdp));
}

/* ---- faults ---- */

/* With the deposited table. False: the entry is there already. */
static bool set_huge_zero_page(struct vm_fault *vmf, pgtable_t pgtable)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 haddr = vmf->address & HPAGE_PMD_MASK;
	bool none;

	vmf->ptl = pmd_lockptr(vma->vm_mm, vmf->pmd);
	spin_lock(vmf->ptl);
	none = pmd_none(pmdp_get(vmf->pmd));
	if (none) {
		pmd_t entry = pfn_pmd(READ_ONCE(kernel()->huge_zero_pfn), vma->vm_page_prot);

		mach_charge(FAULT_PTE, 1);
		pgtable_trans_huge_deposit(vmf->pmd, pgtable);
		set_pmd_at(vma->vm_mm, haddr, vmf->pmd, pmd_mkyoung(entry));
	}
	spin_unlock(vmf->ptl);
	return none;
}

static enum fault_result do_huge_zero_fault(struct vm_fault *vmf)
{
	struct mm_struct *mm = vmf->vma->vm_mm;
	pgtable_t pgtable = alloc_table_page(mm);

	if (!pgtable)
		return FAULT_OOM;
	if (!mm_get_huge_zero_page(mm)) {
		pte_free(mm, pgtable);
		count_vm_event(thp_fault_fallback);
		return FAULT_FALLBACK;
	}
	/* The table is zero before anybody can find it deposited. */
	smp_wmb();
	if (!set_huge_zero_page(vmf, pgtable)) {
		pte_free(mm, pgtable);
		if (knob(mm_huge_zero_page) != HUGE_ZERO_MM)
			put_huge_zero_page();
	}
	return FAULT_DONE;
}

enum fault_result do_huge_pmd_anonymous_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct mm_struct *mm = vma->vm_mm;
	u64 haddr = vmf->address & HPAGE_PMD_MASK;
	pgtable_t pgtable;
	struct page *page;
	pmd_t entry;

	if (anon_vma_prepare(vma))
		return FAULT_OOM;
	if (!vmf->write && knob(mm_huge_zero_page) != HUGE_ZERO_NONE)
		return do_huge_zero_fault(vmf);
	page = alloc_huge_page(true, policy_node());
	if (!page) {
		count_vm_event(thp_fault_fallback);
		return FAULT_FALLBACK;
	}
	pgtable = alloc_table_page(mm);
	if (!pgtable) {
		put_page(page);
		return FAULT_OOM;
	}
	/* The zeroes, and the table's, before the entry. */
	smp_wmb();

	vmf->ptl = pmd_lockptr(mm, vmf->pmd);
	spin_lock(vmf->ptl);
	if (!pmd_none(pmdp_get(vmf->pmd))) {
		spin_unlock(vmf->ptl);
		pte_free(mm, pgtable);
		put_page(page);
		return FAULT_DONE;
	}
	mach_charge(FAULT_PTE, 1);
	entry = pmd_mkyoung(mk_huge_pmd(page, vma->vm_page_prot));
	entry = maybe_pmd_mkwrite(pmd_mkdirty(entry), vma);
	page_add_new_anon_rmap(page, vma, haddr);
	pgtable_trans_huge_deposit(vmf->pmd, pgtable);
	set_pmd_at(mm, haddr, vmf->pmd, entry);
	spin_unlock(vmf->ptl);
	count_vm_event(thp_fault_alloc);
	return FAULT_DONE;
}

/*
 * A write to a huge page without the right. Called under the lock, drops it. A page that
 * is shared is not copied as a whole: split, and the PTE's fault copies 4 KiB.
 */
static enum fault_result do_huge_pmd_wp_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 haddr = vmf->address & HPAGE_PMD_MASK;
	struct page *page = pfn_to_page(pmd_pfn(vmf->orig_pmd));
	pmd_t entry;

	if (!PageAnonExclusive(page)) {
		if (is_huge_zero_page(page) || page_count(page) != 1) {
			spin_unlock(vmf->ptl);
			split_huge_pmd(vma, vmf->pmd, haddr);
			return FAULT_FALLBACK;
		}
		SetPageAnonExclusive(page);
	}
	count_vm_event(cow_reuse);
	mach_charge(FAULT_PTE, 1);
	entry = pmd_mkyoung(vmf->orig_pmd);
	entry = maybe_pmd_mkwrite(pmd_mkdirty(entry), vma);
	(void)pmdp_set_access_flags(vma, haddr, vmf->pmd, entry, true);
	spin_unlock(vmf->ptl);
	return FAULT_WRITE;
}

enum fault_result do_huge_pmd_present(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	pmd_t entry = vmf->orig_pmd;

	if (pmd_protnone(entry) && vma_is_accessible(vma))
		return do_huge_pmd_numa_page(vmf);
	vmf->ptl = pmd_lockptr(vma->vm_mm, vmf->pmd);
	spin_lock(vmf->ptl);
	if (!pmd_same(pmdp_get(vmf->pmd), entry)) {
		spin_unlock(vmf->ptl);
		return FAULT_DONE;
	}
	if (vmf->write) {
		if (!pmd_write(entry))
			return do_huge_pmd_wp_page(vmf);
		entry = pmd_mkdirty(entry);
	}
	entry = pmd_mkyoung(entry);
	if (pmdp_set_access_flags(vma, vmf->address & HPAGE_PMD_MASK, vmf->pmd, entry,
				  vmf->write))
		mach_charge(FAULT_PTE, 1);
	else
		count_vm_event(pgfault_spurious);
	spin_unlock(vmf->ptl);
	return FAULT_DONE;
}

/* ---- zap, split, rights ---- */

bool zap_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
		  u64 addr)
{
	struct page *page;
	spinlock_t *ptl;
	pmd_t orig;
	bool zero;

	tlb_change_page_size(tlb, HPAGE_PMD_SIZE);
	ptl = __pmd_trans_huge_lock(pmdp, vma);
	if (!ptl)
		return false;
	orig = pmdp_huge_get_and_clear_full(vma, addr, pmdp, tlb->fullmm);
	mach_charge(ZAP_PMD, 1);
	tlb_flush_pmd_range(tlb, addr, HPAGE_PMD_SIZE);
	page = pfn_to_page(pmd_pfn(orig));
	zero = is_huge_zero_page(page);
	if (!zero)
		page_remove_rmap(page, vma);
	zap_deposited_table(tlb->mm, pmdp);
	spin_unlock(ptl);
	if (!zero || knob(mm_huge_zero_page) == HUGE_ZERO_AFTER_FLUSH)
		tlb_remove_page_size(tlb, page, HPAGE_PMD_SIZE);
	else if (knob(mm_huge_zero_page) == HUGE_ZERO_AT_ZAP)
		put_huge_zero_page();
	return true;
}

/* One PTE for each base page, with what the huge entry had. */
static void fill_split_table(struct vm_area_struct *vma, struct page *page,
			     pte_t *pte, u64 addr, pmd_t old)
{
	u32 flags = READ_ONCE(page->flags) & (PG_anon | PG_swapbacked | PG_anon_exclusive);

	for (u32 i = 0; i < HPAGE_PMD_NR; i++, addr += PAGE_SIZE) {
		pte_t entry = mk_pte(page + i, vma->vm_page_prot);

		entry = pmd_write(old) ? pte_mkwrite(entry) : pte_wrprotect(entry);
		entry = pmd_young(old) ? pte_mkyoung(entry) : pte_mkold(entry);
		if (pmd_dirty(old))
			entry = pte_mkdirty(entry);
		if (i)
			WRITE_ONCE(page[i].flags, flags);
		/* As Linux looks with CONFIG_DEBUG_VM: nobody else has the table, no step. */
		BUG_ON(!pte_none(pte[i]));
		set_pte_at(vma->vm_mm, addr, pte + i, entry);
	}
}

/* Under ptl. Each PTE maps the base page of zeroes. */
static void __split_huge_zero_page_pmd(struct vm_area_struct *vma, pmd_t *pmdp, u64 haddr)
{
	pgtable_t pgtable;
	pte_t *pte;

	/* pmdp_huge_clear_flush() */
	(void)pmdp_huge_get_and_clear(vma->vm_mm, haddr, pmdp);
	flush_pmd_tlb_range(vma, haddr, haddr + HPAGE_PMD_SIZE);
	pgtable = pgtable_trans_huge_withdraw(pmdp);
	pte = page_to_virt(pgtable);
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		set_pte_at(vma->vm_mm, haddr + i * PAGE_SIZE, pte + i,
			   pfn_pte(kernel()->zero_pfn, vma->vm_page_prot));
	smp_wmb();
	pmd_populate(vma->vm_mm, pmdp, pgtable);
	if (knob(mm_huge_zero_page) != HUGE_ZERO_MM)
		put_huge_zero_page();
}

/* Under ptl. */
static void __split_huge_pmd_locked(struct vm_area_struct *vma, pmd_t *pmdp, u64 haddr)
{
	pgtable_t pgtable;
	struct page *page;
	pmd_t old;

	count_vm_event(thp_split_pmd);
	if (is_huge_zero_pmd(pmdp_get(pmdp))) {
		__split_huge_zero_page_pmd(vma, pmdp, haddr);
		return;
	}
	/*
	 * Invalid, and flushed, before the table is there: no CPU may have entries of both
	 * sizes for one address. And what A and D hardware has set until then is in old.
	 */
	old = pmdp_invalidate(vma, haddr, pmdp);
	page = pfn_to_page(pmd_pfn(old));
	if (pmd_dirty(old))
		set_page_dirty(page);
	atomic_add(HPAGE_PMD_NR - 1, &page->_refcount);
	atomic_add(HPAGE_PMD_NR - 1, &page->_mapcount);
	mach_charge(RMAP, HPAGE_PMD_NR);
	/* POWER: only now that it is invalid (as for zap). */
	pgtable = pgtable_trans_huge_withdraw(pmdp);
	fill_split_table(vma, page, page_to_virt(pgtable), haddr, old);
	/* The PTEs before the entry that leads to them. */
	smp_wmb();
	pmd_populate(vma->vm_mm, pmdp, pgtable);
}

void split_huge_pmd(struct vm_area_struct *vma, pmd_t *pmdp, u64 addr)
{
	spinlock_t *ptl = __pmd_trans_huge_lock(pmdp, vma);

	if (!ptl)
		return;
	__split_huge_pmd_locked(vma, pmdp, addr & HPAGE_PMD_MASK);
	spin_unlock(ptl);
}

static bool can_change_pmd_writable(struct vm_area_struct *vma, pmd_t pmd)
{
	return (vma->vm_flags & VM_WRITE) && !pmd_protnone(pmd) &&
	       PageAnonExclusive(pfn_to_page(pmd_pfn(pmd)));
}

/*
 * The entry as hardware left it, which now leaves it alone. Cleared, it can be missed:
 *
 *	change_huge_pmd			MADV_DONTNEED (mmap_lock for reading, both)
 *	  clear
 *					  reads none, without the lock: nothing to do
 *	  set: the page is back
 */
static pmd_t take_huge_pmd(struct vm_area_struct *vma, pmd_t *pmdp, u64 addr)
{
	if (knob(mm_change_huge_pmd) == CHANGE_CLEAR)
		return pmdp_huge_get_and_clear(vma->vm_mm, addr, pmdp);
	return pmdp_invalidate_ad(vma, addr, pmdp);
}

/* Under ptl. As change_pte_numa() (mprotect.c), where rmw is explained. */
static void mark_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
			  u64 addr)
{
	pmd_t old = pmdp_get(pmdp), entry;

	if (knob(numa_prot_none_update) == UPDATE_CLEAR_FLUSH)
		old = pmdp_huge_get_and_clear(vma->vm_mm, addr, pmdp);
	else if (knob(numa_prot_none_update) == UPDATE_ATOMIC)
		old = take_huge_pmd(vma, pmdp, addr);
	entry = pmd_modify(old, vm_get_page_prot(0));
	if (numa_keeps_write() && pmd_write(old))
		entry = pte_pmd(pte_mk_savedwrite(pmd_pte(entry)));
	set_pmd_at(vma->vm_mm, addr, pmdp, entry);
	if (huge_pmd_needs_flush(old, entry))
		tlb_flush_pmd_range(tlb, addr, HPAGE_PMD_SIZE);
}

u32 change_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
		    u64 addr, pgprot_t newprot, u32 cp_flags)
{
	pmd_t old, entry;
	spinlock_t *ptl;

	tlb_change_page_size(tlb, HPAGE_PMD_SIZE);
	ptl = __pmd_trans_huge_lock(pmdp, vma);
	if (!ptl)
		return 0;
	if ((cp_flags & MM_CP_PROT_NUMA) &&
	    (pmd_protnone(pmdp_get(pmdp)) || is_huge_zero_pmd(pmdp_get(pmdp)))) {
		spin_unlock(ptl);
		return 1;
	}
	mach_charge(PROT_PTE, 1);
	if (cp_flags & MM_CP_PROT_NUMA) {
		mark_huge_pmd(tlb, vma, pmdp, addr);
		spin_unlock(ptl);
		return (u32)HPAGE_PMD_NR;
	}
	old = take_huge_pmd(vma, pmdp, addr);
	entry = pmd_modify(old, newprot);
	if (knob(mm_mprotect_write) == MPROTECT_WRITE_ALL && !pmd_write(entry) &&
	    can_change_pmd_writable(vma, entry))
		entry = pmd_mkwrite(entry);
	set_pmd_at(vma->vm_mm, addr, pmdp, entry);
	if (huge_pmd_needs_flush(old, entry))
		tlb_flush_pmd_range(tlb, addr, HPAGE_PMD_SIZE);
	spin_unlock(ptl);
	return (u32)HPAGE_PMD_NR;
}

/* ---- fork, mremap ---- */

int copy_huge_pmd(struct mm_struct *dst_mm, pmd_t *dst_pmd, pmd_t *src_pmd, u64 addr,
		  struct vm_area_struct *src_vma)
{
	spinlock_t *dst_ptl, *src_ptl;
	pgtable_t pgtable = alloc_table_page(dst_mm);
	struct page *page;
	pmd_t pmd;

	if (!pgtable)
		return -ENOMEM;
	/* Nobody else can reach dst_mm, so this order cannot deadlock. */
	dst_ptl = pmd_lockptr(dst_mm, dst_pmd);
	spin_lock(dst_ptl);
	src_ptl = __pmd_trans_huge_lock(src_pmd, src_vma);
	if (!src_ptl) {
		spin_unlock(dst_ptl);
		pte_free(dst_mm, pgtable);
		return -EAGAIN;
	}
	page = pfn_to_page(pmd_pfn(pmdp_get(src_pmd)));
	if (is_huge_zero_page(page)) {
		/* Not a new one: src_mm holds it. */
		BUG_ON(!mm_get_huge_zero_page(dst_mm));
		goto share;
	}
	if (page_needs_cow_for_dma(src_vma->vm_mm, page)) {
		spin_unlock(src_ptl);
		spin_unlock(dst_ptl);
		pte_free(dst_mm, pgtable);
		split_huge_pmd(src_vma, src_pmd, addr);
		return -EAGAIN;
	}
	get_page(page);
	page_add_rmap(page);
	ClearPageAnonExclusive(page);
share:
	/* In place: hardware may set A or D at any time, and the parent runs on. */
	pmdp_set_wrprotect(src_vma->vm_mm, addr, src_pmd);
	pmd = pmd_mkold(pmd_wrprotect(pmdp_get(src_pmd)));
	pgtable_trans_huge_deposit(dst_pmd, pgtable);
	set_pmd_at(dst_mm, addr, dst_pmd, pmd);
	spin_unlock(src_ptl);
	spin_unlock(dst_ptl);
	return 0;
}

bool move_huge_pmd(struct vm_area_struct *vma, u64 old_addr, u64 new_addr,
		   pmd_t *old_pmd, pmd_t *new_pmd)
{
	spinlock_t *old_ptl, *new_ptl = pmd_lockptr(vma->vm_mm, new_pmd);
	pmd_t pmd;

	if (!pmd_none(pmdp_get(new_pmd)))
		return false;
	old_ptl = __pmd_trans_huge_lock(old_pmd, vma);
	if (!old_ptl)
		return false;
	/* In no order: the mmap_lock, for writing, keeps out who else takes two. */
	if (new_ptl != old_ptl)
		spin_lock(new_ptl);
	pmd = pmdp_huge_get_and_clear(vma->vm_mm, old_addr, old_pmd);
	BUG_ON(!pmd_none(pmdp_get(new_pmd)));
	if (new_ptl != old_ptl)
		pgtable_trans_huge_deposit(new_pmd, pgtable_trans_huge_withdraw(old_pmd));
	set_pmd_at(vma->vm_mm, new_addr, new_pmd, pmd);
	/* Before either lock goes: mremap.c. */
	flush_pmd_tlb_range(vma, old_addr, old_addr + PMD_SIZE);
	if (new_ptl != old_ptl)
		spin_unlock(new_ptl);
	spin_unlock(old_ptl);
	count_vm_event(move_huge);
	return true;
}
