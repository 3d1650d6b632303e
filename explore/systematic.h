/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The systematic search's path and what partial-order reduction knows of it.
 * Private to search_systematic.c (the search) and dpor.c (the reduction).
 *
 * The path is an array of nodes, one per question of the world: a pick (who
 * moves) or a choose (a value). Node k of the next execution is answered as
 * before as long as k < len; from there on the defaults are taken and new nodes
 * are made.
 *
 * The reduction keeps, for the steps of the path: which agent touched which object
 * last (a table, so that finding races costs per object and agent, and not per
 * earlier step), and a vector clock per step. When the path is shortened, a
 * journal takes back what the dropped steps had written there.
 *
 * Steps are named by node number + 1, so that 0 is "none".
 */
#ifndef TLBLAB_EXPLORE_SYSTEMATIC_H
#define TLBLAB_EXPLORE_SYSTEMATIC_H

#include "explore/search.h"

#define NO_AGENT 0xff
#define AGENT(a) (1ULL << (a))
/* A bound that no execution reaches. */
#define UNBOUNDED(bound) ((bound) == XBOUND_NONE)

struct node {
	u64 enabled;		/* agents that could move */
	u64 backtrack;		/* agents to be tried here */
	u64 done;		/* tried, or taken by another worker */
	u64 sleep;		/* what they lead to has been seen elsewhere */
	u64 woke;		/* agents that the step enabled */
	u64 path;		/* hash of all values before this node */
	u32 cost;		/* preemptions before this node */
	u32 block;		/* step at which the running thread was switched to */
	u32 step_before;	/* the same agent's */
	u32 journal_made;	/* height of the journal before this node was made, */
	u32 journal_moved;	/* and before its step */
	u16 value;		/* agent of a pick, value of a choose */
	u16 n;			/* values of a choose; 0: a pick */
	u16 index;		/* of the agent in enabled[] */
	u8 last;		/* thread that moved last, or NO_AGENT */
	bool yielded;		/* it had to wait after that: leaving it is free */
	bool all;		/* the step touches everything */
	u8 nr_obj;
	/* Footprint of the step, and who of the same agent was there before. */
	struct touched {
		struct object *obj;
		bool write;
		u32 any_before, write_before;
	} touched[XFOOTPRINT_MAX];
};

/* Last steps that touched an object, by agent. */
struct object {
	u32 key;		/* class and id */
	u64 agents, writers;	/* that ever did, in any execution */
	u32 any[XAGENT_MAX];
	u32 write[XAGENT_MAX];
};

struct journal_entry {
	u32 *where;
	u32 old;
};

struct systematic {
	struct search *s;
	u32 bound;
	bool reduce;

	struct node *node;
	u32 (*clock)[XAGENT_MAX];	/* by node; of picks */
	u32 len, size;		/* nodes of the path; room */
	u32 depth;		/* of the execution that is running */
	u32 rebuild;		/* nodes below came from another worker */
	u32 shared;		/* nodes below may be in another's path too */
	u32 last_pick;		/* step of the pick before, at depth */
	bool fresh;		/* the step of node len - 1 has changed */
	bool redundant;		/* the execution that is running was given up */

	u64 agents, threads, drains;	/* seen so far */
	/*
	 * Threads that an agent that is none has been seen to stop: those that its interrupt
	 * handler runs instead of. Such a step does not commute with theirs.
	 */
	u64 stops[XAGENT_MAX];
	u32 agent_step[XAGENT_MAX];	/* last step of each agent */
	u32 enabler[XAGENT_MAX];	/* step that enabled it */
	u32 all_step[XAGENT_MAX];	/* last that touched everything */
	u64 all_agents;			/* that ever did that */

	struct journal_entry *journal;
	u32 journal_len, journal_size;
	struct object **hash;	/* open addressing; a power of two */
	u32 nr_objects, hash_size;
};

static inline bool is_thread(const struct systematic *d, u32 agent)
{
	return d->threads & AGENT(agent);
}

/* Preemptions that choosing this agent at the node adds. */
static inline u32 pick_cost(const struct systematic *d, const struct node *nd, u32 agent)
{
	if (!is_thread(d, agent) || nd->last == NO_AGENT || nd->last == agent || nd->yielded)
		return 0;
	/* Not its own wait, but (an interrupt that waits, say) nothing else can move. */
	return (nd->enabled & (AGENT(nd->last) | ~d->threads)) != 0;
}

void journal_set(struct systematic *d, u32 *where, u32 value);
void journal_undo(struct systematic *d, u32 height);

/*
 * The step of pick node k has been decided: note what it touches and what
 * happened before it and, if races is set, add the backtracking points of
 * its races with earlier steps.
 */
void dpor_step(struct systematic *d, u32 k, const struct xstep *step, bool races);
/* Agents that sleep at the new node k, whose agents would do the given steps. */
u64 dpor_sleep(struct systematic *d, u32 k, const struct xstep *enabled, u32 n);
void dpor_free(struct systematic *d);

#endif
