// SPDX-License-Identifier: GPL-2.0-or-later
#include "native/calibrate.h"

/* clang-format off */
const struct calibrate_probe calibrate_probes[] = {
	{ "add to a word of its own", "atomic", 1, 100000, PROBE_ALONE,
	  { "atomic_local" }, 0 },
	{ "copy of a page", "copy", 32, 2000, PROBE_ALONE, { "copy_page" }, 0 },
	/*
	 * Footprints: in the L1 TLB, in the L2 TLB, in none. All lines of the first two fit
	 * an L1 cache.
	 */
	{ "load, chase over 16 pages", "chase", 16, 100000, PROBE_ALONE, { "access" }, 0 },
	{ "load, chase over 256 pages", "chase", 256, 200000, PROBE_ALONE, { "tlb_l2" }, 0 },
	/*
	 * A walk is what 8192 lines, one in each page, take beyond as many that are together:
	 * both miss the same caches, and with the tables' 64 KiB fit a second level. Not beyond as
	 * many lines of huge pages: a guest's huge page that its host backs by small ones
	 * is many entries of the TLB, so there every load walks, too. The third row shows
	 * whether that is so: with whole huge pages it is about nothing. The last two are for
	 * the eye, too: a walk when tables fall out of the second level.
	 */
	{ "load, 8192 lines of 128 pages", "chase-packed", 128, 200000, PROBE_ALONE, { NULL }, 0 },
	{ "a walk: 8192 pages less 128", "chase", 8192, 200000, PROBE_ALONE,
	  { "walk_base", "walk_level" }, 1 },
	{ "the same of 16 huge pages", "chase-huge", 16, 200000, PROBE_ALONE, { NULL }, 2 },
	{ "load, 32768 lines of 512 pages", "chase-packed", 512, 200000, PROBE_ALONE,
	  { NULL }, 0 },
	{ "a walk: 32768 pages less 512", "chase", 32768, 200000, PROBE_ALONE, { NULL }, 1 },
	{ "system call", "null", 1, 20000, PROBE_ALONE,
	  { "syscall_entry", "syscall_exit" }, 0 },
	{ "madvise of nothing", "empty", 2, 10000, PROBE_ALONE,
	  { "madvise", "gather", "vma_find" }, 0 },
	{ "mmap and munmap", "map", 1, 2000, PROBE_ALONE,
	  { "mmap_locked", "munmap_locked", "munmap_zap", "vma_remove" }, 0 },
	{ "the same, shared", "map-shared", 1, 1000, PROBE_ALONE,
	  { "mmap_unlocked", "file_release" }, 0 },
	{ "mprotect of nothing", "protect", 1, 5000, PROBE_ALONE,
	  { "mprotect_locked" }, 0 },
	{ "64 pages read and given back", "flush", 64, 50, PROBE_ALONE,
	  { "fault_entry", "fault_path", "fault_pte" }, 0 },
	{ "fault on a shared page", "fault-shared", 256, 1, PROBE_ALONE,
	  { "shmem_alloc" }, 0 },
	{ "fault on one that is there", "fault-again", 256, 1, PROBE_ALONE,
	  { "shmem_find" }, 0 },
	{ "zap of the page of zeroes", "zap-read", 1024, 1, PROBE_ALONE,
	  { "zap_pte" }, 0 },
	{ "zap of a private page", "zap-write", 64, 1, PROBE_ALONE,
	  { "page_free", "rmap" }, 0 },
	{ "unmap of a shared page", "unmap-shared", 256, 1, PROBE_ALONE,
	  { "shmem_free" }, 0 },
	{ "32 pages read and given back", "flush", 32, 50, PROBE_ALONE,
	  { "invlpg", "invpcid" }, 0 },
	{ "64 pages written and given back", "flush-write", 64, 50, PROBE_ALONE,
	  { "page_alloc", "zero_page" }, 0 },
	{ "fault on a huge page", "fault-huge", 8, 1, PROBE_ALONE, { "zero_huge" }, 0 },
	{ "zap of a huge page", "zap-huge", 8, 1, PROBE_ALONE, { "zap_pmd" }, 0 },
	{ "line to and fro, SMT", "line", 1, 5000, PROBE_SMT, { "line_smt" }, 0 },
	{ "line to and fro, near", "line", 1, 5000, PROBE_NEAR,
	  { "line_near", "lock_handoff" }, 0 },
	{ "line to and fro, far", "line", 1, 5000, PROBE_FAR, { "line_far" }, 0 },
	{ "sleep and wake, one CPU", "sleep", 1, 500, PROBE_SAME,
	  { "sched_out", "sched_in", "wake" }, 0 },
	{ "sleep and wake, two CPUs", "sleep", 1, 300, PROBE_NEAR,
	  { "wake_latency", "ipi_idle" }, 0 },
	{ "thread, created and joined", "thread", 1, 50, PROBE_ALONE, { "clone" }, 0 },
	{ "1 page read and given back", "flush", 1, 500, PROBE_ALONE,
	  { "flush_tlb" }, 0 },
	{ "a table filled and given back", "flush-table", 1, 10000, PROBE_ALONE,
	  { "table_alloc" }, 0 },
	{ "1 page, and a CPU interrupted", "flush", 1, 500, PROBE_NEAR,
	  { "ipi_send_base", "ipi_send_target", "ipi_near", "irq_entry" }, 0 },
	{ "1 page, and a far CPU", "flush", 1, 500, PROBE_FAR, { "ipi_far" }, 0 },
	{ 0 },
};
/* clang-format on */
