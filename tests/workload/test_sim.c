// SPDX-License-Identifier: GPL-2.0-or-later
/* Workloads on simulated machines: the binding, the window, the figures, the hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/core.h"
#include "cli/knobs.h"
#include "machine/desc_yaml.h"
#include "workload/common.h"
#include "workload/run.h"

/* One point: machine, core, knobs and what was measured. */
struct lab {
	struct machine_desc desc;
	struct core core;
	s64 knobs[TLBLAB_MAX_KNOBS];
	struct run_setup setup;
	struct metrics metrics;
	char error[512];
};

static struct lab *lab_make(const char *machine, const char *era,
			    const struct workload *wl, u32 threads)
{
	struct lab *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	if (machine_desc_load(machine, &l->desc, l->error, sizeof(l->error)))
		fail_msg("%s", l->error);
	assert_true(core_load_arch(&l->core, l->desc.arch));
	knobs_resolve(&l->core, era_find(l->core.module, era), &l->desc, l->knobs);
	l->setup.workload = wl;
	l->setup.threads = threads;
	l->setup.seed = 1;
	l->setup.desc = &l->desc;
	l->setup.core = l->core.module;
	l->setup.knobs = l->knobs;
	for (u32 i = 0; wl->params[i].name; i++)
		l->setup.param[i] = wl->params[i].def;
	return l;
}

static void set(struct lab *l, const char *name, u64 value)
{
	const struct wl_param *p = l->setup.workload->params;
	u32 i = 0;

	while (p[i].name && strcmp(p[i].name, name))
		i++;
	assert_non_null(p[i].name);
	l->setup.param[i] = value;
}

static void knob(struct lab *l, const char *name, const char *value)
{
	u32 i = knobs_find(l->core.module, name);

	l->knobs[i] = knob_parse(l->core.module->knobs[i], value, "test");
}

static enum run_status run(struct lab *l)
{
	enum run_status status = run_simulated(&l->setup, &l->metrics, l->error,
					       sizeof(l->error));

	if (status == RUN_FAILED)
		print_message("%s\n", l->error);
	return status;
}

static double get(const struct lab *l, const char *name)
{
	for (u32 i = 0; i < l->metrics.n; i++)
		if (!strcmp(l->metrics.m[i].name, name))
			return l->metrics.m[i].value;
	fail_msg("no figure %s", name);
	return 0;
}

/* All accounts but wall_s are equal, to the bit. */
static bool same(const struct lab *a, const struct lab *b)
{
	if (a->metrics.n != b->metrics.n || a->metrics.digest != b->metrics.digest)
		return false;
	for (u32 i = 0; i < a->metrics.n; i++)
		if (strcmp(a->metrics.m[i].name, "wall_s") &&
		    (strcmp(a->metrics.m[i].name, b->metrics.m[i].name) ||
		     a->metrics.m[i].value != b->metrics.m[i].value))
			return false;
	return true;
}

static struct lab *mmap8(const char *machine, u32 threads, u64 iterations, u64 seed)
{
	struct lab *l = lab_make(machine, "6.12", &workload_mmap8, threads);

	set(l, "iterations", iterations);
	l->setup.seed = seed;
	return l;
}

static void test_seed(void **state)
{
	static const char *const machines[] = { "arm64-46", "x86-2s" };

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct lab *a = mmap8(machines[i], 6, 30, 1);
		struct lab *b = mmap8(machines[i], 6, 30, 1);
		struct lab *c = mmap8(machines[i], 6, 30, 2);

		assert_int_equal(run(a), RUN_OK);
		/* Another layout of the host's memory must not matter. */
		free(malloc(12345));
		assert_int_equal(run(b), RUN_OK);
		assert_int_equal(run(c), RUN_OK);
		assert_true(same(a, b));
		assert_false(same(a, c));
		free(a);
		free(b);
		free(c);
	}
}

