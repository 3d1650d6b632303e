/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core.h"
#include "task.h"

#include "mm/huge_mm.h"
#include "mm/mm.h"
#include "mm/numa.h"
#include "mm/rwsem.h"
#include "mmu_context.h"
#include "pgtable.h"

/* Room for the main thread's stack above mmap_base, as in mmap_base(). */
#define MMAP_GAP (128UL << 20)

struct mm_struct *mm_alloc(void)
{
	struct mm_struct *mm = kzalloc(sizeof(*mm));

	init_rwsem(&mm->mmap_lock);
	mm->task_size = TASK_SIZE;
	mm->mmap_base = PAGE_ALIGN(TASK_SIZE - MMAP_GAP);
	atomic_set(&mm->mm_users, 1);
	atomic_set(&mm->mm_count, 1);
	if (pgd_alloc(mm))
		goto fail;
	if (init_new_context(NULL, mm)) {
		pgd_free(mm);
		goto fail;
	}
	return mm;
fail:
	kfree(mm, sizeof(*mm));
	return NULL;
}

void mmdrop(struct mm_struct *mm)
{
	if (!atomic_dec_and_test(&mm->mm_count))
		return;
	destroy_context(mm);
	pgd_free(mm);
	kfree(mm, sizeof(*mm));
}

void mmput(struct mm_struct *mm)
{
	if (!atomic_dec_and_test(&mm->mm_users))
		return;
	exit_mmap(mm);
	mm_put_huge_zero_page(mm);
	mmdrop(mm);
}

struct task_struct *task_alloc(struct mm_struct *mm)
{
	struct task_struct *task = kzalloc(sizeof(*task));

	task->mm = mm;
	task->active_mm = mm;
	task->in_user = true;
	return task;
}

static void thread_start(void *arg)
{
	struct task_struct *task = arg;

	task_numa_fork();
	mach_context(MACH_CTX_USER);
	task->fn(task->arg);
	sys_exit();
}

/* A copy of the current address space; NULL: no memory. */
static struct mm_struct *dup_mm(void)
{
	struct mm_struct *mm = mm_alloc();

	if (mm && dup_mmap(mm, current->mm)) {
		mmput(mm);
		return NULL;
	}
	return mm;
}

s64 do_clone(u32 flags, void (*fn)(void *arg), void *arg, const u64 *affinity)
{
	struct mm_struct *mm = current->mm;
	struct task_struct *task;
	u32 tid;

	if (flags & ~CORE_CLONE_VM)
		return -EINVAL;
	mach_charge(CLONE, 1);
	if (flags & CORE_CLONE_VM) {
		atomic_inc(&mm->mm_users);
	} else {
		mm = dup_mm();
		if (!mm)
			return -ENOMEM;
	}
	task = task_alloc(mm);
	task->fn = fn;
	task->arg = arg;
	tid = mach_thread_create(task, thread_start, task, affinity);
	if (!tid) {
		mmput(mm);
		kfree(task, sizeof(*task));
		return -EAGAIN;
	}
	return tid;
}
