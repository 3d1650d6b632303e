/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine/mmu: tables built by hand in a sparse "physical memory", against a
 * reference model that keeps plain lists, never evicts, and applies every
 * invalidation at once. Build with -DTLBLAB_MARKS and the files of machine/mmu
 * compiled the same way.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/mark.h"
#include "machine/mmu/mmu.h"

#ifdef TLBLAB_MARKS
MARKS_DEFINE;
#endif

#define MEMORY (16ULL << 30)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ------------------------------------------------------------ the world */

enum { X86, ARM4K, ARM64K };

struct world {
	int kind;
	struct machine_desc desc;
	struct mmu *mmu;
	char *mem;
	u64 next_table;
	u64 freed[16];		/* tables to use again */
	u32 nr_freed;
	u64 rng;
	u64 now;
	u32 levels, bits, page_shift;
	bool pcid, hafdbs, ttl, range;
};

static u64 rnd(struct world *w)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return w->rng * 0x2545f4914f6cdd1dULL >> 16;
}

static u32 below(struct world *w, u32 n)
{
	return (u32)(rnd(w) % n);
}

static void feature(struct world *w, const char *name, bool on)
{
	u32 i = w->desc.nr_features++;

	snprintf(w->desc.feature[i].name, sizeof(w->desc.feature[i].name), "%s", name);
	snprintf(w->desc.feature[i].value, sizeof(w->desc.feature[i].value), "%s",
		 on ? "on" : "off");
}

static void set_geometry(struct world *w)
{
	struct machine_desc *d = &w->desc;
	bool x86 = w->kind == X86;

	w->page_shift = w->kind == ARM64K ? 16 : 12;
	w->bits = w->page_shift - 3;
	w->levels = w->kind == ARM64K ? 3 : 4;
	snprintf(d->arch, sizeof(d->arch), "%s", x86 ? "x86" : "arm64");
	d->page_shift = w->page_shift;
	d->va_bits = x86 ? 47 : 48;
	d->asid_bits = x86 ? 12 : 16;
	d->memory_bytes = MEMORY;
	d->nr_nodes = d->nr_packages = 1;
	d->hw_cost[HW_ACCESS].ps = 1000;
	d->hw_cost[HW_TLB_L2].ps = 3000;
	d->hw_cost[HW_WALK_BASE].ps = 7000;
	d->hw_cost[HW_WALK_LEVEL].ps = 11000;
}

/* Not yet created: a test may still change desc. */
static struct world *world_new(int kind, u32 nr_cpus)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->kind = kind;
	w->rng = 0x9e3779b97f4a7c15ULL;
	set_geometry(w);
	w->desc.nr_cpus = nr_cpus;
	w->desc.l1 = (struct tlb_geometry){ 1, 8 };
	w->desc.l1_huge = (struct tlb_geometry){ 2, 2 };
	w->desc.l2 = (struct tlb_geometry){ 64, 64 };
	for (u32 h = 1; h < w->levels; h++)
		w->desc.walk_cache[h] = 256;
	w->mem = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(w->mem != MAP_FAILED);
	w->next_table = 1 << 20;
	w->now = 1000;
	return w;
}

static void world_create(struct world *w)
{
	if (w->kind == X86) {
		feature(w, "x86.pcid", w->pcid);
		feature(w, "x86.invpcid", true);
	} else {
		feature(w, "arm64.hafdbs", w->hafdbs);
		feature(w, "arm64.ttl", w->ttl);
		feature(w, "arm64.tlbirange", w->range);
	}
	w->mmu = mmu_create(&w->desc, w->mem, 1);
	assert_non_null(w->mmu);
}

static void world_free(struct world *w)
{
	mmu_destroy(w->mmu);
	munmap(w->mem, MEMORY);
	free(w);
}

/* ------------------------------------------------------------ tables */

#define F_WRITE 1	/* writable */
#define F_CLEAN 2	/* ... but to be marked dirty by hardware */
#define F_OLD 4		/* access flag clear */
#define F_KERNEL 8
#define F_GLOBAL 16

static u64 *word_at(struct world *w, u64 pa)
{
	return (u64 *)(void *)(w->mem + pa);
}

static u32 shift_of(const struct world *w, u32 h)
{
	return w->page_shift + h * w->bits;
}

static u64 size_of(const struct world *w, u32 h)
{
	return 1ULL << shift_of(w, h);
}

static u64 new_table(struct world *w)
{
	u64 pa = w->next_table;

	if (w->nr_freed == ARRAY_LEN(w->freed))
		pa = w->freed[--w->nr_freed];
	else
		w->next_table += 1ULL << w->page_shift;
	memset(w->mem + pa, 0, 1ULL << w->page_shift);
	return pa;
}

static u64 slot(const struct world *w, u64 table, u64 va, u32 h)
{
	return table + (va >> shift_of(w, h) & ((1ULL << w->bits) - 1)) * 8;
}

static u64 table_word(const struct world *w, u64 pa)
{
	return w->kind == X86 ? pa | 7 : pa | 3;
}

static u64 leaf_word(const struct world *w, u64 pa, u32 h, u32 flags)
{
	u64 word;

	if (w->kind == X86) {
		word = pa | 1;
		word |= flags & F_WRITE ? 2 : 0;
		word |= flags & F_KERNEL ? 0 : 4;
		word |= flags & F_OLD ? 0 : 1 << 5;
		word |= flags & F_WRITE && !(flags & F_CLEAN) ? 1 << 6 : 0;
		word |= h ? 1 << 7 : 0;
		word |= flags & F_GLOBAL ? 1 << 8 : 0;
		return word;
	}
	word = pa | (h ? 1 : 3);
	word |= flags & F_KERNEL ? 0 : 1 << 6;
	word |= flags & F_OLD ? 0 : 1 << 10;
	word |= flags & F_GLOBAL ? 0 : 1 << 11;
	if (!(flags & F_WRITE))
		return word | 1 << 7;
	if (flags & F_CLEAN)
		word |= 1 << 7;
	return word | 1ULL << 51;
}

/* The address of the entry of va at height h, making tables above. */
static u64 entry_pa(struct world *w, u64 root, u64 va, u32 h)
{
	u64 table = root;

	for (u32 l = w->levels - 1; l > h; l--) {
		u64 *p = word_at(w, slot(w, table, va, l));

		if (!(*p & 1))
			*p = table_word(w, new_table(w));
		table = *p & 0x0000fffffffff000ULL;
	}
	return slot(w, table, va, h);
}

static u64 *entry(struct world *w, u64 root, u64 va, u32 h)
{
	return word_at(w, entry_pa(w, root, va, h));
}

static void map(struct world *w, u64 root, u64 va, u64 pa, u32 h, u32 flags)
{
	*entry(w, root, va, h) = leaf_word(w, pa, h, flags);
}

static void load_root(struct world *w, u32 cpu, u64 root, u32 ctx)
{
	if (w->kind != X86)
		mmu_insn(w->mmu, cpu, w->now, MACH_ARM64_TTBR0,
			 root | (u64)ctx << 48, 0, 0);
	else
		mmu_insn(w->mmu, cpu, w->now,
			 w->pcid ? MACH_X86_CR3_NOFLUSH : MACH_X86_CR3,
			 root | (w->pcid ? ctx : 0), 0, 0);
}

static struct mmu_xlate access_va(struct world *w, u32 cpu, u64 va, bool write)
{
	struct mmu_xlate x;

	mmu_translate(w->mmu, cpu, w->now, va, write, &x);
	return x;
}

/* Operand of a TLBI by VA; ttl as encoded. */
static u64 tlbi(u32 asid, u32 ttl, u64 va)
{
	return (u64)asid << 48 | (u64)ttl << 44 | (va >> 12 & 0xfffffffffffULL);
}

static void broadcast(struct world *w, u32 insn, u64 xt)
{
	mmu_broadcast(w->mmu, w->now, 0, insn, xt, 0, 0);
}

/* ------------------------------------------------------------ reference */

/*
 * Written from the manuals, apart from the code under test: lists without
 * capacity, and every invalidation visits everything at once.
 */
struct ref_entry {
	u32 cpu, ctx;
	bool walk, live;
	u32 h;
	u64 va, pa;
	bool user, write, dirty;
};

#define REF_MAX 20000
#define REF_CPUS 8

struct ref {
	struct world *w;
	struct ref_entry e[REF_MAX];
	u32 n;
	u64 root[REF_CPUS];
	u32 ctx[REF_CPUS];
};

struct ref_result {
	u32 fault;
	u64 pa;
	bool walked;
	u32 reads;
};

static struct ref_entry *ref_find(struct ref *r, u32 cpu, u32 ctx, bool walk,
				  u64 va)
{
	struct ref_entry *best = NULL;

	for (u32 i = 0; i < r->n; i++) {
		struct ref_entry *e = &r->e[i];

		if (!e->live || e->cpu != cpu || e->ctx != ctx || e->walk != walk)
			continue;
		if (va >> shift_of(r->w, e->h) != e->va >> shift_of(r->w, e->h))
			continue;
		if (!best || e->h < best->h)
			best = e;
	}
	return best;
}

static void ref_add(struct ref *r, struct ref_entry e)
{
	u32 i;

	for (i = 0; i < r->n && r->e[i].live; i++)
		;
	assert_true(i < REF_MAX);
	if (i == r->n)
		r->n++;
	e.live = true;
	e.va &= ~(size_of(r->w, e.h) - 1);
	r->e[i] = e;
}

