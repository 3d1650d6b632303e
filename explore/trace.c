// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * States by their names, and what commutes. systematic.h tells how a state gets its name.
 *
 * Why it is sound: the world is deterministic, and footprints may be too large and never
 * too small. So steps that do not conflict commute, and the order of those that do is
 * in the hashes: a step's hash has those of the last conflicting steps. (With 64 bits,
 * two of a million states have the same name with a probability of 10^-7.) What each agent
 * would do next goes into the name too. It adds nothing if footprints are right, and
 * helps where a thread passes by something without a step (a fence with nothing buffered).
 *
 * Sleep sets (Godefroid, LNCS 1032) save what leads to a state that is known anyway: let
 * t have been tried at a node, and then a, independent of t. t need not be tried after a,
 * for t a and a t lead to the same state. With a bound on preemptions, t a may cost more than
 * a t. It does not
 *	among moves of one CPU, where no switch changes;
 *	if t is a move of the CPU (or handler) that runs: t is anchored. It sleeps through all
 *	  that others do, until something meets it. For in
 *		t's CPU | a b ... | t rest	and	t's CPU, t | a b ... | rest
 *	  there are as many switches, or one less, and they cost no more: leaving a CPU is
 *	  free only if it waits, and what waits for t meets it (wakes()).
 * In the same way t sleeps under a handler that interrupts its own CPU. So an interrupt
 * taken here is of interest only if it meets something before t is made.
 *
 * Interrupts sleep as a whole. An interrupt is tried first at a node, and what its handler
 * touches until its end (struct handler) is noted in all executions from there. Let H be
 * that; then t, which does not meet H, nor does anything in H wake what waits then. H need
 * not be tried after t, for H t costs no more than t H: going through a handler is
 * free, and it leaves alone who may be left for free. But the handler may also be left half way,
 * after h of H, for b:
 *	if t is another CPU's	t h b ...	is	h t b ...,	leaving the handler for t;
 *	if it is the CPU's own	t h b ...	is nothing else, for t cannot run within H.
 * So then it sleeps only if a preemption is more than the bound allows. It is awake again after a
 * step that meets H. That interrupts are turned off meets nothing: it goes on sleeping, and
 * when they are on again, could have come before. Nor does a step t that only looks, for a
 * rule, at what H changes (in a handler or not): it is itself seen here without H. But between
 * h and the rest of H it would see something else; so this counts as if the CPU had moved.
 * H is known only if all that begins at the node was gone through to the end of the handler: not
 * if the handler had to wait, came to a state that was visited, or broke a rule; nor if
 * part of it was given to another worker, or there is no room.
 *
 * Persistent sets (Godefroid). If nobody else ever touches what the next step of the CPU that
 * runs touches, then only that step is tried: whatever comes before it could come after
 * it, at no higher cost. In the same way, while no interrupt handler touches anything
 * that the steps of all CPUs touch, taking the interrupt can wait. Who touches
 * what is learnt (struct sharing), by all processes; if an object becomes shared
 * after all, the round is done again.
 */
#include "explore/systematic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the journal ---- */

static void set(struct trace *t, u64 *where, u64 value)
{
	if (t->journal_len == t->journal_size) {
		t->journal_size = t->journal_size ? 2 * t->journal_size : 4096;
		t->journal = realloc(t->journal, t->journal_size * sizeof(*t->journal));
		assert(t->journal);
	}
	t->journal[t->journal_len++] = (struct journal_entry){ where, *where };
	*where = value;
}

void journal_undo(struct trace *t, u32 height)
{
	assert(height <= t->journal_len);
	while (t->journal_len > height) {
		struct journal_entry *e = &t->journal[--t->journal_len];

		*e->where = e->old;
	}
}

/* ---- objects ---- */

struct object {
	u32 key;		/* class and id */
	u64 written;		/* hash of the last step that wrote it */
	u64 read;		/* sum of those that have read it since */
	struct sharing *sharing;
	/* What this process has told the others. */
	u64 readers, writers;
};

