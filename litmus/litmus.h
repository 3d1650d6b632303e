/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Litmus tests in herd's format, on the exploring machine.
 *
 *	lex.c, parse.c, parse_init.c, parse_cond.c	a file as struct litmus
 *	parse_aarch64.c, parse_x86.c			instructions of a column
 *	machine.c	worlds for tests; entries and values, there and back
 *	step.c		instructions, as steps of a world (explore/world.h, "by hand")
 *	state.c		a state of an execution: kept, brought back, told apart
 *	run.c		every execution; the states that they end in
 *	text.c		herd's report
 *
 * A test is parsed by litmus_parse() and run by litmus_run(), as often as one likes.
 * A file that cannot be read as a test is an error with its place; a test with an
 * instruction that we lack is one that says `unsupported`.
 *
 * What is read: the format of herd's AArch64 catalogue with virtual memory (variant vmsa),
 * and the same with x86 columns; docs/litmus.md is the user's manual.
 */
#ifndef TLBLAB_LITMUS_H
#define TLBLAB_LITMUS_H

#include <stddef.h>
#include <tlblab/types.h>

#define LIT_MAX_THREADS	6
#define LIT_MAX_INSNS	48	/* of a thread */
#define LIT_MAX_PAGES	12	/* x, y, ... */
#define LIT_MAX_LABELS	16	/* of a thread */
#define LIT_MAX_INITS	64
#define LIT_MAX_CONDS	96
#define LIT_MAX_WATCHED	32	/* registers, locations and faults of a final state */
#define LIT_MAX_FAULTS	4	/* of a thread */
#define LIT_NAME	64
#define LIT_REGS	32
#define LIT_ZR		31	/* AArch64: the zero register */
#define LIT_PAGE_SHIFT	12

enum lit_arch { LIT_AARCH64, LIT_X86 };

/* ---- values ---- */

enum lit_value_kind {
	LIT_INT,
	LIT_ADDRESS,	/* of a page: x */
	LIT_ENTRY_AT,	/* where its entry is: pte_x */
	LIT_TABLE_AT,	/* and the entry that leads there: pde_x */
	LIT_ENTRY,	/* an entry: (oa:PA(x), valid:0) */
	LIT_TABLE,	/* an entry of a table: (table:y) */
};

struct lit_value {
	u8 kind;
	u8 page;
	s64 num;	/* INT; ENTRY, TABLE: the bits beside the address */
};

/* A word of memory. */
struct lit_loc {
	u8 kind;	/* LIT_ADDRESS: of the page itself; LIT_ENTRY_AT, LIT_TABLE_AT */
	u8 page;
	u16 offset;	/* within the page, in bytes */
};

/* ---- instructions ---- */

enum lit_op {
	LIT_NOP,
	LIT_MOV, LIT_ALU, LIT_CMP, LIT_CSEL,
	LIT_B, LIT_BCOND, LIT_CBZ,
	LIT_LOAD, LIT_STORE, LIT_SWAP, LIT_CAS, LIT_LOAD_EX, LIT_STORE_EX,
	LIT_DMB, LIT_DSB, LIT_ISB, LIT_TLBI,
	/* x86 */
	LIT_MFENCE, LIT_INVLPG, LIT_FLUSH, LIT_IPI,
	LIT_UNSUPPORTED,
};

struct lit_operand {
	u8 reg;		/* is_reg */
	bool is_reg;
	bool w;		/* 32 bits of it */
	struct lit_value imm;
};

struct lit_insn {
	u8 op;
	u8 rd;			/* LIT_ZR: none */
	bool w;			/* rd is of 32 bits */
	bool acquire, release;
	bool negated;		/* condition: not equal; CBNZ */
	bool local;		/* of DSB: this CPU's TLBIs only */
	u8 order;		/* of fences: XORDER_* */
	char alu;		/* + - & ^ | l r; of atomics + c | ^, 0: swap */
	u16 tlbi;		/* enum mach_insn */
	u16 target;		/* of branches: instruction */
	struct lit_operand a, b;	/* data, operands */
	struct lit_operand base, index;	/* address */
	u32 at;			/* place in the text, and how long it is there */
	u16 len;
};

struct lit_label {
	char name[LIT_NAME];
	u16 insn;
};

struct lit_thread {
	u32 nr_insns, nr_labels;
	struct lit_insn insn[LIT_MAX_INSNS];
	struct lit_label label[LIT_MAX_LABELS];
	struct lit_value reg[LIT_REGS];
	u32 used;		/* registers: bits */
	bool ha, hd, el0;
};

