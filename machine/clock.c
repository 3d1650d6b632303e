/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of events: a 4-ary heap. Its root is at index 3, so that the four
 * children of any entry share one 64-byte line: those of i are 4 * (i - 2)
 * and the next three. An entry is 16 bytes; where each event is, is kept beside
 * the heap and not in the events, which would miss the cache. Unused places of
 * the last four hold an entry later than any, so that the choice among
 * children needs no branches.
 *
 * A CPU that parks adds itself and then takes the first entry. That is one walk
 * down the heap and not two, if what is added waits (`held`) until something
 * else is done to the heap: mostly it takes the place of the first entry.
 */
#include <stdlib.h>

#include "internal.h"

#define HEAP_ROOT 3
#define POS_HELD 1

static inline u32 parent_of(u32 i)
{
	return i / 4 + 2;
}

static inline u32 child_of(u32 i)
{
	return 4 * (i - 2);
}

static inline unsigned __int128 rank_of(const struct heap_entry *e)
{
	return (unsigned __int128)e->time << 64 | e->key;
}

static inline bool before(const struct heap_entry *a, const struct heap_entry *b)
{
	return rank_of(a) < rank_of(b);
}

static inline u32 event_of(const struct heap_entry *e)
{
	return e->key & ((1u << EVENT_BITS) - 1);
}

static inline void put(struct clock *k, u32 i, struct heap_entry e)
{
	k->heap[i] = e;
	k->pos[event_of(&e)] = i;
}

static void resize_heap(struct clock *k, u32 size)
{
	struct heap_entry *heap = aligned_alloc(64, sizeof(*heap) * size);

	MACH_ASSERT(heap);
	memset(heap, 0xff, sizeof(*heap) * size);
	if (k->heap)
		memcpy(heap, k->heap, sizeof(*heap) * k->size);
	free(k->heap);
	k->heap = heap;
	k->size = size;
}

void clock_grow(struct clock *k, u32 nr_events)
{
	u32 size = k->pos_size ? k->pos_size : 64;

	if (nr_events <= k->pos_size)
		return;
	MACH_ASSERT(nr_events < 1u << EVENT_BITS);
	while (size < nr_events)
		size *= 2;
	k->pos = realloc(k->pos, sizeof(*k->pos) * size);
	MACH_ASSERT(k->pos);
	memset(k->pos + k->pos_size, 0, sizeof(*k->pos) * (size - k->pos_size));
	k->pos_size = size;
	/* Every event at once, what is unused before them, and the last four. */
	resize_heap(k, size + 12);
}

void clock_init(struct clock *k, u32 nr_events)
{
	memset(k, 0, sizeof(*k));
	k->min_time = NEVER;
	clock_grow(k, nr_events);
}

void clock_destroy(struct clock *k)
{
	free(k->heap);
	free(k->pos);
}

static void sift_up(struct clock *k, u32 i, struct heap_entry e)
{
	while (i > HEAP_ROOT) {
		u32 up = parent_of(i);

		if (!before(&e, &k->heap[up]))
			break;
		put(k, i, k->heap[up]);
		i = up;
	}
	put(k, i, e);
}

/* The earliest of the four entries from c on, without a branch. */
static inline u32 earliest_of(const struct heap_entry *c, unsigned __int128 *rank)
{
	unsigned __int128 r0 = rank_of(&c[0]), r1 = rank_of(&c[1]);
	unsigned __int128 r2 = rank_of(&c[2]), r3 = rank_of(&c[3]);
	u32 x = r1 < r0, y = r3 < r2, z;

	r0 = x ? r1 : r0;
	r2 = y ? r3 : r2;
	z = r2 < r0;
	*rank = z ? r2 : r0;
	return z ? 2 + y : x;
}

static void sift_down(struct clock *k, u32 i, struct heap_entry e)
{
	unsigned __int128 rank = rank_of(&e), best_rank;
	u32 end = HEAP_ROOT + k->nr, child;

	while ((child = child_of(i)) < end) {
		u32 best = child + earliest_of(&k->heap[child], &best_rank);

		if (rank < best_rank)
			break;
		put(k, i, k->heap[best]);
		i = best;
	}
	put(k, i, e);
}

static inline void set_min(struct clock *k)
{
	k->min_time = k->nr ? k->heap[HEAP_ROOT].time : NEVER;
}

static void heap_insert(struct clock *k, struct heap_entry e)
{
	sift_up(k, HEAP_ROOT + k->nr++, e);
}

