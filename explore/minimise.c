// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Making a violation small: fewer operations, then fewer preemptions, values that
 * differ from the default, switches and steps, in this order, while the same rule still
 * breaks.
 *
 * An operation is dropped and the old choices are followed as far as they fit
 * (guide); if that no longer breaks the rule, a short systematic search may find
 * another way. Switches are removed by moving the next stretch of the agent that was
 * switched away from forward to there. Everything is counted, nothing is timed, so the
 * result is always the same.
 */
#include "explore/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_SCHEDULES 3000	/* of a systematic search after a dropped operation */
#define RETRY_BOUND 2
#define NO_AGENT 0xffff

/* An execution: one entry per question. */
struct trace {
	struct xchoices value;
	struct xchoices pick;	/* 1: of a pick, 0: of a choose */
};

struct measure {
	u32 preemptions, values, switches, steps;
};

struct minimiser {
	struct xworld *w;
	struct xverdict *v;
	bool fails_anyhow;	/* the program as it is; see there */
	struct trace trace;	/* of the smallest so far, */
	struct measure measure;	/* and its size */
	struct trace trial;	/* to be followed */
	struct trace out;	/* what was done instead */
};

static void trace_free(struct trace *t)
{
	free(t->value.value);
	free(t->pick.value);
}

static void trace_add(struct trace *t, u32 value, bool pick)
{
	choices_add(&t->value, (u16)value);
	choices_add(&t->pick, pick);
}

static void trace_copy(struct trace *to, const struct trace *from)
{
	choices_copy(&to->value, &from->value);
	choices_copy(&to->pick, &from->pick);
}

/* ---- following a trace where it fits ---- */

struct guide {
	const struct trace *from;
	bool exact;		/* from is a whole execution, without its kinds */
	struct trace *out;
	struct measure measure;
	u32 at;
	u32 agent;		/* that moved last */
	u32 cpu;		/* whose thread moved last */
	bool moved;		/* just now, */
	bool waits;		/* and had to wait after that */
};

/* Next agent of the trace that can move; else whoever moved last, or the first. */
static u32 guided(struct guide *g, const struct xstep *enabled, u32 n, u32 running)
{
	for (; g->at < g->from->value.n; g->at++) {
		u32 i;

		if (!g->exact && !g->from->pick.value[g->at])
			continue;
		i = step_of_agent(enabled, n, g->from->value.value[g->at]);
		if (i == n)
			continue;
		g->at++;
		return i;
	}
	return running < n ? running : 0;
}

static bool by_interrupt(const struct xstep *step)
{
	return step->handler || step->agent_kind == XAGENT_IRQ;
}

/* As in search_systematic.c, but for leaving interrupt handlers. */
static void count(struct guide *g, const struct xstep *enabled, u32 n, u32 i)
{
	u32 agent = xagent_id(enabled[i].agent_kind, enabled[i].agent_index);

	if (g->moved) {
		g->waits = true;
		for (u32 k = 0; k < n; k++)
			g->waits &= by_interrupt(&enabled[k]) || enabled[k].cpu != g->cpu;
	}
	g->moved = !by_interrupt(&enabled[i]);
	if (g->moved) {
		g->measure.preemptions += g->cpu != XNO_CPU && enabled[i].cpu != g->cpu &&
					  !g->waits;
		g->cpu = enabled[i].cpu;
	}
	g->measure.switches += agent != g->agent;
	g->measure.steps++;
	g->agent = agent;
	trace_add(g->out, agent, true);
}

static u32 guide_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct guide *g = ctx;
	u32 i = guided(g, enabled, n, running);

	count(g, enabled, n, i);
	return i;
}

static u32 guide_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct guide *g = ctx;
	u32 value = 0;

	(void)kind;
	if (g->at < g->from->value.n && (g->exact || !g->from->pick.value[g->at]))
		value = g->from->value.value[g->at++];
	if (value >= n)
		value = 0;
	g->measure.values += value != 0;
	trace_add(g->out, value, false);
	return value;
}

static bool smaller(const struct measure *a, const struct measure *b)
{
	if (a->preemptions != b->preemptions)
		return a->preemptions < b->preemptions;
	if (a->values != b->values)
		return a->values < b->values;
	if (a->switches != b->switches)
		return a->switches < b->switches;
	return a->steps < b->steps;
}

enum trial { TRIAL_SMALLER, TRIAL_ANY, TRIAL_EXACT };

/* Run the trial. Does it break the same rule, by a smaller execution (or any)? */
static bool try_trial(struct minimiser *m, enum trial how)
{
	struct guide g = { .from = &m->trial, .out = &m->out, .agent = NO_AGENT,
			   .cpu = XNO_CPU, .exact = how == TRIAL_EXACT };
	const struct xchooser chooser = { .pick = guide_pick, .choose = guide_choose, .ctx = &g,
		.bare = true };
	struct xresult result;
	struct trace old = m->trace;

	m->out.value.n = 0;
	m->out.pick.n = 0;
	xworld_run(m->w, &chooser, &result, NULL, NULL);
	if (result.outcome != XOUT_VIOLATION || result.rule != m->v->result.rule)
		return false;
	if (how == TRIAL_SMALLER && !smaller(&g.measure, &m->measure))
		return false;
	m->trace = m->out;
	m->out = old;
	m->measure = g.measure;
	m->v->result = result;
	return true;
}

