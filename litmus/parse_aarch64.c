// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions of A64, as far as the catalogue's plain tests use them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <tlblab/machine.h>

#include "explore/world.h"
#include "litmus/parser.h"

int lit_aarch64_register(const char *name, bool *w)
{
	char *end;
	long n;

	*w = toupper((unsigned char)name[0]) == 'W';
	if (!*w && toupper((unsigned char)name[0]) != 'X')
		return -1;
	if (lit_same(name + 1, "ZR"))
		return LIT_ZR;
	n = strtol(name + 1, &end, 10);
	return isdigit((unsigned char)name[1]) && !*end && n < LIT_ZR ? (int)n : -1;
}

/* A register: its number, and whether it is 32 bits of one. */
static bool reg(struct lit_parser *p, u8 *number, bool *w)
{
	char name[LIT_NAME];
	u32 at;
	int r;

	lit_skip(p);
	at = p->at;
	lit_word(p, false, name, sizeof(name));
	r = lit_aarch64_register(name, w);
	if (r < 0)
		return lit_fail(p, at, "expected a register, not \"%s\"", name);
	*number = (u8)r;
	return true;
}

static bool rd(struct lit_parser *p, struct lit_insn *i)
{
	return reg(p, &i->rd, &i->w);
}

/* A register or a number, with # or without. */
static bool operand(struct lit_parser *p, struct lit_operand *o)
{
	char name[LIT_NAME];
	bool w;

	*o = (struct lit_operand){ 0 };
	if (lit_peek_word(p, name, sizeof(name)) && lit_aarch64_register(name, &w) >= 0) {
		o->is_reg = true;
		return reg(p, &o->reg, &o->w);
	}
	lit_eat(p, "#");
	return lit_number(p, &o->imm.num);
}

static bool comma(struct lit_parser *p)
{
	return lit_expect(p, ",");
}

/* ", SXTW": how an index is extended; only by zero places. */
static void extension(struct lit_parser *p)
{
	char extend[LIT_NAME];
	u32 at = p->at;
	s64 places;

	lit_word(p, false, extend, sizeof(extend));
	if (!lit_same(extend, "SXTW") && !lit_same(extend, "UXTW") && !lit_same(extend, "LSL"))
		lit_fail(p, at, "expected SXTW, UXTW or LSL");
	if (lit_eat(p, "#") && lit_number(p, &places) && places)
		lit_unsupported(p, at, "a scaled index");
}

/* [X1], [X1,#8], [X1,X2], [X1,W2,SXTW] */
static void address(struct lit_parser *p, struct lit_insn *i)
{
	lit_expect(p, "[");
	i->base.is_reg = true;
	reg(p, &i->base.reg, &i->base.w);
	if (lit_eat(p, ",")) {
		operand(p, &i->index);
		if (i->index.is_reg && lit_eat(p, ","))
			extension(p);
	}
	lit_expect(p, "]");
	if (lit_peek(p) == ',' || lit_peek(p) == '!')
		i->op = LIT_UNSUPPORTED;
}

/* ------------------------------------------------------- kinds of operands */

static void three(struct lit_parser *p, struct lit_insn *i)
{
	(void)(rd(p, i) && comma(p) && operand(p, &i->a) && comma(p) && operand(p, &i->b));
	if (i->op == LIT_ALU && lit_eat(p, ","))
		extension(p);
}

static void load_store(struct lit_parser *p, struct lit_insn *i)
{
	if (i->op == LIT_LOAD || i->op == LIT_LOAD_EX) {
		rd(p, i);
	} else if (i->op == LIT_STORE_EX) {
		(void)(rd(p, i) && comma(p) && operand(p, &i->a));
	} else if (i->op == LIT_SWAP && i->negated) {
		operand(p, &i->a);
	} else if (i->op == LIT_SWAP) {
		(void)(operand(p, &i->a) && comma(p) && rd(p, i));
	} else if (i->op == LIT_CAS) {
		(void)(rd(p, i) && comma(p) && operand(p, &i->a));
	} else {
		operand(p, &i->a);
	}
	if (comma(p))
		address(p, i);
}

static void conditional(struct lit_parser *p, struct lit_insn *i)
{
	char name[LIT_NAME];
	u32 at;

	lit_skip(p);
	at = p->at;
	lit_word(p, false, name, sizeof(name));
	i->negated = lit_same(name, "NE");
	if (!i->negated && !lit_same(name, "EQ")) {
		lit_unsupported(p, at, "the condition %s", name);
		i->op = LIT_UNSUPPORTED;
	}
}

