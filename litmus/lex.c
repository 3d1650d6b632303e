/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "litmus/parser.h"

static void place(const struct lit_parser *p, u32 at, u32 *line, u32 *column)
{
	*line = *column = 1;
	for (u32 i = 0; i < at; i++) {
		(*column)++;
		if (p->text[i] == '\n') {
			(*line)++;
			*column = 1;
		}
	}
}

static void say(const struct lit_parser *p, u32 at, char *buf, size_t size, const char *fmt,
		va_list ap)
{
	u32 line, column;
	int n;

	place(p, at, &line, &column);
	n = snprintf(buf, size, "%s:%u:%u: ", p->path, line, column);
	if (n > 0 && (size_t)n < size)
		vsnprintf(buf + n, size - (size_t)n, fmt, ap);
	/* One line, whatever the file has in it. */
	for (char *c = buf; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
}

bool lit_fail(struct lit_parser *p, u32 at, const char *fmt, ...)
{
	va_list ap;

	if (p->failed)
		return false;
	p->failed = true;
	va_start(ap, fmt);
	say(p, at, p->error, p->error_size, fmt, ap);
	va_end(ap);
	return false;
}

void lit_unsupported(struct lit_parser *p, u32 at, const char *fmt, ...)
{
	va_list ap;

	if (p->t->unsupported[0])
		return;
	va_start(ap, fmt);
	say(p, at, p->t->unsupported, sizeof(p->t->unsupported), fmt, ap);
	va_end(ap);
}

bool lit_blank_comments(struct lit_parser *p, char *text, u32 size)
{
	u32 depth = 0, from = 0;

	for (u32 i = 0; i < size; i++) {
		bool two = i + 1 < size;

		if (two && text[i] == '(' && text[i + 1] == '*') {
			from = depth++ ? from : i;
			text[i] = text[i + 1] = ' ';
		} else if (two && depth && text[i] == '*' && text[i + 1] == ')') {
			depth--;
			text[i] = text[i + 1] = ' ';
		} else if (text[i] != '\n' && (depth || !isprint((unsigned char)text[i]))) {
			text[i] = ' ';
		}
	}
	if (depth)
		return lit_fail(p, from, "expected *) to end this comment");
	return true;
}

void lit_skip(struct lit_parser *p)
{
	while (p->at < p->end && isspace((unsigned char)p->text[p->at]))
		p->at++;
}

bool lit_at_end(struct lit_parser *p)
{
	lit_skip(p);
	return p->failed || p->at >= p->end;
}

char lit_peek(struct lit_parser *p)
{
	return lit_at_end(p) ? 0 : p->text[p->at];
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool lit_eat(struct lit_parser *p, const char *what)
{
	u32 n = (u32)strlen(what);

	if (lit_at_end(p) || p->end - p->at < n || strncmp(p->text + p->at, what, n))
		return false;
	/* A word is whole. */
	if (in_word(what[n - 1]) && p->at + n < p->end && in_word(p->text[p->at + n]))
		return false;
	p->at += n;
	return true;
}

bool lit_expect(struct lit_parser *p, const char *what)
{
	char word[LIT_NAME];

	if (lit_eat(p, what))
		return true;
	if (lit_at_end(p))
		return lit_fail(p, p->at, "expected \"%s\", and here it ends", what);
	if (lit_peek_word(p, word, sizeof(word)))
		return lit_fail(p, p->at, "expected \"%s\", not \"%s\"", what, word);
	return lit_fail(p, p->at, "expected \"%s\", not \"%c\"", what, p->text[p->at]);
}

bool lit_word(struct lit_parser *p, bool dots, char *buf, u32 size)
{
	u32 n = 0, from;

	buf[0] = 0;
	if (lit_at_end(p))
		return false;
	from = p->at;
	while (p->at < p->end &&
	       (in_word(p->text[p->at]) || (dots && p->text[p->at] == '.'))) {
		if (n + 1 == size)
			return lit_fail(p, from, "this name is too long");
		buf[n++] = p->text[p->at++];
	}
	buf[n] = 0;
	return n;
}

bool lit_peek_word(struct lit_parser *p, char *buf, u32 size)
{
	u32 at;
	bool is;

	lit_skip(p);
	at = p->at;
	is = lit_word(p, false, buf, size);
	p->at = at;
	return is;
}

bool lit_number(struct lit_parser *p, s64 *num)
{
	u64 v = 0;
	u32 from, base = 10, digits = 0;
	bool minus;

	lit_skip(p);
	from = p->at;
	minus = lit_eat(p, "-");
	if (p->end - p->at > 2 && p->text[p->at] == '0' && tolower(p->text[p->at + 1]) == 'x') {
		base = 16;
		p->at += 2;
	}
	for (; p->at < p->end && isalnum((unsigned char)p->text[p->at]); p->at++, digits++) {
		int c = tolower((unsigned char)p->text[p->at]);
		u32 d = (u32)(isdigit(c) ? c - '0' : c - 'a' + 10);

		if (d >= base || v > (~0ULL >> 1) / base)
			return lit_fail(p, from, "expected a number of 63 bits");
		v = v * base + d;
	}
	if (!digits)
		return lit_fail(p, from, "expected a number");
	*num = minus ? -(s64)v : (s64)v;
	return true;
}

bool lit_same(const char *a, const char *b)
{
	return !strcasecmp(a, b);
}
