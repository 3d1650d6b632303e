// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Litmus tests: herd's report of each file; of a folder the observations, one a line, and
 * how the verdicts compare with its kinds.txt. Judged one way only: an outcome that is
 * forbidden and reached, or required and missed, is a defect of the machine (exit 1);
 * one that is allowed and not reached makes it incomplete.
 */
#include "cli/check_litmus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/litmus_kinds.h"
#include "litmus/litmus.h"

struct tally {
	u32 n, judged;
	u32 expected[LIT_UNFINISHED + 1];	/* by kind expected */
	u32 as_expected[LIT_UNFINISHED + 1];
	u32 forbidden_reached, required_missed, unsupported, unfinished;
};

struct checker {
	const struct check_args *args;
	const volatile int *stop;
	struct lit_machines *machines;
	struct litmus_kinds *kinds;
	struct tally tally;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int is_litmus(const struct dirent *d)
{
	return ends_with(d->d_name, ".litmus");
}

static int list(const char *path, struct dirent ***names)
{
	int n = scandir(path, names, is_litmus, alphasort);

	return n < 0 ? 0 : n;
}

static void free_list(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static bool path_is_litmus(const char *path)
{
	struct dirent **names = NULL;
	int n;

	if (!is_folder(path))
		return ends_with(path, ".litmus");
	n = list(path, &names);
	free_list(names, n);
	return n;
}

bool check_is_litmus(const struct check_args *args)
{
	u32 n = 0;

	for (u32 i = 0; i < args->nr_paths; i++)
		n += path_is_litmus(args->path[i]);
	if (n && n < args->nr_paths)
		die("litmus tests and other files are checked apart");
	return n;
}

/* ---------------------------------------------------------------- one test */

/* False: the machine is wrong. */
static bool judge(struct checker *c, const struct litmus *t, const struct lit_result *r,
		  int expected)
{
	struct tally *tally = &c->tally;

	tally->n++;
	tally->unsupported += r->kind == LIT_UNSUPPORTED_KIND;
	tally->unfinished += r->kind == LIT_UNFINISHED;
	if (expected < 0 && t->quantifier == LIT_NOT_EXISTS)
		expected = LIT_FORBIDDEN;
	if (expected < 0 && t->quantifier == LIT_FORALL)
		expected = LIT_REQUIRED;
	if (expected < 0 || r->kind == LIT_UNSUPPORTED_KIND || r->kind == LIT_UNFINISHED)
		return true;
	tally->judged++;
	tally->expected[expected]++;
	tally->as_expected[expected] += r->kind == (enum lit_kind)expected;
	if (expected == LIT_FORBIDDEN && r->nr_positive) {
		tally->forbidden_reached++;
		return false;
	}
	if (expected == LIT_REQUIRED && r->kind != LIT_REQUIRED) {
		tally->required_missed++;
		return false;
	}
	return true;
}

static void report(const struct checker *c, const struct litmus *t, const struct lit_result *r,
		   int expected, bool in_folder, bool right)
{
	char line[300];

	if (!in_folder || c->args->verbose) {
		litmus_print(t, r, stdout);
		if (!right)
			printf("WRONG: %s is %s\n\n", t->name, lit_kind_names[expected < 0 ?
			       t->quantifier == LIT_FORALL ? LIT_REQUIRED : LIT_FORBIDDEN :
			       expected]);
		return;
	}
	litmus_observation(t, r, line, sizeof(line));
	if (r->kind == LIT_UNSUPPORTED_KIND)
		printf("Unsupported %s: %s\n", t->name, t->unsupported);
	else if (r->kind == LIT_UNFINISHED)
		printf("Unfinished %s\n", t->name);
	else
		printf("%s%s%s\n", line, right ? "" : " WRONG: it is ",
		       right ? "" : lit_kind_names[expected < 0 ? LIT_FORBIDDEN : expected]);
}

static void check_file(struct checker *c, const char *path, bool in_folder)
{
	const struct lit_how how = { .overtaking = true, .story = c->args->verbose };
	struct lit_result r;
	char error[512];
	struct litmus *t = litmus_load(path, error, sizeof(error));
	int expected;
	bool right;

	if (!t)
		die("%s", error);
	expected = c->kinds ? litmus_kinds_find(c->kinds, t->name) : -1;
	if (!litmus_run(c->machines, t, &how, &r, error, sizeof(error)))
		die("%s", error);
	right = judge(c, t, &r, expected);
	report(c, t, &r, expected, in_folder, right);
	lit_result_free(&r);
	litmus_free(t);
}

/* ------------------------------------------------------------------- folder */

static void check_folder(struct checker *c, const char *folder)
{
	struct dirent **names = NULL;
	int n = list(folder, &names);
	char path[4096];

	snprintf(path, sizeof(path), "%s/kinds.txt", folder);
	c->kinds = litmus_kinds_load(path);
	for (int i = 0; i < n && !*c->stop; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		check_file(c, path, true);
	}
	free_list(names, n);
	litmus_kinds_free(c->kinds);
	c->kinds = NULL;
}

static void summary(const struct tally *t)
{
	u32 allowed = t->expected[LIT_ALLOWED];

	printf("%u tests, %u with an expected kind: %u of %u forbidden reached, "
	       "%u of %u required missed", t->n, t->judged, t->forbidden_reached,
	       t->expected[LIT_FORBIDDEN], t->required_missed, t->expected[LIT_REQUIRED]);
	if (allowed)
		printf(", %u of %u allowed reached (%u.%u %%)", t->as_expected[LIT_ALLOWED],
		       allowed, t->as_expected[LIT_ALLOWED] * 100 / allowed,
		       t->as_expected[LIT_ALLOWED] * 1000 / allowed % 10);
	printf("; %u unsupported, %u unfinished\n", t->unsupported, t->unfinished);
}

int check_litmus(const struct check_args *args, const volatile int *stop)
{
	struct checker c = { .args = args, .stop = stop, .machines = litmus_machines() };
	bool folder = false;

	if (!c.machines)
		die("out of memory");
	if (args->format != CHECK_TEXT)
		die("litmus tests are reported as text only");
	for (u32 i = 0; i < args->nr_paths && !*stop; i++)
		if (is_folder(args->path[i])) {
			folder = true;
			check_folder(&c, args->path[i]);
		} else {
			check_file(&c, args->path[i], false);
		}
	if (folder || args->nr_paths > 1)
		summary(&c.tally);
	litmus_machines_free(c.machines);
	return c.tally.forbidden_reached || c.tally.required_missed || *stop ?
		       EXIT_EXPECTATION : EXIT_CLEAN;
}
