// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/nearest.h"

#include <string.h>

#define NAME_CONSIDERED 64

enum { ADD = 1, DROP = 2, REPLACE = 2 };

static u32 min3(u32 a, u32 b, u32 c)
{
	u32 m = a < b ? a : b;

	return m < c ? m : c;
}

/* One row of the table at a time: row[j] is the distance of a[0..i] to b[0..j]. */
u32 edit_distance(const char *a, const char *b)
{
	u32 row[NAME_CONSIDERED + 1];
	u32 la = strnlen(a, NAME_CONSIDERED), lb = strnlen(b, NAME_CONSIDERED);

	for (u32 j = 0; j <= lb; j++)
		row[j] = ADD * j;
	for (u32 i = 1; i <= la; i++) {
		u32 diagonal = row[0];

		row[0] = DROP * i;
		for (u32 j = 1; j <= lb; j++) {
			u32 above = row[j];

			row[j] = min3(above + DROP, row[j - 1] + ADD,
				      diagonal + (a[i - 1] == b[j - 1] ? 0 : REPLACE));
			diagonal = above;
		}
	}
	return row[lb];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	u32 d = edit_distance(n->name, candidate);

	if (n->best && d >= n->distance)
		return;
	n->best = candidate;
	n->distance = d;
}
