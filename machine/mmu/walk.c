/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hardware walker, for any radix table. An architecture decodes one word
 * at a time (struct mmu_arch); this file goes down the levels.
 *
 * The walk begins at the table that the lowest matching walk-cache entry names,
 * without a look at the words above it: they may have changed since.
 */
#include "internal.h"

struct walk_state {
	u64 va;
	bool write;
	u64 table;	/* being read */
	u32 height;	/* of the table's entries */
	u8 perm;	/* granted so far */
	bool cached;	/* started from a walk cache */
};

/* Where the walk starts. */
static void walk_start(struct mmu_cpu *c, struct walk_state *s)
{
	struct mmu_view *v = c->cur;

	s->table = c->root;
	s->height = c->mmu->nr_levels - 1;
	s->perm = MMU_PERM_ALL;
	s->cached = false;
	if (!v->nr_walk)
		return;
	for (u32 h = 1; h < c->mmu->nr_levels; h++) {
		struct mmu_array *a = &c->array[MMU_WALK(h)];
		struct mmu_entry *e;

		if (!v->live[MMU_WALK(h)])
			continue;
		e = mmu_find(a, mmu_key(c->mmu, s->va, h), v->walk_tag);
		if (!e)
			continue;
		mmu_touch(a, e);
		MARK(mmu_walk_cached);
		s->table = e->pa;
		s->height = h - 1;
		s->perm = e->perm;
		s->cached = true;
		return;
	}
}

static u32 leaf_fault(const struct walk_state *s, const struct mmu_word *w,
		      u8 perm)
{
	if (!w->usable)
		return MMU_FAULT | MACH_FAULT_PRESENT;
	if (!(perm & MMU_PERM_USER) || (s->write && !(perm & MMU_PERM_WRITE)))
		return MMU_FAULT | MACH_FAULT_PRESENT;
	return 0;
}

static bool outside(const struct mmu *mmu, u64 pa, u64 size)
{
	return pa > mmu->memory_bytes || size > mmu->memory_bytes - pa;
}

/*
 * Read and decode the word at pa, and mark it used if the access may pass it.
 * Hardware does both in one atomic step: if the word changed in between, start
 * again with the new one.
 */
static u32 read_word(struct mmu *mmu, const struct walk_state *s, u64 pa,
		     struct mmu_word *w)
{
	u64 *p = (u64 *)(void *)(mmu->phys_base + pa);
	u64 word = __atomic_load_n(p, __ATOMIC_RELAXED);

	for (;;) {
		u32 fault = 0;
		u64 used;

		mmu->arch->decode(mmu, word, s->height, w);
		if (w->kind == MMU_WORD_NONE)
			return MMU_FAULT;
		if (w->kind == MMU_WORD_BAD) {
			MARK(mmu_walk_reserved);
			return MMU_FAULT | MACH_FAULT_PRESENT;
		}
		if (w->kind == MMU_WORD_LEAF)
			fault = leaf_fault(s, w, s->perm & w->perm);
		if (fault)
			return fault;
		used = mmu->arch->mark_used(mmu, word, w, s->write);
		if (used == word ||
		    __atomic_compare_exchange_n(p, &word, used, false,
						__ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			break;
	}
	w->accessed = true;
	if (s->write)
		w->dirty = true;
	return 0;
}

static void fill_leaf(const struct mmu_cpu *c, const struct walk_state *s,
		      const struct mmu_word *word, u64 word_pa,
		      struct mmu_walk *w)
{
	w->leaf = (struct mmu_entry){
		.key = mmu_key(c->mmu, s->va, s->height),
		.pa = word->pa,
		.word_pa = word_pa,
		.height = (u8)s->height,
		.perm = s->perm & word->perm,
		.dirty = word->dirty,
	};
	w->global = word->global;
	w->cacheable = word->usable && word->accessed;
}

static void fill_table(struct mmu_cpu *c, const struct walk_state *s, u64 word_pa)
{
	struct mmu_entry e = {
		.key = mmu_key(c->mmu, s->va, s->height),
		.pa = s->table,
		.word_pa = word_pa,
		.height = (u8)s->height,
		.perm = s->perm,
	};

	mmu_insert(c, MMU_WALK(s->height), c->cur, &e);
}

/*
 * Walk for va in the loaded context. Returns 0, or MMU_FAULT with
 * MACH_FAULT_PRESENT if a valid entry refused. w->cacheable says whether
 * w->leaf may be cached: after a permission fault it may (on arm64; who
 * drops on a fault will drop it).
 */
u32 mmu_walk(struct mmu_cpu *c, u64 va, bool write, struct mmu_walk *w)
{
	struct mmu *mmu = c->mmu;
	struct walk_state s = { .va = va, .write = write };
	struct mmu_word word;
	u32 fault;

	memset(w, 0, sizeof(*w));
	walk_start(c, &s);
	for (;;) {
		u64 pa = s.table + (va >> mmu->shift[s.height] & mmu->index_mask[s.height]) * 8;

		w->levels++;
		if (outside(mmu, pa, 8)) {
			MARK(mmu_walk_outside);
			fault = MMU_FAULT;
			break;
		}
		fault = read_word(mmu, &s, pa, &word);
		if (word.kind == MMU_WORD_LEAF) {
			if (outside(mmu, word.pa, 1ULL << mmu->shift[s.height])) {
				MARK(mmu_walk_outside);
				fault = MMU_FAULT;
				break;
			}
			fill_leaf(c, &s, &word, pa, w);
			break;
		}
		if (fault)
			break;
		s.table = word.pa;
		s.perm &= word.perm;
		fill_table(c, &s, pa);
		s.height--;
	}
	if (fault && s.cached)
		MARK(mmu_fault_cached);
	return fault;
}
