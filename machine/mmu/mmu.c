/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MMUs of a machine: creation, one access, dispatch, queries. */
#include "internal.h"

/* Another architecture: its file, and its line here. */
static const struct mmu_arch *const mmu_archs[] = {
	&mmu_arch_x86,
	&mmu_arch_arm64,
	&mmu_arch_powerpc,
};

static const struct mmu_arch *arch_by_name(const char *name)
{
	for (u32 i = 0; i < sizeof(mmu_archs) / sizeof(mmu_archs[0]); i++)
		if (!strcmp(mmu_archs[i]->name, name))
			return mmu_archs[i];
	assert(!"no MMU for this architecture");
	return NULL;
}

static void cpu_init(struct mmu *mmu, u32 id)
{
	const struct machine_desc *desc = mmu->desc;
	struct mmu_cpu *c = &mmu->cpu[id];

	c->mmu = mmu;
	c->id = id;
	mmu_array_init(&c->array[MMU_L1], desc->l1.sets, desc->l1.ways);
	mmu_array_init(&c->array[MMU_L1_HUGE], desc->l1_huge.sets,
		       desc->l1_huge.ways);
	mmu_array_init(&c->array[MMU_L2], desc->l2.sets, desc->l2.ways);
	for (u32 h = 1; h < MMU_HEIGHTS; h++)
		mmu_array_init(&c->array[MMU_WALK(h)], desc->walk_cache[h] ? 1 : 0,
			       desc->walk_cache[h]);
}

static void geometry_init(struct mmu *mmu)
{
	u32 shift = mmu->page_shift;

	assert(mmu->nr_levels && mmu->nr_levels <= MMU_HEIGHTS);
	for (u32 h = 0; h < mmu->nr_levels; h++) {
		u32 bits = mmu->arch->index_bits ? mmu->arch->index_bits(mmu, h) :
						   mmu->page_shift - 3;

		mmu->shift[h] = shift;
		mmu->index_mask[h] = (1ULL << bits) - 1;
		shift += bits;
	}
}

struct mmu *mmu_create(const struct machine_desc *desc, char *phys_base,
		       u64 seed)
{
	struct mmu *mmu = calloc(1, sizeof(*mmu));

	(void)seed;
	if (!mmu)
		return NULL;
	mmu->desc = desc;
	mmu->arch = arch_by_name(desc->arch);
	mmu->phys_base = phys_base;
	mmu->memory_bytes = desc->memory_bytes;
	mmu->nr_cpus = desc->nr_cpus;
	mmu->page_shift = desc->page_shift;
	mmu->access_ps = desc->hw_cost[HW_ACCESS].ps;
	mmu->tlb_l2_ps = desc->hw_cost[HW_TLB_L2].ps;
	mmu->walk_base_ps = desc->hw_cost[HW_WALK_BASE].ps;
	mmu->walk_level_ps = desc->hw_cost[HW_WALK_LEVEL].ps;
	mmu->snoop_ps = desc->hw_cost[HW_DVM_SNOOP].ps;
	mmu->closed_form = true;
	mmu->arch->init(mmu);
	geometry_init(mmu);
	mmu->cpu = calloc(mmu->nr_cpus, sizeof(*mmu->cpu));
	mmu->ctx = calloc(mmu->nr_ctx + 1, sizeof(*mmu->ctx));
	mmu->used = calloc(mmu->nr_ctx + 1, sizeof(*mmu->used));
	if (!mmu->cpu || !mmu->ctx || !mmu->used) {
		free(mmu->cpu);
		free(mmu->ctx);
		free(mmu->used);
		free(mmu);
		return NULL;
	}
	for (u32 i = 0; i < mmu->nr_cpus; i++)
		cpu_init(mmu, i);
	return mmu;
}

void mmu_destroy(struct mmu *mmu)
{
	if (!mmu)
		return;
	for (u32 i = 0; i < mmu->nr_cpus; i++) {
		struct mmu_view *v, *next;

		for (v = mmu->cpu[i].views; v; v = next) {
			next = v->next;
			free(v);
		}
		for (u32 id = 0; id < MMU_NR_ARRAYS; id++)
			mmu_array_free(&mmu->cpu[i].array[id]);
	}
	for (u32 i = 0; i < mmu->nr_used; i++) {
		free(mmu->ctx[mmu->used[i]]->ring);
		free(mmu->ctx[mmu->used[i]]);
	}
	free(mmu->ctx);
	free(mmu->used);
	free(mmu->cpu);
	free(mmu);
}

/* ---- one access ---- */

/* A hit costs user time; an L2 hit also fills L1. */
static inline struct mmu_entry *tlb_lookup(struct mmu_cpu *c,
					   struct mmu_view *v, u64 va,
					   struct mmu_xlate *x)
{
	struct mmu_entry *e, what;

