// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mremap() moves an entry and owes the flush when it lets go of the page-table locks.
 *
 * CVE-2018-18281; Linux eb66ae030829 "mremap: properly flush TLB before releasing the
 * page" (2018).
 *
 *	CPU 0: mremap			CPU 1: user	CPU 2: ftruncate
 *					OLD -> F is in its TLB
 *	lock both PTLs
 *	move the entry, OLD to NEW
 *	unlock both PTLs
 *							clear NEW, flush NEW
 *							free F
 *					store to OLD: into a free frame
 *	flush OLD: too late
 *
 * Rule: STALE-WRITE. mremap never holds a reference to F, so nothing of its own
 * delays the free: the PTL is all that keeps the truncation out.
 */
#include <tlblab/check.h>

#define OLD 0x400000UL
#define CPUS 0x3	/* mm_cpumask: whoever truncates is no thread of it */
#define NEW 0x600000UL	/* below another PTE table, so another PTL */

struct state {
	u64 root, frame;
	u64 *old_pte, *new_pte;
	struct mach_lock old_ptl, new_ptl;
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->frame = check_alloc_frame();
	S->old_pte = check_map(S->root, OLD, S->frame, CHECK_RW);
	S->new_pte = check_map(S->root, NEW, S->frame, CHECK_RW);
	mach_store(S->new_pte, 0, MACH_RELAXED);
}

static void cpu_init(void)
{
	if (CPUS & 1 << mach_env()->cpu)
		check_load_root(S->root, 0);
}

/* move_ptes(). */
static void mremap(void)
{
	bool late = check_option("bug");
	u64 pte;

	mach_spin_lock(&S->old_ptl);
	mach_spin_lock(&S->new_ptl);
	pte = mach_rmw(S->old_pte, MACH_XCHG, 0, 0, MACH_FULL);
	if (check_present(pte)) {
		mach_store(S->new_pte, pte, MACH_RELAXED);
		if (!late)
			check_x86_flush_page(CPUS, OLD);
	}
	mach_spin_unlock(&S->new_ptl);
	mach_spin_unlock(&S->old_ptl);
	if (late && check_present(pte))
		check_x86_flush_page(CPUS, OLD);
}

static bool zap_pte(u64 *ptep, struct mach_lock *ptl, u64 va)
{
	u64 pte;

	mach_spin_lock(ptl);
	pte = mach_rmw(ptep, MACH_XCHG, 0, 0, MACH_FULL);
	mach_spin_unlock(ptl);
	if (check_present(pte))
		check_x86_flush_page(CPUS, va);
	return check_present(pte);
}

/*
 * unmap_mapping_range(), then the page cache lets go. The old VMA comes first in the
 * rmap; where it does not, mremap takes the rmap locks.
 */
static void ftruncate(void)
{
	if (zap_pte(S->old_pte, &S->old_ptl, OLD) ||
	    zap_pte(S->new_pte, &S->new_ptl, NEW))
		check_free_frame(S->frame);
}

static void store_old(void)
{
	check_user_store(OLD, 1);
}

CHECK_MODEL(mremap_flush,
	.what = "mremap drops the page-table locks before its flush (CVE-2018-18281)",
	.arch = CHECK_X86,
	.cpus = 3,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("flush the old range after the locks, as before 4.20") },
	.thread = {
		{ "mremap", 0, { KERNEL(mremap) } },
		{ "user", 1, { USER(store_old) } },
		{ "truncate", 2, { KERNEL(ftruncate) } },
	},
	.expect = {
		{ "bug=on", "STALE-WRITE" },
		{ "bug=off", "pass" },
	})
