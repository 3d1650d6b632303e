/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Eras: how each kernel differs from 6.12, the default.
 *
 * Read upwards, the first table is the history of the policies: each line names
 * what a release changed, by its value before. An era is then a line of the
 * second: everything that came after it, and what is its own.
 *
 * Eras never say what a machine can do. A setting is KNOB=VALUE. All
 * architectures share the table: a setting whose knob begins with the name of
 * another architecture ("x86.", "arm64.", "powerpc.") than the core's own is
 * skipped; any other unknown knob, or unknown value, is an error.
 */
#include "core.h"

/* clang-format off */

/* Only lazy CPUs were spared an IPI; an oversized range flush synced once. */
#define BEFORE_6_12	"x86.ipi_filter=lazy", "arm64.range_overflow_sync=once"
/* Reclaim flushed once for a whole list, and MADV_PAGEOUT for accessed bits as well. */
#define BEFORE_6_9	BEFORE_6_12, "vmscan.free_batch=8192",                  \
			"mm.pageout_young=clear"
/* From 6.6 on not where the erratum is, and with a DSB for who found flushes owed. */
#define ARM64_6_6	"arm64.should_defer=no_repeat_tlbi", "arm64.batched_pending=dsb"
#define BEFORE_6_6	BEFORE_6_9, "arm64.should_defer=never"
#define BEFORE_6_4	BEFORE_6_6, "mm.fault_lock=mmap",                      \
			"powerpc.lazy_tlb_shootdown=off"
#define BEFORE_6_3	BEFORE_6_4, "migrate.batch=off"
#define BEFORE_6_2	BEFORE_6_3, "mm.delayed_rmap=off", "numa.preserve_write=saved", \
			"mm.mprotect_write=pte"
/* khugepaged let gup_fast walk on in the table that it took away. */
#define BEFORE_6_1	BEFORE_6_2, "mm.collapse_sync=off", "mm.gup_recheck=pte",       \
			"migrate.ad=off"
#define BEFORE_6_0	BEFORE_6_1, "mm.foll_force=foll_cow"
#define BEFORE_5_18	BEFORE_6_0, "mm.tlb_flush_batched=flag"
#define BEFORE_5_14	BEFORE_5_18, "powerpc.range_pwc=none",                   \
			"mm.mremap_rmap_lock=off", "arm64.ttl_freed_tables=leaf", \
			"mm.mprotect_write=none"
#define BEFORE_5_13	BEFORE_5_14, "numa.fault_map=before"
#define BEFORE_5_12	BEFORE_5_13, "powerpc.cpumask_trim=single"
#define BEFORE_5_11	BEFORE_5_12, "mm.write_protect_seq=off"
#define BEFORE_5_8	BEFORE_5_11, "powerpc.pte_serialize=ipi",                \
			"powerpc.pmd_zap_flush=off"
#define BEFORE_5_6	BEFORE_5_8, "mmu_gather.flush_test=end",               \
			"powerpc.nested_branch=on"
#define BEFORE_5_4	BEFORE_5_6, "powerpc.tlbie_fixups=stq"
#define BEFORE_5_3	BEFORE_5_4, "mm.rwsem=xadd"
#define BEFORE_4_20	BEFORE_5_3, "mm.munmap_downgrade=off",                  \
			"mm.mremap_flush=after_unlock",                         \
			"arm64.max_tlbi_ops=1024"
/* Threads that moved scanned fast again; pages waited for a second fault, and for the limit. */
#define BEFORE_4_19	BEFORE_4_20, "mmu_gather.table_invalidate=after_free",  \
			"x86.pmd_free_flush=off",                                \
			"numa.scan_reset=on", "numa.early_migrate=off",         \
			"numa.ratelimit_mb=128"
#define BEFORE_4_18	BEFORE_4_19, "powerpc.nested_branch=off",               \
			"powerpc.cpumask_trim=none",                            \
			"powerpc.set_pte_ptesync=on"
#define BEFORE_4_17	BEFORE_4_18, "powerpc.tlbie_fixups=none"
/*
 * x86 had no RCU_TABLE_FREE before 4.14, which brought the bug; arm64 and POWER, which had it,
 * invalidated in their __pte_free_tlb(), which is not modelled.
 */
