/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reverse map: from a page to the entries that map it; and taking those away.
 *
 * A page of a file knows its file and its index there, and the file knows the VMAs that map
 * it. An anonymous page knows an anon_vma and an index as if its VMA were a file, and
 * the anon_vma knows the VMAs in which the page may be: the one that it was first mapped in,
 * what that was split into or moved to, and the copies of all these in children. (Linux
 * gives each child an anon_vma of its own besides, so that fewer VMAs are searched in vain;
 * it had one for the whole family, as here, up to 2.6.33.) In each VMA the page is at
 * one address, or not there any more: the entry tells.
 *
 * Locks, outermost first: page lock; i_mmap_lock or anon_vma->lock, "the rmap lock"; the
 * page-table locks. Walks share the rmap lock. A VMA is on its list from
 * before its first page until no page is left, but before its tables are freed: so under the rmap
 * lock the tables of a VMA on the list may be walked, without the mmap_lock, and who takes a
 * table away under a VMA that stays (collapse, mremap) holds the rmap lock.
 *
 * A walk must not miss an entry that moves. In the order of the list new VMAs come last:
 * a child behind its parent, the target of mremap behind the source. An entry that goes the
 * same way as the walk is met at one end or at the other. Whole tables move under a lock
 * that the walk does not look at, and under the rmap lock for that reason
 * (mm.mremap_rmap_lock):
 *
 *	mremap			reclaim				a thread
 *				  at the old address: locks the
 *				  table, finds the page
 *	  moves the table,
 *	  flushes old
 *								  caches new
 *				  clears the entry, flushes old
 *				  frees the page
 *								  uses new
 *
 * ---- Deferred flushes ----
 *
 * Taking away the entries of many pages, reclaim need not flush after each: nothing is
 * freed, and nothing that was dirty is written out, before try_to_unmap_flush(). The task
 * keeps what it owes in tlb_ubc; the architecture knows how: x86 adds up the CPUs to be
 * interrupted, arm64 has issued its TLBIs and not waited.
 *
 * Others cannot see that in the page table: an entry is gone whose translations are not.
 *
 *	reclaim				mprotect or munmap	a thread
 *								  caches the entry
 *	  clears it, owes the flush
 *					  nothing there: no flush
 *					  returns
 *								  writes
 *	  try_to_unmap_flush()
 *
 * So mm->tlb_flush_batched counts, in two halves, deferred flushes (set under the page-table
 * lock) and how many of them are known to be done. Who walks entries in order to take something
 * away calls flush_tlb_batched_pending() under the page-table lock, and so sees the
 * count of every entry that it finds gone. try_to_unmap_flush() does not write the
 * second half: it does not know the mms. The first one who asks pays once more than needed.
 */
#ifndef CORE_MM_RMAP_H
#define CORE_MM_RMAP_H

#include "mm/filemap.h"
#include "mm/huge_mm.h"

/*
 * The rmap lock. For reading by walks, which go on beside each other: a page is kept still by its
 * own lock, and a walk that flushes would hold up all others. For writing by who changes the list
 * or takes tables away. A writer that has to wait keeps new walks out. Linux has a rwsem here:
 * there who waits may sleep, here it spins.
 *
 * Acquire on the way in, release on the way out. Interrupts on; a holder does not sleep.
 */
#define RMAP_WRITER	0x80000000U
#define RMAP_WAITING	0x40000000U

void rmap_lock_read(struct rmap_lock *lock);
void rmap_unlock_read(struct rmap_lock *lock);
void rmap_lock_write(struct rmap_lock *lock);
void rmap_unlock_write(struct rmap_lock *lock);

struct anon_vma {
	struct rmap_lock lock;
	struct list_head head __guarded_by(lock);	/* VMAs, by rmap_node */
	atomic_t refcount;	/* shared: VMAs until they are freed, and walks under way */
	struct rcu_head rcu;	/* once it is 0 */
};

static inline void anon_vma_free(struct anon_vma *av)
{
	kfree(av, sizeof(*av));
}

/* ---- VMAs come and go. mmap_lock for writing, but for anon_vma_prepare(). ---- */

