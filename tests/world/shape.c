/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct shape_vars *v;
u64 *shape_x, *shape_y, *shape_z;
enum xarch shape_arch;

static const struct shape *shape;
static u32 outcome;

u64 *shape_entry(u64 frame, u32 index)
{
	struct mach_env *env = mach_env();

	return (u64 *)(void *)(env->phys_base + (frame << env->page_shift)) + index;
}

#define PPC_V (1ULL << 63)
#define PPC_LEAF (1ULL << 62)

u64 shape_table_entry(u64 frame)
{
	if (shape_arch == XARCH_POWERPC)
		return PPC_V | frame << 12 | 9;
	return frame << 12 | (shape_arch == XARCH_X86 ? 0x67 : 0x3);
}

u64 shape_page_entry(u64 frame, bool write)
{
	if (shape_arch == XARCH_X86)
		return frame << 12 | 0x65 | (write ? 2 : 0);
	if (shape_arch == XARCH_POWERPC)
		return PPC_V | PPC_LEAF | frame << 12 | 0x184 | (write ? 2 : 0);
	return frame << 12 | 0xf43 | (write ? 0 : 0x80);
}

#define X86_A 0x20ULL
#define X86_D 0x40ULL
#define ARM_RDONLY 0x80ULL
#define ARM_AF 0x400ULL
#define ARM_DBM (1ULL << 51)

bool shape_dirty(u64 entry)
{
	return shape_arch == XARCH_X86 ? entry & X86_D : entry && !(entry & ARM_RDONLY);
}

bool shape_accessed(u64 entry)
{
	return entry & (shape_arch == XARCH_X86 ? X86_A : ARM_AF);
}

u64 shape_mkold(u64 entry)
{
	return entry & ~(shape_arch == XARCH_X86 ? X86_A : ARM_AF);
}

static u64 mkclean(u64 entry)
{
	return shape_arch == XARCH_X86 ? entry & ~X86_D : entry | ARM_RDONLY | ARM_DBM;
}

u64 shape_load(u64 va)
{
	u64 val;

	return mach_env()->ops->user_access(va, false, &val) ? 9 : val;
}

static u64 frames(u32 order, bool table)
{
	u64 pfn = mach_alloc_frames(order, MACH_NODE_LOCAL,
				    MACH_GFP_ZERO | (table ? MACH_GFP_TABLE : 0));

	assert(pfn != MACH_NO_FRAME);
	return pfn;
}

static u64 frame(bool table)
{
	return frames(0, table);
}

static void load_root(void *info)
{
	(void)info;
	if (shape_arch == XARCH_X86)
		mach_x86_write_cr3(v->pgd << 12 | 1);
	else if (shape_arch == XARCH_POWERPC)
		mach_ppc_write_pid(1);
	else
		mach_arm64_write_ttbr0(v->pgd << 12 | 1ULL << 48);
}

static u64 first_entry(void)
{
	u64 entry = shape_page_entry(v->old, true);

	if (shape->clean)
		entry = mkclean(entry);
	return shape->not_accessed ? shape_mkold(entry) : entry;
}

void shape_set_root(u32 pid, u64 root)
{
	mach_store(shape_entry(v->prtb, pid * 2), root << 12 | 13, MACH_RELAXED);
}

/* The root has 64 KiB; the process table is one of 256 entries. */
static void make_process_table(void)
{
	v->pgd = frames(4, true);
	v->prtb = frame(true);
	shape_set_root(1, v->pgd);
	shape_set_root(2, v->pgd);
	mach_fence(MACH_PTESYNC);
	(void)mach_insn(MACH_PPC_PRTB, v->prtb << 12, 0, 0);
}

