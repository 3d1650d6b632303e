// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a machine file: either a description that keeps its promises or one
 * line of error. For libFuzzer:
 *
 *	clang -g -DFUZZ -fsanitize=fuzzer,address,undefined -Iinclude -I. \
 *		tests/fuzz/fuzz_machine_yaml.c machine/desc_*.c machine/nearest.c \
 *		-lcyaml -lyaml -lhwloc -o fuzz && ./fuzz tests/fuzz/corpus/machine_yaml
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/desc_yaml.h"
#include "fuzz.h"

static void check_cost(const struct cost *c)
{
	assert(c->lo_ps <= c->ps && c->ps <= c->hi_ps);
	assert(c->given || !c->ps);
	assert(c->kind != COST_FITTED || c->group);
}

static void check_desc(const struct machine_desc *d)
{
	assert(d->name[0]);
	assert(d->nr_cpus >= 1 && d->nr_cpus <= TLBLAB_MAX_CPUS);
	assert(d->nr_nodes >= 1 && d->nr_nodes <= TLBLAB_MAX_NODES);
	assert(d->page_shift == 12 || d->page_shift == 16);
	for (u32 i = 0; i < d->nr_cpus; i++) {
		assert(d->place[i].node < d->nr_nodes);
		assert(d->place[i].package < d->nr_packages);
		assert(d->place[i].core < d->nr_cpus);
	}
	for (u32 i = 0; i < MACH_NR_COSTS; i++)
		check_cost(&d->core_cost[i]);
	for (u32 i = 0; i < HW_NR_COSTS; i++)
		check_cost(&d->hw_cost[i]);
}

void fuzz_machine_yaml(const uint8_t *data, size_t size)
{
	static struct machine_desc desc;
	char error[512] = "";

	/* A topology file would be the host's. */
	if (memmem(data, size, ".xml", 4))
		return;
	if (!machine_desc_parse((const char *)data, size, "fuzz.yaml", &desc,
				error, sizeof(error))) {
		check_desc(&desc);
		return;
	}
	assert(!strncmp(error, "fuzz.yaml:", 10) && !strchr(error, '\n'));
}

FUZZ_TARGET(fuzz_machine_yaml)
