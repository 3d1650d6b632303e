// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 4 KiB mappings are promoted to one of 2 MiB, whose removal invalidates one address.
 *
 * FreeBSD r312954, refined in r314310 (PG_PROMOTED; 2017).
 *
 *	CPU 0: promote, later remove		CPU 1: user
 *						VA + 4K -> F is in its TLB, a 4 KiB entry
 *	the PMD becomes a leaf: the same
 *	frames, the same rights, no flush
 *	clear the PMD
 *	INVLPG VA, here and there
 *	free F
 *						store to VA + 4K: into a free frame
 *
 * Rule: STALE-WRITE. INVLPG drops what translates its own address, of whatever size, and
 * no other. The fix flushes all of a mapping that was promoted.
 *
 * The huge page is the first 2 MiB of memory. Of it, one allocated frame is stored to.
 */
#include <tlblab/check.h>

#define HUGE_VA 0x40000000UL
#define CPUS 0x3

struct state {
	u64 root, frame, *pmd;
	bool promoted;		/* PG_PROMOTED; CPU 0's */
};

#define S ((struct state *)check_state())
#define VA (HUGE_VA + (S->frame << 12))

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	check_map(S->root, VA, S->frame, CHECK_RW);
	S->pmd = check_entry(S->root, HUGE_VA, 1);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

/* pmap_promote_pde(). The table is kept for a later demotion. */
static void promote(void)
{
	mach_store(S->pmd, check_leaf(0, CHECK_RW) | X86_PTE_PS, MACH_RELAXED);
	S->promoted = true;
}

/* pmap_remove_pde(). */
static void remove(void)
{
	(void)mach_rmw(S->pmd, MACH_XCHG, 0, 0, MACH_FULL);
	for (u64 va = HUGE_VA; va < HUGE_VA + (16 << 12); va += 4096) {
		check_x86_flush_page(CPUS, va);
		if (check_option("bug") || !S->promoted)
			break;
	}
	check_free_frame(S->frame);
}

static void store(void)
{
	check_user_store(VA, 1);
}

CHECK_MODEL(freebsd_promotion,
	.what = "a promoted 2 MiB mapping is removed with one INVLPG (FreeBSD)",
	.arch = CHECK_X86,
	.cpus = 2,
	.frames = 512,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("one INVLPG for a promoted mapping, as before 11.1") },
	.thread = {
		{ "pmap", 0, { KERNEL(promote), KERNEL(remove) } },
		{ "user", 1, { USER(store) } },
	},
	.expect = {
		{ "bug=on", "STALE-WRITE" },
		{ "bug=off", "pass" },
	})
