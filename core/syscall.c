/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Into the kernel and out again. What every system call and every fault costs
 * and does at its edges is here, and nowhere else.
 */
#include "core.h"
#include "task.h"

#include "mm/gup.h"
#include "mm/huge_mm.h"
#include "mm/migrate.h"
#include "mm/numa.h"
#include "mm/vmscan.h"
#include "mm/writeback.h"
#include "mmu_context.h"
#include "pgtable.h"
#ifdef ARCH_HAS_IOREMAP
#include "ioremap.h"
#endif

/*
 * in_user tells a switch on which tables the task must go on. A switch between
 * the two lines of either function does one of them early, which is harmless.
 */
static void enter_kernel(void)
{
	current->in_user = false;
	arch_enter_kernel();
}

static void exit_kernel(void)
{
	current->in_user = true;
	arch_exit_kernel();
}

static u32 syscall_enter(void)
{
	u32 ctx = mach_context(MACH_CTX_SYSCALL);

	mach_charge(SYSCALL_ENTRY, 1);
	enter_kernel();
	return ctx;
}

static void syscall_exit(u32 ctx)
{
	/* Files whose last mapping went away: no lock is held any more. */
	task_work_run();
	mach_charge(SYSCALL_EXIT, 1);
	exit_kernel();
	mach_context(ctx);
}

s64 sys_mmap(u64 addr, u64 len, u32 prot, u32 flags)
{
	u32 ctx = syscall_enter();
	s64 ret = do_mmap(addr, len, prot, flags);

	syscall_exit(ctx);
	return ret;
}

s64 sys_munmap(u64 addr, u64 len)
{
	u32 ctx = syscall_enter();
	s64 ret = vm_munmap(addr, len);

	syscall_exit(ctx);
	return ret;
}

s64 sys_mprotect(u64 addr, u64 len, u32 prot)
{
	u32 ctx = syscall_enter();
	s64 ret = do_mprotect(addr, len, prot);

	syscall_exit(ctx);
	return ret;
}

s64 sys_madvise(u64 addr, u64 len, u32 advice)
{
	u32 ctx = syscall_enter();
	s64 ret = do_madvise(addr, len, advice);

	syscall_exit(ctx);
	return ret;
}

s64 sys_mremap(u64 addr, u64 old_len, u64 new_len, u32 flags, u64 new_addr)
{
	u32 ctx = syscall_enter();
	s64 ret = do_mremap(addr, old_len, new_len, flags, new_addr);

	syscall_exit(ctx);
	return ret;
}

s64 sys_reclaim(u64 addr, u64 len)
{
	u32 ctx = syscall_enter();
	s64 ret = do_reclaim(addr, len);

	syscall_exit(ctx);
	return ret;
}

s64 sys_move_pages(u64 addr, u64 nr_pages, s32 node)
{
	u32 ctx = syscall_enter();
	s64 ret = do_move_pages(addr, nr_pages, node);

	syscall_exit(ctx);
	return ret;
}

s64 sys_msync(u64 addr, u64 len)
{
	u32 ctx = syscall_enter();
	s64 ret = do_msync(addr, len);

	syscall_exit(ctx);
	return ret;
}

s64 sys_numa_hint(u64 addr, u64 len)
{
	u32 ctx = syscall_enter();
	s64 ret = do_numa_hint(addr, len);

	syscall_exit(ctx);
	return ret;
}

s64 sys_set_mempolicy(s32 node)
{
	u32 ctx = syscall_enter();
	s64 ret = do_set_mempolicy(node);

	syscall_exit(ctx);
	return ret;
}

s64 sys_gup_fast(u64 addr, u32 nr_pages, bool write)
{
	u32 ctx = syscall_enter();
	s64 ret = gup_fast_and_put(addr, nr_pages, write);

	syscall_exit(ctx);
	return ret;
}

s64 sys_gup_write(u64 addr, u64 val, bool force)
{
	u32 ctx = syscall_enter();
	s64 ret = gup_write(addr, val, force);

	syscall_exit(ctx);
	return ret;
}

s64 sys_drop_caches(void)
{
	u32 ctx = syscall_enter();
	s64 ret = shrink_huge_zero_page();

	syscall_exit(ctx);
	return ret;
}

#ifdef ARCH_HAS_IOREMAP
s64 sys_ioremap(u64 off, u64 len)
{
	u32 ctx = syscall_enter();
	s64 ret = ioremap(off, len);

	syscall_exit(ctx);
	return ret;
}

s64 sys_iounmap(u64 off, u64 len)
{
	u32 ctx = syscall_enter();
	s64 ret = iounmap(off, len);

	syscall_exit(ctx);
	return ret;
}

/* No system call; but whoever flushes is in kernel mode. */
void sys_ioremap_quiet(void)
{
	u32 ctx;

	if (!knob(x86_ioremap))
		return;
	ctx = syscall_enter();
	ioremap_quiet();
	syscall_exit(ctx);
}
#endif

s64 sys_pte_lookup(u64 addr)
{
	u32 ctx = syscall_enter();
	s64 ret = pte_lookup(addr);

	syscall_exit(ctx);
	return ret;
}

s64 sys_shmget(u64 size)
{
	u32 ctx = syscall_enter();
	s64 ret = do_shmget(size);

	syscall_exit(ctx);
	return ret;
}

s64 sys_shmat(s64 id, u64 addr)
{
	u32 ctx = syscall_enter();
	s64 ret = do_shmat(id, addr);

	syscall_exit(ctx);
	return ret;
}

s64 sys_shmdt(u64 addr)
{
	u32 ctx = syscall_enter();
	s64 ret = do_shmdt(addr);

	syscall_exit(ctx);
	return ret;
}

s64 sys_shm_rmid(s64 id)
{
	u32 ctx = syscall_enter();
	s64 ret = do_shm_rmid(id);

	syscall_exit(ctx);
	return ret;
}

s64 sys_clone(u32 flags, void (*fn)(void *arg), void *arg, const u64 *affinity)
{
	u32 ctx = syscall_enter();
	s64 ret = do_clone(flags, fn, arg, affinity);

	syscall_exit(ctx);
	return ret;
}

void sys_exit(void)
{
	syscall_enter();
	do_exit();
}

/* The timer interrupt itself is the machine's; this is its way back to user mode. */
void core_tick(u64 now_ms, u64 ran_ms)
{
	u32 ctx;

	if (!knob(numa_balancing))
		return;
	ctx = mach_context(MACH_CTX_SYSCALL);
	enter_kernel();
	task_tick_numa(now_ms, ran_ms);
	exit_kernel();
	mach_context(ctx);
}

int core_fault(u64 va, u32 flags)
{
	u32 ctx = mach_context(MACH_CTX_FAULT);
	int sig;

	mach_charge(FAULT_ENTRY, 1);
	enter_kernel();
	sig = do_user_addr_fault(current->mm, va, flags);
	exit_kernel();
	mach_context(ctx);
	return sig;
}
