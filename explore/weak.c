/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weak memory of arm64 and POWER: views. Rules and names are those of
 * reference/arm64-mmu-model.md; this file has its memory part, mmu_arm64.c its
 * walks. A view is a timestamp; everything up to it has been seen.
 *
 * The model tracks, by register, what an address, a value or a branch was made from. C
 * code shows us no registers, so:
 *	address: a load that returned a pointer into an object of the heap, or an entry that
 *		leads to a frame, orders later loads of that object or frame after it
 *		(dep[], by hash: a collision orders more than it should);
 *	branch: kernel code branches on all that it loads: every load of a shared word is
 *		in vCtrl (it orders later stores anyway, ISB and TLBI by vCtrl);
 *	value: not needed, for no store is visible before an earlier load.
 * A failed cmpxchg reads the newest message, too.
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

/* Messages of word that a load with pre may read, newest first; returns how many. */
static u32 readable(const struct xworld *w, u32 cpu, const struct xword *word, u32 pre,
		    u16 msg[XMAX_READABLE])
{
	u32 floor = MAX(pre, word->coh[cpu]), n = 0;

	for (u16 i = word->last; i != XNIL; i = w->a->msg[i].prev) {
		if (n < XMAX_READABLE)
			msg[n++] = i;
		if (w->a->msg[i].ts <= floor)
			break;
	}
	return n;
}

/* Of reading message ts with pre: the post-view. */
static u32 post_view(const struct xword *word, u32 cpu, u32 pre, u32 ts, bool acquire)
{
	if (!acquire && ts && word->fwd_ts[cpu] == ts)
		return MAX(pre, word->fwd_view[cpu]);
	return MAX(pre, ts);
}

static void loaded(struct xworld *w, u32 cpu, struct xword *word, u32 ts, u32 post,
		   u32 order)
{
	struct xviews *v = &w->a->cpu[cpu].v;

	up(&v->r, post);
	if (word)
		up(&word->coh[cpu], MAX(post, ts));
	if (order == MACH_ACQUIRE || order == MACH_FULL) {
		up(&v->b_read, post);
		up(&v->b_fault, post);
	}
}

u64 xweak_load(struct xworld *w, u32 cpu, u32 off, u32 size, u32 order, u32 addr_view,
	       u32 *post)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	struct xword *word = xword_find(w, off);
	bool kernel = addr_view == XNEVER;
	bool acquire = order == MACH_ACQUIRE || order == MACH_FULL;
	u16 msg[XMAX_READABLE];
	u32 pre, n, ts = 0;
	u64 val;

	if (kernel)
		addr_view = dep_view(w, cpu, off);
	pre = MAX(v->b_read, addr_view);
	if (acquire)
		pre = MAX(pre, v->rel);
	if (word) {
		n = readable(w, cpu, word, pre, msg);
		n = xchoose(w, XCHOICE_MESSAGE, n);
		val = w->a->msg[msg[n]].val;
		ts = w->a->msg[msg[n]].ts;
		*post = post_view(word, cpu, pre, ts, acquire);
	} else {
		val = xmem_read(w, off, size);
		*post = pre;
	}
	loaded(w, cpu, word, ts, *post, order);
	if (kernel) {
		up(&v->ctrl, *post);
		dep_note(w, cpu, off, val, *post);
	}
	return val;
}

u32 xweak_read_newest(struct xworld *w, u32 cpu, u32 off, u32 size, u32 order)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	struct xword *word = xword_find(w, off);
	bool acquire = order == MACH_ACQUIRE || order == MACH_FULL;
	u32 pre = MAX(v->b_read, dep_view(w, cpu, off)), ts, post;

	if (acquire)
		pre = MAX(pre, v->rel);
	ts = word ? w->a->msg[word->last].ts : 0;
	post = word ? post_view(word, cpu, pre, ts, acquire) : pre;
	loaded(w, cpu, word, ts, post, order);
	up(&v->ctrl, post);
	dep_note(w, cpu, off, xmem_read(w, off, size), post);
	return post;
}

