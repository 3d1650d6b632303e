// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Published figures, a line or two for each. Where they are from: docs/threads.md for the
 * threads; for INVLPGB the series' own figures; POWER9: 0b2f5a8a7927 (Nick Piggin); x86:
 * 3db6d5a5ecaf (Nadav Amit), LATR (ASPLOS 2018) and 4180bf1b655a (Wanpeng Li). Runs are
 * shorter than the published ones, and scaled. scripts/validation.sh says which figures have no
 * row, and why.
 */
#include "cli/validate.h"

#define FIGURE .how = VALIDATE_FIGURE
#define RATIO .how = VALIDATE_RATIO

/* ---- S0 ---- */

/* Of 100,000 iterations a thread. */
#define S0_TURNS "iterations=2500"
#define S0_SCALE (100000.0 / 2500)
#define S0_FIT "write off_lock read sleep_cpu latency sigma"

#define MMAP8(machine_, nested, metric_)                                        \
	{ .machine = machine_,                                                  \
	  .point = { .workload = "mmap8", .era = "5.2-rc2", .threads = 16,      \
		     .set = { "mmu_gather.nested=" nested },                    \
		     .params = { S0_TURNS } },                                  \
	  .metric = metric_, .scale = S0_SCALE }

#define ARM(what_, nested, metric_, published_)                                 \
	{ .section = "S0", .what = "mmap8, " what_, .unit = "s", \
	  .published = published_, .fitted = S0_FIT,                            \
	  .a = MMAP8("arm64-46", nested, metric_), FIGURE }
#define P9(what_, nested, metric_, published_)                                  \
	{ .section = "S0", .what = "mmap8, " what_, .unit = "s",        \
	  .published = published_, .fitted = "holds and CPU costs",             \
	  .a = MMAP8("power9-8335gth", nested, metric_), FIGURE }

#define EBIZZY(nested, metric_)                                                 \
	{ .machine = "x86-vm24",                                                \
	  .point = { .workload = "ebizzy", .era = "5.2-rc2", .threads = 96,     \
		     .set = { "mmu_gather.nested=" nested },                    \
		     .params = { "iterations=400" } },                          \
	  .metric = metric_, .scale = 1 }

/* ---- S1 ---- */

#define S1_SIZE "size=31G"
#define S1_SCALE (496.0 / 31)

#define THP(what_, machine_, era_, set_, published_, fitted_)                   \
	{ .section = "S1", .what = "496 GB, " what_, .unit = "s",     \
	  .published = published_, .fitted = fitted_, FIGURE,                   \
	  .a = { .machine = machine_,                                           \
		 .point = { .workload = "munmap-thp", .era = era_,              \
			    .threads = 128, .pin = true, .set = { set_ },       \
			    .params = { S1_SIZE } },                            \
		 .metric = "munmap_s", .scale = S1_SCALE } }

/* ---- S2: attach, write and detach 256 MB ---- */

#define SHM(ceiling, metric_, per_op_)                                          \
	{ .machine = "power10-105",                                             \
	  .point = { .workload = "shm-attach", .era = "5.14", .threads = 1,     \
		     .pin = true,                                               \
		     .set = { "powerpc.cpumask_trim=none",                      \
			      "powerpc.tlb_single_page_flush_ceiling=" ceiling, \
			      "powerpc.ceiling_compare=ge" },                   \
		     .params = { "iterations=100" } },                          \
	  .metric = metric_, .per_op = per_op_, .scale = 1 }
#define S2(what_, unit_, ceiling, metric_, per_op_, published_, fitted_)        \
	{ .section = "S2", .what = what_, .unit = unit_, .published = published_, \
	  .fitted = fitted_, FIGURE, .a = SHM(ceiling, metric_, per_op_) }

/* ---- POWER9: 0b2f5a8a7927, tables of munmap (hardware.md, 1) ---- */

/*
 * The published times are of munmaps that free no page table; ours of MADV_DONTNEED, which
 * frees none either. Their differences by the way to flush are of the flush alone.
 */
