/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMD leaves: what each architecture's entries say in every state that huge_mm.h allows,
 * and what each operation on a live one flushes, as one CPU of two that ran the mm.
 */
#include "tlbflush_world.h"

#include "mm/huge_mm.h"

#define ADDR (1UL << 40)
#define PFN 512UL

enum op {
	INVALIDATE, INVALIDATE_AD, GET_AND_CLEAR, CLEAR_FULL, CLEAR_FULLMM, COLLAPSE,
	SET_WRPROTECT, SET_ACCESS, NR_PMD_OPS,
};

struct pmd_call {
	struct mm_struct *mm;
	enum op op;
	u64 vm_flags;
	pmd_t before, entry, returned;
	bool ok;
};

static const struct {
	u32 page_shift;
	const char *flush[NR_PMD_OPS];
} arch_case =
#if defined(CORE_ARCH_X86_PGTABLE_H)
	/* 512 pages are above the ceiling: everything, here and by interrupt there. */
	{ 12, { [INVALIDATE] = "cr3 ipi cr3", [INVALIDATE_AD] = "", [GET_AND_CLEAR] = "",
		[CLEAR_FULL] = "", [CLEAR_FULLMM] = "", [COLLAPSE] = "cr3 ipi cr3",
		[SET_WRPROTECT] = "", [SET_ACCESS] = "" } };
#elif defined(CORE_ARCH_ARM64_PGTABLE_H)
	{ 12, { [INVALIDATE] = "dsb_ishst tlbi_vae1is dsb_ish",
		[INVALIDATE_AD] = "dsb_ishst tlbi_vae1is dsb_ish", [GET_AND_CLEAR] = "",
		[CLEAR_FULL] = "", [CLEAR_FULLMM] = "",
		/* 512 pages of 4 KiB are too many. */
		[COLLAPSE] = "dsb_ishst tlbi_aside1is 2*dsb_ish", [SET_WRPROTECT] = "",
		[SET_ACCESS] = "dsb_ishst tlbi_vale1is dsb_ish" } };
#else
	{ 16, { [INVALIDATE] = "ptesync tlbie eieio tlbsync ptesync",
		[INVALIDATE_AD] = "ptesync tlbie eieio tlbsync ptesync",
		[GET_AND_CLEAR] = "",
		[CLEAR_FULL] = "ptesync tlbie eieio tlbsync ptesync", [CLEAR_FULLMM] = "",
		/* The walk cache, then each of 32 pages. */
		[COLLAPSE] = "ptesync 33*tlbie eieio tlbsync ptesync",
		[SET_WRPROTECT] = "", [SET_ACCESS] = "" } };
#endif

static void do_encode(void *arg)
{
	struct pmd_call *c = arg;
	pgprot_t prot = vm_get_page_prot(c->vm_flags);
	pmd_t pmd = pfn_pmd(PFN, prot), was;

	c->ok = !pmd_none(pmd) && pmd_trans_huge(pmd) && pmd_present(pmd) &&
		pmd_pfn(pmd) == PFN && !pmd_write(pmd) && !pmd_dirty(pmd);
	if (c->vm_flags & VM_WRITE) {
		pmd = pmd_mkwrite(pmd_mkdirty(pmd));
		c->ok &= pmd_write(pmd) && pmd_dirty(pmd) && pmd_pfn(pmd) == PFN;
	}
	was = pmd;
	/* Rights go and come; what hardware noted stays, and so does its size. */
	pmd = pmd_modify(pmd, vm_get_page_prot(0));
	c->ok &= pmd_trans_huge(pmd) && pmd_protnone(pmd) && !pmd_none(pmd) &&
		 pmd_pfn(pmd) == PFN && pmd_dirty(pmd) == pmd_dirty(was);
	pmd = pmd_modify(pmd, prot);
	c->ok &= pmd_trans_huge(pmd) && !pmd_protnone(pmd) && !pmd_write(pmd) &&
		 pmd_dirty(pmd) == pmd_dirty(was);
	pmd = pmd_wrprotect(was);
	c->ok &= !pmd_write(pmd) && pmd_dirty(pmd) == pmd_dirty(was) && pmd_trans_huge(pmd);
}

