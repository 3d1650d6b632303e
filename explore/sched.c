/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who moves next: agents, parking, threads, interrupts.
 *
 * Scheduling points. A thread stops in xpark() before each step that another CPU
 * could notice: loads and read-modify-writes of shared words, locks, fences
 * that empty a store buffer, invalidations, loads of a root, sending and
 * finishing an IPI, block and wake, frames, user accesses, crossings between user
 * and kernel mode, promises, and before interrupts are turned off (an interrupt may
 * come in between) or on, and the ends of RCU's read sections. Stores into a buffer,
 * kalloc, and all plain C go with the step before.
 *
 * A handler runs on the stack of the thread that it interrupts; its steps are those of
 * the CPU's interrupt agent.
 *
 * Threads stay on their CPU; a CPU goes to another only when one blocks or ends,
 * through the core's context_switch() as on any machine. A program's thread that
 * has done its operations stays in user mode, doing nothing, and takes
 * interrupts; unless others wait for its CPU: then it sleeps.
 */
#include "world.h"

#include <tlblab/machine_abi.h>

/* ---- choices ---- */

u32 xchoose(struct xworld *w, enum xchoice_kind kind, u32 n)
{
	u32 v;

	if (n <= 1)
		return 0;
	v = w->chooser->choose(w->chooser->ctx, kind, n);
	XASSERT(v < n);
	return v;
}

void xsite_seen(struct xworld *w, const struct mach_site *site)
{
	u32 h = (u32)((uintptr_t)site >> 4) & (XMAX_SITES * 2 - 1);

	if (!site)
		return;
	for (u32 i = 0; i < w->nr_sites; i++)
		if (w->sites[i] == site) {
			w->site_hash[h] = site;
			return;
		}
	if (w->nr_sites < XMAX_SITES)
		w->sites[w->nr_sites++] = site;
	w->site_hash[h] = site;
}

u32 xagent_id(u32 kind, u32 index)
{
	switch (kind) {
	case XAGENT_THREAD:
		return index;
	case XAGENT_DRAIN:
		return XNR_THR + index;
	default:
		return XNR_THR + XDRAINS + index;
	}
}

/* ---- the scheduler ---- */

/* Is its CPU's store buffer as t needs it? */
static bool buffer_ready(const struct xworld *w, const struct xthr *t)
{
	u32 nr_sb = w->a->cpu[t->cpu].nr_sb;

	switch (t->need) {
	case XNEED_ROOM:
		return nr_sb < XMAX_SB;
	case XNEED_WORD:
		return !xmem_forward(w, t->cpu, t->need_off);
	case XNEED_EMPTY:
		return !nr_sb;
	default:
		return true;
	}
}

static bool thread_enabled(struct xworld *w, struct xthr *t)
{
	struct xcpu *c = xcpu_of(w, t);

	if (t->need && !buffer_ready(w, t))
		return false;
	switch (t->why) {
	case XWHY_STEP:
		return true;
	case XWHY_START:
		return w->a->phase != XPHASE_INIT;
	case XWHY_LOCK:
		return xlock_free(t->lock);
	case XWHY_WATCH:
		return t->irq_taken || xwatch_hit(w, t);
	case XWHY_CALL:
		return !w->a->call[t->call].left;
	case XWHY_IDLE:
		return c->nr_runq;
	case XWHY_END:
		return c->nr_runq || (w->a->phase == XPHASE_FINAL && w->prog.check_leaks);
	default:
		return false;
	}
}

static bool irq_enabled(const struct xworld *w, u32 cpu)
{
	const struct xcpu *c = &w->a->cpu[cpu];
	const struct xthr *t = &w->a->thr[c->cur];

	/* Taking one serialises. */
	return c->irqs_on && !c->nr_sb && t->why != XWHY_START &&
	       (c->nr_irqs || xrcu_due(w, cpu));
}

