/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm_model.h"

#define RW (PROT_READ | PROT_WRITE)
#define SIGNAL_NONE 0

/* ---- agents ---- */

static const struct core_syscalls *sys(void)
{
	return &tlblab_core(machine_timed_ops())->sys;
}

/* What is kept for later is not left at the end. */
static void exit_quiet(void)
{
	tlblab_core(machine_timed_ops())->drain_all();
	sys()->exit();
}

static void wait_word(const u32 *word, u32 val)
{
	u32 now;

	while ((now = mach_load(word, MACH_ACQUIRE)) != val) {
		struct mach_watch watch = { word, sizeof(*word), now };

		mach_env()->ops->user_wait_change(&watch, 1);
	}
}

static void agent_main(void *arg);

static s64 agent_fork(struct agent *a)
{
	u64 affinity[TLBLAB_MAX_CPUS / 64] = { 1UL << a->child->cpu };
	s64 tid;

	a->child->mm = NULL;
	mach_store(&a->child->busy, 1, MACH_RELEASE);
	tid = sys()->clone(0, agent_main, a->child, affinity);
	return tid > 0 ? 0 : tid;
}

static s64 agent_do(struct agent *a)
{
	u64 val = 1;

	switch ((enum agent_op)a->op) {
	case OP_STORE:
		return mach_env()->ops->user_access(a->addr, true, &val);
	case OP_LOAD:
		return mach_env()->ops->user_access(a->addr, false, &val);
	case OP_MUNMAP:
		return sys()->munmap(a->addr, a->len);
	case OP_MMAP:
		return sys()->mmap(a->addr, a->len, RW,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED) ==
				       (s64)a->addr ? 0 : -1;
	case OP_DONTNEED:
		return sys()->madvise(a->addr, a->len, MADV_DONTNEED);
	case OP_HUGEPAGE:
		return sys()->madvise(a->addr, a->len, MADV_HUGEPAGE);
	case OP_NOHUGEPAGE:
		return sys()->madvise(a->addr, a->len, MADV_NOHUGEPAGE);
	case OP_MPROTECT:
		return sys()->mprotect(a->addr, a->len, (u32)a->arg);
	case OP_MREMAP:
		return sys()->mremap(a->addr, a->len, a->len,
				     MREMAP_MAYMOVE | MREMAP_FIXED, a->arg);
	case OP_COLLAPSE:
		return sys()->madvise(a->addr, a->len, MADV_COLLAPSE);
	case OP_GUP:
		return sys()->gup_fast(a->addr, (u32)(a->len >> PAGE_SHIFT), a->arg);
	case OP_GUP_WRITE:
	case OP_FORCE:
		return sys()->gup_write(a->addr, 1, a->op == OP_FORCE);
	case OP_DROP:
		return sys()->drop_caches();
	case OP_PAGEOUT:
		return sys()->madvise(a->addr, a->len, MADV_PAGEOUT);
	case OP_RECLAIM:
		return sys()->reclaim(a->addr, a->len);
	case OP_MIGRATE:
		return sys()->move_pages(a->addr, a->len >> PAGE_SHIFT, -1);
	case OP_MSYNC:
		return sys()->msync(a->addr, a->len);
	case OP_REMOVE:
		return sys()->madvise(a->addr, a->len, MADV_REMOVE);
	case OP_FORK:
		return agent_fork(a);
	default:
		return 0;
	}
}

/* A thread that works until it is told OP_EXIT. Starts out busy. */
static void agent_main(void *arg)
{
	struct agent *a = arg;

	a->mm = ((struct task_struct *)mach_env()->task)->mm;
	mach_store(&a->busy, 0, MACH_RELEASE);
	for (;;) {
		wait_word(&a->busy, 1);
		if (a->op == OP_EXIT)
			break;
		a->ret = agent_do(a);
		mach_store(&a->busy, 0, MACH_RELEASE);
	}
	mach_store(&a->busy, 0, MACH_RELEASE);
}

