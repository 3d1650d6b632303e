// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * machine/mmu/powerpc.c: trees built by hand in sparse "physical memory", and
 * what each invalidation drops, and what it must leave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "machine/mmu/mmu.h"

#define MEMORY (1ULL << 30)
#define KB 1024ULL
#define MB (1024 * KB)
#define PRTB (1ULL << 20)
#define CPUS 2
#define VA 0x200000000000ULL

#define V (1ULL << 63)
#define LEAF (1ULL << 62)
#define R 0x100ULL
#define C 0x80ULL
#define RW 0x6ULL
#define RO 0x4ULL

struct world {
	struct machine_desc desc;
	struct mmu *mmu;
	char *mem;
	u32 page_shift;
	u64 next_table;
	u64 now;
	u64 root[8];		/* by PID; 0: none */
};

static u64 *word_at(struct world *w, u64 pa)
{
	return (u64 *)(void *)(w->mem + pa);
}

static u64 new_table(struct world *w)
{
	u64 pa = w->next_table;

	w->next_table += 64 * KB;
	return pa;
}

static void make_pid(struct world *w, u32 pid)
{
	w->root[pid] = new_table(w);
	/* 52 - 31 = 21 = 10 101b; 2^13 entries. */
	*word_at(w, PRTB + 16 * pid) = 2ULL << 61 | w->root[pid] | 5ULL << 5 | 13;
}

static struct world *world_new(u32 page_shift, bool isa31)
{
	struct world *w = calloc(1, sizeof(*w));
	struct machine_desc *d = &w->desc;

	assert_non_null(w);
	w->page_shift = page_shift;
	snprintf(d->arch, sizeof(d->arch), "powerpc");
	d->nr_cpus = CPUS;
	d->nr_nodes = d->nr_packages = 1;
	d->memory_bytes = MEMORY;
	d->page_shift = page_shift;
	d->va_bits = 52;
	d->asid_bits = 8;
	d->l1 = (struct tlb_geometry){ 1, 16 };
	d->l2 = (struct tlb_geometry){ 128, 8 };
	for (u32 h = 1; h < 4; h++)
		d->walk_cache[h] = 16;
	snprintf(d->feature[0].name, sizeof(d->feature[0].name), "powerpc.isa31");
	snprintf(d->feature[0].value, sizeof(d->feature[0].value), isa31 ? "on" : "off");
	d->nr_features = 1;
	w->mem = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(w->mem != MAP_FAILED);
	w->next_table = 2 * MB;
	w->now = 1000;
	w->mmu = mmu_create(d, w->mem, 1);
	assert_non_null(w->mmu);
	for (u32 pid = 0; pid < 3; pid++)
		make_pid(w, pid);
	/* 4 KiB: 256 entries. */
	mmu_insn(w->mmu, 0, w->now, MACH_PPC_PRTB, PRTB, 0, 0);
	return w;
}

static void world_free(struct world *w)
{
	mmu_destroy(w->mmu);
	munmap(w->mem, MEMORY);
	free(w);
}

static u32 bits(const struct world *w, u32 height)
{
	return height == 3 ? 13 : height ? 9 : 21 - w->page_shift;
}

static u32 shift(const struct world *w, u32 height)
{
	return height ? 21 + 9 * (height - 1) : w->page_shift;
}

/* Where the entry of a height for va is; tables on the way are made. */
static u64 entry_pa(struct world *w, u32 pid, u64 va, u32 height)
{
	u64 table = w->root[pid], pa;

	for (u32 h = 3;; h--) {
		pa = table + (va >> shift(w, h) & ((1ULL << bits(w, h)) - 1)) * 8;
		if (h == height)
			return pa;
		if (!*word_at(w, pa))
			*word_at(w, pa) = V | new_table(w) | bits(w, h - 1);
		table = *word_at(w, pa) & 0x0fffffffffffff00ULL;
	}
}

static u64 map(struct world *w, u32 pid, u64 va, u32 height, u64 frame, u64 flags)
{
	u64 pa = entry_pa(w, pid, va, height);

	*word_at(w, pa) = V | LEAF | frame | flags;
	return pa;
}

static void load(struct world *w, u32 cpu, u32 pid)
{
	mmu_insn(w->mmu, cpu, ++w->now, MACH_PPC_PID, pid, 0, 0);
}

