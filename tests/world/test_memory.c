/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Litmus shapes on plain memory: what each architecture allows, and no more. */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define X mach_load(shape_x, MACH_RELAXED)
#define Y mach_load(shape_y, MACH_RELAXED)
#define SET_X(n) mach_store(shape_x, (n), MACH_RELAXED)
#define SET_Y(n) mach_store(shape_y, (n), MACH_RELAXED)
#define MB mach_fence(MACH_SMP_MB)
#define RMB mach_fence(MACH_SMP_RMB)
#define WMB mach_fence(MACH_SMP_WMB)

static const enum xarch archs[] = { XARCH_X86, XARCH_ARM64, XARCH_POWERPC };

/* Is out among the outcomes of the two threads on arch? */
static bool can(enum xarch arch, bool in_order, void (*t0)(void), void (*t1)(void), u32 out)
{
	struct shape s = { .arch = arch, .in_order = in_order, .thread = { t0, t1 } };
	struct seen seen;

	shape_run(&s, &seen);
	assert_int_equal(seen.rule, XRULE_NONE);
	assert_true(seen.n > 0);
	return shape_saw(&seen, out);
}

/* x86 | weak << 1 | weak with stores in order << 2 */
static void check(void (*t0)(void), void (*t1)(void), u32 out, u32 allowed)
{
	assert_int_equal(can(XARCH_X86, false, t0, t1, out), allowed & 1);
	for (u32 i = 1; i < 3; i++) {
		assert_int_equal(can(archs[i], false, t0, t1, out), allowed >> 1 & 1);
		assert_int_equal(can(archs[i], true, t0, t1, out), allowed >> 2 & 1);
	}
}

#define NOWHERE	0
#define WEAK	6
#define ALL	7
#define OVERTAKING 2

static void sb0(void) { SET_X(1); v->r[0] = Y; }
static void sb1(void) { SET_Y(1); v->r[1] = X; }
static void sb0_mb(void) { SET_X(1); MB; v->r[0] = Y; }
static void sb1_mb(void) { SET_Y(1); MB; v->r[1] = X; }
static void sb0_xchg(void) { mach_rmw(shape_x, MACH_XCHG, 1, 0, MACH_FULL); v->r[0] = Y; }
static void sb1_xchg(void) { mach_rmw(shape_y, MACH_XCHG, 1, 0, MACH_FULL); v->r[1] = X; }
/* Unlocking is no fence, and neither lock is the other's. */
static void sb0_lock(void)
{
	mach_spin_lock(&v->a);
	SET_X(1);
	mach_spin_unlock(&v->a);
	v->r[0] = Y;
}
static void sb1_lock(void)
{
	mach_spin_lock(&v->b);
	SET_Y(1);
	mach_spin_unlock(&v->b);
	v->r[1] = X;
}

static void test_store_buffering(void **state)
{
	(void)state;
	check(sb0, sb1, 0, ALL);
	check(sb0, sb1, 11, ALL);
	check(sb0_mb, sb1, 0, ALL);
	check(sb0_mb, sb1_mb, 0, NOWHERE);
	check(sb0_xchg, sb1_xchg, 0, NOWHERE);
	check(sb0_lock, sb1_lock, 0, ALL);
}

static void mp0(void) { SET_X(1); SET_Y(1); }
static void mp0_wmb(void) { SET_X(1); WMB; SET_Y(1); }
static void mp0_release(void) { SET_X(1); mach_store(shape_y, 1, MACH_RELEASE); }
static void mp1(void) { v->r[0] = Y; v->r[1] = X; }
static void mp1_rmb(void) { v->r[0] = Y; RMB; v->r[1] = X; }
static void mp1_acquire(void) { v->r[0] = mach_load(shape_y, MACH_ACQUIRE); v->r[1] = X; }

static void test_message_passing(void **state)
{
	(void)state;
	check(mp0, mp1, 1, WEAK);
	check(mp0_wmb, mp1, 1, WEAK);
	/* With the loads in order, only stores that overtake can do it. */
	check(mp0, mp1_rmb, 1, OVERTAKING);
	check(mp0_wmb, mp1_rmb, 1, NOWHERE);
	check(mp0_wmb, mp1_rmb, 11, ALL);
	check(mp0_release, mp1_acquire, 1, NOWHERE);
	check(mp0_release, mp1, 1, WEAK);
}

/* The second load's address comes from the first: ordered without a fence. */
static void dep0(void)
{
	SET_X(1);
	WMB;
	mach_store(shape_y, (u64)(uintptr_t)shape_x, MACH_RELAXED);
}
static void dep1(void)
{
	u64 *p = (u64 *)(uintptr_t)Y;

	v->r[0] = !!p;
	if (p)
		v->r[1] = mach_load(p, MACH_RELAXED);
}

static void test_address_dependency(void **state)
{
	(void)state;
	check(dep0, dep1, 1, NOWHERE);
	check(dep0, dep1, 11, ALL);
}

