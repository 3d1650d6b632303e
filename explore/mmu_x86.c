/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64: SDM vol. 3A 4.5 (entries), 4.8 (accessed and dirty), 4.10 (caches).
 *
 * A CPU's TLB and paging-structure caches may hold, for a PCID, whatever its
 * walker could have read since the last operation that dropped it: at any time
 * while the root was loaded, speculatively, in any mode. may_hold() plays the
 * CPU's log of roots and invalidations against the lifetimes of the messages on
 * the path:
 *
 *	a table entry is in the cache from the first moment that it stood in memory and the
 *	entry above was in memory or in the cache, until the next invalidation
 *	of that PCID (each drops all of its paging-structure caches);
 *	a leaf likewise, until an invalidation of its page or of the PCID.
 *
 * All operations but the last two serialise: they wait for the store buffer. Not modelled:
 * global pages.
 *
 * INVLPGB and TLBSYNC (AMD, APM vol. 3) do not: INVLPGB is weakly ordered. It reaches each CPU
 * at some time of its own, and all of them have done it when TLBSYNC of the CPU that issued it
 * is through; another CPU's TLBSYNC says nothing. So it has its place in every CPU's log
 * at once, the issuing CPU's too, but drops nothing while it is pending: until then all
 * that was cached before may be used; from then on only what was filled after that place.
 * TLBSYNC also waits for stores of other CPUs that went through what is dropped, and so for
 * those before them: they become visible with it. Like INVLPG, INVLPGB leaves nothing of the
 * paging-structure caches (EFER.TCE = 0). Not modelled: a leaf of another page that a CPU
 * fills by such a cache between INVLPGB and TLBSYNC.
 */
#include "world.h"

#define X86_P		(1ULL << 0)
#define X86_W		(1ULL << 1)
#define X86_U		(1ULL << 2)
#define X86_A		(1ULL << 5)
#define X86_D		(1ULL << 6)
#define X86_PS		(1ULL << 7)
#define X86_ADDR	0x000ffffffffff000ULL
#define X86_PAT_LARGE	(1ULL << 12)
#define X86_PCID_MASK	0xfffULL

static void init(struct xworld *w)
{
	w->nr_levels = 4;
	w->marks = true;
}

static void decode(const struct xworld *w, u64 val, u32 height, struct xpte *p)
{
	memset(p, 0, sizeof(*p));
	if (!(val & X86_P))
		return;
	p->user = !!(val & X86_U);
	p->write = !!(val & X86_W);
	p->pa = val & X86_ADDR;
	p->kind = height == 0 || (val & X86_PS) ? XPTE_LEAF : XPTE_TABLE;
	if (p->kind == XPTE_TABLE)
		return;
	if (height)
		p->pa &= ~X86_PAT_LARGE;
	if (height == 3 || (p->pa & ((1ULL << xheight_shift(w, height)) - 1)))
		p->kind = XPTE_BAD;
	p->accessed = !!(val & X86_A);
	p->dirty = !!(val & X86_D);
	p->usable = 1;
}

static u64 mark_used(const struct xworld *w, u64 val, bool write)
{
	(void)w;
	return val | X86_A | (write ? X86_D : 0);
}

/* ---- what may be cached ---- */

struct held {
	u32 from[TLBLAB_MAX_PT_LEVELS];	/* in the walk caches since, or XNEVER */
	bool tlb;
};

static void forget_walk(struct held *h)
{
	for (u32 i = 0; i < TLBLAB_MAX_PT_LEVELS; i++)
		h->from[i] = XNEVER;
}

/*
 * The root was loaded from start to end, both odd: a moment at least, even if no
 * write came in between. An entry can be read from its ts on, before its tw.
 */
static void may_fill(struct held *h, const struct xpath *path, bool leaf, u32 start, u32 end)
{
	u32 above = start;

	for (u32 i = 0; i < path->n; i++) {
		u32 lo = path->hop[i].ts > above ? path->hop[i].ts : above;
		bool filled;

		if (lo < start)
			lo = start;
		filled = lo <= end && lo < path->hop[i].tw;
		if (leaf && i + 1 == path->n) {
			h->tlb |= filled;
			return;
		}
		if (filled && lo < h->from[i])
			h->from[i] = lo;
		if (h->from[i] == XNEVER)
			return;
		above = h->from[i];
	}
}

