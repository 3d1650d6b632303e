// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A machine file: libcyaml checks its shape against the schema below, then
 * check_*() checks what a schema cannot say and fills in struct machine_desc.
 */
#include "machine/desc_parts.h"
#include "machine/nearest.h"

#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ------------------------------------------------- what the file looks like */

enum time_unit { UNIT_PS, UNIT_NS, UNIT_US, UNIT_MS, UNIT_S, UNIT_CYCLES };

struct yaml_cost {
	char *value;
	enum time_unit unit;
	char *ghz;
	enum cost_kind kind;
	char **range;
	unsigned range_count;
	char *group;
	char *source;
};

struct yaml_tlb {
	u32 sets, ways;
	enum cost_kind kind;
	char *source;
};

struct yaml_tlbs {
	struct yaml_tlb l1, *l1_huge, l2;
};

struct yaml_walk_cache {
	u32 *entries;
	unsigned entries_count;
	enum cost_kind kind;
	char *source;
};

struct yaml_feature {
	char *knob, *value;
	enum cost_kind kind;
	char *source;
};

/* Indexed as cost_slot() numbers them. */
struct yaml_costs {
	struct yaml_cost *cost[NR_ALL_COSTS];
};

struct yaml_machine {
	char *name, *summary, *arch, *topology, *memory;
	u32 page_shift, va_bits, asid_bits;
	u32 jitter_pct, wake_jitter_pct, tick_us, timeslice_us;
	struct yaml_tlbs tlb;
	struct yaml_walk_cache walk_cache;
	struct yaml_feature *features;
	unsigned features_count;
	struct yaml_costs costs;
};

static const cyaml_strval_t kind_strings[] = {
	{ "published", COST_PUBLISHED }, { "derived", COST_DERIVED },
	{ "fitted", COST_FITTED }, { "estimate", COST_ESTIMATE },
	{ "measured", COST_MEASURED },
};

static const cyaml_strval_t unit_strings[] = {
	{ "ps", UNIT_PS }, { "ns", UNIT_NS }, { "us", UNIT_US },
	{ "ms", UNIT_MS }, { "s", UNIT_S }, { "cycles", UNIT_CYCLES },
};

#define STR CYAML_FLAG_POINTER
#define OPT CYAML_FLAG_OPTIONAL
#define KIND(type)                                                              \
	CYAML_FIELD_ENUM("kind", CYAML_FLAG_STRICT, type, kind, kind_strings,   \
			 ARRAY_LEN(kind_strings)),                              \
	CYAML_FIELD_STRING_PTR("source", STR, type, source, 1, 119)

static const cyaml_schema_value_t number_schema = {
	CYAML_VALUE_STRING(STR, char *, 1, 24),
};

