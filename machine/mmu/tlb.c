/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Associative arrays (TLBs and walk caches) and what a CPU holds of a context.
 *
 * An array is found by hash and keeps each set in order of use, so that look-up,
 * fill and drop are O(1) at any associativity. A dropped entry goes to the old
 * end of its set, where the next fill takes it. An entry that died with its
 * context stays where it is; a fill looks for one only while the array is known
 * to have some.
 */
#include "internal.h"

bool mmu_feature(const struct machine_desc *desc, const char *name)
{
	for (u32 i = 0; i < desc->nr_features; i++)
		if (!strcmp(desc->feature[i].name, name))
			return !strcmp(desc->feature[i].value, "on");
	return false;
}

u32 mmu_feature_number(const struct machine_desc *desc, const char *name, u32 def)
{
	for (u32 i = 0; i < desc->nr_features; i++)
		if (!strcmp(desc->feature[i].name, name))
			return (u32)strtoul(desc->feature[i].value, NULL, 10);
	return def;
}

void mmu_array_init(struct mmu_array *a, u32 sets, u32 ways)
{
	memset(a, 0, sizeof(*a));
	a->sets = sets;
	a->ways = ways;
	a->n = sets * ways;
	a->nr_idle = a->n;
	a->pow2 = !(sets & (sets - 1));
}

void mmu_array_free(struct mmu_array *a)
{
	free(a->e);
	free(a->bucket);
	free(a->set);
}

/* Most CPUs of a big machine never run: memory only for those that do. */
static void array_alloc(struct mmu_array *a)
{
	u32 log2 = 3;

	while ((1u << log2) < a->n)
		log2++;
	log2 += 2;	/* short chains: the host predicts their end */
	a->hash_shift = 64 - log2;
	a->e = aligned_alloc(64, a->n * sizeof(*a->e));
	a->bucket = calloc(1u << log2, sizeof(*a->bucket));
	a->set = calloc(a->sets, sizeof(*a->set));
	assert(a->e && a->bucket && a->set && "out of memory");
	memset(a->e, 0, a->n * sizeof(*a->e));
	for (u32 i = 0; i < a->n; i++) {
		u32 way = i % a->ways;

		a->e[i].set = i / a->ways;
		a->e[i].older = way ? i - 1 : MMU_NIL;
		a->e[i].newer = way + 1 < a->ways ? i + 1 : MMU_NIL;
	}
	for (u32 s = 0; s < a->sets; s++) {
		a->set[s].lru = s * a->ways;
		a->set[s].mru = s * a->ways + a->ways - 1;
	}
}

/* Make e the least recently used of its set. */
static void array_demote(struct mmu_array *a, struct mmu_entry *e)
{
	u32 i = (u32)(e - a->e);
	struct mmu_set *s = &a->set[e->set];

	if (e->older == MMU_NIL)
		return;
	a->e[e->older].newer = e->newer;
	if (e->newer != MMU_NIL)
		a->e[e->newer].older = e->older;
	else
		s->mru = e->older;
	e->older = MMU_NIL;
	e->newer = s->lru;
	a->e[s->lru].older = i;
	s->lru = i;
}

static void array_unhash(struct mmu_array *a, struct mmu_entry *e)
{
	u32 i = (u32)(e - a->e);
	u32 *p = &a->bucket[mmu_hash(a, e->key, e->tag)];

	while (*p != i + 1)
		p = &a->e[*p - 1].chain;
	*p = e->chain;
}

static bool entry_is_walk(u32 id)
{
	return id >= MMU_NR_TLBS;
}

bool mmu_entry_alive(const struct mmu_cpu *c, const struct mmu_entry *e)
{
	const struct mmu_view *v;

	if (!e->tag)
		return false;
	v = mmu_view_of(c, e->ctx);
	return v && (e->tag == v->tag || e->tag == v->walk_tag);
}

/* ---- what a view counts ---- */

static void view_add(u32 id, struct mmu_view *v)
{
	v->live[id]++;
	if (entry_is_walk(id))
		v->nr_walk++;
	else
		v->nr_tlb++;
}

static void view_widen_box(const struct mmu_cpu *c, struct mmu_view *v,
			   const struct mmu_entry *e)
{
	u64 first = mmu_entry_va(c->mmu, e), last = mmu_entry_last(c->mmu, e);

	v->heights |= 1u << e->height;
	if (first < v->lo)
		v->lo = first;
	if (last > v->hi)
		v->hi = last;
}

static void view_empty_box(struct mmu_view *v)
{
	v->lo = ~0ULL;
	v->hi = 0;
	v->heights = 0;
}

