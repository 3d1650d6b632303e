// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Systematic search up to a preemption bound: depth first, stateless. Each execution
 * repeats the path up to the deepest node where something is left to try, tries
 * it, and goes on with defaults: the thread that runs goes on while it can; a value
 * is 0. All values of a choose are tried; which agents of a pick are, dpor.c
 * says (without reduction: all).
 *
 * A bound is searched from the start, the lower ones' work again: the next bound
 * costs many times as much as the one before, so that little is lost.
 *
 * With workers, a hungry one is given the path to the shallowest node where
 * something is left to try. From then on both may add to what is to be tried at
 * the nodes that they share, so each first claims it (workers_claim). A path
 * that was given is run once to learn what its steps touch.
 */
#include "explore/systematic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

/* Clocks say 0 of agents that have not been seen yet. */
static void nodes_grow(struct systematic *d)
{
	u32 old = d->size;

	d->size = old ? 2 * old : 1024;
	d->node = realloc(d->node, d->size * sizeof(*d->node));
	d->clock = realloc(d->clock, d->size * sizeof(*d->clock));
	assert(d->node && d->clock);
	memset(d->clock + old, 0, (d->size - old) * sizeof(*d->clock));
}

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static struct node *node_new(struct systematic *d, u32 k)
{
	struct node *nd;

	if (k == d->size)
		nodes_grow(d);
	nd = &d->node[k];
	nd->path = k ? mix(nd[-1].path, nd[-1].value) : 1;
	nd->journal_made = d->journal_len;
	return nd;
}

/* Agents to be tried at a pick node within the bound. */
static u64 untried(struct systematic *d, const struct node *nd)
{
	u64 agents = nd->backtrack & ~nd->done & ~nd->sleep;

	if (nd->cost < d->bound)
		return agents;
	for (u64 m = agents; m; m &= m - 1) {
		u32 a = (u32)__builtin_ctzll(m);

		if (pick_cost(d, nd, a)) {
			agents &= ~AGENT(a);
			d->s->cut = true;
		}
	}
	return agents;
}

/* The one to try first: what costs no preemption, threads before others. */
static u32 first_of(const struct systematic *d, const struct node *nd, u64 agents)
{
	if (nd->last != NO_AGENT && (agents & AGENT(nd->last)))
		return nd->last;
	if (nd->last != NO_AGENT && !nd->yielded && (agents & ~d->threads))
		agents &= ~d->threads;
	else if (agents & d->threads)
		agents &= d->threads;
	return (u32)__builtin_ctzll(agents);
}

/* ---- an execution ---- */

/* These could have moved instead of the step of `at`, and cannot after it. */
static void add_stopped(struct systematic *d, struct node *at, u64 agents)
{
	struct node *block = at->block ? &d->node[at->block - 1] : at;

	at->backtrack |= agents;
	if (!UNBOUNDED(d->bound))
		block->backtrack |= agents & block->enabled;
}

/* What was noted of the pick before leads to this node's state. */
static void node_follow(struct systematic *d, struct node *nd)
{
	struct node *at;
	u64 stopped;
	u32 a;

	nd->last = NO_AGENT;
	nd->yielded = false;
	nd->cost = 0;
	if (!d->last_pick)
		return;
	at = &d->node[d->last_pick - 1];
	a = at->value;
	nd->last = is_thread(d, a) ? (u8)a : at->last;
	nd->cost = at->cost + pick_cost(d, at, a);
	nd->yielded = a == nd->last ? !(nd->enabled & AGENT(a)) : at->yielded;
	at->woke = nd->enabled & ~at->enabled;
	stopped = at->enabled & ~nd->enabled & ~AGENT(a);
	if (!is_thread(d, a))
		d->stops[a] |= stopped & d->threads;
	else if (d->reduce)
		/* A race that may never show as two steps: lock, or interrupts off. */
		add_stopped(d, at, stopped);
	for (u64 m = at->woke; m; m &= m - 1)
		journal_set(d, &d->enabler[__builtin_ctzll(m)], d->last_pick);
}

