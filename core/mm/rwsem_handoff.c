/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rwsem from 5.3 on (as of 6.12). The count:
 *
 *	 63 62            8 7     3  2  1  0
 *	+--+---------------+-------+--+--+--+
 *	|  |  readers      |   0   |H |F |W |
 *	+--+---------------+-------+--+--+--+
 *
 * W: a writer has it. F: somebody waits. H: hand off: nobody may take it but
 * the waiter at the head that asked. All but readers' entry and exit, and the
 * writers' fast path, change it under wait_lock.
 *
 * Lost wake-ups: F is set under wait_lock before a waiter sleeps, together with
 * its place in the queue. Who drops the last hold gets F back with the same
 * atomic and goes to wake, under wait_lock. If he dropped it earlier, the
 * waiter finds the lock free under wait_lock, before it first sleeps. A writer
 * that is woken and loses again sleeps with F still set.
 *
 * "Too long". Linux lets a waiter at the head ask for the lock after 4 ms. Time
 * does not cross the seam; so a waiter counts how often it was woken, or
 * would have been granted, and found that a writer had been faster. A hold
 * of the mmap_lock takes about 10 us where it is contended, which makes 400
 * times; the knob lets a search that explores orders ask sooner.
 */
#include "mm/rwsem_internal.h"

KNOB_INT(mm_rwsem_handoff_after, "mm.rwsem_handoff_after", KNOB_POLICY, 400, 1,
	 1000000, "times a waiter is passed over before it asks for a hand-off",
	 "64489e78004c (5.3); stands for 4 ms");

#define RWSEM_WRITER_LOCKED	(1L << 0)
#define RWSEM_FLAG_WAITERS	(1L << 1)
#define RWSEM_FLAG_HANDOFF	(1L << 2)
#define RWSEM_READER_SHIFT	8
#define RWSEM_READER_BIAS	(1L << RWSEM_READER_SHIFT)
#define RWSEM_READER_MASK	(~(RWSEM_READER_BIAS - 1))
#define RWSEM_LOCK_MASK		(RWSEM_WRITER_LOCKED | RWSEM_READER_MASK)
#define RWSEM_READ_FAILED_MASK                                                  \
	(RWSEM_WRITER_LOCKED | RWSEM_FLAG_WAITERS | RWSEM_FLAG_HANDOFF)

/* No wake-up grants more readers than this. */
#define MAX_READERS_WAKEUP 0x100

/* Keeps the mark that stops spinners until the last reader is gone. */
static void set_reader_owned(struct rw_semaphore *sem, struct task_struct *task)
{
	u64 keep = READ_ONCE(sem->owner) & RWSEM_NONSPINNABLE;

	WRITE_ONCE(sem->owner, (u64)task | RWSEM_READER_OWNED | keep);
}

/* Only while readers own it; else a new writer's word would be marked. */
static void set_nonspinnable(struct rw_semaphore *sem)
{
	u64 owner = READ_ONCE(sem->owner), old;

	while ((owner & RWSEM_READER_OWNED) && !(owner & RWSEM_NONSPINNABLE)) {
		old = cmpxchg(&sem->owner, owner, owner | RWSEM_NONSPINNABLE);
		if (old == owner)
			return;
		owner = old;
	}
}

static void clear_nonspinnable(struct rw_semaphore *sem)
{
	if (unlikely(READ_ONCE(sem->owner) & RWSEM_NONSPINNABLE))
		(void)mach_rmw(&sem->owner, MACH_AND, ~RWSEM_NONSPINNABLE, 0,
			       MACH_RELAXED);
}

static bool waited_too_long(const struct rwsem_waiter *waiter)
{
	return waiter->failed >= (u64)knob(mm_rwsem_handoff_after);
}

/*
 * Grant the head reader the lock, before the rest are counted, so that a writer
 * who stole it is found out early. False: stolen.
 */
static bool handoff_grant_first(struct rw_semaphore *sem,
				struct rwsem_waiter *waiter)
{
	s64 old = atomic_long_fetch_add(RWSEM_READER_BIAS, &sem->count);
	s64 undo = -RWSEM_READER_BIAS;

	if (likely(!(old & RWSEM_WRITER_LOCKED))) {
		set_reader_owned(sem, waiter->task);
		return true;
	}
	waiter->failed++;
	if (waited_too_long(waiter)) {
		if (!(old & RWSEM_FLAG_HANDOFF))
			undo += RWSEM_FLAG_HANDOFF;
		waiter->handoff_set = true;
	}
	atomic_long_add(undo, &sem->count);
	return false;
}

/*
 * Under wait_lock; the queue is not empty. When a reader is first, readers have
 * their turn: all of them, wherever they stand in the queue.
 */
