// SPDX-License-Identifier: GPL-2.0-or-later
/* Worlds for litmus tests, and what values of tests are there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litmus/entry.h"
#include "litmus/run.h"

#define FRAMES 64
#define ROOT_HEIGHT 3
#define MAX_MACHINES 6

struct lit_machines {
	u32 n;
	struct lit_machine machine[MAX_MACHINES];
};

/* ------------------------------------------------------------------- boot */

static u32 new_frame(u32 gfp)
{
	u64 pfn = mach_alloc_frames(0, MACH_NODE_LOCAL, MACH_GFP_ZERO | gfp);

	XASSERT(pfn != MACH_NO_FRAME);
	return (u32)pfn;
}

static void link(const struct lit_machine *m, u32 table, u64 va, u32 height, u32 to)
{
	u64 *words = (u64 *)(void *)(mach_env()->phys_base + ((u64)table << LIT_PAGE_SHIFT));
	u64 bits = m->arch == LIT_X86 ? lit_entry_bits(LIT_X86, LIT_TABLE) : 3;

	mach_store(&words[va >> (LIT_PAGE_SHIFT + 9 * height) & 511],
		   (u64)to << LIT_PAGE_SHIFT | bits, MACH_RELAXED);
}

/* On the main thread's stack. Last-level tables stay empty: tests fill them. */
static void build(void *arg)
{
	struct lit_machine *m = arg;
	struct xworld *w = xstack()->w;

	m->root = new_frame(MACH_GFP_TABLE);
	m->upper[0] = new_frame(MACH_GFP_TABLE);
	m->upper[1] = new_frame(MACH_GFP_TABLE);
	link(m, m->root, lit_va(0), 3, m->upper[0]);
	link(m, m->upper[0], lit_va(0), 2, m->upper[1]);
	for (u32 i = 0; i < LIT_MAX_PAGES; i++) {
		m->table[i] = new_frame(MACH_GFP_TABLE);
		m->data[i] = new_frame(0);
		link(m, m->upper[1], lit_va(i), 1, m->table[i]);
	}
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		xmmu_load_root(w, cpu, (u64)m->root << LIT_PAGE_SHIFT, 0, false);
}

/* A world has a thread; this one never moves, for steps are taken by hand. */
static void no_thread(void *arg)
{
	(void)arg;
}

static bool create(struct lit_machine *m, char *error, size_t error_size)
{
	const struct xprogram program = {
		.name = "litmus", .arch = m->arch == LIT_X86 ? XARCH_X86 : XARCH_ARM64,
		.nr_cpus = m->nr_cpus, .nr_frames = FRAMES, .page_shift = LIT_PAGE_SHIFT,
		.init = build, .arg = m, .no_conflict = true,
		.nr_threads = 1, .thread = { { .name = "none", .fn = no_thread } },
	};

	m->w = xworld_create(&program, error, error_size);
	if (!m->w)
		return false;
	m->nr_words = m->w->a->nr_words;
	m->nr_msgs = m->w->a->nr_msgs;
	return true;
}

struct lit_machines *litmus_machines(void)
{
	return calloc(1, sizeof(struct lit_machines));
}

void litmus_machines_free(struct lit_machines *all)
{
	if (!all)
		return;
	for (u32 i = 0; i < all->n; i++)
		xworld_destroy(all->machine[i].w);
	free(all);
}

/* With as many CPUs as there are columns, or one more. */
struct lit_machine *lit_machine_for(struct lit_machines *all, const struct litmus *t,
				    char *error, size_t error_size)
{
	u32 cpus = t->nr_threads + t->nr_threads % 2;
	struct lit_machine *m;

	for (u32 i = 0; i < all->n; i++)
		if (all->machine[i].arch == t->arch && all->machine[i].nr_cpus == cpus)
			return &all->machine[i];
	XASSERT(all->n < MAX_MACHINES);
	m = &all->machine[all->n];
	*m = (struct lit_machine){ .arch = t->arch, .nr_cpus = cpus };
	if (!create(m, error, error_size))
		return NULL;
	all->n++;
	return m;
}

/* ----------------------------------------------------------------- values */

/* Physical. */
static u64 place(const struct lit_machine *m, const struct lit_loc *loc)
{
	switch (loc->kind) {
	case LIT_ENTRY_AT:
		return ((u64)m->table[loc->page] << LIT_PAGE_SHIFT) +
		       (lit_va(loc->page) >> 12 & 511) * 8;
	case LIT_TABLE_AT:
		return ((u64)m->upper[1] << LIT_PAGE_SHIFT) +
		       (lit_va(loc->page) >> 21 & 511) * 8;
	default:
		return ((u64)m->data[loc->page] << LIT_PAGE_SHIFT) + loc->offset;
	}
}

u32 lit_offset(const struct lit_machine *m, const struct lit_loc *loc)
{
	return XFRAMES_AT + (u32)place(m, loc);
}

