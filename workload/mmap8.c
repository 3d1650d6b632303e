// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mmap8: Jan Stancek's reproducer of the thread "mm: mmu_gather: remove
 * __tlb_reset_range() for force flush" (May 2019).
 *
 * Threads without a barrier between them map 16 MiB of shared anonymous memory
 * at one hint, write a byte, MADV_DONTNEED all of it, and unmap it. The madvise
 * of one runs under the read lock while the munmap of another, downgraded, does
 * too: two gathers in flight on one mm, each of which sees the other.
 *
 * order=turns: one whole iteration each, round-robin, while the others spin in
 * user mode. Nothing overlaps then, so what is counted is repeatable.
 *
 * chasers=N chase=PAGES: N more threads chase pointers through one resident
 * private set of as many pages for as long as the workers work. Their loads per
 * second are the price of every translation that was flushed in vain: the
 * control that the thread asked for.
 */
#include "workload/common.h"

enum { P_ITERATIONS, P_SIZE, P_TOUCH, P_HINT, P_ORDER, P_CHASERS, P_CHASE };

static const char *const orders[] = { "free", "turns", NULL };

static const struct wl_param mmap8_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 100000,
			   .min = 1, .max = 1000000000,
			   .meaning = "iterations of each thread" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 16 << 20,
		     .min = 4096, .max = 1ULL << 40,
		     .meaning = "bytes that an iteration maps" },
	[P_TOUCH] = { .name = "touch", .kind = WL_INT, .def = 1,
		      .min = 0, .max = 1 << 28,
		      .meaning = "pages written, from the first on" },
	[P_HINT] = { .name = "hint", .kind = WL_ADDR, .def = 0,
		     .min = 0, .max = 1ULL << 52,
		     .meaning = "address asked for; 0: middle of a free 2 GiB" },
	[P_ORDER] = { .name = "order", .kind = WL_ENUM, .def = 0, .max = 1,
		      .values = orders,
		      .meaning = "free, or strict turns while the others spin" },
	[P_CHASERS] = { .name = "chasers", .kind = WL_INT, .def = 0,
			.min = 0, .max = TLBLAB_MAX_THREADS - 1,
			.meaning = "threads that chase pointers meanwhile" },
	[P_CHASE] = { .name = "chase", .kind = WL_INT, .def = 0,
		      .min = 0, .max = 1 << 24,
		      .meaning = "pages of the resident set they chase through" },
	{ .name = NULL },
};

struct mmap8_thread {
	/* Its turn: set by the worker before it, cleared by itself. */
	u32 go __wl_line;
	u32 index __wl_line;	/* const */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
	u64 done;		/* iterations (worker); its own until joined */
	u64 loads;		/* of a chaser; its own until joined */
};

struct mmap8 {
	u64 hint, size, touch, iterations, chase_base;	/* const */
	u32 nr_chasers, nr_threads, chase_pages;	/* const */
	bool turns;					/* const */
	struct mmap8_thread *thread;	/* const: workers, then chasers */
	u32 left __wl_line;	/* workers that have left their loop */
	u32 stop __wl_line;	/* ends the chasers */
	u32 quit __wl_line;	/* turns: somebody left early, all shall */
};

static bool mmap8_iterate(struct wl *w, const struct mmap8 *p)
{
	u64 addr;

	if (w->ops->stopping(w))
		return false;
	if (!wl_mmap(w, p->hint, p->size, WL_SHARED_ANON, &addr))
		return false;
	if (!wl_touch(w, addr, p->touch * w->page_size, w->page_size) ||
	    !wl_dontneed(w, addr, p->size) || !wl_munmap(w, addr, p->size))
		return false;
	w->ops->loop_cost(w);
	return true;
}

static void mmap8_free_order(struct wl *w, struct mmap8 *p,
			     struct mmap8_thread *self)
{
	while (self->done < p->iterations && mmap8_iterate(w, p))
		self->done++;
}

/*
 * Whoever leaves early still passes its turn on, and says so first, or the
 * next would wait for ever. Threads that are already through are passed to
 * in vain, which harms nobody.
 */
static void mmap8_turns(struct wl *w, struct mmap8 *p, struct mmap8_thread *self)
{
	struct mmap8_thread *next = &p->thread[(self->index + 1) % w->threads];
	const struct wl_ops *ops = w->ops;
	bool quit = false;

	while (self->done < p->iterations && !quit) {
		ops->spin_until(w, &self->go, 1);
		ops->set_word(w, &self->go, 0);
		quit = ops->get_word(w, &p->quit) || !mmap8_iterate(w, p);
		if (quit)
			ops->set_word(w, &p->quit, 1);
		else
			self->done++;
		ops->set_word(w, &next->go, 1);
	}
}

