/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weak memory of arm64 and POWER: views. Rules and names are those of
 * reference/arm64-mmu-model.md; this file has its memory part, mmu_arm64.c its
 * walks. A view is a timestamp; everything up to it has been seen.
 *
 * The model tracks, by register, what an address, a value or a branch was made from.
 * Litmus tests have registers, and come in by access.c with such views. C
 * code shows us no registers, and comes in by the functions that take an order, so:
 *	address: a load that returned a pointer into an object of the heap, or an entry that
 *		leads to a frame, orders later loads of that object or frame after it
 *		(dep[], by hash: a collision orders more than it should);
 *	branch: kernel code branches on all that it loads: every load of a shared word is
 *		in vCtrl (it orders later stores anyway, ISB and TLBI by vCtrl);
 *	value: not needed, for no store is visible before an earlier load.
 * A failed cmpxchg reads the newest message, too.
 * RCU callbacks have views of their own (sync.c), in which each load is an acquire: so
 * they need no coherence by word, which is their thread's.
 *
 * Left out: load buffering, stores that are not multi-copy atomic (POWER).
 */
#include "world.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

static void up(u32 *view, u32 v)
{
	if (v > *view)
		*view = v;
}

/* ---- address dependencies ---- */

/* The object or frame that an arena offset lies in, as a slot of dep[]. */
static u32 dep_slot(const struct xworld *w, u32 off)
{
	u32 frame = xframe_of(w, off), obj;

	if (frame)
		return (frame * 2 + 1) % XDEPS;
	if (off < XHEAP_AT || off >= XFRAMES_AT)
		return XDEPS;
	obj = w->heap_obj[(off - XHEAP_AT) >> 6];
	return (obj * 2) % XDEPS;
}

static u32 dep_view(const struct xworld *w, u32 cpu, u32 off)
{
	u32 slot = dep_slot(w, off);

	return slot < XDEPS ? w->a->cpu[cpu].v.dep[slot] : 0;
}

/* cpu has loaded val from off with post-view view. */
static void dep_note(struct xworld *w, u32 cpu, u32 off, u64 val, u32 view)
{
	u32 frame = xframe_of(w, off), slot = XDEPS;
	struct xpte p;

	if (val - w->base < XARENA_SIZE) {
		slot = dep_slot(w, (u32)(val - w->base));
	} else if (frame && w->a->frame[frame].table) {
		w->mmu->decode(w, val, 1, &p);
		if (p.kind != XPTE_NONE && p.pa < w->memory_bytes)
			slot = dep_slot(w, XFRAMES_AT + (u32)p.pa);
	}
	if (slot < XDEPS)
		up(&w->a->cpu[cpu].v.dep[slot], view);
}

/* ---- loads ---- */

static bool in_callback(const struct xworld *w, u32 cpu)
{
	return w->a->cpu[cpu].views;
}

/* Messages of word that a load with pre may read, newest first; returns how many. */
static u32 readable(const struct xworld *w, u32 cpu, const struct xword *word, u32 pre,
		    u16 msg[XMAX_READABLE])
{
	u32 floor = MAX(pre, in_callback(w, cpu) ? word->fwd_ts[cpu] : word->coh[cpu]), n = 0;

	for (u16 i = word->last; i != XNIL; i = w->a->msg[i].prev) {
		if (n < XMAX_READABLE)
			msg[n++] = i;
		if (w->a->msg[i].ts <= floor)
			break;
	}
	return n;
}

/* Of reading message ts with pre: the post-view. */
static u32 post_view(const struct xworld *w, const struct xword *word, u32 cpu, u32 pre,
		     u32 ts, bool acquire)
{
	bool own = ts && word->fwd_ts[cpu] == ts && xlaw(w, XLAW_FORWARD) &&
		   !in_callback(w, cpu);

	/* From the store buffer; an acquire does not take an atomic's write from there. */
	if (own && !(acquire && word->fwd_rmw >> cpu & 1))
		return MAX(pre, word->fwd_view[cpu]);
	return MAX(pre, ts);
}

static void loaded(struct xworld *w, u32 cpu, struct xword *word, u32 ts, u32 post,
		   bool acquire, bool no_result)
{
	struct xviews *v = &w->a->cpu[cpu].v;

	if (!no_result)
		up(&v->r, post);
	if (word && !in_callback(w, cpu))
		up(&word->coh[cpu], MAX(post, ts));
	if (acquire || in_callback(w, cpu)) {
		up(&v->b_read, post);
		if (xlaw(w, XLAW_ACQUIRE_FAULT))
			up(&v->b_fault, post);
	}
}

