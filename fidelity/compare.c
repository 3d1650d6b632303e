// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * compare [-a] COUNTS.TSV TLBLAB: prints what real kernels were counted to do
 * beside what tlblab predicts. COUNTS.TSV is run.sh's (docs/fidelity.md has its
 * columns); TLBLAB is the command, run once per machine and workload.
 *
 * What is compared is one iteration: the kernel's median, and the total predicted,
 * divided. A prediction that is not to be had (no TLBLAB, a machine or workload that
 * it does not know) is "-", and its reason is a note; it is no failure.
 *
 * Exit status: 0, or 1 if a prediction differs, or 2 if something could not be read.
 */
#include <errno.h>
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
#define ERA "6.1"

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
	unsigned long threads, touch, iterations; /* of all threads */
	struct row rows[KINDS_MAX];
	int nr_rows;
	json_t *metrics;	/* of the prediction, or NULL */
	char title[2 * NAME_MAX_];
};

static bool show_all;
static const char *counts_path, *tlblab;
static struct note {
	char machine[NAME_MAX_];
	char *titles;	/* "dontneed touch=1, 2, 3" */
	char *events;
} notes[NOTES_MAX];			/* one-off events, in order */
static int nr_notes;
static char *reasons[NOTES_MAX];	/* why something is not compared, distinct */
static int nr_reasons;
static long nr_runs, nr_compared, nr_differ;

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

static int run_tlblab(const struct run *r, char **text, size_t *len)
{
	char threads[32], iterations[48], touch[48];
	char *argv[32] = {
		(char *)tlblab, "run", (char *)r->workload, "-m", (char *)r->machine,
		"--era", ERA, "-t", threads, "-f", "json", "-p", "hint=" HINT,
		"-p", iterations, "-p", touch,
	};
	int n = 17;

	snprintf(threads, sizeof(threads), "%lu", r->threads);
	snprintf(iterations, sizeof(iterations), "iterations=%lu",
		 r->iterations / r->threads);
	snprintf(touch, sizeof(touch), "touch=%lu", r->touch);
	if (r->threads > 1) {
		argv[n++] = "-p";
		argv[n++] = "order=turns";
		argv[n++] = "--pin";
	}
	return run_command(argv, text, len);
}

/*
 * Fills r->metrics. Refused input (exit 2) is a prediction that is not to be
 * had; anything else unexpected is an error.
 */
