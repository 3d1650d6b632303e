// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A workload on a simulated machine: struct wl_ops bound to a core.
 *
 * All threads of a run live in one host thread and give way only inside calls of
 * the machine, so the lists here need no locks: between two such calls nobody else
 * runs. The words that threads share go through the machine all the same, since
 * their transfers cost time.
 *
 * Whatever the machine may see the address of (struct wl, alloc()) starts on
 * a line of its own, so that no figure depends on where malloc() put it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "workload/common.h"
#include "workload/figures.h"
#include "workload/run.h"

#define LINE 64UL
#define PS_PER_MS 1000000000ULL

/* Bits of an affinity map. */
#define MAP_WORDS (TLBLAB_MAX_CPUS / 64)

struct sim_mem {
	struct sim_mem *next;
	char pad[LINE - sizeof(struct sim_mem *)];
};

/* A thread that sleeps until *word == val; on its own stack. */
struct sim_waiter {
	struct sim_waiter *next;
	const u32 *word;
	u32 val, tid;
	bool woken;
};

struct sim_thread {
	u32 done __wl_line;	/* shared word: 1 at its end */
	void (*fn)(struct wl *w, void *arg);
	void *arg;
	struct sim *sim;
};

/* A cycle through n pages, made once. */
struct sim_cycle {
	struct sim_cycle *next;
	u32 n;
	u32 page[];
};

struct sim {
	struct wl w __wl_line;
	const struct run_setup *setup;
	struct machine *machine;
	struct sim_mem *mem;
	struct sim_waiter *waiters;
	struct sim_cycle *cycles;
	u64 turns;		/* of the workloads' loops, in the window */
	u64 chase_loads;	/* of all chasers */
	bool chased;
	bool killed;		/* a thread saw MACH_SIGKILL */
	struct figures figures;
	/* The last interval's end, and what had been counted then. */
	struct machine_stats interval_stats;
	u64 interval_turns;
	struct metrics *metrics;
};

static struct sim *sim_of(struct wl *w)
{
	return w->binding;
}

static const struct core_syscalls *sys(struct wl *w)
{
	return &sim_of(w)->setup->core->sys;
}

/* ------------------------------------------------------------ system calls */

static s64 sim_mmap(struct wl *w, u64 addr, u64 len, u32 prot, u32 flags)
{
	return sys(w)->mmap(addr, len, prot, flags);
}

static s64 sim_munmap(struct wl *w, u64 addr, u64 len)
{
	return sys(w)->munmap(addr, len);
}

static s64 sim_mprotect(struct wl *w, u64 addr, u64 len, u32 prot)
{
	return sys(w)->mprotect(addr, len, prot);
}

static s64 sim_madvise(struct wl *w, u64 addr, u64 len, u32 advice)
{
	return sys(w)->madvise(addr, len, advice);
}

static s64 sim_mremap(struct wl *w, u64 addr, u64 old_len, u64 new_len, u32 flags,
		      u64 new_addr)
{
	return sys(w)->mremap(addr, old_len, new_len, flags, new_addr);
}

static s64 sim_reclaim(struct wl *w, u64 addr, u64 len)
{
	return sys(w)->reclaim(addr, len);
}

static s64 sim_move_pages(struct wl *w, u64 addr, u64 nr_pages, s32 node)
{
	return sys(w)->move_pages(addr, nr_pages, node);
}

static s64 sim_numa_hint(struct wl *w, u64 addr, u64 len)
{
	return sys(w)->numa_hint(addr, len);
}

static s64 sim_set_mempolicy(struct wl *w, s32 node)
{
	return sys(w)->set_mempolicy(node);
}

static s64 sim_gup_fast(struct wl *w, u64 addr, u32 nr_pages)
{
	return sys(w)->gup_fast(addr, nr_pages, true);
}

static s64 sim_pte_lookup(struct wl *w, u64 addr)
{
	return sys(w)->pte_lookup(addr);
}

