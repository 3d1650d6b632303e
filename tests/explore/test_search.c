// SPDX-License-Identifier: GPL-2.0-or-later
/* The strategies on a fake world: counts, finds, replay, minimising, workers. */
#include "explore/search.h"
#include "fake_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void put(struct fake *f, u32 t, u8 op, u8 a, u8 b)
{
	u32 i = f->thread[t].n++;

	f->thread[t].insn[i] = (struct fake_insn){ op, a, b, (u8)i };
	if (t >= f->nr_threads)
		f->nr_threads = t + 1;
}

static struct xworld *world_of(const struct fake *f)
{
	struct xprogram program;

	fake_program(&program, f);
	return xworld_create(&program, NULL, 0);
}

static void search(struct xworld *w, const struct xsearch *how, struct xverdict *v)
{
	xsearch_run(w, how, v);
	xworld_destroy(w);
}

/* ---- counts ---- */

/* Threads that all add to one word: every interleaving is another. */
static struct fake adders(u32 threads, u32 steps)
{
	struct fake f = { 0 };

	for (u32 t = 0; t < threads; t++)
		for (u32 i = 0; i < steps; i++)
			put(&f, t, FAKE_ADD, 0, 1);
	return f;
}

static u64 count(const struct fake *f, u32 bound, bool reduce)
{
	struct xsearch how = { .max_bound = bound, .workers = 1, .reduce = reduce };
	struct search s = { .world = world_of(f), .how = &how, .bound = bound };

	s.shared = reduce ? shared_map(0) : NULL;
	do {
		s.schedules = 0;
		if (reduce)
			shared_round(s.shared);
		assert_int_equal(search_systematic(&s), SEARCH_DONE);
	} while (reduce && shared_changed(s.shared));
	if (reduce)
		shared_unmap(s.shared);
	xworld_destroy(s.world);
	free(s.choices.value);
	return s.schedules;
}

static void test_interleavings(void **state)
{
	struct fake two = adders(2, 3), three = adders(3, 2), apart = { 0 };

	(void)state;
	/* 6! / (3! 3!), 6! / (2! 2! 2!): all, reduced or not, as all steps conflict. */
	assert_int_equal(count(&two, XBOUND_NONE, false), 20);
	assert_int_equal(count(&two, XBOUND_NONE, true), 20);
	assert_int_equal(count(&three, XBOUND_NONE, false), 90);
	assert_int_equal(count(&three, XBOUND_NONE, true), 90);
	for (u32 i = 0; i < 3; i++) {
		put(&apart, 0, FAKE_ADD, 0, 1);
		put(&apart, 1, FAKE_ADD, 1, 1);
	}
	assert_int_equal(count(&apart, XBOUND_NONE, false), 20);
	assert_int_equal(count(&apart, XBOUND_NONE, true), 1);
}

/*
 * Two threads of n steps. With at most k preemptions: 0: who goes first; 1: and where
 * the first is interrupted (n - 1 places), after which the second runs to its end.
 * 2: then the second is interrupted, too.
 */
static void test_bounds(void **state)
{
	struct fake f = adders(2, 4);

	(void)state;
	assert_int_equal(count(&f, 0, false), 2);
	assert_int_equal(count(&f, 1, false), 2 + 2 * 3);
	assert_int_equal(count(&f, 2, false), 2 + 2 * 3 + 2 * 3 * 3);
	for (u32 bound = 0; bound < 3; bound++)
		assert_int_equal(count(&f, bound, true), count(&f, bound, false));
	/* 8! / (4! 4!) in all; 6 preemptions are the most there can be. */
	assert_int_equal(count(&f, 6, false), 70);
	assert_int_equal(count(&f, XBOUND_NONE, false), 70);
}

/* Waiting for others is no preemption; waiting for one's own stores is. */
static void test_free_switches(void **state)
{
	struct fake f = { .drains = true };

	(void)state;
	put(&f, 0, FAKE_STORE, 0, 1);
	put(&f, 0, FAKE_FENCE, 0, 0);
	put(&f, 0, FAKE_ADD, 1, 1);
	put(&f, 1, FAKE_ADD, 1, 1);
	/* T0 S, D, F, A and T1 A. T1 first, or last: 2. In between it preempts: 3. */
	assert_int_equal(count(&f, 0, false), 2);
	assert_int_equal(count(&f, 1, false), 5);
}

static void test_choose(void **state)
{
	struct fake f = { 0 };

	(void)state;
	put(&f, 0, FAKE_CHOOSE, 3, 0);
	put(&f, 0, FAKE_CHOOSE, 4, 0);
	put(&f, 1, FAKE_CHOOSE, 2, 0);
	/* All values; and at the start no CPU runs, so that either may be first. */
	assert_int_equal(count(&f, 0, true), 24 * 2);
	assert_int_equal(count(&f, XBOUND_NONE, true), 24);
	assert_int_equal(count(&f, XBOUND_NONE, false), 24 * 3);
}

