/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an architecture supplies to core/mm, and the file of core/arch/ARCH that
 * supplies it. The same names in each, and Linux's, so that "where is that for
 * arm64?" needs no search. This header is the list and the contract; the
 * declarations are in the files named. Any of them may be a macro, so that the
 * site of an access is its caller's; arguments may be evaluated more than once.
 *
 * arch_types.h (included by mm_types.h, so it may use only kernel.h)
 *	mm_context_t	per address space; struct arch_cpu per CPU; struct
 *	arch_tlbflush_unmap_batch per task (mm/rmap.h);
 *	struct arch_root per core. Initialised by the functions below from zero.
 *
 * arch_knobs.h (included by knobs.h)
 *	#define ARCH_KNOBS(X) X(x86_pcid) X(...)	the knobs defined in this
 *	architecture's .c files: policies ("x86.tlb_single_page_flush_ceiling")
 *	and hardware ("x86.pcid", KNOB_HW).
 *
 * pgtable.h, pgtable.c
 *	arch_init_geometry(struct pt_geometry *geo): from env->page_shift and
 *	knobs. Encoders and tests, as in Linux, on the types of mm_types.h:
 *	pte_val __pte, pmd_val __pmd, ... pgprot_val __pgprot;
 *	pte_none pte_present pte_protnone pte_write pte_dirty pte_young pte_pfn
 *	pte_same pfn_pte mk_pte pte_mkwrite pte_wrprotect pte_mkdirty
 *	pte_mkclean pte_mkyoung pte_mkold pte_modify pte_accessible(mm, pte);
 *	pmd_none pmd_present pmd_leaf pmd_pfn; pmd_populate(mm, pmdp, page)
 *	pud_populate p4d_populate pgd_populate and the _none and _present tests
 *	of each; pmd_page (table page of a non-leaf), pud_page, p4d_page,
 *	pgd_page; vm_get_page_prot(vm_flags).
 *	Where the level below is folded (geo.p4d_folded for pgd_*, ...), _none
 *	is false, _clear does nothing, and _populate and _page are not to be used.
 *	Access, all through shared words:
 *	ptep_get pmdp_get pudp_get p4dp_get pgdp_get (READ_ONCE);
 *	set_pte set_pmd set_pud set_p4d; set_pte_at(mm, addr, ptep, pte);
 *	pte_clear(mm, addr, ptep); pmd_clear pud_clear p4d_clear pgd_clear;
 *	ptep_get_and_clear(mm, addr, ptep) (atomic: returns
 *	the entry with every A/D bit that hardware set);
 *	ptep_get_and_clear_full(mm, addr, ptep, full);
 *	ptep_set_access_flags(vma, addr, ptep, entry, dirty) (returns whether
 *	it changed the entry; does what flushing the architecture needs);
 *	ptep_set_wrprotect; ptep_modify_prot_start(vma, addr, ptep),
 *	ptep_modify_prot_commit(vma, addr, ptep, old, new);
 *	__swp_entry_to_pte(type, offset), __pte_swp_type(pte), __pte_swp_offset(pte): entries
 *	that are neither none nor present (mm/swapops.h): 5 bits of type, not 0, and
 *	an offset as wide as a frame number;
 *	flush_tlb_fix_spurious_fault(vma, addr, ptep); update_mmu_cache (no-op);
 *	arch_has_hw_pte_young().
 *	ARCH_SUPPORTS_PT_RECLAIM: 0 or 1: x86 alone may free empty tables (mm.pt_reclaim).
 *	Huge pages (mm/huge_mm.h has the rules): has_transparent_hugepage(): a PMD
 *	entry maps 2 MiB; pmd_pte pte_pmd pmdp_ptep (a leaf has the bits of a page's
 *	entry) pfn_pmd pmd_modify; set_pmd_at(mm, addr, pmdp, pmd) (a leaf, where nothing
 *	valid is); pmdp_huge_get_and_clear(mm, addr, pmdp) and
 *	pmdp_huge_get_and_clear_full(vma, addr, pmdp, full) (as for ptep);
 *	pmdp_invalidate(vma, addr, pmdp): atomically invalid for hardware, still a huge page
 *	for software, and flushed everywhere; the old entry with all A/D bits.
 *	pmdp_invalidate_ad(): the same, perhaps without the flush, for who flushes later
 *	and only changes rights; pmdp_set_access_flags(vma, addr, pmdp, entry, dirty);
 *	pmdp_set_wrprotect(mm, addr, pmdp); pmdp_collapse_flush(vma, addr, pmdp): unhook a
 *	table and flush what it mapped, walk caches too.
 *	Lockless walkers: begin_lockless_pgtbl_walk(mm, flags), which turns interrupts off,
 *	and end_lockless_pgtbl_walk(mm, flags), around a walk and the use of what it found;
 *	begin_pte_lookup(mm), end_pte_lookup(mm) inside, around the look-up alone.
 *	arch_supports_page_table_move(): flush_tlb_range() drops walk caches.
 *	A store of an entry orders nothing by itself: who hooks a table in calls
 *	smp_wmb() before.
 *	pgd_alloc(mm) / pgd_free(mm): fill in mm->pgd, mm->pgd_pfn (x86 with PTI
 *	allocates the twin); 0 or -ENOMEM. At pgd_free() every entry is clear.
 *
 * tlbflush.h, tlb.c
 *	flush_tlb_mm(mm), flush_tlb_range(vma, start, end),
 *	flush_tlb_page(vma, addr); x86 also flush_tlb_mm_range(mm, start, end,
 *	stride_shift, freed_tables). They return when the invalidation is
 *	complete on every CPU that the rules of the architecture make it reach.
 *	flush_pmd_tlb_range(vma, start, end): leaves of 2 MiB.
 *	pte_needs_flush(old, new), huge_pmd_needs_flush(old, new). Preconditions: the entry was changed before,
 *	by this CPU; interrupts on (x86: the flush waits for other CPUs, which
 *	may be waiting for this one).
 *	ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH: 0 or 1. If 1 (mm/rmap.h): arch_tlbbatch_should_defer(mm);
 *	arch_tlbbatch_add_pending(batch, mm, addr): an entry was cleared, under its lock;
 *	arch_tlbbatch_flush(batch): all of them are invalidated everywhere, when it returns;
 *	arch_flush_tlb_batched_pending(mm): the same for whatever others have added of mm.
 *	pte_free_tlb/pmd_free_tlb/pud_free_tlb go through mm/mmu_gather.h.
 *
 * tlb.h (included at the end of mm/mmu_gather.h)
 *	tlb_flush(struct mmu_gather *tlb): the architecture's part of
 *	tlb_flush_mmu_tlbonly().
 *	ARCH_MMU_GATHER_MERGE_VMAS, ARCH_MMU_GATHER_PAGE_SIZE,
 *	ARCH_MMU_GATHER_RCU_TABLE_FREE: 0 or 1, what Linux selects in Kconfig.
 *	tlb_needs_table_invalidate(): bool.
 *
 * mmu_context.h, context.c, in the order of their calls
 *	const char *arch_boot(void): after geometry and memmap exist, before any
 *	init_new_context(). NULL, or in one line why these knobs or this
 *	machine cannot be (core_module.boot()'s *error).
 *	init_new_context(tsk, mm): 0 or -errno; mm is zero but for its pgd. Also
 *	for init_mm, which must exist before
 *	arch_cpu_online(void): on that CPU, interrupts off; loads init_mm.
 *	switch_mm_irqs_off(prev, next, tsk): interrupts off, kernel mode; prev is
 *	what this CPU had (active_mm), next is not NULL (init_mm where no other
 *	will do). enter_lazy_tlb(mm, tsk) instead, when the next task has no mm:
 *	it borrows mm, and the caller keeps an mm_count for it.
 *	arch_enter_kernel(), arch_exit_kernel(): every crossing between user and
 *	kernel mode of a thread (with page-table isolation they switch tables).
 *	Each does nothing if the CPU is there already. A thread that is
 *	preempted in user mode is still in user mode: the context switch calls
 *	arch_enter_kernel() first, and arch_exit_kernel() at its end if the next
 *	thread was preempted so. Interrupts that flush cross by themselves.
 *	arch_exit_mmap(mm): before the last gather; destroy_context(mm): with mm.
 *
 * Every arch file is compiled into its own core module; none is shared.
 */
