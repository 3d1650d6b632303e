/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam: everything that code under study may ask of a machine.
 *
 * Code on the upper side (core/, models/) is kernel C. It sees no host, no
 * clock and no scheduler; it reaches the world only through the operations
 * below. Code on the lower side is a machine: a timed one (machine/), an
 * exploring one (explore/), or bare metal. The upper side cannot tell which.
 *
 * Three classes of memory, and there is no fourth:
 *
 *  1. Shared words: page-table entries and everything that the kernel accesses
 *     with READ_ONCE/WRITE_ONCE or as an atomic. Aligned, of 4 or 8 bytes. Every
 *     access goes through mach_load(), mach_store() or mach_rmw(). They
 *     carry an order (enum mach_order) and nothing more: a relaxed access
 *     orders nothing but its own location.
 *  2. Locks: mach_spin_lock() is acquire, mach_spin_unlock() is release.
 *     Neither is a full fence (Documentation/memory-barriers.txt: UNLOCK+LOCK
 *     of different locks orders nothing). The rwsem is not here: it is code
 *     under study, since its algorithm decides contention.
 *  3. Plain C: ordinary fields, each declared with the lock that guards it
 *     (__guarded_by). The compiler may do with them what it likes, so they may
 *     be touched only under that lock.
 *
 * Who may call: any code that runs on a stack of the machine: thread bodies,
 * system calls, fault and IPI handlers, the context-switch hook. Calls
 * marked [may sleep] need interrupts on and no spinlock held. All others
 * are callable anywhere. No call fails unless its comment says so.
 *
 * Time and choice never leak through the seam: nothing here returns a time,
 * and costs are named, not numbered (mach_charge()).
 *
 * Sites. Each call passes a struct mach_site: file, line and function of the
 * caller, made by the macros at no cost in writing. A machine uses it to tell
 * stories, to count, and to leave one site out (mutation).
 *
 * ABI. machine_abi.h, generated from this file and limits.h, defines
 * TLBLAB_ABI; a core module and a machine built from different seams refuse
 * each other.
 */
#ifndef TLBLAB_MACHINE_H
#define TLBLAB_MACHINE_H

#include <tlblab/limits.h>
#include <tlblab/types.h>

/* ------------------------------------------------------------------ sites */

enum mach_site_kind {
	MACH_SITE_LOAD,
	MACH_SITE_STORE,
	MACH_SITE_RMW,
	MACH_SITE_FENCE,
	MACH_SITE_LOCK,
	MACH_SITE_UNLOCK,
	MACH_SITE_WAIT,
	MACH_SITE_SCHED,
	MACH_SITE_IRQ,
	MACH_SITE_IPI,
	MACH_SITE_RCU,
	MACH_SITE_INSN,
	MACH_SITE_MEM,
};

struct mach_site {
	const char *file;
	const char *func;
	u32 line;
	u32 kind; /* enum mach_site_kind */
};

#define MACH_SITE(kind_)                                                        \
	({                                                                      \
		static const struct mach_site mach_site_ = {                    \
			__FILE__, __func__, __LINE__, kind_                     \
		};                                                              \
		&mach_site_;                                                    \
	})

/* ----------------------------------------------------------- shared words */

/* Linux's orders: FULL is that of a value-returning atomic (both sides). */
enum mach_order {
	MACH_RELAXED,
	MACH_ACQUIRE,
	MACH_RELEASE,
	MACH_FULL,
};

enum mach_rmw_op {
	MACH_XCHG,	/* new = arg */
	MACH_CMPXCHG,	/* new = old == expected ? arg : old */
	MACH_ADD,	/* new = old + arg */
	MACH_AND,	/* new = old & arg */
	MACH_OR,	/* new = old | arg */
	/* new = old + arg unless old == expected */
	MACH_ADD_UNLESS,
};

enum mach_fence_kind {
	/* Linux's names; each architecture gives them its own instructions. */
	MACH_SMP_MB,
	MACH_SMP_RMB,
	MACH_SMP_WMB,
	MACH_SMP_MB_BEFORE_ATOMIC,
	MACH_SMP_MB_AFTER_ATOMIC,
	MACH_SMP_MB_AFTER_SPINLOCK,
	/* arm64: Arm ARM C6.2 DSB, ISB. ISHST waits for stores only; ISH also
	 * completes this CPU's earlier broadcast TLBIs, NSH its local ones. */
	MACH_DSB_ISHST,
	MACH_DSB_ISH,
	MACH_DSB_NSHST,
	MACH_DSB_NSH,
	MACH_ISB,
	/* POWER: Power ISA III 6.9.3. */
	MACH_PTESYNC,
	MACH_EIEIO,
	MACH_TLBSYNC,
	MACH_HWSYNC,
	MACH_LWSYNC,
	MACH_ISYNC,
	/* x86. */
	MACH_MFENCE,
	/* RISC-V will add its own at the end. */
	MACH_NR_FENCES,
};

/* One word that mach_wait_change() watches. */
struct mach_watch {
	const void *addr;
	u32 size;	/* 4 or 8 */
	u64 old;	/* wait while the word has this value */
};

/* ------------------------------------------------------------------ locks */

/*
 * A spinlock. All zero is unlocked. The machine owns the fields; the upper
 * side only allocates them, and asserts that it is the owner. First come, first
 * served (a queued spinlock).
 */
