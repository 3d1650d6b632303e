/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions and fences: what they cost, and when they take effect.
 *
 * x86's act on the CPU's own MMU, at once. arm64's broadcast TLBIs are
 * collected and go to the fabric as one request at the next DSB ISH, which
 * waits for it: the queue cannot tell when each was issued. All of them take
 * effect on all CPUs when the request is complete. Its local TLBIs act at once.
 * AMD's INVLPGB and TLBSYNC are like its TLBI and DSB ISH.
 *
 * POWER's tlbie goes the same way; the ptesync that follows a tlbsync sends the
 * request and waits for it. (Other ptesyncs only order.) H_RPT_INVALIDATE is a
 * request by the hypervisor, complete when it returns. tlbiel acts at once.
 */
#include <stdlib.h>

#include "internal.h"

enum insn_kind {
	INSN_ABSENT,	/* no machine of ours has it yet */
	INSN_LOCAL,	/* at once, at a cost */
	INSN_BROADCAST,	/* arm64 TLBI ...IS */
	INSN_TLBIE,
	INSN_HCALL,
	INSN_INVLPGB,
	INSN_TLBSYNC,	/* x86's; POWER's is a fence */
};

static const struct {
	u8 kind;
	u16 cost;	/* INSN_LOCAL: at the CPU; INSN_BROADCAST: at the server */
} insn_table[MACH_NR_INSNS] = {
	[MACH_X86_INVLPG] = { INSN_LOCAL, HW_INVLPG },
	[MACH_X86_INVPCID] = { INSN_LOCAL, HW_INVPCID },
	[MACH_X86_CR3] = { INSN_LOCAL, HW_CR3 },
	[MACH_X86_CR3_NOFLUSH] = { INSN_LOCAL, HW_CR3 },
	[MACH_X86_CR4_PGE] = { INSN_LOCAL, HW_CR3 },
	[MACH_X86_INVLPGB] = { INSN_INVLPGB, HW_INVLPGB },
	[MACH_X86_TLBSYNC] = { INSN_TLBSYNC, HW_INVLPGB_SYNC },
	[MACH_ARM64_TTBR0] = { INSN_LOCAL, HW_STORE },
	[MACH_ARM64_TLBI_VAE1IS] = { INSN_BROADCAST, HW_DVM_VA },
	[MACH_ARM64_TLBI_VALE1IS] = { INSN_BROADCAST, HW_DVM_VA },
	[MACH_ARM64_TLBI_VAAE1IS] = { INSN_BROADCAST, HW_DVM_VA },
	[MACH_ARM64_TLBI_VAALE1IS] = { INSN_BROADCAST, HW_DVM_VA },
	[MACH_ARM64_TLBI_ASIDE1IS] = { INSN_BROADCAST, HW_DVM_ASID },
	[MACH_ARM64_TLBI_VMALLE1IS] = { INSN_BROADCAST, HW_DVM_ASID },
	[MACH_ARM64_TLBI_RVAE1IS] = { INSN_BROADCAST, HW_DVM_RANGE },
	[MACH_ARM64_TLBI_RVALE1IS] = { INSN_BROADCAST, HW_DVM_RANGE },
	[MACH_ARM64_TLBI_VAE1] = { INSN_LOCAL, HW_TLBI_LOCAL },
	[MACH_ARM64_TLBI_VALE1] = { INSN_LOCAL, HW_TLBI_LOCAL },
	[MACH_ARM64_TLBI_ASIDE1] = { INSN_LOCAL, HW_TLBI_LOCAL },
	[MACH_ARM64_TLBI_VMALLE1] = { INSN_LOCAL, HW_TLBI_LOCAL },
	[MACH_PPC_PID] = { INSN_LOCAL, HW_STORE },
	[MACH_PPC_PRTB] = { INSN_LOCAL, HW_STORE },
	[MACH_PPC_SLBIA] = { INSN_LOCAL, HW_TLBIEL },
	[MACH_PPC_TLBIEL] = { INSN_LOCAL, HW_TLBIEL },
	[MACH_PPC_TLBIE] = { INSN_TLBIE, HW_TLBIE_VA },
	[MACH_PPC_H_RPT_INVALIDATE] = { INSN_HCALL, HW_HCALL },
};

u64 cpu_mmu_now(struct cpu *c)
{
	if (c->clock > c->mmu_now)
		c->mmu_now = c->clock;
	return c->mmu_now;
}