static struct mmu_xlate xlate(struct world *w, u32 cpu, u64 va, bool write)
{
	struct mmu_xlate x;

	mmu_translate(w->mmu, cpu, ++w->now, va, write, &x);
	return x;
}

static void expect_pa(struct world *w, u32 cpu, u64 va, bool write, u64 pa)
{
	struct mmu_xlate x = xlate(w, cpu, va, write);

	assert_int_equal(x.fault, 0);
	assert_int_equal(x.pa, pa);
}

static bool cached(struct world *w, u32 cpu, u32 pid, u64 va)
{
	u64 pa;

	return mmu_cached(w->mmu, cpu, ++w->now, pid, va, &pa);
}

#define CODE(ric) MACH_PPC_RIC(ric, 1, 1)
#define RB_PID (1ULL << 10)
#define RB_ALL (3ULL << 10)
#define AP(ap) ((u64)(ap) << 5)
#define RS(pid) ((u64)(pid) << 32)

static void tlbie(struct world *w, u64 rb, u64 rs, u32 ric)
{
	mmu_broadcast(w->mmu, ++w->now, 0, MACH_PPC_TLBIE, rb, rs, CODE(ric));
}

static void tlbiel(struct world *w, u32 cpu, u64 rb, u64 rs, u32 ric)
{
	mmu_insn(w->mmu, cpu, ++w->now, MACH_PPC_TLBIEL, rb, rs, CODE(ric));
}

static u32 base_ap(const struct world *w)
{
	return w->page_shift == 16 ? 5 : 0;
}

/* ---- walks ---- */

static void check_walk(u32 page_shift)
{
	struct world *w = world_new(page_shift, false);
	u64 page = 1ULL << page_shift, pte, pmd;

	pte = map(w, 1, VA + 3 * page, 0, 64 * MB + page, RW);
	pmd = map(w, 1, VA + 6 * MB, 1, 128 * MB, RO);
	map(w, 1, VA + (1ULL << 30), 2, 0, RW);
	load(w, 0, 1);
	expect_pa(w, 0, VA + 3 * page + 8, false, 64 * MB + page + 8);
	assert_int_equal(*word_at(w, pte) & (R | C), R);
	/* The first write reads the entry again and marks it. */
	assert_true(xlate(w, 0, VA + 3 * page, true).walked);
	assert_int_equal(*word_at(w, pte) & (R | C), R | C);
	assert_false(xlate(w, 0, VA + 3 * page, true).walked);
	/* 2 MiB, read-only; 1 GiB. */
	expect_pa(w, 0, VA + 7 * MB, false, 129 * MB);
	assert_int_equal(xlate(w, 0, VA + 7 * MB, true).fault,
			 MMU_FAULT | MACH_FAULT_PRESENT | MACH_FAULT_USER |
				 MACH_FAULT_WRITE);
	assert_int_equal(*word_at(w, pmd) & (R | C), R);
	expect_pa(w, 0, VA + (1ULL << 30) + 77 * MB, true, 77 * MB);
	/* Nothing mapped; another PID; beyond 52 bits. */
	assert_int_equal(xlate(w, 0, VA, false).fault, MMU_FAULT | MACH_FAULT_USER);
	load(w, 0, 2);
	assert_int_equal(xlate(w, 0, VA + 3 * page, false).fault,
			 MMU_FAULT | MACH_FAULT_USER);
	assert_int_equal(xlate(w, 0, 1ULL << 52, false).fault, MMU_FAULT | MACH_FAULT_USER);
	world_free(w);
}

static void test_walk(void **state)
{
	(void)state;
	check_walk(12);
	check_walk(16);
}

