/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The three cores under exploration: known bugs by knob are found, the defaults are
 * clean as far as a bounded search of a few thousand executions goes (the full
 * bound is the business of the scenarios); and reset is exact.
 */
#include "cli/core.h"
#include "dfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define PROT_RW		3
#define MAP_ANON	0x22	/* private, anonymous */
#define MAP_FIXED	0x10
#define MADV_DONTNEED	4

static const struct core_module *core;
static u64 a, b;		/* set by init, the same in every execution */

static void touch(u64 va)
{
	u64 val = 1;

	assert(!mach_env()->ops->user_access(va, true, &val));
}

static void init(void *arg)
{
	(void)arg;
	/* Far from each other: no table is shared but the upper ones. */
	a = (u64)core->sys.mmap(0x40000000, 4096, PROT_RW, MAP_ANON | MAP_FIXED);
	b = (u64)core->sys.mmap(0, 4096, PROT_RW, MAP_ANON);
	touch(a);
	touch(b);
}

static void dontneed(u64 va)
{
	if (!xop_begin(0))
		return;
	core->sys.madvise(va, 4096, MADV_DONTNEED);
	xop_end(0);
	xpromise_unmapped(va, va + 4096);
}

static void dontneed_a(void *arg)
{
	(void)arg;
	dontneed(a);
}

static void dontneed_a_load(void *arg)
{
	u64 val = 0;

	dontneed_a(arg);
	if (xop_begin(1)) {
		mach_env()->ops->user_access(a, false, &val);
		if (val)
			xassert_fail("r == 0");
		xop_end(1);
	}
}

static void dontneed_b(void *arg)
{
	(void)arg;
	dontneed(b);
}

static void unmap_a(void *arg)
{
	(void)arg;
	if (!xop_begin(0))
		return;
	core->sys.munmap(a, 4096);
	xop_end(0);
	xpromise_unmapped(a, a + 4096);
}

static void unmap_a_wake(void *arg)
{
	unmap_a(arg);
	mach_wake(2);
}

/* Its CPU idles on its page tables. */
static void sleeper(void *arg)
{
	u32 ctx = mach_context(MACH_CTX_SYSCALL);

	(void)arg;
	mach_block();
	mach_context(ctx);
}

static void load_b(void *arg)
{
	u64 val;

	(void)arg;
	if (mach_env()->ops->user_access(b, false, &val) || val != 1)
		xassert_fail("b == 1");
}

static s64 knobs[TLBLAB_MAX_KNOBS];

static void set_knob(const char *name, const char *value)
{
	for (u32 i = 0; core->knobs[i]; i++) {
		const struct knob *k = core->knobs[i];

		if (strcmp(k->name, name))
			continue;
		for (u32 j = 0; k->values && k->values[j]; j++)
			if (!strcmp(k->values[j], value))
				knobs[i] = j;
		if (!k->values)
			knobs[i] = atoi(value);
		return;
	}
	fail_msg("no knob %s", name);
}

static struct xworld *world(const char *arch, const char *knob, const char *value,
			    void (*t0)(void *), void (*t1)(void *))
{
	struct xprogram p = {
		.name = "test", .nr_cpus = 2, .init = init, .nr_threads = 2,
		.check_leaks = true,
		.thread = {
			{ .name = "cpu0", .cpu = 0, .nr_ops = 2, .fn = t0 },
			{ .name = "cpu1", .cpu = 1, .nr_ops = 2, .fn = t1 },
		},
	};
	static struct core c;
	struct xworld *w;
	char error[200];

	if (!core_load_arch(&c, arch))
		fail_msg("no core for %s", arch);
	core = c.module;
	for (u32 i = 0; core->knobs[i]; i++)
		knobs[i] = core->knobs[i]->def;
	if (!strcmp(arch, "powerpc"))
		set_knob("powerpc.pid_bits", "8");
	if (knob)
		set_knob(knob, value);
	p.arch = !strcmp(arch, "x86") ? XARCH_X86 :
		 !strcmp(arch, "arm64") ? XARCH_ARM64 : XARCH_POWERPC;
	p.core = core;
	p.knobs = knobs;
	w = xworld_create(&p, error, sizeof(error));
	if (!w)
		fail_msg("%s", error);
	return w;
}

/* The rule that breaks in up to n random executions, or XRULE_NONE. */
static enum xrule explore(const char *arch, const char *knob, const char *value,
			  void (*t0)(void *), void (*t1)(void *), u32 n)
{
	struct xworld *w = world(arch, knob, value, t0, t1);
	struct rnd r = { .state = 1 };
	struct xchooser chooser = rnd_chooser(&r);
	struct xresult res = { .rule = XRULE_NONE };

	for (u32 i = 0; i < n && !res.rule; i++) {
		r.stay = i % 3 ? 14 : 8;
		xworld_run(w, &chooser, &res, NULL, NULL);
	}
	if (res.rule)
		print_message("%s %s: %s\n", arch, value ? value : "", res.detail);
	xworld_destroy(w);
	return res.rule;
}

