// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * probe: small loops, each of which mostly takes the time of one thing. `tlblab calibrate`
 * runs them on the host and on a model of it, and chooses the model's costs so that the
 * times agree. An operation is one turn, or one page where a loop goes over pages.
 *
 * Alone (threads=1), unless the table below says "two": then the other thread, on CPU
 * cpu, is the other player. Of the other loops further threads only spin, the second on
 * CPU cpu and the third on the next one.
 */
#include "workload/common.h"
#include "workload/figures.h"

#define HUGE (2ULL << 20)

enum { P_ITERATIONS, P_WHAT, P_PAGES, P_CPU };

enum what {
	WHAT_NULL, WHAT_ATOMIC, WHAT_COPY, WHAT_EMPTY, WHAT_PROTECT, WHAT_MAP, WHAT_MAP_SHARED,
	WHAT_FAULT_READ, WHAT_FAULT_WRITE, WHAT_FAULT_SHARED, WHAT_FAULT_AGAIN,
	WHAT_FAULT_HUGE, WHAT_FAULT_TABLE, WHAT_ZAP_READ, WHAT_ZAP_WRITE, WHAT_ZAP_HUGE,
	WHAT_UNMAP_SHARED, WHAT_UNMAP_TABLE, WHAT_FLUSH, WHAT_FLUSH_WRITE, WHAT_FLUSH_TABLE,
	WHAT_THREAD, WHAT_PROCESS, WHAT_LINE, WHAT_SLEEP,
	WHAT_CHASE, WHAT_CHASE_PACKED, WHAT_CHASE_HUGE, NR_WHAT,
};

static const char *const whats[] = {
	[WHAT_NULL] = "null",		/* a system call that does nothing */
	[WHAT_ATOMIC] = "atomic",	/* add to a word of its own */
	[WHAT_COPY] = "copy",		/* copy a page to the next one */
	[WHAT_EMPTY] = "empty",		/* MADV_DONTNEED of a page that is not there */
	[WHAT_PROTECT] = "protect",	/* mprotect of a page that is not there */
	[WHAT_MAP] = "map",		/* mmap and munmap of a private page, untouched */
	[WHAT_MAP_SHARED] = "map-shared",
	[WHAT_FAULT_READ] = "fault-read",	/* fault in pages, each once */
	[WHAT_FAULT_WRITE] = "fault-write",
	[WHAT_FAULT_SHARED] = "fault-shared",
	[WHAT_FAULT_AGAIN] = "fault-again",	/* shared pages that are there, unmapped */
	[WHAT_FAULT_HUGE] = "fault-huge",
	[WHAT_FAULT_TABLE] = "fault-table",	/* one page of each 2 MiB */
	[WHAT_ZAP_READ] = "zap-read",	/* one MADV_DONTNEED of pages that were read */
	[WHAT_ZAP_WRITE] = "zap-write",
	[WHAT_ZAP_HUGE] = "zap-huge",
	[WHAT_UNMAP_SHARED] = "unmap-shared",	/* one munmap of pages that were written */
	[WHAT_UNMAP_TABLE] = "unmap-table",	/* ... of one page of each 2 MiB */
	[WHAT_FLUSH] = "flush",		/* read pages, give them back, again and again */
	[WHAT_FLUSH_WRITE] = "flush-write",
	[WHAT_FLUSH_TABLE] = "flush-table",	/* the same, one page of each 2 MiB */
	[WHAT_THREAD] = "thread",	/* create a thread and join it */
	[WHAT_PROCESS] = "process",
	[WHAT_LINE] = "line",		/* two: a word goes to and fro, spinning */
	[WHAT_SLEEP] = "sleep",		/* two: a word goes to and fro, sleeping */
	[WHAT_CHASE] = "chase",		/* chase pointers over pages; a load is an operation */
	[WHAT_CHASE_PACKED] = "chase-packed",	/* over all lines of pages */
	[WHAT_CHASE_HUGE] = "chase-huge",	/* over the base pages of huge ones */
	NULL,
};

