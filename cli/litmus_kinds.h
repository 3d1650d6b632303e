/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kinds.txt: what each test of a folder is expected to be, by the name in its first line. */
#ifndef TLBLAB_CLI_LITMUS_KINDS_H
#define TLBLAB_CLI_LITMUS_KINDS_H

struct litmus_kinds;

/* NULL when there is no such file; dies on a line that is not NAME KIND. */
struct litmus_kinds *litmus_kinds_load(const char *path);
void litmus_kinds_free(struct litmus_kinds *k);
/* enum lit_kind, or -1. */
int litmus_kinds_find(const struct litmus_kinds *k, const char *name);

#endif