static void do_op(void *arg)
{
	struct pmd_call *c = arg;
	struct vm_area_struct vma = { .vm_mm = c->mm };
	pmd_t *pmdp = (pmd_t *)c->mm->pgd;	/* any word of a table will do */

	set_pmd_at(c->mm, ADDR, pmdp, c->before);
	switch (c->op) {
	case INVALIDATE:
		c->returned = pmdp_invalidate(&vma, ADDR, pmdp);
		break;
	case INVALIDATE_AD:
		c->returned = pmdp_invalidate_ad(&vma, ADDR, pmdp);
		break;
	case GET_AND_CLEAR:
		c->returned = pmdp_huge_get_and_clear(c->mm, ADDR, pmdp);
		break;
	case CLEAR_FULL:
		c->returned = pmdp_huge_get_and_clear_full(&vma, ADDR, pmdp, false);
		break;
	case CLEAR_FULLMM:
		c->returned = pmdp_huge_get_and_clear_full(&vma, ADDR, pmdp, true);
		break;
	case COLLAPSE:
		c->returned = pmdp_collapse_flush(&vma, ADDR, pmdp);
		break;
	case SET_WRPROTECT:
		pmdp_set_wrprotect(c->mm, ADDR, pmdp);
		c->returned = c->before;
		break;
	default:
		c->ok = pmdp_set_access_flags(&vma, ADDR, pmdp, c->entry, true);
		c->returned = c->before;
	}
	c->entry = pmdp_get(pmdp);
	pmd_clear(pmdp);
}

/* A leaf of a writable private mapping, written before. */
static void do_leaf(void *arg)
{
	struct pmd_call *c = arg;
	pgprot_t prot = vm_get_page_prot(VM_READ | VM_WRITE);

	c->before = pmd_mkwrite(pmd_mkdirty(pmd_mkyoung(pfn_pmd(PFN, prot))));
	c->entry = c->before;
	if (c->op == SET_ACCESS)
		c->before = pmd_mkyoung(pfn_pmd(PFN, prot));
}

static bool after_is_right(const struct pmd_call *c)
{
	switch (c->op) {
	case INVALIDATE:
	case INVALIDATE_AD:
		/* For software still there, still huge, still the same page. */
		return !pmd_none(c->entry) && pmd_trans_huge(c->entry) &&
		       pmd_present(c->entry) && pmd_val(c->entry) != pmd_val(c->before);
	case SET_WRPROTECT:
		return !pmd_write(c->entry) && pmd_dirty(c->entry);
	case SET_ACCESS:
		return c->ok && pmd_write(c->entry) && pmd_dirty(c->entry);
	default:
		return pmd_none(c->entry);
	}
}

static void do_after(void *arg)
{
	struct pmd_call *c = arg;

	c->ok = after_is_right(c);
}

static void test_encoding(void **state)
{
	struct pmd_call c = { 0 };
	struct world w;

	(void)state;
	world_create(&w, 1, arch_case.page_shift, NULL, 0);
	for (u64 flags = 1; flags < 8; flags++) {
		c.vm_flags = flags;
		fake_run(w.fm, 0, do_encode, &c);
		if (!c.ok)
			fail_msg("vm_flags %llu", (unsigned long long)flags);
	}
	world_destroy(&w);
}

/* CPUs 0 to n - 1 have run c->mm, and CPU 0 does it now. */
static void boot(struct world *w, struct pmd_call *c, u32 n, const struct knob_setting *knobs,
		 u32 nr_knobs)
{
	static struct task_struct task;

	world_create(w, n, arch_case.page_shift, knobs, nr_knobs);
	c->mm = world_mm(w);
	c->mm->mm_users.counter = 2;
	task.mm = task.active_mm = c->mm;
	w->fm->env->task = &task;
	for (u32 cpu = n; cpu-- > 0;)
		world_switch(w, cpu, c->mm);
	fake_run(w->fm, 0, do_leaf, c);
	fake_log_clear(w->fm);
}

