/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads: block and wake, tokens, placement, pinning, preemption. */
#include "tcore.h"

struct state {
	u32 ready;
	u64 a, b, c, d;
	u32 tid, n;
	u32 cpus[16];
	bool flag;
};

static void sleeper(void *arg)
{
	struct state *s = arg;

	s->tid = mach_env()->tid;
	mach_store(&s->ready, 1, MACH_RELEASE);
	while (!mach_load(&s->n, MACH_ACQUIRE))
		mach_block();
	s->b = machine_now();
}

/* A wake-up of a thread on an idle CPU costs what the description says. */
static void wake_sleeper(void *arg)
{
	struct state *s = arg;

	tspawn(sleeper, s, 1);
	mach_env()->ops->user_run(100 * US);
	mach_store(&s->n, 1, MACH_RELEASE);
	s->a = machine_now();
	mach_wake(s->tid);
}

static void test_block_wake(void **state)
{
	struct state s = { 0 };
	u64 least;

	(void)state;
	trun(2, wake_sleeper, &s);
	/* wake 1500, latency 2300, context switch 200, in 1400, load. */
	least = s.a + (1500 + 2300 + 200 + 1400) * NS;
	assert_in_range(s.b, least, least + 100 * NS);
}

static void token_main(void *arg)
{
	struct state *s = arg;

	mach_wake(mach_env()->tid);
	mach_wake(mach_env()->tid);
	s->a = machine_now();
	mach_block();	/* returns at once */
	s->b = machine_now();
	s->flag = true;
	mach_block();	/* tokens do not add up: deadlock */
	s->n = 1;
}

static void test_token(void **state)
{
	struct machine_desc *desc = tdesc(2);
	struct machine *m = tmachine(desc, 1);
	struct state s = { 0 };

	(void)state;
	assert_int_equal(machine_run(m, token_main, &s, NULL), -EDEADLK);
	assert_true(s.flag);
	assert_int_equal(s.a, s.b);
	assert_int_equal(s.n, 0);
	assert_non_null(strstr(machine_message(m), "thread 1 (CPU 0) asleep at "));
	assert_non_null(strstr(machine_message(m), "token_main"));
	machine_destroy(m);
	tdesc_free(desc);
}

static void going(void *arg)
{
	struct state *s = arg;

	s->tid = mach_env()->tid;
	mach_env()->ops->user_run(100 * US - machine_now());
	s->a = machine_now();
	mach_block();
	s->b = machine_now();
}

static void wake_going(void *arg)
{
	struct state *s = arg;

	tspawn(going, s, 1);
	/* In the middle of the 1.7 us that going to sleep takes. */
	mach_env()->ops->user_run(100 * US + 500 * NS - machine_now());
	s->c = machine_now();
	mach_wake(s->tid);
}

static void test_wake_while_going(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(2, wake_going, &s);
	assert_int_equal(s.a, 100 * US);
	assert_int_equal(s.c, 100 * US + 500 * NS);
	assert_int_equal(s.b, s.c);
}

static void note_cpu(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(50 * US);
	s->cpus[mach_rmw(&s->n, MACH_ADD, 1, 0, MACH_FULL)] = mach_env()->cpu;
}

static void spread_main(void *arg)
{
	for (int i = 0; i < 3; i++)
		tspawn(note_cpu, arg, -1);
}

/* Idle CPUs first, those of the same node before others. */
static void test_placement(void **state)
{
	struct state s = { 0 };
	u32 seen = 0;

	(void)state;
	trun(8, spread_main, &s);
	assert_int_equal(s.n, 3);
	for (int i = 0; i < 3; i++)
		seen |= 1u << s.cpus[i];
	assert_int_equal(seen, 0xe);
}

static void pinned_main(void *arg)
{
	for (int i = 0; i < 4; i++)
		tspawn(note_cpu, arg, 5);
}

static void test_pinning(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(8, pinned_main, &s);
	assert_int_equal(s.n, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s.cpus[i], 5);
}

static void hog(void *arg)
{
	struct state *s = arg;
	u64 start = machine_now();

	mach_env()->ops->user_run(20000 * US);
	if (!s->a)
		s->a = machine_now() - start;
	else
		s->b = machine_now() - start;
}

static void hogs_main(void *arg)
{
	struct state *s = arg;

	tspawn(hog, s, 1);
	tspawn(hog, s, 1);
	machine_window_open();
	mach_env()->ops->user_run(50000 * US);
	machine_window_close();
}

/* Two who compute on one CPU take turns, so both end near the end. */
static void test_preemption(void **state)
{
	struct machine_desc *desc = tdesc(2);
	struct machine *m = tmachine(desc, 1);
	struct state s = { 0 };

	(void)state;
	assert_int_equal(machine_run(m, hogs_main, &s, NULL), 0);
	assert_in_range(s.a, 36000 * US, 41000 * US);
	assert_in_range(s.b, 36000 * US, 41000 * US);
	/* 40 ms in slices of 3 to 4 ms. */
	assert_in_range(machine_stats(m)->switches, 9, 16);
	assert_true(machine_stats(m)->account_ps[MACH_ACCT_IPI_HANDLER] > 0);
	machine_destroy(m);
	tdesc_free(desc);
}