/* Every CPU's time is in some account, and the sums are what is printed. */
static void test_accounts(void **state)
{
	struct lab *l = mmap8("x86-2s", 4, 50, 1);
	double sum = 0, user, sys, cpus;

	(void)state;
	assert_int_equal(run(l), RUN_OK);
	for (u32 i = 0; i < l->metrics.n; i++)
		if (!strncmp(l->metrics.m[i].name, "account.", 8))
			sum += l->metrics.m[i].value;
	cpus = l->desc.nr_cpus;
	assert_float_equal(sum / (get(l, "real_s") * cpus), 1, 1e-9);
	user = get(l, "account.user") + get(l, "account.walk");
	sys = sum - user - get(l, "account.idle");
	assert_float_equal(get(l, "user_s") / user, 1, 1e-9);
	assert_float_equal(get(l, "sys_s") / sys, 1, 1e-9);
	assert_true(get(l, "ops") == 200);
	assert_float_equal(get(l, "ops_per_s") * get(l, "real_s"), 200, 1e-6);
	free(l);
}

/* Instructions of other architectures are absent. */
static void test_flush_names(void **state)
{
	struct lab *x = mmap8("x86-2s", 1, 5, 1), *a = mmap8("arm64-46", 1, 5, 1);

	(void)state;
	assert_int_equal(run(x), RUN_OK);
	assert_int_equal(run(a), RUN_OK);
	assert_true(get(x, "flush.invlpg") + get(x, "flush.cr3") +
		    get(x, "flush.invpcid") >= 5);
	assert_true(get(a, "flush.dsb_ish") >= 5);
	for (u32 i = 0; i < x->metrics.n; i++)
		assert_null(strstr(x->metrics.m[i].name, "tlbi"));
	for (u32 i = 0; i < a->metrics.n; i++)
		assert_null(strstr(a->metrics.m[i].name, "invlpg"));
	free(x);
	free(a);
}

/* In turns nothing overlaps, so counts do not depend on the seed. */
static void test_turns(void **state)
{
	struct lab *l[2];

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		l[i] = mmap8("qemu-arm64-max", 4, 25, i + 1);
		l[i]->setup.pin = true;
		set(l[i], "order", 1);
		set(l[i], "hint", 0x200000000000);
		assert_int_equal(run(l[i]), RUN_OK);
		assert_true(get(l[i], "ops") == 100);
	}
	for (u32 i = 0; i < l[0]->metrics.n; i++)
		if (!strncmp(l[0]->metrics.m[i].name, "flush.", 6))
			assert_true(l[0]->metrics.m[i].value ==
				    get(l[1], l[0]->metrics.m[i].name));
	free(l[0]);
	free(l[1]);
}

/* A set that the TLB holds is chased faster than one that it does not. */
static void test_chasers(void **state)
{
	struct lab *small = mmap8("arm64-46", 1, 40, 1);
	struct lab *large = mmap8("arm64-46", 1, 40, 1);

	(void)state;
	set(small, "chasers", 1);
	set(small, "chase", 16);
	set(large, "chasers", 1);
	set(large, "chase", 20000);
	assert_int_equal(run(small), RUN_OK);
	assert_int_equal(run(large), RUN_OK);
	assert_true(get(small, "chase_loads_per_s") >
		    1.2 * get(large, "chase_loads_per_s"));
	assert_true(get(large, "tlb.miss") > get(small, "tlb.miss"));
	free(small);
	free(large);
}

static void test_dontneed(void **state)
{
	struct lab *l = lab_make("x86-2s", "6.12", &workload_dontneed, 1);

	(void)state;
	set(l, "iterations", 10);
	set(l, "touch", 7);
	assert_int_equal(run(l), RUN_OK);
	assert_true(get(l, "ops") == 10);
	assert_true(get(l, "machine.page_faults") == 70);
	free(l);
}

/*
 * A fault a page of each buffer, and user time for the copying: with copy_page where
 * the machine says it, else twice zero_page. No gather of it is nested: a munmap
 * has the lock for writing until it has begun, and nobody calls madvise.
 */
