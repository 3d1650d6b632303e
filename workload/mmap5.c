// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mmap5: Jan Stancek's reproducer of the hang in the same thread as mmap8.
 *
 * Rounds of two threads. A maps a page at the hint, writes every word, unmaps
 * it, 500 times; each munmap frees the page table of its 512 MiB (with 64K
 * pages). B touches its stack and exits at once, and the C library gives the stack
 * back with MADV_DONTNEED, which takes the mmap lock for reading only. A's munmap
 * has downgraded the lock to the same:
 *
 *	A, CPU 1				B, CPU 2
 *	munmap: zap, free the PTE table
 *	  (gather: freed_tables = 1)
 *						madvise: tlb_gather_mmu()
 *	tlb_finish_mmu(): nested;
 *	  force_range resets the gather
 *	  and with it freed_tables:
 *	  TLBI of last levels only
 *						tlb_finish_mmu()
 *	mmap at the hint: a new PTE table
 *	store: the walk cache still points
 *	  to the old table: not present;
 *	  fault: the entry is there, return;
 *	  the same again, for ever
 *
 * hung is 1 if the rounds were not done within `limit` of simulated time,
 * ops is the number of rounds done.
 */
#include "workload/common.h"

enum { P_ROUNDS, P_ITERATIONS, P_SIZE, P_HINT, P_STACK, P_LIMIT };

static const struct wl_param mmap5_params[] = {
	[P_ROUNDS] = { .name = "rounds", .kind = WL_INT, .def = 50,
		       .min = 1, .max = 1000000000,
		       .meaning = "rounds of a pair of threads" },
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 500,
			   .min = 1, .max = 1000000000,
			   .meaning = "of mmap, write and munmap in a round" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 4096,
		     .min = 8, .max = 1ULL << 30,
		     .meaning = "bytes that an iteration maps" },
	[P_HINT] = { .name = "hint", .kind = WL_ADDR, .def = 0,
		     .min = 0, .max = 1ULL << 52,
		     .meaning = "address asked for; 0: middle of a free 2 GiB" },
	[P_STACK] = { .name = "stack", .kind = WL_SIZE, .def = 8 << 20,
		      .min = 1 << 20, .max = 1ULL << 30,
		      .meaning = "bytes of the stack that the other thread gives back" },
	[P_LIMIT] = { .name = "limit", .kind = WL_INT, .def = 4000,
		      .min = 1, .max = 1000000000,
		      .meaning = "simulated milliseconds until a run counts as hung" },
	{ .name = NULL },
};

struct mmap5 {
	u64 hint, size, iterations, stack, stack_size;	/* const */
};

static void mmap5_a(struct wl *w, void *arg)
{
	const struct mmap5 *p = arg;
	u64 addr;

	for (u64 i = 0; i < p->iterations && !w->ops->stopping(w); i++) {
		if (!wl_mmap(w, p->hint, p->size, WL_SHARED_ANON, &addr) ||
		    !wl_touch(w, addr, p->size, sizeof(u64)) ||
		    !wl_munmap(w, addr, p->size))
			return;
		w->ops->loop_cost(w);
	}
}

static void mmap5_b(struct wl *w, void *arg)
{
	const struct mmap5 *p = arg;
	u64 top = p->stack + p->stack_size - w->page_size;

	if (wl_touch(w, top, w->page_size, w->page_size))
		wl_dontneed(w, p->stack, p->stack_size);
}

static bool mmap5_round(struct wl *w, struct mmap5 *p)
{
	s64 a, b;

	if (w->ops->stopping(w) || !wl_spawn(w, mmap5_a, p, 1, &a))
		return false;
	if (!wl_spawn(w, mmap5_b, p, 2, &b)) {
		w->ops->thread_join(w, a);
		return false;
	}
	w->ops->thread_join(w, a);
	w->ops->thread_join(w, b);
	return !w->failed;
}

static void mmap5_main(struct wl *w)
{
	struct mmap5 *p = w->ops->alloc(w, sizeof(*p));

	p->size = w->param[P_SIZE];
	p->iterations = w->param[P_ITERATIONS];
	p->stack_size = w->param[P_STACK];
	if (!wl_mmap(w, 0, p->stack_size, WL_PRIVATE_ANON, &p->stack))
		return;
	p->hint = wl_hint(w, w->param[P_HINT]);
	if (!p->hint)
		return;
	wl_start(w, 1);
	while (w->ops_done < w->param[P_ROUNDS] && mmap5_round(w, p))
		w->ops_done++;
	wl_finish(w, 1);
}

static const char *mmap5_check(const struct wl *w)
{
	if (w->threads != 2)
		return "threads: mmap5 has two";
	return NULL;
}

const struct workload workload_mmap5 = {
	.name = "mmap5",
	.summary = "mmap, write and munmap a page while a thread gives its stack back",
	.origin = "Jan Stancek, the hang of the same thread as mmap8; LTP mtest06/mmap1",
	.params = mmap5_params,
	.default_threads = 2,
	.check = mmap5_check,
	.main = mmap5_main,
};
