/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of litmus tests that others published: $TLBLAB_LITMUS, or
 * ../shared/suites/aarch64-vmsa beside the tree. It is not part of the tree; tests that
 * need it skip without it.
 */
#ifndef TESTS_LITMUS_SUITE_H
#define TESTS_LITMUS_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/litmus_kinds.h"
#include "litmus/litmus.h"

/* NULL, having said so: it is not there. */
const char *suite_folder(void);
/* Path of a file in it, malloc()ed. */
char *suite_path(const char *name);
/* fail_msg() when the file cannot be run. */
void suite_run(struct lit_machines *m, const char *path, u64 laws_off, bool overtaking,
	       struct litmus **t, struct lit_result *r);
/* *.litmus of a folder, sorted; malloc()ed paths, NULL at the end. */
char **suite_files(const char *folder);
void suite_free(char **files);
/* $SRC/name, malloc()ed. */
char *tree_path(const char *name);

#endif
