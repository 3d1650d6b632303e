/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: address-space switching, PCID slots, lazy mode, PTI crossings. */
#include "ioremap.h"
#include "mmu_context.h"
#include "invlpgb.h"
#include "pgtable.h"

KNOB_BOOL(x86_pcid, "x86.pcid", KNOB_HW, 1,
	  "TLB entries carry a process-context identifier", "SDM 4.10.1");
KNOB_BOOL(x86_pti, "x86.pti", KNOB_HW, 0,
	  "CPU needs page-table isolation: user mode has page tables of its own",
	  "x86/mm/pti: Add infrastructure for page table isolation");

/* CR3 of user mode under PTI: the odd frame of the pair, the upper PCIDs. */
#define PTI_USER_PGTABLE_MASK (1UL << 12)
#define PTI_USER_PCID_MASK (1UL << 11)

static u16 kern_pcid(u16 asid)
{
	return asid + 1;
}

u16 user_pcid(u16 asid)
{
	return kern_pcid(asid) | PTI_USER_PCID_MASK;
}

u64 build_cr3(struct mm_struct *mm, u16 asid)
{
	u64 cr3 = mm->pgd_pfn << PAGE_SHIFT;

	if (knob(x86_pcid))
		cr3 |= kern_pcid(asid);
	else
		BUG_ON(asid != 0);
	return cr3;
}

/*
 * The user PCID of a slot is stale; the next exit to user mode drops it. Without
 * PCID the CR3 write at that exit drops everything anyway.
 */
void invalidate_user_asid(u16 asid)
{
	if (knob(x86_pti) && knob(x86_pcid))
		this_cpu()->arch.user_pcid_flush_mask |= 1U << kern_pcid(asid);
}

const char *arch_boot(void)
{
	if (mach_env()->page_shift != 12)
		return "x86 has base pages of 4 KiB only";
	return ioremap_boot();
}

void arch_cpu_online(void)
{
	struct mm_struct *init_mm = kernel()->init_mm;
	struct arch_cpu *cpu = &this_cpu()->arch;

	/* Whatever the TLB holds is junk: slot 0 is init_mm, all others free. */
	mach_x86_write_cr3(build_cr3(init_mm, 0));
	cpu->ctxs[0].ctx_id = init_mm->context.ctx_id;
	cpu->ctxs[0].tlb_gen = atomic64_read(&init_mm->context.tlb_gen);
	cpu->loaded_mm_asid = 0;
	cpu->next_asid = 1;
	WRITE_ONCE(cpu->is_lazy, 0);
	WRITE_ONCE(cpu->loaded_mm, init_mm);
}

int init_new_context(struct task_struct *tsk, struct mm_struct *mm)
{
	(void)tsk;
	mm->context.ctx_id = atomic64_inc_return(&kernel()->arch.last_mm_ctx_id);
	atomic64_set(&mm->context.tlb_gen, 0);
	return 0;
}

/*
 * Which slot next goes to, and whether the CR3 write must flush it. A slot
 * keeps its translations while its mm is not loaded, and gets no interrupts
 * then: its generation tells what it missed.
 */
static u16 choose_new_asid(struct mm_struct *next, u64 next_tlb_gen, bool *need_flush)
{
	struct arch_cpu *cpu = &this_cpu()->arch;
	u16 asid = mm_global_asid(next);

	*need_flush = !asid;
	if (asid || !knob(x86_pcid))
		return asid;

	for (asid = 0; asid < TLB_NR_DYN_ASIDS; asid++) {
		if (cpu->ctxs[asid].ctx_id != next->context.ctx_id)
			continue;
		*need_flush = cpu->ctxs[asid].tlb_gen < next_tlb_gen;
		if (!*need_flush)
			count_vm_event(pcid_reuse);
		return asid;
	}

	asid = cpu->next_asid++;
	if (asid >= TLB_NR_DYN_ASIDS) {
		asid = 0;
		cpu->next_asid = 1;
	}
	return asid;
}

static void load_new_mm_cr3(struct mm_struct *mm, u16 asid, bool need_flush)
{
	u64 cr3 = build_cr3(mm, asid);

	if (need_flush)
		invalidate_user_asid(asid);
	else
		cr3 |= MACH_X86_CR3_NOFLUSH_BIT;
	mach_x86_write_cr3(cr3);
}

/* Back from lazy mode to the mm that was never unloaded: is it stale? */
static bool lazy_is_current(struct mm_struct *mm, u16 asid, u64 *tlb_gen)
{
	/*
	 * is_lazy = 0 must be visible before tlb_gen is read:
	 *
	 *	this CPU			flusher
	 *	  is_lazy = 0			  tlb_gen++ [full]
	 *	  smp_mb()			  is_lazy? then no interrupt
	 *	  read tlb_gen
	 *
	 * Without it, the flusher can see us lazy and we the old generation.
	 */
	smp_mb();
	*tlb_gen = atomic64_read(&mm->context.tlb_gen);
	return this_cpu()->arch.ctxs[asid].tlb_gen == *tlb_gen;
}

