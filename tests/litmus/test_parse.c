// SPDX-License-Identifier: GPL-2.0-or-later
/* What herd's laxer files look like, and where errors are said to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/litmus/suite.h"

static struct litmus *parse(const char *text, char *error, size_t size)
{
	return litmus_parse("t.litmus", text, strlen(text), error, size);
}

static void test_errors(void **state)
{
	static const struct { const char *text, *error; } bad[] = {
		{ "", "t.litmus:1:1: expected an architecture and the test's name" },
		{ "PPC a\n", "t.litmus:1:1: expected AArch64 or X86_64, not \"PPC\"" },
		{ "AArch64 a\n{ x=1;\n", "t.litmus:3:1: expected the name of a location" },
		{ "AArch64 a\nTTHM=HX\n{}\n", "t.litmus:2:8: expected HA or HD in TTHM, not \"HX\"" },
		{ "AArch64 a\n{ (* }\n", "t.litmus:2:3: expected *) to end this comment" },
		{ "AArch64 a\n{0:Y1=x;}\nP0;\n", "t.litmus:2:4: expected a register, not \"Y1\"" },
		{ "AArch64 a\n{}\nP0 | P2 ;\n", "t.litmus:3:6: expected P1, a column of the program" },
		{ "AArch64 a\n{}\nP0;\nLDR W1 [X2];\n", "t.litmus:4:8: expected \",\", not \"[\"" },
		{ "AArch64 a\n{}\nP0;\nLDR W1,[X2;\n", "t.litmus:4:11: expected \"]\", and here it ends" },
		{ "AArch64 a\n{}\nP0;\nMOV W1,#z;\n", "t.litmus:4:9: expected a number of 63 bits" },
		{ "AArch64 a\n{}\nP0;\nCBZ W1,L;\n", "t.litmus:4:1: there is no label L in this column" },
		{ "AArch64 a\n{}\nP0;\nNOP | NOP;\n", "t.litmus:4:7: expected 1 columns" },
		{ "AArch64 a\n{}\nP0;\nexists (0:X1=1", "t.litmus:4:15: expected \")\", and here it ends" },
		{ "AArch64 a\n{}\nP0;\nexists (fault(P1))", "t.litmus:4:15: expected one of the columns, not \"P1\"" },
		{ "AArch64 a\n{}\nP0;\nexists (fault(P0:L))", "t.litmus:4:18: there is no label \"L\" in P0" },
		{ "AArch64 a\n{x=(valid:0);}\nP0;\n", "t.litmus:2:4: expected an oa: there is no page that this entry is of" },
		{ "AArch64 a\n{pte_x=(valid:2);}\nP0;\n", "t.litmus:2:9: expected 0 or 1 for valid" },
		{ "X86_64 a\n{}\nP0;\nMOV [3],$1;\n", "t.litmus:4:7: expected a location or a register" },
	};
	char error[512];

	(void)state;
	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(parse(bad[i].text, error, sizeof(error)));
		assert_string_equal(error, bad[i].error);
	}
}

static void test_unsupported(void **state)
{
	static const struct { const char *text, *what; } lacked[] = {
		{ "AArch64 a\n{}\nP0;\nLDP W1,W2,[X3] ;\n",
		  "t.litmus:4:1: the instruction LDP W1,W2,[X3] " },
		{ "AArch64 a\n{}\nP0;\nLDADDH W1,W2,[X3] ;\n",
		  "t.litmus:4:1: the instruction LDADDH W1,W2,[X3] " },
		{ "AArch64 a\n{}\nP0;\nTLBI ALLE2IS ;\n",
		  "t.litmus:4:1: the instruction TLBI ALLE2IS " },
		{ "AArch64 a\nVariant=memtag\n{}\nP0;\nNOP;\n", "t.litmus:2:15: variant memtag" },
		{ "AArch64 a\n{pte_x=(attrs:1);}\nP0;\nNOP;\n",
		  "t.litmus:2:9: field attrs of an entry" },
		{ "AArch64 a\n{}\nP0;\nL: NOP;\nB L;\n", "t.litmus:5:1: a branch backwards" },
	};
	struct lit_machines *m = litmus_machines();
	const struct lit_how how = { .overtaking = true };
	char error[512];

	(void)state;
	for (u32 i = 0; i < sizeof(lacked) / sizeof(lacked[0]); i++) {
		struct litmus *t = parse(lacked[i].text, error, sizeof(error));
		struct lit_result r;

		if (!t)
			fail_msg("%s", error);
		assert_string_equal(t->unsupported, lacked[i].what);
		assert_true(litmus_run(m, t, &how, &r, error, sizeof(error)));
		assert_int_equal(r.kind, LIT_UNSUPPORTED_KIND);
		lit_result_free(&r);
		litmus_free(t);
	}
	litmus_machines_free(m);
}

/* Blanks and comments in odd places, no last ';', labels alone, names in both styles. */
static void test_lax(void **state)
{
	static const char text[] =
		"AArch64 lax+test\n\"a description\"\nHash=12\nVariant = vmsa , Fatal\n"
		"{ (* (* nested *) *) [PTE(x)] = ( valid :0 , oa:PA(x),);\n"
		"int64_t 0:x1 = x; P0:X2=pte_x; 0:X3=(oa:phy_x); int y[3]={1,2,3}; xs}\n"
		" P0 (* c *) ;\n L0: LDR w4 , [x1] ;\n STR X3,[X2] ;\n L9:\n"
		"exists Fault(P0:L0,x) \\/ not (0:X4 = 0) /\\ y[2]=3 /\\ pte_x=(oa:phy_x)";
	struct lit_machines *m = litmus_machines();
	const struct lit_how how = { .overtaking = true };
	char error[512] = "", line[300];
	struct litmus *t = parse(text, error, sizeof(error));
	struct lit_result r;

	(void)state;
	assert_string_equal(error, "");
	assert_non_null(t);
	assert_string_equal(t->unsupported, "");
	assert_int_equal(t->thread[0].nr_insns, 2);
	assert_int_equal(t->thread[0].label[1].insn, 2);
	assert_true(litmus_run(m, t, &how, &r, error, sizeof(error)));
	assert_int_equal(r.nr_outcomes, 1);
	assert_string_equal(r.outcome[0].text, "Fault(P0:L0,x,MMU:Translation); 0:X4=0; "
			    "y[2]=3; pte_x=(oa:PA(x), valid:0);");
	litmus_observation(t, &r, line, sizeof(line));
	assert_string_equal(line, "Observation lax+test Always 1 0");
	lit_result_free(&r);
	litmus_free(t);
	litmus_machines_free(m);
}

