// SPDX-License-Identifier: GPL-2.0-or-later
/* The workloads themselves: which calls, in which order, within which window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/workload/fake_world.h"
#include "workload/common.h"
#include "workload/figures.h"

#define HINT 0x200000000000ULL

struct set {
	const char *name;
	u64 value;
};

static struct fake_world *make(void)
{
	struct fake_world *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	return f;
}

static bool run(struct fake_world *f, const struct workload *wl, u32 threads,
		const struct set *set)
{
	u64 param[WL_MAX_PARAMS] = { 0 };
	u32 i;

	for (i = 0; wl->params[i].name; i++)
		param[i] = wl->params[i].def;
	for (; set->name; set++) {
		for (i = 0; wl->params[i].name; i++)
			if (!strcmp(wl->params[i].name, set->name))
				break;
		assert_non_null(wl->params[i].name);
		param[i] = set->value;
	}
	return fake_run(f, wl, threads, param);
}

/* Index of the first such event, or f->n. */
static u32 find(const struct fake_world *f, enum fake_call call)
{
	u32 i = 0;

	while (i < f->n && f->log[i].call != call)
		i++;
	return i;
}

static u32 count(const struct fake_world *f, enum fake_call call, u32 from, u32 to)
{
	u32 n = 0;

	for (u32 i = from; i < to; i++)
		n += f->log[i].call == call;
	return n;
}

static void test_mmap8_calls(void **state)
{
	static const struct set set[] = { { "iterations", 3 }, { "hint", HINT },
					  { "touch", 2 }, { NULL, 0 } };
	static const enum fake_call want[] = { FAKE_MMAP, FAKE_STORE, FAKE_STORE,
					       FAKE_MADVISE, FAKE_MUNMAP };
	struct fake_world *f = make();
	u32 open, close;

	(void)state;
	assert_true(run(f, &workload_mmap8, 1, set));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(close - open - 1, 3 * 5);
	for (u32 i = 0; i < 15; i++) {
		const struct fake_event *e = &f->log[open + 1 + i];

		assert_int_equal(e->call, want[i % 5]);
		assert_int_equal(e->addr, HINT + (i % 5 == 2 ? 4096 : 0));
		if (e->call != FAKE_STORE)
			assert_int_equal(e->len, 16 << 20);
	}
	assert_int_equal(f->w.ops_done, 3);
	fake_free(f);
}

