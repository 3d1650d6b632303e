/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: flushing, here and by interrupt elsewhere. Contract in tlbflush.h. */
#include "tlbflush.h"
#include "invlpgb.h"
#include "mmu_context.h"

KNOB_BOOL(x86_invpcid, "x86.invpcid", KNOB_HW, 1,
	  "INVPCID drops entries of PCIDs other than the current one", "SDM 4.10.4.1");
KNOB_INT(x86_tlb_single_page_flush_ceiling, "x86.tlb_single_page_flush_ceiling",
	 KNOB_POLICY, 33, 0, 1 << 20,
	 "pages above which a flush drops everything of the address space",
	 "a5102476a24b");
KNOB_BOOL(x86_freed_tables_lazy_ipi, "x86.freed_tables_lazy_ipi", KNOB_POLICY, 1,
	  "a flush that freed page tables interrupts lazy CPUs, too",
	  "x86/mm/tlb: Leave lazy TLB mode at page table free time");
KNOB_ENUM(x86_ipi_filter, "x86.ipi_filter", KNOB_POLICY, IPI_FILTER_LOADED_MM,
	  "CPUs of the mask that are spared: lazy ones, or also those with another mm",
	  "x86/mm/tlb: Update mm_cpumask lazily", "lazy", "loaded_mm");

/* One page of the loaded mm, on this CPU. */
static void flush_tlb_one_user(u64 addr)
{
	u16 asid = this_cpu()->arch.loaded_mm_asid;

	/* In kernel mode the current PCID is the kernel's. */
	mach_x86_invlpg(addr);
	if (!knob(x86_pti))
		return;
	/* INVPCID of another PCID needs CR4.PCIDE. */
	if (knob(x86_invpcid) && knob(x86_pcid))
		mach_x86_invpcid(0, user_pcid(asid), addr);
	else
		invalidate_user_asid(asid);
}

/* Everything of the loaded mm, on this CPU. */
static void flush_tlb_local(void)
{
	struct arch_cpu *cpu = &this_cpu()->arch;

	invalidate_user_asid(cpu->loaded_mm_asid);
	mach_x86_write_cr3(build_cr3(READ_ONCE(cpu->loaded_mm), cpu->loaded_mm_asid));
}

/*
 * The flush proper of one CPU that is behind; mm_tlb_gen was read before.
 *
 * Only the range, if the range is all that separates us from new_tlb_gen: for
 * correctness, new == local + 1. Else, with a full flush of generation 2 and a
 * ranged one of 3, arriving here in the order 3, 2:
 *
 *	local 1, info 3: flush the range, local = 3
 *	local 3, info 2: nothing to do		<- the full flush is lost
 *
 * And only if it is all that separates us from the mm's generation. (We could flush
 * the range and advance to new_tlb_gen alone; but another flush is on its way to us,
 * which the full one saves, advancing to the mm's.)
 */
static void flush_tlb_catch_up(const struct flush_tlb_info *f, u64 local_tlb_gen,
			       u64 mm_tlb_gen, bool local)
{
	u64 stride = 1UL << f->stride_shift;

	mach_charge(FLUSH_TLB, 1);
	if (f->end != TLB_FLUSH_ALL && f->new_tlb_gen == local_tlb_gen + 1 &&
	    f->new_tlb_gen == mm_tlb_gen) {
		for (u64 addr = f->start; addr < f->end; addr += stride)
			flush_tlb_one_user(addr);
		if (local)
			count_vm_events(tlb_local_flush_one,
					(f->end - f->start) >> f->stride_shift);
	} else {
		flush_tlb_local();
		if (local)
			count_vm_event(tlb_local_flush_all);
	}
}