/* The handler's later steps are described as any thread's. */
static void irq_footprint(struct xworld *w, u32 cpu, struct xstep *s)
{
	s->site = NULL;
	s->site_kind = MACH_SITE_IRQ;
	xstep_clear(s);
	xstep_add(s, XOBJ_IRQ, cpu, true);
	xstep_add(s, XOBJ_MODE, XMODE_HANDLER + cpu, true);
	xstep_add(s, XOBJ_MODE, XMODE_IRQS + cpu, false);
	if (!w->a->cpu[cpu].nr_irqs)
		xrcu_footprint(w, cpu, s);
	else if (w->weak)
		xstep_add(s, XOBJ_VIEWS, cpu, true);
	/* It is a section, and sees what sections must. */
	if (w->weak && w->a->cpu[cpu].nr_irqs)
		xstep_add(s, XOBJ_RCU, XOBJ_RCU_HANDLER + cpu, true);
}

static void drain_footprint(struct xworld *w, u32 index, struct xstep *s)
{
	u32 cpu = index / w->lanes, i = xmem_drainable(w, cpu, index % w->lanes);

	s->site = w->a->cpu[cpu].sb[i].site;
	s->site_kind = MACH_SITE_STORE;
	xstep_clear(s);
	xmem_drain_footprint(w, cpu, i, s);
	/* Grace periods may wait for it; xcrit_left(). */
	if (w->a->cpu[cpu].crit_sb)
		xstep_add(s, XOBJ_RCU, cpu, true);
}

static bool in_handler(const struct xworld *w, const struct xthr *t)
{
	return w->a->cpu[t->cpu].irq_depth;
}

#define MAX_ENABLED (XNR_THR + XDRAINS + XMAX_CPUS)

/* All agents that can move, in the order of their ids. */
static u32 collect(struct xworld *w, u8 *kind, u8 *index)
{
	struct xarena *a = w->a;
	u32 n = 0;

	for (u32 live = a->thr_live; live; live &= live - 1) {
		u32 i = (u32)__builtin_ctz(live);
		struct xthr *t = &a->thr[i];

		if (xcpu_of(w, t)->cur == i && !in_handler(w, t) &&
		    thread_enabled(w, t)) {
			kind[n] = XAGENT_THREAD;
			index[n++] = (u8)i;
		}
	}
	for (u32 i = 0; i < w->nr_cpus; i++)
		for (u32 lane = 0; lane < w->lanes && a->cpu[i].nr_sb; lane++)
			if (xmem_drainable(w, i, lane) < XMAX_SB) {
				kind[n] = XAGENT_DRAIN;
				index[n++] = (u8)(i * w->lanes + lane);
			}
	for (u32 i = 0; i < w->nr_cpus; i++)
		if (unlikely(a->cpu[i].irq_depth) ?
			    thread_enabled(w, &a->thr[a->cpu[i].cur]) :
			    (a->cpu[i].nr_irqs || a->nr_rcu) && irq_enabled(w, i)) {
			kind[n] = XAGENT_IRQ;
			index[n++] = (u8)i;
		}
	return n;
}

static void thread_step(struct xworld *w, struct xthr *t, struct xstep *s)
{
	if (t->describe.fn)
		t->describe.fn(w, t);
	*s = t->step;
	/* On weak machines an IPI's handler changes what its CPU's thread has seen. */
	if (w->weak && !xcpu_of(w, t)->views)
		xstep_add(s, XOBJ_VIEWS, t->cpu, in_handler(w, t));
	s->cpu = t->cpu;
	s->handler = in_handler(w, t);
}

