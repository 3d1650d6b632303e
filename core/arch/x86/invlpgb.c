/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "invlpgb.h"
#include "mmu_context.h"

KNOB_BOOL(x86_invlpgb, "x86.invlpgb", KNOB_HW, 0,
	  "INVLPGB and TLBSYNC invalidate on all CPUs", "AMD APM vol. 3; Zen 3");
KNOB_INT(x86_invlpgb_count_max, "x86.invlpgb_count_max", KNOB_HW, 8, 1, 1 << 16,
	 "pages that one INVLPGB can take", "CPUID 8000_0008 EDX");
KNOB_BOOL(x86_broadcast_flush, "x86.broadcast_flush", KNOB_POLICY, 0,
	  "an mm on four CPUs or more is flushed by INVLPGB", "4afeb0ed1753 (6.15)");
KNOB_INT(x86_global_asid_cpus, "x86.global_asid_cpus", KNOB_POLICY, 3, 1, NR_CPUS,
	 "CPUs that an mm must be loaded on more than, to get a global ASID",
	 "4afeb0ed1753 (6.15): mm_active_cpus_exceeds(mm, 3)");
KNOB_INT(x86_global_asid_every, "x86.global_asid_every", KNOB_POLICY, 32, 1, 1 << 15,
	 "once in so many flushes of a CPU that is looked at",
	 "4afeb0ed1753 (6.15), there in one of 32 jiffies");
KNOB_INT(x86_global_asid_last, "x86.global_asid_last", KNOB_HW, MAX_ASID_AVAILABLE - 1,
	 TLB_NR_DYN_ASIDS, MAX_ASID_AVAILABLE - 1,
	 "highest ASID given out; fewer than PCIDs have make reuse frequent", "SDM 4.10.1");

/* ---- ASIDs ---- */

static bool test_bit64(const u64 *bits, u32 n)
{
	return bits[n / 64] >> (n % 64) & 1;
}

/* All are used or freed. What was freed has been flushed by nobody since. */
static void reset_global_asid_space(struct arch_root *root)
{
	mach_x86_invlpgb(0, 0, 0);
	mach_x86_tlbsync();
	for (u32 w = 0; w < 64; w++) {
		root->global_asid_used[w] &= ~root->global_asid_freed[w];
		root->global_asid_freed[w] = 0;
	}
	root->last_global_asid = TLB_NR_DYN_ASIDS;
}

/* The next one that is not used; 0: there is none. */
static u16 allocate_global_asid(struct arch_root *root)
{
	u32 asid;

	lockdep_assert_held(&root->global_asid_lock);
	if (root->last_global_asid < TLB_NR_DYN_ASIDS)
		root->last_global_asid = TLB_NR_DYN_ASIDS;
	for (u32 wrapped = 0; wrapped < 2; wrapped++) {
		for (asid = root->last_global_asid; asid <= (u32)knob(x86_global_asid_last);
		     asid++) {
			if (test_bit64(root->global_asid_used, asid))
				continue;
			root->global_asid_used[asid / 64] |= 1UL << (asid % 64);
			root->last_global_asid = asid + 1;
			return asid;
		}
		if (!wrapped)
			reset_global_asid_space(root);
	}
	return 0;
}

static void use_global_asid(struct mm_struct *mm)
{
	struct arch_root *root = &kernel()->arch;
	bool flags;
	u16 asid;

	spin_lock_irqsave(&root->global_asid_lock, flags);
	if (!READ_ONCE(mm->context.global_asid)) {
		asid = allocate_global_asid(root);
		if (asid) {
			/* First: who sees the ASID must know that not all use it. */
			WRITE_ONCE(mm->context.asid_transition, 1);
			smp_store_release(&mm->context.global_asid, asid);
			count_vm_event(global_asids);
		}
	}
	spin_unlock_irqrestore(&root->global_asid_lock, flags);
}

/* Not to be given out before the next wrap, which flushes. */
static void retire_global_asid(struct arch_root *root, u32 asid)
{
	lockdep_assert_held(&root->global_asid_lock);
	root->global_asid_freed[asid / 64] |= 1UL << (asid % 64);
}

