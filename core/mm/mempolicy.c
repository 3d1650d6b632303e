/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marking ranges for hinting faults, and where a task's pages come from. */
#include "mm/numa.h"

#include "mm/huge_mm.h"
#include "mm/mmap_lock.h"

KNOB_BOOL(numa_balancing, "numa.balancing", KNOB_POLICY, 0,
	  "threads mark memory, and pages and threads move (sysctl kernel.numa_balancing)",
	  "cbee9f88ec1b (3.8)");
KNOB_ENUM(numa_marking, "numa.marking", KNOB_POLICY, MARKING_PROTNONE,
	  "a mark: a bit of its own, all else kept; or the rights of PROT_NONE",
	  "8a0516ed8b90 (4.0-rc1)", "numa_bit", "protnone");
KNOB_ENUM(numa_prot_none_update, "numa.prot_none_update", KNOB_POLICY, UPDATE_ATOMIC,
	  "how an entry is marked: cleared and set; read and written; 6.12's way",
	  "thread S3", "clear_flush", "rmw", "atomic");
KNOB_ENUM(numa_preserve_write, "numa.preserve_write", KNOB_POLICY, PRESERVE_RECOMPUTE,
	  "the right to write, after a hinting fault: by another fault; so, though the mark has it; "
	  "saved in the mark; found out",
	  "b191f9b106ea (4.0), 6a56ccbcf6c6 (6.2)", "off", "mark", "saved", "recompute");

KNOB_BOOL(numa_flush_pending, "numa.flush_pending", KNOB_POLICY, 1,
	  "who moves a marked page flushes if a gather is under way: it may be cached still",
	  "20841405940e (3.13)");

bool prot_numa_skip(struct vm_area_struct *vma, pte_t pte)
{
	struct page *page;

	/* Twice would only cost another flush. */
	if (pte_protnone(pte) || pte_pfn(pte) == kernel()->zero_pfn)
		return true;
	page = pfn_to_page(pte_pfn(pte));
	/* Shared after a fork: it suits one of them only. */
	if (!(vma->vm_flags & VM_SHARED) && !PageAnonExclusive(page) &&
	    page_mapcount(page) > 1)
		return true;
	/* A file's, dirty: it would not move without waiting for writeback. */
	if (!PageAnon(page) && (READ_ONCE(page->flags) & PG_dirty) &&
	    !(READ_ONCE(page->flags) & PG_swapbacked))
		return true;
	/* A single thread's, here already. */
	return !(vma->vm_flags & VM_SHARED) && atomic_read(&vma->vm_mm->mm_users) == 1 &&
	       mach_frame_node(pte_pfn(pte)) == mach_cpu_node(smp_processor_id());
}

pte_t pte_mark_numa(pte_t old)
{
	pte_t new = pte_modify(old, vm_get_page_prot(0));

	if (numa_keeps_write() && pte_write(old))
		new = pte_mk_savedwrite(new);
	return new;
}

pte_t pte_unmark_numa(struct vm_area_struct *vma, pte_t old, bool *plain_write)
{
	pte_t pte = pte_mkyoung(pte_modify(old, vma->vm_page_prot));

	if (knob(numa_marking) == MARKING_NUMA_BIT && pte_savedwrite(old))
		pte = pte_mkwrite(pte);
	*plain_write = pte_write(pte);
	if (*plain_write)
		return pte;
	if (knob(numa_preserve_write) == PRESERVE_SAVED && pte_savedwrite(old))
		return pte_mkwrite(pte);
	if (knob(numa_preserve_write) == PRESERVE_RECOMPUTE &&
	    can_change_pte_writable(vma, pte))
		return pte_mkwrite(pte);
	return pte;
}

u64 change_prot_numa(struct vm_area_struct *vma, u64 start, u64 end)
{
	struct mmu_gather tlb;
	u64 pages;

	/* Raises tlb_flush_pending; at its end flushes what was marked, if anything. */
	tlb_gather_mmu(&tlb, vma->vm_mm);
	tlb_gather_call(&tlb, GATHER_NUMA, start, end);
	pages = change_protection(&tlb, vma, start, end, vm_get_page_prot(0),
				  MM_CP_PROT_NUMA);
	count_vm_events(numa_pte_updates, pages);
	tlb_finish_mmu(&tlb);
	return pages;
}

s64 do_numa_hint(u64 start, u64 len)
{
	struct mm_struct *mm = current->mm;
	u64 end = start + PAGE_ALIGN(len), pages = 0;
	struct vm_area_struct *vma;

	if ((start & ~PAGE_MASK) || end < start)
		return -EINVAL;
	mmap_read_lock(mm);
	while (start < end && (vma = find_vma(mm, start)) && vma->vm_start < end) {
		if (vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC))
			pages += change_prot_numa(vma, max(start, vma->vm_start),
						  min(end, vma->vm_end));
		start = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return (s64)pages;
}

s64 do_set_mempolicy(s32 node)
{
	if (node < -1 || node >= (s32)mach_env()->nr_nodes)
		return -EINVAL;
	current->bind_node = node + 1;
	return 0;
}

s32 policy_node(void)
{
	return current->bind_node ? (s32)current->bind_node - 1 : MACH_NODE_LOCAL;
}
