/* SPDX-License-Identifier: GPL-2.0-or-later */
/* core/arch/arm64: expected TLBIs, their operands decoded, and the ASID allocator. */
#include "tlbflush_world.h"

#define HINT 0x200000000000UL
#define KB 1024UL
#define MB (1024 * KB)
#define GB (1024 * MB)

static const struct gather_case gather_cases[] = {
	{ .name = "one page", .start = HINT, .size = 4 * KB, .fields = "3",
	  .expect = "dsb_ishst tlbi_vale1is dsb_ish" },
	{ .name = "below the limit", .start = HINT, .size = 511 * 4 * KB, .fields = "3",
	  .expect = "dsb_ishst 511*tlbi_vale1is dsb_ish" },
	{ .name = "at the limit", .start = HINT, .size = 512 * 4 * KB, .fields = "3",
	  .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },
	{ .name = "at the limit, before the split", .start = HINT, .size = 512 * 4 * KB,
	  .fields = "3",
	  .knobs = { { KNOB_arm64_range_overflow_sync, RANGE_OVERFLOW_SYNC_ONCE } },
	  .expect = "dsb_ishst tlbi_aside1is dsb_ish" },
	{ .name = "limit of 1024: at it", .start = HINT, .size = 1024 * 4 * KB,
	  .fields = "3", .knobs = { { KNOB_arm64_max_tlbi_ops, MAX_TLBI_OPS_1024 } },
	  .expect = "dsb_ishst 1024*tlbi_vale1is dsb_ish" },
	{ .name = "limit of 1024: above", .start = HINT, .size = 1025 * 4 * KB,
	  .fields = "3", .knobs = { { KNOB_arm64_max_tlbi_ops, MAX_TLBI_OPS_1024 } },
	  .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },
	{ .name = "a freed PTE table", .start = HINT, .size = 4 * KB, .fields = "2t",
	  .expect = "dsb_ishst tlbi_vae1is dsb_ish" },
	{ .name = "all tables freed", .start = HINT, .size = 4 * KB, .fields = "210t",
	  .expect = "dsb_ishst tlbi_vae1is dsb_ish" },
	{ .name = "eight blocks", .start = HINT, .size = 16 * MB, .fields = "2",
	  .expect = "dsb_ishst 8*tlbi_vale1is dsb_ish" },
	{ .name = "512 blocks", .start = HINT, .size = GB, .fields = "2",
	  .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },
	{ .name = "nine 1G blocks: above what is counted at all", .start = HINT,
	  .size = 9 * GB, .fields = "1",
	  .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },
	{ .name = "pages and tables", .start = HINT, .size = 2 * MB - 4 * KB,
	  .fields = "32t", .expect = "dsb_ishst 511*tlbi_vae1is dsb_ish" },
	{ .name = "fullmm: the ASID is not reused", .fields = "m3", .expect = "" },
	{ .name = "fullmm with tables", .fields = "mt",
	  .expect = "dsb_ishst tlbi_aside1is dsb_ish" },

	{ .name = "range: one page", .start = HINT, .size = 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_vale1is dsb_ish" },
	{ .name = "range: two", .start = HINT, .size = 8 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: 34", .start = HINT, .size = 34 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: 64", .start = HINT, .size = 64 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: 16", .start = HINT, .size = 16 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: 256", .start = HINT, .size = 256 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: 512", .start = HINT, .size = 512 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: odd", .start = HINT, .size = 35 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is tlbi_vale1is dsb_ish" },
	{ .name = "range: 66 is two digits", .start = HINT, .size = 66 * 4 * KB,
	  .fields = "3", .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst 2*tlbi_rvale1is dsb_ish" },
	{ .name = "range: a table", .start = HINT, .size = 4 * KB, .fields = "2t",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvae1is dsb_ish" },
	{ .name = "range: the most", .start = HINT, .size = 8 * GB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_rvale1is dsb_ish" },
	{ .name = "range: above", .start = HINT, .size = 8 * GB + 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_tlbirange, 1 } },
	  .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },

	{ .name = "KPTI", .start = HINT, .size = 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_kpti, 1 } },
	  .expect = "dsb_ishst 2*tlbi_vale1is dsb_ish" },
	{ .name = "KPTI, table", .start = HINT, .size = 4 * KB, .fields = "2t",
	  .knobs = { { KNOB_arm64_kpti, 1 } },
	  .expect = "dsb_ishst 2*tlbi_vae1is dsb_ish" },
	{ .name = "KPTI, mm", .fields = "mt", .knobs = { { KNOB_arm64_kpti, 1 } },
	  .expect = "dsb_ishst 2*tlbi_aside1is dsb_ish" },
	{ .name = "repeat, page", .start = HINT, .size = 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_repeat_tlbi, 1 } },
	  .expect = "dsb_ishst tlbi_vale1is dsb_ish tlbi_vale1is dsb_ish" },
	{ .name = "repeat, 64 pages", .start = HINT, .size = 64 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_repeat_tlbi, 1 } },
	  .expect = "dsb_ishst 64*tlbi_vale1is dsb_ish tlbi_vale1is dsb_ish" },
	{ .name = "repeat, table", .start = HINT, .size = 4 * KB, .fields = "2t",
	  .knobs = { { KNOB_arm64_repeat_tlbi, 1 } },
	  .expect = "dsb_ishst tlbi_vae1is dsb_ish tlbi_vale1is dsb_ish" },
	{ .name = "repeat, 512 pages", .start = HINT, .size = 512 * 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_repeat_tlbi, 1 },
		     { KNOB_arm64_range_overflow_sync, RANGE_OVERFLOW_SYNC_ONCE } },
	  .expect = "dsb_ishst tlbi_aside1is dsb_ish tlbi_vale1is dsb_ish" },
	{ .name = "repeat doubled", .start = HINT, .size = 8 * KB, .fields = "2t3",
	  .knobs = { { KNOB_arm64_repeat_tlbi, 1 },
		     { KNOB_arm64_repeat_tlbi_style, REPEAT_TLBI_DOUBLE } },
	  .expect = "dsb_ishst tlbi_vae1is dsb_ish 2*tlbi_vae1is dsb_ish "
		    "tlbi_vae1is dsb_ish" },

	{ .name = "not repeated", .start = HINT, .size = 4 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_repeat_tlbi, 1 },
		     { KNOB_arm64_repeat_tlbi_style, REPEAT_TLBI_NONE } },
	  .expect = "dsb_ishst tlbi_vale1is dsb_ish" },

	{ .name = "64K: 16 MiB of pages", .page_shift = 16, .start = HINT,
	  .size = 16 * MB, .fields = "3",
	  .expect = "dsb_ishst 256*tlbi_vale1is dsb_ish" },
	{ .name = "64K: 8192 pages", .page_shift = 16, .start = HINT, .size = 512 * MB,
	  .fields = "3", .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },
	{ .name = "64K: the same, limit of 1024", .page_shift = 16, .start = HINT,
	  .size = 1025 * 64 * KB, .fields = "3",
	  .knobs = { { KNOB_arm64_max_tlbi_ops, MAX_TLBI_OPS_1024 } },
	  .expect = "dsb_ishst tlbi_aside1is 2*dsb_ish" },
	{ .name = "64K: a freed PTE table", .page_shift = 16, .start = HINT,
	  .size = 64 * KB, .fields = "2t", .expect = "dsb_ishst tlbi_vae1is dsb_ish" },
};

