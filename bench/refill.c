// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The question that ended thread S2: what does flushing everything cost in refill?
 *
 *	refill [UNITS [P]]	4, and every set of pages; with P only its rows
 *
 * shm-attach, whose worker loads once from each of P pages after every unit; beside it,
 * bystanders that load from P pages all the time. A table for each machine, for units
 * of one page table (2 MiB) and of many, with walks that hit caches and walks that
 * go to memory (walk_level at the top of its range). It prints docs/refill.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lab.h"

#define SMALL "2M"
#define NR_SETS 9

static const u32 sets[NR_SETS] = { 0, 16, 64, 256, 512, 1024, 2048, 4096, 8192 };

struct variant {
	const char *name;
	const char *set[4];
};

/* The first goes page by page, the second drops everything; more are for comparison. */
struct target {
	const char *machine, *era, *what;
	const char *big;	/* size of a unit of many tables */
	const char *controller;
	struct variant variant[3];
	u32 nr;
};

/* More than there are CPUs in a machine. */
#define MANY 1000

#define P10 "powerpc.cpumask_trim=none", "powerpc.ceiling_compare=ge"
#define P_CEIL "powerpc.tlb_single_page_flush_ceiling="
#define X_CEIL "x86.tlb_single_page_flush_ceiling="

static const struct target targets[] = {
	{ "power10-105", "5.14", "64K pages, 32 to a table", "256M", "controller=sleep",
	  { { "34", { P10, P_CEIL "34" } }, { "32", { P10, P_CEIL "32" } } }, 2 },
	{ "power9-8335gth", "5.14", "64K pages, 32 to a table", "256M", "controller=sleep",
	  { { "34", { P10, P_CEIL "34" } }, { "32", { P10, P_CEIL "32" } } }, 2 },
	{ "x86-2s", "6.12", "4K pages, 512 to a table", "32M", "controller=spin",
	  { { "512", { X_CEIL "512" } }, { "511", { X_CEIL "511" } } }, 2 },
	{ "kunpeng920", "6.12", "4K pages, 512 to a table", "32M", "controller=sleep",
	  { { "1024", { "arm64.tlbirange=off", "arm64.max_tlbi_ops=1024" } },
	    { "512", { "arm64.tlbirange=off", "arm64.max_tlbi_ops=ptrs_per_pte" } },
	    { "range", { "arm64.tlbirange=on", "arm64.max_tlbi_ops=ptrs_per_pte" } } }, 3 },
};

#define NR_TARGETS (sizeof(targets) / sizeof(targets[0]))

struct point {
	double unit_us, ns_per_load, loads_per_us;
};

static u32 units = 4;
static s64 only = -1;		/* the one P that is wanted; -1: all */

static void measure(const struct target *t, const struct machine_desc *desc,
		    const struct variant *v, const char *size, u32 set, u32 chasers,
		    struct point *out)
{
	static struct metrics ms;
	char text[4][32];
	const char *params[] = { text[0], text[1], text[2], text[3], t->controller, NULL };
	struct lab_point p = {
		.workload = "shm-attach", .era = t->era, .threads = 1, .pin = true,
		.seed = 1, .set = v->set, .params = params,
	};
	u32 n = strcmp(size, SMALL) ? units : units * 16;

	snprintf(text[0], sizeof(text[0]), "iterations=%u", n);
	snprintf(text[1], sizeof(text[1]), "chase=%u", set);
	snprintf(text[2], sizeof(text[2]), "chasers=%u", set ? chasers : 0);
	snprintf(text[3], sizeof(text[3]), "size=%s", size);
	lab_run_on(&p, desc, &ms);
	*out = (struct point){
		.unit_us = lab_get(&ms, "unit_us"), .ns_per_load = lab_get(&ms, "ns_per_load"),
		.loads_per_us = lab_get(&ms, "chase_loads_per_s") / 1e6,
	};
}

/* Between set s - 1 and set s, on a straight line. */
static double crossing(const double *gain, u32 s)
{
	return sets[s - 1] + (sets[s] - sets[s - 1]) * gain[s - 1] / (gain[s - 1] - gain[s]);
}

/* It may pay, not pay, and pay again: a set larger than the TLB misses anyway. */
static void verdict(const struct target *t, const double *gain)
{
	printf("\nDropping everything (%s) %s", t->variant[1].name,
	       gain[0] > 0 ? "pays" : "does not pay");
	for (u32 s = 1; s < NR_SETS; s++)
		if ((gain[s] > 0) != (gain[s - 1] > 0))
			printf(" up to about P = %.0f, then %s", crossing(gain, s),
			       gain[s] > 0 ? "pays" : "not");
	printf(" up to %u.\n\n", sets[NR_SETS - 1]);
}

static bool wanted(u32 s)
{
	return only < 0 || sets[s] == only;
}

static void worker_row(const struct target *t, const struct machine_desc *desc,
		       const char *size, u32 s, double *gain)
{
	struct point p[3];

	printf("| %u |", sets[s]);
	for (u32 v = 0; v < t->nr; v++) {
		measure(t, desc, &t->variant[v], size, sets[s], 0, &p[v]);
		if (sets[s])
			printf(" %.1f |", p[v].ns_per_load);
		else
			printf(" - |");
		printf(" %.2f |", p[v].unit_us);
	}
	printf("\n");
	*gain = p[0].unit_us - p[1].unit_us;
}

