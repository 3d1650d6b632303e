/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The raw lines of a story, kept only when asked for. */
#include <stdarg.h>

#include "world.h"

void xevent_add(struct xworld *w, u32 kind, u32 index, u32 cpu,
		const struct mach_site *site, const char *fmt, ...)
{
	struct xevent *e;
	va_list ap;

	if (w->a->phase != XPHASE_RUN || w->booting || w->nr_events == w->max_events)
		return;
	e = &w->events[w->nr_events++];
	*e = (struct xevent){
		.step = w->a->step, .agent_kind = (u16)kind, .agent_index = (u16)index,
		.cpu = cpu, .site = site,
	};
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

struct find_entry {
	u32 off;
	u64 va;
	u32 height;
};

static bool is_entry(struct xworld *w, const struct xpath *path, const struct xpte *p,
		     void *arg)
{
	struct find_entry *f = arg;
	const struct xhop *hop = &path->hop[path->n - 1];

	(void)w;
	(void)p;
	if (hop->off != f->off || path->hop[path->n - 1].table_gen !=
	    w->a->frame[xframe_of(w, f->off)].gen)
		return false;
	f->va = path->va;
	f->height = hop->height;
	return true;
}

const char *xname_word(const struct xworld *cw, u32 off, char buf[64])
{
	static const char *const level[] = { "pte", "pmd", "pud", "pgd", "p5d" };
	/* Enumeration changes nothing. */
	struct xworld *w = (struct xworld *)(uintptr_t)cw;
	struct find_entry f = { .off = off };
	u32 frame = xframe_of(w, off);

	if (!frame) {
		snprintf(buf, 64, "heap+0x%x", off - (u32)XHEAP_AT);
		return buf;
	}
	for (u32 i = 0; w->a->frame[frame].table && i < w->nr_cpus; i++) {
		const struct xcpu *c = &w->a->cpu[i];

		if (!c->loaded || !xmmu_enumerate(w, c->root, c->root_gen, XVA_ANY, is_entry, &f))
			continue;
		snprintf(buf, 64, "%s[0x%llx]",
			 f.height == w->nr_levels - 1 ? "pgd" : level[f.height],
			 (unsigned long long)f.va);
		return buf;
	}
	snprintf(buf, 64, "frame %u+0x%x", frame,
		 off & ((1U << w->page_shift) - 1));
	return buf;
}
