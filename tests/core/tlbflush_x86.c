/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core/arch/x86: expected invalidations, and a model TLB that checks their effect. */
#include "tlbflush_world.h"

#define HINT 0x200000000000UL
#define KB 1024UL
#define MB (1024 * KB)

static const struct gather_case gather_cases[] = {
	{ .name = "one page", .start = HINT, .size = 4 * KB, .fields = "3",
	  .expect = "invlpg" },
	{ .name = "at the ceiling", .start = HINT, .size = 33 * 4 * KB, .fields = "3",
	  .expect = "33*invlpg" },
	{ .name = "above the ceiling", .start = HINT, .size = 34 * 4 * KB, .fields = "3",
	  .expect = "cr3" },
	{ .name = "ceiling of one", .start = HINT, .size = 8 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_tlb_single_page_flush_ceiling, 1 } }, .expect = "cr3" },
	{ .name = "ceiling of zero", .start = HINT, .size = 4 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_tlb_single_page_flush_ceiling, 0 } }, .expect = "cr3" },
	{ .name = "a freed PTE table", .start = HINT, .size = 4 * KB, .fields = "2t",
	  .expect = "invlpg" },
	{ .name = "eight 2M leaves", .start = HINT, .size = 16 * MB, .fields = "2",
	  .expect = "8*invlpg" },
	{ .name = "33 2M leaves", .start = HINT, .size = 66 * MB, .fields = "2",
	  .expect = "33*invlpg" },
	{ .name = "34 2M leaves", .start = HINT, .size = 68 * MB, .fields = "2",
	  .expect = "cr3" },
	{ .name = "pages and tables step by pages", .start = HINT, .size = 16 * MB,
	  .fields = "32t", .expect = "cr3" },
	{ .name = "all tables freed", .start = HINT, .size = 4 * KB, .fields = "210t",
	  .expect = "invlpg" },
	{ .name = "fullmm", .fields = "m3t", .expect = "cr3" },
	{ .name = "fullmm, no tables", .fields = "m3", .expect = "cr3" },
	{ .name = "need_flush_all", .start = HINT, .size = 4 * KB, .fields = "3a",
	  .expect = "cr3" },
	{ .name = "no PCID", .start = HINT, .size = 8 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_pcid, 0 } }, .expect = "2*invlpg" },
	{ .name = "PTI", .start = HINT, .size = 8 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_pti, 1 } }, .expect = "invlpg invpcid invlpg invpcid" },
	{ .name = "PTI without INVPCID: the user PCID is left for the exit",
	  .start = HINT, .size = 8 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_pti, 1 }, { KNOB_x86_invpcid, 0 } },
	  .expect = "2*invlpg" },
	{ .name = "PTI without PCID", .start = HINT, .size = 8 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_pti, 1 }, { KNOB_x86_pcid, 0 } }, .expect = "2*invlpg" },
	{ .name = "PTI, full", .start = HINT, .size = 34 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_x86_pti, 1 } }, .expect = "cr3" },
};

static void test_gather(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gather_cases); i++)
		world_check_gather(&gather_cases[i]);
}

static void expect(struct world *w, const char *what, const char *text)
{
	if (strcmp(fake_brief(w->fm), text))
		fail_msg("%s: expected [%s], got [%s]", what, text, fake_brief(w->fm));
	fake_log_clear(w->fm);
}