static s64 sim_shmget(struct wl *w, u64 size)
{
	return sys(w)->shmget(size);
}

static s64 sim_shmat(struct wl *w, s64 id, u64 addr)
{
	return sys(w)->shmat(id, addr);
}

static s64 sim_shmdt(struct wl *w, u64 addr)
{
	return sys(w)->shmdt(addr);
}

static s64 sim_shm_rmid(struct wl *w, s64 id)
{
	return sys(w)->shm_rmid(id);
}

/* -------------------------------------------------------------- user mode */

static int sim_signal(struct wl *w, int sig)
{
	if (sig == MACH_SIGKILL)
		sim_of(w)->killed = true;
	return sig;
}

/*
 * The machine accesses aligned words: the other bytes of the word become
 * zero. No workload keeps two values in one word.
 */
static int sim_store(struct wl *w, u64 addr, u8 val)
{
	u64 word = (u64)val << (addr % 8 * 8);

	return sim_signal(w, mach_env()->ops->user_access(addr & ~7ULL, true, &word));
}

static int sim_load(struct wl *w, u64 addr, u8 *val)
{
	u64 word = 0;
	int sig = mach_env()->ops->user_access(addr & ~7ULL, false, &word);

	*val = (u8)(word >> (addr % 8 * 8));
	return sim_signal(w, sig);
}

static int sim_sweep(struct wl *w, u64 addr, u64 len, bool write)
{
	return sim_signal(w, mach_env()->ops->user_sweep(addr, len, write));
}

/* Of a machine that does not say: a page is read and written, zeroing writes it. */
static u64 sim_copy_page_ps(const struct machine_desc *desc)
{
	const struct cost *copy = &desc->core_cost[MACH_COST_COPY_PAGE];

	return copy->given ? copy->ps : 2 * desc->core_cost[MACH_COST_ZERO_PAGE].ps;
}

static int sim_copy(struct wl *w, u64 to, u64 from, u64 len)
{
	u64 ps = sim_copy_page_ps(sim_of(w)->setup->desc);

	for (u64 off = 0; off < len; off += w->page_size) {
		u64 word = 0;
		int sig = mach_env()->ops->user_access(from + off, false, &word);

		if (!sig)
			sig = mach_env()->ops->user_access(to + off, true, &word);
		if (sig)
			return sim_signal(w, sig);
		mach_env()->ops->user_run(ps);
	}
	return 0;
}

static void *sim_alloc(struct wl *w, size_t size)
{
	struct sim *sim = sim_of(w);
	size_t bytes = (sizeof(struct sim_mem) + size + LINE - 1) & ~(LINE - 1);
	struct sim_mem *mem = aligned_alloc(LINE, bytes);

	if (!mem) {
		fprintf(stderr, "tlblab: out of memory\n");
		exit(2);
	}
	memset(mem, 0, bytes);
	mem->next = sim->mem;
	sim->mem = mem;
	return mem + 1;
}

/* Sattolo's shuffle gives one cycle through all pages; the seed is fixed. */
static const u32 *sim_cycle(struct wl *w, u32 n)
{
	struct sim *sim = sim_of(w);
	struct sim_cycle *c;

	for (c = sim->cycles; c; c = c->next)
		if (c->n == n)
			return c->page;
	c = sim_alloc(w, sizeof(*c) + n * sizeof(c->page[0]));
	c->n = n;
	wl_cycle(c->page, n);
	c->next = sim->cycles;
	sim->cycles = c;
	return c->page;
}

static int sim_chase(struct wl *w, u64 base, u32 nr_pages, const u32 *stop,
		     u64 *loads)
{
	struct sim *sim = sim_of(w);
	struct mach_chase chase = {
		.va = base,
		.next = sim_cycle(w, nr_pages),
		.nr_pages = nr_pages,
		.page_shift = sim->setup->desc->page_shift,
		.stop = stop,
	};
	int sig;

	sim->chased = true;
	sig = mach_env()->ops->user_chase(&chase);
	*loads += chase.loads;
	sim->chase_loads += chase.loads;
	return sim_signal(w, sig);
}

