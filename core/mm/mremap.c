/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap: grow, shrink, or move a mapping, its entries with it: one by one, or a whole
 * table, or a huge page by its one entry.
 *
 * A moved page keeps its references, so nothing holds it back if somebody unmaps it at its new
 * address: that flushes the new address alone and frees it, whatever is still cached of the
 * old one. Hence the old range is flushed before either page-table lock is let go:
 *
 *	CPU 0, mremap			CPU 1			CPU 2, unmap
 *					  caches old -> page
 *	  lock both; move the entry
 *	  flush old range	<- here
 *	  unlock
 *								  lock new; clear
 *								  flush new; free page
 *					  uses old
 *	  (to 4.19: flush old range)
 *
 * The mmap_lock is held for writing, so no fault comes in between, and of two locks any order
 * will do.
 */
#include "mm/huge_mm.h"
#include "mm/mmap_lock.h"
#include "mm/mmu_gather.h"
#include "mm/rmap.h"

enum { MREMAP_FLUSH_BEFORE_UNLOCK, MREMAP_FLUSH_AFTER_UNLOCK };
KNOB_ENUM(mm_mremap_flush, "mm.mremap_flush", KNOB_POLICY, MREMAP_FLUSH_BEFORE_UNLOCK,
	  "when moved base pages are flushed: under the page-table locks or behind them",
	  "eb66ae030829 (4.20)", "before_unlock", "after_unlock");

KNOB_BOOL(mm_mremap_rmap_lock, "mm.mremap_rmap_lock", KNOB_POLICY, 1,
	  "whole tables and huge pages move under the rmap lock, unseen by reclaim",
	  "97113eb39fa7 (5.14)");

/* Where a move is. */
struct move {
	struct vm_area_struct *vma;	/* the old one */
	u64 old, new, end;		/* end of the old range */
	bool back;			/* against the order of the reverse map: rmap.h */
};

/* Moves what is present in [m->old, old_end) of one table. */
static void move_ptes(struct move *m, pmd_t old_pmd, pmd_t new_pmd, u64 old_end)
{
	spinlock_t *old_ptl = pte_lockptr(old_pmd), *new_ptl = pte_lockptr(new_pmd);
	pte_t *old_pte = pte_offset_map(old_pmd, m->old);
	pte_t *new_pte = pte_offset_map(new_pmd, m->new);
	struct mm_struct *mm = m->vma->vm_mm;
	struct rmap_lock *rmap_lock = m->back ? take_rmap_lock(m->vma) : NULL;
	u64 old = m->old, new = m->new;
	bool force_flush = false;

	spin_lock(old_ptl);
	if (new_ptl != old_ptl)
		spin_lock(new_ptl);
	flush_tlb_batched_pending(mm);
	for (; old != old_end; old += PAGE_SIZE, new += PAGE_SIZE, old_pte++, new_pte++) {
		pte_t pte;

		if (pte_none(ptep_get(old_pte)))
			continue;
		mach_charge(PROT_PTE, 1);
		count_vm_event(move_ptes);
		pte = ptep_get_and_clear(mm, old, old_pte);
		force_flush |= pte_present(pte);
		set_pte_at(mm, new, new_pte, pte);
	}
	if (force_flush && knob(mm_mremap_flush) == MREMAP_FLUSH_BEFORE_UNLOCK)
		flush_tlb_range(m->vma, m->old, old_end);
	if (new_ptl != old_ptl)
		spin_unlock(new_ptl);
	spin_unlock(old_ptl);
	if (force_flush && knob(mm_mremap_flush) == MREMAP_FLUSH_AFTER_UNLOCK)
		flush_tlb_range(m->vma, m->old, old_end);
	drop_rmap_lock(rmap_lock);
}

/*
 * A whole table. The walk caches may lead to it from the old address, so the flush must
 * drop them, too: arch_supports_page_table_move().
 */
