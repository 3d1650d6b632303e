// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The story of a violation: the raw lines of its execution, of which only those are
 * told that a reader needs, in at most `max` lines.
 *
 * Each line gets a weight by what it tells (table below): what changes a page-table entry,
 * drops or uses a translation, frees a frame, or passes between CPUs weighs most; plain
 * loads of the core's own words weigh little. What names an address or a frame that
 * the broken rule names weighs more. The heaviest are told, in their order; light
 * ones only while the story would be too short to follow.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/search.h"
#include "explore/witness.h"

#define MAX_EVENTS 8192
#define WIDTH 99
#define PLACE_SIZE 160
#define SHORT_STORY 12	/* lines; below, lighter ones are told too */
#define HEAVY 40
#define LIGHT 23
#define ABOUT 25	/* weight of naming what the rule names */
#define SHARED 15	/* of touching what another CPU wrote */
#define MAX_NAMES 16	/* addresses and frames in the rule's detail */
#define MAX_ENDING 5	/* lines of the rule and its detail */
#define MAX_WORDS 256	/* whose last writer is known */

/* By the text's beginning, or a part of it; the first that fits. */
static const struct weight {
	const char *part;
	bool at_start;
	int weight;
} weights[] = {
	{ "violation", true, 0 },	/* the ending says it */
	{ "(buffered)", false, 5 },	/* it counts when it is visible */
	{ " begins", false, 60 },
	{ " returns", false, 30 },
	{ " from now on", false, 55 },
	{ "load of ", true, 75 },
	{ "store to ", true, 75 },
	{ "load 0x", true, 75 },
	{ "store 0x", true, 75 },
	{ "the walker", true, 60 },
	{ "frees frame", true, 60 },
	{ ".owner ", false, 3 },
	{ "allocates frame", true, 35 },
	{ "copies frame", true, 60 },
	{ "store frame ", true, 42 },	/* the kernel, or a device, into a page */
	{ "allocation fails", true, 70 },
	{ "sends an IPI", true, 62 },
	{ "takes an I", true, 60 },
	{ "takes an i", true, 45 },
	{ "all CPUs have", true, 50 },
	{ "a grace period", true, 50 },
	{ "switches", true, 30 },
	{ "goes to sleep", true, 30 },
	{ "wakes", true, 25 },
	{ "takes lock", true, 12 },
	{ "lets go", true, 8 },
	{ "fence", true, 10 },
	{ "(left out)", false, 80 },	/* a site that the mutation skips */
};

struct line {
	const struct xevent *event;
	int weight;
	u32 more;	/* of the same site and CPU, right behind it, not told */
};

struct names {
	u64 address[MAX_NAMES];
	u32 nr_addresses;
	u64 frame[MAX_NAMES];
	u32 nr_frames;
};

struct story {
	const struct xprogram *program;
	struct xresult result;
	struct line *line;
	u32 nr;
	struct names about;
	char **out;
	u32 nr_out, max;
};

/* ---- what is it about ---- */

/* Addresses and frame numbers of a text. Small numbers are flags and the like. */
static void names_of(const char *text, struct names *names)
{
	for (const char *p = text; (p = strstr(p, "0x")); p += 2) {
		u64 v = strtoull(p, NULL, 16) & ~0xfffULL;

		if (v && names->nr_addresses < MAX_NAMES)
			names->address[names->nr_addresses++] = v;
	}
	for (const char *p = text; (p = strstr(p, "frame ")); p += 6)
		if (p[6] >= '0' && p[6] <= '9' && names->nr_frames < MAX_NAMES)
			names->frame[names->nr_frames++] = strtoull(p + 6, NULL, 10);
}

static bool has(const u64 *set, u32 n, u64 v)
{
	for (u32 i = 0; i < n; i++)
		if (set[i] == v)
			return true;
	return false;
}

static bool is_about(const struct names *about, const char *text)
{
	struct names names = { .nr_addresses = 0 };

	names_of(text, &names);
	for (u32 i = 0; i < names.nr_addresses; i++)
		if (has(about->address, about->nr_addresses, names.address[i]))
			return true;
	for (u32 i = 0; i < names.nr_frames; i++)
		if (has(about->frame, about->nr_frames, names.frame[i]))
			return true;
	return false;
}

