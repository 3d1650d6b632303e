// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calibration, of a host that is itself simulated: what is measured is a machine whose costs are
 * known. Nothing here takes the time of anything.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/core.h"
#include "cli/knobs.h"
#include "cli/point.h"
#include "machine/desc_parts.h"
#include "native/calibrate.h"
#include "native/hostload.h"

static struct core core;
static s64 knobs[TLBLAB_MAX_KNOBS];

static struct calibration *start(void)
{
	struct calibration *c = calloc(1, sizeof(*c));
	char error[512] = "";

	c->desc = calloc(1, sizeof(*c->desc));
	snprintf(c->host.name, sizeof(c->host.name), "host");
	snprintf(c->host.summary, sizeof(c->host.summary), "two CPUs");
	snprintf(c->host.topology, sizeof(c->host.topology), "package:1 numa:1 core:2 pu:1");
	snprintf(c->host.release, sizeof(c->host.release), "6.18.1");
	snprintf(c->host.era, sizeof(c->host.era), "6.18");
	c->host.memory_bytes = 4ULL << 30;
	c->host.nr_cpus = 2;
	c->host.feature[0] = (struct host_feature){ "x86.pcid", "on", "told" };
	c->host.feature[1] = (struct host_feature){ "x86.invpcid", "on", "told" };
	c->host.feature[2] = (struct host_feature){ "x86.pti", "off", "told" };
	c->host.nr_features = 3;
	c->host.cpu[PROBE_SMT] = c->host.cpu[PROBE_FAR] = -1;
	c->host.cpu[PROBE_NEAR] = 1;
	if (!calibration_init(c, error, sizeof(error)))
		fail_msg("%s", error);
	knobs_resolve(&core, era_find(core.module, "6.18"), c->desc, knobs);
	c->core = core.module;
	c->knobs = knobs;
	return c;
}

static void finish(struct calibration *c)
{
	free(c->desc);
	free(c);
}

static bool is_sink(const char *cost)
{
	for (u32 i = 0; calibrate_probes[i].name; i++)
		for (u32 k = 0; k < CALIBRATE_MAX_SINKS && calibrate_probes[i].sinks[k]; k++)
			if (!strcmp(calibrate_probes[i].sinks[k], cost))
				return true;
	return false;
}

/*
 * Some costs larger, some smaller, by no rule that the solver could know. What no loop is about
 * stays: of that it knows nothing.
 */
static void disturb(struct machine_desc *d)
{
	static const u32 percent[] = { 60, 130, 85, 170, 110, 75, 145 };

	d->jitter_pct = 0;
	for (u32 i = 0; i < NR_ALL_COSTS; i++) {
		struct cost *cost = cost_slot(d, i);

		if (is_sink(cost_name(i)))
			cost->ps = cost->ps * percent[i % 7] / 100;
	}
}

static double dontneed_s(const struct machine_desc *d, const char *touch, u32 threads)
{
	struct point p = {
		.workload = "dontneed", .era = "6.18", .threads = threads, .pin = true,
		.params = { "iterations=100", touch, "hint=0x200000000000" },
	};
	struct metrics ms;

	point_simulate(&p, d, 1, &ms);
	return point_metric(&ms, "real_s");
}

static void solved(struct calibration *c, const struct machine_desc *truth)
{
	static const char *const touch[] = { "touch=1", "touch=33", "touch=34" };

	for (u32 i = 0; calibrate_probes[i].name; i++) {
		const struct probe_time *t = &c->time[i];

		assert_int_equal(t->known, c->host.cpu[calibrate_probes[i].distance] >= 0);
		if (!t->known || !calibrate_probes[i].sinks[0])
			continue;
		if (t->floored)
			fail_msg("%s: nothing left for it", calibrate_probes[i].name);
		if (fabs(t->model / t->mid - 1) > 0.02)
			fail_msg("%s: %g, not %g", calibrate_probes[i].name, t->model, t->mid);
	}
	/* And what no loop is about. */
	for (u32 i = 0; i < 3; i++) {
		for (u32 threads = 1; threads <= 2; threads++) {
			double is = dontneed_s(c->desc, touch[i], threads);
			double was = dontneed_s(truth, touch[i], threads);

			/* Two threads: how their sleeps meet is chance, too. */
			if (fabs(is / was - 1) > (threads == 1 ? 0.1 : 0.25))
				fail_msg("dontneed %s, %u threads: %g, not %g", touch[i],
					 threads, is, was);
		}
	}
}

