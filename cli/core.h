/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Core modules: shared objects that hold the code under study, one per
 * architecture, or a developer's patched copy. Each is loaded privately
 * (RTLD_LOCAL), so any number of them live side by side.
 */
#ifndef TLBLAB_CLI_CORE_H
#define TLBLAB_CLI_CORE_H

#include <tlblab/machine.h>

struct core {
	char name[64];		/* of --core NAME=FILE; else the architecture */
	const struct core_module *module;
};

/*
 * The core built with tlblab for an architecture: in the folder that
 * TLBLAB_CORES names, beside the program, or where it was installed. Returns false if there is none; dies if it is bad.
 */
bool core_load_arch(struct core *c, const char *arch);
/* From a file; dies with one line if that is no core of this seam. */
void core_load_file(struct core *c, const char *name, const char *path);

/* Architectures that a core can be built for. NULL at the end. */
extern const char *const core_archs[];

#endif
