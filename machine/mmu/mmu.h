/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MMUs of a timed machine: TLBs, walk caches, hardware walkers and
 * invalidation, for every CPU.
 *
 * They know page tables as the manuals have them (SDM vol. 3A chapter 4, Arm ARM
 * D8) and nothing of the code that wrote them: a wrong encoding shows as a wrong
 * walk. Tables are read in simulated physical memory: address pa is at
 * phys_base + pa.
 *
 * What is cached. Each CPU has an L1 TLB of base pages, an L1 of larger ones
 * (absent: the first L1 holds all sizes), an L2 of both, and one walk cache
 * per level above the last, fully associative. Replacement is true LRU, a free or
 * dropped way first. Entries belong to a context: a PCID, an ASID, or that of global
 * entries. An entry that does not translate (not present; arm64: access
 * flag clear and not managed by hardware) is never cached. A walk starts below
 * the deepest table that the walk caches know, even if that table was freed
 * since: whoever frees a table must have invalidated. Faults:
 *   x86    drops what is cached for the address, walk caches included, in the
 *          current PCID (SDM 4.10.4.1), so that a retry walks from the root;
 *   arm64  drops nothing: a stale walk-cache entry faults for ever (thread S0);
 *   POWER  drops nothing, but reads the tables again before it refuses.
 *
 * Time. Nothing here waits; functions report what an access cost. Calls come in
 * the order of simulated time: now_ps of broadcasts never decreases, nor
 * that of the calls for one CPU. An invalidation is over when its call returns,
 * for every access with a later or equal time, on the CPUs it is for.
 *
 * Laziness. A broadcast is appended to the log of its context and costs O(1),
 * unless no CPU can hold the context, when it is dropped. A CPU can hold a
 * context while it is loaded or while entries of it are live. A CPU applies what
 * is new in the log of a context before it next looks up anything in it. So that
 * this is exact for a chase, which is evaluated after the fact:
 *   mmu_chase(.., from, from, ..)	announces it when it starts. A CPU that
 *	announced is not forced to apply records early before LOG_MAX of them are
 *	pending (log.c). A chase that is not announced is still right, but loses
 *	that protection in its first interval.
 * Tables are read when mmu_chase() is called, and not as they were at the time of
 * each load: call it before the entries of its pages change, if that matters. A
 * chase that misses all the time takes them for constant until a record covers
 * one of its pages or its CPU makes another call (chase.c).
 *
 * Who may call: the machine, one host thread at a time. What cannot happen
 * on hardware or was not announced by the machine's features (a range TLBI
 * without "arm64.tlbirange") is our own bug: assert. mmu_create() returns NULL
 * when out of memory; later, running out of memory is an assertion too.
 *
 * Costs come from the description: HW_ACCESS and HW_TLB_L2 (user time),
 * HW_WALK_BASE and HW_WALK_LEVEL per level read (walk time), HW_DVM_SNOOP (walk
 * time of a chase, per broadcast operation of another CPU in the interval).
 *
 * Features, all "on" or absent: "x86.pcid", "x86.invpcid", "arm64.hafdbs",
 * "arm64.ttl", "arm64.tlbirange", "powerpc.isa31". One number: "powerpc.hcall_ceiling".
 */
#ifndef TLBLAB_MACHINE_MMU_H
#define TLBLAB_MACHINE_MMU_H

#include "../desc.h"

struct mmu;

/* The access faulted; the other bits are MACH_FAULT_*. */
#define MMU_FAULT 0x80000000u

/* NULL: out of memory. desc must outlive it. True LRU draws nothing from seed. */
struct mmu *mmu_create(const struct machine_desc *desc, char *phys_base,
		       u64 seed);
void mmu_destroy(struct mmu *mmu);

struct mmu_xlate {
	u64 pa;
	u32 fault;	/* 0: pa is valid; else MMU_FAULT | MACH_FAULT_* */
	u64 user_ps;	/* 0 on a fault */
	u64 walk_ps;
	bool walked;
};

/*
 * Translate a user access (x86: CPL 3; arm64: EL0) of cpu. A root must have been
 * loaded. Sets accessed and dirty bits as the hardware does.
 */
