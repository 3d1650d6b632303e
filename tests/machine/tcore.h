/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A core of nothing, for tests of the machine: no address spaces, no knobs. It
 * records context switches, and its tasks are whatever the test passes.
 *
 * A test's code on machine stacks must not use cmocka's assertions (they jump
 * off the stack): it notes what it saw, and the test checks afterwards.
 */
#ifndef TESTS_MACHINE_TCORE_H
#define TESTS_MACHINE_TCORE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/internal.h"

/* n CPUs, two packages of n/2 when n >= 4; every cost has a value of its own. */
struct machine_desc *tdesc(u32 n);
void tdesc_free(struct machine_desc *desc);
const struct core_module *tcore(void);
/* What the core's fault handler does; NULL: it kills the thread. */
extern int (*tcore_fault)(u64 va, u32 flags);
/* What its tick does; NULL: nothing. */
extern void (*tcore_tick)(u64 now_ms, u64 ran_ms);
/* A booted machine, or a failed test. */
struct machine *tmachine(const struct machine_desc *desc, u64 seed);

/* A thread pinned on cpu (anywhere if < 0). */
u32 tspawn(void (*fn)(void *arg), void *arg, s32 cpu);
/* fn on its own machine of n CPUs, to the end. */
void trun(u32 n, void (*fn)(void *arg), void *arg);

#define US 1000000ULL	/* in ps */
#define NS 1000ULL

#endif
