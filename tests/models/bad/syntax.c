// SPDX-License-Identifier: GPL-2.0-or-later
/* Does not compile. */
#include <tlblab/check.h>

static void touch(void)
{
	check_user_stor(0x400000, 1);
}

CHECK_MODEL(syntax,
	.arch = CHECK_X86, .cpus = 1,
	.thread = { { "user", 0, { USER(touch) } } })