void mmu_translate(struct mmu *mmu, u32 cpu, u64 now_ps, u64 va, bool write,
		   struct mmu_xlate *x);

/*
 * The same for a sweep over all of [va, end): translates va, and then
 * goes on through base pages of the same table while their entries allow the access and
 * lie on the same node. Returns how many bytes from va on can be accessed,
 * 0 on a fault. Of the pages after the first the TLB keeps nothing, and has nothing: a
 * sweep longer than the TLB finds them evicted. Each costs a walk of one
 * level. All nodes have node_bytes of memory.
 */
u64 mmu_sweep(struct mmu *mmu, u32 cpu, u64 now_ps, u64 va, u64 end, bool write,
	      u64 node_bytes, struct mmu_xlate *x);

/* A local instruction of MACH_INSNS or a load of a root: effect at once. */
void mmu_insn(struct mmu *mmu, u32 cpu, u64 now_ps, u32 insn, u64 a, u64 b,
	      u32 c);

/* A broadcast instruction that from_cpu issued completes now, for all CPUs. */
void mmu_broadcast(struct mmu *mmu, u64 now_ps, u32 from_cpu, u32 insn, u64 a,
		   u64 b, u32 c);

/*
 * The same for n operations by address, a being that of the first and each of the
 * others for the next base page. Only for TLBI VAE1IS and VALE1IS.
 */
void mmu_broadcast_run(struct mmu *mmu, u64 now_ps, u32 from_cpu, u32 insn,
		       u64 a, u64 b, u32 c, u32 n);

/*
 * Carry out the part of a chase that lies in [from_ps, to_ps): dependent
 * loads, one after the other, each when the one before has ended. Returns the time
 * used, which is *user_ps + *walk_ps and equals to_ps - from_ps unless the
 * chase ended: *fault is set (that load was not done; ch->pos is its
 * page, *fault_va its address), or ch->loads has reached ch->max_loads.
 * ch->stop is the machine's business.
 *
 * A load counts in ch->loads when it starts. What is left of it at to_ps is
 * kept here and comes first in the next call for the same chase on this CPU; it
 * is forgotten if this CPU does anything else with its MMU in between.
 */
u64 mmu_chase(struct mmu *mmu, u32 cpu, struct mach_chase *ch, u64 from_ps,
	      u64 to_ps, u64 *user_ps, u64 *walk_ps, u32 *fault,
	      u64 *fault_va);

struct mmu_stats {
	u64 hit_l1, hit_l2;
	u64 walk;		/* walks: TLB misses, and re-walks to set dirty */
	u64 walk_level;		/* table words read by them */
	u64 fault;
	u64 drop;		/* entries dropped one by one */
	u64 drop_all;		/* contexts dropped as a whole */
};

void mmu_stats(const struct mmu *mmu, u32 cpu, struct mmu_stats *stats);
/* Broadcast operations since creation, and the records they became. */
u64 mmu_broadcast_ops(const struct mmu *mmu);
u64 mmu_broadcast_records(const struct mmu *mmu);

/*
 * POWER's hypervisor: log2 of the page sizes that H_RPT_INVALIDATE can name, and whether
 * it drops everything of the PID for these operands, as they are in mmu/powerpc.c.
 */
extern const u32 mmu_hcall_shift[4];
bool mmu_hcall_drops_pid(const struct mmu *mmu, u64 start, u64 end, u32 c);

/* ---- for tests; all first apply what is pending at now_ps ---- */

/* The context of global entries, in place of a PCID or ASID. */
#define MMU_CTX_GLOBAL (~0u)

/* Live TLB entries of context ctx on cpu; and entries of its walk caches. */
u32 mmu_live(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx);
u32 mmu_live_walk(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx);
/* Whether cpu counts as a holder of ctx: its invalidations are recorded. */
bool mmu_holds(const struct mmu *mmu, u32 cpu, u32 ctx);
/* The cached translation of va in context ctx, if there is one; touches nothing. */
bool mmu_cached(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx, u64 va, u64 *pa);
/* A hash of all live entries of cpu, in order of use. */
u64 mmu_digest(struct mmu *mmu, u32 cpu);
/* Off: mmu_chase() simulates every single load. */
void mmu_set_closed_form(struct mmu *mmu, bool on);

#endif