static void mmap8_worker(struct wl *w, void *arg)
{
	struct mmap8_thread *self = arg;
	struct mmap8 *p = w->priv;

	if (!wl_line_up(w, p->nr_threads))
		return;
	if (p->turns)
		mmap8_turns(w, p, self);
	else
		mmap8_free_order(w, p, self);
	if (p->nr_chasers && w->ops->add_word(w, &p->left, 1) == w->threads)
		w->ops->set_word(w, &p->stop, 1);
	wl_finish(w, w->threads);
	if (p->turns)
		wl_spin_closed(w);
	else
		wl_wait_closed(w);
}

static void mmap8_chaser(struct wl *w, void *arg)
{
	struct mmap8_thread *self = arg;
	struct mmap8 *p = w->priv;
	int sig;

	if (!wl_line_up(w, p->nr_threads))
		return;
	sig = w->ops->chase(w, p->chase_base, p->chase_pages, &p->stop,
			    &self->loads);
	if (sig)
		wl_fail(w, "load of a chaser", sig);
}

/* The resident set: there before the hint is looked for, so that it is apart. */
static bool mmap8_map_chase(struct wl *w, struct mmap8 *p)
{
	u64 size = (u64)p->chase_pages * w->page_size;

	if (!p->nr_chasers)
		return true;
	return wl_mmap(w, 0, size, WL_PRIVATE_ANON, &p->chase_base) &&
	       wl_touch(w, p->chase_base, size, w->page_size);
}

/* Thread 0 is here already; those that could not be created stay 0. */
static bool mmap8_spawn(struct wl *w, struct mmap8 *p)
{
	for (u32 i = 0; i < p->nr_threads; i++) {
		struct mmap8_thread *t = &p->thread[i];
		bool worker = i < w->threads;

		t->index = i;
		if (i && !wl_spawn(w, worker ? mmap8_worker : mmap8_chaser, t, i,
				   &t->id))
			return false;
		t->exists = i;
	}
	return true;
}

static void mmap8_join(struct wl *w, struct mmap8 *p)
{
	for (u32 i = 0; i < p->nr_threads; i++) {
		if (p->thread[i].exists)
			w->ops->thread_join(w, p->thread[i].id);
		w->ops_done += p->thread[i].done;
	}
}

static void mmap8_main(struct wl *w)
{
	struct mmap8 *p = w->ops->alloc(w, sizeof(*p));

	p->iterations = w->param[P_ITERATIONS];
	p->size = w->param[P_SIZE];
	p->touch = w->param[P_TOUCH];
	p->turns = w->param[P_ORDER];
	p->nr_chasers = (u32)w->param[P_CHASERS];
	p->chase_pages = (u32)w->param[P_CHASE];
	p->nr_threads = w->threads + p->nr_chasers;
	p->thread = w->ops->alloc(w, p->nr_threads * sizeof(*p->thread));
	p->thread[0].go = 1;
	w->priv = p;
	if (!mmap8_map_chase(w, p))
		return;
	p->hint = wl_hint(w, w->param[P_HINT]);
	if (!p->hint)
		return;
	if (mmap8_spawn(w, p))
		mmap8_worker(w, &p->thread[0]);
	else
		wl_call_off(w);
	mmap8_join(w, p);
}

static const char *mmap8_check(const struct wl *w)
{
	if (w->param[P_TOUCH] * w->page_size > w->param[P_SIZE])
		return "touch: more pages than size has";
	if (w->param[P_CHASERS] && !w->param[P_CHASE])
		return "chase: chasers need at least one page to chase through";
	if (w->threads + w->param[P_CHASERS] > TLBLAB_MAX_THREADS)
		return "chasers: too many threads, chasers and workers together";
	return NULL;
}

const struct workload workload_mmap8 = {
	.name = "mmap8",
	.summary = "mmap, write, MADV_DONTNEED and munmap 16 MiB, in 16 threads",
	.origin = "Jan Stancek, \"mm: mmu_gather: remove __tlb_reset_range() for force flush\", 2019",
	.params = mmap8_params,
	.default_threads = 16,
	.check = mmap8_check,
	.main = mmap8_main,
};
