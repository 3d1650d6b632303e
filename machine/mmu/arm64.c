/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: Arm ARM D8.3 (descriptors), D8.4 (permissions), D8.5 (access flag and
 * dirty state), D8.14 and C5.5 (TLBI). Stage 1, TTBR0, EL0 accesses; granules of
 * 4 KiB and 64 KiB with VAs of any number of bits up to 48.
 *
 *	 63  59 58 55 54 53 52 51 50 48 47         12 11 10 9 8 7  6  5 2 1 0
 *	+------+-----+--+--+--+--+-----+-------------+--+--+---+-----+---+---+
 *	| attr | sw  |XN|XN|C |DBM| RES|   address   |nG|AF|SH |AP2:1|...|typ|
 *	+------+-----+--+--+--+--+-----+-------------+--+--+---+-----+---+---+
 *
 * typ: 3 is a table, or at the last level a page; 1 is a block, at Arm levels 1
 * and 2 (64 KiB granule: 2 only). AP[1] lets EL0 in; AP[2] forbids writes; DBM
 * with AP[2] set is "writable, clean" when hardware manages dirty state.
 *
 * Ignored: execute permissions (no fetches), the contiguous hint, and the
 * hierarchical permissions of table descriptors (APTable, bits 62:61), which
 * Linux leaves zero; a set APTable is taken for a bad descriptor, so that it
 * cannot be overlooked.
 */
#include "internal.h"

#define ARM_TYPE_MASK	3ULL
#define ARM_TYPE_TABLE	3ULL	/* or a page */
#define ARM_AP_USER	(1ULL << 6)
#define ARM_AP_RDONLY	(1ULL << 7)
#define ARM_AF		(1ULL << 10)
#define ARM_NG		(1ULL << 11)
#define ARM_DBM		(1ULL << 51)
#define ARM_APTABLE	(3ULL << 61)
#define ARM_ADDR	0x0000fffffffff000ULL

#define TTBR_ROOT	0x0000fffffffffffeULL

static void arm64_init(struct mmu *mmu)
{
	const struct machine_desc *desc = mmu->desc;
	u32 bits = desc->page_shift - 3;

	assert((desc->page_shift == 12 || desc->page_shift == 16) &&
	       desc->va_bits <= 48);
	assert(desc->asid_bits == 8 || desc->asid_bits == 16);
	mmu->nr_levels = (desc->va_bits - desc->page_shift + bits - 1) / bits;
	mmu->hafdbs = mmu_feature(desc, "arm64.hafdbs");
	mmu->has_ttl = mmu_feature(desc, "arm64.ttl");
	mmu->tlbirange = mmu_feature(desc, "arm64.tlbirange");
	mmu->nr_ctx = 1u << desc->asid_bits;
}

/* ---- descriptors ---- */

/* Heights at which a block may be: 1 and 2 (4 KiB), 1 (64 KiB). */
static bool block_allowed(const struct mmu *mmu, u32 height)
{
	return height == 1 || (height == 2 && mmu->page_shift == 12);
}

static void decode_leaf(const struct mmu *mmu, u64 word, u32 height,
			struct mmu_word *w)
{
	bool writable = !(word & ARM_AP_RDONLY);

	w->kind = MMU_WORD_LEAF;
	w->pa = word & ARM_ADDR & ~((1ULL << mmu->shift[height]) - 1);
	w->dirty = writable;
	if (mmu->hafdbs && (word & ARM_DBM))
		writable = true;
	w->perm = (word & ARM_AP_USER ? MMU_PERM_USER : 0) |
		  (writable ? MMU_PERM_WRITE : 0);
	w->global = !(word & ARM_NG);
	w->accessed = word & ARM_AF;
	w->usable = w->accessed || mmu->hafdbs;
}

static void arm64_decode(const struct mmu *mmu, u64 word, u32 height,
			 struct mmu_word *w)
{
	u64 type = word & ARM_TYPE_MASK;

	memset(w, 0, sizeof(*w));
	if (!(type & 1)) {
		w->kind = MMU_WORD_NONE;
	} else if (type == ARM_TYPE_TABLE && height) {
		w->kind = word & ARM_APTABLE ? MMU_WORD_BAD : MMU_WORD_TABLE;
		w->pa = word & ARM_ADDR & ~((1ULL << mmu->page_shift) - 1);
		w->perm = MMU_PERM_ALL;
	} else if (type == ARM_TYPE_TABLE || block_allowed(mmu, height)) {
		decode_leaf(mmu, word, height, w);
	} else {
		MARK(mmu_walk_reserved);
		w->kind = MMU_WORD_NONE;	/* as if invalid */
	}
}

/* FEAT_HAFDBS. Called only if the access is permitted. */
static u64 arm64_mark_used(const struct mmu *mmu, u64 word,
			   const struct mmu_word *w, bool write)
{
	if (w->kind != MMU_WORD_LEAF || !mmu->hafdbs)
		return word;
	word |= ARM_AF;
	if (write && (word & ARM_DBM))
		word &= ~ARM_AP_RDONLY;
	return word;
}

/* ---- TLBI operands ---- */

/* Sign-extend from bit n. */
static u64 sext(u64 x, u32 n)
{
	u64 sign = 1ULL << n;

	return ((x & ((sign << 1) - 1)) ^ sign) - sign;
}

/* TG of an operand: 1 is 4 KiB, 2 is 16 KiB, 3 is 64 KiB. */
static u32 granule_code(const struct mmu *mmu)
{
	return mmu->page_shift == 12 ? 1 : 3;
}

static u32 asid_of(const struct mmu *mmu, u64 xt)
{
	return (u32)(xt >> 48) & (mmu->nr_ctx - 1);
}

