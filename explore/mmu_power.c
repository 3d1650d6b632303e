/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POWER radix: Power ISA v3.1B III 6.7 (trees), 6.9.3.3 (tlbie, tlbiel). What may
 * be cached is as on arm64 (mmu_arm64.c); different are:
 *
 *	completion	a tlbie completes at this CPU's eieio; tlbsync; ptesync, a tlbiel
 *			at its ptesync
 *	what goes	RIC 0 translations, 1 walk caches (by PID only), 2 both; by address
 *			only pages of the size that AP names
 *	classes		before ISA 3.1 a tlbiel by PID drops one of 128 congruence
 *			classes of the TLB; a page's class is its number modulo 128
 *	refusal		before hardware refuses an access it reads the entry again: no
 *			stale entry faults
 *	walks		a ptesync orders later walks after what it waited for
 *	issue		tlbie and tlbiel come after a ptesync and after nothing else (6.10,
 *			translation table updates): they may leave what was overwritten since
 *			this CPU's last one, whatever other barriers and branches lie between
 *	ERAT		the first-level TLB, of leaves. A tlbiel by address drops what it
 *			names there; one by PID may leave it, to a slbia after its
 *			completion (Linux: "Explicitly flush ERAT with local LPID
 *			invalidation", of all that go by congruence classes)
 *
 * The root comes from the process table when a PID is loaded and is not cached
 * beyond that. A walk under a PID sees nothing older than what loads saw when the PID was
 * loaded, which came out of memory (mm->context.id) like them. Not modelled: nest
 * MMUs.
 *
 * H_RPT_INVALIDATE (PAPR): the hypervisor does ptesync; tlbie for the page sizes that are named
 * and for walk caches; eieio; tlbsync; ptesync on the CPU that called, and knows of the errata.
 * It is never busy. A request that is not for everything it may refuse.
 *
 * Errata of POWER9, by what the fixes say (Linux 047e6575aec7, a5d4b5891c2f); the CPUs here
 * are threads of one core:
 *
 *	ERAT	a tlbie and another thread's mtpid meet, before the tlbie is complete: the
 *		ERATs of all threads but that one may keep the translation. A tlbie for
 *		PID 0, after a ptesync, is heard by all and empties them.
 *	store	tlbsync and ptesync do not wait for stores that other threads have translated
 *	queue	by what the tlbie dropped. Another tlbie for the PID, after a ptesync, waits.
 */
#include "world.h"

#define PPC_V		(1ULL << 63)
#define PPC_LEAF	(1ULL << 62)
#define PPC_RPN		0x01fffffffffff000ULL
#define PPC_R		(1ULL << 8)
#define PPC_C		(1ULL << 7)
#define PPC_PRIVILEGED	(1ULL << 3)
#define PPC_READ	(1ULL << 2)
#define PPC_READ_WRITE	(1ULL << 1)
#define PPC_BASE	0x0fffffffffffff00ULL
#define PPC_SIZE	0x1fULL

#define ROOT_BITS	13
#define CLASSES		128

#define RB_IS(rb)	((rb) >> 10 & 3)
#define RB_CLASS(rb)	((rb) >> 12 & 0xfff)
#define RB_AP(rb)	((rb) >> 5 & 7)
#define RIC(c)		((c) & 3)

static void init(struct xworld *w)
{
	w->nr_levels = 4;
	w->refetch = true;
	w->bits[0] = 21 - w->page_shift;
	w->bits[1] = w->bits[2] = 9;
	w->bits[3] = ROOT_BITS;
}

static void decode(const struct xworld *w, u64 val, u32 height, struct xpte *p)
{
	memset(p, 0, sizeof(*p));
	if (!(val & PPC_V))
		return;
	if (!(val & PPC_LEAF)) {
		p->kind = height && (val & PPC_SIZE) == w->bits[height - 1] ? XPTE_TABLE :
									      XPTE_BAD;
		p->pa = val & PPC_BASE;
		p->user = p->write = 1;
		return;
	}
	p->kind = XPTE_LEAF;
	p->pa = val & PPC_RPN;
	if (height == 3 || (p->pa & ((1ULL << xheight_shift(w, height)) - 1)))
		p->kind = XPTE_BAD;
	p->usable = 1;
	p->accessed = !!(val & PPC_R);
	p->dirty = !!(val & PPC_C);
	if (!(val & PPC_PRIVILEGED)) {
		p->user = !!(val & (PPC_READ | PPC_READ_WRITE));
		p->write = !!(val & PPC_READ_WRITE);
	}
}

static u64 mark_used(const struct xworld *w, u64 val, bool write)
{
	(void)w;
	return val | PPC_R | (write ? PPC_C : 0);
}

static int height_of_ap(const struct xworld *w, u32 ap)
{
	switch (ap) {
	case 0: return w->page_shift == 12 ? 0 : -1;
	case 5: return w->page_shift == 16 ? 0 : -1;
	case 1: return 1;
	default: return 2;
	}
}

/* tlbiels of one CPU and PID that differ in class alone are one record. */
static bool merge(struct xworld *w, const struct xtlbi *k)
{
	struct xtlbi *last = w->a->nr_tlbi ? &w->a->tlbi[w->a->nr_tlbi - 1] : NULL;

	if (!k->local || !last || last->d || !last->local || last->cpu != k->cpu ||
	    last->ctx != k->ctx || last->start != k->start || last->last != k->last ||
	    last->t != k->t || !last->tlb || k->walk)
		return false;
	last->classes[0] |= k->classes[0];
	last->classes[1] |= k->classes[1];
	return true;
}

/* POWER9's errata: what a tlbie for ctx does for earlier ones, if a ptesync lies between. */
static void make_up(struct xworld *w, u32 cpu, u32 ctx)
{
	for (u32 i = 0; i < w->a->nr_tlbi; i++) {
		struct xtlbi *k = &w->a->tlbi[i];

		if (k->cpu != cpu || k->d || k->local || !k->synced)
			continue;
		k->erat |= !ctx;
		k->again |= ctx == k->ctx;
	}
}

/* The erratum of the ERAT: cpu's mtpid comes while tlbies are under way. */
static void miss_erats(struct xworld *w, u32 cpu)
{
	for (u32 i = 0; i < w->a->nr_tlbi; i++) {
		struct xtlbi *k = &w->a->tlbi[i];

		if (!k->d && !k->local && k->cpu != cpu && k->ctx)
			k->missed |= (u8)~(1U << cpu);
	}
}

static void tlbi(struct xworld *w, struct xthr *t, u64 rb, u64 rs, u32 c, bool local)
{
	struct xtlbi k = {
		.t = xcpu_of(w, t)->v.dsb, .at = xnow_odd(w),
		.ctx = RB_IS(rb) == 3 ? XCTX_ANY : (u32)(rs >> 32), .cpu = t->cpu,
		.local = local, .tlb = RIC(c) != 1, .walk = RIC(c) != 0, .height = -1,
		.spares_erat = local && RB_IS(rb), .last = ~0ULL,
		.classes = { ~0ULL, ~0ULL },
	};

	if (!RB_IS(rb)) {
		int height = height_of_ap(w, RB_AP(rb));
		u64 size;

		if (height < 0)
			return;
		size = 1ULL << xheight_shift(w, (u32)height);
		k.height = (s8)height;
		k.start = rb & ~(size - 1);
		k.last = k.start + size - 1;
		k.walk = 0;
	} else if (local && !(w->features & XFEAT_ISA31)) {
		u32 class = RB_CLASS(rb) % CLASSES;

		k.classes[0] = class < 64 ? 1ULL << class : 0;
		k.classes[1] = class < 64 ? 0 : 1ULL << (class - 64);
	}
	if (!RB_CLASS(rb) || !RB_IS(rb))
		xev_t(w, t, t->step.site, "tlbie%s RIC=%u 0x%llx-0x%llx pid %d",
		      local ? "l" : "", RIC(c), (unsigned long long)k.start,
		      (unsigned long long)k.last, (int)k.ctx);
	if (w->booting)
		return;
	if (!local)
		make_up(w, t->cpu, k.ctx);
	if (!merge(w, &k))
		xtlbi_add(w, &k);
}

/* What complete tlbiels of this CPU have left in its ERAT goes. */
static void slbia(struct xworld *w, u32 cpu)
{
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (w->a->tlbi[i].cpu == cpu && w->a->tlbi[i].d)
			w->a->tlbi[i].spares_erat = 0;
}

static bool erat_left(const struct xworld *w, u32 cpu)
{
	for (u32 i = 0; i < w->a->nr_tlbi; i++)
		if (w->a->tlbi[i].cpu == cpu && w->a->tlbi[i].spares_erat)
			return true;
	return false;
}

static void load_pid(struct xworld *w, struct xthr *t, u32 pid)
{
	u64 at = w->a->prtb + 16ULL * pid, word;
	struct xviews *v = &xcpu_of(w, t)->v;

	if (pid >= w->a->prtb_entries)
		xviolate(w, XRULE_BUG, "cpu%u loads PID %u: the process table has %u entries",
			 t->cpu, pid, w->a->prtb_entries);
	XASSERT(at < w->memory_bytes);
	word = xmem_read(w, XFRAMES_AT + (u32)at, 8);
	xev_t(w, t, t->step.site, "PID = %u", pid);
	if (w->features & XFEAT_ERAT_BUG)
		miss_erats(w, t->cpu);
	/* For the isync behind it, and the log. */
	if (v->ctrl < v->b_read)
		v->ctrl = v->b_read;
	xmmu_load_root(w, t->cpu, word & PPC_BASE, pid, false);
}

/* H_RPT_INVALIDATE's c; core/arch/powerpc/tlbflush.h draws it. */
#define RPTI_PID(c)	((c) & 0xfffff)
#define RPTI_PAGES(c)	((c) >> 20 & 0xf)
#define RPTI_TYPE(c)	((c) >> 24 & 0xf)
#define RPTI_TLB	2
#define RPTI_WALK	4
#define RPTI_ALL	14
#define H_P5		(-58)

/* What leaves of that height map of [start, end); -1: walk caches. */
static void rpt_add(struct xworld *w, struct xthr *t, u64 start, u64 end, u32 c, int height)
{
	struct xtlbi k = {
		.t = xcpu_of(w, t)->v.dsb, .at = xnow_odd(w), .ctx = RPTI_PID(c),
		.cpu = t->cpu, .erat = 1, .again = 1, .tlb = height >= 0,
		.walk = height < 0, .height = (s8)height, .last = ~0ULL,
		.classes = { ~0ULL, ~0ULL },
	};

	if (height >= 0) {
		u64 mask = (1ULL << xheight_shift(w, (u32)height)) - 1;

		k.start = start & ~mask;
		k.last = (end - 1) | mask;
	}
	xtlbi_add(w, &k);
}

static s64 rpt_invalidate(struct xworld *w, struct xthr *t, u64 start, u64 end, u32 c)
{
	/* AP's of 4K, 64K, 2M, 1G. */
	static const u32 ap[] = { 0, 5, 1, 2 };
	const struct mach_site *site = t->step.site;
	bool refused = RPTI_TYPE(c) != RPTI_ALL && !w->booting && xchoose(w, XCHOICE_ALLOC, 2);

	xev_t(w, t, site, "H_RPT_INVALIDATE type %u 0x%llx-0x%llx pid %u%s", RPTI_TYPE(c),
	      (unsigned long long)start, (unsigned long long)end, RPTI_PID(c),
	      refused ? " is refused" : "");
	if (w->booting || refused)
		return refused ? H_P5 : 0;
	xweak_fence_step(w, t, MACH_PTESYNC, site);
	for (u32 i = 0; i < 4; i++) {
		int height = height_of_ap(w, ap[i]);

		if ((RPTI_TYPE(c) & RPTI_TLB) && (RPTI_PAGES(c) >> i & 1) && height >= 0)
			rpt_add(w, t, start, end, c, height);
	}
	if (RPTI_TYPE(c) & RPTI_WALK)
		rpt_add(w, t, start, end, c, -1);
	xweak_fence_step(w, t, MACH_EIEIO, site);
	xweak_fence_step(w, t, MACH_TLBSYNC, site);
	xweak_fence_step(w, t, MACH_PTESYNC, site);
	return 0;
}

static s64 insn(struct xworld *w, struct xthr *t, u32 op, u64 a, u64 b, u32 c)
{
	switch (op) {
	case MACH_PPC_H_RPT_INVALIDATE:
		return rpt_invalidate(w, t, a, b, c);
	case MACH_PPC_PID:
		load_pid(w, t, (u32)a);
		break;
	case MACH_PPC_PRTB:
		w->a->prtb = a & 0x0ffffffffffff000ULL;
		w->a->prtb_entries = 1U << (12 + (a & 0x1f) - 4);
		break;
	case MACH_PPC_TLBIE:
	case MACH_PPC_TLBIEL:
		tlbi(w, t, a, b, c, op == MACH_PPC_TLBIEL);
		break;
	default:
		XASSERT(op == MACH_PPC_SLBIA);
		xev_t(w, t, t->step.site, "slbia");
		slbia(w, t->cpu);
	}
	return 0;
}

static bool insn_footprint(struct xworld *w, u32 cpu, u32 op, struct xstep *s)
{
	/* A tlbie does nothing before its ptesync, but for the erratum. */
	bool erat_bug = w->features & XFEAT_ERAT_BUG;

	/* The hypervisor's answer is a choice; what it does are steps of their own. */
	if (op == MACH_PPC_H_RPT_INVALIDATE)
		return true;
	if (op == MACH_PPC_SLBIA && erat_left(w, cpu)) {
		xstep_add(s, XOBJ_TLB, cpu, true);
		return true;
	}
	if (op != MACH_PPC_PID && !(op == MACH_PPC_TLBIE && erat_bug))
		return false;
	if (erat_bug)
		xstep_add(s, XOBJ_BCAST, 0, true);
	if (op == MACH_PPC_PID)
		xstep_add(s, XOBJ_TLB, cpu, true);
	return true;
}

const struct xmmu_arch xmmu_power = {
	.name = "powerpc",
	.init = init,
	.decode = decode,
	.mark_used = mark_used,
	.may_hold = xweak_may_hold,
	.insn = insn,
	.insn_footprint = insn_footprint,
};
