/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts: when they are delivered, into what, and what that costs. RCU. */
#include "tcore.h"

struct state {
	u64 sent, handled, end, back;
	u32 cpu, n, tid;
	bool irqs, off;
	u64 each[64];
	struct mach_lock lock;
	struct rcu_head head;
	u32 word;
};

static void note(void *info)
{
	struct state *s = info;

	s->handled = machine_now();
	s->cpu = mach_env()->cpu;
	s->irqs = this_cpu()->irqs_on;
	s->n++;
	mach_charge(FAULT_PATH, 2);
}

static void send_to(u32 cpu, struct state *s, bool wait)
{
	u64 mask[MASK_WORDS] = { 0 };

	mask_set(mask, cpu);
	s->sent = machine_now();
	mach_ipi(mask, note, s, wait);
	s->back = machine_now();
}

/* A stretch of kernel work of 10 us, on CPU 1, that begins at 100 us. */
static void kernel_stretch(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(100 * US - machine_now());
	mach_context(MACH_CTX_SYSCALL);
	if (s->off) {
		bool on = mach_irq_save();

		mach_charge(FAULT_PATH, 10);
		mach_irq_restore(on);
	} else {
		mach_charge(FAULT_PATH, 10);
	}
	mach_store(&s->word, 1, MACH_RELAXED);
	s->end = machine_now();
	mach_context(MACH_CTX_USER);
}

static void stretch_main(void *arg)
{
	struct state *s = arg;

	tspawn(kernel_stretch, s, 1);
	mach_env()->ops->user_run(104 * US - machine_now());
	send_to(1, s, true);
}

/* Sent at 104 us; 300 + 100 ns to send, 700 ns on the way. */
static void test_in_stretch(void **state)
{
	struct state s = { 0 };
	u64 arrival = 104 * US + 1100 * NS, handler = (400 + 2000) * NS;

	(void)state;
	trun(2, stretch_main, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.cpu, 1);
	assert_false(s.irqs);
	assert_int_equal(s.sent, 104 * US);
	assert_int_equal(s.handled, arrival + 400 * NS);
	/* The rest of the stretch comes after the handler. */
	assert_int_equal(s.end, 110 * US + handler + 1 * NS);
	/* The sender sees the acknowledgement one transfer later. */
	assert_int_equal(s.back, arrival + handler + 60 * NS);
}

static void test_irqs_off(void **state)
{
	struct state s = { .off = true };

	(void)state;
	trun(2, stretch_main, &s);
	/* At the moment of irq_restore(), 110 us, not before. */
	assert_int_equal(s.handled, 110 * US + 400 * NS);
	assert_int_equal(s.end, 110 * US + 2401 * NS);
	assert_int_equal(s.back, 110 * US + 2460 * NS);
}

static void to_idle_main(void *arg)
{
	mach_env()->ops->user_run(100 * US - machine_now());
	send_to(1, arg, true);
}

static void test_to_idle(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(2, to_idle_main, &s);
	assert_int_equal(s.cpu, 1);
	assert_int_equal(s.handled, 100 * US + (400 + 700 + 500 + 400) * NS);
}

/* Two CPUs that flush at each other, as two munmaps do. */
static void storm(void *arg)
{
	struct state *s = arg;
	u32 me = mach_env()->cpu;
	u64 mask[MASK_WORDS] = { 0 };

	for (u32 i = 0; i < 4; i++)
		if (i != me)
			mask_set(mask, i);
	for (u32 i = 0; i < 100; i++) {
		mach_env()->ops->user_run(((me * 7 + i * 3) % 5) * US);
		mach_ipi(mask, note, s, true);
		s->each[me]++;
	}
}

static void storm_main(void *arg)
{
	for (u32 i = 1; i < 4; i++)
		tspawn(storm, arg, i);
	machine_window_open();
	storm(arg);
	mach_env()->ops->user_run(10000 * US);
	machine_window_close();
}

