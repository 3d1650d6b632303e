// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- where check.h is ---- */

static bool has_header(const char *dir)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/tlblab/check.h", dir);
	return !access(path, R_OK);
}

const char *check_model_include(char *path, size_t size)
{
	const char *env = getenv("TLBLAB_INCLUDE");
	char exe[3000];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (env) {
		snprintf(path, size, "%s", env);
		return path;
	}
	/* build/tlblab, build/tests/x, PREFIX/bin/tlblab: up, and up again. */
	exe[n > 0 ? n : 0] = '\0';
	for (u32 i = 0; i < 3; i++) {
		char *slash = strrchr(exe, '/');

		if (!slash)
			break;
		*slash = '\0';
		snprintf(path, size, "%s/include", exe);
		if (has_header(path))
			return path;
	}
	snprintf(path, size, "%s/../../include", TLBLAB_DATADIR);
	return path;
}

/* ---- runs ---- */

#define UNSET INT64_MIN

static bool parse(const struct check_model_file *f, const char *text, s64 *values)
{
	char error[300];

	if (xmodel_parse_options(f->info, text, values, error, sizeof(error)))
		return true;
	fprintf(stderr, "tlblab: %s\n", error);
	return false;
}

static void unset(s64 *values)
{
	for (u32 i = 0; i < CHECK_MAX_OPTIONS; i++)
		values[i] = UNSET;
}

/* Defaults, then the expectation's, then the user's; false if these two disagree. */
static bool merge(const struct check_model_file *f, const s64 *row, const s64 *user,
		  s64 *values)
{
	xmodel_default_options(f->info, values);
	for (u32 i = 0; i < CHECK_MAX_OPTIONS; i++) {
		if (row[i] != UNSET && user[i] != UNSET && row[i] != user[i])
			return false;
		if (row[i] != UNSET)
			values[i] = row[i];
		if (user[i] != UNSET)
			values[i] = user[i];
	}
	return true;
}

static void add_run(struct check_model_file *f, enum xarch arch, const char *expected,
		    const s64 *values)
{
	struct check_model_run *r = &f->run[f->nr_runs++];

	r->arch = arch;
	r->expected = expected;
	memcpy(r->option, values, sizeof(r->option));
}

/* Every expectation that agrees with the user's settings; if none does, "pass". */
static bool add_runs(struct check_model_file *f, enum xarch arch, const s64 *user)
{
	s64 row[CHECK_MAX_OPTIONS], values[CHECK_MAX_OPTIONS];
	u32 before = f->nr_runs;

	for (u32 i = 0; i < CHECK_MAX_EXPECTS && f->info->expect[i].result; i++) {
		const struct check_expect *e = &f->info->expect[i];

		unset(row);
		if (e->with && !parse(f, e->with, row))
			return false;
		if (merge(f, row, user, values))
			add_run(f, arch, e->result, values);
	}
	if (f->nr_runs == before) {
		unset(row);
		merge(f, row, user, values);
		add_run(f, arch, "pass", values);
	}
	return true;
}

static bool make_runs(struct check_model_file *f, const struct check_model_args *args)
{
	s64 user[CHECK_MAX_OPTIONS];

	unset(user);
	for (u32 i = 0; args->settings && args->settings[i]; i++)
		if (!parse(f, args->settings[i], user))
			return false;
	for (u32 a = XARCH_X86; a <= XARCH_POWERPC; a++) {
		if (!(f->info->arch & XMODEL_ARCH_BIT(a)) ||
		    (args->arch && strcmp(args->arch, xmodel_arch_name(a))))
			continue;
		if (!add_runs(f, a, user))
			return false;
	}
	return true;
}

int check_model_load(const char *path, const struct check_model_args *args,
		     struct check_model_file *f)
{
	static char error[16384];
	char include[4096];

	memset(f, 0, sizeof(*f));
	f->model = xmodel_load(path, check_model_include(include, sizeof(include)),
			       error, sizeof(error));
	if (!f->model) {
		fprintf(stderr, "%s\n", error);
		return EXIT_INPUT;
	}
	f->info = xmodel_info(f->model);
	if (make_runs(f, args))
		return 0;
	check_model_free(f);
	return EXIT_INPUT;
}

void check_model_free(struct check_model_file *f)
{
	xmodel_free(f->model);
	f->model = NULL;
}

const struct xprogram *check_model_program(struct check_model_file *f, u32 run)
{
	xmodel_reset_outcomes(f->model);
	return xmodel_program(f->model, f->run[run].arch, f->run[run].option);
}

u32 check_model_settings(const struct check_model_file *f, u32 run,
			 struct check_model_setting set[CHECK_MAX_OPTIONS])
{
	const struct knob *k = f->info->option;
	u32 n;

	for (n = 0; n < CHECK_MAX_OPTIONS && k[n].name; n++) {
		s64 v = f->run[run].option[n];

		set[n].name = k[n].name;
		if (k[n].values)
			snprintf(set[n].value, sizeof(set[n].value), "%s", k[n].values[v]);
		else
			snprintf(set[n].value, sizeof(set[n].value), "%lld", (long long)v);
	}
	return n;
}

const char *check_model_text(const struct check_model_file *f, u32 run, char *text,
			     size_t size)
{
	struct check_model_setting set[CHECK_MAX_OPTIONS];
	u32 n = check_model_settings(f, run, set);
	size_t len = 0;

	text[0] = '\0';
	for (u32 i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s=%s", i ? " " : "",
					set[i].name, set[i].value);
	return text;
}

/* ---- verdicts ---- */

enum check_model_result check_model_judge(struct check_model_file *f, u32 run,
					  const struct xverdict *verdict, char *why,
					  size_t why_size)
{
	const char *expected = f->run[run].expected;
	enum xrule rule = verdict->found ? verdict->result.rule : XRULE_NONE;

	if (!xmodel_expects(expected, rule)) {
		if (verdict->found)
			snprintf(why, why_size, "expected %s: %s", expected,
				 verdict->result.detail);
		else
			snprintf(why, why_size, "expected %s, and nothing was found",
				 expected);
		return verdict->found || verdict->complete ? CHECK_MODEL_FAILED :
							     CHECK_MODEL_INCONCLUSIVE;
	}
	if (verdict->found)
		return CHECK_MODEL_OK;
	if (!xmodel_check_outcomes(f->model, verdict->complete, why, why_size))
		return CHECK_MODEL_FAILED;
	if (verdict->complete)
		return CHECK_MODEL_OK;
	snprintf(why, why_size, "the budget ran out before the search was complete");
	return CHECK_MODEL_INCONCLUSIVE;
}