static const struct mach_site *site_of(const struct xworld *w, const char *func, u32 kind)
{
	const struct mach_site *sites[1000];
	u32 n = xworld_sites(w, sites, 1000);

	for (u32 i = 0; i < n; i++)
		if (!strcmp(sites[i]->func, func) && sites[i]->kind == kind)
			return sites[i];
	fail_msg("%s() has no such site", func);
	return NULL;
}

static u64 store_and_load(u32 op)
{
	u64 val = 2;

	if (!xop_begin(op))
		return 0;
	mach_env()->ops->user_access(a, true, &val);
	mach_env()->ops->user_access(a, false, &val);
	xop_end(op);
	return val;
}

static void dontneed_a_twice(void *arg)
{
	dontneed_a(arg);
	dontneed_a(arg);
}

static void toucher(void *arg)
{
	(void)arg;
	store_and_load(0);
	store_and_load(1);
}

static const char *const archs[] = { "x86", "arm64", "powerpc" };

static void test_defaults_are_clean(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(explore(archs[i], NULL, NULL, dontneed_a, dontneed_a_load,
					 3000), XRULE_NONE);
		assert_int_equal(explore(archs[i], NULL, NULL, unmap_a, dontneed_b, 3000),
				 XRULE_NONE);
		assert_int_equal(explore(archs[i], NULL, NULL, unmap_a_wake, sleeper, 3000),
				 XRULE_NONE);
		assert_int_equal(explore(archs[i], NULL, NULL, unmap_a, load_b, 3000),
				 XRULE_NONE);
	}
}

static bool stale(enum xrule rule)
{
	return rule == XRULE_STALE_READ || rule == XRULE_STALE_WRITE;
}

static void drops_object(void *arg)
{
	(void)arg;
	mach_kfree(mach_kalloc(100, 0), 100);
}

static void keeps_object(void *arg)
{
	drops_object(arg);
	(void)mach_kalloc(100, 0);
}

static void test_objects_leak(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(explore(archs[i], NULL, NULL, drops_object, load_b, 20),
				 XRULE_NONE);
		assert_int_equal(explore(archs[i], NULL, NULL, keeps_object, load_b, 1),
				 XRULE_LEAK);
		assert_int_equal(explore(archs[i], NULL, NULL, load_b, keeps_object, 1),
				 XRULE_LEAK);
	}
}

/* Zapping without the page-table lock, beside a fault that takes it. */
static void test_unlocked(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct xworld *w = world(archs[i], NULL, NULL, dontneed_a_twice, toucher);
		struct rnd r = { .state = 1, .stay = 12 };
		struct xchooser chooser = rnd_chooser(&r);
		struct xresult res;

		xworld_run(w, &chooser, &res, NULL, NULL);
		assert_int_equal(res.rule, XRULE_NONE);
		xworld_skip_site(w, site_of(w, "pte_offset_map_lock", MACH_SITE_LOCK));
		for (u32 k = 0; k < 3000 && res.rule != XRULE_UNLOCKED; k++)
			xworld_run(w, &chooser, &res, NULL, NULL);
		assert_int_equal(res.rule, XRULE_UNLOCKED);
		xworld_destroy(w);
	}
}

static void test_nested_gathers(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++)
		assert_true(stale(explore(archs[i], "mmu_gather.nested", "ignore", dontneed_a,
					  dontneed_a_load, 3000)));
	assert_int_equal(explore("arm64", "mmu_gather.nested", "force_range", unmap_a,
				 dontneed_b, 3000), XRULE_WALK_FREED);
	assert_int_equal(explore("arm64", "mmu_gather.nested", "fullmm", unmap_a, dontneed_b,
				 3000), XRULE_WALK_FREED);
}

static void test_freed_tables(void **state)
{
	(void)state;
	assert_int_equal(explore("x86", "x86.freed_tables_lazy_ipi", "off", unmap_a_wake,
				 sleeper, 3000), XRULE_WALK_FREED);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(explore(archs[i], "mmu_gather.table_invalidate",
					 "after_free", unmap_a, load_b, 3000),
				 XRULE_WALK_FREED);
}

/* ---- reset ---- */

struct script {
	u32 value[4000];
	u32 n, pos;
	struct rnd *rnd;	/* NULL: play what is there */
};

static u32 script_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct script *s = ctx;

	if (s->rnd) {
		assert(s->n < 4000);
		s->value[s->n++] = rnd_pick(s->rnd, enabled, n, running);
	}
	assert(s->pos < s->n && s->value[s->pos] < n);
	return s->value[s->pos++];
}

static u32 script_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	(void)kind;
	return script_pick(ctx, NULL, n, n);
}

#define MAX_EVENTS 1000

