/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rwsem up to 5.2. The count is a sum:
 *
 *	+1		each active locker: a reader that holds the lock, or anybody
 *			on the way in (who takes it back when he must queue)
 *	-2^32		once if anybody waits in the queue, and once for
 *			a writer, active or on the way in
 *
 * so that its low half counts the active, and
 *
 *	0		free			n > 0		n readers
 *	WAITING		free, queue not empty	< WAITING	a writer is in it
 *	WAITING + n	active readers and waiters, or one writer and nobody waits
 *
 * Lost wake-ups: a waiter queues under wait_lock, and adds WAITING before it
 * lets the lock go. Who then drops the last active count sees WAITING in the
 * value he got back and goes to wake; he takes wait_lock first, so he sees the
 * queue. If instead he dropped it before WAITING was added, the waiter sees
 * that nobody is active and wakes the head itself (or takes the lock, a
 * writer).
 */
#include "mm/rwsem_internal.h"

#define RWSEM_ACTIVE_BIAS	1L
#define RWSEM_ACTIVE_MASK	0xffffffffL
#define RWSEM_WAITING_BIAS	(-RWSEM_ACTIVE_MASK - 1)
#define RWSEM_ACTIVE_READ_BIAS	RWSEM_ACTIVE_BIAS
#define RWSEM_ACTIVE_WRITE_BIAS	(RWSEM_WAITING_BIAS + RWSEM_ACTIVE_BIAS)

/* The mark that stays: nobody can tell when the last reader is gone. */
static void xadd_set_reader_owned(struct rw_semaphore *sem,
				  struct task_struct *task)
{
	WRITE_ONCE(sem->owner, (u64)task | RWSEM_READER_OWNED |
					RWSEM_NONSPINNABLE);
}

/*
 * Grant the head reader the lock, unless a writer stole it. Adding before
 * looking, so that a writer that comes after us finds us active. False: stolen;
 * its release will wake again.
 */
static bool xadd_grant_first(struct rw_semaphore *sem)
{
	for (;;) {
		s64 old = atomic_long_fetch_add(RWSEM_ACTIVE_READ_BIAS,
						&sem->count);

		if (likely(old >= RWSEM_WAITING_BIAS))
			return true;
		if (atomic_long_add_return(-RWSEM_ACTIVE_READ_BIAS,
					   &sem->count) < RWSEM_WAITING_BIAS)
			return false;
		/* It left before we took our count back: try again. */
	}
}

/* Under wait_lock; the queue is not empty. */
static void xadd_mark_wake(struct rw_semaphore *sem,
			   enum rwsem_wake_type wake_type, struct wake_q *q)
{
	struct rwsem_waiter *waiter = rwsem_first_waiter(sem), *tmp;
	struct list_head granted;
	s64 woken = 0, adjustment = 0;

	if (waiter->type == RWSEM_WAITING_FOR_WRITE) {
		/* Woken, not granted: running writers may be faster. */
		if (wake_type == RWSEM_WAKE_ANY)
			wake_q_add(q, waiter->tid);
		return;
	}
	if (wake_type != RWSEM_WAKE_READ_OWNED) {
		if (!xadd_grant_first(sem))
			return;
		adjustment = RWSEM_ACTIVE_READ_BIAS;
		/* Tell spinners now. */
		xadd_set_reader_owned(sem, waiter->task);
	}

	/*
	 * All readers up to the first writer. Count them all before any may
	 * run, or one could let go before it was counted.
	 */
	INIT_LIST_HEAD(&granted);
	list_for_each_entry_safe(waiter, tmp, &sem->wait_list, list) {
		if (waiter->type == RWSEM_WAITING_FOR_WRITE)
			break;
		woken++;
		list_move_tail(&waiter->list, &granted);
	}
	adjustment = woken * RWSEM_ACTIVE_READ_BIAS - adjustment;
	if (list_empty(&sem->wait_list))
		adjustment -= RWSEM_WAITING_BIAS;
	if (adjustment)
		atomic_long_add(adjustment, &sem->count);

	list_for_each_entry_safe(waiter, tmp, &granted, list) {
		wake_q_add(q, waiter->tid);
		/* The waiter's stack is not ours after this. */
		smp_store_release(&waiter->task, NULL);
	}
}

