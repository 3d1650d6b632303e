/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads and the scheduler.
 *
 * One FIFO runqueue per CPU. A thread that is woken goes to the CPU where it last
 * ran if that idles, else to the nearest idle one (same node first), else to the
 * shortest queue; among those allowed. A CPU that runs out of work takes a
 * waiting thread from the longest queue. A timer tick runs only on CPUs where
 * somebody waits, and ends the time slice of who runs.
 *
 * Kernel code is not preempted (PREEMPT_VOLUNTARY): code under study has no
 * preempt_disable() and may rely on staying on its CPU between two calls of
 * block(), cond_resched() and user mode. User mode is preempted anywhere.
 *
 * Stacks in use. A thread that goes to sleep runs the core's context-switch hook
 * on its own stack. Somebody may wake it meanwhile, and another CPU might enter
 * that stack:
 *
 *	CPU 0: A blocks, hook runs ...		CPU 1: wake(A), A is put on CPU 2
 *						CPU 2: idle, switches to A's stack
 *
 * So a wake-up of a thread that is still on_cpu only leaves wake_pending, and
 * sched_tail(), which runs on the next stack, wakes it. A preempted thread, likewise,
 * enters a runqueue only there.
 */
#include <stdio.h>

#include "internal.h"

void sched_init(struct machine *m)
{
	m->sched.nr_at[0] = m->nr_cpus;
	for (u32 i = 0; i < m->nr_cpus; i++) {
		mask_set(m->sched.level[0], i);
		mask_set(m->sched.node[m->cpu[i].place.node], i);
	}
}

/* ---- runqueues ---- */

/* After any change of nr_queued or of who runs. */
static void rq_update(struct cpu *c)
{
	struct sched *s = &c->m->sched;
	u32 level = c->nr_queued < 7 ? c->nr_queued : 7;

	if (level != c->level) {
		mask_clear(s->level[c->level], c->id);
		mask_set(s->level[level], c->id);
		s->nr_at[c->level]--;
		s->nr_at[level]++;
		c->level = level;
	}
}

static void set_idle(struct cpu *c, bool idle)
{
	c->is_idle = idle;
	if (idle)
		mask_set(c->m->sched.idle, c->id);
	else
		mask_clear(c->m->sched.idle, c->id);
}

static void tick_start(struct cpu *c, u64 time)
{
	u64 period = c->m->desc->tick_us * 1000000ULL;
	u32 event = EVENT_TICK(c->m, c->id);

	if (period && c->nr_queued && c->cur != c->idle &&
	    !c->tick_irq.queued &&
	    !clock_queued(&c->m->clock, event))
		clock_push(&c->m->clock, event,
			   (time > c->m->now ? time : c->m->now) + period);
}

static void rq_push(struct cpu *c, struct thread *t, u64 time)
{
	t->state = THREAD_QUEUED;
	t->next = NULL;
	*c->rq_tail = t;
	c->rq_tail = &t->next;
	c->nr_queued++;
	rq_update(c);
	tick_start(c, time);
}

static void rq_remove(struct cpu *c, struct thread **p)
{
	struct thread *t = *p;

	*p = t->next;
	if (!t->next)
		c->rq_tail = p;
	c->nr_queued--;
	rq_update(c);
}

static bool allowed(const struct thread *t, u32 cpu)
{
	return t->anywhere || mask_test(t->affinity, cpu);
}

/* The first CPU at or after start, around, in a & b & c; -1: none. */
static s32 find_cpu(const struct machine *m, u32 start, const u64 *a,
		    const u64 *b, const u64 *c)
{
	u64 from_start = ~0ULL << (start % 64);
	u32 w = start / 64;

	for (u32 i = 0; i <= m->words; i++) {
		u64 bits = a[w] & (b ? b[w] : ~0ULL) & (c ? c[w] : ~0ULL);

		if (i == 0)
			bits &= from_start;
		if (i == m->words)
			bits &= ~from_start;
		if (bits)
			return w * 64 + __builtin_ctzll(bits);
		if (++w == m->words)
			w = 0;
	}
	return -1;
}

/* Where t shall run. */
static struct cpu *place(struct machine *m, struct thread *t)
{
	const u64 *mask = t->anywhere ? NULL : t->affinity;
	struct cpu *prev = t->cpu;
	s32 i;

	if (allowed(t, prev->id) && (prev->is_idle ||
	    (prev->cur == prev->idle && !prev->nr_queued)))
		return prev;
	i = find_cpu(m, prev->id, m->sched.idle, m->sched.node[prev->place.node],
		     mask);
	if (i < 0)
		i = find_cpu(m, prev->id, m->sched.idle, mask, NULL);
	for (u32 level = 0; i < 0 && level < 8; level++)
		if (m->sched.nr_at[level])
			i = find_cpu(m, prev->id, m->sched.level[level], mask, NULL);
	MACH_ASSERT(i >= 0);
	return &m->cpu[i];
}