static void test_gather(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gather_cases); i++)
		world_check_gather(&gather_cases[i]);
}

/* ---- operands ---- */

/* What one TLBI by address or range covers, decoded as the manual has it. */
struct cover {
	u64 start, pages, asid;
	int level;		/* -1: no hint */
	bool leaf;
};

static bool decode(const struct fake_event *ev, u32 page_shift, u64 stride, struct cover *c)
{
	bool range = ev->op == MACH_ARM64_TLBI_RVAE1IS || ev->op == MACH_ARM64_TLBI_RVALE1IS;
	u64 granule = page_shift == 12 ? 1 : 3;
	u64 xt = ev->a;

	if (ev->kind != FAKE_INSN)
		return false;
	*c = (struct cover){ .asid = xt >> 48, .level = -1 };
	c->leaf = ev->op == MACH_ARM64_TLBI_VALE1IS || ev->op == MACH_ARM64_TLBI_RVALE1IS;
	if (range) {
		assert_int_equal(xt >> 46 & 3, granule);
		c->start = (xt & ((1UL << 37) - 1)) << page_shift;
		c->pages = ((xt >> 39 & 31) + 1) << (5 * (xt >> 44 & 3) + 1);
		if (xt >> 37 & 3)
			c->level = xt >> 37 & 3;
	} else {
		c->start = (xt & ((1UL << 44) - 1)) << 12;
		c->pages = stride >> page_shift;
		if (xt >> 44 & 15) {
			assert_int_equal(xt >> 46 & 3, granule);
			c->level = xt >> 44 & 3;
		}
	}
	return true;
}

