// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dynamic partial-order reduction, bounded by preemptions.
 *
 * Unbounded, this is Flanagan and Godefroid's algorithm (POPL 2005) with sleep
 * sets: when step s of agent p conflicts with an earlier step i of agent q, and
 * i does not happen before p's previous step, the two may also run the other
 * way round, so p is added to what is tried at i. If p could not move there, the
 * agents are added whose later steps p depends on; if there are none, all.
 *
 * Bounded, an equivalent execution may cost more preemptions than this one,
 * so "explored elsewhere" is no longer a reason to leave something out. From Coons,
 * Musuvathi and McKinley (OOPSLA 2013) we take, for preemption-bounded persistent
 * sets:
 *
 *  - their condition 1 (the first agent tried costs the least): the default is
 *    always the thread that runs, when it can, and else one to which switching
 *    is free (search_systematic.c);
 *  - their conditions 2 and 3 (everything that the running block of the thread may
 *    do is independent of what is left out): beside i, the point where the
 *    block of steps that contains i began is a backtracking point, where p may
 *    be free to run;
 *  - races are looked for with the last conflicting step of every other agent,
 *    not only with the very last one.
 *
 * What counts as a preemption: going from a thread to another one while it could go on;
 * that is, it could right after its last step. (What happens later, a drain
 * or an interrupt, changes nothing: else their order with independent steps would
 * change the cost.) Store-buffer drains, interrupts, hardware updates and grace
 * periods are free, and do not end a block; otherwise weak memory would show only at
 * high bounds. As they are free, their order is left out by independence alone. A
 * block begins where switching was free, too: at a thread that waited and goes on.
 *
 * Sleep sets are unsound with a bound, as Coons et al. show. What remains sound: let t
 * have been tried at a node, and then a, independent of t. Executions a...t are
 * left out in favour of t a..., which must not cost more:
 *
 *  - if t is a drain, it changes no switch; but it may enable a's next
 *    step, so that leaving a is a preemption. So t wakes when a has to wait;
 *  - if t is a thread, the switches change as soon as another thread moves in
 *    between. So t sleeps on only while a is no thread;
 *  - interrupts never sleep, and wake threads.
 *
 * Interrupt handlers. A world may make a handler's steps those of the interrupted thread
 * (then the footprint of taking an interrupt must meet all steps of that thread that
 * the handler conflicts with), or those of the CPU's interrupt agent; then the
 * thread that it interrupts cannot move meanwhile. That is no conflict in any object:
 * taking an interrupt may be told apart from taking it one step later only if the
 * handler and the thread conflict in something. So `stops` notes who is stopped, ends of
 * handlers order nothing, and who cannot move at a backtracking point is tried
 * before the handler (add_earlier).
 *
 * A step that makes another agent wait (a lock, interrupts off) races with it even if the
 * other never moves in this execution: it is tried at once (add_stopped).
 *
 * A step that may wait (for a lock, a word) has conflicts with several steps of one agent,
 * of which the last, which let it go on, cannot be reversed; so all of them are
 * looked at, from the last to the first (add_race).
 *
 * tests/explore/test_search_dpor.c compares all of this with full enumeration.
 */
#include "explore/systematic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the journal ---- */

void journal_set(struct systematic *d, u32 *where, u32 value)
{
	if (d->journal_len == d->journal_size) {
		d->journal_size = d->journal_size ? 2 * d->journal_size : 4096;
		d->journal = realloc(d->journal, d->journal_size * sizeof(*d->journal));
		assert(d->journal);
	}
	d->journal[d->journal_len++] = (struct journal_entry){ where, *where };
	*where = value;
}

void journal_undo(struct systematic *d, u32 height)
{
	assert(height <= d->journal_len);
	while (d->journal_len > height) {
		struct journal_entry *e = &d->journal[--d->journal_len];

		*e->where = e->old;
	}
}

/* ---- objects ---- */

static u32 object_key(struct xobj obj)
{
	return (u32)obj.cls << 26 | obj.id;
}

static u32 object_hash(u32 key)
{
	return (u32)((key * 0x9e3779b97f4a7c15ULL) >> 32);
}

static void objects_grow(struct systematic *d)
{
	u32 size = d->hash_size ? 2 * d->hash_size : 1024;
	struct object **hash = calloc(size, sizeof(*hash));

	assert(hash);
	for (u32 i = 0; i < d->hash_size; i++) {
		struct object *o = d->hash[i];
		u32 at;

		if (!o)
			continue;
		for (at = object_hash(o->key); hash[at & (size - 1)]; at++)
			;
		hash[at & (size - 1)] = o;
	}
	free(d->hash);
	d->hash = hash;
	d->hash_size = size;
}

static struct object *object_get(struct systematic *d, struct xobj obj)
{
	u32 key = object_key(obj);
	struct object *o;
	u32 at;

