/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User mode: accesses and faults through the MMU, chases, spinning. The page
 * tables are written by hand: arm64, 4K pages, 48 bits of address.
 */
#include "tcore.h"

#define VA 0x200000000000ULL
#define PAGES 32
#define DESC_TABLE 3ULL
#define DESC_PAGE (3ULL | 1ULL << 6 | 1ULL << 10 | 1ULL << 11) /* EL0, AF, nG */

struct state {
	u64 root;
	u64 *leaf;		/* 512 entries that map VA onwards */
	u32 next[PAGES];
	u32 stop, turn;
	struct mach_chase chase;
	u64 a, b, c, took[8];
	u32 faults, flags;
	u64 fault_va;
	int ret;
	bool map;		/* the fault handler maps the page */
};

static struct state *test_state;

static u64 *table(u64 *pa)
{
	*pa = mach_alloc_frames(0, 0, MACH_GFP_ZERO | MACH_GFP_TABLE) << 12;
	return (u64 *)(mach_env()->phys_base + *pa);
}

static void make_tables(struct state *s, bool mapped)
{
	u64 *t = table(&s->root), pa;

	for (u32 level = 0; level < 3; level++) {
		u64 *next = table(&pa);

		mach_store(&t[VA >> (39 - 9 * level) & 511], pa | DESC_TABLE,
			   MACH_RELAXED);
		t = next;
	}
	s->leaf = t;
	for (u32 i = 0; mapped && i < PAGES; i++)
		mach_store(&t[i], mach_alloc_frames(0, 0, 0) << 12 | DESC_PAGE,
			   MACH_RELAXED);
	for (u32 i = 0; i < PAGES; i++)
		s->next[i] = (i + 7) % PAGES;
	s->chase = (struct mach_chase){
		.va = VA, .next = s->next, .nr_pages = PAGES, .page_shift = 12,
		.stop = &s->stop,
	};
}

static void use_tables(struct state *s)
{
	mach_arm64_write_ttbr0(1ULL << 48 | s->root);
}

static int fault(u64 va, u32 flags)
{
	struct state *s = test_state;

	s->faults++;
	s->flags = flags;
	s->fault_va = va;
	mach_charge(FAULT_PATH, 1);
	if (!s->map)
		return MACH_SIGSEGV;
	mach_store(&s->leaf[(va - VA) >> 12],
		   mach_alloc_frames(0, 0, 0) << 12 | DESC_PAGE, MACH_RELAXED);
	return MACH_SIGNAL_NONE;
}

static void run(u32 n, void (*fn)(void *arg), struct state *s,
		struct machine_stats *stats)
{
	struct machine_desc *desc = tdesc(n);
	struct machine *m;

	desc->hw_cost[HW_MEM_LOCAL].ps = 400 * NS;
	desc->hw_cost[HW_MEM_REMOTE].ps = 640 * NS;
	desc->hw_cost[HW_MEM_NODE].ps = 200 * NS;
	desc->hw_cost[HW_MEM_LINK].ps = 300 * NS;
	m = tmachine(desc, 1);
	test_state = s;
	tcore_fault = fault;
	if (machine_run(m, fn, s, NULL))
		fail_msg("%s", machine_message(m));
	*stats = *machine_stats(m);
	tcore_fault = NULL;
	machine_destroy(m);
	tdesc_free(desc);
}

static void accesses(void *arg)
{
	struct state *s = arg;
	u64 val = 7;

	make_tables(s, true);
	use_tables(s);
	machine_window_open();
	for (u32 i = 0; i < 3; i++) {
		u64 start = machine_now();

		s->ret |= mach_env()->ops->user_access(VA + 8 + (i / 2) * 4096,
						       false, &val);
		s->took[i] = machine_now() - start;
	}
	s->a = val;
	machine_window_close();
}

static void test_access(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(2, accesses, &s, &st);
	assert_int_equal(s.ret, 0);
	assert_int_equal(s.a, 0);
	/* A walk of 4 levels, a hit, a walk whose tables are cached. */
	assert_int_equal(s.took[0], (2 + 10 + 4 * 5) * NS);
	assert_int_equal(s.took[1], 2 * NS);
	assert_int_equal(s.took[2], (2 + 10 + 5) * NS);
	assert_int_equal(st.account_ps[MACH_ACCT_USER], 6 * NS);
	assert_int_equal(st.account_ps[MACH_ACCT_WALK], 45 * NS);
	assert_int_equal(st.tlb_hit, 1);
	assert_int_equal(st.tlb_miss, 2);
}

static void faults(void *arg)
{
	struct state *s = arg;
	u64 val;

	make_tables(s, false);
	use_tables(s);
	machine_window_open();
	s->ret = mach_env()->ops->user_access(VA + 4096, true, &val);
	s->map = true;
	s->a = mach_env()->ops->user_access(VA + 4096, false, &val);
	machine_window_close();
}