static u32 object_key(struct xobj obj)
{
	return (u32)obj.cls << 26 | obj.id;
}

static u32 object_hash(u32 key)
{
	return (u32)((key * 0x9e3779b97f4a7c15ULL) >> 32);
}

static void objects_grow(struct trace *t)
{
	u32 size = t->hash_size ? 2 * t->hash_size : 1024;
	struct object **hash = calloc(size, sizeof(*hash));

	assert(hash);
	for (u32 i = 0; i < t->hash_size; i++) {
		struct object *o = t->hash[i];
		u32 at;

		if (!o)
			continue;
		for (at = object_hash(o->key); hash[at & (size - 1)]; at++)
			;
		hash[at & (size - 1)] = o;
	}
	free(t->hash);
	t->hash = hash;
	t->hash_size = size;
}

static struct object *object_get(struct systematic *d, u32 key)
{
	struct trace *t = &d->trace;
	struct object *o;
	u32 at;

	if (2 * t->nr_objects >= t->hash_size)
		objects_grow(t);
	for (at = object_hash(key);; at++) {
		o = t->hash[at & (t->hash_size - 1)];
		if (!o)
			break;
		if (o->key == key)
			return o;
	}
	o = calloc(1, sizeof(*o));
	assert(o);
	o->key = key;
	o->sharing = sharing_get(d->shared, key);
	t->hash[at & (t->hash_size - 1)] = o;
	t->nr_objects++;
	return o;
}

void trace_free(struct systematic *d)
{
	struct trace *t = &d->trace;

	for (u32 k = 0; k < d->len; k++)
		trace_node_free(d, k);
	while (d->free_handlers) {
		struct handler *h = d->free_handlers;

		d->free_handlers = h->next;
		free(h);
	}
	for (u32 i = 0; i < t->hash_size; i++)
		free(t->hash[i]);
	free(t->hash);
	free(t->journal);
}

/* ---- histories ---- */

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ h >> 29;
}

static bool touches_all(const struct xstep *step)
{
	for (u32 i = 0; i < step->nr_obj; i++)
		if (step->obj[i].cls == XOBJ_ALL)
			return true;
	return false;
}

static const struct xobj order_of_writes = { .cls = XOBJ_ORDER, .write = 1 };

/* Others than the agents touch the object in a way that conflicts. */
static bool is_shared(const struct object *o, bool write, u64 agents)
{
	return !o->sharing ||
	       ((write ? o->sharing->agents : o->sharing->writers) & ~agents);
}

/*
 * Others can tell the step's place in the order of writes: they read what it writes, or
 * (a lock, an invalidation) learn by it what came before. A write that
 * others only overwrite may come as early as it can, of all words but its own.
 */
static bool orders(struct systematic *d, const struct xstep *step)
{
	u64 me = AGENT(xagent_id(step->agent_kind, step->agent_index));

	for (u32 i = 0; i < step->nr_obj && step->orders; i++) {
		const struct object *o = object_get(d, object_key(step->obj[i]));

		if (!step->obj[i].write)
			continue;
		if (step->obj[i].cls == XOBJ_WORD || step->obj[i].cls == XOBJ_WRITTEN ||
		    step->obj[i].cls == XOBJ_OWN) {
			if (!o->sharing || (o->sharing->readers & ~me))
				return true;
		} else if (is_shared(o, true, me)) {
			return true;
		}
	}
	return false;
}