/* ---- finding ---- */

/*
 * Lost update, with k operations in the way before and after. Needs one preemption,
 * between a load and its put.
 */
static struct fake lost_update(u32 padding)
{
	struct fake f = { 0 };

	for (u32 t = 0; t < 2; t++) {
		for (u32 i = 0; i < padding; i++)
			put(&f, t, FAKE_ADD, (u8)(1 + t), 1);
		put(&f, t, FAKE_LOAD, 0, 0);
		put(&f, t, FAKE_PUT, 0, 1);
		put(&f, t, FAKE_ADD, 3, 1);
		for (u32 i = 0; i < padding; i++)
			put(&f, t, FAKE_ADD, (u8)(1 + t), 1);
	}
	put(&f, 2, FAKE_WAIT, 3, 0);
	put(&f, 2, FAKE_WAIT, 3, 1);
	put(&f, 2, FAKE_LOAD, 0, 0);
	put(&f, 2, FAKE_FAIL, 1, 0);
	return f;
}

static void test_systematic_finds(void **state)
{
	struct fake f = lost_update(4);
	struct xsearch how = { .max_bound = 2, .workers = 1, .reduce = true };
	struct xverdict v;

	(void)state;
	search(world_of(&f), &how, &v);
	assert_true(v.found);
	assert_false(v.complete);
	assert_int_equal(v.result.rule, XRULE_ASSERT);
	assert_int_equal(v.bound, 1);
	xverdict_free(&v);
}

static void test_complete(void **state)
{
	struct fake f = adders(2, 4);
	struct xsearch how = { .max_bound = 2, .workers = 1 };
	struct xverdict v;

	(void)state;
	search(world_of(&f), &how, &v);
	assert_false(v.found);
	assert_true(v.complete);
	assert_int_equal(v.bound, 2);
	assert_int_equal(v.schedules, 2 + 8 + 26);
	xverdict_free(&v);

	/* One short of it is not complete; complete to the bound before. */
	how.max_schedules = 2 + 8 + 25;
	search(world_of(&f), &how, &v);
	assert_false(v.found);
	assert_false(v.complete);
	assert_int_equal(v.bound, 1);
	xverdict_free(&v);
}

static int stopped;

static void test_stop(void **state)
{
	struct fake f = adders(3, 8);
	struct xsearch how = { .max_bound = 9, .workers = 1, .stop = &stopped };
	struct xverdict v;

	(void)state;
	stopped = 1;
	search(world_of(&f), &how, &v);
	assert_false(v.complete);
	assert_int_equal(v.schedules, 0);
	xverdict_free(&v);
	how.stop = NULL;
	how.budget_s = 0.05;
	search(world_of(&f), &how, &v);
	assert_false(v.complete);
	assert_true(v.seconds >= 0.05 && v.seconds < 5);
	xverdict_free(&v);
}

/*
 * PCT promises 1 / (n k^(d-1)) per execution for depth d: with n = 3 and
 * k = 42 the miss of a depth-2 bug in 25 n k executions has a probability of e^-25.
 */
static void test_pct(void **state)
{
	struct fake f = lost_update(8);
	struct xsearch how = { .strategy = XSTRATEGY_PCT, .max_bound = 1, .workers = 1,
			       .max_schedules = 25 * 3 * 42 };
	struct xverdict v;

	(void)state;
	for (how.seed = 1; how.seed <= 5; how.seed++) {
		search(world_of(&f), &how, &v);
		assert_true(v.found);
		assert_int_equal(v.result.rule, XRULE_ASSERT);
		xverdict_free(&v);
	}
	/* Depth 1 is too little: without a change of priority nothing is lost. */
	how.max_bound = 0;
	search(world_of(&f), &how, &v);
	assert_false(v.found);
	assert_false(v.complete);
	xverdict_free(&v);
}

static void test_random(void **state)
{
	struct fake f = lost_update(2);
	struct xsearch how = { .strategy = XSTRATEGY_RANDOM, .workers = 1,
			       .max_schedules = 10000, .seed = 7 };
	struct xverdict v, again;

	(void)state;
	search(world_of(&f), &how, &v);
	search(world_of(&f), &how, &again);
	assert_true(v.found && again.found);
	assert_int_equal(v.choices.n, again.choices.n);
	assert_memory_equal(v.choices.value, again.choices.value, v.choices.n * 2);
	xverdict_free(&v);
	xverdict_free(&again);
}

/* ---- replay and minimising ---- */

