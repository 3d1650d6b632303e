/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Witness files: a violation on paper, to be replayed by somebody else.
 *
 * A witness is JSON. It names what was run (program and its source, architecture,
 * core module, knobs) and the execution (dropped operations, choices). It means
 * something only with the very same source, core and seam; so these are kept as
 * hashes, and witness_fits() says in one line what differs.
 *
 * The id is ten characters (a hash of all of it) for mails and file names.
 *
 * Operating errors: a file that cannot be read, is no witness, or belongs to something
 * else. Each is one line in *error that starts with the file's name.
 */
#ifndef TLBLAB_EXPLORE_WITNESS_H
#define TLBLAB_EXPLORE_WITNESS_H

#include <stdio.h>

#include "explore/explore.h"

#define WITNESS_ID_SIZE 11	/* with the 0 at its end */

struct witness_setting {
	char *name, *value;
};

/* All strings are malloc()ed; witness_free() frees them. */
struct witness {
	char *file;		/* scenario or model, as it was named */
	char *program;		/* name of the scenario in it */
	char *source;		/* text of the file */
	char *arch;
	u64 core;		/* witness_hash() of the module's file; 0: none */
	struct witness_setting *knob;
	u32 nr_knobs;
	/* result.rule, bound, choices and dropped; the rest is not kept. */
	struct xverdict verdict;
};

/* FNV-1a. */
u64 witness_hash(const void *data, size_t size);
bool witness_hash_file(const char *path, u64 *hash, char *error, size_t error_size);
void witness_id(const struct witness *w, char id[WITNESS_ID_SIZE]);

/* malloc()ed text of a witness file. */
char *witness_text(const struct witness *w);
bool witness_write(const char *path, const struct witness *w,
		   char *error, size_t error_size);

/* name: the file's, for errors. On failure *w is empty. */
bool witness_parse(const char *text, size_t size, const char *name, struct witness *w,
		   char *error, size_t error_size);
bool witness_read(const char *path, struct witness *w, char *error, size_t error_size);

/*
 * Whether w can be replayed by what is here: now's source, arch, core and knobs. (Its
 * verdict is not looked at.)
 */
bool witness_fits(const struct witness *w, const char *name, const struct witness *now,
		  char *error, size_t error_size);
void witness_free(struct witness *w);

const char *xrule_name(enum xrule rule);

#endif
