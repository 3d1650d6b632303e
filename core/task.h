/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks and the life of an address space (kernel/fork.c, exit.c, sched/core.c).
 *
 * mm_users counts the tasks that use an mm in user mode; the last mmput()
 * unmaps everything. mm_count counts who needs the mm itself: all users
 * together one, and each idle or exiting task that still runs on its tables
 * (lazily) one. The last mmdrop() frees it.
 */
#ifndef CORE_TASK_H
#define CORE_TASK_H

#include "mm/mm_types.h"

/* One user, nothing mapped; NULL: no memory. */
struct mm_struct *mm_alloc(void);
void mmput(struct mm_struct *mm);	/* may sleep */

static inline void mmgrab(struct mm_struct *mm)
{
	atomic_inc(&mm->mm_count);
}

void mmdrop(struct mm_struct *mm);	/* any context */

/* A task that will start in user mode on mm, whose user it becomes. */
struct task_struct *task_alloc(struct mm_struct *mm);

/* core_syscalls.clone and .exit, in kernel mode. */
s64 do_clone(u32 flags, void (*fn)(void *arg), void *arg, const u64 *affinity);
void do_exit(void) __attribute__((noreturn));

/* core_module.context_switch and .cpu_online. */
void context_switch(struct task_struct *prev, struct task_struct *next);
struct task_struct *idle_init(void);

#endif
