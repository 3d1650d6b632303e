/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A struct xworld for tests of the search: abstract threads over words and locks,
 * interpreted. One instruction is one step. With drains, stores go to a FIFO
 * buffer per thread and reach memory by steps of a drain agent, as on x86.
 *
 * A program is a struct fake, passed as xprogram.arg.
 */
#ifndef TESTS_EXPLORE_FAKE_WORLD_H
#define TESTS_EXPLORE_FAKE_WORLD_H

#include "explore/explore.h"

#define FAKE_WORDS 4
#define FAKE_LOCKS 2
#define FAKE_INSNS 32
#define FAKE_BUFFER 8

enum fake_op {
	FAKE_LOAD,	/* acc = word a */
	FAKE_STORE,	/* word a = b */
	FAKE_PUT,	/* word a = acc + b */
	FAKE_ADD,	/* word a += b, atomically; acc = old */
	FAKE_LOCK,	/* lock a */
	FAKE_UNLOCK,
	FAKE_WAIT,	/* until word a is not b */
	FAKE_FENCE,	/* until the buffer is empty */
	FAKE_CHOOSE,	/* acc = one of a values; b: 0 is an allocation that works */
	/*
	 * Thread a is interrupted when it comes to it, for two steps: word 0 doubles and b
	 * is added; word 0 doubles and word a is read.
	 */
	FAKE_IRQ,
	FAKE_CLI,	/* interrupts off, on */
	FAKE_STI,
	FAKE_IF,	/* skip b instructions unless acc == a */
	FAKE_FAIL,	/* ASSERT, if acc == a */
	FAKE_NOP,
};

struct fake_insn {
	u8 op, a, b;
	u8 in;		/* operation it belongs to */
};

struct fake {
	bool drains;
	u32 nr_threads;
	struct {
		u32 n;
		struct fake_insn insn[FAKE_INSNS];
	} thread[XMAX_THREADS];
};

void fake_program(struct xprogram *program, const struct fake *fake);

#endif
