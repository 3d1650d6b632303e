// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread S2's counts, exact: what one attach, write and detach of a small segment issues,
 * for every ceiling, comparison, range and path, against a model of a few lines; and the
 * same question asked of x86 and arm64.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/lab.h"

#define UNITS 3
#define PER_TABLE 32	/* 64K pages of 2 MiB */
#define TABLES 4
#define PAGES (PER_TABLE * TABLES)

struct expect {
	u32 ric0, ric1, ric2, hcall, local0, local1, local2;
};

static u32 per_unit(const struct metrics *ms, const char *name)
{
	double n = lab_get(ms, name) / UNITS;

	assert_true(n == (u32)n);
	return (u32)n;
}

static void check_power(const struct metrics *ms, const struct expect *e, const char *what)
{
	const struct {
		const char *name;
		u32 want;
	} c[] = {
		{ "flush.tlbie_ric0", e->ric0 }, { "flush.tlbie_ric1", e->ric1 },
		{ "flush.tlbie_ric2", e->ric2 }, { "flush.h_rpt_invalidate", e->hcall },
		{ "flush.tlbiel_ric0", e->local0 }, { "flush.tlbiel_ric1", e->local1 },
		{ "flush.tlbiel_ric2", e->local2 }, { "flush.ipi", 0 },
	};
	u32 wrong = 0;

	assert_true(lab_get(ms, "ops") == UNITS);
	for (u32 i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		u32 n = per_unit(ms, c[i].name);

		if (n == c[i].want)
			continue;
		print_error("%s: %s %u, expected %u\n", what, c[i].name, n, c[i].want);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* ---- POWER ---- */

struct point {
	u32 ceiling, local_ceiling;
	bool ge, call, gtse, alone;
	u32 shift;		/* pages; 0 or within a table */
};

static bool above(const struct point *p, u32 pages)
{
	u32 ceiling = p->alone ? p->local_ceiling : p->ceiling;

	if (p->call)
		pages = PAGES;
	return p->ge ? pages >= ceiling : pages > ceiling;
}

/* One flush of pages, or of tables whose addresses span so many. */
static void one_flush(const struct point *p, u32 pages, bool tables, struct expect *e)
{
	u32 *ric0 = p->alone ? &e->local0 : &e->ric0;
	u32 *ric1 = p->alone ? &e->local1 : &e->ric1;
	u32 *ric2 = p->alone ? &e->local2 : &e->ric2;

	if (!p->alone && !p->gtse) {
		e->hcall++;
	} else if (above(p, pages)) {
		*(tables ? ric2 : ric0) += 1;
	} else {
		*ric0 += pages;
		*ric1 += tables;
	}
}

/*
 * A flush for each table, whose pages are dirty; and one at the end for the tables that
 * are freed, from the first page that the first one maps to that of the last. A table
 * that the segment shares with the page behind it stays.
 */
static void expected(const struct point *p, struct expect *e)
{
	u32 first = PER_TABLE - p->shift;

	memset(e, 0, sizeof(*e));
	one_flush(p, first, false, e);
	for (u32 i = 1; i < TABLES; i++)
		one_flush(p, PER_TABLE, false, e);
	if (p->shift)
		one_flush(p, p->shift, false, e);
	one_flush(p, (TABLES - 1) * PER_TABLE + 1, true, e);
}

static void check_point(const struct point *p)
{
	static struct metrics ms;
	char text[5][64], what[160];
	const char *set[] = {
		"powerpc.cpumask_trim=none", text[0], text[1],
		p->ge ? "powerpc.ceiling_compare=ge" : "powerpc.ceiling_compare=gt",
		p->call ? "powerpc.ceiling_range=call" : "powerpc.ceiling_range=flush",
		p->gtse ? "powerpc.gtse=on" : "powerpc.gtse=off", NULL,
	};
	const char *params[] = {
		"size=8M", text[2], text[3],
		p->alone ? "controller=none" : "controller=sleep", NULL,
	};
	struct lab_point run = {
		.workload = "shm-attach", .machine = "power10-105", .era = "5.14",
		.threads = 1, .pin = true, .seed = 1, .set = set, .params = params,
	};
	struct expect e;

	snprintf(text[0], sizeof(text[0]), "powerpc.tlb_single_page_flush_ceiling=%u",
		 p->ceiling);
	snprintf(text[1], sizeof(text[1]), "powerpc.tlb_local_single_page_flush_ceiling=%u",
		 p->local_ceiling);
	snprintf(text[2], sizeof(text[2]), "iterations=%u", UNITS);
	snprintf(text[3], sizeof(text[3]), "shift=%u", p->shift);
	snprintf(what, sizeof(what), "ceiling %u (%s), local %u, range %s, GTSE %s, shift %u%s",
		 p->ceiling, p->ge ? ">=" : ">", p->local_ceiling, p->call ? "call" : "flush",
		 p->gtse ? "on" : "off", p->shift, p->alone ? ", alone" : "");
	lab_run(&run, &ms);
	expected(p, &e);
	check_power(&ms, &e, what);
}

static void test_power(void **state)
{
	static const u32 ceilings[] = { 32, 33, 34 };

	(void)state;
	for (u32 i = 0; i < 3 * 32; i++) {
		struct point p = {
			.ceiling = ceilings[i / 32], .local_ceiling = 256,
			.ge = i & 1, .call = i & 2, .gtse = i & 4, .alone = i & 8,
			.shift = i & 16 ? 12 : 0,
		};

		check_point(&p);
	}
}

/* The local ceiling: below, at, and above what the four tables span. */
static void test_power_local(void **state)
{
	static const u32 ceilings[] = { 31, 32, 33, 96, 97, 98 };

	(void)state;
	for (u32 i = 0; i < 12; i++) {
		struct point p = {
			.ceiling = 0, .local_ceiling = ceilings[i / 2], .ge = i & 1,
			.gtse = true, .alone = true,
		};

		check_point(&p);
	}
}

/* The thread's own numbers: 4,096 against 128 for 256 MB, and one for the tables. */
static void test_power_full(void **state)
{
	static const char *const params[] = { "iterations=3", NULL };
	static const char *const set[2][4] = {
		{ "powerpc.cpumask_trim=none", "powerpc.ceiling_compare=ge",
		  "powerpc.tlb_single_page_flush_ceiling=34" },
		{ "powerpc.cpumask_trim=none", "powerpc.ceiling_compare=ge",
		  "powerpc.tlb_single_page_flush_ceiling=32" },
	};
	static const struct expect want[2] = {
		{ .ric0 = 4096, .ric2 = 1 }, { .ric0 = 128, .ric2 = 1 },
	};
	static struct metrics ms;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct lab_point run = {
			.workload = "shm-attach", .machine = "power10-105", .era = "5.14",
			.threads = 1, .pin = true, .seed = 1, .set = set[i],
			.params = params,
		};

		lab_run(&run, &ms);
		check_power(&ms, &want[i], set[i][2]);
	}
}

/* ---- x86 and arm64: 4K pages, 512 to a table, of which there are two ---- */

struct row {
	const char *machine, *set;
	const char *controller;
	struct {
		const char *kind;
		u32 per_unit;
	} expect[8];
};

/*
 * x86, without PCID: two CPUs, and an interrupt for each of three flushes. The two
 * tables are two strides of 2 MiB, so two INVLPG on either CPU.
 */
#define X86(ceiling, ...)                                                       \
	{ "qemu-x86-max", "x86.tlb_single_page_flush_ceiling=" #ceiling,        \
	  "controller=spin", { { "ipi", 3 }, __VA_ARGS__ } }

static const struct row others[] = {
	X86(1, { "cr3", 2 * 2 }, { "invlpg", 2 * 2 }),
	X86(511, { "cr3", 2 * 2 }, { "invlpg", 2 * 2 }),
	X86(512, { "invlpg", 2 * (2 * 512 + 2) }),
	X86(513, { "invlpg", 2 * (2 * 512 + 2) }),
	/* With page-table isolation, each twice: once for either ASID. */
	{ "qemu-arm64-a72", "arm64.max_tlbi_ops=1024", "controller=sleep",
	  { { "tlbi_vale1is", 2 * 2 * 512 }, { "tlbi_vae1is", 2 * 2 },
	    { "dsb_ishst", 3 }, { "dsb_ish", 3 } } },
	/* From 512 on the ASID; such a flush completes twice. */
	{ "qemu-arm64-a72", "arm64.max_tlbi_ops=ptrs_per_pte", "controller=sleep",
	  { { "tlbi_aside1is", 2 * 2 }, { "tlbi_vae1is", 2 * 2 },
	    { "dsb_ishst", 3 }, { "dsb_ish", 5 } } },
	/* 512 pages are one range, whatever the limit. */
	{ "qemu-arm64-max", "arm64.max_tlbi_ops=ptrs_per_pte", "controller=sleep",
	  { { "tlbi_rvale1is", 2 }, { "tlbi_rvae1is", 1 },
	    { "dsb_ishst", 3 }, { "dsb_ish", 3 } } },
};

static u32 expected_of(const struct row *r, const char *kind)
{
	for (u32 i = 0; i < 8 && r->expect[i].kind; i++)
		if (!strcmp(r->expect[i].kind, kind))
			return r->expect[i].per_unit;
	return 0;
}

static void test_others(void **state)
{
	static struct metrics ms;
	u32 wrong = 0, seen = 0;

	(void)state;
	for (u32 r = 0; r < sizeof(others) / sizeof(others[0]); r++) {
		const char *set[] = { others[r].set, NULL };
		const char *params[] = { "iterations=3", "size=4M", others[r].controller, NULL };
		struct lab_point run = {
			.workload = "shm-attach", .machine = others[r].machine, .era = "6.12",
			.threads = 1, .pin = true, .seed = 1, .set = set, .params = params,
		};

		lab_run(&run, &ms);
		for (u32 i = 0; i < ms.n; i++) {
			const char *name = ms.m[i].name;
			u32 want;

			if (strncmp(name, "flush.", 6) || !strcmp(name, "flush.ttbr0") ||
			    !strcmp(name, "flush.cr3_noflush"))
				continue;
			want = expected_of(&others[r], name + 6);
			seen += want != 0;
			if (per_unit(&ms, name) == want)
				continue;
			print_error("%s, %s: %s %u, expected %u\n", others[r].machine,
				    others[r].set, name, per_unit(&ms, name), want);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
	assert_true(seen > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_power_local),
		cmocka_unit_test(test_power_full),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests_name("shm-attach", tests, NULL, NULL);
}
