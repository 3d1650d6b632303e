// SPDX-License-Identifier: GPL-2.0-or-later
#include "classify.h"
#include "marker.h"

#include <stdbool.h>
#include <string.h>

static const struct insn_class none = { .kind = INSN_NONE };

const char *insn_kind_name(enum insn_kind kind)
{
	static const char *const names[] = {
#define X(id, name) #name,
		INSN_KINDS(X)
#undef X
	};

	return names[kind];
}

enum guest_arch guest_arch_of(const char *target_name)
{
	static const char *const names[] = {
		[GUEST_X86] = "x86_64",
		[GUEST_ARM64] = "aarch64",
		[GUEST_POWERPC] = "ppc64",
	};
	int arch = 0;

	while (arch < GUEST_NR_ARCHS && strcmp(names[arch], target_name))
		arch++;
	return arch;
}

static uint32_t get_le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static struct insn_class kind_of(enum insn_kind kind)
{
	return (struct insn_class){ .kind = kind };
}

static struct insn_class marker_of(uint32_t value, uint64_t va)
{
	if (va >= MARKER_USER_END || (value & MARKER_MAGIC_MASK) != MARKER_MAGIC ||
	    MARKER_OP(value) < MARKER_OPEN || MARKER_OP(value) > MARKER_CLOSE)
		return none;
	return (struct insn_class){ .kind = INSN_MARKER, .marker = value };
}

/* --------------------------------------------------------------------- x86 */

static bool x86_legacy_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 ||
	       b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x64 ||
	       b == 0x65;
}

/* 0f 01 /7: INVLPG with a memory operand, else by the r/m field. */
static struct insn_class x86_group7(uint8_t modrm)
{
	if ((modrm >> 3 & 7) != 7)
		return none;
	if (modrm >> 6 != 3)
		return kind_of(INSN_INVLPG);
	if (modrm == 0xfe)
		return kind_of(INSN_INVLPGB);
	if (modrm == 0xff)
		return kind_of(INSN_X86_TLBSYNC);
	return none;
}

/* 0f 22 /r: the reg field, extended by REX.R, names the control register. */
static struct insn_class x86_mov_to_cr(uint8_t modrm, uint8_t rex)
{
	uint8_t cr = (modrm >> 3 & 7) | (rex & 4) << 1;

	if (cr == 3)
		return kind_of(INSN_CR3);
	if (cr == 4)
		return kind_of(INSN_CR4);
	return none;
}

static struct insn_class classify_x86(const uint8_t *p, size_t len, uint64_t va)
{
	const uint8_t *end = p + len;
	bool osize = false;
	uint8_t rex = 0;
	uint32_t disp;

	for (; p < end && x86_legacy_prefix(*p); p++)
		osize |= *p == 0x66;
	if (p < end && (*p & 0xf0) == 0x40)
		rex = *p++;
	if (end - p < 3 || p[0] != 0x0f)
		return none;
	switch (p[1]) {
	case 0x01:
		return x86_group7(p[2]);
	case 0x22:
		return x86_mov_to_cr(p[2], rex);
	case 0x38:
		if (osize && p[2] == 0x82)
			return kind_of(INSN_INVPCID);
		return none;
	case 0x1f:
		if (end - p != 7 || p[2] != 0x80)
			return none;
		disp = get_le32(p + 3);
		if ((disp & 0xffff0000u) != MARKER_X86_DISP)
			return none;
		return marker_of(disp & 0xffff, va);
	default:
		return none;
	}
}

/* ------------------------------------------------------------------- arm64 */

/* By op2, for the inner-shareable and the local operations on addresses. */
static const enum insn_kind tlbi_is[8] = {
	INSN_VMALLE1IS, INSN_VAE1IS,	INSN_ASIDE1IS,	INSN_VAAE1IS,
	INSN_TLBI_OTHER, INSN_VALE1IS,	INSN_TLBI_OTHER, INSN_VAALE1IS,
};
static const enum insn_kind tlbi_local[8] = {
	INSN_VMALLE1,	INSN_VAE1,	INSN_ASIDE1,	INSN_VAAE1,
	INSN_TLBI_OTHER, INSN_VALE1,	INSN_TLBI_OTHER, INSN_VAALE1,
};
static const enum insn_kind tlbi_range_is[8] = {
	INSN_TLBI_OTHER, INSN_RVAE1IS,	INSN_TLBI_OTHER, INSN_RVAAE1IS,
	INSN_TLBI_OTHER, INSN_RVALE1IS,	INSN_TLBI_OTHER, INSN_RVAALE1IS,
};

