// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/core.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tlblab/machine_abi.h>

#include "cli/cli.h"
#include "machine/machine.h"

const char *const core_archs[] = { "x86", "arm64", "powerpc", NULL };

typedef const struct core_module *core_entry_fn(const struct mach_ops *ops);

void core_load_file(struct core *c, const char *name, const char *path)
{
	char with_slash[4096];
	core_entry_fn *entry;
	void *handle;

	/* Without a slash, dlopen() would search the library path. */
	snprintf(with_slash, sizeof(with_slash), "%s%s",
		 strchr(path, '/') ? "" : "./", path);
	handle = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		die("core %s: %s", name, dlerror());
	entry = (core_entry_fn *)(uintptr_t)dlsym(handle, TLBLAB_CORE_SYMBOL);
	if (!entry)
		die("core %s: %s is not a core: it does not export %s", name,
		    path, TLBLAB_CORE_SYMBOL);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->module = entry(machine_timed_ops());
	if (!c->module)
		die("core %s: %s refused this machine", name, path);
	if (c->module->abi != TLBLAB_ABI)
		die("core %s: %s was built for another machine.h: its ABI is "
		    "%016" PRIx64 ", this tlblab's is %016" PRIx64, name, path,
		    (u64)c->module->abi, (u64)TLBLAB_ABI);
}

static bool readable(const char *path)
{
	return !access(path, R_OK);
}

/* Loads DIR/tlblab-core-ARCH.so if it is there. */
static bool load_from(struct core *c, const char *dir, const char *arch)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/tlblab-core-%s.so", dir, arch) >=
	    (int)sizeof(path) || !readable(path))
		return false;
	core_load_file(c, arch, path);
	return true;
}

bool core_load_arch(struct core *c, const char *arch)
{
	const char *dir = getenv("TLBLAB_CORES");
	char exe[3900];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (dir && load_from(c, dir, arch))
		return true;
	if (len > 0) {
		exe[len] = 0;
		*strrchr(exe, '/') = 0;
		if (load_from(c, exe, arch))
			return true;
	}
#ifdef TLBLAB_LIBDIR
	if (load_from(c, TLBLAB_LIBDIR, arch))
		return true;
#endif
	return false;
}
