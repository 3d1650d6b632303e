// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pageout: thread "arm64: support batched/deferred tlb shootdown" (S4, 2022-23).
 *
 * One thread; 1 MiB of shared anonymous memory, written once; then rounds of reading one byte of
 * each page and MADV_PAGEOUT of them all. Swap is zram.
 *
 * What the thread asked about and did not measure:
 *	batch=N		pages of one MADV_PAGEOUT, and so, at most, of one flush
 *	mappers=M	processes, forked, that map each page as well and read it in each round.
 *			MADV_PAGEOUT leaves such pages alone; reclaim, as kswapd would, does
 *			not. Simulated only: no system call asks for reclaim of given pages (a
 *			cgroup's memory.reclaim takes a number of bytes, whosever they are).
 *	others=WHAT	the other threads (-t) spin on their CPUs, or change the rights of a
 *			page of their own all the time, or do the same as the first on memory of
 *			their own
 */
#include "workload/common.h"

enum { P_ITERATIONS, P_SIZE, P_BATCH, P_MAPPERS, P_OTHERS, P_ACCESS };
enum { OTHERS_SPIN, OTHERS_MPROTECT, OTHERS_PAGEOUT };
enum { ACCESS_READ, ACCESS_WRITE };

static const char *const others_names[] = { "spin", "mprotect", "pageout", NULL };
static const char *const access_names[] = { "read", "write", NULL };

#define MAX_MAPPERS 256

static const struct wl_param pageout_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 10000,
			   .min = 1, .max = 1000000000, .meaning = "rounds" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 1 << 20,
		     .min = 4096, .max = 1ULL << 32,
		     .meaning = "bytes of the mapping of each thread" },
	[P_BATCH] = { .name = "batch", .kind = WL_INT, .def = 0, .max = 512,
		      .meaning = "pages of one call; 0: all" },
	[P_MAPPERS] = { .name = "mappers", .kind = WL_INT, .def = 0, .max = MAX_MAPPERS,
			.meaning = "processes that map the first thread's pages as well" },
	[P_OTHERS] = { .name = "others", .kind = WL_ENUM, .def = OTHERS_SPIN, .max = 2,
		       .values = others_names,
		       .meaning = "what threads beside the first do" },
	[P_ACCESS] = { .name = "access", .kind = WL_ENUM, .def = ACCESS_READ, .max = 1,
		       .values = access_names,
		       .meaning = "of each page in each round" },
	{ .name = NULL },
};