static void lb0(void) { v->r[0] = Y; SET_X(1); }
static void lb1(void) { v->r[1] = X; SET_Y(1); }

static void test_load_buffering(void **state)
{
	(void)state;
	check(lb0, lb1, 11, NOWHERE);
	check(lb0, lb1, 1, ALL);
}

static void ww0(void) { SET_X(1); SET_Y(2); }
static void ww1(void) { SET_Y(1); SET_X(2); }
static void ww0_wmb(void) { SET_X(1); WMB; SET_Y(2); }
static void ww1_wmb(void) { SET_Y(1); WMB; SET_X(2); }
static bool ww_can(enum xarch arch, bool in_order, bool fence)
{
	struct shape s = {
		.arch = arch, .in_order = in_order, .last_words = true,
		.thread = { fence ? ww0_wmb : ww0, fence ? ww1_wmb : ww1 },
	};
	struct seen seen;

	shape_run(&s, &seen);
	return shape_saw(&seen, 11);
}

static void test_2_plus_2w(void **state)
{
	(void)state;
	assert_false(ww_can(XARCH_X86, false, false));
	for (u32 i = 1; i < 3; i++) {
		assert_true(ww_can(archs[i], false, false));
		assert_false(ww_can(archs[i], true, false));
		assert_false(ww_can(archs[i], false, true));
	}
}

static void co0(void) { SET_X(1); SET_X(2); }
static void co1(void) { v->r[0] = X; v->r[1] = X; }
static void co_self(void) { SET_X(1); v->r[0] = X; }
static void co_other(void) { SET_X(2); v->r[1] = X; }

static void test_coherence(void **state)
{
	(void)state;
	check(co0, co1, 12, NOWHERE);	/* 2, then 1 */
	check(co0, co1, 1, NOWHERE);	/* 1, then 0 */
	check(co0, co1, 21, ALL);
	check(co_self, co_other, 20, NOWHERE);	/* does not see its own */
	check(co_self, co_other, 22, ALL);
}

/* Two readers agree on the order of two writes. */
static void iriw0(void) { SET_X(1); }
static void iriw1(void) { SET_Y(1); }
static void iriw2(void) { v->r[0] = X; RMB; v->r[1] = Y; }
static void iriw3(void) { v->r[2] = Y; RMB; v->r[3] = X; }

static void test_iriw(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct shape s = {
			.arch = archs[i], .bound = 2,
			.thread = { iriw0, iriw1, iriw2, iriw3 },
		};
		struct seen seen;

		shape_run(&s, &seen);
		assert_false(shape_saw(&seen, 101));
		assert_true(shape_saw(&seen, 1111));
	}
}

/* ---- locks, interrupts ---- */

static void count(void)
{
	for (u32 i = 0; i < 2; i++) {
		mach_spin_lock(&v->a);
		v->counter++;
		SET_X(X + 1);
		mach_spin_unlock(&v->a);
	}
	mach_spin_lock(&v->a);
	v->r[0] = v->counter;
	v->r[1] = X;
	mach_spin_unlock(&v->a);
}

static void test_locks_exclude(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct shape s = {
			.arch = archs[i], .bound = 2, .thread = { count, count },
		};
		struct seen seen;

		shape_run(&s, &seen);
		assert_int_equal(seen.rule, XRULE_NONE);
		assert_int_equal(seen.n, 1);
		assert_int_equal(seen.out[0], 44);
	}
}

static void handler(void *info)
{
	(void)info;
	v->r[0] = X;
	SET_Y(3);
}
static void ipi0(void)
{
	u64 all = ~0ULL;

	SET_X(1);
	mach_ipi(&all, handler, NULL, true);
	v->r[1] = Y;
}
static void ipi1(void) { v->r[2] = X; }

static void test_ipi_waits(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct shape s = { .arch = archs[i], .thread = { ipi0, ipi1 } };
		struct seen seen;

		shape_run(&s, &seen);
		assert_int_equal(seen.rule, XRULE_NONE);
		assert_int_equal(seen.n, 2);
		assert_true(shape_saw(&seen, 31) && shape_saw(&seen, 131));
	}
}

/* parisc, 2005: the sender holds a lock that the target spins for, interrupts off. */
static void k1_send(void)
{
	u64 all = ~0ULL;

	mach_spin_lock(&v->a);
	mach_ipi(&all, handler, NULL, true);
	mach_spin_unlock(&v->a);
}
static void k1_spin(void)
{
	bool on = mach_irq_save();

	mach_spin_lock(&v->a);
	mach_spin_unlock(&v->a);
	mach_irq_restore(on);
}
static void k1_spin_fixed(void)
{
	mach_spin_lock(&v->a);
	mach_spin_unlock(&v->a);
}

