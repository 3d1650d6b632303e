/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fake_machine.h"

static const char *const insn_name[] = {
#define X(id, name) #name,
	MACH_INSNS(X)
#undef X
};

static const char *fence_name(u32 kind)
{
	switch (kind) {
	case MACH_DSB_ISHST:
		return "dsb_ishst";
	case MACH_DSB_ISH:
		return "dsb_ish";
	case MACH_DSB_NSHST:
		return "dsb_nshst";
	case MACH_DSB_NSH:
		return "dsb_nsh";
	case MACH_ISB:
		return "isb";
	case MACH_PTESYNC:
		return "ptesync";
	case MACH_EIEIO:
		return "eieio";
	case MACH_TLBSYNC:
		return "tlbsync";
	default:
		return NULL;
	}
}

static void __attribute__((noreturn)) die(const char *what, const struct mach_site *site)
{
	fprintf(stderr, "fake machine: %s (%s:%u, %s)\n", what, site ? site->file : "?",
		site ? site->line : 0, site ? site->func : "?");
	abort();
}

static struct fake_machine *fake(void)
{
	return (struct fake_machine *)mach_env()->machine;
}

static struct fake_event *record(u32 kind, u32 op)
{
	struct fake_machine *fm = fake();
	struct fake_event *ev;

	if (fm->nr_log == FAKE_MAX_LOG)
		die("log is full", NULL);
	ev = &fm->log[fm->nr_log++];
	*ev = (struct fake_event){ .kind = kind, .op = op, .cpu = mach_env()->cpu };
	return ev;
}

/* ---- shared words ---- */

static u64 fake_load(const void *addr, u32 size, u32 order, const struct mach_site *site)
{
	(void)order;
	if ((size != 4 && size != 8) || (uintptr_t)addr % size)
		die("not a shared word", site);
	return size == 4 ? *(const u32 *)addr : *(const u64 *)addr;
}

static void fake_store(void *addr, u32 size, u64 val, u32 order,
		       const struct mach_site *site)
{
	(void)order;
	if ((size != 4 && size != 8) || (uintptr_t)addr % size)
		die("not a shared word", site);
	if (size == 4)
		*(u32 *)addr = (u32)val;
	else
		*(u64 *)addr = val;
}

static u64 fake_rmw(void *addr, u32 size, u32 op, u64 arg, u64 expected, u32 order,
		    const struct mach_site *site)
{
	u64 old = fake_load(addr, size, order, site), val = old;

	if (size == 4)
		expected = (u32)expected;
	switch (op) {
	case MACH_XCHG:
		val = arg;
		break;
	case MACH_CMPXCHG:
		val = old == expected ? arg : old;
		break;
	case MACH_ADD:
		val = old + arg;
		break;
	case MACH_AND:
		val = old & arg;
		break;
	case MACH_OR:
		val = old | arg;
		break;
	case MACH_ADD_UNLESS:
		val = old == expected ? old : old + arg;
		break;
	default:
		die("unknown operation", site);
	}
	fake_store(addr, size, val, order, site);
	return old;
}

static void fake_fence(u32 kind, const struct mach_site *site)
{
	(void)site;
	record(FAKE_FENCE, kind);
}

static u32 fake_scan_zero(const u64 *addr, u32 n, const struct mach_site *site)
{
	u32 i = 0;

	(void)site;
	while (i < n && !addr[i])
		i++;
	return i;
}

static int fake_wait_change(const struct mach_watch *watch, u32 n,
			    const struct mach_site *site)
{
	for (u32 i = 0; i < n; i++)
		if (fake_load(watch[i].addr, watch[i].size, MACH_RELAXED, site) !=
		    watch[i].old)
			return (int)i;
	die("waits for ever", site);
}

/* ---- locks, interrupts, IPIs ---- */

