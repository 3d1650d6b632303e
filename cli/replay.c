// SPDX-License-Identifier: GPL-2.0-or-later
/* One violation again, step by step, as its witness says. */
#include "cli/cli.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kept.h"

#define EVENTS_MAX 20000

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **name = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*name)
		die("replay takes one witness");
	*name = arg;
	return 0;
}

/* "core/mm/memory.c:120" from whatever path the compiler was given. */
static const char *short_path(const char *file)
{
	const char *core = strstr(file, "core/");

	return core ? core : file;
}

static void print_event(const struct xevent *e)
{
	printf("%5u  cpu%u  %s", e->step, e->cpu, e->text);
	if (e->site)
		printf("   [%s:%u %s]", short_path(e->site->file), e->site->line,
		       e->site->func);
	putchar('\n');
}

static void print_head(const struct kept *k)
{
	const struct scenario *sc = k->check.sc;
	char id[WITNESS_ID_SIZE];

	witness_id(&k->witness, id);
	printf("witness %s: %s, %s\n", id, sc->name, sc_arch_names[k->check.arch]);
	for (u32 t = 0; t < sc->nr_threads; t++)
		for (u32 i = 0; i < sc->thread[t].nr_ops; i++)
			printf("    %s: %s%s\n", sc->thread[t].name, sc->thread[t].op[i].text,
			       k->witness.verdict.dropped[t] >> i & 1 ?
			       "   (left out)" : "");
	putchar('\n');
}

/* Returns whether it ended as the witness says. */
static bool replay(const struct kept *k, struct xworld *world)
{
	struct xevent *events = zalloc(EVENTS_MAX, sizeof(*events));
	const struct xverdict *v = &k->witness.verdict;
	struct xresult result = { .outcome = XOUT_PASS };
	u32 n = EVENTS_MAX;
	bool fits = xsearch_replay(world, v, &result, events, &n);
	bool violation = result.outcome == XOUT_VIOLATION;

	if (!fits)
		die("the choices of this witness do not fit");
	print_head(k);
	for (u32 i = 0; i < n; i++)
		print_event(&events[i]);
	free(events);
	printf("\n%s: %s\n", violation ? xrule_name(result.rule) : "no violation",
	       violation ? result.detail : "the execution ended");
	if (violation && result.rule == v->result.rule)
		return true;
	printf("the witness says %s\n", xrule_name(v->result.rule));
	return false;
}

int cmd_replay(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "WITNESS|ID",
		.doc = "Run one violation again, step by step: by its witness file, or "
		       "by the id that `tlblab check' gave it.",
	};
	const char *name = NULL;
	struct sc_program *program;
	struct xworld *world;
	char error[512];
	struct kept k;
	bool same;

	argp_parse(&argp, argc, argv, 0, NULL, &name);
	if (!name)
		die("replay what? name a witness file or an id");
	kept_load(name, &k);
	program = scenario_program(k.check.sc, k.check.arch, k.core.module,
				   k.check.knobs);
	if (!program)
		die("out of memory");
	world = xworld_create(sc_xprogram(program), error, sizeof(error));
	if (!world || !sc_program_ready(program, error, sizeof(error)))
		die("%s", error);
	same = replay(&k, world);
	xworld_destroy(world);
	sc_program_free(program);
	kept_free(&k);
	return same ? EXIT_CLEAN : EXIT_EXPECTATION;
}
