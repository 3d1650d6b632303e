/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One point: a workload with its parameters, simulated under an era and settings or run on
 * this host. For tables of many points that are written down in C. Strings are those of
 * the command line. Whatever cannot be is a mistake in such a table, and dies with one line.
 */
#ifndef TLBLAB_CLI_POINT_H
#define TLBLAB_CLI_POINT_H

#include "machine/desc.h"
#include "workload/run.h"

struct point {
	const char *workload, *era;
	u32 threads;
	bool pin;
	const char *set[4];	/* "knob=value" */
	const char *params[6];	/* "param=value" */
};

void point_simulate(const struct point *p, const struct machine_desc *desc, u64 seed,
		    struct metrics *ms);
/* Without counters. The era is the host's, and settings there are none. */
void point_native(const struct point *p, struct metrics *ms);
bool point_equal(const struct point *a, const struct point *b);

/* 0 when there is no such figure. */
double point_metric(const struct metrics *ms, const char *name);

#endif
