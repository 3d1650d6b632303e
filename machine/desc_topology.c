// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/desc_parts.h"

#include <ctype.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

/*
 * A synthetic string names a count per level after a colon. hwloc would build
 * whatever is asked, so refuse absurd products before it allocates anything.
 */
static const char *synthetic_sane(const char *s)
{
	u64 product = 1;

	for (const char *p = s; *p; p++) {
		char *end;
		u64 n;

		if (*p == '(' || *p == ')')
			return "expected no attributes in parentheses";
		if (*p != ':')
			continue;
		if (!isdigit((unsigned char)p[1]))
			return "expected a count after ':'";
		n = strtoull(p + 1, &end, 10);
		if (!n || n > TLBLAB_MAX_CPUS)
			return "expected counts from 1 to the limit of CPUs";
		product *= n;
		if (product > TLBLAB_MAX_CPUS)
			return "expected no more CPUs than the limit (limits.h)";
	}
	return NULL;
}

static bool is_xml(const char *s)
{
	size_t n = strlen(s);

	return n > 4 && !strcmp(s + n - 4, ".xml");
}

static int topology_source(hwloc_topology_t topo, const char *topology,
			   const char *yaml_path)
{
	const char *slash = strrchr(yaml_path, '/');
	char path[MACHINE_PATH_MAX];

	if (!is_xml(topology))
		return hwloc_topology_set_synthetic(topo, topology);
	if (topology[0] == '/' || !slash)
		snprintf(path, sizeof(path), "%s", topology);
	else
		snprintf(path, sizeof(path), "%.*s/%s",
			 (int)(slash - yaml_path), yaml_path, topology);
	return hwloc_topology_set_xml(topo, path);
}

/* Rank of a PU among those of its core; the core's number. */
static void pu_core(hwloc_obj_t pu, u32 i, struct cpu_place *place)
{
	hwloc_obj_t core = pu;

	while (core && core->type != HWLOC_OBJ_CORE)
		core = core->parent;
	place->core = core ? core->logical_index : i;
	place->smt = 0;
	if (core)
		for (hwloc_obj_t p = pu->prev_cousin; p; p = p->prev_cousin) {
			if (!hwloc_bitmap_isset(core->cpuset, p->os_index))
				break;
			place->smt++;
		}
}

static void pu_place(hwloc_topology_t topo, hwloc_obj_t pu, u32 i,
		     struct cpu_place *place)
{
	hwloc_obj_t up = pu, node;

	pu_core(pu, i, place);
	while (up && up->type != HWLOC_OBJ_PACKAGE)
		up = up->parent;
	place->package = up ? up->logical_index : 0;
	node = hwloc_get_numanode_obj_by_os_index(
		topo, hwloc_bitmap_first(pu->nodeset));
	place->node = node ? node->logical_index : 0;
}

/* First threads of all cores first; stable otherwise. */
static void fill_places(hwloc_topology_t topo, struct machine_desc *desc)
{
	u32 n = 0;

	for (u32 smt = 0; n < desc->nr_cpus; smt++) {
		for (u32 i = 0; i < desc->nr_cpus; i++) {
			hwloc_obj_t pu = hwloc_get_obj_by_type(
				topo, HWLOC_OBJ_PU, i);
			struct cpu_place place;

			pu_place(topo, pu, i, &place);
			if (place.smt == smt)
				desc->place[n++] = place;
		}
	}
}

const char *desc_topology(struct machine_desc *desc, const char *topology,
			  const char *yaml_path, char *buf, size_t buf_size)
{
	const char *wrong = is_xml(topology) ? NULL : synthetic_sane(topology);
	hwloc_topology_t topo;
	int cpus, nodes, packages;

	if (wrong)
		return wrong;
	if (hwloc_topology_init(&topo))
		abort();
	if (topology_source(topo, topology, yaml_path) ||
	    hwloc_topology_load(topo)) {
		hwloc_topology_destroy(topo);
		snprintf(buf, buf_size, "expected an hwloc synthetic topology "
			 "or an lstopo XML file, not \"%.60s\"", topology);
		return buf;
	}
	cpus = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU);
	nodes = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
	packages = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PACKAGE);
	if (cpus < 1 || cpus > TLBLAB_MAX_CPUS || nodes > TLBLAB_MAX_NODES) {
		hwloc_topology_destroy(topo);
		snprintf(buf, buf_size, "expected at most %d CPUs and %d nodes, "
			 "not %d and %d", TLBLAB_MAX_CPUS, TLBLAB_MAX_NODES,
			 cpus, nodes);
		return buf;
	}
	desc->nr_cpus = cpus;
	desc->nr_nodes = nodes > 0 ? nodes : 1;
	desc->nr_packages = packages > 0 ? packages : 1;
	fill_places(topo, desc);
	hwloc_topology_destroy(topo);
	return NULL;
}
