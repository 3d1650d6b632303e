/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coverage marks: MARK(name) on a rare path; a test that is about that path
 * asserts that it ran. Without -DTLBLAB_MARKS a mark compiles to nothing. With
 * it, exactly one file of the program (the test) writes MARKS_DEFINE; the counts
 * are then in mark_count[MARK_name]. Marks never change what the code does.
 */
#ifndef TLBLAB_MACHINE_MARK_H
#define TLBLAB_MACHINE_MARK_H

#include <tlblab/types.h>

#define MACHINE_MARKS(X)                                                        \
	X(mmu_va_outside)	/* address beyond what the tables can map */    \
	X(mmu_walk_outside)	/* a table word outside memory */               \
	X(mmu_walk_reserved)	/* reserved bits or encodings */                \
	X(mmu_walk_cached)	/* a walk that a walk-cache entry shortened */  \
	X(mmu_fault_cached)	/* ... and that faulted */                      \
	X(mmu_rewalk_dirty)	/* write through a clean cached entry */        \
	X(mmu_rewalk_gone)	/* ... whose table entry forbids it by now */   \
	X(mmu_perm_cached)	/* permission fault from a cached entry */      \
	X(mmu_global)		/* hit on a global entry */                     \
	X(mmu_evict_other)	/* eviction of another context's entry */       \
	X(mmu_view_release)	/* a CPU forgets a context it no longer holds */ \
	X(mmu_drop_probe)	/* range dropped by looking up its pages */     \
	X(mmu_drop_scan)	/* range dropped by visiting every entry */     \
	X(mmu_coalesced)	/* broadcasts that became one record */         \
	X(mmu_log_grow)                                                         \
	X(mmu_log_forced)	/* full log: idle CPUs caught up */             \
	X(mmu_log_forced_chase)	/* full log: a chasing CPU caught up early */   \
	X(mmu_ttl_other)	/* hint names another level than the entry's */ \
	X(mmu_op_void)		/* an operand for which nothing need be dropped */ \
	X(mmu_chase_hits)	/* closed form, all hits */                     \
	X(mmu_chase_walks)	/* closed form, with walks */                   \
	X(mmu_chase_skip)	/* records skipped that cannot matter */        \
	X(mmu_chase_carry)	/* a load in flight at the end */               \
	X(mmu_chase_fault_late)	/* a fault delivered in the next interval */    \
	X(mmu_steal_debt)	/* more stolen than the interval has */

enum machine_mark {
#define X(name) MARK_##name,
	MACHINE_MARKS(X)
#undef X
	NR_MACHINE_MARKS,
};

#ifdef TLBLAB_MARKS
extern u64 mark_count[NR_MACHINE_MARKS];
#define MARKS_DEFINE u64 mark_count[NR_MACHINE_MARKS]
#define MARK(name) ((void)mark_count[MARK_##name]++)
#else
#define MARK(name) ((void)0)
#endif

#endif
