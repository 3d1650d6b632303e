/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64: SDM vol. 3A 4.5 (4-level paging), 4.8 (accessed and dirty flags),
 * 4.10 (caching). Four levels, pages of 4 KiB, 2 MiB and 1 GiB.
 *
 *	 63  62       52 51             12 11  9 8 7  6 5  2 1 0
 *	+--+-----------+------------------+-----+-+--+-+----+-+-+-+
 *	|XD|  ignored  |     address      | ign.|G|PS|D|A   |U|W|P|
 *	+--+-----------+------------------+-----+-+--+-+----+-+-+-+
 *
 * XD is ignored: there are no instruction fetches. Bits 51:12 are all address;
 * MAXPHYADDR is what memory there is (a walk to beyond faults).
 */
#include "internal.h"

#define X86_P		(1ULL << 0)
#define X86_W		(1ULL << 1)
#define X86_U		(1ULL << 2)
#define X86_A		(1ULL << 5)
#define X86_D		(1ULL << 6)
#define X86_PS		(1ULL << 7)
#define X86_G		(1ULL << 8)
#define X86_ADDR	0x000ffffffffff000ULL
#define X86_PAT_LARGE	(1ULL << 12)

#define X86_PCID_BITS	12
#define X86_PCID_MASK	0xfffULL

static void x86_init(struct mmu *mmu)
{
	const struct machine_desc *desc = mmu->desc;

	assert(desc->page_shift == 12 && desc->va_bits <= 48);
	mmu->nr_levels = 4;
	mmu->pcid = mmu_feature(desc, "x86.pcid");
	mmu->invpcid = mmu_feature(desc, "x86.invpcid");
	mmu->invlpgb = mmu_feature(desc, "x86.invlpgb");
	mmu->nr_ctx = mmu->pcid ? 1u << X86_PCID_BITS : 1;
}

static void x86_decode(const struct mmu *mmu, u64 word, u32 height,
		       struct mmu_word *w)
{
	bool leaf = height == 0 || (word & X86_PS);
	u64 size = 1ULL << mmu->shift[height];

	memset(w, 0, sizeof(*w));
	if (!(word & X86_P)) {
		w->kind = MMU_WORD_NONE;
		return;
	}
	w->perm = (word & X86_U ? MMU_PERM_USER : 0) |
		  (word & X86_W ? MMU_PERM_WRITE : 0);
	w->pa = word & X86_ADDR;
	w->kind = leaf ? MMU_WORD_LEAF : MMU_WORD_TABLE;
	if (!leaf)
		return;
	if (height)
		w->pa &= ~X86_PAT_LARGE;
	/* A PML4 entry cannot be a page; below a large page's frame: reserved. */
	if (height == 3 || (w->pa & (size - 1))) {
		w->kind = MMU_WORD_BAD;
		return;
	}
	w->global = word & X86_G;
	w->dirty = word & X86_D;
	w->accessed = word & X86_A;
	w->usable = true;
}

static u64 x86_mark_used(const struct mmu *mmu, u64 word,
			 const struct mmu_word *w, bool write)
{
	(void)mmu;
	word |= X86_A;
	if (write && w->kind == MMU_WORD_LEAF)
		word |= X86_D;
	return word;
}

static void drop_page(struct mmu_cpu *c, struct mmu_view *v, u64 va, u64 now_ps)
{
	if (!v)
		return;
	mmu_pull(c, v, now_ps);
	mmu_drop_tlb(c, v, va, va, -1);
	mmu_drop_walk_all(c, v);
	mmu_view_release(c, v);
}

/* All contexts of this CPU; the global entries only if asked. */
static void drop_views(struct mmu_cpu *c, bool global)
{
	struct mmu_view *v, *next;

	for (v = c->views; v; v = next) {
		next = v->next;
		if (v->ctx->id == MMU_CTX_GLOBAL && !global)
			continue;
		mmu_drop_all(c, v);
		mmu_view_release(c, v);
	}
}

