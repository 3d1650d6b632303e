/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks, waiting, interrupts from CPU to CPU, RCU.
 *
 * A spinlock is taken by a locked operation: on x86 it waits for the store buffer.
 * Its release is a store and waits in the buffer like any other (the lock stays
 * taken until it drains). Who waits is not enabled; who gets it is the chooser's
 * decision, so every order of a queue is covered.
 *
 * A mutation that leaves a lock out leaves out its unlock: the thread remembers
 * which of its locks it has not taken.
 */
#include "world.h"

/* ---- locks ---- */

bool xlock_free(const struct mach_lock *lock)
{
	return !lock->owner;
}

static void lock_step(struct xworld *w, struct xthr *t, struct mach_lock *lock,
		      const struct mach_site *site)
{
	xstep_begin(t, site, MACH_SITE_LOCK);
	xstep_add(&t->step, XOBJ_LOCK, xoff(w, lock) / 8, true);
	xstep_heap(w, &t->step, xoff(w, lock), false);
	if (xcpu_of(w, t)->irq_depth)
		xstep_own(&t->step, t->cpu, xoff(w, lock), true);
}

static void lock_taken(struct xworld *w, struct xthr *t, struct mach_lock *lock)
{
	if (unlikely(w->a->nr_kfreed))
		xoracle_heap(w, t->cpu, xoff(w, lock), true, false);
	if (w->weak)
		xweak_acquire(w, t->cpu, (u32)lock->free_at);
	lock->owner = t->cpu + 1U;
	t->locks++;
	xoracle_held(t, xoff(w, lock), true);
}

static bool elide(struct xworld *w, struct xthr *t, struct mach_lock *lock,
		  const struct mach_site *site)
{
	if (likely(!xskip(w, site)))
		return false;
	XASSERT(t->nr_elided < XMAX_ELIDED);
	t->elided[t->nr_elided++] = lock;
	return true;
}

void xspin_lock(struct mach_lock *lock, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	char name[64];

	if (w->booting) {
		lock->owner = t->cpu + 1U;
		t->locks++;
		return;
	}
	if (elide(w, t, lock, site))
		return;
	lock_step(w, t, lock, site);
	t->lock = lock;
	xpark_buffer(w, t, XWHY_LOCK, w->weak ? XNEED_NONE : XNEED_EMPTY);
	lock_taken(w, t, lock);
	xev_t(w, t, site, "takes lock %s", xname_word(w, xoff(w, lock), name));
}

bool xspin_trylock(struct mach_lock *lock, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	if (w->booting) {
		lock->owner = t->cpu + 1U;
		t->locks++;
		return true;
	}
	if (elide(w, t, lock, site))
		return true;
	lock_step(w, t, lock, site);
	xpark_buffer(w, t, XWHY_STEP, w->weak ? XNEED_NONE : XNEED_EMPTY);
	if (!xlock_free(lock))
		return false;
	lock_taken(w, t, lock);
	return true;
}

void xspin_unlock(struct mach_lock *lock, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	struct xstore st = {
		.off = xoff(w, lock), .size = 8, .kind = XSTORE_UNLOCK, .site = site,
	};
	char name[64];

	if (w->booting) {
		lock->owner = 0;
		t->locks--;
		return;
	}
	xskip(w, site);
	for (u32 i = 0; i < t->nr_elided; i++)
		if (t->elided[i] == lock) {
			t->elided[i] = t->elided[--t->nr_elided];
			return;
		}
	if (lock->owner != t->cpu + 1U) {
		xviolate(w, XRULE_BUG, "cpu%u lets go of a lock that it has not", t->cpu);
		return;
	}
	t->locks--;
	xoracle_held(t, xoff(w, lock), false);
	if (w->weak) {
		/* A release: what came before is visible first. */
		xstep_begin(t, site, MACH_SITE_UNLOCK);
		xstep_order(w, &t->step);
		xstep_add(&t->step, XOBJ_LOCK, st.off / 8, true);
		xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
		/* Time starts again at the snapshot. */
		lock->free_at = w->a->phase == XPHASE_INIT ? 0 : w->a->now;
		lock->owner = 0;
	} else {
		xpark_store(w, t, st.off, site, MACH_SITE_UNLOCK);
		xmem_store(w, t->cpu, &st);
	}
	xev_t(w, t, site, "lets go of lock %s", xname_word(w, st.off, name));
}

