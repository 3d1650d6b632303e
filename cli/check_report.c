// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/knobs.h"

#define LABEL_MAX 400

struct check_report {
	const struct check_args *args;
	FILE *out;
	u32 total, n, good, skipped;
	json_t *results;
};

static const char *const verdict_names[] = {
	[CHECK_PASS] = "pass", [CHECK_VIOLATION] = "violation",
	[CHECK_INCONCLUSIVE] = "inconclusive", [CHECK_SKIPPED] = "skipped",
};

static const char *const strategy_names[] = {
	[XSTRATEGY_SYSTEMATIC] = "systematic", [XSTRATEGY_PCT] = "pct",
	[XSTRATEGY_RANDOM] = "random",
};

bool check_as_expected(const struct check *c, enum check_verdict verdict,
		       enum xrule rule)
{
	switch (verdict) {
	case CHECK_PASS:
		return !c->violation;
	case CHECK_VIOLATION:
		/* What can be written by a stale translation can be read by it. */
		return c->violation && (!c->rule || c->rule == rule ||
					(c->rule == XRULE_STALE_READ &&
					 rule == XRULE_STALE_WRITE));
	case CHECK_SKIPPED:
		return true;
	default:
		return false;
	}
}

/* "two-zappers, x86, mmu_gather.nested=ignore" */
static void label(const struct check *c, char text[LABEL_MAX])
{
	char shown[CHECK_SHOWN_MAX], era[SC_NAME_SIZE + 8] = "";

	check_shown_text(c, shown);
	if (strcmp(c->era, CHECK_DEFAULT_ERA))
		snprintf(era, sizeof(era), ", era %s", c->era);
	snprintf(text, LABEL_MAX, "%s, %s%s%s%s", c->name, sc_arch_names[c->arch],
		 era, *shown ? ", " : "", shown);
}

/* What the verdict rests on. */
static void basis(const struct check_report *r, const struct check_outcome *o,
		  char *text, size_t size)
{
	char figures[80];

	snprintf(figures, sizeof(figures), "%" PRIu64 " schedule%s in %.1f s",
		 o->schedules, o->schedules == 1 ? "" : "s", o->seconds);
	if (o->verdict == CHECK_PASS)
		snprintf(text, size, "complete to %u preemption%s; %s", o->bound,
			 o->bound == 1 ? "" : "s", figures);
	else if (o->verdict == CHECK_VIOLATION)
		snprintf(text, size, "%s", figures);
	else if (o->stopped)
		snprintf(text, size, "stopped; %s", figures);
	else
		snprintf(text, size, "%s: the budget ended after %s",
			 strategy_names[r->args->strategy], figures);
}

/* ------------------------------------------------------------------- text */

static void text_verdict(const struct check_outcome *o, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", verdict_names[o->verdict],
		 o->verdict == CHECK_VIOLATION ? " " : "",
		 o->verdict == CHECK_VIOLATION ? xrule_name(o->rule) : "");
}

static void text_all_knobs(const struct check *c, FILE *out)
{
	const struct core_module *m = c->core->module;
	int at = 0;

	for (u32 i = 0; m->knobs[i]; i++) {
		char value[KNOB_TEXT_MAX];
		int len;

		knob_text(m->knobs[i], c->knobs[i], value);
		len = strlen(m->knobs[i]->name) + strlen(value) + 2;
		if (!at || at + len > 78)
			at = fprintf(out, "%s   ", at ? "\n" : "") - !!at;
		at += fprintf(out, " %s=%s", m->knobs[i]->name, value);
	}
	fputc('\n', out);
}

static void add_text(struct check_report *r, const struct check *c,
		     const struct check_outcome *o)
{
	char name[LABEL_MAX], verdict[64], expected[CHECK_EXPECTED_MAX], why[200];

	label(c, name);
	if (o->verdict == CHECK_SKIPPED) {
		fprintf(r->out, "%s: skipped, no core for it was built\n", name);
		return;
	}
	text_verdict(o, verdict, sizeof(verdict));
	check_expected_text(c, expected);
	basis(r, o, why, sizeof(why));
	if (o->as_expected)
		fprintf(r->out, "%s: %s%s (%s)\n", name, verdict,
			c->violation ? ", as expected" : "", why);
	else
		fprintf(r->out, "%s: %s; EXPECTED %s (%s)\n", name, verdict, expected,
			why);
	if (*o->why)
		fprintf(r->out, "    %s\n", o->why);
	if (r->args->verbose && c->core)
		text_all_knobs(c, r->out);
	for (u32 i = 0; i < o->nr_story; i++)
		fprintf(r->out, "    %s\n", o->story[i]);
	if (*o->id)
		fprintf(r->out, "    step by step: tlblab replay %s\n", o->id);
}

static void end_text(struct check_report *r, bool stopped)
{
	u32 made = r->n - r->skipped;

	if (r->total == 1 && !stopped)
		return;
	fprintf(r->out, "%u of %u check%s as expected", r->good, made,
		made == 1 ? "" : "s");
	if (r->skipped)
		fprintf(r->out, ", %u skipped", r->skipped);
	if (stopped)
		fprintf(r->out, "; stopped, %u not begun", r->total - r->n);
	fputc('\n', r->out);
}

