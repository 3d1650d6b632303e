/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The knobs of arm64; each is defined beside the code it changes. */
#ifndef CORE_ARCH_ARM64_ARCH_KNOBS_H
#define CORE_ARCH_ARM64_ARCH_KNOBS_H

#define ARCH_KNOBS(X)                                                           \
	X(arm64_tlbirange)                                                      \
	X(arm64_ttl)                                                            \
	X(arm64_kpti)                                                           \
	X(arm64_repeat_tlbi)                                                    \
	X(arm64_hafdbs)                                                         \
	X(arm64_asid_bits)                                                      \
	X(arm64_repeat_tlbi_style)                                              \
	X(arm64_max_tlbi_ops)                                                   \
	X(arm64_range_overflow_sync)                                            \
	X(arm64_ttl_freed_tables)                                               \
	X(arm64_set_table_sync)                                                 \
	X(arm64_should_defer)                                                   \
	X(arm64_batched_pending)

/* Values of arm64_repeat_tlbi_style. */
enum { REPEAT_TLBI_NONE, REPEAT_TLBI_DOUBLE, REPEAT_TLBI_DUMMY };
/* Values of arm64_max_tlbi_ops. */
enum { MAX_TLBI_OPS_PTRS_PER_PTE, MAX_TLBI_OPS_1024 };
/* Values of arm64_ttl_freed_tables. */
enum { TTL_FREED_TABLES_LEAF, TTL_FREED_TABLES_UNKNOWN };
/* Values of arm64_range_overflow_sync. */
enum { RANGE_OVERFLOW_SYNC_ONCE, RANGE_OVERFLOW_SYNC_TWICE };
/* Values of arm64_set_table_sync. */
enum { SET_TABLE_SYNC_NONE, SET_TABLE_SYNC_DSB_ISB };
/* Values of arm64_should_defer. */
enum {
	SHOULD_DEFER_NEVER, SHOULD_DEFER_MM_CPUMASK, SHOULD_DEFER_NCPUS,
	SHOULD_DEFER_NO_REPEAT_TLBI, SHOULD_DEFER_ALWAYS,
};
/* Values of arm64_batched_pending. */
enum { BATCHED_PENDING_DSB, BATCHED_PENDING_FLUSH_MM };

#endif
