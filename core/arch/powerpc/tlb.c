/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POWER: scope and size of a flush. Contract in tlbflush.h. */
#include "tlbflush.h"
#include "mm/mmu_gather.h"
#include "mmu_context.h"

KNOB_BOOL(powerpc_gtse, "powerpc.gtse", KNOB_HW, 1,
	  "the partition may issue tlbie itself; else H_RPT_INVALIDATE",
	  "MMU_FTR_GTSE");
KNOB_BOOL(powerpc_tlbie, "powerpc.tlbie", KNOB_POLICY, 1,
	  "broadcast by tlbie; off: interrupt the CPUs of the mask, and tlbiel there",
	  "boot parameter disable_tlbie");
KNOB_INT(powerpc_tlb_single_page_flush_ceiling, "powerpc.tlb_single_page_flush_ceiling",
	 KNOB_POLICY, 33, 0, 1 << 20,
	 "pages above which a global flush drops everything of the PID",
	 "cbf09c837720; thread S2");
KNOB_INT(powerpc_tlb_local_single_page_flush_ceiling,
	 "powerpc.tlb_local_single_page_flush_ceiling", KNOB_POLICY,
	 POWER9_TLB_SETS_RADIX * 2, 0, 1 << 20,
	 "pages above which a local flush drops everything of the PID",
	 "f6f27951fdf8");
KNOB_ENUM(powerpc_ceiling_compare, "powerpc.ceiling_compare", KNOB_POLICY, CEILING_GT,
	  "how pages compare with either ceiling", "thread S2", "gt", "ge");
KNOB_ENUM(powerpc_ceiling_range, "powerpc.ceiling_range", KNOB_POLICY, CEILING_RANGE_FLUSH,
	  "what a gather holds against a ceiling: what it flushes now, or all of its call",
	  "Nick Piggin's counter-proposal; thread S2", "flush", "call");
KNOB_INT(powerpc_hcall_ceiling, "powerpc.hcall_ceiling", KNOB_HW, 33, 0, 1 << 20,
	 "pages above which the hypervisor's H_RPT_INVALIDATE drops everything of the PID",
	 "KVM: do_h_rpt_invalidate_prt(); thread S2");
KNOB_ENUM(powerpc_cpumask_trim, "powerpc.cpumask_trim", KNOB_POLICY, CPUMASK_TRIM_1073,
	  "when CPUs leave mm_cpumask(): never, if the mm has one user, every 1073rd flush",
	  "0cef77c7798a; Allow mm_cpumask trimming from external sources",
	  "none", "single", "1073");
KNOB_INT(powerpc_cpumask_trim_timer, "powerpc.cpumask_trim_timer", KNOB_POLICY, 1073, 1, 1 << 20,
	 "flushes of a CPU until one trims mm_cpumask() (cpumask_trim=1073)",
	 "tlb_mm_cpumask_trim_timer");
KNOB_BOOL(powerpc_lazy_tlb_shootdown, "powerpc.lazy_tlb_shootdown", KNOB_POLICY, 1,
	  "a flush of the whole mm first interrupts all CPUs of its mask to give it up",
	  "powerpc/64s: enable MMU_LAZY_TLB_SHOOTDOWN (6.4)");
KNOB_BOOL(powerpc_nested_branch, "powerpc.nested_branch", KNOB_POLICY, 0,
	  "a gather beside others flushes its range with every page size",
	  "02390f66bd23 (2018); thread S0");
KNOB_ENUM(powerpc_range_pwc, "powerpc.range_pwc", KNOB_POLICY, RANGE_PWC_PMD,
	  "flush_tlb_range() drops walk caches: never, or from PMD_SIZE on",
	  "Update flush_tlb_range to flush page walk cache (5.14)", "none", "pmd");

enum tlb_flush_type { FLUSH_TYPE_NONE, FLUSH_TYPE_LOCAL, FLUSH_TYPE_GLOBAL };

/* ---- how far ---- */

