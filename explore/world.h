/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exploring machine's inside. explore.h has its contract.
 *
 *	world.c		the arena; create, reset, run
 *	sched.c		agents, scheduling points, threads, interrupts, RCU
 *	sync.c		locks, waiting for words, IPIs
 *	memory.c	shared words: messages, store buffers, views
 *	mmu.c		page-table walks over all that caches may hold; user accesses
 *	mmu_x86.c mmu_arm64.c mmu_power.c	entries and invalidations
 *	update.c	hardware updates of entries, apart from accesses
 *	frames.c	page frames and the core's objects
 *	oracle.c oracle_data.c	the rules
 *	keep.c		states that a search goes back to
 *	hash.c		terminal states; event.c the story's raw lines
 *
 * What an execution can change is in the arena, in four parts:
 *
 *	struct xarena	machine state; the big arrays (messages, words,
 *			logs) count what they hold, and only that is reset
 *	heap		kalloc(): one region of the boot and one per CPU, bump only
 *			(an object is never reused, so no address depends on
 *			how CPUs interleave)
 *	frames		physical memory
 *	stacks		of threads and idle loops; only what lies above a stack's
 *			pointer at the snapshot is reset
 *
 * The snapshot is taken when init has run and every thread is parked at its
 * start. Reset copies back what may differ: see xworld_reset().
 *
 * Time. `now` counts visible writes, two per write; the i-th has timestamp 2i.
 * Odd numbers lie between writes: invalidations, loads of a root. A write's tw is
 * when the next write to the same word came. So whether a stale translation can
 * be there is a matter of comparing numbers.
 *
 * Stacks and switching. A thread runs until its next visible step, describes it in
 * thr->step and calls xpark(). The scheduler (xsched()) runs right there, on
 * the stack of whoever parked: it takes machine steps (drains) inline and
 * switches only when another thread moves.
 */
#ifndef TLBLAB_EXPLORE_WORLD_H
#define TLBLAB_EXPLORE_WORLD_H

#include <stdio.h>
#include <string.h>

#include "../machine/coro.h"
#include "explore.h"
#include "laws.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Our own bug: message, exit status 3. Always on. */
void xpanic(const char *file, int line, const char *what)
	__attribute__((noreturn, cold));