/* ---- waiting for words ---- */

bool xwatch_hit(struct xworld *w, const struct xthr *t)
{
	for (u32 i = 0; i < t->nr_watch; i++)
		if (xmem_read(w, xoff(w, t->watch[i].addr), t->watch[i].size) !=
		    t->watch[i].old)
			return true;
	return false;
}

int xwait_change(const struct mach_watch *watch, u32 n, const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	xskip(w, site);
	XASSERT(n <= MACH_MAX_WATCH);
	memcpy(t->watch, watch, n * sizeof(*watch));
	t->nr_watch = (u8)n;
	t->irq_taken = 0;
	xstep_begin(t, site, MACH_SITE_WAIT);
	for (u32 i = 0; i < n; i++)
		xstep_look(&t->step, xoff(w, watch[i].addr));
	/* An interrupt ends it, too. */
	xstep_add(&t->step, XOBJ_IRQ, t->cpu, false);
	xpark(w, t, XWHY_WATCH);
	for (u32 i = 0; i < n; i++) {
		u32 off = xoff(w, watch[i].addr);

		if (xmem_read(w, off, watch[i].size) == watch[i].old)
			continue;
		/* It has seen the newest: a later load reads no older one. */
		if (w->weak)
			xweak_read_newest(w, t->cpu, off, watch[i].size, MACH_RELAXED);
		return (int)i;
	}
	return -1;
}

void xuser_wait_change(const struct mach_watch *watch, u32 n)
{
	static const struct mach_site site = {
		__FILE__, "user_wait_change", __LINE__, MACH_SITE_WAIT
	};

	while (xwait_change(watch, n, &site) < 0)
		;
}

/* ---- interrupts ---- */

static void irq_push(struct xworld *w, u32 cpu, u32 kind, u32 call)
{
	struct xcpu *c = &w->a->cpu[cpu];

	XASSERT(c->nr_irqs < XMAX_IRQS);
	c->irq[c->nr_irqs++] = (struct xirq){ .kind = (u8)kind, .call = (u8)call };
}

static u32 call_new(struct xworld *w)
{
	for (u32 i = 0; i < XMAX_CALLS; i++)
		if (!w->a->call[i].used)
			return i;
	XASSERT(!"too many IPIs under way");
	return 0;
}

void xipi(const u64 *mask, void (*func)(void *info), void *info, bool wait,
	  const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	u64 bits = mask[0] & ~(1ULL << t->cpu) & ((1ULL << w->nr_cpus) - 1);
	u32 id;

	if (w->booting || xskip(w, site) || !bits)
		return;
	if (wait && !xcpu_of(w, t)->irqs_on) {
		xviolate(w, XRULE_DEADLOCK,
			 "cpu%u waits for other CPUs' interrupts with its own off", t->cpu);
		return;
	}
	xstep_begin(t, site, MACH_SITE_IPI);
	for (u64 b = bits; b; b &= b - 1)
		xstep_add(&t->step, XOBJ_IRQ, (u32)__builtin_ctzll(b), true);
	xstep_order(w, &t->step);
	/* Its earlier stores are visible to func. */
	xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	id = call_new(w);
	w->a->call[id] = (struct xcall){
		.func = func, .info = info, .view = w->a->now, .used = 1, .wait = wait,
		.left = (u8)__builtin_popcountll(bits), .sender = (u8)(t - w->a->thr),
	};
	for (u64 b = bits; b; b &= b - 1)
		irq_push(w, (u32)__builtin_ctzll(b), XIRQ_CALL, id);
	xev_t(w, t, site, "sends an IPI to cpus 0x%llx", (unsigned long long)bits);
	if (!wait)
		return;
	xstep_begin(t, site, MACH_SITE_IPI);
	xstep_add(&t->step, XOBJ_THREAD, (u32)(t - w->a->thr), false);
	t->call = (u8)id;
	xpark(w, t, XWHY_CALL);
	w->a->call[id].used = 0;
	if (w->weak)
		xweak_acquire(w, t->cpu, w->a->now);
	xev_t(w, t, site, "all CPUs have answered");
}