/* What no correct kernel writes must not translate. */
static void test_bad_entries(void **state)
{
	const u32 bad = MMU_FAULT | MACH_FAULT_PRESENT | MACH_FAULT_USER;
	struct world *w = world_new(16, false);
	u64 pte = map(w, 1, VA, 0, 64 * MB, RW);
	u64 pmd = entry_pa(w, 1, VA, 1), good = *word_at(w, pmd);

	(void)state;
	load(w, 0, 1);
	*word_at(w, pmd) = good ^ 1;			/* size of the next table */
	assert_int_equal(xlate(w, 0, VA, false).fault, bad);
	*word_at(w, pmd) = good | 0x20;			/* reserved */
	assert_int_equal(xlate(w, 0, VA, false).fault, bad);
	*word_at(w, pmd) = V | LEAF | RW | 64 * KB;	/* not aligned */
	assert_int_equal(xlate(w, 0, VA, false).fault, bad);
	*word_at(w, pmd) = good;
	*word_at(w, pte) &= ~LEAF;			/* no table below */
	assert_int_equal(xlate(w, 0, VA, false).fault, bad);
	*word_at(w, pte) = (*word_at(w, pte) | LEAF) & ~V;
	assert_int_equal(xlate(w, 0, VA, false).fault, MMU_FAULT | MACH_FAULT_USER);
	*word_at(w, pte) |= V | 8;			/* privileged */
	assert_int_equal(xlate(w, 0, VA, false).fault, bad);
	*word_at(w, pte) &= ~8ULL;
	expect_pa(w, 0, VA, false, 64 * MB);
	/* A process-table entry without a tree, and one of another size. */
	*word_at(w, PRTB + 32) = 0;
	load(w, 1, 2);
	assert_int_equal(xlate(w, 1, VA, false).fault, MMU_FAULT | MACH_FAULT_USER);
	*word_at(w, PRTB + 16) ^= 1;
	load(w, 1, 1);
	assert_int_equal(xlate(w, 1, VA, false).fault, MMU_FAULT | MACH_FAULT_USER);
	world_free(w);
}

/* Rights are added without an invalidation; taken away, they need one. */
static void test_refetch(void **state)
{
	struct world *w = world_new(16, false);
	u64 pte = map(w, 1, VA, 0, 64 * MB, R);	/* valid, no right */

	(void)state;
	load(w, 0, 1);
	assert_int_equal(xlate(w, 0, VA, false).fault,
			 MMU_FAULT | MACH_FAULT_PRESENT | MACH_FAULT_USER);
	*word_at(w, pte) |= RO;
	expect_pa(w, 0, VA, false, 64 * MB);
	*word_at(w, pte) |= RW;
	expect_pa(w, 0, VA, true, 64 * MB);
	*word_at(w, pte) &= ~RW;
	expect_pa(w, 0, VA, true, 64 * MB);		/* stale */
	tlbie(w, VA | AP(5), RS(1), 0);
	assert_int_equal(xlate(w, 0, VA, false).fault,
			 MMU_FAULT | MACH_FAULT_PRESENT | MACH_FAULT_USER);
	world_free(w);
}

/* ---- tlbie ---- */

static void check_tlbie(u32 page_shift)
{
	struct world *w = world_new(page_shift, false);
	u64 page = 1ULL << page_shift;

	for (u32 pid = 1; pid <= 2; pid++) {
		map(w, pid, VA, 0, 64 * MB, RW);
		map(w, pid, VA + page, 0, 65 * MB, RW);
		map(w, pid, VA + 2 * MB, 1, 128 * MB, RW);
	}
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		for (u32 pid = 1; pid <= 2; pid++) {
			load(w, cpu, pid);
			for (u32 i = 0; i < 3; i++)
				xlate(w, cpu, VA + (i == 2 ? 2 * MB : i * page), true);
		}
	}
	/* By address: that page, of that size, of that PID, on every CPU. */
	tlbie(w, VA | AP(1), RS(1), 0);
	assert_true(cached(w, 1, 1, VA));
	tlbie(w, VA | AP(page_shift == 16 ? 0 : 5), RS(1), 0);
	assert_true(cached(w, 1, 1, VA));
	tlbie(w, VA | AP(base_ap(w)), RS(1), 0);
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		assert_false(cached(w, cpu, 1, VA));
		assert_true(cached(w, cpu, 1, VA + page));
		assert_true(cached(w, cpu, 1, VA + 2 * MB));
		assert_true(cached(w, cpu, 2, VA));
		assert_int_equal(mmu_live_walk(w->mmu, cpu, ++w->now, 1), 3);
	}
	tlbie(w, (VA + 2 * MB) | AP(1), RS(1), 0);
	assert_false(cached(w, 0, 1, VA + 3 * MB));
	/* Walk caches, all of a PID, and nothing else. */
	tlbie(w, RB_PID, RS(1), 1);
	assert_int_equal(mmu_live_walk(w->mmu, 1, ++w->now, 1), 0);
	assert_int_equal(mmu_live_walk(w->mmu, 1, ++w->now, 2), 3);
	assert_true(cached(w, 1, 1, VA + page));
	/* Translations of a PID, but not walk caches. */
	tlbie(w, RB_PID, RS(2), 0);
	assert_int_equal(mmu_live(w->mmu, 0, ++w->now, 2), 0);
	assert_int_equal(mmu_live_walk(w->mmu, 0, ++w->now, 2), 3);
	assert_true(cached(w, 0, 1, VA + page));
	/* Both. */
	tlbie(w, RB_PID, RS(2), 2);
	assert_int_equal(mmu_live_walk(w->mmu, 0, ++w->now, 2), 0);
	tlbie(w, RB_ALL, 0, 2);
	assert_int_equal(mmu_live(w->mmu, 0, ++w->now, 1), 0);
	world_free(w);
}