static void view_sub(u32 id, struct mmu_view *v)
{
	assert(v->live[id]);
	v->live[id]--;
	if (entry_is_walk(id))
		v->nr_walk--;
	else if (!--v->nr_tlb)
		view_empty_box(v);
}

/* ---- fill ---- */

static struct mmu_entry *array_victim(const struct mmu_cpu *c,
				      struct mmu_array *a, u32 set, u32 tag)
{
	u32 lru = a->set[set].lru, mru = a->set[set].mru, tries = 4;

	if (!a->nr_idle)
		return &a->e[lru];
	/* Which of the dead is all the same: one that the host's caches have. */
	for (u32 i = mru; tries-- && i != MMU_NIL; i = a->e[i].older)
		if (a->e[i].tag != tag && !mmu_entry_alive(c, &a->e[i]))
			return &a->e[i];
	for (u32 i = lru; i != MMU_NIL; i = a->e[i].newer)
		if (a->e[i].tag != tag && !mmu_entry_alive(c, &a->e[i]))
			return &a->e[i];
	return &a->e[lru];
}

/* The victim goes from its view, if it has one, to that which fills. */
static void array_evict(struct mmu_cpu *c, u32 id, struct mmu_entry *e,
			struct mmu_view *filling, u32 tag)
{
	struct mmu_array *a = &c->array[id];
	struct mmu_view *v;

	if (e->tag)
		array_unhash(a, e);
	if (e->tag == tag)
		return;
	if (!mmu_entry_alive(c, e)) {
		a->nr_idle--;
	} else {
		MARK(mmu_evict_other);
		v = mmu_view_of(c, e->ctx);
		view_sub(id, v);
		mmu_view_release(c, v);
	}
	view_add(id, filling);
}

/*
 * Enter what (key, pa, word_pa, height, perm, dirty) for view v. The key must not
 * be there yet. Returns NULL if the array is absent.
 */
struct mmu_entry *mmu_insert(struct mmu_cpu *c, u32 id, struct mmu_view *v,
			     const struct mmu_entry *what)
{
	struct mmu_array *a = &c->array[id];
	u32 tag = entry_is_walk(id) ? v->walk_tag : v->tag;
	struct mmu_entry *e;
	u32 *bucket, set;

	if (!a->n)
		return NULL;
	if (mmu_unlikely(!a->e))
		array_alloc(a);
	set = (u32)(a->pow2 ? what->key >> 3 & (a->sets - 1) :
			      (what->key >> 3) % a->sets);
	e = array_victim(c, a, set, tag);
	array_evict(c, id, e, v, tag);
	e->key = what->key;
	e->tag = tag;
	e->ctx = v->ctx->id;
	e->pa = what->pa;
	e->word_pa = what->word_pa;
	e->height = what->height;
	e->perm = what->perm;
	e->dirty = what->dirty;
	bucket = &a->bucket[mmu_hash(a, e->key, tag)];
	e->chain = *bucket;
	*bucket = (u32)(e - a->e) + 1;
	mmu_touch(a, e);
	if (!entry_is_walk(id))
		view_widen_box(c, v, e);
	return e;
}

/* ---- drop ---- */

static void entry_drop(struct mmu_cpu *c, u32 id, struct mmu_view *v,
		       struct mmu_entry *e)
{
	struct mmu_array *a = &c->array[id];

	array_unhash(a, e);
	e->tag = 0;
	array_demote(a, e);
	a->nr_idle++;
	view_sub(id, v);
	c->stats.drop++;
	c->chase.walk_cycles = 0;
	if (!entry_is_walk(id))
		c->chase.in_cycle = c->chase.cycles = 0;
}

/* Drop the entry of one page from one TLB. */
void mmu_drop_in(struct mmu_cpu *c, u32 id, struct mmu_view *v, u64 key)
{
	struct mmu_entry *e;

	if (!v->live[id])
		return;
	e = mmu_find(&c->array[id], key, v->tag);
	if (e)
		entry_drop(c, id, v, e);
}

/* Drop the TLB entries of one page. */
void mmu_drop_key(struct mmu_cpu *c, struct mmu_view *v, u64 key)
{
	for (u32 id = 0; id < MMU_NR_TLBS; id++)
		mmu_drop_in(c, id, v, key);
}

static bool ttl_spares(int ttl, u32 height)
{
	if (ttl < 0 || (u32)ttl == height)
		return false;
	MARK(mmu_ttl_other);
	return true;
}

