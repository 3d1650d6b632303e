// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mm-step: one operation of the mm, again and again, by threads in strict turns: what a kernel
 * issues for it, per operation. fidelity/init.c does the same, call by call, under real kernels;
 * whoever changes one changes the other.
 *
 * An operation is what `what' says, of `touch' pages (huge-*: huge pages) at the hint. Those
 * marked "kept" work on one mapping of all threads; the others make it and unmap it.
 */
#include "workload/common.h"

#define HUGE (2ULL << 20)
/* Where MREMAP moves to, from the hint on. */
#define AWAY (1ULL << 30)

enum { P_ITERATIONS, P_WHAT, P_TOUCH, P_SIZE, P_HINT };

enum what {
	WHAT_UNMAP, WHAT_UNMAP_PRIVATE, WHAT_UNMAP_CLEAN, WHAT_DONTNEED, WHAT_MPROTECT,
	WHAT_MREMAP, WHAT_FORK, WHAT_HUGE_UNMAP, WHAT_HUGE_DONTNEED, WHAT_HUGE_MPROTECT,
	WHAT_PAGEOUT, WHAT_MIGRATE, WHAT_NUMA, NR_WHAT,
};

static const char *const whats[] = {
	[WHAT_UNMAP] = "unmap",			/* shared pages, written */
	[WHAT_UNMAP_PRIVATE] = "unmap-private",
	[WHAT_UNMAP_CLEAN] = "unmap-clean",	/* private pages, read */
	[WHAT_DONTNEED] = "dontneed-private",	/* kept: written, MADV_DONTNEED of all */
	[WHAT_MPROTECT] = "mprotect",		/* kept: written, read-only, writable */
	[WHAT_MREMAP] = "mremap",		/* kept: written, moved away and back */
	[WHAT_FORK] = "fork",			/* kept: written; a child that exits at once */
	[WHAT_HUGE_UNMAP] = "huge-unmap",
	[WHAT_HUGE_DONTNEED] = "huge-dontneed",	/* kept */
	[WHAT_HUGE_MPROTECT] = "huge-mprotect",	/* kept */
	[WHAT_PAGEOUT] = "pageout",		/* kept, shared: read, MADV_PAGEOUT */
	[WHAT_MIGRATE] = "migrate",		/* kept: written, to node 1 and back */
	[WHAT_NUMA] = "numa",			/* kept: marked for hinting, written */
	NULL,
};

static const struct wl_param mm_step_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 1000,
			   .min = 1, .max = 1000000000,
			   .meaning = "operations of each thread" },
	[P_WHAT] = { .name = "what", .kind = WL_ENUM, .def = WHAT_UNMAP, .max = NR_WHAT - 1,
		     .values = whats, .meaning = "the operation" },
	[P_TOUCH] = { .name = "touch", .kind = WL_INT, .def = 1, .min = 1, .max = 1 << 28,
		      .meaning = "pages touched, from the first on; huge-*: huge pages" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 16 << 20,
		     .min = 4096, .max = AWAY, .meaning = "bytes of the mapping" },
	[P_HINT] = { .name = "hint", .kind = WL_ADDR, .def = 0,
		     .min = 0, .max = 1ULL << 52,
		     .meaning = "address asked for; 0: middle of a free 2 GiB" },
	{ .name = NULL },
};

