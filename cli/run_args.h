/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of `tlblab run`, as given; run.c gives them meaning. */
#ifndef TLBLAB_CLI_RUN_ARGS_H
#define TLBLAB_CLI_RUN_ARGS_H

#include <tlblab/limits.h>
#include <tlblab/types.h>

#include "workload/workload.h"

/* NAME=VALUE[,VALUE...] */
struct assignment {
	char *name;
	char *value[TLBLAB_MAX_COLUMNS];
	u32 n;
};

enum run_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct run_args {
	const char *workload;
	const char *machine;		/* "native" by default */
	u32 threads;			/* 0: the workload's default */
	const char *era;		/* NULL: that of the core's defaults */
	struct assignment set[TLBLAB_MAX_KNOBS];
	u32 nr_set;
	struct assignment param[WL_MAX_PARAMS];
	u32 nr_params;
	struct assignment core[TLBLAB_MAX_COLUMNS]; /* name, one file */
	u32 nr_cores;
	u32 runs;
	u64 seed;
	bool ranges, pin, verbose;
	u64 time_limit_ps;
	u64 interval_ps;		/* 0: none */
	enum run_format format;
	const char *output;		/* NULL: standard output */
};

/* Dies on bad usage. Strings point into argv, or are kept for good. */
void run_args_parse(struct run_args *args, int argc, char **argv);

#endif
