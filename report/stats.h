/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics over runs. The only user of libm and Rmath. Every figure that is
 * printed passes through round_six() or a format of fewer digits, so that the last bits
 * of a libm show nowhere.
 */
#ifndef TLBLAB_REPORT_STATS_H
#define TLBLAB_REPORT_STATS_H

#include <tlblab/types.h>

struct stats {
	u32 n;
	double mean;
	double sd;		/* of the sample; 0 when n < 2 */
	double lo, hi;		/* 95 % t interval of the mean; mean when n < 2 */
};

struct stats stats_of(const double *x, u32 n);

/*
 * Two-sided p of "equal means" (Welch), n and m at least 2 and not both without
 * variance (then: 1 if the means are equal, else 0).
 */
double welch_p(const double *x, u32 n, const double *y, u32 m);

/*
 * Two-sided p of "same distribution" (Mann-Whitney): exact without ties,
 * else the normal approximation with corrections for ties and continuity.
 */
double mann_whitney_p(const double *x, u32 n, const double *y, u32 m);

/*
 * The effect of y against x, run by run: y[i] / x[i] - 1. lo and hi are the
 * 2.5 and 97.5 per cent points of what was seen (extremes, for few runs): an
 * interval of the effect itself, which more seeds cannot shrink to nothing, unlike
 * that of a mean.
 */
#define EFFECT_MIN_RUNS 5
#define EFFECT_NOTHING 0.01	/* a change of 1 % is none */

struct effect {
	u32 n;
	double mid, lo, hi;
	bool differs;		/* n >= EFFECT_MIN_RUNS and all beyond 1 % */
};

struct effect effect_of(const double *x, const double *y, u32 n);

/* To six significant digits. */
double round_six(double x);

#endif
