/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps by hand, with explicit views: what litmus tests run on. The rules are those of
 * weak.c, mmu.c and mmu_*.c; here is what brings the parts of one access together,
 * and the hardware updates that are steps of their own.
 *
 * An access with an update can be made in three orders (the model's three): the
 * update with the access, or later (deferred: before the CPU's next DSB of all), or it was made
 * before (early: the CPU promised it, and the access must come to need exactly
 * that). An update replaces one message only; if another write came between, the
 * execution is given up: hardware would have walked again, which is another execution.
 */
#include "world.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MAX_WAYS 64

struct ways {
	struct xuse use;
	bool write;
	u32 n;
	struct xtranslation way[MAX_WAYS];
};

static bool collect(struct xworld *w, const struct xpath *path, const struct xpte *p,
		    void *arg)
{
	struct ways *ways = arg;

	if (p->kind == XPTE_TABLE)
		return false;
	XASSERT(ways->n < MAX_WAYS);
	ways->n += xmmu_translate(w, &ways->use, path, p, ways->write, &ways->way[ways->n]);
	return false;
}

/* ---- hardware updates ---- */

static u64 updated(const struct xworld *w, u32 cpu, u64 val, bool write)
{
	return w->mmu->mark_used(w, val, write && (!w->weak || w->hd >> cpu & 1));
}

static bool newest(const struct xworld *w, u16 msg)
{
	return w->a->msg[msg].next == XNIL;
}

static u32 update_now(struct xworld *w, u32 cpu, const struct xupdate *u, const char *how)
{
	char name[64];

	if (unlikely(w->events))
		xev(w, XAGENT_THREAD, w->a->cpu[cpu].cur, cpu, NULL,
		    "the walker marks %s used%s: 0x%llx -> 0x%llx",
		    xname_word(w, u->off, name), how,
		    (unsigned long long)w->a->msg[u->msg].val, (unsigned long long)u->val);
	return xmem_append(w, cpu, u->off, 8, u->val, NULL);
}

/* From now on what waits for cpu's updates waits for this one. */
static void made(struct xworld *w, u32 cpu, u32 ts)
{
	struct xviews *v = &w->a->cpu[cpu].v;

	v->h = MAX(v->h, ts);
}

static void forget(struct xupdate *list, u8 *n, u32 i)
{
	(*n)--;
	memmove(&list[i], &list[i + 1], (*n - i) * sizeof(*list));
}

bool xupdate_deferred(struct xworld *w, u32 cpu, u32 i)
{
	struct xcpu *c = &w->a->cpu[cpu];
	struct xupdate u = c->deferred[i];

	if (!newest(w, u.msg) && xlaw(w, XLAW_UPDATE_ATOMIC))
		return false;
	forget(c->deferred, &c->nr_deferred, i);
	made(w, cpu, update_now(w, cpu, &u, ", for an earlier access"));
	return true;
}

bool xupdate_early(struct xworld *w, u32 cpu, u32 off, bool write)
{
	struct xcpu *c = &w->a->cpu[cpu];
	const struct xword *word = xword_find(w, off);
	struct xupdate u = { .off = off, .msg = word->last };
	struct xpte p;

	w->mmu->decode(w, w->a->msg[word->last].val, 0, &p);
	if (w->mmu->for_cpu)
		w->mmu->for_cpu(w, cpu, &p);
	if (p.kind != XPTE_LEAF || !p.usable || (write && !p.write) ||
	    (p.accessed && (!write || p.dirty)) || c->nr_early == XMAX_UPDATES)
		return false;
	/* What a load would do, too. */
	if (write && p.dirty)
		return false;
	for (u32 i = 0; i < c->nr_early; i++)
		if (c->early[i].off == off)
			return false;
	u.val = updated(w, cpu, w->a->msg[word->last].val, write);
	u.ts = update_now(w, cpu, &u, ", for a later access");
	c->early[c->nr_early++] = u;
	return true;
}

bool xupdate_spontaneous(struct xworld *w, u32 off)
{
	u64 val = xmem_read(w, off, 8), new;
	struct xpte p;
	char name[64];

	w->mmu->decode(w, val, 0, &p);
	if (p.kind != XPTE_LEAF || p.accessed)
		return false;
	new = w->mmu->mark_used(w, val, false);
	if (new == val)
		return false;
	if (unlikely(w->events))
		xev(w, XAGENT_MACHINE, 0, 0, NULL, "%s is marked accessed, with no access",
		    xname_word(w, off, name));
	xmem_append(w, XCPU_NONE, off, 8, new, NULL);
	return true;
}

/* The early update that the access was promised, or -1. */
static int find_early(const struct xcpu *c, const struct xupdate *u)
{
	for (u32 i = 0; i < c->nr_early; i++)
		if (c->early[i].off == u->off && c->early[i].msg == u->msg &&
		    c->early[i].val == u->val)
			return (int)i;
	return -1;
}

/*
 * The access through o needs its entry updated. before: what the CPU had seen when it came
 * to the access, and what the address was made from; an early update is later.
 */
static bool update(struct xworld *w, u32 cpu, const struct xtranslation *o, bool write,
		   u32 before)
{
	const struct xhop *hop = &o->path.hop[o->path.n - 1];
	struct xcpu *c = &w->a->cpu[cpu];
	struct xupdate u = {
		.off = hop->off, .msg = hop->msg, .val = updated(w, cpu, hop->val, write),
	};
	int early = find_early(c, &u);

	if (early >= 0) {
		if (before >= c->early[early].ts && xlaw(w, XLAW_EARLY_BOUND))
			return false;
		made(w, cpu, c->early[early].ts);
		forget(c->early, &c->nr_early, (u32)early);
		return true;
	}
	if (!newest(w, u.msg) && xlaw(w, XLAW_UPDATE_ATOMIC))
		return false;
	if (w->weak && xlaw(w, XLAW_DEFERRED) && c->nr_deferred < XMAX_UPDATES &&
	    xchoose(w, XCHOICE_ALLOC, 2)) {
		c->deferred[c->nr_deferred++] = u;
		return true;
	}
	made(w, cpu, update_now(w, cpu, &u, ""));
	return true;
}

/* ---- accesses ---- */

bool xaccess_waits(const struct xworld *w, const struct xaccess *a)
{
	const struct xcpu *c = &w->a->cpu[a->cpu];
	bool plain = a->kind == XACCESS_STORE && !a->release;

	if (a->kind == XACCESS_LOAD)
		return false;
	if (plain)
		return c->nr_sb == XMAX_SB;
	return c->nr_sb && (a->release || !w->weak);
}

static void tell(struct xworld *w, const struct xaccess *a, const struct xtranslation *o,
		 const char *verb, u64 val)
{
	char name[64], where[80] = "";

	if (likely(!w->events))
		return;
	if (o)
		snprintf(where, sizeof(where), ", translated by 0x%llx%s",
			 (unsigned long long)o->path.hop[o->path.n - 1].val,
			 o->current ? "" : ", which is stale");
	xev(w, XAGENT_THREAD, w->a->cpu[a->cpu].cur, a->cpu, a->site, "%s %s %s 0x%llx%s", verb,
	    xname_word(w, a->off, name), a->kind == XACCESS_LOAD ? ":" : "=",
	    (unsigned long long)val, where);
}

static bool load(struct xworld *w, struct xaccess *a, u32 view, struct xuse *use,
		 const struct xtranslation *o)
{
	const struct xstore *fwd = xmem_forward(w, a->cpu, a->off);
	struct xread r = {
		.off = a->off, .size = xword_find(w, a->off)->size, .acquire = a->acquire,
		.view = view, .use = o ? use : NULL, .path = o ? &o->path : NULL,
	};

	if (fwd && !xlaw(w, XLAW_FORWARD))
		return false;
	if (fwd) {
		a->old = fwd->val;
		a->post = w->weak ? xweak_forwarded(w, a->cpu, fwd, xweak_pre(w, a->cpu,
						    view, a->acquire), a->acquire) : 0;
		a->ts = XNEVER;
	} else if (w->weak) {
		if (!xweak_read(w, a->cpu, &r))
			return false;
		a->old = r.val;
		a->post = r.post;
		a->ts = r.ts;
	} else {
		a->old = xmem_read(w, a->off, r.size);
	}
	tell(w, a, o, fwd ? "loads its own" : "loads", a->old);
	return true;
}

static void store(struct xworld *w, struct xaccess *a, const struct xtranslation *o)
{
	u32 size = xword_find(w, a->off)->size, ts;
	struct xstore st = {
		.val = size == 4 ? (u32)a->val : a->val, .off = a->off, .size = (u8)size,
		.kind = XSTORE_WORD, .site = a->site, .va = a->va,
		.view = MAX(a->addr_view, a->data_view),
	};

	a->wrote = true;
	tell(w, a, o, "stores", st.val);
	if (a->kind == XACCESS_STORE && !a->release) {
		if (o) {
			st.kind = XSTORE_USER;
			st.frame = (u16)xframe_of(w, a->off);
			st.gen = w->a->frame[st.frame].gen;
			xstore_via(&st, &o->path);
		}
		xmem_store(w, a->cpu, &st);
		return;
	}
	ts = xmem_append(w, a->cpu, a->off, size, st.val, a->site);
	if (!w->weak)
		return;
	if (a->kind == XACCESS_STORE)
		xweak_stored(w, a->cpu, a->off, ts, st.view, true);
	else
		xweak_stored_rmw(w, a->cpu, a->off, ts, st.view, a->acquire, a->release);
}

static u64 changed(char op, u64 old, u64 val)
{
	switch (op) {
	case '+': return old + val;
	case 'c': return old & ~val;
	case '|': return old | val;
	case '^': return old ^ val;
	default: return val;
	}
}

/* A swap or its kin, or a compare and swap. */
static bool swap(struct xworld *w, struct xaccess *a, u32 view, struct xuse *use,
		 const struct xtranslation *o)
{
	bool cas = a->kind == XACCESS_CAS;
	struct xread r = {
		.off = a->off, .size = xword_find(w, a->off)->size, .acquire = a->acquire,
		.newest = true, .cas = cas, .write = true, .expected = a->expected,
		.no_result = a->no_result, .view = view,
		.use = o ? use : NULL, .path = o ? &o->path : NULL,
	};

	if (!w->weak)
		r.val = xmem_read(w, a->off, r.size);
	else if (!xweak_read(w, a->cpu, &r))
		return false;
	a->old = r.val;
	a->post = r.post;
	a->ts = r.ts;
	a->val = changed(a->op, a->old, a->val);
	tell(w, a, o, "atomically loads", a->old);
	if (!cas || a->old == a->expected)
		store(w, a, o);
	return true;
}

static bool at_word(struct xworld *w, struct xaccess *a, u32 view, struct xuse *use,
		    const struct xtranslation *o)
{
	/* An atomic does not pass its CPU's own store to the word. */
	bool atomic = a->kind != XACCESS_LOAD && a->kind != XACCESS_STORE;

	if (atomic && xmem_forward(w, a->cpu, a->off))
		return false;
	switch (a->kind) {
	case XACCESS_LOAD:
		return load(w, a, view, use, o);
	case XACCESS_SWAP:
	case XACCESS_CAS:
		return swap(w, a, view, use, o);
	default:
		store(w, a, o);
		return true;
	}
}

/* SDM 4.10.4.1: a page fault drops what is cached for the address. */
static void faulted(struct xworld *w, const struct xaccess *a, const struct xtranslation *o)
{
	static const char *const name[] = { "", "translation", "access flag", "permission" };

	if (unlikely(w->events))
		xev(w, XAGENT_THREAD, w->a->cpu[a->cpu].cur, a->cpu, a->site,
		    "%s 0x%llx faults (%s) by 0x%llx%s",
		    a->kind == XACCESS_LOAD ? "load of" : "store to",
		    (unsigned long long)a->va, name[a->fault],
		    (unsigned long long)o->path.hop[o->path.n - 1].val,
		    o->current ? "" : ", which is stale");
	if (!w->weak)
		xmmu_log(w, a->cpu, &(struct xlog){
			.kind = XLOG_DROP_PAGE, .ctx = w->a->cpu[a->cpu].ctx, .va = a->va,
		});
}

bool xaccess(struct xworld *w, struct xaccess *a)
{
	struct xviews *v = &w->a->cpu[a->cpu].v;
	struct ways ways = { .write = a->kind != XACCESS_LOAD };
	const struct xtranslation *o;
	u32 view = a->addr_view, before;

	a->fault = XFAULT_NONE;
	a->wrote = false;
	a->post = a->ts = 0;
	before = MAX(MAX(v->b_walk, v->ctrl), MAX(v->addr, v->walk));
	before = MAX(before, a->addr_pick);
	v->addr = MAX(v->addr, a->addr_pick);
	if (!a->translated)
		return at_word(w, a, view, NULL, NULL);
	xmmu_use(w, a->cpu, &ways.use);
	ways.use.addr_view = a->addr_view;
	ways.use.may_fail = a->kind == XACCESS_CAS;
	xmmu_enumerate(w, ways.use.root, ways.use.root_gen, a->va, collect, &ways);
	if (!ways.n)
		return false;
	o = &ways.way[xchoose(w, XCHOICE_TRANSLATION, ways.n)];
	a->fault = o->fault;
	if (w->weak)
		xweak_walked(w, &ways.use, o->rv, a->va, o->fault);
	if (o->fault) {
		faulted(w, a, o);
		return true;
	}
	a->off = XFRAMES_AT + (u32)xmmu_pa(w, o, a->va);
	if (!w->weak && o->update)
		update(w, a->cpu, o, ways.write, 0);
	if (xlaw(w, XLAW_WALK_READ))
		view = MAX(view, o->rv);
	if (!at_word(w, a, view, &ways.use, o))
		return false;
	return !w->weak || !o->update ||
	       update(w, a->cpu, o, ways.write, MAX(before, o->rv));
}

/* ---- an execution by hand ---- */

void xworld_begin(struct xworld *w, const struct xchooser *chooser, struct xevent *events,
		  u32 nr_events)
{
	xworld_reset(w);
	w->owes = w->marks = false;
	w->chooser = chooser;
	w->events = events;
	w->nr_events = 0;
	w->max_events = events ? nr_events : 0;
}

u32 xworld_nr_events(const struct xworld *w)
{
	return w->nr_events;
}

void xworld_preset(struct xworld *w, u32 off, u32 size, u64 val)
{
	char *p = (char *)w->a + off;
	struct xword *word;

	XASSERT(!w->a->now);
	if (size == 4)
		*(u32 *)(void *)p = (u32)val;
	else
		*(u64 *)(void *)p = val;
	word = xword_get(w, off, size);
	w->a->msg[word->first].val = val;
}

void xworld_set_law_off(struct xworld *w, enum xlaw rule)
{
	w->laws_off |= 1ULL << rule;
}

void xworld_set_laws_on(struct xworld *w)
{
	w->laws_off = 0;
}

enum xlaw xlaw_find(const char *name)
{
	static const char *const names[] = {
#define X(id, name, what) name,
		XLAWS(X)
#undef X
	};
	u32 i;

	for (i = 0; i < XLAW_NR && strcmp(names[i], name); i++)
		;
	return (enum xlaw)i;
}
