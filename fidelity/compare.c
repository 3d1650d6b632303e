// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare [-a | -s] COUNTS.TSV TLBLAB [EXPLAINED]: prints what real kernels were counted to do
 * beside what tlblab predicts. COUNTS.TSV is run.sh's (docs/fidelity.md has its
 * columns); TLBLAB is the command, run once per machine and workload.
 *
 * What is compared is one iteration: the kernel's median, and the total predicted,
 * divided. A prediction that is not to be had (no TLBLAB, a machine or workload that
 * it does not know) is "-", and its reason is a note; it is no failure.
 *
 * With -a also what belongs to no flush, and kinds that only now and then occur; with -s a
 * matrix instead, of a letter for each workload, machine and era.
 *
 * EXPLAINED (fidelity/explained) names differences whose cause is known; they are marked with the
 * letter of their explanation, and count as differences all the same.
 *
 * Exit status: 0, or 1 if a prediction differs and nothing explains it, or 2 if something could
 * not be read.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "classify.h"

#define HINT "0x200000000000"

#define NAME_MAX_ 32
#define KINDS_MAX 64
#define NOTES_MAX 512

/* One kind of one run. */
struct row {
	char kind[NAME_MAX_];
	unsigned long median;
	unsigned long total;
	unsigned long odd;	/* iterations not at the median */
	bool odd_known;
};

/* One workload on one machine. */
struct run {
	char machine[NAME_MAX_], kernel[NAME_MAX_], workload[NAME_MAX_];
	char era[NAME_MAX_];	/* the kernel's series: 6.1 of 6.1.192-3 */
	unsigned long threads, touch, iterations; /* of all threads */
	struct row rows[KINDS_MAX];
	int nr_rows;
	json_t *metrics;	/* of the prediction, or NULL */
	json_t *longer;		/* of twice as many iterations; see predicted() */
	char title[2 * NAME_MAX_];
};

static bool show_all, show_matrix;
static const char *counts_path, *tlblab;
static struct note {
	char machine[NAME_MAX_], era[NAME_MAX_];
	char *titles;	/* "dontneed touch=1, 2, 3" */
	char *events;
} notes[NOTES_MAX];			/* one-off events, in order */
static int nr_notes;
static char *reasons[NOTES_MAX];	/* why something is not compared, distinct */
static int nr_reasons;
static long nr_runs, nr_compared, nr_differ, nr_unexplained;

/* A line of EXPLAINED: four patterns (fnmatch), and why. */
static struct explanation {
	char *title, *machine, *era, *kind, *why;
	bool used;
} explanations[26];
static int nr_explanations;
static long nr_cells, nr_exact;	/* workload, machine, era: all of its kinds agree */

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "fidelity: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/* printf into a new string. */
static char * __attribute__((format(printf, 1, 2))) text_of(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		die("out of memory");
	va_end(args);
	return text;
}

/* -------------------------------------------------------------- prediction */

/* Takes line over. */
static void note_missing(char *line)
{
	int i;

	line[strcspn(line, "\n")] = 0;
	for (i = 0; i < nr_reasons && strcmp(reasons[i], line); i++)
		;
	if (i < nr_reasons || nr_reasons == NOTES_MAX)
		free(line);
	else
		reasons[nr_reasons++] = line;
}

/* Everything that can be read from fd, as a string to free. */
static char *read_all(int fd, size_t *len)
{
	size_t size = 1 << 16;
	char *text = malloc(size);
	ssize_t n;

	*len = 0;
	while (text && (n = read(fd, text + *len, size - 1 - *len)) != 0) {
		if (n < 0 && errno != EINTR)
			die("cannot read from %s: %s", tlblab, strerror(errno));
		*len += n > 0 ? n : 0;
		if (*len == size - 1)
			text = realloc(text, size *= 2);
	}
	if (!text)
		die("out of memory");
	text[*len] = 0;
	return text;
}

