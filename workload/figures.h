/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What both bindings need: a workload's own figures, kept until the run's
 * metrics are put together, and the order in which pointers are chased.
 */
#ifndef TLBLAB_WORKLOAD_FIGURES_H
#define TLBLAB_WORKLOAD_FIGURES_H

#include <assert.h>

#include "report/metrics.h"
#include "workload/workload.h"

#define FIGURES_MAX 16

struct figures {
	u32 n;
	const char *name[FIGURES_MAX];	/* string constants of the workload */
	double value[FIGURES_MAX];
	bool timed[FIGURES_MAX];
	enum wl_timed kind[FIGURES_MAX];
};

static inline void figures_add(struct figures *f, const char *name, double value)
{
	assert(f->n < FIGURES_MAX);
	f->name[f->n] = name;
	f->value[f->n++] = value;
}

static inline void figures_add_timed(struct figures *f, const char *name,
				     enum wl_timed kind, double n)
{
	f->timed[f->n] = true;
	f->kind[f->n] = kind;
	figures_add(f, name, n);
}

static inline double figure_value(const struct figures *f, u32 i, double window_s)
{
	double n = f->value[i];

	if (!f->timed[i])
		return n;
	switch (f->kind[i]) {
	case WL_WINDOW_S:
		return n * window_s;
	case WL_WINDOW_US_PER:
		return n > 0 ? 1e6 * window_s / n : 0;
	case WL_PER_S:
		break;
	}
	return window_s > 0 ? n / window_s : 0;
}

static inline void figures_set(const struct figures *f, double window_s,
			       struct metrics *ms)
{
	for (u32 i = 0; i < f->n; i++)
		metrics_set(ms, f->name[i], figure_value(f, i, window_s));
}

/*
 * next[i] is the page after page i: one cycle through all n pages (Sattolo's
 * shuffle over a linear congruential generator of fixed seed).
 */
static inline void wl_cycle(u32 *next, u32 n)
{
	u64 state = 0x853c49e6748fea9bULL;

	for (u32 i = 0; i < n; i++)
		next[i] = i;
	for (u32 i = n - 1; i > 0 && i < n; i--) {
		u32 j, tmp;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		j = (u32)((state >> 33) % i);
		tmp = next[i];
		next[i] = next[j];
		next[j] = tmp;
	}
}

#define CACHE_LINE 64U

/*
 * Where pointer i of a chase over so many lines of each page stands, from the base on. Its line
 * in the page must not follow from the low bits of the page's number alone: where pages are
 * contiguous (huge ones always are) both select the cache's set, and line = page, say, would
 * use 64 sets of 2048.
 */
static inline u64 wl_chase_offset(u32 i, u32 lines, u32 page_size)
{
	u32 page = i / lines, nr_lines = page_size / CACHE_LINE;
	u32 line = (i % lines ^ page ^ page / nr_lines) % nr_lines;

	return (u64)page * page_size + line * CACHE_LINE;
}

#endif
