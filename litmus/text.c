// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions, final states and reports as text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litmus/run.h"

const char *const lit_kind_names[] = {
	"Allowed", "Forbidden", "Required", "Unsupported", "Unfinished",
};

/* ------------------------------------------------------------- conditions */

static const struct lit_fault *find_fault(const struct lit_run *r, const struct lit_watch *w)
{
	const struct lit_cpu *c = &r->cpu[w->thread];

	for (u32 i = 0; i < c->nr_faults; i++)
		if ((w->any_insn || c->fault[i].insn == w->insn) &&
		    (w->any_page || c->fault[i].page == w->page) &&
		    (!w->fault || c->fault[i].type == w->fault))
			return &c->fault[i];
	return NULL;
}

static u64 watched_value(const struct lit_run *r, const struct lit_watch *w)
{
	u32 off;

	if (w->kind == LIT_WATCH_REG)
		return w->reg == LIT_ZR ? 0 : r->cpu[w->thread].reg[w->reg].val;
	off = lit_offset(r->m, &w->loc);
	return xmem_read(r->w, off, xword_find(r->w, off)->size);
}

static bool holds(const struct lit_run *r, u16 at)
{
	const struct lit_cond *c = &r->t->cond[at];

	switch (c->kind) {
	case LIT_TRUE:
		return true;
	case LIT_AND:
		return holds(r, c->a) && holds(r, c->b);
	case LIT_OR:
		return holds(r, c->a) || holds(r, c->b);
	case LIT_NOT:
		return !holds(r, c->a);
	case LIT_EQUAL:
		return watched_value(r, &r->t->watched[c->a]) == lit_number_of(r->m, &c->value);
	default:
		return find_fault(r, &r->t->watched[c->a]);
	}
}

bool lit_holds(const struct lit_run *r)
{
	return r->t->quantifier == LIT_NONE || holds(r, r->t->condition);
}

/* ----------------------------------------------------------- final states */

#define TEXT_MAX 4096

static size_t put_watched(const struct lit_run *r, const struct lit_watch *w, char *buf,
			  size_t size)
{
	static const char *const type[] = {
		"", "MMU:Translation", "MMU:AccessFlag", "MMU:Permission",
	};
	char value[128];

	if (w->kind == LIT_WATCH_FAULT) {
		const struct lit_fault *f = find_fault(r, w);
		const char *args = strchr(w->text, '(');

		if (!f)
			return (size_t)snprintf(buf, size, "~Fault%s;", args);
		return (size_t)snprintf(buf, size, "Fault%.*s%s%s);", (int)strlen(args) - 1,
					args, w->fault ? "" : ",", w->fault ? "" : type[f->type]);
	}
	lit_value_text(r->t, r->m, watched_value(r, w), value, sizeof(value));
	return (size_t)snprintf(buf, size, "%s=%s;", w->text + (w->text[0] == 'P' &&
				w->kind == LIT_WATCH_REG), value);
}

char *lit_outcome_text(const struct lit_run *r)
{
	char buf[TEXT_MAX];
	size_t n = 0;

	buf[0] = 0;
	for (u32 i = 0; i < r->t->nr_watched && n < sizeof(buf); i++) {
		if (i)
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, " ");
		n += put_watched(r, &r->t->watched[i], buf + n, sizeof(buf) - n);
		if (n > sizeof(buf))
			n = sizeof(buf);
	}
	return strdup(buf);
}

/* ----------------------------------------------------------------- stories */

/* A number of an event's text, as the test would have it. */
static const char *put_number(const struct lit_run *r, const char *s, char *buf, size_t size)
{
	char *end;
	u64 val = strtoull(s, &end, 16);

	lit_value_text(r->t, r->m, val, buf, size);
	return end;
}

/* "frame 9+0x8" */
static const char *put_frame(const struct lit_run *r, const char *s, char *buf, size_t size)
{
	char *end;
	u64 frame = strtoull(s + 6, &end, 10), offset = 0;

	if (*end == '+')
		offset = strtoull(end + 1, &end, 16);
	for (u32 i = 0; i < r->t->nr_pages; i++)
		if (r->m->data[i] == frame) {
			snprintf(buf, size, offset ? "%s+%" PRIu64 : "%s",
				 r->t->page[i].name, offset);
			return end;
		}
	snprintf(buf, size, "frame %" PRIu64, frame);
	return end;
}

