/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER radix: Power ISA v3.1B III 6.7 (process table, radix tree), 6.9.3.3 (tlbie,
 * tlbiel), 6.9.3.2 (slbia). One partition, process-scoped translation, user
 * accesses; pages of 4 KiB or 64 KiB, 2 MiB, 1 GiB; trees of 52 bits in four levels
 * of 13, 9, 9, and 9 or 5 bits.
 *
 * Bit numbers from the right. A process-table entry (16 bytes, the first word), an
 * entry that leads to a table, and a leaf:
 *
 *	 63 62  61 60 59                          8 7     5 4         0
 *	+--+------+--+-----------------------------+-------+-----------+
 *	| 0| RTS  | 0|       root of the tree      |  RTS  |  RPDS     |
 *	|V |0 | 0 | 0|       next level's base     |   0   |  NLS      |
 *	|V |L |sw |       | real page 56:12 | sw | R C 0 att P r w x    |
 *	+--+------+--+-----------------------------+-------+-----------+
 *	RTS + 31: bits of the tree	RPDS, NLS: log2 of the entries of that table
 *
 * The order of bytes is the host's. Hardware marks R and C by an atomic update.
 * An entry that is valid is cached even if it grants nothing; before hardware refuses
 * an access, it reads the entry again.
 *
 * A process-table entry is read when its PID is loaded, not cached beyond that.
 *
 * Operands: RB has the address and AP (bits 7:5), or IS (bits 11:10: 0 by address,
 * 1 by PID, 3 all) and for tlbiel the congruence class (bits 23:12); RS has the PID in
 * 63:32. RIC: 0 translations, 1 walk caches, 2 both. Walk caches go by PID only.
 * A tlbiel by PID drops one of 128 classes of the L2 TLB, or all with
 * powerpc.isa31, and never the L1 (the ERAT): slbia drops that. By address, and by
 * tlbie, both go.
 *
 * H_RPT_INVALIDATE: a, b first byte and the one after the last, 0 and ~0 for all; c:
 * PID in 19:0, page sizes in 23:20 (all of the range goes here), type in 27:24
 * (2 translations, 4 walk caches), target in 30:28.
 *
 * Ignored: execute permission (no fetches), attributes, storage keys.
 */
#include "internal.h"

#define PPC_V		(1ULL << 63)
#define PPC_LEAF	(1ULL << 62)
#define PPC_RPN		0x01fffffffffff000ULL
#define PPC_R		(1ULL << 8)
#define PPC_C		(1ULL << 7)
#define PPC_PRIVILEGED	(1ULL << 3)
#define PPC_READ	(1ULL << 2)
#define PPC_READ_WRITE	(1ULL << 1)
#define PPC_BASE	0x0fffffffffffff00ULL	/* of a table */
#define PPC_SIZE	0x1fULL			/* of a table, log2 of its entries */
#define PPC_RESERVED	((1ULL << 60) | 0xe0ULL) /* of a table's entry */

#define TREE_BITS	52
#define ROOT_BITS	13
#define P9_CLASSES	128

#define RB_IS(rb)	((rb) >> 10 & 3)
#define RB_CLASS(rb)	((rb) >> 12 & 0xfff)
#define RB_AP(rb)	((rb) >> 5 & 7)
#define RIC(c)		((c) & 3)

static void powerpc_init(struct mmu *mmu)
{
	const struct machine_desc *desc = mmu->desc;

	assert((desc->page_shift == 12 || desc->page_shift == 16) &&
	       desc->va_bits == TREE_BITS);
	assert(desc->asid_bits >= 8 && desc->asid_bits <= 20);
	mmu->nr_levels = 4;
	mmu->isa31 = mmu_feature(desc, "powerpc.isa31");
	mmu->hcall_ceiling = mmu_feature_number(desc, "powerpc.hcall_ceiling", 33);
	mmu->nr_ctx = 1u << desc->asid_bits;
}

static u32 powerpc_index_bits(const struct mmu *mmu, u32 height)
{
	if (height == 0)
		return 21 - mmu->page_shift;
	return height == 3 ? ROOT_BITS : 9;
}

/* ---- entries ---- */

static void decode_leaf(const struct mmu *mmu, u64 word, u32 height,
			struct mmu_word *w)
{
	w->pa = word & PPC_RPN;
	if (height == 3 || (w->pa & ((1ULL << mmu->shift[height]) - 1))) {
		w->kind = MMU_WORD_BAD;
		return;
	}
	w->kind = MMU_WORD_LEAF;
	if (!(word & PPC_PRIVILEGED)) {
		w->perm = word & (PPC_READ | PPC_READ_WRITE) ? MMU_PERM_USER : 0;
		w->perm |= word & PPC_READ_WRITE ? MMU_PERM_WRITE : 0;
	}
	w->dirty = word & PPC_C;
	w->accessed = word & PPC_R;
	w->usable = true;
}

