/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exploration: the same seam (<tlblab/machine.h>) without a clock.
 *
 * Three parts, which meet here:
 *
 *  - a program (struct xprogram): what runs; made from a scenario file
 *    (scenario/), a C model (check.h) or a test;
 *  - a world (world.c and its kin): an exploring machine with that program
 *    booted in it. It runs one execution at a time, from the same start, and makes no
 *    choice itself: who moves next and which value is read is asked of
 *    a chooser. It checks the oracle's rules at every step;
 *  - a search (search.c and its kin): choosers that go through executions
 *    (systematic, each state once, up to a bound; PCT, random, replay),
 *    the minimiser, and the witness.
 *
 * An execution is its choices: reset, run again. All that an execution can change lies in
 * one arena at a fixed address and is reset by copy; so the same choices
 * give the same execution, in any process. A search that shares a beginning between
 * executions may have states kept, to go on from (keep.c).
 */
#ifndef TLBLAB_EXPLORE_EXPLORE_H
#define TLBLAB_EXPLORE_EXPLORE_H

#include <tlblab/machine.h>

/* ---- rules ---- */

#define XRULES(X)                                                               \
	X(NONE, "none")                                                         \
	X(STALE_READ, "STALE-READ")                                             \
	X(STALE_WRITE, "STALE-WRITE")                                           \
	X(WRONG_PERM, "WRONG-PERM")                                             \
	X(LOST_DIRTY, "LOST-DIRTY")                                             \
	X(LOST_WRITE, "LOST-WRITE")                                             \
	X(WALK_FREED, "WALK-FREED")                                             \
	X(WRONG_CONTEXT, "WRONG-CONTEXT")                                       \
	X(CONFLICT, "CONFLICT")                                                 \
	X(LEAK, "LEAK")                                                         \
	X(DOUBLE_FREE, "DOUBLE-FREE")                                           \
	X(UNLOCKED, "UNLOCKED")                                                 \
	X(DEADLOCK, "DEADLOCK")                                                 \
	X(LIVELOCK, "LIVELOCK")                                                 \
	X(ASSERT, "ASSERT")	/* the program's own assertion */               \
	X(BUG, "BUG")		/* the code under study called mach_bug() */

enum xrule {
#define X(id, name) XRULE_##id,
	XRULES(X)
#undef X
	XRULE_NR,
};

/* ---- programs ---- */

#define XMAX_CPUS 8
#define XMAX_THREADS 8
#define XMAX_OPS 64	/* of one thread */

enum xarch { XARCH_X86, XARCH_ARM64, XARCH_POWERPC };

/*
 * A thread's operations are numbered, so that the minimiser can drop some:
 * fn runs op i only if xop_begin(i) says so. Between operations the thread is
 * in user mode.
 */
struct xthread {
	const char *name;		/* "cpu0", "reclaim" */
	u32 cpu;
	u32 nr_ops;
	void (*fn)(void *arg);
	void *arg;			/* const during all executions */
	bool forked;			/* starts only by xfork() or xclone() */
};

/*
 * Memory that a program changes while it runs must be the world's (kalloc),
 * or it would not be reset. Initialised variables of a C model
 * (its .data and .bss) are made part of it: mem, reset by copy after init.
 */
struct xmem {
	void *start;
	size_t size;
};
#define XMAX_MEM 4

struct xprogram {
	const char *name;
	enum xarch arch;
	u32 nr_cpus;
	u32 nr_frames;			/* of memory; 0: a small default */
	u32 nr_nodes;			/* CPUs and frames in equal parts; 0: one */
	u32 nr_resched;			/* times that need_resched() may be true, of a thread */
	u32 page_shift;
	/* The core, or NULL for a model that uses the bare seam. */
	const struct core_module *core;
	const s64 *knobs;
	/* Hardware features by name, as in machine files: NULL-terminated pairs. */
	const char *const (*features)[2];
	/*
	 * Without a core: a user access at va could not be translated. As
	 * core_module.fault(); NULL: every fault is MACH_SIGSEGV.
	 */
	int (*fault)(u64 va, u32 flags);
	/* Runs alone, to its end, on CPU 0, before any thread. Once per world. */
	void (*init)(void *arg);
	/* Runs alone after all threads have ended: final checks. May be NULL. */
	void (*final)(void *arg);
	void *arg;
	u32 nr_threads;
	struct xthread thread[XMAX_THREADS];
	/* How an operation reads in a story: "munmap(A, 4K)". */
	const char *(*op_text)(void *arg, u32 thread, u32 op);
	bool check_leaks;		/* LEAK is checked after final */
	bool no_conflict;		/* CONFLICT is not checked (litmus tests) */
	const struct mach_site *skip;	/* xworld_skip_site() from boot on (mutation) */
	struct xmem mem[XMAX_MEM];
};