/* Tell an agent, and wait. The driver is process 0's first agent itself. */
static s64 tell(struct agent *a, u32 op, u64 addr, u64 len, u64 arg)
{
	a->op = op;
	a->addr = addr;
	a->len = len;
	a->arg = arg;
	if (a == &a->model->agent[0])
		return agent_do(a);
	mach_store(&a->busy, 1, MACH_RELEASE);
	wait_word(&a->busy, 0);
	return a->ret;
}

/* ---- the model's idea of each operation ---- */

static u64 address(u64 page)
{
	return MODEL_BASE + (page << PAGE_SHIFT);
}

static bool any_hole(const struct proc *p, u64 from, u64 n)
{
	for (u64 i = from; i < from + n; i++)
		if (!p->page[i].mapped)
			return true;
	return false;
}

static bool expect(struct model *m, const char *what, u64 page, s64 got, s64 want)
{
	if (got == want)
		return true;
	return model_fail(m, "step %u: %s at page %llu: %lld, expected %lld", m->steps, what,
			  (unsigned long long)page, (long long)got, (long long)want);
}

static bool do_access(struct model *m, struct proc *p, struct agent *a, bool write, u64 i)
{
	struct model_page *mp = &p->page[i];
	bool may = mp->mapped && (mp->prot & (write ? PROT_WRITE : RW));
	s64 sig = tell(a, write ? OP_STORE : OP_LOAD, address(i), 0, 0);

	if (may && write)
		mp->contents = ++m->next_contents;
	return expect(m, write ? "store" : "load", i, sig, may ? SIGNAL_NONE : MACH_SIGSEGV);
}

/* Memory is private: by force it can always be written. */
static bool do_gup_write(struct model *m, struct proc *p, bool force, u64 i)
{
	struct model_page *mp = &p->page[i];
	bool may = mp->mapped && (force || (mp->prot & PROT_WRITE));
	s64 ret = tell(p->agent, force ? OP_FORCE : OP_GUP_WRITE, address(i), 0, 0);

	if (may)
		mp->contents = ++m->next_contents;
	return expect(m, "gup_write", i, ret, may ? 0 : -EFAULT);
}

static bool do_munmap_range(struct model *m, struct proc *p, u64 i, u64 n)
{
	memset(&p->page[i], 0, n * sizeof(p->page[0]));
	return expect(m, "munmap", i, tell(p->agent, OP_MUNMAP, address(i),
					   n << PAGE_SHIFT, 0), 0);
}

static bool do_mmap_range(struct model *m, struct proc *p, u64 i, u64 n)
{
	for (u64 k = i; k < i + n; k++)
		p->page[k] = (struct model_page){ .mapped = true, .prot = RW };
	return expect(m, "mmap", i, tell(p->agent, OP_MMAP, address(i), n << PAGE_SHIFT, 0),
		      0);
}

static bool do_advice(struct model *m, struct proc *p, u32 op, u64 i, u64 n)
{
	s64 want = any_hole(p, i, n) ? -ENOMEM : 0;

	for (u64 k = i; k < i + n; k++) {
		if (op == OP_DONTNEED)
			p->page[k].contents = 0;
		else if (op != OP_PAGEOUT)
			p->page[k].huge = p->page[k].mapped && op == OP_HUGEPAGE;
	}
	return expect(m, "madvise", i, tell(p->agent, op, address(i), n << PAGE_SHIFT, 0),
		      want);
}

static bool do_mprotect_range(struct model *m, struct proc *p, u64 i, u64 n, u8 prot)
{
	s64 want = any_hole(p, i, n) ? -ENOMEM : 0;

	/* As far as the first hole. */
	for (u64 k = i; k < i + n && p->page[k].mapped; k++)
		p->page[k].prot = prot;
	return expect(m, "mprotect", i, tell(p->agent, OP_MPROTECT, address(i),
					     n << PAGE_SHIFT, prot), want);
}