static const struct {
	const char *fields;
	int level;
} level_cases[] = {
	/* Not "0": 512 GiB is more than is ever flushed by address. */
	{ "3", 3 }, { "2", 2 }, { "1", 1 },
	{ "32", -1 }, { "210", -1 }, { "2t", -1 }, { "3t", -1 }, { "", -1 },
};

static void test_levels(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(level_cases) * 4; i++) {
		const char *fields = level_cases[i / 4].fields;
		const struct knob_setting knobs[] = {
			{ KNOB_arm64_ttl, i & 1 }, { KNOB_arm64_tlbirange, i >> 1 & 1 },
		};
		int level = level_cases[i / 4].level;
		struct mmu_gather tlb;
		struct mm_struct *mm;
		struct cover c;
		struct world w;

		world_create(&w, 1, 12, knobs, 2);
		mm = world_mm(&w);
		world_switch(&w, 0, mm);
		fake_log_clear(w.fm);
		tlb = world_gather(mm, HINT, 8 * KB, fields);
		world_tlb_flush(&w, 0, &tlb);
		assert_true(decode(&w.fm->log[1], 12, 4 * KB, &c));
		/* A range operation has a field of its own, without FEAT_TTL. */
		if (!(i & 1) && !(i & 2))
			level = -1;
		assert_int_equal(c.level, level);
		assert_int_equal(c.asid, 1);
		assert_int_equal(c.start, HINT);
		assert_int_equal(c.leaf, !strchr(fields, 't'));
		world_destroy(&w);
	}
}

/* One random range: the operations cover it, aligned to the stride, exactly and once. */
static void check_cover(struct world *w, struct mm_struct *mm, u32 page_shift, u64 *rnd)
{
	static const char *const levels[] = { "3", "2", "3t", "2t", "32" };
	const char *fields = levels[test_random(rnd) % ARRAY_SIZE(levels)];
	bool range = w->kernel->knobs[KNOB_arm64_tlbirange], kpti =
		w->kernel->knobs[KNOB_arm64_kpti];
	u64 page = 1UL << page_shift;
	u64 start = (test_random(rnd) >> 20) % (1UL << 44) & ~(page - 1);
	u64 pages = 1 + test_random(rnd) % (1UL << (1 + test_random(rnd) % 22));
	struct mmu_gather tlb = world_gather(mm, start, pages * page, fields);
	struct cover c;
	u64 stride, at, end;
	u32 ops = 0;

	fake_log_clear(w->fm);
	world_tlb_flush(w, 0, &tlb);
	if (fake_count(w->fm, FAKE_INSN, MACH_ARM64_TLBI_ASIDE1IS)) {
		assert_true(pages >= (range ? 1UL << 19 : 512));
		return;
	}
	/* The smallest page size cleared, 4K: 2M above; 64K: 512M. */
	stride = fields[0] == '2' ? 1UL << (2 * page_shift - 3) : page;
	at = start & ~(stride - 1);
	end = (start + pages * page + stride - 1) & ~(stride - 1);
	for (u32 i = 0; i < w->fm->nr_log; i++) {
		if (!decode(&w->fm->log[i], page_shift, range ? page : stride, &c))
			continue;
		ops++;
		assert_int_equal(c.leaf, !strchr(fields, 't'));
		assert_int_equal(c.start, at);
		assert_int_equal(c.asid & ~1UL, kpti ? 2 : 0);
		if (!kpti || (c.asid & 1))
			at += c.pages << page_shift;
	}
	assert_int_equal(at, end);
	if (range)
		assert_true(ops <= (kpti ? 10 : 5));
}

static void test_cover(void **state)
{
	u64 seed = 1;

	(void)state;
	for (u32 i = 0; i < 8; i++) {
		const struct knob_setting knobs[] = {
			{ KNOB_arm64_tlbirange, i & 1 }, { KNOB_arm64_kpti, i >> 1 & 1 },
			{ KNOB_arm64_ttl, i & 1 },
		};
		u32 page_shift = i & 4 ? 16 : 12;
		struct mm_struct *mm;
		struct world w;

		world_create(&w, 1, page_shift, knobs, 3);
		mm = world_mm(&w);
		world_switch(&w, 0, mm);
		for (u32 n = 0; n < 2000; n++)
			check_cover(&w, mm, page_shift, &seed);
		world_destroy(&w);
	}
}