static void test_fault(void **state)
{
	struct state s = { .a = 99 };
	struct machine_stats st;

	(void)state;
	run(2, faults, &s, &st);
	assert_int_equal(s.ret, MACH_SIGSEGV);
	assert_int_equal(s.a, 0);
	assert_int_equal(s.faults, 2);
	assert_int_equal(s.fault_va, VA + 4096);
	assert_int_equal(s.flags, MACH_FAULT_USER);
	assert_int_equal(st.page_fault, 2);
	/* Two handlers and the store of the entry. */
	assert_int_equal(st.account_ps[MACH_ACCT_FAULT], 2001 * NS);
}

static void stopper(void *arg)
{
	struct state *s = arg;

	mach_env()->ops->user_run(s->b - machine_now());
	mach_store(&s->stop, 1, MACH_RELAXED);
	s->a = machine_now();
}

static void chaser(void *arg)
{
	struct state *s = arg;

	make_tables(s, true);
	use_tables(s);
	s->b = 5000 * US;
	tspawn(stopper, s, 1);
	machine_window_open();
	s->c = machine_now();
	s->ret = mach_env()->ops->user_chase(&s->chase);
	s->b = machine_now();
	machine_window_close();
}

static void test_chase(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(2, chaser, &s, &st);
	assert_int_equal(s.ret, 0);
	/* It sees the store one transfer later. */
	assert_int_equal(s.a, 5000 * US + 1 * NS);
	assert_in_range(s.b, s.a + 60 * NS, s.a + 63 * NS);
	/* 2 ns each, but for 32 walks and a look at *stop now and then. */
	assert_in_range(s.chase.loads, (s.b - s.c) / (2 * NS) - 1500,
			(s.b - s.c) / (2 * NS));
	assert_int_equal(st.tlb_miss, PAGES);
	assert_int_equal(st.account_ps[MACH_ACCT_WALK],
			 (PAGES * 15 + 3 * 5) * NS);
}

static void chase_faults(void *arg)
{
	struct state *s = arg;

	make_tables(s, false);
	use_tables(s);
	s->map = true;
	s->chase.max_loads = 1000;
	machine_window_open();
	s->c = machine_now();
	s->ret = mach_env()->ops->user_chase(&s->chase);
	s->b = machine_now();
	machine_window_close();
}

/* Each page faults once; each is noticed within a microsecond. */
static void test_chase_faults(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(2, chase_faults, &s, &st);
	assert_int_equal(s.ret, 0);
	assert_int_equal(s.faults, PAGES);
	assert_int_equal(st.page_fault, PAGES);
	assert_int_equal(s.chase.loads, 1000);
	assert_in_range(s.b - s.c, PAGES * 1000 * NS + 2000 * NS,
			PAGES * 2200 * NS + 10000 * NS);
}

static void shooter(void *arg)
{
	struct state *s = arg;

	use_tables(s);
	for (u32 i = 0; i < 100; i++) {
		mach_env()->ops->user_run(10 * US);
		mach_arm64_tlbi(ASIDE1IS, 1ULL << 48);
		mach_fence(MACH_DSB_ISH);
	}
	mach_store(&s->stop, 1, MACH_RELAXED);
}

static void shot(void *arg)
{
	struct state *s = arg;

	make_tables(s, true);
	use_tables(s);
	tspawn(shooter, s, 1);
	machine_window_open();
	s->ret = mach_env()->ops->user_chase(&s->chase);
	machine_window_close();
}

/* Every flush of the address space costs the chaser its whole set. */
static void test_chase_flushed(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(2, shot, &s, &st);
	assert_in_range(st.tlb_miss, 100 * PAGES, 101 * PAGES);
	assert_int_equal(st.insn[MACH_ARM64_TLBI_ASIDE1IS], 100);
}

static void takes_turns(void *arg)
{
	struct state *s = arg;
	u32 me = mach_env()->cpu;

	for (u32 i = 0; i < 50; i++) {
		for (;;) {
			u32 turn = mach_load(&s->turn, MACH_ACQUIRE);
			struct mach_watch w = { &s->turn, 4, turn };

			if (turn % 4 == me)
				break;
			mach_env()->ops->user_wait_change(&w, 1);
		}
		mach_env()->ops->user_run(US);
		mach_store(&s->turn, s->turn + 1, MACH_RELEASE);
	}
}

static void turns(void *arg)
{
	for (u32 i = 1; i < 4; i++)
		tspawn(takes_turns, arg, i);
	takes_turns(arg);
}

static void test_turns(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(4, turns, &s, &st);
	assert_int_equal(s.turn, 200);
}