u32 xweak_pre(const struct xworld *w, u32 cpu, u32 view, bool acquire)
{
	const struct xviews *v = &w->a->cpu[cpu].v;
	u32 pre = MAX(v->b_read, view);

	if (acquire && xlaw(w, XLAW_RELEASE_ACQUIRE))
		pre = MAX(pre, v->rel);
	return pre;
}

u32 xweak_forwarded(struct xworld *w, u32 cpu, const struct xstore *st, u32 pre, bool acquire)
{
	u32 post = MAX(pre, st->view);

	loaded(w, cpu, NULL, 0, post, acquire, false);
	return post;
}

/* May r, with pre, read this message? */
static bool may_read(struct xworld *w, u32 cpu, const struct xread *r,
		     const struct xword *word, const struct xmsg *m, u32 pre)
{
	bool newest = m->next == XNIL, fails = r->cas && m->val != r->expected;

	if (!newest && (r->cas ? !fails : r->newest))
		return false;
	if (!r->use)
		return true;
	r->use->leaf = true;
	r->use->fault = false;
	r->use->ev = r->write && !fails && xlaw(w, XLAW_STORE_VIEW) ?
		     w->a->now + 2 : post_view(w, word, cpu, pre, m->ts, r->acquire);
	return w->mmu->may_hold(w, r->use, r->path);
}

bool xweak_read(struct xworld *w, u32 cpu, struct xread *r)
{
	struct xword *word = xword_find(w, r->off);
	u32 pre = xweak_pre(w, cpu, r->view, r->acquire), n, m = 0;
	u16 msg[XMAX_READABLE], ok[XMAX_READABLE];

	r->post = pre;
	r->ts = 0;
	if (!word) {
		r->val = xmem_read(w, r->off, r->size);
		loaded(w, cpu, NULL, 0, pre, r->acquire, r->no_result);
		return true;
	}
	n = readable(w, cpu, word, pre, msg);
	for (u32 i = 0; i < n; i++)
		if (may_read(w, cpu, r, word, &w->a->msg[msg[i]], pre))
			ok[m++] = msg[i];
	if (!m)
		return false;
	m = ok[xchoose(w, XCHOICE_MESSAGE, m)];
	r->val = w->a->msg[m].val;
	r->ts = w->a->msg[m].ts;
	r->post = post_view(w, word, cpu, pre, r->ts, r->acquire);
	loaded(w, cpu, word, r->ts, r->post, r->acquire, r->no_result);
	return true;
}

static bool acquires(u32 order)
{
	return order == MACH_ACQUIRE || order == MACH_FULL;
}

u64 xweak_load(struct xworld *w, u32 cpu, u32 off, u32 size, u32 order)
{
	struct xread r = {
		.off = off, .size = size, .acquire = acquires(order),
		.view = dep_view(w, cpu, off),
	};

	xweak_read(w, cpu, &r);
	up(&w->a->cpu[cpu].v.ctrl, r.post);
	dep_note(w, cpu, off, r.val, r.post);
	return r.val;
}

u32 xweak_read_newest(struct xworld *w, u32 cpu, u32 off, u32 size, u32 order)
{
	struct xread r = {
		.off = off, .size = size, .acquire = acquires(order), .newest = true,
		.view = dep_view(w, cpu, off),
	};

	xweak_read(w, cpu, &r);
	up(&w->a->cpu[cpu].v.ctrl, r.post);
	dep_note(w, cpu, off, r.val, r.post);
	return r.post;
}

/*
 * The least view that a user load of off can have, walked with rv: that of the
 * oldest message that it may read.
 */
u32 xweak_min_post(struct xworld *w, u32 cpu, u32 off, u32 rv)
{
	const struct xstore *st = xmem_forward(w, cpu, off);
	u32 pre = MAX(w->a->cpu[cpu].v.b_read, rv), n;
	struct xword *word = xword_find(w, off);
	u16 msg[XMAX_READABLE];

	if (st)
		return MAX(pre, st->view);
	if (!word)
		return pre;
	n = readable(w, cpu, word, pre, msg);
	return post_view(w, word, cpu, pre, w->a->msg[msg[n - 1]].ts, false);
}

/* ---- stores and walks ---- */

void xweak_stored(struct xworld *w, u32 cpu, u32 off, u32 ts, u32 view, bool release)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	struct xword *word = xword_find(w, off);

	up(&v->w, ts);
	if (release)
		up(&v->rel, ts);
	word->coh[cpu] = ts;
	word->fwd_ts[cpu] = ts;
	word->fwd_view[cpu] = view;
	word->fwd_rmw &= ~(1U << cpu);
}

