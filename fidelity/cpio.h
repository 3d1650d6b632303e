/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A writer of cpio archives in the "newc" format, as the kernel's initramfs
 * wants them (Documentation/driver-api/early-userspace/buffer-format.rst). Owner
 * is always root, time always 0, inode numbers count up: the same input gives
 * the same bytes. Write errors stay in the FILE; check ferror() at the end.
 */
#ifndef FIDELITY_CPIO_H
#define FIDELITY_CPIO_H

#include <stdint.h>
#include <stdio.h>

struct cpio {
	FILE *file;
	uint32_t ino;	/* of the last entry */
	uint64_t size;	/* bytes written */
};

void cpio_open(struct cpio *c, FILE *file);
/* Paths without a leading slash; a folder before what lies in it. */
void cpio_dir(struct cpio *c, const char *path, uint32_t perm);
void cpio_char_device(struct cpio *c, const char *path, uint32_t perm,
		      uint32_t major, uint32_t minor);
void cpio_regular(struct cpio *c, const char *path, uint32_t perm,
		  const void *data, uint32_t size);
/* The trailer, padded to 512 bytes. The file stays open. */
void cpio_close(struct cpio *c);

#endif
