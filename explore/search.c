// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches: budgets, rounds of growing bound, replay. */
#include "explore/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

u64 search_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

/* ---- records of choices ---- */

void choices_add(struct xchoices *c, u16 value)
{
	if (c->n == c->size) {
		c->size = c->size ? 2 * c->size : 256;
		c->value = realloc(c->value, c->size * sizeof(*c->value));
		assert(c->value);
	}
	c->value[c->n++] = value;
}

void choices_copy(struct xchoices *to, const struct xchoices *from)
{
	to->n = 0;
	for (u32 i = 0; i < from->n; i++)
		choices_add(to, from->value[i]);
}

void xverdict_free(struct xverdict *verdict)
{
	free(verdict->choices.value);
	memset(&verdict->choices, 0, sizeof(verdict->choices));
}

/* ---- random numbers ---- */

static u64 splitmix(u64 *x)
{
	u64 z = (*x += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void rng_seed(struct rng *r, u64 seed, u64 stream)
{
	u64 x = seed;

	x = splitmix(&x) ^ stream;
	for (u32 i = 0; i < 4; i++)
		r->s[i] = splitmix(&x);
}

static u64 rotl(u64 x, u32 k)
{
	return x << k | x >> (64 - k);
}

u64 rng_next(struct rng *r)
{
	u64 result = rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotl(r->s[3], 45);
	return result;
}

u32 rng_below(struct rng *r, u32 n)
{
	return (u32)(((rng_next(r) >> 32) * n) >> 32);
}

/* ---- a search ---- */

bool search_over(struct search *s)
{
	const struct xsearch *how = s->how;

	if (how->stop && *how->stop)
		return true;
	if (s->workers)
		return workers_over(s);
	if (how->max_schedules && s->runs >= how->max_schedules)
		return true;
	return s->deadline_ns && search_now_ns() >= s->deadline_ns;
}

#define PROGRESS_EVERY 256	/* executions */

bool search_execute(struct search *s, const struct xchooser *chooser, bool resume)
{
	const struct xsearch *how = s->how;

	s->runs++;
	if (resume)
		xworld_resume(s->world, chooser, &s->result);
	else
		xworld_run(s->world, chooser, &s->result, NULL, NULL);
	if (s->result.outcome == XOUT_STOPPED)
		return false;
	s->schedules++;
	if (how->progress && !s->workers && s->schedules % PROGRESS_EVERY == 0)
		how->progress(how->progress_arg, s->schedules, s->bound);
	if (s->result.outcome == XOUT_VIOLATION &&
	    (s->want == XRULE_NONE || s->result.rule == s->want))
		return true;
	if (how->terminal)
		how->terminal(how->terminal_arg, s->result.state_hash);
	return false;
}

bool search_next_seed(struct search *s, u64 *index)
{
	if (s->workers)
		return workers_next_seed(s, index);
	*index = s->runs;
	return true;
}

static enum search_end run_strategy(struct search *s)
{
	enum search_end (*round)(struct search *s) = search_systematic;

	if (s->how->strategy == XSTRATEGY_PCT)
		round = search_pct;
	else if (s->how->strategy == XSTRATEGY_RANDOM)
		round = search_random;
	if (s->how->workers > 1)
		return workers_run(s, round);
	return round(s);
}

/* Again, if steps were left out that other agents can tell apart after all. */
static enum search_end run_round(struct search *s)
{
	enum search_end end;

	do {
		s->cut = false;
		if (s->shared)
			shared_round(s->shared);
		end = run_strategy(s);
	} while (end == SEARCH_DONE && s->shared && shared_changed(s->shared));
	return end;
}

/*
 * Bounds 0, 1, ... in turn. When a round met nothing beyond its bound, then
 * it was the last: there are no more executions.
 */
static enum search_end run_bounds(struct search *s, struct xverdict *verdict)
{
	u32 max = s->how->max_bound;
	enum search_end end;

	if (s->how->strategy != XSTRATEGY_SYSTEMATIC || max == XBOUND_NONE) {
		s->bound = max;
		return run_round(s);
	}
	for (s->bound = 0;; s->bound++) {
		end = run_round(s);
		if (end != SEARCH_DONE)
			return end;
		verdict->bound = s->bound;
		if (!s->cut || s->bound == max)
			return end;
	}
}

void search_run_for(struct xworld *w, const struct xsearch *how, enum xrule want,
		    struct xverdict *verdict)
{
	struct search s = { .world = w, .how = how, .want = want };
	u64 start = search_now_ns();
	enum search_end end;

	if (how->budget_s > 0)
		s.deadline_ns = start + (u64)(how->budget_s * 1e9);
	verdict->found = false;
	verdict->complete = false;
	verdict->bound = 0;
	s.choices = verdict->choices;
	if (how->strategy == XSTRATEGY_SYSTEMATIC && how->reduce) {
		s.shared = shared_map(how->max_schedules);
		assert(s.shared);
	}
	end = run_bounds(&s, verdict);
	if (s.shared)
		shared_unmap(s.shared);
	verdict->choices = s.choices;
	verdict->result = s.result;
	verdict->schedules = s.schedules;
	verdict->executions = s.runs;
	verdict->seconds = (double)(search_now_ns() - start) / 1e9;
	if (end == SEARCH_FOUND) {
		verdict->found = true;
		verdict->bound = s.bound;
	} else if (end == SEARCH_DONE) {
		/* Even if no round met the bound: nothing lies beyond. */
		verdict->complete = true;
		verdict->bound = how->max_bound;
	}
	if (!verdict->found)
		verdict->choices.n = 0;
}

void xsearch_run(struct xworld *w, const struct xsearch *search, struct xverdict *verdict)
{
	memset(verdict, 0, sizeof(*verdict));
	xworld_drop_ops(w, verdict->dropped);
	search_run_for(w, search, XRULE_NONE, verdict);
}

/* ---- replay ---- */

struct replay {
	const struct xchoices *choices;
	u32 at;
	bool misfit;
};

static u32 replay_next(struct replay *r)
{
	if (r->at < r->choices->n)
		return r->choices->value[r->at++];
	r->misfit = true;
	return 0;
}

static u32 replay_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct replay *r = ctx;
	u32 agent = replay_next(r), i = step_of_agent(enabled, n, agent);

	(void)running;
	if (!r->misfit && i < n)
		return i;
	r->misfit = true;
	return XPICK_STOP;
}

/* After a misfit any value will do: the next pick gives the execution up. */
static u32 replay_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct replay *r = ctx;
	u32 value = replay_next(r);

	(void)kind;
	if (value < n)
		return value;
	r->misfit = true;
	return 0;
}

bool xsearch_replay(struct xworld *w, const struct xverdict *verdict,
		    struct xresult *result, struct xevent *events, u32 *nr_events)
{
	struct replay r = { .choices = &verdict->choices };
	const struct xchooser chooser = { .pick = replay_pick, .choose = replay_choose, .ctx = &r,
		.bare = true };

	xworld_drop_ops(w, verdict->dropped);
	xworld_run(w, &chooser, result, events, nr_events);
	return !r.misfit && r.at == verdict->choices.n;
}
