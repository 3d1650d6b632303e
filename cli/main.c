// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cli.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An assertion of ours failed and has said where. */
static void on_abort(int sig)
{
	static const char line[] = "tlblab: bug: the line above is a fault of "
		"tlblab itself; please report it with the command that met it\n";

	(void)sig;
	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	_exit(EXIT_BUG);
}

int main(int argc, char **argv)
{
	const struct command *c;

	signal(SIGABRT, on_abort);
	argp_err_exit_status = EXIT_INPUT;
	/* hwloc would obey these before a machine file. */
	unsetenv("HWLOC_XMLFILE");
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_FSROOT");
	if (argc < 2) {
		cmd_help(1, argv);
		return EXIT_INPUT;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("tlblab %s\n", TLBLAB_VERSION);
		return EXIT_CLEAN;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return cmd_help(1, argv);
	c = command_find(argv[1]);
	return command_run(c, argc - 1, argv + 1);
}
