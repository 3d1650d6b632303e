// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts, exact: the number of each invalidation instruction per operation
 * beside what Debian's 6.1 issued under QEMU with a counting plugin (`make
 * fidelity` counts again). Every kind that a row does not name must be zero.
 *
 * Rows marked derived were not counted there: they follow from the rules of the
 * kernel (PCID, PTI and 64K pages do not occur under TCG).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/lab.h"

#define ITERATIONS 40
#define HINT "hint=0x200000000000"

struct expect {
	const char *kind;
	u32 per_op;
};

struct row {
	const char *name;
	const char *workload, *machine;
	u32 threads;
	const char *era;	/* NULL: 6.1, which was counted */
	const char *order;	/* of mmap8 */
	const char *touch;	/* of dontneed */
	const char *size;	/* of munmap-thp: one operation, in one thread */
	const char *set[3];
	struct expect expect[8];
};

#define F(machine_, ...)                                                        \
	{ .name = "F " machine_, .workload = "mmap8", .machine = machine_,      \
	  .threads = 1, .order = "order=free", .expect = { __VA_ARGS__ } }
#define S(machine_, ...)                                                        \
	{ .name = "S " machine_, .workload = "mmap8", .machine = machine_,      \
	  .threads = 4, .order = "order=turns", .expect = { __VA_ARGS__ } }
#define D(machine_, n, ...)                                                     \
	{ .name = "dontneed " #n " " machine_, .workload = "dontneed",          \
	  .machine = machine_, .threads = 1, .touch = "touch=" #n,              \
	  .expect = { __VA_ARGS__ } }

/* munmap-thp of size: the one that unmaps, and threads - 1 that spin. */
#define T(machine_, n, size_, era_, ...)                                        \
	{ .name = "munmap-thp " size_ " " machine_ ", " #n " CPUs, era " era_,  \
	  .workload = "munmap-thp", .machine = machine_, .threads = n,          \
	  .era = era_, .size = "size=" size_, .expect = { __VA_ARGS__ } }

#define F618(workload_, order_, touch_, ...)                                    \
	{ .name = "6.18 " workload_, .workload = workload_,       \
	  .machine = "qemu-x86-max", .threads = 1, .era = "6.18",               \
	  .order = order_, .touch = touch_, .expect = { __VA_ARGS__ } }

static const struct row rows[] = {
	F("qemu-x86-max", { "invlpg", 2 }),
	S("qemu-x86-max", { "invlpg", 8 }, { "ipi", 6 }),
	D("qemu-x86-max", 1, { "invlpg", 1 }),
	D("qemu-x86-max", 2, { "invlpg", 2 }),
	D("qemu-x86-max", 8, { "invlpg", 8 }),
	D("qemu-x86-max", 32, { "invlpg", 32 }),
	D("qemu-x86-max", 33, { "invlpg", 33 }),
	D("qemu-x86-max", 34, { "cr3", 1 }),
	D("qemu-x86-max", 64, { "cr3", 1 }),
	D("qemu-x86-max", 512, { "cr3", 1 }),

	F("qemu-arm64-max", { "tlbi_vale1is", 1 }, { "tlbi_rvae1is", 1 },
	  { "dsb_ishst", 2 }, { "dsb_ish", 2 }),
	S("qemu-arm64-max", { "tlbi_vale1is", 1 }, { "tlbi_rvae1is", 1 },
	  { "dsb_ishst", 2 }, { "dsb_ish", 2 }),
	D("qemu-arm64-max", 1, { "tlbi_vale1is", 1 }, { "dsb_ishst", 1 }, { "dsb_ish", 1 }),
	D("qemu-arm64-max", 2, { "tlbi_rvale1is", 1 }, { "dsb_ishst", 1 }, { "dsb_ish", 1 }),
	D("qemu-arm64-max", 3, { "tlbi_rvale1is", 1 }, { "tlbi_vale1is", 1 },
	  { "dsb_ishst", 1 }, { "dsb_ish", 1 }),
	D("qemu-arm64-max", 8, { "tlbi_rvale1is", 1 }, { "dsb_ishst", 1 }, { "dsb_ish", 1 }),
	D("qemu-arm64-max", 33, { "tlbi_rvale1is", 1 }, { "tlbi_vale1is", 1 },
	  { "dsb_ishst", 1 }, { "dsb_ish", 1 }),
	D("qemu-arm64-max", 34, { "tlbi_rvale1is", 1 }, { "dsb_ishst", 1 }, { "dsb_ish", 1 }),
	D("qemu-arm64-max", 64, { "tlbi_rvale1is", 1 }, { "dsb_ishst", 1 }, { "dsb_ish", 1 }),

	F("qemu-power9", { "tlbiel_ric0", 2 }, { "tlbiel_ric1", 1 }, { "ptesync", 4 }),
	S("qemu-power9", { "tlbie_ric0", 6 }, { "tlbie_ric1", 1 }, { "tlbsync", 2 },
	  { "ptesync", 8 }),
	F("qemu-power10", { "tlbiel_ric0", 2 }, { "tlbiel_ric1", 1 }, { "ptesync", 4 }),
	S("qemu-power10", { "tlbie_ric0", 2 }, { "tlbie_ric1", 1 }, { "tlbsync", 2 },
	  { "ptesync", 4 }),
	/* A flush for each table of 32 pages. */
	D("qemu-power9", 1, { "tlbiel_ric0", 1 }, { "ptesync", 2 }),
	D("qemu-power9", 33, { "tlbiel_ric0", 33 }, { "ptesync", 4 }),
	D("qemu-power9", 34, { "tlbiel_ric0", 34 }, { "ptesync", 4 }),
	D("qemu-power9", 128, { "tlbiel_ric0", 128 }, { "ptesync", 8 }),

	/* The repeat: one dummy VALE1IS and a second DSB ISH a flush. */
	F("qemu-arm64-n1", { "tlbi_vale1is", 3 }, { "tlbi_vae1is", 1 },
	  { "dsb_ishst", 2 }, { "dsb_ish", 4 }),
	S("qemu-arm64-n1", { "tlbi_vale1is", 3 }, { "tlbi_vae1is", 1 },
	  { "dsb_ishst", 2 }, { "dsb_ish", 4 }),
	D("qemu-arm64-n1", 64, { "tlbi_vale1is", 65 }, { "dsb_ishst", 1 }, { "dsb_ish", 2 }),
	D("qemu-arm64-n1", 512, { "tlbi_aside1is", 1 }, { "tlbi_vale1is", 1 },
	  { "dsb_ishst", 1 }, { "dsb_ish", 2 }),

	F("qemu-arm64-a72", { "tlbi_vale1is", 2 }, { "tlbi_vae1is", 2 },
	  { "dsb_ishst", 2 }, { "dsb_ish", 2 }),
	S("qemu-arm64-a72", { "tlbi_vale1is", 2 }, { "tlbi_vae1is", 2 },
	  { "dsb_ishst", 2 }, { "dsb_ish", 2 }),
};

/*
 * Derived. With PCID the flush of one's own address space is still INVLPG; from 34
 * pages on Linux writes CR3 or, with INVPCID, uses that. With PTI each page
 * has a second translation, under the user PCID.
 */
static const struct row derived[] = {
	{ .name = "F x86, PCID without INVPCID (derived)", .workload = "mmap8",
	  .machine = "qemu-x86-max", .threads = 1, .order = "order=free",
	  .set = { "x86.pcid=on" }, .expect = { { "invlpg", 2 } } },
	{ .name = "dontneed 33 x86, PCID (derived)", .workload = "dontneed",
	  .machine = "qemu-x86-max", .threads = 1, .touch = "touch=33",
	  .set = { "x86.pcid=on" }, .expect = { { "invlpg", 33 } } },

	/*
	 * Tables go with MADV_DONTNEED: one flush more each time. The tracepoint tlb:tlb_flush
	 * counts 3 an iteration of mmap8 and 2 of dontneed on a 6.18.44.
	 */
	F618("mmap8", "order=free", NULL, { "invlpg", 3 }),
	F618("dontneed", NULL, "touch=1", { "invlpg", 2 }),
	F618("dontneed", NULL, "touch=33", { "invlpg", 34 }),
	F618("dontneed", NULL, "touch=34", { "invlpg", 1 }, { "cr3", 1 }),
	/* Huge pages: one operation for each, at the gather's end. Its stride is 2 MiB. */
	T("qemu-x86-max", 1, "2M", "6.1", { "invlpg", 1 }),
	T("qemu-x86-max", 4, "2M", "6.1", { "invlpg", 4 }, { "ipi", 3 }),
	T("qemu-x86-max", 1, "66M", "6.1", { "invlpg", 33 }),
	T("qemu-x86-max", 1, "68M", "6.1", { "cr3", 1 }),
	T("qemu-arm64-a72", 1, "2M", "6.1", { "tlbi_vale1is", 2 }, { "dsb_ishst", 1 },
	  { "dsb_ish", 1 }),
	T("qemu-arm64-max", 4, "2M", "6.1", { "tlbi_rvale1is", 1 }, { "dsb_ishst", 1 },
	  { "dsb_ish", 1 }),
	/*
	 * POWER: each at once, and again before tables could be freed, when the gather's
	 * page size changes. A fix-up of POWER9 adds two operations.
	 */
	T("qemu-power10", 1, "2M", "6.1", { "tlbiel_ric0", 2 }, { "ptesync", 4 }),
	T("qemu-power10", 4, "2M", "6.1", { "tlbie_ric0", 2 }, { "tlbsync", 2 },
	  { "ptesync", 4 }),
	T("qemu-power10", 4, "8M", "6.1", { "tlbie_ric0", 8 }, { "tlbsync", 5 },
	  { "ptesync", 10 }),
	T("qemu-power9", 4, "2M", "6.1", { "tlbie_ric0", 6 }, { "tlbsync", 2 },
	  { "ptesync", 8 }),
	/* Thread S1: an interrupt to every other CPU for each, and only one flush. */
	T("qemu-power10", 4, "8M", "5.3", { "ipi", 12 }, { "tlbie_ric0", 4 },
	  { "tlbsync", 1 }, { "ptesync", 2 }),
};

/* The kinds that flush, fence or interrupt; others are not of a cell. */
static bool counts_as_flush(const char *name)
{
	return !strncmp(name, "flush.", 6) && strcmp(name, "flush.ttbr0") &&
	       strcmp(name, "flush.cr3_noflush");
}

static u32 expected(const struct row *r, const char *kind)
{
	for (u32 i = 0; i < 8 && r->expect[i].kind; i++)
		if (!strcmp(r->expect[i].kind, kind))
			return r->expect[i].per_op;
	return 0;
}

static void check_row(const struct row *r)
{
	const char *params[4] = { r->size ? r->size : HINT, NULL };
	u32 times = r->size ? 1 : ITERATIONS * r->threads;
	struct lab_point p = {
		.workload = r->workload, .machine = r->machine, .era = r->era ? r->era : "6.1",
		.threads = r->threads, .pin = true, .seed = 1,
		.set = r->set, .params = params,
	};
	struct metrics ms;
	char iterations[32], text[64];
	u32 wrong = 0;

	snprintf(iterations, sizeof(iterations), "iterations=%d", ITERATIONS);
	if (!r->size) {
		params[1] = iterations;
		params[2] = r->order ? r->order : r->touch;
	}
	lab_run(&p, &ms);
	for (u32 i = 0; i < 8 && r->expect[i].kind; i++) {
		snprintf(text, sizeof(text), "flush.%s", r->expect[i].kind);
		if (lab_get(&ms, text) == 0) {
			print_error("%s: %s: none seen\n", r->name, text);
			wrong++;
		}
	}
	for (u32 i = 0; i < ms.n; i++) {
		const char *name = ms.m[i].name;
		double want;

		if (!counts_as_flush(name))
			continue;
		want = (double)expected(r, name + 6) * times;
		if (ms.m[i].value != want) {
			print_error("%s: %s %g, expected %g\n", r->name, name,
				    ms.m[i].value, want);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

static void test_derived(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
		check_row(&derived[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_derived),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
