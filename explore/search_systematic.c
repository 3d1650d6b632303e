// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Systematic search up to a preemption bound: depth first. Each execution repeats the
 * path up to the deepest node where something is left to try, tries it, and goes on with
 * defaults: the CPU that runs goes on while it can; a value is 0. It is given
 * up at a state that was visited before (trace.c names states, visited.c
 * keeps them). Without reduction all is tried, whatever has been visited.
 *
 * A preemption is leaving a CPU that could go on after its last step, for another. What
 * a CPU does is: the steps of its thread, and its buffered stores becoming visible. So a
 * bound on preemptions is one on contexts, in each of which one CPU writes memory (Atig,
 * Bouajjani, Parlato; CAV 2011). An interrupt, taken anywhere and gone through to its end,
 * is free, and ends no context. Leaving a handler that could go on is a preemption, for another
 * interrupt as well, and so is going back to it from a CPU that could go on.
 *
 * An allocation that fails counts as a preemption: both are what may happen to a program and mostly
 * does not, and a few of them together show what goes wrong. (Where a core tries again after
 * each failure, every pattern of them would be searched with every interleaving.)
 *
 * A bound is searched from the start, the lower ones' work again: the next bound
 * costs many times as much as the one before, so that little is lost.
 *
 * With workers, a hungry one is given the path to the shallowest node where
 * something is left to try, which the giver strikes off. A path that was given is run once
 * to learn what its steps touch.
 */
#include "explore/systematic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

static void nodes_grow(struct systematic *d)
{
	d->size = d->size ? 2 * d->size : 1024;
	d->node = realloc(d->node, d->size * sizeof(*d->node));
	assert(d->node);
}

static struct node *node_new(struct systematic *d, u32 k)
{
	struct node *nd;

	if (k == d->size)
		nodes_grow(d);
	nd = &d->node[k];
	nd->journal_made = d->trace.journal_len;
	nd->irqs_asleep = nd->irqs_moved = 0;
	nd->chain = 0;
	memset(nd->handlers, 0, sizeof(nd->handlers));
	return nd;
}

/* ---- preemptions ---- */

static bool takes_irq(const struct xstep *step)
{
	return step->agent_kind == XAGENT_IRQ && !step->handler;
}

/* Preemptions that making this step at the node adds. */
static u32 step_cost(const struct node *nd, const struct xstep *step)
{
	bool leaves = nd->last != NO_CPU && nd->last != step->cpu && !nd->waits;

	if (takes_irq(step))
		return nd->in_handler != NO_CPU;
	if (step->handler)
		return nd->in_handler == step->cpu ? 0 :
		       nd->in_handler != NO_CPU ? 1 : nd->last != NO_CPU && !nd->waits;
	return (nd->in_handler != NO_CPU) + leaves;
}

/* Preemptions, and allocations that failed, before node k. */
static u32 cost_before(const struct systematic *d, u32 k)
{
	const struct node *at = &d->node[d->last_pick - 1];
	u32 cost = at->cost + at->step_cost;

	for (u32 i = d->last_pick; i < k; i++)
		cost += d->node[i].step_cost;
	return cost;
}

/* Can the CPU go on: its thread, or its handler, or what these wait for of themselves? */
static bool can_go_on(u32 cpu, bool handler, const struct xstep *enabled, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (enabled[i].cpu == cpu && enabled[i].handler == handler &&
		    !takes_irq(&enabled[i]))
			return true;
	return false;
}

static u64 agent_bit(const struct xstep *step)
{
	return AGENT(xagent_id(step->agent_kind, step->agent_index));
}

/* The step goes on with what runs, at no cost. */
static bool goes_on(const struct node *nd, const struct xstep *step)
{
	if (takes_irq(step))
		return false;
	if (nd->in_handler != NO_CPU)
		return step->handler && step->cpu == nd->in_handler;
	return !step->handler && step->cpu == nd->last && !nd->waits;
}

/* After the step of `at`, could its CPU take an interrupt? */
static void note_ready(struct node *at, const struct xstep *enabled, u32 n)
{
	bool ready = false;

	for (u32 i = 0; i < n; i++)
		ready |= takes_irq(&enabled[i]) && enabled[i].cpu == at->cpu;
	if (ready)
		at->ready |= AGENT(at->value);
	else
		at->unready |= AGENT(at->value);
}

