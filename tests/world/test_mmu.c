/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What TLBs and walk caches may hold: small shapes on page tables made by hand. Thread
 * 0 is the kernel that changes an entry and says so by y = 1; thread 1 sees y and then
 * loads through the MMU. r[0]: y seen. r[1]: 1 the old page, 2 the new, 9 a fault.
 */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define ASID (1ULL << 48)
#define TLBI(op, va) mach_arm64_tlbi(op, ASID | (va) >> 12)
#define PTE shape_entry(v->pte, 1)
#define PMD shape_entry(v->pmd, 1)
#define NEW_PAGE mach_store(PTE, shape_page_entry(v->new, true), MACH_RELAXED)
#define NEW_TABLE mach_store(PMD, shape_table_entry(v->pte2), MACH_RELAXED)
#define SAY mach_store(shape_y, 1, MACH_RELEASE)

static void use(void)
{
	v->r[0] = mach_load(shape_y, MACH_ACQUIRE);
	v->r[1] = shape_load(SHAPE_VA);
}

static struct seen look(enum xarch arch, void (*kernel)(void), void (*user)(void))
{
	struct shape s = {
		.arch = arch, .tables = true, .bound = 3, .thread = { kernel, user },
	};
	struct seen seen;

	shape_run(&s, &seen);
	return seen;
}

static bool sees(enum xarch arch, void (*kernel)(void), u32 out)
{
	struct seen seen = look(arch, kernel, use);

	assert_int_equal(seen.rule, XRULE_NONE);
	return shape_saw(&seen, out);
}

/* ---- x86 ---- */

static void invlpg(void *info)
{
	mach_x86_invlpg((u64)(uintptr_t)info);
}

static void invlpg_others(u64 va)
{
	u64 all = ~0ULL;

	mach_ipi(&all, invlpg, (void *)(uintptr_t)va, true);
}

static void x86_remap(void) { NEW_PAGE; SAY; }
static void x86_remap_local(void) { NEW_PAGE; mach_x86_invlpg(SHAPE_VA); SAY; }
static void x86_remap_ipi(void) { NEW_PAGE; invlpg_others(SHAPE_VA); SAY; }
static void x86_remap_early(void) { invlpg_others(SHAPE_VA); NEW_PAGE; SAY; }
static void x86_remap_other(void) { NEW_PAGE; invlpg_others(SHAPE_VA + 4096); SAY; }

static void test_x86_invlpg(void **state)
{
	(void)state;
	assert_true(sees(XARCH_X86, x86_remap, 11));
	assert_true(sees(XARCH_X86, x86_remap, 21));
	assert_true(sees(XARCH_X86, x86_remap_local, 11));
	assert_false(sees(XARCH_X86, x86_remap_ipi, 11));
	assert_true(sees(XARCH_X86, x86_remap_ipi, 10));
	assert_true(sees(XARCH_X86, x86_remap_early, 11));
	assert_true(sees(XARCH_X86, x86_remap_other, 11));
}

/* Another table: walk caches go with any INVLPG, the leaf only with its own. */
static void x86_table(void) { NEW_TABLE; SAY; }
static void x86_table_other(void) { NEW_TABLE; invlpg_others(SHAPE_VA + 4096); SAY; }
static void x86_table_own(void) { NEW_TABLE; invlpg_others(SHAPE_VA); SAY; }

static void test_x86_walk_cache(void **state)
{
	(void)state;
	assert_true(sees(XARCH_X86, x86_table, 11));
	assert_true(sees(XARCH_X86, x86_table_other, 11));
	assert_false(sees(XARCH_X86, x86_table_own, 11));
}

/*
 * The leaf under the unhooked table changes after the flush of another page, so only
 * a walk cache could lead to it, and that is gone.
 */