static void test_deadlock(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct shape s = { .arch = archs[i], .thread = { k1_send, k1_spin } };
		struct seen seen;

		shape_run(&s, &seen);
		assert_int_equal(seen.rule, XRULE_DEADLOCK);
		s.thread[1] = k1_spin_fixed;
		shape_run(&s, &seen);
		assert_int_equal(seen.rule, XRULE_NONE);
	}
}

/* A sleeper is never missed, whenever the wake-up comes. */
static void sleeper(void)
{
	while (!mach_load(shape_x, MACH_ACQUIRE))
		mach_block();
	v->r[0] = 1;
}
static void waker(void)
{
	mach_store(shape_x, 1, MACH_RELEASE);
	mach_wake(1);
}

static void test_wake_ups(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct shape s = { .arch = archs[i], .thread = { sleeper, waker } };
		struct seen seen;

		shape_run(&s, &seen);
		assert_int_equal(seen.rule, XRULE_NONE);
		assert_int_equal(seen.n, 1);
	}
}

/* ---- nodes ---- */

#define NODE_FRAMES 60

/* Takes all frames, asking for one node; its own come first, and then the others. */
static void take_all(void *arg)
{
	u32 want = (u32)(uintptr_t)arg, cpu = mach_env()->cpu, got[2] = { 0 };
	u32 node = want < 2 ? want : mach_cpu_node(cpu);
	u64 pfn[NODE_FRAMES];

	assert(mach_env()->nr_nodes == 2);
	assert(mach_cpu_node(cpu) == cpu / 2);
	for (u32 i = 0; i < NODE_FRAMES / 4; i++) {
		pfn[i] = mach_alloc_frames(0, want < 2 ? (s32)want : MACH_NODE_LOCAL, 0);
		got[mach_frame_node(pfn[i])]++;
		if (mach_frame_node(pfn[i]) != node)
			xassert_fail("a frame of another node");
	}
	xresult_note(got[node]);
	for (u32 i = 0; i < NODE_FRAMES / 4; i++)
		mach_free_frames(pfn[i], 0, 0);
}

static void test_nodes(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i < 4 * 3; i++) {
		struct xprogram p = {
			.name = "nodes", .nr_cpus = 4, .nr_nodes = 2, .nr_frames = NODE_FRAMES,
			.nr_threads = 1,
		};
		struct dfs d;
		struct xchooser chooser = dfs_chooser(&d);
		struct xresult result;
		char error[200] = "";
		struct xworld *w;

		p.thread[0] = (struct xthread){
			.name = "t", .cpu = (u32)i / 3, .fn = take_all, .arg = (void *)(i % 3),
		};
		w = xworld_create(&p, error, sizeof(error));
		assert_non_null(w);
		dfs_init(&d, 0);
		xworld_run(w, &chooser, &result, NULL, NULL);
		assert_string_equal(result.detail, "");
		assert_int_equal(result.rule, XRULE_NONE);
		xworld_destroy(w);
	}
}

/* What a node has none of comes from the other. */
static void take_too_many(void *arg)
{
	u32 got[2] = { 0 };

	(void)arg;
	for (u32 i = 1; i < NODE_FRAMES; i++) {
		u64 pfn = mach_alloc_frames(0, 1, 0);

		assert(pfn != MACH_NO_FRAME);
		got[mach_frame_node(pfn)]++;
		if (mach_frame_node(pfn) != 1 && got[1] < NODE_FRAMES / 2 - 8)
			xassert_fail("from the other node, too early");
	}
	if (got[1] != NODE_FRAMES / 2 || mach_alloc_frames(0, 1, 0) != MACH_NO_FRAME)
		xassert_fail("not all of them");
}

static void test_nodes_run_out(void **state)
{
	struct xprogram p = {
		.name = "nodes", .nr_cpus = 4, .nr_nodes = 2, .nr_frames = NODE_FRAMES,
		.nr_threads = 1,
	};
	struct dfs d;
	struct xchooser chooser = dfs_chooser(&d);
	struct xresult result;
	char error[200] = "";
	struct xworld *w;

	(void)state;
	p.thread[0] = (struct xthread){ .name = "t", .fn = take_too_many };
	w = xworld_create(&p, error, sizeof(error));
	assert_non_null(w);
	dfs_init(&d, 0);
	xworld_run(w, &chooser, &result, NULL, NULL);
	assert_string_equal(result.detail, "");
	xworld_destroy(w);
	p.nr_nodes = 5;
	assert_null(xworld_create(&p, error, sizeof(error)));
	assert_string_equal(error, "a node without a CPU");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store_buffering),
		cmocka_unit_test(test_message_passing),
		cmocka_unit_test(test_address_dependency),
		cmocka_unit_test(test_load_buffering),
		cmocka_unit_test(test_2_plus_2w),
		cmocka_unit_test(test_coherence),
		cmocka_unit_test(test_iriw),
		cmocka_unit_test(test_locks_exclude),
		cmocka_unit_test(test_ipi_waits),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_wake_ups),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_nodes_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
