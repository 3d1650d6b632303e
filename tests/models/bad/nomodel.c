// SPDX-License-Identifier: GPL-2.0-or-later
/* Compiles, and is no model. */
int answer(void);
int answer(void)
{
	return 42;
}
