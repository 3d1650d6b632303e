/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Knobs. Each is declared beside the code that it changes:
 *
 *	KNOB_ENUM(mmu_gather_nested, "mmu_gather.nested", KNOB_POLICY,
 *		  NESTED_FULLMM_TABLES, "what a nested gather flushes at its end",
 *		  "7a30df49f63a", "ignore", "force_range", ...);
 *
 * and listed once in CORE_KNOBS below (an architecture's own in its
 * arch_knobs.h), which fixes its index. knob(mmu_gather_nested) is the value,
 * for an enumeration the index of its name. Values are fixed at boot and read
 * as plain C.
 */
#ifndef CORE_KNOBS_H
#define CORE_KNOBS_H

#include "kernel.h"
#include "arch_knobs.h"

#define CORE_KNOBS(X)                                                           \
	X(mmu_gather_nested)                                                    \
	X(mmu_gather_flush_test)                                                \
	X(mmu_gather_pending_order)                                             \
	X(mmu_gather_table_invalidate)                                          \
	X(mmu_gather_table_batch_fail)                                          \
	X(mmu_gather_table_one_user)                                            \
	X(mm_fault_lock)                                                        \
	X(mm_rwsem)                                                             \
	X(mm_rwsem_handoff_after)                                               \
	X(mm_munmap_downgrade)                                                  \
	X(mm_delayed_rmap)                                                      \
	X(mm_change_huge_pmd)                                                   \
	X(mm_mprotect_write)                                                    \
	X(mm_collapse_sync)                                                     \
	X(mm_zap_dirty_flush)                                                   \
	X(mm_gup_recheck)                                                       \
	X(mm_huge_zero_page)                                                    \
	X(mm_foll_force)                                                        \
	X(mm_write_protect_seq)                                                 \
	X(mm_mremap_flush)                                                      \
	X(mm_pt_reclaim)                                                        \
	X(mm_lru)                                                               \
	X(mm_madvise_lock)                                                      \
	X(mm_mremap_rmap_lock)                                                  \
	X(rmap_unmap_flush)                                                     \
	X(mm_tlb_flush_batched)                                                 \
	X(mm_tlb_flush_batched_large)                                           \
	X(vmscan_free_batch)                                                    \
	X(mm_pageout_young)                                                     \
	X(numa_balancing)                                                       \
	X(numa_marking)                                                         \
	X(numa_prot_none_update)                                                \
	X(numa_preserve_write)                                                  \
	X(numa_group_test)                                                      \
	X(numa_slow_scan_on_failure)                                            \
	X(numa_flush_pending)                                                   \
	X(numa_fault_map)                                                       \
	X(numa_scan_size_mb)                                                    \
	X(numa_scan_delay_ms)                                                   \
	X(numa_scan_period_min_ms)                                              \
	X(numa_scan_period_max_ms)                                              \
	X(numa_scan_adapt)                                                      \
	X(numa_scan_reset)                                                      \
	X(numa_group_pages)                                                     \
	X(numa_early_migrate)                                                   \
	X(numa_ratelimit_mb)                                                    \
	X(migrate_batch)                                                        \
	X(migrate_ad)                                                           \
	ARCH_KNOBS(X)

enum core_knob {
#define X(id) KNOB_##id,
	CORE_KNOBS(X)
#undef X
	NR_CORE_KNOBS,
};

#define X(id) extern const struct knob knob_##id;
CORE_KNOBS(X)
#undef X

#define KNOB_ENUM(id, name_, kind_, def_, meaning_, origin_, ...)               \
	static const char *const knob_values_##id[] = { __VA_ARGS__, NULL };    \
	const struct knob knob_##id = {                                         \
		.name = name_, .values = knob_values_##id, .def = def_,         \
		.min = 0, .max = ARRAY_SIZE(knob_values_##id) - 2,              \
		.kind = kind_, .meaning = meaning_, .origin = origin_,          \
	}
#define KNOB_BOOL(id, name, kind, def, meaning, origin)                         \
	KNOB_ENUM(id, name, kind, def, meaning, origin, "off", "on")
#define KNOB_INT(id, name_, kind_, def_, min_, max_, meaning_, origin_)         \
	const struct knob knob_##id = {                                         \
		.name = name_, .def = def_, .min = min_, .max = max_,           \
		.kind = kind_, .meaning = meaning_, .origin = origin_,          \
	}

#define knob(id) (kernel()->knobs[KNOB_##id])

#endif
