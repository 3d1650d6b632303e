/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/huge_mm.h"
#include "mm/numa.h"
#include "mm/rmap.h"
#include "mm/swapops.h"

KNOB_ENUM(mm_mprotect_write, "mm.mprotect_write", KNOB_POLICY, MPROTECT_WRITE_ALL,
	  "whose write right mprotect gives back at once: nobody's, base pages', huge ones' too",
	  "mm: improve mprotect(R|W) efficiency on pages referenced once (5.14); c27f479ef542 (6.2)",
	  "none", "pte", "all");

bool can_change_pte_writable(struct vm_area_struct *vma, pte_t pte)
{
	if (!(vma->vm_flags & VM_WRITE) || pte_protnone(pte))
		return false;
	if (vma->vm_flags & VM_SHARED)
		return pte_dirty(pte);
	return pte_pfn(pte) != kernel()->zero_pfn &&
	       PageAnonExclusive(pfn_to_page(pte_pfn(pte)));
}

static void change_pte(struct mmu_gather *tlb, struct vm_area_struct *vma,
		       pte_t *ptep, u64 addr, pgprot_t newprot)
{
	pte_t old, new;

	mach_charge(PROT_PTE, 1);
	/* Atomic, so that no dirty bit of hardware's is lost. */
	old = ptep_modify_prot_start(vma, addr, ptep);
	new = pte_modify(old, newprot);
	if (knob(mm_mprotect_write) != MPROTECT_WRITE_NONE && !pte_write(new) &&
	    can_change_pte_writable(vma, new))
		new = pte_mkwrite(new);
	ptep_modify_prot_commit(vma, addr, ptep, old, new);
	/* More rights need no flush: at worst somebody faults once more. */
	if (pte_needs_flush(old, new))
		tlb_flush_pte_range(tlb, addr, PAGE_SIZE);
}

/*
 * Mark an entry for hinting faults; false: it stays as it is. The two ways differ in what
 * happens to a dirty bit:
 *
 *	rmw				CPU with a clean translation, writing
 *	  old = *ptep: clean
 *					  sets D in *ptep; the write is done
 *	  *ptep = old, marked: clean
 *
 * and the page is dropped for clean. Taken by one atomic operation, either old has D or
 * hardware finds no valid entry to set it in, and faults.
 */
static bool change_pte_numa(struct mmu_gather *tlb, struct vm_area_struct *vma, pte_t *ptep,
			    u64 addr)
{
	pte_t old = ptep_get(ptep), new;

	if (prot_numa_skip(vma, old))
		return false;
	mach_charge(PROT_PTE, 1);
	if (knob(numa_prot_none_update) == UPDATE_RMW) {
		new = pte_mark_numa(old);
		set_pte_at(vma->vm_mm, addr, ptep, new);
	} else {
		old = ptep_modify_prot_start(vma, addr, ptep);
		new = pte_mark_numa(old);
		ptep_modify_prot_commit(vma, addr, ptep, old, new);
	}
	if (pte_needs_flush(old, new))
		tlb_flush_pte_range(tlb, addr, PAGE_SIZE);
	return true;
}

/* A page on its way will be mapped as its entry says: without the right, for safety. */
static void change_nonpresent_pte(struct vm_area_struct *vma, pte_t *ptep, u64 addr)
{
	swp_entry_t entry = pte_to_swp_entry(ptep_get(ptep));
	u32 type = vma_is_anonymous(vma) ? SWP_MIGRATION_READ_EXCLUSIVE : SWP_MIGRATION_READ;

	if (is_writable_migration_entry(entry))
		set_pte_at(vma->vm_mm, addr, ptep,
			   swp_entry_to_pte(swp_entry(type | swp_ad_bits(entry), swp_offset(entry))));
}

/* These return how many pages were changed. */

static u64 change_pte_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			     pmd_t pmd, u64 addr, u64 end, pgprot_t newprot, u32 cp_flags)
{
	const u32 shift = PAGE_SHIFT;
	spinlock_t *ptl = pte_lockptr(pmd);
	pte_t *pte = pte_offset_map(pmd, addr);
	u64 pages = 0;

	tlb_change_page_size(tlb, 1U << shift);
	spin_lock(ptl);
	flush_tlb_batched_pending(vma->vm_mm);
	while (addr != end) {
		u32 none = mach_scan_zero(&pte->pte, (u32)((end - addr) >> shift));

		pte += none;
		addr += (u64)none << shift;
		if (addr == end)
			break;
		if (pte_present(ptep_get(pte)) && (cp_flags & MM_CP_PROT_NUMA)) {
			pages += change_pte_numa(tlb, vma, pte, addr);
		} else if (pte_present(ptep_get(pte))) {
			change_pte(tlb, vma, pte, addr, newprot);
			pages++;
		} else if (!pte_none(ptep_get(pte)) && !(cp_flags & MM_CP_PROT_NUMA)) {
			change_nonpresent_pte(vma, pte, addr);
		}
		pte++;
		addr += 1UL << shift;
	}
	spin_unlock(ptl);
	return pages;
}

