// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ebizzy, in the shape of Valerie Henson's benchmark (0.3, as LTP has it): what a
 * web search does. Each thread, over and over: take a chunk of shared memory, copy it
 * to a new buffer, look a record up there by binary search, free the buffer.
 *
 * Record i of a chunk holds i. So the search needs no contents to find its way,
 * and simulated frames have none; its loads are made all the same.
 *
 * pick=first: ebizzy's generator starts at 0 and only multiplies, so it stays there:
 * every thread copies chunk 0 and looks for key 0. pick=random is what was meant.
 *
 * alloc=malloc: what glibc makes of it. A buffer of 128 KiB or more is mapped, and
 * its first free() in the process unmaps it and raises that threshold above its size;
 * from then on each thread has its buffer from its own arena (64 MiB reserved, opened
 * with mprotect), which keeps it: no system call any more, and no flush.
 * alloc=mmap: -m, an mmap and a munmap for each record.
 *
 * Beside the original: the main thread is worker 0; a thread does so many records, not
 * so many seconds.
 */
#include "workload/common.h"

enum { P_ITERATIONS, P_CHUNKS, P_SIZE, P_ALLOC, P_PICK };

enum { ALLOC_MALLOC, ALLOC_MMAP };
enum { PICK_FIRST, PICK_RANDOM };

#define RECORD 8
/* glibc's: DEFAULT_MMAP_THRESHOLD_MIN and _MAX, HEAP_MAX_SIZE, top_pad. */
#define MMAP_THRESHOLD_MIN (128 << 10)
#define MMAP_THRESHOLD_MAX (32 << 20)
#define HEAP_MAX (64 << 20)
#define TOP_PAD (128 << 10)

static const char *const allocs[] = { "malloc", "mmap", NULL };
static const char *const picks[] = { "first", "random", NULL };

static const struct wl_param ebizzy_params[] = {
	[P_ITERATIONS] = { .name = "iterations", .kind = WL_INT, .def = 20000,
			   .min = 1, .max = 1000000000,
			   .meaning = "records that each thread looks up" },
	[P_CHUNKS] = { .name = "chunks", .kind = WL_INT, .def = 10,
		       .min = 1, .max = 1 << 20,
		       .meaning = "chunks that there are to copy" },
	[P_SIZE] = { .name = "size", .kind = WL_SIZE, .def = 512 << 10,
		     .min = 4096, .max = MMAP_THRESHOLD_MAX,
		     .meaning = "bytes of a chunk" },
	[P_ALLOC] = { .name = "alloc", .kind = WL_ENUM, .def = ALLOC_MALLOC,
		      .max = ALLOC_MMAP, .values = allocs,
		      .meaning = "malloc: as glibc's; mmap: one for each record" },
	[P_PICK] = { .name = "pick", .kind = WL_ENUM, .def = PICK_FIRST,
		     .max = PICK_RANDOM, .values = picks,
		     .meaning = "chunk and key: always the first, or at random" },
	{ .name = NULL },
};

struct ebizzy_thread {
	u64 done __wl_line;	/* its own until joined, as all that follows */
	u64 arena;		/* 0: none yet */
	u64 random;
	bool exists;		/* main thread's */
	s64 id;			/* main thread's */
};

struct ebizzy {
	u64 iterations, size, chunks;	/* const */
	bool always_mmap, random;	/* const */
	u64 *chunk;			/* const: addresses */
	struct ebizzy_thread *worker;	/* const */
	u32 raised __wl_line;	/* malloc maps buffers no more; read and set by all */
};

/* ------------------------------------------------------------------ malloc */

/* The thread's arena, opened as far as one buffer needs it. */
static bool arena_alloc(struct wl *w, const struct ebizzy *p,
			struct ebizzy_thread *self, u64 *addr)
{
	s64 ret;

	*addr = self->arena;
	if (self->arena)
		return true;
	ret = w->ops->mmap(w, 0, HEAP_MAX, WL_PROT_NONE, WL_PRIVATE_ANON);
	if (ret < 0) {
		wl_fail(w, "mmap of an arena", (int)-ret);
		return false;
	}
	*addr = self->arena = (u64)ret;
	ret = w->ops->mprotect(w, self->arena, p->size + TOP_PAD, WL_RW);
	if (ret < 0)
		wl_fail(w, "mprotect of an arena", (int)-ret);
	return ret >= 0;
}

static bool buffer_alloc(struct wl *w, struct ebizzy *p, struct ebizzy_thread *self,
			 u64 *addr, bool *mapped)
{
	*mapped = p->always_mmap || (p->size >= MMAP_THRESHOLD_MIN &&
				     !w->ops->get_word(w, &p->raised));
	if (*mapped)
		return wl_mmap(w, 0, p->size, WL_PRIVATE_ANON, addr);
	return arena_alloc(w, p, self, addr);
}