static void x86_table_other_late(void)
{
	NEW_TABLE;
	invlpg_others(SHAPE_VA + 4096);
	mach_store(shape_entry(v->pte, 1), shape_page_entry(v->new, true) & ~2ULL,
		   MACH_RELAXED);
	mach_store(shape_entry(v->new, 0), 3, MACH_RELAXED);
	mach_store(shape_entry(v->pte2, 1), shape_page_entry(v->old, true), MACH_RELAXED);
	SAY;
}
/* The same with no flush at all: a cached PMD entry leads to it. */
static void x86_table_late(void)
{
	NEW_TABLE;
	mach_store(shape_entry(v->pte, 1), shape_page_entry(v->new, true) & ~2ULL,
		   MACH_RELAXED);
	mach_store(shape_entry(v->new, 0), 3, MACH_RELAXED);
	mach_store(shape_entry(v->pte2, 1), shape_page_entry(v->old, true), MACH_RELAXED);
	SAY;
}
static void store(void)
{
	u64 val = 7;

	v->r[0] = mach_load(shape_y, MACH_ACQUIRE);
	v->r[1] = mach_env()->ops->user_access(SHAPE_VA, true, &val) ? 9 : 7;
}

static void test_x86_walk_cache_late(void **state)
{
	struct seen seen;

	(void)state;
	/* Through pte2 frame new could be cached, too, writable; so look at rights. */
	seen = look(XARCH_X86, x86_table_late, store);
	assert_int_equal(seen.rule, XRULE_NONE);
	seen = look(XARCH_X86, x86_table_late, use);
	assert_true(shape_saw(&seen, 31));
	seen = look(XARCH_X86, x86_table_other_late, use);
	assert_true(shape_saw(&seen, 11));
}

/* A write through a clean entry looks at the table first, and faults there. */
static void x86_unmap(void) { mach_rmw(PTE, MACH_XCHG, 0, 0, MACH_FULL); SAY; }
static void test_x86_dirty(void **state)
{
	struct seen seen;

	(void)state;
	seen = look(XARCH_X86, x86_unmap, store);
	/* Dirty already: the stale entry will do. */
	assert_true(shape_saw(&seen, 71));
	assert_true(shape_saw(&seen, 91));
}

/* INVLPGB: for all CPUs, and done at TLBSYNC of the same CPU, not before. */
#define B_VA MACH_X86_INVLPGB_VA
#define NEW_PAGE_MB NEW_PAGE; mach_fence(MACH_SMP_MB)
static void b_full(void)
{
	NEW_PAGE_MB;
	mach_x86_invlpgb(SHAPE_VA | B_VA, 0, 0);
	mach_x86_tlbsync();
	SAY;
}
static void b_no_sync(void) { NEW_PAGE_MB; mach_x86_invlpgb(SHAPE_VA | B_VA, 0, 0); SAY; }
/* The store may become visible after both. */
static void b_no_mb(void)
{
	NEW_PAGE;
	mach_x86_invlpgb(SHAPE_VA | B_VA, 0, 0);
	mach_x86_tlbsync();
	SAY;
}
static void b_flush(u64 rax, u32 ecx)
{
	NEW_PAGE_MB;
	mach_x86_invlpgb(rax, 0, ecx);
	mach_x86_tlbsync();
	SAY;
}
static void b_other(void) { b_flush((SHAPE_VA + 4096) | B_VA, 3); }
static void b_range(void) { b_flush((SHAPE_VA - 4096) | B_VA, 1); }
static void b_stride(void) { b_flush((SHAPE_VA - 2 * 0x200000) | B_VA, 2 | MACH_X86_INVLPGB_PMD); }
static void b_stride_beside(void) { b_flush((SHAPE_VA - 4096) | B_VA, 7 | MACH_X86_INVLPGB_PMD); }
static void b_all(void) { b_flush(0, 0); }
static void b_pcid(void) { b_flush(MACH_X86_INVLPGB_PCID, 0); }
static void sync_and_use(void)
{
	v->r[0] = mach_load(shape_y, MACH_ACQUIRE);
	mach_x86_tlbsync();
	v->r[1] = shape_load(SHAPE_VA);
}

