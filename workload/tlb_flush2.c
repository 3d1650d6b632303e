// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlb-flush2: will-it-scale's tests/tlb_flush2.c. Each worker maps 1 MiB of private memory;
 * of each page in turn it writes a byte, gives the page back with MADV_DONTNEED and reads
 * the byte, which must be 0; then it unmaps. An operation is a page.
 *
 * As threads, each page is a flush on all CPUs of the process and two faults under one
 * mmap_lock; as processes, nobody disturbs anybody.
 */
#include "workload/common.h"

enum { P_ITERATIONS, P_SIZE, P_BY };
enum { BY_THREADS, BY_PROCESSES };

static const char *const by_values[] = { "threads", "processes", NULL };

static const struct wl_param tlb_flush2_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 100,
			   .min = 1, .max = 1000000000,
			   .meaning = "mappings of each worker, one after the other" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 1 << 20,
		     .min = 4096, .max = 1ULL << 40,
		     .meaning = "bytes of a mapping" },
	[P_BY] = { .name = "by", .kind = WL_ENUM, .def = BY_THREADS, .max = 1,
		   .values = by_values,
		   .meaning = "workers are threads of one process, or processes" },
	{ .name = NULL },
};

struct flush2_worker {
	u64 done __wl_line;	/* its own until joined */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct flush2 {
	u64 size, iterations;		/* const */
	struct flush2_worker *worker;	/* const */
};

/* EBADMSG: a page that was given back still has what was written. */
#define STALE 74

static bool flush2_page(struct wl *w, u64 addr)
{
	u8 val = 0;
	int sig;

	if (!wl_touch(w, addr, 1, 1) || !wl_dontneed(w, addr, w->page_size))
		return false;
	sig = w->ops->load(w, addr, &val);
	if (sig || val)
		wl_fail(w, sig ? "load" : "reading zero", sig ? sig : STALE);
	return !sig && !val;
}

static bool flush2_mapping(struct wl *w, const struct flush2 *p, u64 *done)
{
	u64 addr;

	if (!wl_mmap(w, 0, p->size, WL_PRIVATE_ANON, &addr))
		return false;
	for (u64 off = 0; off < p->size; off += w->page_size) {
		if (!flush2_page(w, addr + off))
			return false;
		w->ops->loop_cost(w);
		(*done)++;
	}
	return wl_munmap(w, addr, p->size);
}

static void flush2_worker(struct wl *w, void *arg)
{
	struct flush2_worker *self = arg;
	const struct flush2 *p = w->priv;

	if (!wl_line_up(w, w->threads))
		return;
	for (u64 i = 0; i < p->iterations && !w->ops->stopping(w); i++)
		if (!flush2_mapping(w, p, &self->done))
			break;
	wl_finish(w, w->threads);
	wl_wait_closed(w);
}

static bool flush2_spawn(struct wl *w, struct flush2 *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		struct flush2_worker *worker = &p->worker[i];

		if (w->param[P_BY] == BY_PROCESSES ?
		    !wl_spawn_process(w, flush2_worker, worker, i, &worker->id) :
		    !wl_spawn(w, flush2_worker, worker, i, &worker->id))
			return false;
		worker->exists = true;
	}
	return true;
}

static void flush2_main(struct wl *w)
{
	struct flush2 *p = w->ops->alloc(w, sizeof(*p));

	p->iterations = w->param[P_ITERATIONS];
	p->size = w->param[P_SIZE];
	p->worker = w->ops->alloc(w, w->threads * sizeof(*p->worker));
	w->priv = p;
	if (flush2_spawn(w, p))
		flush2_worker(w, &p->worker[0]);
	else
		wl_call_off(w);
	for (u32 i = 0; i < w->threads; i++) {
		if (p->worker[i].exists)
			w->ops->thread_join(w, p->worker[i].id);
		w->ops_done += p->worker[i].done;
	}
}

const struct workload workload_tlb_flush2 = {
	.name = "tlb-flush2",
	.summary = "write, MADV_DONTNEED and read page after page of 1 MiB",
	.origin = "will-it-scale, tests/tlb_flush2.c",
	.params = tlb_flush2_params,
	.default_threads = 2,
	.main = flush2_main,
};
