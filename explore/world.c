/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arena: creating a world, its snapshot, and resetting to it.
 *
 * Boot. Each CPU's idle loop first runs core->boot() (CPU 0) and cpu_online().
 * Nothing is scheduled then, stores are visible at once. Then main, the core's
 * first task, runs init, creates the program's threads and sleeps; each thread
 * is switched in on its CPU and parks before its first operation. That is the
 * snapshot. Main wakes again for final, after all threads have ended; it is, to the
 * core, a thread of the process all along.
 */
#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <tlblab/machine_abi.h>

#ifdef CORO_ASAN
#include <sanitizer/asan_interface.h>
#endif

void xpanic(const char *file, int line, const char *what)
{
	fprintf(stderr, "tlblab: our own bug: %s:%d: %s\n", file, line, what);
	exit(3);
}

/* ---- choices while nothing is explored ---- */

/* Whoever ran goes on; else the first. */
static u32 plain_pick(void *ctx, const struct xstep *enabled, u32 n, u32 running)
{
	(void)ctx;
	(void)enabled;
	return running < n ? running : 0;
}

static u32 plain_choose(void *ctx, enum xchoice_kind kind, u32 n)
{
	(void)ctx;
	(void)kind;
	(void)n;
	return 0;
}

static const struct xchooser plain = { .pick = plain_pick, .choose = plain_choose, .bare = true };

/* ---- what runs on the stacks ---- */

/* Op by op, a program's thread in user mode. arg: struct xthread. */
static void program_thread(void *arg)
{
	const struct xthread *xt = arg;
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	struct xthr *t = s->t;

	xcpu_of(w, t)->user = 1;
	xstep_begin(t, NULL, MACH_SITE_SCHED);
	xpark(w, t, XWHY_START);
	xt->fn(xt->arg);
	/* It stays in user mode; what it stored becomes visible. */
	if (xcpu_of(w, t)->nr_sb) {
		xstep_begin(t, NULL, MACH_SITE_SCHED);
		xpark_buffer(w, t, XWHY_STEP, XNEED_EMPTY);
	}
	w->a->nr_threads_left--;
	/*
	 * Somebody else needs the CPU, or all is over and the core shall clean up. A wake-up may
	 * come late, from a wake_q of a lock that was had without it: it still has ended.
	 */
	do {
		xstep_schedule(w, t, NULL);
		xpark(w, t, XWHY_END);
		if (w->a->phase == XPHASE_RUN)
			xschedule(w, t, XWHY_BLOCKED);
	} while (w->a->phase == XPHASE_RUN);
}

static void main_thread(struct xworld *w)
{
	const struct xprogram *p = &w->prog;

	if (p->init)
		p->init(p->arg);
	for (u32 i = 0; i < p->nr_threads; i++) {
		u64 affinity[TLBLAB_MAX_CPUS / 64] = { 1ULL << p->thread[i].cpu };
		void *xt = (void *)(uintptr_t)&w->prog.thread[i];
		s64 tid;

		if (p->thread[i].forked)
			continue;
		xstack()->t->fork_slot = (u8)(i + 1);
		if (p->core)
			tid = p->core->sys.clone(CORE_CLONE_VM, program_thread, xt, affinity);
		else
			tid = xops.thread_create(NULL, program_thread, xt, affinity, NULL);
		XASSERT(tid == i + 1);
	}
	xstack()->t->fork_slot = 0;
	xops.block(NULL);
	if (p->final)
		p->final(p->arg);
	if (!p->core || !p->check_leaks)
		return;
	if (p->core->drain_all)
		p->core->drain_all();
	p->core->sys.exit();
}

static s64 start_thread(u32 i, u32 flags)
{
	struct xstack *s = xstack();
	struct xworld *w = s->w;
	const struct xprogram *p = &w->prog;
	u64 affinity[TLBLAB_MAX_CPUS / 64] = { 1ULL << p->thread[i].cpu };
	s64 tid;

	XASSERT(p->core && i < p->nr_threads && p->thread[i].forked);
	if (w->a->thr[i].why != XWHY_FREE)
		return -11;	/* EAGAIN: it has been started before */
	/* First: it may have ended before we are told of it. */
	w->a->nr_threads_left++;
	s->t->fork_slot = (u8)(i + 1);
	tid = p->core->sys.clone(flags, program_thread, (void *)(uintptr_t)&p->thread[i],
				 affinity);
	s->t->fork_slot = 0;
	if (tid < 0)
		w->a->nr_threads_left--;
	return tid;
}