static void test_operations(void **state)
{
	static const struct knob_setting sync[] = { { KNOB_mm_collapse_sync, 1 } };

	(void)state;
	for (u32 op = 0; op < NR_PMD_OPS; op++) {
		struct pmd_call c = { .op = op };
		struct world w;

		boot(&w, &c, 2, sync, 1);
		fake_run(w.fm, 0, do_op, &c);
		if (strcmp(fake_brief(w.fm), arch_case.flush[op]))
			fail_msg("operation %u: expected [%s], got [%s]", op,
				 arch_case.flush[op], fake_brief(w.fm));
		assert_true(pmd_val(c.returned) == pmd_val(c.before));
		fake_run(w.fm, 0, do_after, &c);
		if (!c.ok)
			fail_msg("operation %u: left %llx", op,
				 (unsigned long long)pmd_val(c.entry));
		world_destroy(&w);
	}
}

/* ---- change_huge_pmd(): its three answers ---- */

enum { NONE, TABLE, LEAF, MARKED, NR_FOUND };

struct change {
	struct mm_struct *mm;
	u32 found, cp_flags;
	u32 answer;
	bool kept, right;	/* the entry: as it was; as it should be */
	u64 flushed;		/* bytes that the gather has taken note of */
};

static void do_change(void *arg)
{
	struct change *c = arg;
	struct vm_area_struct vma = { .vm_mm = c->mm, .vm_flags = VM_READ };
	pmd_t *pmdp = (pmd_t *)c->mm->pgd, was, is;
	pgprot_t newprot = vm_get_page_prot(c->cp_flags ? 0 : VM_READ);
	pmd_t leaf = pmd_mkwrite(pmd_mkdirty(pmd_mkyoung(pfn_pmd(PFN,
					vm_get_page_prot(VM_READ | VM_WRITE)))));
	struct mmu_gather tlb;

	/* The root stands in for a table of PMDs, which has a lock. */
	memset(&virt_to_page(pmdp)->ptl, 0, sizeof(virt_to_page(pmdp)->ptl));
	pmd_clear(pmdp);
	if (c->found == TABLE)
		pmd_populate(c->mm, pmdp, virt_to_page(pmdp));
	else if (c->found != NONE)
		set_pmd_at(c->mm, ADDR, pmdp, c->found == LEAF ? leaf :
			   pmd_modify(leaf, vm_get_page_prot(0)));
	was = pmdp_get(pmdp);
	tlb_gather_mmu(&tlb, c->mm);
	c->answer = change_huge_pmd(&tlb, &vma, pmdp, ADDR, newprot, c->cp_flags);
	is = pmdp_get(pmdp);
	c->kept = pmd_val(is) == pmd_val(was);
	/* A mark may keep the right to write (numa.preserve_write): nobody can use it. */
	c->right = pmd_trans_huge(is) && pmd_pfn(is) == PFN && pmd_dirty(is) &&
		   (c->cp_flags ? pmd_protnone(is) : !pmd_protnone(is) && !pmd_write(is));
	c->flushed = tlb.end > tlb.start ? tlb.end - tlb.start : 0;
	pmd_clear(pmdp);
	tlb_finish_mmu(&tlb);
}