static void worker_table(const struct target *t, const struct machine_desc *desc,
			 const char *size)
{
	double gain[NR_SETS];

	printf("| P |");
	for (u32 v = 0; v < t->nr; v++)
		printf(" ns a load, %s | us a unit, %s |", t->variant[v].name,
		       t->variant[v].name);
	printf("\n|---|");
	for (u32 v = 0; v < t->nr; v++)
		printf("---|---|");
	printf("\n");
	for (u32 s = 0; s < NR_SETS; s++)
		if (wanted(s))
			worker_row(t, desc, size, s, &gain[s]);
	if (only < 0)
		verdict(t, gain);
	else
		printf("\n");
}

/*
 * What a unit saves its worker, and what one bystander then loses: the part of a unit in
 * which it would have done the loads that are missing.
 */
static void bystander_table(const struct target *t, const struct machine_desc *desc)
{
	printf("| P | M loads/s, %s | M loads/s, %s | saved, us a unit | lost, us a bystander | "
	       "saved / lost |\n|---|---|---|---|---|---|\n", t->variant[0].name,
	       t->variant[1].name);
	for (u32 s = 1; s < NR_SETS; s++) {
		struct point p[2];
		double saved, lost;

		if (!wanted(s))
			continue;
		for (u32 v = 0; v < 2; v++)
			measure(t, desc, &t->variant[v], t->big, sets[s], 1, &p[v]);
		saved = p[0].unit_us - p[1].unit_us;
		lost = p[1].unit_us * (1 - p[1].loads_per_us / p[0].loads_per_us);
		if (lost > -0.05 && lost < 0)
			lost = 0;	/* not "-0.0" */
		printf("| %u | %.1f | %.1f | %.1f | %.1f |", sets[s], p[0].loads_per_us,
		       p[1].loads_per_us, saved, lost);
		if (saved <= 0)
			printf(" it saves nothing |\n");
		else if (lost < -saved / MANY)
			printf(" they gain, too |\n");
		else if (saved > MANY * lost)
			printf(" over %d |\n", MANY);
		else
			printf(" %.1f |\n", saved / lost);
	}
	printf("\n");
}

static void run_target(const struct target *t, bool far_walks)
{
	static struct machine_desc desc;

	lab_machine(t->machine, &desc);
	if (far_walks)
		desc.hw_cost[HW_WALK_LEVEL].ps = desc.hw_cost[HW_WALK_LEVEL].hi_ps;
	printf("### %s, walks %s\n\n%s, a TLB of %u entries; era %s.\n\n", t->machine,
	       far_walks ? "go to memory" : "hit caches", t->what, desc.l2.sets * desc.l2.ways,
	       t->era);
	printf("A unit of %s:\n\n", SMALL);
	worker_table(t, &desc, SMALL);
	printf("A unit of %s:\n\n", t->big);
	worker_table(t, &desc, t->big);
	printf("Bystanders, a unit of %s:\n\n", t->big);
	bystander_table(t, &desc);
	fflush(stdout);
}

static const char intro[] =
"# What dropping everything costs in refill\n"
"\n"
"Made by `ninja -C build for-bench` and `TLBLAB_MACHINES=machines build/bench/refill >docs/refill.md`; docs/threads.md\n"
"says, under S2, what follows from it.\n"
"\n"
"A unit of `shm-attach` attaches a shared segment, writes every page of it and detaches it; the kernel flushes once\n"
"for each page table of 2 MiB. Then the worker loads once from each of P pages that stay mapped: `ns a load`, one\n"
"after the other, and `us a unit`, all together. The left columns flush page by page, the next ones drop everything\n"
"of the address space; the number is the ceiling that makes it so (`kunpeng920`: 1024 TLBIs or 512, and then range\n"
"TLBIs, which its machine file says that it has). Where a verdict names a P, it lies on a line between two rows.\n"
"\n"
"Bystanders are threads of the process that load from P pages all the time. `lost` is the part of a unit in which one\n"
"of them would have done the loads that are missing; `saved / lost` is how many of them undo what the worker gains.\n"
"\n"
"What a refill costs is what a walk costs, which is an estimate on every machine: hence each twice, once with tables\n"
"in the caches and once with walk_level at the top of its range. What a broadcast steals from bystanders is 0 on\n"
"POWER and kunpeng920, for want of a figure: any more speaks for dropping everything.\n\n";

static bool arguments(int argc, char **argv)
{
	bool row = argc < 3;

	if (argc > 1)
		units = (u32)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		only = strtol(argv[2], NULL, 10);
	for (u32 s = 0; s < NR_SETS; s++)
		row |= wanted(s);
	return argc < 4 && row && units && units <= 100000;
}

int main(int argc, char **argv)
{
	if (!arguments(argc, argv)) {
		fprintf(stderr, "usage: refill [UNITS [P]], 1 to 100000, and a P of the tables\n");
		return 2;
	}
	fputs(intro, stdout);
	for (u32 i = 0; i < NR_TARGETS; i++)
		for (u32 far = 0; far < 2; far++)
			run_target(&targets[i], far);
	return 0;
}
