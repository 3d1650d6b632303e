// SPDX-License-Identifier: GPL-2.0-or-later
#include "scenario/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The locale must not change what a letter is. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '.' || c == '-';
}

/* Blanks and a comment; never the end of the line. */
static const char *skip(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	if (at < end && *at == '#')
		while (at < end && *at != '\n')
			at++;
	return at;
}

static u32 digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static u32 suffix_shift(char c)
{
	switch (c) {
	case 'K': return 10;
	case 'M': return 20;
	case 'G': return 30;
	case 'T': return 40;
	default: return 0;
	}
}

/* "4096", "0x1000", "4K"; a bad token if it is none or does not fit. */
static void lex_number(struct token *t, const char *end)
{
	const char *at = t->start;
	u32 base = 10, shift, digits = 0;
	bool fits = true;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	}
	for (; at < end && digit_value(*at) < base; at++, digits++) {
		fits = fits && t->number <= (~0ULL - digit_value(*at)) / base;
		t->number = t->number * base + digit_value(*at);
	}
	shift = at < end ? suffix_shift(*at) : 0;
	if (shift) {
		fits = fits && t->number << shift >> shift == t->number;
		t->number <<= shift;
		at++;
	}
	while (at < end && (is_letter(*at) || is_digit(*at))) {
		fits = false;
		at++;
	}
	t->kind = fits && digits ? TOK_NUMBER : TOK_BAD;
	t->len = at - t->start;
}

static void lex_punct(struct token *t, const char *end)
{
	static const char *const pairs[] = { "==", "!=", "<=", ">=", "&&", "||" };

	t->len = 1;
	t->kind = strchr("(),;:=<>+-*|!", *t->start) && *t->start ? TOK_PUNCT :
								    TOK_BAD;
	for (u32 i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (end - t->start >= 2 && !memcmp(t->start, pairs[i], 2)) {
			t->len = 2;
			t->kind = TOK_PUNCT;
		}
	}
}

struct token parser_peek(const struct parser *p)
{
	const char *at = skip(p->at, p->end);
	struct token t = {
		.kind = TOK_END, .start = at,
		.pos = { p->line, (u32)(at - p->line_start) + 1 },
	};

	if (p->failed || at == p->end)
		return t;
	if (*at == '\n') {
		t.kind = TOK_NEWLINE;
		t.len = 1;
	} else if (is_letter(*at)) {
		t.kind = TOK_NAME;
		while (at < p->end && (is_letter(*at) || is_digit(*at)))
			at++;
		t.len = at - t.start;
	} else if (is_digit(*at)) {
		lex_number(&t, p->end);
	} else {
		lex_punct(&t, p->end);
	}
	return t;
}

struct token parser_next(struct parser *p)
{
	struct token t = parser_peek(p);

	p->at = t.start + t.len;
	if (t.kind == TOK_NEWLINE) {
		p->line++;
		p->line_start = p->at;
	}
	return t;
}

bool token_is(const struct token *t, const char *what)
{
	return (t->kind == TOK_PUNCT || t->kind == TOK_NAME) &&
	       strlen(what) == t->len && !memcmp(t->start, what, t->len);
}

bool parser_accept(struct parser *p, const char *what)
{
	struct token t = parser_peek(p);

	if (!token_is(&t, what))
		return false;
	parser_next(p);
	return true;
}

bool parser_expect(struct parser *p, const char *punct, const char *what)
{
	if (parser_accept(p, punct))
		return true;
	parser_expected(p, what);
	return false;
}

bool parser_word(struct parser *p, char *out, struct sc_pos *pos, const char *what)
{
	const char *start = skip(p->at, p->end), *at = start;
	struct sc_pos here = { p->line, (u32)(start - p->line_start) + 1 };

	if (pos)
		*pos = here;
	*out = 0;
	if (p->failed)
		return false;
	while (at < p->end && is_word(*at))
		at++;
	if (at == start) {
		parser_expected(p, what);
		return false;
	}
	if (at - start >= SC_NAME_SIZE) {
		parser_fail(p, here, "expected %s, not a word of %u characters", what,
			    (u32)(at - start));
		return false;
	}
	memcpy(out, start, at - start);
	out[at - start] = 0;
	p->at = at;
	return true;
}

/* ------------------------------------------------------------------ errors */

void parser_fail(struct parser *p, struct sc_pos pos, const char *fmt, ...)
{
	va_list ap;
	int len;

	if (p->failed)
		return;
	p->failed = true;
	len = snprintf(p->error, p->error_size, "%s:%u:%u: ", p->sc->path, pos.line,
		       pos.column);
	if (len < 0 || (size_t)len >= p->error_size)
		return;
	va_start(ap, fmt);
	vsnprintf(p->error + len, p->error_size - len, fmt, ap);
	va_end(ap);
}

#define QUOTED_MAX 40

void parser_expected_at(struct parser *p, const struct token *t, const char *what)
{
	u32 len = t->len < QUOTED_MAX ? t->len : QUOTED_MAX;
	unsigned char c = t->kind == TOK_BAD ? *t->start : 0;

	if (t->kind == TOK_END)
		parser_fail(p, t->pos, "expected %s, not the end of the file", what);
	else if (t->kind == TOK_NEWLINE)
		parser_fail(p, t->pos, "expected %s, not the end of the line", what);
	else if (t->kind == TOK_BAD && (c < ' ' || c > '~'))
		parser_fail(p, t->pos, "expected %s, not the byte 0x%02x", what, c);
	else
		parser_fail(p, t->pos, "expected %s, not \"%.*s\"", what, (int)len,
			    t->start);
}

void parser_expected(struct parser *p, const char *what)
{
	struct token t = parser_peek(p);

	parser_expected_at(p, &t, what);
}
