/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>

#include "world.h"

void xviolate(struct xworld *w, enum xrule rule, const char *fmt, ...)
{
	struct xthr *t = w->cur;
	va_list ap;

	if (!w->stop) {
		w->stop = true;
		w->result->outcome = XOUT_VIOLATION;
		w->result->rule = rule;
		va_start(ap, fmt);
		vsnprintf(w->result->detail, sizeof(w->result->detail), fmt, ap);
		va_end(ap);
		if (t)
			xev_t(w, t, t->step.site, "violation");
	}
	if (!t)
		return;
	/* Never to come back: the world is reset before anybody runs again. */
	w->cur = NULL;
	coro_switch(&t->coro, &w->host);
	XASSERT(!"an execution that was over went on");
}

/* ---- promises ---- */

/*
 * Does promise p cover what path leads to? All of the path must have been there when the
 * operation began: mremap() brings to its target a table whose entries are older.
 */
static bool covered(const struct xpromise *p, const struct xpath *path, u64 va)
{
	bool changed = false;

	if (va < p->start || va >= p->end)
		return false;
	for (u32 i = 0; i < path->n; i++) {
		if (path->hop[i].ts >= p->since)
			return false;
		changed |= path->hop[i].tw <= p->until;
	}
	return changed;
}

/* May cpu use path for an access that comes after time? */
static bool usable_after(struct xworld *w, const struct xuse *base, const struct xpath *path,
			 u32 time)
{
	struct xuse use = *base;

	use.leaf = true;
	use.ev = time;
	return w->mmu->may_hold(w, &use, path);
}

static void broken_promise(struct xworld *w, const struct xpromise *p, u32 cpu,
			   const struct xpath *path, u64 va, bool write, bool could)
{
	char name[64];

	xviolate(w, p->readonly ? XRULE_WRONG_PERM :
		 write ? XRULE_STALE_WRITE : XRULE_STALE_READ,
		 "cpu%u %s 0x%llx by a stale translation (%s has changed); cpu%u's operation had promised at step %u that it is %s",
		 cpu, could ? "can still access" : write ? "stores to" : "loads",
		 (unsigned long long)va, xname_word(w, path->hop[path->n - 1].off, name),
		 p->cpu, p->step, p->readonly ? "read-only" : "gone");
}

static void check_promises(struct xworld *w, const struct xuse *use, const struct xpath *path,
			   u64 va, bool write)
{
	for (u32 i = 0; i < w->a->nr_promises && !w->stop; i++) {
		const struct xpromise *p = &w->a->promise[i];

		if (p->ctx_root != use->root || (p->readonly && !write) ||
		    !covered(p, path, va))
			continue;
		if (w->weak && !write && p->cpu != use->cpu &&
		    !usable_after(w, use, path, p->until))
			continue;
		broken_promise(w, p, use->cpu, path, va, write, false);
	}
}

/* ---- user accesses ---- */

bool xoracle_access(struct xworld *w, u32 cpu, const struct xpath *path, u32 frame,
		    u64 va, bool write, u32 ev)
{
	const struct xframe *f = &w->a->frame[frame];
	struct xuse use;

	(void)ev;
	xmmu_use(w, cpu, &use);
	if (f->gen != path->hop[path->n - 1].gen &&
	    (!w->weak || write || usable_after(w, &use, path, f->died)))
		xviolate(w, write ? XRULE_STALE_WRITE : XRULE_STALE_READ,
			 "cpu%u %s 0x%llx through a translation to frame %u, which cpu%u freed at step %u",
			 cpu, write ? "stores to" : "loads", (unsigned long long)va, frame,
			 f->died_cpu, f->died_step);
	else
		check_promises(w, &use, path, va, write);
	return !w->stop;
}

/* ---- what others could do ---- */

/*
 * Not whether an access under way could still end so, but whether one that begins now
 * could: its walk comes after everything so far.
 */
struct search {
	struct xuse use;
	u32 frame, order;	/* the block that is looked for, 0: any */
	u16 gen;
	const struct xpromise *promise;
	struct xpath path;
	struct xpte p;
};

/*
 * Does the entry lead to the block? Of a huge page that was split some entry leads to a
 * part, and a stale one of before to all of it.
 */
static bool is_of_block(const struct xworld *w, const struct search *s,
			const struct xpath *path, const struct xpte *p)
{
	const struct xhop *hop = &path->hop[path->n - 1];
	u32 from = (u32)(p->pa >> w->page_shift), n = 1;

	if (p->kind == XPTE_LEAF)
		n = 1U << (xheight_shift(w, hop->height) - w->page_shift);
	return hop->gen == s->gen && from < s->frame + (1U << s->order) && s->frame < from + n;
}

