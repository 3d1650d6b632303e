// SPDX-License-Identifier: GPL-2.0-or-later
/* The initial state, locations and values. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "litmus/entry.h"
#include "litmus/parser.h"

/* "0:", "P0:" and a register; else the cursor stays. */
bool lit_register_of(struct lit_parser *p, u8 *thread, u8 *reg)
{
	char name[LIT_NAME];
	u32 from, at;
	char *digit = name;
	bool w;
	int r;

	lit_skip(p);
	from = p->at;
	if (!lit_word(p, false, name, sizeof(name)))
		return false;
	if (toupper(*digit) == 'P')
		digit++;
	if (!isdigit((unsigned char)digit[0]) || digit[1] || !lit_eat(p, ":")) {
		p->at = from;
		return false;
	}
	*thread = (u8)(digit[0] - '0');
	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, name, sizeof(name)))
		return lit_fail(p, at, "expected a register");
	r = lit_register(p, name, &w);
	if (r < 0)
		return lit_fail(p, at, "expected a register, not \"%s\"", name);
	if (*thread >= LIT_MAX_THREADS)
		return lit_fail(p, from, "expected at most %d threads", LIT_MAX_THREADS);
	*reg = (u8)r;
	if (r < LIT_ZR)
		p->t->thread[*thread].used |= 1U << r;
	return true;
}

/* The name in PTE(x), PA(x), TTD(x). */
static bool name_in_parens(struct lit_parser *p, u8 *page)
{
	char name[LIT_NAME];
	u32 at;

	if (!lit_expect(p, "("))
		return false;
	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, name, sizeof(name)))
		return lit_fail(p, at, "expected the name of a location");
	*page = lit_page(p, name, at);
	return lit_expect(p, ")");
}

/* x, pte_x, PTE(x), pde_x: what is named, and of which page. */
static bool named(struct lit_parser *p, u8 *kind, u8 *page)
{
	static const struct { const char *prefix, *call; u8 kind; } form[] = {
		{ "pte_", "PTE", LIT_ENTRY_AT }, { "ttd_", "TTD", LIT_ENTRY_AT },
		{ "pde_", "PDE", LIT_TABLE_AT },
	};
	char name[LIT_NAME];
	u32 at;

	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, name, sizeof(name)) || isdigit((unsigned char)name[0]))
		return lit_fail(p, at, "expected the name of a location");
	for (u32 i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		if (form[i].kind == LIT_TABLE_AT && p->t->arch != LIT_X86)
			continue;
		*kind = form[i].kind;
		if (!strcmp(name, form[i].call))
			return name_in_parens(p, page);
		if (!strncmp(name, form[i].prefix, 4) && name[4]) {
			*page = lit_page(p, name + 4, at);
			return true;
		}
	}
	*kind = LIT_ADDRESS;
	*page = lit_page(p, name, at);
	return true;
}

bool lit_location(struct lit_parser *p, struct lit_loc *loc)
{
	bool brackets = lit_eat(p, "[");
	u32 at = p->at;
	s64 index;

	*loc = (struct lit_loc){ 0 };
	if (!named(p, &loc->kind, &loc->page))
		return false;
	if (lit_eat(p, "[")) {
		if (!lit_number(p, &index) || !lit_expect(p, "]"))
			return false;
		if (index < 0 || index >= 64)
			return lit_fail(p, at, "expected an index below 64");
		loc->offset = (u16)(index * p->t->page[loc->page].word);
	}
	lit_use_word(p, loc, at);
	return !brackets || lit_expect(p, "]");
}

/* oa:PA(x), oa:phy_x. */
static bool output_address(struct lit_parser *p, u8 *page)
{
	char name[LIT_NAME];
	u32 at;

	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, name, sizeof(name)))
		return lit_fail(p, at, "expected phy_NAME or PA(NAME)");
	if (!strcmp(name, "PA"))
		return name_in_parens(p, page);
	if (strncmp(name, "phy_", 4) || !name[4])
		return lit_fail(p, at, "expected phy_NAME or PA(NAME), not \"%s\"", name);
	*page = lit_page(p, name + 4, at);
	return true;
}

static bool entry_field(struct lit_parser *p, struct lit_value *v)
{
	char name[LIT_NAME];
	s64 bit;
	u32 at;

	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, name, sizeof(name)) || !lit_expect(p, ":"))
		return lit_fail(p, at, "expected a field of an entry, as oa:phy_x or valid:0");
	if (!strcmp(name, "oa"))
		return output_address(p, &v->page);
	if (!strcmp(name, "table") && p->t->arch == LIT_X86) {
		u64 bits = lit_entry_bits(p->t->arch, LIT_TABLE);

		at = p->at;
		if (!lit_word(p, false, name, sizeof(name)))
			return lit_fail(p, at, "expected the name of a location");
		*v = (struct lit_value){ LIT_TABLE, lit_page(p, name, at), (s64)bits };
		return true;
	}
	if (!lit_number(p, &bit))
		return false;
	if (!lit_entry_set(p->t->arch, name, (u64)bit, v)) {
		lit_unsupported(p, at, "field %s of an entry", name);
		return true;
	}
	return bit == 0 || bit == 1 || lit_fail(p, at, "expected 0 or 1 for %s", name);
}