bool xworld_parked(struct xworld *w, u32 cpu, bool handler, struct xstep *s)
{
	struct xthr *t = &w->a->thr[w->a->cpu[cpu].cur];
	struct xdescribe describe = t->describe;
	struct xstep step;

	if (handler || !t->under) {
		if (handler && !in_handler(w, t))
			return false;
		thread_step(w, t, s);
	} else {
		step = t->step;
		t->step = t->under->step;
		t->describe = t->under->describe;
		if (t->describe.fn)
			t->describe.fn(w, t);
		*s = t->step;
		t->step = step;
		t->describe = describe;
		s->cpu = (u8)cpu;
		s->handler = false;
		if (w->weak)
			xstep_add(s, XOBJ_VIEWS, cpu, false);
	}
	s->agent_kind = handler ? XAGENT_IRQ : XAGENT_THREAD;
	s->agent_index = (u16)(handler ? cpu : w->a->cpu[cpu].cur);
	return true;
}

/* Whose step it is, and no more. */
static void describe_barely(struct xworld *w, struct xstep *s, u32 kind, u32 index)
{
	u32 cpu = kind == XAGENT_THREAD ? w->a->thr[index].cpu :
		  kind == XAGENT_DRAIN ? index / w->lanes : index;

	s->cpu = (u8)cpu;
	s->handler = !!w->a->cpu[cpu].irq_depth;
	s->nr_obj = 0;
	s->site = NULL;
	s->agent_kind = (u16)kind;
	s->agent_index = (u16)index;
}

static void describe(struct xworld *w, struct xstep *s, u32 kind, u32 index)
{
	struct xcpu *c = &w->a->cpu[kind == XAGENT_IRQ ? index : 0];

	if (w->chooser->bare) {
		describe_barely(w, s, kind, index);
		return;
	}
	s->handler = false;
	s->cpu = (u8)index;
	switch (kind) {
	case XAGENT_THREAD:
		thread_step(w, &w->a->thr[index], s);
		break;
	case XAGENT_DRAIN:
		s->cpu = (u8)(index / w->lanes);
		s->handler = !!w->a->cpu[s->cpu].irq_depth;
		drain_footprint(w, index, s);
		break;
	default:
		if (c->irq_depth)
			thread_step(w, &w->a->thr[c->cur], s);
		else
			irq_footprint(w, index, s);
	}
	s->agent_kind = (u16)kind;
	s->agent_index = (u16)index;
}

/* Which of the n agents moves; n: stop. One alone is picked too: searches see each step. */
static u32 pick(struct xworld *w, const u8 *kind, const u8 *index, u32 n)
{
	struct xstep enabled[MAX_ENABLED];
	u32 running = n, i;

	enabled[0].nr_obj = 0;
	for (i = 0; i < n; i++) {
		describe(w, &enabled[i], kind[i], index[i]);
		if ((kind[i] == XAGENT_THREAD || enabled[i].handler) &&
		    kind[i] != XAGENT_DRAIN && enabled[i].cpu == w->a->last_cpu)
			running = i;
	}
	i = w->chooser->pick(w->chooser->ctx, enabled, n, running);
	if (i == XPICK_STOP) {
		w->result->outcome = XOUT_STOPPED;
		w->stop = true;
		return n;
	}
	XASSERT(i < n);
	return i;
}

struct mover {
	u8 kind, index;
};

/* The inverse of xagent_id(). */
static struct mover mover_of(u32 agent)
{
	if (agent < XNR_THR)
		return (struct mover){ XAGENT_THREAD, (u8)agent };
	agent -= XNR_THR;
	if (agent < XDRAINS)
		return (struct mover){ XAGENT_DRAIN, (u8)agent };
	return (struct mover){ XAGENT_IRQ, (u8)(agent - XDRAINS) };
};

/* What a search repeats is the same, or the world is broken. */
static bool can_move(struct xworld *w, struct mover m)
{
	struct xthr *t = &w->a->thr[m.kind == XAGENT_THREAD ? m.index :
							      w->a->cpu[m.index % XMAX_CPUS].cur];

	switch (m.kind) {
	case XAGENT_DRAIN:
		return xmem_drainable(w, m.index / w->lanes, m.index % w->lanes) < XMAX_SB;
	case XAGENT_IRQ:
		return in_handler(w, t) ? thread_enabled(w, t) : irq_enabled(w, m.index);
	default:
		return &w->a->thr[xcpu_of(w, t)->cur] == t && !in_handler(w, t) &&
		       thread_enabled(w, t);
	}
}