static bool fake_trylock(struct mach_lock *lock, const struct mach_site *site)
{
	(void)site;
	if (lock->owner)
		return false;
	lock->owner = mach_env()->cpu + 1;
	fake()->nr_locks_held++;
	return true;
}

static void fake_lock(struct mach_lock *lock, const struct mach_site *site)
{
	if (!fake_trylock(lock, site))
		die("deadlock", site);
}

static void fake_unlock(struct mach_lock *lock, const struct mach_site *site)
{
	if (lock->owner != mach_env()->cpu + 1)
		die("unlock by another", site);
	lock->owner = 0;
	fake()->nr_locks_held--;
}

static bool fake_irq_save(const struct mach_site *site)
{
	bool on = fake()->irqs_on;

	(void)site;
	fake()->irqs_on = false;
	return on;
}

static void fake_irq_restore(bool on, const struct mach_site *site)
{
	(void)site;
	fake()->irqs_on = on;
}

static void fake_ipi(const u64 *mask, void (*func)(void *info), void *info, bool wait,
		     const struct mach_site *site)
{
	struct mach_env *env = mach_env();
	u32 self = env->cpu;

	if (wait && (!fake()->irqs_on || fake()->nr_locks_held))
		die("waits for an IPI with interrupts off or a lock held", site);
	for (u32 cpu = 0; cpu < env->nr_cpus; cpu++) {
		if (cpu == self || !(mask[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (fake()->on_ipi)
			fake()->on_ipi(fake(), cpu);
		record(FAKE_IPI, cpu);
		env->cpu = cpu;
		fake()->irqs_on = false;
		func(info);
		env->cpu = self;
		fake()->irqs_on = true;
	}
}

static void fake_rcu_nop(const struct mach_site *site)
{
	(void)site;
}

static void fake_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head),
			  const struct mach_site *site)
{
	(void)site;
	func(head);
}

/* ---- the rest ---- */

static s64 fake_insn(u32 insn, u64 a, u64 b, u32 c, const struct mach_site *site)
{
	struct fake_event *ev = record(FAKE_INSN, insn);

	(void)site;
	ev->a = a;
	ev->b = b;
	ev->c = c;
	if (fake()->on_insn)
		fake()->on_insn(fake(), ev);
	return 0;
}

/* Frames are never reused: a stale pointer is found by its contents. */
static u64 fake_alloc_frames(u32 order, s32 node, u32 gfp, const struct mach_site *site)
{
	struct fake_machine *fm = fake();
	u64 n = 1UL << order, pfn = (fm->next_frame + n - 1) & ~(n - 1);

	(void)node;
	(void)gfp;
	if (pfn + n > fm->env->nr_frames)
		die("out of frames", site);
	fm->next_frame = pfn + n;
	return pfn;
}

static void fake_free_frames(u64 pfn, u32 order, u32 flags, const struct mach_site *site)
{
	u64 words = (1UL << order << mach_env()->page_shift) / sizeof(u64);
	const u64 *p =
		(const u64 *)(mach_env()->phys_base + (pfn << mach_env()->page_shift));

	if ((flags & MACH_FREE_ZEROED) && words <= UINT32_MAX &&
	    fake_scan_zero(p, (u32)words, site) != words)
		die("freed as zeroed, but is not", site);
}

static u32 fake_cpu_node(u32 cpu)
{
	(void)cpu;
	return 0;
}

static u32 fake_frame_node(u64 pfn)
{
	(void)pfn;
	return 0;
}

static void fake_frame_store(u64 pfn, u32 offset, u64 val, const struct mach_site *site)
{
	struct mach_env *env = mach_env();

	(void)site;
	memcpy(env->phys_base + (pfn << env->page_shift) + offset, &val, sizeof(val));
}

static void fake_copy_frame(u64 to, u64 from, const struct mach_site *site)
{
	struct mach_env *env = mach_env();

	(void)site;
	memcpy(env->phys_base + (to << env->page_shift),
	       env->phys_base + (from << env->page_shift), 1UL << env->page_shift);
}

/* In front of each allocation; what is left goes with the machine. */
struct fake_alloc {
	struct fake_alloc *next, *prev;
	size_t size;
	u64 pad;
};

static void *fake_kalloc(size_t size, u32 gfp, const struct mach_site *site)
{
	struct fake_alloc *a = calloc(1, sizeof(*a) + size), *head = fake()->allocs;

	(void)gfp;
	if (!a)
		die("no memory", site);
	a->size = size;
	a->next = head->next;
	a->prev = head;
	if (head->next)
		head->next->prev = a;
	head->next = a;
	return a + 1;
}

static void fake_kfree(void *p, size_t size, const struct mach_site *site)
{
	struct fake_alloc *a = (struct fake_alloc *)p - 1;

	if (!p)
		return;
	if (a->size != size)
		die("freed with another size", site);
	a->prev->next = a->next;
	if (a->next)
		a->next->prev = a->prev;
	free(a);
}

static void fake_charge(u32 cost, u64 n)
{
	fake()->charged[cost] += n;
}

static u32 fake_context(u32 ctx)
{
	return ctx;
}

static bool fake_need_resched(void)
{
	return false;
}

static void __attribute__((noreturn))
fake_bug(const char *what, const struct mach_site *site)
{
	die(what, site);
}

/* What is absent (threads, user accesses) no unit under test here calls. */
static const struct mach_ops fake_ops = {
	.size = sizeof(fake_ops),
	.load = fake_load,
	.store = fake_store,
	.rmw = fake_rmw,
	.fence = fake_fence,
	.scan_zero = fake_scan_zero,
	.wait_change = fake_wait_change,
	.spin_lock = fake_lock,
	.spin_trylock = fake_trylock,
	.spin_unlock = fake_unlock,
	.need_resched = fake_need_resched,
	.cond_resched = fake_rcu_nop,
	.irq_save = fake_irq_save,
	.irq_restore = fake_irq_restore,
	.ipi = fake_ipi,
	.rcu_read_lock = fake_rcu_nop,
	.rcu_read_unlock = fake_rcu_nop,
	.call_rcu = fake_call_rcu,
	.insn = fake_insn,
	.alloc_frames = fake_alloc_frames,
	.free_frames = fake_free_frames,
	.frame_node = fake_frame_node,
	.cpu_node = fake_cpu_node,
	.copy_frame = fake_copy_frame,
	.frame_store = fake_frame_store,
	.kalloc = fake_kalloc,
	.kfree = fake_kfree,
	.charge = fake_charge,
	.context = fake_context,
	.bug = fake_bug,
};

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		die("no memory", NULL);
	return p;
}