static bool do_mremap_range(struct model *m, struct proc *p, u64 from, u64 to, u64 n)
{
	s64 ret;

	if (from + n > to && to + n > from)
		return true;
	ret = tell(p->agent, OP_MREMAP, address(from), n << PAGE_SHIFT, address(to));
	memset(&p->page[to], 0, n * sizeof(p->page[0]));
	/* Where VMAs meet is the core's business: it may refuse to move two. */
	if (ret == -EFAULT)
		return true;
	if (any_hole(p, from, n))
		return model_fail(m, "step %u: mremap moved a hole", m->steps);
	memcpy(&p->page[to], &p->page[from], n * sizeof(p->page[0]));
	memset(&p->page[from], 0, n * sizeof(p->page[0]));
	return expect(m, "mremap", from, ret, (s64)address(to));
}

static bool do_fork_proc(struct model *m, struct proc *p)
{
	for (u32 c = 1; c < MAX_PROCS; c++) {
		struct proc *child = &m->proc[c];

		if (child->alive)
			continue;
		child->agent = &m->agent[c];
		p->agent->child = child->agent;
		memcpy(child->page, p->page, sizeof(p->page));
		if (!expect(m, "fork", 0, tell(p->agent, OP_FORK, 0, 0, 0), 0))
			return false;
		wait_word(&child->agent->busy, 0);
		child->alive = true;
		break;
	}
	return true;
}

static bool do_exit_proc(struct model *m, struct proc *p)
{
	if (p == &m->proc[0])
		return true;
	p->alive = false;
	tell(p->agent, OP_EXIT, 0, 0, 0);
	/* Its memory goes as it exits: let it. */
	mach_env()->ops->user_run(1000000000UL);
	return true;
}

/* ---- a step ---- */

static u64 draw(u64 *rng, u64 n)
{
	return test_random(rng) % n;
}

static u64 pages_per_span(void)
{
	return HPAGE_PMD_NR;
}

#define NR_PAGES (SPANS * pages_per_span())

/* A few pages of each span are met again and again, so that translations are live. */
static u64 draw_page(u64 *rng)
{
	u64 per_span = pages_per_span();

	if (draw(rng, 4) == 0)
		return draw(rng, NR_PAGES);
	return draw(rng, SPANS) * per_span + draw(rng, 2) * (per_span - 1);
}

/* Half of the ranges are of whole spans. */
static void draw_range(u64 *rng, u64 *from, u64 *n)
{
	u64 per_span = pages_per_span();

	if (draw(rng, 2)) {
		*from = draw(rng, SPANS) * per_span;
		*n = min(1 + draw(rng, 2), SPANS - *from / per_span) * per_span;
	} else {
		*from = draw(rng, NR_PAGES);
		*n = 1 + draw(rng, NR_PAGES - *from);
		*n = *n > 3 && draw(rng, 2) ? 1 + draw(rng, 3) : *n;
	}
}

static bool step_range(struct model *m, struct proc *p, u32 op)
{
	static const u8 prots[] = { RW, PROT_READ, 0, RW };
	u64 from, n, to;

	draw_range(&m->rng, &from, &n);
	switch (op) {
	case OP_MUNMAP:
		return do_munmap_range(m, p, from, n);
	case OP_MMAP:
		return do_mmap_range(m, p, from, n);
	case OP_DONTNEED:
	case OP_HUGEPAGE:
	case OP_NOHUGEPAGE:
		return do_advice(m, p, op, from, n);
	case OP_MPROTECT:
		return do_mprotect_range(m, p, from, n, prots[draw(&m->rng, 4)]);
	case OP_MREMAP:
		to = n < pages_per_span() && draw(&m->rng, 2) ?
			     draw(&m->rng, m->nr_pages - n + 1) :
			     draw(&m->rng, SPANS) * pages_per_span();
		return to + n > m->nr_pages || do_mremap_range(m, p, from, to, n);
	case OP_PAGEOUT:
		return do_advice(m, p, op, from, n);
	case OP_RECLAIM:
	case OP_MIGRATE:
		tell(p->agent, op, address(from), n << PAGE_SHIFT, 0);
		return true;
	case OP_DROP:
		tell(p->agent, OP_DROP, 0, 0, 0);
		return true;
	case OP_COLLAPSE:
		tell(p->agent, OP_COLLAPSE, address(from), n << PAGE_SHIFT, 0);
		return true;
	default:
		tell(p->agent, OP_GUP, address(from), min(n, 512UL) << PAGE_SHIFT,
		     draw(&m->rng, 2));
		return true;
	}
}

