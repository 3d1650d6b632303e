/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pointer chase, evaluated after the fact.
 *
 * Loads are simulated one by one until nothing can change any more; then whole
 * cycles are added up. That this is exact follows from true LRU, where the
 * order in which a structure was last referenced is all of its state. Call a full
 * turn over the chase's pages without any outside change a cycle.
 *
 *   After cycle 1 the L1 TLB is the same at the end of each cycle, since each
 *   cycle references the same pages in the same order. So from cycle 2 on the same
 *   loads miss it, and the L2 TLB is referenced in the same order in
 *   each cycle.
 *   If cycle 2 or a later one has no walk, the L2 has all that it is asked for,
 *   and all further cycles are equal: in cost, and in the state they leave.
 *   With walks, the same argument goes up: the L2 is the same after each cycle
 *   from 2 on, hence the walks are the same from 3 on, the lowest walk cache from
 *   3, its misses from 4, and so on. With L levels of tables there are L - 1
 *   walk caches, so all is constant in cycle L + 2. If only walk caches were
 *   disturbed, the walks are constant at once, and all is in cycle L after that (one
 *   more is asked for, since the first may be the rest of one).
 *
 * With walks it also takes that the tables do not change: a kernel that changes a
 * valid entry invalidates it, so we take them for constant until a record
 * comes that covers any of the chase's pages (mmu_apply()), or this CPU does
 * anything else.
 *
 * It holds wherever in the cycle one stands, so whole cycles can be skipped
 * there and then. A free way changes nothing: it is taken before the oldest, and is
 * gone after the first cycle that needs it.
 */
#include "internal.h"

#define STEADY_HITS	2

struct chase_run {
	struct mmu_cpu *c;
	struct mach_chase *ch;
	struct mmu_chase_state *st;
	u64 t, to;
	u64 user_ps, walk_ps;
};

/* Is this the chase that this CPU was at, and did nothing come between? */
static bool chase_same(const struct chase_run *r, u64 from_ps)
{
	const struct mmu_chase_state *st = r->st;
	const struct mach_chase *ch = r->ch;

	return st->next == ch->next && st->va == ch->va &&
	       st->nr_pages == ch->nr_pages &&
	       st->page_shift == ch->page_shift && st->pos == ch->pos &&
	       st->end_ps == from_ps;
}

static void chase_begin(struct chase_run *r, u64 from_ps)
{
	const struct mach_chase *ch = r->ch;

	*r->st = (struct mmu_chase_state){
		.next = ch->next,
		.va = ch->va,
		.nr_pages = ch->nr_pages,
		.page_shift = ch->page_shift,
		.lo = ch->va,
		.hi = ch->va + ((u64)ch->nr_pages << ch->page_shift) - 1,
		.ops_seen = mmu_ops_at(r->c->mmu, from_ps),
	};
}

/*
 * What broadcasts of other CPUs steal, taken at the start of the interval in
 * which they complete. (This CPU's own complete at its fences: never in a chase.)
 */
static void chase_steal(struct chase_run *r)
{
	const struct mmu *mmu = r->c->mmu;
	u64 ops, taken;

	if (!mmu->snoop_ps)
		return;
	ops = mmu_ops_at(mmu, r->to);
	r->st->debt_ps += (ops - r->st->ops_seen) * mmu->snoop_ps;
	r->st->ops_seen = ops;
	taken = r->st->debt_ps;
	if (taken > r->to - r->t) {
		MARK(mmu_steal_debt);
		taken = r->to - r->t;
	}
	r->st->debt_ps -= taken;
	r->walk_ps += taken;
	r->t += taken;
}

/* Spend what is left of the load in flight, as far as the interval goes. */
static void chase_spend(struct chase_run *r)
{
	struct mmu_chase_state *st = r->st;
	u64 room = r->to - r->t, walk, user;

	walk = st->left_walk_ps < room ? st->left_walk_ps : room;
	user = st->left_user_ps < room - walk ? st->left_user_ps : room - walk;
	st->left_walk_ps -= walk;
	st->left_user_ps -= user;
	r->walk_ps += walk;
	r->user_ps += user;
	r->t += walk + user;
	if (st->left_walk_ps || st->left_user_ps)
		MARK(mmu_chase_carry);
}

static u64 view_next_ps(const struct mmu_view *v)
{
	if (!v || v->seq == v->ctx->seq)
		return ~0ULL;
	return v->ctx->ring[v->seq & (v->ctx->cap - 1)].time_ps;
}

