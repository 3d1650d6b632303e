/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POWER radix page tables: what is not a one-liner of pgtable.h. */
#include "pgtable.h"
#include "pte_walk.h"
#include "tlbflush.h"

KNOB_BOOL(powerpc_set_pte_ptesync, "powerpc.set_pte_ptesync", KNOB_POLICY, 0,
	  "every entry that is installed or changed is followed by a ptesync",
	  "f1cb8f9beba8 (4.18) removed it");
KNOB_BOOL(powerpc_pmd_zap_flush, "powerpc.pmd_zap_flush", KNOB_POLICY, 1,
	  "zapping a huge page flushes it at once, not with the gather",
	  "75358ea359e7 (5.8); thread S1");

/*
 * User addresses end where mmap() places by default: 128 TiB with 64 KiB pages,
 * 64 TiB with 4 KiB. The 4 PiB that a hint could reach are not used.
 */
void arch_init_geometry(struct pt_geometry *geo)
{
	bool big = mach_env()->page_shift == 16;

	*geo = (struct pt_geometry){
		.page_shift = mach_env()->page_shift,
		.pmd_shift = 21,
		.pud_shift = 30,
		.p4d_shift = 39,
		.pgdir_shift = 39,
		.ptrs_per_pte = big ? 32 : 512,
		.ptrs_per_pmd = 1U << RADIX_PMD_INDEX_SIZE,
		.ptrs_per_pud = 1U << RADIX_PUD_INDEX_SIZE,
		.ptrs_per_p4d = 1,
		.ptrs_per_pgd = 1U << RADIX_PGD_INDEX_SIZE,
		.p4d_folded = true,
		.task_size = big ? 1UL << 47 : 1UL << 46,
	};
}

pgprot_t vm_get_page_prot(u64 vm_flags)
{
	u64 prot = _PAGE_BASE;

	/* Execute-only is given read as well. */
	if (vm_flags & (VM_READ | VM_WRITE | VM_EXEC))
		prot |= _PAGE_READ;
	if ((vm_flags & VM_SHARED) && (vm_flags & VM_WRITE))
		prot |= _PAGE_WRITE;
	if (vm_flags & VM_EXEC)
		prot |= _PAGE_EXEC;
	return __pgprot(prot);
}

/* Order of a PGD's allocation, which is 64 KiB. */
static u32 pgd_order(void)
{
	return RADIX_PGD_INDEX_SIZE + 3 - PAGE_SHIFT;
}

int pgd_alloc(struct mm_struct *mm)
{
	u64 pfn = mach_alloc_frames(pgd_order(), MACH_NODE_LOCAL,
				    MACH_GFP_ZERO | MACH_GFP_TABLE);

	if (pfn == MACH_NO_FRAME)
		return -ENOMEM;
	mm->pgd_pfn = pfn;
	mm->pgd = __va(pfn << PAGE_SHIFT);
	return 0;
}

void pgd_free(struct mm_struct *mm)
{
	mach_free_frames(mm->pgd_pfn, pgd_order(), MACH_FREE_ZEROED);
	mm->pgd = NULL;
}

/*
 * clr and set in one atomic step, whatever hardware does meanwhile; returns the
 * old value.
 */
static u64 radix_pte_update(pte_t *ptep, u64 clr, u64 set)
{
	u64 old = READ_ONCE(ptep->pte), seen;

	for (;;) {
		seen = mach_rmw(&ptep->pte, MACH_CMPXCHG, (old & ~clr) | set, old,
				MACH_RELAXED);
		if (seen == old)
			return old;
		old = seen;
	}
}

/* Does the nest MMU of POWER9 translate for mm? It keeps to what it has cached. */
static bool nest_mmu_keeps_rights(struct mm_struct *mm)
{
	return !knob(powerpc_isa31) && atomic_read(&mm->context.copros) > 0;
}

static bool __ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
				    pte_t entry, int psize)
{
	u64 set = pte_val(entry) & (_PAGE_DIRTY | _PAGE_ACCESSED | _PAGE_RWX);
	u64 old = READ_ONCE(ptep->pte);

	if (old == pte_val(entry))
		return false;

	if (((old ^ pte_val(entry)) & _PAGE_RW) && nest_mmu_keeps_rights(vma->vm_mm)) {
		old = radix_pte_update(ptep, _PAGE_PRESENT, _PAGE_INVALID);
		radix__flush_tlb_page_psize(vma->vm_mm, addr, psize);
		radix_pte_update(ptep, _PAGE_INVALID, old | set);
	} else {
		radix_pte_update(ptep, 0, set);
	}
	set_pte_sync();
	return true;
}

bool ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
			   pte_t entry, bool dirty)
{
	(void)dirty;
	return __ptep_set_access_flags(vma, addr, ptep, entry, mmu_virtual_psize());
}

bool pmdp_set_access_flags(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp,
			   pmd_t entry, bool dirty)
{
	(void)dirty;
	return __ptep_set_access_flags(vma, addr, pmdp_ptep(pmdp), pmd_pte(entry),
				       MMU_PAGE_2M);
}

pte_t ptep_modify_prot_start(struct vm_area_struct *vma, u64 addr, pte_t *ptep)
{
	(void)vma;
	(void)addr;
	return __pte(radix_pte_update(ptep, _PAGE_PRESENT, _PAGE_INVALID));
}

void ptep_modify_prot_commit(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
			     pte_t old_pte, pte_t pte)
{
	bool upgrade = pte_val(pte) & ~pte_val(old_pte) & _PAGE_RW;

	if (upgrade && nest_mmu_keeps_rights(vma->vm_mm))
		flush_tlb_page(vma, addr);
	set_pte_at(vma->vm_mm, addr, ptep, pte);
}

/* ---- huge pages ---- */

pmd_t pmdp_huge_get_and_clear(struct mm_struct *mm, u64 addr, pmd_t *pmdp)
{
	pmd_t old = __pmd(radix_pte_update(pmdp_ptep(pmdp), ~0UL, 0));

	(void)addr;
	serialize_against_pte_lookup(mm);
	return old;
}

pmd_t pmdp_huge_get_and_clear_full(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp,
				   bool full)
{
	pmd_t old = pmdp_huge_get_and_clear(vma->vm_mm, addr, pmdp);

	if (!full && knob(powerpc_pmd_zap_flush))
		flush_pmd_tlb_range(vma, addr, addr + PMD_SIZE);
	return old;
}

pmd_t pmdp_invalidate(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp)
{
	pmd_t old = __pmd(radix_pte_update(pmdp_ptep(pmdp), _PAGE_PRESENT, _PAGE_INVALID));

	flush_pmd_tlb_range(vma, addr, addr + PMD_SIZE);
	serialize_against_pte_lookup(vma->vm_mm);
	return old;
}

/* What goes is a table, and the pages that it maps. */
pmd_t pmdp_collapse_flush(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp)
{
	pmd_t old = pmdp_get(pmdp);

	pmd_clear(pmdp);
	serialize_against_collapse(vma->vm_mm);
	radix__flush_tlb_collapsed_pmd(vma->vm_mm, addr);
	return old;
}
