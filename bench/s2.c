// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread S2, "Use PID flush instead of 32 tlbies": attach, write and detach 256 MB on
 * power10-105, at each ceiling.
 *
 *	s2 [UNITS]		300
 *
 * Prints what each variant issues and takes, then the published figures beside the
 * model's, and for each what was fitted to it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/lab.h"

#define TRIM "powerpc.cpumask_trim=none"
#define CEILING "powerpc.tlb_single_page_flush_ceiling="
#define GE "powerpc.ceiling_compare=ge"

struct row {
	const char *what;
	const char *set[4];
	const char *param;	/* beside iterations */
};

enum { CEILING_34_GE, STOCK, CEILING_33_GE, CEILING_32_GT, CEILING_32_GE, GTSE_OFF, PIGGIN,
       SHIFTED_34, SHIFTED_32, TRIMMED, ALONE, NR_ROWS };

static const struct row rows[NR_ROWS] = {
	[CEILING_34_GE] = { "ceiling 34, >=", { TRIM, CEILING "34", GE }, NULL },
	[STOCK] = { "ceiling 33, >  (as it is)", { TRIM }, NULL },
	[CEILING_33_GE] = { "ceiling 33, >=", { TRIM, CEILING "33", GE }, NULL },
	[CEILING_32_GT] = { "ceiling 32, >", { TRIM, CEILING "32" }, NULL },
	[CEILING_32_GE] = { "ceiling 32, >= (the patch)", { TRIM, CEILING "32", GE }, NULL },
	[GTSE_OFF] = { "33, >, GTSE off", { TRIM, "powerpc.gtse=off" }, NULL },
	[PIGGIN] = { "33, >, of the whole call", { TRIM, "powerpc.ceiling_range=call" }, NULL },
	[SHIFTED_34] = { "34, >=, 1 MiB off 2 MiB", { TRIM, CEILING "34", GE }, "shift=16" },
	[SHIFTED_32] = { "32, >=, 1 MiB off 2 MiB", { TRIM, CEILING "32", GE }, "shift=16" },
	[TRIMMED] = { "34, >=, mask trimmed", { CEILING "34", GE }, NULL },
	[ALONE] = { "34, >=, one thread alone", { TRIM, CEILING "34", GE }, "controller=none" },
};

struct result {
	double rate, tlbie, tlbiel, hcall, stall_pct;
};

static struct result result[NR_ROWS];

static double per_unit(const struct metrics *ms, const char *prefix)
{
	double n = 0;
	char name[64];

	for (u32 ric = 0; ric < 3; ric++) {
		snprintf(name, sizeof(name), "flush.%s_ric%u", prefix, ric);
		n += lab_get(ms, name);
	}
	return n / lab_get(ms, "ops");
}

/* Of the cycles of all CPUs that are not idle: what the PMU counts for one busy thread. */
static double stall_pct(const struct metrics *ms)
{
	return 100 * (lab_get(ms, "fabric.wait_s") + lab_get(ms, "account.invalidate_issue")) /
	       (lab_get(ms, "user_s") + lab_get(ms, "sys_s"));
}

static void run(const struct row *r, const char *units, struct result *out)
{
	static struct metrics ms;
	const char *params[] = { units, r->param, NULL };
	struct lab_point p = {
		.workload = "shm-attach", .machine = "power10-105", .era = "5.14",
		.threads = 1, .pin = true, .seed = 1, .set = r->set, .params = params,
	};

	lab_run(&p, &ms);
	*out = (struct result){
		.rate = lab_get(&ms, "ops_per_s"),
		.tlbie = per_unit(&ms, "tlbie"), .tlbiel = per_unit(&ms, "tlbiel"),
		.hcall = lab_get(&ms, "flush.h_rpt_invalidate") / lab_get(&ms, "ops"),
		.stall_pct = stall_pct(&ms),
	};
}

static void variants(u32 units)
{
	char text[32];

	snprintf(text, sizeof(text), "iterations=%u", units);
	printf("S2: shmat, write and shmdt 256 MB on power10-105, %u units, era 5.14\n\n", units);
	printf("%-28s %9s %9s %9s %9s %9s\n", "a unit", "tlbie", "tlbiel", "hcalls", "units/s",
	       "stall %");
	for (u32 i = 0; i < NR_ROWS; i++) {
		const struct result *r = &result[i];

		run(&rows[i], text, &result[i]);
		printf("%-28s %9.1f %9.1f %9.1f %9.1f %9.1f\n", rows[i].what, r->tlbie,
		       r->tlbiel, r->hcall, r->rate, r->stall_pct);
	}
	printf("\nAll but two rows never trim the mask: where the controller sleeps, a kernel that\n"
	       "trims, and any with one thread alone, flushes locally, and the ceiling of global\n"
	       "flushes is moot.\n\n");
}

static void published(const char *what, double pub, double model, const char *fitted)
{
	printf("%-34s %9.1f %9.1f %7.3f  %s\n", what, pub, model, model / pub, fitted);
}

static void compare(void)
{
	const struct result *a = &result[CEILING_34_GE], *b = &result[CEILING_32_GE];

	printf("%-34s %9s %9s %7s  %s\n", "", "published", "model", "ratio", "fitted to it");
	published("units/s, ceiling 32", 318.7, b->rate, "fault_path");
	published("units/s, ceiling 34", 179, a->rate, "-");
	printf("%-34s %9.2f %9.2f %7.3f  %s\n", "units/s, 32 over 34", 1.78, b->rate / a->rate,
	       b->rate / a->rate / 1.78, "-");
	published("TLBIE stalls, % of cycles, 34", 43, a->stall_pct, "tlbie_va, derived from it");
	published("TLBIE stalls, % of cycles, 32", 2.6, b->stall_pct, "tlbie_pid, derived from it");
	published("tlbies a unit, 34", 4143, a->tlbie, "- (4096 by arithmetic)");
	published("tlbies a unit, 32", 162, b->tlbie, "- (128 by arithmetic)");
	published("  the same, 1 MiB off 2 MiB, 34", 4143, result[SHIFTED_34].tlbie, "-");
	published("  the same, 1 MiB off 2 MiB, 32", 162, result[SHIFTED_32].tlbie, "-");
	published("units/s, GTSE off", 318.7, result[GTSE_OFF].rate,
		  "hcall_ceiling, inferred from it");
	printf("\nThe published rates were at 4.2 and 4.3 GHz, which is 3.5 %% of their ratio. A unit\n"
	       "needs one more tlbie, of RIC = 2, for its page tables. Attached across tables of\n"
	       "2 MiB, it has two tables more or less full, whose pages go one by one: 127 + 32 + 1.\n");
}

int main(int argc, char **argv)
{
	u32 units = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : 300;

	if (!units || units > 1000000) {
		fprintf(stderr, "usage: s2 [UNITS], 1 to 1000000\n");
		return 2;
	}
	variants(units);
	compare();
	return 0;
}
