// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a litmus test: either a test that keeps its promises or one line of
 * error. For libFuzzer:
 *
 *	clang -g -DFUZZ -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -Iinclude -I. \
 *		tests/fuzz/fuzz_litmus.c litmus/{lex,parse,parse_init,parse_cond,entry}.c \
 *		litmus/parse_{aarch64,x86}.c -o fuzz && ./fuzz tests/fuzz/corpus/litmus
 *
 * Only parsed: whether what was parsed also runs is tests/litmus/'s matter.
 */
#include <assert.h>
#include <string.h>

#include "litmus/litmus.h"
#include "fuzz.h"

static void check_operand(const struct litmus *t, const struct lit_operand *o)
{
	assert(o->reg < LIT_REGS);
	if (!o->is_reg && o->imm.kind != LIT_INT)
		assert(o->imm.page < t->nr_pages);
}

static void check_thread(const struct litmus *t, const struct lit_thread *p)
{
	assert(p->nr_insns <= LIT_MAX_INSNS && p->nr_labels <= LIT_MAX_LABELS);
	for (u32 k = 0; k < p->nr_insns; k++) {
		const struct lit_insn *i = &p->insn[k];

		assert(i->op <= LIT_UNSUPPORTED && i->rd < LIT_REGS);
		assert(i->at + i->len <= strlen(t->text));
		if (t->unsupported[0])
			continue;
		assert(i->op != LIT_UNSUPPORTED);
		check_operand(t, &i->a);
		check_operand(t, &i->b);
		check_operand(t, &i->base);
		check_operand(t, &i->index);
		if (i->op == LIT_B || i->op == LIT_BCOND || i->op == LIT_CBZ)
			assert(i->target > k && i->target <= p->nr_insns);
	}
}

static void check_condition(const struct litmus *t)
{
	assert(t->nr_conds <= LIT_MAX_CONDS && t->nr_watched <= LIT_MAX_WATCHED);
	if (t->quantifier)
		assert(t->condition < t->nr_conds);
	for (u32 i = 0; i < t->nr_conds; i++) {
		const struct lit_cond *c = &t->cond[i];

		if (c->kind == LIT_AND || c->kind == LIT_OR)
			assert(c->a < i && c->b < i);
		else if (c->kind == LIT_NOT)
			assert(c->a < i);
		else if (c->kind != LIT_TRUE)
			assert(c->a < t->nr_watched);
	}
	for (u32 i = 0; i < t->nr_watched; i++)
		assert(t->watched[i].thread < LIT_MAX_THREADS && t->watched[i].text[0]);
}

void fuzz_litmus(const uint8_t *data, size_t size)
{
	char error[512] = "";
	struct litmus *t = litmus_parse("fuzz.litmus", (const char *)data, size, error,
					sizeof(error));

	if (!t) {
		assert(!strncmp(error, "fuzz.litmus:", 12) && !strchr(error, '\n'));
		return;
	}
	assert(t->name[0] && t->nr_threads >= 1 && t->nr_threads <= LIT_MAX_THREADS);
	assert(t->nr_pages <= LIT_MAX_PAGES && t->nr_inits <= LIT_MAX_INITS);
	for (u32 i = 0; i < t->nr_threads; i++)
		check_thread(t, &t->thread[i]);
	for (u32 i = 0; i < t->nr_inits; i++)
		assert(t->init[i].loc.page < t->nr_pages);
	check_condition(t);
	litmus_free(t);
}

FUZZ_TARGET(fuzz_litmus)
