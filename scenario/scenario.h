/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scenario files, as tlblab-scenario(5) describes them: from text to threads of
 * operations, and from there to a program that an exploration can run.
 *
 * Two halves. Parsing (lex.c, parse.c, expr.c, calls.c) needs nothing but the
 * text, so that it can be fuzzed alone. Running (program.c) needs a core and a world
 * (explore/explore.h).
 *
 * A scenario is constant once parsed, whatever runs it. Every failure of the text
 * leaves one line, "FILE:LINE:COLUMN: what was expected", and nothing to free.
 */
#ifndef TLBLAB_SCENARIO_SCENARIO_H
#define TLBLAB_SCENARIO_SCENARIO_H

#include "explore/explore.h"

#define SC_MAX_ARGS 6
#define SC_MAX_VARS 16		/* of init, and of each thread */
#define SC_MAX_NODES 4096	/* of expressions, in a file */
#define SC_MAX_SETTINGS 16	/* of one line */
#define SC_MAX_EXPECTS 32
#define SC_NAME_SIZE 64
#define SC_MIN_FRAMES 16
#define SC_MAX_FRAMES 1536
#define SC_MAX_RESCHED 8
#define SC_MAX_BYTES (256 * 1024)

#define SC_ARCHS (1U << XARCH_X86 | 1U << XARCH_ARM64 | 1U << XARCH_POWERPC)
/* By enum xarch; NULL at the end. */
extern const char *const sc_arch_names[];

/*
 * Calls: name, a letter per argument, how many must be there, and what the manual
 * says. Letters: a address, l length, v value, p PROT_*, f MAP_*, m MADV_*,
 * d a file descriptor (-1), o an offset (0), c a condition, r MREMAP_*, g FOLL_*,
 * t a thread (its node is a number: the index).
 */
#define SC_CALLS(X)                                                             \
	X(MMAP, "mmap", "alpfdo", 4)                                            \
	X(MUNMAP, "munmap", "al", 2)                                            \
	X(MPROTECT, "mprotect", "alp", 3)                                       \
	X(MADVISE, "madvise", "alm", 3)                                         \
	X(MREMAP, "mremap", "allra", 4)                                         \
	X(FORK, "fork", "t", 1)                                                 \
	X(CLONE, "clone", "t", 1)                                               \
	X(SHMGET, "shmget", "l", 1)                                             \
	X(SHMAT, "shmat", "va", 1)                                              \
	X(SHMDT, "shmdt", "a", 1)                                               \
	X(SHM_RMID, "shm_rmid", "v", 1)                                         \
	X(GUP, "gup_fast", "avg", 1)                                            \
	X(GUP_WRITE, "gup_write", "avg", 2)                                     \
	X(LOOKUP, "pte_lookup", "a", 1)                                         \
	X(YIELD, "yield", "", 0)                                                \
	X(RECLAIM, "reclaim", "al", 2)                                          \
	X(MIGRATE, "migrate", "al", 2)                                          \
	X(DROP_CACHES, "drop_caches", "", 0)                                    \
	X(IOREMAP, "ioremap", "vl", 2)                                          \
	X(IOUNMAP, "iounmap", "vl", 2)                                          \
	X(NUMA_HINT, "numa_hint", "al", 2)                                      \
	X(TICK, "tick", "vv", 2)                                                \
	X(WRITEBACK, "writeback", "al", 2)                                      \
	X(TRUNCATE, "truncate", "al", 2)                                        \
	X(LOAD, "load", "a", 1)                                                 \
	X(STORE, "store", "av", 2)                                              \
	X(ASSERT, "assert", "c", 1)                                             \
	X(EXIT, "exit", "v", 0)

/* Linux's, of include/linux/mm_types.h. */
#define FOLL_WRITE	0x01
#define FOLL_FORCE	0x10

enum sc_call_id {
#define X(id, name, args, min) SC_##id,
	SC_CALLS(X)
#undef X
	SC_NR_CALLS,
};

struct sc_call {
	const char *name;
	const char *args;	/* letters, see above */
	u32 min_args;
};

extern const struct sc_call sc_calls[SC_NR_CALLS];

