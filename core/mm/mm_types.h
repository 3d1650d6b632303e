/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of the core: the root, tasks, address spaces, areas, pages.
 *
 * Named as in Linux (include/linux/mm_types.h, sched.h), with only the fields
 * that this core uses. Each field names the lock that guards it; "shared" means
 * a shared word (READ_ONCE and friends), "const" set before publication.
 */
#ifndef CORE_MM_TYPES_H
#define CORE_MM_TYPES_H

#include "kernel.h"
#include "knobs.h"

/* An entry of any level; the architecture gives the bits. Shared word. */
typedef struct { u64 pte; } pte_t;
typedef struct { u64 pmd; } pmd_t;
typedef struct { u64 pud; } pud_t;
typedef struct { u64 p4d; } p4d_t;
typedef struct { u64 pgd; } pgd_t;
typedef struct { u64 pgprot; } pgprot_t;
typedef struct page *pgtable_t;
typedef u32 vm_fault_t;

#include "arch_types.h"	/* mm_context_t, struct arch_cpu, struct arch_root */

/*
 * Geometry of the page tables, set at boot by arch_init_geometry() from
 * env->page_shift and the machine's knobs. A folded level has shift equal to
 * that of the level below it, and one entry.
 */
struct pt_geometry {
	u32 page_shift;		/* bytes of a base page, log2 */
	u32 pmd_shift;		/* bytes that a PTE table maps, log2 */
	u32 pud_shift;		/* ... a PMD table */
	u32 p4d_shift;		/* ... a PUD table */
	u32 pgdir_shift;	/* ... a P4D table */
	u32 ptrs_per_pte, ptrs_per_pmd, ptrs_per_pud, ptrs_per_p4d, ptrs_per_pgd;
	bool pmd_folded, pud_folded, p4d_folded;
	u64 task_size;		/* first address that user mode may not have */
};

/* rwsem.h gives the algorithm. */
struct rw_semaphore {
	atomic_long_t count;	/* shared */
	u64 owner;		/* shared: task and flags */
	struct {
		u64 tail;	/* shared: CPU + 1 of the last spinner */
	} osq;
	spinlock_t wait_lock;
	struct list_head wait_list __guarded_by(wait_lock);
};

struct address_space;

struct shmid_kernel;

/* One per base page of memory. */
struct page {
	atomic_t _refcount;	/* shared */
	atomic_t _mapcount;	/* shared; -1: not mapped */
	u32 flags;		/* shared: PG_* */
	u32 cpupid;		/* shared: who had a hinting fault last: numa.h */
	u64 index;		/* in mapping or anon_vma, base pages; const while mapped */
	union {
		struct address_space *mapping;	/* page lock; NULL: truncated */
		struct anon_vma *anon_vma;	/* const while mapped: rmap.h */
		/*
		 * Tables set aside for huge pages (huge_mm.h): of a PMD table the
		 * first, of such a table the next. The PMD table's ptl.
		 */
		pgtable_t deposited;
	};
	union {
		spinlock_t ptl;		/* a page table's lock */
		struct rcu_head rcu_head; /* a page table being freed */
		struct {		/* a page of user mode */
			struct list_head lru;	/* who isolated it: vmscan.h */
			u64 private;	/* page lock: its swap slot, or 0 */
		};
	};
};

#define PG_table	0x1
#define PG_dirty	0x2
#define PG_anon		0x4
#define PG_swapbacked	0x8
/* Anonymous, and mapped by this entry alone: a write needs no copy. */
#define PG_anon_exclusive 0x10
#define PG_locked	0x20	/* the page lock: filemap.h */
#define PG_waiters	0x40	/* somebody sleeps for it */
#define PG_lru		0x80	/* reclaim may take it; cleared by who isolates it */
#define PG_swapcache	0x100	/* anonymous, and in the swap cache at private */
#define PG_lru_listed	0x200	/* freeing it takes the LRU's lock: lru.h */

/* Of a file or an anon_vma: rmap.h. */
struct rmap_lock {
	u32 word;	/* shared: walks under way; RMAP_WRITER, RMAP_WAITING */
	u32 owner;	/* who has it for writing; CPU + 1: for assertions */
};

/* The page cache of one file; here always shmem. shmem.c has the tree. */
struct address_space {
	spinlock_t i_pages_lock;
	struct pc_node *i_pages __guarded_by(i_pages_lock);
	u32 height;		/* const: of the tree */
	u64 nrpages __guarded_by(i_pages_lock);
	atomic_t refs;		/* shared: VMAs that map it, and its segment's id */
	u64 shm_size;		/* const: bytes of a System V segment; else 0 */
	struct rmap_lock i_mmap_lock;
	struct list_head i_mmap __guarded_by(i_mmap_lock); /* VMAs: rmap.h */
	/* In task_struct.delayed_fput, once refs is zero: that task. */
	struct address_space *next_fput;
};

