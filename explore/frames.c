/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page frames and the core's objects.
 *
 * A freed frame goes to the pool of the CPU that freed it, and a CPU allocates
 * from its own pool first (the last one freed), as from the kernel's per-CPU
 * lists: so two CPUs that allocate do not depend on each other, and a frame freed is
 * the next one used. Frames of no pool are shared.
 * Blocks of more than one frame come from the shared part.
 *
 * Nodes are equal parts of the first 2 MiB, by number; of the others each has one in turn, so
 * that small pages of one leave room for huge ones of another. A pool has frames of its CPU's
 * node, and is asked for no others. What a node has none of in the shared part comes from
 * anywhere.
 *
 * Whoever allocates a frame stores its first contents: zeroes, or what he copies. On weak
 * machines these are stores like any other, which may be visible later than the store that
 * shows the frame to others. Kept is one XSTORE_CLEAR for all of a block: an entry of the
 * store buffer, which a later store may overtake, and fences order. Until it drains, what is
 * in the frame is for its own CPU's kernel code only, which finds it forwarded; others, and every
 * walker, would find what the frame held in its last life, and that is reported:
 *
 *	CPU 0					CPU 1
 *	zeroes a table (buffered)
 *	(no smp_wmb())
 *	PMD entry = table, visible
 *						walks: whose entries are these?
 *
 * So nobody ever reads what it held, and the words are zero from the allocation on. x86 keeps
 * stores in order: there it makes no difference.
 */
#include "world.h"

u32 xcpu_node(const struct xworld *w, u32 cpu)
{
	return cpu * w->nr_nodes / w->nr_cpus;
}

static u32 node_of(const struct xworld *w, u32 pfn)
{
	u32 block = 1U << (21 - w->page_shift);

	if (pfn >= block)
		return (pfn / block - 1) % w->nr_nodes;
	return pfn * w->nr_nodes / (w->nr_frames < block ? w->nr_frames : block);
}

u32 xframe_node(u64 pfn)
{
	return node_of(xstack()->w, (u32)pfn);
}

static struct xframe *block(struct xworld *w, u64 pfn, u32 order)
{
	XASSERT(pfn && pfn + (1ULL << order) <= w->nr_frames);
	return &w->a->frame[pfn];
}

void xframes_init(struct xworld *w)
{
	struct xarena *a = w->a;

	for (u32 i = 0; i < w->nr_frames; i++) {
		a->frame[i].words = XNIL;
		a->frame[i].gen = 1;
		a->frame[i].order = 0xff;
		a->frame[i].zero = 1;
	}
	/* Taken from the end: low numbers first. Frame 0 never. */
	for (u32 i = w->nr_frames; i-- > 1;)
		a->free[a->nr_free++] = (u16)i;
}

/* Shared frames of a node, the last one freed. */
static u32 take_one(struct xworld *w, u32 node)
{
	struct xarena *a = w->a;

	for (u32 i = a->nr_free; i-- > 0;) {
		u16 pfn = a->free[i];

		if (node_of(w, pfn) != node)
			continue;
		a->nr_free--;
		for (; i < a->nr_free; i++)
			a->free[i] = a->free[i + 1];
		return pfn;
	}
	return 0;
}

/* The first run of 2^order on node that is aligned and free. */
static u32 take_run(struct xworld *w, u32 order, u32 node)
{
	struct xarena *a = w->a;
	u32 n = 1U << order;

	for (u32 pfn = n; pfn + n <= w->nr_frames; pfn += n) {
		u32 found = 0;

		for (u32 i = 0; i < a->nr_free; i++)
			found += a->free[i] >= pfn && a->free[i] < pfn + n;
		if (found != n || node_of(w, pfn) != node)
			continue;
		for (u32 i = 0, j = 0, nr = a->nr_free; i < nr; i++) {
			if (a->free[i] >= pfn && a->free[i] < pfn + n)
				a->nr_free--;
			else
				a->free[j++] = a->free[i];
		}
		return pfn;
	}
	return 0;
}

