// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What NUMA balancing counts, on small memory: properties that hold in every era, and those by
 * which the eras of thread S3 differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/lab.h"

static const char *const eras[] = { "3.19", "4.0-rc1", "4.0-rc4", "4.0", "5.8", "6.12" };

#define NR_ERAS (sizeof(eras) / sizeof(eras[0]))
#define BALANCING "numa.balancing=on", "numa.scan_size_mb=16", "numa.scan_delay_ms=10",     \
		  "numa.scan_period_min_ms=20"

static const char *const on[] = { BALANCING, NULL };

static void run(const char *load, const char *era, u32 threads, const char *const *set,
		const char *const *params, struct metrics *ms)
{
	struct lab_point p = {
		.workload = load, .machine = "x86-4s48", .era = era, .threads = threads,
		.seed = 1, .set = set, .params = params,
	};

	lab_run(&p, ms);
}

static u64 count(const struct metrics *ms, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "vmstat.%s", name);
	return (u64)lab_get(ms, full);
}

static void off_means_off(void **state)
{
	static const char *const params[] = { "size=32M", "iterations=20", NULL };
	struct metrics ms;

	(void)state;
	for (u32 e = 0; e < NR_ERAS; e++) {
		run("numa01", eras[e], 8, NULL, params, &ms);
		assert_int_equal(count(&ms, "numa_pte_updates"), 0);
		assert_int_equal(count(&ms, "numa_hint_faults"), 0);
		assert_int_equal(count(&ms, "numa_pages_migrated"), 0);
	}
}

/* Each fault met a mark, and each page that moved is in both counts. */
static void consistent(const struct metrics *ms, bool huge)
{
	u64 updates = count(ms, "numa_pte_updates"), faults = count(ms, "numa_hint_faults");
	u64 marks = huge ? count(ms, "numa_huge_pte_updates") : updates;

	assert_true(updates > 0 && faults > 0);
	if (huge)
		assert_int_equal(updates, 512 * marks);
	else
		assert_int_equal(count(ms, "numa_huge_pte_updates"), 0);
	assert_true(faults <= marks);
	assert_true(count(ms, "numa_hint_faults_local") <= faults);
	assert_int_equal(count(ms, "numa_pages_migrated"), count(ms, "pgmigrate_success"));
	if (huge)
		assert_int_equal(count(ms, "numa_pages_migrated") % 512, 0);
}

static void counters_agree(void **state)
{
	static const char *const huge[] = { "size=64M", "iterations=150", "huge=1", NULL };
	static const char *const base[] = { "size=16M", "iterations=150", "huge=0", NULL };
	struct metrics ms;

	(void)state;
	for (u32 e = 0; e < NR_ERAS; e++) {
		run("numa01", eras[e], 8, on, huge, &ms);
		consistent(&ms, true);
		run("numa02", eras[e], 8, on, base, &ms);
		consistent(&ms, false);
	}
}

/* The cause that Linus found: in rc1 the test for grouping was false, always. */
static void rc1_has_no_groups(void **state)
{
	static const char *const huge[] = { "size=64M", "iterations=150", "huge=1", NULL };
	static const char *const base[] = { "size=32M", "iterations=150", "huge=0", NULL };
	struct metrics ms;

	(void)state;
	for (u32 e = 0; e < NR_ERAS; e++) {
		bool none = !strcmp(eras[e], "4.0-rc1");

		run("numa01", eras[e], 8, on, huge, &ms);
		assert_int_equal(lab_get(&ms, "numa.groups_joined") == 0, none);
		run("numa01", eras[e], 8, on, base, &ms);
		assert_int_equal(lab_get(&ms, "numa.groups_joined") == 0, none);
	}
}

/* noclear, the patch that was refused: the write bit is in the mark, and is not given back. It
 * helped huge pages, whose mark was tested, and no others. */
static void noclear_groups_huge_pages_only(void **state)
{
	static const char *const noclear[] = {
		BALANCING, "numa.prot_none_update=rmw", "numa.preserve_write=mark", NULL
	};
	static const char *const huge[] = { "size=64M", "iterations=150", "huge=1", NULL };
	static const char *const base[] = { "size=32M", "iterations=150", "huge=0", NULL };
	struct metrics ms;

	(void)state;
	run("numa01", "4.0-rc1", 8, noclear, huge, &ms);
	assert_true(lab_get(&ms, "numa.groups_joined") > 0);
	run("numa01", "4.0-rc1", 8, noclear, base, &ms);
	assert_true(lab_get(&ms, "numa.groups_joined") == 0);
}

/* One thread: what is here already is not marked; what is not comes here, once each. */
static void single_thread(void **state)
{
	static const char *const here[] = { "size=8M", "iterations=150", "huge=0", "node=0", NULL };
	static const char *const there[] = { "size=8M", "iterations=150", "huge=0", "node=2", NULL };
	struct metrics ms;

	(void)state;
	run("numa02", "6.12", 1, on, here, &ms);
	assert_int_equal(count(&ms, "numa_pte_updates"), 0);
	run("numa02", "6.12", 1, on, there, &ms);
	assert_int_equal(count(&ms, "numa_pte_updates"), 2048);
	assert_int_equal(count(&ms, "numa_hint_faults"), 2048);
	assert_int_equal(count(&ms, "numa_hint_faults_local"), 0);
	assert_int_equal(count(&ms, "numa_pages_migrated"), 2048);
}

/* Without the write bit each hinting fault by a write is followed by another fault. */
static void write_bit_saves_faults(void **state)
{
	static const char *const params[] = { "size=8M", "iterations=400", "huge=0", NULL };
	static const char *const lost[] = { BALANCING, "numa.preserve_write=off", NULL };
	static const char *const mark[] = { BALANCING, "numa.preserve_write=mark", NULL };
	static const char *const saved[] = { BALANCING, "numa.preserve_write=saved", NULL };
	struct metrics ms;

	(void)state;
	run("numa02", "4.0", 8, mark, params, &ms);
	assert_true(count(&ms, "pgfault") >= count(&ms, "numa_hint_faults") * 3 / 2);
	run("numa02", "4.0", 8, lost, params, &ms);
	assert_true(count(&ms, "pgfault") >= count(&ms, "numa_hint_faults") * 3 / 2);
	run("numa02", "4.0", 8, saved, params, &ms);
	assert_true(count(&ms, "pgfault") < count(&ms, "numa_hint_faults") * 3 / 2);
}

/* Restored first, a base page that moves is flushed everywhere; marked, it need not be. */
static void fault_map(void **state)
{
	static const char *const params[] = { "size=8M", "iterations=150", "huge=0", NULL };
	static const char *const before[] = { BALANCING, "numa.fault_map=before", NULL };
	static const char *const after[] = { BALANCING, "numa.fault_map=after", NULL };
	struct metrics a, b;

	(void)state;
	run("numa02", "4.0", 8, before, params, &b);
	run("numa02", "4.0", 8, after, params, &a);
	assert_true(lab_get(&b, "flush.ipi") >= (double)count(&b, "numa_pages_migrated"));
	assert_true(lab_get(&a, "flush.ipi") < (double)count(&a, "numa_pages_migrated"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_means_off),
		cmocka_unit_test(counters_agree),
		cmocka_unit_test(rc1_has_no_groups),
		cmocka_unit_test(noclear_groups_huge_pages_only),
		cmocka_unit_test(single_thread),
		cmocka_unit_test(write_bit_saves_faults),
		cmocka_unit_test(fault_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
