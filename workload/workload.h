/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads: each is written once, over struct wl_ops, and runs on a simulated
 * machine (workload/sim.c binds the operations to a core) or on the host's
 * kernel (native/ binds them to system calls).
 *
 * A workload file holds C functions and one struct workload. It has no
 * static state, calls no libc, and keeps what it needs in memory from
 * wl->ops->alloc(). It takes no decision by time.
 *
 * The measured window opens when all workers stand at the start (wl_start)
 * and closes when the last leaves its last iteration (wl_finish): thread
 * creation, set-up and exit lie outside. The process's main thread is worker 0.
 */
#ifndef TLBLAB_WORKLOAD_H
#define TLBLAB_WORKLOAD_H

#include <tlblab/types.h>

/* Linux's values (uapi/asm-generic/mman-common.h). */
#define WL_PROT_NONE		0x0
#define WL_PROT_READ		0x1
#define WL_PROT_WRITE		0x2
#define WL_MAP_SHARED		0x01
#define WL_MAP_PRIVATE		0x02
#define WL_MAP_FIXED		0x10
#define WL_MAP_ANONYMOUS	0x20
#define WL_MADV_DONTNEED	4
#define WL_MADV_HUGEPAGE	14
#define WL_MADV_NOHUGEPAGE	15
#define WL_MADV_PAGEOUT		21
#define WL_MREMAP_MAYMOVE	1
#define WL_MREMAP_FIXED		2
#define WL_EEXIST		17

/* Figures that need the length of the window, which no workload knows. */
enum wl_timed {
	WL_WINDOW_S,		/* n times the window, in seconds */
	WL_WINDOW_US_PER,	/* microseconds of the window for each of n */
	WL_PER_S,		/* n per second of it */
};

struct wl;

/* Errors are negative errno values. Addresses are user addresses. */
struct wl_ops {
	/* System calls of the calling thread. */
	s64 (*mmap)(struct wl *w, u64 addr, u64 len, u32 prot, u32 flags);
	s64 (*munmap)(struct wl *w, u64 addr, u64 len);
	s64 (*mprotect)(struct wl *w, u64 addr, u64 len, u32 prot);
	s64 (*madvise)(struct wl *w, u64 addr, u64 len, u32 advice);
	s64 (*mremap)(struct wl *w, u64 addr, u64 old_len, u64 new_len, u32 flags,
		      u64 new_addr);
	/*
	 * Reclaim, as kswapd would, of what is mapped there; how many pages (natively
	 * -ENOSYS). move_pages(): to a node, or, -1, to other frames (natively -ENOSYS);
	 * how many pages did not move.
	 */
	s64 (*reclaim)(struct wl *w, u64 addr, u64 len);
	s64 (*move_pages)(struct wl *w, u64 addr, u64 nr_pages, s32 node);
	/* Mark what is mapped there, as a scan of NUMA balancing would (natively -ENOSYS). */
	s64 (*numa_hint)(struct wl *w, u64 addr, u64 len);
	/* MPOL_BIND of what this thread allocates to a node; -1: back to the default. */
	s64 (*set_mempolicy)(struct wl *w, s32 node);
	/*
	 * Lockless walks of the kernel: gup_fast() takes and drops nr_pages pages
	 * (natively a futex operation, which takes one); pte_lookup() reads the entry of
	 * addr (natively -ENOSYS).
	 */
	s64 (*gup_fast)(struct wl *w, u64 addr, u32 nr_pages);
	s64 (*pte_lookup)(struct wl *w, u64 addr);
	/*
	 * System V shared memory: a private segment of so many bytes, its id; mapped at addr
	 * (0: anywhere), where; unmapped; gone once nobody maps it.
	 */
	s64 (*shmget)(struct wl *w, u64 size);
	s64 (*shmat)(struct wl *w, s64 id, u64 addr);
	s64 (*shmdt)(struct wl *w, u64 addr);
	s64 (*shm_rmid)(struct wl *w, s64 id);

	/*
	 * One byte. 0, or a signal number when the access kills the thread. In
	 * simulation a store makes the other bytes of its aligned 8-byte word zero.
	 */
	int (*store)(struct wl *w, u64 addr, u8 val);
	int (*load)(struct wl *w, u64 addr, u8 *val);
	/* memset() or a read of whole pages, at the speed of memory. As store(). */
	int (*sweep)(struct wl *w, u64 addr, u64 len, bool write);
	/*
	 * memcpy(). Both ranges begin and end at page boundaries and are apart. A
	 * simulated page takes what copying one takes (copy_page of the machine).
	 * Results are store()'s.
	 */
	int (*copy)(struct wl *w, u64 to, u64 from, u64 len);
	/*
	 * Dependent loads over nr_pages pages from base on, in a fixed
	 * pseudo-random cycle, until *stop is not zero; adds to *loads about
	 * every time it is interrupted and at the end.
	 */
	int (*chase)(struct wl *w, u64 base, u32 nr_pages, const u32 *stop,
		     u64 *loads);

