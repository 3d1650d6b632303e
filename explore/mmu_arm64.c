/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: Arm ARM D8.3 (descriptors), D8.5 (AF and dirty state), D8.14, C5.5
 * (TLBI); walks by reference/arm64-mmu-model.md, extended:
 *
 *	levels	 each entry on the way is a message of its own. A hop must not have been
 *		 overwritten before the entry above it was written: no cache
 *		 could have brought the two together.
 *	TLBI	 VALE and RVALE rule out leaves only; VAE and RVAE also the table entries
 *		 on the way to the address; ASIDE and VMALLE everything. With a level
 *		 hint: if no leaf of the address is at that level, nothing.
 *	ASIDs	 an invalidation is for the ASID that it names. What was walked under a root
 *		 that is no longer loaded stays, under its ASID, until an
 *		 invalidation completes after the root was replaced.
 *	roots	 nothing is cached that was overwritten before its root was loaded: a direct
 *		 write of TTBR0 (POWER: of the PID) is not speculative, so it comes after
 *		 the loads that branches before it depend on, and walks by it come later.
 *
 * With hafdbs, hardware sets AF and the dirty state with the access or later, and AF with
 * no access at all: update.c for C code, access.c for litmus tests. No user entry is global; contiguous hints are ignored.
 */
#include "world.h"

#define ARM_TYPE_MASK	3ULL
#define ARM_TYPE_TABLE	3ULL	/* or a page */
#define ARM_AP_USER	(1ULL << 6)
#define ARM_AP_RDONLY	(1ULL << 7)
#define ARM_AF		(1ULL << 10)
#define ARM_DBM		(1ULL << 51)
#define ARM_ADDR	0x0000fffffffff000ULL
#define TTBR_ROOT	0x0000fffffffffffeULL

static void init(struct xworld *w)
{
	w->nr_levels = w->page_shift == 12 ? 4 : 3;
	w->owes = w->marks = w->features & XFEAT_HAFDBS;
}

static void decode_leaf(const struct xworld *w, u64 val, u32 height, struct xpte *p)
{
	bool hafdbs = w->features & XFEAT_HAFDBS;

	p->kind = XPTE_LEAF;
	p->pa = val & ARM_ADDR & ~((1ULL << xheight_shift(w, height)) - 1);
	p->dirty = !(val & ARM_AP_RDONLY);
	p->dbm = !!(val & ARM_DBM);
	p->write = p->dirty || (hafdbs && p->dbm);
	p->user = !!(val & ARM_AP_USER);
	p->accessed = !!(val & ARM_AF);
	p->usable = p->accessed || hafdbs;
}

/* TCR_EL1.HA and HD. */
static void for_cpu(const struct xworld *w, u32 cpu, struct xpte *p)
{
	if (p->kind != XPTE_LEAF)
		return;
	p->write = p->dirty || (p->dbm && (w->hd >> cpu & 1));
	p->usable = p->accessed || (w->ha >> cpu & 1);
}

static void decode(const struct xworld *w, u64 val, u32 height, struct xpte *p)
{
	u64 type = val & ARM_TYPE_MASK;

	memset(p, 0, sizeof(*p));
	if (!(type & 1))
		return;
	if (type == ARM_TYPE_TABLE && height) {
		p->kind = XPTE_TABLE;
		p->pa = val & ARM_ADDR & ~((1ULL << w->page_shift) - 1);
		p->user = p->write = 1;
	} else if (type == ARM_TYPE_TABLE || height == 1 ||
		   (height == 2 && w->page_shift == 12)) {
		decode_leaf(w, val, height, p);
	}
}

static u64 mark_used(const struct xworld *w, u64 val, bool write)
{
	if (!(w->features & XFEAT_HAFDBS))
		return val;
	val |= ARM_AF;
	if (write && (val & ARM_DBM))
		val &= ~ARM_AP_RDONLY;
	return val;
}

/* ---- what may be cached ---- */

