// SPDX-License-Identifier: GPL-2.0-or-later
#include "native/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/desc_parts.h"
#include "workload/common.h"
#include "workload/run.h"

/* Of the model's runs: enough for a mean, since nothing there varies but by state. */
#define SIM_TURNS 200
#define SIM_LOADS 50000
/* Tables are freed after grace periods, which must fall into the window. */
#define SIM_TABLES 10000
/* A sink is no smaller than so much of the template's, nor larger. */
#define SCALE_MIN 0.02
#define SCALE_MAX 200.0
#define PASSES 6

/* ---- one run of one probe ---- */

static void set_param(struct run_setup *s, const char *name, u64 value)
{
	const struct wl_param *p = s->workload->params;

	for (u32 i = 0; p[i].name; i++)
		if (!strcmp(p[i].name, name))
			s->param[i] = value;
}

static u64 what_value(const struct workload *w, const char *what)
{
	const char *const *v = NULL;

	for (u32 i = 0; w->params[i].name; i++)
		if (!strcmp(w->params[i].name, "what"))
			v = w->params[i].values;
	for (u64 i = 0; v && v[i]; i++)
		if (!strcmp(v[i], what))
			return i;
	return 0;
}

static struct run_setup setup_of(const struct calibrate_probe *p, u32 iterations, u32 cpu)
{
	struct run_setup s = {
		.workload = &workload_probe, .threads = p->distance ? 2 : 1,
		.pin = true, .seed = 1, .bare = true,
	};

	set_param(&s, "what", what_value(&workload_probe, p->what));
	set_param(&s, "pages", p->pages);
	set_param(&s, "iterations", iterations);
	set_param(&s, "cpu", cpu);
	return s;
}

static double metric(const struct metrics *ms, const char *name)
{
	for (u32 i = 0; i < ms->n; i++)
		if (!strcmp(ms->m[i].name, name))
			return ms->m[i].value;
	return 0;
}

/*
 * Seconds for each operation. A thread that is alone and never sleeps takes CPU time, which is
 * the same when others disturb it; and where that is not measured, what the clock says.
 */
static bool figure(const struct metrics *ms, bool cpu_time, double *seconds)
{
	double n = metric(ms, "ops"), cpu_s = metric(ms, "cpu_s");

	if (n <= 0)
		return false;
	*seconds = (cpu_time && cpu_s > 0 ? cpu_s : metric(ms, "real_s")) / n;
	return true;
}

/* By fn, what a probe takes less what it says to take off. */
static bool timed(probe_fn fn, void *arg, const struct calibration *c,
		  const struct calibrate_probe *p, double *seconds, char *error, size_t size)
{
	double off = 0;

	if (!fn(arg, c, p, seconds, error, size))
		return false;
	if (!p->less)
		return true;
	if (!fn(arg, c, p - p->less, &off, error, size))
		return false;
	*seconds -= off;
	return true;
}

bool probe_natively(void *arg, const struct calibration *c, const struct calibrate_probe *p,
		    double *seconds, char *error, size_t size)
{
	static struct metrics ms;
	struct run_setup s = setup_of(p, p->iterations, (u32)c->host.cpu[p->distance]);

	(void)arg;
	if (run_native(&s, &ms, error, size) == RUN_OK &&
	    figure(&ms, p->distance == PROBE_ALONE && strcmp(p->what, "thread"), seconds))
		return true;
	if (!error[0])
		snprintf(error, size, "%s: nothing was measured", p->name);
	return false;
}

/* The first CPU of a description that is so far from CPU 0. */
static u32 cpu_at(const struct machine_desc *desc, u32 distance)
{
	const struct cpu_place *zero = &desc->place[0];

	for (u32 i = 1; i < desc->nr_cpus; i++) {
		const struct cpu_place *p = &desc->place[i];

		if ((distance == PROBE_SMT && p->core == zero->core) ||
		    (distance == PROBE_NEAR && p->core != zero->core &&
		     p->package == zero->package) ||
		    (distance == PROBE_FAR && p->package != zero->package))
			return i;
	}
	return 0;
}

bool probe_simulated(void *arg, const struct calibration *c, const struct calibrate_probe *p,
		     double *seconds, char *error, size_t size)
{
	static struct metrics ms;
	u32 most = !strncmp(p->what, "chase", 5) ? SIM_LOADS :
		   !strcmp(p->what, "flush-table") ? SIM_TABLES : SIM_TURNS;
	struct run_setup s = setup_of(p, p->iterations < most ? p->iterations : most,
				      cpu_at(arg, p->distance));

	s.desc = arg;
	s.core = c->core;
	s.knobs = c->knobs;
	if (run_simulated(&s, &ms, error, size) == RUN_OK &&
	    figure(&ms, false, seconds))
		return true;
	if (!error[0])
		snprintf(error, size, "%s: the model did nothing", p->name);
	return false;
}

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool possible(const struct calibration *c, const struct calibrate_probe *p)
{
	return c->host.cpu[p->distance] >= 0;
}

