/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * void coro_swap(void **save_sp, void *load_sp);
 *
 * A stack that is not running looks like this, from its sp upwards:
 *	r15 r14 r13 r12 rbx rbp  return address
 */
#if defined(__x86_64__) && !defined(TLBLAB_UCONTEXT)
	.text
	.globl	coro_swap
	.hidden	coro_swap
	.type	coro_swap, @function
	.p2align 4
coro_swap:
	.cfi_startproc
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	popq	%rcx
	jmpq	*%rcx
	.cfi_endproc
	.size	coro_swap, . - coro_swap

/* First entry: r12 is the function, r13 its argument; sp is 16-aligned. */
	.globl	coro_entry
	.hidden	coro_entry
	.type	coro_entry, @function
coro_entry:
	.cfi_startproc
	.cfi_undefined rip
	movq	%r13, %rdi
	callq	*%r12
	ud2
	.cfi_endproc
	.size	coro_entry, . - coro_entry
#endif
	.section .note.GNU-stack, "", %progbits