/* ctx: one, or ~1u for any (global ones are a context of their own). */
#define ANY_CTX (~1u)
static void ref_drop(struct ref *r, u32 cpu, u32 ctx, bool walk, int only_h,
		     int above_h, u64 start, u64 last)
{
	for (u32 i = 0; i < r->n; i++) {
		struct ref_entry *e = &r->e[i];

		if (!e->live || e->walk != walk || (cpu != ~0u && e->cpu != cpu))
			continue;
		if (ctx == ANY_CTX ? e->ctx == MMU_CTX_GLOBAL : e->ctx != ctx)
			continue;
		if (only_h >= 0 && e->h != (u32)only_h)
			continue;
		if (above_h >= 0 && e->h <= (u32)above_h)
			continue;
		if (e->va <= last && e->va + size_of(r->w, e->h) - 1 >= start)
			e->live = false;
	}
}

struct ref_leaf {
	u64 pa, word;
	u32 h, reads;
	bool user, write, dirty, global, cacheable;
};

/* x86: what an entry grants; and the accessed and dirty bits. */
static u32 ref_step_x86(u64 *p, u32 h, bool write, struct ref_leaf *l,
			bool *leaf)
{
	u64 word = *p;

	if (!(word & 1))
		return MMU_FAULT;
	l->user &= word >> 2 & 1;
	l->write &= word >> 1 & 1;
	*leaf = !h || word >> 7 & 1;
	l->pa = word & 0x000ffffffffff000ULL;
	if (*leaf && (h == 3 || (h && l->pa & 0x1fe000)))
		return MMU_FAULT | MACH_FAULT_PRESENT;
	if (!*leaf) {
		*p |= 1 << 5;
		return 0;
	}
	if (!l->user || (write && !l->write))
		return MMU_FAULT | MACH_FAULT_PRESENT;
	*p |= 1 << 5 | (write ? 1 << 6 : 0);
	l->dirty = *p >> 6 & 1;
	l->global = word >> 8 & 1;
	l->cacheable = true;
	return 0;
}

static u32 ref_step_arm(struct ref *r, u64 *p, u32 h, bool write,
			struct ref_leaf *l, bool *leaf)
{
	u64 word = *p;
	bool hd = r->w->hafdbs;
	u32 max_block = r->w->kind == ARM4K ? 2 : 1;

	if (!(word & 1))
		return MMU_FAULT;
	*leaf = !(h && (word & 3) == 3);
	l->pa = word & 0x0000fffffffff000ULL;
	if (!*leaf)
		return 0;
	if (h ? h > max_block : !(word & 2))
		return MMU_FAULT;
	l->user = word >> 6 & 1;
	l->dirty = !(word >> 7 & 1);
	l->write = l->dirty || (hd && word >> 51 & 1);
	l->global = !(word >> 11 & 1);
	l->cacheable = word >> 10 & 1;
	if (!l->cacheable && !hd)
		return MMU_FAULT | MACH_FAULT_PRESENT;
	if (!l->user || (write && !l->write))
		return MMU_FAULT | MACH_FAULT_PRESENT;
	l->cacheable = true;
	if (hd)
		*p |= 1 << 10;
	if (hd && write && word >> 51 & 1)
		*p &= ~(1ULL << 7);
	l->dirty |= write;
	return 0;
}

static u32 ref_walk(struct ref *r, u32 cpu, u64 va, bool write,
		    struct ref_leaf *l)
{
	struct ref_entry *e = ref_find(r, cpu, r->ctx[cpu], true, va);
	u64 table = e ? e->pa : r->root[cpu];
	u32 h = e ? e->h - 1 : r->w->levels - 1;

	memset(l, 0, sizeof(*l));
	l->user = e ? e->user : true;
	l->write = e ? e->write : true;
	for (;; h--) {
		u64 *p = word_at(r->w, slot(r->w, table, va, h));
		bool leaf = false;
		u32 fault;

		l->reads++;
		fault = r->w->kind == X86 ? ref_step_x86(p, h, write, l, &leaf) :
					    ref_step_arm(r, p, h, write, l, &leaf);
		l->h = h;
		if (fault || leaf)
			return fault;
		table = l->pa;
		ref_add(r, (struct ref_entry){
			.cpu = cpu, .ctx = r->ctx[cpu], .walk = true, .h = h,
			.va = va, .pa = table, .user = l->user, .write = l->write });
	}
}

static void ref_fault(struct ref *r, u32 cpu, u64 va, bool write, u32 fault,
		      struct ref_result *out)
{
	out->fault = fault | MACH_FAULT_USER | (write ? MACH_FAULT_WRITE : 0);
	if (r->w->kind != X86)
		return;
	ref_drop(r, cpu, r->ctx[cpu], false, -1, -1, va, va);
	ref_drop(r, cpu, r->ctx[cpu], true, -1, -1, va, va);
	ref_drop(r, cpu, MMU_CTX_GLOBAL, false, -1, -1, va, va);
}

static struct ref_result ref_access(struct ref *r, u32 cpu, u64 va, bool write)
{
	struct ref_result out = { 0 };
	struct ref_entry *e = ref_find(r, cpu, r->ctx[cpu], false, va);
	struct ref_leaf l;
	u32 fault;

	if (!e)
		e = ref_find(r, cpu, MMU_CTX_GLOBAL, false, va);
	if (e && (!e->user || (write && !e->write))) {
		ref_fault(r, cpu, va, write, MMU_FAULT | MACH_FAULT_PRESENT, &out);
		return out;
	}
	if (e && (!write || e->dirty)) {
		out.pa = e->pa + (va & (size_of(r->w, e->h) - 1));
		return out;
	}
	fault = ref_walk(r, cpu, va, write, &l);
	out.walked = true;
	out.reads = l.reads;
	if (!fault && e)
		e->live = false;
	if ((!fault || (l.cacheable && !e)) && !(fault && r->w->kind == X86)) {
		u32 ctx = l.global ? MMU_CTX_GLOBAL : r->ctx[cpu];
		u64 base = va & ~(size_of(r->w, l.h) - 1);
		struct ref_entry *dup = ref_find(r, cpu, ctx, false, va);

		/* One entry per page and size. */
		if (dup && dup->h == l.h)
			dup->live = false;
		ref_add(r, (struct ref_entry){
			.cpu = cpu, .ctx = ctx, .h = l.h, .va = base,
			.pa = l.pa & ~(size_of(r->w, l.h) - 1), .user = l.user,
			.write = l.write, .dirty = l.dirty });
	}
	if (fault)
		ref_fault(r, cpu, va, write, fault, &out);
	else
		out.pa = (l.pa & ~(size_of(r->w, l.h) - 1)) +
			 (va & (size_of(r->w, l.h) - 1));
	return out;
}

/* ------------------------------------------------------------ property */

#define NR_ROOTS 3
#define NR_CTX 4
#define PROP_CPUS 3

struct prop {
	struct world *w;
	struct ref r;
	u64 root[NR_ROOTS];
	bool blocks;
};

static u64 any_va(struct prop *p)
{
	struct world *w = p->w;
	u64 va = 0x200000000000ULL;

	va += below(w, 2) * size_of(w, 2);
	va += below(w, 2) * size_of(w, 1);
	return va + below(w, 6) * size_of(w, 0);
}

static void prop_map(struct prop *p)
{
	struct world *w = p->w;
	u64 root = p->root[below(w, NR_ROOTS)], va = any_va(p);
	u32 h = p->blocks && below(w, 8) == 0 ? 1 : 0;
	u32 flags = below(w, 3) ? F_WRITE : 0;
	u64 *e;
	u64 pa = 8ULL << 30;

	flags |= below(w, 2) ? F_CLEAN : 0;
	flags |= below(w, 8) ? 0 : F_OLD;
	flags |= below(w, 10) ? 0 : F_KERNEL;
	flags |= below(w, 20) ? 0 : F_GLOBAL;
	/* Under a block there is no table to put a page in: remove it. */
	e = entry(w, root, va, 1);
	if ((*e & 1) && (*e & (w->kind == X86 ? 0x80 : 2)) == (w->kind == X86 ? 0x80 : 0))
		*e = 0;
	pa += h ? below(w, 8) * size_of(w, 1) : (u64)below(w, 1000) << w->page_shift;
	*entry(w, root, va, h) = leaf_word(w, pa, h, flags);
}

static void prop_unmap(struct prop *p)
{
	struct world *w = p->w;
	u64 root = p->root[below(w, NR_ROOTS)], va = any_va(p);
	u32 h = below(w, 6) == 0 ? 1 : 0;
	u64 *e = entry(w, root, va, 1);
	bool table = (*e & 1) && (w->kind == X86 ? !(*e & 0x80) : *e & 2);

	if (table && !h) {
		*entry(w, root, va, 0) = 0;
		return;
	}
	if (table && w->nr_freed < ARRAY_LEN(w->freed))
		w->freed[w->nr_freed++] = *e & 0x0000fffffffff000ULL;
	*e = 0;
}

static void ref_tlbi(struct prop *p, u32 cpu, u32 ctx, bool global, bool leaf,
		     int h, u64 start, u64 last)
{
	ref_drop(&p->r, cpu, ctx, false, h, -1, start, last);
	if (global)
		ref_drop(&p->r, cpu, MMU_CTX_GLOBAL, false, h, -1, start, last);
	if (!leaf)
		ref_drop(&p->r, cpu, ctx, true, -1, h, start, last);
}