static void make_tables(void)
{
	u64 all = ~0ULL;

	if (shape_arch == XARCH_POWERPC)
		make_process_table();
	else
		v->pgd = frame(true);
	v->pud = frame(true);
	v->pmd = frame(true);
	v->pte = frame(true);
	v->pte2 = frame(true);
	v->old = frame(false);
	v->new = frame(false);
	mach_store(shape_entry(v->pgd, 0), shape_table_entry(v->pud), MACH_RELAXED);
	mach_store(shape_entry(v->pud, 1), shape_table_entry(v->pmd), MACH_RELAXED);
	mach_store(shape_entry(v->pmd, 1), shape_table_entry(v->pte), MACH_RELAXED);
	mach_store(shape_entry(v->pte, 1), first_entry(), MACH_RELAXED);
	mach_store(shape_entry(v->pte2, 1), shape_page_entry(v->new, true), MACH_RELAXED);
	mach_store(shape_entry(v->old, 0), 1ULL, MACH_RELAXED);
	mach_store(shape_entry(v->new, 0), 2ULL, MACH_RELAXED);
	load_root(NULL);
	mach_ipi(&all, load_root, NULL, true);
}

static void init(void *arg)
{
	(void)arg;
	v = mach_kalloc(sizeof(*v), 0);
	shape_x = mach_kalloc(8, 0);
	shape_y = mach_kalloc(8, 0);
	shape_z = mach_kalloc(8, 0);
	if (shape->tables)
		make_tables();
}

static void final(void *arg)
{
	(void)arg;
	outcome = 0;
	if (shape->last_words) {
		v->r[0] = mach_load(shape_x, MACH_RELAXED);
		v->r[1] = mach_load(shape_y, MACH_RELAXED);
	}
	for (u32 i = SHAPE_RS; i-- > 0;)
		outcome = outcome * 10 + (u32)v->r[i];
}

static void thread_fn(void *arg)
{
	shape->thread[(uintptr_t)arg]();
}

bool shape_saw(const struct seen *seen, u32 out)
{
	for (u32 i = 0; i < seen->n; i++)
		if (seen->out[i] == out)
			return true;
	return false;
}

static void note(struct seen *seen, const struct xresult *r)
{
	if (r->outcome == XOUT_VIOLATION) {
		if (!seen->rule)
			memcpy(seen->detail, r->detail, sizeof(seen->detail));
		seen->rule = seen->rule ? seen->rule : r->rule;
	} else if (!shape_saw(seen, outcome)) {
		assert(seen->n < 64);
		seen->out[seen->n++] = outcome;
	}
}

struct xworld *shape_world(const struct shape *s)
{
	static const char *const features[][2] = {
		{ "arm64.ttl", "on" }, { NULL, NULL },
	};
	static const char *const updates[][2] = {
		{ "arm64.ttl", "on" }, { "arm64.hafdbs", "on" }, { NULL, NULL },
	};
	struct xprogram p = {
		.name = "shape", .arch = s->arch, .nr_cpus = 1, .init = init, .final = final,
		.features = s->clean || s->not_accessed ? updates : features,
	};
	struct xworld *w;
	char error[200];

	shape = s;
	shape_arch = s->arch;
	for (u32 i = 0; i < XMAX_THREADS && s->thread[i]; i++) {
		p.thread[i] = (struct xthread){
			.name = "t", .cpu = i, .fn = thread_fn, .arg = (void *)(uintptr_t)i,
		};
		p.nr_threads = p.nr_cpus = i + 1;
	}
	w = xworld_create(&p, error, sizeof(error));
	if (!w)
		fail_msg("%s", error);
	xworld_set_overtaking(w, !s->in_order);
	return w;
}

void shape_run(const struct shape *s, struct seen *seen)
{
	static struct dfs d;
	struct xchooser chooser = dfs_chooser(&d);
	struct xworld *w = shape_world(s);
	struct xresult r;

	memset(seen, 0, sizeof(*seen));
	dfs_init(&d, s->bound ? s->bound : ~0U);
	do {
		xworld_run(w, &chooser, &r, NULL, NULL);
		note(seen, &r);
		assert_true(d.runs < 3000000);
	} while (dfs_next(&d));
	seen->runs = d.runs;
	xworld_destroy(w);
}
