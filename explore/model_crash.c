// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model that crashes. The signal arrives on a stack of the machine; the
 * handler, on a stack of its own, lets that one go on in crash_land(), which ends
 * the execution as a violation. So the search has the schedule, as for any other, and
 * can minimise and tell it. Signals from anywhere else keep their meaning.
 *
 * crash_land() runs at the top of the crashed stack, whose frames nobody returns to:
 * there is room there even after an overflow.
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "model_internal.h"
#include "world.h"

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
#define NR_SIGNALS (sizeof(crash_signals) / sizeof(*crash_signals))

/* Code of the loaded models; a model beyond the table is not watched. */
static struct { uintptr_t start, end; const void *owner; } watched[64];

static struct { int sig; uintptr_t addr; } crash;

static const char *signal_text(int sig)
{
	switch (sig) {
	case SIGSEGV:
		return "segmentation fault";
	case SIGBUS:
		return "bus error";
	case SIGFPE:
		return "arithmetic error";
	default:
		return "illegal instruction";
	}
}

/* On the stack that crashed. */
static void __attribute__((noreturn)) crash_land(void)
{
	const struct mach_site *site = xstack()->t->step.site;
	const char *file = site ? strrchr(site->file, '/') : NULL;
	char what[200];

	if (site)
		snprintf(what, sizeof(what),
			 "the model crashed: %s at address 0x%lx, after %s:%u (%s)",
			 signal_text(crash.sig), (unsigned long)crash.addr,
			 file ? file + 1 : site->file, site->line, site->func);
	else
		snprintf(what, sizeof(what), "the model crashed: %s at address 0x%lx",
			 signal_text(crash.sig), (unsigned long)crash.addr);
	xassert_fail(what);
}

/* Is sp on a stack of the machine? Reads memory that may not be there. */
static bool on_machine_stack(uintptr_t sp)
{
	struct mach_env *env = (void *)(sp & ~(MACH_STACK_SIZE - 1));
	u64 magic = 0;
	struct iovec to = { &magic, sizeof(magic) };
	struct iovec from = { &env->magic, sizeof(magic) };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(magic) &&
	       magic == MACH_ENV_MAGIC;
}

/* A jump to nowhere is a model's too; crashes in our own code are not. */
static bool is_models(int sig, uintptr_t pc, uintptr_t addr)
{
	if (sig == SIGSEGV && pc == addr)
		return true;
	for (u32 i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (pc >= watched[i].start && pc < watched[i].end)
			return true;
	return false;
}

static void on_crash(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uintptr_t pc = 0, sp = 0, top;

#if defined(__x86_64__)
	pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	pc = (uintptr_t)uc->uc_mcontext.pc;
	sp = (uintptr_t)uc->uc_mcontext.sp;
#endif
	if (!is_models(sig, pc, (uintptr_t)info->si_addr) || !on_machine_stack(sp)) {
		/* Taken again at once, with the usual end. */
		signal(sig, SIG_DFL);
		return;
	}
	crash.sig = sig;
	crash.addr = sig == SIGFPE || sig == SIGILL ? pc : (uintptr_t)info->si_addr;
	top = (sp & ~(MACH_STACK_SIZE - 1)) + MACH_STACK_SIZE - 256;
#if defined(__x86_64__)
	/* As after a call. */
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)(top - 8);
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)crash_land;
#elif defined(__aarch64__)
	uc->uc_mcontext.sp = top;
	uc->uc_mcontext.pc = (uintptr_t)crash_land;
#endif
}

/* Each time: others (a test harness) may have put theirs in place. */
static void install(void)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = {
		.sa_sigaction = on_crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};

	sigaltstack(&alt, NULL);
	sigemptyset(&sa.sa_mask);
	for (u32 i = 0; i < NR_SIGNALS; i++)
		sigaction(crash_signals[i], &sa, NULL);
}

struct text {
	uintptr_t base, start, end;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct text *t = arg;

	(void)size;
	if (info->dlpi_addr != t->base)
		return 0;
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
			t->start = t->base + ph->p_vaddr;
			t->end = t->start + ph->p_memsz;
		}
	}
	return 1;
}

void model_crash_watch(const struct xmodel *m)
{
	struct link_map *map;
	struct text t = { 0 };

	install();
	if (dlinfo(m->handle, RTLD_DI_LINKMAP, &map))
		return;
	t.base = map->l_addr;
	dl_iterate_phdr(find_text, &t);
	for (u32 i = 0; i < sizeof(watched) / sizeof(*watched); i++) {
		if (watched[i].owner)
			continue;
		watched[i].start = t.start;
		watched[i].end = t.end;
		watched[i].owner = m;
		return;
	}
}

void model_crash_unwatch(const struct xmodel *m)
{
	for (u32 i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (watched[i].owner == m)
			watched[i].start = watched[i].end = 0, watched[i].owner = NULL;
}
