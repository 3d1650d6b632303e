/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `tlblab check` says of each check, as it ends, and of all at the end. */
#ifndef TLBLAB_CLI_CHECK_REPORT_H
#define TLBLAB_CLI_CHECK_REPORT_H

#include <stdio.h>

#include "cli/check_plan.h"
#include "explore/witness.h"

#define CHECK_STORY_MAX 25

enum check_verdict { CHECK_PASS, CHECK_VIOLATION, CHECK_INCONCLUSIVE, CHECK_SKIPPED };

struct check_outcome {
	enum check_verdict verdict;
	bool as_expected;
	bool stopped;			/* Ctrl-C: why it is inconclusive */
	enum xrule rule;
	u32 bound;
	bool complete;
	u64 schedules;
	double seconds;
	char why[300];			/* of a model: what is not as expected */
	char id[WITNESS_ID_SIZE];	/* empty: no violation, or a model's */
	char *story[CHECK_STORY_MAX];
	u32 nr_story;
};

struct check_report;

struct check_report *check_report_begin(const struct check_args *args, u32 total,
					FILE *out);
void check_report_add(struct check_report *r, const struct check *c,
		      const struct check_outcome *o);
/* stopped: by Ctrl-C, before all checks were made. */
void check_report_end(struct check_report *r, bool stopped);

/* For the verdict that a search came to: was it expected? */
bool check_as_expected(const struct check *c, enum check_verdict verdict,
		       enum xrule rule);

#endif