/* Is k for this CPU and ASID, and does it name part of what hop maps? */
static bool names(const struct xworld *w, const struct xtlbi *k, const struct xuse *use,
		  const struct xpath *path, u32 i)
{
	u64 mask = (1ULL << xheight_shift(w, path->hop[i].height)) - 1;

	if (k->local && k->cpu != use->cpu && xlaw(w, XLAW_LOCAL))
		return false;
	if (k->ctx != XCTX_ANY && k->ctx != use->ctx)
		return false;
	return (path->va | mask) >= k->start && (path->va & ~mask) <= k->last;
}

/* And complete? */
static bool applies(const struct xworld *w, const struct xtlbi *k, const struct xuse *use,
		    const struct xpath *path, u32 i)
{
	return k->d && names(w, k, use, path, i);
}

static bool in_classes(const struct xworld *w, const struct xtlbi *k, u64 va)
{
	u32 class = va >> w->page_shift & 127;

	return k->classes[class / 64] >> (class % 64) & 1;
}

/* Is hop i of path among what k drops? */
static bool drops(const struct xworld *w, const struct xtlbi *k, const struct xuse *use,
		  const struct xpath *path, u32 i)
{
	const struct xhop *end = &path->hop[path->n - 1];

	if (use->leaf && i + 1 == path->n)
		return k->tlb && (k->height < 0 || k->height == end->height) &&
		       in_classes(w, k, path->va);
	/* A table entry: the hinted leaf must be below it, and there if we know. */
	return k->walk && (k->height < 0 || (k->height < path->hop[i].height &&
					     (!use->leaf || k->height == end->height)));
}

/* POWER: although k drops it. An ERAT holds whole translations. */
static bool erat_keeps(const struct xtlbi *k, const struct xuse *use)
{
	return use->leaf && (((k->missed >> use->cpu & 1) && !k->erat) ||
			     (k->spares_erat && k->cpu == use->cpu));
}

/* Rule 2 of the model for one invalidation. */
static bool survives(const struct xworld *w, const struct xtlbi *k, const struct xuse *use,
		     const struct xpath *path, u32 i, u32 rv)
{
	if (!applies(w, k, use, path, i) || !drops(w, k, use, path, i) ||
	    path->hop[i].tw > k->t)
		return true;
	/* Longer than any view. */
	if (erat_keeps(k, use))
		return true;
	if (rv >= k->d && xlaw(w, XLAW_TLBI_WALK))
		return false;
	if (k->cpu == use->cpu && xlaw(w, XLAW_OWN_ACCESS))
		return true;
	if (use->ev >= k->d && xlaw(w, XLAW_TLBI_ACCESS))
		return false;
	if (use->fault && xlaw(w, XLAW_OFFSET_FAULT))
		return true;
	return w->a->cpu[use->cpu].v.vtr[path->va >> 3 & 7] < k->d ||
	       !xlaw(w, XLAW_OFFSET);
}

bool xtlbi_drops_store(const struct xworld *w, const struct xtlbi *k, u32 cpu,
		       const struct xstore *s)
{
	struct xuse use = { .cpu = cpu, .ctx = w->a->cpu[cpu].ctx, .leaf = true };
	struct xpath path = { .n = s->nr_via, .va = s->va };

	if (s->kind != XSTORE_USER)
		return false;
	for (u32 i = 0; i < path.n; i++) {
		path.hop[i].height = (u8)(w->nr_levels - 1 - i);
		path.hop[i].tw = s->via[i] == XNIL ? XNEVER : w->a->msg[s->via[i]].tw;
	}
	for (u32 i = 0; i < path.n; i++)
		if (names(w, k, &use, &path, i) && drops(w, k, &use, &path, i) &&
		    path.hop[i].tw <= k->t)
			return true;
	return false;
}

static bool of_root(const struct xlog *l, const struct xuse *use)
{
	return l->kind == XLOG_ROOT && l->root == use->root && l->root_gen == use->root_gen &&
	       l->ctx == use->ctx;
}

