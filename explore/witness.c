// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Witness files. Numbers that are hashes or masks are hexadecimal strings, as
 * JSON's numbers do not hold 64 bits everywhere. Choices are one string of decimal numbers,
 * "8 0 9*4" for 8 0 9 9 9 9.
 */
#include "explore/witness.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <tlblab/machine_abi.h>

#include "explore/search.h"

#define MAX_FILE (16U << 20)
#define MAX_CHOICES (1U << 20)

static const char *const rule_names[] = {
#define X(id, name) [XRULE_##id] = name,
	XRULES(X)
#undef X
};

const char *xrule_name(enum xrule rule)
{
	assert(rule < XRULE_NR);
	return rule_names[rule];
}

/* ---- hashes ---- */

#define FNV_START 0xcbf29ce484222325ULL

static u64 fnv(u64 h, const void *data, size_t size)
{
	const u8 *p = data;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

u64 witness_hash(const void *data, size_t size)
{
	return fnv(FNV_START, data, size);
}

bool witness_hash_file(const char *path, u64 *hash, char *error, size_t error_size)
{
	static const size_t chunk = 65536;
	FILE *f = fopen(path, "re");
	char *buffer = malloc(chunk);
	bool ok = false;
	size_t n;

	assert(buffer);
	*hash = FNV_START;
	if (f) {
		while ((n = fread(buffer, 1, chunk, f)))
			*hash = fnv(*hash, buffer, n);
		ok = !ferror(f);
	}
	if (!ok)
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
	if (f)
		fclose(f);
	free(buffer);
	return ok;
}

/* ---- writing ---- */

static char *choices_text(const struct xchoices *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	u32 n;

	assert(out);
	for (u32 i = 0; i < c->n; i += n) {
		for (n = 1; i + n < c->n && c->value[i + n] == c->value[i]; n++)
			;
		fprintf(out, n > 1 ? "%s%u*%u" : "%s%u", i ? " " : "", c->value[i], n);
	}
	fclose(out);
	return text;
}

static json_t *hex(u64 value)
{
	return json_sprintf("%016llx", (unsigned long long)value);
}

static json_t *dropped_json(const struct xverdict *v)
{
	json_t *list = json_array();

	for (u32 t = 0; t < XMAX_THREADS; t++)
		json_array_append_new(list, hex(v->dropped[t]));
	return list;
}

static json_t *knobs_json(const struct witness *w)
{
	json_t *knobs = json_object();

	for (u32 i = 0; i < w->nr_knobs; i++)
		json_object_set_new(knobs, w->knob[i].name, json_string(w->knob[i].value));
	return knobs;
}

/* All but the id, which is a hash of this. */
static json_t *body_json(const struct witness *w)
{
	char *choices = choices_text(&w->verdict.choices);
	json_t *json;

	json = json_pack("{s:s, s:s, s:o, s:s, s:s, s:o, s:s, s:o, s:o, s:s, s:i, s:o, s:s}",
			 "tool", "tlblab", "version", TLBLAB_VERSION, "abi", hex(TLBLAB_ABI),
			 "file", w->file, "program", w->program,
			 "source_hash", hex(witness_hash(w->source, strlen(w->source))),
			 "arch", w->arch, "core", hex(w->core), "knobs", knobs_json(w),
			 "rule", xrule_name(w->verdict.result.rule),
			 "bound", (int)w->verdict.bound, "dropped", dropped_json(&w->verdict),
			 "choices", choices);
	assert(json);
	free(choices);
	return json;
}

void witness_id(const struct witness *w, char id[WITNESS_ID_SIZE])
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	json_t *json = body_json(w);
	char *text;
	u64 h;

	/* The same find by another release is the same. */
	json_object_del(json, "version");
	json_object_del(json, "file");
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert(text);
	h = witness_hash(text, strlen(text));
	h ^= h >> 32;
	for (u32 i = 0; i < WITNESS_ID_SIZE - 1; i++, h >>= 5)
		id[i] = digits[h & 31];
	id[WITNESS_ID_SIZE - 1] = 0;
	free(text);
	json_decref(json);
}

char *witness_text(const struct witness *w)
{
	char id[WITNESS_ID_SIZE], *text;
	json_t *json = body_json(w), *source = json_string(w->source);

	assert(source);	/* UTF-8: the parsers of scenarios and models see to it */
	witness_id(w, id);
	json_object_set_new(json, "id", json_string(id));
	json_object_set_new(json, "source", source);
	text = json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS);
	assert(text);
	json_decref(json);
	return text;
}

bool witness_write(const char *path, const struct witness *w, char *error, size_t error_size)
{
	char *text = witness_text(w);
	FILE *f = fopen(path, "we");
	bool ok = f && fprintf(f, "%s\n", text) > 0;

	if (f && fclose(f))
		ok = false;
	if (!ok)
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
	free(text);
	return ok;
}

/* ---- reading ---- */

struct reader {
	const char *name;
	json_t *json;
	char *error;
	size_t error_size;
};