/*
 * How deep an idle CPU sleeps varies: as much as the work of the core does, or by what the
 * machine says. Too regular, the phases of a waker and of whom it wakes lock: a writer that is
 * woken for an rwsem comes each time just after the reader who woke it has taken it again.
 */
static u64 wake_latency(struct cpu *c)
{
	u64 ps = hw_cost(c->m, HW_WAKE_LATENCY);
	const struct machine_desc *desc = c->m->desc;
	u32 pct = desc->wake_jitter_pct ? desc->wake_jitter_pct : desc->jitter_pct;
	u64 spread = ps * pct / 100;

	return ps - spread + (spread ? random_below(&c->rng, 2 * spread + 1) : 0);
}

/* t is runnable on c as of time. */
static void activate_on(struct cpu *c, struct thread *t, u64 time)
{
	c->m->stats.wakes++;
	rq_push(c, t, time);
	if (!c->is_idle)
		return;
	set_idle(c, false);
	cpu_kick(c, c->idle_wait, time + wake_latency(c));
}

void thread_activate(struct thread *t, u64 time)
{
	activate_on(place(t->cpu->m, t), t, time);
}

/* A thread that waits elsewhere and may run here, from a long queue. */
static struct thread *pull(struct cpu *c)
{
	struct machine *m = c->m;
	u32 tries = 4;

	for (u32 level = 7; level > 0; level--) {
		u32 start = c->id;
		s32 i;

		while (tries && m->sched.nr_at[level] && (i = find_cpu(m, start, m->sched.level[level],
					      NULL, NULL)) >= 0) {
			struct cpu *from = &m->cpu[i];
			struct thread **p = &from->rq_head;

			while (*p && (!allowed(*p, c->id) || (*p)->placed))
				p = &(*p)->next;
			if (*p && from->cur != from->idle) {
				struct thread *t = *p;

				rq_remove(from, p);
				return t;
			}
			tries--;
			start = (i + 1) % m->nr_cpus;
			if (start == c->id)
				break;
		}
	}
	return NULL;
}

static struct thread *pick(struct cpu *c)
{
	struct thread *t = c->rq_head;

	if (t) {
		rq_remove(c, &c->rq_head);
		return t;
	}
	/* Who is preempted goes on, if there is nobody else here, and it was not sent away. */
	if (c->cur != c->idle && !c->cur->move_to && c->cur->state == THREAD_PREEMPTED)
		return c->cur;
	t = c->cur->move_to ? NULL : pull(c);
	return t ? t : c->idle;
}

/* ---- switching ---- */

static void thread_release(struct machine *m, struct thread *t)
{
	u32 tid = t->env.tid;

	t->state = THREAD_FREE;
	m->thread[tid] = NULL;
	m->tid_ring[(m->ring_head + m->ring_nr++) % TLBLAB_MAX_THREADS] = tid;
	t->next = m->stack_free;
	m->stack_free = t;
}

/* What remains of a switch, on the stack that was switched to. */
static void sched_tail(void)
{
	struct thread *t = this_thread(), *prev;
	struct cpu *c = t->cpu;

	prev = c->prev;
	c->prev = NULL;
	c->ctx_acct = t->is_idle ? MACH_ACCT_SCHED : cpu_context_account(t->ctx);
	prev->on_cpu = false;
	switch (prev->state) {
	case THREAD_DEAD:
		thread_release(c->m, prev);
		break;
	case THREAD_PREEMPTED:
		if (prev->move_to) {
			struct cpu *to = &c->m->cpu[prev->move_to - 1];

			prev->move_to = 0;
			prev->placed = true;
			activate_on(to, prev, c->clock);
			break;
		}
		rq_push(c, prev, c->clock);
		break;
	default:
		if (prev->wake_pending) {
			prev->wake_pending = false;
			thread_activate(prev, c->clock);
		}
	}
	tick_start(c, c->clock);
	cpu_irqs_on(c);
}