/*
 * The least view that a user load of off can have, walked with rv: that of the
 * oldest message that it may read.
 */
u32 xweak_min_post(struct xworld *w, u32 cpu, u32 off, u32 rv)
{
	u32 pre = MAX(w->a->cpu[cpu].v.b_read, rv), n;
	struct xword *word = xword_find(w, off);
	u16 msg[XMAX_READABLE];

	if (!word)
		return pre;
	n = readable(w, cpu, word, pre, msg);
	return post_view(word, cpu, pre, w->a->msg[msg[n - 1]].ts, false);
}

u64 xweak_user_load(struct xworld *w, struct xuse *use, const struct xpath *path, u32 off,
		    u32 rv, u32 *post)
{
	struct xviews *v = &w->a->cpu[use->cpu].v;
	struct xword *word = xword_find(w, off);
	u32 pre = MAX(v->b_read, rv), n, m = 0;
	u16 msg[XMAX_READABLE], ok[XMAX_READABLE];

	*post = pre;
	if (!word) {
		loaded(w, use->cpu, NULL, 0, pre, MACH_RELAXED);
		return xmem_read(w, off, 8);
	}
	n = readable(w, use->cpu, word, pre, msg);
	use->leaf = true;
	use->fault = false;
	for (u32 i = 0; i < n; i++) {
		use->ev = post_view(word, use->cpu, pre, w->a->msg[msg[i]].ts, false);
		if (w->mmu->may_hold(w, use, path))
			ok[m++] = msg[i];
	}
	XASSERT(m);
	m = ok[xchoose(w, XCHOICE_MESSAGE, m)];
	*post = post_view(word, use->cpu, pre, w->a->msg[m].ts, false);
	loaded(w, use->cpu, word, w->a->msg[m].ts, *post, MACH_RELAXED);
	return w->a->msg[m].val;
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
}

void xweak_walked(struct xworld *w, const struct xuse *use, u32 rv, u64 va, bool fault)
{
	struct xviews *v = &w->a->cpu[use->cpu].v;

	up(&v->walk, rv);
	if (!fault)
		up(&v->vtr[va >> 3 & 7], rv);
}

/* ---- order ---- */

void xweak_acquire(struct xworld *w, u32 cpu, u32 view)
{
	struct xviews *v = &w->a->cpu[cpu].v;

	up(&v->r, view);
	up(&v->b_read, view);
	up(&v->b_fault, view);
	up(&v->ctrl, view);
}

void xweak_context_sync(struct xworld *w, u32 cpu)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	u32 view = v->b_walk;

	view = MAX(view, v->ctrl);
	view = MAX(view, v->addr);
	view = MAX(view, v->walk);
	view = MAX(view, v->dsb);
	up(&v->b_walk, view);
	up(&v->b_read, view);
	up(&v->b_fault, view);
	up(&v->b_tlbi, view);
}

static void after_dsb(struct xviews *v, u32 view)
{
	up(&v->dsb, view);
	up(&v->b_read, view);
	up(&v->b_fault, view);
	up(&v->b_tlbi, view);
}

enum { LOADS = 1, STORES = 2 };

static void dmb(struct xviews *v, u32 what)
{
	u32 view = MAX(what & LOADS ? v->r : 0, what & STORES ? v->w : 0);

	up(&v->b_fault, view);
	if (what & LOADS)
		up(&v->b_read, view);
}

