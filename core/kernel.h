/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's vocabulary over the seam: READ_ONCE, atomics, spinlocks,
 * cpumasks, RCU, lists, BUG. Names and meaning follow Linux; each comes down to
 * calls of <tlblab/machine.h>. Macros, where a site (file and line of the
 * caller) must be kept.
 */
#ifndef CORE_KERNEL_H
#define CORE_KERNEL_H

#include <tlblab/machine.h>

#include "lib/string.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member)                                         \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define round_up(x, y) ((((x) - 1) | ((__typeof__(x))(y) - 1)) + 1)
#define round_down(x, y) ((x) & ~((__typeof__(x))(y) - 1))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define BIT(n) (1UL << (n))
#define GENMASK(h, l) (((~0UL) << (l)) & (~0UL >> (63 - (h))))

/* Our own bug: stop, exit status 3. Always on. */
#define BUG() mach_bug("BUG")
#define BUG_ON(cond)                                                            \
	do {                                                                    \
		if (unlikely(cond))                                             \
			mach_bug("BUG_ON(" #cond ")");                          \
	} while (0)

enum {
	ENOENT = 2, EINTR = 4, EAGAIN = 11, ENOMEM = 12, EFAULT = 14,
	EEXIST = 17, EINVAL = 22,
};

/* ---- shared words ---- */

#define READ_ONCE(x) mach_load(&(x), MACH_RELAXED)
#define WRITE_ONCE(x, v) mach_store(&(x), (v), MACH_RELAXED)
#define smp_load_acquire(p) mach_load((p), MACH_ACQUIRE)
#define smp_store_release(p, v) mach_store((p), (v), MACH_RELEASE)
#define smp_mb() mach_fence(MACH_SMP_MB)
#define smp_rmb() mach_fence(MACH_SMP_RMB)
#define smp_wmb() mach_fence(MACH_SMP_WMB)
#define smp_mb__before_atomic() mach_fence(MACH_SMP_MB_BEFORE_ATOMIC)
#define smp_mb__after_atomic() mach_fence(MACH_SMP_MB_AFTER_ATOMIC)
#define smp_mb__after_spinlock() mach_fence(MACH_SMP_MB_AFTER_SPINLOCK)
#define xchg(p, v) mach_rmw((p), MACH_XCHG, (v), 0, MACH_FULL)
#define cmpxchg(p, old, new) mach_rmw((p), MACH_CMPXCHG, (new), (old), MACH_FULL)
#define cmpxchg_acquire(p, old, new) mach_rmw((p), MACH_CMPXCHG, (new), (old), MACH_ACQUIRE)
#define cmpxchg_release(p, old, new) mach_rmw((p), MACH_CMPXCHG, (new), (old), MACH_RELEASE)

typedef struct { s32 counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
typedef atomic64_t atomic_long_t;

#define ATOMIC_INIT(i) { (i) }
#define atomic_read(v) READ_ONCE((v)->counter)
#define atomic_set(v, i) WRITE_ONCE((v)->counter, (i))
/* Without a return value: unordered, as in Linux. */
#define atomic_add(i, v) ((void)mach_rmw(&(v)->counter, MACH_ADD, (i), 0, MACH_RELAXED))
#define atomic_sub(i, v) ((void)mach_rmw(&(v)->counter, MACH_ADD, -(s64)(i), 0, MACH_RELAXED))
#define atomic_inc(v) atomic_add(1, v)
#define atomic_dec(v) atomic_sub(1, v)
/* With one: fully ordered. */
#define atomic_add_return(i, v) (mach_rmw(&(v)->counter, MACH_ADD, (i), 0, MACH_FULL) + (i))
#define atomic_inc_return(v) atomic_add_return(1, v)
#define atomic_dec_return(v) (mach_rmw(&(v)->counter, MACH_ADD, -1, 0, MACH_FULL) - 1)
#define atomic_dec_and_test(v) (atomic_dec_return(v) == 0)
#define atomic_add_negative(i, v) (atomic_add_return(i, v) < 0)
#define atomic_inc_not_zero(v) (mach_rmw(&(v)->counter, MACH_ADD_UNLESS, 1, 0, MACH_FULL) != 0)
#define atomic64_read(v) atomic_read(v)
#define atomic64_set(v, i) atomic_set(v, i)
#define atomic64_inc_return(v) atomic_add_return(1, v)
#define atomic_long_read(v) atomic_read(v)
#define atomic_long_set(v, i) atomic_set(v, i)
#define atomic_long_add(i, v) atomic_add(i, v)
#define atomic_long_add_return(i, v) atomic_add_return(i, v)
#define atomic_long_add_return_acquire(i, v)                                    \
	(mach_rmw(&(v)->counter, MACH_ADD, (i), 0, MACH_ACQUIRE) + (i))
#define atomic_long_add_return_release(i, v)                                    \
	(mach_rmw(&(v)->counter, MACH_ADD, (i), 0, MACH_RELEASE) + (i))
#define atomic_long_fetch_add(i, v) mach_rmw(&(v)->counter, MACH_ADD, (i), 0, MACH_FULL)
#define atomic_long_or(i, v) ((void)mach_rmw(&(v)->counter, MACH_OR, (i), 0, MACH_RELAXED))
#define atomic_long_andnot(i, v)                                                \
	((void)mach_rmw(&(v)->counter, MACH_AND, ~(u64)(i), 0, MACH_RELAXED))
#define atomic_long_cmpxchg_acquire(v, old, new) cmpxchg_acquire(&(v)->counter, old, new)

/* ---- locks ---- */

typedef struct mach_lock spinlock_t;

/*
 * This CPU holds l. For who reads or writes plain C that l guards (__guarded_by): what a
 * compiler and an exploring machine cannot see, this asserts.
 */
#define lockdep_assert_held(l) BUG_ON((l)->owner != smp_processor_id() + 1UL)

#define spin_lock(l) mach_spin_lock(l)
#define spin_trylock(l) mach_spin_trylock(l)
#define spin_unlock(l) mach_spin_unlock(l)

#define local_irq_save(flags) ((flags) = mach_irq_save())
#define local_irq_restore(flags) mach_irq_restore(flags)
#define spin_lock_irqsave(l, flags) do { local_irq_save(flags); spin_lock(l); } while (0)
#define spin_unlock_irqrestore(l, flags) do { spin_unlock(l); local_irq_restore(flags); } while (0)

#define rcu_read_lock() mach_rcu_read_lock()
#define rcu_read_unlock() mach_rcu_read_unlock()
#define call_rcu(head, func) mach_call_rcu(head, func)

#define need_resched() mach_need_resched()
#define cond_resched() mach_cond_resched()

/* ---- CPUs ---- */

#define NR_CPUS TLBLAB_MAX_CPUS
#define smp_processor_id() (mach_env()->cpu)
#define nr_cpu_ids (mach_env()->nr_cpus)
#define current ((struct task_struct *)mach_env()->task)

struct cpumask {
	u64 bits[NR_CPUS / 64];	/* shared words */
};

static inline u32 cpumask_words(void)
{
	return (nr_cpu_ids + 63) / 64;
}

#define cpumask_set_cpu(cpu, m)                                                 \
	((void)mach_rmw(&(m)->bits[(cpu) / 64], MACH_OR, 1UL << ((cpu) % 64), 0, \
			MACH_RELAXED))
#define cpumask_clear_cpu(cpu, m)                                               \
	((void)mach_rmw(&(m)->bits[(cpu) / 64], MACH_AND,                       \
			~(1UL << ((cpu) % 64)), 0, MACH_RELAXED))
#define cpumask_test_cpu(cpu, m)                                                \
	((READ_ONCE((m)->bits[(cpu) / 64]) >> ((cpu) % 64)) & 1)

/* Whether any CPU but cpu is in mask. */
static inline bool cpumask_any_but(const struct cpumask *m, u32 cpu)
{
	for (u32 w = 0; w < cpumask_words(); w++) {
		u64 bits = READ_ONCE(m->bits[w]);

		if (w == cpu / 64)
			bits &= ~(1UL << (cpu % 64));
		if (bits)
			return true;
	}
	return false;
}

/* ---- lists ---- */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	entry->next = head->next;
	entry->prev = head;
	head->next->prev = entry;
	head->next = entry;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_add(entry, head->prev);
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	entry->next = entry;
	entry->prev = entry;
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del(entry);
	list_add_tail(entry, head);
}

static inline bool list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

#define list_first_entry(head, type, member) container_of((head)->next, type, member)
#define list_for_each_entry(pos, head, member)                                  \
	for (pos = container_of((head)->next, __typeof__(*pos), member);        \
	     &pos->member != (head);                                            \
	     pos = container_of(pos->member.next, __typeof__(*pos), member))

/* pos may be taken off the list, or its memory be gone, before the next turn. */
#define list_for_each_entry_safe(pos, n, head, member)                          \
	for (pos = container_of((head)->next, __typeof__(*pos), member),        \
	    n = container_of(pos->member.next, __typeof__(*pos), member);       \
	     &pos->member != (head);                                            \
	     pos = n, n = container_of(n->member.next, __typeof__(*n), member))

/* ---- memory of the core's own ---- */

#define kzalloc(size) mach_kalloc((size), 0)
#define kfree(p, size) mach_kfree((p), (size))

#endif
