/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When hardware marks an entry used: with C code's access, later, or with none. Thread 0 is
 * the kernel, which looks at the entry; thread 1 is in user mode. r[0] and r[1] are the digits
 * of an outcome, r[0] the lower one.
 */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define PTE shape_entry(v->pte, 1)
#define LOOK mach_load(PTE, MACH_RELAXED)
#define CLEAR mach_rmw(PTE, MACH_XCHG, 0, 0, MACH_FULL)
#define SAY mach_store(shape_y, 1, MACH_RELEASE)
#define HEAR mach_load(shape_y, MACH_ACQUIRE)

enum entry { CLEAN = 1, OLD = 2 };

static struct seen look(enum xarch arch, u32 entry, void (*kernel)(void), void (*user)(void))
{
	struct shape s = {
		.arch = arch, .tables = true, .clean = entry & CLEAN,
		.not_accessed = entry & OLD, .thread = { kernel, user },
	};
	struct seen seen;

	shape_run(&s, &seen);
	return seen;
}

static void nothing(void) { }

static u64 user_store(void)
{
	u64 val = 7;

	return mach_env()->ops->user_access(SHAPE_VA, true, &val) ? 9 : 7;
}

static void user(void) { v->r[1] = user_store(); }

/* ---- a dirty bit is kept, or lost ---- */

static void get_and_clear(void)
{
	v->r[0] = shape_dirty(CLEAR);
}

/* It was looked at before, too; which does not matter. */
static void look_get_and_clear(void)
{
	(void)LOOK;
	v->r[0] = shape_dirty(CLEAR);
}

static void read_then_write(void)
{
	v->r[0] = shape_dirty(LOOK);
	mach_store(PTE, 0, MACH_RELAXED);
}

static void compare_and_clear(void)
{
	u64 pte = LOOK;

	/* Until it was as it is. */
	while (mach_rmw(PTE, MACH_CMPXCHG, 0, pte, MACH_FULL) != pte)
		pte = LOOK;
	v->r[0] = shape_dirty(pte);
}

static void test_clear(void **state)
{
	void (*const keep[])(void) = {
		get_and_clear, look_get_and_clear, compare_and_clear,
	};

	(void)state;
	for (u32 arch = XARCH_X86; arch <= XARCH_ARM64; arch++) {
		for (u32 i = 0; i < 3; i++) {
			struct seen seen = look((enum xarch)arch, CLEAN, keep[i], user);

			assert_int_equal(seen.rule, XRULE_NONE);
			assert_true(shape_saw(&seen, 71));
			assert_true(shape_saw(&seen, 90));
			/* The store was made, and nobody knows. */
			assert_false(shape_saw(&seen, 70));
		}
		assert_int_equal(look((enum xarch)arch, CLEAN, read_then_write, user).rule,
				 XRULE_LOST_DIRTY);
		/* With nobody to make it dirty, nothing is lost. */
		assert_int_equal(look((enum xarch)arch, CLEAN, read_then_write, nothing).rule,
				 XRULE_NONE);
	}
}

/* ---- later than the access ---- */

static void store_say(void) { user_store(); SAY; }
static void store_dsb_say(void) { user_store(); mach_fence(MACH_DSB_ISH); SAY; }
static void store_dsb_st_say(void) { user_store(); mach_fence(MACH_DSB_ISHST); SAY; }
static void hear_look(void) { v->r[0] = HEAR; v->r[1] = shape_dirty(LOOK); }
static void hear_try(void)
{
	v->r[0] = HEAR;
	v->r[1] = shape_dirty(mach_rmw(PTE, MACH_CMPXCHG, 0, 1, MACH_FULL));
}
static void hear_clear(void) { v->r[0] = HEAR; v->r[1] = shape_dirty(CLEAR); }

static bool clean_after(enum xarch arch, void (*kernel)(void), void (*stores)(void))
{
	struct seen seen = look(arch, CLEAN, kernel, stores);

	assert_int_equal(seen.rule, XRULE_NONE);
	assert_true(shape_saw(&seen, 11));
	assert_true(shape_saw(&seen, 0) && shape_saw(&seen, 10));
	return shape_saw(&seen, 1);
}

static void test_later(void **state)
{
	(void)state;
	assert_true(clean_after(XARCH_ARM64, hear_look, store_say));
	assert_true(clean_after(XARCH_ARM64, hear_look, store_dsb_st_say));
	assert_false(clean_after(XARCH_ARM64, hear_look, store_dsb_say));
	/* An atomic that does not write is a look. */
	assert_true(clean_after(XARCH_ARM64, hear_try, store_say));
	/* What overwrites the entry comes after the update. */
	assert_false(clean_after(XARCH_ARM64, hear_clear, store_say));
	assert_false(clean_after(XARCH_X86, hear_look, store_say));
}