static void test_replay(void **state)
{
	struct fake f = lost_update(4), other = adders(3, 4);
	struct xsearch how = { .max_bound = 2, .workers = 1, .reduce = true };
	struct xworld *w = world_of(&f), *o = world_of(&other);
	struct xevent events[100];
	u32 n = 100, first;
	struct xresult result;
	struct xverdict v;

	(void)state;
	xsearch_run(w, &how, &v);
	assert_true(v.found);
	for (u32 i = 0; i < 100; i++) {
		n = 100;
		assert_true(xsearch_replay(w, &v, &result, events, &n));
		assert_int_equal(result.outcome, XOUT_VIOLATION);
		assert_int_equal(result.rule, v.result.rule);
		assert_int_equal(result.state_hash, v.result.state_hash);
		if (!i)
			first = n;
		assert_int_equal(n, first);
		assert_int_equal(n, result.steps);
	}
	/* Another program asks other questions, or more, or fewer. */
	assert_false(xsearch_replay(o, &v, &result, NULL, NULL));
	v.choices.n--;
	assert_false(xsearch_replay(w, &v, &result, NULL, NULL));
	v.choices.n++;
	choices_add(&v.choices, 0);
	assert_false(xsearch_replay(w, &v, &result, NULL, NULL));
	xverdict_free(&v);
	xworld_destroy(w);
	xworld_destroy(o);
}

static u32 ops_left(const struct fake *f, const struct xverdict *v)
{
	u32 left = 0;

	for (u32 t = 0; t < f->nr_threads; t++)
		left += f->thread[t].n - (u32)__builtin_popcountll(v->dropped[t]);
	return left;
}

/* load, put, add of both threads, and the four of the observer, are needed. */
static void test_minimise(void **state)
{
	struct fake f = lost_update(5);
	struct xsearch how[] = {
		{ .max_bound = 2, .workers = 1, .reduce = true },
		{ .strategy = XSTRATEGY_RANDOM, .workers = 1, .max_schedules = 100000 },
		{ .strategy = XSTRATEGY_PCT, .workers = 1, .max_schedules = 100000,
		  .max_bound = 4 },
	};

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct xworld *w = world_of(&f);
		struct xresult result;
		struct xverdict v;
		u32 switches = 0;

		xsearch_run(w, &how[i], &v);
		assert_true(v.found);
		xsearch_minimise(w, &v);
		assert_int_equal(v.result.rule, XRULE_ASSERT);
		assert_true(xsearch_replay(w, &v, &result, NULL, NULL));
		assert_int_equal(result.rule, XRULE_ASSERT);
		/* Without one of the updates it would fail however they run. */
		assert_true(ops_left(&f, &v) <= 10);
		for (u32 k = 1; k < v.choices.n; k++)
			switches += v.choices.value[k] != v.choices.value[k - 1];
		assert_true(switches <= 2);
		xverdict_free(&v);
		xworld_destroy(w);
	}
}

/* Few lines, narrow, and the rule at the end. */
static void test_story(void **state)
{
	struct fake f = lost_update(5);
	struct xsearch how = { .max_bound = 2, .workers = 1, .reduce = true };
	struct xworld *w = world_of(&f);
	struct xverdict v;

	(void)state;
	xsearch_run(w, &how, &v);
	for (u32 max = 1; max <= 25; max++) {
		char *lines[25];
		u32 n = xstory(w, &v, lines, max);

		assert_in_range(n, 1, max);
		if (n > 1) {
			assert_non_null(strstr(lines[n - 2], "ASSERT"));
			assert_non_null(strstr(lines[n - 1], "FAIL"));
		}
		for (u32 i = 0; i < n; i++) {
			assert_true(strlen(lines[i]) < 100);
			free(lines[i]);
		}
	}
	/* No violation, no story. */
	v.found = false;
	assert_int_equal(xstory(w, &v, NULL, 25), 0);
	xverdict_free(&v);
	xworld_destroy(w);
}

/* ---- workers ---- */

#define SEEN_MAX 65536

struct seen {
	_Atomic u64 state[SEEN_MAX];
	_Atomic u64 executions;
};

static void see(void *arg, u64 state)
{
	struct seen *seen = arg;
	u32 at = (u32)(state * 0x9e3779b97f4a7c15ULL >> 48);
	u64 old = 0;

	atomic_fetch_add(&seen->executions, 1);
	while (!atomic_compare_exchange_strong(&seen->state[at], &old, state) && old != state) {
		at = (at + 1) % SEEN_MAX;
		old = 0;
	}
}

