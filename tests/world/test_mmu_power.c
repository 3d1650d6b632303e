/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER's tlbie, tlbiel and what belongs to them: as test_mmu.c.
 */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define PID 1ULL
#define UNMAP mach_store(shape_entry(v->pte, 1), 0ULL, MACH_RELAXED)
#define FENCE(kind) mach_fence(MACH_##kind)
#define PTESYNC FENCE(PTESYNC)
#define TLBIE mach_ppc_tlbie(SHAPE_VA, PID << 32, 0, 1, 1)
#define COMPLETE do { FENCE(EIEIO); FENCE(TLBSYNC); PTESYNC; } while (0)
#define SAY mach_store(shape_y, 1, MACH_RELEASE)

static void use(void)
{
	v->r[0] = mach_load(shape_y, MACH_ACQUIRE);
	v->r[1] = shape_load(SHAPE_VA);
}

static bool sees(void (*kernel)(void), u32 out)
{
	struct shape s = {
		.arch = XARCH_POWERPC, .tables = true, .bound = 3, .thread = { kernel, use },
	};
	struct seen seen;

	shape_run(&s, &seen);
	assert_int_equal(seen.rule, XRULE_NONE);
	return shape_saw(&seen, out);
}

/* ---- tlbie; r[0] the flag, r[1] 1 the old page, 9 a fault ---- */

static void unmap(void) { UNMAP; PTESYNC; TLBIE; COMPLETE; SAY; }
static void no_tlbie(void) { UNMAP; PTESYNC; COMPLETE; SAY; }
static void no_eieio(void) { UNMAP; PTESYNC; TLBIE; FENCE(TLBSYNC); PTESYNC; SAY; }
static void no_tlbsync(void) { UNMAP; PTESYNC; TLBIE; FENCE(EIEIO); PTESYNC; SAY; }
static void no_last_ptesync(void) { UNMAP; PTESYNC; TLBIE; FENCE(EIEIO); FENCE(TLBSYNC); SAY; }
/* Nothing but a ptesync is before a tlbie: no other barrier, no branch. */
static void no_ptesync(void) { UNMAP; TLBIE; COMPLETE; SAY; }
static void hwsync(void) { UNMAP; FENCE(HWSYNC); TLBIE; COMPLETE; SAY; }
static void hwsync_isync(void)
{
	UNMAP;
	FENCE(HWSYNC);
	if (mach_load(shape_entry(v->pte, 1), MACH_RELAXED))
		return;
	FENCE(ISYNC);
	TLBIE;
	COMPLETE;
	SAY;
}

static void test_tlbie(void **state)
{
	(void)state;
	assert_true(sees(unmap, 91));
	assert_true(sees(unmap, 10));
	assert_false(sees(unmap, 11));
	assert_true(sees(no_tlbie, 11));
	assert_true(sees(no_eieio, 11));
	assert_true(sees(no_tlbsync, 11));
	assert_true(sees(no_last_ptesync, 11));
	assert_true(sees(no_ptesync, 11));
	assert_true(sees(hwsync, 11));
	assert_true(sees(hwsync_isync, 11));
}

/* ---- H_RPT_INVALIDATE: r[2] 1 if it was refused ---- */

#define RPTI(type, pages) (1U | (pages) << 20 | (type) << 24 | 1U << 28)

static void ask(u64 start, u64 end, u32 args)
{
	UNMAP;
	v->r[2] = !!mach_insn(MACH_PPC_H_RPT_INVALIDATE, start, end, args);
	SAY;
}
static void ask_page(void) { ask(SHAPE_VA, SHAPE_VA + 4096, RPTI(2, 1U)); }
static void ask_walk(void) { ask(SHAPE_VA, SHAPE_VA + 4096, RPTI(4, 1U)); }
static void ask_size(void) { ask(SHAPE_VA, SHAPE_VA + 4096, RPTI(2, 4U)); }
static void ask_beside(void) { ask(SHAPE_VA + 4096, SHAPE_VA + 8192, RPTI(2, 1U)); }
static void ask_all(void) { ask(0, ~0ULL, RPTI(14U, 15U)); }

