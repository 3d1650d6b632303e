/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64: the ASID allocator, address-space switching, KPTI crossings. */
#include "mmu_context.h"
#include "pgtable.h"
#include "tlbflush.h"

KNOB_INT(arm64_asid_bits, "arm64.asid_bits", KNOB_HW, 16, 2, 16,
	 "width of an ASID; hardware has 8 or 16, with less a rollover comes sooner",
	 "ID_AA64MMFR0_EL1.ASIDBits");
KNOB_BOOL(arm64_kpti, "arm64.kpti", KNOB_HW, 0,
	  "CPU needs the kernel unmapped in user mode: two ASIDs per context",
	  "arm64: mm: Allocate ASIDs in pairs");

#define ASID_FIRST_VERSION (1UL << 16)
#define NUM_USER_ASIDS (1UL << knob(arm64_asid_bits))
#define ctxid2asid(id) ((id) & (NUM_USER_ASIDS - 1))

static struct arch_root *root(void)
{
	return &kernel()->arch;
}

static bool asid_gen_match(u64 id)
{
	return !((id ^ atomic64_read(&root()->asid_generation)) >> knob(arm64_asid_bits));
}

/* A map of less than a word ends in ASIDs that there are not. */
#define ASID_MAP_WORDS ((NUM_USER_ASIDS + 63) / 64)

/* With KPTI, odd numbers are never handed out: they are the user halves. */
static void set_reserved_asid_bits(void)
{
	u64 word = knob(arm64_kpti) ? 0xaaaaaaaaaaaaaaaaUL : 0;

	if (NUM_USER_ASIDS < 64)
		word |= ~0UL << NUM_USER_ASIDS;
	for (u32 i = 0; i < ASID_MAP_WORDS; i++)
		root()->asid_map[i] = word;
}

static bool test_and_set_asid(u64 asid)
{
	u64 *word = &root()->asid_map[asid / 64];
	u64 bit = 1UL << (asid % 64);
	bool was = *word & bit;

	*word |= bit;
	return was;
}

/* First free ASID from start on, or NUM_USER_ASIDS. */
static u64 find_free_asid(u64 start)
{
	for (u64 w = start / 64; w < ASID_MAP_WORDS; w++) {
		u64 free = ~root()->asid_map[w];

		if (w == start / 64)
			free &= ~0UL << (start % 64);
		if (free)
			return w * 64 + __builtin_ctzl(free);
	}
	return NUM_USER_ASIDS;
}

const char *arch_boot(void)
{
	u64 usable = NUM_USER_ASIDS >> (knob(arm64_kpti) ? 1 : 0);

	if (mach_env()->page_shift != 12 && mach_env()->page_shift != 16)
		return "arm64 has base pages of 4 KiB or 64 KiB here";
	/* Each CPU may keep one over a rollover; ASID 0 is nobody's. */
	if (usable - 1 <= nr_cpu_ids)
		return "arm64.asid_bits gives too few ASIDs for so many CPUs";

	root()->asid_map = kzalloc(ASID_MAP_WORDS * 8);
	set_reserved_asid_bits();
	root()->cur_idx = 1;
	atomic64_set(&root()->asid_generation, ASID_FIRST_VERSION);
	return NULL;
}

/*
 * A rollover, under cpu_asid_lock: note what runs now, forget all else, and have
 * every CPU flush at its next switch.
 */
static void flush_context(void)
{
	count_vm_event(asid_rollover);
	mach_charge(ASID_ROLLOVER, 1);
	set_reserved_asid_bits();

	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct arch_cpu *arch = &kernel()->cpu[cpu].arch;
		u64 id = mach_rmw(&arch->active_asid.counter, MACH_XCHG, 0, 0,
				  MACH_RELAXED);

		/*
		 * Zero: it has not switched since an earlier rollover, and still
		 * runs what that one noted.
		 */
		if (id == 0)
			id = arch->reserved_asid;
		test_and_set_asid(ctxid2asid(id));
		arch->reserved_asid = id;
	}

	for (u32 w = 0; w < cpumask_words(); w++)
		root()->tlb_flush_pending[w] = ~0UL;
}

/*
 * Whether some CPU ran id at the last rollover; all of those that did are told its
 * new name, or a second rollover would not know it any more.
 */
static bool check_update_reserved_asid(u64 id, u64 newid)
{
	bool hit = false;

	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct arch_cpu *arch = &kernel()->cpu[cpu].arch;

		if (arch->reserved_asid == id) {
			hit = true;
			arch->reserved_asid = newid;
		}
	}
	return hit;
}

