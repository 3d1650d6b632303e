/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared words: what is visible, what waits in store buffers.
 *
 * Each visible write is a message; the last one is what other CPUs see (walkers and
 * weak loads may read older ones). A word without messages was never written.
 * At the word's address lies the newest value that anybody stored, drained or
 * not: so that C code that stores with WRITE_ONCE() and reads plainly under its
 * own lock finds what it wrote, as on hardware.
 *
 * x86 (SDM vol. 3A 8.2): each CPU has a FIFO buffer of stores. A store enters it
 * and needs no scheduling point, for nobody can see it; its drain is a step of
 * its own (XAGENT_DRAIN). Loads look into their own buffer first. Locked
 * operations, fences and serialising instructions wait until it is empty: the thread
 * cannot move while the drain agent has work, so that each drain is always the
 * same agent's step (reductions depend on that).
 *
 * arm64 and POWER: views (weak.c), and stores may overtake: the buffer has lanes,
 * which drain independently but for stores to the same word. The n-th store goes to
 * lane n modulo lanes, so that it may overtake the lanes - 1 before it, and
 * each drain is the same agent's step in every execution. Whatever orders stores empties it, so that the order
 * across it holds; that later loads may still be early is the views' doing.
 */
#include "world.h"

/* ---- words and messages ---- */

static u32 hash_of(u32 off)
{
	return (off >> 2) * 2654435761U >> 20 & (XHASH - 1);
}

struct xword *xword_find(struct xworld *w, u32 off)
{
	struct xarena *a = w->a;

	for (u32 h = hash_of(off); a->hash[h]; h = (h + 1) & (XHASH - 1))
		if (a->word[a->hash[h] - 1].off == off)
			return &a->word[a->hash[h] - 1];
	return NULL;
}

static u64 mem_flat(const struct xworld *w, u32 off, u32 size)
{
	const char *p = (const char *)w->a + off;

	return size == 4 ? *(const u32 *)(const void *)p : *(const u64 *)(const void *)p;
}

u64 xmem_read(struct xworld *w, u32 off, u32 size)
{
	const struct xword *word = xword_find(w, off);

	return word ? w->a->msg[word->last].val : mem_flat(w, off, size);
}

static void mem_write(struct xworld *w, struct xword *word, u32 size, u64 val)
{
	char *p = (char *)w->a + word->off;

	if (size == 4)
		*(u32 *)(void *)p = (u32)val;
	else
		*(u64 *)(void *)p = val;
	word->flat = mem_flat(w, word->off, word->size);
}

/* The frame that an entry with this value leads to has which generation? */
static u16 target_gen(const struct xworld *w, u64 val)
{
	struct xpte p;

	w->mmu->decode(w, val, 0, &p);
	/* Height 0, or 1 (arm64's blocks), decodes any present entry's address well enough. */
	if (p.kind == XPTE_NONE)
		w->mmu->decode(w, val, 1, &p);
	if (p.kind == XPTE_NONE || p.pa >= w->memory_bytes)
		return 0;
	return w->a->frame[p.pa >> w->page_shift].gen;
}

static struct xmsg *msg_new(struct xworld *w, struct xword *word)
{
	struct xarena *a = w->a;
	struct xmsg *m;

	if (a->nr_msgs == XMAX_MSGS - 1) {
		xviolate(w, XRULE_LIVELOCK, "more than %u writes in one execution",
			 XMAX_MSGS - 1);
		a->nr_msgs = 0;	/* on the host's stack: over anyway */
	}
	m = &a->msg[a->nr_msgs];
	*m = (struct xmsg){
		.tw = XNEVER, .word = (u16)(word - a->word), .next = XNIL,
		.prev = word->last, .step = a->step,
		.table_gen = word->frame ? a->frame[word->frame].gen : 0,
	};
	if (word->last != XNIL)
		a->msg[word->last].next = (u16)a->nr_msgs;
	else
		word->first = (u16)a->nr_msgs;
	word->last = (u16)a->nr_msgs++;
	return m;
}