	if (2 * d->nr_objects >= d->hash_size)
		objects_grow(d);
	for (at = object_hash(key);; at++) {
		o = d->hash[at & (d->hash_size - 1)];
		if (!o)
			break;
		if (o->key == key)
			return o;
	}
	o = calloc(1, sizeof(*o));
	assert(o);
	o->key = key;
	d->hash[at & (d->hash_size - 1)] = o;
	d->nr_objects++;
	return o;
}

void dpor_free(struct systematic *d)
{
	for (u32 i = 0; i < d->hash_size; i++)
		free(d->hash[i]);
	free(d->hash);
	free(d->journal);
}

/* ---- clocks ---- */

static void clock_join(const struct systematic *d, u32 *clock, const u32 *other)
{
	for (u64 m = d->agents; m; m &= m - 1) {
		u32 q = (u32)__builtin_ctzll(m);

		if (other[q] > clock[q])
			clock[q] = other[q];
	}
}

static void clock_copy(const struct systematic *d, u32 *clock, const u32 *other)
{
	for (u64 m = d->agents; m; m &= m - 1) {
		u32 q = (u32)__builtin_ctzll(m);

		clock[q] = other ? other[q] : 0;
	}
}

/* ---- conflicts ---- */

static bool touches_all(const struct xstep *step)
{
	for (u32 i = 0; i < step->nr_obj; i++)
		if (step->obj[i].cls == XOBJ_ALL)
			return true;
	return false;
}

/*
 * Last step of agent q that conflicts with the i-th object of nd; number nr_obj is all
 * objects together, which only a step that touches everything conflicts in.
 */
static u32 conflict_with(const struct systematic *d, const struct node *nd, u32 i, u32 q)
{
	if (i == nd->nr_obj)
		return nd->all ? d->agent_step[q] : d->all_step[q];
	return nd->touched[i].write ? nd->touched[i].obj->any[q] :
				      nd->touched[i].obj->write[q];
}

/* Agents of which conflict_with() may say something. */
static u64 conflict_agents(const struct systematic *d, const struct node *nd, u32 i)
{
	u64 agents = d->agents;

	if (i < nd->nr_obj)
		agents = nd->touched[i].write ? nd->touched[i].obj->agents :
						nd->touched[i].obj->writers;
	else if (!nd->all)
		agents = d->all_agents;
	return agents & ~AGENT(nd->value);
}

/* ---- races ---- */

/* The first step of agent q after `since`, or 0. */
static u32 first_step(const struct systematic *d, u32 q, u32 since)
{
	u32 first = 0;

	for (u32 s = d->agent_step[q]; s > since; s = d->node[s - 1].step_before)
		first = s;
	return first;
}

/* A step of agent q with this clock depends on no other agent's since `since`. */
static bool is_first(const struct systematic *d, const u32 *clock, u32 q, u32 since)
{
	for (u64 m = d->agents & ~AGENT(q); m; m &= m - 1) {
		u32 r = (u32)__builtin_ctzll(m);

		if (clock[r] > since)
			return false;
	}
	return true;
}

/*
 * Agents that can start, after step `since`, what must come before the step of nd: of the
 * steps that happened before it, those that nothing precedes; or its own.
 */
static u64 starters(const struct systematic *d, const struct node *nd, u32 since,
		    const u32 *before)
{
	u64 agents = 0;

	for (u64 m = d->agents; m; m &= m - 1) {
		u32 q = (u32)__builtin_ctzll(m), step;

		if (q == nd->value && nd->step_before <= since) {
			if (is_first(d, before, q, since))
				agents |= AGENT(q);
			continue;
		}
		if (before[q] <= since)
			continue;
		step = first_step(d, q, since);
		if (is_first(d, d->clock[step - 1], q, since))
			agents |= AGENT(q);
	}
	return agents;
}

/*
 * None of the agents can move at step `at`: an interrupt handler runs on their CPU, say.
 * Then they are to be tried where one last could, before the handler, unless it has moved
 * since.
 */
static void add_earlier(const struct systematic *d, u64 agents, u32 at)
{
	for (u32 k = at - 1; agents && k-- > 0;) {
		struct node *point = &d->node[k];

		if (point->n)
			continue;
		point->backtrack |= agents & point->enabled;
		agents &= ~point->enabled & ~AGENT(point->value);
	}
}

/* Let the step of nd run before step `at`, too. */
static void add_point(const struct systematic *d, const struct node *nd, u32 at,
		      const u32 *before)
{
	struct node *point = &d->node[at - 1];
	u64 agents = starters(d, nd, at - 1, before);

	if (agents & point->enabled) {
		point->backtrack |= agents & point->enabled;
	} else {
		point->backtrack |= point->enabled;
		add_earlier(d, agents, at);
	}
}