#define XASSERT(cond)                                                           \
	do {                                                                    \
		if (unlikely(!(cond)))                                          \
			xpanic(__FILE__, __LINE__, #cond);                      \
	} while (0)

/* ---- where things lie ---- */

#define XBASE		0x500000000000UL
#define XSLOT_SIZE	(1UL << 28)	/* distance of two worlds */
#define XSLOTS		8
#define XHEAP_AT	(4UL << 20)
#define XHEAP_BOOT	(1UL << 20)
#define XHEAP_CPU	(256UL << 10)
#define XHEAP_UNITS	((XHEAP_BOOT + XMAX_CPUS * XHEAP_CPU) >> 6)
#define XFRAMES_AT	(8UL << 20)
#define XFRAMES_SIZE	(64UL << 20)
#define XSTACKS_AT	(80UL << 20)

#define XDEFAULT_FRAMES	32
#define XDEFAULT_FRAMES_POWER 128	/* a root takes 64 KiB */
#define XMAX_FRAMES	1536		/* two huge pages of 4 KiB frames, and small ones */
#define XMAX_POOL	512
#define XHUGE_ORDER	5		/* blocks from here on are huge pages (POWER: 32 frames) */

/* Thread slots: programs' threads, main, threads made later, idle loops. */
#define XTHR_MAIN	XMAX_THREADS
#define XTHR_DYN	(XTHR_MAIN + 1)
#define XTHR_IDLE	16
#define XNR_THR		(XTHR_IDLE + XMAX_CPUS)
#define XARENA_SIZE	(XSTACKS_AT + XNR_THR * MACH_STACK_SIZE)

#define XMAX_WORDS	2048
#define XMAX_MSGS	8192
#define XHASH		4096		/* of words; a power of two */
#define XMAX_LOG	1024		/* MMU events of a CPU */
#define XMAX_TLBI	4096
#define XMAX_PROMISES	64
#define XMAX_IRQS	16		/* pending at a CPU */
#define XMAX_LANES	6
#define XDRAINS		24		/* drain agents; lanes of all CPUs */
#define XMAX_SB		12		/* stores that a CPU buffers */
#define XMAX_RCU	64
#define XMAX_CALLS	32
#define XMAX_ELIDED	8
#define XDEPS		64
#define XMAX_READABLE	16	/* messages that a load chooses among: the newest */
#define XMAX_UPDATES	8	/* of entries, by a CPU, deferred or early */

#define XMAX_KFREED	32		/* freed objects that are remembered */
#define XMAX_KEPT	32		/* stores of user mode that are remembered */
#define XMAX_COPIES	8		/* and copies of frames, and words of each */
#define XMAX_COPIED	8
#define XMAX_HELD	6
#define XLOCKSET	3
#define XWRITERS	0xff

#define XNEVER		(~0U)
#define XNIL		0xffffU

/* ---- memory ---- */

/* A write that is visible. */
struct xmsg {
	u64 val;
	u32 ts;			/* when */
	u32 tw;			/* when it was overwritten, or XNEVER */
	u32 step;
	u16 word;
	u16 next, prev;		/* of the same word, newer and older; XNIL */
	u16 table_gen;		/* generation of the frame that holds the word */
	u16 gen;		/* entry: generation of the frame it leads to */
	u8 cpu;
	u8 freed;		/* not a write: the frame was freed */
	const struct mach_site *site;
};

struct xword {
	u32 off;		/* of the word in the arena */
	u32 size;
	u64 flat;		/* what we last put at its address */
	u16 first, last;	/* messages */
	u16 frame;		/* that holds it, 0: none */
	u16 next;		/* word of the same frame, XNIL */
	/* Of entries; oracle_data.c. */
	u8 unseen;		/* CPUs that have not read the D that hardware set */
	u8 writer;		/* CPU + 1, XWRITERS: several, 0: none */
	u8 hooks;		/* its frame's, when writer was set */
	u8 marked;		/* hardware has set A in it with no access */
	u8 nr_lockset;
	u32 lockset[XLOCKSET];	/* locks that all writers had */
	/* Weak memory, per CPU: reference/arm64-mmu-model.md's coh and fwd. */
	u32 coh[XMAX_CPUS];
	u32 fwd_ts[XMAX_CPUS], fwd_view[XMAX_CPUS];
	u32 fwd_rmw;		/* bit per CPU: by an atomic or exclusive store */
};

/* A store that waits in a CPU's buffer. */
struct xstore {
	u64 val;
	u32 off;
	u8 size;
	u8 kind;		/* enum xstore_kind */
	u8 lane;		/* its number in program order, modulo lanes */
	u8 shift;		/* by user mode: log2 of what its translation maps; CLEAR: order */
	u8 handler;		/* by an interrupt handler */
	const struct mach_site *site;
	/* By user mode: the translation it went through. CLEAR: the first frame. */
	u16 frame, gen;
	u64 va;
	u8 nr_via;
	u16 via[TLBLAB_MAX_PT_LEVELS];	/* messages of its entries; XNIL: never written */
	u32 root;		/* ... under this */
	u16 root_gen;
	u32 view;		/* of address and data, for forwarding */
};

/* XSTORE_CLEAR: the first contents of a block of frames, as a whole; frames.c. */
enum xstore_kind { XSTORE_WORD, XSTORE_UNLOCK, XSTORE_USER, XSTORE_CLEAR };

struct xframe {
	u16 gen;		/* +1 with every free */
	u16 words;		/* list of its words, XNIL */
	u8 used;		/* allocated (first frame of a block or not) */
	u8 table;		/* MACH_GFP_TABLE */
	u8 order;		/* of the block, at its first frame; else 0xff */
	u8 dirty;		/* contents differ from the snapshot's */
	u8 hooks;		/* a table: entries written that lead to it; wraps */
	u8 boot;		/* allocated before init: never a leak */
	u8 zero;		/* contents are zero but for its words, and were at the snapshot */
	u8 plain;		/* plain C may write there: any frame of a model, and of a core
				 * those that it can do without (batches of a gather) */
	u8 clearing;		/* CPU + 1 whose XSTORE_CLEAR waits in its buffer */
	u32 born, died;		/* timestamps */
	u32 died_step;
	u8 died_cpu;
};

/* ---- the MMU ---- */

enum xpte_kind { XPTE_NONE, XPTE_TABLE, XPTE_LEAF, XPTE_BAD };

struct xpte {
	u8 kind;
	u8 user, write;		/* rights */
	u8 dirty;		/* a write needs no update of the entry */
	u8 accessed;		/* nor does an access */
	u8 usable;		/* may be used, and cached, as it is */
	u8 dbm;			/* arm64: hardware may make it dirty, where HD is set */
	u8 global;
	u64 pa;
};

/* One message on the way from the root to a leaf. */
struct xhop {
	u64 val;
	u32 off;		/* of the word */
	u32 ts, tw;
	u16 msg;		/* XNIL: the word was never written */
	u16 table_gen;
	u16 gen;		/* of what it leads to */
	u8 height;
};

struct xpath {
	u32 n;
	u64 va;
	struct xhop hop[TLBLAB_MAX_PT_LEVELS];
};

/* Who would use a cached translation, and how. */
struct xuse {
	u32 cpu;
	u32 root, ctx;
	u16 root_gen;
	bool leaf;		/* the path ends in a leaf or a fault, not a table */
	bool fault;
	bool absent;		/* the fault is for want of an entry that could be cached */
	u32 ev;			/* weak: view of the access; raised to rv */
	u32 rv;			/* weak: out, view of the walk */
	u32 addr_view;		/* weak: of the address */
	u32 rv_min;		/* weak: the walk comes after this */
	bool may_fail;		/* a compare and swap: it may turn out not to write */
};

/* Why an access cannot be made. */
enum xfault { XFAULT_NONE, XFAULT_TRANSLATION, XFAULT_ACCESS_FLAG, XFAULT_PERMISSION };

/* One way in which an access can be translated now. */
struct xtranslation {
	struct xpath path;
	struct xpte p;		/* of the leaf; kind NONE or BAD: nothing there */
	enum xfault fault;
	u32 rv;			/* weak: view of the walk */
	bool current;		/* by what the tables say now */
	bool update;		/* A or D is to be set */
};

/* A hardware update of an entry that is not made together with its access. */
struct xupdate {
	u32 off;
	u32 ts;			/* early: when it was made */
	u64 val;		/* what the entry becomes */
	u16 msg;		/* the message that it replaces, and no other */
};

/* Of C code's access: hardware has yet to mark the entry used; update.c. */
struct xowed {
	u32 off;
	u8 write;		/* dirty, too */
};

/* What happened to a CPU's translations; x86 and local operations. */
enum xlog_kind {
	XLOG_ROOT,		/* loaded: root, ctx */
	XLOG_DROP_ALL,		/* of ctx, or XCTX_ANY */
	XLOG_DROP_PAGE,		/* of ctx: va, and the walk caches */
};
#define XCTX_ANY 0xffffffffU

struct xlog {
	u32 time;
	u8 kind;
	u8 pending;		/* x86's INVLPGB: CPU + 1 whose TLBSYNC it waits for */
	u8 stride;		/* a page: log2 of the distance of va's, nr of them */
	u16 root_gen;
	u32 nr;			/* 0: one */
	u32 root;		/* frame */
	u32 ctx;		/* PCID, ASID, PID */
	u32 view;		/* weak: walks by the root see at least this */
	u64 va;
};

/* A broadcast or local invalidation under the weak model. */
struct xtlbi {
	u32 t, d;		/* T and D of the model; d 0: not complete */
	u32 at;			/* time of issue */
	u32 ctx;		/* or XCTX_ANY */
	u8 cpu;
	u8 local;
	u8 stage;		/* POWER: 1 after eieio, 2 after tlbsync */
	/* With POWER9's errata: */
	u8 missed;		/* bit per CPU: its ERAT may keep what k drops */
	u8 synced;		/* a ptesync came after it, */
	u8 erat, again;		/* and then a tlbie of PID 0; one of its own PID */
	u8 spares_erat;		/* POWER: this CPU's ERAT keeps the leaves that k drops */
	u8 tlb, walk;		/* drops leaves; walk-cache entries */
	s8 height;		/* hint: leaves of that height only; -1: all */
	u64 start, last;	/* addresses */
	u64 classes[2];		/* POWER: congruence classes of leaves; else all */
};

/* ---- CPUs and threads ---- */

enum xirq_kind { XIRQ_CALL, XIRQ_RCU };

struct xirq {
	u8 kind;
	u8 call;
};

/* An IPI under way. */
struct xcall {
	void (*func)(void *info);
	void *info;
	u32 view;		/* weak: all that came before is visible */
	u8 used, wait, left;	/* left: targets that have not finished */
	u8 sender;		/* thread slot */
};

/* The weak model's views of a CPU; reference/arm64-mmu-model.md. */
struct xviews {
	u32 r, w, h, walk, rel, ctrl, addr, dsb;
	u32 b_read, b_fault, b_tlbi, b_walk;
	u32 vtr[8];		/* by address bits 5:3 */
	u32 dep[XDEPS];		/* weak.c */
};

struct xcpu {
	u16 cur;		/* thread slot */
	u16 runq[XNR_THR];
	u8 nr_runq;
	u8 irqs_on;
	u8 irq_depth;
	u8 nr_irqs;
	u8 nr_sb;
	u8 next_lane;
	u8 user;		/* in user mode now */
	u8 rcu_nest;
	u8 crit_sb;		/* x86: buffered stores from before the last end of one */
	u32 crit_seq;		/* counts the ends of critical sections */
	u32 rcu_view;		/* weak: what its next one sees */
	struct xirq irq[XMAX_IRQS];
	struct xstore sb[XMAX_SB];
	struct xviews v;
	struct xviews *views;	/* its thread's, while RCU callbacks run; on the stack */
	/* MMU */
	u32 root, ctx;
	u16 root_gen;
	u8 loaded;
	/*
	 * Weak: the root before, by which the CPU may walk until it synchronises its context
	 * (Arm ARM, synchronization requirements for AArch64 System registers; Power ISA III,
	 * synchronization requirements for context alterations: mtspr PIDR).
	 */
	u8 unsynced;
	u16 old_root_gen;
	u32 old_root;
	u32 nr_log;
	u8 nr_deferred, nr_early, nr_owed;
	struct xupdate deferred[XMAX_UPDATES], early[XMAX_UPDATES];
	struct xowed owed[XMAX_UPDATES];
	u64 heap;		/* next free byte of its region, arena offset */
	u16 nr_pool;		/* free frames that it may take unasked */
	u16 pool[XMAX_POOL];
};

enum xwhy {
	XWHY_FREE,		/* slot not in use */
	XWHY_START,		/* parked before its first operation */
	XWHY_STEP,		/* parked at a step: can move */
	XWHY_LOCK,		/* waits for lock */
	XWHY_WATCH,
	XWHY_CALL,		/* waits until its IPI is done */
	XWHY_READY,		/* in a runqueue */
	XWHY_BLOCKED,		/* asleep */
	XWHY_IDLE,		/* idle loop: nothing to do */
	XWHY_END,		/* a program's thread, its operations done, in user mode */
	XWHY_DONE,		/* has ended */
};

enum xgo { XGO_STEP, XGO_IRQ };

struct xworld;
struct xthr;

enum xneed { XNEED_NONE, XNEED_ROOM, XNEED_WORD, XNEED_EMPTY };

/*
 * A step whose footprint depends on what others have done meanwhile is described anew
 * whenever somebody asks.
 */
struct xdescribe {
	void (*fn)(struct xworld *w, struct xthr *t);	/* NULL: it does not */
	u64 a;
	u32 b;
};

/* What a thread was about to do when an interrupt came. */
struct xparked {
	struct xstep step;
	struct xdescribe describe;
	u8 need;
	u32 need_off;
};

struct xthr {
	struct coro coro;
	struct mach_env *env;
	void (*fn)(void *arg);
	void *arg;
	u8 why;
	u8 go;
	u8 cpu;
	u8 ctx;			/* enum mach_context */
	u8 token;		/* a wake() that block() has not used */
	u8 irq_taken;
	u8 nr_elided;
	u8 nr_watch;
	u8 call;
	u8 locks;		/* held */
	u8 nr_held;		/* the same, by name, as many as fit */
	u32 held[XMAX_HELD];
	u8 need;		/* enum xneed: of its store buffer, to move */
	u32 need_off;		/* WORD: no store to it */
	u8 in_op;		/* op + 1 */
	u8 fork_slot;		/* of the thread that it is creating, + 1 */
	u8 nr_resched;		/* times that need_resched() was true */
	u16 op_start_step;
	u32 op_time;		/* of the last xop_begin() */
	u64 results;		/* hash of what it has read */
	struct mach_lock *lock;
	struct mach_lock *elided[XMAX_ELIDED];
	struct mach_watch watch[MACH_MAX_WATCH];
	struct xstep step;
	struct xdescribe describe;
	const struct xparked *under;	/* a handler; on the stack */
};

struct xpromise {
	u64 start, end;
	u32 ctx_root;		/* frame of the root: names the address space */
	u32 since, until;	/* removed: what was there before since */
	u8 cpu;
	u8 readonly;
	u32 step;
};

/* A visible store of user mode, and a copy of a frame: LOST-WRITE. */
struct xkept {
	u64 va;
	u32 off, ts, root, step;
	u16 root_gen, gen;
	u8 cpu;
};

struct xcopy {
	u16 from, to, from_gen, to_gen;
	u32 start;		/* words without a record were read then */
	u32 n;
	struct { u32 off, ts; } word[XMAX_COPIED];	/* ts of what was read */
};

struct xrcu {
	struct rcu_head *head;
	u8 cpu;
	u8 due;			/* its grace period is over */
	u32 view;		/* weak: what came before call_rcu() */
	u32 seq[XMAX_CPUS];	/* crit_seq of those it waits for, or XNEVER */
	u8 sb[XMAX_CPUS];	/* x86: and stores of sections, which are buffered yet */
};

struct xarena {
	/* Reset as a whole. */
	u32 now, step;
	u32 nr_words, nr_msgs, nr_tlbi, nr_promises, nr_rcu;
	u32 nr_kept, nr_copies, nr_kfreed;
	u16 nr_locks;
	u8 phase;		/* enum xphase */
	u8 nr_threads_left;
	u64 heap_boot;
	u64 prtb;		/* POWER: process table */
	u32 prtb_entries;
	u32 thr_live;		/* bit per slot */
	u32 nr_free;		/* frames of nobody's pool */
	u32 last_cpu;		/* that moved */
	u32 runs, runs_since;	/* thread that moves, or whose CPU's stores do; the step it began */
	struct xpromise promise[XMAX_PROMISES];
	struct { u32 off, size, cpu; } kfreed[XMAX_KFREED];	/* objects; oldest first */
	struct xkept kept[XMAX_KEPT];
	struct xcopy copy[XMAX_COPIES];
	struct xcall call[XMAX_CALLS];
	struct xrcu rcu[XMAX_RCU];
	struct xcpu cpu[XMAX_CPUS];
	struct xthr thr[XNR_THR];
	u16 hash[XHASH];	/* word + 1 */
	u64 heap_freed[XHEAP_UNITS / 64];	/* a bit at an object's beginning */
	char fixed_end[0];
	/* Reset up to their counts. */
	u16 free[XMAX_FRAMES];
	struct xframe frame[XMAX_FRAMES];
	struct xlog log[XMAX_CPUS][XMAX_LOG];
	struct xtlbi tlbi[XMAX_TLBI];
	struct xword word[XMAX_WORDS];
	struct xmsg msg[XMAX_MSGS];
};

enum xphase { XPHASE_INIT, XPHASE_RUN, XPHASE_FINAL };

/* ---- the world: the host's part, never reset ---- */

#define XMAX_SITES 4096

struct xmmu_arch;

/* A state to go on from; keep.c. */
struct xkept_state {
	struct xthr *from;	/* was about to look who moves next */
	char *copy;
	size_t size, used;
};

struct xworld {
	struct xarena *a;	/* the arena's first byte */
	u64 base;		/* the same, as a number */
	u32 slot;
	struct xprogram prog;
	const struct xmmu_arch *mmu;
	bool weak;		/* arm64, POWER */
	bool overtake;
	u32 lanes;		/* of each store buffer: a store overtakes up to lanes - 1 */
	bool booting;		/* no scheduling: one CPU at a time */
	u32 nr_cpus, nr_nodes, nr_frames, page_shift, nr_levels;
	u32 bits[TLBLAB_MAX_PT_LEVELS];		/* of the index, by height */
	u32 shift[TLBLAB_MAX_PT_LEVELS + 1];
	bool refetch;		/* hardware reads an entry again before it refuses */
	bool owes;		/* it may mark an entry used later than the access, */
	bool marks;		/* and accessed with no access */
	u64 memory_bytes;
	char *phys;
	void *core_root;
	void *boot_task;
	u32 features;		/* XFEAT_* */
	/* Bits per CPU: TCR_EL1.HA and HD; runs in kernel mode all the time. */
	u32 ha, hd, privileged;
	u64 laws_off;		/* bits by enum xlaw */
	u32 step_limit;
	u64 drop[XMAX_THREADS];
	const struct mach_site *skip;

	struct coro host;
	struct xthr *cur;	/* NULL: the host's stack */
	const struct xchooser *chooser;
	bool stop;		/* this execution is over */
	struct xresult *result;
	struct xevent *events;
	u32 nr_events, max_events;

	struct xthr *keep_from;	/* it asks the host to keep the state; NULL: nobody does */
	struct xkept_state kept[XMAX_KEPT_STATES];	/* oldest first */
	u32 nr_kept;

	void *mem_copy[XMAX_MEM];
	struct { void *copy; u64 at; size_t size; } snap_part[128];
	u32 nr_parts;
	char *snap_frames;
	/*
	 * By 64 bytes of the heap: where its object begins, and at its beginning, who
	 * allocated it. What is stale is not used.
	 */
	u16 heap_obj[XHEAP_UNITS];
	const struct mach_site *heap_site[XHEAP_UNITS];
	u64 heap_booted;		/* where init's objects begin */

	const struct mach_site *sites[XMAX_SITES];
	u32 nr_sites;
	const struct mach_site *site_hash[XMAX_SITES * 2];
};

#define XFEAT_HAFDBS	0x1
#define XFEAT_TTL	0x2
#define XFEAT_TLBIRANGE	0x4
#define XFEAT_ISA31	0x8
#define XFEAT_ERAT_BUG	0x10	/* POWER9's errata: mmu_power.c */
#define XFEAT_STQ_BUG	0x20
#define XFEAT_REPEAT_TLBI 0x40	/* arm64's: weak.c */

/* At the base of each stack, in front of what the seam shows. */
struct xstack {
	struct mach_env env;
	struct xworld *w;
	struct xthr *t;
};

static inline struct xstack *xstack(void)
{
	return (struct xstack *)mach_env();
}

static inline struct xcpu *xcpu_of(struct xworld *w, const struct xthr *t)
{
	return &w->a->cpu[t->cpu];
}

static inline u32 xoff(const struct xworld *w, const void *p)
{
	u64 off = (u64)(uintptr_t)p - w->base;

	XASSERT(off < XARENA_SIZE);
	return (u32)off;
}

static inline bool xin_arena(const struct xworld *w, const void *p)
{
	return (u64)(uintptr_t)p - w->base < XARENA_SIZE;
}

/* Frame that an arena offset lies in, 0: none (frame 0 is never used). */
static inline u32 xframe_of(const struct xworld *w, u32 off)
{
	u32 d = off - XFRAMES_AT;

	return off >= XFRAMES_AT && d < w->memory_bytes ? d >> w->page_shift : 0;
}

/* ---- world.c ---- */

void xworld_thread_main(void *arg);
void xworld_boot_cpu(struct xworld *w, struct xthr *t);
void xworld_reset(struct xworld *w);	/* to the snapshot */

/* ---- sched.c ---- */

extern const struct mach_ops xops;

/* Park until the scheduler lets this thread do t->step. */
void xpark(struct xworld *w, struct xthr *t, enum xwhy why);
/* The same, but not before its CPU's store buffer is empty, or has room, */
void xpark_buffer(struct xworld *w, struct xthr *t, enum xwhy why, enum xneed need);
/* or has no store to that word. */
void xpark_word(struct xworld *w, struct xthr *t, enum xwhy why, u32 off);
/*
 * Let the program's agents run until none can; on the host's stack. first: who was at it when
 * the state was kept that is in the arena now; NULL: it is the start.
 */
void xsched_run(struct xworld *w, struct xthr *first);
void xthread_setup(struct xworld *w, u32 slot, void *task, u32 cpu,
		   void (*fn)(void *arg), void *arg);
void xidle_main(void *arg);
/* prev's CPU goes to the next thread of its queue, or to its idle loop. */
void xschedule(struct xworld *w, struct xthr *prev, enum xwhy after);
void xthread_make_ready(struct xworld *w, struct xthr *t);
void xstep_schedule(struct xworld *w, struct xthr *t, const struct mach_site *site);
void xstep_crit(struct xworld *w, struct xthr *t, const struct mach_site *site, u32 kind);

static inline void xstep_clear(struct xstep *s)
{
	s->nr_obj = 0;
	s->orders = false;
}

static inline void xstep_begin(struct xthr *t, const struct mach_site *site,
			       u32 kind)
{
	t->step.site = site;
	t->step.site_kind = (u16)kind;
	xstep_clear(&t->step);
	t->describe.fn = NULL;
}

/* Describe the step now, and again whenever somebody asks. */
static inline void xstep_describe(struct xworld *w, struct xthr *t,
				  void (*fn)(struct xworld *w, struct xthr *t), u64 a, u32 b)
{
	t->describe = (struct xdescribe){ fn, a, b };
	fn(w, t);
}

/* No longer exact: it meets everything. */
static inline void xstep_all(struct xstep *s)
{
	s->nr_obj = 1;
	s->obj[0] = (struct xobj){ .cls = XOBJ_ALL, .write = 1 };
}

static inline void xstep_touch(struct xstep *s, u32 cls, u32 id, bool write, bool check)
{
	for (u32 i = 0; i < s->nr_obj; i++) {
		if (s->obj[i].cls == XOBJ_ALL)
			return;
		if (s->obj[i].cls == cls && s->obj[i].id == id) {
			s->obj[i].write |= write;
			s->obj[i].check &= check;
			return;
		}
	}
	if (s->nr_obj == XFOOTPRINT_MAX) {
		xstep_all(s);
		return;
	}
	s->obj[s->nr_obj++] = (struct xobj){
		.cls = cls, .write = write, .check = check, .id = id,
	};
}

static inline void xstep_add(struct xstep *s, u32 cls, u32 id, bool write)
{
	xstep_touch(s, cls, id, write, cls == XOBJ_MODE);
}

/* A rule looks at it. */
static inline void xstep_check(struct xstep *s, u32 cls, u32 id)
{
	xstep_touch(s, cls, id, false, true);
}

/*
 * cpu loads the word, its own buffered stores included. That these become visible, it
 * cannot tell. But a handler and the thread that it interrupts can tell each other's stores
 * from none: xstep_own(), and a handler's stores are news to its own CPU as well (XNOBODY).
 */
static inline void xstep_load(struct xstep *s, u32 cpu, u32 off)
{
	xstep_add(s, XOBJ_WORD, off / 8 | (cpu & 3) << XOBJ_WORD_CPU, false);
}

/* cpu's thread stores to the word, or its handler loads or stores there. */
static inline void xstep_own(struct xstep *s, u32 cpu, u32 off, bool write)
{
	xstep_add(s, XOBJ_OWN, off / 8 | (cpu & 3) << XOBJ_WORD_CPU, write);
}

/* A word or a lock in an object of kalloc(), which may be freed (write). */
static inline void xstep_heap(const struct xworld *w, struct xstep *s, u32 off, bool write)
{
	u32 unit = (off - XHEAP_AT) >> 6;

	if (off >= XHEAP_AT && unit < XHEAP_UNITS)
		xstep_add(s, XOBJ_HEAP, w->heap_obj[unit], write);
}

/* t's step depends on whether cpu is in user mode, which it is not in a handler. */
static inline void xstep_mode(const struct xworld *w, struct xthr *t, u32 cpu)
{
	if (cpu == t->cpu && w->a->cpu[cpu].irq_depth)
		return;
	xstep_add(&t->step, XOBJ_MODE, XMODE_USER + cpu, false);
	xstep_add(&t->step, XOBJ_MODE, XMODE_HANDLER + cpu, false);
}

/* What is visible of the word is read. */
static inline void xstep_look(struct xstep *s, u32 off)
{
	xstep_add(s, XOBJ_WRITTEN, off / 8, false);
}

#define XNOBODY (~0U)
/* cpu's store to it becomes visible. XNOBODY: it is news to every CPU. */
static inline void xstep_write(const struct xworld *w, struct xstep *s, u32 cpu, u32 off)
{
	u32 n = w->nr_cpus < 4 ? w->nr_cpus : 4;

	xstep_add(s, XOBJ_WRITTEN, off / 8, true);
	for (u32 i = 0; i < n; i++)
		if (i != cpu || w->nr_cpus > 4)
			xstep_add(s, XOBJ_WORD, off / 8 | i << XOBJ_WORD_CPU, true);
}

/* A place in the order of writes is taken. */
static inline void xstep_order(const struct xworld *w, struct xstep *s)
{
	s->orders = w->weak;
}

u32 xchoose(struct xworld *w, enum xchoice_kind kind, u32 n);
void xsite_seen(struct xworld *w, const struct mach_site *site);

/* Whether this site is left out; also notes that it was met. */
static inline bool xskip(struct xworld *w, const struct mach_site *site)
{
	u32 h = (u32)((uintptr_t)site >> 4) & (XMAX_SITES * 2 - 1);

	if (unlikely(w->site_hash[h] != site))
		xsite_seen(w, site);
	return unlikely(site == w->skip);
}

/* ---- sync.c ---- */

void xspin_lock(struct mach_lock *lock, const struct mach_site *site);
bool xspin_trylock(struct mach_lock *lock, const struct mach_site *site);
void xspin_unlock(struct mach_lock *lock, const struct mach_site *site);
int xwait_change(const struct mach_watch *watch, u32 n, const struct mach_site *site);
void xuser_wait_change(const struct mach_watch *watch, u32 n);
void xipi(const u64 *mask, void (*func)(void *info), void *info, bool wait,
	  const struct mach_site *site);
/* The handler, on the target's stack, interrupts off. */
void xirq_run(struct xworld *w, struct xthr *t);
void xcall_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head),
	       const struct mach_site *site);