static bool find_leaf(struct xworld *w, const struct xpath *path, const struct xpte *p,
		      void *arg)
{
	struct search *s = arg;

	if (p->kind != XPTE_LEAF || !p->user || !p->usable ||
	    !is_of_block(w, s, path, p) ||
	    !usable_after(w, &s->use, path, xnow_odd(w)))
		return false;
	s->path = *path;
	s->p = *p;
	return true;
}

static bool find_table(struct xworld *w, const struct xpath *path, const struct xpte *p,
		       void *arg)
{
	struct search *s = arg;
	u32 frame = (u32)(p->pa >> w->page_shift);

	if (p->kind != XPTE_TABLE)
		return false;
	if (s->frame ? !is_of_block(w, s, path, p) :
		       w->a->frame[frame].gen == path->hop[path->n - 1].gen)
		return false;
	s->use.leaf = false;
	if (!w->mmu->may_hold(w, &s->use, path))
		return false;
	s->path = *path;
	s->p = *p;
	return true;
}

/* For what cpu has loaded. False: nothing is. */
static bool search_cpu(struct xworld *w, u32 cpu, struct search *s)
{
	bool loaded = xmmu_use(w, cpu, &s->use);

	s->use.ev = s->use.rv_min = xnow_odd(w);
	return loaded;
}

static void walk_freed(struct xworld *w, const struct search *s)
{
	u32 frame = (u32)(s->p.pa >> w->page_shift);
	const struct xhop *hop = &s->path.hop[s->path.n - 1];
	char name[64];

	xviolate(w, XRULE_WALK_FREED,
		 "cpu%u (%s) may still walk through %s %s to frame %u, a table that cpu%u freed at step %u",
		 s->use.cpu, w->a->cpu[s->use.cpu].user ? "in user mode" : "in kernel mode",
		 hop->tw == XNEVER ? "the entry" : "a cached copy of",
		 xname_word(w, hop->off, name), frame, w->a->frame[frame].died_cpu,
		 w->a->frame[frame].died_step);
}

/* By a root that is no longer loaded, for want of context synchronisation. */
static void check_unsynced(struct xworld *w, u32 cpu, u32 frame, u16 gen)
{
	const struct xcpu *c = &w->a->cpu[cpu];

	if (!w->stop && c->unsynced && c->old_root == frame && c->old_root_gen == gen)
		xviolate(w, XRULE_WALK_FREED,
			 "cpu%u may still walk by frame %u, the root that it had before, which cpu%u freed at step %u: it has not synchronised its context since",
			 cpu, frame, w->a->frame[frame].died_cpu, w->a->frame[frame].died_step);
}

static void check_walkers(struct xworld *w, u32 frame, u32 order, u16 gen)
{
	for (u32 i = 0; i < w->nr_cpus && !w->stop; i++) {
		struct search s = { .frame = frame, .order = order, .gen = gen };

		check_unsynced(w, i, frame, gen);
		if (w->stop || !search_cpu(w, i, &s))
			continue;
		if (s.use.root == frame && s.use.root_gen == gen)
			xviolate(w, XRULE_WALK_FREED,
				 "cpu%u has frame %u loaded as its root, which cpu%u freed at step %u",
				 i, frame, w->a->frame[frame].died_cpu,
				 w->a->frame[frame].died_step);
		else if (xmmu_enumerate(w, s.use.root, s.use.root_gen, XVA_ANY, find_table, &s))
			walk_freed(w, &s);
	}
}

void xoracle_free(struct xworld *w, u32 cpu, u32 frame, u32 order, bool table)
{
	u16 gen = w->a->frame[frame].gen - 1U;

	if (table) {
		check_walkers(w, frame, order, gen);
		return;
	}
	for (u32 i = 0; i < w->nr_cpus && !w->stop; i++) {
		struct search s = { .frame = frame, .order = order, .gen = gen };
		bool write;

		if (!w->a->cpu[i].user || !search_cpu(w, i, &s) ||
		    !xmmu_enumerate(w, s.use.root, s.use.root_gen, XVA_ANY, find_leaf, &s))
			continue;
		write = s.p.write && s.p.dirty;
		xviolate(w, write ? XRULE_STALE_WRITE : XRULE_STALE_READ,
			 "cpu%u frees frame %u while cpu%u, in user mode, can still %s it at 0x%llx by a cached translation",
			 cpu, frame, i, write ? "write" : "read",
			 (unsigned long long)s.path.va);
	}
}