/* Round by round, so that what drifts meets all probes alike. */
bool calibrate_measure(struct calibration *c, u32 rounds, probe_fn fn, void *arg,
		       char *error, size_t size)
{
	static double t[CALIBRATE_MAX_PROBES][CALIBRATE_MAX_ROUNDS];
	double warm_up;

	for (u32 r = 0; r <= rounds; r++)
		for (u32 i = 0; calibrate_probes[i].name; i++)
			if (possible(c, &calibrate_probes[i]) &&
			    !timed(fn, arg, c, &calibrate_probes[i],
				   r ? &t[i][r - 1] : &warm_up, error, size))
				return false;
	for (u32 i = 0; calibrate_probes[i].name; i++) {
		struct probe_time *pt = &c->time[i];

		memset(pt, 0, sizeof(*pt));
		if (!possible(c, &calibrate_probes[i]))
			continue;
		qsort(t[i], rounds, sizeof(t[i][0]), compare);
		pt->known = true;
		pt->lo = t[i][0];
		pt->mid = t[i][rounds / 4];
		pt->hi = t[i][rounds * 3 / 4];
	}
	return true;
}

/* ---- solving ---- */

struct sinks {
	u32 n;
	u32 index[CALIBRATE_MAX_SINKS];
	u64 ps[CALIBRATE_MAX_SINKS];	/* before */
};

/* Those that this machine charges at all. */
static void find_sinks(struct calibration *c, const struct calibrate_probe *p,
		       struct sinks *s)
{
	s->n = 0;
	for (u32 k = 0; k < CALIBRATE_MAX_SINKS && p->sinks[k]; k++)
		for (u32 i = 0; i < NR_ALL_COSTS; i++)
			if (!strcmp(cost_name(i), p->sinks[k]) &&
			    cost_slot(c->desc, i)->given) {
				s->index[s->n] = i;
				s->ps[s->n++] = cost_slot(c->desc, i)->ps;
			}
}

static void scale_sinks(struct calibration *c, const struct sinks *s, double by)
{
	for (u32 i = 0; i < s->n; i++)
		cost_slot(c->desc, s->index[i])->ps = (u64)llround((double)s->ps[i] * by);
}

static double clamped(double x)
{
	return !(x > SCALE_MIN) ? SCALE_MIN : x < SCALE_MAX ? x : SCALE_MAX;
}

/* With the value, its range: from what the rounds gave, but at least a tenth. */
static void take_sinks(struct calibration *c, const struct sinks *s, double mid, double lo,
		       double hi)
{
	scale_sinks(c, s, mid);
	for (u32 i = 0; i < s->n; i++) {
		struct cost *cost = cost_slot(c->desc, s->index[i]);
		double ps = (double)s->ps[i];

		cost->kind = COST_MEASURED;
		cost->group = 0;
		cost->lo_ps = (u64)(ps * fmin(lo, 0.9 * mid));
		cost->hi_ps = (u64)(ps * fmax(hi, 1.1 * mid)) + 1;
		c->measured[s->index[i]] = true;
	}
}

/*
 * The model's time is a + b * scale of the sinks: exactly when the probe runs alone, nearly
 * when two threads meet, which is why there are several passes.
 */
static bool solve_one(struct calibration *c, const struct calibrate_probe *p,
		      struct probe_time *pt, char *error, size_t size)
{
	struct sinks s;
	double one, two, a, b, mid;

	find_sinks(c, p, &s);
	if (!s.n)
		return true;
	if (!timed(probe_simulated, c->desc, c, p, &one, error, size))
		return false;
	scale_sinks(c, &s, 2);
	if (!timed(probe_simulated, c->desc, c, p, &two, error, size))
		return false;
	b = two - one;
	a = one - b;
	if (b <= one * 1e-6) {
		/* The loop never does what the sinks are for: leave them as they are. */
		scale_sinks(c, &s, 1);
		return true;
	}
	mid = (pt->mid - a) / b;
	pt->floored = mid < SCALE_MIN;
	take_sinks(c, &s, clamped(mid), clamped((pt->lo - a) / b), clamped((pt->hi - a) / b));
	return true;
}

bool calibrate_solve(struct calibration *c, char *error, size_t size)
{
	u32 jitter = c->desc->jitter_pct;
	bool ok = true;

	c->desc->jitter_pct = 0;
	for (u32 pass = 0; ok && pass < PASSES; pass++)
		for (u32 i = 0; ok && calibrate_probes[i].name; i++)
			ok = !c->time[i].known ||
			     solve_one(c, &calibrate_probes[i], &c->time[i], error, size);
	for (u32 i = 0; ok && calibrate_probes[i].name; i++)
		ok = !c->time[i].known ||
		     timed(probe_simulated, c->desc, c, &calibrate_probes[i],
			   &c->time[i].model, error, size);
	c->desc->jitter_pct = jitter;
	return ok;
}
