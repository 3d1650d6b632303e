/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The systematic search's path, and what it knows of the state at its end.
 * Private to search_systematic.c (the search), trace.c (states by name, and what
 * commutes) and visited.c (what several processes share).
 *
 * The path is an array of nodes, one per question of the world: a pick (who
 * moves) or a choose (a value). Node k of the next execution is answered as
 * before as long as k < len; from there on the defaults are taken and new nodes
 * are made.
 *
 * A state's name. The world cannot be asked what state it is in: much of it is on the
 * stacks of C code. But the state is a function of what happened, up to the order
 * of steps that do not conflict. So each agent has a hash of its history: of
 * its steps, what they touch, the values chosen in them, and, for each object that
 * they touch, which step wrote it last (and, for a write, which have read it
 * since). The sum over all agents names the state: two paths with equal sums are the
 * same partial order of steps. When the path is shortened, a journal takes back what
 * the dropped steps had changed.
 */
#ifndef TLBLAB_EXPLORE_SYSTEMATIC_H
#define TLBLAB_EXPLORE_SYSTEMATIC_H

#include "explore/search.h"

#define NO_CPU XNO_CPU
#define AGENT(a) (1ULL << (a))
/* A bound that no execution reaches. */
#define UNBOUNDED(bound) ((bound) == XBOUND_NONE)

struct object;

/* An object of a step's footprint. */
struct touched {
	struct object *obj;
	u32 key;
	bool write;
	bool check;		/* struct xobj: not in names of states */
};

/*
 * What an interrupt's handler touches that was taken at a node and gone through to its end, in all
 * executions from there.
 */
#define HANDLER_MAX 128
struct handler {
	struct handler *next;	/* of those that are free */
	u64 filter;		/* bits of the objects' keys */
	u32 n;
	bool complete;		/* else it is not known whether that is all */
	struct touched touched[HANDLER_MAX];
};

struct node {
	u64 enabled;		/* agents that could move */
	u64 todo;		/* agents still to be tried here */
	u64 done;		/* tried, or given to another worker */
	u64 sleep;		/* what they lead to is seen elsewhere; some may be interrupted */
	u64 own;		/* of the CPU, or the handler, that runs: going on is free */
	u64 anchored;		/* asleep since a node where they were own; trace.c */
	u64 ready, unready;	/* tried: their CPU could take an interrupt then, or not */
	u32 cost;		/* preemptions, and failed allocations, before this node */
	/* Interrupts that sleep, by CPU, since which node; moved: but not if the handler is left */
	u8 irqs_asleep, irqs_moved;
	u32 irqs_since[XMAX_CPUS];
	u32 chain;		/* of the step: node + 1 whose interrupt's handler it belongs to,
				 * which went on undisturbed since; or 0 */
	struct handler *handlers[XMAX_CPUS];	/* of interrupts taken here */
	u32 journal_made;	/* height of the journal before this node was made, */
	u32 journal_moved;	/* and before its step */
	u16 value;		/* agent of a pick, value of a choose */
	u16 n;			/* values of a choose; 0: a pick */
	u16 end;		/* those below are this worker's to try */
	u8 last;		/* CPU whose thread moved last, or NO_CPU */
	bool waits;		/* it could not go on after that: leaving it is free */
	u8 in_handler;		/* CPU that moved last, in a handler that can go on, or NO_CPU */
	/* Of the step: */
	u8 cpu, kind;		/* kind of agent */
	bool handler;
	u8 step_cost;		/* preemptions; of a choose: an allocation that fails */
	bool all;		/* it touches everything */
	bool orders;		/* it takes a place in the order of writes that others see */
	u8 nr_obj;
	struct touched touched[XFOOTPRINT_MAX + 1];	/* and XOBJ_ORDER */
};

struct journal_entry {
	u64 *where;
	u64 old;
};

/* Histories; trace.c. */
struct trace {
	u64 agent[XAGENT_MAX];	/* hash of all that each agent did */
	u64 sum;
	/* Of steps that touch everything; all others count as its readers. */
	u64 all_written, all_read;
	struct journal_entry *journal;
	u32 journal_len, journal_size;
	struct object **hash;	/* open addressing; a power of two */
	u32 nr_objects, hash_size;
};

/* A state that the world keeps: it came to `depth`, after this pick. */
struct kept {
	u32 depth, last_pick;
};

struct systematic {
	struct search *s;
	u32 bound;
	bool reduce;
	struct xchooser chooser;
	struct kept kept[XMAX_KEPT_STATES];	/* growing depths, all of this path */
	u32 nr_kept;

	struct node *node;
	u32 len, size;		/* nodes of the path; room */
	u32 depth;		/* of the execution that is running */
	u32 rebuild;		/* nodes below came from another worker */
	u32 last_pick;		/* number + 1 of the pick before, at depth */
	bool fresh;		/* the step of node len - 1 has changed */

	struct handler *free_handlers;
	struct trace trace;
	struct shared *shared;	/* visited states, who touches what */
};

/* ---- trace.c ---- */

void journal_undo(struct trace *t, u32 height);
void trace_free(struct systematic *d);

/* The step of pick node nd happens: the agent's history, and the objects', go on. */
void trace_step(struct systematic *d, struct node *nd, const struct xstep *step);
/* In it, a value was chosen. */
void trace_value(struct systematic *d, const struct node *nd, u32 n, u32 value);
/* Name of the state at node nd, where these agents could make these steps. */
u64 trace_name(const struct systematic *d, const struct node *nd,
	       const struct xstep *enabled, u32 n);
/* Agents that sleep at the new node k; see trace.c. Asked in pick(). */
void trace_sleep(struct systematic *d, u32 k, const struct xstep *enabled, u32 n);
/* The interrupts among them; see trace.c. Asked after trace_sleep(). */
void trace_sleep_irqs(struct systematic *d, u32 k, const struct xstep *enabled, u32 n);
/* The step of pick node k happens: is it of a handler that goes on undisturbed? */
void trace_handler(struct systematic *d, u32 k, const struct xstep *step);
/* New node k comes after it: has the handler waited? */
void trace_handler_waits(struct systematic *d, u32 k);
/* Not all that the handler does, to which the step of node k belongs, is seen there. */
void trace_handler_cut(struct systematic *d, u32 k);
/* Node k is dropped. */
void trace_node_free(struct systematic *d, u32 k);
/* No agent but `agents` has ever touched what this step touches in a way that conflicts. */
bool trace_private(struct systematic *d, const struct xstep *step, u64 agents);

/* ---- visited.c ---- */

/*
 * Which agents touch an object, in any execution of this search. All processes
 * share the records; bits are only ever added.
 */
struct sharing {
	_Atomic u32 key;
	_Atomic u64 agents, writers, readers;
};

/* The record of an object; NULL when there is no more room: then nothing is known. */
struct sharing *sharing_get(struct shared *sh, u32 key);
/* Agent touches it. Notes whether two agents conflict in it that did not before. */
void sharing_add(struct shared *sh, struct sharing *s, u32 agent, bool write);
struct sharing *sharing_all(struct shared *sh);

/*
 * The state was reached with this cost and these agents asleep. Returns what is left
 * to be tried of it: all agents (~0) if it is new or was dearer before; those that slept
 * when it was visited and do not now; 0 if nothing is.
 */
u64 visit(struct shared *sh, u64 name, u32 cost, u64 sleep);

#endif
