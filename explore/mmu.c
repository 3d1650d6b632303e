/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User accesses through the MMU, and walks over all that caches may hold.
 *
 * There are no TLBs here. A cached translation is a chain of messages (visible
 * writes of entries), each leading to the table that holds the next, that was or
 * is walkable and that no invalidation has certainly dropped: may_hold() of the
 * architecture decides. So everything a TLB or a walk cache may hold at the
 * moment of use is found by looking at the few entries that ever stood on the way.
 *
 * An access asks choose() among the distinct outcomes: what the table says now
 * (0), and each other frame or right that a stale translation would give. A
 * fault is one of them only where a stale entry may refuse (see each mmu_*.c).
 * Oracle rules come first: an outcome that breaks one is reported, not chosen.
 */
#include "world.h"

static const struct mach_site user_load = {
	"user", "load", 0, MACH_SITE_LOAD
}, user_store = {
	"user", "store", 0, MACH_SITE_STORE
};

/* ---- walks ---- */

struct walk {
	struct xworld *w;
	struct xpath path;
	u64 va;
	xvisit_fn fn;
	void *arg;
};

static bool walk_table(struct walk *k, u32 height, u32 frame, u16 gen);

static bool walk_hop(struct walk *k, const struct xhop *hop)
{
	struct xworld *w = k->w;
	struct xpte p;
	bool stop;

	k->path.hop[k->path.n++] = *hop;
	w->mmu->decode(w, hop->val, hop->height, &p);
	if (p.kind != XPTE_NONE && p.pa >= w->memory_bytes)
		p.kind = XPTE_BAD;
	stop = k->fn(w, &k->path, &p, k->arg);
	if (!stop && p.kind == XPTE_TABLE)
		stop = walk_table(k, hop->height - 1U, (u32)(p.pa >> w->page_shift),
				  hop->gen);
	k->path.n--;
	return stop;
}

/* A word that nobody has written: zero, or from before the snapshot. */
static bool walk_plain(struct walk *k, u32 height, u32 frame, u16 gen, u32 off)
{
	struct xworld *w = k->w;
	struct xhop hop = {
		.off = off, .ts = w->a->frame[frame].born, .tw = XNEVER, .msg = XNIL,
		.table_gen = gen, .height = (u8)height,
	};

	if (w->a->frame[frame].gen != gen)
		return false;
	hop.val = xmem_read(w, off, 8);
	XASSERT(!hop.val || !w->a->frame[frame].table || w->booting);
	return walk_hop(k, &hop);
}

static bool walk_word(struct walk *k, u32 height, u16 gen, const struct xword *word)
{
	struct xarena *a = k->w->a;

	for (u16 i = word->first; i != XNIL; i = a->msg[i].next) {
		const struct xmsg *m = &a->msg[i];
		struct xhop hop = {
			.val = m->val, .off = word->off, .ts = m->ts, .tw = m->tw,
			.msg = i, .table_gen = m->table_gen, .gen = m->gen,
			.height = (u8)height,
		};

		if (m->table_gen == gen && walk_hop(k, &hop))
			return true;
	}
	return false;
}

static bool walk_table(struct walk *k, u32 height, u32 frame, u16 gen)
{
	struct xworld *w = k->w;
	u32 shift = xheight_shift(w, height);
	u32 base = XFRAMES_AT + (frame << w->page_shift);
	u64 above = k->path.va;

	if (k->va != XVA_ANY) {
		u32 off = base + (u32)(k->va >> shift & ((1ULL << w->bits[height]) - 1)) * 8;
		const struct xword *word = xword_find(w, off);

		return word ? walk_word(k, height, gen, word) :
			      walk_plain(k, height, frame, gen, off);
	}
	/* A table may take several frames (POWER's root). */
	for (u32 f = frame; f == frame || (f - frame) << w->page_shift < 8U << w->bits[height];
	     f++)
		for (u16 i = w->a->frame[f].words; i != XNIL; i = w->a->word[i].next) {
			const struct xword *word = &w->a->word[i];

			k->path.va = above | (u64)((word->off - base) / 8) << shift;
			if (walk_word(k, height, gen, word))
				return true;
		}
	k->path.va = above;
	return false;
}

