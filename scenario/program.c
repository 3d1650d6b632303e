// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A scenario as a program: runs the operations of init and of the threads on the
 * machine's stacks.
 *
 * What an execution may change lies in the machine's memory or on those stacks: a
 * thread's variables do. Init's variables are written once, when a world is
 * made, and are constant in all its executions.
 */
#include "scenario/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_TEXT_MAX 32
#define SC_MAX_PRIVATE 8
#define PROT_WRITE 0x2
#define MAP_PRIVATE 0x2
#define MADV_DONTNEED 4
#define MADV_HUGEPAGE 14
#define MADV_COLLAPSE 25
#define HUGE_FRAMES 1536	/* two huge pages of 512 frames, aligned, and small ones */
#define MADV_REMOVE 9

struct sc_actor {
	struct sc_program *p;
	u32 thread;
};

struct sc_program {
	struct xprogram x;
	const struct scenario *sc;
	struct sc_actor actor[XMAX_THREADS];
	u64 init_var[SC_MAX_VARS];
	/* What init has mapped MAP_PRIVATE: fork() takes the right to write from it. */
	struct { u64 start, end; } private[SC_MAX_PRIVATE];
	u32 nr_private;
	const char *(*feature)[2];	/* NULL-terminated */
	char *feature_text;
	u64 user_end;
	char init_error[200];
};

/* ------------------------------------------------------------- evaluation */

/* A thread's variables; a bit of known is clear while one has no value. */
struct vars {
	u64 value[SC_MAX_VARS];
	u32 known;
};

static u64 eval_binary(u32 kind, u64 a, u64 b)
{
	switch (kind) {
	case SC_MUL: return a * b;
	case SC_ADD: return a + b;
	case SC_SUB: return a - b;
	case SC_OR_BITS: return a | b;
	case SC_EQ: return a == b;
	case SC_NE: return a != b;
	case SC_LT: return (s64)a < (s64)b;
	case SC_LE: return (s64)a <= (s64)b;
	case SC_GT: return (s64)a > (s64)b;
	case SC_GE: return (s64)a >= (s64)b;
	case SC_AND: return a && b;
	default: return a || b;	/* SC_OR */
	}
}

/*
 * False if it needs a variable without a value: the operation that would have set it
 * was dropped.
 */
static bool eval(const struct sc_program *p, const struct vars *v, u32 node,
		 u64 *value)
{
	const struct sc_node *n = &p->sc->node[node];
	u64 a, b;

	switch (n->kind) {
	case SC_NUMBER:
		*value = n->value;
		return true;
	case SC_INIT_VAR:
		*value = p->init_var[n->value];
		return true;
	case SC_VAR:
		*value = v->value[n->value];
		return v->known >> n->value & 1;
	}
	if (!eval(p, v, n->a, &a))
		return false;
	if (n->kind == SC_NEG || n->kind == SC_NOT) {
		*value = n->kind == SC_NEG ? -a : !a;
		return true;
	}
	if (!eval(p, v, n->b, &b))
		return false;
	*value = eval_binary(n->kind, a, b);
	return true;
}

static bool eval_args(const struct sc_program *p, const struct vars *v,
		      const struct sc_op *op, u64 arg[SC_MAX_ARGS])
{
	for (u32 i = 0; i < op->nr_args; i++)
		if (!eval(p, v, op->arg[i], &arg[i]))
			return false;
	return true;
}

/* ---------------------------------------------------------------- the calls */

static void value_text(s64 v, char text[VALUE_TEXT_MAX])
{
	if (v == -(s64)MACH_SIGSEGV)
		snprintf(text, VALUE_TEXT_MAX, "SIGSEGV");
	else if (v == -(s64)MACH_SIGBUS)
		snprintf(text, VALUE_TEXT_MAX, "SIGBUS");
	else if (v > -65536 && v < 65536)
		snprintf(text, VALUE_TEXT_MAX, "%" PRId64, v);
	else
		snprintf(text, VALUE_TEXT_MAX, "%#" PRIx64, (u64)v);
}

