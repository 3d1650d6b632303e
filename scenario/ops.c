// SPDX-License-Identifier: GPL-2.0-or-later
/* Operations: "A = mmap(NULL, 4K, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS); ..." */
#include "scenario/parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/nearest.h"

/* The widest user space of any architecture; program.c knows the one that runs. */
#define USER_BITS 48

static bool find_call(struct parser *p, const struct token *t, struct sc_op *op)
{
	char name[SC_NAME_SIZE];
	struct nearest near = { .name = name };

	for (u32 i = 0; i < SC_NR_CALLS; i++) {
		if (token_is(t, sc_calls[i].name)) {
			op->call = i;
			return true;
		}
	}
	snprintf(name, sizeof(name), "%.*s", (int)t->len, t->start);
	for (u32 i = 0; i < SC_NR_CALLS; i++)
		nearest_offer(&near, sc_calls[i].name);
	parser_fail(p, t->pos, "there is no call \"%s\"; the nearest is \"%s\"", name,
		    near.best);
	return false;
}

/* What can be said of an argument before anything runs. */
static void check_arg(struct parser *p, const struct sc_op *op, u32 i)
{
	const struct sc_call *call = &sc_calls[op->call];
	const struct sc_node *n = &p->sc->node[op->arg[i]];
	bool access = op->call == SC_LOAD || op->call == SC_STORE;
	char letter = call->args[i];
	u64 v;

	check_class(p, op->arg[i], letter);
	if (!constant_value(p->sc, op->arg[i], &v)) {
		if (letter == 'd' || letter == 'o')
			parser_fail(p, n->pos, "expected %s", letter == 'd' ?
				    "-1, since there are no files" : "an offset of 0");
		return;
	}
	if ((letter == 'a' || letter == 'l') && v >> USER_BITS)
		parser_fail(p, n->pos, "expected %s below %#" PRIx64 ", not %#" PRIx64,
			    letter == 'a' ? "an address" : "a length",
			    (u64)1 << USER_BITS, v);
	if (letter == 'a' && access && v % 8)
		parser_fail(p, n->pos, "expected an address that is a multiple of 8, "
			    "not %#" PRIx64, v);
	if (letter == 'd' && v != ~0ULL)
		parser_fail(p, n->pos, "expected -1, since there are no files");
	if (letter == 'o' && v)
		parser_fail(p, n->pos, "expected an offset of 0");
	if (letter == 'p' && v > 7)
		parser_fail(p, n->pos, "expected PROT_* flags, not %#" PRIx64, v);
}

/* The argument of fork() or clone(): a thread, which then starts there and nowhere else. */
static u16 parse_forked(struct parser *p)
{
	struct token t = parser_next(p);
	struct sc_thread *child = parse_thread(p, &t);

	if (!child)
		return 0;
	if (child == p->thread)
		parser_fail(p, t.pos, "expected another thread, not %s itself", child->name);
	child->forked = true;
	return number_node(p, child - p->sc->thread, t.pos);
}

static void parse_args(struct parser *p, struct sc_op *op)
{
	const struct sc_call *call = &sc_calls[op->call];
	u32 max = strlen(call->args);
	char what[80];

	if (!parser_expect(p, "(", "\"(\""))
		return;
	while (!p->failed) {
		struct token t = parser_peek(p);

		if (token_is(&t, ")") && op->nr_args >= call->min_args)
			break;
		if (op->nr_args == max) {
			snprintf(what, sizeof(what), "\")\" after %u argument%s of %s",
				 max, max == 1 ? "" : "s", call->name);
			parser_expected(p, what);
			return;
		}
		if (token_is(&t, ")")) {
			parser_fail(p, t.pos, "expected %s%u argument%s of %s, not %u",
				    call->min_args < max ? "at least " : "",
				    call->min_args, call->min_args == 1 ? "" : "s",
				    call->name, op->nr_args);
			return;
		}
		if (op->nr_args && !parser_expect(p, ",", "\",\" or \")\""))
			return;
		op->arg[op->nr_args] = call->args[op->nr_args] == 't' ? parse_forked(p) :
							      parse_expr(p);
		if (!p->failed)
			check_arg(p, op, op->nr_args);
		op->nr_args++;
	}
	parser_expect(p, ")", "\")\"");
}

