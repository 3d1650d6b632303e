// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Time to the first violation of each model's bug, and to the end of the search of its fix.
 *
 *	models [FILE...]	default: all of models/ under $SRC or here
 *
 * Bugs: the systematic search once, and the median of ten seeds of PCT; fixes: the
 * systematic search to preemption bound 2. Two workers. Exit status 1 if a
 * verdict is not the expected one.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_model.h"
#include "cli/cli.h"

#define NR_SEEDS 10
#define BUDGET_S 60

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void search_once(const struct xprogram *p, enum xstrategy strategy, u64 seed,
			struct xverdict *v)
{
	const struct xsearch how = {
		.strategy = strategy, .max_bound = 2, .budget_s = BUDGET_S,
		.seed = seed, .workers = 2, .reduce = true,
	};
	char error[400];
	struct xworld *w = xworld_create(p, error, sizeof(error));

	if (!w)
		die("%s: %s", p->name, error);
	memset(v, 0, sizeof(*v));
	xsearch_run(w, &how, v);
	xworld_destroy(w);
}

/* Median seconds of PCT's first violations; negative if a seed found none, or another. */
static double median_pct(struct check_model_file *f, u32 run)
{
	double seconds[NR_SEEDS];
	bool all = true;

	for (u32 i = 0; i < NR_SEEDS; i++) {
		struct xverdict v;

		search_once(check_model_program(f, run), XSTRATEGY_PCT, i + 1, &v);
		seconds[i] = v.seconds;
		all &= v.found && xmodel_expects(f->run[run].expected, v.result.rule);
		xverdict_free(&v);
	}
	qsort(seconds, NR_SEEDS, sizeof(*seconds), by_value);
	return all ? (seconds[NR_SEEDS / 2 - 1] + seconds[NR_SEEDS / 2]) / 2 : -1;
}

static bool report_run(struct check_model_file *f, u32 run)
{
	struct xverdict v;
	char text[100], why[500] = "", pct[32] = "-";
	bool ok;

	search_once(check_model_program(f, run), XSTRATEGY_SYSTEMATIC, 1, &v);
	ok = check_model_judge(f, run, &v, why, sizeof(why)) == CHECK_MODEL_OK;
	if (v.found)
		snprintf(pct, sizeof(pct), "%.3f", median_pct(f, run));
	printf("%-20s %-8s %-12s %-13s %9llu %8.3f %8s %s%s\n", f->info->name,
	       xmodel_arch_name(f->run[run].arch),
	       check_model_text(f, run, text, sizeof(text)),
	       v.found ? xmodel_rule_name(v.result.rule) : v.complete ? "complete" : "budget",
	       (unsigned long long)v.schedules, v.seconds, pct, ok ? "ok" : "NOT OK: ",
	       why);
	fflush(stdout);
	xverdict_free(&v);
	return ok;
}

static bool report_file(const char *path)
{
	const struct check_model_args all = { 0 };
	struct check_model_file f;
	bool ok = true;

	if (check_model_load(path, &all, &f))
		exit(EXIT_INPUT);
	for (u32 i = 0; i < f.nr_runs; i++)
		ok &= report_run(&f, i);
	check_model_free(&f);
	return ok;
}

int main(int argc, char **argv)
{
	const char *src = getenv("SRC");
	char pattern[1000];
	bool ok = true;
	glob_t g = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/models/*.c", src ? src : ".");
	if (argc < 2 && glob(pattern, 0, NULL, &g))
		die("%s: no models", pattern);
	printf("%-20s %-8s %-12s %-13s %9s %8s %8s\n", "model", "arch", "options",
	       "result", "schedules", "seconds", "pct");
	for (int i = 1; i < argc; i++)
		ok &= report_file(argv[i]);
	for (size_t i = 0; i < g.gl_pathc; i++)
		ok &= report_file(g.gl_pathv[i]);
	globfree(&g);
	return ok ? EXIT_CLEAN : EXIT_EXPECTATION;
}