/* Give the CPU to whoever is next. Interrupts on, no locks. */
static void schedule(struct cpu *c)
{
	struct machine *m = c->m;
	struct thread *prev = c->cur, *next;

	MACH_ASSERT(c->irqs_on && !c->preempt && !c->rcu_nest && !c->irq_depth);
	cpu_irqs_off(c);
	c->need_resched = false;
	prev->ran_ps += c->clock - c->slice_start;
	next = pick(c);
	if (next == prev) {
		prev->state = THREAD_RUNNING;
		c->slice_start = c->clock;
		cpu_irqs_on(c);
		return;
	}
	next->state = THREAD_RUNNING;
	next->placed = false;
	c->ctx_acct = MACH_ACCT_SCHED;
	m->core->context_switch(prev->env.task, next->env.task);
	if (next != c->idle)
		cpu_advance(c, hw_cost(m, HW_SCHED_IN), MACH_ACCT_SCHED);
	m->stats.switches++;
	next->on_cpu = true;
	next->cpu = c;
	next->env.cpu = c->id;
	c->cur = next;
	c->prev = prev;
	c->slice_start = c->clock;
	cpu_check_accounts(c);
	if (prev->state == THREAD_DEAD)
		coro_leave(&prev->coro, &next->coro);
	coro_switch(&prev->coro, &next->coro);
	sched_tail();
}

void sched_preempt_point(struct cpu *c)
{
	if (likely(!c->need_resched) || !c->irqs_on || c->preempt ||
	    c->rcu_nest || c->irq_depth || c->cur == c->idle)
		return;
	cpu_sync(c);
	c->cur->state = THREAD_PREEMPTED;
	schedule(c);
}

/* In the tick's handler. */
void sched_tick(struct cpu *c)
{
	if (c->nr_queued && c->cur != c->idle &&
	    c->clock - c->slice_start >= c->m->desc->timeslice_us * 1000000ULL)
		c->need_resched = true;
	tick_start(c, c->clock);
}

/*
 * The thread goes through the runqueue of the other CPU, where it is next. Who runs there is
 * sent here at its next preemption point, which is now if it is in user mode.
 */
void thread_migrate(u32 cpu, const struct mach_site *site)
{
	struct thread *t = this_thread(), *other;
	struct cpu *c = t->cpu, *to = &c->m->cpu[cpu];

	(void)site;
	MACH_ASSERT(cpu < c->m->nr_cpus);
	cpu_sync(c);
	other = to->cur;
	if (to == c || !allowed(t, cpu) || c->preempt || !c->irqs_on || other->move_to)
		return;
	if (other != to->idle) {
		if (!allowed(other, c->id) || other->ctx != MACH_CTX_USER)
			return;
		other->move_to = c->id + 1;
		to->need_resched = true;
		if (to->wait)
			cpu_kick(to, to->wait, c->clock);
	}
	t->move_to = cpu + 1;
	t->state = THREAD_PREEMPTED;
	schedule(c);
}

bool thread_need_resched(void)
{
	return this_cpu()->need_resched;
}

void thread_cond_resched(const struct mach_site *site)
{
	(void)site;
	sched_preempt_point(this_cpu());
}

void idle_main(void *arg)
{
	struct cpu *c = this_cpu();

	(void)arg;
	for (;;) {
		struct wait w = {
			.until = NEVER, .acct = MACH_ACCT_IDLE, .irqs = true,
		};

		cpu_sync(c);
		schedule(c);
		if (c->nr_queued)
			continue;
		c->idle_wait = &w;
		set_idle(c, true);
		/* An interrupt does not cut the time to wake up short. */
		while (!c->nr_queued || w.until > c->clock) {
			cpu_wait(c, &w);
			if (w.kicked && w.until <= c->clock)
				break;
		}
		set_idle(c, false);
	}
}

/* ---- sleep and wake ---- */

void thread_block(const struct mach_site *site)
{
	struct thread *t = this_thread();
	struct cpu *c = t->cpu;
	struct wait w = { .acct = MACH_ACCT_SCHED, .irqs = true };
	u64 left = hw_cost(c->m, HW_SCHED_OUT);

	MACH_ASSERT(c->irqs_on && !c->preempt && !c->rcu_nest && !c->irq_depth);
	/* Not synchronised: an earlier wake-up that comes now ends GOING at once. */
	if (t->token) {
		t->token = false;
		return;
	}
	t->in_block = true;
	t->site = site;
	t->state = THREAD_GOING;
	t->going = &w;
	while (left && t->state == THREAD_GOING)
		left = cpu_work(c, &w, left);
	cpu_sync(c);
	if (t->state == THREAD_GOING) {
		t->state = THREAD_BLOCKED;
		c->m->stats.sleeps++;
		schedule(c);
	}
	t->going = NULL;
	t->in_block = false;
	t->site = NULL;
}

/*
 * Wake t, which is asleep. Its CPU is chosen at the beginning. An idle one is ours
 * from then on, and resumes in the future: nobody can tell that this was
 * decided before the cost of it has passed. A busy one might pick t too
 * early, so its queue is touched at the end only.
 */
static void wake_up(struct cpu *c, struct thread *t)
{
	struct cpu *to;

	t->state = THREAD_WAKING;
	to = t->on_cpu ? NULL : place(c->m, t);
	if (!to)
		t->wake_pending = true;
	cpu_advance(c, hw_cost(c->m, HW_WAKE), MACH_ACCT_SCHED);
	if (!to)
		return;
	if (to->is_idle) {
		activate_on(to, t, c->clock);
		return;
	}
	cpu_sync(c);
	thread_activate(t, c->clock);
}

