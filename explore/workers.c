// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Worker processes. Each is a fork of the one that holds the world, whose arena
 * lies at the same address in all, and runs the strategy's own loop; what they
 * share is in struct workers, in memory mapped before the fork. The parent only
 * watches the clock, shows progress and gathers.
 *
 * Random strategies: executions are numbered by a common counter. When number i breaks
 * the rule, numbers below i are still run, so the lowest is reported: the same
 * one as without workers.
 *
 * Systematic: one worker starts with the whole space. One that has nothing to do
 * makes its box WANTED; a busy one that sees this fills it with a path (FILLING,
 * FULL) and the other takes it (EMPTY). All that are idle have WANTED boxes; when every worker
 * is idle, no path is under way and the space is done: `idle` falls when a box goes
 * from WANTED to FILLING, by the one who fills it, who is busy himself. The first violation
 * stops everybody, so which one is reported depends on the race between workers; the rule's
 * bound does not, as bounds are done in turn.
 */
#include "explore/search.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORKERS 64
#define MAX_CHOICES 65536	/* of a violation that is handed to the parent */

enum box_state { BOX_EMPTY, BOX_WANTED, BOX_FILLING, BOX_FULL };

struct box {
	_Atomic u32 state;
	u32 n;
	struct work_node node[WORK_MAX];
};

struct workers {
	u32 nr;
	u64 deadline_ns, max_runs;
	_Atomic u32 stop;		/* all is done, or over, or found */
	_Atomic u32 over;		/* a budget ended it */
	_Atomic u32 idle;
	_Atomic u32 cut;
	_Atomic u64 runs, schedules;
	_Atomic u64 next_seed, found_seed;
	/* The find: written by whoever holds find_lock. */
	_Atomic u32 find_lock;
	bool found;
	u64 find_seed;
	struct xresult result;
	u32 nr_choices;
	u16 choice[MAX_CHOICES];
	struct box box[];
};

/* ---- budgets and finds ---- */

bool workers_over(struct search *s)
{
	struct workers *ws = s->workers;
	u64 runs = atomic_fetch_add_explicit(&ws->runs, 1, memory_order_relaxed);

	if (atomic_load_explicit(&ws->stop, memory_order_relaxed))
		return true;
	if ((ws->max_runs && runs >= ws->max_runs) ||
	    (ws->deadline_ns && search_now_ns() >= ws->deadline_ns)) {
		atomic_store(&ws->over, 1);
		atomic_store(&ws->stop, 1);
		return true;
	}
	return false;
}

static void find_put(struct search *s, u64 seed)
{
	struct workers *ws = s->workers;

	while (atomic_exchange(&ws->find_lock, 1))
		sched_yield();
	if (s->choices.n <= MAX_CHOICES && (!ws->found || seed < ws->find_seed)) {
		ws->found = true;
		ws->find_seed = seed;
		ws->result = s->result;
		ws->nr_choices = s->choices.n;
		memcpy(ws->choice, s->choices.value, s->choices.n * sizeof(ws->choice[0]));
	}
	atomic_store(&ws->find_lock, 0);
}

bool workers_next_seed(struct search *s, u64 *index)
{
	*index = atomic_fetch_add(&s->workers->next_seed, 1);
	return *index < atomic_load(&s->workers->found_seed);
}

void workers_found_seed(struct search *s, u64 index)
{
	struct workers *ws = s->workers;
	u64 best = atomic_load(&ws->found_seed);

	while (index < best &&
	       !atomic_compare_exchange_weak(&ws->found_seed, &best, index))
		;
	find_put(s, index);
}

/* ---- handing over paths ---- */

bool workers_hungry(struct search *s)
{
	return atomic_load_explicit(&s->workers->idle, memory_order_relaxed);
}

static struct box *box_in(struct workers *ws, enum box_state state)
{
	for (u32 i = 0; i < ws->nr; i++)
		if (atomic_load(&ws->box[i].state) == state)
			return &ws->box[i];
	return NULL;
}

/*
 * The box being filled is kept in no variable: a worker fills one at a time, and
 * marks it with its number.
 */
#define FILLING_BY(worker) (BOX_FILLING + 2 + (worker))

struct work_node *workers_give(struct search *s, u32 n)
{
	struct workers *ws = s->workers;
	struct box *box = box_in(ws, BOX_WANTED);
	u32 wanted = BOX_WANTED;

	assert(n <= WORK_MAX);
	if (!box || !atomic_compare_exchange_strong(&box->state, &wanted,
						    FILLING_BY(s->worker)))
		return NULL;
	atomic_fetch_sub(&ws->idle, 1);
	box->n = n;
	return box->node;
}

void workers_given(struct search *s)
{
	struct box *box = box_in(s->workers, FILLING_BY(s->worker));

	atomic_store(&box->state, BOX_FULL);
}

#define SPINS 200