	for (u32 hs = v->heights; hs; hs &= hs - 1) {
		u32 h = (u32)__builtin_ctz(hs), id = mmu_l1_of(c, h);

		if (!v->live[id])
			continue;
		e = mmu_find(&c->array[id], mmu_key(c->mmu, va, h), v->tag);
		if (!e)
			continue;
		mmu_touch(&c->array[id], e);
		x->user_ps = c->mmu->access_ps;
		c->stats.hit_l1++;
		return e;
	}
	if (!v->live[MMU_L2])
		return NULL;
	for (u32 hs = v->heights; hs; hs &= hs - 1) {
		u32 h = (u32)__builtin_ctz(hs);

		e = mmu_find(&c->array[MMU_L2], mmu_key(c->mmu, va, h), v->tag);
		if (!e)
			continue;
		/* Copied before its links change: a host cannot forward those. */
		what = *e;
		mmu_touch(&c->array[MMU_L2], e);
		x->user_ps = c->mmu->access_ps + c->mmu->tlb_l2_ps;
		c->stats.hit_l2++;
		mmu_insert(c, mmu_l1_of(c, h), v, &what);
		return e;
	}
	return NULL;
}

/* What a page fault drops where it drops anything. */
static void fault_drop(struct mmu_cpu *c, u64 va)
{
	struct mmu_view *global = mmu_view_of(c, MMU_CTX_GLOBAL);

	mmu_drop_tlb(c, c->cur, va, va, -1);
	mmu_drop_walk(c, c->cur, va, va, -1);
	if (global)
		mmu_drop_tlb(c, global, va, va, -1);
}

static void access_fault(struct mmu_cpu *c, u64 va, bool write, u32 fault,
			 struct mmu_xlate *x)
{
	x->fault = fault | MACH_FAULT_USER | (write ? MACH_FAULT_WRITE : 0);
	x->user_ps = 0;
	c->stats.fault++;
	if (c->mmu->arch->fault_drops)
		fault_drop(c, va);
}

static void cache_leaf(struct mmu_cpu *c, const struct mmu_walk *w, bool replace)
{
	struct mmu_view *v = c->cur;

	if (w->global)
		v = mmu_view_get(c, MMU_CTX_GLOBAL, c->now_ps);
	if (replace)
		mmu_drop_key(c, v, w->leaf.key);
	mmu_insert(c, MMU_L2, v, &w->leaf);
	mmu_insert(c, mmu_l1_of(c, w->leaf.height), v, &w->leaf);
}

static void access_done(const struct mmu_cpu *c, const struct mmu_entry *e,
			u64 va, struct mmu_xlate *x)
{
	x->pa = e->pa | (va & ((1ULL << c->mmu->shift[e->height]) - 1));
}

/*
 * Miss, or a write through a clean entry: old, of view v, is then replaced by what
 * the tables say now. If they refuse, old stays, except where faults drop.
 */
static void access_walk(struct mmu_cpu *c, u64 va, bool write,
			struct mmu_view *v, const struct mmu_entry *old,
			struct mmu_xlate *x)
{
	struct mmu_walk w;
	u32 fault = mmu_walk(c, va, write, &w);

	x->walked = true;
	x->walk_ps = c->mmu->walk_base_ps + w.levels * c->mmu->walk_level_ps;
	c->stats.walk++;
	c->stats.walk_level += w.levels;
	if (fault) {
		if (old)
			MARK(mmu_rewalk_gone);
		else if (w.cacheable && !c->mmu->arch->fault_drops)
			cache_leaf(c, &w, false);
		access_fault(c, va, write, fault, x);
		return;
	}
	x->user_ps = c->mmu->access_ps;
	if (old)
		mmu_drop_key(c, v, old->key);
	cache_leaf(c, &w, old);
	access_done(c, &w.leaf, va, x);
}

/*
 * One access in the loaded context, with nothing pending. A cached entry that
 * forbids it faults without a look at the tables: upgrading an entry without
 * an invalidation may cost a spurious fault (x86), or more than one (arm64).
 */
void mmu_access(struct mmu_cpu *c, u64 va, bool write, struct mmu_xlate *x)
{
	struct mmu_view *v = c->cur;
	struct mmu_entry *e = NULL;
	u8 need = MMU_PERM_USER | (write ? MMU_PERM_WRITE : 0);

	memset(x, 0, sizeof(*x));
	if (mmu_unlikely(va >> c->mmu->desc->va_bits)) {
		MARK(mmu_va_outside);
		access_fault(c, va, write, MMU_FAULT, x);
		return;
	}
	if (v->nr_tlb)
		e = tlb_lookup(c, v, va, x);
	if (!e) {
		v = mmu_view_of(c, MMU_CTX_GLOBAL);
		if (v && v->nr_tlb) {
			e = tlb_lookup(c, v, va, x);
			if (e)
				MARK(mmu_global);
		}
	}
	if (!e) {
		access_walk(c, va, write, NULL, NULL, x);
	} else if ((e->perm & need) != need && c->mmu->arch->refetch) {
		access_walk(c, va, write, v, e, x);
	} else if ((e->perm & need) != need) {
		MARK(mmu_perm_cached);
		access_fault(c, va, write, MMU_FAULT | MACH_FAULT_PRESENT, x);
	} else if (write && !e->dirty) {
		MARK(mmu_rewalk_dirty);
		access_walk(c, va, write, v, e, x);
	} else {
		access_done(c, e, va, x);
	}
}

