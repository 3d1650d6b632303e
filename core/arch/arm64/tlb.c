/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64: TLBIs and their barriers. Contract in tlbflush.h. */
#include "tlbflush.h"
#include "mmu_context.h"

KNOB_BOOL(arm64_tlbirange, "arm64.tlbirange", KNOB_HW, 0,
	  "TLBIs by range of pages", "FEAT_TLBIRANGE");
KNOB_BOOL(arm64_ttl, "arm64.ttl", KNOB_HW, 0,
	  "TLBIs by address take a hint of the leaf's level", "FEAT_TTL");
KNOB_BOOL(arm64_repeat_tlbi, "arm64.repeat_tlbi", KNOB_HW, 0,
	  "erratum: a broadcast TLBI and DSB may not wait for all CPUs; do it twice",
	  "ARM64_WORKAROUND_REPEAT_TLBI");
KNOB_ENUM(arm64_repeat_tlbi_style, "arm64.repeat_tlbi_style", KNOB_POLICY,
	  REPEAT_TLBI_DUMMY,
	  "its workaround: none, each TLBI twice, or one more TLBI and DSB at the end",
	  "d9ff80f83ecb (4.11); __repeat_tlbi_sync() of 6.12.117",
	  "none", "double", "dummy");
KNOB_ENUM(arm64_max_tlbi_ops, "arm64.max_tlbi_ops", KNOB_POLICY,
	  MAX_TLBI_OPS_PTRS_PER_PTE,
	  "TLBIs by address in one flush; from so many on, or above 1024, flush the mm",
	  "MAX_TLBI_OPS of asm/tlbflush.h", "ptrs_per_pte", "1024");
KNOB_ENUM(arm64_ttl_freed_tables, "arm64.ttl_freed_tables", KNOB_POLICY,
	  TTL_FREED_TABLES_UNKNOWN,
	  "the level that a TLBI names when tables were freed: of a leaf, or none",
	  "52218fcd61cb (5.14)", "leaf", "unknown");
KNOB_ENUM(arm64_range_overflow_sync, "arm64.range_overflow_sync", KNOB_POLICY,
	  RANGE_OVERFLOW_SYNC_TWICE,
	  "a range flush that became a flush of the mm completes once, or again",
	  "arm64/mm: Split __flush_tlb_range() to elide trailing DSB", "once", "twice");

/*
 * The erratum: a TLBI and the DSB after it can complete before another CPU has
 * finished accesses by the old translation. A second TLBI and DSB wait for them.
 * "double" does that for each operation, "dummy" once for all: the second may be
 * any TLBI.
 */
static bool repeat_tlbi(u32 style)
{
	return knob(arm64_repeat_tlbi) && knob(arm64_repeat_tlbi_style) == style;
}

#define __tlbi(insn, xt)                                                        \
	do {                                                                    \
		mach_insn(insn, xt, 0, 0);                                      \
		if (repeat_tlbi(REPEAT_TLBI_DOUBLE)) {                          \
			mach_fence(MACH_DSB_ISH);                               \
			mach_insn(insn, xt, 0, 0);                              \
		}                                                               \
	} while (0)

/* The same for the ASID that user mode runs under. */
#define __tlbi_user(insn, xt)                                                   \
	do {                                                                    \
		if (knob(arm64_kpti))                                           \
			__tlbi(insn, (xt) | USER_ASID_FLAG);                    \
	} while (0)

/* Wait until all TLBIs of this CPU have been carried out everywhere. */
#define __tlbi_sync_s1ish()                                                     \
	do {                                                                    \
		mach_fence(MACH_DSB_ISH);                                       \
		if (repeat_tlbi(REPEAT_TLBI_DUMMY)) {                           \
			mach_insn(MACH_ARM64_TLBI_VALE1IS, 0, 0, 0);            \
			mach_fence(MACH_DSB_ISH);                               \
		}                                                               \
	} while (0)