static void pull_main(void *arg)
{
	struct state *s = arg;

	/* All CPUs are taken; two more wait in some queue. */
	for (int i = 0; i < 6; i++)
		tspawn(note_cpu, s, -1);
	mach_env()->ops->user_run(500 * US);
	s->a = s->n;
}

/* A CPU that has nothing left to do takes over who waits elsewhere. */
static void test_pull(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(4, pull_main, &s);
	assert_int_equal(s.a, 6);
}

static void never_ends(void *arg)
{
	struct machine *m = arg;

	machine_window_open();
	mach_env()->ops->user_run(10 * US);
	machine_stop(m);
	for (;;)
		mach_env()->ops->user_run(10 * US);
}

static void runs_long(void *arg)
{
	(void)arg;
	machine_window_open();
	for (;;)
		mach_env()->ops->user_run(10 * US);
}

static void test_stop_and_limit(void **state)
{
	struct machine_desc *desc = tdesc(2);
	struct machine *m = tmachine(desc, 1);

	(void)state;
	assert_int_equal(machine_run(m, never_ends, m, NULL), -EINTR);
	machine_destroy(m);
	m = tmachine(desc, 1);
	machine_set_time_limit(m, 1000 * US);
	assert_int_equal(machine_run(m, runs_long, NULL, NULL), -ETIME);
	assert_in_range(machine_stats(m)->window_ps, 900 * US, 1000 * US);
	machine_destroy(m);
	tdesc_free(desc);
}

static void test_core_stats(void **state)
{
	struct machine_desc *desc = tdesc(2);
	struct machine *m = tmachine(desc, 1);
	struct core_stat stat = { 0 };

	(void)state;
	assert_int_equal(machine_core_stats(m, &stat, 1), 1);
	assert_string_equal(stat.name, "test.cpu");
	assert_int_equal(machine_core_stats(m, &stat, 0), 1);
	machine_destroy(m);
	tdesc_free(desc);
}

/* ---- migrate_thread ---- */

static void settled(void *arg)
{
	struct state *s = arg;

	s->tid = mach_env()->cpu;
	mach_env()->ops->user_run(500 * US);
	s->n = mach_env()->cpu;
}

static void mover(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(100 * US);
	s->cpus[0] = mach_env()->cpu;
	mach_migrate_thread((u32)s->a);
	mach_env()->ops->user_run(100 * US);
	s->cpus[1] = mach_env()->cpu;
}

/* cpus[0] and [1]: where the mover was and came to; tid and n: the same of who was there. */
static void start_both(void *arg)
{
	struct state *s = arg;

	s->tid = s->n = 99;
	if (s->c)
		tspawn(settled, s, s->flag ? (s32)s->a : -1);
	tspawn(mover, s, s->d ? 1 : -1);
}

static void migrate(struct state *s)
{
	trun(4, start_both, s);
}

static void test_migrate_idle(void **state)
{
	struct state s = { .a = 3 };

	(void)state;
	migrate(&s);
	assert_int_not_equal(s.cpus[0], 3);
	assert_int_equal(s.cpus[1], 3);
}

/* To where one may not run, or is: nothing happens. */
static void test_migrate_refused(void **state)
{
	struct state pinned = { .a = 3, .d = 1 }, here = { .a = 1, .d = 1 };

	(void)state;
	migrate(&pinned);
	assert_int_equal(pinned.cpus[0], 1);
	assert_int_equal(pinned.cpus[1], 1);
	migrate(&here);
	assert_int_equal(here.cpus[1], 1);
}

/* Who runs there comes here in exchange, or, pinned, keeps both where they are. */
static void test_migrate_swap(void **state)
{
	struct state first = { .c = 1, .a = 3 }, pinned = { .c = 1, .a = 3, .flag = true };
	struct state s = { .c = 1 };

	(void)state;
	migrate(&first);
	s.a = first.tid;
	migrate(&s);
	assert_int_equal(s.tid, s.a);
	assert_int_equal(s.cpus[1], s.a);
	assert_int_equal(s.n, s.cpus[0]);
	migrate(&pinned);
	assert_int_equal(pinned.tid, 3);
	assert_int_equal(pinned.n, 3);
	assert_int_equal(pinned.cpus[1], pinned.cpus[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_wake),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_wake_while_going),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_pinning),
		cmocka_unit_test(test_preemption),
		cmocka_unit_test(test_pull),
		cmocka_unit_test(test_stop_and_limit),
		cmocka_unit_test(test_core_stats),
		cmocka_unit_test(test_migrate_idle),
		cmocka_unit_test(test_migrate_refused),
		cmocka_unit_test(test_migrate_swap),
	};

	return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
