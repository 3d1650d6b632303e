/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared anonymous memory: a file without a name, all of it page cache. Its
 * pages are in a radix tree of fixed height, allocated where it is touched. A slot of the
 * tree has a page, or, once that was reclaimed, the swap slot with its contents.
 *
 * Changing a slot is done under i_pages_lock (and, of a page, its lock); finding a page
 * without a lock: take a reference, then look whether the page is still there. Who finds one
 * that has no reference any more asks again under the lock, where what is in the tree
 * has the tree's.
 *
 * Swap as a file's blocks. A page that was written out keeps its swap slot (page->private)
 * as a file keeps its block, clean until somebody writes to it; reclaim then
 * drops it without I/O. Linux' shmem writes out only what it drops, and has the page in the
 * swap cache meanwhile; writeback of pages that stay (msync) is what other files
 * have. A page that is read back gives up its slot, as in Linux.
 */
#include "mm/lru.h"
#include "mm/rmap.h"
#include "mm/swap.h"

#define PC_SHIFT	6
#define PC_SLOTS	(1U << PC_SHIFT)

struct pc_node {
	void *slot[PC_SLOTS];	/* shared: nodes, at the lowest level pages */
	u32 count;		/* i_pages_lock: slots in use */
};

/* A swap slot in place of a page. */
static inline bool is_value(const void *slot)
{
	return (uintptr_t)slot & 1;
}

static inline void *mk_value(u64 offset)
{
	return (void *)(uintptr_t)(offset << 1 | 1);
}

static inline u64 to_value(const void *slot)
{
	return (uintptr_t)slot >> 1;
}

struct address_space *shmem_file_setup(u64 size)
{
	struct address_space *file = kzalloc(sizeof(*file));
	u64 nr_pages = size >> PAGE_SHIFT;

	for (file->height = 1; (nr_pages - 1) >> (PC_SHIFT * file->height);)
		file->height++;
	atomic_set(&file->refs, 1);
	INIT_LIST_HEAD(&file->i_mmap);
	return file;
}

/* A page, a value, or NULL. */
static void *pc_find(struct address_space *file, u64 index)
{
	void *node = smp_load_acquire(&file->i_pages);

	for (u32 level = file->height; node && level; level--) {
		u32 i = (index >> (PC_SHIFT * (level - 1))) & (PC_SLOTS - 1);

		node = smp_load_acquire(&((struct pc_node *)node)->slot[i]);
	}
	return node;
}

/* Under i_pages_lock: the slot of index, and the node that it is in. */
static void **pc_slot(struct address_space *file, u64 index,
		      struct pc_node **parent)
{
	void **slot = (void **)&file->i_pages;

	lockdep_assert_held(&file->i_pages_lock);
	*parent = NULL;
	for (u32 level = file->height; level; level--) {
		u32 i = (index >> (PC_SHIFT * (level - 1))) & (PC_SLOTS - 1);
		struct pc_node *node = READ_ONCE(*slot);

		if (!node) {
			node = kzalloc(sizeof(*node));
			smp_store_release(slot, (void *)node);
			if (*parent)
				(*parent)->count++;
		}
		slot = &node->slot[i];
		*parent = node;
	}
	return slot;
}

/* Under i_pages_lock, without allocating: the slot of index, or NULL. */
static void **pc_find_slot(struct address_space *file, u64 index, struct pc_node **parent)
{
	struct pc_node *node = file->i_pages;

	lockdep_assert_held(&file->i_pages_lock);
	*parent = NULL;
	for (u32 level = file->height; node; level--) {
		void **slot = &node->slot[(index >> (PC_SHIFT * (level - 1))) &
					  (PC_SLOTS - 1)];

		*parent = node;
		if (level == 1)
			return slot;
		node = *slot;
	}
	return NULL;
}

/* What is at index, a page with a reference. */
static void *pc_get(struct address_space *file, u64 index)
{
	void *entry = pc_find(file, index);
	struct pc_node *node;
	void **slot;

	if (!entry || is_value(entry))
		return entry;
	if (get_page_unless_zero(entry)) {
		if (pc_find(file, index) == entry)
			return entry;
		put_page(entry);
	}
	spin_lock(&file->i_pages_lock);
	slot = pc_find_slot(file, index, &node);
	entry = slot ? READ_ONCE(*slot) : NULL;
	if (entry && !is_value(entry))
		get_page(entry);
	spin_unlock(&file->i_pages_lock);
	return entry;
}

