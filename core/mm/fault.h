/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page fault under way; fault.c has the base pages, huge_memory.c the others. */
#ifndef CORE_MM_FAULT_H
#define CORE_MM_FAULT_H

#include "mm/mm_types.h"

enum fault_result {
	FAULT_WRITE,	/* a read-only entry was made fit for a write, but for the VMA's rights */
	FAULT_DONE,	/* mended, or changed by others: access again */
	FAULT_OOM,
	FAULT_FALLBACK,	/* not as a huge page */
};

struct vm_fault {
	struct vm_area_struct *vma;
	u64 address;		/* of the page */
	bool write;
	pmd_t *pmd;
	pmd_t orig_pmd;		/* as found without the lock */
	pte_t *pte;
	pte_t orig_pte;		/* likewise */
	spinlock_t *ptl;
};

/* The mmap_lock, for reading, or the VMA's lock. address: of any byte. */
enum fault_result handle_mm_fault(struct vm_area_struct *vma, u64 addr, bool write);

#define maybe_mkwrite(pte, vma)                                                 \
	((vma)->vm_flags & VM_WRITE ? pte_mkwrite(pte) : (pte))

#endif
