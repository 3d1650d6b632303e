// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread S0 on POWER9, where it would have shown something: sizes below the ceiling
 * of 33 pages of 64K, and threads with a live working set.
 *
 *	power_ceiling [ITERATIONS]	of each worker; 300
 *
 * mmap8, era 5.2-rc2: what mainline did of a nested gather (force_range) beside what
 * landed (fullmm_tables). First the thread's 16 workers by themselves, for each size
 * that they unmap; then 4 workers beside 4 chasers, a row for the live set of these,
 * from a sixteenth to twice the TLB. All figures are those of the whole-mm flush over those of
 * the ranged one: time above 1.00, ranged is faster; loads below 1.00, ranged
 * keeps more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/lab.h"

#define MACHINE "power9-8335gth"
#define CEILING 33

static const char *const sizes[] = { "64K", "256K", "1M", "2M", "4M", "16M" };
static const u32 size_pages[] = { 1, 4, 16, 32, 64, 256 };
#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const char *const variant[2][2] = {
	{ "mmu_gather.nested=force_range", NULL },
	{ "mmu_gather.nested=fullmm_tables", NULL },
};

struct point {
	struct metrics ms[2];	/* of each variant */
};

static double ratio(const struct point *p, const char *name)
{
	return lab_get(&p->ms[1], name) / lab_get(&p->ms[0], name);
}

static void measure(const struct machine_desc *desc, u32 workers, const char *size,
		    u32 live, u32 iterations, struct point *p)
{
	char text[4][40];
	const char *params[] = { text[0], text[1], text[2], text[3], NULL };

	snprintf(text[0], sizeof(text[0]), "iterations=%u", iterations);
	snprintf(text[1], sizeof(text[1]), "size=%s", size);
	snprintf(text[2], sizeof(text[2]), "chasers=%u", live ? 4 : 0);
	snprintf(text[3], sizeof(text[3]), "chase=%u", live);
	for (u32 v = 0; v < 2; v++) {
		struct lab_point lp = {
			.workload = "mmap8", .era = "5.2-rc2", .threads = workers,
			.seed = 1, .set = variant[v], .params = params,
		};

		lab_run_on(&lp, desc, &p->ms[v]);
	}
}

static void heading(const char *what)
{
	printf("%-13s", what);
	for (u32 s = 0; s < NR_SIZES; s++)
		printf(" %10s", sizes[s]);
	printf("\n");
}

static double tlbies_per_op(const struct metrics *ms)
{
	return (lab_get(ms, "flush.tlbie_ric0") + lab_get(ms, "flush.tlbie_ric1") +
		lab_get(ms, "flush.tlbie_ric2")) / lab_get(ms, "ops");
}

static void alone(const struct machine_desc *desc, u32 iterations)
{
	static struct point p[NR_SIZES];

	printf("16 workers, no chasers\n");
	heading("unmapped");
	printf("%-13s", "pages");
	for (u32 s = 0; s < NR_SIZES; s++) {
		measure(desc, 16, sizes[s], 0, iterations, &p[s]);
		printf(" %9u%s", size_pages[s], size_pages[s] > CEILING ? "*" : " ");
	}
	printf("\n%-13s", "tlbie/op");
	for (u32 s = 0; s < NR_SIZES; s++)
		printf(" %5.1f %4.1f", tlbies_per_op(&p[s].ms[0]),
		       tlbies_per_op(&p[s].ms[1]));
	printf("\n%-13s", "real");
	for (u32 s = 0; s < NR_SIZES; s++)
		printf(" %10.2f", ratio(&p[s], "real_s"));
	printf("\n%-13s", "sys");
	for (u32 s = 0; s < NR_SIZES; s++)
		printf(" %10.2f", ratio(&p[s], "sys_s"));
	printf("\n* above the ceiling: both variants flush the PID\n\n");
}

static void beside_chasers(const struct machine_desc *desc, u32 iterations)
{
	u32 tlb = desc->l2.sets * desc->l2.ways;
	u32 live[] = { tlb / 16, tlb / 4, tlb / 2, tlb, 2 * tlb };
	static struct point p;

	printf("4 workers, 4 chasers: time, loads/s\n");
	heading("live pages");
	for (u32 l = 0; l < sizeof(live) / sizeof(live[0]); l++) {
		printf("%-13u", live[l]);
		for (u32 s = 0; s < NR_SIZES; s++) {
			measure(desc, 4, sizes[s], live[l], iterations, &p);
			printf(" %5.2f %4.2f", ratio(&p, "real_s"),
			       ratio(&p, "chase_loads_per_s"));
			fflush(stdout);
		}
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static struct machine_desc desc;
	u32 iterations = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : 300;

	if (!iterations) {
		fprintf(stderr, "usage: power_ceiling [ITERATIONS]\n");
		return 2;
	}
	lab_machine(MACHINE, &desc);
	printf(MACHINE ", TLB of %u entries, %u KiB pages, ceiling %u pages:\n"
	       "whole-mm flush over ranged flush of a nested gather (thread S0)\n\n",
	       desc.l2.sets * desc.l2.ways, 1U << (desc.page_shift - 10), CEILING);
	alone(&desc, iterations);
	beside_chasers(&desc, iterations);
	return 0;
}