void xoracle_root(struct xworld *w, u32 cpu)
{
	struct search s = { .frame = 0 };

	/* Loaded, and a freed table could still be walked under it. */
	search_cpu(w, cpu, &s);
	if (xmmu_enumerate(w, s.use.root, s.use.root_gen, XVA_ANY, find_table, &s))
		walk_freed(w, &s);
}

static bool find_promised(struct xworld *w, const struct xpath *path, const struct xpte *p,
			  void *arg)
{
	struct search *s = arg;

	if (p->kind != XPTE_LEAF || !p->user || !p->usable ||
	    !covered(s->promise, path, path->va) ||
	    (s->promise->readonly && !(p->write && p->dirty)) ||
	    !usable_after(w, &s->use, path, xnow_odd(w)))
		return false;
	s->path = *path;
	s->p = *p;
	return true;
}

void xoracle_promise(struct xworld *w, u32 i)
{
	const struct xpromise *p = &w->a->promise[i];

	for (u32 cpu = 0; cpu < w->nr_cpus && !w->stop; cpu++) {
		struct search s = { .promise = p };

		if (!w->a->cpu[cpu].user || !search_cpu(w, cpu, &s) ||
		    s.use.root != p->ctx_root ||
		    !xmmu_enumerate(w, s.use.root, s.use.root_gen, XVA_ANY, find_promised, &s))
			continue;
		broken_promise(w, p, cpu, &s.path, s.path.va, s.p.write && s.p.dirty, true);
	}
}

/* ---- the end ---- */

static const char *why_text(struct xworld *w, const struct xthr *t, char buf[120])
{
	char name[64];

	switch (t->why) {
	case XWHY_LOCK:
		snprintf(buf, 120, "waits for lock %s, which cpu%d has",
			 xname_word(w, xoff(w, t->lock), name), (int)t->lock->owner - 1);
		break;
	case XWHY_CALL:
		snprintf(buf, 120, "waits for %u CPUs to take its IPI", w->a->call[t->call].left);
		break;
	case XWHY_WATCH:
		snprintf(buf, 120, "waits for %s to change",
			 xname_word(w, xoff(w, t->watch[0].addr), name));
		break;
	case XWHY_BLOCKED:
		snprintf(buf, 120, "sleeps");
		break;
	default:
		snprintf(buf, 120, "waits for its CPU");
	}
	if (!xcpu_of(w, t)->irqs_on)
		strncat(buf, ", interrupts off", 119 - strlen(buf));
	return buf;
}

void xoracle_deadlock(struct xworld *w)
{
	char text[XDETAIL_MAX - 40] = "", why[120];
	size_t n = 0;

	for (u32 i = 0; i < XTHR_IDLE; i++) {
		struct xthr *t = &w->a->thr[i];

		if (!(w->a->thr_live & 1U << i) || t->why == XWHY_END || t->why == XWHY_FREE ||
		    i == XTHR_MAIN || n > sizeof(text) - 200)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s thread %u (cpu%u) %s",
				      n ? ";" : "", i, t->cpu, why_text(w, t, why));
	}
	xviolate(w, XRULE_DEADLOCK, "nobody can move:%s", text);
}

/*
 * A root that a CPU borrows: its thread has ended, and the idle task has a count on the mm
 * until the next switch; on x86 whatever tables it has loaded meanwhile. (Of the others POWER
 * loads init_mm's when it gives a loan back.)
 */
static bool is_borrowed(const struct xworld *w, u32 frame)
{
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++) {
		for (u32 i = w->a->cpu[cpu].nr_log; i-- > 0;) {
			const struct xlog *l = &w->a->log[cpu][i];

			if (l->kind != XLOG_ROOT || (!w->weak && w->a->frame[l->root].boot))
				continue;
			/* x86, page-table isolation: two halves. */
			if (l->root == frame || (l->root ^ 1) == frame)
				return true;
			break;
		}
	}
	return false;
}

/* Objects of [from, to) of the heap that are there still; *last: of one of them. */
static u32 live_objects(const struct xworld *w, u64 from, u64 to, const struct mach_site **last)
{
	u32 n = 0;

	for (u64 i = (from - XHEAP_AT) >> 6; i < (to - XHEAP_AT) >> 6; i++) {
		if (w->heap_obj[i] != i || w->a->heap_freed[i / 64] & 1UL << i % 64)
			continue;
		*last = w->heap_site[i];
		n++;
	}
	return n;
}