/* Four CPUs on one mm; what the others do decides who is interrupted. */
static void test_ipi(void **state)
{
	struct mm_struct *mm, *other;
	struct mmu_gather tables;
	struct world w;

	(void)state;
	world_create(&w, 4, 12, NULL, 0);
	mm = world_mm(&w);
	other = world_mm(&w);
	tables = world_gather(mm, HINT, 4 * KB, "2t");
	for (u32 cpu = 0; cpu < 4; cpu++)
		world_switch(&w, cpu, mm);
	fake_log_clear(w.fm);

	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "all run it", "invlpg ipi invlpg ipi invlpg ipi invlpg");

	world_lazy(&w, 3);
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "one is lazy", "invlpg ipi invlpg ipi invlpg");
	world_switch(&w, 3, mm);
	expect(&w, "back from lazy, stale", "cr3");
	world_lazy(&w, 3);
	world_switch(&w, 3, mm);
	expect(&w, "back from lazy, nothing missed", "");

	world_lazy(&w, 3);
	world_tlb_flush(&w, 0, &tables);
	expect(&w, "a lazy one gives up freed tables",
	       "invlpg ipi invlpg ipi invlpg ipi cr3_noflush");
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "it left the mask", "invlpg ipi invlpg ipi invlpg");

	world_switch(&w, 2, other);
	expect(&w, "switch to a new mm", "cr3");
	world_tlb_flush(&w, 0, &tables);
	expect(&w, "two left", "invlpg ipi invlpg");
	world_switch(&w, 2, mm);
	expect(&w, "its slot is stale", "cr3");
	world_switch(&w, 2, other);
	expect(&w, "the other's is not", "cr3_noflush");

	world_flush_mm(&w, 3, mm);
	expect(&w, "from outside", "ipi cr3 ipi cr3");
	world_switch(&w, 1, other);
	fake_log_clear(w.fm);
	world_switch(&w, 0, other);
	fake_log_clear(w.fm);
	world_flush_mm(&w, 3, mm);
	expect(&w, "nobody runs it", "");
	world_destroy(&w);
}

static void test_lazy_knob(void **state)
{
	const struct knob_setting off = { KNOB_x86_freed_tables_lazy_ipi, 0 };
	struct mmu_gather tables;
	struct mm_struct *mm;
	struct world w;

	(void)state;
	world_create(&w, 2, 12, &off, 1);
	mm = world_mm(&w);
	tables = world_gather(mm, HINT, 4 * KB, "2t");
	world_switch(&w, 0, mm);
	world_switch(&w, 1, mm);
	world_lazy(&w, 1);
	fake_log_clear(w.fm);
	world_tlb_flush(&w, 0, &tables);
	expect(&w, "lazy CPUs are left alone", "invlpg");
	world_destroy(&w);
}

/* A CPU between two mms is in doubt, hence flushed. */
static void test_switching(void **state)
{
	struct mm_struct *mm, *other;
	struct world w;

	(void)state;
	for (s64 filter = IPI_FILTER_LAZY; filter <= IPI_FILTER_LOADED_MM; filter++) {
		const struct knob_setting knob = { KNOB_x86_ipi_filter, filter };

		world_create(&w, 2, 12, &knob, 1);
		mm = world_mm(&w);
		other = world_mm(&w);
		world_switch(&w, 0, mm);
		world_switch(&w, 1, mm);
		fake_log_clear(w.fm);
		w.kernel->cpu[1].arch.loaded_mm = LOADED_MM_SWITCHING;
		world_flush_page(&w, 0, mm, HINT);
		expect(&w, "switching", "invlpg ipi");
		/* As seen in the window before its bit is cleared. */
		w.kernel->cpu[1].arch.loaded_mm = other;
		world_flush_page(&w, 0, mm, HINT);
		expect(&w, "bit still set, another mm loaded",
		       filter == IPI_FILTER_LAZY ? "invlpg ipi" : "invlpg");
		world_destroy(&w);
	}
}

/* Another CPU has asked for a flush of priv; its interrupts are still on their way. */
static void another_request(struct fake_machine *fm, u32 target)
{
	struct mm_struct *mm = fm->priv;

	(void)target;
	mm->context.tlb_gen.counter++;
}

