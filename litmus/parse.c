// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file as a struct litmus: the header, then the parts in their order. Herd's files are
 * lax, and so is this: rows without a last ';', a label alone in its cell or at the
 * end, more or fewer blanks.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litmus/parser.h"

#define FILE_MAX (1u << 20)

int lit_register(const struct lit_parser *p, const char *name, bool *w)
{
	return p->t->arch == LIT_AARCH64 ? lit_aarch64_register(name, w) :
					   lit_x86_register(name, w);
}

u8 lit_page(struct lit_parser *p, const char *name, u32 at)
{
	struct litmus *t = p->t;

	for (u32 i = 0; i < t->nr_pages; i++)
		if (!strcmp(t->page[i].name, name))
			return (u8)i;
	if (t->nr_pages == LIT_MAX_PAGES) {
		lit_fail(p, at, "expected at most %d names of locations", LIT_MAX_PAGES);
		return 0;
	}
	snprintf(t->page[t->nr_pages].name, LIT_NAME, "%s", name);
	t->page[t->nr_pages].word = 8;
	t->page[t->nr_pages].words = 1;
	return (u8)t->nr_pages++;
}

void lit_use_word(struct lit_parser *p, const struct lit_loc *loc, u32 at)
{
	struct litmus *t = p->t;

	if (loc->kind != LIT_ADDRESS)
		return;
	if (loc->offset / 4 >= 64 || loc->offset % t->page[loc->page].word)
		lit_unsupported(p, at, "no word at offset %u", loc->offset);
	else
		t->page[loc->page].words |= 1ULL << (loc->offset / 4);
}

/* ---------------------------------------------------------------- header */

/* The rest of the line. */
static void rest_of_line(struct lit_parser *p, char *buf, u32 size)
{
	u32 n = 0;

	while (p->at < p->end && p->text[p->at] != '\n') {
		if (n + 1 < size)
			buf[n++] = p->text[p->at];
		p->at++;
	}
	while (n && isspace((unsigned char)buf[n - 1]))
		n--;
	buf[n] = 0;
}

/* A name may have any character but a blank: "MP+dmb.st+addr". */
static bool parse_name(struct lit_parser *p)
{
	char line[200], *name = line;
	char arch[LIT_NAME];
	u32 at;

	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, arch, sizeof(arch)))
		return lit_fail(p, at, "expected an architecture and the test's name");
	if (lit_same(arch, "AArch64"))
		p->t->arch = LIT_AARCH64;
	else if (lit_same(arch, "X86") || lit_same(arch, "X86_64"))
		p->t->arch = LIT_X86;
	else
		return lit_fail(p, at, "expected AArch64 or X86_64, not \"%s\"", arch);
	rest_of_line(p, line, sizeof(line));
	name += strspn(name, " \t");
	if (!*name)
		return lit_fail(p, p->at, "expected the test's name");
	snprintf(p->t->name, sizeof(p->t->name), "%.*s", (int)strcspn(name, " \t"), name);
	return true;
}

/* "HA", "P0:HD P1:HA"; bits of threads. */
static void parse_tthm(struct lit_parser *p, char *value)
{
	char *rest = value, *one;

	while ((one = strsep(&rest, " \t,"))) {
		char *colon = strchr(one, ':'), *what = colon ? colon + 1 : one;
		u32 from = 0, to = LIT_MAX_THREADS;
		bool hd = lit_same(what, "HD");

		if (!*one)
			continue;
		if (colon) {
			from = (u32)strtoul(one + (toupper(*one) == 'P'), NULL, 10);
			to = from + 1;
		}
		if (!hd && !lit_same(what, "HA")) {
			lit_fail(p, p->at, "expected HA or HD in TTHM, not \"%s\"", what);
			return;
		}
		p->t->updates = true;
		for (u32 i = from; i < to && i < LIT_MAX_THREADS; i++) {
			p->t->thread[i].ha = true;
			p->t->thread[i].hd |= hd;
		}
	}
}

