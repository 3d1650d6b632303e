// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table that people paste into mails: under 80 columns, the first column's
 * value, then each other column's with its change in per cent, as mmtests compares.
 *
 * Times are per run; instructions, interrupts and faults are per operation,
 * since that is what a reader holds against the code.
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 22
#define CELL_WIDTH 19
#define CELLS_PER_BLOCK 3
#define LINE_WIDTH 78
/* An account with less of all CPU time than this, in every column, is left out. */
#define ACCOUNT_SHOWN 0.0005

/* One block of columns: the first is always compared against, and shown first. */
struct block {
	const struct report *r;
	u32 column[CELLS_PER_BLOCK];
	u32 n;
	FILE *out;
};

/* Of a row: what to take of a column. NAN: nothing. */
typedef double (*row_fn)(const struct report_column *c, const char *metric);

static double mean_of(const struct report_column *c, const char *metric)
{
	struct stats s = column_stats(c, metric);

	return s.n ? s.mean : NAN;
}

static double sd_of(const struct report_column *c, const char *metric)
{
	struct stats s = column_stats(c, metric);

	return s.n > 1 ? s.sd : NAN;
}

/* Some come as such. */
static bool is_per_op(const char *metric)
{
	static const char suffix[] = "_per_op";
	size_t len = strlen(metric), n = sizeof(suffix) - 1;

	return len > n && !strcmp(metric + len - n, suffix);
}

/* Totals over all runs, so that short runs weigh less. */
static double per_op(const struct report_column *c, const char *metric)
{
	double ops = mean_of(c, "ops");

	if (is_per_op(metric))
		return mean_of(c, metric);
	return ops > 0 ? mean_of(c, metric) / ops : NAN;
}

/* metric is "gather.madvise": its nested ones, in per cent. */
static double nested_share(const struct report_column *c, const char *metric)
{
	char nested[METRIC_NAME_MAX + 8];
	double all = mean_of(c, metric);

	snprintf(nested, sizeof(nested), "%s_nested", metric);
	return all > 0 ? 100 * mean_of(c, nested) / all : NAN;
}

/* Four or five digits. */
static void value_text(char *buf, size_t size, double x)
{
	double a = fabs(x);

	if (isnan(x))
		snprintf(buf, size, "-");
	else if (a >= 1e9)
		snprintf(buf, size, "%.2fG", x / 1e9);
	else if (a >= 1e7)
		snprintf(buf, size, "%.1fM", x / 1e6);
	else if (a >= 1000)
		snprintf(buf, size, "%.0f", x);
	else if (a >= 100)
		snprintf(buf, size, "%.1f", x);
	else if (a >= 10)
		snprintf(buf, size, "%.2f", x);
	else if (a >= 0.001 || a == 0)
		snprintf(buf, size, "%.3f", x);
	else
		snprintf(buf, size, "%.2g", x);
}

static void change_text(char *buf, size_t size, double base, double x)
{
	double pct = 100 * (x / base - 1);

	if (isnan(pct) || isinf(pct))
		snprintf(buf, size, " ");
	else if (pct > 999)
		snprintf(buf, size, x / base < 100 ? "(x%.1f)" : "(x%.0f)", x / base);
	else
		snprintf(buf, size, "(%+.1f%%)", pct);
}

/* Is there anything but zero or nothing to show? */
static bool row_empty(const struct block *b, const char *metric, row_fn fn)
{
	for (u32 i = 0; i < b->n; i++) {
		double x = fn(&b->r->column[b->column[i]], metric);

		if (!isnan(x) && x != 0)
			return false;
	}
	return true;
}

/* Alone, the first column moves closer to its labels. */
static int first_width(const struct report *r)
{
	return r->nr_columns > 1 ? CELL_WIDTH : CELL_WIDTH - 9;
}

