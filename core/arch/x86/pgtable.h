/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 page tables: four levels of 512 entries, 4 KiB pages, 2 MiB leaves.
 *
 * An entry (SDM vol. 3A, 4.5):
 *
 *	 63 62  59 58    52 51                    12 11   9 8 7 6 5 4 3 2 1 0
 *	+--+------+--------+------------------------+------+-+-+-+-+-+-+-+-+-+
 *	|XD| PK   | ignored| frame address, 51:12   | sw   |G|S|D|A|C|W|U|R|P|
 *	+--+------+--------+------------------------+------+-+-+-+-+-+-+-+-+-+
 *	P present  R writable  U user  W write-through  C cache-disable
 *	A accessed  D dirty (leaves)  S page size (1 in a PMD: 2 MiB leaf)  G global
 *
 * A and D are set by hardware, with an atomic read-modify-write of the entry, at
 * any moment while P is set. Hence an entry that may be live is changed only
 * by xchg or cmpxchg, or not at all; a plain load and store would lose a D bit,
 * and with it a user's write.
 *
 * An entry with P clear is never cached. PROT_NONE is P clear and bit 8 set: the
 * kernel calls that present, the hardware does not.
 *
 * Locks: entries are changed under the page-table lock of their table; reads
 * are lockless. All are shared words.
 *
 * PTI: with x86.pti each PGD is a pair of pages, the kernel's at the even frame and
 * the one for user mode behind it. set_p4d() keeps the second a copy of
 * the first (the P4D level is folded, so a P4D entry is a PGD entry).
 */
#ifndef CORE_ARCH_X86_PGTABLE_H
#define CORE_ARCH_X86_PGTABLE_H

#include "mm/mm_types.h"

#define _PAGE_PRESENT	BIT(0)
#define _PAGE_RW	BIT(1)
#define _PAGE_USER	BIT(2)
#define _PAGE_PWT	BIT(3)
#define _PAGE_PCD	BIT(4)
#define _PAGE_ACCESSED	BIT(5)
#define _PAGE_DIRTY	BIT(6)
#define _PAGE_PSE	BIT(7)
#define _PAGE_GLOBAL	BIT(8)
#define _PAGE_PROTNONE	BIT(8)	/* when not present */
#define _PAGE_NX	BIT(63)

#define PTE_PFN_MASK	GENMASK(51, 12)
#define PTE_FLAGS_MASK	(~PTE_PFN_MASK)
#define _PAGE_TABLE	(_PAGE_PRESENT | _PAGE_RW | _PAGE_USER |                \
			 _PAGE_ACCESSED | _PAGE_DIRTY)
/* What pte_modify() keeps of the old entry. */
#define _PAGE_CHG_MASK	(PTE_PFN_MASK | _PAGE_ACCESSED | _PAGE_DIRTY)

#define pte_val(x) ((x).pte)
#define pmd_val(x) ((x).pmd)
#define pud_val(x) ((x).pud)
#define p4d_val(x) ((x).p4d)
#define pgd_val(x) ((x).pgd)
#define pgprot_val(x) ((x).pgprot)
#define __pte(x) ((pte_t){ (x) })
#define __pmd(x) ((pmd_t){ (x) })
#define __pud(x) ((pud_t){ (x) })
#define __p4d(x) ((p4d_t){ (x) })
#define __pgd(x) ((pgd_t){ (x) })
#define __pgprot(x) ((pgprot_t){ (x) })

/* Fills geo from env->page_shift (12; arch_boot() refuses others). */
void arch_init_geometry(struct pt_geometry *geo);
/* Protection of a mapping; private writable ones start read-only. */
pgprot_t vm_get_page_prot(u64 vm_flags);

/* The kernel's own mappings: ioremap.h. */
#define ARCH_HAS_IOREMAP 1
#define VMALLOC_START 0xffffc90000000000UL
#define PAGE_KERNEL __pgprot(_PAGE_PRESENT | _PAGE_RW | _PAGE_ACCESSED | _PAGE_DIRTY | _PAGE_NX)
/* 0 or -ENOMEM; fills in mm->pgd and mm->pgd_pfn. The mm has no user yet. */
int pgd_alloc(struct mm_struct *mm);
/* No CPU has mm loaded, no table hangs from it. */
void pgd_free(struct mm_struct *mm);

/* ---- last level ---- */

#define pte_flags(x) (pte_val(x) & PTE_FLAGS_MASK)
#define pte_none(x) (!pte_val(x))
#define pte_present(x) (!!(pte_val(x) & (_PAGE_PRESENT | _PAGE_PROTNONE)))
#define pte_protnone(x)                                                         \
	((pte_val(x) & (_PAGE_PRESENT | _PAGE_PROTNONE)) == _PAGE_PROTNONE)