static noinline void xadd_wake(struct rw_semaphore *sem,
			       enum rwsem_wake_type wake_type)
{
	struct wake_q q;
	bool flags;

	q.n = 0;
	spin_lock_irqsave(&sem->wait_lock, flags);
	if (!list_empty(&sem->wait_list))
		xadd_mark_wake(sem, wake_type, &q);
	spin_unlock_irqrestore(&sem->wait_lock, flags);
	wake_up_q(&q);
}

static noinline void xadd_down_read_failed(struct rw_semaphore *sem)
{
	s64 count, adjustment = -RWSEM_ACTIVE_READ_BIAS;
	struct rwsem_waiter waiter;
	struct wake_q q;
	bool flags;

	q.n = 0;
	rwsem_init_waiter(&waiter, RWSEM_WAITING_FOR_READ);
	spin_lock_irqsave(&sem->wait_lock, flags);
	if (list_empty(&sem->wait_list)) {
		/* The writer has left meanwhile: our count stands. */
		if (atomic_long_read(&sem->count) >= 0) {
			spin_unlock_irqrestore(&sem->wait_lock, flags);
			xadd_set_reader_owned(sem, current);
			return;
		}
		adjustment += RWSEM_WAITING_BIAS;
	}
	list_add_tail(&waiter.list, &sem->wait_list);
	/* Waiting from here on, and no longer active. */
	count = atomic_long_add_return(adjustment, &sem->count);
	/* Nobody is active, or only readers and we are first: wake the head. */
	if (count == RWSEM_WAITING_BIAS ||
	    (count > RWSEM_WAITING_BIAS &&
	     adjustment != -RWSEM_ACTIVE_READ_BIAS))
		xadd_mark_wake(sem, RWSEM_WAKE_ANY, &q);
	spin_unlock_irqrestore(&sem->wait_lock, flags);
	wake_up_q(&q);
	rwsem_wait_grant(&waiter);
}

void xadd_down_read(struct rw_semaphore *sem)
{
	if (unlikely(atomic_long_add_return_acquire(RWSEM_ACTIVE_READ_BIAS,
						    &sem->count) <= 0))
		xadd_down_read_failed(sem);
	else
		xadd_set_reader_owned(sem, current);
}

bool xadd_down_read_trylock(struct rw_semaphore *sem)
{
	s64 count = atomic_long_read(&sem->count), old;

	while (count >= 0) {
		old = atomic_long_cmpxchg_acquire(&sem->count, count,
						  count + RWSEM_ACTIVE_READ_BIAS);
		if (old == count) {
			xadd_set_reader_owned(sem, current);
			return true;
		}
		count = old;
	}
	return false;
}

void xadd_up_read(struct rw_semaphore *sem)
{
	s64 count = atomic_long_add_return_release(-RWSEM_ACTIVE_READ_BIAS,
						   &sem->count);

	if (unlikely(count < -1 && !(count & RWSEM_ACTIVE_MASK)))
		xadd_wake(sem, RWSEM_WAKE_ANY);
}

/* ---- writers ---- */

/* For the head of the queue or a later one, under wait_lock. */
static bool xadd_try_write_lock(struct rw_semaphore *sem, s64 count)
{
	s64 new = RWSEM_ACTIVE_WRITE_BIAS;

	if (count != RWSEM_WAITING_BIAS)
		return false;
	if (!list_is_singular(&sem->wait_list))
		new += RWSEM_WAITING_BIAS;
	if (atomic_long_cmpxchg_acquire(&sem->count, RWSEM_WAITING_BIAS, new) !=
	    RWSEM_WAITING_BIAS)
		return false;
	rwsem_set_owner(sem);
	return true;
}

/* For a spinner: past the queue, if nobody is active. *count: what it saw. */
static bool xadd_try_write_lock_unqueued(struct rw_semaphore *sem, s64 *count)
{
	*count = atomic_long_read(&sem->count);
	while (*count == 0 || *count == RWSEM_WAITING_BIAS) {
		s64 old = atomic_long_cmpxchg_acquire(
			&sem->count, *count, *count + RWSEM_ACTIVE_WRITE_BIAS);

		if (old == *count) {
			rwsem_set_owner(sem);
			return true;
		}
		*count = old;
	}
	return false;
}

