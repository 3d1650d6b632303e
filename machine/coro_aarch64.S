/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * void coro_swap(void **save_sp, void *load_sp);
 *
 * A stack that is not running looks like this, from its sp upwards:
 *	x19 ... x28 x29 x30  d8 ... d15
 */
#if defined(__aarch64__) && !defined(TLBLAB_UCONTEXT)
	.text
	.globl	coro_swap
	.hidden	coro_swap
	.type	coro_swap, %function
	.p2align 4
coro_swap:
	sub	sp, sp, #160
	stp	x19, x20, [sp]
	stp	x21, x22, [sp, #16]
	stp	x23, x24, [sp, #32]
	stp	x25, x26, [sp, #48]
	stp	x27, x28, [sp, #64]
	stp	x29, x30, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	ldp	x19, x20, [sp]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	add	sp, sp, #160
	mov	x16, x30
	br	x16
	.size	coro_swap, . - coro_swap

/* First entry: x20 is the function, x19 its argument. */
	.globl	coro_entry
	.hidden	coro_entry
	.type	coro_entry, %function
coro_entry:
	mov	x0, x19
	blr	x20
	brk	#1
	.size	coro_entry, . - coro_entry
#endif
	.section .note.GNU-stack, "", %progbits