bool xmmu_enumerate(struct xworld *w, u32 root, u16 root_gen, u64 va, xvisit_fn fn,
		    void *arg)
{
	struct walk k = { .w = w, .va = va, .fn = fn, .arg = arg };

	k.path.va = va == XVA_ANY ? 0 : va;
	return walk_table(&k, w->nr_levels - 1, root, root_gen);
}

bool xpath_current(const struct xpath *path)
{
	for (u32 i = 0; i < path->n; i++)
		if (path->hop[i].tw != XNEVER)
			return false;
	return true;
}

/* ---- a CPU's log ---- */

void xmmu_log(struct xworld *w, u32 cpu, const struct xlog *l)
{
	struct xcpu *c = &w->a->cpu[cpu];

	if (c->nr_log == XMAX_LOG) {
		xviolate(w, XRULE_LIVELOCK, "cpu%u: more than %u invalidations", cpu, XMAX_LOG);
		return;
	}
	w->a->log[cpu][c->nr_log] = *l;
	w->a->log[cpu][c->nr_log++].time = xnow_odd(w);
}

void xmmu_load_root(struct xworld *w, u32 cpu, u64 pa, u32 ctx, bool flush)
{
	struct xcpu *c = &w->a->cpu[cpu];

	XASSERT(pa < w->memory_bytes);
	if (w->weak && c->loaded && !w->booting && !c->unsynced) {
		c->unsynced = 1;
		c->old_root = c->root;
		c->old_root_gen = c->root_gen;
	}
	c->root = (u32)(pa >> w->page_shift);
	c->root_gen = w->a->frame[c->root].gen;
	c->ctx = ctx;
	c->loaded = 1;
	xmmu_log(w, cpu, &(struct xlog){
		.kind = XLOG_ROOT, .root = c->root, .root_gen = c->root_gen, .ctx = ctx,
		.view = c->v.ctrl,
	});
	/* After it: nothing can be filled from the old root in between. */
	if (flush)
		xmmu_log(w, cpu, &(struct xlog){ .kind = XLOG_DROP_ALL, .ctx = ctx });
	if (!w->booting)
		xoracle_root(w, cpu);
}

bool xmmu_use(const struct xworld *w, u32 cpu, struct xuse *use)
{
	const struct xcpu *c = &w->a->cpu[cpu];

	*use = (struct xuse){
		.cpu = cpu, .root = c->root, .root_gen = c->root_gen, .ctx = c->ctx,
		.ev = w->a->now,
	};
	return c->loaded;
}

/* ---- user accesses ---- */

#define MAX_OUTCOMES 24

struct access {
	struct xthr *t;
	struct xuse use;
	u64 va;
	bool write;
	bool foreign;		/* under another root that had the same context */
	bool describe;		/* only for its footprint: no rule is broken yet */
	u32 n;
	struct xtranslation out[MAX_OUTCOMES];
};

/* Rights of all levels together. */
static void path_rights(const struct xworld *w, const struct xpath *path, struct xpte *p)
{
	for (u32 i = 0; i + 1 < path->n; i++) {
		struct xpte up;

		w->mmu->decode(w, path->hop[i].val, path->hop[i].height, &up);
		p->user &= up.user;
		p->write &= up.write;
	}
}

static enum xfault fault_of(const struct xworld *w, u32 cpu, const struct xpte *p, bool write)
{
	if (p->kind == XPTE_NONE || p->kind == XPTE_BAD)
		return XFAULT_TRANSLATION;
	if (!p->usable)
		return XFAULT_ACCESS_FLAG;
	if ((!p->user && !(w->privileged >> cpu & 1)) || (write && !p->write))
		return XFAULT_PERMISSION;
	return XFAULT_NONE;
}

static u32 fault_flags(const struct xtranslation *o, bool write)
{
	u32 flags = MACH_FAULT_USER | (write ? MACH_FAULT_WRITE : 0);

	if (!o->fault || o->p.kind == XPTE_NONE)
		return o->fault ? flags : 0;
	return flags | MACH_FAULT_PRESENT;
}

u64 xmmu_pa(const struct xworld *w, const struct xtranslation *o, u64 va)
{
	u32 shift = xheight_shift(w, o->path.hop[o->path.n - 1].height);

	return (o->p.pa & ~((1ULL << shift) - 1)) | (va & ((1ULL << shift) - 1));
}

/*
 * Can the access be made so? Under weak memory that depends on its
 * view: a store is newer than all; a load, at best, reads the oldest
 * message that it may; a fault comes after what b_fault has.
 */
