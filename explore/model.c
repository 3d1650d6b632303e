// SPDX-License-Identifier: GPL-2.0-or-later
/* A loaded model as a program: its core, its threads, its calls. */
#include <assert.h>
#include <string.h>

#include <tlblab/machine_abi.h>

#include "model_internal.h"
#include "world.h"

/* ---- what the model calls ---- */

static void op_promise(u32 kind, u64 start, u64 end)
{
	if (kind == 0)
		xpromise_unmapped(start, end);
	else if (kind == 1)
		xpromise_readonly(start, end);
	else
		xpromise_forget(start, end);
}

static void op_outcome(const char *fmt, va_list args)
{
	const struct xmodel *m = check_world()->host;

	xresult_note(model_outcome_add(m->outcomes, fmt, args));
}

static void __attribute__((noreturn)) op_violate(const char *rule, const char *what)
{
	enum xrule r = xmodel_rule(rule);

	if (r == XRULE_NONE || r == XRULE_NR)
		xassert_fail("check_fail() with an unknown rule");
	xviolate(xstack()->w, r, "%s", what);
	__builtin_unreachable();
}

static const struct check_ops model_ops = {
	.violate = op_violate,
	.promise = op_promise,
	.outcome = op_outcome,
	.map = model_map,
	.entry = model_entry,
};

/* ---- dressed as a core ---- */

/*
 * A boot is told nothing but its knobs, so the first knob is the model: the same
 * pointer in every execution and every worker, and nothing depends on its value.
 */
static const struct knob model_knob = {
	.name = "model",
	.min = INT64_MIN,
	.max = INT64_MAX,
	.kind = KNOB_HW,
	.meaning = "which model this is",
};

static void *model_boot(const struct core_boot *boot, void **init_task,
			const char **error)
{
	const struct xmodel *m = (const void *)(uintptr_t)boot->knobs[0];
	struct check_world *w;

	(void)error;
	w = mach_kalloc(sizeof(*w) + m->info->state_size, 0);
	w->ops = &model_ops;
	w->model = m->info;
	w->host = m;
	w->arch = XMODEL_ARCH_BIT(m->arch);
	memcpy(w->option, boot->knobs + 1, sizeof(w->option));
	mach_env()->core = w;
	model_guard_stack();
	if (m->info->init)
		m->info->init();
	*init_task = mach_kalloc(sizeof(u64), 0);
	return w;
}

static void *model_cpu_online(void)
{
	const struct check_model *info = check_world()->model;

	model_guard_stack();
	if (info->cpu_init)
		info->cpu_init();
	return mach_kalloc(sizeof(u64), 0);
}

static int model_fault(u64 va, u32 flags)
{
	const struct check_model *info = check_world()->model;
	u32 context;
	int sig;

	if (!info->fault)
		return MACH_SIGSEGV;
	context = mach_context(MACH_CTX_FAULT);
	sig = info->fault(va, flags);
	mach_context(context);
	return sig;
}

/* A model that switches address spaces does so itself. */
static void model_context_switch(void *prev, void *next)
{
	(void)prev, (void)next;
}

static s64 model_clone(u32 flags, void (*fn)(void *arg), void *arg,
		       const u64 *affinity)
{
	(void)flags;
	return mach_thread_create(mach_env()->task, fn, arg, affinity);
}

static void __attribute__((noreturn)) model_exit(void)
{
	mach_thread_exit();
}

static u32 model_stats(struct core_stat *stats, u32 n)
{
	(void)stats, (void)n;
	return 0;
}

static const struct era no_eras[] = { { .name = NULL } };

static void make_module(struct xmodel *m)
{
	u32 n = 0;

	m->knobs[n++] = &model_knob;
	for (u32 i = 0; i < CHECK_MAX_OPTIONS && m->info->option[i].name; i++)
		m->knobs[n++] = &m->info->option[i];
	m->knobs[n] = NULL;
	m->module = (struct core_module){
		.abi = TLBLAB_ABI,
		.arch = xmodel_arch_name(m->arch),
		.version = m->info->name,
		.knobs = m->knobs,
		.eras = no_eras,
		.boot = model_boot,
		.cpu_online = model_cpu_online,
		.fault = model_fault,
		.context_switch = model_context_switch,
		.sys = { .clone = model_clone, .exit = model_exit },
		.stats = model_stats,
	};
}

/* ---- threads ---- */

static u32 nr_ops(const struct check_thread *t)
{
	u32 n = 0;

	while (n < CHECK_MAX_OPS && t->op[n].name)
		n++;
	return n;
}

static void run_thread(void *arg)
{
	const struct check_thread *t = arg;
	u32 n = nr_ops(t), context;

	model_guard_stack();
	for (u32 i = 0; i < n; i++) {
		if (!xop_begin(i))
			continue;
		context = mach_context(t->op[i].context);
		t->op[i].fn();
		mach_context(context);
		xop_end(i);
	}
}

static void run_final(void *arg)
{
	const struct xmodel *m = arg;

	model_guard_stack();
	m->info->final();
}

static const char *op_text(void *arg, u32 thread, u32 op)
{
	const struct xmodel *m = arg;

	return m->info->thread[thread].op[op].name;
}

static void make_threads(struct xmodel *m)
{
	struct xprogram *p = &m->program;

	for (u32 i = 0; i < CHECK_MAX_THREADS; i++) {
		const struct check_thread *t = &m->info->thread[i];

		if (!t->name)
			break;
		p->thread[p->nr_threads++] = (struct xthread){
			.name = t->name,
			.cpu = t->cpu,
			.nr_ops = nr_ops(t),
			.fn = run_thread,
			.arg = (void *)(uintptr_t)t,
		};
	}
}

/* ---- the program ---- */

const struct check_model *xmodel_info(const struct xmodel *m)
{
	return m->info;
}

const char *xmodel_arch_name(enum xarch arch)
{
	static const char *const name[] = { "x86", "arm64", "powerpc" };

	return name[arch];
}

const struct xprogram *xmodel_program(struct xmodel *m, enum xarch arch,
				      const s64 *options)
{
	const struct check_model *info = m->info;
	u32 n = 0;

	assert(info->arch & XMODEL_ARCH_BIT(arch));
	m->arch = arch;
	m->values[0] = (s64)(uintptr_t)m;
	for (u32 i = 0; i < CHECK_MAX_OPTIONS; i++)
		m->values[1 + i] = info->option[i].name ? options[i] : 0;
	while (n < 8 && info->feature[n][0]) {
		m->features[n][0] = info->feature[n][0];
		m->features[n][1] = info->feature[n][1];
		n++;
	}
	m->features[n][0] = m->features[n][1] = NULL;
	make_module(m);
	m->program = (struct xprogram){
		.name = info->name,
		.arch = arch,
		.nr_cpus = info->cpus,
		.nr_frames = info->frames,
		.page_shift = 12,
		.core = &m->module,
		.knobs = m->values,
		.features = m->features,
		.final = info->final ? run_final : NULL,
		.arg = m,
		.op_text = op_text,
		.check_leaks = info->check_leaks,
	};
	make_threads(m);
	return &m->program;
}