/* Runs argv; returns its exit status, *text what it wrote to both outputs. */
static int run_command(char *const *argv, char **text, size_t *len)
{
	int fds[2], status;
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		die("cannot start %s: %s", argv[0], strerror(errno));
	if (!pid) {
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	*text = read_all(fds[0], len);
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status))
		die("%s died of signal %d", argv[0], WTERMSIG(status));
	return WEXITSTATUS(status);
}

/* mmap8 and dontneed are workloads of tlblab; all others are operations of mm-step. */
static bool is_step(const struct run *r)
{
	return strcmp(r->workload, "mmap8") && strcmp(r->workload, "dontneed");
}

static int run_tlblab(const struct run *r, int times, char **text, size_t *len)
{
	char threads[32], iterations[48], touch[48], what[48];
	char *argv[32] = {
		(char *)tlblab, "run", is_step(r) ? "mm-step" : (char *)r->workload,
		"-m", (char *)r->machine, "--era", (char *)r->era, "-t", threads,
		"-r", "1", "-f", "json", "-p", "hint=" HINT, "-p", iterations, "-p", touch,
	};
	int n = 19;

	snprintf(threads, sizeof(threads), "%lu", r->threads);
	snprintf(iterations, sizeof(iterations), "iterations=%lu",
		 times * r->iterations / r->threads);
	snprintf(touch, sizeof(touch), "touch=%lu", r->touch);
	snprintf(what, sizeof(what), "what=%s", r->workload);
	if (is_step(r)) {
		argv[n++] = "-p";
		argv[n++] = what;
		argv[n++] = "--pin";
	} else if (r->threads > 1) {
		argv[n++] = "-p";
		argv[n++] = "order=turns";
		argv[n++] = "--pin";
	}
	return run_command(argv, text, len);
}

/*
 * The metrics of a run; NULL, and why in a note, if it is refused (exit 2): a prediction that is
 * not to be had. Anything else unexpected is an error.
 */
static json_t *ask(const struct run *r, int times)
{
	json_error_t error;
	json_t *root, *metrics;
	char *text, *brace;
	size_t len;
	int status = run_tlblab(r, times, &text, &len);

	if (status == 2) {
		note_missing(text_of("%s: %s", r->machine, text));
		free(text);
		return NULL;
	}
	if (status)
		die("%s: exit status %d for %s on %s: %s", tlblab, status, r->title,
		    r->machine, text);
	brace = strchr(text, '{');
	root = brace ? json_loads(brace, JSON_DISABLE_EOF_CHECK, &error) : NULL;
	metrics = json_object_get(json_array_get(json_object_get(root, "columns"), 0),
				  "metrics");
	if (!metrics)
		die("%s: no columns[0].metrics in its answer for %s on %s", tlblab,
		    r->title, r->machine);
	json_incref(metrics);
	json_decref(root);
	free(text);
	return metrics;
}

static void predict(struct run *r)
{
	if (access(tlblab, X_OK)) {
		note_missing(text_of("%s is not there: not built yet?", tlblab));
		return;
	}
	r->metrics = ask(r, 1);
}

static double metric(json_t *metrics, const char *kind)
{
	char name[64];

	snprintf(name, sizeof(name), "flush.%s", kind);
	return json_number_value(json_object_get(json_object_get(metrics, name), "mean"));
}

/*
 * The total of a kind. A kind that a prediction does not name does not occur in it. The
 * plugin cannot see whether a CR3 write flushes.
 */
static double total(json_t *metrics, const char *kind)
{
	if (!strcmp(kind, "cr3"))
		return metric(metrics, "cr3") + metric(metrics, "cr3_noflush");
	return metric(metrics, kind);
}

/*
 * Predicted of an iteration. The first ones may be unlike the others, which the kernel's
 * median does not see: where the mean is no whole number, it is that of the second half of
 * a run of twice the length.
 */
static double predicted(struct run *r, const char *kind)
{
	double first = total(r->metrics, kind);

	if (fabs(first / r->iterations - nearbyint(first / r->iterations)) < 0.0005)
		return first / r->iterations;
	if (!r->longer)
		r->longer = ask(r, 2);
	return r->longer ? (total(r->longer, kind) - first) / r->iterations :
			   first / r->iterations;
}