static void test_ebizzy(void **state)
{
	static const char *const machines[] = { "x86-vm24", "arm64-46" };

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct lab *l = lab_make(machines[i], "5.2-rc2", &workload_ebizzy, 8);
		u32 pages = (512 << 10) >> l->desc.page_shift;
		const struct cost *cost = l->desc.core_cost;
		u64 page_ps = i ? 2 * cost[MACH_COST_ZERO_PAGE].ps :
				  cost[MACH_COST_COPY_PAGE].ps;

		set(l, "iterations", 5);
		set(l, "alloc", 1);
		assert_int_equal(run(l), RUN_OK);
		assert_true(get(l, "ops") == 40);
		assert_true(get(l, "machine.page_faults") == 40 * pages);
		assert_true(get(l, "gather.munmap_nested") == 0);
		assert_true(get(l, "account.user") > 40 * pages * (double)page_ps / 1e12);
		assert_true(get(l, "account.user") <
			    1.5 * 40 * pages * (double)page_ps / 1e12);

		set(l, "alloc", 0);
		assert_int_equal(run(l), RUN_OK);
		/* One buffer of each thread, and one each that was mapped first. */
		assert_true(get(l, "machine.page_faults") <= 2 * 8 * pages);
		free(l);
	}
}

static void test_time_limit(void **state)
{
	struct lab *l = mmap8("arm64-46", 4, 1000000, 1);

	(void)state;
	l->setup.time_limit_ps = 5ULL * 1000 * 1000 * 1000;
	assert_int_equal(run(l), RUN_STOPPED);
	assert_float_equal(get(l, "real_s"), 5e-3, 1e-3);
	assert_true(get(l, "ops") > 0);
	free(l);
}

static int stop;
static u32 ticks;

static void stop_soon(void *arg, u64 ps)
{
	(void)arg;
	(void)ps;
	if (++ticks == 3)
		*(volatile int *)&stop = 1;
}

static void test_stop(void **state)
{
	struct lab *l = mmap8("arm64-46", 4, 1000000, 1);

	(void)state;
	stop = 0;
	ticks = 0;
	l->setup.stop = &stop;
	l->setup.progress = stop_soon;
	assert_int_equal(run(l), RUN_STOPPED);
	assert_true(get(l, "ops") > 0 && get(l, "ops") < 4000000);
	free(l);
}

/*
 * The thread's hang: with force_range the reset loses freed_tables, and a walk
 * cache goes on pointing to a freed table. The fix: none.
 */
static void test_hang(void **state)
{
	struct lab *bad = lab_make("arm64-46", "5.2-rc2", &workload_mmap5, 2);
	struct lab *good = lab_make("arm64-46", "5.2-rc2", &workload_mmap5, 2);

	(void)state;
	set(bad, "limit", 1500);
	set(good, "rounds", 20);
	knob(bad, "mmu_gather.nested", "force_range");
	knob(good, "mmu_gather.nested", "fullmm_tables");
	assert_int_equal(run(bad), RUN_OK);
	assert_int_equal(run(good), RUN_OK);
	assert_true(get(bad, "hung") == 1);
	assert_true(get(good, "hung") == 0);
	assert_true(get(good, "ops") == 20);
	assert_true(get(bad, "ops") < 50);
	assert_true(get(bad, "faults_per_s") > 4 * get(good, "faults_per_s"));
	free(bad);
	free(good);
}

/* Thread S1 in small: 32 huge pages on 8 CPUs. Frees it by itself. */
static double munmap_thp_ipis(const char *serialize, u64 walkers, u64 walk, double *walks)
{
	struct lab *l = lab_make("power9-guest128", "5.3", &workload_munmap_thp, 8);
	double ipis;

	set(l, "size", 64 << 20);
	set(l, "walkers", walkers);
	set(l, "walk", walk);
	l->setup.pin = true;
	knob(l, "powerpc.pte_serialize", serialize);
	assert_int_equal(run(l), RUN_OK);
	assert_true(get(l, "ops") == 32);
	assert_true(get(l, "munmap_s") == get(l, "real_s"));
	*walks = walkers ? get(l, "walks_per_s") * get(l, "real_s") : 0;
	ipis = get(l, "flush.ipi");
	free(l);
	return ipis;
}