/* ---- weighing ---- */

/* The text names a page-table entry: "pte[0x...]". */
static bool names_entry(const char *text)
{
	return strstr(text, "pte[") || strstr(text, "pmd[") || strstr(text, "pud[") ||
	       strstr(text, "pgd[") || strstr(text, "p4d[");
}

/*
 * Read-modify-writes of the core's words that an interleaving turns on: generations of the
 * TLB, gathers in flight, counts of walkers, references to pages, who has loaded the mm.
 */
static bool is_telling(const struct xevent *e)
{
	static const char *const fields[] = {
		".tlb_flush_pending ", ".context", "._refcount ", ".cpu_bitmap ",
		".write_protect_seq ", ".mm_users ",
	};

	for (u32 i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strstr(e->text, fields[i]))
			return e->site && e->site->kind == MACH_SITE_RMW;
	return false;
}

static int weigh_by_text(const struct xevent *e)
{
	for (u32 i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		const struct weight *w = &weights[i];
		const char *at = strstr(e->text, w->part);

		if (at && (!w->at_start || at == e->text))
			return w->weight;
	}
	if (strstr(e->text, "->"))
		return names_entry(e->text) ? 70 : is_telling(e) ? 58 :
		       strstr(e->text, " frame ") ? 30 : 8;
	if (!strncmp(e->text, "load ", 5))
		return names_entry(e->text) ? 12 : strstr(e->text, " frame ") ? 24 : 5;
	return e->site && e->site->kind == MACH_SITE_INSN ? 65 : 20;
}

/* CPUs that wrote a word last, by the word's name in the text. */
struct writers {
	u32 n;
	struct {
		const char *name;
		size_t length;
		u32 cpu;
	} of[MAX_WORDS];
};

/* The word or lock that an event is about, unless it is an entry, or NULL. */
static const char *named_word(const char *text)
{
	static const char *const verbs[] = {
		"takes lock ", "lets go of lock ", "atomic ", "store ", "load ",
	};

	for (u32 i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		size_t len = strlen(verbs[i]);

		if (strncmp(text, verbs[i], len))
			continue;
		text += len;
		return !strncmp(text, "0x", 2) || !strncmp(text, "of 0x", 5) ||
		       !strncmp(text, "to 0x", 5) || names_entry(text) ? NULL : text;
	}
	return NULL;
}

/* The event touches a word (or lock) that another CPU wrote last. */
static bool is_shared(struct writers *ws, const struct xevent *e)
{
	const char *name = named_word(e->text);
	bool write = !strstr(e->text, "load ");
	size_t length;
	u32 i;

	if (!name)
		return false;
	length = strcspn(name, " ");
	/* "frame 7+0x8" */
	if (!strncmp(name, "frame ", 6))
		length += 1 + strcspn(name + length + 1, " ");
	for (i = 0; i < ws->n; i++)
		if (ws->of[i].length == length && !memcmp(ws->of[i].name, name, length))
			break;
	if (i == MAX_WORDS)
		return false;
	if (i == ws->n) {
		ws->n += write;
		ws->of[i].cpu = e->cpu;
	}
	ws->of[i].name = name;
	ws->of[i].length = length;
	if (ws->of[i].cpu == e->cpu)
		return false;
	if (write)
		ws->of[i].cpu = e->cpu;
	return true;
}

static bool makes_row(const struct xevent *e)
{
	return e->site->kind == MACH_SITE_INSN ||
	       (!strncmp(e->text, "store frame ", 12) && !strstr(e->text, "(buffered)"));
}

/*
 * A row of invalidations, or of stores into a page, from one place: the first tells of the
 * others.
 */