static bool is_counted(const char *kind)
{
	int i = 0;

	while (i < INSN_NR_KINDS && strcmp(insn_kind_name(i), kind))
		i++;
	return i < INSN_NR_KINDS;
}

static struct row *find_row(struct run *r, const char *kind)
{
	int i = 0;

	while (i < r->nr_rows && strcmp(r->rows[i].kind, kind))
		i++;
	return i < r->nr_rows ? &r->rows[i] : NULL;
}

/*
 * Kinds that are predicted and were not seen get rows of zeros; those that the
 * plugin does not look for are said not to be compared.
 */
static void add_predicted_kinds(struct run *r)
{
	const char *key, *kind;
	json_t *value;

	json_object_foreach(r->metrics, key, value) {
		kind = strncmp(key, "flush.", 6) ? NULL : key + 6;
		if (!kind || metric(r->metrics, kind) == 0)
			continue;
		if (!strcmp(kind, "cr3_noflush"))
			kind = "cr3";
		if (find_row(r, kind))
			continue;
		/* On POWER nobody counts interrupts. */
		if (!is_counted(kind) ||
		    (!strcmp(kind, "ipi") && strstr(r->machine, "power"))) {
			note_missing(text_of("%s: predicts %s, which nothing counts",
					     r->machine, kind));
			continue;
		}
		if (r->nr_rows == KINDS_MAX)
			die("%s on %s: too many kinds", r->title, r->machine);
		r->rows[r->nr_rows] = (struct row){ .odd_known = true };
		strcpy(r->rows[r->nr_rows++].kind, kind);
	}
}

/* ------------------------------------------------------------------- table */

/* As short as three decimals allow: 8, 2.005, -1. */
static void format_number(char *text, size_t size, double v)
{
	snprintf(text, size, "%.3f", v);
	while (text[strlen(text) - 1] == '0')
		text[strlen(text) - 1] = 0;
	if (text[strlen(text) - 1] == '.')
		text[strlen(text) - 1] = 0;
	if (!strcmp(text, "-0"))
		strcpy(text, "0");
}

static bool of_no_flush(const char *kind)
{
	size_t len = strlen(kind);

	return len > 5 && !strcmp(kind + len - 5, "_else");
}

/* The letter of what explains a difference; 0: nothing. */
static char explained(const struct run *r, const char *kind)
{
	for (int i = 0; i < nr_explanations; i++) {
		struct explanation *e = &explanations[i];

		if (fnmatch(e->title, r->title, 0) || fnmatch(e->machine, r->machine, 0) ||
		    fnmatch(e->era, r->era, 0) || fnmatch(e->kind, kind, 0))
			continue;
		e->used = true;
		return 'a' + i;
	}
	return 0;
}

/* arm64 flushes without interrupts: those seen are the scheduler's, unless one is predicted. */
static bool other_interrupt(const struct run *r, const char *kind)
{
	return !strcmp(kind, "ipi") && strstr(r->machine, "arm64") &&
	       (!r->metrics || metric(r->metrics, kind) == 0);
}

/* "=": it agrees; else the letter of what explains it; "!": nothing does. */
static char print_row(struct run *r, const struct row *row, bool *first)
{
	char counted[32], predicted_text[32] = "-", difference[32] = "-";
	bool no_flush = of_no_flush(row->kind) || other_interrupt(r, row->kind);
	bool compared = r->metrics && !no_flush;
	double diff = 0, value = 0;
	char letter = 0;

	if (compared) {
		value = predicted(r, row->kind);
		diff = value - row->median;
	}
	if (!row->median && value == 0 && !show_all)
		return '=';
	if (!show_all && no_flush)
		return '=';
	format_number(counted, sizeof(counted), row->median);
	if (compared) {
		format_number(predicted_text, sizeof(predicted_text), value);
		format_number(difference, sizeof(difference), diff);
		nr_compared++;
		if (fabs(diff) >= 0.0005) {
			letter = explained(r, row->kind);
			nr_differ++;
			nr_unexplained += !letter;
		}
	}
	if (show_matrix)
		return fabs(diff) < 0.0005 ? '=' : letter ? letter : '!';
	printf("%-22s %-14s %-4s %-13s %6s %7s %6s%.1s\n", *first ? r->title : "",
	       *first ? r->machine : "", *first ? r->era : "", row->kind, counted,
	       predicted_text, difference, letter ? &letter : "");
	*first = false;
	return fabs(diff) < 0.0005 ? '=' : letter ? letter : '!';
}