void xrcu_read_lock(const struct mach_site *site);
void xrcu_read_unlock(const struct mach_site *site);
/* cpu begins a critical section. */
void xrcu_enter(struct xworld *w, u32 cpu);
/* cpu has left one, unless it is in another one that it was in before. */
void xcrit_left(struct xworld *w, u32 cpu);
/* x86: a buffered store of cpu became visible. */
void xrcu_drained(struct xworld *w, u32 cpu);
/* Callbacks of this CPU may run: their grace periods are over. */
bool xrcu_due(const struct xworld *w, u32 cpu);
void xrcu_footprint(const struct xworld *w, u32 cpu, struct xstep *s);
bool xlock_free(const struct mach_lock *lock);
bool xwatch_hit(struct xworld *w, const struct xthr *t);

/* ---- memory.c ---- */

u64 xload(const void *addr, u32 size, u32 order, const struct mach_site *site);
void xstore(void *addr, u32 size, u64 val, u32 order, const struct mach_site *site);
u64 xrmw(void *addr, u32 size, u32 op, u64 arg, u64 expected, u32 order,
	 const struct mach_site *site);
void xfence(u32 kind, const struct mach_site *site);
void xpark_store(struct xworld *w, struct xthr *t, u32 off, const struct mach_site *site,
		 u32 kind);
