// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatti;
 * ASPLOS 2010). Every agent has a random priority, and the highest that can move
 * does; at d - 1 random steps the priority of the one about to move
 * falls below all others. One execution of n agents and k steps finds a bug of depth d
 * with a probability of at least 1 / (n k^(d-1)). d is max_bound + 1.
 *
 * k comes from one execution that takes every default. Values are not part
 * of the paper: each is 0 (the newest, no failure) with one chance in two, and else
 * uniform.
 *
 * An agent that moves for FAIR_STEPS on end (a retry loop) falls too: strict
 * priorities would starve the one it waits for.
 */
#include "explore/search.h"

#include <string.h>

#define PCT_MAX_DEPTH 32
#define FAIR_STEPS 2000

struct pct {
	struct rng rng;
	struct xchoices *choices;
	u32 depth, steps;		/* d, k */
	u32 at;				/* steps so far */
	u32 change[PCT_MAX_DEPTH];	/* at which a priority falls */
	u64 priority[XAGENT_MAX];	/* 0: not drawn yet; high ones come first */
	u64 low;			/* what the next fallen one gets */
	u32 agent, in_a_row;
};

/* Drawn when first needed: agents are known when they can move. */
static u64 priority(struct pct *p, const struct xstep *step)
{
	u32 agent = xagent_id(step->agent_kind, step->agent_index);

	if (!p->priority[agent])
		p->priority[agent] = rng_next(&p->rng) | 1ULL << 63;
	return p->priority[agent];
}

static u32 highest(struct pct *p, const struct xstep *enabled, u32 n)
{
	u32 best = 0;

	for (u32 i = 1; i < n; i++)
		if (priority(p, &enabled[i]) > priority(p, &enabled[best]))
			best = i;
	priority(p, &enabled[best]);
	return best;
}

static bool falls(const struct pct *p)
{
	for (u32 i = 0; i + 1 < p->depth; i++)
		if (p->change[i] == p->at)
			return true;
	return p->in_a_row && p->in_a_row % FAIR_STEPS == 0;
}

static u32 pct_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct pct *p = ctx;
	u32 i = highest(p, enabled, n), agent;

	(void)running;
	if (falls(p)) {
		agent = xagent_id(enabled[i].agent_kind, enabled[i].agent_index);
		p->priority[agent] = p->low--;
		i = highest(p, enabled, n);
	}
	p->at++;
	agent = xagent_id(enabled[i].agent_kind, enabled[i].agent_index);
	p->in_a_row = agent == p->agent ? p->in_a_row + 1 : 0;
	p->agent = agent;
	choices_add(p->choices, (u16)agent);
	return i;
}

static u32 pct_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct pct *p = ctx;
	u32 value = 0;

	(void)kind;
	if (rng_below(&p->rng, 2))
		value = rng_below(&p->rng, n);
	choices_add(p->choices, (u16)value);
	return value;
}

static void pct_start(struct pct *p, u64 seed, u64 index)
{
	rng_seed(&p->rng, seed, index);
	memset(p->priority, 0, sizeof(p->priority));
	p->choices->n = 0;
	p->low = 1ULL << 62;
	p->at = 0;
	p->in_a_row = 0;
	p->agent = XAGENT_MAX;
	for (u32 i = 0; i + 1 < p->depth; i++)
		p->change[i] = rng_below(&p->rng, p->steps);
}

static u32 default_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	(void)ctx;
	(void)enabled;
	return running < n ? running : 0;
}

static u32 default_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	(void)ctx;
	(void)kind;
	(void)n;
	return 0;
}

static u32 estimate_steps(struct search *s)
{
	const struct xchooser chooser = { .pick = default_pick, .choose = default_choose,
		.bare = true };
	struct xresult result;

	xworld_run(s->world, &chooser, &result, NULL, NULL);
	return result.steps ? result.steps : 1;
}

enum search_end search_pct(struct search *s)
{
	struct pct p = { .choices = &s->choices };
	const struct xchooser chooser = { .pick = pct_pick, .choose = pct_choose, .ctx = &p,
		.bare = true };
	u64 index;

	p.steps = estimate_steps(s);
	p.depth = s->how->max_bound < PCT_MAX_DEPTH ? s->how->max_bound + 1 : PCT_MAX_DEPTH;
	while (!search_over(s) && search_next_seed(s, &index)) {
		pct_start(&p, s->how->seed, index);
		if (!search_execute(s, &chooser, false))
			continue;
		if (!s->workers)
			return SEARCH_FOUND;
		workers_found_seed(s, index);
	}
	return SEARCH_OVER;
}
