// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/plan.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/knobs.h"
#include "cli/params.h"
#include "machine/desc_yaml.h"

#define DEFAULT_ERA "6.12"

/* ---------------------------------------------------------------- columns */

/*
 * Columns are the cross product of cores, parameters with several values and
 * knobs with several values; the last varies fastest. A dimension is one of them.
 */
struct dimension {
	const struct assignment *a;	/* NULL: cores */
	u32 n;
};

#define DIMENSIONS_MAX (1 + WL_MAX_PARAMS + TLBLAB_MAX_KNOBS)

static u32 dimensions(const struct run_args *args, struct dimension *d)
{
	u32 n = 0;

	if (args->nr_cores > 1)
		d[n++] = (struct dimension){ NULL, args->nr_cores };
	for (u32 i = 0; i < args->nr_params; i++)
		if (args->param[i].n > 1)
			d[n++] = (struct dimension){ &args->param[i], args->param[i].n };
	for (u32 i = 0; i < args->nr_set; i++)
		if (args->set[i].n > 1)
			d[n++] = (struct dimension){ &args->set[i], args->set[i].n };
	return n;
}

static u32 count_columns(const struct run_args *args)
{
	struct dimension d[DIMENSIONS_MAX];
	u32 n = dimensions(args, d), product = 1;

	for (u32 i = 0; i < n; i++) {
		product *= d[i].n;
		if (product > TLBLAB_MAX_COLUMNS)
			die("more than %d columns", TLBLAB_MAX_COLUMNS);
	}
	return product;
}

/* Which value of a (or, NULL, which core) column has. */
static u32 choice(const struct run_args *args, u32 column,
		  const struct assignment *a)
{
	struct dimension d[DIMENSIONS_MAX];
	u32 n = dimensions(args, d);

	for (u32 i = n; i-- > 0;) {
		if (d[i].a == a)
			return column % d[i].n;
		column /= d[i].n;
	}
	return 0;
}

static void resolve_params(struct plan *p, u32 column)
{
	const struct workload *w = p->workload;
	struct plan_column *c = &p->column[column];

	for (u32 i = 0; w->params[i].name; i++)
		c->param[i] = w->params[i].def;
	for (u32 i = 0; i < p->args->nr_params; i++) {
		const struct assignment *a = &p->args->param[i];
		u32 index = param_find(w, a->name);

		c->param[index] = param_parse(&w->params[index],
					      a->value[choice(p->args, column, a)]);
	}
}

static void resolve_knobs(struct plan *p, u32 column)
{
	struct plan_column *c = &p->column[column];
	const struct core_module *module;

	c->core = &p->core[choice(p->args, column, NULL)];
	module = c->core->module;
	knobs_count(module);
	knobs_resolve(c->core, era_find(module, p->era), p->desc, c->knobs);
	for (u32 i = 0; i < p->args->nr_set; i++) {
		const struct assignment *a = &p->args->set[i];
		u32 index = knobs_find(module, a->name);

		c->knobs[index] = knob_parse(module->knobs[index],
			a->value[choice(p->args, column, a)], "-s");
	}
}

/* --------------------------------------------------------------- machines */

static void plan_native(struct plan *p)
{
	struct utsname u;

	p->native = true;
	if (p->args->nr_set)
		die("-s %s: the host's kernel has no knobs; name a machine (-m)",
		    p->args->set[0].name);
	if (p->args->era)
		die("--era %s: the host's kernel is what it is; name a machine (-m)",
		    p->args->era);
	if (p->args->nr_cores)
		die("--core %s: cores run on simulated machines; name one (-m)",
		    p->args->core[0].name);
	if (p->args->interval_ps)
		die("--interval: on this host, `perf stat -I' does it; name a machine (-m)");
	if (p->args->ranges)
		die("--ranges: this host's costs are its own; name a machine (-m)");
	if (uname(&u))
		die("uname failed");
	snprintf(p->summary, sizeof(p->summary), "%.20s %.80s %.20s, %ld CPUs",
		 u.sysname, u.release, u.machine, sysconf(_SC_NPROCESSORS_ONLN));
}

