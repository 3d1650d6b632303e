/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER: changing a PMD entry against who walks the tables without a lock (thread S1).
 *
 * A walker has interrupts off and reads the tables downwards (gup_fast; and
 * find_current_mm_pte(), for perf and KVM). It may find an entry that leads to a table
 * while that turns into a huge page, or the other way round. Linux has had two
 * answers.
 *
 * To 5.7: the walker may take an entry of one kind for the other, so whoever
 * changes one waits until nobody can still be looking: an interrupt to every CPU of
 * the mask, which those with interrupts off take late. One round per 2 MiB of a munmap.
 * Thread S1 proposed to count the walkers and to spare the interrupt when there are
 * none:
 *
 *	changer					walker
 *	  change the entry			  count++
 *	  smp_mb()				  smp_mb()	(missing at first)
 *	  count != 0: interrupt and wait	  read the entry; use it
 *						  smp_mb(); count--
 *
 * Without the walker's barrier its reads may come before its increment is visible,
 * and neither sees the other. And the count must stay up as long as what was found is
 * used, which it did not in the patch as posted: find_current_mm_pte() returned with
 * it already lowered.
 *
 * From 5.8: the walker reads each entry once, decides by what it read, and looks again
 * after it has taken its reference. Nobody waits. What is left for the changer is
 * the TLB: powerpc.pmd_zap_flush.
 */
#ifndef CORE_ARCH_POWERPC_PTE_WALK_H
#define CORE_ARCH_POWERPC_PTE_WALK_H

#include "mm/mm_types.h"

/* The entry was changed before. Interrupts on: may wait for other CPUs. */
void serialize_against_pte_lookup(struct mm_struct *mm);
/*
 * The same when a table makes way for a huge page, which went on waiting until 6.1
 * (bedf03416913), when khugepaged did so itself: mm.collapse_sync.
 */
void serialize_against_collapse(struct mm_struct *mm);

#endif