static bool __move_normal_pmd(struct move *m, pmd_t *old_pmd, pmd_t *new_pmd)
{
	struct mm_struct *mm = m->vma->vm_mm;
	spinlock_t *old_ptl = pmd_lockptr(mm, old_pmd);
	spinlock_t *new_ptl = pmd_lockptr(mm, new_pmd);
	pmd_t pmd;

	/* There may be an empty table, left by a neighbour. */
	if (!arch_supports_page_table_move() || !pmd_none(pmdp_get(new_pmd)))
		return false;
	spin_lock(old_ptl);
	if (new_ptl != old_ptl)
		spin_lock(new_ptl);
	pmd = pmdp_get(old_pmd);
	pmd_clear_locked(mm, old_pmd);
	pmd_populate_locked(mm, new_pmd, pmd_page(pmd));
	flush_tlb_range(m->vma, m->old, m->old + PMD_SIZE);
	if (new_ptl != old_ptl)
		spin_unlock(new_ptl);
	spin_unlock(old_ptl);
	count_vm_event(move_tables);
	return true;
}

static bool move_normal_pmd(struct move *m, pmd_t *old_pmd, pmd_t *new_pmd)
{
	struct rmap_lock *rmap_lock = knob(mm_mremap_rmap_lock) ? take_rmap_lock(m->vma) : NULL;
	bool moved = __move_normal_pmd(m, old_pmd, new_pmd);

	drop_rmap_lock(rmap_lock);
	return moved;
}

static bool move_one_huge_pmd(struct move *m, pmd_t *old_pmd, pmd_t *new_pmd)
{
	struct rmap_lock *rmap_lock = knob(mm_mremap_rmap_lock) ? take_rmap_lock(m->vma) : NULL;
	bool moved = move_huge_pmd(m->vma, m->old, m->new, old_pmd, new_pmd);

	drop_rmap_lock(rmap_lock);
	return moved;
}

/* What one PMD entry spans, or less, at both ends. 0 or -ENOMEM. */
static int move_one_pmd(struct move *m, pmd_t *old_pmd, u64 extent)
{
	struct mm_struct *mm = m->vma->vm_mm;
	pmd_t *new_pmd = pmd_alloc_path(mm, m->new);
	pmd_t pmd = pmdp_get(old_pmd);

	if (!new_pmd)
		return -ENOMEM;
	if (pmd_none(pmd))
		return 0;
	if (pmd_trans_huge(pmd)) {
		if (extent == HPAGE_PMD_SIZE &&
		    move_one_huge_pmd(m, old_pmd, new_pmd))
			return 0;
		split_huge_pmd(m->vma, old_pmd, m->old);
		pmd = pmdp_get(old_pmd);
	} else if (extent == PMD_SIZE && move_normal_pmd(m, old_pmd, new_pmd)) {
		return 0;
	}
	if (pte_alloc(mm, new_pmd))
		return -ENOMEM;
	move_ptes(m, pmd, pmdp_get(new_pmd), m->old + extent);
	return 0;
}

/* To the next border of a PMD entry, of either range. */
static u64 move_extent(const struct move *m)
{
	u64 extent = pmd_addr_end(m->old, m->end) - m->old;
	u64 room = PMD_SIZE - (m->new & ~PMD_MASK);

	return min(extent, room);
}

static int move_page_tables(struct move *m)
{
	u64 extent;

	for (; m->old < m->end; m->old += extent, m->new += extent) {
		pmd_t *old_pmd;
		int err;

		cond_resched();
		extent = move_extent(m);
		old_pmd = mm_find_pmd(m->vma->vm_mm, m->old);
		if (!old_pmd)
			continue;
		err = move_one_pmd(m, old_pmd, extent);
		if (err)
			return err;
	}
	return 0;
}