s64 xfork(u32 thread)
{
	return start_thread(thread, 0);
}

s64 xclone(u32 thread)
{
	return start_thread(thread, CORE_CLONE_VM);
}

void xworld_thread_main(void *arg)
{
	struct xthr *t = arg;
	struct xworld *w;

	coro_started();
	w = xstack()->w;
	/* The end of the switch that brought us here. */
	xcpu_of(w, t)->irqs_on = 1;
	xcrit_left(w, t->cpu);
	if (t == &w->a->thr[XTHR_MAIN])
		main_thread(w);
	else
		t->fn(t->arg);
	xops.thread_exit();
}

/* First thing on an idle loop's stack. */
void xworld_boot_cpu(struct xworld *w, struct xthr *t)
{
	const struct core_module *core = w->prog.core;
	struct core_boot boot = { .knobs = w->prog.knobs };
	const char *error = NULL;
	void *init_task = NULL;

	if (core && t->cpu == 0) {
		w->core_root = core->boot(&boot, &init_task, &error);
		if (!w->core_root) {
			snprintf(w->result->detail, sizeof(w->result->detail), "%s", error);
			return;
		}
		w->boot_task = init_task;
	}
	if (!core)
		return;
	t->env->core = w->core_root;
	t->env->task = core->cpu_online();
}

/* ---- the snapshot ---- */

static void part(struct xworld *w, u64 at, size_t size)
{
	XASSERT(w->nr_parts < sizeof(w->snap_part) / sizeof(w->snap_part[0]));
	w->snap_part[w->nr_parts].at = at;
	w->snap_part[w->nr_parts].size = size;
	w->snap_part[w->nr_parts++].copy = malloc(size ? size : 1);
	XASSERT(w->snap_part[w->nr_parts - 1].copy);
}

/*
 * Copies whole words; plain memcpy() would be stopped by the marks that a sanitizer
 * leaves on stacks.
 */
__attribute__((no_sanitize("address"), noinline))
static void raw_copy(void *to, const void *from, size_t size)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
	volatile u64 *d = to;
	const u64 *s = from;

	for (size_t i = 0; i < size / 8; i++)
		d[i] = s[i];
#endif
}

/* Where a parked stack's live part begins. */
static u64 stack_top_part(const struct xworld *w, u32 slot, size_t *size)
{
	u64 top = XSTACKS_AT + (slot + 1) * MACH_STACK_SIZE;
#ifdef TLBLAB_UCONTEXT
	*size = 64 << 10;
#else
	*size = top - xoff(w, w->a->thr[slot].coro.sp);
#endif
	return top - *size;
}

/* History before the snapshot is forgotten; what stands in tables gets records. */
static void forget_history(struct xworld *w)
{
	struct xarena *a = w->a;

	a->now = a->step = 0;
	a->nr_words = a->nr_msgs = a->nr_tlbi = a->nr_promises = 0;
	a->nr_kept = a->nr_copies = a->nr_kfreed = 0;
	memset(a->hash, 0, sizeof(a->hash));
	/* Callbacks that init left: what came before them is visible to all. */
	for (u32 i = 0; i < a->nr_rcu; i++)
		a->rcu[i].view = 0;
	for (u32 i = 0; i < w->nr_frames; i++) {
		a->frame[i].words = XNIL;
		a->frame[i].born = a->frame[i].died = 0;
		a->frame[i].dirty = 0;
	}
	/* Tables, and what was stored in pages: a copy goes by the records. */
	for (u32 i = 1; i < w->nr_frames; i++) {
		/* Words without records are zero there. */
		if (!a->frame[i].used)
			memset(w->phys + ((u64)i << w->page_shift), 0, 1UL << w->page_shift);
		if (!a->frame[i].used)
			continue;
		for (u32 off = 0; off < 1U << w->page_shift; off += 8) {
			u32 at = XFRAMES_AT + (i << w->page_shift) + off;

			if (xmem_read(w, at, 8))
				xword_get(w, at, 8);
		}
	}
	for (u32 i = 0; i < w->nr_cpus; i++) {
		struct xcpu *c = &a->cpu[i];

		memset(&c->v, 0, sizeof(c->v));
		c->rcu_view = 0;
		c->nr_log = 0;
		if (c->loaded)
			xmmu_log(w, i, &(struct xlog){
				.kind = XLOG_ROOT, .root = c->root,
				.root_gen = c->root_gen, .ctx = c->ctx,
			});
	}
}