struct mach_lock {
	u64 owner;	/* 0, or CPU + 1 of the holder */
	u64 free_at;	/* machine's: when the last holder let go */
	u32 head, tail;	/* machine's: queue of CPU + 1 */
	u32 last_cpu;	/* machine's: CPU + 1 that has the line */
	u32 id;		/* machine's */
};

/* Documents which lock guards a field; lockset checks read it. */
#define __guarded_by(lock)

/* -------------------------------------------------- invalidation and MMU */

/*
 * Instructions that change what a translation cache may hold, or which
 * translations apply, exactly as each manual has them. a and b are the
 * registers as encoded; the wrappers further down give them types.
 * A machine that lacks an instruction raises its own bug (the core must
 * ask its hardware knobs first), never a silent no-op.
 */
#define MACH_INSNS(X)                                                           \
	/* x86: SDM vol. 3A 4.10.4 */                                           \
	X(X86_INVLPG, invlpg)                                                   \
	X(X86_INVPCID, invpcid)                                                 \
	X(X86_CR3, cr3)                                                         \
	X(X86_CR3_NOFLUSH, cr3_noflush)                                         \
	X(X86_CR4_PGE, cr4_pge)                                                 \
	X(X86_INVLPGB, invlpgb)                                                 \
	X(X86_TLBSYNC, tlbsync)                                                 \
	/* arm64: Arm ARM D8.13, C5.5 */                                        \
	X(ARM64_TTBR0, ttbr0)                                                   \
	X(ARM64_TLBI_VAE1IS, tlbi_vae1is)                                       \
	X(ARM64_TLBI_VALE1IS, tlbi_vale1is)                                     \
	X(ARM64_TLBI_VAAE1IS, tlbi_vaae1is)                                     \
	X(ARM64_TLBI_VAALE1IS, tlbi_vaale1is)                                   \
	X(ARM64_TLBI_ASIDE1IS, tlbi_aside1is)                                   \
	X(ARM64_TLBI_VMALLE1IS, tlbi_vmalle1is)                                 \
	X(ARM64_TLBI_RVAE1IS, tlbi_rvae1is)                                     \
	X(ARM64_TLBI_RVALE1IS, tlbi_rvale1is)                                   \
	X(ARM64_TLBI_VAE1, tlbi_vae1)                                           \
	X(ARM64_TLBI_VALE1, tlbi_vale1)                                         \
	X(ARM64_TLBI_ASIDE1, tlbi_aside1)                                       \
	X(ARM64_TLBI_VMALLE1, tlbi_vmalle1)                                     \
	/* POWER radix: Power ISA v3.1B III 6.9.3.3; c packs RIC, PRS, R */     \
	X(PPC_PID, mtpid)                                                       \
	X(PPC_TLBIE, tlbie)                                                     \
	X(PPC_TLBIEL, tlbiel)                                                   \
	X(PPC_SLBIA, slbia)                                                     \
	X(PPC_PRTB, prtb)                                                       \
	X(PPC_H_RPT_INVALIDATE, h_rpt_invalidate)

enum mach_insn {
#define X(id, name) MACH_##id,
	MACH_INSNS(X)
#undef X
	MACH_NR_INSNS,
};

/* --------------------------------------------------------- costs, accounts */

/*
 * Where the time of a CPU goes. Each picosecond of each CPU is in exactly one.
 */
#define MACH_ACCOUNTS(X)                                                        \
	X(USER, user)			/* user code, TLB hits included */      \
	X(WALK, walk)			/* hardware walks: the refill */        \
	X(FAULT, fault)                                                         \
	X(SYSCALL, syscall)                                                     \
	X(ZERO, zero)                                                           \
	X(COPY, copy)                                                           \
	X(LOCK_WAIT, lock_wait)		/* spinning on any lock */              \
	X(IPI_SEND, ipi_send)                                                   \
	X(IPI_WAIT, ipi_wait)                                                   \
	X(IPI_HANDLER, ipi_handler)	/* and every other interrupt */         \
	X(INVALIDATE_ISSUE, invalidate_issue)                                   \
	X(INVALIDATE_WAIT, invalidate_wait)                                     \
	X(ATOMIC, atomic)		/* line transfers and their queues */   \
	X(SCHED, sched)			/* sleep, wake, context switch */       \
	X(IDLE, idle)

enum mach_account {
#define X(id, name) MACH_ACCT_##id,
	MACH_ACCOUNTS(X)
#undef X
	MACH_NR_ACCOUNTS,
	/* Of a cost: fault, syscall or interrupt, whichever we are in. */
	MACH_ACCT_CONTEXT = MACH_NR_ACCOUNTS,
};

/* What a thread is doing; decides MACH_ACCT_CONTEXT. */
enum mach_context {
	MACH_CTX_USER,
	MACH_CTX_SYSCALL,
	MACH_CTX_FAULT,
	MACH_CTX_IRQ,
};

/*
 * Work that the core does not carry out instruction by instruction, by name.
 * A machine file gives each a time; an exploring machine ignores them. The
 * comment says for what one unit is charged.
 */
