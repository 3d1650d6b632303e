// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread S0, "mm: mmu_gather: remove __tlb_reset_range() for force flush":
 * mmap8 on a 46-CPU arm64 server, ranged flush (v2) against whole-mm (v3).
 *
 *	s0 [ITERATIONS [RUNS]]		100000 and 3
 *
 * Prints the published means beside the model's, and names what was fitted to
 * them; then what the model says where nothing was fitted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lab.h"

#define NR_VARIANTS 2
#define FULL_ITERATIONS 100000.0

static const char *const variant_set[NR_VARIANTS][2] = {
	{ "mmu_gather.nested=force_range_tables", NULL },
	{ "mmu_gather.nested=fullmm_tables", NULL },
};
static const char *const variant_name[NR_VARIANTS] = { "v2 range", "v3 full-mm" };
static const double published_real_s[NR_VARIANTS] = { 153.784, 46.902 };
static const double published_sys_s[NR_VARIANTS] = { 962.6, 107.64 };

/* One run; iterations as text, since that is what parameters are. */
static void run(const struct machine_desc *desc, u32 variant, u32 threads,
		u32 iterations, const char *size, u64 seed, struct metrics *ms)
{
	char text[40];
	const char *params[3] = { text, size, NULL };
	struct lab_point p = {
		.workload = "mmap8", .era = "5.2-rc2", .threads = threads,
		.seed = seed, .set = variant_set[variant], .params = params,
	};

	snprintf(text, sizeof(text), "iterations=%u", iterations);
	lab_run_on(&p, desc, ms);
}

struct stat {
	double sum, sum2;
	u32 n;
};

static void stat_add(struct stat *s, double x)
{
	s->sum += x;
	s->sum2 += x * x;
	s->n++;
}

static double stat_mean(const struct stat *s)
{
	return s->sum / s->n;
}

static double stat_sd_pct(const struct stat *s)
{
	double mean = stat_mean(s);
	double var = s->n > 1 ? (s->sum2 - s->n * mean * mean) / (s->n - 1) : 0;

	return 100 * sqrt(var > 0 ? var : 0) / mean;
}

static double nested_share(const struct metrics *ms, const char *what)
{
	char all[64], nested[64];

	snprintf(all, sizeof(all), "gather.%s", what);
	snprintf(nested, sizeof(nested), "gather.%s_nested", what);
	return lab_get(ms, nested) / lab_get(ms, all);
}

static void print_fitted(const struct machine_desc *desc)
{
	printf("fitted to these four means, hence no prediction of them:\n ");
	for (u32 g = 1; g < 8; g++)
		if (desc->group[g][0])
			printf(" %s", desc->group[g]);
	printf("\nsim/host: simulated seconds a second of host CPU. Peak memory %.0f MiB.\n\n",
	       lab_peak_mib());
}

/* The four means, which were fitted. */
static void full_size(const struct machine_desc *desc, u32 iterations, u32 runs)
{
	double scale = FULL_ITERATIONS / iterations;
	struct metrics ms;

	printf("S0: mmap8, 16 threads, arm64-46, era 5.2-rc2; v2: force_range_tables,\n"
	       "v3: fullmm_tables; %u iterations, runs: %u%s\n\n",
	       iterations, runs, scale == 1 ? "" : ", times scaled to 100000");
	printf("%-12s %9s %9s %6s  %9s %9s %6s  %8s\n", "", "real pub.", "model",
	       "ratio", "sys pub.", "model", "ratio", "sim/host");
	for (u32 v = 0; v < NR_VARIANTS; v++) {
		struct stat real = { 0 }, sys = { 0 };
		double start = lab_cpu_s();

		for (u32 r = 0; r < runs; r++) {
			run(desc, v, 16, iterations, "size=16M", r + 1, &ms);
			stat_add(&real, lab_get(&ms, "real_s"));
			stat_add(&sys, lab_get(&ms, "sys_s"));
		}
		printf("%-12s %9.1f %9.1f %6.3f  %9.1f %9.1f %6.3f  %8.1f\n",
		       variant_name[v], published_real_s[v], stat_mean(&real) * scale,
		       stat_mean(&real) * scale / published_real_s[v],
		       published_sys_s[v], stat_mean(&sys) * scale,
		       stat_mean(&sys) * scale / published_sys_s[v],
		       real.sum / (lab_cpu_s() - start));
	}
	printf("\n");
	print_fitted(desc);
}