/* The last step of a handler: the sender may go on. */
static void acknowledge(struct xworld *w, struct xthr *t, struct xcall *call)
{
	xstep_begin(t, NULL, MACH_SITE_IPI);
	xstep_add(&t->step, XOBJ_THREAD, call->sender, true);
	xstep_add(&t->step, XOBJ_RCU, XOBJ_RCU_HANDLER + t->cpu, true);
	xstep_add(&t->step, XOBJ_MODE, XMODE_HANDLER + t->cpu, true);
	xstep_order(w, &t->step);
	xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	if (!--call->left && !call->wait)
		call->used = 0;
}

/*
 * A grace period ends once every CPU that was in a critical section (a read
 * section, or interrupts off) at call_rcu() has left it: crit_seq counts the
 * ends. Which sections those are is looked at in call_rcu()'s step.
 *
 * Weak memory: a section that is still there when the grace period ends must see all that
 * came before call_rcu(), from its beginning. So who was in none owes it from then on (it may
 * stop being looked at there and then), and the others from the end, which waits until they
 * are in none; and he sees it where his next section begins (xrcu_enter()). Outside
 * sections nobody may count on it.
 */
static bool in_crit(const struct xcpu *c)
{
	return c->rcu_nest || !c->irqs_on;
}

/*
 * Interrupts are on again, or a read section has ended. An interrupt taken within a read
 * section leaves it as it was:
 *
 *	CPU 0				CPU 1
 *					rcu_read_lock()
 *	sends an IPI			  takes it
 *	call_rcu()
 *					  returns from the handler: still in the section
 *
 * And a grace period is a full barrier on each CPU: what a section stored, the release of a lock
 * in an object that is freed next, is visible when it ends.
 */
void xcrit_left(struct xworld *w, u32 cpu)
{
	struct xcpu *c = &w->a->cpu[cpu];

	if (c->rcu_nest)
		return;
	if (!w->weak)
		c->crit_sb = c->nr_sb;
	for (u32 i = 0; i < w->a->nr_rcu; i++)
		if (w->a->rcu[i].seq[cpu] == c->crit_seq)
			w->a->rcu[i].sb[cpu] = c->crit_sb;
	c->crit_seq++;
}

void xrcu_drained(struct xworld *w, u32 cpu)
{
	struct xcpu *c = &w->a->cpu[cpu];

	if (c->crit_sb)
		c->crit_sb--;
	for (u32 i = 0; i < w->a->nr_rcu; i++)
		if (w->a->rcu[i].sb[cpu])
			w->a->rcu[i].sb[cpu]--;
}

static void see_later(struct xworld *w, u32 cpu, u32 view)
{
	struct xcpu *c = &w->a->cpu[cpu];

	if (view > c->rcu_view)
		c->rcu_view = view;
}

void xrcu_enter(struct xworld *w, u32 cpu)
{
	if (w->weak)
		xweak_acquire(w, cpu, w->a->cpu[cpu].rcu_view);
}

static bool over(const struct xworld *w, const struct xrcu *r)
{
	for (u32 i = 0; i < w->nr_cpus; i++)
		if (r->sb[i] ||
		    (r->seq[i] != XNEVER && (r->seq[i] == w->a->cpu[i].crit_seq ||
					     (w->weak && in_crit(&w->a->cpu[i])))))
			return false;
	return true;
}

bool xrcu_due(const struct xworld *w, u32 cpu)
{
	for (u32 i = 0; i < w->a->nr_rcu; i++)
		if (w->a->rcu[i].cpu == cpu && over(w, &w->a->rcu[i]))
			return true;
	return false;
}

/*
 * The object that a callback is: of its call, and of the interrupt that runs it. Those in
 * variables of a C model are one.
 */
