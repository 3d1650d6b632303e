// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The newc writer, read back by a reader of its own, which knows only the format's
 * description (Documentation/driver-api/early-userspace/buffer-format.rst).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fidelity/cpio.h"

enum { INO, MODE, UID, GID, NLINK, MTIME, FILESIZE, MAJ, MIN, RMAJ, RMIN,
       NAMESIZE, CHKSUM, NR_FIELDS };

struct reader {
	const char *data;
	size_t size, pos;
};

struct entry {
	uint32_t field[NR_FIELDS];
	const char *name, *data;
};

static size_t align4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static void read_entry(struct reader *r, struct entry *e)
{
	char digits[9] = "";
	char *end;
	int i;

	assert_int_equal(r->pos % 4, 0);
	assert_true(r->pos + 110 <= r->size);
	assert_memory_equal(r->data + r->pos, "070701", 6);
	for (i = 0; i < NR_FIELDS; i++) {
		memcpy(digits, r->data + r->pos + 6 + 8 * i, 8);
		e->field[i] = strtoul(digits, &end, 16);
		assert_ptr_equal(end, digits + 8);
	}
	e->name = r->data + r->pos + 110;
	assert_true(r->pos + 110 + e->field[NAMESIZE] <= r->size);
	assert_int_equal(strlen(e->name) + 1, e->field[NAMESIZE]);
	r->pos = align4(r->pos + 110 + e->field[NAMESIZE]);
	e->data = r->data + r->pos;
	r->pos = align4(r->pos + e->field[FILESIZE]);
	assert_true(r->pos <= r->size);
}

static char *write_archive(const char *payload, size_t len, size_t *size)
{
	char *data = NULL;
	FILE *f = open_memstream(&data, size);
	struct cpio c;

	assert_non_null(f);
	cpio_open(&c, f);
	cpio_dir(&c, "dev", 0755);
	cpio_char_device(&c, "dev/console", 0600, 5, 1);
	cpio_regular(&c, "init", 0755, payload, len);
	cpio_close(&c);
	assert_int_equal(ferror(f), 0);
	fclose(f);
	return data;
}

static void round_trip(const char *payload, size_t len)
{
	struct reader r = { 0 };
	struct entry e;
	char *archive = write_archive(payload, len, &r.size);

	r.data = archive;
	assert_int_equal(r.size % 512, 0);

	read_entry(&r, &e);
	assert_string_equal(e.name, "dev");
	assert_int_equal(e.field[MODE], 0040755);
	assert_int_equal(e.field[INO], 1);
	assert_int_equal(e.field[FILESIZE], 0);

	read_entry(&r, &e);
	assert_string_equal(e.name, "dev/console");
	assert_int_equal(e.field[MODE], 0020600);
	assert_int_equal(e.field[RMAJ], 5);
	assert_int_equal(e.field[RMIN], 1);

	read_entry(&r, &e);
	assert_string_equal(e.name, "init");
	assert_int_equal(e.field[MODE], 0100755);
	assert_int_equal(e.field[NLINK], 1);
	assert_int_equal(e.field[UID] | e.field[GID] | e.field[MTIME], 0);
	assert_int_equal(e.field[FILESIZE], len);
	if (len)
		assert_memory_equal(e.data, payload, len);

	read_entry(&r, &e);
	assert_string_equal(e.name, "TRAILER!!!");
	for (; r.pos < r.size; r.pos++)
		assert_int_equal(r.data[r.pos], 0);
	free(archive);
}

/* Lengths that need each padding, and bytes that are no text. */
static void test_round_trip(void **state)
{
	char payload[1027];
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(payload); len++)
		payload[len] = len * 7;
	for (len = 0; len < 9; len++)
		round_trip(payload, len);
	round_trip(payload, sizeof(payload));
}

static void test_same_bytes(void **state)
{
	size_t size1, size2;
	char *a = write_archive("abc", 3, &size1), *b = write_archive("abc", 3, &size2);

	(void)state;
	assert_int_equal(size1, size2);
	assert_memory_equal(a, b, size1);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
