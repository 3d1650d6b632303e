// SPDX-License-Identifier: GPL-2.0-or-later
/* LOST-WRITE, LOST-DIRTY, UNLOCKED, uses of freed objects, first contents; oracle.h says when. */
#include "world.h"

/* ---- LOST-WRITE ---- */

void xoracle_user_store(struct xworld *w, const struct xstore *st, u32 cpu, u32 ts)
{
	struct xarena *a = w->a;

	if (a->nr_kept == XMAX_KEPT)
		return;
	a->kept[a->nr_kept++] = (struct xkept){
		.va = st->va, .off = st->off, .ts = ts, .root = st->root,
		.root_gen = st->root_gen, .gen = st->gen, .step = a->step, .cpu = (u8)cpu,
	};
}

struct xcopy *xoracle_copy_begins(struct xworld *w, u32 to, u32 from)
{
	struct xarena *a = w->a;
	struct xcopy *c;

	if (a->nr_copies == XMAX_COPIES)
		return NULL;
	c = &a->copy[a->nr_copies++];
	*c = (struct xcopy){
		.from = (u16)from, .to = (u16)to, .from_gen = a->frame[from].gen,
		.to_gen = a->frame[to].gen, .start = a->now,
	};
	return c;
}

/* The newest message that may have given val. */
void xoracle_copied(struct xworld *w, struct xcopy *c, u32 off, u64 val)
{
	const struct xword *word = xword_find(w, off);
	u16 i;

	if (!c || !word || c->n == XMAX_COPIED)
		return;
	for (i = word->last; i != XNIL && w->a->msg[i].val != val; i = w->a->msg[i].prev)
		;
	c->word[c->n].off = off;
	c->word[c->n++].ts = i == XNIL ? 0 : w->a->msg[i].ts;
}

/* When the copy was as old as what it has of the word. */
static u32 copied_at(const struct xcopy *c, u32 off)
{
	for (u32 i = 0; i < c->n; i++)
		if (c->word[i].off == off)
			return c->word[i].ts;
	/* It had no record then: it was zero, or as the snapshot has it. */
	return c->start;
}

struct leads {
	u32 frame;
	u16 gen;
};

static bool leads_to(struct xworld *w, const struct xpath *path, const struct xpte *p,
		     void *arg)
{
	const struct leads *l = arg;
	u32 shift = xheight_shift(w, path->hop[path->n - 1].height);
	u64 pa = (p->pa & ~((1ULL << shift) - 1)) | (path->va & ((1ULL << shift) - 1));

	return p->kind == XPTE_LEAF && xpath_current(path) &&
	       pa >> w->page_shift == l->frame && path->hop[path->n - 1].gen == l->gen;
}

static bool is_lost(struct xworld *w, const struct xkept *k, const struct xcopy *c)
{
	struct leads l = { c->to, c->to_gen };

	if (c->from != xframe_of(w, k->off) || c->from_gen != k->gen ||
	    k->ts <= copied_at(c, k->off) || w->a->frame[k->root].gen != k->root_gen)
		return false;
	return xmmu_enumerate(w, k->root, k->root_gen, k->va, leads_to, &l);
}

void xoracle_lost_writes(struct xworld *w)
{
	const struct xarena *a = w->a;

	for (u32 i = 0; i < a->nr_kept; i++)
		for (u32 j = 0; j < a->nr_copies; j++) {
			const struct xkept *k = &a->kept[i];

			if (!is_lost(w, k, &a->copy[j]))
				continue;
			xviolate(w, XRULE_LOST_WRITE,
				 "cpu%u's store to 0x%llx at step %u went to frame %u, whose copy, made before, is what is mapped there now (frame %u)",
				 k->cpu, (unsigned long long)k->va, k->step,
				 a->copy[j].from, a->copy[j].to);
			return;
		}
}

/* ---- entries ---- */

/* As the leaf of some height; kind NONE: nothing is there. */
static void decode(const struct xworld *w, u64 val, struct xpte *p)
{
	w->mmu->decode(w, val, 0, p);
	if (p->kind == XPTE_NONE)
		w->mmu->decode(w, val, 1, p);
}

/* It leads to a table: whose words nobody could reach until now, perhaps. */
static void hooked(struct xworld *w, const struct xpte *p)
{
	u32 frame = (u32)(p->pa >> w->page_shift);

	if (p->kind != XPTE_NONE && frame < w->nr_frames && w->a->frame[frame].table)
		w->a->frame[frame].hooks++;
}

void xoracle_entry(struct xworld *w, struct xword *word, u32 cpu, u64 val, bool hardware)
{
	struct xpte was, is;
	char name[64];

	decode(w, val, &is);
	if (hardware) {
		decode(w, w->a->msg[word->last].val, &was);
		if (val && is.dirty && !was.dirty)
			word->unseen = 0xff;
		else if (!val)
			word->unseen = 0;
		return;
	}
	hooked(w, &is);
	if ((word->unseen >> cpu & 1) && !(is.kind == XPTE_LEAF && is.dirty))
		xviolate(w, XRULE_LOST_DIRTY,
			 "cpu%u overwrites %s, in which hardware has set the dirty bit since cpu%u last read it",
			 cpu, xname_word(w, word->off, name), cpu);
	word->unseen = 0;
}

