/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every limit of tlblab, in one place.
 *
 * A limit that a user can meet (CPUs, threads, pages) is checked before anything
 * runs and is an operating error; one that only our own code can meet is an
 * assertion.
 */
#ifndef TLBLAB_LIMITS_H
#define TLBLAB_LIMITS_H

/* CPUs of a simulated machine. A cpumask has this many bits. */
#define TLBLAB_MAX_CPUS		2048

/* Memory nodes of a simulated machine. */
#define TLBLAB_MAX_NODES	16

/* Threads of a simulated machine, idle tasks not counted. */
#define TLBLAB_MAX_THREADS	4096

/*
 * Size and alignment of the stack of a simulated thread, in bytes. It is part
 * of the seam: struct mach_env is found by masking the stack pointer. The first
 * page holds the environment, the second is a guard; only touched pages cost
 * host memory. Generous, because sanitizers make frames large.
 */
#define MACH_STACK_SIZE		(256 * 1024UL)

/* Levels of a page table, root included. */
#define TLBLAB_MAX_PT_LEVELS	5

/* Words that one mach_wait_change() can watch. */
#define MACH_MAX_WATCH		4

/*
 * Faults in a row of one user access after which a timed run is ended as stuck: a
 * stale translation that nothing will drop. A second or two of host time.
 */
#define TLBLAB_STUCK_FAULTS	1000000

/* Knobs of a core, and columns of one run. */
#define TLBLAB_MAX_KNOBS	128
#define TLBLAB_MAX_COLUMNS	16

#endif