/* What was noted of the pick before leads to this node's state. */
static void node_follow(struct systematic *d, struct node *nd, const struct xstep *enabled,
			u32 n)
{
	const struct node *at;
	bool interrupt;

	nd->last = nd->in_handler = NO_CPU;
	nd->waits = false;
	nd->cost = 0;
	nd->own = nd->anchored = nd->ready = nd->unready = 0;
	if (!d->last_pick)
		return;
	at = &d->node[d->last_pick - 1];
	interrupt = at->handler || at->kind == XAGENT_IRQ;
	nd->last = interrupt ? at->last : at->cpu;
	nd->waits = interrupt ? at->waits : !can_go_on(nd->last, false, enabled, n);
	if (interrupt && can_go_on(at->cpu, true, enabled, n))
		nd->in_handler = at->cpu;
	if (!UNBOUNDED(d->bound))
		nd->cost = cost_before(d, d->depth);
	for (u32 i = 0; i < n; i++)
		if (goes_on(nd, &enabled[i]))
			nd->own |= agent_bit(&enabled[i]);
	note_ready(&d->node[d->last_pick - 1], enabled, n);
}

/* ---- what to try ---- */

static u64 enabled_mask(const struct xstep *enabled, u32 n)
{
	u64 mask = 0;

	for (u32 i = 0; i < n; i++)
		mask |= agent_bit(&enabled[i]);
	return mask;
}

/* Those of the agents whose steps stay within the bound. */
static u64 affordable(const struct systematic *d, const struct node *nd, u64 agents,
		      const struct xstep *enabled, u32 n)
{
	if (UNBOUNDED(d->bound))
		return agents;
	for (u32 i = 0; i < n; i++)
		if (nd->cost + step_cost(nd, &enabled[i]) > d->bound)
			agents &= ~agent_bit(&enabled[i]);
	return agents;
}

/*
 * Whether the state is looked up: where the search branches, and at one of a few others, so that
 * it is not long until a known path is given up. The name says at which, for all paths alike.
 */
static bool is_looked_up(u64 todo, u64 name)
{
	return (todo & (todo - 1)) || name % 4 == 0;
}

/* Nobody else, whether he can move now or not, ever touches what these steps touch. */
static bool closed(struct systematic *d, u64 agents, const struct xstep *enabled, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if ((agents & agent_bit(&enabled[i])) &&
		    !trace_private(d, &enabled[i], agents))
			return false;
	return true;
}

/*
 * Agents that suffice here; see trace.c. One step of the CPU or handler that runs; or
 * the steps of all CPUs, without taking interrupts. Unless leaving the one that runs
 * is free now, or it stands still: then the same might be dearer later.
 */
static u64 persistent(struct systematic *d, const struct node *nd,
		      const struct xstep *enabled, u32 n)
{
	bool runs = UNBOUNDED(d->bound);
	u64 cpus = 0;

	for (u32 i = 0; i < n; i++) {
		const struct xstep *step = &enabled[i];
		bool own = goes_on(nd, step);

		runs |= own && nd->in_handler == NO_CPU;
		if (!takes_irq(step))
			cpus |= agent_bit(step);
		if ((own || UNBOUNDED(d->bound)) && closed(d, agent_bit(step), step, 1))
			return agent_bit(step);
	}
	return runs && cpus && cpus != nd->enabled && closed(d, cpus, enabled, n) ?
		cpus : nd->enabled;
}

/*
 * The one to try first: an interrupt, so that it is known what its handler touches; the CPU that
 * runs, then what it waits for, then what is cheapest. And drains before threads: what was tried
 * sleeps in what is tried next until something meets it, so that a store becomes visible
 * later only if that makes a difference. The other way round, the thread would sleep after
 * each of its steps that the drain could come before, and each was an execution.
 */