static u64 enabled_mask(struct systematic *d, const struct xstep *enabled, u32 n)
{
	u64 mask = 0;

	for (u32 i = 0; i < n; i++) {
		u32 a = xagent_id(enabled[i].agent_kind, enabled[i].agent_index);

		assert(a < XAGENT_MAX);
		mask |= AGENT(a);
		if (enabled[i].agent_kind == XAGENT_THREAD)
			d->threads |= AGENT(a);
		else if (enabled[i].agent_kind == XAGENT_DRAIN)
			d->drains |= AGENT(a);
	}
	d->agents |= mask;
	return mask;
}

/* Decide the step of pick node k. */
static u32 node_move(struct systematic *d, u32 k, u32 agent, const struct xstep *enabled,
		     u32 n, bool races)
{
	struct node *nd = &d->node[k];
	u32 i = step_of_agent(enabled, n, agent);

	assert(i < n);
	nd->value = (u16)agent;
	nd->index = (u16)i;
	nd->done |= AGENT(agent);
	nd->woke = 0;
	nd->journal_moved = d->journal_len;
	nd->block = 0;
	if (is_thread(d, agent) && (agent != nd->last || nd->yielded))
		nd->block = k + 1;
	else if (d->last_pick)
		nd->block = d->node[d->last_pick - 1].block;
	if (d->reduce)
		dpor_step(d, k, &enabled[i], races);
	d->last_pick = k + 1;
	d->depth = k + 1;
	return i;
}

/* A node of a path that another worker gave: the masks are there already. */
static u32 pick_rebuild(struct systematic *d, const struct xstep *enabled, u32 n)
{
	u32 k = d->depth, agent = d->node[k].value;
	struct node *nd = node_new(d, k);

	nd->enabled = enabled_mask(d, enabled, n);
	node_follow(d, nd);
	return node_move(d, k, agent, enabled, n, k + 1 == d->rebuild);
}

static u32 pick_new(struct systematic *d, const struct xstep *enabled, u32 n)
{
	u32 k = d->depth;
	struct node *nd = node_new(d, k);
	u64 agents;

	nd->n = 0;
	nd->done = 0;
	nd->sleep = 0;
	nd->enabled = enabled_mask(d, enabled, n);
	node_follow(d, nd);
	nd->backtrack = nd->enabled;
	if (d->reduce)
		nd->sleep = dpor_sleep(d, k, enabled, n);
	agents = untried(d, nd);
	if (!agents) {
		journal_undo(d, nd->journal_made);
		d->redundant = true;
		return XPICK_STOP;
	}
	d->len = k + 1;
	agents = AGENT(first_of(d, nd, agents));
	if (d->reduce)
		nd->backtrack = agents;
	return node_move(d, k, (u32)__builtin_ctzll(agents), enabled, n, true);
}

static u32 systematic_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct systematic *d = ctx;
	u32 k = d->depth;
	struct node *nd;

	(void)running;
	if (k >= d->len)
		return pick_new(d, enabled, n);
	if (k < d->rebuild)
		return pick_rebuild(d, enabled, n);
	nd = &d->node[k];
	assert(!nd->n);
	if (d->fresh && k + 1 == d->len)
		return node_move(d, k, nd->value, enabled, n, true);
	/* The same choices lead to the same state, or the world is broken. */
	assert(nd->index < n);
	d->last_pick = k + 1;
	d->depth = k + 1;
	return nd->index;
}

static u32 systematic_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct systematic *d = ctx;
	u32 k = d->depth++;
	struct node *nd;

	(void)kind;
	assert(n && n <= UINT16_MAX);
	if (k < d->len && k >= d->rebuild) {
		assert(d->node[k].n == n);
		return d->node[k].value;
	}
	nd = node_new(d, k);
	if (k >= d->len) {
		d->len = k + 1;
		nd->n = (u16)n;
		nd->value = 0;
	}
	assert(nd->n == n && nd->value < n);
	nd->journal_moved = d->journal_len;
	return nd->value;
}

/* ---- between executions ---- */

static bool claim(struct systematic *d, u32 k, u32 value)
{
	return k >= d->shared || workers_claim(d->s, d->node[k].path, value);
}

