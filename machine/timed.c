/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timed machine: life cycle, the measured window, the table of operations. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlblab/machine_abi.h>

#include "internal.h"

/* ---- names ---- */

const char *machine_insn_name(u32 insn)
{
#define X(id, name) #name,
	static const char *const names[] = { MACH_INSNS(X) };
#undef X
	return insn < MACH_NR_INSNS ? names[insn] : NULL;
}

const char *machine_account_name(u32 account)
{
#define X(id, name) #name,
	static const char *const names[] = { MACH_ACCOUNTS(X) };
#undef X
	return account < MACH_NR_ACCOUNTS ? names[account] : NULL;
}

const char *machine_fence_name(u32 kind)
{
	static const char *const names[MACH_NR_FENCES] = {
		[MACH_DSB_ISHST] = "dsb_ishst",
		[MACH_DSB_ISH] = "dsb_ish",
		[MACH_DSB_NSHST] = "dsb_nshst",
		[MACH_DSB_NSH] = "dsb_nsh",
		[MACH_ISB] = "isb",
		[MACH_PTESYNC] = "ptesync",
		[MACH_EIEIO] = "eieio",
		[MACH_TLBSYNC] = "tlbsync",
	};

	return kind < MACH_NR_FENCES ? names[kind] : NULL;
}

/* ---- operations ---- */

static void __attribute__((noreturn))
timed_bug(const char *what, const struct mach_site *site)
{
	machine_panic(what, site->file, site->line, site->func);
}

static const struct mach_ops timed_ops = {
	.abi = TLBLAB_ABI,
	.size = sizeof(struct mach_ops),
	.load = word_load,
	.store = word_store,
	.rmw = word_rmw,
	.fence = fence_execute,
	.scan_zero = word_scan_zero,
	.wait_change = word_wait_change,
	.spin_lock = lock_spin_lock,
	.spin_trylock = lock_spin_trylock,
	.spin_unlock = lock_spin_unlock,
	.block = thread_block,
	.wake = thread_wake,
	.thread_create = thread_create,
	.thread_exit = thread_exit,
	.need_resched = thread_need_resched,
	.cond_resched = thread_cond_resched,
	.irq_save = irq_save,
	.irq_restore = irq_restore,
	.ipi = ipi_send,
	.rcu_read_lock = rcu_read_lock,
	.rcu_read_unlock = rcu_read_unlock,
	.call_rcu = rcu_call,
	.insn = insn_execute,
	.alloc_frames = mem_alloc_frames,
	.free_frames = mem_free_frames,
	.frame_node = mem_frame_node,
	.cpu_node = mem_cpu_node,
	.migrate_thread = thread_migrate,
	.user_sweep = user_sweep,
	.copy_frame = mem_copy_frame,
	.frame_store = mem_frame_store,
	.kalloc = mem_kalloc,
	.kfree = mem_kfree,
	.charge = cost_charge,
	.context = cost_context,
	.user_access = user_access,
	.user_run = user_run,
	.user_wait_change = word_user_wait_change,
	.user_chase = user_chase,
	.bug = timed_bug,
};

const struct mach_ops *machine_timed_ops(void)
{
	return &timed_ops;
}

/* ---- creation ---- */

static void cpu_init(struct machine *m, u32 id)
{
	struct cpu *c = &m->cpu[id];
	u64 rng = m->seed + id;

	c->m = m;
	c->id = id;
	c->place = m->desc->place[id];
	c->ctx_acct = MACH_ACCT_SCHED;
	c->irqs_on = true;
	c->irq_tail = &c->irq_head;
	c->rq_tail = &c->rq_head;
	c->rcu_next_tail = &c->rcu_next;
	c->rcu_cur_tail = &c->rcu_cur;
	c->rcu_done_tail = &c->rcu_done;
	c->tick_irq.kind = IRQ_TICK;
	c->tick_irq.cpu = id;
	c->rcu_irq.kind = IRQ_RCU;
	c->rcu_irq.cpu = id;
	/* Neighbouring seeds and CPUs must not give the same stream. */
	c->rng = splitmix(&rng) ^ m->seed << 32 ^ id;
	splitmix(&c->rng);
}

