// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86: the same question as tlbi-dsb.c. INVLPG reaches one CPU; the other is asked by an
 * interrupt, and only its answer says that it has done so.
 *
 *	CPU 0			CPU 1
 *	PTE(VA) = 0		r0 = flag
 *	INVLPG			r1 = load VA, or fault
 *	[interrupt CPU 1: INVLPG]
 *	[wait for it]
 *	flag = 1
 */
#include <tlblab/check.h>

#define VA 0x400000UL

enum { SHAPE_FULL, SHAPE_NO_WAIT, SHAPE_NO_IPI };

struct state {
	u64 root, frame, *pte;
	u32 flag;
	u32 r0, loaded;		/* P1's */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_RW);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

static void p0(void)
{
	s64 shape = check_option("shape");
	u64 other = 0x2;

	mach_store(S->pte, 0, MACH_RELAXED);
	mach_x86_invlpg(VA);
	if (shape != SHAPE_NO_IPI)
		mach_ipi(&other, check_x86_flush_one, (void *)VA, shape == SHAPE_FULL);
	mach_store(&S->flag, 1, MACH_RELAXED);
}

static void p1(void)
{
	u64 val;

	S->r0 = mach_load(&S->flag, MACH_RELAXED);
	S->loaded = !check_user_load(VA, &val);
}

static void final(void)
{
	check_outcome("flag=%u %s", S->r0, S->loaded ? "loaded" : "fault");
}

CHECK_MODEL(invlpg_ipi,
	.what = "INVLPG and its interrupt, seen from the other CPU",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init, .cpu_init = cpu_init, .final = final,
	.option = { {
		.name = "shape",
		.values = (const char *const[]){ "full", "no-wait", "no-ipi", NULL },
		.max = SHAPE_NO_IPI,
		.meaning = "what is left out",
	} },
	.thread = { { "P0", 0, { USER(p0) } }, { "P1", 1, { USER(p1) } } },
	.expect = {
		{ "shape=full", "pass" }, { "shape=no-wait", "pass" },
		{ "shape=no-ipi", "pass" },
	},
	.outcome = {
		{ "flag=0 loaded", CHECK_X86, NULL },
		{ "flag=0 fault", CHECK_X86, NULL },
		{ "flag=1 fault", CHECK_X86, NULL },
		{ "flag=1 loaded", CHECK_X86, "shape=no-wait" },
		{ "flag=1 loaded", CHECK_X86, "shape=no-ipi" },
	})