struct fake_machine *fake_create(u32 nr_cpus, u32 page_shift, u64 nr_frames)
{
	struct fake_machine *fm = calloc(1, sizeof(*fm));
	uintptr_t base;

	if (!fm)
		die("no memory", NULL);
	fm->log = calloc(FAKE_MAX_LOG, sizeof(*fm->log));
	fm->context = calloc(2, sizeof(ucontext_t));
	fm->allocs = calloc(1, sizeof(*fm->allocs));
	if (!fm->log || !fm->context || !fm->allocs)
		die("no memory", NULL);
	fm->stack = map(2 * MACH_STACK_SIZE);
	base = ((uintptr_t)fm->stack + MACH_STACK_SIZE - 1) & ~(MACH_STACK_SIZE - 1);
	fm->env = (struct mach_env *)base;
	*fm->env = (struct mach_env){
		.magic = MACH_ENV_MAGIC,
		.ops = &fake_ops,
		.machine = (struct machine *)fm,
		.phys_base = map(nr_frames << page_shift),
		.nr_cpus = nr_cpus,
		.nr_nodes = 1,
		.page_shift = page_shift,
		.nr_frames = nr_frames,
	};
	fm->next_frame = 16;
	return fm;
}

void fake_destroy(struct fake_machine *fm)
{
	while (fm->allocs) {
		struct fake_alloc *a = fm->allocs;

		fm->allocs = a->next;
		free(a);
	}
	munmap(fm->env->phys_base, fm->env->nr_frames << fm->env->page_shift);
	munmap(fm->stack, 2 * MACH_STACK_SIZE);
	free(fm->context);
	free(fm->log);
	free(fm);
}