/* machine.h draws both operands. */
#define __TLBI_VADDR(addr, asid)                                                \
	((((addr) >> 12) & GENMASK(43, 0)) | (u64)(asid) << 48)
#define __TLBI_RANGE_PAGES(num, scale) ((u64)((num) + 1) << (5 * (scale) + 1))
#define MAX_TLBI_RANGE_PAGES __TLBI_RANGE_PAGES(31, 3)

/* 4K: 1, 16K: 2, 64K: 3 */
static u64 get_trans_granule(void)
{
	return (PAGE_SHIFT - 10) / 2;
}

static u64 tlbi_vaddr(u64 addr, u64 asid, int level)
{
	u64 xt = __TLBI_VADDR(addr, asid);

	if (knob(arm64_ttl) && level >= 0 && level <= 3)
		xt = (xt & ~GENMASK(47, 44)) |
		     (get_trans_granule() << 2 | (u64)level) << 44;
	return xt;
}

/* Level 0 cannot be hinted here: it means none. */
static u64 tlbi_vaddr_range(u64 addr, u64 asid, int scale, int num, int level)
{
	u64 ttl = level >= 1 && level <= 3 ? level : 0;

	return ((addr >> PAGE_SHIFT) & GENMASK(36, 0)) | ttl << 37 | (u64)num << 39 |
	       (u64)scale << 44 | get_trans_granule() << 46 | asid << 48;
}

void local_flush_tlb_all(void)
{
	mach_fence(MACH_DSB_NSHST);
	__tlbi(MACH_ARM64_TLBI_VMALLE1, 0);
	mach_fence(MACH_DSB_NSH);
	mach_fence(MACH_ISB);
}

void flush_tlb_mm(struct mm_struct *mm)
{
	u64 asid;

	mach_fence(MACH_DSB_ISHST);
	asid = __TLBI_VADDR(0UL, ASID(mm));
	__tlbi(MACH_ARM64_TLBI_ASIDE1IS, asid);
	__tlbi_user(MACH_ARM64_TLBI_ASIDE1IS, asid);
	__tlbi_sync_s1ish();
}

static void __flush_tlb_page_nosync(struct mm_struct *mm, u64 uaddr)
{
	u64 addr;

	mach_fence(MACH_DSB_ISHST);
	addr = __TLBI_VADDR(uaddr, ASID(mm));
	__tlbi(MACH_ARM64_TLBI_VALE1IS, addr);
	__tlbi_user(MACH_ARM64_TLBI_VALE1IS, addr);
}

void flush_tlb_page(struct vm_area_struct *vma, u64 uaddr)
{
	__flush_tlb_page_nosync(vma->vm_mm, uaddr);
	__tlbi_sync_s1ish();
}

KNOB_ENUM(arm64_should_defer, "arm64.should_defer", KNOB_POLICY, SHOULD_DEFER_ALWAYS,
	  "when reclaim may defer its flushes: versions of the series, and before it",
	  "43b3dfdd0455 (6.6); thread S4", "never", "mm_cpumask", "ncpus", "no_repeat_tlbi",
	  "always");
KNOB_ENUM(arm64_batched_pending, "arm64.batched_pending", KNOB_POLICY,
	  BATCHED_PENDING_FLUSH_MM,
	  "who finds deferred flushes of others waits by a DSB, or flushes the mm",
	  "4b634918384c (6.16, 6.12.y)", "dsb", "flush_mm");

bool arch_tlbbatch_should_defer(struct mm_struct *mm)
{
	switch (knob(arm64_should_defer)) {
	case SHOULD_DEFER_MM_CPUMASK:
		/* v1: as x86 does. arm64 does not keep the mask, so: never. */
		return cpumask_any_but(mm_cpumask(mm), smp_processor_id());
	case SHOULD_DEFER_NCPUS:
		/* v4. */
		return nr_cpu_ids > 4;
	case SHOULD_DEFER_NO_REPEAT_TLBI:
		/* As merged. */
		return !knob(arm64_repeat_tlbi);
	case SHOULD_DEFER_ALWAYS:
		return true;
	default:
		return false;
	}
}