void xweak_stored_rmw(struct xworld *w, u32 cpu, u32 off, u32 ts, u32 view, bool acquire,
		      bool release)
{
	struct xviews *v = &w->a->cpu[cpu].v;

	xweak_stored(w, cpu, off, ts, view, release);
	xword_find(w, off)->fwd_rmw |= 1U << cpu;
	if (acquire && release && xlaw(w, XLAW_SWPAL)) {
		up(&v->b_read, ts);
		up(&v->b_fault, ts);
	}
}

void xweak_walked(struct xworld *w, const struct xuse *use, u32 rv, u64 va, bool fault)
{
	struct xviews *v = &w->a->cpu[use->cpu].v;

	up(&v->walk, rv);
	if (!fault)
		up(&v->vtr[va >> 3 & 7], rv);
}

/* ---- order ---- */

static void acquire(struct xviews *v, u32 view)
{
	up(&v->r, view);
	up(&v->b_read, view);
	up(&v->b_fault, view);
	up(&v->ctrl, view);
}

void xweak_acquire(struct xworld *w, u32 cpu, u32 view)
{
	acquire(&w->a->cpu[cpu].v, view);
}

void xweak_thread_acquire(struct xworld *w, u32 cpu, u32 view)
{
	struct xcpu *c = &w->a->cpu[cpu];

	acquire(c->views ? c->views : &c->v, view);
}

void xweak_context_sync(struct xworld *w, u32 cpu)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	u32 view = v->b_walk;

	w->a->cpu[cpu].unsynced = 0;
	if (xlaw(w, XLAW_CTRL_ISB))
		view = MAX(view, v->ctrl);
	if (xlaw(w, XLAW_ADDR_ISB))
		view = MAX(view, v->addr);
	if (xlaw(w, XLAW_WALK_ISB))
		view = MAX(view, v->walk);
	if (xlaw(w, XLAW_DSB_ISB))
		view = MAX(view, v->dsb);
	up(&v->b_walk, view);
	up(&v->b_read, view);
	up(&v->b_fault, view);
	up(&v->b_tlbi, view);
}

static void after_dsb(struct xworld *w, u32 cpu, u32 view)
{
	struct xviews *v = &w->a->cpu[cpu].v;

	up(&v->dsb, view);
	up(&v->b_read, view);
	up(&v->b_fault, view);
	up(&v->b_tlbi, view);
	if (!xlaw(w, XLAW_DSB_WALK))
		up(&v->b_walk, view);
}

void xweak_dmb(struct xworld *w, u32 cpu, u32 what)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	u32 view = MAX(what & XORDER_LOADS ? v->r : 0, what & XORDER_STORES ? v->w : 0);

	if (xlaw(w, what == XORDER_STORES ? XLAW_DMB_ST_FAULT : XLAW_DMB_FAULT))
		up(&v->b_fault, view);
	if (what & XORDER_LOADS)
		up(&v->b_read, view);
	if (!xlaw(w, XLAW_DMB_TLBI))
		up(&v->b_tlbi, view);
}

static u32 dsb_view(const struct xworld *w, u32 cpu, u32 what)
{
	const struct xviews *v = &w->a->cpu[cpu].v;
	u32 view = MAX(what & XORDER_LOADS ? v->r : 0, what & XORDER_STORES ? v->w : 0);

	if (what != XORDER_ALL)
		return view;
	if (xlaw(w, XLAW_DSB_UPDATE))
		view = MAX(view, v->h);
	for (u32 i = 0; i < w->a->nr_tlbi && !xlaw(w, XLAW_TLBI_AT_ONCE); i++)
		if (w->a->tlbi[i].cpu == cpu)
			view = xnow_odd(w);
	return MAX(view, v->walk);
}

void xweak_dsb(struct xworld *w, u32 cpu, u32 what)
{
	after_dsb(w, cpu, dsb_view(w, cpu, what));
}