/* False: this execution, or phase, is over. */
static bool next_mover(struct xworld *w, struct mover *m)
{
	u8 kind[MAX_ENABLED], index[MAX_ENABLED];
	u32 agent = XREPEAT_ASK, n, i;

	if (w->stop || w->booting)
		return false;
	if (w->chooser->repeat)
		agent = w->chooser->repeat(w->chooser->ctx);
	if (agent != XREPEAT_ASK) {
		*m = mover_of(agent);
		XASSERT(can_move(w, *m));
		return true;
	}
	n = collect(w, kind, index);
	if (!n)
		return false;
	i = pick(w, kind, index, n);
	if (i == n)
		return false;
	*m = (struct mover){ kind[i], index[i] };
	return true;
}

/* The search wants to come back to this state: the host copies it. */
static void keep(struct xworld *w, struct xthr *from)
{
	if (!from || w->stop || w->booting || !w->chooser->keep ||
	    !w->chooser->keep(w->chooser->ctx))
		return;
	w->keep_from = from;
	coro_switch(&from->coro, &w->host);
}

static void note_run(struct xarena *a, u32 slot)
{
	if (slot == a->runs)
		return;
	a->runs = slot;
	a->runs_since = a->step;
}

/*
 * Take machine steps until a thread's turn comes. NULL: this execution, or
 * phase, is over.
 */
static struct xthr *sched(struct xworld *w, struct xthr *from)
{
	struct xarena *a = w->a;
	struct xthr *t;
	struct mover m;
	u32 cpu, slot;

	while (keep(w, from), next_mover(w, &m)) {
		if (++a->step > w->step_limit && a->phase == XPHASE_RUN) {
			xviolate(w, XRULE_LIVELOCK, "no end after %u steps", w->step_limit);
			return NULL;
		}
		switch (m.kind) {
		case XAGENT_DRAIN:
			cpu = m.index / w->lanes;
			note_run(a, a->cpu[cpu].cur);
			xmem_drain_one(w, cpu, xmem_drainable(w, cpu, m.index % w->lanes));
			break;
		default:
			slot = m.kind == XAGENT_IRQ ? a->cpu[m.index].cur : m.index;
			note_run(a, slot);
			t = &a->thr[slot];
			t->go = m.kind == XAGENT_IRQ && !in_handler(w, t) ? XGO_IRQ :
									    XGO_STEP;
			a->last_cpu = t->cpu;
			return t;
		}
	}
	return NULL;
}

/* To whoever moves next, from the stack of `from` (NULL: the host's). */
static void leave(struct xworld *w, struct xthr *from)
{
	struct xthr *next = sched(w, from);

	if (next == from && next)
		return;
	w->cur = next;
	coro_switch(from ? &from->coro : &w->host, next ? &next->coro : &w->host);
}

void xpark(struct xworld *w, struct xthr *t, enum xwhy why)
{
	t->why = (u8)why;
	for (;;) {
		struct xparked parked;

		leave(w, t);
		if (t->go != XGO_IRQ)
			break;
		parked = (struct xparked){ t->step, t->describe, t->need, t->need_off };
		t->need = XNEED_NONE;
		t->under = &parked;
		xirq_run(w, t);
		t->under = NULL;
		t->step = parked.step;
		t->describe = parked.describe;
		t->need = parked.need;
		t->need_off = parked.need_off;
		t->why = (u8)why;
	}
	t->why = XWHY_STEP;
	t->need = XNEED_NONE;
}

void xpark_word(struct xworld *w, struct xthr *t, enum xwhy why, u32 off)
{
	t->need_off = off;
	xpark_buffer(w, t, why, XNEED_WORD);
}

