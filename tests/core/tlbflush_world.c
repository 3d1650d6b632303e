/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tlbflush_world.h"

struct call {
	struct world *w;
	struct mm_struct *mm;
	u64 start, end;
	const struct mmu_gather *tlb;
	const struct knob_setting *knobs;
	u32 nr_knobs;
};

static void do_boot(void *arg)
{
	struct call *c = arg;
	struct kernel *k = c->w->kernel;

	mach_env()->core = k;
#define X(id) k->knobs[KNOB_##id] = knob_##id.def;
	ARCH_KNOBS(X)
#undef X
	for (u32 i = 0; i < c->nr_knobs; i++)
		if (c->knobs[i].knob)
			k->knobs[c->knobs[i].knob] = c->knobs[i].value;
	arch_init_geometry(&k->geo);
	k->memmap = kzalloc(mach_env()->nr_frames * sizeof(*k->memmap));
	c->w->refused = arch_boot();
	if (c->w->refused)
		return;
	k->init_mm = kzalloc(sizeof(*k->init_mm));
	if (pgd_alloc(k->init_mm) || init_new_context(NULL, k->init_mm))
		abort();
}

static void do_online(void *arg)
{
	bool flags;

	(void)arg;
	local_irq_save(flags);
	arch_cpu_online();
	local_irq_restore(flags);
}

void world_create(struct world *w, u32 nr_cpus, u32 page_shift,
		  const struct knob_setting *knobs, u32 nr_knobs)
{
	struct call c = { .w = w, .knobs = knobs, .nr_knobs = nr_knobs };

	*w = (struct world){ .fm = fake_create(nr_cpus, page_shift, 1UL << 16) };
	w->kernel = calloc(1, sizeof(*w->kernel));
	w->kernel->cpu = calloc(nr_cpus, sizeof(*w->kernel->cpu));
	fake_run(w->fm, 0, do_boot, &c);
	if (w->refused)
		return;
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		fake_run(w->fm, cpu, do_online, NULL);
		if (cpu < ARRAY_SIZE(w->loaded))
			w->loaded[cpu] = w->kernel->init_mm;
	}
	fake_log_clear(w->fm);
}

void world_destroy(struct world *w)
{
	free(w->kernel->cpu);
	free(w->kernel);
	fake_destroy(w->fm);
}

static void do_new_mm(void *arg)
{
	struct call *c = arg;

	c->mm = kzalloc(sizeof(*c->mm));
	if (pgd_alloc(c->mm) || init_new_context(NULL, c->mm))
		abort();
}

struct mm_struct *world_mm(struct world *w)
{
	struct call c = { .w = w };

	fake_run(w->fm, 0, do_new_mm, &c);
	return c.mm;
}

static void do_free_mm(void *arg)
{
	struct call *c = arg;

	destroy_context(c->mm);
	pgd_free(c->mm);
	kfree(c->mm, sizeof(*c->mm));
}

void world_mm_free(struct world *w, struct mm_struct *mm)
{
	struct call c = { .w = w, .mm = mm };

	fake_run(w->fm, 0, do_free_mm, &c);
}

static void do_switch(void *arg)
{
	struct call *c = arg;
	bool flags;

	local_irq_save(flags);
	switch_mm_irqs_off(c->w->loaded[smp_processor_id()], c->mm, NULL);
	local_irq_restore(flags);
}

void world_switch(struct world *w, u32 cpu, struct mm_struct *mm)
{
	struct call c = { .w = w, .mm = mm };

	fake_run(w->fm, cpu, do_switch, &c);
	w->loaded[cpu] = mm;
}

static void do_lazy(void *arg)
{
	struct call *c = arg;
	bool flags;

	local_irq_save(flags);
	enter_lazy_tlb(c->w->loaded[smp_processor_id()], NULL);
	local_irq_restore(flags);
}

void world_lazy(struct world *w, u32 cpu)
{
	struct call c = { .w = w };

	fake_run(w->fm, cpu, do_lazy, &c);
}

static void do_enter_kernel(void *arg)
{
	(void)arg;
	arch_enter_kernel();
}

static void do_exit_kernel(void *arg)
{
	(void)arg;
	arch_exit_kernel();
}

void world_enter_kernel(struct world *w, u32 cpu)
{
	fake_run(w->fm, cpu, do_enter_kernel, NULL);
}

void world_exit_kernel(struct world *w, u32 cpu)
{
	fake_run(w->fm, cpu, do_exit_kernel, NULL);
}

static void do_flush_page(void *arg)
{
	struct call *c = arg;
	struct vm_area_struct vma = { .vm_mm = c->mm };

	flush_tlb_page(&vma, c->start);
}

void world_flush_page(struct world *w, u32 cpu, struct mm_struct *mm, u64 addr)
{
	struct call c = { .w = w, .mm = mm, .start = addr };

	fake_run(w->fm, cpu, do_flush_page, &c);
}

static void do_flush_range(void *arg)
{
	struct call *c = arg;
	struct vm_area_struct vma = { .vm_mm = c->mm };

	flush_tlb_range(&vma, c->start, c->end);
}

void world_flush_range(struct world *w, u32 cpu, struct mm_struct *mm, u64 start, u64 end)
{
	struct call c = { .w = w, .mm = mm, .start = start, .end = end };

	fake_run(w->fm, cpu, do_flush_range, &c);
}

static void do_flush_mm(void *arg)
{
	struct call *c = arg;

	flush_tlb_mm(c->mm);
}

void world_flush_mm(struct world *w, u32 cpu, struct mm_struct *mm)
{
	struct call c = { .w = w, .mm = mm };

	fake_run(w->fm, cpu, do_flush_mm, &c);
}