/* Shared frames: of node, or else of another. */
static u32 take_shared(struct xworld *w, u32 order, u32 node)
{
	for (u32 i = 0; i < w->nr_nodes; i++) {
		u32 from = (node + i) % w->nr_nodes;
		u32 pfn = order ? take_run(w, order, from) : take_one(w, from);

		if (pfn)
			return pfn;
	}
	return 0;
}

/* So that allocations on two CPUs do not meet. */
void xframes_fill_pools(struct xworld *w)
{
	struct xarena *a = w->a;
	u32 each = a->nr_free / (2 * w->nr_cpus);

	if (each > 4)
		each = 4;
	for (u32 i = 0; i < w->nr_cpus; i++)
		for (u32 j = a->cpu[i].nr_pool; j < each; j++) {
			u32 pfn = take_one(w, xcpu_node(w, i));

			if (pfn)
				a->cpu[i].pool[a->cpu[i].nr_pool++] = (u16)pfn;
		}
}

/* When the shared part is empty: another CPU's, lowest first. */
static u32 steal(struct xworld *w)
{
	for (u32 i = 0; i < w->nr_cpus; i++) {
		struct xcpu *c = &w->a->cpu[i];

		if (c->nr_pool)
			return c->pool[--c->nr_pool];
	}
	return 0;
}

static void zero_words(struct xworld *w, u32 cpu, struct xframe *f)
{
	(void)cpu;
	for (u16 i = f->words; i != XNIL; i = w->a->word[i].next) {
		struct xword *word = &w->a->word[i];

		/* What walkers saw of its last life ended with its free. */
		xmem_append(w, cpu, word->off, word->size, 0, NULL);
	}
}

/* Before the snapshot: nobody but this CPU can reach what is allocated. */
static bool clears_later(const struct xworld *w)
{
	return w->weak && w->overtake && !w->booting && w->a->phase == XPHASE_RUN;
}

static void clear_later(struct xworld *w, struct xthr *t, u32 pfn, u32 order,
			const struct mach_site *site)
{
	struct xstore st = {
		.off = XFRAMES_AT + (pfn << w->page_shift), .kind = XSTORE_CLEAR,
		.shift = (u8)order, .frame = (u16)pfn, .gen = w->a->frame[pfn].gen,
		.site = site,
	};

	for (u32 i = 0; i < 1U << order; i++)
		w->a->frame[pfn + i].clearing = t->cpu + 1;
	xmem_store(w, t->cpu, &st);
}

void xframes_cleared(struct xworld *w, u32 cpu, const struct xstore *st)
{
	struct xframe *f = &w->a->frame[st->frame];

	/* Freed since: what it holds is the next owner's affair. */
	if (f->gen != st->gen)
		return;
	for (u32 i = 0; i < 1U << st->shift; i++)
		f[i].clearing = 0;
	xev(w, XAGENT_DRAIN, cpu, cpu, st->site, "contents of frame %u are visible",
	    st->frame);
}

void xframe_footprint(const struct xworld *w, u32 cpu, u32 frame, struct xstep *s)
{
	u32 clearing = w->a->frame[frame].clearing;

	if (unlikely(clearing) && clearing != cpu + 1)
		xstep_add(s, XOBJ_FRAME, XOBJ_FRAME_CLEAR + clearing - 1, false);
}

/* One entry leads to all frames of a huge page, and knows one generation. */
static void same_gen(struct xframe *f, u32 n)
{
	u16 gen = 0;

	for (u32 i = 0; i < n; i++)
		gen = f[i].gen > gen ? f[i].gen : gen;
	for (u32 i = 0; i < n; i++)
		f[i].gen = gen;
}

