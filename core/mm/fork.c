/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork: the child gets the areas of its parent, and its private pages, copy-on-write.
 *
 * Each entry that may be written loses that right in both, and the page the mark that says
 * that it is mapped once; the first write, by either, then copies (do_wp_page()). The parent's
 * other threads may hold translations with the right until the flush at the end, under the
 * mmap_lock still: a write that slips in before it is one before the fork.
 *
 *	thread of the parent		fork
 *	  caches a writable entry
 *					  write-protects it
 *	  writes: both see it		  copies it to the child
 *					  flush_tlb_mm(oldmm); unlock
 *	  writes: faults, copies
 *
 * A page that is pinned is copied at once (gup.h): a device writes to the parent's.
 *
 * Shared mappings are not copied: the child faults them in from the file.
 */
#include "mm/fault.h"
#include "mm/gup.h"
#include "mm/huge_mm.h"
#include "mm/lru.h"
#include "mm/mmap_lock.h"
#include "mm/rmap.h"
#include "mm/swap.h"
#include "mm/swapops.h"

struct copy {
	struct mm_struct *dst_mm, *src_mm;
	struct vm_area_struct *dst_vma, *src_vma;
	struct page *prealloc;	/* for a page that must be copied now */
};

/* The child's is a copy: gup.h. -EAGAIN: there is no page for it. */
static int copy_present_page(struct copy *c, pte_t *dst_pte, struct page *old, u64 addr)
{
	struct vm_area_struct *vma = c->dst_vma;
	struct page *page = c->prealloc;
	pte_t pte;

	if (!page)
		return -EAGAIN;
	c->prealloc = NULL;
	mach_charge(COPY_PAGE, 1);
	mach_copy_frame(page_to_pfn(page), page_to_pfn(old));
	page_add_new_anon_rmap(page, vma, addr);
	lru_cache_add(page);
	pte = pte_mkdirty(mk_pte(page, vma->vm_page_prot));
	set_pte_at(c->dst_mm, addr, dst_pte, maybe_mkwrite(pte, vma));
	return 0;
}

/* One present entry, under both locks. -EAGAIN: c->prealloc is wanted. */
static int copy_present_pte(struct copy *c, pte_t *dst_pte, pte_t *src_pte, u64 addr)
{
	pte_t pte = ptep_get(src_pte);

	mach_charge(PROT_PTE, 1);
	if (pte_pfn(pte) != kernel()->zero_pfn) {
		struct page *page = pfn_to_page(pte_pfn(pte));

		if (page_needs_cow_for_dma(c->src_mm, page))
			return copy_present_page(c, dst_pte, page, addr);
		get_page(page);
		page_add_rmap(page);
		ClearPageAnonExclusive(page);
	}
	if (pte_write(pte)) {
		/* In place: hardware may set A or D at any time. */
		ptep_set_wrprotect(c->src_mm, addr, src_pte);
		pte = pte_wrprotect(ptep_get(src_pte));
	}
	set_pte_at(c->dst_mm, addr, dst_pte, pte_mkold(pte));
	return 0;
}

/*
 * An entry that says where the page is. A page that is on its way finds the copy, since the
 * child's VMA comes behind the parent's in the reverse map.
 */
static void copy_nonpresent_pte(struct copy *c, pte_t *dst_pte, pte_t *src_pte, u64 addr)
{
	swp_entry_t entry = pte_to_swp_entry(ptep_get(src_pte));
	swp_entry_t shared = swp_entry_shared(entry);

	if (!is_migration_entry(entry))
		swap_duplicate(swp_offset(entry));
	if (shared.val != entry.val)
		set_pte_at(c->src_mm, addr, src_pte, swp_entry_to_pte(shared));
	set_pte_at(c->dst_mm, addr, dst_pte, swp_entry_to_pte(shared));
}

/* From *start on; *start is how far it came. -EAGAIN: c->prealloc is wanted to go on. */
static int copy_ptes(struct copy *c, pmd_t dst_pmd, pmd_t src_pmd, u64 *start, u64 end)
{
	spinlock_t *src_ptl = pte_lockptr(src_pmd), *dst_ptl = pte_lockptr(dst_pmd);
	pte_t *src_pte = pte_offset_map(src_pmd, *start), *dst_pte = pte_offset_map(dst_pmd, *start);
	u64 addr = *start;
	int err = 0;

	/* Nobody else can reach the child's, so this order cannot deadlock. */
	spin_lock(dst_ptl);
	spin_lock(src_ptl);
	while (addr != end) {
		u32 none = mach_scan_zero(&src_pte->pte, (u32)((end - addr) >> PAGE_SHIFT));

		src_pte += none;
		dst_pte += none;
		addr += (u64)none << PAGE_SHIFT;
		if (addr == end)
			break;
		if (pte_present(ptep_get(src_pte)))
			err = copy_present_pte(c, dst_pte, src_pte, addr);
		else if (!pte_none(ptep_get(src_pte)))
			copy_nonpresent_pte(c, dst_pte, src_pte, addr);
		if (err)
			break;
		src_pte++;
		dst_pte++;
		addr += PAGE_SIZE;
	}
	spin_unlock(src_ptl);
	spin_unlock(dst_ptl);
	*start = addr;
	return err;
}