/* From prev to another mm: announce it, and choose a slot. */
static u16 leave_and_enter(struct mm_struct *prev, struct mm_struct *next,
			   u64 *next_tlb_gen, bool *need_flush)
{
	struct mm_struct *init_mm = kernel()->init_mm;
	u32 cpu = smp_processor_id();

	/*
	 * From here to the last store of switch_mm_irqs_off() we may hold
	 * translations of either. A flusher of prev that still has our bit and one of
	 * next that already has it must both take us for a user of theirs:
	 *
	 *	this CPU			flusher of next
	 *	  set bit in next's mask
	 *	  read tlb_gen (old)
	 *					  tlb_gen++; reads mask: our bit
	 *					  loaded_mm == prev? skipped
	 *	  CR3 = next; fills stale
	 *
	 * With SWITCHING it sends the interrupt, which comes once we have
	 * enabled them, with loaded_mm == next. x86 keeps the stores in order.
	 */
	WRITE_ONCE(this_cpu()->arch.loaded_mm, LOADED_MM_SWITCHING);

	if (prev != init_mm)
		cpumask_clear_cpu(cpu, mm_cpumask(prev));
	if (next != init_mm)
		cpumask_set_cpu(cpu, mm_cpumask(next));
	/* Pairs with the increment in flush_tlb_mm_range(). On x86 the RMW is the barrier. */
	smp_mb__after_atomic();
	*next_tlb_gen = atomic64_read(&next->context.tlb_gen);

	return choose_new_asid(next, *next_tlb_gen, need_flush);
}

void switch_mm_irqs_off(struct mm_struct *unused, struct mm_struct *next,
			struct task_struct *tsk)
{
	struct arch_cpu *cpu = &this_cpu()->arch;
	struct mm_struct *prev = READ_ONCE(cpu->loaded_mm);
	bool was_lazy = READ_ONCE(cpu->is_lazy);
	u64 next_tlb_gen;
	bool need_flush;
	u16 new_asid;

	(void)unused;
	(void)tsk;
	BUG_ON(cpu->user_mode);
	if (was_lazy)
		WRITE_ONCE(cpu->is_lazy, 0);

	if (prev == next && is_global_asid(cpu->loaded_mm_asid)) {
		/* Nothing under a global ASID is stale. */
		return;
	} else if (prev == next && mm_needs_global_asid(next, cpu->loaded_mm_asid)) {
		/* invlpgb.h: what the slot held is for nobody any more. */
		new_asid = mm_global_asid(next);
		need_flush = false;
	} else if (prev == next) {
		BUG_ON(cpu->ctxs[cpu->loaded_mm_asid].ctx_id != next->context.ctx_id);
		/* Another thread of the same process: the bit has been set all along. */
		if (!was_lazy)
			return;
		new_asid = cpu->loaded_mm_asid;
		if (lazy_is_current(next, new_asid, &next_tlb_gen))
			return;
		need_flush = true;
	} else {
		mach_charge(SWITCH_MM, 1);
		new_asid = leave_and_enter(prev, next, &next_tlb_gen, &need_flush);
	}

	/*
	 * The generation was read before the flush below, so what is cached
	 * afterwards is at least that new.
	 */
	if (need_flush) {
		cpu->ctxs[new_asid].ctx_id = next->context.ctx_id;
		cpu->ctxs[new_asid].tlb_gen = next_tlb_gen;
	}
	load_new_mm_cr3(next, new_asid, need_flush);

	cpu->loaded_mm_asid = new_asid;
	if (broadcast_flush_enabled())
		WRITE_ONCE(cpu->shared_asid, new_asid);
	WRITE_ONCE(cpu->loaded_mm, next);
}

void enter_lazy_tlb(struct mm_struct *mm, struct task_struct *tsk)
{
	struct arch_cpu *cpu = &this_cpu()->arch;

	(void)mm;
	(void)tsk;
	if (READ_ONCE(cpu->loaded_mm) != kernel()->init_mm)
		WRITE_ONCE(cpu->is_lazy, 1);
}

/*
 * Interrupts are off in both, for a flush that comes between reading the
 * flush mask and loading CR3 would mark a PCID that we then load without flushing.
 */
void arch_enter_kernel(void)
{
	struct arch_cpu *cpu;
	bool flags;
	u64 cr3;

	if (!knob(x86_pti))
		return;
	local_irq_save(flags);
	cpu = &this_cpu()->arch;
	if (cpu->user_mode) {
		mach_charge(PTI_SWITCH, 1);
		cr3 = build_cr3(READ_ONCE(cpu->loaded_mm), cpu->loaded_mm_asid);
		if (knob(x86_pcid))
			cr3 |= MACH_X86_CR3_NOFLUSH_BIT;
		mach_x86_write_cr3(cr3);
		cpu->user_mode = false;
	}
	local_irq_restore(flags);
}

void arch_exit_kernel(void)
{
	struct arch_cpu *cpu;
	bool flags;
	u64 cr3;
	u16 bit;

	if (!knob(x86_pti))
		return;
	local_irq_save(flags);
	cpu = &this_cpu()->arch;
	if (!cpu->user_mode) {
		mach_charge(PTI_SWITCH, 1);
		cr3 = build_cr3(READ_ONCE(cpu->loaded_mm), cpu->loaded_mm_asid) |
		      PTI_USER_PGTABLE_MASK;
		if (knob(x86_pcid)) {
			bit = 1U << kern_pcid(cpu->loaded_mm_asid);
			cr3 |= PTI_USER_PCID_MASK;
			if (!(cpu->user_pcid_flush_mask & bit))
				cr3 |= MACH_X86_CR3_NOFLUSH_BIT;
			cpu->user_pcid_flush_mask &= ~bit;
		}
		mach_x86_write_cr3(cr3);
		cpu->user_mode = true;
	}
	local_irq_restore(flags);
}