void xpark_buffer(struct xworld *w, struct xthr *t, enum xwhy why, enum xneed need)
{
	t->need = (u8)need;
	xpark(w, t, why);
}

void xsched_run(struct xworld *w, struct xthr *first)
{
	if (w->stop)
		return;
	if (first) {
		w->cur = first;
		coro_switch(&w->host, &first->coro);
	} else {
		leave(w, NULL);
	}
	while (w->keep_from) {
		struct xthr *from = w->keep_from;

		w->keep_from = NULL;
		xkeep_save(w, from);
		coro_switch(&w->host, &from->coro);
	}
	w->cur = NULL;
}

/* ---- threads ---- */

void xthread_setup(struct xworld *w, u32 slot, void *task, u32 cpu,
		   void (*fn)(void *arg), void *arg)
{
	struct xthr *t = &w->a->thr[slot];
	char *stack = (char *)w->a + XSTACKS_AT + slot * MACH_STACK_SIZE;
	struct xstack *s = (struct xstack *)(void *)stack;

	memset(t, 0, sizeof(*t));
	*s = (struct xstack){
		.env = {
			.magic = MACH_ENV_MAGIC, .ops = &xops,
			.machine = (struct machine *)(void *)w,
			.core = w->core_root, .task = task, .phys_base = w->phys,
			.cpu = cpu, .nr_cpus = w->nr_cpus, .nr_nodes = w->nr_nodes,
			.tid = slot + 1, .page_shift = w->page_shift,
			.nr_frames = w->nr_frames,
		},
		.w = w, .t = t,
	};
	t->env = &s->env;
	t->cpu = (u8)cpu;
	t->fn = fn;
	t->arg = arg;
	t->ctx = slot >= XTHR_IDLE ? MACH_CTX_SYSCALL : MACH_CTX_USER;
	t->step.agent_kind = XAGENT_THREAD;
	t->step.agent_index = (u16)slot;
	coro_init(&t->coro, stack + 8192, MACH_STACK_SIZE - 8192,
		  slot >= XTHR_IDLE ? xidle_main : xworld_thread_main, t);
	w->a->thr_live |= 1U << slot;
}

void xthread_make_ready(struct xworld *w, struct xthr *t)
{
	struct xcpu *c = xcpu_of(w, t);

	t->why = XWHY_READY;
	c->runq[c->nr_runq++] = (u16)(t - w->a->thr);
}

/*
 * The step before xschedule(): the core's context_switch() has interrupts off from its
 * start, and what it does then, handlers and grace periods can tell.
 */
void xstep_schedule(struct xworld *w, struct xthr *t, const struct mach_site *site)
{
	xstep_begin(t, site, MACH_SITE_SCHED);
	xstep_add(&t->step, XOBJ_THREAD, (u32)(t - w->a->thr), true);
	xstep_add(&t->step, XOBJ_IRQ, t->cpu, true);
	xstep_add(&t->step, XOBJ_RCU, t->cpu, true);
	/* A thread that is preempted, or has ended, was in user mode. */
	if (xcpu_of(w, t)->user)
		xstep_add(&t->step, XOBJ_MODE, XMODE_USER + t->cpu, true);
}

/*
 * On to a thread that was preempted in user mode, or begins there. As context(): what the CPU
 * owes is done by now, and from here on others look at what it may still hold.
 */
static void return_to_user(struct xworld *w, struct xthr *prev)
{
	if (!w->booting) {
		xstep_begin(prev, NULL, MACH_SITE_SCHED);
		xstep_add(&prev->step, XOBJ_MODE, XMODE_USER + prev->cpu, true);
		xpark_buffer(w, prev, XWHY_STEP, w->weak ? XNEED_NONE : XNEED_EMPTY);
	}
	xcpu_of(w, prev)->user = 1;
}