static void prop_tlbi_va(struct prop *p, u32 ctx, u64 va)
{
	struct world *w = p->w;
	static const u32 insn[3][2] = {
		{ MACH_ARM64_TLBI_VAE1IS, MACH_ARM64_TLBI_VALE1IS },
		{ MACH_ARM64_TLBI_VAAE1IS, MACH_ARM64_TLBI_VAALE1IS },
		{ MACH_ARM64_TLBI_VAE1, MACH_ARM64_TLBI_VALE1 },
	};
	u32 form = below(w, 5), leaf = below(w, 2), pages = 1 + below(w, 4);
	u32 level = w->ttl ? below(w, 4) : 0, cpu = below(w, PROP_CPUS);
	u32 tg = w->kind == ARM4K ? 1 : 3;
	u32 ttl = level ? tg << 2 | level : 0;
	int h = level ? 3 - (int)level : -1;

	form = form > 2 ? 0 : form;
	va &= ~(size_of(w, 0) - 1);
	for (u32 i = 0; i < pages; i++, va += size_of(w, 0)) {
		u64 xt = tlbi(ctx, ttl, va);

		if (form == 2)
			mmu_insn(w->mmu, cpu, w->now, insn[2][leaf], xt, 0, 0);
		else
			mmu_broadcast(w->mmu, w->now, cpu, insn[form][leaf], xt, 0, 0);
		ref_tlbi(p, form == 2 ? cpu : ~0u, form == 1 ? ANY_CTX : ctx, true,
			 leaf, h, va, va + size_of(w, 0) - 1);
	}
}

static void prop_tlbi_range(struct prop *p, u32 ctx, u64 va)
{
	struct world *w = p->w;
	u32 leaf = below(w, 2), scale = below(w, 3), num = below(w, 32);
	u32 level = below(w, 2) ? 0 : 2 + below(w, 2);
	u32 tg = below(w, 8) ? (w->kind == ARM4K ? 1 : 3) : 2;
	u64 bytes = (u64)(num + 1) << (5 * scale + 1) << w->page_shift;
	u64 xt;

	va &= ~(size_of(w, 0) - 1);
	xt = (u64)ctx << 48 | (u64)tg << 46 | (u64)scale << 44 | (u64)num << 39 |
	     (u64)level << 37 | va >> w->page_shift;
	broadcast(w, leaf ? MACH_ARM64_TLBI_RVALE1IS : MACH_ARM64_TLBI_RVAE1IS, xt);
	if (tg == 2 || (level && va % size_of(w, 3 - level)))
		return;
	ref_tlbi(p, ~0u, ctx, true, leaf, level ? 3 - (int)level : -1, va,
		 va + bytes - 1);
}

static void prop_tlbi(struct prop *p)
{
	struct world *w = p->w;
	u32 ctx = below(w, NR_CTX), what = below(w, 20), cpu = below(w, PROP_CPUS);
	u64 va = below(w, 20) ? any_va(p) : 0xffff800000000000ULL;

	if (what == 0) {
		broadcast(w, MACH_ARM64_TLBI_VMALLE1IS, 0);
		ref_tlbi(p, ~0u, ANY_CTX, true, false, -1, 0, ~0ULL);
	} else if (what < 3) {
		broadcast(w, MACH_ARM64_TLBI_ASIDE1IS, (u64)ctx << 48);
		ref_tlbi(p, ~0u, ctx, false, false, -1, 0, ~0ULL);
	} else if (what == 3) {
		mmu_insn(w->mmu, cpu, w->now, MACH_ARM64_TLBI_VMALLE1, 0, 0, 0);
		ref_tlbi(p, cpu, ANY_CTX, true, false, -1, 0, ~0ULL);
	} else if (what == 4) {
		mmu_insn(w->mmu, cpu, w->now, MACH_ARM64_TLBI_ASIDE1,
			 (u64)ctx << 48, 0, 0);
		ref_tlbi(p, cpu, ctx, false, false, -1, 0, ~0ULL);
	} else if (what < 10 && w->range) {
		prop_tlbi_range(p, ctx, va);
	} else {
		prop_tlbi_va(p, ctx, va);
	}
}

static void prop_x86_inval(struct prop *p)
{
	struct world *w = p->w;
	u32 cpu = below(w, PROP_CPUS), what = below(w, 10);
	u32 ctx = w->pcid ? below(w, NR_CTX) : 0, cur = p->r.ctx[cpu];
	u64 va = any_va(p);

	if (what < 4) {
		mmu_insn(w->mmu, cpu, w->now, MACH_X86_INVLPG, va, 0, 0);
		ref_tlbi(p, cpu, cur, true, true, -1, va, va);
		ref_drop(&p->r, cpu, cur, true, -1, -1, 0, ~0ULL);
	} else if (what < 7) {
		mmu_insn(w->mmu, cpu, w->now, MACH_X86_INVPCID, va, ctx, 0);
		ref_tlbi(p, cpu, ctx, false, true, -1, va, va);
		ref_drop(&p->r, cpu, ctx, true, -1, -1, 0, ~0ULL);
	} else if (what < 8) {
		mmu_insn(w->mmu, cpu, w->now, MACH_X86_INVPCID, va, ctx, 1);
		ref_tlbi(p, cpu, ctx, false, false, -1, 0, ~0ULL);
	} else if (what < 9) {
		u32 all = below(w, 2);

		mmu_insn(w->mmu, cpu, w->now, MACH_X86_INVPCID, va, ctx, 3 - all);
		ref_tlbi(p, cpu, ANY_CTX, all, false, -1, 0, ~0ULL);
	} else {
		mmu_insn(w->mmu, cpu, w->now, MACH_X86_CR4_PGE, 0, 0, 0);
		ref_tlbi(p, cpu, ANY_CTX, true, false, -1, 0, ~0ULL);
	}
}

/* Context i uses root i % NR_ROOTS: two contexts share one. */
static void prop_switch(struct prop *p, u32 cpu)
{
	struct world *w = p->w;
	u32 ctx = below(w, NR_CTX);
	u64 root = p->root[ctx % NR_ROOTS];
	bool flush = false;

	if (w->kind != X86) {
		load_root(w, cpu, root, ctx);
	} else {
		flush = !w->pcid || below(w, 3) == 0;
		ctx = w->pcid ? ctx : 0;
		mmu_insn(w->mmu, cpu, w->now,
			 flush ? MACH_X86_CR3 : MACH_X86_CR3_NOFLUSH, root | ctx, 0, 0);
	}
	p->r.root[cpu] = root;
	p->r.ctx[cpu] = ctx;
	if (flush)
		ref_tlbi(p, cpu, ctx, false, false, -1, 0, ~0ULL);
}

static void prop_access(struct prop *p)
{
	struct world *w = p->w;
	u32 cpu = below(w, PROP_CPUS);
	u64 va = any_va(p) + below(w, 512) * 8;
	bool write = below(w, 2);
	struct mmu_xlate x;
	struct ref_result y;
	u64 before, *leaf;

	/* Both walk the same memory: let the second see it as the first did. */
	leaf = NULL;
	for (u32 h = 0; h < 2 && !leaf; h++) {
		u64 *e = entry(w, p->r.root[cpu], va, 1);

		if (h || ((*e & 1) && !(w->kind == X86 ? *e & 0x80 : !(*e & 2))))
			leaf = h ? e : entry(w, p->r.root[cpu], va, 0);
	}
	before = *leaf;
	y = ref_access(&p->r, cpu, va, write);
	if (*leaf != before) {
		u64 after = *leaf;

		*leaf = before;
		x = access_va(w, cpu, va, write);
		assert_int_equal(*leaf, after);
	} else {
		x = access_va(w, cpu, va, write);
		assert_int_equal(*leaf, before);
	}
	assert_int_equal(x.fault, y.fault);
	assert_int_equal(x.walked, y.walked);
	assert_int_equal(x.walk_ps, y.walked ? 7000 + y.reads * 11000 : 0);
	if (!x.fault)
		assert_int_equal(x.pa, y.pa);
}

static void prop_check_counts(struct prop *p)
{
	u32 nr = p->w->kind == X86 && !p->w->pcid ? 1 : NR_CTX;

	for (u32 cpu = 0; cpu < PROP_CPUS; cpu++)
		for (u32 ctx = 0; ctx < nr; ctx++) {
			u32 n = 0;

			for (u32 i = 0; i < p->r.n; i++)
				n += p->r.e[i].live && p->r.e[i].walk &&
				     p->r.e[i].cpu == cpu && p->r.e[i].ctx == ctx;
			assert_int_equal(mmu_live_walk(p->w->mmu, cpu, p->w->now, ctx), n);
		}
}

