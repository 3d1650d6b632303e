// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/workload/fake_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STACK (64 * 1024)
/* A run that has not ended by then never will. */
#define ROUNDS 1000000

static struct fake_world *world(struct wl *w)
{
	return w->binding;
}

static void give_way(struct wl *w)
{
	struct fake_world *f = world(w);

	swapcontext(&f->thread[f->now].ctx, &f->scheduler);
}

static void record(struct wl *w, enum fake_call call, u64 addr, u64 len)
{
	struct fake_world *f = world(w);

	assert(f->n < FAKE_LOG);
	f->log[f->n++] = (struct fake_event){ call, f->now, addr, len };
	give_way(w);
}

static s64 fake_mmap(struct wl *w, u64 addr, u64 len, u32 prot, u32 flags)
{
	struct fake_world *f = world(w);
	bool fails = ++f->mmaps == f->fail_mmap;

	(void)prot;
	(void)flags;
	if (f->mmaps == f->stop_after_mmap)
		f->stopping = true;
	if (!addr) {
		addr = f->next_addr;
		f->next_addr += len;
	}
	record(w, FAKE_MMAP, addr, len);
	return fails ? -12 : (s64)addr;
}

static s64 fake_munmap(struct wl *w, u64 addr, u64 len)
{
	record(w, FAKE_MUNMAP, addr, len);
	return 0;
}

static s64 fake_mprotect(struct wl *w, u64 addr, u64 len, u32 prot)
{
	(void)prot;
	record(w, FAKE_MPROTECT, addr, len);
	return 0;
}

static s64 fake_madvise(struct wl *w, u64 addr, u64 len, u32 advice)
{
	assert(advice == WL_MADV_DONTNEED || advice == WL_MADV_HUGEPAGE ||
	       advice == WL_MADV_PAGEOUT);
	record(w, FAKE_MADVISE, addr, len);
	return 0;
}

static int fake_store(struct wl *w, u64 addr, u8 val)
{
	(void)val;
	record(w, FAKE_STORE, addr, 1);
	return 0;
}

static int fake_load(struct wl *w, u64 addr, u8 *val)
{
	(void)w;
	(void)addr;
	*val = 0;
	return 0;
}

static int fake_copy(struct wl *w, u64 to, u64 from, u64 len)
{
	(void)from;
	record(w, FAKE_COPY, to, len);
	return 0;
}

static int fake_chase(struct wl *w, u64 base, u32 nr_pages, const u32 *stop,
		      u64 *loads)
{
	record(w, FAKE_CHASE, base, nr_pages);
	while (!*stop) {
		++*loads;
		give_way(w);
	}
	return 0;
}

static void entry(u32 hi, u32 lo)
{
	struct fake_world *f = (void *)(uintptr_t)((u64)hi << 32 | lo);
	struct fake_thread *t = &f->thread[f->now];

	t->fn(&f->w, t->arg);
	f->log[f->n++] = (struct fake_event){ FAKE_END, f->now, 0, 0 };
	t->done = true;
	swapcontext(&t->ctx, &f->scheduler);
}

static u32 start(struct fake_world *f, void (*fn)(struct wl *, void *), void *arg)
{
	struct fake_thread *t = &f->thread[f->nr_threads];
	u64 p = (u64)(uintptr_t)f;

	assert(f->nr_threads < FAKE_THREADS);
	t->fn = fn;
	t->arg = arg;
	t->stack = malloc(STACK);
	getcontext(&t->ctx);
	t->ctx.uc_stack.ss_sp = t->stack;
	t->ctx.uc_stack.ss_size = STACK;
	makecontext(&t->ctx, (void (*)(void))entry, 2, (u32)(p >> 32), (u32)p);
	return f->nr_threads++;
}

static s64 fake_create(struct wl *w, void (*fn)(struct wl *, void *), void *arg, s32 cpu)
{
	struct fake_world *f = world(w);
	u32 id;

	(void)cpu;
	if (++f->creates == f->fail_create)
		return -11;
	id = start(f, fn, arg);
	record(w, FAKE_CREATE, id, 0);
	return id;
}

static int fake_join(struct wl *w, s64 thread)
{
	struct fake_world *f = world(w);

	while (!f->thread[thread].done)
		give_way(w);
	record(w, FAKE_JOIN, (u64)thread, 0);
	return 0;
}

static void fake_until(struct wl *w, const u32 *word, u32 val)
{
	while (*word != val)
		give_way(w);
}

static void fake_wait(struct wl *w, u32 *word, u32 val)
{
	fake_until(w, word, val);
}

static void fake_set(struct wl *w, u32 *word, u32 val)
{
	*word = val;
	give_way(w);
}

static u32 fake_add(struct wl *w, u32 *word, u32 n)
{
	u32 val = *word += n;

	give_way(w);
	return val;
}

static u32 fake_get(struct wl *w, const u32 *word)
{
	(void)w;
	return *word;
}

static void fake_loop_cost(struct wl *w)
{
	(void)w;
}

static void fake_compute(struct wl *w, u64 ns)
{
	(void)w;
	(void)ns;
}

static void *fake_alloc(struct wl *w, size_t size)
{
	struct fake_world *f = world(w);
	void *p = aligned_alloc(64, (size + 63) & ~63UL);

	assert(p && f->nr_mem < 64);
	f->mem[f->nr_mem++] = p;
	return memset(p, 0, size);
}

static void fake_open(struct wl *w)
{
	record(w, FAKE_OPEN, 0, 0);
}

