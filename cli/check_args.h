/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of `tlblab check`, as given; check_plan.c gives them meaning. */
#ifndef TLBLAB_CLI_CHECK_ARGS_H
#define TLBLAB_CLI_CHECK_ARGS_H

#include "explore/explore.h"

#define CHECK_MAX_SETS 32

struct check_set {
	const char *name, *value;	/* of -s KNOB=VALUE */
};

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_KTAP };

struct check_args {
	char **path;		/* files and folders */
	u32 nr_paths;
	u32 archs;		/* bits of enum xarch; 0: all */
	const char *era;	/* NULL: the file's */
	struct check_set set[CHECK_MAX_SETS];
	u32 nr_sets;
	enum xstrategy strategy;
	u32 bound;
	double budget_s;	/* of each check */
	u64 seed;
	u32 jobs;
	bool verbose;
	enum check_format format;
	const char *witness;	/* NULL: only in the cache */
};

/* Dies on bad usage. Strings point into argv, or are kept for good. */
void check_args_parse(struct check_args *args, int argc, char **argv);

#endif