/* A systematic search up to this bound, of so many executions. */
static bool try_search(struct minimiser *m, u32 bound, u64 schedules)
{
	struct xsearch how = { .max_bound = bound, .max_schedules = schedules,
			       .workers = 1, .reduce = true };
	struct xverdict v = { 0 };
	bool found;

	search_run_for(m->w, &how, m->v->result.rule, &v);
	choices_copy(&m->trial.value, &v.choices);
	found = v.found && try_trial(m, TRIAL_EXACT);
	xverdict_free(&v);
	return found;
}

/* ---- operations ---- */

/* No interleaving at all: the first agent, or the last, moves as long as it can. */
static u32 plain_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	const bool *last = ctx;

	(void)enabled;
	return running < n ? running : *last ? n - 1 : 0;
}

static u32 plain_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	(void)ctx;
	(void)kind;
	(void)n;
	return 0;
}

/*
 * An assertion is about the operations that there are: without one of them it may be wrong
 * however they run, which tells nobody anything.
 */
static bool fails_anyhow(struct minimiser *m)
{
	struct xresult result;

	if (m->v->result.rule != XRULE_ASSERT)
		return false;
	for (u32 i = 0; i < 2; i++) {
		bool last = i;
		const struct xchooser chooser = { .pick = plain_pick, .choose = plain_choose,
			.ctx = &last, .bare = true };

		xworld_run(m->w, &chooser, &result, NULL, NULL);
		if (result.outcome == XOUT_VIOLATION)
			return true;
	}
	return false;
}

static bool try_drop(struct minimiser *m, u32 thread, u32 op)
{
	u32 bound = m->measure.preemptions < RETRY_BOUND ? m->measure.preemptions : RETRY_BOUND;

	m->v->dropped[thread] |= 1ULL << op;
	xworld_drop_ops(m->w, m->v->dropped);
	trace_copy(&m->trial, &m->trace);
	if ((m->fails_anyhow || !fails_anyhow(m)) &&
	    (try_trial(m, TRIAL_ANY) || try_search(m, bound, RETRY_SCHEDULES)))
		return true;
	m->v->dropped[thread] &= ~(1ULL << op);
	xworld_drop_ops(m->w, m->v->dropped);
	return false;
}

static bool drop_ops(struct minimiser *m)
{
	const struct xprogram *p = xworld_program(m->w);
	bool dropped = false;

	for (u32 t = 0; t < p->nr_threads; t++)
		for (u32 op = p->thread[t].nr_ops; op-- > 0;)
			if (!(m->v->dropped[t] >> op & 1))
				dropped |= try_drop(m, t, op);
	return dropped;
}

/* ---- switches and values ---- */

/* End of the stretch of steps of one agent that begins at entry i. */
static u32 stretch_end(const struct trace *t, u32 i)
{
	u32 agent = t->value.value[i];

	do
		i++;
	while (i < t->value.n && (!t->pick.value[i] || t->value.value[i] == agent));
	return i;
}

static void trial_append(struct minimiser *m, u32 from, u32 to)
{
	for (u32 i = from; i < to; i++)
		trace_add(&m->trial, m->trace.value.value[i], m->trace.pick.value[i]);
}

/* Move the next stretch of the agent whose stretch ends at `end` to there. */
static bool try_merge(struct minimiser *m, u32 end, u32 agent)
{
	const struct trace *t = &m->trace;

	for (u32 i = end; i < t->value.n; i = stretch_end(t, i)) {
		u32 to = stretch_end(t, i);

		if (t->value.value[i] != agent)
			continue;
		m->trial.value.n = 0;
		m->trial.pick.n = 0;
		trial_append(m, 0, end);
		trial_append(m, i, to);
		trial_append(m, end, i);
		trial_append(m, to, t->value.n);
		return try_trial(m, TRIAL_SMALLER);
	}
	return false;
}

static bool merge_stretches(struct minimiser *m)
{
	bool merged = false;
	u32 i = 0;

	/* Values before the first pick belong to no agent. */
	while (i < m->trace.value.n && !m->trace.pick.value[i])
		i++;
	while (i < m->trace.value.n) {
		u32 end = stretch_end(&m->trace, i);

		if (try_merge(m, end, m->trace.value.value[i]))
			merged = true;
		else
			i = end;
	}
	return merged;
}

static bool clear_values(struct minimiser *m)
{
	bool cleared = false;

	for (u32 i = 0; i < m->trace.value.n; i++) {
		if (m->trace.pick.value[i] || !m->trace.value.value[i])
			continue;
		trace_copy(&m->trial, &m->trace);
		m->trial.value.value[i] = 0;
		cleared |= try_trial(m, TRIAL_SMALLER);
	}
	return cleared;
}

/* A search at a lower bound, where it is cheap. */
static bool lower_bound(struct minimiser *m)
{
	u32 now = m->measure.preemptions;

	if (!now)
		return false;
	return try_search(m, now - 1 < RETRY_BOUND ? now - 1 : RETRY_BOUND, RETRY_SCHEDULES);
}

void xsearch_minimise(struct xworld *w, struct xverdict *verdict)
{
	struct minimiser m = { .w = w, .v = verdict };
	bool smaller;

	if (!verdict->found)
		return;
	xworld_drop_ops(w, verdict->dropped);
	choices_copy(&m.trial.value, &verdict->choices);
	/* What cannot be repeated is left alone. */
	if (try_trial(&m, TRIAL_EXACT)) {
		m.fails_anyhow = fails_anyhow(&m);
		do {
			smaller = drop_ops(&m);
			smaller |= lower_bound(&m);
			smaller |= merge_stretches(&m);
			smaller |= clear_values(&m);
		} while (smaller);
		choices_copy(&verdict->choices, &m.trace.value);
	}
	trace_free(&m.trace);
	trace_free(&m.trial);
	trace_free(&m.out);
}
