/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coroutines: the stacks that simulated threads and idle loops run on.
 *
 * A switch saves the callee-saved registers on the stack that is left and
 * takes those of the stack that is entered; it ends in a jump, because a
 * `ret` to another stack always misses the return predictor. No signal mask
 * and no floating-point control is saved: nothing here changes them.
 *
 * coro_switch(from, to) returns when somebody switches to `from` again. The
 * host's own stack is a struct coro too: coro_init_host().
 *
 * -DTLBLAB_UCONTEXT takes the C library's swapcontext instead (about fifty
 * times slower), for hosts without an assembly file here. Under
 * AddressSanitizer every switch is announced to it.
 */
#ifndef TLBLAB_MACHINE_CORO_H
#define TLBLAB_MACHINE_CORO_H

#include <tlblab/types.h>

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(TLBLAB_UCONTEXT)
#define TLBLAB_UCONTEXT
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CORO_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORO_ASAN 1
#endif
#endif

#ifdef TLBLAB_UCONTEXT
#include <ucontext.h>
#endif

struct coro {
	void *sp;		/* while it does not run */
#ifdef TLBLAB_UCONTEXT
	ucontext_t uc;
	void (*fn)(void *arg);
	void *arg;
#endif
#ifdef CORO_ASAN
	const void *bottom;	/* of the stack; NULL: the host's, not yet known */
	size_t size;
	void *fake;
#endif
};

/* A coroutine that will run fn(arg), which must not return. */
void coro_init(struct coro *co, void *bottom, size_t size,
	       void (*fn)(void *arg), void *arg);
void coro_init_host(struct coro *co);
/* co will be used to leave the stack that `of` describes. */
static inline void coro_same_stack(struct coro *co, const struct coro *of)
{
#ifdef CORO_ASAN
	co->bottom = of->bottom;
	co->size = of->size;
#else
	(void)co;
	(void)of;
#endif
}

/* coro_x86_64.S, coro_aarch64.S */
void coro_swap(void **save_sp, void *load_sp);
void coro_switch_slowly(struct coro *from, struct coro *to);

/*
 * Inline, as is cpu_park(): every return on the way up from a switch is to an
 * address that the processor does not predict.
 */
static inline __attribute__((always_inline)) void
coro_switch(struct coro *from, struct coro *to)
{
#if defined(TLBLAB_UCONTEXT) || defined(CORO_ASAN)
	coro_switch_slowly(from, to);
#else
	coro_swap(&from->sp, to->sp);
#endif
}

/* First thing on a new stack, before anything else. */
void coro_started(void);
/* As coro_switch(), from a stack that is never entered again. */
void coro_leave(struct coro *from, struct coro *to) __attribute__((noreturn));

#endif
