/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine, described: what a YAML file of machines/ says, after checking, in
 * integers. Plain data, no pointers into a parser, so that a static build can
 * have one compiled in. desc_yaml.c reads files; desc_c.c prints one as C.
 *
 * Times are picoseconds. Every cost has a kind: published (read in a source),
 * derived (arithmetic on published figures), fitted (chosen so that the model
 * meets a figure, which it then does not predict), measured (on the machine itself, by
 * `tlblab calibrate`) or estimate; and a range unless published.
 */
#ifndef TLBLAB_MACHINE_DESC_H
#define TLBLAB_MACHINE_DESC_H

#include <tlblab/machine.h>

enum cost_kind {
	COST_PUBLISHED, COST_DERIVED, COST_FITTED, COST_ESTIMATE, COST_MEASURED,
};

/*
 * Costs of the hardware and of the scheduler, beside those of MACH_COSTS that
 * the core names. Each comment says for what one unit is charged and to which account.
 */
#define HW_COSTS(X)                                                             \
	/* Shared words and locks. "near" shares a last-level cache or package, \
	 * "far" another package. Account ATOMIC. */                            \
	X(LOAD, load)			/* plain hit, CONTEXT */                \
	X(STORE, store)			/* plain hit, CONTEXT */                \
	X(SCAN, scan)			/* per empty entry, CONTEXT */          \
	X(ATOMIC_LOCAL, atomic_local)	/* RMW on a line we own */              \
	X(LINE_SMT, line_smt)		/* transfer from a sibling thread */    \
	X(LINE_NEAR, line_near)                                                 \
	X(LINE_FAR, line_far)                                                   \
	X(LOCK_HANDOFF, lock_handoff)	/* extra for a queued spinlock waiter */ \
	X(FENCE, fence)			/* full fence, CONTEXT */               \
	/* Scheduler. Account SCHED; wake_latency is off CPU (IDLE). */         \
	X(SCHED_OUT, sched_out)		/* going to sleep */                    \
	X(SCHED_IN, sched_in)		/* resuming */                          \
	X(WAKE, wake)			/* paid by the waker, per wake-up */    \
	X(WAKE_LATENCY, wake_latency)	/* until an idle CPU resumes it */      \
	X(TIMER_TICK, timer_tick)	/* per tick, IPI_HANDLER */             \
	X(RCU_GRACE, rcu_grace)		/* length of a grace period, off CPU */ \
	/* Interrupts. */                                                       \
	X(IPI_SEND_BASE, ipi_send_base)	/* per call, IPI_SEND */                \
	X(IPI_SEND_TARGET, ipi_send_target) /* per target, IPI_SEND */          \
	X(IPI_NEAR, ipi_near)		/* delivery latency */                  \
	X(IPI_FAR, ipi_far)                                                     \
	X(IPI_IDLE, ipi_idle)		/* extra when the target idles */       \
	X(IRQ_ENTRY, irq_entry)		/* entry+exit, IPI_HANDLER */           \
	/* Translation. Account USER for hits, WALK for walks. */               \
	X(ACCESS, access)		/* dependent load that hits L1 TLB */   \
	/* user_sweep(), per base page; 0: as zero_page, without limit. USER. */ \
	X(MEM_LOCAL, mem_local)	/* one CPU alone, its own node */       \
	X(MEM_REMOTE, mem_remote)	/* ... another node */                  \
	X(MEM_NODE, mem_node)		/* what a node's memory can serve */    \
	X(MEM_LINK, mem_link)		/* ... of other nodes' CPUs */          \
	X(TLB_L2, tlb_l2)		/* extra: L1 TLB miss, L2 hit */        \
	X(WALK_BASE, walk_base)		/* extra: per walk */                   \
	X(WALK_LEVEL, walk_level)	/* per level read, not skipped */       \
	/* x86. Account INVALIDATE_ISSUE. */                                    \
	X(INVLPG, invlpg)                                                       \
	X(INVPCID, invpcid)                                                     \
	X(CR3, cr3)			/* write, flushing or not */            \
	/* AMD's broadcasts: as arm64's, with TLBSYNC for DSB. */               \
	X(INVLPGB_ISSUE, invlpgb_issue)	/* per instruction at its CPU */        \
	X(INVLPGB, invlpgb)		/* queue: per instruction */            \
	X(INVLPGB_SYNC, invlpgb_sync)	/* TLBSYNC, after the queue; INVALIDATE_WAIT */ \
	/* arm64. A broadcast op waits in one queue for the whole machine and   \
	 * takes dvm_* there; DSB adds dsb_ish after its last op is served. */  \
	X(TLBI_ISSUE, tlbi_issue)	/* per op at its CPU, INVALIDATE_ISSUE */ \
	X(TLBI_RATE, tlbi_rate)		/* one CPU's ops are no faster than */  \
	X(DVM_VA, dvm_va)		/* queue: op by VA */                   \
	X(DVM_ASID, dvm_asid)		/* queue: op by ASID or all */          \
	X(DVM_RANGE, dvm_range)		/* queue: a range op */                 \
	X(DVM_SNOOP, dvm_snoop)		/* stolen from each other CPU, per op, WALK */ \
	X(DSB_ISHST, dsb_ishst)		/* INVALIDATE_WAIT */                   \
	X(DSB_ISH, dsb_ish)		/* INVALIDATE_WAIT */                   \
	X(DSB_NSH, dsb_nsh)                                                     \
	X(TLBI_LOCAL, tlbi_local)	/* non-broadcast op */                  \
	X(ISB, isb)                                                             \
	/* POWER. As arm64: tlbie goes through the queue, ptesync waits. */     \
	X(TLBIE_ISSUE, tlbie_issue)                                             \
	X(TLBIE_VA, tlbie_va)                                                   \
	X(TLBIE_PID, tlbie_pid)                                                 \
	X(TLBIEL, tlbiel)                                                       \
	X(PTESYNC, ptesync)                                                     \
	X(TLBSYNC, tlbsync)                                                     \
	X(HCALL, hcall)                                                         \
	/* Charged by nobody: for figures in cycles. */                         \
	X(CYCLE, cycle)			/* of a CPU's clock */