/* Who has missed a generation flushes everything, and then nothing twice. */
static void test_generations(void **state)
{
	struct mm_struct *mm;
	struct world w;
	u64 *vmstat;

	(void)state;
	world_create(&w, 2, 12, NULL, 0);
	mm = world_mm(&w);
	world_switch(&w, 0, mm);
	vmstat = w.kernel->cpu[0].stat;
	fake_log_clear(w.fm);
	mm->context.tlb_gen.counter++;	/* another's flush, on its way */
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "one missed", "cr3");
	assert_int_equal(vmstat[STAT_tlb_local_flush_all], 1);
	world_flush_range(&w, 0, mm, HINT, HINT + 12 * KB);
	expect(&w, "caught up", "3*invlpg");
	assert_int_equal(vmstat[STAT_tlb_local_flush_one], 3);
	/* Already beyond what is asked for. */
	w.kernel->cpu[0].arch.ctxs[w.kernel->cpu[0].arch.loaded_mm_asid].tlb_gen++;
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "nothing to do", "");
	world_destroy(&w);

	world_create(&w, 2, 12, NULL, 0);
	mm = world_mm(&w);
	world_switch(&w, 0, mm);
	world_switch(&w, 1, mm);
	fake_log_clear(w.fm);
	w.fm->priv = mm;
	w.fm->on_ipi = another_request;
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "a later one is coming: take both at once", "invlpg ipi cr3");
	w.fm->on_ipi = NULL;
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "then only the first has missed one", "cr3 ipi invlpg");
	world_destroy(&w);
}

static void test_slots(void **state)
{
	struct mm_struct *mm[TLB_NR_DYN_ASIDS + 1];
	struct world w;

	(void)state;
	world_create(&w, 1, 12, NULL, 0);
	for (u32 i = 0; i < ARRAY_SIZE(mm); i++)
		mm[i] = world_mm(&w);
	/* init_mm has one slot. */
	for (u32 i = 0; i < TLB_NR_DYN_ASIDS - 1; i++)
		world_switch(&w, 0, mm[i]);
	expect(&w, "five new ones", "5*cr3");
	for (u32 i = 0; i < TLB_NR_DYN_ASIDS - 1; i++)
		world_switch(&w, 0, mm[i]);
	expect(&w, "all kept", "5*cr3_noflush");
	world_switch(&w, 0, mm[5]);
	world_switch(&w, 0, mm[6]);
	expect(&w, "two evict init_mm and the first", "2*cr3");
	world_switch(&w, 0, mm[5]);
	world_switch(&w, 0, mm[0]);
	expect(&w, "the first was evicted", "cr3_noflush cr3");
	world_destroy(&w);
}

static void test_pti_crossings(void **state)
{
	struct knob_setting knobs[] = { { KNOB_x86_pti, 1 }, { KNOB_x86_invpcid, 0 } };
	struct mm_struct *mm;
	struct world w;

	(void)state;
	world_create(&w, 2, 12, knobs, 2);
	mm = world_mm(&w);
	world_switch(&w, 0, mm);
	world_switch(&w, 1, mm);
	fake_log_clear(w.fm);
	world_exit_kernel(&w, 0);
	expect(&w, "first exit: the switch marked it", "cr3");
	world_enter_kernel(&w, 0);
	world_exit_kernel(&w, 0);
	world_enter_kernel(&w, 0);
	world_enter_kernel(&w, 0);
	expect(&w, "nothing to flush", "3*cr3_noflush");

	world_exit_kernel(&w, 1);
	fake_log_clear(w.fm);
	world_flush_page(&w, 0, mm, HINT);
	expect(&w, "the other was in user mode",
	       "invlpg ipi cr3_noflush invlpg cr3");
	world_exit_kernel(&w, 0);
	expect(&w, "our own deferred flush", "cr3");
	assert_int_equal(w.fm->log[0].cpu, 0);
	world_destroy(&w);
}

/* ---- a model TLB ----
 *
 * Every page of an mm has a version, which stands for its entry. A change of an entry
 * is a new version and then a flush. A CPU that translates may use what its TLB
 * holds under the current PCID, and it must be the current version.
 */

#define M_CPUS 4
#define M_MMS 8
#define M_PAGES 40
/* INVLPGBs of a CPU since its last TLBSYNC. */
#define M_PENDING 64