static void test_storm(void **state)
{
	struct machine_desc *desc = tdesc(4);
	struct machine *m = tmachine(desc, 1);
	const struct machine_stats *st = machine_stats(m);
	struct state s = { 0 };

	(void)state;
	assert_int_equal(machine_run(m, storm_main, &s, NULL), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(s.each[i], 100);
	assert_int_equal(s.n, 4 * 3 * 100);
	assert_int_equal(st->ipi, 4 * 3 * 100);
	/* Every handler was charged for, and nothing else to that account. */
	assert_int_equal(st->account_ps[MACH_ACCT_IPI_HANDLER],
			 1200 * (400 + 2000) * NS);
	assert_int_equal(st->account_ps[MACH_ACCT_IPI_SEND],
			 400 * (300 + 3 * 100) * NS);
	machine_destroy(m);
	tdesc_free(desc);
}

static void spin_holder(void *arg)
{
	struct state *s = arg;

	mach_spin_lock(&s->lock);
	mach_charge(FAULT_PATH, 200);
	mach_spin_unlock(&s->lock);
	s->each[0] = machine_now();
}

static void spin_waiter(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(50 * US - machine_now());
	mach_spin_lock(&s->lock);
	s->end = machine_now();
	mach_spin_unlock(&s->lock);
}

static void spin_main(void *arg)
{
	struct state *s = arg;

	tspawn(spin_holder, s, 1);
	tspawn(spin_waiter, s, 2);
	mach_env()->ops->user_run(100 * US - machine_now());
	send_to(2, s, true);
}

/* Who spins for a lock with interrupts on takes them, and loses no time by it. */
static void test_while_spinning(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(3, spin_main, &s);
	assert_int_equal(s.handled, 100 * US + (400 + 700 + 400) * NS);
	assert_true(s.back < s.each[0]);
	/* A transfer and a hand-off after the release it is ours. */
	assert_int_equal(s.end, s.each[0] + (60 + 10) * NS);
}

static void flood_target(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(1000 * US);
	s->end = machine_now();
}

static void flood_sender(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(100 * US - machine_now());
	for (u32 i = 0; i < 20; i++)
		send_to(0, s, false);
}

static void flood_main(void *arg)
{
	struct state *s = arg;
	u64 start;

	tspawn(flood_sender, s, 1);
	tspawn(flood_sender, s, 2);
	start = machine_now();
	flood_target(s);
	s->end -= start;
}

/* User code that is interrupted 40 times takes longer by just that. */
static void test_flood(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(3, flood_main, &s);
	assert_int_equal(s.n, 40);
	assert_int_equal(s.end, 1000 * US + 40 * 2400 * NS);
}

/* ---- RCU ---- */

static void freed(struct rcu_head *head)
{
	struct state *s = (struct state *)((char *)head -
					   offsetof(struct state, head));

	s->handled = machine_now();
	s->cpu = mach_env()->cpu;
	s->n++;
}

static void reader(void *arg)
{
	struct state *s = arg;

	mach_rcu_read_lock();
	mach_store(&s->word, 1, MACH_RELEASE);
	mach_charge(FAULT_PATH, 300);
	(void)mach_rmw(&s->lock.id, MACH_ADD, 0, 0, MACH_FULL);
	s->end = machine_now();
	mach_rcu_read_unlock();
}

static void rcu_main(void *arg)
{
	struct state *s = arg;

	if (s->off)
		tspawn(reader, s, 1);
	mach_env()->ops->user_run(20 * US);
	s->sent = machine_now();
	mach_call_rcu(&s->head, freed);
	mach_env()->ops->user_run(1000 * US);
}

static void test_rcu(void **state)
{
	struct state s = { 0 }, r = { .off = true };

	(void)state;
	trun(2, rcu_main, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.cpu, 0);
	/* A grace period takes 50 us when nobody reads. */
	assert_int_equal(s.handled, s.sent + 50 * US + 400 * NS);
	/* A reader that was there when it began makes it longer. */
	trun(2, rcu_main, &r);
	assert_int_equal(r.n, 1);
	assert_true(r.word == 1 && r.end > r.sent + 200 * US);
	assert_true(r.handled >= r.end);
}

static void rcu_last(void *arg)
{
	struct state *s = arg;

	mach_call_rcu(&s->head, freed);
}

/* The run is not over while callbacks wait. */
static void test_rcu_drains(void **state)
{
	struct state s = { 0 };

	(void)state;
	trun(2, rcu_last, &s);
	assert_int_equal(s.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_stretch),
		cmocka_unit_test(test_irqs_off),
		cmocka_unit_test(test_to_idle),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_while_spinning),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_rcu),
		cmocka_unit_test(test_rcu_drains),
	};

	return cmocka_run_group_tests_name("ipi", tests, NULL, NULL);
}
