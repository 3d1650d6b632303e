/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults. The VMA is locked for reading, by its own lock or the
 * mmap_lock's, so it stays and so do the tables below it. Entries are decided
 * under the lock of their table: what was read without it is only a reason to
 * go and look.
 */
#include "mm/huge_mm.h"
#include "mm/lru.h"
#include "mm/migrate.h"
#include "mm/numa.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"

/*
 * There was a table, or no huge page. Locks the table and finds the entry; false if
 * another thread's fault has put a huge page there.
 */
static bool pte_map_lock(struct vm_fault *vmf)
{
	pmd_t pmd = pmdp_get(vmf->pmd);

	if (pmd_none(pmd) || pmd_trans_huge(pmd))
		return false;
	vmf->pte = pte_offset_map_lock(vmf->pmd, pmd, vmf->address, &vmf->ptl);
	return vmf->pte;
}

/* The lock again, which was let go since orig_pte was read under it. Is that still there? */
static bool pte_relock(struct vm_fault *vmf)
{
	if (!pt_reclaim_enabled()) {
		spin_lock(vmf->ptl);
	} else {
		vmf->pte = pte_offset_map_recheck(vmf->pmd, vmf->address, &vmf->ptl);
		if (!vmf->pte)
			return false;
	}
	return pte_same(ptep_get(vmf->pte), vmf->orig_pte);
}

/*
 * Install entry where none is. page, if any, is new there and its reference the
 * caller's; it is dropped if another thread was faster, and then that is as
 * good.
 */
static void install_pte(struct vm_fault *vmf, struct page *page, pte_t entry)
{
	bool mapped = pte_map_lock(vmf);

	if (!mapped || !pte_none(ptep_get(vmf->pte))) {
		if (mapped)
			spin_unlock(vmf->ptl);
		if (page)
			put_page(page);
		return;
	}
	mach_charge(FAULT_PTE, 1);
	if (page && PageAnon(page)) {
		page_add_new_anon_rmap(page, vmf->vma, vmf->address);
		lru_cache_add(page);
	} else if (page) {
		page_add_rmap(page);
	}
	set_pte_at(vmf->vma->vm_mm, vmf->address, vmf->pte, entry);
	update_mmu_cache(vmf->vma, vmf->address, vmf->pte);
	spin_unlock(vmf->ptl);
}

static enum fault_result do_anonymous_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *page;
	pte_t entry;

	if (pte_alloc(vma->vm_mm, vmf->pmd))
		return FAULT_OOM;
	if (!vmf->write) {
		/* Nothing was written yet: all may share the page of zeroes. */
		entry = pfn_pte(kernel()->zero_pfn, vma->vm_page_prot);
		install_pte(vmf, NULL, pte_mkyoung(entry));
		return FAULT_DONE;
	}
	if (anon_vma_prepare(vma))
		return FAULT_OOM;
	page = alloc_user_page(PG_new_anon);
	if (!page)
		return FAULT_OOM;
	/* The zeroes before the entry (Linux: in __folio_mark_uptodate()). */
	smp_wmb();
	entry = pte_mkyoung(mk_pte(page, vma->vm_page_prot));
	install_pte(vmf, page, maybe_mkwrite(pte_mkdirty(entry), vma));
	return FAULT_DONE;
}

/*
 * A page of a shared file. A read fault maps it with the VMA's rights, clean: a
 * write is then hardware's to note (or a fault for the dirty bit). A write
 * fault maps it dirty.
 */
static enum fault_result do_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *page;
	pte_t entry;

	page = shmem_get_page(vma->vm_file, vma->vm_pgoff +
			      ((vmf->address - vma->vm_start) >> PAGE_SHIFT));
	if (!page)
		return FAULT_OOM;
	if (pte_alloc(vma->vm_mm, vmf->pmd)) {
		unlock_page(page);
		put_page(page);
		return FAULT_OOM;
	}
	entry = pte_mkyoung(mk_pte(page, vma->vm_page_prot));
	if (vmf->write)
		entry = maybe_mkwrite(pte_mkdirty(entry), vma);
	/* Whether it is mapped or not: install_pte() may drop the reference. */
	get_page(page);
	install_pte(vmf, page, entry);
	if (vmf->write)
		set_page_dirty(page);
	/* Locked until here, or truncation might take it out of the file in between. */
	unlock_page(page);
	put_page(page);
	return FAULT_DONE;
}