static void test_x86_invlpgb(void **state)
{
	struct seen seen;

	(void)state;
	assert_false(sees(XARCH_X86, b_full, 11));
	assert_true(sees(XARCH_X86, b_full, 21));
	assert_true(sees(XARCH_X86, b_full, 10));
	assert_true(sees(XARCH_X86, b_no_sync, 11));
	assert_true(sees(XARCH_X86, b_no_mb, 11));
	assert_true(sees(XARCH_X86, b_other, 11));
	assert_false(sees(XARCH_X86, b_range, 11));
	assert_false(sees(XARCH_X86, b_stride, 11));
	assert_true(sees(XARCH_X86, b_stride_beside, 11));
	assert_false(sees(XARCH_X86, b_all, 11));
	/* PCID 0 is nobody's. */
	assert_true(sees(XARCH_X86, b_pcid, 11));
	/* The other CPU's TLBSYNC is for what that one has issued. */
	seen = look(XARCH_X86, b_no_sync, sync_and_use);
	assert_true(shape_saw(&seen, 11));
}

/* A store through what is dropped is visible when TLBSYNC is through, or never made so. */
static void b_watch(void)
{
	NEW_PAGE_MB;
	mach_x86_invlpgb(SHAPE_VA | B_VA, 0, 0);
	mach_x86_tlbsync();
	v->r[2] = mach_load(shape_entry(v->old, 0), MACH_RELAXED);
	v->r[3] = mach_load(shape_entry(v->old, 0), MACH_RELAXED);
}

static void test_x86_tlbsync_stores(void **state)
{
	bool early = false, none = false;
	struct seen seen;

	(void)state;
	seen = look(XARCH_X86, b_watch, store);
	assert_int_equal(seen.rule, XRULE_NONE);
	for (u32 i = 0; i < seen.n; i++) {
		u32 first = seen.out[i] / 100 % 10, second = seen.out[i] / 1000 % 10;

		assert_int_equal(first, second);
		early |= first == 7;
		none |= first == 1;
	}
	assert_true(early && none);
}

/* CR3 without flushing, to a root whose PCID had another. */
static void pcid_reuse(void)
{
	mach_x86_write_cr3(v->pte2 << 12 | 1 | MACH_X86_CR3_NOFLUSH_BIT);
	v->r[0] = shape_load(SHAPE_VA);
}
static void pcid_flush(void)
{
	mach_x86_write_cr3(v->pte2 << 12 | 1);
	v->r[0] = shape_load(SHAPE_VA);
}

static void test_x86_pcid(void **state)
{
	struct seen seen;

	(void)state;
	seen = look(XARCH_X86, pcid_reuse, NULL);
	assert_int_equal(seen.rule, XRULE_WRONG_CONTEXT);
	seen = look(XARCH_X86, pcid_flush, NULL);
	assert_int_equal(seen.rule, XRULE_NONE);
	assert_true(seen.n == 1 && seen.out[0] == 9);
}

/* ---- arm64 ---- */

#define ISHST mach_fence(MACH_DSB_ISHST)
#define ISH mach_fence(MACH_DSB_ISH)
#define UNMAP mach_store(PTE, 0, MACH_RELAXED)
#define UNHOOK mach_store(PMD, 0, MACH_RELAXED)
/* TTL: granule 4 KiB, level. */
#define TTL(level) ((1ULL << 2 | (level)) << 44)

static void arm_unmap(void) { UNMAP; ISHST; TLBI(VALE1IS, SHAPE_VA); ISH; SAY; }
static void arm_no_tlbi(void) { UNMAP; ISHST; ISH; SAY; }
static void arm_no_dsb(void) { UNMAP; ISHST; TLBI(VALE1IS, SHAPE_VA); SAY; }
static void arm_no_ishst(void) { UNMAP; TLBI(VALE1IS, SHAPE_VA); ISH; SAY; }
static void arm_other_page(void) { UNMAP; ISHST; TLBI(VALE1IS, SHAPE_VA + 4096); ISH; SAY; }
static void arm_other_asid(void)
{
	UNMAP;
	ISHST;
	mach_arm64_tlbi(VALE1IS, 2 * ASID | SHAPE_VA >> 12);
	ISH;
	SAY;
}
static void arm_asid(void) { UNMAP; ISHST; mach_arm64_tlbi(ASIDE1IS, ASID); ISH; SAY; }
static void arm_local(void)
{
	UNMAP;
	ISHST;
	TLBI(VALE1, SHAPE_VA);
	mach_fence(MACH_DSB_NSH);
	SAY;
}

