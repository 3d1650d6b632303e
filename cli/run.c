// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/ranges.h"

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

struct execution {
	const struct plan *plan;
	struct report *report;
	struct progress progress;
	struct machine_desc *desc;	/* of this run's draw; NULL: native */
};

/* What could not be measured: several sentences, "; " between them. */
static void take_notes(struct report *r, char *notes)
{
	char *next;

	for (; notes && *notes; notes = next) {
		next = notes;
		do {
			next = strstr(next + 1, "; ");
		} while (next && strncmp(next + 2, "no ", 3) &&
			 strncmp(next + 2, "the ", 4));
		if (next) {
			*next = 0;
			next += 2;
		}
		report_note(r, "%s", notes);
	}
}

/* Returns false when the user asked to stop. */
static bool run_one(struct execution *e, u32 column, u32 run)
{
	const struct plan *p = e->plan;
	const struct plan_column *c = &p->column[column];
	struct report_column *out = &e->report->column[column];
	struct metrics *metrics = &out->run[out->runs];
	struct run_setup setup = {
		.workload = p->workload, .threads = p->threads,
		.pin = p->args->pin, .seed = p->args->seed + run,
		.time_limit_ps = p->args->time_limit_ps,
		.interval_ps = p->args->interval_ps,
		.progress = progress_tick, .progress_arg = &e->progress,
		.stop = &stop_asked, .desc = e->desc,
		.core = c->core ? c->core->module : NULL, .knobs = c->knobs,
	};
	char error[512] = "";
	enum run_status status;

	for (u32 i = 0; i < WL_MAX_PARAMS; i++)
		setup.param[i] = c->param[i];
	progress_run_begin(&e->progress, out->label);
	status = p->native ? run_native(&setup, metrics, error, sizeof(error)) :
			     run_simulated(&setup, metrics, error, sizeof(error));
	progress_run_end(&e->progress);
	if (status == RUN_FAILED) {
		progress_stop(&e->progress);
		die("%s", error);
	}
	take_notes(e->report, metrics->note);
	if (status == RUN_OK) {
		out->runs++;
		return true;
	}
	e->report->partial = true;
	/* A run cut short says less than whole ones; keep it if it is all. */
	if (!stop_asked || !out->runs)
		out->runs++;
	/* A run that got stuck has said so itself. */
	if (!stop_asked && !metrics->note[0])
		report_note(e->report, "the time limit ended runs of %s", out->label);
	return !stop_asked;
}

/*
 * Run 1 of each column, then run 2, ...: what drifts on the host meets all
 * columns alike, and an early end leaves them equally many.
 */
static void run_all(struct execution *e)
{
	const struct plan *p = e->plan;

	progress_start(&e->progress, p->args->runs * p->nr_columns);
	for (u32 run = 0; run < p->args->runs; run++) {
		if (p->args->ranges)
			ranges_draw(p->desc, p->args->seed + run, e->desc);
		for (u32 c = 0; c < p->nr_columns; c++) {
			if (!run_one(e, c, run)) {
				progress_stop(&e->progress);
				return;
			}
		}
	}
	progress_stop(&e->progress);
}

static void print_report(const struct run_args *args, const struct report *r)
{
	struct output out;

	output_open(&out, args->output);
	switch (args->format) {
	case FORMAT_TEXT:
		report_text(r, args->verbose, out.f);
		break;
	case FORMAT_JSON:
		report_json(r, out.f);
		break;
	case FORMAT_CSV:
		report_csv(r, out.f);
		break;
	}
	output_close(&out);
}

int cmd_run(int argc, char **argv)
{
	static struct run_args args;
	static struct report report;
	struct execution e = { .report = &report };
	struct plan *plan;

	run_args_parse(&args, argc, argv);
	plan = plan_make(&args);
	output_check(args.output);
	plan_describe(plan, &report);
	e.plan = plan;
	if (!plan->native) {
		e.desc = zalloc(1, sizeof(*e.desc));
		*e.desc = *plan->desc;
	}
	catch_interrupt();
	run_all(&e);
	alarm(0);
	print_report(&args, &report);
	report_free(&report);
	free(e.desc);
	plan_free(plan);
	return EXIT_CLEAN;
}