/* Was use's root the CPU's at that time? */
static bool loaded_at(const struct xworld *w, const struct xuse *use, u32 time)
{
	const struct xlog *log = w->a->log[use->cpu];

	for (u32 i = w->a->cpu[use->cpu].nr_log; i-- > 0;)
		if (log[i].kind == XLOG_ROOT && log[i].time <= time)
			return of_root(&log[i], use);
	return false;
}

/* Has an invalidation dropped hop i since left, while the root was away? Else survives() says. */
static bool dropped_away(const struct xworld *w, const struct xuse *use,
			 const struct xpath *path, u32 i, u32 left)
{
	for (u32 k = 0; k < w->a->nr_tlbi && left != XNEVER; k++) {
		const struct xtlbi *t = &w->a->tlbi[k];

		if (applies(w, t, use, path, i) && drops(w, t, use, path, i) &&
		    t->d >= left && !erat_keeps(t, use) && !loaded_at(w, use, t->d))
			return true;
	}
	return false;
}

/* Can hop i have been cached while use's root was loaded, and since? By the CPU's log. */
static bool cached(const struct xworld *w, const struct xuse *use, const struct xpath *path,
		   u32 i)
{
	const struct xlog *log = w->a->log[use->cpu];
	u32 left = XNEVER;

	for (u32 k = w->a->cpu[use->cpu].nr_log; k-- > 0;) {
		if (log[k].kind != XLOG_ROOT)
			continue;
		if (of_root(&log[k], use) && path->hop[i].tw > log[k].view &&
		    !dropped_away(w, use, path, i, left))
			return true;
		left = log[k].time;
	}
	return false;
}

/* Under a root that is not loaded only whole translations count. */
static bool root_survives(const struct xworld *w, const struct xuse *use,
			  const struct xpath *path)
{
	const struct xcpu *c = &w->a->cpu[use->cpu];
	bool loaded = use->root == c->root && use->root_gen == c->root_gen &&
		      use->ctx == c->ctx;

	for (u32 i = loaded ? 0 : path->n - 1; i < path->n; i++)
		if (!(loaded && path->hop[i].tw == XNEVER) && !cached(w, use, path, i))
			return false;
	return true;
}

/* Walked now, not cached: a fault on an entry that is not valid. */
static bool uncacheable(const struct xworld *w, u32 cpu, const struct xhop *hop)
{
	struct xpte p;

	w->mmu->decode(w, hop->val, hop->height, &p);
	if (w->mmu->for_cpu)
		w->mmu->for_cpu(w, cpu, &p);
	return p.kind == XPTE_NONE || p.kind == XPTE_BAD ||
	       (p.kind == XPTE_LEAF && !p.usable);
}

/* Rule 1 of the model: was the leaf overwritten too early, for a walk with rv? */
static bool overdue(const struct xworld *w, const struct xuse *use, const struct xhop *hop,
		    u32 rv)
{
	if (hop->tw == XNEVER)
		return false;
	if (!xlaw(w, XLAW_STALE))
		return true;
	if (hop->tw > rv)
		return false;
	if (!xlaw(w, XLAW_FRESH_ALL))
		return true;
	if (use->fault && (w->refetch || !xlaw(w, XLAW_FRESH_PERMISSION)))
		return true;
	return uncacheable(w, use->cpu, hop) && xlaw(w, XLAW_FRESH);
}

bool xweak_may_hold(struct xworld *w, struct xuse *use, const struct xpath *path)
{
	u32 rv = w->a->cpu[use->cpu].v.b_walk, newest = 0;

	if (use->addr_view > rv && xlaw(w, XLAW_ADDR_WALK))
		rv = use->addr_view;
	for (u32 i = 0; i < path->n; i++) {
		const struct xhop *hop = &path->hop[i];

		if (hop->tw <= newest)
			return false;
		if (use->leaf && i + 1 == path->n && overdue(w, use, hop, rv))
			return false;
		if (hop->ts > newest)
			newest = hop->ts;
		if (hop->ts > rv)
			rv = hop->ts;
	}
	if (rv < use->rv_min)
		rv = use->rv_min;
	use->rv = rv;
	if (use->ev < rv)
		use->ev = rv;
	if (!root_survives(w, use, path))
		return false;
	for (u32 k = 0; k < w->a->nr_tlbi; k++)
		for (u32 i = 0; i < path->n; i++)
			if (!survives(w, &w->a->tlbi[k], use, path, i, rv))
				return false;
	return true;
}

