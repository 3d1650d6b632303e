// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This host and a model of it, in pairs: a native run and a simulated one of the same
 * workload, turn about, so that what drifts on the host meets all points alike.
 */
#include "cli/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/calibrate.h"
#include "cli/cli.h"
#include "cli/knobs.h"
#include "machine/desc_yaml.h"

#define MAX_ROUNDS 1000

/* Begins where a page table does, on the host whatever its kernel, and on the model. */
#define HINT "hint=0x200000000000"

#define POINT(what_, workload_, threads_, ...)                                  \
	{ .what = what_, .point = { .workload = workload_, .threads = threads_, \
				    .pin = true, .params = { __VA_ARGS__ } } }
#define PROBE(what_, threads_, ...)                                             \
	{ .what = what_, .calibrated = true,                                    \
	  .point = { .workload = "probe", .threads = threads_, .pin = true,     \
		     .params = { __VA_ARGS__ } } }

const struct native_point native_points[] = {
	POINT("mmap8, 1 thread", "mmap8", 1, HINT, "iterations=1000"),
	POINT("mmap8, 2 threads", "mmap8", 2, HINT, "iterations=500"),
	POINT("dontneed 1 page", "dontneed", 1, HINT, "touch=1", "iterations=1000"),
	POINT("dontneed 33 pages", "dontneed", 1, HINT, "touch=33", "iterations=200"),
	POINT("dontneed 34 pages", "dontneed", 1, HINT, "touch=34", "iterations=200"),
	POINT("dontneed 512 pages", "dontneed", 1, HINT, "touch=512", "iterations=20"),
	POINT("dontneed 33 pages, 2 threads", "dontneed", 2, HINT, "touch=33", "iterations=200"),
	POINT("dontneed 34 pages, 2 threads", "dontneed", 2, HINT, "touch=34", "iterations=200"),
	POINT("tlb-flush2, 1 thread", "tlb-flush2", 1, "iterations=10"),
	POINT("tlb-flush2, 2 threads", "tlb-flush2", 2, "iterations=10"),
	POINT("tlb-flush2, 2 processes", "tlb-flush2", 2, "iterations=10", "by=processes"),
	POINT("ebizzy, 1 thread", "ebizzy", 1, "iterations=200", "alloc=mmap"),
	POINT("ebizzy, 2 threads", "ebizzy", 2, "iterations=200", "alloc=mmap"),
	POINT("munmap-thp, 64 MB, 1 thread", "munmap-thp", 1, "size=64M"),
	POINT("munmap-thp, 64 MB, 2 threads", "munmap-thp", 2, "size=64M"),
	PROBE("a system call", 1, "what=null", "iterations=10000"),
	PROBE("32 pages read and given back", 1, "what=flush", "pages=32", "iterations=100"),
	PROBE("1 page, a CPU interrupted", 2, "what=flush", "pages=1", "iterations=500"),
	{ 0 },
};

/* A figure made of two points: what the ceiling, or sharing an mm, costs. */
struct native_pair {
	const char *what;
	const char *a, *b;	/* time of a over that of b */
};

