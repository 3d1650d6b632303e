// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shm-attach: thread "powerpc/mm: Use PID flush instead of 32 tlbies" (S2, 2021).
 *
 * A worker attaches a System V segment, writes every page of it and detaches it again:
 * one unit. The segment keeps its pages, so a write costs a fault but no allocation; and
 * since the pages are dirty, the kernel flushes once for each page table that it
 * zaps. Another thread of the process, the controller, has run on another CPU and
 * sleeps there: without it, or if the kernel takes its CPU out of the mm's mask, all
 * flushes are local ones. The program of the thread was not posted; this is what its
 * description and its counts leave possible (docs/threads.md).
 *
 * A page beside the segments stays mapped, as a program's libraries do, so that of the
 * page tables only those of the segment itself come and go.
 *
 * chase=PAGES: after each unit the worker walks dependent loads over so many pages that
 * stay mapped, which is what a flush of everything costs itself. chasers=N: N
 * threads on other CPUs do so all the time, which is what it costs others.
 */
#include "workload/common.h"
#include "workload/figures.h"

#define TWO_MIB (2ULL << 20)

enum {
	P_ITERATIONS, P_SIZE, P_CHASE, P_LOADS, P_CHASERS, P_CONTROLLER, P_SHIFT, P_HINT,
};
enum { CONTROLLER_NONE, CONTROLLER_SLEEP, CONTROLLER_SPIN };

static const char *const controllers[] = { "none", "sleep", "spin", NULL };

static const struct wl_param shm_attach_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 1000,
			   .min = 1, .max = 1 << 30,
			   .meaning = "units of each worker" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 256ULL << 20,
		     .min = 4096, .max = 1ULL << 36,
		     .meaning = "bytes of a worker's segment" },
	[P_CHASE] = { .name = "chase", .kind = WL_INT, .def = 0,
		      .min = 0, .max = 1 << 24,
		      .meaning = "pages that stay, and are loaded from after each unit" },
	[P_LOADS] = { .name = "loads", .kind = WL_INT, .def = 0,
		      .min = 0, .max = 1 << 30,
		      .meaning = "dependent loads after each unit (0: one for each page)" },
	[P_CHASERS] = { .name = "chasers", .kind = WL_INT, .def = 0,
			.min = 0, .max = TLBLAB_MAX_THREADS - 2,
			.meaning = "threads that load from such a set all the time" },
	[P_CONTROLLER] = { .name = "controller", .kind = WL_ENUM, .def = CONTROLLER_SLEEP,
			   .max = 2, .values = controllers,
			   .meaning = "what one more thread, on a CPU of its own, does" },
	[P_SHIFT] = { .name = "shift", .kind = WL_INT, .def = 0,
		      .min = 0, .max = TWO_MIB / 4096 - 1,
		      .meaning = "pages from a multiple of 2 MiB to the attach" },
	[P_HINT] = { .name = "hint", .kind = WL_ADDR, .def = 0x2000000000ULL,
		     .min = TWO_MIB, .max = 1ULL << 46,
		     .meaning = "where the first segment is attached, less shift" },
	{ .name = NULL },
};