static void add_value(char *text, size_t size, u32 *n, const char *name, u64 value)
{
	char val[VALUE_TEXT_MAX];
	size_t len = strlen(text);

	value_text(value, val);
	snprintf(text + len, size - len, "%s%s = %s", (*n)++ ? ", " : ", where ", name,
		 val);
}

/* ", where r = 1": each variable of the expression. */
static void add_values(const struct sc_program *p, const struct sc_thread *t,
		       const struct vars *v, u32 node, char *text, size_t size, u32 *n)
{
	const struct sc_node *nd = &p->sc->node[node];

	if (nd->kind == SC_INIT_VAR)
		add_value(text, size, n, p->sc->init.var[nd->value],
			  p->init_var[nd->value]);
	else if (nd->kind == SC_VAR)
		add_value(text, size, n, t->var[nd->value], v->value[nd->value]);
	if (nd->kind <= SC_VAR)
		return;
	add_values(p, t, v, nd->a, text, size, n);
	if (nd->kind > SC_NOT)
		add_values(p, t, v, nd->b, text, size, n);
}

static void assertion_failed(const struct sc_program *p, const struct sc_thread *t,
			     const struct vars *v, const struct sc_op *op,
			     char *text, size_t size)
{
	u32 n = 0;

	snprintf(text, size, "%.100s", op->text);
	add_values(p, t, v, op->arg[0], text, size, &n);
}

/* The word, or the signal as what the variable gets. */
static s64 user_access(const struct sc_program *p, u64 va, bool write, u64 val,
		       bool *killed)
{
	int sig = MACH_SIGSEGV;

	if (va < p->user_end)
		sig = mach_env()->ops->user_access(va & ~7ULL, write, &val);
	*killed = sig == MACH_SIGKILL;
	if (sig)
		return -(s64)sig;
	return write ? 0 : (s64)val;
}

static s64 do_call(const struct sc_program *p, const struct sc_op *op,
		   const u64 *arg, bool *killed)
{
	const struct core_syscalls *sys = &p->x.core->sys;

	switch (op->call) {
	case SC_MMAP:
		return sys->mmap(arg[0], arg[1], (u32)arg[2], (u32)arg[3]);
	case SC_MUNMAP:
		return sys->munmap(arg[0], arg[1]);
	case SC_MPROTECT:
		return sys->mprotect(arg[0], arg[1], (u32)arg[2]);
	case SC_MADVISE:
		return sys->madvise(arg[0], arg[1], (u32)arg[2]);
	case SC_MREMAP:
		return sys->mremap(arg[0], arg[1], arg[2], (u32)arg[3], arg[4]);
	case SC_FORK:
		return xfork((u32)arg[0]);
	case SC_CLONE:
		return xclone((u32)arg[0]);
	case SC_SHMGET:
		return sys->shmget(arg[0]);
	case SC_SHMAT:
		return sys->shmat((s64)arg[0], arg[1]);
	case SC_SHMDT:
		return sys->shmdt(arg[0]);
	case SC_SHM_RMID:
		return sys->shm_rmid((s64)arg[0]);
	case SC_GUP:
		return sys->gup_fast(arg[0], op->nr_args > 1 ? (u32)arg[1] : 1, arg[2] & FOLL_WRITE);
	case SC_GUP_WRITE:
		return sys->gup_write(arg[0], arg[1], arg[2] & FOLL_FORCE);
	case SC_LOOKUP:
		return sys->pte_lookup(arg[0]);
	case SC_YIELD:
		xyield();
		return 0;
	case SC_RECLAIM:
		return sys->reclaim(arg[0], arg[1]);
	case SC_MIGRATE:
		return sys->move_pages(arg[0], arg[1] >> p->x.page_shift, -1);
	case SC_DROP_CACHES:
		return sys->drop_caches();
	case SC_IOREMAP:
		return sys->ioremap ? sys->ioremap(arg[0], arg[1]) : -22;	/* EINVAL */
	case SC_IOUNMAP:
		return sys->iounmap ? sys->iounmap(arg[0], arg[1]) : -22;
	case SC_NUMA_HINT:
		return sys->numa_hint(arg[0], arg[1]);
	case SC_TICK:
		p->x.core->tick(arg[0], arg[1]);
		return 0;
	case SC_WRITEBACK:
		return sys->msync(arg[0], arg[1]);
	case SC_TRUNCATE:
		return sys->madvise(arg[0], arg[1], MADV_REMOVE);
	case SC_LOAD:
		return user_access(p, arg[0], false, 0, killed);
	case SC_STORE:
		return user_access(p, arg[0], true, arg[1], killed);
	case SC_EXIT:
		sys->exit();
	default:
		return 0;
	}
}

