// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines: "KEY: ...". What each holds is read by a function of its own. */
#include "scenario/parser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/nearest.h"

static const char *const rule_names[] = {
#define X(id, name) [XRULE_##id] = name,
	XRULES(X)
#undef X
};

/* ---------------------------------------------------------------- settings */

static void parse_setting(struct parser *p, struct sc_settings *s)
{
	struct sc_setting *set = &s->set[s->n];

	if (s->n == SC_MAX_SETTINGS) {
		parser_fail(p, parser_peek(p).pos, "expected at most %d settings",
			    SC_MAX_SETTINGS);
		return;
	}
	if (!parser_word(p, set->name, &set->pos, "KNOB=VALUE") ||
	    !parser_expect(p, "=", "\"=\" after the knob's name") ||
	    !parser_word(p, set->value, NULL, "the knob's value"))
		return;
	for (u32 i = 0; i < s->n; i++)
		if (!strcmp(s->set[i].name, set->name))
			parser_fail(p, set->pos, "expected %s only once", set->name);
	s->n++;
}

static void parse_settings(struct parser *p, struct sc_settings *s)
{
	do {
		parse_setting(p, s);
	} while (parser_accept(p, ","));
}

static u32 parse_arch(struct parser *p)
{
	char name[SC_NAME_SIZE];
	struct nearest near = { .name = name };
	struct sc_pos pos;

	if (!parser_word(p, name, &pos, "x86, arm64 or powerpc"))
		return 0;
	for (u32 a = 0; sc_arch_names[a]; a++) {
		if (!strcmp(sc_arch_names[a], name))
			return 1U << a;
		nearest_offer(&near, sc_arch_names[a]);
	}
	parser_fail(p, pos, "there is no architecture \"%s\"; the nearest is \"%s\"",
		    name, near.best);
	return 0;
}

static u32 parse_archs(struct parser *p)
{
	u32 archs = 0;

	do {
		archs |= parse_arch(p);
	} while (parser_accept(p, ","));
	return archs;
}

/* ------------------------------------------------------------------- lines */

static void parse_arch_line(struct parser *p, const struct token *key)
{
	if (p->sc->archs)
		parser_fail(p, key->pos, "expected one line \"arch:\" only");
	p->sc->archs = parse_archs(p);
}

static void parse_era(struct parser *p, const struct token *key)
{
	if (*p->sc->era)
		parser_fail(p, key->pos, "expected one line \"era:\" only");
	parser_word(p, p->sc->era, &p->sc->era_pos, "the name of an era");
}

static void parse_features(struct parser *p, const struct token *key)
{
	(void)key;
	parse_settings(p, &p->sc->features);
}

static void parse_cpus(struct parser *p, const struct token *key)
{
	struct token t = parser_peek(p);

	(void)key;
	if (t.kind != TOK_NUMBER || !t.number || t.number > XMAX_CPUS) {
		parser_fail(p, t.pos, "expected a number of CPUs from 1 to %d",
			    XMAX_CPUS);
		return;
	}
	parser_next(p);
	if (p->sc->nr_cpus < t.number)
		p->sc->nr_cpus = t.number;
}

static void parse_nodes(struct parser *p, const struct token *key)
{
	struct token t = parser_peek(p);

	(void)key;
	if (t.kind != TOK_NUMBER || !t.number || t.number > XMAX_CPUS) {
		parser_fail(p, t.pos, "expected a number of nodes from 1 to %d", XMAX_CPUS);
		return;
	}
	parser_next(p);
	p->sc->nr_numa_nodes = t.number;
	if (p->sc->nr_cpus < t.number)
		p->sc->nr_cpus = t.number;
}

static void parse_resched(struct parser *p, const struct token *key)
{
	struct token t = parser_peek(p);

	(void)key;
	if (t.kind != TOK_NUMBER || t.number > SC_MAX_RESCHED) {
		parser_fail(p, t.pos, "expected a number of preemptions from 0 to %d",
			    SC_MAX_RESCHED);
		return;
	}
	parser_next(p);
	p->sc->nr_resched = t.number;
}

