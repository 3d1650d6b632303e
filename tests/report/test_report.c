// SPDX-License-Identifier: GPL-2.0-or-later
/* The three forms of one report, byte for byte, and what must hold of any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static void add_run(struct report *r, u32 column, double factor)
{
	struct report_column *c = &r->column[column];
	struct metrics *ms;

	c->run = realloc(c->run, (c->runs + 1) * sizeof(*c->run));
	assert_non_null(c->run);
	ms = &c->run[c->runs++];
	memset(ms, 0, sizeof(*ms));
	metrics_set(ms, "real_s", 10 * factor);
	metrics_set(ms, "user_s", 1);
	metrics_set(ms, "sys_s", 40.0 / 3 * factor);
	metrics_set(ms, "ops", 4000);
	metrics_set(ms, "ops_per_s", 400 / factor);
	metrics_set(ms, "flush.tlbi_vae1is", column ? 0 : 896000);
	metrics_set(ms, "flush.dsb_ish", 8000);
	metrics_set(ms, "flush.ipi", 0);
	metrics_set(ms, "account.user", 1);
	metrics_set(ms, "account.walk", 0.000001);
	metrics_set(ms, "account.invalidate_wait", 40.0 / 3 * factor);
	metrics_set(ms, "gather.madvise", 4000);
	metrics_set(ms, "gather.madvise_nested", 3000);
	ms->digest = 0x1000 + column;
}

static void make_report(struct report *r, u32 columns)
{
	*r = (struct report){
		.version = "1.2.3", .workload = "mmap8", .machine = "m",
		.machine_summary = "a machine", .era = "6.12",
		.params = "iterations=1000", .varied = "mmu_gather.nested",
		.threads = 4, .seed = 7, .nr_columns = columns,
	};
	for (u32 i = 0; i < columns; i++) {
		snprintf(r->column[i].label, sizeof(r->column[i].label), "%s",
			 i ? "fullmm_tables" : "force_range");
		r->column[i].core = "arm64";
		for (u32 run = 0; run < 2; run++)
			add_run(r, i, (i ? 0.25 : 1) * (1 + run * 0.1));
	}
	report_note(r, "scaled: %d iterations", 1000);
	report_note(r, "scaled: %d iterations", 2000); /* digits aside, the same */
}

static char *printed(const struct report *r, char form)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	if (form == 't')
		report_text(r, false, f);
	else if (form == 'j')
		report_json(r, f);
	else
		report_csv(r, f);
	fclose(f);
	return text;
}

static const char expected_text[] =
"workload  mmap8, 4 threads, iterations=1000\n"
"machine   m: a machine\n"
"how       era 6.12, simulated, 2 runs, seeds from 7; tlblab 1.2.3\n"
"\n"
"mmu_gather.nested             force_range      fullmm_tables\n"
"real_s                              10.50    2.625  (-75.0%)\n"
"  sd                                0.707    0.177\n"
"user_s                              1.000    1.000   (+0.0%)\n"
"sys_s                               14.00    3.500  (-75.0%)\n"
"  sd                                0.943    0.236\n"
"ops_per_s                           381.8     1527 (+300.0%)\n"
"  sd                                25.71    102.9\n"
"\n"
"CPU seconds, by what they went into\n"
"user                                1.000    1.000   (+0.0%)\n"
"invalidate_wait                     14.00    3.500  (-75.0%)\n"
"\n"
"per operation\n"
"tlbi_vae1is                         224.0    0.000 (-100.0%)\n"
"dsb_ish                             2.000    2.000   (+0.0%)\n"
"\n"
"gathers that were nested, per cent\n"
"madvise                             75.00    75.00\n"
"\n"
"note  whether simulated columns differ is for --ranges to say: it varies the\n"
"      costs that are fitted or estimated, seeds do not\n"
"note  scaled: 1000 iterations\n";

static void test_text(void **state)
{
	struct report r;
	char *text;

	(void)state;
	make_report(&r, 2);
	text = printed(&r, 't');
	assert_string_equal(text, expected_text);
	free(text);
	report_free(&r);
}

/* Whatever the number of columns and the length of names. */
static void test_width(void **state)
{
	struct report r;

	(void)state;
	for (u32 columns = 1; columns <= TLBLAB_MAX_COLUMNS; columns++) {
		char *text, *line, *rest;

		make_report(&r, columns);
		if (columns % 2)
			for (u32 i = 0; i < columns; i++)
				snprintf(r.column[i].label,
					 sizeof(r.column[i].label),
					 "core=patched, mmu_gather.nested=number_%u, "
					 "x86.tlb_single_page_flush_ceiling=%u", i, i);
		r.ranges = columns % 3 == 0;
		r.native = columns % 3 == 1;
		text = printed(&r, 't');
		rest = text;
		while ((line = strsep(&rest, "\n")))
			if (strlen(line) >= 80)
				fail_msg("%u columns: %zu wide: %s", columns,
					 strlen(line), line);
		free(text);
		report_free(&r);
	}
}

static double number(const json_t *root, u32 column, const char *metric,
		     const char *what)
{
	const json_t *c = json_array_get(json_object_get(root, "columns"), column);
	const json_t *m = json_object_get(json_object_get(c, "metrics"), metric);

	assert_non_null(m);
	return json_number_value(json_object_get(m, what));
}