/* The word's record; a new one starts with the value of before. */
struct xword *xword_get(struct xworld *w, u32 off, u32 size)
{
	struct xword *word = xword_find(w, off);
	struct xarena *a = w->a;
	struct xframe *f = NULL;
	struct xmsg *m;
	u32 h, frame;

	if (likely(word))
		return word;
	XASSERT(a->nr_words < XMAX_WORDS);
	for (h = hash_of(off); a->hash[h]; h = (h + 1) & (XHASH - 1))
		;
	word = &a->word[a->nr_words++];
	a->hash[h] = (u16)a->nr_words;
	memset(word, 0, sizeof(*word));
	word->off = off;
	word->size = size;
	word->flat = mem_flat(w, off, size);
	word->first = word->last = word->next = XNIL;
	frame = xframe_of(w, off);
	if (frame) {
		f = &a->frame[frame];
		word->frame = (u16)frame;
		word->next = f->words;
		f->words = (u16)(a->nr_words - 1);
	}
	m = msg_new(w, word);
	m->val = mem_flat(w, off, size);
	m->step = 0;
	m->ts = f ? f->born : 0;
	if (f && f->table)
		m->gen = target_gen(w, m->val);
	return word;
}

u32 xmem_append(struct xworld *w, u32 cpu, u32 off, u32 size, u64 val,
		const struct mach_site *site)
{
	struct xword *word = xword_get(w, off, size);
	struct xarena *a = w->a;
	struct xmsg *m;

	if (word->frame && a->frame[word->frame].table)
		xoracle_entry(w, word, cpu, val, !site);
	a->now += 2;
	/* One that ended with its frame has ended. */
	if (a->msg[word->last].tw == XNEVER)
		a->msg[word->last].tw = a->now;
	m = msg_new(w, word);
	m->val = val;
	m->ts = a->now;
	m->cpu = (u8)cpu;
	m->site = site;
	if (word->frame) {
		struct xframe *f = &a->frame[word->frame];

		f->dirty = 1;
		if (f->table)
			m->gen = target_gen(w, val);
	}
	/*
	 * Unless plain C has written there since: a word on a stack, say, whose function has
	 * returned while the store was in the buffer. What was written later stays.
	 */
	if ((cpu == XCPU_NONE || !xmem_forward(w, cpu, off)) &&
	    (word->frame || mem_flat(w, off, word->size) == word->flat))
		mem_write(w, word, size, val);
	return a->now;
}

/* ---- store buffers ---- */

const struct xstore *xmem_forward(const struct xworld *w, u32 cpu, u32 off)
{
	const struct xcpu *c = &w->a->cpu[cpu];

	for (u32 i = c->nr_sb; i-- > 0;)
		if (c->sb[i].off == off && c->sb[i].kind != XSTORE_UNLOCK &&
		    c->sb[i].kind != XSTORE_CLEAR)
			return &c->sb[i];
	return NULL;
}

void xmem_store_footprint(const struct xworld *w, u32 cpu, u32 off, struct xstep *s)
{
	u32 frame = xframe_of(w, off);

	xstep_write(w, s, cpu, off);
	/* x86: it was a step when it went into the buffer. */
	if (w->weak && cpu != XNOBODY)
		xstep_own(s, cpu, off, true);
	xstep_order(w, s);
	if (!frame) {
		xstep_heap(w, s, off, false);
		return;
	}
	if (!w->a->frame[frame].table) {
		xstep_add(s, XOBJ_FRAME, frame, false);
		return;
	}
	/* An entry: scans of its table; and when it changes, what TLBs may hold. */
	xstep_add(s, XOBJ_FRAME, frame, true);
	for (u32 i = 0; i < w->nr_cpus; i++)
		xstep_add(s, XOBJ_TLB, i, false);
}

void xmem_drain_footprint(struct xworld *w, u32 cpu, u32 i, struct xstep *s)
{
	const struct xstore *st = &w->a->cpu[cpu].sb[i];

	if (st->kind == XSTORE_UNLOCK) {
		xstep_add(s, XOBJ_LOCK, st->off / 8, true);
		xstep_heap(w, s, st->off, false);
		return;
	}
	if (st->kind == XSTORE_CLEAR) {
		xstep_add(s, XOBJ_FRAME, XOBJ_FRAME_CLEAR + cpu, true);
		return;
	}
	xmem_store_footprint(w, st->handler ? XNOBODY : cpu, st->off, s);
	xupdates_footprint(w, st->off, s);
}

