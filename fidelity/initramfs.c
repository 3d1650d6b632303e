// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * initramfs INIT OUT [MODULE...]: an initramfs that holds /init (the file INIT), /proc, /sys,
 * /dev/console, which the kernel opens before it starts /init, and the modules, as
 * /modules/0.ko and so on.
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

static void add_file(struct cpio *cpio, const char *name, const char *path)
{
	size_t size;
	void *data = read_file(path, &size);

	cpio_regular(cpio, name, 0755, data, size);
	free(data);
}

int main(int argc, char **argv)
{
	struct cpio cpio;
	FILE *out;

	if (argc < 3) {
		fprintf(stderr, "usage: initramfs INIT OUT [MODULE...]\n");
		return 2;
	}
	out = fopen(argv[2], "wb");
	if (!out) {
		perror(argv[2]);
		return 2;
	}
	cpio_open(&cpio, out);
	cpio_dir(&cpio, "dev", 0755);
	cpio_char_device(&cpio, "dev/console", 0600, 5, 1);
	cpio_dir(&cpio, "proc", 0755);
	cpio_dir(&cpio, "sys", 0755);
	add_file(&cpio, "init", argv[1]);
	cpio_dir(&cpio, "modules", 0755);
	for (int i = 3; i < argc; i++) {
		char name[32];

		snprintf(name, sizeof(name), "modules/%d.ko", i - 3);
		add_file(&cpio, name, argv[i]);
	}
	cpio_close(&cpio);
	if (fflush(out) || ferror(out) || fclose(out)) {
		perror(argv[2]);
		return 2;
	}
	return 0;
}
