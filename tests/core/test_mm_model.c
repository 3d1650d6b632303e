/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Property tests: random operations beside a model, and that all memory comes back. */
#include "mm_model.h"

#include "mm/lru.h"

#define RUNS 40
#define STEPS 400
#define NR_REACHED 15

static struct model model;

static const char *machine_4k(void)
{
	if (!strcmp(TEST_ARCH, "x86"))
		return "qemu-x86-max";
	return !strcmp(TEST_ARCH, "arm64") ? "qemu-arm64-max" : NULL;
}

static void run(const char *machine, u64 seed, const struct knob_setting *knobs, u32 nr)
{
	model_run(&model, machine, seed, STEPS, knobs, nr);
	if (model.failed[0])
		fail_msg("%s, seed %llu, after %u steps: %s", machine,
			 (unsigned long long)seed, model.steps, model.failed);
	assert_int_equal(model.frames_before, model.frames_after);
	assert_int_equal(model.objects_before, model.objects_after);
}

/* What this is about must be met in one of the runs. */
static const char *const reached[NR_REACHED] = {
	"vmstat.thp_fault_alloc", "vmstat.thp_split_pmd", "vmstat.thp_collapse_alloc",
	"cow.copies", "cow.reuses", "mremap.huge_pages", "mremap.tables",
	"mremap.ptes", "protect.huge_pages", "gup.fast_pages",
	"vmstat.pgsteal", "vmstat.pswpin", "vmstat.pgmigrate_success", "rmap.unmapped",
	"vmstat.thp_swpout",
};

static void add_reached(u64 (*total)[NR_REACHED])
{
	for (u32 i = 0; i < NR_REACHED; i++)
		(*total)[i] += model_stat(&model, reached[i]);
}

static void test_random_operations(void **state)
{
	const char *machine = machine_4k() ? machine_4k() : "qemu-power9";
	u64 total[NR_REACHED] = { 0 };

	(void)state;
	for (u64 seed = 1; seed <= RUNS; seed++) {
		run(machine, seed, NULL, 0);
		add_reached(&total);
	}
	for (u32 i = 0; i < NR_REACHED; i++)
		if (!total[i])
			fail_msg("%s: never", reached[i]);
}

static void storm(const char *machine, u64 seed, bool shared,
		  const struct knob_setting *knobs, u32 nr)
{
	model_storm(&model, machine, seed, 150, shared, knobs, nr);
	if (model.failed[0])
		fail_msg("storm on %s, seed %llu: %s", machine, (unsigned long long)seed,
			 model.failed);
	assert_int_equal(model.frames_before, model.frames_after);
	assert_int_equal(model.objects_before, model.objects_after);
}

static void test_storm(void **state)
{
	const char *machine = machine_4k() ? machine_4k() : "qemu-power9";
	static const struct knob_setting variants[] = {
		{ KNOB_mm_fault_lock, 0 }, { KNOB_mm_fault_lock, 1 }, { KNOB_mm_rwsem, 0 },
		{ KNOB_mmu_gather_table_batch_fail, 1 }, { KNOB_mm_munmap_downgrade, 0 },
		{ KNOB_mm_change_huge_pmd, 1 }, { KNOB_mm_mremap_flush, 1 },
		{ KNOB_mm_madvise_lock, 1 },
		{ KNOB_mm_mremap_rmap_lock, 1 }, { KNOB_migrate_batch, 0 },
		{ KNOB_rmap_unmap_flush, 0 }, { KNOB_vmscan_free_batch, 1 },
		{ KNOB_mm_pageout_young, 1 }, { KNOB_mm_huge_zero_page, 2 },
		{ KNOB_mm_huge_zero_page, 3 },
#ifdef CORE_ARCH_POWERPC_PGTABLE_H
		{ KNOB_powerpc_pte_serialize, PTE_SERIALIZE_IPI },
		{ KNOB_powerpc_pte_serialize, PTE_SERIALIZE_COUNT_SPAN },
		{ KNOB_powerpc_pte_serialize, PTE_SERIALIZE_COUNT_PERCPU },
		{ KNOB_powerpc_tlbie, 0 },
#endif
	};

	u64 written = 0;

	(void)state;
	for (u32 i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		for (u64 seed = 1; seed <= 3; seed++) {
			storm(machine, seed, seed <= 2, &variants[i], 1);
			written += model_stat(&model, "file.pages_written");
		}
	assert_true(written > 0);
}

/* Read faults map the huge page of zeroes, however it is held; at the end it is gone. */
static void test_huge_zero_page(void **state)
{
	const char *machine = machine_4k() ? machine_4k() : "qemu-power9";
	u64 split = 0;

	(void)state;
	for (s64 held = 1; held <= 3; held++)
		for (u64 seed = 1; seed <= 10; seed++) {
			const struct knob_setting knobs[] = { { KNOB_mm_huge_zero_page, held } };

			run(machine, seed, knobs, 1);
			split += model_stat(&model, "vmstat.thp_split_pmd");
		}
	assert_true(split > 0);
}

/* Tables that MADV_DONTNEED takes away, with whatever else stands in the way of that. */
static void test_pt_reclaim(void **state)
{
	const char *machine = machine_4k() ? machine_4k() : "qemu-power9";
	static const struct knob_setting reclaim = { KNOB_mm_pt_reclaim, PT_RECLAIM_ALL };
	static const struct knob_setting with[] = {
		{ KNOB_mm_madvise_lock, 0 }, { KNOB_mm_madvise_lock, 1 },
		{ KNOB_mmu_gather_table_batch_fail, 1 }, { KNOB_mm_fault_lock, 1 },
	};
	u64 reclaimed = 0;

	(void)state;
	for (u32 i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		struct knob_setting knobs[] = { reclaim, with[i] };

		run(machine, i + 1, knobs, 2);
		reclaimed += model_stat(&model, "gather.tables_reclaimed");
		for (u64 seed = 1; seed <= 3; seed++)
			storm(machine, seed, seed == 1, knobs, 2);
		reclaimed += model_stat(&model, "gather.tables_reclaimed");
	}
	if (!reclaimed)
		fail_msg("no table was reclaimed");
}

/* A page in a batch has a reference that reclaim and migration do not know of. */
static void test_lru(void **state)
{
	const char *machine = machine_4k() ? machine_4k() : "qemu-power9";
	u64 stolen = 0, read = 0, moved = 0;

	(void)state;
	for (u32 lru = LRU_DRAIN; lru <= LRU_BATCH; lru++)
		for (u64 seed = 1; seed <= 4; seed++) {
			struct knob_setting knobs[] = {
				{ KNOB_mm_lru, lru }, { KNOB_mm_pt_reclaim, PT_RECLAIM_ALL },
			};

			model_storm(&model, machine, seed, 150, seed & 1, knobs, 2);
			if (model.failed[0])
				fail_msg("mm.lru, seed %llu: %s", (unsigned long long)seed,
					 model.failed);
			/* What is in a batch at the end stays there. */
			assert_in_range(model.frames_after, model.frames_before,
					model.frames_before +
						TLBLAB_MAX_CPUS * LRU_BATCH_SIZE);
			stolen += model_stat(&model, "vmstat.pgsteal");
			read += model_stat(&model, "vmstat.pswpin");
			moved += model_stat(&model, "vmstat.pgmigrate_success");
		}
	assert_true(stolen && read && moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_huge_zero_page), cmocka_unit_test(test_pt_reclaim),
		cmocka_unit_test(test_lru),
	};

	return cmocka_run_group_tests_name("mm_model", tests, NULL, NULL);
}