static void test_hypervisor(void **state)
{
	(void)state;
	assert_true(sees(ask_page, 91));
	assert_false(sees(ask_page, 11));
	assert_true(sees(ask_page, 111));
	assert_true(sees(ask_walk, 11));
	assert_true(sees(ask_size, 11));
	assert_true(sees(ask_beside, 11));
	assert_true(sees(ask_all, 91));
	assert_false(sees(ask_all, 11));
	assert_false(sees(ask_all, 191));
}

/* ---- tlbiel, on the CPU that used the page; r[0] 1 or 9 as above ---- */

#define IS_PID (1ULL << 10)

static void tlbiel_pid(u64 first, u64 last)
{
	for (u64 set = first; set <= last; set++)
		mach_ppc_tlbiel(IS_PID | set << 12, PID << 32, 0, 1, 1);
}

static void local(u64 first, u64 last, bool early, bool late)
{
	v->r[1] = shape_load(SHAPE_VA);
	UNMAP;
	PTESYNC;
	tlbiel_pid(first, last);
	if (early)
		(void)mach_insn(MACH_PPC_SLBIA, 3, 0, 0);
	PTESYNC;
	if (late)
		(void)mach_insn(MACH_PPC_SLBIA, 3, 0, 0);
	FENCE(ISYNC);
	v->r[0] = shape_load(SHAPE_VA);
}

/* The page's class is 1: its number modulo 128. */
static void all_sets(void) { local(0, 127, false, true); }
static void its_set(void) { local(1, 1, false, true); }
static void other_sets(void) { local(2, 127, false, true); }
static void no_slbia(void) { local(0, 127, false, false); }
static void early_slbia(void) { local(0, 127, true, false); }

static void by_address(void)
{
	v->r[1] = shape_load(SHAPE_VA);
	UNMAP;
	PTESYNC;
	mach_ppc_tlbiel(SHAPE_VA, PID << 32, 0, 1, 1);
	PTESYNC;
	FENCE(ISYNC);
	v->r[0] = shape_load(SHAPE_VA);
}

static bool keeps(void (*kernel)(void))
{
	struct shape s = { .arch = XARCH_POWERPC, .tables = true, .thread = { kernel } };
	struct seen seen;

	shape_run(&s, &seen);
	assert_int_equal(seen.rule, XRULE_NONE);
	assert_true(shape_saw(&seen, 19));
	return shape_saw(&seen, 11);
}

static void test_tlbiel(void **state)
{
	(void)state;
	assert_false(keeps(by_address));
	assert_false(keeps(all_sets));
	assert_false(keeps(its_set));
	assert_true(keeps(other_sets));
	assert_true(keeps(no_slbia));
	assert_true(keeps(early_slbia));
}

/*
 * ---- a CPU begins to use a PID, and says so in x; who unmaps looks there ----
 *
 * r[0] what the flusher saw, r[1] as above. Seen 0, it need not flush the CPU.
 */

static void unmap_and_look(void)
{
	UNMAP;
	FENCE(SMP_MB);
	v->r[0] = mach_load(shape_x, MACH_RELAXED);
}

static void begin(bool barrier)
{
	mach_store(shape_x, 1, MACH_RELAXED);
	if (barrier)
		FENCE(SMP_MB);
	mach_ppc_write_pid(2);
	FENCE(ISYNC);
	v->r[1] = shape_load(SHAPE_VA);
}
static void begin_ordered(void) { begin(true); }
static void begin_unordered(void) { begin(false); }

static bool misses(void (*user)(void))
{
	struct shape s = {
		.arch = XARCH_POWERPC, .tables = true, .thread = { unmap_and_look, user },
	};
	struct seen seen;

	shape_run(&s, &seen);
	assert_int_equal(seen.rule, XRULE_NONE);
	assert_true(shape_saw(&seen, 90));
	assert_true(shape_saw(&seen, 11));
	return shape_saw(&seen, 10);
}

static void test_first_switch(void **state)
{
	(void)state;
	assert_false(misses(begin_ordered));
	assert_true(misses(begin_unordered));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tlbie),
		cmocka_unit_test(test_hypervisor),
		cmocka_unit_test(test_tlbiel),
		cmocka_unit_test(test_first_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
