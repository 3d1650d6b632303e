/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an entry says that is neither none nor present: where the page is, or that it is on
 * its way. The architecture has the bits (__swp_entry_to_pte, __pte_to_swp_entry), none
 * of which hardware takes for valid.
 */
#ifndef CORE_MM_SWAPOPS_H
#define CORE_MM_SWAPOPS_H

#include "pgtable.h"

typedef struct { u64 val; } swp_entry_t;

enum swp_type {
	SWP_SWAP = 1,			/* offset: a slot of swap.h */
	SWP_SWAP_EXCLUSIVE,		/* the page was this entry's alone */
	SWP_MIGRATION_READ,		/* offset: frame of the old page */
	SWP_MIGRATION_READ_EXCLUSIVE,
	SWP_MIGRATION_WRITE,
	SWP_TYPE_MASK = 7,
	/* Of a migration entry: what the entry before it was (migrate.ad). */
	SWP_MIGRATION_YOUNG = 8,
	SWP_MIGRATION_DIRTY = 16,
};

#define SWP_TYPE_SHIFT 58
#define swp_entry(type, offset)                                                 \
	((swp_entry_t){ (u64)(type) << SWP_TYPE_SHIFT | (offset) })
#define swp_type_bits(e) ((u32)((e).val >> SWP_TYPE_SHIFT))
#define swp_type(e) (swp_type_bits(e) & SWP_TYPE_MASK)
#define swp_ad_bits(e) (swp_type_bits(e) & (SWP_MIGRATION_YOUNG | SWP_MIGRATION_DIRTY))
#define swp_offset(e) ((e).val & ((1UL << SWP_TYPE_SHIFT) - 1))

#define swp_entry_to_pte(e) __swp_entry_to_pte(swp_type_bits(e), swp_offset(e))
#define pte_to_swp_entry(pte) swp_entry(__pte_swp_type(pte), __pte_swp_offset(pte))

static inline bool is_migration_entry(swp_entry_t e)
{
	return swp_type(e) >= SWP_MIGRATION_READ;
}

static inline bool is_writable_migration_entry(swp_entry_t e)
{
	return swp_type(e) == SWP_MIGRATION_WRITE;
}

/* The same without what makes a write need no copy; after a fork both have it. */
static inline swp_entry_t swp_entry_shared(swp_entry_t e)
{
	return swp_entry((is_migration_entry(e) ? SWP_MIGRATION_READ : SWP_SWAP) | swp_ad_bits(e),
			 swp_offset(e));
}

#endif
