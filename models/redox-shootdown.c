// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A frame goes back to the allocator after a local invalidation only.
 *
 * Redox kernel, merge request !282 "Implement TLB shootdown" (2023-24).
 *
 *	CPU 0: munmap				CPU 1: thread of the same space
 *						VA -> F is in its TLB
 *	clear the entry
 *	INVLPG here
 *	deallocate F
 *						store to VA: into a free frame
 *
 * Rule: STALE-WRITE.
 *
 * The fix as Redox has it: each CPU has a word that says a shootdown is wanted, the
 * space has the set of CPUs that use it and a count of acknowledgements. The initiator sets
 * the words, sends the interrupt without waiting, and spins on the count; a target
 * takes its word back, flushes, and then acknowledges with a release.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define NR_CPUS 2

struct state {
	u64 root, frame, *pte;
	u64 used_by;			/* set of CPUs */
	u32 wants_shootdown[NR_CPUS];
	u32 tlb_ack;
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
	(void)mach_rmw(&S->used_by, MACH_OR, 1UL << mach_env()->cpu, 0, MACH_FULL);
}

static void handle_ipi(void *info)
{
	(void)info;
	if (!mach_rmw(&S->wants_shootdown[mach_env()->cpu], MACH_XCHG, 0, 0, MACH_FULL))
		return;
	mach_x86_write_cr3(S->root << 12);
	(void)mach_rmw(&S->tlb_ack, MACH_ADD, 1, 0, MACH_RELEASE);
}

static void shootdown(void)
{
	u64 others = mach_load(&S->used_by, MACH_ACQUIRE) & ~(1UL << mach_env()->cpu);
	u32 want = 0;

	for (u32 cpu = 0; cpu < NR_CPUS; cpu++) {
		if (!(others & 1UL << cpu))
			continue;
		(void)mach_rmw(&S->wants_shootdown[cpu], MACH_XCHG, 1, 0, MACH_FULL);
		want++;
	}
	mach_ipi(&others, handle_ipi, NULL, false);
	check_wait(&S->tlb_ack, want);
}

static void munmap(void)
{
	(void)mach_rmw(S->pte, MACH_XCHG, 0, 0, MACH_FULL);
	mach_x86_invlpg(VA);
	if (!check_option("bug"))
		shootdown();
	check_free_frame(S->frame);
}

static void store(void)
{
	check_user_store(VA, 1);
}

static void load(void)
{
	u64 val;

	check_user_load(VA, &val);
}

CHECK_MODEL(redox_shootdown,
	.what = "a frame is deallocated while another CPU still has its entry (Redox)",
	.arch = CHECK_X86,
	.cpus = NR_CPUS,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("invalidate on this CPU only") },
	.thread = {
		{ "munmap", 0, { KERNEL(munmap) } },
		{ "user", 1, { USER(store), USER(load) } },
	},
	.expect = {
		{ "bug=on", "STALE-WRITE" },
		{ "bug=off", "pass" },
	})
