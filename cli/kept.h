/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Witnesses of scenario checks (explore/witness.h): from a check and its verdict to a
 * witness and back, and where they are kept: each violation as
 * $XDG_CACHE_HOME/tlblab/witness/ID.json, else under ~/.cache.
 */
#ifndef TLBLAB_CLI_KEPT_H
#define TLBLAB_CLI_KEPT_H

#include "cli/check_plan.h"
#include "explore/witness.h"

/* Takes the verdict's choices: it has none afterwards. */
void kept_describe(const struct check *c, struct xverdict *v, struct witness *w);
/* Into the cache; false if that cannot be written. */
bool kept_put(const struct witness *w);
/*
 * --witness FILE: whether it can be written, asked before the work; then the file, whole
 * or not at all. Both die if it cannot.
 */
void kept_check_path(const char *path);
void kept_write(const struct witness *w, const char *path);

/* A check as a witness tells it: the scenario in it, with the core that is here. */
struct kept {
	struct witness witness;
	struct core core;
	struct check check;
};

/*
 * By file or by id. Dies with one line if there is none, if it is damaged, or if it
 * was made with another core.
 */
void kept_load(const char *file_or_id, struct kept *k);
void kept_free(struct kept *k);

#endif
