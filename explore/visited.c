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
	u64 name;
	u64 sleep;
	u32 cost;
	u32 round;		/* of the visit; free in any other */
};

struct shared {
	_Atomic u32 changed;	/* objects that became shared */
	u32 round;		/* from 1; changes while there are no other processes */
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
	sh->changed = 0;
	sh->round++;
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

/*
 * Entries of one bucket have one lock. The first that is looked at depends on the name, too: it
 * is mostly the right one.
 */
u64 visit(struct shared *sh, u64 name, u32 cost, u64 sleep)
{
	u64 bucket = name >> 40 & (sh->nr_states / PROBES - 1);
	struct state *state = &sh->state[bucket * PROBES];
	u64 left = ~0ULL;

	lock(sh, bucket);
	for (u32 i = 0; i < PROBES; i++) {
		struct state *e = &state[(name + i) & (PROBES - 1)];

		if (e->round != sh->round) {
			*e = (struct state){ name, sleep, cost, sh->round };
			break;
		}
		if (e->name == name) {
			left = visit_entry(e, cost, sleep);
			break;
		}
	}
	unlock(sh, bucket);
	return left;
}