static void load_core(struct plan *p, const struct assignment *a)
{
	struct core *c = &p->core[p->nr_cores++];

	if (a)
		core_load_file(c, a->name, a->value[0]);
	else if (!core_load_arch(c, p->desc->arch))
		die("no core for %s beside this program or in its library folder",
		    p->desc->arch);
	if (strcmp(c->module->arch, p->desc->arch))
		die("core %s is for %s, machine %s is %s", c->name,
		    c->module->arch, p->desc->name, p->desc->arch);
}

static void plan_simulated(struct plan *p)
{
	char error[512];

	p->desc = zalloc(1, sizeof(*p->desc));
	if (machine_desc_load(p->args->machine, p->desc, error, sizeof(error)))
		die("%s", error);
	snprintf(p->summary, sizeof(p->summary), "%s", p->desc->summary);
	p->era = p->args->era ? p->args->era : DEFAULT_ERA;
	if (!p->args->nr_cores)
		load_core(p, NULL);
	for (u32 i = 0; i < p->args->nr_cores; i++)
		load_core(p, &p->args->core[i]);
}

/* ----------------------------------------------------------- what can be */

static u32 usable_cpus(const struct plan *p)
{
	cpu_set_t set;

	if (!p->native)
		return p->desc->nr_cpus;
	if (sched_getaffinity(0, sizeof(set), &set))
		return sysconf(_SC_NPROCESSORS_ONLN);
	return CPU_COUNT(&set);
}

