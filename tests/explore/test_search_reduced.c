// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reduction loses nothing: on generated programs the set of terminal states is that of full
 * enumeration, at each bound up to 2 and without one.
 */
#include "explore/search.h"
#include "fake_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- sets of states ---- */

#define SET_MAX 65536

struct set {
	u64 state[SET_MAX];
	u32 n;
	u64 executions;
};

static void set_add(void *arg, u64 state)
{
	struct set *set = arg;
	u32 at;

	set->executions++;
	for (at = (u32)(state * 0x9e3779b97f4a7c15ULL >> 48); set->state[at]; at = (at + 1) % SET_MAX)
		if (set->state[at] == state)
			return;
	set->state[at] = state;
	set->n++;
	assert_true(set->n < SET_MAX / 2);
}

static bool set_same(const struct set *a, const struct set *b)
{
	if (a->n != b->n)
		return false;
	for (u32 i = 0; i < SET_MAX; i++) {
		u64 state = a->state[i];
		u32 at;

		if (!state)
			continue;
		for (at = (u32)(state * 0x9e3779b97f4a7c15ULL >> 48); b->state[at] != state;
		     at = (at + 1) % SET_MAX)
			if (!b->state[at])
				return false;
	}
	return true;
}

/* ---- generated programs ---- */

/* G_IRQS: interrupts that are pending, most of the time beside steps that they do not meet. */
enum { G_PLAIN, G_LOCKS, G_DRAINS, G_ALL, G_IRQS, G_NR };

static void put(struct fake *f, u32 t, u8 op, u8 a, u8 b)
{
	u32 i = f->thread[t].n++;

	f->thread[t].insn[i] = (struct fake_insn){ op, a, b, (u8)i };
}

static void random_insn(struct fake *f, u32 t, u32 kind, struct rng *r)
{
	u8 word = (u8)rng_below(r, 3), lock = (u8)rng_below(r, FAKE_LOCKS);
	u8 value = (u8)(1 + rng_below(r, 3));

	if (kind == G_IRQS && !rng_below(r, 4))
		return put(f, t, FAKE_IRQ, (u8)rng_below(r, f->nr_threads), 1);
	switch (rng_below(r, kind == G_PLAIN ? 4 : kind == G_ALL || kind == G_IRQS ? 11 : 7)) {
	case 0:
		return put(f, t, FAKE_LOAD, word, 0);
	case 1:
		return put(f, t, FAKE_STORE, word, value);
	case 2:
		return put(f, t, FAKE_PUT, word, 1);
	case 3:
		return put(f, t, FAKE_ADD, word, value);
	case 4:
		if (kind == G_DRAINS)
			return put(f, t, FAKE_FENCE, 0, 0);
		put(f, t, FAKE_LOCK, lock, 0);
		put(f, t, rng_below(r, 2) ? FAKE_LOAD : FAKE_STORE, word, value);
		return put(f, t, FAKE_UNLOCK, lock, 0);
	case 5:
		put(f, t, FAKE_LOAD, word, 0);
		put(f, t, FAKE_IF, value, 1);
		return put(f, t, FAKE_STORE, (u8)rng_below(r, 3), value);
	case 6:
		return put(f, t, FAKE_WAIT, word, 0);
	case 7:
		return put(f, t, FAKE_CHOOSE, 2, word & 1);
	case 8:
		return put(f, t, FAKE_IRQ, (u8)rng_below(r, f->nr_threads), 1);
	case 9:
		put(f, t, FAKE_CLI, 0, 0);
		put(f, t, rng_below(r, 2) ? FAKE_LOAD : FAKE_ADD, 0, 1);
		return put(f, t, FAKE_STI, 0, 0);
	default:
		return put(f, t, FAKE_FENCE, 0, 0);
	}
}

