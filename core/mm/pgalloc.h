/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking page tables downwards, and hooking in tables on the way.
 *
 * The number of levels is known at boot only. A folded level has one entry,
 * which is the entry of the level above it: its _offset() returns the same
 * pointer, and it is never none, cleared or populated.
 *
 * Who holds what: a PTE is changed under pte_lockptr() of its table; a PMD
 * entry is populated under pmd_lockptr(); PUD, P4D and PGD entries under
 * mm->page_table_lock. Reading entries on the way needs the mmap_lock (or a VMA
 * lock), which keeps the tables from being freed (but see pt_reclaim_enabled()).
 */
#ifndef CORE_MM_PGALLOC_H
#define CORE_MM_PGALLOC_H

#include "mm/page.h"
#include "pgtable.h"

static inline pgd_t *pgd_offset(struct mm_struct *mm, u64 addr)
{
	const struct pt_geometry *geo = &kernel()->geo;

	return mm->pgd + ((addr >> geo->pgdir_shift) & (geo->ptrs_per_pgd - 1));
}

static inline p4d_t *p4d_offset(pgd_t *pgd, u64 addr)
{
	const struct pt_geometry *geo = &kernel()->geo;

	if (geo->p4d_folded)
		return (p4d_t *)pgd;
	return (p4d_t *)page_to_virt(pgd_page(pgdp_get(pgd))) +
	       ((addr >> geo->p4d_shift) & (geo->ptrs_per_p4d - 1));
}

static inline pud_t *pud_offset(p4d_t *p4d, u64 addr)
{
	const struct pt_geometry *geo = &kernel()->geo;

	if (geo->pud_folded)
		return (pud_t *)p4d;
	return (pud_t *)page_to_virt(p4d_page(p4dp_get(p4d))) +
	       ((addr >> geo->pud_shift) & (geo->ptrs_per_pud - 1));
}

static inline pmd_t *pmd_offset(pud_t *pud, u64 addr)
{
	const struct pt_geometry *geo = &kernel()->geo;

	if (geo->pmd_folded)
		return (pmd_t *)pud;
	return (pmd_t *)page_to_virt(pud_page(pudp_get(pud))) +
	       ((addr >> geo->pmd_shift) & (geo->ptrs_per_pmd - 1));
}

/* In the table that pmd leads to. */
static inline pte_t *pte_offset_map(pmd_t pmd, u64 addr)
{
	const struct pt_geometry *geo = &kernel()->geo;

	return (pte_t *)page_to_virt(pmd_page(pmd)) +
	       ((addr >> geo->page_shift) & (geo->ptrs_per_pte - 1));
}

static inline spinlock_t *pte_lockptr(pmd_t pmd)
{
	return &pmd_page(pmd)->ptl;
}

static inline spinlock_t *pmd_lockptr(struct mm_struct *mm, pmd_t *pmdp)
{
	return kernel()->geo.pmd_folded ? &mm->page_table_lock :
					  &virt_to_page(pmdp)->ptl;
}

/*
 * May a zap take away a table that it found empty, with the mmap_lock (or the VMA's) held for
 * reading only? Then a table that a PMD entry leads to is sure to stay only as long as
 * its lock is held and the entry was seen to lead to it under that lock.
 */
enum { PT_RECLAIM_OFF, PT_RECLAIM_X86, PT_RECLAIM_ALL };

static inline bool pt_reclaim_enabled(void)
{
	return knob(mm_pt_reclaim) == PT_RECLAIM_ALL ||
	       (knob(mm_pt_reclaim) == PT_RECLAIM_X86 && ARCH_SUPPORTS_PT_RECLAIM);
}

/*
 * Lock the table of addr, which *pmdp was seen to lead to (pmd), and find the entry. NULL, and
 * nothing is held: the table is gone, or a huge page has taken its place. Linux has
 * looked at the PMD entry again since 6.5; here that is done where tables may go.
 */
pte_t *pte_offset_map_recheck(pmd_t *pmdp, u64 addr, spinlock_t **ptl);

static inline pte_t *pte_offset_map_lock(pmd_t *pmdp, pmd_t pmd, u64 addr, spinlock_t **ptl)
{
	pte_t *pte;

	if (pt_reclaim_enabled())
		return pte_offset_map_recheck(pmdp, addr, ptl);
	pte = pte_offset_map(pmd, addr);
	*ptl = pte_lockptr(pmd);
	spin_lock(*ptl);
	return pte;
}

/* End of the span of one entry, or end if that comes first; may wrap to 0. */
static inline u64 addr_end(u64 addr, u64 end, u32 shift)
{
	u64 boundary = ((addr >> shift) + 1) << shift;

	return boundary - 1 < end - 1 ? boundary : end;
}

#define pgd_addr_end(addr, end) addr_end(addr, end, PGDIR_SHIFT)
#define p4d_addr_end(addr, end) addr_end(addr, end, P4D_SHIFT)
#define pud_addr_end(addr, end) addr_end(addr, end, PUD_SHIFT)
#define pmd_addr_end(addr, end) addr_end(addr, end, PMD_SHIFT)

/* Down to the PMD entry of addr, allocating tables; NULL: no memory. */
pmd_t *pmd_alloc_path(struct mm_struct *mm, u64 addr);
/* The same without allocating; NULL: a table on the way is not there. */
pmd_t *mm_find_pmd(struct mm_struct *mm, u64 addr);
/*
 * Sees to it that pmd is not none; another thread may have made it a huge page. 0 or
 * -ENOMEM.
 */
int pte_alloc(struct mm_struct *mm, pmd_t *pmdp);

static inline void mm_dec_nr_tables(struct mm_struct *mm)
{
	atomic_long_add(-(s64)PAGE_SIZE, &mm->pgtables_bytes);
}

/* Where others may look at the PMD entry meanwhile: its lock is held. */
static inline void pmd_clear_locked(struct mm_struct *mm, pmd_t *pmdp)
{
	lockdep_assert_held(pmd_lockptr(mm, pmdp));
	pmd_clear(pmdp);
}

static inline void pmd_populate_locked(struct mm_struct *mm, pmd_t *pmdp, pgtable_t table)
{
	lockdep_assert_held(pmd_lockptr(mm, pmdp));
	pmd_populate(mm, pmdp, table);
}

#endif
