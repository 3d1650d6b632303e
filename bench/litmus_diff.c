// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `make litmus-diff`: generated litmus tests, each run twice here (stores in order, and
 * overtaking) and once by another implementation of the same rules, and the sets of
 * final states compared.
 *
 *	litmus_diff PROGRAM FOLDER [NUMBER [SEED]]
 *
 * PROGRAM -cap=N -states FILE... prints "TEST FILE ... capped=0|1", then "S state" lines,
 * as the prototype of reference/arm64-mmu-model.md does. Tests are written to
 * FOLDER. With stores in order the sets must be equal; with overtaking ours may have more.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litmus/litmus.h"

#define MAX_SET	512
#define BATCH	200
#define CAP	"60000"

/* --------------------------------------------------------------- generator */

struct rng { u64 state; };

static u32 below(struct rng *r, u32 n)
{
	r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(r->state >> 33) % n;
}

#define PICK(r, list) (list)[below(r, sizeof(list) / sizeof((list)[0]))]

struct lines {
	u32 n;
	char line[16][40];
};

static void put(struct lines *l, const char *text)
{
	/* "DSB SY;ISB" is two. */
	while (*text) {
		size_t n = strcspn(text, ";");

		snprintf(l->line[l->n++], sizeof(l->line[0]), "%.*s", (int)n, text);
		text += n + (text[n] == ';');
	}
}

/* The entry of x, before and after. */
static const char *const change[][2] = {
	{ "(oa:PA(x))", "(oa:PA(x), valid:0)" }, { "(oa:PA(x), valid:0)", "(oa:PA(x))" },
	{ "(oa:PA(x), db:0)", "(oa:PA(x))" }, { "(oa:PA(x))", "(oa:PA(x), db:0)" },
	{ "(oa:PA(x))", "(oa:PA(z))" }, { "(oa:PA(x), af:0)", "(oa:PA(x))" },
	{ "(oa:PA(x), af:0)", "(oa:PA(x), valid:0)" },
	{ "(oa:PA(x), db:0, dbm:1)", "(oa:PA(x), valid:0)" },
	{ "(oa:PA(x), db:0, dbm:1)", "(oa:PA(x), db:0)" },
	{ "(oa:PA(x), af:0, db:0, dbm:1)", "(oa:PA(z))" },
};

static void change_entry(struct rng *r, struct lines *p)
{
	static const char *const how[] = { "STR X2,[X1]", "STR X2,[X1]", "SWP X2,X11,[X1]" };
	static const char *const first[] = {
		"", "DSB SY", "DSB ISH", "DSB ST", "DSB LD", "DMB SY", "DMB ST", "DSB ISH;ISB",
	};
	static const char *const tlbi[] = {
		"", "TLBI VMALLE1IS", "LSR X9,X3,#12;TLBI VAAE1IS,X9",
		"LSR X9,X3,#12;TLBI VAAE1IS,X9", "LSR X9,X3,#12;TLBI VAAE1,X9",
	};
	static const char *const last[] = {
		"", "DSB ISH", "DSB ISH;ISB", "DMB ST", "DMB SY", "DSB ST", "DSB LD;ISB",
	};

	put(p, PICK(r, how));
	put(p, PICK(r, first));
	put(p, PICK(r, tlbi));
	put(p, PICK(r, last));
}

/* An access of x, whose address is in X3, with what orders it after a load to W4. */
static void use(struct rng *r, struct lines *p, bool after_load)
{
	static const char *const order[] = {
		"", "DMB SY", "DMB LD", "DMB ST", "DSB SY", "DSB LD", "ISB", "DSB SY;ISB",
		"CBZ W4,LC;LC:", "CBZ W4,LC;LC:;ISB", "EOR W6,W4,W4;ADD X3,X3,W6,SXTW",
		"EOR W7,W4,W4;ADD W7,W7,#1",
	};
	const char *o = PICK(r, order);
	bool store = below(r, 2);

	if (!after_load && strstr(o, "W4"))
		o = "";
	put(p, o);
	put(p, "L0:");
	if (!store)
		put(p, below(r, 6) ? "LDR W5,[X3]" : "LDAR W5,[X3]");
	else
		put(p, below(r, 6) ? "STR W7,[X3]" : "STLR W7,[X3]");
	if (!below(r, 3))
		put(p, below(r, 2) ? "LDR W12,[X3]" : "LDR X12,[X1]");
}