/* Load by load. */
static int sim_chase_for(struct wl *w, u64 base, u32 nr_pages, u32 lines, u64 nr_loads)
{
	const u32 *next = sim_cycle(w, nr_pages * lines);
	u32 shift = sim_of(w)->setup->desc->page_shift, line = 0;

	for (u64 i = 0; i < nr_loads; i++) {
		u64 word;
		u64 page = line / lines;
		int sig = mach_env()->ops->user_access(base + (page << shift), false, &word);

		if (sig)
			return sim_signal(w, sig);
		line = next[line];
	}
	return 0;
}

static void sim_loop_cost(struct wl *w)
{
	sim_of(w)->turns++;
	mach_charge(USER_LOOP, 1);
}

static void sim_compute(struct wl *w, u64 ns)
{
	(void)w;
	mach_env()->ops->user_run(ns * 1000);
}

/* ---------------------------------------------------------- shared words */

/*
 * Wake who sleeps for what the word is now. wake() may let others run, and the
 * list with it: look again from its head each time.
 */
static void sim_wake_word(struct sim *sim, const u32 *word, u32 val)
{
	struct sim_waiter *wt;

	do {
		for (wt = sim->waiters; wt; wt = wt->next)
			if (wt->word == word && wt->val == val && !wt->woken)
				break;
		if (wt) {
			wt->woken = true;
			mach_wake(wt->tid);
		}
	} while (wt);
}

static void sim_set_word(struct wl *w, u32 *word, u32 val)
{
	mach_store(word, val, MACH_RELEASE);
	sim_wake_word(sim_of(w), word, val);
}

static u32 sim_add_word(struct wl *w, u32 *word, u32 n)
{
	u32 val = mach_rmw(word, MACH_ADD, n, 0, MACH_FULL) + n;

	sim_wake_word(sim_of(w), word, val);
	return val;
}

static u32 sim_get_word(struct wl *w, const u32 *word)
{
	(void)w;
	return mach_load(word, MACH_ACQUIRE);
}

static void sim_spin_until(struct wl *w, const u32 *word, u32 val)
{
	u32 now;

	while ((now = sim_get_word(w, word)) != val) {
		struct mach_watch watch = { word, sizeof(*word), now };

		mach_env()->ops->user_wait_change(&watch, 1);
	}
}

/*
 * On the list before the look at the word: who sets it after that look finds us,
 * and a wake() before block() makes block() return at once. `woken` is for one
 * wake-up; a word that changed again meanwhile needs another.
 */
static void sim_wait_word(struct wl *w, u32 *word, u32 val)
{
	struct sim *sim = sim_of(w);
	struct sim_waiter self = {
		.next = sim->waiters, .word = word, .val = val,
		.tid = mach_env()->tid,
	};
	struct sim_waiter **pos;

	sim->waiters = &self;
	while (sim_get_word(w, word) != val) {
		mach_block();
		self.woken = false;
	}
	for (pos = &sim->waiters; *pos != &self; pos = &(*pos)->next)
		;
	*pos = self.next;
}

/* ---------------------------------------------------------------- threads */

static void sim_trampoline(void *arg)
{
	struct sim_thread *t = arg;
	struct wl *w = &t->sim->w;

	t->fn(w, t->arg);
	sim_set_word(w, &t->done, 1);
	sys(w)->exit();
}

static s64 sim_clone(struct wl *w, u32 flags, void (*fn)(struct wl *, void *), void *arg,
		     s32 cpu)
{
	struct sim_thread *t = sim_alloc(w, sizeof(*t));
	u64 map[MAP_WORDS] = { 0 };
	s64 tid;

	t->fn = fn;
	t->arg = arg;
	t->sim = sim_of(w);
	if (cpu >= 0)
		map[cpu / 64] |= 1ULL << (cpu % 64);
	tid = sys(w)->clone(flags, sim_trampoline, t, cpu >= 0 ? map : NULL);
	return tid < 0 ? tid : (s64)(uintptr_t)t;
}