static void property(int kind, u64 seed)
{
	struct prop *p = calloc(1, sizeof(*p));
	struct world *w = p->w = world_new(kind, PROP_CPUS);

	w->rng ^= seed * 0xbf58476d1ce4e5b9ULL;
	w->pcid = below(w, 3) > 0;
	w->hafdbs = below(w, 2);
	w->ttl = below(w, 2);
	w->range = below(w, 2);
	/*
	 * Two sizes may come to be cached for one address. Which one hardware
	 * then uses is anybody's guess: here, one in L1. So that the reference
	 * need not know L1, nothing leaves it when there are blocks.
	 */
	p->blocks = below(w, 2);
	if (p->blocks)
		w->desc.l1.ways = w->desc.l1_huge.ways = 256;
	world_create(w);
	p->r.w = w;
	for (u32 i = 0; i < NR_ROOTS; i++)
		p->root[i] = new_table(w);
	for (u32 cpu = 0; cpu < PROP_CPUS; cpu++)
		prop_switch(p, cpu);
	for (u32 i = 0; i < 6000; i++) {
		u32 what = below(w, 100);

		w->now += below(w, 2) * below(w, 1000);
		if (what < 10)
			prop_map(p);
		else if (what < 14)
			prop_unmap(p);
		else if (what < 22)
			w->kind == X86 ? prop_x86_inval(p) : prop_tlbi(p);
		else if (what < 25)
			prop_switch(p, below(w, PROP_CPUS));
		else
			prop_access(p);
		if (i % 500 == 0)
			prop_check_counts(p);
	}
	world_free(w);
	free(p);
}

static void test_property_x86(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 20; seed++)
		property(X86, seed);
}

static void test_property_arm64_4k(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 20; seed++)
		property(ARM4K, seed);
}

static void test_property_arm64_64k(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 20; seed++)
		property(ARM64K, seed);
}

/* ------------------------------------------------------------ arm64 rules */

#define VA 0x200000000000ULL
#define PA (8ULL << 30)

static struct world *arm_world(int kind, bool ttl, bool range, bool hafdbs)
{
	struct world *w = world_new(kind, 4);

	w->ttl = ttl;
	w->range = range;
	w->hafdbs = hafdbs;
	world_create(w);
	return w;
}

/* Thread S0: a table was freed, and only leaf entries were invalidated. */
static void stale_table(int kind, u32 insn, bool hangs)
{
	struct world *w = arm_world(kind, false, false, false);
	u64 root = new_table(w);

	map(w, root, VA, PA, 0, F_WRITE);
	load_root(w, 0, root, 5);
	assert_int_equal(access_va(w, 0, VA, true).fault, 0);
	assert_int_equal(mmu_live_walk(w->mmu, 0, w->now, 5), w->levels - 1);
	/* munmap: the table leaves the tree and is zeroed for its next use. */
	*entry(w, root, VA, 0) = 0;
	*entry(w, root, VA, 1) = 0;
	broadcast(w, insn, tlbi(5, 0, VA));
	assert_int_equal(mmu_live(w->mmu, 0, w->now, 5), 0);
	/* mmap and fault: a new table. Does the walker ever see it? */
	map(w, root, VA, PA + (1 << 20), 0, F_WRITE);
	for (u32 i = 0; i < 1000; i++)
		assert_int_equal(!!access_va(w, 0, VA, true).fault, hangs);
	broadcast(w, MACH_ARM64_TLBI_ASIDE1IS, 5ULL << 48);
	assert_int_equal(access_va(w, 0, VA, true).pa, PA + (1 << 20));
	world_free(w);
}

static void test_stale_walk_cache(void **state)
{
	(void)state;
	for (int kind = ARM4K; kind <= ARM64K; kind++) {
		stale_table(kind, MACH_ARM64_TLBI_VALE1IS, true);
		stale_table(kind, MACH_ARM64_TLBI_VAE1IS, false);
	}
}

/* On x86 the fault itself drops the stale entry (SDM 4.10.4.1). */
static void test_stale_walk_cache_x86(void **state)
{
	struct world *w = world_new(X86, 1);
	u64 root;

	(void)state;
	w->pcid = true;
	world_create(w);
	root = new_table(w);
	map(w, root, VA, PA, 0, F_WRITE);
	load_root(w, 0, root, 5);
	assert_int_equal(access_va(w, 0, VA, true).fault, 0);
	*entry(w, root, VA, 0) = 0;
	*entry(w, root, VA, 1) = 0;
	map(w, root, VA, PA + 4096, 0, F_WRITE);
	/* Still the old page: nothing was invalidated. */
	assert_int_equal(access_va(w, 0, VA, true).pa, PA);
	map(w, root, VA + 4096, PA + 8192, 0, F_WRITE);
	assert_int_not_equal(access_va(w, 0, VA + 4096, true).fault, 0);
	assert_int_equal(access_va(w, 0, VA + 4096, true).pa, PA + 8192);
	world_free(w);
}

static void test_ttl(void **state)
{
	(void)state;
	for (int kind = ARM4K; kind <= ARM64K; kind++) {
		struct world *w = arm_world(kind, true, false, false);
		u64 root = new_table(w), pa, big = VA + 4 * size_of(w, 1);
		u32 tg = kind == ARM4K ? 1 : 3;

		map(w, root, VA, PA, 0, F_WRITE);
		map(w, root, big, PA, 1, F_WRITE);
		load_root(w, 0, root, 1);
		access_va(w, 0, VA, false);
		access_va(w, 0, big, false);
		/* The wrong level, and the wrong granule: nothing is dropped. */
		broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, tg << 2 | 2, VA));
		broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, tg << 2 | 3, big));
		broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, 2 << 2 | 3, VA));
		assert_true(mmu_cached(w->mmu, 0, w->now, 1, VA, &pa));
		assert_true(mmu_cached(w->mmu, 0, w->now, 1, big, &pa));
		/* The right one; level 0 is no hint. */
		broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, tg << 2 | 3, VA));
		broadcast(w, MACH_ARM64_TLBI_VALE1IS,
			  tlbi(1, tg << 2, big + size_of(w, 0)));
		assert_false(mmu_cached(w->mmu, 0, w->now, 1, VA, &pa));
		assert_false(mmu_cached(w->mmu, 0, w->now, 1, big, &pa));
		world_free(w);
	}
}

/* Every page in and around the range, for many operands. */
static void test_range(void **state)
{
	(void)state;
	for (int kind = ARM4K; kind <= ARM64K; kind++) {
		struct world *w = arm_world(kind, false, true, false);
		u64 root = new_table(w), pa;
		u32 nr = 3000, tg = kind == ARM4K ? 1 : 3;

		for (u32 i = 0; i < nr; i++)
			map(w, root, VA + i * size_of(w, 0), PA + i * size_of(w, 0), 0,
			    F_WRITE);
		load_root(w, 0, root, 9);
		for (u32 n = 0; n < 60; n++) {
			u32 scale = below(w, 3), num = below(w, 32);
			u32 base = below(w, nr);
			u32 end = base + ((num + 1) << (5 * scale + 1));

			w->now += 1000;
			for (u32 i = 0; i < nr; i++)
				assert_int_equal(access_va(w, 0, VA + i * size_of(w, 0),
							   false).fault, 0);
			broadcast(w, MACH_ARM64_TLBI_RVALE1IS,
				  9ULL << 48 | (u64)tg << 46 | (u64)scale << 44 |
				  (u64)num << 39 | ((VA >> w->page_shift) + base));
			for (u32 i = 0; i < nr; i++)
				assert_int_equal(mmu_cached(w->mmu, 0, w->now, 9,
							    VA + i * size_of(w, 0), &pa),
						 i < base || i >= end);
		}
		world_free(w);
	}
}

static void test_asid_bits(void **state)
{
	struct world *w = world_new(ARM4K, 1);
	u64 root, pa;

	(void)state;
	w->desc.asid_bits = 8;
	world_create(w);
	root = new_table(w);
	map(w, root, VA, PA, 0, F_WRITE);
	load_root(w, 0, root, 0x17);
	access_va(w, 0, VA, false);
	broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(0x18, 0, VA));
	assert_true(mmu_cached(w->mmu, 0, w->now, 0x17, VA, &pa));
	/* The upper half of the ASID is not compared. */
	broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(0x4217, 0, VA));
	assert_false(mmu_cached(w->mmu, 0, w->now, 0x17, VA, &pa));
	world_free(w);
}

static void test_access_dirty_arm64(void **state)
{
	(void)state;
	for (int hd = 0; hd < 2; hd++) {
		struct world *w = arm_world(ARM64K, false, false, hd);
		u64 root = new_table(w), *e;
		struct mmu_xlate x;

		map(w, root, VA, PA, 0, F_WRITE | F_CLEAN | F_OLD);
		e = entry(w, root, VA, 0);
		load_root(w, 0, root, 1);
		x = access_va(w, 0, VA, false);
		assert_int_equal(x.fault, hd ? 0 : MMU_FAULT | MACH_FAULT_USER |
				 MACH_FAULT_PRESENT);
		/* AF clear is never cached. */
		assert_int_equal(mmu_live(w->mmu, 0, w->now, 1), hd ? 2 : 0);
		*e |= 1 << 10;
		assert_int_equal(access_va(w, 0, VA, false).fault, 0);
		x = access_va(w, 0, VA, true);
		assert_int_equal(x.fault, hd ? 0 : MMU_FAULT | MACH_FAULT_USER |
				 MACH_FAULT_PRESENT | MACH_FAULT_WRITE);
		assert_int_equal(*e >> 7 & 1, !hd);
		/* A clean cached entry whose table entry is gone must not write. */
		map(w, root, VA + 65536, PA, 0, F_WRITE | F_CLEAN);
		access_va(w, 0, VA + 65536, false);
		*entry(w, root, VA + 65536, 0) = 0;
		assert_int_equal(access_va(w, 0, VA + 65536, false).fault, 0);
		assert_int_not_equal(access_va(w, 0, VA + 65536, true).fault, 0);
		assert_int_equal(access_va(w, 0, VA + 65536, false).fault, 0);
		world_free(w);
	}
}

