// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The four programs of autonuma-benchmark, with which thread S3 measured, and a stand-in for
 * the xfs_repair that started it.
 *
 * numa01: two processes. Each thread zeroes all of its process's memory once, allocated on
 * one node, and then again and again: on more than two nodes no placement suits, and memory
 * should not bounce. threadlocal: after the same start, each only its slice. numa02: one
 * process, each thread its slice of what the main thread had zeroed; smt: with half
 * the threads.
 *
 * xfs-repair: as much as concerns memory, by what its sources and the thread say, of xfs_repair
 * with the default number of threads and bhash=101073, which is what was profiled:
 *
 *	threads	34. Dave Chinner's file system has 500 allocation groups; xfs_repair takes a
 *		thread for each 15 ("Automatic striding", repair/xfs_repair.c), where its
 *		16 CPUs would allow 128. So there are more threads than CPUs, and they roam.
 *	size	its cache of buffers, one hash for all, was 7 to 10 GB. Here 2560M, for from there
 *		on numa_scan_period_min is at its floor, 256 MB each 100 ms: a larger one takes more
 *		passes' time and no more scanning a second. Base pages: its vmstat has no huge update.
 *	compute	what a thread does for an inode besides: 50 M inodes took 3.19 6m05 on 16 CPUs,
 *		that is 117 us of one CPU at most. 100 us here, most of it not for memory.
 *	pages	how many pages it comes by for an inode: its cluster, directory blocks, the chains of
 *		the hash, in which half of what is looked for is missing. No figure is published:
 *		a free assumption, as is that it writes to a quarter of them, and that all threads use
 *		all pages alike. At first each has read a share of them, to where it runs.
 *	warm	the first passes over a new cache move three quarters of it in every era. His runs
 *		took minutes, ours are seconds; so those are left out.
 *
 * What it leaves out: no thread ever sleeps for a disk, the prefetching threads (four for each
 * group in work) are not there, and no buffer is freed and read anew.
 */
#include "workload/common.h"

enum {
	P_ITERATIONS, P_SIZE, P_HUGE,
	P_NODE,				/* autonuma-benchmark */
	P_PAGES = P_NODE, P_COMPUTE, P_WARM,	/* xfs-repair */
};

#define PARAMS(iterations_, size_, huge_)                                       \
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = iterations_, \
			   .min = 1, .max = 1000000000,                         \
			   .meaning = "sweeps, or lookups, of each thread" },   \
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = size_, .min = 4096, \
		     .max = 1ULL << 40, .meaning = "bytes of memory, each process's" }, \
	[P_HUGE] = { .name = "huge", .kind = WL_INT, .def = huge_, .max = 1,    \
		     .meaning = "1: with MADV_HUGEPAGE" }

#define AUTONUMA_PARAMS(iterations_, size_)                                     \
	PARAMS(iterations_, size_, 1),                                          \
	[P_NODE] = { .name = "node", .kind = WL_INT, .def = 0,                  \
		     .max = TLBLAB_MAX_NODES - 1, .meaning = "where memory is at first" }, \
	{ .name = NULL }

static const struct wl_param numa01_params[] = { AUTONUMA_PARAMS(50, 3ULL << 30) };
static const struct wl_param local_params[] = { AUTONUMA_PARAMS(1000, 3ULL << 30) };
static const struct wl_param numa02_params[] = { AUTONUMA_PARAMS(800, 1ULL << 30) };
static const struct wl_param xfs_params[] = {
	PARAMS(15000, 2560ULL << 20, 0),
	[P_PAGES] = { .name = "pages", .kind = WL_INT, .def = 4, .min = 1, .max = 1000,
		      .meaning = "looked up for an inode, which is an iteration" },
	[P_COMPUTE] = { .name = "compute", .kind = WL_INT, .def = 100000, .max = 1000000000,
			.meaning = "what an inode takes besides, ns" },
	[P_WARM] = { .name = "warm", .kind = WL_INT, .def = 25000, .max = 1000000000,
		     .meaning = "iterations before anything is measured" },
	{ .name = NULL }
};

/* What differs. */
struct numa_kind {
	u32 processes;
	bool bound_start;	/* each thread zeroes everything first, bound to one node */
	bool main_zeroes;	/* the main thread does, before the others exist */
	bool slices;
	bool lookups;
};