/* Nobody has mm loaded any more; but TLBs may still hold what is its. */
void mm_free_global_asid(struct mm_struct *mm)
{
	struct arch_root *root = &kernel()->arch;
	u32 asid = mm_global_asid(mm);
	bool flags;

	if (!asid)
		return;
	spin_lock_irqsave(&root->global_asid_lock, flags);
	retire_global_asid(root, asid);
	WRITE_ONCE(mm->context.global_asid, 0);
	spin_unlock_irqrestore(&root->global_asid_lock, flags);
}

static bool mm_active_cpus_exceeds(struct mm_struct *mm, u32 threshold)
{
	u32 count = 0;

	for (u32 w = 0; w < cpumask_words(); w++) {
		u64 bits = READ_ONCE(mm_cpumask(mm)->bits[w]);

		for (; bits; bits &= bits - 1) {
			struct arch_cpu *cpu =
				&kernel()->cpu[w * 64 + __builtin_ctzl(bits)].arch;

			if (READ_ONCE(cpu->loaded_mm) == mm && !READ_ONCE(cpu->is_lazy) &&
			    ++count > threshold)
				return true;
		}
	}
	return false;
}

void consider_global_asid(struct mm_struct *mm)
{
	struct arch_cpu *cpu = &this_cpu()->arch;

	if (!broadcast_flush_enabled() || ++cpu->flushes % knob(x86_global_asid_every))
		return;
	if (mm_active_cpus_exceeds(mm, (u32)knob(x86_global_asid_cpus)))
		use_global_asid(mm);
}

/* ---- flushing ---- */

/* Is a CPU switching just now, or still on a slot of its own? */
static bool cpu_lags(struct arch_cpu *cpu, struct mm_struct *mm)
{
	struct mm_struct *loaded;

	/* It may be about to load mm under a slot that it has chosen already. */
	while ((loaded = READ_ONCE(cpu->loaded_mm)) == LOADED_MM_SWITCHING) {
		struct mach_watch watch = { &cpu->loaded_mm, 8, (u64)LOADED_MM_SWITCHING };

		mach_wait_change(&watch, 1);
	}
	return loaded == mm && !is_global_asid((u16)READ_ONCE(cpu->shared_asid));
}

static void finish_asid_transition(struct flush_tlb_info *info)
{
	struct mm_struct *mm = info->mm;

	if (!mm_in_asid_transition(mm))
		return;
	for (u32 w = 0; w < cpumask_words(); w++) {
		u64 bits = READ_ONCE(mm_cpumask(mm)->bits[w]);

		for (; bits; bits &= bits - 1) {
			u32 cpu = w * 64 + __builtin_ctzl(bits);

			if (cpu_lags(&kernel()->cpu[cpu].arch, mm)) {
				flush_tlb_multi(mm_cpumask(mm), info);
				return;
			}
		}
	}
	WRITE_ONCE(mm->context.asid_transition, 0);
}

void broadcast_tlb_flush(struct flush_tlb_info *info)
{
	u16 pcid = mm_global_asid(info->mm) + 1;
	u64 max = (u64)knob(x86_invlpgb_count_max), nr;
	u32 pmd = info->stride_shift == PMD_SHIFT ? MACH_X86_INVLPGB_PMD : 0;

	if (info->end == TLB_FLUSH_ALL) {
		mach_x86_invlpgb(MACH_X86_INVLPGB_PCID, pcid, 0);
	} else {
		for (u64 addr = info->start; addr < info->end;
		     addr += nr << info->stride_shift) {
			nr = 1;
			if (info->stride_shift <= PMD_SHIFT)
				nr = min(max((info->end - addr) >> info->stride_shift, 1UL), max);
			mach_x86_invlpgb(addr | MACH_X86_INVLPGB_VA | MACH_X86_INVLPGB_PCID,
					 pcid, (u32)(nr - 1) | pmd);
		}
	}
	finish_asid_transition(info);
	mach_x86_tlbsync();
}
