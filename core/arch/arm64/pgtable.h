/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64 page tables, VMSAv8-64 stage 1, 48-bit addresses:
 *	4 KiB pages	four levels (0-3) of 512 entries, 2 MiB blocks at level 2
 *	64 KiB pages	three levels (1-3): 64, 8192, 8192 entries, 512 MiB blocks
 * Linux's names: PTE is level 3, PMD 2, PUD 1, P4D and PGD 0; folded from above.
 *
 * A descriptor of a page (Arm ARM D8.3):
 *
 *	 63 62  59 58  56 55  54 53 52 51  50 49 48 47        12 11 10 9 8 7 6 5 4  2 1 0
 *	+--+------+------+---+--+--+--+---+--+-----+------------+--+--+---+---+-+----+-+-+
 *	|  |      | sw   |sw |UX|PX|Co|DBM|  |     | address    |nG|AF|SH |AP | |Attr|T|V|
 *	+--+------+------+---+--+--+--+---+--+-----+------------+--+--+---+---+-+----+-+-+
 *	V valid  T table (levels 0-2: 1 next table, 0 block; level 3: 1)
 *	AP 6: EL0 may access, 7: read-only  SH 3: inner shareable
 *	AF accessed  nG not global: tagged with the ASID  DBM dirty bit management
 *	sw 55: PTE_DIRTY, 56: special
 *
 * Dirty. Writable is DBM (PTE_WRITE); "writable and clean" is DBM with read-only
 * set. The first write then either clears read-only in hardware (FEAT_HAFDBS, the
 * knob arm64.hafdbs) or faults, and the kernel does it. So dirty is: PTE_DIRTY, or
 * PTE_WRITE without PTE_RDONLY. Hardware sets AF and clears RDONLY with its own
 * atomic update at any time; an entry that may be live is changed by xchg or
 * cmpxchg only.
 *
 * Neither V = 0 nor AF = 0 is ever cached. PROT_NONE is V = 0 with nG set: present
 * for the kernel, not for hardware.
 *
 * Break before make: a live entry's output address or size is changed only via
 * invalid and TLBI. Permissions and software bits may change in place.
 *
 * Locks: entries are changed under the page-table lock of their table; reads
 * are lockless. All are shared words.
 */
#ifndef CORE_ARCH_ARM64_PGTABLE_H
#define CORE_ARCH_ARM64_PGTABLE_H

#include "mm/mm_types.h"

#define PTE_VALID	BIT(0)
#define PTE_TABLE_BIT	BIT(1)
#define PTE_TYPE_PAGE	(PTE_VALID | PTE_TABLE_BIT)
#define PTE_USER	BIT(6)
#define PTE_RDONLY	BIT(7)
#define PTE_SHARED	(BIT(8) | BIT(9))
#define PTE_AF		BIT(10)
#define PTE_NG		BIT(11)
#define PTE_DBM		BIT(51)
#define PTE_WRITE	PTE_DBM
#define PTE_PXN		BIT(53)
#define PTE_UXN		BIT(54)
#define PTE_DIRTY	BIT(55)
#define PTE_SPECIAL	BIT(56)
#define PTE_PRESENT_INVALID PTE_NG	/* when not valid */
#define PTE_ATTRINDX_MASK GENMASK(4, 2)	/* 0: normal memory */
#define PTE_ADDR_MASK	(GENMASK(47, 12) & PAGE_MASK)

/* A table descriptor of user space: what lies below is never executed by EL1. */
#define PMD_TYPE_TABLE	(PTE_VALID | PTE_TABLE_BIT)
#define PMD_TABLE_PXN	BIT(59)

#define _PAGE_DEFAULT	(PTE_TYPE_PAGE | PTE_AF | PTE_SHARED)
#define _PAGE_READONLY_EXEC (_PAGE_DEFAULT | PTE_USER | PTE_RDONLY | PTE_NG | PTE_PXN)
#define _PAGE_NONE	((_PAGE_DEFAULT & ~PTE_VALID) | PTE_PRESENT_INVALID |   \
			 PTE_RDONLY | PTE_PXN | PTE_UXN)

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