#define BEFORE_4_14	BEFORE_4_17, "numa.scan_adapt=local"
#define BEFORE_4_13	BEFORE_4_14, "mm.tlb_flush_batched=off",               \
			"mmu_gather.table_invalidate=before_free"
#define BEFORE_4_12	BEFORE_4_13, "mm.change_huge_pmd=clear",               \
			"numa.prot_none_update=clear_flush"
#define BEFORE_4_9	BEFORE_4_12, "numa.group_test=vma_write", "mm.foll_force=drop_write"
#define BEFORE_4_6	BEFORE_4_9, "numa.group_pages=active_nodes"
#define BEFORE_4_3	BEFORE_4_6, "rmap.unmap_flush=immediate"
/* Thread S3's last three patches; before them the second way to group, and the first. */
#define NUMA_4_0_RC4	"numa.preserve_write=off", "numa.slow_scan_on_failure=off",     \
			"numa.group_test=dirty"
#define NUMA_4_0_RC1	NUMA_4_0_RC4, "numa.group_test=pte_write_after_restore"
/* Marked by a bit of its own: no right was lost. x86 read the entry and wrote it back. */
#define NUMA_3_19	NUMA_4_0_RC1, "numa.marking=numa_bit", "numa.prot_none_update=rmw"

/* What gathers did beside others: nothing, then (4.13) this, to 5.2-rc2. */
#define NOT_NESTED	"mmu_gather.nested=ignore"
#define RANGE_NESTED	"mmu_gather.nested=force_range"

/* Nobody knew of the erratum. Then (4.11) each TLBI twice, until late 6.12.y and 6.1.y. */
#define REPEAT_NONE	"arm64.repeat_tlbi_style=none"
#define REPEAT_DOUBLE	"arm64.repeat_tlbi_style=double"

#define ERA(name, what, ...)                                                    \
	{ name, what, (const char *const[]){ __VA_ARGS__ } }

const struct era core_eras[] = {
	ERA("3.19",    "before thread S3",
	    BEFORE_4_3, REPEAT_NONE, NOT_NESTED, NUMA_3_19, NULL),
	ERA("4.0-rc1", "thread S3, before its fixes",
	    BEFORE_4_3, REPEAT_NONE, NOT_NESTED, NUMA_4_0_RC1, NULL),
	ERA("4.0-rc4", "thread S3, grouping by the dirty bit",
	    BEFORE_4_3, REPEAT_NONE, NOT_NESTED, NUMA_4_0_RC4, NULL),
	ERA("4.0",     "thread S3, with its fixes",
	    BEFORE_4_3, REPEAT_NONE, NOT_NESTED, NULL),
	ERA("4.14",    "nested gathers flush their range",
	    BEFORE_4_17, REPEAT_DOUBLE, RANGE_NESTED, NULL),
	ERA("5.2-rc2", "thread S0, before its fix",
	    BEFORE_5_3, REPEAT_DOUBLE, RANGE_NESTED, NULL),
	ERA("5.3",     "nested gathers flush the mm; the rwsem hands off",
	    BEFORE_5_4, REPEAT_DOUBLE, NULL),
	ERA("5.8",     "gathers know what levels they cleared",
	    BEFORE_5_11, REPEAT_DOUBLE, NULL),
	ERA("5.14",    "thread S2",
	    BEFORE_5_18, REPEAT_DOUBLE, NULL),
	ERA("6.0",     "thread S4",
	    BEFORE_6_1, REPEAT_DOUBLE, NULL),
	ERA("6.1",     "Debian 12's 6.1.176",
	    BEFORE_6_2, NULL),
	ERA("6.6",     "faults lock their VMA; rmaps are delayed",
	    BEFORE_6_9, ARM64_6_6, REPEAT_DOUBLE, NULL),
	ERA("6.12",    "Debian's 6.12.117, the default", NULL),
	ERA("6.18",    "on x86, madvise frees tables; it locks the VMA only",
	    "mm.pt_reclaim=x86", "mm.madvise_lock=vma", "x86.broadcast_flush=on", NULL),
	{ NULL, NULL, NULL },
};
