/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User mode: accesses through the MMU, computing, and pointer chases.
 *
 * A chase is evaluated afterwards. The CPU just waits, as if computing; when
 * the wait ends (an interrupt, *stop, the window, or the quantum is over) the MMU
 * is asked how the chase went in that time, with the invalidations that came
 * meanwhile. So a fault is noticed late, by at most the quantum; it is short
 * after a fault and grows to a millisecond while there are none. The time from the
 * fault to its notice counts as user time.
 */
#include <stdio.h>

#include "internal.h"

#define CHASE_QUANTUM_MIN_PS	1000000ULL
#define CHASE_QUANTUM_MAX_PS	1000000000ULL

u32 cost_context(u32 ctx)
{
	struct thread *t = this_thread();
	u32 old = t->ctx;

	t->ctx = ctx;
	if (!t->is_idle)
		t->cpu->ctx_acct = cpu_context_account(ctx);
	if (ctx == MACH_CTX_USER && old != ctx)
		sched_preempt_point(t->cpu);
	return old;
}

void cost_charge(u32 cost, u64 n)
{
	struct cpu *c = this_cpu();
	const struct named_cost *named = &c->m->named[cost];
	u64 ps = named->ps, spread = named->spread;

	MACH_ASSERT(cost < MACH_NR_COSTS);
	if (n != 1) {
		ps *= n;
		spread *= n;
	}
	if (spread)
		ps += random_below(&c->rng, 2 * spread + 1) - spread;
	cpu_advance(c, ps, named->acct == MACH_ACCT_CONTEXT ? c->ctx_acct :
							      named->acct);
}

/* A user access of the running thread faulted. */
static int deliver_fault(u64 va, u32 flags)
{
	struct thread *t = this_thread();
	struct machine *m = t->cpu->m;
	u32 ctx = cost_context(MACH_CTX_FAULT);
	int signal;

	MACH_ASSERT(t->cpu->irqs_on && !t->cpu->preempt);
	m->stats.page_fault++;
	signal = m->core->fault(va, (flags & ~MMU_FAULT) | MACH_FAULT_USER);
	cost_context(ctx);
	return signal;
}

/*
 * The same access again and again: the core finds nothing to mend, the MMU goes on
 * using what should have been invalidated. Nothing but the run's end helps.
 */
static void check_stuck(struct cpu *c, u64 va, u32 faults)
{
	struct machine *m = c->m;

	if (faults < TLBLAB_STUCK_FAULTS || m->finish != FINISH_NO)
		return;
	m->finish = FINISH_STUCK;
	snprintf(m->message, sizeof(m->message),
		 "stuck: CPU %u faulted %u times in a row at 0x%llx, through a stale translation that nothing drops",
		 c->id, faults, (unsigned long long)va);
}

int user_access(u64 va, bool write, u64 *val)
{
	struct thread *t = this_thread();
	u32 faults = 0;

	MACH_ASSERT(!(va & 7));
	for (;;) {
		struct mmu_xlate x;
		struct cpu *c;
		int signal;

		sched_preempt_point(t->cpu);
		c = t->cpu;
		cpu_sync_load(c);
		mmu_translate(c->m->mmu, c->id, cpu_mmu_now(c), va, write, &x);
		cpu_advance(c, x.walk_ps, MACH_ACCT_WALK);
		cpu_advance(c, x.user_ps, MACH_ACCT_USER);
		if (likely(!x.fault)) {
			/* Data frames have no contents: all is zero. */
			if (!write)
				*val = 0;
			return MACH_SIGNAL_NONE;
		}
		signal = deliver_fault(va, x.fault |
				       (write ? MACH_FAULT_WRITE : 0));
		if (signal)
			return signal;
		check_stuck(t->cpu, va, ++faults);
	}
}

void user_run(u64 ps)
{
	struct thread *t = this_thread();

	while (ps) {
		struct wait w = { .acct = MACH_ACCT_USER, .irqs = true };
		struct cpu *c;
		u64 ops;

		sched_preempt_point(t->cpu);
		c = t->cpu;
		ops = c->m->dvm_ops;
		ps = cpu_work(c, &w, ps);
		/* Each broadcast of another CPU has held this one up a little. */
		if (unlikely(c->m->dvm_ops != ops))
			cpu_advance(c, (c->m->dvm_ops - ops) *
				    hw_cost(c->m, HW_DVM_SNOOP), MACH_ACCT_WALK);
	}
}

/*
 * What pages of memory at pa take from now on: as long as this CPU alone would need, or its
 * share of what the node's memory serves, if more CPUs are at it. Shares are as of now: whoever
 * comes or goes meanwhile does not change them, and runs are short.
 */
u64 memory_ps(struct cpu *c, u64 pa, u64 pages)
{
	struct machine *m = c->m;
	u32 node = mem_frame_node(pa >> m->desc->page_shift);
	bool remote = node != c->place.node;
	u64 alone = hw_cost(m, remote ? HW_MEM_REMOTE : HW_MEM_LOCAL) * pages;
	u64 share = hw_cost(m, remote ? HW_MEM_LINK : HW_MEM_NODE) * pages *
		    (m->node[node].sweeps + 1);

	if (!hw_cost(m, HW_MEM_LOCAL))
		return m->named[MACH_COST_ZERO_PAGE].ps * pages;
	return share > alone ? share : alone;
}