static void fold_rows(struct story *s)
{
	struct line *last[XMAX_CPUS] = { NULL };

	for (u32 i = 0; i < s->nr; i++) {
		struct line *l = &s->line[i];
		const struct xevent *e = l->event;
		struct line **prev = &last[e->cpu % XMAX_CPUS];

		bool same = *prev && (*prev)->event->site == e->site;

		if (e->site && makes_row(e) && same) {
			(*prev)->more++;
			l->weight = 0;
		} else if (e->site && makes_row(e)) {
			*prev = l;
		} else if (!same) {
			*prev = NULL;
		}
	}
}

static void weigh(struct story *s)
{
	struct writers *ws = calloc(1, sizeof(*ws));

	assert(ws);
	for (u32 i = 0; i < s->nr; i++) {
		struct line *l = &s->line[i];

		l->weight = weigh_by_text(l->event);
		if (is_shared(ws, l->event))
			l->weight += SHARED;
		if (l->weight && is_about(&s->about, l->event->text))
			l->weight += ABOUT;
	}
	free(ws);
	fold_rows(s);
}

/* Keep the n heaviest with at least this weight; of equals, the later. */
static void keep(struct story *s, u32 n, int least)
{
	u32 kept = 0;

	for (u32 i = 0; i < s->nr; i++)
		kept += s->line[i].weight >= least;
	while (kept > n) {
		u32 lightest = s->nr;

		for (u32 i = 0; i < s->nr; i++)
			if (s->line[i].weight >= least &&
			    (lightest == s->nr || s->line[i].weight < s->line[lightest].weight))
				lightest = i;
		s->line[lightest].weight = least - 1;
		kept--;
	}
	for (u32 i = 0, out = 0; i <= s->nr; i++) {
		if (i == s->nr) {
			s->nr = out;
			break;
		}
		if (s->line[i].weight >= least)
			s->line[out++] = s->line[i];
	}
}

static u32 nr_heavy(const struct story *s)
{
	u32 n = 0;

	for (u32 i = 0; i < s->nr; i++)
		n += s->line[i].weight >= HEAVY;
	return n;
}

/* ---- telling ---- */

static void __attribute__((format(printf, 2, 3))) say(struct story *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (s->nr_out == s->max)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[WIDTH] = 0;
	s->out[s->nr_out] = strdup(text);
	assert(s->out[s->nr_out]);
	s->nr_out++;
}

static void who(const struct story *s, const struct xevent *e, char name[24])
{
	const struct xprogram *p = s->program;
	const char *thread = NULL;

	if (e->agent_kind == XAGENT_THREAD && e->agent_index < p->nr_threads)
		thread = p->thread[e->agent_index].name;
	snprintf(name, 24, "cpu%u", e->cpu);
	/* "cpu0.reader" says which CPU. */
	if (thread && !strncmp(thread, name, strlen(name)))
		snprintf(name, 24, "%.23s", thread);
	else if (thread)
		snprintf(name, 24, "cpu%u %.15s", e->cpu, thread);
	else if (e->agent_kind == XAGENT_DRAIN)
		snprintf(name, 24, "cpu%u buffer", e->cpu);
	else if (e->agent_kind == XAGENT_MACHINE)
		snprintf(name, 24, "rcu");
}

/* The last two parts of a path: "x86/tlb.c". */
static const char *short_path(const char *path)
{
	const char *p = strrchr(path, '/');

	while (p && p > path && p[-1] != '/')
		p--;
	return p ? p : path;
}

/* "atomic X A -> 0x0" and "store X A -> B is visible", as one would say it. */
static void plainly(const char *text, char out[200])
{
	char word[64], old[24], new[24];

	if (sscanf(text, "atomic %63s %23s -> %23s", word, old, new) == 3 ||
	    sscanf(text, "store %63s %23s -> %23s", word, old, new) == 3) {
		if (!strcmp(old, new))
			snprintf(out, 200, "leaves %s = %s", word, new);
		else if (!strcmp(new, "0x0"))
			snprintf(out, 200, "clears %s, was %s", word, old);
		else if (!strcmp(old, "0x0"))
			snprintf(out, 200, "sets %s = %s", word, new);
		else
			snprintf(out, 200, "changes %s: %s -> %s", word, old, new);
		return;
	}
	snprintf(out, 200, "%s", text);
}

