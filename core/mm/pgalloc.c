/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/pgalloc.h"

/*
 * A table is allocated without a lock, and hooked in under one if nobody was
 * faster. It is all zero; the barrier keeps a walker on another CPU, which
 * follows the new pointer without a lock, from reading what was there before.
 */
#define ALLOC_TABLE(level, mm, lock, entryp, none, populate)                    \
	({                                                                      \
		struct page *table_ = alloc_table_page(mm);                     \
		if (table_) {                                                   \
			smp_wmb();                                              \
			spin_lock(lock);                                        \
			if (none(level##p_get(entryp))) {                       \
				populate(mm, entryp, table_);                   \
				table_ = NULL;                                  \
			}                                                       \
			spin_unlock(lock);                                      \
			if (table_) {                                           \
				mm_dec_nr_tables(mm);                           \
				free_table_page(table_);                        \
			}                                                       \
			table_ = (struct page *)1;                              \
		}                                                               \
		table_ != NULL;                                                 \
	})

static p4d_t *p4d_alloc(struct mm_struct *mm, pgd_t *pgd, u64 addr)
{
	if (!kernel()->geo.p4d_folded && pgd_none(pgdp_get(pgd)) &&
	    !ALLOC_TABLE(pgd, mm, &mm->page_table_lock, pgd, pgd_none,
			 pgd_populate))
		return NULL;
	return p4d_offset(pgd, addr);
}

static pud_t *pud_alloc(struct mm_struct *mm, p4d_t *p4d, u64 addr)
{
	if (!kernel()->geo.pud_folded && p4d_none(p4dp_get(p4d)) &&
	    !ALLOC_TABLE(p4d, mm, &mm->page_table_lock, p4d, p4d_none,
			 p4d_populate))
		return NULL;
	return pud_offset(p4d, addr);
}

static pmd_t *pmd_alloc(struct mm_struct *mm, pud_t *pud, u64 addr)
{
	if (!kernel()->geo.pmd_folded && pud_none(pudp_get(pud)) &&
	    !ALLOC_TABLE(pud, mm, &mm->page_table_lock, pud, pud_none,
			 pud_populate))
		return NULL;
	return pmd_offset(pud, addr);
}

pmd_t *pmd_alloc_path(struct mm_struct *mm, u64 addr)
{
	p4d_t *p4d = p4d_alloc(mm, pgd_offset(mm, addr), addr);
	pud_t *pud = p4d ? pud_alloc(mm, p4d, addr) : NULL;

	return pud ? pmd_alloc(mm, pud, addr) : NULL;
}

pmd_t *mm_find_pmd(struct mm_struct *mm, u64 addr)
{
	const struct pt_geometry *geo = &kernel()->geo;
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (!geo->p4d_folded && pgd_none(pgdp_get(pgd)))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (!geo->pud_folded && p4d_none(p4dp_get(p4d)))
		return NULL;
	pud = pud_offset(p4d, addr);
	if (!geo->pmd_folded && pud_none(pudp_get(pud)))
		return NULL;
	return pmd_offset(pud, addr);
}

int pte_alloc(struct mm_struct *mm, pmd_t *pmdp)
{
	if (pmd_none(pmdp_get(pmdp)) &&
	    !ALLOC_TABLE(pmd, mm, pmd_lockptr(mm, pmdp), pmdp, pmd_none,
			 pmd_populate))
		return -ENOMEM;
	return 0;
}
