/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name that a mistyped name was meant to be. For messages only.
 */
#ifndef TLBLAB_MACHINE_NEAREST_H
#define TLBLAB_MACHINE_NEAREST_H

#include <tlblab/types.h>

/*
 * What it takes to turn a, as typed, into b: a weighted Levenshtein distance. A
 * character more costs 1, one less or another 2: people leave out more than
 * they invent, and "fullm" means fullmm_tables sooner than ignore.
 */
u32 edit_distance(const char *a, const char *b);

/*
 * A search over candidates, offered one by one; the first of equals wins.
 * Start with {0} and name set; the answer is in best, NULL if none was offered.
 */
struct nearest {
	const char *name;
	const char *best;
	u32 distance;
};

void nearest_offer(struct nearest *n, const char *candidate);

#endif
