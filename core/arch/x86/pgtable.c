/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64 page tables: what is not a one-liner of pgtable.h. */
#include "pgtable.h"
#include "mmu_context.h"
#include "tlbflush.h"

void arch_init_geometry(struct pt_geometry *geo)
{
	*geo = (struct pt_geometry){
		.page_shift = mach_env()->page_shift,
		.pmd_shift = 21,
		.pud_shift = 30,
		.p4d_shift = 39,
		.pgdir_shift = 39,
		.ptrs_per_pte = 512,
		.ptrs_per_pmd = 512,
		.ptrs_per_pud = 512,
		.ptrs_per_p4d = 1,
		.ptrs_per_pgd = 512,
		.p4d_folded = true,
		/* The last page stays free: SYSRET to a non-canonical address. */
		.task_size = (1UL << 47) - (1UL << 12),
	};
}

pgprot_t vm_get_page_prot(u64 vm_flags)
{
	u64 prot = _PAGE_PRESENT | _PAGE_USER | _PAGE_ACCESSED;

	if (!(vm_flags & (VM_READ | VM_WRITE | VM_EXEC)))
		return __pgprot(_PAGE_ACCESSED | _PAGE_PROTNONE);
	if ((vm_flags & VM_SHARED) && (vm_flags & VM_WRITE))
		prot |= _PAGE_RW;
	if (!(vm_flags & VM_EXEC))
		prot |= _PAGE_NX;
	return __pgprot(prot);
}

/* Order of a PGD's allocation: with PTI, a pair. */
static u32 pgd_order(void)
{
	return knob(x86_pti) ? 1 : 0;
}

/* The root's entry of the kernel's area. */
static u64 *vmalloc_entry(struct mm_struct *mm)
{
	return (u64 *)mm->pgd + (VMALLOC_START >> kernel()->geo.pgdir_shift) %
				kernel()->geo.ptrs_per_pgd;
}

int pgd_alloc(struct mm_struct *mm)
{
	u64 pfn = mach_alloc_frames(pgd_order(), MACH_NODE_LOCAL,
				    MACH_GFP_ZERO | MACH_GFP_TABLE);

	if (pfn == MACH_NO_FRAME)
		return -ENOMEM;
	mm->pgd_pfn = pfn;
	mm->pgd = __va(pfn << PAGE_SHIFT);
	/* Not in user mode's half of a pair. */
	if (kernel()->arch.vmalloc_pfn)
		WRITE_ONCE(*vmalloc_entry(mm), kernel()->arch.vmalloc_pfn << PAGE_SHIFT | _PAGE_TABLE);
	return 0;
}

void pgd_free(struct mm_struct *mm)
{
	if (kernel()->arch.vmalloc_pfn)
		WRITE_ONCE(*vmalloc_entry(mm), 0);
	mach_free_frames(mm->pgd_pfn, pgd_order(), MACH_FREE_ZEROED);
	mm->pgd = NULL;
}

/*
 * With PTI user mode has the full entry; the kernel's copy gets XD, so that
 * code run in user mode on the wrong tables faults at once.
 */
void set_p4d(p4d_t *p4dp, p4d_t p4d)
{
	if (knob(x86_pti)) {
		p4d_t *twin = (p4d_t *)((char *)p4dp + PAGE_SIZE);

		WRITE_ONCE(twin->p4d, p4d_val(p4d));
		if (p4d_present(p4d))
			p4d = __p4d(p4d_val(p4d) | _PAGE_NX);
	}
	WRITE_ONCE(p4dp->p4d, p4d_val(p4d));
}

bool ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep, pte_t entry,
			   bool dirty)
{
	bool changed = !pte_same(ptep_get(ptep), entry);

	if (changed && dirty)
		set_pte_at(vma->vm_mm, addr, ptep, entry);
	return changed;
}

/*
 * Not a plain store: between our load and it, hardware may set D through the
 * entry that we are about to protect.
 */
void ptep_set_wrprotect(struct mm_struct *mm, u64 addr, pte_t *ptep)
{
	u64 old = READ_ONCE(ptep->pte), seen;

	(void)mm;
	(void)addr;
	while ((seen = cmpxchg(&ptep->pte, old, old & ~_PAGE_RW)) != old)
		old = seen;
}

pmd_t pmdp_invalidate(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp)
{
	pmd_t old = pmdp_establish(vma, addr, pmdp, pmd_mkinvalid(pmdp_get(pmdp)));

	flush_pmd_tlb_range(vma, addr, addr + PMD_SIZE);
	return old;
}

/* What goes is a table, and the base pages that it maps. */
pmd_t pmdp_collapse_flush(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp)
{
	pmd_t old = pmdp_huge_get_and_clear(vma->vm_mm, addr, pmdp);

	flush_tlb_range(vma, addr, addr + PMD_SIZE);
	return old;
}
