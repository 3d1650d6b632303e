// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread on a CPU that is not there. */
#include <tlblab/check.h>

static void touch(void)
{
}

CHECK_MODEL(cpus,
	.arch = CHECK_X86, .cpus = 1,
	.thread = { { "user", 1, { USER(touch) } } })