/* ------------------------------------------------------------ x86 rules */

static void test_access_dirty_x86(void **state)
{
	struct world *w = world_new(X86, 1);
	u64 root, *e;

	(void)state;
	world_create(w);
	root = new_table(w);
	map(w, root, VA, PA, 0, F_WRITE | F_CLEAN | F_OLD);
	e = entry(w, root, VA, 0);
	load_root(w, 0, root, 0);
	access_va(w, 0, VA, false);
	assert_int_equal(*e & 0x60, 0x20);
	for (u32 h = 1; h < 4; h++)
		assert_int_equal(*entry(w, root, VA, h) & 0x60, 0x20);
	assert_true(access_va(w, 0, VA, true).walked);
	assert_int_equal(*e & 0x60, 0x60);
	assert_false(access_va(w, 0, VA, true).walked);
	/* Cleared without an invalidation: the cached entry still writes. */
	*e &= ~0x40ULL;
	assert_false(access_va(w, 0, VA, true).walked);
	assert_int_equal(*e & 0x60, 0x20);
	/* Clean and cached, then gone: reads go on, a write faults. */
	map(w, root, VA + 4096, PA, 0, F_WRITE | F_CLEAN);
	access_va(w, 0, VA + 4096, false);
	*entry(w, root, VA + 4096, 0) = 0;
	assert_int_equal(access_va(w, 0, VA + 4096, false).fault, 0);
	assert_int_equal(access_va(w, 0, VA + 4096, true).fault,
			 MMU_FAULT | MACH_FAULT_USER | MACH_FAULT_WRITE);
	assert_int_not_equal(access_va(w, 0, VA + 4096, false).fault, 0);
	/* Read-only above the leaf forbids writes; an upgrade is then seen. */
	map(w, root, VA + size_of(w, 2), PA, 0, F_WRITE);
	*entry(w, root, VA + size_of(w, 2), 2) &= ~2ULL;
	assert_int_equal(access_va(w, 0, VA + size_of(w, 2), false).fault, 0);
	assert_int_equal(access_va(w, 0, VA + size_of(w, 2), true).fault,
			 MMU_FAULT | MACH_FAULT_USER | MACH_FAULT_WRITE |
			 MACH_FAULT_PRESENT);
	*entry(w, root, VA + size_of(w, 2), 2) |= 2;
	assert_int_equal(access_va(w, 0, VA + size_of(w, 2), true).fault, 0);
	/* Reserved bits: a PML4 entry with PS, a 2M frame not aligned. */
	map(w, root, VA + 4 * size_of(w, 1), PA | 1 << 13, 1, F_WRITE);
	assert_true(access_va(w, 0, VA + 4 * size_of(w, 1), false).fault &
		    MACH_FAULT_PRESENT);
	/* Outside user space, and tables outside memory. */
	assert_int_equal(access_va(w, 0, 1ULL << 47, false).fault,
			 MMU_FAULT | MACH_FAULT_USER);
	*entry(w, root, VA + 5 * size_of(w, 1), 1) = MEMORY | 7;
	assert_int_equal(access_va(w, 0, VA + 5 * size_of(w, 1), false).fault,
			 MMU_FAULT | MACH_FAULT_USER);
	world_free(w);
}

static void pcid_fill(struct world *w, const u64 *root)
{
	for (u32 ctx = 0; ctx < 3; ctx++) {
		mmu_insn(w->mmu, 0, w->now, MACH_X86_CR3_NOFLUSH, root[ctx] | ctx, 0, 0);
		assert_int_equal(access_va(w, 0, VA, true).pa, PA + ctx * 4096);
		assert_int_equal(access_va(w, 0, VA + 4096, false).fault, 0);
		assert_int_equal(access_va(w, 0, VA + (1ULL << 32), false).fault, 0);
	}
}

/* What is left of context ctx: bits 0..2 pages, and walk-cache entries. */
static void pcid_expect(struct world *w, u32 ctx, u32 pages, bool walk)
{
	static const u64 off[3] = { 0, 4096, 1ULL << 32 };
	u64 pa;

	for (u32 i = 0; i < 3; i++)
		assert_int_equal(mmu_cached(w->mmu, 0, w->now, ctx, VA + off[i], &pa),
				 pages >> i & 1);
	assert_int_equal(mmu_live_walk(w->mmu, 0, w->now, ctx), walk ? 5 : 0);
}

static void test_pcid(void **state)
{
	struct world *w = world_new(X86, 1);
	u64 root[3];

	(void)state;
	w->pcid = true;
	world_create(w);
	for (u32 i = 0; i < 3; i++) {
		root[i] = new_table(w);
		map(w, root[i], VA, PA + i * 4096, 0, F_WRITE);
		map(w, root[i], VA + 4096, PA, 0, 0);
		map(w, root[i], VA + (1ULL << 32), PA, 0, 0);
	}
	pcid_fill(w, root);
	for (u32 i = 0; i < 3; i++)
		pcid_expect(w, i, 7, true);
	/* INVLPG: the page, and all walk caches of the current PCID (2). */
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVLPG, VA + 123, 0, 0);
	pcid_expect(w, 2, 6, false);
	pcid_expect(w, 1, 7, true);
	/* INVPCID 0: likewise of another PCID. */
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVPCID, VA, 1, 0);
	pcid_expect(w, 1, 6, false);
	pcid_expect(w, 0, 7, true);
	/* INVPCID 1: one PCID. */
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVPCID, 0, 0, 1);
	pcid_expect(w, 0, 0, false);
	pcid_expect(w, 2, 6, false);
	/* CR3: drops the PCID that it loads, and no other. */
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVPCID, 0, 0, 2);
	pcid_fill(w, root);
	mmu_insn(w->mmu, 0, w->now, MACH_X86_CR3, root[1] | 1, 0, 0);
	pcid_expect(w, 0, 7, true);
	pcid_expect(w, 1, 0, false);
	pcid_expect(w, 2, 7, true);
	/* INVPCID 3: all but global. 2: all. */
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVPCID, 0, 0, 3);
	for (u32 i = 0; i < 3; i++)
		pcid_expect(w, i, 0, false);
	map(w, root[0], VA + 8192, PA, 0, F_GLOBAL);
	mmu_insn(w->mmu, 0, w->now, MACH_X86_CR3, root[0], 0, 0);
	access_va(w, 0, VA + 8192, false);
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVPCID, 0, 0, 3);
	mmu_insn(w->mmu, 0, w->now, MACH_X86_CR3, root[1] | 1, 0, 0);
	assert_false(access_va(w, 0, VA + 8192, false).walked);
	mmu_insn(w->mmu, 0, w->now, MACH_X86_INVPCID, 0, 0, 2);
	assert_true(access_va(w, 0, VA + 8192, false).fault);
	world_free(w);
}

/* Without PCID every write of CR3 drops all, and there is one context. */
static void test_no_pcid(void **state)
{
	struct world *w = world_new(X86, 1);
	u64 root[2];

	(void)state;
	world_create(w);
	for (u32 i = 0; i < 2; i++) {
		root[i] = new_table(w);
		map(w, root[i], VA, PA + i * 4096, 0, 0);
	}
	for (u32 i = 0; i < 10; i++) {
		load_root(w, 0, root[i & 1], 0);
		assert_int_equal(mmu_live(w->mmu, 0, w->now, 0), 0);
		assert_int_equal(access_va(w, 0, VA, false).pa, PA + (i & 1) * 4096);
	}
	world_free(w);
}

/* ------------------------------------------------------------ capacity */

/*
 * Small TLBs, many contexts, and a kernel that invalidates as it should: then every
 * translation is that of the tables, whatever was evicted.
 */
static void obedient(int kind, u64 seed)
{
	struct world *w = world_new(kind, 2);
	u64 root[6], pages = 24, model[6][24] = { { 0 } };

	w->rng ^= seed * 0xbf58476d1ce4e5b9ULL;
	w->pcid = true;
	w->desc.l1 = (struct tlb_geometry){ 1, 3 };
	w->desc.l2 = (struct tlb_geometry){ 4, 2 };
	for (u32 h = 1; h < w->levels; h++)
		w->desc.walk_cache[h] = h == 2 ? 0 : 2;
	world_create(w);
	for (u32 i = 0; i < 6; i++)
		root[i] = new_table(w);
	for (u32 i = 0; i < 20000; i++) {
		u32 ctx = below(w, 6), page = below(w, (u32)pages), cpu = below(w, 2);
		u64 va = VA + page * (size_of(w, 0) + (page & 1) * size_of(w, 1));

		w->now += 10;
		if (below(w, 10) == 0) {
			model[ctx][page] = below(w, 3) ? PA + ((u64)below(w, 99) << 16) : 0;
			if (model[ctx][page])
				map(w, root[ctx], va, model[ctx][page], 0, 0);
			else
				*entry(w, root[ctx], va, 0) = 0;
			if (kind != X86)
				broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(ctx, 0, va));
			else
				for (u32 c = 0; c < 2; c++)
					mmu_insn(w->mmu, c, w->now, MACH_X86_INVPCID, va,
						 ctx, 0);
			continue;
		}
		load_root(w, cpu, root[ctx], ctx);
		for (u32 n = below(w, 4); n < 4; n++) {
			struct mmu_xlate x = access_va(w, cpu, va, false);

			assert_int_equal(!x.fault, !!model[ctx][page]);
			assert_int_equal(x.pa, model[ctx][page]);
		}
	}
	world_free(w);
}

