// SPDX-License-Identifier: GPL-2.0-or-later
/* Which checks a file means, with and without -s; and what is printed of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_plan.h"
#include "cli/check_report.h"

static const char *const on_off[] = { "off", "on", NULL };
static const char *const kinds[] = { "ignore", "range", "fullmm", NULL };

static const struct knob nested = {
	.name = "mmu_gather.nested", .values = kinds, .def = 2, .max = 2,
	.kind = KNOB_POLICY,
};
static const struct knob rwsem = {
	.name = "mm.rwsem", .values = on_off, .def = 1, .max = 1, .kind = KNOB_POLICY,
};
static const struct knob pcid = {
	.name = "x86.pcid", .values = on_off, .def = 1, .max = 1, .kind = KNOB_HW,
};
static const struct knob ttl = {
	.name = "arm64.ttl", .values = on_off, .max = 1, .kind = KNOB_HW,
};
static const struct knob *const x86_knobs[] = { &nested, &rwsem, &pcid, NULL };
static const struct knob *const arm64_knobs[] = { &nested, &rwsem, &ttl, NULL };
static const char *const old_settings[] = { "mmu_gather.nested=range", NULL };
static const struct era eras[] = {
	{ "4.14", "old", old_settings }, { "6.12", "default", NULL },
	{ NULL, NULL, NULL },
};
static const struct core_module x86 = {
	.arch = "x86", .knobs = x86_knobs, .eras = eras,
};
static const struct core_module arm64 = {
	.arch = "arm64", .knobs = arm64_knobs, .eras = eras,
};

/* One line per check. */
static char text[4000];

static void describe(const struct check_plan *p)
{
	size_t len = 0;

	text[0] = 0;
	for (u32 i = 0; i < p->n; i++) {
		const struct check *c = &p->check[i];
		char shown[CHECK_SHOWN_MAX], expected[CHECK_EXPECTED_MAX];

		check_shown_text(c, shown);
		check_expected_text(c, expected);
		len += snprintf(text + len, sizeof(text) - len, "%s %s %s%s: %s\n",
				sc_arch_names[c->arch], c->era,
				c->core ? "" : "skipped", shown, expected);
	}
}

static struct check_plan *plan(struct check_args *args, const char *file)
{
	struct check_plan *p = calloc(1, sizeof(*p));
	char error[256] = "";
	struct scenario *sc = scenario_parse(file, strlen(file), "t.tlb", error,
					     sizeof(error));

	assert_string_equal(error, "");
	assert_true(p && sc);
	p->args = args;
	p->core[XARCH_X86] = (struct core){ "x86", &x86 };
	p->core[XARCH_ARM64] = (struct core){ "arm64", &arm64 };
	check_plan_add(p, sc);
	return p;
}

static void expect(struct check_args args, const char *file, const char *checks)
{
	struct check_plan *p = plan(&args, file);

	describe(p);
	check_plan_free(p);
	assert_string_equal(text, checks);
}

#define WITH(...) { .set = { __VA_ARGS__ }, \
	.nr_sets = sizeof((struct check_set[]){ __VA_ARGS__ }) / sizeof(struct check_set) }

static const char two[] =
	"arch: x86\ncpu0: load(0)\n"
	"expect: violation STALE-READ with mmu_gather.nested=ignore\n"
	"expect: pass\n";

static void test_expectations(void **state)
{
	(void)state;
	/* Each runs with its own knobs. */
	expect((struct check_args){ 0 }, two,
	       "x86 6.12 mmu_gather.nested=ignore: violation STALE-READ\n"
	       "x86 6.12 : pass\n");
	/* -s: those that agree. The default counts as a value. */
	expect((struct check_args)WITH({ "mmu_gather.nested", "ignore" }), two,
	       "x86 6.12 mmu_gather.nested=ignore: violation STALE-READ\n");
	expect((struct check_args)WITH({ "mmu_gather.nested", "fullmm" }), two,
	       "x86 6.12 mmu_gather.nested=fullmm: pass\n");
	expect((struct check_args)WITH({ "mm.rwsem", "on" }), two,
	       "x86 6.12 mmu_gather.nested=ignore, mm.rwsem=on: violation STALE-READ\n"
	       "x86 6.12 mm.rwsem=on: pass\n");
	/* None agrees: pass. */
	expect((struct check_args)WITH({ "mmu_gather.nested", "range" }), two,
	       "x86 6.12 mmu_gather.nested=range: pass\n");
	expect((struct check_args)WITH({ "mmu_gather.nested", "ignore" },
				       { "mm.rwsem", "off" }), two,
	       "x86 6.12 mmu_gather.nested=ignore, mm.rwsem=off: pass\n");
	/* No expectation at all: pass. */
	expect((struct check_args){ 0 }, "arch: x86\ncpu0: load(0)\n",
	       "x86 6.12 : pass\n");
}

