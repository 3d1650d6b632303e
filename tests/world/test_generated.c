/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Footprints and reduction on the real cores: over scenarios made from a seed, the search
 * that visits states once reaches the terminal states that a search without any reduction
 * reaches. Two CPUs, one or two calls each, x86 and arm64.
 *
 * What is compared. Bounds 0 and 1, as far as MAX_FULL executions without reduction go;
 * where they go through all, the sets must be equal. And without a bound, where the reduced
 * search goes through all within MAX_REDUCED: MAX_RANDOM executions by chance, which know
 * of no bounds, must find nothing else. A search ends at a violation; such a scenario is
 * counted apart.
 */
#include "cli/check_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "explore/search.h"

#define SEED		1
#define WANTED		40	/* scenarios compared in full at one bound or more */
#define TRIED_EACH	4	/* for each of those, at most */
#define MAX_REDUCED	3000	/* executions */
#define MAX_FULL	3000
#define MAX_RANDOM	150
#define MAX_STATES	4096

/* ---- scenarios ---- */

/* One call of a scenario's thread; the area is one page, there after init. */
static const char *const calls[] = {
	"mmap(A, 4K, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED)",
	"mmap(A + 4K, 4K, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED)",
	"load(A)", "load(A)", "load(A + 4K)", "store(A, 3)", "store(A, 4)",
	"madvise(A, 4K, MADV_DONTNEED)",
	"munmap(A, 4K)",
	"mprotect(A, 4K, PROT_READ)",
	"mprotect(A, 4K, PROT_NONE)",
};

static size_t add_thread(struct rng *r, u32 cpu, char *text, size_t size)
{
	u32 n = 1 + !rng_below(r, 4);
	size_t len = 0;

	for (u32 i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len, "cpu%u: v%u = %s\n", cpu, i,
					calls[rng_below(r, sizeof(calls) / sizeof(*calls))]);
	return len;
}

static struct scenario *generate(struct rng *r, char *text, size_t size)
{
	char error[400];
	struct scenario *sc;
	size_t len;

	len = (size_t)snprintf(text, size, "arch: x86, arm64\n"
			       "init: A = mmap(0x40000000, 4K, PROT_READ|PROT_WRITE, "
			       "MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED)\n%s",
			       rng_below(r, 2) ? "init: store(A, 1)\n" : "");
	len += add_thread(r, 0, text + len, size - len);
	len += add_thread(r, 1, text + len, size - len);
	sc = scenario_parse(text, len, "generated.tlb", error, sizeof(error));
	if (!sc)
		fail_msg("%s\n%s", error, text);
	return sc;
}

/* ---- sets of states ---- */

struct states {
	u64 hash[MAX_STATES];
	u32 n;
};

static bool has(const struct states *s, u64 hash)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->hash[i] == hash)
			return true;
	return false;
}

static void add_state(void *arg, u64 hash)
{
	struct states *s = arg;

	if (has(s, hash))
		return;
	assert_true(s->n < MAX_STATES);
	s->hash[s->n++] = hash;
}

/* ---- comparing ---- */

struct totals {
	u32 tried, compared, bounds, unbounded, broken, states;
	u64 reduced, full;	/* executions, where both ended */
};

/* Whether it went through all. */
static bool search(struct xworld *w, enum xstrategy strategy, u32 bound, bool reduce, u64 max,
		   struct states *s, u64 *executions, enum xrule *broken)
{
	const struct xsearch how = {
		.strategy = strategy, .max_bound = bound, .workers = 1, .seed = 1,
		.reduce = reduce, .max_schedules = max,
		.terminal = add_state, .terminal_arg = s,
	};
	struct xverdict v;
	bool complete;

	s->n = 0;
	xsearch_run(w, &how, &v);
	if (v.found)
		*broken = v.result.rule;
	complete = v.complete;
	*executions = v.schedules;
	xverdict_free(&v);
	return complete;
}

static void check_subset(const struct xworld *w, const struct states *all,
			 const struct states *some, const char *text, u32 bound)
{
	for (u32 i = 0; i < all->n; i++)
		if (!has(some, all->hash[i]))
			fail_msg("%s, bound %d: reduction missed a state:\n%s",
				 xworld_program(w)->arch == XARCH_X86 ? "x86" : "arm64",
				 (int)bound, text);
}