/*
 * The CPU goes to the next thread of its queue, or to its idle loop. It is in kernel mode
 * while it switches: between the core's taking itself off the old mm's list and its loading
 * of the new mm, a flusher of the old one may leave it out, and yet its TLB still has what was
 * flushed.
 */
void xschedule(struct xworld *w, struct xthr *prev, enum xwhy after)
{
	struct xcpu *c = xcpu_of(w, prev);
	struct xthr *next = &w->a->thr[XTHR_IDLE + prev->cpu];

	xrcu_enter(w, prev->cpu);
	c->irqs_on = 0;
	c->user = 0;
	if (c->nr_runq) {
		next = &w->a->thr[c->runq[0]];
		c->nr_runq--;
		memmove(c->runq, c->runq + 1, c->nr_runq * sizeof(c->runq[0]));
	}
	if (next != prev) {
		xev_t(w, prev, NULL, "switches from %s to %s",
		      prev->env->tid > XTHR_IDLE ? "idle" : "its thread",
		      next->env->tid > XTHR_IDLE ? "idle" : "another thread");
		if (w->prog.core)
			w->prog.core->context_switch(prev->env->task, next->env->task);
		if (next->ctx == MACH_CTX_USER)
			return_to_user(w, prev);
		c->cur = (u16)(next - w->a->thr);
		next->why = XWHY_STEP;
		next->go = XGO_STEP;
		w->cur = next;
		prev->why = (u8)after;
		if (after == XWHY_DONE)
			w->a->thr_live &= ~(1U << (prev - w->a->thr));
		/* Woken while it was on its way out. */
		if (after == XWHY_BLOCKED && prev->token) {
			prev->token = 0;
			xthread_make_ready(w, prev);
		}
		coro_switch(&prev->coro, &next->coro);
		/* Back, perhaps much later. */
		c = xcpu_of(w, prev);
	}
	c->irqs_on = 1;
	xcrit_left(w, prev->cpu);
}

void xidle_main(void *arg)
{
	struct xthr *t = arg;
	struct xworld *w;

	coro_started();
	w = xstack()->w;
	if (w->booting)
		xworld_boot_cpu(w, t);
	xcpu_of(w, t)->irqs_on = 1;
	for (;;) {
		xstep_schedule(w, t, NULL);
		xpark(w, t, XWHY_IDLE);
		xschedule(w, t, XWHY_IDLE);
	}
}

void xyield(void)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	xstep_begin(t, NULL, MACH_SITE_SCHED);
	xstep_add(&t->step, XOBJ_THREAD, (u32)(t - w->a->thr), true);
	xstep_add(&t->step, XOBJ_MODE, XMODE_USER + t->cpu, true);
	xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	if (!xcpu_of(w, t)->nr_runq)
		return;
	xev_t(w, t, NULL, "is preempted");
	xthread_make_ready(w, t);
	xschedule(w, t, XWHY_READY);
	if (w->weak)
		xweak_context_sync(w, t->cpu);
}

static void check_may_sleep(struct xworld *w, struct xthr *t, const char *what)
{
	const struct xcpu *c = xcpu_of(w, t);

	if (t->locks)
		xviolate(w, XRULE_DEADLOCK, "cpu%u %s with a spinlock held", t->cpu, what);
	else if (!c->irqs_on)
		xviolate(w, XRULE_DEADLOCK, "cpu%u %s with interrupts off", t->cpu, what);
}

static void block(const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	xskip(w, site);
	check_may_sleep(w, t, "sleeps");
	xstep_schedule(w, t, site);
	xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	if (t->token) {
		t->token = 0;
		return;
	}
	xev_t(w, t, site, "goes to sleep");
	xschedule(w, t, XWHY_BLOCKED);
	t->token = 0;
}

