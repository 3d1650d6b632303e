/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "radix_tlb.h"

KNOB_BOOL(powerpc_isa31, "powerpc.isa31", KNOB_HW, 0,
	  "ISA 3.1 (POWER10): one tlbiel drops a PID; the nest MMU follows the ISA",
	  "CPU_FTR_ARCH_31; e80639405c40");
KNOB_BOOL(powerpc_erat_bug, "powerpc.erat_bug", KNOB_HW, 0,
	  "erratum of every POWER9: tlbie and mtpid may pass each other",
	  "CPU_FTR_P9_TLBIE_ERAT_BUG; 047e6575aec7");
KNOB_BOOL(powerpc_stq_bug, "powerpc.stq_bug", KNOB_HW, 0,
	  "erratum of POWER9 below Nimbus DD2.3: a tlbie may pass the store queue",
	  "CPU_FTR_P9_TLBIE_STQ_BUG; a5d4b5891c2f");
KNOB_ENUM(powerpc_tlbie_fixups, "powerpc.tlbie_fixups", KNOB_POLICY, FIXUPS_STQ_ERAT,
	  "errata of tlbie that the kernel knows of and works around",
	  "a5d4b5891c2f (4.17), 047e6575aec7 (5.4)", "none", "stq", "stq_erat");

/* Of RB: IS (53:52 from the left), the set, and AP. */
#define RB_IS_PID	(1UL << 10)
#define RB_IS_ALL	(3UL << 10)
#define RB_SET_SHIFT	12
#define RB_AP_SHIFT	5
#define RB_EPN_MASK	(~0xfffUL)
/* Of RS. */
#define RS_PID_SHIFT	32
#define PRS_PROCESS	1
#define R_RADIX		1
/* Of slbia: which ERAT entries; 3 is those that user mode could use. */
#define SLBIA_IH_USER	3

static const struct {
	u32 shift, ap;
} mmu_psize_defs[MMU_PAGE_COUNT] = {
	[MMU_PAGE_4K] = { 12, 0 },
	[MMU_PAGE_64K] = { 16, 5 },
	[MMU_PAGE_2M] = { 21, 1 },
	[MMU_PAGE_1G] = { 30, 2 },
};

u32 mmu_psize_to_shift(int psize)
{
	return mmu_psize_defs[psize].shift;
}

int mmu_virtual_psize(void)
{
	return PAGE_SHIFT == 16 ? MMU_PAGE_64K : MMU_PAGE_4K;
}

/* ---- one instruction ---- */

static u64 rb_va(u64 va, int psize)
{
	return (va & RB_EPN_MASK) | (u64)mmu_psize_defs[psize].ap << RB_AP_SHIFT;
}

static void __tlbiel_pid(u64 pid, u32 ric)
{
	mach_ppc_tlbiel(RB_IS_PID, pid << RS_PID_SHIFT, ric, PRS_PROCESS, R_RADIX);
}

static void __tlbie_pid(u64 pid, u32 ric)
{
	mach_ppc_tlbie(RB_IS_PID, pid << RS_PID_SHIFT, ric, PRS_PROCESS, R_RADIX);
}

static void __tlbiel_va(u64 va, u64 pid, int psize)
{
	mach_ppc_tlbiel(rb_va(va, psize), pid << RS_PID_SHIFT, RIC_FLUSH_TLB,
			PRS_PROCESS, R_RADIX);
}

static void __tlbie_va(u64 va, u64 pid, int psize)
{
	mach_ppc_tlbie(rb_va(va, psize), pid << RS_PID_SHIFT, RIC_FLUSH_TLB,
		       PRS_PROCESS, R_RADIX);
}

/* With ISA 3.1 a cp_abort comes after it, for copy-paste, which is not here. */
static void ppc_after_tlbiel_barrier(void)
{
	mach_fence(MACH_PTESYNC);
}

static void ppc_after_tlbie_barrier(void)
{
	mach_fence(MACH_EIEIO);
	mach_fence(MACH_TLBSYNC);
	mach_fence(MACH_PTESYNC);
}

static void invalidate_erat(void)
{
	(void)mach_insn(MACH_PPC_SLBIA, SLBIA_IH_USER, 0, 0);
	mach_fence(MACH_ISYNC);
}

/* ---- POWER9's errata: once more at the end of a flush, not for RIC = 1 ---- */

static bool fixup_erat(void)
{
	return knob(powerpc_erat_bug) && knob(powerpc_tlbie_fixups) == FIXUPS_STQ_ERAT;
}