#define MACH_COSTS(X)                                                           \
	X(USER_LOOP, user_loop, USER) /* per turn of a workload's loop */       \
	X(SYSCALL_ENTRY, syscall_entry, CONTEXT) /* per call */                 \
	X(SYSCALL_EXIT, syscall_exit, CONTEXT)                                  \
	X(FAULT_ENTRY, fault_entry, FAULT) /* exception entry and exit */       \
	X(VMA_FIND, vma_find, CONTEXT) /* per look-up */                        \
	X(MMAP_LOCKED, mmap_locked, CONTEXT) /* mmap under the write lock */    \
	X(MMAP_UNLOCKED, mmap_unlocked, CONTEXT) /* file set-up etc., before */ \
	X(MUNMAP_LOCKED, munmap_locked, CONTEXT) /* detach, under write lock */ \
	X(MUNMAP_ZAP, munmap_zap, CONTEXT) /* unmap_region, less its entries */ \
	X(VMA_REMOVE, vma_remove, CONTEXT) /* remove_vma, per VMA, in lock */   \
	X(FILE_RELEASE, file_release, CONTEXT) /* fput, inode eviction; no lock */ \
	X(MPROTECT_LOCKED, mprotect_locked, CONTEXT)                            \
	X(MADVISE, madvise, CONTEXT) /* per call, under the read lock */        \
	X(GATHER, gather, CONTEXT) /* tlb_gather_mmu + tlb_finish_mmu */        \
	X(FAULT_PATH, fault_path, CONTEXT) /* handle_mm_fault, under its lock */ \
	X(FAULT_PTE, fault_pte, CONTEXT) /* installing one entry, under PTL */  \
	X(SHMEM_ALLOC, shmem_alloc, CONTEXT) /* page-cache insert, per page */  \
	X(SHMEM_FREE, shmem_free, CONTEXT) /* page-cache removal, per page */   \
	X(PAGE_ALLOC, page_alloc, CONTEXT) /* per page */                       \
	X(PAGE_FREE, page_free, CONTEXT) /* per page */                         \
	X(ZERO_PAGE, zero_page, ZERO) /* per base page */                       \
	X(ZERO_HUGE, zero_huge, ZERO) /* per 2 MiB page */                      \
	X(COPY_PAGE, copy_page, COPY) /* per base page */                       \
	X(COPY_HUGE, copy_huge, COPY)                                           \
	X(ZAP_PTE, zap_pte, CONTEXT) /* per present entry, under PTL */         \
	X(ZAP_PMD, zap_pmd, CONTEXT) /* per huge entry, under PTL */            \
	X(PROT_PTE, prot_pte, CONTEXT) /* mprotect, per present entry */        \
	X(TABLE_ALLOC, table_alloc, CONTEXT) /* per page table, zeroing incl. */ \
	X(TABLE_FREE, table_free, CONTEXT) /* per page table */                 \
	X(RMAP, rmap, CONTEXT) /* per page */                                   \
	X(RECLAIM, reclaim, CONTEXT) /* shrink_folio_list, per page, the rest */ \
	X(ZRAM_WRITE, zram_write, CONTEXT) /* per page, compression incl. */    \
	X(ZRAM_READ, zram_read, CONTEXT) /* per page */                         \
	X(MIGRATE, migrate, CONTEXT) /* migrate_pages, per page, less copying */ \
	X(CLONE, clone, CONTEXT) /* per thread created */                       \
	X(FORK_MM, fork_mm, CONTEXT) /* dup_mmap, per VMA */                    \
	X(EXIT_MM, exit_mm, CONTEXT) /* per mm */                               \
	X(SWITCH_MM, switch_mm, SCHED) /* per change of address space */        \
	X(PTI_SWITCH, pti_switch, CONTEXT) /* per crossing, KPTI on */          \
	X(ASID_ROLLOVER, asid_rollover, SCHED) /* per rollover */               \
	X(SHMEM_FIND, shmem_find, CONTEXT) /* page found in its file, per page */ \
	X(LRU_MOVE, lru_move, CONTEXT) /* per taking of the LRU's lock: its lists */ \
	X(FLUSH_TLB, flush_tlb, INVALIDATE_ISSUE) /* x86: per flush of a CPU's TLB */

enum mach_cost {
#define X(id, name, account) MACH_COST_##id,
	MACH_COSTS(X)
#undef X
	MACH_NR_COSTS,
};

/* ------------------------------------------------------------ environment */

struct mach_ops;
struct machine;

/*
 * What runs on a stack of the machine, found at the stack's base: the stacks
 * are MACH_STACK_SIZE long and aligned, as the kernel's were when
 * current_thread_info() masked the stack pointer. It is why a core needs no
 * global variable.
 *
 *	base + MACH_STACK_SIZE	+----------------+ first frame, grows down
 *				|     frames     |
 *	base + 2 host pages	+----------------+
 *				|  guard page    |
 *	base + 1 host page	+----------------+
 *				| struct mach_env|
 *	base			+----------------+ aligned to MACH_STACK_SIZE
 */
struct mach_env {
	u64 magic;			/* MACH_ENV_MAGIC */
	const struct mach_ops *ops;
	struct machine *machine;
	void *core;			/* what core_module.boot() returned */
	void *task;			/* the core's task of this stack */
	char *phys_base;		/* where physical address 0 is mapped */
	u32 cpu;			/* where this stack runs now */
	u32 nr_cpus;
	u32 nr_nodes;
	u32 tid;			/* the machine's handle of the thread */
	u32 page_shift;			/* of a frame of alloc_frames() */
	u32 reserved;
	u64 nr_frames;			/* of the machine's memory */
};