static const struct wl_param probe_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 1000,
			   .min = 1, .max = 1000000000,
			   .meaning = "turns; a loop over pages has one" },
	[P_WHAT] = { .name = "what", .kind = WL_ENUM, .def = WHAT_NULL, .max = NR_WHAT - 1,
		     .values = whats, .meaning = "the loop" },
	[P_PAGES] = { .name = "pages", .kind = WL_INT, .def = 32, .min = 1, .max = 1 << 20,
		      .meaning = "pages that it goes over, or huge pages, or tables" },
	[P_CPU] = { .name = "cpu", .kind = WL_INT, .def = 1, .min = 0,
		    .max = TLBLAB_MAX_CPUS - 1, .meaning = "where the second thread is" },
	{ .name = NULL },
};

struct probe {
	u64 addr, size, step, pages;	/* const in the window */
	u32 word __wl_line;		/* LINE, SLEEP: whose turn it is, from 1 on */
	u32 stop __wl_line;
	u32 own __wl_line;		/* main's: ATOMIC */
	u64 turns;			/* const */
};

static enum what what_of(const struct wl *w)
{
	return (enum what)w->param[P_WHAT];
}

/* ---- set-up ---- */

static bool huge(enum what what)
{
	return what == WHAT_FAULT_HUGE || what == WHAT_ZAP_HUGE || what == WHAT_CHASE_HUGE;
}

static bool shared(enum what what)
{
	return what == WHAT_FAULT_SHARED || what == WHAT_FAULT_AGAIN ||
	       what == WHAT_UNMAP_SHARED || what == WHAT_PROTECT;
}

static bool by_table(enum what what)
{
	return what == WHAT_FAULT_TABLE || what == WHAT_UNMAP_TABLE ||
	       what == WHAT_FLUSH_TABLE;
}

/* What is only read may be as large as one likes. */
static bool only_read(enum what what)
{
	return by_table(what) || what == WHAT_FAULT_READ || what == WHAT_ZAP_READ ||
	       what == WHAT_FLUSH || what == WHAT_EMPTY;
}

static bool probe_map(struct wl *w, struct probe *p)
{
	enum what what = what_of(w);
	u32 flags = shared(what) ? WL_SHARED_ANON : WL_PRIVATE_ANON;
	s64 ret;

	p->step = huge(what) || by_table(what) ? HUGE : w->page_size;
	p->size = p->pages * p->step;
	/* 2 MiB more, so that it can begin where a table does. */
	ret = w->ops->mmap(w, 0, p->size + (p->step == HUGE ? HUGE : 0),
			   only_read(what) ? WL_PROT_READ : WL_RW, flags);
	if (ret < 0) {
		wl_fail(w, "mmap", (int)-ret);
		return false;
	}
	p->addr = ((u64)ret + p->step - 1) & ~(p->step - 1);
	if (!shared(what))
		/* Where there are no huge pages this fails, and is as good. */
		w->ops->madvise(w, p->addr, p->size,
				huge(what) ? WL_MADV_HUGEPAGE : WL_MADV_NOHUGEPAGE);
	return true;
}

static bool go_over(struct wl *w, const struct probe *p, u64 pages, bool write)
{
	for (u64 i = 0; i < pages; i++) {
		u64 addr = p->addr + i * p->step;
		u8 val;
		int sig = write ? w->ops->store(w, addr, 1) :
				  w->ops->load(w, addr, &val);

		if (sig) {
			wl_fail(w, "access", sig);
			return false;
		}
	}
	return true;
}

static bool chases(enum what what)
{
	return what >= WHAT_CHASE && what <= WHAT_CHASE_HUGE;
}

static u32 lines_of(const struct wl *w)
{
	return what_of(w) == WHAT_CHASE_PACKED ? w->page_size / CACHE_LINE : 1;
}

static bool chase(struct wl *w, const struct probe *p, u64 loads)
{
	int sig = w->ops->chase_for(w, p->addr, (u32)(p->size / w->page_size),
				    lines_of(w), loads);

	if (sig)
		wl_fail(w, "chase", sig);
	return !sig;
}

