// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/litmus_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "litmus/litmus.h"

struct kind {
	char name[128];
	int kind;
};

struct litmus_kinds {
	u32 n;
	struct kind *kind;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kind *)a)->name, ((const struct kind *)b)->name);
}

/* Older files of herd's have Allow, Forbid, Require. */
static int kind_of(const char *word)
{
	static const char *const verb[] = { "Allow", "Forbid", "Require" };

	for (int i = LIT_ALLOWED; i <= LIT_REQUIRED; i++)
		if (!strcmp(word, lit_kind_names[i]) || !strcmp(word, verb[i]))
			return i;
	return -1;
}

struct litmus_kinds *litmus_kinds_load(const char *path)
{
	struct litmus_kinds *k;
	char line[512];
	u32 number = 0;
	FILE *f = fopen(path, "r");

	if (!f) {
		if (errno != ENOENT)
			die("%s: %s", path, strerror(errno));
		return NULL;
	}
	k = zalloc(1, sizeof(*k));
	while (fgets(line, sizeof(line), f)) {
		struct kind one = { .kind = -1 };
		char word[32];

		number++;
		if (line[strspn(line, " \t\n")] == 0 || line[0] == '#')
			continue;
		if (sscanf(line, "%127s %31s", one.name, word) == 2)
			one.kind = kind_of(word);
		if (one.kind < 0)
			die("%s:%u: expected NAME and Allowed, Forbidden or Required", path,
			    number);
		k->kind = realloc(k->kind, (k->n + 1) * sizeof(*k->kind));
		if (!k->kind)
			die("out of memory");
		k->kind[k->n++] = one;
	}
	fclose(f);
	if (k->n)
		qsort(k->kind, k->n, sizeof(*k->kind), by_name);
	return k;
}

void litmus_kinds_free(struct litmus_kinds *k)
{
	if (k)
		free(k->kind);
	free(k);
}

int litmus_kinds_find(const struct litmus_kinds *k, const char *name)
{
	const struct kind *found;
	struct kind key;

	if (!k->n)
		return -1;
	snprintf(key.name, sizeof(key.name), "%s", name);
	found = bsearch(&key, k->kind, k->n, sizeof(key), by_name);
	return found ? found->kind : -1;
}