/* ---- TLBI ---- */

/* Sign-extend from bit n. */
static u64 sext(u64 x, u32 n)
{
	u64 sign = 1ULL << n;

	return ((x & ((sign << 1) - 1)) ^ sign) - sign;
}

static u32 granule_code(const struct xworld *w)
{
	return w->page_shift == 12 ? 1 : 3;
}

/* Of one page; false: nothing need be dropped. */
static bool decode_va(const struct xworld *w, u64 xt, struct xtlbi *k)
{
	u32 ttl = xt >> 44 & 0xf;

	k->start = sext(xt << 12, 55) & ~((1ULL << w->page_shift) - 1);
	k->last = k->start + (1ULL << w->page_shift) - 1;
	if (!(w->features & XFEAT_TTL) || !(ttl >> 2))
		return true;
	if (ttl >> 2 != granule_code(w))
		return false;
	if (ttl & 3)
		k->height = (s8)(3 - (ttl & 3));
	return true;
}

static bool decode_range(const struct xworld *w, u64 xt, struct xtlbi *k)
{
	u32 tg = xt >> 46 & 3, scale = xt >> 44 & 3, num = xt >> 39 & 0x1f;
	u32 ttl = xt >> 37 & 3;
	u64 pages = (u64)(num + 1) << (5 * scale + 1);

	XASSERT(w->features & XFEAT_TLBIRANGE);
	k->start = sext(xt, 36) << w->page_shift;
	k->last = k->start + (pages << w->page_shift) - 1;
	if (tg != granule_code(w))
		return false;
	if (ttl)
		k->height = (s8)(3 - ttl);
	return true;
}

enum { LEAF = 1, RANGE = 2, ANY_ASID = 4, WHOLE = 8, LOCAL = 16 };

static int shape_of(u32 op)
{
	switch (op) {
	case MACH_ARM64_TLBI_VAE1IS:	return 0;
	case MACH_ARM64_TLBI_VALE1IS:	return LEAF;
	case MACH_ARM64_TLBI_VAAE1IS:	return ANY_ASID;
	case MACH_ARM64_TLBI_VAALE1IS:	return ANY_ASID | LEAF;
	case MACH_ARM64_TLBI_ASIDE1IS:	return WHOLE;
	case MACH_ARM64_TLBI_VMALLE1IS:	return WHOLE | ANY_ASID;
	case MACH_ARM64_TLBI_RVAE1IS:	return RANGE;
	case MACH_ARM64_TLBI_RVALE1IS:	return RANGE | LEAF;
	case MACH_ARM64_TLBI_VAE1:	return LOCAL;
	case MACH_ARM64_TLBI_VALE1:	return LOCAL | LEAF;
	case MACH_ARM64_TLBI_ASIDE1:	return LOCAL | WHOLE;
	case MACH_ARM64_TLBI_VMALLE1:	return LOCAL | WHOLE | ANY_ASID;
	default:			return -1;
	}
}

/* Does k take up where an invalidation that is not complete ends, and is it like it? */
static bool continues(const struct xtlbi *last, const struct xtlbi *k)
{
	return k->start && last->last + 1 == k->start && !last->d && last->t == k->t &&
	       last->ctx == k->ctx && last->cpu == k->cpu && last->local == k->local &&
	       last->tlb == k->tlb && last->walk == k->walk && last->height == k->height &&
	       last->classes[0] == k->classes[0] && last->classes[1] == k->classes[1] &&
	       !last->stage && !last->missed && !last->synced && !last->erat && !last->again;
}

/*
 * One record for what a flush invalidates page by page. Two kinds of them take turns where
 * user and kernel mode have an ASID each; look back as far as that.
 */
