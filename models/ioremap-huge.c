// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An empty page table of the kernel's is freed for a huge page, and a walk cache leads to it.
 *
 * Linux 5e0fb5df2ee8 "x86/mm: Add TLB purge to free pmd/pte page interfaces" (2018).
 *
 *	CPU 0: ioremap				CPU 1
 *	all of T's entries are gone,
 *	and were flushed
 *						speculates: PMD -> T is in its
 *						walk cache
 *	clear the PMD
 *	free T
 *	make the PMD a huge page
 *						walks T, which is somebody
 *						else's memory by now
 *
 * Rule: WALK-FREED. That no page was mapped is no reason not to flush: the walk caches hold
 * entries that lead to empty tables, too. The fix flushes between the PMD and the free. The
 * exploring machine has no global entries, and here the range is one of user mode; the huge
 * page is left out: who maps it does nothing else.
 */
#include <tlblab/check.h>

#define VA 0x40000000UL
#define CPUS 0x3

struct state {
	u64 root, *pmd;
};

#define S ((struct state *)check_state())

static void init(void)
{
	u64 *pte, frame = check_alloc_frame();

	S->root = check_alloc_table();
	pte = check_map(S->root, VA, frame, CHECK_RW);
	S->pmd = check_entry(S->root, VA, 1);
	/* iounmap(). */
	mach_store(pte, 0, MACH_RELAXED);
	check_free_frame(frame);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

/* pmd_free_pte_page(), of ioremap_try_huge_pmd(). */
static void free_pte_page(void)
{
	u64 pmd = mach_rmw(S->pmd, MACH_XCHG, 0, 0, MACH_FULL);

	if (!check_option("bug"))
		check_x86_flush_page(CPUS, VA);
	check_free_frame(check_pfn(pmd));
}

/* Finds nothing; what matters is the walk. */
static void load(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(ioremap_huge,
	.what = "an empty table makes way for a huge page without a flush",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("do not flush") },
	.thread = {
		{ "ioremap", 0, { KERNEL(free_pte_page) } },
		{ "walker", 1, { USER(load) } },
	},
	.expect = {
		{ "bug=on", "WALK-FREED" },
		{ "bug=off", "pass" },
	})
