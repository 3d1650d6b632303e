// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verdicts: those of the published suite (skipped where it is absent) and of
 * models/litmus-*, exactly, each with stores in order and overtaking; and that overtaking
 * only ever adds final states.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/litmus/suite.h"

static bool has(const struct lit_result *r, const char *text)
{
	for (u32 i = 0; i < r->nr_outcomes; i++)
		if (!strcmp(r->outcome[i].text, text))
			return true;
	return false;
}

/* Tests of whose kind stores in order fall short, for they need overtaking. */
static bool needs_overtaking(const char *name)
{
	return !strcmp(name, "2+2W+overtaking");
}

static void check_test(struct lit_machines *m, const struct litmus_kinds *kinds,
		       const char *path)
{
	struct lit_result in_order, r;
	struct litmus *t, *again;
	int expected;

	suite_run(m, path, 0, true, &t, &r);
	suite_run(m, path, 0, false, &again, &in_order);
	expected = litmus_kinds_find(kinds, t->name);
	if (expected < 0)
		fail_msg("%s: %s has no kind", path, t->name);
	if ((int)r.kind != expected)
		fail_msg("%s is %s, and comes out as %s", t->name, lit_kind_names[expected],
			 lit_kind_names[r.kind]);
	if (!needs_overtaking(t->name))
		assert_int_equal(in_order.kind, expected);
	else
		assert_int_not_equal(in_order.kind, expected);
	for (u32 i = 0; i < in_order.nr_outcomes; i++)
		if (!has(&r, in_order.outcome[i].text))
			fail_msg("%s: overtaking loses %s", t->name, in_order.outcome[i].text);
	lit_result_free(&r);
	lit_result_free(&in_order);
	litmus_free(t);
	litmus_free(again);
}

static u32 check_folder(const char *folder)
{
	struct lit_machines *m = litmus_machines();
	struct litmus_kinds *kinds;
	char path[4096], **files;
	u32 n = 0;

	snprintf(path, sizeof(path), "%s/kinds.txt", folder);
	kinds = litmus_kinds_load(path);
	assert_non_null(kinds);
	files = suite_files(folder);
	for (; files[n]; n++)
		check_test(m, kinds, files[n]);
	suite_free(files);
	litmus_kinds_free(kinds);
	litmus_machines_free(m);
	return n;
}

static void test_suite(void **state)
{
	(void)state;
	if (!suite_folder())
		skip();
	assert_int_equal(check_folder(suite_folder()), 364);
}

static void test_own(void **state)
{
	const char *folder = *state;
	char *path = tree_path(folder);
	u32 n = check_folder(path);

	free(path);
	assert_true(n >= (strstr(folder, "x86") ? 20 : 6));
}

/* The same world after another test, another architecture, a law off: the same answers. */
static void test_worlds_are_reused(void **state)
{
	const char *const names[] = {
		"models/litmus-aarch64/MP.V2I-local.litmus", "models/litmus-x86/SB.litmus",
		"models/litmus-aarch64/MP.V2I-local.litmus",
	};
	struct lit_machines *m = litmus_machines();
	struct lit_result r[3];
	struct litmus *t[3];

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		char *path = tree_path(names[i]);

		suite_run(m, path, 0, true, &t[i], &r[i]);
		free(path);
	}
	assert_int_equal(r[0].nr_states, r[2].nr_states);
	assert_int_equal(r[0].nr_outcomes, r[2].nr_outcomes);
	for (u32 i = 0; i < r[0].nr_outcomes; i++)
		assert_string_equal(r[0].outcome[i].text, r[2].outcome[i].text);
	for (u32 i = 0; i < 3; i++) {
		lit_result_free(&r[i]);
		litmus_free(t[i]);
	}
	litmus_machines_free(m);
}

int main(void)
{
	static char x86[] = "models/litmus-x86", aarch64[] = "models/litmus-aarch64";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suite),
		cmocka_unit_test_prestate(test_own, x86),
		cmocka_unit_test_prestate(test_own, aarch64),
		cmocka_unit_test(test_worlds_are_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
