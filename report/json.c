// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON. Keys come in the order written here; figures have six significant digits, except
 * that whole numbers (counts) are written whole.
 */
#include "report/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

static json_t *figure(double x)
{
	if (x > -9e15 && x < 9e15 && x == (double)(json_int_t)x)
		return json_integer((json_int_t)x);
	return json_real(round_six(x));
}

static json_t *settings(const struct report_setting *s, u32 n)
{
	json_t *o = json_object();

	for (u32 i = 0; i < n; i++)
		json_object_set_new(o, s[i].name, json_string(s[i].value));
	return o;
}

static json_t *metric(const struct report_column *c, const char *name)
{
	double *x = calloc(c->runs + 1, sizeof(*x));
	json_t *o = json_object(), *samples = json_array();
	struct stats s;
	u32 n;

	if (!x)
		abort();
	n = column_values(c, name, x);
	s = stats_of(x, n);
	for (u32 i = 0; i < n; i++)
		json_array_append_new(samples, figure(x[i]));
	json_object_set_new(o, "mean", figure(s.mean));
	json_object_set_new(o, "sd", figure(s.sd));
	json_object_set_new(o, "n", json_integer(n));
	json_object_set_new(o, "samples", samples);
	free(x);
	return o;
}

static json_t *metrics(const struct report *r, const struct report_column *c)
{
	const char **names;
	json_t *o = json_object();
	u32 n;

	names = metric_names(r, &n);
	for (u32 i = 0; i < n; i++)
		if (column_stats(c, names[i]).n)
			json_object_set_new(o, names[i], metric(c, names[i]));
	free(names);
	return o;
}

static json_t *effects(const struct report *r, u32 column)
{
	json_t *o = json_object();

	for (u32 i = 0; headline_metrics[i]; i++) {
		struct effect e = column_effect(r, column, headline_metrics[i]);
		json_t *m;

		if (!e.n)
			continue;
		m = json_object();
		json_object_set_new(m, "change", figure(e.mid));
		json_object_set_new(m, "lo", figure(e.lo));
		json_object_set_new(m, "hi", figure(e.hi));
		json_object_set_new(m, "n", json_integer(e.n));
		json_object_set_new(m, "differs", json_boolean(e.differs));
		json_object_set_new(o, headline_metrics[i], m);
	}
	return o;
}

/* One array for each run, of one object for each interval; NULL: there are none. */
static json_t *intervals(const struct report_column *c)
{
	json_t *runs = json_array();
	u32 n = 0;

	for (u32 run = 0; run < c->runs; run++) {
		const struct metrics *ms = &c->run[run];
		json_t *rows = json_array();

		for (u32 i = 0; i < ms->nr_intervals; i++) {
			const struct interval *row = &ms->interval[i];
			json_t *o = json_object();

			for (u32 k = 0; k < row->n; k++)
				json_object_set_new(o, row->m[k].name, figure(row->m[k].value));
			json_array_append_new(rows, o);
		}
		n += ms->nr_intervals;
		json_array_append_new(runs, rows);
	}
	if (n)
		return runs;
	json_decref(runs);
	return NULL;
}

static json_t *column(const struct report *r, u32 i)
{
	json_t *rows = intervals(&r->column[i]);
	const struct report_column *c = &r->column[i];
	json_t *o = json_object();
	char digest[20];

	json_object_set_new(o, "label", json_string(c->label));
	json_object_set_new(o, "knobs", settings(c->knob, c->nr_knobs));
	json_object_set_new(o, "core", json_string(c->core));
	json_object_set_new(o, "params", settings(c->param, c->nr_params));
	if (!r->native) {
		snprintf(digest, sizeof(digest), "%016" PRIx64, column_digest(c));
		json_object_set_new(o, "digest", json_string(digest));
	}
	json_object_set_new(o, "metrics", metrics(r, c));
	if (rows)
		json_object_set_new(o, "intervals", rows);
	if (r->ranges && i)
		json_object_set_new(o, "effects", effects(r, i));
	return o;
}

void report_json(const struct report *r, FILE *out)
{
	json_t *o = json_object(), *columns = json_array(), *notes = json_array();

	json_object_set_new(o, "tool", json_string("tlblab"));
	json_object_set_new(o, "version", json_string(r->version));
	json_object_set_new(o, "workload", json_string(r->workload));
	json_object_set_new(o, "machine", json_string(r->machine));
	json_object_set_new(o, "era", r->era ? json_string(r->era) : json_null());
	json_object_set_new(o, "threads", json_integer(r->threads));
	json_object_set_new(o, "seed", json_integer(r->seed));
	json_object_set_new(o, "ranges", json_boolean(r->ranges));
	json_object_set_new(o, "partial", json_boolean(r->partial));
	for (u32 i = 0; i < r->nr_columns; i++)
		json_array_append_new(columns, column(r, i));
	json_object_set_new(o, "columns", columns);
	for (u32 i = 0; i < r->nr_notes; i++)
		json_array_append_new(notes, json_string(r->note[i]));
	json_object_set_new(o, "notes", notes);
	json_dumpf(o, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	fputc('\n', out);
	json_decref(o);
}