#define pte_none(x) (!pte_val(x))
#define pte_valid(x) (!!(pte_val(x) & PTE_VALID))
#define pte_present_invalid(x)                                                  \
	((pte_val(x) & (PTE_VALID | PTE_PRESENT_INVALID)) == PTE_PRESENT_INVALID)
#define pte_present(x) (pte_valid(x) || pte_present_invalid(x))
#define pte_protnone(x)                                                         \
	(pte_present_invalid(x) && !(pte_val(x) & PTE_USER) && (pte_val(x) & PTE_UXN))
#define pte_write(x) (!!(pte_val(x) & PTE_WRITE))
#define pte_rdonly(x) (!!(pte_val(x) & PTE_RDONLY))
#define pte_young(x) (!!(pte_val(x) & PTE_AF))
#define pte_hw_dirty(x) (pte_write(x) && !pte_rdonly(x))
#define pte_sw_dirty(x) (!!(pte_val(x) & PTE_DIRTY))
#define pte_dirty(x) (pte_sw_dirty(x) || pte_hw_dirty(x))
#define pte_pfn(x) ((pte_val(x) & PTE_ADDR_MASK) >> PAGE_SHIFT)
#define pte_same(a, b) (pte_val(a) == pte_val(b))
#define pfn_pte(pfn, prot) __pte(((u64)(pfn) << PAGE_SHIFT) | pgprot_val(prot))
#define mk_pte(page, prot) pfn_pte(page_to_pfn(page), prot)
#define pte_mkyoung(x) __pte(pte_val(x) | PTE_AF)
#define pte_mkold(x) __pte(pte_val(x) & ~PTE_AF)
#define pte_mkclean(x) __pte((pte_val(x) & ~PTE_DIRTY) | PTE_RDONLY)

/* Writable; hardware may write at once if it is dirty already. */
static inline pte_t pte_mkwrite(pte_t pte)
{
	pte = __pte(pte_val(pte) | PTE_WRITE);
	return pte_sw_dirty(pte) ? __pte(pte_val(pte) & ~PTE_RDONLY) : pte;
}

static inline pte_t pte_mkdirty(pte_t pte)
{
	pte = __pte(pte_val(pte) | PTE_DIRTY);
	return pte_write(pte) ? __pte(pte_val(pte) & ~PTE_RDONLY) : pte;
}

/* Removing the right to write must not lose what hardware recorded as dirty. */
static inline pte_t pte_wrprotect(pte_t pte)
{
	if (pte_hw_dirty(pte))
		pte = __pte(pte_val(pte) | PTE_DIRTY);
	return __pte((pte_val(pte) & ~PTE_WRITE) | PTE_RDONLY);
}

static inline pte_t pte_modify(pte_t pte, pgprot_t newprot)
{
	const u64 mask = PTE_USER | PTE_PXN | PTE_UXN | PTE_RDONLY |
			 PTE_PRESENT_INVALID | PTE_VALID | PTE_WRITE |
			 PTE_ATTRINDX_MASK;

	if (pte_hw_dirty(pte))
		pte = __pte(pte_val(pte) | PTE_DIRTY);
	pte = __pte((pte_val(pte) & ~mask) | (pgprot_val(newprot) & mask));
	return pte_sw_dirty(pte) ? pte_mkdirty(pte) : pte;
}

/* In a mark (mm/numa.h), whose bits hardware does not see. */
#define pte_mk_savedwrite(x) pte_mkwrite(x)
#define pte_savedwrite(x) pte_write(x)

/* Neither valid nor PRESENT_INVALID: bits 0 and 11 are clear. mm/swapops.h. */
#define __swp_entry_to_pte(type, offset) __pte((u64)(offset) << 12 | (u64)(type) << 6)
#define __pte_swp_type(x) ((pte_val(x) >> 6) & 0x1f)
#define __pte_swp_offset(x) (pte_val(x) >> 12)

/*
 * Could a TLB hold it? Not valid is never cached; but an entry made PROT_NONE may
 * still be, as long as a gather that has to flush it is pending. The access
 * flag tells nothing: clearing it does not wait for its TLBI.
 */