struct vm_area_struct {
	u64 vm_start, vm_end;	/* vm_mm->mmap_lock */
	struct mm_struct *vm_mm; /* const */
	u64 vm_flags;		/* mmap_lock, write */
	pgprot_t vm_page_prot;	/* mmap_lock, write */
	u64 vm_pgoff;		/* mmap_lock */
	struct address_space *vm_file; /* const: NULL for private anonymous */
	/* NULL until the first fault; set once, under page_table_lock: rmap.h. */
	struct anon_vma *anon_vma;
	struct list_head rmap_node;	/* lock of i_mmap or of the anon_vma */
	/* Per-VMA lock (6.4): mmap_lock.h. */
	u32 vm_lock_seq;	/* shared */
	bool detached;		/* mmap_lock, write */
	struct rw_semaphore vm_lock;
	struct rcu_head vm_rcu;	/* once unlinked */
};

#define VM_READ		0x1UL
#define VM_WRITE	0x2UL
#define VM_EXEC		0x4UL
#define VM_SHARED	0x8UL
#define VM_PFNMAP	0x400UL
#define VM_MIXEDMAP	0x10000000UL
#define VM_HUGEPAGE	0x20000000UL
#define VM_NOHUGEPAGE	0x40000000UL
#define VM_HUGETLB	0x400000UL

struct mm_struct {
	struct rw_semaphore mmap_lock;
	u32 mm_lock_seq;	/* shared; written under mmap_lock, write */
	/* Areas, sorted by address; vma.h says who may look without the lock. */
	u32 areas_seq;		/* shared: odd while areas change */
	struct vm_area_struct **areas __guarded_by(mmap_lock); /* vma.h */
	u32 map_count __guarded_by(mmap_lock);
	u32 areas_size __guarded_by(mmap_lock);
	pgd_t *pgd;		/* const */
	u64 pgd_pfn;		/* const */
	u64 mmap_base;		/* const: top-down placement starts below */
	u64 task_size;		/* const */
	atomic_t mm_users;	/* shared */
	atomic_t mm_count;	/* shared */
	atomic_t tlb_flush_pending; /* shared: gathers in flight */
	atomic_t tlb_flush_batched; /* shared: deferred flushes, rmap.h */
	atomic_long_t pgtables_bytes; /* shared */
	spinlock_t page_table_lock;
	mm_context_t context;	/* arch_types.h says */
	struct cpumask cpu_bitmap; /* shared: mm_cpumask() */
	/* Shared: odd while fork write-protects; written under mmap_lock, write. */
	u32 write_protect_seq;
	u32 has_pinned;		/* shared: a page was pinned (MMF_HAS_PINNED); stays */
	u32 huge_zero;		/* shared: it holds the huge page of zeroes; stays */
	/* NUMA balancing: numa.h. Shared words. */
	u32 numa_scan_seq;	/* passes over all of it */
	u64 numa_next_scan;	/* ms */
	u64 numa_scan_offset;	/* where the next scan begins */
};

#define mm_cpumask(mm) (&(mm)->cpu_bitmap)

/*
 * Flushes that reclaim owes, of any number of address spaces; the task's own. rmap.h.
 */
struct tlbflush_unmap_batch {
	struct arch_tlbflush_unmap_batch arch;	/* arch_types.h */
	bool flush_required;
	bool writable;		/* one of them may still be written through */
};

struct task_struct {
	struct mm_struct *mm;		/* task itself; NULL for idle tasks */
	struct mm_struct *active_mm;	/* runqueue: its CPU, interrupts off */
	bool in_user;			/* task itself, and its switches */
	u32 on_cpu;			/* shared: 1 while it runs */
	u32 cpu;			/* shared: where it runs or last ran */
	bool idle;			/* const */
	bool exiting;			/* task itself, then its last switch */
	struct address_space *delayed_fput; /* task itself */
	struct rcu_head rcu;		/* once it has left its CPU for good */
	/* What clone() gave it to run. Task itself. */
	void (*fn)(void *arg);
	void *arg;
	struct tlbflush_unmap_batch tlb_ubc;	/* task itself */
	u32 bind_node;			/* task itself: node + 1 of its memory policy */
	struct task_numa *numa;		/* task itself: core/numa.c */
};