void exit_lazy_flush_tlb(struct mm_struct *mm, bool always_flush)
{
	struct mm_struct *init_mm = kernel()->init_mm;
	u32 cpu = smp_processor_id();
	bool flags;

	/* A thread of mm runs here: we stay in the mask. */
	if (current->mm == mm)
		goto out;

	local_irq_save(flags);
	if (current->active_mm == mm) {
		/* Borrowed. Whoever flushes has a reference, so ours is not the last. */
		atomic_inc(&init_mm->mm_count);
		current->active_mm = init_mm;
		switch_mm_irqs_off(mm, init_mm, current);
		atomic_dec(&mm->mm_count);
	}
	/*
	 * Anybody may ask for this at any time, so two requests may come one after the
	 * other: the second finds the bit clear, and must only flush.
	 */
	if (cpumask_test_cpu(cpu, mm_cpumask(mm))) {
		dec_mm_active_cpus(mm);
		cpumask_clear_cpu(cpu, mm_cpumask(mm));
		always_flush = true;
	}
	local_irq_restore(flags);
out:
	if (always_flush)
		_tlbiel_pid(mm->context.id, RIC_FLUSH_ALL);
}

static void do_exit_flush_lazy_tlb(void *mm)
{
	exit_lazy_flush_tlb(mm, true);
}

/* func(info) on the CPUs of mm's mask but this one; waits. */
static void mm_call_others(struct mm_struct *mm, void (*func)(void *info), void *info)
{
	u64 cpus[NR_CPUS / 64];

	for (u32 w = 0; w < cpumask_words(); w++)
		cpus[w] = READ_ONCE(mm_cpumask(mm)->bits[w]);
	if (cpumask_any_but(mm_cpumask(mm), smp_processor_id()))
		mach_ipi(cpus, func, info, true);
}

/* Every other CPU that does not run a thread of mm leaves its mask. */
static void exit_flush_lazy_tlbs(struct mm_struct *mm)
{
	mm_call_others(mm, do_exit_flush_lazy_tlb, mm);
}

/*
 * Trimming costs interrupts and saves broadcasts; the interval is a prime number, so that it
 * does not fall in step with what the process does.
 */
static bool tick_and_test_trim_clock(void)
{
	u32 *trim_clock = &this_cpu()->arch.mm_cpumask_trim_clock;

	if (++*trim_clock != (u32)knob(powerpc_cpumask_trim_timer))
		return false;
	*trim_clock = 0;
	return true;
}

/* The only user of mm is this very thread. */
static bool mm_is_singlethreaded(struct mm_struct *mm)
{
	return atomic_read(&mm->mm_users) <= 1 && current->mm == mm;
}

static bool mm_is_thread_local(struct mm_struct *mm)
{
	return atomic_read(&mm->context.active_cpus) <= 1 &&
	       cpumask_test_cpu(smp_processor_id(), mm_cpumask(mm));
}

/* Up to 4.17: a CPU that has run mm is in its mask for ever. */
static enum tlb_flush_type flush_type_untrimmed(struct mm_struct *mm, bool fullmm)
{
	(void)fullmm;
	return mm_is_thread_local(mm) ? FLUSH_TYPE_LOCAL : FLUSH_TYPE_GLOBAL;
}

/* 4.18 to 5.10. */
static enum tlb_flush_type flush_type_single(struct mm_struct *mm, bool fullmm)
{
	if (mm_is_thread_local(mm))
		return FLUSH_TYPE_LOCAL;
	if (atomic_read(&mm->context.copros) > 0 || fullmm || !mm_is_singlethreaded(mm))
		return FLUSH_TYPE_GLOBAL;
	exit_flush_lazy_tlbs(mm);
	return FLUSH_TYPE_LOCAL;
}

static enum tlb_flush_type flush_type_1073(struct mm_struct *mm, bool fullmm)
{
	s32 active_cpus = atomic_read(&mm->context.active_cpus);
	bool here = cpumask_test_cpu(smp_processor_id(), mm_cpumask(mm));