static void take_min(u64 *min, u64 ps)
{
	if (ps < *min)
		*min = ps;
}

/* The shortest transfer of a line between any two CPUs of this machine. */
static u64 lookahead(const struct machine *m)
{
	const struct cpu_place *first = &m->cpu[0].place;
	bool smt = false, near = false, far = false;
	u64 min = NEVER;

	for (u32 i = 1; i < m->nr_cpus; i++) {
		const struct cpu_place *p = &m->cpu[i].place;

		smt |= p->smt != 0;
		near |= p->core != first->core;
		far |= p->package != first->package;
	}
	if (smt)
		take_min(&min, hw_cost(m, HW_LINE_SMT));
	if (near)
		take_min(&min, hw_cost(m, HW_LINE_NEAR));
	if (far)
		take_min(&min, hw_cost(m, HW_LINE_FAR));
	return min == NEVER ? 0 : min;
}

/* On CPU 0's first stack. */
static void boot_core(struct machine *m)
{
	struct core_boot boot = { .knobs = m->knobs };

	m->core_root = m->core->boot(&boot, &m->init_task, &m->boot_error);
	if (!m->core_root && !m->boot_error)
		m->boot_error = "the core refuses to boot";
}

/* First and only function of an idle stack. */
static void idle_entry(void *arg)
{
	struct thread *t;
	struct cpu *c;

	coro_started();
	t = arg;
	c = t->cpu;
	if (!c->id) {
		boot_core(c->m);
		if (!c->m->core_root)
			coro_switch(&t->coro, &c->m->host);
	}
	t->env.core = c->m->core_root;
	t->env.task = c->m->core->cpu_online();
	idle_main(NULL);
}

static bool boot_cpus(struct machine *m)
{
	m->booting = true;
	for (u32 i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpu[i];
		struct thread *t = thread_new(m, idle_entry);

		MACH_ASSERT(t);
		c->idle = c->cur = t;
		t->cpu = c;
		t->env.cpu = i;
		t->is_idle = t->on_cpu = true;
		t->ctx = MACH_CTX_SYSCALL;
		t->state = THREAD_RUNNING;
		coro_switch(&m->host, &t->coro);
		if (m->boot_error)
			return false;
	}
	m->booting = false;
	return true;
}

static void copy_costs(struct machine *m)
{
#define X(id, name, account) MACH_ACCT_##account,
	static const u8 account[] = { MACH_COSTS(X) };
#undef X
	const struct machine_desc *desc = m->desc;

	for (u32 i = 0; i < HW_NR_COSTS; i++)
		m->hw_ps[i] = desc->hw_cost[i].ps;
	for (u32 i = 0; i < MACH_NR_COSTS; i++) {
		u64 ps = desc->core_cost[i].ps;

		m->named[i] = (struct named_cost){
			.ps = ps, .spread = ps * desc->jitter_pct / 100,
			.acct = account[i],
		};
	}
}

static bool allocate(struct machine *m, char *error, size_t error_size)
{
	const struct machine_desc *desc = m->desc;
	u32 n = desc->nr_cpus;

	if (!mem_create(m, error, error_size))
		return false;
	m->cpu = aligned_alloc(64, sizeof(*m->cpu) * n);
	m->thread = calloc(TLBLAB_MAX_THREADS, sizeof(*m->thread));
	m->tid_ring = calloc(TLBLAB_MAX_THREADS, sizeof(*m->tid_ring));
	fabric_init(&m->fabric, n);
	m->mmu = mmu_create(desc, m->phys, m->seed);
	clock_init(&m->clock, EVENT_IRQ(m));
	if (!m->cpu || !m->thread || !m->tid_ring || !m->fabric.heap || !m->mmu ||
	    !lock_create(m)) {
		snprintf(error, error_size, "out of memory for machine %s",
			 desc->name);
		return false;
	}
	memset(m->cpu, 0, sizeof(*m->cpu) * n);
	copy_costs(m);
	for (u32 i = 0; i < n; i++)
		cpu_init(m, i);
	m->lookahead = lookahead(m);
	sched_init(m);
	return true;
}

