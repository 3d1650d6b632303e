/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plainest chooser that sees everything: depth first, no reduction, with a bound
 * on preemptions (choosing other than the running thread while that can move).
 * And a random one. For tests of the world; the real ones are in search.c.
 */
#ifndef TESTS_WORLD_DFS_H
#define TESTS_WORLD_DFS_H

#include <assert.h>
#include <string.h>

#include "explore/explore.h"

#define DFS_MAX 20000

struct dfs {
	u32 bound;		/* preemptions allowed; ~0U: any number */
	/* The path: which alternative was taken, and of how many. */
	u16 taken[DFS_MAX], of[DFS_MAX];
	u8 cost[DFS_MAX];	/* a pick whose alternatives beyond 0 preempt */
	u32 len, pos, used;
	u64 runs;
};

static inline void dfs_init(struct dfs *d, u32 bound)
{
	d->len = d->pos = d->used = 0;
	d->runs = 0;
	d->bound = bound;
}

static inline u32 dfs_at(struct dfs *d, u32 n, bool cost)
{
	u32 i = d->pos++;

	assert(i < DFS_MAX);
	if (i == d->len) {
		d->taken[i] = 0;
		d->of[i] = (u16)(cost && d->used >= d->bound ? 1 : n);
		d->cost[i] = cost;
		d->len++;
	}
	if (d->cost[i] && d->taken[i])
		d->used++;
	return d->taken[i];
}

/* Alternative 0 is the running thread, if it can move. */
static inline u32 dfs_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	u32 k;

	(void)enabled;
	if (n == 1)
		return 0;
	k = dfs_at(ctx, n, running < n);
	if (running == n)
		return k;
	return k == 0 ? running : k <= running ? k - 1 : k;
}

static inline u32 dfs_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	(void)kind;
	return dfs_at(ctx, n, false);
}

static inline struct xchooser dfs_chooser(struct dfs *d)
{
	return (struct xchooser){ .pick = dfs_pick, .choose = dfs_choose, .ctx = d };
}

/* To the next path; false: all were seen. Call after each run. */
static inline bool dfs_next(struct dfs *d)
{
	d->runs++;
	d->len = d->pos;
	while (d->len && d->taken[d->len - 1] + 1 >= d->of[d->len - 1])
		d->len--;
	d->pos = d->used = 0;
	if (!d->len)
		return false;
	d->taken[d->len - 1]++;
	return true;
}

/* ---- random ---- */

struct rnd {
	u64 state;
	u32 stay;	/* in 16: how often the running thread goes on */
};

static inline u32 rnd_below(struct rnd *r, u32 n)
{
	r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((r->state >> 33) % n);
}

static inline u32 rnd_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct rnd *r = ctx;

	(void)enabled;
	if (running < n && rnd_below(r, 16) < r->stay)
		return running;
	return rnd_below(r, n);
}

static inline u32 rnd_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	(void)kind;
	return rnd_below(ctx, n);
}

static inline struct xchooser rnd_chooser(struct rnd *r)
{
	return (struct xchooser){ .pick = rnd_pick, .choose = rnd_choose, .ctx = r };
}

#endif
