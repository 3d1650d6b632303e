/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rwsem: which algorithm, and the queue of spinners. */
#include "mm/rwsem_internal.h"

enum { RWSEM_XADD, RWSEM_HANDOFF };
KNOB_ENUM(mm_rwsem, "mm.rwsem", KNOB_POLICY, RWSEM_HANDOFF,
	  "algorithm of the reader/writer semaphores", "64489e78004c (5.3)",
	  "xadd", "handoff");

static inline bool is_xadd(void)
{
	return knob(mm_rwsem) == RWSEM_XADD;
}

void init_rwsem(struct rw_semaphore *sem)
{
	memset(sem, 0, sizeof(*sem));
	INIT_LIST_HEAD(&sem->wait_list);
}

void down_read(struct rw_semaphore *sem)
{
	if (is_xadd())
		xadd_down_read(sem);
	else
		handoff_down_read(sem);
}

bool down_read_trylock(struct rw_semaphore *sem)
{
	return is_xadd() ? xadd_down_read_trylock(sem) :
			   handoff_down_read_trylock(sem);
}

void up_read(struct rw_semaphore *sem)
{
	if (is_xadd())
		xadd_up_read(sem);
	else
		handoff_up_read(sem);
}

void down_write(struct rw_semaphore *sem)
{
	if (is_xadd())
		xadd_down_write(sem);
	else
		handoff_down_write(sem);
}

void up_write(struct rw_semaphore *sem)
{
	if (is_xadd())
		xadd_up_write(sem);
	else
		handoff_up_write(sem);
}

void downgrade_write(struct rw_semaphore *sem)
{
	if (is_xadd())
		xadd_downgrade_write(sem);
	else
		handoff_downgrade_write(sem);
}

void rwsem_wait_owner(struct rw_semaphore *sem, u64 owner)
{
	struct task_struct *task = (struct task_struct *)owner;
	struct mach_watch watch[] = {
		{ &sem->owner, sizeof(sem->owner), owner },
		{ &task->on_cpu, sizeof(task->on_cpu), 1 },
	};

	mach_wait_change(watch, ARRAY_SIZE(watch));
}

void rwsem_wait_free(struct rw_semaphore *sem, u64 owner, s64 count)
{
	struct mach_watch watch[] = {
		{ &sem->owner, sizeof(sem->owner), owner },
		{ &sem->count.counter, sizeof(sem->count.counter), (u64)count },
	};

	mach_wait_change(watch, ARRAY_SIZE(watch));
}

void rwsem_wait_grant(struct rwsem_waiter *waiter)
{
	/* Pairs with the release in the wake-up: what the last owner wrote. */
	while (smp_load_acquire(&waiter->task)) {
		count_vm_event(rwsem_sleep);
		mach_block();
	}
}

/*
 * The OSQ (kernel/locking/osq_lock.c): an MCS queue of CPUs that spin, each on
 * its own node, with a way out. tail names the last; the first holds the lock.
 *
 * A node is its CPU's. Nobody sleeps between osq_lock() and osq_unlock(), so a
 * CPU is in at most one queue.
 */
static inline struct osq_node *osq_node_of(u32 cpu_plus_1)
{
	return &kernel()->cpu[cpu_plus_1 - 1].osq;
}

/*
 * Find who comes after node, to hand the lock to it (osq_unlock) or to link it
 * to prev (giving up); 0: nobody, and the tail is moved back to prev.
 */
static u32 osq_wait_next(struct rw_semaphore *sem, struct osq_node *node,
			 u32 self, u32 prev)
{
	for (;;) {
		u64 tail = READ_ONCE(sem->osq.tail);
		u32 next;

		/* Still the last: whoever comes now finds prev. */
		if (tail == self) {
			tail = cmpxchg_acquire(&sem->osq.tail, (u64)self, (u64)prev);
			if (tail == self)
				return 0;
			/*
			 * Below, wait for a change of what was found now, not of self: who
			 * came after us may give up meanwhile, and the tail be self again.
			 */
		}
		/*
		 * Take the link away: the next, giving up at this moment, would
		 * in its step A take us for its stable predecessor.
		 */
		if (READ_ONCE(node->next)) {
			next = xchg(&node->next, 0);
			if (next)
				return next;
		}
		struct mach_watch watch[] = {
			{ &sem->osq.tail, sizeof(sem->osq.tail), tail },
			{ &node->next, sizeof(node->next), 0 },
		};
		mach_wait_change(watch, ARRAY_SIZE(watch));
	}
}

/* Leave the queue. True: too late, the lock was just handed to us. */
static bool osq_unqueue(struct rw_semaphore *sem, struct osq_node *node, u32 self)
{
	u32 prev, next;

	/*
	 * Step A: take back prev->next. From then on prev, unlocking or giving
	 * up itself, waits for a new next, for the tail names us or a later
	 * one.
	 */
	for (;;) {
		prev = READ_ONCE(node->prev);
		if (cmpxchg(&osq_node_of(prev)->next, self, 0) == self)
			break;
		/* Prev unlocks (then we are handed the lock) or gives up (then
		 * its step C gives us another prev). */
		if (smp_load_acquire(&node->locked))
			return true;
		struct mach_watch watch[] = {
			{ &node->locked, sizeof(node->locked), 0 },
			{ &node->prev, sizeof(node->prev), prev },
			{ &osq_node_of(prev)->next, sizeof(node->next), 0 },
		};
		mach_wait_change(watch, ARRAY_SIZE(watch));
	}

	/* Step B: the same with our own next. */
	next = osq_wait_next(sem, node, self, prev);
	if (!next)
		return false;

	/* Step C: prev waits for a next, and next for us: link them. */
	WRITE_ONCE(osq_node_of(next)->prev, prev);
	WRITE_ONCE(osq_node_of(prev)->next, next);
	return false;
}

bool osq_lock(struct rw_semaphore *sem)
{
	u32 self = smp_processor_id() + 1;
	struct osq_node *node = osq_node_of(self);
	u32 prev;

	WRITE_ONCE(node->locked, 0);
	WRITE_ONCE(node->next, 0);
	/* Full: publishes the node, and acquires if nobody is there. */
	prev = (u32)xchg(&sem->osq.tail, (u64)self);
	if (!prev)
		return true;

	count_vm_event(rwsem_spin);
	WRITE_ONCE(node->prev, prev);
	/*
	 * node->prev must be there before prev->next: once linked, prev's
	 * step C may overwrite node->prev, and ours must not come after it.
	 */
	smp_wmb();
	WRITE_ONCE(osq_node_of(prev)->next, self);

	while (!READ_ONCE(node->locked)) {
		struct mach_watch watch[] = {
			{ &node->locked, sizeof(node->locked), 0 },
		};

		if (need_resched())
			return osq_unqueue(sem, node, self);
		mach_wait_change(watch, ARRAY_SIZE(watch));
	}
	return true;
}

void osq_unlock(struct rw_semaphore *sem)
{
	u32 self = smp_processor_id() + 1;
	struct osq_node *node = osq_node_of(self);
	u32 next;

	if (cmpxchg_release(&sem->osq.tail, (u64)self, 0) == self)
		return;
	next = xchg(&node->next, 0);
	if (!next)
		next = osq_wait_next(sem, node, self, 0);
	if (next)
		WRITE_ONCE(osq_node_of(next)->locked, 1);
}