/*
 * On arm64 an "ipi" is any software-generated interrupt: now and then one of
 * the scheduler's falls into a window.
 */
static bool is_noise(const struct row *row)
{
	return of_no_flush(row->kind) ||
	       (!strcmp(row->kind, "ipi") && row->odd_known && !row->median);
}

/* What the odd iterations of a run add to the medians; NULL: nothing. */
static char *one_off_events(const struct run *r)
{
	char *events = NULL, *longer;
	int i;

	for (i = 0; i < r->nr_rows; i++) {
		const struct row *row = &r->rows[i];
		long extra = row->total - row->median * r->iterations;

		if ((!extra && !row->odd) || (is_noise(row) && !show_all))
			continue;
		longer = text_of("%s%s%s %+ld", events ? events : "",
				 events ? ", " : "", row->kind, extra);
		free(events);
		events = longer;
		if (!row->odd_known)
			continue;
		longer = text_of("%s in %lu", events, row->odd);
		free(events);
		events = longer;
	}
	return events;
}

/* Runs of one workload that differ only in their pages share a note. */
static void note_one_offs(const struct run *r)
{
	struct note *last = nr_notes ? &notes[nr_notes - 1] : NULL;
	char *events = one_off_events(r), *titles;
	const char *pages = strrchr(r->title, ',');

	if (!events)
		return;
	if (last && pages && !strncmp(last->titles, r->title, (size_t)(pages - r->title)) &&
	    !strcmp(last->machine, r->machine) && !strcmp(last->era, r->era) &&
	    !strcmp(last->events, events)) {
		titles = text_of("%s%s", last->titles, pages);
		free(last->titles);
		last->titles = titles;
		free(events);
		return;
	}
	if (nr_notes == NOTES_MAX)
		die("more than %d notes", NOTES_MAX);
	last = &notes[nr_notes++];
	strcpy(last->machine, r->machine);
	strcpy(last->era, r->era);
	last->titles = text_of("%s", r->title);
	last->events = events;
}

/* ------------------------------------------------------------------ matrix */

#define LINES_MAX 128
#define COLUMNS_MAX 16

/* A cell: "=", exact; the letter of what explains a difference; "!": nothing does. */
static struct matrix {
	char line[LINES_MAX][3 * NAME_MAX_], column[COLUMNS_MAX][3 * NAME_MAX_];
	char cell[LINES_MAX][COLUMNS_MAX];
	int lines, columns;
} matrix;

/* The number of a name in a list, where it is put if it is new. */
static int find_name(char (*list)[3 * NAME_MAX_], int *n, int max, const char *wanted)
{
	int i = 0;

	while (i < *n && strcmp(list[i], wanted))
		i++;
	if (i == max)
		die("more than %d lines or columns", max);
	if (i == *n)
		strcpy(list[(*n)++], wanted);
	return i;
}

static void add_cell(const struct run *r, char mark)
{
	char text[3 * NAME_MAX_];
	int line, column;

	snprintf(text, sizeof(text), "%s, %s", r->machine, r->era);
	line = find_name(matrix.line, &matrix.lines, LINES_MAX, r->title);
	column = find_name(matrix.column, &matrix.columns, COLUMNS_MAX, text);
	matrix.cell[line][column] = mark;
}

static void print_matrix(void)
{
	int i, j;

	for (j = 0; j < matrix.columns; j++)
		printf("%*s%c %s\n", 24, "", 'A' + j, matrix.column[j]);
	printf("\n%-22s ", "threads, pages");
	for (j = 0; j < matrix.columns; j++)
		printf(" %c", 'A' + j);
	putchar('\n');
	for (i = 0; i < matrix.lines; i++) {
		printf("%-22s ", matrix.line[i]);
		for (j = 0; j < matrix.columns; j++)
			printf(" %c", matrix.cell[i][j] ? matrix.cell[i][j] : '.');
		putchar('\n');
	}
}

