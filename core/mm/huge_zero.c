/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The huge page of zeroes, which read faults map wherever a huge page may be. There is one, made
 * by the first who wants it, and it goes when nobody does and memory is short: drop_caches().
 *
 * huge_zero_refcount counts who needs it, and the shrinker, which has the last reference.
 * Who needs it is what mm.huge_zero_page says. A count for each entry, given back by the zap, is
 * given back too early:
 *
 *	CPU 0: zap_huge_pmd		CPU 1
 *					has the entry in its TLB
 *	clears it
 *	put_huge_zero_page()
 *					drop_caches(): one is left, the shrinker's; frees it
 *					reads there: somebody else's page
 *	flushes
 *
 * So the gather does it, behind its flush; and since each fault then changed a count that
 * all CPUs share, an mm now has one for all of its entries, to its end.
 */
#include "mm/huge_mm.h"

KNOB_ENUM(mm_huge_zero_page, "mm.huge_zero_page", KNOB_POLICY, HUGE_ZERO_NONE,
	  "read faults map a huge page of zeroes: no (use_zero_page=0), or held by each entry up to its "
	  "zap, up to the flush behind that, or by each mm",
	  "aa88b68c3b1d (4.6), 6fcb52a56ff6 (4.9)", "none", "at_zap", "after_flush", "mm");

bool get_huge_zero_page(void)
{
	struct kernel *k = kernel();
	struct page *page;

	if (atomic_inc_not_zero(&k->huge_zero_refcount))
		return true;
	page = alloc_huge_page(true, MACH_NODE_LOCAL);
	if (!page)
		return false;
	/* Nobody's: neither reclaim nor copy-on-write may take it for an anonymous page. */
	WRITE_ONCE(page->flags, 0);
	spin_lock(&k->huge_zero_lock);
	if (READ_ONCE(k->huge_zero_pfn)) {
		atomic_inc(&k->huge_zero_refcount);
		spin_unlock(&k->huge_zero_lock);
		put_page(page);
		return true;
	}
	WRITE_ONCE(k->huge_zero_pfn, page_to_pfn(page));
	/* Ours, and the shrinker's. The zeroes, and where they are, before it. */
	smp_store_release(&k->huge_zero_refcount.counter, 2);
	spin_unlock(&k->huge_zero_lock);
	return true;
}

/* Nobody has a reference, and get_huge_zero_page() makes another one. */
static void free_huge_zero_page(void)
{
	struct page *page = pfn_to_page(READ_ONCE(kernel()->huge_zero_pfn));

	WRITE_ONCE(kernel()->huge_zero_pfn, 0);
	put_page(page);
}

/* The last is the shrinker's, until huge_zero_quiet(). */
void put_huge_zero_page(void)
{
	if (atomic_dec_and_test(&kernel()->huge_zero_refcount))
		free_huge_zero_page();
}

bool mm_get_huge_zero_page(struct mm_struct *mm)
{
	if (knob(mm_huge_zero_page) == HUGE_ZERO_MM && READ_ONCE(mm->huge_zero))
		return true;
	if (!get_huge_zero_page())
		return false;
	if (knob(mm_huge_zero_page) == HUGE_ZERO_MM && xchg(&mm->huge_zero, 1))
		put_huge_zero_page();
	return true;
}

void mm_put_huge_zero_page(struct mm_struct *mm)
{
	if (knob(mm_huge_zero_page) == HUGE_ZERO_MM && READ_ONCE(mm->huge_zero))
		put_huge_zero_page();
}

s64 shrink_huge_zero_page(void)
{
	struct kernel *k = kernel();
	bool last;

	if (knob(mm_huge_zero_page) == HUGE_ZERO_NONE)
		return 0;
	spin_lock(&k->huge_zero_lock);
	last = cmpxchg(&k->huge_zero_refcount.counter, 1, 0) == 1;
	if (last)
		free_huge_zero_page();
	spin_unlock(&k->huge_zero_lock);
	return last ? (s64)HPAGE_PMD_NR : 0;
}

void huge_zero_quiet(void)
{
	if (READ_ONCE(kernel()->huge_zero_pfn))
		put_huge_zero_page();
}
