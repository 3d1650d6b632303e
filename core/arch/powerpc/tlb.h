/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER's part of the gather; the end of mm/mmu_gather.h includes it.
 */
#ifndef CORE_ARCH_POWERPC_TLB_H
#define CORE_ARCH_POWERPC_TLB_H

#include "tlbflush.h"

#define ARCH_MMU_GATHER_MERGE_VMAS 1
/* An invalidation names its page size, so a gather holds pages of one size. */
#define ARCH_MMU_GATHER_PAGE_SIZE 1
/* tlbie interrupts nobody, so it does not wait for lockless walkers. */
#define ARCH_MMU_GATHER_RCU_TABLE_FREE 1
#define tlb_needs_table_invalidate() true

/* With the whole mm (also at a nested gather's end) it is always RIC = 2. */
void tlb_flush(struct mmu_gather *tlb);

#endif
