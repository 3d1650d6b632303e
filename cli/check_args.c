// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check_args.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/params.h"
#include "machine/desc_yaml.h"
#include "machine/nearest.h"
#include "scenario/scenario.h"

enum { KEY_ERA = 256, KEY_STRATEGY, KEY_BOUND, KEY_BUDGET, KEY_SEED, KEY_JOBS,
       KEY_WITNESS };

#define BOUND_DEFAULT 2
#define BOUND_MAX 1000
#define BUDGET_DEFAULT_S 60
#define JOBS_MAX 256

static const struct argp_option options[] = {
	{ "arch", 'a', "ARCH[,ARCH...]", 0, "only these of the architectures that a "
	  "file names", 0 },
	{ "era", KEY_ERA, "ERA", 0, "policies as that kernel had them (the file's, or "
	  "6.12)", 0 },
	{ "set", 's', "KNOB=VALUE", 0, "set a knob; only expectations that agree "
	  "count, and if there is none, pass is expected", 0 },
	{ "strategy", KEY_STRATEGY, "systematic|pct|random", 0, "how to go through "
	  "executions (systematic)", 0 },
	{ "bound", KEY_BOUND, "N", 0, "preemptions of an execution, at most (2)", 0 },
	{ "budget", KEY_BUDGET, "SECONDS", 0, "of each check; what it does not settle "
	  "is inconclusive (60)", 0 },
	{ "seed", KEY_SEED, "N", 0, "of pct and random (1)", 0 },
	{ "jobs", KEY_JOBS, "N", 0, "processes (as many as CPUs)", 0 },
	{ "witness", KEY_WITNESS, "FILE", 0, "write the first violation's witness "
	  "there, too", 0 },
	{ "format", 'f', "text|json|ktap", 0, "what to print (text)", 0 },
	{ "verbose", 'v', NULL, 0, "text: all knobs, and counts of executions", 0 },
	{ 0 },
};

/* The index of name in the NULL-terminated list; dies, naming the nearest. */
static u32 one_of(const char *name, const char *const *list, const char *what)
{
	struct nearest near = { .name = name };
	u32 i;

	for (i = 0; list[i]; i++) {
		if (!strcmp(list[i], name))
			return i;
		nearest_offer(&near, list[i]);
	}
	die("no %s \"%s\"; the nearest is \"%s\"", what, name, near.best);
}

static void parse_archs(struct check_args *a, const char *arg)
{
	char *copy = strdup(arg), *rest = copy, *name;

	if (!copy)
		die("out of memory");
	while ((name = strsep(&rest, ",")))
		a->archs |= 1U << one_of(name, sc_arch_names, "architecture");
	free(copy);
}

/* "KNOB=VALUE", and "KNOB=VALUE,KNOB=VALUE". */
static void parse_sets(struct check_args *a, const char *arg)
{
	char *rest = strdup(arg), *one;

	if (!rest)
		die("out of memory");
	while ((one = strsep(&rest, ","))) {
		char *equals = strchr(one, '=');

		if (!equals || equals == one || !equals[1])
			die("\"%s\" is not KNOB=VALUE", one);
		*equals = 0;
		for (u32 i = 0; i < a->nr_sets; i++)
			if (!strcmp(a->set[i].name, one))
				die("-s %s is given twice", one);
		if (a->nr_sets == CHECK_MAX_SETS)
			die("at most %d times -s", CHECK_MAX_SETS);
		a->set[a->nr_sets++] = (struct check_set){ one, equals + 1 };
	}
}

static void add_path(struct check_args *a, char *path)
{
	a->path = realloc(a->path, (a->nr_paths + 1) * sizeof(*a->path));
	if (!a->path)
		die("out of memory");
	a->path[a->nr_paths++] = path;
}

static error_t parse_numbers(int key, char *arg, struct check_args *a)
{
	u64 ms;

	switch (key) {
	case KEY_BOUND:
		a->bound = parse_number(arg, 0, BOUND_MAX, "--bound");
		return 0;
	case KEY_SEED:
		a->seed = parse_number(arg, 0, 1ULL << 62, "--seed");
		return 0;
	case KEY_JOBS:
		a->jobs = parse_number(arg, 1, JOBS_MAX, "--jobs");
		return 0;
	case KEY_BUDGET:
		if (parse_decimal(arg, 1000, &ms) || !ms)
			die("--budget: expected seconds such as 0.5, not \"%s\"", arg);
		a->budget_s = (double)ms / 1000;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const strategies[] = { "systematic", "pct", "random", NULL };
	static const char *const formats[] = { "text", "json", "ktap", NULL };
	struct check_args *a = state->input;

	switch (key) {
	case 'a':
		parse_archs(a, arg);
		break;
	case KEY_ERA:
		a->era = arg;
		break;
	case 's':
		parse_sets(a, arg);
		break;
	case KEY_STRATEGY:
		a->strategy = one_of(arg, strategies, "strategy");
		break;
	case KEY_WITNESS:
		a->witness = arg;
		break;
	case 'f':
		a->format = one_of(arg, formats, "format");
		break;
	case 'v':
		a->verbose = true;
		break;
	case ARGP_KEY_ARG:
		add_path(a, arg);
		break;
	default:
		return parse_numbers(key, arg, a);
	}
	return 0;
}

void check_args_parse(struct check_args *args, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE|FOLDER...",
		.doc = "Run the executions of scenarios and of models in C, and say "
		       "whether each expectation holds. A folder stands for its "
		       "*.tlb and *.c files.",
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*args = (struct check_args){
		.bound = BOUND_DEFAULT, .budget_s = BUDGET_DEFAULT_S, .seed = 1,
		.jobs = cpus > 0 && cpus <= JOBS_MAX ? (u32)cpus : 1,
	};
	argp_parse(&argp, argc, argv, 0, NULL, args);
	if (!args->nr_paths)
		die("check what? name scenario files, or folders of them");
}