const struct work_node *workers_take(struct search *s, u32 *n)
{
	struct workers *ws = s->workers;
	struct box *box = &ws->box[s->worker];

	atomic_store(&box->state, BOX_WANTED);
	if (atomic_fetch_add(&ws->idle, 1) + 1 == ws->nr)
		atomic_store(&ws->stop, 1);
	for (u32 spin = 0; !atomic_load(&ws->stop); spin++) {
		if (atomic_load(&box->state) == BOX_FULL) {
			*n = box->n;
			atomic_store(&box->state, BOX_EMPTY);
			return box->node;
		}
		if (spin < SPINS)
			sched_yield();
		else
			usleep(100);
	}
	return NULL;
}

/* ---- processes ---- */

static void worker_main(struct search *s, enum search_end (*round)(struct search *))
{
	struct workers *ws = s->workers;
	enum search_end end;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	end = round(s);
	if (end == SEARCH_FOUND) {
		find_put(s, 0);
		atomic_store(&ws->stop, 1);
	}
	if (s->cut)
		atomic_store(&ws->cut, 1);
	atomic_fetch_add(&ws->schedules, s->schedules);
	_exit(0);
}

/* A worker that dies takes the search with it: there is a bug in tlblab. */
static void worker_died(struct workers *ws, const pid_t *pid, u32 i, int status)
{
	fprintf(stderr, "tlblab: a worker process died (%s %d)\n",
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	for (u32 k = 0; k < ws->nr; k++)
		if (k != i && pid[k])
			kill(pid[k], SIGKILL);
	exit(3);
}

static u32 reap(struct workers *ws, pid_t *pid)
{
	u32 left = 0;
	int status;

	for (u32 i = 0; i < ws->nr; i++) {
		if (!pid[i])
			continue;
		if (waitpid(pid[i], &status, WNOHANG) != pid[i]) {
			left++;
			continue;
		}
		pid[i] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			worker_died(ws, pid, i, status);
	}
	return left;
}

static void watch(struct search *s, struct workers *ws, pid_t *pid)
{
	const struct xsearch *how = s->how;
	u32 nap_us = 200;

	while (reap(ws, pid)) {
		if (how->stop && *how->stop) {
			atomic_store(&ws->over, 1);
			atomic_store(&ws->stop, 1);
		}
		usleep(nap_us);
		if (nap_us < 20000)
			nap_us += nap_us / 4;
		else if (how->progress)
			how->progress(how->progress_arg,
				      s->schedules + atomic_load(&ws->runs), s->bound);
	}
}

static enum search_end gather(struct search *s, struct workers *ws)
{
	s->runs += atomic_load(&ws->runs);
	s->schedules += atomic_load(&ws->schedules);
	s->cut |= atomic_load(&ws->cut) != 0;
	if (ws->found) {
		s->result = ws->result;
		s->choices.n = 0;
		for (u32 i = 0; i < ws->nr_choices; i++)
			choices_add(&s->choices, ws->choice[i]);
		return SEARCH_FOUND;
	}
	return atomic_load(&ws->over) || s->how->strategy != XSTRATEGY_SYSTEMATIC ?
		SEARCH_OVER : SEARCH_DONE;
}

static pid_t start_worker(struct search *s, struct workers *ws, u32 i,
			  enum search_end (*round)(struct search *))
{
	struct search mine = *s;
	pid_t pid = fork();

	if (pid)
		return pid;
	mine.workers = ws;
	mine.worker = i;
	mine.schedules = 0;
	mine.choices = (struct xchoices){ 0 };
	worker_main(&mine, round);
	return 0;
}

static struct workers *workers_map(struct search *s, size_t *size)
{
	u32 nr = s->how->workers < MAX_WORKERS ? s->how->workers : MAX_WORKERS;
	struct workers *ws;

	*size = sizeof(*ws) + nr * sizeof(ws->box[0]);
	ws = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ws == MAP_FAILED)
		return NULL;
	ws->nr = nr;
	ws->deadline_ns = s->deadline_ns;
	ws->max_runs = s->how->max_schedules;
	ws->found_seed = ~0ULL;
	ws->runs = s->runs;
	return ws;
}

enum search_end workers_run(struct search *s, enum search_end (*round)(struct search *))
{
	pid_t pid[MAX_WORKERS] = { 0 };
	enum search_end end;
	struct workers *ws;
	size_t size;

	ws = workers_map(s, &size);
	if (!ws)
		return round(s);
	fflush(NULL);
	for (u32 i = 0; i < ws->nr; i++) {
		pid[i] = start_worker(s, ws, i, round);
		if (pid[i] > 0)
			continue;
		/* Without a process there is no worker: those that there are suffice. */
		pid[i] = 0;
		if (i == 0) {
			munmap(ws, size);
			return round(s);
		}
		atomic_fetch_add(&ws->idle, 1);
	}
	watch(s, ws, pid);
	s->runs = 0;
	end = gather(s, ws);
	munmap(ws, size);
	return end;
}