/* ---- sweeps ---- */

static int sweep(bool write)
{
	return mach_env()->ops->user_sweep(VA, PAGES * 4096, write);
}

/* The pages on a node; then sweeps by this CPU, which is of node 0. */
static void sweep_node(struct state *s, u32 node, u64 *took)
{
	u64 start;

	for (u32 i = 0; i < PAGES; i++)
		mach_store(&s->leaf[i], mach_alloc_frames(0, node, 0) << 12 | DESC_PAGE,
			   MACH_RELAXED);
	mach_arm64_tlbi(VMALLE1IS, 0);
	mach_fence(MACH_DSB_ISH);
	start = machine_now();
	s->ret |= sweep(true);
	*took = machine_now() - start;
}

static void sweeps(void *arg)
{
	struct state *s = arg;

	make_tables(s, false);
	use_tables(s);
	machine_window_open();
	sweep_node(s, 0, &s->took[0]);
	sweep_node(s, 1, &s->took[1]);
	machine_window_close();
}

/* By where the memory is; and translated, each page at most once. */
static void test_sweep(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(4, sweeps, &s, &st);
	assert_int_equal(s.ret, 0);
	assert_int_equal(s.faults, 0);
	/* And the stores of the entries, 1 ns each. */
	assert_int_equal(st.account_ps[MACH_ACCT_USER], PAGES * (400 + 640 + 1 + 1) * NS);
	assert_in_range(s.took[0], PAGES * 400 * NS, PAGES * (400 + 30) * NS);
	assert_in_range(s.took[1], PAGES * 640 * NS, PAGES * (640 + 30) * NS);
}

static void sweep_faults(void *arg)
{
	struct state *s = arg;

	make_tables(s, false);
	use_tables(s);
	s->ret = sweep(true);
	s->map = true;
	s->a = (u64)sweep(true);
}

/* A page that is not there: a fault each, as a write; or the end. */
static void test_sweep_faults(void **state)
{
	struct state s = { .a = 99 };
	struct machine_stats st;

	(void)state;
	run(2, sweep_faults, &s, &st);
	assert_int_equal(s.ret, MACH_SIGSEGV);
	assert_int_equal(s.a, 0);
	assert_int_equal(s.faults, 1 + PAGES);
	assert_int_equal(s.fault_va, VA + (PAGES - 1) * 4096);
	assert_int_equal(s.flags, MACH_FAULT_USER | MACH_FAULT_WRITE);
}

static void sweep_often(void *arg)
{
	struct state *s = arg;
	u32 cpu = mach_env()->cpu;
	u64 start = machine_now();

	use_tables(s);
	for (u32 i = 0; i < 20; i++)
		(void)sweep(false);
	s->took[cpu] = machine_now() - start;
}

static void sweep_together(void *arg)
{
	struct state *s = arg;

	make_tables(s, true);
	for (u32 i = 1; i < 4; i++)
		tspawn(sweep_often, s, (s32)i);
	sweep_often(s);
}

/* Four CPUs of one node want its memory: it serves a page in 200 ns, and not in 100. */
static void test_sweep_shares(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	run(8, sweep_together, &s, &st);
	for (u32 i = 0; i < 4; i++)
		assert_in_range(s.took[i], 20 * PAGES * 600 * NS, 20 * PAGES * 830 * NS);
}

static void count_tick(u64 now_ms, u64 ran_ms)
{
	test_state->a++;
	test_state->b += ran_ms;
	test_state->c = now_ms;
}

static void sweep_ticks(void *arg)
{
	struct state *s = arg;

	make_tables(s, true);
	use_tables(s);
	/* Computing is run time as well, of which the first sweep tells, at once. */
	mach_env()->ops->user_run(2000 * US);
	for (u32 i = 0; i < 400; i++)
		(void)sweep(false);
	s->took[0] = machine_now();
}

/* The core is told of the time that the thread ran, in whole ticks, and none twice. */
static void test_sweep_ticks(void **state)
{
	struct state s = { 0 };
	struct machine_stats st;

	(void)state;
	tcore_tick = count_tick;
	run(2, sweep_ticks, &s, &st);
	tcore_tick = NULL;
	assert_int_equal(s.b, 2 + 400 * PAGES * 400 / 1000000);
	assert_int_equal(s.a, s.b - 1);
	assert_in_range(s.c, s.b, s.took[0] / (1000 * US));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_chase),
		cmocka_unit_test(test_chase_faults),
		cmocka_unit_test(test_chase_flushed),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_sweep_faults),
		cmocka_unit_test(test_sweep_shares),
		cmocka_unit_test(test_sweep_ticks),
	};

	return cmocka_run_group_tests_name("user", tests, NULL, NULL);
}