void thread_wake(u32 tid, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;
	struct thread *t;

	(void)site;
	cpu_sync(c);
	t = tid < m->nr_tids ? m->thread[tid] : NULL;
	if (!t)
		return;
	if (t->state == THREAD_GOING) {
		/* It sees the wake-up before it is gone, and goes on. */
		t->state = THREAD_RUNNING;
		cpu_kick(t->cpu, t->going, c->clock);
		cpu_advance(c, hw_cost(m, HW_WAKE), MACH_ACCT_SCHED);
		return;
	}
	if (t->state != THREAD_BLOCKED) {
		/* Woken already, but not yet back from block(): nothing to add. */
		if (!t->in_block)
			t->token = true;
		cpu_advance(c, hw_cost(m, HW_ATOMIC_LOCAL), MACH_ACCT_SCHED);
		return;
	}
	wake_up(c, t);
}

/* ---- birth and death ---- */

static void thread_main(void *arg)
{
	struct thread *t;

	(void)arg;
	coro_started();
	sched_tail();
	t = this_thread();
	t->fn(t->arg);
	thread_exit();
}

/* A thread that is not runnable yet; NULL: there are too many. */
struct thread *thread_spawn(struct machine *m, struct cpu *near, void *task,
			    void (*fn)(void *arg), void *arg,
			    const u64 *affinity)
{
	struct thread *t;
	u32 tid;

	if (m->nr_threads >= TLBLAB_MAX_THREADS - 1)
		return NULL;
	t = thread_new(m, thread_main);
	if (!t)
		return NULL;
	if (m->nr_tids < TLBLAB_MAX_THREADS) {
		tid = m->nr_tids++;
	} else {
		tid = m->tid_ring[m->ring_head];
		m->ring_head = (m->ring_head + 1) % TLBLAB_MAX_THREADS;
		m->ring_nr--;
	}
	m->thread[tid] = t;
	m->nr_threads++;
	t->env.tid = tid;
	t->env.task = task;
	t->fn = fn;
	t->arg = arg;
	t->ctx = MACH_CTX_USER;
	t->cpu = near;
	t->anywhere = !affinity;
	if (affinity)
		memcpy(t->affinity, affinity, sizeof(u64) * m->words);
	t->state = THREAD_WAKING;
	return t;
}

u32 thread_create(void *task, void (*fn)(void *arg), void *arg,
		  const u64 *affinity, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct thread *t;

	(void)site;
	cpu_advance(c, hw_cost(c->m, HW_WAKE), MACH_ACCT_SCHED);
	cpu_sync(c);
	t = thread_spawn(c->m, c, task, fn, arg, affinity);
	if (!t)
		return 0;
	thread_activate(t, c->clock);
	return t->env.tid;
}

void thread_exit(void)
{
	struct thread *t = this_thread();
	struct cpu *c = t->cpu;

	MACH_ASSERT(!t->is_idle);
	cpu_sync(c);
	t->state = THREAD_DEAD;
	if (!--c->m->nr_threads)
		c->m->exiting = 1;
	schedule(c);
	MACH_PANIC("a dead thread runs");
}

/* ---- for messages ---- */

static const char *state_name(const struct thread *t)
{
	switch (t->state) {
	case THREAD_RUNNING: return "running";
	case THREAD_QUEUED: return "runnable";
	case THREAD_PREEMPTED: return "preempted";
	case THREAD_GOING: return "going to sleep";
	case THREAD_BLOCKED: return "asleep";
	case THREAD_WAKING: return "waking";
	default: return "dead";
	}
}

/* Who waits where, into machine_message(). */
void sched_describe(struct machine *m, const char *what)
{
	size_t n = snprintf(m->message, sizeof(m->message), "%s", what);
	u32 shown = 0;

	for (u32 tid = 1; tid < m->nr_tids; tid++) {
		const struct thread *t = m->thread[tid];

		if (!t)
			continue;
		if (++shown > 16 || n + 200 > sizeof(m->message))
			break;
		n += snprintf(m->message + n, sizeof(m->message) - n,
			      "%s thread %u (CPU %u) %s", shown == 1 ? ":" : ";",
			      tid, t->cpu->id, state_name(t));
		if (t->site && n + 200 < sizeof(m->message))
			n += snprintf(m->message + n, 200, " at %s:%u (%s)",
				      t->site->file, t->site->line,
				      t->site->func);
	}
	if (m->nr_threads > 16)
		snprintf(m->message + n, sizeof(m->message) - n, "; ... (%u in all)",
			 m->nr_threads);
}
