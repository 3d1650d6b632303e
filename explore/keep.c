/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of an execution that are kept, to go on from: a search that goes back a few
 * steps need not take all those before again.
 *
 * All that an execution can change lies in the arena (and a C model's variables), so
 * a copy of what is in use there is the state; world.h has the parts. It is
 * taken on the host's stack, so that every thread's registers are on its own:
 *
 *	a thread, in sched():	keep? -> switches to the host
 *	the host:		xkeep_save(), switches back
 *	the thread:		... goes on; perhaps again, from this very place, after
 *				xkeep_restore()
 *
 * What follows the fixed part of the arena is found by the counts in it, so the same
 * walk saves and restores: by then the fixed part is restored.
 *
 * Page frames. A core touches tables and pages by the seam only: they have what their words
 * have, and are zero elsewhere (forget_history(), frames_begin()). Frames for plain C
 * (xframe.plain) are copied whole.
 *
 * Under AddressSanitizer, whose shadow of the stacks would have to be kept as well,
 * and where a coroutine's registers are the C library's, nothing is kept.
 */
#include "world.h"

#include <stdlib.h>

/* A walk over the state, to the copy or from it. */
struct walk {
	struct xkept_state *k;
	size_t at;
	bool save;
};

static void room(struct xkept_state *k, size_t size)
{
	if (size <= k->size)
		return;
	k->size = 2 * size;
	k->copy = realloc(k->copy, k->size);
	XASSERT(k->copy);
}

static void part(struct walk *k, void *p, size_t size)
{
	if (k->save) {
		room(k->k, k->at + size);
		memcpy(k->k->copy + k->at, p, size);
	} else {
		memcpy(p, k->k->copy + k->at, size);
	}
	k->at += size;
}

static void walk_counted(struct xworld *w, struct walk *k)
{
	struct xarena *a = w->a;

	part(k, a->free, a->nr_free * sizeof(a->free[0]));
	part(k, a->frame, w->nr_frames * sizeof(a->frame[0]));
	for (u32 i = 0; i < w->nr_cpus; i++)
		part(k, a->log[i], a->cpu[i].nr_log * sizeof(a->log[0][0]));
	part(k, a->tlbi, a->nr_tlbi * sizeof(a->tlbi[0]));
	part(k, a->word, a->nr_words * sizeof(a->word[0]));
	part(k, a->msg, a->nr_msgs * sizeof(a->msg[0]));
}

static void walk_heap(struct xworld *w, struct walk *k)
{
	struct xarena *a = w->a;

	part(k, (char *)a + XHEAP_AT, a->heap_boot - XHEAP_AT);
	for (u32 i = 0; i < w->nr_cpus; i++) {
		u64 start = XHEAP_AT + XHEAP_BOOT + i * XHEAP_CPU;

		part(k, (char *)a + start, a->cpu[i].heap - start);
	}
}

static void walk_stacks(struct xworld *w, struct walk *k)
{
	for (u32 live = w->a->thr_live; live; live &= live - 1) {
		u32 slot = (u32)__builtin_ctz(live);
		char *stack = (char *)w->a + XSTACKS_AT + slot * MACH_STACK_SIZE;
		char *sp = w->a->thr[slot].coro.sp;

		part(k, stack, sizeof(struct xstack));
		part(k, sp, (size_t)(stack + MACH_STACK_SIZE - sp));
	}
}

static bool is_copied(const struct xworld *w, u32 frame)
{
	return w->a->frame[frame].plain && !w->a->frame[frame].zero;
}

static void walk_frames(struct xworld *w, struct walk *k)
{
	struct xarena *a = w->a;
	size_t size = 1UL << w->page_shift;

	for (u32 i = 1; i < w->nr_frames; i++)
		if (is_copied(w, i))
			part(k, w->phys + i * size, size);
	for (u32 i = 0; i < a->nr_words; i++)
		if (a->word[i].frame && !is_copied(w, a->word[i].frame))
			part(k, (char *)a + a->word[i].off, a->word[i].size);
}

static void walk(struct xworld *w, struct walk *k)
{
	part(k, w->a, offsetof(struct xarena, cpu));
	part(k, w->a->cpu, w->nr_cpus * sizeof(w->a->cpu[0]));
	part(k, w->a->thr, offsetof(struct xarena, fixed_end) - offsetof(struct xarena, thr));
	walk_counted(w, k);
	walk_heap(w, k);
	walk_stacks(w, k);
	for (u32 i = 0; i < XMAX_MEM; i++)
		if (w->prog.mem[i].size)
			part(k, w->prog.mem[i].start, w->prog.mem[i].size);
	walk_frames(w, k);
}

/* Frames as they are without the words: what comes later does not leave them alone. */
static void clear_frames(struct xworld *w)
{
	struct xarena *a = w->a;
	size_t size = 1UL << w->page_shift;

	for (u32 i = 1; i < w->nr_frames; i++)
		if (is_copied(w, i))
			memset(w->phys + i * size, 0, size);
	for (u32 i = 0; i < a->nr_words; i++)
		if (a->word[i].frame)
			memset((char *)a + a->word[i].off, 0, a->word[i].size);
}

/* ---- for the scheduler ---- */

void xkeep_save(struct xworld *w, struct xthr *from)
{
	struct walk k = { .save = true };

	XASSERT(w->nr_kept < XMAX_KEPT_STATES);
	k.k = &w->kept[w->nr_kept++];
	k.k->from = from;
	walk(w, &k);
	k.k->used = k.at;
}

struct xthr *xkeep_restore(struct xworld *w)
{
	struct walk k = { .save = false };

	XASSERT(w->nr_kept);
	k.k = &w->kept[w->nr_kept - 1];
	clear_frames(w);
	walk(w, &k);
	return k.k->from;
}

/* ---- for the search ---- */

bool xworld_keeps(const struct xworld *w)
{
	(void)w;
#if defined(TLBLAB_UCONTEXT) || defined(CORO_ASAN)
	return false;
#else
	return true;
#endif
}

size_t xworld_kept_size(const struct xworld *w)
{
	return w->nr_kept ? w->kept[w->nr_kept - 1].used : 0;
}

void xworld_forget(struct xworld *w, u32 i)
{
	struct xkept_state k = w->kept[i];

	XASSERT(i < w->nr_kept);
	w->nr_kept--;
	/* Its memory is used again. */
	memmove(&w->kept[i], &w->kept[i + 1], (w->nr_kept - i) * sizeof(k));
	w->kept[w->nr_kept] = k;
}

void xkeep_free(struct xworld *w)
{
	for (u32 i = 0; i < XMAX_KEPT_STATES; i++)
		free(w->kept[i].copy);
}