static void barrier(struct lit_parser *p, struct lit_insn *i)
{
	char name[LIT_NAME];
	size_t n;

	lit_skip(p);
	if (!lit_word(p, false, name, sizeof(name)))
		strcpy(name, "SY");
	n = strlen(name);
	i->local = toupper((unsigned char)name[0]) == 'N';
	i->order = XORDER_ALL;
	if (n >= 2 && lit_same(name + n - 2, "LD"))
		i->order = XORDER_LOADS;
	else if (n >= 2 && lit_same(name + n - 2, "ST"))
		i->order = XORDER_STORES;
	else if (!lit_same(name, "SY") && !lit_same(name, "ISH") && !lit_same(name, "OSH") &&
		 !lit_same(name, "NSH"))
		i->op = LIT_UNSUPPORTED;
}

static void tlbi(struct lit_parser *p, struct lit_insn *i)
{
	static const struct { const char *name; u16 insn; bool operand; } form[] = {
		{ "VAE1IS", MACH_ARM64_TLBI_VAE1IS, true },
		{ "VALE1IS", MACH_ARM64_TLBI_VALE1IS, true },
		{ "VAAE1IS", MACH_ARM64_TLBI_VAAE1IS, true },
		{ "VAALE1IS", MACH_ARM64_TLBI_VAALE1IS, true },
		{ "VMALLE1IS", MACH_ARM64_TLBI_VMALLE1IS, false },
		{ "VAE1", MACH_ARM64_TLBI_VAE1, true },
		{ "VALE1", MACH_ARM64_TLBI_VALE1, true },
		/* There is no user entry but of this ASID. */
		{ "VAAE1", MACH_ARM64_TLBI_VAE1, true },
		{ "VAALE1", MACH_ARM64_TLBI_VALE1, true },
		{ "VMALLE1", MACH_ARM64_TLBI_VMALLE1, false },
	};
	char name[LIT_NAME];

	lit_skip(p);
	lit_word(p, false, name, sizeof(name));
	for (u32 k = 0; k < sizeof(form) / sizeof(form[0]); k++) {
		if (!lit_same(name, form[k].name))
			continue;
		i->tlbi = form[k].insn;
		if (form[k].operand && comma(p))
			operand(p, &i->a);
		return;
	}
	i->op = LIT_UNSUPPORTED;
}

/* ------------------------------------------------------------- mnemonics */

static const struct form {
	const char *name;
	u8 op;
	char alu;
	bool acquire, release, negated;
} forms[] = {
	{ "NOP", LIT_NOP, 0, 0, 0, 0 },
	{ "MOV", LIT_MOV, 0, 0, 0, 0 },
	{ "ADD", LIT_ALU, '+', 0, 0, 0 }, { "SUB", LIT_ALU, '-', 0, 0, 0 },
	{ "AND", LIT_ALU, '&', 0, 0, 0 }, { "EOR", LIT_ALU, '^', 0, 0, 0 },
	{ "ORR", LIT_ALU, '|', 0, 0, 0 }, { "LSR", LIT_ALU, 'r', 0, 0, 0 },
	{ "LSL", LIT_ALU, 'l', 0, 0, 0 },
	{ "CMP", LIT_CMP, 0, 0, 0, 0 }, { "CSEL", LIT_CSEL, 0, 0, 0, 0 },
	{ "CSET", LIT_CSEL, '1', 0, 0, 0 },
	{ "B", LIT_B, 0, 0, 0, 0 },
	{ "B.EQ", LIT_BCOND, 0, 0, 0, 0 }, { "B.NE", LIT_BCOND, 0, 0, 0, 1 },
	{ "CBZ", LIT_CBZ, 0, 0, 0, 0 }, { "CBNZ", LIT_CBZ, 0, 0, 0, 1 },
	{ "LDR", LIT_LOAD, 0, 0, 0, 0 }, { "LDAR", LIT_LOAD, 0, 1, 0, 0 },
	{ "STR", LIT_STORE, 0, 0, 0, 0 }, { "STLR", LIT_STORE, 0, 0, 1, 0 },
	{ "LDXR", LIT_LOAD_EX, 0, 0, 0, 0 }, { "LDAXR", LIT_LOAD_EX, 0, 1, 0, 0 },
	{ "STXR", LIT_STORE_EX, 0, 0, 0, 0 }, { "STLXR", LIT_STORE_EX, 0, 0, 1, 0 },
	{ "SWP", LIT_SWAP, 0, 0, 0, 0 }, { "SWPA", LIT_SWAP, 0, 1, 0, 0 },
	{ "SWPL", LIT_SWAP, 0, 0, 1, 0 }, { "SWPAL", LIT_SWAP, 0, 1, 1, 0 },
	{ "CAS", LIT_CAS, 0, 0, 0, 0 }, { "CASA", LIT_CAS, 0, 1, 0, 0 },
	{ "CASL", LIT_CAS, 0, 0, 1, 0 }, { "CASAL", LIT_CAS, 0, 1, 1, 0 },
	{ "DMB", LIT_DMB, 0, 0, 0, 0 }, { "DSB", LIT_DSB, 0, 0, 0, 0 },
	{ "ISB", LIT_ISB, 0, 0, 0, 0 }, { "TLBI", LIT_TLBI, 0, 0, 0, 0 },
};