static void do_tlb_flush(void *arg)
{
	struct call *c = arg;
	struct mmu_gather tlb = *c->tlb;

	tlb_flush(&tlb);
}

void world_tlb_flush(struct world *w, u32 cpu, const struct mmu_gather *tlb)
{
	struct call c = { .w = w, .tlb = tlb };

	fake_run(w->fm, cpu, do_tlb_flush, &c);
}

struct mmu_gather world_gather(struct mm_struct *mm, u64 start, u64 size,
			       const char *fields)
{
	struct mmu_gather tlb = { .mm = mm, .start = start, .end = start + size };

	for (const char *f = fields; *f; f++) {
		switch (*f) {
		case '3':
			tlb.cleared_ptes = 1;
			break;
		case '2':
			tlb.cleared_pmds = 1;
			break;
		case '1':
			tlb.cleared_puds = 1;
			break;
		case '0':
			tlb.cleared_p4ds = 1;
			break;
		case 't':
			tlb.freed_tables = 1;
			break;
		case 'a':
			tlb.need_flush_all = 1;
			break;
		case 'm':
			tlb.fullmm = 1;
			tlb.start = tlb.end = ~0UL;
			break;
		default:
			fail_msg("unknown field %c", *f);
		}
	}
	return tlb;
}

void world_check_gather(const struct gather_case *c)
{
	struct mmu_gather tlb;
	struct mm_struct *mm;
	struct world w;

	world_create(&w, 2, c->page_shift ? c->page_shift : 12, c->knobs, WORLD_KNOBS);
	assert_null(w.refused);
	mm = world_mm(&w);
	world_switch(&w, 0, mm);
	fake_log_clear(w.fm);
	tlb = world_gather(mm, c->start, c->size, c->fields);
	world_tlb_flush(&w, 0, &tlb);
	if (strcmp(fake_brief(w.fm), c->expect))
		fail_msg("%s: expected [%s], got [%s]", c->name, c->expect,
			 fake_brief(w.fm));
	world_mm_free(&w, mm);
	world_destroy(&w);
}

struct table_call {
	struct mm_struct *mm;
	bool found, cleared, none_before;
};

/* Level by level at the first entry of the PGD; frames stand for tables. */
static void do_tables(void *arg)
{
	struct table_call *c = arg;
	const struct pt_geometry *geo = &kernel()->geo;
	struct page *table = pfn_to_page(7);
	pmd_t pmd = { 0 };
	pud_t *pud = (pud_t *)c->mm->pgd;
	p4d_t *p4d = (p4d_t *)c->mm->pgd;

	c->none_before = pmd_none(pmdp_get(&pmd));
	pmd_populate(c->mm, &pmd, table);
	c->found = pmd_present(pmdp_get(&pmd)) && !pmd_leaf(pmdp_get(&pmd)) &&
		   pmd_page(pmdp_get(&pmd)) == table;
	pmd_clear(&pmd);
	c->cleared = pmd_none(pmdp_get(&pmd));

	/* The PGD's own level. */
	if (geo->pud_folded) {
		c->none_before &= pud_none(pudp_get(pud)) && !p4d_none(p4dp_get(p4d));
		pud_populate(c->mm, pud, table);
		p4d_clear(p4d);
		c->found &= pud_page(pudp_get(pud)) == table;
		pud_clear(pud);
		c->cleared &= pud_none(pudp_get(pud));
	} else {
		c->none_before &=
			p4d_none(p4dp_get(p4d)) && !pgd_none(pgdp_get(c->mm->pgd));
		p4d_populate(c->mm, p4d, table);
		pgd_clear(c->mm->pgd);
		c->found &=
			p4d_present(p4dp_get(p4d)) && p4d_page(p4dp_get(p4d)) == table;
		p4d_clear(p4d);
		c->cleared &= p4d_none(p4dp_get(p4d));
	}
	/* Fails if anything is left in it. */
	pgd_free(c->mm);
}

static void check_level(u32 upper_shift, u32 lower_shift, u32 ptrs, bool folded)
{
	assert_int_equal(1UL << (upper_shift - lower_shift), ptrs);
	assert_int_equal(folded, ptrs == 1);
}

void world_check_tables(const u32 *page_shifts, const struct knob_setting *knobs,
			u32 nr_knobs)
{
	for (; *page_shifts; page_shifts++) {
		const struct pt_geometry *geo;
		struct table_call c = { 0 };
		struct world w;

		world_create(&w, 1, *page_shifts, knobs, nr_knobs);
		geo = &w.kernel->geo;
		assert_int_equal(geo->page_shift, *page_shifts);
		check_level(geo->pmd_shift, geo->page_shift, geo->ptrs_per_pte, false);
		check_level(geo->pud_shift, geo->pmd_shift, geo->ptrs_per_pmd,
			    geo->pmd_folded);
		check_level(geo->p4d_shift, geo->pud_shift, geo->ptrs_per_pud,
			    geo->pud_folded);
		check_level(geo->pgdir_shift, geo->p4d_shift, geo->ptrs_per_p4d,
			    geo->p4d_folded);
		assert_int_equal(geo->ptrs_per_pgd, 1UL << (48 - geo->pgdir_shift));
		assert_true(geo->task_size <= 1UL << 48);

		c.mm = world_mm(&w);
		fake_run(w.fm, 0, do_tables, &c);
		assert_true(c.none_before);
		assert_true(c.found);
		assert_true(c.cleared);
		world_destroy(&w);
	}
}

u64 test_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}