static void test_eras(void **state)
{
	(void)state;
	expect((struct check_args){ .era = "4.14" }, two,
	       "x86 4.14 mmu_gather.nested=ignore: violation STALE-READ\n"
	       "x86 4.14 : pass\n");
	expect((struct check_args){ 0 }, "era: 4.14\narch: x86\ncpu0: load(0)\n",
	       "x86 4.14 : pass\n");
	expect((struct check_args){ .era = "6.12" },
	       "era: 4.14\narch: x86\ncpu0: load(0)\n", "x86 6.12 : pass\n");
	/* The era's value agrees, though no line names it. */
	expect((struct check_args){ .era = "4.14",
		       .set = { { "mmu_gather.nested", "range" } }, .nr_sets = 1 },
	       two, "x86 4.14 mmu_gather.nested=range: pass\n");
}

static void test_archs(void **state)
{
	static const char file[] =
		"cpu0: load(0)\nfeatures: arm64.ttl=on\n"
		"expect: violation on arm64 with mmu_gather.nested=ignore\n"
		"expect: pass with x86.pcid=off\n";

	(void)state;
	/* The file names no architecture: all; there is no core for powerpc. */
	expect((struct check_args){ 0 }, file,
	       "x86 6.12 x86.pcid=off: pass\n"
	       "arm64 6.12 mmu_gather.nested=ignore, arm64.ttl=on: violation\n"
	       "powerpc 6.12 skipped: pass\n");
	expect((struct check_args){ .archs = 1U << XARCH_ARM64 }, file,
	       "arm64 6.12 mmu_gather.nested=ignore, arm64.ttl=on: violation\n");
	/* Of another architecture: no matter here. */
	expect((struct check_args){ .archs = 1U << XARCH_X86 | 1U << XARCH_ARM64,
		       .set = { { "x86.pcid", "off" } }, .nr_sets = 1 }, file,
	       "x86 6.12 x86.pcid=off: pass\n"
	       "arm64 6.12 mmu_gather.nested=ignore, arm64.ttl=on: violation\n");
}

static void test_as_expected(void **state)
{
	struct check pass = { 0 }, any = { .violation = true };
	struct check stale = { .violation = true, .rule = XRULE_STALE_READ };

	(void)state;
	assert_true(check_as_expected(&pass, CHECK_PASS, 0));
	assert_false(check_as_expected(&pass, CHECK_VIOLATION, XRULE_LEAK));
	/* Running out of time proves nothing. */
	assert_false(check_as_expected(&pass, CHECK_INCONCLUSIVE, 0));
	assert_false(check_as_expected(&stale, CHECK_INCONCLUSIVE, 0));
	assert_false(check_as_expected(&stale, CHECK_PASS, 0));
	assert_true(check_as_expected(&stale, CHECK_VIOLATION, XRULE_STALE_READ));
	assert_false(check_as_expected(&stale, CHECK_VIOLATION, XRULE_LEAK));
	/* What can be written can be read; not the other way round. */
	assert_true(check_as_expected(&stale, CHECK_VIOLATION, XRULE_STALE_WRITE));
	stale.rule = XRULE_STALE_WRITE;
	assert_false(check_as_expected(&stale, CHECK_VIOLATION, XRULE_STALE_READ));
	assert_true(check_as_expected(&any, CHECK_VIOLATION, XRULE_LEAK));
}

/* ----------------------------------------------------------------- reports */

static char line1[] = "1. cpu0 clears the entry", line2[] = "2. # \"quoted\" \\";

