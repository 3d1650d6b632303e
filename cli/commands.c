// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cli.h"
#include "machine/nearest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command commands[] = {
	{ "list", cmd_list, "what there is: workloads, machines, knobs, eras, scenarios, models" },
	{ "run", cmd_run, "run a workload, simulated or on this host, and compare" },
	{ "check", cmd_check, "go through the interleavings of scenarios and models" },
	{ "replay", cmd_replay, "run a violation again, step by step" },
	{ "calibrate", cmd_calibrate, "measure this host and write a machine file" },
	{ "validate", cmd_validate, "published figures and this host beside the model" },
	{ "help", cmd_help, "this list, or the options of a command" },
	{ "machine-c", cmd_machine_c, NULL },
	{ NULL, NULL, NULL },
};

const struct command *command_find(const char *name)
{
	struct nearest near = { .name = name };

	for (const struct command *c = commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
		if (c->help)
			nearest_offer(&near, c->name);
	}
	die("no command \"%s\"; the nearest is \"%s\"", name, near.best);
}

int command_run(const struct command *c, int argc, char **argv)
{
	static char name[64];
	int status;

	snprintf(name, sizeof(name), "tlblab %s", c->name);
	argv[0] = name;
	status = c->fn(argc, argv);
	/* Whatever the command found, nobody may have been told. */
	if (fflush(stdout))
		die("standard output: %s", strerror(errno));
	if (ferror(stdout))
		die("standard output: write error");
	return status;
}

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("tlblab: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_INPUT);
}

void *zalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("out of memory");
	return p;
}
