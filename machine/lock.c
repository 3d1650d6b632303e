/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spinlocks: first come, first served.
 *
 * An unlock is not synchronised: the holder may be ahead of the others. It says
 * when the lock becomes free (free_at) or hands it to the first waiter as of
 * that time, and takes no interrupt before it. A CPU that asks at an earlier time finds the
 * lock without an owner, makes itself the owner, and spins until free_at;
 * one that asks later queues behind it. That is the order of the times of asking.
 *
 * Waiters form a queue of nodes, two per CPU: an interrupt handler may wait for
 * a lock while the code that it interrupted waits for another.
 */
#include <stdlib.h>

#include "internal.h"

struct lock_node {
	struct wait wait;
	u32 next;		/* index + 1 */
	bool granted;
};

bool lock_create(struct machine *m)
{
	m->lock_node = calloc(2 * m->nr_cpus, sizeof(*m->lock_node));
	return m->lock_node;
}

void lock_destroy(struct machine *m)
{
	free(m->lock_node);
}

/* The lock's line moves to c, or is there. */
static u64 move_ps(struct cpu *c, struct mach_lock *lock)
{
	u32 from = lock->last_cpu;

	lock->last_cpu = c->id + 1;
	if (!from || from == c->id + 1)
		return hw_cost(c->m, HW_ATOMIC_LOCAL);
	return line_transfer(c->m, from - 1, c->id);
}

static void wait_in_queue(struct cpu *c, struct mach_lock *lock)
{
	u32 index = c->id * 2 + (c->irq_depth != 0);
	struct lock_node *node = &c->m->lock_node[index];

	node->next = 0;
	node->granted = false;
	node->wait = (struct wait){
		.until = NEVER, .acct = MACH_ACCT_LOCK_WAIT, .irqs = true,
	};
	if (lock->tail)
		c->m->lock_node[lock->tail - 1].next = index + 1;
	else
		lock->head = index + 1;
	lock->tail = index + 1;
	cpu_wait_due(c, &node->wait);
	MACH_ASSERT(node->granted && lock->owner == c->id + 1);
}

static void take_contended(struct cpu *c, struct mach_lock *lock)
{
	struct wait w = {
		.until = lock->free_at, .acct = MACH_ACCT_LOCK_WAIT, .irqs = true,
	};

	if (lock->owner) {
		wait_in_queue(c, lock);
	} else {
		lock->owner = c->id + 1;
		cpu_wait_due(c, &w);
	}
	cpu_advance(c, move_ps(c, lock) + hw_cost(c->m, HW_LOCK_HANDOFF),
		    MACH_ACCT_LOCK_WAIT);
}

void lock_spin_lock(struct mach_lock *lock, const struct mach_site *site)
{
	struct thread *t = this_thread();
	struct cpu *c = t->cpu;

	cpu_sync(c);
	c->preempt++;
	if (likely(!lock->owner && lock->free_at <= c->clock)) {
		lock->owner = c->id + 1;
		cpu_advance(c, move_ps(c, lock), MACH_ACCT_ATOMIC);
		return;
	}
	t->site = site;
	/* Linux's spin_lock() on a lock that this CPU holds never returns. */
	if (lock->owner == c->id + 1)
		machine_panic("spinlock recursion", site->file, site->line,
			      site->func);
	take_contended(c, lock);
	t->site = NULL;
}

bool lock_spin_trylock(struct mach_lock *lock, const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)site;
	cpu_sync(c);
	if (lock->owner || lock->free_at > c->clock) {
		/* It only reads the line. */
		cpu_advance(c, hw_cost(c->m, HW_LOAD), c->ctx_acct);
		return false;
	}
	c->preempt++;
	lock->owner = c->id + 1;
	cpu_advance(c, move_ps(c, lock), MACH_ACCT_ATOMIC);
	return true;
}

void lock_spin_unlock(struct mach_lock *lock, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct lock_node *node;

	if (unlikely(lock->owner != c->id + 1))
		machine_panic("unlock of a lock that this CPU does not hold",
			      site->file, site->line, site->func);
	MACH_ASSERT(c->preempt);
	cpu_advance(c, hw_cost(c->m, HW_STORE), c->ctx_acct);
	c->preempt--;
	c->irq_floor = c->clock;
	if (likely(!lock->head)) {
		lock->owner = 0;
		lock->free_at = c->clock;
		return;
	}
	node = &c->m->lock_node[lock->head - 1];
	lock->owner = (lock->head - 1) / 2 + 1;
	lock->head = node->next;
	if (!lock->head)
		lock->tail = 0;
	node->granted = true;
	cpu_kick(&c->m->cpu[lock->owner - 1], &node->wait, c->clock);
}