/* When the next record takes effect that this chase may notice. */
static u64 chase_next_ps(const struct chase_run *r)
{
	u64 a = view_next_ps(r->c->cur);
	u64 b = view_next_ps(mmu_view_of(r->c, MMU_CTX_GLOBAL));

	return a < b ? a : b;
}

static void chase_pull(struct chase_run *r)
{
	struct mmu_view *global = mmu_view_of(r->c, MMU_CTX_GLOBAL);

	mmu_pull(r->c, r->c->cur, r->t);
	if (global)
		mmu_pull(r->c, global, r->t);
}

/* Does the record cover anything that translates the chase's pages? */
static bool record_touches(const struct chase_run *r, const struct mmu_record *rec)
{
	u32 heights = r->c->cur->heights;
	u64 mask = 0;

	/* Part of a large page is all of it. */
	if (heights)
		mask = (1ULL << r->c->mmu->shift[31 - __builtin_clz(heights)]) - 1;
	return rec->start <= (r->st->hi | mask) && rec->last >= (r->st->lo & ~mask);
}

/*
 * While all loads hit, records for other pages change nothing for the chase: walk
 * caches are not looked at, and where a load fills L1 the set has only
 * pages of the chase. So apply them ahead of their time, and go on.
 */
static void chase_skip_records(struct chase_run *r)
{
	struct mmu_chase_state *st = r->st;
	struct mmu_view *v = r->c->cur;
	u32 in_cycle = st->in_cycle, cycles = st->cycles;

	while (v->seq < v->ctx->seq) {
		const struct mmu_record *rec =
			&v->ctx->ring[v->seq & (v->ctx->cap - 1)];

		if (rec->time_ps >= r->to || record_touches(r, rec))
			break;
		v->ctx->open = false;
		v->seq++;
		MARK(mmu_chase_skip);
		mmu_apply(r->c, v, rec);
		st->in_cycle = in_cycle;
		st->cycles = cycles;
	}
}

static u64 cycle_user_ps(const struct chase_run *r)
{
	const struct mmu *mmu = r->c->mmu;

	return r->ch->nr_pages * mmu->access_ps +
	       r->st->last.hit_l2 * mmu->tlb_l2_ps;
}

static u64 cycle_walk_ps(const struct chase_run *r)
{
	const struct mmu *mmu = r->c->mmu;

	return r->st->last.walk * mmu->walk_base_ps +
	       r->st->last.walk_level * mmu->walk_level_ps;
}

static void stats_add(struct mmu_stats *s, const struct mmu_stats *cycle, u64 k)
{
	s->hit_l1 += k * cycle->hit_l1;
	s->hit_l2 += k * cycle->hit_l2;
	s->walk += k * cycle->walk;
	s->walk_level += k * cycle->walk_level;
}

/* How many whole cycles fit before anything can change. */
static u64 cycles_that_fit(const struct chase_run *r)
{
	u64 limit = chase_next_ps(r), k, max;

	limit = limit < r->to ? limit : r->to;
	if (limit <= r->t)
		return 0;
	k = (limit - r->t) / (cycle_user_ps(r) + cycle_walk_ps(r));
	if (!r->ch->max_loads)
		return k;
	max = (r->ch->max_loads - r->ch->loads) / r->ch->nr_pages;
	return k < max ? k : max;
}

static void chase_skip_cycles(struct chase_run *r)
{
	struct mmu_chase_state *st = r->st;
	u32 levels = r->c->mmu->nr_levels;
	bool hits = st->cycles >= STEADY_HITS && !st->last.walk;
	u64 k;

	if (!hits && (st->cycles < levels + 2 || st->walk_cycles < levels + 1))
		return;
	/* (One with a limit may end before their time comes.) */
	if (hits && !r->ch->max_loads)
		chase_skip_records(r);
	k = cycles_that_fit(r);
	if (!k)
		return;
	if (hits)
		MARK(mmu_chase_hits);
	else
		MARK(mmu_chase_walks);
	r->user_ps += k * cycle_user_ps(r);
	r->walk_ps += k * cycle_walk_ps(r);
	r->t += k * (cycle_user_ps(r) + cycle_walk_ps(r));
	r->ch->loads += k * r->ch->nr_pages;
	stats_add(&r->c->stats, &st->last, k);
	/* The cycle that we are in the middle of did not count these. */
	stats_add(&st->start, &st->last, k);
}