static u64 page_align(const struct sc_program *p, u64 length)
{
	u64 page = 1UL << p->x.page_shift;

	return (length + page - 1) & ~(page - 1);
}

/* The old range is gone, or what was cut off it; and what was where it is now. */
static void promise_moved(const struct sc_program *p, const u64 *arg, s64 ret)
{
	u64 old = page_align(p, arg[1]), new = page_align(p, arg[2]);

	if (ret < 0)
		return;
	if ((u64)ret != arg[0]) {
		xpromise_unmapped(arg[0], arg[0] + old);
		xpromise_unmapped((u64)ret, (u64)ret + new);
	} else if (new < old) {
		xpromise_unmapped(arg[0] + new, arg[0] + old);
	}
}

/*
 * What a call promised by returning success. The oracle holds a promise only against
 * entries that were there when the operation began and were gone when it returned
 * (explore/oracle.h). So DONTNEED, whose range may be faulted in again at once, promises
 * what munmap does, and calls of other CPUs that overlap need no care here. A truncation
 * promises the same. Reclaim, migration and shmdt(), whose length is the segment's, promise
 * nothing: what they free is looked at when it is freed.
 */
static void promise(const struct sc_program *p, const struct sc_op *op,
		    const u64 *arg, s64 ret)
{
	u64 end = arg[0] + page_align(p, arg[1]);

	switch (op->call) {
	case SC_MUNMAP:
		if (!ret)
			xpromise_unmapped(arg[0], end);
		break;
	case SC_TRUNCATE:
		if (!ret)
			xpromise_unmapped(arg[0], end);
		break;
	case SC_MADVISE:
		if (!ret && (arg[2] == MADV_DONTNEED || arg[2] == MADV_REMOVE))
			xpromise_unmapped(arg[0], end);
		break;
	case SC_MPROTECT:
		if (!ret && !arg[2])
			xpromise_unmapped(arg[0], end);
		else if (!ret && !(arg[2] & PROT_WRITE))
			xpromise_readonly(arg[0], end);
		break;
	case SC_MREMAP:
		promise_moved(p, arg, ret);
		break;
	case SC_FORK:
		for (u32 i = 0; ret > 0 && i < p->nr_private; i++)
			xpromise_readonly(p->private[i].start, p->private[i].end);
		break;
	default:
		break;
	}
}

static void set_result(struct vars *v, const struct sc_op *op, s64 ret)
{
	if (op->result < 0)
		return;
	v->value[op->result] = (u64)ret;
	v->known |= 1U << op->result;
}

/* ------------------------------------------------------------------ threads */

/* False: the thread ends here. */
static bool run_op(struct sc_actor *a, struct vars *v, u32 i)
{
	struct sc_program *p = a->p;
	const struct sc_thread *t = &p->sc->thread[a->thread];
	const struct sc_op *op = &t->op[i];
	u64 arg[SC_MAX_ARGS] = { 0 };
	bool killed = false;
	s64 ret;

	if (!xop_begin(i)) {
		if (op->result >= 0)
			v->known &= ~(1U << op->result);
		return true;
	}
	if (!eval_args(p, v, op, arg)) {
		xop_end(i);
		return true;
	}
	if (op->call == SC_ASSERT && !arg[0]) {
		char text[200];

		assertion_failed(p, t, v, op, text, sizeof(text));
		xassert_fail(text);
	}
	/* It will not be back. */
	if (op->call == SC_EXIT)
		xop_end(i);
	ret = do_call(p, op, arg, &killed);
	if (killed)
		return false;
	promise(p, op, arg, ret);
	set_result(v, op, ret);
	xop_end(i);
	return true;
}