#define MACH_ENV_MAGIC 0x746c626c61623031ULL /* "tlblab01" */

static inline __attribute__((always_inline)) struct mach_env *mach_env(void)
{
	uintptr_t sp;

	/* Any address in a frame does; this one needs no frame pointer. */
#if defined(__x86_64__)
	__asm__("mov %%rsp, %0" : "=r" (sp));
#elif defined(__aarch64__)
	__asm__("mov %0, sp" : "=r" (sp));
#else
	sp = (uintptr_t)__builtin_frame_address(0);
#endif
	return (struct mach_env *)(sp & ~(MACH_STACK_SIZE - 1));
}

/* For the head of an RCU callback: the two words belong to the machine. */
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

/* A pointer chase, for user_chase(). All fields are the caller's. */
struct mach_chase {
	u64 va;			/* of the first page */
	const u32 *next;	/* next[i]: page visited after page i; one cycle */
	u32 nr_pages;
	u32 page_shift;		/* distance between pages, log2 */
	u32 pos;		/* in and out: page to visit next */
	const u32 *stop;	/* shared word; the chase ends when not zero */
	u64 max_loads;		/* the chase ends after as many; 0: never */
	u64 loads;		/* out: added to */
};

/* Why user_access() did not access. */
enum mach_signal {
	MACH_SIGNAL_NONE = 0,
	MACH_SIGSEGV = 11,
	MACH_SIGBUS = 7,
	MACH_SIGKILL = 9,	/* the machine stops: unwind and leave */
};

/* Flags of an access that faulted, for core_module.fault(). */
#define MACH_FAULT_WRITE	0x1
#define MACH_FAULT_EXEC		0x2
#define MACH_FAULT_USER		0x4
#define MACH_FAULT_PRESENT	0x8	/* a permission or access-flag fault */

/* alloc_frames() and kalloc() flags. */
#define MACH_GFP_ATOMIC		0x1	/* may fail: GFP_NOWAIT, GFP_ATOMIC */
#define MACH_GFP_ZERO		0x2	/* contents zero */
#define MACH_GFP_TABLE		0x4	/* will be a page table: has contents */
#define MACH_NODE_LOCAL		(-1)
/* free_frames(): every byte is zero already; a debugging machine checks. */
#define MACH_FREE_ZEROED	0x1

#define MACH_NO_FRAME		(~0ULL)

/* -------------------------------------------------------------- operations */

struct mach_ops {
	u64 abi;		/* TLBLAB_ABI */
	u64 size;		/* of this struct */

	/* Shared words; size is 4 or 8 bytes, rmw returns the old value. */
	u64 (*load)(const void *addr, u32 size, u32 order,
		    const struct mach_site *site);
	void (*store)(void *addr, u32 size, u64 val, u32 order,
		      const struct mach_site *site);
	u64 (*rmw)(void *addr, u32 size, u32 op, u64 arg, u64 expected,
		   u32 order, const struct mach_site *site);
	void (*fence)(u32 kind, const struct mach_site *site);
	/*
	 * Relaxed loads of the n 8-byte words at addr, in order, until one is
	 * not zero; returns how many were zero. It is the loop over the empty
	 * entries of a page table.
	 */
	u32 (*scan_zero)(const u64 *addr, u32 n, const struct mach_site *site);

	/*
	 * Wait, spinning, until a watched word differs from its old value
	 * (smp_cond_load_relaxed); relaxed. Returns the index of one that
	 * did, or -1 when an interrupt was taken or this CPU should
	 * reschedule: the caller must then check for itself and may call again.
	 */
	int (*wait_change)(const struct mach_watch *watch, u32 n,
			   const struct mach_site *site);

	void (*spin_lock)(struct mach_lock *lock, const struct mach_site *site);
	bool (*spin_trylock)(struct mach_lock *lock,
			     const struct mach_site *site);
	void (*spin_unlock)(struct mach_lock *lock,
			    const struct mach_site *site);

	/*
	 * Threads. block() sleeps until wake() of this thread; a wake() since
	 * the last block() makes it return at once (so set a condition, then
	 * check it in a loop around block()). Wakes do not add up. [may sleep]
	 */
	void (*block)(const struct mach_site *site);
	void (*wake)(u32 tid, const struct mach_site *site);
	/*
	 * A new thread that runs fn(arg) with env->task == task, runnable at
	 * once on one of the CPUs of affinity (a bitmap of nr_cpus bits;
	 * NULL: any). Returns its tid, or 0 if there are too many.
	 */
	u32 (*thread_create)(void *task, void (*fn)(void *arg), void *arg,
			     const u64 *affinity, const struct mach_site *site);
	void (*thread_exit)(void) __attribute__((noreturn));
	/*
	 * This thread goes on on CPU cpu, if it may run there; the thread that runs there
	 * in user mode comes here in exchange, if it may. A suggestion: a machine that
	 * does not place threads ignores it. [may sleep]
	 */
	void (*migrate_thread)(u32 cpu, const struct mach_site *site);
	bool (*need_resched)(void);
	void (*cond_resched)(const struct mach_site *site); /* [may sleep] */

