/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of events, in two parts.
 *
 * The earliest are in `soon`, a short sorted array whose last entry is the first
 * to be taken: mostly a CPU that parks lets one or two others go first, so a new
 * entry finds its place after one or two comparisons. All the others, later than
 * those, are in a 4-ary heap. Its root is at index 3, so that the four
 * children of any entry share one 64-byte line: those of i are 4 * (i - 2)
 * and the next three. An entry is 16 bytes; where each event is, is kept beside
 * the heap and not in the events, which would miss the cache. Unused places of
 * the last four hold an entry later than any, so that the choice among
 * children needs no branches.
 */
#include <stdlib.h>

#include "internal.h"

#define HEAP_ROOT 3
#define POS_SOON 1

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
	if (likely(k->nr_soon))
		k->min_time = k->soon[k->nr_soon - 1].time;
	else
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

/* Half of soon, the later one, goes to the heap. */
static __attribute__((noinline)) void
soon_make_room(struct clock *k)
{
	const u32 n = CLOCK_SOON / 2;

	for (u32 i = 0; i < n; i++)
		heap_insert(k, k->soon[i]);
	k->nr_soon -= n;
	memmove(k->soon, k->soon + n, k->nr_soon * sizeof(k->soon[0]));
}

void clock_push(struct clock *k, u32 event, u64 time)
{
	struct heap_entry e = { time, k->seq++ << EVENT_BITS | event };
	u32 i;

	MACH_ASSERT(!k->pos[event] && time < NEVER);
	if (unlikely(k->nr_soon == CLOCK_SOON))
		soon_make_room(k);
	if (k->nr && before(&k->heap[HEAP_ROOT], &e)) {
		heap_insert(k, e);
	} else {
		for (i = k->nr_soon++; i && before(&k->soon[i - 1], &e); i--)
			k->soon[i] = k->soon[i - 1];
		k->soon[i] = e;
		k->pos[event] = POS_SOON;
	}
	if (time < k->min_time)
		k->min_time = time;
}

static void soon_remove(struct clock *k, u32 event)
{
	u32 i = 0;

	while (event_of(&k->soon[i]) != event)
		i++;
	k->nr_soon--;
	for (; i < k->nr_soon; i++)
		k->soon[i] = k->soon[i + 1];
}

static void heap_remove(struct clock *k, u32 i, u32 event)
{
	struct heap_entry last = cut_last(k);

	if (event_of(&last) == event)
		return;
	if (i > HEAP_ROOT && before(&last, &k->heap[parent_of(i)]))
		sift_up(k, i, last);
	else
		sift_down(k, i, last);
}

void clock_remove(struct clock *k, u32 event)
{
	u32 i = k->pos[event];

	MACH_ASSERT(i);
	k->pos[event] = 0;
	if (i == POS_SOON)
		soon_remove(k, event);
	else
		heap_remove(k, i, event);
	set_min(k);
}

void clock_set(struct clock *k, u32 event, u64 time)
{
	if (k->pos[event])
		clock_remove(k, event);
	clock_push(k, event, time);
}

static struct heap_entry heap_pop(struct clock *k)
{
	struct heap_entry first = k->heap[HEAP_ROOT], last = cut_last(k);

	if (k->nr)
		sift_down(k, HEAP_ROOT, last);
	return first;
}

u32 clock_pop(struct clock *k, u64 *time)
{
	struct heap_entry first = k->nr_soon ? k->soon[--k->nr_soon] : heap_pop(k);

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
		machine_interval(m);
		if (!clock_empty(&m->clock))
			clock_push(&m->clock, event, machine_next_beat(m));
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
