// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model may hand anything to the machine: a null pointer for an entry, a frame that
 * does not exist. To the world that would be a bug of ours, and end the process; here it is
 * found first, and told as the model's. A layer over the world's operations, on
 * the stacks that run a model's code.
 */
#include "model_internal.h"
#include "world.h"

static void __attribute__((noreturn, cold)) bad(const char *what, u64 value,
						const struct mach_site *site)
{
	const char *file = site ? strrchr(site->file, '/') : NULL;
	char text[200], where[120] = "";

	if (site)
		snprintf(where, sizeof(where), " at %s:%u (%s)",
			 file ? file + 1 : site->file, site->line, site->func);
	snprintf(text, sizeof(text), "the model crashed: %s 0x%llx%s", what,
		 (unsigned long long)value, where);
	xassert_fail(text);
}

/* Shared words and locks lie in the heap, in frames or on stacks. */
static void check_address(const void *p, u64 size, u64 align,
			  const struct mach_site *site)
{
	const struct xworld *w = xstack()->w;
	u64 off = (u64)(uintptr_t)p - w->base;

	if (off < XHEAP_AT || off > XARENA_SIZE - size || (off & (align - 1)))
		bad("no shared word is at", (u64)(uintptr_t)p, site);
}

static u64 guard_load(const void *addr, u32 size, u32 order,
		      const struct mach_site *site)
{
	check_address(addr, size, size, site);
	return xload(addr, size, order, site);
}

static void guard_store(void *addr, u32 size, u64 val, u32 order,
			const struct mach_site *site)
{
	check_address(addr, size, size, site);
	xstore(addr, size, val, order, site);
}

static u64 guard_rmw(void *addr, u32 size, u32 op, u64 arg, u64 expected, u32 order,
		     const struct mach_site *site)
{
	check_address(addr, size, size, site);
	return xrmw(addr, size, op, arg, expected, order, site);
}

static u32 guard_scan_zero(const u64 *addr, u32 n, const struct mach_site *site)
{
	check_address(addr, n * sizeof(u64), sizeof(u64), site);
	return xscan_zero(addr, n, site);
}

static int guard_wait_change(const struct mach_watch *watch, u32 n,
			     const struct mach_site *site)
{
	if (n > MACH_MAX_WATCH)
		bad("too many words to wait for:", n, site);
	for (u32 i = 0; i < n; i++)
		check_address(watch[i].addr, watch[i].size, watch[i].size, site);
	return xwait_change(watch, n, site);
}

static void guard_spin_lock(struct mach_lock *lock, const struct mach_site *site)
{
	check_address(lock, sizeof(*lock), sizeof(u64), site);
	xspin_lock(lock, site);
}

static bool guard_spin_trylock(struct mach_lock *lock, const struct mach_site *site)
{
	check_address(lock, sizeof(*lock), sizeof(u64), site);
	return xspin_trylock(lock, site);
}

static void guard_spin_unlock(struct mach_lock *lock, const struct mach_site *site)
{
	check_address(lock, sizeof(*lock), sizeof(u64), site);
	if (lock->owner != mach_env()->cpu + 1U)
		bad("not the holder's unlock of", (u64)(uintptr_t)lock, site);
	xspin_unlock(lock, site);
}

static void guard_free_frames(u64 pfn, u32 order, u32 flags,
			      const struct mach_site *site)
{
	if (!pfn || order > 9 || pfn >= mach_env()->nr_frames ||
	    (1ULL << order) > mach_env()->nr_frames - pfn)
		bad("no frame of the machine:", pfn, site);
	xfree_frames(pfn, order, flags, site);
}

static int guard_user_access(u64 va, bool write, u64 *val)
{
	if (va & 7)
		bad("not the address of an aligned word:", va, NULL);
	return xuser_access(va, write, val);
}

void model_guard_stack(void)
{
	struct xmodel_guard *g = &((struct xmodel *)(uintptr_t)check_world()->host)->guard;

	if (!g->ops.abi) {
		g->ops = xops;
		g->ops.load = guard_load;
		g->ops.store = guard_store;
		g->ops.rmw = guard_rmw;
		g->ops.scan_zero = guard_scan_zero;
		g->ops.wait_change = guard_wait_change;
		g->ops.spin_lock = guard_spin_lock;
		g->ops.spin_trylock = guard_spin_trylock;
		g->ops.spin_unlock = guard_spin_unlock;
		g->ops.free_frames = guard_free_frames;
		g->ops.user_access = guard_user_access;
	}
	mach_env()->ops = &g->ops;
}