static void wake(u32 tid, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t, *other;

	if (!tid || tid > XNR_THR)
		return;
	xskip(w, site);
	other = &w->a->thr[tid - 1];
	xstep_begin(t, site, MACH_SITE_SCHED);
	xstep_add(&t->step, XOBJ_THREAD, tid - 1, true);
	xstep_add(&t->step, XOBJ_THREAD, XTHR_IDLE + other->cpu, true);
	xstep_add(&t->step, XOBJ_THREAD, w->a->cpu[other->cpu].cur, true);
	xstep_order(w, &t->step);
	/* A full barrier, as try_to_wake_up() is. */
	xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	if (w->weak)
		xweak_thread_acquire(w, other->cpu, w->a->now);
	xev_t(w, t, site, "wakes thread %u", tid - 1);
	if (other->why == XWHY_BLOCKED)
		xthread_make_ready(w, other);
	else
		other->token = 1;
}

static u32 create(void *task, void (*fn)(void *arg), void *arg, const u64 *affinity,
		  const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xarena *a = w->a;
	u32 slot, cpu = s->t->cpu;

	xskip(w, site);
	if (affinity)
		cpu = (u32)__builtin_ctzll(affinity[0]);
	XASSERT(cpu < w->nr_cpus);
	/* A program's thread has its number; main's caller says which. */
	slot = s->t->fork_slot ? s->t->fork_slot - 1U : XTHR_DYN;
	for (; slot < XTHR_IDLE; slot++)
		if (!(a->thr_live & 1U << slot) && a->thr[slot].why == XWHY_FREE)
			break;
	if (slot == XTHR_IDLE)
		return 0;
	xthread_setup(w, slot, task, cpu, fn, arg);
	xthread_make_ready(w, &a->thr[slot]);
	return slot + 1;
}

__attribute__((noreturn))
static void thread_exit(void)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;

	check_may_sleep(w, s->t, "ends");
	xstep_schedule(w, s->t, NULL);
	xpark_buffer(w, s->t, XWHY_STEP, XNEED_EMPTY);
	/* It ended by its own exit(), not by falling off its operations. */
	if (w->a->phase == XPHASE_RUN && s->t - w->a->thr < XMAX_THREADS)
		w->a->nr_threads_left--;
	xschedule(w, s->t, XWHY_DONE);
	XASSERT(!"a thread that has ended runs");
	__builtin_unreachable();
}

/*
 * The tick may have come and found that another thread's turn is due, who may be gone when this
 * one gives way. Each thread by itself: who is told it first makes no difference to others.
 */
static bool need_resched(void)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;

	if (w->booting || w->a->phase != XPHASE_RUN || s->t->nr_resched >= w->prog.nr_resched ||
	    !xchoose(w, XCHOICE_RESCHED, 2))
		return false;
	s->t->nr_resched++;
	xev_t(w, s->t, NULL, "is to be preempted");
	return true;
}

static void cond_resched(const struct mach_site *site)
{
	struct xstack *s = xstack();

	xskip(s->w, site);
	if (!s->w->booting)
		check_may_sleep(s->w, s->t, "reschedules");
}

/* ---- interrupts, modes ---- */

/* A critical section begins or ends, which grace periods are about. */
void xstep_crit(struct xworld *w, struct xthr *t, const struct mach_site *site, u32 kind)
{
	if (w->booting)
		return;
	xstep_begin(t, site, kind);
	xstep_add(&t->step, XOBJ_RCU, t->cpu, true);
	xpark(w, t, XWHY_STEP);
}

static bool irq_save(const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	if (w->booting || xskip(w, site) || !xcpu_of(w, t)->irqs_on)
		return false;
	/* An interrupt may still come before; afterwards it cannot. */
	xstep_begin(t, site, MACH_SITE_IRQ);
	xstep_add(&t->step, XOBJ_MODE, XMODE_IRQS + t->cpu, true);
	xstep_add(&t->step, XOBJ_RCU, t->cpu, true);
	xpark(w, t, XWHY_STEP);
	xrcu_enter(w, t->cpu);
	xcpu_of(w, t)->irqs_on = 0;
	return true;
}