static void test_obedient(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 4; seed++) {
		obedient(X86, seed);
		obedient(ARM4K, seed);
		obedient(ARM64K, seed);
	}
}

/* True LRU in each set: which of ways + 1 pages leaves. */
static void test_lru(void **state)
{
	struct world *w = world_new(ARM4K, 1);
	u64 root, pa;

	(void)state;
	w->desc.l1 = (struct tlb_geometry){ 0, 0 };
	w->desc.l1_huge = (struct tlb_geometry){ 0, 0 };
	w->desc.l2 = (struct tlb_geometry){ 2, 4 };
	world_create(w);
	root = new_table(w);
	for (u32 i = 0; i < 16; i++)
		map(w, root, VA + i * 4096, PA, 0, 0);
	load_root(w, 0, root, 1);
	for (u32 i = 0; i < 8; i += 2)
		access_va(w, 0, VA + i * 4096, false);
	access_va(w, 0, VA, false);		/* page 2 is now the oldest */
	access_va(w, 0, VA + 8 * 4096, false);
	assert_true(mmu_cached(w->mmu, 0, w->now, 1, VA, &pa));
	assert_false(mmu_cached(w->mmu, 0, w->now, 1, VA + 2 * 4096, &pa));
	/* A dropped way is taken before the oldest entry. */
	broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, 0, VA + 8 * 4096));
	access_va(w, 0, VA + 10 * 4096, false);
	assert_int_equal(mmu_live(w->mmu, 0, w->now, 1), 4);
	assert_true(mmu_cached(w->mmu, 0, w->now, 1, VA + 4 * 4096, &pa));
	world_free(w);
}

/* The walk caches are LRU as well: seen by how many levels a walk reads. */
static void test_walk_cache_lru(void **state)
{
	struct world *w = world_new(ARM4K, 1);
	u64 root, step = 1ULL << 21;

	(void)state;
	w->desc.l1.ways = w->desc.l2.ways = 0;
	w->desc.walk_cache[1] = 2;
	world_create(w);
	root = new_table(w);
	for (u32 i = 0; i < 3; i++)
		map(w, root, VA + i * step, PA, 0, 0);
	load_root(w, 0, root, 1);
	assert_int_equal(access_va(w, 0, VA, false).walk_ps, 7000 + 4 * 11000);
	assert_int_equal(access_va(w, 0, VA + step, false).walk_ps, 7000 + 2 * 11000);
	assert_int_equal(access_va(w, 0, VA, false).walk_ps, 7000 + 11000);
	/* The second is the oldest now. */
	access_va(w, 0, VA + 2 * step, false);
	assert_int_equal(access_va(w, 0, VA, false).walk_ps, 7000 + 11000);
	assert_int_equal(access_va(w, 0, VA + step, false).walk_ps, 7000 + 2 * 11000);
	world_free(w);
}

/* ------------------------------------------------------------ the log */

/* A CPU that loads a context between two operations that could be merged. */
static void test_late_holder(void **state)
{
	struct world *w = arm_world(ARM4K, false, false, false);
	u64 root = new_table(w);

	(void)state;
	for (u32 i = 0; i < 4; i++)
		map(w, root, VA + i * 4096, PA, 0, 0);
	load_root(w, 0, root, 1);
	access_va(w, 0, VA, false);
	broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, 0, VA));
	load_root(w, 1, root, 1);
	access_va(w, 1, VA, false);
	access_va(w, 1, VA + 4096, false);
	broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(1, 0, VA + 4096));
	assert_true(access_va(w, 1, VA + 4096, false).walked);
	assert_false(access_va(w, 1, VA, false).walked);
	/* And one that loads it at an earlier time than that of the newest record. */
	mmu_broadcast(w->mmu, w->now + 1000, 0, MACH_ARM64_TLBI_VALE1IS,
		      tlbi(1, 0, VA), 0, 0);
	load_root(w, 2, root, 1);
	access_va(w, 2, VA, false);
	assert_false(access_va(w, 2, VA, false).walked);
	w->now += 1000;
	assert_true(access_va(w, 2, VA, false).walked);
	world_free(w);
}

/* mmu_broadcast_run() is n times mmu_broadcast(). */
static void test_broadcast_run(void **state)
{
	struct world *w = arm_world(ARM64K, false, false, false);
	u64 root = new_table(w), pa;

	(void)state;
	load_root(w, 0, root, 1);
	for (u32 i = 0; i < 40; i++) {
		map(w, root, VA + i * 65536, PA, 0, 0);
		access_va(w, 0, VA + i * 65536, false);
	}
	mmu_broadcast_run(w->mmu, w->now, 1, MACH_ARM64_TLBI_VAE1IS,
			  tlbi(1, 0, VA + 3 * 65536), 0, 0, 10);
	mmu_broadcast_run(w->mmu, w->now, 1, MACH_ARM64_TLBI_VAE1IS,
			  tlbi(1, 0, VA + 13 * 65536), 0, 0, 5);
	broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(1, 0, VA + 18 * 65536));
	assert_int_equal(mmu_broadcast_ops(w->mmu), 16);
	assert_int_equal(mmu_broadcast_records(w->mmu), 2); /* another CPU */
	for (u32 i = 0; i < 40; i++)
		assert_int_equal(mmu_cached(w->mmu, 0, w->now, 1, VA + i * 65536, &pa),
				 i < 3 || i > 18);
	world_free(w);
}

static void test_nobody_holds(void **state)
{
	struct world *w = arm_world(ARM64K, false, false, false);
	u64 root = new_table(w);

	(void)state;
	map(w, root, VA, PA, 0, 0);
	load_root(w, 1, root, 7);
	access_va(w, 1, VA, false);
	for (u32 i = 0; i < 100; i++)
		broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(8, 0, VA));
	assert_int_equal(mmu_broadcast_ops(w->mmu), 100);
	assert_int_equal(mmu_broadcast_records(w->mmu), 0);
	/* Left with entries: still a holder; when they are gone, no more. */
	load_root(w, 1, root, 9);
	assert_true(mmu_holds(w->mmu, 1, 7));
	assert_false(mmu_holds(w->mmu, 0, 7));
	mmu_insn(w->mmu, 1, w->now, MACH_ARM64_TLBI_ASIDE1, 7ULL << 48, 0, 0);
	assert_false(mmu_holds(w->mmu, 1, 7));
	world_free(w);
}

/* mmap8: 256 pages of one CPU at one time become one record. */
static void test_coalesce(void **state)
{
	struct world *w = arm_world(ARM64K, false, false, false);
	u64 root = new_table(w), pa;

	(void)state;
	for (u32 i = 0; i < 300; i++)
		map(w, root, VA + i * 65536, PA, 0, 0);
	/* Two contexts in turns, as with KPTI. */
	for (u32 c = 0; c < 2; c++) {
		load_root(w, c, root, 2 + c);
		for (u32 i = 0; i < 300; i++)
			access_va(w, c, VA + i * 65536, false);
	}
	for (u32 i = 10; i < 266; i++)
		for (u32 c = 0; c < 2; c++)
			broadcast(w, MACH_ARM64_TLBI_VALE1IS,
				  tlbi(2 + c, 0, VA + i * 65536));
	assert_int_equal(mmu_broadcast_records(w->mmu), 2);
	for (u32 c = 0; c < 2; c++)
		for (u32 i = 0; i < 300; i++)
			assert_int_equal(mmu_cached(w->mmu, c, w->now, 2 + c,
						    VA + i * 65536, &pa),
					 i < 10 || i >= 266);
	/* A CPU that looked in between, or another time, or CPU: a new record. */
	broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(2, 0, VA));
	access_va(w, 0, VA, false);
	broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(2, 0, VA + 65536));
	w->now++;
	broadcast(w, MACH_ARM64_TLBI_VALE1IS, tlbi(2, 0, VA + 2 * 65536));
	mmu_broadcast(w->mmu, w->now, 1, MACH_ARM64_TLBI_VALE1IS,
		      tlbi(2, 0, VA + 3 * 65536), 0, 0);
	assert_int_equal(mmu_broadcast_records(w->mmu), 6);
	assert_int_equal(access_va(w, 0, VA, false).walked, 0);
	assert_int_equal(access_va(w, 0, VA + 65536, false).walked, 1);
	world_free(w);
}

/* CPUs that never look while the log overflows lose exactly what they should. */
static void test_log_overflow(void **state)
{
	struct world *w = arm_world(ARM64K, false, false, false);
	u64 root = new_table(w), pa;

	(void)state;
	for (u32 i = 0; i < 64; i++)
		map(w, root, VA + i * 65536, PA, 0, 0);
	for (u32 c = 0; c < 3; c++) {
		load_root(w, c, root, 4);
		for (u32 i = 0; i < 64; i++)
			access_va(w, c, VA + i * 65536, false);
	}
	load_root(w, 2, root, 6);	/* holds 4, but does not run it */
	for (u32 i = 0; i < 40000; i++) {
		w->now += 10;
		broadcast(w, MACH_ARM64_TLBI_VALE1IS,
			  tlbi(4, 0, VA + (i < 32 ? i * 2 : i % 32 * 2) * 65536));
	}
	for (u32 c = 0; c < 3; c++)
		for (u32 i = 0; i < 64; i++)
			assert_int_equal(mmu_cached(w->mmu, c, w->now, 4,
						    VA + i * 65536, &pa), i & 1);
	/* One of them is emptied by force, and is then no holder any more. */
	broadcast(w, MACH_ARM64_TLBI_ASIDE1IS, 4ULL << 48);
	for (u32 i = 0; i < 1000; i++)
		broadcast(w, MACH_ARM64_TLBI_ASIDE1IS, 4ULL << 48);
	assert_false(mmu_holds(w->mmu, 2, 4));
	assert_true(mmu_holds(w->mmu, 1, 4));
	world_free(w);
}

