/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From defaults, an era, a machine and -s to one value per knob.
 *
 * Later ones win: the knob's default; the era's settings (policies only; those
 * of another architecture, by the name before the dot, are skipped, since one
 * table of eras serves all); the machine's features (hardware only: a machine cannot choose a
 * policy); what the user sets, which may be either.
 */
#ifndef TLBLAB_CLI_KNOBS_H
#define TLBLAB_CLI_KNOBS_H

#include "cli/core.h"
#include "machine/desc.h"

#define KNOB_TEXT_MAX 32

u32 knobs_count(const struct core_module *core);
/* Index, or -1. */
int knobs_index(const struct core_module *core, const char *name);
/* Index; dies, naming the nearest, when there is none. */
u32 knobs_find(const struct core_module *core, const char *name);
const struct era *era_find(const struct core_module *core, const char *name);

/* who: for the message, "-s", "machine x86-2s". Dies on a bad value. */
s64 knob_parse(const struct knob *k, const char *value, const char *who);
void knob_text(const struct knob *k, s64 value, char text[KNOB_TEXT_MAX]);

/* Defaults, era, machine. values has room for knobs_count(). */
void knobs_resolve(const struct core *core, const struct era *era,
		   const struct machine_desc *desc, s64 *values);

#endif