static void cycle_end(struct chase_run *r)
{
	struct mmu_chase_state *st = r->st;
	const struct mmu_stats *now = &r->c->stats;

	st->last.hit_l1 = now->hit_l1 - st->start.hit_l1;
	st->last.hit_l2 = now->hit_l2 - st->start.hit_l2;
	st->last.walk = now->walk - st->start.walk;
	st->last.walk_level = now->walk_level - st->start.walk_level;
	st->in_cycle = 0;
	st->cycles++;
	st->walk_cycles++;
}

/* The load that was to be next faults. */
static void chase_fault(struct chase_run *r, u64 va, const struct mmu_xlate *x)
{
	r->st->left_fault = x->fault;
	r->st->left_va = va;
	r->st->left_walk_ps = x->walk_ps;
	r->st->in_cycle = r->st->cycles = r->st->walk_cycles = 0;
	chase_spend(r);
}

/* One load; true if it ended a cycle. */
static bool chase_load(struct chase_run *r)
{
	u64 va = r->ch->va + ((u64)r->ch->pos << r->ch->page_shift);
	struct mmu_chase_state *st = r->st;
	struct mmu_cpu *c = r->c;
	struct mmu_xlate x;

	/* A drop in the middle of a cycle starts a new one, too. */
	if (!st->in_cycle)
		st->start = c->stats;
	/* The short way, unless the chase is too big for it to be likely. */
	if (r->ch->nr_pages <= c->array[MMU_L1].n &&
	    r->to - r->t >= c->mmu->access_ps &&
	    mmu_hit_l1(c, va, MMU_PERM_USER)) {
		r->t += c->mmu->access_ps;
		r->user_ps += c->mmu->access_ps;
	} else {
		c->now_ps = r->t;
		mmu_access(c, va, false, &x);
		if (x.fault) {
			chase_fault(r, va, &x);
			return false;
		}
		st->left_walk_ps = x.walk_ps;
		st->left_user_ps = x.user_ps;
		chase_spend(r);
	}
	r->ch->pos = r->ch->next[r->ch->pos];
	r->ch->loads++;
	if (++st->in_cycle < r->ch->nr_pages)
		return false;
	cycle_end(r);
	return true;
}

static bool chase_over(const struct chase_run *r)
{
	return r->st->left_fault || r->t >= r->to ||
	       (r->ch->max_loads && r->ch->loads >= r->ch->max_loads);
}

static void chase_loop(struct chase_run *r)
{
	u64 next_ps = chase_next_ps(r);
	bool try_skip = true;

	chase_spend(r);
	while (!chase_over(r)) {
		if (next_ps <= r->t) {
			chase_pull(r);
			next_ps = chase_next_ps(r);
			try_skip = true;
		}
		if (try_skip && r->c->mmu->closed_form) {
			chase_skip_cycles(r);
			next_ps = chase_next_ps(r);
			try_skip = false;
			continue;
		}
		try_skip = chase_load(r);
	}
}

u64 mmu_chase(struct mmu *mmu, u32 cpu, struct mach_chase *ch, u64 from_ps,
	      u64 to_ps, u64 *user_ps, u64 *walk_ps, u32 *fault, u64 *fault_va)
{
	struct mmu_cpu *c = &mmu->cpu[cpu];
	struct chase_run r = {
		.c = c, .ch = ch, .st = &c->chase, .t = from_ps, .to = to_ps,
	};

	assert(cpu < mmu->nr_cpus && c->cur && from_ps <= to_ps);
	assert(mmu->access_ps && "a chase needs a cost of access");
	assert(ch->pos < ch->nr_pages);
	if (!chase_same(&r, from_ps))
		chase_begin(&r, from_ps);
	c->chasing = true;
	if (r.st->left_fault)
		MARK(mmu_chase_fault_late);
	chase_steal(&r);
	chase_loop(&r);
	chase_pull(&r);	/* so that the log need not keep them */

	*fault = 0;
	if (r.st->left_fault && !r.st->left_walk_ps) {
		*fault = r.st->left_fault;
		*fault_va = r.st->left_va;
		r.st->left_fault = 0;
	}
	r.st->pos = ch->pos;
	r.st->end_ps = r.t;
	*user_ps = r.user_ps;
	*walk_ps = r.walk_ps;
	return r.user_ps + r.walk_ps;
}
