// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of a model, and what it expects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_internal.h"
#include "witness.h"

const char *xmodel_rule_name(enum xrule rule)
{
	return rule == XRULE_NONE ? "pass" : xrule_name(rule);
}

enum xrule xmodel_rule(const char *name)
{
	if (!strcmp(name, "pass"))
		return XRULE_NONE;
	for (u32 i = XRULE_NONE + 1; i < XRULE_NR; i++)
		if (!strcmp(name, xrule_name(i)))
			return i;
	return XRULE_NR;
}

bool xmodel_expects(const char *expected, enum xrule rule)
{
	const char *name = xmodel_rule_name(rule);
	size_t len = strlen(name);

	for (const char *p = expected; p; p = strchr(p, '|')) {
		p += *p == '|';
		if (!strncmp(p, name, len) && (!p[len] || p[len] == '|'))
			return true;
	}
	return false;
}

void xmodel_default_options(const struct check_model *info, s64 *values)
{
	for (u32 i = 0; i < CHECK_MAX_OPTIONS; i++)
		values[i] = info->option[i].name ? info->option[i].def : 0;
}

static bool parse_value(const struct knob *k, const char *text, s64 *value)
{
	char *end;

	for (u32 i = 0; k->values && k->values[i]; i++) {
		if (!strcmp(k->values[i], text)) {
			*value = i;
			return true;
		}
	}
	if (k->values || !*text)
		return false;
	*value = strtoll(text, &end, 0);
	return !*end && *value >= k->min && *value <= k->max;
}

/* Names of the options, or values of one, for a message. */
static void list_names(const struct check_model *info, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (u32 i = 0; i < CHECK_MAX_OPTIONS && info->option[i].name; i++)
		if (len < size)
			len += snprintf(out + len, size - len, "%s%s",
					i ? ", " : "", info->option[i].name);
	if (!len)
		snprintf(out, size, "none");
}

static bool set_option(const struct check_model *info, char *setting, s64 *values,
		       char *error, size_t error_size)
{
	char *value = strchr(setting, '=');
	char names[128];

	if (value)
		*value++ = '\0';
	for (u32 i = 0; i < CHECK_MAX_OPTIONS && info->option[i].name; i++) {
		if (strcmp(info->option[i].name, setting))
			continue;
		if (value && parse_value(&info->option[i], value, &values[i]))
			return true;
		snprintf(error, error_size, "%s: option '%s' cannot be '%s'",
			 info->name, setting, value ? value : "");
		return false;
	}
	list_names(info, names, sizeof(names));
	snprintf(error, error_size, "%s: no option '%s'; it has: %s", info->name,
		 setting, names);
	return false;
}

bool xmodel_parse_options(const struct check_model *info, const char *text,
			  s64 *values, char *error, size_t error_size)
{
	char *copy = strdup(text), *save, *word;
	bool ok = copy != NULL;

	if (!copy)
		snprintf(error, error_size, "out of memory");
	word = copy ? strtok_r(copy, " ", &save) : NULL;
	for (; ok && word; word = strtok_r(NULL, " ", &save))
		ok = set_option(info, word, values, error, error_size);
	free(copy);
	return ok;
}
