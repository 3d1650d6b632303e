// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * core/arch/powerpc: expected tlbie and tlbiel and their operands, the scope decision
 * with its trimming, PIDs and the process table.
 */
#include "tlbflush_world.h"

#define HINT 0x200000000000UL
#define KB 1024UL
#define MB (1024 * KB)
#define CPUS 4

/* A world whose CPUs have tasks: the scope of a flush depends on who asks. */
struct pw {
	struct world w;
	struct mm_struct *mm;
	struct task_struct task[CPUS];
	struct mach_ops ops;
	const struct mach_ops *fake;
};

static struct pw *pw_of(void)
{
	return ((struct fake_machine *)mach_env()->machine)->priv;
}

/* As the fake machine's, and `current` is the target's while the handler runs. */
static void pw_ipi(const u64 *mask, void (*func)(void *info), void *info, bool wait,
		   const struct mach_site *site)
{
	void *self = mach_env()->task;

	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		u64 one[NR_CPUS / 64] = { [0] = mask[0] & BIT(cpu) };

		mach_env()->task = &pw_of()->task[cpu];
		if (cpu != mach_env()->cpu)
			pw_of()->fake->ipi(one, func, info, wait, site);
		mach_env()->task = self;
	}
}

static void pw_as(struct pw *p, u32 cpu)
{
	p->w.fm->env->task = &p->task[cpu];
}

/* cpu runs a thread of mm next. */
static void pw_run(struct pw *p, u32 cpu, struct mm_struct *mm)
{
	pw_as(p, cpu);
	world_switch(&p->w, cpu, mm);
	p->task[cpu].mm = mm == p->w.kernel->init_mm ? NULL : mm;
	p->task[cpu].active_mm = mm;
}

/* cpu runs a kernel thread next, which borrows what it finds. */
static void pw_borrow(struct pw *p, u32 cpu)
{
	p->task[cpu].active_mm->mm_count.counter++;
	p->task[cpu].mm = NULL;
}

/* Every knob's default, but for knobs; cpus of them have run mm, CPU 0 runs it. */
static void pw_create(struct pw *p, u32 page_shift, u32 cpus,
		      const struct knob_setting *knobs, u32 nr)
{
	struct knob_setting all[WORLD_KNOBS + 1] = { { KNOB_powerpc_pid_bits, 8 } };

	memset(p, 0, sizeof(*p));
	for (u32 i = 0; i < nr; i++)
		all[i + 1] = knobs[i];
	world_create(&p->w, CPUS, page_shift, all, nr + 1);
	assert_null(p->w.refused);
	p->w.fm->priv = p;
	p->fake = p->w.fm->env->ops;
	p->ops = *p->fake;
	p->ops.ipi = pw_ipi;
	p->w.fm->env->ops = &p->ops;
	p->mm = world_mm(&p->w);
	p->mm->mm_users.counter = 2;
	p->mm->mm_count.counter = 1;
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		p->task[cpu].active_mm = p->w.kernel->init_mm;
	for (u32 cpu = cpus; cpu--;)
		pw_run(p, cpu, p->mm);
	fake_log_clear(p->w.fm);
}

static void pw_destroy(struct pw *p)
{
	p->w.fm->env->ops = p->fake;
	world_destroy(&p->w);
}

static void pw_flush(struct pw *p, const struct mmu_gather *tlb)
{
	fake_log_clear(p->w.fm);
	pw_as(p, 0);
	world_tlb_flush(&p->w, 0, tlb);
}

/* ---- which instructions ---- */

struct flush_case {
	const char *name;
	u64 size;
	const char *fields;	/* world_gather() */
	u32 cpus;		/* that have run the mm */
	u64 page_size;		/* 0: base page */
	struct knob_setting knobs[WORLD_KNOBS];
	const char *expect;
	const char *ric;	/* of each tlbie and tlbiel, first ones */
};

#define P9 { KNOB_powerpc_erat_bug, 1 }, { KNOB_powerpc_stq_bug, 1 }
#define K64 (64 * KB)
#define END "eieio tlbsync ptesync"

