/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a test may ask of an exploration: models of TLB protocols, as C.
 *
 * A model is one C file of 40 to 120 lines: some shared state, page tables, and
 * threads whose operations are ordinary functions written against
 * <tlblab/machine.h>, as the kernel under study would have them. `tlblab check model.c`
 * compiles it, runs every interleaving that its bound allows on the
 * exploring machine, and tells the first one that breaks a rule. Nothing is
 * linked; docs/howto-model.md goes through one in ten minutes.
 *
 *	#include <tlblab/check.h>
 *
 *	struct state { struct mach_lock ptl; u64 root, frame, *pte; };
 *	#define S ((struct state *)check_state())
 *
 *	static void init(void) { ... S->pte = check_map(...); }
 *	static void cpu_init(void) { check_load_root(S->root, 1); }
 *	static void unmap(void) { ... mach_store(S->pte, 0, MACH_RELAXED); ... }
 *	static void touch(void) { check_user_store(VA, 1); }
 *
 *	CHECK_MODEL(early_free,
 *		.what = "a page is freed before its TLB entries are",
 *		.arch = CHECK_X86,
 *		.cpus = 2,
 *		.state_size = sizeof(struct state),
 *		.init = init, .cpu_init = cpu_init,
 *		.option = { CHECK_BUG("free first, invalidate later") },
 *		.thread = {
 *			{ "unmap", 0, { KERNEL(unmap) } },
 *			{ "user", 1, { USER(touch) } },
 *		},
 *		.expect = {
 *			{ "bug=on", "STALE-WRITE" },
 *			{ "bug=off", "pass" },
 *		})
 *
 * Rules for a model:
 *
 *  1. All that an execution may change lies in the state (check_state()), in
 *     frames, or in memory of mach_kalloc(). A writable static variable would
 *     keep its value from one execution to the next: the loader refuses a
 *     model that has one, by name. Constants are fine.
 *  2. Words that several threads touch go through mach_load(), mach_store() and
 *     mach_rmw(), each with its order, or are touched under one mach_lock. What the
 *     architecture lets the CPU reorder is reordered.
 *  3. No libc. What the header gives, machine.h gives, and mem*() is all there is.
 *  4. A loop waits with mach_wait_change(), mach_spin_lock() or
 *     mach_block(); plain C that spins without a machine call never ends.
 *  5. Deterministic: the same choices, the same execution.
 *
 * A model that breaks memory (a null pointer, an overflowing stack) is stopped
 * there, and its schedule is told like that of any violation.
 *
 * What is checked without being asked for is the oracle's table (explore/explore.h):
 * no access through a translation of a freed frame, no walk of a freed table, frames
 * freed once, no deadlock, and so on. The model adds check_promise_*(), check_assert()
 * and check_outcome().
 */
#ifndef TLBLAB_CHECK_H
#define TLBLAB_CHECK_H

#include <stdarg.h>
#include <tlblab/machine.h>

#define CHECK_MAX_THREADS	8
#define CHECK_MAX_OPS		8	/* of a thread */
#define CHECK_MAX_OPTIONS	8
#define CHECK_MAX_EXPECTS	16
#define CHECK_MAX_OUTCOMES	32
#define CHECK_OUTCOME_MAX	64	/* characters, with the final 0 */

/* Architectures; a set, where a set is asked for. */
#define CHECK_X86		0x1u	/* x86-64: TSO, four levels, PCID if asked for */
#define CHECK_ARM64		0x2u	/* 4 KiB granule, four levels, ASIDs */
#define CHECK_POWERPC		0x4u	/* memory and fences; no check_map() yet */
#define CHECK_ALL_ARCHS		(CHECK_X86 | CHECK_ARM64 | CHECK_POWERPC)

/* ---- the description of a model ---- */