/*
 * The oldest of the lane, unless one to the same word is older: those stay in order.
 */
u32 xmem_drainable(const struct xworld *w, u32 cpu, u32 lane)
{
	const struct xcpu *c = &w->a->cpu[cpu];
	u32 i;

	for (i = 0; i < c->nr_sb && c->sb[i].lane != lane; i++)
		;
	if (i == c->nr_sb)
		return XMAX_SB;
	return xstore_drainable(w, cpu, i) ? i : XMAX_SB;
}

bool xstore_drainable(const struct xworld *w, u32 cpu, u32 i)
{
	const struct xcpu *c = &w->a->cpu[cpu];

	for (u32 j = 0; j < i; j++)
		if (c->sb[j].off == c->sb[i].off)
			return false;
	return true;
}

/* A store leaves the buffer, or never entered it. */
static void perform(struct xworld *w, u32 cpu, const struct xstore *st)
{
	char name[64];
	u32 ts;

	if (st->kind == XSTORE_CLEAR) {
		xframes_cleared(w, cpu, st);
		return;
	}
	/* It may have gone into the buffer before the object was freed. */
	if (unlikely(w->a->nr_kfreed))
		xoracle_heap(w, cpu, st->off, true, true);
	if (st->kind == XSTORE_UNLOCK) {
		((struct mach_lock *)(void *)((char *)w->a + st->off))->owner = 0;
		return;
	}
	if (st->kind == XSTORE_USER && w->a->frame[st->frame].gen != st->gen) {
		xviolate(w, XRULE_STALE_WRITE,
			 "cpu%u's store to 0x%llx reaches frame %u, which cpu%u freed at step %u",
			 cpu, (unsigned long long)st->va, st->frame,
			 w->a->frame[st->frame].died_cpu,
			 w->a->frame[st->frame].died_step);
		return;
	}
	if (st->kind == XSTORE_WORD)
		xupdates_before(w, st->off, true);
	if (unlikely(w->events))
		xev(w, XAGENT_DRAIN, cpu, cpu, st->site, "store %s 0x%llx -> 0x%llx is visible",
		    xname_word(w, st->off, name),
		    (unsigned long long)xmem_read(w, st->off, st->size),
		    (unsigned long long)st->val);
	ts = xmem_append(w, cpu, st->off, st->size, st->val, st->site);
	if (st->kind == XSTORE_USER)
		xoracle_user_store(w, st, cpu, ts);
	if (w->weak)
		xweak_stored(w, cpu, st->off, ts, st->view, false);
}

void xmem_drain_one(struct xworld *w, u32 cpu, u32 i)
{
	struct xcpu *c = &w->a->cpu[cpu];
	struct xstore st = c->sb[i];

	c->nr_sb--;
	memmove(&c->sb[i], &c->sb[i + 1], (c->nr_sb - i) * sizeof(st));
	if (!w->weak)
		xrcu_drained(w, cpu);
	perform(w, cpu, &st);
}

void xmem_store(struct xworld *w, u32 cpu, const struct xstore *st)
{
	struct xcpu *c = &w->a->cpu[cpu];

	struct xstore entry = *st;

	entry.root = c->root;
	entry.root_gen = c->root_gen;
	if (w->booting || (w->weak && !w->overtake)) {
		perform(w, cpu, &entry);
		return;
	}
	XASSERT(c->nr_sb < XMAX_SB);
	if (st->kind != XSTORE_UNLOCK && st->kind != XSTORE_CLEAR) {
		mem_write(w, xword_get(w, st->off, st->size), st->size, st->val);
	}
	c->sb[c->nr_sb] = entry;
	c->sb[c->nr_sb].handler = !!c->irq_depth;
	c->sb[c->nr_sb++].lane = c->next_lane;
	c->next_lane = (u8)((c->next_lane + 1U) % w->lanes);
}

/* ---- operations ---- */

