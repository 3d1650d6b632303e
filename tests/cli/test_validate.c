// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of `tlblab validate`, from figures made up here; and that its own rows make sense. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/validate.h"

static char *text;
static size_t len;

static FILE *open_text(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &len);
}

static void test_row(void **state)
{
	const struct validate_row row = {
		.section = "S9", .what = "a thing", .unit = "s", .published = 4,
		.a = { .machine = "m", .point = { .era = "6.12" } },
	};
	struct validate_row fitted = row;
	const struct validate_result res = { .model = 5, .lo = 4.5, .hi = 6 };
	FILE *f = open_text();

	(void)state;
	fitted.fitted = "cost_x";
	validate_print(&row, &res, NULL, false, f);
	validate_print(&fitted, &res, &row, true, f);
	validate_print(&fitted, &res, &fitted, true, f);
	fclose(f);
	assert_ptr_equal(strstr(text, "S9"), text);
	assert_null(strstr(text + 1, "S9"));
	assert_null(strstr(strstr(text, "m, era 6.12") + 1, "m, era 6.12"));
	assert_non_null(strstr(text, "    4.000     5.000  1.250 p s\n"));
	assert_non_null(strstr(text, "    4.000     5.000      4.5        6 f s\n"));
	assert_null(strstr(strstr(text, "f: cost_x") + 1, "f: cost_x"));
}

/* It fits a mail, whatever the row. */
static void test_width(void **state)
{
	const struct validate_result res = { .model = 12345.678, .lo = 1e-9, .hi = 1e9 };

	(void)state;
	for (const struct validate_row *r = validate_rows; r->section; r++) {
		FILE *f = open_text();

		validate_print(r, &res, NULL, true, f);
		fclose(f);
		for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
			assert_true(strcspn(p, "\n") <= 78);
	}
}

static void test_summary(void **state)
{
	double error[] = { 0.5, 0.1, 0.02, 0.3 };
	FILE *f = open_text();

	(void)state;
	validate_summary(error, 4, f);
	fclose(f);
	assert_non_null(strstr(text, "4 figures predicted (p): median error 20 %, worst 50 %"));
}

static u32 points(void)
{
	u32 n = 0;

	while (native_points[n].what)
		n++;
	return n;
}

static void test_headline(void **state)
{
	u32 n = points(), worst, free_points = 0;
	struct native_result *res = calloc(n, sizeof(*res));

	(void)state;
	for (u32 i = 0; i < n; i++) {
		/* What was calibrated does not count, however wrong. */
		res[i].ratio = native_points[i].calibrated ? 100 : 1.1;
		res[i].known = true;
		free_points += !native_points[i].calibrated;
	}
	assert_true(free_points >= 8);
	assert_true(fabs(native_headline(res, n, UINT32_MAX, &worst) - 0.1) < 1e-9);
	res[1].ratio = 0.5;
	assert_true(fabs(native_headline(res, n, UINT32_MAX, &worst) - 0.1) < 1e-9);
	assert_int_equal(worst, 1);
	/* mmap8 with two threads is not among those with one. */
	native_headline(res, n, 1, &worst);
	assert_true(worst != 1);
	for (u32 i = 0; i < n; i++)
		res[i].known = false;
	assert_true(native_headline(res, n, UINT32_MAX, &worst) == 0);
	assert_int_equal(worst, n);
	free(res);
}

static void test_native_table(void **state)
{
	u32 n = points();
	struct native_result *res = calloc(n, sizeof(*res));
	FILE *f = open_text();

	(void)state;
	for (u32 i = 0; i < n; i++)
		res[i] = (struct native_result){
			.known = native_points[i].point.threads == 1, .predicted_ns = 90,
			.measured_ns = 100, .ratio = 0.9, .lo = 0.8, .hi = 1.0,
		};
	native_print(res, n, f);
	fclose(f);
	assert_non_null(strstr(text, "       90.0        100.0   0.900   0.800 1.000\n"));
	assert_non_null(strstr(text, "a system call                      *"));
	assert_non_null(strstr(text, "34 pages over 33  "));
	/* A point that could not be run is left out, and what is made of it. */
	assert_null(strstr(text, "2 threads"));
	assert_null(strstr(text, "threads over processes"));
	assert_non_null(strstr(text, "median error of what was not calibrated: 10.0 %"));
	free(res);
}

static void test_rows_are_sound(void **state)
{
	(void)state;
	for (const struct validate_row *r = validate_rows; r->section; r++) {
		assert_true(r->published > 0 && r->what && r->unit);
		assert_true(r->a.machine && r->a.metric && r->a.scale > 0);
		assert_int_equal(r->how != VALIDATE_FIGURE, r->b.machine != NULL);
		assert_true(r->a.point.threads > 0 && r->a.point.era);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_headline),
		cmocka_unit_test(test_native_table),
		cmocka_unit_test(test_rows_are_sound),
	};
	int ret = cmocka_run_group_tests_name("validate", tests, NULL, NULL);

	free(text);
	return ret;
}