/* Addresses and entries in an event's text by their names. */
static void translate(const struct lit_run *r, const char *s, char *buf, size_t size)
{
	size_t n = 0;

	while (*s && n + 1 < size) {
		char piece[128] = { *s, 0 };

		if (!strncmp(s, "0x", 2))
			s = put_number(r, s, piece, sizeof(piece));
		else if (!strncmp(s, "frame ", 6))
			s = put_frame(r, s, piece, sizeof(piece));
		else
			s++;
		n += (size_t)snprintf(buf + n, size - n, "%s", piece);
	}
}

char *lit_event_text(const struct lit_run *r, const struct xevent *e)
{
	char text[400], line[600], who[16] = "", *insn = strdup("");
	const struct lit_insn *i = NULL;

	if (e->agent_kind != XAGENT_MACHINE)
		snprintf(who, sizeof(who), "P%u", e->cpu);
	for (u32 cpu = 0; cpu < r->t->nr_threads && e->site; cpu++)
		if (e->site >= r->site[cpu] && e->site < r->site[cpu] + LIT_MAX_INSNS)
			i = &r->t->thread[cpu].insn[e->site - r->site[cpu]];
	if (i) {
		free(insn);
		insn = strndup(r->t->text + i->at, i->len);
		for (char *c = insn; insn && *c; c++)
			if (*c == '\n' || *c == '\t')
				*c = ' ';
	}
	translate(r, e->text, text, sizeof(text));
	snprintf(line, sizeof(line), "%-3s %-20s %s%s", who, insn ? insn : "",
		 e->agent_kind == XAGENT_DRAIN ? "(later) " : "", text);
	free(insn);
	return strdup(line);
}

/* ----------------------------------------------------------------- reports */

void litmus_observation(const struct litmus *t, const struct lit_result *r, char *buf,
			size_t size)
{
	u32 no = r->nr_outcomes - r->nr_positive;

	snprintf(buf, size, "Observation %s %s %u %u", t->name,
		 !r->nr_positive ? "Never" : no ? "Sometimes" : "Always", r->nr_positive, no);
}

static const char *quantifier(const struct litmus *t)
{
	static const char *const kind[] = { "Required", "Allowed", "Forbidden", "Required" };

	return kind[t->quantifier];
}

static bool ok(const struct litmus *t, const struct lit_result *r)
{
	switch (t->quantifier) {
	case LIT_EXISTS:
		return r->nr_positive;
	case LIT_NOT_EXISTS:
		return !r->nr_positive;
	default:
		return r->nr_positive == r->nr_outcomes;
	}
}

void litmus_print(const struct litmus *t, const struct lit_result *r, void *file)
{
	char line[300];
	FILE *f = file;

	if (r->kind == LIT_UNSUPPORTED_KIND || r->kind == LIT_UNFINISHED) {
		fprintf(f, "Test %s %s\n", t->name, r->kind == LIT_UNFINISHED ?
			"Unfinished: too many states" : "Unsupported");
		if (t->unsupported[0])
			fprintf(f, "%s\n", t->unsupported);
		fprintf(f, "\n");
		return;
	}
	fprintf(f, "Test %s %s\nStates %u\n", t->name, quantifier(t), r->nr_outcomes);
	for (u32 i = 0; i < r->nr_outcomes; i++)
		fprintf(f, "%s\n", r->outcome[i].text);
	fprintf(f, "%s\nWitnesses\nPositive: %u Negative: %u\n", ok(t, r) ? "Ok" : "No",
		r->nr_positive, r->nr_outcomes - r->nr_positive);
	if (t->quantifier) {
		fprintf(f, "Condition ");
		for (u32 i = 0; i < t->cond_len; i++) {
			char c = t->text[t->cond_at + i];

			fputc(c == '\n' || c == '\t' || c == '\r' ? ' ' : c, f);
		}
		fputc('\n', f);
	}
	litmus_observation(t, r, line, sizeof(line));
	fprintf(f, "%s\n\n", line);
	if (r->nr_story)
		fprintf(f, "How it ends in %s\n", r->outcome[r->story_of].text);
	for (u32 i = 0; i < r->nr_story; i++)
		fprintf(f, "  %s\n", r->story[i]);
	if (r->nr_story)
		fputc('\n', f);
}
