// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The corpus of litmus tests and those of models/litmus-*, whole, cut short and with a
 * byte changed, without a fuzzer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int fuzz_litmus(const uint8_t *data, size_t size);

#define SIZE_MAX_READ (1 << 20)

/* Every so many bytes one is changed, and the file cut there. */
static void damage(uint8_t *data, size_t size, size_t stride)
{
	for (size_t at = 0; at < size; at += stride) {
		uint8_t was = data[at];

		fuzz_litmus(data, at);
		data[at] = "(;\0=:9|*\n"[at % 9];
		fuzz_litmus(data, size);
		data[at] = was;
	}
}

static unsigned int each_file(const char *folder, size_t stride)
{
	const char *src = getenv("SRC");
	uint8_t *data = malloc(SIZE_MAX_READ);
	struct dirent *entry;
	unsigned int n = 0;
	char path[4096];
	DIR *d;

	assert_non_null(data);
	snprintf(path, sizeof(path), "%s/%s", src ? src : ".", folder);
	d = opendir(path);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		size_t size;
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", src ? src : ".", folder,
			 entry->d_name);
		f = fopen(path, "r");
		assert_non_null(f);
		size = fread(data, 1, SIZE_MAX_READ, f);
		fclose(f);
		fuzz_litmus(data, size);
		damage(data, size, stride);
		n++;
	}
	closedir(d);
	free(data);
	return n;
}

static void test_corpus(void **state)
{
	(void)state;
	assert_true(each_file("tests/fuzz/corpus/litmus", 7) >= 8);
}

static void test_models(void **state)
{
	(void)state;
	assert_true(each_file("models/litmus-x86", 5) >= 20);
	assert_true(each_file("models/litmus-aarch64", 5) >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_models),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
