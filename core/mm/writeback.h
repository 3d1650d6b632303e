/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing files back, and cutting them short, as actors beside reclaim and faults.
 *
 * Writeback: a page is dirty because an entry was, or because somebody who took an entry
 * away said so. page_mkclean() takes the right to write from all entries (the next write
 * faults), then the page's own mark goes, then its contents are written:
 *
 *	writeback			a thread
 *	  no entry may write; flushed
 *	  clear PG_dirty
 *					  writes: faults, marks the entry dirty
 *	  writes what is there		or what comes after: it is dirty again
 *
 * Whoever takes a dirty entry away therefore flushes before the page-table lock is let go
 * (memory.c): once it is gone, page_mkclean() cannot find it.
 */
#ifndef CORE_MM_WRITEBACK_H
#define CORE_MM_WRITEBACK_H

#include "mm/mm_types.h"

/*
 * core_syscalls.msync (MS_SYNC): pages of files that [start, start + len) maps. 0 or a
 * negative error. May sleep.
 */
s64 do_msync(u64 start, u64 len);
/*
 * MADV_REMOVE: a hole in the file that vma maps, and whoever else does. mmap_lock held,
 * for reading, and let go.
 */
s64 madvise_remove(struct vm_area_struct *vma, u64 start, u64 end);

#endif
