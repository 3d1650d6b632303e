/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration: the contents of a page move to another frame, and every entry that maps it
 * follows.
 *
 *	lock the page
 *	try_to_migrate(): each entry becomes a migration entry; flush
 *	take the references away (nobody but us may have one), copy, put the new page in
 *	remove_migration_ptes(): each migration entry maps the new page
 *	unlock: faults that met a migration entry wait for this
 *
 * The flush lies between the first entry cleared and the copy: a CPU that still wrote
 * to the old frame after the copy would write for nobody.
 *
 * Since 6.3 (migrate.batch) migrate_pages() does the first step for many pages, flushes once,
 * and then the rest for each; before, page by page.
 *
 * A huge page moves whole: to another huge page. What maps it by a PMD entry is split before,
 * and maps the new one by PTEs (Linux has migration entries of PMDs).
 */
#ifndef CORE_MM_MIGRATE_H
#define CORE_MM_MIGRATE_H

#include "mm/mm_types.h"

/* Whether to wait for page locks. */
enum migrate_mode { MIGRATE_ASYNC, MIGRATE_SYNC };

/*
 * Move the pages of a list (by lru, one reference each, isolated) to node. Those that moved
 * are gone from the list, put; returns how many are left on it: somebody holds a reference,
 * or there was no memory. May sleep; no lock may be held.
 */
u32 migrate_pages(struct list_head *from, s32 node, enum migrate_mode mode);

/* Gives pages that are left their place among those that reclaim may find. */
void putback_movable_pages(struct list_head *list);

/*
 * A NUMA hinting fault found page on the wrong node. The caller has a reference, which
 * this drops in any case, and no lock (the page-table lock was let go; the VMA may be
 * locked for reading). Whether the page should move is for the caller to say; all of its
 * entries follow. Waits for nobody's lock. Returns 1 if the page, huge or not, has moved, 0 if
 * not.
 */
int migrate_misplaced_page(struct page *page, s32 node);

/*
 * A fault found a migration entry at addr: sleep until the page's migration is over, if it is
 * still there. The VMA locked for reading.
 */
void migration_entry_wait(pmd_t *pmdp, u64 addr);

/*
 * core_syscalls.move_pages: of nr_pages pages of the current mm from addr on, those that are
 * there and not on node move to it (-1: all move, to wherever there is room). Returns how many
 * could not (a huge page counts as one), or a negative error.
 */
s64 do_move_pages(u64 addr, u64 nr_pages, s32 node);

#endif