static const struct flush_case flush_cases[] = {
	{ "local page", K64, "3", 1, 0, { P9 }, "ptesync tlbiel ptesync", "0" },
	{ "local page and table", K64, "32t", 1, 0, { P9 },
	  "ptesync 2*tlbiel ptesync", "10" },
	{ "local, at the ceiling", 256 * K64, "3", 1, 0, { P9 },
	  "ptesync 256*tlbiel ptesync", "00" },
	{ "local, above", 257 * K64, "3", 1, 0, { P9 },
	  "ptesync 128*tlbiel ptesync slbia", "00" },
	{ "local, above, table", 257 * K64, "3t", 1, 0, { P9 },
	  "ptesync 128*tlbiel ptesync slbia", "20" },
	{ "local, above, ISA 3.1", 257 * K64, "3t", 1, 0, { { KNOB_powerpc_isa31, 1 } },
	  "ptesync tlbiel ptesync slbia", "2" },
	{ "local, >=", 256 * K64, "3", 1, 0,
	  { { KNOB_powerpc_ceiling_compare, CEILING_GE } },
	  "ptesync 128*tlbiel ptesync slbia", "00" },
	{ "local, whole mm", 0, "m", 1, 0, { P9 },
	  "ptesync 128*tlbiel ptesync slbia", "20" },

	{ "page", K64, "3", 2, 0, { P9 },
	  "ptesync tlbie ptesync tlbie ptesync tlbie " END, "000" },
	{ "table", K64, "2t", 2, 0, { P9 },
	  "ptesync 2*tlbie ptesync tlbie ptesync tlbie " END, "1000" },
	{ "page, one erratum", K64, "3", 2, 0, { { KNOB_powerpc_erat_bug, 1 } },
	  "ptesync tlbie ptesync tlbie " END, "00" },
	{ "page, POWER10", K64, "3", 2, 0, { { KNOB_powerpc_isa31, 1 } },
	  "ptesync tlbie " END, "0" },
	{ "page, kernel of 5.3", K64, "3", 2, 0,
	  { P9, { KNOB_powerpc_tlbie_fixups, FIXUPS_STQ } },
	  "ptesync tlbie ptesync tlbie " END, "00" },
	{ "page, kernel of 4.14", K64, "3", 2, 0,
	  { P9, { KNOB_powerpc_tlbie_fixups, FIXUPS_NONE } },
	  "ptesync tlbie " END, "0" },
	{ "at the ceiling", 33 * K64, "3", 2, 0, { { 0 } },
	  "ptesync 33*tlbie " END, "00" },
	{ "above", 34 * K64, "3", 2, 0, { { 0 } }, "ptesync tlbie " END, "0" },
	{ "above, table", 34 * K64, "3t", 2, 0, { { 0 } }, "ptesync tlbie " END, "2" },
	{ "above, fixed up once", 34 * K64, "3", 2, 0, { P9 },
	  "ptesync tlbie ptesync tlbie ptesync tlbie " END, "000" },
	{ "thread S2: 32 and >=", 32 * K64, "3", 2, 0,
	  { { KNOB_powerpc_ceiling_compare, CEILING_GE },
	    { KNOB_powerpc_tlb_single_page_flush_ceiling, 32 } },
	  "ptesync tlbie " END, "0" },
	{ "2M pages", 16 * MB, "2", 2, 2 * MB, { { 0 } }, "ptesync 8*tlbie " END, "00" },
	{ "size unknown", K64, "3", 2, 1, { { 0 } }, "ptesync tlbie " END, "0" },
	{ "size unknown, table", K64, "3t", 2, 1, { { 0 } }, "ptesync tlbie " END, "2" },
	{ "whole mm, as before 6.4", 0, "m", 2, 0,
	  { { KNOB_powerpc_lazy_tlb_shootdown, 0 } }, "ptesync tlbie " END, "2" },
	{ "whole mm: CPU 1 runs it, and stays", 0, "m", 2, 0, { { 0 } },
	  "ipi ptesync 128*tlbiel ptesync slbia ptesync tlbie " END, "20" },

	{ "no CPU has run it", K64, "3", 0, 0, { { 0 } }, "", "" },

	{ "no tlbie", K64, "3t", 3, 0, { { KNOB_powerpc_tlbie, 0 } },
	  "ptesync 2*tlbiel ptesync ipi ptesync 2*tlbiel ptesync "
	  "ipi ptesync 2*tlbiel ptesync", "101010" },
	{ "no tlbie, above", 34 * K64, "3", 2, 0, { { KNOB_powerpc_tlbie, 0 } },
	  "ptesync 128*tlbiel ptesync slbia ipi ptesync 128*tlbiel ptesync slbia", "00" },
	{ "no GTSE", K64, "3", 2, 0, { { KNOB_powerpc_gtse, 0 } }, "h_rpt_invalidate", "" },
	{ "no GTSE, local", K64, "3", 1, 0, { { KNOB_powerpc_gtse, 0 } },
	  "ptesync tlbiel ptesync", "0" },
};

