/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this host costs, as a machine description.
 *
 * The loops of workload/probe.c run on the host; then the same loops run on a model of it, and
 * of each one the costs that it is mostly about, its sinks, are scaled until the model
 * takes the time that the host took. So a sink is "the measured time, less what other costs
 * cover", by the model's own account of what a loop does, and what is measured twice is
 * counted once. Two passes over the table settle what depends on each other.
 *
 * Nothing is fitted to a workload that `tlblab validate --native` predicts.
 *
 *	host_describe()		CPUs, memory, TLBs, features, the kernel's era
 *	calibration_init()	a description with all costs from a template
 *	calibrate_measure()	runs each probe several times, by fn
 *	calibrate_solve()	sinks
 *	calibration_write()	YAML that machine_desc_load() reads
 *
 * host_*() is for x86 hosts: of others user mode cannot see what an invalidation costs.
 */
#ifndef TLBLAB_NATIVE_CALIBRATE_H
#define TLBLAB_NATIVE_CALIBRATE_H

#include <stdio.h>

#include "machine/desc.h"

#define CALIBRATE_MAX_SINKS 6
#define CALIBRATE_MAX_PROBES 40
#define CALIBRATE_MAX_ROUNDS 64

enum probe_distance { PROBE_ALONE, PROBE_SAME, PROBE_SMT, PROBE_NEAR, PROBE_FAR, NR_DISTANCES };

struct calibrate_probe {
	const char *name;	/* what is measured */
	const char *what;	/* parameters of the workload */
	u32 pages, iterations;
	u8 distance;		/* enum probe_distance: where the second thread is */
	const char *sinks[CALIBRATE_MAX_SINKS]; /* names of costs; none: only shown */
	u8 less;	/* measured: its time less that of the probe so many before; 0: all of it */
};

/* In order of solving. Ends with a NULL name. */
extern const struct calibrate_probe calibrate_probes[];

struct host_feature {
	const char *knob, *value;
	char source[64];
};

struct host {
	char name[48], summary[160], topology[64];
	char release[72], era[16];	/* of the kernel, and the nearest era that is not later */
	u64 memory_bytes;
	u32 nr_cpus;			/* that we may use */
	struct tlb_geometry l1, l1_huge, l2; /* ways 0: CPUID does not say */
	struct host_feature feature[8];
	u32 nr_features;
	s32 cpu[NR_DISTANCES];		/* of the second thread, among those; -1: no such CPU */
	char note[160];			/* how it differs from its era; "" if it does not */
};

struct probe_time {
	bool known;
	double lo, mid, hi;	/* seconds: the least, the first and the third quartile */
	double model;		/* after solving */
	bool floored;		/* other costs cover more than was measured */
};

struct calibration {
	struct host host;
	struct machine_desc *desc;	/* the caller's to free */
	bool measured[MACH_NR_COSTS + HW_NR_COSTS];
	struct probe_time time[CALIBRATE_MAX_PROBES];
	const struct core_module *core;	/* for the model's runs; and its knobs */
	const s64 *knobs;
	bool forced;			/* measured on a loaded host */
};

/* False: error has one line. */
bool host_describe(struct host *h, const struct era *eras, char *error, size_t size);
bool calibration_init(struct calibration *c, char *error, size_t size);
/*
 * fn measures seconds per operation of one probe, once; false with *error. rounds at most
 * CALIBRATE_MAX_ROUNDS; the first, which warms up, does not count.
 */
typedef bool (*probe_fn)(void *arg, const struct calibration *c,
			 const struct calibrate_probe *p, double *seconds,
			 char *error, size_t size);
bool calibrate_measure(struct calibration *c, u32 rounds, probe_fn fn, void *arg,
		       char *error, size_t size);
bool probe_natively(void *arg, const struct calibration *c, const struct calibrate_probe *p,
		    double *seconds, char *error, size_t size);
/* On the machine arg, a struct machine_desc, with the calibration's core and knobs. */
bool probe_simulated(void *arg, const struct calibration *c, const struct calibrate_probe *p,
		     double *seconds, char *error, size_t size);
bool calibrate_solve(struct calibration *c, char *error, size_t size);
void calibration_write(const struct calibration *c, FILE *out);

#endif
