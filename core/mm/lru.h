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
 * Reclaim and migration drain their own CPU's batch before they isolate. A page in the batch of
 * another CPU has a reference that they do not know of: it is kept where it is, as in Linux,
 * where it is not on the LRU yet and cannot be isolated. (move_pages there drains all CPUs.)
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
/* All CPUs', which are quiet (Linux asks each CPU to do its own). */
void lru_add_drain_all(void);
/* A page without references, on the LRU. */
void lru_del(struct page *page);

#endif
