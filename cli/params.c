// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "machine/desc_yaml.h"
#include "machine/nearest.h"

const struct workload *workload_find(const char *name)
{
	struct nearest near = { .name = name };

	for (u32 i = 0; workloads[i]; i++) {
		if (!strcmp(workloads[i]->name, name))
			return workloads[i];
		nearest_offer(&near, workloads[i]->name);
	}
	die("no workload \"%s\"; the nearest is \"%s\"", name, near.best);
}

u32 params_count(const struct workload *w)
{
	u32 n = 0;

	while (w->params[n].name)
		n++;
	return n;
}

u32 param_find(const struct workload *w, const char *name)
{
	struct nearest near = { .name = name };

	for (u32 i = 0; w->params[i].name; i++) {
		if (!strcmp(w->params[i].name, name))
			return i;
		nearest_offer(&near, w->params[i].name);
	}
	die("no parameter \"%s\" of %s; the nearest is \"%s\"", name, w->name,
	    near.best ? near.best : "none");
}

static u64 parse_enum(const struct wl_param *p, const char *value)
{
	struct nearest near = { .name = value };

	for (u64 i = 0; p->values[i]; i++) {
		if (!strcmp(p->values[i], value))
			return i;
		nearest_offer(&near, p->values[i]);
	}
	die("-p %s has no value \"%s\"; the nearest is \"%s\"", p->name, value,
	    near.best);
}

u64 param_parse(const struct wl_param *p, const char *value)
{
	char min[PARAM_TEXT_MAX], max[PARAM_TEXT_MAX];
	u64 v;

	if (p->kind == WL_ENUM)
		return parse_enum(p, value);
	if (!parse_size(value, &v) && v >= p->min && v <= p->max)
		return v;
	param_text(p, p->min, min);
	param_text(p, p->max, max);
	die("-p %s takes %s from %s to %s, not \"%s\"", p->name,
	    p->kind == WL_SIZE ? "a size" : p->kind == WL_ADDR ? "an address" :
	    "a number", min, max, value);
}

void param_text(const struct wl_param *p, u64 value, char text[PARAM_TEXT_MAX])
{
	static const char suffixes[] = "KMGT";
	u32 s = 0;

	switch (p->kind) {
	case WL_ENUM:
		snprintf(text, PARAM_TEXT_MAX, "%s", p->values[value]);
		break;
	case WL_ADDR:
		snprintf(text, PARAM_TEXT_MAX, "%#" PRIx64, value);
		break;
	case WL_SIZE:
		while (s < 4 && value && !(value & 1023)) {
			value >>= 10;
			s++;
		}
		snprintf(text, PARAM_TEXT_MAX, "%" PRIu64 "%.1s", value,
			 s ? &suffixes[s - 1] : "");
		break;
	case WL_INT:
		snprintf(text, PARAM_TEXT_MAX, "%" PRIu64, value);
		break;
	}
}

u64 parse_number(const char *s, u64 min, u64 max, const char *what)
{
	u64 v;

	if (parse_size(s, &v) || v < min || v > max)
		die("%s: expected a number from %" PRIu64 " to %" PRIu64
		    ", not \"%s\"", what, min, max, s);
	return v;
}