static void handoff_mark_wake(struct rw_semaphore *sem,
			      enum rwsem_wake_type wake_type, struct wake_q *q)
{
	struct rwsem_waiter *waiter = rwsem_first_waiter(sem), *tmp;
	struct list_head granted;
	s64 woken = 0, adjustment = 0;

	if (waiter->type == RWSEM_WAITING_FOR_WRITE) {
		if (wake_type == RWSEM_WAKE_ANY)
			wake_q_add(q, waiter->tid);
		return;
	}
	if (wake_type != RWSEM_WAKE_READ_OWNED) {
		if (!handoff_grant_first(sem, waiter))
			return;
		adjustment = RWSEM_READER_BIAS;
	}

	/* Count them all before any may run and let go. */
	INIT_LIST_HEAD(&granted);
	list_for_each_entry_safe(waiter, tmp, &sem->wait_list, list) {
		if (waiter->type == RWSEM_WAITING_FOR_WRITE)
			continue;
		list_move_tail(&waiter->list, &granted);
		if (++woken >= MAX_READERS_WAKEUP)
			break;
	}
	adjustment = woken * RWSEM_READER_BIAS - adjustment;
	if (list_empty(&sem->wait_list))
		adjustment -= RWSEM_FLAG_WAITERS;
	/* A reader got its turn: no need to hold writers off. */
	if (atomic_long_read(&sem->count) & RWSEM_FLAG_HANDOFF)
		adjustment -= RWSEM_FLAG_HANDOFF;
	if (adjustment)
		atomic_long_add(adjustment, &sem->count);

	list_for_each_entry_safe(waiter, tmp, &granted, list) {
		wake_q_add(q, waiter->tid);
		/* The waiter's stack is not ours after this. */
		smp_store_release(&waiter->task, NULL);
	}
}

static noinline void handoff_wake(struct rw_semaphore *sem,
				  enum rwsem_wake_type wake_type)
{
	struct wake_q q;
	bool flags;

	q.n = 0;
	spin_lock_irqsave(&sem->wait_lock, flags);
	if (!list_empty(&sem->wait_list))
		handoff_mark_wake(sem, wake_type, &q);
	spin_unlock_irqrestore(&sem->wait_lock, flags);
	wake_up_q(&q);
}

/* Somebody has queued, under wait_lock: may anybody go in? */
static void handoff_cond_wake(struct rw_semaphore *sem, s64 count,
			      struct wake_q *q)
{
	if (count & RWSEM_WRITER_LOCKED)
		return;
	if (count & RWSEM_READER_MASK) {
		handoff_mark_wake(sem, RWSEM_WAKE_READERS, q);
	} else {
		clear_nonspinnable(sem);
		handoff_mark_wake(sem, RWSEM_WAKE_ANY, q);
	}
}

/*
 * Its count is already in, and nothing but waiters was in the way: the reader
 * may keep it. Not if readers own the lock by now, or a stream of
 * them would starve the writer that waits.
 */
static bool handoff_steal_read(struct rw_semaphore *sem, s64 count)
{
	s64 readers = count >> RWSEM_READER_SHIFT;

	if ((READ_ONCE(sem->owner) & RWSEM_READER_OWNED) && readers > 1 &&
	    !(count & RWSEM_WRITER_LOCKED))
		return false;
	if (count & (RWSEM_WRITER_LOCKED | RWSEM_FLAG_HANDOFF))
		return false;
	set_reader_owned(sem, current);
	if (readers == 1 && (count & RWSEM_FLAG_WAITERS))
		handoff_wake(sem, RWSEM_WAKE_READ_OWNED);
	return true;
}

static noinline void handoff_down_read_slow(struct rw_semaphore *sem, s64 count)
{
	s64 adjustment = -RWSEM_READER_BIAS;
	struct rwsem_waiter waiter;
	struct wake_q q;
	bool flags;

	if (handoff_steal_read(sem, count))
		return;
	q.n = 0;
	rwsem_init_waiter(&waiter, RWSEM_WAITING_FOR_READ);
	spin_lock_irqsave(&sem->wait_lock, flags);
	if (list_empty(&sem->wait_list)) {
		/* The writer has left meanwhile: our count stands. */
		if (!(smp_load_acquire(&sem->count.counter) &
		      RWSEM_WRITER_LOCKED)) {
			spin_unlock_irqrestore(&sem->wait_lock, flags);
			set_reader_owned(sem, current);
			return;
		}
		adjustment += RWSEM_FLAG_WAITERS;
	}
	list_add_tail(&waiter.list, &sem->wait_list);
	count = atomic_long_add_return(adjustment, &sem->count);
	handoff_cond_wake(sem, count, &q);
	spin_unlock_irqrestore(&sem->wait_lock, flags);
	wake_up_q(&q);
	rwsem_wait_grant(&waiter);
}

