// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The corpora of the fuzz targets, and good files of the tree, without a fuzzer: whole, cut
 * short, and with a byte changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

#define MOST_BYTES (1 << 20)

static const struct replay {
	const char *folder;
	void (*target)(const uint8_t *data, size_t size);
	unsigned int files;	/* in the folder, at least */
	size_t stride;		/* between the bytes where it is cut, and those changed */
	const char *bytes;	/* what these become, in turn, with the 0 behind them */
} replays[] = {
	{ "tests/fuzz/corpus/litmus", fuzz_litmus, 8, 7, "(;=:9|*\n" },
	{ "models/litmus-x86", fuzz_litmus, 20, 5, "(;=:9|*\n" },
	{ "models/litmus-aarch64", fuzz_litmus, 6, 5, "(;=:9|*\n" },
	{ "tests/fuzz/corpus/machine_yaml", fuzz_machine_yaml, 9, 61, "\n{9-:" },
	{ "tests/fuzz/corpus/scenario", fuzz_scenario, 8, 7, "(;=-9|#\n" },
	{ "scenarios", fuzz_scenario, 10, 3, "(;=-9|#\n" },
	{ "tests/fuzz/corpus/witness", fuzz_witness, 4, 41, "{}[]:,\"0" },
};

static void replay_file(const struct replay *r, uint8_t *data, size_t size)
{
	size_t n = 0;

	r->target(data, size);
	for (size_t at = 0; at < size; at += r->stride) {
		uint8_t was = data[at];

		r->target(data, at);
		data[at] = r->bytes[n];
		n = r->bytes[n] ? n + 1 : 0;
		r->target(data, size);
		data[at] = was;
	}
}

static void test_folder(void **state)
{
	const struct replay *r = *state;
	const char *src = getenv("SRC");
	uint8_t *data = malloc(MOST_BYTES);
	struct dirent *entry;
	unsigned int files = 0;
	char path[4096];
	DIR *d;

	assert_non_null(data);
	snprintf(path, sizeof(path), "%s/%s", src ? src : ".", r->folder);
	d = opendir(path);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", src ? src : ".", r->folder,
			 entry->d_name);
		f = fopen(path, "r");
		assert_non_null(f);
		replay_file(r, data, fread(data, 1, MOST_BYTES, f));
		fclose(f);
		files++;
	}
	closedir(d);
	free(data);
	assert_true(files >= r->files);
}

int main(void)
{
	enum { N = sizeof(replays) / sizeof(replays[0]) };
	struct CMUnitTest tests[N];

	for (int i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){ replays[i].folder, test_folder, NULL, NULL,
						(void *)&replays[i] };
	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