static inline bool pte_accessible(struct mm_struct *mm, pte_t pte)
{
	if (pte_valid(pte))
		return true;
	return pte_present(pte) && knob(numa_flush_pending) && atomic_read(&mm->tlb_flush_pending);
}

/* ---- upper levels ----
 *
 * When a level is folded, its entries are those of the level below: tests and
 * clears at the level above it say "a table is there" and do nothing.
 */

#define __geo (kernel()->geo)
#define __table_page(val) pfn_to_page(((val) & PTE_ADDR_MASK) >> PAGE_SHIFT)
#define __table_entry(page)                                                     \
	((page_to_pfn(page) << PAGE_SHIFT) | PMD_TYPE_TABLE | PMD_TABLE_PXN)

#define pmd_none(x) (!pmd_val(x))
#define pmd_present(x) pte_present(__pte(pmd_val(x)))
#define pmd_leaf(x) (pmd_present(x) && !(pmd_val(x) & PTE_TABLE_BIT))
#define pmd_pfn(x) ((pmd_val(x) & PTE_ADDR_MASK & PMD_MASK) >> PAGE_SHIFT)
#define pmd_page(x) __table_page(pmd_val(x))
#define pud_none(x) (!pud_val(x))
#define pud_present(x) (!!(pud_val(x) & PTE_VALID))
#define pud_page(x) __table_page(pud_val(x))
#define p4d_none(x) (!__geo.pud_folded && !p4d_val(x))
#define p4d_present(x) (__geo.pud_folded || (p4d_val(x) & PTE_VALID))
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
 * No barrier for a user entry: a walker that misses it faults, and the exception
 * synchronises.
 */
#define set_pte(p, v) WRITE_ONCE((p)->pte, pte_val(v))
#define set_pte_at(mm, addr, p, v) ((void)(mm), (void)(addr), set_pte(p, v))
#define pte_clear(mm, addr, p) set_pte_at(mm, addr, p, __pte(0))

/* A new table is made visible to every walker before we go on. */
void sync_table_entry(u64 val);
#define set_pmd(p, v) (WRITE_ONCE((p)->pmd, pmd_val(v)), sync_table_entry(pmd_val(v)))
#define set_pud(p, v) (WRITE_ONCE((p)->pud, pud_val(v)), sync_table_entry(pud_val(v)))
#define set_p4d(p, v) (WRITE_ONCE((p)->p4d, p4d_val(v)), sync_table_entry(p4d_val(v)))
#define pmd_clear(p) WRITE_ONCE((p)->pmd, 0)
#define pud_clear(p) WRITE_ONCE((p)->pud, 0)

static inline void p4d_clear(p4d_t *p4dp)
{
	if (!__geo.pud_folded)
		WRITE_ONCE(p4dp->p4d, 0);
}

#define pgd_clear(p) ((void)(p))

/*
 * Hook a table in. The caller has ordered the table's contents before
 * (smp_wmb(), as in pmd_install()), and holds the lock of the upper table.
 */
#define pmd_populate(mm, p, page) ((void)(mm), set_pmd(p, __pmd(__table_entry(page))))
#define pud_populate(mm, p, page) ((void)(mm), set_pud(p, __pud(__table_entry(page))))
#define p4d_populate(mm, p, page) ((void)(mm), set_p4d(p, __p4d(__table_entry(page))))
#define pgd_populate(mm, p, page) ((void)(mm), (void)(p), (void)(page))

/*
 * Takes the entry: what is returned has every AF and dirty update of hardware.
 * Relaxed: the flush that follows orders it (DSB ISHST).
 */
#define ptep_get_and_clear(mm, addr, p)                                         \
	((void)(mm), (void)(addr),                                              \
	 __pte(mach_rmw(&(p)->pte, MACH_XCHG, 0, 0, MACH_RELAXED)))
#define ptep_get_and_clear_full(mm, addr, p, full)                              \
	((void)(full), ptep_get_and_clear(mm, addr, p))

/*
 * Widen the rights of a live entry, or set AF or dirty. Returns whether entry
 * differs. dirty: a write faulted, so a read-only translation may be cached here
 * or anywhere, and is flushed.
 */
bool ptep_set_access_flags(struct vm_area_struct *vma, u64 addr, pte_t *ptep,
			   pte_t entry, bool dirty);