struct shm_worker {
	u64 done __wl_line;	/* its own until joined, like all but the last two */
	u64 loads, refill_ps;
	u64 addr, chase_base;	/* const */
	s64 segment;		/* const once attach_first() was called */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

/* Threads that are not workers: the controller, then chasers. */
struct shm_other {
	u64 loads __wl_line;	/* its own until joined */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct shm_attach {
	u64 iterations, size, loads, chase_base;	/* const */
	u32 chase, chasers, controller;			/* const */
	u32 nr_others, nr_threads;			/* const: without, with workers */
	u32 *next;		/* const: the order of the loads */
	struct shm_worker *worker;	/* const */
	struct shm_other *other;	/* const */
	u32 left;		/* workers that are through */
	u32 stop __wl_line;	/* ends the chasers */
};

static bool shm_unit(struct wl *w, const struct shm_attach *p, const struct shm_worker *self)
{
	s64 at = w->ops->shmat(w, self->segment, self->addr);
	int err;

	if (at < 0) {
		wl_fail(w, "shmat", (int)-at);
		return false;
	}
	if (!wl_touch(w, (u64)at, p->size, w->page_size))
		return false;
	err = (int)w->ops->shmdt(w, (u64)at);
	if (err)
		wl_fail(w, "shmdt", -err);
	return !err;
}

/* Each load's address hangs on the value that the one before it gave: 0 or 1, halved. */
static bool shm_refill(struct wl *w, const struct shm_attach *p, struct shm_worker *self)
{
	u64 t0 = w->ops->now_ps(w);
	u32 page = 0;
	u8 val = 0;

	for (u64 i = 0; i < p->loads; i++) {
		int sig = w->ops->load(w, self->chase_base + (u64)page * w->page_size +
				       (val >> 1), &val);

		if (sig) {
			wl_fail(w, "load", sig);
			return false;
		}
		page = p->next[page];
	}
	self->loads += p->loads;
	self->refill_ps += w->ops->now_ps(w) - t0;
	return true;
}

static void shm_loop(struct wl *w, struct shm_attach *p, struct shm_worker *self)
{
	while (self->done < p->iterations && !w->ops->stopping(w)) {
		if (!shm_unit(w, p, self) || (p->chase && !shm_refill(w, p, self)))
			return;
		w->ops->loop_cost(w);
		self->done++;
	}
}

static void worker(struct wl *w, void *arg)
{
	struct shm_attach *p = w->priv;

	if (!wl_line_up(w, p->nr_threads))
		return;
	shm_loop(w, p, arg);
	if (w->ops->add_word(w, &p->left, 1) == w->threads)
		w->ops->set_word(w, &p->stop, 1);
	wl_finish(w, w->threads);
	wl_wait_closed(w);
}

static void controller(struct wl *w, void *arg)
{
	struct shm_attach *p = w->priv;

	(void)arg;
	if (!wl_line_up(w, p->nr_threads))
		return;
	if (p->controller == CONTROLLER_SPIN)
		wl_spin_closed(w);
	else
		wl_wait_closed(w);
}

static void chaser(struct wl *w, void *arg)
{
	struct shm_attach *p = w->priv;
	struct shm_other *self = arg;
	int sig;

	if (!wl_line_up(w, p->nr_threads))
		return;
	sig = w->ops->chase(w, p->chase_base, p->chase, &p->stop, &self->loads);
	if (sig)
		wl_fail(w, "load of a chaser", sig);
}

/* The sets: one for each worker, one for all chasers. */
static bool map_sets(struct wl *w, struct shm_attach *p)
{
	u64 set = (u64)p->chase * w->page_size;
	u64 size = set * (w->threads + (p->chasers ? 1 : 0));

	if (!p->chase)
		return true;
	p->next = w->ops->alloc(w, p->chase * sizeof(*p->next));
	wl_cycle(p->next, p->chase);
	if (!wl_mmap(w, 0, size, WL_PRIVATE_ANON, &p->chase_base) ||
	    !wl_touch(w, p->chase_base, size, w->page_size))
		return false;
	for (u32 i = 0; i < w->threads; i++)
		p->worker[i].chase_base = p->chase_base + (i + 1) * set;
	if (!p->chasers)
		for (u32 i = 0; i < w->threads; i++)
			p->worker[i].chase_base -= set;
	return true;
}

/* Behind the last segment, if that is free. */
static bool map_anchor(struct wl *w, const struct shm_attach *p)
{
	u64 addr, size = w->page_size;

	return wl_mmap(w, p->worker[w->threads - 1].addr + p->size, size, WL_PRIVATE_ANON,
		       &addr) && wl_touch(w, addr, size, size);
}

/* The first unit of each segment, which allocates its pages, is not measured. */
static bool attach_first(struct wl *w, struct shm_attach *p)
{
	u64 stride = (p->size + 2 * TWO_MIB - 1) & ~(TWO_MIB - 1);

	for (u32 i = 0; i < w->threads; i++) {
		struct shm_worker *t = &p->worker[i];

		t->addr = w->param[P_HINT] + i * stride + w->param[P_SHIFT] * w->page_size;
		t->segment = w->ops->shmget(w, p->size);
		if (t->segment < 0) {
			wl_fail(w, "shmget", (int)-t->segment);
			return false;
		}
		if (!shm_unit(w, p, t))
			return false;
	}
	return map_anchor(w, p);
}

static bool spawn(struct wl *w, struct shm_attach *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		if (!wl_spawn(w, worker, &p->worker[i], i, &p->worker[i].id))
			return false;
		p->worker[i].exists = true;
	}
	for (u32 i = 0; i < p->nr_others; i++) {
		struct shm_other *t = &p->other[i];
		bool control = p->controller && !i;

		if (!wl_spawn(w, control ? controller : chaser, t, w->threads + i, &t->id))
			return false;
		t->exists = true;
	}
	return true;
}

static void join(struct wl *w, struct shm_attach *p)
{
	for (u32 i = 0; i < w->threads; i++) {
		if (p->worker[i].exists)
			w->ops->thread_join(w, p->worker[i].id);
		w->ops_done += p->worker[i].done;
	}
	for (u32 i = 0; i < p->nr_others; i++)
		if (p->other[i].exists)
			w->ops->thread_join(w, p->other[i].id);
}

static void report(struct wl *w, const struct shm_attach *p)
{
	u64 loads = 0, ps = 0;

	if (!w->ops_done)
		return;
	for (u32 i = 0; i < w->threads; i++) {
		loads += p->worker[i].loads;
		ps += p->worker[i].refill_ps;
	}
	w->ops->report_timed(w, "unit_us", WL_WINDOW_US_PER,
			     (double)w->ops_done / w->threads);
	if (loads)
		w->ops->report(w, "ns_per_load", (double)ps / 1000 / (double)loads);
}

static void setup(struct wl *w, struct shm_attach *p)
{
	p->iterations = w->param[P_ITERATIONS];
	p->size = w->param[P_SIZE];
	p->chase = (u32)w->param[P_CHASE];
	p->loads = w->param[P_LOADS] ? w->param[P_LOADS] : p->chase;
	p->chasers = (u32)w->param[P_CHASERS];
	p->controller = (u32)w->param[P_CONTROLLER];
	p->nr_others = p->chasers + (p->controller ? 1 : 0);
	p->nr_threads = w->threads + p->nr_others;
	p->worker = w->ops->alloc(w, w->threads * sizeof(*p->worker));
	p->other = w->ops->alloc(w, (p->nr_others + 1) * sizeof(*p->other));
	for (u32 i = 0; i < w->threads; i++)
		p->worker[i].segment = -1;
	w->priv = p;
}

static void shm_attach_main(struct wl *w)
{
	struct shm_attach *p = w->ops->alloc(w, sizeof(*p));

	setup(w, p);
	if (map_sets(w, p) && attach_first(w, p)) {
		if (spawn(w, p))
			worker(w, &p->worker[0]);
		else
			wl_call_off(w);
		join(w, p);
	}
	for (u32 i = 0; i < w->threads; i++)
		if (p->worker[i].segment >= 0)
			w->ops->shm_rmid(w, p->worker[i].segment);
	report(w, p);
}

static const char *shm_attach_check(const struct wl *w)
{
	u32 others = (u32)w->param[P_CHASERS] + (w->param[P_CONTROLLER] ? 1 : 0);

	if (w->param[P_SIZE] % w->page_size)
		return "size: whole pages expected";
	if (w->param[P_HINT] % TWO_MIB)
		return "hint: a multiple of 2M expected (shift moves the attach)";
	if (w->param[P_SHIFT] * w->page_size >= TWO_MIB)
		return "shift: fewer pages than 2 MiB has expected";
	if (w->param[P_CHASERS] && !w->param[P_CHASE])
		return "chase: chasers need at least one page to load from";
	if (w->param[P_LOADS] && !w->param[P_CHASE])
		return "chase: loads need at least one page to load from";
	if (w->threads + others > TLBLAB_MAX_THREADS)
		return "chasers: too many threads, all together";
	if (w->pin && w->threads + others > w->nr_cpus)
		return "--pin: the controller and chasers need CPUs of their own, too";
	return NULL;
}

const struct workload workload_shm_attach = {
	.name = "shm-attach",
	.summary = "shmat, write every page and shmdt of a 256 MiB segment",
	.origin = "Aneesh Kumar K.V, \"powerpc/mm/radix: PID flush instead of 32 tlbies\", 2021",
	.params = shm_attach_params,
	.default_threads = 1,
	.check = shm_attach_check,
	.main = shm_attach_main,
};