static s64 sim_thread_create(struct wl *w, void (*fn)(struct wl *, void *), void *arg,
			     s32 cpu)
{
	return sim_clone(w, CORE_CLONE_VM, fn, arg, cpu);
}

static s64 sim_process_create(struct wl *w, void (*fn)(struct wl *, void *), void *arg,
			      s32 cpu)
{
	return sim_clone(w, 0, fn, arg, cpu);
}

static int sim_thread_join(struct wl *w, s64 thread)
{
	struct sim_thread *t = (struct sim_thread *)(uintptr_t)thread;

	sim_wait_word(w, &t->done, 1);
	return 0;
}

/* ----------------------------------------------------------------- window */

static void sim_window_open(struct wl *w)
{
	sim_of(w)->turns = 0;
	machine_window_open();
}

static void sim_window_close(struct wl *w)
{
	(void)w;
	machine_window_close();
}

static bool sim_stopping(struct wl *w)
{
	struct sim *sim = sim_of(w);

	return sim->killed || (sim->setup->stop && *sim->setup->stop);
}

static u64 sim_now_ps(struct wl *w)
{
	(void)w;
	return machine_now();
}

static void sim_report(struct wl *w, const char *name, double value)
{
	figures_add(&sim_of(w)->figures, name, value);
}

static void sim_report_timed(struct wl *w, const char *name, enum wl_timed kind, double n)
{
	figures_add_timed(&sim_of(w)->figures, name, kind, n);
}

static const struct wl_ops sim_ops = {
	.mmap = sim_mmap,
	.munmap = sim_munmap,
	.mprotect = sim_mprotect,
	.madvise = sim_madvise,
	.gup_fast = sim_gup_fast,
	.pte_lookup = sim_pte_lookup,
	.shmget = sim_shmget,
	.shmat = sim_shmat,
	.shmdt = sim_shmdt,
	.shm_rmid = sim_shm_rmid,
	.store = sim_store,
	.load = sim_load,
	.copy = sim_copy,
	.sweep = sim_sweep,
	.mremap = sim_mremap,
	.numa_hint = sim_numa_hint,
	.set_mempolicy = sim_set_mempolicy,
	.chase = sim_chase,
	.chase_for = sim_chase_for,
	.reclaim = sim_reclaim,
	.move_pages = sim_move_pages,
	.thread_create = sim_thread_create,
	.thread_join = sim_thread_join,
	.process_create = sim_process_create,
	.spin_until = sim_spin_until,
	.set_word = sim_set_word,
	.add_word = sim_add_word,
	.get_word = sim_get_word,
	.wait_word = sim_wait_word,
	.loop_cost = sim_loop_cost,
	.compute = sim_compute,
	.alloc = sim_alloc,
	.window_open = sim_window_open,
	.window_close = sim_window_close,
	.stopping = sim_stopping,
	.now_ps = sim_now_ps,
	.report = sim_report,
	.report_timed = sim_report_timed,
};

/* ---------------------------------------------------------------- figures */

static u64 fnv1a(u64 hash, u64 value)
{
	for (u32 i = 0; i < 8; i++) {
		hash ^= value >> (8 * i) & 0xff;
		hash *= 0x100000001b3ULL;
	}
	return hash;
}

