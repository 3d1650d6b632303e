/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LRU, as far as its lock is concerned. lru.c.
 *
 * A new page waits in a batch of its CPU, which holds a reference, and goes to its node's LRU
 * with the others of the batch, under the node's lock, when the batch is full or somebody
 * drains it. A page on the LRU (PG_lru_listed) that is freed is taken off it, under the lock
 * again. Reclaim and migration (vmscan.h) are told where to look, so the lists are left
 * out: what is there is the lock, the time in it, and the reference. That time (lru_move) is of
 * each taking of the lock, since it is the lines of lists and counters, which another CPU wrote
 * last; the further pages of a batch find them there. Isolating a page
 * and putting it back, which only need PG_lru, take the lock in Linux, and do not here.
 *
 * A page in a batch has a reference that reclaim, migration and collapse do not know of, so it is
 * kept where it is; in Linux it is not on the LRU yet and cannot be isolated. So they
 * drain before they isolate: reclaim its own CPU's batch, move_pages() and MADV_COLLAPSE those
 * of all CPUs, lru_add_drain_all(). Linux queues a work item on each CPU that has something and
 * waits for them; here it is an interrupt, which is there sooner than a worker would have been
 * woken and switched to. (Linux's move_pages() also keeps batches empty until its
 * end, lru_cache_disable(); here what is added meanwhile waits in its batch.) An interrupt may come
 * wherever its CPU lets the machine know what it does: the batch is plain C, changed
 * between two such points, and lru_locks are taken with interrupts off.
 *
 * A page in a batch outlives its last entry, by as long as nobody drains that CPU: for an
 * exploring machine it is no leak (core_module.drain_all).
 *
 * mm.lru=none, the default: no LRU; its time is part of page_alloc and page_free. With drain,
 * a zap for madvise drains the batch first, as Linux did to 6.13: each madvise then takes
 * the lock, and takes it again for each page that it frees. With batch, it does not.
 */
#ifndef CORE_MM_LRU_H
#define CORE_MM_LRU_H

#include "mm/page.h"

enum { LRU_NONE, LRU_DRAIN, LRU_BATCH };

static inline bool lru_enabled(void)
{
	return knob(mm_lru) != LRU_NONE;
}

/* A page that was just mapped or put into the page cache; takes a reference. */
void lru_cache_add(struct page *page);
/* This CPU's batch. */
void lru_add_drain(void);
/* All CPUs'; waits for their interrupts: no spinlock is held, interrupts are on. */
void lru_add_drain_all(void);
/* All CPUs', from here: nobody else is in the kernel. */
void lru_drain_quiet(void);
/* A page without references, on the LRU. */
void lru_del(struct page *page);

#endif