static void run_thread(void *arg)
{
	struct sc_actor *a = arg;
	struct vars v = { .known = 0 };

	for (u32 i = 0; i < a->p->sc->thread[a->thread].nr_ops; i++)
		if (!run_op(a, &v, i))
			return;
}

/* -------------------------------------------------------------- init, final */

static bool is_failure(const struct sc_op *op, s64 ret)
{
	if (op->call == SC_LOAD)
		return ret == -(s64)MACH_SIGSEGV || ret == -(s64)MACH_SIGBUS;
	return ret < 0;
}

static bool run_init_op(struct sc_program *p, struct vars *v, const struct sc_op *op)
{
	u64 arg[SC_MAX_ARGS] = { 0 };
	char text[200], val[VALUE_TEXT_MAX];
	bool killed = false;
	s64 ret;

	if (op->call == SC_EXIT || !eval_args(p, v, op, arg))
		return false;
	if (op->call == SC_ASSERT && !arg[0]) {
		assertion_failed(p, &p->sc->init, v, op, text, sizeof(text));
		snprintf(p->init_error, sizeof(p->init_error), "init: %.180s", text);
		return false;
	}
	ret = do_call(p, op, arg, &killed);
	if (killed || is_failure(op, ret)) {
		value_text(ret, val);
		snprintf(p->init_error, sizeof(p->init_error), "init: %.100s = %s",
			 op->text, val);
		return false;
	}
	if (op->result >= 0)
		p->init_var[op->result] = (u64)ret;
	if (op->call == SC_MMAP && (arg[3] & MAP_PRIVATE) && p->nr_private < SC_MAX_PRIVATE) {
		p->private[p->nr_private].start = (u64)ret;
		p->private[p->nr_private++].end = (u64)ret + page_align(p, arg[1]);
	}
	return true;
}

static void run_init(void *arg)
{
	struct sc_program *p = arg;
	struct vars v = { .known = 0 };

	p->init_error[0] = 0;
	p->nr_private = 0;
	for (u32 i = 0; i < p->sc->init.nr_ops; i++)
		if (!run_init_op(p, &v, &p->sc->init.op[i]))
			return;
}

static void run_final(void *arg)
{
	struct sc_program *p = arg;
	const struct sc_thread *t = &p->sc->final;
	struct vars v = { .known = 0 };
	bool killed = false;
	char text[200];

	for (u32 i = 0; i < t->nr_ops && t->op[i].call != SC_EXIT; i++) {
		const struct sc_op *op = &t->op[i];
		u64 a[SC_MAX_ARGS] = { 0 };

		eval_args(p, &v, op, a);
		if (op->call == SC_ASSERT && !a[0]) {
			assertion_failed(p, t, &v, op, text, sizeof(text));
			xassert_fail(text);
		}
		set_result(&v, op, do_call(p, op, a, &killed));
		if (killed)
			return;
	}
}

/* ------------------------------------------------------------------ programs */

static const char *op_text(void *arg, u32 thread, u32 op)
{
	const struct sc_program *p = arg;

	if (thread >= p->sc->nr_threads || op >= p->sc->thread[thread].nr_ops)
		return "";
	return p->sc->thread[thread].op[op].text;
}

/* What the hardware has: each feature of the core's, by name and value. */
static bool set_features(struct sc_program *p, const struct core_module *core,
			 const s64 *knobs)
{
	u32 n = 0, at = 0;

	while (core->knobs[n])
		n++;
	p->feature = calloc(n + 1, sizeof(*p->feature));
	p->feature_text = calloc(n + 1, VALUE_TEXT_MAX);
	if (!p->feature || !p->feature_text)
		return false;
	for (u32 i = 0; i < n; i++) {
		const struct knob *k = core->knobs[i];
		char *text = p->feature_text + i * VALUE_TEXT_MAX;

		if (k->kind != KNOB_HW)
			continue;
		if (k->values)
			snprintf(text, VALUE_TEXT_MAX, "%s", k->values[knobs[i]]);
		else
			snprintf(text, VALUE_TEXT_MAX, "%" PRId64, knobs[i]);
		p->feature[at][0] = k->name;
		p->feature[at++][1] = text;
	}
	p->x.features = (const char *const (*)[2])p->feature;
	return true;
}