/* One PMD entry; see change_huge_pmd() for what its answers mean. */
static u64 change_one_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma,
			  pmd_t *pmdp, u64 addr, u64 end, pgprot_t newprot, u32 cp_flags)
{
	for (;;) {
		pmd_t pmd = pmdp_get(pmdp);
		u32 nr;

		if (pmd_none(pmd))
			return 0;
		if (!pmd_trans_huge(pmd))
			return change_pte_range(tlb, vma, pmd, addr, end, newprot, cp_flags);
		if (end - addr != HPAGE_PMD_SIZE) {
			split_huge_pmd(vma, pmdp, addr);
			continue;
		}
		nr = change_huge_pmd(tlb, vma, pmdp, addr, newprot, cp_flags);
		if (nr == HPAGE_PMD_NR) {
			if (cp_flags & MM_CP_PROT_NUMA)
				count_vm_event(numa_huge_pte_updates);
			else
				count_vm_event(prot_huge_pages);
			return nr;
		}
		if (nr)
			return 0;
	}
}

static u64 change_pmd_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			     pud_t *pud, u64 addr, u64 end, pgprot_t newprot, u32 cp_flags)
{
	pmd_t *pmdp = pmd_offset(pud, addr);
	u64 pages = 0, next;

	for (; addr != end; pmdp++, addr = next) {
		next = pmd_addr_end(addr, end);
		if (pmd_none(pmdp_get(pmdp)))
			continue;
		pages += change_one_pmd(tlb, vma, pmdp, addr, next, newprot, cp_flags);
		cond_resched();
	}
	return pages;
}

static u64 change_pud_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			     p4d_t *p4d, u64 addr, u64 end, pgprot_t newprot, u32 cp_flags)
{
	pud_t *pud = pud_offset(p4d, addr);
	u64 pages = 0, next;

	for (; addr != end; pud++, addr = next) {
		next = pud_addr_end(addr, end);
		if (kernel()->geo.pmd_folded || !pud_none(pudp_get(pud)))
			pages += change_pmd_range(tlb, vma, pud, addr, next, newprot, cp_flags);
	}
	return pages;
}

static u64 change_p4d_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
			     pgd_t *pgd, u64 addr, u64 end, pgprot_t newprot, u32 cp_flags)
{
	p4d_t *p4d = p4d_offset(pgd, addr);
	u64 pages = 0, next;

	for (; addr != end; p4d++, addr = next) {
		next = p4d_addr_end(addr, end);
		if (kernel()->geo.pud_folded || !p4d_none(p4dp_get(p4d)))
			pages += change_pud_range(tlb, vma, p4d, addr, next, newprot, cp_flags);
	}
	return pages;
}

u64 change_protection(struct mmu_gather *tlb, struct vm_area_struct *vma,
			      u64 addr, u64 end, pgprot_t newprot, u32 cp_flags)
{
	pgd_t *pgd = pgd_offset(vma->vm_mm, addr);
	u64 pages = 0, next;

	tlb_start_vma(tlb, vma);
	for (; addr != end; pgd++, addr = next) {
		next = pgd_addr_end(addr, end);
		if (kernel()->geo.p4d_folded || !pgd_none(pgdp_get(pgd)))
			pages += change_p4d_range(tlb, vma, pgd, addr, next, newprot, cp_flags);
	}
	tlb_end_vma(tlb, vma);
	return pages;
}

/* [start, end) lies in vma, which is split where it ends inside. */
static int mprotect_fixup(struct mmu_gather *tlb, struct vm_area_struct *vma,
			  u64 start, u64 end, u64 newflags)
{
	struct mm_struct *mm = vma->vm_mm;
	int err;

	if (newflags == vma->vm_flags)
		return 0;
	err = split_vma_range(mm, &vma, start, end);
	if (err)
		return err;
	vma_start_write(vma);
	vma->vm_flags = newflags;
	vma->vm_page_prot = vm_get_page_prot(newflags);
	count_vm_events(prot_pages, change_protection(tlb, vma, start, end,
						      vma->vm_page_prot, 0));
	return 0;
}

/* mmap_lock for writing. */
static s64 mprotect_range(struct mmu_gather *tlb, struct mm_struct *mm,
			  u64 start, u64 end, u64 rights)
{
	while (start < end) {
		struct vm_area_struct *vma = find_vma(mm, start);
		u64 next;
		int err;

		if (!vma || vma->vm_start > start)
			return -ENOMEM;
		next = min(vma->vm_end, end);
		err = mprotect_fixup(tlb, vma, start, next,
				     (vma->vm_flags &
				      ~(VM_READ | VM_WRITE | VM_EXEC)) | rights);
		if (err)
			return err;
		start = next;
	}
	return 0;
}

s64 do_mprotect(u64 start, u64 len, u32 prot)
{
	struct mm_struct *mm = current->mm;
	u64 end = start + PAGE_ALIGN(len), rights;
	struct mmu_gather tlb;
	s64 ret;

	if (start & ~PAGE_MASK)
		return -EINVAL;
	if (!len)
		return 0;
	if (end <= start)
		return -ENOMEM;
	rights = (prot & PROT_READ ? VM_READ : 0) |
		 (prot & PROT_WRITE ? VM_WRITE : 0) |
		 (prot & PROT_EXEC ? VM_EXEC : 0);

	mmap_write_lock(mm);
	mach_charge(MPROTECT_LOCKED, 1);
	tlb_gather_mmu(&tlb, mm);
	tlb_gather_call(&tlb, GATHER_MPROTECT, start, end);
	ret = mprotect_range(&tlb, mm, start, end, rights);
	tlb_finish_mmu(&tlb);
	vma_merge_range(mm, start, end);
	mmap_write_unlock(mm);
	return ret;
}