static bool prepare(struct wl *w, struct probe *p)
{
	switch (what_of(w)) {
	case WHAT_ZAP_READ:
	case WHAT_UNMAP_TABLE:
		return go_over(w, p, p->pages, false);
	case WHAT_ZAP_WRITE:
	case WHAT_ZAP_HUGE:
	case WHAT_UNMAP_SHARED:
	case WHAT_COPY:
		return go_over(w, p, p->pages, true);
	case WHAT_CHASE:
	case WHAT_CHASE_PACKED:
	case WHAT_CHASE_HUGE:
		/* Twice, so that what can be cached is. */
		return go_over(w, p, p->pages, true) &&
		       chase(w, p, 2 * p->size / w->page_size * lines_of(w));
	case WHAT_EMPTY:
		/* A table, and in it nothing of what is given back. */
		return go_over(w, p, 1, false) && wl_dontneed(w, p->addr, w->page_size);
	case WHAT_FAULT_AGAIN:
	case WHAT_FLUSH_WRITE:
		return go_over(w, p, p->pages, true) && wl_dontneed(w, p->addr, p->size);
	case WHAT_FLUSH:
	case WHAT_FLUSH_TABLE:
		/* As in all turns but the first, the table is there (or, if reclaimed, not). */
		return go_over(w, p, p->pages, false) && wl_dontneed(w, p->addr, p->size);
	default:
		return true;
	}
}

/* ---- loops; false: failed (noted) ---- */

/*
 * Before a sleeper is woken, so that it has gone to sleep: 50 system calls, which the model
 * takes as long for as the host does.
 */
static void dawdle(struct wl *w, const struct probe *p)
{
	for (u32 i = 0; i < 50; i++)
		w->ops->madvise(w, p->addr, 0, WL_MADV_DONTNEED);
}

static void nothing(struct wl *w, void *arg)
{
	(void)w;
	(void)arg;
}

static bool map_turn(struct wl *w, u32 flags)
{
	s64 ret = w->ops->mmap(w, 0, w->page_size, WL_PROT_READ, flags);

	if (ret < 0) {
		wl_fail(w, "mmap", (int)-ret);
		return false;
	}
	return wl_munmap(w, (u64)ret, w->page_size);
}

static bool thread_turn(struct wl *w, bool process)
{
	s64 id;

	if (process ? !wl_spawn_process(w, nothing, NULL, 0, &id) :
		      !wl_spawn(w, nothing, NULL, 0, &id))
		return false;
	w->ops->thread_join(w, id);
	return true;
}

static bool protect_turn(struct wl *w, const struct probe *p, u64 turn)
{
	s64 ret = w->ops->mprotect(w, p->addr, p->size, turn & 1 ? WL_RW : WL_PROT_READ);

	if (ret < 0)
		wl_fail(w, "mprotect", (int)-ret);
	return ret >= 0;
}

static bool copy_turn(struct wl *w, const struct probe *p, u64 turn)
{
	u64 from = turn % (p->pages - 1) * w->page_size;
	int sig = w->ops->copy(w, p->addr + from + w->page_size, p->addr + from,
			       w->page_size);

	if (sig)
		wl_fail(w, "copy", sig);
	return !sig;
}

/* Mine to yours, and wait until it is mine again. Turns count from 1, two in each. */
static void pass(struct wl *w, struct probe *p, u32 yours)
{
	if (what_of(w) == WHAT_SLEEP)
		dawdle(w, p);
	w->ops->set_word(w, &p->word, yours);
	if (what_of(w) == WHAT_SLEEP)
		w->ops->wait_word(w, &p->word, yours + 1);
	else
		w->ops->spin_until(w, &p->word, yours + 1);
}

static bool one_turn(struct wl *w, struct probe *p, u64 turn)
{
	switch (what_of(w)) {
	case WHAT_NULL:
		return w->ops->madvise(w, p->addr, 0, WL_MADV_DONTNEED) == 0;
	case WHAT_ATOMIC:
		w->ops->add_word(w, &p->own, 1);
		return true;
	case WHAT_COPY:
		return copy_turn(w, p, turn);
	case WHAT_EMPTY:
		return wl_dontneed(w, p->addr, w->page_size);
	case WHAT_PROTECT:
		return protect_turn(w, p, turn);
	case WHAT_MAP:
		return map_turn(w, WL_PRIVATE_ANON);
	case WHAT_MAP_SHARED:
		return map_turn(w, WL_SHARED_ANON);
	case WHAT_FLUSH:
	case WHAT_FLUSH_TABLE:
		return go_over(w, p, p->pages, false) && wl_dontneed(w, p->addr, p->size);
	case WHAT_FLUSH_WRITE:
		return go_over(w, p, p->pages, true) && wl_dontneed(w, p->addr, p->size);
	case WHAT_THREAD:
	case WHAT_PROCESS:
		return thread_turn(w, what_of(w) == WHAT_PROCESS);
	case WHAT_LINE:
	case WHAT_SLEEP:
		pass(w, p, 2 * (u32)turn + 1);
		return true;
	default:
		return false;
	}
}