/* A flush by VMA: walk caches, no hint, and the page's own without them. */
static void test_vma_flushes(void **state)
{
	const struct knob_setting ttl = { KNOB_arm64_ttl, 1 };
	struct mm_struct *mm;
	struct cover c;
	struct world w;

	(void)state;
	world_create(&w, 1, 12, &ttl, 1);
	mm = world_mm(&w);
	world_switch(&w, 0, mm);
	fake_log_clear(w.fm);
	world_flush_page(&w, 0, mm, HINT + 123);
	assert_string_equal(fake_brief(w.fm), "dsb_ishst tlbi_vale1is dsb_ish");
	assert_true(decode(&w.fm->log[1], 12, 4 * KB, &c));
	assert_int_equal(c.start, HINT);
	assert_int_equal(c.level, -1);
	fake_log_clear(w.fm);
	world_flush_range(&w, 0, mm, HINT, HINT + 8 * KB);
	assert_string_equal(fake_brief(w.fm), "dsb_ishst 2*tlbi_vae1is dsb_ish");
	assert_true(decode(&w.fm->log[2], 12, 4 * KB, &c));
	assert_int_equal(c.start, HINT + 4 * KB);
	assert_int_equal(c.level, -1);
	world_destroy(&w);
}

/* ---- ASIDs ----
 *
 * Each CPU's TLB as the owner of each ASID's entries. A CPU that translates under
 * an ASID must find its own or none.
 */

#define A_CPUS 6
#define A_MMS 400

struct asid_model {
	struct mm_struct *mm[A_MMS];
	int owner[A_CPUS][256];		/* index into mm + 1 */
	u32 asid[A_CPUS];		/* that applies; 0: init_mm */
	int running[A_CPUS];		/* index into mm + 1 */
};

static void asid_insn(struct fake_machine *fm, const struct fake_event *ev)
{
	struct asid_model *m = fm->priv;
	u64 pfn = (ev->a & ((1UL << 48) - 1)) >> 12;

	switch (ev->op) {
	case MACH_ARM64_TTBR0:
		m->asid[ev->cpu] = (u32)(ev->a >> 48);
		m->running[ev->cpu] = 0;
		for (int i = 0; i < A_MMS; i++)
			if (m->mm[i] && m->mm[i]->pgd_pfn == pfn)
				m->running[ev->cpu] = i + 1;
		break;
	case MACH_ARM64_TLBI_VMALLE1:
		memset(m->owner[ev->cpu], 0, sizeof(m->owner[ev->cpu]));
		break;
	}
}

static void asid_use(struct asid_model *m, u32 cpu)
{
	int *owner = &m->owner[cpu][m->asid[cpu]];

	assert_true(m->asid[cpu] < 256);
	assert_int_equal(!m->asid[cpu], !m->running[cpu]);
	if (!m->running[cpu])
		return;
	if (*owner)
		assert_int_equal(*owner, m->running[cpu]);
	*owner = m->running[cpu];
}

static void asid_run(bool kpti, u64 seed)
{
	const struct knob_setting knobs[] = {
		{ KNOB_arm64_asid_bits, 8 }, { KNOB_arm64_kpti, kpti },
	};
	struct asid_model *m = calloc(1, sizeof(*m));
	u64 rollovers = 0;
	struct world w;

	world_create(&w, A_CPUS, 12, knobs, 2);
	assert_null(w.refused);
	for (u32 i = 0; i < A_MMS; i++)
		m->mm[i] = world_mm(&w);
	w.fm->priv = m;
	w.fm->on_insn = asid_insn;
	for (u32 step = 0; step < 20000; step++) {
		/* Some CPUs switch rarely, so that rollovers overtake them. */
		u32 cpu = test_random(&seed) % 64;

		cpu = cpu < A_CPUS ? cpu : test_random(&seed) % 2;
		world_switch(&w, cpu, test_random(&seed) % 16 == 0 ? w.kernel->init_mm :
			     m->mm[test_random(&seed) % A_MMS]);
		for (cpu = 0; cpu < A_CPUS; cpu++) {
			asid_use(m, cpu);
			if (!m->running[cpu])
				continue;
			/* TLBIs for the mm reach what this CPU uses. */
			assert_int_equal(m->asid[cpu],
					 m->mm[m->running[cpu] - 1]->context.id.counter &
					 0xffff);
			world_exit_kernel(&w, cpu);
			asid_use(m, cpu);
			assert_int_equal(m->asid[cpu] & 1, kpti || (m->asid[cpu] & 1));
			world_enter_kernel(&w, cpu);
		}
		fake_log_clear(w.fm);
	}
	for (u32 cpu = 0; cpu < A_CPUS; cpu++)
		rollovers += w.kernel->cpu[cpu].stat[STAT_asid_rollover];
	assert_true(rollovers >= 10);
	assert_int_equal(rollovers, w.fm->charged[MACH_COST_ASID_ROLLOVER]);
	world_destroy(&w);
	free(m);
}