/* Atomics on words and entries; CSET. */
static void test_atomics(void **state)
{
	static const char text[] =
		"AArch64 atomics\n{ x=5; 0:X1=x; 0:X2=3; 0:X5=pte_y; 0:X6=1; }\nP0;\n"
		"LDADDAL X2,X3,[X1];\nLDCLR X2,X4,[X1];\nSTSETL X2,[X1];\nLDEOR X2,X7,[X1];\n"
		"STCLR X6,[X5];\nCMP X7,#11;\nCSET W8,EQ;\n"
		"forall (0:X3=5 /\\ 0:X4=8 /\\ 0:X7=11 /\\ x=8 /\\ 0:X8=1 /\\ pte_y=(valid:0))";
	struct lit_machines *m = litmus_machines();
	const struct lit_how how = { .overtaking = true };
	char error[512] = "";
	struct litmus *t = parse(text, error, sizeof(error));
	struct lit_result r;

	(void)state;
	if (!t)
		fail_msg("%s", error);
	assert_string_equal(t->unsupported, "");
	assert_true(litmus_run(m, t, &how, &r, error, sizeof(error)));
	assert_int_equal(r.nr_outcomes, 1);
	assert_int_equal(r.kind, LIT_REQUIRED);
	lit_result_free(&r);
	litmus_free(t);
	litmus_machines_free(m);
}

/* An address that is none of the test's is the test's mistake, not ours. */
static void test_astray(void **state)
{
	struct lit_machines *m = litmus_machines();
	const struct lit_how how = { .overtaking = true };
	char error[512] = "";
	struct litmus *t = parse("AArch64 a\n{}\nP0;\nLDR X1,[X2];\n", error, sizeof(error));
	struct lit_result r;

	(void)state;
	assert_non_null(t);
	assert_false(litmus_run(m, t, &how, &r, error, sizeof(error)));
	assert_string_equal(error, "t.litmus: a: LDR X1,[X2] uses an address that is none of "
			    "the test's");
	lit_result_free(&r);
	litmus_free(t);
	litmus_machines_free(m);
}

/* A story ends where it says: the stale translation is told. */
static void test_story(void **state)
{
	char *path = tree_path("models/litmus-aarch64/MP.V2I-local.litmus");
	const struct lit_how how = { .overtaking = true, .story = true };
	struct lit_machines *m = litmus_machines();
	char error[512];
	struct litmus *t = litmus_load(path, error, sizeof(error));
	struct lit_result r;
	bool stale = false;

	(void)state;
	assert_non_null(t);
	assert_true(litmus_run(m, t, &how, &r, error, sizeof(error)));
	assert_true(r.story_of >= 0 && r.outcome[r.story_of].holds);
	assert_in_range(r.nr_story, 8, 20);
	for (u32 i = 0; i < r.nr_story; i++)
		stale |= strstr(r.story[i], "LDR W5,[X3]") && strstr(r.story[i], "which is stale");
	assert_true(stale);
	lit_result_free(&r);
	litmus_free(t);
	litmus_machines_free(m);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_unsupported),
		cmocka_unit_test(test_lax),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_astray),
		cmocka_unit_test(test_story),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
