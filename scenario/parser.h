/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the parser share. There is one parser per text. It keeps
 * its first error; from then on every token is the end of the text, so that all
 * loops end without being asked to.
 */
#ifndef TLBLAB_SCENARIO_PARSER_H
#define TLBLAB_SCENARIO_PARSER_H

#include "scenario/scenario.h"

enum token_kind {
	TOK_END,	/* of the text, or after an error */
	TOK_NEWLINE,
	TOK_NAME,
	TOK_NUMBER,
	TOK_PUNCT,	/* one or two characters */
	TOK_BAD,	/* a byte that begins nothing */
};

struct token {
	enum token_kind kind;
	const char *start;
	u32 len;
	struct sc_pos pos;
	u64 number;
};

struct parser {
	const char *at, *end;	/* what is left of the text */
	const char *line_start;
	u32 line;
	struct scenario *sc;
	struct sc_thread *thread;	/* whose operations are being read */
	u32 depth;			/* of nested expressions */
	bool failed;
	char *error;
	size_t error_size;
};

/* ---- lex.c ---- */

struct token parser_peek(const struct parser *p);
struct token parser_next(struct parser *p);
bool token_is(const struct token *t, const char *punct_or_name);
/* If the next token is that, take it. */
bool parser_accept(struct parser *p, const char *punct_or_name);
/* Or else fail, having expected what. */
bool parser_expect(struct parser *p, const char *punct, const char *what);
/*
 * Letters, digits and any of "_.-": names of knobs, eras, rules. Fails, having
 * expected what, if there is none. out has SC_NAME_SIZE bytes.
 */
bool parser_word(struct parser *p, char *out, struct sc_pos *pos, const char *what);

__attribute__((format(printf, 3, 4)))
void parser_fail(struct parser *p, struct sc_pos pos, const char *fmt, ...);
/* "expected WHAT, not "TOKEN"" */
void parser_expected(struct parser *p, const char *what);
/* The same, of a token that was taken. */
void parser_expected_at(struct parser *p, const struct token *t, const char *what);

/* ---- parse.c ---- */

/*
 * The thread "cpuN" or "cpuN.NAME", of which first was read; made if there is none.
 * NULL, failed: it is none, or one too many.
 */
struct sc_thread *parse_thread(struct parser *p, const struct token *first);

/* ---- expr.c ---- */

/* A constant. */
u16 number_node(struct parser *p, u64 value, struct sc_pos pos);

/* The node of an expression; 0, failed, if there is none. */
u16 parse_expr(struct parser *p);
/* Are the named constants in it such as an argument of that letter takes? */
void check_class(struct parser *p, u16 node, char letter);
/* Its value, if it holds no variable. */
bool constant_value(const struct scenario *sc, u16 node, u64 *value);

/* ---- ops.c ---- */

/* "A = mmap(...); ...", to the end of the line. */
void parse_ops(struct parser *p, struct sc_thread *thread);

/* ---- calls.c ---- */

struct sc_constant {
	const char *name;
	u64 value;
	char class;
};

extern const struct sc_constant sc_constants[]; /* ends with a NULL name */

#endif