/* The default hint: the midpoint of 2 GiB that were mapped and unmapped. */
static void test_mmap8_hint(void **state)
{
	static const struct set set[] = { { "iterations", 1 }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open;

	(void)state;
	assert_true(run(f, &workload_mmap8, 1, set));
	open = find(f, FAKE_OPEN);
	assert_int_equal(f->log[0].call, FAKE_MMAP);
	assert_int_equal(f->log[0].len, 2ULL << 30);
	assert_int_equal(f->log[1].call, FAKE_MUNMAP);
	assert_int_equal(f->log[open + 1].addr, f->log[0].addr + (1ULL << 30));
	fake_free(f);
}

/* Creation before the window, the end of every thread after it. */
static void test_mmap8_window(void **state)
{
	static const struct set set[] = { { "iterations", 5 }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, close;

	(void)state;
	assert_true(run(f, &workload_mmap8, 4, set));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(count(f, FAKE_CREATE, 0, open), 3);
	assert_int_equal(count(f, FAKE_MUNMAP, open, close), 4 * 5);
	assert_int_equal(count(f, FAKE_MMAP, close, f->n), 0);
	assert_int_equal(count(f, FAKE_END, 0, close), 0);
	assert_int_equal(f->w.ops_done, 20);
	fake_free(f);
}

/* One whole iteration each, round-robin. */
static void test_mmap8_turns(void **state)
{
	static const struct set set[] = { { "iterations", 5 }, { "order", 1 },
					  { NULL, 0 } };
	struct fake_world *f = make();
	u32 open;

	(void)state;
	assert_true(run(f, &workload_mmap8, 3, set));
	open = find(f, FAKE_OPEN);
	assert_int_equal(find(f, FAKE_CLOSE) - open - 1, 3 * 5 * 4);
	for (u32 i = 0; i < 3 * 5 * 4; i++)
		assert_int_equal(f->log[open + 1 + i].thread, i / 4 % 3);
	assert_int_equal(f->w.ops_done, 15);
	fake_free(f);
}

/* In free order the threads do overlap (or the test above shows nothing). */
static void test_mmap8_free_overlaps(void **state)
{
	static const struct set set[] = { { "iterations", 5 }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, switches = 0;

	(void)state;
	assert_true(run(f, &workload_mmap8, 3, set));
	open = find(f, FAKE_OPEN);
	for (u32 i = open + 2; i < find(f, FAKE_CLOSE); i++)
		switches += f->log[i].thread != f->log[i - 1].thread;
	assert_true(switches > 15);
	fake_free(f);
}

/* The set is resident before the start; chasers end with the last worker. */
static void test_mmap8_chasers(void **state)
{
	static const struct set set[] = { { "iterations", 5 }, { "chasers", 2 },
					  { "chase", 7 }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open;

	(void)state;
	assert_true(run(f, &workload_mmap8, 2, set));
	open = find(f, FAKE_OPEN);
	assert_int_equal(count(f, FAKE_STORE, 0, open), 7);
	assert_int_equal(count(f, FAKE_CHASE, open, f->n), 2);
	assert_int_equal(f->log[find(f, FAKE_CHASE)].addr, f->log[0].addr);
	assert_int_equal(f->w.ops_done, 10);
	fake_free(f);
}

/* Whatever goes wrong, everybody comes home and the failure is told. */
static void test_mmap8_failures(void **state)
{
	static const struct set free_order[] = { { "iterations", 5 }, { NULL, 0 } };
	static const struct set turns[] = { { "iterations", 5 }, { "order", 1 },
					    { NULL, 0 } };

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct fake_world *f;

		/* The first is that of the hint. */
		for (u32 n = 2; n <= 1 + 15; n++) {
			f = make();
			f->fail_mmap = n;
			f->slow = n % 3;
			assert_true(run(f, &workload_mmap8, 3, i ? turns : free_order));
			assert_int_equal(f->w.failed, 12);
			assert_string_equal(f->w.failed_what, "mmap");
			fake_free(f);
		}
		f = make();
		f->fail_create = 2;
		assert_true(run(f, &workload_mmap8, 4, i ? turns : free_order));
		assert_int_equal(f->w.failed, 11);
		assert_int_equal(find(f, FAKE_OPEN), f->n);
		fake_free(f);

		f = make();
		f->stop_after_mmap = 6;
		assert_true(run(f, &workload_mmap8, 3, i ? turns : free_order));
		assert_int_equal(f->w.failed, 0);
		assert_true(f->w.ops_done > 0 && f->w.ops_done < 15);
		fake_free(f);
	}
}

static void test_mmap8_check(void **state)
{
	struct wl w = { .workload = &workload_mmap8, .threads = 1, .page_size = 65536 };

	(void)state;
	for (u32 i = 0; workload_mmap8.params[i].name; i++)
		w.param[i] = workload_mmap8.params[i].def;
	assert_null(workload_mmap8.check(&w));
	w.param[1] = 65536;
	assert_null(workload_mmap8.check(&w));
	w.param[2] = 2;
	assert_non_null(workload_mmap8.check(&w));
	w.param[2] = 1;
	w.param[5] = 1;
	assert_non_null(workload_mmap8.check(&w));
}

/* One mapping kept; nothing but stores and madvise in the window. */
static void test_dontneed(void **state)
{
	static const struct set set[] = { { "iterations", 4 }, { "touch", 3 },
					  { "hint", HINT }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, close;

	(void)state;
	assert_true(run(f, &workload_dontneed, 2, set));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(close - open - 1, 2 * 4 * 4);
	assert_int_equal(count(f, FAKE_STORE, open, close), 2 * 4 * 3);
	assert_int_equal(count(f, FAKE_MADVISE, open, close), 2 * 4);
	assert_int_equal(f->log[0].addr, HINT);
	assert_int_equal(f->w.ops_done, 8);
	fake_free(f);
}

static void test_mmap5(void **state)
{
	static const struct set set[] = { { "rounds", 2 }, { "iterations", 3 },
					  { "size", 64 }, { "hint", HINT }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, close;

	(void)state;
	assert_true(run(f, &workload_mmap5, 2, set));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(count(f, FAKE_CREATE, open, close), 2 * 2);
	assert_int_equal(count(f, FAKE_MUNMAP, open, close), 2 * 3);
	/* Every word of the mapping, and one byte of the stack. */
	assert_int_equal(count(f, FAKE_STORE, open, close), 2 * (3 * 8 + 1));
	assert_int_equal(count(f, FAKE_MADVISE, open, close), 2);
	assert_int_equal(f->w.ops_done, 2);
	fake_free(f);
}

/* Every record copies a chunk to a buffer of its own, and frees what it mapped. */
static void test_ebizzy_mmap(void **state)
{
	static const struct set set[] = { { "iterations", 4 }, { "chunks", 2 },
					  { "size", 64 << 10 }, { "alloc", 1 },
					  { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, close;

	(void)state;
	assert_true(run(f, &workload_ebizzy, 3, set));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(count(f, FAKE_MMAP, 0, open), 2);
	assert_int_equal(count(f, FAKE_STORE, 0, open), 2 * 16);
	assert_int_equal(count(f, FAKE_COPY, open, close), 3 * 4);
	assert_int_equal(count(f, FAKE_MMAP, open, close), 3 * 4);
	assert_int_equal(count(f, FAKE_MUNMAP, open, close), 3 * 4);
	assert_int_equal(f->w.ops_done, 12);
	fake_free(f);
}

/* glibc: mapped until the first free of the process, then from each thread's arena. */
static void test_ebizzy_malloc(void **state)
{
	static const struct set large[] = { { "iterations", 9 }, { NULL, 0 } };
	static const struct set small[] = { { "iterations", 9 }, { "size", 64 << 10 },
					    { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, close, mapped;

	(void)state;
	assert_true(run(f, &workload_ebizzy, 3, large));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	mapped = count(f, FAKE_MUNMAP, open, close);
	assert_in_range(mapped, 1, 3);
	assert_int_equal(count(f, FAKE_MMAP, open, close), mapped + 3);
	assert_int_equal(count(f, FAKE_COPY, open, close), 3 * 9);
	assert_int_equal(f->w.ops_done, 27);
	fake_free(f);

	/* Below the threshold nothing is ever mapped but arenas. */
	f = make();
	assert_true(run(f, &workload_ebizzy, 3, small));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(count(f, FAKE_MUNMAP, open, close), 0);
	assert_int_equal(count(f, FAKE_MMAP, open, close), 3);
	fake_free(f);
}

static void test_ebizzy_failures(void **state)
{
	static const struct set set[] = { { "iterations", 4 }, { "chunks", 2 },
					  { NULL, 0 } };
	struct wl w = { .workload = &workload_ebizzy, .threads = 1, .page_size = 65536 };

	(void)state;
	for (u32 n = 1; n <= 6; n++) {
		struct fake_world *f = make();

		f->fail_mmap = n;
		assert_true(run(f, &workload_ebizzy, 3, set));
		assert_int_equal(f->w.failed, 12);
		fake_free(f);
	}
	w.param[2] = 65536 * 3;
	assert_null(workload_ebizzy.check(&w));
	w.param[2] = 65536 + 4096;
	assert_non_null(workload_ebizzy.check(&w));
}

/* A unit is an attach, a write to each page, a detach; the first is not measured. */
static void test_shm_attach(void **state)
{
	static const struct set set[] = { { "iterations", 3 }, { "size", 16 << 10 },
					  { "shift", 3 }, { NULL, 0 } };
	static const enum fake_call unit[] = { FAKE_SHMAT, FAKE_STORE, FAKE_STORE,
					       FAKE_STORE, FAKE_STORE, FAKE_SHMDT };
	struct fake_world *f = make();
	u32 open, close;

	(void)state;
	assert_true(run(f, &workload_shm_attach, 1, set));
	open = find(f, FAKE_OPEN);
	close = find(f, FAKE_CLOSE);
	assert_int_equal(count(f, FAKE_SHMAT, 0, open), 1);
	assert_int_equal(count(f, FAKE_CREATE, 0, open), 1);
	assert_int_equal(close - open - 1, 3 * 6);
	for (u32 i = 0; i < 3 * 6; i++) {
		const struct fake_event *e = &f->log[open + 1 + i];

		assert_int_equal(e->call, unit[i % 6]);
		assert_int_equal(e->addr, 0x2000000000 + 3 * 4096 +
				 (e->call == FAKE_STORE ? (i % 6 - 1) * 4096 : 0));
	}
	assert_int_equal(count(f, FAKE_RMID, close, f->n), 1);
	assert_int_equal(f->w.ops_done, 3);
	fake_free(f);
}

/* Every worker has a segment and a set of its own; chasers share one. */
static void test_shm_attach_threads(void **state)
{
	static const struct set set[] = { { "iterations", 2 }, { "size", 8 << 10 },
					  { "chase", 5 }, { "chasers", 2 },
					  { "controller", 0 }, { NULL, 0 } };
	struct fake_world *f = make();
	u32 open, first;

	(void)state;
	assert_true(run(f, &workload_shm_attach, 3, set));
	open = find(f, FAKE_OPEN);
	assert_int_equal(f->log[0].len, (3 + 1) * 5 * 4096);
	assert_int_equal(count(f, FAKE_CREATE, 0, f->n), 2 + 2);
	assert_int_equal(count(f, FAKE_CHASE, open, f->n), 2);
	first = find(f, FAKE_CHASE);
	assert_int_equal(f->log[first].addr, f->log[0].addr);
	assert_int_equal(count(f, FAKE_SHMGET, 0, open), 3);
	assert_int_equal(count(f, FAKE_SHMAT, open, f->n), 3 * 2);
	assert_int_equal(count(f, FAKE_RMID, open, f->n), 3);
	assert_int_equal(f->w.ops_done, 6);
	fake_free(f);
}

/* However it ends, everybody comes home and the segments go. */
static void test_shm_attach_failures(void **state)
{
	static const struct set set[] = { { "iterations", 4 }, { "size", 8 << 10 },
					  { "controller", 2 }, { NULL, 0 } };

	(void)state;
	for (u32 n = 1; n <= 8; n++) {
		struct fake_world *f = make();

		f->fail_shmat = n;
		assert_true(run(f, &workload_shm_attach, 2, set));
		assert_int_equal(f->w.failed, 12);
		assert_string_equal(f->w.failed_what, "shmat");
		assert_int_equal(count(f, FAKE_RMID, 0, f->n),
				 count(f, FAKE_SHMGET, 0, f->n));
		fake_free(f);

		f = make();
		f->stop_after_shmat = n;
		assert_true(run(f, &workload_shm_attach, 2, set));
		assert_int_equal(f->w.failed, 0);
		assert_true(f->w.ops_done < 8);
		fake_free(f);
	}
	for (u32 n = 1; n <= 2; n++) {
		struct fake_world *f = make();

		f->fail_create = n;
		assert_true(run(f, &workload_shm_attach, 2, set));
		assert_int_equal(f->w.failed, 11);
		assert_int_equal(find(f, FAKE_OPEN), f->n);
		assert_int_equal(count(f, FAKE_RMID, 0, f->n), 2);
		fake_free(f);
	}
}

static void test_shm_attach_check(void **state)
{
	static const struct {
		u32 param;
		u64 value;
	} bad[] = {
		{ 1, 65536 + 4096 }, { 3, 5 }, { 4, 1 }, { 6, 32 }, { 7, (2 << 20) + 65536 },
	};
	struct wl w = { .workload = &workload_shm_attach, .threads = 1, .page_size = 65536,
			.nr_cpus = 2, .pin = true };

	(void)state;
	for (u32 i = 0; workload_shm_attach.params[i].name; i++)
		w.param[i] = workload_shm_attach.params[i].def;
	assert_null(workload_shm_attach.check(&w));
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wl wrong = w;

		wrong.param[bad[i].param] = bad[i].value;
		assert_non_null(workload_shm_attach.check(&wrong));
	}
	w.threads = 2;
	assert_non_null(workload_shm_attach.check(&w));
}

/* One cycle through all pages, always the same. */
/*
 * Contiguous pages: of a cache whose sets are 64-byte lines counted by the low bits of the address,
 * each set gets as many lines as any other, as far as there are enough.
 */
static void check_sets(u32 pages, u32 lines, u32 page_size, u32 nr_sets)
{
	u32 *used = calloc(nr_sets, sizeof(*used));
	u32 n = pages * lines, most = (n + nr_sets - 1) / nr_sets;

	for (u32 i = 0; i < n; i++) {
		u64 off = wl_chase_offset(i, lines, page_size);

		assert_int_equal(off / page_size, i / lines);
		assert_int_equal(off % 64, 0);
		if (++used[off / 64 % nr_sets] > most)
			fail_msg("%u pages, %u lines: more than %u lines of one set", pages,
				 lines, most);
	}
	free(used);
}

static void test_chase_offset(void **state)
{
	(void)state;
	/* L1: a page is one way. L2: 1024 and 2048 sets. */
	for (u32 pages = 32; pages <= 8192; pages *= 2) {
		check_sets(pages, 1, 4096, 64);
		if (pages >= 2048)
			check_sets(pages, 1, 4096, 2048);
		if (pages >= 1024)
			check_sets(pages, 1, 4096, 1024);
		check_sets(pages / 32, 64, 4096, 64);
		check_sets(pages / 32, 64, 4096, 2048);
	}
	check_sets(1024, 1, 65536, 1024);
	check_sets(3, 1024, 65536, 2048);
}

static void test_cycle(void **state)
{
	u32 next[1000], again[1000];

	(void)state;
	for (u32 n = 1; n <= 1000; n += n < 10 ? 1 : 99) {
		u32 at = 0, steps = 0;

		wl_cycle(next, n);
		do {
			at = next[at];
			steps++;
		} while (at && steps <= n);
		assert_int_equal(steps, n);
	}
	wl_cycle(again, 1000);
	wl_cycle(next, 1000);
	assert_memory_equal(again, next, sizeof(next));
}

/* mm-step, by its number: the calls of an operation of two pages, at whatever time. */
struct step {
	u64 what;
	enum fake_call calls[6];
	u32 n;
};

static const struct step steps[] = {
	{ 0, { FAKE_MMAP, FAKE_STORE, FAKE_STORE, FAKE_MUNMAP }, 4 },
	{ 2, { FAKE_MMAP, FAKE_MUNMAP }, 2 },	/* loads are not recorded */
	{ 3, { FAKE_STORE, FAKE_STORE, FAKE_MADVISE }, 3 },
	{ 4, { FAKE_STORE, FAKE_STORE, FAKE_MPROTECT, FAKE_MPROTECT }, 4 },
	{ 5, { FAKE_STORE, FAKE_STORE, FAKE_MREMAP, FAKE_MREMAP }, 4 },
	{ 7, { FAKE_MMAP, FAKE_MADVISE, FAKE_STORE, FAKE_STORE, FAKE_MUNMAP }, 5 },
	{ 10, { FAKE_MADVISE }, 1 },
	{ 11, { FAKE_STORE, FAKE_STORE, FAKE_MADVISE, FAKE_MADVISE }, 4 },
	{ 12, { FAKE_NUMA_HINT, FAKE_STORE, FAKE_STORE }, 3 },
};

/* Whole operations in strict turns, all within the window. */
static void test_mm_step(void **state)
{
	(void)state;
	for (u32 s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		const struct set set[] = { { "iterations", 4 }, { "touch", 2 }, { "hint", HINT },
					   { "what", steps[s].what }, { NULL, 0 } };
		struct fake_world *f = make();
		u32 open, n = steps[s].n;

		assert_true(run(f, &workload_mm_step, 3, set));
		open = find(f, FAKE_OPEN);
		assert_int_equal(find(f, FAKE_CLOSE) - open - 1, 3 * 4 * n);
		for (u32 i = 0; i < 3 * 4 * n; i++) {
			assert_int_equal(f->log[open + 1 + i].call, steps[s].calls[i % n]);
			assert_int_equal(f->log[open + 1 + i].thread, i / n % 3);
		}
		assert_int_equal(f->w.ops_done, 12);
		fake_free(f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mm_step),
		cmocka_unit_test(test_mmap8_calls),
		cmocka_unit_test(test_mmap8_hint),
		cmocka_unit_test(test_mmap8_window),
		cmocka_unit_test(test_mmap8_turns),
		cmocka_unit_test(test_mmap8_free_overlaps),
		cmocka_unit_test(test_mmap8_chasers),
		cmocka_unit_test(test_mmap8_failures),
		cmocka_unit_test(test_mmap8_check),
		cmocka_unit_test(test_dontneed),
		cmocka_unit_test(test_mmap5),
		cmocka_unit_test(test_ebizzy_mmap),
		cmocka_unit_test(test_ebizzy_malloc),
		cmocka_unit_test(test_ebizzy_failures),
		cmocka_unit_test(test_shm_attach),
		cmocka_unit_test(test_shm_attach_threads),
		cmocka_unit_test(test_shm_attach_failures),
		cmocka_unit_test(test_shm_attach_check),
		cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_chase_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
