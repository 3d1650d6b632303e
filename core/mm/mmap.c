/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/rmap.h"

#include "mmu_context.h"
#include "pgtable.h"

/* vm.max_map_count */
#define DEFAULT_MAX_MAP_COUNT 65530

static bool range_is_free(struct mm_struct *mm, u64 addr, u64 len)
{
	u32 i = vma_index(mm, addr);

	return i == mm->map_count || addr + len <= mm->areas[i]->vm_start;
}

/* The highest hole of len bytes below mmap_base; 0: none. */
static u64 unmapped_area_topdown(struct mm_struct *mm, u64 len)
{
	u64 high = mm->mmap_base;
	u32 i = vma_index(mm, high);

	/* An area that begins below mmap_base may end above it. */
	if (i < mm->map_count && mm->areas[i]->vm_start < high)
		i++;
	for (; i; i--) {
		struct vm_area_struct *vma = mm->areas[i - 1];

		if (vma->vm_end < high && high - vma->vm_end >= len)
			return high - len;
		high = min(high, vma->vm_start);
	}
	return high >= MMAP_MIN_ADDR + len ? high - len : 0;
}

/* When that fails: the lowest one from a third of the address space on. */
static u64 unmapped_area(struct mm_struct *mm, u64 len)
{
	u64 low = PAGE_ALIGN(mm->task_size / 3);

	for (u32 i = vma_index(mm, low); i < mm->map_count; i++) {
		struct vm_area_struct *vma = mm->areas[i];

		if (vma->vm_start > low && vma->vm_start - low >= len)
			return low;
		low = max(low, vma->vm_end);
	}
	return mm->task_size - low >= len ? low : 0;
}

s64 get_unmapped_area(struct mm_struct *mm, u64 addr, u64 len, u32 flags)
{
	if (len > mm->task_size)
		return -ENOMEM;
	if (flags & MAP_FIXED) {
		if (addr & ~PAGE_MASK)
			return -EINVAL;
		return addr > mm->task_size - len ? -ENOMEM : (s64)addr;
	}
	addr &= PAGE_MASK;
	if (addr && addr < MMAP_MIN_ADDR)
		addr = PAGE_ALIGN(MMAP_MIN_ADDR);
	if (addr && addr <= mm->task_size - len && range_is_free(mm, addr, len))
		return addr;
	addr = unmapped_area_topdown(mm, len);
	if (!addr)
		addr = unmapped_area(mm, len);
	return addr ? (s64)addr : -ENOMEM;
}

static u64 calc_vm_flags(u32 prot, u32 flags)
{
	return (prot & PROT_READ ? VM_READ : 0) |
	       (prot & PROT_WRITE ? VM_WRITE : 0) |
	       (prot & PROT_EXEC ? VM_EXEC : 0) |
	       ((flags & MAP_TYPE) == MAP_SHARED ? VM_SHARED : 0);
}

s64 mmap_region(struct mm_struct *mm, u64 addr, u64 len, u64 vm_flags,
		struct address_space *file)
{
	struct vm_area_struct *vma;

	if (mm->map_count >= DEFAULT_MAX_MAP_COUNT)
		return -ENOMEM;
	if (!(vm_flags & VM_SHARED) &&
	    vma_merge_anon(mm, addr, addr + len, vm_flags))
		return addr;

	vma = vm_area_alloc(mm);
	vma->vm_start = addr;
	vma->vm_end = addr + len;
	vma->vm_flags = vm_flags;
	vma->vm_page_prot = vm_get_page_prot(vm_flags);
	if (vm_flags & VM_SHARED) {
		vma->vm_file = file ? file : shmem_file_setup(len);
		vma_rmap_link_file(vma);
	} else {
		vma->vm_pgoff = addr >> PAGE_SHIFT;
	}
	vma_link(mm, vma);
	return addr;
}

s64 do_mmap(u64 addr, u64 len, u32 prot, u32 flags)
{
	struct mm_struct *mm = current->mm;
	u32 type = flags & MAP_TYPE;
	s64 ret;

	if (!len || (type != MAP_SHARED && type != MAP_PRIVATE))
		return -EINVAL;
	/* There are no files to map. */
	if (!(flags & MAP_ANONYMOUS))
		return -EINVAL;
	len = PAGE_ALIGN(len);
	if (!len)
		return -ENOMEM;

	mach_charge(MMAP_UNLOCKED, 1);
	mmap_write_lock(mm);
	mach_charge(MMAP_LOCKED, 1);
	ret = get_unmapped_area(mm, addr, len, flags);
	if (ret >= 0 && (flags & MAP_FIXED)) {
		int err = do_munmap(mm, addr, addr + len);

		if (err)
			ret = err;
	}
	if (ret >= 0)
		ret = mmap_region(mm, ret, len, calc_vm_flags(prot, flags), NULL);
	mmap_write_unlock(mm);
	return ret;
}

void exit_mmap(struct mm_struct *mm)
{
	struct mmu_gather tlb;
	u32 n;

	mach_charge(EXIT_MM, 1);
	mmap_read_lock(mm);
	arch_exit_mmap(mm);
	n = mm->map_count;
	if (!n) {
		mmap_read_unlock(mm);
		vma_array_free(mm);
		return;
	}
	tlb_gather_mmu_fullmm(&tlb, mm);
	unmap_vmas(&tlb, mm->areas, n, 0, mm->task_size);
	mmap_read_unlock(mm);

	mmap_write_lock(mm);
	free_pgtables(&tlb, mm->areas, n, 0, 0);
	tlb_finish_mmu(&tlb);
	for (u32 i = 0; i < n; i++) {
		remove_vma(mm->areas[i]);
		cond_resched();
	}
	mm->map_count = 0;
	vma_array_free(mm);
	mmap_write_unlock(mm);
	/* Every table but the PGD is gone, too. */
	BUG_ON(atomic_long_read(&mm->pgtables_bytes));
}