#define pte_write(x) (!!(pte_val(x) & _PAGE_RW))
#define pte_dirty(x) (!!(pte_val(x) & _PAGE_DIRTY))
#define pte_young(x) (!!(pte_val(x) & _PAGE_ACCESSED))
#define pte_pfn(x) ((pte_val(x) & PTE_PFN_MASK) >> 12)
#define pte_same(a, b) (pte_val(a) == pte_val(b))
#define pfn_pte(pfn, prot) __pte(((u64)(pfn) << 12) | pgprot_val(prot))
#define mk_pte(page, prot) pfn_pte(page_to_pfn(page), prot)
#define pte_mkwrite(x) __pte(pte_val(x) | _PAGE_RW)
#define pte_wrprotect(x) __pte(pte_val(x) & ~_PAGE_RW)
#define pte_mkdirty(x) __pte(pte_val(x) | _PAGE_DIRTY)
#define pte_mkclean(x) __pte(pte_val(x) & ~_PAGE_DIRTY)
#define pte_mkyoung(x) __pte(pte_val(x) | _PAGE_ACCESSED)
#define pte_mkold(x) __pte(pte_val(x) & ~_PAGE_ACCESSED)

static inline pte_t pte_modify(pte_t pte, pgprot_t newprot)
{
	return __pte((pte_val(pte) & _PAGE_CHG_MASK) |
		     (pgprot_val(newprot) & ~_PAGE_CHG_MASK));
}

/* In a mark (mm/numa.h), whose bits hardware does not see. */
#define pte_mk_savedwrite(x) pte_mkwrite(x)
#define pte_savedwrite(x) pte_write(x)

/* Neither present nor PROT_NONE: bits 0 and 8 are clear. mm/swapops.h. */
#define __swp_entry_to_pte(type, offset) __pte((u64)(offset) << 14 | (u64)(type) << 9)
#define __pte_swp_type(x) ((pte_val(x) >> 9) & 0x1f)
#define __pte_swp_offset(x) (pte_val(x) >> 14)

/*
 * Could a TLB hold it? Not present is never cached; but an entry made
 * PROT_NONE may still be, as long as a gather that has to flush it is pending.
 */
static inline bool pte_accessible(struct mm_struct *mm, pte_t pte)
{
	if (pte_val(pte) & _PAGE_PRESENT)
		return true;
	return pte_protnone(pte) && knob(numa_flush_pending) &&
	       atomic_read(&mm->tlb_flush_pending);
}

/* ---- upper levels ----
 *
 * The P4D level is folded: the PGD's test and clear functions say "a table is
 * there" and do nothing, and the P4D's work on the same word.
 */

#define __table_page(val) pfn_to_page(((val) & PTE_PFN_MASK) >> 12)
#define __table_entry(page) ((page_to_pfn(page) << 12) | _PAGE_TABLE)

#define pmd_none(x) (!pmd_val(x))
#define pmd_present(x)                                                          \
	(!!(pmd_val(x) & (_PAGE_PRESENT | _PAGE_PROTNONE | _PAGE_PSE)))
#define pmd_leaf(x) (!!(pmd_val(x) & _PAGE_PSE))
#define pmd_pfn(x) ((pmd_val(x) & PTE_PFN_MASK & PMD_MASK) >> 12)
#define pmd_page(x) __table_page(pmd_val(x))
#define pud_none(x) (!pud_val(x))
#define pud_present(x) (!!(pud_val(x) & _PAGE_PRESENT))
#define pud_page(x) __table_page(pud_val(x))
#define p4d_none(x) (!p4d_val(x))
#define p4d_present(x) (!!(p4d_val(x) & _PAGE_PRESENT))
#define p4d_page(x) __table_page(p4d_val(x))
#define pgd_none(x) ((void)(x), false)
#define pgd_present(x) ((void)(x), true)
#define pgd_page(x) __table_page(pgd_val(x))

/* ---- access ---- */

#define ptep_get(p) __pte(READ_ONCE((p)->pte))
#define pmdp_get(p) __pmd(READ_ONCE((p)->pmd))
#define pudp_get(p) __pud(READ_ONCE((p)->pud))
#define p4dp_get(p) __p4d(READ_ONCE((p)->p4d))
#define pgdp_get(p) __pgd(READ_ONCE((p)->pgd))

#define set_pte(p, v) WRITE_ONCE((p)->pte, pte_val(v))
#define set_pte_at(mm, addr, p, v) ((void)(mm), (void)(addr), set_pte(p, v))
#define pte_clear(mm, addr, p) set_pte_at(mm, addr, p, __pte(0))
#define set_pmd(p, v) WRITE_ONCE((p)->pmd, pmd_val(v))
#define set_pud(p, v) WRITE_ONCE((p)->pud, pud_val(v))
void set_p4d(p4d_t *p4dp, p4d_t p4d);
#define pmd_clear(p) set_pmd(p, __pmd(0))
#define pud_clear(p) set_pud(p, __pud(0))
#define p4d_clear(p) set_p4d(p, __p4d(0))
#define pgd_clear(p) ((void)(p))

/*
 * Hook a table in. The caller has ordered the table's contents before
 * (smp_wmb(), as in pmd_install()), and holds the lock of the upper table.
 */