void handoff_down_read(struct rw_semaphore *sem)
{
	s64 count = atomic_long_add_return_acquire(RWSEM_READER_BIAS,
						   &sem->count);

	if (likely(!(count & RWSEM_READ_FAILED_MASK)))
		set_reader_owned(sem, current);
	else
		handoff_down_read_slow(sem, count);
}

bool handoff_down_read_trylock(struct rw_semaphore *sem)
{
	s64 count = atomic_long_read(&sem->count), old;

	while (!(count & RWSEM_READ_FAILED_MASK)) {
		old = atomic_long_cmpxchg_acquire(&sem->count, count,
						  count + RWSEM_READER_BIAS);
		if (old == count) {
			set_reader_owned(sem, current);
			return true;
		}
		count = old;
	}
	return false;
}

void handoff_up_read(struct rw_semaphore *sem)
{
	s64 count = atomic_long_add_return_release(-RWSEM_READER_BIAS,
						   &sem->count);

	if (unlikely((count & (RWSEM_LOCK_MASK | RWSEM_FLAG_WAITERS)) ==
		     RWSEM_FLAG_WAITERS)) {
		clear_nonspinnable(sem);
		handoff_wake(sem, RWSEM_WAKE_ANY);
	}
}

/* ---- writers ---- */

/*
 * A queued writer, under wait_lock: take the lock if it is free, else ask for
 * it once we were passed over too often. On success it is off the queue.
 */
static bool handoff_try_write_lock(struct rw_semaphore *sem,
				   struct rwsem_waiter *waiter)
{
	struct rwsem_waiter *first = rwsem_first_waiter(sem);
	s64 count = atomic_long_read(&sem->count), old, new;

	lockdep_assert_held(&sem->wait_lock);
	for (;;) {
		bool has_handoff = count & RWSEM_FLAG_HANDOFF;

		/* It is meant for the head. */
		if (has_handoff && first->handoff_set && waiter != first)
			return false;
		new = count;
		if (count & RWSEM_LOCK_MASK) {
			if (has_handoff || !waited_too_long(waiter))
				return false;
			new |= RWSEM_FLAG_HANDOFF;
		} else {
			new |= RWSEM_WRITER_LOCKED;
			new &= ~RWSEM_FLAG_HANDOFF;
			if (list_is_singular(&sem->wait_list))
				new &= ~RWSEM_FLAG_WAITERS;
		}
		old = atomic_long_cmpxchg_acquire(&sem->count, count, new);
		if (old == count)
			break;
		count = old;
	}
	if (new & RWSEM_FLAG_HANDOFF) {
		first->handoff_set = true;
		return false;
	}
	list_del(&waiter->list);
	rwsem_set_owner(sem);
	return true;
}

static bool handoff_try_write_lock_unqueued(struct rw_semaphore *sem, s64 *count)
{
	*count = atomic_long_read(&sem->count);
	while (!(*count & (RWSEM_LOCK_MASK | RWSEM_FLAG_HANDOFF))) {
		s64 old = atomic_long_cmpxchg_acquire(
			&sem->count, *count, *count | RWSEM_WRITER_LOCKED);

		if (old == *count) {
			rwsem_set_owner(sem);
			return true;
		}
		*count = old;
	}
	return false;
}

enum owner_state { OWNER_NULL, OWNER_WRITER, OWNER_READER, OWNER_NONSPINNABLE };

static enum owner_state owner_state(u64 owner)
{
	if (owner & RWSEM_NONSPINNABLE)
		return OWNER_NONSPINNABLE;
	if (owner & RWSEM_READER_OWNED)
		return OWNER_READER;
	return owner ? OWNER_WRITER : OWNER_NULL;
}

/* Spin while a writer that runs owns the lock; returns who has it then. */
static enum owner_state handoff_spin_on_owner(struct rw_semaphore *sem)
{
	u64 owner = READ_ONCE(sem->owner), now;
	enum owner_state state = owner_state(owner);

	if (state != OWNER_WRITER)
		return state;
	rcu_read_lock();
	for (;;) {
		now = READ_ONCE(sem->owner);
		if (now != owner) {
			state = owner_state(now);
			break;
		}
		if (need_resched() || !owner_on_cpu(owner)) {
			state = OWNER_NONSPINNABLE;
			break;
		}
		rwsem_wait_owner(sem, owner);
	}
	rcu_read_unlock();
	return state;
}

static bool handoff_can_spin(struct rw_semaphore *sem)
{
	u64 owner;
	bool spin;

	if (need_resched())
		return false;
	rcu_read_lock();
	owner = READ_ONCE(sem->owner);
	spin = !(owner & RWSEM_NONSPINNABLE) &&
	       (!owner || (owner & RWSEM_READER_OWNED) || owner_on_cpu(owner));
	rcu_read_unlock();
	return spin;
}