/* ------------------------------------------------------------ the chase */

struct chase_world {
	struct world *w;
	struct mach_chase ch;
	u32 *next;
	u64 user_ps, walk_ps;
	u64 root;
};

/* A cycle over all pages in random order. */
static u32 *new_cycle(struct world *w, u32 n)
{
	u32 *order = calloc(n, sizeof(*order)), *next = calloc(n, sizeof(*next));

	for (u32 i = 0; i < n; i++)
		order[i] = i;
	for (u32 i = n - 1; i > 0; i--) {
		u32 j = below(w, i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (u32 i = 0; i < n; i++)
		next[order[i]] = order[(i + 1) % n];
	free(order);
	return next;
}

static void chase_world_init(struct chase_world *cw, u64 seed, bool closed)
{
	struct world *w = cw->w = world_new((int)(seed % 3), 2);
	u32 n;

	w->rng ^= seed * 0xbf58476d1ce4e5b9ULL;
	w->desc.l1 = (struct tlb_geometry){ 1u << below(w, 3), 1 + below(w, 12) };
	w->desc.l2 = (struct tlb_geometry){ 1u << below(w, 4), below(w, 9) };
	for (u32 h = 1; h < w->levels; h++)
		w->desc.walk_cache[h] = below(w, 4);
	w->desc.hw_cost[HW_DVM_SNOOP].ps = below(w, 2) * 777;
	n = 1 + below(w, 60);
	world_create(w);
	mmu_set_closed_form(w->mmu, closed);
	cw->root = new_table(w);
	cw->next = new_cycle(w, n);
	/* Pages far apart too, so that walk caches are short of entries. */
	cw->ch = (struct mach_chase){
		.va = VA, .next = cw->next, .nr_pages = n,
		.page_shift = w->page_shift + 5 * below(w, 3),
	};
	/* Pages of the chase and some more; or blocks under all of them. */
	if (below(w, 5) == 0)
		for (u64 va = 0; va < (u64)(n + 20) << cw->ch.page_shift;
		     va += size_of(w, 1))
			map(w, cw->root, VA + va, PA + va, 1, 0);
	else
		for (u32 i = 0; i < n + 20; i++)
			map(w, cw->root, VA + ((u64)i << cw->ch.page_shift),
			    PA + i * size_of(w, 0), 0, below(w, 30) ? 0 : F_GLOBAL);
	load_root(w, 0, cw->root, w->kind == X86 ? 0 : 3);
}

static void chase_world_free(struct chase_world *cw)
{
	free(cw->next);
	world_free(cw->w);
}

/* Broadcasts in (now, now + len), then the chase of that interval. */
static void chase_interval(struct chase_world *cw)
{
	struct world *w = cw->w;
	u64 from = w->now, len = below(w, 3) ? below(w, 3000000) : below(w, 20000);
	u32 ops = below(w, 3) || w->kind == X86 ? 0 : below(w, 5);
	u64 user, walk, va, used;
	u32 fault;

	for (u32 i = 0; i < ops; i++) {
		u64 at = VA + ((u64)below(w, 120) << cw->ch.page_shift);
		static const u32 insn[] = { MACH_ARM64_TLBI_VAE1IS,
			MACH_ARM64_TLBI_VALE1IS, MACH_ARM64_TLBI_ASIDE1IS };

		w->now += below(w, (u32)(len / 5) + 1);
		at = below(w, 4) ? at : at + (1ULL << 40);
		mmu_broadcast(w->mmu, w->now, 1, insn[below(w, 20) / 9],
			      tlbi(3, 0, at), 0, 0);
	}
	w->now = from + len;
	used = mmu_chase(w->mmu, 0, &cw->ch, from, w->now, &user, &walk, &fault, &va);
	assert_int_equal(used, len);
	assert_int_equal(user + walk, len);
	assert_int_equal(fault, 0);
	cw->user_ps += user;
	cw->walk_ps += walk;
	/* Now and then the CPU does something else. */
	for (u32 n = below(w, 10) ? 0 : below(w, 8); n; n--)
		access_va(w, 0, VA + ((u64)below(w, cw->ch.nr_pages + 20)
				      << cw->ch.page_shift), false);
}

static void test_chase_closed_form(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 150; seed++) {
		struct chase_world a = { 0 }, b = { 0 };

		chase_world_init(&a, seed, true);
		chase_world_init(&b, seed, false);
		for (u32 i = 0; i < 40; i++) {
			struct mmu_stats sa, sb;

			chase_interval(&a);
			chase_interval(&b);
			assert_int_equal(a.ch.loads, b.ch.loads);
			assert_int_equal(a.ch.pos, b.ch.pos);
			assert_int_equal(a.user_ps, b.user_ps);
			assert_int_equal(a.walk_ps, b.walk_ps);
			mmu_stats(a.w->mmu, 0, &sa);
			mmu_stats(b.w->mmu, 0, &sb);
			assert_memory_equal(&sa, &sb, sizeof(sa));
			assert_int_equal(mmu_digest(a.w->mmu, 0),
					 mmu_digest(b.w->mmu, 0));
		}
		chase_world_free(&a);
		chase_world_free(&b);
	}
}

/* Cutting an interval into pieces changes nothing. */
static void test_chase_pieces(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 60; seed++) {
		struct chase_world a = { 0 }, b = { 0 };
		u64 t, user, walk, va, total[2] = { 0, 0 };
		u32 fault;

		chase_world_init(&a, seed, true);
		chase_world_init(&b, seed, true);
		mmu_chase(a.w->mmu, 0, &a.ch, 0, 5000000, &user, &walk, &fault, &va);
		total[0] = walk;
		for (t = 0; t < 5000000;) {
			u64 to = t + below(b.w, 90000);

			to = to > 5000000 ? 5000000 : to;
			mmu_chase(b.w->mmu, 0, &b.ch, t, to, &user, &walk, &fault, &va);
			total[1] += walk;
			t = to;
		}
		assert_int_equal(a.ch.loads, b.ch.loads);
		assert_int_equal(a.ch.pos, b.ch.pos);
		assert_int_equal(total[0], total[1]);
		assert_int_equal(mmu_digest(a.w->mmu, 0), mmu_digest(b.w->mmu, 0));
		chase_world_free(&a);
		chase_world_free(&b);
	}
}

static void test_chase_fault(void **state)
{
	struct world *w = arm_world(ARM4K, false, false, false);
	u64 root = new_table(w), user, walk, va = 0, used;
	static const u32 next[4] = { 1, 2, 3, 0 };
	struct mach_chase ch = { .va = VA, .next = next, .nr_pages = 4,
				 .page_shift = 12 };
	u32 fault;

	(void)state;
	for (u32 i = 0; i < 3; i++)
		map(w, root, VA + i * 4096, PA, 0, 0);
	load_root(w, 0, root, 1);
	/* 4 levels, then three loads of one level; then the fault's own walk. */
	used = mmu_chase(w->mmu, 0, &ch, 0, 1000000, &user, &walk, &fault, &va);
	assert_int_equal(fault, MMU_FAULT | MACH_FAULT_USER);
	assert_int_equal(va, VA + 3 * 4096);
	assert_int_equal(ch.pos, 3);
	assert_int_equal(ch.loads, 3);
	assert_int_equal(user, 3000);
	assert_int_equal(walk, 4 * 7000 + (4 + 1 + 1 + 1) * 11000);
	assert_int_equal(used, user + walk);
	/* The same fault, but its walk ends in the next interval. */
	used = mmu_chase(w->mmu, 0, &ch, used, used + 5000, &user, &walk, &fault, &va);
	assert_int_equal(used, 5000);
	assert_int_equal(fault, 0);
	used = mmu_chase(w->mmu, 0, &ch, 108000 + 5000, 200000, &user, &walk, &fault,
			 &va);
	assert_int_equal(used, 13000);
	assert_int_equal(fault, MMU_FAULT | MACH_FAULT_USER);
	/* Mapped: on it goes, to the limit. */
	map(w, root, VA + 3 * 4096, PA, 0, 0);
	ch.max_loads = 1000;
	used = mmu_chase(w->mmu, 0, &ch, 300000, 9000000, &user, &walk, &fault, &va);
	assert_int_equal(fault, 0);
	assert_int_equal(ch.loads, 1000);
	assert_int_equal(used, 997 * 1000 + 7000 + 11000);
	world_free(w);
}