#define pmd_populate(mm, p, page) ((void)(mm), set_pmd(p, __pmd(__table_entry(page))))
#define pud_populate(mm, p, page) ((void)(mm), set_pud(p, __pud(__table_entry(page))))
#define p4d_populate(mm, p, page) ((void)(mm), set_p4d(p, __p4d(__table_entry(page))))
#define pgd_populate(mm, p, page) ((void)(mm), (void)(p), (void)(page))

/* Takes the entry: what is returned has every A and D bit that was ever set. */
#define ptep_get_and_clear(mm, addr, p)                                         \
	((void)(mm), (void)(addr), __pte(xchg(&(p)->pte, 0)))

/* full: no CPU can be using the mm, so no A or D bit can come in between. */
static inline pte_t ptep_get_and_clear_full(struct mm_struct *mm, u64 addr,
					    pte_t *ptep, bool full)
{
	pte_t pte;

	if (!full)
		return ptep_get_and_clear(mm, addr, ptep);
	pte = ptep_get(ptep);
	pte_clear(mm, addr, ptep);
	return pte;
}

/*
 * Widen the rights of a live entry, or set A or D. Returns whether entry differs.
 * No flush: a CPU with the old right faults, and the fault drops the
 * translation (SDM 4.10.4.3). The store is plain: entry has A, and D if dirty
 * is set, so a bit that hardware sets meanwhile is one that we set, too.
 */
bool ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
			   pte_t entry, bool dirty);
void ptep_set_wrprotect(struct mm_struct *mm, u64 addr, pte_t *ptep);

/* Between start and commit the entry is none, so hardware cannot touch it. */
#define ptep_modify_prot_start(vma, addr, p)                                    \
	ptep_get_and_clear((vma)->vm_mm, addr, p)
#define ptep_modify_prot_commit(vma, addr, p, old, new)                         \
	((void)(old), set_pte_at((vma)->vm_mm, addr, p, new))

/* ---- huge pages: a PMD entry with PSE, which an entry in the middle of a change
 * keeps, so that it is neither none nor a table for anybody ----
 */

#define pmd_pte(x) __pte(pmd_val(x))
#define pte_pmd(x) __pmd(pte_val(x))
#define pmdp_ptep(p) ((pte_t *)(p))
#define has_transparent_hugepage() true
#define pfn_pmd(pfn, prot) pmd_mkhuge(pte_pmd(pfn_pte(pfn, prot)))
#define pmd_mkhuge(x) __pmd(pmd_val(x) | _PAGE_PSE)
#define pmd_mkinvalid(x) __pmd(pmd_val(x) & ~(_PAGE_PRESENT | _PAGE_PROTNONE))
#define pmd_modify(x, newprot)                                                  \
	__pmd(pte_val(pte_modify(pmd_pte(x), newprot)) | (pmd_val(x) & _PAGE_PSE))
#define set_pmd_at(mm, addr, p, v) ((void)(mm), (void)(addr), set_pmd(p, v))

#define pmdp_establish(vma, addr, p, v)                                         \
	((void)(vma), (void)(addr), __pmd(xchg(&(p)->pmd, pmd_val(v))))
#define pmdp_huge_get_and_clear(mm, addr, p)                                    \
	((void)(mm), (void)(addr), __pmd(xchg(&(p)->pmd, 0)))
#define pmdp_huge_get_and_clear_full(vma, addr, p, full)                        \
	((void)(full), pmdp_huge_get_and_clear((vma)->vm_mm, addr, p))
pmd_t pmdp_invalidate(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp);
/*
 * No flush: once the entry is not present, a CPU with a clean translation must walk to
 * set D, and faults; one with a dirty translation may go on writing, and D is in
 * what this returns.
 */
#define pmdp_invalidate_ad(vma, addr, p)                                        \
	pmdp_establish(vma, addr, p, pmd_mkinvalid(pmdp_get(p)))
#define pmdp_set_access_flags(vma, addr, p, entry, dirty)                       \
	ptep_set_access_flags(vma, addr, pmdp_ptep(p), pmd_pte(entry), dirty)
#define pmdp_set_wrprotect(mm, addr, p) ptep_set_wrprotect(mm, addr, pmdp_ptep(p))
pmd_t pmdp_collapse_flush(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp);

/* ---- lockless walkers: interrupts off are all it takes ---- */

#define begin_lockless_pgtbl_walk(mm, flags) ((void)(mm), local_irq_save(flags))
#define end_lockless_pgtbl_walk(mm, flags) ((void)(mm), local_irq_restore(flags))
#define begin_pte_lookup(mm) ((void)(mm))
#define end_pte_lookup(mm) ((void)(mm))
/* flush_tlb_range() drops walk caches, so a table may be moved as a whole. */
#define arch_supports_page_table_move() true

/* #PF has dropped the entry that caused it. */
#define flush_tlb_fix_spurious_fault(vma, addr, p) ((void)(vma), (void)(addr), (void)(p))
#define update_mmu_cache(vma, addr, p) ((void)(vma), (void)(addr), (void)(p))
#define arch_has_hw_pte_young() true

/* PT_RECLAIM may be configured (6.14). */
#define ARCH_SUPPORTS_PT_RECLAIM 1

#endif