static bool usable_now(struct xworld *w, struct xuse *use, bool write,
		       const struct xtranslation *o)
{
	bool load = !write || use->may_fail || !xlaw(w, XLAW_STORE_VIEW);

	use->ev = w->a->now + 2;
	if (!w->weak)
		return w->mmu->may_hold(w, use, &o->path);
	if (load || o->fault)
		use->ev = o->fault ? w->a->cpu[use->cpu].v.b_fault : 0;
	if (!w->mmu->may_hold(w, use, &o->path))
		return false;
	if (!load || o->fault)
		return true;
	use->ev = xweak_min_post(w, use->cpu, XFRAMES_AT + (u32)xmmu_pa(w, o, o->path.va),
				 xlaw(w, XLAW_WALK_READ) ? use->rv : use->addr_view);
	return w->mmu->may_hold(w, use, &o->path);
}

/* Has the CPU made this update already, before the access that needs it? */
static bool updated_early(const struct xworld *w, u32 cpu, const struct xhop *hop)
{
	const struct xcpu *c = &w->a->cpu[cpu];

	for (u32 i = 0; i < c->nr_early; i++)
		if (c->early[i].msg == hop->msg && c->early[i].ts == hop->tw)
			return true;
	return false;
}

/*
 * A stale entry with A or D clear is not used for an access that must set it: the
 * walker reads the entry again, which is the current outcome.
 */
bool xmmu_translate(struct xworld *w, struct xuse *use, const struct xpath *path,
		    const struct xpte *p, bool write, struct xtranslation *o)
{
	*o = (struct xtranslation){ .path = *path, .p = *p };
	o->current = xpath_current(path);
	if (w->mmu->for_cpu)
		w->mmu->for_cpu(w, use->cpu, &o->p);
	path_rights(w, path, &o->p);
	o->fault = fault_of(w, use->cpu, &o->p, write);
	use->leaf = true;
	use->fault = o->fault;
	use->absent = o->fault == XFAULT_TRANSLATION;
	o->update = !o->fault && (!p->accessed || (write && !p->dirty));
	if (o->update && !o->current && xlaw(w, XLAW_UPDATE_ATOMIC) &&
	    !updated_early(w, use->cpu, &path->hop[path->n - 1]))
		return false;
	if (!usable_now(w, use, write, o))
		return false;
	o->rv = use->rv;
	return true;
}

/* Would the two look the same to the program? */
static bool same(const struct xworld *w, const struct access *acc,
		 const struct xtranslation *a, const struct xtranslation *b)
{
	if (a->fault || b->fault)
		return fault_flags(a, acc->write) == fault_flags(b, acc->write) &&
		       a->current == b->current;
	return xmmu_pa(w, a, acc->va) == xmmu_pa(w, b, acc->va) &&
	       a->path.hop[a->path.n - 1].gen == b->path.hop[b->path.n - 1].gen &&
	       a->update == b->update && a->rv == b->rv;
}

/*
 * An entry leads to a table that was freed, and the walker could follow it: now; or, under weak
 * memory, where an access may be older than the step that makes it, after the table was freed.
 * Before that it may:
 *
 *	CPU 1: user				CPU 0: kernel
 *	walks for a load, by the table
 *						unhooks the table; TLBI; DSB
 *						frees it
 *	(the step: it reads what was there then)
 *
 * The DSB does not end before the walks, and the accesses, that use what the TLBI drops.
 */
static void check_table(struct xworld *w, struct access *acc, const struct xpath *path,
			const struct xpte *p)
{
	u32 frame = (u32)(p->pa >> w->page_shift);
	struct xuse use = acc->use;
	char name[64];

	if (w->a->frame[frame].gen == path->hop[path->n - 1].gen)
		return;
	/* Whatever the last path that was looked at left in it. */
	use.leaf = use.fault = use.absent = false;
	use.ev = w->a->now;
	if (w->weak)
		use.ev = use.rv_min = w->a->frame[frame].died;
	if (!w->mmu->may_hold(w, &use, path))
		return;
	xviolate(w, XRULE_WALK_FREED,
		 "cpu%u's walk for 0x%llx may follow %s to frame %u, a table that cpu%u freed at step %u",
		 use.cpu, (unsigned long long)acc->va,
		 xname_word(w, path->hop[path->n - 1].off, name), frame,
		 w->a->frame[frame].died_cpu, w->a->frame[frame].died_step);
}

