/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Footprints: the search with partial-order reduction, which believes them, reaches the
 * same terminal states as without, on small programs of the real machine.
 */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define X mach_load(shape_x, MACH_RELAXED)
#define Y mach_load(shape_y, MACH_RELAXED)
#define SET_X(n) mach_store(shape_x, (n), MACH_RELAXED)
#define SET_Y(n) mach_store(shape_y, (n), MACH_RELAXED)
#define NOTE(e) xresult_note(e)

static void sb0(void) { SET_X(1); NOTE(Y); }
static void sb1(void) { SET_Y(1); NOTE(X); }
static void mp0(void) { SET_X(1); SET_Y(1); }
static void mp1(void) { NOTE(Y); NOTE(X); }
static void own(void) { SET_X(1); NOTE(X); SET_Y(2); NOTE(Y); }
static void fenced(void) { SET_X(3); mach_fence(MACH_SMP_MB); NOTE(Y); }
static void atomic(void) { SET_Y(4); NOTE(mach_rmw(shape_x, MACH_ADD, 1, 0, MACH_FULL)); }

static void locked(void)
{
	mach_spin_lock(&v->a);
	NOTE(X);
	SET_X(X + 1);
	mach_spin_unlock(&v->a);
	NOTE(Y);
}

static void handler(void *info)
{
	(void)info;
	SET_Y(X + 1);
}

static void send(void)
{
	u64 all = ~0ULL;

	SET_X(1);
	mach_ipi(&all, handler, NULL, true);
	NOTE(Y);
}

static void taker(void)
{
	bool on;

	NOTE(Y);
	on = mach_irq_save();
	NOTE(Y);
	NOTE(X);
	mach_irq_restore(on);
	NOTE(Y);
}

static void sleeper(void)
{
	while (!mach_load(shape_x, MACH_ACQUIRE))
		mach_block();
	NOTE(Y);
}

static void waker(void)
{
	SET_Y(1);
	mach_store(shape_x, 1, MACH_RELEASE);
	mach_wake(1);
	SET_Y(2);
}

static void allocate(void)
{
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, 0);

	NOTE(X);
	SET_X(5);
	mach_free_frames(pfn, 0, 0);
}

static void remap(void)
{
	u64 all = ~0ULL;

	mach_store(shape_entry(v->pte, 1), shape_page_entry(v->new, true), MACH_RELAXED);
	if (shape_arch == XARCH_X86) {
		mach_ipi(&all, handler, NULL, true);
	} else {
		mach_fence(MACH_DSB_ISHST);
		mach_arm64_tlbi(VALE1IS, 1ULL << 48 | SHAPE_VA >> 12);
		mach_fence(MACH_DSB_ISH);
	}
	NOTE(X);
}

static void unmap(void)
{
	mach_store(shape_entry(v->pte, 1), 0, MACH_RELAXED);
	mach_fence(MACH_DSB_ISHST);
	mach_arm64_tlbi(VALE1IS, 1ULL << 48 | SHAPE_VA >> 12);
	mach_fence(MACH_DSB_ISH);
	SET_Y(1);
}

static void use(void)
{
	u64 val = 6;

	NOTE(shape_load(SHAPE_VA));
	NOTE(Y);
	mach_env()->ops->user_access(SHAPE_VA, true, &val);
}

/* A section that saw X as it was before call_rcu() is over when the callback runs. */
static void read_section(void)
{
	u64 before;

	mach_rcu_read_lock();
	before = X;
	if (!before && Y)
		xassert_fail("a callback ran within a section that it waits for");
	mach_rcu_read_unlock();
	NOTE(before);
}

static void lock_in_section(void)
{
	mach_rcu_read_lock();
	if (!X) {
		mach_spin_lock(&v->a);
		mach_spin_unlock(&v->a);
	}
	mach_rcu_read_unlock();
	SET_Y(2);
}

static void callback(struct rcu_head *head)
{
	(void)head;
	SET_Y(1);
}

static void lock_is_free(struct rcu_head *head)
{
	(void)head;
	if (!mach_spin_trylock(&v->a))
		xassert_fail("the lock is free");
	mach_spin_unlock(&v->a);
}

static void defer(void)
{
	SET_X(1);
	mach_fence(MACH_SMP_MB);
	mach_call_rcu(&v->rcu, callback);
}

static void look_at_z(void *info)
{
	(void)info;
	NOTE(mach_load(shape_z, MACH_RELAXED));
}

