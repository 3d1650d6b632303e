// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cli.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/check_litmus.h"
#include "cli/check_plan.h"
#include "cli/check_report.h"
#include "cli/kept.h"

static volatile int stop_asked;

/* SIGTERM comes from a program, which will not press Ctrl-C again. */
#define TERM_GRACE_S 5

static void on_interrupt(int sig)
{
	stop_asked = 1;
	if (sig == SIGTERM)
		alarm(TERM_GRACE_S);
}

/* The first Ctrl-C asks; the second, the handler being gone, kills. */
static void catch_interrupt(void)
{
	struct sigaction sa = {
		.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART,
	};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* ---------------------------------------------------------------- progress */

#define REDRAW_S 0.2
#define LINE_WIDTH 78

struct progress_line {
	const struct check_plan *plan;
	u32 at;
	bool on;
	double began_s, drawn_s;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void draw_progress(void *arg, u64 schedules, u32 bound)
{
	struct progress_line *p = arg;
	const struct check *c = &p->plan->check[p->at];
	double now, left;
	char line[200];

	if (!p->on)
		return;
	now = now_s();
	if (now - p->drawn_s < REDRAW_S)
		return;
	p->drawn_s = now;
	left = p->plan->args->budget_s - (now - p->began_s);
	snprintf(line, sizeof(line), "check %u of %u (%.24s, %s): %" PRIu64
		 " schedules, bound %u, at most %.0f s left", p->at + 1, p->plan->n,
		 c->name, sc_arch_names[c->arch], schedules, bound,
		 left > 0 ? left : 0);
	fprintf(stderr, "\r%-*.*s", LINE_WIDTH, LINE_WIDTH, line);
}

static void wipe_progress(const struct progress_line *p)
{
	if (p->on)
		fprintf(stderr, "\r%*s\r", LINE_WIDTH, "");
}

/* -------------------------------------------------------------- one check */

struct checking {
	struct check_plan *plan;
	struct check_report *report;
	struct progress_line progress;
	bool witness_written;		/* --witness takes the first */
	bool failed;
};

static void keep_witness(struct checking *k, const struct check *c,
			 struct xverdict *v, struct check_outcome *o)
{
	const char *path = k->plan->args->witness;
	struct witness w;

	kept_describe(c, v, &w);
	witness_id(&w, o->id);
	if (!kept_put(&w) && !path)
		fprintf(stderr, "tlblab: no place to keep witness %s; --witness names "
			"one\n", o->id);
	if (path && !k->witness_written) {
		kept_write(&w, path);
		k->witness_written = true;
	}
	witness_free(&w);
}

/*
 * Most bugs show in one of a few thousand executions taken by chance, in less time than
 * the systematic search takes to come to them; so these come first.
 */
#define PROBES 2000

static void search(struct checking *k, struct xworld *w, struct xverdict *v)
{
	const struct check_args *args = k->plan->args;
	struct xsearch how = {
		.strategy = args->strategy, .max_bound = args->bound,
		.budget_s = args->budget_s, .seed = args->seed,
		.workers = args->jobs, .reduce = true, .stop = &stop_asked,
		.progress = draw_progress, .progress_arg = &k->progress,
	};
	struct xsearch probe = how;
	u64 schedules = 0;
	double seconds = 0;

	if (how.strategy == XSTRATEGY_SYSTEMATIC) {
		probe.strategy = XSTRATEGY_RANDOM;
		probe.max_schedules = PROBES;
		xsearch_run(w, &probe, v);
		if (v->found || stop_asked)
			return;
		schedules = v->schedules;
		seconds = v->seconds;
		xverdict_free(v);
	}
	xsearch_run(w, &how, v);
	v->schedules += schedules;
	v->seconds += seconds;
}

static void judge(struct checking *k, const struct check *c, struct xworld *w,
		  struct check_outcome *o)
{
	struct xverdict v;

	search(k, w, &v);
	o->bound = v.bound;
	o->complete = v.complete;
	o->schedules = v.schedules;
	o->seconds = v.seconds;
	o->stopped = stop_asked;
	o->verdict = v.found ? CHECK_VIOLATION :
		     v.complete ? CHECK_PASS : CHECK_INCONCLUSIVE;
	o->rule = v.result.rule;
	o->as_expected = c->model ?
		check_model_judge(c->model, c->run, &v, o->why, sizeof(o->why)) ==
			CHECK_MODEL_OK :
		check_as_expected(c, o->verdict, o->rule);
	if (o->as_expected)
		o->why[0] = 0;
	if (v.found) {
		xsearch_minimise(w, &v);
		o->nr_story = xstory(w, &v, o->story, CHECK_STORY_MAX);
		if (c->sc)
			keep_witness(k, c, &v, o);
	}
	xverdict_free(&v);
}

static void run_check(struct checking *k, const struct check *c)
{
	struct check_outcome o = { .verdict = CHECK_SKIPPED, .as_expected = true };
	struct sc_program *program = NULL;
	const struct xprogram *x = NULL;
	struct xworld *w;
	char error[512];

	if (c->core) {
		program = scenario_program(c->sc, c->arch, c->core->module, c->knobs);
		if (!program)
			die("out of memory");
		x = sc_xprogram(program);
	} else if (c->model) {
		x = check_model_program(c->model, c->run);
	}
	if (x) {
		w = xworld_create(x, error, sizeof(error));
		if (!w)
			die("%s, %s: %s", c->name, sc_arch_names[c->arch], error);
		if (program && !sc_program_ready(program, error, sizeof(error)))
			die("%s", error);
		judge(k, c, w, &o);
		xworld_destroy(w);
		sc_program_free(program);
	}
	k->failed = k->failed || !o.as_expected;
	wipe_progress(&k->progress);
	check_report_add(k->report, c, &o);
	for (u32 i = 0; i < o.nr_story; i++)
		free(o.story[i]);
}

int cmd_check(int argc, char **argv)
{
	static struct check_args args;
	struct checking k = { .plan = NULL };
	u32 i;

	check_args_parse(&args, argc, argv);
	if (check_is_litmus(&args)) {
		int status;

		catch_interrupt();
		status = check_litmus(&args, &stop_asked);
		free(args.path);
		return status;
	}
	if (args.witness)
		kept_check_path(args.witness);
	k.plan = check_plan_make(&args);
	k.report = check_report_begin(&args, k.plan->n, stdout);
	k.progress = (struct progress_line){
		.plan = k.plan, .on = isatty(STDERR_FILENO),
	};
	catch_interrupt();
	for (i = 0; i < k.plan->n && !stop_asked; i++) {
		k.progress.at = i;
		k.progress.began_s = now_s();
		run_check(&k, &k.plan->check[i]);
	}
	alarm(0);
	check_report_end(k.report, i < k.plan->n);
	check_plan_free(k.plan);
	free(args.path);
	return k.failed || stop_asked ? EXIT_EXPECTATION : EXIT_CLEAN;
}