struct model {
	struct mm_struct *mm[M_MMS];
	u32 version[M_MMS][M_PAGES];
	bool pcid, pti, broadcast;
	u32 broadcasts;			/* TLBSYNCs */
	struct world *w;
	u64 rnd;			/* of the interleaving */
	u32 busy;			/* CPUs that wait for their own IPIs */
	u32 overtaken;
	struct {
		int mm;			/* -1: init_mm */
		u32 pcid;
		bool user, lazy;
		struct fake_event pending[M_PENDING];
		u32 nr_pending;
		/* by PCID: 0-7 kernel's, 8-15 user's or global ASIDs'. 0: no entry */
		u32 version[16][M_PAGES];
		int owner[16][M_PAGES];
	} cpu[M_CPUS];
};

static u32 pcid_index(const struct model *m, u64 pcid)
{
	if (m->broadcast) {
		assert_true(pcid < 16);
		return (u32)pcid;
	}
	assert_true((pcid & 0x7ff) < 8);
	return (u32)((pcid & 7) | (pcid >> 11) << 3);
}

static void model_cr3(struct model *m, u32 cpu, u64 cr3, bool flush)
{
	u64 pfn = cr3 >> 12 & 0xffffff;

	m->cpu[cpu].user = m->pti && (pfn & 1);
	if (m->pti)
		pfn &= ~1UL;
	m->cpu[cpu].mm = -1;
	for (int i = 0; i < M_MMS; i++)
		if (m->mm[i]->pgd_pfn == pfn)
			m->cpu[cpu].mm = i;
	m->cpu[cpu].pcid = pcid_index(m, cr3 & 0xfff);
	if (!flush)
		return;
	if (m->pcid)
		memset(m->cpu[cpu].version[m->cpu[cpu].pcid], 0, sizeof(u32) * M_PAGES);
	else
		memset(m->cpu[cpu].version, 0, sizeof(m->cpu[cpu].version));
}

/* Whatever the PCID means on each CPU. */
static void model_invlpgb(struct model *m, const struct fake_event *ev)
{
	u32 pcid = (u32)(ev->b >> 16 & 0xfff), first = 0, n = M_PAGES;

	if (!(ev->a & MACH_X86_INVLPGB_PCID)) {
		assert_false(ev->a & MACH_X86_INVLPGB_VA);
		for (u32 cpu = 0; cpu < M_CPUS; cpu++)
			memset(m->cpu[cpu].version, 0, sizeof(m->cpu[cpu].version));
		return;
	}
	if (ev->a & MACH_X86_INVLPGB_VA) {
		first = (u32)(((ev->a & ~0xfffUL) - HINT) >> 12);
		n = (ev->c & 0xffff) + 1;
	}
	for (u32 cpu = 0; cpu < M_CPUS; cpu++)
		for (u32 page = first; page < first + n && page < M_PAGES; page++)
			m->cpu[cpu].version[pcid_index(m, pcid)][page] = 0;
}

static void model_tlbsync(struct model *m, u32 cpu)
{
	for (u32 i = 0; i < m->cpu[cpu].nr_pending; i++)
		model_invlpgb(m, &m->cpu[cpu].pending[i]);
	m->cpu[cpu].nr_pending = 0;
	m->broadcasts++;
}

static void model_insn(struct fake_machine *fm, const struct fake_event *ev)
{
	struct model *m = fm->priv;
	u64 page = (ev->a - HINT) >> 12;

	switch (ev->op) {
	case MACH_X86_INVLPG:
		if (page < M_PAGES)
			m->cpu[ev->cpu].version[m->cpu[ev->cpu].pcid][page] = 0;
		break;
	case MACH_X86_INVPCID:
		if (page < M_PAGES)
			m->cpu[ev->cpu].version[pcid_index(m, ev->b)][page] = 0;
		break;
	case MACH_X86_CR3:
	case MACH_X86_CR3_NOFLUSH:
		model_cr3(m, ev->cpu, ev->a, ev->op == MACH_X86_CR3);
		break;
	case MACH_X86_INVLPGB:
		assert_true(m->cpu[ev->cpu].nr_pending < M_PENDING);
		m->cpu[ev->cpu].pending[m->cpu[ev->cpu].nr_pending++] = *ev;
		break;
	case MACH_X86_TLBSYNC:
		model_tlbsync(m, ev->cpu);
		break;
	}
}