static void own_look(void) { user_store(); v->r[0] = shape_dirty(LOOK); }
static void own_dsb(void)
{
	user_store();
	mach_fence(MACH_DSB_ISH);
	v->r[0] = shape_dirty(LOOK);
}

/* A CPU sees its own updates no sooner. */
static void test_own(void **state)
{
	struct seen seen = look(XARCH_ARM64, CLEAN, own_look, NULL);

	(void)state;
	assert_true(seen.n == 2 && shape_saw(&seen, 0) && shape_saw(&seen, 1));
	seen = look(XARCH_ARM64, CLEAN, own_dsb, NULL);
	assert_true(seen.n == 1 && shape_saw(&seen, 1));
	seen = look(XARCH_X86, CLEAN, own_look, NULL);
	assert_true(seen.n == 1 && shape_saw(&seen, 1));
}

/* Accessed and dirty are two updates, or one if the first is still owed. */
static void load_store_say(void) { (void)shape_load(SHAPE_VA); user_store(); SAY; }
static void store_load_dsb_say(void)
{
	user_store();
	(void)shape_load(SHAPE_VA);
	mach_fence(MACH_DSB_ISH);
	SAY;
}
static void two_looks(void)
{
	u64 pte = HEAR ? LOOK : 0;

	if (!pte)
		return;
	v->r[0] = 1U + shape_accessed(pte) + shape_dirty(pte);
	pte = LOOK;
	v->r[1] = 1U + shape_accessed(pte) + shape_dirty(pte);
}

static void test_two_updates(void **state)
{
	struct seen seen = look(XARCH_ARM64, CLEAN | OLD, two_looks, load_store_say);

	(void)state;
	for (u32 first = 1; first <= 3; first++)
		for (u32 second = 1; second <= 3; second++)
			assert_int_equal(shape_saw(&seen, second * 10 + first),
					 second >= first);
	seen = look(XARCH_ARM64, CLEAN | OLD, two_looks, store_load_dsb_say);
	assert_true(seen.n == 2 && shape_saw(&seen, 0) && shape_saw(&seen, 33));
	/* x86 makes them with the accesses. */
	seen = look(XARCH_X86, CLEAN | OLD, two_looks, load_store_say);
	assert_true(seen.n == 2 && shape_saw(&seen, 0) && shape_saw(&seen, 33));
}

/* ---- with no access ---- */

static void look_twice(void)
{
	v->r[0] = shape_accessed(LOOK);
	v->r[1] = shape_accessed(LOOK);
}

static void look_mkold_look(void)
{
	u64 pte = LOOK;

	v->r[0] = shape_accessed(pte);
	mach_store(PTE, shape_mkold(pte), MACH_RELEASE);
	v->r[1] = shape_accessed(LOOK);
}

static void test_no_access(void **state)
{
	(void)state;
	for (u32 arch = XARCH_X86; arch <= XARCH_ARM64; arch++) {
		struct seen seen = look((enum xarch)arch, OLD, look_twice, NULL);

		assert_true(seen.n == 3 && !shape_saw(&seen, 1));
		/* Once, of an entry. */
		seen = look((enum xarch)arch, OLD, look_mkold_look, NULL);
		assert_false(shape_saw(&seen, 11));
		assert_true(shape_saw(&seen, 1) && shape_saw(&seen, 10));
		/* Never the dirty state. */
		seen = look((enum xarch)arch, CLEAN | OLD, get_and_clear, NULL);
		assert_true(seen.n == 1 && shape_saw(&seen, 0));
	}
}

/*
 * No flush for what was not accessed: right if the atomic that clears the entry says so,
 * wrong if it was a look before. The user hears of it (r[0]) and loads (r[1]).
 */
static void invlpg(void *info) { mach_x86_invlpg((u64)(uintptr_t)info); }

static void clear_and_ask(bool before)
{
	u64 all = ~0ULL, looked = LOOK, cleared = CLEAR;

	if (shape_accessed(before ? looked : cleared))
		mach_ipi(&all, invlpg, (void *)(uintptr_t)SHAPE_VA, true);
	SAY;
}
static void ask_before(void) { clear_and_ask(true); }
static void ask_then(void) { clear_and_ask(false); }
static void hear_load(void) { v->r[0] = HEAR; v->r[1] = shape_load(SHAPE_VA); }

static void test_walk_caches_entry(void **state)
{
	struct seen seen = look(XARCH_X86, OLD, ask_before, hear_load);

	(void)state;
	assert_true(shape_saw(&seen, 11));
	seen = look(XARCH_X86, OLD, ask_then, hear_load);
	assert_false(shape_saw(&seen, 11));
	assert_true(shape_saw(&seen, 91) && shape_saw(&seen, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_two_updates),
		cmocka_unit_test(test_no_access),
		cmocka_unit_test(test_walk_caches_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
