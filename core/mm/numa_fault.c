/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hinting faults: who meets a mark says where it is used from; the page may move here; the
 * entry gets its rights back.
 */
#include "mm/numa.h"

#include "mm/filemap.h"
#include "mm/huge_mm.h"
#include "mm/migrate.h"
#include "mm/rmap.h"
#include "tlbflush.h"

KNOB_ENUM(numa_group_test, "numa.group_test", KNOB_POLICY, GROUP_PTE_WRITE,
	  "which accesses group threads: by the entry restored, without what was saved; dirty; "
	  "writable VMA; by the entry restored",
	  "53da3bc2ba9e, bea66fbd11af (4.0)", "pte_write_after_restore", "dirty", "vma_write",
	  "pte_write");
KNOB_BOOL(numa_slow_scan_on_failure, "numa.slow_scan_on_failure", KNOB_POLICY, 1,
	  "a page that could not be moved slows the scan down", "074c238177a7 (4.0)");
enum { MAP_BEFORE, MAP_AFTER };
KNOB_ENUM(numa_fault_map, "numa.fault_map", KNOB_POLICY, MAP_AFTER,
	  "a page that will move: its entry is restored first, and must be flushed; or stays marked",
	  "b99a342d4f11 (5.13)", "before", "after");

/* A hinting fault under way. */
struct numa_fault {
	u32 last_cpupid;
	u32 flags;		/* TNF_* */
	s32 nid;		/* where the page is */
	s32 target;		/* where it should be, or NUMA_NO_NODE: where it is */
};

/* Under the lock: is entry one by which threads are grouped? They should share data, not code. */
static bool may_group(const struct vm_area_struct *vma, pte_t entry, bool plain_write)
{
	switch (knob(numa_group_test)) {
	case GROUP_PTE_WRITE_AFTER_RESTORE:
		/* Of a private mapping's page this is false: its rights are without write. */
		return plain_write;
	case GROUP_DIRTY:
		return pte_dirty(entry);
	case GROUP_VMA_WRITE:
		return vma->vm_flags & VM_WRITE;
	default:
		return pte_write(entry);
	}
}

/* Under the lock. Counts the fault, and decides. */
static void numa_migrate_check(struct numa_fault *nf, struct vm_area_struct *vma,
			       struct page *page, pte_t entry, bool plain_write)
{
	struct page *head = compound_head(page);

	if (!may_group(vma, entry, plain_write))
		nf->flags |= TNF_NO_GROUP;
	if ((vma->vm_flags & VM_SHARED) && page_mapcount(head) > 1)
		nf->flags |= TNF_SHARED;
	nf->nid = (s32)mach_frame_node(page_to_pfn(head));
	nf->target = NUMA_NO_NODE;
	nf->last_cpupid = page_cpupid_last(head);
	count_vm_event(numa_hint_faults);
	if (nf->nid == (s32)mach_cpu_node(smp_processor_id())) {
		count_vm_event(numa_hint_faults_local);
		nf->flags |= TNF_FAULT_LOCAL;
	}
	if (!numa_balancing())
		return;
	/* Notes the access also where nothing is to be decided. */
	if (should_numa_migrate_memory(head, nf->nid) && !(nf->flags & TNF_FAULT_LOCAL))
		nf->target = (s32)mach_cpu_node(smp_processor_id());
	/* Code is cached everywhere; a dirty file page would have to be written first. */
	if (!PageAnon(head) && ((vma->vm_flags & (VM_EXEC | VM_SHARED)) == (VM_EXEC | VM_SHARED) ||
	    (READ_ONCE(head->flags) & (PG_dirty | PG_swapbacked)) == PG_dirty))
		nf->target = NUMA_NO_NODE;
}

static void numa_fault_done(struct numa_fault *nf, u64 pages)
{
	if (numa_balancing())
		task_numa_fault(nf->last_cpupid, nf->nid, pages, nf->flags);
}

static void numa_fault_migrated(struct numa_fault *nf, bool migrated, u64 pages)
{
	if (migrated) {
		nf->nid = nf->target;
		nf->flags |= TNF_MIGRATED;
		count_vm_events(numa_pages_migrated, pages);
	} else if (knob(numa_slow_scan_on_failure)) {
		nf->flags |= TNF_MIGRATE_FAIL;
	}
}

/* ---- base pages ---- */

