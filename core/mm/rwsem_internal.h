/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What both rwsem algorithms share: the owner word, waiters, wake-ups, the OSQ.
 *
 * The owner word is a hint for spinners and says nothing about who may enter:
 *
 *	 63                                   2  1  0
 *	+--------------------------------------+--+--+
 *	|  struct task_struct *                |N |R |
 *	+--------------------------------------+--+--+
 *
 * R: readers own or owned it; the pointer is the last of them that came, who
 * may be gone: never follow it. N: do not spin. A writer clears the word before
 * it lets go; readers leave it as it is.
 */
#ifndef CORE_MM_RWSEM_INTERNAL_H
#define CORE_MM_RWSEM_INTERNAL_H

#include "mm/rwsem.h"

#define RWSEM_READER_OWNED	1UL
#define RWSEM_NONSPINNABLE	2UL
#define RWSEM_OWNER_FLAGS_MASK	3UL

enum rwsem_waiter_type { RWSEM_WAITING_FOR_WRITE, RWSEM_WAITING_FOR_READ };

enum rwsem_wake_type {
	RWSEM_WAKE_ANY,		/* whoever is at the head */
	RWSEM_WAKE_READERS,	/* readers only */
	RWSEM_WAKE_READ_OWNED,	/* readers only; the caller is one */
};

/*
 * On the waiter's stack. Sleeping and waking without a lost wake-up: the waker
 * changes what the waiter looks at (task, or the semaphore's count) and then
 * calls mach_wake(); the waiter looks and then calls mach_block(), which
 * returns at once if a wake came after the previous one. Whichever order they
 * run in, the waiter looks again after the change. A wake for another reason,
 * or one that is late, costs a turn of the loop.
 */
struct rwsem_waiter {
	struct list_head list;		/* wait_lock */
	struct task_struct *task;	/* shared: NULL once a reader is granted */
	u32 tid;			/* const */
	enum rwsem_waiter_type type;	/* const */
	u32 failed;			/* wait_lock: times it was passed over */
	bool handoff_set;		/* wait_lock */
};

#define rwsem_first_waiter(sem)                                                 \
	list_first_entry(&(sem)->wait_list, struct rwsem_waiter, list)

static inline void rwsem_init_waiter(struct rwsem_waiter *waiter,
				     enum rwsem_waiter_type type)
{
	waiter->task = current;
	waiter->tid = mach_env()->tid;
	waiter->type = type;
	waiter->failed = 0;
	waiter->handoff_set = false;
}

/*
 * Threads to wake once wait_lock is free: waking is slow and they would only
 * run into the lock. A thread may have seen its grant without sleeping and be
 * gone by then; mach_wake() of such a one does nothing.
 */
#define WAKE_Q_MAX 256

struct wake_q {
	u32 n;
	u32 tid[WAKE_Q_MAX];
};

static inline void wake_up_q(struct wake_q *q)
{
	for (u32 i = 0; i < q->n; i++)
		mach_wake(q->tid[i]);
	q->n = 0;
}

static inline void wake_q_add(struct wake_q *q, u32 tid)
{
	if (q->n == WAKE_Q_MAX)
		wake_up_q(q);
	q->tid[q->n++] = tid;
}

static inline void rwsem_set_owner(struct rw_semaphore *sem)
{
	WRITE_ONCE(sem->owner, (u64)current);
}

static inline void rwsem_clear_owner(struct rw_semaphore *sem)
{
	WRITE_ONCE(sem->owner, 0);
}

/* Of a task that is not current: only where RCU or a lock keeps it. */
static inline bool owner_on_cpu(u64 owner)
{
	return READ_ONCE(((struct task_struct *)owner)->on_cpu);
}

/*
 * Spin until the owner word changes from owner, a writer, or it leaves its CPU,
 * or something interrupts. Inside rcu_read_lock(), and the word was owner
 * inside that section: the task cannot be freed before its end.
 */
void rwsem_wait_owner(struct rw_semaphore *sem, u64 owner);
/* Spin until owner or count differ from what the caller saw, or interrupted. */
void rwsem_wait_free(struct rw_semaphore *sem, u64 owner, s64 count);

/* The queue of spinners; this CPU only, so no sleeping in between. */
bool osq_lock(struct rw_semaphore *sem);
void osq_unlock(struct rw_semaphore *sem);

/* Sleep until a reader's grant. */
void rwsem_wait_grant(struct rwsem_waiter *waiter);

void xadd_down_read(struct rw_semaphore *sem);
bool xadd_down_read_trylock(struct rw_semaphore *sem);
void xadd_up_read(struct rw_semaphore *sem);
void xadd_down_write(struct rw_semaphore *sem);
void xadd_up_write(struct rw_semaphore *sem);
void xadd_downgrade_write(struct rw_semaphore *sem);

void handoff_down_read(struct rw_semaphore *sem);
bool handoff_down_read_trylock(struct rw_semaphore *sem);
void handoff_up_read(struct rw_semaphore *sem);
void handoff_down_write(struct rw_semaphore *sem);
void handoff_up_write(struct rw_semaphore *sem);
void handoff_downgrade_write(struct rw_semaphore *sem);

#endif