static u32 nr_seen(const struct seen *seen, u64 *sum)
{
	u32 n = 0;

	*sum = 0;
	for (u32 i = 0; i < SEEN_MAX; i++) {
		n += seen->state[i] != 0;
		*sum += seen->state[i];
	}
	return n;
}

static struct seen *seen_new(void)
{
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(seen != MAP_FAILED);
	return seen;
}

/* All of it, once, however many there are. */
static void test_workers_complete(void **state)
{
	struct fake f = { .drains = true };
	u64 sum[5], executions[5];
	u32 n[5];

	(void)state;
	for (u32 t = 0; t < 3; t++) {
		put(&f, t, FAKE_STORE, (u8)t, 1);
		put(&f, t, FAKE_LOAD, (u8)((t + 1) % 3), 0);
		put(&f, t, FAKE_CHOOSE, 2, 0);
		put(&f, t, FAKE_ADD, 3, 1);
		put(&f, t, FAKE_STORE, (u8)((t + 1) % 3), 2);
	}
	for (u32 workers = 1; workers <= 4; workers++) {
		for (u32 reduce = 1; reduce < 2; reduce++) {
			struct seen *seen = seen_new();
			struct xsearch how = { .max_bound = XBOUND_NONE, .workers = workers,
					       .reduce = true, .terminal = see,
					       .terminal_arg = seen };
			struct xverdict v;

			search(world_of(&f), &how, &v);
			assert_true(v.complete);
			n[workers] = nr_seen(seen, &sum[workers]);
			executions[workers] = seen->executions;
			assert_int_equal(v.schedules, seen->executions);
			munmap(seen, sizeof(*seen));
			xverdict_free(&v);
		}
		assert_int_equal(n[workers], n[1]);
		assert_int_equal(sum[workers], sum[1]);
		/* Sleep sets depend a little on who goes first; no more than that. */
		assert_true(executions[workers] < executions[1] * 5 / 4);
	}
}

/* Without reduction the number of executions is exact, whoever runs them. */
static void test_workers_exact(void **state)
{
	struct fake f = adders(3, 4);

	(void)state;
	for (u32 workers = 1; workers <= 4; workers++) {
		struct xsearch how = { .max_bound = XBOUND_NONE, .workers = workers };
		struct xverdict v;

		search(world_of(&f), &how, &v);
		assert_true(v.complete);
		assert_int_equal(v.schedules, 34650);	/* 12! / (4! 4! 4!) */
		xverdict_free(&v);
	}
}

static void test_workers_find(void **state)
{
	struct fake f = lost_update(6);
	struct xsearch how = { .max_bound = 2, .reduce = true };

	(void)state;
	for (how.workers = 1; how.workers <= 3; how.workers++) {
		struct xworld *w = world_of(&f);
		struct xresult result;
		struct xverdict v;

		xsearch_run(w, &how, &v);
		assert_true(v.found);
		assert_int_equal(v.bound, 1);
		assert_int_equal(v.result.rule, XRULE_ASSERT);
		assert_true(xsearch_replay(w, &v, &result, NULL, NULL));
		assert_int_equal(result.rule, XRULE_ASSERT);
		xverdict_free(&v);
		xworld_destroy(w);
	}
}

/* The same violation with any number of workers. */
static void test_workers_seeds(void **state)
{
	struct fake f = lost_update(2);
	struct xsearch how = { .strategy = XSTRATEGY_RANDOM, .max_schedules = 100000 };

	(void)state;
	for (how.seed = 1; how.seed < 8; how.seed++) {
		struct xverdict v[3];

		for (u32 i = 0; i < 3; i++) {
			how.workers = i + 1;
			search(world_of(&f), &how, &v[i]);
			assert_true(v[i].found);
			assert_int_equal(v[i].choices.n, v[0].choices.n);
			assert_memory_equal(v[i].choices.value, v[0].choices.value,
					    v[0].choices.n * 2);
		}
		for (u32 i = 0; i < 3; i++)
			xverdict_free(&v[i]);
	}
}

static void test_workers_budget(void **state)
{
	struct fake f = adders(4, 8);
	struct xsearch how = { .max_bound = XBOUND_NONE, .workers = 2, .budget_s = 0.2 };
	struct xverdict v;

	(void)state;
	search(world_of(&f), &how, &v);
	assert_false(v.found);
	assert_false(v.complete);
	assert_true(v.schedules > 0 && v.seconds < 5);
	xverdict_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interleavings),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_free_switches),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_systematic_finds),
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_pct),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_minimise),
		cmocka_unit_test(test_story),
		cmocka_unit_test(test_workers_complete),
		cmocka_unit_test(test_workers_exact),
		cmocka_unit_test(test_workers_find),
		cmocka_unit_test(test_workers_seeds),
		cmocka_unit_test(test_workers_budget),
	};

	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