#define PIGGIN(threads_, pages_, ceilings)                                      \
	{ .machine = "power9-8335gth",                                          \
	  .point = { .workload = "mm-step", .era = "4.14", .threads = threads_, \
		     .pin = true,                                               \
		     .set = { "powerpc.erat_bug=off", "powerpc.stq_bug=off",    \
			      "powerpc.tlb_single_page_flush_ceiling=" ceilings, \
			      "powerpc.tlb_local_single_page_flush_ceiling=" ceilings }, \
		     .params = { "what=dontneed-private", "iterations=200",        \
				 "touch=" pages_ } },                           \
	  .metric = "real_s", .per_op = true, .scale = 1e6 }
#define PID_OVER_VA(pages_, published_)                                         \
	{ .section = "POWER9", .what = "munmap, local, PID - VA: " pages_ " pg", \
	  .unit = "us", .published = published_, .how = VALIDATE_DIFFERENCE,    \
	  .a = PIGGIN(1, pages_, "0"), .b = PIGGIN(1, pages_, "256") }
#define VA_OVER_PID(pages_, published_)                                         \
	{ .section = "POWER9", .what = "munmap, global, VA - PID: " pages_ " pg", \
	  .unit = "us", .published = published_, .how = VALIDATE_DIFFERENCE,    \
	  .fitted = "tlbie_va, tlbie_pid, tlbsync", .a = PIGGIN(2, pages_, "64"), \
	  .b = PIGGIN(2, pages_, "0") }

/* ---- INVLPGB (Rik van Riel, 2025; 4afeb0ed1753): thousands of loops a second ---- */

#define FLUSH2(threads_, lru, broadcast)                                        \
	{ .machine = "milan-36",                                                \
	  .point = { .workload = "tlb-flush2", .era = "6.12",                   \
		     .threads = threads_, .pin = true,                          \
		     .set = { "mm.lru=" lru, "x86.broadcast_flush=" broadcast }, \
		     .params = { "iterations=4" } },                            \
	  .metric = "ops_per_s", .scale = 1e-3 }
#define LOOPS(what_, threads_, lru, broadcast, published_, fitted_)             \
	{ .section = "INVLPGB", .what = what_, .unit = "k/s",    \
	  .published = published_, .fitted = fitted_, FIGURE,                   \
	  .a = FLUSH2(threads_, lru, broadcast) }

/* ---- x86 ---- */

/* A page read and given back by one of so many threads, while the others spin. */
#define FLUSH_PAGE(machine_, era_, threads_, second, set_)                      \
	{ .machine = machine_,                                                  \
	  .point = { .workload = "probe", .era = era_, .threads = threads_,     \
		     .pin = true, .set = { set_ },                              \
		     .params = { "what=flush", "pages=1", "iterations=500",     \
				 "cpu=" second } },                             \
	  .metric = "real_s", .per_op = true, .scale = 1e6 }
/* What the interrupts take: with so many threads, less alone. The second is on that CPU. */
#define SHOOTDOWN(what_, machine_, era_, threads_, second, published_, fitted_) \
	{ .section = "x86", .what = what_, .unit = "us",                        \
	  .published = published_, .fitted = fitted_, .how = VALIDATE_DIFFERENCE, \
	  .a = FLUSH_PAGE(machine_, era_, threads_, second, NULL),              \
	  .b = FLUSH_PAGE(machine_, era_, 1, "1", NULL) }

/* ---- S3: whole runs ---- */

/*
 * numa01 has no placement that suits, and where a run settles is chance: medians. mem_link was
 * chosen for its time in 3.19 under the assumption that its pages spread evenly.
 */
#define S3_ERA_RC1	"4.0-rc1"
#define S3_SET_RC1	{ "numa.balancing=on" }
#define S3_ERA_NOCLEAR	"4.0-rc1"
#define S3_SET_NOCLEAR                                                          \
	{ "numa.balancing=on", "numa.prot_none_update=rmw", "numa.preserve_write=mark" }