void arch_tlbbatch_add_pending(struct arch_tlbflush_unmap_batch *batch, struct mm_struct *mm,
			       u64 uaddr)
{
	(void)batch;
	__flush_tlb_page_nosync(mm, uaddr);
}

void arch_tlbbatch_flush(struct arch_tlbflush_unmap_batch *batch)
{
	(void)batch;
	__tlbi_sync_s1ish();
}

void arch_flush_tlb_batched_pending(struct mm_struct *mm)
{
	if (knob(arm64_batched_pending) == BATCHED_PENDING_DSB)
		mach_fence(MACH_DSB_ISH);
	else
		flush_tlb_mm(mm);
}

/* Page by page (or block by block). */
static void flush_by_address(u32 op, u64 start, u64 pages, u64 stride, u64 asid, int level)
{
	for (; pages > 0; pages -= stride >> PAGE_SHIFT, start += stride) {
		u64 addr = tlbi_vaddr(start, asid, level);

		__tlbi(op, addr);
		__tlbi_user(op, addr);
	}
}

/*
 * One range operation covers (num + 1) << (5 * scale + 1) pages, num up to 31. From
 * the largest scale down, the binary digits of pages are taken five at a time;
 * what is left at the end is at most one page. pages <= MAX_TLBI_RANGE_PAGES.
 */
static void flush_by_range(u32 op, u32 rop, u64 start, u64 pages, u64 asid, int level)
{
	for (int scale = 3; scale >= 0 && pages > 1; scale--) {
		u64 most = min(pages, __TLBI_RANGE_PAGES(31, scale));
		int num = (int)(most >> (5 * scale + 1)) - 1;
		u64 addr;

		if (num < 0)
			continue;
		addr = tlbi_vaddr_range(start, asid, scale, num, level);
		__tlbi(rop, addr);
		__tlbi_user(rop, addr);
		start += __TLBI_RANGE_PAGES(num, scale) << PAGE_SHIFT;
		pages -= __TLBI_RANGE_PAGES(num, scale);
	}
	if (pages)
		flush_by_address(op, start, 1, PAGE_SIZE, asid, level);
}

/*
 * Whether to flush the whole mm instead, which bounds the time of a flush: one
 * CPU's burst of TLBIs holds up all the others.
 */
static bool too_many_tlbis(u64 size, u64 stride)
{
	if (size >> PAGE_SHIFT > MAX_TLBI_RANGE_PAGES)
		return true;
	if (knob(arm64_tlbirange))
		return false;
	if (knob(arm64_max_tlbi_ops) == MAX_TLBI_OPS_1024)
		return size > 1024 * stride;
	return size >= kernel()->geo.ptrs_per_pte * stride;
}

void __flush_tlb_range(struct vm_area_struct *vma, u64 start, u64 end, u64 stride,
		       bool last_level, int tlb_level)
{
	u32 op = last_level ? MACH_ARM64_TLBI_VALE1IS : MACH_ARM64_TLBI_VAE1IS;
	u32 rop = last_level ? MACH_ARM64_TLBI_RVALE1IS : MACH_ARM64_TLBI_RVAE1IS;
	u64 asid, pages;

	start = round_down(start, stride);
	end = round_up(end, stride);
	pages = (end - start) >> PAGE_SHIFT;

	if (too_many_tlbis(end - start, stride)) {
		flush_tlb_mm(vma->vm_mm);
		if (knob(arm64_range_overflow_sync) == RANGE_OVERFLOW_SYNC_TWICE)
			__tlbi_sync_s1ish();
		return;
	}

	mach_fence(MACH_DSB_ISHST);
	asid = ASID(vma->vm_mm);
	if (knob(arm64_tlbirange))
		flush_by_range(op, rop, start, pages, asid, tlb_level);
	else
		flush_by_address(op, start, pages, stride, asid, tlb_level);
	__tlbi_sync_s1ish();
}