static void irq_restore(bool on, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xcpu *c = xcpu_of(s->w, s->t);

	xskip(s->w, site);
	if (!on || c->irqs_on)
		return;
	xstep_crit(s->w, s->t, site, MACH_SITE_IRQ);
	c->irqs_on = 1;
	xcrit_left(s->w, s->t->cpu);
}

/*
 * Crossing into user mode is an exception return: it serialises (x86: IRET empties
 * the store buffer; arm64: a context synchronisation event).
 */
static u32 context(u32 ctx)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	u32 old = t->ctx;

	if ((ctx == MACH_CTX_USER) != (old == MACH_CTX_USER) && !w->booting) {
		xstep_begin(t, NULL, MACH_SITE_SCHED);
		xstep_add(&t->step, XOBJ_MODE, XMODE_USER + t->cpu, true);
		xpark_buffer(w, t, XWHY_STEP, !w->weak && ctx == MACH_CTX_USER ?
			     XNEED_EMPTY : XNEED_NONE);
		if (w->weak)
			xweak_context_sync(w, t->cpu);
		xcpu_of(w, t)->user = ctx == MACH_CTX_USER;
	}
	t->ctx = (u8)ctx;
	return old;
}

static void charge(u32 cost, u64 n)
{
	(void)cost;
	(void)n;
}

static void user_run(u64 ps)
{
	(void)ps;
}

static u32 cpu_node(u32 cpu)
{
	return xcpu_node(xstack()->w, cpu);
}

/* Who runs where is the scenario's: this CPU never gets round to it. */
static void migrate_thread(u32 cpu, const struct mach_site *site)
{
	(void)cpu;
	(void)site;
}

static int user_chase(struct mach_chase *chase)
{
	u64 val;
	int sig;

	while (!chase->stop || !*chase->stop) {
		if (chase->max_loads && chase->loads >= chase->max_loads)
			break;
		sig = xuser_access(chase->va + ((u64)chase->pos << chase->page_shift),
				   false, &val);
		if (sig)
			return sig;
		chase->loads++;
		chase->pos = chase->next[chase->pos];
	}
	return MACH_SIGNAL_NONE;
}

__attribute__((noreturn))
static void bug(const char *what, const struct mach_site *site)
{
	struct xstack *s = xstack();

	xviolate(s->w, XRULE_BUG, "cpu%u: %s at %s:%u (%s)", s->t->cpu, what, site->file,
		 site->line, site->func);
	xpanic(site->file, (int)site->line, what);
}

const struct mach_ops xops = {
	.abi = TLBLAB_ABI,
	.size = sizeof(struct mach_ops),
	.load = xload,
	.store = xstore,
	.rmw = xrmw,
	.fence = xfence,
	.scan_zero = xscan_zero,
	.wait_change = xwait_change,
	.spin_lock = xspin_lock,
	.spin_trylock = xspin_trylock,
	.spin_unlock = xspin_unlock,
	.block = block,
	.wake = wake,
	.thread_create = create,
	.thread_exit = thread_exit,
	.need_resched = need_resched,
	.cond_resched = cond_resched,
	.irq_save = irq_save,
	.irq_restore = irq_restore,
	.ipi = xipi,
	.rcu_read_lock = xrcu_read_lock,
	.rcu_read_unlock = xrcu_read_unlock,
	.call_rcu = xcall_rcu,
	.insn = xinsn,
	.alloc_frames = xalloc_frames,
	.free_frames = xfree_frames,
	.frame_node = xframe_node,
	.copy_frame = xcopy_frame,
	.frame_store = xframe_store,
	.kalloc = xkalloc,
	.kfree = xkfree,
	.charge = charge,
	.context = context,
	.user_access = xuser_access,
	.user_run = user_run,
	.user_wait_change = xuser_wait_change,
	.user_chase = user_chase,
	.cpu_node = cpu_node,
	.migrate_thread = migrate_thread,
	.bug = bug,
};
