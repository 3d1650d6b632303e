/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The progress line: on stderr, only when that is a terminal, redrawn a few
 * times a second, wiped at the end.
 */
#ifndef TLBLAB_CLI_PROGRESS_H
#define TLBLAB_CLI_PROGRESS_H

#include <tlblab/types.h>

struct progress {
	bool on;
	u32 total, done;	/* runs, of all columns */
	const char *label;	/* of the column that runs */
	double all_began_s, run_began_s, drawn_s; /* host's clock */
};

void progress_start(struct progress *p, u32 total_runs);
void progress_run_begin(struct progress *p, const char *label);
/* For run_setup.progress; arg is the struct progress. */
void progress_tick(void *arg, u64 simulated_ps);
void progress_run_end(struct progress *p);
void progress_stop(struct progress *p);

#endif