static void parse_init(struct parser *p, const struct token *key)
{
	for (u32 i = 0; i < p->sc->nr_threads; i++)
		if (p->sc->thread[i].nr_ops)
			parser_fail(p, key->pos,
				    "expected \"init:\" before the first CPU");
	parse_ops(p, &p->sc->init);
}

static void parse_final(struct parser *p, const struct token *key)
{
	(void)key;
	parse_ops(p, &p->sc->final);
}

static enum xrule parse_rule(struct parser *p)
{
	char name[SC_NAME_SIZE];
	struct nearest near = { .name = name };
	struct sc_pos pos;

	if (!parser_word(p, name, &pos, "the name of a rule"))
		return XRULE_NONE;
	for (u32 r = XRULE_NONE + 1; r < XRULE_NR; r++) {
		if (!strcmp(rule_names[r], name))
			return r;
		nearest_offer(&near, rule_names[r]);
	}
	parser_fail(p, pos, "there is no rule \"%s\"; the nearest is \"%s\"", name,
		    near.best);
	return XRULE_NONE;
}

/* "pass" or "violation [RULE]", then "on ARCHS" and "with SETTINGS" if given. */
static void parse_expect(struct parser *p, const struct token *key)
{
	struct scenario *sc = p->sc;
	struct sc_expect *e = &sc->expect[sc->nr_expects];
	struct token t;

	if (sc->nr_expects == SC_MAX_EXPECTS) {
		parser_fail(p, key->pos, "expected at most %d expectations",
			    SC_MAX_EXPECTS);
		return;
	}
	e->pos = key->pos;
	e->archs = SC_ARCHS;
	if (parser_accept(p, "violation")) {
		e->violation = true;
		t = parser_peek(p);
		if (t.kind == TOK_NAME && !token_is(&t, "on") && !token_is(&t, "with"))
			e->rule = parse_rule(p);
	} else if (!parser_accept(p, "pass")) {
		parser_expected(p, "\"pass\" or \"violation\"");
	}
	if (parser_accept(p, "on"))
		e->archs = parse_archs(p);
	if (parser_accept(p, "with"))
		parse_settings(p, &e->with);
	sc->nr_expects++;
}

/* "cpu0" to "cpu7"; -1 if it is something else. */
static int cpu_of(const struct token *key)
{
	u64 n = 0;

	if (key->kind != TOK_NAME || key->len < 4 || memcmp(key->start, "cpu", 3))
		return -1;
	for (u32 i = 3; i < key->len; i++) {
		if (key->start[i] < '0' || key->start[i] > '9')
			return -1;
		n = n * 10 + (key->start[i] - '0');
		if (n > 1000000)
			return 1000000;
	}
	return n;
}

/* What follows "cpuN" in a thread's name: nothing, or ".NAME". */
static bool thread_suffix(struct parser *p, char suffix[SC_NAME_SIZE])
{
	suffix[0] = 0;
	if (p->at == p->end || *p->at != '.')
		return true;
	if (!parser_word(p, suffix, NULL, "a thread's name"))
		return false;
	for (const char *c = suffix + 1; *c; c++)
		if (*c == '.')
			suffix[1] = 0;
	if (suffix[1] && strlen(suffix) < 16)
		return true;
	parser_expected(p, "a name of 1 to 14 letters or digits after \".\"");
	return false;
}

static struct sc_thread *new_thread(struct parser *p, u32 cpu, const char *suffix,
				    struct sc_pos pos)
{
	struct scenario *sc = p->sc;
	struct sc_thread *t = &sc->thread[sc->nr_threads];

	if (sc->nr_threads == XMAX_THREADS) {
		parser_fail(p, pos, "expected at most %d threads", XMAX_THREADS);
		return NULL;
	}
	sc->nr_threads++;
	t->cpu = cpu;
	t->pos = pos;
	snprintf(t->name, sizeof(t->name), "cpu%u%.20s", cpu, suffix);
	if (sc->nr_cpus <= cpu)
		sc->nr_cpus = cpu + 1;
	return t;
}

struct sc_thread *parse_thread(struct parser *p, const struct token *first)
{
	char suffix[SC_NAME_SIZE], name[SC_NAME_SIZE];
	struct scenario *sc = p->sc;
	int cpu = cpu_of(first);

