/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least machine that core code can run on, for unit tests of core/arch and
 * core/mm.
 *
 * One host thread, one stack. Shared words are plain memory, locks only check
 * their use, an IPI calls its handler at once as the target CPU. Nothing keeps time.
 * Instructions of MACH_INSNS, fences of interest and IPIs are recorded in
 * order, and can be rendered as text; a hook may interpret them (a model TLB).
 *
 * Core code runs only inside fake_run(), on the machine's stack: it finds its
 * environment by masking the stack pointer. cmocka's assertions leave a test by
 * longjmp, so they belong outside of fake_run(). What the core reports by
 * mach_bug() ends the process.
 */
#ifndef TESTS_CORE_FAKE_MACHINE_H
#define TESTS_CORE_FAKE_MACHINE_H

#include <tlblab/machine.h>

#define FAKE_MAX_LOG 65536

enum fake_kind { FAKE_INSN, FAKE_FENCE, FAKE_IPI };

struct fake_event {
	u32 kind;	/* enum fake_kind */
	u32 op;		/* enum mach_insn or mach_fence_kind; IPI: target CPU */
	u32 cpu;	/* that executed or sent it */
	u32 c;
	u64 a, b;
};

struct fake_machine {
	struct mach_env *env;
	struct fake_event *log;	/* [FAKE_MAX_LOG] */
	u32 nr_log;
	bool irqs_on;
	u64 next_frame;
	u32 nr_locks_held;
	u64 charged[MACH_NR_COSTS];
	bool running;
	/* Called for each instruction, after it was recorded. */
	void (*on_insn)(struct fake_machine *fm, const struct fake_event *ev);
	/* Called before an IPI from this CPU reaches target; may fake_run() others. */
	void (*on_ipi)(struct fake_machine *fm, u32 target);
	void *priv;		/* the test's */
	void *stack;
	void *context;
	struct fake_alloc *allocs;	/* head of a list of all kalloc()s */
};

struct fake_machine *fake_create(u32 nr_cpus, u32 page_shift, u64 nr_frames);
void fake_destroy(struct fake_machine *fm);
/*
 * fn(arg) as cpu, interrupts on. From a hook it nests: cpu, which must be another
 * one, does it while the CPU that called the hook stands still.
 */
void fake_run(struct fake_machine *fm, u32 cpu, void (*fn)(void *arg), void *arg);
void fake_log_clear(struct fake_machine *fm);
u32 fake_count(const struct fake_machine *fm, u32 kind, u32 op);

/*
 * The log as text, one word per event and runs of equal ones as "3*invlpg",
 * separated by blanks. Fences that are not instructions (smp_mb() and so
 * on) are left out. Static buffer.
 */
const char *fake_brief(const struct fake_machine *fm);

#endif