static void test_change(void **state)
{
	static const struct knob_setting sync[] = { { KNOB_mm_collapse_sync, 1 } };

	(void)state;
	for (u32 i = 0; i < 2 * NR_FOUND; i++) {
		struct change c = { .found = i / 2, .cp_flags = i % 2 ? MM_CP_PROT_NUMA : 0 };
		bool marked = c.found == MARKED && c.cp_flags;
		struct pmd_call boot_call = { 0 };
		struct world w;

		boot(&w, &boot_call, 2, sync, 1);
		c.mm = boot_call.mm;
		fake_run(w.fm, 0, do_change, &c);
		if (c.found == NONE || c.found == TABLE || marked) {
			/* Whoever took these for a change would count, or flush, for nothing. */
			assert_int_equal(c.answer, marked);
			assert_true(c.kept && !c.flushed);
		} else {
			assert_int_equal(c.answer, (2UL << 20) >> arch_case.page_shift);
			assert_true(c.right && !c.kept);
			/* One that was marked is in no TLB, which x86 and POWER make use of. */
			assert_true(c.flushed == 2UL << 20 || c.found == MARKED);
		}
		world_destroy(&w);
	}
}

#if defined(CORE_ARCH_POWERPC_PGTABLE_H)
enum { NO_WALK, LOOKUP, SPAN };

static void do_walk_begins(void *arg)
{
	struct pmd_call *c = arg;

	if (c->vm_flags == LOOKUP)
		begin_pte_lookup(c->mm);
	else if (c->vm_flags == SPAN)
		__begin_lockless_pgtbl_walk(c->mm);
}

static void do_walk_ends(void *arg)
{
	struct pmd_call *c = arg;

	if (c->vm_flags == LOOKUP)
		end_pte_lookup(c->mm);
	else if (c->vm_flags == SPAN)
		__end_lockless_pgtbl_walk(c->mm);
}

/* Interrupts for one PMD entry, of four CPUs, while CPU 2 walks so, and afterwards. */
static void check_serialize(s64 how, u32 walk, u32 ipis, u32 ipis_after)
{
	const struct knob_setting knobs[] = {
		{ KNOB_powerpc_pte_serialize, how }, { KNOB_mm_collapse_sync, 1 },
	};
	struct pmd_call c = { .op = GET_AND_CLEAR, .vm_flags = walk };
	struct world w;
	u32 n = 0;

	boot(&w, &c, 4, knobs, 2);
	fake_run(w.fm, 2, do_walk_begins, &c);
	fake_run(w.fm, 0, do_op, &c);
	for (u32 i = 0; i < w.fm->nr_log; i++)
		n += w.fm->log[i].kind == FAKE_IPI;
	assert_int_equal(n, ipis);
	if (n == 1)
		assert_int_equal(fake_count(w.fm, FAKE_IPI, 2), 1);
	fake_run(w.fm, 2, do_walk_ends, &c);
	fake_log_clear(w.fm);
	fake_run(w.fm, 0, do_op, &c);
	n = 0;
	for (u32 i = 0; i < w.fm->nr_log; i++)
		n += w.fm->log[i].kind == FAKE_IPI;
	assert_int_equal(n, ipis_after);
	world_destroy(&w);
}

static void test_serialize(void **state)
{
	(void)state;
	check_serialize(PTE_SERIALIZE_IPI, NO_WALK, 3, 3);
	check_serialize(PTE_SERIALIZE_COUNT_IN_LOOKUP, NO_WALK, 0, 0);
	check_serialize(PTE_SERIALIZE_COUNT_IN_LOOKUP, LOOKUP, 3, 0);
	/* Between the look-up and the last use nobody is counted. */
	check_serialize(PTE_SERIALIZE_COUNT_IN_LOOKUP, SPAN, 0, 0);
	check_serialize(PTE_SERIALIZE_COUNT_SPAN, SPAN, 3, 0);
	check_serialize(PTE_SERIALIZE_COUNT_PERCPU, NO_WALK, 0, 0);
	check_serialize(PTE_SERIALIZE_COUNT_PERCPU, SPAN, 1, 0);
	check_serialize(PTE_SERIALIZE_NONE_TOLERANT, SPAN, 0, 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encoding),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_change),
#if defined(CORE_ARCH_POWERPC_PGTABLE_H)
		cmocka_unit_test(test_serialize),
#endif
	};

	return cmocka_run_group_tests_name("pmd", tests, NULL, NULL);
}
