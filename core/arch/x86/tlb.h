/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86's part of the gather; the end of mm/mmu_gather.h includes it.
 */
#ifndef CORE_ARCH_X86_TLB_H
#define CORE_ARCH_X86_TLB_H

#include "tlbflush.h"

#define ARCH_MMU_GATHER_MERGE_VMAS 1
#define ARCH_MMU_GATHER_PAGE_SIZE 0
/* Debian sets PARAVIRT: a hypervisor's flush need not interrupt the walker. */
#define ARCH_MMU_GATHER_RCU_TABLE_FREE 1
#define tlb_needs_table_invalidate() true

static inline void tlb_flush(struct mmu_gather *tlb)
{
	u64 start = 0, end = TLB_FLUSH_ALL;

	if (!tlb->fullmm && !tlb->need_flush_all) {
		start = tlb->start;
		end = tlb->end;
	}
	flush_tlb_mm_range(tlb->mm, start, end, tlb_get_unmap_shift(tlb),
			   tlb->freed_tables);
}

#endif