/* Does one of l's addresses lie in what the end of path maps? */
static bool names(const struct xworld *w, const struct xlog *l, const struct xpath *path)
{
	u64 size = 1ULL << xheight_shift(w, path->hop[path->n - 1].height);
	u64 start = path->va & ~(size - 1), va = l->va, n;

	if (va < start) {
		n = (start - va + (1ULL << l->stride) - 1) >> l->stride;
		if (n >= l->nr)
			return false;
		va += n << l->stride;
	}
	return va >= start && va - start < size;
}

static void apply(struct held *h, const struct xworld *w, const struct xuse *use,
		  const struct xpath *path, const struct xlog *l)
{
	if (l->ctx != use->ctx && l->ctx != XCTX_ANY)
		return;
	forget_walk(h);
	if (l->kind == XLOG_DROP_ALL || names(w, l, path))
		h->tlb = false;
}

static bool may_hold(struct xworld *w, struct xuse *use, const struct xpath *path)
{
	const struct xlog *log = w->a->log[use->cpu];
	u32 n = w->a->cpu[use->cpu].nr_log, start = 0;
	bool loaded = false;
	struct held h;

	if (xpath_current(path) && use->root == w->a->cpu[use->cpu].root)
		return true;
	/* Not cached. A cached right that is too small faults, spuriously: SDM 4.10.4.3. */
	if (use->fault && use->absent)
		return false;
	forget_walk(&h);
	h.tlb = false;
	for (u32 i = 0; i < n; i++) {
		const struct xlog *l = &log[i];

		if (l->pending)
			continue;
		if (loaded)
			may_fill(&h, path, use->leaf, start, l->time);
		start = l->time;
		if (l->kind == XLOG_ROOT)
			loaded = l->root == use->root && l->root_gen == use->root_gen &&
				 l->ctx == use->ctx;
		else
			apply(&h, w, use, path, l);
	}
	if (loaded)
		may_fill(&h, path, use->leaf, start, xnow_odd(w));
	return use->leaf ? h.tlb : h.from[path->n - 1] != XNEVER;
}

/* ---- instructions ---- */

static void drop(struct xworld *w, u32 cpu, enum xlog_kind kind, u32 ctx, u64 va)
{
	/* Paths have no sign: the upper half begins where the lower ends. */
	va &= (1ULL << 48) - 1;
	xmmu_log(w, cpu, &(struct xlog){ .kind = (u8)kind, .ctx = ctx, .va = va });
}

static void invpcid(struct xworld *w, u32 cpu, u64 va, u64 pcid, u32 type)
{
	switch (type) {
	case 0:
		drop(w, cpu, XLOG_DROP_PAGE, (u32)pcid, va);
		break;
	case 1:
		drop(w, cpu, XLOG_DROP_ALL, (u32)pcid, 0);
		break;
	default:
		drop(w, cpu, XLOG_DROP_ALL, XCTX_ANY, 0);
	}
}

/* On all CPUs, but not yet. rAX, EDX and ECX are as machine.h has them. */
static void invlpgb(struct xworld *w, u32 cpu, u64 rax, u64 edx, u32 ecx)
{
	bool page = rax & MACH_X86_INVLPGB_VA;
	struct xlog l = {
		.kind = page ? XLOG_DROP_PAGE : XLOG_DROP_ALL, .pending = (u8)(cpu + 1),
		.ctx = rax & MACH_X86_INVLPGB_PCID ? (u32)(edx >> 16 & X86_PCID_MASK) : XCTX_ANY,
		.va = page ? rax & ~X86_PCID_MASK : 0, .nr = (ecx & 0xffff) + 1,
		.stride = ecx & MACH_X86_INVLPGB_PMD ? 21 : 12,
	};

	for (u32 i = 0; i < w->nr_cpus; i++)
		xmmu_log(w, i, &l);
}

