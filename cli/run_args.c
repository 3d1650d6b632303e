// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/run_args.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/params.h"
#include "machine/desc_yaml.h"

enum {
	KEY_ERA = 256, KEY_SEED, KEY_RANGES, KEY_CORE, KEY_PIN, KEY_TIME_LIMIT,
	KEY_INTERVAL,
};

#define RUNS_DEFAULT 3
#define RUNS_MAX 10000
#define INTERVAL_MIN_PS 100000000ULL	/* 0.1 ms, which is many calls */

static const struct argp_option options[] = {
	{ "machine", 'm', "MACHINE", 0, "simulated machine, by name or file; "
	  "without it, or with \"native\", this host", 0 },
	{ "threads", 't', "N", 0, "worker threads", 0 },
	{ "era", KEY_ERA, "ERA", 0, "policies as that kernel had them (6.12)", 0 },
	{ "set", 's', "KNOB=VALUE[,VALUE...]", 0, "set a knob; several values: "
	  "a column each", 0 },
	{ "param", 'p', "PARAM=VALUE[,VALUE...]", 0, "set a parameter of the "
	  "workload; several values: a column each", 0 },
	{ "core", KEY_CORE, "NAME=FILE", 0, "run this core; several: a column each",
	  0 },
	{ "runs", 'r', "N", 0, "runs of each column (3)", 0 },
	{ "seed", KEY_SEED, "N", 0, "seed of the first run (1)", 0 },
	{ "ranges", KEY_RANGES, NULL, 0, "draw costs from their ranges, and say "
	  "whether columns differ", 0 },
	{ "pin", KEY_PIN, NULL, 0, "worker i on CPU i", 0 },
	{ "time-limit", KEY_TIME_LIMIT, "SECONDS", 0, "end a run after so much "
	  "measured time", 0 },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "a row of counts for each so much "
	  "simulated time, too", 0 },
	{ "format", 'f', "text|json|csv", 0, "what to print (text)", 0 },
	{ "output", 'o', "FILE", 0, "print there", 0 },
	{ "verbose", 'v', NULL, 0, "text: all metrics, too", 0 },
	{ 0 },
};

/* "NAME=A,B" in a copy of arg; at most max values. */
static void assign(struct assignment *list, u32 *n, u32 list_max, u32 max,
		   const char *arg, const char *what)
{
	struct assignment *a = &list[*n];
	char *copy = strdup(arg), *equals, *value;

	if (!copy)
		die("out of memory");
	equals = strchr(copy, '=');
	if (!equals || equals == copy || !equals[1])
		die("\"%s\" is not %s=VALUE", arg, what);
	*equals = 0;
	for (u32 i = 0; i < *n; i++)
		if (!strcmp(list[i].name, copy))
			die("%s is given twice", copy);
	if (*n == list_max)
		die("at most %u times %s=VALUE", list_max, what);
	a->name = copy;
	value = equals + 1;
	while (value) {
		if (a->n == max)
			die("%s: more than %u values", copy, max);
		a->value[a->n++] = max > 1 ? strsep(&value, ",") : value;
		if (max == 1)
			break;
		if (!*a->value[a->n - 1])
			die("%s: an empty value", copy);
		for (u32 i = 0; i + 1 < a->n; i++)
			if (!strcmp(a->value[i], a->value[a->n - 1]))
				die("%s: the value %s is given twice", copy,
				    a->value[i]);
	}
	(*n)++;
}

static enum run_format parse_format(const char *arg)
{
	if (!strcmp(arg, "text"))
		return FORMAT_TEXT;
	if (!strcmp(arg, "json"))
		return FORMAT_JSON;
	if (!strcmp(arg, "csv"))
		return FORMAT_CSV;
	die("no format \"%s\"; there are text, json, csv", arg);
}

static error_t parse_numbers(int key, char *arg, struct run_args *a)
{
	switch (key) {
	case 't':
		a->threads = parse_number(arg, 1, TLBLAB_MAX_THREADS, "--threads");
		return 0;
	case 'r':
		a->runs = parse_number(arg, 1, RUNS_MAX, "--runs");
		return 0;
	case KEY_SEED:
		a->seed = parse_number(arg, 0, 1ULL << 62, "--seed");
		return 0;
	case KEY_TIME_LIMIT:
		if (parse_decimal(arg, 1000000000000ULL, &a->time_limit_ps) ||
		    !a->time_limit_ps)
			die("--time-limit: expected seconds such as 0.5, not \"%s\"",
			    arg);
		return 0;
	case KEY_INTERVAL:
		if (parse_decimal(arg, 1000000000000ULL, &a->interval_ps) ||
		    a->interval_ps < INTERVAL_MIN_PS)
			die("--interval: expected seconds such as 0.5, 0.0001 at least, "
			    "not \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *a = state->input;

	switch (key) {
	case 'm':
		a->machine = arg;
		break;
	case KEY_ERA:
		a->era = arg;
		break;
	case 's':
		assign(a->set, &a->nr_set, TLBLAB_MAX_KNOBS, TLBLAB_MAX_COLUMNS,
		       arg, "KNOB");
		break;
	case 'p':
		assign(a->param, &a->nr_params, WL_MAX_PARAMS,
		       TLBLAB_MAX_COLUMNS, arg, "PARAM");
		break;
	case KEY_CORE:
		assign(a->core, &a->nr_cores, TLBLAB_MAX_COLUMNS, 1, arg, "NAME");
		break;
	case KEY_RANGES:
		a->ranges = true;
		break;
	case KEY_PIN:
		a->pin = true;
		break;
	case 'f':
		a->format = parse_format(arg);
		break;
	case 'o':
		a->output = arg;
		break;
	case 'v':
		a->verbose = true;
		break;
	case ARGP_KEY_ARG:
		if (a->workload)
			die("run takes one workload, not also \"%s\"", arg);
		a->workload = arg;
		break;
	default:
		return parse_numbers(key, arg, a);
	}
	return 0;
}

void run_args_parse(struct run_args *args, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "WORKLOAD",
		.doc = "Run a workload and print its figures, a column for each "
		       "combination of values, as a table that can be mailed.",
	};

	*args = (struct run_args){
		.machine = "native", .runs = RUNS_DEFAULT, .seed = 1,
	};
	argp_parse(&argp, argc, argv, 0, NULL, args);
	if (!args->workload)
		die("run what? `tlblab list workloads' names them");
}
