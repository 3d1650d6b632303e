// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hardware updates of entries that are not made together with C code's access. (Litmus
 * tests have theirs in access.c.)
 *
 *	later	arm64 with hafdbs: AF and the dirty state may be written at any time after
 *		the access, until the CPU's next DSB of all. The CPU owes the update.
 *	before	A or AF set with no access, by a speculative walk (SDM vol. 3A 4.8 and 4.10.2.3;
 *		Arm ARM D8.5): of a valid leaf in the tables that a CPU has loaded, once
 *		per entry and execution.
 *
 * x86 sets D in the walk of the store, by a locked operation: never later. The dirty state is
 * never set but for a store. arm64 may set it before the store, even before earlier accesses
 * of the thread, as if promised (access.c has that). Here it is left out, and no rule could tell:
 *
 *  - before its data: a store waits in the buffer, so the kernel may find D set, clean the
 *    entry, and the data come after, as with any earlier update;
 *  - before an earlier load: only what that load gets could tell, by a kernel that stores it
 *    because it saw D;
 *  - and then a store that faults, for the kernel was faster: a D too many loses nothing.
 *
 * An update is no agent with steps of its own, and costs the search nothing where nobody
 * looks. Only the kernel's accesses to the entry can tell when it came; so it is there, just
 * before one of them, that it is asked:
 *
 *	a load (or an atomic that does not write): has each update come by now?
 *	a write: what is owed has come. The update is a compare and swap of what the access
 *	  was translated by, and so cannot come later: hardware would have walked again,
 *	  and that is another execution. Also: has A been set by now?
 *
 * Both answers are tried, at no preemption. For example, that a read and a store lose what
 * an atomic exchange keeps:
 *
 *	CPU 0: kernel				CPU 1: user
 *						store: the entry is clean; owed
 *	pte = READ_ONCE(*ptep): clean
 *						(the update)
 *	WRITE_ONCE(*ptep, 0): LOST-DIRTY
 *
 * So an update that is seen is as new as its reader, and loads that depend on it alone see no
 * less than the reader could. Walks by other CPUs need not ask: an entry not yet marked
 * is one to be marked for them as well, which comes to the same.
 */
#include "world.h"

static u32 owed_at(const struct xcpu *c, u32 off)
{
	u32 i;

	for (i = 0; i < c->nr_owed && c->owed[i].off != off; i++)
		;
	return i;
}

bool xupdate_owe(struct xworld *w, u32 cpu, u32 off, bool write)
{
	struct xcpu *c = &w->a->cpu[cpu];
	u32 i = owed_at(c, off);

	if (!w->owes || w->a->phase != XPHASE_RUN || i == XMAX_UPDATES)
		return false;
	/* For two accesses before either update, one does. */
	if (i == c->nr_owed)
		c->owed[c->nr_owed++] = (struct xowed){ .off = off };
	c->owed[i].write |= write;
	return true;
}

/* The i-th is made. The entry is as the access found it, but for others' updates. */
static void make(struct xworld *w, u32 cpu, u32 i)
{
	struct xcpu *c = &w->a->cpu[cpu];
	struct xowed u = c->owed[i];
	u64 old = xmem_read(w, u.off, 8), val = w->mmu->mark_used(w, old, u.write);
	char name[64];

	c->nr_owed--;
	memmove(&c->owed[i], &c->owed[i + 1], (c->nr_owed - i) * sizeof(u));
	if (val == old)
		return;
	xev(w, XAGENT_THREAD, c->cur, cpu, NULL,
	    "the walker marks %s used, late: 0x%llx -> 0x%llx",
	    xname_word(w, u.off, name), (unsigned long long)old, (unsigned long long)val);
	c->v.h = xmem_append(w, cpu, u.off, 8, val, NULL);
}

void xupdates_settle(struct xworld *w, u32 cpu)
{
	while (w->a->cpu[cpu].nr_owed)
		make(w, cpu, 0);
}