static int copy_pte_range(struct copy *c, pmd_t *dst_pmd, pmd_t src_pmd, u64 addr, u64 end)
{
	if (pte_alloc(c->dst_mm, dst_pmd))
		return -ENOMEM;
	while (copy_ptes(c, pmdp_get(dst_pmd), src_pmd, &addr, end)) {
		c->prealloc = alloc_page_to_copy(MACH_NODE_LOCAL, PG_new_anon);
		if (!c->prealloc)
			return -ENOMEM;
	}
	return 0;
}

/* [addr, end) of what one PMD entry spans. */
static int copy_one_pmd(struct copy *c, pmd_t *src_pmd, u64 addr, u64 end)
{
	pmd_t *dst_pmd, pmd = pmdp_get(src_pmd);
	int err;

	if (pmd_none(pmd))
		return 0;
	dst_pmd = pmd_alloc_path(c->dst_mm, addr);
	if (!dst_pmd)
		return -ENOMEM;
	if (pmd_trans_huge(pmd)) {
		err = copy_huge_pmd(c->dst_mm, dst_pmd, src_pmd, addr, c->src_vma);
		if (err != -EAGAIN)
			return err;
		pmd = pmdp_get(src_pmd);
		if (pmd_none(pmd))
			return 0;
	}
	return copy_pte_range(c, dst_pmd, pmd, addr, end);
}

static int copy_page_range(struct copy *c)
{
	u64 addr = c->src_vma->vm_start, end = c->src_vma->vm_end, next;

	for (; addr < end; addr = next) {
		pmd_t *src_pmd = mm_find_pmd(c->src_mm, addr);
		int err;

		/* No PMD table: on to the next one. */
		next = src_pmd ? pmd_addr_end(addr, end) : pud_addr_end(addr, end);
		if (!src_pmd)
			continue;
		err = copy_one_pmd(c, src_pmd, addr, next);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

/* mmap_lock of oldmm, for writing. */
static int dup_areas(struct mm_struct *mm, struct mm_struct *oldmm)
{
	for (u32 i = 0; i < oldmm->map_count; i++) {
		struct vm_area_struct *old = oldmm->areas[i], *vma = vm_area_alloc(mm);
		struct copy c = { .dst_mm = mm, .src_mm = oldmm, .dst_vma = vma,
				  .src_vma = old };
		int err;

		mach_charge(FORK_MM, 1);
		/* Until the unlock no fault may come between the copies. */
		vma_start_write(old);
		vma->vm_start = old->vm_start;
		vma->vm_end = old->vm_end;
		vma->vm_flags = old->vm_flags;
		vma->vm_page_prot = old->vm_page_prot;
		vma->vm_pgoff = old->vm_pgoff;
		vma->vm_file = old->vm_file;
		if (vma->vm_file)
			get_file(vma->vm_file);
		vma_link(mm, vma);
		vma_rmap_clone(vma, old);
		err = vma_is_anonymous(old) ? copy_page_range(&c) : 0;
		/* Between two rounds hardware, or reclaim, was faster. */
		if (c.prealloc)
			put_page(c.prealloc);
		if (err)
			return err;
	}
	return 0;
}

int dup_mmap(struct mm_struct *mm, struct mm_struct *oldmm)
{
	int err;

	mmap_write_lock(oldmm);
	mmap_write_lock(mm);
	/* gup_fast that began before, or begins now, gives up. */
	WRITE_ONCE(oldmm->write_protect_seq, READ_ONCE(oldmm->write_protect_seq) + 1);
	smp_wmb();
	err = dup_areas(mm, oldmm);
	smp_wmb();
	WRITE_ONCE(oldmm->write_protect_seq, READ_ONCE(oldmm->write_protect_seq) + 1);
	flush_tlb_mm(oldmm);
	mmap_write_unlock(mm);
	mmap_write_unlock(oldmm);
	return err;
}
