/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --ranges: a machine like desc, each cost that is not published drawn
 * uniformly from its range. Costs fitted together (a group) move together, by the
 * same fraction of their ranges: they are one unknown. The draw depends on
 * seed alone.
 */
#ifndef TLBLAB_CLI_RANGES_H
#define TLBLAB_CLI_RANGES_H

#include "machine/desc.h"

void ranges_draw(const struct machine_desc *desc, u64 seed,
		 struct machine_desc *drawn);

#endif