struct sc_pos {
	u32 line, column;	/* from 1; columns count bytes */
};

/* ------------------------------------------------------------ expressions */

enum sc_node_kind {
	SC_NUMBER,	/* value */
	SC_INIT_VAR,	/* value: index into init's variables */
	SC_VAR,		/* value: index into the thread's own */
	SC_NEG, SC_NOT,	/* of a */
	SC_MUL, SC_ADD, SC_SUB, SC_OR_BITS,
	SC_EQ, SC_NE, SC_LT, SC_LE, SC_GT, SC_GE, SC_AND, SC_OR,
};

struct sc_node {
	u8 kind;	/* enum sc_node_kind */
	char class;	/* of a named constant: p, f, m, r, g or e (errno); else 0 */
	u16 a, b;	/* operands: nodes before this one */
	u64 value;
	struct sc_pos pos;
};

/* ----------------------------------------------------------------- threads */

struct sc_op {
	enum sc_call_id call;
	struct sc_pos pos;
	u32 nr_args;
	u16 arg[SC_MAX_ARGS];	/* nodes */
	int result;		/* the variable that it sets, or -1 */
	char *text;		/* as in the file */
};

struct sc_thread {
	char name[SC_NAME_SIZE];	/* "cpu0", "cpu0.reader", "init", "final" */
	u32 cpu;
	bool forked;		/* fork() or clone() names it: it starts there */
	struct sc_pos pos;	/* of the first line, or fork(), that names it */
	u32 nr_ops;
	struct sc_op op[XMAX_OPS];
	u32 nr_vars;
	char var[SC_MAX_VARS][SC_NAME_SIZE];
};

/* ------------------------------------------------------------ expectations */

struct sc_setting {
	char name[SC_NAME_SIZE], value[SC_NAME_SIZE];
	struct sc_pos pos;
};

struct sc_settings {
	u32 n;
	struct sc_setting set[SC_MAX_SETTINGS];
};

struct sc_expect {
	bool violation;
	enum xrule rule;	/* XRULE_NONE: any */
	u32 archs;		/* bits of enum xarch */
	struct sc_settings with;
	struct sc_pos pos;
};

struct scenario {
	char name[SC_NAME_SIZE];	/* of the file, without .tlb */
	char *path;
	char *text;			/* the whole file, as read */
	size_t size;
	u32 archs;			/* bits of enum xarch */
	char era[SC_NAME_SIZE];		/* empty: the default */
	struct sc_pos era_pos;
	struct sc_settings features;
	u32 nr_cpus;
	u32 nr_frames;			/* 0: what it needs */
	u32 nr_numa_nodes;		/* 0: one */
	u32 nr_resched;			/* times that need_resched() may be true, of a thread */
	struct sc_thread init, final;
	u32 nr_threads;
	struct sc_thread thread[XMAX_THREADS];
	u32 nr_expects;			/* none: pass is expected */
	struct sc_expect expect[SC_MAX_EXPECTS];
	u32 nr_nodes;
	struct sc_node node[SC_MAX_NODES];
};

/* NULL, with one line in *error. path is for messages and for the name. */
struct scenario *scenario_parse(const char *text, size_t size, const char *path,
				char *error, size_t error_size);
struct scenario *scenario_load(const char *path, char *error, size_t error_size);
void scenario_free(struct scenario *sc);

/* Is it a setting of another architecture than arch ("x86.pcid" on arm64)? */
bool sc_of_another_arch(enum xarch arch, const char *setting);

/* ----------------------------------------------------------------- programs */

struct sc_program;

/*
 * The program for one architecture and one value of each knob; xprogram is
 * what a world takes. knobs, one per core->knobs, must outlive it.
 */
struct sc_program *scenario_program(const struct scenario *sc, enum xarch arch,
				    const struct core_module *core, const s64 *knobs);
const struct xprogram *sc_xprogram(const struct sc_program *p);
void sc_program_free(struct sc_program *p);

/*
 * After a world was made, so that init has run: did init do what it says,
 * and do all addresses that are known now lie in user space? False, with one line.
 */
bool sc_program_ready(const struct sc_program *p, char *error, size_t error_size);

#endif