/* Theft: exact, also when more is stolen than the interval has. */
static void test_chase_steal(void **state)
{
	struct world *w = world_new(ARM4K, 2);
	static const u32 next[1] = { 0 };
	struct mach_chase ch = { .va = VA, .next = next, .nr_pages = 1,
				 .page_shift = 12 };
	u64 root, user, walk, va;
	u32 fault;

	(void)state;
	w->desc.hw_cost[HW_DVM_SNOOP].ps = 50;
	world_create(w);
	root = new_table(w);
	map(w, root, VA, PA, 0, 0);
	load_root(w, 0, root, 1);
	access_va(w, 0, VA, false);
	/* Before the chase: not its business. */
	mmu_broadcast(w->mmu, 5000, 1, MACH_ARM64_TLBI_VAE1IS, tlbi(9, 0, VA), 0, 0);
	for (u32 i = 0; i < 30; i++)
		mmu_broadcast(w->mmu, 10000 + i * 10, 1, MACH_ARM64_TLBI_VAE1IS,
			      tlbi(9, 0, VA), 0, 0);
	mmu_chase(w->mmu, 0, &ch, 6000, 106000, &user, &walk, &fault, &va);
	assert_int_equal(walk, 30 * 50);
	assert_int_equal(user, 100000 - 30 * 50);
	for (u32 i = 0; i < 30; i++)
		mmu_broadcast(w->mmu, 106500, 1, MACH_ARM64_TLBI_VAE1IS,
			      tlbi(9, 0, VA), 0, 0);
	mmu_chase(w->mmu, 0, &ch, 106000, 107000, &user, &walk, &fault, &va);
	assert_int_equal(walk, 1000);
	mmu_chase(w->mmu, 0, &ch, 107000, 108000, &user, &walk, &fault, &va);
	assert_int_equal(walk, 500);
	world_free(w);
}

/* A page is unmapped, and invalidated, while a chase misses all the time. */
static void test_chase_unmap(void **state)
{
	u64 used[2], loads[2];

	(void)state;
	for (int closed = 0; closed < 2; closed++) {
		struct world *w = world_new(ARM4K, 1);
		u32 *next = new_cycle(w, 64), fault;
		struct mach_chase ch = { .va = VA, .next = next, .nr_pages = 64,
					 .page_shift = 12 };
		u64 root, user, walk, va;

		w->desc.l2 = (struct tlb_geometry){ 4, 2 };
		world_create(w);
		mmu_set_closed_form(w->mmu, closed);
		root = new_table(w);
		for (u32 i = 0; i < 64; i++)
			map(w, root, VA + i * 4096, PA, 0, 0);
		load_root(w, 0, root, 1);
		mmu_chase(w->mmu, 0, &ch, 0, 30000000, &user, &walk, &fault, &va);
		assert_int_equal(fault, 0);
		*entry(w, root, VA + ch.pos * 4096, 0) = 0;
		mmu_broadcast(w->mmu, 30000000, 0, MACH_ARM64_TLBI_VALE1IS,
			      tlbi(1, 0, VA + ch.pos * 4096), 0, 0);
		used[closed] = mmu_chase(w->mmu, 0, &ch, 30000000, 90000000, &user,
					 &walk, &fault, &va);
		assert_int_not_equal(fault, 0);
		assert_int_equal(va, VA + ch.pos * 4096);
		loads[closed] = ch.loads;
		free(next);
		world_free(w);
	}
	assert_int_equal(used[0], used[1]);
	assert_int_equal(loads[0], loads[1]);
}

/*
 * The only global entry of a CPU leaves and comes back, all before the time of
 * a record that was logged before the chase was evaluated.
 */
static void test_chase_global(void **state)
{
	struct world *w = world_new(ARM4K, 2);
	static const u32 next[2] = { 1, 0 };
	struct mach_chase ch = { .va = VA, .next = next, .nr_pages = 2,
				 .page_shift = 12, .max_loads = 2 };
	u64 root, user, walk, va;
	u32 fault;

	(void)state;
	w->desc.l1.ways = 0;
	w->desc.l2 = (struct tlb_geometry){ 1, 1 };
	world_create(w);
	root = new_table(w);
	map(w, root, VA, PA, 0, 0);
	map(w, root, VA + 4096, PA, 0, F_GLOBAL);
	load_root(w, 0, root, 1);
	assert_true(access_va(w, 0, VA + 4096, false).walked);
	assert_false(access_va(w, 0, VA + 4096, false).walked);
	mmu_broadcast(w->mmu, 5000000, 1, MACH_ARM64_TLBI_VALE1IS,
		      tlbi(1, 0, VA + 4096), 0, 0);
	mmu_chase(w->mmu, 0, &ch, w->now, 4000000, &user, &walk, &fault, &va);
	assert_int_equal(ch.loads, 2);
	w->now = 4500000;
	assert_false(access_va(w, 0, VA + 4096, false).walked);
	w->now = 5000000;
	assert_true(access_va(w, 0, VA + 4096, false).walked);
	world_free(w);
}

/*
 * A chase that announced itself sees thousands of records in the order of time;
 * the log has an end, though.
 */
static void test_chase_log(void **state)
{
	(void)state;
	for (u32 pass = 0; pass < 2; pass++) {
		struct world *w = arm_world(ARM4K, false, false, false);
		static const u32 next[2] = { 1, 0 };
		struct mach_chase ch = { .va = VA, .next = next, .nr_pages = 2,
					 .page_shift = 12 };
		u32 n = pass ? 40000 : 5000, fault;
		u64 root = new_table(w), user, walk, va;
		struct mmu_stats stats;

		map(w, root, VA, PA, 0, 0);
		map(w, root, VA + 4096, PA, 0, 0);
		load_root(w, 0, root, 1);
		mmu_chase(w->mmu, 0, &ch, 0, 0, &user, &walk, &fault, &va);
		for (u32 i = 1; i <= n; i++)
			mmu_broadcast(w->mmu, i * 1000000ULL, 1,
				      MACH_ARM64_TLBI_ASIDE1IS, 1ULL << 48, 0, 0);
		mmu_chase(w->mmu, 0, &ch, 0, (n + 1) * 1000000ULL, &user, &walk,
			  &fault, &va);
		mmu_stats(w->mmu, 0, &stats);
		if (pass)
			assert_true(stats.walk < 2 * n);
		else
			assert_int_equal(stats.walk, 2 * (n + 1));
		world_free(w);
	}
}

/* ------------------------------------------------------------ our own bugs */

enum { BUG_RANGE, BUG_TTL, BUG_FOREIGN, BUG_TIME, BUG_NO_ROOT, BUG_LOCAL, NR_BUGS };

static void commit_bug(struct world *w, int bug)
{
	u64 root = new_table(w);

	if (bug != BUG_NO_ROOT)
		load_root(w, 0, root, 1);
	switch (bug) {
	case BUG_RANGE:
		broadcast(w, MACH_ARM64_TLBI_RVAE1IS, 1ULL << 46);
		break;
	case BUG_TTL:
		broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(1, 7, VA));
		break;
	case BUG_FOREIGN:
		mmu_insn(w->mmu, 0, w->now, MACH_X86_INVLPG, VA, 0, 0);
		break;
	case BUG_TIME:
		broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(1, 0, VA));
		w->now--;
		broadcast(w, MACH_ARM64_TLBI_VAE1IS, tlbi(1, 0, VA));
		break;
	case BUG_NO_ROOT:
		access_va(w, 0, VA, false);
		break;
	case BUG_LOCAL:
		mmu_insn(w->mmu, 0, w->now, MACH_ARM64_TLBI_VAE1IS, tlbi(1, 0, VA), 0,
			 0);
		break;
	}
}

static void test_bugs_are_fatal(void **state)
{
	(void)state;
	for (int bug = 0; bug < NR_BUGS; bug++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			signal(SIGABRT, SIG_DFL);
			if (!freopen("/dev/null", "w", stderr))
				_exit(2);
			commit_bug(arm_world(ARM4K, false, false, false), bug);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

#ifdef TLBLAB_MARKS
static void test_marks(void **state)
{
	static const char *const name[] = {
#define X(m) #m,
		MACHINE_MARKS(X)
#undef X
	};
	bool all = true;

	(void)state;
	for (u32 i = 0; i < NR_MACHINE_MARKS; i++)
		if (!strncmp(name[i], "mmu_", 4) && !mark_count[i]) {
			print_error("never reached: %s\n", name[i]);
			all = false;
		}
	assert_true(all);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_property_x86),
		cmocka_unit_test(test_property_arm64_4k),
		cmocka_unit_test(test_property_arm64_64k),
		cmocka_unit_test(test_stale_walk_cache),
		cmocka_unit_test(test_stale_walk_cache_x86),
		cmocka_unit_test(test_ttl),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_asid_bits),
		cmocka_unit_test(test_access_dirty_arm64),
		cmocka_unit_test(test_access_dirty_x86),
		cmocka_unit_test(test_pcid),
		cmocka_unit_test(test_no_pcid),
		cmocka_unit_test(test_obedient),
		cmocka_unit_test(test_lru),
		cmocka_unit_test(test_walk_cache_lru),
		cmocka_unit_test(test_late_holder),
		cmocka_unit_test(test_broadcast_run),
		cmocka_unit_test(test_nobody_holds),
		cmocka_unit_test(test_coalesce),
		cmocka_unit_test(test_log_overflow),
		cmocka_unit_test(test_chase_closed_form),
		cmocka_unit_test(test_chase_pieces),
		cmocka_unit_test(test_chase_fault),
		cmocka_unit_test(test_chase_steal),
		cmocka_unit_test(test_chase_unmap),
		cmocka_unit_test(test_chase_global),
		cmocka_unit_test(test_chase_log),
		cmocka_unit_test(test_bugs_are_fatal),
#ifdef TLBLAB_MARKS
		cmocka_unit_test(test_marks), /* last */
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
