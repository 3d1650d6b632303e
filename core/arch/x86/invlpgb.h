/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Broadcast invalidation, AMD's INVLPGB (Linux 6.15). invlpgb.c.
 *
 * INVLPGB names a PCID, which must then mean the same mm on all CPUs. So an mm
 * that runs on four CPUs or more gets a global ASID, and keeps it; others go on with a slot on
 * each CPU and interrupts. Nothing under a global ASID is ever stale: it has no generation.
 *
 * The transition. While a CPU still has the mm loaded under a slot of its own, INVLPGB
 * does not reach what it holds, so a flush also interrupts; the handler changes over.
 *
 *	use_global_asid()		a CPU with the mm loaded	flusher
 *	  asid_transition = 1
 *	  global_asid = g [release]
 *					  (slot still)			  change the entry
 *									  tlb_gen++ [full]
 *									  INVLPGB g
 *									  in transition: IPI
 *					  flush_tlb_func(): CR3 = g
 *									  TLBSYNC
 *
 * asid_transition ends when a flush finds all CPUs of the mask on g, or with another mm.
 */
#ifndef CORE_ARCH_X86_INVLPGB_H
#define CORE_ARCH_X86_INVLPGB_H

#include "tlbflush.h"

/* No CPU that has INVLPGB needs page-table isolation. */
static inline bool broadcast_flush_enabled(void)
{
	return knob(x86_broadcast_flush) && knob(x86_invlpgb) && knob(x86_pcid) &&
	       !knob(x86_pti);
}

static inline bool is_global_asid(u16 asid)
{
	return asid >= TLB_NR_DYN_ASIDS;
}

/* 0: none. */
static inline u16 mm_global_asid(struct mm_struct *mm)
{
	return broadcast_flush_enabled() ? smp_load_acquire(&mm->context.global_asid) : 0;
}

static inline bool mm_in_asid_transition(struct mm_struct *mm)
{
	return broadcast_flush_enabled() && mm && READ_ONCE(mm->context.asid_transition);
}

/* Is this CPU, which has mm loaded under asid, yet to change over? */
static inline bool mm_needs_global_asid(struct mm_struct *mm, u16 asid)
{
	return !is_global_asid(asid) && mm_global_asid(mm);
}

/* After a flush by interrupts: is mm on so many CPUs that it should have one? */
void consider_global_asid(struct mm_struct *mm);
/* Flush an mm that has a global ASID. Returns when it is done everywhere. */
void broadcast_tlb_flush(struct flush_tlb_info *info);
void mm_free_global_asid(struct mm_struct *mm);

/* tlb.c */
void flush_tlb_multi(const struct cpumask *mask, struct flush_tlb_info *info);

#endif
