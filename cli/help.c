// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void overview(void)
{
	printf("usage: tlblab COMMAND [ARGUMENTS]\n\n"
	       "A laboratory for TLB invalidation: runs one memory-management core on\n"
	       "machines that you do not have, and the same workloads on this host.\n\n");
	for (const struct command *c = commands; c->name; c++)
		if (c->help)
			printf("  %-10s %s\n", c->name, c->help);
	printf("\n`tlblab help COMMAND' or tlblab(1) tells more.\n");
}

int cmd_help(int argc, char **argv)
{
	char *help_argv[] = { NULL, (char *)"--help", NULL };

	if (argc > 2)
		die("help takes one command");
	if (argc < 2 || !strcmp(argv[1], "help") || argv[1][0] == '-') {
		overview();
		return EXIT_CLEAN;
	}
	return command_run(command_find(argv[1]), 2, help_argv);
}
