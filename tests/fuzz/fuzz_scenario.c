// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a scenario file: either a scenario that keeps its promises or one
 * line of error. For libFuzzer:
 *
 *	clang -g -DFUZZ -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -Iinclude -I. \
 *		tests/fuzz/fuzz_scenario.c scenario/{lex,parse,expr,ops,calls}.c \
 *		machine/nearest.c -o fuzz && ./fuzz tests/fuzz/corpus/scenario
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"
#include "fuzz.h"

static void check_node(const struct scenario *sc, const struct sc_thread *t, u32 at)
{
	const struct sc_node *n = &sc->node[at];

	assert(at < sc->nr_nodes);
	if (n->kind == SC_INIT_VAR)
		assert(n->value < sc->init.nr_vars);
	else if (n->kind == SC_VAR)
		assert(n->value < t->nr_vars);
	else if (n->kind != SC_NUMBER)
		assert(n->a < at && n->b < at);
}

static void check_thread(const struct scenario *sc, const struct sc_thread *t)
{
	assert(t->nr_ops <= XMAX_OPS && t->nr_vars <= SC_MAX_VARS);
	assert(t->cpu < XMAX_CPUS);
	for (u32 i = 0; i < t->nr_ops; i++) {
		const struct sc_op *op = &t->op[i];
		const struct sc_call *call = &sc_calls[op->call];

		assert(op->call < SC_NR_CALLS && op->text && *op->text);
		assert(op->nr_args >= call->min_args);
		assert(op->nr_args <= strlen(call->args));
		assert(op->result < (int)t->nr_vars);
		for (u32 k = 0; k < op->nr_args; k++)
			check_node(sc, t, op->arg[k]);
	}
}

static void check_scenario(const struct scenario *sc)
{
	assert(sc->nr_threads >= 1 && sc->nr_threads <= XMAX_THREADS);
	assert(sc->nr_cpus >= 1 && sc->nr_cpus <= XMAX_CPUS);
	assert(sc->archs && !(sc->archs & ~SC_ARCHS));
	assert(sc->nr_expects <= SC_MAX_EXPECTS);
	check_thread(sc, &sc->init);
	check_thread(sc, &sc->final);
	for (u32 i = 0; i < sc->nr_threads; i++) {
		assert(sc->thread[i].nr_ops >= 1);
		assert(sc->thread[i].cpu < sc->nr_cpus);
		check_thread(sc, &sc->thread[i]);
	}
	for (u32 i = 0; i < sc->nr_expects; i++) {
		assert(sc->expect[i].rule < XRULE_NR);
		assert(sc->expect[i].archs);
		assert(sc->expect[i].with.n <= SC_MAX_SETTINGS);
	}
}

void fuzz_scenario(const uint8_t *data, size_t size)
{
	char error[512] = "";
	struct scenario *sc = scenario_parse((const char *)data, size, "fuzz.tlb", error,
					     sizeof(error));

	if (sc)
		check_scenario(sc);
	else
		assert(!strncmp(error, "fuzz.tlb:", 9) && !strchr(error, '\n'));
	scenario_free(sc);
}

FUZZ_TARGET(fuzz_scenario)
