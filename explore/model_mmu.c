// SPDX-License-Identifier: GPL-2.0-or-later
/* check_map() and check_entry(): four levels of 512 entries, x86 or arm64. */
#include "model_internal.h"

#define ROOT_HEIGHT 3

static u64 *entry_of(u64 table, u64 va, u32 height)
{
	return check_frame(table) + ((va >> (12 + 9 * height)) & 511);
}

/* A leaf above the last level: a 2 MiB page. */
static bool is_huge(u64 entry)
{
	return check_arch() == CHECK_X86 ? entry & X86_PTE_PS :
					   !(entry & ARM64_PTE_TABLE);
}

u64 *model_entry(u64 root, u64 va, u32 height)
{
	u64 table = root;

	for (u32 h = ROOT_HEIGHT; h > height; h--) {
		u64 entry = mach_load(entry_of(table, va, h), MACH_RELAXED);

		if (!check_present(entry) || is_huge(entry))
			return NULL;
		table = check_pfn(entry);
	}
	return entry_of(table, va, height);
}

u64 *model_map(u64 root, u64 va, u64 pfn, u32 flags)
{
	u32 leaf = flags & CHECK_HUGE ? 1 : 0;
	u64 table = root, *slot;

	if (check_arch() == CHECK_POWERPC)
		check_fail("BUG", "check_map() knows no tables of powerpc");
	for (u32 h = ROOT_HEIGHT; h > leaf; h--) {
		u64 entry, *e = entry_of(table, va, h);

		entry = mach_load(e, MACH_RELAXED);
		if (!check_present(entry)) {
			entry = check_table(check_alloc_table());
			mach_store(e, entry, MACH_RELAXED);
		}
		table = check_pfn(entry);
	}
	slot = entry_of(table, va, leaf);
	mach_store(slot, check_leaf(pfn, flags), MACH_RELAXED);
	return slot;
}