/*
 * A hardware knob may have been set away from what the machine's file says (-s
 * x86.pcid=off): the machine then is what the core was told that it is.
 */
static void set_features(struct machine_desc *desc, const struct core_module *core,
			 const s64 *knobs)
{
	for (u32 k = 0; core->knobs && core->knobs[k]; k++) {
		const struct knob *knob = core->knobs[k];
		u32 f;

		if (knob->kind != KNOB_HW)
			continue;
		for (f = 0; f < desc->nr_features; f++)
			if (!strcmp(desc->feature[f].name, knob->name))
				break;
		MACH_ASSERT(f < DESC_MAX_FEATURES);
		if (f == desc->nr_features)
			desc->nr_features++;
		snprintf(desc->feature[f].name, sizeof(desc->feature[f].name), "%s",
			 knob->name);
		if (knob->values)
			snprintf(desc->feature[f].value, sizeof(desc->feature[f].value),
				 "%s", knob->values[knobs[k]]);
		else
			snprintf(desc->feature[f].value, sizeof(desc->feature[f].value),
				 "%lld", (long long)knobs[k]);
	}
}

struct machine *machine_create(const struct machine_desc *desc,
			       const struct core_module *core,
			       const s64 *knobs, u64 seed,
			       char *error, size_t error_size)
{
	struct machine *m;

	if (core->abi != TLBLAB_ABI) {
		snprintf(error, error_size, "core has ABI %016llx, this machine "
			 "%016llx", (unsigned long long)core->abi,
			 (unsigned long long)TLBLAB_ABI);
		return NULL;
	}
	MACH_ASSERT(desc->nr_cpus && desc->nr_cpus <= TLBLAB_MAX_CPUS);
	m = calloc(1, sizeof(*m));
	if (m)
		m->desc = malloc(sizeof(*m->desc));
	if (!m || !m->desc) {
		free(m);
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	*m->desc = *desc;
	set_features(m->desc, core, knobs);
	m->core = core;
	m->knobs = knobs;
	m->seed = seed;
	m->rng = ~seed;
	m->nr_cpus = desc->nr_cpus;
	m->words = (desc->nr_cpus + 63) / 64;
	m->limit_at = NEVER - 1;
	m->interval_at = NEVER;
	m->nr_tids = 1;
	coro_init_host(&m->host);
	if (!allocate(m, error, error_size)) {
		machine_destroy(m);
		return NULL;
	}
	if (!boot_cpus(m)) {
		snprintf(error, error_size, "%s", m->boot_error);
		machine_destroy(m);
		return NULL;
	}
	return m;
}

void machine_destroy(struct machine *m)
{
	if (m->mmu)
		mmu_destroy(m->mmu);
	if (m->cpu)
		for (u32 i = 0; i < m->nr_cpus; i++)
			free(m->cpu[i].tlbi);
	ipi_destroy(m);
	lock_destroy(m);
	fabric_destroy(&m->fabric);
	clock_destroy(&m->clock);
	mem_destroy(m);
	free(m->thread);
	free(m->tid_ring);
	free(m->cpu);
	free(m->desc);
	free(m);
}

/* ---- running ---- */

static void window_close_at(struct machine *m, u64 time);

static int result_of(struct machine *m)
{
	switch (m->finish) {
	case FINISH_DONE:
		return 0;
	case FINISH_DEADLOCK:
		sched_describe(m, "deadlock, everybody waits");
		m->broken = true;
		return -EDEADLK;
	case FINISH_STOP:
		sched_describe(m, "stopped");
		m->broken = true;
		return -EINTR;
	case FINISH_TIME:
		sched_describe(m, "the limit of simulated time was reached");
		m->broken = true;
		return -ETIME;
	case FINISH_STUCK:
		m->broken = true;
		return -ELOOP;
	case FINISH_NO:
		break;
	}
	MACH_PANIC("the run ended for no reason");
}

int machine_run(struct machine *m, void (*fn)(void *arg), void *arg,
		const u64 *affinity)
{
	struct thread *t;
	struct cpu *next;
	u64 start = m->now;

	/* Threads that were abandoned cannot be taken up again. */
	MACH_ASSERT(!m->running && !m->broken);
	for (u32 i = 0; i < m->nr_cpus; i++)
		if (m->cpu[i].clock > start)
			start = m->cpu[i].clock;
	m->running = true;
	m->exiting = 0;
	m->finish = FINISH_NO;
	t = thread_spawn(m, &m->cpu[0], m->init_task, fn, arg, affinity);
	MACH_ASSERT(t);
	thread_activate(t, start);
	clock_set(&m->clock, EVENT_HEARTBEAT(m), start + HEARTBEAT_PS);
	next = clock_next(m);
	if (next)
		coro_switch(&m->host, &next->coro);
	m->running = false;
	/* Who opened it was ahead of the last event. */
	if (m->window_open)
		window_close_at(m, m->now > m->window_start ? m->now :
							      m->window_start);
	return result_of(m);
}

const char *machine_message(const struct machine *m)
{
	return m->message;
}

void machine_stop(struct machine *m)
{
	m->stop = 1;
}

static void set_limit(struct machine *m)
{
	m->limit_at = m->limit_ps && m->window_opened ?
			      m->window_start + m->limit_ps : NEVER - 1;
}

void machine_set_time_limit(struct machine *m, u64 ps)
{
	m->limit_ps = ps;
	set_limit(m);
}

void machine_set_progress(struct machine *m, void (*fn)(void *arg, u64 ps),
			  void *arg)
{
	m->progress = fn;
	m->progress_arg = arg;
}

/* Neither touches the queue: a beat is the caller's to put there. */
u64 machine_next_beat(const struct machine *m)
{
	u64 at = m->now + HEARTBEAT_PS;

	return m->interval_at < at ? m->interval_at : at;
}

static void start_intervals(struct machine *m)
{
	m->interval_at = m->interval_ps ? m->window_start + m->interval_ps : NEVER;
	if (m->interval_at < m->now + HEARTBEAT_PS && m->running)
		clock_set(&m->clock, EVENT_HEARTBEAT(m), m->interval_at);
}

void machine_set_interval(struct machine *m, u64 ps,
			  void (*fn)(void *arg, const struct machine_stats *so_far),
			  void *arg)
{
	MACH_ASSERT(!m->running);
	m->interval_ps = ps;
	m->interval = fn;
	m->interval_arg = arg;
}

/* ---- the measured window ----
 *
 * At the moment W of opening or closing, every CPU is in one of two states. It
 * waits, with its clock at or before W: then it is charged for its wait up to W.
 * Or its clock (with what is prepaid) is beyond W, because it parked at
 * the end of a stretch of work that W cuts. That overrun belongs to after W; it is
 * counted there, under the account that was charged last (most of it
 * is that very charge). So the window has exactly (close - open) of each CPU.
 */

static u64 overrun_of(const struct cpu *c, u64 time)
{
	MACH_ASSERT(c->clock + c->prepaid >= time);
	return c->clock + c->prepaid - time;
}

static void add_mmu_stats(struct machine *m, struct machine_stats *s, u64 sign)
{
	for (u32 i = 0; i < m->nr_cpus; i++) {
		struct mmu_stats ms;

		mmu_stats(m->mmu, i, &ms);
		s->tlb_hit += sign * (ms.hit_l1 + ms.hit_l2);
		s->tlb_miss += sign * ms.walk;
	}
}

static void window_open_at(struct machine *m, u64 time)
{
	for (u32 i = 0; i < m->nr_cpus; i++) {
		struct cpu *c = &m->cpu[i];

		cpu_bring_up(c, time);
		memcpy(c->open_acct, c->acct, sizeof(c->acct));
		/* May go below zero; the difference at the end does not. */
		c->open_acct[c->last_acct] -= overrun_of(c, time);
	}
	memset(&m->stats, 0, sizeof(m->stats));
	add_mmu_stats(m, &m->stats, -1ULL);
	m->events_start = m->events;
	m->window_start = time;
	m->window_open = m->window_opened = true;
	set_limit(m);
	start_intervals(m);
}

/* What CPU c did in the window that closes at time, added to s. */
static void add_accounts(struct cpu *c, u64 time, struct machine_stats *s)
{
	u64 over = overrun_of(c, time), ps[MACH_NR_ACCOUNTS];

	for (u32 a = 0; a < MACH_NR_ACCOUNTS; a++)
		ps[a] = c->acct[a] - c->open_acct[a];
	for (u32 i = 0; over; i++) {
		u32 a = (c->last_acct + i) % MACH_NR_ACCOUNTS;
		u64 take = over < ps[a] ? over : ps[a];

		MACH_ASSERT(i < MACH_NR_ACCOUNTS);
		ps[a] -= take;
		over -= take;
	}
	for (u32 a = 0; a < MACH_NR_ACCOUNTS; a++)
		s->account_ps[a] += ps[a];
}

/* All of the window up to time. */
static void window_stats(struct machine *m, u64 time, struct machine_stats *s)
{
	u64 sum = 0;

	*s = m->stats;
	s->window_ps = time - m->window_start;
	s->events = m->events - m->events_start;
	for (u32 i = 0; i < m->nr_cpus; i++) {
		cpu_bring_up(&m->cpu[i], time);
		add_accounts(&m->cpu[i], time, s);
	}
	add_mmu_stats(m, s, 1);
	for (u32 a = 0; a < MACH_NR_ACCOUNTS; a++)
		sum += s->account_ps[a];
	MACH_ASSERT(sum == s->window_ps * m->nr_cpus);
}

static void window_close_at(struct machine *m, u64 time)
{
	window_stats(m, time, &m->frozen);
	m->window_open = false;
	m->interval_at = NEVER;
}

void machine_interval(struct machine *m)
{
	struct machine_stats so_far;

	if (m->now < m->interval_at)
		return;
	window_stats(m, m->now, &so_far);
	m->interval(m->interval_arg, &so_far);
	m->interval_at += m->interval_ps;
}

void machine_window_open(void)
{
	struct cpu *c = this_cpu();

	cpu_sync(c);
	window_open_at(c->m, c->clock);
}

void machine_window_close(void)
{
	struct cpu *c = this_cpu();

	if (!c->m->window_open)
		return;
	cpu_sync(c);
	if (c->m->window_open)
		window_close_at(c->m, c->clock);
}

const struct machine_stats *machine_stats(const struct machine *m)
{
	return &m->frozen;
}

struct stats_call {
	struct machine *m;
	struct core_stat *stats;
	u32 n;
};

static void stats_entry(void *arg)
{
	struct thread *t;
	struct stats_call *call;

	coro_started();
	t = arg;
	call = t->arg;
	call->n = call->m->core->stats(call->stats, call->n);
	coro_leave(&t->coro, &call->m->host);
}

/* The core needs a stack of the machine to stand on, whoever asks. */
u32 machine_core_stats(struct machine *m, struct core_stat *stats, u32 n)
{
	struct stats_call call = { m, stats, n };
	struct thread *t;

	if (!m->core->stats)
		return 0;
	if (m->running)
		return m->core->stats(stats, n);
	t = thread_new(m, stats_entry);
	MACH_ASSERT(t);
	t->cpu = &m->cpu[0];
	t->env.task = m->cpu[0].idle->env.task;
	t->arg = &call;
	m->booting = true;
	coro_switch(&m->host, &t->coro);
	m->booting = false;
	t->next = m->stack_free;
	m->stack_free = t;
	return call.n;
}

u64 machine_now(void)
{
	return this_cpu()->clock;
}

u64 machine_random(void)
{
	return splitmix(&this_cpu()->m->rng);
}