/*
 * SYS: op1 in 18:16, CRn in 15:12, CRm in 11:8, op2 in 7:5. CRn 8 is TLBI, 9 is
 * TLBI with nXS (FEAT_XS). CRm gives range and shareability.
 */
static struct insn_class arm64_sys(uint32_t insn)
{
	uint32_t op1 = insn >> 16 & 7, crn = insn >> 12 & 15;
	uint32_t crm = insn >> 8 & 15, op2 = insn >> 5 & 7;

	if (crn != 8 && crn != 9)
		return none;
	if (op1)
		return kind_of(INSN_TLBI_OTHER);
	switch (crm) {
	case 2:
		return kind_of(tlbi_range_is[op2]);
	case 3:
		return kind_of(tlbi_is[op2]);
	case 7:
		return kind_of(tlbi_local[op2]);
	default:
		return kind_of(INSN_TLBI_OTHER);
	}
}

/* DSB by CRm; 0 and 4 are SSBB and PSSBB, which order no invalidation. */
static struct insn_class arm64_dsb(uint32_t crm)
{
	switch (crm) {
	case 0x0:
	case 0x4:
		return none;
	case 0x6:
		return kind_of(INSN_DSB_NSHST);
	case 0x7:
		return kind_of(INSN_DSB_NSH);
	case 0xa:
		return kind_of(INSN_DSB_ISHST);
	case 0xb:
		return kind_of(INSN_DSB_ISH);
	default:
		return kind_of(INSN_DSB_ELSE);
	}
}

static struct insn_class classify_arm64(uint32_t insn, uint64_t va)
{
	if ((insn & 0xfff80000u) == 0xd5080000u)
		return arm64_sys(insn);
	if ((insn & 0xfffff0ffu) == 0xd503309fu)
		return arm64_dsb(insn >> 8 & 15);
	if ((insn & 0xffffffe0u) == 0xd518cba0u) /* msr ICC_SGI1R_EL1, xt */
		return kind_of(INSN_SGI);
	if ((insn & 0xffe0001fu) == MARKER_ARM64_BASE)
		return marker_of(insn >> 5 & 0xffff, va);
	return none;
}

/* ------------------------------------------------------------------- POWER */

/* R in bit 16, PRS in 17, RIC in 19:18, counted from the right. */
static struct insn_class power_tlbie(uint32_t insn, enum insn_kind ric0,
				     enum insn_kind other)
{
	uint32_t r = insn >> 16 & 1, prs = insn >> 17 & 1, ric = insn >> 18 & 3;

	return kind_of(r && prs ? ric0 + ric : other);
}

static struct insn_class classify_power(uint32_t insn, uint64_t va)
{
	if ((insn & 0xffff0000u) == MARKER_POWERPC_BASE)
		return marker_of(insn & 0xffff, va);
	if (insn >> 26 != 31)
		return none;
	switch (insn >> 1 & 0x3ff) {
	case 306:
		return power_tlbie(insn, INSN_TLBIE_RIC0, INSN_TLBIE_OTHER);
	case 274:
		return power_tlbie(insn, INSN_TLBIEL_RIC0, INSN_TLBIEL_OTHER);
	case 566:
		return kind_of(INSN_PPC_TLBSYNC);
	case 598:
		return (insn >> 21 & 7) == 2 ? kind_of(INSN_PTESYNC) : none;
	default:
		return none;
	}
}

struct insn_class classify(enum guest_arch arch, const uint8_t *bytes,
			   size_t len, uint64_t va)
{
	if (arch == GUEST_X86)
		return classify_x86(bytes, len, va);
	if (len != 4)
		return none;
	if (arch == GUEST_ARM64)
		return classify_arm64(get_le32(bytes), va);
	return classify_power(get_le32(bytes), va);
}