static void take_parts(struct xworld *w)
{
	struct xarena *a = w->a;

	part(w, 0, offsetof(struct xarena, fixed_end));
	part(w, xoff(w, a->free), w->nr_frames * sizeof(a->free[0]));
	part(w, xoff(w, a->frame), w->nr_frames * sizeof(a->frame[0]));
	for (u32 i = 0; i < w->nr_cpus; i++)
		part(w, xoff(w, a->log[i]), a->cpu[i].nr_log * sizeof(a->log[0][0]));
	part(w, xoff(w, a->word), a->nr_words * sizeof(a->word[0]));
	part(w, xoff(w, a->msg), a->nr_msgs * sizeof(a->msg[0]));
	part(w, XHEAP_AT, a->heap_boot - XHEAP_AT);
	for (u32 live = a->thr_live; live; live &= live - 1) {
		u32 slot = (u32)__builtin_ctz(live);
		size_t size;
		u64 at = stack_top_part(w, slot, &size);

		part(w, XSTACKS_AT + slot * MACH_STACK_SIZE,
		     (sizeof(struct xstack) + 63) & ~63UL);
		part(w, at, size);
	}
	for (u32 i = 0; i < w->nr_parts; i++)
		raw_copy(w->snap_part[i].copy, (char *)a + w->snap_part[i].at,
			 w->snap_part[i].size);
	for (u32 i = 0; i < XMAX_MEM; i++) {
		const struct xmem *m = &w->prog.mem[i];

		w->mem_copy[i] = m->size ? malloc(m->size) : NULL;
		if (m->size)
			memcpy(w->mem_copy[i], m->start, m->size);
	}
	w->snap_frames = malloc(w->memory_bytes);
	XASSERT(w->snap_frames);
	memcpy(w->snap_frames, w->phys, w->memory_bytes);
}

/*
 * Those allocated or written since; plain C may have written what was in use. Of a
 * huge page's frames only those that have words have contents.
 */
static void reset_frames(struct xworld *w)
{
	const struct xframe *then = w->snap_part[2].copy;
	size_t size = 1UL << w->page_shift;

	for (u32 i = 1; i < w->nr_frames; i++)
		if (w->a->frame[i].zero ? w->a->frame[i].words != XNIL :
					  w->a->frame[i].dirty || then[i].used)
			memcpy(w->phys + i * size, w->snap_frames + i * size, size);
}

void xworld_reset(struct xworld *w)
{
	reset_frames(w);
#ifdef CORO_ASAN
	for (u32 i = 0; i < XNR_THR; i++)
		__asan_unpoison_memory_region((char *)w->a + XSTACKS_AT + i * MACH_STACK_SIZE +
					      8192, MACH_STACK_SIZE - 8192);
#endif
	for (u32 i = 0; i < w->nr_parts; i++)
		raw_copy((char *)w->a + w->snap_part[i].at, w->snap_part[i].copy,
			 w->snap_part[i].size);
	for (u32 i = 0; i < XMAX_MEM; i++)
		if (w->prog.mem[i].size)
			memcpy(w->prog.mem[i].start, w->mem_copy[i], w->prog.mem[i].size);
	w->stop = false;
	w->cur = NULL;
}

/* ---- create ---- */

static const char *map_arena(struct xworld *w)
{
	for (u32 slot = 0; slot < XSLOTS; slot++) {
		u64 base = XBASE + slot * XSLOT_SIZE;
		void *p = mmap((void *)(uintptr_t)base, XARENA_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			       MAP_FIXED_NOREPLACE, -1, 0);

		if (p == MAP_FAILED)
			continue;
		if ((u64)(uintptr_t)p != base) {
			munmap(p, XARENA_SIZE);
			continue;
		}
		w->slot = slot;
		w->base = base;
		w->a = p;
		w->phys = (char *)p + XFRAMES_AT;
		for (u32 i = 0; i < XNR_THR; i++)
			mprotect((char *)p + XSTACKS_AT + i * MACH_STACK_SIZE + 4096, 4096,
				 PROT_NONE);
		return NULL;
	}
	return "no room for a world at its fixed address";
}

static u32 feature(const struct xprogram *p, const char *name)
{
	for (u32 i = 0; p->features && p->features[i][0]; i++)
		if (!strcmp(p->features[i][0], name))
			return !strcmp(p->features[i][1], "on");
	return 0;
}

static void set_lanes(struct xworld *w)
{
	w->lanes = 1;
	if (w->weak && w->overtake)
		w->lanes = XDRAINS / w->nr_cpus < XMAX_LANES ? XDRAINS / w->nr_cpus : XMAX_LANES;
}