static bool merge(struct xworld *w, const struct xtlbi *k)
{
	for (u32 i = w->a->nr_tlbi, n = 0; i-- > 0 && n < 4; n++)
		if (continues(&w->a->tlbi[i], k)) {
			w->a->tlbi[i].last = k->last;
			return true;
		}
	return false;
}

void xtlbi_add(struct xworld *w, const struct xtlbi *k)
{
	if (merge(w, k))
		return;
	if (w->a->nr_tlbi == XMAX_TLBI) {
		xviolate(w, XRULE_LIVELOCK, "cpu%u: more than %u invalidations", k->cpu,
			 XMAX_TLBI);
		return;
	}
	w->a->tlbi[w->a->nr_tlbi++] = *k;
}

/* T of the model: what was overwritten by then is dropped. */
static u32 tlbi_view(const struct xworld *w, u32 cpu, u32 operand)
{
	const struct xviews *v = &w->a->cpu[cpu].v;
	u32 t = v->b_tlbi;

	if (!xlaw(w, XLAW_TLBI_NOW))
		return w->a->now;
	if (v->ctrl > t && xlaw(w, XLAW_TLBI_CTRL))
		t = v->ctrl;
	if (operand > t && xlaw(w, XLAW_TLBI_OPERAND))
		t = operand;
	return t;
}

void xarm64_tlbi(struct xworld *w, u32 cpu, const struct mach_site *site, u32 op, u64 xt,
		 u32 view)
{
	int shape = shape_of(op);
	struct xtlbi k = {
		.t = tlbi_view(w, cpu, view),
		.d = xlaw(w, XLAW_TLBI_AT_ONCE) ? 0 : xnow_odd(w),
		.at = xnow_odd(w), .cpu = (u8)cpu, .local = !!(shape & LOCAL),
		.ctx = shape & ANY_ASID ? XCTX_ANY : (u32)(xt >> 48),
		.tlb = 1, .walk = !(shape & LEAF), .height = -1, .last = ~0ULL,
		.classes = { ~0ULL, ~0ULL },
	};
	bool real = true;

	XASSERT(shape >= 0);
	if (shape & RANGE)
		real = decode_range(w, xt, &k);
	else if (!(shape & WHOLE))
		real = decode_va(w, xt, &k);
	xev(w, XAGENT_THREAD, w->a->cpu[cpu].cur, cpu, site, "TLBI%s%s%s 0x%llx-0x%llx asid %d%s",
	    shape & WHOLE ? " all" : " VA", shape & LEAF ? " leaf" : "",
	    shape & LOCAL ? " local" : "", (unsigned long long)k.start,
	    (unsigned long long)k.last, (int)k.ctx, real ? "" : " (drops nothing)");
	if (real && !w->booting)
		xtlbi_add(w, &k);
}

static s64 insn(struct xworld *w, struct xthr *t, u32 op, u64 a, u64 b, u32 c)
{
	(void)b;
	(void)c;
	if (op == MACH_ARM64_TTBR0) {
		xev_t(w, t, t->step.site, "TTBR0 = 0x%llx, ASID %u",
		      (unsigned long long)(a & TTBR_ROOT), (u32)(a >> 48));
		xmmu_load_root(w, t->cpu, a & TTBR_ROOT, (u32)(a >> 48), false);
		return 0;
	}
	xarm64_tlbi(w, t->cpu, t->step.site, op, a, 0);
	return 0;
}

/* A TLBI does nothing before its DSB: no step. */
static bool insn_footprint(struct xworld *w, u32 cpu, u32 op, struct xstep *s)
{
	(void)w;
	if (op != MACH_ARM64_TTBR0)
		return false;
	xstep_add(s, XOBJ_TLB, cpu, true);
	return true;
}

const struct xmmu_arch xmmu_arm64 = {
	.name = "arm64",
	.init = init,
	.decode = decode,
	.for_cpu = for_cpu,
	.mark_used = mark_used,
	.may_hold = xweak_may_hold,
	.insn = insn,
	.insn_footprint = insn_footprint,
};