/* mmap_lock for writing. [addr, addr + old_len) is a VMA; new_addr is free. */
static s64 move_vma(struct mm_struct *mm, struct vm_area_struct *vma, u64 old_len,
		    u64 new_len, u64 new_addr)
{
	struct vm_area_struct *new = vm_area_alloc(mm);
	struct move m = { .vma = vma, .old = vma->vm_start, .new = new_addr,
			  .end = vma->vm_start + old_len };
	u64 old_addr = vma->vm_start;
	int err;

	new->vm_start = new_addr;
	new->vm_end = new_addr + new_len;
	new->vm_flags = vma->vm_flags;
	new->vm_page_prot = vma->vm_page_prot;
	new->vm_pgoff = vma_is_anonymous(vma) && !vma->anon_vma ? new_addr >> PAGE_SHIFT :
								  vma->vm_pgoff;
	new->vm_file = vma->vm_file;
	if (new->vm_file)
		get_file(new->vm_file);
	vma_start_write(vma);
	vma_link(mm, new);
	vma_rmap_clone(new, vma);
	err = move_page_tables(&m);
	if (err) {
		/* Back, by the same way: what it needs is there. */
		struct move back = { .vma = new, .old = new_addr, .new = old_addr,
				     .end = m.new, .back = true };

		BUG_ON(move_page_tables(&back));
		BUG_ON(do_munmap(mm, new_addr, new_addr + new_len));
		return err;
	}
	err = do_munmap(mm, old_addr, old_addr + old_len);
	return err ? err : (s64)new_addr;
}

/* Grow in place, if nothing is behind. */
static bool grow_vma(struct mm_struct *mm, struct vm_area_struct *vma, u64 new_len)
{
	u64 end = vma->vm_start + new_len;
	u32 i = vma_index(mm, vma->vm_start);

	if (end > mm->task_size || end < vma->vm_start ||
	    (i + 1 < mm->map_count && mm->areas[i + 1]->vm_start < end))
		return false;
	vma_start_write(vma);
	vma->vm_end = end;
	return true;
}

/* mmap_lock for writing; lengths are of pages. */
static s64 mremap_locked(struct mm_struct *mm, u64 addr, u64 old_len, u64 new_len,
			 u32 flags, u64 new_addr)
{
	struct vm_area_struct *vma;
	s64 to;
	int err;

	if (flags & MREMAP_FIXED) {
		err = do_munmap(mm, new_addr, new_addr + new_len);
		if (err)
			return err;
	}
	if (new_len < old_len) {
		err = do_munmap(mm, addr + new_len, addr + old_len);
		if (err)
			return err;
		old_len = new_len;
	}
	vma = find_vma(mm, addr);
	if (!vma || vma->vm_start > addr || vma->vm_end - addr < old_len)
		return -EFAULT;
	if (!(flags & MREMAP_FIXED)) {
		if (new_len == old_len)
			return (s64)addr;
		/* Files are as long as their first mapping: nothing is behind. */
		if (vma->vm_file)
			return -EINVAL;
		if (addr + old_len == vma->vm_end &&
		    grow_vma(mm, vma, addr - vma->vm_start + new_len))
			return (s64)addr;
		if (!(flags & MREMAP_MAYMOVE))
			return -ENOMEM;
	} else if (vma->vm_file && new_len > old_len) {
		return -EINVAL;
	}
	err = split_vma_range(mm, &vma, addr, addr + old_len);
	if (err)
		return err;
	to = get_unmapped_area(mm, new_addr, new_len, flags & MREMAP_FIXED ? MAP_FIXED : 0);
	return to < 0 ? to : move_vma(mm, vma, old_len, new_len, (u64)to);
}

s64 do_mremap(u64 addr, u64 old_len, u64 new_len, u32 flags, u64 new_addr)
{
	struct mm_struct *mm = current->mm;
	s64 ret;

	old_len = PAGE_ALIGN(old_len);
	new_len = PAGE_ALIGN(new_len);
	if ((addr & ~PAGE_MASK) || !old_len || !new_len ||
	    (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) ||
	    ((flags & MREMAP_FIXED) && !(flags & MREMAP_MAYMOVE)))
		return -EINVAL;
	if (addr > mm->task_size || old_len > mm->task_size - addr ||
	    new_len > mm->task_size)
		return -EINVAL;
	if (flags & MREMAP_FIXED) {
		if ((new_addr & ~PAGE_MASK) || new_addr > mm->task_size - new_len)
			return -EINVAL;
		/* Overlap. */
		if (addr + old_len > new_addr && new_addr + new_len > addr)
			return -EINVAL;
	} else {
		new_addr = 0;
	}
	mach_charge(MMAP_UNLOCKED, 1);
	mmap_write_lock(mm);
	mach_charge(MMAP_LOCKED, 1);
	ret = mremap_locked(mm, addr, old_len, new_len, flags, new_addr);
	mmap_write_unlock(mm);
	return ret;
}