static void set_threads(struct sc_program *p)
{
	for (u32 i = 0; i < p->sc->nr_threads; i++) {
		const struct sc_thread *t = &p->sc->thread[i];

		p->actor[i] = (struct sc_actor){ .p = p, .thread = i };
		p->x.thread[i] = (struct xthread){
			.name = t->name, .cpu = t->cpu, .nr_ops = t->nr_ops,
			.forked = t->forked,
			.fn = run_thread, .arg = &p->actor[i],
		};
	}
}

/* 0: the world's default. POWER's huge page is 32 frames of 64K, which that has. */
static u32 frames_needed(const struct scenario *sc, enum xarch arch)
{
	for (u32 i = 0; i < sc->nr_nodes; i++)
		if (sc->node[i].kind == SC_NUMBER && sc->node[i].class == 'm' &&
		    (sc->node[i].value == MADV_HUGEPAGE || sc->node[i].value == MADV_COLLAPSE))
			return arch == XARCH_POWERPC ? 0 : HUGE_FRAMES;
	return 0;
}

struct sc_program *scenario_program(const struct scenario *sc, enum xarch arch,
				    const struct core_module *core, const s64 *knobs)
{
	static const u32 user_bits[] = {
		[XARCH_X86] = 47, [XARCH_ARM64] = 48, [XARCH_POWERPC] = 48,
	};
	struct sc_program *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sc = sc;
	p->user_end = 1ULL << user_bits[arch];
	p->x = (struct xprogram){
		.name = sc->name, .arch = arch, .nr_cpus = sc->nr_cpus,
		.page_shift = arch == XARCH_POWERPC ? 16 : 12,
		.core = core, .knobs = knobs, .init = run_init,
		.final = sc->final.nr_ops ? run_final : NULL, .arg = p,
		.nr_threads = sc->nr_threads, .op_text = op_text,
		.nr_frames = sc->nr_frames ? sc->nr_frames : frames_needed(sc, arch),
		.nr_nodes = sc->nr_numa_nodes, .nr_resched = sc->nr_resched,
		.check_leaks = true,
	};
	set_threads(p);
	if (set_features(p, core, knobs))
		return p;
	sc_program_free(p);
	return NULL;
}

const struct xprogram *sc_xprogram(const struct sc_program *p)
{
	return &p->x;
}

void sc_program_free(struct sc_program *p)
{
	if (!p)
		return;
	free(p->feature);
	free(p->feature_text);
	free(p);
}

/* An address or a length that is known once init has run. */
static bool check_address(const struct sc_program *p, const struct sc_op *op, u32 i,
			  char *error, size_t error_size)
{
	const struct sc_pos *pos = &p->sc->node[op->arg[i]].pos;
	bool access = op->call == SC_LOAD || op->call == SC_STORE;
	struct vars v = { .known = 0 };
	u64 a;

	if (sc_calls[op->call].args[i] != 'a' || !eval(p, &v, op->arg[i], &a))
		return true;
	if (a >= p->user_end) {
		snprintf(error, error_size, "%s:%u:%u: expected an address below "
			 "%#" PRIx64 ", the end of user space on %s, not %#" PRIx64,
			 p->sc->path, pos->line, pos->column, p->user_end,
			 sc_arch_names[p->x.arch], a);
		return false;
	}
	if (access && a % 8) {
		snprintf(error, error_size, "%s:%u:%u: expected an address that is a "
			 "multiple of 8, not %#" PRIx64, p->sc->path, pos->line,
			 pos->column, a);
		return false;
	}
	return true;
}

bool sc_program_ready(const struct sc_program *p, char *error, size_t error_size)
{
	if (p->init_error[0]) {
		snprintf(error, error_size, "%s: %s", p->sc->path, p->init_error);
		return false;
	}
	for (u32 t = 0; t < p->sc->nr_threads; t++) {
		const struct sc_thread *th = &p->sc->thread[t];

		for (u32 i = 0; i < th->nr_ops; i++)
			for (u32 k = 0; k < th->op[i].nr_args; k++)
				if (!check_address(p, &th->op[i], k, error, error_size))
					return false;
	}
	return true;
}