static void fake_close(struct wl *w)
{
	record(w, FAKE_CLOSE, 0, 0);
}

static bool fake_stopping(struct wl *w)
{
	return world(w)->stopping;
}

static void fake_report(struct wl *w, const char *name, double value)
{
	(void)w;
	(void)name;
	(void)value;
}

static void fake_report_timed(struct wl *w, const char *name, enum wl_timed kind, double n)
{
	(void)kind;
	fake_report(w, name, n);
}

static s64 fake_gup_fast(struct wl *w, u64 addr, u32 nr_pages)
{
	(void)w;
	(void)addr;
	return nr_pages;
}

static s64 fake_pte_lookup(struct wl *w, u64 addr)
{
	(void)w;
	(void)addr;
	return 1;
}

static s64 fake_shmget(struct wl *w, u64 size)
{
	record(w, FAKE_SHMGET, 0, size);
	return 7;
}

static s64 fake_shmat(struct wl *w, s64 id, u64 addr)
{
	struct fake_world *f = world(w);
	bool fails = ++f->shmats == f->fail_shmat;

	if (f->shmats == f->stop_after_shmat)
		f->stopping = true;
	assert(id == 7);
	record(w, FAKE_SHMAT, addr, 0);
	return fails ? -12 : (s64)addr;
}

static s64 fake_shmdt(struct wl *w, u64 addr)
{
	record(w, FAKE_SHMDT, addr, 0);
	return 0;
}

static s64 fake_shm_rmid(struct wl *w, s64 id)
{
	assert(id == 7);
	record(w, FAKE_RMID, 0, 0);
	return 0;
}

static u64 fake_now_ps(struct wl *w)
{
	return ++world(w)->time;
}

static s64 fake_reclaim(struct wl *w, u64 addr, u64 len)
{
	record(w, FAKE_MADVISE, addr, len);
	return (s64)(len / w->page_size);
}

static s64 fake_move_pages(struct wl *w, u64 addr, u64 nr_pages, s32 node)
{
	(void)node;
	record(w, FAKE_MADVISE, addr, nr_pages * w->page_size);
	return 0;
}

static s64 fake_mremap(struct wl *w, u64 addr, u64 old_len, u64 new_len, u32 flags, u64 new_addr)
{
	(void)old_len;
	(void)flags;
	(void)new_addr;
	record(w, FAKE_MREMAP, addr, new_len);
	return 0;
}

static s64 fake_numa_hint(struct wl *w, u64 addr, u64 len)
{
	record(w, FAKE_NUMA_HINT, addr, len);
	return 0;
}

static s64 fake_set_mempolicy(struct wl *w, s32 node)
{
	(void)w;
	(void)node;
	return 0;
}

static int fake_sweep(struct wl *w, u64 addr, u64 len, bool write)
{
	(void)write;
	record(w, FAKE_STORE, addr, len);
	return 0;
}

static const struct wl_ops fake_ops = {
	.mremap = fake_mremap, .numa_hint = fake_numa_hint,
	.sweep = fake_sweep, .set_mempolicy = fake_set_mempolicy,
	.mmap = fake_mmap, .munmap = fake_munmap, .mprotect = fake_mprotect,
	.madvise = fake_madvise, .store = fake_store, .load = fake_load,
	.copy = fake_copy, .chase = fake_chase, .thread_create = fake_create,
	.thread_join = fake_join,
	.spin_until = fake_until, .set_word = fake_set, .add_word = fake_add,
	.get_word = fake_get, .wait_word = fake_wait, .loop_cost = fake_loop_cost,
	.compute = fake_compute,
	.alloc = fake_alloc, .window_open = fake_open, .window_close = fake_close,
	.stopping = fake_stopping, .report = fake_report,
	.report_timed = fake_report_timed,
	.shmget = fake_shmget, .shmat = fake_shmat, .shmdt = fake_shmdt,
	.shm_rmid = fake_shm_rmid, .now_ps = fake_now_ps,
	.reclaim = fake_reclaim, .move_pages = fake_move_pages, .process_create = fake_create,
	.gup_fast = fake_gup_fast, .pte_lookup = fake_pte_lookup,
};

static void run_main(struct wl *w, void *arg)
{
	(void)arg;
	w->workload->main(w);
}

bool fake_run(struct fake_world *f, const struct workload *workload, u32 threads,
	      const u64 *param)
{
	bool all_done = false;

	f->w.ops = &fake_ops;
	f->w.workload = workload;
	memcpy(f->w.param, param, sizeof(f->w.param));
	f->w.threads = threads;
	f->w.nr_cpus = 4;
	f->w.page_size = 4096;
	f->w.binding = f;
	f->next_addr = 1ULL << 40;
	start(f, run_main, NULL);
	for (u32 round = 0; round < ROUNDS && !all_done; round++) {
		all_done = true;
		for (f->now = 0; f->now < f->nr_threads; f->now++) {
			if (f->thread[f->now].done)
				continue;
			all_done = false;
			if (f->slow && f->slow == f->now && round % 16)
				continue;
			swapcontext(&f->scheduler, &f->thread[f->now].ctx);
		}
	}
	return all_done;
}

void fake_free(struct fake_world *f)
{
	for (u32 i = 0; i < f->nr_threads; i++)
		free(f->thread[i].stack);
	for (u32 i = 0; i < f->nr_mem; i++)
		free(f->mem[i]);
	free(f);
}
