// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A forced write (/proc/self/mem) to a private mapping that is read-only ends in the file.
 *
 * CVE-2016-5195; Linux 19be0eaffa3a "mm: remove gup_flags FOLL_WRITE games from
 * __get_user_pages()" (2016).
 *
 *	CPU 0: get_user_pages(FOLL_WRITE | FOLL_FORCE)	CPU 1: MADV_DONTNEED
 *	fault: copy the file's page F to P, map P, dirty
 *	and still read-only: the VMA is
 *	so that the entry will do: drop FOLL_WRITE
 *							clear the entry
 *	look again: nothing there
 *	fault, for reading: map F
 *	look again: F, which may be read
 *	write to it
 *
 * Rule: WRONG-PERM. The fix keeps FOLL_WRITE and notes the copy in FOLL_COW: an entry that does
 * not allow to write will do if it is dirty, which of F none is. Each step holds the
 * page-table lock; between them the mmap_lock is held, for reading, by both.
 */
#include <tlblab/check.h>

#define VA 0x400000UL
#define CPUS 0x3

enum { FOLL_WRITE = 1, FOLL_COW = 2 };

struct state {
	u64 root, file, copy, *pte;
	struct mach_lock ptl;
};

#define S ((struct state *)check_state())

static void init(void)
{
	S->root = check_alloc_table();
	S->file = check_alloc_frame();
	S->copy = check_alloc_frame();
	mach_store(check_frame(S->file), 1, MACH_RELAXED);
	S->pte = check_map(S->root, VA, S->file, CHECK_READ);
}

static void cpu_init(void)
{
	check_load_root(S->root, 0);
}

/* follow_page_pte(): the frame, or 0: fault it in. */
static u64 follow_page(u32 flags)
{
	u64 pte, pfn = 0;

	mach_spin_lock(&S->ptl);
	pte = mach_load(S->pte, MACH_RELAXED);
	if (check_present(pte) &&
	    (!(flags & FOLL_WRITE) || ((flags & FOLL_COW) && (pte & X86_PTE_D))))
		pfn = check_pfn(pte);
	mach_spin_unlock(&S->ptl);
	return pfn;
}

/* handle_mm_fault(): a write copies, and the VMA is not writable. True: VM_FAULT_WRITE. */
static bool handle_mm_fault(bool write)
{
	u64 pte;

	mach_spin_lock(&S->ptl);
	pte = mach_load(S->pte, MACH_RELAXED);
	if (write && (!check_present(pte) || check_pfn(pte) == S->file)) {
		(void)mach_rmw(S->pte, MACH_XCHG, 0, 0, MACH_FULL);
		check_x86_flush_page(CPUS, VA);
		mach_copy_frame(S->copy, S->file);
		mach_store(S->pte, check_leaf(S->copy, CHECK_READ | CHECK_DIRTY), MACH_RELAXED);
	} else if (!check_present(pte)) {
		mach_store(S->pte, check_leaf(S->file, CHECK_READ), MACH_RELAXED);
	}
	mach_spin_unlock(&S->ptl);
	return write;
}

/* __get_user_pages() and faultin_page(), and what the page is for. */
static void write_mem(void)
{
	u32 flags = FOLL_WRITE;
	u64 pfn;

	while (!(pfn = follow_page(flags))) {
		if (!handle_mm_fault(flags & FOLL_WRITE))
			continue;
		if (check_option("bug"))
			flags &= ~(u32)FOLL_WRITE;
		else
			flags |= FOLL_COW;
	}
	if (pfn == S->file)
		check_fail("WRONG-PERM", "a page of the file is written to");
	mach_store(check_frame(pfn), 7, MACH_RELAXED);
}

/* The copy is not freed: nothing else needs a frame. */
static void madvise_dontneed(void)
{
	mach_spin_lock(&S->ptl);
	(void)mach_rmw(S->pte, MACH_XCHG, 0, 0, MACH_FULL);
	mach_spin_unlock(&S->ptl);
	check_x86_flush_page(CPUS, VA);
}

CHECK_MODEL(dirty_cow,
	.what = "a forced write forgets that it is one (Dirty COW, CVE-2016-5195)",
	.arch = CHECK_X86,
	.cpus = 2,
	.state_size = sizeof(struct state),
	.init = init,
	.cpu_init = cpu_init,
	.option = { CHECK_BUG("drop FOLL_WRITE once the page was copied, as before 4.9") },
	.thread = {
		{ "mem", 0, { KERNEL(write_mem) } },
		{ "madvise", 1, { KERNEL(madvise_dontneed) } },
	},
	.expect = {
		{ "bug=on", "WRONG-PERM" },
		{ "bug=off", "pass" },
	})