u32 xscan_zero(const u64 *addr, u32 n, const struct mach_site *site);

struct xword *xword_find(struct xworld *w, u32 off);
struct xword *xword_get(struct xworld *w, u32 off, u32 size);
/* A write of cpu, or of nobody's, becomes visible; returns its timestamp. */
#define XCPU_NONE 0xffU
u32 xmem_append(struct xworld *w, u32 cpu, u32 off, u32 size, u64 val,
		const struct mach_site *site);
/* What is visible. */
u64 xmem_read(struct xworld *w, u32 off, u32 size);
/* Put a store into cpu's buffer, or carry it out. */
void xmem_store(struct xworld *w, u32 cpu, const struct xstore *s);
/* Newest buffered store to off, or NULL. */
const struct xstore *xmem_forward(const struct xworld *w, u32 cpu, u32 off);
void xmem_drain_one(struct xworld *w, u32 cpu, u32 i);
/* Which buffered store of a lane may go next: its index, or XMAX_SB. */
u32 xmem_drainable(const struct xworld *w, u32 cpu, u32 lane);
/* What a drain of the buffer touches. */
void xmem_drain_footprint(struct xworld *w, u32 cpu, u32 i, struct xstep *s);
void xmem_store_footprint(const struct xworld *w, u32 cpu, u32 off, struct xstep *s);

