// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A huge entry is cleared while it changes, and MADV_DONTNEED takes it for none.
 *
 * Linux ced108037c2a "thp: fix MADV_DONTNEED vs. numa balancing race" (2017).
 *
 *	CPU 0: change_huge_pmd		CPU 1: MADV_DONTNEED
 *	take the entry: none meanwhile
 *					reads none, without the lock: nothing to do
 *	set it, inaccessible
 *					returns; load VA: a hinting fault makes the
 *					  entry accessible: the old data
 *
 * Rule: ASSERT, for what was thrown away is read. The fix makes the entry invalid for hardware
 * in place, so that it never reads as none.
 */
#include <tlblab/check.h>

#define HUGE_VA 0x40000000UL
#define CPUS 0x3
#define PROTNONE (1ULL << 58)	/* software's: present, but for hardware */

struct state {
	u64 root, *pmd;
	struct mach_lock ptl;
	u32 zapped;		/* CPU 1's: MADV_DONTNEED has returned */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->pmd = check_map(S->root, HUGE_VA, 0, CHECK_RW | CHECK_HUGE);
}

static void cpu_init(void)
{
	check_load_root(S->root, 1);
}

static void flush_pmd(void)
{
	if (check_arch() == CHECK_X86) {
		check_x86_flush_page(CPUS, HUGE_VA);
		return;
	}
	mach_fence(MACH_DSB_ISHST);
	mach_arm64_tlbi(VAE1IS, check_tlbi_va(1, HUGE_VA));
	mach_fence(MACH_DSB_ISH);
}

static void change_huge_pmd(void)
{
	u64 pmd;

	mach_spin_lock(&S->ptl);
	pmd = mach_load(S->pmd, MACH_RELAXED);
	if (pmd) {
		pmd = check_option("bug") ?
			      mach_rmw(S->pmd, MACH_XCHG, 0, 0, MACH_FULL) :
			      mach_rmw(S->pmd, MACH_AND, ~1ULL, 0, MACH_FULL);
		mach_store(S->pmd, (pmd & ~1ULL) | PROTNONE, MACH_RELAXED);
	}
	mach_spin_unlock(&S->ptl);
	flush_pmd();
}

/* A look without the lock, and the lock if there is something. */
static void madvise_dontneed(void)
{
	if (mach_load(S->pmd, MACH_RELAXED)) {
		mach_spin_lock(&S->ptl);
		mach_store(S->pmd, 0, MACH_RELAXED);
		mach_spin_unlock(&S->ptl);
	}
	flush_pmd();
	S->zapped = 1;
}

/* What a fault there would find. */
static void look(void)
{
	u64 pmd;

	mach_spin_lock(&S->ptl);
	pmd = mach_load(S->pmd, MACH_RELAXED);
	mach_spin_unlock(&S->ptl);
	check_assert(!S->zapped || !pmd);
}

CHECK_MODEL(dontneed_numa_thp,
	.what = "MADV_DONTNEED misses a huge entry that is cleared while it changes",
	.arch = CHECK_X86 | CHECK_ARM64,
	.cpus = 2,
	.frames = 512,
	.feature = { { "x86.pcid", "on" } },
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("clear, then set, as before 4.12") },
	.thread = {
		{ "protect", 0, { KERNEL(change_huge_pmd) } },
		{ "dontneed", 1, { KERNEL(madvise_dontneed), KERNEL(look) } },
	},
	.expect = {
		{ "bug=on", "ASSERT" },
		{ "bug=off", "pass" },
	})