static bool parse_entry(struct lit_parser *p, u8 own, struct lit_value *v)
{
	u32 at = p->at;

	*v = (struct lit_value){
		LIT_ENTRY, own, (s64)lit_entry_bits(p->t->arch, LIT_ENTRY)
	};
	lit_expect(p, "(");
	while (!p->failed && !lit_eat(p, ")")) {
		entry_field(p, v);
		if (!lit_eat(p, ",") && !p->failed && lit_peek(p) != ')')
			lit_fail(p, p->at, "expected , or )");
	}
	if (!p->failed && v->page == 0xff)
		lit_fail(p, at, "expected an oa: there is no page that this entry is of");
	return !p->failed;
}

bool lit_value(struct lit_parser *p, u8 own, struct lit_value *v)
{
	char c = lit_peek(p);

	*v = (struct lit_value){ 0 };
	if (c == '(')
		return parse_entry(p, own, v);
	if (isdigit((unsigned char)c) || c == '-')
		return lit_number(p, &v->num);
	if (lit_eat(p, "[")) {
		if (!named(p, &v->kind, &v->page))
			return false;
		return lit_expect(p, "]");
	}
	lit_eat(p, "&");
	if (!named(p, &v->kind, &v->page))
		return false;
	/* P1:L0 and the like: addresses of code. */
	if (lit_peek(p) == ':') {
		lit_unsupported(p, p->at, "the address of a label");
		while (!lit_at_end(p) && !strchr(";/)\\", p->text[p->at]))
			p->at++;
	}
	return true;
}

/* ------------------------------------------------------------- the braces */

static void add_init(struct lit_parser *p, const struct lit_loc *loc,
		     const struct lit_value *v, u32 at)
{
	if (p->failed)
		return;
	if (p->t->nr_inits == LIT_MAX_INITS) {
		lit_fail(p, at, "expected at most %d initial values", LIT_MAX_INITS);
		return;
	}
	p->t->init[p->t->nr_inits++] = (struct lit_init){ *loc, *v };
}

/* A type, which is known by name; of the array, its word. */
static bool skip_type(struct lit_parser *p, u8 *word)
{
	static const struct { const char *name; u8 word; } type[] = {
		{ "int", 4 }, { "int32_t", 4 }, { "uint32_t", 4 }, { "int64_t", 8 },
		{ "uint64_t", 8 }, { "pteval_t", 8 }, { "long", 8 },
	};

	*word = 8;
	for (u32 i = 0; i < sizeof(type) / sizeof(type[0]); i++)
		if (lit_eat(p, type[i].name)) {
			*word = type[i].word;
			lit_eat(p, "*");
			return true;
		}
	return false;
}

/* x[3] = {1,2,3} */
static void parse_array(struct lit_parser *p, struct lit_loc loc, u8 word, u32 at)
{
	s64 n, i = 0;

	if (!lit_number(p, &n) || !lit_expect(p, "]"))
		return;
	if (n < 1 || n > 32) {
		lit_fail(p, at, "expected 1 to 32 elements");
		return;
	}
	p->t->page[loc.page].word = word;
	for (s64 k = 0; k < n; k++) {
		loc.offset = (u16)(k * word);
		lit_use_word(p, &loc, at);
	}
	if (!lit_eat(p, "="))
		return;
	lit_expect(p, "{");
	while (!p->failed && !lit_eat(p, "}")) {
		struct lit_value v;

		loc.offset = (u16)(i++ * word);
		if (i > n)
			lit_fail(p, p->at, "expected %lld elements", (long long)n);
		lit_value(p, 0xff, &v);
		add_init(p, &loc, &v, at);
		if (!lit_eat(p, ",") && !p->failed && lit_peek(p) != '}')
			lit_fail(p, p->at, "expected , or }");
	}
}

static void parse_item(struct lit_parser *p)
{
	struct lit_loc loc = { 0 };
	struct lit_value v = { 0 };
	u8 thread, reg, word;
	u32 at = p->at;

	skip_type(p, &word);
	if (lit_register_of(p, &thread, &reg)) {
		if (lit_eat(p, "="))
			lit_value(p, 0xff, &v);
		if (reg != LIT_ZR)
			p->t->thread[thread].reg[reg] = v;
		return;
	}
	if (p->failed)
		return;
	if (lit_eat(p, "[")) {
		named(p, &loc.kind, &loc.page);
		lit_expect(p, "]");
	} else if (named(p, &loc.kind, &loc.page) && lit_eat(p, "[")) {
		parse_array(p, loc, word, at);
		return;
	}
	if (!lit_eat(p, "="))
		return;
	lit_value(p, loc.kind == LIT_ENTRY_AT ? loc.page : 0xff, &v);
	add_init(p, &loc, &v, at);
}

void lit_parse_init(struct lit_parser *p)
{
	lit_expect(p, "{");
	while (!p->failed && !lit_eat(p, "}")) {
		if (lit_eat(p, ";"))
			continue;
		parse_item(p);
		if (!p->failed && lit_peek(p) != '}')
			lit_expect(p, ";");
	}
}
