/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a `run` will run: workload, machine and columns, resolved and checked
 * before anything runs. plan_make() dies with one line on anything that cannot be.
 */
#ifndef TLBLAB_CLI_PLAN_H
#define TLBLAB_CLI_PLAN_H

#include "cli/core.h"
#include "cli/run_args.h"
#include "machine/desc.h"
#include "report/report.h"
#include "workload/workload.h"

struct plan_column {
	const struct core *core;	/* NULL: native */
	s64 knobs[TLBLAB_MAX_KNOBS];
	u64 param[WL_MAX_PARAMS];
};

struct plan {
	const struct run_args *args;
	const struct workload *workload;
	bool native;
	struct machine_desc *desc;	/* NULL: native */
	char summary[200];		/* of the machine */
	const char *era;
	u32 threads;
	struct core core[TLBLAB_MAX_COLUMNS];
	u32 nr_cores;
	struct plan_column column[TLBLAB_MAX_COLUMNS];
	u32 nr_columns;
};

struct plan *plan_make(const struct run_args *args);
void plan_free(struct plan *p);
/* Headings, labels, settings and what is scaled, for the report. */
void plan_describe(const struct plan *p, struct report *r);

#endif
