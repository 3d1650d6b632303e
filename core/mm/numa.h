/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NUMA balancing: pages follow the threads that use them, and threads their pages
 * (mm/mempolicy.c and mm/memory.c for the entries, kernel/sched/fair.c for the rest).
 *
 *	tick		task_tick_numa() -> task_numa_work(): every numa_scan_period of its
 *			run time a thread marks the next scan_size of its mm: the entries
 *			stay, but hardware refuses them.
 *	hinting fault	do_numa_page(), do_huge_pmd_numa_page(): who has used which page, and
 *			from where; perhaps the page moves to here; the entry works again.
 *	task_numa_fault() counts, groups threads that share pages, and after each pass over the
 *			mm chooses the node where a thread should run, and how fast to scan.
 *
 * A mark may be cached away: between the marking of an entry and the flush at the end of its
 * range, CPUs go on using it by their TLBs. Two rules follow.
 *
 *  1. No dirty bit may be lost. Hardware sets it in the entry at any moment until the entry
 *     is invalid, so the entry is taken and marked by one atomic operation
 *     (numa.prot_none_update=rmw does not, and scenarios/numa-dirty.tlb has the story).
 *  2. Who moves a marked page may not take "not accessible" for "not cached":
 *     mm->tlb_flush_pending is raised before the first mark, and pte_accessible() looks.
 *
 * Locks. Entries: page-table lock of their table. struct task_numa: the task itself; others
 * read words of it, at worst old. struct numa_group: its lock. struct mm_numa: shared words.
 *
 * All of it is off unless numa.balancing is on; marks that core_syscalls.numa_hint made are
 * mended all the same.
 *
 * Not as in 6.12: no VMA is skipped for being new or unused by the thread; no tiering.
 */
#ifndef CORE_MM_NUMA_H
#define CORE_MM_NUMA_H

#include "mm/fault.h"

#define NUMA_NO_NODE (-1)

enum { MARKING_NUMA_BIT, MARKING_PROTNONE };
enum { UPDATE_CLEAR_FLUSH, UPDATE_RMW, UPDATE_ATOMIC };
enum { GROUP_PTE_WRITE_AFTER_RESTORE, GROUP_DIRTY, GROUP_VMA_WRITE, GROUP_PTE_WRITE };
enum { PRESERVE_OFF, PRESERVE_MARK, PRESERVE_SAVED, PRESERVE_RECOMPUTE };

/* What a fault tells task_numa_fault(). */
#define TNF_MIGRATED		0x01
#define TNF_NO_GROUP		0x02
#define TNF_SHARED		0x04
#define TNF_FAULT_LOCAL		0x08
#define TNF_MIGRATE_FAIL	0x10

static inline bool numa_balancing(void)
{
	return knob(numa_balancing);
}

/* ---- marks: mempolicy.c, mprotect.c ---- */

/*
 * Mark what is mapped in [start, end) of vma. mmap_lock in any mode. Returns how many base
 * pages were marked.
 */
u64 change_prot_numa(struct vm_area_struct *vma, u64 start, u64 end);
/* core_syscalls.numa_hint: the same for all of the current mm there, on demand. */
s64 do_numa_hint(u64 start, u64 len);
/* core_syscalls.set_mempolicy: MPOL_BIND to a node of what the task allocates; -1: local. */
s64 do_set_mempolicy(s32 node);
/* Where the current task's user pages come from. */
s32 policy_node(void);

/*
 * Whether the mark keeps the right to write: for the fault to give back, or (PRESERVE_MARK) only
 * to be looked at, for the fault restores what the VMA says.
 */
static inline bool numa_keeps_write(void)
{
	return knob(numa_marking) == MARKING_NUMA_BIT ||
	       knob(numa_preserve_write) == PRESERVE_MARK ||
	       knob(numa_preserve_write) == PRESERVE_SAVED;
}

/* Is it, under the lock, an entry that must not be marked? See mprotect.c. */
bool prot_numa_skip(struct vm_area_struct *vma, pte_t pte);
/* The entry old, marked. */
pte_t pte_mark_numa(pte_t old);
/* The entry old, without the mark. *plain_write: whether the restored entry had the right to
 * write before any of it was given back by numa.preserve_write. */
pte_t pte_unmark_numa(struct vm_area_struct *vma, pte_t old, bool *plain_write);

/* ---- faults: numa_fault.c. Called without the lock. ---- */

enum fault_result do_numa_page(struct vm_fault *vmf);
enum fault_result do_huge_pmd_numa_page(struct vm_fault *vmf);

/* ---- statistics and placement: core/numa.c. The current task, no locks held. ---- */

/* cpupid: who faulted last, and where; 0: nobody yet. */
u32 page_cpupid_last(struct page *page);
/* Should a page on src_nid move to the node of this CPU? Notes this access. */
bool should_numa_migrate_memory(struct page *page, s32 src_nid);
/* Have too many pages moved to node nid lately for so many more? If not, counts them. */
bool numa_ratelimited(s32 nid, u64 pages);
/* A hinting fault on pages base pages that are on mem_node now. May sleep. */
void task_numa_fault(u32 last_cpupid, s32 mem_node, u64 pages, u32 flags);
/* The current task, a new one, goes where it starts. May sleep. */
void task_numa_fork(void);
/* core_module.tick. May sleep. */
void task_tick_numa(u64 now_ms, u64 ran_ms);
/* The task is exiting; and nobody can be looking at it any more. */
void task_numa_free(struct task_struct *p);
void task_numa_free_rcu(struct task_struct *p);

#endif
