/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `tlblab check` on litmus tests (litmus/litmus.h): files, or folders of them with kinds.txt. */
#ifndef TLBLAB_CLI_CHECK_LITMUS_H
#define TLBLAB_CLI_CHECK_LITMUS_H

#include "cli/check_args.h"

/* Are they litmus tests, or folders that have some? Dies if only a part is. */
bool check_is_litmus(const struct check_args *args);
/* Runs them all; the exit status. */
int check_litmus(const struct check_args *args, const volatile int *stop);

#endif
