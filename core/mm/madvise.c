/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/vmscan.h"
#include "mm/writeback.h"

static void dontneed(struct vm_area_struct *vma, u64 start, u64 end)
{
	zap_page_range_single(vma, start, end - start);
}

enum { MADVISE_LOCK_MMAP, MADVISE_LOCK_VMA };
KNOB_ENUM(mm_madvise_lock, "mm.madvise_lock", KNOB_POLICY, MADVISE_LOCK_MMAP,
	  "what MADV_DONTNEED of one VMA takes: the mmap_lock, or the VMA's own",
	  "mm: use per_vma lock for MADV_DONTNEED (6.17)", "mmap", "vma");

/* mmap_lock in any mode. Holes are skipped, and make the call fail in the end. */
static s64 for_each_vma(struct mm_struct *mm, u64 start, u64 end,
			void (*fn)(struct vm_area_struct *vma, u64 start, u64 end))
{
	struct vm_area_struct *vma;
	s64 ret = 0;

	while (start < end) {
		vma = find_vma(mm, start);
		if (!vma || vma->vm_start >= end)
			return -ENOMEM;
		if (start < vma->vm_start) {
			ret = -ENOMEM;
			start = vma->vm_start;
		}
		fn(vma, start, min(vma->vm_end, end));
		start = vma->vm_end;
	}
	return ret;
}

/* False: it takes the mmap_lock. */
static bool madvise_dontneed_vma(struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma;
	bool one;

	if (knob(mm_madvise_lock) != MADVISE_LOCK_VMA || !per_vma_locks())
		return false;
	vma = lock_vma_under_rcu(mm, start);
	if (!vma)
		return false;
	one = end <= vma->vm_end;
	if (one)
		zap_page_range_single(vma, start, end - start);
	vma_end_read(vma);
	return one;
}

/* MADV_DONTNEED, MADV_PAGEOUT. */
static s64 madvise_zap(struct mm_struct *mm, u64 start, u64 end, u32 behavior)
{
	bool charged = false;
	s64 ret;

	if (behavior == MADV_DONTNEED && knob(mm_madvise_lock) == MADVISE_LOCK_VMA) {
		mach_charge(MADVISE, 1);
		charged = true;
		if (madvise_dontneed_vma(mm, start, end))
			return 0;
	}
	mmap_read_lock(mm);
	if (!charged)
		mach_charge(MADVISE, 1);
	ret = for_each_vma(mm, start, end,
			   behavior == MADV_PAGEOUT ? madvise_pageout : dontneed);
	mmap_read_unlock(mm);
	return ret;
}

/* mmap_lock for writing. [start, end) of vma, which is split where it must be. */
static int vma_change_flags(struct mm_struct *mm, struct vm_area_struct *vma, u64 start,
			    u64 end, u64 flags)
{
	int err;

	if (flags == vma->vm_flags)
		return 0;
	err = split_vma_range(mm, &vma, start, end);
	if (err)
		return err;
	vma_start_write(vma);
	vma->vm_flags = flags;
	return 0;
}

/* mmap_lock for writing. Flags only: faults and khugepaged act on them. */
static s64 madvise_hugepage(struct mm_struct *mm, u64 start, u64 end, u32 behavior)
{
	u64 set = behavior == MADV_HUGEPAGE ? VM_HUGEPAGE : VM_NOHUGEPAGE;
	u64 clear = VM_HUGEPAGE | VM_NOHUGEPAGE, addr = start;
	s64 ret = 0;

	while (addr < end) {
		struct vm_area_struct *vma = find_vma(mm, addr);
		u64 next;
		int err;

		if (!vma || vma->vm_start >= end) {
			ret = -ENOMEM;
			break;
		}
		if (addr < vma->vm_start) {
			ret = -ENOMEM;
			addr = vma->vm_start;
		}
		next = min(vma->vm_end, end);
		err = vma_change_flags(mm, vma, addr, next,
				       (vma->vm_flags & ~clear) | set);
		if (err)
			return err;
		addr = next;
	}
	vma_merge_range(mm, start, end);
	return ret;
}

/* MADV_REMOVE, in one VMA. */
static s64 madvise_hole(struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma;

	mmap_read_lock(mm);
	mach_charge(MADVISE, 1);
	vma = find_vma(mm, start);
	if (vma && vma->vm_start <= start && end <= vma->vm_end)
		return madvise_remove(vma, start, end);
	mmap_read_unlock(mm);
	return -ENOMEM;
}

/*
 * MADV_DONTNEED: the pages of private mappings are gone, those of shared ones
 * stay in their file. MADV_REMOVE: the file has a hole there. MADV_PAGEOUT: what is not
 * shared goes to swap. MADV_HUGEPAGE and MADV_NOHUGEPAGE: whether what comes is to be huge.
 * MADV_COLLAPSE: make huge what is there.
 */
s64 do_madvise(u64 start, u64 len, u32 behavior)
{
	struct mm_struct *mm = current->mm;
	u64 end = start + PAGE_ALIGN(len);
	s64 ret;

	if ((start & ~PAGE_MASK) || end < start || (len && !PAGE_ALIGN(len)))
		return -EINVAL;
	switch (behavior) {
	case MADV_DONTNEED:
	case MADV_PAGEOUT:
		return end == start ? 0 : madvise_zap(mm, start, end, behavior);
	case MADV_REMOVE:
		return end == start ? 0 : madvise_hole(mm, start, end);
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
		if (!has_transparent_hugepage())
			return -EINVAL;
		if (end == start)
			return 0;
		mmap_write_lock(mm);
		mach_charge(MADVISE, 1);
		ret = madvise_hugepage(mm, start, end, behavior);
		mmap_write_unlock(mm);
		return ret;
	case MADV_COLLAPSE:
		if (!has_transparent_hugepage())
			return -EINVAL;
		mach_charge(MADVISE, 1);
		return madvise_collapse(mm, start, end);
	default:
		return -EINVAL;
	}
}