u64 lit_number_of(const struct lit_machine *m, const struct lit_value *v)
{
	const struct lit_loc loc = { v->kind, v->page, 0 };

	switch (v->kind) {
	case LIT_ADDRESS:
		return lit_va(v->page);
	case LIT_ENTRY_AT:
	case LIT_TABLE_AT:
		return LIT_LINEAR + place(m, &loc);
	case LIT_ENTRY:
		return (u64)v->num | (u64)m->data[v->page] << LIT_PAGE_SHIFT;
	case LIT_TABLE:
		return (u64)v->num | (u64)m->table[v->page] << LIT_PAGE_SHIFT;
	default:
		return (u64)v->num;
	}
}

int lit_page_at(const struct litmus *t, const struct lit_machine *m, u64 address)
{
	for (u32 i = 0; i < t->nr_pages; i++) {
		const struct lit_loc entry = { LIT_ENTRY_AT, (u8)i, 0 };

		if (address >> LIT_PAGE_SHIFT == lit_va(i) >> LIT_PAGE_SHIFT ||
		    address == LIT_LINEAR + place(m, &entry))
			return (int)i;
	}
	return -1;
}

static bool entry_text(const struct litmus *t, const struct lit_machine *m, u64 val,
		       char *buf, size_t size)
{
	u64 fields = 0;
	size_t n;
	u32 i;

	for (const struct lit_field *f = lit_fields(t->arch); f->name; f++)
		fields |= 1ULL << f->bit;
	for (i = 0; i < t->nr_pages; i++)
		if ((val & LIT_ENTRY_ADDRESS) == (u64)m->data[i] << LIT_PAGE_SHIFT)
			break;
	if (i == t->nr_pages || ((val ^ lit_entry_bits(t->arch, LIT_ENTRY)) &
				 ~(fields | LIT_ENTRY_ADDRESS)))
		return false;
	n = (size_t)snprintf(buf, size, "(oa:PA(%s)", t->page[i].name);
	for (const struct lit_field *f = lit_fields(t->arch); f->name && n < size; f++)
		if (lit_entry_get(f, val) != f->def)
			n += (size_t)snprintf(buf + n, size - n, ", %s:%u", f->name,
					      lit_entry_get(f, val));
	if (n < size)
		snprintf(buf + n, size - n, ")");
	return true;
}

void lit_value_text(const struct litmus *t, const struct lit_machine *m, u64 val, char *buf,
		    size_t size)
{
	for (u32 i = 0; i < t->nr_pages; i++) {
		static const char *const prefix[] = { "", "pte_", "pde_" };
		const u8 kind[] = { LIT_ADDRESS, LIT_ENTRY_AT, LIT_TABLE_AT };

		for (u32 k = 0; k < 3; k++) {
			const struct lit_value v = { kind[k], (u8)i, 0 };

			if (val != lit_number_of(m, &v))
				continue;
			snprintf(buf, size, "%s%s", prefix[k], t->page[i].name);
			return;
		}
		if (t->arch == LIT_X86 &&
		    (val & LIT_ENTRY_ADDRESS) == (u64)m->table[i] << LIT_PAGE_SHIFT) {
			snprintf(buf, size, "(table:%s%s)", t->page[i].name,
				 val & 1 ? "" : ", valid:0");
			return;
		}
	}
	if (!entry_text(t, m, val, buf, size))
		snprintf(buf, size, "%lld", (long long)val);
}

/* ------------------------------------------------------------------ begin */

static void preset(struct lit_machine *m, const struct litmus *t, const struct lit_loc *loc,
		   u64 val)
{
	u32 size = loc->kind == LIT_ADDRESS ? t->page[loc->page].word : 8;

	xworld_preset(m->w, lit_offset(m, loc), size, val);
}

void lit_machine_begin(struct lit_machine *m, const struct litmus *t)
{
	struct xworld *w = m->w;

	w->ha = w->hd = w->privileged = 0;
	for (u32 i = 0; i < t->nr_threads && i < LIT_MAX_THREADS; i++) {
		u32 bit = 1U << i;

		w->ha |= t->thread[i].ha ? bit : 0;
		w->hd |= t->thread[i].hd ? bit : 0;
		w->privileged |= t->thread[i].el0 ? 0 : bit;
	}
	w->features = t->updates ? w->features | XFEAT_HAFDBS : w->features & ~XFEAT_HAFDBS;
	for (u32 i = 0; i < t->nr_pages; i++) {
		const struct lit_value entry = {
			LIT_ENTRY, (u8)i, (s64)lit_entry_bits(t->arch, LIT_ENTRY)
		};

		preset(m, t, &(struct lit_loc){ LIT_ENTRY_AT, (u8)i, 0 },
		       lit_number_of(m, &entry));
		for (u32 k = 0; k < 64; k++)
			if (t->page[i].words >> k & 1)
				preset(m, t, &(struct lit_loc){ LIT_ADDRESS, (u8)i,
								(u16)(k * 4) }, 0);
	}
	for (u32 i = 0; i < t->nr_inits; i++)
		preset(m, t, &t->init[i].loc, lit_number_of(m, &t->init[i].value));
}
