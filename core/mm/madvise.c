/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/vma.h"

/*
 * MADV_DONTNEED: the pages of private mappings are gone, those of shared ones
 * stay in their file. Holes are skipped, and make the call fail in the end.
 */
s64 do_madvise(u64 start, u64 len, u32 behavior)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	s64 ret = 0;
	u64 end;

	if (behavior != MADV_DONTNEED || (start & ~PAGE_MASK))
		return -EINVAL;
	end = start + PAGE_ALIGN(len);
	if (end < start || (len && !PAGE_ALIGN(len)))
		return -EINVAL;
	if (end == start)
		return 0;

	mmap_read_lock(mm);
	mach_charge(MADVISE, 1);
	while (start < end) {
		vma = find_vma(mm, start);
		if (!vma || vma->vm_start >= end) {
			ret = -ENOMEM;
			break;
		}
		if (start < vma->vm_start) {
			ret = -ENOMEM;
			start = vma->vm_start;
		}
		zap_page_range_single(vma, start, min(vma->vm_end, end) - start);
		start = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return ret;
}
