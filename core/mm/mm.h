/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of core/mm offer each other and the system calls.
 *
 * Locks, outermost first: mmap_lock; a VMA's vm_lock; a page's lock (filemap.h); i_mmap_lock
 * or an anon_vma's lock (rmap.h); mm->page_table_lock; a PMD table's ptl; a PTE table's ptl;
 * the lock of a cluster of swap slots. i_pages_lock: inside the page's, outside the
 * cluster's, never together with the others.
 */
#ifndef CORE_MM_MM_H
#define CORE_MM_MM_H

#include "mm/mmu_gather.h"

/* Linux's values (uapi/asm-generic/mman-common.h). */
#define PROT_READ	0x1
#define PROT_WRITE	0x2
#define PROT_EXEC	0x4
#define MAP_SHARED	0x01
#define MAP_PRIVATE	0x02
#define MAP_TYPE	0x0f
#define MAP_FIXED	0x10
#define MAP_ANONYMOUS	0x20
#define MADV_DONTNEED	4
#define MADV_REMOVE	9
#define MADV_HUGEPAGE	14
#define MADV_NOHUGEPAGE	15
#define MADV_PAGEOUT	21
#define MADV_COLLAPSE	25
#define MREMAP_MAYMOVE	1
#define MREMAP_FIXED	2

/* Placement never chooses, and hints never get, an address below this. */
#define MMAP_MIN_ADDR	0x10000UL

/* ---- system calls: mmap.c, munmap.c, mprotect.c, madvise.c. Current's mm. ---- */

s64 do_mmap(u64 addr, u64 len, u32 prot, u32 flags);
s64 vm_munmap(u64 addr, u64 len);
s64 do_mprotect(u64 start, u64 len, u32 prot);
s64 do_madvise(u64 start, u64 len, u32 behavior);
/*
 * Give what is mapped in [start, end) of vma the rights newprot; returns how many base pages
 * were changed. mmap_lock for writing, or, with MM_CP_PROT_NUMA (marks for hinting faults:
 * numa.h), in any mode. What has to be flushed is the gather's.
 */
#define MM_CP_PROT_NUMA 0x2
u64 change_protection(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 start, u64 end,
		      pgprot_t newprot, u32 cp_flags);
/*
 * May an entry be made writable here and now, so that the next write need not fault?
 * Private: if the page is this mm's own. Shared: if it was written before; whoever wants to
 * hear of the first write (writenotify) has. Under its lock.
 */
bool can_change_pte_writable(struct vm_area_struct *vma, pte_t pte);
/* mremap.c */
s64 do_mremap(u64 addr, u64 old_len, u64 new_len, u32 flags, u64 new_addr);
/* gup.c; core_syscalls.gup_fast and .pte_lookup. */
s64 gup_fast_and_put(u64 start, u32 nr_pages, bool write);
s64 pte_lookup(u64 addr);
/* shm.c: System V segments; core_syscalls has what they are. */
s64 do_shmget(u64 size);
s64 do_shmat(s64 id, u64 addr);
s64 do_shmdt(u64 addr);
s64 do_shm_rmid(s64 id);
/* fork.c: mm, which nobody can reach yet, becomes a copy of oldmm. 0 or -ENOMEM. */
int dup_mmap(struct mm_struct *mm, struct mm_struct *oldmm);

/* munmap of [start, end) under the mmap_lock, write, which stays held. */
int do_munmap(struct mm_struct *mm, u64 start, u64 end);
/* The last user is gone: nobody else can reach mm. May sleep. */
void exit_mmap(struct mm_struct *mm);

/* ---- fault.c ---- */

/* mach_signal; flags are MACH_FAULT_*. Interrupts on; may sleep. */
int do_user_addr_fault(struct mm_struct *mm, u64 addr, u32 flags);

/* ---- memory.c: zapping and freeing tables. mmap_lock held, any mode. ---- */

void unmap_page_range(struct mmu_gather *tlb, struct vm_area_struct *vma,
		      u64 addr, u64 end);
/* The parts in [start, end) of n VMAs, which are in order. */
void unmap_vmas(struct mmu_gather *tlb, struct vm_area_struct **vmas, u32 n,
		u64 start, u64 end);
/* A gather of its own, on behalf of madvise. */
void zap_page_range_single(struct vm_area_struct *vma, u64 address, u64 size);
/*
 * Tables of n VMAs that nobody can find any more, as far as they map nothing
 * else: floor is the end of the VMA before, ceiling the start of the one after
 * (0: none).
 */
void free_pgtables(struct mmu_gather *tlb, struct vm_area_struct **vmas, u32 n,
		   u64 floor, u64 ceiling);
/* Clear and flush one entry, under its lock. */
pte_t ptep_clear_flush(struct vm_area_struct *vma, u64 addr, pte_t *ptep);

/* ---- shmem.c: shared anonymous memory ---- */

/* A file of size bytes with one user; NULL: no memory. */
struct address_space *shmem_file_setup(u64 size);
/* Another VMA maps it. */
static inline void get_file(struct address_space *file)
{
	atomic_inc(&file->refs);
}
/*
 * A VMA is gone. The last one leaves the file to task_work_run(), which frees
 * its pages on the way back to user mode, when no lock is held.
 */
void fput(struct address_space *file);
void task_work_run(void);
/*
 * The page at index, allocated or read back if need be, with a reference and locked. NULL: no
 * memory. May sleep.
 */
struct page *shmem_get_page(struct address_space *file, u64 index);
/* The page at index, if there is one in memory, with a reference; not locked. */
struct page *shmem_find_page(struct address_space *file, u64 index);
/* Page locked: write it to its swap slot. 0 or -ENOMEM. */
int shmem_writepage(struct page *page);
/*
 * Page locked, not mapped: if it is clean, has a swap slot, and nobody but the file and the
 * caller has a reference, the slot takes its place; its count is 0 then.
 */
bool shmem_remove_frozen(struct page *page);
/*
 * Both locked, old not mapped: if nobody but the file and the caller has a reference to old,
 * new takes its place, and the caller's is the last one of old.
 */
bool shmem_replace_frozen(struct page *old, struct page *new);
/* Pages [start, end) of the file are no more, for whoever maps them. May sleep. */
void shmem_truncate_range(struct address_space *file, u64 start, u64 end);

#endif
