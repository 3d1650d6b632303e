// SPDX-License-Identifier: GPL-2.0-or-later
/* Locations, and the condition: exists, ~exists, forall. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "explore/world.h"
#include "litmus/parser.h"

#define MAX_DEPTH 40

/* Text from `from` to the cursor, less blanks. */
static void copy_text(const struct lit_parser *p, u32 from, char buf[LIT_NAME])
{
	u32 n = 0;

	for (u32 i = from; i < p->at && n + 1 < LIT_NAME; i++)
		if (!isspace((unsigned char)p->text[i]))
			buf[n++] = p->text[i];
	buf[n] = 0;
}

static bool same_watch(const struct lit_watch *a, const struct lit_watch *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case LIT_WATCH_REG:
		return a->thread == b->thread && a->reg == b->reg;
	case LIT_WATCH_LOC:
		return a->loc.kind == b->loc.kind && a->loc.page == b->loc.page &&
		       a->loc.offset == b->loc.offset;
	default:
		return a->thread == b->thread && a->fault == b->fault &&
		       a->any_page == b->any_page && a->any_insn == b->any_insn &&
		       (a->any_page || a->page == b->page) &&
		       (a->any_insn || a->insn == b->insn);
	}
}

u16 lit_watch(struct lit_parser *p, const struct lit_watch *w, u32 from)
{
	struct litmus *t = p->t;
	u32 i;

	for (i = 0; i < t->nr_watched; i++)
		if (same_watch(&t->watched[i], w))
			return (u16)i;
	if (i == LIT_MAX_WATCHED) {
		lit_fail(p, from, "expected at most %d registers, locations and faults",
			 LIT_MAX_WATCHED);
		return 0;
	}
	t->watched[i] = *w;
	copy_text(p, from, t->watched[i].text);
	return (u16)t->nr_watched++;
}

/* ---------------------------------------------------------------- faults */

static void fault_label(struct lit_parser *p, struct lit_watch *w)
{
	const struct lit_thread *t = &p->t->thread[w->thread];
	char name[LIT_NAME];
	u32 at = p->at;

	lit_word(p, false, name, sizeof(name));
	w->any_insn = false;
	for (u32 i = 0; i < t->nr_labels; i++)
		if (!strcmp(t->label[i].name, name)) {
			w->insn = t->label[i].insn;
			return;
		}
	lit_fail(p, at, "there is no label \"%s\" in P%u", name, w->thread);
}

/* MMU:Permission, and the others. */
static void fault_type(struct lit_parser *p, struct lit_watch *w)
{
	char name[LIT_NAME];
	u32 at = p->at;

	lit_eat(p, "MMU");
	lit_eat(p, ":");
	lit_word(p, false, name, sizeof(name));
	if (lit_same(name, "Translation"))
		w->fault = XFAULT_TRANSLATION;
	else if (lit_same(name, "AccessFlag"))
		w->fault = XFAULT_ACCESS_FLAG;
	else if (lit_same(name, "Permission"))
		w->fault = XFAULT_PERMISSION;
	else
		lit_unsupported(p, at, "faults of type %s", name);
}

/* After the word: (P0:L0,x,MMU:Permission) */
static bool parse_fault(struct lit_parser *p, struct lit_watch *w)
{
	char name[LIT_NAME];
	char *digit = name;
	u32 at;

	*w = (struct lit_watch){ .kind = LIT_WATCH_FAULT, .any_page = true, .any_insn = true };
	lit_expect(p, "(");
	lit_skip(p);
	at = p->at;
	if (lit_word(p, false, name, sizeof(name)) && toupper((unsigned char)*digit) == 'P')
		digit++;
	w->thread = (u8)(digit[0] - '0');
	if (!isdigit((unsigned char)digit[0]) || digit[1] || w->thread >= p->t->nr_threads)
		return lit_fail(p, at, "expected one of the columns, not \"%s\"", name);
	if (lit_eat(p, ":"))
		fault_label(p, w);
	if (lit_eat(p, ",")) {
		lit_skip(p);
		at = p->at;
		if (!lit_word(p, false, name, sizeof(name)))
			return lit_fail(p, at, "expected a location");
		if (lit_same(name, "MMU")) {
			p->at = at;
			fault_type(p, w);
		} else {
			w->any_page = false;
			w->page = lit_page(p, name, at);
		}
	}
	if (lit_eat(p, ","))
		fault_type(p, w);
	return lit_expect(p, ")");
}

/* ------------------------------------------------------------ conditions */