/*
 * Linux spins on readers for (10 + readers / 2) us, for 30 readers at most.
 * Here the limit is that many changes of the count: about one comes and
 * goes in a microsecond when it is worth while to wait.
 */
static u32 reader_spin_limit(struct rw_semaphore *sem)
{
	s64 readers = atomic_long_read(&sem->count) >> RWSEM_READER_SHIFT;

	return (20 + (u32)min(readers, (s64)30)) / 2;
}

static bool handoff_optimistic_spin(struct rw_semaphore *sem)
{
	enum owner_state state, prev_state = OWNER_NULL;
	u32 changes = 0, limit = 0;
	bool taken = false;
	s64 count;

	if (!handoff_can_spin(sem) || !osq_lock(sem))
		return false;
	for (;;) {
		state = handoff_spin_on_owner(sem);
		if (state == OWNER_NONSPINNABLE)
			break;
		taken = handoff_try_write_lock_unqueued(sem, &count);
		if (taken)
			break;
		if (state == OWNER_READER && prev_state != OWNER_READER) {
			limit = reader_spin_limit(sem);
			changes = 0;
		} else if (state == OWNER_READER && ++changes > limit) {
			set_nonspinnable(sem);
			break;
		}
		if (state != OWNER_WRITER) {
			u64 owner = READ_ONCE(sem->owner);

			if (need_resched())
				break;
			if (owner_state(owner) == state)
				rwsem_wait_free(sem, owner, count);
		}
		prev_state = state;
	}
	osq_unlock(sem);
	return taken;
}

/* Queue, under wait_lock, and let in whoever may go in before us. */
static void handoff_queue_writer(struct rw_semaphore *sem,
				 struct rwsem_waiter *waiter, bool *flags)
{
	struct wake_q q;

	q.n = 0;
	list_add_tail(&waiter->list, &sem->wait_list);
	if (rwsem_first_waiter(sem) == waiter) {
		atomic_long_or(RWSEM_FLAG_WAITERS, &sem->count);
		return;
	}
	handoff_cond_wake(sem, atomic_long_read(&sem->count), &q);
	if (q.n) {
		spin_unlock_irqrestore(&sem->wait_lock, *flags);
		wake_up_q(&q);
		spin_lock_irqsave(&sem->wait_lock, *flags);
	}
}

static noinline void handoff_down_write_slow(struct rw_semaphore *sem)
{
	struct rwsem_waiter waiter;
	bool flags;

	if (handoff_optimistic_spin(sem))
		return;
	rwsem_init_waiter(&waiter, RWSEM_WAITING_FOR_WRITE);
	spin_lock_irqsave(&sem->wait_lock, flags);
	handoff_queue_writer(sem, &waiter, &flags);
	while (!handoff_try_write_lock(sem, &waiter)) {
		bool asked = waiter.handoff_set;

		waiter.failed++;
		spin_unlock_irqrestore(&sem->wait_lock, flags);
		/*
		 * Asked for and nearly ours: if the owner, a writer, has just
		 * let go, do not sleep.
		 */
		if (!asked || handoff_spin_on_owner(sem) != OWNER_NULL) {
			count_vm_event(rwsem_sleep);
			mach_block();
		}
		spin_lock_irqsave(&sem->wait_lock, flags);
	}
	spin_unlock_irqrestore(&sem->wait_lock, flags);
}

void handoff_down_write(struct rw_semaphore *sem)
{
	if (likely(atomic_long_cmpxchg_acquire(&sem->count, 0,
					       RWSEM_WRITER_LOCKED) == 0))
		rwsem_set_owner(sem);
	else
		handoff_down_write_slow(sem);
}

void handoff_up_write(struct rw_semaphore *sem)
{
	s64 old;

	rwsem_clear_owner(sem);
	old = mach_rmw(&sem->count.counter, MACH_ADD, -RWSEM_WRITER_LOCKED, 0,
		       MACH_RELEASE);
	if (unlikely(old & RWSEM_FLAG_WAITERS))
		handoff_wake(sem, RWSEM_WAKE_ANY);
}

void handoff_downgrade_write(struct rw_semaphore *sem)
{
	s64 old = mach_rmw(&sem->count.counter, MACH_ADD,
			   RWSEM_READER_BIAS - RWSEM_WRITER_LOCKED, 0,
			   MACH_RELEASE);

	set_reader_owned(sem, current);
	if (old & RWSEM_FLAG_WAITERS)
		handoff_wake(sem, RWSEM_WAKE_READ_OWNED);
}
