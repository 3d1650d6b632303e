/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers: how the guest's /init tells the plugin where a window opens, where one
 * iteration ends and the next begins, and where the window closes. A marker is an
 * instruction that does nothing and that nothing else in the guest executes at a
 * user address. Its value:
 *
 *	15      12 11   8 7            0
 *	+---------+------+--------------+
 *	|  0x5    |  op  |    window    |
 *	+---------+------+--------------+
 *
 * /init opens windows 0, 1, 2, ... in this order and never two at a time; the
 * plugin takes anything else for an error.
 */
#ifndef FIDELITY_MARKER_H
#define FIDELITY_MARKER_H

#define MARKER_MAGIC		0x5000
#define MARKER_MAGIC_MASK	0xf000
#define MARKER_OP(m)		(((m) >> 8) & 0xf)
#define MARKER_WINDOW(m)	((m) & 0xff)

enum marker_op { MARKER_OPEN = 1, MARKER_LAP = 2, MARKER_CLOSE = 3 };

#define MARKER(op, window)	(MARKER_MAGIC | (op) << 8 | (window))

/* x86: nopl disp32(%rax), where the displacement is this and the value. */
#define MARKER_X86_DISP		0x7b1a0000u
/* arm64: movz xzr, #value. */
#define MARKER_ARM64_BASE	0xd280001fu
/* POWER: lis r0, value. */
#define MARKER_POWERPC_BASE	0x3c000000u

/* User addresses of all three lie below. */
#define MARKER_USER_END		(1ull << 52)

#endif