static void parse_variant(struct lit_parser *p, char *value)
{
	char *rest = value, *one;

	while ((one = strsep(&rest, " \t,"))) {
		if (lit_same(one, "handled") || lit_same(one, "imprecise"))
			p->t->on_fault = LIT_RETRY;
		else if (lit_same(one, "fatal") || lit_same(one, "precise"))
			p->t->on_fault = LIT_FATAL;
		else if (lit_same(one, "skip") || lit_same(one, "faultToNext"))
			p->t->on_fault = LIT_SKIP;
		else if (*one && !lit_same(one, "vmsa"))
			lit_unsupported(p, p->at, "variant %s", one);
	}
}

static void parse_el0(struct lit_parser *p, char *value)
{
	char *rest = value, *one;

	while ((one = strsep(&rest, " \t,"))) {
		u32 i = (u32)strtoul(one + (toupper(*one) == 'P'), NULL, 10);

		if (*one && i < LIT_MAX_THREADS)
			p->t->thread[i].el0 = true;
	}
}

/* Up to the '{': KEY=VALUE lines, and a quoted description. */
static void parse_header(struct lit_parser *p)
{
	char key[LIT_NAME], value[200];

	while (!p->failed && lit_peek(p) != '{') {
		u32 at = p->at;

		if (lit_at_end(p)) {
			lit_fail(p, at, "expected { and the initial state");
			return;
		}
		if (lit_peek(p) == '"') {
			p->at++;
			while (p->at < p->end && p->text[p->at] != '"')
				p->at++;
			if (p->at == p->end)
				lit_fail(p, at, "expected \" to end this text");
			p->at++;
			continue;
		}
		if (!lit_word(p, true, key, sizeof(key)) || !lit_eat(p, "=")) {
			lit_fail(p, at, "expected KEY=VALUE, or { and the initial state");
			return;
		}
		rest_of_line(p, value, sizeof(value));
		if (!strcmp(key, "TTHM"))
			parse_tthm(p, value);
		else if (lit_same(key, "Variant"))
			parse_variant(p, value);
		else if (!strcmp(key, "EL0"))
			parse_el0(p, value);
	}
}

/* --------------------------------------------------------------- columns */

void lit_branch_to(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i)
{
	char name[LIT_NAME];
	u32 at;

	lit_skip(p);
	at = p->at;
	if (!lit_word(p, false, name, sizeof(name))) {
		lit_fail(p, at, "expected a label");
		return;
	}
	/* Numbered when met first; it may come later. */
	for (u32 k = 0; k < t->nr_labels; k++)
		if (!strcmp(t->label[k].name, name)) {
			i->target = (u16)k;
			return;
		}
	if (t->nr_labels == LIT_MAX_LABELS) {
		lit_fail(p, at, "expected at most %d labels", LIT_MAX_LABELS);
		return;
	}
	i->target = (u16)t->nr_labels;
	snprintf(t->label[t->nr_labels].name, LIT_NAME, "%s", name);
	t->label[t->nr_labels++].insn = 0xffff;
}

static void add_label(struct lit_parser *p, struct lit_thread *t, const char *name, u32 at)
{
	u32 i;

	for (i = 0; i < t->nr_labels && strcmp(t->label[i].name, name); i++)
		;
	if (i == LIT_MAX_LABELS) {
		lit_fail(p, at, "expected at most %d labels", LIT_MAX_LABELS);
		return;
	}
	if (i < t->nr_labels && t->label[i].insn != 0xffff) {
		lit_fail(p, at, "the label %s is there twice", name);
		return;
	}
	snprintf(t->label[i].name, LIT_NAME, "%s", name);
	t->label[i].insn = (u16)t->nr_insns;
	t->nr_labels += i == t->nr_labels;
}