/* cpu translates everything that it can; true if all of it is right. */
static bool model_use(struct model *m, u32 cpu)
{
	u32 pcid = m->cpu[cpu].pcid;
	int mm = m->cpu[cpu].mm;
	bool ok = true;

	for (u32 page = 0; mm >= 0 && page < M_PAGES; page++) {
		u32 *version = &m->cpu[cpu].version[pcid][page];
		int *owner = &m->cpu[cpu].owner[pcid][page];

		if (*version)
			ok &= *owner == mm && *version == m->version[mm][page];
		else
			*version = m->version[mm][page], *owner = mm;
	}
	/* What a lazy CPU holds is speculation: it is not used before the switch back. */
	return ok || m->cpu[cpu].lazy;
}

/* With broadcasts one of few, so that it is on all CPUs now and then. */
static u32 model_mm(const struct model *m, u64 *rnd)
{
	return test_random(rnd) % (m->broadcast ? 2 : M_MMS);
}

/* What reclaim does with one page of each of some mms, as its task. */
struct model_batch {
	struct model *m;
	u32 page, mms;
};

static void model_batch(void *arg)
{
	struct arch_tlbflush_unmap_batch batch = { 0 };
	struct model_batch *b = arg;

	for (u32 mm = 0; mm < M_MMS; mm++) {
		if (!(b->mms >> mm & 1))
			continue;
		b->m->version[mm][b->page]++;
		arch_tlbbatch_add_pending(&batch, b->m->mm[mm], HINT + b->page * 4 * KB);
	}
	arch_tlbbatch_flush(&batch);
}

static void model_change(struct world *w, struct model *m, u32 cpu, u64 *rnd)
{
	u32 mm = model_mm(m, rnd), first = test_random(rnd) % M_PAGES;
	u32 n = 1 + test_random(rnd) % (M_PAGES - first), kind = test_random(rnd) % 5;
	struct model_batch batch = { m, first, 1U << mm | (u32)(test_random(rnd) % (1 << M_MMS)) };
	struct mmu_gather tlb;

	if (kind == 4) {
		fake_run(w->fm, cpu, model_batch, &batch);
		return;
	}
	if (kind == 0)
		n = 1;
	for (u32 page = first; page < first + n; page++)
		m->version[mm][page]++;
	switch (kind) {
	case 0:
		world_flush_page(w, cpu, m->mm[mm], HINT + first * 4 * KB);
		break;
	case 1:
		world_flush_range(w, cpu, m->mm[mm], HINT + first * 4 * KB,
				  HINT + (first + n) * 4 * KB);
		break;
	case 2:
		world_flush_mm(w, cpu, m->mm[mm]);
		break;
	default:
		tlb = world_gather(m->mm[mm], HINT + first * 4 * KB, n * 4 * KB,
				   test_random(rnd) % 2 ? "3" : "32t");
		world_tlb_flush(w, cpu, &tlb);
	}
}

/*
 * Between the interrupts of one flush, another CPU changes and flushes
 * something, too. So a CPU can get the later request first, and a flusher the
 * other's interrupt.
 */
static void model_ipi(struct fake_machine *fm, u32 target)
{
	struct model *m = fm->priv;
	u32 self = fm->env->cpu, other = test_random(&m->rnd) % M_CPUS;
	u32 busy = m->busy;
	bool user;

	(void)target;
	m->busy |= 1U << self;
	if (!(m->busy >> other & 1) && test_random(&m->rnd) % 2) {
		user = m->cpu[other].user;
		m->overtaken++;
		world_enter_kernel(m->w, other);
		model_change(m->w, m, other, &m->rnd);
		if (user)
			world_exit_kernel(m->w, other);
	}
	m->busy = busy;
}