static void check_rics(const struct fake_machine *fm, const struct flush_case *c)
{
	const char *ric = c->ric;

	for (u32 i = 0; i < fm->nr_log && *ric; i++) {
		const struct fake_event *ev = &fm->log[i];

		if (ev->kind != FAKE_INSN ||
		    (ev->op != MACH_PPC_TLBIE && ev->op != MACH_PPC_TLBIEL))
			continue;
		if ((ev->c & 3) != (u32)(*ric - '0'))
			fail_msg("%s: operation %zu has RIC %u", c->name,
				 (size_t)(ric - c->ric), ev->c & 3);
		/* Process-scoped, radix. */
		assert_int_equal(ev->c >> 4, 0x11);
		ric++;
	}
	assert_int_equal(*ric, 0);
}

static void test_flushes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flush_cases); i++) {
		const struct flush_case *c = &flush_cases[i];
		struct mmu_gather tlb;
		struct pw p;

		pw_create(&p, 16, c->cpus, c->knobs, WORLD_KNOBS);
		tlb = world_gather(p.mm, HINT, c->size, c->fields);
		tlb.page_size = c->page_size ? (u32)c->page_size : K64;
		pw_flush(&p, &tlb);
		if (strcmp(fake_brief(p.w.fm), c->expect))
			fail_msg("%s: expected [%s], got [%s]", c->name, c->expect,
				 fake_brief(p.w.fm));
		check_rics(p.w.fm, c);
		pw_destroy(&p);
	}
}

/*
 * Thread S2, Piggin's: what a gather flushes now, or all of its call, held against the
 * ceiling. The PID drops if the pages that are counted are above it; what is not counted
 * changes nothing, and only the pages of the flush are ever gone through.
 */
struct call_case {
	u32 pages, call;	/* of the flush; of its call */
	bool by_call, ge, tables, local;
};

static void expect_call(const struct call_case *c, char *text, size_t size)
{
	u32 ceiling = c->local ? 256 : 33, counted = c->by_call ? c->call : c->pages;
	bool above = c->ge ? counted >= ceiling : counted > ceiling;
	const char *insn = c->local ? "tlbiel" : "tlbie", *end = c->local ? "ptesync" : END;
	u32 n = above ? 1 : c->pages + c->tables;
	char times[16] = "";

	/* POWER10: the PID is one instruction either way; a local one also drops the ERAT. */
	if (n > 1)
		snprintf(times, sizeof(times), "%u*", n);
	snprintf(text, size, "ptesync %s%s %s%s", times, insn, end,
		 above && c->local ? " slbia" : "");
}

static void check_call(const struct call_case *c)
{
	const struct knob_setting knobs[] = {
		{ KNOB_powerpc_isa31, 1 },
		{ KNOB_powerpc_ceiling_range, c->by_call ? CEILING_RANGE_CALL :
							   CEILING_RANGE_FLUSH },
		{ KNOB_powerpc_ceiling_compare, c->ge ? CEILING_GE : CEILING_GT },
	};
	char expect[96];
	struct mmu_gather tlb;
	struct pw p;

	pw_create(&p, 16, c->local ? 1 : 2, knobs, 3);
	/* The flush lies at the end of its call. */
	tlb = world_gather(p.mm, HINT + (c->call - c->pages) * K64, c->pages * K64,
			   c->tables ? "3t" : "3");
	tlb.call_start = HINT;
	tlb.call_end = HINT + c->call * K64;
	tlb.page_size = K64;
	pw_flush(&p, &tlb);
	expect_call(c, expect, sizeof(expect));
	if (strcmp(fake_brief(p.w.fm), expect))
		fail_msg("%u of %u pages, %s, %s%s%s: expected [%s], got [%s]", c->pages,
			 c->call, c->by_call ? "call" : "flush", c->ge ? ">=" : ">",
			 c->tables ? ", tables" : "", c->local ? ", local" : "", expect,
			 fake_brief(p.w.fm));
	pw_destroy(&p);
}

static void test_call_range(void **state)
{
	static const u32 pages[] = { 1, 32, 33 };
	static const u32 calls[] = { 33, 34, 255, 256, 257, 4096 };

	(void)state;
	for (u32 i = 0; i < 3; i++)
		for (u32 k = 0; k < 6; k++)
			for (u32 bits = 0; bits < 16; bits++) {
				const struct call_case c = {
					.pages = pages[i], .call = calls[k],
					.by_call = bits & 1, .ge = bits & 2,
					.tables = bits & 4, .local = bits & 8,
				};

				check_call(&c);
			}
}