static const cyaml_schema_field_t cost_fields[] = {
	CYAML_FIELD_STRING_PTR("value", STR, struct yaml_cost, value, 1, 24),
	CYAML_FIELD_ENUM("unit", CYAML_FLAG_STRICT, struct yaml_cost, unit,
			 unit_strings, ARRAY_LEN(unit_strings)),
	CYAML_FIELD_STRING_PTR("ghz", STR | OPT, struct yaml_cost, ghz, 1, 24),
	KIND(struct yaml_cost),
	CYAML_FIELD_SEQUENCE("range", STR | OPT, struct yaml_cost, range,
			     &number_schema, 2, 2),
	CYAML_FIELD_STRING_PTR("group", STR | OPT, struct yaml_cost, group, 1, 31),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t tlb_fields[] = {
	CYAML_FIELD_UINT("sets", 0, struct yaml_tlb, sets),
	CYAML_FIELD_UINT("ways", 0, struct yaml_tlb, ways),
	KIND(struct yaml_tlb),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t tlbs_fields[] = {
	CYAML_FIELD_MAPPING("l1", 0, struct yaml_tlbs, l1, tlb_fields),
	CYAML_FIELD_MAPPING_PTR("l1_huge", STR | OPT, struct yaml_tlbs, l1_huge,
				tlb_fields),
	CYAML_FIELD_MAPPING("l2", 0, struct yaml_tlbs, l2, tlb_fields),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t u32_schema = {
	CYAML_VALUE_UINT(0, u32),
};

static const cyaml_schema_field_t walk_cache_fields[] = {
	CYAML_FIELD_SEQUENCE("entries", STR, struct yaml_walk_cache, entries,
			     &u32_schema, 1, TLBLAB_MAX_PT_LEVELS - 1),
	KIND(struct yaml_walk_cache),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t feature_fields[] = {
	CYAML_FIELD_STRING_PTR("knob", STR, struct yaml_feature, knob, 1, 47),
	CYAML_FIELD_STRING_PTR("value", STR, struct yaml_feature, value, 1, 23),
	KIND(struct yaml_feature),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t feature_schema = {
	CYAML_VALUE_MAPPING(0, struct yaml_feature, feature_fields),
};

static const cyaml_schema_field_t costs_fields[] = {
#define X(id, name_, account)                                                   \
	CYAML_FIELD_MAPPING_PTR(#name_, STR | OPT, struct yaml_costs,           \
				cost[MACH_COST_##id], cost_fields),
	MACH_COSTS(X)
#undef X
#define X(id, name_)                                                            \
	CYAML_FIELD_MAPPING_PTR(#name_, STR | OPT, struct yaml_costs,           \
				cost[MACH_NR_COSTS + HW_##id], cost_fields),
	HW_COSTS(X)
#undef X
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t machine_fields[] = {
	CYAML_FIELD_STRING_PTR("name", STR, struct yaml_machine, name, 1, 47),
	CYAML_FIELD_STRING_PTR("summary", STR, struct yaml_machine, summary, 1, 159),
	CYAML_FIELD_STRING_PTR("arch", STR, struct yaml_machine, arch, 1, 15),
	CYAML_FIELD_STRING_PTR("topology", STR, struct yaml_machine, topology, 1, 255),
	CYAML_FIELD_STRING_PTR("memory", STR, struct yaml_machine, memory, 1, 24),
	CYAML_FIELD_UINT("page_shift", 0, struct yaml_machine, page_shift),
	CYAML_FIELD_UINT("va_bits", 0, struct yaml_machine, va_bits),
	CYAML_FIELD_UINT("asid_bits", 0, struct yaml_machine, asid_bits),
	CYAML_FIELD_UINT("jitter_pct", 0, struct yaml_machine, jitter_pct),
	CYAML_FIELD_UINT("wake_jitter_pct", OPT, struct yaml_machine, wake_jitter_pct),
	CYAML_FIELD_UINT("tick_us", 0, struct yaml_machine, tick_us),
	CYAML_FIELD_UINT("timeslice_us", 0, struct yaml_machine, timeslice_us),
	CYAML_FIELD_MAPPING("tlb", 0, struct yaml_machine, tlb, tlbs_fields),
	CYAML_FIELD_MAPPING("walk_cache", 0, struct yaml_machine, walk_cache,
			    walk_cache_fields),
	CYAML_FIELD_SEQUENCE("features", STR | OPT, struct yaml_machine,
			     features, &feature_schema, 0, DESC_MAX_FEATURES),
	CYAML_FIELD_MAPPING("costs", 0, struct yaml_machine, costs, costs_fields),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t machine_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct yaml_machine, machine_fields),
};

/* --------------------------------------------------------------- messages */

struct load {
	const char *path;	/* of the file */
	struct yaml_places places;
	struct yaml_machine *yaml;
	struct machine_desc *desc;
	char *error;
	size_t error_size;
	/* From libcyaml: its message and the path of its backtrace. */
	char said[200];
	char where[YAML_PATH_MAX];
};

/* One line about key (a path within the file). Returns -1. */
__attribute__((format(printf, 3, 4)))
static int bad(struct load *l, const char *key, const char *fmt, ...)
{
	const struct yaml_place *at = yaml_places_find(&l->places, key);
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(l->error, l->error_size, "%s:%u:%u: %s%s%s", l->path, at->line,
		 at->column, key, *key ? ": " : "", what);
	return -1;
}

/*
 * libcyaml's log, at level ERROR: the message first, then a backtrace from the
 * innermost field outwards, of which the path is made.
 */
static void cyaml_said(cyaml_log_t level, void *ctx, const char *fmt,
		       va_list args)
{
	struct load *l = ctx;
	char line[200], name[YAML_PATH_MAX], path[YAML_PATH_MAX];
	char *begin, *end;

	if (level < CYAML_LOG_ERROR)
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	if (strncmp(line, "  in ", 5)) {
		if (!l->said[0] && !strncmp(line, "Load: ", 6))
			memcpy(l->said, line + 6, strlen(line + 6) + 1);
		return;
	}
	begin = strchr(line, '\'');
	end = begin ? strchr(begin + 1, '\'') : NULL;
	if (!end)
		return;
	*end = 0;
	memcpy(name, begin + 1, strlen(begin + 1) + 1);
	snprintf(path, sizeof(path), "%.60s%s%.60s", name, l->where[0] ? "." : "",
		 l->where);
	memcpy(l->where, path, sizeof(path));
}

/* The schema of the value at path; NULL if the file has no such thing. */
static const cyaml_schema_value_t *schema_at(const char *path)
{
	const cyaml_schema_value_t *s = &machine_schema;
	size_t len;

	for (; *path; path += len + (path[len] == '.')) {
		const cyaml_schema_field_t *f;

		len = strcspn(path, ".");
		if (s->type == CYAML_SEQUENCE) {
			s = s->sequence.entry;
			continue;
		}
		if (s->type != CYAML_MAPPING)
			return NULL;
		for (f = s->mapping.fields; f->key; f++)
			if (strlen(f->key) == len && !strncmp(f->key, path, len))
				break;
		if (!f->key)
			return NULL;
		s = &f->value;
	}
	return s;
}

static void join(char *path, const char *parent, const char *key)
{
	snprintf(path, YAML_PATH_MAX, "%.60s%s%.60s", parent, *parent ? "." : "",
		 key);
}

static int bad_key(struct load *l, const char *key)
{
	const cyaml_schema_value_t *s = schema_at(l->where);
	struct nearest near = { .name = key };
	char path[YAML_PATH_MAX];

	join(path, l->where, key);
	if (!s || s->type != CYAML_MAPPING)
		return bad(l, path, "unknown key");
	for (const cyaml_schema_field_t *f = s->mapping.fields; f->key; f++)
		nearest_offer(&near, f->key);
	return bad(l, path, "unknown key; the nearest is \"%s\"", near.best);
}

static int bad_choice(struct load *l, const char *value)
{
	const cyaml_schema_value_t *s = schema_at(l->where);
	char valid[160] = "";
	size_t len = 0;

	if (!s || s->type != CYAML_ENUM)
		return bad(l, l->where, "\"%.40s\" is not valid here", value);
	for (u32 i = 0; i < s->enumeration.count; i++)
		len += snprintf(valid + len, sizeof(valid) - len, "%s%s",
				i ? ", " : "", s->enumeration.strings[i].str);
	return bad(l, l->where, "expected one of %s, not \"%.40s\"", valid, value);
}

static const char *expected_type(const cyaml_schema_value_t *s)
{
	switch (s ? s->type : CYAML_STRING) {
	case CYAML_MAPPING:
		return "expected a mapping (key: value)";
	case CYAML_SEQUENCE:
		return "expected a sequence ([a, b])";
	case CYAML_UINT:
		return "expected a whole number";
	case CYAML_ENUM:
		return "expected one of a few words";
	default:
		return "expected a single value";
	}
}

static void strip_last(char *path)
{
	char *dot = strrchr(path, '.');

	*(dot ? dot : path) = 0;
}

static bool has_field(const cyaml_schema_value_t *s, const char *key)
{
	if (!s || s->type != CYAML_MAPPING)
		return false;
	for (const cyaml_schema_field_t *f = s->mapping.fields; f->key; f++)
		if (!strcmp(f->key, key))
			return true;
	return false;
}

/* The backtrace may begin with the field that was read last: go up from there. */
static int bad_missing(struct load *l, const char *key)
{
	char path[YAML_PATH_MAX];

	while (l->where[0] && !has_field(schema_at(l->where), key))
		strip_last(l->where);
	join(path, l->where, key);
	return bad(l, path, "missing; every %s has one",
		   l->where[0] ? "such entry" : "machine");
}

static int bad_entries(struct load *l)
{
	const cyaml_schema_value_t *s = schema_at(l->where);

	while (l->where[0] && (!s || s->type != CYAML_SEQUENCE)) {
		strip_last(l->where);
		s = schema_at(l->where);
	}
	if (!s || s->type != CYAML_SEQUENCE)
		return bad(l, l->where, "%s", l->said);
	return bad(l, l->where, "expected %u to %u entries", s->sequence.min,
		   s->sequence.max);
}

/* libcyaml's message in our words. */
static int bad_shape(struct load *l, cyaml_err_t err)
{
	static const char unexpected[] = "Unexpected key: ";
	static const char missing[] = "Missing required mapping field: ";
	static const char choice[] = "Invalid ENUM value: ";
	const cyaml_schema_value_t *s = schema_at(l->where);

	if (!strncmp(l->said, unexpected, sizeof(unexpected) - 1))
		return bad_key(l, l->said + sizeof(unexpected) - 1);
	if (!strncmp(l->said, choice, sizeof(choice) - 1))
		return bad_choice(l, l->said + sizeof(choice) - 1);
	if (!strncmp(l->said, missing, sizeof(missing) - 1))
		return bad_missing(l, l->said + sizeof(missing) - 1);
	if (strstr(l->said, "already seen"))
		return bad(l, l->where, "given twice");
	if (strstr(l->said, "STRING length <"))
		return bad(l, l->where, "expected a value");
	if (strstr(l->said, "STRING length >"))
		return bad(l, l->where, "expected at most %u characters",
			   s && s->type == CYAML_STRING ? s->string.max : 0);
	if (strstr(l->said, "entries ("))
		return bad_entries(l);
	if (strstr(l->said, "got event") || strstr(l->said, "UINT value") ||
	    strstr(l->said, "int64_t value"))
		return bad(l, l->where, "%s", expected_type(s));
	return bad(l, l->where, "%s", l->said[0] ? l->said : cyaml_strerror(err));
}

/* ------------------------------------------------------------------ costs */

/* No cost may be longer, so that sums cannot overflow. */
#define COST_MAX_PS 1000000000000000ULL /* 1000 s */

static int bad_number(struct load *l, const char *key, int err)
{
	if (err == -2)
		return bad(l, key, "finer than a picosecond");
	if (err == -3)
		return bad(l, key, "expected less than 1000 s");
	return bad(l, key, "expected a decimal number such as 0.305");
}

/* cycles / GHz, to the nearest picosecond: 1000 * cycles / ghz. */
static int cycles_to_ps(struct load *l, const char *key, const char *ghz_key,
			const struct yaml_cost *c, const char *s, u64 *ps)
{
	u64 milli_cycles, mega_hz_milli;
	int err;

	if (!c->ghz)
		return bad(l, ghz_key, "missing; cycles need it");
	err = parse_decimal(c->ghz, 1000000, &mega_hz_milli);
	if (err || !mega_hz_milli || mega_hz_milli > 100000000)
		return bad(l, ghz_key, "expected a clock in GHz such as 2.4");
	err = parse_decimal(s, 1000, &milli_cycles);
	if (err || milli_cycles > 1000000000000ULL)
		return bad(l, key, "expected cycles, to a thousandth");
	/* milli_cycles / 1000 / (mega_hz_milli * 1000 / s), in ps */
	*ps = (milli_cycles * 1000000 + mega_hz_milli / 2) / mega_hz_milli;
	return 0;
}

static int time_to_ps(struct load *l, const char *cost_key, const char *field,
		      const struct yaml_cost *c, const char *s, u64 *ps)
{
	static const u64 scale[] = {
		[UNIT_PS] = 1, [UNIT_NS] = 1000, [UNIT_US] = 1000000,
		[UNIT_MS] = 1000000000, [UNIT_S] = 1000000000000,
	};
	char key[YAML_PATH_MAX], ghz_key[YAML_PATH_MAX];
	int err;

	join(key, cost_key, field);
	join(ghz_key, cost_key, "ghz");
	if (c->unit == UNIT_CYCLES) {
		if (cycles_to_ps(l, key, ghz_key, c, s, ps))
			return -1;
	} else {
		if (c->ghz)
			return bad(l, ghz_key, "only cycles have one");
		err = parse_decimal(s, scale[c->unit], ps);
		if (err)
			return bad_number(l, key, err);
	}
	return *ps > COST_MAX_PS ? bad_number(l, key, -3) : 0;
}

static int cost_range(struct load *l, const char *key,
		      const struct yaml_cost *c, struct cost *out)
{
	char range[YAML_PATH_MAX];

	join(range, key, "range");
	out->lo_ps = out->hi_ps = out->ps;
	if (!c->range)
		return c->kind == COST_PUBLISHED ? 0 :
			bad(l, range, "missing; only published costs have none");
	if (c->kind == COST_PUBLISHED)
		return bad(l, range, "published costs have none");
	if (time_to_ps(l, key, "range", c, c->range[0], &out->lo_ps) ||
	    time_to_ps(l, key, "range", c, c->range[1], &out->hi_ps))
		return -1;
	if (out->lo_ps > out->ps || out->hi_ps < out->ps)
		return bad(l, range, "expected lowest <= value <= highest");
	return 0;
}

/* Finds or adds a group's name; groups count from 1. */
static int cost_group(struct load *l, const char *key,
		      const struct yaml_cost *c, struct cost *out)
{
	struct machine_desc *desc = l->desc;
	char group[YAML_PATH_MAX];
	u32 g;

	join(group, key, "group");
	if (!c->group)
		return c->kind == COST_FITTED ?
			bad(l, group, "missing; fitted costs name what was "
			    "fitted together") : 0;
	if (c->kind != COST_FITTED)
		return bad(l, group, "only fitted costs have one");
	for (g = 1; g < ARRAY_LEN(desc->group) && desc->group[g][0]; g++)
		if (!strcmp(desc->group[g], c->group))
			break;
	if (g == ARRAY_LEN(desc->group))
		return bad(l, group, "expected at most %zu groups",
			   ARRAY_LEN(desc->group) - 1);
	snprintf(desc->group[g], sizeof(desc->group[g]), "%s", c->group);
	out->group = g;
	return 0;
}

static int check_cost(struct load *l, u32 i)
{
	const struct yaml_cost *c = l->yaml->costs.cost[i];
	enum cost_need need = cost_need(l->desc, i);
	struct cost *out = cost_slot(l->desc, i);
	char key[YAML_PATH_MAX];

	join(key, "costs", cost_name(i));
	if (!c)
		return need == COST_NEEDED ?
			bad(l, key, "missing; %s machines%s charge it",
			    l->desc->arch,
			    i >= MACH_NR_COSTS ? " of this topology" : "") : 0;
	if (need == COST_FOREIGN)
		return bad(l, key, "%s has no such cost", l->desc->arch);
	out->given = 1;
	out->kind = c->kind;
	snprintf(out->source, sizeof(out->source), "%s", c->source);
	if (time_to_ps(l, key, "value", c, c->value, &out->ps) ||
	    cost_range(l, key, c, out) || cost_group(l, key, c, out))
		return -1;
	return 0;
}

/* --------------------------------------------------------------- the rest */

static bool power_of_two(u32 n)
{
	return n && !(n & (n - 1));
}

static int check_tlb(struct load *l, const char *name,
		     const struct yaml_tlb *t, struct tlb_geometry *out)
{
	char key[YAML_PATH_MAX], sub[YAML_PATH_MAX];

	if (!t)
		return 0;
	join(key, "tlb", name);
	join(sub, key, "ways");
	if (t->ways > 4096)
		return bad(l, sub, "expected at most 4096");
	join(sub, key, "sets");
	if (t->ways ? !power_of_two(t->sets) || t->sets > 65536 : t->sets)
		return bad(l, sub, "expected a power of two up to 65536 "
			   "(0 sets and 0 ways: no such TLB)");
	*out = (struct tlb_geometry){ .sets = t->sets, .ways = t->ways };
	return 0;
}

static int check_range(struct load *l, const char *key, u32 value, u32 min,
		       u32 max)
{
	if (value < min || value > max)
		return bad(l, key, "expected %u to %u, not %u", min, max, value);
	return 0;
}

static int check_mmu(struct load *l)
{
	const struct yaml_machine *y = l->yaml;
	struct machine_desc *d = l->desc;

	if (check_tlb(l, "l1", &y->tlb.l1, &d->l1) ||
	    check_tlb(l, "l1_huge", y->tlb.l1_huge, &d->l1_huge) ||
	    check_tlb(l, "l2", &y->tlb.l2, &d->l2))
		return -1;
	if (!d->l1.ways)
		return bad(l, "tlb.l1.ways", "expected at least 1");
	for (u32 i = 0; i < y->walk_cache.entries_count; i++) {
		if (check_range(l, "walk_cache.entries",
				y->walk_cache.entries[i], 0, 4096))
			return -1;
		d->walk_cache[i + 1] = y->walk_cache.entries[i];
	}
	if (check_range(l, "va_bits", y->va_bits, 36, 56) ||
	    check_range(l, "asid_bits", y->asid_bits, 0, 20))
		return -1;
	if (!strcmp(d->arch, "arm64") && y->asid_bits != 8 && y->asid_bits != 16)
		return bad(l, "asid_bits", "expected 8 or 16 on arm64");
	if (!strcmp(d->arch, "x86") && y->asid_bits && y->asid_bits != 12)
		return bad(l, "asid_bits", "expected 12, or 0 without PCID, on x86");
	if (!strcmp(d->arch, "powerpc") && (y->asid_bits < 8 || y->va_bits != 52))
		return bad(l, y->va_bits != 52 ? "va_bits" : "asid_bits",
			   "expected %s on powerpc",
			   y->va_bits != 52 ? "52" : "8 to 20 (PIDs)");
	d->va_bits = y->va_bits;
	d->asid_bits = y->asid_bits;
	return 0;
}

static int check_arch(struct load *l)
{
	static const char *const archs[] = { "x86", "arm64", "powerpc" };
	const struct yaml_machine *y = l->yaml;
	u32 i;

	for (i = 0; i < ARRAY_LEN(archs); i++)
		if (!strcmp(y->arch, archs[i]))
			break;
	if (i == ARRAY_LEN(archs))
		return bad(l, "arch", "expected x86, arm64 or powerpc, not "
			   "\"%.20s\"", y->arch);
	snprintf(l->desc->arch, sizeof(l->desc->arch), "%s", y->arch);
	if (y->page_shift != 12 && (y->page_shift != 16 || i == 0))
		return bad(l, "page_shift", "expected 12%s, not %u",
			   i ? " or 16" : " on x86", y->page_shift);
	l->desc->page_shift = y->page_shift;
	return 0;
}

static int check_size(struct load *l)
{
	struct machine_desc *d = l->desc;
	const char *wrong;
	char buf[160];

	wrong = desc_topology(d, l->yaml->topology, l->path, buf, sizeof(buf));
	if (wrong)
		return bad(l, "topology", "%s", wrong);
	if (parse_size(l->yaml->memory, &d->memory_bytes))
		return bad(l, "memory", "expected a size such as 98G");
	if (d->memory_bytes < 16ULL << 20 || d->memory_bytes > 64ULL << 40 ||
	    d->memory_bytes & ((1ULL << d->page_shift) - 1))
		return bad(l, "memory", "expected whole pages, 16M to 64T");
	return 0;
}

static int check_features(struct load *l)
{
	struct machine_desc *d = l->desc;

	for (u32 i = 0; i < l->yaml->features_count; i++) {
		const struct yaml_feature *f = &l->yaml->features[i];

		for (u32 j = 0; j < i; j++)
			if (!strcmp(d->feature[j].name, f->knob))
				return bad(l, "features", "%s is given twice",
					   f->knob);
		snprintf(d->feature[i].name, sizeof(d->feature[i].name), "%s",
			 f->knob);
		snprintf(d->feature[i].value, sizeof(d->feature[i].value), "%s",
			 f->value);
		d->nr_features = i + 1;
	}
	return 0;
}

static int check_time(struct load *l)
{
	const struct yaml_machine *y = l->yaml;

	if (check_range(l, "jitter_pct", y->jitter_pct, 0, 90) ||
	    check_range(l, "wake_jitter_pct", y->wake_jitter_pct, 0, 100) ||
	    check_range(l, "tick_us", y->tick_us, 100, 1000000) ||
	    check_range(l, "timeslice_us", y->timeslice_us, 100, 1000000))
		return -1;
	l->desc->jitter_pct = y->jitter_pct;
	l->desc->wake_jitter_pct = y->wake_jitter_pct;
	l->desc->tick_us = y->tick_us;
	l->desc->timeslice_us = y->timeslice_us;
	return 0;
}

static int check_all(struct load *l)
{
	snprintf(l->desc->name, sizeof(l->desc->name), "%s", l->yaml->name);
	snprintf(l->desc->summary, sizeof(l->desc->summary), "%s",
		 l->yaml->summary);
	if (check_arch(l) || check_size(l) || check_mmu(l) ||
	    check_features(l) || check_time(l))
		return -1;
	for (u32 i = 0; i < NR_ALL_COSTS; i++)
		if (check_cost(l, i))
			return -1;
	return 0;
}

static int load_yaml(struct load *l, const char *text, size_t size)
{
	cyaml_config_t config = {
		.log_fn = cyaml_said, .log_ctx = l,
		.log_level = CYAML_LOG_ERROR, .mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	cyaml_err_t err;
	int ret;

	err = cyaml_load_data((const u8 *)text, size, &config, &machine_schema,
			      (cyaml_data_t **)&l->yaml, NULL);
	if (err)
		return bad_shape(l, err);
	if (!l->yaml)
		return bad(l, "", "expected a machine, found nothing");
	ret = check_all(l);
	cyaml_free(&config, &machine_schema, l->yaml, 0);
	return ret;
}

int machine_desc_parse(const char *text, size_t size, const char *path,
		       struct machine_desc *desc,
		       char *error, size_t error_size)
{
	struct load l = {
		.path = path, .desc = desc,
		.error = error, .error_size = error_size,
	};
	char what[160];
	int ret;

	memset(desc, 0, sizeof(*desc));
	ret = yaml_places_read(&l.places, text, size, what, sizeof(what));
	if (ret)
		snprintf(error, error_size, "%s:%s", path, what);
	else
		ret = load_yaml(&l, text, size);
	yaml_places_free(&l.places);
	/* Keys of a bad file may hold anything; the message is one line. */
	for (char *c = error; ret && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return ret;
}