/* ---- conditions ---- */

/* What a final state shows. */
enum lit_watch_kind { LIT_WATCH_REG, LIT_WATCH_LOC, LIT_WATCH_FAULT };

struct lit_watch {
	u8 kind;
	u8 thread, reg;
	u8 fault;		/* enum xfault; 0: any */
	bool any_page, any_insn;
	u8 page;
	u16 insn;		/* label's */
	struct lit_loc loc;
	char text[LIT_NAME];	/* as in the file, without blanks */
};

enum lit_cond_kind { LIT_TRUE, LIT_AND, LIT_OR, LIT_NOT, LIT_EQUAL, LIT_FAULT };

struct lit_cond {
	u8 kind;
	u16 a, b;		/* conditions; of EQUAL and FAULT, a is what is watched */
	struct lit_value value;
};

enum lit_quantifier { LIT_NONE, LIT_EXISTS, LIT_NOT_EXISTS, LIT_FORALL };

/* After a fault: the thread ends; the access is tried once more; it is skipped. */
enum lit_on_fault { LIT_FATAL, LIT_RETRY, LIT_SKIP };

struct lit_init {
	struct lit_loc loc;
	struct lit_value value;
};

struct litmus {
	char path[256];
	char name[128];
	char *text;		/* the file, comments blanked */
	enum lit_arch arch;
	enum lit_on_fault on_fault;
	bool updates;		/* some CPU has HA or HD: AF may be set with no access */
	char unsupported[160];	/* "file:line:column: what we lack", or empty */
	u32 nr_threads, nr_pages, nr_inits, nr_conds, nr_watched;
	struct lit_thread thread[LIT_MAX_THREADS];
	struct {
		char name[LIT_NAME];
		u8 word;	/* bytes of a word: 8, in an array of int 4 */
		u64 words;	/* bits: offsets / 4 that are words */
	} page[LIT_MAX_PAGES];
	struct lit_init init[LIT_MAX_INITS];
	struct lit_watch watched[LIT_MAX_WATCHED];
	struct lit_cond cond[LIT_MAX_CONDS];
	u16 condition;		/* root of cond */
	enum lit_quantifier quantifier;
	u32 cond_at;		/* in text */
	u16 cond_len;
};

/* NULL, and "file:line:column: expected ..." in error. text need not end in 0. */
struct litmus *litmus_parse(const char *path, const char *text, size_t size, char *error,
			    size_t error_size);
/* The same of a file; NULL, too, when it cannot be read. */
struct litmus *litmus_load(const char *path, char *error, size_t error_size);
void litmus_free(struct litmus *t);

/* ---- running ---- */

/* As herd's kinds.txt has them. */
enum lit_kind { LIT_ALLOWED, LIT_FORBIDDEN, LIT_REQUIRED, LIT_UNSUPPORTED_KIND, LIT_UNFINISHED };
extern const char *const lit_kind_names[];

struct lit_outcome {
	char *text;		/* "0:X1=1; x=2;" */
	bool holds;		/* of the condition, without its quantifier */
	u32 node;		/* an execution that ends so; run.c */
};

struct lit_how {
	bool overtaking;	/* stores may pass others; arm64 */
	u64 max_states;		/* 0: a default */
	u64 laws_off;		/* explore/laws.h; for tests */
	/* Story of the first outcome for which the condition is told; run.c. */
	bool story;
};

#define LIT_STORY_MAX 64

struct lit_result {
	enum lit_kind kind;
	u32 nr_outcomes, nr_positive;
	struct lit_outcome *outcome;	/* sorted by text */
	u64 nr_states;
	u32 nr_story;
	char *story[LIT_STORY_MAX];
	int story_of;			/* outcome, or -1 */
};

/* Worlds, made when first needed; one per architecture and number of CPUs. */
struct lit_machines;
struct lit_machines *litmus_machines(void);
void litmus_machines_free(struct lit_machines *m);

/* False: a line in error (no world can be made). */
bool litmus_run(struct lit_machines *m, const struct litmus *t, const struct lit_how *how,
		struct lit_result *r, char *error, size_t error_size);
void lit_result_free(struct lit_result *r);

/* herd's report of it: Test, States, Ok or No, Witnesses, Condition, Observation. */
void litmus_print(const struct litmus *t, const struct lit_result *r, void *file);
/* "Observation NAME Sometimes 1 3", without the newline. */
void litmus_observation(const struct litmus *t, const struct lit_result *r, char *buf,
			size_t size);

#endif