static void test_munmap_thp(void **state)
{
	enum { LOOKUP, GUP_FAST };
	double walks, ipis;

	(void)state;
	/* Each of the 32 interrupts the seven others. */
	assert_true(munmap_thp_ipis("ipi", 0, LOOKUP, &walks) == 32 * 7);
	assert_true(munmap_thp_ipis("none_tolerant", 4, LOOKUP, &walks) == 0);
	assert_true(walks > 10);
	/* No walker: no interrupt. */
	assert_true(munmap_thp_ipis("count_in_lookup", 0, LOOKUP, &walks) == 0);
	assert_true(munmap_thp_ipis("count_percpu", 0, LOOKUP, &walks) == 0);
	/* Somebody walks: all seven, or, if each CPU has a count, those who do. */
	ipis = munmap_thp_ipis("count_span", 4, LOOKUP, &walks);
	assert_true(ipis > 0 && (u64)ipis % 7 == 0);
	ipis = munmap_thp_ipis("count_percpu", 4, LOOKUP, &walks);
	assert_true(ipis > 0 && ipis < 32 * 4);
	/* What the patch as posted does not see. */
	assert_true(munmap_thp_ipis("count_in_lookup", 4, GUP_FAST, &walks) == 0);
	assert_true(walks > 10);
}

/* With 64K pages arm64 has none of 2 MiB: the workload fails, and says so. */
static void test_no_huge_pages(void **state)
{
	struct lab *l = lab_make("arm64-46", "6.12", &workload_munmap_thp, 1);

	(void)state;
	set(l, "size", 4 << 20);
	assert_int_equal(run_simulated(&l->setup, &l->metrics, l->error, sizeof(l->error)),
			 RUN_FAILED);
	assert_non_null(strstr(l->error, "MADV_HUGEPAGE"));
	free(l);
}

static struct lab *shm_attach(const char *ceiling)
{
	struct lab *l = lab_make("power10-105", "5.14", &workload_shm_attach, 1);

	l->setup.pin = true;
	set(l, "iterations", 5);
	set(l, "size", 2 << 20);
	knob(l, "powerpc.cpumask_trim", "none");
	knob(l, "powerpc.ceiling_compare", "ge");
	knob(l, "powerpc.tlb_single_page_flush_ceiling", ceiling);
	return l;
}

/* Thread S2: the PID flush is shorter, and then every load of the set misses. */
static void test_shm_attach_refill(void **state)
{
	struct lab *by_page = shm_attach("34"), *pid = shm_attach("32");

	(void)state;
	/* The first loads miss in either. */
	set(by_page, "iterations", 50);
	set(pid, "iterations", 50);
	set(by_page, "chase", 256);
	set(pid, "chase", 256);
	assert_int_equal(run(by_page), RUN_OK);
	assert_int_equal(run(pid), RUN_OK);
	assert_true(get(by_page, "ops") == 50);
	assert_true(get(pid, "ns_per_load") > 2 * get(by_page, "ns_per_load"));
	assert_true(get(pid, "unit_us") < get(by_page, "unit_us"));
	assert_true(get(pid, "tlb.miss") >= get(by_page, "tlb.miss") + 48 * 256);
	/* What the unit takes with the loads, it takes without them and for them. */
	assert_true(get(pid, "unit_us") > 256 * get(pid, "ns_per_load") / 1000);
	free(by_page);
	free(pid);
}

/*
 * Intervals add up to the whole, to the picosecond but for cycles, each of which is
 * rounded; and a run with them is the run without.
 */