void xupdates_forget(struct xworld *w, u32 frame)
{
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++) {
		struct xcpu *c = &w->a->cpu[cpu];

		for (u32 i = 0; i < c->nr_owed;)
			if (xframe_of(w, c->owed[i].off) == frame)
				c->owed[i] = c->owed[--c->nr_owed];
			else
				i++;
	}
}

/* ---- with no access ---- */

struct find_leaf {
	u32 off;
	struct xpath path;
};

static bool is_leaf(struct xworld *w, const struct xpath *path, const struct xpte *p,
		    void *arg)
{
	struct find_leaf *f = arg;

	(void)w;
	if (path->hop[path->n - 1].off != f->off || p->kind != XPTE_LEAF || p->accessed ||
	    !p->usable || !xpath_current(path))
		return false;
	f->path = *path;
	return true;
}

/* Could the value be a leaf that was not accessed? Cheap, and right when it says no. */
static bool looks_old(const struct xworld *w, u64 val)
{
	struct xpte p;

	w->mmu->decode(w, val, 0, &p);
	if (p.kind == XPTE_NONE)
		w->mmu->decode(w, val, 1, &p);
	return p.kind == XPTE_LEAF && !p.accessed && p.usable && p.pa < w->memory_bytes &&
	       !w->a->frame[p.pa >> w->page_shift].table;
}

/* Hardware could set A in the word now, by way of f->path. */
static bool may_mark(struct xworld *w, u32 off, struct find_leaf *f)
{
	const struct xword *word;

	if (!w->marks || w->a->phase != XPHASE_RUN)
		return false;
	word = xword_find(w, off);
	if (!word || word->marked || !looks_old(w, w->a->msg[word->last].val))
		return false;
	f->off = off;
	for (u32 i = 0; i < w->nr_cpus; i++) {
		const struct xcpu *c = &w->a->cpu[i];

		if (c->loaded && xmmu_enumerate(w, c->root, c->root_gen, XVA_ANY, is_leaf, f))
			return true;
	}
	return false;
}

static void mark(struct xworld *w, u32 off)
{
	u64 val = xmem_read(w, off, 8);
	char name[64];

	xword_find(w, off)->marked = 1;
	xev(w, XAGENT_MACHINE, 0, 0, NULL, "%s is marked accessed, with no access",
	    xname_word(w, off, name));
	xmem_append(w, XCPU_NONE, off, 8, w->mmu->mark_used(w, val, false), NULL);
}

/* ---- when the kernel comes to the entry ---- */

static bool is_entry(const struct xworld *w, u32 off)
{
	u32 frame = xframe_of(w, off);

	return frame && w->a->frame[frame].table && (w->owes || w->marks);
}

void xupdates_before(struct xworld *w, u32 off, bool overwrite)
{
	struct find_leaf f;

	if (!is_entry(w, off))
		return;
	if (may_mark(w, off, &f) && xchoose(w, XCHOICE_UPDATE, 2))
		mark(w, off);
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++) {
		u32 i = owed_at(&w->a->cpu[cpu], off);

		if (i < w->a->cpu[cpu].nr_owed &&
		    (overwrite || xchoose(w, XCHOICE_UPDATE, 2)))
			make(w, cpu, i);
	}
}

/*
 * Where an update may come, a load may write; and if by a walk, it depends on the
 * way to the entry, and on who has its root loaded (XOBJ_TLB).
 */
void xupdates_footprint(struct xworld *w, u32 off, struct xstep *s)
{
	bool may = false;
	struct find_leaf f;

	if (!is_entry(w, off))
		return;
	for (u32 cpu = 0; cpu < w->nr_cpus; cpu++)
		may |= owed_at(&w->a->cpu[cpu], off) < w->a->cpu[cpu].nr_owed;
	if (may_mark(w, off, &f)) {
		may = true;
		for (u32 i = 0; i + 1 < f.path.n; i++)
			xstep_look(s, f.path.hop[i].off);
	}
	if (may)
		xmem_store_footprint(w, XNOBODY, off, s);
}