static u32 first_of(const struct node *nd, u64 agents, const struct xstep *enabled, u32 n)
{
	u32 best = n, best_rank = ~0U;

	for (u32 i = 0; i < n; i++) {
		u32 rank;

		if (!(agents & agent_bit(&enabled[i])))
			continue;
		rank = step_cost(nd, &enabled[i]) ? 8 : takes_irq(&enabled[i]) ? 0 :
		       enabled[i].handler || enabled[i].cpu == nd->last ? 2 : 4;
		rank -= enabled[i].agent_kind == XAGENT_DRAIN;
		if (rank < best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	assert(best < n);
	return xagent_id(enabled[best].agent_kind, enabled[best].agent_index);
}

/* ---- an execution ---- */

/* The step of pick node k is the agent's. */
static u32 node_move(struct systematic *d, u32 k, u32 agent, const struct xstep *enabled,
		     u32 n)
{
	struct node *nd = &d->node[k];
	u32 i = step_of_agent(enabled, n, agent);

	assert(i < n);
	nd->value = (u16)agent;
	nd->todo &= ~AGENT(agent);
	nd->done |= AGENT(agent);
	nd->journal_moved = d->trace.journal_len;
	nd->cpu = enabled[i].cpu;
	nd->kind = (u8)enabled[i].agent_kind;
	nd->handler = enabled[i].handler;
	nd->step_cost = (u8)step_cost(nd, &enabled[i]);
	if (d->reduce) {
		trace_step(d, nd, &enabled[i]);
		trace_handler(d, k, &enabled[i]);
	}
	d->last_pick = k + 1;
	d->depth = k + 1;
	return i;
}

/* A node of a path that another worker gave: the masks are there already. */
static u32 pick_rebuild(struct systematic *d, const struct xstep *enabled, u32 n)
{
	u32 k = d->depth;
	struct node *nd = node_new(d, k);

	nd->enabled = enabled_mask(enabled, n);
	node_follow(d, nd, enabled, n);
	return node_move(d, k, nd->value, enabled, n);
}

/* Nothing is left to try here: it was all seen. */
static u32 give_up(struct systematic *d, const struct node *nd)
{
	journal_undo(&d->trace, nd->journal_made);
	return XPICK_STOP;
}

static u32 pick_new(struct systematic *d, const struct xstep *enabled, u32 n)
{
	u32 k = d->depth;
	struct node *nd = node_new(d, k);
	u64 todo, want, can, name;

	nd->n = 0;
	nd->done = 0;
	nd->sleep = 0;
	nd->enabled = todo = enabled_mask(enabled, n);
	node_follow(d, nd, enabled, n);
	if (d->reduce) {
		trace_sleep(d, k, enabled, n);
		trace_sleep_irqs(d, k, enabled, n);
		trace_handler_waits(d, k);
		todo = want = persistent(d, nd, enabled, n) & ~nd->sleep;
		name = want ? trace_name(d, nd, enabled, n) : 0;
		if (want && is_looked_up(affordable(d, nd, want, enabled, n), name))
			todo &= visit(d->shared, name, nd->cost, nd->sleep);
		if (nd->in_handler != NO_CPU && (want & ~todo & nd->own))
			trace_handler_cut(d, d->last_pick - 1);
	}
	can = affordable(d, nd, todo, enabled, n);
	d->s->cut |= can != todo;
	nd->todo = can;
	if (!nd->todo)
		return give_up(d, nd);
	d->len = k + 1;
	return node_move(d, k, first_of(nd, nd->todo, enabled, n), enabled, n);
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
	assert(d->fresh && k + 1 == d->len);
	return node_move(d, k, first_of(nd, nd->todo, enabled, n), enabled, n);
}

/* The same choices lead to the same state, or the world is broken. */
static u32 systematic_repeat(void *ctx)
{
	struct systematic *d = ctx;
	u32 k = d->depth;

	if (k >= d->len || k < d->rebuild || (d->fresh && k + 1 == d->len))
		return XREPEAT_ASK;
	assert(!d->node[k].n);
	d->last_pick = k + 1;
	d->depth = k + 1;
	return d->node[k].value;
}

static u32 systematic_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct systematic *d = ctx;
	u32 k = d->depth++;
	bool on_path = k < d->len && k >= d->rebuild;
	struct node *nd;

	assert(n && n <= UINT16_MAX);
	assert(d->last_pick);
	if (on_path && !(d->fresh && k + 1 == d->len)) {
		assert(d->node[k].n == n);
		return d->node[k].value;
	}
	if (on_path) {
		nd = &d->node[k];
	} else {
		nd = node_new(d, k);
		if (k >= d->len) {
			d->len = k + 1;
			nd->n = nd->end = (u16)n;
			nd->value = 0;
			if (kind == XCHOICE_ALLOC && !UNBOUNDED(d->bound) &&
			    cost_before(d, k) >= d->bound) {
				nd->end = 1;
				d->s->cut = true;
			}
		}
	}
	assert(nd->n == n && nd->value < n);
	nd->step_cost = kind == XCHOICE_ALLOC && nd->value;
	nd->journal_moved = d->trace.journal_len;
	if (d->reduce)
		trace_value(d, &d->node[d->last_pick - 1], n, nd->value);
	return nd->value;
}

/* ---- between executions ---- */

static bool has_more(const struct node *nd)
{
	return nd->n ? nd->value + 1U < nd->end : nd->todo != 0;
}

/* Go on to the next value of a node, the last of the path. */
static bool node_next(struct systematic *d, u32 k)
{
	struct node *nd = &d->node[k];

	if (!has_more(nd))
		return false;
	if (nd->n)
		nd->value++;
	journal_undo(&d->trace, nd->journal_moved);
	d->fresh = true;
	return true;
}

/* Shorten the path to the deepest node where something is left; false: none is. */
static bool advance(struct systematic *d)
{
	d->fresh = false;
	d->rebuild = 0;
	for (; d->len; d->len--) {
		if (node_next(d, d->len - 1))
			return true;
		trace_node_free(d, d->len - 1);
		journal_undo(&d->trace, d->node[d->len - 1].journal_made);
	}
	return false;
}

/* ---- kept states ---- */

/* Nodes between two; and one more for so many bytes, which take as long to copy. */
#define KEEP_EVERY 12
#define KEEP_BYTES 16384

static void forget(struct systematic *d, u32 i)
{
	xworld_forget(d->s->world, i);
	d->nr_kept--;
	memmove(&d->kept[i], &d->kept[i + 1], (d->nr_kept - i) * sizeof(d->kept[0]));
}

/* Most of what is left to try is near the end: far from it, fewer will do. */
static void thin_out(struct systematic *d)
{
	for (u32 i = d->nr_kept / 2; i-- > 1;)
		forget(d, 2 * i - 1);
}

static bool systematic_keep(void *ctx)
{
	struct systematic *d = ctx;
	u32 before = d->nr_kept ? d->kept[d->nr_kept - 1].depth : 0;

	if (d->depth < before + KEEP_EVERY ||
	    d->depth < before + KEEP_EVERY + xworld_kept_size(d->s->world) / KEEP_BYTES)
		return false;
	if (d->nr_kept == XMAX_KEPT_STATES)
		thin_out(d);
	d->kept[d->nr_kept++] = (struct kept){ d->depth, d->last_pick };
	return true;
}

/* The path goes on from a node that has changed: from the last state before it. */
static bool execute(struct systematic *d)
{
	bool found;

	while (d->nr_kept && d->kept[d->nr_kept - 1].depth >= d->len)
		forget(d, d->nr_kept - 1);
	d->depth = d->last_pick = 0;
	if (d->nr_kept) {
		d->depth = d->kept[d->nr_kept - 1].depth;
		d->last_pick = d->kept[d->nr_kept - 1].last_pick;
	}
	found = search_execute(d->s, &d->chooser, d->nr_kept);
	if (d->s->result.outcome == XOUT_VIOLATION && d->last_pick)
		trace_handler_cut(d, d->last_pick - 1);
	return found;
}

/* ---- giving and taking ---- */

/* The shallowest node where something is left, if there is another one too. */
static bool find_to_give(struct systematic *d, u32 *at)
{
	bool found = false;

	for (u32 k = 0; k < d->len; k++) {
		if (!has_more(&d->node[k]))
			continue;
		if (found)
			return true;
		*at = k;
		found = true;
	}
	return false;
}

/* Of values of a choose, the last; of agents, any. */
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
	value = nd->n ? nd->end - 1U : (u32)__builtin_ctzll(nd->todo);
	for (u32 k = 0; k <= at; k++)
		trace_handler_cut(d, k);
	for (u32 k = 0; k <= at; k++)
		out[k] = (struct work_node){ d->node[k].done, d->node[k].sleep,
					     d->node[k].value, d->node[k].n };
	out[at].value = value;
	if (nd->n) {
		nd->end--;
	} else {
		nd->todo &= ~AGENT(value);
		nd->done |= AGENT(value);
	}
	workers_given(d->s);
}

static bool take(struct systematic *d)
{
	const struct work_node *in;
	u32 n;

	in = workers_take(d->s, &n);
	if (!in)
		return false;
	journal_undo(&d->trace, 0);
	/* Another path. */
	d->nr_kept = 0;
	while (d->size < n)
		nodes_grow(d);
	for (u32 k = 0; k < n; k++) {
		struct node *nd = &d->node[k];

		/* The search may be over before this path is executed. */
		memset(nd->handlers, 0, sizeof(nd->handlers));
		nd->todo = 0;
		nd->done = in[k].done;
		nd->sleep = in[k].sleep;
		nd->value = (u16)in[k].value;
		nd->n = (u16)in[k].n;
		nd->end = (u16)(nd->value + 1);
	}
	d->len = n;
	d->rebuild = n;
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
	d->shared = s->shared;
	d->chooser = (struct xchooser){
		.pick = systematic_pick, .choose = systematic_choose,
		.repeat = systematic_repeat, .ctx = d,
		.keep = xworld_keeps(s->world) ? systematic_keep : NULL,
	};
	end = explore(d);
	trace_free(d);
	free(d->node);
	free(d);
	return end;
}