/* ------------------------------------------------------------------- JSON */

static json_t *json_options(const struct check *c)
{
	struct check_model_setting set[CHECK_MAX_OPTIONS];
	u32 n = check_model_settings(c->model, c->run, set);
	json_t *o = json_object();

	for (u32 i = 0; i < n; i++)
		json_object_set_new(o, set[i].name, json_string(set[i].value));
	return o;
}

static json_t *json_knobs(const struct check *c)
{
	json_t *o = json_object();

	for (u32 i = 0; c->core->module->knobs[i]; i++) {
		char value[KNOB_TEXT_MAX];

		if (!(c->set[i / 64] >> i % 64 & 1))
			continue;
		knob_text(c->core->module->knobs[i], c->knobs[i], value);
		json_object_set_new(o, c->core->module->knobs[i]->name,
				    json_string(value));
	}
	return o;
}

static void add_json(struct check_report *r, const struct check *c,
		     const struct check_outcome *o)
{
	char expected[CHECK_EXPECTED_MAX];
	json_t *story;

	if (o->verdict == CHECK_SKIPPED)
		return;
	check_expected_text(c, expected);
	story = json_array();
	for (u32 i = 0; i < o->nr_story; i++)
		json_array_append_new(story, json_string(o->story[i]));
	json_array_append_new(r->results, json_pack(
		"{s:s, s:s, s:s, s:o, s:s, s:s, s:s?, s:i, s:b, s:I, s:f, s:s?, s:o}",
		"scenario", c->name, "arch", sc_arch_names[c->arch],
		"era", c->era, "knobs", c->model ? json_options(c) : json_knobs(c), "expected", expected,
		"verdict", verdict_names[o->verdict],
		"rule", o->verdict == CHECK_VIOLATION ? xrule_name(o->rule) : NULL,
		"bound", (int)o->bound, "complete", (int)o->complete,
		"schedules", (json_int_t)o->schedules, "seconds", o->seconds,
		"id", *o->id ? o->id : NULL, "story", story));
}

static void end_json(struct check_report *r)
{
	json_t *o = json_pack("{s:s, s:o}", "tool", "tlblab", "results", r->results);

	json_dumpf(o, r->out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	fputc('\n', r->out);
	json_decref(o);
}

/* ------------------------------------------------------------------- KTAP */

static void add_ktap(struct check_report *r, const struct check *c,
		     const struct check_outcome *o)
{
	char name[LABEL_MAX], verdict[64], expected[CHECK_EXPECTED_MAX], why[200];

	label(c, name);
	text_verdict(o, verdict, sizeof(verdict));
	check_expected_text(c, expected);
	if (o->verdict == CHECK_SKIPPED) {
		fprintf(r->out, "ok %u %s # SKIP no core for it was built\n", r->n, name);
		return;
	}
	basis(r, o, why, sizeof(why));
	fprintf(r->out, "# %s, expected %s (%s)\n", verdict, expected, why);
	if (*o->why)
		fprintf(r->out, "# %s\n", o->why);
	for (u32 i = 0; i < o->nr_story; i++)
		fprintf(r->out, "# %s\n", o->story[i]);
	if (*o->id)
		fprintf(r->out, "# tlblab replay %s\n", o->id);
	fprintf(r->out, "%s %u %s\n", o->as_expected ? "ok" : "not ok", r->n, name);
}

/* -------------------------------------------------------------------- all */

struct check_report *check_report_begin(const struct check_args *args, u32 total,
					FILE *out)
{
	struct check_report *r = zalloc(1, sizeof(*r));

	*r = (struct check_report){ .args = args, .out = out, .total = total };
	if (args->format == CHECK_JSON)
		r->results = json_array();
	if (args->format == CHECK_KTAP)
		fprintf(out, "KTAP version 1\n1..%u\n", total);
	return r;
}

void check_report_add(struct check_report *r, const struct check *c,
		      const struct check_outcome *o)
{
	r->n++;
	r->skipped += o->verdict == CHECK_SKIPPED;
	r->good += o->as_expected && o->verdict != CHECK_SKIPPED;
	switch (r->args->format) {
	case CHECK_TEXT:
		add_text(r, c, o);
		break;
	case CHECK_JSON:
		add_json(r, c, o);
		break;
	case CHECK_KTAP:
		add_ktap(r, c, o);
		break;
	}
	fflush(r->out);
}

void check_report_end(struct check_report *r, bool stopped)
{
	switch (r->args->format) {
	case CHECK_TEXT:
		end_text(r, stopped);
		break;
	case CHECK_JSON:
		end_json(r);
		break;
	case CHECK_KTAP:
		if (stopped)
			fprintf(r->out, "Bail out! stopped, %u checks not begun\n",
				r->total - r->n);
		break;
	}
	free(r);
}
