/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared anonymous memory: a file without a name, all of it page cache. Its
 * pages are in a radix tree of fixed height, allocated where it is touched.
 *
 * Inserting is done under i_pages_lock; finding without a lock: nothing is
 * taken out before the last VMA is gone.
 */
#include "mm/lru.h"
#include "mm/mm.h"
#include "mm/page.h"

#define PC_SHIFT	6
#define PC_SLOTS	(1U << PC_SHIFT)

struct pc_node {
	void *slot[PC_SLOTS];	/* shared: nodes, at the lowest level pages */
	u32 count;		/* i_pages_lock: slots in use */
};

struct address_space *shmem_file_setup(u64 size)
{
	struct address_space *file = kzalloc(sizeof(*file));
	u64 nr_pages = size >> PAGE_SHIFT;

	for (file->height = 1; (nr_pages - 1) >> (PC_SHIFT * file->height);)
		file->height++;
	atomic_set(&file->refs, 1);
	return file;
}

static struct page *pc_find(struct address_space *file, u64 index)
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

/* Returns the page that is in the file then: page, or one that came before. */
static struct page *pc_insert(struct address_space *file, u64 index,
			      struct page *page)
{
	struct pc_node *node;
	struct page *old;
	void **slot;

	spin_lock(&file->i_pages_lock);
	slot = pc_slot(file, index, &node);
	old = READ_ONCE(*slot);
	if (!old) {
		page->mapping = file;
		page->index = (u32)index;
		smp_store_release(slot, (void *)page);
		node->count++;
		file->nrpages++;
	}
	spin_unlock(&file->i_pages_lock);
	return old ? old : page;
}

struct page *shmem_get_page(struct address_space *file, u64 index)
{
	struct page *page = pc_find(file, index), *new;

	if (!page) {
		new = alloc_user_page();
		if (!new)
			return NULL;
		mach_charge(SHMEM_ALLOC, 1);
		/* The first reference is the page cache's. */
		page = pc_insert(file, index, new);
		if (page != new)
			put_page(new);
		else
			lru_cache_add(page);
	} else {
		mach_charge(SHMEM_FIND, 1);
	}
	get_page(page);
	return page;
}

static void pc_free(void *node, u32 level)
{
	struct pc_node *n = node;

	for (u32 i = 0; n->count; i++) {
		void *slot = n->slot[i];

		if (!slot)
			continue;
		n->count--;
		if (level > 1) {
			pc_free(slot, level - 1);
			continue;
		}
		mach_charge(SHMEM_FREE, 1);
		put_page(slot);
	}
	kfree(n, sizeof(*n));
	cond_resched();
}

/* No VMA maps it, nobody can find it: no lock. */
static void shmem_evict(struct address_space *file)
{
	mach_charge(FILE_RELEASE, 1);
	if (file->i_pages)
		pc_free(file->i_pages, file->height);
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