/* The step before this one in which the same agent conflicts with nd's i-th object. */
static u32 conflict_before(const struct node *nd, u32 i, const struct node *other)
{
	for (u32 j = 0; i < nd->nr_obj && j < other->nr_obj; j++)
		if (other->touched[j].obj == nd->touched[i].obj)
			return nd->touched[i].write ? other->touched[j].any_before :
						      other->touched[j].write_before;
	return i == nd->nr_obj ? other->step_before : 0;
}

/*
 * What happened before agent's step, were it not for its conflicts with the agent of
 * step `with`.
 */
static void clock_without(const struct systematic *d, const struct node *nd, u32 with,
			  const u32 *before, u32 *clock)
{
	u32 other = d->node[with - 1].value;

	clock_copy(d, clock, before);
	for (u32 i = 0; i <= nd->nr_obj; i++) {
		for (u64 m = conflict_agents(d, nd, i) & ~AGENT(other); m; m &= m - 1) {
			u32 q = (u32)__builtin_ctzll(m), step = conflict_with(d, nd, i, q);

			if (step > clock[q])
				clock_join(d, clock, d->clock[step - 1]);
		}
	}
}

/*
 * Bounded: all that could start the other order, there and where the block began. If
 * the race is by way of a third step, only what must come first is known.
 */
static void add_points(const struct systematic *d, const struct node *nd, u32 with,
		       const u32 *before)
{
	const struct node *at = &d->node[with - 1];
	u32 clock[XAGENT_MAX];

	clock_without(d, nd, with, before, clock);
	if (clock[at->value] < with)
		before = clock;
	add_point(d, nd, with, before);
	if (at->block && at->block < with)
		add_point(d, nd, at->block, before);
}

#define NO_STEP (~0U)	/* later than all */

/* Before this step of agent q, but after `since`, a thread has moved that it stops. */
static bool after_stopped(const struct systematic *d, u32 q, u32 step, u32 since)
{
	for (u64 m = d->stops[q]; m; m &= m - 1) {
		u32 first = first_step(d, (u32)__builtin_ctzll(m), since);

		if (first && first < step)
			return true;
	}
	return false;
}

/*
 * Unbounded, one agent will do, and none if one of those that could start the other
 * order is tried there anyway: source sets (Abdulla, Aronis, Jonsson,
 * Sagonas; POPL 2014). The other order is that of all steps after `with` that
 * do not depend on it, then agent's.
 */
static void add_initial(struct systematic *d, const struct node *nd, u32 with,
			const u32 *before)
{
	struct node *at = &d->node[with - 1];
	u32 agent = nd->value, clock[XAGENT_MAX];
	u64 initial = 0;

	clock_without(d, nd, with, before, clock);
	if (clock[at->value] >= with)
		return;		/* by way of a third step: not a race */
	if (nd->step_before <= with && is_first(d, clock, agent, with - 1) &&
	    !after_stopped(d, agent, NO_STEP, with))
		initial = AGENT(agent);
	for (u64 m = d->agents & ~AGENT(at->value); m; m &= m - 1) {
		u32 q = (u32)__builtin_ctzll(m), step = first_step(d, q, with);

		if (step && is_first(d, d->clock[step - 1], q, with - 1) &&
		    !after_stopped(d, q, step, with))
			initial |= AGENT(q);
	}
	if (!(initial & at->enabled)) {
		at->backtrack |= at->enabled;
		add_earlier(d, initial, with);
		return;
	}
	initial &= at->enabled;
	if (initial & (at->backtrack | at->sleep))
		return;
	if (initial & AGENT(agent))
		initial = AGENT(agent);
	at->backtrack |= initial & -initial;
}

/*
 * Agent's step touches obj; `with` is the last step of another agent that conflicts
 * there. A step that itself enabled agent (an unlock) cannot come after agent's: then
 * it is the one before it, the lock, that may.
 */
static void add_race(struct systematic *d, const struct node *nd, u32 with,
		     u32 i, const u32 *before)
{
	u32 agent = nd->value;

	while (with) {
		struct node *other = &d->node[with - 1];

		if (before[other->value] >= with)
			return;
		if (other->woke & AGENT(agent))
			add_earlier(d, AGENT(agent), with);
		if (!(other->woke & AGENT(agent)) || nd->step_before > with) {
			if (UNBOUNDED(d->bound))
				add_initial(d, nd, with, before);
			else
				add_points(d, nd, with, before);
		}
		with = conflict_before(nd, i, other);
	}
}

/* What happened before this step by the objects it touches. */
static void clock_touch(struct systematic *d, const struct node *nd, u32 *clock)
{
	for (u32 i = 0; i <= nd->nr_obj; i++) {
		for (u64 m = conflict_agents(d, nd, i); m; m &= m - 1) {
			u32 q = (u32)__builtin_ctzll(m), with = conflict_with(d, nd, i, q);

			if (with > clock[q])
				clock_join(d, clock, d->clock[with - 1]);
		}
	}
}