	if (active_cpus == 0)
		return FLUSH_TYPE_NONE;
	if (active_cpus == 1 && here) {
		/* We flush another process's mm and only keep it alive in our TLB. */
		if (current->mm != mm && tick_and_test_trim_clock()) {
			exit_lazy_flush_tlb(mm, true);
			return FLUSH_TYPE_NONE;
		}
		return FLUSH_TYPE_LOCAL;
	}
	/* Coprocessors obey tlbie only. */
	if (atomic_read(&mm->context.copros) > 0)
		return FLUSH_TYPE_GLOBAL;
	/* The mm is going, so is its mask; a tlbie is cheaper than interrupts. */
	if (fullmm)
		return FLUSH_TYPE_GLOBAL;
	/*
	 * A CPU that begins to use mm now does so after our first look at active_cpus,
	 * hence after the entry was changed.
	 */
	if (mm_is_singlethreaded(mm)) {
		exit_flush_lazy_tlbs(mm);
		return FLUSH_TYPE_LOCAL;
	}
	if (!tick_and_test_trim_clock())
		return FLUSH_TYPE_GLOBAL;
	exit_flush_lazy_tlbs(mm);
	/* The interrupts have flushed the others. */
	if (current->mm == mm)
		return FLUSH_TYPE_LOCAL;
	if (here)
		exit_lazy_flush_tlb(mm, true);
	return FLUSH_TYPE_NONE;
}

static enum tlb_flush_type (*const flush_type[])(struct mm_struct *mm, bool fullmm) = {
	[CPUMASK_TRIM_NONE] = flush_type_untrimmed,
	[CPUMASK_TRIM_SINGLE] = flush_type_single,
	[CPUMASK_TRIM_1073] = flush_type_1073,
};

static enum tlb_flush_type flush_type_needed(struct mm_struct *mm, bool fullmm)
{
	/* The changed entry first, then who may have it: tlbflush.h. */
	smp_mb();
	return flush_type[knob(powerpc_cpumask_trim)](mm, fullmm);
}

/* ---- how it gets there ---- */

/* To the hypervisor. It may be busy; if it refuses, everything is flushed instead. */
static void pseries_rpt_invalidate(struct mm_struct *mm, u32 type, u32 pages,
				   u64 start, u64 end)
{
	u32 target = H_RPTI_TARGET_CMMU, args;
	s64 rc;

	if (atomic_read(&mm->context.copros) > 0)
		target |= H_RPTI_TARGET_NMMU;
	args = H_RPTI_ARGS(mm->context.id, target, type, pages);
	do
		rc = mach_insn(MACH_PPC_H_RPT_INVALIDATE, start, end, args);
	while (rc == H_BUSY);
	if (rc == H_SUCCESS)
		return;
	args = H_RPTI_ARGS(mm->context.id, target, H_RPTI_TYPE_ALL, pages);
	do
		rc = mach_insn(MACH_PPC_H_RPT_INVALIDATE, 0, ~0UL, args);
	while (rc == H_BUSY);
	BUG_ON(rc != H_SUCCESS);
}

/* What the CPUs of the mask are asked for; on the stack of who waits for them. */
struct tlbiel_info {
	u64 pid;
	u32 ric;			/* nr 0: of the whole PID */
	u32 nr;
	const struct va_range *range;
	bool also_pwc;
};

static void do_tlbiel(void *info)
{
	const struct tlbiel_info *t = info;

	if (t->nr)
		_tlbiel_va_ranges(t->range, t->nr, t->pid, t->also_pwc);
	else
		_tlbiel_pid(t->pid, t->ric);
}

/* tlbiel on every CPU of the mask, this one perhaps included. */
static void tlbiel_multicast(struct mm_struct *mm, struct tlbiel_info *t)
{
	if (cpumask_test_cpu(smp_processor_id(), mm_cpumask(mm)))
		do_tlbiel(t);
	mm_call_others(mm, do_tlbiel, t);
}

/*
 * The walk cache of POWER9's nest MMU may keep last-level entries, and a RIC = 0
 * by PID leaves them there.
 */
