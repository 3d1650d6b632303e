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

struct core;

/* The core of an architecture; it stays loaded. Ends the program when there is none. */
const struct core *point_core(const char *arch);
/* "name=value": copies the name and returns the value. */
const char *point_split(const char *setting, char name[64]);

void point_simulate(const struct point *p, const struct machine_desc *desc, u64 seed,
		    struct metrics *ms);
/* Without counters. The era is the host's, and settings there are none. */
void point_native(const struct point *p, struct metrics *ms);
bool point_equal(const struct point *a, const struct point *b);

/* 0 when there is no such figure. */
double point_metric(const struct metrics *ms, const char *name);

#endif
