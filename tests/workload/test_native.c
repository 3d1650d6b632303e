// SPDX-License-Identifier: GPL-2.0-or-later
/* Workloads on this host's kernel. No test here depends on how long things take. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include <cmocka.h>

#include "workload/common.h"
#include "workload/run.h"

static struct run_setup setup;
static struct metrics metrics;
static char error[256];

static void prepare(const struct workload *wl, u32 threads)
{
	memset(&setup, 0, sizeof(setup));
	memset(&metrics, 0, sizeof(metrics));
	error[0] = 0;
	setup.workload = wl;
	setup.threads = threads;
	for (u32 i = 0; wl->params[i].name; i++)
		setup.param[i] = wl->params[i].def;
}

static void set(const char *name, u64 value)
{
	const struct wl_param *p = setup.workload->params;

	for (u32 i = 0; p[i].name; i++) {
		if (!strcmp(p[i].name, name)) {
			setup.param[i] = value;
			return;
		}
	}
	fail_msg("no parameter %s", name);
}

/* NULL: absent. */
static const double *get(const char *name)
{
	for (u32 i = 0; i < metrics.n; i++)
		if (!strcmp(metrics.m[i].name, name))
			return &metrics.m[i].value;
	return NULL;
}

static void run(enum run_status want)
{
	assert_int_equal(run_native(&setup, &metrics, error, sizeof(error)), want);
}

static void expect(const char *name, double value)
{
	const double *v = get(name);

	assert_non_null(v);
	assert_true(*v == value);
}

static void expect_above(const char *name, double value)
{
	const double *v = get(name);

	assert_non_null(v);
	assert_true(*v > value);
}

static void test_mmap8(void **state)
{
	(void)state;
	prepare(&workload_mmap8, 3);
	set("iterations", 50);
	run(RUN_OK);
	expect("ops", 150);
	expect_above("real_s", 0);
	expect_above("ops_per_s", 0);
	/* Each iteration takes one fault, which the kernel counts. */
	expect_above("rusage.minor_faults", 149);
	assert_null(get("chase_loads_per_s"));
	assert_int_equal(metrics.digest, 0);
}

static void test_turns_pinned(void **state)
{
	(void)state;
	prepare(&workload_mmap8, 3);
	setup.pin = true;
	set("iterations", 20);
	set("order", 1);
	run(RUN_OK);
	expect("ops", 60);
}

static void test_chasers(void **state)
{
	(void)state;
	prepare(&workload_mmap8, 1);
	set("iterations", 500);
	set("chasers", 1);
	set("chase", 64);
	run(RUN_OK);
	expect("ops", 500);
	expect_above("chase_loads_per_s", 0);
}

/* As many faults as pages written: the kernel gave all of them back each time. */
static void test_dontneed(void **state)
{
	(void)state;
	prepare(&workload_dontneed, 1);
	set("iterations", 30);
	set("touch", 5);
	run(RUN_OK);
	expect("ops", 30);
	expect_above("rusage.minor_faults", 149);
}

static void test_mmap5(void **state)
{
	(void)state;
	prepare(&workload_mmap5, 2);
	set("rounds", 3);
	set("iterations", 20);
	run(RUN_OK);
	expect("ops", 3);
}

/* Each buffer is new memory: a fault a page, 16 pages of 4K or one of 64K. */
static void test_ebizzy(void **state)
{
	(void)state;
	prepare(&workload_ebizzy, 3);
	set("iterations", 20);
	set("size", 64 << 10);
	set("alloc", 1);
	set("pick", 1);
	run(RUN_OK);
	expect("ops", 60);
	expect_above("rusage.minor_faults", 59);
	prepare(&workload_ebizzy, 3);
	set("iterations", 20);
	run(RUN_OK);
	expect("ops", 60);
}

/*
 * A fault for each page of each attach, since the pages are there but not mapped. The hint
 * is one that sanitizers leave free.
 */
