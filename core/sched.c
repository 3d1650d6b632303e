/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task.h"

#include "mm/numa.h"
#include "mmu_context.h"

static void free_task_rcu(struct rcu_head *head)
{
	struct task_struct *task = container_of(head, struct task_struct, rcu);

	task_numa_free_rcu(task);
	kfree(task, sizeof(*task));
}

/*
 * The mm of the next task. A task without one (idle) keeps using the tables of
 * the last, which saves a switch each way when that one comes back; it borrows
 * the mm and holds a count on it. Returns an mm whose loan ends with this
 * switch.
 *
 *	kernel -> kernel	the loan is passed on
 *	user   -> kernel	a loan begins
 *	user   -> user
 *	kernel -> user		the loan ends
 */
static struct mm_struct *switch_mm(struct task_struct *prev,
				   struct task_struct *next)
{
	struct mm_struct *loan = NULL;

	if (!next->mm) {
		enter_lazy_tlb(prev->active_mm, next);
		next->active_mm = prev->active_mm;
		if (prev->mm)
			mmgrab(prev->active_mm);
		else
			prev->active_mm = NULL;
		return NULL;
	}
	switch_mm_irqs_off(prev->active_mm, next->mm, next);
	if (!prev->mm) {
		loan = prev->active_mm;
		prev->active_mm = NULL;
	}
	return loan;
}

/* Interrupts off, on prev's stack, so current is prev. */
void context_switch(struct task_struct *prev, struct task_struct *next)
{
	struct mm_struct *loan;

	/* An interrupt in user mode got us here: on to the kernel's tables. */
	if (prev->in_user)
		arch_enter_kernel();
	WRITE_ONCE(next->cpu, smp_processor_id());
	WRITE_ONCE(next->on_cpu, 1);
	if (knob(numa_balancing))
		WRITE_ONCE(this_cpu()->curr, next);
	loan = switch_mm(prev, next);
	/* Pairs with spinners that look whether a lock's owner runs. */
	smp_store_release(&prev->on_cpu, 0);
	if (loan)
		mmdrop(loan);
	/* Spinners may be looking at it now: after a grace period. */
	if (prev->exiting)
		call_rcu(&prev->rcu, free_task_rcu);
	if (next->in_user)
		arch_exit_kernel();
}

struct task_struct *idle_init(void)
{
	struct task_struct *idle = kzalloc(sizeof(*idle));

	idle->idle = true;
	idle->active_mm = kernel()->init_mm;
	mmgrab(kernel()->init_mm);
	WRITE_ONCE(idle->cpu, smp_processor_id());
	WRITE_ONCE(idle->on_cpu, 1);
	this_cpu()->idle = idle;
	arch_cpu_online();
	return idle;
}