/* The VMA locked in any mode. Before the first anonymous page: 0 or -ENOMEM. */
int anon_vma_prepare(struct vm_area_struct *vma);
/* vma, new and not yet on a list, maps what of maps, or the same file. */
void vma_rmap_clone(struct vm_area_struct *vma, struct vm_area_struct *of);
/* vma, new and not yet on a list, maps its file. */
void vma_rmap_link_file(struct vm_area_struct *vma);
/* vma ends at addr, where new, not yet on a list, begins. */
void vma_rmap_split(struct vm_area_struct *vma, struct vm_area_struct *new, u64 addr);
/* prev grows over next, which is not used any more; of at most one anon_vma. */
void vma_rmap_merge(struct vm_area_struct *prev, struct vm_area_struct *next);
/* Nothing of it is mapped any more. */
void vma_rmap_unlink(struct vm_area_struct *vma);
/* The rmap lock of vma, or NULL: it never had a page. */
struct rmap_lock *vma_rmap_lock(struct vm_area_struct *vma);

/* Holds still whoever walks to vma: around what walks must see as one step. */
static inline struct rmap_lock *take_rmap_lock(struct vm_area_struct *vma)
{
	struct rmap_lock *lock = vma_rmap_lock(vma);

	if (lock)
		rmap_lock_write(lock);
	return lock;
}

static inline void drop_rmap_lock(struct rmap_lock *lock)
{
	if (lock)
		rmap_unlock_write(lock);
}

static inline u64 linear_page_index(const struct vm_area_struct *vma, u64 addr)
{
	return vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
}

/*
 * An anonymous page that nothing maps gets its first entry, at addr (of a huge page: of
 * the whole, or of this part). It is new, or locked. Under the page-table lock.
 */
void page_add_new_anon_rmap(struct page *page, struct vm_area_struct *vma, u64 addr);

/* ---- walking: page locked ---- */

/*
 * Called for each part of a VMA where entries of page (a head) may be: [addr, end). False:
 * enough. Under the rmap lock, so it may not sleep.
 */
typedef bool (*rmap_one_t)(struct page *page, struct vm_area_struct *vma, u64 addr, u64 end,
			   void *arg);

/*
 * The anon_vma of an anonymous page that is mapped, held; else NULL. The pointer in the page
 * may be old: all VMAs may be gone, and it with them. But if, inside a read section, the page
 * is mapped, then a VMA was there, and what it held is freed no earlier than we are out.
 */
struct anon_vma *page_get_anon_vma(struct page *page);
void put_anon_vma(struct anon_vma *av);
/*
 * For a page of a file av is NULL. Migration takes av before it makes the page unmapped, and
 * walks with it again at the end.
 */
void rmap_walk_held(struct page *page, struct anon_vma *av, rmap_one_t one, void *arg);
/*
 * The entry at addr, locked, or NULL: no table is there. A huge page is split first. Under
 * the rmap lock.
 */
pte_t *page_vma_mapped_pte(struct vm_area_struct *vma, u64 addr, spinlock_t **ptl);

enum ttu_flags {
	TTU_BATCH_FLUSH = 1,	/* the caller will try_to_unmap_flush() */
};

/*
 * Take away all entries of page; of an anonymous one, which is in the swap cache, they become
 * swap entries. Entries may be left (page_mapped()), or new ones come, but not of a
 * page that is in the swap cache or, being locked, in a file. A huge page's PMD entries are split
 * first.
 */
void try_to_unmap(struct page *page, u32 flags);
/* The same with migration entries, for the page itself and its parts. */
void try_to_migrate(struct page *page, u32 flags);
/*
 * No entry of a file's page allows to write or is dirty any more; all flushed. Returns
 * whether one was dirty.
 */
bool page_mkclean(struct page *page);

/* ---- deferred flushes ---- */

void try_to_unmap_flush(void);
/* Only if something may still be written through: before I/O of what was unmapped. */
void try_to_unmap_flush_dirty(void);
/*
 * The same for whoever maps [start, end) of file: no entry of it is left, but some were taken
 * away by reclaim, which may owe their flush.
 */
void mapping_flush_batched_pending(struct address_space *file, u64 start, u64 end);
/* Under the page-table lock, before looking at entries in order to take something away. */
void flush_tlb_batched_pending(struct mm_struct *mm);

#endif
