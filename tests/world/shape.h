/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small shapes without a core: threads over words x, y, z and page tables made by
 * hand, run through every choice. What came out of each execution is collected.
 *
 * Threads are functions of no argument; they keep results in v->r[], which
 * become one number: r[0] the lowest decimal digit. Contents are below 10.
 */
#ifndef TESTS_WORLD_SHAPE_H
#define TESTS_WORLD_SHAPE_H

#include "dfs.h"

#define SHAPE_RS 4

/* Plain, each written by one thread. */
struct shape_vars {
	u64 r[SHAPE_RS];
	u64 pgd, pud, pmd, pte, pte2, old, new;	/* frames */
	u64 prtb;		/* POWER: the process table's */
	u32 counter;
	struct mach_lock a, b;
	struct rcu_head rcu;
};

struct shape {
	enum xarch arch;
	bool in_order;		/* stores do not overtake */
	bool tables;		/* VA maps frame old, through pgd ... pte */
	/* Its entry as hardware updates find it (arm64: hafdbs): writable and clean; not accessed. */
	bool clean, not_accessed;
	bool last_words;	/* the outcome is what x and y are at the end */
	u32 bound;		/* preemptions; 0: any */
	void (*thread[XMAX_THREADS])(void);
};

/* Valid on the machine's stacks, in thread functions. */
extern struct shape_vars *v;
extern u64 *shape_x, *shape_y, *shape_z;
extern enum xarch shape_arch;

#define SHAPE_VA 0x40201000ULL

/* Outcomes seen; violation: the first rule that broke. Returns executions. */
struct seen {
	u32 n;
	u32 out[64];
	u64 runs;
	enum xrule rule;
	char detail[XDETAIL_MAX];
};

struct xworld *shape_world(const struct shape *s);
void shape_run(const struct shape *s, struct seen *seen);
bool shape_saw(const struct seen *seen, u32 out);
u64 *shape_entry(u64 frame, u32 index);
u64 shape_table_entry(u64 frame);
u64 shape_page_entry(u64 frame, bool write);
/* POWER: in the process table. PIDs 1, which is loaded, and 2 have v->pgd. */
void shape_set_root(u32 pid, u64 root);
/* Has hardware, or who made it, set these in an entry? */
bool shape_dirty(u64 entry);
bool shape_accessed(u64 entry);
u64 shape_mkold(u64 entry);
/* A user load: the value, or 9 for a fault. */
u64 shape_load(u64 va);

#endif
