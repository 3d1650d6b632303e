// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64: a CPU takes an entry away, or puts one there, and uses the address itself. DSB
 * completes the change, and only a context synchronisation (ISB) makes the CPU's own
 * later instructions wait for it.
 *
 *	CPU 0, change=unmap		CPU 0, change=map
 *	PTE(VA) = 0			PTE(VA) = frame
 *	DSB ISHST; TLBI; DSB ISH	DSB ISHST
 *	[ISB]				[ISB]
 *	load VA, or fault		load VA, or fault
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define ASID 1UL

struct state {
	u64 root, frame, *pte;
	u64 entry;
	u32 loaded;
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->root, VA, S->frame, CHECK_RW);
	if (check_option("change")) {
		S->entry = mach_load(S->pte, MACH_RELAXED);
		mach_store(S->pte, 0, MACH_RELAXED);
	}
}

static void cpu_init(void)
{
	check_load_root(S->root, ASID);
}

static void p0(void)
{
	u64 val;

	mach_store(S->pte, S->entry, MACH_RELAXED);
	mach_fence(MACH_DSB_ISHST);
	if (!check_option("change")) {
		mach_arm64_tlbi(VAE1IS, check_tlbi_va(ASID, VA));
		mach_fence(MACH_DSB_ISH);
	}
	if (check_option("isb"))
		mach_fence(MACH_ISB);
	S->loaded = !check_user_load(VA, &val);
}

static void final(void)
{
	check_outcome(S->loaded ? "loaded" : "fault");
}

CHECK_MODEL(tlbi_isb,
	.what = "a change of the page table, and the CPU's own next access",
	.arch = CHECK_ARM64,
	.cpus = 1,
	.state_size = sizeof(struct state),
	.init = init, .cpu_init = cpu_init, .final = final,
	.option = {
		CHECK_ON_OFF("isb", "ISB before the access"),
		{
			.name = "change",
			.values = (const char *const[]){ "unmap", "map", NULL },
			.max = 1,
			.meaning = "what happens to the entry",
		},
	},
	.thread = { { "P0", 0, { USER(p0) } } },
	.expect = {
		{ "change=unmap isb=off", "pass" }, { "change=unmap isb=on", "pass" },
		{ "change=map isb=off", "pass" }, { "change=map isb=on", "pass" },
	},
	.outcome = {
		{ "fault", CHECK_ARM64, "change=unmap" },
		{ "loaded", CHECK_ARM64, "change=unmap isb=off" },
		{ "loaded", CHECK_ARM64, "change=map" },
		{ "fault", CHECK_ARM64, "change=map isb=off" },
	})