/* Under the lock, which stays held. Nothing to flush: the entry gains rights. */
static void restore_pte(struct vm_fault *vmf)
{
	bool plain_write;
	pte_t old = ptep_modify_prot_start(vmf->vma, vmf->address, vmf->pte);
	pte_t pte = pte_unmark_numa(vmf->vma, old, &plain_write);

	mach_charge(FAULT_PTE, 1);
	ptep_modify_prot_commit(vmf->vma, vmf->address, vmf->pte, old, pte);
	update_mmu_cache(vmf->vma, vmf->address, vmf->pte);
}

/* Drops the reference. */
static bool move_page(struct page *page, s32 node)
{
	if (numa_ratelimited(node, 1)) {
		put_page(page);
		return false;
	}
	return migrate_misplaced_page(page, node);
}

enum fault_result do_numa_page(struct vm_fault *vmf)
{
	struct numa_fault nf = { .nid = NUMA_NO_NODE };
	bool plain_write, restored = false;
	struct page *page;
	pte_t entry;

	spin_lock(vmf->ptl);
	if (!pte_same(ptep_get(vmf->pte), vmf->orig_pte)) {
		spin_unlock(vmf->ptl);
		return FAULT_DONE;
	}
	entry = pte_unmark_numa(vmf->vma, vmf->orig_pte, &plain_write);
	if (pte_pfn(entry) == kernel()->zero_pfn) {
		restore_pte(vmf);
		spin_unlock(vmf->ptl);
		return FAULT_DONE;
	}
	page = pfn_to_page(pte_pfn(entry));
	numa_migrate_check(&nf, vmf->vma, page, entry, plain_write);
	if (nf.target == NUMA_NO_NODE) {
		restore_pte(vmf);
		spin_unlock(vmf->ptl);
		numa_fault_done(&nf, 1);
		return FAULT_DONE;
	}
	/* Moved from under a working entry, the page costs a flush. */
	if (knob(numa_fault_map) == MAP_BEFORE) {
		restore_pte(vmf);
		restored = true;
	}
	get_page(page);
	spin_unlock(vmf->ptl);
	numa_fault_migrated(&nf, move_page(page, nf.target), 1);
	if (!(nf.flags & TNF_MIGRATED) && !restored) {
		spin_lock(vmf->ptl);
		if (pte_same(ptep_get(vmf->pte), vmf->orig_pte))
			restore_pte(vmf);
		spin_unlock(vmf->ptl);
	}
	numa_fault_done(&nf, 1);
	return FAULT_DONE;
}

/* ---- huge pages ---- */

/* As pte_unmark_numa(); pmd_modify() keeps that it is a leaf. */
static pmd_t pmd_unmark_numa(struct vm_area_struct *vma, pmd_t old, bool *plain_write)
{
	pte_t pte = pte_unmark_numa(vma, pmd_pte(old), plain_write);
	pmd_t pmd = pmd_mkyoung(pmd_modify(old, vma->vm_page_prot));

	return pte_write(pte) ? pmd_mkwrite(pmd) : pmd;
}

/* Under the lock. A plain store: hardware leaves a marked entry alone. */
static void restore_pmd(struct vm_fault *vmf, pmd_t old)
{
	bool plain_write;
	pmd_t pmd = pmd_unmark_numa(vmf->vma, old, &plain_write);

	mach_charge(FAULT_PTE, 1);
	set_pmd_at(vmf->vma->vm_mm, vmf->address & HPAGE_PMD_MASK, vmf->pmd, pmd);
}

/*
 * Copied while its entry is marked, and so not accessible, once what a scan has not yet
 * flushed is flushed:
 *
 *	scan			fault			third CPU
 *	  marks
 *							writes by its TLB
 *				  copies
 *							writes by its TLB: lost
 *	  flushes
 *
 * The page is locked: who else meets the mark sleeps until it is over.
 *
 * As migrate_misplaced_transhuge_page() of 3.8 to 5.13; 6.12 has migration entries of PMDs.
 * Returns whether it moved. Drops the lock and the reference.
 */
