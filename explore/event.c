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

/* Objects of the same function that lie before it, plus one. */
static u32 number_of(const struct xworld *w, u32 unit)
{
	u32 n = 1;

	for (u32 i = 0; i < unit; i++)
		n += w->heap_obj[i] == i && w->heap_site[i] &&
		     !strcmp(w->heap_site[i]->func, w->heap_site[unit]->func);
	return n;
}

static const struct core_object *object_of(const struct xworld *w, const char *func)
{
	const struct core_object *o = w->prog.core ? w->prog.core->objects : NULL;

	while (o && o->func && strcmp(o->func, func))
		o++;
	return o && o->func ? o : NULL;
}

/* ".mm_users", ".stat+0x8" */
static void name_field(const struct core_object *o, u32 at, char *buf, size_t size)
{
	const struct core_field *f = o->fields;

	if (at < f->offset) {
		snprintf(buf, size, "+0x%x", at);
		return;
	}
	while (f[1].name && f[1].offset <= at)
		f++;
	if (at == f->offset)
		snprintf(buf, size, ".%s", f->name);
	else
		snprintf(buf, size, ".%s+0x%x", f->name, at - f->offset);
}

/*
 * "mm.mm_users", "mm2.context" of the second, "page[7]._refcount"; "pc_slot()+0x8" of
 * what its core has no name for.
 */
static void name_heap(const struct xworld *w, u32 off, char buf[64])
{
	u32 unit = (off - (u32)XHEAP_AT) >> 6, at, n, len;
	const struct core_object *o;
	const struct mach_site *site;

	if (off < XHEAP_AT || unit >= XHEAP_UNITS || !w->heap_site[w->heap_obj[unit]]) {
		snprintf(buf, 64, "%s+0x%x", off >= XSTACKS_AT ? "stack" : "heap",
			 off - (u32)(off >= XSTACKS_AT ? XSTACKS_AT : XHEAP_AT));
		return;
	}
	unit = w->heap_obj[unit];
	site = w->heap_site[unit];
	at = off - (u32)XHEAP_AT - (unit << 6);
	o = object_of(w, site->func);
	n = number_of(w, unit);
	if (!o) {
		snprintf(buf, 64, "%.40s()+0x%x", site->func, at);
		return;
	}
	len = (u32)snprintf(buf, 64, n > 1 ? "%s%u" : "%s", o->name, n);
	if (!strcmp(o->name, "page") || !strcmp(o->name, "cpu"))
		len += (u32)snprintf(buf + len, 64 - len, "[%u]", at / o->size);
	name_field(o, at % o->size, buf + len, 64 - len);
}

const char *xname_word(const struct xworld *cw, u32 off, char buf[64])
{
	static const char *const level[] = { "pte", "pmd", "pud", "pgd", "p5d" };
	/* Enumeration changes nothing. */
	struct xworld *w = (struct xworld *)(uintptr_t)cw;
	struct find_entry f = { .off = off };
	u32 frame = xframe_of(w, off);

	if (!frame) {
		name_heap(w, off, buf);
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