static void powerpc_decode(const struct mmu *mmu, u64 word, u32 height,
			   struct mmu_word *w)
{
	memset(w, 0, sizeof(*w));
	if (!(word & PPC_V)) {
		w->kind = MMU_WORD_NONE;
	} else if (word & PPC_LEAF) {
		decode_leaf(mmu, word, height, w);
	} else if (!height || (word & PPC_RESERVED) ||
		   (word & PPC_SIZE) != powerpc_index_bits(mmu, height - 1)) {
		/* The last level has leaves only; sizes are those of this tree. */
		w->kind = MMU_WORD_BAD;
	} else {
		w->kind = MMU_WORD_TABLE;
		w->pa = word & PPC_BASE;
		w->perm = MMU_PERM_ALL;
	}
}

static u64 powerpc_mark_used(const struct mmu *mmu, u64 word,
			     const struct mmu_word *w, bool write)
{
	(void)mmu;
	if (w->kind != MMU_WORD_LEAF)
		return word;
	return word | PPC_R | (write ? PPC_C : 0);
}

/* The root of a PID's tree; where no memory is, if it has none. */
static u64 process_root(const struct mmu *mmu, u32 pid)
{
	u64 nowhere = mmu->memory_bytes, word, rts;

	if (pid >= mmu->prtb_entries ||
	    mmu->prtb + 16 * ((u64)pid + 1) > mmu->memory_bytes)
		return nowhere;
	word = __atomic_load_n((u64 *)(void *)(mmu->phys_base + mmu->prtb + 16ULL * pid),
			       __ATOMIC_RELAXED);
	rts = (word >> 61 & 3) << 3 | (word >> 5 & 7);
	if (rts + 31 != TREE_BITS || (word & PPC_SIZE) != ROOT_BITS) {
		MARK(mmu_walk_reserved);
		return nowhere;
	}
	return word & PPC_BASE;
}

/* ---- invalidation ---- */

static u32 pid_of(const struct mmu *mmu, u64 rs)
{
	u64 pid = rs >> 32;

	assert(pid < mmu->nr_ctx);
	return (u32)pid;
}

/* Of pages of AP's size. The 4 KiB and 64 KiB are heights of different trees. */
static int height_of_ap(const struct mmu *mmu, u32 ap)
{
	switch (ap) {
	case 0: return mmu->page_shift == 12 ? 0 : -1;
	case 5: return mmu->page_shift == 16 ? 0 : -1;
	case 1: return 1;
	case 2: return 2;
	default:
		assert(!"no such page size");
		return -1;
	}
}

static void op_nothing(struct mmu_op *op)
{
	op->rec.start = ~0ULL;
	op->rec.last = 0;
	op->rec.ttl = -1;
	op->rec.leaf_only = true;
}

/* By address, RIC = 0: the page of AP's size. */
static void decode_va(const struct mmu *mmu, u64 rb, u64 rs, struct mmu_op *op)
{
	int height = height_of_ap(mmu, RB_AP(rb));

	op->ctx = pid_of(mmu, rs);
	if (height < 0) {
		op->none = true;
		return;
	}
	op->rec.start = rb & ~((1ULL << mmu->shift[height]) - 1);
	op->rec.last = op->rec.start + (1ULL << mmu->shift[height]) - 1;
	op->rec.ttl = (s8)height;
	op->rec.leaf_only = true;
}

/* By PID, or all of the partition. */
static void decode_pid(const struct mmu *mmu, u64 rb, u64 rs, u32 ric,
		       struct mmu_op *op)
{
	if (RB_IS(rb) == 3)
		op->all_ctx = true;
	else
		op->ctx = pid_of(mmu, rs);
	if (ric != 1) {
		op->rec.start = 0;
		op->rec.last = ~0ULL;
	}
	if (ric != 0) {
		op->rec.leaf_only = false;
		op->rec.walk_all = true;
	}
}

static void decode_tlbie(const struct mmu *mmu, u64 rb, u64 rs, u32 c,
			 struct mmu_op *op)
{
	memset(op, 0, sizeof(*op));
	assert(c >> 4 == 0x11 && "not process-scoped radix");
	assert(RIC(c) <= 2 && RB_IS(rb) != 2);
	op_nothing(op);
	if (RB_IS(rb)) {
		decode_pid(mmu, rb, rs, RIC(c), op);
	} else {
		assert(RIC(c) == 0 && "walk caches are dropped by PID");
		decode_va(mmu, rb, rs, op);
	}
}

const u32 mmu_hcall_shift[4] = { 12, 16, 21, 30 };

bool mmu_hcall_drops_pid(const struct mmu *mmu, u64 start, u64 end, u32 c)
{
	if (start == 0 && end == ~0ULL)
		return true;
	for (u32 i = 0; i < 4; i++)
		if ((c >> (20 + i) & 1) &&
		    (end - start) >> mmu_hcall_shift[i] > mmu->hcall_ceiling)
			return true;
	return false;
}

static void decode_hcall(const struct mmu *mmu, u64 start, u64 end, u32 c,
			 struct mmu_op *op)
{
	u32 type = c >> 24 & 0xf;