/* Called by a program's threads, on their stacks. */
bool xop_begin(u32 op);			/* false: skip this one */
void xop_end(u32 op);
void xassert_fail(const char *what) __attribute__((noreturn));
/*
 * Program thread i starts, in a copy of the caller's address space (core->sys.clone()
 * without CLONE_VM). Once in an execution; also init may. Returns its tid, or
 * a negative error number.
 */
s64 xfork(u32 thread);
/* The same in the caller's address space (CLONE_VM). */
s64 xclone(u32 thread);
/* The caller is preempted, if another thread waits for its CPU. */
void xyield(void);
/*
 * The operation promised that [start, end) of the current address space is
 * unreachable from now on (it returned from munmap or DONTNEED, say).
 */
void xpromise_unmapped(u64 start, u64 end);
void xpromise_readonly(u64 start, u64 end);
void xpromise_forget(u64 start, u64 end);
/* A value that is part of the terminal state, beside those that user loads got. */
void xresult_note(u64 value);

/* ---- agents and their next steps ---- */

enum xagent_kind {
	XAGENT_THREAD,		/* index: thread */
	XAGENT_DRAIN,		/* index: CPU * lanes + lane: its oldest buffered store there;
				 * one lane where stores do not overtake */
	XAGENT_IRQ,		/* index: CPU: take a pending interrupt, then each step of
				 * its handler; the CPU's thread cannot move meanwhile */
	XAGENT_MACHINE,		/* in stories only: what the machine does unasked */
};

/*
 * What a step may touch, for partial-order reduction. Two steps of different
 * agents are dependent iff their footprints meet in an object that at least one
 * of them writes. Objects are small numbers, equal in every execution of a
 * program; XOBJ_ALL meets everything: words and locks by arena offset, and the pseudo-objects
 * below. A footprint may be too large, never too small.
 */
enum xobj_class {
	XOBJ_WORD,	/* id: offset of the word in the arena / 8, as one CPU's loads see
			 * it (its number above, XOBJ_WORD_CPU): its own stores do
			 * not change what it reads by becoming visible */
	XOBJ_LOCK,	/* id: offset of the lock / 8 */
	XOBJ_THREAD,	/* id: thread: block and wake */
	XOBJ_IRQ,	/* id: CPU: its pending interrupts */
	XOBJ_TLB,	/* id: CPU: what it may hold (x86, local forms) */
	XOBJ_BCAST,	/* id 0: broadcast invalidations and their completion */
	XOBJ_FRAME,	/* id: frame: its contents, being free or not; with XOBJ_FRAME_LIFE,
			 * of tables: only the latter; XOBJ_FRAME_CLEAR + CPU: whether the first
			 * contents of what it has allocated are visible */
	XOBJ_ALLOC,	/* id 0: allocator */
	XOBJ_RCU,	/* id: CPU: its thread's critical sections; XOBJ_RCU_HANDLER + CPU: those
			 * that its handlers are; XOBJ_RCU_CALLBACK | offset / 8: a callback */
	XOBJ_MODE,	/* id: CPU, and one of XMODE_*: user or kernel mode; in a handler;
			 * interrupts off. What a rule looks at or a step needs to be possible:
			 * in both orders that are possible, the state is the same after */
	XOBJ_VIEWS,	/* id: CPU, on weak machines: views of its thread, which handlers of
			 * IPIs change */
	XOBJ_OWN,	/* id: as XOBJ_WORD, or a lock: stores of a CPU's thread, for that CPU's
			 * handlers */
	XOBJ_WRITTEN,	/* id: offset / 8: the visible value; all writes, and walks */
	XOBJ_HEAP,	/* id: object of kalloc(), by 64 bytes of the heap: its life */
	XOBJ_ORDER,	/* the order of all writes (xstep.orders) */
	XOBJ_ALL,	/* meets every object of every other step; write is set */
};

