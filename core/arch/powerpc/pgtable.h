/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER radix page tables (Power ISA v3.1B III 6.7.10), 52-bit addresses, four
 * levels whose tables differ in size:
 *
 *			PGD	PUD	PMD	PTE
 *	4 KiB pages	8192	512	512	512 entries
 *	64 KiB pages	8192	512	512	 32 entries
 *
 * A PMD entry may be a leaf of 2 MiB, a PUD entry of 1 GiB. P4D is folded. A
 * table takes whole frames here, however small (Linux packs 256 PTE tables of 256
 * bytes into one frame of 64 KiB). Hardware reads entries big-endian; here
 * they are in the byte order of the host, in the core and in the machine alike.
 *
 * A leaf, and the entry that leads to a table (bit numbers from the right):
 *
 *	 63 62 61 60  53 52            12 11 10 9   8  7  6  5 4  3  2  1  0
 *	+--+--+--+------+----------------+---------+--+--+--+----+--+--+--+--+
 *	|V |L |sw| 0    |  real page     | sw      |R |C | 0|att |P |r |w |x |
 *	+--+--+--+------+----------------+---------+--+--+--+----+--+--+--+--+
 *	|V |0 | 0|     next level's base, 59:8     | 0           | size, 4:0 |
 *	+--+--+--+---------------------------------+-------------+-----------+
 *	V valid (_PAGE_PRESENT)  L leaf (_PAGE_PTE)  size: log2 of its entries
 *	R referenced, C changed  P privileged  r read  w read and write  x execute
 *	sw 61: _PAGE_INVALID, 10: special
 *
 * Present for the kernel is V, or INVALID: an entry in the middle of a change
 * that hardware must not see. PROT_NONE is V without r, w, x: hardware finds a valid
 * entry, may cache it, and refuses. So an entry that is present may always be in a
 * TLB, whatever its rights.
 *
 * Hardware sets R and C by its own atomic update at any time, so a live entry is
 * changed by atomics only. It reads an entry again before it refuses an access
 * (6.10.1.2): adding rights, R or C needs no flush.
 *
 * Break before make, as on arm64: a live entry's real page or size is changed only
 * via invalid and tlbie.
 *
 * Locks: entries are changed under the page-table lock of their table; reads are
 * lockless. All are shared words.
 */
#ifndef CORE_ARCH_POWERPC_PGTABLE_H
#define CORE_ARCH_POWERPC_PGTABLE_H

#include "mm/mm_types.h"

#define _PAGE_EXEC	0x1UL
#define _PAGE_WRITE	0x2UL
#define _PAGE_READ	0x4UL
#define _PAGE_PRIVILEGED 0x8UL
#define _PAGE_DIRTY	0x80UL	/* C */
#define _PAGE_ACCESSED	0x100UL	/* R */
#define _PAGE_SPECIAL	0x400UL
#define _PAGE_INVALID	BIT(61)
#define _PAGE_PTE	BIT(62)
#define _PAGE_PRESENT	BIT(63)
#define _PAGE_RW	(_PAGE_READ | _PAGE_WRITE)
#define _PAGE_RWX	(_PAGE_RW | _PAGE_EXEC)
#define _PAGE_BASE	(_PAGE_PRESENT | _PAGE_ACCESSED)
#define PTE_RPN_MASK	(GENMASK(52, 12) & PAGE_MASK)
#define PTE_NONE_MASK	(_PAGE_DIRTY | _PAGE_ACCESSED)
/* What a change of protection keeps. */
#define _PAGE_CHG_MASK	(PTE_RPN_MASK | _PAGE_DIRTY | _PAGE_ACCESSED |          \
			 _PAGE_SPECIAL | _PAGE_PTE)
#define TABLE_BASE_MASK	GENMASK(59, 8)

/* log2 of the entries of a table; that of the last level depends on the page. */
#define RADIX_PGD_INDEX_SIZE 13
#define RADIX_PUD_INDEX_SIZE 9
#define RADIX_PMD_INDEX_SIZE 9
#define RADIX_PTE_INDEX_SIZE (PMD_SHIFT - PAGE_SHIFT)

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

/* Fills geo from env->page_shift (12 or 16; arch_boot() refuses others). */
void arch_init_geometry(struct pt_geometry *geo);
/* Protection of a mapping; private writable ones start read-only. */
pgprot_t vm_get_page_prot(u64 vm_flags);
/* 0 or -ENOMEM; fills in mm->pgd and mm->pgd_pfn. The mm has no user yet. */
int pgd_alloc(struct mm_struct *mm);
/* No CPU has mm loaded, no table hangs from it. */
void pgd_free(struct mm_struct *mm);

/* ---- last level ---- */

/* Hardware may still write R or C into an entry that was just emptied. */
#define pte_none(x) (!(pte_val(x) & ~PTE_NONE_MASK))
#define pte_hw_valid(x)                                                         \
	((pte_val(x) & (_PAGE_PRESENT | _PAGE_PTE)) == (_PAGE_PRESENT | _PAGE_PTE))