/* ---- weak.c: views; nothing happens on x86 ---- */

/* Is this rule of the model in force? Always, but in tests. */
static inline bool xlaw(const struct xworld *w, enum xlaw rule)
{
	return likely(!(w->laws_off >> rule & 1));
}

/*
 * A read by cpu of a word, with the views that it is made from: of one of the messages
 * that it may read, asking which. What depends on it is the caller's to track.
 */
struct xread {
	u32 off, size;
	bool acquire;
	bool newest;		/* an atomic that writes: no other message will do */
	bool cas;		/* newest, or a message that differs from expected */
	bool no_result;		/* an atomic whose old value nobody sees: fences for loads
				 * do not wait for it */
	bool write;		/* the access writes too */
	u64 expected;
	u32 view;		/* of the address, and of the walk */
	/* Translated: messages that the translation rules out are not read. */
	struct xuse *use;
	const struct xpath *path;
	/* Out. */
	u64 val;
	u32 ts, post;		/* of the message; of the read */
};

/* False: there is no message that it may read. */
bool xweak_read(struct xworld *w, u32 cpu, struct xread *r);
/* By C code, which shows no registers: the views are approximated. Not forwarded. */
u64 xweak_load(struct xworld *w, u32 cpu, u32 off, u32 size, u32 order);
/* The newest write of the word is this CPU's store, just appended at ts. */
void xweak_stored(struct xworld *w, u32 cpu, u32 off, u32 ts, u32 view, bool release);
/* The same by an atomic, which wrote what it read. */
void xweak_stored_rmw(struct xworld *w, u32 cpu, u32 off, u32 ts, u32 view, bool acquire,
		      bool release);
