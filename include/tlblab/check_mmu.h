/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page tables for models: entries as the manuals have them, and a table
 * built in one call. Included by <tlblab/check.h>.
 *
 * A model changes entries itself, with mach_store() and mach_rmw() on the word that
 * check_map() or check_entry() gave, and invalidates with the instructions of
 * machine.h. Heights count from the leaves: 0 is the entry of a 4 KiB page, 1 that of a
 * last-level table or a 2 MiB page, 3 the root's.
 *
 *	x86	 63  62       52 51             12 11 9 8 7  6 5 4 3 2 1 0
 *		+--+-----------+------------------+----+-+--+-+-+---+-+-+-+
 *		|XD|  ignored  |     address      |sw  |G|PS|D|A|   |U|W|P|
 *		+--+-----------+------------------+----+-+--+-+-+---+-+-+-+
 *	arm64	 63  55 54  52 51 50 48 47         12 11 10 9 8 7 6 5  2 1 0
 *		+------+------+---+----+-------------+--+--+---+---+----+-+-+
 *		| sw   | XN   |DBM|    |   address   |nG|AF|SH |AP |    |T|V|
 *		+------+------+---+----+-------------+--+--+---+---+----+-+-+
 *
 * Accessed is always set. Clean and writable is D clear on x86; on arm64 it is
 * DBM with AP[2] set, which hardware makes dirty only with { "arm64.hafdbs", "on" }.
 */
#ifndef TLBLAB_CHECK_MMU_H
#define TLBLAB_CHECK_MMU_H

#define CHECK_READ	0x1u
#define CHECK_WRITE	0x2u
#define CHECK_DIRTY	0x4u	/* with WRITE: hardware need not set it */
#define CHECK_HUGE	0x8u	/* a 2 MiB page, at height 1 */
#define CHECK_GLOBAL	0x10u	/* of no address space */
#define CHECK_RW	(CHECK_READ | CHECK_WRITE | CHECK_DIRTY)

#define X86_PTE_P	(1ULL << 0)
#define X86_PTE_W	(1ULL << 1)
#define X86_PTE_U	(1ULL << 2)
#define X86_PTE_A	(1ULL << 5)
#define X86_PTE_D	(1ULL << 6)
#define X86_PTE_PS	(1ULL << 7)
#define X86_PTE_G	(1ULL << 8)

#define ARM64_PTE_VALID	(1ULL << 0)
#define ARM64_PTE_TABLE	(1ULL << 1)	/* at height 0: a page */
#define ARM64_PTE_USER	(1ULL << 6)
#define ARM64_PTE_RO	(1ULL << 7)
#define ARM64_PTE_SH	(3ULL << 8)
#define ARM64_PTE_AF	(1ULL << 10)
#define ARM64_PTE_NG	(1ULL << 11)
#define ARM64_PTE_DBM	(1ULL << 51)

static inline u64 check_x86_leaf(u64 pfn, u32 flags)
{
	return pfn << 12 | X86_PTE_P | X86_PTE_U | X86_PTE_A |
	       (flags & CHECK_WRITE ? X86_PTE_W : 0) |
	       (flags & CHECK_DIRTY ? X86_PTE_D : 0) |
	       (flags & CHECK_HUGE ? X86_PTE_PS : 0) |
	       (flags & CHECK_GLOBAL ? X86_PTE_G : 0);
}

static inline u64 check_arm64_leaf(u64 pfn, u32 flags)
{
	bool clean = !(flags & CHECK_DIRTY);

	return pfn << 12 | ARM64_PTE_VALID | ARM64_PTE_USER | ARM64_PTE_AF |
	       ARM64_PTE_SH | (flags & CHECK_HUGE ? 0 : ARM64_PTE_TABLE) |
	       (flags & CHECK_GLOBAL ? 0 : ARM64_PTE_NG) |
	       (flags & CHECK_WRITE ? ARM64_PTE_DBM : 0) |
	       (!(flags & CHECK_WRITE) || clean ? ARM64_PTE_RO : 0);
}

/* An entry of a page, and one that points to a table, of this architecture. */
static inline u64 check_leaf(u64 pfn, u32 flags)
{
	return check_arch() == CHECK_X86 ? check_x86_leaf(pfn, flags) :
					   check_arm64_leaf(pfn, flags);
}

static inline u64 check_table(u64 pfn)
{
	return check_arch() == CHECK_X86 ?
		       pfn << 12 | X86_PTE_P | X86_PTE_W | X86_PTE_U | X86_PTE_A :
		       pfn << 12 | ARM64_PTE_VALID | ARM64_PTE_TABLE;
}

/* The frame that an entry of either kind names. */
static inline u64 check_pfn(u64 entry)
{
	return (entry & 0x0000fffffffff000ULL) >> 12;
}

/* Does hardware translate through it? The bit is the same on both. */
static inline bool check_present(u64 entry)
{
	return entry & 1;
}

/* A zeroed frame for a table: also a new address space, as its root. */
static inline u64 check_alloc_table(void)
{
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL,
				    MACH_GFP_ZERO | MACH_GFP_TABLE);

	check_assert(pfn != MACH_NO_FRAME);
	return pfn;
}

/*
 * Map va to pfn below root, with what tables it takes, and return the leaf entry.
 * With CHECK_HUGE pfn is the first of 512 and va a multiple of 2 MiB.
 */
static inline u64 *check_map(u64 root, u64 va, u64 pfn, u32 flags)
{
	return check_world()->ops->map(root, va, pfn, flags);
}

/* The entry for va at a height, whatever it holds; NULL if no table has it. */
static inline u64 *check_entry(u64 root, u64 va, u32 height)
{
	return check_world()->ops->entry(root, va, height);
}

/*
 * This CPU runs in the address space from now on. x86: CR3 with asid as
 * PCID, which must be 0 without { "x86.pcid", "on" }, and a flush. arm64: TTBR0, ISB;
 * nothing is flushed.
 */
static inline void check_load_root(u64 root, u64 asid)
{
	if (check_arch() == CHECK_X86) {
		mach_x86_write_cr3(root << 12 | asid);
		return;
	}
	mach_arm64_write_ttbr0(asid << 48 | root << 12);
	mach_fence(MACH_ISB);
}

/* INVLPG, also as the handler of an interrupt. */
static inline void check_x86_flush_one(void *va)
{
	mach_x86_invlpg((u64)va);
}

/* flush_tlb_page(): here, and on the other CPUs of a set by waited interrupts. */
static inline void check_x86_flush_page(u64 cpus, u64 va)
{
	check_x86_flush_one((void *)va);
	mach_ipi(&cpus, check_x86_flush_one, (void *)va, true);
}

/* Operand of a TLBI by address, without a level hint. */
static inline u64 check_tlbi_va(u64 asid, u64 va)
{
	return asid << 48 | ((va >> 12) & 0xfffffffffffULL);
}

#endif
