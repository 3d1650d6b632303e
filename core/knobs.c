/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All knobs of this core, in the order of enum core_knob. */
#include "core.h"

#include "mm/mm_types.h"

const struct knob *const core_knobs[] = {
#define X(id) &knob_##id,
	CORE_KNOBS(X)
#undef X
	NULL,
};

const char *knobs_check(const s64 *values)
{
	for (u32 i = 0; i < NR_CORE_KNOBS; i++)
		if (values[i] < core_knobs[i]->min ||
		    values[i] > core_knobs[i]->max)
			return core_knobs[i]->name;
	return NULL;
}
