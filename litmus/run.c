// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every execution of a test: depth first, each state once. States are bytes (state.c);
 * those seen are known by a hash of 128 bits, so that what is left of a state is its node:
 * where it came from and by what choices. A story is told by going there again.
 *
 * The world makes no choice: in each state each agent's step is taken with every
 * combination of answers, like an odometer.
 */
#include <stdlib.h>

#include "litmus/run.h"

#define MAX_STATES	2000000
#define MAX_CHOICES	4	/* of one step */

struct node {
	u64 hash[2];
	u32 parent;
	struct lit_agent agent;
	u8 choice[MAX_CHOICES];
};

struct odometer {
	u8 value[MAX_CHOICES], limit[MAX_CHOICES];
	u32 n, at;
};

struct search {
	struct lit_run run;
	struct odometer odometer;
	struct xchooser chooser;
	struct xresult world_result;
	struct node *node;
	u32 nr_nodes, max_nodes;
	u32 *table;		/* hash table: node + 1 */
	u32 table_size;
	u64 limit;
	bool full;
	u8 *stack;		/* saved states on the way here */
	size_t stack_size, stack_used;
	struct lit_result *result;
	u32 max_outcomes;
};

/* ---------------------------------------------------------------- choices */

static u32 pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	(void)ctx;
	(void)enabled;
	(void)n;
	(void)running;
	return XPICK_STOP;
}

static u32 choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct odometer *o = ctx;

	(void)kind;
	XASSERT(o->at < MAX_CHOICES && n < 256);
	if (o->at == o->n) {
		o->value[o->n] = 0;
		o->n++;
	}
	o->limit[o->at] = (u8)n;
	return o->value[o->at++];
}

/* The next combination; false: that was the last. */
static bool advance(struct odometer *o)
{
	o->n = o->at;
	while (o->n && o->value[o->n - 1] + 1U == o->limit[o->n - 1])
		o->n--;
	if (!o->n)
		return false;
	o->value[o->n - 1]++;
	return true;
}

/* ------------------------------------------------------------ states seen */

static void hash_of(const u8 *p, u32 n, u64 hash[2])
{
	u64 a = 0x9e3779b97f4a7c15ULL ^ n, b = 0xc2b2ae3d27d4eb4fULL;

	for (; n >= 8; n -= 8, p += 8) {
		u64 x;

		memcpy(&x, p, 8);
		a = (a ^ x) * 0xd6e8feb86659fd93ULL;
		a ^= a >> 29;
		b = (b + x) * 0xff51afd7ed558ccdULL;
		b ^= b >> 32;
	}
	for (; n; n--, p++) {
		a = (a ^ *p) * 0xd6e8feb86659fd93ULL;
		b = (b + *p) * 0xff51afd7ed558ccdULL;
	}
	hash[0] = xmix(a);
	hash[1] = xmix(b ^ a);
}

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		xpanic(__FILE__, __LINE__, "out of memory");
	return p;
}

static void insert(struct search *s, u32 node)
{
	u32 h = (u32)s->node[node].hash[0] & (s->table_size - 1);

	while (s->table[h])
		h = (h + 1) & (s->table_size - 1);
	s->table[h] = node + 1;
}

static void grow(struct search *s)
{
	s->max_nodes = s->max_nodes ? s->max_nodes * 2 : 1024;
	s->node = grown(s->node, s->max_nodes * sizeof(*s->node));
	s->table_size = s->max_nodes * 2;
	free(s->table);
	s->table = calloc(s->table_size, sizeof(*s->table));
	if (!s->table)
		xpanic(__FILE__, __LINE__, "out of memory");
	for (u32 i = 0; i < s->nr_nodes; i++)
		insert(s, i);
}

