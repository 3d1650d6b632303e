/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings of the kernel's own: one area of 1 GiB from VMALLOC_START on, in all address spaces.
 *
 * With x86.ioremap each root has an entry that leads to one PUD table, which is made at boot, with
 * its PMD table, and never goes (pgd_alloc() copies the entry); what hangs below is changed
 * there once, for all. It is init_mm's mmap_lock that guards it. Entries have no right for user mode; they are
 * not global, which makes a difference to nobody here: nothing relies on their outliving a
 * switch.
 *
 * Tables of PTEs stay when all that they map is gone, as in Linux, and only go for a huge mapping.
 * CPUs walk here at any time, by speculation, in whatever mode and address space: a flush is for
 * all CPUs, and mm_cpumask() says nothing.
 *
 * The others have none here: arm64 has a root of its own for the kernel, which the machine does
 * not know; POWER's is PID 0's.
 */
#ifndef CORE_ARCH_X86_IOREMAP_H
#define CORE_ARCH_X86_IOREMAP_H

#include "mm/mm_types.h"

/* Before the first pgd_alloc(). NULL, or what is wrong. */
const char *ioremap_boot(void);

/*
 * Maps fresh zeroed pages at VMALLOC_START + off, huge ones wherever a whole aligned 2 MiB is
 * asked for; iounmap() takes away, and frees, what is mapped there. 0; -EINVAL: not in
 * the area, or it is off; -EEXIST: something is mapped; -ENOMEM. May sleep.
 */
s64 ioremap(u64 off, u64 len);
s64 iounmap(u64 off, u64 len);

/* Empty tables go (core_module.drain_all). */
void ioremap_quiet(void);

#endif
