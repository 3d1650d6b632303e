/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The knobs of POWER; each is defined beside the code it changes. */
#ifndef CORE_ARCH_POWERPC_ARCH_KNOBS_H
#define CORE_ARCH_POWERPC_ARCH_KNOBS_H

#define ARCH_KNOBS(X)                                                           \
	X(powerpc_isa31)                                                        \
	X(powerpc_erat_bug)                                                     \
	X(powerpc_stq_bug)                                                      \
	X(powerpc_gtse)                                                         \
	X(powerpc_pid_bits)                                                     \
	X(powerpc_tlbie)                                                        \
	X(powerpc_tlbie_fixups)                                                 \
	X(powerpc_tlb_single_page_flush_ceiling)                                \
	X(powerpc_tlb_local_single_page_flush_ceiling)                          \
	X(powerpc_ceiling_compare)                                              \
	X(powerpc_ceiling_range)                                                \
	X(powerpc_hcall_ceiling)                                                \
	X(powerpc_cpumask_trim)                                                 \
	X(powerpc_cpumask_trim_timer)                                           \
	X(powerpc_lazy_tlb_shootdown)                                           \
	X(powerpc_nested_branch)                                                \
	X(powerpc_range_pwc)                                                    \
	X(powerpc_set_pte_ptesync)                                              \
	X(powerpc_pte_serialize)                                                \
	X(powerpc_walker_barrier)                                               \
	X(powerpc_pmd_zap_flush)

/* Values of powerpc_tlbie_fixups. */
enum { FIXUPS_NONE, FIXUPS_STQ, FIXUPS_STQ_ERAT };
/* Values of powerpc_ceiling_compare. */
enum { CEILING_GT, CEILING_GE };
/* Values of powerpc_ceiling_range. */
enum { CEILING_RANGE_FLUSH, CEILING_RANGE_CALL };
/* Values of powerpc_cpumask_trim. */
enum { CPUMASK_TRIM_NONE, CPUMASK_TRIM_SINGLE, CPUMASK_TRIM_1073 };
/* Values of powerpc_range_pwc. */
enum { RANGE_PWC_NONE, RANGE_PWC_PMD };
/* Values of powerpc_pte_serialize. */
enum {
	PTE_SERIALIZE_IPI, PTE_SERIALIZE_COUNT_IN_LOOKUP, PTE_SERIALIZE_COUNT_SPAN,
	PTE_SERIALIZE_COUNT_PERCPU, PTE_SERIALIZE_NONE_TOLERANT,
};

#endif