static bool collect(struct xworld *w, const struct xpath *path, const struct xpte *p,
		    void *arg)
{
	struct access *acc = arg;
	struct xtranslation o;

	if (p->kind == XPTE_TABLE) {
		if (!acc->describe)
			check_table(w, acc, path, p);
		return w->stop;
	}
	if (!xmmu_translate(w, &acc->use, path, p, acc->write, &o))
		return false;
	if (acc->foreign) {
		if (o.fault || acc->describe)
			return false;
		xviolate(w, XRULE_WRONG_CONTEXT,
			 "cpu%u's access to 0x%llx may use a translation of another address space (frame %u), left under context %u",
			 acc->use.cpu, (unsigned long long)acc->va,
			 (u32)(p->pa >> w->page_shift), acc->use.ctx);
		return true;
	}
	for (u32 i = 0; i < acc->n; i++)
		if (same(w, acc, &acc->out[i], &o)) {
			if (o.current)
				acc->out[i] = o;
			return false;
		}
	if (acc->n < MAX_OUTCOMES)
		acc->out[acc->n++] = o;
	return false;
}

static void swap_out(struct access *acc, u32 i)
{
	struct xtranslation o = acc->out[0];

	acc->out[0] = acc->out[i];
	acc->out[i] = o;
}

/* All outcomes of an access now, the current one first. */
static void outcomes(struct xworld *w, struct access *acc)
{
	struct xuse own = acc->use;
	u32 nr_log = w->a->cpu[own.cpu].nr_log;

	acc->n = 0;
	acc->foreign = false;
	xmmu_enumerate(w, own.root, own.root_gen, acc->va, collect, acc);
	for (u32 i = 0; i < acc->n; i++)
		if (acc->out[i].current)
			swap_out(acc, i);
	acc->foreign = true;
	for (u32 i = 0; i < nr_log && !w->stop; i++) {
		const struct xlog *l = &w->a->log[own.cpu][i];

		if (l->kind != XLOG_ROOT || l->ctx != own.ctx ||
		    (l->root == own.root && l->root_gen == own.root_gen))
			continue;
		acc->use = own;
		acc->use.root = l->root;
		acc->use.root_gen = l->root_gen;
		xmmu_enumerate(w, l->root, l->root_gen, acc->va, collect, acc);
	}
	acc->use = own;
}

static void footprint(struct xworld *w, struct access *acc, struct xstep *s)
{
	xstep_add(s, XOBJ_TLB, acc->use.cpu, false);
	for (u32 i = 0; i < acc->n; i++) {
		const struct xtranslation *o = &acc->out[i];

		/* The walker does not look into the store buffer. */
		for (u32 j = 0; j < o->path.n; j++) {
			xstep_add(s, XOBJ_FRAME, xframe_of(w, o->path.hop[j].off) |
				  XOBJ_FRAME_LIFE, false);
			xframe_footprint(w, XNOBODY, xframe_of(w, o->path.hop[j].off), s);
			if (o->update && j + 1 == o->path.n)
				xmem_store_footprint(w, XNOBODY, o->path.hop[j].off, s);
			else
				xstep_look(s, o->path.hop[j].off);
		}
		if (o->fault) {
			/* x86 drops what is cached for the address. */
			if (!w->weak)
				xstep_add(s, XOBJ_TLB, acc->use.cpu, true);
			continue;
		}
		xstep_add(s, XOBJ_FRAME, (u32)(o->p.pa >> w->page_shift), false);
		xframe_footprint(w, acc->use.cpu, (u32)(xmmu_pa(w, o, acc->va) >> w->page_shift),
				 s);
		if (!acc->write)
			xstep_load(s, acc->use.cpu, XFRAMES_AT + (u32)xmmu_pa(w, o, acc->va));
		else if (w->weak && !w->overtake)
			xmem_store_footprint(w, acc->use.cpu, XFRAMES_AT +
					     (u32)xmmu_pa(w, o, acc->va), s);
	}
}

/*
 * The walker sets A and D by a locked operation on the entry that is there; with arm64's
 * hafdbs, perhaps later.
 */
