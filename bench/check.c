// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the checker is worth, on the scenarios and models of the tree:
 *
 *	check [-o PART,...] [-b SECONDS] [-t SECONDS] [PATH...]
 *
 * 1. Bugs: seconds to the first violation, of the systematic search and of ten seeds
 *    of the random one (median, worst); lines of the story of what remains after
 *    minimising; how many of 100 replays end in the same violation.
 * 2. Fixes: how far the systematic search gets to preemption bound 2, in at most -b
 *    (60) seconds each and -t (240) altogether; what is not begun by then is
 *    listed. Schedules were run to their end, executions may have been given up at a
 *    state that is known. Models' fixes are in bench/models.c.
 * 3. Schedules per second of CPU time, one process, on bench/three-cpus.tlb.
 *
 * -o: only these of the parts, by name: bugs, fixes, rates.
 *
 * Two workers in 1 and 2. PATH: default scenarios/ and models/. Exit status 1: a bug not
 * found in time, a violation where none is expected, a replay that differs, a story without
 * its end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lab.h"
#include "cli/check_plan.h"
#include "cli/check_report.h"
#include "cli/cli.h"
#include "explore/search.h"
#include "explore/witness.h"

#define NR_SEEDS 10
#define BUG_LIMIT_S 10
#define NR_REPLAYS 100
#define STORY_LINES 25
#define RATE_S 5

static double fix_budget_s = 60, total_s = 240;

enum { PART_BUGS = 1, PART_FIXES = 2, PART_RATES = 4, PART_ALL = 7 };

/* ------------------------------------------------------------------ worlds */

struct subject {
	const struct check *check;
	struct sc_program *program;	/* NULL: a model's */
	struct xworld *world;
};

static void open_world(struct subject *s, const struct check *c)
{
	const struct xprogram *x;
	char error[400];

	s->check = c;
	s->program = NULL;
	if (c->model) {
		x = check_model_program(c->model, c->run);
	} else {
		s->program = scenario_program(c->sc, c->arch, c->core->module, c->knobs);
		if (!s->program)
			die("out of memory");
		x = sc_xprogram(s->program);
	}
	s->world = xworld_create(x, error, sizeof(error));
	if (!s->world || (s->program && !sc_program_ready(s->program, error, sizeof(error))))
		die("%s: %s", c->name, error);
}

static void close_world(struct subject *s)
{
	xworld_destroy(s->world);
	sc_program_free(s->program);
}

static void search(struct subject *s, enum xstrategy strategy, u64 seed, double budget_s,
		   struct xverdict *v)
{
	const struct xsearch how = {
		.strategy = strategy, .max_bound = 2, .budget_s = budget_s,
		.seed = seed, .workers = 2, .reduce = true,
	};

	xsearch_run(s->world, &how, v);
}

static bool expected(const struct check *c, const struct xverdict *v)
{
	if (c->model)
		return v->found && xmodel_expects(c->model->run[c->run].expected,
						  v->result.rule);
	return v->found && check_as_expected(c, CHECK_VIOLATION, v->result.rule);
}

static void print_name(const struct check *c)
{
	char shown[CHECK_SHOWN_MAX], name[CHECK_SHOWN_MAX + 80];

	check_shown_text(c, shown);
	snprintf(name, sizeof(name), "%s %s", c->name, shown);
	printf("%-62.62s %-8s", name, sc_arch_names[c->arch]);
}

/* -------------------------------------------------------------------- bugs */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the random search's seeds; false if one found nothing, or something else. */
static bool random_seconds(struct subject *s, double *median, double *worst)
{
	double seconds[NR_SEEDS];
	bool all = true;

	for (u32 i = 0; i < NR_SEEDS; i++) {
		struct xverdict v;

		search(s, XSTRATEGY_RANDOM, i + 1, BUG_LIMIT_S, &v);
		seconds[i] = v.seconds;
		all &= expected(s->check, &v);
		xverdict_free(&v);
	}
	qsort(seconds, NR_SEEDS, sizeof(*seconds), by_value);
	*median = (seconds[NR_SEEDS / 2 - 1] + seconds[NR_SEEDS / 2]) / 2;
	*worst = seconds[NR_SEEDS - 1];
	return all;
}