/* Counters of core_module.stats(), by CPU, summed when read. */
#define CORE_STATS(X)                                                           \
	X(pgfault, "vmstat.pgfault")                                            \
	X(pgfault_spurious, "vmstat.pgfault_spurious")                          \
	X(tlb_remote_flush, "vmstat.nr_tlb_remote_flush")                       \
	X(tlb_remote_flush_received, "vmstat.nr_tlb_remote_flush_received")     \
	X(tlb_local_flush_all, "vmstat.nr_tlb_local_flush_all")                 \
	X(tlb_local_flush_one, "vmstat.nr_tlb_local_flush_one")                 \
	X(gathers_madvise, "gather.madvise")                                    \
	X(gathers_munmap, "gather.munmap")                                      \
	X(gathers_mprotect, "gather.mprotect")                                  \
	X(gathers_exit, "gather.exit")                                          \
	X(nested_madvise, "gather.madvise_nested")                              \
	X(nested_munmap, "gather.munmap_nested")                                \
	X(nested_mprotect, "gather.mprotect_nested")                            \
	X(tables_freed, "gather.tables_freed")                                  \
	X(tables_reclaimed, "gather.tables_reclaimed")                          \
	X(table_batch_failed, "gather.table_batch_failed")                      \
	X(rwsem_sleep, "rwsem.sleeps")                                          \
	X(rwsem_spin, "rwsem.spins")                                            \
	X(thp_fault_alloc, "vmstat.thp_fault_alloc")                            \
	X(thp_fault_fallback, "vmstat.thp_fault_fallback")                      \
	X(thp_split_pmd, "vmstat.thp_split_pmd")                                \
	X(thp_swpout, "vmstat.thp_swpout")                                      \
	X(thp_collapse_alloc, "vmstat.thp_collapse_alloc")                      \
	X(prot_pages, "protect.pages")                                          \
	X(prot_huge_pages, "protect.huge_pages")                                \
	X(cow_copy, "cow.copies")                                               \
	X(cow_reuse, "cow.reuses")                                              \
	X(gup_fast_pages, "gup.fast_pages")                                     \
	X(gup_fast_backoff, "gup.fast_backoffs")                                \
	X(move_ptes, "mremap.ptes")                                             \
	X(move_tables, "mremap.tables")                                         \
	X(move_huge, "mremap.huge_pages")                                       \
	X(pgsteal, "vmstat.pgsteal")                                            \
	X(pswpin, "vmstat.pswpin")                                              \
	X(pswpout, "vmstat.pswpout")                                            \
	X(reclaim_kept, "reclaim.kept")                                         \
	X(unmap_ptes, "rmap.unmapped")                                          \
	X(unmap_deferred, "rmap.deferred")                                      \
	X(unmap_flushes, "rmap.batch_flushes")                                  \
	X(unmap_pending, "rmap.pending_flushes")                                \
	X(pgmigrate_success, "vmstat.pgmigrate_success")                        \
	X(pgmigrate_fail, "vmstat.pgmigrate_fail")                              \
	X(migration_waits, "migrate.fault_waits")                               \
	X(numa_pte_updates, "vmstat.numa_pte_updates")                          \
	X(numa_huge_pte_updates, "vmstat.numa_huge_pte_updates")                \
	X(numa_hint_faults, "vmstat.numa_hint_faults")                          \
	X(numa_hint_faults_local, "vmstat.numa_hint_faults_local")              \
	X(numa_pages_migrated, "vmstat.numa_pages_migrated")                    \
	X(numa_task_migrated, "vmstat.numa_task_migrated")                      \
	X(numa_task_swapped, "vmstat.numa_task_swapped")                        \
	X(numa_groups_joined, "numa.groups_joined")                             \
	X(numa_ratelimited, "numa.ratelimited")                                 \
	X(pages_written, "file.pages_written")                                  \
	X(asid_rollover, "asid.rollovers")                                      \
	X(pcid_reuse, "asid.pcid_reuses")                                       \
	X(global_asids, "asid.global")

enum core_stat_id {
#define X(id, name) STAT_##id,
	CORE_STATS(X)
#undef X
	NR_CORE_STATS,
};

/* Who sleeps for a page: filemap.c. */
#define PAGE_WAIT_TABLE 16
struct page_wait_queue {
	spinlock_t lock;
	struct list_head waiters __guarded_by(lock);
};

/* PAGEVEC_SIZE */
#define LRU_BATCH_SIZE 15