#define pte_present(x)                                                          \
	(pte_hw_valid(x) || (pte_val(x) & (_PAGE_INVALID | _PAGE_PTE)) ==       \
				    (_PAGE_INVALID | _PAGE_PTE))
#define pte_protnone(x)                                                         \
	((pte_val(x) & (_PAGE_PRESENT | _PAGE_PTE | _PAGE_RWX)) ==              \
	 (_PAGE_PRESENT | _PAGE_PTE))
#define pte_write(x) (!!(pte_val(x) & _PAGE_WRITE))
#define pte_dirty(x) (!!(pte_val(x) & _PAGE_DIRTY))
#define pte_young(x) (!!(pte_val(x) & _PAGE_ACCESSED))
#define pte_pfn(x) ((pte_val(x) & PTE_RPN_MASK) >> PAGE_SHIFT)
#define pte_same(a, b) (pte_val(a) == pte_val(b))
#define pfn_pte(pfn, prot)                                                      \
	__pte(((u64)(pfn) << PAGE_SHIFT) | pgprot_val(prot) | _PAGE_PTE)
#define mk_pte(page, prot) pfn_pte(page_to_pfn(page), prot)
#define pte_mkwrite(x) __pte(pte_val(x) | _PAGE_RW)
#define pte_wrprotect(x) __pte(pte_val(x) & ~_PAGE_WRITE)
#define pte_mkdirty(x) __pte(pte_val(x) | _PAGE_DIRTY)
#define pte_mkclean(x) __pte(pte_val(x) & ~_PAGE_DIRTY)
#define pte_mkyoung(x) __pte(pte_val(x) | _PAGE_ACCESSED)
#define pte_mkold(x) __pte(pte_val(x) & ~_PAGE_ACCESSED)

static inline pte_t pte_modify(pte_t pte, pgprot_t newprot)
{
	return __pte((pte_val(pte) & _PAGE_CHG_MASK) | pgprot_val(newprot));
}

/*
 * In a mark (mm/numa.h). The write bit itself would be a right for hardware; without any,
 * that the page is privileged says nothing to it.
 */
#define pte_mk_savedwrite(x) __pte(pte_val(x) | _PAGE_PRIVILEGED)
#define pte_savedwrite(x) (!!(pte_val(x) & _PAGE_PRIVILEGED))

/* Neither valid nor INVALID. mm/swapops.h. */
#define __swp_entry_to_pte(type, offset)                                        \
	__pte(_PAGE_PTE | (u64)(offset) << 12 | (u64)(type))
#define __pte_swp_type(x) (pte_val(x) & 0x1f)
#define __pte_swp_offset(x) ((pte_val(x) & ~_PAGE_PTE) >> 12)

/* Valid entries without any right are cached, too. */
#define pte_accessible(mm, x) ((void)(mm), (void)(x), true)

/* ---- upper levels: P4D is folded ---- */

#define __table_page(val) pfn_to_page(((val) & TABLE_BASE_MASK) >> PAGE_SHIFT)
#define __table_entry(page, index_size)                                         \
	(_PAGE_PRESENT | (page_to_pfn(page) << PAGE_SHIFT) | (index_size))

#define pmd_none(x) (!pmd_val(x))
#define pmd_present(x)                                                          \
	(!!(pmd_val(x) & _PAGE_PRESENT) || pte_present(__pte(pmd_val(x))))
#define pmd_leaf(x) (!!(pmd_val(x) & _PAGE_PTE))
#define pmd_pfn(x) ((pmd_val(x) & PTE_RPN_MASK & PMD_MASK) >> PAGE_SHIFT)
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

/*
 * The architecture suggests ptesync after a new entry. Without it a walk may miss the
 * entry, and the fault that follows finds it there: rarer than the ptesync
 * is dear. Up to 4.17 Linux paid.
 */
#define set_pte_sync()                                                          \
	do {                                                                    \
		if (knob(powerpc_set_pte_ptesync))                              \
			mach_fence(MACH_PTESYNC);                               \
	} while (0)
#define set_pte(p, v) WRITE_ONCE((p)->pte, pte_val(v))
#define set_pte_at(mm, addr, p, v)                                              \
	({                                                                      \
		(void)(mm), (void)(addr);                                       \
		set_pte(p, v);                                                  \
		set_pte_sync();                                                 \
	})
#define pte_clear(mm, addr, p) ((void)ptep_get_and_clear(mm, addr, p))
#define set_pmd(p, v) WRITE_ONCE((p)->pmd, pmd_val(v))
#define set_pud(p, v) WRITE_ONCE((p)->pud, pud_val(v))
#define set_p4d(p, v) WRITE_ONCE((p)->p4d, p4d_val(v))
#define pmd_clear(p) set_pmd(p, __pmd(0))
#define pud_clear(p) set_pud(p, __pud(0))
#define p4d_clear(p) set_p4d(p, __p4d(0))
#define pgd_clear(p) ((void)(p))

/*
 * Hook a table in. The caller has ordered the table's contents before
 * (smp_wmb(), as in pmd_install()), and holds the lock of the upper table.
 */
#define pmd_populate(mm, p, page)                                               \
	((void)(mm), set_pmd(p, __pmd(__table_entry(page, RADIX_PTE_INDEX_SIZE))))
