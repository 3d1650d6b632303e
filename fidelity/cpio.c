// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpio.h"

#include <string.h>
#include <sys/stat.h>

struct entry {
	const char *path;
	uint32_t ino, mode, nlink;
	uint32_t major, minor;
	const void *data;
	uint32_t size;
};

static void put(struct cpio *c, const void *data, size_t size)
{
	fwrite(data, 1, size, c->file);
	c->size += size;
}

static void pad(struct cpio *c, unsigned int align)
{
	while (c->size % align)
		put(c, "", 1);
}

/*
 * Magic, then 13 fields of eight hexadecimal digits; the name with its NUL
 * and the data each padded to four bytes.
 */
static void put_entry(struct cpio *c, const struct entry *e)
{
	uint32_t namesize = strlen(e->path) + 1;
	char header[6 + 13 * 8 + 1];

	snprintf(header, sizeof(header),
		 "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		 e->ino, e->mode, 0 /* uid */, 0 /* gid */, e->nlink,
		 0 /* mtime */, e->size, 0 /* devmajor */, 0 /* devminor */,
		 e->major, e->minor, namesize, 0 /* check */);
	put(c, header, sizeof(header) - 1);
	put(c, e->path, namesize);
	pad(c, 4);
	if (e->size)
		put(c, e->data, e->size);
	pad(c, 4);
}

void cpio_open(struct cpio *c, FILE *file)
{
	*c = (struct cpio){ .file = file };
}

void cpio_dir(struct cpio *c, const char *path, uint32_t perm)
{
	put_entry(c, &(struct entry){ .path = path, .ino = ++c->ino,
				      .mode = S_IFDIR | perm, .nlink = 2 });
}

void cpio_char_device(struct cpio *c, const char *path, uint32_t perm,
		      uint32_t major, uint32_t minor)
{
	put_entry(c, &(struct entry){ .path = path, .ino = ++c->ino,
				      .mode = S_IFCHR | perm, .nlink = 1,
				      .major = major, .minor = minor });
}

void cpio_regular(struct cpio *c, const char *path, uint32_t perm,
		  const void *data, uint32_t size)
{
	put_entry(c, &(struct entry){ .path = path, .ino = ++c->ino,
				      .mode = S_IFREG | perm, .nlink = 1,
				      .data = data, .size = size });
}

void cpio_close(struct cpio *c)
{
	put_entry(c, &(struct entry){ .path = "TRAILER!!!", .nlink = 1 });
	pad(c, 512);
}
