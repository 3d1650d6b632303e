/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which checks there are: for each file, each architecture that it names and that a
 * core was built for, each expectation that counts. Files are scenarios or, in C,
 * models (cli/check_model.h), which bring their own code instead of a core.
 *
 * Knobs, later ones win: the core's defaults; the era (--era, else the file's, else 6.12);
 * the file's features; the expectation's own; -s.
 *
 * An expectation counts on the architectures that it names, unless it sets a knob
 * of another. With -s, it must agree: without -s, its knobs would have had the values
 * that -s gives. Where none counts, there is one check, and pass is expected.
 */
#ifndef TLBLAB_CLI_CHECK_PLAN_H
#define TLBLAB_CLI_CHECK_PLAN_H

#include "cli/check_args.h"
#include "cli/check_model.h"
#include "cli/core.h"
#include "scenario/scenario.h"

#define CHECK_DEFAULT_ERA "6.12"
#define CHECK_SHOWN_MAX 200
#define CHECK_EXPECTED_MAX 40

struct check {
	const char *name;		/* of the scenario or the model */
	const struct scenario *sc;	/* NULL: a model's */
	struct check_model_file *model;
	u32 run;			/* of the model */
	enum xarch arch;
	/* Of a scenario; NULL: none was built; skipped. */
	const struct core *core;
	const char *era;
	s64 *knobs;			/* one per core->module->knobs */
	/* Knobs that features, the expectation or -s set: bits, by index. */
	u64 set[(TLBLAB_MAX_KNOBS + 63) / 64];
	bool violation;			/* is expected */
	enum xrule rule;		/* which; XRULE_NONE: any */
};

struct check_plan {
	const struct check_args *args;
	/* By enum xarch; module NULL: none. */
	struct core core[XARCH_POWERPC + 1];
	struct check *check;
	u32 n;
};

/* Loads cores and files. Dies with one line on what is wrong in either. */
struct check_plan *check_plan_make(const struct check_args *args);
void check_plan_free(struct check_plan *p);
/* The checks of one scenario, with the plan's cores; for tests, too. */
void check_plan_add(struct check_plan *p, const struct scenario *sc);
/* Was every -s of some use? Dies if not. */
void check_plan_verify(const struct check_plan *p);

/* "mmu_gather.nested=ignore, x86.pcid=off"; empty if nothing was set. */
void check_shown_text(const struct check *c, char text[CHECK_SHOWN_MAX]);
/* "pass", "violation", "violation STALE-READ". */
void check_expected_text(const struct check *c, char text[CHECK_EXPECTED_MAX]);

#endif