/* ---- operands ---- */

static const struct fake_event *nth(const struct fake_machine *fm, u32 op, u32 n)
{
	for (u32 i = 0; i < fm->nr_log; i++)
		if (fm->log[i].kind == FAKE_INSN && fm->log[i].op == op && !n--)
			return &fm->log[i];
	fail_msg("no such operation");
	return NULL;
}

/* RB of an address: EPN, AP in 7:5, IS 0. */
static void check_va(const struct fake_event *ev, u64 va, u32 ap, u64 pid)
{
	assert_int_equal(ev->a, va | (u64)ap << 5);
	assert_int_equal(ev->b, pid << 32);
}

/* The nested branch: base pages, then 2 MiB pages wherever one fits. */
static void test_nested(void **state)
{
	const struct knob_setting knobs[] = { { KNOB_powerpc_nested_branch, 1 },
					      { KNOB_powerpc_range_pwc, RANGE_PWC_NONE } };
	struct mmu_gather tlb;
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, knobs, 2);
	tlb = world_gather(p.mm, HINT + MB, 6 * MB, "3");
	tlb.page_size = K64;
	p.mm->tlb_flush_pending.counter = 1;
	pw_flush(&p, &tlb);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 96*tlbiel ptesync");
	p.mm->tlb_flush_pending.counter = 2;
	pw_flush(&p, &tlb);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 98*tlbiel ptesync");
	check_va(nth(p.w.fm, MACH_PPC_TLBIEL, 0), HINT + MB, 5, p.mm->context.id);
	check_va(nth(p.w.fm, MACH_PPC_TLBIEL, 95), HINT + 7 * MB - K64, 5, p.mm->context.id);
	check_va(nth(p.w.fm, MACH_PPC_TLBIEL, 96), HINT + 2 * MB, 1, p.mm->context.id);
	check_va(nth(p.w.fm, MACH_PPC_TLBIEL, 97), HINT + 4 * MB, 1, p.mm->context.id);
	/* Tables: everything. */
	tlb = world_gather(p.mm, HINT, MB, "3t");
	tlb.page_size = K64;
	pw_flush(&p, &tlb);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 128*tlbiel ptesync slbia");
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIEL, 0)->c & 3, 2);
	/* A reset has forgotten them, but they wait. */
	tlb = world_gather(p.mm, HINT, MB, "");
	tlb.page_size = K64;
	tlb.batch = (struct mmu_table_batch *)&p;
	pw_flush(&p, &tlb);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 128*tlbiel ptesync slbia");
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIEL, 0)->c & 3, 2);
	pw_destroy(&p);
}

/* A whole 1 GiB page in the range, and a ceiling that allows it. */
static void test_nested_1g(void **state)
{
	const struct knob_setting knobs[] = {
		{ KNOB_powerpc_nested_branch, 1 },
		{ KNOB_powerpc_tlb_local_single_page_flush_ceiling, 1 << 20 },
		{ KNOB_powerpc_range_pwc, RANGE_PWC_NONE },
	};
	struct mmu_gather tlb;
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, knobs, 3);
	tlb = world_gather(p.mm, HINT, 1024 * MB, "3");
	tlb.page_size = K64;
	p.mm->tlb_flush_pending.counter = 2;
	pw_flush(&p, &tlb);
	assert_int_equal(fake_count(p.w.fm, FAKE_INSN, MACH_PPC_TLBIEL), 16384 + 512 + 1);
	check_va(nth(p.w.fm, MACH_PPC_TLBIEL, 16384 + 512), HINT, 2, p.mm->context.id);
	pw_destroy(&p);
}

static void test_fixup_operands(void **state)
{
	const struct knob_setting knobs[] = { P9 };
	struct mmu_gather tlb;
	struct pw p;

	(void)state;
	pw_create(&p, 16, 2, knobs, 2);
	tlb = world_gather(p.mm, HINT, 2 * K64, "3");
	tlb.page_size = K64;
	pw_flush(&p, &tlb);
	/* PID 0 as a whole, then the last page again. */
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIE, 2)->a, 1UL << 10);
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIE, 2)->b, 0);
	check_va(nth(p.w.fm, MACH_PPC_TLBIE, 3), HINT + K64, 5, p.mm->context.id);
	fake_log_clear(p.w.fm);
	pw_as(&p, 0);
	world_flush_page(&p.w, 0, p.mm, HINT);
	/* One page alone: that page of PID 0. */
	check_va(nth(p.w.fm, MACH_PPC_TLBIE, 1), HINT, 5, 0);
	check_va(nth(p.w.fm, MACH_PPC_TLBIE, 2), HINT, 5, p.mm->context.id);
	pw_destroy(&p);
}

