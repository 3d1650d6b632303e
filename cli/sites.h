/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sites of a core that mutation leaves out: those of its kinds in the module's
 * symbol table, reached by a test or not. Sites of one source line (an inline function in several
 * objects, or the same file in several cores) are one.
 */
#ifndef TLBLAB_CLI_SITES_H
#define TLBLAB_CLI_SITES_H

#include <tlblab/machine.h>

#define SITES_MAX_COPIES 64

struct source_site {
	char file[80];			/* "core/mm/fault.c" */
	char func[64];
	u32 line, kind;
	u32 nth;			/* of its kind in the function, from 1 */
	u32 nr_copies;
	struct site_copy {
		u32 arch;		/* the caller's number of the core */
		const struct mach_site *site;
	} copy[SITES_MAX_COPIES];
	const char *equivalent;		/* the argument, or NULL */
};

struct sites {
	u32 n, size;
	struct source_site *site;	/* by file and line */
};

/* "fence", ... or NULL for a kind that is not left out (loads, stores, ...). */
const char *site_kind_name(u32 kind);

/* Adds those of a loaded module; false, with one line, if it has no symbols. */
bool sites_add_module(struct sites *s, u32 arch, const struct core_module *module,
		      char *error, size_t error_size);
/*
 * After the last module: sorts, numbers, and leaves away the second halves of pairs, which
 * are of their first half's kind (irq_restore, rcu_read_unlock) or nothing without
 * it (call_rcu); they are told by their source line below the folder tree.
 */
void sites_finish(struct sites *s, const char *tree);
/* Marks what the file lists; false, with one line, for a line that fits no site. */
bool sites_read_equivalent(struct sites *s, const char *path, char *error,
			   size_t error_size);
void sites_free(struct sites *s);

#endif
