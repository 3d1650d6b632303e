/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ioremap.h"
#include "tlbflush.h"

#include "mm/huge_mm.h"
#include "mm/mmap_lock.h"

KNOB_BOOL(x86_ioremap, "x86.ioremap", KNOB_POLICY, 0,
	  "address spaces share a table of the kernel's own mappings", "ioremap.h");
KNOB_BOOL(x86_pmd_free_flush, "x86.pmd_free_flush", KNOB_POLICY, 1,
	  "an empty table that makes way for a huge mapping of the kernel's is freed behind a flush",
	  "5e0fb5df2ee8 (4.19)");

const char *ioremap_boot(void)
{
	struct page *pud_table, *pmd_table;
	struct mm_struct nobody = { 0 };

	if (!knob(x86_ioremap))
		return NULL;
	pud_table = alloc_table_page(&nobody);
	pmd_table = alloc_table_page(&nobody);
	if (!pud_table || !pmd_table)
		return "not enough memory for the kernel's tables";
	set_pud((pud_t *)page_to_virt(pud_table) + (VMALLOC_START >> PUD_SHIFT) %
						kernel()->geo.ptrs_per_pud,
		__pud(__table_entry(pmd_table)));
	kernel()->arch.vmalloc_pfn = page_to_pfn(pud_table);
	return NULL;
}

/* ---- making ---- */

static s64 vmap_page(u64 addr)
{
	struct mm_struct *mm = kernel()->init_mm;
	pmd_t *pmdp = pmd_alloc_path(mm, addr), pmd;
	struct page *page;
	pte_t *pte;

	if (!pmdp || pte_alloc(mm, pmdp))
		return -ENOMEM;
	pmd = pmdp_get(pmdp);
	if (pmd_trans_huge(pmd))
		return -EEXIST;
	pte = pte_offset_map(pmd, addr);
	if (!pte_none(ptep_get(pte)))
		return -EEXIST;
	page = alloc_user_page(0);
	if (!page)
		return -ENOMEM;
	smp_wmb();
	set_pte_at(mm, addr, pte, pfn_pte(page_to_pfn(page), PAGE_KERNEL));
	return 0;
}

/*
 * The table's entries are gone, and were flushed. But it was there for walkers until now:
 *
 *	CPU 0				CPU 1
 *					speculates: PMD -> table is in its walk cache
 *	clears the PMD
 *	frees the table
 *					walks on in it: somebody else's memory
 *
 * One INVLPG drops all of a CPU's walk cache (SDM 4.10.4.1), whatever the address.
 */
static s64 pmd_free_pte_page(pmd_t *pmdp, u64 addr, bool flush)
{
	struct mm_struct *mm = kernel()->init_mm;
	struct page *table = pmd_page(pmdp_get(pmdp));

	if (mach_scan_zero(page_to_virt(table), kernel()->geo.ptrs_per_pte) !=
	    kernel()->geo.ptrs_per_pte)
		return -EEXIST;
	pmd_clear(pmdp);
	if (flush)
		flush_tlb_kernel_range(addr, addr + PAGE_SIZE);
	mm_dec_nr_tables(mm);
	free_table_page(table);
	return 0;
}

static s64 vmap_huge(u64 addr)
{
	pmd_t *pmdp = pmd_alloc_path(kernel()->init_mm, addr), pmd;
	struct page *page;
	s64 err = 0;

	if (!pmdp)
		return -ENOMEM;
	pmd = pmdp_get(pmdp);
	if (!pmd_none(pmd) && pmd_trans_huge(pmd))
		return -EEXIST;
	page = alloc_huge_page(true, MACH_NODE_LOCAL);
	if (!page)
		return -ENOMEM;
	if (!pmd_none(pmd))
		err = pmd_free_pte_page(pmdp, addr, knob(x86_pmd_free_flush));
	if (err) {
		put_page(page);
		return err;
	}
	smp_wmb();
	set_pmd(pmdp, pfn_pmd(page_to_pfn(page), PAGE_KERNEL));
	return 0;
}

static bool in_area(u64 off, u64 len)
{
	return knob(x86_ioremap) && len && !((off | len) & ~PAGE_MASK) && off < PUD_SIZE &&
	       len <= PUD_SIZE - off;
}

s64 ioremap(u64 off, u64 len)
{
	struct mm_struct *mm = kernel()->init_mm;
	s64 err = 0;

	if (!in_area(off, len))
		return -EINVAL;
	mmap_write_lock(mm);
	for (u64 end = off + len; off < end && !err;) {
		bool huge = !(off & ~PMD_MASK) && end - off >= PMD_SIZE;

		err = huge ? vmap_huge(VMALLOC_START + off) : vmap_page(VMALLOC_START + off);
		off += huge ? PMD_SIZE : PAGE_SIZE;
	}
	mmap_write_unlock(mm);
	return err;
}

/* ---- unmaking ---- */

/* What is mapped there goes to the list; returns where the next look is due. */
static u64 vunmap_one(u64 addr, struct list_head *pages)
{
	pmd_t *pmdp = mm_find_pmd(kernel()->init_mm, addr), pmd;
	struct page *page;
	pte_t *pte, old;

	pmd = pmdp ? pmdp_get(pmdp) : __pmd(0);
	if (pmd_none(pmd))
		return (addr & PMD_MASK) + PMD_SIZE;
	if (pmd_trans_huge(pmd)) {
		page = pfn_to_page(pmd_pfn(pmd));
		pmd_clear(pmdp);
		list_add_tail(&page->lru, pages);
		return (addr & PMD_MASK) + PMD_SIZE;
	}
	pte = pte_offset_map(pmd, addr);
	old = ptep_get(pte);
	if (!pte_none(old)) {
		page = pfn_to_page(pte_pfn(old));
		pte_clear(kernel()->init_mm, addr, pte);
		list_add_tail(&page->lru, pages);
	}
	return addr + PAGE_SIZE;
}

s64 iounmap(u64 off, u64 len)
{
	struct mm_struct *mm = kernel()->init_mm;
	struct list_head pages;
	u64 start = VMALLOC_START + off, end = start + len;

	if (!in_area(off, len))
		return -EINVAL;
	INIT_LIST_HEAD(&pages);
	mmap_write_lock(mm);
	for (u64 addr = start; addr < end;)
		addr = vunmap_one(addr, &pages);
	flush_tlb_kernel_range(start, end);
	mmap_write_unlock(mm);
	while (!list_empty(&pages)) {
		struct page *page = list_first_entry(&pages, struct page, lru);

		list_del(&page->lru);
		put_page(page);
	}
	return 0;
}

void ioremap_quiet(void)
{
	struct mm_struct *mm = kernel()->init_mm;
	pmd_t *pmdp = mm_find_pmd(mm, VMALLOC_START);

	for (u32 i = 0; i < kernel()->geo.ptrs_per_pmd; i++) {
		pmd_t pmd = pmdp_get(&pmdp[i]);

		if (!pmd_none(pmd) && !pmd_trans_huge(pmd))
			(void)pmd_free_pte_page(&pmdp[i], VMALLOC_START + i * PMD_SIZE, true);
	}
}
