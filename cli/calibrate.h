/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calibrating this host: `tlblab calibrate`, and `tlblab validate --native`. */
#ifndef TLBLAB_CLI_CALIBRATE_H
#define TLBLAB_CLI_CALIBRATE_H

#include "cli/core.h"
#include "native/calibrate.h"

/*
 * Dies, with one line, when the host is loaded (when: " now", or ""); with force it says so
 * and returns false.
 */
bool calibrate_quiet(bool force, const char *when);
/* Loads the core, measures and solves. Dies on any failure. */
struct calibration *calibrate_host(u32 rounds, bool force, struct core *core);
void calibrate_table(const struct calibration *c, FILE *out);

#endif
