/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine files: YAML into struct machine_desc. docs/machine-files.md tells
 * writers what a file may say.
 *
 * Everything is checked here: a description that was loaded is safe to run,
 * except that names and values of features are the core's to check
 * (cli/knobs.c). A failure leaves one line in *error,
 * "FILE:LINE:COLUMN: key: what was expected", and nothing to free.
 *
 * Decimals become integers exactly; a time finer than a picosecond is refused,
 * except in cycles, which are rounded to the nearest.
 */
#ifndef TLBLAB_MACHINE_DESC_YAML_H
#define TLBLAB_MACHINE_DESC_YAML_H

#include <stdio.h>

#include "machine/desc.h"

/*
 * By name or by path (has a '/' or ends in .yaml). Names are looked for in the
 * directories of machine_desc_dirs(). Returns 0, or -1 with *error.
 */
int machine_desc_load(const char *name, struct machine_desc *desc,
		      char *error, size_t error_size);

/* The text of a file; path is for messages and for a topology file beside it. */
int machine_desc_parse(const char *text, size_t size, const char *path,
		       struct machine_desc *desc,
		       char *error, size_t error_size);

/*
 * Directories in order: $TLBLAB_MACHINES, machines/ beside the directory of
 * the program, the installed one. dirs[i] is filled; returns how many.
 */
#define MACHINE_DIRS_MAX 3
#define MACHINE_PATH_MAX 4096
u32 machine_desc_dirs(char dirs[MACHINE_DIRS_MAX][MACHINE_PATH_MAX]);

/*
 * The names that machine_desc_load() knows, sorted, each once. Returns their number, at
 * most max; free() each.
 */
u32 machine_desc_list(char **names, u32 max);

/* "16M", "64K", "1G", "0x1000", "512": bytes. Returns 0 or -1. */
int parse_size(const char *s, u64 *bytes);

/*
 * A plain decimal ("0.305") times scale, exactly. Returns 0; -1 when s is no
 * such number; -2 when it has more digits than scale can hold; -3 when too large.
 */
int parse_decimal(const char *s, u64 scale, u64 *result);

/* Prints desc as C source that defines `const struct machine_desc symbol`. */
void machine_desc_print_c(const struct machine_desc *desc, const char *symbol,
			  FILE *out);

#endif