void xweak_fence(struct xworld *w, u32 cpu, u32 kind)
{
	struct xviews *v = &w->a->cpu[cpu].v;
	u32 all = MAX(MAX(v->r, v->w), MAX(v->h, v->walk));

	switch (kind) {
	case MACH_SMP_MB:
	case MACH_SMP_MB_BEFORE_ATOMIC:
	case MACH_SMP_MB_AFTER_ATOMIC:
	case MACH_SMP_MB_AFTER_SPINLOCK:
	case MACH_HWSYNC:
		dmb(v, LOADS | STORES);
		break;
	case MACH_SMP_RMB:
		dmb(v, LOADS);
		break;
	case MACH_LWSYNC:
		/* All but store to load. */
		dmb(v, LOADS);
		dmb(v, STORES);
		break;
	case MACH_SMP_WMB:
	case MACH_EIEIO:
		dmb(v, STORES);
		break;
	case MACH_DSB_ISHST:
	case MACH_DSB_NSHST:
		after_dsb(v, v->w);
		break;
	case MACH_DSB_ISH:
	case MACH_DSB_NSH:
		after_dsb(v, all);
		break;
	case MACH_PTESYNC:
		/* Power ISA III 6.9.2: walks after it see what was before it. */
		after_dsb(v, all);
		up(&v->b_walk, all);
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

		if (k->cpu == cpu && !k->d && k->stage == from)
			k->stage++;
	}
}

/*
 * Stores that other CPUs have buffered and that went through a translation which
 * k may drop: the invalidation is complete only when they are.
 */
static bool holds_up(const struct xworld *w, const struct xtlbi *k, u32 cpu, u32 i)
{
	const struct xstore *s = &w->a->cpu[cpu].sb[i];

	return s->kind == XSTORE_USER && s->va >= k->start && s->va <= k->last &&
	       (k->ctx == XCTX_ANY || k->ctx == w->a->cpu[cpu].ctx);
}

static void drain_held(struct xworld *w, const struct xtlbi *k)
{
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++) {
		if (k->local && cpu != k->cpu)
			continue;
		for (u32 i = 0; i < w->a->cpu[cpu].nr_sb;)
			if (holds_up(w, k, cpu, i))
				xmem_drain_one(w, cpu, i);
			else
				i++;
	}
}

static void complete(struct xworld *w, struct xthr *t, u32 kind)
{
	struct xviews *v = &xcpu_of(w, t)->v;
	u32 d, t_max = 0;

	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (completes(kind, t->cpu, &w->a->tlbi[i])) {
			drain_held(w, &w->a->tlbi[i]);
			t_max = MAX(t_max, w->a->tlbi[i].t);
		}
	/* After every write so far, so after every T. */
	d = xnow_odd(w);
	XASSERT(d >= t_max);
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (completes(kind, t->cpu, &w->a->tlbi[i]))
			w->a->tlbi[i].d = d;
	after_dsb(v, d);
	if (kind == MACH_PTESYNC)
		up(&v->b_walk, d);
}

void xweak_fence_step(struct xworld *w, struct xthr *t, u32 kind,
		      const struct mach_site *site)
{
	bool drains = orders_stores(kind) && xcpu_of(w, t)->nr_sb, done = false;

	for (u32 i = 0; i < w->a->nr_tlbi && !done; i++)
		done = completes(kind, t->cpu, &w->a->tlbi[i]);
	if (drains || done) {
		xstep_begin(t, site, MACH_SITE_FENCE);
		if (done) {
			xstep_add(&t->step, XOBJ_BCAST, 0, true);
			xstep_order(w, &t->step);
			for (u32 i = 0; i < w->nr_cpus; i++) {
				xstep_add(&t->step, XOBJ_TLB, i, true);
				if (w->a->cpu[i].nr_sb && i != t->cpu)
					xstep_all(&t->step);
			}
		}
		xpark_buffer(w, t, XWHY_STEP, orders_stores(kind) ? XNEED_EMPTY :
								    XNEED_NONE);
	}
	xweak_fence(w, t->cpu, kind);
	if (kind == MACH_EIEIO || kind == MACH_TLBSYNC)
		advance_stage(w, t->cpu, kind);
	if (done)
		complete(w, t, kind);
}
