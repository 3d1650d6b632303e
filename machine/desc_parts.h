/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that make up machine/desc_yaml.h. */
#ifndef TLBLAB_MACHINE_DESC_PARTS_H
#define TLBLAB_MACHINE_DESC_PARTS_H

#include "machine/desc_yaml.h"

/*
 * Where each key of a YAML text stands. libcyaml names the place of the event
 * it was at, which for a missing or unknown key is that of its neighbour, and
 * tells nothing once it has loaded; hence this index. A path is "costs.dvm_va.value",
 * or "features.1.knob" in the first entry of a sequence (libcyaml counts so).
 */
#define YAML_PATH_MAX 128

struct yaml_place {
	char path[YAML_PATH_MAX];
	u32 line, column;	/* from 1 */
};

struct yaml_places {
	struct yaml_place *place;
	u32 n, size;
};

/* Returns 0; -1 with a line in *error (no file name before it, "L:C: what"). */
int yaml_places_read(struct yaml_places *p, const char *text, size_t size,
		     char *error, size_t error_size);
void yaml_places_free(struct yaml_places *p);
/* The place of path, or of the nearest parent that there is. */
const struct yaml_place *yaml_places_find(const struct yaml_places *p,
					  const char *path);

/*
 * CPUs from an hwloc synthetic string, or from an lstopo XML file (name ends
 * in .xml; relative to the directory of yaml_path). Fills in nr_cpus, nr_nodes,
 * nr_packages and place[]. CPUs are numbered as Linux does on most machines: the
 * first threads of all cores, then the second ones. Returns NULL or what is wrong.
 */
const char *desc_topology(struct machine_desc *desc, const char *topology,
			  const char *yaml_path, char *buf, size_t buf_size);

/* Names, and whether the machine needs the cost; see desc_costs.c. */
enum cost_need { COST_NEEDED, COST_OPTIONAL, COST_FOREIGN };
const char *cost_name(u32 index);	/* core costs first, then hw costs */
struct cost *cost_slot(struct machine_desc *desc, u32 index);
enum cost_need cost_need(const struct machine_desc *desc, u32 index);
#define NR_ALL_COSTS (MACH_NR_COSTS + HW_NR_COSTS)

#endif