static bool fixup_stq(void)
{
	return knob(powerpc_stq_bug) && knob(powerpc_tlbie_fixups) != FIXUPS_NONE;
}

static void fixup_tlbie_va(u64 va, u64 pid, int psize)
{
	if (fixup_erat()) {
		mach_fence(MACH_PTESYNC);
		__tlbie_va(va, 0, psize);
	}
	if (fixup_stq()) {
		mach_fence(MACH_PTESYNC);
		__tlbie_va(va, pid, psize);
	}
}

static void fixup_tlbie_va_range(u64 last_va, u64 pid, int psize)
{
	if (fixup_erat()) {
		mach_fence(MACH_PTESYNC);
		__tlbie_pid(0, RIC_FLUSH_TLB);
	}
	if (fixup_stq()) {
		mach_fence(MACH_PTESYNC);
		__tlbie_va(last_va, pid, psize);
	}
}

/* Any address would do; this one is hardly ever in use. */
static void fixup_tlbie_pid(u64 pid)
{
	fixup_tlbie_va_range((1UL << 52) - 1, pid, MMU_PAGE_64K);
}

/* ---- sequences ---- */

/* Every congruence class; RIC = 2 with the first one takes the walk cache along. */
static void tlbiel_all_sets(u64 is, u64 rs, u32 ric)
{
	u32 sets = knob(powerpc_isa31) ? 1 : POWER9_TLB_SETS_RADIX;

	mach_ppc_tlbiel(is, rs, ric, PRS_PROCESS, R_RADIX);
	for (u64 set = 1; set < sets; set++)
		mach_ppc_tlbiel(is | set << RB_SET_SHIFT, rs, RIC_FLUSH_TLB,
				PRS_PROCESS, R_RADIX);
}

void radix__tlbiel_all(void)
{
	mach_fence(MACH_PTESYNC);
	tlbiel_all_sets(RB_IS_ALL, 0, RIC_FLUSH_ALL);
	ppc_after_tlbiel_barrier();
	invalidate_erat();
}

void _tlbiel_pid(u64 pid, u32 ric)
{
	mach_fence(MACH_PTESYNC);
	tlbiel_all_sets(RB_IS_PID, pid << RS_PID_SHIFT, ric);
	ppc_after_tlbiel_barrier();
	invalidate_erat();
}

void _tlbie_pid(u64 pid, u32 ric)
{
	mach_fence(MACH_PTESYNC);
	__tlbie_pid(pid, ric);
	fixup_tlbie_pid(pid);
	ppc_after_tlbie_barrier();
}

void _tlbiel_va(u64 va, u64 pid, int psize)
{
	mach_fence(MACH_PTESYNC);
	__tlbiel_va(va, pid, psize);
	ppc_after_tlbiel_barrier();
}

void _tlbie_va(u64 va, u64 pid, int psize)
{
	mach_fence(MACH_PTESYNC);
	__tlbie_va(va, pid, psize);
	fixup_tlbie_va(va, pid, psize);
	ppc_after_tlbie_barrier();
}

static void __tlbiel_va_range(const struct va_range *r, u64 pid)
{
	u64 size = 1UL << mmu_psize_defs[r->psize].shift;

	for (u64 va = r->start; va < r->end; va += size)
		__tlbiel_va(va, pid, r->psize);
}

static void __tlbie_va_range(const struct va_range *r, u64 pid)
{
	u64 size = 1UL << mmu_psize_defs[r->psize].shift;
	u64 va;

	if (r->start >= r->end)
		return;
	for (va = r->start; va < r->end; va += size)
		__tlbie_va(va, pid, r->psize);
	fixup_tlbie_va_range(va - size, pid, r->psize);
}

void _tlbiel_va_ranges(const struct va_range *range, u32 nr, u64 pid, bool also_pwc)
{
	mach_fence(MACH_PTESYNC);
	if (also_pwc)
		__tlbiel_pid(pid, RIC_FLUSH_PWC);
	for (u32 i = 0; i < nr; i++)
		__tlbiel_va_range(&range[i], pid);
	ppc_after_tlbiel_barrier();
}

void _tlbie_va_ranges(const struct va_range *range, u32 nr, u64 pid, bool also_pwc)
{
	mach_fence(MACH_PTESYNC);
	if (also_pwc)
		__tlbie_pid(pid, RIC_FLUSH_PWC);
	for (u32 i = 0; i < nr; i++)
		__tlbie_va_range(&range[i], pid);
	ppc_after_tlbie_barrier();
}