/* Interrupts off, kernel mode: what f asks of this CPU. */
static void flush_tlb_func(const struct flush_tlb_info *f)
{
	struct arch_cpu *cpu = &this_cpu()->arch;
	struct mm_struct *loaded_mm = READ_ONCE(cpu->loaded_mm);
	struct tlb_context *ctx;
	bool local = smp_processor_id() == f->initiating_cpu;
	u64 mm_tlb_gen, local_tlb_gen;

	if (!local) {
		count_vm_event(tlb_remote_flush_received);
		/* We switched away; the slot's generation will tell on return. */
		if (f->mm && f->mm != loaded_mm)
			return;
	}
	if (loaded_mm == kernel()->init_mm)
		return;
	if (mm_needs_global_asid(loaded_mm, cpu->loaded_mm_asid))
		switch_mm_irqs_off(NULL, loaded_mm, NULL);
	if (is_global_asid(cpu->loaded_mm_asid))
		return;
	ctx = &cpu->ctxs[cpu->loaded_mm_asid];
	BUG_ON(ctx->ctx_id != loaded_mm->context.ctx_id);

	/*
	 * Lazy, yet interrupted: a table was freed, and the walker may still
	 * follow it speculatively. Give the mm up, which is hardly dearer than
	 * flushing it.
	 */
	if (READ_ONCE(cpu->is_lazy)) {
		switch_mm_irqs_off(NULL, kernel()->init_mm, NULL);
		return;
	}

	if (f->new_tlb_gen != TLB_GENERATION_INVALID && f->new_tlb_gen <= ctx->tlb_gen)
		return;
	/*
	 * Read before the flush: translations made after it are at least as new
	 * as this generation. The flush instructions serialise, so no barrier.
	 */
	mm_tlb_gen = atomic64_read(&loaded_mm->context.tlb_gen);
	/* Not newer than that: no other flush comes between, with interrupts off. */
	local_tlb_gen = READ_ONCE(ctx->tlb_gen);
	if (local_tlb_gen == mm_tlb_gen)
		return;
	BUG_ON(local_tlb_gen > mm_tlb_gen || f->new_tlb_gen > mm_tlb_gen);

	flush_tlb_catch_up(f, local_tlb_gen, mm_tlb_gen, local);
	ctx->tlb_gen = mm_tlb_gen;
}

/*
 * The interrupt. Under PTI it may find the user tables loaded, where INVLPG and
 * CR3 would act on the wrong PCID; so cross into the kernel, as every
 * interrupt's entry does.
 */
static void flush_tlb_ipi(void *info)
{
	bool user_mode = this_cpu()->arch.user_mode;

	if (user_mode)
		arch_enter_kernel();
	flush_tlb_func(info);
	if (user_mode)
		arch_exit_kernel();
}

/* Whether cpu, which is in the mask, may hold something that it could use. */
static bool should_flush_tlb(u32 cpu, const struct flush_tlb_info *info)
{
	struct arch_cpu *arch = &kernel()->cpu[cpu].arch;
	struct mm_struct *loaded_mm = READ_ONCE(arch->loaded_mm);

	/*
	 * Against switch_mm_irqs_off(), which clears is_lazy before it stores
	 * loaded_mm: is_lazy must be at least as new as loaded_mm. Read the other
	 * way round, we might take a CPU for lazy that runs user code by now.
	 */
	smp_rmb();
	/* It compares generations when it stops being lazy. */
	if (READ_ONCE(arch->is_lazy))
		return false;
	if (!info->mm || knob(x86_ipi_filter) == IPI_FILTER_LAZY)
		return true;
	return loaded_mm == LOADED_MM_SWITCHING || loaded_mm == info->mm;
}

/* Flush every CPU of the mask that needs it, this one included. */
void flush_tlb_multi(const struct cpumask *mask, struct flush_tlb_info *info)
{
	bool all = (info->freed_tables && knob(x86_freed_tables_lazy_ipi)) ||
		   mm_in_asid_transition(info->mm);
	u32 this = smp_processor_id();
	bool self = false, others = false;
	u64 targets[NR_CPUS / 64];
	bool flags;

	count_vm_event(tlb_remote_flush);
	for (u32 w = 0; w < cpumask_words(); w++) {
		u64 bits = READ_ONCE(mask->bits[w]);

		targets[w] = 0;
		for (; bits; bits &= bits - 1) {
			u32 cpu = w * 64 + __builtin_ctzl(bits);

			if (!all && !should_flush_tlb(cpu, info))
				continue;
			if (cpu == this) {
				self = true;
				continue;
			}
			targets[w] |= 1UL << (cpu % 64);
			others = true;
		}
	}

	if (self) {
		local_irq_save(flags);
		flush_tlb_func(info);
		local_irq_restore(flags);
	}
	if (others)
		mach_ipi(targets, flush_tlb_ipi, info, true);
}

struct kernel_range {
	u64 start, end;
};

static void do_kernel_range_flush(void *info)
{
	const struct kernel_range *r = info;

	for (u64 addr = r->start; addr < r->end; addr += PAGE_SIZE)
		mach_x86_invlpg(addr);
}

static void do_flush_tlb_all(void *unused)
{
	(void)unused;
	mach_x86_toggle_pge();
}

