// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Without PCIDs the kernel unmaps a page of another address space and invalidates
 * nothing, since that space is not the one loaded here.
 *
 * seL4 pull request #107, x86 SMP (2018-19).
 *
 *	CPU 0: thread of space A		CPU 1: thread of space B
 *						VA -> F is in its TLB
 *	unmap F's capability, in B
 *	B is not loaded here: no INVLPG
 *	retype F
 *						store to VA: into the new object
 *
 * Rule: STALE-WRITE. The fix always invalidates, on all CPUs that may have the space: a
 * word holds the pending invalidation, each target flushes and counts itself off.
 */
#include <tlblab/check.h>

#define VA 0x400000UL

struct state {
	u64 vspace_a, vspace_b, frame, *pte;
	struct mach_lock kernel_lock;	/* the big one */
	u64 loaded[2];			/* root per CPU */
	u32 ipi_left;			/* targets that have not answered */
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->vspace_a = check_alloc_table();
	S->vspace_b = check_alloc_table();
	S->frame = check_alloc_frame();
	S->pte = check_map(S->vspace_b, VA, S->frame, CHECK_RW);
}

static void cpu_init(void)
{
	u32 cpu = mach_env()->cpu;
	u64 root = cpu ? S->vspace_b : S->vspace_a;

	check_load_root(root, 0);
	mach_store(&S->loaded[cpu], root, MACH_RELAXED);
}

static void remote_invalidate(void *va)
{
	mach_x86_invlpg((u64)va);
	(void)mach_rmw(&S->ipi_left, MACH_ADD, -1, 0, MACH_RELEASE);
}

/* doRemoteInvalidateTranslationSingle(): spins until all have answered. */
static void invalidate_everywhere(u64 va)
{
	u64 others = 0x3 & ~(1UL << mach_env()->cpu);

	mach_x86_invlpg(va);
	mach_store(&S->ipi_left, 1, MACH_RELAXED);
	mach_ipi(&others, remote_invalidate, (void *)va, false);
	check_wait(&S->ipi_left, 0);
}

/* unmapPage() of a frame that vspace maps at va, then the frame becomes free. */
static void unmap_and_retype(void)
{
	u64 here;

	mach_spin_lock(&S->kernel_lock);
	mach_store(S->pte, 0, MACH_RELAXED);
	here = mach_load(&S->loaded[mach_env()->cpu], MACH_RELAXED);
	if (!check_option("bug"))
		invalidate_everywhere(VA);
	else if (here == S->vspace_b)
		mach_x86_invlpg(VA);
	check_free_frame(S->frame);
	mach_spin_unlock(&S->kernel_lock);
}

static void store(void)
{
	check_user_store(VA, 1);
}

/* A system call of the other thread, which meets the big lock. */
static void yield(void)
{
	mach_spin_lock(&S->kernel_lock);
	mach_spin_unlock(&S->kernel_lock);
}

CHECK_MODEL(sel4_unmap,
	.what = "unmapping in a space that is not loaded here invalidates nothing (seL4)",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("invalidate only if the space is loaded on this CPU") },
	.thread = {
		{ "unmap", 0, { KERNEL(unmap_and_retype) } },
		{ "user", 1, { USER(store), KERNEL(yield), USER(store) } },
	},
	.expect = {
		{ "bug=on", "STALE-WRITE" },
		{ "bug=off", "pass" },
	})