static void model_step(struct world *w, struct model *m, u64 *rnd)
{
	u32 cpu = test_random(rnd) % M_CPUS, mm = model_mm(m, rnd);

	switch (test_random(rnd) % 8) {
	case 0: case 1:
		m->cpu[cpu].lazy = false;
		world_switch(w, cpu, m->mm[mm]);
		break;
	case 2:
		m->cpu[cpu].lazy = true;
		world_lazy(w, cpu);
		break;
	case 3:
		m->cpu[cpu].lazy = false;
		world_switch(w, cpu, w->loaded[cpu]);
		break;
	default:
		model_change(w, m, cpu, rnd);
	}
	fake_log_clear(w->fm);
}

/* Returns how many flushes were broadcast. */
static u32 model_run(u32 features, u64 seed)
{
	const struct knob_setting knobs[] = {
		{ KNOB_x86_pcid, features & 1 },
		{ KNOB_x86_invpcid, features >> 1 & 1 },
		{ KNOB_x86_pti, features >> 2 & 1 },
		{ KNOB_x86_ipi_filter, features >> 3 & 1 },
		{ KNOB_x86_invlpgb, features >> 4 & 1 },
		{ KNOB_x86_broadcast_flush, features >> 4 & 1 },
		{ KNOB_x86_invlpgb_count_max, 7 },
		/* Soon, and few: they wrap. */
		{ KNOB_x86_global_asid_cpus, features >> 5 & 1 ? 1 : 3 },
		{ KNOB_x86_global_asid_every, features >> 5 & 1 ? 2 : 32 },
		{ KNOB_x86_global_asid_last, features >> 5 & 1 ? TLB_NR_DYN_ASIDS + 1 :
							       MAX_ASID_AVAILABLE - 1 },
	};
	struct model *m = calloc(1, sizeof(*m));
	u32 broadcasts;
	struct world w;

	world_create(&w, M_CPUS, 12, knobs, 7);
	m->broadcast = features >> 4 & 1;
	m->pcid = features & 1;
	m->pti = features >> 2 & 1;
	for (u32 i = 0; i < M_MMS; i++) {
		m->mm[i] = world_mm(&w);
		for (u32 page = 0; page < M_PAGES; page++)
			m->version[i][page] = 1;
	}
	for (u32 cpu = 0; cpu < M_CPUS; cpu++)
		m->cpu[cpu].mm = -1;
	m->w = &w;
	m->rnd = seed;
	w.fm->priv = m;
	w.fm->on_insn = model_insn;
	w.fm->on_ipi = model_ipi;

	for (u32 step = 0; step < 2000; step++) {
		model_step(&w, m, &seed);
		for (u32 cpu = 0; cpu < M_CPUS; cpu++) {
			/* In the kernel, then in user mode. */
			assert_true(model_use(m, cpu));
			if (m->cpu[cpu].lazy || m->cpu[cpu].mm < 0)
				continue;
			world_exit_kernel(&w, cpu);
			assert_true(m->cpu[cpu].user == m->pti);
			assert_true(model_use(m, cpu));
		}
		/* A flush by CPU 0 while others are in user mode. */
		world_enter_kernel(&w, 0);
		model_change(&w, m, 0, &seed);
		for (u32 cpu = 0; cpu < M_CPUS; cpu++) {
			assert_true(model_use(m, cpu));
			world_enter_kernel(&w, cpu);
		}
		fake_log_clear(w.fm);
	}
	/* Interrupts are for the transition only. */
	assert_true(m->overtaken > (m->broadcast ? 0 : 100));
	assert_true(m->broadcast || !m->broadcasts);
	broadcasts = m->broadcasts;
	world_destroy(&w);
	free(m);
	return broadcasts;
}