/* Of one page: Xt[47:44] is the level hint, if TG is not zero. */
static void decode_va(const struct mmu *mmu, u64 xt, struct mmu_op *op)
{
	u64 size = 1ULL << mmu->page_shift;
	u32 ttl = xt >> 44 & 0xf;

	op->rec.start = sext(xt << 12, 55) & ~(size - 1);
	op->rec.last = op->rec.start + size - 1;
	op->rec.ttl = -1;
	if (!ttl)
		return;
	assert(mmu->has_ttl && "TTL without arm64.ttl");
	if (!(ttl >> 2))
		return;		/* no granule: no hint */
	if (ttl >> 2 != granule_code(mmu))
		op->none = true;	/* no leaf is of that granule */
	else if (ttl & 3)
		op->rec.ttl = (s8)(3 - (ttl & 3));
}

static void decode_range(const struct mmu *mmu, u64 xt, struct mmu_op *op)
{
	u32 shift = mmu->page_shift;
	u32 tg = xt >> 46 & 3, scale = xt >> 44 & 3, num = xt >> 39 & 0x1f;
	u32 ttl = xt >> 37 & 3;
	u64 pages = (u64)(num + 1) << (5 * scale + 1);

	assert(mmu->tlbirange && "range TLBI without arm64.tlbirange");
	op->rec.start = sext(xt, 36) << shift;
	op->rec.last = op->rec.start + (pages << shift) - 1;
	op->rec.ttl = -1;
	if (tg != granule_code(mmu)) {
		op->none = true;
		return;
	}
	if (!ttl)
		return;
	op->rec.ttl = (s8)(3 - ttl);
	/* A base that no such leaf can start at: nothing need be dropped. */
	if (3 - ttl >= mmu->nr_levels ||
	    (op->rec.start & ((1ULL << mmu->shift[3 - ttl]) - 1)))
		op->none = true;
}

enum { OP_LEAF = 1, OP_RANGE = 2, OP_ANY_ASID = 4, OP_WHOLE = 8, OP_LOCAL = 16 };

static int op_shape(u32 insn)
{
	switch (insn) {
	case MACH_ARM64_TLBI_VAE1IS:	return 0;
	case MACH_ARM64_TLBI_VALE1IS:	return OP_LEAF;
	case MACH_ARM64_TLBI_VAAE1IS:	return OP_ANY_ASID;
	case MACH_ARM64_TLBI_VAALE1IS:	return OP_ANY_ASID | OP_LEAF;
	case MACH_ARM64_TLBI_ASIDE1IS:	return OP_WHOLE;
	case MACH_ARM64_TLBI_VMALLE1IS:	return OP_WHOLE | OP_ANY_ASID;
	case MACH_ARM64_TLBI_RVAE1IS:	return OP_RANGE;
	case MACH_ARM64_TLBI_RVALE1IS:	return OP_RANGE | OP_LEAF;
	case MACH_ARM64_TLBI_VAE1:	return OP_LOCAL;
	case MACH_ARM64_TLBI_VALE1:	return OP_LOCAL | OP_LEAF;
	case MACH_ARM64_TLBI_ASIDE1:	return OP_LOCAL | OP_WHOLE;
	case MACH_ARM64_TLBI_VMALLE1:	return OP_LOCAL | OP_WHOLE | OP_ANY_ASID;
	default:			return -1;
	}
}

/*
 * Global entries match an operation by address whatever its ASID, and
 * VMALL, but not ASIDE1.
 */
static void decode_op(const struct mmu *mmu, int shape, u64 xt,
		      struct mmu_op *op)
{
	memset(op, 0, sizeof(*op));
	op->ctx = asid_of(mmu, xt);
	op->all_ctx = shape & OP_ANY_ASID;
	op->global = !(shape & OP_WHOLE) || (shape & OP_ANY_ASID);
	op->rec.leaf_only = shape & OP_LEAF;
	if (shape & OP_WHOLE) {
		op->rec.last = ~0ULL;
		op->rec.ttl = -1;
	} else if (shape & OP_RANGE) {
		decode_range(mmu, xt, op);
	} else {
		decode_va(mmu, xt, op);
	}
}

static bool arm64_broadcast(const struct mmu *mmu, u32 insn, u64 a, u64 b,
			    u32 c, struct mmu_op *op)
{
	int shape = op_shape(insn);

	(void)b, (void)c;
	if (shape < 0 || (shape & OP_LOCAL))
		return false;
	decode_op(mmu, shape, a, op);
	return true;
}

static void arm64_insn(struct mmu_cpu *cpu, u64 now_ps, u32 insn, u64 a, u64 b,
		       u32 c)
{
	int shape = op_shape(insn);
	struct mmu_op op;

	(void)b, (void)c;
	if (insn == MACH_ARM64_TTBR0) {
		mmu_load_root(cpu, a & TTBR_ROOT, asid_of(cpu->mmu, a), now_ps);
		return;
	}
	assert(shape >= 0 && (shape & OP_LOCAL) &&
	       "not a local instruction of arm64");
	decode_op(cpu->mmu, shape, a, &op);
	if (op.none)
		MARK(mmu_op_void);
	else
		mmu_apply_local(cpu, now_ps, &op);
}

static u64 arm64_next_page(const struct mmu *mmu, u32 insn)
{
	if (insn != MACH_ARM64_TLBI_VAE1IS && insn != MACH_ARM64_TLBI_VALE1IS)
		return 0;
	return 1ULL << (mmu->page_shift - 12);
}

const struct mmu_arch mmu_arch_arm64 = {
	.name = "arm64",
	.fault_drops = false,
	.init = arm64_init,
	.decode = arm64_decode,
	.mark_used = arm64_mark_used,
	.insn = arm64_insn,
	.broadcast = arm64_broadcast,
	.next_page = arm64_next_page,
};
