// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread S4, "arm64: support batched/deferred tlb shootdown during page reclamation": what
 * flushing once for many pages saves, beside the published times; then what the thread
 * asked and did not measure.
 *
 *	s4 [ROUNDS]		500; times are scaled to 10,000 rounds of 256 pages
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/lab.h"

#define FULL_ROUNDS 10000
#define PAGES 256

static u32 rounds = 500;

struct published {
	const char *machine;
	double before_s, after_s, share_pct;
};

static const struct published published[] = {
	{ "snapdragon888", 14.69, 13.80, 5.36 },
	{ "kunpeng920", 13.460, 11.771, 16.99 },
};

#define NR_PUBLISHED (sizeof(published) / sizeof(published[0]))

struct variant {
	const char *era;
	const char *set[4];
};

static const struct variant immediate = { "6.0", { "arm64.should_defer=never" } };
static const struct variant batched = {
	"6.0", { "arm64.should_defer=always", "arm64.batched_pending=dsb" },
};

static void run(const struct machine_desc *desc, const struct variant *v, u32 threads, u32 n,
		const char *const *more, struct metrics *ms)
{
	char iterations[32];
	const char *params[6] = { iterations };
	struct lab_point p = {
		.workload = "pageout", .era = v->era, .threads = threads, .pin = true,
		.seed = 1, .set = v->set, .params = params,
	};

	snprintf(iterations, sizeof(iterations), "iterations=%u", n);
	for (u32 i = 0; more && more[i]; i++)
		params[1 + i] = more[i];
	lab_run_on(&p, desc, ms);
}

static double per_page(const struct machine_desc *desc, const struct variant *v, u32 threads,
		       const char *const *more)
{
	struct metrics ms;

	run(desc, v, threads, rounds, more, &ms);
	return lab_get(&ms, "per_page_us");
}

/* ---- beside what was published ---- */

/*
 * How much of a page's flush is work that others may do meanwhile, and how much is waiting:
 * not published. The sum is kept; work_ps is what each TLBI takes of the fabric.
 */
static void split_flush(struct machine_desc *desc, u64 work_ps)
{
	u64 *va = &desc->hw_cost[HW_DVM_VA].ps;
	u64 *dsb = &desc->hw_cost[HW_DSB_ISH].ps;

	*dsb = *dsb + *va - work_ps;
	*va = work_ps;
}

static void beside(const struct published *pub, const char *what, const struct machine_desc *desc)
{
	double scale = (double)FULL_ROUNDS * PAGES * 1e-6, before, after, saved, share;
	struct metrics ms;

	run(desc, &immediate, 1, rounds, NULL, &ms);
	before = lab_get(&ms, "per_page_us") * scale;
	share = 100 * (lab_get(&ms, "account.invalidate_wait") +
		       lab_get(&ms, "account.invalidate_issue")) / lab_get(&ms, "real_s");
	after = per_page(desc, &batched, 1, NULL) * scale;
	saved = before - after;
	printf("%-14s %-20s %6.2f %6.2f %6.2f | %6.2f %6.2f %6.2f %6.2f %+5.0f %%\n",
	       pub->machine, what, pub->share_pct, pub->before_s, pub->before_s - pub->after_s,
	       share, before, after, saved,
	       100 * (saved / (pub->before_s - pub->after_s) - 1));
}

static void beside_published(void)
{
	printf("S4: pageout, 10,000 rounds of 256 pages, one thread, era 6.0 without and with the "
	       "series\n\n%-14s %-20s %6s %6s %6s | %6s %6s %6s %6s %7s\n", "", "", "share",
	       "before", "saved", "share", "before", "after", "saved", "off by");
	for (u32 i = 0; i < NR_PUBLISHED; i++) {
		static struct machine_desc desc;

		lab_machine(published[i].machine, &desc);
		beside(&published[i], "as described", &desc);
		split_flush(&desc, 0);
		beside(&published[i], "all of it a wait", &desc);
	}
	printf("\nLeft of the bar published (share of the flush in per cent of cycles, seconds), right\n"
	       "the model. Fitted: the flush of a page, to the share; writing a page to zram, to the\n"
	       "time before. Predicted: what is saved. The model lets a TLBI's work begin at the DSB;\n"
	       "the last row of each is the other end, where it is done by then. Kunpeng's published\n"
	       "times hold 1.2 s in which its CPU was idle; the share is of cycles.\n\n");
}