static void update_entry(struct xworld *w, struct access *acc, struct xtranslation *o)
{
	struct xhop *hop = &o->path.hop[o->path.n - 1];
	u64 val = w->mmu->mark_used(w, xmem_read(w, hop->off, 8), acc->write);
	char name[64];
	u32 ts;

	if (val == hop->val || xupdate_owe(w, acc->use.cpu, hop->off, acc->write))
		return;
	xev_t(w, acc->t, acc->write ? &user_store : &user_load,
	      "the walker marks %s used: 0x%llx -> 0x%llx", xname_word(w, hop->off, name),
	      (unsigned long long)hop->val, (unsigned long long)val);
	ts = xmem_append(w, acc->use.cpu, hop->off, 8, val, NULL);
	if (w->weak)
		w->a->cpu[acc->use.cpu].v.h = ts;
}

static void tell(struct xworld *w, struct access *acc, const struct xtranslation *o, u64 val)
{
	const struct xhop *hop = &o->path.hop[o->path.n - 1];
	u32 frame = (u32)(o->p.pa >> w->page_shift);
	const struct xarena *a = w->a;
	const char *verb = acc->write ? "stores" : "loads";
	char stale[120] = "";
	char name[64];

	if (!o->current) {
		const struct xhop *h = hop;

		for (u32 i = 0; i < o->path.n; i++)
			if (o->path.hop[i].tw != XNEVER) {
				h = &o->path.hop[i];
				break;
			}
		snprintf(stale, sizeof(stale),
			 ", a stale translation: %s has changed since%s",
			 xname_word(w, h->off, name),
			 h == hop ? "" : " (walk cache)");
	}
	(void)a;
	xev_t(w, acc->t, acc->write ? &user_store : &user_load, "%s 0x%llx %s 0x%llx through frame %u%s", verb,
	      (unsigned long long)acc->va, acc->write ? "=" : ":",
	      (unsigned long long)val, frame, stale);
}

void xstore_via(struct xstore *st, const struct xpath *path)
{
	st->nr_via = (u8)path->n;
	for (u32 i = 0; i < path->n; i++)
		st->via[i] = path->hop[i].msg;
}

static void do_store(struct xworld *w, struct access *acc, struct xtranslation *o, u64 val)
{
	u32 frame = (u32)(xmmu_pa(w, o, acc->va) >> w->page_shift);
	struct xstore st = {
		.val = val, .off = XFRAMES_AT + (u32)xmmu_pa(w, o, acc->va), .size = 8,
		.kind = XSTORE_USER, .site = &user_store, .frame = (u16)frame,
		.gen = w->a->frame[frame].gen, .va = acc->va,
		.shift = (u8)xheight_shift(w, o->path.hop[o->path.n - 1].height),
	};

	xstore_via(&st, &o->path);
	xmem_store(w, acc->use.cpu, &st);
}

static u64 read_through(struct xworld *w, struct xuse *use, const struct xtranslation *o,
		     u32 off)
{
	struct xread r = {
		.off = off, .size = 8, .view = o->rv, .use = use, .path = &o->path,
	};
	bool found = xweak_read(w, use->cpu, &r);

	XASSERT(found);
	return r.val;
}

static u64 do_load(struct xworld *w, struct access *acc, struct xtranslation *o)
{
	u32 off = XFRAMES_AT + (u32)xmmu_pa(w, o, acc->va);
	const struct xstore *fwd = xmem_forward(w, acc->use.cpu, off);

	if (fwd)
		return fwd->val;
	if (w->weak)
		return read_through(w, &acc->use, o, off);
	return xmem_read(w, off, 8);
}

/* Carry out one outcome. Returns 0 or the fault's flags. */
static u32 perform(struct xworld *w, struct access *acc, struct xtranslation *o, u64 *val)
{
	struct xthr *t = acc->t;
	u32 frame = (u32)(xmmu_pa(w, o, acc->va) >> w->page_shift);

	if (w->weak)
		xweak_walked(w, &acc->use, o->rv, acc->va, o->fault);
	if (o->fault) {
		xev_t(w, t, acc->write ? &user_store : &user_load, "%s 0x%llx faults%s",
		      acc->write ? "store to" : "load of", (unsigned long long)acc->va,
		      o->current ? "" : " by a stale entry");
		return fault_flags(o, acc->write);
	}
	if (o->update)
		update_entry(w, acc, o);
	if (acc->write)
		do_store(w, acc, o, *val);
	else
		*val = do_load(w, acc, o);
	t->results = xmix(t->results ^ *val ^ (u64)acc->write << 63);
	if (unlikely(w->events))
		tell(w, acc, o, *val);
	(void)frame;
	return 0;
}

