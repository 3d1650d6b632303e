// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check_plan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/knobs.h"
#include "explore/witness.h"
#include "machine/nearest.h"

/* ---------------------------------------------------------------- settings */

static void mark_set(struct check *c, u32 knob)
{
	c->set[knob / 64] |= 1ULL << knob % 64;
}

/* A knob that a file names; dies with its place. */
static u32 find_knob(const struct check *c, const struct sc_setting *s)
{
	const struct core_module *m = c->core->module;
	struct nearest near = { .name = s->name };
	int i = knobs_index(m, s->name);

	if (i >= 0)
		return i;
	for (u32 k = 0; m->knobs[k]; k++)
		nearest_offer(&near, m->knobs[k]->name);
	die("%s:%u:%u: there is no knob \"%s\" on %s; the nearest is \"%s\"",
	    c->sc->path, s->pos.line, s->pos.column, s->name, m->arch,
	    near.best ? near.best : "none");
}

static void apply_setting(struct check *c, const struct sc_setting *s, bool feature)
{
	const struct core_module *m = c->core->module;
	char where[300];
	u32 i;

	if (sc_of_another_arch(c->arch, s->name))
		return;
	i = find_knob(c, s);
	snprintf(where, sizeof(where), "%.200s:%u:%u", c->sc->path, s->pos.line,
		 s->pos.column);
	if (feature && m->knobs[i]->kind != KNOB_HW)
		die("%s: %s is a policy; features are what hardware has", where,
		    s->name);
	c->knobs[i] = knob_parse(m->knobs[i], s->value, where);
	mark_set(c, i);
}

static const struct era *find_era(const struct check *c)
{
	const struct core_module *m = c->core->module;
	struct nearest near = { .name = c->era };

	for (const struct era *e = m->eras; e->name; e++) {
		if (!strcmp(e->name, c->era))
			return e;
		nearest_offer(&near, e->name);
	}
	if (c->era == c->sc->era)
		die("%s:%u:%u: there is no era \"%s\"; the nearest is \"%s\"",
		    c->sc->path, c->sc->era_pos.line, c->sc->era_pos.column, c->era,
		    near.best ? near.best : "none");
	return era_find(m, c->era);
}

/* Defaults, era, features, and the expectation's, if there is one. */
static void set_knobs(struct check *c, const struct sc_expect *e)
{
	const struct core_module *m = c->core->module;
	struct machine_desc *none = zalloc(1, sizeof(*none));
	int pids = knobs_index(m, "powerpc.pid_bits");

	c->knobs = zalloc(knobs_count(m), sizeof(*c->knobs));
	knobs_resolve(c->core, find_era(c), none, c->knobs);
	free(none);
	/* The default's process table would not fit into the memory of a world. */
	if (pids >= 0)
		c->knobs[pids] = m->knobs[pids]->min;
	for (u32 i = 0; i < c->sc->features.n; i++)
		apply_setting(c, &c->sc->features.set[i], true);
	for (u32 i = 0; e && i < e->with.n; i++)
		apply_setting(c, &e->with.set[i], false);
}

/* With -s: returns whether the check's knobs had these values already. */
static bool apply_args(const struct check_args *args, struct check *c)
{
	const struct core_module *m = c->core->module;
	bool agrees = true;

	for (u32 i = 0; i < args->nr_sets; i++) {
		const struct check_set *s = &args->set[i];
		u32 k;
		s64 v;

		if (sc_of_another_arch(c->arch, s->name))
			continue;
		k = knobs_find(m, s->name);
		v = knob_parse(m->knobs[k], s->value, "-s");
		agrees = agrees && c->knobs[k] == v;
		c->knobs[k] = v;
		mark_set(c, k);
	}
	return agrees;
}

/* ------------------------------------------------------------------ checks */

static struct check *add(struct check_plan *p, const struct check *c)
{
	p->check = realloc(p->check, (p->n + 1) * sizeof(*p->check));
	if (!p->check)
		die("out of memory");
	p->check[p->n] = *c;
	return &p->check[p->n++];
}

static bool counts_on(const struct sc_expect *e, enum xarch arch)
{
	for (u32 i = 0; i < e->with.n; i++)
		if (sc_of_another_arch(arch, e->with.set[i].name))
			return false;
	return e->archs >> arch & 1;
}

static void add_arch(struct check_plan *p, const struct scenario *sc, enum xarch arch)
{
	struct check base = {
		.name = sc->name, .sc = sc, .arch = arch,
		.era = p->args->era ? p->args->era : *sc->era ? sc->era :
		       CHECK_DEFAULT_ERA,
	};
	u32 before = p->n;

	if (!p->core[arch].module) {
		add(p, &base);
		return;
	}
	base.core = &p->core[arch];
	for (u32 i = 0; i < sc->nr_expects; i++) {
		const struct sc_expect *e = &sc->expect[i];
		struct check c = base;

		if (!counts_on(e, arch))
			continue;
		c.violation = e->violation;
		c.rule = e->rule;
		set_knobs(&c, e);
		if (apply_args(p->args, &c))
			add(p, &c);
		else
			free(c.knobs);
	}
	if (p->n > before)
		return;
	set_knobs(&base, NULL);
	apply_args(p->args, &base);
	add(p, &base);
}

void check_plan_add(struct check_plan *p, const struct scenario *sc)
{
	for (u32 a = 0; sc_arch_names[a]; a++)
		if ((sc->archs >> a & 1) &&
		    (!p->args->archs || (p->args->archs >> a & 1)))
			add_arch(p, sc, a);
}