/*
 * A huge page is not cleared byte by byte: what it never had is zero, and what it had are
 * words (user mode's, and copies of them). A frame that plain C may have written
 * (anything smaller) is cleared, and known to be zero no more.
 */
static void frames_begin(struct xworld *w, u32 cpu, u32 pfn, u32 order, u32 gfp)
{
	char *p = w->phys + ((u64)pfn << w->page_shift);

	if (order)
		same_gen(&w->a->frame[pfn], 1U << order);
	for (u32 i = 0; i < 1U << order; i++) {
		struct xframe *f = &w->a->frame[pfn + i];

		XASSERT(!f->used);
		f->used = 1;
		f->table = !!(gfp & MACH_GFP_TABLE);
		f->order = i ? 0xff : (u8)order;
		f->plain = !w->prog.core || (gfp & MACH_GFP_ATOMIC);
		f->dirty = 1;
		f->boot = w->booting;
		/* Zeroing is a write: an odd time would be before the next. */
		w->a->now += 2;
		f->born = w->a->now;
		/* Always: contents must not depend on who had it before. */
		if (order < XHUGE_ORDER)
			f->zero = 0;
		if (!f->zero)
			memset(p + ((u64)i << w->page_shift), 0, 1UL << w->page_shift);
		zero_words(w, cpu, f);
	}
}

/* Can this CPU's pool serve it? */
static bool from_pool(const struct xworld *w, const struct xthr *t, u32 order, u32 node)
{
	return !order && w->a->cpu[t->cpu].nr_pool && node == xcpu_node(w, t->cpu);
}

static void describe_alloc(struct xworld *w, struct xthr *t)
{
	const struct xcpu *c = xcpu_of(w, t);
	u32 order = (u32)t->describe.a;

	xstep_clear(&t->step);
	if (from_pool(w, t, order, (u32)t->describe.b))
		xstep_add(&t->step, XOBJ_FRAME, c->pool[c->nr_pool - 1], true);
	else if (w->a->nr_free >> order)
		xstep_add(&t->step, XOBJ_ALLOC, 0, true);
	else
		xstep_all(&t->step);	/* from another CPU's pool */
	xstep_order(w, &t->step);
}

u64 xalloc_frames(u32 order, s32 node, u32 gfp, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	struct xcpu *c = xcpu_of(w, t);
	u32 pfn, from = node < 0 ? xcpu_node(w, t->cpu) : (u32)node;

	if (!w->booting) {
		xskip(w, site);
		xstep_begin(t, site, MACH_SITE_MEM);
		xstep_describe(w, t, describe_alloc, order, from);
		xpark_buffer(w, t, XWHY_STEP, clears_later(w) ? XNEED_ROOM : XNEED_NONE);
		if ((gfp & MACH_GFP_ATOMIC) && xchoose(w, XCHOICE_ALLOC, 2)) {
			xev_t(w, t, site, "allocation fails");
			return MACH_NO_FRAME;
		}
	}
	if (from_pool(w, t, order, from))
		pfn = c->pool[--c->nr_pool];
	else
		pfn = take_shared(w, order, from);
	if (!pfn && !order)
		pfn = steal(w);
	if (!pfn)
		return MACH_NO_FRAME;
	frames_begin(w, t->cpu, pfn, order, gfp);
	if (clears_later(w))
		clear_later(w, t, pfn, order, site);
	xev_t(w, t, site, "allocates frame %u%s", pfn,
	      gfp & MACH_GFP_TABLE ? " (table)" : "");
	return pfn;
}

/*
 * Its entries are gone from memory; what a TLB holds of them stays. Entries
 * that nobody ever wrote since the snapshot have records too (world.c).
 */
static void words_end(struct xworld *w, u32 cpu, struct xframe *f)
{
	struct xarena *a = w->a;

	a->now += 2;
	for (u16 i = f->words; i != XNIL; i = a->word[i].next) {
		struct xmsg *m = &a->msg[a->word[i].last];

		if (m->tw == XNEVER)
			m->tw = a->now;
	}
	f->died = a->now;
	f->died_step = a->step;
	f->died_cpu = (u8)cpu;
}

