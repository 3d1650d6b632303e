// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What reclaim flushes for each page, as arithmetic gives it (thread S4). A round of pageout is
 * 256 pages, of one table; the counts are the difference of 30 rounds and 10, since the
 * first finds pages dirty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/lab.h"

#define PAGES 256
#define ROUNDS 20
/* Pages that wait for one flush, since 6.9; the last batch is smaller. */
#define BATCHES 9

struct expect {
	const char *kind;	/* "flush." is added */
	u32 per_round;
};

struct row {
	const char *name, *machine, *era;
	u32 threads;
	const char *set[4], *param;
	struct expect expect[6];
};

#define MAPPERS(m)                                                              \
	{ "arm64 6.0, " #m " mappers", "kunpeng920", "6.0", 1, { NULL },        \
	  "mappers=" #m,                                                        \
	  { { "tlbi_vale1is", (1 + m) * PAGES }, { "dsb_ishst", (1 + m) * PAGES }, \
	    { "dsb_ish", (1 + m) * PAGES } } },                                 \
	{ "arm64 6.0 and the series, " #m " mappers", "kunpeng920", "6.0", 1,   \
	  { "arm64.should_defer=always", "arm64.batched_pending=dsb" },         \
	  "mappers=" #m,                                                        \
	  { { "tlbi_vale1is", (1 + m) * PAGES }, { "dsb_ishst", (1 + m) * PAGES }, \
	    { "dsb_ish", 1 } } }

static const struct row rows[] = {
	/* To 6.8 the gather flushes 256 pages once more, for their accessed bits. */
	{ "arm64 6.0", "snapdragon888", "6.0", 1, { NULL }, NULL,
	  { { "tlbi_vale1is", 2 * PAGES }, { "dsb_ishst", PAGES + 1 },
	    { "dsb_ish", PAGES + 1 } } },
	/* One for the batch, one of the gather, one that waits for the call before. */
	{ "arm64 6.0 and the series", "snapdragon888", "6.0", 1,
	  { "arm64.should_defer=always", "arm64.batched_pending=dsb" }, NULL,
	  { { "tlbi_vale1is", 2 * PAGES }, { "dsb_ishst", PAGES + 1 }, { "dsb_ish", 3 } } },
	/* Dirty: flushed before the page is read to be written out. */
	{ "arm64 6.0 and the series, written", "snapdragon888", "6.0", 1,
	  { "arm64.should_defer=always", "arm64.batched_pending=dsb" }, "access=write",
	  { { "tlbi_vale1is", 2 * PAGES }, { "dsb_ishst", PAGES + 1 },
	    { "dsb_ish", PAGES + 2 } } },
	/* Eight calls, each with the three. */
	{ "arm64 6.0 and the series, batch 32", "snapdragon888", "6.0", 1,
	  { "arm64.should_defer=always", "arm64.batched_pending=dsb" }, "batch=32",
	  { { "tlbi_vale1is", 2 * PAGES }, { "dsb_ishst", PAGES + 8 }, { "dsb_ish", 3 * 8 } } },
	{ "arm64 6.12", "snapdragon888", "6.12", 1, { NULL }, NULL,
	  { { "tlbi_vale1is", PAGES }, { "tlbi_aside1is", 1 }, { "dsb_ishst", PAGES + 1 },
	    { "dsb_ish", BATCHES + 1 } } },
	{ "arm64 6.12, as merged", "snapdragon888", "6.12", 1, { "arm64.batched_pending=dsb" },
	  NULL, { { "tlbi_vale1is", PAGES }, { "dsb_ishst", PAGES },
		  { "dsb_ish", BATCHES + 1 } } },
	{ "arm64 6.12, v1", "snapdragon888", "6.12", 1, { "arm64.should_defer=mm_cpumask" },
	  NULL, { { "tlbi_vale1is", PAGES }, { "dsb_ishst", PAGES }, { "dsb_ish", PAGES } } },
	{ "arm64 6.12, v4, 8 CPUs", "snapdragon888", "6.12", 1, { "arm64.should_defer=ncpus" },
	  NULL, { { "tlbi_vale1is", PAGES }, { "tlbi_aside1is", 1 },
		  { "dsb_ishst", PAGES + 1 }, { "dsb_ish", BATCHES + 1 } } },
	/* Each of four entries of a page; reclaim() takes no pending flushes. */
	{ "arm64 6.12, 3 mappers", "snapdragon888", "6.12", 1, { NULL }, "mappers=3",
	  { { "tlbi_vale1is", 4 * PAGES }, { "dsb_ishst", 4 * PAGES },
	    { "dsb_ish", BATCHES } } },
	/* Of 1, 2 and 8 more processes, each entry has its TLBI, and its DSB if not deferred. */
	MAPPERS(1),
	MAPPERS(2),
	MAPPERS(8),
	/* Nobody to interrupt: not deferred. */
	{ "x86 6.12, alone", "qemu-x86-max", "6.12", 1, { NULL }, NULL,
	  { { "invlpg", PAGES } } },
	/* Each flush, and the pending one, on both CPUs and with one interrupt. */
	{ "x86 6.12, two CPUs", "qemu-x86-max", "6.12", 2, { NULL }, NULL,
	  { { "cr3", 2 * (BATCHES + 1) }, { "ipi", BATCHES + 1 } } },
	{ "x86 6.12, two CPUs, immediate", "qemu-x86-max", "6.12", 2,
	  { "rmap.unmap_flush=immediate" }, NULL,
	  { { "invlpg", 2 * PAGES }, { "ipi", PAGES } } },
};

static double count(const struct row *r, u32 rounds, struct metrics *ms)
{
	char iterations[32];
	const char *params[] = { "size=1M", iterations, r->param, NULL };
	struct lab_point p = {
		.workload = "pageout", .machine = r->machine, .era = r->era,
		.threads = r->threads, .pin = true, .seed = 1, .set = r->set, .params = params,
	};

	snprintf(iterations, sizeof(iterations), "iterations=%u", rounds);
	lab_run(&p, ms);
	return lab_get(ms, "vmstat.pgsteal");
}

static u32 expected(const struct row *r, const char *kind)
{
	for (u32 i = 0; i < 6 && r->expect[i].kind; i++)
		if (!strcmp(r->expect[i].kind, kind))
			return r->expect[i].per_round;
	return 0;
}

static void check_row(const struct row *r)
{
	static struct metrics few, many;
	double freed = -count(r, 10, &few) + count(r, 10 + ROUNDS, &many);
	u32 seen = 0, want = 0;

	if (freed != ROUNDS * PAGES)
		fail_msg("%s: %g pages freed", r->name, freed);
	while (want < 6 && r->expect[want].kind)
		want++;
	for (u32 i = 0; i < many.n; i++) {
		const char *name = many.m[i].name;
		double n = many.m[i].value - lab_get(&few, name);

		if (strncmp(name, "flush.", 6) || !strcmp(name, "flush.ttbr0") ||
		    !strcmp(name, "flush.cr3_noflush"))
			continue;
		if (n != (double)expected(r, name + 6) * ROUNDS)
			fail_msg("%s: %s %g a round, expected %u", r->name, name, n / ROUNDS,
				 expected(r, name + 6));
		seen += n != 0;
	}
	if (seen != want)
		fail_msg("%s: %u kinds of flushes, expected %u", r->name, seen, want);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests_name("pageout", tests, NULL, NULL);
}
