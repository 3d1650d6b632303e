// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every model of models/ does what it says: the bug is found, under the rule that
 * is named, and replays; the fix is clean to the completed bound. Litmus models reach
 * exactly the outcomes of their tables. And models that are no good are refused, or
 * their crash is told.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/check_model.h"
#include "cli/cli.h"

static const char *tree(void)
{
	const char *src = getenv("SRC");

	return src ? src : ".";
}

static void search_for(const struct xprogram *p, struct xworld **world,
		       struct xverdict *v)
{
	/* Sanitizers cost a factor of ten. */
	const char *sanitized = getenv("SANITIZED");
	const struct xsearch how = {
		.strategy = XSTRATEGY_SYSTEMATIC,
		.max_bound = sanitized && *sanitized ? 1 : 2,
		.budget_s = 100, .workers = 2, .reduce = true,
	};
	char error[400] = "";

	*world = xworld_create(p, error, sizeof(error));
	if (!*world)
		fail_msg("%s: %s", p->name, error);
	xsearch_run(*world, &how, v);
}

static void check_replay(struct xworld *w, struct xverdict *v)
{
	struct xresult again;

	xsearch_minimise(w, v);
	assert_true(xsearch_replay(w, v, &again, NULL, NULL));
	assert_int_equal(again.outcome, XOUT_VIOLATION);
	assert_int_equal(again.rule, v->result.rule);
}

static void check_run(struct check_model_file *f, u32 i)
{
	struct xverdict v = { 0 };
	struct xworld *w;
	char why[500] = "", text[100];

	search_for(check_model_program(f, i), &w, &v);
	if (check_model_judge(f, i, &v, why, sizeof(why)) != CHECK_MODEL_OK)
		fail_msg("%s on %s, %s: %s", f->info->name,
			 xmodel_arch_name(f->run[i].arch),
			 check_model_text(f, i, text, sizeof(text)), why);
	if (v.found)
		check_replay(w, &v);
	xverdict_free(&v);
	xworld_destroy(w);
}

/* A pair: some run expects a violation, another none. */
static void check_pair(const struct check_model_file *f)
{
	bool violation = false, pass = false;

	for (u32 i = 0; i < f->nr_runs; i++)
		if (strcmp(f->run[i].expected, "pass"))
			violation = true;
		else
			pass = true;
	assert_true(violation && pass);
}

static void check_file(const char *path, bool litmus)
{
	const struct check_model_args all = { 0 };
	struct check_model_file f;

	assert_int_equal(check_model_load(path, &all, &f), 0);
	if (litmus)
		assert_non_null(f.info->outcome[0].text);
	else
		check_pair(&f);
	for (u32 i = 0; i < f.nr_runs; i++)
		check_run(&f, i);
	check_model_free(&f);
}

static void check_folder(const char *folder, bool litmus, size_t at_least)
{
	char pattern[1000];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/%s/*.c", tree(), folder);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= at_least);
	for (size_t i = 0; i < g.gl_pathc; i++)
		check_file(g.gl_pathv[i], litmus);
	globfree(&g);
}

static void test_bugs_and_fixes(void **state)
{
	(void)state;
	check_folder("models", false, 8);
}

static void test_litmus(void **state)
{
	(void)state;
	check_folder("models/litmus", true, 6);
}

/* ---- the how-to's model is one ---- */

/* Copies the first ```c block of a page. */
static void extract(const char *page, FILE *out)
{
	char path[1000], line[300];
	bool inside = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tree(), page);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (inside && !strcmp(line, "```\n"))
			break;
		if (inside)
			fputs(line, out);
		inside |= !strcmp(line, "```c\n");
	}
	assert_true(inside);
	fclose(f);
}

static void test_howto(void **state)
{
	char path[] = "/tmp/tlblab-howto-XXXXXX.c";
	int fd = mkstemps(path, 2);
	FILE *out;

	(void)state;
	assert_true(fd >= 0);
	out = fdopen(fd, "w");
	assert_non_null(out);
	extract("docs/howto-model.md", out);
	fclose(out);
	check_file(path, false);
	remove(path);
}

/* ---- bad models ---- */

static struct xmodel *load_bad(const char *name, char *error, size_t size)
{
	char path[1000], include[1000];

	snprintf(path, sizeof(path), "%s/tests/models/bad/%s.c", tree(), name);
	snprintf(include, sizeof(include), "%s/include", tree());
	return xmodel_load(path, include, error, size);
}

static void refused(const char *name, const char *because)
{
	char error[8000] = "";

	assert_null(load_bad(name, error, sizeof(error)));
	if (!strstr(error, because))
		fail_msg("%s: '%s' is not in: %s", name, because, error);
}

static void test_refused(void **state)
{
	(void)state;
	refused("syntax", "check_user_stor");
	refused("static", "'times_run'");
	refused("nomodel", "CHECK_MODEL()");
	refused("cpus", ".cpus");
	refused("is-not-there", "No such file");
}

static void test_bad_options(void **state)
{
	static const char *const bad[] = { "how=never", "how", "hows=null" };
	s64 values[CHECK_MAX_OPTIONS];
	char error[8000] = "";
	struct xmodel *m = load_bad("crash", error, sizeof(error));

	(void)state;
	assert_non_null(m);
	xmodel_default_options(xmodel_info(m), values);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(xmodel_parse_options(xmodel_info(m), bad[i], values, error,
						  sizeof(error)));
	assert_non_null(strstr(error, "it has: how"));
	xmodel_free(m);
}

/* The crash is a violation with a schedule that replays, and we live on. */
static void test_crashes(void **state)
{
	char error[8000] = "";
	struct xmodel *m = load_bad("crash", error, sizeof(error));

	(void)state;
	assert_non_null(m);
	for (s64 how = 0; how <= xmodel_info(m)->option[0].max; how++) {
		s64 values[CHECK_MAX_OPTIONS] = { how };
		struct xverdict v = { 0 };
		struct xworld *w;

		search_for(xmodel_program(m, XARCH_X86, values), &w, &v);
		assert_true(v.found);
		assert_int_equal(v.result.rule, XRULE_ASSERT);
		assert_non_null(strstr(v.result.detail, "the model crashed"));
		check_replay(w, &v);
		xverdict_free(&v);
		xworld_destroy(w);
	}
	xmodel_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_bugs_and_fixes),
		cmocka_unit_test(test_litmus),
		cmocka_unit_test(test_howto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