static void test_tlbie(void **state)
{
	(void)state;
	check_tlbie(12);
	check_tlbie(16);
}

/* A table is replaced: a walk through the cache finds the old one until RIC = 1. */
static void test_stale_walk_cache(void **state)
{
	struct world *w = world_new(16, false);
	u64 pmd;

	(void)state;
	map(w, 1, VA, 0, 64 * MB, RW);
	load(w, 0, 1);
	xlate(w, 0, VA, false);
	pmd = entry_pa(w, 1, VA, 1);
	*word_at(w, pmd) = 0;
	map(w, 1, VA, 0, 96 * MB, RW);
	tlbie(w, VA | AP(5), RS(1), 0);
	expect_pa(w, 0, VA, false, 64 * MB);
	tlbie(w, RB_PID, RS(1), 1);
	tlbie(w, VA | AP(5), RS(1), 0);
	expect_pa(w, 0, VA, false, 96 * MB);
	world_free(w);
}

/* ---- tlbiel ---- */

static void fill(struct world *w, u32 cpu, u32 pid, u32 pages)
{
	for (u32 i = 0; i < pages; i++)
		map(w, pid, VA + ((u64)i << w->page_shift), 0, 64 * MB, RW);
	load(w, cpu, pid);
	for (u32 i = 0; i < pages; i++)
		xlate(w, cpu, VA + ((u64)i << w->page_shift), false);
}

static u32 still_cached(struct world *w, u32 cpu, u32 pid, u32 pages)
{
	u32 n = 0;

	for (u32 i = 0; i < pages; i++)
		n += cached(w, cpu, pid, VA + ((u64)i << w->page_shift));
	return n;
}

static void test_classes(void **state)
{
	struct world *w = world_new(16, false);

	(void)state;
	fill(w, 1, 1, 256);
	fill(w, 0, 2, 256);
	fill(w, 0, 1, 256);
	/* One class: two pages of each 256, none in the last 16, which the ERAT has. */
	tlbiel(w, 0, RB_PID | 5ULL << 12, RS(1), 0);
	assert_int_equal(still_cached(w, 0, 1, 256), 254);
	assert_int_equal(mmu_live_walk(w->mmu, 0, ++w->now, 1), 3 + 7);
	tlbiel(w, 0, RB_PID, RS(1), 2);
	assert_int_equal(still_cached(w, 0, 1, 256), 252);
	assert_int_equal(mmu_live_walk(w->mmu, 0, ++w->now, 1), 0);
	for (u64 set = 1; set < 128; set++)
		tlbiel(w, 0, RB_PID | set << 12, RS(1), 0);
	/* The ERAT keeps what it has, until slbia. */
	assert_int_equal(still_cached(w, 0, 1, 256), 16);
	mmu_insn(w->mmu, 0, ++w->now, MACH_PPC_SLBIA, 3, 0, 0);
	assert_int_equal(still_cached(w, 0, 1, 256), 0);
	/* Neither another PID nor another CPU. */
	assert_int_equal(still_cached(w, 0, 2, 256), 256);
	assert_int_equal(still_cached(w, 1, 1, 256), 256);
	/* By address: the ERAT, too. */
	tlbiel(w, 1, VA | AP(5), RS(1), 0);
	tlbiel(w, 1, (VA + (255 << 16)) | AP(5), RS(1), 0);
	assert_int_equal(still_cached(w, 1, 1, 256), 254);
	tlbiel(w, 1, RB_PID, RS(1), 1);
	assert_int_equal(mmu_live_walk(w->mmu, 1, ++w->now, 1), 0);
	assert_int_equal(still_cached(w, 1, 1, 256), 254);
	world_free(w);
}

