/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the module's description; module.c puts them together. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include "kernel.h"

extern const struct knob *const core_knobs[];	/* knobs.c */
extern const struct era core_eras[];		/* eras.c */

/* The name of the first knob whose value is out of its range, or NULL. */
const char *knobs_check(const s64 *values);

/* syscall.c: core_module.sys and .fault */
s64 sys_mmap(u64 addr, u64 len, u32 prot, u32 flags);
s64 sys_munmap(u64 addr, u64 len);
s64 sys_mprotect(u64 addr, u64 len, u32 prot);
s64 sys_madvise(u64 addr, u64 len, u32 advice);
s64 sys_mremap(u64 addr, u64 old_len, u64 new_len, u32 flags, u64 new_addr);
s64 sys_reclaim(u64 addr, u64 len);
s64 sys_move_pages(u64 addr, u64 nr_pages, s32 node);
s64 sys_numa_hint(u64 addr, u64 len);
s64 sys_set_mempolicy(s32 node);
s64 sys_msync(u64 addr, u64 len);
s64 sys_gup_fast(u64 addr, u32 nr_pages, bool write);
s64 sys_gup_write(u64 addr, u64 val, bool force);
s64 sys_drop_caches(void);
s64 sys_ioremap(u64 off, u64 len);
s64 sys_iounmap(u64 off, u64 len);
void sys_ioremap_quiet(void);
s64 sys_pte_lookup(u64 addr);
s64 sys_shmget(u64 size);
s64 sys_shmat(s64 id, u64 addr);
s64 sys_shmdt(u64 addr);
s64 sys_shm_rmid(s64 id);
s64 sys_clone(u32 flags, void (*fn)(void *arg), void *arg, const u64 *affinity);
void sys_exit(void) __attribute__((noreturn));
void core_tick(u64 now_ms, u64 ran_ms);
int core_fault(u64 va, u32 flags);

/* objects.c */
extern const struct core_object core_objects[];

#endif
