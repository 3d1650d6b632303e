/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this host quiet enough to measure what its CPUs do to each other?
 *
 * On a loaded one remote costs vanish, for the CPU that would have been interrupted runs
 * somebody else. hostload_sample() looks for some tenths of a second: how much of the CPUs others
 * have had, what the hypervisor kept, and what a thread that only spins on each CPU, all at the
 * same time, lost of its time. hostload_verdict() is a function of the sample alone.
 */
#ifndef TLBLAB_NATIVE_HOSTLOAD_H
#define TLBLAB_NATIVE_HOSTLOAD_H

#include <stddef.h>
#include <tlblab/types.h>

struct hostload {
	u32 cpus;
	double busy_pct;	/* of all CPUs, while we slept */
	double steal_pct;
	double lost_pct;	/* of the worst spinner's time, in gaps of 20 us or more */
	u32 lost_cpu;
};

#define HOSTLOAD_BUSY_PCT	5.0
#define HOSTLOAD_STEAL_PCT	1.0
#define HOSTLOAD_LOST_PCT	3.0

/* Jiffies of the first line of /proc/stat. False: that is no such line. */
struct cpu_ticks {
	u64 total, busy, steal;
};
bool hostload_parse_stat(const char *text, struct cpu_ticks *t);
/* busy_pct and steal_pct between two of them. */
void hostload_between(const struct cpu_ticks *a, const struct cpu_ticks *b,
		      struct hostload *load);

/* Takes about 0.7 s. False: /proc/stat says nothing, or no thread can be had. */
bool hostload_sample(struct hostload *load);
/* False: loaded, and why says how, in one clause. */
bool hostload_verdict(const struct hostload *load, char *why, size_t size);

#endif