/* on_each_cpu() */
void flush_tlb_kernel_range(u64 start, u64 end)
{
	void (*fn)(void *info) = do_kernel_range_flush;
	struct kernel_range range = { start, end };
	u64 others[NR_CPUS / 64] = { 0 };
	u32 this = smp_processor_id();
	bool flags;

	if (end - start > (u64)knob(x86_tlb_single_page_flush_ceiling) << PAGE_SHIFT)
		fn = do_flush_tlb_all;
	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (cpu != this)
			others[cpu / 64] |= 1UL << cpu % 64;
	/* The cleared entries before. */
	smp_mb();
	if (nr_cpu_ids > 1)
		mach_ipi(others, fn, &range, true);
	local_irq_save(flags);
	fn(&range);
	local_irq_restore(flags);
}

void flush_tlb_mm_range(struct mm_struct *mm, u64 start, u64 end, u32 stride_shift,
			bool freed_tables)
{
	struct flush_tlb_info info = {
		.mm = mm,
		.start = start,
		.end = end,
		.initiating_cpu = smp_processor_id(),
		.stride_shift = stride_shift,
		.freed_tables = freed_tables,
	};
	bool flags;

	if (end == TLB_FLUSH_ALL ||
	    (end - start) >> stride_shift >
		    (u64)knob(x86_tlb_single_page_flush_ceiling)) {
		info.start = 0;
		info.end = TLB_FLUSH_ALL;
	}

	/*
	 * Fully ordered: the entries changed before are visible before the mask is
	 * read. mmu_context.h has the interleaving with a CPU that switches to
	 * mm just now.
	 */
	info.new_tlb_gen = atomic64_inc_return(&mm->context.tlb_gen);

	if (mm_global_asid(mm)) {
		broadcast_tlb_flush(&info);
	} else if (cpumask_any_but(mm_cpumask(mm), info.initiating_cpu)) {
		flush_tlb_multi(mm_cpumask(mm), &info);
		consider_global_asid(mm);
	} else if (READ_ONCE(this_cpu()->arch.loaded_mm) == mm) {
		local_irq_save(flags);
		flush_tlb_func(&info);
		local_irq_restore(flags);
	}
}

/* The generation before the mask, as in flush_tlb_mm_range(). */
void arch_tlbbatch_add_pending(struct arch_tlbflush_unmap_batch *batch, struct mm_struct *mm,
			       u64 uaddr)
{
	(void)uaddr;
	(void)atomic64_inc_return(&mm->context.tlb_gen);
	for (u32 w = 0; w < cpumask_words(); w++)
		WRITE_ONCE(batch->cpumask.bits[w],
			   READ_ONCE(batch->cpumask.bits[w]) |
				   READ_ONCE(mm_cpumask(mm)->bits[w]));
}

void arch_tlbbatch_flush(struct arch_tlbflush_unmap_batch *batch)
{
	struct flush_tlb_info info = {
		.end = TLB_FLUSH_ALL,
		.new_tlb_gen = TLB_GENERATION_INVALID,
		.initiating_cpu = smp_processor_id(),
	};
	bool flags;

	/* A CPU on a global ASID has no generation to catch up with: all, everywhere. */
	if (broadcast_flush_enabled()) {
		mach_x86_invlpgb(0, 0, 0);
		mach_x86_tlbsync();
	} else if (cpumask_any_but(&batch->cpumask, info.initiating_cpu)) {
		flush_tlb_multi(&batch->cpumask, &info);
	} else if (cpumask_test_cpu(info.initiating_cpu, &batch->cpumask)) {
		local_irq_save(flags);
		flush_tlb_func(&info);
		local_irq_restore(flags);
	}
	for (u32 w = 0; w < cpumask_words(); w++)
		WRITE_ONCE(batch->cpumask.bits[w], 0);
}

/* on_clear: bits that matter when they go; others matter when they change. */
static bool flags_need_flush(u64 oldval, u64 newval, u64 on_clear)
{
	const u64 on_change = _PAGE_RW | _PAGE_USER | _PAGE_PWT | _PAGE_PCD | _PAGE_PSE |
			      _PAGE_GLOBAL | _PAGE_NX;
	u64 diff = oldval ^ newval;

	/* Never cached. */
	if (!(oldval & _PAGE_PRESENT))
		return false;
	if (diff & PTE_PFN_MASK)
		return true;
	return (diff & oldval & on_clear) || (diff & on_change);
}

bool pte_needs_flush(pte_t oldpte, pte_t newpte)
{
	return flags_need_flush(pte_val(oldpte), pte_val(newpte),
				_PAGE_DIRTY | _PAGE_PRESENT);
}

bool huge_pmd_needs_flush(pmd_t oldpmd, pmd_t newpmd)
{
	return flags_need_flush(pmd_val(oldpmd), pmd_val(newpmd),
				_PAGE_DIRTY | _PAGE_PRESENT | _PAGE_ACCESSED);
}