/* Walk caches from 2 MiB on; base pages and 2 MiB pages. */
static void test_range(void **state)
{
	struct pw p;

	(void)state;
	pw_create(&p, 16, 2, NULL, 0);
	pw_as(&p, 0);
	world_flush_range(&p.w, 0, p.mm, HINT, HINT + MB);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 16*tlbie " END);
	fake_log_clear(p.w.fm);
	world_flush_range(&p.w, 0, p.mm, HINT, HINT + 2 * MB);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 34*tlbie " END);
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIE, 0)->c & 3, 1);
	check_va(nth(p.w.fm, MACH_PPC_TLBIE, 33), HINT, 1, p.mm->context.id);
	fake_log_clear(p.w.fm);
	world_flush_range(&p.w, 0, p.mm, HINT, HINT + 4 * MB);
	assert_string_equal(fake_brief(p.w.fm), "ptesync tlbie " END);
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIE, 0)->c & 3, 2);
	pw_destroy(&p);
}

static void test_4k(void **state)
{
	struct mmu_gather tlb;
	struct pw p;

	(void)state;
	pw_create(&p, 12, 2, NULL, 0);
	tlb = world_gather(p.mm, HINT, 33 * 4 * KB, "3");
	tlb.page_size = 4 * KB;
	pw_flush(&p, &tlb);
	assert_string_equal(fake_brief(p.w.fm), "ptesync 33*tlbie " END);
	check_va(nth(p.w.fm, MACH_PPC_TLBIE, 32), HINT + 32 * 4 * KB, 0, p.mm->context.id);
	pw_destroy(&p);
}

/* What the hypervisor is asked for. Unlike Linux, walk caches for large ranges, too. */
static void test_hcall(void **state)
{
	const struct knob_setting knobs[] = { { KNOB_powerpc_gtse, 0 } };
	const struct fake_event *ev;
	struct mmu_gather tlb;
	struct pw p;

	(void)state;
	pw_create(&p, 16, 2, knobs, 1);
	tlb = world_gather(p.mm, HINT, 100 * K64, "3t");
	tlb.page_size = K64;
	pw_flush(&p, &tlb);
	ev = nth(p.w.fm, MACH_PPC_H_RPT_INVALIDATE, 0);
	assert_int_equal(ev->a, HINT);
	assert_int_equal(ev->b, HINT + 100 * K64);
	assert_int_equal(ev->c, p.mm->context.id | 2U << 20 | 6U << 24 | 1U << 28);
	pw_as(&p, 0);
	fake_log_clear(p.w.fm);
	world_flush_range(&p.w, 0, p.mm, HINT, HINT + 64 * MB);
	ev = nth(p.w.fm, MACH_PPC_H_RPT_INVALIDATE, 0);
	assert_int_equal(ev->c, p.mm->context.id | 6U << 20 | 6U << 24 | 1U << 28);
	fake_log_clear(p.w.fm);
	world_flush_mm(&p.w, 0, p.mm);
	ev = nth(p.w.fm, MACH_PPC_H_RPT_INVALIDATE, 0);
	assert_int_equal(ev->a, 0);
	assert_int_equal(ev->b, ~0UL);
	assert_int_equal(ev->c, p.mm->context.id | 0xfU << 20 | 2U << 24 | 1U << 28);
	pw_destroy(&p);
}

/* ---- scope ---- */

static s64 active(const struct pw *p)
{
	s64 bits = __builtin_popcountl(p->mm->cpu_bitmap.bits[0]);

	if (!p->mm->context.copros.counter)
		assert_int_equal(p->mm->context.active_cpus.counter, bits);
	return p->mm->context.active_cpus.counter;
}

static const char *flush_page(struct pw *p, u32 cpu)
{
	fake_log_clear(p->w.fm);
	pw_as(p, cpu);
	world_flush_page(&p->w, cpu, p->mm, HINT);
	return fake_brief(p->w.fm);
}

#define LOCAL "ptesync tlbiel ptesync"
#define GLOBAL "ptesync tlbie " END
#define GIVE_UP "ipi ptesync 128*tlbiel ptesync slbia"
#define LOAN_ENDS "ipi mtpid ptesync 128*tlbiel ptesync slbia"

