/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that are shown to other CPUs as soon as they are allocated: their first contents are
 * stores, which something must order before the store that shows the frame (explore/frames.c).
 * Each way to order them beside each way to look.
 */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define VA_OTHER_PTE	0x40202000ULL	/* of table pte, entry 2 */
#define VA_OTHER_PMD	0x40401000ULL	/* of table pmd, entry 2 */

enum order { NOTHING, OTHER_ATOMIC, WMB, MB, LOCK, ATOMIC, NR_ORDERS };

static enum order order;
static u32 block;		/* order of what is allocated */

/* What comes between the allocation and the store that shows it. */
static void order_stores(void)
{
	switch (order) {
	case OTHER_ATOMIC:
		/* On a word that waits in the buffer: only that is visible then. */
		mach_store(shape_y, 1, MACH_RELAXED);
		(void)mach_rmw(shape_y, MACH_ADD, 1, 0, MACH_RELAXED);
		break;
	case WMB:
		mach_fence(MACH_SMP_WMB);
		break;
	case MB:
		mach_fence(MACH_SMP_MB);
		break;
	case LOCK:
		mach_spin_lock(&v->a);
		mach_spin_unlock(&v->a);
		break;
	case ATOMIC:
		(void)mach_rmw(shape_y, MACH_ADD, 1, 0, MACH_FULL);
		break;
	default:
		break;
	}
}

static u64 new_frame(u32 flags)
{
	u64 pfn = mach_alloc_frames(block, MACH_NODE_LOCAL, MACH_GFP_ZERO | flags);

	assert(pfn != MACH_NO_FRAME);
	pfn += (1U << block) - 1;
	return pfn;
}

/* ---- shown to the kernel of another CPU, in x ---- */

static void show(u32 flags)
{
	u64 pfn = new_frame(flags);

	/* Its own CPU finds the zeroes in any case. */
	v->r[1] = mach_load(shape_entry(pfn, 0), MACH_RELAXED);
	order_stores();
	mach_store(shape_x, pfn, MACH_RELAXED);
}

static void show_page(void) { show(0); }
static void show_table(void) { show(MACH_GFP_TABLE); }

static void kernel_load(void)
{
	u64 pfn = mach_load(shape_x, MACH_ACQUIRE);

	if (pfn)
		v->r[0] = mach_load(shape_entry(pfn, 3), MACH_RELAXED);
}

static void kernel_scan(void)
{
	u64 pfn = mach_load(shape_x, MACH_ACQUIRE);

	if (pfn)
		v->r[0] = mach_scan_zero(shape_entry(pfn, 0), 8) != 8;
}

static void kernel_rmw(void)
{
	u64 pfn = mach_load(shape_x, MACH_ACQUIRE);

	if (pfn)
		v->r[0] = mach_rmw(shape_entry(pfn, 3), MACH_ADD, 1, 0, MACH_RELAXED);
}

/* ---- to walkers, and user mode of another CPU ---- */

static void hook_page(void)
{
	u64 pfn = new_frame(0);

	order_stores();
	mach_store(shape_entry(v->pte, 2), shape_page_entry(pfn, true), MACH_RELAXED);
}

static void hook_table(void)
{
	u64 pfn = new_frame(MACH_GFP_TABLE);

	order_stores();
	mach_store(shape_entry(v->pmd, 2), shape_table_entry(pfn), MACH_RELAXED);
}

static void user_load(void)
{
	u64 val = shape_load(VA_OTHER_PTE);

	v->r[0] = val && val != 9;
}

static void user_store(void)
{
	u64 val = 1;

	(void)mach_env()->ops->user_access(VA_OTHER_PTE, true, &val);
}

static void user_walk(void)
{
	assert(shape_load(VA_OTHER_PMD) == 9);
}

static const struct look {
	void (*show)(void), (*look)(void);
	enum xrule rule;	/* where nothing orders */
	bool tables;
} looks[] = {
	{ show_page, kernel_load, XRULE_STALE_READ, false },
	{ show_page, kernel_rmw, XRULE_STALE_WRITE, false },
	{ show_table, kernel_load, XRULE_WALK_FREED, false },
	{ show_table, kernel_scan, XRULE_WALK_FREED, false },
	{ hook_page, user_load, XRULE_STALE_READ, true },
	{ hook_page, user_store, XRULE_STALE_WRITE, true },
	{ hook_table, user_walk, XRULE_WALK_FREED, true },
};

static bool orders(enum xarch arch, bool in_order)
{
	return arch == XARCH_X86 || in_order || order >= WMB;
}

static void check(const struct look *l, enum xarch arch, bool in_order)
{
	struct shape s = {
		.arch = arch, .in_order = in_order, .tables = l->tables,
		.thread = { l->show, l->look },
	};
	struct seen seen;

	/* The shapes have no tables for POWER. */
	if (l->tables && arch == XARCH_POWERPC)
		return;
	shape_run(&s, &seen);
	assert_int_equal(seen.rule, orders(arch, in_order) ? XRULE_NONE : l->rule);
	/* Nobody ever reads what was there before. */
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.out[0], 0);
}

static void test_orders(void **state)
{
	static const enum xarch archs[] = { XARCH_X86, XARCH_ARM64, XARCH_POWERPC };

	(void)state;
	for (u32 i = 0; i < sizeof(looks) / sizeof(*looks); i++)
		for (order = NOTHING; order < NR_ORDERS; order++)
			for (u32 a = 0; a < 6; a++) {
				block = i & 1;
				check(&looks[i], archs[a / 2], a % 2);
			}
}

/* A frame that goes back before that, and is somebody else's: nothing of the first remains. */
static void give_back(void)
{
	u64 pfn = new_frame(0);

	mach_free_frames(pfn, 0, 0);
	v->new = new_frame(0);
	mach_fence(MACH_SMP_WMB);
	mach_store(shape_x, v->new, MACH_RELAXED);
}

static void test_freed_before(void **state)
{
	struct shape s = { .arch = XARCH_ARM64, .thread = { give_back, kernel_load } };
	struct seen seen;

	(void)state;
	block = 0;
	shape_run(&s, &seen);
	assert_int_equal(seen.rule, XRULE_NONE);
	assert_int_equal(seen.n, 1);
}

/* ---- MACH_FREE_ZEROED ---- */

static u64 last_value;

static void free_zeroed(void)
{
	u64 pfn = new_frame(MACH_GFP_TABLE);

	mach_store(shape_entry(pfn, 1), 0x1000, MACH_RELAXED);
	order_stores();
	mach_store(shape_entry(pfn, 1), last_value, MACH_RELAXED);
	mach_free_frames(pfn, 0, MACH_FREE_ZEROED);
}

static void nothing(void) { }

/* Whether the last store is in the buffer yet or not. */
static void test_free_zeroed(void **state)
{
	static const enum xarch archs[] = { XARCH_X86, XARCH_ARM64, XARCH_POWERPC };

	(void)state;
	block = 0;
	for (u32 a = 0; a < 3; a++)
		for (order = NOTHING; order < NR_ORDERS; order++)
			for (last_value = 0; last_value < 2; last_value++) {
				struct shape s = {
					.arch = archs[a], .thread = { free_zeroed, nothing },
				};
				struct seen seen;

				shape_run(&s, &seen);
				assert_int_equal(seen.rule, last_value ? XRULE_BUG : XRULE_NONE);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_freed_before),
		cmocka_unit_test(test_free_zeroed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