/* C code's atomic has read the newest message. Returns the post-view. */
u32 xweak_read_newest(struct xworld *w, u32 cpu, u32 off, u32 size, u32 order);
/* A load took its value from this buffered store; pre: its views. Returns the post-view. */
u32 xweak_forwarded(struct xworld *w, u32 cpu, const struct xstore *st, u32 pre, bool acquire);
/* The view that a read has before it knows its message. */
u32 xweak_pre(const struct xworld *w, u32 cpu, u32 view, bool acquire);
void xweak_acquire(struct xworld *w, u32 cpu, u32 view);
/* The same from outside: for cpu's thread, whatever callbacks interrupt it. */
void xweak_thread_acquire(struct xworld *w, u32 cpu, u32 view);
/* The walk of an access, with its view rv; fault: none was translated. */
void xweak_walked(struct xworld *w, const struct xuse *use, u32 rv, u64 va, bool fault);
u32 xweak_min_post(struct xworld *w, u32 cpu, u32 off, u32 rv);

/* Fences by what they order and wait for; XORDER_LOADS, XORDER_STORES or both. */
enum { XORDER_LOADS = 1, XORDER_STORES = 2, XORDER_ALL = 3 };
void xweak_dmb(struct xworld *w, u32 cpu, u32 what);
void xweak_dsb(struct xworld *w, u32 cpu, u32 what);
/* Does a DSB of all by cpu have invalidations to complete? local: DSB NSH, and the like. */
bool xweak_completes(const struct xworld *w, u32 cpu, bool local);
/* Stores of other CPUs that must be visible before it can. */
bool xweak_held(const struct xworld *w, u32 cpu, bool local);
/* All of them are complete from now on; nothing is held. */
void xweak_complete(struct xworld *w, u32 cpu, bool local);
void xweak_fence(struct xworld *w, u32 cpu, u32 kind);
/* As a step of t, with what it waits for. */
void xweak_fence_step(struct xworld *w, struct xthr *t, u32 kind,
		      const struct mach_site *site);