	/*
	 * Interrupts of this CPU. irq_save() turns them off and returns
	 * whether they were on; irq_restore() takes that. IPI handlers run with
	 * interrupts off, on the stack of whatever they interrupt.
	 */
	bool (*irq_save)(const struct mach_site *site);
	void (*irq_restore)(bool on, const struct mach_site *site);
	/*
	 * Run func(info) on each CPU of mask (bitmap of nr_cpus bits) except
	 * this one. With wait, returns when all have finished; the caller then
	 * must have interrupts on or be able to deadlock, as in Linux.
	 * All of the sender's earlier stores are visible to func.
	 */
	void (*ipi)(const u64 *mask, void (*func)(void *info), void *info,
		    bool wait, const struct mach_site *site);

	/*
	 * RCU, sched flavour: call_rcu()'s func runs once every CPU has left
	 * the read sections and interrupts-off regions it was in.
	 */
	void (*rcu_read_lock)(const struct mach_site *site);
	void (*rcu_read_unlock)(const struct mach_site *site);
	void (*call_rcu)(struct rcu_head *head,
			 void (*func)(struct rcu_head *head),
			 const struct mach_site *site);

	/* Instructions of MACH_INSNS; the value is that of H_RPT_INVALIDATE. */
	s64 (*insn)(u32 insn, u64 a, u64 b, u32 c,
		    const struct mach_site *site);

	/*
	 * Memory. alloc_frames() gives 2^order frames of 2^page_shift bytes,
	 * naturally aligned, or MACH_NO_FRAME (only with MACH_GFP_ATOMIC may a
	 * failure be injected; without it, it means out of memory). kalloc() is for the
	 * core's own structures; zeroed; NULL only with MACH_GFP_ATOMIC.
	 */
	u64 (*alloc_frames)(u32 order, s32 node, u32 gfp,
			    const struct mach_site *site);
	void (*free_frames)(u64 pfn, u32 order, u32 flags,
			    const struct mach_site *site);
	u32 (*frame_node)(u64 pfn);
	u32 (*cpu_node)(u32 cpu);
	/* Copies the contents of a frame, which accesses see, to one that is zero. */
	void (*copy_frame)(u64 to, u64 from, const struct mach_site *site);
	/* A word of them, by a device or the kernel. A plain store, where CPUs order none. */
	void (*frame_store)(u64 pfn, u32 offset, u64 val, const struct mach_site *site);
	void *(*kalloc)(size_t size, u32 gfp, const struct mach_site *site);
	void (*kfree)(void *p, size_t size, const struct mach_site *site);

	/* Named costs and what this thread is doing; see above. */
	void (*charge)(u32 cost, u64 n);
	u32 (*context)(u32 ctx);	/* returns the previous one */

	/*
	 * User mode of this thread. user_access() reads or writes the aligned
	 * 8-byte word at va through the MMU; faults go to core_module.fault()
	 * and the access is retried. Returns an enum mach_signal.
	 * user_run() computes for ps picoseconds; user_wait_change() spins
	 * as wait_change() does, but never returns -1.
	 */
	int (*user_access)(u64 va, bool write, u64 *val);
	void (*user_run)(u64 ps);
	void (*user_wait_change)(const struct mach_watch *watch, u32 n);
	int (*user_chase)(struct mach_chase *chase);
	/*
	 * Read or write all bytes of [va, va + len), whole pages, at the speed of the
	 * memory that they lie in. The timer's ticks reach core_module.tick() meanwhile.
	 */
	int (*user_sweep)(u64 va, u64 len, bool write);

	/* The core met a state that must not be: stop everything, exit 3. */
	void (*bug)(const char *what, const struct mach_site *site)
		__attribute__((noreturn));
};

/* -------------------------------------------------------------- shorthands */

#define mach_load(p, order)                                                     \
	((__typeof__(*(p)))mach_env()->ops->load((p), sizeof(*(p)), (order),    \
						 MACH_SITE(MACH_SITE_LOAD)))
#define mach_store(p, v, order)                                                 \
	mach_env()->ops->store((p), sizeof(*(p)), (u64)(v), (order),            \
			       MACH_SITE(MACH_SITE_STORE))
#define mach_rmw(p, op, arg, expected, order)                                   \
	((__typeof__(*(p)))mach_env()->ops->rmw((p), sizeof(*(p)), (op),        \
						(u64)(arg), (u64)(expected),    \
						(order),                        \
						MACH_SITE(MACH_SITE_RMW)))
#define mach_fence(kind) mach_env()->ops->fence((kind), MACH_SITE(MACH_SITE_FENCE))
#define mach_scan_zero(p, n)                                                    \
	mach_env()->ops->scan_zero((p), (n), MACH_SITE(MACH_SITE_LOAD))
#define mach_wait_change(w, n)                                                  \
	mach_env()->ops->wait_change((w), (n), MACH_SITE(MACH_SITE_WAIT))
#define mach_spin_lock(l)                                                       \
	mach_env()->ops->spin_lock((l), MACH_SITE(MACH_SITE_LOCK))
#define mach_spin_trylock(l)                                                    \
	mach_env()->ops->spin_trylock((l), MACH_SITE(MACH_SITE_LOCK))
#define mach_spin_unlock(l)                                                     \
	mach_env()->ops->spin_unlock((l), MACH_SITE(MACH_SITE_UNLOCK))