static void x86_invpcid(struct mmu_cpu *c, u64 now_ps, u64 va, u64 pcid, u32 type)
{
	struct mmu_view *v;

	assert(c->mmu->invpcid && "INVPCID without x86.invpcid");
	assert(type <= 3);
	if (type >= 2) {
		drop_views(c, type == 2);
		return;
	}
	assert(pcid < c->mmu->nr_ctx && "INVPCID of a PCID while CR4.PCIDE = 0");
	v = mmu_view_of(c, (u32)pcid);
	if (!v)
		return;
	if (type == 0) {
		drop_page(c, v, va, now_ps);
		return;
	}
	mmu_drop_all(c, v);
	mmu_view_release(c, v);
}

static void x86_cr3(struct mmu_cpu *c, u64 now_ps, u64 cr3, bool flush)
{
	u32 pcid = (u32)(cr3 & X86_PCID_MASK);

	assert(c->mmu->pcid || (flush && !pcid));
	mmu_load_root(c, cr3 & X86_ADDR, pcid, now_ps);
	if (flush)
		mmu_drop_all(c, c->cur);
}

static void x86_insn(struct mmu_cpu *c, u64 now_ps, u32 insn, u64 a, u64 b,
		     u32 type)
{
	switch (insn) {
	case MACH_X86_INVLPG:
		assert(c->cur);
		drop_page(c, c->cur, a, now_ps);
		drop_page(c, mmu_view_of(c, MMU_CTX_GLOBAL), a, now_ps);
		break;
	case MACH_X86_INVPCID:
		x86_invpcid(c, now_ps, a, b, type);
		break;
	case MACH_X86_CR3:
	case MACH_X86_CR3_NOFLUSH:
		x86_cr3(c, now_ps, a, insn == MACH_X86_CR3);
		break;
	case MACH_X86_CR4_PGE:
		drop_views(c, true);
		break;
	default:
		assert(!"not a local instruction of this x86");
	}
}

/*
 * INVLPGB: pages of one PCID, or all of it, or everything. Like INVLPG it leaves nothing of the
 * paging-structure caches of the PCID (as long as EFER.TCE is 0).
 */
static bool x86_broadcast(const struct mmu *mmu, u32 insn, u64 a, u64 b, u32 c,
			  struct mmu_op *op)
{
	u64 pages = (c & 0xffff) + 1;
	u32 shift = c & MACH_X86_INVLPGB_PMD ? 21 : 12;

	if (insn != MACH_X86_INVLPGB)
		return false;
	assert(mmu->invlpgb && "INVLPGB without x86.invlpgb");
	memset(op, 0, sizeof(*op));
	op->rec.ttl = -1;
	op->rec.last = ~0ULL;
	op->global = a & MACH_X86_INVLPGB_GLOBAL;
	op->all_ctx = !(a & MACH_X86_INVLPGB_PCID);
	if (!op->all_ctx) {
		op->ctx = (u32)(b >> 16 & X86_PCID_MASK);
		assert(op->ctx < mmu->nr_ctx && "INVLPGB of a PCID while CR4.PCIDE = 0");
	}
	if (a & MACH_X86_INVLPGB_VA) {
		op->rec.start = a & ~0xfffULL;
		op->rec.last = op->rec.start + (pages << shift) - 1;
		op->rec.walk_all = true;
	}
	return true;
}

static u64 x86_next_page(const struct mmu *mmu, u32 insn)
{
	(void)mmu, (void)insn;
	return 0;
}

const struct mmu_arch mmu_arch_x86 = {
	.name = "x86",
	.fault_drops = true,
	.init = x86_init,
	.decode = x86_decode,
	.mark_used = x86_mark_used,
	.insn = x86_insn,
	.broadcast = x86_broadcast,
	.next_page = x86_next_page,
};