static bool to_pool(const struct xworld *w, const struct xthr *t, u32 pfn, u32 order)
{
	return !order && w->a->cpu[t->cpu].nr_pool < XMAX_POOL &&
	       node_of(w, pfn) == xcpu_node(w, t->cpu);
}

/*
 * MACH_FREE_ZEROED: whoever is next may count on it. Of words that were written by the seam;
 * a store in this CPU's buffer comes before whatever the next owner does.
 */
static void check_zeroed(struct xworld *w, u32 cpu, u32 pfn, u32 order)
{
	char name[64];

	for (u32 k = 0; k < 1U << order; k++)
		for (u16 i = w->a->frame[pfn + k].words; i != XNIL; i = w->a->word[i].next) {
			const struct xword *word = &w->a->word[i];
			const struct xstore *st = xmem_forward(w, cpu, word->off);
			u64 val = st ? st->val : w->a->msg[word->last].val;

			if (val)
				xviolate(w, XRULE_BUG,
					 "cpu%u frees frame %u as all zero, and %s is 0x%llx", cpu,
					 pfn, xname_word(w, word->off, name),
					 (unsigned long long)val);
		}
}

void xfree_frames(u64 pfn, u32 order, u32 flags, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	struct xframe *f = block(w, pfn, order);
	bool table = f->table;

	if (!w->booting) {
		xskip(w, site);
		xstep_begin(t, site, MACH_SITE_MEM);
		if (!to_pool(w, t, (u32)pfn, order))
			xstep_add(&t->step, XOBJ_ALLOC, 0, true);
		for (u32 i = 0; i < 1U << order && i < XFOOTPRINT_MAX; i++)
			xstep_add(&t->step, XOBJ_FRAME, (u32)pfn + i, true);
		if (f->table)
			xstep_add(&t->step, XOBJ_FRAME, (u32)pfn | XOBJ_FRAME_LIFE, true);
		for (u32 i = 0; i < w->nr_cpus; i++) {
			xstep_check(&t->step, XOBJ_TLB, i);
			xstep_mode(w, t, i);
		}
		if (order)
			xstep_add(&t->step, XOBJ_ALLOC, 0, true);
		/*
		 * A table's takes no place in the order of writes. Its entries end with it, but
		 * if some cache could still use them, that is found here; so when they
		 * ended does not matter later. A page's: STALE-READ asks who knows of it.
		 */
		if (!f->table)
			xstep_order(w, &t->step);
		xpark(w, t, XWHY_STEP);
	}
	if (!f->used || f->order != order) {
		xviolate(w, XRULE_DOUBLE_FREE, "cpu%u frees frame %llu, which is %s", t->cpu,
			 (unsigned long long)pfn, f->used ? "part of a block of another order" :
			 "free");
		return;
	}
	if (!w->booting && (flags & MACH_FREE_ZEROED))
		check_zeroed(w, t->cpu, (u32)pfn, order);
	xev_t(w, t, site, "frees frame %llu%s", (unsigned long long)pfn,
	      f->table ? " (table)" : "");
	for (u32 i = 0; i < 1U << order; i++, f++) {
		struct xcpu *c = xcpu_of(w, t);

		f->used = 0;
		f->clearing = 0;
		f->dirty = 1;
		f->order = 0xff;
		f->gen++;
		words_end(w, t->cpu, f);
		xupdates_forget(w, (u32)pfn + i);
		if (!to_pool(w, t, (u32)pfn + i, order))
			w->a->free[w->a->nr_free++] = (u16)(pfn + i);
		else
			c->pool[c->nr_pool++] = (u16)pfn;
	}
	if (!w->booting)
		xoracle_free(w, t->cpu, (u32)pfn, order, table);
}