/* The other CPU may be in the handler as call_rcu() looks who is in a section. */
static void interrupt_and_defer(void)
{
	u64 all = ~0ULL;

	SET_X(1);
	mach_fence(MACH_SMP_MB);
	mach_ipi(&all, look_at_z, NULL, false);
	mach_call_rcu(&v->rcu, callback);
}

static void defer_lock(void)
{
	SET_X(1);
	mach_fence(MACH_SMP_MB);
	mach_call_rcu(&v->rcu, lock_is_free);
}

/* Entries that hardware updates: PTE is clean, or not accessed. */
#define PTE shape_entry(v->pte, 1)

static void look_and_clear(void)
{
	NOTE(mach_load(PTE, MACH_RELAXED));
	NOTE(mach_rmw(PTE, MACH_XCHG, 0, 0, MACH_FULL));
	SET_Y(1);
}

static void look_and_store(void)
{
	u64 pte = mach_load(PTE, MACH_RELAXED);

	NOTE(pte);
	SET_X(1);
	mach_store(PTE, shape_mkold(pte), MACH_RELEASE);
	NOTE(mach_load(PTE, MACH_RELAXED));
}

static void change(void)
{
	u64 pte = mach_load(PTE, MACH_RELAXED);

	NOTE(mach_rmw(PTE, MACH_CMPXCHG, shape_mkold(pte), pte, MACH_RELAXED));
	NOTE(X);
	NOTE(mach_load(PTE, MACH_ACQUIRE));
}

static void write_and_fence(void)
{
	u64 val = 6;

	mach_env()->ops->user_access(SHAPE_VA, true, &val);
	NOTE(Y);
	mach_fence(shape_arch == XARCH_ARM64 ? MACH_DSB_ISH : MACH_SMP_MB);
	NOTE(mach_load(PTE, MACH_RELAXED));
}

static void unhook(void)
{
	NOTE(Y);
	mach_store(shape_entry(v->pmd, 1), 0, MACH_RELEASE);
	NOTE(X);
}

static void look_pte(void)
{
	SET_X(1);
	NOTE(mach_load(PTE, MACH_RELAXED));
	SET_Y(1);
}

/* ---- sets of states ---- */

#define MAX_STATES 4096

struct states {
	u64 hash[MAX_STATES];
	u32 n;
};

static void add_state(void *arg, u64 hash)
{
	struct states *s = arg;

	for (u32 i = 0; i < s->n; i++)
		if (s->hash[i] == hash)
			return;
	assert_true(s->n < MAX_STATES);
	s->hash[s->n++] = hash;
}

static bool has(const struct states *s, u64 hash)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->hash[i] == hash)
			return true;
	return false;
}

static u64 search(const struct shape *shape, bool reduce, struct states *s,
		  enum xrule *rule)
{
	struct xsearch how = {
		.strategy = XSTRATEGY_SYSTEMATIC, .max_bound = 12, .workers = 1,
		.reduce = reduce, .terminal = add_state, .terminal_arg = s,
		.max_schedules = 400000,
	};
	struct xverdict verdict = { .found = false };
	struct xworld *w = shape_world(shape);

	s->n = 0;
	xsearch_run(w, &how, &verdict);
	*rule = verdict.found ? verdict.result.rule : XRULE_NONE;
	if (!verdict.found && !verdict.complete)
		*rule = XRULE_NR;	/* too large to compare */
	xverdict_free(&verdict);
	xworld_destroy(w);
	return verdict.schedules;
}

static void compare(const struct shape *shape, const char *name)
{
	static struct states all, some;
	enum xrule rule, rule2;
	u64 n, n2;

	n = search(shape, false, &all, &rule);
	n2 = search(shape, true, &some, &rule2);
	print_message("%-10s arch %u: %u states; %llu schedules, reduced %llu%s\n", name,
		      shape->arch, all.n, (unsigned long long)n, (unsigned long long)n2,
		      rule == XRULE_NR ? " (not complete)" : "");
	/* A part of all: then reduced must have found that and may have more. */
	if (rule != XRULE_NR)
		assert_int_equal(rule, rule2);
	for (u32 i = 0; i < all.n; i++)
		assert_true(has(&some, all.hash[i]));
	for (u32 i = 0; i < some.n && rule != XRULE_NR; i++)
		assert_true(has(&all, some.hash[i]));
}

enum { TABLES = 1, ARM_ONLY = 2, CLEAN = 4, OLD = 8 };