static void object_leaks(struct xworld *w, u32 borrowed)
{
	const struct mach_site *last = NULL;
	u32 n = live_objects(w, w->heap_booted, w->a->heap_boot, &last);

	for (u32 i = 0; i < w->nr_cpus; i++)
		n += live_objects(w, XHEAP_AT + XHEAP_BOOT + i * XHEAP_CPU, w->a->cpu[i].heap,
				  &last);
	if (n > borrowed)
		xviolate(w, XRULE_LEAK, "%u objects are never freed, the last one of %s()",
			 n - borrowed, last->func);
}

void xoracle_leaks(struct xworld *w)
{
	u32 borrowed = 0;

	for (u32 i = 1; i < w->nr_frames; i++) {
		const struct xframe *f = &w->a->frame[i];

		if (!f->used || f->boot)
			continue;
		if (!f->table || !is_borrowed(w, i)) {
			xviolate(w, XRULE_LEAK, "frame %u%s is never freed", i,
				 f->table ? " (a table)" : "");
			return;
		}
		borrowed++;
	}
	object_leaks(w, borrowed);
}

/* ---- what programs call ---- */

bool xop_begin(u32 op)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	u32 i = (u32)(s->t - w->a->thr);

	if (i < XMAX_THREADS && (w->drop[i] >> op & 1))
		return false;
	/* What it promises is about entries that stood before. */
	if (w->a->phase == XPHASE_RUN) {
		xstep_begin(s->t, NULL, MACH_SITE_SCHED);
		xstep_add(&s->t->step, XOBJ_TLB, s->t->cpu, true);
		xpark(w, s->t, XWHY_STEP);
	}
	s->t->op_time = w->a->now + 1;
	if (unlikely(w->events) && i < w->prog.nr_threads && w->prog.op_text)
		xev_t(w, s->t, NULL, "%s begins", w->prog.op_text(w->prog.arg, i, op));
	return true;
}

void xop_end(u32 op)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	u32 i = (u32)(s->t - w->a->thr);

	if (unlikely(w->events) && i < w->prog.nr_threads && w->prog.op_text)
		xev_t(w, s->t, NULL, "%s returns", w->prog.op_text(w->prog.arg, i, op));
}

void xassert_fail(const char *what)
{
	struct xstack *s = xstack();

	xviolate(s->w, XRULE_ASSERT, "cpu%u: assertion failed: %s", s->t->cpu, what);
	xpanic(__FILE__, __LINE__, what);
}

static void promise(u64 start, u64 end, bool readonly)
{
	static const struct mach_site site = {
		"user", "promise", 0, MACH_SITE_SCHED
	};
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	if (w->a->phase != XPHASE_RUN)
		return;
	xstep_begin(t, &site, MACH_SITE_SCHED);
	for (u32 i = 0; i < w->nr_cpus; i++) {
		xstep_add(&t->step, XOBJ_TLB, i, true);
		xstep_mode(w, t, i);
	}
	xpark(w, t, XWHY_STEP);
	XASSERT(w->a->nr_promises < XMAX_PROMISES);
	w->a->promise[w->a->nr_promises] = (struct xpromise){
		.start = start, .end = end, .ctx_root = xcpu_of(w, t)->root,
		.since = t->op_time, .until = xnow_odd(w), .cpu = t->cpu,
		.readonly = readonly, .step = w->a->step,
	};
	xev_t(w, t, NULL, "0x%llx-0x%llx is %s from now on", (unsigned long long)start,
	      (unsigned long long)end, readonly ? "read-only" : "unreachable");
	xoracle_promise(w, w->a->nr_promises++);
}

void xpromise_unmapped(u64 start, u64 end)
{
	promise(start, end, false);
}

void xpromise_readonly(u64 start, u64 end)
{
	promise(start, end, true);
}

/* Promises of this thread's address space that lie in the range are void. */
void xpromise_forget(u64 start, u64 end)
{
	struct xstack *s = xstack();
	struct xarena *a = s->w->a;

	for (u32 i = 0; i < a->nr_promises;) {
		if (a->promise[i].start >= start && a->promise[i].end <= end &&
		    a->promise[i].ctx_root == xcpu_of(s->w, s->t)->root)
			a->promise[i] = a->promise[--a->nr_promises];
		else
			i++;
	}
}

void xresult_note(u64 value)
{
	struct xstack *s = xstack();

	s->t->results = xmix(s->t->results ^ value);
}