/* False: seen before. */
static bool enter(struct search *s, const u8 *state, u32 len, u32 parent, struct lit_agent a)
{
	struct node n = { .parent = parent, .agent = a };

	if (s->nr_nodes == s->max_nodes)
		grow(s);
	hash_of(state, len, n.hash);
	memcpy(n.choice, s->odometer.value, sizeof(n.choice));
	for (u32 h = (u32)n.hash[0] & (s->table_size - 1); s->table[h];
	     h = (h + 1) & (s->table_size - 1)) {
		const struct node *o = &s->node[s->table[h] - 1];

		if (o->hash[0] == n.hash[0] && o->hash[1] == n.hash[1])
			return false;
	}
	s->node[s->nr_nodes] = n;
	insert(s, s->nr_nodes++);
	return true;
}

/* ---------------------------------------------------------------- outcomes */

static void note_outcome(struct search *s, u32 node)
{
	struct lit_result *r = s->result;
	char *text = lit_outcome_text(&s->run);
	bool holds = lit_holds(&s->run);

	if (!text)
		xpanic(__FILE__, __LINE__, "out of memory");
	/* Two that look alike may differ in what the condition asks about a fault. */
	for (u32 i = 0; i < r->nr_outcomes; i++)
		if (r->outcome[i].holds == holds && !strcmp(r->outcome[i].text, text)) {
			free(text);
			return;
		}
	if (r->nr_outcomes == s->max_outcomes) {
		s->max_outcomes = s->max_outcomes ? s->max_outcomes * 2 : 16;
		r->outcome = grown(r->outcome, s->max_outcomes * sizeof(*r->outcome));
	}
	r->outcome[r->nr_outcomes++] = (struct lit_outcome){ text, holds, node };
	r->nr_positive += holds;
}

static int by_text(const void *a, const void *b)
{
	const struct lit_outcome *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : x->holds - y->holds;
}

/* ------------------------------------------------------------------ search */

/* Room on the stack for a state; its offset. */
static u8 *room(struct search *s)
{
	if (s->stack_size - s->stack_used < LIT_STATE_MAX) {
		s->stack_size = s->stack_size * 2 + 4 * LIT_STATE_MAX;
		s->stack = grown(s->stack, s->stack_size);
	}
	return s->stack + s->stack_used;
}

static void explore(struct search *s, size_t at, u32 node);

/* All that agent a can do from the state at `at`. */
static void go(struct search *s, size_t at, u32 node, struct lit_agent a)
{
	s->odometer = (struct odometer){ .n = 0 };
	do {
		struct odometer here;
		size_t next = s->stack_used;
		u32 len;

		lit_restore(&s->run, s->stack + at);
		s->odometer.at = 0;
		if (!lit_step(&s->run, a))
			continue;
		len = lit_save(&s->run, room(s));
		if (!enter(s, s->stack + next, len, node, a))
			continue;
		if (s->nr_nodes > s->limit) {
			s->full = true;
			return;
		}
		here = s->odometer;
		s->stack_used = next + len;
		explore(s, next, s->nr_nodes - 1);
		s->stack_used = next;
		s->odometer = here;
	} while (!s->full && !s->run.astray && advance(&s->odometer));
}

/* The world is in the state that is saved at `at`. */
static void explore(struct search *s, size_t at, u32 node)
{
	struct lit_agent agent[LIT_MAX_AGENTS];
	u32 n = lit_agents(&s->run, agent);

	if (lit_over(&s->run))
		note_outcome(s, node);
	for (u32 i = 0; i < n && !s->full && !s->run.astray; i++)
		go(s, at, node, agent[i]);
}

static void begin(struct search *s, struct xevent *events, u32 nr_events)
{
	struct xworld *w = s->run.w;

	s->odometer = (struct odometer){ .n = 0 };
	w->result = &s->world_result;
	xworld_begin(w, &s->chooser, events, nr_events);
	lit_machine_begin(s->run.m, s->run.t);
	lit_start(&s->run);
}

/* ------------------------------------------------------------------- story */

#define EVENTS 256

