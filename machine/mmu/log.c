/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts, their logs of broadcast invalidations, and how CPUs catch up.
 *
 * A record concerns a CPU only if the CPU can hold the context: it has a view of
 * it. Each view says which record it needs next. The log is a ring; when it
 * is full, the CPUs that lag behind are brought up to date:
 *
 *   A CPU that is not in a chase makes no access before its next call here, and
 *   would then apply the same records in the same order: applying them now
 *   changes nothing that can be seen.
 *
 *   A CPU in a chase has accesses between the records that it has yet to
 *   evaluate. It is spared until LOG_MAX records are pending, and then applies
 *   them too early: it forgets refills that would have been dropped again.
 */
#include "internal.h"

#define LOG_MIN		32
#define LOG_SOFT	256	/* grow beyond it only for CPUs in a chase */
#define LOG_MAX		16384

static u32 ctx_index(const struct mmu *mmu, u32 ctx)
{
	return ctx == MMU_CTX_GLOBAL ? mmu->nr_ctx : ctx;
}

static struct mmu_ctx *ctx_get(struct mmu *mmu, u32 id)
{
	u32 i = ctx_index(mmu, id);
	struct mmu_ctx *ctx;

	assert(i <= mmu->nr_ctx);
	if (mmu->ctx[i])
		return mmu->ctx[i];
	ctx = calloc(1, sizeof(*ctx) + mmu->nr_cpus * sizeof(ctx->view[0]));
	assert(ctx && "out of memory");
	ctx->id = id;
	mmu->ctx[i] = ctx;
	mmu->used[mmu->nr_used++] = i;
	return ctx;
}

/* ---- views ---- */

struct mmu_view *mmu_view_of(const struct mmu_cpu *c, u32 ctx)
{
	const struct mmu_ctx *x = c->mmu->ctx[ctx_index(c->mmu, ctx)];

	return x ? x->view[c->id] : NULL;
}

/* c may hold entries of the context from now_ps on. */
struct mmu_view *mmu_view_get(struct mmu_cpu *c, u32 id, u64 now_ps)
{
	struct mmu_ctx *ctx = ctx_get(c->mmu, id);
	struct mmu_view *v = ctx->view[c->id];

	if (v)
		return v;
	v = calloc(1, sizeof(*v));
	assert(v && "out of memory");
	assert(c->next_tag < ~0u - 1);
	v->ctx = ctx;
	v->lo = ~0ULL;
	v->tag = ++c->next_tag;
	v->walk_tag = ++c->next_tag;
	/* The newest record must not grow: it is not for what v fills next. */
	ctx->open = false;
	/* Records that are later than now_ps are still to come for it. */
	if (!ctx->nr_views)
		ctx->oldest = ctx->seq;
	v->seq = ctx->seq;
	while (v->seq > ctx->oldest &&
	       ctx->ring[(v->seq - 1) & (ctx->cap - 1)].time_ps > now_ps)
		v->seq--;
	v->next = c->views;
	c->views = v;
	ctx->view[c->id] = v;
	ctx->nr_views++;
	return v;
}

/*
 * Forget a view that holds nothing and is not loaded. Global entries may be
 * filled whatever is loaded, so their view stays once it was needed: a chase
 * may yet fill one at a time before a record that is logged by now.
 */
void mmu_view_release(struct mmu_cpu *c, struct mmu_view *v)
{
	struct mmu_view **p = &c->views;

	if (v == c->cur || v->nr_tlb || v->nr_walk || v->ctx->id == MMU_CTX_GLOBAL)
		return;
	MARK(mmu_view_release);
	while (*p != v)
		p = &(*p)->next;
	*p = v->next;
	v->ctx->view[c->id] = NULL;
	v->ctx->nr_views--;
	free(v);
}

/* ---- applying ---- */

void mmu_apply(struct mmu_cpu *c, struct mmu_view *v,
	       const struct mmu_record *rec)
{
	/* For all we know, tables of the chase's pages have changed. */
	if (rec->start <= c->chase.hi && rec->last >= c->chase.lo)
		c->chase.walk_cycles = 0;
	if (rec->start == 0 && rec->last == ~0ULL && rec->ttl < 0 &&
	    !rec->leaf_only) {
		mmu_drop_all(c, v);
		return;
	}
	mmu_drop_tlb(c, v, rec->start, rec->last, rec->ttl);
	if (v->nr_walk && rec->walk_all)
		mmu_drop_walk_all(c, v);
	else if (v->nr_walk && !rec->leaf_only)
		mmu_drop_walk(c, v, rec->start, rec->last, rec->ttl);
}