void check_plan_verify(const struct check_plan *p)
{
	if (!p->n)
		die("no file has a check for the architectures of -a");
	for (u32 i = 0; i < p->args->nr_sets; i++) {
		bool used = false;

		for (u32 k = 0; k < p->n; k++)
			used = used || p->check[k].model || (p->check[k].core &&
					!sc_of_another_arch(p->check[k].arch,
							    p->args->set[i].name));
		if (!used)
			die("-s %s: no check is on that architecture",
			    p->args->set[i].name);
	}
}

/* ------------------------------------------------------------------- files */

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len > n && !strcmp(name + len - n, suffix);
}

static int is_check(const struct dirent *d)
{
	return d->d_name[0] != '.' &&
	       (ends_in(d->d_name, ".tlb") || ends_in(d->d_name, ".c"));
}

/* -a and -s as a model takes them. */
static struct check_model_file *load_model(const struct check_args *args,
					   const char *path)
{
	struct check_model_file *f = zalloc(1, sizeof(*f));
	char text[CHECK_MAX_SETS][160];
	const char *settings[CHECK_MAX_SETS + 1] = { NULL };
	struct check_model_args model_args = { .settings = settings };

	for (u32 i = 0; i < args->nr_sets; i++) {
		snprintf(text[i], sizeof(text[i]), "%.70s=%.70s", args->set[i].name,
			 args->set[i].value);
		settings[i] = text[i];
	}
	if (check_model_load(path, &model_args, f))
		exit(EXIT_INPUT);	/* it has said why */
	return f;
}

static void add_model(struct check_plan *p, const char *path)
{
	struct check_model_file *f = load_model(p->args, path);
	u32 before = p->n;

	for (u32 i = 0; i < f->nr_runs; i++) {
		struct check c = {
			.name = f->info->name, .model = f, .run = i,
			.arch = f->run[i].arch, .era = CHECK_DEFAULT_ERA,
			.violation = strcmp(f->run[i].expected, "pass") != 0,
		};

		if (!p->args->archs || (p->args->archs >> c.arch & 1))
			add(p, &c);
	}
	if (p->n == before) {
		check_model_free(f);
		free(f);
	}
}

static void add_file(struct check_plan *p, const char *path)
{
	char error[512];
	struct scenario *sc;
	u32 before = p->n;

	if (ends_in(path, ".c") || ends_in(path, ".so")) {
		add_model(p, path);
		return;
	}
	sc = scenario_load(path, error, sizeof(error));
	if (!sc)
		die("%s", error);
	check_plan_add(p, sc);
	if (p->n == before)
		scenario_free(sc);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(struct check_plan *p, const char *path)
{
	struct dirent **entry;
	char file[4096];
	int n = scandir(path, &entry, is_check, by_name);

	if (n < 0)
		die("%s: %s", path, strerror(errno));
	if (!n)
		die("%s: no scenario (*.tlb) and no model (*.c) in this folder", path);
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%.3800s%s%.255s", path,
			 path[strlen(path) - 1] == '/' ? "" : "/", entry[i]->d_name);
		add_file(p, file);
		free(entry[i]);
	}
	free(entry);
}

struct check_plan *check_plan_make(const struct check_args *args)
{
	struct check_plan *p = zalloc(1, sizeof(*p));
	struct stat st;

	p->args = args;
	for (u32 a = 0; sc_arch_names[a]; a++)
		core_load_arch(&p->core[a], sc_arch_names[a]);
	for (u32 i = 0; i < args->nr_paths; i++) {
		if (!stat(args->path[i], &st) && S_ISDIR(st.st_mode))
			add_folder(p, args->path[i]);
		else
			add_file(p, args->path[i]);
	}
	check_plan_verify(p);
	return p;
}

void check_plan_free(struct check_plan *p)
{
	for (u32 i = 0; i < p->n; i++) {
		free(p->check[i].knobs);
		/* Checks of a file are neighbours. */
		if (i + 1 < p->n && p->check[i + 1].sc == p->check[i].sc &&
		    p->check[i + 1].model == p->check[i].model)
			continue;
		scenario_free((struct scenario *)(uintptr_t)p->check[i].sc);
		if (p->check[i].model)
			check_model_free(p->check[i].model);
		free(p->check[i].model);
	}
	free(p->check);
	free(p);
}

/* ------------------------------------------------------------------- texts */

void check_shown_text(const struct check *c, char text[CHECK_SHOWN_MAX])
{
	size_t len = 0;

	text[0] = 0;
	if (c->model)
		check_model_text(c->model, c->run, text, CHECK_SHOWN_MAX);
	for (u32 i = 0; c->core && c->core->module->knobs[i]; i++) {
		char value[KNOB_TEXT_MAX];

		if (!(c->set[i / 64] >> i % 64 & 1) || len >= CHECK_SHOWN_MAX)
			continue;
		knob_text(c->core->module->knobs[i], c->knobs[i], value);
		len += snprintf(text + len, CHECK_SHOWN_MAX - len, "%s%s=%s",
				len ? ", " : "", c->core->module->knobs[i]->name,
				value);
	}
}

void check_expected_text(const struct check *c, char text[CHECK_EXPECTED_MAX])
{
	if (!c->violation)
		snprintf(text, CHECK_EXPECTED_MAX, "pass");
	else if (c->model)
		snprintf(text, CHECK_EXPECTED_MAX, "violation %s",
			 c->model->run[c->run].expected);
	else
		snprintf(text, CHECK_EXPECTED_MAX, "violation%s%s",
			 c->rule ? " " : "", c->rule ? xrule_name(c->rule) : "");
}