/* A cell: labels, and an instruction or none. */
static void parse_cell(struct lit_parser *p, struct lit_thread *t)
{
	char name[LIT_NAME];

	while (!lit_at_end(p)) {
		u32 at = p->at;
		struct lit_insn *i;

		if (!lit_word(p, true, name, sizeof(name))) {
			lit_fail(p, at, "expected an instruction or a label");
			return;
		}
		if (lit_eat(p, ":")) {
			add_label(p, t, name, at);
			continue;
		}
		if (t->nr_insns == LIT_MAX_INSNS) {
			lit_fail(p, at, "expected at most %d instructions", LIT_MAX_INSNS);
			return;
		}
		i = &t->insn[t->nr_insns++];
		i->rd = LIT_ZR;
		i->at = at;
		if (p->t->arch == LIT_AARCH64)
			lit_aarch64_insn(p, t, i, name);
		else
			lit_x86_insn(p, t, i, name);
		if (i->op == LIT_UNSUPPORTED)
			p->at = p->end;
		i->len = (u16)(p->at - at);
		if (!lit_at_end(p))
			lit_fail(p, p->at, "expected the end of the instruction, not \"%c\"",
				 p->text[p->at]);
	}
}

/* "P0 | P1 ;" */
static void parse_threads(struct lit_parser *p)
{
	struct litmus *t = p->t;

	do {
		char name[LIT_NAME], want[8];
		u32 at;

		lit_skip(p);
		at = p->at;
		snprintf(want, sizeof(want), "P%u", t->nr_threads);
		if (!lit_word(p, false, name, sizeof(name)) || strcmp(name, want)) {
			lit_fail(p, at, "expected %s, a column of the program", want);
			return;
		}
		if (++t->nr_threads == LIT_MAX_THREADS && lit_peek(p) == '|') {
			lit_fail(p, p->at, "expected at most %d columns", LIT_MAX_THREADS);
			return;
		}
	} while (lit_eat(p, "|"));
	lit_expect(p, ";");
}

static bool starts_final(const char *s, u32 left)
{
	static const char *const words[] = {
		"exists", "forall", "locations", "filter", "final",
	};

	for (u32 i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		u32 n = (u32)strlen(words[i]);

		if (left >= n && !strncmp(s, words[i], n) &&
		    (left == n || !(isalnum((unsigned char)s[n]) || s[n] == '_')))
			return true;
	}
	return false;
}

/* Where the columns end: a ~exists, exists, ... that is a word. */
static u32 end_of_columns(const struct lit_parser *p)
{
	u32 i;

	for (i = p->at; i < p->end; i++) {
		char before = i > p->at ? p->text[i - 1] : ' ';

		if (isalnum((unsigned char)before) || before == '_')
			continue;
		if (starts_final(p->text + i, p->end - i))
			break;
	}
	while (i < p->end && i > p->at && (p->text[i - 1] == '~' || p->text[i - 1] == ' '))
		i--;
	return i;
}

static void parse_rows(struct lit_parser *p, u32 end)
{
	u32 whole = p->end;

	while (!p->failed && p->at < end) {
		u32 row = p->at;

		while (row < end && p->text[row] != ';')
			row++;
		for (u32 i = 0; p->at <= row && !p->failed; i++) {
			u32 cell = p->at;

			while (cell < row && p->text[cell] != '|')
				cell++;
			p->end = cell;
			if (i < p->t->nr_threads)
				parse_cell(p, &p->t->thread[i]);
			else if (!lit_at_end(p))
				lit_fail(p, p->at, "expected %u columns", p->t->nr_threads);
			p->at = cell + 1;
		}
		p->end = whole;
		if (!p->failed)
			p->at = row + 1;
	}
	if (!p->failed && p->at > whole)
		p->at = whole;
}