static void test_model(void **state)
{
	u32 broadcasts = 0;

	(void)state;
	for (u32 features = 0; features < 16; features++)
		model_run(features, features + 1);
	/* With PCID, with INVPCID, without PTI; both filters. */
	for (u64 seed = 1; seed <= 4; seed++)
		broadcasts += model_run(0x13, seed) + model_run(0x1b, seed) +
			      model_run(0x33, seed);
	assert_true(broadcasts > 1000);
}

/* ---- entries ---- */

static void test_pte(void **state)
{
	pte_t pte, clean, ro;
	struct world w;

	(void)state;
	world_create(&w, 1, 12, NULL, 0);
	clean = pfn_pte(0x12345, vm_get_page_prot(VM_READ | VM_WRITE | VM_SHARED));
	assert_int_equal(pte_val(clean), 0x8000000012345027UL);
	pte = pte_mkdirty(clean);
	assert_int_equal(pte_val(pte), 0x8000000012345067UL);
	assert_int_equal(pte_pfn(pte), 0x12345);
	ro = pfn_pte(1, vm_get_page_prot(VM_READ | VM_WRITE));
	assert_false(pte_write(ro));
	assert_true(pte_write(pte_mkwrite(ro)));

	assert_true(pte_needs_flush(pte, pte_wrprotect(pte)));
	assert_true(pte_needs_flush(ro, pte_mkwrite(ro)));
	assert_true(pte_needs_flush(pte, clean));
	assert_false(pte_needs_flush(clean, pte));
	assert_false(pte_needs_flush(pte, pte_mkold(pte)));
	assert_false(pte_needs_flush(__pte(0), pte));
	assert_true(pte_needs_flush(pte, __pte(0)));
	assert_true(pte_needs_flush(pte, pfn_pte(2, __pgprot(pte_flags(pte)))));

	pte = pte_modify(pte, vm_get_page_prot(0));
	assert_true(pte_present(pte) && pte_protnone(pte) && pte_dirty(pte));
	assert_false(pte_needs_flush(pte, clean));
	world_destroy(&w);
}

static void test_tables(void **state)
{
	static const u32 page_shifts[] = { 12, 0 };
	const struct knob_setting pti = { KNOB_x86_pti, 1 };

	(void)state;
	world_check_tables(page_shifts, NULL, 0);
	world_check_tables(page_shifts, &pti, 1);
}

struct twin_call {
	struct mm_struct *mm;
	u64 kernel, user;
};

static void do_twin(void *arg)
{
	struct twin_call *c = arg;

	set_p4d((p4d_t *)&c->mm->pgd[3], __p4d(0x7067));
	c->kernel = c->mm->pgd[3].pgd;
	c->user = c->mm->pgd[512 + 3].pgd;
}

/* User mode has the entry as it is, the kernel's tables have it with XD. */
static void test_twin(void **state)
{
	const struct knob_setting pti = { KNOB_x86_pti, 1 };
	struct twin_call c;
	struct world w;

	(void)state;
	world_create(&w, 1, 12, &pti, 1);
	c.mm = world_mm(&w);
	assert_int_equal(c.mm->pgd_pfn % 2, 0);
	fake_run(w.fm, 0, do_twin, &c);
	assert_int_equal(c.user, 0x7067);
	assert_int_equal(c.kernel, 0x7067 | 1UL << 63);
	world_destroy(&w);
}

const struct CMUnitTest tlbflush_tests[] = {
	cmocka_unit_test(test_gather),
	cmocka_unit_test(test_ipi),
	cmocka_unit_test(test_lazy_knob),
	cmocka_unit_test(test_switching),
	cmocka_unit_test(test_generations),
	cmocka_unit_test(test_slots),
	cmocka_unit_test(test_pti_crossings),
	cmocka_unit_test(test_model),
	cmocka_unit_test(test_pte),
	cmocka_unit_test(test_tables),
	cmocka_unit_test(test_twin),
};
const size_t nr_tlbflush_tests = ARRAY_SIZE(tlbflush_tests);
