/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same seed gives the same figures to the picosecond, whatever the host did
 * in between; another seed gives others. Many CPUs work.
 */
#include "tcore.h"

/* Of run(7), by gcc, clang, and on aarch64. A change of the model changes them. */
#define GOLDEN_END 758488479ULL
#define GOLDEN_HASH 0xfe8c2b2c578f54c5ULL

struct state {
	struct mach_lock lock;
	u64 word[4];
	u32 done, cpus;
	u64 end;
	struct rcu_head head[64];
};

static void nothing(void *info)
{
	(void)info;
	mach_charge(FAULT_PATH, 1);
}

static void rcu_nothing(struct rcu_head *head)
{
	(void)head;
	mach_charge(FAULT_PATH, 1);
}

/* A little of everything. */
static void mix(void *arg)
{
	struct state *s = arg;
	u64 mask[MASK_WORDS] = { 0 };

	for (u32 i = 0; i < 60; i++) {
		u64 draw = machine_random();

		mach_env()->ops->user_run(draw % 5000 * NS);
		mach_context(MACH_CTX_SYSCALL);
		mach_charge(FAULT_PATH, 1 + draw % 3);
		mach_spin_lock(&s->lock);
		mach_charge(USER_LOOP, 1);
		mach_spin_unlock(&s->lock);
		(void)mach_rmw(&s->word[draw % 4], MACH_ADD, 1, 0, MACH_FULL);
		if (draw % 7 == 0) {
			memset(mask, 0, sizeof(mask));
			mask[0] = draw >> 32 & ((1ULL << (s->cpus - 1)) - 1);
			mach_ipi(mask, nothing, NULL, true);
		}
		if (draw % 5 == 0) {
			mach_arm64_tlbi(VALE1IS, draw & 0xffff);
			mach_fence(MACH_DSB_ISH);
		}
		mach_context(MACH_CTX_USER);
	}
	if (mach_env()->tid < 64)
		mach_call_rcu(&s->head[mach_env()->tid], rcu_nothing);
	(void)mach_rmw(&s->done, MACH_ADD, 1, 0, MACH_FULL);
	mach_wake(1);
}

static void mix_main(void *arg)
{
	struct state *s = arg;

	machine_window_open();
	/* More threads than CPUs. */
	for (u32 i = 0; i < s->cpus * 3 / 2; i++)
		tspawn(mix, s, -1);
	while (mach_load(&s->done, MACH_RELAXED) < s->cpus * 3 / 2)
		mach_block();
	machine_window_close();
	s->end = machine_now();
}

static void run(u64 seed, struct machine_stats *stats, u64 *end)
{
	struct machine_desc *desc = tdesc(16);
	struct machine *m;
	struct state s = { .cpus = 16 };

	desc->jitter_pct = 30;
	desc->tick_us = 20;
	desc->timeslice_us = 30;
	m = tmachine(desc, seed);
	if (machine_run(m, mix_main, &s, NULL))
		fail_msg("%s", machine_message(m));
	*stats = *machine_stats(m);
	*end = s.end;
	machine_destroy(m);
	tdesc_free(desc);
}

static void test_seeds(void **state)
{
	struct machine_stats a, b, c;
	u64 end_a, end_b, end_c;
	void *noise;

	(void)state;
	run(7, &a, &end_a);
	noise = malloc(123457);	/* other addresses */
	run(7, &b, &end_b);
	run(8, &c, &end_c);
	free(noise);
	assert_int_equal(end_a, end_b);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(end_a != end_c);
	assert_true(a.account_ps[MACH_ACCT_ATOMIC] !=
		    c.account_ps[MACH_ACCT_ATOMIC]);
	/* It was a mix indeed. */
	assert_true(a.switches > 40 && a.ipi > 50 && a.wakes > 20);
	for (u32 i = 0; i < MACH_NR_ACCOUNTS; i++) {
		if (i == MACH_ACCT_WALK || i == MACH_ACCT_FAULT ||
		    i == MACH_ACCT_ZERO || i == MACH_ACCT_COPY)
			continue;
		if (!a.account_ps[i])
			fail_msg("nothing in account %s", machine_account_name(i));
	}
}

/* Figures that gcc, clang and an aarch64 build must all print. */
static void test_golden(void **state)
{
	struct machine_stats s;
	u64 end, hash = 0xcbf29ce484222325ULL;

	(void)state;
	run(7, &s, &end);
	for (u32 i = 0; i < MACH_NR_ACCOUNTS; i++)
		hash = (hash ^ s.account_ps[i]) * 0x100000001b3ULL;
	print_message("end %llu ps, digest %016llx\n", (unsigned long long)end,
		      (unsigned long long)hash);
	assert_int_equal(end, GOLDEN_END);
	assert_int_equal(hash, GOLDEN_HASH);
}

static void beat(void *arg)
{
	struct state *s = arg;

	for (u32 i = 0; i < 5; i++) {
		mach_env()->ops->user_run(3 * US);
		(void)mach_rmw(&s->word[0], MACH_ADD, 1, 0, MACH_FULL);
	}
}

static void beat_main(void *arg)
{
	for (u32 i = 1; i < 1024; i++)
		tspawn(beat, arg, i);
	beat(arg);
}

static void test_1024(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(1024, beat_main, &s);
	assert_int_equal(s.word[0], 5 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_1024),
	};

	return cmocka_run_group_tests_name("determinism", tests, NULL, NULL);
}