enum hw_cost {
#define X(id, name) HW_##id,
	HW_COSTS(X)
#undef X
	HW_NR_COSTS,
};

struct cost {
	u64 ps;
	u64 lo_ps, hi_ps;	/* range; equal to ps when published */
	u8 kind;		/* enum cost_kind */
	u8 given;		/* 0: absent in the file, hence 0 */
	u16 group;		/* fitted together: index into groups, or 0 */
	char source[120];
};

struct cpu_place {
	u16 node, package;
	u32 core;		/* equal for SMT siblings */
	u16 smt;		/* 0 for the first thread of a core */
};

struct tlb_geometry {
	u32 sets, ways;		/* 0 ways: absent */
};

#define DESC_MAX_FEATURES	64

struct machine_desc {
	char name[48];
	char summary[160];
	char arch[16];		/* "x86", "arm64", "powerpc" */
	u32 nr_cpus, nr_nodes, nr_packages;
	struct cpu_place place[TLBLAB_MAX_CPUS];

	u64 memory_bytes;
	u32 page_shift;
	u32 va_bits;		/* of user addresses */

	struct tlb_geometry l1;		/* base pages */
	struct tlb_geometry l1_huge;
	struct tlb_geometry l2;		/* base and huge pages together */
	/* Paging-structure cache entries per level: [1] holds pointers to
	 * last-level tables, [2] to the tables above, ... */
	u32 walk_cache[TLBLAB_MAX_PT_LEVELS];
	u32 asid_bits;			/* PCID, ASID or PID width */

	struct {
		char name[48];		/* a KNOB_HW knob of the core */
		char value[24];
	} feature[DESC_MAX_FEATURES];
	u32 nr_features;

	u32 jitter_pct;			/* named costs vary by +- so much */
	u32 wake_jitter_pct;		/* and wake_latency by so much; 0: as they do */
	u32 tick_us;			/* timer period */
	u32 timeslice_us;

	struct cost core_cost[MACH_NR_COSTS];
	struct cost hw_cost[HW_NR_COSTS];
	char group[8][32];		/* names of fitted groups, from [1] */
};

#endif