static const struct numa_kind kind_numa01 = { .processes = 2, .bound_start = true };
static const struct numa_kind kind_local = {
	.processes = 2, .bound_start = true, .slices = true
};
static const struct numa_kind kind_numa02 = {
	.processes = 1, .main_zeroes = true, .slices = true
};
static const struct numa_kind kind_xfs = {
	.processes = 1, .lookups = true
};

struct numa_thread {
	struct numa_process *p;
	u32 index;		/* in the process */
	u64 state;		/* where in its random numbers it is */
	bool exists;		/* its creator's */
	s64 id;			/* likewise */
};

struct numa_process {
	u32 index;		/* const, as all but the threads' own */
	u32 threads;
	u64 addr;
	struct numa_thread *thread;
	s64 id;			/* main thread's */
	bool exists;		/* likewise */
};

struct numa {
	const struct numa_kind *kind;
	struct numa_process process[2];
	/* Inodes: shared words, on lines of their own. */
	u32 warmed __wl_line;
	u32 repaired __wl_line;
};

static bool sweep(struct wl *w, u64 addr, u64 len)
{
	int sig = w->ops->sweep(w, addr, len, true);

	if (sig)
		wl_fail(w, "sweep", sig);
	return !sig;
}

static bool bind_node(struct wl *w, s32 node)
{
	s64 ret = w->ops->set_mempolicy(w, node);

	if (ret < 0)
		wl_fail(w, "set_mempolicy", (int)-ret);
	return ret >= 0;
}

static bool zero_slice(struct wl *w, const struct numa_thread *t)
{
	u64 pages = w->param[P_SIZE] / w->page_size;
	u64 from = pages * t->index / t->p->threads, to = pages * (t->index + 1) / t->p->threads;

	return sweep(w, t->p->addr + from * w->page_size, (to - from) * w->page_size);
}

static void zero(struct wl *w, const struct numa_thread *t)
{
	bool slices = ((struct numa *)w->priv)->kind->slices;

	for (u64 i = 0; i < w->param[P_ITERATIONS] && !w->ops->stopping(w); i++)
		if (!(slices ? zero_slice(w, t) : sweep(w, t->p->addr, w->param[P_SIZE])))
			return;
}

/* A page at random, a quarter of the times to write to it. */
static bool look_up(struct wl *w, const struct numa_thread *t, u64 *state)
{
	u64 pages = w->param[P_SIZE] / w->page_size;
	int sig;

	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	sig = w->ops->sweep(w, t->p->addr + (*state >> 33) % pages * w->page_size,
			    w->page_size, !(*state >> 62));
	if (sig)
		wl_fail(w, "sweep", sig);
	return !sig;
}

/*
 * So many inodes for each thread, but whoever is free takes the next: all CPUs are busy until the
 * end.
 */
static void repair(struct wl *w, struct numa_thread *t, u32 *taken, u64 inodes)
{
	while (w->ops->add_word(w, taken, 1) <= inodes * w->threads && !w->ops->stopping(w)) {
		for (u64 page = 0; page < w->param[P_PAGES]; page++)
			if (!look_up(w, t, &t->state))
				return;
		w->ops->compute(w, w->param[P_COMPUTE]);
	}
}

static void work(struct wl *w, void *arg)
{
	struct numa_thread *t = arg;
	struct numa *n = w->priv;
	const struct numa_kind *kind = n->kind;

	/* It fills the cache by what it reads, and where it runs. */
	if (kind->lookups && zero_slice(w, t))
		repair(w, t, &n->warmed, w->param[P_WARM]);
	if (!wl_line_up(w, w->threads))
		return;
	if (kind->bound_start && (!bind_node(w, (s32)w->param[P_NODE]) ||
				  !sweep(w, t->p->addr, w->param[P_SIZE]) ||
				  !bind_node(w, -1)))
		goto out;
	if (kind->lookups)
		repair(w, t, &n->repaired, w->param[P_ITERATIONS]);
	else
		zero(w, t);
out:
	wl_finish(w, w->threads);
	wl_wait_closed(w);
}

static bool map(struct wl *w, struct numa_process *p)
{
	const u64 huge = 2ULL << 20;
	s64 ret;

	if (!wl_mmap(w, 0, w->param[P_SIZE] + huge, WL_PRIVATE_ANON, &p->addr))
		return false;
	p->addr = (p->addr + huge - 1) & ~(huge - 1);
	if (!w->param[P_HUGE])
		return true;
	ret = w->ops->madvise(w, p->addr, w->param[P_SIZE], WL_MADV_HUGEPAGE);
	if (ret < 0)
		wl_fail(w, "madvise", (int)-ret);
	return ret >= 0;
}