/* Puts page in, locked, where old is. False: something else is there by now. */
static bool pc_replace(struct address_space *file, u64 index, void *old, struct page *page)
{
	struct pc_node *node;
	void **slot;
	bool same;

	spin_lock(&file->i_pages_lock);
	slot = pc_slot(file, index, &node);
	same = READ_ONCE(*slot) == old;
	if (same) {
		page->mapping = file;
		page->index = index;
		smp_store_release(slot, (void *)page);
		if (!old) {
			node->count++;
			file->nrpages++;
		}
	}
	spin_unlock(&file->i_pages_lock);
	return same;
}

#define PG_new_shmem (PG_swapbacked | PG_lru | PG_locked)

/* A new page, zero. NULL: no memory. */
static struct page *shmem_alloc(struct address_space *file, u64 index)
{
	struct page *page = alloc_user_page(PG_new_shmem);

	if (!page)
		return NULL;
	mach_charge(SHMEM_ALLOC, 1);
	/* The first reference is the page cache's. */
	get_page(page);
	if (pc_replace(file, index, NULL, page)) {
		lru_cache_add(page);
		return page;
	}
	put_page(page);
	put_page(page);
	return shmem_get_page(file, index);
}

/* Once our page is in the tree, nobody else reads, or frees, the swap slot. */
static struct page *shmem_swapin(struct address_space *file, u64 index, void *value)
{
	struct page *page = alloc_page_to_copy(MACH_NODE_LOCAL, PG_new_shmem | PG_dirty);

	if (!page)
		return NULL;
	mach_charge(SHMEM_ALLOC, 1);
	get_page(page);
	if (!pc_replace(file, index, value, page)) {
		put_page(page);
		put_page(page);
		return shmem_get_page(file, index);
	}
	swap_readpage(page, to_value(value));
	swap_free(to_value(value));
	lru_cache_add(page);
	return page;
}

struct page *shmem_get_page(struct address_space *file, u64 index)
{
	void *entry;

	while ((entry = pc_get(file, index)) && !is_value(entry)) {
		struct page *page = entry;

		lock_page(page);
		if (page->mapping == file && page->index == index) {
			mach_charge(SHMEM_FIND, 1);
			return page;
		}
		/* Truncated, or reclaimed, before we had the lock. */
		unlock_page(page);
		put_page(page);
	}
	return entry ? shmem_swapin(file, index, entry) : shmem_alloc(file, index);
}

struct page *shmem_find_page(struct address_space *file, u64 index)
{
	void *entry = pc_get(file, index);

	return entry && !is_value(entry) ? entry : NULL;
}

/* ---- pages leave ---- */

/* Page locked. Its swap slot is not needed any more. */
static void shmem_free_slot(struct page *page)
{
	if (page->private)
		swap_free(page->private);
	page->private = 0;
}

int shmem_writepage(struct page *page)
{
	if (!page->private)
		page->private = swap_alloc_slot();
	return page->private ? swap_writepage(page, page->private) : -ENOMEM;
}

bool shmem_remove_frozen(struct page *page)
{
	struct address_space *file = page->mapping;
	struct pc_node *node;
	void **slot;
	bool done;

	spin_lock(&file->i_pages_lock);
	done = page_ref_freeze(page, 2);
	if (done && (READ_ONCE(page->flags) & PG_dirty)) {
		page_ref_unfreeze(page, 2);
		done = false;
	}
	if (done) {
		slot = pc_find_slot(file, page->index, &node);
		/* One that nobody wrote to is zero, and needs no slot to come back. */
		if (page->private) {
			smp_store_release(slot, mk_value(page->private));
		} else {
			smp_store_release(slot, NULL);
			node->count--;
			file->nrpages--;
		}
		page->mapping = NULL;
		page->private = 0;
	}
	spin_unlock(&file->i_pages_lock);
	if (done)
		mach_charge(SHMEM_FREE, 1);
	return done;
}

bool shmem_replace_frozen(struct page *old, struct page *new)
{
	struct address_space *file = old->mapping;
	struct pc_node *node;
	bool done;

	spin_lock(&file->i_pages_lock);
	done = page_ref_freeze(old, 2);
	if (done) {
		new->mapping = file;
		new->index = old->index;
		new->private = old->private;
		get_page(new);
		smp_store_release(pc_find_slot(file, old->index, &node), (void *)new);
		old->mapping = NULL;
		old->private = 0;
		page_ref_unfreeze(old, 1);
	}
	spin_unlock(&file->i_pages_lock);
	return done;
}