static void test_json(void **state)
{
	struct report r;
	char *text;
	json_t *root;
	json_error_t error;
	const char *digest;
	char expected[20];

	(void)state;
	make_report(&r, 2);
	text = printed(&r, 'j');
	root = json_loads(text, 0, &error);
	if (!root)
		fail_msg("%s", error.text);
	assert_string_equal(json_string_value(json_object_get(root, "tool")), "tlblab");
	assert_string_equal(json_string_value(json_object_get(root, "era")), "6.12");
	assert_int_equal(json_array_size(json_object_get(root, "columns")), 2);
	assert_int_equal(json_array_size(json_object_get(root, "notes")), 1);
	assert_true(number(root, 0, "real_s", "mean") == 10.5);
	assert_true(number(root, 0, "flush.tlbi_vae1is", "mean") == 896000);
	assert_true(number(root, 1, "real_s", "n") == 2);
	/* Six digits, no more. */
	assert_non_null(strstr(text, "13.3333,"));
	assert_null(strstr(text, "13.33333"));
	digest = json_string_value(json_object_get(json_array_get(
		json_object_get(root, "columns"), 1), "digest"));
	snprintf(expected, sizeof(expected), "%016llx",
		 (unsigned long long)column_digest(&r.column[1]));
	assert_string_equal(digest, expected);
	json_decref(root);
	free(text);
	report_free(&r);
}

/* A single run's digest is the column's; order and number matter. */
static void test_digest(void **state)
{
	struct report r;
	u64 both;

	(void)state;
	make_report(&r, 1);
	r.column[0].run[0].digest = 1;
	r.column[0].run[1].digest = 2;
	both = column_digest(&r.column[0]);
	r.column[0].run[0].digest = 2;
	r.column[0].run[1].digest = 1;
	assert_true(column_digest(&r.column[0]) != both);
	r.column[0].run[0].digest = 1;
	assert_true(column_digest(&r.column[0]) != 0);
	r.column[0].runs = 1;
	assert_true(column_digest(&r.column[0]) == 1);
	report_free(&r);
}

static void test_csv(void **state)
{
	static const char begin[] =
		"workload,machine,era,core,column,metric,n,mean,sd\n"
		"mmap8,m,6.12,arm64,force_range,real_s,2,10.5,0.707107\n";
	struct report r;
	char *text;

	(void)state;
	make_report(&r, 2);
	snprintf(r.column[1].label, sizeof(r.column[1].label), "a, \"b\"");
	text = printed(&r, 'c');
	assert_true(!strncmp(text, begin, strlen(begin)));
	assert_non_null(strstr(text, "\nmmap8,m,6.12,arm64,\"a, \"\"b\"\"\",user_s,2,1,0\n"));
	free(text);
	report_free(&r);
}

/* A metric that only some runs have: absent there, never zero. */
static void test_absent(void **state)
{
	struct report r;
	double x[2];
	char *text;

	(void)state;
	make_report(&r, 2);
	metrics_set(&r.column[1].run[1], "chase_loads_per_s", 5e6);
	assert_int_equal(column_values(&r.column[1], "chase_loads_per_s", x), 1);
	assert_int_equal(column_stats(&r.column[0], "chase_loads_per_s").n, 0);
	text = printed(&r, 't');
	assert_non_null(strstr(text,
		"chase_loads_per_s                       -  5000000\n"));
	free(text);
	report_free(&r);
}

static void add_intervals(struct metrics *ms, u32 n)
{
	static const char *const name[] = {
		"time_s", "ops", "cycles", "stall_cycles", "tlbie", "hcalls",
	};

	ms->interval = calloc(n, sizeof(*ms->interval));
	assert_non_null(ms->interval);
	ms->nr_intervals = n;
	for (u32 i = 0; i < n; i++) {
		struct interval *row = &ms->interval[i];

		row->n = 6;
		for (u32 k = 0; k < 6; k++) {
			strcpy(row->m[k].name, name[k]);
			/* Of a thousand CPUs at 4.2 GHz. */
			row->m[k].value = k == 2 ? 4.2e12 : k == 0 ? (i + 1) / 8.0 : i + k;
		}
	}
}

static const char interval_rows[] =
"intervals of force_range, run 2\n"
"       time_s          ops       cycles stall_cycles        tlbie       hcalls\n"
"     0.125000            1 4200000000000            3            4            5\n"
"     0.250000            2 4200000000000            4            5            6\n"
"\n";

/* Of the runs that have them, in every form; in none if there are none. */
static void test_intervals(void **state)
{
	struct report r;
	json_t *root, *runs, *rows;
	char *text;

	(void)state;
	make_report(&r, 2);
	add_intervals(&r.column[0].run[1], 2);
	text = printed(&r, 't');
	assert_non_null(strstr(text, interval_rows));
	assert_null(strstr(text, "intervals of force_range, run 1"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") < 80);
	free(text);
	text = printed(&r, 'c');
	assert_non_null(strstr(text, "\nmmap8,m,6.12,arm64,force_range,"
				     "interval.2.0.250000.tlbie,1,5,0\n"));
	assert_null(strstr(text, "interval.1."));
	free(text);
	text = printed(&r, 'j');
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	runs = json_object_get(json_array_get(json_object_get(root, "columns"), 0),
			       "intervals");
	assert_int_equal(json_array_size(runs), 2);
	assert_int_equal(json_array_size(json_array_get(runs, 0)), 0);
	rows = json_array_get(runs, 1);
	assert_int_equal(json_array_size(rows), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 1),
							    "hcalls")), 6);
	assert_null(json_object_get(json_array_get(json_object_get(root, "columns"), 1),
				    "intervals"));
	json_decref(root);
	free(text);
	report_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
