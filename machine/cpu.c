/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU's time: parking in the queue of the clock, waiting, and taking
 * interrupts in the middle of either. internal.h has the rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

void machine_panic(const char *what, const char *file, u32 line,
		   const char *func)
{
	fflush(stdout);
	fprintf(stderr, "tlblab: bug: %s (%s:%u, %s)\n", what, file, line, func);
	fflush(stderr);
	_exit(3);
}

void machine_test_uncharged(u64 ps)
{
	this_cpu()->clock += ps;
}

void cpu_sync_slow(struct cpu *c, u64 ahead)
{
	cpu_sync_here(c, ahead);
}

void cpu_bring_up(struct cpu *c, u64 now)
{
	struct wait *w = c->wait;
	u64 ps;

	if (!w || now <= c->clock)
		return;
	ps = now - c->clock;
	w->passed += ps;
	if (w->chase)
		chase_bring_up(c, w, now);
	else
		cpu_advance(c, ps, w->acct);
}

bool cpu_wait(struct cpu *c, struct wait *w)
{
	struct clock *k = &c->m->clock;

	if (w->until <= c->clock)
		return false;
	c->wait = w;
	if (w->until <= k->min_time && w->until < NEVER) {
		/* Nothing can happen meanwhile. */
		cpu_bring_up(c, w->until);
	} else {
		if (w->until < NEVER)
			clock_push(k, c->id, w->until);
		cpu_park(c);
		cpu_bring_up(c, c->m->now);
	}
	c->wait = NULL;
	if (likely(!c->irq_head || !c->irqs_on || !w->irqs))
		return false;
	cpu_take_irqs(c);
	return true;
}

void cpu_wait_due(struct cpu *c, struct wait *w)
{
	do {
		cpu_wait(c, w);
	} while (w->until > c->clock);
}

void cpu_kick(struct cpu *c, struct wait *w, u64 time)
{
	if (time < c->m->now)
		time = c->m->now;
	w->kicked = true;
	if (time >= w->until)
		return;
	w->until = time;
	/* In a handler inside this wait, it sees `until` when it is back. */
	if (c->wait == w && c->parked)
		clock_set(&c->m->clock, c->id, time);
}

u64 cpu_work(struct cpu *c, struct wait *w, u64 ps)
{
	if (!ps || w->kicked)
		return ps;
	w->until = c->clock + ps;
	w->passed = 0;
	cpu_wait(c, w);
	return ps - w->passed;
}

/* ---- interrupts ---- */

void cpu_crit_enter(struct cpu *c)
{
	if (!c->crit++)
		mask_set(c->m->crit_mask, c->id);
}

void cpu_crit_exit(struct cpu *c)
{
	MACH_ASSERT(c->crit);
	if (--c->crit)
		return;
	mask_clear(c->m->crit_mask, c->id);
	if (unlikely(c->m->rcu.active))
		rcu_left(c);
}

void cpu_irqs_off(struct cpu *c)
{
	c->irqs_on = false;
	cpu_crit_enter(c);
}

void cpu_irqs_on(struct cpu *c)
{
	c->irqs_on = true;
	c->irq_floor = c->clock;
	cpu_crit_exit(c);
	if (c->irq_head)
		cpu_take_irqs(c);
}

bool irq_save(const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)site;
	if (!c->irqs_on)
		return false;
	/* One that arrives before this moment is taken before it. */
	cpu_sync(c);
	cpu_irqs_off(c);
	return true;
}

/*
 * Not synchronised: an interrupt that arrived before this moment, but that this
 * CPU does not know of yet, is taken when it next parks, with irq_floor for time.
 */
void irq_restore(bool on, const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)site;
	if (on && !c->irqs_on) {
		MACH_ASSERT(!c->irq_depth);
		cpu_irqs_on(c);
	}
}

static void run_handler(struct cpu *c, struct irq *irq)
{
	cpu_advance(c, hw_cost(c->m, HW_IRQ_ENTRY), MACH_ACCT_IPI_HANDLER);
	switch (irq->kind) {
	case IRQ_CALL:
		ipi_run(c, irq);
		break;
	case IRQ_TICK:
		cpu_advance(c, hw_cost(c->m, HW_TIMER_TICK),
			    MACH_ACCT_IPI_HANDLER);
		sched_tick(c);
		break;
	case IRQ_RCU:
		rcu_run_callbacks(c);
		break;
	}
}

/*
 * Run the handlers of what has arrived, at the time of arrival or as soon after
 * as allowed; what this CPU has done (and been charged for) beyond that
 * time comes after them.
 */
void cpu_take_irqs(struct cpu *c)
{
	struct irq *irq = c->irq_head;
	u64 start = irq->time > c->irq_floor ? irq->time : c->irq_floor;
	u64 left = c->clock - start;
	u32 acct = c->ctx_acct;

	MACH_ASSERT(start <= c->clock && !c->prepaid && !c->wait);
	c->prepaid = left;
	c->clock = start;
	c->irqs_on = false;
	cpu_crit_enter(c);
	c->irq_depth++;
	c->ctx_acct = MACH_ACCT_IPI_HANDLER;
	while ((irq = c->irq_head)) {
		MACH_ASSERT(irq->time <= c->clock);
		c->irq_head = irq->next;
		if (!irq->next)
			c->irq_tail = &c->irq_head;
		irq->queued = false;
		run_handler(c, irq);
	}
	c->ctx_acct = acct;
	c->irq_depth--;
	cpu_crit_exit(c);
	c->irqs_on = true;
	c->irq_floor = c->clock;
	c->clock += left;
	c->prepaid = 0;
}

struct cpu *cpu_irq_arrives(struct machine *m, struct irq *irq)
{
	struct cpu *c = &m->cpu[irq->cpu];

	MACH_ASSERT(!irq->queued);
	irq->queued = true;
	irq->next = NULL;
	*c->irq_tail = irq;
	c->irq_tail = &irq->next;
	if (!c->irqs_on || (c->wait && !c->wait->irqs))
		return NULL;
	MACH_ASSERT(c->parked);
	if (clock_queued(&m->clock, c->id))
		clock_remove(&m->clock, c->id);
	return c;
}