#define S3_ERA_V3_19	"3.19"
#define S3_SET_V3_19	{ "numa.balancing=on" }
#define S3_ERA_RC4	"4.0-rc4"
#define S3_SET_RC4	{ "numa.balancing=on" }
#define S3_ERA_FINAL	"4.0"
#define S3_SET_FINAL	{ "numa.balancing=on" }

#define S3_RUN(machine_, load, threads_, variant, param, metric_, seeds_)       \
	{ .machine = machine_,                                                  \
	  .point = { .workload = load, .era = S3_ERA_##variant,                 \
		     .threads = threads_, .set = S3_SET_##variant,              \
		     .params = { param } },                                     \
	  .metric = metric_, .scale = 1, .seeds = seeds_ }
#define S3_NUMA(load, threads, variant, metric)                                 \
	S3_RUN("x86-4s48", load, threads, variant, "huge=1", metric, 5)
#define S3_NUMA01(variant, metric) S3_NUMA("numa01", 48, variant, metric)
/* Whole runs, as published times and counts are; and what a profile sees later. */
#define S3_XFS(variant, metric_)                                                \
	{ .machine = "x86-vm16-numa",                                           \
	  .point = { .workload = "xfs-repair", .era = S3_ERA_##variant,         \
		     .threads = 34, .set = S3_SET_##variant,                    \
		     .params = { "iterations=40000", "warm=0" } },              \
	  .metric = metric_, .scale = 1, .seeds = 1 }
#define S3_XFS_SENDING(variant)                                                 \
	{ .machine = "x86-vm16-numa",                                           \
	  .point = { .workload = "xfs-repair", .era = S3_ERA_##variant,         \
		     .threads = 34, .set = S3_SET_##variant,                    \
		     .params = { "iterations=15000" } },                        \
	  .metric = "account.ipi_send", .of_cpu = true, .scale = 100, .seeds = 1 }
#define S3_SENDING(name, variant, percent)                                      \
	{ .section = "S3", .what = "xfs-repair, " name ": sending IPIs", .unit = "%", \
	  .published = percent, FIGURE, .a = S3_XFS_SENDING(variant) }

#define S3_ROW(load, threads, what_, variant, metric, published_, fitted_)      \
	{ .section = "S3", .what = load " " what_, .unit = "s",                 \
	  .published = published_, .fitted = fitted_, FIGURE,                   \
	  .a = S3_NUMA(load, threads, variant, metric) }
/* Elapsed, user and system time of a program in a variant. */
#define S3_TIMES(load, threads, name, variant, elapsed, user, sys, fitted_)     \
	S3_ROW(load, threads, name ": real", variant, "real_s", elapsed, fitted_), \
	S3_ROW(load, threads, name ": user", variant, "user_s", user, fitted_), \
	S3_ROW(load, threads, name ": sys", variant, "sys_s", sys, NULL)
#define S3_OVER(what_, run, variant, metric, published_)                        \
	{ .section = "S3", .what = what_, .unit = "",                           \
	  .published = published_, RATIO, .a = run(variant, metric),            \
	  .b = run(V3_19, metric) }

/* ---- S4: 10,000 rounds of 256 pages ---- */

#define S4_RUN(machine_, defer)                                                 \
	{ .machine = machine_,                                                  \
	  .point = { .workload = "pageout", .era = "6.0", .threads = 1,         \
		     .pin = true,                                               \
		     .set = { "arm64.should_defer=" defer,                      \
			      "arm64.batched_pending=dsb" },                    \
		     .params = { "iterations=500" } },                          \
	  .metric = "per_page_us", .scale = 10000 * 256 * 1e-6 }