static struct mmu_cpu *cpu_enter(struct mmu *mmu, u32 cpu, u64 now_ps)
{
	struct mmu_cpu *c = &mmu->cpu[cpu];

	assert(cpu < mmu->nr_cpus);
	c->now_ps = now_ps;
	c->chasing = false;
	c->chase.next = NULL;	/* whatever it was, it was interrupted */
	return c;
}

void mmu_translate(struct mmu *mmu, u32 cpu, u64 now_ps, u64 va, bool write,
		   struct mmu_xlate *x)
{
	struct mmu_cpu *c = cpu_enter(mmu, cpu, now_ps);
	struct mmu_view *global = mmu_view_of(c, MMU_CTX_GLOBAL);

	struct mmu_entry *e;

	assert(c->cur && "no root was loaded");
	mmu_pull(c, c->cur, now_ps);
	if (mmu_unlikely(global))
		mmu_pull(c, global, now_ps);
	if (!write) {
		e = mmu_hit_l1(c, va, MMU_PERM_USER);
		if (e) {
			memset(x, 0, sizeof(*x));
			x->user_ps = mmu->access_ps;
			access_done(c, e, va, x);
			return;
		}
	}
	mmu_access(c, va, write, x);
}

void mmu_insn(struct mmu *mmu, u32 cpu, u64 now_ps, u32 insn, u64 a, u64 b,
	      u32 c)
{
	mmu->arch->insn(cpu_enter(mmu, cpu, now_ps), now_ps, insn, a, b, c);
}

void mmu_load_root(struct mmu_cpu *c, u64 root, u32 ctx, u64 now_ps)
{
	struct mmu_view *old = c->cur;

	c->cur = mmu_view_get(c, ctx, now_ps);
	c->root = root;
	if (old && old != c->cur)
		mmu_view_release(c, old);
}

/* ---- queries ---- */

void mmu_stats(const struct mmu *mmu, u32 cpu, struct mmu_stats *stats)
{
	*stats = mmu->cpu[cpu].stats;
}

u64 mmu_broadcast_ops(const struct mmu *mmu)
{
	return mmu->nr_ops;
}

u64 mmu_broadcast_records(const struct mmu *mmu)
{
	return mmu->nr_records;
}

static struct mmu_view *view_query(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx)
{
	struct mmu_cpu *c = &mmu->cpu[cpu];
	struct mmu_view *v;

	assert(ctx == MMU_CTX_GLOBAL || ctx < mmu->nr_ctx);
	v = mmu_view_of(c, ctx);
	if (v)
		mmu_pull(c, v, now_ps);
	return v;
}

u32 mmu_live(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx)
{
	struct mmu_view *v = view_query(mmu, cpu, now_ps, ctx);

	return v ? v->nr_tlb : 0;
}

u32 mmu_live_walk(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx)
{
	struct mmu_view *v = view_query(mmu, cpu, now_ps, ctx);

	return v ? v->nr_walk : 0;
}

bool mmu_holds(const struct mmu *mmu, u32 cpu, u32 ctx)
{
	return mmu_view_of(&mmu->cpu[cpu], ctx);
}

bool mmu_cached(struct mmu *mmu, u32 cpu, u64 now_ps, u32 ctx, u64 va, u64 *pa)
{
	struct mmu_view *v = view_query(mmu, cpu, now_ps, ctx);
	struct mmu_cpu *c = &mmu->cpu[cpu];

	for (u32 h = 0; v && h < mmu->nr_levels; h++) {
		for (u32 id = 0; id < MMU_NR_TLBS; id++) {
			struct mmu_entry *e;

			if (!v->live[id])
				continue;
			e = mmu_find(&c->array[id], mmu_key(mmu, va, h), v->tag);
			if (!e)
				continue;
			*pa = e->pa | (va & ((1ULL << mmu->shift[h]) - 1));
			return true;
		}
	}
	return false;
}

static u64 fnv(u64 hash, u64 x)
{
	for (u32 i = 0; i < 64; i += 8)
		hash = (hash ^ (x >> i & 0xff)) * 0x100000001b3ULL;
	return hash;
}

u64 mmu_digest(struct mmu *mmu, u32 cpu)
{
	struct mmu_cpu *c = &mmu->cpu[cpu];
	u64 hash = 0xcbf29ce484222325ULL;

	for (u32 id = 0; id < MMU_NR_ARRAYS; id++) {
		struct mmu_array *a = &c->array[id];

		for (u32 s = 0; a->e && s < a->sets; s++) {
			u32 i = a->set[s].lru;

			hash = fnv(hash, (u64)id << 32 | s);
			for (; i != MMU_NIL; i = a->e[i].newer) {
				const struct mmu_entry *e = &a->e[i];

				if (!mmu_entry_alive(c, e))
					continue;
				hash = fnv(hash, e->key);
				hash = fnv(hash, e->ctx);
				hash = fnv(hash, e->pa | e->dirty);
			}
		}
	}
	return hash;
}

void mmu_set_closed_form(struct mmu *mmu, bool on)
{
	mmu->closed_form = on;
}
