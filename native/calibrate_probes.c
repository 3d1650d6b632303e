// SPDX-License-Identifier: GPL-2.0-or-later
#include "native/calibrate.h"

#include <string.h>

/* clang-format off */
const struct calibrate_probe calibrate_probes[] = {
	{ "add to a word of its own", "atomic", 1, 100000, PROBE_ALONE,
	  { "atomic_local" } },
	{ "copy of a page", "copy", 32, 2000, PROBE_ALONE, { "copy_page" } },
	/* Footprints: in the L1 TLB, in the L2 TLB, in none. */
	{ "load, chase over 16 pages", "chase", 16, 100000, PROBE_ALONE, { "access" } },
	{ "load, chase over 768 pages", "chase", 768, 200000, PROBE_ALONE, { "tlb_l2" } },
	{ "load, chase over 32 huge pages", "chase-huge", 32, 400000, PROBE_ALONE, { NULL } },
	/* calibrate_less(): what is left is the walk. */
	{ "a walk: 16384 pages less 32 huge", "chase", 16384, 400000, PROBE_ALONE,
	  { "walk_base", "walk_level" } },
	{ "system call", "null", 1, 20000, PROBE_ALONE,
	  { "syscall_entry", "syscall_exit" } },
	{ "madvise of nothing", "empty", 2, 10000, PROBE_ALONE,
	  { "madvise", "gather", "vma_find" } },
	{ "mmap and munmap", "map", 1, 2000, PROBE_ALONE,
	  { "mmap_locked", "munmap_locked", "munmap_zap", "vma_remove" } },
	{ "the same, shared", "map-shared", 1, 1000, PROBE_ALONE,
	  { "mmap_unlocked", "file_release" } },
	{ "mprotect of nothing", "protect", 1, 5000, PROBE_ALONE,
	  { "mprotect_locked" } },
	{ "64 pages read and given back", "flush", 64, 50, PROBE_ALONE,
	  { "fault_entry", "fault_path", "fault_pte" } },
	{ "fault on a shared page", "fault-shared", 256, 1, PROBE_ALONE,
	  { "shmem_alloc" } },
	{ "fault on one that is there", "fault-again", 256, 1, PROBE_ALONE,
	  { "shmem_find" } },
	{ "zap of the page of zeroes", "zap-read", 1024, 1, PROBE_ALONE,
	  { "zap_pte" } },
	{ "zap of a private page", "zap-write", 64, 1, PROBE_ALONE,
	  { "page_free", "rmap" } },
	{ "unmap of a shared page", "unmap-shared", 256, 1, PROBE_ALONE,
	  { "shmem_free" } },
	{ "32 pages read and given back", "flush", 32, 50, PROBE_ALONE,
	  { "invlpg", "invpcid" } },
	{ "64 pages written and given back", "flush-write", 64, 50, PROBE_ALONE,
	  { "page_alloc", "zero_page" } },
	{ "fault on a huge page", "fault-huge", 8, 1, PROBE_ALONE, { "zero_huge" } },
	{ "zap of a huge page", "zap-huge", 8, 1, PROBE_ALONE, { "zap_pmd" } },
	{ "line to and fro, SMT", "line", 1, 5000, PROBE_SMT, { "line_smt" } },
	{ "line to and fro, near", "line", 1, 5000, PROBE_NEAR,
	  { "line_near", "lock_handoff" } },
	{ "line to and fro, far", "line", 1, 5000, PROBE_FAR, { "line_far" } },
	{ "sleep and wake, one CPU", "sleep", 1, 500, PROBE_SAME,
	  { "sched_out", "sched_in", "wake" } },
	{ "sleep and wake, two CPUs", "sleep", 1, 300, PROBE_NEAR,
	  { "wake_latency", "ipi_idle" } },
	{ "thread, created and joined", "thread", 1, 50, PROBE_ALONE, { "clone" } },
	{ "1 page read and given back", "flush", 1, 500, PROBE_ALONE,
	  { "flush_tlb" } },
	{ "a table filled and given back", "flush-table", 1, 10000, PROBE_ALONE,
	  { "table_alloc" } },
	{ "1 page, and a CPU interrupted", "flush", 1, 500, PROBE_NEAR,
	  { "ipi_send_base", "ipi_send_target", "ipi_near", "irq_entry" } },
	{ "1 page, and a far CPU", "flush", 1, 500, PROBE_FAR, { "ipi_far" } },
	{ 0 },
};
/* clang-format on */

const struct calibrate_probe *calibrate_less(const struct calibrate_probe *p)
{
	/* The probe before it: as many lines of memory, without the walks. */
	return strstr(p->name, " less ") ? p - 1 : NULL;
}
