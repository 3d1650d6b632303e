/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "coro.h"

#include <string.h>

#include "internal.h"

#ifdef CORO_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* Who was left by the switch that is going on, to learn the host's stack. */
static __thread struct coro *coro_left;

static void announce(struct coro *from, struct coro *to, bool for_good)
{
	coro_left = from;
	__sanitizer_start_switch_fiber(for_good ? NULL : &from->fake,
				       to->bottom, to->size);
}

static void arrived(void *fake)
{
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(fake, &bottom, &size);
	if (coro_left && !coro_left->bottom) {
		coro_left->bottom = bottom;
		coro_left->size = size;
	}
}
#else
static inline void announce(struct coro *from, struct coro *to, bool for_good)
{
	(void)from;
	(void)to;
	(void)for_good;
}

static inline void arrived(void *fake)
{
	(void)fake;
}
#endif

void coro_started(void)
{
	arrived(NULL);
}

void coro_init_host(struct coro *co)
{
	memset(co, 0, sizeof(*co));
}

#ifdef TLBLAB_UCONTEXT

static void swap(struct coro *from, struct coro *to)
{
	swapcontext(&from->uc, &to->uc);
}

/* makecontext() passes ints only. */
static void uc_start(unsigned int hi, unsigned int lo)
{
	struct coro *co = (struct coro *)((uintptr_t)hi << 32 | lo);

	co->fn(co->arg);
	MACH_PANIC("a coroutine returned");
}

static void setup(struct coro *co, void *bottom, size_t size,
		  void (*fn)(void *arg), void *arg)
{
	uintptr_t p = (uintptr_t)co;

	getcontext(&co->uc);
	co->uc.uc_stack.ss_sp = bottom;
	co->uc.uc_stack.ss_size = size - 64;
	co->uc.uc_link = NULL;
	co->fn = fn;
	co->arg = arg;
	makecontext(&co->uc, (void (*)(void))uc_start, 2,
		    (unsigned int)(p >> 32), (unsigned int)p);
}

#else

extern char coro_entry[];

static inline void swap(struct coro *from, struct coro *to)
{
	coro_swap(&from->sp, to->sp);
}

static void setup(struct coro *co, void *bottom, size_t size,
		  void (*fn)(void *arg), void *arg)
{
	/*
	 * 64 bytes stay unused at the top: a frame address equal to the end of
	 * the stack would mask to the next stack's environment.
	 */
	u64 *sp = (u64 *)((char *)bottom + size - 64);

#if defined(__x86_64__)
	/* r15 r14 r13 r12 rbx rbp, return address: see coro_x86_64.S. */
	sp -= 7;
	memset(sp, 0, 56);
	sp[2] = (u64)(uintptr_t)arg;	/* r13 */
	sp[3] = (u64)(uintptr_t)fn;	/* r12 */
	sp[6] = (u64)(uintptr_t)coro_entry;
#else
	/* x19 ... x30, d8 ... d15: see coro_aarch64.S. */
	sp -= 20;
	memset(sp, 0, 160);
	sp[0] = (u64)(uintptr_t)arg;
	sp[1] = (u64)(uintptr_t)fn;
	sp[11] = (u64)(uintptr_t)coro_entry;
#endif
	co->sp = sp;
}

#endif

void coro_init(struct coro *co, void *bottom, size_t size,
	       void (*fn)(void *arg), void *arg)
{
	memset(co, 0, sizeof(*co));
#ifdef CORO_ASAN
	/* Frames that were abandoned here have left their marks. */
	__asan_unpoison_memory_region(bottom, size);
	co->bottom = bottom;
	co->size = size;
#endif
	setup(co, bottom, size, fn, arg);
}

void coro_switch_slowly(struct coro *from, struct coro *to)
{
	announce(from, to, false);
	swap(from, to);
#ifdef CORO_ASAN
	arrived(from->fake);
#else
	arrived(NULL);
#endif
}

void coro_leave(struct coro *from, struct coro *to)
{
	announce(from, to, true);
	swap(from, to);
	MACH_PANIC("a dead coroutine was entered");
}
