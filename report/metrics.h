/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The figures of one run: named numbers in a fixed order (that of first
 * setting). A figure that could not be had is absent, never zero.
 */
#ifndef TLBLAB_REPORT_METRICS_H
#define TLBLAB_REPORT_METRICS_H

#include <stdlib.h>

#include <tlblab/types.h>

#define METRIC_NAME_MAX 48
#define METRICS_MAX 256

struct metric {
	char name[METRIC_NAME_MAX];
	double value;
};

/* What a row of `run --interval` has: "time_s", the end of it, first. */
#define INTERVAL_FIGURES 8

struct interval {
	u32 n;
	struct metric m[INTERVAL_FIGURES];
};

struct metrics {
	u32 n;
	struct metric m[METRICS_MAX];
	/* In order of time, all with the same figures; metrics_free(). */
	struct interval *interval;
	u32 nr_intervals;
	/* Of the integers that the figures come from (FNV-1a); 0: native. */
	u64 digest;
	/* What could not be measured here and how to enable it; "" if all was. */
	char note[1024];
};

static inline void metrics_free(struct metrics *ms)
{
	free(ms->interval);
	ms->interval = NULL;
	ms->nr_intervals = 0;
}

static inline void metrics_set(struct metrics *ms, const char *name, double v)
{
	u32 i, k;

	for (i = 0; i < ms->n; i++)
		if (!__builtin_strcmp(ms->m[i].name, name))
			break;
	if (i == METRICS_MAX)
		__builtin_trap();
	if (i == ms->n)
		ms->n++;
	for (k = 0; name[k] && k < METRIC_NAME_MAX - 1; k++)
		ms->m[i].name[k] = name[k];
	ms->m[i].name[k] = 0;
	ms->m[i].value = v;
}

#endif