	if (cpu < 0 || cpu >= XMAX_CPUS) {
		snprintf(name, sizeof(name), "cpu0 to cpu%d", XMAX_CPUS - 1);
		parser_expected_at(p, first, name);
		return NULL;
	}
	if (!thread_suffix(p, suffix))
		return NULL;
	snprintf(name, sizeof(name), "cpu%d%.20s", cpu, suffix);
	for (u32 i = 0; i < sc->nr_threads; i++)
		if (!strcmp(sc->thread[i].name, name))
			return &sc->thread[i];
	return new_thread(p, cpu, suffix, first->pos);
}

static void parse_cpu(struct parser *p, const struct token *key)
{
	struct sc_thread *t = parse_thread(p, key);

	if (t && parser_expect(p, ":", "\":\""))
		parse_ops(p, t);
}

static void parse_frames(struct parser *p, const struct token *key)
{
	struct token t = parser_peek(p);

	(void)key;
	if (t.kind != TOK_NUMBER || t.number < SC_MIN_FRAMES || t.number > SC_MAX_FRAMES) {
		parser_fail(p, t.pos, "expected a number of page frames from %d to %d",
			    SC_MIN_FRAMES, SC_MAX_FRAMES);
		return;
	}
	parser_next(p);
	p->sc->nr_frames = t.number;
}

static const struct {
	const char *name;
	void (*fn)(struct parser *p, const struct token *key);
} keys[] = {
	{ "arch", parse_arch_line },
	{ "era", parse_era },
	{ "features", parse_features },
	{ "cpus", parse_cpus },
	{ "nodes", parse_nodes },
	{ "resched", parse_resched },
	{ "frames", parse_frames },
	{ "init", parse_init },
	{ "final", parse_final },
	{ "expect", parse_expect },
	{ "cpu0", NULL },	/* for the nearest name only */
};
#define NR_KEYS (sizeof(keys) / sizeof(keys[0]))

static void unknown_key(struct parser *p, const struct token *key)
{
	char name[SC_NAME_SIZE];
	struct nearest near = { .name = name };

	snprintf(name, sizeof(name), "%.*s", (int)key->len, key->start);
	for (u32 i = 0; i < NR_KEYS; i++)
		nearest_offer(&near, keys[i].name);
	parser_fail(p, key->pos, "there is no line \"%s:\"; the nearest is \"%s:\"",
		    name, near.best);
}

static void parse_key(struct parser *p, const struct token *key)
{
	int cpu = cpu_of(key);

	for (u32 i = 0; i < NR_KEYS && cpu < 0; i++) {
		if (!token_is(key, keys[i].name))
			continue;
		if (parser_expect(p, ":", "\":\""))
			keys[i].fn(p, key);
		return;
	}
	if (cpu < 0)
		unknown_key(p, key);
	else
		parse_cpu(p, key);
}

static void parse_line(struct parser *p)
{
	struct token t = parser_next(p);

	if (t.kind == TOK_NEWLINE)
		return;
	if (t.kind != TOK_NAME) {
		p->at = t.start;
		parser_expected(p, "a line such as \"cpu0: load(A)\"");
		return;
	}
	parse_key(p, &t);
	t = parser_peek(p);
	if (t.kind == TOK_NEWLINE)
		parser_next(p);
	else if (t.kind != TOK_END)
		parser_expected(p, "the end of the line");
}

static void parse_file(struct parser *p)
{
	struct token t;

	while (t = parser_peek(p), t.kind != TOK_END)
		parse_line(p);
	if (!p->failed && !p->sc->nr_threads)
		parser_fail(p, t.pos, "expected a line of a CPU, such as \"cpu0: "
			    "load(A)\"");
	for (u32 i = 0; i < p->sc->nr_threads; i++)
		if (!p->failed && !p->sc->thread[i].nr_ops)
			parser_fail(p, p->sc->thread[i].forked ? p->sc->thread[i].pos : t.pos,
				    "expected an operation in %s", p->sc->thread[i].name);
	if (!p->sc->archs)
		p->sc->archs = SC_ARCHS;
}