/* Numbers of labels become places. */
static void resolve(struct lit_parser *p, struct lit_thread *t)
{
	for (u32 k = 0; k < t->nr_insns && !p->failed; k++) {
		struct lit_insn *i = &t->insn[k];

		if (i->op != LIT_B && i->op != LIT_BCOND && i->op != LIT_CBZ)
			continue;
		if (t->label[i->target].insn == 0xffff)
			lit_fail(p, i->at, "there is no label %s in this column",
				 t->label[i->target].name);
		else if (t->label[i->target].insn <= k)
			lit_unsupported(p, i->at, "a branch backwards");
		i->target = t->label[i->target].insn;
	}
}

/* Offsets that addresses are made with are words of every page. */
static void use_offsets(struct lit_parser *p, const struct lit_insn *i)
{
	struct litmus *t = p->t;

	if (i->index.is_reg || !i->index.imm.num || i->op < LIT_LOAD || i->op > LIT_STORE_EX)
		return;
	for (u32 k = 0; k < t->nr_pages; k++)
		if (i->index.imm.num > 0 && i->index.imm.num < 256)
			lit_use_word(p, &(struct lit_loc){ LIT_ADDRESS, (u8)k,
							   (u16)i->index.imm.num }, i->at);
		else
			lit_unsupported(p, i->at, "this offset");
}

/* ------------------------------------------------------------------ all */

static void note_used(struct lit_thread *t, const struct lit_insn *i)
{
	const struct lit_operand *o[] = { &i->a, &i->b, &i->base, &i->index };

	if (i->rd < LIT_ZR)
		t->used |= 1U << i->rd;
	for (u32 k = 0; k < 4; k++)
		if (o[k]->is_reg && o[k]->reg < LIT_ZR)
			t->used |= 1U << o[k]->reg;
}

static void parse_all(struct lit_parser *p)
{
	u32 end;

	if (!parse_name(p))
		return;
	parse_header(p);
	lit_parse_init(p);
	parse_threads(p);
	if (p->failed)
		return;
	end = end_of_columns(p);
	parse_rows(p, end);
	for (u32 i = 0; i < p->t->nr_threads && !p->failed; i++) {
		struct lit_thread *t = &p->t->thread[i];

		resolve(p, t);
		for (u32 k = 0; k < t->nr_insns; k++) {
			note_used(t, &t->insn[k]);
			use_offsets(p, &t->insn[k]);
		}
	}
	if (!p->failed)
		p->at = end;
	lit_parse_final(p);
}

struct litmus *litmus_parse(const char *path, const char *text, size_t size, char *error,
			    size_t error_size)
{
	struct litmus *t = calloc(1, sizeof(*t));
	struct lit_parser p = {
		.t = t, .path = path, .end = (u32)size, .error = error,
		.error_size = error_size,
	};

	if (error_size)
		error[0] = 0;
	if (t)
		t->text = malloc(size + 1);
	if (!t || !t->text || size > FILE_MAX) {
		snprintf(error, error_size, "%s: too large", path);
		litmus_free(t);
		return NULL;
	}
	memcpy(t->text, text, size);
	t->text[size] = 0;
	snprintf(t->path, sizeof(t->path), "%s", path);
	p.text = t->text;
	if (lit_blank_comments(&p, t->text, (u32)size))
		parse_all(&p);
	if (p.failed) {
		litmus_free(t);
		return NULL;
	}
	return t;
}

struct litmus *litmus_load(const char *path, char *error, size_t error_size)
{
	FILE *f = fopen(path, "r");
	char *text = malloc(FILE_MAX + 1);
	struct litmus *t = NULL;
	size_t n;

	if (!f || !text) {
		snprintf(error, error_size, "%s: %s", path,
			 f ? "out of memory" : strerror(errno));
		goto out;
	}
	n = fread(text, 1, FILE_MAX + 1, f);
	if (ferror(f))
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
	else
		t = litmus_parse(path, text, n, error, error_size);
out:
	if (f)
		fclose(f);
	free(text);
	return t;
}

void litmus_free(struct litmus *t)
{
	if (!t)
		return;
	free(t->text);
	free(t);
}