static u32 callback_id(const struct xworld *w, const struct rcu_head *head)
{
	return XOBJ_RCU_CALLBACK | (xin_arena(w, head) ? xoff(w, head) / 8 : 0);
}

/*
 * The grace period of r depends on what k does next: k has not left the section that was
 * waited for, or its stores are not all visible, or (weak memory) it may be in another one.
 */
static bool waits_for(const struct xworld *w, const struct xrcu *r, u32 k)
{
	return r->sb[k] || (r->seq[k] != XNEVER &&
			    (w->weak || r->seq[k] == w->a->cpu[k].crit_seq));
}

void xrcu_footprint(const struct xworld *w, u32 cpu, struct xstep *s)
{
	bool due = false;

	for (u32 i = 0; i < w->a->nr_rcu && !due; i++) {
		const struct xrcu *r = &w->a->rcu[i];

		if (r->cpu == cpu && over(w, r)) {
			xstep_add(s, XOBJ_RCU, callback_id(w, r->head), true);
			due = true;
		}
		for (u32 k = 0; k < w->nr_cpus && r->cpu == cpu; k++) {
			if (!waits_for(w, r, k))
				continue;
			xstep_add(s, XOBJ_RCU, k, false);
			xstep_add(s, XOBJ_RCU, XOBJ_RCU_HANDLER + k, false);
		}
	}
}

/*
 * The end of the first grace period that this CPU's callbacks wait for. Returns the view
 * that the callback begins with: each CPU has passed a full barrier since call_rcu().
 * One at a time: so it does not matter how many more were due at an interrupt.
 */
static u32 rcu_end(struct xworld *w, u32 cpu)
{
	u32 view = 0;

	for (u32 i = 0; i < w->a->nr_rcu; i++) {
		struct xrcu *r = &w->a->rcu[i];

		if (r->cpu != cpu || !over(w, r))
			continue;
		r->due = 1;
		view = r->view;
		for (u32 k = 0; k < w->nr_cpus; k++)
			if (r->seq[k] != XNEVER)
				see_later(w, k, r->view);
		break;
	}
	return view;
}

/* The one of this CPU whose grace period has ended. */
static void run_rcu(struct xworld *w, struct xthr *t)
{
	struct xarena *a = w->a;

	for (u32 i = 0; i < a->nr_rcu; i++) {
		struct rcu_head *head = a->rcu[i].head;

		if (!a->rcu[i].due || a->rcu[i].cpu != t->cpu)
			continue;
		a->nr_rcu--;
		memmove(&a->rcu[i], &a->rcu[i + 1],
			(a->nr_rcu - i) * sizeof(a->rcu[0]));
		head->func(head);
		break;
	}
}

/* The IPI that came first. */
static struct xirq next_irq(struct xcpu *c)
{
	struct xirq irq = c->irq[0];

	c->nr_irqs--;
	memmove(c->irq, c->irq + 1, c->nr_irqs * sizeof(irq));
	return irq;
}

static void take_ipi(struct xworld *w, struct xthr *t)
{
	struct xirq irq = next_irq(xcpu_of(w, t));
	struct xcall *call = &w->a->call[irq.call];

	xev(w, XAGENT_IRQ, t->cpu, t->cpu, NULL, "takes an IPI");
	if (w->weak) {
		xweak_context_sync(w, t->cpu);
		xweak_acquire(w, t->cpu, call->view);
		xrcu_enter(w, t->cpu);
	}
	call->func(call->info);
	acknowledge(w, t, call);
	if (w->weak)
		xweak_context_sync(w, t->cpu);
}

/*
 * Callbacks may run anywhere (RCU_NOCB_CPU): on an interrupt of this CPU, on
 * another CPU, in a thread. So on weak machines they have views of their own, and leave those
 * of the thread that they interrupt as they are: it cannot count on having been interrupted.
 */