static void predict_nested(const struct machine_desc *desc, u32 iterations)
{
	static const char *const expected[] = { "0.55-0.90", "0.20-0.60" };
	struct metrics ms;

	printf("share of nested gathers; in brackets, what a prototype without page tables\n"
	       "expected of madvise's\n"
	       "%-12s %20s %8s %14s %12s\n", "", "madvise", "munmap", "TLBIs VA/op",
	       "sleeps/op");
	for (u32 v = 0; v < NR_VARIANTS; v++) {
		double tlbis, ops;

		run(desc, v, 16, iterations, "size=16M", 1, &ms);
		tlbis = lab_get(&ms, "flush.tlbi_vae1is") + lab_get(&ms, "flush.tlbi_vale1is");
		ops = lab_get(&ms, "ops");
		printf("%-12s %8.3f [%s] %8.3f %14.1f %12.2f\n", variant_name[v],
		       nested_share(&ms, "madvise"), expected[v],
		       nested_share(&ms, "munmap"), tlbis / ops,
		       lab_get(&ms, "machine.sleeps") / ops);
	}
	printf("\n");
}

static void predict_scaling(const struct machine_desc *desc, u32 iterations,
			    const char *size)
{
	static const u32 threads[] = { 1, 2, 4, 8, 16, 32 };
	double scale = FULL_ITERATIONS / iterations;

	printf("%s, by threads (of 100000 iterations)\n", size);
	printf("%8s %10s %10s %7s %10s %10s %7s\n", "threads", "v2 real s", "v3 real s",
	       "v2/v3", "v2 sys s", "v3 sys s", "v2/v3");
	for (u32 i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double real[NR_VARIANTS], sys[NR_VARIANTS];

		for (u32 v = 0; v < NR_VARIANTS; v++) {
			struct metrics ms;

			run(desc, v, threads[i], iterations, size, 1, &ms);
			real[v] = lab_get(&ms, "real_s") * scale;
			sys[v] = lab_get(&ms, "sys_s") * scale;
		}
		printf("%8u %10.1f %10.1f %7.2f %10.1f %10.1f %7.2f\n", threads[i],
		       real[0], real[1], real[0] / real[1], sys[0], sys[1], sys[0] / sys[1]);
	}
	printf("\n");
}

/*
 * Scatter. Seeds alone, and with every fitted cost moved by up to 1 % a run, as
 * the state of a real machine moves between runs.
 */
static void wobble(struct machine_desc *desc, const struct machine_desc *base, u64 seed)
{
	u64 state = seed * 0x9e3779b97f4a7c15ULL + 1;
	s64 permille[8];

	for (u32 g = 0; g < 8; g++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		permille[g] = (s64)((state >> 33) % 21) - 10;
	}
	for (u32 i = 0; i < MACH_NR_COSTS + HW_NR_COSTS; i++) {
		struct cost *c = i < MACH_NR_COSTS ? &desc->core_cost[i] :
						     &desc->hw_cost[i - MACH_NR_COSTS];
		const struct cost *b = i < MACH_NR_COSTS ? &base->core_cost[i] :
							   &base->hw_cost[i - MACH_NR_COSTS];

		if (b->group)
			c->ps = (u64)((s64)b->ps + (s64)b->ps * permille[b->group] / 1000);
	}
}