static void test_arm64_tlbi(void **state)
{
	(void)state;
	assert_false(sees(XARCH_ARM64, arm_unmap, 11));
	assert_true(sees(XARCH_ARM64, arm_unmap, 91));
	assert_true(sees(XARCH_ARM64, arm_unmap, 10));
	assert_true(sees(XARCH_ARM64, arm_no_tlbi, 11));
	assert_true(sees(XARCH_ARM64, arm_no_dsb, 11));
	assert_true(sees(XARCH_ARM64, arm_no_ishst, 11));
	assert_true(sees(XARCH_ARM64, arm_other_page, 11));
	assert_true(sees(XARCH_ARM64, arm_other_asid, 11));
	assert_false(sees(XARCH_ARM64, arm_asid, 11));
	assert_true(sees(XARCH_ARM64, arm_local, 11));
}

static void hinted(u64 level)
{
	UNMAP;
	ISHST;
	mach_arm64_tlbi(VALE1IS, ASID | TTL(level) | SHAPE_VA >> 12);
	ISH;
	SAY;
}
static void hint_3(void) { hinted(3); }
static void hint_2(void) { hinted(2); }

static void test_arm64_level_hint(void **state)
{
	(void)state;
	assert_false(sees(XARCH_ARM64, hint_3, 11));
	assert_true(sees(XARCH_ARM64, hint_2, 11));
}

/* A table is unhooked and freed; leaf-only invalidation leaves the way to it. */
static void unhook(bool leaf_only)
{
	UNMAP;
	UNHOOK;
	ISHST;
	if (leaf_only)
		TLBI(VALE1IS, SHAPE_VA);
	else
		TLBI(VAE1IS, SHAPE_VA);
	ISH;
	mach_free_frames(v->pte, 0, 0);
}
static void unhook_vale(void) { unhook(true); }
static void unhook_vae(void) { unhook(false); }
/* By way of another table, which is freed in its turn. */
static void unhook_again(void)
{
	UNMAP;
	UNHOOK;
	ISHST;
	TLBI(VAE1IS, SHAPE_VA);
	ISH;
	NEW_TABLE;
	ISHST;
	UNHOOK;
	ISHST;
	TLBI(VAE1IS, SHAPE_VA);
	ISH;
	mach_free_frames(v->pte2, 0, 0);
}
static void nothing(void) { }

static void test_arm64_walk_cache(void **state)
{
	struct seen seen;

	(void)state;
	seen = look(XARCH_ARM64, unhook_vale, nothing);
	assert_int_equal(seen.rule, XRULE_WALK_FREED);
	seen = look(XARCH_ARM64, unhook_vae, nothing);
	assert_int_equal(seen.rule, XRULE_NONE);
	/* A load, and its walk, may be older than the step that makes it: the table was there. */
	seen = look(XARCH_ARM64, unhook_again, use);
	assert_int_equal(seen.rule, XRULE_NONE);
}

/* Page by page, more of them than a machine keeps records of. */
static void flush_pages(u64 first, u64 n)
{
	UNMAP;
	ISHST;
	for (u64 i = 0; i < n; i++)
		TLBI(VALE1IS, first + i * 4096);
	ISH;
	SAY;
}
static void arm_pages(void) { flush_pages(SHAPE_VA - 300 * 4096, 600); }
static void arm_pages_before(void) { flush_pages(SHAPE_VA - 600 * 4096, 600); }
static void arm_pages_after(void) { flush_pages(SHAPE_VA + 4096, 600); }

static void test_arm64_pages(void **state)
{
	(void)state;
	assert_false(sees(XARCH_ARM64, arm_pages, 11));
	assert_true(sees(XARCH_ARM64, arm_pages_before, 11));
	assert_true(sees(XARCH_ARM64, arm_pages_after, 11));
}

/* The page goes; the other CPU is in user mode and has it in its TLB, or not. */
static void free_page(bool flush)
{
	UNMAP;
	ISHST;
	if (flush)
		TLBI(VALE1IS, SHAPE_VA);
	ISH;
	mach_free_frames(v->old, 0, 0);
}
static void free_flushed(void) { free_page(true); }
static void free_stale(void) { free_page(false); }