static u64 memory_bytes(const struct plan *p)
{
	if (!p->native)
		return p->desc->memory_bytes;
	return (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

static void check_column(const struct plan *p, const struct plan_column *c)
{
	const struct workload *w = p->workload;
	struct wl wl = {
		.workload = w, .threads = p->threads, .nr_cpus = usable_cpus(p),
		.page_size = p->native ? (u32)sysconf(_SC_PAGESIZE) :
					 1U << p->desc->page_shift,
		.pin = p->args->pin,
	};
	const char *wrong;

	memcpy(wl.param, c->param, sizeof(wl.param));
	if (p->args->pin && p->threads > wl.nr_cpus)
		die("--pin: %u threads need as many CPUs; %s has %u", p->threads,
		    p->args->machine, wl.nr_cpus);
	for (u32 i = 0; w->params[i].name; i++) {
		char text[PARAM_TEXT_MAX];

		if (w->params[i].kind != WL_SIZE || c->param[i] <= memory_bytes(p))
			continue;
		param_text(&w->params[i], c->param[i], text);
		die("-p %s=%s is more than the memory of %s (%.1f GiB)",
		    w->params[i].name, text, p->args->machine,
		    (double)memory_bytes(p) / (1 << 30));
	}
	wrong = w->check ? w->check(&wl) : NULL;
	if (wrong)
		die("%s: %s", w->name, wrong);
}

struct plan *plan_make(const struct run_args *args)
{
	struct plan *p = zalloc(1, sizeof(*p));

	p->args = args;
	p->workload = workload_find(args->workload);
	p->threads = args->threads ? args->threads : p->workload->default_threads;
	p->nr_columns = count_columns(args);
	if (!strcmp(args->machine, "native"))
		plan_native(p);
	else
		plan_simulated(p);
	for (u32 i = 0; i < p->nr_columns; i++) {
		resolve_params(p, i);
		if (!p->native)
			resolve_knobs(p, i);
		check_column(p, &p->column[i]);
	}
	return p;
}

void plan_free(struct plan *p)
{
	free(p->desc);
	free(p);
}

/* ------------------------------------------------------------ description */

static void append(char *buf, size_t size, const char *fmt, const char *a,
		   const char *b)
{
	size_t len = strlen(buf);

	if (len)
		len += snprintf(buf + len, size - len, ", ");
	if (len < size)
		snprintf(buf + len, size - len, fmt, a, b);
}

/* One dimension: the heading names it and the label is the bare value. */
static void describe_labels(const struct plan *p, struct report *r)
{
	struct dimension d[DIMENSIONS_MAX];
	u32 n = dimensions(p->args, d);

	if (n == 1)
		snprintf(r->varied, sizeof(r->varied), "%s",
			 d[0].a ? d[0].a->name : "core");
	for (u32 c = 0; c < p->nr_columns; c++) {
		struct report_column *col = &r->column[c];

		if (!n)
			snprintf(col->label, sizeof(col->label), "%s",
				 p->native ? "native" : p->core[0].name);
		for (u32 i = 0; i < n; i++) {
			const char *name = d[i].a ? d[i].a->name : "core";
			u32 k = choice(p->args, c, d[i].a);
			const char *value = d[i].a ? d[i].a->value[k] :
						     p->core[k].name;

			append(col->label, sizeof(col->label),
			       n > 1 ? "%s=%s" : "%.0s%s", name, value);
		}
	}
}

/* What all columns share and the user set. */
static void describe_params(const struct plan *p, struct report *r)
{
	const struct workload *w = p->workload;
	char value[64], def[PARAM_TEXT_MAX];

	for (u32 i = 0; i < p->args->nr_params; i++) {
		const struct assignment *a = &p->args->param[i];
		const struct wl_param *param = &w->params[param_find(w, a->name)];
		u64 v = param_parse(param, a->value[0]);

		if (a->n > 1 || v == param->def)
			continue;
		param_text(param, v, value);
		append(r->params, sizeof(r->params), "%s=%s", a->name, value);
		if (strcmp(a->name, "iterations") || v > param->def)
			continue;
		param_text(param, param->def, def);
		report_note(r, "scaled: %s iterations a thread instead of %s; "
			    "times are as measured, not multiplied", value, def);
	}
	for (u32 i = 0; i < p->args->nr_set; i++)
		if (p->args->set[i].n == 1)
			append(r->params, sizeof(r->params), "%s=%s",
			       p->args->set[i].name, p->args->set[i].value[0]);
	if (p->args->nr_cores == 1)
		append(r->params, sizeof(r->params), "core %s%s",
		       p->core[0].name, "");
	if (p->args->pin)
		append(r->params, sizeof(r->params), "%s%s", "pinned", "");
}

static void describe_column(const struct plan *p, const struct plan_column *c,
			    struct report_column *col)
{
	const struct workload *w = p->workload;

	col->core = c->core ? c->core->name : "native";
	col->nr_params = params_count(w);
	col->param = zalloc(col->nr_params, sizeof(*col->param));
	for (u32 i = 0; i < col->nr_params; i++) {
		col->param[i].name = w->params[i].name;
		param_text(&w->params[i], c->param[i], col->param[i].value);
	}
	if (!c->core)
		return;
	col->nr_knobs = knobs_count(c->core->module);
	col->knob = zalloc(col->nr_knobs, sizeof(*col->knob));
	for (u32 i = 0; i < col->nr_knobs; i++) {
		const struct knob *k = c->core->module->knobs[i];

		col->knob[i].name = k->name;
		knob_text(k, c->knobs[i], col->knob[i].value);
	}
}

void plan_describe(const struct plan *p, struct report *r)
{
	*r = (struct report){
		.version = TLBLAB_VERSION,
		.workload = p->workload->name,
		.machine = p->native ? "native" : p->desc->name,
		.machine_summary = p->summary,
		.era = p->era,
		.threads = p->threads,
		.seed = p->args->seed,
		.native = p->native,
		.ranges = p->args->ranges,
		.nr_columns = p->nr_columns,
	};
	describe_labels(p, r);
	describe_params(p, r);
	for (u32 i = 0; i < p->nr_columns; i++) {
		describe_column(p, &p->column[i], &r->column[i]);
		r->column[i].run = zalloc(p->args->runs, sizeof(struct metrics));
	}
}