static void row(const struct block *b, const char *label, const char *metric,
		row_fn fn, bool change)
{
	double base = fn(&b->r->column[b->column[0]], metric);
	char line[LABEL_WIDTH + CELLS_PER_BLOCK * CELL_WIDTH + 80];
	int len = snprintf(line, sizeof(line), "%-*s", LABEL_WIDTH, label);

	for (u32 i = 0; i < b->n; i++) {
		double x = fn(&b->r->column[b->column[i]], metric);
		char value[32], pct[32] = " ";

		value_text(value, sizeof(value), x);
		if (i && change)
			change_text(pct, sizeof(pct), base, x);
		if (i)
			len += snprintf(line + len, sizeof(line) - len, "%*s %9s",
					CELL_WIDTH - 10, value, pct);
		else
			len += snprintf(line + len, sizeof(line) - len, "%*s",
					first_width(b->r), value);
	}
	while (len && line[len - 1] == ' ')
		len--;
	fprintf(b->out, "%.*s\n", len, line);
}

static void section(const struct block *b, const char *title, bool *begun)
{
	if (!*begun)
		fprintf(b->out, "\n%s\n", title);
	*begun = true;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Times, rates and what the workload itself reported. */
static bool is_headline(const char *name)
{
	return !strchr(name, '.') && strcmp(name, "ops") && strcmp(name, "wall_s");
}

static void section_times(const struct block *b, const char **names, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		if (!is_headline(names[i]))
			continue;
		row(b, names[i], names[i], mean_of, true);
		if (!row_empty(b, names[i], sd_of))
			row(b, "  sd", names[i], sd_of, false);
	}
}

static void section_accounts(const struct block *b, const char **names, u32 n)
{
	bool begun = false;

	for (u32 i = 0; i < n; i++) {
		bool shown = false;

		if (!has_prefix(names[i], "account."))
			continue;
		for (u32 c = 0; c < b->n; c++) {
			const struct report_column *col = &b->r->column[b->column[c]];
			double busy = mean_of(col, "user_s") + mean_of(col, "sys_s");

			shown |= mean_of(col, names[i]) > ACCOUNT_SHOWN * busy;
		}
		if (!shown)
			continue;
		section(b, "CPU seconds, by what they went into", &begun);
		row(b, names[i] + strlen("account."), names[i], mean_of, true);
	}
}

static bool is_count(const char *name)
{
	return has_prefix(name, "flush.") || has_prefix(name, "perf.") ||
	       has_prefix(name, "trace.") || has_prefix(name, "irq.") ||
	       !strcmp(name, "tlb.miss") || !strcmp(name, "vmstat.pgfault") ||
	       !strcmp(name, "gather.tables_freed") ||
	       !strcmp(name, "asid.rollovers") || !strcmp(name, "rwsem.sleeps");
}

static void section_counts(const struct block *b, const char **names, u32 n)
{
	char label[METRIC_NAME_MAX];
	bool begun = false;

	for (u32 i = 0; i < n; i++) {
		if (!is_count(names[i]) || row_empty(b, names[i], per_op))
			continue;
		section(b, "per operation", &begun);
		snprintf(label, sizeof(label), "%s", names[i] +
			 (has_prefix(names[i], "flush.") ? strlen("flush.") : 0));
		if (is_per_op(label))
			label[strlen(label) - strlen("_per_op")] = 0;
		row(b, label, names[i], per_op, true);
	}
}

static void section_nested(const struct block *b)
{
	static const char *const gathers[] = {
		"gather.madvise", "gather.munmap", "gather.mprotect",
	};
	bool begun = false;

	for (u32 i = 0; i < 3; i++) {
		if (row_empty(b, gathers[i], mean_of))
			continue;
		section(b, "gathers that were nested, per cent", &begun);
		row(b, gathers[i] + strlen("gather."), gathers[i], nested_share,
		    false);
	}
}

static void section_all(const struct block *b, const char **names, u32 n)
{
	bool begun = false;

	for (u32 i = 0; i < n; i++) {
		section(b, "all metrics, per run", &begun);
		row(b, names[i], names[i], mean_of, true);
	}
}

