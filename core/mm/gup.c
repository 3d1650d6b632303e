/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking the tables without a lock, interrupts off.
 *
 * What that holds up: the freeing of tables (RCU), and, for as long as the other side
 * waits for an answer, every interrupt. So each entry is read once, and what it says may be
 * out of date at once. A page is only ours when we have a reference to it and then find
 * both entries that led to it unchanged:
 *
 *	gup_fast			zap			collapse (khugepaged.c)
 *	  read pmd, pte
 *					  clear pte		  clear pmd; flush
 *					  flush			  count references, copy
 *	  take a reference		  put_page		    the page elsewhere
 *	  look again: changed?
 *
 * With the look at the PTE alone, the third column goes unnoticed (it does not touch the PTE
 * before it has copied), and the reference is to a page that nobody maps any more:
 * mm.gup_recheck. And it may free the table, or give it to a huge page to keep, unless it
 * waits for us: mm.collapse_sync.
 */
#include "mm/gup.h"

#include "mm/huge_mm.h"

enum { GUP_RECHECK_PTE, GUP_RECHECK_PMD };
KNOB_ENUM(mm_gup_recheck, "mm.gup_recheck", KNOB_POLICY, GUP_RECHECK_PMD,
	  "which entry gup_fast looks at again once it has a reference",
	  "70cbc3cc78a9 (6.1)", "pte", "pmd");
KNOB_BOOL(mm_write_protect_seq, "mm.write_protect_seq", KNOB_POLICY, 1,
	  "gup_fast gives up beside a fork",
	  "57efa1fe5957 (5.11)");

/* One call takes no more than this. */
#define GUP_MAX_PAGES 512

struct page *try_grab(struct page *page, s32 refs)
{
	struct page *head = compound_head(page);

	if (!atomic_inc_not_zero(&head->_refcount))
		return NULL;
	/* Freed and split up, or made part of a huge page, meanwhile. */
	if (compound_head(page) != head) {
		put_page(head);
		return NULL;
	}
	if (refs > 1)
		atomic_add(refs - 1, &head->_refcount);
	return head;
}

void put_refs(struct page *head, s32 refs)
{
	if (!atomic_add_return(-refs, &head->_refcount))
		__put_page(head);
}

static void back_off(struct page *head, s32 refs)
{
	count_vm_event(gup_fast_backoff);
	put_refs(head, refs);
}

static bool permitted(pte_t pte, bool write)
{
	return pte_present(pte) && !pte_protnone(pte) && (!write || pte_write(pte));
}

/* Out: pages [addr, end) of a huge page. False: stop here. */
static bool gup_fast_pmd_leaf(struct gup *g, pmd_t pmd, pmd_t *pmdp, u64 addr, u64 end)
{
	u32 nr = (u32)((end - addr) >> PAGE_SHIFT);
	s32 refs = (s32)nr * g->refs;
	struct page *page = pfn_to_page(pmd_pfn(pmd)), *head;

	if (!permitted(pmd_pte(pmd), g->write))
		return false;
	page += (addr & ~PMD_MASK) >> PAGE_SHIFT;
	head = try_grab(page, refs);
	if (!head)
		return false;
	if (!pmd_same(pmdp_get(pmdp), pmd)) {
		back_off(head, refs);
		return false;
	}
	for (u32 i = 0; i < nr; i++)
		g->pages[g->nr++] = page + i;
	return true;
}

static bool gup_fast_pte(struct gup *g, pmd_t pmd, pmd_t *pmdp, pte_t *ptep)
{
	pte_t pte = ptep_get(ptep);
	struct page *page, *head;

	/* The page of zeroes is not counted. */
	if (!permitted(pte, g->write) || pte_pfn(pte) == kernel()->zero_pfn)
		return false;
	page = pfn_to_page(pte_pfn(pte));
	head = try_grab(page, g->refs);
	if (!head)
		return false;
	if ((knob(mm_gup_recheck) == GUP_RECHECK_PMD && !pmd_same(pmdp_get(pmdp), pmd)) ||
	    !pte_same(ptep_get(ptep), pte)) {
		back_off(head, g->refs);
		return false;
	}
	g->pages[g->nr++] = page;
	return true;
}

