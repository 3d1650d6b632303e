// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps something from one execution to the next. */
#include <tlblab/check.h>

static u64 times_run;

static void touch(void)
{
	times_run++;
}

CHECK_MODEL(static_variable,
	.arch = CHECK_X86, .cpus = 1,
	.thread = { { "user", 0, { USER(touch) } } })
