/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `tlblab validate`: published figures beside the model's (validate_rows.c is the table), and
 * with --native this host's beside those of a model of it (validate_native.c).
 */
#ifndef TLBLAB_CLI_VALIDATE_H
#define TLBLAB_CLI_VALIDATE_H

#include <stdio.h>

#include "cli/point.h"

/*
 * A figure of a run: metric, divided by operations if per_op, by user and system time if of_cpu,
 * times scale. Where chance decides how a run goes, the median of so many seeds; 0: one.
 */
struct validate_run {
	const char *machine;
	struct point point;
	const char *metric;
	bool per_op, of_cpu;
	double scale;
	u32 seeds;
};

#define VALIDATE_MAX_SEEDS 9

enum validate_how { VALIDATE_FIGURE, VALIDATE_RATIO, VALIDATE_DIFFERENCE };

/*
 * A published figure. The model's is that of a, or a over b, or a less b. A figure is fitted if
 * the model's parameters were chosen to meet it: fitted says which. Others are predicted.
 */
struct validate_row {
	const char *section;
	const char *what, *unit;
	double published;
	const char *fitted;
	enum validate_how how;
	struct validate_run a, b;
};

extern const struct validate_row validate_rows[]; /* ends with a NULL section */

struct validate_result {
	double model, lo, hi;	/* lo and hi with --ranges only */
};

/*
 * Prints the row, under headings of its section, and of its machine and era, where they are not
 * those of the last row (NULL: it is the first). No line is longer than 78 columns.
 */
void validate_print(const struct validate_row *r, const struct validate_result *res,
		    const struct validate_row *last, bool ranges, FILE *out);
/* Of n predicted figures: the median of |ratio - 1|, and the worst. Sorts. */
void validate_summary(double *error, u32 n, FILE *out);

struct native_args {
	const char *machine;	/* NULL: calibrate first */
	u32 rounds;
	bool force;
};

/* The points that are compared on this host. */
struct native_point {
	const char *what;
	struct point point;
	bool calibrated;	/* the very loop that a cost was measured by */
};

extern const struct native_point native_points[]; /* ends with a NULL what */

/* Of one point, after all pairs. */
struct native_result {
	bool known;
	double predicted_ns, measured_ns;	/* an operation; medians */
	double ratio, lo, hi;	/* of the pairs: median and quartiles */
};

/*
 * Median of |ratio - 1| of those that were not calibrated and have at most so many threads, and
 * the worst: its index.
 */
double native_headline(const struct native_result *res, u32 n, u32 threads, u32 *worst);
void native_print(const struct native_result *res, u32 n, FILE *out);
void validate_native(const struct native_args *args);

#endif