/*
 * A write to a private page that others may map as well, or to the page of zeroes: replace
 * it by a copy. Called under ptl, drops it.
 */
static enum fault_result wp_page_copy(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *page, *old = NULL;
	enum fault_result res = FAULT_DONE;
	pte_t entry;

	if (pte_pfn(vmf->orig_pte) != kernel()->zero_pfn) {
		old = pfn_to_page(pte_pfn(vmf->orig_pte));
		/* Or, without the lock, it might be freed as we copy it. */
		get_page(old);
	}
	spin_unlock(vmf->ptl);
	page = anon_vma_prepare(vma) ? NULL : old ? copy_user_page(old) :
						    alloc_user_page(PG_new_anon);
	if (!page) {
		if (old)
			put_page(old);
		return FAULT_OOM;
	}
	entry = pte_mkyoung(mk_pte(page, vma->vm_page_prot));
	entry = maybe_mkwrite(pte_mkdirty(entry), vma);

	if (pte_relock(vmf)) {
		/*
		 * Another frame: invalid first, and flushed, or another CPU could read
		 * the old page after this one has written the new. The flush also orders
		 * the copy before the entry.
		 */
		mach_charge(FAULT_PTE, 1);
		ptep_clear_flush(vma, vmf->address, vmf->pte);
		page_add_new_anon_rmap(page, vma, vmf->address);
		lru_cache_add(page);
		set_pte_at(vma->vm_mm, vmf->address, vmf->pte, entry);
		update_mmu_cache(vma, vmf->address, vmf->pte);
		res = FAULT_WRITE;
		page = old;
		if (old) {
			page_remove_rmap(old, vma);
			count_vm_event(cow_copy);
		}
	} else if (old) {
		put_page(page);
		page = NULL;
	}
	if (vmf->pte)
		spin_unlock(vmf->ptl);
	/* What is not mapped (here) any more, and our own reference. */
	if (page)
		put_page(page);
	if (old)
		put_page(old);
	return res;
}

/*
 * May the private page be written in place? It may if nobody else maps it. A fork marks it
 * shared for good; but if this entry has the last reference, the others are gone.
 */
static bool can_reuse_anon_page(struct page *page)
{
	if (PageAnonExclusive(page))
		return true;
	/* A reference may be that of a batch. */
	if (page_count(page) != 1 && lru_enabled())
		lru_add_drain();
	if (page_count(page) != 1)
		return false;
	SetPageAnonExclusive(page);
	count_vm_event(cow_reuse);
	return true;
}

/* A write to a read-only entry of a writable VMA. Called under ptl, drops it. */
static enum fault_result do_wp_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t entry;

	if (pte_pfn(vmf->orig_pte) == kernel()->zero_pfn)
		return wp_page_copy(vmf);
	if (vma_is_anonymous(vma) &&
	    !can_reuse_anon_page(pfn_to_page(pte_pfn(vmf->orig_pte))))
		return wp_page_copy(vmf);
	entry = pte_mkdirty(pte_mkyoung(vmf->orig_pte));
	entry = maybe_mkwrite(entry, vma);
	mach_charge(FAULT_PTE, 1);
	if (ptep_set_access_flags(vma, vmf->address, vmf->pte, entry, true))
		update_mmu_cache(vma, vmf->address, vmf->pte);
	spin_unlock(vmf->ptl);
	return FAULT_WRITE;
}

/*
 * An entry is there: it lacks a right, a bit, or nothing any more. Called with the RCU lock where
 * tables may be reclaimed, and drops it: while the entry is there and ptl is held, the table
 * is not empty and stays.
 */
