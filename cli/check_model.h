/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C models for `tlblab check`: from a file and the command's -a and -s to a list of
 * runs, each a program of the exploration with what is expected of it.
 *
 *	struct check_model_file f;
 *
 *	if (check_model_load(path, &args, &f))
 *		return EXIT_INPUT;	(it has said why)
 *	for (u32 i = 0; i < f.nr_runs; i++) {
 *		w = xworld_create(check_model_program(&f, i), ...);
 *		xsearch_run(w, &search, &verdict);
 *		ok = check_model_judge(&f, i, &verdict, why, sizeof(why));
 *	}
 *	check_model_free(&f);
 *
 * To replay a witness: load with its architecture and all its settings; then
 * each run there is has these options, and run 0 will do.
 *
 * check_model_program() forgets the outcomes of the run before, and its result
 * stays until the next call for the same file.
 */
#ifndef TLBLAB_CLI_CHECK_MODEL_H
#define TLBLAB_CLI_CHECK_MODEL_H

#include "explore/model.h"

struct check_model_args {
	const char *arch;		/* of -a; NULL: all that the model is for */
	const char *const *settings;	/* of -s: "bug=on"; NULL-terminated, or NULL */
};

struct check_model_run {
	enum xarch arch;
	const char *expected;		/* "pass", a rule, or several with '|' */
	s64 option[CHECK_MAX_OPTIONS];
};

#define CHECK_MODEL_MAX_RUNS (CHECK_MAX_EXPECTS * 3)

struct check_model_file {
	struct xmodel *model;
	const struct check_model *info;
	u32 nr_runs;
	struct check_model_run run[CHECK_MODEL_MAX_RUNS];
};

/*
 * 0, or EXIT_INPUT after the compiler's message or one line on stderr. A model that is
 * not for args->arch has no runs, which is no error.
 */
int check_model_load(const char *path, const struct check_model_args *args,
		     struct check_model_file *f);
void check_model_free(struct check_model_file *f);

const struct xprogram *check_model_program(struct check_model_file *f, u32 run);
/* The options of a run, each by its value's name; returns how many. */
struct check_model_setting {
	const char *name;
	char value[24];
};
u32 check_model_settings(const struct check_model_file *f, u32 run,
			 struct check_model_setting set[CHECK_MAX_OPTIONS]);
/* "bug=on": the same as text. */
const char *check_model_text(const struct check_model_file *f, u32 run, char *text,
			     size_t size);

enum check_model_result { CHECK_MODEL_OK, CHECK_MODEL_FAILED, CHECK_MODEL_INCONCLUSIVE };

/* Does a verdict meet the expectation, outcomes included? If not, why has a line. */
enum check_model_result check_model_judge(struct check_model_file *f, u32 run,
					  const struct xverdict *verdict, char *why,
					  size_t why_size);

/* Folder with tlblab/check.h: $TLBLAB_INCLUDE, the source tree's, or the installed. */
const char *check_model_include(char *path, size_t size);

#endif