/* Integers only, in the order of the struct. */
static u64 sim_digest(const struct sim *sim, const struct machine_stats *st,
		      const struct core_stat *cs, u32 n)
{
	u64 hash = 0xcbf29ce484222325ULL;

	hash = fnv1a(hash, st->window_ps);
	for (u32 i = 0; i < MACH_NR_ACCOUNTS; i++)
		hash = fnv1a(hash, st->account_ps[i]);
	for (u32 i = 0; i < MACH_NR_INSNS; i++)
		hash = fnv1a(hash, st->insn[i]);
	for (u32 i = 0; i < 3; i++)
		hash = fnv1a(fnv1a(hash, st->tlbie_ric[i]), st->tlbiel_ric[i]);
	for (u32 i = 0; i < MACH_NR_FENCES; i++)
		hash = fnv1a(hash, st->fence[i]);
	hash = fnv1a(hash, st->dsb_ishst_all);
	hash = fnv1a(hash, st->ipi);
	hash = fnv1a(hash, st->tlb_hit);
	hash = fnv1a(hash, st->tlb_miss);
	hash = fnv1a(hash, st->page_fault);
	hash = fnv1a(hash, st->sleeps);
	hash = fnv1a(hash, st->wakes);
	hash = fnv1a(hash, st->switches);
	hash = fnv1a(hash, st->events);
	for (u32 i = 0; i < n; i++)
		hash = fnv1a(hash, cs[i].value);
	hash = fnv1a(hash, sim->chase_loads);
	return fnv1a(hash, sim->w.ops_done);
}

static double seconds(u64 ps)
{
	return (double)ps / 1e12;
}

/*
 * Instructions that drop something; the others only say which translations
 * apply. Those of other architectures are absent, not zero.
 */
static bool insn_counts(const char *arch, u32 insn)
{
	switch (insn) {
	case MACH_X86_CR3_NOFLUSH:
	case MACH_ARM64_TTBR0:
	case MACH_PPC_PID:
	case MACH_PPC_PRTB:
	case MACH_PPC_TLBIE:	/* by RIC, see set_ric_counts() */
	case MACH_PPC_TLBIEL:
		return false;
	}
	if (insn < MACH_ARM64_TTBR0)
		return !strcmp(arch, "x86");
	if (insn < MACH_PPC_PID)
		return !strcmp(arch, "arm64");
	return !strcmp(arch, "powerpc");
}

static bool fence_counts(const char *arch, u32 fence)
{
	if (fence >= MACH_DSB_ISHST && fence <= MACH_DSB_NSH)
		return !strcmp(arch, "arm64");
	if (fence == MACH_PTESYNC || fence == MACH_TLBSYNC)
		return !strcmp(arch, "powerpc");
	return false;
}

static void set_named(struct metrics *ms, const char *prefix, const char *name,
		      double value)
{
	char full[METRIC_NAME_MAX];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	metrics_set(ms, full, value);
}

/* POWER: what an operation drops is in its RIC. */
static void set_ric_counts(struct metrics *ms, const struct machine_stats *st)
{
	static const char *const tlbie[] = { "tlbie_ric0", "tlbie_ric1", "tlbie_ric2" };
	static const char *const tlbiel[] = { "tlbiel_ric0", "tlbiel_ric1",
					      "tlbiel_ric2" };

	for (u32 i = 0; i < 3; i++)
		set_named(ms, "flush.", tlbie[i], (double)st->tlbie_ric[i]);
	for (u32 i = 0; i < 3; i++)
		set_named(ms, "flush.", tlbiel[i], (double)st->tlbiel_ric[i]);
}

static void set_counts(struct metrics *ms, const struct sim *sim,
		       const struct machine_stats *st)
{
	const char *arch = sim->setup->desc->arch;

	for (u32 i = 0; i < MACH_NR_INSNS; i++)
		if (insn_counts(arch, i))
			set_named(ms, "flush.", machine_insn_name(i),
				  (double)st->insn[i]);
	if (!strcmp(arch, "powerpc"))
		set_ric_counts(ms, st);
	for (u32 i = 0; i < MACH_NR_FENCES; i++)
		if (fence_counts(arch, i))
			set_named(ms, "flush.", machine_fence_name(i),
				  (double)st->fence[i]);
	if (!strcmp(arch, "arm64"))
		metrics_set(ms, "fence.dsb_ishst_else",
			    (double)st->dsb_ishst_all -
			    (double)st->fence[MACH_DSB_ISHST]);
	metrics_set(ms, "flush.ipi", (double)st->ipi);
	metrics_set(ms, "fabric.wait_s", seconds(st->fabric_wait_ps));
	metrics_set(ms, "tlb.hit", (double)st->tlb_hit);
	metrics_set(ms, "tlb.miss", (double)st->tlb_miss);
	metrics_set(ms, "machine.page_faults", (double)st->page_fault);
	metrics_set(ms, "machine.sleeps", (double)st->sleeps);
	metrics_set(ms, "machine.wakes", (double)st->wakes);
	metrics_set(ms, "machine.switches", (double)st->switches);
	metrics_set(ms, "machine.events", (double)st->events);
}

