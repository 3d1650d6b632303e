/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pte_walk.h"

#include "pgtable.h"
#include "tlbflush.h"

KNOB_ENUM(powerpc_pte_serialize, "powerpc.pte_serialize", KNOB_POLICY,
	  PTE_SERIALIZE_NONE_TOLERANT,
	  "how a change of a PMD entry waits for lockless walkers",
	  "thread S1; \"Avoid IPI while updating page table entries\" (5.8)",
	  "ipi", "count_in_lookup", "count_span", "count_percpu", "none_tolerant");

KNOB_BOOL(powerpc_walker_barrier, "powerpc.walker_barrier", KNOB_POLICY, 1,
	  "a counted walker orders its count before its walk (count_span, count_percpu)",
	  "thread S1, review of the first version");

static void do_serialize(void *arg)
{
	/* We are here anyway: leave the mask, if we only borrow the mm. */
	if (knob(powerpc_cpumask_trim) != CPUMASK_TRIM_NONE)
		exit_lazy_flush_tlb(arg, false);
}

/* ---- the changer ---- */

/* To the CPUs of the mask that are wanted; NULL: to all of them. */
static void serialize_by_ipi(struct mm_struct *mm, bool (*wanted)(u32 cpu))
{
	u64 cpus[NR_CPUS / 64], all = 0;

	smp_mb();
	for (u32 w = 0; w < cpumask_words(); w++) {
		u64 bits = READ_ONCE(mm_cpumask(mm)->bits[w]);

		cpus[w] = bits;
		for (; wanted && bits; bits &= bits - 1) {
			u32 bit = (u32)__builtin_ctzl(bits);

			if (!wanted(w * 64 + bit))
				cpus[w] &= ~(1UL << bit);
		}
		all |= cpus[w];
	}
	if (all)
		mach_ipi(cpus, do_serialize, mm, true);
}

static void serialize_ipi(struct mm_struct *mm)
{
	serialize_by_ipi(mm, NULL);
}

static void serialize_count(struct mm_struct *mm)
{
	/* The changed entry first: pte_walk.h. */
	smp_mb();
	if (atomic_read(&mm->context.lockless_pgtbl_walkers))
		serialize_by_ipi(mm, NULL);
}

static bool cpu_is_walking(u32 cpu)
{
	return READ_ONCE(kernel()->arch.walkers[cpu].nr);
}

static void serialize_percpu(struct mm_struct *mm)
{
	serialize_by_ipi(mm, cpu_is_walking);
}

static void serialize_none(struct mm_struct *mm)
{
	(void)mm;
}

static void (*const serialize[])(struct mm_struct *mm) = {
	[PTE_SERIALIZE_IPI] = serialize_ipi,
	[PTE_SERIALIZE_COUNT_IN_LOOKUP] = serialize_count,
	[PTE_SERIALIZE_COUNT_SPAN] = serialize_count,
	[PTE_SERIALIZE_COUNT_PERCPU] = serialize_percpu,
	[PTE_SERIALIZE_NONE_TOLERANT] = serialize_none,
};

void serialize_against_pte_lookup(struct mm_struct *mm)
{
	serialize[knob(powerpc_pte_serialize)](mm);
}

void serialize_against_collapse(struct mm_struct *mm)
{
	if (knob(powerpc_pte_serialize) != PTE_SERIALIZE_NONE_TOLERANT)
		serialize_against_pte_lookup(mm);
	else if (!knob(mm_collapse_sync))
		serialize_ipi(mm);
}

/* ---- the walker; interrupts off ---- */

/*
 * As posted: around the look-up alone, and gup_fast is not counted. No barrier after
 * the increment.
 */
void begin_pte_lookup(struct mm_struct *mm)
{
	if (knob(powerpc_pte_serialize) == PTE_SERIALIZE_COUNT_IN_LOOKUP)
		atomic_inc(&mm->context.lockless_pgtbl_walkers);
}

void end_pte_lookup(struct mm_struct *mm)
{
	if (knob(powerpc_pte_serialize) == PTE_SERIALIZE_COUNT_IN_LOOKUP)
		atomic_dec(&mm->context.lockless_pgtbl_walkers);
}

static void order_count(void)
{
	if (knob(powerpc_walker_barrier))
		smp_mb();
}

/* From here to the last use of what is found. */
void __begin_lockless_pgtbl_walk(struct mm_struct *mm)
{
	u32 *nr = &kernel()->arch.walkers[smp_processor_id()].nr;

	switch (knob(powerpc_pte_serialize)) {
	case PTE_SERIALIZE_COUNT_SPAN:
		atomic_inc(&mm->context.lockless_pgtbl_walkers);
		order_count();
		break;
	case PTE_SERIALIZE_COUNT_PERCPU:
		WRITE_ONCE(*nr, READ_ONCE(*nr) + 1);
		order_count();
		break;
	}
}

void __end_lockless_pgtbl_walk(struct mm_struct *mm)
{
	u32 *nr = &kernel()->arch.walkers[smp_processor_id()].nr;

	switch (knob(powerpc_pte_serialize)) {
	case PTE_SERIALIZE_COUNT_SPAN:
		smp_mb();
		atomic_dec(&mm->context.lockless_pgtbl_walkers);
		break;
	case PTE_SERIALIZE_COUNT_PERCPU:
		smp_mb();
		WRITE_ONCE(*nr, READ_ONCE(*nr) - 1);
		break;
	}
}