#define XOBJ_FRAME_LIFE	(1U << 16)
#define XOBJ_FRAME_CLEAR (1U << 17)
#define XOBJ_RCU_HANDLER 64
#define XOBJ_RCU_CALLBACK (1U << 25)
#define XMODE_USER	0
#define XMODE_HANDLER	64
#define XMODE_IRQS	128
#define XOBJ_WORD_CPU	24	/* shift; CPUs above the fourth share */

/*
 * check: only what a rule looks at depends on it, and not the state that is reached (all of
 * XOBJ_MODE is so).
 */
struct xobj {
	u32 cls : 4;
	u32 write : 1;
	u32 check : 1;
	u32 id : 26;
};

#define XFOOTPRINT_MAX 24
#define XNO_CPU 0xff

struct xstep {
	u16 agent_kind, agent_index;
	u16 site_kind;			/* enum mach_site_kind */
	u8 cpu;				/* it belongs to; XNO_CPU: to none */
	u8 handler;			/* of an interrupt handler that is under way */
	/*
	 * Weak memory puts all writes in one order, and views are places in it: so the
	 * order of two writes to different words can matter to a third CPU that sees one
	 * of them. The step takes a place in that order. What others never touch can be
	 * anywhere.
	 */
	u8 orders;
	u8 nr_obj;
	const struct mach_site *site;
	struct xobj obj[XFOOTPRINT_MAX];
};

/* Number of an agent, the same in every execution: below XAGENT_MAX. */
#define XAGENT_MAX 64
u32 xagent_id(u32 kind, u32 index);

/* ---- choosers ---- */

enum xchoice_kind {
	XCHOICE_MESSAGE,	/* which write a load reads; 0 = the newest */
	XCHOICE_TRANSLATION,	/* which entry a TLB gives; 0 = the current table */
	XCHOICE_ALLOC,		/* 0 = it works, 1 = it fails */
	XCHOICE_UPDATE,		/* 1 = hardware has marked the entry used by now */
	XCHOICE_RESCHED,	/* 1 = the thread is to be preempted */
	XCHOICE_NR,
};

#define XPICK_STOP (~0U)	/* give this execution up (it is redundant) */

#define XREPEAT_ASK (~0U)

/*
 * repeat (may be NULL): the agent that moves next, by its id, if that is known and can
 * move; else XREPEAT_ASK, and pick is asked. pick: which of the n enabled agents moves; called before every step, so that a search
 * sees them all, also when n is 1; enabled[] is sorted by agent id
 * and holds what each would do, but for its objects and site if the chooser is bare, and does
 * not want them. running is the index of the
 * thread or handler that can move on the CPU that moved last (drains and grace periods
 * in between do not count), or n when there is none (then switching is no preemption). choose: one of n
 * values. keep (may be NULL): asked before that, whether the state is to be kept,
 * xworld_resume(). Called on any stack of the world (of MACH_STACK_SIZE): keep frames
 * below 64 KiB, and do not leave by longjmp().
 */
struct xchooser {
	u32 (*pick)(void *ctx, const struct xstep *enabled, u32 n, u32 running);
	u32 (*choose)(void *ctx, enum xchoice_kind kind, u32 n);
	void *ctx;
	u32 (*repeat)(void *ctx);
	bool (*keep)(void *ctx);
	bool bare;
};

/* ---- the world ---- */

enum xoutcome { XOUT_PASS, XOUT_VIOLATION, XOUT_STOPPED };

#define XDETAIL_MAX 400

struct xresult {
	enum xoutcome outcome;
	enum xrule rule;
	char detail[XDETAIL_MAX];	/* what was broken, in words */
	u32 steps;
	u64 state_hash;			/* of the terminal state, if it passed:
					 * contents of shared words and results;
					 * independent of addresses of messages */
};

/* A line of the story; kept only when asked for. */
struct xevent {
	u32 step;
	u16 agent_kind, agent_index;
	u32 cpu;
	const struct mach_site *site;	/* NULL for the machine's own steps */
	char text[160];
};

struct xworld;

/* One line in *error, and NULL, when the program cannot be set up. */
struct xworld *xworld_create(const struct xprogram *program,
			     char *error, size_t error_size);