void xweak_context_sync(struct xworld *w, u32 cpu);	/* exception, ISB */

/* ---- mmu.c ---- */

struct xmmu_arch {
	const char *name;
	void (*init)(struct xworld *w);
	void (*decode)(const struct xworld *w, u64 val, u32 height, struct xpte *p);
	/* What of it a CPU's control registers leave; NULL: all. */
	void (*for_cpu)(const struct xworld *w, u32 cpu, struct xpte *p);
	/* val as hardware leaves it after an access. */
	u64 (*mark_used)(const struct xworld *w, u64 val, bool write);
	/* Whether the translation, or walk-cache entry, at the end of path may be used. */
	bool (*may_hold)(struct xworld *w, struct xuse *use, const struct xpath *path);
	s64 (*insn)(struct xworld *w, struct xthr *t, u32 insn, u64 a, u64 b, u32 c);
	/* False: nobody can notice it yet, so it is no step. */
	bool (*insn_footprint)(struct xworld *w, u32 cpu, u32 insn, struct xstep *s);
	/* It waits for the store buffer; NULL: none does. */
	bool (*insn_drains)(u32 insn);
};

extern const struct xmmu_arch xmmu_x86, xmmu_arm64, xmmu_power;

/* arm64 and POWER. */
bool xweak_may_hold(struct xworld *w, struct xuse *use, const struct xpath *path);
void xtlbi_add(struct xworld *w, const struct xtlbi *k);
/* Does k, once complete, drop what the store went through? */
bool xtlbi_drops_store(const struct xworld *w, const struct xtlbi *k, u32 cpu,
		       const struct xstore *s);
/* arm64: a TLBI by cpu whose operand was made from view. */
void xarm64_tlbi(struct xworld *w, u32 cpu, const struct mach_site *site, u32 op, u64 xt,
		 u32 view);

int xuser_access(u64 va, bool write, u64 *val);
s64 xinsn(u32 insn, u64 a, u64 b, u32 c, const struct mach_site *site);
/* A CPU's log. */
void xmmu_log(struct xworld *w, u32 cpu, const struct xlog *l);
/* flush: and drop what is cached of ctx (a CR3 write). */
void xmmu_load_root(struct xworld *w, u32 cpu, u64 pa, u32 ctx, bool flush);
/* Timestamp of something between two writes. */
static inline u32 xnow_odd(const struct xworld *w)
{
	return w->a->now + 1;
}

/*
 * All chains of messages from a root: fn is called for each table entry and each
 * end (leaf, or nothing there), whether a cache may hold it or not. va: of that address
 * only, or XVA_ANY: of every entry that was ever written. Stops when fn returns true.
 */
typedef bool (*xvisit_fn)(struct xworld *w, const struct xpath *path,
			  const struct xpte *p, void *arg);
#define XVA_ANY (~0ULL)
bool xmmu_enumerate(struct xworld *w, u32 root, u16 root_gen, u64 va, xvisit_fn fn,
		    void *arg);
/*
 * Whether an access can go through path, which ends in p, and how. use: who, and the view of
 * the address.
 */
bool xmmu_translate(struct xworld *w, struct xuse *use, const struct xpath *path,
		    const struct xpte *p, bool write, struct xtranslation *o);
/* Note the entries that a store goes through. */
void xstore_via(struct xstore *st, const struct xpath *path);
/* Physical address of va. */
u64 xmmu_pa(const struct xworld *w, const struct xtranslation *o, u64 va);
/* Whether every entry of path is the newest of its word. */
bool xpath_current(const struct xpath *path);
/* log2 of the bytes that an entry at that height maps. */
static inline u32 xheight_shift(const struct xworld *w, u32 height)
{
	return w->shift[height];
}
/* Fills use for what cpu has loaded. False: nothing is. */
bool xmmu_use(const struct xworld *w, u32 cpu, struct xuse *use);