/* Those that go over all pages once. */
static bool at_once(struct wl *w, struct probe *p)
{
	switch (what_of(w)) {
	case WHAT_FAULT_READ:
	case WHAT_FAULT_TABLE:
		return go_over(w, p, p->pages, false);
	case WHAT_FAULT_WRITE:
	case WHAT_FAULT_SHARED:
	case WHAT_FAULT_AGAIN:
	case WHAT_FAULT_HUGE:
		return go_over(w, p, p->pages, true);
	case WHAT_ZAP_READ:
	case WHAT_ZAP_WRITE:
	case WHAT_ZAP_HUGE:
		return wl_dontneed(w, p->addr, p->size);
	case WHAT_UNMAP_SHARED:
	case WHAT_UNMAP_TABLE:
		return wl_munmap(w, p->addr, p->size);
	default:
		return false;
	}
}

static bool has_turns(enum what what)
{
	return what <= WHAT_MAP_SHARED || what >= WHAT_FLUSH;
}

/* ---- threads ---- */

static void second(struct wl *w, void *arg)
{
	struct probe *p = arg;
	enum what what = what_of(w);

	if (!wl_line_up(w, w->threads))
		return;
	if (what == WHAT_LINE || what == WHAT_SLEEP) {
		for (u32 i = 0; i < p->turns; i++) {
			if (what == WHAT_SLEEP) {
				w->ops->wait_word(w, &p->word, 2 * i + 1);
				dawdle(w, p);
			} else {
				w->ops->spin_until(w, &p->word, 2 * i + 1);
			}
			w->ops->set_word(w, &p->word, 2 * i + 2);
		}
	} else {
		w->ops->spin_until(w, &p->stop, 1);
	}
}

static void measured(struct wl *w, struct probe *p)
{
	if (!wl_line_up(w, w->threads))
		return;
	if (chases(what_of(w))) {
		if (chase(w, p, p->turns))
			w->ops_done = p->turns;
	} else if (!has_turns(what_of(w))) {
		if (at_once(w, p))
			w->ops_done = p->pages;
	} else {
		while (w->ops_done < p->turns && one_turn(w, p, w->ops_done)) {
			w->ops->loop_cost(w);
			w->ops_done++;
		}
	}
	wl_finish(w, 1);
	w->ops->set_word(w, &p->stop, 1);
}

static void probe_main(struct wl *w)
{
	struct probe *p = w->ops->alloc(w, sizeof(*p));
	s64 *id = w->ops->alloc(w, w->threads * sizeof(*id));
	u32 n = 1;

	p->pages = w->param[P_PAGES];
	p->turns = w->param[P_ITERATIONS];
	w->priv = p;
	if (!probe_map(w, p) || !prepare(w, p))
		return;
	for (; n < w->threads; n++) {
		s32 cpu = w->pin ? (s32)w->param[P_CPU] + (s32)n - 1 : -1;

		id[n] = w->ops->thread_create(w, second, p, cpu);
		if (id[n] < 0) {
			wl_fail(w, "creating a thread", (int)-id[n]);
			wl_call_off(w);
			break;
		}
	}
	if (n == w->threads)
		measured(w, p);
	while (n-- > 1)
		w->ops->thread_join(w, id[n]);
}

static const char *probe_check(const struct wl *w)
{
	enum what what = what_of(w);
	bool two = what == WHAT_LINE || what == WHAT_SLEEP;

	if (two && w->threads != 2)
		return "what: this loop takes two threads";
	if (what == WHAT_COPY && w->param[P_PAGES] < 2)
		return "pages: copying takes two";
	if (w->pin && w->threads > 1 && w->param[P_CPU] + w->threads - 2 >= w->nr_cpus)
		return "cpu: there are not so many";
	return NULL;
}

const struct workload workload_probe = {
	.name = "probe",
	.summary = "a small loop around one thing, for calibration",
	.origin = "tlblab",
	.params = probe_params,
	.default_threads = 1,
	.check = probe_check,
	.main = probe_main,
};