/*
 * C code may also store plainly to a word before it shows it to others, at an
 * address where a word was before: a waiter on the stack of a second call, say. That
 * store is no message yet, and who reads the last one would read of the first
 * call. Who touches the word next writes it; others cannot be there at that time. That may be
 * a store, as well, and then from another CPU:
 *
 *	CPU 0					CPU 1
 *	waiter.task = current (plain)
 *	lock; queue it; unlock
 *						lock; take it off
 *						smp_store_release(&waiter.task, NULL)
 *	smp_load_acquire(&waiter.task)
 *
 * Adopted by the load alone, the plain store would come after the grant. And whose stack it
 * is sees no older message from then on.
 */
static void adopt_plain(struct xworld *w, u32 cpu, u32 off, const struct mach_site *site)
{
	struct xword *word = xword_find(w, off);
	u32 ts, slot = (off - XSTACKS_AT) / MACH_STACK_SIZE;
	u64 val;

	if (!word || word->frame)
		return;
	val = mem_flat(w, off, word->size);
	if (likely(val == word->flat))
		return;
	ts = xmem_append(w, cpu, off, word->size, val, site);
	word->flat = val;
	if (!w->weak)
		return;
	xweak_stored(w, cpu, off, ts, 0, false);
	if (off >= XSTACKS_AT && slot < XNR_THR)
		word->coh[w->a->thr[slot].cpu] = ts;
}

/* The kernel touches a word: its frame must not be free. */
static void check_alive(struct xworld *w, struct xthr *t, u32 off, bool write)
{
	u32 frame = xframe_of(w, off);
	char name[64];

	if (!frame && unlikely(w->a->nr_kfreed))
		xoracle_heap(w, t->cpu, off, write, false);
	if (!frame)
		return;
	if (likely(w->a->frame[frame].used)) {
		xoracle_first_contents(w, t->cpu, frame, write, false);
		return;
	}
	xviolate(w, XRULE_WALK_FREED, "cpu%u %s %s in frame %u, which cpu%u freed at step %u",
		 t->cpu, write ? "writes" : "reads", xname_word(w, off, name), frame,
		 w->a->frame[frame].died_cpu, w->a->frame[frame].died_step);
}

static void describe_load(struct xworld *w, struct xthr *t)
{
	u32 off = (u32)t->describe.a;

	xstep_clear(&t->step);
	xstep_load(&t->step, t->cpu, off);
	xstep_heap(w, &t->step, off, false);
	xframe_footprint(w, t->cpu, xframe_of(w, off), &t->step);
	if (xcpu_of(w, t)->irq_depth)
		xstep_own(&t->step, t->cpu, off, false);
	xupdates_footprint(w, off, &t->step);
}

u64 xload(const void *addr, u32 size, u32 order, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	const struct xstore *fwd;
	u32 off = xoff(w, addr);
	char name[64];
	u64 val;

	if (unlikely(w->booting))
		return xmem_read(w, off, size);
	xskip(w, site);
	/* Its own store, if one waits, may have drained and been overwritten by then. */
	xstep_begin(t, site, MACH_SITE_LOAD);
	xstep_describe(w, t, describe_load, off, 0);
	if (!xframe_of(w, off))
		t->describe.fn = NULL;
	/* An acquire does not take it from the buffer. */
	if (w->weak && order != MACH_RELAXED && xmem_forward(w, t->cpu, off))
		xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	else
		xpark(w, t, XWHY_STEP);
	check_alive(w, t, off, false);
	adopt_plain(w, t->cpu, off, site);
	fwd = xmem_forward(w, t->cpu, off);
	if (!fwd)
		xupdates_before(w, off, false);
	if (fwd) {
		val = fwd->val;
	} else if (!w->weak) {
		val = xmem_read(w, off, size);
	} else {
		val = xweak_load(w, t->cpu, off, size, order);
	}
	xoracle_saw(w, t->cpu, off, val);
	xev_t(w, t, site, "load %s = 0x%llx", xname_word(w, off, name),
	      (unsigned long long)val);
	return val;
}

/*
 * Before a store is put into the buffer. No other CPU sees that; but until it is
 * visible, this one takes no interrupt: so handlers that care for the word come before.
 */
