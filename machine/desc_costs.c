// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which costs a machine file must give: all that its architecture and topology
 * can charge, so that no time is zero by being forgotten.
 */
#include "machine/desc_parts.h"

#include <string.h>

enum when {
	ALWAYS,
	X86,
	ARM64,
	POWERPC,
	SMT,		/* more than one thread per core */
	PACKAGES,	/* more than one package */
	PTI,		/* architectures that may switch tables at entry */
	NEVER_CHARGED,	/* without it, some figures are not there */
	X86_MAYBE,	/* x86, and zero where it is not given */
	MAYBE,		/* zero where it is not given */
};

static const char *const names[NR_ALL_COSTS] = {
#define X(id, name, account) [MACH_COST_##id] = #name,
	MACH_COSTS(X)
#undef X
#define X(id, name) [MACH_NR_COSTS + HW_##id] = #name,
	HW_COSTS(X)
#undef X
};

#define CORE(id) [MACH_COST_##id]
#define HW(id) [MACH_NR_COSTS + HW_##id]
static const u8 when[NR_ALL_COSTS] = {
	CORE(PTI_SWITCH) = PTI,
	CORE(ASID_ROLLOVER) = ARM64,
	CORE(FLUSH_TLB) = X86_MAYBE,
	CORE(SHMEM_FIND) = MAYBE,
	CORE(LRU_MOVE) = MAYBE,
	HW(INVLPGB_ISSUE) = X86_MAYBE,
	HW(INVLPGB) = X86_MAYBE,
	HW(INVLPGB_SYNC) = X86_MAYBE,
	HW(LINE_SMT) = SMT,
	HW(LINE_FAR) = PACKAGES,
	HW(IPI_FAR) = PACKAGES,
	HW(MEM_LOCAL) = MAYBE,
	HW(MEM_REMOTE) = MAYBE,
	HW(MEM_NODE) = MAYBE,
	HW(MEM_LINK) = MAYBE,
	HW(INVLPG) = X86,
	HW(INVPCID) = X86,
	HW(CR3) = X86,
	HW(TLBI_ISSUE) = ARM64,
	HW(TLBI_RATE) = ARM64,
	HW(DVM_VA) = ARM64,
	HW(DVM_ASID) = ARM64,
	HW(DVM_RANGE) = ARM64,
	HW(DVM_SNOOP) = ARM64,
	HW(DSB_ISHST) = ARM64,
	HW(DSB_ISH) = ARM64,
	HW(DSB_NSH) = ARM64,
	HW(TLBI_LOCAL) = ARM64,
	HW(ISB) = ARM64,
	HW(TLBIE_ISSUE) = POWERPC,
	HW(TLBIE_VA) = POWERPC,
	HW(TLBIE_PID) = POWERPC,
	HW(TLBIEL) = POWERPC,
	HW(PTESYNC) = POWERPC,
	HW(TLBSYNC) = POWERPC,
	HW(HCALL) = POWERPC,
	HW(CYCLE) = NEVER_CHARGED,
};

const char *cost_name(u32 index)
{
	return names[index];
}

struct cost *cost_slot(struct machine_desc *desc, u32 index)
{
	return index < MACH_NR_COSTS ? &desc->core_cost[index] :
				       &desc->hw_cost[index - MACH_NR_COSTS];
}

static bool has_smt(const struct machine_desc *desc)
{
	return desc->place[desc->nr_cpus - 1].smt > 0;
}

static enum cost_need arch_need(const struct machine_desc *desc,
				const char *arch)
{
	return strcmp(desc->arch, arch) ? COST_FOREIGN : COST_NEEDED;
}

enum cost_need cost_need(const struct machine_desc *desc, u32 index)
{
	switch ((enum when)when[index]) {
	case X86:
		return arch_need(desc, "x86");
	case ARM64:
		return arch_need(desc, "arm64");
	case POWERPC:
		return arch_need(desc, "powerpc");
	case X86_MAYBE:
		return strcmp(desc->arch, "x86") ? COST_FOREIGN : COST_OPTIONAL;
	case MAYBE:
		return COST_OPTIONAL;
	case PTI:
		return strcmp(desc->arch, "powerpc") ? COST_NEEDED : COST_FOREIGN;
	case SMT:
		return has_smt(desc) ? COST_NEEDED : COST_OPTIONAL;
	case PACKAGES:
		return desc->nr_packages > 1 ? COST_NEEDED : COST_OPTIONAL;
	case NEVER_CHARGED:
		return COST_OPTIONAL;
	case ALWAYS:
		break;
	}
	return COST_NEEDED;
}
