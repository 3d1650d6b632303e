/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/lru.h"

#include "mm/numa.h"

#include "pgtable.h"

void page_init(struct kernel *k)
{
	struct page *zero;

	k->memmap = kzalloc(mach_env()->nr_frames * sizeof(struct page));
	if (has_transparent_hugepage())
		k->huge_map = kzalloc((mach_env()->nr_frames >> HPAGE_PMD_ORDER) + 1);
	k->zero_pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ZERO);
	BUG_ON(k->zero_pfn == MACH_NO_FRAME);
	zero = pfn_to_page(k->zero_pfn);
	atomic_set(&zero->_refcount, 1);
	atomic_set(&zero->_mapcount, -1);
}

/* Of a frame that was just allocated. */
static struct page *init_page(u64 pfn, u32 flags)
{
	struct page *page = pfn_to_page(pfn);

	page->mapping = NULL;
	page->private = 0;
	WRITE_ONCE(page->flags, flags);
	if (numa_balancing())
		WRITE_ONCE(page->cpupid, 0);
	atomic_set(&page->_mapcount, -1);
	atomic_set(&page->_refcount, 1);
	return page;
}

struct page *alloc_user_page(u32 flags)
{
	u64 pfn = mach_alloc_frames(0, policy_node(), MACH_GFP_ZERO);

	if (pfn == MACH_NO_FRAME)
		return NULL;
	mach_charge(PAGE_ALLOC, 1);
	mach_charge(ZERO_PAGE, 1);
	return init_page(pfn, flags);
}

struct page *alloc_page_to_copy(s32 node, u32 flags)
{
	/* A frame to copy to must be zero: machine.h. */
	u64 pfn = mach_alloc_frames(0, node, MACH_GFP_ZERO);

	if (pfn == MACH_NO_FRAME)
		return NULL;
	mach_charge(PAGE_ALLOC, 1);
	return init_page(pfn, flags);
}

struct page *copy_user_page(struct page *old)
{
	struct page *page = alloc_page_to_copy(MACH_NODE_LOCAL, PG_new_anon);

	if (!page)
		return NULL;
	mach_charge(COPY_PAGE, 1);
	mach_copy_frame(page_to_pfn(page), page_to_pfn(old));
	return page;
}

struct page *alloc_huge_page(bool zero, s32 node)
{
	u64 pfn = mach_alloc_frames(HPAGE_PMD_ORDER, node, MACH_GFP_ATOMIC | MACH_GFP_ZERO);

	if (pfn == MACH_NO_FRAME)
		return NULL;
	mach_charge(PAGE_ALLOC, 1);
	if (zero)
		mach_charge(ZERO_HUGE, 1);
	kernel()->huge_map[pfn >> HPAGE_PMD_ORDER] = 1;
	return init_page(pfn, PG_new_anon);
}

void __put_page(struct page *head)
{
	u64 pfn = page_to_pfn(head);
	u32 flags;

	if (PageHuge(head)) {
		mach_charge(PAGE_FREE, 1);
		kernel()->huge_map[pfn >> HPAGE_PMD_ORDER] = 0;
		mach_free_frames(pfn, HPAGE_PMD_ORDER, 0);
		return;
	}
	/* A table, where tables are gathered like pages. */
	flags = READ_ONCE(head->flags);
	if (flags & PG_table) {
		free_table_page(head);
		return;
	}
	if (flags & PG_lru_listed)
		lru_del(head);
	mach_charge(PAGE_FREE, 1);
	mach_free_frames(pfn, 0, 0);
}

struct page *alloc_table_page(struct mm_struct *mm)
{
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL,
				    MACH_GFP_TABLE | MACH_GFP_ZERO);
	struct page *page;

	if (pfn == MACH_NO_FRAME)
		return NULL;
	mach_charge(TABLE_ALLOC, 1);
	page = pfn_to_page(pfn);
	WRITE_ONCE(page->flags, PG_table);
	atomic_set(&page->_refcount, 1);
	page->deposited = NULL;
	memset(&page->ptl, 0, sizeof(page->ptl));
	atomic_long_add(PAGE_SIZE, &mm->pgtables_bytes);
	return page;
}

/* Its mm may be gone: who unhooked the table took it off pgtables_bytes. */
void free_table_page(struct page *table)
{
	mach_charge(TABLE_FREE, 1);
	mach_free_frames(page_to_pfn(table), 0, MACH_FREE_ZEROED);
}