/* Could an access that begins now, after all that has happened, have this outcome? */
static bool live(struct xworld *w, const struct access *acc, const struct xtranslation *o)
{
	struct xuse use = acc->use;

	use.leaf = true;
	use.fault = false;
	use.ev = use.rv_min = xnow_odd(w);
	return !o->fault && w->mmu->may_hold(w, &use, &o->path);
}

/*
 * Was the entry broken (made invalid) between the two? Then each access uses the old
 * translation or the new one, and what is stale is the other rules' business: this is
 * what Linux does whenever a fault comes between another thread's zap and its flush. The
 * architecture wants the invalidation in between, too, if one of them can be
 * written; no rule here asks for it.
 */
static bool broken_between(const struct xworld *w, const struct xtranslation *a,
			   const struct xtranslation *b)
{
	const struct xmsg *msg = w->a->msg;
	struct xpte p;

	for (u32 i = 0; i < a->path.n && i < b->path.n; i++) {
		const struct xhop *old = &a->path.hop[i], *new = &b->path.hop[i];

		if (old->off != new->off)
			return false;
		if (old->ts == new->ts)
			continue;
		if (old->ts > new->ts) {
			const struct xhop *hop = old;

			old = new;
			new = hop;
		}
		for (u16 m = old->msg; m != XNIL && m != new->msg; m = msg[m].next) {
			w->mmu->decode(w, msg[m].val, old->height, &p);
			if (p.kind == XPTE_NONE)
				return true;
		}
		return false;
	}
	return false;
}

/* arm64, POWER: two entries that are both live must agree on output and size. */
static void check_conflict(struct xworld *w, struct access *acc)
{
	const struct xtranslation *first = NULL;

	if (acc->n < 2 || !w->weak || w->prog.no_conflict)
		return;
	for (u32 i = 0; i < acc->n; i++) {
		const struct xtranslation *o = &acc->out[i];

		if (!live(w, acc, o))
			continue;
		if (first && ((xmmu_pa(w, first, acc->va) != xmmu_pa(w, o, acc->va) &&
			       !broken_between(w, first, o)) ||
			      first->path.hop[first->path.n - 1].height !=
				      o->path.hop[o->path.n - 1].height)) {
			xviolate(w, XRULE_CONFLICT,
				 "cpu%u may hold two translations of 0x%llx, to frames %u and %u: the entry was changed with no invalidation between (break before make)",
				 acc->use.cpu, (unsigned long long)acc->va,
				 (u32)(first->p.pa >> w->page_shift),
				 (u32)(o->p.pa >> w->page_shift));
			return;
		}
		first = o;
	}
}

/*
 * Is all that the walk and the access find in memory visible yet? A stale entry may lead to a
 * frame that is somebody else's by now, and an access come before that: other rules' business.
 */
static void check_contents(struct xworld *w, const struct access *acc,
			   const struct xtranslation *o)
{
	const struct xframe *f = w->a->frame;
	const struct xhop *hop = o->path.hop;
	u32 frame;

	for (u32 i = 0; i < o->path.n; i++) {
		frame = xframe_of(w, hop[i].off);
		if (f[frame].gen == hop[i].table_gen)
			xoracle_first_contents(w, acc->use.cpu, frame, false, true);
	}
	frame = (u32)(xmmu_pa(w, o, acc->va) >> w->page_shift);
	if (!o->fault && f[frame].gen == hop[o->path.n - 1].gen)
		xoracle_first_contents(w, acc->use.cpu, frame, acc->write, false);
}

/*
 * The access has faulted by a stale entry STALE_FAULTS times, and no other thread has moved since
 * the first: the handler has found what it made, and would find it again. Without end, as
 * long as who changed the entry does not come to the end of his invalidation:
 *
 *	CPU 0					CPU 1
 *	clears a read-only entry; TLBI
 *						store: faults by it
 *						handler: makes a writable one
 *						store: faults by the old one
 *						handler: nothing to do
 *						...
 *	DSB
 */
#define STALE_FAULTS 2

