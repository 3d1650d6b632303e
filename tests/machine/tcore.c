/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tcore.h"

#include <stdio.h>

#include <tlblab/machine_abi.h>

static void *core_boot(const struct core_boot *boot, void **init_task,
		       const char **error)
{
	(void)boot;
	(void)error;
	*init_task = mach_kalloc(64, 0);
	return mach_kalloc(64, 0);
}

static void *core_online(void)
{
	return mach_kalloc(64, 0);
}

int (*tcore_fault)(u64 va, u32 flags);

static int core_fault(u64 va, u32 flags)
{
	return tcore_fault ? tcore_fault(va, flags) : MACH_SIGSEGV;
}

void (*tcore_tick)(u64 now_ms, u64 ran_ms);

static void core_tick(u64 now_ms, u64 ran_ms)
{
	if (tcore_tick)
		tcore_tick(now_ms, ran_ms);
}

static void core_context_switch(void *prev, void *next)
{
	(void)prev;
	(void)next;
	mach_charge(SWITCH_MM, 1);
}

static u32 core_stats(struct core_stat *stats, u32 n)
{
	if (n)
		stats[0] = (struct core_stat){ "test.cpu", mach_env()->cpu };
	return 1;
}

const struct core_module *tcore(void)
{
	static const struct knob *const knobs[] = { NULL };
	static const struct era eras[] = { { 0 } };
	static const struct core_module core = {
		.abi = TLBLAB_ABI,
		.arch = "arm64",
		.version = "test",
		.knobs = knobs,
		.eras = eras,
		.boot = core_boot,
		.cpu_online = core_online,
		.fault = core_fault,
		.tick = core_tick,
		.context_switch = core_context_switch,
		.stats = core_stats,
	};

	return &core;
}

static void set_costs(struct machine_desc *desc)
{
	static const struct {
		u32 cost;
		u64 ns;
	} hw[] = {
		{ HW_LOAD, 1 }, { HW_STORE, 1 }, { HW_SCAN, 1 },
		{ HW_ATOMIC_LOCAL, 8 }, { HW_LINE_NEAR, 60 },
		{ HW_LINE_FAR, 150 }, { HW_LINE_SMT, 25 },
		{ HW_LOCK_HANDOFF, 10 }, { HW_FENCE, 12 },
		{ HW_SCHED_OUT, 1700 }, { HW_SCHED_IN, 1400 }, { HW_WAKE, 1500 },
		{ HW_WAKE_LATENCY, 2300 }, { HW_TIMER_TICK, 900 },
		{ HW_RCU_GRACE, 50000 }, { HW_IPI_SEND_BASE, 300 },
		{ HW_IPI_SEND_TARGET, 100 }, { HW_IPI_NEAR, 700 },
		{ HW_IPI_FAR, 1200 }, { HW_IPI_IDLE, 500 },
		{ HW_IRQ_ENTRY, 400 }, { HW_ACCESS, 2 }, { HW_TLB_L2, 4 },
		{ HW_WALK_BASE, 10 }, { HW_WALK_LEVEL, 5 },
		{ HW_TLBI_ISSUE, 5 }, { HW_TLBI_RATE, 20 }, { HW_DVM_VA, 300 },
		{ HW_DVM_ASID, 350 }, { HW_DVM_RANGE, 400 },
		{ HW_DSB_ISHST, 20 }, { HW_DSB_ISH, 100 }, { HW_DSB_NSH, 30 },
		{ HW_TLBI_LOCAL, 10 }, { HW_ISB, 10 },
	};

	for (u32 i = 0; i < sizeof(hw) / sizeof(hw[0]); i++)
		desc->hw_cost[hw[i].cost].ps = hw[i].ns * NS;
	desc->core_cost[MACH_COST_USER_LOOP].ps = 100 * NS;
	desc->core_cost[MACH_COST_SWITCH_MM].ps = 200 * NS;
	desc->core_cost[MACH_COST_FAULT_PATH].ps = 1000 * NS;
}

struct machine_desc *tdesc(u32 n)
{
	struct machine_desc *desc = calloc(1, sizeof(*desc));

	assert_non_null(desc);
	strcpy(desc->name, "test");
	strcpy(desc->arch, "arm64");
	desc->nr_cpus = n;
	desc->nr_packages = desc->nr_nodes = n >= 4 ? 2 : 1;
	for (u32 i = 0; i < n; i++) {
		desc->place[i].core = i;
		desc->place[i].node = desc->place[i].package =
			n >= 4 && i >= n / 2;
	}
	desc->memory_bytes = 1ULL << 30;
	desc->page_shift = 12;
	desc->va_bits = 48;
	desc->l1 = (struct tlb_geometry){ 1, 48 };
	desc->l2 = (struct tlb_geometry){ 256, 4 };
	for (u32 i = 1; i < 4; i++)
		desc->walk_cache[i] = 16;
	desc->asid_bits = 16;
	desc->tick_us = 1000;
	desc->timeslice_us = 3000;
	set_costs(desc);
	return desc;
}

void tdesc_free(struct machine_desc *desc)
{
	free(desc);
}

struct machine *tmachine(const struct machine_desc *desc, u64 seed)
{
	static const s64 knobs[1];
	char error[200] = "";
	struct machine *m = machine_create(desc, tcore(), knobs, seed, error,
					   sizeof(error));

	if (!m)
		fail_msg("machine_create: %s", error);
	return m;
}

u32 tspawn(void (*fn)(void *arg), void *arg, s32 cpu)
{
	u64 mask[MASK_WORDS] = { 0 };

	if (cpu >= 0)
		mask_set(mask, cpu);
	return mach_thread_create(mach_kalloc(64, 0), fn, arg,
				  cpu >= 0 ? mask : NULL);
}

void trun(u32 n, void (*fn)(void *arg), void *arg)
{
	struct machine_desc *desc = tdesc(n);
	struct machine *m = tmachine(desc, 1);

	if (machine_run(m, fn, arg, NULL))
		fail_msg("machine_run: %s", machine_message(m));
	machine_destroy(m);
	tdesc_free(desc);
}