static void touch(struct systematic *d, struct node *nd, const struct xstep *step)
{
	assert(step->nr_obj <= XFOOTPRINT_MAX);
	nd->all = touches_all(step);
	nd->nr_obj = nd->all ? 0 : (u8)step->nr_obj;
	for (u32 i = 0; i < nd->nr_obj; i++) {
		u32 key = object_key(step->obj[i]);

		nd->touched[i] = (struct touched){ object_get(d, key), key,
						   step->obj[i].write, step->obj[i].check };
	}
	nd->orders = !nd->all && orders(d, step);
	if (nd->orders)
		nd->touched[nd->nr_obj++] = (struct touched){
			object_get(d, object_key(order_of_writes)),
			object_key(order_of_writes), true, false
		};
}

static void tell_sharing(struct systematic *d, const struct node *nd)
{
	if (nd->all)
		sharing_add(d->shared, sharing_all(d->shared), nd->value, true);
	for (u32 i = 0; i < nd->nr_obj; i++) {
		struct object *o = nd->touched[i].obj;
		u64 me = AGENT(nd->value);

		u64 *told = nd->touched[i].write ? &o->writers : &o->readers;

		if (*told & me)
			continue;
		*told |= me;
		if (o->sharing)
			sharing_add(d->shared, o->sharing, nd->value, nd->touched[i].write);
	}
}

/* The agent does something, told apart by what, at all objects of its step. */
static void happen(struct systematic *d, const struct node *nd, u64 what)
{
	struct trace *t = &d->trace;
	u64 *agent = &t->agent[nd->value], h = mix(*agent, what);

	h = mix(h, t->all_written);
	if (nd->all)
		h = mix(h, t->all_read);
	for (u32 i = 0; i < nd->nr_obj; i++) {
		const struct object *o = nd->touched[i].obj;

		if (nd->touched[i].check)
			continue;
		h = mix(h, mix(nd->touched[i].key, o->written));
		if (nd->touched[i].write)
			h = mix(h, o->read);
	}
	for (u32 i = 0; i < nd->nr_obj; i++) {
		struct object *o = nd->touched[i].obj;

		if (nd->touched[i].check)
			continue;
		if (!nd->touched[i].write) {
			set(t, &o->read, o->read + mix(h, 1));
			continue;
		}
		set(t, &o->written, h);
		set(t, &o->read, 0);
	}
	set(t, &t->all_read, nd->all ? 0 : t->all_read + mix(h, 2));
	if (nd->all)
		set(t, &t->all_written, h);
	set(t, &t->sum, t->sum - mix(*agent, nd->value) + mix(h, nd->value));
	set(t, agent, h);
}

void trace_step(struct systematic *d, struct node *nd, const struct xstep *step)
{
	touch(d, nd, step);
	tell_sharing(d, nd);
	happen(d, nd, 1);
}

void trace_value(struct systematic *d, const struct node *nd, u32 n, u32 value)
{
	happen(d, nd, (u64)n << 32 | value << 1);
}

/* ---- the state's name ---- */

static u64 step_hash(const struct xstep *step)
{
	u64 h = mix(xagent_id(step->agent_kind, step->agent_index), step->nr_obj);

	for (u32 i = 0; i < step->nr_obj; i++)
		h = mix(h, (u64)object_key(step->obj[i]) << 1 | step->obj[i].write);
	return h;
}

u64 trace_name(const struct systematic *d, const struct node *nd,
	       const struct xstep *enabled, u32 n)
{
	u64 h = d->trace.sum;

	for (u32 i = 0; i < n; i++)
		h = mix(h, step_hash(&enabled[i]));
	if (!UNBOUNDED(d->bound))
		h = mix(h, (u64)nd->in_handler << 16 | (u64)nd->last << 1 | nd->waits);
	return h + !h;
}

/* ---- sleep sets ---- */

/* The step of node `at` and t meet in an object. */
static bool meet(struct systematic *d, const struct node *at, const struct xstep *t)
{
	if (at->all || touches_all(t) || (at->orders && orders(d, t)))
		return true;
	for (u32 i = 0; i < at->nr_obj; i++)
		for (u32 j = 0; j < t->nr_obj; j++)
			if (at->touched[i].key == object_key(t->obj[j]) &&
			    (at->touched[i].write || t->obj[j].write))
				return true;
	return false;
}

