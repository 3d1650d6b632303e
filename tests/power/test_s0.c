// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread S0 on POWER9, era 5.2-rc2: what mainline did of a nested gather beside what
 * landed. 16 MiB are 256 pages, above the ceiling: both flush the PID, and nothing
 * differs, as was published. Below it, 1 MiB, the ranged flush pays a tlbie a page and
 * it shows (bench/power_ceiling.c has the whole table).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "bench/lab.h"

static void measure(const char *size, const char *iterations, struct metrics ms[2])
{
	static const char *const variant[2][2] = {
		{ "mmu_gather.nested=force_range", NULL },
		{ "mmu_gather.nested=fullmm_tables", NULL },
	};
	const char *params[] = { iterations, size, NULL };

	for (u32 v = 0; v < 2; v++) {
		struct lab_point p = {
			.workload = "mmap8", .machine = "power9-8335gth",
			.era = "5.2-rc2", .threads = 16, .seed = 1,
			.set = variant[v], .params = params,
		};

		lab_run(&p, &ms[v]);
	}
}

static double change(const struct metrics ms[2], const char *name)
{
	return lab_get(&ms[1], name) / lab_get(&ms[0], name) - 1;
}

/* Published: real 37.38 (sd 2.78) and 37.12 s, sys 54.66 and 55.70 s, for 100,000. */
static void test_null(void **state)
{
	struct metrics ms[2];

	(void)state;
	measure("size=16M", "iterations=1000", ms);
	assert_true(fabs(change(ms, "real_s")) < 0.03);
	assert_true(fabs(change(ms, "sys_s")) < 0.03);
	for (u32 v = 0; v < 2; v++) {
		assert_float_equal(100 * lab_get(&ms[v], "real_s") / 37.4, 1, 0.1);
		assert_float_equal(100 * lab_get(&ms[v], "sys_s") / 54.7, 1, 0.1);
	}
	/* Most gathers are nested: it is no for want of that. */
	assert_true(lab_get(&ms[1], "gather.madvise_nested") > 8000);
}

static void test_below_ceiling(void **state)
{
	struct metrics ms[2];

	(void)state;
	measure("size=1M", "iterations=300", ms);
	/* One seed of few iterations: the difference of 3 (bench/power_ceiling) scatters. */
	assert_true(change(ms, "sys_s") < -0.3);
	assert_true(change(ms, "real_s") < -0.1);
	assert_true(lab_get(&ms[0], "flush.tlbie_ric0") >
		    3 * lab_get(&ms[1], "flush.tlbie_ric0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_below_ceiling),
	};

	return cmocka_run_group_tests_name("power-s0", tests, NULL, NULL);
}
