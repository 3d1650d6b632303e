/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random memory operations on a core, beside a model of what they mean.
 *
 * Three processes at most (a parent of two threads, and children that it forks), each
 * with its agents: threads on CPUs of their own that do what the driver tells them. The
 * model knows of each page of a window whether it is mapped, with what rights, and
 * which contents it has (a number, new with each store). After each operation the page
 * tables are walked, and everything that must hold of them is looked at: check().
 *
 * Nothing is known here of how the core goes about it: huge pages, copies, moves of tables.
 */
#ifndef TESTS_CORE_MM_MODEL_H
#define TESTS_CORE_MM_MODEL_H

#include "tlbflush_world.h"

#include "bench/lab.h"
#include "cli/core.h"
#include "cli/knobs.h"
#include "machine/machine.h"
#include "mm/huge_mm.h"
#include "mm/swap.h"
#include "mm/swapops.h"

#define SPANS 4			/* of 2 MiB */
#define MODEL_BASE (1UL << 40)
#define MAX_PAGES (SPANS * 512)
#define MAX_PROCS 3
#define MAX_FRAMES (1U << 17)

enum agent_op {
	OP_STORE, OP_LOAD, OP_MUNMAP, OP_MMAP, OP_DONTNEED, OP_HUGEPAGE, OP_NOHUGEPAGE,
	OP_MPROTECT, OP_MREMAP, OP_COLLAPSE, OP_GUP, OP_GUP_WRITE, OP_FORCE, OP_DROP, OP_FORK, OP_EXIT, OP_PAGEOUT, OP_RECLAIM,
	OP_MIGRATE, OP_MSYNC, OP_REMOVE, NR_OPS,
};

/* What an agent is to do; it answers by clearing busy. */
struct agent {
	u32 busy __attribute__((aligned(64)));	/* shared word */
	u32 op;
	u64 addr, len, arg;
	s64 ret;
	struct model *model;
	struct agent *child;	/* OP_FORK: who will drive the child */
	struct mm_struct *mm;
	u32 cpu;
};

struct model_page {
	bool mapped, huge;
	u8 prot;
	u32 contents;	/* 0: zeroes, or nothing there */
};

struct proc {
	bool alive;
	struct agent *agent;
	struct model_page page[MAX_PAGES];
};

struct model {
	const char *arch, *machine;
	struct machine *m;
	struct proc proc[MAX_PROCS];
	struct agent agent[MAX_PROCS + 1];	/* the last: a second thread of process 0 */
	u32 nr_pages;				/* of the window */
	u64 rng;				/* test_random()'s */
	bool counts_only;		/* nobody knows what the pages should be */
	bool shared;			/* storm: the window begins as one shared mapping */
	u32 running __attribute__((aligned(64))); /* shared word: model_storm()'s threads */
	u32 next_contents;
	u32 steps;
	/* Found by the walk: entries that map a frame, and whose. */
	u16 entries[MAX_FRAMES];
	u8 owners[MAX_FRAMES];
	u32 contents[MAX_FRAMES];
	u16 slot_entries[MAX_FRAMES];		/* swap entries that name a slot */
	u32 slot_contents[MAX_FRAMES];
	char failed[256];			/* the first rule that did not hold */
	u64 frames_before, frames_after, objects_before, objects_after;
	struct core_stat stats[NR_CORE_STATS];
};

/* steps random operations; what is wrong is in m->failed. */
void model_run(struct model *m, const char *machine, u64 seed, u32 steps,
	       const struct knob_setting *knobs, u32 nr_knobs);
/*
 * The same operations by six threads at once, on the same addresses, with forks; no model
 * can say what comes of it, but counts must be right when all is quiet. shared: the window
 * is a file at first, which is written back and has holes punched into it, too.
 */
void model_storm(struct model *m, const char *machine, u64 seed, u32 steps, bool shared,
		 const struct knob_setting *knobs, u32 nr_knobs);
u64 model_stat(const struct model *m, const char *name);
/* Walks the tables; false and m->failed if a rule is broken. */
bool model_check(struct model *m);

#define model_fail(m, ...)                                                      \
	((m)->failed[0] ? false :                                               \
	 (snprintf((m)->failed, sizeof((m)->failed), __VA_ARGS__), false))

#endif
