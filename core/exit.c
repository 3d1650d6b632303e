/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task.h"

#include "mm/mm.h"
#include "mm/numa.h"
#include "mmu_context.h"

/*
 * From here on the task has no address space, but the CPU goes on using the
 * tables until it switches: a lazy user, like an idle task.
 */
static void exit_mm(void)
{
	struct mm_struct *mm = current->mm;
	bool flags;

	mmgrab(mm);
	local_irq_save(flags);
	current->mm = NULL;
	enter_lazy_tlb(mm, current);
	local_irq_restore(flags);
	mmput(mm);
}

void do_exit(void)
{
	exit_mm();
	task_numa_free(current);
	task_work_run();
	/* The last switch, away from it, frees the task. */
	current->exiting = true;
	mach_thread_exit();
}
