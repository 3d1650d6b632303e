// SPDX-License-Identifier: GPL-2.0-or-later
/* The corpus, and good files cut short or with a byte changed, without a fuzzer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MAX_READ (1 << 20)

static size_t read_file(const char *dir, const char *name, uint8_t *data)
{
	char path[4096];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%.3000s/%.255s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	size = fread(data, 1, SIZE_MAX_READ, f);
	fclose(f);
	return size;
}

static void corpus_dir(char *dir, size_t size)
{
	const char *src = getenv("SRC");

	snprintf(dir, size, "%s/tests/fuzz/corpus/machine_yaml", src ? src : ".");
}

static void test_corpus(void **state)
{
	uint8_t *data = malloc(SIZE_MAX_READ);
	struct dirent *entry;
	unsigned int n = 0;
	char dir[3000];
	DIR *d;

	(void)state;
	assert_non_null(data);
	corpus_dir(dir, sizeof(dir));
	d = opendir(dir);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		LLVMFuzzerTestOneInput(data, read_file(dir, entry->d_name, data));
		n++;
	}
	closedir(d);
	free(data);
	assert_true(n >= 9);
}

static void test_damaged(void **state)
{
	uint8_t *data = malloc(SIZE_MAX_READ);
	char dir[3000];
	size_t size;

	(void)state;
	assert_non_null(data);
	corpus_dir(dir, sizeof(dir));
	size = read_file(dir, "good-arm64", data);
	assert_true(size > 1000);
	for (size_t at = 0; at < size; at += 61) {
		uint8_t was = data[at];

		LLVMFuzzerTestOneInput(data, at);
		data[at] = "\n\0{9-:"[at % 6];
		LLVMFuzzerTestOneInput(data, size);
		data[at] = was;
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