static void test_asids(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 3; seed++) {
		asid_run(false, seed);
		asid_run(true, seed);
	}
}

/* With few bits: all numbers but 0, one after the other, and then a rollover. */
static void test_few_asids(void **state)
{
	(void)state;
	for (s64 bits = 2; bits <= 9; bits++) {
		for (s64 kpti = 0; kpti <= 1; kpti++) {
			const struct knob_setting few[] = {
				{ KNOB_arm64_asid_bits, bits }, { KNOB_arm64_kpti, kpti },
			};
			u32 nr = (1U << (bits - kpti)) - 1;
			struct mm_struct *mm = NULL;
			struct world w;

			world_create(&w, 1, 12, few, 2);
			if (nr <= 1) {
				assert_non_null(w.refused);
				world_destroy(&w);
				continue;
			}
			for (u32 i = 1; i <= nr; i++) {
				mm = world_mm(&w);
				world_switch(&w, 0, mm);
				assert_int_equal(mm->context.id.counter & 0xffff, i << kpti);
			}
			assert_int_equal(w.kernel->cpu[0].stat[STAT_asid_rollover], 0);
			world_switch(&w, 0, world_mm(&w));
			assert_int_equal(w.kernel->cpu[0].stat[STAT_asid_rollover], 1);
			/* The last one ran, and keeps its number. */
			world_switch(&w, 0, mm);
			assert_int_equal(mm->context.id.counter & 0xffff, nr << kpti);
			world_destroy(&w);
		}
	}
}

static void test_asid_sequences(void **state)
{
	const struct knob_setting few = { KNOB_arm64_asid_bits, 8 };
	struct mm_struct *mm;
	struct world w;

	(void)state;
	world_create(&w, 1, 12, NULL, 0);
	mm = world_mm(&w);
	world_switch(&w, 0, mm);
	assert_string_equal(fake_brief(w.fm), "ttbr0 isb");
	assert_int_equal(w.fm->log[0].a, 1UL << 48 | mm->pgd_pfn << 12);
	fake_log_clear(w.fm);
	world_switch(&w, 0, w.kernel->init_mm);
	world_switch(&w, 0, mm);
	world_switch(&w, 0, mm);
	assert_string_equal(fake_brief(w.fm), "ttbr0 isb ttbr0 isb");
	world_destroy(&w);

	/* 256 mms need 256 ASIDs besides 0: the last makes a rollover. */
	world_create(&w, 1, 12, &few, 1);
	for (u32 i = 0; i < 255; i++)
		world_switch(&w, 0, world_mm(&w));
	assert_int_equal(w.kernel->cpu[0].stat[STAT_asid_rollover], 0);
	fake_log_clear(w.fm);
	world_switch(&w, 0, world_mm(&w));
	assert_int_equal(w.kernel->cpu[0].stat[STAT_asid_rollover], 1);
	assert_string_equal(fake_brief(w.fm),
			    "dsb_nshst tlbi_vmalle1 dsb_nsh isb ttbr0 isb");
	world_destroy(&w);

	world_create(&w, 255, 12, &few, 1);
	assert_non_null(w.refused);
	world_destroy(&w);
}

/* ---- entries ---- */

struct pte_call {
	struct mm_struct *mm;
	pte_t slot, entry;
	bool dirty, changed;
};

static void do_access_flags(void *arg)
{
	struct pte_call *c = arg;
	struct vm_area_struct vma = { .vm_mm = c->mm };

	c->changed = ptep_set_access_flags(&vma, HINT, &c->slot, c->entry, c->dirty);
}

static void do_wrprotect(void *arg)
{
	struct pte_call *c = arg;

	ptep_set_wrprotect(c->mm, HINT, &c->slot);
}

/*
 * Expressions of pgtable.h need the environment for PAGE_SHIFT, hence run on
 * the machine; results are checked outside.
 */
struct encodings {
	u64 shared, dirty, table, hw_dirty_protected, none_flags;
	u64 pfn;
	bool modify_keeps_dirty, protnone;
};

