// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Crashes in each of the ways that a model can, but only if CPU 1 came first: so the
 * schedule matters.
 */
#include <tlblab/check.h>

enum { HOW_NULL, HOW_STACK, HOW_JUMP, HOW_DIVIDE, HOW_WORD, HOW_FRAME, HOW_USER };

struct state {
	u32 first;	/* CPU + 1 */
};

#define S ((struct state *)check_state())

static u64 __attribute__((noinline)) deeper(u64 n)
{
	volatile u64 frame[64];

	frame[n % 64] = n;
	return n ? deeper(n - 1) + frame[n % 64] : 0;
}

static void crash(void)
{
	volatile u64 zero = 0;

	switch (check_option("how")) {
	case HOW_NULL:
		*(volatile u32 *)zero = 1;
		break;
	case HOW_STACK:
		deeper(1UL << 20);
		break;
	case HOW_JUMP:
		((void (*)(void))zero)();
		break;
	case HOW_DIVIDE:
		zero = 7 / zero;
		break;
	case HOW_WORD:
		mach_store((u32 *)zero, 1, MACH_RELAXED);
		break;
	case HOW_FRAME:
		check_free_frame(zero);
		break;
	case HOW_USER:
		check_user_store(0x400001, 1);
		break;
	}
}

static void come(void)
{
	u32 cpu = mach_env()->cpu;

	(void)mach_rmw(&S->first, MACH_CMPXCHG, cpu + 1, 0, MACH_FULL);
	if (cpu == 0 && mach_load(&S->first, MACH_RELAXED) == 2)
		crash();
}

CHECK_MODEL(crash,
	.arch = CHECK_X86, .cpus = 2,
	.state_size = sizeof(struct state),
	.option = { {
		.name = "how",
		.values = (const char *const[]){ "null", "stack", "jump", "divide", "word",
						 "frame", "user", NULL },
		.max = HOW_USER,
		.meaning = "how it crashes",
	} },
	.thread = { { "P0", 0, { USER(come) } }, { "P1", 1, { USER(come) } } })
