// SPDX-License-Identifier: GPL-2.0-or-later
/* Against values computed elsewhere: by hand, or by integrating the densities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "report/stats.h"

#define assert_near(a, b, tolerance)                                            \
	do {                                                                    \
		double a_ = (a), b_ = (b);                                      \
		if (!(fabs(a_ - b_) <= (tolerance)))                            \
			fail_msg("%s is %.9g, not %.9g", #a, a_, b_);           \
	} while (0)

static const double one_to_five[] = { 1, 2, 3, 4, 5 };

static void test_stats_of(void **state)
{
	static const double sevens[] = { 0.1, 0.1, 0.1 };
	struct stats s = stats_of(one_to_five, 5);

	(void)state;
	assert_int_equal(s.n, 5);
	assert_near(s.mean, 3, 0);
	assert_near(s.sd, 1.58113883, 1e-8);
	/* t of 0.975 with 4 degrees of freedom: 2.7764451 */
	assert_near(s.lo, 3 - 2.7764451 * 1.58113883 / sqrt(5), 1e-6);
	assert_near(s.hi, 3 + 2.7764451 * 1.58113883 / sqrt(5), 1e-6);

	s = stats_of(one_to_five, 1);
	assert_near(s.mean, 1, 0);
	assert_near(s.sd, 0, 0);
	assert_near(s.hi, 1, 0);
	s = stats_of(one_to_five, 0);
	assert_int_equal(s.n, 0);
	/* Equal values have no deviation, whatever their mean rounds to. */
	assert_near(stats_of(sevens, 3).sd, 0, 0);
}

static void test_welch(void **state)
{
	static const double y[] = { 2, 3, 4, 5, 9 };
	static const double same[] = { 4, 4, 4 };

	(void)state;
	assert_near(welch_p(one_to_five, 5, y, 5), 0.29372549, 1e-7);
	assert_near(welch_p(y, 5, one_to_five, 5), 0.29372549, 1e-7);
	assert_near(welch_p(same, 3, same, 3), 1, 0);
	assert_near(welch_p(same, 3, one_to_five, 5), 0.23019964, 1e-7);
}

static void test_mann_whitney(void **state)
{
	static const double low[] = { 1, 2, 3 }, high[] = { 4, 5, 6 };
	static const double six_to_ten[] = { 6, 7, 8, 9, 10 };
	static const double tied_a[] = { 1, 2, 2, 3 }, tied_b[] = { 2, 3, 4, 4 };

	(void)state;
	/* Exact: 2 of 20 and 2 of 252 arrangements are as extreme. */
	assert_near(mann_whitney_p(low, 3, high, 3), 0.1, 1e-12);
	assert_near(mann_whitney_p(high, 3, low, 3), 0.1, 1e-12);
	assert_near(mann_whitney_p(one_to_five, 5, six_to_ten, 5), 2 / 252.0, 1e-12);
	assert_near(mann_whitney_p(tied_a, 4, tied_b, 4), 0.134169180, 1e-8);
	assert_near(mann_whitney_p(low, 3, low, 3), 1, 0);
}

static void test_effect(void **state)
{
	static const double x[] = { 10, 20, 10, 20, 10 };
	static const double half[] = { 5, 10.2, 5, 10, 5 };
	static const double near[] = { 10.05, 20.1, 9.5, 20.1, 10.05 };
	struct effect e = effect_of(x, half, 5);

	(void)state;
	assert_int_equal(e.n, 5);
	assert_near(e.mid, -0.5, 1e-12);
	assert_near(e.lo, -0.5, 1e-12);
	assert_near(e.hi, -0.49 - 0.1 * 0.01, 1e-12);
	assert_true(e.differs);
	/* As strong, but seen too seldom. */
	assert_false(effect_of(x, half, EFFECT_MIN_RUNS - 1).differs);
	/* Within 1 % for four of five. */
	assert_false(effect_of(x, near, 5).differs);
	/* Nothing to compare with. */
	assert_int_equal(effect_of((double[]){ 0, 0 }, half, 2).n, 0);
}

static void test_round_six(void **state)
{
	(void)state;
	assert_near(round_six(1234567.0), 1234570.0, 0);
	assert_near(round_six(0.0012345678), 0.00123457, 1e-18);
	assert_near(round_six(0), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats_of),
		cmocka_unit_test(test_welch),
		cmocka_unit_test(test_mann_whitney),
		cmocka_unit_test(test_effect),
		cmocka_unit_test(test_round_six),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