static void collect(struct cpu *c, u32 insn, u64 a, u64 b, u32 cc)
{
	if (c->nr_tlbi == c->tlbi_size) {
		c->tlbi_size = c->tlbi_size ? 2 * c->tlbi_size : 16;
		c->tlbi = realloc(c->tlbi, c->tlbi_size * sizeof(*c->tlbi));
		MACH_ASSERT(c->tlbi);
	}
	c->tlbi[c->nr_tlbi++] = (struct tlbi){ insn, cc, a, b };
}

/*
 * The DSB ISHST before a flush's TLBIs belongs to the flush; those of set_pmd() and
 * its kin do not, and are counted apart. Which it was shows when a TLBI
 * comes, or another DSB ISHST first.
 */
static void ishst_used(struct cpu *c)
{
	if (c->ishst_open) {
		c->m->stats.fence[MACH_DSB_ISHST]++;
		c->ishst_open = 0;
	}
}

/* RIC of a tlbie or tlbiel. */
static u32 ppc_ric(u32 cc)
{
	return cc & 3;
}

/*
 * POWER: a page, or the walk caches of a PID, or all translations of a PID (RB has
 * IS in bits 11:10).
 */
static u64 tlbie_cost(const struct machine *m, u64 rb, u32 cc)
{
	bool pid = (rb >> 10 & 3) && ppc_ric(cc) != 1;

	return hw_cost(m, pid ? HW_TLBIE_PID : HW_TLBIE_VA);
}

/* What the hypervisor issues for H_RPT_INVALIDATE: mmu/powerpc.c has the operands. */
static u64 hcall_cost(const struct machine *m, u64 start, u64 end, u32 cc)
{
	u64 va = hw_cost(m, HW_TLBIE_VA), pid = hw_cost(m, HW_TLBIE_PID);
	u32 type = cc >> 24 & 0xf;
	u64 sum = 0;

	if (type == 0xe)
		return pid;
	if (type & 4)
		sum += va;
	if (!(type & 2))
		return sum;
	if (mmu_hcall_drops_pid(m->mmu, start, end, cc))
		return sum + pid;
	for (u32 i = 0; i < 4; i++)
		if (cc >> (20 + i) & 1)
			sum += va * (((end - start - 1) >> mmu_hcall_shift[i]) + 1);
	return sum;
}

/* At the server. */
static u64 broadcast_cost(const struct machine *m, const struct tlbi *op)
{
	switch (insn_table[op->insn].kind) {
	case INSN_TLBIE:
		return tlbie_cost(m, op->a, op->c);
	case INSN_HCALL:
		return hcall_cost(m, op->a, op->b, op->c);
	default:
		return hw_cost(m, insn_table[op->insn].cost);
	}
}

s64 insn_execute(u32 insn, u64 a, u64 b, u32 cc, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;

	MACH_ASSERT(insn < MACH_NR_INSNS);
	m->stats.insn[insn]++;
	if (insn == MACH_PPC_TLBIE)
		m->stats.tlbie_ric[ppc_ric(cc)]++;
	else if (insn == MACH_PPC_TLBIEL)
		m->stats.tlbiel_ric[ppc_ric(cc)]++;
	if (insn_table[insn].kind == INSN_BROADCAST)
		ishst_used(c);
	switch (insn_table[insn].kind) {
	case INSN_LOCAL:
		cpu_advance(c, hw_cost(m, insn_table[insn].cost),
			    MACH_ACCT_INVALIDATE_ISSUE);
		mmu_insn(m->mmu, c->id, cpu_mmu_now(c), insn, a, b, cc);
		return 0;
	case INSN_BROADCAST:
		cpu_advance(c, hw_cost(m, HW_TLBI_ISSUE),
			    MACH_ACCT_INVALIDATE_ISSUE);
		collect(c, insn, a, b, cc);
		return 0;
	case INSN_TLBIE:
		cpu_advance(c, hw_cost(m, HW_TLBIE_ISSUE),
			    MACH_ACCT_INVALIDATE_ISSUE);
		collect(c, insn, a, b, cc);
		return 0;
	case INSN_INVLPGB:
		cpu_advance(c, hw_cost(m, HW_INVLPGB_ISSUE),
			    MACH_ACCT_INVALIDATE_ISSUE);
		collect(c, insn, a, b, cc);
		return 0;
	case INSN_TLBSYNC:
		if (c->nr_tlbi)
			fabric_sync(c);
		cpu_advance(c, hw_cost(m, HW_INVLPGB_SYNC), MACH_ACCT_INVALIDATE_WAIT);
		return 0;
	case INSN_HCALL:
		cpu_advance(c, hw_cost(m, HW_HCALL), MACH_ACCT_INVALIDATE_WAIT);
		collect(c, insn, a, b, cc);
		fabric_sync(c);
		return 0;
	}
	machine_panic("this machine has no such instruction", site->file,
		      site->line, site->func);
}

