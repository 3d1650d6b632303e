// SPDX-License-Identifier: GPL-2.0-or-later
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/litmus/suite.h"

char *tree_path(const char *name)
{
	const char *src = getenv("SRC");
	char *path;

	if (asprintf(&path, "%s/%s", src ? src : ".", name) < 0)
		abort();
	return path;
}

const char *suite_folder(void)
{
	static char *beside;
	const char *set = getenv("TLBLAB_LITMUS");
	struct stat st;

	if (set && *set) {
		if (stat(set, &st))
			fail_msg("TLBLAB_LITMUS: there is no folder %s", set);
		return set;
	}
	if (!beside)
		beside = tree_path("../shared/suites/aarch64-vmsa");
	if (!stat(beside, &st))
		return beside;
	print_message("no suite of litmus tests: TLBLAB_LITMUS is not set, and %s is not there\n",
		      beside);
	return NULL;
}

char *suite_path(const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s.litmus", suite_folder(), name) < 0)
		abort();
	return path;
}

void suite_run(struct lit_machines *m, const char *path, u64 laws_off, bool overtaking,
	       struct litmus **t, struct lit_result *r)
{
	const struct lit_how how = { .overtaking = overtaking, .laws_off = laws_off };
	char error[512];

	*t = litmus_load(path, error, sizeof(error));
	if (!*t || !litmus_run(m, *t, &how, r, error, sizeof(error)))
		fail_msg("%s", error);
}

char **suite_files(const char *folder)
{
	char **files, pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.litmus", folder);
	if (glob(pattern, 0, NULL, &found))
		found.gl_pathc = 0;
	files = calloc(found.gl_pathc + 1, sizeof(*files));
	for (size_t i = 0; i < found.gl_pathc; i++)
		files[i] = strdup(found.gl_pathv[i]);
	if (found.gl_pathc)
		globfree(&found);
	return files;
}

void suite_free(char **files)
{
	for (char **f = files; *f; f++)
		free(*f);
	free(files);
}