static void tell(struct search *s, u32 node)
{
	static struct xevent events[EVENTS];
	struct lit_result *r = s->result;
	u32 path[EVENTS], n = 0, nr;

	for (u32 i = node; i && n < EVENTS; i = s->node[i].parent)
		path[n++] = i;
	begin(s, events, EVENTS);
	while (n--) {
		const struct node *step = &s->node[path[n]];

		s->odometer = (struct odometer){ .n = MAX_CHOICES };
		memcpy(s->odometer.value, step->choice, sizeof(step->choice));
		lit_step(&s->run, step->agent);
	}
	nr = xworld_nr_events(s->run.w);
	for (u32 i = 0; i < nr && r->nr_story < LIT_STORY_MAX; i++) {
		r->story[r->nr_story] = lit_event_text(&s->run, &events[i]);
		r->nr_story += r->story[r->nr_story] != NULL;
	}
	s->run.w->events = NULL;
}

static void tell_one(struct search *s)
{
	struct lit_result *r = s->result;

	for (u32 i = 0; i < r->nr_outcomes && r->story_of < 0; i++)
		if (r->outcome[i].holds)
			r->story_of = (int)i;
	if (r->story_of >= 0)
		tell(s, r->outcome[r->story_of].node);
}

/* ----------------------------------------------------------------- verdict */

static enum lit_kind kind_of(const struct litmus *t, const struct lit_result *r)
{
	if (t->quantifier == LIT_NONE)
		return LIT_REQUIRED;
	if (t->quantifier == LIT_FORALL && r->nr_positive == r->nr_outcomes)
		return LIT_REQUIRED;
	return r->nr_positive ? LIT_ALLOWED : LIT_FORBIDDEN;
}

static void set_sites(struct lit_run *r)
{
	static const char *const column[LIT_MAX_THREADS] = {
		"P0", "P1", "P2", "P3", "P4", "P5",
	};

	for (u32 i = 0; i < r->t->nr_threads; i++)
		for (u32 k = 0; k < r->t->thread[i].nr_insns; k++)
			r->site[i][k] = (struct mach_site){
				r->t->path, column[i], k, MACH_SITE_INSN
			};
}

static void search_all(struct search *s)
{
	struct lit_agent none = { 0 };
	u32 len;

	begin(s, NULL, 0);
	len = lit_save(&s->run, room(s));
	enter(s, s->stack, len, 0, none);
	s->stack_used = len;
	explore(s, 0, 0);
}

static void free_search(struct search *s)
{
	free(s->node);
	free(s->table);
	free(s->stack);
	free(s);
}

bool litmus_run(struct lit_machines *all, const struct litmus *t, const struct lit_how *how,
		struct lit_result *r, char *error, size_t error_size)
{
	struct lit_machine *m;
	struct search *s;

	*r = (struct lit_result){ .kind = LIT_UNSUPPORTED_KIND, .story_of = -1 };
	if (t->unsupported[0])
		return true;
	m = lit_machine_for(all, t, error, error_size);
	if (!m)
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		xpanic(__FILE__, __LINE__, "out of memory");
	s->run = (struct lit_run){ .t = t, .m = m, .w = m->w };
	s->chooser = (struct xchooser){ .pick = pick, .choose = choose, .ctx = &s->odometer };
	s->limit = how->max_states ? how->max_states : MAX_STATES;
	s->result = r;
	set_sites(&s->run);
	xworld_set_overtaking(m->w, how->overtaking);
	m->w->laws_off = how->laws_off;
	search_all(s);
	r->nr_states = s->nr_nodes;
	r->kind = s->full ? LIT_UNFINISHED : kind_of(t, r);
	if (s->run.astray) {
		snprintf(error, error_size, "%s: %s: %.*s uses an address that is none of the test's",
			 t->path, t->name, s->run.astray->len, t->text + s->run.astray->at);
		free_search(s);
		return false;
	}
	if (r->nr_outcomes)
		qsort(r->outcome, r->nr_outcomes, sizeof(*r->outcome), by_text);
	if (how->story)
		tell_one(s);
	m->w->laws_off = 0;
	free_search(s);
	return true;
}

void lit_result_free(struct lit_result *r)
{
	for (u32 i = 0; i < r->nr_outcomes; i++)
		free(r->outcome[i].text);
	for (u32 i = 0; i < r->nr_story; i++)
		free(r->story[i]);
	free(r->outcome);
	*r = (struct lit_result){ .story_of = -1 };
}