/* Page locked, not mapped. Drops the page cache's reference. */
static void shmem_delete(struct address_space *file, struct page *page)
{
	struct pc_node *node;
	void **slot;

	spin_lock(&file->i_pages_lock);
	slot = pc_find_slot(file, page->index, &node);
	WRITE_ONCE(*slot, NULL);
	node->count--;
	file->nrpages--;
	spin_unlock(&file->i_pages_lock);
	shmem_free_slot(page);
	page->mapping = NULL;
	mach_charge(SHMEM_FREE, 1);
	put_page(page);
}

static void shmem_delete_value(struct address_space *file, u64 index, void *value)
{
	struct pc_node *node;
	void **slot;
	bool same;

	spin_lock(&file->i_pages_lock);
	slot = pc_find_slot(file, index, &node);
	same = slot && READ_ONCE(*slot) == value;
	if (same) {
		WRITE_ONCE(*slot, NULL);
		node->count--;
		file->nrpages--;
	}
	spin_unlock(&file->i_pages_lock);
	if (same)
		swap_free(to_value(value));
}

void shmem_truncate_range(struct address_space *file, u64 start, u64 end)
{
	for (u64 index = start; index < end; index++) {
		void *entry;

		while ((entry = pc_get(file, index)) && !is_value(entry)) {
			struct page *page = entry;
			bool ours;

			lock_page(page);
			ours = page->mapping == file && page->index == index;
			if (ours) {
				/* Locked, so no fault maps it again. */
				try_to_unmap(page, 0);
				shmem_delete(file, page);
			}
			unlock_page(page);
			put_page(page);
			if (ours)
				break;
		}
		if (entry && is_value(entry))
			shmem_delete_value(file, index, entry);
		cond_resched();
	}
	mapping_flush_batched_pending(file, start, end);
}

/* With a reference. False: it is not in the file any more; look what is. */
static bool evict_isolated(struct address_space *file, struct page *page)
{
	bool ours;

	lock_page(page);
	ours = page->mapping == file;
	if (ours) {
		shmem_free_slot(page);
		page->mapping = NULL;
		put_page(page);
	}
	unlock_page(page);
	put_page(page);
	return ours;
}

static bool leaf_in_use(struct address_space *file, struct pc_node *n)
{
	lockdep_assert_held(&file->i_pages_lock);
	return n->count;
}

/*
 * The pages of one node of the lowest level; no VMA maps them. Those that reclaim or
 * migration has isolated are waited for: as long as they have such a page locked, they use the
 * file.
 */
static void evict_leaf(struct address_space *file, struct pc_node *n)
{
	spin_lock(&file->i_pages_lock);
	for (u32 i = 0; leaf_in_use(file, n); i++) {
		void *slot = READ_ONCE(n->slot[i]);
		struct page *page = slot;

		if (!slot)
			continue;
		n->count--;
		mach_charge(SHMEM_FREE, 1);
		if (is_value(slot)) {
			swap_free(to_value(slot));
		} else if (page_ref_freeze(page, 1)) {
			shmem_free_slot(page);
			__put_page(page);
		} else {
			get_page(page);
			spin_unlock(&file->i_pages_lock);
			if (!evict_isolated(file, page)) {
				n->count++;
				i--;
			}
			spin_lock(&file->i_pages_lock);
		}
	}
	spin_unlock(&file->i_pages_lock);
}

static void pc_free(struct address_space *file, struct pc_node *n, u32 level)
{
	if (level == 1)
		evict_leaf(file, n);
	for (u32 i = 0; level > 1 && n->count; i++) {
		if (!n->slot[i])
			continue;
		n->count--;
		pc_free(file, n->slot[i], level - 1);
	}
	kfree(n, sizeof(*n));
	cond_resched();
}

/* No VMA maps it, nobody can find it but by a page. */
static void shmem_evict(struct address_space *file)
{
	mach_charge(FILE_RELEASE, 1);
	if (file->i_pages)
		pc_free(file, file->i_pages, file->height);
	kfree(file, sizeof(*file));
}

void fput(struct address_space *file)
{
	if (!atomic_dec_and_test(&file->refs))
		return;
	file->next_fput = current->delayed_fput;
	current->delayed_fput = file;
}

void task_work_run(void)
{
	while (unlikely(current->delayed_fput)) {
		struct address_space *file = current->delayed_fput;

		current->delayed_fput = file->next_fput;
		shmem_evict(file);
	}
}