static void predict_scatter(const struct machine_desc *base, u32 iterations)
{
	static struct machine_desc desc;
	static const double observed[NR_VARIANTS][2] = { { 0.72, 3.4 }, { 0.55, 0.44 } };
	struct metrics ms;

	printf("scatter over 5 runs, sd in %%\n"
	       "%-12s  %-14s  %-14s  %-22s\n"
	       "%-12s  %6s %6s   %6s %6s   %6s %6s\n", "", "observed", "seeds",
	       "seeds and 1 % of costs", "", "real", "sys", "real", "sys", "real", "sys");
	for (u32 v = 0; v < NR_VARIANTS; v++) {
		struct stat real[2] = { { 0 } }, sys[2] = { { 0 } };

		for (u32 kind = 0; kind < 2; kind++) {
			for (u32 r = 0; r < 5; r++) {
				desc = *base;
				if (kind)
					wobble(&desc, base, r + 1);
				run(&desc, v, 16, iterations, "size=16M", r + 1, &ms);
				stat_add(&real[kind], lab_get(&ms, "real_s"));
				stat_add(&sys[kind], lab_get(&ms, "sys_s"));
			}
		}
		printf("%-12s  %6.2f %6.2f   %6.2f %6.2f   %6.2f %6.2f\n",
		       variant_name[v], observed[v][0], observed[v][1],
		       stat_sd_pct(&real[0]), stat_sd_pct(&sys[0]),
		       stat_sd_pct(&real[1]), stat_sd_pct(&sys[1]));
	}
	printf("\n");
}

/*
 * The thread's third machine. Its group of costs was fitted to the real, system and user
 * times below; that the two variants take the same time was not.
 */
static void power9(u32 iterations)
{
	static const char *const set[NR_VARIANTS][2] = {
		{ "mmu_gather.nested=force_range", NULL },
		{ "mmu_gather.nested=fullmm_tables", NULL },
	};
	static const char *const name[NR_VARIANTS] = { "mainline", "v3 full-mm" };
	static const double published[NR_VARIANTS][3] = {
		{ 37.382, 1.420, 54.658 }, { 37.119, 1.548, 55.698 },
	};
	static const char *const metric[3] = { "real_s", "user_s", "sys_s" };
	static struct machine_desc desc;
	char text[40];
	const char *params[] = { text, NULL };

	snprintf(text, sizeof(text), "iterations=%u", iterations);
	lab_machine("power9-8335gth", &desc);
	printf("mmap8, 16 threads, power9-8335gth, era 5.2-rc2, %u iterations, scaled;\n"
	       "fitted: the times; predicted: that the variants differ by less than the noise\n"
	       "%-12s %9s %9s  %9s %9s  %9s %9s\n", iterations, "", "real pub.", "model",
	       "user pub.", "model", "sys pub.", "model");
	for (u32 v = 0; v < NR_VARIANTS; v++) {
		struct lab_point p = {
			.workload = "mmap8", .era = "5.2-rc2", .threads = 16,
			.seed = 1, .set = set[v], .params = params,
		};
		struct metrics ms;

		lab_run_on(&p, &desc, &ms);
		printf("%-12s", name[v]);
		for (u32 i = 0; i < 3; i++)
			printf("%s %9.2f %9.2f", i ? " " : "", published[v][i],
			       lab_get(&ms, metric[i]) * FULL_ITERATIONS / iterations);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static struct machine_desc desc;
	u32 iterations = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : 100000;
	u32 runs = argc > 2 ? (u32)strtoul(argv[2], NULL, 10) : 3;
	u32 some = iterations < 5000 ? iterations : 5000;

	if (!iterations || !runs) {
		fprintf(stderr, "usage: s0 [ITERATIONS [RUNS]]\n");
		return 2;
	}
	lab_machine("arm64-46", &desc);
	full_size(&desc, iterations, runs);
	printf("predicted, nothing fitted to it (%u iterations):\n\n", some);
	predict_nested(&desc, some);
	predict_scaling(&desc, some, "size=16M");
	predict_scaling(&desc, some, "size=1M");
	predict_scatter(&desc, some);
	power9(some);
	return 0;
}