/* makecontext() passes ints: two for each pointer. */
static void trampoline(unsigned int fn_hi, unsigned int fn_lo, unsigned int arg_hi,
		       unsigned int arg_lo)
{
	void (*fn)(void *) = (void (*)(void *))((u64)fn_hi << 32 | fn_lo);

	fn((void *)((u64)arg_hi << 32 | arg_lo));
}

static void run_nested(struct fake_machine *fm, u32 cpu, void (*fn)(void *arg), void *arg)
{
	u32 outer = fm->env->cpu;
	bool irqs_on = fm->irqs_on;

	if (cpu == outer)
		die("a CPU in the middle of something cannot do another thing", NULL);
	fm->env->cpu = cpu;
	fm->irqs_on = true;
	fn(arg);
	if (!fm->irqs_on)
		die("returned with interrupts off", NULL);
	fm->env->cpu = outer;
	fm->irqs_on = irqs_on;
}

void fake_run(struct fake_machine *fm, u32 cpu, void (*fn)(void *arg), void *arg)
{
	ucontext_t *uc = fm->context;
	u64 f = (u64)(uintptr_t)fn, a = (u64)(uintptr_t)arg;

	if (fm->running) {
		run_nested(fm, cpu, fn, arg);
		return;
	}
	fm->running = true;
	fm->env->cpu = cpu;
	fm->irqs_on = true;
	getcontext(&uc[1]);
	uc[1].uc_stack.ss_sp = (char *)fm->env + 8192;
	uc[1].uc_stack.ss_size = MACH_STACK_SIZE - 8192;
	uc[1].uc_link = &uc[0];
	makecontext(&uc[1], (void (*)(void))trampoline, 4, (unsigned int)(f >> 32),
		    (unsigned int)f, (unsigned int)(a >> 32), (unsigned int)a);
	swapcontext(&uc[0], &uc[1]);
	fm->running = false;
	if (!fm->irqs_on || fm->nr_locks_held)
		die("returned with interrupts off or a lock held", NULL);
}

void fake_log_clear(struct fake_machine *fm)
{
	fm->nr_log = 0;
}

u32 fake_count(const struct fake_machine *fm, u32 kind, u32 op)
{
	u32 n = 0;

	for (u32 i = 0; i < fm->nr_log; i++)
		n += fm->log[i].kind == kind && fm->log[i].op == op;
	return n;
}

static const char *event_name(const struct fake_event *ev)
{
	switch (ev->kind) {
	case FAKE_INSN:
		return insn_name[ev->op];
	case FAKE_FENCE:
		return fence_name(ev->op);
	default:
		return "ipi";
	}
}

const char *fake_brief(const struct fake_machine *fm)
{
	static char text[4096];
	size_t used = 0;

	text[0] = 0;
	for (u32 i = 0; i < fm->nr_log;) {
		const char *name = event_name(&fm->log[i]), *next = name;
		char times[16] = "";
		u32 n = 0;

		/* Names are unique, so equal pointers are equal events. */
		for (; i < fm->nr_log && (next == name || !next); i++) {
			n += next != NULL;
			next = i + 1 < fm->nr_log ? event_name(&fm->log[i + 1]) : NULL;
		}
		if (!name)
			continue;
		if (n > 1)
			snprintf(times, sizeof(times), "%u*", n);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s",
					 used ? " " : "", times, name);
		if (used >= sizeof(text))
			die("text is full", NULL);
	}
	return text;
}
