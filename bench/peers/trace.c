// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace PAGES LOADS: a pointer chase over so many pages, the same cycle as that of
 * `tlblab run probe -p what=chase`. What the tools of bench/peers.sh trace.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "workload/figures.h"

#define PAGE 4096UL

int main(int argc, char **argv)
{
	u32 pages = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : 0;
	u64 loads = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	u32 *next = malloc(pages * sizeof(*next));
	char *base = aligned_alloc(PAGE, pages * PAGE);
	void **p;

	if (!pages || !next || !base) {
		fprintf(stderr, "usage: trace PAGES LOADS\n");
		return 2;
	}
	wl_cycle(next, pages);
	for (u32 i = 0; i < pages; i++)
		*(void **)(base + i * PAGE + i * 64UL % PAGE) =
			base + next[i] * PAGE + next[i] * 64UL % PAGE;
	p = (void **)base;
	for (u64 i = 0; i < loads; i++)
		p = *(void **volatile *)p;
	return p == NULL;
}
