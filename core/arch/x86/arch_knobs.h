/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The knobs of x86; each is defined beside the code it changes (tlb.c, context.c). */
#ifndef CORE_ARCH_X86_ARCH_KNOBS_H
#define CORE_ARCH_X86_ARCH_KNOBS_H

#define ARCH_KNOBS(X)                                                           \
	X(x86_pcid)                                                             \
	X(x86_invpcid)                                                          \
	X(x86_pti)                                                              \
	X(x86_tlb_single_page_flush_ceiling)                                    \
	X(x86_freed_tables_lazy_ipi)                                            \
	X(x86_ipi_filter)                                                       \
	X(x86_ioremap)                                                          \
	X(x86_pmd_free_flush)                                                   \
	X(x86_invlpgb)                                                          \
	X(x86_invlpgb_count_max)                                                \
	X(x86_broadcast_flush)                                                  \
	X(x86_global_asid_cpus)                                                 \
	X(x86_global_asid_every)                                                \
	X(x86_global_asid_last)

/* Values of x86_ipi_filter. */
enum { IPI_FILTER_LAZY, IPI_FILTER_LOADED_MM };

#endif