/* Three checks of one file: as expected, not, undecided; and one skipped. */
static char *report(enum check_format format, bool stopped)
{
	struct check_args args = { .format = format };
	struct check_plan *p = plan(&args,
		"arch: x86, powerpc\ncpu0: load(0)\n"
		"expect: violation STALE-READ with mmu_gather.nested=ignore\n"
		"expect: pass\nexpect: pass with x86.pcid=off\n");
	struct check_outcome o[4] = {
		{ .verdict = CHECK_VIOLATION, .rule = XRULE_STALE_READ,
		  .as_expected = true, .bound = 1, .schedules = 7, .seconds = 0.25,
		  .id = "0123abcd", .story = { line1, line2 }, .nr_story = 2 },
		{ .verdict = CHECK_PASS, .as_expected = true, .bound = 2,
		  .complete = true, .schedules = 1000, .seconds = 1.5 },
		{ .verdict = CHECK_INCONCLUSIVE, .schedules = 1 },
		{ .verdict = CHECK_SKIPPED, .as_expected = true },
	};
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);
	struct check_report *r = check_report_begin(&args, p->n, f);

	assert_int_equal(p->n, 4);
	for (u32 i = 0; i < (stopped ? 1 : 4); i++)
		check_report_add(r, &p->check[i], &o[i]);
	check_report_end(r, stopped);
	fclose(f);
	check_plan_free(p);
	return out;
}

static void test_text(void **state)
{
	char *out = report(CHECK_TEXT, false);

	(void)state;
	assert_string_equal(out,
		"t, x86, mmu_gather.nested=ignore: violation STALE-READ, as expected "
		"(7 schedules in 0.2 s)\n"
		"    1. cpu0 clears the entry\n"
		"    2. # \"quoted\" \\\n"
		"    step by step: tlblab replay 0123abcd\n"
		"t, x86: pass (complete to 2 preemptions; 1000 schedules in 1.5 s)\n"
		"t, x86, x86.pcid=off: inconclusive; EXPECTED pass (systematic: the "
		"budget ended after 1 schedule in 0.0 s)\n"
		"t, powerpc: skipped, no core for it was built\n"
		"2 of 3 checks as expected, 1 skipped\n");
	assert_null(strstr(out, "exhaustive"));
	free(out);
}

static void test_ktap(void **state)
{
	char *out = report(CHECK_KTAP, false);

	(void)state;
	assert_string_equal(out,
		"KTAP version 1\n1..4\n"
		"# violation STALE-READ, expected violation STALE-READ (7 schedules in "
		"0.2 s)\n"
		"# 1. cpu0 clears the entry\n# 2. # \"quoted\" \\\n"
		"# tlblab replay 0123abcd\n"
		"ok 1 t, x86, mmu_gather.nested=ignore\n"
		"# pass, expected pass (complete to 2 preemptions; 1000 schedules in "
		"1.5 s)\n"
		"ok 2 t, x86\n"
		"# inconclusive, expected pass (systematic: the budget ended after 1 "
		"schedule in 0.0 s)\n"
		"not ok 3 t, x86, x86.pcid=off\n"
		"ok 4 t, powerpc # SKIP no core for it was built\n");
	free(out);
	out = report(CHECK_KTAP, true);
	assert_non_null(strstr(out, "\nBail out! stopped, 3 checks not begun\n"));
	free(out);
}

static void test_json(void **state)
{
	char *out = report(CHECK_JSON, false);
	json_t *root = json_loads(out, JSON_REJECT_DUPLICATES, NULL), *all, *r;
	static const char *const keys[] = {
		"scenario", "arch", "era", "knobs", "expected", "verdict", "rule",
		"bound", "complete", "schedules", "seconds", "id", "story",
	};

	(void)state;
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "tool")), "tlblab");
	all = json_object_get(root, "results");
	assert_int_equal(json_array_size(all), 3);
	for (u32 i = 0; i < 3; i++) {
		r = json_array_get(all, i);
		assert_int_equal(json_object_size(r), sizeof(keys) / sizeof(keys[0]));
		for (u32 k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			assert_non_null(json_object_get(r, keys[k]));
	}
	r = json_array_get(all, 0);
	assert_string_equal(json_string_value(json_object_get(r, "expected")),
			    "violation STALE-READ");
	assert_string_equal(json_string_value(json_object_get(r, "rule")), "STALE-READ");
	assert_string_equal(json_string_value(json_object_get(
		json_object_get(r, "knobs"), "mmu_gather.nested")), "ignore");
	assert_string_equal(json_string_value(json_array_get(
		json_object_get(r, "story"), 1)), line2);
	r = json_array_get(all, 1);
	assert_true(json_is_null(json_object_get(r, "rule")));
	assert_true(json_is_null(json_object_get(r, "id")));
	assert_true(json_is_true(json_object_get(r, "complete")));
	assert_int_equal(json_integer_value(json_object_get(r, "bound")), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(all, 2),
			    "verdict")), "inconclusive");
	json_decref(root);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expectations),
		cmocka_unit_test(test_eras),
		cmocka_unit_test(test_archs),
		cmocka_unit_test(test_as_expected),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_ktap),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
