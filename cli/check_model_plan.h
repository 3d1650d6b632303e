/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models among the checks of a plan. To reports and witnesses a model's run looks like
 * a check of a scenario: its name, its path and its text, with its options as the knobs
 * of a core. What runs is check_model_of()'s.
 */
#ifndef TLBLAB_CLI_CHECK_MODEL_PLAN_H
#define TLBLAB_CLI_CHECK_MODEL_PLAN_H

#include "cli/check_model.h"
#include "cli/check_plan.h"

/* By its name: *.c, or a model compiled to *.so. */
bool check_model_is(const char *path);

/* Adds the runs of a model, as the plan's -a and -s have it; exits with 2 if it is bad. */
void check_plan_add_model(struct check_plan *p, const char *path);

/* The model behind a check and which of its runs; NULL: it is a scenario's. */
struct check_model_file *check_model_of(const struct check *c, u32 *run);

/* After check_plan_free() has left models' scenarios alone: all of them. */
void check_models_free(void);

#endif