static bool steps_meet(const struct xstep *a, const struct xstep *b)
{
	if (touches_all(a) || touches_all(b))
		return true;
	for (u32 i = 0; i < a->nr_obj; i++)
		for (u32 j = 0; j < b->nr_obj; j++)
			if (object_key(a->obj[i]) == object_key(b->obj[j]) &&
			    (a->obj[i].write || b->obj[j].write))
				return true;
	return false;
}

/*
 * A handler stops its CPU's thread; but the thread's step could come before it if the
 * interrupt can be taken after that as well. When it is not known what a handler does,
 * it meets all of its thread.
 */
static bool stops(const struct node *at, const struct xstep *t)
{
	u64 ready = at->ready & ~at->unready;

	if (at->cpu != t->cpu)
		return false;
	if (t->agent_kind == XAGENT_IRQ)
		return true;
	if (at->kind != XAGENT_IRQ)
		return false;
	return t->handler || t->agent_kind != XAGENT_THREAD ||
	       !(ready & AGENT(xagent_id(t->agent_kind, t->agent_index)));
}

/* What waits at this node could go on after t: then leaving it would not be free. */
static bool wakes(struct systematic *d, const struct node *nd, const struct node *at,
		  const struct xstep *t)
{
	struct xworld *w = d->s->world;
	const struct xprogram *p = xworld_program(w);
	struct xstep step;

	if (nd->waits) {
		/* A new thread needs no step of its own. */
		for (u32 i = 0; i < p->nr_threads; i++)
			if (p->thread[i].forked)
				return true;
		if (nd->last != t->cpu && xworld_parked(w, nd->last, false, &step) &&
		    steps_meet(&step, t))
			return true;
	}
	return nd->in_handler == NO_CPU && (at->handler || at->kind == XAGENT_IRQ) &&
	       xworld_parked(w, at->cpu, true, &step) && steps_meet(&step, t);
}

/* The next step of a sleeper; false: it is not known. */
static bool sleeper_step(struct systematic *d, u32 agent, const struct node *at,
			 const struct xstep *enabled, u32 n, struct xstep *step)
{
	u32 i = step_of_agent(enabled, n, agent);

	if (i < n) {
		*step = enabled[i];
		return true;
	}
	/* A handler may be on top of it. */
	for (u32 cpu = 0; cpu < xworld_program(d->s->world)->nr_cpus; cpu++)
		if ((cpu == at->cpu || agent != at->value) &&
		    xworld_parked(d->s->world, cpu, true, step) &&
		    xworld_parked(d->s->world, cpu, false, step) &&
		    xagent_id(step->agent_kind, step->agent_index) == agent)
			return true;
	return false;
}

void trace_sleep(struct systematic *d, u32 k, const struct xstep *enabled, u32 n)
{
	struct node *nd = &d->node[k], *at;
	u64 candidates, anchored;
	struct xstep t;

	if (!d->last_pick)
		return;
	at = &d->node[d->last_pick - 1];
	candidates = (at->sleep | at->done) & ~AGENT(at->value);
	anchored = UNBOUNDED(d->bound) ? ~0ULL : at->anchored | (at->done & at->own);
	for (; candidates; candidates &= candidates - 1) {
		u32 agent = (u32)__builtin_ctzll(candidates);
		u64 bit = AGENT(agent);

		if (!sleeper_step(d, agent, at, enabled, n, &t) || stops(at, &t) ||
		    meet(d, at, &t))
			continue;
		if ((anchored & bit) && (UNBOUNDED(d->bound) || !wakes(d, nd, at, &t)))
			nd->anchored |= bit;
		else if (!(nd->enabled & bit) || t.cpu != at->cpu || t.handler != at->handler)
			continue;
		nd->sleep |= bit;
		nd->ready |= at->ready & ~at->unready & bit;
	}
}

