// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/knobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "machine/nearest.h"

u32 knobs_count(const struct core_module *core)
{
	u32 n = 0;

	while (core->knobs[n])
		n++;
	if (n > TLBLAB_MAX_KNOBS)
		die("core for %s has more than %d knobs", core->arch,
		    TLBLAB_MAX_KNOBS);
	return n;
}

int knobs_index(const struct core_module *core, const char *name)
{
	for (int i = 0; core->knobs[i]; i++)
		if (!strcmp(core->knobs[i]->name, name))
			return i;
	return -1;
}

static const char *nearest_knob(const struct core_module *core, const char *name)
{
	struct nearest near = { .name = name };

	for (u32 i = 0; core->knobs[i]; i++)
		nearest_offer(&near, core->knobs[i]->name);
	return near.best ? near.best : "none";
}

u32 knobs_find(const struct core_module *core, const char *name)
{
	int i = knobs_index(core, name);

	if (i < 0)
		die("no knob \"%s\" on %s; the nearest is \"%s\"", name, core->arch,
		    nearest_knob(core, name));
	return i;
}

const struct era *era_find(const struct core_module *core, const char *name)
{
	struct nearest near = { .name = name };

	for (const struct era *e = core->eras; e->name; e++) {
		if (!strcmp(e->name, name))
			return e;
		nearest_offer(&near, e->name);
	}
	die("no era \"%s\"; the nearest is \"%s\"", name,
	    near.best ? near.best : "none");
}

static s64 parse_enum(const struct knob *k, const char *value, const char *who)
{
	struct nearest near = { .name = value };
	char valid[400] = "";
	size_t len = 0;

	for (s64 i = 0; k->values[i]; i++) {
		if (!strcmp(k->values[i], value))
			return i;
		nearest_offer(&near, k->values[i]);
		if (len < sizeof(valid))
			len += snprintf(valid + len, sizeof(valid) - len, "%s%s",
					i ? ", " : "", k->values[i]);
	}
	die("%s: %s has no value \"%s\"; the nearest is \"%s\" of %s", who,
	    k->name, value, near.best, valid);
}

s64 knob_parse(const struct knob *k, const char *value, const char *who)
{
	char *end;
	s64 v;

	if (k->values)
		return parse_enum(k, value, who);
	errno = 0;
	v = strtoll(value, &end, 0);
	if (errno || end == value || *end || v < k->min || v > k->max)
		die("%s: %s takes a number from %" PRId64 " to %" PRId64
		    ", not \"%s\"", who, k->name, k->min, k->max, value);
	return v;
}

void knob_text(const struct knob *k, s64 value, char text[KNOB_TEXT_MAX])
{
	if (k->values)
		snprintf(text, KNOB_TEXT_MAX, "%s", k->values[value]);
	else
		snprintf(text, KNOB_TEXT_MAX, "%" PRId64, value);
}

/* "x86.pti" on arm64: one table of eras serves all architectures. */
static bool of_another_arch(const struct core_module *core, const char *name)
{
	for (u32 i = 0; core_archs[i]; i++) {
		size_t len = strlen(core_archs[i]);

		if (!strncmp(name, core_archs[i], len) && name[len] == '.')
			return strcmp(core_archs[i], core->arch) != 0;
	}
	return false;
}

static void apply_era_setting(const struct core *core, const struct era *era,
			      const char *setting, s64 *values)
{
	const char *equals = strchr(setting, '=');
	char name[64], who[96];
	int i;

	snprintf(who, sizeof(who), "core %s, era %s", core->name, era->name);
	if (!equals)
		die("%s: \"%s\" is not KNOB=VALUE", who, setting);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - setting), setting);
	if (of_another_arch(core->module, name))
		return;
	i = knobs_index(core->module, name);
	if (i < 0)
		die("%s: no knob \"%s\"; the nearest is \"%s\"", who, name,
		    nearest_knob(core->module, name));
	if (core->module->knobs[i]->kind == KNOB_HW)
		die("%s: sets %s, which is hardware", who, name);
	values[i] = knob_parse(core->module->knobs[i], equals + 1, who);
}

static void apply_feature(const struct core_module *core,
			  const struct machine_desc *desc, u32 f, s64 *values)
{
	const char *name = desc->feature[f].name;
	int i = knobs_index(core, name);
	char who[64];

	snprintf(who, sizeof(who), "machine %s", desc->name);
	if (i < 0)
		die("%s: no feature \"%s\" on %s; the nearest is \"%s\"", who, name,
		    core->arch, nearest_knob(core, name));
	if (core->knobs[i]->kind != KNOB_HW)
		die("%s: %s is a policy; machines set only hardware features", who,
		    name);
	values[i] = knob_parse(core->knobs[i], desc->feature[f].value, who);
}

void knobs_resolve(const struct core *core, const struct era *era,
		   const struct machine_desc *desc, s64 *values)
{
	for (u32 i = 0; core->module->knobs[i]; i++)
		values[i] = core->module->knobs[i]->def;
	for (u32 i = 0; era && era->settings && era->settings[i]; i++)
		apply_era_setting(core, era, era->settings[i], values);
	for (u32 i = 0; i < desc->nr_features; i++)
		apply_feature(core->module, desc, i, values);
}
