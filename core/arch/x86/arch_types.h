/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What x86 keeps in each address space, CPU and core.
 *
 * Three generations, as in arch/x86/mm/tlb.c:
 *	mm->context.tlb_gen	counts the flushes that were asked for,
 *	cpu ctxs[asid].tlb_gen	those that this slot of this CPU has caught up to,
 *	info.new_tlb_gen	the one that a flush stands for.
 * Invariant: a slot's TLB contents are no staler than its tlb_gen says.
 */
#ifndef CORE_ARCH_X86_ARCH_TYPES_H
#define CORE_ARCH_X86_ARCH_TYPES_H

struct mm_struct;

typedef struct {
	u64 ctx_id;		/* const: never given to another mm */
	atomic64_t tlb_gen;	/* shared */
	/* invlpgb.c: 0, or the ASID that this mm has on all CPUs. Written in the lock. */
	u32 global_asid;	/* shared */
	u32 asid_transition;	/* shared: some CPU may still use a slot of its own */
} mm_context_t;

/* Address spaces whose translations one CPU keeps at a time. */
#define TLB_NR_DYN_ASIDS 6

struct tlb_context {
	u64 ctx_id;		/* 0: the slot is free */
	u64 tlb_gen;
};

/* CPUs that have to flush, whatever they run. */
struct arch_tlbflush_unmap_batch {
	struct cpumask cpumask;
};

/* cpu_tlbstate and cpu_tlbstate_shared. */
struct arch_cpu {
	/*
	 * What CR3 points to, or LOADED_MM_SWITCHING while it changes.
	 * Shared: written by this CPU, interrupts off; read by flushers.
	 */
	struct mm_struct *loaded_mm;
	u32 is_lazy;			/* shared: no user mode here soon */
	u32 shared_asid;		/* shared: loaded_mm_asid, for invlpgb.c */
	/* The rest: this CPU only, interrupts off. */
	u16 loaded_mm_asid;		/* index into ctxs */
	u16 next_asid;			/* slot to recycle next */
	u16 user_pcid_flush_mask;	/* PTI: bit n: PCID n|0x800 is stale */
	bool user_mode;			/* PTI: CR3 holds the user tables */
	u16 flushes;			/* since a global ASID was last considered */
	struct tlb_context ctxs[TLB_NR_DYN_ASIDS];
};

/* ASIDs that there are: PCIDs but for 0, which is nobody's, and the last. */
#define MAX_ASID_AVAILABLE 4094

struct arch_root {
	atomic64_t last_mm_ctx_id;	/* shared */
	spinlock_t global_asid_lock;
	/* From TLB_NR_DYN_ASIDS on; freed ones are used until the next wrap. */
	u64 global_asid_used[64] __guarded_by(global_asid_lock);
	u64 global_asid_freed[64] __guarded_by(global_asid_lock);
	u32 last_global_asid __guarded_by(global_asid_lock);
	u64 vmalloc_pfn;	/* const: the table that all roots share, or 0: ioremap.h */
};

#endif