static bool buffer_free(struct wl *w, struct ebizzy *p, u64 addr, bool mapped)
{
	if (!mapped)
		return true;
	if (!p->always_mmap && !w->ops->get_word(w, &p->raised))
		w->ops->set_word(w, &p->raised, 1);
	return wl_munmap(w, addr, p->size);
}

/* ------------------------------------------------------------------ search */

static u64 ebizzy_random(const struct ebizzy *p, struct ebizzy_thread *self, u64 below)
{
	if (!p->random)
		return 0;
	self->random = self->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (self->random >> 33) % below;
}

/* Binary search: the records that are compared with key, which is there. */
static bool ebizzy_search(struct wl *w, u64 base, u64 records, u64 key)
{
	u64 low = 0, high = records, mid;
	u8 byte;
	int sig;

	do {
		mid = (low + high) / 2;
		sig = w->ops->load(w, base + mid * RECORD, &byte);
		if (sig) {
			wl_fail(w, "load", sig);
			return false;
		}
		if (key < mid)
			high = mid;
		else
			low = mid + 1;
	} while (mid != key);
	return true;
}

static bool ebizzy_record(struct wl *w, struct ebizzy *p, struct ebizzy_thread *self)
{
	u64 from = p->chunk[ebizzy_random(p, self, p->chunks)];
	u64 buffer, records = p->size / RECORD;
	bool mapped, found;
	int sig;

	if (w->ops->stopping(w) || !buffer_alloc(w, p, self, &buffer, &mapped))
		return false;
	sig = w->ops->copy(w, buffer, from, p->size);
	if (sig)
		wl_fail(w, "copy", sig);
	found = !sig && ebizzy_search(w, buffer, records,
				      ebizzy_random(p, self, records));
	w->ops->loop_cost(w);
	return buffer_free(w, p, buffer, mapped) && found;
}

/* ----------------------------------------------------------------- threads */

static void ebizzy_worker(struct wl *w, void *arg)
{
	struct ebizzy_thread *self = arg;
	struct ebizzy *p = w->priv;

	if (!wl_line_up(w, w->threads))
		return;
	while (self->done < p->iterations && ebizzy_record(w, p, self))
		self->done++;
	wl_finish(w, w->threads);
	wl_wait_closed(w);
}

static bool ebizzy_spawn(struct wl *w, struct ebizzy *p)
{
	for (u32 i = 1; i < w->threads; i++) {
		p->worker[i].random = i;
		if (!wl_spawn(w, ebizzy_worker, &p->worker[i], i, &p->worker[i].id))
			return false;
		p->worker[i].exists = true;
	}
	return true;
}

static bool ebizzy_map_chunks(struct wl *w, struct ebizzy *p)
{
	for (u64 i = 0; i < p->chunks; i++)
		if (!wl_mmap(w, 0, p->size, WL_PRIVATE_ANON, &p->chunk[i]) ||
		    !wl_touch(w, p->chunk[i], p->size, w->page_size))
			return false;
	return true;
}

static void ebizzy_main(struct wl *w)
{
	struct ebizzy *p = w->ops->alloc(w, sizeof(*p));

	p->iterations = w->param[P_ITERATIONS];
	p->chunks = w->param[P_CHUNKS];
	p->size = w->param[P_SIZE];
	p->always_mmap = w->param[P_ALLOC] == ALLOC_MMAP;
	p->random = w->param[P_PICK] == PICK_RANDOM;
	p->chunk = w->ops->alloc(w, p->chunks * sizeof(*p->chunk));
	p->worker = w->ops->alloc(w, w->threads * sizeof(*p->worker));
	w->priv = p;
	if (!ebizzy_map_chunks(w, p))
		return;
	if (ebizzy_spawn(w, p))
		ebizzy_worker(w, &p->worker[0]);
	else
		wl_call_off(w);
	for (u32 i = 0; i < w->threads; i++) {
		if (p->worker[i].exists)
			w->ops->thread_join(w, p->worker[i].id);
		w->ops_done += p->worker[i].done;
	}
}

static const char *ebizzy_check(const struct wl *w)
{
	if (w->param[P_SIZE] % w->page_size)
		return "size: not a whole number of pages";
	return NULL;
}

const struct workload workload_ebizzy = {
	.name = "ebizzy",
	.summary = "copy a chunk, search it, free the copy, in 96 threads",
	.origin = "Valerie Henson's ebizzy 0.3; Yang Shi's runs of it in thread S0, 2019",
	.params = ebizzy_params,
	.default_threads = 96,
	.check = ebizzy_check,
	.main = ebizzy_main,
};