static bool move_huge_page(struct vm_fault *vmf, struct page *page, s32 node)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 haddr = vmf->address & HPAGE_PMD_MASK;
	struct page *new;
	bool plain_write;
	pte_t old;
	pmd_t pmd;

	if (numa_ratelimited(node, HPAGE_PMD_NR)) {
		unlock_page(page);
		put_page(page);
		return false;
	}
	new = alloc_huge_page(false, node);
	if (!new || mach_frame_node(page_to_pfn(new)) != (u32)node)
		goto fail;
	if (atomic_read(&vma->vm_mm->tlb_flush_pending))
		flush_pmd_tlb_range(vma, haddr, haddr + HPAGE_PMD_SIZE);
	mach_charge(MIGRATE, 1);
	mach_charge(COPY_HUGE, 1);
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		mach_copy_frame(page_to_pfn(new) + i, page_to_pfn(page) + i);
	smp_wmb();
	spin_lock(vmf->ptl);
	/* The entry's reference and ours: nobody else may be looking at it. */
	if (!pmd_same(pmdp_get(vmf->pmd), vmf->orig_pmd) || page_count(page) != 2) {
		spin_unlock(vmf->ptl);
		goto fail;
	}
	/* Flushed. What of the old entry is not where the page is, the new one has, too. */
	old = pte_unmark_numa(vma, pmd_pte(pmdp_invalidate(vma, haddr, vmf->pmd)), &plain_write);
	WRITE_ONCE(new->flags, READ_ONCE(page->flags) & ~(PG_locked | PG_waiters));
	WRITE_ONCE(new->cpupid, READ_ONCE(page->cpupid));
	page_add_new_anon_rmap(new, vma, haddr);
	pmd = pmd_mkyoung(mk_huge_pmd(new, vma->vm_page_prot));
	if (pte_dirty(old))
		pmd = pmd_mkdirty(pmd);
	if (pte_write(old))
		pmd = pmd_mkwrite(pmd);
	mach_charge(FAULT_PTE, 1);
	set_pmd_at(vma->vm_mm, haddr, vmf->pmd, pmd);
	page_remove_rmap(page, vma);
	spin_unlock(vmf->ptl);
	unlock_page(page);
	put_page(page);
	put_page(page);
	count_vm_events(pgmigrate_success, HPAGE_PMD_NR);
	return true;
fail:
	if (new)
		put_page(new);
	unlock_page(page);
	put_page(page);
	count_vm_events(pgmigrate_fail, HPAGE_PMD_NR);
	return false;
}

enum fault_result do_huge_pmd_numa_page(struct vm_fault *vmf)
{
	struct numa_fault nf = { .nid = NUMA_NO_NODE };
	struct vm_area_struct *vma = vmf->vma;
	bool plain_write;
	struct page *page;
	pte_t entry;

	vmf->ptl = pmd_lockptr(vma->vm_mm, vmf->pmd);
	spin_lock(vmf->ptl);
	if (!pmd_same(pmdp_get(vmf->pmd), vmf->orig_pmd)) {
		spin_unlock(vmf->ptl);
		return FAULT_DONE;
	}
	entry = pte_unmark_numa(vma, pmd_pte(vmf->orig_pmd), &plain_write);
	/*
	 * To 4.0 huge pages were looked at before their entry was restored, as it was marked
	 * (pmd_write(pmd) in do_huge_pmd_numa_page()), base pages after.
	 */
	plain_write = pte_savedwrite(pmd_pte(vmf->orig_pmd));
	page = pfn_to_page(pmd_pfn(vmf->orig_pmd));
	if (!trylock_page(page)) {
		/* On its way already. Without a reference, which would stop it. */
		migration_entry_wait_on_locked(page, vmf->ptl);
		return FAULT_DONE;
	}
	numa_migrate_check(&nf, vma, page, entry, plain_write);
	if (nf.target == NUMA_NO_NODE) {
		restore_pmd(vmf, vmf->orig_pmd);
		spin_unlock(vmf->ptl);
		unlock_page(page);
		numa_fault_done(&nf, HPAGE_PMD_NR);
		return FAULT_DONE;
	}
	get_page(page);
	spin_unlock(vmf->ptl);
	numa_fault_migrated(&nf, move_huge_page(vmf, page, nf.target), HPAGE_PMD_NR);
	if (!(nf.flags & TNF_MIGRATED)) {
		spin_lock(vmf->ptl);
		if (pmd_same(pmdp_get(vmf->pmd), vmf->orig_pmd))
			restore_pmd(vmf, vmf->orig_pmd);
		spin_unlock(vmf->ptl);
	}
	numa_fault_done(&nf, HPAGE_PMD_NR);
	return FAULT_DONE;
}