	/*
	 * The same for so many loads, about, and in each page over so many cache lines: 1, or up
	 * to as many as a page has, which touches as much of the caches in fewer pages.
	 */
	int (*chase_for)(struct wl *w, u64 base, u32 nr_pages, u32 lines, u64 nr_loads);

	/*
	 * A thread of this process running fn(w, arg), on the given CPU, or
	 * anywhere when cpu < 0. thread_join waits for its end.
	 */
	s64 (*thread_create)(struct wl *w, void (*fn)(struct wl *, void *),
			     void *arg, s32 cpu);
	int (*thread_join)(struct wl *w, s64 thread);
	/*
	 * The same in a process of its own, a copy of this one: what it maps, nobody else
	 * sees. *w and memory from alloc() are shared. Joined by thread_join().
	 */
	s64 (*process_create)(struct wl *w, void (*fn)(struct wl *, void *),
			      void *arg, s32 cpu);

	/* Spin in user mode until *word == val (a turn). Relaxed for both. */
	void (*spin_until)(struct wl *w, const u32 *word, u32 val);
	/* The word is shared between threads: release. */
	void (*set_word)(struct wl *w, u32 *word, u32 val);
	u32 (*add_word)(struct wl *w, u32 *word, u32 n); /* returns new */
	u32 (*get_word)(struct wl *w, const u32 *word);
	/* Sleep until *word == val, woken by whoever sets it so. */
	void (*wait_word)(struct wl *w, u32 *word, u32 val);

	/* What one turn of the loop costs in user mode; nothing natively. */
	void (*loop_cost)(struct wl *w);
	/* Compute for so long, touching no memory that matters. */
	void (*compute)(struct wl *w, u64 ns);
	void *(*alloc)(struct wl *w, size_t size); /* zeroed; lives as long as w */

	void (*window_open)(struct wl *w);
	void (*window_close)(struct wl *w);
	/* The run should end early (Ctrl-C, limits): leave the loop. */
	bool (*stopping)(struct wl *w);
	/* The time, for figures only: differences seen by one thread. */
	u64 (*now_ps)(struct wl *w);
	/* A figure of the workload's own, under metrics; call once, at the end. */
	void (*report)(struct wl *w, const char *name, double value);
	void (*report_timed)(struct wl *w, const char *name, enum wl_timed kind,
			     double n);
};

enum wl_param_kind { WL_INT, WL_SIZE, WL_ADDR, WL_ENUM };

struct wl_param {
	const char *name;
	enum wl_param_kind kind;
	u64 def, min, max;
	const char *const *values;	/* WL_ENUM: NULL-terminated */
	const char *meaning;		/* one line */
};

#define WL_MAX_PARAMS 16

/* A run, as its threads see it. Everything is constant during the run. */
struct wl {
	const struct wl_ops *ops;
	const struct workload *workload;
	u64 param[WL_MAX_PARAMS];	/* in the order of workload->params */
	u32 threads;
	u32 nr_cpus;			/* that may be used */
	u32 page_size;
	bool pin;			/* worker i on CPU i (else anywhere) */
	void *binding;			/* of the ops */
	void *priv;			/* of the workload */
	/* The start and finish lines: wl_start(), wl_finish(). */
	u32 arrived;	/* back to 0 when the window closes */
	u32 started;
	u32 finished;	/* workers that are through; a high bit calls the run off */
	u64 ops_done;			/* set by the workload before it ends */
	int failed;			/* errno or signal of the first failure */
	const char *failed_what;
};

struct workload {
	const char *name;		/* "mmap8" */
	const char *summary;		/* one line */
	const char *origin;		/* thread, or whose benchmark it is */
	const struct wl_param *params;	/* ends with a NULL name */
	u32 default_threads;
	/*
	 * Checks what only the workload knows (sizes that cannot be), before
	 * anything runs. Returns NULL or one line.
	 */
	const char *(*check)(const struct wl *w);
	/* The main thread, worker 0. Creates and joins the others. */
	void (*main)(struct wl *w);
};

extern const struct workload *const workloads[]; /* NULL-terminated */

/* All threads + extra participants meet; the last to arrive opens the window. */
void wl_start(struct wl *w, u32 participants);
/* The last of participants to come closes the window. */
void wl_finish(struct wl *w, u32 participants);
/* Note the first failure; later ones are dropped. */
void wl_fail(struct wl *w, const char *what, int err);

#endif