static void test_mask_stays(void **state)
{
	const struct knob_setting none[] = { { KNOB_powerpc_cpumask_trim,
					       CPUMASK_TRIM_NONE } };
	struct pw p;

	(void)state;
	pw_create(&p, 16, 2, none, 1);
	pw_run(&p, 1, p.w.kernel->init_mm);
	p.mm->mm_users.counter = 1;
	/* CPU 1 left long ago, and is in the mask for ever. */
	for (u32 i = 0; i < 3000; i++)
		assert_string_equal(flush_page(&p, 0), GLOBAL);
	assert_int_equal(active(&p), 2);
	pw_destroy(&p);
}

static void test_single_user(void **state)
{
	struct pw p;

	(void)state;
	pw_create(&p, 16, 2, NULL, 0);
	pw_borrow(&p, 1);
	p.mm->mm_users.counter = 1;
	assert_int_equal(active(&p), 2);
	assert_string_equal(flush_page(&p, 0), LOAN_ENDS " " LOCAL);
	assert_int_equal(active(&p), 1);
	/* The loan went from mm to init_mm. */
	assert_ptr_equal(p.task[1].active_mm, p.w.kernel->init_mm);
	assert_int_equal(p.mm->mm_count.counter, 1);
	assert_string_equal(flush_page(&p, 0), LOCAL);
	/* CPU 1 comes back. */
	pw_run(&p, 1, p.mm);
	p.mm->mm_users.counter = 2;
	assert_string_equal(flush_page(&p, 0), GLOBAL);
	pw_destroy(&p);
}

static void test_1073(void **state)
{
	struct pw p;

	(void)state;
	pw_create(&p, 16, 2, NULL, 0);
	pw_run(&p, 1, p.w.kernel->init_mm);
	for (u32 i = 1; i < 1073; i++)
		assert_string_equal(flush_page(&p, 0), GLOBAL);
	assert_string_equal(flush_page(&p, 0), GIVE_UP " " LOCAL);
	assert_int_equal(active(&p), 1);
	assert_string_equal(flush_page(&p, 0), LOCAL);
	pw_destroy(&p);

	/* One that runs the mm cannot be trimmed, but is flushed. */
	pw_create(&p, 16, 2, NULL, 0);
	for (u32 i = 1; i < 1073; i++)
		flush_page(&p, 0);
	assert_string_equal(flush_page(&p, 0), GIVE_UP " " LOCAL);
	assert_int_equal(active(&p), 2);
	for (u32 i = 1; i < 1073; i++)
		assert_string_equal(flush_page(&p, 0), GLOBAL);
	assert_string_equal(flush_page(&p, 0), GIVE_UP " " LOCAL);
	pw_destroy(&p);
}

static void test_trim_timer(void **state)
{
	for (s64 timer = 1; timer <= 5; timer++) {
		const struct knob_setting often[] = { { KNOB_powerpc_cpumask_trim_timer,
							timer } };
		struct pw p;

		(void)state;
		pw_create(&p, 16, 2, often, 1);
		for (u32 i = 1; i <= 20; i++)
			assert_string_equal(flush_page(&p, 0), i % timer ? GLOBAL :
					    GIVE_UP " " LOCAL);
		pw_destroy(&p);
	}
}

/* Flushes of somebody else's mm: by a CPU that once ran it, and by one that never did. */
static void test_foreign(void **state)
{
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, NULL, 0);
	pw_run(&p, 0, p.w.kernel->init_mm);
	for (u32 i = 1; i < 1073; i++)
		assert_string_equal(flush_page(&p, 0), LOCAL);
	assert_string_equal(flush_page(&p, 0), "ptesync 128*tlbiel ptesync slbia");
	assert_int_equal(active(&p), 0);
	assert_string_equal(flush_page(&p, 0), "");
	pw_destroy(&p);

	pw_create(&p, 16, 1, NULL, 0);
	pw_run(&p, 0, p.w.kernel->init_mm);
	for (u32 i = 1; i < 1073; i++)
		assert_string_equal(flush_page(&p, 3), GLOBAL);
	assert_string_equal(flush_page(&p, 3), GIVE_UP);
	assert_int_equal(active(&p), 0);
	pw_destroy(&p);

	/* It is one of two that once ran it. */
	pw_create(&p, 16, 2, NULL, 0);
	pw_run(&p, 0, p.w.kernel->init_mm);
	pw_run(&p, 1, p.w.kernel->init_mm);
	for (u32 i = 1; i < 1073; i++)
		assert_string_equal(flush_page(&p, 0), GLOBAL);
	assert_string_equal(flush_page(&p, 0),
			    GIVE_UP " ptesync 128*tlbiel ptesync slbia");
	assert_int_equal(active(&p), 0);
	pw_destroy(&p);
}

