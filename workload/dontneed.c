// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dontneed: one shared anonymous mapping, kept; each iteration writes its first
 * N pages and gives all of it back with MADV_DONTNEED. With one thread it
 * shows where a kernel turns from page-wise to whole-mm flushes.
 */
#include "workload/common.h"

enum { P_ITERATIONS, P_SIZE, P_TOUCH, P_HINT };

static const struct wl_param dontneed_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 10000,
			   .min = 1, .max = 1000000000,
			   .meaning = "iterations of each thread" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 16 << 20,
		     .min = 4096, .max = 1ULL << 40,
		     .meaning = "bytes of the mapping" },
	[P_TOUCH] = { .name = "touch", .kind = WL_INT, .def = 1,
		      .min = 0, .max = 1 << 28,
		      .meaning = "pages written, from the first on" },
	[P_HINT] = { .name = "hint", .kind = WL_ADDR, .def = 0,
		     .min = 0, .max = 1ULL << 52,
		     .meaning = "address asked for; 0: middle of a free 2 GiB" },
	{ .name = NULL },
};

struct dontneed_thread {
	u64 done __wl_line;	/* its own until joined */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct dontneed {
	u64 addr, size, touch, iterations;	/* const */
	struct dontneed_thread *worker;		/* const */
};

static void dontneed_worker(struct wl *w, void *arg)
{
	struct dontneed_thread *self = arg;
	const struct dontneed *p = w->priv;

	if (!wl_line_up(w, w->threads))
		return;
	while (self->done < p->iterations && !w->ops->stopping(w)) {
		if (!wl_touch(w, p->addr, p->touch * w->page_size, w->page_size) ||
		    !wl_dontneed(w, p->addr, p->size))
			break;
		w->ops->loop_cost(w);
		self->done++;
	}
	wl_finish(w, w->threads);
	wl_wait_closed(w);
}

static bool dontneed_spawn(struct wl *w, struct dontneed *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		if (!wl_spawn(w, dontneed_worker, &p->worker[i], i, &p->worker[i].id))
			return false;
		p->worker[i].exists = true;
	}
	return true;
}

static void dontneed_main(struct wl *w)
{
	struct dontneed *p = w->ops->alloc(w, sizeof(*p));
	u64 hint;

	p->iterations = w->param[P_ITERATIONS];
	p->size = w->param[P_SIZE];
	p->touch = w->param[P_TOUCH];
	p->worker = w->ops->alloc(w, w->threads * sizeof(*p->worker));
	w->priv = p;
	hint = wl_hint(w, w->param[P_HINT]);
	if (!hint || !wl_mmap(w, hint, p->size, WL_SHARED_ANON, &p->addr))
		return;
	if (dontneed_spawn(w, p))
		dontneed_worker(w, &p->worker[0]);
	else
		wl_call_off(w);
	for (u32 i = 0; i < w->threads; i++) {
		if (p->worker[i].exists)
			w->ops->thread_join(w, p->worker[i].id);
		w->ops_done += p->worker[i].done;
	}
	wl_munmap(w, p->addr, p->size);
}

static const char *dontneed_check(const struct wl *w)
{
	if (w->param[P_TOUCH] * w->page_size > w->param[P_SIZE])
		return "touch: more pages than size has";
	return NULL;
}

const struct workload workload_dontneed = {
	.name = "dontneed",
	.summary = "write N pages of one mapping and MADV_DONTNEED all of it",
	.origin = "tlblab; thresholds of flush_tlb_mm_range() and its kin",
	.params = dontneed_params,
	.default_threads = 1,
	.check = dontneed_check,
	.main = dontneed_main,
};
