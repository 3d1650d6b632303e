// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * munmap-thp: thread "Avoid IPI while updating page table entries" (S1, 2019-20).
 *
 * N GiB of private anonymous memory, aligned to 2 MiB, MADV_HUGEPAGE, one byte written to each
 * 2 MiB; then one munmap of it all, which is the window. The other threads, one per CPU
 * when pinned, keep their CPUs in the mm's mask: they spin, or, the first walkers=W of
 * them, walk the page tables of a set of their own as the kernel does without locks.
 *
 * On POWER up to 5.7 each 2 MiB costs an interrupt to all those CPUs and the wait for them.
 * How long the munmap takes is what the thread measured; what its remedies cost the
 * walkers, it did not.
 */
#include "workload/common.h"

#define HUGE (2ULL << 20)

enum { P_SIZE, P_WALKERS, P_WALK, P_SET };
enum { WALK_LOOKUP, WALK_GUP_FAST, WALK_FAULT };

static const char *const walks[] = { "lookup", "gup_fast", "fault", NULL };

static const struct wl_param munmap_thp_params[] = {
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 496ULL << 30,
		     .min = HUGE, .max = 1ULL << 44,
		     .meaning = "bytes mapped, written and unmapped" },
	[P_WALKERS] = { .name = "walkers", .kind = WL_INT, .def = 0,
			.min = 0, .max = TLBLAB_MAX_THREADS - 1,
			.meaning = "threads that walk instead of spinning" },
	[P_WALK] = { .name = "walk", .kind = WL_ENUM, .def = WALK_LOOKUP, .max = 2,
		     .values = walks,
		     .meaning = "they read an entry, take a page, or fault one in" },
	[P_SET] = { .name = "set", .kind = WL_INT, .def = 16,
		    .min = 1, .max = 1 << 20,
		    .meaning = "pages that each walker walks over" },
	{ .name = NULL },
};

struct thp_thread {
	u64 walks __wl_line;	/* its own until joined */
	u32 index;		/* const */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct munmap_thp {
	u64 map, map_size;	/* const: what was mapped */
	u64 addr, size;		/* const: the aligned part */
	u64 set_base, set_size;	/* const: of all walkers */
	u32 walkers, walk;	/* const */
	struct thp_thread *thread;	/* const */
	u32 stop __wl_line;
};

/* One walk of page i; false: it failed (noted). */
static bool walk_one(struct wl *w, const struct munmap_thp *p, u64 addr)
{
	s64 ret;

	switch (p->walk) {
	case WALK_GUP_FAST:
		ret = w->ops->gup_fast(w, addr, 1);
		break;
	case WALK_FAULT:
		return wl_dontneed(w, addr, w->page_size) &&
		       wl_touch(w, addr, 1, 1);
	default:
		ret = w->ops->pte_lookup(w, addr);
	}
	if (ret < 0)
		wl_fail(w, "walk", (int)-ret);
	return ret >= 0;
}

static void walker(struct wl *w, struct munmap_thp *p, struct thp_thread *self)
{
	u64 base = p->set_base + (self->index - 1) * p->set_size, off = 0;

	while (!w->ops->get_word(w, &p->stop) && walk_one(w, p, base + off)) {
		self->walks++;
		off = off + w->page_size < p->set_size ? off + w->page_size : 0;
	}
}

static void sibling(struct wl *w, void *arg)
{
	struct thp_thread *self = arg;
	struct munmap_thp *p = w->priv;

	if (!wl_line_up(w, w->threads))
		return;
	if (self->index <= p->walkers)
		walker(w, p, self);
	else
		w->ops->spin_until(w, &p->stop, 1);
}

/* The window is the munmap alone. */
static void unmapper(struct wl *w, struct munmap_thp *p)
{
	if (!wl_line_up(w, w->threads))
		return;
	if (wl_munmap(w, p->addr, p->size)) {
		w->ops_done = p->size / HUGE;
		p->map_size = 0;
	}
	wl_finish(w, 1);
	w->ops->set_word(w, &p->stop, 1);
}

static bool map_huge(struct wl *w, struct munmap_thp *p)
{
	s64 ret;

	p->size = w->param[P_SIZE];
	p->map_size = p->size + HUGE;
	if (!wl_mmap(w, 0, p->map_size, WL_PRIVATE_ANON, &p->map))
		return false;
	p->addr = (p->map + HUGE - 1) & ~(HUGE - 1);
	ret = w->ops->madvise(w, p->addr, p->size, WL_MADV_HUGEPAGE);
	if (ret < 0) {
		wl_fail(w, "madvise(MADV_HUGEPAGE), of huge pages of 2 MiB,", (int)-ret);
		return false;
	}
	return wl_touch(w, p->addr, p->size, HUGE);
}

static bool map_sets(struct wl *w, struct munmap_thp *p)
{
	u64 size;

	p->walkers = (u32)w->param[P_WALKERS];
	p->walk = (u32)w->param[P_WALK];
	p->set_size = w->param[P_SET] * w->page_size;
	size = p->walkers * p->set_size;
	return !size || (wl_mmap(w, 0, size, WL_PRIVATE_ANON, &p->set_base) &&
			 wl_touch(w, p->set_base, size, w->page_size));
}

static bool spawn(struct wl *w, struct munmap_thp *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		struct thp_thread *t = &p->thread[i];

		t->index = i;
		if (!wl_spawn(w, sibling, t, i, &t->id))
			return false;
		t->exists = true;
	}
	return true;
}

static void report(struct wl *w, const struct munmap_thp *p)
{
	u64 walks_done = 0;

	for (u32 i = 1; i < w->threads; i++)
		walks_done += p->thread[i].walks;
	w->ops->report_timed(w, "munmap_s", WL_WINDOW_S, 1);
	w->ops->report_timed(w, "per_pmd_us", WL_WINDOW_US_PER, (double)w->ops_done);
	if (p->walkers)
		w->ops->report_timed(w, "walks_per_s", WL_PER_S, (double)walks_done);
}

static void munmap_thp_main(struct wl *w)
{
	struct munmap_thp *p = w->ops->alloc(w, sizeof(*p));

	p->thread = w->ops->alloc(w, w->threads * sizeof(*p->thread));
	w->priv = p;
	if (!map_sets(w, p) || !map_huge(w, p))
		return;
	if (spawn(w, p))
		unmapper(w, p);
	else
		wl_call_off(w);
	for (u32 i = 1; i < w->threads; i++)
		if (p->thread[i].exists)
			w->ops->thread_join(w, p->thread[i].id);
	if (w->ops_done)
		report(w, p);
}

static const char *munmap_thp_check(const struct wl *w)
{
	if (w->param[P_SIZE] % HUGE)
		return "size: a multiple of 2M expected";
	if (w->param[P_WALKERS] >= w->threads)
		return "walkers: more than there are threads beside the one that unmaps";
	if (w->page_size > 4096 && w->param[P_SIZE] >= 1ULL << 43)
		return "size: more than is mapped below 64 TiB";
	return NULL;
}

const struct workload workload_munmap_thp = {
	.name = "munmap-thp",
	.summary = "munmap of many huge pages, with threads on other CPUs",
	.origin = "Leonardo Bras, \"mm: Introduce lockless page-table walk counting\", 2019",
	.params = munmap_thp_params,
	.default_threads = 1,
	.check = munmap_thp_check,
	.main = munmap_thp_main,
};