void ptep_set_wrprotect(struct mm_struct *mm, u64 addr, pte_t *ptep);

/* Between start and commit the entry is none, so hardware cannot touch it. */
#define ptep_modify_prot_start(vma, addr, p)                                    \
	ptep_get_and_clear((vma)->vm_mm, addr, p)
#define ptep_modify_prot_commit(vma, addr, p, old, new)                         \
	((void)(old), set_pte_at((vma)->vm_mm, addr, p, new))

/* ---- huge pages: a block at level 2, 2 MiB; with 64 KiB pages that level has
 * 512 MiB, and there are none here ----
 */

#define pmd_pte(x) __pte(pmd_val(x))
#define pte_pmd(x) __pmd(pte_val(x))
#define pmdp_ptep(p) ((pte_t *)(p))
#define has_transparent_hugepage() (__geo.page_shift == 12)
#define pfn_pmd(pfn, prot) pmd_mkhuge(pte_pmd(pfn_pte(pfn, prot)))
#define pmd_mkhuge(x) __pmd(pmd_val(x) & ~PTE_TABLE_BIT)
#define pmd_mkinvalid(x)                                                        \
	__pmd((pmd_val(x) | PTE_PRESENT_INVALID) & ~PTE_VALID)
#define pmd_modify(x, newprot) pte_pmd(pte_modify(pmd_pte(x), newprot))
/* A leaf; no barrier, as for a page. */
#define set_pmd_at(mm, addr, p, v)                                              \
	((void)(mm), (void)(addr), WRITE_ONCE((p)->pmd, pmd_val(v)))

#define pmdp_establish(vma, addr, p, v)                                         \
	((void)(vma), (void)(addr),                                             \
	 __pmd(mach_rmw(&(p)->pmd, MACH_XCHG, pmd_val(v), 0, MACH_RELAXED)))
#define pmdp_huge_get_and_clear(mm, addr, p)                                    \
	((void)(mm), (void)(addr),                                              \
	 __pmd(mach_rmw(&(p)->pmd, MACH_XCHG, 0, 0, MACH_RELAXED)))
#define pmdp_huge_get_and_clear_full(vma, addr, p, full)                        \
	((void)(full), pmdp_huge_get_and_clear((vma)->vm_mm, addr, p))
pmd_t pmdp_invalidate(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp);
/* An entry goes back in at another size or right only after its invalidation. */
#define pmdp_invalidate_ad(vma, addr, p) pmdp_invalidate(vma, addr, p)
#define pmdp_set_access_flags(vma, addr, p, entry, dirty)                       \
	ptep_set_access_flags(vma, addr, pmdp_ptep(p), pmd_pte(entry), dirty)
#define pmdp_set_wrprotect(mm, addr, p) ptep_set_wrprotect(mm, addr, pmdp_ptep(p))
pmd_t pmdp_collapse_flush(struct vm_area_struct *vma, u64 addr, pmd_t *pmdp);

/* ---- lockless walkers: interrupts off hold up RCU, and so the freeing of tables,
 * and IPIs; TLBIs they do not ----
 */

#define begin_lockless_pgtbl_walk(mm, flags) ((void)(mm), local_irq_save(flags))
#define end_lockless_pgtbl_walk(mm, flags) ((void)(mm), local_irq_restore(flags))
#define begin_pte_lookup(mm) ((void)(mm))
#define end_pte_lookup(mm) ((void)(mm))
/* flush_tlb_range() drops walk caches, so a table may be moved as a whole. */
#define arch_supports_page_table_move() true

/* ptep_set_access_flags() has flushed what could fault spuriously. */
#define flush_tlb_fix_spurious_fault(vma, addr, p) ((void)(vma), (void)(addr), (void)(p))
#define update_mmu_cache(vma, addr, p) ((void)(vma), (void)(addr), (void)(p))
/* Whether an entry with AF clear costs no fault. */
#define arch_has_hw_pte_young() (!!knob(arm64_hafdbs))

/* No PT_RECLAIM up to 6.18. */
#define ARCH_SUPPORTS_PT_RECLAIM 0

#endif