static void test_isa31(void **state)
{
	struct world *w = world_new(16, true);

	(void)state;
	fill(w, 0, 2, 100);
	fill(w, 0, 1, 100);
	tlbiel(w, 0, RB_PID, RS(1), 0);
	assert_int_equal(still_cached(w, 0, 1, 100), 16);
	assert_int_equal(still_cached(w, 0, 2, 100), 100);
	assert_true(mmu_live_walk(w->mmu, 0, ++w->now, 1) > 0);
	tlbiel(w, 0, RB_ALL, 0, 2);
	mmu_insn(w->mmu, 0, ++w->now, MACH_PPC_SLBIA, 3, 0, 0);
	assert_int_equal(mmu_live(w->mmu, 0, ++w->now, 1), 0);
	assert_int_equal(mmu_live(w->mmu, 0, ++w->now, 2), 0);
	assert_int_equal(mmu_live_walk(w->mmu, 0, ++w->now, 1), 0);
	world_free(w);
}

/* ---- the hypervisor ---- */

static void hcall(struct world *w, u64 start, u64 end, u32 pid, u32 type)
{
	mmu_broadcast(w->mmu, ++w->now, 0, MACH_PPC_H_RPT_INVALIDATE, start, end,
		      pid | 2U << 20 | type << 24 | 1U << 28);
}

static void test_hcall(void **state)
{
	struct world *w = world_new(16, false);

	(void)state;
	fill(w, 0, 2, 64);
	fill(w, 1, 1, 64);
	hcall(w, VA + (8 << 16), VA + (24 << 16), 1, 2);
	assert_int_equal(still_cached(w, 1, 1, 64), 48);
	assert_true(cached(w, 1, 1, VA + (7 << 16)));
	assert_true(cached(w, 1, 1, VA + (24 << 16)));
	assert_true(mmu_live_walk(w->mmu, 1, ++w->now, 1) > 0);
	hcall(w, VA, VA + (1 << 16), 1, 6);
	assert_int_equal(still_cached(w, 1, 1, 64), 47);
	assert_int_equal(mmu_live_walk(w->mmu, 1, ++w->now, 1), 0);
	hcall(w, 0, ~0ULL, 1, 2);
	assert_int_equal(mmu_live(w->mmu, 1, ++w->now, 1), 0);
	assert_int_equal(still_cached(w, 0, 2, 64), 64);
	hcall(w, 0, ~0ULL, 2, 0xe);
	assert_int_equal(mmu_live(w->mmu, 0, ++w->now, 2), 0);
	assert_int_equal(mmu_live_walk(w->mmu, 0, ++w->now, 2), 0);
	world_free(w);
}

/* Above its ceiling, 33 pages, it drops the PID, of which little lies in the range. */
static void test_hcall_ceiling(void **state)
{
	(void)state;
	for (u32 pages = 32; pages <= 35; pages++) {
		struct world *w = world_new(16, false);

		fill(w, 0, 2, 64);
		fill(w, 1, 1, 64);
		hcall(w, VA + (8 << 16), VA + ((8 + pages) << 16), 1, 2);
		assert_int_equal(still_cached(w, 1, 1, 64), pages > 33 ? 0 : 64 - pages);
		assert_int_equal(still_cached(w, 0, 2, 64), 64);
		/* Translations only: what was cached of tables stays. */
		assert_true(mmu_live_walk(w->mmu, 1, ++w->now, 1) > 0);
		world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_bad_entries),
		cmocka_unit_test(test_refetch),
		cmocka_unit_test(test_tlbie),
		cmocka_unit_test(test_stale_walk_cache),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_isa31),
		cmocka_unit_test(test_hcall),
		cmocka_unit_test(test_hcall_ceiling),
	};

	return cmocka_run_group_tests_name("mmu powerpc", tests, NULL, NULL);
}
