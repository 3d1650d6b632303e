/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the parser: a cursor over the text. The first failure is kept, as a line with
 * its place; after it every function returns at once, and false or zero.
 */
#ifndef TLBLAB_LITMUS_PARSER_H
#define TLBLAB_LITMUS_PARSER_H

#include <tlblab/types.h>

#include "litmus/litmus.h"

struct lit_parser {
	struct litmus *t;
	const char *path;
	const char *text;	/* comments are blanks */
	u32 at, end;		/* the cursor, and where its text ends */
	bool failed;
	char *error;
	size_t error_size;
};

/* ---- lex.c ---- */

/* Comments (* *) and blanks of a file become blanks; newlines stay. */
bool lit_blank_comments(struct lit_parser *p, char *text, u32 size);
/* At place `at`. Always false. */
bool lit_fail(struct lit_parser *p, u32 at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The test cannot be run; the parser goes on. */
void lit_unsupported(struct lit_parser *p, u32 at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void lit_skip(struct lit_parser *p);			/* blanks */
bool lit_at_end(struct lit_parser *p);
char lit_peek(struct lit_parser *p);			/* after blanks; 0 at the end */
bool lit_eat(struct lit_parser *p, const char *what);	/* if it is next */
bool lit_expect(struct lit_parser *p, const char *what);
/* A name: letters, digits, _ and (dots) '.'. Empty: none is there. */
bool lit_word(struct lit_parser *p, bool dots, char *buf, u32 size);
/* The same, without moving on. */
bool lit_peek_word(struct lit_parser *p, char *buf, u32 size);
bool lit_number(struct lit_parser *p, s64 *num);
bool lit_same(const char *a, const char *b);		/* but for case */

/* ---- parse.c, parse_init.c, parse_cond.c ---- */

/* A page by its name, made when new. */
u8 lit_page(struct lit_parser *p, const char *name, u32 at);
/* x, [x], x[2], pte_x, PTE(x), [PTE(x)]. */
bool lit_location(struct lit_parser *p, struct lit_loc *loc);
/* own: page whose entry it is for, or 0xff. */
bool lit_value(struct lit_parser *p, u8 own, struct lit_value *v);
/* "0:X1" or "P0:X1" if it is next; else nothing is read. */
bool lit_register_of(struct lit_parser *p, u8 *thread, u8 *reg);
void lit_parse_init(struct lit_parser *p);
void lit_parse_final(struct lit_parser *p);
/* Watched things are entered once. */
u16 lit_watch(struct lit_parser *p, const struct lit_watch *w, u32 from);
void lit_use_word(struct lit_parser *p, const struct lit_loc *loc, u32 at);

/* ---- parse_aarch64.c, parse_x86.c ---- */

int lit_aarch64_register(const char *name, bool *w);	/* -1: is none */
int lit_x86_register(const char *name, bool *w);
int lit_register(const struct lit_parser *p, const char *name, bool *w);
/* One instruction, at the cursor; its labels are read. */
void lit_aarch64_insn(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i,
		      const char *mnemonic);
void lit_x86_insn(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i,
		  const char *mnemonic);
/* A branch's label; its place is filled in when the column is read. */
void lit_branch_to(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i);

#endif
