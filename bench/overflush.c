// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The over-flush table, which thread S0 asked for and nobody ran: does a ranged
 * flush win where a live working set loses by a whole-mm one?
 *
 *	overflush [ITERATIONS [RUNS]]	of each of 4 workers; 100 and 5
 *
 * mmap8 with 4 workers and 4 chasers. A column for each unmap size; a row for each
 * live set of the chasers, from none to twice the second-level TLB. A cell: elapsed time of
 * the whole-mm flush over that of the ranged one, and the same of the chasers' loads
 * per second. "=": not every run (of the same seed) differs by 1 % to the same side.
 *
 * What a refill costs is what a walk costs, of which machine files know the least.
 * So each machine comes a second time, with walk_level at the top of its range: every
 * level of a walk is read from memory, none from a cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lab.h"

#define MAX_RUNS 16
#define NR_SIZES 5
#define NR_LIVE 6

static const char *const size_name[NR_SIZES] = { "64K", "256K", "1M", "4M", "16M" };

enum { RANGED, WHOLE, NR_VARIANTS };

/* Era 5.2-rc2: there both variants flush what they say (see docs/threads.md). */
static const char *const variant[NR_VARIANTS] = {
	"mmu_gather.nested=force_range_tables", "mmu_gather.nested=fullmm_tables",
};

struct table {
	const char *machine, *what;
	const char *set;	/* one more setting, or NULL */
	bool far_walks;
};

static const struct table tables[] = {
	{ "arm64-46", "walks hit caches", NULL, false },
	{ "arm64-46", "walks go to memory", NULL, true },
	{ "x86-2s", "walks hit caches", NULL, false },
	{ "x86-2s", "walks go to memory", NULL, true },
	{ "x86-2s", "ceiling 4096, walks hit caches",
	  "x86.tlb_single_page_flush_ceiling=4096", false },
};
#define NR_TABLES (sizeof(tables) / sizeof(tables[0]))

/* Whole-mm over ranged, of equal seeds. */
struct ratio {
	double lowest, highest, sum;
};

struct cell {
	struct ratio time, loads;
};

static u32 iterations = 100, runs = 5;

static void ratio_add(struct ratio *r, double x, bool first)
{
	r->lowest = first || x < r->lowest ? x : r->lowest;
	r->highest = first || x > r->highest ? x : r->highest;
	r->sum += x;
}

static double mean(const struct ratio *r)
{
	return r->sum / runs;
}

/* -1: below 1 in every run, 1: above, 0: neither. */
static int side(const struct ratio *r)
{
	return r->highest < 0.99 ? -1 : r->lowest > 1.01 ? 1 : 0;
}

/*
 * The hint lies on a 1 GiB boundary of its own. In the middle of a free 2 GiB it
 * would not, and there x86's munmap frees a table of 1 GiB, whose address is that of the
 * GiB: its gather spans up to 512 strides and flushes the whole mm in both variants.
 */
static void measure(const struct table *t, const struct machine_desc *desc,
		    const char *size, u32 live, struct cell *cell)
{
	char text[4][40];
	const char *params[] = { text[0], text[1], text[2], text[3],
				 "hint=0x200000000000", NULL };

	snprintf(text[0], sizeof(text[0]), "iterations=%u", iterations);
	snprintf(text[1], sizeof(text[1]), "size=%s", size);
	snprintf(text[2], sizeof(text[2]), "chasers=%u", live ? 4 : 0);
	snprintf(text[3], sizeof(text[3]), "chase=%u", live);
	memset(cell, 0, sizeof(*cell));
	for (u32 r = 0; r < runs; r++) {
		static struct metrics ms[NR_VARIANTS];

		for (u32 v = 0; v < NR_VARIANTS; v++) {
			const char *set[] = { variant[v], t->set, NULL };
			struct lab_point p = {
				.workload = "mmap8", .era = "5.2-rc2", .threads = 4,
				.seed = r + 1, .set = set, .params = params,
			};

			lab_run_on(&p, desc, &ms[v]);
		}
		ratio_add(&cell->time, lab_get(&ms[WHOLE], "real_s") /
			  lab_get(&ms[RANGED], "real_s"), !r);
		if (live)
			ratio_add(&cell->loads,
				  lab_get(&ms[WHOLE], "chase_loads_per_s") /
				  lab_get(&ms[RANGED], "chase_loads_per_s"), !r);
	}
}

static void print_head(const struct table *t, const struct machine_desc *desc)
{
	printf("%s, %s: TLB of %u entries, %u KiB pages\n", t->machine, t->what,
	       desc->l2.sets * desc->l2.ways, 1U << (desc->page_shift - 10));
	printf("%9s", "live set");
	for (u32 s = 0; s < NR_SIZES; s++)
		printf("  %5s %5s%s", size_name[s], "loads", s < NR_SIZES - 1 ? " " : "");
	printf("\n");
}

static void print_cell(const struct cell *c, bool live, bool last)
{
	const char *unmarked = last ? "" : " ";

	printf("  %5.2f%c", mean(&c->time), side(&c->time) ? ' ' : '=');
	if (live)
		printf("%5.2f%s", mean(&c->loads), side(&c->loads) ? unmarked : "=");
	else
		printf("%5s%s", "-", unmarked);
	fflush(stdout);
}