/* ------------------------------------------------------------------- files */

/* "scenarios/two-zappers.tlb" is two-zappers. */
static void set_name(struct scenario *sc)
{
	const char *slash = strrchr(sc->path, '/');
	const char *base = slash ? slash + 1 : sc->path;
	size_t len = strlen(base);

	if (len > 4 && !strcmp(base + len - 4, ".tlb"))
		len -= 4;
	if (len >= SC_NAME_SIZE)
		len = SC_NAME_SIZE - 1;
	/* It goes into reports of all formats. */
	for (size_t i = 0; i < len; i++)
		sc->name[i] = base[i] < ' ' || base[i] > '~' || base[i] == '#' ? '_' :
			      base[i];
}

/* Length of the UTF-8 character at at; 0 if there is none, or it is NUL. */
static u32 utf8_length(const unsigned char *at, size_t left)
{
	u32 len = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 :
		  at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

	if (!at[0] || len > left)
		return 0;
	for (u32 i = 1; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong, surrogates, beyond the last. */
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return len;
}

/* Witnesses hold the text, and they are JSON. */
static void check_utf8(struct parser *p)
{
	struct sc_pos pos = { 1, 1 };
	u32 len;

	for (const char *at = p->at; at < p->end && !p->failed; at += len) {
		len = utf8_length((const unsigned char *)at, p->end - at);
		if (!len) {
			parser_fail(p, pos, "expected UTF-8 text, not the byte 0x%02x",
				    (unsigned char)*at);
			return;
		}
		pos.column = *at == '\n' ? 1 : pos.column + len;
		pos.line += *at == '\n';
	}
}

static struct scenario *scenario_alloc(const char *text, size_t size,
				       const char *path)
{
	struct scenario *sc = calloc(1, sizeof(*sc));

	if (!sc)
		return NULL;
	sc->path = strdup(path);
	sc->text = malloc(size + 1);
	if (!sc->path || !sc->text) {
		scenario_free(sc);
		return NULL;
	}
	memcpy(sc->text, text, size);
	sc->text[size] = 0;
	sc->size = size;
	snprintf(sc->init.name, sizeof(sc->init.name), "init");
	snprintf(sc->final.name, sizeof(sc->final.name), "final");
	/* Node 0 is the number 0: what a failed expression is. */
	sc->nr_nodes = 1;
	set_name(sc);
	return sc;
}

struct scenario *scenario_parse(const char *text, size_t size, const char *path,
				char *error, size_t error_size)
{
	struct parser p = { .line = 1, .error = error, .error_size = error_size };

	if (size > SC_MAX_BYTES) {
		snprintf(error, error_size, "%s: expected at most %d bytes", path,
			 SC_MAX_BYTES);
		return NULL;
	}
	p.sc = scenario_alloc(text, size, path);
	if (!p.sc) {
		snprintf(error, error_size, "%s: out of memory", path);
		return NULL;
	}
	p.at = p.line_start = p.sc->text;
	p.end = p.sc->text + size;
	check_utf8(&p);
	parse_file(&p);
	if (!p.failed)
		return p.sc;
	scenario_free(p.sc);
	return NULL;
}

struct scenario *scenario_load(const char *path, char *error, size_t error_size)
{
	struct scenario *sc = NULL;
	FILE *f = fopen(path, "r");
	char *text = f ? malloc(SC_MAX_BYTES + 1) : NULL;
	size_t size = 0;

	if (text)
		size = fread(text, 1, SC_MAX_BYTES + 1, f);
	if (!text || ferror(f))
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
	else
		sc = scenario_parse(text, size, path, error, error_size);
	free(text);
	if (f)
		fclose(f);
	return sc;
}

static void free_ops(struct sc_thread *t)
{
	for (u32 i = 0; i < t->nr_ops; i++)
		free(t->op[i].text);
}

void scenario_free(struct scenario *sc)
{
	if (!sc)
		return;
	free_ops(&sc->init);
	free_ops(&sc->final);
	for (u32 i = 0; i < XMAX_THREADS; i++)
		free_ops(&sc->thread[i]);
	free(sc->path);
	free(sc->text);
	free(sc);
}
