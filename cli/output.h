/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output to a file, whole or not at all: written under a name of its own beside
 * the target, then renamed over it. A killed run leaves the target as it was. A
 * target that is no regular file (a terminal, a pipe, /dev/null) is written to:
 * renaming would replace it.
 */
#ifndef TLBLAB_CLI_OUTPUT_H
#define TLBLAB_CLI_OUTPUT_H

#include <stdio.h>

#include <tlblab/types.h>

struct output {
	FILE *f;
	const char *path;	/* NULL: standard output */
	bool renames;		/* temp becomes path at the end */
	char temp[4096];
};

/*
 * Is path writable? Asked before the work, whose result would be lost
 * otherwise. Dies with one line if it is not.
 */
void output_check(const char *path);
void output_open(struct output *o, const char *path);
void output_close(struct output *o);

#endif
