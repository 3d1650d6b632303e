/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C models (<tlblab/check.h>) as programs of the exploration.
 *
 * A model is compiled with the host's cc, loaded, checked for
 * writable statics, and dressed as a core: boot() runs its init(), cpu_online() its
 * cpu_init(), faults go to its fault(). So a world needs to know nothing of
 * models.
 *
 * A model that runs into SIGSEGV, SIGBUS, SIGILL or SIGFPE on its own stack ends its
 * execution as a violation of ASSERT that says where; the process goes on.
 * Handlers for these four are installed by xmodel_load().
 */
#ifndef TLBLAB_EXPLORE_MODEL_H
#define TLBLAB_EXPLORE_MODEL_H

#include <tlblab/check.h>

#include "explore.h"

struct xmodel;

/*
 * From a C file, or from a shared object if the name ends in .so. NULL, and why in
 * *error: the compiler's own message, or one line. include: folder that has
 * tlblab/check.h.
 */
struct xmodel *xmodel_load(const char *path, const char *include, char *error,
			   size_t error_size);
void xmodel_free(struct xmodel *m);

const struct check_model *xmodel_info(const struct xmodel *m);

/* "x86", ...; a bit of CHECK_ALL_ARCHS. */
const char *xmodel_arch_name(enum xarch arch);
#define XMODEL_ARCH_BIT(arch) (1u << (arch))

/*
 * The program of one architecture with one value per option. It lives in m, until the
 * next call for m or xmodel_free().
 */
const struct xprogram *xmodel_program(struct xmodel *m, enum xarch arch,
				      const s64 *options);

/*
 * "bug=on pcid=off" into values, over what is there. False, with one line
 * in *error, for an unknown option or value.
 */
bool xmodel_parse_options(const struct check_model *info, const char *text,
			  s64 *values, char *error, size_t error_size);
void xmodel_default_options(const struct check_model *info, s64 *values);
/* "STALE-READ"; XRULE_NONE is "pass". */
const char *xmodel_rule_name(enum xrule rule);
/* Of a rule's name; XRULE_NR if there is none. "pass" is XRULE_NONE. */
enum xrule xmodel_rule(const char *name);
/* Is a result (NULL: pass) among those that an expectation names? */
bool xmodel_expects(const char *expected, enum xrule rule);

/*
 * Outcomes that check_outcome() reported, in all worker processes, since the last
 * reset; sorted. Strings live in m.
 */
void xmodel_reset_outcomes(struct xmodel *m);
u32 xmodel_outcomes(struct xmodel *m, const char **text, u32 max);
/*
 * Compare them with the model's table, for the program made last. False, with one
 * line in *error, if one was met that is not allowed, or (complete) one that is allowed
 * was not met.
 */
bool xmodel_check_outcomes(struct xmodel *m, bool complete, char *error,
			   size_t error_size);

#endif
