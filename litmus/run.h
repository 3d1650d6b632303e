/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the runner: a test that is being run on a world. */
#ifndef TLBLAB_LITMUS_RUN_H
#define TLBLAB_LITMUS_RUN_H

#include "explore/world.h"
#include "litmus/litmus.h"

/* ---- machine.c ---- */

/*
 * A world whose tables map page i at lit_va(i), each by a last-level table of its
 * own (so that an entry above it is the page's, too). A test's words are preset at its start.
 */
struct lit_machine {
	struct xworld *w;
	enum lit_arch arch;
	u32 nr_cpus;
	u32 root, upper[2];			/* frames */
	u32 table[LIT_MAX_PAGES];		/* last-level tables */
	u32 data[LIT_MAX_PAGES];
	u32 nr_words, nr_msgs;			/* at the snapshot */
};

struct lit_machine *lit_machine_for(struct lit_machines *all, const struct litmus *t,
				    char *error, size_t error_size);
static inline u64 lit_va(u32 page)
{
	return 0x40000000ULL + ((u64)page << 21);
}

/* The kernel's map of all memory, in which entries have addresses. */
#define LIT_LINEAR 0xffff800000000000ULL

/* Where a word is in the arena. */
u32 lit_offset(const struct lit_machine *m, const struct lit_loc *loc);
u64 lit_number_of(const struct lit_machine *m, const struct lit_value *v);
/* The page at va or whose entry is at this address of the kernel's map; -1: none. */
int lit_page_at(const struct litmus *t, const struct lit_machine *m, u64 address);
/* As a test would have it: "x", "pte_x", "(oa:phy_x, valid:0)", "7". */
void lit_value_text(const struct litmus *t, const struct lit_machine *m, u64 val, char *buf,
		    size_t size);
/* Set everything up for t, at the snapshot. */
void lit_machine_begin(struct lit_machine *m, const struct litmus *t);

/* ---- step.c ---- */

struct lit_reg {
	u64 val;
	u32 view;	/* of what it was made from */
	u32 pick;	/* and what decided which */
};

struct lit_fault {
	u16 insn;
	u8 page, type;	/* enum xfault */
};

struct lit_cpu {
	u16 pc;
	u8 done;
	u8 retry;		/* has had its fault */
	u8 nr_faults;
	u8 waiting;		/* for its interrupts to be handled */
	u8 ipi_left;		/* CPUs that have not */
	u32 ex_ts, ex_off;	/* LDXR's message and word; XNEVER: none */
	struct lit_reg reg[LIT_REGS], flags;	/* flags: val: equal */
	struct lit_fault fault[LIT_MAX_FAULTS];
};

struct lit_run {
	const struct litmus *t;
	struct lit_machine *m;
	struct xworld *w;
	struct lit_cpu cpu[LIT_MAX_THREADS];
	const struct lit_insn *astray;	/* used an address that is none of the test's */
	struct mach_site site[LIT_MAX_THREADS][LIT_MAX_INSNS];
};

/* Who moves. */
enum lit_agent_kind {
	LIT_THREAD, LIT_DRAIN, LIT_DEFERRED, LIT_EARLY_LOAD, LIT_EARLY_STORE,
	LIT_SPONTANEOUS, LIT_INTERRUPT,
};

struct lit_agent {
	u8 kind, cpu;
	u8 i;		/* store, update, page, sender */
};

#define LIT_MAX_AGENTS 128

void lit_start(struct lit_run *r);
/* All that can move. None, and not lit_over(): a dead end. */
u32 lit_agents(const struct lit_run *r, struct lit_agent agent[LIT_MAX_AGENTS]);
bool lit_over(const struct lit_run *r);
/* False: this comes to nothing. */
bool lit_step(struct lit_run *r, struct lit_agent a);

/* ---- state.c ---- */

#define LIT_STATE_MAX 65536

/* All that the rest of the execution depends on; returns its length. */
u32 lit_save(const struct lit_run *r, u8 buf[LIT_STATE_MAX]);
void lit_restore(struct lit_run *r, const u8 *buf);

/* ---- text.c ---- */

bool lit_holds(const struct lit_run *r);
/* malloc()ed. */
char *lit_outcome_text(const struct lit_run *r);
/* A line of the story. malloc()ed. */
char *lit_event_text(const struct lit_run *r, const struct xevent *e);

#endif
