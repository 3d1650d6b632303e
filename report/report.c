// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const headline_metrics[] = {
	"real_s", "user_s", "sys_s", "ops_per_s", "chase_loads_per_s", NULL,
};

/* Equal but for their digits? */
static bool same_note(const char *a, const char *b)
{
	for (;;) {
		while (*a >= '0' && *a <= '9')
			a++;
		while (*b >= '0' && *b <= '9')
			b++;
		if (*a != *b)
			return false;
		if (!*a++)
			return true;
		b++;
	}
}

void report_note(struct report *r, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (u32 i = 0; i < r->nr_notes; i++)
		if (same_note(r->note[i], text))
			return;
	if (r->nr_notes == REPORT_MAX_NOTES)
		return;
	r->note[r->nr_notes] = strdup(text);
	if (!r->note[r->nr_notes++])
		abort();
}

void report_free(struct report *r)
{
	for (u32 i = 0; i < r->nr_notes; i++)
		free(r->note[i]);
	for (u32 i = 0; i < r->nr_columns; i++) {
		free(r->column[i].knob);
		free(r->column[i].param);
		for (u32 run = 0; r->column[i].run && run < r->column[i].runs; run++)
			metrics_free(&r->column[i].run[run]);
		free(r->column[i].run);
	}
	r->nr_notes = r->nr_columns = 0;
}

static const double *metric_find(const struct metrics *ms, const char *name)
{
	for (u32 i = 0; i < ms->n; i++)
		if (!strcmp(ms->m[i].name, name))
			return &ms->m[i].value;
	return NULL;
}

u32 column_values(const struct report_column *c, const char *metric, double *x)
{
	u32 n = 0;

	for (u32 i = 0; i < c->runs; i++) {
		const double *v = metric_find(&c->run[i], metric);

		if (v)
			x[n++] = *v;
	}
	return n;
}

static double *room(u32 n)
{
	double *x = calloc(n + 1, sizeof(*x));

	if (!x)
		abort();
	return x;
}

struct stats column_stats(const struct report_column *c, const char *metric)
{
	double *x = room(c->runs);
	struct stats s = stats_of(x, column_values(c, metric, x));

	free(x);
	return s;
}

struct effect column_effect(const struct report *r, u32 i, const char *metric)
{
	const struct report_column *a = &r->column[0], *b = &r->column[i];
	double *x = room(a->runs), *y = room(a->runs);
	struct effect e;
	u32 n = 0;

	for (u32 run = 0; run < a->runs && run < b->runs; run++) {
		const double *va = metric_find(&a->run[run], metric);
		const double *vb = metric_find(&b->run[run], metric);

		if (!va || !vb)
			continue;
		x[n] = *va;
		y[n++] = *vb;
	}
	e = effect_of(x, y, n);
	free(x);
	free(y);
	return e;
}

static bool name_listed(const char **names, u32 n, const char *name)
{
	for (u32 i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

const char **metric_names(const struct report *r, u32 *n)
{
	const char **names = NULL;
	u32 size = 0;

	*n = 0;
	for (u32 c = 0; c < r->nr_columns; c++) {
		for (u32 i = 0; i < r->column[c].runs; i++) {
			const struct metrics *ms = &r->column[c].run[i];

			for (u32 k = 0; k < ms->n; k++) {
				if (name_listed(names, *n, ms->m[k].name))
					continue;
				if (*n == size) {
					size += METRICS_MAX;
					names = realloc(names, size * sizeof(*names));
					if (!names)
						abort();
				}
				names[(*n)++] = ms->m[k].name;
			}
		}
	}
	return names;
}

u64 column_digest(const struct report_column *c)
{
	u64 digest = 0xcbf29ce484222325ULL; /* FNV-1a, by words */

	if (c->runs == 1)
		return c->run[0].digest;
	for (u32 i = 0; i < c->runs; i++)
		digest = (digest ^ c->run[i].digest) * 0x100000001b3ULL;
	return digest;
}