#define mach_block() mach_env()->ops->block(MACH_SITE(MACH_SITE_SCHED))
#define mach_wake(tid) mach_env()->ops->wake((tid), MACH_SITE(MACH_SITE_SCHED))
#define mach_thread_create(task, fn, arg, affinity)                             \
	mach_env()->ops->thread_create((task), (fn), (arg), (affinity),         \
				       MACH_SITE(MACH_SITE_SCHED))
#define mach_thread_exit() mach_env()->ops->thread_exit()
#define mach_migrate_thread(cpu)                                                \
	mach_env()->ops->migrate_thread((cpu), MACH_SITE(MACH_SITE_SCHED))
#define mach_need_resched() mach_env()->ops->need_resched()
#define mach_cond_resched()                                                     \
	mach_env()->ops->cond_resched(MACH_SITE(MACH_SITE_SCHED))
#define mach_irq_save() mach_env()->ops->irq_save(MACH_SITE(MACH_SITE_IRQ))
#define mach_irq_restore(on)                                                    \
	mach_env()->ops->irq_restore((on), MACH_SITE(MACH_SITE_IRQ))
#define mach_ipi(mask, func, info, wait)                                        \
	mach_env()->ops->ipi((mask), (func), (info), (wait),                    \
			     MACH_SITE(MACH_SITE_IPI))
#define mach_rcu_read_lock()                                                    \
	mach_env()->ops->rcu_read_lock(MACH_SITE(MACH_SITE_RCU))
#define mach_rcu_read_unlock()                                                  \
	mach_env()->ops->rcu_read_unlock(MACH_SITE(MACH_SITE_RCU))
#define mach_call_rcu(head, func)                                               \
	mach_env()->ops->call_rcu((head), (func), MACH_SITE(MACH_SITE_RCU))
#define mach_insn(i, a, b, c)                                                   \
	mach_env()->ops->insn((i), (a), (b), (c), MACH_SITE(MACH_SITE_INSN))
#define mach_alloc_frames(order, node, gfp)                                     \
	mach_env()->ops->alloc_frames((order), (node), (gfp),                   \
				      MACH_SITE(MACH_SITE_MEM))
#define mach_free_frames(pfn, order, flags)                                     \
	mach_env()->ops->free_frames((pfn), (order), (flags),                   \
				     MACH_SITE(MACH_SITE_MEM))
#define mach_frame_node(pfn) mach_env()->ops->frame_node(pfn)
#define mach_cpu_node(cpu) mach_env()->ops->cpu_node(cpu)
#define mach_copy_frame(to, from)                                               \
	mach_env()->ops->copy_frame((to), (from), MACH_SITE(MACH_SITE_MEM))
#define mach_frame_store(pfn, offset, val)                                      \
	mach_env()->ops->frame_store((pfn), (offset), (val), MACH_SITE(MACH_SITE_STORE))
#define mach_kalloc(size, gfp)                                                  \
	mach_env()->ops->kalloc((size), (gfp), MACH_SITE(MACH_SITE_MEM))
#define mach_kfree(p, size)                                                     \
	mach_env()->ops->kfree((p), (size), MACH_SITE(MACH_SITE_MEM))
#define mach_charge(cost, n) mach_env()->ops->charge(MACH_COST_##cost, (n))
#define mach_context(ctx) mach_env()->ops->context(ctx)
#define mach_bug(what) mach_env()->ops->bug((what), MACH_SITE(MACH_SITE_LOAD))

/*
 * x86. INVLPG drops, for the current PCID, every entry of the page that
 * contains va, global ones too, and all of its paging-structure caches (SDM
 * 4.10.4.1). INVPCID types: 0 one address of one PCID, 1 one PCID, 2 all
 * incl. global, 3 all but global; type 0 also drops that PCID's
 * paging-structure caches. CR3:
 *
 *	 63 62       52 51                      12 11         0
 *	+--+-----------+--------------------------+------------+
 *	|NF|     0     |   frame of the PGD       |    PCID    |
 *	+--+-----------+--------------------------+------------+
 *
 * Without PCID (cr4.PCIDE=0), bits 11:0 are zero and every write flushes.
 * INVLPGB (APM vol. 3): a = rAX (address and valid bits), b = EDX (ASID and
 * PCID), c = ECX (count, stride). It is for all CPUs, and complete at this CPU's next
 * TLBSYNC:
 *
 *	rAX	63:12 address; 0 it is valid; 1 the PCID is; 3 global entries, too
 *	EDX	27:16 PCID; 15:0 ASID (of a guest; the host's is 0)
 *	ECX	15:0 pages after the first; 31 they are of 2 MiB
 */
#define mach_x86_invlpg(va) ((void)mach_insn(MACH_X86_INVLPG, (va), 0, 0))
#define mach_x86_invpcid(type, pcid, va)                                        \
	((void)mach_insn(MACH_X86_INVPCID, (va), (pcid), (type)))
#define MACH_X86_CR3_NOFLUSH_BIT (1ULL << 63)
#define mach_x86_write_cr3(val)                                                 \
	((void)mach_insn(((val) & MACH_X86_CR3_NOFLUSH_BIT) ?                   \
				 MACH_X86_CR3_NOFLUSH : MACH_X86_CR3,           \
			 (val), 0, 0))