/* An mm that ends is not trimmed for: a broadcast is cheaper than interrupts. */
static void test_fullmm(void **state)
{
	(void)state;
	for (s64 trim = CPUMASK_TRIM_SINGLE; trim <= CPUMASK_TRIM_1073; trim++) {
		const struct knob_setting knobs[] = {
			{ KNOB_powerpc_lazy_tlb_shootdown, 0 },
			{ KNOB_powerpc_cpumask_trim, trim },
		};
		struct mmu_gather tlb;
		struct pw p;

		pw_create(&p, 16, 2, knobs, 2);
		pw_run(&p, 1, p.w.kernel->init_mm);
		p.mm->mm_users.counter = 1;
		tlb = world_gather(p.mm, 0, 0, "m");
		pw_flush(&p, &tlb);
		assert_string_equal(fake_brief(p.w.fm), GLOBAL);
		assert_string_equal(flush_page(&p, 0), GIVE_UP " " LOCAL);
		pw_destroy(&p);
	}
}

static void add_copro(void *mm)
{
	mm_context_add_copro(mm);
}

static void remove_copro(void *mm)
{
	mm_context_remove_copro(mm);
}

static void test_copro(void **state)
{
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, NULL, 0);
	pw_as(&p, 0);
	fake_run(p.w.fm, 0, add_copro, p.mm);
	assert_int_equal(active(&p), 2);
	assert_string_equal(flush_page(&p, 0), GLOBAL);
	/* POWER9's nest MMU: RIC 0 by PID becomes 2. */
	fake_log_clear(p.w.fm);
	world_flush_mm(&p.w, 0, p.mm);
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIE, 0)->c & 3, 2);
	fake_log_clear(p.w.fm);
	fake_run(p.w.fm, 0, remove_copro, p.mm);
	assert_int_equal(nth(p.w.fm, MACH_PPC_TLBIE, 0)->c & 3, 2);
	assert_int_equal(active(&p), 1);
	assert_string_equal(flush_page(&p, 0), LOCAL);
	/* With one, the mask is not trimmed either, though the mm has one user. */
	pw_run(&p, 1, p.mm);
	pw_run(&p, 1, p.w.kernel->init_mm);
	p.mm->mm_users.counter = 1;
	fake_run(p.w.fm, 0, add_copro, p.mm);
	assert_string_equal(flush_page(&p, 0), GLOBAL);
	pw_destroy(&p);
}

/* ---- PIDs ---- */

static void exit_context(void *arg)
{
	struct mm_struct *mm = arg;

	arch_exit_mmap(mm);
}

static void test_pids(void **state)
{
	struct mm_struct *mm[3];
	struct prtb_entry *prtb;
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, NULL, 0);
	prtb = p.w.kernel->arch.process_tb;
	assert_int_equal(p.w.kernel->init_mm->context.id, 0);
	assert_int_equal(p.mm->context.id, 1);
	for (u32 i = 0; i < 3; i++) {
		mm[i] = world_mm(&p.w);
		assert_int_equal(mm[i]->context.id, 2 + i);
		/* 52 bits, 8192 entries at the root. */
		assert_int_equal(prtb[2 + i].prtb0,
				 0x40000000000000adUL | mm[i]->pgd_pfn << 16);
	}
	fake_run(p.w.fm, 0, exit_context, mm[1]);
	assert_int_equal(prtb[3].prtb0, 0);
	world_mm_free(&p.w, mm[1]);
	world_mm_free(&p.w, mm[0]);
	assert_int_equal(prtb[2].prtb0, 0);
	assert_int_equal(world_mm(&p.w)->context.id, 2);
	assert_int_equal(world_mm(&p.w)->context.id, 3);
	assert_int_equal(world_mm(&p.w)->context.id, 5);
	pw_destroy(&p);
}

static void fill_pids(void *arg)
{
	struct mm_struct *mm = arg;
	u32 n = 0;

	while (!init_new_context(NULL, mm))
		n++;
	mm->map_count = n;
	/* The first one that is free again is the next. */
	mm->context.id = 77;
	destroy_context(mm);
	if (init_new_context(NULL, mm))
		mm->map_count = 0;
}