static void set_times(struct metrics *ms, const struct sim *sim,
		      const struct machine_stats *st)
{
	u64 user = st->account_ps[MACH_ACCT_USER] + st->account_ps[MACH_ACCT_WALK];
	u64 sys_ps = 0;

	for (u32 i = 0; i < MACH_NR_ACCOUNTS; i++)
		if (i != MACH_ACCT_USER && i != MACH_ACCT_WALK && i != MACH_ACCT_IDLE)
			sys_ps += st->account_ps[i];
	metrics_set(ms, "real_s", seconds(st->window_ps));
	metrics_set(ms, "user_s", seconds(user));
	metrics_set(ms, "sys_s", seconds(sys_ps));
	metrics_set(ms, "ops", (double)sim->w.ops_done);
	if (st->window_ps) {
		metrics_set(ms, "ops_per_s",
			    (double)sim->w.ops_done / seconds(st->window_ps));
		if (sim->chased)
			metrics_set(ms, "chase_loads_per_s",
				    (double)sim->chase_loads / seconds(st->window_ps));
	}
}

static void sim_metrics(struct sim *sim, struct metrics *ms)
{
	const struct machine_stats *st = machine_stats(sim->machine);
	struct core_stat cs[TLBLAB_MAX_KNOBS];
	u32 n = machine_core_stats(sim->machine, cs, TLBLAB_MAX_KNOBS);

	set_times(ms, sim, st);
	figures_set(&sim->figures, seconds(st->window_ps), ms);
	set_counts(ms, sim, st);
	for (u32 i = 0; i < MACH_NR_ACCOUNTS; i++)
		set_named(ms, "account.", machine_account_name(i),
			  seconds(st->account_ps[i]));
	for (u32 i = 0; i < n; i++)
		metrics_set(ms, cs[i].name, (double)cs[i].value);
	ms->digest = sim_digest(sim, st, cs, n);
}

/* -------------------------------------------------------------- intervals */

static u64 busy_ps(const struct machine_stats *st)
{
	u64 ps = 0;

	for (u32 i = 0; i < MACH_NR_ACCOUNTS; i++)
		if (i != MACH_ACCT_IDLE)
			ps += st->account_ps[i];
	return ps;
}

/* For other CPUs' TLBs and interrupts; fences are not part of it. */
static u64 stall_ps(const struct machine_stats *st)
{
	return st->account_ps[MACH_ACCT_INVALIDATE_ISSUE] + st->fabric_wait_ps +
	       st->account_ps[MACH_ACCT_IPI_WAIT];
}

static u64 insns(const struct machine_stats *st, u32 first, u32 last)
{
	u64 n = 0;

	for (u32 i = first; i <= last; i++)
		n += st->insn[i];
	return n;
}

static void interval_add(struct interval *row, const char *name, double value)
{
	struct metric *m = &row->m[row->n++];

	snprintf(m->name, sizeof(m->name), "%s", name);
	m->value = value;
}

/* From a to b: in cycles, where the machine says what one takes, else in seconds. */
static void interval_time(struct interval *row, const struct machine_desc *desc,
			  const char *cycles, const char *secs, u64 a, u64 b)
{
	const struct cost *cycle = &desc->hw_cost[HW_CYCLE];

	if (cycle->ps)
		interval_add(row, cycles, (double)((b - a) / cycle->ps));
	else
		interval_add(row, secs, seconds(b - a));
}

