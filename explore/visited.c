// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the processes of a systematic search share: which states were visited, and
 * which agents touch which objects. Memory is mapped before the fork and filled as it is
 * used. When a table is full, work is done twice, and nothing is lost: a state
 * that finds no room counts as new, an object as everybody's.
 *
 * An entry of the visited states is guarded by one of a few locks; the other table
 * only ever gains bits.
 */
#include "explore/systematic.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_STATES (1U << 23)	/* powers of two */
#define MIN_STATES (1U << 14)
#define STATES_EACH 64		/* new ones of an execution; an estimate */
#define OBJECTS (1U << 14)
#define LOCKS 1024
#define PROBES 64

struct state {
	u64 name;		/* 0: free */
	u64 sleep;
	u32 cost;
};

struct shared {
	_Atomic u32 changed;	/* objects that became shared */
	_Atomic u8 lock[LOCKS];
	struct sharing all;	/* of XOBJ_ALL */
	struct sharing object[OBJECTS];
	u32 nr_states;		/* there is room for */
	struct state state[];
};

static size_t shared_size(u32 nr_states)
{
	return sizeof(struct shared) + nr_states * sizeof(struct state);
}

struct shared *shared_map(u64 max_schedules)
{
	u32 n = MAX_STATES;
	struct shared *sh;

	while (max_schedules && n > MIN_STATES && n / 2 > max_schedules * STATES_EACH)
		n /= 2;
	sh = mmap(NULL, shared_size(n), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sh == MAP_FAILED)
		return NULL;
	sh->nr_states = n;
	return sh;
}

void shared_unmap(struct shared *sh)
{
	munmap(sh, shared_size(sh->nr_states));
}

void shared_round(struct shared *sh)
{
	char *end = (char *)sh + shared_size(sh->nr_states);
	char *from = (char *)(((u64)(uintptr_t)sh->state + 4095) & ~4095UL);
	char *to = (char *)((u64)(uintptr_t)end & ~4095UL);

	sh->changed = 0;
	memset(sh->state, 0, (size_t)(from - (char *)sh->state));
	memset(to, 0, (size_t)(end - to));
	if (madvise(from, (size_t)(to - from), MADV_REMOVE))
		memset(from, 0, (size_t)(to - from));
}

/* ---- objects ---- */

struct sharing *sharing_get(struct shared *sh, u32 key)
{
	u32 at = (u32)((key * 0x9e3779b97f4a7c15ULL) >> 32);

	/* Key 0 is free. */
	key = ~key;
	for (u32 i = 0; i < PROBES; i++) {
		struct sharing *s = &sh->object[(at + i) & (OBJECTS - 1)];
		u32 old = 0;

		if (atomic_load_explicit(&s->key, memory_order_relaxed) == key ||
		    atomic_compare_exchange_strong(&s->key, &old, key) || old == key)
			return s;
	}
	return NULL;
}

static bool conflict(u64 agents, u64 writers)
{
	return writers && (agents & (agents - 1));
}

void sharing_add(struct shared *sh, struct sharing *s, u32 agent, bool write)
{
	u64 me = AGENT(agent), agents, writers, readers = 0;

	if (!write)
		readers = atomic_fetch_or(&s->readers, me);
	writers = write ? atomic_fetch_or(&s->writers, me) : atomic_load(&s->writers);
	agents = atomic_fetch_or(&s->agents, me);
	if (conflict(agents | me, writers | (write ? me : 0)) &&
	    (!(agents & me) || !((write ? writers : readers) & me)))
		atomic_fetch_add(&sh->changed, 1);
}

struct sharing *sharing_all(struct shared *sh)
{
	return &sh->all;
}

bool shared_changed(const struct shared *sh)
{
	return sh->changed;
}

/* ---- states ---- */

static void lock(struct shared *sh, u64 name)
{
	while (atomic_exchange_explicit(&sh->lock[name % LOCKS], 1, memory_order_acquire))
		sched_yield();
}

static void unlock(struct shared *sh, u64 name)
{
	atomic_store_explicit(&sh->lock[name % LOCKS], 0, memory_order_release);
}

static u64 visit_entry(struct state *e, u32 cost, u64 sleep)
{
	u64 left = e->sleep & ~sleep;

	if (cost < e->cost) {
		e->cost = cost;
		e->sleep = sleep;
		return ~0ULL;
	}
	/* Those that slept then; at a higher cost, not all that they lead to is seen. */
	if (cost == e->cost)
		e->sleep &= sleep;
	return left;
}

/* Entries of one bucket have one lock. */
u64 visit(struct shared *sh, u64 name, u32 cost, u64 sleep)
{
	u64 bucket = name >> 40 & (sh->nr_states / PROBES - 1);
	struct state *e = &sh->state[bucket * PROBES];
	u64 left = ~0ULL;

	lock(sh, bucket);
	for (u32 i = 0; i < PROBES; i++, e++) {
		if (e->name == name) {
			left = visit_entry(e, cost, sleep);
			break;
		}
		if (!e->name) {
			*e = (struct state){ name, sleep, cost };
			break;
		}
	}
	unlock(sh, bucket);
	return left;
}