/* Stores and huge pages more often than what takes them away. */
static u32 draw_op(u64 *rng)
{
	static const u8 ops[] = {
		OP_STORE, OP_STORE, OP_STORE, OP_STORE, OP_STORE, OP_STORE, OP_LOAD, OP_LOAD,
		OP_MUNMAP, OP_MMAP, OP_MMAP, OP_DONTNEED, OP_HUGEPAGE, OP_HUGEPAGE,
		OP_HUGEPAGE, OP_NOHUGEPAGE, OP_MPROTECT, OP_MPROTECT, OP_MREMAP, OP_MREMAP,
		OP_COLLAPSE, OP_GUP, OP_GUP_WRITE, OP_FORCE, OP_DROP, OP_FORK, OP_EXIT,
		OP_PAGEOUT, OP_RECLAIM, OP_MIGRATE, OP_MREMAP, OP_MREMAP, OP_HUGEPAGE, OP_HUGEPAGE, OP_HUGEPAGE,
	};

	return ops[draw(rng, sizeof(ops))];
}

static bool step(struct model *m)
{
	struct proc *p = &m->proc[draw(&m->rng, MAX_PROCS)];
	struct agent *a;
	u32 op = draw_op(&m->rng);

	if (!p->alive)
		p = &m->proc[0];
	a = p == &m->proc[0] && draw(&m->rng, 2) ? &m->agent[MAX_PROCS] : p->agent;
	switch (op) {
	case OP_STORE:
	case OP_LOAD:
		return do_access(m, p, a, op == OP_STORE, draw_page(&m->rng));
	case OP_GUP_WRITE:
	case OP_FORCE:
		return do_gup_write(m, p, op == OP_FORCE, draw_page(&m->rng));
	case OP_FORK:
		return do_fork_proc(m, p);
	case OP_EXIT:
		return do_exit_proc(m, p);
	default:
		return step_range(m, p, op);
	}
}

/* ---- a run ---- */

static void start_agents(struct model *m)
{
	struct agent *second = &m->agent[MAX_PROCS];
	u64 affinity[TLBLAB_MAX_CPUS / 64] = { 1UL << MAX_PROCS };

	for (u32 i = 0; i <= MAX_PROCS; i++) {
		m->agent[i].model = m;
		m->agent[i].cpu = i;
	}
	m->agent[0].mm = ((struct task_struct *)mach_env()->task)->mm;
	m->proc[0].agent = &m->agent[0];
	m->proc[0].alive = true;
	mach_store(&second->busy, 1, MACH_RELEASE);
	if (sys()->clone(CORE_CLONE_VM, agent_main, second, affinity) <= 0)
		model_fail(m, "no second thread");
	wait_word(&second->busy, 0);
}

static void driver(void *arg)
{
	struct model *m = arg;
	u32 steps = m->steps;

	m->nr_pages = (u32)NR_PAGES;
	start_agents(m);
	do_mmap_range(m, &m->proc[0], 0, m->nr_pages);
	for (m->steps = 0; m->steps < steps && !m->failed[0]; m->steps++)
		if (step(m))
			model_check(m);
	/* Each CPU's idle task borrows what ran last: let it be the same in every run. */
	for (u32 i = 1; i < MAX_PROCS; i++)
		do_fork_proc(m, &m->proc[0]);
	for (u32 i = 1; i < MAX_PROCS; i++)
		do_exit_proc(m, &m->proc[i]);
	tell(&m->agent[MAX_PROCS], OP_EXIT, 0, 0, 0);
	exit_quiet();
}

