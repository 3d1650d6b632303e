// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each law of the weak model is needed: with it off, the verdict of its witness is wrong.
 * The witnesses are of the published suite (skipped where it is absent) or our own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/world.h"
#include "tests/litmus/suite.h"

#define OWN "models/litmus-aarch64/"

static const struct witness {
	enum xlaw law;
	const char *test;	/* a file of the suite, or of ours */
	enum lit_kind kind;	/* what it is */
	enum lit_kind without;	/* what it becomes */
} witness[] = {
	{ XLAW_FRESH, "D15347-load-DSB-ISB", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_FRESH_ALL, "MPV2V+dsb+dsb-isb+64", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_FRESH_PERMISSION, "I2V-UP-STR-DSB-ISB", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_TLBI_WALK, "I2V-UP-STR-DSB-TLBI-DSB-ISB", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_TLBI_ACCESS, "Artem2+TLBIx-TLBIy+dmb2", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_STORE_VIEW, "G1", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_OFFSET, "coRR-pte7+BIS", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_OFFSET_FAULT, "F2.mod-with-type+BBM2", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_OWN_ACCESS, "V2I+VMALL", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_STALE, "D15347-M-load-DMBST+DMBLD", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_DSB_ISB, "I2V-UP-DSB-ISB", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DSB_WALK, "I2V-UP-DSB", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_WALK_READ, "MP+dmbst-publish+dmbld", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_WALK_ISB, "MP+dmb.st+trib-po-isb-po", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_ADDR_WALK, "D15347-M-load-shoot+addr", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DMB_FAULT, "F8", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DMB_ST_FAULT, "FO", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_ACQUIRE_FAULT, "FN", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_SWPAL, "S+shoot+acqrel_mmufault_db", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_RELEASE_ACQUIRE, "MP.I2V+dmb.st+swpl-acq", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_TLBI_CTRL, "V2I-W+R-CTRL-TLBI-DSB.ISH-ISB-R", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_TLBI_OPERAND, "MP+dmb.st+addr-tlbi-dsb.ish-isb", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_TLBI_NOW, "coRRExpNExp+DSB.ST-TLBI-DSB-ISB", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_TLBI_AT_ONCE, "Artem3+TLBIVMALL+dmb.sy+dmb.ld", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_UPDATE_ATOMIC, "NT-11-addr+dsb", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DSB_DEFERRED, "MP+HD-DSB.ISH", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DSB_UPDATE, "coRR+HA-DSB.ISH", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DEFERRED, "NT-12-ctrl", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_EARLY, "LB+dmb.sy+acq-HU", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_EARLY_BOUND, "S+dmb.st+ctrl-HUdb", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_SPONTANEOUS, "NT-30-data", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_PICK, "S+dmb.st+pickaddr-HUdb", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_FORWARD, "CoWR.T.inv+po-addr", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_CTRL_ISB, OWN "MP.I2V+dmb.st+ctrl-isb", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_ADDR_ISB, OWN "MP.I2V+dmb.st+addr-isb", LIT_FORBIDDEN, LIT_ALLOWED },
	{ XLAW_DMB_TLBI, OWN "V2I-DMB-TLBI-DSB-ISB", LIT_ALLOWED, LIT_FORBIDDEN },
	{ XLAW_LOCAL, OWN "MP.V2I-local", LIT_ALLOWED, LIT_FORBIDDEN },
};

static bool is_own(const struct witness *k)
{
	return !strncmp(k->test, OWN, strlen(OWN));
}

static enum lit_kind kind_of(struct lit_machines *m, const struct witness *k, u64 laws_off)
{
	struct lit_result r;
	enum lit_kind kind;
	struct litmus *t;
	char name[300], *path;

	snprintf(name, sizeof(name), "%s.litmus", k->test);
	path = is_own(k) ? tree_path(name) : suite_path(k->test);
	suite_run(m, path, laws_off, true, &t, &r);
	kind = r.kind;
	lit_result_free(&r);
	litmus_free(t);
	free(path);
	return kind;
}

static void check_witnesses(bool own)
{
	struct lit_machines *m = litmus_machines();

	for (u32 i = 0; i < sizeof(witness) / sizeof(witness[0]); i++) {
		const struct witness *k = &witness[i];
		enum lit_kind kind;

		if (is_own(k) != own)
			continue;
		assert_int_equal(kind_of(m, k, 0), k->kind);
		kind = kind_of(m, k, 1ULL << k->law);
		if (kind != k->without)
			fail_msg("law %u off: %s is %s", k->law, k->test,
				 lit_kind_names[kind]);
	}
	litmus_machines_free(m);
}

static void test_witnesses(void **state)
{
	(void)state;
	if (!suite_folder())
		skip();
	check_witnesses(false);
}

static void test_own_witnesses(void **state)
{
	(void)state;
	check_witnesses(true);
}

static void test_each_has_one(void **state)
{
	bool seen[XLAW_NR] = { false };

	(void)state;
	for (u32 i = 0; i < sizeof(witness) / sizeof(witness[0]); i++)
		seen[witness[i].law] = true;
	for (u32 i = 0; i < XLAW_NR; i++)
		assert_true(seen[i]);
	assert_int_equal(xlaw_find("no such law"), XLAW_NR);
	assert_int_equal(xlaw_find("fresh"), XLAW_FRESH);
	assert_int_equal(xlaw_find("local"), XLAW_LOCAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_witnesses),
		cmocka_unit_test(test_own_witnesses),
		cmocka_unit_test(test_each_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