/* What the cells of one table add up to; by variant. */
struct answer {
	u32 cells, with_loads;
	u32 faster[NR_VARIANTS], keeps[NR_VARIANTS];
	double best_time[NR_VARIANTS], best_loads[NR_VARIANTS];	/* per cent */
	bool wins[NR_VARIANTS][NR_SIZES];	/* something, at some live set */
};

static void answer_add(struct answer *a, const struct cell *c, u32 s, bool live)
{
	double time = mean(&c->time), loads = mean(&c->loads), gain;
	int t = side(&c->time), l = live ? side(&c->loads) : 0;
	u32 v;

	a->cells++;
	a->with_loads += live;
	if (t) {
		v = t < 0 ? WHOLE : RANGED;
		gain = 100 * (t < 0 ? 1 - time : 1 - 1 / time);
		a->faster[v]++;
		a->wins[v][s] = true;
		if (gain > a->best_time[v])
			a->best_time[v] = gain;
	}
	if (l) {
		v = l < 0 ? RANGED : WHOLE;
		gain = 100 * (l < 0 ? 1 - loads : 1 - 1 / loads);
		a->keeps[v]++;
		a->wins[v][s] = true;
		if (gain > a->best_loads[v])
			a->best_loads[v] = gain;
	}
}

static void print_counts(const struct answer *a)
{
	static const char *const name[] = { "ranged", "whole-mm" };

	for (u32 v = 0; v < NR_VARIANTS; v++) {
		printf("%8s: faster in %u/%u cells", name[v], a->faster[v], a->cells);
		if (a->faster[v])
			printf(" (up to %.0f %%)", a->best_time[v]);
		printf(", more loads in %u/%u", a->keeps[v], a->with_loads);
		if (a->keeps[v])
			printf(" (up to %.0f %%)", a->best_loads[v]);
		printf("\n");
	}
	printf("\n");
}

/* By size: who wins something and loses nothing; both do; neither does. */
static void print_answer(const struct table *t, const struct answer *a)
{
	static const char *const verdict[] = {
		"no difference", "ranged wins", "whole-mm wins", "a trade-off",
	};

	printf("  %s, %s:\n", t->machine, t->what);
	for (u32 k = 0; k < 4; k++) {
		bool any = false;

		for (u32 s = 0; s < NR_SIZES; s++) {
			if ((u32)(a->wins[RANGED][s] | a->wins[WHOLE][s] << 1) != k)
				continue;
			printf("%s%s", any ? ", " : "    ", size_name[s]);
			any = true;
		}
		if (any)
			printf(": %s\n", verdict[k]);
	}
}

static void run_table(const struct table *t, struct answer *a)
{
	static struct machine_desc desc;
	u32 tlb;

	lab_machine(t->machine, &desc);
	if (t->far_walks) {
		struct cost *c = &desc.hw_cost[HW_WALK_LEVEL];

		c->ps = c->hi_ps;
	}
	memset(a, 0, sizeof(*a));
	tlb = desc.l2.sets * desc.l2.ways;
	print_head(t, &desc);
	for (u32 l = 0; l < NR_LIVE; l++) {
		const u32 live[NR_LIVE] = { 0, tlb / 16, tlb / 4, tlb / 2, tlb, 2 * tlb };

		printf("%9u", live[l]);
		for (u32 s = 0; s < NR_SIZES; s++) {
			struct cell c;

			measure(t, &desc, size_name[s], live[l], &c);
			print_cell(&c, live[l], s == NR_SIZES - 1);
			answer_add(a, &c, s, live[l]);
		}
		printf("\n");
	}
	print_counts(a);
}

static void print_answers(const struct answer *a)
{
	double time = 0, loads = 0;

	printf("Where does each win? (A trade-off: each wins one of time and loads.)\n");
	for (u32 i = 0; i < NR_TABLES; i++) {
		print_answer(&tables[i], &a[i]);
		if (tables[i].set)
			continue;
		if (a[i].best_time[WHOLE] > time)
			time = a[i].best_time[WHOLE];
		if (a[i].best_loads[RANGED] > loads)
			loads = a[i].best_loads[RANGED];
	}
	printf("With the kernel's own ceilings, the whole-mm flush saves up to %.0f %% of the\n"
	       "workers' time, and the ranged one up to %.0f %% of the chasers' loads.\n",
	       time, loads);
}

int main(int argc, char **argv)
{
	static struct answer answer[NR_TABLES];

	if (argc > 1)
		iterations = (u32)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		runs = (u32)strtoul(argv[2], NULL, 10);
	if (!iterations || !runs || runs > MAX_RUNS) {
		fprintf(stderr, "usage: overflush [ITERATIONS [RUNS]], at most %d runs\n",
			MAX_RUNS);
		return 2;
	}
	printf("over-flush: mmap8, 4 workers x %u iterations, 4 chasers, era 5.2-rc2, %u runs.\n"
	       "Whole-mm flush over ranged one: elapsed time (below 1: whole-mm is faster) and\n"
	       "the chasers' loads/s (below 1: ranged keeps more); \"=\": no clear difference.\n"
	       "x86: from 34 pages on (256K) a ranged flush is one of the whole mm, too; only\n"
	       "the last table moves that ceiling. arm64's limit is 8192 pages of 64K.\n\n",
	       iterations, runs);
	for (u32 i = 0; i < NR_TABLES; i++)
		run_table(&tables[i], &answer[i]);
	print_answers(answer);
	return 0;
}
