// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/validate.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/params.h"
#include "cli/ranges.h"
#include "machine/desc_yaml.h"

enum { KEY_RANGES = 256, KEY_NATIVE, KEY_FORCE, KEY_ROUNDS, KEY_THREAD };

#define MAX_SECTIONS 16
#define DRAWS_DEFAULT 5
#define ROUNDS_DEFAULT 12

struct validate_args {
	const char *section[MAX_SECTIONS];
	u32 nr_sections;
	bool ranges, is_native;
	u32 draws;
	struct native_args native;
};

static const struct argp_option options[] = {
	{ "ranges", KEY_RANGES, NULL, 0, "draw costs from their ranges; the interval of the "
	  "model's figure", 0 },
	{ "thread", KEY_THREAD, "NAME", 0, "only the figures of S0, S1, ...; as SECTION", 0 },
	{ "runs", 'r', "N", 0, "with --ranges: so many draws (5)", 0 },
	{ "native", KEY_NATIVE, NULL, 0, "this host beside a model of it instead", 0 },
	{ "machine", 'm', "FILE", 0, "with --native: the host as `tlblab calibrate' wrote it; "
	  "without it, calibrate first", 0 },
	{ "rounds", KEY_ROUNDS, "N", 0, "with --native: pairs of runs of each point (12)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "with --native: on a loaded host, too", 0 },
	{ 0 },
};

static void add_section(struct validate_args *a, const char *name)
{
	for (const struct validate_row *r = validate_rows; r->section; r++) {
		if (strcmp(r->section, name))
			continue;
		if (a->nr_sections == MAX_SECTIONS)
			die("more than %d sections", MAX_SECTIONS);
		a->section[a->nr_sections++] = name;
		return;
	}
	die("no section \"%s\" of published figures", name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct validate_args *a = state->input;

	switch (key) {
	case KEY_RANGES:
		a->ranges = true;
		return 0;
	case 'r':
		a->draws = (u32)parse_number(arg, 2, 1000, "--runs");
		return 0;
	case KEY_NATIVE:
		a->is_native = true;
		return 0;
	case 'm':
		a->native.machine = arg;
		return 0;
	case KEY_ROUNDS:
		a->native.rounds = (u32)parse_number(arg, 3, 1000, "--rounds");
		return 0;
	case KEY_FORCE:
		a->native.force = true;
		return 0;
	case KEY_THREAD:
	case ARGP_KEY_ARG:
		add_section(a, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- running ---- */

/* Figures may be of the same run: the last runs are kept. */
#define KEPT 128

struct kept {
	const char *machine;
	const struct point *point;
	u64 draw, seed;
	struct metrics ms;
};

static double figure(const struct validate_run *run, const struct metrics *ms)
{
	double v = point_metric(ms, run->metric) * run->scale;

	if (run->of_cpu)
		v /= point_metric(ms, "user_s") + point_metric(ms, "sys_s");
	return run->per_op ? v / point_metric(ms, "ops") : v;
}

/* draw 0: costs as they are. */
static double run_once(const struct validate_run *run, u64 draw, u64 seed)
{
	static struct machine_desc desc, drawn;
	static struct kept kept[KEPT];
	static u32 next;
	char error[512];
	struct kept *k;

	for (u32 i = 0; i < KEPT; i++)
		if (kept[i].point && kept[i].draw == draw && kept[i].seed == seed &&
		    !strcmp(kept[i].machine, run->machine) &&
		    point_equal(kept[i].point, &run->point))
			return figure(run, &kept[i].ms);
	if (strcmp(desc.name, run->machine) &&
	    machine_desc_load(run->machine, &desc, error, sizeof(error)))
		die("%s", error);
	drawn = desc;
	if (draw)
		ranges_draw(&desc, draw, &drawn);
	k = &kept[next++ % KEPT];
	*k = (struct kept){ .machine = run->machine, .point = &run->point, .draw = draw,
			    .seed = seed };
	point_simulate(&run->point, &drawn, seed, &k->ms);
	return figure(run, &k->ms);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, u32 n)
{
	qsort(v, n, sizeof(*v), compare);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* Each draw has a seed of its own, so that the interval of draws is that of seeds, too. */
static double run_figure(const struct validate_run *run, u64 draw)
{
	double v[VALIDATE_MAX_SEEDS];
	u32 n = run->seeds ? run->seeds : 1;

	if (draw)
		return run_once(run, draw, draw);
	for (u32 i = 0; i < n; i++)
		v[i] = run_once(run, 0, i + 1);
	return median(v, n);
}

static double model(const struct validate_row *r, u64 draw)
{
	double a = run_figure(&r->a, draw);

	switch (r->how) {
	case VALIDATE_RATIO:
		return a / run_figure(&r->b, draw);
	case VALIDATE_DIFFERENCE:
		return a - run_figure(&r->b, draw);
	default:
		return a;
	}
}

/* ---- printing ---- */

static void put(double v, FILE *out)
{
	double size = fabs(v);

	fprintf(out, size >= 10000 ? "%9.0f" : size >= 100 ? "%9.1f" : "%9.3f", v);
}

/* Rows of one machine and era stand under one line. */
static bool same_group(const struct validate_row *r, const struct validate_row *last)
{
	return last && !strcmp(r->section, last->section) &&
	       !strcmp(r->a.machine, last->a.machine) &&
	       !strcmp(r->a.point.era, last->a.point.era);
}

static void print_fit(const struct validate_row *r, FILE *out)
{
	if (r->fitted)
		fprintf(out, "    f: %s\n", r->fitted);
}

void validate_print(const struct validate_row *r, const struct validate_result *res,
		    const struct validate_row *last, bool ranges, FILE *out)
{
	bool section = !last || strcmp(last->section, r->section);

	if (section)
		fprintf(out, "%s%-34s %9s %9s %s\n", last ? "\n" : "", r->section, "published",
			"model", ranges ? "       lo        hi" : " ratio");
	if (!same_group(r, last))
		fprintf(out, " %s, era %s\n", r->a.machine, r->a.point.era);
	fprintf(out, "  %-32s ", r->what);
	put(r->published, out);
	fprintf(out, " ");
	put(res->model, out);
	if (ranges)
		fprintf(out, " %8.3g %8.3g", res->lo, res->hi);
	else
		fprintf(out, " %6.3f", res->model / r->published);
	fprintf(out, " %s %s\n", r->fitted ? "f" : "p", r->unit);
	/* What it was fitted by, where that is new. */
	if (!last || !last->fitted || !r->fitted || strcmp(last->fitted, r->fitted))
		print_fit(r, out);
	fflush(out);
}

void validate_summary(double *error, u32 n, FILE *out)
{
	if (!n)
		return;
	fprintf(out, "\n%u figures predicted (p): median error %.0f %%, ", n, 100 * median(error, n));
	/* Sorted by now. */
	fprintf(out, "worst %.0f %%; those marked\nf were fitted to by the costs named, and say "
		"nothing.\n", 100 * error[n - 1]);
}

static bool wanted(const struct validate_args *a, const char *section)
{
	for (u32 i = 0; i < a->nr_sections; i++)
		if (!strcmp(a->section[i], section))
			return true;
	return !a->nr_sections;
}

#define MAX_PREDICTED 512

static void published(const struct validate_args *a)
{
	static double error[MAX_PREDICTED];
	const struct validate_row *last = NULL;
	u32 n = 0;

	for (const struct validate_row *r = validate_rows; r->section; r++) {
		struct validate_result res;

		if (!wanted(a, r->section))
			continue;
		res.model = res.lo = res.hi = model(r, 0);
		for (u32 d = 1; a->ranges && d <= a->draws; d++) {
			double v = model(r, d);

			res.lo = fmin(res.lo, v);
			res.hi = fmax(res.hi, v);
		}
		validate_print(r, &res, last, a->ranges, stdout);
		if (!r->fitted && n < MAX_PREDICTED)
			error[n++] = fabs(res.model / r->published - 1);
		last = r;
	}
	validate_summary(error, n, stdout);
	if (a->ranges)
		printf("lo, hi: the least and the greatest model figure of %u draws of all costs "
		       "from\ntheir ranges.\n", a->draws);
}

int cmd_validate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[SECTION...]",
		.doc = "Print published figures beside the model's: fitted to them, or predicted. "
		       "SECTION is a thread, such as S0, or INVLPGB, POWER9 or x86; without one, all.",
	};
	static struct validate_args args = {
		.draws = DRAWS_DEFAULT, .native = { .rounds = ROUNDS_DEFAULT },
	};

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (args.is_native)
		validate_native(&args.native);
	else
		published(&args);
	return EXIT_CLEAN;
}
