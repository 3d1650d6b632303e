/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/filemap.h"

/* On the waiter's stack, in its queue until it is woken. */
struct page_waiter {
	struct list_head node;	/* the queue's lock */
	struct page *page;
	u32 tid;
	u32 woken;		/* shared */
};

void page_wait_init(struct kernel *k)
{
	for (u32 i = 0; i < PAGE_WAIT_TABLE; i++)
		INIT_LIST_HEAD(&k->page_wait[i].waiters);
}

static struct page_wait_queue *page_waitqueue(struct page *page)
{
	return &kernel()->page_wait[page_to_pfn(page) % PAGE_WAIT_TABLE];
}

static struct list_head *waiters_of(struct page_wait_queue *q)
{
	lockdep_assert_held(&q->lock);
	return &q->waiters;
}

/* False: it is not locked (any more). Else w is in the queue. */
static bool queue_up(struct page *page, struct page_waiter *w)
{
	struct page_wait_queue *q = page_waitqueue(page);
	bool locked;

	w->page = page;
	w->tid = mach_env()->tid;
	w->woken = 0;
	spin_lock(&q->lock);
	locked = mach_rmw(&page->flags, MACH_OR, PG_waiters, 0, MACH_FULL) & PG_locked;
	if (locked)
		list_add_tail(&w->node, waiters_of(q));
	spin_unlock(&q->lock);
	return locked;
}

static void sleep_till_woken(struct page_waiter *w)
{
	while (!smp_load_acquire(&w->woken))
		mach_block();
}

void __lock_page(struct page *head)
{
	struct page_waiter w;

	do {
		if (queue_up(head, &w))
			sleep_till_woken(&w);
	} while (!trylock_page(head));
}

/* All of them: those that want the lock compete for it. */
void __wake_page(struct page *head)
{
	struct page_wait_queue *q = page_waitqueue(head);
	struct page_waiter *w, *next;

	spin_lock(&q->lock);
	(void)mach_rmw(&head->flags, MACH_AND, (u64)(u32)~PG_waiters, 0, MACH_RELAXED);
	list_for_each_entry_safe(w, next, waiters_of(q), node) {
		u32 tid = w->tid;

		if (w->page != head)
			continue;
		list_del(&w->node);
		/* From here on it may be gone. */
		smp_store_release(&w->woken, 1);
		mach_wake(tid);
	}
	spin_unlock(&q->lock);
}

void migration_entry_wait_on_locked(struct page *page, spinlock_t *ptl)
{
	struct page_waiter w;
	bool wait = queue_up(compound_head(page), &w);

	spin_unlock(ptl);
	if (wait)
		sleep_till_woken(&w);
}
