// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that a scenario may use. Values are Linux's (uapi), and the seam's signals. */
#include "scenario/parser.h"

#include <string.h>

const struct sc_call sc_calls[SC_NR_CALLS] = {
#define X(id, name, args, min) [SC_##id] = { name, args, min },
	SC_CALLS(X)
#undef X
};

const struct sc_constant sc_constants[] = {
	{ "NULL", 0, 0 },
	{ "PROT_NONE", 0x0, 'p' },
	{ "PROT_READ", 0x1, 'p' },
	{ "PROT_WRITE", 0x2, 'p' },
	{ "PROT_EXEC", 0x4, 'p' },
	{ "MAP_SHARED", 0x01, 'f' },
	{ "MAP_PRIVATE", 0x02, 'f' },
	{ "MAP_FIXED", 0x10, 'f' },
	{ "MAP_ANONYMOUS", 0x20, 'f' },
	{ "MADV_DONTNEED", 4, 'm' },
	{ "MADV_HUGEPAGE", 14, 'm' },
	{ "MADV_NOHUGEPAGE", 15, 'm' },
	{ "MADV_COLLAPSE", 25, 'm' },
	{ "MREMAP_MAYMOVE", 1, 'r' },
	{ "MREMAP_FIXED", 2, 'r' },
	{ "FOLL_WRITE", FOLL_WRITE, 'g' },
	{ "FOLL_FORCE", FOLL_FORCE, 'g' },
	{ "MADV_REMOVE", 9, 'm' },
	{ "MADV_PAGEOUT", 21, 'm' },
	{ "EAGAIN", 11, 'e' },
	{ "EEXIST", 17, 'e' },
	{ "EFAULT", 14, 'e' },
	{ "EINVAL", 22, 'e' },
	{ "ENOMEM", 12, 'e' },
	/* What an access gives that a signal ended; no value that anybody stores. */
	{ "SIGBUS", -(u64)MACH_SIGBUS, 's' },
	{ "SIGSEGV", -(u64)MACH_SIGSEGV, 's' },
	{ NULL, 0, 0 },
};

const char *const sc_arch_names[] = {
	[XARCH_X86] = "x86", [XARCH_ARM64] = "arm64", [XARCH_POWERPC] = "powerpc",
	NULL,
};

bool sc_of_another_arch(enum xarch arch, const char *setting)
{
	for (u32 a = 0; sc_arch_names[a]; a++) {
		size_t len = strlen(sc_arch_names[a]);

		if (!strncmp(setting, sc_arch_names[a], len) && setting[len] == '.')
			return a != (u32)arch;
	}
	return false;
}
