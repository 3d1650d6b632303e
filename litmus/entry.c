// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "litmus/entry.h"

/* Arm ARM D8.3: page descriptors. Type 3 less its valid bit, inner shareable, not global. */
#define ARM64_PAGE	(1ULL << 1 | 3ULL << 8 | 1ULL << 11)
/* SDM vol. 3A 4.5: user mode too. */
#define X86_PAGE	(1ULL << 2)
#define X86_TABLE	(1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << 5)

static const struct lit_field arm64[] = {
	{ "valid", 0, false, 1 }, { "af", 10, false, 1 }, { "db", 7, true, 1 },
	{ "dbm", 51, false, 0 }, { "el0", 6, false, 1 }, { NULL, 0, false, 0 },
};

/* present, writable, accessed, dirty: P, R/W, A, D */
static const struct lit_field x86[] = {
	{ "valid", 0, false, 1 }, { "w", 1, false, 1 }, { "a", 5, false, 1 },
	{ "d", 6, false, 1 }, { NULL, 0, false, 0 },
};

const struct lit_field *lit_fields(enum lit_arch arch)
{
	return arch == LIT_AARCH64 ? arm64 : x86;
}

static void set(const struct lit_field *f, u64 value, u64 *bits)
{
	u64 bit = 1ULL << f->bit;

	*bits = (value != 0) != f->inverted ? *bits | bit : *bits & ~bit;
}

u64 lit_entry_bits(enum lit_arch arch, u8 kind)
{
	u64 bits = arch == LIT_AARCH64 ? ARM64_PAGE : X86_PAGE;

	if (kind == LIT_TABLE)
		return X86_TABLE;
	for (const struct lit_field *f = lit_fields(arch); f->name; f++)
		set(f, f->def, &bits);
	return bits;
}

bool lit_entry_set(enum lit_arch arch, const char *name, u64 value, struct lit_value *v)
{
	u64 bits = (u64)v->num;

	for (const struct lit_field *f = lit_fields(arch); f->name; f++)
		if (!strcmp(f->name, name)) {
			set(f, value, &bits);
			v->num = (s64)bits;
			return true;
		}
	return false;
}

u32 lit_entry_get(const struct lit_field *f, u64 entry)
{
	return (entry >> f->bit & 1) != f->inverted;
}