/* Does it drop what the store went through? */
static bool holds_up(const struct xworld *w, const struct xlog *l, const struct xstore *s)
{
	struct xpath path = { .n = 1, .va = s->va };

	if (s->kind != XSTORE_USER)
		return false;
	for (u32 h = 0; h < w->nr_levels && xheight_shift(w, h) <= s->shift; h++)
		path.hop[0].height = (u8)h;
	return l->kind == XLOG_DROP_ALL || names(w, l, &path);
}

/* How many of that CPU's buffered stores cpu's TLBSYNC waits for. */
static u32 nr_held(const struct xworld *w, u32 cpu, u32 other)
{
	const struct xcpu *c = &w->a->cpu[other];
	u32 n = 0;

	for (u32 k = 0; k < c->nr_log; k++)
		for (u32 i = n; i < c->nr_sb && w->a->log[other][k].pending == cpu + 1; i++)
			if (holds_up(w, &w->a->log[other][k], &c->sb[i]))
				n = i + 1;
	return n;
}

/* What cpu has issued is done on all CPUs. */
static void tlbsync(struct xworld *w, u32 cpu)
{
	for (u32 i = 0; i < w->nr_cpus; i++) {
		for (u32 n = i == cpu ? 0 : nr_held(w, cpu, i); n; n--)
			xmem_drain_one(w, i, 0);
		for (u32 k = 0; k < w->a->cpu[i].nr_log; k++)
			if (w->a->log[i][k].pending == cpu + 1)
				w->a->log[i][k].pending = 0;
	}
}

static s64 insn(struct xworld *w, struct xthr *t, u32 op, u64 a, u64 b, u32 c)
{
	static const char *const name[] = {
		[MACH_X86_INVLPG] = "INVLPG", [MACH_X86_INVPCID] = "INVPCID",
		[MACH_X86_CR3] = "CR3 (flushing) =", [MACH_X86_CR3_NOFLUSH] = "CR3 =",
		[MACH_X86_CR4_PGE] = "CR4.PGE", [MACH_X86_INVLPGB] = "INVLPGB",
		[MACH_X86_TLBSYNC] = "TLBSYNC",
	};
	u32 pcid = (u32)(a & X86_PCID_MASK);

	XASSERT(op < sizeof(name) / sizeof(*name) && name[op]);
	xev_t(w, t, t->step.site, "%s 0x%llx", name[op],
	      (unsigned long long)(a & ~MACH_X86_CR3_NOFLUSH_BIT));
	switch (op) {
	case MACH_X86_INVLPG:
		drop(w, t->cpu, XLOG_DROP_PAGE, xcpu_of(w, t)->ctx, a);
		break;
	case MACH_X86_INVPCID:
		invpcid(w, t->cpu, a, b, c);
		break;
	case MACH_X86_CR3:
	case MACH_X86_CR3_NOFLUSH:
		xmmu_load_root(w, t->cpu, a & X86_ADDR, pcid, op == MACH_X86_CR3);
		break;
	case MACH_X86_INVLPGB:
		invlpgb(w, t->cpu, a, b, c);
		break;
	case MACH_X86_TLBSYNC:
		tlbsync(w, t->cpu);
		break;
	default:
		drop(w, t->cpu, XLOG_DROP_ALL, XCTX_ANY, 0);
	}
	return 0;
}

static bool broadcast(u32 op)
{
	return op == MACH_X86_INVLPGB || op == MACH_X86_TLBSYNC;
}

static bool insn_footprint(struct xworld *w, u32 cpu, u32 op, struct xstep *s)
{
	for (u32 i = 0; i < w->nr_cpus; i++) {
		if (i == cpu || broadcast(op))
			xstep_add(s, XOBJ_TLB, i, true);
		if (op == MACH_X86_TLBSYNC && i != cpu)
			for (u32 k = 0, n = nr_held(w, cpu, i); k < n; k++)
				xmem_drain_footprint(w, i, k, s);
	}
	return true;
}

static bool insn_drains(u32 op)
{
	return !broadcast(op);
}

const struct xmmu_arch xmmu_x86 = {
	.name = "x86",
	.init = init,
	.decode = decode,
	.mark_used = mark_used,
	.may_hold = may_hold,
	.insn = insn,
	.insn_footprint = insn_footprint,
	.insn_drains = insn_drains,
};
