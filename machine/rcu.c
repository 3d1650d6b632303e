/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RCU, sched flavour. One grace period at a time for the whole machine, for all
 * callbacks that were queued before it began; callbacks queued during it wait
 * for the next. It ends after RCU_GRACE, or later, when the last CPU that was in
 * a critical section (interrupts off, or rcu_read_lock()) at its beginning has left
 * it. Then each CPU with callbacks gets one interrupt that runs its batch.
 *
 * Why a snapshot of crit_mask suffices: call_rcu() is synchronised, so a section
 * that begins later in simulated time also begins later in the order of
 * execution, and cannot have seen what was unlinked before the call.
 */
#include "internal.h"

static void grace_begin(struct machine *m, u64 time)
{
	struct rcu_state *rcu = &m->rcu;

	MACH_ASSERT(!rcu->active && !rcu->cur);
	rcu->active = true;
	rcu->timer_done = false;
	rcu->nr_waits = 0;
	for (u32 w = 0; w < m->words; w++) {
		rcu->mask[w] = m->crit_mask[w];
		rcu->nr_waits += __builtin_popcountll(rcu->mask[w]);
	}
	rcu->cur = rcu->next;
	rcu->next = NULL;
	for (struct cpu *c = rcu->cur; c; c = c->rcu_link) {
		c->rcu_link = c->rcu_next_link;
		c->rcu_pending = false;
		c->rcu_cur = c->rcu_next;
		c->rcu_cur_tail = c->rcu_next_tail;
		c->rcu_next = NULL;
		c->rcu_next_tail = &c->rcu_next;
	}
	clock_push(&m->clock, EVENT_GRACE(m),
		   time + hw_cost(m, HW_RCU_GRACE));
}

static void grace_end(struct machine *m, u64 time)
{
	struct rcu_state *rcu = &m->rcu;
	struct cpu *c = rcu->cur, *next;

	if (time < m->now)
		time = m->now;
	rcu->active = false;
	rcu->cur = NULL;
	for (; c; c = next) {
		u32 event = EVENT_RCU(m, c->id);

		next = c->rcu_link;
		*c->rcu_done_tail = c->rcu_cur;
		c->rcu_done_tail = c->rcu_cur_tail;
		c->rcu_cur = NULL;
		/* Else the interrupt that is under way runs these too. */
		if (!c->rcu_irq.queued && !clock_queued(&m->clock, event)) {
			clock_push(&m->clock, event, time);
			m->irqs_busy++;
		}
	}
	if (rcu->next)
		grace_begin(m, time);
}

void rcu_timer(struct machine *m)
{
	m->rcu.timer_done = true;
	if (!m->rcu.nr_waits)
		grace_end(m, m->now);
}

/* This CPU has left all critical sections. */
void rcu_left(struct cpu *c)
{
	struct rcu_state *rcu = &c->m->rcu;

	if (!mask_test(rcu->mask, c->id))
		return;
	mask_clear(rcu->mask, c->id);
	if (!--rcu->nr_waits && rcu->timer_done)
		grace_end(c->m, c->clock);
}

void rcu_run_callbacks(struct cpu *c)
{
	struct rcu_head *head = c->rcu_done, *next;

	c->m->irqs_busy--;
	c->rcu_done = NULL;
	c->rcu_done_tail = &c->rcu_done;
	for (; head; head = next) {
		next = head->next;
		head->func(head);
	}
}

void rcu_call(struct rcu_head *head, void (*func)(struct rcu_head *head),
	      const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;

	(void)site;
	cpu_sync(c);
	head->next = NULL;
	head->func = func;
	*c->rcu_next_tail = head;
	c->rcu_next_tail = &head->next;
	if (!c->rcu_pending) {
		c->rcu_pending = true;
		/* In rcu.cur it may be too, hence a second link. */
		c->rcu_next_link = m->rcu.next;
		m->rcu.next = c;
	}
	if (!m->rcu.active)
		grace_begin(m, c->clock);
}

void rcu_read_lock(const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)site;
	c->rcu_nest++;
	cpu_crit_enter(c);
}

void rcu_read_unlock(const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)site;
	MACH_ASSERT(c->rcu_nest);
	c->rcu_nest--;
	cpu_crit_exit(c);
}
