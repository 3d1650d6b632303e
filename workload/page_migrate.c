// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page-migrate: memory that moves between nodes, as pmbench's did for thread S4 and for
 * Huang Ying's batched migrate_pages() (6.3): a private mapping, written once, and then
 * move_pages() of all of it to the nodes in turn. The other threads keep their CPUs in the
 * mm's mask, and have the pages in their TLBs: they read them all the time, or spin.
 */
#include "workload/common.h"

enum { P_ITERATIONS, P_SIZE, P_NODES, P_OTHERS };
enum { OTHERS_SPIN, OTHERS_READ };

static const char *const others_names[] = { "spin", "read", NULL };

static const struct wl_param page_migrate_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 20,
			   .min = 1, .max = 1000000, .meaning = "moves of all the memory" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 16 << 20,
		     .min = 4096, .max = 1ULL << 40, .meaning = "bytes that move" },
	[P_NODES] = { .name = "nodes", .kind = WL_INT, .def = 2, .max = TLBLAB_MAX_NODES,
		      .meaning = "nodes in turn; 0: to other frames, anywhere (simulated)" },
	[P_OTHERS] = { .name = "others", .kind = WL_ENUM, .def = OTHERS_SPIN, .max = 1,
		       .values = others_names,
		       .meaning = "what threads beside the first do" },
	{ .name = NULL },
};

struct migrate_thread {
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct page_migrate {
	u64 addr, size;			/* const */
	u32 others;			/* const */
	struct migrate_thread *thread;	/* const */
	u64 left;			/* main thread's: pages that did not move */
	u32 stop __wl_line;
};

static void other(struct wl *w, void *arg)
{
	struct page_migrate *p = w->priv;
	u64 off = 0;
	u8 val;

	(void)arg;
	if (!wl_line_up(w, w->threads))
		return;
	if (p->others == OTHERS_SPIN) {
		w->ops->spin_until(w, &p->stop, 1);
		return;
	}
	while (!w->ops->get_word(w, &p->stop)) {
		int sig = w->ops->load(w, p->addr + off, &val);

		if (sig) {
			wl_fail(w, "load", sig);
			return;
		}
		off = off + w->page_size < p->size ? off + w->page_size : 0;
	}
}

static void move(struct wl *w, struct page_migrate *p)
{
	u64 pages = p->size / w->page_size;

	if (!wl_line_up(w, w->threads))
		return;
	for (u64 i = 0; i < w->param[P_ITERATIONS] && !w->ops->stopping(w); i++) {
		s32 node = w->param[P_NODES] ? (s32)((i + 1) % w->param[P_NODES]) : -1;
		s64 ret = w->ops->move_pages(w, p->addr, pages, node);

		if (ret < 0) {
			wl_fail(w, "move_pages", (int)-ret);
			break;
		}
		p->left += (u64)ret;
		w->ops_done += pages;
	}
	wl_finish(w, 1);
	w->ops->set_word(w, &p->stop, 1);
}

static bool spawn(struct wl *w, struct page_migrate *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		if (!wl_spawn(w, other, NULL, i, &p->thread[i].id))
			return false;
		p->thread[i].exists = true;
	}
	return true;
}

static void page_migrate_main(struct wl *w)
{
	struct page_migrate *p = w->ops->alloc(w, sizeof(*p));

	p->size = w->param[P_SIZE];
	p->others = (u32)w->param[P_OTHERS];
	p->thread = w->ops->alloc(w, w->threads * sizeof(*p->thread));
	w->priv = p;
	if (!wl_mmap(w, 0, p->size, WL_PRIVATE_ANON, &p->addr) ||
	    !wl_touch(w, p->addr, p->size, w->page_size))
		return;
	if (spawn(w, p))
		move(w, p);
	else
		wl_call_off(w);
	for (u32 i = 1; i < w->threads; i++)
		if (p->thread[i].exists)
			w->ops->thread_join(w, p->thread[i].id);
	if (!w->ops_done)
		return;
	w->ops->report_timed(w, "move_s", WL_WINDOW_S, 1);
	w->ops->report_timed(w, "per_page_us", WL_WINDOW_US_PER, (double)w->ops_done);
	w->ops->report_timed(w, "pages_per_s", WL_PER_S, (double)w->ops_done);
	w->ops->report(w, "pages_left", (double)p->left);
}

static const char *page_migrate_check(const struct wl *w)
{
	return w->param[P_SIZE] % w->page_size ?
		       "size: a multiple of the page size expected" : NULL;
}

const struct workload workload_page_migrate = {
	.name = "page-migrate",
	.summary = "move_pages() of memory between nodes, in turn",
	.origin = "Huang Ying, \"migrate_pages(): batch TLB flushing\", 2023; pmbench, thread S4",
	.params = page_migrate_params,
	.default_threads = 1,
	.check = page_migrate_check,
	.main = page_migrate_main,
};