#define S4(machine_, before, saved)                                             \
	{ .section = "S4", .what = "pageout, before", .unit = "s",              \
	  .published = before, .fitted = "zram_write and the flush", FIGURE,    \
	  .a = S4_RUN(machine_, "never") },                                     \
	{ .section = "S4", .what = "pageout, saved", .unit = "s",               \
	  .published = saved, .how = VALIDATE_DIFFERENCE,                       \
	  .a = S4_RUN(machine_, "never"), .b = S4_RUN(machine_, "always") }

const struct validate_row validate_rows[] = {
	ARM("v2, ranged flush: real", "force_range_tables", "real_s", 153.784),
	ARM("v2, ranged flush: sys", "force_range_tables", "sys_s", 962.6),
	ARM("v3, whole mm: real", "fullmm_tables", "real_s", 46.902),
	ARM("v3, whole mm: sys", "fullmm_tables", "sys_s", 107.64),
	P9("before: real", "force_range", "real_s", 37.382),
	P9("before: user", "force_range", "user_s", 1.420),
	P9("before: sys", "force_range", "sys_s", 54.658),
	{ .section = "S0", .what = "mmap8, v3 over before: real", .unit = "",
	  .published = 37.119 / 37.382, RATIO,
	  .a = MMAP8("power9-8335gth", "fullmm_tables", "real_s"),
	  .b = MMAP8("power9-8335gth", "force_range", "real_s") },
	{ .section = "S0", .what = "mmap8, v3 over before: sys", .unit = "",
	  .published = 55.698 / 54.658, RATIO,
	  .a = MMAP8("power9-8335gth", "fullmm_tables", "sys_s"),
	  .b = MMAP8("power9-8335gth", "force_range", "sys_s") },
	{ .section = "S0", .what = "ebizzy: whole mm over v2", .unit = "",
	  .published = 225119.0 / 225606, RATIO,
	  .a = EBIZZY("fullmm_tables", "ops_per_s"),
	  .b = EBIZZY("force_range_tables", "ops_per_s") },
	{ .section = "S0", .what = "ebizzy, sys: whole mm over v2", .unit = "",
	  .published = 1.14 / 0.69, RATIO,
	  .a = EBIZZY("fullmm_tables", "sys_s"),
	  .b = EBIZZY("force_range_tables", "sys_s") },
	{ .section = "S0", .what = "mmap8: nearly equal, real", .unit = "",
	  .published = 1, RATIO,
	  .a = MMAP8("x86-vm24", "fullmm_tables", "real_s"),
	  .b = MMAP8("x86-vm24", "force_range_tables", "real_s") },
	{ .section = "S0", .what = "the hang: faults a second", .unit = "/s",
	  .published = 724000, FIGURE,
	  .a = { .machine = "arm64-46",
		 .point = { .workload = "mmap5", .era = "5.2-rc2", .threads = 2,
			    .params = { "rounds=20", "limit=1000" } },
		 .metric = "faults_per_s", .scale = 1 } },

	THP("Bras, before", "power9-guest128-exits", "5.3", NULL, 275, "ipi_send_target"),
	THP("Bras, v1", "power9-guest128-exits", "5.3",
	    "powerpc.pte_serialize=count_in_lookup", 0.418, NULL),
	THP("Bras, v6", "power9-guest128-exits", "5.3",
	    "powerpc.pte_serialize=count_percpu", 0.430, NULL),
	THP("Kumar, before", "power9-guest128", "5.3", NULL, 82.15, "ipi_send_target"),
	THP("Kumar, no IPI, no flush", "power9-guest128", "5.8",
	    "powerpc.pmd_zap_flush=off", 0.039, "zap_pmd"),
	THP("Kumar, a flush per PMD", "power9-guest128", "5.8", NULL, 0.369, NULL),

	S2("units a second, ceiling 32", "/s", "32", "ops_per_s", false, 318.7, "fault_path"),
	/* Both tlbies are derived from the stalls that perf counted in these runs. */
	S2("units a second, ceiling 34", "/s", "34", "ops_per_s", false, 179,
	   "tlbie_va, tlbie_pid"),
	{ .section = "S2", .what = "32 over 34", .unit = "", .published = 1.78, RATIO,
	  .fitted = "tlbie_va, tlbie_pid",
	  .a = SHM("32", "ops_per_s", false), .b = SHM("34", "ops_per_s", false) },
	S2("tlbies a unit, 34", "", "34", "flush.tlbie_ric0", true, 4143, NULL),
	S2("tlbies a unit, 32", "", "32", "flush.tlbie_ric0", true, 162, NULL),

	VA_OVER_PID("8", 5.2 - 2.6),
	VA_OVER_PID("32", 15.7 - 4.1),
	PID_OVER_VA("1", 3.2 - 1.4),
	PID_OVER_VA("8", 3.6 - 1.9),
	PID_OVER_VA("32", 5.2 - 3.7),

	S3_TIMES("numa01", 48, "rc1", RC1, 755.96, 32883.59, 602.44, NULL),
	S3_TIMES("numa01", 48, "noclear", NOCLEAR, 602.2, 27401.21, 182.16, NULL),
	S3_TIMES("numa01", 48, "3.19", V3_19, 558.84, 25695.96, 194.7, "mem_link"),
	S3_TIMES("numa01-threadlocal", 48, "rc1", RC1, 382.22, 17453.2, 78.1, NULL),
	S3_TIMES("numa01-threadlocal", 48, "noclear", NOCLEAR, 384.98, 17491.98, 84.84, NULL),
	S3_TIMES("numa01-threadlocal", 48, "3.19", V3_19, 382.54, 17404.36, 98.52, NULL),
	S3_TIMES("numa02", 48, "rc1", RC1, 49.38, 2063.7, 6.47, NULL),
	S3_TIMES("numa02", 48, "noclear", NOCLEAR, 49.23, 2059.94, 9.74, NULL),
	S3_TIMES("numa02", 48, "3.19", V3_19, 49.83, 2037.65, 9.28, "mem_node"),
	S3_TIMES("numa02-smt", 24, "rc1", RC1, 47.7, 983.7, 5.06, NULL),
	S3_TIMES("numa02-smt", 24, "noclear", NOCLEAR, 46.82, 967.95, 3.97, NULL),
	S3_TIMES("numa02-smt", 24, "3.19", V3_19, 46.59, 981.02, 3.79, NULL),
	S3_OVER("numa01, rc1/3.19: real", S3_NUMA01, RC1, "real_s", 755.96 / 558.84),
	S3_OVER("numa01, rc1/3.19: sys", S3_NUMA01, RC1, "sys_s", 602.44 / 194.70),
	S3_OVER("numa01, noclear/3.19: real", S3_NUMA01, NOCLEAR, "real_s", 602.2 / 558.84),
	S3_OVER("numa01, noclear/3.19: sys", S3_NUMA01, NOCLEAR, "sys_s", 182.16 / 194.70),
	S3_OVER("numa01, rc4/3.19: real", S3_NUMA01, RC4, "real_s", 532.41 / 558.84),
	S3_OVER("numa01, rc4/3.19: sys", S3_NUMA01, RC4, "sys_s", 158.9 / 194.70),
	S3_SENDING("rc1", RC1, 56.07),
	S3_SENDING("noclear", NOCLEAR, 52.69),
	S3_SENDING("3.19", V3_19, 9.61),
	S3_OVER("xfs-repair, rc1/3.19: real", S3_XFS, RC1, "real_s", 507.85 / 447.66),
	S3_OVER("xfs-repair, rc1/3.19: sys", S3_XFS, RC1, "sys_s", 519.88 / 202.93),
	S3_OVER("xfs-repair, rc1/3.19: migrated", S3_XFS, RC1,
		"vmstat.numa_pages_migrated", 32.9 / 1.23),
	S3_OVER("xfs-repair, rc4/3.19: real", S3_XFS, RC4, "real_s", 460.94 / 447.66),
	S3_OVER("xfs-repair, rc4/3.19: sys", S3_XFS, RC4, "sys_s", 282.45 / 202.93),
	S3_OVER("xfs-repair, rc4/3.19: migrated", S3_XFS, RC4,
		"vmstat.numa_pages_migrated", 20.1 / 1.23),
	S3_OVER("xfs-repair, final/3.19: real", S3_XFS, FINAL, "real_s", 442.36 / 447.66),
	S3_OVER("xfs-repair, final/3.19: sys", S3_XFS, FINAL, "sys_s", 204.68 / 202.93),
	S3_OVER("xfs-repair, final/3.19: migrated", S3_XFS, FINAL,
		"vmstat.numa_pages_migrated", 3.56 / 1.23),

	S4("snapdragon888", 14.69, 14.69 - 13.80),
	S4("kunpeng920", 13.460, 13.460 - 11.771),

	/*
	 * wake_jitter_pct was chosen as what leaves INVLPGB alone no gain, and the two published
	 * figures are one number: so what lru_move meets in one, it meets in both.
	 */
	LOOPS("before, 36 threads", 36, "drain", "off", 527, "lru_move, wake_jitter_pct"),
	LOOPS("no LRU drain", 36, "batch", "off", 731, NULL),
	LOOPS("INVLPGB alone", 36, "drain", "on", 527, "lru_move, wake_jitter_pct"),
	LOOPS("both", 36, "batch", "on", 1157, NULL),
	{ .section = "INVLPGB", .what = "INVLPGB alone: gain",
	  .unit = "", .published = 527.0 / 527, RATIO, .fitted = "lru_move, wake_jitter_pct",
	  .a = FLUSH2(36, "drain", "on"), .b = FLUSH2(36, "drain", "off") },
	LOOPS("interrupts, 1 thread", 1, "batch", "off", 315, NULL),
	LOOPS("interrupts, 4", 4, "batch", "off", 644, NULL),
	LOOPS("interrupts, 16", 16, "batch", "off", 737, NULL),
	LOOPS("interrupts, 72", 72, "batch", "off", 609, NULL),
	LOOPS("INVLPGB, 1 thread", 1, "batch", "on", 304, NULL),
	LOOPS("INVLPGB, 4", 4, "batch", "on", 1032, NULL),
	LOOPS("INVLPGB, 16", 16, "batch", "on", 1368, "line_near"),
	LOOPS("INVLPGB, 72", 72, "batch", "on", 993, NULL),

	{ .section = "x86", .what = "DONTNEED, 3 busy remotes, no PTI",
	  .unit = "us", .published = 1.60, FIGURE,
	  .a = FLUSH_PAGE("x86-2s", "6.12", 4, "1", "x86.pti=off") },
	/* ipi_send_target of x86-2s is (6 - 2.7) / 15; the rest is of the 2.7 us. */
	SHOOTDOWN("one other CPU, 2 sockets (LATR)", "x86-2s", "6.12", 2, "20", 2.7,
		  "ipi_send_target, ipi_near, ipi_far"),
	SHOOTDOWN("shootdown, 16 CPUs (LATR)", "x86-2s", "6.12", 16, "1", 6,
		  "ipi_send_target, ipi_near, ipi_far"),
	/* The same costs on eight sockets. */
	SHOOTDOWN("one other CPU, 8 sockets (LATR)", "x86-8s120", "4.14", 2, "15", 6.6, NULL),
	SHOOTDOWN("shootdown, 120 CPUs (LATR)", "x86-8s120", "4.14", 120, "1", 80, NULL),
	/* The mean of x2APIC clusters and paravirtual, 92.8 and 75.7; of 2.2 and 2.5. */
	SHOOTDOWN("one other of 80 vCPUs", "x86-vm80", "5.2-rc2", 2, "1", 2.35,
		  "ipi_send_target, ipi_near"),
	SHOOTDOWN("all others of 80 vCPUs", "x86-vm80", "5.2-rc2", 80, "1", 84.3,
		  "ipi_send_target, ipi_near"),

	{ 0 },
};
