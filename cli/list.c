// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cli.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/knobs.h"
#include "cli/list_files.h"
#include "cli/params.h"
#include "machine/desc_yaml.h"
#include "machine/nearest.h"
#include "workload/workload.h"

#define MACHINES_MAX 256

static void list_workloads(void)
{
	for (u32 i = 0; workloads[i]; i++) {
		const struct workload *w = workloads[i];

		printf("%s\n    %s\n    from: %s; threads: %u\n", w->name,
		       w->summary, w->origin, w->default_threads);
		for (const struct wl_param *p = w->params; p->name; p++) {
			char def[PARAM_TEXT_MAX];

			param_text(p, p->def, def);
			printf("    -p %s=%s", p->name, def);
			for (u32 v = 0; p->kind == WL_ENUM && p->values[v]; v++)
				printf("%s%s", v ? "|" : "  (", p->values[v]);
			printf("%s\n        %s\n", p->kind == WL_ENUM ? ")" : "",
			       p->meaning);
		}
	}
}

static void list_machines(void)
{
	struct machine_desc *desc = zalloc(1, sizeof(*desc));
	char *names[MACHINES_MAX], error[512];
	u32 n = machine_desc_list(names, MACHINES_MAX);

	for (u32 i = 0; i < n; i++) {
		if (machine_desc_load(names[i], desc, error, sizeof(error)))
			printf("%-16s (%s)\n", names[i], error);
		else
			printf("%-16s %s\n", names[i], desc->summary);
		free(names[i]);
	}
	printf("%-16s %s\n", "native", "this host and its kernel");
	free(desc);
}

static void list_knob(const struct knob *k)
{
	char def[KNOB_TEXT_MAX];

	knob_text(k, k->def, def);
	printf("%s = %s", k->name, def);
	if (k->values)
		for (u32 v = 0; k->values[v]; v++)
			printf("%s%s", v ? "|" : "  (", k->values[v]);
	else
		printf("  (%" PRId64 " to %" PRId64, k->min, k->max);
	printf(")\n    %s\n    %s; from: %s\n", k->meaning,
	       k->kind == KNOB_HW ? "hardware, set by the machine" : "policy",
	       k->origin);
}

/* Knobs of all cores; those that the first has, too, only once. */
static void list_knobs(void)
{
	struct core first = { .module = NULL };

	for (u32 a = 0; core_archs[a]; a++) {
		struct core c;

		if (!core_load_arch(&c, core_archs[a]))
			continue;
		for (u32 i = 0; c.module->knobs[i]; i++) {
			const struct knob *k = c.module->knobs[i];

			if (!first.module || knobs_index(first.module, k->name) < 0)
				list_knob(k);
		}
		if (!first.module)
			first = c;
	}
	if (!first.module)
		die("no core was built");
}

/* Folded below 80 columns. */
static void list_settings(const char *const *settings)
{
	int at = 0;

	for (u32 i = 0; settings && settings[i]; i++) {
		if (!at || at + 1 + strlen(settings[i]) > 78)
			at = printf("%s    %s", at ? "\n" : "", settings[i]);
		else
			at += printf(" %s", settings[i]);
	}
	if (at)
		putchar('\n');
}

static void list_eras(void)
{
	for (u32 a = 0; core_archs[a]; a++) {
		struct core c;

		if (!core_load_arch(&c, core_archs[a]))
			continue;
		for (const struct era *e = c.module->eras; e->name; e++) {
			printf("%-10s %s\n", e->name, e->what);
			list_settings(e->settings);
		}
		return;
	}
	die("no core was built");
}

static const struct {
	const char *name;
	void (*fn)(void);
} topics[] = {
	{ "workloads", list_workloads },
	{ "machines", list_machines },
	{ "knobs", list_knobs },
	{ "eras", list_eras },
	{ "scenarios", list_scenarios },
	{ "models", list_models },
	{ NULL, NULL },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **topic = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*topic)
		die("list takes one topic");
	*topic = arg;
	return 0;
}

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "[workloads|machines|knobs|eras|scenarios|models]",
		.doc = "List what there is; without a topic, everything.",
	};
	const char *topic = NULL;
	struct nearest near = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &topic);
	near.name = topic;
	for (u32 i = 0; topics[i].name; i++) {
		if (!topic)
			printf("%s%s:\n\n", i ? "\n" : "", topics[i].name);
		else
			nearest_offer(&near, topics[i].name);
		if (!topic || !strcmp(topic, topics[i].name))
			topics[i].fn();
	}
	if (topic && strcmp(near.best, topic))
		die("nothing to list under \"%s\"; the nearest is \"%s\"", topic,
		    near.best);
	return EXIT_CLEAN;
}