/* ---- interrupts that sleep ---- */

static u64 filter_bit(u32 key)
{
	return 1ULL << (object_hash(key) & 63);
}

static struct handler *handler_new(struct systematic *d)
{
	struct handler *h = d->free_handlers;

	if (h)
		d->free_handlers = h->next;
	else
		h = malloc(sizeof(*h));
	assert(h);
	h->filter = 0;
	h->n = 0;
	h->complete = true;
	return h;
}

void trace_node_free(struct systematic *d, u32 k)
{
	for (u32 cpu = 0; cpu < XMAX_CPUS; cpu++) {
		struct handler *h = d->node[k].handlers[cpu];

		if (!h)
			continue;
		h->next = d->free_handlers;
		d->free_handlers = h;
		d->node[k].handlers[cpu] = NULL;
	}
}

static void handler_add(struct handler *h, const struct touched *t)
{
	u64 bit = filter_bit(t->key);

	for (u32 i = 0; i < h->n && (h->filter & bit); i++)
		if (h->touched[i].key == t->key) {
			h->touched[i].write |= t->write;
			return;
		}
	if (h->n == HANDLER_MAX) {
		h->complete = false;
		return;
	}
	h->filter |= bit;
	h->touched[h->n++] = *t;
}

static bool handler_meets(const struct handler *h, u32 key, bool write)
{
	if (!(h->filter & filter_bit(key)))
		return false;
	for (u32 i = 0; i < h->n; i++)
		if (h->touched[i].key == key && (write || h->touched[i].write))
			return true;
	return false;
}

/* looks: the step only looks for a rule at what the handler writes. */
static bool handler_meets_node(const struct handler *h, const struct node *at, bool *looks)
{
	if (at->all)
		return true;
	for (u32 i = 0; i < at->nr_obj; i++) {
		const struct touched *t = &at->touched[i];

		if (!handler_meets(h, t->key, t->write))
			continue;
		if (t->write || !t->check)
			return true;
		*looks = true;
	}
	return false;
}

/* Nobody waits for these to change, but at a site that waits: an interrupt. */
static bool is_waited_for(const struct xstep *step, u32 cls)
{
	return cls != XOBJ_MODE && cls != XOBJ_RCU && cls != XOBJ_VIEWS &&
	       (cls != XOBJ_IRQ || step->site_kind != MACH_SITE_SCHED);
}

static bool handler_meets_waiter(const struct handler *h, const struct xstep *step)
{
	if (touches_all(step))
		return true;
	for (u32 i = 0; i < step->nr_obj; i++)
		if (is_waited_for(step, step->obj[i].cls) &&
		    handler_meets(h, object_key(step->obj[i]), step->obj[i].write))
			return true;
	return false;
}

void trace_handler(struct systematic *d, u32 k, const struct xstep *step)
{
	const struct xobj irqs_off = { .cls = XOBJ_MODE, .id = XMODE_IRQS + step->cpu };
	struct node *nd = &d->node[k];
	const struct node *at = d->last_pick ? &d->node[d->last_pick - 1] : NULL;
	struct handler *h;

	nd->chain = 0;
	if (UNBOUNDED(d->bound))
		return;
	if (step->agent_kind == XAGENT_IRQ && !step->handler) {
		if (!nd->handlers[step->cpu])
			nd->handlers[step->cpu] = handler_new(d);
		nd->chain = k + 1;
	} else if (at && at->chain && step->handler && step->cpu == at->cpu &&
		   nd->in_handler == at->cpu) {
		nd->chain = at->chain;
	}
	if (!nd->chain)
		return;
	h = d->node[nd->chain - 1].handlers[step->cpu];
	h->complete &= !nd->all;
	for (u32 i = 0; i < nd->nr_obj; i++)
		if (nd->touched[i].key != object_key(irqs_off))
			handler_add(h, &nd->touched[i]);
}

