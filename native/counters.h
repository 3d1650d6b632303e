/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host's kernel lets a process count about itself: perf events and the
 * tlb:tlb_flush tracepoint (this process and threads created after opening),
 * the TLB row of /proc/interrupts and the load of other processes (whole host).
 *
 * Each is optional. What is not available gives one clause of the note, with
 * the way to enable it, and is absent from the metrics: never zero, never a
 * failure.
 *
 * counters_open() on the thread that will create the others, before it does;
 * counters_begin() and counters_end() around the window, by any one thread.
 *
 * Hardware counters cost nothing while they count, so they run beside the clock.
 * The tracepoint costs 3 to 4 % of mmap8's time: counters_open_trace() is for
 * a pass of its own, whose times are not used.
 */
#ifndef TLBLAB_NATIVE_COUNTERS_H
#define TLBLAB_NATIVE_COUNTERS_H

#include "report/metrics.h"

#define COUNTERS_MAX 16

struct host_sample {
	bool shootdowns_known, busy_known;
	u64 shootdowns;		/* TLB row of /proc/interrupts, all CPUs */
	u64 busy_ticks, steal_ticks;	/* all CPUs */
};

struct counters {
	u32 n;
	int fd[COUNTERS_MAX];
	const char *name[COUNTERS_MAX];	/* of the metric */
	u64 value[COUNTERS_MAX];	/* counts of the window */
	struct host_sample before, after;
	char note[768];
};

void counters_open(struct counters *c);
/* False when there is no tracepoint to count; the note says why. */
bool counters_open_trace(struct counters *c);
void counters_begin(struct counters *c);
void counters_end(struct counters *c);
/*
 * Adds the counts to the metrics; real_s, own_s: length of the window, CPU time of
 * this process in it.
 */
void counters_report(struct counters *c, double real_s, double own_s,
		     struct metrics *ms);
/* Appends what was not available to ms->note. */
void counters_note(const struct counters *c, struct metrics *ms);
void counters_close(struct counters *c);

#endif