static void set_flag(struct rng *r, struct lines *p)
{
	put(p, below(r, 4) ? "STR W8,[X10]" : "STLR W8,[X10]");
}

static void get_flag(struct rng *r, struct lines *p)
{
	put(p, below(r, 5) ? "LDR W4,[X10]" : "LDAR W4,[X10]");
}

/* Two stores, to the flag and to what is after it. */
static void two_stores(struct rng *r, struct lines *p)
{
	static const char *const order[] = { "", "", "DMB ST", "DMB SY", "DSB SY", "DMB LD" };
	static const char *const to_x[] = { "STR W13,[X3]", "STR X2,[X1]", "SWP X2,X11,[X1]" };

	put(p, "MOV W13,#2");
	put(p, "STR W13,[X10]");
	put(p, PICK(r, order));
	put(p, "L0:");
	put(p, PICK(r, to_x));
}

/* Between a load to W4 and a store to the second flag. */
static void pass_on(struct rng *r, struct lines *p)
{
	static const char *const order[] = {
		"", "DMB SY", "DMB LD", "DSB SY", "DSB LD;ISB", "CBZ W4,LC;LC:",
	};

	get_flag(r, p);
	put(p, PICK(r, order));
	put(p, below(r, 4) ? "STR W8,[X14]" : "STLR W8,[X14]");
}

/*
 * Message passing; store buffering; one CPU; the other way round; both store to the flag and
 * to x or its entry, in opposite order; message passing by way of a third.
 */
static u32 shape(struct rng *r, struct lines p[3])
{
	switch (below(r, 8)) {
	case 0:
	case 1:
		change_entry(r, &p[0]);
		set_flag(r, &p[0]);
		get_flag(r, &p[1]);
		use(r, &p[1], true);
		return 2;
	case 2:
		change_entry(r, &p[0]);
		get_flag(r, &p[0]);
		set_flag(r, &p[1]);
		use(r, &p[1], false);
		return 2;
	case 3:
		use(r, &p[1], false);
		set_flag(r, &p[1]);
		get_flag(r, &p[0]);
		put(&p[0], below(r, 2) ? "DMB SY" : "");
		change_entry(r, &p[0]);
		return 2;
	case 4:
		change_entry(r, &p[0]);
		set_flag(r, &p[0]);
		two_stores(r, &p[1]);
		return 2;
	case 5:
		use(r, &p[0], false);
		set_flag(r, &p[0]);
		two_stores(r, &p[1]);
		return 2;
	case 6:
		change_entry(r, &p[0]);
		set_flag(r, &p[0]);
		pass_on(r, &p[1]);
		get_flag(r, &p[2]);
		use(r, &p[2], true);
		return 3;
	default:
		change_entry(r, &p[0]);
		use(r, &p[0], false);
		return 1;
	}
}

static void watch(FILE *f, const struct lines *p, u32 cpu)
{
	for (u32 i = 0; i < p->n; i++) {
		const char *s = p->line[i];

		if (!strcmp(s, "L0:"))
			fprintf(f, " fault(P%u:L0,x);", cpu);
		if (!strncmp(s, "LD", 2))
			fprintf(f, " %u:X%u;", cpu, (u32)atoi(strpbrk(s, "WX") + 1));
		if (!strncmp(s, "SWP", 3))
			fprintf(f, " %u:X11;", cpu);
	}
}