void mmu_pull_slow(struct mmu_cpu *c, struct mmu_view *v, u64 now_ps)
{
	struct mmu_ctx *ctx = v->ctx;
	u32 mask = ctx->cap - 1;

	ctx->open = false;
	if (!v->nr_tlb && !v->nr_walk &&
	    ctx->ring[(ctx->seq - 1) & mask].time_ps <= now_ps) {
		v->seq = ctx->seq;
		return;
	}
	while (v->seq < ctx->seq) {
		const struct mmu_record *rec = &ctx->ring[v->seq & mask];

		if (rec->time_ps > now_ps)
			break;
		v->seq++;
		/* Most records are for what other CPUs hold. */
		if ((rec->start <= v->hi && rec->last >= v->lo) ||
		    (v->nr_walk && !rec->leaf_only))
			mmu_apply(c, v, rec);
	}
}

/* A local invalidation: as the broadcast one, on this CPU only. */
void mmu_apply_local(struct mmu_cpu *c, u64 now_ps, const struct mmu_op *op)
{
	struct mmu_view *v, *next;

	for (v = c->views; v; v = next) {
		bool global = v->ctx->id == MMU_CTX_GLOBAL;

		next = v->next;
		if (global ? !op->global : !op->all_ctx && v->ctx->id != op->ctx)
			continue;
		mmu_pull(c, v, now_ps);
		mmu_apply(c, v, &op->rec);
		mmu_view_release(c, v);
	}
}

/* ---- the log ---- */

static void log_grow(struct mmu_ctx *ctx)
{
	u32 cap = ctx->cap ? ctx->cap * 2 : LOG_MIN;
	struct mmu_record *ring = malloc(cap * sizeof(*ring));

	assert(ring && "out of memory");
	if (ctx->cap)
		MARK(mmu_log_grow);
	for (u64 s = ctx->oldest; s < ctx->seq; s++)
		ring[s & (cap - 1)] = ctx->ring[s & (ctx->cap - 1)];
	free(ctx->ring);
	ctx->ring = ring;
	ctx->cap = cap;
}

static void log_find_oldest(const struct mmu *mmu, struct mmu_ctx *ctx)
{
	u64 oldest = ctx->seq;

	for (u32 cpu = 0; cpu < mmu->nr_cpus; cpu++)
		if (ctx->view[cpu] && ctx->view[cpu]->seq < oldest)
			oldest = ctx->view[cpu]->seq;
	ctx->oldest = oldest;
}

static void log_force(struct mmu *mmu, struct mmu_ctx *ctx, bool chasing)
{
	for (u32 i = 0; i < mmu->nr_cpus; i++) {
		struct mmu_cpu *c = &mmu->cpu[i];
		struct mmu_view *v = ctx->view[i];

		if (!v || v->seq == ctx->seq || (!chasing && c->chasing))
			continue;
		if (c->chasing)
			MARK(mmu_log_forced_chase);
		else
			MARK(mmu_log_forced);
		mmu_pull_slow(c, v, ~0ULL);
		mmu_view_release(c, v);
	}
	log_find_oldest(mmu, ctx);
}

/* At least one free place; amortized O(1) as half of the ring is freed. */
static void log_make_room(struct mmu *mmu, struct mmu_ctx *ctx)
{
	log_find_oldest(mmu, ctx);
	if (ctx->cap >= LOG_SOFT && ctx->seq - ctx->oldest > ctx->cap / 2)
		log_force(mmu, ctx, false);
	if (ctx->seq - ctx->oldest <= ctx->cap / 2)
		return;
	if (ctx->cap < LOG_MAX)
		log_grow(ctx);
	else
		log_force(mmu, ctx, true);
}

static bool log_append(struct mmu *mmu, struct mmu_ctx *ctx,
		       const struct mmu_record *rec)
{
	if (!ctx || !ctx->nr_views)
		return false;
	if (ctx->seq - ctx->oldest == ctx->cap) {
		if (ctx->cap)
			log_make_room(mmu, ctx);
		else
			log_grow(ctx);
		/* Forcing may have found that nobody holds it any more. */
		if (!ctx->nr_views)
			return false;
	}
	ctx->ring[ctx->seq++ & (ctx->cap - 1)] = *rec;
	ctx->open = true;
	mmu->nr_records++;
	return true;
}

/* ---- broadcasts ---- */

