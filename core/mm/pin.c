/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * get_user_pages(): look for the page; what is missing is faulted in, and looked for again.
 * Between the two anything may happen to it that the mmap_lock, for reading, lets happen.
 *
 * FOLL_FORCE writes to what the process itself may only read (a breakpoint). The fault makes a
 * copy, which is mapped read-only as well; so what is looked for the second time is not a
 * writable entry. mm.foll_force is what then counts as the copy:
 *
 *	drop_write	any page, for it must be the copy. CVE-2016-5195, "Dirty COW":
 *
 *		CPU 0: gup_write, FOLL_FORCE	CPU 1
 *		looks: read-only. Faults
 *		  a copy is mapped
 *						MADV_DONTNEED: the copy is gone
 *		looks, no longer for writing: none. Faults
 *		  what all share is mapped
 *		looks: takes that, and writes
 *
 *	foll_cow	after such a fault, a dirty entry (4.9)
 *	exclusive	an anonymous page that is nobody else's (6.0)
 */
#include "mm/gup.h"

#include "mm/fault.h"
#include "mm/filemap.h"
#include "mm/huge_mm.h"
#include "mm/mmap_lock.h"
#include "mm/swap.h"

enum { FORCE_DROP_WRITE, FORCE_FOLL_COW, FORCE_EXCLUSIVE };
KNOB_ENUM(mm_foll_force, "mm.foll_force", KNOB_POLICY, FORCE_EXCLUSIVE,
	  "which page a forced write takes for the copy that a fault has made: any, one with a dirty "
	  "entry, one that is nobody else's",
	  "19be0eaffa3a (4.9), 5535be309971 (6.0)", "drop_write", "foll_cow", "exclusive");

struct pin {
	struct vm_area_struct *vma;
	u64 addr;
	bool write, force;
	bool cow;		/* a fault has copied */
};

static bool can_follow_write(const struct pin *p, pte_t pte)
{
	const struct page *page = pfn_to_page(pte_pfn(pte));

	if (pte_write(pte))
		return true;
	if (!p->force || pte_pfn(pte) == kernel()->zero_pfn)
		return false;
	switch (knob(mm_foll_force)) {
	case FORCE_FOLL_COW:
		return p->cow && pte_dirty(pte);
	case FORCE_EXCLUSIVE:
		return PageAnon(page) && PageAnonExclusive(page);
	default:
		return false;
	}
}

/* Under the entry's lock. part: of a huge page. */
static struct page *follow_entry(const struct pin *p, pte_t pte, u64 part)
{
	struct page *page;

	if (!pte_present(pte) || (p->write && !can_follow_write(p, pte)))
		return NULL;
	/* Marked: the fault tells NUMA balancing. */
	if (pte_protnone(pte) && vma_is_accessible(p->vma))
		return NULL;
	page = pfn_to_page(pte_pfn(pte)) + part;
	return try_grab(page, GUP_PIN_COUNTING_BIAS) ? page : NULL;
}

static struct page *follow_trans_huge_pmd(const struct pin *p, pmd_t *pmdp)
{
	spinlock_t *ptl = __pmd_trans_huge_lock(pmdp, p->vma);
	struct page *page;

	if (!ptl)
		return NULL;
	page = follow_entry(p, pmd_pte(pmdp_get(pmdp)), (p->addr & ~HPAGE_PMD_MASK) >> PAGE_SHIFT);
	spin_unlock(ptl);
	return page;
}

/* The page, pinned. NULL: it is not there, or not as it must be. */
static struct page *follow_page(const struct pin *p)
{
	pmd_t *pmdp = mm_find_pmd(p->vma->vm_mm, p->addr), pmd;
	struct page *page;
	spinlock_t *ptl;
	pte_t *pte;

	if (!pmdp)
		return NULL;
	pmd = pmdp_get(pmdp);
	if (pmd_none(pmd))
		return NULL;
	if (pmd_trans_huge(pmd))
		return follow_trans_huge_pmd(p, pmdp);
	pte = pte_offset_map_lock(pmdp, pmd, p->addr, &ptl);
	if (!pte)
		return NULL;
	page = follow_entry(p, ptep_get(pte), 0);
	spin_unlock(ptl);
	return page;
}

/* False: no memory. */
static bool faultin_page(struct pin *p)
{
	enum fault_result res = handle_mm_fault(p->vma, p->addr, p->write);

	if (res == FAULT_WRITE && !(p->vma->vm_flags & VM_WRITE)) {
		if (knob(mm_foll_force) == FORCE_DROP_WRITE)
			p->write = false;
		p->cow = true;
	}
	return res != FAULT_OOM;
}

/* VM_MAYWRITE: who maps anonymous memory may always make it writable. */
static bool may_write(const struct vm_area_struct *vma, bool force)
{
	return (vma->vm_flags & VM_WRITE) || (force && vma_is_anonymous(vma));
}

static struct page *pin_slow(struct mm_struct *mm, u64 addr, bool force)
{
	struct pin p = { .addr = addr, .write = true, .force = force };
	struct page *page = NULL;

	mmap_read_lock(mm);
	p.vma = find_vma(mm, addr);
	if (p.vma && addr >= p.vma->vm_start && may_write(p.vma, force))
		do {
			page = follow_page(&p);
		} while (!page && faultin_page(&p));
	mmap_read_unlock(mm);
	return page;
}

static struct page *pin_fast(struct mm_struct *mm, u64 addr)
{
	struct page *page;
	struct gup g = {
		.mm = mm, .write = true, .refs = GUP_PIN_COUNTING_BIAS, .pages = &page,
	};

	addr &= PAGE_MASK;
	gup_fast(&g, addr, addr + PAGE_SIZE);
	return g.nr ? page : NULL;
}

/* unpin_user_pages_dirty_lock() */
static void unpin_dirty(struct page *page)
{
	struct page *head = compound_head(page);

	lock_page(head);
	set_page_dirty(head);
	/* While it was locked the slot's last user may have gone: swap.h. */
	if (PageSwapCache(head))
		unlock_swap_page(head);
	else
		unlock_page(head);
	put_refs(head, GUP_PIN_COUNTING_BIAS);
}

s64 gup_write(u64 addr, u64 val, bool force)
{
	struct mm_struct *mm = current->mm;
	struct page *page;

	if (addr >= TASK_SIZE || (addr & (sizeof(u64) - 1)))
		return -EINVAL;
	/* Never cleared; before the pin: gup.h. */
	if (!READ_ONCE(mm->has_pinned))
		(void)xchg(&mm->has_pinned, 1);
	page = pin_fast(mm, addr);
	if (!page)
		page = pin_slow(mm, addr, force);
	if (!page)
		return -EFAULT;
	mach_frame_store(page_to_pfn(page), (u32)(addr & ~PAGE_MASK), val);
	/* The device says that it is done when all it wrote is in memory. */
	smp_mb();
	unpin_dirty(page);
	return 0;
}