static void find_races(struct systematic *d, const struct node *nd, const u32 *before)
{
	for (u32 i = 0; i <= nd->nr_obj; i++) {
		for (u64 m = conflict_agents(d, nd, i); m; m &= m - 1) {
			u32 q = (u32)__builtin_ctzll(m), with = conflict_with(d, nd, i, q);

			if (with > before[q])
				add_race(d, nd, with, i, before);
		}
	}
}

static void note_touched(struct systematic *d, u32 k)
{
	struct node *nd = &d->node[k];
	u32 agent = nd->value;

	for (u32 i = 0; i < nd->nr_obj; i++) {
		struct object *o = nd->touched[i].obj;

		nd->touched[i].any_before = o->any[agent];
		nd->touched[i].write_before = o->write[agent];
		o->agents |= AGENT(agent);
		journal_set(d, &o->any[agent], k + 1);
		if (nd->touched[i].write) {
			o->writers |= AGENT(agent);
			journal_set(d, &o->write[agent], k + 1);
		}
	}
	if (nd->all) {
		d->all_agents |= AGENT(agent);
		journal_set(d, &d->all_step[agent], k + 1);
	}
	journal_set(d, &d->agent_step[agent], k + 1);
}

void dpor_step(struct systematic *d, u32 k, const struct xstep *step, bool races)
{
	struct node *nd = &d->node[k];
	u32 *clock = d->clock[k], agent = nd->value, before[XAGENT_MAX];
	u32 enabler = d->enabler[agent];

	/* The end of an interrupt only gives the CPU back: the thread could have gone before. */
	if (enabler && (d->stops[d->node[enabler - 1].value] & AGENT(agent)))
		enabler = 0;
	assert(step->nr_obj <= XFOOTPRINT_MAX);
	nd->all = touches_all(step);
	nd->nr_obj = nd->all ? 0 : (u8)step->nr_obj;
	for (u32 i = 0; i < nd->nr_obj; i++) {
		nd->touched[i].obj = object_get(d, step->obj[i]);
		nd->touched[i].write = step->obj[i].write;
	}
	nd->step_before = d->agent_step[agent];
	clock_copy(d, before, nd->step_before ? d->clock[nd->step_before - 1] : NULL);
	/* The store that a drain carries out comes before it, always. */
	if (enabler && step->agent_kind == XAGENT_DRAIN)
		clock_join(d, before, d->clock[enabler - 1]);
	clock_copy(d, clock, before);
	if (enabler)
		clock_join(d, clock, d->clock[enabler - 1]);
	if (races)
		find_races(d, nd, before);
	clock_touch(d, nd, clock);
	clock[agent] = k + 1;
	note_touched(d, k);
}

/* ---- sleep sets ---- */

static bool independent(const struct node *nd, const struct xstep *step)
{
	if (nd->all || touches_all(step))
		return false;
	for (u32 i = 0; i < nd->nr_obj; i++)
		for (u32 j = 0; j < step->nr_obj; j++)
			if (nd->touched[i].obj->key == object_key(step->obj[j]) &&
			    (nd->touched[i].write || step->obj[j].write))
				return false;
	return true;
}

/* Moving t before the step of node `at` costs no more. See above. */
static bool sleeps_on(const struct systematic *d, const struct node *at,
		      const struct node *nd, u32 t)
{
	u32 a = at->value;

	/* An interrupt does not commute with the thread that it stops, whichever that is. */
	if (!((d->threads | d->drains) & AGENT(t)))
		return UNBOUNDED(d->bound) && !is_thread(d, a);
	/* Nor is the thread's next step the same after it: a handler's may come first. */
	if (!((d->threads | d->drains) & AGENT(a)))
		return !is_thread(d, t);
	if (UNBOUNDED(d->bound))
		return true;
	if (is_thread(d, t))
		return !is_thread(d, a);
	return !is_thread(d, a) || (nd->enabled & AGENT(a));
}

u64 dpor_sleep(struct systematic *d, u32 k, const struct xstep *enabled, u32 n)
{
	struct node *nd = &d->node[k], *at;
	u64 sleep = 0, candidates;

	if (!d->last_pick)
		return 0;
	at = &d->node[d->last_pick - 1];
	candidates = (at->sleep | at->done) & ~AGENT(at->value) & nd->enabled;
	for (; candidates; candidates &= candidates - 1) {
		u32 t = (u32)__builtin_ctzll(candidates);
		u32 i = step_of_agent(enabled, n, t);

		if (independent(at, &enabled[i]) && sleeps_on(d, at, nd, t))
			sleep |= AGENT(t);
	}
	return sleep;
}