void xweak_fence(struct xworld *w, u32 cpu, u32 kind)
{
	switch (kind) {
	case MACH_SMP_MB:
	case MACH_SMP_MB_BEFORE_ATOMIC:
	case MACH_SMP_MB_AFTER_ATOMIC:
	case MACH_SMP_MB_AFTER_SPINLOCK:
	case MACH_HWSYNC:
		xweak_dmb(w, cpu, XORDER_ALL);
		break;
	case MACH_SMP_RMB:
		xweak_dmb(w, cpu, XORDER_LOADS);
		break;
	case MACH_LWSYNC:
		/* All but store to load. */
		xweak_dmb(w, cpu, XORDER_LOADS);
		xweak_dmb(w, cpu, XORDER_STORES);
		break;
	case MACH_SMP_WMB:
	case MACH_EIEIO:
		xweak_dmb(w, cpu, XORDER_STORES);
		break;
	case MACH_DSB_ISHST:
	case MACH_DSB_NSHST:
		xweak_dsb(w, cpu, XORDER_STORES);
		break;
	case MACH_DSB_ISH:
	case MACH_DSB_NSH:
		xweak_dsb(w, cpu, XORDER_ALL);
		break;
	case MACH_PTESYNC:
		/* Power ISA III 6.9.2: walks after it see what was before it. */
		xweak_dsb(w, cpu, XORDER_ALL);
		up(&w->a->cpu[cpu].v.b_walk, dsb_view(w, cpu, XORDER_ALL));
		break;
	case MACH_ISB:
	case MACH_ISYNC:
		xweak_context_sync(w, cpu);
		break;
	default:
		break;
	}
}

static bool orders_stores(u32 kind)
{
	return kind != MACH_SMP_RMB && kind != MACH_ISB && kind != MACH_ISYNC &&
	       kind != MACH_TLBSYNC;
}

/* Whether this fence, executed by cpu, completes k. */
static bool completes(u32 kind, u32 cpu, const struct xtlbi *k)
{
	if (k->d || k->cpu != cpu)
		return false;
	switch (kind) {
	case MACH_DSB_ISH:
		return true;
	case MACH_DSB_NSH:
		return k->local;
	case MACH_PTESYNC:
		return k->local || k->stage == 2;
	default:
		return false;
	}
}

/* eieio, then tlbsync, then ptesync: the order that tlbie needs. */
static void advance_stage(struct xworld *w, u32 cpu, u32 kind)
{
	u32 from = kind == MACH_EIEIO ? 0 : kind == MACH_TLBSYNC ? 1 : 9;

	for (u32 i = 0; i < w->a->nr_tlbi; i++) {
		struct xtlbi *k = &w->a->tlbi[i];

		if (k->cpu != cpu || k->d)
			continue;
		if (k->stage == from)
			k->stage++;
		k->synced |= kind == MACH_PTESYNC;
	}
}

/*
 * arm64's erratum (ARM64_WORKAROUND_REPEAT_TLBI): whether this fence of k's CPU completes some
 * TLBI that was issued after k was complete, and so waits for what k should have waited for.
 */
static bool repeats(const struct xworld *w, u32 kind, const struct xtlbi *k)
{
	if (!(w->features & XFEAT_REPEAT_TLBI) || !k->d || k->local)
		return false;
	for (u32 i = 0; i < w->a->nr_tlbi; i++) {
		const struct xtlbi *next = &w->a->tlbi[i];

		if (completes(kind, k->cpu, next) && !next->local && next->at >= k->d)
			return true;
	}
	return false;
}

/* An erratum: k, or what comes with kind, does not wait for the stores of others. */
static bool overlooks(const struct xworld *w, const struct xtlbi *k, u32 kind)
{
	if (w->features & XFEAT_STQ_BUG)
		return !k->again;
	return (w->features & XFEAT_REPEAT_TLBI) && !repeats(w, kind, k);
}

/*
 * A store that another CPU has buffered and that went through a translation which
 * k drops: the invalidation is complete only when the store is visible.
 */
static bool holds_up(const struct xworld *w, const struct xtlbi *k, u32 kind, u32 cpu, u32 i)
{
	if ((k->local && cpu != k->cpu) || !xlaw(w, XLAW_STORE_VIEW))
		return false;
	if (cpu != k->cpu && overlooks(w, k, kind))
		return false;
	return xtlbi_drops_store(w, k, cpu, &w->a->cpu[cpu].sb[i]);
}

/* The i-th buffered store becomes visible, and before it older ones to its word. */
static void drain_through(struct xworld *w, u32 cpu, u32 i)
{
	const struct xstore *sb = w->a->cpu[cpu].sb;
	u32 j;

	while (!xstore_drainable(w, cpu, i)) {
		for (j = 0; sb[j].off != sb[i].off; j++)
			;
		xmem_drain_one(w, cpu, j);
		i--;
	}
	xmem_drain_one(w, cpu, i);
}

static void drain_held(struct xworld *w, const struct xtlbi *k, u32 kind)
{
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++)
		for (u32 i = 0; i < w->a->cpu[cpu].nr_sb;)
			if (holds_up(w, k, kind, cpu, i)) {
				drain_through(w, cpu, i);
				i = 0;
			} else {
				i++;
			}
}