static bool mm_needs_flush_escalation(struct mm_struct *mm)
{
	return !knob(powerpc_isa31) && atomic_read(&mm->context.copros) > 0;
}

static void flush_pid_global(struct mm_struct *mm, u32 ric)
{
	struct tlbiel_info t = { .pid = mm->context.id, .ric = ric };

	if (!knob(powerpc_gtse)) {
		pseries_rpt_invalidate(mm, ric == RIC_FLUSH_ALL ? H_RPTI_TYPE_ALL :
								  H_RPTI_TYPE_TLB,
				       H_RPTI_PAGE_ALL, 0, ~0UL);
	} else if (knob(powerpc_tlbie)) {
		_tlbie_pid(t.pid, mm_needs_flush_escalation(mm) ? RIC_FLUSH_ALL : ric);
	} else {
		tlbiel_multicast(mm, &t);
		if (atomic_read(&mm->context.copros) > 0)
			_tlbie_pid(t.pid, RIC_FLUSH_ALL);
	}
}

/* With tlbie or by interrupt; the caller has seen to powerpc.gtse. */
static void flush_ranges_global(struct mm_struct *mm, const struct va_range *range,
				u32 nr, bool also_pwc)
{
	struct tlbiel_info t = {
		.pid = mm->context.id, .nr = nr, .range = range, .also_pwc = also_pwc,
	};

	if (knob(powerpc_tlbie)) {
		_tlbie_va_ranges(range, nr, t.pid, also_pwc);
		return;
	}
	tlbiel_multicast(mm, &t);
	if (atomic_read(&mm->context.copros) > 0)
		_tlbie_va_ranges(range, nr, t.pid, also_pwc);
}

static void flush_pid(struct mm_struct *mm, enum tlb_flush_type type, u32 ric)
{
	if (type == FLUSH_TYPE_LOCAL)
		_tlbiel_pid(mm->context.id, ric);
	else if (type == FLUSH_TYPE_GLOBAL)
		flush_pid_global(mm, ric);
}

static void flush_ranges(struct mm_struct *mm, enum tlb_flush_type type,
			 const struct va_range *range, u32 nr, bool also_pwc)
{
	if (type == FLUSH_TYPE_LOCAL)
		_tlbiel_va_ranges(range, nr, mm->context.id, also_pwc);
	else
		flush_ranges_global(mm, range, nr, also_pwc);
}

/* The hypervisor is told the range, and has a ceiling of its own. */
static bool by_hypervisor(enum tlb_flush_type type)
{
	return type == FLUSH_TYPE_GLOBAL && !knob(powerpc_gtse);
}

/* ---- how much ---- */

/*
 * Bytes to hold against a ceiling. Dirty pages of files are flushed for one table at a
 * time (zap_pte_range()), so that of a large munmap a flush knows 2 MiB; the call knew
 * it all. With "call" each of them drops the PID, however few pages it had to flush.
 */
static u64 ceiling_span(const struct mmu_gather *tlb)
{
	if (knob(powerpc_ceiling_range) == CEILING_RANGE_CALL)
		return tlb->call_end - tlb->call_start;
	return tlb->end - tlb->start;
}

static bool above_ceiling(enum tlb_flush_type type, u64 nr_pages)
{
	u64 ceiling = type == FLUSH_TYPE_GLOBAL ?
			      (u64)knob(powerpc_tlb_single_page_flush_ceiling) :
			      (u64)knob(powerpc_tlb_local_single_page_flush_ceiling);

	if (knob(powerpc_ceiling_compare) == CEILING_GE)
		return nr_pages >= ceiling;
	return nr_pages > ceiling;
}

void flush_tlb_mm(struct mm_struct *mm)
{
	flush_pid(mm, flush_type_needed(mm, false), RIC_FLUSH_TLB);
}

static void __flush_all_mm(struct mm_struct *mm, bool fullmm)
{
	flush_pid(mm, flush_type_needed(mm, fullmm), RIC_FLUSH_ALL);
}

void radix__flush_all_mm(struct mm_struct *mm)
{
	__flush_all_mm(mm, false);
}

