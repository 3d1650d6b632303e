/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command. One file per subcommand; commands.c is the table of them.
 *
 * A subcommand gets its arguments with argv[0] set to "tlblab NAME" and returns an
 * exit status. Bad usage or input ends in die(): one line on stderr, status 2.
 */
#ifndef TLBLAB_CLI_CLI_H
#define TLBLAB_CLI_CLI_H

#include <tlblab/types.h>

enum exit_status {
	EXIT_CLEAN = 0,
	EXIT_EXPECTATION = 1,	/* an expectation failed */
	EXIT_INPUT = 2,		/* bad usage or input */
	EXIT_BUG = 3,		/* our own */
};

struct command {
	const char *name;
	int (*fn)(int argc, char **argv);
	const char *help;	/* one line; NULL: not listed */
};

extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name);
int command_run(const struct command *c, int argc, char **argv);

int cmd_help(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_machine_c(int argc, char **argv);

__attribute__((format(printf, 1, 2), noreturn))
void die(const char *fmt, ...);
/* Zeroed memory, or die(). */
void *zalloc(size_t n, size_t size);

#endif