/* A process's first thread: it makes the others. */
static void lead(struct wl *w, void *arg)
{
	struct numa_process *p = arg;
	const struct numa *n = w->priv;
	bool ok = map(w, p);

	if (ok && n->kind->main_zeroes)
		ok = bind_node(w, (s32)w->param[P_NODE]) &&
		     sweep(w, p->addr, w->param[P_SIZE]) && bind_node(w, -1);
	for (u32 i = 1; ok && i < p->threads; i++) {
		u32 cpu = p->index * p->threads + i;

		ok = wl_spawn(w, work, &p->thread[i], cpu, &p->thread[i].id);
		p->thread[i].exists = ok;
	}
	if (ok)
		work(w, &p->thread[0]);
	else
		wl_call_off(w);
	for (u32 i = 1; i < p->threads; i++)
		if (p->thread[i].exists)
			w->ops->thread_join(w, p->thread[i].id);
}

static void numa_main(struct wl *w, const struct numa_kind *kind)
{
	struct numa *n = w->ops->alloc(w, sizeof(*n));
	struct numa_process *p;

	n->kind = kind;
	w->priv = n;
	for (u32 i = 0; i < kind->processes; i++) {
		p = &n->process[i];
		p->index = i;
		p->threads = w->threads / kind->processes;
		p->thread = w->ops->alloc(w, p->threads * sizeof(*p->thread));
		for (u32 j = 0; j < p->threads; j++)
			p->thread[j] = (struct numa_thread){
				.p = p, .index = j, .state = j + 1
			};
	}
	p = &n->process[1];
	if (kind->processes == 2) {
		p->id = w->ops->process_create(w, lead, p, wl_cpu(w, p->threads));
		if (p->id < 0) {
			wl_fail(w, "process_create", (int)-p->id);
			return;
		}
		p->exists = true;
	}
	lead(w, &n->process[0]);
	if (p->exists)
		w->ops->thread_join(w, p->id);
	if (w->failed)
		return;
	w->ops_done = w->param[P_ITERATIONS] * w->threads;
	w->ops->report_timed(w, "elapsed_s", WL_WINDOW_S, 1);
}

static void numa01_main(struct wl *w)
{
	numa_main(w, &kind_numa01);
}

static void local_main(struct wl *w)
{
	numa_main(w, &kind_local);
}

static void numa02_main(struct wl *w)
{
	numa_main(w, &kind_numa02);
}

static void xfs_main(struct wl *w)
{
	numa_main(w, &kind_xfs);
}

static const char *check_size(const struct wl *w)
{
	return w->param[P_SIZE] % w->page_size ?
		       "size: a multiple of the page size expected" : NULL;
}

static const char *check_two(const struct wl *w)
{
	return w->threads % 2 ? "two processes: an even number of threads expected" :
				check_size(w);
}

const struct workload workload_numa01 = {
	.name = "numa01",
	.summary = "two processes whose threads all zero all of their memory",
	.origin = "autonuma-benchmark; thread S3, 2015",
	.params = numa01_params, .default_threads = 48, .check = check_two, .main = numa01_main,
};

const struct workload workload_numa01_threadlocal = {
	.name = "numa01-threadlocal",
	.summary = "two processes whose threads each zero a slice of memory",
	.origin = "autonuma-benchmark (THREAD_ALLOC); thread S3, 2015",
	.params = local_params, .default_threads = 48, .check = check_two, .main = local_main,
};

const struct workload workload_numa02 = {
	.name = "numa02",
	.summary = "one process whose threads each zero a slice of memory",
	.origin = "autonuma-benchmark; thread S3, 2015",
	.params = numa02_params, .default_threads = 48, .check = check_size, .main = numa02_main,
};

const struct workload workload_numa02_smt = {
	.name = "numa02-smt",
	.summary = "numa02 with half the threads",
	.origin = "autonuma-benchmark; thread S3, 2015",
	.params = numa02_params, .default_threads = 24, .check = check_size, .main = numa02_main,
};

const struct workload workload_xfs_repair = {
	.name = "xfs-repair",
	.summary = "threads that look up pages of a large cache at random, and compute",
	.origin = "stand-in for xfs_repair; thread S3, 2015",
	.params = xfs_params, .default_threads = 34, .check = check_size, .main = xfs_main,
};
