/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page-table entries of tests: herd's names of fields, and the bits they are. */
#ifndef TLBLAB_LITMUS_ENTRY_H
#define TLBLAB_LITMUS_ENTRY_H

#include "litmus/litmus.h"

struct lit_field {
	const char *name;
	u8 bit;
	bool inverted;		/* the field is 1 where the bit is 0 */
	u8 def;
};

#define LIT_MAX_FIELDS 6

/* Of an architecture's entries, in the order in which they are told; ends with no name. */
const struct lit_field *lit_fields(enum lit_arch arch);
/* All but the address, fields at their defaults; kind: LIT_ENTRY or LIT_TABLE. */
u64 lit_entry_bits(enum lit_arch arch, u8 kind);
/* False: there is no such field. */
bool lit_entry_set(enum lit_arch arch, const char *name, u64 value, struct lit_value *v);
/* The field's value in an entry. */
u32 lit_entry_get(const struct lit_field *f, u64 entry);

#define LIT_ENTRY_ADDRESS 0x0000fffffffff000ULL

#endif
