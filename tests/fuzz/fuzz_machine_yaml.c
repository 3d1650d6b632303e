// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a machine file: either a description that keeps its promises or one
 * line of error. For libFuzzer:
 *
 *	clang -g -fsanitize=fuzzer,address,undefined -Iinclude -I. \
 *		tests/fuzz/fuzz_machine_yaml.c machine/desc_*.c machine/nearest.c \
 *		-lcyaml -lyaml -lhwloc -o fuzz && ./fuzz tests/fuzz/corpus/machine_yaml
 *
 * With -DFUZZ_REPLAY it has a main() of its own that replays files.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/desc_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine_desc desc;
	char error[512] = "";

	/* A topology file would be the host's. */
	if (memmem(data, size, ".xml", 4))
		return 0;
	if (!machine_desc_parse((const char *)data, size, "fuzz.yaml", &desc,
				error, sizeof(error))) {
		check_desc(&desc);
		return 0;
	}
	assert(!strncmp(error, "fuzz.yaml:", 10) && !strchr(error, '\n'));
	return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		static uint8_t data[1 << 20];
		FILE *f = fopen(argv[i], "r");
		size_t size;

		if (!f) {
			perror(argv[i]);
			return 2;
		}
		size = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%d replayed\n", argc - 1);
	return 0;
}
#endif