static void operands(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i)
{
	switch (i->op) {
	case LIT_MOV:
		(void)(rd(p, i) && comma(p) && operand(p, &i->a));
		break;
	case LIT_ALU:
		three(p, i);
		break;
	case LIT_CMP:
		(void)(operand(p, &i->a) && comma(p) && operand(p, &i->b));
		break;
	case LIT_CSEL:
		if (i->alu) {
			i->a.imm.num = 1;
			rd(p, i);
		} else {
			three(p, i);
		}
		if (comma(p))
			conditional(p, i);
		break;
	case LIT_B:
	case LIT_BCOND:
		lit_branch_to(p, t, i);
		break;
	case LIT_CBZ:
		if (operand(p, &i->a) && comma(p))
			lit_branch_to(p, t, i);
		break;
	case LIT_DMB:
	case LIT_DSB:
		barrier(p, i);
		break;
	case LIT_ISB:
		lit_eat(p, "SY");
		break;
	case LIT_TLBI:
		tlbi(p, i);
		break;
	case LIT_NOP:
		break;
	default:
		load_store(p, i);
	}
}

/* LDADD, LDCLR, LDSET, LDEOR, with A, L or AL; with ST no old value (told by negated). */
static bool atomic(struct lit_insn *i, const char *mnemonic)
{
	static const struct { const char *name; char op; } op[] = {
		{ "ADD", '+' }, { "CLR", 'c' }, { "SET", '|' }, { "EOR", '^' },
	};
	const char *order = mnemonic + 5;

	if (strlen(mnemonic) < 5 || (strncasecmp(mnemonic, "LD", 2) &&
				     strncasecmp(mnemonic, "ST", 2)))
		return false;
	for (u32 k = 0; k < 4; k++)
		if (!strncasecmp(mnemonic + 2, op[k].name, 3))
			i->alu = op[k].op;
	i->op = LIT_SWAP;
	i->negated = toupper((unsigned char)mnemonic[0]) == 'S';
	i->acquire = lit_same(order, "A") || lit_same(order, "AL");
	i->release = lit_same(order, "L") || lit_same(order, "AL");
	return i->alu && (!*order || i->acquire || i->release);
}

void lit_aarch64_insn(struct lit_parser *p, struct lit_thread *t, struct lit_insn *i,
		      const char *mnemonic)
{
	const u32 n = sizeof(forms) / sizeof(forms[0]);
	u32 k;

	for (k = 0; k < n && !lit_same(forms[k].name, mnemonic); k++)
		;
	if (k == n && atomic(i, mnemonic)) {
		operands(p, t, i);
		return;
	}
	i->op = LIT_UNSUPPORTED;
	i->alu = 0;
	if (k < n) {
		i->op = forms[k].op;
		i->alu = forms[k].alu;
		i->acquire = forms[k].acquire;
		i->release = forms[k].release;
		i->negated = forms[k].negated;
		operands(p, t, i);
	}
	if (i->op == LIT_UNSUPPORTED)
		lit_unsupported(p, i->at, "the instruction %.*s",
				(int)strcspn(p->text + i->at, ";|\n"), p->text + i->at);
}