/*
 * One operation of a thread. Operations are what minimising drops, and a line
 * of the story names them; write one per system call or user access.
 *
 * KERNEL: a system call, or what a kernel thread does. Entering and leaving it are
 * steps, and leaving is an exception return, with the synchronisation that it
 * implies. USER: user mode; so are the times between operations. It
 * matters: a CPU in the kernel may still hold a translation of a frame that is being
 * freed, if it has taken the flush by the time it is back in user mode.
 */
struct check_op {
	const char *name;
	void (*fn)(void);
	u32 context;		/* enum mach_context */
};

#define KERNEL(fn_) { #fn_, fn_, MACH_CTX_SYSCALL }
#define USER(fn_) { #fn_, fn_, MACH_CTX_USER }

/* Runs its operations in order, on one CPU, until the first without a name. */
struct check_thread {
	const char *name;
	u32 cpu;
	struct check_op op[CHECK_MAX_OPS];
};

/*
 * An option that is off or on (0 or 1). Others are written out as a struct knob
 * (machine.h). Every model of a known bug has one named "bug"; on by default.
 */
#define CHECK_ON_OFF(name_, meaning_)                                           \
	{                                                                       \
		.name = name_, .values = (const char *const[]){ "off", "on", NULL }, \
		.max = 1, .meaning = meaning_,                                  \
	}
#define CHECK_BUG(meaning_)                                                     \
	{                                                                       \
		.name = "bug", .values = (const char *const[]){ "off", "on", NULL }, \
		.def = 1, .max = 1, .meaning = meaning_,                        \
	}

/*
 * What is expected with which options: settings separated by blanks ("bug=on
 * pcid=off"; "": any), and "pass", or the rule that is broken, or rules separated by
 * '|' of which one is.
 */
struct check_expect {
	const char *with;
	const char *result;
};

/*
 * A final state that check_outcome() may report, and where and with which options
 * (NULL: any) it is allowed. The table is exact: each outcome that is met must have
 * a row that allows it, and each that is allowed must be met by a complete
 * search. Empty: outcomes are not checked.
 */
struct check_allowed {
	const char *text;
	u32 allowed;		/* set of architectures; 0: forbidden on all */
	const char *with;
};

struct check_model {
	u64 layout;		/* CHECK_LAYOUT */
	const char *name;
	const char *what;	/* one line: what is modelled */
	u32 arch;		/* set of architectures that it is for */
	u32 cpus;
	u32 frames;		/* of memory; 0: a small default */
	size_t state_size;	/* bytes of check_state(), zeroed */
	bool check_leaks;	/* frames still allocated after final() are LEAKs */
	/* Hardware features, as in machine files: { "x86.pcid", "on" }. */
	const char *feature[8][2];
	struct knob option[CHECK_MAX_OPTIONS];

	/* Alone, on CPU 0, before all: fills the state, builds tables. */
	void (*init)(void);
	/* Then on each CPU in turn, CPU 0 included: loads its root. May be NULL. */
	void (*cpu_init)(void);
	/*
	 * A user access at va could not be translated: repair and return 0, and the
	 * access is tried again, or return a MACH_SIG*. In kernel mode. NULL:
	 * MACH_SIGSEGV.
	 */
	int (*fault)(u64 va, u32 flags);
	/* Alone, after all threads ended: final assertions. May be NULL. */
	void (*final)(void);

	struct check_thread thread[CHECK_MAX_THREADS];
	struct check_expect expect[CHECK_MAX_EXPECTS];
	struct check_allowed outcome[CHECK_MAX_OUTCOMES];
};

#define CHECK_LAYOUT                                                            \
	((u64)sizeof(struct check_model) << 32 | sizeof(struct mach_ops) << 16 | \
	 MACH_NR_INSNS)

/* One per file, at its end. */
#define CHECK_MODEL(name_, ...)                                                 \
	const struct check_model check_model = {                                \
		.layout = CHECK_LAYOUT, .name = #name_, __VA_ARGS__             \
	};

/* ---- what the machine's other side gives; used through the calls below ---- */

