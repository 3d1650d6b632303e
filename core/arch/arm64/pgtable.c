/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64 page tables: what is not a one-liner of pgtable.h. */
#include "pgtable.h"
#include "tlbflush.h"

KNOB_BOOL(arm64_hafdbs, "arm64.hafdbs", KNOB_HW, 0,
	  "hardware sets the access flag and the dirty state", "FEAT_HAFDBS");
KNOB_ENUM(arm64_set_table_sync, "arm64.set_table_sync", KNOB_POLICY, SET_TABLE_SYNC_DSB_ISB,
	  "after a table is hooked in: nothing, or DSB ISHST and ISB",
	  "set_pmd() of arch/arm64/include/asm/pgtable.h", "none", "dsb_isb");

void arch_init_geometry(struct pt_geometry *geo)
{
	bool big = mach_env()->page_shift == 16;

	*geo = (struct pt_geometry){
		.page_shift = mach_env()->page_shift,
		.pmd_shift = big ? 29 : 21,
		.pud_shift = big ? 42 : 30,
		.p4d_shift = big ? 42 : 39,
		.pgdir_shift = big ? 42 : 39,
		.ptrs_per_pte = big ? 8192 : 512,
		.ptrs_per_pmd = big ? 8192 : 512,
		.ptrs_per_pud = big ? 1 : 512,
		.ptrs_per_p4d = 1,
		.ptrs_per_pgd = big ? 64 : 512,
		.pud_folded = big,
		.p4d_folded = true,
		.task_size = 1UL << 48,
	};
}

pgprot_t vm_get_page_prot(u64 vm_flags)
{
	u64 prot = _PAGE_READONLY_EXEC;

	if (!(vm_flags & (VM_READ | VM_WRITE | VM_EXEC)))
		return __pgprot(_PAGE_NONE);
	if ((vm_flags & VM_SHARED) && (vm_flags & VM_WRITE))
		prot |= PTE_WRITE;
	if (!(vm_flags & VM_EXEC))
		prot |= PTE_UXN;
	return __pgprot(prot);
}

int pgd_alloc(struct mm_struct *mm)
{
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ZERO | MACH_GFP_TABLE);

	if (pfn == MACH_NO_FRAME)
		return -ENOMEM;
	mm->pgd_pfn = pfn;
	mm->pgd = __va(pfn << PAGE_SHIFT);
	return 0;
}

void pgd_free(struct mm_struct *mm)
{
	mach_free_frames(mm->pgd_pfn, 0, MACH_FREE_ZEROED);
	mm->pgd = NULL;
}

/*
 * For user space it only saves a fault: a walker that does not see the new table
 * faults, and the kernel finds the entry there.
 */
void sync_table_entry(u64 val)
{
	if (knob(arm64_set_table_sync) == SET_TABLE_SYNC_NONE || !(val & PTE_VALID))
		return;
	mach_fence(MACH_DSB_ISHST);
	mach_fence(MACH_ISB);
}

/*
 * Bits are only added (RDONLY is kept by its absence), in a cmpxchg loop: with a
 * plain store, an update by hardware between load and store would be undone.
 */
bool ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep, pte_t entry,
			   bool dirty)
{
	u64 old = READ_ONCE(ptep->pte), add, new, seen;

	if (old == pte_val(entry))
		return false;

	add = pte_val(entry) & (PTE_RDONLY | PTE_AF | PTE_WRITE | PTE_DIRTY);
	add ^= PTE_RDONLY;
	for (;;) {
		new = ((old ^ PTE_RDONLY) | add) ^ PTE_RDONLY;
		seen = mach_rmw(&ptep->pte, MACH_CMPXCHG, new, old, MACH_RELAXED);
		if (seen == old)
			break;
		old = seen;
	}

	if (dirty)
		flush_tlb_page(vma, addr);
	return true;
}

/* Hardware may set dirty until the cmpxchg succeeds; pte_wrprotect() keeps it. */
void ptep_set_wrprotect(struct mm_struct *mm, u64 addr, pte_t *ptep)
{
	u64 old = READ_ONCE(ptep->pte), seen;

	(void)mm;
	(void)addr;
	for (;;) {
		seen = mach_rmw(&ptep->pte, MACH_CMPXCHG,
				pte_val(pte_wrprotect(__pte(old))), old, MACH_RELAXED);
		if (seen == old)
			return;
		old = seen;
	}
}

pmd_t pmdp_invalidate(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp)
{
	pmd_t old = pmdp_establish(vma, addr, pmdp, pmd_mkinvalid(pmdp_get(pmdp)));

	flush_pmd_tlb_range(vma, addr, addr + PMD_SIZE);
	return old;
}

/* What goes is a table, and the pages that it maps. */
pmd_t pmdp_collapse_flush(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp)
{
	pmd_t old = pmdp_huge_get_and_clear(vma->vm_mm, addr, pmdp);

	flush_tlb_range(vma, addr, addr + PMD_SIZE);
	return old;
}