/* The operations of other CPUs' TLBs, as each architecture has them. */
static void interval_flushes(struct interval *row, const char *arch,
			     const struct machine_stats *a, const struct machine_stats *b)
{
	static const struct {
		const char *arch, *name;
		u32 first, last;
	} rows[] = {
		{ "x86", "flushes", MACH_X86_INVLPG, MACH_X86_CR3 },
		{ "arm64", "tlbi", MACH_ARM64_TLBI_VAE1IS, MACH_ARM64_TLBI_RVALE1IS },
		{ "powerpc", "tlbie", MACH_PPC_TLBIE, MACH_PPC_TLBIE },
		{ "powerpc", "hcalls", MACH_PPC_H_RPT_INVALIDATE, MACH_PPC_H_RPT_INVALIDATE },
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].arch, arch))
			interval_add(row, rows[i].name,
				     (double)(insns(b, rows[i].first, rows[i].last) -
					      insns(a, rows[i].first, rows[i].last)));
	if (!strcmp(arch, "x86"))
		interval_add(row, "ipi", (double)(b->ipi - a->ipi));
}

static void sim_interval(void *arg, const struct machine_stats *so_far)
{
	struct sim *sim = arg;
	struct metrics *ms = sim->metrics;
	const struct machine_desc *desc = sim->setup->desc;
	const struct machine_stats *last = &sim->interval_stats;
	struct interval *row;

	ms->interval = realloc(ms->interval, (ms->nr_intervals + 1) * sizeof(*row));
	if (!ms->interval) {
		fprintf(stderr, "tlblab: out of memory\n");
		exit(2);
	}
	row = &ms->interval[ms->nr_intervals++];
	row->n = 0;
	interval_add(row, "time_s", seconds(so_far->window_ps));
	interval_add(row, "ops", (double)(sim->turns - sim->interval_turns));
	interval_time(row, desc, "cycles", "busy_s", busy_ps(last), busy_ps(so_far));
	interval_time(row, desc, "stall_cycles", "stall_s", stall_ps(last), stall_ps(so_far));
	interval_flushes(row, desc->arch, last, so_far);
	sim->interval_turns = sim->turns;
	sim->interval_stats = *so_far;
}

/* What came after the last whole one. */
static void sim_interval_rest(struct sim *sim)
{
	const struct machine_stats *st = machine_stats(sim->machine);

	if (sim->setup->interval_ps && st->window_ps > sim->interval_stats.window_ps)
		sim_interval(sim, st);
}

/* -------------------------------------------------------------------- run */

static void sim_main(void *arg)
{
	struct sim *sim = arg;

	sim->w.workload->main(&sim->w);
	sys(&sim->w)->exit();
}

static void sim_progress(void *arg, u64 ps)
{
	struct sim *sim = arg;

	if (sim->setup->progress)
		sim->setup->progress(sim->setup->progress_arg, ps);
	if (sim->setup->stop && *sim->setup->stop)
		machine_stop(sim->machine);
}

static struct sim *sim_create(const struct run_setup *setup, struct machine *m,
			      struct metrics *metrics)
{
	struct sim *sim = aligned_alloc(LINE, (sizeof(*sim) + LINE - 1) & ~(LINE - 1));

	if (!sim)
		return NULL;
	memset(sim, 0, sizeof(*sim));
	sim->setup = setup;
	sim->machine = m;
	sim->metrics = metrics;
	sim->w.ops = &sim_ops;
	sim->w.workload = setup->workload;
	memcpy(sim->w.param, setup->param, sizeof(sim->w.param));
	sim->w.threads = setup->threads;
	sim->w.nr_cpus = setup->desc->nr_cpus;
	sim->w.page_size = 1U << setup->desc->page_shift;
	sim->w.pin = setup->pin;
	sim->w.binding = sim;
	return sim;
}

