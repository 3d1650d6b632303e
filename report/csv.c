// SPDX-License-Identifier: GPL-2.0-or-later
/* CSV (RFC 4180 but for the line ends): one line per column and metric. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static void field(const char *s, FILE *out)
{
	if (!s[strcspn(s, ",\"\r\n")]) {
		fprintf(out, "%s,", s);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputs("\",", out);
}

/* Six significant digits; whole numbers whole, as in JSON. */
static void figure(double x, const char *end, FILE *out)
{
	if (x > -9e15 && x < 9e15 && x == (double)(s64)x)
		fprintf(out, "%.0f%s", x, end);
	else
		fprintf(out, "%.6g%s", x, end);
}

static void line_head(const struct report *r, const struct report_column *c,
		      const char *metric, FILE *out)
{
	field(r->workload, out);
	field(r->machine, out);
	field(r->era ? r->era : "", out);
	field(c->core, out);
	field(c->label, out);
	field(metric, out);
}

static void line(const struct report *r, const struct report_column *c,
		 const char *metric, FILE *out)
{
	struct stats s = column_stats(c, metric);

	if (!s.n)
		return;
	line_head(r, c, metric, out);
	fprintf(out, "%u,", s.n);
	figure(s.mean, ",", out);
	figure(s.sd, "\n", out);
}

/*
 * "interval.RUN.END_S.NAME" as the metric: a figure of one interval of one run (from 1),
 * with the time of its end.
 */
static void interval_lines(const struct report *r, const struct report_column *c, u32 run,
			   FILE *out)
{
	for (u32 i = 0; i < c->run[run].nr_intervals; i++) {
		const struct interval *row = &c->run[run].interval[i];

		for (u32 k = 1; k < row->n; k++) {
			char metric[METRIC_NAME_MAX + 64];

			snprintf(metric, sizeof(metric), "interval.%u.%.6f.%s", run + 1,
				 row->m[0].value, row->m[k].name);
			line_head(r, c, metric, out);
			fputs("1,", out);
			figure(row->m[k].value, ",", out);
			fputs("0\n", out);
		}
	}
}

void report_csv(const struct report *r, FILE *out)
{
	const char **names;
	u32 n;

	fputs("workload,machine,era,core,column,metric,n,mean,sd\n", out);
	names = metric_names(r, &n);
	for (u32 c = 0; c < r->nr_columns; c++)
		for (u32 i = 0; i < n; i++)
			line(r, &r->column[c], names[i], out);
	for (u32 c = 0; c < r->nr_columns; c++)
		for (u32 run = 0; run < r->column[c].runs; run++)
			interval_lines(r, &r->column[c], run, out);
	free(names);
}
