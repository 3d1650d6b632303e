/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timed machine's inside.
 *
 *	coro.c	 stacks and the switch between them
 *	clock.c	 the queue of events; who runs next
 *	cpu.c	 charging time; waiting; interrupts taken in the middle of things
 *	thread.c the scheduler		word.c	 shared words, lines, wait_change
 *	lock.c	 spinlocks		ipi.c	 interrupts between CPUs
 *	rcu.c	 grace periods		mem.c	 frames and the core's own memory
 *	fabric.c the broadcast queue		insn.c	 instructions and fences
 *	user.c	 accesses, computing, chases
 *	timed.c	 create, run, window, the table of operations
 *
 * The one rule. A CPU has a clock of its own and runs ahead of the others while
 * it does what nobody else can see. Before it does something that another CPU
 * could see (a store, a lock, an interrupt, a wake-up) it calls
 * cpu_sync(): when an event of somebody else lies before its clock, it parks
 * itself in the queue and lets that one go first. So whatever is shared is
 * touched in the order of simulated time. Exceptions, and why they are none:
 *
 *  - A plain load may run ahead by the lookahead, the shortest transfer of a line:
 *    a store that others make meanwhile could not have reached this CPU.
 *  - spin_unlock() publishes *when* the lock becomes free, and later takers
 *    honour that time.
 *  - An acknowledged interrupt, likewise, says at which time it was acknowledged,
 *    and a wake-up of an idle CPU at which time that resumes.
 *
 * Interrupts in the past. A CPU that parked at clock T may have an interrupt
 * arrive at t < T: it lies inside the stretch of work that ends at T, and T's
 * action has not been done. The handler then runs with the clock set back to t, and
 * the rest of the stretch, T - t, already charged, is shifted behind it. While the
 * handler runs that rest is `prepaid`, so at every moment
 *
 *	sum of the CPU's accounts == clock + prepaid
 *
 * which is asserted whenever a CPU parks or switches. irq_floor is the time
 * before which no interrupt may be put: when they were turned on, when the last
 * handler ended, when a lock was released (its time is published already).
 */
#ifndef TLBLAB_MACHINE_INTERNAL_H
#define TLBLAB_MACHINE_INTERNAL_H

#include <string.h>

#include "coro.h"
#include "machine.h"
#include "mmu/mmu.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Later than everything; half of u64 so that differences are signed. */
#define NEVER ((u64)INT64_MAX)

#define MASK_WORDS (TLBLAB_MAX_CPUS / 64)

/* Our own bug: one line, exit status 3. Always on. */
/* timed.c: intervals of the window, and when the heart must beat next. */
void machine_interval(struct machine *m);
u64 machine_next_beat(const struct machine *m);

void machine_panic(const char *what, const char *file, u32 line,
		   const char *func) __attribute__((noreturn, cold));