static const char *setup(struct xworld *w)
{
	const struct xprogram *p = &w->prog;

	if (!p->nr_cpus || p->nr_cpus > XMAX_CPUS)
		return "too many CPUs, or none";
	if (p->nr_threads > XMAX_THREADS)
		return "too many threads";
	for (u32 i = 0; i < p->nr_threads; i++)
		if (p->thread[i].cpu >= p->nr_cpus)
			return "a thread is on a CPU that is not there";
	w->nr_cpus = p->nr_cpus;
	w->nr_nodes = p->nr_nodes ? p->nr_nodes : 1;
	if (w->nr_nodes > w->nr_cpus)
		return "a node without a CPU";
	w->page_shift = p->page_shift ? p->page_shift : 12;
	w->nr_frames = p->nr_frames ? p->nr_frames : p->arch == XARCH_POWERPC ?
		       XDEFAULT_FRAMES_POWER : XDEFAULT_FRAMES;
	w->memory_bytes = (u64)w->nr_frames << w->page_shift;
	if (w->nr_frames > XMAX_FRAMES || w->memory_bytes > XFRAMES_SIZE)
		return "too much memory";
	w->mmu = p->arch == XARCH_X86 ? &xmmu_x86 :
		 p->arch == XARCH_ARM64 ? &xmmu_arm64 : &xmmu_power;
	w->weak = p->arch != XARCH_X86;
	w->overtake = true;
	set_lanes(w);
	/* A huge page that was split is zapped, or copied, small page by small page. */
	w->step_limit = 5000 + 16 * w->nr_frames;
	w->features = feature(p, "arm64.hafdbs") * XFEAT_HAFDBS |
		      feature(p, "arm64.ttl") * XFEAT_TTL |
		      feature(p, "arm64.tlbirange") * XFEAT_TLBIRANGE |
		      feature(p, "arm64.repeat_tlbi") * XFEAT_REPEAT_TLBI |
		      feature(p, "powerpc.isa31") * XFEAT_ISA31 |
		      feature(p, "powerpc.erat_bug") * XFEAT_ERAT_BUG |
		      feature(p, "powerpc.stq_bug") * XFEAT_STQ_BUG;
	w->ha = w->hd = w->features & XFEAT_HAFDBS ? ~0U : 0;
	for (u32 i = 0; i < TLBLAB_MAX_PT_LEVELS; i++)
		w->bits[i] = w->page_shift - 3;
	w->mmu->init(w);
	w->shift[0] = w->page_shift;
	for (u32 i = 0; i < TLBLAB_MAX_PT_LEVELS; i++)
		w->shift[i + 1] = w->shift[i] + w->bits[i];
	if (p->core && p->core->abi != TLBLAB_ABI)
		return "the core was built for another machine.h";
	return NULL;
}

static void boot(struct xworld *w)
{
	struct xarena *a = w->a;

	XASSERT(XHEAP_AT >= sizeof(struct xarena));
	a->heap_boot = XHEAP_AT;
	xframes_init(w);
	w->booting = true;
	for (u32 i = 0; i < w->nr_cpus; i++) {
		a->cpu[i].heap = XHEAP_AT + XHEAP_BOOT + i * XHEAP_CPU;
		a->cpu[i].cur = (u16)(XTHR_IDLE + i);
		xthread_setup(w, XTHR_IDLE + i, NULL, i, NULL, NULL);
	}
	for (u32 i = 0; i < w->nr_cpus && !w->result->detail[0]; i++) {
		w->cur = &a->thr[XTHR_IDLE + i];
		coro_switch(&w->host, &w->cur->coro);
	}
	w->cur = NULL;
	w->booting = false;
}

/* Main and the threads, up to their first operations. */
static void run_init(struct xworld *w)
{
	struct xarena *a = w->a;

	w->chooser = &plain;
	a->phase = XPHASE_INIT;
	for (u32 i = 0; i < w->prog.nr_threads; i++)
		a->nr_threads_left += !w->prog.thread[i].forked;
	xthread_setup(w, XTHR_MAIN, w->boot_task, 0, NULL, NULL);
	xthread_make_ready(w, &a->thr[XTHR_MAIN]);
	xsched_run(w, NULL);
	if (w->stop)
		return;
	for (u32 i = 0; i < w->prog.nr_threads; i++)
		if (a->thr[i].why != XWHY_START && a->thr[i].why != XWHY_READY &&
		    !(w->prog.thread[i].forked && a->thr[i].why == XWHY_FREE))
			snprintf(w->result->detail, sizeof(w->result->detail),
				 "init does not come to its end");
}

