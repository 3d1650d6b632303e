/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of workloads, as people write them. */
#ifndef TLBLAB_CLI_PARAMS_H
#define TLBLAB_CLI_PARAMS_H

#include "workload/workload.h"

#define PARAM_TEXT_MAX 32

/* Die with one line, naming the nearest, when there is none. */
const struct workload *workload_find(const char *name);
u32 param_find(const struct workload *w, const char *name);

/* "16M", "0x1000", "turns": checked against kind, min and max; or dies. */
u64 param_parse(const struct wl_param *p, const char *value);
void param_text(const struct wl_param *p, u64 value, char text[PARAM_TEXT_MAX]);
u32 params_count(const struct workload *w);

/* A whole number in [min, max], or die("%s: ..."). */
u64 parse_number(const char *s, u64 min, u64 max, const char *what);

#endif
