/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle: which rule is checked when.
 *
 * STALE-READ, STALE-WRITE
 *	at each user access: the frame that the translation leads to was freed
 *	  since its entry was written; or a promise of that address space covers
 *	  the entry (below);
 *	when a buffered user store becomes visible: its frame was freed meanwhile;
 *	at each free of a frame: some CPU is in user mode now and may use a
 *	  translation to it. CPUs in kernel mode, lazy ones included, are not
 *	  looked at then: Linux may owe them the flush until they return to user
 *	  mode, and if it does not come, the access itself is caught;
 *	at each xpromise_unmapped(): the same, for what the promise covers;
 *	at each access by another CPU to a page whose first contents are not visible yet
 *	  (frames.c): it reads what somebody else had there, or its store is lost.
 * WRONG-PERM
 *	the same points but frees, for writes and xpromise_readonly().
 *
 *	A promise covers an entry that was there before the operation began that
 *	made it (xop_begin()), and was overwritten before the promise. An
 *	entry that another thread made meanwhile is not covered, nor one that is in the
 *	table still. Under weak memory an access of another CPU breaks it only
 *	if it must come after it (its view is later than the promise).
 *
 * WALK-FREED
 *	at each free of a table, and at each load of a root: a CPU whose walker may
 *	  use an entry that leads to a freed table, under the root that it
 *	  has loaded (kernel mode and idle included: walks are speculative);
 *	at each user access that would be translated so;
 *	at each walk of a user access, and each access by another CPU's kernel, in a table
 *	  whose first contents are not visible yet (frames.c);
 *	at each access by the kernel to a shared word in a free frame.
 * WRONG-CONTEXT
 *	at each user access: the translation belongs to another root than the
 *	  one that is loaded (its ASID was given away unflushed).
 * CONFLICT (arm64, POWER)
 *	at each user access: two translations of the address that it could use now
 *	  lead to different frames or have different sizes.
 * LOST-WRITE
 *	when all threads have ended, before final: a store of user mode went to a frame
 *	  after a copy of that frame had read the word (or by weak memory had read an
 *	  older value), and the copy is what is mapped at the store's address now.
 *	  The first XMAX_KEPT stores and XMAX_COPIES copies of an execution.
 * LOST-DIRTY
 *	at each visible write of an entry by the kernel: hardware has set D in it since this
 *	  CPU last read it (a locked operation reads what it replaces), and
 *	  what is written does not have D. What becomes of a D that was read is
 *	  the core's affair, in words that mean nothing to the machine (PG_dirty): who
 *	  cleans a page while stale translations may write to it is a model's
 *	  assertion (models/shared-dirty.c).
 * UNLOCKED (scenarios only)
 *	at each store and read-modify-write of an entry by the kernel: a lockset as
 *	  Eraser has it: once a second CPU writes an entry, one spinlock must be common to
 *	  all writes of it. Entries of the lowest level and leaves, in tables that
 *	  are reachable, counted anew when a table is hooked in. Fields of __guarded_by()
 *	  are plain C, which no machine sees: there the core asserts that it holds the
 *	  lock (lockdep_assert_held(), BUG).
 * BUG
 *	mach_bug();
 *	at each free with MACH_FREE_ZEROED: a word is not zero;
 *	at each access by the kernel to a shared word, or a lock, of an object that it has
 *	  freed (the first XMAX_KFREED of an execution), and when another CPU's
 *	  buffered store to one becomes visible. The freeing CPU's own may: what the
 *	  object is next comes after it.
 * LEAK, DOUBLE-FREE
 *	after final, if asked for, of frames and of objects; at each free, of frames. A CPU
 *	  that is lazy keeps the root that it has loaded, and one object, the mm.
 * DEADLOCK
 *	no agent can move and a thread has not ended; also at block() and at
 *	  awaited IPIs: a spinlock is held, or interrupts are off.
 * LIVELOCK
 *	the step limit was reached.
 *
 * Values are carried through frames, so that programs' own assertions see them, too.
 */
#ifndef TLBLAB_EXPLORE_ORACLE_H
#define TLBLAB_EXPLORE_ORACLE_H

struct xworld;
struct xthr;
struct xword;
struct xstore;
struct xcopy;
struct xpath;

/* Ends the execution. Does not return on a thread's stack. */
void xviolate(struct xworld *w, enum xrule rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/*
 * An access of cpu goes through path to frame. ev: its view (weak), else now.
 * Returns false after a violation.
 */
bool xoracle_access(struct xworld *w, u32 cpu, const struct xpath *path, u32 frame,
		    u64 va, bool write, u32 ev);
/* A block of frames is about to be freed (gen already counted up, the same for all). */
void xoracle_free(struct xworld *w, u32 cpu, u32 frame, u32 order, bool table);
/* cpu has loaded a root. */
void xoracle_root(struct xworld *w, u32 cpu);
void xoracle_promise(struct xworld *w, u32 promise);

/* ---- oracle_data.c ---- */

/* A store of user mode became visible, at ts. */
void xoracle_user_store(struct xworld *w, const struct xstore *st, u32 cpu, u32 ts);
/* A copy of a frame begins (NULL: too many), and has read a word. */
struct xcopy *xoracle_copy_begins(struct xworld *w, u32 to, u32 from);
void xoracle_copied(struct xworld *w, struct xcopy *c, u32 off, u64 val);
void xoracle_lost_writes(struct xworld *w);
/* An entry is about to be overwritten, visibly. hardware: not by the kernel. */
void xoracle_entry(struct xworld *w, struct xword *word, u32 cpu, u64 val, bool hardware);
/* The kernel on cpu has read an entry. */
void xoracle_saw(struct xworld *w, u32 cpu, u32 off, u64 val);
/* The kernel touches a word of its heap, and objects have been freed. drain: it did before. */
void xoracle_heap(struct xworld *w, u32 cpu, u32 off, bool write, bool drain);
/* t takes or drops a lock; the kernel stores to the word, or will. */
void xoracle_held(struct xthr *t, u32 lock, bool take);
void xoracle_lockset(struct xworld *w, struct xthr *t, u32 off);
/* cpu, or its walker, reads or writes in a frame that is in use. */
void xoracle_first_contents(struct xworld *w, u32 cpu, u32 frame, bool write, bool walker);

void xoracle_deadlock(struct xworld *w);
void xoracle_leaks(struct xworld *w);

#endif
