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

/*
 * xfs_repair's symptom, on small memory: where no group is made, pages go on moving for as long as
 * threads share them, each at the cost of interrupts; where groups are, their pages stay.
 */
static void pages_of_no_group_go_on_moving(void **state)
{
	static const char *const params[] = {
		"size=32M", "iterations=10000", "warm=10000", "compute=20000", NULL
	};
	static const char *const noclear[] = {
		BALANCING, "numa.prot_none_update=rmw", "numa.preserve_write=mark", NULL
	};
	struct metrics none, ms;

	(void)state;
	run("xfs-repair", "4.0-rc1", 12, on, params, &none);
	run("xfs-repair", "4.0-rc1", 12, noclear, params, &ms);
	assert_true(lab_get(&ms, "flush.ipi") > 0.8 * lab_get(&none, "flush.ipi"));
	for (u32 e = 0; e < NR_ERAS; e++) {
		if (!strcmp(eras[e], "4.0-rc1"))
			continue;
		run("xfs-repair", eras[e], 12, on, params, &ms);
		assert_true(count(&ms, "numa_pages_migrated") * 2 <
			    count(&none, "numa_pages_migrated"));
		assert_true(lab_get(&ms, "flush.ipi") * 2 < lab_get(&none, "flush.ipi"));
	}
}

/* Walks of the reverse map go on beside each other, though each takes an interrupt to all. */
static void migrations_do_not_queue_up(void **state)
{
	static const char *const params[] = {
		"size=512M", "iterations=2000", "warm=1000", "compute=20000", NULL
	};
	struct lab_point p = {
		.workload = "xfs-repair", .machine = "x86-vm16-numa", .era = "4.0-rc1",
		.threads = 34, .seed = 1, .set = on, .params = params,
	};
	struct metrics ms;

	(void)state;
	lab_run(&p, &ms);
	assert_true(lab_get(&ms, "account.ipi_send") > 0);
	assert_true(lab_get(&ms, "account.lock_wait") * 4 < lab_get(&ms, "account.ipi_send"));
}

/* Of one thread's pages, all on another node, so many as the limit says move in 100 ms. */
static void ratelimit(void **state)
{
	static const char *const base[] = { "size=8M", "iterations=150", "huge=0", "node=2", NULL };
	static const char *const huge[] = { "size=64M", "iterations=150", "huge=1", "node=2", NULL };
	static const u64 limits_mb[] = { 0, 1, 2, 4, 1024 };
	struct metrics ms;

	(void)state;
	for (u32 i = 0; i < 2 * sizeof(limits_mb) / sizeof(limits_mb[0]); i++) {
		u64 mb = limits_mb[i / 2], windows, moved, wanted;
		char limit[32];
		const char *const set[] = { BALANCING, limit, NULL };

		snprintf(limit, sizeof(limit), "numa.ratelimit_mb=%u", (u32)mb);
		run("numa02", "6.12", 1, set, i % 2 ? huge : base, &ms);
		windows = (u64)(lab_get(&ms, "real_s") * 10) + 2;
		moved = count(&ms, "numa_pages_migrated");
		wanted = i % 2 ? 16384 : 2048;
		assert_int_equal(lab_get(&ms, "numa.ratelimited") > 0, moved < wanted);
		if (!mb || mb == 1024)
			assert_int_equal(moved, wanted);
		else
			assert_true(moved > 0 && moved < wanted &&
				    moved <= windows * (mb * 256 + (i % 2 ? 512 : 1)));
	}
}

/* The sum of a count over seeds: threads that move do so by chance. */
static u64 over_seeds(const char *load, const char *era, const char *set_, const char *name)
{
	static const char *const params[] = {
		"size=64M", "iterations=150", "huge=1", "node=2", NULL
	};
	const char *const set[] = { BALANCING, set_, NULL };
	u64 sum = 0;

	for (u64 seed = 1; seed <= 4; seed++) {
		struct lab_point p = {
			.workload = load, .machine = "x86-4s48", .era = era, .threads = 8,
			.seed = seed, .set = set, .params = params,
		};
		struct metrics ms;

		lab_run(&p, &ms);
		sum += count(&ms, name);
	}
	return sum;
}

/* Who went to its preferred node looks again soon; without, the scan stays as slow as it was. */
static void scan_reset_scans_more(void **state)
{
	(void)state;
	assert_true(over_seeds("numa01", "4.0", "numa.scan_reset=on", "numa_pte_updates") >
		    over_seeds("numa01", "4.0", "numa.scan_reset=off", "numa_pte_updates"));
}

/*
 * So rarely used that groups exist before most pages have had a fault: in the beginning a first
 * fault moves a page all the same, and does not ask the group.
 */
static void early_migrate_moves_more(void **state)
{
	static const char *const params[] = {
		"size=32M", "iterations=1000", "warm=0", "compute=2000000", NULL
	};
	static const char *const early[] = { BALANCING, "numa.early_migrate=on", NULL };
	static const char *const late[] = { BALANCING, "numa.early_migrate=off", NULL };
	struct metrics a, b;

	(void)state;
	run("xfs-repair", "6.12", 12, early, params, &a);
	run("xfs-repair", "6.12", 12, late, params, &b);
	assert_true(lab_get(&b, "numa.groups_joined") > 0);
	assert_true(count(&a, "numa_pages_migrated") * 4 > count(&b, "numa_pages_migrated") * 5);
}

/*
 * Pages that only one thread uses each, and that cannot come to it: to 4.13 a reason to scan
 * faster, for they are remote; since, to scan slower, for they are private.
 */
static void scan_adapt(void **state)
{
	static const char *const params[] = {
		"size=24M", "iterations=4000", "huge=0", "node=2", NULL
	};
	static const char *const local[] = {
		BALANCING, "numa.scan_adapt=local", "numa.ratelimit_mb=1",
		"numa.slow_scan_on_failure=off", NULL
	};
	static const char *const both[] = {
		BALANCING, "numa.scan_adapt=private_local", "numa.ratelimit_mb=1",
		"numa.slow_scan_on_failure=off", NULL
	};
	struct metrics a, b;

	(void)state;
	run("numa02", "6.12", 24, local, params, &a);
	run("numa02", "6.12", 24, both, params, &b);
	/* Of four seeds 1.22 to 1.6 times as many; in shorter runs chance can hide it. */
	assert_true(count(&a, "numa_pte_updates") * 10 > count(&b, "numa_pte_updates") * 11);
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
		cmocka_unit_test(pages_of_no_group_go_on_moving),
		cmocka_unit_test(migrations_do_not_queue_up),
		cmocka_unit_test(ratelimit),
		cmocka_unit_test(scan_reset_scans_more),
		cmocka_unit_test(early_migrate_moves_more),
		cmocka_unit_test(scan_adapt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
