/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timed machine, as its owner (a run) sees it. What code under study sees is
 * <tlblab/machine.h>.
 *
 * A machine is a conservative discrete-event simulation. It is
 * single-threaded and deterministic: the same description, core, knobs, seed and
 * program give the same figures to the picosecond. Everything hangs
 * from struct machine; many can live in one process, one running at a time per
 * host thread.
 */
#ifndef TLBLAB_MACHINE_MACHINE_H
#define TLBLAB_MACHINE_MACHINE_H

#include "desc.h"

struct machine;

/* Fences counted, by name: "dsb_ish", ... NULL for those that are not. */
const char *machine_fence_name(u32 kind);
const char *machine_insn_name(u32 insn);
const char *machine_account_name(u32 account);

/* Totals of the window (machine_window_open to _close). */
struct machine_stats {
	u64 window_ps;			/* length of the window */
	u64 account_ps[MACH_NR_ACCOUNTS]; /* sums over CPUs */
	u64 insn[MACH_NR_INSNS];
	u64 tlbie_ric[3], tlbiel_ric[3]; /* POWER: of insn[], by RIC */
	u64 fence[MACH_NR_FENCES];	/* a DSB ISHST, if a TLBI follows it */
	u64 dsb_ishst_all;		/* the others too: set_pmd() and its kin */
	u64 ipi;			/* interrupts sent, one per target */
	u64 tlb_hit, tlb_miss;		/* miss: a walk */
	u64 fabric_wait_ps;		/* waits for broadcasts, without fences */
	u64 page_fault;			/* faults delivered to the core */
	u64 sleeps, wakes, switches;
	u64 events;			/* taken from the queue of the clock */
};

/*
 * Create. The core is booted, all CPUs are online and idle. error gets one line,
 * with nothing created (NULL), when the core refuses its knobs or the host has
 * no memory. knobs: one value per knob of the module, in its order.
 */
struct machine *machine_create(const struct machine_desc *desc,
			       const struct core_module *core,
			       const s64 *knobs, u64 seed,
			       char *error, size_t error_size);
void machine_destroy(struct machine *m);

const struct mach_ops *machine_timed_ops(void);

/*
 * Run fn(arg) as the first thread (in an empty address space, on CPU 0 unless
 * affinity says otherwise), until every thread has exited, or the machine is stopped.
 * Returns 0; -EDEADLK when all threads wait for each other (a description is
 * in machine_message()); -EINTR when stopped by machine_stop(); -ETIME when the
 * simulated time limit was reached; -ELOOP when one access faulted
 * TLBLAB_STUCK_FAULTS times in a row (machine_message() says which).
 */
int machine_run(struct machine *m, void (*fn)(void *arg), void *arg,
		const u64 *affinity);
const char *machine_message(const struct machine *m);

/* Async-signal-safe: the run ends at the next event. */
void machine_stop(struct machine *m);
/* Limit of simulated time from the opening of the window; 0: none. */
void machine_set_time_limit(struct machine *m, u64 ps);
/*
 * Called about every `events` events with the simulated time since the window
 * opened; for progress lines.
 */
void machine_set_progress(struct machine *m, void (*fn)(void *arg, u64 ps),
			  void *arg);

/*
 * Called each ps of simulated time while the window is open, with its figures up to then;
 * time spent in what such a moment cuts counts as after it. ps 0: never.
 */
void machine_set_interval(struct machine *m, u64 ps,
			  void (*fn)(void *arg, const struct machine_stats *so_far),
			  void *arg);

/*
 * The measured window. Called on a stack of the machine. Opening forgets all
 * that was counted before; closing (idempotent) freezes the figures.
 */
void machine_window_open(void);
void machine_window_close(void);
const struct machine_stats *machine_stats(const struct machine *m);
u32 machine_core_stats(struct machine *m, struct core_stat *stats, u32 n);

/* What the core has not given back: frames, and bytes of its own objects. */
u64 machine_frames_in_use(const struct machine *m);
u64 machine_kalloc_in_use(const struct machine *m);

/* Simulated time of this CPU since the machine was created, in ps. */
u64 machine_now(void);
/* A draw of this machine's generator, for workloads' own choices. */
u64 machine_random(void);

#endif
