/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module: boot, counters, and the one symbol that it exports. */
#include "core.h"
#include "task.h"

#include <tlblab/machine_abi.h>

#include "mm/huge_mm.h"
#include "mm/lru.h"
#include "mm/swap.h"
#include "mmu_context.h"
#include "pgtable.h"

/* One architecture's headers are in the include path; which, its guard tells. */
#if defined(CORE_ARCH_X86_PGTABLE_H)
#define ARCH_NAME "x86"
#elif defined(CORE_ARCH_ARM64_PGTABLE_H)
#define ARCH_NAME "arm64"
#elif defined(CORE_ARCH_POWERPC_PGTABLE_H)
#define ARCH_NAME "powerpc"
#endif

static const char *boot(struct kernel *k, const s64 *knobs)
{
	const char *error = knobs_check(knobs);

	if (error)
		return error;
	memcpy(k->knobs, knobs, sizeof(k->knobs));
	arch_init_geometry(&k->geo);
	k->cpu = kzalloc(nr_cpu_ids * sizeof(*k->cpu));
	page_init(k);
	page_wait_init(k);
	swap_init(k);
	error = arch_boot();
	if (error)
		return error;
	k->init_mm = mm_alloc();
	k->init_task = task_alloc(mm_alloc());
	if (!k->init_mm || !k->init_task->mm)
		return "not enough memory for the first page tables";
	return NULL;
}

/* What was allocated is the machine's to take back when boot fails. */
static void *core_boot(const struct core_boot *args, void **init_task,
		       const char **error)
{
	struct kernel *k = kzalloc(sizeof(*k));

	/* Everything below finds the kernel through it. */
	mach_env()->core = k;
	*error = boot(k, args->knobs);
	if (*error) {
		mach_env()->core = NULL;
		return NULL;
	}
	*init_task = k->init_task;
	return k;
}

static void *core_cpu_online(void)
{
	return idle_init();
}

static void core_context_switch(void *prev, void *next)
{
	context_switch(prev, next);
}

static const char *const stat_names[NR_CORE_STATS] = {
#define X(id, name) name,
	CORE_STATS(X)
#undef X
};

static u32 core_stats(struct core_stat *stats, u32 n)
{
	for (u32 i = 0; i < NR_CORE_STATS && i < n; i++) {
		stats[i].name = stat_names[i];
		stats[i].value = 0;
		for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++)
			stats[i].value += kernel()->cpu[cpu].stat[i];
	}
	return NR_CORE_STATS;
}

static void drain_quiet(void)
{
	lru_drain_quiet();
	huge_zero_quiet();
#ifdef ARCH_HAS_IOREMAP
	sys_ioremap_quiet();
#endif
}

__attribute__((visibility("default")))
const struct core_module *tlblab_core(const struct mach_ops *ops)
{
	static const struct core_module module = {
		.abi = TLBLAB_ABI,
		.arch = ARCH_NAME,
		.version = "6.12",
		.knobs = core_knobs,
		.eras = core_eras,
		.boot = core_boot,
		.cpu_online = core_cpu_online,
		.fault = core_fault,
		.tick = core_tick,
		.context_switch = core_context_switch,
		.sys = {
			.mmap = sys_mmap,
			.munmap = sys_munmap,
			.mprotect = sys_mprotect,
			.madvise = sys_madvise,
			.mremap = sys_mremap,
			.reclaim = sys_reclaim,
			.move_pages = sys_move_pages,
			.msync = sys_msync,
			.numa_hint = sys_numa_hint,
			.set_mempolicy = sys_set_mempolicy,
			.gup_fast = sys_gup_fast,
			.gup_write = sys_gup_write,
			.drop_caches = sys_drop_caches,
#ifdef ARCH_HAS_IOREMAP
			.ioremap = sys_ioremap,
			.iounmap = sys_iounmap,
#endif
			.pte_lookup = sys_pte_lookup,
			.shmget = sys_shmget,
			.shmat = sys_shmat,
			.shmdt = sys_shmdt,
			.shm_rmid = sys_shm_rmid,
			.clone = sys_clone,
			.exit = sys_exit,
		},
		.drain_all = drain_quiet,
		.stats = core_stats,
		.objects = core_objects,
	};

	(void)ops;
	return &module;
}
