/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run, in a line: what `tlblab run` does for one column and one seed, for
 * the benchmarks and for tests that compare many points. Any failure of the
 * set-up or of the run ends the program with one line.
 */
#ifndef TLBLAB_BENCH_LAB_H
#define TLBLAB_BENCH_LAB_H

#include "workload/run.h"

struct lab_point {
	const char *workload, *machine, *era;
	u32 threads;
	bool pin;
	u64 seed;
	const char *const *set;		/* "knob=value", NULL-terminated, or NULL */
	const char *const *params;	/* "param=value", likewise */
};

void lab_run(const struct lab_point *p, struct metrics *ms);
/* The same on a description that the caller changed. */
void lab_run_on(const struct lab_point *p, const struct machine_desc *desc,
		struct metrics *ms);
void lab_machine(const char *name, struct machine_desc *desc);

/* 0 when there is no such figure. */
double lab_get(const struct metrics *ms, const char *name);

/*
 * CPU time of this process so far, and the most memory that it ever had. A simulation
 * has one thread: on an idle host its CPU time is its elapsed time.
 */
double lab_cpu_s(void);
/* And of all child processes that have ended. */
double lab_all_cpu_s(void);
double lab_peak_mib(void);

#endif
