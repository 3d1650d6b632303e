// SPDX-License-Identifier: GPL-2.0-or-later
/* Who wins: default, era, machine; and how costs are drawn from their ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/knobs.h"
#include "cli/params.h"
#include "cli/ranges.h"

static const char *const on_off[] = { "off", "on", NULL };
static const char *const kinds[] = { "ignore", "range", "fullmm", NULL };

static const struct knob nested = {
	.name = "mmu_gather.nested", .values = kinds, .def = 2, .max = 2,
	.kind = KNOB_POLICY,
};
static const struct knob ceiling = {
	.name = "x86.ceiling", .def = 33, .min = 0, .max = 1000,
	.kind = KNOB_POLICY,
};
static const struct knob pcid = {
	.name = "x86.pcid", .values = on_off, .def = 1, .max = 1, .kind = KNOB_HW,
};
static const struct knob *const knobs[] = { &nested, &ceiling, &pcid, NULL };

static const char *const old_settings[] = {
	"mmu_gather.nested=ignore", "arm64.whatever=on", "x86.ceiling=0x20", NULL,
};
static const struct era eras[] = {
	{ "4.14", "old", old_settings },
	{ "6.12", "default", NULL },
	{ NULL, NULL, NULL },
};
static const struct core_module module = {
	.arch = "x86", .knobs = knobs, .eras = eras,
};
static const struct core core = { .name = "test", .module = &module };

static void test_resolve(void **state)
{
	struct machine_desc *desc = calloc(1, sizeof(*desc));
	s64 v[3];

	(void)state;
	assert_non_null(desc);
	knobs_resolve(&core, era_find(&module, "6.12"), desc, v);
	assert_int_equal(v[0], 2);
	assert_int_equal(v[1], 33);
	assert_int_equal(v[2], 1);

	/* The era sets policies and skips arm64's; the machine sets hardware. */
	desc->nr_features = 1;
	strcpy(desc->feature[0].name, "x86.pcid");
	strcpy(desc->feature[0].value, "off");
	knobs_resolve(&core, era_find(&module, "4.14"), desc, v);
	assert_int_equal(v[0], 0);
	assert_int_equal(v[1], 32);
	assert_int_equal(v[2], 0);
	free(desc);
}

static void test_text(void **state)
{
	char text[KNOB_TEXT_MAX];

	(void)state;
	assert_int_equal(knobs_count(&module), 3);
	assert_int_equal(knobs_index(&module, "x86.pcid"), 2);
	assert_int_equal(knobs_index(&module, "x86.pci"), -1);
	for (s64 i = 0; i < 3; i++) {
		knob_text(&nested, i, text);
		assert_int_equal(knob_parse(&nested, text, "test"), i);
	}
	knob_text(&ceiling, 1000, text);
	assert_string_equal(text, "1000");
	assert_int_equal(knob_parse(&ceiling, text, "test"), 1000);
}

static void test_params(void **state)
{
	static const struct wl_param size = {
		.name = "size", .kind = WL_SIZE, .max = 1ULL << 40,
	};
	static const struct wl_param addr = {
		.name = "hint", .kind = WL_ADDR, .max = 1ULL << 52,
	};
	static const struct {
		const struct wl_param *p;
		const char *given, *text;
		u64 value;
	} cases[] = {
		{ &size, "16M", "16M", 16 << 20 },
		{ &size, "16384K", "16M", 16 << 20 },
		{ &size, "4097", "4097", 4097 },
		{ &size, "0", "0", 0 },
		{ &size, "1T", "1T", 1ULL << 40 },
		{ &addr, "0x200000000000", "0x200000000000", 0x200000000000 },
		{ &addr, "4096", "0x1000", 4096 },
	};

	(void)state;
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[PARAM_TEXT_MAX];

		assert_true(param_parse(cases[i].p, cases[i].given) == cases[i].value);
		param_text(cases[i].p, cases[i].value, text);
		assert_string_equal(text, cases[i].text);
	}
}

static struct cost cost(u64 lo, u64 ps, u64 hi, enum cost_kind kind, u16 group)
{
	return (struct cost){ .ps = ps, .lo_ps = lo, .hi_ps = hi, .kind = kind,
			      .given = 1, .group = group };
}

static void test_ranges(void **state)
{
	struct machine_desc *desc = calloc(1, sizeof(*desc));
	struct machine_desc *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	u64 lowest = UINT64_MAX, highest = 0, sum = 0;

	(void)state;
	assert_true(desc && a && b);
	desc->hw_cost[HW_CR3] = cost(40, 40, 40, COST_PUBLISHED, 0);
	desc->hw_cost[HW_LOAD] = cost(1000, 1500, 1999, COST_ESTIMATE, 0);
	desc->hw_cost[HW_WAKE] = cost(1000, 1500, 1999, COST_FITTED, 1);
	desc->hw_cost[HW_SCHED_IN] = cost(2000, 3000, 3999, COST_FITTED, 1);
	desc->hw_cost[HW_SCHED_OUT] = cost(1000, 1500, 1999, COST_FITTED, 2);
	for (u64 seed = 0; seed < 1000; seed++) {
		u64 load;

		ranges_draw(desc, seed, a);
		ranges_draw(desc, seed, b);
		assert_memory_equal(a, b, sizeof(*a));
		load = a->hw_cost[HW_LOAD].ps;
		assert_int_equal(a->hw_cost[HW_CR3].ps, 40);
		assert_int_equal(a->core_cost[MACH_COST_RMAP].ps, 0);
		/* One group: the same fraction of each range, here twice as wide. */
		assert_int_equal(a->hw_cost[HW_SCHED_IN].ps / 2,
				 a->hw_cost[HW_WAKE].ps);
		if (seed < 10)
			assert_int_not_equal(a->hw_cost[HW_SCHED_OUT].ps,
					     a->hw_cost[HW_WAKE].ps);
		lowest = load < lowest ? load : lowest;
		highest = load > highest ? load : highest;
		sum += load;
	}
	assert_in_range(lowest, 1000, 1010);
	assert_in_range(highest, 1989, 1999);
	assert_in_range(sum / 1000, 1470, 1530);
	free(desc);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
