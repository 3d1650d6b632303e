// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64: an entry is taken away and a flag says so. Who has seen the flag, can he
 * still use the entry?
 *
 *	CPU 0			CPU 1
 *	PTE(VA) = 0		r0 = flag, with acquire
 *	[DSB ISHST]		r1 = load VA, or fault
 *	[TLBI VAE1IS]
 *	[DSB ISH]
 *	flag = 1, with release
 *
 * Each of the three is left out in turn. Without DSB ISHST the TLBI may be carried out
 * before the store to the entry is seen by walkers; without DSB ISH it may not have
 * been by the time of the flag.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define ASID 1UL

enum { SHAPE_FULL, SHAPE_NO_ISHST, SHAPE_NO_TLBI, SHAPE_NO_ISH };

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
	check_load_root(S->root, ASID);
}

static void p0(void)
{
	s64 shape = check_option("shape");

	mach_store(S->pte, 0, MACH_RELAXED);
	if (shape != SHAPE_NO_ISHST)
		mach_fence(MACH_DSB_ISHST);
	if (shape != SHAPE_NO_TLBI)
		mach_arm64_tlbi(VAE1IS, check_tlbi_va(ASID, VA));
	if (shape != SHAPE_NO_ISH)
		mach_fence(MACH_DSB_ISH);
	mach_store(&S->flag, 1, MACH_RELEASE);
}

static void p1(void)
{
	u64 val;

	S->r0 = mach_load(&S->flag, MACH_ACQUIRE);
	S->loaded = !check_user_load(VA, &val);
}

static void final(void)
{
	check_outcome("flag=%u %s", S->r0, S->loaded ? "loaded" : "fault");
}

CHECK_MODEL(tlbi_dsb,
	.what = "TLBI and its DSBs, seen from another CPU",
	.arch = CHECK_ARM64,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init, .cpu_init = cpu_init, .final = final,
	.option = { {
		.name = "shape",
		.values = (const char *const[]){ "full", "no-ishst", "no-tlbi",
						 "no-ish", NULL },
		.max = SHAPE_NO_ISH,
		.meaning = "what is left out",
	} },
	.thread = { { "P0", 0, { USER(p0) } }, { "P1", 1, { USER(p1) } } },
	.expect = {
		{ "shape=full", "pass" }, { "shape=no-ishst", "pass" },
		{ "shape=no-tlbi", "pass" }, { "shape=no-ish", "pass" },
	},
	.outcome = {
		{ "flag=0 loaded", CHECK_ARM64, NULL },
		{ "flag=0 fault", CHECK_ARM64, NULL },
		{ "flag=1 fault", CHECK_ARM64, NULL },
		{ "flag=1 loaded", CHECK_ARM64, "shape=no-ishst" },
		{ "flag=1 loaded", CHECK_ARM64, "shape=no-tlbi" },
		{ "flag=1 loaded", CHECK_ARM64, "shape=no-ish" },
	})