void radix__flush_tlb_page_psize(struct mm_struct *mm, u64 addr, int psize)
{
	u64 size = 1UL << mmu_psize_to_shift(psize);
	struct va_range range = { addr, addr + size, psize };
	enum tlb_flush_type type = flush_type_needed(mm, false);

	if (type == FLUSH_TYPE_NONE)
		return;
	if (type == FLUSH_TYPE_LOCAL)
		_tlbiel_va(addr, mm->context.id, psize);
	else if (by_hypervisor(type))
		pseries_rpt_invalidate(mm, H_RPTI_TYPE_TLB, H_RPTI_PAGE(psize),
				       range.start, range.end);
	else if (knob(powerpc_tlbie))
		_tlbie_va(addr, mm->context.id, psize);
	else
		flush_ranges_global(mm, &range, 1, false);
}

void flush_tlb_page(struct vm_area_struct *vma, u64 addr)
{
	radix__flush_tlb_page_psize(vma->vm_mm, addr, mmu_virtual_psize());
}

/* The pages of size 1 << shift that lie in [start, end) as a whole. */
static struct va_range inner_range(u64 start, u64 end, u32 shift, int psize)
{
	u64 size = 1UL << shift;

	return (struct va_range){ round_up(start, size), round_down(end, size), psize };
}

/*
 * Pages of every size that can be in the range: 2 MiB ones always, 1 GiB ones
 * (hugetlb) if all_sizes says so.
 */
static void __radix__flush_tlb_range(struct mm_struct *mm, u64 start, u64 end,
				     bool all_sizes)
{
	int psize = mmu_virtual_psize();
	struct va_range range[3] = {
		{ start, end, psize },
		inner_range(start, end, PMD_SHIFT, MMU_PAGE_2M),
		inner_range(start, end, PUD_SHIFT, MMU_PAGE_1G),
	};
	bool pwc = knob(powerpc_range_pwc) == RANGE_PWC_PMD && end - start >= PMD_SIZE;
	bool new = knob(powerpc_range_pwc) == RANGE_PWC_PMD;
	enum tlb_flush_type type = flush_type_needed(mm, false);

	if (type == FLUSH_TYPE_NONE)
		return;
	/*
	 * Linux asks the hypervisor for walk caches only when the range is below our own
	 * ceiling, which has nothing to do with it: not copied.
	 */
	if (by_hypervisor(type))
		pseries_rpt_invalidate(mm, H_RPTI_TYPE_TLB | (pwc ? H_RPTI_TYPE_PWC : 0),
				       H_RPTI_PAGE(psize) | H_RPTI_PAGE(MMU_PAGE_2M) |
				       (all_sizes ? H_RPTI_PAGE(MMU_PAGE_1G) : 0),
				       start, end);
	else if (above_ceiling(type, (end - start) >> PAGE_SHIFT))
		flush_pid(mm, type, new ? RIC_FLUSH_ALL : RIC_FLUSH_TLB);
	else
		flush_ranges(mm, type, range, all_sizes ? 3 : 2, pwc);
}

void flush_tlb_range(struct vm_area_struct *vma, u64 start, u64 end)
{
	__radix__flush_tlb_range(vma->vm_mm, start, end, false);
}

/* span: bytes that decide between page by page and the PID. */
static void __radix__flush_tlb_range_psize(struct mm_struct *mm, u64 start, u64 end,
					   u64 span, int psize, bool also_pwc)
{
	struct va_range range = { start, end, psize };
	enum tlb_flush_type type = flush_type_needed(mm, false);

	if (type == FLUSH_TYPE_NONE)
		return;
	if (by_hypervisor(type))
		pseries_rpt_invalidate(mm, H_RPTI_TYPE_TLB |
				       (also_pwc ? H_RPTI_TYPE_PWC : 0),
				       H_RPTI_PAGE(psize), start, end);
	else if (above_ceiling(type, span >> mmu_psize_to_shift(psize)))
		flush_pid(mm, type, also_pwc ? RIC_FLUSH_ALL : RIC_FLUSH_TLB);
	else
		flush_ranges(mm, type, &range, 1, also_pwc);
}

