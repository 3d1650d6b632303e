/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A world for workloads that records what they do: threads are coroutines that
 * give way at every operation, in turn, so a run is the same each time; system
 * calls do nothing but can be told to fail.
 */
#ifndef TESTS_WORKLOAD_FAKE_WORLD_H
#define TESTS_WORKLOAD_FAKE_WORLD_H

#include <ucontext.h>

#include "workload/workload.h"

#define FAKE_THREADS 8
#define FAKE_LOG 4096

enum fake_call {
	FAKE_MMAP, FAKE_MUNMAP, FAKE_MADVISE, FAKE_STORE, FAKE_CHASE, FAKE_COPY,
	FAKE_CREATE, FAKE_JOIN, FAKE_OPEN, FAKE_CLOSE, FAKE_END,
	FAKE_SHMGET, FAKE_SHMAT, FAKE_SHMDT, FAKE_RMID,
	FAKE_MREMAP, FAKE_NUMA_HINT, FAKE_MPROTECT,
};

struct fake_event {
	enum fake_call call;
	u32 thread;		/* 0: the main one */
	u64 addr, len;
};

struct fake_thread {
	ucontext_t ctx;
	void (*fn)(struct wl *w, void *arg);
	void *arg;
	bool done;
	char *stack;
};

struct fake_world {
	struct wl w;
	struct fake_thread thread[FAKE_THREADS];
	u32 nr_threads, now;
	ucontext_t scheduler;
	struct fake_event log[FAKE_LOG];
	u32 n;
	u64 next_addr;
	void *mem[64];
	u32 nr_mem;
	/* What shall go wrong; 0: nothing. Counted from 1. */
	u32 fail_mmap, fail_create, stop_after_mmap;
	u32 fail_shmat, stop_after_shmat;
	u32 slow;	/* thread that moves only every 16th round; 0: none */
	u32 mmaps, creates, shmats;
	u64 time;
	bool stopping;
};

/* Runs to the end; false when nobody can move any more. */
bool fake_run(struct fake_world *f, const struct workload *workload, u32 threads,
	      const u64 *param);
void fake_free(struct fake_world *f);

#endif