void xpark_store(struct xworld *w, struct xthr *t, u32 off, const struct mach_site *site,
		 u32 kind)
{
	const struct xcpu *c = xcpu_of(w, t);

	if (c->nr_sb < XMAX_SB && (w->weak || !c->irqs_on))
		return;
	xstep_begin(t, site, kind);
	xstep_own(&t->step, t->cpu, off, true);
	xpark_buffer(w, t, XWHY_STEP, XNEED_ROOM);
}

/* b: the CPU to whom the store is no news. */
static void describe_store(struct xworld *w, struct xthr *t)
{
	xstep_clear(&t->step);
	xmem_store_footprint(w, t->describe.b, (u32)t->describe.a, &t->step);
	xframe_footprint(w, t->cpu, xframe_of(w, (u32)t->describe.a), &t->step);
	xupdates_footprint(w, (u32)t->describe.a, &t->step);
}

void xstore(void *addr, u32 size, u64 val, u32 order, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	u32 off = xoff(w, addr);
	struct xstore st = {
		.val = size == 4 ? (u32)val : val, .off = off, .size = (u8)size,
		.kind = XSTORE_WORD, .site = site,
	};
	char name[64];
	bool now, release = order != MACH_RELAXED;
	u32 ts;

	if (unlikely(w->booting)) {
		xmem_append(w, t->cpu, off, size, st.val, site);
		return;
	}
	xskip(w, site);
	check_alive(w, t, off, true);
	xoracle_lockset(w, t, off);
	now = w->weak && (!w->overtake || release);
	if (now) {
		xstep_begin(t, site, MACH_SITE_STORE);
		xstep_describe(w, t, describe_store, off, t->cpu);
		if (!xframe_of(w, off))
			t->describe.fn = NULL;
		xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	} else {
		xpark_store(w, t, off, site, MACH_SITE_STORE);
	}
	if (!xmem_forward(w, t->cpu, off))
		adopt_plain(w, t->cpu, off, site);
	if (now && release) {
		xupdates_before(w, off, true);
		ts = xmem_append(w, t->cpu, off, size, st.val, site);
		xweak_stored(w, t->cpu, off, ts, 0, true);
	} else {
		xmem_store(w, t->cpu, &st);
	}
	xev_t(w, t, site, "store %s = 0x%llx%s", xname_word(w, off, name),
	      (unsigned long long)st.val, now ? "" : " (buffered)");
}

static u64 rmw_new(u32 op, u64 old, u64 arg, u64 expected, bool *write)
{
	*write = true;
	switch (op) {
	case MACH_XCHG:
		return arg;
	case MACH_CMPXCHG:
		*write = old == expected;
		return *write ? arg : old;
	case MACH_ADD:
		return old + arg;
	case MACH_AND:
		return old & arg;
	case MACH_OR:
		return old | arg;
	default:
		*write = old != expected;
		return *write ? old + arg : old;
	}
}

static void rmw_weak(struct xworld *w, u32 cpu, u32 off, u32 size, u64 new, bool write,
		     u32 order, const struct mach_site *site)
{
	/* Linux: one that fails orders nothing. */
	u32 ord = write ? order : MACH_RELAXED;

	xweak_read_newest(w, cpu, off, size,
			  ord == MACH_RELEASE ? MACH_RELAXED : ord);
	if (write)
		xweak_stored_rmw(w, cpu, off, xmem_append(w, cpu, off, size, new, site), 0,
				 ord == MACH_ACQUIRE || ord == MACH_FULL,
				 ord == MACH_RELEASE || ord == MACH_FULL);
	if (ord == MACH_FULL)
		xweak_fence(w, cpu, MACH_SMP_MB);
}

static void describe_rmw(struct xworld *w, struct xthr *t)
{
	u32 off = (u32)t->describe.a;

	describe_store(w, t);
	xstep_load(&t->step, t->cpu, off);
	xstep_own(&t->step, t->cpu, off, true);
}

struct rmw {
	u32 op, size;
	u64 arg, expected;
	u64 old, new;
	bool write;
};

static void rmw_read(struct xworld *w, u32 off, struct rmw *r)
{
	u64 mask = r->size == 4 ? 0xffffffffULL : ~0ULL;

	r->old = xmem_read(w, off, r->size);
	r->new = rmw_new(r->op, r->old, r->arg, r->expected & mask, &r->write) & mask;
}

