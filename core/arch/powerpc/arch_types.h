/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What POWER keeps in each address space, CPU and core.
 *
 * A PID names an address space to the MMU for its whole life: hardware finds the
 * root of its tree in the process table, by PID. None is given out again before
 * the flush at its owner's end (RIC = 2) has dropped every trace of it.
 */
#ifndef CORE_ARCH_POWERPC_ARCH_TYPES_H
#define CORE_ARCH_POWERPC_ARCH_TYPES_H

struct mm_struct;

typedef struct {
	u64 id;			/* const: the PID */
	/*
	 * CPUs in mm_cpumask(), and one more if there are coprocessors. Shared. Changed
	 * by each CPU for itself, with interrupts off, beside its bit of the mask.
	 */
	atomic_t active_cpus;
	/* Coprocessors that translate by this PID through the nest MMU. Shared. */
	atomic_t copros;
	/*
	 * Lockless walks under way, where powerpc.pte_serialize counts them in the mm.
	 * Shared: every walk of every CPU writes it twice.
	 */
	atomic_t lockless_pgtbl_walkers;
} mm_context_t;

/* Nothing is deferred, as in Linux. */
struct arch_tlbflush_unmap_batch {
};

struct arch_cpu {
	u32 mm_cpumask_trim_clock;	/* this CPU only */
};

/* Power ISA III 6.7.6.2: one per PID. */
struct prtb_entry {
	u64 prtb0;		/* shared: tree size, root, size of the root */
	u64 prtb1;		/* shared: 0, no table of hash segments */
};

/* One per CPU, on a line of its own. */
struct pgtbl_walk_counter {
	u32 nr;			/* shared; written by its CPU with interrupts off */
	u32 pad[15];
};

struct arch_root {
	struct pgtbl_walk_counter *walkers; /* const pointer: [nr_cpus] */
	struct prtb_entry *process_tb;	/* const pointer: physical memory */
	spinlock_t pid_lock;
	u64 *pid_map __guarded_by(pid_lock);
	u64 pid_first_free __guarded_by(pid_lock); /* none is free below */
};

#endif