static u32 count_replays(struct subject *s, const struct xverdict *v)
{
	u32 same = 0;

	for (u32 i = 0; i < NR_REPLAYS; i++) {
		struct xresult r;

		same += xsearch_replay(s->world, v, &r, NULL, NULL) &&
			r.outcome == XOUT_VIOLATION && r.rule == v->result.rule &&
			!strcmp(r.detail, v->result.detail);
	}
	return same;
}

/*
 * As check prints it: a story leaves out what there is no room for (given more, it tells more). 0
 * if it does not come to the rule.
 */
static u32 count_lines(struct subject *s, const struct xverdict *v)
{
	char *line[STORY_LINES];
	u32 n = xstory(s->world, v, line, STORY_LINES);
	bool told = false;

	for (u32 i = 0; i < n; i++) {
		told |= strstr(line[i], xrule_name(v->result.rule)) != NULL;
		free(line[i]);
	}
	return told ? n : 0;
}

static bool report_bug(const struct check *c)
{
	double median, worst;
	struct xverdict v;
	struct subject s;
	u32 lines = 0, same = 0;
	bool ok, chance;

	open_world(&s, c);
	chance = random_seconds(&s, &median, &worst);
	search(&s, XSTRATEGY_SYSTEMATIC, 1, BUG_LIMIT_S, &v);
	print_name(c);
	printf(" %-12s %10.3f %8.3f %8.3f", v.found ? xrule_name(v.result.rule) : "not found",
	       v.seconds, median, worst);
	ok = expected(c, &v);
	if (v.found) {
		xsearch_minimise(s.world, &v);
		lines = count_lines(&s, &v);
		same = count_replays(&s, &v);
	}
	/* One of the two searches must be fast; check runs both. */
	ok = (ok || chance) && v.found == (same == NR_REPLAYS) && v.found == (lines > 0);
	printf(" %5u %4u/%u %s%s\n", lines, same, NR_REPLAYS, ok ? "ok" : "NOT OK",
	       chance ? "" : " (a seed found nothing)");
	fflush(stdout);
	xverdict_free(&v);
	close_world(&s);
	return ok;
}

static bool report_bugs(const struct check_plan *p)
{
	bool ok = true;

	printf("%-62s %-8s %-12s %10s %8s %8s %5s %8s\n", "bugs: seconds to the first violation",
	       "arch", "rule", "systematic", "median", "worst", "story", "replays");
	for (u32 i = 0; i < p->n; i++)
		if (p->check[i].violation && (p->check[i].core || p->check[i].model))
			ok &= report_bug(&p->check[i]);
	return ok;
}

/* ------------------------------------------------------------------- fixes */

static bool report_fix(const struct check *c, double budget_s, u32 *nr_complete)
{
	struct xverdict v;
	struct subject s;
	char result[40];
	double cpu;

	open_world(&s, c);
	cpu = lab_all_cpu_s();
	search(&s, XSTRATEGY_SYSTEMATIC, 1, budget_s, &v);
	cpu = lab_all_cpu_s() - cpu;
	if (v.found)
		snprintf(result, sizeof(result), "%s", xrule_name(v.result.rule));
	else if (v.complete)
		snprintf(result, sizeof(result), "complete");
	else
		snprintf(result, sizeof(result), "beyond %u", v.bound);
	*nr_complete += v.complete;
	print_name(c);
	printf(" %-12s %10" PRIu64 " %10" PRIu64 " %8.1f %8.1f%s\n", result, v.schedules,
	       v.executions, v.seconds, cpu, v.found ? " NOT OK" : "");
	fflush(stdout);
	xverdict_free(&v);
	close_world(&s);
	return !v.found;
}

static bool report_fixes(const struct check_plan *p)
{
	u64 end = search_now_ns() + (u64)(total_s * 1e9);
	u32 n = 0, begun = 0, complete = 0;
	bool ok = true;

	printf("\n%-62s %-8s %-12s %10s %10s %8s %8s\n", "fixes: to preemption bound 2", "arch",
	       "result", "schedules", "executions", "seconds", "cpu s");
	for (u32 i = 0; i < p->n; i++) {
		const struct check *c = &p->check[i];
		u64 now = search_now_ns();

		if (c->violation || !c->core)
			continue;
		n++;
		if (now >= end) {
			print_name(c);
			printf(" not begun\n");
			continue;
		}
		begun++;
		ok &= report_fix(c, fix_budget_s, &complete);
	}
	printf("%u of %u complete to bound 2, %u not begun\n", complete, n, n - begun);
	return ok;
}

