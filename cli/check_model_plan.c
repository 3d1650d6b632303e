// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check_model_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* A loaded model, and what stands for it in checks. */
struct planned {
	struct planned *next;
	struct check_model_file file;
	struct scenario *sc;
	struct core core;
	struct core_module module;
	const struct knob *knobs[CHECK_MAX_OPTIONS + 1];
};

static struct planned *all_planned;

bool check_model_is(const char *path)
{
	size_t len = strlen(path);

	return (len > 2 && !strcmp(path + len - 2, ".c")) ||
	       (len > 3 && !strcmp(path + len - 3, ".so"));
}

/* The file's text, for witnesses. */
static char *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *text;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0)
		die("%s: cannot be read", path);
	rewind(f);
	text = zalloc((size_t)n + 1, 1);
	*size = fread(text, 1, (size_t)n, f);
	fclose(f);
	return text;
}

static void stand_for(struct planned *m, const char *path)
{
	const struct check_model *info = m->file.info;

	m->sc = zalloc(1, sizeof(*m->sc));
	snprintf(m->sc->name, sizeof(m->sc->name), "%s", info->name);
	m->sc->path = strdup(path);
	m->sc->text = read_all(path, &m->sc->size);
	for (u32 i = 0; i < CHECK_MAX_OPTIONS && info->option[i].name; i++)
		m->knobs[i] = &info->option[i];
	m->module.version = info->name;
	m->module.knobs = m->knobs;
	m->core.module = &m->module;
	snprintf(m->core.name, sizeof(m->core.name), "model");
}

static void add_check(struct check_plan *p, struct planned *m, u32 run)
{
	const struct check_model_run *r = &m->file.run[run];
	struct check *c;

	p->check = realloc(p->check, (p->n + 1) * sizeof(*p->check));
	if (!p->check)
		die("out of memory");
	c = &p->check[p->n++];
	*c = (struct check){
		.sc = m->sc, .arch = r->arch, .core = &m->core, .era = CHECK_DEFAULT_ERA,
		.knobs = zalloc(CHECK_MAX_OPTIONS, sizeof(*c->knobs)),
		.violation = strcmp(r->expected, "pass") != 0,
	};
	memcpy(c->knobs, r->option, sizeof(r->option));
	/* One of several rules: any, here; check_model_judge() looks closer. */
	if (c->violation && xmodel_rule(r->expected) != XRULE_NR)
		c->rule = xmodel_rule(r->expected);
	for (u32 i = 0; m->knobs[i]; i++)
		c->set[0] |= 1ULL << i;
}

/* -s as the model has it; the last is NULL. */
static void settings(const struct check_args *args, char text[][100],
		     const char *list[CHECK_MAX_SETS + 1])
{
	u32 n;

	for (n = 0; n < args->nr_sets; n++) {
		snprintf(text[n], 100, "%s=%s", args->set[n].name, args->set[n].value);
		list[n] = text[n];
	}
	list[n] = NULL;
}

void check_plan_add_model(struct check_plan *p, const char *path)
{
	struct planned *m = zalloc(1, sizeof(*m));
	const char *list[CHECK_MAX_SETS + 1];
	char text[CHECK_MAX_SETS][100];
	const struct check_model_args args = { .settings = list };

	settings(p->args, text, list);
	if (check_model_load(path, &args, &m->file))
		exit(EXIT_INPUT);
	stand_for(m, path);
	m->next = all_planned;
	all_planned = m;
	for (u32 i = 0; i < m->file.nr_runs; i++)
		if (!p->args->archs || (p->args->archs >> m->file.run[i].arch & 1))
			add_check(p, m, i);
}

struct check_model_file *check_model_of(const struct check *c, u32 *run)
{
	for (struct planned *m = all_planned; m; m = m->next) {
		if (c->sc != m->sc)
			continue;
		for (*run = 0; *run < m->file.nr_runs; ++*run)
			if (m->file.run[*run].arch == c->arch &&
			    !memcmp(m->file.run[*run].option, c->knobs,
				    sizeof(m->file.run[*run].option)))
				return &m->file;
	}
	return NULL;
}

void check_models_free(void)
{
	while (all_planned) {
		struct planned *m = all_planned;

		all_planned = m->next;
		check_model_free(&m->file);
		free(m->sc->path);
		free(m->sc->text);
		free(m->sc);
		free(m);
	}
}