/* The file says what the description says. */
static void round_trip(struct calibration *c)
{
	struct machine_desc *back = calloc(1, sizeof(*back));
	char error[512] = "", *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	u32 measured = 0;

	calibration_write(c, f);
	fclose(f);
	if (machine_desc_parse(text, len, "host.yaml", back, error, sizeof(error)))
		fail_msg("%s", error);
	for (u32 i = 0; i < NR_ALL_COSTS; i++) {
		const struct cost *a = cost_slot(c->desc, i), *b = cost_slot(back, i);

		if (a->ps != b->ps || a->lo_ps != b->lo_ps || a->hi_ps != b->hi_ps)
			fail_msg("%s: not what was written", cost_name(i));
		assert_int_equal(b->kind == COST_MEASURED, c->measured[i]);
		measured += c->measured[i];
	}
	assert_true(measured > 30);
	assert_int_equal(back->nr_cpus, 2);
	assert_non_null(strstr(text, "# Written by `tlblab calibrate`. era: 6.18"));
	assert_null(strstr(text, "The host was loaded"));
	free(text);
	free(back);
}

static void test_recovers(void **state)
{
	struct machine_desc *truth = calloc(1, sizeof(*truth));
	struct calibration *c = start();
	char error[512] = "";

	(void)state;
	*truth = *c->desc;
	disturb(truth);
	if (!calibrate_measure(c, 4, probe_simulated, truth, error, sizeof(error)) ||
	    !calibrate_solve(c, error, sizeof(error)))
		fail_msg("%s", error);
	solved(c, truth);
	round_trip(c);
	free(truth);
	finish(c);
}

static void test_forced(void **state)
{
	struct calibration *c = start();
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	c->forced = true;
	calibration_write(c, f);
	fclose(f);
	assert_non_null(strstr(text, "The host was loaded"));
	free(text);
	finish(c);
}

static bool broken(void *arg, const struct calibration *c, const struct calibrate_probe *p,
		   double *seconds, char *error, size_t size)
{
	(void)arg, (void)c, (void)p, (void)seconds;
	snprintf(error, size, "no clock");
	return false;
}

static void test_failure(void **state)
{
	struct calibration *c = start();
	char error[64] = "";

	(void)state;
	assert_false(calibrate_measure(c, 4, broken, NULL, error, sizeof(error)));
	assert_string_equal(error, "no clock");
	finish(c);
}

/* ---- is the host loaded? ---- */

static void test_verdict(void **state)
{
	static const struct {
		struct hostload load;
		const char *why;	/* NULL: quiet */
	} cases[] = {
		{ { .cpus = 2 }, NULL },
		{ { .cpus = 2, .busy_pct = 4.9, .steal_pct = 0.9, .lost_pct = 2.9 }, NULL },
		{ { .cpus = 2, .busy_pct = 50 }, "others use 50 % of the CPUs" },
		{ { .cpus = 2, .steal_pct = 7 }, "the hypervisor kept 7 % of the CPUs" },
		{ { .cpus = 2, .lost_pct = 48, .lost_cpu = 1 },
		  "a thread alone on CPU 1 lost 48 % of its time" },
	};
	char why[160];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool quiet = hostload_verdict(&cases[i].load, why, sizeof(why));

		assert_int_equal(quiet, cases[i].why == NULL);
		assert_string_equal(why, cases[i].why ? cases[i].why : "");
	}
}

static void test_stat(void **state)
{
	struct cpu_ticks a, b;
	struct hostload load = { 0 };

	(void)state;
	assert_true(hostload_parse_stat("cpu  100 0 50 850 0 0 0 0 0 0\n", &a));
	assert_true(hostload_parse_stat("cpu  150 10 80 890 20 0 0 50 0 0\n", &b));
	hostload_between(&a, &b, &load);
	assert_true(fabs(load.busy_pct - 45) < 1e-9);
	assert_true(fabs(load.steal_pct - 25) < 1e-9);
	/* An old kernel, with four columns. */
	assert_true(hostload_parse_stat("cpu 1 2 3 4\n", &a));
	assert_int_equal(a.total, 10);
	assert_int_equal(a.steal, 0);
	assert_false(hostload_parse_stat("intr 1 2 3 4\n", &a));
	assert_false(hostload_parse_stat("", &a));
	hostload_between(&b, &b, &load);
	assert_true(load.busy_pct == 0 && load.steal_pct == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recovers),
		cmocka_unit_test(test_forced),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_stat),
	};

	if (!core_load_arch(&core, "x86")) {
		printf("no core for x86\n");
		return 77;
	}
	return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