struct pageout_thread {
	u64 done __wl_line;	/* its own until joined: rounds, or calls of mprotect */
	u64 addr;		/* const: its mapping */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct mapper {
	s64 id;
	bool exists;
};

struct pageout {
	u64 size, batch, iterations;	/* const; bytes */
	u32 mappers, others, access;	/* const */
	struct pageout_thread *thread;	/* const */
	struct mapper mapper[MAX_MAPPERS];	/* main thread's */
	u32 stop __wl_line;
	u32 round __wl_line;		/* that mappers are to read for; from 1 */
	u32 mapped __wl_line;		/* mappers that have, of all rounds */
};

static bool access_all(struct wl *w, const struct pageout *p, u64 addr)
{
	u8 val;

	if (p->access == ACCESS_WRITE)
		return wl_touch(w, addr, p->size, w->page_size);
	for (u64 off = 0; off < p->size; off += w->page_size) {
		int sig = w->ops->load(w, addr + off, &val);

		if (sig) {
			wl_fail(w, "load", sig);
			return false;
		}
	}
	return true;
}

static bool page_out_all(struct wl *w, const struct pageout *p, u64 addr)
{
	for (u64 off = 0; off < p->size; off += p->batch) {
		u64 len = p->size - off < p->batch ? p->size - off : p->batch;
		s64 ret = p->mappers ? w->ops->reclaim(w, addr + off, len) :
				       w->ops->madvise(w, addr + off, len, WL_MADV_PAGEOUT);

		if (ret < 0) {
			wl_fail(w, p->mappers ? "reclaim of pages that other processes map" :
						"madvise(MADV_PAGEOUT)", (int)-ret);
			return false;
		}
	}
	return true;
}

/* All mappers read, and are done. */
static void let_map(struct wl *w, struct pageout *p, u32 round)
{
	if (!p->mappers)
		return;
	w->ops->set_word(w, &p->round, round);
	w->ops->spin_until(w, &p->mapped, round * p->mappers);
}

static void page_out(struct wl *w, struct pageout *p, struct pageout_thread *self)
{
	bool first = self == &p->thread[0];

	while (self->done < p->iterations && !w->ops->stopping(w)) {
		if (!access_all(w, p, self->addr))
			break;
		if (first)
			let_map(w, p, (u32)self->done + 1);
		if (!page_out_all(w, p, self->addr))
			break;
		w->ops->loop_cost(w);
		self->done++;
	}
}

/* One page, whose rights come and go; what it costs to find flushes owed, if any. */
static void change_rights(struct wl *w, struct pageout *p, struct pageout_thread *self)
{
	while (!w->ops->get_word(w, &p->stop) && !w->ops->stopping(w)) {
		u32 prot = self->done & 1 ? WL_RW : WL_PROT_READ;
		s64 ret = w->ops->mprotect(w, self->addr, w->page_size, prot);

		if (ret < 0) {
			wl_fail(w, "mprotect", (int)-ret);
			return;
		}
		self->done++;
	}
}

static void other(struct wl *w, void *arg)
{
	struct pageout_thread *self = arg;
	struct pageout *p = w->priv;

	if (!wl_line_up(w, w->threads))
		return;
	if (p->others == OTHERS_PAGEOUT) {
		page_out(w, p, self);
		wl_finish(w, w->threads);
		wl_wait_closed(w);
	} else if (p->others == OTHERS_MPROTECT) {
		change_rights(w, p, self);
	} else {
		w->ops->spin_until(w, &p->stop, 1);
	}
}

/* Another process. */
static void mapper(struct wl *w, void *arg)
{
	struct pageout *p = w->priv;

	(void)arg;
	for (u32 round = 1; round <= p->iterations; round++) {
		w->ops->spin_until(w, &p->round, round);
		if (w->ops->get_word(w, &p->stop))
			return;
		access_all(w, p, p->thread[0].addr);
		w->ops->add_word(w, &p->mapped, 1);
	}
	/* Its exit would unmap what is being reclaimed. */
	w->ops->spin_until(w, &p->stop, 1);
}

static bool spawn(struct wl *w, struct pageout *p)
{
	for (u32 i = 0; i < p->mappers; i++) {
		p->mapper[i].id = w->ops->process_create(w, mapper, NULL,
							 wl_cpu(w, w->threads + i));
		if (p->mapper[i].id < 0) {
			wl_fail(w, "fork", (int)-p->mapper[i].id);
			return false;
		}
		p->mapper[i].exists = true;
	}
	for (u32 i = 1; i < w->threads; i++) {
		if (!wl_spawn(w, other, &p->thread[i], i, &p->thread[i].id))
			return false;
		p->thread[i].exists = true;
	}
	return true;
}

static void first(struct wl *w, struct pageout *p)
{
	if (!wl_line_up(w, w->threads))
		return;
	page_out(w, p, &p->thread[0]);
	/* Others that have no end of their own: the window is the first one's. */
	wl_finish(w, p->others == OTHERS_PAGEOUT ? w->threads : 1);
	w->ops->set_word(w, &p->stop, 1);
}

static void join_all(struct wl *w, struct pageout *p)
{
	w->ops->set_word(w, &p->stop, 1);
	w->ops->set_word(w, &p->round, w->ops->get_word(w, &p->round) + 1);
	for (u32 i = 1; i < w->threads; i++)
		if (p->thread[i].exists)
			w->ops->thread_join(w, p->thread[i].id);
	for (u32 i = 0; i < p->mappers; i++)
		if (p->mapper[i].exists)
			w->ops->thread_join(w, p->mapper[i].id);
}

static void report(struct wl *w, const struct pageout *p)
{
	u64 rounds = p->thread[0].done, calls = 0;

	for (u32 i = 1; i < w->threads; i++) {
		if (p->others == OTHERS_PAGEOUT)
			rounds += p->thread[i].done;
		else if (p->others == OTHERS_MPROTECT)
			calls += p->thread[i].done;
	}
	w->ops_done = rounds * (p->size / w->page_size);
	w->ops->report_timed(w, "pageout_s", WL_WINDOW_S, 1);
	w->ops->report_timed(w, "per_page_us", WL_WINDOW_US_PER,
			     (double)p->thread[0].done * (double)(p->size / w->page_size));
	if (calls)
		w->ops->report_timed(w, "mprotects_per_s", WL_PER_S, (double)calls);
}

static bool map_all(struct wl *w, struct pageout *p)
{
	for (u32 i = 0; i < w->threads; i++)
		if (!wl_mmap(w, 0, p->size, WL_SHARED_ANON, &p->thread[i].addr) ||
		    !wl_touch(w, p->thread[i].addr, p->size, w->page_size))
			return false;
	return true;
}

static void pageout_main(struct wl *w)
{
	struct pageout *p = w->ops->alloc(w, sizeof(*p));

	p->size = w->param[P_SIZE];
	p->batch = w->param[P_BATCH] ? w->param[P_BATCH] * w->page_size : p->size;
	p->iterations = w->param[P_ITERATIONS];
	p->mappers = (u32)w->param[P_MAPPERS];
	p->others = (u32)w->param[P_OTHERS];
	p->access = (u32)w->param[P_ACCESS];
	p->thread = w->ops->alloc(w, w->threads * sizeof(*p->thread));
	w->priv = p;
	if (!map_all(w, p))
		return;
	if (spawn(w, p))
		first(w, p);
	else
		wl_call_off(w);
	join_all(w, p);
	report(w, p);
}

static const char *pageout_check(const struct wl *w)
{
	if (w->param[P_SIZE] % w->page_size)
		return "size: a multiple of the page size expected";
	if (w->param[P_ITERATIONS] * (w->param[P_MAPPERS] + 1) >= 1ULL << 32)
		return "iterations: fewer expected with so many mappers";
	return NULL;
}

const struct workload workload_pageout = {
	.name = "pageout",
	.summary = "read pages and send them to swap with MADV_PAGEOUT",
	.origin = "Barry Song and Yicong Yang, \"arm64: support batched/deferred tlb "
		  "shootdown during page reclamation\", 2022-23",
	.params = pageout_params,
	.default_threads = 1,
	.check = pageout_check,
	.main = pageout_main,
};