static void finish_run(struct run *r)
{
	bool first = true;
	char mark = '=', m;
	int i;

	if (!r->nr_rows)
		return;
	nr_runs++;
	predict(r);
	add_predicted_kinds(r);
	for (i = 0; i < r->nr_rows; i++) {
		m = print_row(r, &r->rows[i], &first);
		if (m != '=' && mark != '!')
			mark = m;
	}
	if (r->metrics) {
		nr_cells++;
		nr_exact += mark == '=';
		add_cell(r, mark);
	}
	note_one_offs(r);
	json_decref(r->metrics);
	json_decref(r->longer);
	r->metrics = r->longer = NULL;
	r->nr_rows = 0;
}

/* ------------------------------------------------------------------- input */

static unsigned long number(const char *text, int line)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || end == text)
		die("%s:%d: a number was expected, not \"%s\"", counts_path, line,
		    text);
	return v;
}

static void name(char *to, const char *from, int line)
{
	if (strlen(from) >= NAME_MAX_)
		die("%s:%d: \"%s\" is too long", counts_path, line, from);
	strcpy(to, from);
}

/* The first two numbers of a kernel's version. */
static void series(struct run *r)
{
	size_t len = strcspn(r->kernel, ".");

	len += r->kernel[len] ? 1 : 0;
	len += strspn(r->kernel + len, "0123456789");
	snprintf(r->era, sizeof(r->era), "%.*s", (int)len, r->kernel);
}

#define COLUMNS 12

/* machine kernel workload threads touch iterations kind median total odd min max */
static void take_row(struct run *r, char *const *f, int line)
{
	unsigned long threads = number(f[3], line), touch = number(f[4], line);
	struct row *row;

	if (strcmp(r->machine, f[0]) || strcmp(r->kernel, f[1]) || strcmp(r->workload, f[2]) ||
	    r->threads != threads || r->touch != touch) {
		finish_run(r);
		name(r->machine, f[0], line);
		name(r->kernel, f[1], line);
		name(r->workload, f[2], line);
		r->threads = threads;
		r->touch = touch;
		r->iterations = number(f[5], line);
		if (!threads || !r->iterations)
			die("%s:%d: no threads or no iterations", counts_path, line);
		series(r);
		if (!strcmp(r->workload, "mmap8"))
			snprintf(r->title, sizeof(r->title), "mmap8 %lu", threads);
		else
			snprintf(r->title, sizeof(r->title), "%s %lu, %lu", r->workload, threads,
				 touch);
	}
	if (r->nr_rows == KINDS_MAX)
		die("%s:%d: too many kinds", counts_path, line);
	row = &r->rows[r->nr_rows++];
	name(row->kind, f[6], line);
	row->median = number(f[7], line);
	row->total = number(f[8], line);
	row->odd_known = strcmp(f[9], "-") != 0;
	row->odd = row->odd_known ? number(f[9], line) : 0;
}

static void read_counts(FILE *f, struct run *r)
{
	char text[512], *field[COLUMNS + 1], *rest, *p;
	int line = 0, n;

	while (fgets(text, sizeof(text), f)) {
		line++;
		text[strcspn(text, "\n")] = 0;
		if (text[0] == '#' || !text[0])
			continue;
		rest = text;
		for (n = 0; n <= COLUMNS && (p = strsep(&rest, "\t")); n++)
			field[n] = p;
		if (n != COLUMNS)
			die("%s:%d: %d columns were expected", counts_path, line,
			    COLUMNS);
		take_row(r, field, line);
	}
	finish_run(r);
}

/* -------------------------------------------------------------------- main */