static const struct {
	const char *name;
	void (*t0)(void), (*t1)(void);
	u32 flags;
} programs[] = {
	{ "sb", sb0, sb1, 0 },
	{ "mp", mp0, mp1, 0 },
	{ "own", own, own, 0 },
	{ "own-sb", own, sb1, 0 },
	{ "fenced", fenced, sb1, 0 },
	{ "atomic", atomic, atomic, 0 },
	{ "atomic-mp", atomic, mp1, 0 },
	{ "locked", locked, locked, 0 },
	{ "locked-mp", locked, mp0, 0 },
	{ "ipi", send, taker, 0 },
	{ "ipi-own", send, own, 0 },
	{ "wake", sleeper, waker, 0 },
	{ "rcu", read_section, defer, 0 },
	{ "rcu-ipi", read_section, interrupt_and_defer, 0 },
	{ "rcu-lock", lock_in_section, defer_lock, 0 },
	{ "frames", allocate, allocate, 0 },
	{ "remap", remap, use, TABLES },
	{ "unmap", unmap, use, TABLES | ARM_ONLY },
	{ "clean-clear", look_and_clear, write_and_fence, TABLES | CLEAN },
	{ "clean-use", look_and_clear, use, TABLES | CLEAN },
	{ "clean-change", change, write_and_fence, TABLES | CLEAN },
	{ "clean-store", look_and_store, use, TABLES | CLEAN },
	{ "old-clear", look_and_clear, use, TABLES | OLD },
	{ "old-change", change, write_and_fence, TABLES | CLEAN | OLD },
	{ "old-store", look_and_store, mp1, TABLES | OLD },
	{ "old-unhook", unhook, look_pte, TABLES | OLD },
	{ "old-look", look_pte, unhook, TABLES | OLD },
	{ "old-both", change, look_and_clear, TABLES | OLD },
};

static void test_same_states(void **state)
{
	(void)state;
	for (u32 i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		for (u32 arch = XARCH_X86; arch <= XARCH_POWERPC; arch++) {
			u32 flags = programs[i].flags;
			struct shape s = {
				.arch = (enum xarch)arch, .tables = flags & TABLES,
				.clean = flags & CLEAN, .not_accessed = flags & OLD,
				.thread = { programs[i].t0, programs[i].t1 },
			};

			/* The tables here are x86's and arm64's. */
			if ((s.tables && arch == XARCH_POWERPC) ||
			    ((flags & ARM_ONLY) && arch != XARCH_ARM64))
				continue;
			compare(&s, programs[i].name);
		}
	}
}

/* ---- what a grace period waits for ---- */

static enum xrule rule_of(u32 arch, void (*t0)(void), void (*t1)(void))
{
	struct shape s = { .arch = (enum xarch)arch, .thread = { t0, t1 } };
	static struct states states;
	enum xrule rule;

	search(&s, true, &states, &rule);
	return rule;
}

static void test_grace_period(void **state)
{
	(void)state;
	for (u32 arch = XARCH_X86; arch <= XARCH_POWERPC; arch++) {
		assert_int_equal(rule_of(arch, read_section, defer), XRULE_NONE);
		assert_int_equal(rule_of(arch, read_section, interrupt_and_defer), XRULE_NONE);
		assert_int_equal(rule_of(arch, lock_in_section, defer_lock), XRULE_NONE);
	}
}

/* ---- an object that is freed is used only in some orders ---- */

static void use_load(void) { NOTE(X); }
static void use_store(void) { SET_X(1); }
static void use_rmw(void) { NOTE(mach_rmw(shape_x, MACH_ADD, 1, 0, MACH_FULL)); }
static void free_x(void) { mach_kfree(shape_x, 8); }
static void use_lock(void) { mach_spin_lock(&v->a); mach_spin_unlock(&v->a); }
static void free_v(void) { mach_kfree(v, sizeof(*v)); }
static void use_other(void) { SET_Y(1); NOTE(Y); }

static void test_freed_objects(void **state)
{
	(void)state;
	/* The thread that uses it comes first in order, so that the first execution is clean. */
	for (u32 arch = XARCH_X86; arch <= XARCH_POWERPC; arch++) {
		assert_int_equal(rule_of(arch, use_load, free_x), XRULE_BUG);
		assert_int_equal(rule_of(arch, use_store, free_x), XRULE_BUG);
		assert_int_equal(rule_of(arch, use_rmw, free_x), XRULE_BUG);
		assert_int_equal(rule_of(arch, use_lock, free_v), XRULE_BUG);
		assert_int_equal(rule_of(arch, use_other, free_x), XRULE_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_states),
		cmocka_unit_test(test_grace_period),
		cmocka_unit_test(test_freed_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
