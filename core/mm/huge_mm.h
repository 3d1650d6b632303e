/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transparent huge pages: a PMD entry that is a leaf and maps 2 MiB.
 *
 * Who changes what. A PMD entry that is a leaf, or none, is changed under pmd_lockptr()
 * with the mmap_lock (or the VMA's) held in any mode. Under that, with the lock held for
 * reading only:
 *
 *	none  -> leaf	a fault			leaf -> none	zap
 *	none  -> table	a fault			leaf -> table	split
 *	leaf  -> leaf	rights
 *
 * A table never turns into something else before all readers are out: only collapse
 * (khugepaged.c), mremap and unmapping take one away, and they hold the mmap_lock for
 * writing, or nobody can find the VMA any more. So who has read a table from a PMD entry may
 * go on; who has read a leaf takes the lock and looks again: __pmd_trans_huge_lock().
 * The exception is mm.pt_reclaim, with which a zap makes it none: pgalloc.h.
 * Lockless walkers have rules of their own: gup.c.
 *
 * While a leaf changes rights or is split, its entry is invalid for hardware but neither none
 * nor a table for software (pmdp_invalidate()). If it were none for a moment, a
 * MADV_DONTNEED that looks without the lock would skip it.
 *
 * Deposited tables. A split must not fail for want of memory, so each huge page comes
 * with a table, set aside in the PMD table until the page is split or zapped. It
 * counts in pgtables_bytes; no hardware has seen it, so it is freed at once.
 *
 * By default there is no huge page of zeroes (use_zero_page = 0): a read fault gets a huge page.
 * Else huge_zero.c has it; it has no place in the reverse map, and a write splits its entry.
 *
 * Only anonymous memory, only with MADV_HUGEPAGE (enabled = madvise), and only where a PMD
 * entry maps 2 MiB: not on arm64 with 64 KiB pages.
 */
#ifndef CORE_MM_HUGE_MM_H
#define CORE_MM_HUGE_MM_H

#include "mm/fault.h"
#include "mm/pgalloc.h"
#include "mm/vma.h"

/* A leaf has the bits of a page's entry. */
#define pmd_write(x) pte_write(pmd_pte(x))
#define pmd_dirty(x) pte_dirty(pmd_pte(x))
#define pmd_young(x) pte_young(pmd_pte(x))
#define pmd_protnone(x) pte_protnone(pmd_pte(x))
#define pmd_mkwrite(x) pte_pmd(pte_mkwrite(pmd_pte(x)))
#define pmd_mkdirty(x) pte_pmd(pte_mkdirty(pmd_pte(x)))
#define pmd_mkclean(x) pte_pmd(pte_mkclean(pmd_pte(x)))
#define pmd_mkyoung(x) pte_pmd(pte_mkyoung(pmd_pte(x)))
#define pmd_mkold(x) pte_pmd(pte_mkold(pmd_pte(x)))
#define pmd_wrprotect(x) pte_pmd(pte_wrprotect(pmd_pte(x)))
#define pmd_same(a, b) (pmd_val(a) == pmd_val(b))
#define pmd_trans_huge(x) pmd_leaf(x)
#define mk_huge_pmd(page, prot) pfn_pmd(page_to_pfn(page), prot)

/* May the 2 MiB around addr be a huge page of vma? */
static inline bool thp_suitable(const struct vm_area_struct *vma, u64 addr)
{
	u64 haddr = addr & HPAGE_PMD_MASK;

	return (vma->vm_flags & VM_HUGEPAGE) && vma_is_anonymous(vma) &&
	       has_transparent_hugepage() && haddr >= vma->vm_start &&
	       haddr + HPAGE_PMD_SIZE <= vma->vm_end;
}

/* The lock, if it is (still) a huge page; else NULL and nothing is held. */
spinlock_t *__pmd_trans_huge_lock(pmd_t *pmdp, struct vm_area_struct *vma);

/* Under the PMD table's lock. */
void pgtable_trans_huge_deposit(pmd_t *pmdp, pgtable_t pgtable);
pgtable_t pgtable_trans_huge_withdraw(pmd_t *pmdp);

/* The PMD entry was none. FAULT_FALLBACK: try base pages. */
enum fault_result do_huge_pmd_anonymous_page(struct vm_fault *vmf);
/* It was the leaf vmf->orig_pmd. FAULT_FALLBACK: it is a table now, or soon. */
enum fault_result do_huge_pmd_present(struct vm_fault *vmf);

/* Zap all of it. False: it is none, or a table now. */
bool zap_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
		  u64 addr);
/* Map the same page by PTEs; nothing if it is no huge page any more. */
void split_huge_pmd(struct vm_area_struct *vma, pmd_t *pmdp, u64 addr);

/* Of mm.mprotect_write. An entry that gets no right to write waits for a write fault. */
enum { MPROTECT_WRITE_NONE, MPROTECT_WRITE_PTE, MPROTECT_WRITE_ALL };

/*
 * Give all of it the rights newprot. Returns
 *	0		it is a table or none by now: the caller looks again,
 *	1		it is a huge page and stays as it is (marked already): the caller goes on behind it
 *			(to take that for 0 would be to read its memory as a table),
 *	HPAGE_PMD_NR	so many pages were changed.
 */
u32 change_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmdp,
		    u64 addr, pgprot_t newprot, u32 cp_flags);

/*
 * fork: map it copy-on-write in both. 0; -ENOMEM; -EAGAIN: it is no huge page any
 * more, look at the PTEs.
 */
int copy_huge_pmd(struct mm_struct *dst_mm, pmd_t *dst_pmd, pmd_t *src_pmd, u64 addr,
		  struct vm_area_struct *src_vma);
/* mremap: false if it is no huge page any more. mmap_lock for writing. */
bool move_huge_pmd(struct vm_area_struct *vma, u64 old_addr, u64 new_addr,
		   pmd_t *old_pmd, pmd_t *new_pmd);

/* ---- huge_zero.c ---- */

enum { HUGE_ZERO_NONE, HUGE_ZERO_AT_ZAP, HUGE_ZERO_AFTER_FLUSH, HUGE_ZERO_MM };

static inline bool is_huge_zero_page(const struct page *page)
{
	return knob(mm_huge_zero_page) != HUGE_ZERO_NONE &&
	       page_to_pfn(page) == READ_ONCE(kernel()->huge_zero_pfn);
}

#define is_huge_zero_pmd(pmd) is_huge_zero_page(pfn_to_page(pmd_pfn(pmd)))

/* Not while a lock is held. False: no memory. */
bool get_huge_zero_page(void);
void put_huge_zero_page(void);
/* For one entry of mm; and the mm's own, at its end. */
bool mm_get_huge_zero_page(struct mm_struct *mm);
void mm_put_huge_zero_page(struct mm_struct *mm);
/* How many pages it freed. */
s64 shrink_huge_zero_page(void);
/* The shrinker wants no page any more (core_module.drain_all). */
void huge_zero_quiet(void);

/* khugepaged.c: MADV_COLLAPSE of [start, end). mmap_lock not held. 0 or -errno. */
s64 madvise_collapse(struct mm_struct *mm, u64 start, u64 end);

#endif