static u16 cond(struct lit_parser *p, struct lit_cond c)
{
	if (p->t->nr_conds == LIT_MAX_CONDS) {
		lit_fail(p, p->at, "expected at most %d parts of a condition", LIT_MAX_CONDS);
		return 0;
	}
	p->t->cond[p->t->nr_conds] = c;
	return (u16)p->t->nr_conds++;
}

static u16 parse_or(struct lit_parser *p, u32 depth);

static bool watched_at(struct lit_parser *p, struct lit_watch *w)
{
	*w = (struct lit_watch){ .kind = LIT_WATCH_REG };
	if (lit_register_of(p, &w->thread, &w->reg))
		return true;
	w->kind = LIT_WATCH_LOC;
	return !p->failed && lit_location(p, &w->loc);
}

static u16 parse_equal(struct lit_parser *p)
{
	struct lit_cond c = { .kind = LIT_EQUAL };
	struct lit_watch w;
	u32 from, at;
	u8 own;

	lit_skip(p);
	from = p->at;
	if (!watched_at(p, &w))
		return 0;
	at = p->at;
	c.a = lit_watch(p, &w, from);
	(void)at;
	lit_expect(p, "=");
	own = w.kind == LIT_WATCH_LOC && w.loc.kind == LIT_ENTRY_AT ? w.loc.page : 0xff;
	lit_value(p, own, &c.value);
	return cond(p, c);
}

static u16 parse_unary(struct lit_parser *p, u32 depth)
{
	struct lit_cond c = { .kind = LIT_NOT };
	struct lit_watch w;
	u32 from;

	if (depth > MAX_DEPTH) {
		lit_fail(p, p->at, "expected at most %d levels of parentheses", MAX_DEPTH);
		return 0;
	}
	if (lit_eat(p, "~") || lit_eat(p, "not")) {
		c.a = parse_unary(p, depth + 1);
		return cond(p, c);
	}
	if (lit_eat(p, "(")) {
		u16 inner = parse_or(p, depth + 1);

		lit_expect(p, ")");
		return inner;
	}
	if (lit_eat(p, "true"))
		return cond(p, (struct lit_cond){ .kind = LIT_TRUE });
	lit_skip(p);
	from = p->at;
	if (lit_eat(p, "fault") || lit_eat(p, "Fault")) {
		parse_fault(p, &w);
		c.kind = LIT_FAULT;
		c.a = lit_watch(p, &w, from);
		return cond(p, c);
	}
	return parse_equal(p);
}

static u16 parse_and(struct lit_parser *p, u32 depth)
{
	u16 a = parse_unary(p, depth);

	while (!p->failed && lit_eat(p, "/\\")) {
		u16 b = parse_unary(p, depth);

		a = cond(p, (struct lit_cond){ .kind = LIT_AND, .a = a, .b = b });
	}
	return a;
}

static u16 parse_or(struct lit_parser *p, u32 depth)
{
	u16 a = parse_and(p, depth);

	while (!p->failed && lit_eat(p, "\\/")) {
		u16 b = parse_and(p, depth);

		a = cond(p, (struct lit_cond){ .kind = LIT_OR, .a = a, .b = b });
	}
	return a;
}

/* ----------------------------------------------------------------- locations */

static void parse_locations(struct lit_parser *p)
{
	lit_expect(p, "[");
	while (!p->failed && !lit_eat(p, "]")) {
		struct lit_watch w;
		u32 from;

		if (lit_eat(p, ";"))
			continue;
		lit_skip(p);
		from = p->at;
		if (lit_eat(p, "fault") || lit_eat(p, "Fault"))
			parse_fault(p, &w);
		else
			watched_at(p, &w);
		if (!p->failed)
			lit_watch(p, &w, from);
		if (!p->failed && lit_peek(p) != ']')
			lit_expect(p, ";");
	}
}

void lit_parse_final(struct lit_parser *p)
{
	struct litmus *t = p->t;
	u32 from;

	if (p->failed)
		return;
	if (lit_eat(p, "locations"))
		parse_locations(p);
	if (lit_at_end(p))
		return;
	from = p->at;
	if (lit_eat(p, "exists")) {
		t->quantifier = LIT_EXISTS;
	} else if (lit_eat(p, "forall")) {
		t->quantifier = LIT_FORALL;
	} else if (lit_eat(p, "~")) {
		lit_expect(p, "exists");
		t->quantifier = LIT_NOT_EXISTS;
	} else {
		lit_fail(p, p->at, "expected exists, ~exists or forall");
		return;
	}
	t->condition = parse_or(p, 0);
	t->cond_at = from;
	t->cond_len = (u16)(p->at - from);
	lit_eat(p, ";");
	if (!lit_at_end(p))
		lit_fail(p, p->at, "expected the end of the condition, not \"%c\"",
			 p->text[p->at]);
}