static enum fault_result handle_present_pte(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t entry = vmf->orig_pte;
	bool same;

	/* A mark. Without any rights of the VMA's it is none, and the fault one by force. */
	if (pte_protnone(entry) && vma_is_accessible(vma))
		return do_numa_page(vmf);
	spin_lock(vmf->ptl);
	same = pte_same(ptep_get(vmf->pte), entry);
	if (!same)
		spin_unlock(vmf->ptl);
	if (pt_reclaim_enabled())
		rcu_read_unlock();
	if (!same)
		return FAULT_DONE;
	if (vmf->write) {
		if (!pte_write(entry))
			return do_wp_page(vmf);
		entry = pte_mkdirty(entry);
	}
	entry = pte_mkyoung(entry);
	if (ptep_set_access_flags(vma, vmf->address, vmf->pte, entry,
				  vmf->write)) {
		mach_charge(FAULT_PTE, 1);
		update_mmu_cache(vma, vmf->address, vmf->pte);
	} else {
		/*
		 * Nothing to change: another thread was faster, or a stale
		 * translation made us fault. If it was a write, see that
		 * this CPU drops it.
		 */
		count_vm_event(pgfault_spurious);
		if (vmf->write)
			flush_tlb_fix_spurious_fault(vma, vmf->address, vmf->pte);
	}
	spin_unlock(vmf->ptl);
	return FAULT_DONE;
}

/*
 * Map a page of the swap cache, locked, where a swap entry of it is. With the last entry the
 * slot is given back: zram is as fast as to write it again, and takes memory. Called under
 * ptl.
 */
static void map_swap_page(struct vm_fault *vmf, struct page *page, swp_entry_t swp)
{
	struct vm_area_struct *vma = vmf->vma;
	bool exclusive = swp_type(swp) == SWP_SWAP_EXCLUSIVE;
	pte_t entry = pte_mkyoung(mk_pte(page, vma->vm_page_prot));

	mach_charge(FAULT_PTE, 1);
	swap_free(swp_offset(swp));
	/* A reference may be that of a batch. */
	if (lru_enabled() && page_count(page) != 2)
		lru_add_drain();
	/* The cache's reference, ours, and nobody else: whoever had it is gone. */
	if (!page_mapped(page) && swap_count(swp_offset(swp)) == 0 && page_count(page) == 2)
		exclusive = true;
	if (exclusive) {
		SetPageAnonExclusive(page);
		if (vmf->write)
			entry = pte_mkdirty(entry);
		entry = maybe_mkwrite(entry, vma);
	}
	if (page_mapped(page))
		page_add_rmap(page);
	else
		page_add_new_anon_rmap(page, vma, vmf->address);
	get_page(page);
	set_pte_at(vma->vm_mm, vmf->address, vmf->pte, entry);
	update_mmu_cache(vma, vmf->address, vmf->pte);
}

/*
 * The page is in swap, or on its way elsewhere. A write to one that is not this entry's alone
 * faults again, to copy it. Called with the RCU lock as handle_present_pte(), and drops it.
 */
static enum fault_result do_swap_page(struct vm_fault *vmf)
{
	swp_entry_t swp = pte_to_swp_entry(vmf->orig_pte);
	struct page *head;
	bool same;
	u64 part;

	/* From here on we sleep: the table may go, and is looked for again. */
	if (pt_reclaim_enabled())
		rcu_read_unlock();
	if (is_migration_entry(swp)) {
		migration_entry_wait(vmf->pmd, vmf->address);
		return FAULT_DONE;
	}
	if (anon_vma_prepare(vmf->vma))
		return FAULT_OOM;
	head = swap_cache_read(swp_offset(swp));
	if (!head) {
		/* The slot is free: the entry has changed. Or there is no memory. */
		same = pte_relock(vmf);
		if (vmf->pte)
			spin_unlock(vmf->ptl);
		return same ? FAULT_OOM : FAULT_DONE;
	}
	lock_page(head);
	/* Of a huge page, which comes back part by part. */
	part = swp_offset(swp) - head->private;
	if (PageSwapCache(head) && part < compound_nr(head)) {
		if (pte_relock(vmf))
			map_swap_page(vmf, head + part, swp);
		if (vmf->pte)
			spin_unlock(vmf->ptl);
	}
	unlock_swap_page(head);
	put_page(head);
	return FAULT_DONE;
}