static bool __attribute__((format(printf, 2, 3)))
wrong(const struct reader *r, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->error, r->error_size, "%s: ", r->name);

	va_start(ap, fmt);
	if (n > 0 && (size_t)n < r->error_size)
		vsnprintf(r->error + n, r->error_size - (size_t)n, fmt, ap);
	va_end(ap);
	for (char *p = r->error; *p; p++)
		if ((u8)*p < ' ')
			*p = ' ';
	return false;
}

/* A string without NUL bytes in it. */
static bool get_string(const struct reader *r, const json_t *value, const char *key,
		       const char **s)
{
	*s = "";
	if (!json_is_string(value) ||
	    strlen(json_string_value(value)) != json_string_length(value))
		return wrong(r, "\"%s\": a string is expected", key);
	*s = json_string_value(value);
	return true;
}

static bool get_text(const struct reader *r, const char *key, char **text)
{
	const char *s;

	if (!get_string(r, json_object_get(r->json, key), key, &s))
		return false;
	*text = strdup(s);
	assert(*text);
	return true;
}

static bool parse_hex(const struct reader *r, const json_t *value, const char *key, u64 *h)
{
	const char *s;

	*h = 0;
	if (!get_string(r, value, key, &s))
		return false;
	if (strlen(s) != 16 || strspn(s, "0123456789abcdef") != 16)
		return wrong(r, "\"%s\": 16 hexadecimal digits are expected", key);
	*h = strtoull(s, NULL, 16);
	return true;
}

static bool get_hex(const struct reader *r, const char *key, u64 *h)
{
	return parse_hex(r, json_object_get(r->json, key), key, h);
}

static bool get_rule(const struct reader *r, enum xrule *rule)
{
	const char *s;

	if (!get_string(r, json_object_get(r->json, "rule"), "rule", &s))
		return false;
	for (u32 i = XRULE_NONE + 1; i < XRULE_NR; i++) {
		if (!strcmp(s, rule_names[i])) {
			*rule = (enum xrule)i;
			return true;
		}
	}
	return wrong(r, "\"rule\": \"%.40s\" is no rule", s);
}

static bool get_bound(const struct reader *r, u32 *bound)
{
	const json_t *value = json_object_get(r->json, "bound");

	if (!json_is_integer(value) || json_integer_value(value) < -1 ||
	    json_integer_value(value) > INT32_MAX)
		return wrong(r, "\"bound\": a number of preemptions is expected");
	*bound = (u32)json_integer_value(value);
	return true;
}

static bool get_dropped(const struct reader *r, u64 dropped[XMAX_THREADS])
{
	const json_t *list = json_object_get(r->json, "dropped");

	if (!json_is_array(list) || json_array_size(list) != XMAX_THREADS)
		return wrong(r, "\"dropped\": a list of %u masks is expected", XMAX_THREADS);
	for (u32 t = 0; t < XMAX_THREADS; t++)
		if (!parse_hex(r, json_array_get(list, t), "dropped", &dropped[t]))
			return false;
	return true;
}

static bool get_knobs(const struct reader *r, struct witness *w)
{
	json_t *knobs = json_object_get(r->json, "knobs"), *value;
	const char *key, *s;

	if (!json_is_object(knobs))
		return wrong(r, "\"knobs\": an object is expected");
	w->knob = calloc(json_object_size(knobs) + 1, sizeof(*w->knob));
	assert(w->knob);
	json_object_foreach(knobs, key, value) {
		if (!get_string(r, value, "knobs", &s))
			return false;
		w->knob[w->nr_knobs].name = strdup(key);
		w->knob[w->nr_knobs++].value = strdup(s);
	}
	return true;
}

/* A decimal number up to max at *s, which is moved behind it. */
static bool number(const char **s, u32 max, u32 *value)
{
	u64 v = 0;

	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		v = v * 10 + (u64)(**s - '0');
		if (v > max)
			return false;
	}
	*value = (u32)v;
	return true;
}

static bool get_choices(const struct reader *r, struct xchoices *c)
{
	const char *start, *s;
	u32 value, times;

	if (!get_string(r, json_object_get(r->json, "choices"), "choices", &start))
		return false;
	for (s = start; *s;) {
		times = 1;
		if ((s != start && *s++ != ' ') || !number(&s, UINT16_MAX, &value))
			goto bad;
		if (*s == '*') {
			s++;
			if (!number(&s, MAX_CHOICES, &times))
				goto bad;
		}
		if (!times || times > MAX_CHOICES - c->n)
			goto bad;
		while (times--)
			choices_add(c, (u16)value);
	}
	return true;
bad:
	return wrong(r, "\"choices\": \"8 0 9*4\" is expected, not \"%.20s\"", s);
}