void xoracle_saw(struct xworld *w, u32 cpu, u32 off, u64 val)
{
	struct xword *word = xword_find(w, off);
	struct xpte p;

	if (!word || likely(!word->unseen))
		return;
	decode(w, val, &p);
	if (p.dirty)
		word->unseen &= (u8)~(1U << cpu);
}

/* ---- UNLOCKED ---- */

void xoracle_held(struct xthr *t, u32 lock, bool take)
{
	if (take) {
		if (t->nr_held < XMAX_HELD)
			t->held[t->nr_held++] = lock;
		return;
	}
	for (u32 i = 0; i < t->nr_held; i++)
		if (t->held[i] == lock) {
			t->held[i] = t->held[--t->nr_held];
			return;
		}
}

static bool holds(const struct xthr *t, u32 lock)
{
	for (u32 i = 0; i < t->nr_held; i++)
		if (t->held[i] == lock)
			return true;
	return false;
}

struct find_height {
	u32 off;
	u32 height;
	bool leaf;
};

static bool is_word(struct xworld *w, const struct xpath *path, const struct xpte *p,
		    void *arg)
{
	const struct xhop *hop = &path->hop[path->n - 1];
	struct find_height *f = arg;

	if (hop->off != f->off || hop->tw != XNEVER ||
	    hop->table_gen != w->a->frame[xframe_of(w, f->off)].gen)
		return false;
	f->height = hop->height;
	f->leaf = p->kind == XPTE_LEAF;
	return true;
}

/*
 * Is it an entry of the kind that Linux only changes under its page-table lock, in a table
 * that some CPU has loaded? Tables are unhooked by who has the area to himself, without it.
 */
static bool needs_lock(struct xworld *w, u32 off)
{
	struct find_height f = { .off = off };

	for (u32 i = 0; i < w->nr_cpus; i++) {
		const struct xcpu *c = &w->a->cpu[i];

		if (c->loaded && xmmu_enumerate(w, c->root, c->root_gen, XVA_ANY, is_word, &f))
			return !f.height || f.leaf;
	}
	return false;
}

void xoracle_lockset(struct xworld *w, struct xthr *t, u32 off)
{
	u32 frame = xframe_of(w, off), n = 0;
	struct xword *word;
	char name[64];

	if (w->a->phase != XPHASE_RUN || !frame || !w->a->frame[frame].table || !w->prog.core)
		return;
	word = xword_get(w, off, 8);
	if (!word->writer || word->hooks != w->a->frame[frame].hooks) {
		word->writer = t->cpu + 1U;
		word->hooks = w->a->frame[frame].hooks;
		for (; n < t->nr_held && n < XLOCKSET; n++)
			word->lockset[n] = t->held[n];
		word->nr_lockset = (u8)n;
		return;
	}
	for (u32 i = 0; i < word->nr_lockset; i++)
		if (holds(t, word->lockset[i]))
			word->lockset[n++] = word->lockset[i];
	word->nr_lockset = (u8)n;
	if (word->writer != t->cpu + 1U)
		word->writer = XWRITERS;
	if (!n && word->writer == XWRITERS && needs_lock(w, off))
		xviolate(w, XRULE_UNLOCKED,
			 "cpu%u writes %s with no lock held that its other writers had", t->cpu,
			 xname_word(w, off, name));
}

/* ---- freed objects ---- */

void xoracle_heap(struct xworld *w, u32 cpu, u32 off, bool write, bool drain)
{
	const struct xarena *a = w->a;
	char name[64];

	for (u32 i = 0; i < a->nr_kfreed; i++)
		if (off - a->kfreed[i].off < a->kfreed[i].size &&
		    !(drain && a->kfreed[i].cpu == cpu))
			xviolate(w, XRULE_BUG, "cpu%u %s %s, of an object that was freed", cpu,
				 write ? "writes" : "reads", xname_word(w, off, name));
}

/* ---- first contents ---- */

void xoracle_first_contents(struct xworld *w, u32 cpu, u32 frame, bool write, bool walker)
{
	const struct xframe *f = &w->a->frame[frame];

	if (likely(!f->clearing) || (f->clearing == cpu + 1 && !walker))
		return;
	xviolate(w, f->table ? XRULE_WALK_FREED : write ? XRULE_STALE_WRITE : XRULE_STALE_READ,
		 "cpu%u%s %s frame %u, and what cpu%u put there first is not visible yet: it %s",
		 cpu, walker ? "'s walk" : "", write ? "writes to" : "reads", frame,
		 f->clearing - 1U, write ? "will overwrite that" : "finds what was there before");
}