static void take_rcu(struct xworld *w, struct xthr *t, u32 view)
{
	struct xcpu *c = xcpu_of(w, t);
	struct xviews own = { 0 };

	xev(w, XAGENT_IRQ, t->cpu, t->cpu, NULL,
	    "takes an interrupt: a grace period is over, RCU callbacks are due");
	if (w->weak) {
		own = c->v;
		c->v = (struct xviews){ 0 };
		xweak_acquire(w, t->cpu, view);
		c->views = &own;
	}
	run_rcu(w, t);
	xstep_begin(t, NULL, MACH_SITE_RCU);
	xstep_add(&t->step, XOBJ_RCU, XOBJ_RCU_HANDLER + t->cpu, true);
	xstep_add(&t->step, XOBJ_MODE, XMODE_HANDLER + t->cpu, true);
	xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	if (w->weak)
		c->v = own;
	c->views = NULL;
}

void xirq_run(struct xworld *w, struct xthr *t)
{
	struct xcpu *c = xcpu_of(w, t);
	bool user = c->user, ipi = c->nr_irqs;
	/* Looked at before interrupts are off, for that counts as a section. */
	u32 view = ipi ? 0 : rcu_end(w, t->cpu);
	u8 ctx = t->ctx;

	c->irqs_on = 0;
	c->irq_depth++;
	c->user = 0;
	/* The core must not take it for a crossing of its thread. */
	t->ctx = MACH_CTX_IRQ;
	if (ipi)
		take_ipi(w, t);
	else
		take_rcu(w, t, view);
	t->ctx = ctx;
	t->irq_taken = 1;
	c->user = user;
	c->irq_depth--;
	c->irqs_on = 1;
	xcrit_left(w, t->cpu);
}

/* ---- RCU ---- */

void xrcu_read_lock(const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xcpu *c = xcpu_of(s->w, s->t);

	if (xskip(s->w, site))
		return;
	if (!c->rcu_nest) {
		xstep_crit(s->w, s->t, site, MACH_SITE_RCU);
		xrcu_enter(s->w, s->t->cpu);
	}
	c->rcu_nest++;
}

void xrcu_read_unlock(const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xcpu *c = xcpu_of(s->w, s->t);

	xskip(s->w, site);
	if (!c->rcu_nest)
		return;		/* its lock was left out */
	if (c->rcu_nest == 1)
		xstep_crit(s->w, s->t, site, MACH_SITE_RCU);
	c->rcu_nest--;
	if (c->irqs_on)
		xcrit_left(s->w, s->t->cpu);
}

/*
 * Who is in a section, or a handler, is waited for. Of who is not, it does not matter how many
 * there have been; on weak machines it does, for the next one sees what came before.
 */
static void describe_call(struct xworld *w, struct xthr *t)
{
	xstep_clear(&t->step);
	xstep_add(&t->step, XOBJ_RCU, (u32)t->describe.a, true);
	for (u32 i = 0; i < w->nr_cpus; i++) {
		const struct xcpu *c = &w->a->cpu[i];
		bool handler = c->irq_depth;

		xstep_touch(&t->step, XOBJ_RCU, i, false,
			    !w->weak && !c->crit_sb && (handler || !in_crit(c)));
		xstep_touch(&t->step, XOBJ_RCU, XOBJ_RCU_HANDLER + i, false, !handler);
		if (i != t->cpu)
			xstep_add(&t->step, XOBJ_MODE, XMODE_HANDLER + i, false);
	}
}

void xcall_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head),
	       const struct mach_site *site)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;
	struct xrcu *r;

	if (!w->booting) {
		xskip(w, site);
		xstep_begin(t, site, MACH_SITE_RCU);
		xstep_describe(w, t, describe_call, callback_id(w, head), 0);
		xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	}
	XASSERT(w->a->nr_rcu < XMAX_RCU);
	head->func = func;
	r = &w->a->rcu[w->a->nr_rcu++];
	*r = (struct xrcu){ .head = head, .cpu = t->cpu, .view = w->a->now };
	for (u32 i = 0; i < w->nr_cpus; i++) {
		const struct xcpu *c = &w->a->cpu[i];

		r->seq[i] = in_crit(c) ? c->crit_seq : XNEVER;
		r->sb[i] = c->crit_sb;
		if (!in_crit(c))
			see_later(w, i, r->view);
	}
}