struct check_ops {
	void (*violate)(const char *rule, const char *what) __attribute__((noreturn));
	void (*promise)(u32 kind, u64 start, u64 end);
	void (*outcome)(const char *fmt, va_list args);
	u64 *(*map)(u64 root, u64 va, u64 pfn, u32 flags);
	u64 *(*entry)(u64 root, u64 va, u32 height);
};

/* In front of the state, in the world's memory; not changed once it is booted. */
struct check_world {
	const struct check_ops *ops;
	const struct check_model *model;
	const void *host;	/* of the other side */
	u32 arch;
	s64 option[CHECK_MAX_OPTIONS];
	char state[] __attribute__((aligned(64)));
};

static inline struct check_world *check_world(void)
{
	return mach_env()->core;
}

/* ---- calls, from any function of a model ---- */

static inline void *check_state(void)
{
	return check_world()->state;
}

/* CHECK_X86, ... */
static inline u32 check_arch(void)
{
	return check_world()->arch;
}

/* The value of an option (index of its name), or 0 if there is none. */
static inline s64 check_option(const char *name)
{
	const struct check_world *w = check_world();

	for (u32 i = 0; i < CHECK_MAX_OPTIONS && w->model->option[i].name; i++)
		if (!__builtin_strcmp(w->model->option[i].name, name))
			return w->option[i];
	return 0;
}

#define CHECK_STR_(x) #x
#define CHECK_STR(x) CHECK_STR_(x)

/* Ends the execution as a violation of a rule: "LOST-DIRTY", "ASSERT", ... */
#define check_fail(rule, what)                                                  \
	check_world()->ops->violate((rule), what " (" __FILE__ ":" CHECK_STR(__LINE__) ")")

#define check_assert(cond)                                                      \
	do {                                                                    \
		if (!(cond))                                                    \
			check_fail("ASSERT", #cond);                            \
	} while (0)

/*
 * From now on no CPU reaches [start, end) of this CPU's address space: what
 * munmap() promises when it returns. Checked at once and at every access.
 */
static inline void check_promise_unmapped(u64 start, u64 end)
{
	check_world()->ops->promise(0, start, end);
}

/* Nor writes to it: mprotect(PROT_READ), fork(). */
static inline void check_promise_readonly(u64 start, u64 end)
{
	check_world()->ops->promise(1, start, end);
}

/* It is mapped anew: earlier promises no longer hold. */
static inline void check_promise_forget(u64 start, u64 end)
{
	check_world()->ops->promise(2, start, end);
}

/*
 * This execution ended in a state that reads so ("r0=0 r1=1"). Called once, by
 * final(). printf()'s format.
 */
__attribute__((format(printf, 1, 2)))
static inline void check_outcome(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	check_world()->ops->outcome(fmt, args);
	va_end(args);
}

/* The 8-byte word at va, as this thread's user mode. 0, or MACH_SIGSEGV. */
static inline int check_user_load(u64 va, u64 *val)
{
	return mach_env()->ops->user_access(va, false, val);
}

static inline int check_user_store(u64 va, u64 val)
{
	return mach_env()->ops->user_access(va, true, &val);
}

/* A zeroed frame, or a failed model (set .frames). */
static inline u64 check_alloc_frame(void)
{
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ZERO);

	check_assert(pfn != MACH_NO_FRAME);
	return pfn;
}

/* Wait, spinning, until *word is value; an acquire. */
static inline void check_wait(const u32 *word, u32 value)
{
	u32 now;

	while ((now = mach_load(word, MACH_ACQUIRE)) != value) {
		struct mach_watch w = { word, sizeof(now), now };

		mach_wait_change(&w, 1);
	}
}

#define check_free_frame(pfn) mach_free_frames((pfn), 0, 0)

/* The frame's words, where the kernel sees them. */
static inline u64 *check_frame(u64 pfn)
{
	return (u64 *)(mach_env()->phys_base + (pfn << mach_env()->page_shift));
}

#include <tlblab/check_mmu.h>

#endif
