/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the workloads share, beside wl_start(), wl_finish() and wl_fail() of
 * workload.h. Written over struct wl_ops alone, as they are.
 *
 * The lines. Everybody who matters to the window stands at the start (counted
 * in w->arrived) and spins there: asleep, threads would be woken and switched to
 * inside the window, and that costs and flushes. At the end wl_finish() counts;
 * the last closes the window and clears w->arrived. Who came earlier waits for
 * that before it exits, since an exit tears down mappings: asleep with
 * wl_wait_closed(), so that its CPU idles as after a real exit, or in user mode
 * with wl_spin_closed(), where counts must not depend on who sleeps.
 */
#ifndef TLBLAB_WORKLOAD_COMMON_H
#define TLBLAB_WORKLOAD_COMMON_H

#include <tlblab/limits.h>

#include "workload/workload.h"

#define WL_SHARED_ANON (WL_MAP_SHARED | WL_MAP_ANONYMOUS)
#define WL_PRIVATE_ANON (WL_MAP_PRIVATE | WL_MAP_ANONYMOUS)
#define WL_RW (WL_PROT_READ | WL_PROT_WRITE)

/* Words that different threads write stand on lines of their own. */
#define __wl_line __attribute__((aligned(64)))

/*
 * Where the mappings of a benchmark go: the address given, or, if that is 0,
 * the midpoint of a 2 GiB anonymous mapping, mapped and unmapped here. 0 when
 * that fails (noted).
 */
u64 wl_hint(struct wl *w, u64 given);

/* CPU of participant i: its own when pinned, else -1, any. */
s32 wl_cpu(const struct wl *w, u32 i);

/* Create a thread; false when that fails (noted). */
bool wl_spawn(struct wl *w, void (*fn)(struct wl *, void *), void *arg, u32 i,
	      s64 *thread);
/* The same as a process. */
bool wl_spawn_process(struct wl *w, void (*fn)(struct wl *, void *), void *arg, u32 i,
		      s64 *process);

/* A shared or private anonymous mapping at addr, and its end; failures noted. */
bool wl_mmap(struct wl *w, u64 hint, u64 size, u32 flags, u64 *addr);
bool wl_munmap(struct wl *w, u64 addr, u64 size);
bool wl_dontneed(struct wl *w, u64 addr, u64 size);
/* Write one byte at every step bytes of [addr, addr + size). */
bool wl_touch(struct wl *w, u64 addr, u64 size, u64 step);

/*
 * wl_start(), or false when the run was called off: a thread could not be created,
 * and the main thread released those that stood at the line (wl_call_off()). They
 * return at once, without wl_finish().
 */
bool wl_line_up(struct wl *w, u32 participants);
void wl_call_off(struct wl *w);

void wl_wait_closed(struct wl *w);
void wl_spin_closed(struct wl *w);

/* The value of a parameter by name, or def when the workload has none such. */
u64 wl_param_by_name(const struct wl *w, const char *name, u64 def);

extern const struct workload workload_mmap8, workload_dontneed, workload_mmap5,
	workload_ebizzy, workload_munmap_thp, workload_shm_attach, workload_tlb_flush2,
	workload_probe, workload_pageout, workload_page_migrate,
	workload_numa01, workload_numa01_threadlocal, workload_numa02, workload_numa02_smt,
	workload_xfs_repair, workload_mm_step;

#endif