static void generate(const char *path, const char *name, u64 seed)
{
	static const char *const updates[] = {
		"", "", "", "TTHM=HA\n", "TTHM=HA HD\n", "TTHM=P0:HA\n", "TTHM=P1:HD\n",
		"TTHM=P1:HA\n",
	};
	struct rng r = { seed * 7919 + 13 };
	const char *const *c = change[below(&r, sizeof(change) / sizeof(change[0]))];
	struct lines p[3] = { 0 };
	u32 n = shape(&r, p), rows = 0;
	FILE *f = fopen(path, "w");

	if (!f) {
		fprintf(stderr, "litmus_diff: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	fprintf(f, "AArch64 %s\n%s{\n[PTE(x)]=%s;\nx=1; z=2;\n", name, PICK(&r, updates), c[0]);
	for (u32 i = 0; i < n; i++) {
		fprintf(f, "%u:X1=PTE(x); %u:X2=%s; %u:X3=x; %u:X7=3; %u:X8=1; %u:X10=%s; "
			"%u:X14=w;\n", i, i, c[1], i, i, i, i, i == 2 ? "w" : "y", i);
		rows = p[i].n > rows ? p[i].n : rows;
	}
	fprintf(f, "}\n");
	for (u32 i = 0; i < n; i++)
		fprintf(f, "P%u %c", i, i + 1 < n ? '|' : ';');
	for (u32 k = 0; k < rows; k++)
		for (u32 i = 0; i < n; i++)
			fprintf(f, "%s%s %c", i ? " " : "\n", k < p[i].n ? p[i].line[k] : "",
				i + 1 < n ? '|' : ';');
	fprintf(f, "\nlocations [x; y; z; pte_x;");
	for (u32 i = 0; i < n; i++)
		watch(f, &p[i], i);
	fprintf(f, "]\nexists (true)\n");
	fclose(f);
}

/* ------------------------------------------------------------------- sets */

struct set {
	u32 n;
	char *item[MAX_SET];
	bool capped, there;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add(struct set *s, const char *text)
{
	if (s->n < MAX_SET)
		s->item[s->n++] = strdup(text);
}

static void sort(struct set *s)
{
	if (s->n)
		qsort(s->item, s->n, sizeof(s->item[0]), by_text);
}

static void clear(struct set *s)
{
	for (u32 i = 0; i < s->n; i++)
		free(s->item[i]);
	*s = (struct set){ 0 };
}

static bool in(const struct set *s, const char *text)
{
	return s->n && bsearch(&text, s->item, s->n, sizeof(s->item[0]), by_text);
}

/* How many of a are not in b. */
static u32 lacking(const struct set *a, const struct set *b)
{
	u32 n = 0;

	for (u32 i = 0; i < a->n; i++)
		n += !in(b, a->item[i]);
	return n;
}

/* "(oa:PA(x), af:0)" as "(x,1,0,1,0)". */
static int entry_as_theirs(char *to, size_t size, const char *entry, size_t len)
{
	char text[128];
	const char *page = text + strlen("(oa:PA(");

	snprintf(text, sizeof(text), "%.*s", (int)len, entry);
	return snprintf(to, size, "(%.*s,%d,%d,%d,%d)", (int)strcspn(page, ")"), page,
			!strstr(text, "valid:0"), !strstr(text, "af:0"),
			!strstr(text, "db:0"), !!strstr(text, "dbm:1"));
}

/* Our text of a state as theirs. */
static void as_theirs(const char *s, char *to, size_t size)
{
	size_t n = 0;

	to[0] = 0;
	while (*s && n < size) {
		size_t len = strcspn(s, ";");

		s += *s == ' ';
		len = strcspn(s, ";");
		if (*s == '~' || *s == 'F') {
			const char *at = strchr(s, '(');
			const char *type = strstr(s, "MMU:");

			n += (size_t)snprintf(to + n, size - n, "F%c%.*s=%c;", at[2],
					      (int)strcspn(at + 4, ","), at + 4,
					      *s == '~' || !type ? '-' : type[4]);
		} else {
			size_t name = strcspn(s, "=") + 1;

			n += (size_t)snprintf(to + n, size - n, "%.*s", (int)name, s);
			if (s[name] == '(')
				n += (size_t)entry_as_theirs(to + n, size - n, s + name,
							     len - name);
			else
				n += (size_t)snprintf(to + n, size - n, "%.*s",
						      (int)(len - name), s + name);
			n += (size_t)snprintf(to + n, size - n, ";");
		}
		s += len + (s[len] == ';');
	}
}

static void run_ours(struct lit_machines *m, const char *path, bool overtaking, struct set *set)
{
	const struct lit_how how = { .overtaking = overtaking };
	struct lit_result r;
	char error[512], text[4096];
	struct litmus *t = litmus_load(path, error, sizeof(error));

	if (!t || !litmus_run(m, t, &how, &r, error, sizeof(error))) {
		fprintf(stderr, "litmus_diff: %s\n", error);
		exit(2);
	}
	set->capped = r.kind == LIT_UNFINISHED || r.kind == LIT_UNSUPPORTED_KIND;
	for (u32 i = 0; i < r.nr_outcomes; i++) {
		as_theirs(r.outcome[i].text, text, sizeof(text));
		add(set, text);
	}
	sort(set);
	lit_result_free(&r);
	litmus_free(t);
}

/* ---------------------------------------------------------------- compare */

struct tally {
	u32 compared, identical, missing, extra, overtaking, overtaking_missing, capped;
};

static void show(const char *what, const char *path, const struct set *a, const struct set *b)
{
	for (u32 i = 0; i < a->n; i++)
		if (!in(b, a->item[i]))
			printf("%s %s: %s\n", what, path, a->item[i]);
}

static void compare(struct lit_machines *m, const char *path, struct set *theirs,
		    struct tally *t)
{
	struct set ordered = { 0 }, overtaking = { 0 };
	u32 missing, extra;

	if (theirs->capped || !theirs->there) {
		t->capped++;
		return;
	}
	sort(theirs);
	run_ours(m, path, false, &ordered);
	run_ours(m, path, true, &overtaking);
	if (ordered.capped || overtaking.capped) {
		t->capped++;
	} else {
		t->compared++;
		missing = lacking(theirs, &ordered);
		extra = lacking(&ordered, theirs);
		t->identical += !missing && !extra;
		t->missing += missing != 0;
		t->extra += extra != 0;
		t->overtaking += lacking(&overtaking, &ordered) != 0;
		t->overtaking_missing += lacking(&ordered, &overtaking) != 0;
		show("missing in", path, theirs, &ordered);
		show("extra in", path, &ordered, theirs);
		show("lost by overtaking in", path, &ordered, &overtaking);
	}
	clear(&ordered);
	clear(&overtaking);
}

static void test_path(char *buf, size_t size, const char *folder, u32 i)
{
	snprintf(buf, size, "%s/g%05u.litmus", folder, i);
}

/* Their answers for tests first to last - 1. */
static void ask(const char *program, const char *folder, u32 first, u32 last,
		struct set *theirs)
{
	static char command[BATCH * 300];
	char line[8192], path[300];
	size_t n = (size_t)snprintf(command, sizeof(command), "'%s' -cap=" CAP " -states",
				    program);
	int at = -1;
	FILE *f;

	for (u32 i = first; i < last; i++) {
		test_path(path, sizeof(path), folder, i);
		n += (size_t)snprintf(command + n, sizeof(command) - n, " '%s'", path);
	}
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "TEST ", 5)) {
			at++;
			theirs[at].there = !strstr(line, "ERROR");
			theirs[at].capped = strstr(line, "capped=1");
		} else if (at >= 0 && !strncmp(line, "S ", 2)) {
			add(&theirs[at], line + 2);
		}
	}
	if (!f || pclose(f) || at + 1 != (int)(last - first)) {
		fprintf(stderr, "litmus_diff: %s did not answer for each test\n", program);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	u32 number = argc > 3 ? (u32)atoi(argv[3]) : 6000;
	u64 seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	static struct set theirs[BATCH];
	struct lit_machines *m = litmus_machines();
	struct tally t = { 0 };
	char path[300], name[32];

	if (argc < 3 || !m) {
		fprintf(stderr, "usage: litmus_diff PROGRAM FOLDER [NUMBER [SEED]]\n");
		return 2;
	}
	for (u32 first = 0; first < number; first += BATCH) {
		u32 last = first + BATCH < number ? first + BATCH : number;

		for (u32 i = first; i < last; i++) {
			test_path(path, sizeof(path), argv[2], i);
			snprintf(name, sizeof(name), "g%05u", i);
			generate(path, name, seed * 1000003 + i);
		}
		ask(argv[1], argv[2], first, last, theirs);
		for (u32 i = first; i < last; i++) {
			test_path(path, sizeof(path), argv[2], i);
			compare(m, path, &theirs[i - first], &t);
			clear(&theirs[i - first]);
		}
	}
	printf("%u generated, %u compared (%u left out: too many states); stores in order: "
	       "%u identical, %u with states missing, %u with extra ones; "
	       "overtaking: %u with more states, %u with fewer\n", number, t.compared,
	       t.capped, t.identical, t.missing, t.extra, t.overtaking,
	       t.overtaking_missing);
	litmus_machines_free(m);
	return t.missing || t.extra || t.overtaking_missing;
}