/*
 * Tell the core of ticks of its timer that have gone by, if any. The thread has also run while it
 * was in the kernel, as sum_exec_runtime has it.
 */
static void sweep_tick(struct thread *t)
{
	struct machine *m = t->cpu->m;
	u64 tick = m->desc->tick_us * 1000000ULL, ran_ms;
	u64 ran_ps = t->ran_ps + t->cpu->clock - t->cpu->slice_start;

	if (!m->core->tick || ran_ps - t->ran_seen < tick)
		return;
	ran_ms = (ran_ps - t->ran_seen) / tick * tick / 1000000000ULL;
	t->ran_seen += ran_ms * 1000000000ULL;
	m->core->tick(t->cpu->clock / tick * tick / 1000000000ULL, ran_ms);
}

int user_sweep(u64 va, u64 len, bool write)
{
	struct thread *t = this_thread();
	u64 end = va + len, left = 0, bytes = 0;
	u32 faults = 0, node = 0;

	while (va < end) {
		struct wait w = { .acct = MACH_ACCT_USER, .irqs = true };
		struct machine *m = t->cpu->m;
		struct mmu_xlate x;
		u64 node_bytes = (m->node[0].end - m->node[0].first) << m->desc->page_shift;
		struct cpu *c;
		int signal;

		sched_preempt_point(t->cpu);
		c = t->cpu;
		if (!left) {
			cpu_sync(c);
			bytes = mmu_sweep(m->mmu, c->id, cpu_mmu_now(c), va, end, write,
					  node_bytes, &x);
			cpu_advance(c, x.walk_ps, MACH_ACCT_WALK);
			if (!bytes) {
				signal = deliver_fault(va, x.fault |
						       (write ? MACH_FAULT_WRITE : 0));
				if (signal)
					return signal;
				check_stuck(t->cpu, va, ++faults);
				continue;
			}
			faults = 0;
			left = memory_ps(c, x.pa, bytes >> m->desc->page_shift);
			node = mem_frame_node(x.pa >> m->desc->page_shift);
			m->node[node].sweeps++;
		}
		left = cpu_work(c, &w, left);
		if (!left) {
			va += bytes;
			m->node[node].sweeps--;
		}
		sweep_tick(t);
	}
	return MACH_SIGNAL_NONE;
}

/* The chase that c waits by, up to now. */
void chase_bring_up(struct cpu *c, struct wait *w, u64 now)
{
	u64 user_ps = 0, walk_ps = 0, va = 0;
	u32 fault = 0;

	mmu_chase(c->m->mmu, c->id, w->chase, c->clock, now, &user_ps, &walk_ps,
		  &fault, &va);
	cpu_advance(c, walk_ps, MACH_ACCT_WALK);
	cpu_advance(c, user_ps, MACH_ACCT_USER);
	MACH_ASSERT(c->clock <= now);
	if (c->clock < now || fault) {
		/* It ended. Whoever brought us up, its thread goes on now. */
		cpu_advance(c, now - c->clock, MACH_ACCT_USER);
		w->chase = NULL;
		w->chase_fault = fault;
		w->chase_va = va;
		cpu_kick(c, w, now);
	}
	c->mmu_now = now;
}

/* Chase until something happens. Returns whether *stop was seen. */
static bool chase_once(struct cpu *c, struct mach_chase *chase, u64 quantum,
		       struct wait *w)
{
	u64 user_ps, walk_ps, va, now;
	struct watcher watcher;
	u32 fault = 0;

	cpu_sync(c);
	if (word_read(c, chase->stop, sizeof(*chase->stop)))
		return true;
	cpu_sync(c);
	if (*(const volatile u32 *)chase->stop)
		return true;
	/* Announce it: nothing can happen in no time. */
	now = cpu_mmu_now(c);
	mmu_chase(c->m->mmu, c->id, chase, now, now, &user_ps, &walk_ps, &fault,
		  &va);
	w->until = c->clock + quantum;
	w->chase = chase;
	word_watch(c, &watcher, chase->stop, w);
	cpu_wait(c, w);
	word_unwatch(c->m, &watcher);
	return false;
}

int user_chase(struct mach_chase *chase)
{
	struct thread *t = this_thread();
	u64 quantum = CHASE_QUANTUM_MIN_PS;

	while (!chase->max_loads || chase->loads < chase->max_loads) {
		struct wait w = { .acct = MACH_ACCT_USER, .irqs = true };
		int signal;

		sched_preempt_point(t->cpu);
		if (chase_once(t->cpu, chase, quantum, &w))
			break;
		if (w.chase_fault) {
			signal = deliver_fault(w.chase_va, w.chase_fault);
			if (signal)
				return signal;
			quantum = CHASE_QUANTUM_MIN_PS;
		} else if (quantum < CHASE_QUANTUM_MAX_PS) {
			quantum *= 2;
		}
	}
	return MACH_SIGNAL_NONE;
}