static void drop_probe(struct mmu_cpu *c, struct mmu_view *v, u64 start,
		       u64 last, int ttl)
{
	MARK(mmu_drop_probe);
	for (u32 h = 0; h < c->mmu->nr_levels; h++) {
		if (!(v->heights & 1u << h) || ttl_spares(ttl, h))
			continue;
		for (u64 n = start >> c->mmu->shift[h];
		     n <= last >> c->mmu->shift[h] && v->nr_tlb; n++)
			mmu_drop_key(c, v, n << 3 | h);
	}
}

/* Visits every entry, so it can also draw the box anew. */
static void drop_scan(struct mmu_cpu *c, struct mmu_view *v, u64 start,
		      u64 last, int ttl)
{
	u64 lo = ~0ULL, hi = 0;
	u32 heights = 0;

	MARK(mmu_drop_scan);
	for (u32 id = 0; id < MMU_NR_TLBS; id++) {
		struct mmu_array *a = &c->array[id];

		for (u32 i = 0; i < a->n && v->live[id]; i++) {
			struct mmu_entry *e = &a->e[i];
			u64 first = mmu_entry_va(c->mmu, e);
			u64 end = mmu_entry_last(c->mmu, e);

			if (e->tag != v->tag)
				continue;
			if (first <= last && end >= start &&
			    !ttl_spares(ttl, e->height)) {
				entry_drop(c, id, v, e);
				continue;
			}
			lo = first < lo ? first : lo;
			hi = end > hi ? end : hi;
			heights |= 1u << e->height;
		}
	}
	if (v->nr_tlb) {
		v->lo = lo;
		v->hi = hi;
		v->heights = heights;
	}
}

/*
 * Drop TLB entries that map anything of [start, last]; with a level hint only
 * those of that height.
 */
void mmu_drop_tlb(struct mmu_cpu *c, struct mmu_view *v, u64 start, u64 last,
		  int ttl)
{
	u64 probes = 0, visits = 0;
	u32 arrays = 0;

	if (!v->nr_tlb || start > v->hi || last < v->lo)
		return;
	start = start < v->lo ? v->lo : start;
	last = last > v->hi ? v->hi : last;
	for (u32 id = 0; id < MMU_NR_TLBS; id++) {
		arrays += !!v->live[id];
		visits += v->live[id] ? c->array[id].n : 0;
	}
	for (u32 h = 0; h < c->mmu->nr_levels; h++)
		if (v->heights & 1u << h)
			probes += (last >> c->mmu->shift[h]) -
				  (start >> c->mmu->shift[h]) + 1;
	/* A probe costs about twice a visit. */
	if (probes * arrays * 2 <= visits)
		drop_probe(c, v, start, last, ttl);
	else
		drop_scan(c, v, start, last, ttl);
}

/*
 * Drop walk-cache entries for any of [start, last]. A level hint says where the
 * leaf is, so only tables above it are on the path.
 */
void mmu_drop_walk(struct mmu_cpu *c, struct mmu_view *v, u64 start, u64 last,
		   int ttl)
{
	for (u32 h = 1; h < c->mmu->nr_levels; h++) {
		struct mmu_array *a = &c->array[MMU_WALK(h)];

		if (ttl >= (int)h)
			continue;
		for (u32 i = 0; i < a->n && v->live[MMU_WALK(h)]; i++) {
			struct mmu_entry *e = &a->e[i];

			if (e->tag == v->walk_tag &&
			    mmu_entry_va(c->mmu, e) <= last &&
			    mmu_entry_last(c->mmu, e) >= start)
				entry_drop(c, MMU_WALK(h), v, e);
		}
	}
}

static u32 new_tag(struct mmu_cpu *c)
{
	assert(c->next_tag != ~0u);
	return ++c->next_tag;
}

void mmu_drop_walk_all(struct mmu_cpu *c, struct mmu_view *v)
{
	if (!v->nr_walk)
		return;
	for (u32 id = MMU_NR_TLBS; id < MMU_NR_ARRAYS; id++) {
		c->array[id].nr_idle += v->live[id];
		v->live[id] = 0;
	}
	v->nr_walk = 0;
	v->walk_tag = new_tag(c);
	c->chase.walk_cycles = 0;
}

/* Drop all that c holds of v's context: O(1), see the head of internal.h. */
void mmu_drop_all(struct mmu_cpu *c, struct mmu_view *v)
{
	mmu_drop_walk_all(c, v);
	if (!v->nr_tlb)
		return;
	for (u32 id = 0; id < MMU_NR_TLBS; id++) {
		c->array[id].nr_idle += v->live[id];
		v->live[id] = 0;
	}
	v->nr_tlb = 0;
	v->tag = new_tag(c);
	view_empty_box(v);
	c->stats.drop_all++;
	c->chase.in_cycle = c->chase.cycles = 0;
	c->chase.walk_cycles = 0;
}
