/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of core/arch/ARCH/ share: a fake machine with the architecture's
 * part of a core booted on it, a few address spaces, and operations on them.
 * tlbflush_ARCH.c has the cases.
 */
#ifndef TESTS_CORE_TLBFLUSH_WORLD_H
#define TESTS_CORE_TLBFLUSH_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* libc's, which core/kernel.h defines as the kernel does. */
#undef __always_inline
#include "fake_machine.h"
#include "mm/mmu_gather.h"
#include "mmu_context.h"

struct knob_setting {
	u32 knob;	/* enum core_knob */
	s64 value;
};

#define WORLD_KNOBS 8

struct world {
	struct fake_machine *fm;
	struct kernel *kernel;
	struct mm_struct *loaded[64];	/* active_mm of each CPU; init_mm at first */
	const char *refused;		/* by arch_boot() */
};

/* Booted, every CPU online with init_mm, the log empty. */
void world_create(struct world *w, u32 nr_cpus, u32 page_shift,
		  const struct knob_setting *knobs, u32 nr_knobs);
void world_destroy(struct world *w);
struct mm_struct *world_mm(struct world *w);
void world_mm_free(struct world *w, struct mm_struct *mm);
/* cpu runs a thread of mm next. */
void world_switch(struct world *w, u32 cpu, struct mm_struct *mm);
/* cpu runs a kernel thread next. */
void world_lazy(struct world *w, u32 cpu);
void world_enter_kernel(struct world *w, u32 cpu);
void world_exit_kernel(struct world *w, u32 cpu);
/* Flushes, issued by cpu. */
void world_flush_page(struct world *w, u32 cpu, struct mm_struct *mm, u64 addr);
void world_flush_range(struct world *w, u32 cpu, struct mm_struct *mm, u64 start, u64 end);
void world_flush_mm(struct world *w, u32 cpu, struct mm_struct *mm);
void world_tlb_flush(struct world *w, u32 cpu, const struct mmu_gather *tlb);

/* A gather at its flush, by its fields; sizes in bytes. */
struct gather_case {
	const char *name;
	u32 page_shift;			/* 0: 12 */
	u64 start, size;
	const char *fields;		/* letters, see world_gather() */
	struct knob_setting knobs[WORLD_KNOBS];
	const char *expect;		/* fake_brief() of the flush */
};

/*
 * A gather over [start, start + size) with fields: 3 2 1 0 entries cleared at
 * PTE, PMD, PUD, P4D; t freed tables; m fullmm; a need_flush_all.
 */
struct mmu_gather world_gather(struct mm_struct *mm, u64 start, u64 size,
			       const char *fields);
/* Runs and checks a case: one CPU with the mm loaded flushes. */
void world_check_gather(const struct gather_case *c);

/*
 * Shared test: the geometry for each of page_shifts (0 ends) is consistent, and a
 * table hooked in at each level that is not folded is found again and cleared.
 */
void world_check_tables(const u32 *page_shifts, const struct knob_setting *knobs,
			u32 nr_knobs);

/* splitmix64: the same numbers everywhere. */
u64 test_random(u64 *state);

extern const struct CMUnitTest tlbflush_tests[];
extern const size_t nr_tlbflush_tests;

#endif