/* Spin while a writer that runs owns the lock. False: stop spinning. */
static bool xadd_spin_on_owner(struct rw_semaphore *sem)
{
	u64 owner = READ_ONCE(sem->owner);
	bool spin = true;

	if (owner & RWSEM_NONSPINNABLE)
		return false;
	rcu_read_lock();
	while (owner && READ_ONCE(sem->owner) == owner) {
		if (need_resched() || !owner_on_cpu(owner)) {
			spin = false;
			break;
		}
		rwsem_wait_owner(sem, owner);
	}
	rcu_read_unlock();
	return spin && !(READ_ONCE(sem->owner) & RWSEM_NONSPINNABLE);
}

static bool xadd_can_spin(struct rw_semaphore *sem)
{
	u64 owner;
	bool spin;

	if (need_resched())
		return false;
	rcu_read_lock();
	owner = READ_ONCE(sem->owner);
	spin = !owner || (!(owner & RWSEM_NONSPINNABLE) && owner_on_cpu(owner));
	rcu_read_unlock();
	return spin;
}

static bool xadd_optimistic_spin(struct rw_semaphore *sem)
{
	bool taken = false;
	s64 count;

	if (!xadd_can_spin(sem) || !osq_lock(sem))
		return false;
	while (xadd_spin_on_owner(sem)) {
		taken = xadd_try_write_lock_unqueued(sem, &count);
		if (taken)
			break;
		/* Someone got in and has not yet said who. */
		if (!READ_ONCE(sem->owner)) {
			if (need_resched())
				break;
			rwsem_wait_free(sem, 0, count);
		}
	}
	osq_unlock(sem);
	return taken;
}

static noinline void xadd_down_write_failed(struct rw_semaphore *sem)
{
	struct rwsem_waiter waiter;
	struct wake_q q;
	bool flags;
	s64 count;

	q.n = 0;
	count = atomic_long_add_return(-RWSEM_ACTIVE_WRITE_BIAS, &sem->count);
	if (xadd_optimistic_spin(sem))
		return;

	rwsem_init_waiter(&waiter, RWSEM_WAITING_FOR_WRITE);
	spin_lock_irqsave(&sem->wait_lock, flags);
	if (!list_empty(&sem->wait_list)) {
		list_add_tail(&waiter.list, &sem->wait_list);
		count = atomic_long_read(&sem->count);
		/*
		 * Others wait already and no writer is in: readers own the
		 * lock. Readers at the head, who queued behind a writer that
		 * has since left, may join them.
		 */
		if (count > RWSEM_WAITING_BIAS) {
			xadd_mark_wake(sem, RWSEM_WAKE_READERS, &q);
			wake_up_q(&q);
		}
	} else {
		list_add_tail(&waiter.list, &sem->wait_list);
		count = atomic_long_add_return(RWSEM_WAITING_BIAS, &sem->count);
	}
	while (!xadd_try_write_lock(sem, count)) {
		spin_unlock_irqrestore(&sem->wait_lock, flags);
		do {
			count_vm_event(rwsem_sleep);
			mach_block();
			count = atomic_long_read(&sem->count);
		} while (count & RWSEM_ACTIVE_MASK);
		spin_lock_irqsave(&sem->wait_lock, flags);
	}
	list_del(&waiter.list);
	spin_unlock_irqrestore(&sem->wait_lock, flags);
}

void xadd_down_write(struct rw_semaphore *sem)
{
	if (unlikely(atomic_long_add_return_acquire(RWSEM_ACTIVE_WRITE_BIAS,
						    &sem->count) !=
		     RWSEM_ACTIVE_WRITE_BIAS))
		xadd_down_write_failed(sem);
	else
		rwsem_set_owner(sem);
}

void xadd_up_write(struct rw_semaphore *sem)
{
	rwsem_clear_owner(sem);
	if (unlikely(atomic_long_add_return_release(-RWSEM_ACTIVE_WRITE_BIAS,
						    &sem->count) < 0))
		xadd_wake(sem, RWSEM_WAKE_ANY);
}

void xadd_downgrade_write(struct rw_semaphore *sem)
{
	s64 count = atomic_long_add_return_release(-RWSEM_WAITING_BIAS,
						   &sem->count);

	xadd_set_reader_owned(sem, current);
	if (count < 0)
		xadd_wake(sem, RWSEM_WAKE_READ_OWNED);
}
