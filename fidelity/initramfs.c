// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * initramfs INIT OUT: an initramfs that holds /init (the file INIT), /proc,
 * and /dev/console, which the kernel opens before it starts /init.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cpio.h"

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data;
	long end;

	if (!f || fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0 ||
	    fseek(f, 0, SEEK_SET)) {
		perror(path);
		exit(2);
	}
	data = malloc(end + 1);
	if (!data || fread(data, 1, end, f) != (size_t)end) {
		perror(path);
		exit(2);
	}
	fclose(f);
	*size = end;
	return data;
}

int main(int argc, char **argv)
{
	struct cpio cpio;
	size_t size;
	void *init;
	FILE *out;

	if (argc != 3) {
		fprintf(stderr, "usage: initramfs INIT OUT\n");
		return 2;
	}
	init = read_file(argv[1], &size);
	out = fopen(argv[2], "wb");
	if (!out) {
		perror(argv[2]);
		return 2;
	}
	cpio_open(&cpio, out);
	cpio_dir(&cpio, "dev", 0755);
	cpio_char_device(&cpio, "dev/console", 0600, 5, 1);
	cpio_dir(&cpio, "proc", 0755);
	cpio_regular(&cpio, "init", 0755, init, size);
	cpio_close(&cpio);
	free(init);
	if (fflush(out) || ferror(out) || fclose(out)) {
		perror(argv[2]);
		return 2;
	}
	return 0;
}