/* Text folded at blanks, later lines indented. */
static void folded(FILE *out, const char *head, const char *text)
{
	int indent = strlen(head), at = fprintf(out, "%s", head);

	while (*text) {
		int word = strcspn(text, " \n");

		if (at > indent && at + 1 + word > LINE_WIDTH)
			at = fprintf(out, "\n%*s", indent, "") - 1;
		else if (at > indent)
			at += fprintf(out, " ");
		fprintf(out, "%.*s", word, text);
		at += word;
		text += word;
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

static void header_how(const struct report *r, char *buf, size_t size)
{
	u32 runs = 0;

	for (u32 i = 0; i < r->nr_columns; i++)
		if (r->column[i].runs > runs)
			runs = r->column[i].runs;
	if (r->native)
		snprintf(buf, size, "native, %u run%s", runs, runs == 1 ? "" : "s");
	else
		snprintf(buf, size, "era %s, simulated, %u run%s, seeds from %" PRIu64
			 "%s", r->era, runs, runs == 1 ? "" : "s", r->seed,
			 r->ranges ? ", costs drawn from their ranges" : "");
}

static void header(const struct report *r, FILE *out)
{
	char buf[512];

	snprintf(buf, sizeof(buf), "%s, %u thread%s%s%s", r->workload, r->threads,
		 r->threads == 1 ? "" : "s", r->params[0] ? ", " : "", r->params);
	folded(out, "workload  ", buf);
	snprintf(buf, sizeof(buf), "%s: %s", r->machine, r->machine_summary);
	folded(out, "machine   ", buf);
	header_how(r, buf, sizeof(buf));
	snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), "; tlblab %s",
		 r->version);
	folded(out, "how       ", buf);
	if (r->partial)
		folded(out, "PARTIAL   ", "stopped before all runs had ended; what "
		       "follows is what was found so far");
}

static bool labels_fit(const struct report *r)
{
	for (u32 i = 0; i < r->nr_columns; i++)
		if (strlen(r->column[i].label) >= CELL_WIDTH)
			return false;
	return strlen(r->varied) < LABEL_WIDTH;
}

/* Too long for a heading: letters, explained once. */
static void legend(const struct report *r, FILE *out)
{
	char head[8];

	if (labels_fit(r) || r->nr_columns < 2)
		return;
	fputc('\n', out);
	for (u32 i = 0; i < r->nr_columns; i++) {
		snprintf(head, sizeof(head), "%c  ", 'A' + i);
		folded(out, head, r->column[i].label);
	}
}

static void heading(const struct block *b)
{
	bool fit = labels_fit(b->r);

	fputc('\n', b->out);
	if (b->r->nr_columns < 2)
		return;
	fprintf(b->out, "%-*s", LABEL_WIDTH, fit ? b->r->varied : "");
	for (u32 i = 0; i < b->n; i++) {
		char letter[2] = { 'A' + b->column[i], 0 };

		fprintf(b->out, "%*s", CELL_WIDTH,
			fit ? b->r->column[b->column[i]].label : letter);
	}
	fputc('\n', b->out);
}

static void block(const struct block *b, const char **names, u32 n, bool all)
{
	heading(b);
	section_times(b, names, n);
	section_accounts(b, names, n);
	section_counts(b, names, n);
	section_nested(b);
	if (all)
		section_all(b, names, n);
}

static void interval_row(const struct interval *row, FILE *out)
{
	for (u32 i = 0; i < row->n; i++) {
		double x = row->m[i].value;
		bool whole = x == (double)(s64)x && strcmp(row->m[i].name, "time_s");

		/* Six of them, and cycles of a thousand CPUs: 78 columns. */
		fprintf(out, " %12.*f", whole ? 0 : 6, x);
	}
	fputc('\n', out);
}

