// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions of x86 columns, Intel's order of operands, as herd has them:
 *
 *	MOV EAX,[x]	MOV [x],$1	MOV [x],EAX	MOV EAX,$1	MOV [pte_x],RAX
 *	XCHG [x],EAX	CMPXCHG [x],EBX (with EAX)	MFENCE	CMP EAX,$1	JE L	JNE L	JMP L
 *	INVLPG [x]	MOV CR3,RAX (the root again: drops all)
 *	IPI INVLPG [x]	IPI CR3
 *
 * IPI stands for what flush_tlb_others() does: interrupt the other CPUs, whose handlers
 * invalidate, and wait until all have. A CPU can take it between any two instructions.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "explore/world.h"
#include "litmus/parser.h"

static const char *const names[16] = {
	"AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP",
	"8", "9", "10", "11", "12", "13", "14", "15",
};

int lit_x86_register(const char *name, bool *w)
{
	char first = (char)toupper((unsigned char)name[0]);

	if (first != 'E' && first != 'R')
		return -1;
	for (u32 i = 0; i < 16; i++)
		if (lit_same(name + 1, names[i])) {
			*w = first == 'E';
			return first == 'E' && i >= 8 ? -1 : (int)i;
		}
	return -1;
}

/* A register, $number, or a value: (valid:0), x. */
static void operand(struct lit_parser *p, struct lit_operand *o)
{
	char name[LIT_NAME];
	int r = -1;

	*o = (struct lit_operand){ 0 };
	if (lit_peek_word(p, name, sizeof(name)))
		r = lit_x86_register(name, &o->w);
	if (r >= 0) {
		lit_word(p, false, name, sizeof(name));
		o->is_reg = true;
		o->reg = (u8)r;
		return;
	}
	lit_eat(p, "$");
	lit_value(p, 0xff, &o->imm);
}

/* [x], [pte_x], [RAX] */
static void address(struct lit_parser *p, struct lit_insn *i)
{
	lit_expect(p, "[");
	operand(p, &i->base);
	if (!p->failed && !i->base.is_reg && i->base.imm.kind == LIT_INT)
		lit_fail(p, p->at, "expected a location or a register");
	lit_expect(p, "]");
}

static void to_register(struct lit_parser *p, struct lit_insn *i)
{
	struct lit_operand o;
	u32 at = p->at;

	operand(p, &o);
	if (!o.is_reg) {
		lit_fail(p, at, "expected a register");
		return;
	}
	i->rd = o.reg;
	i->w = o.w;
}

/* MOV, in its forms. */
static void mov(struct lit_parser *p, struct lit_insn *i)
{
	if (lit_eat(p, "CR3")) {
		i->op = LIT_FLUSH;
		lit_expect(p, ",");
		operand(p, &i->a);
		return;
	}
	if (lit_peek(p) == '[') {
		i->op = LIT_STORE;
		address(p, i);
		lit_expect(p, ",");
		operand(p, &i->a);
		return;
	}
	to_register(p, i);
	lit_expect(p, ",");
	if (lit_peek(p) == '[') {
		i->op = LIT_LOAD;
		address(p, i);
	} else {
		i->op = LIT_MOV;
		operand(p, &i->a);
	}
}

static void ipi(struct lit_parser *p, struct lit_insn *i)
{
	i->op = LIT_IPI;
	if (lit_eat(p, "CR3"))
		return;
	lit_expect(p, "INVLPG");
	address(p, i);
}

static bool memory(struct lit_parser *p, struct lit_insn *i, const char *mnemonic)
{
	if (lit_same(mnemonic, "MOV")) {
		mov(p, i);
	} else if (lit_same(mnemonic, "XCHG")) {
		i->op = LIT_SWAP;
		address(p, i);
		lit_expect(p, ",");
		to_register(p, i);
		i->a = (struct lit_operand){ .is_reg = true, .reg = i->rd, .w = i->w };
	} else if (lit_same(mnemonic, "CMPXCHG")) {
		i->op = LIT_CAS;
		address(p, i);
		lit_expect(p, ",");
		operand(p, &i->a);
		i->rd = 0;
		i->w = i->a.w;
	} else if (lit_same(mnemonic, "INVLPG")) {
		i->op = LIT_INVLPG;
		address(p, i);
	} else if (lit_same(mnemonic, "IPI")) {
		ipi(p, i);
	} else {
		return false;
	}
	return true;
}

void lit_x86_insn(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i,
		  const char *mnemonic)
{
	i->order = XORDER_ALL;
	if (memory(p, i, mnemonic))
		return;
	if (lit_same(mnemonic, "MFENCE")) {
		i->op = LIT_MFENCE;
	} else if (lit_same(mnemonic, "NOP")) {
		i->op = LIT_NOP;
	} else if (lit_same(mnemonic, "CMP")) {
		i->op = LIT_CMP;
		operand(p, &i->a);
		lit_expect(p, ",");
		operand(p, &i->b);
	} else if (lit_same(mnemonic, "JMP")) {
		i->op = LIT_B;
		lit_branch_to(p, t, i);
	} else if (lit_same(mnemonic, "JE") || lit_same(mnemonic, "JNE")) {
		i->op = LIT_BCOND;
		i->negated = lit_same(mnemonic, "JNE");
		lit_branch_to(p, t, i);
	} else {
		i->op = LIT_UNSUPPORTED;
		lit_unsupported(p, i->at, "the instruction %s", mnemonic);
	}
}