/* Requests are served. The first CPU that goes on at once needs no event. */
struct cpu *fabric_event(struct machine *m)
{
	struct cpu *first = NULL;
	u64 done;
	u32 cpu;

	while (!first && fabric_take(&m->fabric, m->now, &cpu, &done)) {
		struct cpu *c = &m->cpu[cpu];

		if (done <= m->now)
			first = c;
		else
			cpu_kick(c, c->fabric_wait, done);
	}
	if (m->fabric.nr)
		clock_set(&m->clock, EVENT_FABRIC(m), fabric_next(&m->fabric));
	if (first)
		first->fabric_wait->until = m->now;
	return first;
}

/* Complete this CPU's broadcasts. A CPU in a DSB takes no interrupts. */
void fabric_sync(struct cpu *c)
{
	struct machine *m = c->m;
	struct wait w = {
		.until = NEVER, .acct = MACH_ACCT_INVALIDATE_WAIT,
	};
	u32 n = c->nr_tlbi;
	u64 service = 0, start;

	for (u32 i = 0; i < n; i++)
		service += broadcast_cost(m, &c->tlbi[i]);
	cpu_sync(c);
	/* An interrupt handler's DSB may just have done it for us. */
	if (c->nr_tlbi != n)
		return;
	c->fabric_wait = &w;
	start = c->clock;
	fabric_add(&m->fabric, c->clock, c->id, service,
		   c->clock + n * hw_cost(m, HW_TLBI_RATE));
	clock_set(&m->clock, EVENT_FABRIC(m), fabric_next(&m->fabric));
	cpu_wait_due(c, &w);
	m->stats.fabric_wait_ps += c->clock - start;
	for (u32 i = 0; i < n; i++) {
		const struct tlbi *op = &c->tlbi[i];

		mmu_broadcast(m->mmu, c->clock, c->id, op->insn, op->a, op->b,
			      op->c);
	}
	m->dvm_ops += n;
	c->nr_tlbi = 0;
	c->tlbsync = false;
	c->irq_floor = c->clock;
	if (c->irq_head && c->irqs_on)
		cpu_take_irqs(c);
}

void fence_execute(u32 kind, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;
	bool x86 = m->desc->arch[0] == 'x';

	(void)site;
	MACH_ASSERT(kind < MACH_NR_FENCES);
	if (kind == MACH_DSB_ISHST) {
		m->stats.dsb_ishst_all++;
		c->ishst_open = 1;
	} else {
		m->stats.fence[kind]++;
	}
	switch (kind) {
	case MACH_DSB_ISH:
		if (c->nr_tlbi)
			fabric_sync(c);
		cpu_advance(c, hw_cost(m, HW_DSB_ISH), MACH_ACCT_INVALIDATE_WAIT);
		break;
	case MACH_DSB_ISHST:
		cpu_advance(c, hw_cost(m, HW_DSB_ISHST), MACH_ACCT_INVALIDATE_WAIT);
		break;
	case MACH_DSB_NSH:
	case MACH_DSB_NSHST:
		cpu_advance(c, hw_cost(m, HW_DSB_NSH), MACH_ACCT_INVALIDATE_WAIT);
		break;
	case MACH_TLBSYNC:
		c->tlbsync = true;
		cpu_advance(c, hw_cost(m, HW_TLBSYNC), MACH_ACCT_INVALIDATE_WAIT);
		break;
	case MACH_PTESYNC:
		if (c->tlbsync && c->nr_tlbi)
			fabric_sync(c);
		cpu_advance(c, hw_cost(m, HW_PTESYNC), MACH_ACCT_INVALIDATE_WAIT);
		break;
	case MACH_EIEIO:
		cpu_advance(c, hw_cost(m, HW_STORE), c->ctx_acct);
		break;
	case MACH_ISB:
		cpu_advance(c, hw_cost(m, HW_ISB), c->ctx_acct);
		break;
	case MACH_SMP_MB_BEFORE_ATOMIC:
	case MACH_SMP_MB_AFTER_ATOMIC:
	case MACH_SMP_MB_AFTER_SPINLOCK:
		/* A compiler barrier on x86, whose atomics are full fences. */
		if (!x86)
			cpu_advance(c, hw_cost(m, HW_FENCE), c->ctx_acct);
		break;
	case MACH_SMP_RMB:
	case MACH_SMP_WMB:
		break;
	default:
		cpu_advance(c, hw_cost(m, HW_FENCE), c->ctx_acct);
	}
}
