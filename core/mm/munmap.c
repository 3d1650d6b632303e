/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * munmap: detach the areas under the mmap_lock for writing; then, with the lock
 * downgraded, so that others may fault meanwhile, take away what they mapped.
 *
 * Why reading is enough for the second part. Nobody finds a detached area, so
 * nobody faults there; nobody can map anything in its place, and so use a table
 * that is about to be freed, because mmap waits for the lock to write; and the
 * neighbours, which bound what is freed, do not change either. Gathers of other
 * threads do run at the same time, on other ranges: they are why a gather can
 * find itself nested at all.
 */
#include "mm/vma.h"

KNOB_BOOL(mm_munmap_downgrade, "mm.munmap_downgrade", KNOB_POLICY, 1,
	  "munmap zaps with the mmap_lock held for reading only",
	  "dd2283f2605e (4.20)");

/* Areas per munmap that need no allocation. */
#define FEW_VMAS 8

struct vma_munmap {
	struct mm_struct *mm;
	u64 start, end;
	struct vm_area_struct **vmas;	/* detached */
	u32 n;
	u64 floor, ceiling;		/* ends of the neighbours; 0: none */
	struct vm_area_struct *few[FEW_VMAS];
};

/* mmap_lock for writing. Cut the edges and detach all between. */
static int munmap_gather_vmas(struct vma_munmap *m)
{
	struct mm_struct *mm = m->mm;
	u32 i = vma_index(mm, m->start), last;
	struct vm_area_struct *vma;
	int err;

	m->n = 0;
	if (i == mm->map_count || mm->areas[i]->vm_start >= m->end)
		return 0;
	mach_charge(MUNMAP_LOCKED, 1);

	if (mm->areas[i]->vm_start < m->start) {
		err = split_vma(mm, mm->areas[i], m->start);
		if (err)
			return err;
		i++;
	}
	for (last = i; last < mm->map_count; last++) {
		vma = mm->areas[last];
		if (vma->vm_start >= m->end)
			break;
		if (vma->vm_end > m->end) {
			err = split_vma(mm, vma, m->end);
			if (err)
				return err;
		}
	}
	m->n = last - i;
	m->floor = i ? mm->areas[i - 1]->vm_end : 0;
	m->ceiling = last < mm->map_count ? mm->areas[last]->vm_start : 0;
	m->vmas = m->n <= FEW_VMAS ? m->few : kzalloc(m->n * sizeof(vma));
	vma_detach(mm, i, m->n, m->vmas);
	return 0;
}

/* mmap_lock in any mode. */
static void munmap_complete(struct vma_munmap *m)
{
	struct mmu_gather tlb;

	mach_charge(MUNMAP_ZAP, 1);
	tlb_gather_mmu(&tlb, m->mm);
	tlb_gather_call(&tlb, GATHER_MUNMAP, m->start, m->end);
	unmap_vmas(&tlb, m->vmas, m->n, m->start, m->end);
	free_pgtables(&tlb, m->vmas, m->n, m->floor, m->ceiling);
	tlb_finish_mmu(&tlb);

	for (u32 i = 0; i < m->n; i++)
		remove_vma(m->vmas[i]);
	if (m->vmas != m->few)
		kfree(m->vmas, m->n * sizeof(m->vmas[0]));
}

int do_munmap(struct mm_struct *mm, u64 start, u64 end)
{
	struct vma_munmap m = { .mm = mm, .start = start, .end = end };
	int err = munmap_gather_vmas(&m);

	if (!err && m.n)
		munmap_complete(&m);
	return err;
}

s64 vm_munmap(u64 addr, u64 len)
{
	struct mm_struct *mm = current->mm;
	struct vma_munmap m = { .mm = mm, .start = addr };
	int err;

	if ((addr & ~PAGE_MASK) || addr > mm->task_size ||
	    len > mm->task_size - addr)
		return -EINVAL;
	m.end = addr + PAGE_ALIGN(len);
	if (m.end == addr)
		return -EINVAL;

	mmap_write_lock(mm);
	err = munmap_gather_vmas(&m);
	if (err || !m.n) {
		mmap_write_unlock(mm);
		return err;
	}
	if (!knob(mm_munmap_downgrade)) {
		munmap_complete(&m);
		mmap_write_unlock(mm);
		return 0;
	}
	mmap_write_downgrade(mm);
	munmap_complete(&m);
	mmap_read_unlock(mm);
	return 0;
}