static bool get_tool(const struct reader *r)
{
	const char *tool;

	if (!json_is_object(r->json))
		return wrong(r, "not a witness: an object is expected");
	if (!json_is_string(json_object_get(r->json, "tool")) ||
	    !get_string(r, json_object_get(r->json, "tool"), "tool", &tool) ||
	    strcmp(tool, "tlblab"))
		return wrong(r, "not a witness: \"tool\": \"tlblab\" is expected");
	return true;
}

static bool get_abi(const struct reader *r)
{
	u64 abi;

	if (!get_hex(r, "abi", &abi))
		return false;
	if (abi != TLBLAB_ABI)
		return wrong(r, "made with another seam: ABI %016llx, here %016llx",
			     (unsigned long long)abi, (unsigned long long)TLBLAB_ABI);
	return true;
}

/* The id and the source's hash are checksums, too: of a file edited by hand. */
static bool check_sums(const struct reader *r, const struct witness *w)
{
	char id[WITNESS_ID_SIZE];
	const char *has;
	u64 hash;

	if (!get_hex(r, "source_hash", &hash) ||
	    !get_string(r, json_object_get(r->json, "id"), "id", &has))
		return false;
	if (hash != witness_hash(w->source, strlen(w->source)))
		return wrong(r, "\"source\" was changed: its hash is not \"source_hash\"");
	witness_id(w, id);
	if (strcmp(id, has))
		return wrong(r, "was changed: its id would be %s, not %.20s", id, has);
	return true;
}

static bool get_all(const struct reader *r, struct witness *w)
{
	return get_tool(r) && get_abi(r) && get_text(r, "file", &w->file) &&
	       get_text(r, "program", &w->program) && get_text(r, "source", &w->source) &&
	       get_text(r, "arch", &w->arch) && get_hex(r, "core", &w->core) &&
	       get_knobs(r, w) && get_rule(r, &w->verdict.result.rule) &&
	       get_bound(r, &w->verdict.bound) && get_dropped(r, w->verdict.dropped) &&
	       get_choices(r, &w->verdict.choices) && check_sums(r, w);
}

bool witness_parse(const char *text, size_t size, const char *name, struct witness *w,
		   char *error, size_t error_size)
{
	struct reader r = { .name = name, .error = error, .error_size = error_size };
	json_error_t je;
	bool ok;

	memset(w, 0, sizeof(*w));
	r.json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &je);
	if (!r.json)
		return wrong(&r, "%d:%d: not a witness: %s", je.line, je.column, je.text);
	ok = get_all(&r, w);
	json_decref(r.json);
	w->verdict.found = ok;
	w->verdict.result.outcome = XOUT_VIOLATION;
	if (!ok)
		witness_free(w);
	return ok;
}

bool witness_read(const char *path, struct witness *w, char *error, size_t error_size)
{
	FILE *f = fopen(path, "re");
	bool ok = false;
	char *text;
	size_t n;

	memset(w, 0, sizeof(*w));
	if (!f) {
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
		return false;
	}
	text = malloc(MAX_FILE);
	assert(text);
	n = fread(text, 1, MAX_FILE, f);
	if (ferror(f))
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
	else if (n == MAX_FILE)
		snprintf(error, error_size, "%s: too large for a witness", path);
	else
		ok = witness_parse(text, n, path, w, error, error_size);
	free(text);
	fclose(f);
	return ok;
}

/* ---- does it fit ---- */

static const char *setting(const struct witness *w, const char *name)
{
	for (u32 i = 0; i < w->nr_knobs; i++)
		if (!strcmp(w->knob[i].name, name))
			return w->knob[i].value;
	return NULL;
}

bool witness_fits(const struct witness *w, const char *name, const struct witness *now,
		  char *error, size_t error_size)
{
	struct reader r = { .name = name, .error = error, .error_size = error_size };

	if (strcmp(w->arch, now->arch))
		return wrong(&r, "made for %s, not %s", w->arch, now->arch);
	if (strcmp(w->program, now->program) || strcmp(w->source, now->source))
		return wrong(&r, "made with another text of %s (%s)", w->file, w->program);
	if (w->core != now->core)
		return wrong(&r, "made with another core: its module's hash is %016llx, "
			     "here %016llx", (unsigned long long)w->core,
			     (unsigned long long)now->core);
	for (u32 i = 0; i < now->nr_knobs; i++) {
		const char *value = setting(w, now->knob[i].name);

		if (!value || strcmp(value, now->knob[i].value))
			return wrong(&r, "made with %s=%s, not %s", now->knob[i].name,
				     value ? value : "(unknown)", now->knob[i].value);
	}
	if (w->nr_knobs != now->nr_knobs)
		return wrong(&r, "made with %u knobs, here are %u", w->nr_knobs, now->nr_knobs);
	return true;
}

void witness_free(struct witness *w)
{
	free(w->file);
	free(w->program);
	free(w->source);
	free(w->arch);
	for (u32 i = 0; i < w->nr_knobs; i++) {
		free(w->knob[i].name);
		free(w->knob[i].value);
	}
	free(w->knob);
	xverdict_free(&w->verdict);
	memset(w, 0, sizeof(*w));
}
