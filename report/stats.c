// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MATHLIB_STANDALONE 1
#include <Rmath.h>

struct stats stats_of(const double *x, u32 n)
{
	struct stats s = { .n = n };
	double squares = 0, half;

	for (u32 i = 0; i < n; i++)
		s.mean += x[i];
	s.mean /= n ? n : 1;
	for (u32 i = 0; i < n; i++)
		squares += (x[i] - s.mean) * (x[i] - s.mean);
	s.lo = s.hi = s.mean;
	if (n < 2)
		return s;
	s.sd = sqrt(squares / (n - 1));
	/* Equal values, but for the rounding of their mean. */
	if (s.sd < 1e-12 * fabs(s.mean))
		s.sd = 0;
	half = qt(0.975, n - 1, 1, 0) * s.sd / sqrt(n);
	s.lo = s.mean - half;
	s.hi = s.mean + half;
	return s;
}

double welch_p(const double *x, u32 n, const double *y, u32 m)
{
	struct stats a = stats_of(x, n), b = stats_of(y, m);
	double va = a.sd * a.sd / n, vb = b.sd * b.sd / m;
	double t, df;

	if (va + vb <= 0)
		return a.mean == b.mean ? 1 : 0;
	t = fabs(a.mean - b.mean) / sqrt(va + vb);
	df = (va + vb) * (va + vb) / (va * va / (n - 1) + vb * vb / (m - 1));
	return 2 * pt(t, df, 0, 0);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The sum over groups of equal values of t^3 - t; 0 when there are no ties. */
static double tie_sum(const double *x, u32 n, const double *y, u32 m)
{
	double *all = malloc((n + m) * sizeof(*all));
	double sum = 0;
	u32 i, j;

	if (!all)
		abort();
	memcpy(all, x, n * sizeof(*x));
	memcpy(all + n, y, m * sizeof(*y));
	qsort(all, n + m, sizeof(*all), compare_doubles);
	for (i = 0; i < n + m; i = j) {
		for (j = i + 1; j < n + m && all[j] == all[i];)
			j++;
		sum += pow(j - i, 3) - (j - i);
	}
	free(all);
	return sum;
}

double mann_whitney_p(const double *x, u32 n, const double *y, u32 m)
{
	double ties = tie_sum(x, n, y, m), N = n + m, u = 0, z, sd, p;

	for (u32 i = 0; i < n; i++)
		for (u32 j = 0; j < m; j++)
			u += x[i] > y[j] ? 1 : x[i] == y[j] ? 0.5 : 0;
	if (ties <= 0 && n < 50 && m < 50) {
		p = u > n * m / 2.0 ? pwilcox(u - 1, n, m, 0, 0) :
				      pwilcox(u, n, m, 1, 0);
		return p < 0.5 ? 2 * p : 1;
	}
	sd = sqrt(n * m / 12.0 * (N + 1 - ties / (N * (N - 1))));
	if (sd <= 0)
		return 1;
	z = fabs(u - n * m / 2.0) - 0.5;
	p = pnorm5(z > 0 ? z / sd : 0, 0, 1, 0, 0);
	return p < 0.5 ? 2 * p : 1;
}

/* R's type 7: linear between the two nearest of the sorted values. */
static double quantile(const double *sorted, u32 n, double q)
{
	double at = q * (n - 1);
	u32 i = at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

struct effect effect_of(const double *x, const double *y, u32 n)
{
	struct effect e = { 0 };
	double *change = malloc((n + 1) * sizeof(*change));

	if (!change)
		abort();
	for (u32 i = 0; i < n; i++)
		if (x[i] > 0)
			change[e.n++] = y[i] / x[i] - 1;
	if (e.n) {
		qsort(change, e.n, sizeof(*change), compare_doubles);
		e.mid = quantile(change, e.n, 0.5);
		e.lo = quantile(change, e.n, 0.025);
		e.hi = quantile(change, e.n, 0.975);
		e.differs = e.n >= EFFECT_MIN_RUNS &&
			    (e.lo > EFFECT_NOTHING || e.hi < -EFFECT_NOTHING);
	}
	free(change);
	return e;
}

double round_six(double x)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%.5e", x);
	return strtod(digits, NULL);
}