static void predict(struct run *r)
{
	json_error_t error;
	json_t *root, *metrics;
	char *text, *brace;
	size_t len;
	int status;

	if (access(tlblab, X_OK)) {
		note_missing(text_of("%s is not there: not built yet?", tlblab));
		return;
	}
	status = run_tlblab(r, &text, &len);
	if (status == 2) {
		note_missing(text_of("%s: %s", r->machine, text));
		free(text);
		return;
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
	r->metrics = json_incref(metrics);
	json_decref(root);
	free(text);
}

static double metric(const struct run *r, const char *kind)
{
	char name[64];

	snprintf(name, sizeof(name), "flush.%s", kind);
	return json_number_value(
		json_object_get(json_object_get(r->metrics, name), "mean"));
}

/*
 * The total predicted of a kind. A kind that a prediction does not name does not
 * occur in it. The plugin cannot see whether a CR3 write flushes.
 */
static double predicted_total(const struct run *r, const char *kind)
{
	if (!strcmp(kind, "cr3"))
		return metric(r, "cr3") + metric(r, "cr3_noflush");
	return metric(r, kind);
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
		if (!kind || metric(r, kind) == 0)
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

static void print_row(const struct run *r, const struct row *row, bool *first)
{
	char counted[32], predicted[32] = "-", difference[32] = "-";
	bool compared = r->metrics && !of_no_flush(row->kind);
	double diff = 0, value = 0;

	if (compared) {
		value = predicted_total(r, row->kind) / r->iterations;
		diff = value - row->median;
	}
	if (!row->median && value == 0 && !show_all)
		return;
	if (!show_all && of_no_flush(row->kind))
		return;
	format_number(counted, sizeof(counted), row->median);
	if (compared) {
		format_number(predicted, sizeof(predicted), value);
		format_number(difference, sizeof(difference), diff);
		nr_compared++;
		nr_differ += fabs(diff) >= 0.0005;
	}
	printf("%-18s %-14s %-15s %8s %9s %10s\n", *first ? r->title : "",
	       *first ? r->machine : "", row->kind, counted, predicted, difference);
	*first = false;
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

/* Runs of one workload that differ only in touch= share a note. */
static void note_one_offs(const struct run *r)
{
	struct note *last = nr_notes ? &notes[nr_notes - 1] : NULL;
	char *events = one_off_events(r), *titles;
	const char *touch = strstr(r->title, "touch=");

	if (!events)
		return;
	if (last && touch && strstr(last->titles, "touch=") &&
	    !strcmp(last->machine, r->machine) && !strcmp(last->events, events)) {
		titles = text_of("%s, %s", last->titles, touch + strlen("touch="));
		free(last->titles);
		last->titles = titles;
		free(events);
		return;
	}
	if (nr_notes == NOTES_MAX)
		die("more than %d notes", NOTES_MAX);
	last = &notes[nr_notes++];
	strcpy(last->machine, r->machine);
	last->titles = text_of("%s", r->title);
	last->events = events;
}

static void finish_run(struct run *r)
{
	bool first = true;
	int i;

	if (!r->nr_rows)
		return;
	nr_runs++;
	predict(r);
	add_predicted_kinds(r);
	for (i = 0; i < r->nr_rows; i++)
		print_row(r, &r->rows[i], &first);
	note_one_offs(r);
	json_decref(r->metrics);
	r->metrics = NULL;
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

#define COLUMNS 12

/* machine kernel workload threads touch iterations kind median total odd min max */
static void take_row(struct run *r, char *const *f, int line)
{
	unsigned long threads = number(f[3], line), touch = number(f[4], line);
	struct row *row;

	if (strcmp(r->machine, f[0]) || strcmp(r->workload, f[2]) ||
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
		if (!strcmp(r->workload, "dontneed"))
			snprintf(r->title, sizeof(r->title), "dontneed touch=%lu", touch);
		else
			snprintf(r->title, sizeof(r->title), "%s -t %lu",
				 r->workload, threads);
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

/* "arch kernel" of each machine, as lines over the table. */
static void print_head(FILE *f)
{
	char text[512], machine[512] = "", *p, *kernel;

	printf("Instructions of an iteration: counted in Debian's kernels under QEMU,\n"
	       "predicted by tlblab --era %s; difference = predicted - counted.\n\n",
	       ERA);
	while (fgets(text, sizeof(text), f)) {
		if (text[0] == '#' || !(p = strchr(text, '\t')))
			continue;
		*p = 0;
		kernel = p + 1;
		kernel[strcspn(kernel, "\t\n")] = 0;
		if (strcmp(machine, text))
			printf("  %-16s Linux %s\n", text, kernel);
		strcpy(machine, text);
	}
	rewind(f);
	printf("\n%-18s %-14s %-15s %8s %9s %10s\n", "workload", "machine", "kind",
	       "counted", "predicted", "difference");
}

/* Words that ", " joins, in lines under 80 columns. */
static void print_wrapped(const char *text)
{
	size_t column = 0, len;

	for (; *text; text += len) {
		len = strcspn(text, ",");
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

	printf("\n%ld compared, %ld differ\n", nr_compared, nr_differ);
	if (nr_reasons)
		printf("\nNot compared:\n");
	for (i = 0; i < nr_reasons; i++)
		printf("  %s\n", reasons[i]);
	if (nr_notes)
		printf("\nOne-off events beside the medians (sum of all, in how many "
		       "iterations):\n");
	for (i = 0; i < nr_notes; i++) {
		printf("  %s, %s:\n", notes[i].machine, notes[i].titles);
		print_wrapped(notes[i].events);
	}
}

int main(int argc, char **argv)
{
	static struct run run;
	FILE *f;

	if (argc == 4 && !strcmp(argv[1], "-a")) {
		show_all = true;
		argv++;
		argc--;
	}
	if (argc != 3)
		die("usage: compare [-a] COUNTS.TSV TLBLAB");
	counts_path = argv[1];
	tlblab = argv[2];
	f = fopen(counts_path, "r");
	if (!f)
		die("%s: %s", counts_path, strerror(errno));
	print_head(f);
	read_counts(f, &run);
	if (!nr_runs)
		die("%s: no counts in it", counts_path);
	print_tail();
	if (ferror(f) || fclose(f) || fflush(stdout))
		die("%s: %s", counts_path, strerror(errno));
	return nr_differ != 0;
}