static void drop_stale_faults(struct access *acc)
{
	u32 n = 0;

	if (!acc->n || !acc->out[0].current)
		return;
	for (u32 i = 0; i < acc->n; i++)
		if (!acc->out[i].fault || acc->out[i].current)
			acc->out[n++] = acc->out[i];
	acc->n = n;
}

/* Faults of an access by stale entries, one after another. */
struct refused {
	u32 first, n;		/* step of the first */
};

static u32 attempt(struct xworld *w, struct access *acc, struct refused *r, u64 *val)
{
	struct xtranslation *o;

	outcomes(w, acc);
	if (r->n && w->a->runs_since > r->first)
		r->n = 0;
	if (r->n == STALE_FAULTS)
		drop_stale_faults(acc);
	XASSERT(w->stop || acc->n);
	for (u32 i = 0; i < acc->n; i++) {
		o = &acc->out[i];
		check_contents(w, acc, o);
		if (o->fault)
			continue;
		xoracle_access(w, acc->use.cpu, &o->path,
			       (u32)(xmmu_pa(w, o, acc->va) >> w->page_shift), acc->va,
			       acc->write, o->rv);
	}
	check_conflict(w, acc);
	o = &acc->out[xchoose(w, XCHOICE_TRANSLATION, acc->n)];
	if (!o->fault || o->current)
		r->n = 0;
	else if (!r->n++)
		r->first = w->a->step;
	return perform(w, acc, o, val);
}

static int fault(struct xworld *w, struct xthr *t, u64 va, u32 flags)
{
	if (w->weak)
		xweak_context_sync(w, t->cpu);
	else	/* SDM 4.10.4.1: a page fault drops what is cached for the address */
		xmmu_log(w, t->cpu, &(struct xlog){
			.kind = XLOG_DROP_PAGE, .ctx = xcpu_of(w, t)->ctx, .va = va,
		});
	if (w->prog.core)
		return w->prog.core->fault(va, flags);
	return w->prog.fault ? w->prog.fault(va, flags) : MACH_SIGSEGV;
}

static void describe_access(struct xworld *w, struct xthr *t)
{
	struct access acc = {
		.t = t, .va = t->describe.a, .write = t->describe.b, .describe = true,
	};

	xstep_clear(&t->step);
	if (!xmmu_use(w, t->cpu, &acc.use))
		return;
	outcomes(w, &acc);
	footprint(w, &acc, &t->step);
}

int xuser_access(u64 va, bool write, u64 *val)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	struct refused r = { 0 };

	XASSERT(!(va & 7));
	for (;;) {
		struct access acc = { .t = t, .va = va, .write = write };
		u32 flags;
		int sig;

		if (!xmmu_use(w, t->cpu, &acc.use))
			return MACH_SIGSEGV;
		xstep_begin(t, write ? &user_store : &user_load,
			    write ? MACH_SITE_STORE : MACH_SITE_LOAD);
		xstep_describe(w, t, describe_access, va, write);
		xpark_buffer(w, t, XWHY_STEP, write ? XNEED_ROOM : XNEED_NONE);
		/* The return to user mode has synchronised context (ERET, rfid). */
		xcpu_of(w, t)->unsynced = 0;
		/* An interrupt may have loaded another root. */
		xmmu_use(w, t->cpu, &acc.use);
		flags = attempt(w, &acc, &r, val);
		if (!flags)
			return MACH_SIGNAL_NONE;
		sig = fault(w, t, va, flags);
		if (sig)
			return sig;
	}
}

static void describe_insn(struct xworld *w, struct xthr *t)
{
	xstep_clear(&t->step);
	w->mmu->insn_footprint(w, t->cpu, t->describe.b, &t->step);
}

s64 xinsn(u32 insn, u64 a, u64 b, u32 c, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	if (xskip(w, site))
		return 0;
	if (!w->booting) {
		xstep_begin(t, site, MACH_SITE_INSN);
		if (w->mmu->insn_footprint(w, t->cpu, insn, &t->step)) {
			xstep_describe(w, t, describe_insn, 0, insn);
			xpark_buffer(w, t, XWHY_STEP,
				     w->mmu->insn_drains && w->mmu->insn_drains(insn) ?
					     XNEED_EMPTY : XNEED_NONE);
		}
	}
	return w->mmu->insn(w, t, insn, a, b, c);
}