/* ---- access.c: steps by hand, with explicit views ---- */

enum xaccess_kind {
	XACCESS_LOAD,
	XACCESS_STORE,
	XACCESS_SWAP,
	XACCESS_CAS,
	XACCESS_STORE_EX,	/* a store exclusive that succeeds */
};

/*
 * An access of CPU cpu, made at once. In: what it is made from, each a view: the registers of
 * its address, and of its data; pick: those and what a conditional select
 * of them depended on. Choices are asked of the world's chooser.
 */
struct xaccess {
	u32 cpu;
	enum xaccess_kind kind;
	bool translated;	/* by va; else off is given: the kernel's map of all memory */
	bool acquire, release;
	bool no_result;		/* of a swap */
	char op;		/* of a swap: 0, or val is added (+), cleared (c), set (|), ^ */
	u64 va;
	u32 off;
	u32 addr_view, addr_pick, data_view;
	u64 val, expected;
	const struct mach_site *site;
	/* Out. */
	enum xfault fault;
	u64 old;		/* loaded */
	u32 post, ts;		/* view of the load; its message's timestamp */
	bool wrote;
};

/* False: it has no outcome here (a dead end: the same access has one elsewhere). */
bool xaccess(struct xworld *w, struct xaccess *a);
/* Must cpu's store buffer drain first, in part or as a whole? */
bool xaccess_waits(const struct xworld *w, const struct xaccess *a);

/*
 * Start over, at the snapshot; then steps may be taken by hand, not by xworld_run(), hardware
 * updates included.
 */
void xworld_begin(struct xworld *w, const struct xchooser *chooser,
		  struct xevent *events, u32 nr_events);
/* Before the first step: the word has this value, and a record. */
void xworld_preset(struct xworld *w, u32 off, u32 size, u64 val);
u32 xworld_nr_events(const struct xworld *w);
/* A rule of the model out of force: for tests that show it to be needed. */
void xworld_set_law_off(struct xworld *w, enum xlaw rule);
void xworld_set_laws_on(struct xworld *w);
/* By name; XLAW_NR: there is none. */
enum xlaw xlaw_find(const char *name);

/* Can cpu's i-th buffered store go next? Not while an older one to the word waits. */
bool xstore_drainable(const struct xworld *w, u32 cpu, u32 i);

/*
 * Hardware updates (AF, dirty state; x86: A) beside accesses. Each returns false when
 * nothing can come of it.
 */
bool xupdate_deferred(struct xworld *w, u32 cpu, u32 i);
/* Before the access: as one for a load, or for a store. */
bool xupdate_early(struct xworld *w, u32 cpu, u32 off, bool write);
bool xupdate_spontaneous(struct xworld *w, u32 off);

/* ---- update.c: hardware updates of entries, apart from C code's accesses ---- */

/* cpu's access needs the entry marked. False: it is to be marked at once. */
bool xupdate_owe(struct xworld *w, u32 cpu, u32 off, bool write);
/* The kernel is about to read the word, or to overwrite it: what comes before, which asks. */
void xupdates_before(struct xworld *w, u32 off, bool overwrite);
/* What xupdates_before() may do to the word. */
void xupdates_footprint(struct xworld *w, u32 off, struct xstep *s);
/* All that cpu owes is done: a DSB of all. */
void xupdates_settle(struct xworld *w, u32 cpu);
/* The frame is freed. */
void xupdates_forget(struct xworld *w, u32 frame);

/* ---- keep.c: on the host's stack ---- */

void xkeep_save(struct xworld *w, struct xthr *from);
/* The youngest; returns who was at it. */
struct xthr *xkeep_restore(struct xworld *w);
void xkeep_free(struct xworld *w);

/* ---- frames.c ---- */

void xframes_init(struct xworld *w);
void xframes_fill_pools(struct xworld *w);
u64 xalloc_frames(u32 order, s32 node, u32 gfp, const struct mach_site *site);
/* cpu's XSTORE_CLEAR leaves the buffer. */
void xframes_cleared(struct xworld *w, u32 cpu, const struct xstore *st);
/*
 * Who reads or writes in frame, cpu or a walker (XNOBODY), depends on whether its first
 * contents are visible.
 */
void xframe_footprint(const struct xworld *w, u32 cpu, u32 frame, struct xstep *s);
void xfree_frames(u64 pfn, u32 order, u32 flags, const struct mach_site *site);
u32 xframe_node(u64 pfn);
u32 xcpu_node(const struct xworld *w, u32 cpu);
void xcopy_frame(u64 to, u64 from, const struct mach_site *site);
void xframe_store(u64 pfn, u32 offset, u64 val, const struct mach_site *site);
void *xkalloc(size_t size, u32 gfp, const struct mach_site *site);
void xkfree(void *p, size_t size, const struct mach_site *site);

/* ---- oracle.c ---- */

#include "oracle.h"

/* ---- event.c ---- */

void xevent_add(struct xworld *w, u32 kind, u32 index, u32 cpu,
		const struct mach_site *site, const char *fmt, ...)
	__attribute__((format(printf, 6, 7), cold));
/* Text of an address or a value, for a person. buf of 64. */
const char *xname_word(const struct xworld *w, u32 off, char buf[64]);

#define xev(w, kind, index, cpu, site, ...)                                     \
	do {                                                                    \
		if (unlikely((w)->events))                                      \
			xevent_add(w, kind, index, cpu, site, __VA_ARGS__);     \
	} while (0)

/* A thread's own event. */
#define xev_t(w, t, site, ...)                                                  \
	xev(w, XAGENT_THREAD, (u32)((t) - (w)->a->thr), (t)->cpu, site, __VA_ARGS__)

/* ---- hash.c ---- */

u64 xhash_state(struct xworld *w);
static inline u64 xmix(u64 h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

#endif
