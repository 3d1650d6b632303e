/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64's part of the gather; the end of mm/mmu_gather.h includes it.
 */
#ifndef CORE_ARCH_ARM64_TLB_H
#define CORE_ARCH_ARM64_TLB_H

#include "tlbflush.h"

#define ARCH_MMU_GATHER_MERGE_VMAS 0
#define ARCH_MMU_GATHER_PAGE_SIZE 0
/* Broadcast TLBIs interrupt nobody, so they do not wait for lockless walkers. */
#define ARCH_MMU_GATHER_RCU_TABLE_FREE 1
#define tlb_needs_table_invalidate() true

/*
 * The level that all changed leaves have, if it is one. The hint is about
 * leaves; when tables were freed, entries of upper levels must go as well.
 */
static inline int tlb_get_level(struct mmu_gather *tlb)
{
	u32 cleared = tlb->cleared_ptes | tlb->cleared_pmds << 1 |
		      tlb->cleared_puds << 2 | tlb->cleared_p4ds << 3;

	if (tlb->freed_tables && knob(arm64_ttl_freed_tables) == TTL_FREED_TABLES_UNKNOWN)
		return TLBI_TTL_UNKNOWN;
	switch (cleared) {
	case 1: return 3;
	case 2: return 2;
	case 4: return 1;
	case 8: return 0;
	default: return TLBI_TTL_UNKNOWN;
	}
}

static inline void tlb_flush(struct mmu_gather *tlb)
{
	bool last_level = !(tlb->freed_tables || tlb->unshared_tables);
	struct vm_area_struct vma = { .vm_mm = tlb->mm };

	/*
	 * The whole mm is going: its ASID is not given to another before every
	 * CPU has flushed all (a rollover), so stale leaves are harmless. A walk
	 * cache that leads into freed tables is not.
	 */
	if (tlb->fullmm) {
		if (!last_level)
			flush_tlb_mm(tlb->mm);
		return;
	}
	__flush_tlb_range(&vma, tlb->start, tlb->end, tlb_get_unmap_size(tlb),
			  last_level, tlb_get_level(tlb));
}

#endif