/* Go on to the next value of a node, the last of the path. */
static bool node_next(struct systematic *d, u32 k)
{
	struct node *nd = &d->node[k];
	u64 agents;

	if (nd->n) {
		while (nd->value + 1U < nd->n) {
			nd->value++;
			if (claim(d, k, nd->value))
				return true;
		}
		return false;
	}
	journal_undo(d, nd->journal_moved);
	while ((agents = untried(d, nd))) {
		nd->value = (u16)first_of(d, nd, agents);
		nd->done |= AGENT(nd->value);
		if (claim(d, k, nd->value)) {
			d->fresh = true;
			return true;
		}
	}
	return false;
}

/* Shorten the path to the deepest node where something is left; false: none is. */
static bool advance(struct systematic *d)
{
	d->fresh = false;
	d->rebuild = 0;
	for (; d->len; d->len--) {
		if (node_next(d, d->len - 1))
			return true;
		journal_undo(d, d->node[d->len - 1].journal_made);
	}
	return false;
}

static bool execute(struct systematic *d)
{
	const struct xchooser chooser = { systematic_pick, systematic_choose, d };

	d->depth = 0;
	d->last_pick = 0;
	d->redundant = false;
	return search_execute(d->s, &chooser);
}

/* ---- giving and taking ---- */

static bool has_more(struct systematic *d, u32 k)
{
	struct node *nd = &d->node[k];

	return nd->n ? nd->value + 1U < nd->n : untried(d, nd) != 0;
}

/* The shallowest node where something is left, if there is another one too. */
static bool find_to_give(struct systematic *d, u32 *at)
{
	bool found = false;

	for (u32 k = 0; k < d->len; k++) {
		if (!has_more(d, k))
			continue;
		if (found)
			return true;
		*at = k;
		found = true;
	}
	return false;
}

static void give(struct systematic *d)
{
	struct work_node *out;
	struct node *nd;
	u32 at = 0, value;

	if (!find_to_give(d, &at) || at >= WORK_MAX)
		return;
	out = workers_give(d->s, at + 1);
	if (!out)
		return;
	nd = &d->node[at];
	value = nd->n ? nd->value + 1U : first_of(d, nd, untried(d, nd));
	if (d->shared < at + 1)
		d->shared = at + 1;
	if (!claim(d, at, value)) {
		/* A third one has it; node_next() will find that too. */
		workers_give_nothing(d->s);
		return;
	}
	for (u32 k = 0; k <= at; k++)
		out[k] = (struct work_node){ d->node[k].backtrack, d->node[k].done,
					     d->node[k].sleep, d->node[k].value,
					     d->node[k].n };
	if (!nd->n)
		nd->done |= AGENT(value);
	out[at].value = value;
	workers_given(d->s);
}

static bool take(struct systematic *d)
{
	const struct work_node *in;
	u32 n;

	in = workers_take(d->s, &n);
	if (!in)
		return false;
	journal_undo(d, 0);
	while (d->size < n)
		nodes_grow(d);
	for (u32 k = 0; k < n; k++) {
		struct node *nd = &d->node[k];

		nd->backtrack = in[k].backtrack;
		nd->done = in[k].done;
		nd->sleep = in[k].sleep;
		nd->value = (u16)in[k].value;
		nd->n = (u16)in[k].n;
	}
	d->len = n;
	d->rebuild = n;
	d->shared = n;
	d->fresh = false;
	return true;
}

/* ---- the search ---- */

static void found(struct systematic *d)
{
	d->s->choices.n = 0;
	for (u32 k = 0; k < d->len; k++)
		choices_add(&d->s->choices, d->node[k].value);
}

static enum search_end explore(struct systematic *d)
{
	/* The first worker starts at the root; the others wait for a part. */
	bool more = !d->s->workers || d->s->worker == 0 || take(d);

	while (more) {
		if (search_over(d->s))
			return SEARCH_OVER;
		if (execute(d)) {
			found(d);
			return SEARCH_FOUND;
		}
		if (d->s->workers && workers_hungry(d->s))
			give(d);
		more = advance(d) || (d->s->workers && take(d));
	}
	return SEARCH_DONE;
}

enum search_end search_systematic(struct search *s)
{
	struct systematic *d = calloc(1, sizeof(*d));
	enum search_end end;

	assert(d);
	d->s = s;
	d->bound = s->bound;
	d->reduce = s->how->reduce;
	end = explore(d);
	dpor_free(d);
	free(d->node);
	free(d->clock);
	free(d);
	return end;
}
