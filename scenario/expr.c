// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Expressions, with C's precedence. Values are 64-bit and signed where
 * they are compared. Evaluation is in program.c, which has the variables.
 */
#include "scenario/parser.h"

#include <stdio.h>
#include <string.h>

#include "machine/nearest.h"

#define MAX_DEPTH 32

static const struct binary {
	const char *text;
	u8 kind, level;		/* lower levels bind less */
} binaries[] = {
	{ "||", SC_OR, 0 },
	{ "&&", SC_AND, 1 },
	{ "|", SC_OR_BITS, 2 },
	{ "==", SC_EQ, 3 },
	{ "!=", SC_NE, 3 },
	{ "<", SC_LT, 4 },
	{ "<=", SC_LE, 4 },
	{ ">", SC_GT, 4 },
	{ ">=", SC_GE, 4 },
	{ "+", SC_ADD, 5 },
	{ "-", SC_SUB, 5 },
	{ "*", SC_MUL, 6 },
};
#define LEVELS 7

static u16 add_node(struct parser *p, struct sc_node node)
{
	struct scenario *sc = p->sc;

	if (p->failed)
		return 0;
	if (sc->nr_nodes == SC_MAX_NODES) {
		parser_fail(p, node.pos, "expected at most %d terms in a file",
			    SC_MAX_NODES);
		return 0;
	}
	sc->node[sc->nr_nodes] = node;
	return sc->nr_nodes++;
}

u16 number_node(struct parser *p, u64 value, struct sc_pos pos)
{
	return add_node(p, (struct sc_node){ .kind = SC_NUMBER, .value = value, .pos = pos });
}

static int find_var(const struct sc_thread *t, const struct token *name)
{
	for (u32 i = 0; i < t->nr_vars; i++)
		if (token_is(name, t->var[i]))
			return i;
	return -1;
}

static void unknown_name(struct parser *p, const struct token *t)
{
	char name[SC_NAME_SIZE];
	struct nearest near = { .name = name };

	snprintf(name, sizeof(name), "%.*s", (int)t->len, t->start);
	for (u32 i = 0; i < p->sc->init.nr_vars; i++)
		nearest_offer(&near, p->sc->init.var[i]);
	for (u32 i = 0; i < p->thread->nr_vars; i++)
		nearest_offer(&near, p->thread->var[i]);
	for (u32 i = 0; sc_constants[i].name; i++)
		nearest_offer(&near, sc_constants[i].name);
	parser_fail(p, t->pos, "expected a variable of %s or init, or a flag, not "
		    "\"%s\"; the nearest is \"%s\"", p->thread->name, name, near.best);
}

static u16 parse_name(struct parser *p)
{
	struct token t = parser_next(p);
	struct sc_node n = { .pos = t.pos };
	int var;

	for (u32 i = 0; sc_constants[i].name; i++) {
		if (!token_is(&t, sc_constants[i].name))
			continue;
		n.class = sc_constants[i].class;
		n.value = sc_constants[i].value;
		return add_node(p, n);
	}
	n.kind = SC_VAR;
	var = find_var(p->thread, &t);
	if (var < 0 || p->thread == &p->sc->init) {
		n.kind = SC_INIT_VAR;
		var = find_var(&p->sc->init, &t);
	}
	if (var < 0) {
		unknown_name(p, &t);
		return 0;
	}
	n.value = var;
	return add_node(p, n);
}

static u16 parse_unary(struct parser *p)
{
	struct token t = parser_peek(p);
	struct sc_node n = { .pos = t.pos };

	if (t.kind == TOK_NAME)
		return parse_name(p);
	if (t.kind == TOK_NUMBER) {
		parser_next(p);
		n.value = t.number;
		return add_node(p, n);
	}
	if (token_is(&t, "-") || token_is(&t, "!") || token_is(&t, "(")) {
		if (p->depth == MAX_DEPTH) {
			parser_fail(p, t.pos, "expected at most %d levels of "
				    "parentheses and signs", MAX_DEPTH);
			return 0;
		}
		parser_next(p);
		p->depth++;
		if (*t.start == '(') {
			n.a = parse_expr(p);
			parser_expect(p, ")", "an operator or \")\"");
			p->depth--;
			return n.a;
		}
		n.kind = *t.start == '-' ? SC_NEG : SC_NOT;
		n.a = parse_unary(p);
		p->depth--;
		return add_node(p, n);
	}
	parser_expected(p, "a number, a variable or a flag");
	return 0;
}

static u16 parse_level(struct parser *p, u32 level)
{
	u16 left = level == LEVELS ? parse_unary(p) : parse_level(p, level + 1);
	bool found = level < LEVELS;

	while (found) {
		struct token t = parser_peek(p);

		found = false;
		for (u32 i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
			struct sc_node n = { .kind = binaries[i].kind, .a = left,
					     .pos = t.pos };

			if (binaries[i].level != level ||
			    !token_is(&t, binaries[i].text))
				continue;
			parser_next(p);
			n.b = parse_level(p, level + 1);
			left = add_node(p, n);
			found = true;
			break;
		}
	}
	return left;
}

u16 parse_expr(struct parser *p)
{
	return parse_level(p, 0);
}

static const char *class_text(char letter)
{
	switch (letter) {
	case 'a': return "an address";
	case 'l': return "a length";
	case 'p': return "PROT_* flags";
	case 'f': return "MAP_* flags";
	case 'm': return "MADV_* advice";
	case 'd': return "-1, since there are no files";
	case 'o': return "0, since there are no files";
	case 'c': return "a condition";
	case 'r': return "MREMAP_* flags";
	case 'g': return "FOLL_* flags";
	default: return "a value";
	}
}

/* Comparing with an error or a signal is for conditions; NULL goes anywhere. */
static bool class_fits(char class, char letter)
{
	return !class || class == letter ||
	       (letter == 'c' && (class == 'e' || class == 's'));
}

void check_class(struct parser *p, u16 node, char letter)
{
	const struct sc_node *n = &p->sc->node[node];

	if (p->failed)
		return;
	if (n->kind > SC_VAR) {
		check_class(p, n->a, letter);
		if (n->kind > SC_NOT)
			check_class(p, n->b, letter);
		return;
	}
	if (n->kind == SC_NUMBER && !class_fits(n->class, letter)) {
		for (u32 i = 0; sc_constants[i].name; i++)
			if (sc_constants[i].class == n->class &&
			    sc_constants[i].value == n->value)
				parser_fail(p, n->pos, "expected %s, not %s",
					    class_text(letter),
					    sc_constants[i].name);
	}
}

bool constant_value(const struct scenario *sc, u16 node, u64 *value)
{
	const struct sc_node *n = &sc->node[node];
	u64 a, b;

	switch (n->kind) {
	case SC_NUMBER:
		*value = n->value;
		return true;
	case SC_NEG:
		if (!constant_value(sc, n->a, &a))
			return false;
		*value = -a;
		return true;
	case SC_MUL:
	case SC_ADD:
	case SC_SUB:
	case SC_OR_BITS:
		if (!constant_value(sc, n->a, &a) || !constant_value(sc, n->b, &b))
			return false;
		*value = n->kind == SC_MUL ? a * b : n->kind == SC_ADD ? a + b :
			 n->kind == SC_SUB ? a - b : a | b;
		return true;
	default:
		return false;
	}
}
