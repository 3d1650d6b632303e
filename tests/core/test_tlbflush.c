/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unit tests of core/arch/ARCH: which invalidations are issued for what, and whether
 * what they leave in a TLB is right. One program per architecture; the cases are in
 * tlbflush_ARCH.c.
 */
#include "tlbflush_world.h"

int main(void)
{
	return _cmocka_run_group_tests("tlbflush", tlbflush_tests, nr_tlbflush_tests,
				       NULL, NULL);
}