static void replay(struct xworld *w)
{
	static struct xevent first[MAX_EVENTS], again[MAX_EVENTS];
	static struct script s;
	struct rnd r = { .state = 7, .stay = 12 }, other = { .state = 9, .stay = 12 };
	struct xchooser chooser = { .pick = script_pick, .choose = script_choose, .ctx = &s };
	struct xchooser noise = rnd_chooser(&other);
	struct xresult res, res2;
	u32 n = MAX_EVENTS, n2;

	memset(&s, 0, sizeof(s));
	s.rnd = &r;
	xworld_run(w, &chooser, &res, first, &n);
	assert_true(n > 20);
	s.rnd = NULL;
	for (u32 i = 0; i < 1000; i++) {
		xworld_run(w, &noise, &res2, NULL, NULL);
		s.pos = 0;
		n2 = MAX_EVENTS;
		memset(again, 0, sizeof(again));
		xworld_run(w, &chooser, &res2, again, &n2);
		assert_int_equal(s.pos, s.n);
		assert_int_equal(n, n2);
		assert_memory_equal(first, again, n * sizeof(first[0]));
		assert_memory_equal(&res, &res2, sizeof(res));
	}
}

static void test_reset_is_exact(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct xworld *w = world(archs[i], NULL, NULL, unmap_a, dontneed_a_load);

		replay(w);
		xworld_destroy(w);
		/* Violations leave everything half done. */
		w = world(archs[i], "mmu_gather.nested", "ignore", unmap_a, dontneed_a_load);
		replay(w);
		xworld_destroy(w);
	}
}

/* ---- kept states ---- */

#define KEPT_EACH 7

struct keeper {
	struct script s;
	u64 seen[4000];		/* what all could do at a pick */
	u32 kept[XMAX_KEPT_STATES];	/* where the script was */
	u32 n;
};

static u64 steps_hash(const struct xstep *enabled, u32 n)
{
	u64 h = n;

	for (u32 i = 0; i < n; i++) {
		h = h * 31 + xagent_id(enabled[i].agent_kind, enabled[i].agent_index);
		for (u32 k = 0; k < enabled[i].nr_obj; k++)
			h = h * 0x100000001b3ULL + (enabled[i].obj[k].cls << 28 |
						    enabled[i].obj[k].id << 1 |
						    enabled[i].obj[k].write);
	}
	return h;
}

static u32 keeper_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	struct keeper *k = ctx;

	if (k->s.rnd)
		k->seen[k->s.pos] = steps_hash(enabled, n);
	assert(k->seen[k->s.pos] == steps_hash(enabled, n));
	return script_pick(&k->s, enabled, n, running);
}

static u32 keeper_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	struct keeper *k = ctx;

	return script_choose(&k->s, kind, n);
}

static bool keeper_keep(void *ctx)
{
	struct keeper *k = ctx;

	if (!k->s.rnd || k->n == XMAX_KEPT_STATES ||
	    k->s.pos < (k->n ? k->kept[k->n - 1] + KEPT_EACH : KEPT_EACH))
		return false;
	k->kept[k->n++] = k->s.pos;
	return true;
}

/* From each state, the youngest first, and after whatever else came of it: as it went on then. */
static void resume(struct xworld *w, u64 seed)
{
	static struct keeper k;
	struct rnd r = { .state = seed, .stay = 12 }, other = { .state = ~seed, .stay = 12 };
	struct xchooser chooser = {
		.pick = keeper_pick, .choose = keeper_choose, .ctx = &k, .keep = keeper_keep,
	};
	struct xchooser noise = rnd_chooser(&other);
	struct xresult first, again;

	memset(&k, 0, sizeof(k));
	k.s.rnd = &r;
	xworld_run(w, &chooser, &first, NULL, NULL);
	k.s.rnd = NULL;
	assert_true(k.n > 3);
	for (u32 i = k.n; i-- > 0; xworld_forget(w, i)) {
		if (i % 3 == 1)
			continue;
		for (u32 times = 0; times < 3; times++) {
			xworld_resume(w, &noise, &again);
			k.s.pos = k.kept[i];
			xworld_resume(w, &chooser, &again);
			assert_int_equal(k.s.pos, k.s.n);
			assert_memory_equal(&first, &again, sizeof(first));
		}
	}
}

static void test_resume_is_exact(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct xworld *w = world(archs[i], NULL, NULL, unmap_a, dontneed_a_load);

		for (u64 seed = 1; xworld_keeps(w) && seed <= 40; seed++)
			resume(w, seed);
		xworld_destroy(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_clean),
		cmocka_unit_test(test_nested_gathers),
		cmocka_unit_test(test_objects_leak),
		cmocka_unit_test(test_unlocked),
		cmocka_unit_test(test_freed_tables),
		cmocka_unit_test(test_reset_is_exact),
		cmocka_unit_test(test_resume_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