/*
 * What it reads and would write, with the hardware updates before it. These may make one
 * write that would not have, or the other way round.
 */
static void rmw_values(struct xworld *w, u32 off, struct rmw *r)
{
	bool write;

	rmw_read(w, off, r);
	write = r->write;
	xupdates_before(w, off, write);
	rmw_read(w, off, r);
	if (write || !r->write)
		return;
	xupdates_before(w, off, true);
	rmw_read(w, off, r);
}

u64 xrmw(void *addr, u32 size, u32 op, u64 arg, u64 expected, u32 order,
	 const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	u32 off = xoff(w, addr);
	struct rmw r = { .op = op, .size = size, .arg = arg, .expected = expected };
	char name[64];
	bool skip;

	if (unlikely(w->booting)) {
		rmw_read(w, off, &r);
		if (r.write)
			xmem_append(w, t->cpu, off, size, r.new, site);
		return r.old;
	}
	skip = xskip(w, site);
	xstep_begin(t, site, MACH_SITE_RMW);
	xstep_describe(w, t, describe_rmw, off, xcpu_of(w, t)->irq_depth ? XNOBODY : t->cpu);
	if (!xframe_of(w, off))
		t->describe.fn = NULL;
	if (!w->weak || order == MACH_FULL || order == MACH_RELEASE)
		xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	else	/* what it reads is in memory; other stores may be later */
		xpark_word(w, t, XWHY_STEP, off);
	check_alive(w, t, off, true);
	adopt_plain(w, t->cpu, off, site);
	rmw_values(w, off, &r);
	if (skip)
		r.write = false;
	xoracle_saw(w, t->cpu, off, r.old);
	if (r.write)
		xoracle_lockset(w, t, off);
	xev_t(w, t, site, "%s %s 0x%llx -> 0x%llx%s", skip ? "(left out)" : "atomic",
	      xname_word(w, off, name), (unsigned long long)r.old,
	      (unsigned long long)(r.write ? r.new : r.old), r.write ? "" : " (unchanged)");
	if (w->weak)
		rmw_weak(w, t->cpu, off, size, r.new, r.write, order, site);
	else if (r.write)
		xmem_append(w, t->cpu, off, size, r.new, site);
	return r.old;
}

/* Fences that are nothing but a compiler barrier on x86. */
static bool x86_fence_is_void(u32 kind)
{
	return kind != MACH_SMP_MB && kind != MACH_MFENCE;
}

void xfence(u32 kind, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	if (unlikely(w->booting) || xskip(w, site))
		return;
	if (!w->weak) {
		if (x86_fence_is_void(kind))
			return;
		if (xcpu_of(w, t)->nr_sb) {
			xstep_begin(t, site, MACH_SITE_FENCE);
			xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
		}
	} else {
		xweak_fence_step(w, t, kind, site);
	}
	xev_t(w, t, site, "fence");
}

static void describe_scan(struct xworld *w, struct xthr *t)
{
	u32 frame = xframe_of(w, (u32)t->describe.a);

	xstep_clear(&t->step);
	xstep_add(&t->step, XOBJ_FRAME, frame, false);
	xframe_footprint(w, t->cpu, frame, &t->step);
}

u32 xscan_zero(const u64 *addr, u32 n, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	u32 i, off = xoff(w, addr);

	if (!w->booting) {
		xskip(w, site);
		xstep_begin(t, site, MACH_SITE_LOAD);
		xstep_describe(w, t, describe_scan, off, 0);
		xpark(w, t, XWHY_STEP);
		check_alive(w, t, off, false);
	}
	for (i = 0; i < n; i++, off += 8) {
		const struct xstore *fwd = xmem_forward(w, t->cpu, off);
		u64 val;

		if (fwd)
			val = fwd->val;
		else if (w->weak && !w->booting && xword_find(w, off))
			val = xweak_load(w, t->cpu, off, 8, MACH_RELAXED);
		else
			val = xmem_read(w, off, 8);
		if (val)
			break;
	}
	return i;
}