static void test_arm64_free(void **state)
{
	struct seen seen;

	(void)state;
	seen = look(XARCH_ARM64, free_stale, use);
	assert_int_equal(seen.rule, XRULE_STALE_WRITE);
	seen = look(XARCH_ARM64, free_flushed, use);
	assert_int_equal(seen.rule, XRULE_NONE);
	seen = look(XARCH_ARM64, free_flushed, store);
	assert_int_equal(seen.rule, XRULE_NONE);
}

/* From one page to another at once; or by way of an invalid entry. */
static void arm_remap(void) { NEW_PAGE; ISHST; TLBI(VALE1IS, SHAPE_VA); ISH; SAY; }
static void arm_bbm(void) { UNMAP; ISHST; TLBI(VALE1IS, SHAPE_VA); ISH; NEW_PAGE; SAY; }
static void arm_bbm_no_tlbi(void) { UNMAP; ISHST; NEW_PAGE; SAY; }
/* Rights may change in place. */
static void arm_protect(void)
{
	mach_store(PTE, shape_page_entry(v->old, false), MACH_RELAXED);
	SAY;
}

static void test_arm64_break_before_make(void **state)
{
	(void)state;
	assert_int_equal(look(XARCH_ARM64, arm_remap, use).rule, XRULE_CONFLICT);
	/* As Linux does between a zap and its flush: no rule asks for the TLBI. */
	assert_int_equal(look(XARCH_ARM64, arm_bbm_no_tlbi, use).rule, XRULE_NONE);
	assert_int_equal(look(XARCH_ARM64, arm_bbm, use).rule, XRULE_NONE);
	assert_int_equal(look(XARCH_ARM64, arm_protect, use).rule, XRULE_NONE);
}

/* ASID 1 goes to another root. */
static void asid_switch(bool flush)
{
	mach_arm64_write_ttbr0(v->pte2 << 12 | ASID * 2);
	mach_fence(MACH_ISB);
	if (flush) {
		mach_arm64_tlbi(ASIDE1, ASID);
		mach_fence(MACH_DSB_NSH);
		mach_fence(MACH_ISB);
	}
	mach_arm64_write_ttbr0(v->pte2 << 12 | ASID);
	mach_fence(MACH_ISB);
	v->r[0] = shape_load(SHAPE_VA);
}
static void asid_reuse(void) { asid_switch(false); }
static void asid_flushed(void) { asid_switch(true); }

static void test_arm64_asid(void **state)
{
	struct seen seen;

	(void)state;
	seen = look(XARCH_ARM64, asid_reuse, NULL);
	assert_int_equal(seen.rule, XRULE_WRONG_CONTEXT);
	seen = look(XARCH_ARM64, asid_flushed, NULL);
	assert_int_equal(seen.rule, XRULE_NONE);
}

/* The root before is freed. Until an ISB the CPU may walk by it. */
static void free_root(bool sync)
{
	mach_arm64_write_ttbr0(v->pte2 << 12 | ASID * 2);
	if (sync)
		mach_fence(MACH_ISB);
	mach_free_frames(v->pgd, 0, 0);
}
static void free_root_synced(void) { free_root(true); }
static void free_root_early(void) { free_root(false); }

static void test_arm64_free_root(void **state)
{
	(void)state;
	assert_int_equal(look(XARCH_ARM64, free_root_synced, NULL).rule, XRULE_NONE);
	assert_int_equal(look(XARCH_ARM64, free_root_early, NULL).rule, XRULE_WALK_FREED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_invlpg),
		cmocka_unit_test(test_x86_walk_cache),
		cmocka_unit_test(test_x86_walk_cache_late),
		cmocka_unit_test(test_x86_invlpgb),
		cmocka_unit_test(test_x86_tlbsync_stores),
		cmocka_unit_test(test_x86_dirty),
		cmocka_unit_test(test_x86_pcid),
		cmocka_unit_test(test_arm64_tlbi),
		cmocka_unit_test(test_arm64_level_hint),
		cmocka_unit_test(test_arm64_pages),
		cmocka_unit_test(test_arm64_walk_cache),
		cmocka_unit_test(test_arm64_free),
		cmocka_unit_test(test_arm64_break_before_make),
		cmocka_unit_test(test_arm64_asid),
		cmocka_unit_test(test_arm64_free_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