/* A context id of the current generation for mm, under cpu_asid_lock. */
static u64 new_context(struct mm_struct *mm)
{
	u64 id = atomic64_read(&mm->context.id);
	u64 generation = atomic64_read(&root()->asid_generation);
	u64 asid;

	lockdep_assert_held(&root()->cpu_asid_lock);
	if (id) {
		u64 newid = ctxid2asid(id) | generation;

		/* It ran during the rollover and kept its ASID. */
		if (check_update_reserved_asid(id, newid))
			return newid;
		/* Its old number, if nobody has taken it since. */
		if (!test_and_set_asid(ctxid2asid(id)))
			return newid;
	}

	asid = find_free_asid(root()->cur_idx);
	if (asid == NUM_USER_ASIDS) {
		generation = ASID_FIRST_VERSION +
			     mach_rmw(&root()->asid_generation.counter, MACH_ADD,
				      ASID_FIRST_VERSION, 0, MACH_RELAXED);
		flush_context();
		/* More ASIDs than CPUs: arch_boot() made sure. */
		asid = find_free_asid(1);
		BUG_ON(asid == NUM_USER_ASIDS);
	}
	test_and_set_asid(asid);
	root()->cur_idx = asid;
	return asid | generation;
}

/* Linux's cpu_do_switch_mm(); here the ASID and the root are in one register. */
static void write_ttbr0(u64 pgd_pfn, u64 asid)
{
	struct arch_cpu *cpu = &this_cpu()->arch;

	BUG_ON(cpu->user_mode);
	cpu->ttbr0 = (asid << 48) | (pgd_pfn << PAGE_SHIFT);
	mach_arm64_write_ttbr0(cpu->ttbr0);
	mach_fence(MACH_ISB);
}

/* init_mm maps nothing in the user half; no TLB entry can come of it. */
static void cpu_set_reserved_ttbr0(void)
{
	write_ttbr0(kernel()->init_mm->pgd_pfn, 0);
}

/* The current generation is not mm's, or a rollover has taken active_asid. */
static void switch_slowpath(struct mm_struct *mm)
{
	struct arch_cpu *arch = &this_cpu()->arch;
	u32 cpu = smp_processor_id();
	bool flags;
	u64 id;

	spin_lock_irqsave(&root()->cpu_asid_lock, flags);
	id = atomic64_read(&mm->context.id);
	if (!asid_gen_match(id)) {
		id = new_context(mm);
		atomic64_set(&mm->context.id, id);
	}
	if (root()->tlb_flush_pending[cpu / 64] & (1UL << (cpu % 64))) {
		root()->tlb_flush_pending[cpu / 64] &= ~(1UL << (cpu % 64));
		local_flush_tlb_all();
	}
	atomic64_set(&arch->active_asid, id);
	spin_unlock_irqrestore(&root()->cpu_asid_lock, flags);
}

static void check_and_switch_context(struct mm_struct *mm)
{
	struct arch_cpu *arch = &this_cpu()->arch;
	u64 id = atomic64_read(&mm->context.id);
	u64 old = atomic64_read(&arch->active_asid);

	/*
	 * Without the lock if nothing has to change. Against a rollover elsewhere,
	 * after we found the generation to match:
	 *
	 *	this CPU			rollover
	 *	  generation matches
	 *					  generation++
	 *	  cmpxchg(active, old, id)	  xchg(active, 0)
	 *
	 * The two meet at one location, so either ours came first, and the
	 * rollover notes id as running; or its xchg did, and the cmpxchg
	 * finds 0 and fails; then the lock shows us the new generation. No
	 * other order is needed, so both are relaxed. A zero that we read was
	 * there before: slow, too.
	 */
	if (!old || !asid_gen_match(id) ||
	    mach_rmw(&arch->active_asid.counter, MACH_CMPXCHG, id, old, MACH_RELAXED) !=
		    (s64)old)
		switch_slowpath(mm);

	write_ttbr0(mm->pgd_pfn, ASID(mm));
}

void arch_cpu_online(void)
{
	local_flush_tlb_all();
	cpu_set_reserved_ttbr0();
}

int init_new_context(struct task_struct *tsk, struct mm_struct *mm)
{
	(void)tsk;
	atomic64_set(&mm->context.id, 0);
	return 0;
}

void switch_mm_irqs_off(struct mm_struct *prev, struct mm_struct *next,
			struct task_struct *tsk)
{
	(void)tsk;
	if (prev == next)
		return;
	mach_charge(SWITCH_MM, 1);
	if (next == kernel()->init_mm)
		cpu_set_reserved_ttbr0();
	else
		check_and_switch_context(next);
}

/* Interrupts off: nothing may switch the mm between the two lines. */
static void cross(bool to_user)
{
	struct arch_cpu *cpu;
	bool flags;

	if (!knob(arm64_kpti))
		return;
	local_irq_save(flags);
	cpu = &this_cpu()->arch;
	if (cpu->user_mode != to_user) {
		mach_charge(PTI_SWITCH, 1);
		mach_arm64_write_ttbr0(cpu->ttbr0 | (to_user ? USER_ASID_FLAG : 0));
		/* To the kernel: ISB. To user mode: ERET, which does the same. */
		mach_fence(MACH_ISB);
		cpu->user_mode = to_user;
	}
	local_irq_restore(flags);
}

void arch_enter_kernel(void)
{
	cross(false);
}

void arch_exit_kernel(void)
{
	cross(true);
}
