/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spinlocks, cache lines and waiting for words: order, exclusion, time. */
#include "tcore.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 8

struct state {
	struct mach_lock lock;
	u64 word, word2;
	u32 inside, bad, n;
	u32 order[64];
	u64 when[64];
	u64 a, b, c;
	int ret;
};

static void queue_up(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run((100 + 5 * mach_env()->cpu) * US - machine_now());
	mach_spin_lock(&s->lock);
	s->order[s->n] = mach_env()->cpu;
	s->when[s->n++] = machine_now();
	mach_charge(FAULT_PATH, 50);
	mach_spin_unlock(&s->lock);
}

static void queue_main(void *arg)
{
	/* Created in another order than they will ask in. */
	for (u32 i = N; i-- > 1;)
		tspawn(queue_up, arg, i);
	queue_up(arg);
}

/* First come, first served; a hand-off costs a transfer and a bit. */
static void test_fifo(void **state)
{
	struct machine_desc *desc = tdesc(N);
	struct state s = { 0 };
	struct machine *m;

	(void)state;
	for (u32 i = 0; i < N; i++)
		desc->place[i].package = 0;
	m = tmachine(desc, 3);
	assert_int_equal(machine_run(m, queue_main, &s, NULL), 0);
	assert_int_equal(s.n, N);
	for (u32 i = 0; i < N; i++)
		assert_int_equal(s.order[i], i);
	for (u32 i = 1; i < N; i++)
		/* held 50 us, unlock 1 ns, line 60 ns, hand-off 10 ns */
		assert_int_equal(s.when[i] - s.when[i - 1], 50 * US + 71 * NS);
	machine_destroy(m);
	tdesc_free(desc);
}

static void exclude(void *arg)
{
	struct state *s = arg;
	u64 rng = mach_env()->cpu;

	for (u32 i = 0; i < 300; i++) {
		mach_env()->ops->user_run(random_below(&rng, 2000) * NS);
		if (random_below(&rng, 4) == 0) {
			if (!mach_spin_trylock(&s->lock))
				continue;
		} else {
			mach_spin_lock(&s->lock);
		}
		if (s->inside++)
			s->bad++;
		/* Other CPUs run while this one is inside. */
		(void)mach_rmw(&s->word, MACH_ADD, 1, 0, MACH_FULL);
		mach_charge(FAULT_PATH, random_below(&rng, 2));
		(void)mach_rmw(&s->word2, MACH_ADD, 1, 0, MACH_FULL);
		/* The times of holding must not overlap either. */
		if (machine_now() < s->a)
			s->bad++;
		s->inside--;
		mach_spin_unlock(&s->lock);
		s->a = machine_now();
		s->n++;
	}
}

static void exclude_main(void *arg)
{
	for (u32 i = 1; i < N; i++)
		tspawn(exclude, arg, i);
	exclude(arg);
}

static void test_exclusion(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(N, exclude_main, &s);
	assert_int_equal(s.bad, 0);
	assert_int_equal(s.word, s.n);
	assert_true(s.n > 200 * N);
}

static void recursion(void *arg)
{
	struct state *s = arg;

	mach_spin_lock(&s->lock);
	mach_spin_lock(&s->lock);
}

static void wrong_owner(void *arg)
{
	struct state *s = arg;

	mach_spin_unlock(&s->lock);
}

static int exit_status(void (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fclose(stderr);
		trun(2, fn, arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_misuse(void **state)
{
	struct state s = { 0 };

	(void)state;
	assert_int_equal(exit_status(recursion, &s), 3);
	assert_int_equal(exit_status(wrong_owner, &s), 3);
}

static void writer(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(50 * US - machine_now());
	mach_store(&s->word, 1, MACH_RELEASE);
	s->a = machine_now();
}

static void waiter(void *arg)
{
	struct state *s = arg;
	struct mach_watch watch[] = {
		{ &s->word2, 8, 0 }, { &s->word, 8, 0 },
	};

	mach_load(&s->word, MACH_RELAXED);
	tspawn(writer, s, 1);
	s->ret = mach_wait_change(watch, 2);
	s->b = machine_now();
	/* The line came with the wake-up: no second transfer. */
	mach_load(&s->word, MACH_RELAXED);
	s->c = machine_now();
}

static void test_wait_change(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(2, waiter, &s);
	assert_int_equal(s.ret, 1);
	/* One transfer, then two loads to see which word it was. */
	assert_int_equal(s.b - s.a, (60 + 2) * NS);
	assert_int_equal(s.c - s.b, 1 * NS);
}

static void owner(void *arg)
{
	struct state *s = arg;

	(void)mach_rmw(&s->word, MACH_ADD, 1, 0, MACH_FULL);
}

static void lines(void *arg)
{
	struct state *s = arg;
	u64 t;

	tspawn(owner, s, 1);
	mach_env()->ops->user_run(50 * US);
	t = machine_now();
	mach_load(&s->word, MACH_RELAXED);	/* transfer */
	s->when[0] = machine_now() - t;
	t = machine_now();
	mach_load(&s->word, MACH_RELAXED);	/* hit */
	s->when[1] = machine_now() - t;
	t = machine_now();
	(void)mach_rmw(&s->word, MACH_ADD, 1, 0, MACH_FULL); /* transfer */
	s->when[2] = machine_now() - t;
	t = machine_now();
	(void)mach_rmw(&s->word, MACH_ADD, 1, 0, MACH_FULL); /* ours */
	s->when[3] = machine_now() - t;
	t = machine_now();
	mach_store(&s->word, 9, MACH_RELAXED);	/* ours */
	s->when[4] = machine_now() - t;
}

static void test_lines(void **state)
{
	static const u64 ns[] = { 61, 1, 60, 8, 1 };
	struct state s = { 0 };

	(void)state;
	trun(2, lines, &s);
	for (u32 i = 0; i < 5; i++)
		assert_int_equal(s.when[i], ns[i] * NS);
	assert_int_equal(s.word, 9);
}

static void rmws(void *arg)
{
	struct state *s = arg;
	u32 w = 5;
	u64 v = 1ULL << 40 | 7;

	s->when[0] = mach_rmw(&w, MACH_XCHG, 6, 0, MACH_FULL);
	s->when[1] = mach_rmw(&w, MACH_CMPXCHG, 8, 7, MACH_FULL);
	s->when[2] = mach_rmw(&w, MACH_CMPXCHG, 8, 6, MACH_FULL);
	s->when[3] = mach_rmw(&w, MACH_ADD, -9, 0, MACH_FULL);
	s->when[4] = w;
	s->when[5] = mach_rmw(&w, MACH_ADD_UNLESS, 1, (u32)-1, MACH_FULL);
	s->when[6] = w;
	s->when[7] = mach_rmw(&v, MACH_AND, ~7ULL, 0, MACH_FULL);
	s->when[8] = mach_rmw(&v, MACH_OR, 3, 0, MACH_FULL);
	s->when[9] = v;
}

static void test_rmw(void **state)
{
	static const u64 want[] = {
		5, 6, 6, 8, 0xffffffff, 0xffffffff, 0xffffffff,
		1ULL << 40 | 7, 1ULL << 40, 1ULL << 40 | 3,
	};
	struct state s = { 0 };

	(void)state;
	trun(2, rmws, &s);
	for (u32 i = 0; i < 10; i++)
		assert_int_equal(s.when[i], want[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_wait_change),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_rmw),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
