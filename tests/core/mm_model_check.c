/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must hold of the page tables after every operation:
 *
 *	nothing is mapped outside of the VMAs, and nothing with more rights than they give;
 *	what was written is there;
 *	pages of different contents are different, unless one is a copy by fork;
 *	a page has as many references, and as many mappings, as entries lead to it, and one
 *	more reference if it is in the swap cache, and in a CPU's batch for the LRU; a swap slot, as many uses as entries name it;
 *	nothing is locked, isolated, or on its way to another frame;
 *	a page that is marked as this entry's alone is in one address space;
 *	each huge page has a table set aside, and pgtables_bytes counts them all.
 */
#include "mm_model.h"

static u64 peek(const void *p)
{
	return *(const volatile u64 *)p;
}

/* The page of zeroes, or a part of the huge one. */
static bool is_zero(u64 pfn)
{
	const struct kernel *k = kernel();

	return pfn == k->zero_pfn || (k->huge_zero_pfn && pfn >= k->huge_zero_pfn &&
				      pfn < k->huge_zero_pfn + HPAGE_PMD_NR);
}

/* One entry that maps page i of process p to pfn. */
static bool check_entry(struct model *m, u32 p, u32 i, u64 pfn, pte_t pte)
{
	const struct model_page *mp = &m->proc[p].page[i];
	u32 other;

	if (m->counts_only)
		return true;
	if (!mp->mapped)
		return model_fail(m, "process %u page %u: mapped, but unmapped", p, i);
	if (pte_write(pte) && !(mp->prot & PROT_WRITE))
		return model_fail(m, "process %u page %u: writable", p, i);
	if (pfn >= MAX_FRAMES)
		return model_fail(m, "no such frame");
	if (is_zero(pfn)) {
		if (mp->contents || pte_write(pte))
			return model_fail(m, "process %u page %u: zeroes, or writable ones",
					  p, i);
		return true;
	}
	other = m->contents[pfn];
	if (m->owners[pfn] && other != mp->contents)
		return model_fail(m, "process %u page %u: shares a frame with other contents",
				  p, i);
	if (m->owners[pfn] & (1U << p))
		return model_fail(m, "process %u page %u: its frame is mapped twice", p, i);
	if (m->owners[pfn] && pte_write(pte))
		return model_fail(m, "process %u page %u: shared, but writable", p, i);
	m->contents[pfn] = mp->contents;
	m->owners[pfn] |= 1U << p;
	return true;
}

static void count_entry(struct model *m, u64 pfn)
{
	if (!is_zero(pfn))
		m->entries[page_to_pfn(compound_head(pfn_to_page(pfn)))]++;
}

/* One that says where the page is: in swap, since nothing is on its way now. */
static bool check_swap_entry(struct model *m, u32 p, u32 i, pte_t pte)
{
	swp_entry_t entry = pte_to_swp_entry(pte);
	u64 slot = swp_offset(entry);
	const struct model_page *mp = &m->proc[p].page[i];

	if (is_migration_entry(entry))
		return model_fail(m, "process %u page %u: on its way", p, i);
	if (!slot || slot >= kernel()->swap->nr_slots)
		return model_fail(m, "process %u page %u: no such slot", p, i);
	if (m->slot_entries[slot]++ && !m->counts_only &&
	    (m->slot_contents[slot] != mp->contents || swp_type(entry) == SWP_SWAP_EXCLUSIVE))
		return model_fail(m, "process %u page %u: a slot of other contents", p, i);
	m->slot_contents[slot] = mp->contents;
	/* But of a part of a huge page. */
	if (!m->counts_only && !mp->contents && !has_transparent_hugepage())
		return model_fail(m, "process %u page %u: zeroes in swap", p, i);
	return true;
}

/* The pages of one PMD entry, from page i on; adds up tables and huge pages. */
static bool check_pmd(struct model *m, u32 p, u32 i, pmd_t pmd, u32 *tables, u32 *huge)
{
	u32 per_pmd = (u32)HPAGE_PMD_NR;
	bool leaf = !pmd_none(pmd) && pmd_trans_huge(pmd);

	*tables += !pmd_none(pmd);
	*huge += leaf;
	if (leaf)
		count_entry(m, pmd_pfn(pmd));
	for (u32 k = 0; k < per_pmd; k++) {
		pte_t pte = { 0 };
		u64 pfn;

		if (leaf)
			pte = pmd_pte(pmd);
		else if (!pmd_none(pmd))
			pte = __pte(peek((pte_t *)page_to_virt(pmd_page(pmd)) + k));
		if (pte_none(pte)) {
			if (m->proc[p].page[i + k].contents)
				return model_fail(m, "process %u page %u: lost", p, i + k);
			continue;
		}
		if (!pte_present(pte)) {
			if (!check_swap_entry(m, p, i + k, pte))
				return false;
			continue;
		}
		pfn = leaf ? pmd_pfn(pmd) + k : pte_pfn(pte);
		if (!leaf)
			count_entry(m, pfn);
		if (!check_entry(m, p, i + k, pfn, pte))
			return false;
	}
	return true;
}