static void test_intervals(void **state)
{
	static const char *const name[] = {
		"time_s", "ops", "cycles", "stall_cycles", "tlbie", "hcalls",
	};
	struct lab *plain = shm_attach("34"), *l = shm_attach("34");
	double sum[6] = { 0 }, busy, stall;
	u32 n;

	(void)state;
	l->setup.interval_ps = 30000000;	/* a unit is longer */
	assert_int_equal(run(plain), RUN_OK);
	assert_int_equal(run(l), RUN_OK);
	assert_int_equal(plain->metrics.nr_intervals, 0);
	assert_true(get(l, "real_s") == get(plain, "real_s"));
	assert_true(get(l, "account.idle") == get(plain, "account.idle"));
	assert_true(get(l, "flush.tlbie_ric0") == get(plain, "flush.tlbie_ric0"));
	n = l->metrics.nr_intervals;
	assert_int_equal(n, (u32)(get(l, "real_s") / 30e-6) + 1);
	for (u32 i = 0; i < n; i++) {
		const struct interval *row = &l->metrics.interval[i];

		assert_int_equal(row->n, 6);
		for (u32 k = 0; k < 6; k++) {
			assert_string_equal(row->m[k].name, name[k]);
			sum[k] += row->m[k].value;
		}
		if (i + 1 < n)
			assert_true(row->m[0].value == (i + 1) * 30000000 / 1e12);
	}
	assert_true(l->metrics.interval[n - 1].m[0].value == get(l, "real_s"));
	assert_true(sum[1] == 5);
	assert_true(sum[4] == get(l, "flush.tlbie_ric0") + get(l, "flush.tlbie_ric1") +
			      get(l, "flush.tlbie_ric2"));
	busy = get(l, "user_s") + get(l, "sys_s");
	stall = get(l, "account.invalidate_issue") + get(l, "fabric.wait_s");
	/* A cycle is 238 ps. */
	assert_true(sum[2] <= busy / 238e-12 && sum[2] > busy / 238e-12 - n - 1);
	assert_true(sum[3] <= stall / 238e-12 + 1 && sum[3] > stall / 238e-12 - n - 1);
	metrics_free(&l->metrics);
	free(plain);
	free(l);
}


/*
 * Threads flush each other's TLBs for each page; processes only their own. With INVLPGB the
 * interrupts go away, but for those until it is begun.
 */
static void test_tlb_flush2(void **state)
{
	struct lab *l;
	double ipis;

	(void)state;
	l = lab_make("milan-36", "6.12", &workload_tlb_flush2, 4);
	l->setup.pin = true;
	set(l, "iterations", 2);
	assert_int_equal(run(l), RUN_OK);
	assert_true(get(l, "ops") == 4 * 2 * 256);
	assert_true(get(l, "vmstat.pgfault") == 2 * get(l, "ops"));
	ipis = get(l, "flush.ipi");
	assert_true(ipis > 2 * get(l, "ops"));

	set(l, "by", 1);
	assert_int_equal(run(l), RUN_OK);
	assert_true(get(l, "ops") == 4 * 2 * 256);
	assert_true(get(l, "flush.ipi") == 0);

	set(l, "by", 0);
	knob(l, "x86.broadcast_flush", "on");
	assert_int_equal(run(l), RUN_OK);
	assert_true(get(l, "asid.global") == 1);
	assert_true(get(l, "flush.ipi") < ipis / 5);
	assert_true(get(l, "flush.invlpgb") > get(l, "ops") / 2);
	assert_true(get(l, "flush.invlpgb") == get(l, "flush.tlbsync"));
	free(l);
}

/* The LRU's lock takes time: with drains twice for each page, without them once for each batch. */
static void test_lru(void **state)
{
	static const char *const values[] = { "none", "batch", "drain" };
	double s = 0;

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct lab *l = lab_make("milan-36", "6.12", &workload_tlb_flush2, 4);

		l->setup.pin = true;
		set(l, "iterations", 2);
		set(l, "by", 1);
		knob(l, "mm.lru", values[i]);
		assert_int_equal(run(l), RUN_OK);
		assert_true(get(l, "ops") == 4 * 2 * 256);
		/* Of the same work. */
		assert_true(get(l, "sys_s") > (i == 2 ? 1.1 : 1.0) * s);
		s = get(l, "sys_s");
		free(l);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_flush_names),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_chasers),
		cmocka_unit_test(test_dontneed),
		cmocka_unit_test(test_ebizzy),
		cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_munmap_thp),
		cmocka_unit_test(test_no_huge_pages),
		cmocka_unit_test(test_shm_attach_refill),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_tlb_flush2),
		cmocka_unit_test(test_lru),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