static void intervals(const struct report *r, FILE *out)
{
	for (u32 c = 0; c < r->nr_columns; c++) {
		const struct report_column *col = &r->column[c];

		for (u32 run = 0; run < col->runs; run++) {
			const struct metrics *ms = &col->run[run];

			if (!ms->nr_intervals)
				continue;
			fprintf(out, "\nintervals of %s, run %u\n", col->label, run + 1);
			for (u32 i = 0; i < ms->interval[0].n; i++)
				fprintf(out, " %12s", ms->interval[0].m[i].name);
			fputc('\n', out);
			for (u32 i = 0; i < ms->nr_intervals; i++)
				interval_row(&ms->interval[i], out);
		}
	}
}

static void verdict(FILE *out, const char *metric, const char *line)
{
	char head[METRIC_NAME_MAX];

	snprintf(head, sizeof(head), "%-10s", metric);
	if (strlen(metric) >= 10)
		snprintf(head, sizeof(head), "%s  ", metric);
	folded(out, head, line);
}

static void verdict_native(const struct report *r, u32 i, const char *metric,
			   FILE *out)
{
	const struct report_column *a = &r->column[0], *c = &r->column[i];
	double *x = calloc(a->runs + 1, sizeof(*x));
	double *y = calloc(c->runs + 1, sizeof(*y));
	char line[300];
	u32 n, m;

	if (!x || !y)
		abort();
	n = column_values(a, metric, x);
	m = column_values(c, metric, y);
	if (n > 1 && m > 1) {
		snprintf(line, sizeof(line), "%s against %s: p = %.2g (Welch), "
			 "%.2g (Mann-Whitney)", c->label, a->label,
			 welch_p(x, n, y, m), mann_whitney_p(x, n, y, m));
		verdict(out, metric, line);
	}
	free(x);
	free(y);
}

static void verdict_ranges(const struct report *r, u32 i, const char *metric,
			   FILE *out)
{
	struct effect e = column_effect(r, i, metric);
	char line[300];

	if (!e.n)
		return;
	snprintf(line, sizeof(line), "%s: %+.1f %%, from %+.1f to %+.1f %% over %u "
		 "draws: %s", r->column[i].label, 100 * e.mid, 100 * e.lo,
		 100 * e.hi, e.n, e.n < EFFECT_MIN_RUNS ? "too few to say" :
		 e.differs ? "differs" : "does not differ");
	verdict(out, metric, line);
}

/* Whether columns differ, or what it takes to say so. */
static void verdicts(const struct report *r, FILE *out)
{
	static const char *const asked[] = { "real_s", "sys_s", "chase_loads_per_s" };

	if (r->nr_columns < 2)
		return;
	if (!r->native && !r->ranges) {
		fputc('\n', out);
		folded(out, "note  ", "whether simulated columns differ is for --ranges "
		       "to say: it varies the costs that are fitted or estimated, "
		       "seeds do not");
		return;
	}
	fprintf(out, "\n%s\n", r->native ? "do they differ?" :
		"do they differ, by more than 1 %, over seeds and ranges of costs?");
	for (u32 i = 1; i < r->nr_columns; i++) {
		for (u32 k = 0; k < 3; k++) {
			if (r->native)
				verdict_native(r, i, asked[k], out);
			else
				verdict_ranges(r, i, asked[k], out);
		}
	}
}

void report_text(const struct report *r, bool all_metrics, FILE *out)
{
	struct block b = { .r = r, .out = out };
	const char **names;
	u32 n;

	header(r, out);
	legend(r, out);
	names = metric_names(r, &n);
	for (u32 next = 0; next < r->nr_columns;) {
		b.n = 0;
		if (next)
			b.column[b.n++] = 0;
		while (b.n < CELLS_PER_BLOCK && next < r->nr_columns)
			b.column[b.n++] = next++;
		block(&b, names, n, all_metrics);
	}
	intervals(r, out);
	verdicts(r, out);
	if (r->nr_notes && (r->nr_columns < 2 || r->native || r->ranges))
		fputc('\n', out);
	for (u32 i = 0; i < r->nr_notes; i++)
		folded(out, "note  ", r->note[i]);
	free(names);
}