static bool is_constant(const struct token *t)
{
	for (u32 i = 0; sc_constants[i].name; i++)
		if (token_is(t, sc_constants[i].name))
			return true;
	return false;
}

/* The variable that an assignment sets, new or not. */
static int set_var(struct parser *p, const struct token *t)
{
	struct sc_thread *th = p->thread;

	if (t->len >= SC_NAME_SIZE || is_constant(t)) {
		parser_fail(p, t->pos, t->len >= SC_NAME_SIZE ?
			    "expected a shorter name of a variable" :
			    "expected a variable, not the name of a flag");
		return -1;
	}
	if (th != &p->sc->init)
		for (u32 i = 0; i < p->sc->init.nr_vars; i++)
			if (token_is(t, p->sc->init.var[i])) {
				parser_fail(p, t->pos, "expected a variable of %s: "
					    "%s is set by init, and constant since",
					    th->name, p->sc->init.var[i]);
				return -1;
			}
	for (u32 i = 0; i < th->nr_vars; i++)
		if (token_is(t, th->var[i]))
			return i;
	if (th->nr_vars == SC_MAX_VARS) {
		parser_fail(p, t->pos, "expected at most %d variables in %s",
			    SC_MAX_VARS, th->name);
		return -1;
	}
	snprintf(th->var[th->nr_vars], SC_NAME_SIZE, "%.*s", (int)t->len, t->start);
	return th->nr_vars++;
}

static void finish_op(struct parser *p, const struct token *first,
		      struct sc_op op)
{
	struct sc_thread *th = p->thread;

	if (p->failed)
		return;
	op.pos = first->pos;
	op.text = strndup(first->start, p->at - first->start);
	if (!op.text)
		parser_fail(p, first->pos, "out of memory");
	else
		th->op[th->nr_ops++] = op;
}

static void parse_op(struct parser *p)
{
	struct sc_op op = { .result = -1 };
	struct token first = parser_next(p), call = first;
	bool sets = parser_accept(p, "=");

	if (p->thread->nr_ops == XMAX_OPS) {
		parser_fail(p, first.pos, "expected at most %d operations in %s",
			    XMAX_OPS, p->thread->name);
		return;
	}
	if (sets) {
		call = parser_peek(p);
		if (call.kind != TOK_NAME) {
			parser_expected(p, "a call");
			return;
		}
		parser_next(p);
	}
	if (!find_call(p, &call, &op))
		return;
	if (sets && (op.call == SC_ASSERT || op.call == SC_EXIT || op.call == SC_YIELD ||
		     op.call == SC_TICK)) {
		parser_fail(p, first.pos, "expected no variable: %s gives no value",
			    sc_calls[op.call].name);
		return;
	}
	if (p->thread == &p->sc->final && (op.call == SC_FORK || op.call == SC_CLONE ||
					     op.call == SC_YIELD))
		parser_fail(p, call.pos, "expected no %s() in final: it runs alone",
			    sc_calls[op.call].name);
	parse_args(p, &op);
	/* Now, so that "r = load(r)" needs an r of before. */
	if (sets && !p->failed)
		op.result = set_var(p, &first);
	finish_op(p, &first, op);
}

void parse_ops(struct parser *p, struct sc_thread *thread)
{
	struct token t;

	p->thread = thread;
	for (;;) {
		t = parser_peek(p);
		if (t.kind == TOK_NEWLINE || t.kind == TOK_END)
			return;
		if (t.kind != TOK_NAME) {
			parser_expected(p, "a call");
			return;
		}
		parse_op(p);
		t = parser_peek(p);
		if (t.kind != TOK_NEWLINE && t.kind != TOK_END)
			parser_expect(p, ";", "\";\" or the end of the line");
	}
}