#define pud_populate(mm, p, page)                                               \
	((void)(mm), set_pud(p, __pud(__table_entry(page, RADIX_PMD_INDEX_SIZE))))
#define p4d_populate(mm, p, page)                                               \
	((void)(mm), set_p4d(p, __p4d(__table_entry(page, RADIX_PUD_INDEX_SIZE))))
#define pgd_populate(mm, p, page) ((void)(mm), (void)(p), (void)(page))

/*
 * Takes the entry: what is returned has every R and C that hardware set (ldarx,
 * stdcx.). Orders nothing: the ptesync of the flush does.
 */
#define ptep_get_and_clear(mm, addr, p)                                         \
	((void)(mm), (void)(addr),                                              \
	 __pte(mach_rmw(&(p)->pte, MACH_XCHG, 0, 0, MACH_RELAXED)))

/* full: no CPU can be using the mm, so no R or C can come in between. */
static inline pte_t ptep_get_and_clear_full(struct mm_struct *mm, u64 addr,
					    pte_t *ptep, bool full)
{
	pte_t pte;

	if (!full)
		return ptep_get_and_clear(mm, addr, ptep);
	pte = ptep_get(ptep);
	set_pte(ptep, __pte(0));
	return pte;
}

/*
 * Widen the rights of a live entry, or set R or C. Returns whether entry differs.
 * No flush but for the nest MMU of POWER9, which does not read an entry again.
 */
bool ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
			   pte_t entry, bool dirty);
#define ptep_set_wrprotect(mm, addr, p)                                         \
	((void)(mm), (void)(addr),                                              \
	 (void)mach_rmw(&(p)->pte, MACH_AND, ~_PAGE_WRITE, 0, MACH_RELAXED))

/*
 * Between start and commit hardware finds the entry invalid and leaves it alone; the
 * kernel finds it present.
 */
pte_t ptep_modify_prot_start(struct vm_area_struct *vma, u64 addr, pte_t *ptep);
void ptep_modify_prot_commit(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
			     pte_t old_pte, pte_t pte);

/* ---- huge pages: a PMD entry with _PAGE_PTE, the same bits as a page's ---- */

#define pmd_pte(x) __pte(pmd_val(x))
#define pte_pmd(x) __pmd(pte_val(x))
#define pmdp_ptep(p) ((pte_t *)(p))
#define has_transparent_hugepage() true
#define pfn_pmd(pfn, prot) pte_pmd(pfn_pte(pfn, prot))
#define pmd_modify(x, newprot) pte_pmd(pte_modify(pmd_pte(x), newprot))
/* Where nothing is, or an entry that hardware does not see. */
#define set_pmd_at(mm, addr, p, v) set_pte_at(mm, addr, pmdp_ptep(p), pmd_pte(v))

/*
 * Take the entry. Up to 5.7 both wait for the walkers that may have seen it
 * (pte_walk.h). _full, unless the mm is going, also flushes at once
 * (powerpc.pmd_zap_flush): a fault on another CPU may hook a table in here before the
 * gather gets to flush, and hardware must not have 2 MiB and base pages for one
 * address, nor must what stays in the ERAT outlive the new entry.
 */
pmd_t pmdp_huge_get_and_clear(struct mm_struct *mm, u64 addr, pmd_t *pmdp);
pmd_t pmdp_huge_get_and_clear_full(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp,
				   bool full);
pmd_t pmdp_invalidate(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp);
#define pmdp_invalidate_ad(vma, addr, p) pmdp_invalidate(vma, addr, p)
bool pmdp_set_access_flags(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp,
			   pmd_t entry, bool dirty);
#define pmdp_set_wrprotect(mm, addr, p) ptep_set_wrprotect(mm, addr, pmdp_ptep(p))
pmd_t pmdp_collapse_flush(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp);

/* ---- lockless walkers: pte_walk.h ---- */

void __begin_lockless_pgtbl_walk(struct mm_struct *mm);
void __end_lockless_pgtbl_walk(struct mm_struct *mm);
#define begin_lockless_pgtbl_walk(mm, flags)                                    \
	(local_irq_save(flags), __begin_lockless_pgtbl_walk(mm))
#define end_lockless_pgtbl_walk(mm, flags)                                      \
	(__end_lockless_pgtbl_walk(mm), local_irq_restore(flags))
void begin_pte_lookup(struct mm_struct *mm);
void end_pte_lookup(struct mm_struct *mm);
/* Needs flush_tlb_range() to drop walk caches; both came with 5.14. */
#define arch_supports_page_table_move() (knob(powerpc_range_pwc) == RANGE_PWC_PMD)

/* Hardware has read the entry again. */
#define flush_tlb_fix_spurious_fault(vma, addr, p) ((void)(vma), (void)(addr), (void)(p))
#define update_mmu_cache(vma, addr, p) ((void)(vma), (void)(addr), (void)(p))
#define arch_has_hw_pte_young() true

/* No PT_RECLAIM up to 6.18. */
#define ARCH_SUPPORTS_PT_RECLAIM 0

#endif
