/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the strategies share: one search's budget, its find, and the record of an
 * execution. Private to explore/.
 *
 * A strategy runs executions until its space is done (SEARCH_DONE), one of
 * them breaks the rule in question (SEARCH_FOUND), or the budget is over
 * (SEARCH_OVER). With workers, each process has a struct search of its own, and
 * struct workers, in memory that they share, joins them (workers.c).
 */
#ifndef TLBLAB_EXPLORE_SEARCH_H
#define TLBLAB_EXPLORE_SEARCH_H

#include "explore/explore.h"

enum search_end { SEARCH_DONE, SEARCH_FOUND, SEARCH_OVER };

struct workers;

struct search {
	struct xworld *world;
	const struct xsearch *how;
	/* Only this rule counts as found; XRULE_NONE: any. */
	enum xrule want;
	u64 deadline_ns;	/* 0: none */
	u64 runs;		/* executions begun, given-up ones too */
	u64 schedules;		/* run to their end */
	u32 bound;		/* of preemptions, of this round */
	bool cut;		/* something lay beyond the bound */
	struct xresult result;	/* of the violation, or the last run */
	struct xchoices choices;	/* of the violation */
	struct shared *shared;	/* visited states; NULL: no reduction */
	struct workers *workers;	/* NULL: alone */
	u32 worker;
};

u64 search_now_ns(void);
/* Asked before each execution: is the budget over? */
bool search_over(struct search *s);
/*
 * One execution, from the start, or from the youngest state that the world keeps. True: it
 * breaks the rule in question. Choices are the caller's to record.
 */
bool search_execute(struct search *s, const struct xchooser *chooser, bool resume);

/* One bound. The whole of it; with workers, this worker's share. */
enum search_end search_systematic(struct search *s);
enum search_end search_pct(struct search *s);
enum search_end search_random(struct search *s);

/* xsearch_run() for one rule only; dropped operations stay as they are. */
void search_run_for(struct xworld *w, const struct xsearch *how, enum xrule want,
		    struct xverdict *verdict);

void choices_add(struct xchoices *c, u16 value);
void choices_copy(struct xchoices *to, const struct xchoices *from);

/* Position of the agent in enabled[], or n. */
static inline u32 step_of_agent(const struct xstep *enabled, u32 n, u32 agent)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (xagent_id(enabled[i].agent_kind, enabled[i].agent_index) == agent)
			break;
	return i;
}

/* ---- random numbers: xoshiro256**, seeded by splitmix64 ---- */

struct rng {
	u64 s[4];
};

void rng_seed(struct rng *r, u64 seed, u64 stream);
u64 rng_next(struct rng *r);
u32 rng_below(struct rng *r, u32 n);

/*
 * The next number of a random execution, given out in order to all workers; false
 * when a lower one has broken the rule already, so that the violation that is
 * reported is the same however many workers there are.
 */
bool search_next_seed(struct search *s, u64 *index);

/* ---- workers.c ---- */

/*
 * Run one round (search_systematic, ...) in s->how->workers processes and put
 * their finds into s.
 */
enum search_end workers_run(struct search *s, enum search_end (*round)(struct search *));
bool workers_over(struct search *s);
bool workers_next_seed(struct search *s, u64 *index);
void workers_found_seed(struct search *s, u64 index);

/*
 * Hand-over of parts of the systematic search. A node of a path as another
 * process needs it; it finds the rest by running the path.
 */
struct work_node {
	u64 done, sleep;
	u32 value;
	u32 n;			/* of a choose; 0: a pick */
};

#define WORK_MAX 16384		/* nodes of a path that can be handed over */

/* Somebody has nothing to do. */
bool workers_hungry(struct search *s);
/* A place to put a path of n nodes for one that is hungry, or NULL. */
struct work_node *workers_give(struct search *s, u32 n);
void workers_given(struct search *s);
/* Wait for a path. NULL: all is done, or over. */
const struct work_node *workers_take(struct search *s, u32 *n);

/* ---- visited.c: memory that workers share; systematic.h has the rest ---- */

/* For a search of so many executions; 0: no limit. NULL: no memory. */
struct shared *shared_map(u64 max_schedules);
void shared_unmap(struct shared *sh);
/* A round begins: forget the states; who touches what remains known. */
void shared_round(struct shared *sh);
/* An object has become shared since the round began: what was left out may matter. */
bool shared_changed(const struct shared *sh);

#endif
