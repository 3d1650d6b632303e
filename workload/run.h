/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of one workload: on a simulated machine (workload/sim.c) or on
 * the host's kernel (native/run.c). The command line (cli/run.c) and the
 * tests call these.
 */
#ifndef TLBLAB_WORKLOAD_RUN_H
#define TLBLAB_WORKLOAD_RUN_H

#include "machine/machine.h"
#include "report/metrics.h"
#include "workload/workload.h"

struct run_setup {
	const struct workload *workload;
	u64 param[WL_MAX_PARAMS];	/* in the order of workload->params */
	u32 threads;
	bool pin;
	u64 seed;
	u64 time_limit_ps;		/* simulated; 0: none */
	u64 interval_ps;		/* simulated: of metrics->interval; 0: none */
	/* Called now and then with iterations' time; may be NULL. */
	void (*progress)(void *arg, u64 simulated_ps);
	void *progress_arg;
	const volatile int *stop;	/* set by a signal handler; may be NULL */
	bool bare;			/* natively: the clock, and nothing counted */
	/* Simulated only: */
	const struct machine_desc *desc;
	const struct core_module *core;
	const s64 *knobs;		/* one per core->knobs */
};

enum run_status {
	RUN_OK,
	RUN_STOPPED,	/* by *stop or the time limit; the figures are partial */
	RUN_FAILED,	/* error says what: the workload or the machine failed */
};

enum run_status run_simulated(const struct run_setup *setup,
			      struct metrics *metrics,
			      char *error, size_t error_size);
enum run_status run_native(const struct run_setup *setup,
			   struct metrics *metrics,
			   char *error, size_t error_size);

#endif