static void test_shm_attach(void **state)
{
	u64 pages = (1 << 20) / (u64)sysconf(_SC_PAGESIZE);

	(void)state;
	prepare(&workload_shm_attach, 2);
	set("iterations", 10);
	set("size", 1 << 20);
	set("chase", 40);
	set("hint", 0x200000000000);
	run(RUN_OK);
	expect("ops", 20);
	expect_above("rusage.minor_faults", (double)(20 * pages - 1));
	expect_above("ns_per_load", 0);
	expect_above("unit_us", 0);
	/* No segment stays behind: the second run can have the same addresses. */
	run(RUN_OK);
	expect("ops", 20);
}

static void test_stop(void **state)
{
	static const volatile int stop = 1;

	(void)state;
	for (u32 order = 0; order < 2; order++) {
		prepare(&workload_mmap8, 4);
		setup.stop = &stop;
		set("order", order);
		run(RUN_STOPPED);
		expect("ops", 0);
	}
}

/* A mapping that no process can have: told, not crashed. */
/* A page that is given back must read as zero, or the workload fails; in whichever process. */
static void test_tlb_flush2(void **state)
{
	(void)state;
	for (u32 processes = 0; processes < 2; processes++) {
		prepare(&workload_tlb_flush2, 3);
		set("iterations", 2);
		set("size", 16 << 12);
		set("by", processes);
		run(RUN_OK);
		expect("ops", 3 * 2 * 16);
		/* Processes have their CPU time in one sum. */
		assert_int_equal(get("cpu_s") != NULL, processes);
		assert_int_equal(get("sys_s") == NULL, processes);
	}
}

static void test_probe(void **state)
{
	const struct wl_param *p = workload_probe.params;
	u32 n = 0;

	(void)state;
	while (strcmp(p->name, "what"))
		p++;
	for (; p->values[n]; n++) {
		bool two = !strcmp(p->values[n], "line") || !strcmp(p->values[n], "sleep");

		prepare(&workload_probe, two ? 2 : 1);
		set("what", n);
		set("pages", 4);
		set("iterations", 4);
		run(RUN_OK);
		expect("ops", 4);
	}
	assert_true(n >= 20);
	/* The clock alone. */
	prepare(&workload_probe, 1);
	setup.bare = true;
	run(RUN_OK);
	expect_above("cpu_s", 0);
	assert_null(get("rusage.minor_faults"));
}

static void test_failure(void **state)
{
	(void)state;
	prepare(&workload_mmap8, 2);
	set("size", 1ULL << 62);
	set("touch", 0);
	run(RUN_FAILED);
	assert_non_null(strstr(error, "mmap8: mmap failed"));
}

/* Whatever the host's kernel makes of MADV_PAGEOUT: with no swap it may keep the pages. */
static void test_pageout(void **state)
{
	(void)state;
	prepare(&workload_pageout, 2);
	set("iterations", 5);
	set("size", 16 << 12);
	set("batch", 3);
	set("others", 1);
	run(RUN_OK);
	expect("ops", 5.0 * (16 << 12) / (double)sysconf(_SC_PAGESIZE));
	expect_above("per_page_us", 0);
	expect_above("mprotects_per_s", 0);
}

/* No kernel is asked for that; it is said, and none of the processes stays behind. */
static void test_pageout_mappers(void **state)
{
	static const u32 mappers[] = { 1, 2, 8 };

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		prepare(&workload_pageout, 1);
		set("iterations", 2);
		set("size", 16 << 12);
		set("mappers", mappers[i]);
		run(RUN_FAILED);
		assert_non_null(strstr(error, "reclaim of pages that other processes map failed"));
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap8),
		cmocka_unit_test(test_turns_pinned),
		cmocka_unit_test(test_chasers),
		cmocka_unit_test(test_dontneed),
		cmocka_unit_test(test_mmap5),
		cmocka_unit_test(test_pageout),
		cmocka_unit_test(test_pageout_mappers),
		cmocka_unit_test(test_ebizzy),
		cmocka_unit_test(test_shm_attach),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_tlb_flush2),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
