// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/kept.h"

#include <dlfcn.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/knobs.h"

static char *copy(const char *text)
{
	char *s = strdup(text);

	if (!s)
		die("out of memory");
	return s;
}

/* Of the file that the core was loaded from: choices fit only the code that made them. */
static u64 core_hash(const struct core_module *m)
{
	char error[512];
	Dl_info info;
	u64 hash = 0;

	if (!dladdr((const void *)(uintptr_t)m->boot, &info) || !info.dli_fname)
		die("the core for %s cannot be found again", m->arch);
	if (!witness_hash_file(info.dli_fname, &hash, error, sizeof(error)))
		die("%s", error);
	return hash;
}

static void describe_knobs(const struct check *c, struct witness *w)
{
	const struct core_module *m = c->core->module;

	w->nr_knobs = knobs_count(m);
	w->knob = zalloc(w->nr_knobs, sizeof(*w->knob));
	for (u32 i = 0; i < w->nr_knobs; i++) {
		char value[KNOB_TEXT_MAX];

		knob_text(m->knobs[i], c->knobs[i], value);
		w->knob[i].name = copy(m->knobs[i]->name);
		w->knob[i].value = copy(value);
	}
}

void kept_describe(const struct check *c, struct xverdict *v, struct witness *w)
{
	*w = (struct witness){
		.file = copy(c->sc->path), .program = copy(c->sc->name),
		.source = copy(c->sc->text), .arch = copy(sc_arch_names[c->arch]),
		.core = core_hash(c->core->module), .verdict = *v,
	};
	memset(&v->choices, 0, sizeof(v->choices));
	/* A path is any bytes; JSON is not. */
	for (char *s = w->file; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	describe_knobs(c, w);
}

/* ------------------------------------------------------------------ the cache */

/* Folders are made as they are missing. */
static bool cache_path(const char *id, char *path, size_t size, bool make)
{
	static const char *const parts[] = { "", "/tlblab", "/witness" };
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	size_t len;

	if (base && *base == '/')
		len = snprintf(path, size, "%s", base);
	else if (home && *home == '/')
		len = snprintf(path, size, "%s/.cache", home);
	else
		return false;
	for (u32 i = 0; i < 3 && len < size; i++) {
		len += snprintf(path + len, size - len, "%s", parts[i]);
		if (make && len < size)
			mkdir(path, 0777);
	}
	if (len < size)
		len += snprintf(path + len, size - len, "/%s.json", id);
	return len < size;
}

/* Whole or not at all: others may be reading it. */
static bool put(const struct witness *w, const char *path, char *error, size_t size)
{
	char temp[3100];

	snprintf(temp, sizeof(temp), "%.3000s.tmp.%ld", path, (long)getpid());
	if (!witness_write(temp, w, error, size))
		return false;
	if (!rename(temp, path))
		return true;
	snprintf(error, size, "%s: %s", path, strerror(errno));
	unlink(temp);
	return false;
}

bool kept_put(const struct witness *w)
{
	char id[WITNESS_ID_SIZE], path[3000], error[4000];

	witness_id(w, id);
	return cache_path(id, path, sizeof(path), true) &&
	       put(w, path, error, sizeof(error));
}

void kept_check_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[3000] = ".";

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path);
	if (access(dir, W_OK))
		die("--witness %s: %s", path, strerror(errno));
}

void kept_write(const struct witness *w, const char *path)
{
	char error[4000];

	if (!put(w, path, error, sizeof(error)))
		die("--witness %s", error);
}

/* ------------------------------------------------------------------ reading */

/* A file of that name comes first. */
static void find(const char *file_or_id, char *path, size_t size)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	bool is_id = strlen(file_or_id) == WITNESS_ID_SIZE - 1 &&
		     strspn(file_or_id, digits) == WITNESS_ID_SIZE - 1;

	assert(file_or_id);
	snprintf(path, size, "%s", file_or_id);
	if (!is_id || !access(path, F_OK))
		return;
	if (!cache_path(file_or_id, path, size, false))
		die("there is no cache to look for the id %s in", file_or_id);
	if (access(path, F_OK))
		die("no violation with the id %s is kept here (%s)", file_or_id, path);
}

static void load_core(struct kept *k, const char *path)
{
	const char *arch = k->witness.arch;
	u32 a;

	for (a = 0; sc_arch_names[a]; a++)
		if (!strcmp(sc_arch_names[a], arch))
			break;
	if (!sc_arch_names[a])
		die("%s: made for %s, which is no architecture", path, arch);
	if (!core_load_arch(&k->core, arch))
		die("%s: no core for %s was built", path, arch);
	k->check.arch = a;
	k->check.core = &k->core;
}

/* Those that the witness does not name keep their defaults, and it will not fit. */
static void load_knobs(struct kept *k, const char *path)
{
	const struct core_module *m = k->core.module;

	k->check.knobs = zalloc(knobs_count(m), sizeof(*k->check.knobs));
	for (u32 i = 0; m->knobs[i]; i++) {
		k->check.knobs[i] = m->knobs[i]->def;
		for (u32 j = 0; j < k->witness.nr_knobs; j++)
			if (!strcmp(k->witness.knob[j].name, m->knobs[i]->name))
				k->check.knobs[i] = knob_parse(m->knobs[i],
					k->witness.knob[j].value, path);
	}
}

void kept_load(const char *file_or_id, struct kept *k)
{
	const char *source;
	struct xverdict none = { .found = false };
	char path[3000], error[600];
	struct witness now;

	*k = (struct kept){ .core = { .module = NULL } };
	find(file_or_id, path, sizeof(path));
	if (!witness_read(path, &k->witness, error, sizeof(error)))
		die("%s", error);
	source = k->witness.source;
	load_core(k, path);
	k->check.sc = scenario_parse(source, strlen(source), k->witness.file, error,
				     sizeof(error));
	if (!k->check.sc)
		die("%s: %s", path, error);
	load_knobs(k, path);
	kept_describe(&k->check, &none, &now);
	if (!witness_fits(&k->witness, path, &now, error, sizeof(error)))
		die("%s", error);
	witness_free(&now);
}

void kept_free(struct kept *k)
{
	free(k->check.knobs);
	scenario_free((struct scenario *)(uintptr_t)k->check.sc);
	witness_free(&k->witness);
}