#define MACH_X86_INVLPGB_VA	(1ULL << 0)
#define MACH_X86_INVLPGB_PCID	(1ULL << 1)
#define MACH_X86_INVLPGB_GLOBAL	(1ULL << 3)
#define MACH_X86_INVLPGB_PMD	(1U << 31)
#define mach_x86_invlpgb(rax, pcid, ecx)                                        \
	((void)mach_insn(MACH_X86_INVLPGB, (rax), (u64)(pcid) << 16, (ecx)))
#define mach_x86_tlbsync() ((void)mach_insn(MACH_X86_TLBSYNC, 0, 0, 0))
/* Toggling CR4.PGE drops everything, global entries included. */
#define mach_x86_toggle_pge() ((void)mach_insn(MACH_X86_CR4_PGE, 0, 0, 0))

/*
 * arm64. TTBR0_EL1: ASID in 63:48 (the ASID that applies to user
 * translations; that Linux keeps it in TTBR1 changes nothing here), root in
 * 47:1. A TLBI by VA takes Xt:
 *
 *	 63      48 47    44 43                                 0
 *	+----------+--------+------------------------------------+
 *	|   ASID   |  TTL   |  VA[55:12]                         |
 *	+----------+--------+------------------------------------+
 *
 * TTL (FEAT_TTL, else RES0): 47:46 granule 1=4K 2=16K 3=64K, 45:44 level of
 * the leaf; 0 no hint. A range TLBI (FEAT_TLBIRANGE) takes:
 *
 *	 63      48 47 46 45 44 43   39 38 37 36                0
 *	+----------+-----+-----+-------+-----+-------------------+
 *	|   ASID   | TG  |SCALE|  NUM  | TTL |  BaseADDR         |
 *	+----------+-----+-----+-------+-----+-------------------+
 *
 * covering (NUM + 1) * 2^(5 * SCALE + 1) granules from BaseADDR (VA >> granule
 * shift). None of them completes before this CPU's next DSB ISH (DSB NSH for
 * the local forms), and none orders earlier stores: DSB ISHST first.
 */
#define mach_arm64_write_ttbr0(val) ((void)mach_insn(MACH_ARM64_TTBR0, (val), 0, 0))
#define mach_arm64_tlbi(op, xt) ((void)mach_insn(MACH_ARM64_TLBI_##op, (xt), 0, 0))

/*
 * POWER radix. RB: EPN and AP or IS; RS: PID in 63:32, LPID in 31:0. Nothing
 * completes before eieio; tlbsync; ptesync (tlbie), or ptesync (tlbiel).
 */
#define MACH_PPC_RIC(ric, prs, r) ((u32)(ric) | (u32)(prs) << 4 | (u32)(r) << 8)
#define mach_ppc_tlbie(rb, rs, ric, prs, r)                                     \
	((void)mach_insn(MACH_PPC_TLBIE, (rb), (rs), MACH_PPC_RIC(ric, prs, r)))
#define mach_ppc_tlbiel(rb, rs, ric, prs, r)                                    \
	((void)mach_insn(MACH_PPC_TLBIEL, (rb), (rs), MACH_PPC_RIC(ric, prs, r)))
#define mach_ppc_write_pid(pid) ((void)mach_insn(MACH_PPC_PID, (pid), 0, 0))

/* ----------------------------------------------------------------- knobs */

enum knob_kind {
	KNOB_POLICY,	/* what a thread argues about; eras set it */
	KNOB_HW,	/* a feature or erratum; the machine file sets it */
};

/*
 * A choice, declared in core/ beside the code it changes. Enumerated when
 * values is set (the value is the index), else an integer in [min, max].
 * A "bool" is the enumeration { "off", "on" }.
 */
struct knob {
	const char *name;		/* "mmu_gather.nested" */
	const char *const *values;	/* NULL-terminated, or NULL */
	s64 def, min, max;
	enum knob_kind kind;
	const char *meaning;		/* one line */
	const char *origin;		/* commit or thread */
};

/* An era: a set of "knob=value" that differ from the defaults. */
struct era {
	const char *name;
	const char *what;		/* one line */
	const char *const *settings;	/* NULL-terminated */
};

/* ------------------------------------------------------------ the module */

/* What a core is told when it boots. */
struct core_boot {
	const s64 *knobs;		/* one per core_module.knobs */
};

