/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of arm64's barriers belong to an invalidation? The kernel executes DSBs
 * for much else: after writing a table entry (set_p4d, set_pud, set_pmd: DSB ISHST;
 * ISB), at a context switch, for the interrupt controller, against Spectre-BHB.
 * A flush is
 *
 *	DSB ISHST; TLBI ...; DSB ISH
 *
 * (DSB NSHST; TLBI; DSB NSH when local), so, on each CPU:
 *
 *  - a DSB ISHST or NSHST belongs to a flush if a TLBI is the next of these
 *    instructions on its CPU, before it returns to user mode;
 *  - a DSB ISH belongs to a flush if a broadcast TLBI was executed since the
 *    last such DSB ISH, a DSB NSH if a local one was since the last DSB NSH.
 *
 * All others are counted as dsb_ishst_else and dsb_else, so that none is lost.
 * An interrupt in between can make one such decision wrong; medians do not care.
 */
#ifndef FIDELITY_BARRIER_H
#define FIDELITY_BARRIER_H

#include <stdbool.h>

#include "classify.h"

/* Of one CPU; all zero at first. */
struct barrier_state {
	bool store_pending;		/* store_kind waits for its TLBI */
	enum insn_kind store_kind;	/* DSB_ISHST or DSB_NSHST */
	bool broadcast_pending;		/* a TLBI waits for its DSB ISH */
	bool local_pending;		/* a TLBI waits for its DSB NSH */
};

/*
 * The CPU executes an instruction of a kind that classify() gave. Writes the
 * kinds to count now to count[], at most two, and returns how many. Kinds of other
 * architectures pass unchanged.
 */
int barrier_step(struct barrier_state *s, enum insn_kind kind,
		 enum insn_kind count[2]);

/* The CPU is in user mode: a store barrier still pending belongs to no flush. */
int barrier_user(struct barrier_state *s, enum insn_kind count[1]);

#endif