/* ---- a storm ---- */

#define STORM_THREADS 6

struct storm_thread {
	struct model *m;
	struct agent a;
	u64 rng;
	u32 steps;
	struct storm_thread *child;	/* what it starts by fork; NULL: it is one */
};

static void storm_thread(void *arg);

static void storm_start(struct model *m, struct storm_thread *t, u32 flags)
{
	(void)mach_rmw(&m->running, MACH_ADD, 1, 0, MACH_FULL);
	if (sys()->clone(flags, storm_thread, t, NULL) <= 0)
		model_fail(m, "clone failed");
}

static void storm_step(struct storm_thread *t)
{
	static const u32 prots[] = { RW, PROT_READ, 0, RW };
	u64 from, n;

	t->a.op = draw_op(&t->rng);
	if (t->m->shared && !draw(&t->rng, 8))
		t->a.op = draw(&t->rng, 2) ? OP_MSYNC : OP_REMOVE;
	draw_range(&t->rng, &from, &n);
	if (t->a.op == OP_STORE || t->a.op == OP_LOAD || t->a.op == OP_GUP_WRITE ||
	    t->a.op == OP_FORCE)
		from = draw_page(&t->rng);
	t->a.addr = address(from);
	t->a.len = n << PAGE_SHIFT;
	t->a.arg = prots[draw(&t->rng, 4)];
	if (t->a.op == OP_MREMAP)
		t->a.arg = address(draw(&t->rng, SPANS) * pages_per_span());
	if (t->a.op == OP_GUP)
		t->a.len = min(n, 512UL) << PAGE_SHIFT;
	if (t->a.op == OP_MREMAP && t->a.arg + t->a.len > address(NR_PAGES))
		return;
	if (t->a.op != OP_FORK && t->a.op != OP_EXIT)
		agent_do(&t->a);
	else if (t->child && mach_load(&t->m->running, MACH_RELAXED) < 2 * STORM_THREADS)
		storm_start(t->m, t->child, 0);
}

static void storm_thread(void *arg)
{
	struct storm_thread self = *(struct storm_thread *)arg;

	for (u32 i = 0; i < self.steps && !self.m->failed[0]; i++)
		storm_step(&self);
	(void)mach_rmw(&self.m->running, MACH_ADD, -1, 0, MACH_FULL);
}

static void visitor(void *arg)
{
	struct model *m = arg;

	(void)mach_rmw(&m->running, MACH_ADD, -1, 0, MACH_FULL);
}

/*
 * A thread on each CPU in turn, so that every idle task borrows our mm, and none that of
 * a child which is long dead.
 */
static void visit_cpus(struct model *m)
{
	for (u32 cpu = 1; cpu < mach_env()->nr_cpus; cpu++) {
		u64 affinity[TLBLAB_MAX_CPUS / 64] = { 1UL << cpu };

		(void)mach_rmw(&m->running, MACH_ADD, 1, 0, MACH_FULL);
		if (sys()->clone(CORE_CLONE_VM, visitor, m, affinity) <= 0)
			model_fail(m, "clone failed");
		wait_word(&m->running, 0);
	}
}