/*
 * Word by word, each a load and a store like any other: a store of user mode may come in
 * between. Words that were never written are zero, as all of the target is.
 */
void xcopy_frame(u64 to, u64 from, const struct mach_site *site)
{
	struct xworld *w = xstack()->w;
	struct xarena *a = w->a;
	s64 distance = (s64)(to - from) * (1L << w->page_shift);
	struct xthr *t = xstack()->t;
	struct xcopy *c = NULL;

	/* Stores from here on may be too late; but nobody writes to the page of zeroes. */
	if (!w->booting && !(a->frame[from].boot && a->frame[from].words == XNIL)) {
		xstep_begin(t, site, MACH_SITE_MEM);
		xstep_add(&t->step, XOBJ_FRAME, (u32)from, true);
		xpark(w, t, XWHY_STEP);
		c = xoracle_copy_begins(w, (u32)to, (u32)from);
		xev_t(w, t, site, "copies frame %u to frame %u", (u32)from, (u32)to);
	}
	for (u16 i = a->frame[from].words; i != XNIL; i = a->word[i].next) {
		char *p = (char *)a + a->word[i].off;
		u32 size = a->word[i].size, off = a->word[i].off;
		u64 val = xload(p, size, MACH_RELAXED, site);

		xoracle_copied(w, c, off, val);
		xstore(p + distance, size, val, MACH_RELAXED, site);
	}
}

void xframe_store(u64 pfn, u32 offset, u64 val, const struct mach_site *site)
{
	struct xworld *w = xstack()->w;

	xstore(w->phys + (pfn << w->page_shift) + offset, sizeof(val), val, MACH_RELAXED, site);
}

/* ---- objects ---- */

/*
 * Never reused, so no step: an address depends only on what the same CPU
 * allocated before.
 */
void *xkalloc(size_t size, u32 gfp, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	bool boot = w->booting || w->a->phase == XPHASE_INIT;
	u64 *next = boot ? &w->a->heap_boot : &xcpu_of(w, s->t)->heap;
	u64 end = boot ? XHEAP_AT + XHEAP_BOOT :
			 XHEAP_AT + XHEAP_BOOT + (s->t->cpu + 1) * XHEAP_CPU;
	u64 at = *next;

	(void)gfp;
	xskip(w, site);
	size = (size + 63) & ~63UL;
	if (size > end - at) {
		xviolate(w, XRULE_BUG, "out of kernel memory: one execution asked for %llu KiB",
			 (unsigned long long)(boot ? XHEAP_BOOT : XHEAP_CPU) >> 10);
		return NULL;
	}
	*next = at + size;
	for (u64 i = at; i < at + size; i += 64)
		w->heap_obj[(i - XHEAP_AT) >> 6] = (u16)((at - XHEAP_AT) >> 6);
	w->heap_site[(at - XHEAP_AT) >> 6] = site;
	memset((char *)w->a + at, 0, size);
	return (char *)w->a + at;
}

/* A step: who uses the object does so before it, or after it and is told. */
void xkfree(void *p, size_t size, const struct mach_site *site)
{
	struct xthr *t = xstack()->t;
	struct xworld *w = xstack()->w;
	struct xarena *a = w->a;
	u64 unit;

	xskip(w, site);
	if (w->booting || !xin_arena(w, p))
		return;
	xstep_begin(t, site, MACH_SITE_MEM);
	xstep_heap(w, &t->step, xoff(w, p), true);
	xpark(w, t, XWHY_STEP);
	unit = (xoff(w, p) - XHEAP_AT) >> 6;
	a->heap_freed[unit / 64] |= 1UL << unit % 64;
	if (a->nr_kfreed == XMAX_KFREED)
		return;
	a->kfreed[a->nr_kfreed].off = xoff(w, p);
	a->kfreed[a->nr_kfreed].cpu = t->cpu;
	a->kfreed[a->nr_kfreed++].size = (u32)size;
}
