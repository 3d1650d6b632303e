/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap_lock, and the per-VMA locks that faults try before it.
 *
 * A VMA is write-locked by being marked, not by being held: vma_start_write()
 * sets its vm_lock_seq to the mm's, under the mmap_lock for writing, and all
 * marks end together when mm_lock_seq advances at the release (or downgrade) of
 * the mmap_lock. A reader holds vm_lock itself, and the writer passes through
 * vm_lock once to wait for the readers that are in.
 *
 *	fault (vma_start_read)			writer (vma_start_write)
 *	  seq equal? then locked: fall back
 *	  down_read_trylock(vm_lock)		  down_write(vm_lock)
 *	  seq equal? then locked: fall back	  vm_lock_seq = mm_lock_seq
 *						  up_write(vm_lock)
 *
 * The second look is what counts: it is inside vm_lock, so the writer has
 * either not begun (and will wait for us) or is through with the mark (and we
 * see it).
 *
 * With mm.fault_lock=mmap none of this is done.
 */
#ifndef CORE_MM_MMAP_LOCK_H
#define CORE_MM_MMAP_LOCK_H

#include "mm/rwsem.h"

enum { FAULT_LOCK_VMA, FAULT_LOCK_MMAP };

static inline bool per_vma_locks(void)
{
	return knob(mm_fault_lock) == FAULT_LOCK_VMA;
}

/* mmap_lock held for writing. */
static inline void vma_end_write_all(struct mm_struct *mm)
{
	if (per_vma_locks())
		/* Pairs with the acquire in vma_start_read(). */
		smp_store_release(&mm->mm_lock_seq, READ_ONCE(mm->mm_lock_seq) + 1);
}

static inline void mmap_write_lock(struct mm_struct *mm)
{
	down_write(&mm->mmap_lock);
}

static inline void mmap_write_unlock(struct mm_struct *mm)
{
	vma_end_write_all(mm);
	up_write(&mm->mmap_lock);
}

static inline void mmap_write_downgrade(struct mm_struct *mm)
{
	vma_end_write_all(mm);
	downgrade_write(&mm->mmap_lock);
}

static inline void mmap_read_lock(struct mm_struct *mm)
{
	down_read(&mm->mmap_lock);
}

static inline bool mmap_read_trylock(struct mm_struct *mm)
{
	return down_read_trylock(&mm->mmap_lock);
}

static inline void mmap_read_unlock(struct mm_struct *mm)
{
	up_read(&mm->mmap_lock);
}

/* mmap_lock held for writing. May sleep until faults on this VMA are through. */
static inline void vma_start_write(struct vm_area_struct *vma)
{
	u32 seq;

	if (!per_vma_locks())
		return;
	seq = READ_ONCE(vma->vm_mm->mm_lock_seq);
	if (READ_ONCE(vma->vm_lock_seq) == seq)
		return;
	down_write(&vma->vm_lock);
	WRITE_ONCE(vma->vm_lock_seq, seq);
	up_write(&vma->vm_lock);
}

/* Inside rcu_read_lock(), which keeps vma. True: locked for reading. */
static inline bool vma_start_read(struct vm_area_struct *vma)
{
	if (READ_ONCE(vma->vm_lock_seq) == READ_ONCE(vma->vm_mm->mm_lock_seq))
		return false;
	if (!down_read_trylock(&vma->vm_lock))
		return false;
	/* Acquire: if a write lock has ended, we see what was done under it. */
	if (READ_ONCE(vma->vm_lock_seq) ==
	    smp_load_acquire(&vma->vm_mm->mm_lock_seq)) {
		up_read(&vma->vm_lock);
		return false;
	}
	return true;
}

/*
 * A writer that waits may get in, unmap and free the VMA while up_read() still
 * looks for whom to wake; the grace period is what keeps it there.
 */
static inline void vma_end_read(struct vm_area_struct *vma)
{
	rcu_read_lock();
	up_read(&vma->vm_lock);
	rcu_read_unlock();
}

#endif