/* Whether this fence, executed by cpu, waits for what k drops. */
static bool waits_for(const struct xworld *w, u32 kind, u32 cpu, const struct xtlbi *k)
{
	return completes(kind, cpu, k) || (k->cpu == cpu && repeats(w, kind, k));
}

static void complete(struct xworld *w, u32 cpu, u32 kind)
{
	u32 d, t_max = 0;

	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (waits_for(w, kind, cpu, &w->a->tlbi[i])) {
			drain_held(w, &w->a->tlbi[i], kind);
			t_max = MAX(t_max, w->a->tlbi[i].t);
		}
	/* After every write so far, so after every T. */
	d = xnow_odd(w);
	XASSERT(d >= t_max);
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (completes(kind, cpu, &w->a->tlbi[i]))
			w->a->tlbi[i].d = d;
	after_dsb(w, cpu, d);
	if (kind == MACH_PTESYNC)
		up(&w->a->cpu[cpu].v.b_walk, d);
}

static u32 dsb_kind(bool local)
{
	return local ? MACH_DSB_NSH : MACH_DSB_ISH;
}

bool xweak_completes(const struct xworld *w, u32 cpu, bool local)
{
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (completes(dsb_kind(local), cpu, &w->a->tlbi[i]))
			return true;
	return false;
}

bool xweak_held(const struct xworld *w, u32 cpu, bool local)
{
	for (u32 k = 0; k < w->a->nr_tlbi; k++)
		for (u32 c = 0; c < w->nr_cpus; c++)
			for (u32 i = 0; i < w->a->cpu[c].nr_sb; i++)
				if (completes(dsb_kind(local), cpu, &w->a->tlbi[k]) &&
				    holds_up(w, &w->a->tlbi[k], dsb_kind(local), c, i))
					return true;
	return false;
}

void xweak_complete(struct xworld *w, u32 cpu, bool local)
{
	complete(w, cpu, dsb_kind(local));
}

/* What k's completion makes visible. */
static void held_footprint(struct xworld *w, const struct xtlbi *k, u32 kind,
			   struct xstep *s)
{
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++) {
		if (k->local && cpu != k->cpu)
			continue;
		for (u32 i = 0; i < w->a->cpu[cpu].nr_sb; i++)
			if (holds_up(w, k, kind, cpu, i))
				xmem_drain_footprint(w, cpu, i, s);
	}
}

static bool completes_any(const struct xworld *w, u32 cpu, u32 kind)
{
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (completes(kind, cpu, &w->a->tlbi[i]))
			return true;
	return false;
}

/* It waits for hardware updates that the CPU owes. */
static bool settles(u32 kind)
{
	return kind == MACH_DSB_ISH || kind == MACH_DSB_NSH;
}

/* Of a fence that completes invalidations, or makes hardware updates. */
static void describe_fence(struct xworld *w, struct xthr *t)
{
	u32 kind = (u32)t->describe.a;
	const struct xcpu *c = xcpu_of(w, t);

	xstep_clear(&t->step);
	for (u32 i = 0; i < c->nr_owed && settles(kind); i++)
		xmem_store_footprint(w, XNOBODY, c->owed[i].off, &t->step);
	if (!completes_any(w, t->cpu, kind))
		return;
	xstep_add(&t->step, XOBJ_BCAST, 0, true);
	xstep_order(w, &t->step);
	for (u32 i = 0; i < w->nr_cpus; i++)
		xstep_add(&t->step, XOBJ_TLB, i, true);
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (waits_for(w, kind, t->cpu, &w->a->tlbi[i]))
			held_footprint(w, &w->a->tlbi[i], kind, &t->step);
}

void xweak_fence_step(struct xworld *w, struct xthr *t, u32 kind,
		      const struct mach_site *site)
{
	bool drains = orders_stores(kind) && xcpu_of(w, t)->nr_sb;
	bool done = completes_any(w, t->cpu, kind);
	bool owes = settles(kind) && xcpu_of(w, t)->nr_owed;

	if (drains || done || owes) {
		xstep_begin(t, site, MACH_SITE_FENCE);
		if (done || owes)
			xstep_describe(w, t, describe_fence, kind, 0);
		xpark_buffer(w, t, XWHY_STEP, orders_stores(kind) ? XNEED_EMPTY :
								    XNEED_NONE);
	}
	if (owes)
		xupdates_settle(w, t->cpu);
	xweak_fence(w, t->cpu, kind);
	if (done)
		complete(w, t->cpu, kind);
	advance_stage(w, t->cpu, kind);
}
