/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queue of the clock, the accounts, the window. */
#include "tcore.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS 200

/* Against a plain array: pushes, moves and removals in random order. */
static void test_heap(void **state)
{
	u64 time[EVENTS], order[EVENTS], rng = 1, seq = 0, t;
	bool in[EVENTS] = { false };
	struct clock k;

	(void)state;
	clock_init(&k, EVENTS);
	for (u32 step = 0; step < 100000; step++) {
		u32 e = random_below(&rng, EVENTS), best = EVENTS;

		switch (random_below(&rng, 4)) {
		case 0:
		case 1:
			time[e] = random_below(&rng, 1000);
			order[e] = seq++;
			if (in[e])
				clock_set(&k, e, time[e]);
			else
				clock_push(&k, e, time[e]);
			in[e] = true;
			break;
		case 2:
			if (in[e])
				clock_remove(&k, e);
			in[e] = false;
			break;
		case 3:
			for (u32 i = 0; i < EVENTS; i++)
				if (in[i] && (best == EVENTS ||
				    time[i] < time[best] ||
				    (time[i] == time[best] &&
				     order[i] < order[best])))
					best = i;
			assert_int_equal(k.min_time, best == EVENTS ? NEVER :
								      time[best]);
			if (best == EVENTS)
				break;
			assert_int_equal(clock_pop(&k, &t), best);
			assert_int_equal(t, time[best]);
			in[best] = false;
			break;
		}
		assert_int_equal(clock_queued(&k, e), in[e]);
	}
	clock_destroy(&k);
}

/* Who acts on something shared does so in the order of time. */
struct acts {
	u64 when[4000];
	u32 n;
	u32 word[4];
};

static void act(void *arg)
{
	struct acts *acts = arg;
	u64 rng = mach_env()->cpu;

	for (u32 i = 0; i < 500; i++) {
		u32 w = random_below(&rng, 4);

		mach_env()->ops->user_run(random_below(&rng, 3000) * NS);
		mach_charge(FAULT_PATH, 1 + random_below(&rng, 3));
		(void)mach_rmw(&acts->word[w], MACH_ADD, 1, 0, MACH_FULL);
		/* Taken before the cost of the atomic itself. */
		acts->when[acts->n++] = mach_env()->machine->now;
	}
}

static void act_all(void *arg)
{
	for (u32 i = 1; i < 8; i++)
		tspawn(act, arg, i);
	act(arg);
}

static void test_order(void **state)
{
	struct acts *acts = calloc(1, sizeof(*acts));

	(void)state;
	trun(8, act_all, acts);
	assert_int_equal(acts->n, 4000);
	for (u32 i = 1; i < acts->n; i++)
		assert_true(acts->when[i] >= acts->when[i - 1]);
	assert_int_equal(acts->word[0] + acts->word[1] + acts->word[2] +
			 acts->word[3], 4000);
	free(acts);
}

static void uncharged(void *arg)
{
	u32 word = 0;

	(void)arg;
	machine_test_uncharged(1);
	mach_store(&word, 1, MACH_RELAXED);
	mach_env()->ops->user_run(US);
	mach_block();
}

/* A picosecond that nobody was charged for stops everything, with status 3. */
static void test_uncharged(void **state)
{
	char text[300] = "";
	int status, fd[2];
	ssize_t n;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		dup2(fd[1], 2);
		trun(2, uncharged, NULL);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_non_null(strstr(text, "accounts of a CPU differ from its clock"));
	close(fd[0]);
}

static void busy(void *arg)
{
	struct acts *acts = arg;

	for (u32 i = 0; i < 200; i++) {
		mach_env()->ops->user_run(700 * NS);
		mach_context(MACH_CTX_SYSCALL);
		mach_charge(FAULT_PATH, 1 + i % 5);
		(void)mach_rmw(&acts->word[0], MACH_ADD, 1, 0, MACH_FULL);
		mach_context(MACH_CTX_USER);
	}
}

static void window_main(void *arg)
{
	for (u32 i = 1; i < 6; i++)
		tspawn(busy, arg, i);
	mach_env()->ops->user_run(77777);
	machine_window_open();
	mach_env()->ops->user_run(100 * US + 1);
	machine_window_close();
	mach_env()->ops->user_run(50 * US);
	machine_window_close();	/* no effect */
}

/* The accounts of all CPUs sum to the window, whatever it cuts. */
static void test_window(void **state)
{
	struct machine_desc *desc = tdesc(8);
	struct acts *acts = calloc(1, sizeof(*acts));
	const struct machine_stats *s;
	struct machine *m;
	u64 sum = 0;

	(void)state;
	for (u32 seed = 0; seed < 20; seed++) {
		desc->jitter_pct = 30;
		m = tmachine(desc, seed);
		assert_int_equal(machine_run(m, window_main, acts, NULL), 0);
		s = machine_stats(m);
		sum = 0;
		for (u32 a = 0; a < MACH_NR_ACCOUNTS; a++)
			sum += s->account_ps[a];
		assert_int_equal(s->window_ps, 100 * US + 1);
		assert_int_equal(sum, 8 * s->window_ps);
		/* CPUs 6 and 7 never did anything. */
		assert_true(s->account_ps[MACH_ACCT_IDLE] >= 2 * s->window_ps);
		assert_true(s->account_ps[MACH_ACCT_SYSCALL] > 0);
		assert_true(s->account_ps[MACH_ACCT_USER] > s->window_ps);
		machine_destroy(m);
	}
	free(acts);
	tdesc_free(desc);
}

static void jittered(void *arg)
{
	u64 *ps = arg;

	for (u32 i = 0; i < 1000; i++) {
		u64 start = machine_now();

		mach_charge(FAULT_PATH, 1);
		ps[i] = machine_now() - start;
	}
}

static void test_jitter(void **state)
{
	struct machine_desc *desc = tdesc(2);
	struct machine *m;
	u64 ps[1000], sum = 0;

	(void)state;
	desc->jitter_pct = 30;
	m = tmachine(desc, 5);
	assert_int_equal(machine_run(m, jittered, ps, NULL), 0);
	for (u32 i = 0; i < 1000; i++) {
		assert_in_range(ps[i], 700 * NS, 1300 * NS);
		sum += ps[i];
	}
	assert_in_range(sum, 980 * US, 1020 * US);
	machine_destroy(m);
	tdesc_free(desc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_uncharged),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_jitter),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