/* [addr, end) of what one PMD entry spans. */
static bool gup_fast_pmd(struct gup *g, u64 addr, u64 end)
{
	pmd_t *pmdp = mm_find_pmd(g->mm, addr);
	pmd_t pmd;

	if (!pmdp)
		return false;
	pmd = pmdp_get(pmdp);
	if (pmd_none(pmd) || !pmd_present(pmd))
		return false;
	if (pmd_trans_huge(pmd))
		return gup_fast_pmd_leaf(g, pmd, pmdp, addr, end);
	for (; addr != end; addr += PAGE_SIZE)
		if (!gup_fast_pte(g, pmd, pmdp, pte_offset_map(pmd, addr)))
			return false;
	return true;
}

/*
 * For writing: what is anonymous is nobody else's. Else a device would write to what a child
 * has, too. (Linux: sanity_check_pinned_pages().)
 */
static bool all_exclusive(const struct gup *g)
{
	for (u32 i = 0; i < g->nr; i++) {
		const struct page *page = g->pages[i];

		if (!PageHuge(page) && PageAnon(page) && !PageAnonExclusive(page))
			return false;
	}
	return true;
}

void gup_fast(struct gup *g, u64 addr, u64 end)
{
	u32 seq = READ_ONCE(g->mm->write_protect_seq);
	bool flags, exclusive, more = true;

	if (knob(mm_write_protect_seq) && (seq & 1))
		return;
	smp_rmb();
	begin_lockless_pgtbl_walk(g->mm, flags);
	while (more && addr < end) {
		u64 next = pmd_addr_end(addr, end);

		more = gup_fast_pmd(g, addr, next);
		addr = next;
	}
	end_lockless_pgtbl_walk(g->mm, flags);
	exclusive = !g->write || all_exclusive(g);
	/*
	 * A fork has write-protected entries as we took pages: what we have may be the
	 * child's, too, and a device would write to both.
	 */
	smp_rmb();
	if (!knob(mm_write_protect_seq))
		return;
	if (READ_ONCE(g->mm->write_protect_seq) == seq)
		BUG_ON(!exclusive);
	else
		while (g->nr)
			back_off(compound_head(g->pages[--g->nr]), g->refs);
}

s64 gup_fast_and_put(u64 start, u32 nr_pages, bool write)
{
	struct gup g = { .mm = current->mm, .write = write, .refs = 1 };
	u64 size = nr_pages * sizeof(g.pages[0]);
	u32 nr;

	start &= PAGE_MASK;
	if (!nr_pages || nr_pages > GUP_MAX_PAGES || start >= TASK_SIZE ||
	    ((u64)nr_pages << PAGE_SHIFT) > TASK_SIZE - start)
		return -EINVAL;
	g.pages = kzalloc(size);
	gup_fast(&g, start, start + ((u64)nr_pages << PAGE_SHIFT));
	nr = g.nr;
	count_vm_events(gup_fast_pages, nr);
	while (g.nr)
		put_page(g.pages[--g.nr]);
	kfree(g.pages, size);
	return nr;
}

/*
 * The entry that translates addr, or NULL. Interrupts off, and what is
 * returned may be used until they are on again.
 */
static pte_t *find_current_mm_pte(u64 addr)
{
	struct mm_struct *mm = current->mm;
	pte_t *ptep = NULL;
	pmd_t *pmdp, pmd;

	begin_pte_lookup(mm);
	pmdp = mm_find_pmd(mm, addr);
	if (pmdp) {
		pmd = pmdp_get(pmdp);
		if (!pmd_none(pmd) && pmd_present(pmd)) {
			ptep = pmd_trans_huge(pmd) ? pmdp_ptep(pmdp) :
						     pte_offset_map(pmd, addr);
		}
	}
	end_pte_lookup(mm);
	return ptep;
}

s64 pte_lookup(u64 addr)
{
	struct mm_struct *mm = current->mm;
	bool flags, found;
	pte_t *ptep;

	if (addr >= TASK_SIZE)
		return -EINVAL;
	begin_lockless_pgtbl_walk(mm, flags);
	/* As its callers do: only now is what it returned used. */
	ptep = find_current_mm_pte(addr);
	found = ptep && pte_present(ptep_get(ptep));
	end_lockless_pgtbl_walk(mm, flags);
	return found;
}
