/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER: the instruction sequences of invalidation; radix_tlb.c. Which one is to
 * be used, and for how much, is decided in tlb.c.
 *
 *	everywhere	ptesync		entries changed before are visible to all walkers
 *			tlbie ...	broadcast, in order
 *			fix-ups		POWER9
 *			eieio; tlbsync; ptesync	all CPUs have done it, and no
 *					access by the old translation is under way
 *	this CPU	ptesync; tlbiel ...; ptesync
 *
 * RIC says what goes: translations (0), the page-walk cache (1), or both and what is
 * cached of the process table (2). The page-walk cache is dropped by PID only; so
 * is the process table's. By address the operation names the page's size (AP),
 * and drops no page of another size.
 *
 * A tlbiel by PID drops one congruence class of the TLB on POWER9, which has 128
 * of them, and everything at once from ISA 3.1 on. It spares the ERAT (the first-level
 * TLB), which slbia then drops. Walk caches have no classes.
 *
 * All take the PID of a context that exists. Callable with interrupts off and
 * locks held; nothing sleeps or fails.
 */
#ifndef CORE_ARCH_POWERPC_RADIX_TLB_H
#define CORE_ARCH_POWERPC_RADIX_TLB_H

#include "mm/mm_types.h"

#define RIC_FLUSH_TLB 0
#define RIC_FLUSH_PWC 1
#define RIC_FLUSH_ALL 2

#define POWER9_TLB_SETS_RADIX 128

enum { MMU_PAGE_4K, MMU_PAGE_64K, MMU_PAGE_2M, MMU_PAGE_1G, MMU_PAGE_COUNT };

u32 mmu_psize_to_shift(int psize);
/* The base page's. */
int mmu_virtual_psize(void);

/* Everything on this CPU. */
void radix__tlbiel_all(void);
/* All of a PID: ric is RIC_FLUSH_TLB or RIC_FLUSH_ALL. */
void _tlbiel_pid(u64 pid, u32 ric);
void _tlbie_pid(u64 pid, u32 ric);
void _tlbiel_va(u64 va, u64 pid, int psize);
void _tlbie_va(u64 va, u64 pid, int psize);

/* Pages of one size; empty if start >= end. */
struct va_range {
	u64 start, end;
	int psize;
};

/* nr ranges between one pair of barriers; also_pwc: RIC = 1 first. */
void _tlbiel_va_ranges(const struct va_range *range, u32 nr, u64 pid, bool also_pwc);
void _tlbie_va_ranges(const struct va_range *range, u32 nr, u64 pid, bool also_pwc);

#endif
