// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A memory domain is destroyed without a flush, and its ASID comes round again.
 *
 * Zephyr issue #113559, arm64 (2026).
 *
 *	CPU 0				CPU 1
 *					runs in domain 1, ASID 7:
 *					VA -> F1, ASID 7, is in its TLB
 *					leaves domain 1
 *	destroy domain 1: free F1
 *	create domain 2: the counter
 *	has wrapped, ASID 7 again
 *					runs in domain 2:
 *					load VA: hits VA -> F1
 *
 * Rule: WRONG-CONTEXT. The fix invalidates the ASID when the
 * domain is destroyed. Where the counter wraps after 255 domains in Zephyr, here it
 * wraps at once.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define NR_ASIDS 1	/* beside 0, the kernel's */

struct domain {
	u64 root, frame, asid;
};

struct state {
	u64 kernel_root;
	struct domain domain[2];
	u64 next_asid;		/* CPU 0's */
	u32 running;		/* a CPU is in domain 0 of the array */
	bool destroyed;		/* CPU 0's: its ASID is free */
	u32 ready;		/* domain 1 of the array exists */
};

#define S ((struct state *)check_state())

/* arch_mem_domain_init(). */
static void domain_init(struct domain *d)
{
	d->asid = 1 + S->next_asid++ % NR_ASIDS;
	d->root = check_alloc_table();
	d->frame = check_alloc_frame();
	check_map(d->root, VA, d->frame, CHECK_RW);
}

static void init(void)
{
	S->kernel_root = check_alloc_table();
	domain_init(&S->domain[0]);
	mach_store(&S->running, 1, MACH_RELAXED);
}

static void cpu_init(void)
{
	bool user = mach_env()->cpu == 1;

	check_load_root(user ? S->domain[0].root : S->kernel_root,
			user ? S->domain[0].asid : 0);
}

/* arch_mem_domain_deinit(), once no CPU runs in it. */
static void destroy_first(void)
{
	struct domain *d = &S->domain[0];

	check_wait(&S->running, 0);
	if (!check_option("bug")) {
		mach_fence(MACH_DSB_ISHST);
		mach_arm64_tlbi(ASIDE1IS, d->asid << 48);
		mach_fence(MACH_DSB_ISH);
	}
	check_free_frame(d->frame);
	S->destroyed = true;
}

/* The counter wraps to an ASID that is free, or there is none. */
static void create_second(void)
{
	if (!S->destroyed)
		return;
	domain_init(&S->domain[1]);
	mach_fence(MACH_DSB_ISHST);
	mach_store(&S->ready, 1, MACH_RELEASE);
}

static void load(void)
{
	u64 val;

	check_user_load(VA, &val);
}

static void leave_first(void)
{
	check_load_root(S->kernel_root, 0);
	mach_store(&S->running, 0, MACH_RELEASE);
}

static void enter_second(void)
{
	struct domain *d = &S->domain[1];

	check_wait(&S->ready, 1);
	check_load_root(d->root, d->asid);
}

CHECK_MODEL(zephyr_asid,
	.what = "an ASID is given out again with the dead domain's entries (Zephyr)",
	.arch = CHECK_ARM64,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("do not flush when a domain is destroyed") },
	.thread = {
		{ "domains", 0, { KERNEL(destroy_first), KERNEL(create_second) } },
		{ "user", 1, { USER(load), KERNEL(leave_first), KERNEL(enter_second),
			       USER(load) } },
	},
	.expect = {
		{ "bug=on", "WRONG-CONTEXT" },
		{ "bug=off", "pass" },
	})