/* mmap()'s and others' arguments are Linux's (uapi); errors are negative. */
struct core_syscalls {
	s64 (*mmap)(u64 addr, u64 len, u32 prot, u32 flags);
	s64 (*munmap)(u64 addr, u64 len);
	s64 (*mprotect)(u64 addr, u64 len, u32 prot);
	s64 (*madvise)(u64 addr, u64 len, u32 advice);
	s64 (*mremap)(u64 addr, u64 old_len, u64 new_len, u32 flags,
		      u64 new_addr);
	/*
	 * A thread of this process (CLONE_VM) or a copy of it (0) that runs
	 * fn(arg); affinity as for thread_create(). Returns its tid.
	 */
	s64 (*clone)(u32 flags, void (*fn)(void *arg), void *arg,
		     const u64 *affinity);
	/*
	 * Actors that are not system calls, or of other processes, on behalf of this
	 * thread, on the pages that its process maps in [addr, addr + len). reclaim(): as
	 * kswapd would, had it chosen these pages; how many are free. move_pages(): nr
	 * pages from addr on go to a node (-1: to other frames anywhere); how many could
	 * not. msync(): dirty pages of shared mappings are written back (MS_SYNC).
	 */
	s64 (*reclaim)(u64 addr, u64 len);
	s64 (*move_pages)(u64 addr, u64 nr_pages, s32 node);
	s64 (*msync)(u64 addr, u64 len);
	/*
	 * numa_hint(): mark what is mapped there for hinting faults, as the scan of NUMA
	 * balancing would; how many base pages were. set_mempolicy(): what this thread
	 * allocates comes from a node (-1: from where it runs).
	 */
	s64 (*numa_hint)(u64 addr, u64 len);
	s64 (*set_mempolicy)(s32 node);
	/*
	 * Lockless walkers of the kernel, on behalf of this thread.
	 * gup_fast(): take a reference to each of nr_pages pages from addr on and drop
	 * it (mm/gup_test.c); how many were found, which may be fewer: what is
	 * not there, or changes meanwhile, is not faulted in. pte_lookup(): only read
	 * the entry that translates addr, as a profiler does; whether there is one.
	 */
	s64 (*gup_fast)(u64 addr, u32 nr_pages, bool write);
	s64 (*pte_lookup)(u64 addr);
	/*
	 * gup_write(): a device, to which this thread gives the page of addr, stores the word
	 * val there: the page is pinned, faulted in if need be, and unpinned. force: as a
	 * debugger, in a private mapping without the right to write, too. 0 or an error.
	 */
	s64 (*gup_write)(u64 addr, u64 val, bool force);
	/*
	 * drop_caches(): memory is short, and the kernel's caches shrink ("2" written to
	 * /proc/sys/vm/drop_caches). The only one here is the huge page of zeroes. How many
	 * pages are free.
	 */
	s64 (*drop_caches)(void);
	/*
	 * Mappings of the kernel's own, as a driver makes them: fresh pages at an offset in the
	 * kernel's area of 1 GiB, huge where they fit; and away with them. 0 or an error.
	 * NULL: the core has none.
	 */
	s64 (*ioremap)(u64 off, u64 len);
	s64 (*iounmap)(u64 off, u64 len);
	/*
	 * System V shared memory. shmget() makes a segment (IPC_PRIVATE) and returns its id;
	 * shmat() maps it, readable and writable, at addr, or anywhere if addr is 0, and
	 * returns where; shmdt() takes that mapping away. The segment keeps its pages until
	 * shm_rmid() (IPC_RMID) was called and nobody maps it.
	 */
	s64 (*shmget)(u64 size);
	s64 (*shmat)(s64 id, u64 addr);
	s64 (*shmdt)(u64 addr);
	s64 (*shm_rmid)(s64 id);
	void (*exit)(void) __attribute__((noreturn));
};

#define CORE_CLONE_VM 0x100

/* Counters that a core keeps, by name, for metrics. */
struct core_stat {
	const char *name;		/* "vmstat.pgfault", "gather.nested" */
	u64 value;
};

/*
 * How stories name words of a core's objects: by the function that allocates them with
 * mach_kalloc(). Where several lie in a row (a size below what was asked for), by
 * number.
 */
struct core_field {
	const char *name;		/* in the order of offsets; NULL ends */
	u32 offset;
};

struct core_object {
	const char *func, *name;
	u32 size;
	const struct core_field *fields;
};

struct core_module {
	u64 abi;			/* TLBLAB_ABI */
	const char *arch;		/* "arm64" */
	const char *version;
	const struct knob *const *knobs; /* NULL-terminated */
	const struct era *eras;		/* ends with a NULL name */

	/*
	 * Called on the boot CPU before anything else, with env->core NULL;
	 * returns the core's root object. *init_task is the task of the first
	 * thread, which has an empty address space. On bad
	 * knobs returns NULL and a message in *error.
	 */
	void *(*boot)(const struct core_boot *boot, void **init_task,
		      const char **error);
	/* On each CPU, boot CPU included: returns its idle task. */
	void *(*cpu_online)(void);

	/*
	 * A user access at va could not be translated. Interrupts on. Returns
	 * an enum mach_signal; NONE means try again. [may sleep]
	 */
	int (*fault)(u64 va, u32 flags);
	/*
	 * The timer has interrupted this thread's sweep of memory: on the way back to user
	 * mode. Milliseconds since boot, as jiffies count them, and what of them the thread
	 * has run since the last call. A machine without a clock calls when its program says
	 * so.
	 * [may sleep]
	 */
	void (*tick)(u64 now_ms, u64 ran_ms);
	/*
	 * CPU goes from task prev to next (either may be its idle task);
	 * interrupts off, on prev's stack. prev may be exiting for good.
	 */
	void (*context_switch)(void *prev, void *next);

	struct core_syscalls sys;

	/*
	 * No thread is in the kernel but this one: let go of what is kept for later
	 * (lru_drain_quiet(), huge_zero_quiet()). For who then looks for pages that nobody freed.
	 */
	void (*drain_all)(void);

	/* Copy up to n counters; returns how many there are. */
	u32 (*stats)(struct core_stat *stats, u32 n);
	const struct core_object *objects; /* NULL, or ends with a NULL func */
};

/* The one symbol that a core module exports. */
const struct core_module *tlblab_core(const struct mach_ops *ops);
#define TLBLAB_CORE_SYMBOL "tlblab_core"

#endif /* TLBLAB_MACHINE_H */