static const struct native_pair pairs[] = {
	{ "34 pages over 33", "dontneed 34 pages", "dontneed 33 pages" },
	{ "34 pages over 33, 2 threads", "dontneed 34 pages, 2 threads",
	  "dontneed 33 pages, 2 threads" },
	{ "tlb-flush2: threads over processes", "tlb-flush2, 2 threads",
	  "tlb-flush2, 2 processes" },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quartile(const double *sorted, u32 n, u32 q)
{
	return sorted[(n - 1) * q / 4];
}

double native_headline(const struct native_result *res, u32 n, u32 threads, u32 *worst)
{
	double error[64];
	u32 m = 0;

	*worst = n;
	for (u32 i = 0; i < n && m < 64; i++) {
		double e = fabs(res[i].ratio - 1);

		if (!res[i].known || native_points[i].calibrated ||
		    native_points[i].point.threads > threads)
			continue;
		if (*worst == n || e > fabs(res[*worst].ratio - 1))
			*worst = i;
		error[m++] = e;
	}
	if (!m)
		return 0;
	qsort(error, m, sizeof(error[0]), compare);
	return m % 2 ? error[m / 2] : (error[m / 2 - 1] + error[m / 2]) / 2;
}

static const struct native_result *result_of(const struct native_result *res, u32 n,
					     const char *what)
{
	for (u32 i = 0; i < n; i++)
		if (!strcmp(native_points[i].what, what) && res[i].known)
			return &res[i];
	return NULL;
}

static void print_pairs(const struct native_result *res, u32 n, FILE *out)
{
	fprintf(out, "\n%-36s %12s %12s %7s\n", "times, one over the other", "predicted",
		"measured", "ratio");
	for (u32 i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct native_result *a = result_of(res, n, pairs[i].a);
		const struct native_result *b = result_of(res, n, pairs[i].b);
		double predicted, measured;

		if (!a || !b)
			continue;
		predicted = a->predicted_ns / b->predicted_ns;
		measured = a->measured_ns / b->measured_ns;
		fprintf(out, "%-36s %12.2f %12.2f %7.3f\n", pairs[i].what, predicted, measured,
			predicted / measured);
	}
}

void native_print(const struct native_result *res, u32 n, FILE *out)
{
	double headline;
	u32 worst;

	fprintf(out, "%-36s %12s %12s %7s   %s\n", "ns for each operation", "predicted",
		"measured", "ratio", "quartiles");
	for (u32 i = 0; i < n; i++) {
		if (!res[i].known)
			continue;
		fprintf(out, "%-35s%s %12.1f %12.1f %7.3f   %.3f %.3f\n", native_points[i].what,
			native_points[i].calibrated ? "*" : " ", res[i].predicted_ns,
			res[i].measured_ns, res[i].ratio, res[i].lo, res[i].hi);
	}
	fprintf(out, "* a loop that costs were measured by: no prediction\n");
	print_pairs(res, n, out);
	headline = native_headline(res, n, 1, &worst);
	if (worst < n)
		fprintf(out, "\nof those with one thread, which others disturb little: %.1f %%; the "
			"worst: %s, %+.1f %%", 100 * headline, native_points[worst].what,
			100 * (res[worst].ratio - 1));
	headline = native_headline(res, n, UINT32_MAX, &worst);
	if (worst < n)
		fprintf(out, "\nmedian error of what was not calibrated: %.1f %%; the worst: %s, "
			"%+.1f %%\n", 100 * headline, native_points[worst].what,
			100 * (res[worst].ratio - 1));
}

/* ---- running ---- */

/*
 * Of one thread, which does not sleep, the CPU time: others do not add to it. munmap-thp's
 * operation is a PMD of the munmap.
 */
static double op_ns(const struct point *p, const struct metrics *ms)
{
	double cpu_s = p->threads == 1 ? point_metric(ms, "cpu_s") : 0;

	return 1e9 * (cpu_s > 0 ? cpu_s : point_metric(ms, "real_s")) /
	       point_metric(ms, "ops");
}

static u32 point_count(void)
{
	u32 n = 0;

	while (native_points[n].what)
		n++;
	return n;
}

static void run_pair(const struct point *p, const struct machine_desc *desc, u32 round,
		     double *predicted, double *measured)
{
	static struct metrics ms;

	if (round & 1) {
		point_native(p, &ms);
		*measured = op_ns(p, &ms);
	}
	point_simulate(p, desc, round + 1, &ms);
	*predicted = op_ns(p, &ms);
	if (!(round & 1)) {
		point_native(p, &ms);
		*measured = op_ns(p, &ms);
	}
}

static void summarise(double *predicted, double *measured, u32 n, struct native_result *res)
{
	double ratio[MAX_ROUNDS];

	for (u32 i = 0; i < n; i++)
		ratio[i] = predicted[i] / measured[i];
	qsort(ratio, n, sizeof(ratio[0]), compare);
	qsort(predicted, n, sizeof(predicted[0]), compare);
	qsort(measured, n, sizeof(measured[0]), compare);
	*res = (struct native_result){
		.known = true, .predicted_ns = quartile(predicted, n, 2),
		.measured_ns = quartile(measured, n, 2), .ratio = quartile(ratio, n, 2),
		.lo = quartile(ratio, n, 1), .hi = quartile(ratio, n, 3),
	};
}

static void run_all(const struct machine_desc *desc, const char *era, u32 rounds,
		    struct native_result *res, u32 n)
{
	double *predicted = zalloc((size_t)n * rounds, sizeof(double));
	double *measured = zalloc((size_t)n * rounds, sizeof(double));

	/* A first round warms up. */
	for (u32 r = 0; r <= rounds; r++) {
		for (u32 i = 0; i < n; i++) {
			struct point p = native_points[i].point;
			u64 at = (u64)i * rounds + (r ? r - 1 : 0);

			p.era = era;
			if (p.threads <= desc->nr_cpus)
				run_pair(&p, desc, r, &predicted[at], &measured[at]);
		}
	}
	for (u32 i = 0; i < n; i++)
		if (native_points[i].point.threads <= desc->nr_cpus)
			summarise(&predicted[(u64)i * rounds], &measured[(u64)i * rounds],
				  rounds, &res[i]);
	free(predicted);
	free(measured);
}

/* The machine, and the era of the kernel that runs now. */
static struct machine_desc *the_host(const struct native_args *args, struct host *host)
{
	struct machine_desc *desc;
	struct calibration *c;
	static struct core core;
	char error[512];

	if (!args->machine) {
		c = calibrate_host(args->rounds, args->force, &core);
		calibrate_table(c, stdout);
		printf("\n");
		*host = c->host;
		return c->desc;
	}
	calibrate_quiet(args->force, "");
	desc = zalloc(1, sizeof(*desc));
	if (machine_desc_load(args->machine, desc, error, sizeof(error)))
		die("%s", error);
	if (!core_load_arch(&core, desc->arch))
		die("no core for %s beside this program or in its library folder", desc->arch);
	if (!host_describe(host, core.module->eras, error, sizeof(error)))
		die("%s", error);
	return desc;
}

void validate_native(const struct native_args *args)
{
	u32 n = point_count();
	struct native_result *res = zalloc(n, sizeof(*res));
	struct machine_desc *desc;
	struct host host;
	bool quiet;

	desc = the_host(args, &host);
	run_all(desc, host.era, args->rounds, res, n);
	quiet = calibrate_quiet(args->force, " now");
	native_print(res, n, stdout);
	if (!quiet)
		printf("The host was loaded: no figure with two threads means anything.\n");
	free(res);
	free(desc);
}