/* Where: "func() file:line" in at most `room` columns; a long function name is cut. */
static void place_of(const struct mach_site *site, char *place, int room)
{
	char file[80];
	int left;

	place[0] = 0;
	if (!site || !site->line)
		return;
	left = room - 4 - snprintf(file, sizeof(file), "%.60s:%u", short_path(site->file),
				   site->line);
	if (left >= (int)strlen(site->func))
		snprintf(place, PLACE_SIZE, "%s() %s", site->func, file);
	else if (left > 8)
		snprintf(place, PLACE_SIZE, "%.*s..() %s", left - 2, site->func, file);
	else
		snprintf(place, PLACE_SIZE, "%s", file);
}

static void tell_line(struct story *s, const struct line *l, u32 number)
{
	const struct xevent *e = l->event;
	char name[24], place[PLACE_SIZE], text[232], head[272];
	int used;

	who(s, e, name);
	plainly(e->text, text);
	if (l->more)
		snprintf(text + strlen(text), 32, ", and %u more", l->more);
	used = snprintf(head, sizeof(head), "%2u  %-11s %s", number, name, text);
	place_of(e->site, place, WIDTH - 2 - used);
	if (place[0])
		say(s, "%-*s  %s", WIDTH - 2 - (int)strlen(place), head, place);
	else
		say(s, "%s", head);
}

/* Steps of the detail, "step 48", become lines of the story where it has them. */
static void renumber(struct story *s)
{
	char *at = strstr(s->result.detail, "at step "), *end, rest[XDETAIL_MAX];
	unsigned long step;

	if (!at)
		return;
	step = strtoul(at + 8, &end, 10);
	snprintf(rest, sizeof(rest), "%s", end);
	for (u32 i = 0; i < s->nr; i++) {
		if (s->line[i].event->step != step)
			continue;
		snprintf(at, XDETAIL_MAX - (size_t)(at - s->result.detail), "in line %u%s",
			 i + 1, rest);
		return;
	}
}

/* The rule and its detail, in lines. */
static void tell_ending(struct story *s)
{
	const char *p = s->result.detail;
	u32 width = WIDTH - 4;

	say(s, "    %s", xrule_name(s->result.rule));
	while (*p) {
		size_t n = strlen(p);

		if (n > width) {
			for (n = width; n && p[n] != ' '; n--)
				;
			n = n ? n : width;
		}
		say(s, "    %.*s", (int)n, p);
		p += n;
		p += *p == ' ';
	}
}

static u32 ending_lines(const struct story *s)
{
	u32 n = 2 + (u32)(strlen(s->result.detail) / (WIDTH - 24));

	return n < MAX_ENDING ? n : MAX_ENDING;
}

static void tell(struct story *s)
{
	u32 room = s->max > ending_lines(s) ? s->max - ending_lines(s) : 0;

	weigh(s);
	if (nr_heavy(s) >= SHORT_STORY || room < SHORT_STORY)
		keep(s, room, HEAVY);
	else
		keep(s, SHORT_STORY, LIGHT);
	for (u32 i = 0; i < s->nr; i++)
		tell_line(s, &s->line[i], i + 1);
	renumber(s);
	tell_ending(s);
}

u32 xstory(struct xworld *w, const struct xverdict *verdict, char **lines, u32 max)
{
	struct story s = { .program = xworld_program(w), .out = lines, .max = max };
	struct xevent *events = calloc(MAX_EVENTS, sizeof(*events));
	u32 n = MAX_EVENTS;

	assert(events);
	if (verdict->found && xsearch_replay(w, verdict, &s.result, events, &n) &&
	    s.result.outcome == XOUT_VIOLATION) {
		s.line = calloc(n + 1, sizeof(*s.line));
		assert(s.line);
		for (; s.nr < n; s.nr++)
			s.line[s.nr].event = &events[s.nr];
		names_of(s.result.detail, &s.about);
		tell(&s);
		free(s.line);
	}
	free(events);
	return s.nr_out;
}