static void generate(struct fake *f, u64 seed)
{
	struct rng r;
	u32 kind, each;

	memset(f, 0, sizeof(*f));
	rng_seed(&r, seed, 1);
	kind = rng_below(&r, G_NR);
	f->drains = kind == G_DRAINS || (kind >= G_ALL && rng_below(&r, 2));
	f->nr_threads = 2 + rng_below(&r, 2);
	each = (f->nr_threads == 2 ? 3 : 2) + rng_below(&r, 2);
	for (u32 t = 0; t < f->nr_threads; t++)
		for (u32 i = 0; i < each; i++)
			random_insn(f, t, kind, &r);
}

/* ---- the comparison ---- */

#define FULL_MAX 60000	/* executions; larger programs are passed over */

static struct set full, reduced;

static bool enumerate(struct xworld *w, u32 bound, bool reduce, struct set *set)
{
	struct xsearch how = { .max_bound = bound, .workers = 1, .reduce = reduce,
			       .max_schedules = FULL_MAX, .terminal = set_add,
			       .terminal_arg = set };
	struct search s = { .world = w, .how = &how, .want = XRULE_BUG, .bound = bound };

	bool done;

	do {
		memset(set, 0, sizeof(*set));
		s.shared = s.shared ? s.shared : shared_map(1000);
		shared_round(s.shared);
		done = search_systematic(&s) == SEARCH_DONE;
	} while (done && reduce && shared_changed(s.shared));
	shared_unmap(s.shared);
	return done;
}

static void show(const struct fake *f, u64 seed, u32 bound)
{
	static const char *const name[] = { "load", "store", "put", "add", "lock",
		"unlock", "wait", "fence", "choose", "irq", "cli", "sti", "if",
		"fail", "nop" };

	printf("program %llu, bound %d, %s drains: %u states, reduced %u\n",
	       (unsigned long long)seed, (int)bound, f->drains ? "with" : "without",
	       full.n, reduced.n);
	for (u32 t = 0; t < f->nr_threads; t++) {
		printf("  %u:", t);
		for (u32 i = 0; i < f->thread[t].n; i++)
			printf(" %s(%u,%u)", name[f->thread[t].insn[i].op],
			       f->thread[t].insn[i].a, f->thread[t].insn[i].b);
		printf("\n");
	}
}

static void test_same_states(void **state)
{
	static const u32 bounds[] = { 0, 1, 2, XBOUND_NONE };
	/* More of them by hand: TLBLAB_PROGRAMS=10000 TLBLAB_SEED=1 */
	const char *env = getenv("TLBLAB_PROGRAMS"), *first = getenv("TLBLAB_SEED");
	u32 programs = env ? (u32)atoi(env) : 400, compared = 0;
	u64 executions[4][2] = { 0 }, bad = 0;

	(void)state;
	for (u64 i = 0; i < programs; i++) {
		u64 seed = i + (first ? strtoull(first, NULL, 0) : 0);
		struct xprogram program;
		struct fake f;
		struct xworld *w;

		generate(&f, seed);
		fake_program(&program, &f);
		w = xworld_create(&program, NULL, 0);
		for (u32 b = 0; b < 4; b++) {
			if (!enumerate(w, bounds[b], false, &full))
				continue;
			assert_true(enumerate(w, bounds[b], true, &reduced));
			compared++;
			executions[b][0] += full.executions;
			executions[b][1] += reduced.executions;
			if (!set_same(&full, &reduced)) {
				show(&f, seed, bounds[b]);
				bad++;
			}
		}
		xworld_destroy(w);
	}
	for (u32 b = 0; b < 4; b++)
		printf("# bound %2d: %llu executions, reduced %llu\n", (int)bounds[b],
		       (unsigned long long)executions[b][0],
		       (unsigned long long)executions[b][1]);
	printf("# %u comparisons\n", compared);
	assert_true(compared >= programs * 3);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_states),
	};

	return cmocka_run_group_tests_name("search_reduced", tests, NULL, NULL);
}
