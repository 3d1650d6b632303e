/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweeps: runs of pages in equal state, at the cost of one. mmu.h says what is left out. */
#include "internal.h"

/* The entry by which va was just translated; it is in the TLB. */
static const struct mmu_entry *translated(struct mmu_cpu *c, u64 va)
{
	struct mmu_view *v = c->cur;

	for (u32 hs = v->heights; hs; hs &= hs - 1) {
		u32 h = (u32)__builtin_ctz(hs);
		struct mmu_entry *e = mmu_find(&c->array[MMU_L2], mmu_key(c->mmu, va, h),
					       v->tag);

		if (!e)
			e = mmu_find(&c->array[mmu_l1_of(c, h)], mmu_key(c->mmu, va, h), v->tag);
		if (e)
			return e;
	}
	return NULL;
}

/* Does hardware pass the last-level entry at pa as it is, or once it has marked it used? */
static bool word_passes(struct mmu *mmu, u64 pa, bool write, u64 node, u64 node_bytes)
{
	u64 *p = (u64 *)(void *)(mmu->phys_base + pa);
	struct mmu_word w;
	u64 used;

	mmu->arch->decode(mmu, *p, 0, &w);
	if (w.kind != MMU_WORD_LEAF || !w.usable || !(w.perm & MMU_PERM_USER) ||
	    (write && !(w.perm & MMU_PERM_WRITE)) || w.pa / node_bytes != node)
		return false;
	used = mmu->arch->mark_used(mmu, *p, &w, write);
	if (used != *p)
		__atomic_store_n(p, used, __ATOMIC_RELAXED);
	return true;
}

u64 mmu_sweep(struct mmu *mmu, u32 cpu, u64 now_ps, u64 va, u64 end, bool write,
	      u64 node_bytes, struct mmu_xlate *x)
{
	struct mmu_cpu *c = &mmu->cpu[cpu];
	const struct mmu_entry *e;
	u64 size, last, n = 1, word;

	mmu_translate(mmu, cpu, now_ps, va, write, x);
	if (x->fault)
		return 0;
	e = translated(c, va);
	if (!e)
		return (1ULL << mmu->page_shift) - (va & ((1ULL << mmu->page_shift) - 1));
	size = 1ULL << mmu->shift[e->height];
	last = (va & ~(size - 1)) + size;
	if (e->height)
		return (last < end ? last : end) - va;
	/* All entries of a table lie in one page. */
	word = e->word_pa + 8;
	while (last < end && (word & mmu->index_mask[0] * 8) &&
	       word_passes(mmu, word, write, x->pa / node_bytes, node_bytes)) {
		last += size;
		word += 8;
		n++;
	}
	x->walk_ps += (n - 1) * (mmu->walk_base_ps + mmu->walk_level_ps);
	c->stats.walk += n - 1;
	c->stats.walk_level += n - 1;
	return (last < end ? last : end) - va;
}
