/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of models: model.c the program, model_options.c its settings, model_load.c
 * compiling and loading, model_elf.c the search for writable statics, model_mmu.c page tables,
 * model_crash.c signals, model_guard.c bad arguments, model_outcome.c final states.
 */
#ifndef TLBLAB_EXPLORE_MODEL_INTERNAL_H
#define TLBLAB_EXPLORE_MODEL_INTERNAL_H

#include "model.h"

/* Different outcomes of one model; more is the model's error. */
#define MODEL_MAX_OUTCOMES 256

/* Shared between worker processes. A slot is empty, being written, or full. */
struct model_outcomes {
	u32 overflow;
	struct {
		u32 state;
		char text[CHECK_OUTCOME_MAX];
	} slot[MODEL_MAX_OUTCOMES];
};

/* The world's operations behind checks: model_guard.c. */
struct xmodel_guard {
	struct mach_ops ops;
};

struct xmodel {
	void *handle;			/* of dlopen() */
	const struct check_model *info;
	struct model_outcomes *outcomes;
	struct xmodel_guard guard;

	/* The program made last. */
	enum xarch arch;
	struct core_module module;
	const struct knob *knobs[CHECK_MAX_OPTIONS + 2];
	s64 values[CHECK_MAX_OPTIONS + 1];
	const char *features[9][2];
	struct xprogram program;
};

/* model_elf.c: false, naming the first, if the object has writable statics. */
bool model_no_statics(const char *so, const char *path, char *error,
		      size_t error_size);

/* model_mmu.c */
u64 *model_map(u64 root, u64 va, u64 pfn, u32 flags);
u64 *model_entry(u64 root, u64 va, u32 height);

/* model_guard.c: from now on, for the model's code on this stack. */
void model_guard_stack(void);

/* model_outcome.c */
struct model_outcomes *model_outcomes_new(void);
void model_outcomes_free(struct model_outcomes *o);
/* Returns a hash of the text. */
u32 model_outcome_add(struct model_outcomes *o, const char *fmt, va_list args);

/* model_crash.c: catch signals in this model's code. */
void model_crash_watch(const struct xmodel *m);
void model_crash_unwatch(const struct xmodel *m);

#endif
