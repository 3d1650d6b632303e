/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `run` prints. A report is columns of runs of one workload on one machine;
 * three writers print it. None of them decides anything: the same report gives the
 * same bytes, but for wall_s.
 *
 * Strings are the caller's and outlive the report.
 */
#ifndef TLBLAB_REPORT_REPORT_H
#define TLBLAB_REPORT_REPORT_H

#include <stdio.h>

#include <tlblab/limits.h>

#include "report/metrics.h"
#include "report/stats.h"

struct report_setting {
	const char *name;
	char value[32];
};

struct report_column {
	char label[96];		/* what sets it apart: "fullmm_tables" */
	const char *core;	/* name of the core, "native" for the host's */
	struct report_setting *knob;	/* all of the core's, in its order */
	u32 nr_knobs;
	struct report_setting *param;	/* all of the workload's */
	u32 nr_params;
	struct metrics *run;	/* one per run that ended */
	u32 runs;
};

#define REPORT_MAX_NOTES 16

struct report {
	const char *version;
	const char *workload;
	const char *machine;
	const char *machine_summary;
	const char *era;	/* NULL: native */
	char params[200];	/* those that are not the default, for people */
	char varied[96];	/* over the columns: "mmu_gather.nested" */
	u32 threads;
	u64 seed;
	bool native;
	bool ranges;		/* costs were drawn from their ranges */
	bool partial;		/* stopped before all runs had ended */
	char *note[REPORT_MAX_NOTES];	/* report_note(); freed by report_free() */
	u32 nr_notes;
	struct report_column column[TLBLAB_MAX_COLUMNS];
	u32 nr_columns;
};

/* Adds a note unless it is there already, digits aside (runs differ in those). */
__attribute__((format(printf, 2, 3)))
void report_note(struct report *r, const char *fmt, ...);
void report_free(struct report *r); /* notes, settings and runs */

void report_text(const struct report *r, bool all_metrics, FILE *out);
void report_json(const struct report *r, FILE *out);
void report_csv(const struct report *r, FILE *out);

/* ---- for the writers ---- */

/*
 * The values of a metric, in the order of runs; runs without it are left out.
 * Returns how many; x has room for column->runs.
 */
u32 column_values(const struct report_column *c, const char *metric, double *x);
/* stats_of() those. */
struct stats column_stats(const struct report_column *c, const char *metric);
/*
 * Effect of column i against the first, over runs that both have. For
 * simulated columns these share their seed and their drawn costs.
 */
struct effect column_effect(const struct report *r, u32 i, const char *metric);
/* All names that any run has, in order of first appearance; free() the array. */
const char **metric_names(const struct report *r, u32 *n);
/* Of the runs' digests, in order; of a single run, its own. */
u64 column_digest(const struct report_column *c);
/* "real_s", ...: figures whose change a reader asks about. NULL at the end. */
extern const char *const headline_metrics[];

#endif
