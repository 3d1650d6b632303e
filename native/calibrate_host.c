// SPDX-License-Identifier: GPL-2.0-or-later
/* What can be known of this host without measuring time. */
#include "native/calibrate.h"

#include <hwloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- TLBs ---- */

#if defined(__x86_64__)

/* Intel's leaf 0x18: deterministic address translation parameters. */
static void tlbs_of_leaf_18(struct host *h)
{
	u32 eax, ebx, ecx, edx, last = 0;

	for (u32 i = 0; i <= last && i < 32; i++) {
		struct tlb_geometry g;
		u32 type, level;

		if (!__get_cpuid_count(0x18, i, &eax, &ebx, &ecx, &edx))
			return;
		if (!i)
			last = eax;
		type = edx & 0x1f;
		level = edx >> 5 & 7;
		g = (struct tlb_geometry){ .sets = ecx, .ways = ebx >> 16 };
		/* 1 data, 4 loads only; the bits of EBX are page sizes from 4K. */
		if (level == 1 && (type == 1 || type == 4) && (ebx & 1) && !h->l1.ways)
			h->l1 = g;
		else if (level == 1 && (type == 1 || type == 4) && (ebx & 2) && !h->l1_huge.ways)
			h->l1_huge = g;
		else if (level == 2 && (type == 1 || type == 3) && (ebx & 1) && !h->l2.ways)
			h->l2 = g;
	}
}

/* AMD's leaves: a byte or a code for the ways, 0xff or 15 for all. */
static struct tlb_geometry amd_geometry(u32 entries, u32 ways)
{
	return (struct tlb_geometry){ .sets = ways ? entries / ways : 0, .ways = ways };
}

static void tlbs_of_amd(struct host *h)
{
	static const u8 of_code[16] = { [1] = 1, [2] = 2, [3] = 3, [4] = 4, [5] = 6, [6] = 8,
					[8] = 16, [10] = 32, [11] = 48, [12] = 64, [13] = 96,
					[14] = 128 };
	u32 eax, ebx, ecx, edx;

	if (__get_cpuid(0x80000005, &eax, &ebx, &ecx, &edx) && ebx) {
		u32 n = ebx >> 16 & 0xff, ways = ebx >> 24;

		h->l1 = amd_geometry(n, ways == 0xff ? n : ways);
		n = eax >> 16 & 0xff;
		ways = eax >> 24;
		h->l1_huge = amd_geometry(n, ways == 0xff ? n : ways);
	}
	if (__get_cpuid(0x80000006, &eax, &ebx, &ecx, &edx) && ebx)
		h->l2 = amd_geometry(ebx >> 16 & 0xfff, of_code[ebx >> 28]);
}

static void describe_tlbs(struct host *h)
{
	u32 eax, ebx, ecx, edx;

	if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx))
		return;
	if (ebx == signature_INTEL_ebx)
		tlbs_of_leaf_18(h);
	else if (ebx == signature_AMD_ebx)
		tlbs_of_amd(h);
}

#else

static void describe_tlbs(struct host *h)
{
	(void)h;
}

#endif

static void check_tlb(struct tlb_geometry *g)
{
	if (!g->sets || !g->ways || (g->sets & (g->sets - 1)) || g->ways > 4096)
		*g = (struct tlb_geometry){ 0, 0 };
}

/* ---- features ---- */

/* Whether word is among the flags of /proc/cpuinfo. */
static bool cpu_flag(const char *flags, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = flags; (p = strstr(p, word)); p += len)
		if (p[-1] == ' ' && (p[len] == ' ' || p[len] == '\n' || !p[len]))
			return true;
	return false;
}

static void feature(struct host *h, const char *flags, const char *flag, const char *knob)
{
	struct host_feature *f = &h->feature[h->nr_features++];

	f->knob = knob;
	f->value = cpu_flag(flags, flag) ? "on" : "off";
	snprintf(f->source, sizeof(f->source), "/proc/cpuinfo: %s%s",
		 f->value[1] == 'n' ? "" : "no ", flag);
}

static bool describe_features(struct host *h)
{
	char line[8192];
	bool found = false;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "flags", 5);
	if (f)
		fclose(f);
	if (!found)
		return false;
	feature(h, line, "pcid", "x86.pcid");
	feature(h, line, "invpcid", "x86.invpcid");
	feature(h, line, "pti", "x86.pti");
	return true;
}

/* ---- CPUs ---- */