void radix__flush_tlb_range_psize(struct mm_struct *mm, u64 start, u64 end, int psize)
{
	__radix__flush_tlb_range_psize(mm, start, end, end - start, psize, false);
}

void radix__flush_tlb_pwc_range_psize(struct mm_struct *mm, u64 start, u64 end,
				      int psize)
{
	__radix__flush_tlb_range_psize(mm, start, end, end - start, psize, true);
}

void radix__flush_tlb_collapsed_pmd(struct mm_struct *mm, u64 addr)
{
	struct va_range range = { addr, addr + PMD_SIZE, mmu_virtual_psize() };
	enum tlb_flush_type type;

	if (PAGE_SHIFT == 12) {
		radix__flush_all_mm(mm);
		return;
	}
	type = flush_type_needed(mm, false);
	if (type == FLUSH_TYPE_NONE)
		return;
	if (by_hypervisor(type))
		pseries_rpt_invalidate(mm, H_RPTI_TYPE_ALL, H_RPTI_PAGE(range.psize),
				       range.start, range.end);
	else
		flush_ranges(mm, type, &range, 1, true);
}

/* -1: not a size of pages, or not known. */
static int radix_get_mmu_psize(u32 page_size)
{
	if (page_size == PAGE_SIZE)
		return mmu_virtual_psize();
	if (page_size == PMD_SIZE)
		return MMU_PAGE_2M;
	if (page_size == PUD_SIZE)
		return MMU_PAGE_1G;
	return -1;
}

/*
 * Ending mm. RIC = 2 also drops what is cached of its process-table entry. With
 * lazy_tlb_shootdown the CPUs that borrow mm must be interrupted anyway before
 * it can be freed, so they are now, and the flush may find nothing left to do.
 */
static void tlb_flush_fullmm(struct mm_struct *mm)
{
	if (knob(powerpc_lazy_tlb_shootdown)) {
		smp_mb();
		exit_flush_lazy_tlbs(mm);
	}
	__flush_all_mm(mm, true);
}

/*
 * Another gather may have cleared entries in our range, of sizes that we do not
 * know, and its invalidation may still be to come: flush the range for all.
 */
static void tlb_flush_nested(struct mmu_gather *tlb, bool tables)
{
	if (tables)
		radix__flush_all_mm(tlb->mm);
	else
		__radix__flush_tlb_range(tlb->mm, tlb->start, tlb->end, true);
}

/*
 * Were tables unhooked? A nested gather's reset may have cleared the bit (some values
 * of mmu_gather.nested), but what waits to be freed still says so. Up to 5.6 Linux had
 * need_flush_all for it, which outlived the reset, too.
 */
static bool tlb_freed_tables(struct mmu_gather *tlb)
{
	return tlb->freed_tables || tlb->need_flush_all || tlb->batch;
}

void tlb_flush(struct mmu_gather *tlb)
{
	bool tables = tlb_freed_tables(tlb);
	int psize = radix_get_mmu_psize(tlb->page_size);

	if (tlb->fullmm)
		tlb_flush_fullmm(tlb->mm);
	else if (knob(powerpc_nested_branch) && mm_tlb_flush_nested(tlb->mm))
		tlb_flush_nested(tlb, tables);
	else if (psize == -1 && !tables)
		flush_tlb_mm(tlb->mm);
	else if (psize == -1)
		radix__flush_all_mm(tlb->mm);
	else
		__radix__flush_tlb_range_psize(tlb->mm, tlb->start, tlb->end,
					       ceiling_span(tlb), psize, tables);
}

bool pte_needs_flush(pte_t oldpte, pte_t newpte)
{
	u64 delta = pte_val(oldpte) ^ pte_val(newpte);

	if (delta & ~(_PAGE_RWX | _PAGE_DIRTY | _PAGE_ACCESSED))
		return true;
	/* ACCESSED may go stale: the page only looks younger than it is. */
	return delta & ~_PAGE_ACCESSED & pte_val(oldpte);
}