static void sim_destroy(struct sim *sim)
{
	while (sim->mem) {
		struct sim_mem *mem = sim->mem;

		sim->mem = mem->next;
		free(mem);
	}
	free(sim);
}

/*
 * What became of it. A run that its workload's own limit ended is complete: that
 * it hung is what it found.
 */
static enum run_status sim_outcome(struct sim *sim, int ret, bool has_limit,
				   char *error, size_t error_size)
{
	if (ret == -EINTR || (sim->setup->stop && *sim->setup->stop))
		return RUN_STOPPED;
	if (ret == -ETIME || ret == -ELOOP)
		return has_limit ? RUN_OK : RUN_STOPPED;
	if (ret) {
		snprintf(error, error_size, "%s: %s", sim->w.workload->name,
			 machine_message(sim->machine));
		return RUN_FAILED;
	}
	if (sim->w.failed) {
		snprintf(error, error_size, "%s: %s failed (%d)",
			 sim->w.workload->name, sim->w.failed_what, sim->w.failed);
		return RUN_FAILED;
	}
	return RUN_OK;
}

/* The workload's own limit or the caller's, whichever is shorter. */
static u64 sim_time_limit(const struct run_setup *setup, u64 own_ms)
{
	u64 own_ps = own_ms * PS_PER_MS;

	if (!own_ms || (setup->time_limit_ps && setup->time_limit_ps < own_ps))
		return setup->time_limit_ps;
	return own_ps;
}

static enum run_status sim_run(struct sim *sim, struct metrics *metrics,
			       char *error, size_t error_size)
{
	const struct run_setup *setup = sim->setup;
	u64 own_ms = wl_param_by_name(&sim->w, "limit", 0);
	u64 first[MAP_WORDS] = { 1 };
	enum run_status status;
	int ret;

	machine_set_time_limit(sim->machine, sim_time_limit(setup, own_ms));
	machine_set_progress(sim->machine, sim_progress, sim);
	machine_set_interval(sim->machine, setup->interval_ps, sim_interval, sim);
	ret = machine_run(sim->machine, sim_main, sim, setup->pin ? first : NULL);
	status = sim_outcome(sim, ret, own_ms, error, error_size);
	if (status == RUN_FAILED)
		return status;
	/* Left where they were: what was done is what the loops counted. */
	if (ret && !own_ms && !sim->w.ops_done)
		sim->w.ops_done = sim->turns;
	if (own_ms) {
		figures_add(&sim->figures, "hung", ret != 0);
		figures_add(&sim->figures, "faults_per_s",
			    (double)machine_stats(sim->machine)->page_fault /
			    seconds(machine_stats(sim->machine)->window_ps + 1));
	}
	if (ret == -ELOOP)
		snprintf(metrics->note, sizeof(metrics->note), "%s",
			 machine_message(sim->machine));
	sim_interval_rest(sim);
	sim_metrics(sim, metrics);
	return status;
}

enum run_status run_simulated(const struct run_setup *setup,
			      struct metrics *metrics,
			      char *error, size_t error_size)
{
	struct timespec t0, t1;
	enum run_status status = RUN_FAILED;
	struct machine *m;
	struct sim *sim;

	memset(metrics, 0, sizeof(*metrics));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	m = machine_create(setup->desc, setup->core, setup->knobs, setup->seed,
			   error, error_size);
	if (!m)
		return RUN_FAILED;
	sim = sim_create(setup, m, metrics);
	if (sim) {
		status = sim_run(sim, metrics, error, error_size);
		sim_destroy(sim);
	} else {
		snprintf(error, error_size, "out of memory");
	}
	machine_destroy(m);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (status != RUN_FAILED)
		metrics_set(metrics, "wall_s", (double)(t1.tv_sec - t0.tv_sec) +
			    (double)(t1.tv_nsec - t0.tv_nsec) / 1e9);
	return status;
}