/* The PMD entry is, or may become, a huge page. FAULT_FALLBACK: go on with base pages. */
static enum fault_result handle_huge_fault(struct vm_fault *vmf)
{
	vmf->orig_pmd = pmdp_get(vmf->pmd);
	if (pmd_none(vmf->orig_pmd) && thp_suitable(vmf->vma, vmf->address))
		return do_huge_pmd_anonymous_page(vmf);
	if (!pmd_none(vmf->orig_pmd) && pmd_trans_huge(vmf->orig_pmd))
		return do_huge_pmd_present(vmf);
	return FAULT_FALLBACK;
}

enum fault_result handle_mm_fault(struct vm_area_struct *vma, u64 addr, bool write)
{
	struct vm_fault vmf = {
		.vma = vma, .address = addr & PAGE_MASK, .write = write,
	};
	enum fault_result res;
	bool huge;
	pmd_t pmd;

	count_vm_event(pgfault);
	mach_charge(FAULT_PATH, 1);
	vmf.pmd = pmd_alloc_path(vma->vm_mm, vmf.address);
	if (!vmf.pmd)
		return FAULT_OOM;
	res = handle_huge_fault(&vmf);
	if (res != FAULT_FALLBACK)
		return res;
	/* Keeps the table, and its lock, that a zap may take away. */
	if (pt_reclaim_enabled())
		rcu_read_lock();
	pmd = pmdp_get(vmf.pmd);
	huge = !pmd_none(pmd) && pmd_trans_huge(pmd);
	if (!pmd_none(pmd) && !huge) {
		vmf.pte = pte_offset_map(pmd, vmf.address);
		vmf.ptl = pte_lockptr(pmd);
		vmf.orig_pte = ptep_get(vmf.pte);
		if (!pte_none(vmf.orig_pte))
			return pte_present(vmf.orig_pte) ? handle_present_pte(&vmf) :
							   do_swap_page(&vmf);
	}
	if (pt_reclaim_enabled())
		rcu_read_unlock();
	/* Another thread's fault was faster: its huge page will do. */
	if (huge)
		return FAULT_DONE;
	return vma_is_anonymous(vma) ? do_anonymous_page(&vmf) : do_fault(&vmf);
}

static bool access_error(const struct vm_area_struct *vma, u32 flags)
{
	if (flags & MACH_FAULT_WRITE)
		return !(vma->vm_flags & VM_WRITE);
	if (flags & MACH_FAULT_EXEC)
		return !(vma->vm_flags & VM_EXEC);
	return !vma_is_accessible(vma);
}

int do_user_addr_fault(struct mm_struct *mm, u64 addr, u32 flags)
{
	enum fault_result res = FAULT_DONE;
	struct vm_area_struct *vma;
	bool bad;

	if (per_vma_locks()) {
		vma = lock_vma_under_rcu(mm, addr);
		if (vma) {
			bad = access_error(vma, flags);
			if (!bad)
				res = handle_mm_fault(vma, addr,
						      flags & MACH_FAULT_WRITE);
			vma_end_read(vma);
			goto out;
		}
	}
	/* As Linux does: try first, for the sake of faults in kernel mode. */
	if (!mmap_read_trylock(mm))
		mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	bad = !vma || addr < vma->vm_start || access_error(vma, flags);
	if (!bad)
		res = handle_mm_fault(vma, addr, flags & MACH_FAULT_WRITE);
	mmap_read_unlock(mm);
out:
	if (bad)
		return MACH_SIGSEGV;
	return res == FAULT_OOM ? MACH_SIGBUS : MACH_SIGNAL_NONE;
}
