/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broadcast queue: processor sharing against a reference that hands out each
 * picosecond, and what TLBIs and fences cost a CPU.
 */
#include "tcore.h"

#define MAX_REQ 8
/* Divisible by 1 ... 8: one picosecond of the server in whole shares. */
#define SHARES 840

struct ref {
	bool active;
	u64 left;		/* 1/SHARES ps */
	u64 min_done, done;
};

static u32 ref_step(struct ref *ref, u32 n)
{
	u32 active = 0;

	for (u32 i = 0; i < n; i++)
		active += ref[i].active;
	for (u32 i = 0; i < n; i++)
		if (ref[i].active)
			ref[i].left -= ref[i].left < SHARES / active ?
					       ref[i].left : SHARES / active;
	return active;
}

/* One random run; CPU i has a new request some time after its last one. */
static void compare(u64 seed)
{
	struct ref ref[MAX_REQ] = { 0 };
	u64 rng = seed, next[MAX_REQ], served = 0;
	u32 n = 1 + random_below(&rng, MAX_REQ);
	u64 gap = 1 + random_below(&rng, 600), size = 1 + random_below(&rng, 200);
	struct fabric f;

	fabric_init(&f, n);
	for (u32 i = 0; i < n; i++)
		next[i] = random_below(&rng, gap);
	for (u64 now = 0; now < 4000; now++) {
		u64 done, expect = 0, got = 0;
		u32 cpu;

		/* Departures first. */
		for (u32 i = 0; i < n; i++)
			if (ref[i].active && !ref[i].left) {
				ref[i].active = false;
				expect |= 1u << i;
				next[i] = now + random_below(&rng, gap);
			}
		assert_true(fabric_next(&f) >= now);
		assert_int_equal(fabric_next(&f) == now, expect != 0);
		if (expect)
			while (fabric_take(&f, now, &cpu, &done)) {
				got |= 1u << cpu;
				assert_int_equal(done, ref[cpu].min_done > now ?
						 ref[cpu].min_done : now);
				served++;
			}
		assert_int_equal(got, expect);
		for (u32 i = 0; i < n; i++)
			if (!ref[i].active && next[i] == now) {
				u64 service = 1 + random_below(&rng, size);

				ref[i].active = true;
				ref[i].left = service * SHARES;
				ref[i].min_done = now + random_below(&rng, 50);
				fabric_add(&f, now, i, service, ref[i].min_done);
			}
		ref_step(ref, n);
	}
	assert_true(served > 4);
	fabric_destroy(&f);
}

static void test_reference(void **state)
{
	(void)state;
	for (u64 seed = 0; seed < 400; seed++)
		compare(seed);
}

struct state {
	u64 took[8], at[8];
	u32 n;
};

static u64 flush(u32 pages)
{
	u64 start = machine_now();

	mach_fence(MACH_DSB_ISHST);
	for (u32 i = 0; i < pages; i++)
		mach_arm64_tlbi(VALE1IS, 1ULL << 48 | i);
	mach_fence(MACH_DSB_ISH);
	return machine_now() - start;
}

static void alone(void *arg)
{
	struct state *s = arg;

	machine_window_open();
	s->took[0] = flush(0);
	s->took[1] = flush(1);
	s->took[2] = flush(10);
	machine_window_close();
}

static void test_alone(void **state)
{
	struct machine_desc *desc = tdesc(2);
	struct machine *m = tmachine(desc, 1);
	const struct machine_stats *st = machine_stats(m);
	struct state s = { 0 };

	(void)state;
	assert_int_equal(machine_run(m, alone, &s, NULL), 0);
	assert_int_equal(s.took[0], (20 + 100) * NS);
	assert_int_equal(s.took[1], (20 + 5 + 300 + 100) * NS);
	assert_int_equal(s.took[2], (20 + 10 * 5 + 10 * 300 + 100) * NS);
	assert_int_equal(st->insn[MACH_ARM64_TLBI_VALE1IS], 11);
	assert_int_equal(st->fence[MACH_DSB_ISH], 3);
	/* The first flush had no TLBI: its DSB ISHST is none of a flush. */
	assert_int_equal(st->fence[MACH_DSB_ISHST], 2);
	assert_int_equal(st->dsb_ishst_all, 3);
	assert_int_equal(st->account_ps[MACH_ACCT_INVALIDATE_ISSUE], 55 * NS);
	assert_int_equal(st->account_ps[MACH_ACCT_INVALIDATE_WAIT],
			 (3 * 120 + 11 * 300) * NS);
	machine_destroy(m);
	tdesc_free(desc);
}

static void flusher(void *arg)
{
	struct state *s = arg;
	u32 me = mach_env()->cpu;

	mach_env()->ops->user_run(100 * US - machine_now());
	s->took[me] = flush(100);
}

static void together(void *arg)
{
	for (u32 i = 1; i < 4; i++)
		tspawn(flusher, arg, i);
	flusher(arg);
}

/* Four at a time take four times as long, all of them. */
static void test_together(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(4, together, &s);
	for (u32 i = 0; i < 4; i++)
		assert_in_range(s.took[i], (620 + 4 * 100 * 300) * NS - 100,
				(620 + 4 * 100 * 300) * NS + 100);
}

static void hit_me(void *info)
{
	struct state *s = info;

	s->at[1] = machine_now();
}

static void interrupt_dsb(void *arg)
{
	struct state *s = arg;
	u64 mask[MASK_WORDS] = { 1 };

	mach_env()->ops->user_run(110 * US - machine_now());
	mach_ipi(mask, hit_me, s, true);
}

static void dsb_main(void *arg)
{
	struct state *s = arg;

	tspawn(interrupt_dsb, s, 1);
	mach_env()->ops->user_run(100 * US - machine_now());
	s->took[0] = flush(100);
	mach_store(&s->n, 1, MACH_RELAXED);
	s->at[0] = machine_now();
}

/* A CPU in a DSB takes interrupts when its request is complete. */
static void test_interrupt(void **state)
{
	u64 served = 100 * US + (20 + 500 + 100 * 300) * NS;
	struct state s = { 0 };

	(void)state;
	trun(2, dsb_main, &s);
	assert_int_equal(s.at[1], served + 400 * NS);
	assert_int_equal(s.at[0], served + (400 + 100 + 1) * NS);
}

static void local(void *arg)
{
	struct state *s = arg;
	u64 start = machine_now();

	mach_fence(MACH_DSB_NSHST);
	mach_arm64_tlbi(VMALLE1, 0);
	mach_fence(MACH_DSB_NSH);
	mach_fence(MACH_ISB);
	s->took[0] = machine_now() - start;
}

static void test_local(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(2, local, &s);
	assert_int_equal(s.took[0], (30 + 10 + 30 + 10) * NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_local),
	};

	return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
