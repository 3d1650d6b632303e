/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the timed machine is: host CPU time per event of its clock, from 2 CPUs
 * to 1,024.
 *
 * First bare, without a core: each CPU runs a thread that loops over what a system
 * call does to the machine: an atomic on a line shared by 8 CPUs, a lock shared by 8
 * CPUs, loads, a charge, a stretch of user code. Then mmap8 with a thread for each
 * of N CPUs of big-1024, whose 1,024 CPUs are there in each row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlblab/machine_abi.h>

#include "bench/lab.h"
#include "machine/machine.h"

#define GROUP 8
#define TURNS 1200000	/* of all CPUs */
#define ITERATIONS 16384	/* of mmap8's threads together */

struct group {
	struct mach_lock lock;
	u64 pad[4];
	u64 word;
	u64 guarded __guarded_by(lock);
	u64 pad2[6];
};

struct load {
	struct group *group;
	u32 cpus, turns;
	u32 id[2048];
	u32 ready;
};

static void *boot(const struct core_boot *b, void **init_task, const char **error)
{
	(void)b;
	(void)error;
	*init_task = mach_kalloc(16, 0);
	return mach_kalloc(16, 0);
}

static void *online(void)
{
	return mach_kalloc(16, 0);
}

static int fault(u64 va, u32 flags)
{
	(void)va;
	(void)flags;
	return MACH_SIGSEGV;
}

static void context_switch(void *prev, void *next)
{
	(void)prev;
	(void)next;
}

static const struct core_module core = {
	.abi = TLBLAB_ABI,
	.arch = "arm64",
	.version = "bench",
	.boot = boot,
	.cpu_online = online,
	.fault = fault,
	.context_switch = context_switch,
};

static struct load load;

static void turn(struct group *g)
{
	mach_rmw(&g->word, MACH_ADD, 1, 0, MACH_FULL);
	mach_charge(SYSCALL_ENTRY, 1);
	mach_spin_lock(&g->lock);
	g->guarded++;
	mach_charge(VMA_FIND, 1);
	mach_spin_unlock(&g->lock);
	mach_load(&g->word, MACH_RELAXED);
	mach_charge(SYSCALL_EXIT, 1);
	mach_env()->ops->user_run(400000);
}

static void worker(void *arg)
{
	struct group *g = &load.group[*(u32 *)arg / GROUP];

	for (u32 i = 0; i < load.turns; i++)
		turn(g);
}

static void first(void *arg)
{
	u64 mask[TLBLAB_MAX_CPUS / 64];

	(void)arg;
	load.group = mach_kalloc(sizeof(*load.group) * (load.cpus / GROUP + 1), 0);
	machine_window_open();
	for (u32 i = 1; i < load.cpus; i++) {
		memset(mask, 0, sizeof(mask));
		mask[i / 64] |= 1ULL << (i % 64);
		load.id[i] = i;
		mach_thread_create(mach_kalloc(16, 0), worker, &load.id[i], mask);
	}
	worker(&load.id[0]);
}

static struct machine_desc *describe(u32 n)
{
	static const u32 ns[][2] = {
		{ HW_LOAD, 1 }, { HW_STORE, 1 }, { HW_ATOMIC_LOCAL, 8 },
		{ HW_LINE_NEAR, 60 }, { HW_LINE_FAR, 150 },
		{ HW_LOCK_HANDOFF, 10 }, { HW_SCHED_IN, 1000 },
		{ HW_SCHED_OUT, 1000 }, { HW_WAKE, 200 }, { HW_WAKE_LATENCY, 1000 },
	};
	struct machine_desc *desc = calloc(1, sizeof(*desc));

	if (!desc)
		exit(2);
	strcpy(desc->name, "bench");
	strcpy(desc->arch, "arm64");
	desc->nr_cpus = n;
	desc->nr_nodes = desc->nr_packages = 1;
	for (u32 i = 0; i < n; i++)
		desc->place[i].core = i;
	desc->memory_bytes = 1ULL << 30;
	desc->page_shift = 12;
	desc->va_bits = 48;
	desc->asid_bits = 16;
	desc->l1 = (struct tlb_geometry){ 1, 48 };
	desc->jitter_pct = 30;
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		desc->hw_cost[ns[i][0]].ps = ns[i][1] * 1000ULL;
	desc->core_cost[MACH_COST_SYSCALL_ENTRY].ps = 150000;
	desc->core_cost[MACH_COST_SYSCALL_EXIT].ps = 150000;
	desc->core_cost[MACH_COST_VMA_FIND].ps = 90000;
	return desc;
}

static int measure(u32 n)
{
	struct machine_desc *desc = describe(n);
	char error[200];
	struct machine *m;
	double start, took;
	u64 events;
	int err;

	memset(&load, 0, sizeof(load));
	load.cpus = n;
	load.turns = TURNS / n;
	m = machine_create(desc, &core, NULL, 1, error, sizeof(error));
	if (!m) {
		fprintf(stderr, "machine_events: %s\n", error);
		return 2;
	}
	start = lab_cpu_s();
	err = machine_run(m, first, NULL, NULL);
	took = lab_cpu_s() - start;
	if (err) {
		fprintf(stderr, "machine_events: %s\n", machine_message(m));
		return 3;
	}
	events = machine_stats(m)->events;
	printf("%6u %12llu %12.2f %10.1f %10.1f\n", n, (unsigned long long)events,
	       (double)events / took / 1e6, took / (double)events * 1e9,
	       took / (TURNS / n * n) * 1e9);
	machine_destroy(m);
	free(desc);
	return 0;
}

static void measure_mmap8(u32 threads)
{
	char text[40];
	const char *params[] = { text, NULL };
	struct lab_point p = {
		.workload = "mmap8", .machine = "big-1024", .era = "6.12",
		.threads = threads, .seed = 1, .params = params,
	};
	static struct metrics ms;
	double start = lab_cpu_s(), took, events;

	snprintf(text, sizeof(text), "iterations=%u", ITERATIONS / threads);
	lab_run(&p, &ms);
	took = lab_cpu_s() - start;
	events = lab_get(&ms, "machine.events");
	printf("%6u %12.0f %12.2f %10.1f %10.1f %10.3f\n", threads, events,
	       events / took / 1e6, took / events * 1e9, events / lab_get(&ms, "ops"),
	       lab_get(&ms, "real_s") / took);
}

int main(void)
{
	static const u32 cpus[] = { 2, 4, 8, 16, 64, 256, 1024 };
	const size_t n = sizeof(cpus) / sizeof(cpus[0]);
	int err = 0;

	printf("timed machine: host CPU time per event, without a core\n"
	       "%6s %12s %12s %10s %10s\n", "CPUs", "events", "M events/s", "ns/event",
	       "ns/turn");
	for (size_t i = 0; i < n && !err; i++)
		err = measure(cpus[i]);
	printf("\nmmap8 by as many threads on big-1024, era 6.12, set-up included\n"
	       "%6s %12s %12s %10s %10s %10s\n", "CPUs", "events", "M events/s", "ns/event",
	       "events/op", "sim/host");
	for (size_t i = 0; i < n && !err; i++)
		measure_mmap8(cpus[i]);
	printf("\nsim/host: simulated seconds a second of host CPU. Peak memory %.0f MiB.\n",
	       lab_peak_mib());
	return err;
}