/* The kernels of each machine, as lines over the table. */
static void print_head(FILE *f)
{
	char text[512], last[512] = "", *tab, *end;

	printf("Instructions of an iteration: counted in Debian's kernels under QEMU, predicted\n"
	       "by tlblab for the kernel's era; difference = predicted - counted.\n\n");
	while (fgets(text, sizeof(text), f)) {
		tab = strchr(text, '\t');
		if (text[0] == '#' || !tab)
			continue;
		end = tab + 1 + strcspn(tab + 1, "\t\n");
		*end = 0;
		if (strcmp(last, text))
			printf("  %-16.*s Linux %s\n", (int)(tab - text), text, tab + 1);
		strcpy(last, text);
	}
	rewind(f);
	if (show_matrix)
		return;
	printf("\n%-22s %-14s %-4s %-13s %6s %7s %6s\n", "threads, pages", "machine", "era",
	       "kind", "kernel", "model", "diff.");
}

/* In lines under 80 columns, broken behind one of breaks. */
static void print_wrapped(const char *text, const char *breaks)
{
	size_t column = 0, len;

	for (; *text; text += len) {
		len = strcspn(text, breaks);
		len += strspn(text + len, ", ");
		if (!column || column + len > 79)
			column = printf("%s    ", column ? "\n" : "") + 4;
		column += printf("%.*s", (int)len, text);
	}
	putchar('\n');
}

static void print_tail(void)
{
	int i;

	printf("\n%ld figures compared, %ld differ, %ld of them unexplained\n", nr_compared,
	       nr_differ, nr_unexplained);
	if (nr_cells)
		printf("%ld of %ld cells (workload, machine, era) exact: %.1f %%\n", nr_exact,
		       nr_cells, 100.0 * nr_exact / nr_cells);
	for (i = 0; i < nr_explanations; i++) {
		if (!explanations[i].used)
			continue;
		printf("\n%c: ", 'a' + i);
		print_wrapped(explanations[i].why, " ");
	}
	if (nr_reasons)
		printf("\nNot compared:\n");
	for (i = 0; i < nr_reasons; i++)
		printf("  %s\n", reasons[i]);
	if (nr_notes && show_matrix)
		return;
	if (nr_notes)
		printf("\nOne-off events beside the medians (sum of all, in how many "
		       "iterations):\n");
	for (i = 0; i < nr_notes; i++) {
		printf("  %s, %s, %s:\n", notes[i].machine, notes[i].era, notes[i].titles);
		print_wrapped(notes[i].events, ",");
	}
}

/* Four patterns and a text, separated by tabs. */
static void read_explanations(const char *path)
{
	FILE *f = fopen(path, "r");
	char text[1024];

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (fgets(text, sizeof(text), f)) {
		struct explanation *e = &explanations[nr_explanations];
		char *rest = text, **field[] = { &e->title, &e->machine, &e->era, &e->kind,
						 &e->why };

		text[strcspn(text, "\n")] = 0;
		if (text[0] == '#' || !text[0])
			continue;
		if (nr_explanations == sizeof(explanations) / sizeof(explanations[0]))
			die("%s: too many explanations", path);
		for (int i = 0; i < 5; i++) {
			char *word = i < 4 ? strsep(&rest, "\t") : rest;

			if (!word)
				die("%s: five columns were expected: %s", path, text);
			*field[i] = text_of("%s", word);
		}
		nr_explanations++;
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	static struct run run;
	FILE *f;

	if (argc > 1 && (!strcmp(argv[1], "-a") || !strcmp(argv[1], "-s"))) {
		show_all = argv[1][1] == 'a';
		show_matrix = !show_all;
		argv++;
		argc--;
	}
	if (argc != 3 && argc != 4)
		die("usage: compare [-a | -s] COUNTS.TSV TLBLAB [EXPLAINED]");
	if (argc == 4)
		read_explanations(argv[3]);
	counts_path = argv[1];
	tlblab = argv[2];
	f = fopen(counts_path, "r");
	if (!f)
		die("%s: %s", counts_path, strerror(errno));
	print_head(f);
	read_counts(f, &run);
	if (!nr_runs)
		die("%s: no counts in it", counts_path);
	if (show_matrix)
		print_matrix();
	print_tail();
	if (ferror(f) || fclose(f) || fflush(stdout))
		die("%s: %s", counts_path, strerror(errno));
	return nr_unexplained != 0;
}