/* Take away the last entry and return it. */
static struct heap_entry cut_last(struct clock *k)
{
	struct heap_entry *last = &k->heap[HEAP_ROOT + --k->nr], e = *last;

	memset(last, 0xff, sizeof(*last));
	return e;
}

static void drop_held(struct clock *k)
{
	if (!k->is_held)
		return;
	k->is_held = false;
	heap_insert(k, k->held);
}

static struct heap_entry new_entry(struct clock *k, u32 event, u64 time)
{
	MACH_ASSERT(!k->pos[event] && time < NEVER);
	return (struct heap_entry){ time, k->seq++ << EVENT_BITS | event };
}

void clock_push(struct clock *k, u32 event, u64 time)
{
	drop_held(k);
	heap_insert(k, new_entry(k, event, time));
	set_min(k);
}

void clock_push_self(struct clock *k, u32 event, u64 time)
{
	drop_held(k);
	k->held = new_entry(k, event, time);
	k->is_held = true;
	k->pos[event] = POS_HELD;
	if (time < k->min_time)
		k->min_time = time;
}

void clock_remove(struct clock *k, u32 event)
{
	struct heap_entry last;
	u32 i;

	drop_held(k);
	i = k->pos[event];
	MACH_ASSERT(i);
	k->pos[event] = 0;
	last = cut_last(k);
	if (event_of(&last) != event) {
		if (i > HEAP_ROOT && before(&last, &k->heap[parent_of(i)]))
			sift_up(k, i, last);
		else
			sift_down(k, i, last);
	}
	set_min(k);
}

void clock_set(struct clock *k, u32 event, u64 time)
{
	if (k->pos[event])
		clock_remove(k, event);
	clock_push(k, event, time);
}

u32 clock_pop(struct clock *k, u64 *time)
{
	struct heap_entry first;

	if (k->is_held && (!k->nr || before(&k->held, &k->heap[HEAP_ROOT]))) {
		first = k->held;
		k->is_held = false;
	} else {
		first = k->heap[HEAP_ROOT];
		if (k->is_held) {
			k->is_held = false;
			sift_down(k, HEAP_ROOT, k->held);
		} else {
			struct heap_entry last = cut_last(k);

			if (k->nr)
				sift_down(k, HEAP_ROOT, last);
		}
	}
	k->pos[event_of(&first)] = 0;
	*time = first.time;
	set_min(k);
	return event_of(&first);
}

/* An event that is not a CPU's. Returns the CPU that must run now, if any. */
static struct cpu *run_event(struct machine *m, u32 event)
{
	struct irq *irq;

	if (event == EVENT_FABRIC(m))
		return fabric_event(m);
	if (event == EVENT_GRACE(m)) {
		rcu_timer(m);
		return NULL;
	}
	if (event == EVENT_HEARTBEAT(m)) {
		if (!clock_empty(&m->clock))
			clock_push(&m->clock, event, m->now + HEARTBEAT_PS);
		else
			m->finish = FINISH_DEADLOCK;
		return NULL;
	}
	if (event < EVENT_RCU(m, 0))
		irq = &m->cpu[event - EVENT_TICK(m, 0)].tick_irq;
	else if (event < EVENT_FABRIC(m))
		irq = &m->cpu[event - EVENT_RCU(m, 0)].rcu_irq;
	else
		irq = irq_of_event(m, event);
	irq->time = m->now;
	return cpu_irq_arrives(m, irq);
}

/* Nobody can move, somebody asked to stop, or the last thread is gone. */
static bool over(struct machine *m)
{
	if (m->finish != FINISH_NO)
		return true;
	if (m->stop)
		m->finish = FINISH_STOP;
	else if (m->exiting && !m->rcu.active && !m->irqs_busy)
		m->finish = FINISH_DONE;
	else if (m->clock.min_time > m->limit_at)
		m->finish = FINISH_TIME;
	return m->finish != FINISH_NO;
}

struct cpu *clock_next(struct machine *m)
{
	for (;;) {
		struct cpu *c;
		u64 time;
		u32 event;

		if (unlikely(m->stop || m->exiting || m->finish != FINISH_NO ||
			     m->clock.min_time > m->limit_at) && over(m))
			return NULL;
		event = clock_pop(&m->clock, &time);
		MACH_ASSERT(time >= m->now);
		m->now = time;
		if (unlikely((++m->events & 0xffff) == 0) && m->progress)
			m->progress(m->progress_arg, m->window_opened ?
				    time - m->window_start : 0);
		if (event < m->nr_cpus)
			return &m->cpu[event];
		c = run_event(m, event);
		if (c)
			return c;
	}
}