struct xworld *xworld_create(const struct xprogram *program, char *error,
			     size_t error_size)
{
	struct xworld *w = calloc(1, sizeof(*w));
	struct xresult result = { .outcome = XOUT_PASS };
	const char *why;

	if (!w) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	w->prog = *program;
	w->result = &result;
	coro_init_host(&w->host);
	why = setup(w);
	if (!why)
		why = map_arena(w);
	if (!why) {
		w->skip = program->skip;
		boot(w);
		w->heap_booted = w->a->heap_boot;
		if (!result.detail[0])
			run_init(w);
		if (result.detail[0])
			why = result.detail;
	}
	if (why) {
		snprintf(error, error_size, "%s", why);
		xworld_destroy(w);
		return NULL;
	}
	forget_history(w);
	xframes_fill_pools(w);
	w->a->phase = XPHASE_RUN;
	w->a->last_cpu = XNO_CPU;
	take_parts(w);
	w->result = NULL;
	return w;
}

void xworld_destroy(struct xworld *w)
{
	if (!w)
		return;
	for (u32 i = 0; i < w->nr_parts; i++)
		free(w->snap_part[i].copy);
	for (u32 i = 0; i < XMAX_MEM; i++)
		free(w->mem_copy[i]);
	free(w->snap_frames);
	xkeep_free(w);
	if (w->a)
		munmap(w->a, XARENA_SIZE);
	free(w);
}

/* ---- settings ---- */

const struct xprogram *xworld_program(const struct xworld *w)
{
	return &w->prog;
}

void xworld_drop_ops(struct xworld *w, const u64 mask[XMAX_THREADS])
{
	memcpy(w->drop, mask, sizeof(w->drop));
}

void xworld_skip_site(struct xworld *w, const struct mach_site *site)
{
	w->skip = site;
}

void xworld_set_overtaking(struct xworld *w, bool on)
{
	w->overtake = on;
	set_lanes(w);
}

void xworld_set_step_limit(struct xworld *w, u32 steps)
{
	w->step_limit = steps;
}

u32 xworld_sites(const struct xworld *w, const struct mach_site **sites, u32 max)
{
	for (u32 i = 0; i < w->nr_sites && i < max; i++)
		sites[i] = w->sites[i];
	return w->nr_sites;
}

/* ---- run ---- */

static void run_final(struct xworld *w)
{
	struct xarena *a = w->a;

	if (!w->prog.final && !w->prog.check_leaks)
		return;
	a->phase = XPHASE_FINAL;
	w->chooser = &plain;
	xthread_make_ready(w, &a->thr[XTHR_MAIN]);
	for (u32 i = 0; i < w->prog.nr_threads && w->prog.check_leaks; i++)
		if (a->thr[i].why == XWHY_BLOCKED)
			xthread_make_ready(w, &a->thr[i]);
	xsched_run(w, NULL);
	if (!w->stop && w->prog.check_leaks)
		xoracle_leaks(w);
}

/* From the state that is in the arena now. */
static void run_from(struct xworld *w, struct xthr *first, const struct xchooser *chooser,
		     struct xresult *result)
{
	*result = (struct xresult){ .outcome = XOUT_PASS };
	w->result = result;
	w->chooser = chooser;
	xsched_run(w, first);
	result->steps = w->a->step;
	if (!w->stop && w->a->nr_threads_left)
		xoracle_deadlock(w);
	for (u32 cpu = 0; cpu < w->nr_cpus && !w->stop; cpu++)
		xupdates_settle(w, cpu);
	if (!w->stop) {
		/* Before final, whose steps are nobody's choice. */
		result->state_hash = xhash_state(w);
		xoracle_lost_writes(w);
	}
	if (!w->stop)
		run_final(w);
}

void xworld_run(struct xworld *w, const struct xchooser *chooser, struct xresult *result,
		struct xevent *events, u32 *nr_events)
{
	xworld_reset(w);
	w->nr_kept = 0;
	w->events = events;
	w->nr_events = 0;
	w->max_events = events ? *nr_events : 0;
	run_from(w, NULL, chooser, result);
	if (events)
		*nr_events = w->nr_events;
}

void xworld_resume(struct xworld *w, const struct xchooser *chooser, struct xresult *result)
{
	struct xthr *first = xkeep_restore(w);

	w->stop = false;
	w->events = NULL;
	run_from(w, first, chooser, result);
}