	memset(op, 0, sizeof(*op));
	op->ctx = c & 0xfffff;
	assert(op->ctx < mmu->nr_ctx);
	op_nothing(op);
	if ((type & 2) && end > start) {
		op->rec.start = start;
		op->rec.last = end - 1;
		if (mmu_hcall_drops_pid(mmu, start, end, c)) {
			op->rec.start = 0;
			op->rec.last = ~0ULL;
		}
	}
	if (type & 4) {
		op->rec.leaf_only = false;
		op->rec.walk_all = true;
	}
}

static bool powerpc_broadcast(const struct mmu *mmu, u32 insn, u64 a, u64 b,
			      u32 c, struct mmu_op *op)
{
	if (insn == MACH_PPC_TLBIE)
		decode_tlbie(mmu, a, b, c, op);
	else if (insn == MACH_PPC_H_RPT_INVALIDATE)
		decode_hcall(mmu, a, b, c, op);
	else
		return false;
	return true;
}

/* Entries of v in the sets of one congruence class, or in all. */
static void drop_class(struct mmu_cpu *cpu, struct mmu_view *v, u32 class)
{
	u32 id = cpu->array[MMU_L2].n ? MMU_L2 : MMU_L1;
	struct mmu_array *a = &cpu->array[id];
	u32 step = cpu->mmu->isa31 ? 1 : P9_CLASSES;

	for (u32 set = class; set < a->sets && v->live[id]; set += step) {
		for (u32 way = 0; way < a->ways; way++) {
			const struct mmu_entry *e = &a->e[set * a->ways + way];

			if (e->tag == v->tag)
				mmu_drop_in(cpu, id, v, e->key);
		}
	}
}

static void tlbiel_class(struct mmu_cpu *cpu, u64 now_ps, u64 rb, u64 rs, u32 ric)
{
	u32 class = RB_CLASS(rb);
	struct mmu_view *v, *next;
	u32 pid = RB_IS(rb) == 3 ? 0 : pid_of(cpu->mmu, rs);

	assert(class < (cpu->mmu->isa31 ? 1 : P9_CLASSES));
	for (v = cpu->views; v; v = next) {
		next = v->next;
		if (RB_IS(rb) != 3 && v->ctx->id != pid)
			continue;
		mmu_pull(cpu, v, now_ps);
		if (ric != 1)
			drop_class(cpu, v, class);
		if (ric != 0)
			mmu_drop_walk_all(cpu, v);
		mmu_view_release(cpu, v);
	}
}

static void tlbiel(struct mmu_cpu *cpu, u64 now_ps, u64 rb, u64 rs, u32 c)
{
	struct mmu_op op;

	decode_tlbie(cpu->mmu, rb, rs, c, &op);
	if (RB_IS(rb))
		tlbiel_class(cpu, now_ps, rb, rs, RIC(c));
	else if (op.none)
		MARK(mmu_op_void);
	else
		mmu_apply_local(cpu, now_ps, &op);
}

/* IH = 3: the ERAT's entries of user mode; all that there are here. */
static void slbia(struct mmu_cpu *cpu, u64 now_ps)
{
	struct mmu_view *v, *next;

	for (v = cpu->views; v; v = next) {
		next = v->next;
		mmu_pull(cpu, v, now_ps);
		for (u32 id = MMU_L1; id <= MMU_L1_HUGE; id++) {
			struct mmu_array *a = &cpu->array[id];

			for (u32 i = 0; i < a->n && v->live[id]; i++)
				if (a->e[i].tag == v->tag)
					mmu_drop_in(cpu, id, v, a->e[i].key);
		}
		mmu_view_release(cpu, v);
	}
}

static void powerpc_insn(struct mmu_cpu *cpu, u64 now_ps, u32 insn, u64 a, u64 b,
			 u32 c)
{
	struct mmu *mmu = cpu->mmu;

	switch (insn) {
	case MACH_PPC_PID:
		assert(a < mmu->nr_ctx);
		mmu_load_root(cpu, process_root(mmu, (u32)a), (u32)a, now_ps);
		break;
	case MACH_PPC_PRTB:
		/* Base in 59:12; the table has 1 << (12 + the low five bits) bytes. */
		mmu->prtb = a & 0x0ffffffffffff000ULL;
		mmu->prtb_entries = 1ULL << (12 + (a & 0x1f) - 4);
		break;
	case MACH_PPC_TLBIEL:
		tlbiel(cpu, now_ps, a, b, c);
		break;
	case MACH_PPC_SLBIA:
		slbia(cpu, now_ps);
		break;
	default:
		assert(!"not a local instruction of POWER");
	}
}

/* Not merged: the PID is in another operand. */
static u64 powerpc_next_page(const struct mmu *mmu, u32 insn)
{
	(void)mmu, (void)insn;
	return 0;
}

const struct mmu_arch mmu_arch_powerpc = {
	.name = "powerpc",
	.fault_drops = false,
	.refetch = true,
	.init = powerpc_init,
	.index_bits = powerpc_index_bits,
	.decode = powerpc_decode,
	.mark_used = powerpc_mark_used,
	.insn = powerpc_insn,
	.broadcast = powerpc_broadcast,
	.next_page = powerpc_next_page,
};