/* All in one PMD table, since the window is. */
static bool check_tables(struct model *m, u32 p, pmd_t *first, u32 tables, u32 huge)
{
	const struct mm_struct *mm = m->proc[p].agent->mm;
	u32 deposited = 0, upper = kernel()->geo.pud_folded ? 1 : 2;
	struct page *t;

	if (first)
		for (t = virt_to_page(first)->deposited; t; t = t->deposited)
			deposited++;
	if (deposited != huge)
		return model_fail(m, "process %u: %u huge pages, %u tables set aside", p,
				  huge, deposited);
	if (!first)
		return true;
	if ((u64)mm->pgtables_bytes.counter != (tables + upper) * PAGE_SIZE)
		return model_fail(m, "process %u: pgtables_bytes %lld, of %u tables", p,
				  (long long)mm->pgtables_bytes.counter, tables + upper);
	return true;
}

static bool check_proc(struct model *m, u32 p)
{
	struct mm_struct *mm = m->proc[p].agent->mm;
	u32 tables = 0, huge = 0, per_pmd = (u32)HPAGE_PMD_NR;
	pmd_t *first = mm_find_pmd(mm, MODEL_BASE);

	for (u32 i = 0; i < m->nr_pages; i += per_pmd) {
		pmd_t pmd = __pmd(first ? peek(first + i / per_pmd) : 0);

		if (!check_pmd(m, p, i, pmd, &tables, &huge))
			return false;
	}
	return check_tables(m, p, first, tables, huge);
}

static bool check_frame(struct model *m, u64 pfn)
{
	struct page *page = pfn_to_page(pfn);
	u32 owners = m->owners[pfn], cached = !!(page->flags & PG_swapcache);

	/* The file's own. */
	if (m->entries[pfn] && !(page->flags & PG_anon))
		cached++;
	/* Batches of new pages: lru.h. */
	for (u32 cpu = 0; m->entries[pfn] && cpu < nr_cpu_ids; cpu++)
		for (u32 i = 0; i < kernel()->cpu[cpu].nr_lru; i++)
			cached += kernel()->cpu[cpu].lru_batch[i] == page;

	if (m->entries[pfn] && (page->flags & (PG_locked | PG_waiters) ||
				!(page->flags & PG_lru)))
		return model_fail(m, "frame %llu: flags %#x", (unsigned long long)pfn,
				  page->flags);
	if (m->entries[pfn] && (page->_refcount.counter - (s32)cached != m->entries[pfn] ||
				page->_mapcount.counter + 1 != m->entries[pfn]))
		return model_fail(m, "frame %llu: %u entries, %d references, %d mappings",
				  (unsigned long long)pfn, m->entries[pfn],
				  page->_refcount.counter, page->_mapcount.counter + 1);
	if ((owners & (owners - 1)) && PageAnonExclusive(page) &&
	    page == compound_head(page))
		return model_fail(m, "frame %llu: exclusive, but shared",
				  (unsigned long long)pfn);
	return true;
}

static bool check_slot(struct model *m, u64 slot)
{
	const struct swap_slot *s = &kernel()->swap->slot[slot];
	u64 first = s->cache ? s->cache->private : slot, pfn;

	if (s->count != m->slot_entries[slot])
		return model_fail(m, "slot %llu: %u uses, %u entries", (unsigned long long)slot,
				  s->count, m->slot_entries[slot]);
	/* A huge page in the cache keeps the slots of parts that are back. */
	if (!s->count && (s->cache ? !PageHuge(s->cache) : s->frame))
		return model_fail(m, "slot %llu: free, but not empty", (unsigned long long)slot);
	if (!s->cache)
		return s->count && !s->frame ?
			       model_fail(m, "slot %llu: lost", (unsigned long long)slot) : true;
	if (slot - first >= compound_nr(s->cache) || !(s->cache->flags & PG_swapcache))
		return model_fail(m, "slot %llu: another's page", (unsigned long long)slot);
	pfn = page_to_pfn(s->cache) + (slot - first);
	if (!m->counts_only && s->count && m->owners[pfn] &&
	    m->contents[pfn] != m->slot_contents[slot])
		return model_fail(m, "slot %llu: other contents than its page",
				  (unsigned long long)slot);
	return true;
}

bool model_check(struct model *m)
{
	memset(m->entries, 0, sizeof(m->entries));
	memset(m->owners, 0, sizeof(m->owners));
	memset(m->slot_entries, 0, sizeof(m->slot_entries));
	for (u32 p = 0; p < MAX_PROCS; p++)
		if (m->proc[p].alive && !check_proc(m, p))
			return false;
	for (u64 pfn = 0; pfn < mach_env()->nr_frames; pfn++)
		if (!check_frame(m, pfn))
			return false;
	/* Of a file's slots no entry tells; what it leaks is seen when all is gone. */
	for (u64 slot = 1; !m->shared && slot < kernel()->swap->nr_slots; slot++)
		if (!check_slot(m, slot))
			return false;
	return true;
}
