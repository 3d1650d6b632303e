/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The areas of an address space: a sorted array of pointers.
 *
 * Linux has a maple tree (to 6.0 a red-black tree). An array finds by halving,
 * too, and inserts by moving some pointers, which costs no more for the few
 * hundred areas of any workload here; the time that a tree takes is in the
 * named costs.
 *
 * Changed under the mmap_lock for writing. Read under it in any mode, or
 * without it by lock_vma_under_rcu(): areas_seq is odd while pointers move, and
 * an array that was outgrown is freed after a grace period, like every VMA.
 */
#ifndef CORE_MM_VMA_H
#define CORE_MM_VMA_H

#include "mm/mm.h"
#include "mm/mmap_lock.h"

/* mmap_lock in any mode: index of the first area that ends after addr. */
u32 vma_index(struct mm_struct *mm, u64 addr);
/* The area that holds addr or is the next after it; NULL: none. */
struct vm_area_struct *find_vma(struct mm_struct *mm, u64 addr);
/* The area that holds addr, locked for reading; NULL: use the mmap_lock. */
struct vm_area_struct *lock_vma_under_rcu(struct mm_struct *mm, u64 addr);

/* ---- mmap_lock for writing ---- */

struct vm_area_struct *vm_area_alloc(struct mm_struct *mm);
/* Once it is not in the array (or never was). */
void vm_area_free(struct vm_area_struct *vma);
/* Also drops its file. */
void remove_vma(struct vm_area_struct *vma);

/*
 * Where to map len bytes: at the hint if that is free, or MAP_FIXED says so. Or a negative
 * error.
 */
s64 get_unmapped_area(struct mm_struct *mm, u64 addr, u64 len, u32 flags);
/*
 * A new area at [addr, addr + len), which is free, of file, whose reference it takes over
 * (NULL: of anonymous memory, shared or private as vm_flags says). Or a negative error.
 */
s64 mmap_region(struct mm_struct *mm, u64 addr, u64 len, u64 vm_flags,
		struct address_space *file);
/* Puts a new VMA in. */
void vma_link(struct mm_struct *mm, struct vm_area_struct *vma);
/* Cut in two at addr, inside it. 0 or -ENOMEM. */
int split_vma(struct mm_struct *mm, struct vm_area_struct *vma, u64 addr);
/* Cut so that [start, end), inside *vma, is a VMA of its own: *vma then. 0 or -ENOMEM. */
int split_vma_range(struct mm_struct *mm, struct vm_area_struct **vma, u64 start, u64 end);
/* Take n areas from index i out of the array; they are marked detached. */
void vma_detach(struct mm_struct *mm, u32 i, u32 n, struct vm_area_struct **out);
/*
 * Grow a private anonymous neighbour, equal in flags, to cover [start, end),
 * which is free. False: there is none.
 */
bool vma_merge_anon(struct mm_struct *mm, u64 start, u64 end, u64 vm_flags);
/* Areas that [start, end) touches become one where nothing tells them apart. */
void vma_merge_range(struct mm_struct *mm, u64 start, u64 end);
/* Frees the array itself; mm has no users. */
void vma_array_free(struct mm_struct *mm);

static inline bool vma_is_accessible(const struct vm_area_struct *vma)
{
	return vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC);
}

static inline bool vma_is_anonymous(const struct vm_area_struct *vma)
{
	return !vma->vm_file;
}

#endif