/* Among the CPUs that we may use: the first at a distance from the first of them. */
static s32 cpu_at(hwloc_topology_t topo, const cpu_set_t *allowed, u32 distance)
{
	hwloc_obj_t zero = NULL;
	s32 index = -1;

	for (u32 i = 0; i < CPU_SETSIZE; i++) {
		hwloc_obj_t pu, core, package, zero_core, zero_package;

		if (!CPU_ISSET(i, allowed))
			continue;
		index++;
		pu = hwloc_get_pu_obj_by_os_index(topo, i);
		if (!pu)
			return -1;
		if (!zero) {
			zero = pu;
			continue;
		}
		core = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_CORE, pu);
		package = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_PACKAGE, pu);
		zero_core = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_CORE, zero);
		zero_package = hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_PACKAGE, zero);
		if (distance == PROBE_SMT ? core && core == zero_core :
		    distance == PROBE_NEAR ? (!core || core != zero_core) &&
					     package == zero_package :
					     package != zero_package)
			return index;
	}
	return -1;
}

/* As a synthetic string, if the host is so regular; else, or if we may not use all, flat. */
static void topology_string(hwloc_topology_t topo, struct host *h)
{
	u32 packages = (u32)hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PACKAGE);
	u32 nodes = (u32)hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
	u32 cores = (u32)hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_CORE);
	u32 cpus = (u32)hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PU);

	if (packages && nodes && cores && cpus == h->nr_cpus && !(nodes % packages) &&
	    !(cores % nodes) && !(cpus % cores))
		snprintf(h->topology, sizeof(h->topology),
			 "package:%u numa:%u core:%u pu:%u", packages, nodes / packages,
			 cores / nodes, cpus / cores);
	else
		snprintf(h->topology, sizeof(h->topology),
			 "package:1 numa:1 core:%u pu:1", h->nr_cpus);
}

static bool describe_cpus(struct host *h)
{
	hwloc_topology_t topo;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || hwloc_topology_init(&topo))
		return false;
	h->nr_cpus = (u32)CPU_COUNT(&allowed);
	if (hwloc_topology_load(topo)) {
		hwloc_topology_destroy(topo);
		return false;
	}
	topology_string(topo, h);
	for (u32 d = PROBE_SMT; d < NR_DISTANCES; d++)
		h->cpu[d] = cpu_at(topo, &allowed, d);
	hwloc_topology_destroy(topo);
	return true;
}

/* ---- the kernel ---- */

static u32 version_of(const char *s)
{
	u32 major = 0, minor = 0;

	sscanf(s, "%u.%u", &major, &minor);
	return major << 16 | minor;
}

static void find_era(struct host *h, const struct era *eras)
{
	u32 host = version_of(h->release), best = 0;

	for (const struct era *e = eras; e->name; e++) {
		u32 v = version_of(e->name);

		if (v <= host && v >= best) {
			best = v;
			snprintf(h->era, sizeof(h->era), "%s", e->name);
		}
	}
}

static long status_kib(const char *key)
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

/* Does MADV_DONTNEED free tables that it leaves empty? 1, 0; -1: cannot be told. */
static int frees_tables(void)
{
	const size_t span = 2UL << 20, size = 64 * span;
	char *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long full, empty;

	if (p == MAP_FAILED)
		return -1;
	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t off = 0; off < size; off += span)
		(void)*(volatile char *)(p + off);
	full = status_kib("VmPTE:");
	madvise(p, size, MADV_DONTNEED);
	empty = status_kib("VmPTE:");
	munmap(p, size);
	return full < 0 || empty < 0 ? -1 : full - empty >= 32 * 4;
}

static void compare_with_era(struct host *h)
{
	bool expected = version_of(h->era) >= version_of("6.14");
	int frees = frees_tables();

	if (frees >= 0 && frees != expected)
		snprintf(h->note, sizeof(h->note), "this kernel's madvise %s page tables: "
			 "mm.pt_reclaim=%s", frees ? "frees" : "does not free",
			 frees ? "all" : "off");
}

bool host_describe(struct host *h, const struct era *eras, char *error, size_t size)
{
	struct utsname u;

	memset(h, 0, sizeof(*h));
#if !defined(__x86_64__)
	snprintf(error, size, "calibrating is for x86 hosts: of others user mode does not "
		 "see what an invalidation costs");
	return false;
#endif
	if (uname(&u) || !describe_cpus(h) || !describe_features(h)) {
		snprintf(error, size, "cannot tell what this host is made of");
		return false;
	}
	describe_tlbs(h);
	check_tlb(&h->l1);
	check_tlb(&h->l1_huge);
	check_tlb(&h->l2);
	h->memory_bytes = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE);
	snprintf(h->release, sizeof(h->release), "%.70s", u.release);
	snprintf(h->name, sizeof(h->name), "host");
	snprintf(h->summary, sizeof(h->summary), "measured: %u CPUs, %llu GB, Linux %.70s",
		 h->nr_cpus, (unsigned long long)((h->memory_bytes + (1 << 29)) >> 30),
		 u.release);
	find_era(h, eras);
	if (!h->era[0]) {
		snprintf(error, size, "no era is as old as Linux %s", h->release);
		return false;
	}
	compare_with_era(h);
	return true;
}