/* ---- arithmetic: what one page costs in instructions ---- */

static double count(const struct machine_desc *desc, const struct variant *v,
		    const char *const *more, const char *name, u32 n)
{
	struct metrics ms;

	run(desc, v, 1, n, more, &ms);
	return lab_get(&ms, name);
}

static void counts_row(const struct machine_desc *desc, const char *what,
		       const struct variant *v, const char *const *more)
{
	static const char *const names[] = {
		"flush.tlbi_vale1is", "flush.tlbi_aside1is", "flush.dsb_ishst", "flush.dsb_ish",
	};

	printf("%-44s", what);
	/* The difference of two runs: the first round finds pages dirty. */
	for (u32 i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf(" %9.4f", (count(desc, v, more, names[i], 30) -
				  count(desc, v, more, names[i], 10)) / (20 * PAGES));
	printf("\n");
}

static void counts(void)
{
	static const struct variant v612_dsb = { "6.12", { "arm64.batched_pending=dsb" } };
	static const struct variant v612 = { "6.12", { NULL } };
	static const char *const write[] = { "access=write", NULL };
	static const char *const batch32[] = { "batch=32", NULL };
	static struct machine_desc desc;

	lab_machine("snapdragon888", &desc);
	printf("A page, in instructions (snapdragon888, rounds of 256 pages)\n\n%-44s %9s %9s %9s %9s\n",
	       "", "vale1is", "aside1is", "dsb_ishst", "dsb_ish");
	counts_row(&desc, "6.0, immediate", &immediate, NULL);
	counts_row(&desc, "6.0 with the series", &batched, NULL);
	counts_row(&desc, "6.0 with the series, pages written", &batched, write);
	counts_row(&desc, "6.0 with the series, batch=32", &batched, batch32);
	counts_row(&desc, "6.12, as merged (dsb)", &v612_dsb, NULL);
	counts_row(&desc, "6.12, with the fix (flush_mm)", &v612, NULL);
	printf("\nTo 6.8 MADV_PAGEOUT cleared accessed bits and flushed for that, too: a TLBI more for\n"
	       "each page. A written page is flushed at once, before it is read for the I/O: nothing\n"
	       "is left of the batch. From 6.9 on at most 31 pages wait for one flush. With the fix\n"
	       "each call pays for the call before: nobody has noted that its flush is done.\n\n");
}

/* ---- what nobody measured ---- */

static void by_batch(void)
{
	static const char *const batch[] = {
		"batch=1", "batch=2", "batch=4", "batch=8", "batch=16", "batch=32", "batch=64",
		"batch=128", "batch=256",
	};

	printf("By batch: us a page, immediate and batched, and the gain\n\n%-14s", "");
	for (u32 b = 0; b < sizeof(batch) / sizeof(batch[0]); b++)
		printf(" %11s", batch[b] + 6);
	printf("\n");
	for (u32 i = 0; i < NR_PUBLISHED; i++) {
		static struct machine_desc desc;

		lab_machine(published[i].machine, &desc);
		printf("%-14s", published[i].machine);
		for (u32 b = 0; b < sizeof(batch) / sizeof(batch[0]); b++) {
			const char *more[] = { batch[b], NULL };
			double was = per_page(&desc, &immediate, 1, more);
			double is = per_page(&desc, &batched, 1, more);

			printf(" %5.2f %4.1f%%", is, 100 * (was - is) / was);
		}
		printf("\n");
	}
	printf("\n");
}

static void by_mappers(void)
{
	static const char *const mappers[] = {
		"mappers=0", "mappers=1", "mappers=3", "mappers=7", "mappers=15", "mappers=31",
	};
	static struct machine_desc desc;
	u32 full = rounds;

	rounds = full / 10 + 1;
	lab_machine("kunpeng920", &desc);
	printf("By mappers (kunpeng920, reclaim; each page mapped by M more processes, on CPUs of their\n"
	       "own): us a page with the mappers' reads, and the gain\n\n");
	for (u32 i = 0; i < sizeof(mappers) / sizeof(mappers[0]); i++) {
		const char *more[] = { mappers[i], NULL };
		double was = per_page(&desc, &immediate, 1, more);
		double is = per_page(&desc, &batched, 1, more);

		printf("%-12s %7.2f %7.2f %5.1f %%\n", mappers[i], was, is, 100 * (was - is) / was);
	}
	printf("\n");
	rounds = full;
}

static void by_cpus(void)
{
	static const u32 threads[] = { 1, 2, 4, 8, 16, 32 };
	static const char *const more[] = { "others=pageout", NULL };
	static struct machine_desc desc;
	u32 full = rounds;

	rounds = full / 10 + 1;
	lab_machine("kunpeng920", &desc);
	printf("By CPUs (kunpeng920, each thread reclaims memory of its own): us a page, and the gain\n\n");
	for (u32 i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		double was = per_page(&desc, &immediate, threads[i], more);
		double is = per_page(&desc, &batched, threads[i], more);

		printf("%2u CPUs %7.2f %7.2f %5.1f %%\n", threads[i], was, is,
		       100 * (was - is) / was);
	}
	printf("\n");
	rounds = full;
}

static void beside_mprotect(const char *batch)
{
	static const struct variant v[] = {
		{ "6.12", { "arm64.should_defer=never" } },
		{ "6.12", { "arm64.batched_pending=dsb" } },
		{ "6.12", { "arm64.batched_pending=flush_mm" } },
	};
	static const char *const what[] = { "immediate", "batched, dsb", "batched, flush_mm" };
	const char *more[] = { "others=mprotect", batch, NULL };

	printf("Beside mprotect (a second thread changes the rights of a page of its own), 6.12, %s\n\n"
	       "%-14s %-18s %9s %12s %12s %9s\n", batch, "", "", "us/page", "mprotects/s", "pending/1000",
	       "misses");
	for (u32 i = 0; i < NR_PUBLISHED; i++) {
		static struct machine_desc desc;

		lab_machine(published[i].machine, &desc);
		for (u32 k = 0; k < 3; k++) {
			struct metrics ms;

			run(&desc, &v[k], 2, rounds, more, &ms);
			printf("%-14s %-18s %9.3f %12.0f %12.1f %9.3f\n", published[i].machine,
			       what[k], lab_get(&ms, "per_page_us"),
			       lab_get(&ms, "mprotects_per_s"),
			       1000 * lab_get(&ms, "rmap.pending_flushes") /
				       (lab_get(&ms, "mprotects_per_s") * lab_get(&ms, "real_s")),
			       lab_get(&ms, "tlb.miss") / lab_get(&ms, "ops"));
		}
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = (u32)strtoul(argv[1], NULL, 10);
	if (rounds < 10 || rounds > FULL_ROUNDS) {
		fprintf(stderr, "usage: s4 [ROUNDS], 10 to %u\n", FULL_ROUNDS);
		return 2;
	}
	beside_published();
	counts();
	by_batch();
	by_mappers();
	by_cpus();
	beside_mprotect("batch=0");
	beside_mprotect("batch=1");
	printf("pending/1000: flushes for what reclaim owed, by mprotect and by the next madvise, for\n"
	       "each thousand calls of mprotect; misses: of the TLB, for each page.\n");
	return 0;
}