static bool compare_bound(struct xworld *w, u32 bound, const char *text, struct totals *t,
			  enum xrule *broken)
{
	static struct states all, some;
	u64 reduced, full;

	if (!search(w, XSTRATEGY_SYSTEMATIC, bound, true, MAX_REDUCED, &some, &reduced, broken))
		return false;
	if (bound == XBOUND_NONE) {
		search(w, XSTRATEGY_RANDOM, 0, false, MAX_RANDOM, &all, &full, broken);
		/* A search that went through all would have met it. */
		assert_int_equal(*broken, XRULE_NONE);
		check_subset(w, &all, &some, text, bound);
		t->unbounded++;
		return false;
	}
	if (!search(w, XSTRATEGY_SYSTEMATIC, bound, false, MAX_FULL, &all, &full, broken)) {
		check_subset(w, &all, &some, text, bound);
		return false;
	}
	check_subset(w, &all, &some, text, bound);
	check_subset(w, &some, &all, text, bound);
	t->bounds++;
	t->states += some.n;
	t->reduced += reduced;
	t->full += full;
	return true;
}

static void compare(struct xworld *w, const char *text, struct totals *t)
{
	static const u32 bounds[] = { 0, 1, XBOUND_NONE };
	enum xrule broken = XRULE_NONE;
	bool compared = false;

	t->tried++;
	for (u32 i = 0; i < sizeof(bounds) / sizeof(bounds[0]) && !broken; i++)
		compared |= compare_bound(w, bounds[i], text, t, &broken);
	t->broken += broken != XRULE_NONE;
	t->compared += compared;
}

static void compare_check(const struct check *c, const char *text, struct totals *t)
{
	struct sc_program *program =
		scenario_program(c->sc, c->arch, c->core->module, c->knobs);
	struct xworld *w;
	char error[400];

	assert_non_null(program);
	w = xworld_create(sc_xprogram(program), error, sizeof(error));
	if (!w)
		fail_msg("%s", error);
	assert_true(sc_program_ready(program, error, sizeof(error)));
	compare(w, text, t);
	xworld_destroy(w);
	sc_program_free(program);
}

static void test_same_states(void **state)
{
	const struct check_args args = { 0 };
	struct totals t[XARCH_POWERPC] = { { 0 } };
	struct check_plan plan = { .args = &args };
	struct scenario *sc;
	struct rng r;
	char text[2000];
	const char *env = getenv("TLBLAB_GENERATED");
	u32 n = 0, wanted = WANTED;

	(void)state;
	for (u32 a = 0; a < XARCH_POWERPC; a++)
		core_load_arch(&plan.core[a], sc_arch_names[a]);
	if (!plan.core[XARCH_X86].module && !plan.core[XARCH_ARM64].module)
		skip();
	rng_seed(&r, SEED, 0);
	/* More by hand, and in the bench: TLBLAB_GENERATED=200. */
	if (env)
		wanted = (u32)atoi(env);
	while (t[XARCH_X86].compared + t[XARCH_ARM64].compared < wanted) {
		if (n++ == wanted * TRIED_EACH)
			break;
		sc = generate(&r, text, sizeof(text));
		plan.n = 0;
		check_plan_add(&plan, sc);
		for (u32 i = 0; i < plan.n; i++) {
			if (plan.check[i].core)
				compare_check(&plan.check[i], text,
					      &t[plan.check[i].arch]);
			free(plan.check[i].knobs);
		}
		scenario_free(sc);
	}
	free(plan.check);
	for (u32 a = 0; a < XARCH_POWERPC; a++)
		print_message("%s: %u scenarios, %u compared in full (%u bounds, %u states: %llu "
			      "executions, reduced %llu), %u without a bound; %u break a rule\n",
			      sc_arch_names[a], t[a].tried, t[a].compared, t[a].bounds,
			      t[a].states, (unsigned long long)t[a].full,
			      (unsigned long long)t[a].reduced, t[a].unbounded, t[a].broken);
	assert_true(t[XARCH_X86].compared + t[XARCH_ARM64].compared >= wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