void trace_handler_cut(struct systematic *d, u32 k)
{
	const struct node *nd = &d->node[k];

	if (nd->n || !nd->chain)
		return;
	d->node[nd->chain - 1].handlers[nd->cpu]->complete = false;
}

void trace_handler_waits(struct systematic *d, u32 k)
{
	const struct node *nd = &d->node[k], *at;
	struct xstep step;

	if (!d->last_pick)
		return;
	at = &d->node[d->last_pick - 1];
	if (at->chain && nd->in_handler != at->cpu &&
	    xworld_parked(d->s->world, at->cpu, true, &step))
		trace_handler_cut(d, d->last_pick - 1);
}

/* What waits at this node could go on after the handler; as wakes(). */
static bool handler_wakes(struct systematic *d, const struct node *nd, const struct node *at,
			  const struct handler *h)
{
	struct xworld *w = d->s->world;
	const struct xprogram *p = xworld_program(w);
	struct xstep step;

	if (nd->waits) {
		for (u32 i = 0; i < p->nr_threads; i++)
			if (p->thread[i].forked)
				return true;
		if (xworld_parked(w, nd->last, false, &step) && handler_meets_waiter(h, &step))
			return true;
	}
	return nd->in_handler == NO_CPU && (at->handler || at->kind == XAGENT_IRQ) &&
	       xworld_parked(w, at->cpu, true, &step) && handler_meets_waiter(h, &step);
}

/* cpu's interrupt slept at the node before, or was tried there: does it sleep at node k? */
static bool irq_sleeps(struct systematic *d, u32 k, u32 at, u32 cpu)
{
	const struct node *prev = &d->node[at];
	struct node *nd = &d->node[k];
	const struct handler *h = prev->handlers[cpu];
	u8 bit = (u8)(1U << cpu);
	bool looks = false;

	if (prev->value == xagent_id(XAGENT_IRQ, cpu))
		return false;
	if (h && h->complete) {
		nd->irqs_since[cpu] = at;
	} else {
		if (!(prev->irqs_asleep & bit))
			return false;
		nd->irqs_since[cpu] = prev->irqs_since[cpu];
		nd->irqs_moved |= prev->irqs_moved & bit;
		h = d->node[prev->irqs_since[cpu]].handlers[cpu];
	}
	if (handler_meets_node(h, prev, &looks) || handler_wakes(d, nd, prev, h))
		return false;
	if (prev->cpu == cpu || looks)
		nd->irqs_moved |= bit;
	return true;
}

void trace_sleep_irqs(struct systematic *d, u32 k, const struct xstep *enabled, u32 n)
{
	struct node *nd = &d->node[k];

	if (!d->last_pick || UNBOUNDED(d->bound))
		return;
	for (u32 cpu = 0; cpu < xworld_program(d->s->world)->nr_cpus; cpu++) {
		u32 agent = xagent_id(XAGENT_IRQ, cpu), i;

		if (!irq_sleeps(d, k, d->last_pick - 1, cpu))
			continue;
		nd->irqs_asleep |= (u8)(1U << cpu);
		if ((nd->irqs_moved & 1U << cpu) && nd->cost < d->bound)
			continue;
		nd->sleep |= AGENT(agent);
		i = step_of_agent(enabled, n, agent);
		if (i < n && (nd->irqs_moved & 1U << cpu))
			d->s->cut = true;
	}
}

/* ---- steps that need no company ---- */

bool trace_private(struct systematic *d, const struct xstep *step, u64 agents)
{
	if (touches_all(step) || (sharing_all(d->shared)->agents & ~agents))
		return false;
	for (u32 i = 0; i < step->nr_obj; i++)
		if (is_shared(object_get(d, object_key(step->obj[i])), step->obj[i].write,
			      agents))
			return false;
	return !orders(d, step) ||
	       !is_shared(object_get(d, object_key(order_of_writes)), true, agents);
}