struct core_cpu {
	struct task_struct *idle;	/* const */
	/* Shared: who runs here; kept only with numa.balancing. */
	struct task_struct *curr;
	u32 swap_next;			/* this CPU only: where to look for a slot */
	u32 nr_lru;			/* this CPU only */
	struct page *lru_batch[LRU_BATCH_SIZE]; /* this CPU only: lru.h */
	u32 lru_needs_drain;		/* shared, stored here only: nr_lru is not 0 */
	u64 stat[NR_CORE_STATS];	/* this CPU only */
	struct arch_cpu arch;		/* arch_types.h says */
	/* Spinner's node of the rwsem's optimistic queue. */
	struct osq_node {
		u32 next;		/* shared: CPU + 1 */
		u32 prev;		/* shared: CPU + 1 */
		u32 locked;		/* shared */
	} osq;
};

/* The root of one booted core: env->core. */
struct kernel {
	s64 knobs[NR_CORE_KNOBS];	/* const */
	struct pt_geometry geo;		/* const */
	struct page *memmap;		/* const pointer */
	u64 zero_pfn;			/* const: the page of zeroes */
	/* The huge one: huge_zero.c. */
	spinlock_t huge_zero_lock;
	atomic_t huge_zero_refcount;	/* shared: from 0 and to 0 under huge_zero_lock */
	u64 huge_zero_pfn;		/* shared; written under huge_zero_lock; 0: there is none */
	/* Per aligned 2 MiB of memory, whether it is one huge page: page.h. */
	u8 *huge_map;			/* const pointer; NULL: there are none */
	struct swap_info *swap;		/* const pointer: swap.h */
	struct page_wait_queue page_wait[PAGE_WAIT_TABLE];
	struct core_cpu *cpu;		/* [nr_cpus] */
	struct arch_root arch;		/* arch_types.h says */
	struct task_struct *init_task;	/* const */
	struct mm_struct *init_mm;	/* const: kernel's own, for idle tasks */
	/* System V segments: shm.c. */
	spinlock_t shm_lock;
	struct shmid_kernel *shm __guarded_by(shm_lock);
	s64 shm_next_id __guarded_by(shm_lock);
	/* By node; on lines of their own. lru.h. */
	struct node_lru_lock {
		spinlock_t lock;
	} __attribute__((aligned(64))) lru_lock[TLBLAB_MAX_NODES];
	/* By node: what moved there in the present window of numa.ratelimit_mb. Shared words. */
	struct numa_window {
		u64 end_ms;
		u64 pages;
	} numa_window[TLBLAB_MAX_NODES];
};

static __always_inline struct kernel *kernel(void)
{
	return mach_env()->core;
}

static __always_inline struct core_cpu *this_cpu(void)
{
	return &kernel()->cpu[smp_processor_id()];
}

#define count_vm_event(id) (this_cpu()->stat[STAT_##id]++)
#define count_vm_events(id, n) (this_cpu()->stat[STAT_##id] += (n))

#define TASK_SIZE (kernel()->geo.task_size)
#define PAGE_SHIFT (kernel()->geo.page_shift)
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define PAGE_ALIGN(x) round_up((u64)(x), PAGE_SIZE)
#define PMD_SHIFT (kernel()->geo.pmd_shift)
#define PMD_SIZE (1UL << PMD_SHIFT)
#define PMD_MASK (~(PMD_SIZE - 1))
#define PUD_SHIFT (kernel()->geo.pud_shift)
#define PUD_SIZE (1UL << PUD_SHIFT)
#define PUD_MASK (~(PUD_SIZE - 1))
#define P4D_SHIFT (kernel()->geo.p4d_shift)
#define P4D_SIZE (1UL << P4D_SHIFT)
#define P4D_MASK (~(P4D_SIZE - 1))
#define PGDIR_SHIFT (kernel()->geo.pgdir_shift)
#define PGDIR_SIZE (1UL << PGDIR_SHIFT)
#define PGDIR_MASK (~(PGDIR_SIZE - 1))

/* A huge page. */
#define HPAGE_PMD_ORDER (PMD_SHIFT - PAGE_SHIFT)
#define HPAGE_PMD_NR (1UL << HPAGE_PMD_ORDER)
#define HPAGE_PMD_SIZE PMD_SIZE
#define HPAGE_PMD_MASK PMD_MASK

#define __va(pa) ((void *)(mach_env()->phys_base + (pa)))
#define __pa(va) ((u64)((char *)(va) - mach_env()->phys_base))
#define pfn_to_page(pfn) (&kernel()->memmap[pfn])
#define page_to_pfn(page) ((u64)((page) - kernel()->memmap))
#define virt_to_page(p) pfn_to_page(__pa(p) >> PAGE_SHIFT)
#define page_to_virt(page) __va(page_to_pfn(page) << PAGE_SHIFT)

#endif