#define MACH_PANIC(what) machine_panic((what), __FILE__, __LINE__, __func__)
#define MACH_ASSERT(cond)                                                       \
	do {                                                                    \
		if (unlikely(!(cond)))                                          \
			MACH_PANIC(#cond);                                      \
	} while (0)

struct cpu;
struct thread;

/* ------------------------------------------------------- clock.c: events */

/*
 * A queue of (time, order of insertion). Every event has a number, which says
 * what it is; each number is in the queue at most once.
 *
 *	0 ... n-1	CPU goes on		3n	fabric: a request is served
 *	n ... 2n-1	CPU's timer tick	3n+1	RCU: grace period over
 *	2n ... 3n-1	CPU's RCU callbacks	3n+2	heartbeat
 *						3n+3...	an interrupt in flight
 *
 * The heartbeat is there because a CPU that is alone never parks: it would notice
 * neither a limit nor a request to stop. It beats earlier where an interval ends. When nothing else is in the queue,
 * nobody can ever move again.
 */
#define EVENT_TICK(m, id) ((m)->nr_cpus + (id))
#define EVENT_RCU(m, id) (2 * (m)->nr_cpus + (id))
#define EVENT_FABRIC(m) (3 * (m)->nr_cpus)
#define EVENT_GRACE(m) (3 * (m)->nr_cpus + 1)
#define EVENT_HEARTBEAT(m) (3 * (m)->nr_cpus + 2)
#define EVENT_IRQ(m) (3 * (m)->nr_cpus + 3)

#define HEARTBEAT_PS 1000000000ULL

struct heap_entry {
	u64 time;
	u64 key;		/* seq << EVENT_BITS | event */
};

#define EVENT_BITS 24

/* Of the queue, those before all others: see clock.c. */
#define CLOCK_SOON 16

struct clock {
	u64 min_time;		/* of the first entry; NEVER: empty */
	u32 nr_soon;
	u32 nr;			/* in the heap */
	struct heap_entry *heap; /* the first at [HEAP_ROOT] */
	u32 *pos;		/* by event; 0: not queued */
	u64 seq;
	struct heap_entry soon[CLOCK_SOON]; /* the latest first */
	u32 size, pos_size;
};

void clock_init(struct clock *k, u32 nr_events);
void clock_destroy(struct clock *k);
void clock_grow(struct clock *k, u32 nr_events);
void clock_push(struct clock *k, u32 event, u64 time);
void clock_remove(struct clock *k, u32 event);
/* Push if absent, else move. */
void clock_set(struct clock *k, u32 event, u64 time);
u32 clock_pop(struct clock *k, u64 *time);

static inline bool clock_queued(const struct clock *k, u32 event)
{
	return k->pos[event] != 0;
}

static inline bool clock_empty(const struct clock *k)
{
	return !k->nr && !k->nr_soon;
}

/* Run events until it is some CPU's turn; NULL: the run is over. */
struct cpu *clock_next(struct machine *m);

/* ---------------------------------------------------------- interrupts */

enum irq_kind { IRQ_CALL, IRQ_TICK, IRQ_RCU };

/* What a sender with wait waits for. */
struct ipi_call {
	void (*func)(void *info);
	void *info;
	u32 sender;
	u32 pending;		/* targets that have not acknowledged */
	u64 done_at;		/* last acknowledgement seen by the sender */
	struct wait *wait;	/* of the sender; NULL: it does not wait */
	struct ipi_call *next;	/* free list */
};

struct irq {
	u64 time;		/* of arrival */
	u32 kind, cpu;
	struct ipi_call *call;
	struct irq *next;	/* CPU's queue, or free list */
	u32 event;
	bool queued;		/* has arrived, has not been handled */
};

/* ------------------------------------------------------------- waiting */

/*
 * A CPU that waits for a moment or for somebody; on the waiter's stack. An
 * interrupt handler may wait inside another wait.
 */
struct wait {
	u64 until;		/* goes on at this time */
	u64 passed;		/* time charged while waiting */
	u32 acct;
	bool irqs;		/* interrupts end the wait (if they are on) */
	bool kicked;		/* by cpu_kick() */
	struct mach_chase *chase; /* waits by chasing: user.c */
	u32 chase_fault;
	u64 chase_va;
};

/* Watches one word; on the stack of who waits in wait_change(). */
struct watcher {
	struct watcher *next, *prev;
	struct cpu *cpu;
	struct wait *wait;
	const void *addr;
};

struct line {
	u64 free_at;		/* its queue of transfers is served until then */
	u32 owner;		/* CPU + 1 of the last writer */
	u32 version;		/* counts writes */
	struct watcher *watchers, *last_watcher; /* in order of arrival */
};

/* Accounts and what makes it a good number to add up: always zero. */
#define NR_ACCT 16
_Static_assert(MACH_NR_ACCOUNTS <= NR_ACCT, "");

#define READ_CACHE 256

struct read_entry {
	u32 line;		/* index + 1 */
	u32 version;
};

/* --------------------------------------------------------------- CPUs */

struct tlbi {
	u32 insn, c;
	u64 a, b;
};

struct cpu {
	u64 clock;
	u64 prepaid;		/* see the top of this file */
	/*
	 * Where to go on when it is parked. Not in the thread's own coro, where
	 * only a switch of threads keeps it: stacks are so aligned that their
	 * first lines fight for one set of the host's caches.
	 */
	struct coro coro;
	u64 acct[NR_ACCT];
	struct machine *m;
	struct thread *cur;	/* its stack is the CPU's */
	struct thread *idle;
	struct wait *wait;	/* NULL: not waiting, or in a handler inside */
	u32 id;
	u32 ctx_acct;		/* what MACH_ACCT_CONTEXT means now */
	u32 last_acct;		/* last charged */
	bool parked;		/* in clock_next(), somewhere */
	bool irqs_on;
	bool need_resched;
	bool rcu_pending;	/* in rcu.next's list of CPUs */

	u32 crit;		/* interrupts off, and RCU read sections */
	u32 preempt;		/* spinlocks held or waited for */
	u32 rcu_nest;
	u32 irq_depth;
	u64 irq_floor;
	struct irq *irq_head, **irq_tail; /* arrived */
	struct irq tick_irq, rcu_irq;

	/* Runnable threads that wait for this CPU, in order. */
	struct thread *rq_head, **rq_tail;
	u32 nr_queued;
	u32 level;		/* sched.level[level] has our bit */
	bool is_idle;		/* sched.idle has our bit */
	u64 slice_start;
	struct thread *prev;	/* who was left by the switch going on */

	u64 rng;
	u64 mmu_now;		/* the MMU's time of this CPU never goes back */
	u32 ishst_open;		/* DSB ISHST with no TLBI behind them yet */
	struct tlbi *tlbi;	/* issued since the last DSB ISH */
	u32 nr_tlbi, tlbi_size;
	bool tlbsync;		/* POWER: issued since; the next ptesync waits */
	struct wait *fabric_wait;
	struct wait *idle_wait;	/* of the idle loop */

	/* Callbacks: not yet in a grace period, in one, and after it. */
	struct rcu_head *rcu_next, **rcu_next_tail;
	struct rcu_head *rcu_cur, **rcu_cur_tail;
	struct rcu_head *rcu_done, **rcu_done_tail;
	struct cpu *rcu_link;	/* rcu.cur's list */
	struct cpu *rcu_next_link; /* rcu.next's list */

	u64 open_acct[NR_ACCT]; /* when the window opened */
	struct cpu_place place;
	struct read_entry read_cache[READ_CACHE];
} __attribute__((aligned(64)));

/* ------------------------------------------------------------- threads */

enum thread_state {
	THREAD_FREE,
	THREAD_RUNNING,
	THREAD_QUEUED,		/* in a runqueue */
	THREAD_PREEMPTED,	/* runnable, still on its stack */
	THREAD_GOING,		/* going to sleep: still on its CPU */
	THREAD_BLOCKED,
	THREAD_WAKING,		/* somebody is waking it */
	THREAD_DEAD,
};

/* At the base of each stack. */
struct thread {
	struct mach_env env;	/* first: the seam finds it there */
	struct coro coro;
	struct cpu *cpu;	/* where it runs or last ran */
	u32 state;
	u32 ctx;		/* enum mach_context */
	bool is_idle;
	bool on_cpu;		/* its stack is in use */
	bool token;		/* woken while it did not sleep */
	bool in_block;
	bool wake_pending;	/* woken while its stack was still in use */
	bool anywhere;		/* affinity is not set */
	bool placed;		/* queued where it was sent: not to be pulled away */
	u32 move_to;		/* CPU + 1 where it goes on, once off this one */
	u64 ran_ps;		/* has run, up to when it last left its CPU */
	u64 ran_seen;		/* what of its run time the core was told of */
	struct wait *going;	/* THREAD_GOING */
	const struct mach_site *site; /* where it waits */
	struct thread *next;	/* runqueue; free list */
	void (*fn)(void *arg);
	void *arg;
	u64 affinity[MASK_WORDS];
};

#define HOST_PAGE 4096UL
_Static_assert(sizeof(struct thread) <= HOST_PAGE, "fits its page");

struct sched {
	u64 idle[MASK_WORDS];	/* CPUs that idle and have nothing queued */
	u64 level[8][MASK_WORDS]; /* CPUs by threads waiting; [7]: 7 or more */
	u32 nr_at[8];		/* CPUs in level[] */
	u64 node[TLBLAB_MAX_NODES][MASK_WORDS];
};

/* A named cost of the core: of one unit, and how much it may vary. */
struct named_cost {
	u64 ps, spread;
	u32 acct;
};

/* -------------------------------------------------------------- fabric */

struct fabric_req {
	u64 vfinish;		/* virtual time at which it is served */
	u64 seq;
	u64 min_done;		/* not complete before */
	u32 cpu;
};

/* fabric.c explains. */
struct fabric {
	struct fabric_req *heap;
	u32 nr;
	u64 vtime;		/* 2^-FABRIC_SHIFT ps of service per request */
	u64 last;		/* real time of vtime */
	u64 seq;
};

#define FABRIC_SHIFT 16

void fabric_init(struct fabric *f, u32 nr_cpus);
void fabric_destroy(struct fabric *f);
void fabric_add(struct fabric *f, u64 now, u32 cpu, u64 service_ps, u64 min_ps);
/* When the next request will be served, if none arrives; NEVER: none. */
u64 fabric_next(const struct fabric *f);
/* Take one that is served at now; false: none. */
bool fabric_take(struct fabric *f, u64 now, u32 *cpu, u64 *done);

/* ---------------------------------------------------------- the machine */

#define ARENA_BYTES (32ULL << 30)
#define ARENA_CLASSES 36
#define NR_STACKS (TLBLAB_MAX_THREADS + TLBLAB_MAX_CPUS + 1)
#define FOREIGN_LINES (1u << 20)

struct foreign_slot {
	u64 word;		/* address / 8; 0: free */
	u32 line;
};

struct node_mem {
	u64 first, end;		/* frames of this node */
	u64 fresh;		/* those from here on were never used */
	u32 free[32];		/* by order: frame + 1 */
	u32 sweeps;		/* CPUs that sweep its memory: user.c */
};

struct rcu_state {
	bool active;		/* a grace period is running */
	bool timer_done;
	u64 mask[MASK_WORDS];	/* CPUs that it waits for */
	u32 nr_waits;
	struct cpu *cur, *next;	/* CPUs with callbacks in it; for the next one */
};

enum finish {
	FINISH_NO, FINISH_DONE, FINISH_DEADLOCK, FINISH_STOP, FINISH_TIME, FINISH_STUCK
};

struct machine {
	struct clock clock;
	u64 now;		/* of the last event */
	u64 limit_at;
	volatile int stop;
	int exiting;		/* the last thread has exited */
	u64 lookahead;
	u64 hw_ps[HW_NR_COSTS];	/* of desc, close together */
	struct named_cost named[MACH_NR_COSTS];
	struct cpu *cpu;
	u32 nr_cpus, words;
	struct machine_desc *desc;	/* ours: see machine_create() */
	const struct core_module *core;
	struct mmu *mmu;
	void *core_root;
	void *init_task;
	const s64 *knobs;
	const char *boot_error;
	u64 seed;
	u64 rng;
	struct coro host;
	struct sched sched;
	struct rcu_state rcu;
	struct fabric fabric;
	u64 crit_mask[MASK_WORDS]; /* CPUs with crit != 0 */
	u64 dvm_ops;		/* broadcast operations completed */
	struct lock_node *lock_node;

	/* Interrupts in flight, and free ones. */
	struct irq **irq_chunk;
	u32 nr_irqs;
	u32 irqs_busy;
	struct irq *irq_free;
	struct ipi_call *call_free;

	/* One reservation: stacks, then physical memory, then the arena. */
	char *region;
	u64 region_bytes;
	char *stacks;
	char *phys;
	u64 phys_bytes;
	char *arena;
	u64 arena_used;
	u64 kalloc_in_use;
	void *kfree_list[ARENA_CLASSES];
	struct line *lines;	/* of the arena, of stacks, of foreign words */
	struct foreign_slot *foreign;
	u32 nr_foreign, foreign_size;

	u64 nr_frames, frames_in_use;
	u8 *frame_state;
	u32 *frame_next;
	struct node_mem node[TLBLAB_MAX_NODES];

	struct thread *stack_free;
	u32 nr_stacks;		/* ever used */
	struct thread **thread;	/* by tid */
	u32 nr_tids;		/* ever used, and 0 */
	u32 *tid_ring;		/* free tids, oldest first */
	u32 ring_head, ring_nr;
	u32 nr_threads;

	enum finish finish;
	bool running, broken;
	bool booting;		/* nothing waits: see cpu_park() */
	bool window_opened, window_open;
	u64 window_start;
	u64 limit_ps;
	u64 events, events_start;
	struct machine_stats stats; /* since the window opened */
	struct machine_stats frozen; /* when it was closed */
	void (*progress)(void *arg, u64 ps);
	void *progress_arg;
	u64 interval_ps, interval_at;	/* 0: none; next one, NEVER: none */
	void (*interval)(void *arg, const struct machine_stats *so_far);
	void *interval_arg;
	char message[4096];
};

static inline struct thread *this_thread(void)
{
	return (struct thread *)mach_env();
}

static inline struct cpu *this_cpu(void)
{
	return this_thread()->cpu;
}

static inline u64 hw_cost(const struct machine *m, u32 cost)
{
	return m->hw_ps[cost];
}

static inline u64 splitmix(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Uniform in [0, n). */
static inline u64 random_below(u64 *state, u64 n)
{
	return (u64)((unsigned __int128)splitmix(state) * n >> 64);
}

static inline bool mask_test(const u64 *mask, u32 bit)
{
	return mask[bit / 64] >> (bit % 64) & 1;
}

static inline void mask_set(u64 *mask, u32 bit)
{
	mask[bit / 64] |= 1ULL << (bit % 64);
}

static inline void mask_clear(u64 *mask, u32 bit)
{
	mask[bit / 64] &= ~(1ULL << (bit % 64));
}

/* --------------------------------------------------------------- cpu.c */

/* The only thing that moves a clock. */
static inline void cpu_advance(struct cpu *c, u64 ps, u32 acct)
{
	c->clock += ps;
	c->acct[acct] += ps;
	c->last_acct = acct;
}

void cpu_take_irqs(struct cpu *c);

static inline void cpu_check_accounts(const struct cpu *c)
{
	const u64 *a = c->acct;
	u64 sum;

	/* No vectors: a wide load of what was just stored would wait for it. */
	_Static_assert(NR_ACCT == 16, "");
	sum = a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7] +
	      a[8] + a[9] + a[10] + a[11] + a[12] + a[13] + a[14] + a[15];
	if (unlikely(sum != c->clock + c->prepaid))
		MACH_PANIC("the accounts of a CPU differ from its clock");
}

/*
 * Let others go on until it is this CPU's turn again. The events on the way
 * are handled on this stack; another CPU is entered directly from here.
 */
static inline __attribute__((always_inline)) void cpu_park(struct cpu *c)
{
	struct machine *m = c->m;
	struct cpu *next;

	cpu_check_accounts(c);
	c->parked = true;
	/* While booting, CPUs come up one by one and the host goes on. */
	next = m->booting ? NULL : clock_next(m);
	if (next != c) {
		coro_same_stack(&c->coro, &c->cur->coro);
		coro_switch(&c->coro, next ? &next->coro : &m->host);
	}
	c->parked = false;
}

/*
 * ahead: how much before this CPU's clock it is soon enough. Inline where the
 * most called operations park: see coro_switch().
 */
static inline __attribute__((always_inline)) void
cpu_sync_here(struct cpu *c, u64 ahead)
{
	if (c->m->booting)
		return;
	do {
		clock_push(&c->m->clock, c->id, c->clock - ahead);
		cpu_park(c);
		if (c->irq_head && c->irqs_on)
			cpu_take_irqs(c);
	} while (c->m->clock.min_time + ahead < c->clock);
}

/* The same, out of line. */
void cpu_sync_slow(struct cpu *c, u64 ahead);

/*
 * Must it let others go first? The operations that are called most ask
 * this themselves and leave the waiting to a function apart: what is alive across
 * a call would be saved and restored each time.
 */
static inline bool cpu_is_ahead(const struct cpu *c)
{
	return unlikely(c->m->clock.min_time < c->clock);
}

/* Everything that others do before this CPU's clock has happened. */
static inline void cpu_sync(struct cpu *c)
{
	if (cpu_is_ahead(c))
		cpu_sync_slow(c, 0);
}

static inline bool cpu_is_ahead_load(const struct cpu *c)
{
	return unlikely(c->m->clock.min_time + c->m->lookahead < c->clock);
}

/* Enough for a plain load. */
static inline void cpu_sync_load(struct cpu *c)
{
	if (cpu_is_ahead_load(c))
		cpu_sync_slow(c, c->m->lookahead);
}

/*
 * Wait until w->until, a kick, or (w->irqs) an interrupt, whose handlers have
 * been run when this returns true.
 */
bool cpu_wait(struct cpu *c, struct wait *w);
/* The same, whatever interrupts come between. */
void cpu_wait_due(struct cpu *c, struct wait *w);
/* Let w's wait end at time, or now if that is past. */
void cpu_kick(struct cpu *c, struct wait *w, u64 time);
/* Work of ps; an interrupt or a kick ends it early. Returns what is left. */
u64 cpu_work(struct cpu *c, struct wait *w, u64 ps);
/* Charge a waiting CPU for the time until now. */
void cpu_bring_up(struct cpu *c, u64 now);

void cpu_irqs_off(struct cpu *c);
void cpu_irqs_on(struct cpu *c);
/* An interrupt arrives; returns the CPU if it must run now. */
struct cpu *cpu_irq_arrives(struct machine *m, struct irq *irq);
void cpu_crit_enter(struct cpu *c);
void cpu_crit_exit(struct cpu *c);

static inline u32 cpu_context_account(u32 ctx)
{
	switch (ctx) {
	case MACH_CTX_USER: return MACH_ACCT_USER;
	case MACH_CTX_FAULT: return MACH_ACCT_FAULT;
	case MACH_CTX_IRQ: return MACH_ACCT_IPI_HANDLER;
	default: return MACH_ACCT_SYSCALL;
	}
}

/* The cost of moving a line from CPU `from` to CPU `to`. */
static inline u64 line_transfer(const struct machine *m, u32 from, u32 to)
{
	const struct cpu_place *a = &m->desc->place[from];
	const struct cpu_place *b = &m->desc->place[to];

	if (a->package != b->package)
		return hw_cost(m, HW_LINE_FAR);
	if (a->core == b->core)
		return hw_cost(m, HW_LINE_SMT);
	return hw_cost(m, HW_LINE_NEAR);
}

/* ------------------------------------------------------------ thread.c */

void sched_init(struct machine *m);
struct thread *thread_new(struct machine *m, void (*entry)(void *arg));
struct thread *thread_spawn(struct machine *m, struct cpu *near, void *task,
			    void (*fn)(void *arg), void *arg,
			    const u64 *affinity);
/* t becomes runnable at time. */
void thread_activate(struct thread *t, u64 time);
void idle_main(void *arg);
/* A point where this thread may be preempted. */
void sched_preempt_point(struct cpu *c);
void sched_tick(struct cpu *c);
void sched_describe(struct machine *m, const char *what);

/* --------------------------------------------------- rcu.c, ipi.c, mem.c */

void rcu_left(struct cpu *c);
void rcu_timer(struct machine *m);
void rcu_run_callbacks(struct cpu *c);
struct irq *irq_alloc(struct machine *m);
void irq_release(struct machine *m, struct irq *irq);
struct irq *irq_of_event(struct machine *m, u32 event);
void ipi_run(struct cpu *c, struct irq *irq);
void ipi_destroy(struct machine *m);
struct cpu *fabric_event(struct machine *m);
void fabric_sync(struct cpu *c);
void chase_bring_up(struct cpu *c, struct wait *w, u64 now);
u64 cpu_mmu_now(struct cpu *c);
bool mem_create(struct machine *m, char *error, size_t error_size);
void mem_destroy(struct machine *m);

/* -------------------------------------------------- operations, by file */

u64 word_load(const void *addr, u32 size, u32 order, const struct mach_site *site);
void word_store(void *addr, u32 size, u64 val, u32 order,
		const struct mach_site *site);
u64 word_rmw(void *addr, u32 size, u32 op, u64 arg, u64 expected, u32 order,
	     const struct mach_site *site);
u32 word_scan_zero(const u64 *addr, u32 n, const struct mach_site *site);
int word_wait_change(const struct mach_watch *watch, u32 n,
		     const struct mach_site *site);
void word_user_wait_change(const struct mach_watch *watch, u32 n);
/* Watch addr for c; word_unwatch() undoes it. */
void word_watch(struct cpu *c, struct watcher *watcher, const void *addr,
		struct wait *w);
void word_unwatch(struct machine *m, struct watcher *watcher);
/* What a load costs, and its value. */
u64 word_read(struct cpu *c, const void *addr, u32 size);
void lock_spin_lock(struct mach_lock *lock, const struct mach_site *site);
bool lock_spin_trylock(struct mach_lock *lock, const struct mach_site *site);
void lock_spin_unlock(struct mach_lock *lock, const struct mach_site *site);
bool lock_create(struct machine *m);
void lock_destroy(struct machine *m);
void thread_block(const struct mach_site *site);
void thread_wake(u32 tid, const struct mach_site *site);
u32 thread_create(void *task, void (*fn)(void *arg), void *arg,
		  const u64 *affinity, const struct mach_site *site);
void thread_exit(void) __attribute__((noreturn));
void thread_migrate(u32 cpu, const struct mach_site *site);
bool thread_need_resched(void);
void thread_cond_resched(const struct mach_site *site);
bool irq_save(const struct mach_site *site);
void irq_restore(bool on, const struct mach_site *site);
void ipi_send(const u64 *mask, void (*func)(void *info), void *info, bool wait,
	      const struct mach_site *site);
void rcu_read_lock(const struct mach_site *site);
void rcu_read_unlock(const struct mach_site *site);
void rcu_call(struct rcu_head *head, void (*func)(struct rcu_head *head),
	      const struct mach_site *site);
s64 insn_execute(u32 insn, u64 a, u64 b, u32 c, const struct mach_site *site);
void fence_execute(u32 kind, const struct mach_site *site);
u64 mem_alloc_frames(u32 order, s32 node, u32 gfp, const struct mach_site *site);
void mem_free_frames(u64 pfn, u32 order, u32 flags, const struct mach_site *site);
u32 mem_frame_node(u64 pfn);
u32 mem_cpu_node(u32 cpu);
void mem_copy_frame(u64 to, u64 from, const struct mach_site *site);
void mem_frame_store(u64 pfn, u32 offset, u64 val, const struct mach_site *site);
void *mem_kalloc(size_t size, u32 gfp, const struct mach_site *site);
void mem_kfree(void *p, size_t size, const struct mach_site *site);
void cost_charge(u32 cost, u64 n);
u32 cost_context(u32 ctx);
int user_access(u64 va, bool write, u64 *val);
void user_run(u64 ps);
int user_chase(struct mach_chase *chase);
int user_sweep(u64 va, u64 len, bool write);
u64 memory_ps(struct cpu *c, u64 pa, u64 pages);

/* For the test of the accounts: moves this CPU's clock and charges nobody. */
void machine_test_uncharged(u64 ps);

#endif