struct step_thread {
	u32 go __wl_line;	/* 1: its turn */
	u64 done;		/* its own until joined */
	u32 index;		/* const */
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct mm_step {
	u64 hint, size, touch, step, iterations;	/* const; bytes */
	enum what what;					/* const */
	struct step_thread *thread;			/* const */
	u32 quit __wl_line;	/* somebody left early, all shall */
};

static bool is_huge(enum what what)
{
	return what == WHAT_HUGE_UNMAP || what == WHAT_HUGE_DONTNEED ||
	       what == WHAT_HUGE_MPROTECT;
}

static bool is_kept(enum what what)
{
	return what != WHAT_UNMAP && what != WHAT_UNMAP_PRIVATE &&
	       what != WHAT_UNMAP_CLEAN && what != WHAT_HUGE_UNMAP;
}

static bool is_shared(enum what what)
{
	return what == WHAT_UNMAP || what == WHAT_PAGEOUT;
}

static bool ok(struct wl *w, const char *call, s64 ret)
{
	if (ret < 0)
		wl_fail(w, call, (int)-ret);
	return ret >= 0;
}

static bool map(struct wl *w, const struct mm_step *p)
{
	u64 addr;

	if (!wl_mmap(w, p->hint, p->size, is_shared(p->what) ? WL_SHARED_ANON : WL_PRIVATE_ANON,
		     &addr))
		return false;
	if (addr != p->hint) {
		wl_fail(w, "mmap at the hint", WL_EEXIST);
		return false;
	}
	return !is_huge(p->what) ||
	       ok(w, "madvise", w->ops->madvise(w, addr, p->size, WL_MADV_HUGEPAGE));
}

static bool read_all(struct wl *w, const struct mm_step *p)
{
	u8 val;

	for (u64 off = 0; off < p->touch; off += p->step)
		if (!ok(w, "load", -w->ops->load(w, p->hint + off, &val)))
			return false;
	return true;
}

static bool write_all(struct wl *w, const struct mm_step *p)
{
	return wl_touch(w, p->hint, p->touch, p->step);
}

static bool protect(struct wl *w, const struct mm_step *p)
{
	return ok(w, "mprotect", w->ops->mprotect(w, p->hint, p->size, WL_PROT_READ)) &&
	       ok(w, "mprotect", w->ops->mprotect(w, p->hint, p->size, WL_RW));
}

static bool move_away_and_back(struct wl *w, const struct mm_step *p)
{
	const u32 flags = WL_MREMAP_MAYMOVE | WL_MREMAP_FIXED;
	u64 away = p->hint + AWAY;

	return ok(w, "mremap", w->ops->mremap(w, p->hint, p->size, p->size, flags, away)) &&
	       ok(w, "mremap", w->ops->mremap(w, away, p->size, p->size, flags, p->hint));
}

static void child(struct wl *w, void *arg)
{
	(void)w;
	(void)arg;
}

static bool fork_and_wait(struct wl *w, u32 index)
{
	s64 process;

	return wl_spawn_process(w, child, NULL, index, &process) &&
	       ok(w, "wait", w->ops->thread_join(w, process));
}

static bool migrate(struct wl *w, const struct mm_step *p)
{
	u64 pages = p->touch / w->page_size;

	return ok(w, "move_pages", w->ops->move_pages(w, p->hint, pages, 1)) &&
	       ok(w, "move_pages", w->ops->move_pages(w, p->hint, pages, 0));
}

/* Of a mapping that is kept. */
static bool operate(struct wl *w, const struct mm_step *p, u32 index)
{
	switch (p->what) {
	case WHAT_DONTNEED:
	case WHAT_HUGE_DONTNEED:
		return write_all(w, p) && wl_dontneed(w, p->hint, p->size);
	case WHAT_MPROTECT:
	case WHAT_HUGE_MPROTECT:
		return write_all(w, p) && protect(w, p);
	case WHAT_MREMAP:
		return write_all(w, p) && move_away_and_back(w, p);
	case WHAT_FORK:
		return write_all(w, p) && fork_and_wait(w, index);
	case WHAT_PAGEOUT:
		return read_all(w, p) &&
		       ok(w, "madvise",
			  w->ops->madvise(w, p->hint, p->touch, WL_MADV_PAGEOUT));
	case WHAT_MIGRATE:
		return write_all(w, p) && migrate(w, p);
	default:
		return ok(w, "numa_hint", w->ops->numa_hint(w, p->hint, p->size)) &&
		       write_all(w, p);
	}
}

static bool iterate(struct wl *w, const struct mm_step *p, u32 index)
{
	bool good;

	if (w->ops->stopping(w))
		return false;
	if (is_kept(p->what))
		good = operate(w, p, index);
	else
		good = map(w, p) &&
		       (p->what == WHAT_UNMAP_CLEAN ? read_all(w, p) : write_all(w, p)) &&
		       wl_munmap(w, p->hint, p->size);
	w->ops->loop_cost(w);
	return good;
}

/* As mmap8's: who leaves early says so, and passes its turn on. */
static void turns(struct wl *w, struct mm_step *p, struct step_thread *self)
{
	struct step_thread *next = &p->thread[(self->index + 1) % w->threads];
	const struct wl_ops *ops = w->ops;
	bool quit = false;

	while (self->done < p->iterations && !quit) {
		ops->spin_until(w, &self->go, 1);
		ops->set_word(w, &self->go, 0);
		quit = ops->get_word(w, &p->quit) || !iterate(w, p, self->index);
		if (quit)
			ops->set_word(w, &p->quit, 1);
		else
			self->done++;
		ops->set_word(w, &next->go, 1);
	}
}

static void worker(struct wl *w, void *arg)
{
	if (!wl_line_up(w, w->threads))
		return;
	turns(w, w->priv, arg);
	wl_finish(w, w->threads);
	wl_spin_closed(w);
}

static bool spawn(struct wl *w, struct mm_step *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		if (!wl_spawn(w, worker, &p->thread[i], i, &p->thread[i].id))
			return false;
		p->thread[i].exists = true;
	}
	return true;
}

static void mm_step_main(struct wl *w)
{
	struct mm_step *p = w->ops->alloc(w, sizeof(*p));

	p->what = (enum what)w->param[P_WHAT];
	p->iterations = w->param[P_ITERATIONS];
	p->size = w->param[P_SIZE];
	p->step = is_huge(p->what) ? HUGE : w->page_size;
	p->touch = w->param[P_TOUCH] * p->step;
	p->thread = w->ops->alloc(w, w->threads * sizeof(*p->thread));
	for (u32 i = 0; i < w->threads; i++)
		p->thread[i].index = i;
	p->thread[0].go = 1;
	w->priv = p;
	p->hint = wl_hint(w, w->param[P_HINT]) & ~(HUGE - 1);
	if (!p->hint || (is_kept(p->what) && !map(w, p)))
		return;
	if (spawn(w, p))
		worker(w, &p->thread[0]);
	else
		wl_call_off(w);
	for (u32 i = 0; i < w->threads; i++) {
		if (p->thread[i].exists)
			w->ops->thread_join(w, p->thread[i].id);
		w->ops_done += p->thread[i].done;
	}
}

static const char *mm_step_check(const struct wl *w)
{
	u64 step = is_huge((enum what)w->param[P_WHAT]) ? HUGE : w->page_size;

	if (w->param[P_SIZE] % w->page_size)
		return "size: a multiple of the page size expected";
	if (w->param[P_TOUCH] * step > w->param[P_SIZE])
		return "touch: more pages than size has";
	return NULL;
}

const struct workload workload_mm_step = {
	.name = "mm-step",
	.summary = "one operation of the mm, by threads in strict turns",
	.origin = "tlblab; what `make fidelity' counts",
	.params = mm_step_params,
	.default_threads = 1,
	.check = mm_step_check,
	.main = mm_step_main,
};