/* -------------------------------------------------------------------- rate */

static void report_rate(const struct check *c, enum xstrategy strategy)
{
	struct xsearch how = {
		.strategy = strategy, .max_bound = 2, .seed = 1, .workers = 1,
		.reduce = true, .max_schedules = 1,
	};
	struct xverdict v;
	struct subject s;
	double cpu;
	u32 steps;

	open_world(&s, c);
	xsearch_run(s.world, &how, &v);
	steps = v.result.steps;
	xverdict_free(&v);
	how.max_schedules = 0;
	how.budget_s = RATE_S;
	cpu = lab_cpu_s();
	xsearch_run(s.world, &how, &v);
	cpu = lab_cpu_s() - cpu;
	printf("%-20s %-8s %-10s %5u steps %8.0f schedules a second\n", c->name,
	       sc_arch_names[c->arch],
	       strategy == XSTRATEGY_RANDOM ? "random" : "systematic", steps,
	       (double)v.schedules / cpu);
	fflush(stdout);
	xverdict_free(&v);
	close_world(&s);
}

static void report_rates(char *path)
{
	const struct check_args args = { .path = &path, .nr_paths = 1 };
	struct check_plan *p = check_plan_make(&args);

	printf("\nrate of one process, by its CPU time\n");
	for (u32 i = 0; i < p->n; i++) {
		if (!p->check[i].core)
			continue;
		report_rate(&p->check[i], XSTRATEGY_SYSTEMATIC);
		report_rate(&p->check[i], XSTRATEGY_RANDOM);
	}
	check_plan_free(p);
}

static double seconds_arg(const char *arg)
{
	char *end;
	double s = strtod(arg, &end);

	if (*end || !(s > 0))
		die("\"%s\" is not a number of seconds", arg);
	return s;
}

static u32 parts_arg(char *arg)
{
	static const char *const name[] = { "bugs", "fixes", "rates" };
	u32 parts = 0;

	for (char *p = strtok(arg, ","); p; p = strtok(NULL, ",")) {
		u32 i;

		for (i = 0; i < 3 && strcmp(p, name[i]); i++)
			;
		if (i == 3)
			die("-o: there is no part \"%s\": bugs, fixes, rates", p);
		parts |= 1U << i;
	}
	return parts;
}

int main(int argc, char **argv)
{
	u32 parts = PART_ALL;
	static char scenarios[1000], models[1000], rate[1000];
	static char *both[] = { scenarios, models };
	const char *src = getenv("SRC");
	struct check_args args = { .path = both, .nr_paths = 2 };
	struct check_plan *plan;
	bool ok = true;
	int opt;

	while ((opt = getopt(argc, argv, "b:o:t:")) != -1) {
		if (opt == 'b')
			fix_budget_s = seconds_arg(optarg);
		else if (opt == 't')
			total_s = seconds_arg(optarg);
		else if (opt == 'o')
			parts = parts_arg(optarg);
		else
			return EXIT_INPUT;
	}
	snprintf(scenarios, sizeof(scenarios), "%s/scenarios", src ? src : ".");
	snprintf(models, sizeof(models), "%s/models", src ? src : ".");
	snprintf(rate, sizeof(rate), "%s/bench/three-cpus.tlb", src ? src : ".");
	if (optind < argc) {
		args.path = argv + optind;
		args.nr_paths = (u32)(argc - optind);
	}
	plan = check_plan_make(&args);
	if (parts & PART_BUGS)
		ok &= report_bugs(plan);
	if (parts & PART_FIXES)
		ok &= report_fixes(plan);
	check_plan_free(plan);
	if (parts & PART_RATES)
		report_rates(rate);
	return ok ? EXIT_CLEAN : EXIT_EXPECTATION;
}
