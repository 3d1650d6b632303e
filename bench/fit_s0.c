// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the fitted costs of machines/arm64-46.yaml were found: one factor for
 * each of its groups, so that the four published means of S0 come out.
 *
 *	fit_s0 [ITERATIONS [STEPS]]	3000 and 5
 *
 * Six factors and four figures: many answers fit. Of those, this takes the one
 * that moves the file's costs the least (Gauss-Newton on logarithms, damped towards
 * factors of 1). Prints the costs to write into the file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lab.h"

#define NR_DATA 4
#define MAX_GROUPS 8
#define DAMPING 0.03	/* weight of a factor's logarithm against a figure's */
#define SEEDS 2

static const double published[NR_DATA] = { 153.784, 962.6, 46.902, 107.64 };
static struct machine_desc base;
static u32 iterations = 3000;

static struct cost *cost_at(struct machine_desc *desc, u32 i)
{
	return i < MACH_NR_COSTS ? &desc->core_cost[i] : &desc->hw_cost[i - MACH_NR_COSTS];
}

static u32 nr_groups(void)
{
	u32 n = 0;

	while (n + 1 < MAX_GROUPS && base.group[n + 1][0])
		n++;
	return n;
}

static void scaled(const double *log_factor, struct machine_desc *desc)
{
	*desc = base;
	for (u32 i = 0; i < MACH_NR_COSTS + HW_NR_COSTS; i++) {
		struct cost *c = cost_at(desc, i);

		if (c->group)
			c->ps = (u64)(exp(log_factor[c->group - 1]) * (double)c->ps + 0.5);
	}
}

/* Logarithms of model over published: real and sys of v2, then of v3. */
static void residuals(const double *log_factor, double *r)
{
	static const char *const set[2][2] = {
		{ "mmu_gather.nested=force_range_tables", NULL },
		{ "mmu_gather.nested=fullmm_tables", NULL },
	};
	static struct machine_desc desc;
	char text[32];
	const char *params[] = { text, NULL };

	snprintf(text, sizeof(text), "iterations=%u", iterations);
	scaled(log_factor, &desc);
	for (u32 v = 0; v < 2; v++) {
		double real = 0, sys = 0;

		for (u32 s = 1; s <= SEEDS; s++) {
			struct lab_point p = {
				.workload = "mmap8", .era = "5.2-rc2", .threads = 16,
				.seed = s, .set = set[v], .params = params,
			};
			struct metrics ms;

			lab_run_on(&p, &desc, &ms);
			real += lab_get(&ms, "real_s");
			sys += lab_get(&ms, "sys_s");
		}
		r[2 * v] = log(real / SEEDS * 1e5 / iterations / published[2 * v]);
		r[2 * v + 1] = log(sys / SEEDS * 1e5 / iterations / published[2 * v + 1]);
	}
	printf("  v2 real %+6.1f %%  sys %+6.1f %%   v3 real %+6.1f %%  sys %+6.1f %%\n",
	       100 * expm1(r[0]), 100 * expm1(r[1]), 100 * expm1(r[2]), 100 * expm1(r[3]));
	fflush(stdout);
}

/* Solves a x = b in place by elimination; n is small, a positive definite. */
static void solve(double a[MAX_GROUPS][MAX_GROUPS], double *b, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		for (u32 j = i + 1; j < n; j++) {
			double f = a[j][i] / a[i][i];

			for (u32 k = i; k < n; k++)
				a[j][k] -= f * a[i][k];
			b[j] -= f * b[i];
		}
	}
	for (u32 i = n; i-- > 0;) {
		for (u32 k = i + 1; k < n; k++)
			b[i] -= a[i][k] * b[k];
		b[i] /= a[i][i];
	}
}

static void step(double *x, u32 n)
{
	double r[NR_DATA], r1[NR_DATA], jac[NR_DATA][MAX_GROUPS];
	double a[MAX_GROUPS][MAX_GROUPS] = { { 0 } }, b[MAX_GROUPS] = { 0 };
	const double h = 0.08;

	residuals(x, r);
	for (u32 g = 0; g < n; g++) {
		x[g] += h;
		residuals(x, r1);
		x[g] -= h;
		for (u32 d = 0; d < NR_DATA; d++)
			jac[d][g] = (r1[d] - r[d]) / h;
	}
	for (u32 g = 0; g < n; g++) {
		for (u32 k = 0; k < n; k++)
			for (u32 d = 0; d < NR_DATA; d++)
				a[g][k] += jac[d][g] * jac[d][k];
		a[g][g] += DAMPING;
		b[g] = -DAMPING * x[g];
		for (u32 d = 0; d < NR_DATA; d++)
			b[g] -= jac[d][g] * r[d];
	}
	solve(a, b, n);
	for (u32 g = 0; g < n; g++)
		x[g] += b[g] > 0.5 ? 0.5 : b[g] < -0.5 ? -0.5 : b[g];
}

static const char *cost_name(u32 i)
{
	static const char *const names[] = {
#define X(id, name, account) #name,
		MACH_COSTS(X)
#undef X
#define X(id, name) #name,
		HW_COSTS(X)
#undef X
	};

	return names[i];
}

int main(int argc, char **argv)
{
	u32 steps = argc > 2 ? (u32)strtoul(argv[2], NULL, 10) : 5;
	double x[MAX_GROUPS] = { 0 }, r[NR_DATA];
	static struct machine_desc desc;
	u32 n;

	if (argc > 1)
		iterations = (u32)strtoul(argv[1], NULL, 10);
	lab_machine("arm64-46", &base);
	n = nr_groups();
	for (u32 i = 0; i < steps; i++)
		step(x, n);
	residuals(x, r);
	for (u32 g = 0; g < n; g++)
		printf("%-16s x %.3f\n", base.group[g + 1], exp(x[g]));
	scaled(x, &desc);
	for (u32 i = 0; i < MACH_NR_COSTS + HW_NR_COSTS; i++)
		if (cost_at(&desc, i)->group)
			printf("%-16s %10.1f ns -> %10.1f ns  (%s)\n", cost_name(i),
			       (double)cost_at(&base, i)->ps / 1e3,
			       (double)cost_at(&desc, i)->ps / 1e3,
			       base.group[cost_at(&base, i)->group]);
	return 0;
}
