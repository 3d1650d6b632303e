/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What arm64 keeps in each address space, CPU and core: the ASID allocator's
 * state, as in arch/arm64/mm/context.c.
 *
 * A context id is a generation (from bit 16 up) and an ASID (below
 * arm64.asid_bits). It is valid while its generation is the current one.
 */
#ifndef CORE_ARCH_ARM64_ARCH_TYPES_H
#define CORE_ARCH_ARM64_ARCH_TYPES_H

struct mm_struct;

typedef struct {
	atomic64_t id;		/* shared; changed under cpu_asid_lock; 0: none yet */
} mm_context_t;

/* The TLBIs are under way: nothing to remember. */
struct arch_tlbflush_unmap_batch {
};

struct arch_cpu {
	/*
	 * Context id that this CPU runs, or 0 since a rollover took it.
	 * Shared; the lock-free switch and the rollover meet here.
	 */
	atomic64_t active_asid;
	/* What it ran at the last rollover; that ASID is not to be reused. */
	u64 reserved_asid __guarded_by(cpu_asid_lock);
	/* This CPU only. */
	u64 ttbr0;		/* as written for kernel mode */
	bool user_mode;		/* KPTI: the user half of the ASID pair applies */
};

struct arch_root {
	atomic64_t asid_generation;	/* shared; changed under cpu_asid_lock */
	spinlock_t cpu_asid_lock;
	u64 *asid_map __guarded_by(cpu_asid_lock);
	u32 cur_idx __guarded_by(cpu_asid_lock);
	/* CPUs that have to flush all before they run anything new. */
	u64 tlb_flush_pending[NR_CPUS / 64] __guarded_by(cpu_asid_lock);
};

#endif