static void storm_driver(void *arg)
{
	struct storm_thread threads[2 * STORM_THREADS] = { 0 };
	struct model *m = arg;

	m->nr_pages = (u32)NR_PAGES;
	m->counts_only = true;
	m->agent[0].mm = ((struct task_struct *)mach_env()->task)->mm;
	m->proc[0].agent = &m->agent[0];
	m->proc[0].alive = true;
	sys()->mmap(MODEL_BASE, m->nr_pages << PAGE_SHIFT, RW,
		    (m->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_FIXED);
	for (u32 i = 0; i < 2 * STORM_THREADS; i++)
		threads[i] = (struct storm_thread){
			.m = m, .rng = test_random(&m->rng),
			.child = i < STORM_THREADS ? &threads[i + STORM_THREADS] : NULL,
			.steps = i >= STORM_THREADS ? m->steps / 8 : m->steps,
		};
	for (u32 i = 0; m->steps && i < STORM_THREADS; i++)
		storm_start(m, &threads[i], CORE_CLONE_VM);
	wait_word(&m->running, 0);
	/* Children exit, and grace periods end. */
	mach_env()->ops->user_run(100000000000UL);
	visit_cpus(m);
	mach_env()->ops->user_run(100000000000UL);
	model_check(m);
	exit_quiet();
}

/* ---- both ---- */

static void boot_knobs(const struct core *core, const struct machine_desc *desc,
		       const struct knob_setting *knobs, u32 nr, s64 *values)
{
	knobs_resolve(core, era_find(core->module, "6.12"), desc, values);
	for (u32 i = 0; i < nr; i++)
		values[knobs[i].knob] = knobs[i].value;
}

static void run_twice(struct model *m, const char *machine, u64 seed, u32 steps,
		      const s64 *values, void (*fn)(void *arg))
{
	static struct machine_desc desc;
	const struct core_module *module = tlblab_core(machine_timed_ops());
	u64 first[TLBLAB_MAX_CPUS / 64] = { 1 };
	char error[256] = "";

	lab_machine(machine, &desc);
	desc.memory_bytes = (u64)MAX_FRAMES << desc.page_shift;
	for (u32 i = 0; i < 2; i++) {
		m->m = machine_create(&desc, module, values, seed, error, sizeof(error));
		if (!m->m) {
			model_fail(m, "%s", error);
			return;
		}
		m->rng = seed;
		/* First without a step: what is left then is the core's own. */
		m->steps = i ? steps : 0;
		memset(m->proc, 0, sizeof(m->proc));
		if (machine_run(m->m, fn, m, first))
			model_fail(m, "%s", machine_message(m->m));
		*(i ? &m->frames_after : &m->frames_before) = machine_frames_in_use(m->m);
		*(i ? &m->objects_after : &m->objects_before) = machine_kalloc_in_use(m->m);
		machine_core_stats(m->m, m->stats, NR_CORE_STATS);
		machine_destroy(m->m);
	}
}

static void boot_and_run(struct model *m, const char *machine, u64 seed, u32 steps,
			 bool shared, const struct knob_setting *knobs, u32 nr_knobs,
			 void (*fn)(void *arg))
{
	static struct machine_desc desc;
	struct core core = { .module = tlblab_core(machine_timed_ops()) };
	s64 values[TLBLAB_MAX_KNOBS];

	lab_machine(machine, &desc);
	boot_knobs(&core, &desc, knobs, nr_knobs, values);
	memset(m, 0, sizeof(*m));
	m->shared = shared;
	run_twice(m, machine, seed, steps, values, fn);
}

void model_run(struct model *m, const char *machine, u64 seed, u32 steps,
	       const struct knob_setting *knobs, u32 nr_knobs)
{
	boot_and_run(m, machine, seed, steps, false, knobs, nr_knobs, driver);
}

void model_storm(struct model *m, const char *machine, u64 seed, u32 steps, bool shared,
		 const struct knob_setting *knobs, u32 nr_knobs)
{
	boot_and_run(m, machine, seed, steps, shared, knobs, nr_knobs, storm_driver);
}

u64 model_stat(const struct model *m, const char *name)
{
	for (u32 i = 0; i < NR_CORE_STATS; i++)
		if (!strcmp(m->stats[i].name, name))
			return m->stats[i].value;
	return 0;
}