static void do_encode(void *arg)
{
	struct encodings *e = arg;
	pgprot_t prot = vm_get_page_prot(VM_READ | VM_WRITE | VM_SHARED);
	pte_t pte = pfn_pte(0x123, prot), none;

	e->shared = pte_val(pte);
	e->dirty = pte_val(pte_mkdirty(pte));
	e->pfn = pte_pfn(pte);
	pte = __pte(pte_val(pte) & ~PTE_RDONLY);	/* as hardware does */
	e->hw_dirty_protected = pte_val(pte_wrprotect(pte));
	none = pte_modify(pte, vm_get_page_prot(0));
	e->protnone = pte_protnone(none) && pte_present(none) && !pte_valid(none);
	e->modify_keeps_dirty = pte_dirty(none) && pte_pfn(none) == 0x123;
	e->none_flags = pte_val(none) & 3;
}

static void test_pte(void **state)
{
	struct encodings e = { 0 };
	struct pte_call c = { 0 };
	struct world w;

	(void)state;
	for (u32 shift = 12; shift <= 16; shift += 4) {
		u64 addr = 0x123UL << shift;

		world_create(&w, 1, shift, NULL, 0);
		fake_run(w.fm, 0, do_encode, &e);
		assert_int_equal(e.shared, addr | 0x68000000000fc3UL);
		assert_int_equal(e.dirty, addr | 0xe8000000000f43UL);
		assert_int_equal(e.pfn, 0x123);
		assert_int_equal(e.hw_dirty_protected, addr | 0xe0000000000fc3UL);
		assert_true(e.protnone && e.modify_keeps_dirty);
		assert_int_equal(e.none_flags, 2);

		c.mm = world_mm(&w);
		c.slot = c.entry = __pte(e.shared);
		fake_log_clear(w.fm);
		c.dirty = true;
		fake_run(w.fm, 0, do_access_flags, &c);
		assert_false(c.changed);
		assert_string_equal(fake_brief(w.fm), "");
		c.entry = __pte(e.dirty);
		fake_run(w.fm, 0, do_access_flags, &c);
		assert_true(c.changed);
		assert_int_equal(pte_val(c.slot), e.dirty);
		assert_string_equal(fake_brief(w.fm), "dsb_ishst tlbi_vale1is dsb_ish");
		/* A read fault widens, but does not flush. */
		fake_log_clear(w.fm);
		c.slot = __pte(e.shared & ~PTE_AF);
		c.entry = __pte(e.shared);
		c.dirty = false;
		fake_run(w.fm, 0, do_access_flags, &c);
		assert_int_equal(pte_val(c.slot), e.shared);
		assert_string_equal(fake_brief(w.fm), "");
		c.slot = __pte(e.shared & ~PTE_RDONLY);
		fake_run(w.fm, 0, do_wrprotect, &c);
		assert_int_equal(pte_val(c.slot), e.hw_dirty_protected);
		world_destroy(&w);
	}
}

static void test_tables(void **state)
{
	static const u32 page_shifts[] = { 12, 16, 0 };

	(void)state;
	world_check_tables(page_shifts, NULL, 0);
}

static void do_set_pmd(void *arg)
{
	pmd_t *pmd = arg;

	set_pmd(pmd, __pmd(PMD_TYPE_TABLE));
	pmd_clear(pmd);
}

static void test_table_sync(void **state)
{
	const struct knob_setting none = { KNOB_arm64_set_table_sync, SET_TABLE_SYNC_NONE };
	pmd_t pmd = { 0 };
	struct world w;

	(void)state;
	world_create(&w, 1, 12, &none, 1);
	fake_run(w.fm, 0, do_set_pmd, &pmd);
	assert_string_equal(fake_brief(w.fm), "");
	world_destroy(&w);
	world_create(&w, 1, 12, NULL, 0);
	fake_run(w.fm, 0, do_set_pmd, &pmd);
	assert_string_equal(fake_brief(w.fm), "dsb_ishst isb");
	world_destroy(&w);
}

const struct CMUnitTest tlbflush_tests[] = {
	cmocka_unit_test(test_gather),
	cmocka_unit_test(test_levels),
	cmocka_unit_test(test_cover),
	cmocka_unit_test(test_vma_flushes),
	cmocka_unit_test(test_asids),
	cmocka_unit_test(test_few_asids),
	cmocka_unit_test(test_asid_sequences),
	cmocka_unit_test(test_pte),
	cmocka_unit_test(test_tables),
	cmocka_unit_test(test_table_sync),
};
const size_t nr_tlbflush_tests = ARRAY_SIZE(tlbflush_tests);