static void test_no_pid_left(void **state)
{
	struct mm_struct mm = { .map_count = 0 };
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, NULL, 0);
	fake_run(p.w.fm, 0, fill_pids, &mm);
	/* Two are in use. */
	assert_int_equal(mm.map_count, 254);
	assert_int_equal(mm.context.id, 77);
	pw_destroy(&p);
}

/* ---- entries ---- */

struct entry_call {
	pte_t *pte, seen;
	struct vm_area_struct vma;
	bool changed;
};

static void do_entry(void *arg)
{
	struct entry_call *c = arg;
	pgprot_t rw = vm_get_page_prot(VM_READ | VM_WRITE | VM_SHARED);

	*c->pte = pfn_pte(5, rw);
	c->seen = ptep_modify_prot_start(&c->vma, HINT, c->pte);
}

static void do_widen(void *arg)
{
	struct entry_call *c = arg;
	pte_t entry = pte_mkwrite(pte_mkdirty(*c->pte));

	c->changed = ptep_set_access_flags(&c->vma, HINT, c->pte, entry, true);
}

static void test_entries(void **state)
{
	pte_t ro, rw, none, pte = { 0 };
	struct entry_call c = { .pte = &pte };
	struct pw p;

	(void)state;
	pw_create(&p, 16, 1, NULL, 0);
	c.vma.vm_mm = p.mm;
	pw_as(&p, 0);
	fake_run(p.w.fm, 0, do_entry, &c);
	/* Hardware finds it invalid, the kernel present; the rights are still there. */
	assert_int_equal(pte_val(pte) >> 61, 3);
	assert_true(pte_present(pte) && !pte_none(pte) && !pte_hw_valid(pte));
	assert_true(pte_hw_valid(c.seen));
	rw = c.seen;
	ro = pte_wrprotect(rw);
	none = __pte(pte_val(rw) & ~_PAGE_RWX);
	assert_false(pte_protnone(rw));
	assert_true(pte_protnone(none) && pte_present(none) && pte_hw_valid(none));
	assert_true(pte_needs_flush(rw, ro));
	assert_false(pte_needs_flush(ro, rw));
	assert_true(pte_needs_flush(ro, none));
	assert_true(pte_needs_flush(pte_mkdirty(rw), rw));
	assert_false(pte_needs_flush(rw, pte_mkold(rw)));
	assert_true(pte_needs_flush(rw, __pte(pte_val(rw) ^ 1UL << 16)));

	/* Rights are added without a flush, unless a coprocessor of POWER9 looks on. */
	pte = ro;
	fake_log_clear(p.w.fm);
	fake_run(p.w.fm, 0, do_widen, &c);
	assert_true(c.changed && pte_write(pte) && pte_dirty(pte));
	assert_string_equal(fake_brief(p.w.fm), "");
	fake_run(p.w.fm, 0, add_copro, p.mm);
	pte = ro;
	fake_log_clear(p.w.fm);
	fake_run(p.w.fm, 0, do_widen, &c);
	assert_true(c.changed && pte_write(pte) && pte_hw_valid(pte));
	assert_string_equal(fake_brief(p.w.fm), GLOBAL);
	pw_destroy(&p);
}

static void test_refused(void **state)
{
	struct world w;

	(void)state;
	world_create(&w, 1, 14, NULL, 0);
	assert_non_null(w.refused);
	world_destroy(&w);
}

const struct CMUnitTest tlbflush_tests[] = {
	cmocka_unit_test(test_flushes),
	cmocka_unit_test(test_call_range),
	cmocka_unit_test(test_nested),
	cmocka_unit_test(test_nested_1g),
	cmocka_unit_test(test_fixup_operands),
	cmocka_unit_test(test_range),
	cmocka_unit_test(test_4k),
	cmocka_unit_test(test_hcall),
	cmocka_unit_test(test_mask_stays),
	cmocka_unit_test(test_single_user),
	cmocka_unit_test(test_1073),
	cmocka_unit_test(test_trim_timer),
	cmocka_unit_test(test_foreign),
	cmocka_unit_test(test_fullmm),
	cmocka_unit_test(test_copro),
	cmocka_unit_test(test_pids),
	cmocka_unit_test(test_no_pid_left),
	cmocka_unit_test(test_entries),
	cmocka_unit_test(test_refused),
};
const size_t nr_tlbflush_tests = ARRAY_SIZE(tlbflush_tests);
