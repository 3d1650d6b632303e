// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The over-flush table, which thread S0 asked for and nobody ran: does a ranged
 * flush win where a live working set loses by a whole-mm one?
 *
 *	overflush [ITERATIONS]		of each of 4 workers; 300
 *
 * mmap8 with 4 workers and 4 chasers. A column each for unmap sizes, a row for
 * the live set of the chasers, from none to twice the second-level TLB. A cell: elapsed time of the
 * whole-mm flush over that of the ranged one, and the same of the chasers' loads per
 * second. Time above 1.00: ranged is faster. Loads below 1.00: ranged keeps more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/lab.h"

static const char *const sizes[] = { "64K", "256K", "1M", "4M", "16M" };
#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Era 5.2-rc2: there both variants flush what they say (see docs/threads.md). */
static const char *const variant[2][2] = {
	{ "mmu_gather.nested=force_range_tables", NULL },
	{ "mmu_gather.nested=fullmm_tables", NULL },
};

struct cell {
	double real_s[2], loads_per_s[2];
};

static void measure(const struct machine_desc *desc, const char *size, u32 live,
		    u32 iterations, struct cell *cell)
{
	char text[4][40];
	const char *params[] = { text[0], text[1], text[2], text[3], NULL };

	snprintf(text[0], sizeof(text[0]), "iterations=%u", iterations);
	snprintf(text[1], sizeof(text[1]), "size=%s", size);
	snprintf(text[2], sizeof(text[2]), "chasers=%u", live ? 4 : 0);
	snprintf(text[3], sizeof(text[3]), "chase=%u", live);
	for (u32 v = 0; v < 2; v++) {
		struct lab_point p = {
			.workload = "mmap8", .era = "5.2-rc2", .threads = 4,
			.seed = 1, .set = variant[v], .params = params,
		};
		struct metrics ms;

		lab_run_on(&p, desc, &ms);
		cell->real_s[v] = lab_get(&ms, "real_s");
		cell->loads_per_s[v] = lab_get(&ms, "chase_loads_per_s");
	}
}

static void table(const char *machine, u32 iterations)
{
	static struct machine_desc desc;
	u32 tlb, live[6];

	lab_machine(machine, &desc);
	tlb = desc.l2.sets * desc.l2.ways;
	live[0] = 0;
	live[1] = tlb / 16;
	live[2] = tlb / 4;
	live[3] = tlb / 2;
	live[4] = tlb;
	live[5] = 2 * tlb;
	printf("%s: second-level TLB %u entries, %u KiB pages; whole-mm over ranged: time, loads/s\n",
	       machine, tlb, 1U << (desc.page_shift - 10));
	printf("%9s", "live set");
	for (u32 s = 0; s < NR_SIZES; s++)
		printf("  %12s", sizes[s]);
	printf("\n");
	for (u32 l = 0; l < 6; l++) {
		printf("%9u", live[l]);
		for (u32 s = 0; s < NR_SIZES; s++) {
			struct cell c;

			measure(&desc, sizes[s], live[l], iterations, &c);
			printf("  %5.2f", c.real_s[1] / c.real_s[0]);
			if (live[l])
				printf(" %6.2f", c.loads_per_s[1] / c.loads_per_s[0]);
			else
				printf(" %6s", "-");
			fflush(stdout);
		}
		printf("\n");
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	u32 iterations = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : 300;

	if (!iterations) {
		fprintf(stderr, "usage: overflush [ITERATIONS]\n");
		return 2;
	}
	table("arm64-46", iterations);
	table("x86-2s", iterations);
	return 0;
}