void xworld_destroy(struct xworld *w);
/* As given to xworld_create(). */
const struct xprogram *xworld_program(const struct xworld *w);

/* Operations to leave out: bit op of mask[thread]. Sites to leave out: NULL-terminated. */
void xworld_drop_ops(struct xworld *w, const u64 mask[XMAX_THREADS]);
void xworld_skip_site(struct xworld *w, const struct mach_site *site);
/* Store buffers may let stores overtake (arm64, POWER); on by default. */
void xworld_set_overtaking(struct xworld *w, bool on);
void xworld_set_step_limit(struct xworld *w, u32 steps);

/* One execution, from the start. events may be NULL; *nr_events in: room. */
void xworld_run(struct xworld *w, const struct xchooser *chooser,
		struct xresult *result, struct xevent *events, u32 *nr_events);

/*
 * Go on from the youngest state that the chooser has asked to keep, as an execution that came
 * there. States are kept until xworld_run(), which begins anew, or until they are
 * forgotten; the i-th from the start. There is room for XMAX_KEPT_STATES. A chooser asks for
 * it only if the world keeps states, and not while events are wanted.
 */
#define XMAX_KEPT_STATES 128
bool xworld_keeps(const struct xworld *w);
void xworld_resume(struct xworld *w, const struct xchooser *chooser,
		   struct xresult *result);
void xworld_forget(struct xworld *w, u32 i);
/* Bytes of the youngest; 0: there is none. */
size_t xworld_kept_size(const struct xworld *w);

/*
 * The step that a CPU's thread has come to, whether it can make it now or not; of its
 * handler, or of the thread that this interrupts. False: there is none. To be called
 * from pick().
 */
bool xworld_parked(struct xworld *w, u32 cpu, bool handler, struct xstep *step);

/* Sites seen in any execution so far, in order of first sight. */
u32 xworld_sites(const struct xworld *w, const struct mach_site **sites, u32 max);

/* ---- the search ---- */

/* A max_bound that no execution reaches: systematic goes through all, in one go. */
#define XBOUND_NONE (~0U)

enum xstrategy { XSTRATEGY_SYSTEMATIC, XSTRATEGY_PCT, XSTRATEGY_RANDOM };

struct xsearch {
	enum xstrategy strategy;
	/* Preemptions; systematic goes 0, 1, ... to this. PCT: depth - 1. */
	u32 max_bound;
	double budget_s;	/* host time; 0: none */
	u64 max_schedules;	/* 0: none */
	u64 seed;
	u32 workers;		/* processes; 1: none but this */
	bool reduce;		/* visit each state once (tests switch it off) */
	const volatile int *stop;
	void (*progress)(void *arg, u64 schedules, u32 bound);
	void *progress_arg;
	/*
	 * Called for each execution that is not the find, when set (tests): terminal
	 * states.
	 * With workers: in the worker's process.
	 */
	void (*terminal)(void *arg, u64 state_hash);
	void *terminal_arg;
};

/* The choices of one execution: what replay needs. */
struct xchoices {
	u32 n, size;
	u16 *value;		/* agent id of a pick, or value of a choose */
};

struct xverdict {
	struct xresult result;	/* of the first violation, or the last run */
	bool found;
	u32 bound;		/* complete to so many preemptions (if complete) */
	bool complete;		/* every execution to max_bound was seen */
	u64 schedules;		/* run to their end */
	u64 executions;		/* those given up at a state that is known, too */
	double seconds;
	struct xchoices choices;	/* of the violation */
	u64 dropped[XMAX_THREADS];	/* operations left out by minimising */
};

void xsearch_run(struct xworld *w, const struct xsearch *search,
		 struct xverdict *verdict);
/* Drop operations, then switches, while the same rule still breaks. */
void xsearch_minimise(struct xworld *w, struct xverdict *verdict);
/* Run again, exactly. False if the choices do not fit (another core). */
bool xsearch_replay(struct xworld *w, const struct xverdict *verdict,
		    struct xresult *result, struct xevent *events, u32 *nr_events);
void xverdict_free(struct xverdict *verdict);

/* ---- story and witness ---- */

/*
 * At most max lines (25), each malloc()ed text; how a person would tell it.
 */
u32 xstory(struct xworld *w, const struct xverdict *verdict, char **lines, u32 max);

#endif
