/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/writeback.h"

#include "mm/mmap_lock.h"
#include "mm/rmap.h"

/* With a reference. 0 or -ENOMEM. */
static int write_one_page(struct address_space *file, struct page *page)
{
	int err = 0;

	lock_page(page);
	if (page->mapping == file) {
		if (page_mkclean(page))
			set_page_dirty(page);
		if (TestClearPageDirty(page)) {
			err = shmem_writepage(page);
			if (err)
				set_page_dirty(page);
			else
				count_vm_event(pages_written);
		}
	}
	unlock_page(page);
	return err;
}

static s64 write_range(struct address_space *file, u64 start, u64 end)
{
	s64 ret = 0;

	for (u64 index = start; index < end && !ret; index++) {
		struct page *page = shmem_find_page(file, index);

		if (!page)
			continue;
		ret = write_one_page(file, page);
		put_page(page);
		cond_resched();
	}
	return ret;
}

/* The file stays though the mmap_lock is let go; as in Linux, the VMA need not. */
s64 do_msync(u64 start, u64 len)
{
	struct mm_struct *mm = current->mm;
	u64 end = start + PAGE_ALIGN(len), next;
	s64 ret = 0;

	if ((start & ~PAGE_MASK) || end < start)
		return -EINVAL;
	for (u64 addr = start; addr < end && !ret; addr = next) {
		struct vm_area_struct *vma;
		struct address_space *file;
		u64 first, last;

		mmap_read_lock(mm);
		vma = find_vma(mm, addr);
		if (!vma || vma->vm_start > addr) {
			mmap_read_unlock(mm);
			return -ENOMEM;
		}
		next = min(end, vma->vm_end);
		file = vma->vm_file;
		first = linear_page_index(vma, addr);
		last = linear_page_index(vma, next);
		if (file)
			get_file(file);
		mmap_read_unlock(mm);
		if (!file)
			continue;
		ret = write_range(file, first, last);
		fput(file);
	}
	return ret;
}

s64 madvise_remove(struct vm_area_struct *vma, u64 start, u64 end)
{
	struct address_space *file = vma->vm_file;
	u64 first = linear_page_index(vma, start), last = linear_page_index(vma, end);
	bool may = file && (vma->vm_flags & VM_WRITE);

	if (may)
		get_file(file);
	mmap_read_unlock(vma->vm_mm);
	if (!may)
		return -EINVAL;
	shmem_truncate_range(file, first, last);
	fput(file);
	return 0;
}