static void history_add(struct mmu *mmu, u64 now_ps)
{
	struct mmu_history *h;

	if (mmu->nr_history) {
		h = &mmu->history[(mmu->nr_history - 1) % MMU_HISTORY];
		if (h->time_ps == now_ps) {
			h->ops = mmu->nr_ops;
			return;
		}
	}
	h = &mmu->history[mmu->nr_history++ % MMU_HISTORY];
	h->time_ps = now_ps;
	h->ops = mmu->nr_ops;
}

/*
 * How many broadcasts had completed at time_ps. Exact for the last MMU_HISTORY
 * times at which one did; before those, the number at the oldest of them.
 */
u64 mmu_ops_at(const struct mmu *mmu, u64 time_ps)
{
	u64 n = mmu->nr_history;
	u64 low = n > MMU_HISTORY ? n - MMU_HISTORY : 0;
	u64 high = n; /* the answer is the newest in [low, high) */

	while (low < high) {
		u64 mid = low + (high - low) / 2;

		if (mmu->history[mid % MMU_HISTORY].time_ps <= time_ps)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return 0;
	if (n > MMU_HISTORY && low == n - MMU_HISTORY)
		low++;
	return mmu->history[(low - 1) % MMU_HISTORY].ops;
}

static void broadcast_all(struct mmu *mmu, const struct mmu_op *op)
{
	for (u32 i = 0; i < mmu->nr_used; i++) {
		struct mmu_ctx *ctx = mmu->ctx[mmu->used[i]];

		if (ctx->id != MMU_CTX_GLOBAL || op->global)
			log_append(mmu, ctx, &op->rec);
	}
}

/* Append op where it belongs; returns the context whose log it alone went to. */
static struct mmu_ctx *broadcast_append(struct mmu *mmu, const struct mmu_op *op)
{
	struct mmu_ctx *ctx = mmu->ctx[op->ctx], *global = mmu->ctx[mmu->nr_ctx];
	bool ok;

	if (op->none) {
		MARK(mmu_op_void);
		return NULL;
	}
	if (op->all_ctx) {
		broadcast_all(mmu, op);
		return NULL;
	}
	ok = log_append(mmu, ctx, &op->rec);
	if (op->global && log_append(mmu, global, &op->rec))
		return NULL;
	return ok ? ctx : NULL;
}

static __attribute__((noinline)) void broadcast_new(struct mmu *mmu, u64 now_ps,
						    u32 from, u32 insn, u64 a,
						    u64 b, u32 c, u32 n)
{
	struct mmu_merge *merge = &mmu->merge[a >> 48 & 1];
	u64 step = mmu->arch->next_page(mmu, insn);
	bool ok;
	struct mmu_op op;

	ok = mmu->arch->broadcast(mmu, insn, a, b, c, &op);
	assert(ok && "not a broadcast instruction of this architecture");
	assert(n == 1 || step);
	op.rec.time_ps = now_ps;
	op.rec.last += (u64)(n - 1) << mmu->page_shift;
	merge->ctx = broadcast_append(mmu, &op);
	if (!merge->ctx || !step) {
		merge->ctx = NULL;
		return;
	}
	merge->seq = merge->ctx->seq;
	merge->time_ps = now_ps;
	merge->next_a = a + n * step;
	merge->step = step;
	merge->insn = insn;
	merge->from = from;
}

/*
 * Is it the next page after the newest record of its context, at the same time
 * and by the same CPU? Then the record grows: 256 pages of a munmap are one.
 */
void mmu_broadcast_run(struct mmu *mmu, u64 now_ps, u32 from_cpu, u32 insn,
		       u64 a, u64 b, u32 c, u32 n)
{
	struct mmu_merge *merge = &mmu->merge[a >> 48 & 1];
	struct mmu_ctx *ctx = merge->ctx;

	assert(now_ps >= mmu->last_broadcast_ps && n);
	mmu->last_broadcast_ps = now_ps;
	mmu->nr_ops += n;
	if (mmu->snoop_ps)
		history_add(mmu, now_ps);
	if (!ctx || merge->next_a != a || merge->time_ps != now_ps ||
	    merge->insn != insn || merge->from != from_cpu || !ctx->open ||
	    ctx->seq != merge->seq) {
		broadcast_new(mmu, now_ps, from_cpu, insn, a, b, c, n);
		return;
	}
	MARK(mmu_coalesced);
	ctx->ring[(ctx->seq - 1) & (ctx->cap - 1)].last += (u64)n << mmu->page_shift;
	merge->next_a += n * merge->step;
}

void mmu_broadcast(struct mmu *mmu, u64 now_ps, u32 from_cpu, u32 insn, u64 a,
		   u64 b, u32 c)
{
	mmu_broadcast_run(mmu, now_ps, from_cpu, insn, a, b, c, 1);
}
