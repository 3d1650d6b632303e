// SPDX-License-Identifier: GPL-2.0-or-later
/* The corpus of witness files, whole and cut short, without a fuzzer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int fuzz_witness(const uint8_t *data, size_t size);

#define SIZE_MAX_READ (1 << 20)

static void replay(const char *dir, const char *name, uint8_t *data)
{
	char path[4096];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%.3000s/%.255s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	size = fread(data, 1, SIZE_MAX_READ, f);
	fclose(f);
	fuzz_witness(data, size);
	for (size_t cut = 0; cut < size; cut += 1 + size / 50)
		fuzz_witness(data, cut);
}

static void test_corpus(void **state)
{
	const char *src = getenv("SRC");
	uint8_t *data = malloc(SIZE_MAX_READ);
	char dir[3000];
	struct dirent *e;
	int n = 0;
	DIR *d;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/witness", src ? src : ".");
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		replay(dir, e->d_name, data);
		n++;
	}
	closedir(d);
	assert_true(n > 3);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_corpus) };

	return cmocka_run_group_tests_name("replay_witness", tests, NULL, NULL);
}
