// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions as steps of a world. What no other CPU can notice (arithmetic, branches,
 * fences that wait for nothing, TLBIs, a store of the kernel's into the buffer)
 * is done at once after the step before it; all else is a step of its thread.
 */
#include "litmus/run.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

static const struct lit_insn *insn_of(const struct lit_run *r, u32 cpu)
{
	return &r->t->thread[cpu].insn[r->cpu[cpu].pc];
}

/* -------------------------------------------------------------- registers */

/* The lower half of a number; addresses and entries are whole, as herd has them. */
static u64 half(u64 val)
{
	return val >> 32 == 0xffffffff ? (u32)val : val;
}

static struct lit_reg operand(const struct lit_run *r, u32 cpu, const struct lit_operand *o)
{
	struct lit_reg v = { 0 };

	if (!o->is_reg)
		v.val = lit_number_of(r->m, &o->imm);
	else if (o->reg != LIT_ZR)
		v = r->cpu[cpu].reg[o->reg];
	if (o->is_reg && o->w)
		v.val = half(v.val);
	return v;
}

static void set(struct lit_run *r, u32 cpu, const struct lit_insn *i, struct lit_reg v)
{
	if (i->rd == LIT_ZR)
		return;
	if (i->w)
		v.val = half(v.val);
	r->cpu[cpu].reg[i->rd] = v;
}

static struct lit_reg join(struct lit_reg a, struct lit_reg b, u64 val)
{
	return (struct lit_reg){ val, MAX(a.view, b.view), MAX(a.pick, b.pick) };
}

static u64 compute(char alu, u64 a, u64 b)
{
	switch (alu) {
	case '+': return a + b;
	case '-': return a - b;
	case '&': return a & b;
	case '^': return a ^ b;
	case '|': return a | b;
	case 'l': return b < 64 ? a << b : 0;
	default: return b < 64 ? a >> b : 0;
	}
}

static void select(struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	const struct lit_reg *flags = &r->cpu[cpu].flags;
	struct lit_reg v = operand(r, cpu, (flags->val != 0) != i->negated ? &i->a : &i->b);

	if (xlaw(r->w, XLAW_PICK))
		v.pick = MAX(v.pick, flags->pick);
	set(r, cpu, i, v);
}

/* A branch on what has this view. */
static void branch(struct lit_run *r, u32 cpu, u32 pick, bool taken, const struct lit_insn *i)
{
	struct xviews *v = &r->w->a->cpu[cpu].v;

	v->ctrl = MAX(v->ctrl, pick);
	r->cpu[cpu].pc = taken ? i->target : (u16)(r->cpu[cpu].pc + 1);
}

/* ----------------------------------------------------- what others see not */

static bool arithmetic(struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	struct lit_cpu *c = &r->cpu[cpu];
	struct lit_reg a = operand(r, cpu, &i->a), b = operand(r, cpu, &i->b);

	switch (i->op) {
	case LIT_NOP:
		break;
	case LIT_MOV:
		set(r, cpu, i, a);
		break;
	case LIT_ALU:
		set(r, cpu, i, join(a, b, compute(i->alu, a.val, b.val)));
		break;
	case LIT_CMP:
		c->flags = join(a, b, a.val == b.val);
		break;
	case LIT_CSEL:
		select(r, cpu, i);
		break;
	case LIT_B:
		c->pc = i->target;
		return true;
	case LIT_BCOND:
		branch(r, cpu, c->flags.pick, (c->flags.val != 0) != i->negated, i);
		return true;
	case LIT_CBZ:
		branch(r, cpu, a.pick, !a.val != i->negated, i);
		return true;
	default:
		return false;
	}
	c->pc++;
	return true;
}

static void tell(const struct lit_run *r, u32 cpu, const char *what)
{
	xev(r->w, XAGENT_THREAD, r->w->a->cpu[cpu].cur, cpu, &r->site[cpu][r->cpu[cpu].pc],
	    "%s", what);
}

/* Does this DSB wait for more than this CPU's stores? */
static bool dsb_is_step(const struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	return i->order == XORDER_ALL && xweak_completes(r->w, cpu, i->local);
}

static bool dsb_waits(const struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	const struct xcpu *c = &r->w->a->cpu[cpu];

	if (i->order != XORDER_ALL)
		return false;
	if (c->nr_deferred && xlaw(r->w, XLAW_DSB_DEFERRED))
		return true;
	return dsb_is_step(r, cpu, i) && xweak_held(r->w, cpu, i->local);
}

/* Fences empty the store buffer, if they order stores. */
static bool fence(struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	bool drains = i->op == LIT_MFENCE || ((i->op == LIT_DMB || i->op == LIT_DSB) &&
					      i->order & XORDER_STORES);

	if (drains && r->w->a->cpu[cpu].nr_sb)
		return false;
	switch (i->op) {
	case LIT_DMB:
		xweak_dmb(r->w, cpu, i->order);
		break;
	case LIT_DSB:
		if (dsb_is_step(r, cpu, i) || dsb_waits(r, cpu, i))
			return false;
		xweak_dsb(r->w, cpu, i->order);
		break;
	case LIT_ISB:
		xweak_context_sync(r->w, cpu);
		break;
	case LIT_MFENCE:
		break;
	default:
		return false;
	}
	tell(r, cpu, "fence");
	r->cpu[cpu].pc++;
	return true;
}

static void tlbi(struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	struct lit_reg xt = operand(r, cpu, &i->a);

	/* VA[55:12]; what a test has above is no ASID. */
	xarm64_tlbi(r->w, cpu, &r->site[cpu][r->cpu[cpu].pc], i->tlbi,
		    xt.val & 0xfffffffffffULL, xt.pick);
	r->cpu[cpu].pc++;
}

/* ---------------------------------------------------------------- accesses */

static bool is_access(const struct lit_insn *i)
{
	return i->op >= LIT_LOAD && i->op <= LIT_STORE_EX;
}

static bool in_linear(u64 address)
{
	return address >= LIT_LINEAR;
}

static struct lit_reg address_of(const struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	struct lit_reg base = operand(r, cpu, &i->base), index = operand(r, cpu, &i->index);

	return join(base, index, base.val + index.val);
}

static struct xaccess access_of(const struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	static const u8 kind[] = {
		[LIT_LOAD] = XACCESS_LOAD, [LIT_STORE] = XACCESS_STORE,
		[LIT_SWAP] = XACCESS_SWAP, [LIT_CAS] = XACCESS_CAS,
		[LIT_LOAD_EX] = XACCESS_LOAD, [LIT_STORE_EX] = XACCESS_STORE_EX,
	};
	struct lit_reg address = address_of(r, cpu, i), data = operand(r, cpu, &i->a);
	struct xaccess a = {
		.cpu = cpu, .kind = kind[i->op], .translated = !in_linear(address.val),
		.acquire = i->acquire, .release = i->release,
		.no_result = i->op == LIT_SWAP && i->rd == LIT_ZR,
		.va = address.val, .addr_view = address.view, .addr_pick = address.pick,
		.data_view = data.view, .val = data.val,
		.op = i->op == LIT_SWAP ? i->alu : 0,
		.site = &r->site[cpu][r->cpu[cpu].pc],
	};

	if (i->op == LIT_CAS) {
		const struct lit_operand rd = { .is_reg = true, .reg = i->rd, .w = i->w };

		a.expected = operand(r, cpu, &rd).val;
	}
	if (!a.translated)
		a.off = XFRAMES_AT + (u32)(address.val - LIT_LINEAR);
	return a;
}

/* An address that the test's words do not have: the test's mistake. */
static bool addressable(const struct lit_run *r, const struct xaccess *a)
{
	int page = lit_page_at(r->t, r->m, a->va);
	u64 offset = a->va & ((1U << LIT_PAGE_SHIFT) - 1);

	if (!a->translated)
		return a->va - LIT_LINEAR < r->w->memory_bytes &&
		       xword_find(r->w, a->off);
	return page >= 0 && offset < 256 && !(offset % 4) &&
	       r->t->page[page].words >> (offset / 4) & 1;
}

static bool note_fault(struct lit_run *r, u32 cpu, const struct xaccess *a)
{
	struct lit_cpu *c = &r->cpu[cpu];

	/* Herd's rule: a second fault of a thread ends no execution. */
	if (c->retry || c->nr_faults == LIT_MAX_FAULTS)
		return false;
	c->fault[c->nr_faults++] = (struct lit_fault){
		c->pc, (u8)lit_page_at(r->t, r->m, a->va), (u8)a->fault
	};
	switch (r->t->on_fault) {
	case LIT_FATAL:
		c->done = 1;
		return true;
	case LIT_RETRY:
		c->retry = 1;
		break;
	case LIT_SKIP:
		c->pc++;
		break;
	}
	if (r->w->weak)
		xweak_context_sync(r->w, cpu);
	return true;
}

/* No other CPU wrote the word since LDXR's message. */
static bool exclusive(const struct lit_run *r, u32 cpu, u32 off)
{
	const struct lit_cpu *c = &r->cpu[cpu];
	const struct xarena *a = r->w->a;
	const struct xword *word = xword_find(r->w, off);

	if (c->ex_ts == XNEVER || c->ex_off != off)
		return false;
	for (u16 i = word->last; i != XNIL && a->msg[i].ts > c->ex_ts; i = a->msg[i].prev)
		if (a->msg[i].cpu != cpu)
			return false;
	return true;
}

static bool finish(struct lit_run *r, u32 cpu, const struct lit_insn *i,
		   const struct xaccess *a)
{
	struct lit_cpu *c = &r->cpu[cpu];

	if (i->op == LIT_STORE_EX && !exclusive(r, cpu, a->off))
		return false;
	if (i->op == LIT_LOAD_EX) {
		/* Not from the store buffer. */
		if (a->ts == XNEVER)
			return false;
		c->ex_ts = a->ts;
		c->ex_off = a->off;
	}
	if (i->op == LIT_STORE_EX) {
		c->ex_ts = XNEVER;
		set(r, cpu, i, (struct lit_reg){ 0 });
	} else if (i->op != LIT_STORE) {
		set(r, cpu, i, (struct lit_reg){ a->old, a->post, a->post });
	}
	c->pc++;
	return true;
}

static bool access_step(struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	struct xaccess a = access_of(r, cpu, i);
	struct lit_cpu *c = &r->cpu[cpu];

	if (i->op == LIT_STORE_EX && xchoose(r->w, XCHOICE_ALLOC, 2)) {
		c->ex_ts = XNEVER;
		set(r, cpu, i, (struct lit_reg){ .val = 1 });
		c->pc++;
		return true;
	}
	/* The kernel's map is not for user mode. */
	if (!a.translated && r->t->thread[cpu].el0) {
		a.fault = XFAULT_PERMISSION;
		return note_fault(r, cpu, &a);
	}
	if (!addressable(r, &a)) {
		r->astray = i;
		return false;
	}
	if (!xaccess(r->w, &a))
		return false;
	return a.fault ? note_fault(r, cpu, &a) : finish(r, cpu, i, &a);
}

/* A store into the buffer, of the kernel's, which is not translated. */
static bool quiet_store(struct lit_run *r, u32 cpu, const struct lit_insn *i)
{
	struct xaccess a;

	if (i->op != LIT_STORE || i->release || !(r->w->overtake || !r->w->weak) ||
	    r->t->thread[cpu].el0)
		return false;
	a = access_of(r, cpu, i);
	if (a.translated || xaccess_waits(r->w, &a) || !addressable(r, &a))
		return false;
	xaccess(r->w, &a);
	r->cpu[cpu].pc++;
	return true;
}

/* Nothing of it can matter any more; states that differ in it are one. */
static void retire(struct lit_run *r, u32 cpu)
{
	struct xcpu *c = &r->w->a->cpu[cpu];

	if (c->nr_sb || c->nr_deferred || !r->w->weak)
		return;
	memset(&c->v, 0, offsetof(struct xviews, dep));
	for (u32 i = r->m->nr_words; i < r->w->a->nr_words; i++) {
		struct xword *word = &r->w->a->word[i];

		word->coh[cpu] = word->fwd_ts[cpu] = word->fwd_view[cpu] = 0;
		word->fwd_rmw &= ~(1U << cpu);
	}
	for (u32 i = 0; i < LIT_REGS; i++)
		r->cpu[cpu].reg[i].view = r->cpu[cpu].reg[i].pick = 0;
	r->cpu[cpu].flags = (struct lit_reg){ 0 };
	r->cpu[cpu].ex_ts = r->cpu[cpu].ex_off = XNEVER;
}

static void run_quiet(struct lit_run *r, u32 cpu)
{
	struct lit_cpu *c = &r->cpu[cpu];

	while (!c->done) {
		const struct lit_insn *i = insn_of(r, cpu);

		if (c->pc == r->t->thread[cpu].nr_insns) {
			c->done = 1;
		} else if (i->op == LIT_TLBI) {
			tlbi(r, cpu, i);
		} else if (!arithmetic(r, cpu, i) && !fence(r, cpu, i) &&
			   !quiet_store(r, cpu, i)) {
			return;
		}
	}
	retire(r, cpu);
}

/* ------------------------------------------------------------------- x86 */

static void invalidate(struct lit_run *r, u32 cpu, const struct lit_insn *i, const char *what)
{
	struct xworld *w = r->w;
	bool page = i->base.is_reg || i->base.imm.kind != LIT_INT;

	tell(r, cpu, what);
	xmmu_log(w, cpu, &(struct xlog){
		.kind = page ? XLOG_DROP_PAGE : XLOG_DROP_ALL, .ctx = w->a->cpu[cpu].ctx,
		.va = page ? address_of(r, cpu, i).val : 0,
	});
}

static bool ipi_step(struct lit_run *r, u32 cpu)
{
	struct lit_cpu *c = &r->cpu[cpu];

	if (!c->waiting) {
		c->waiting = 1;
		c->ipi_left = (u8)(((1U << r->t->nr_threads) - 1) & ~(1U << cpu));
		tell(r, cpu, "interrupts the others");
		return true;
	}
	tell(r, cpu, "all have answered");
	c->waiting = 0;
	c->pc++;
	return true;
}

static bool interrupt(struct lit_run *r, u32 cpu, u32 sender)
{
	const struct lit_insn *i = insn_of(r, sender);
	struct lit_cpu *s = &r->cpu[sender];

	s->ipi_left &= (u8)~(1U << cpu);
	xev(r->w, XAGENT_IRQ, cpu, cpu, &r->site[sender][s->pc],
	    "is interrupted, and invalidates");
	xmmu_log(r->w, cpu, &(struct xlog){
		.kind = i->base.is_reg || i->base.imm.kind != LIT_INT ? XLOG_DROP_PAGE :
									XLOG_DROP_ALL,
		.ctx = r->w->a->cpu[cpu].ctx, .va = address_of(r, sender, i).val,
	});
	return true;
}

/* ----------------------------------------------------------------- agents */

void lit_start(struct lit_run *r)
{
	memset(r->cpu, 0, sizeof(r->cpu));
	for (u32 i = 0; i < r->t->nr_threads; i++) {
		struct lit_cpu *c = &r->cpu[i];

		c->ex_ts = c->ex_off = XNEVER;
		for (u32 k = 0; k < LIT_REGS; k++)
			c->reg[k].val = lit_number_of(r->m, &r->t->thread[i].reg[k]);
	}
	for (u32 i = 0; i < r->t->nr_threads; i++)
		run_quiet(r, i);
}

static bool thread_can_move(const struct lit_run *r, u32 cpu)
{
	const struct lit_cpu *c = &r->cpu[cpu];
	const struct lit_insn *i;
	struct xaccess a;

	if (c->done)
		return false;
	i = insn_of(r, cpu);
	if (is_access(i)) {
		a = access_of(r, cpu, i);
		return !xaccess_waits(r->w, &a);
	}
	if (i->op == LIT_DSB && (r->w->a->cpu[cpu].nr_sb && i->order & XORDER_STORES))
		return false;
	switch (i->op) {
	case LIT_DSB:
		return !dsb_waits(r, cpu, i);
	case LIT_IPI:
		return !(c->waiting ? c->ipi_left : r->w->a->cpu[cpu].nr_sb);
	default:
		return !r->w->a->cpu[cpu].nr_sb;
	}
}

/* How many more accesses can need an update made early? */
static void still_to_come(const struct lit_run *r, u32 cpu, u32 *accesses, u32 *stores)
{
	const struct lit_thread *t = &r->t->thread[cpu];

	*accesses = *stores = 0;
	for (u32 k = r->cpu[cpu].pc; k < t->nr_insns && !r->cpu[cpu].done; k++) {
		if (!is_access(&t->insn[k]))
			continue;
		(*accesses)++;
		*stores += t->insn[k].op != LIT_LOAD && t->insn[k].op != LIT_LOAD_EX;
	}
}

struct list {
	struct lit_agent *agent;
	u32 n;
};

static void add(struct list *l, u32 kind, u32 cpu, u32 i)
{
	XASSERT(l->n < LIT_MAX_AGENTS);
	l->agent[l->n++] = (struct lit_agent){ (u8)kind, (u8)cpu, (u8)i };
}

static void add_updates(const struct lit_run *r, struct list *l, u32 cpu)
{
	const struct xcpu *c = &r->w->a->cpu[cpu];
	u32 accesses, stores;

	for (u32 i = 0; i < c->nr_deferred; i++)
		add(l, LIT_DEFERRED, cpu, i);
	if (!r->t->thread[cpu].ha || !xlaw(r->w, XLAW_EARLY))
		return;
	still_to_come(r, cpu, &accesses, &stores);
	for (u32 i = 0; i < r->t->nr_pages && c->nr_early < accesses; i++) {
		add(l, LIT_EARLY_LOAD, cpu, i);
		if (stores && r->t->thread[cpu].hd)
			add(l, LIT_EARLY_STORE, cpu, i);
	}
}

u32 lit_agents(const struct lit_run *r, struct lit_agent agent[LIT_MAX_AGENTS])
{
	struct list l = { .agent = agent };

	for (u32 cpu = 0; cpu < r->t->nr_threads; cpu++) {
		const struct xcpu *c = &r->w->a->cpu[cpu];

		if (thread_can_move(r, cpu))
			add(&l, LIT_THREAD, cpu, 0);
		for (u32 i = 0; i < c->nr_sb && (r->w->weak || !i); i++)
			if (xstore_drainable(r->w, cpu, i))
				add(&l, LIT_DRAIN, cpu, i);
		add_updates(r, &l, cpu);
		for (u32 s = 0; s < r->t->nr_threads && !c->nr_sb; s++)
			if (r->cpu[s].ipi_left >> cpu & 1)
				add(&l, LIT_INTERRUPT, cpu, s);
	}
	if ((r->t->updates || !r->w->weak) && xlaw(r->w, XLAW_SPONTANEOUS))
		for (u32 i = 0; i < r->t->nr_pages; i++)
			add(&l, LIT_SPONTANEOUS, 0, i);
	return l.n;
}

/* Updates that nothing can come of any more: promised, or put off for too long. */
static bool lost(const struct lit_run *r, u32 cpu)
{
	const struct xcpu *c = &r->w->a->cpu[cpu];

	if (r->cpu[cpu].done && c->nr_early)
		return true;
	for (u32 i = 0; i < c->nr_deferred; i++)
		if (r->w->a->msg[c->deferred[i].msg].next != XNIL &&
		    xlaw(r->w, XLAW_UPDATE_ATOMIC))
			return true;
	return false;
}

bool lit_over(const struct lit_run *r)
{
	for (u32 cpu = 0; cpu < r->t->nr_threads; cpu++) {
		const struct xcpu *c = &r->w->a->cpu[cpu];

		if (!r->cpu[cpu].done || c->nr_sb || c->nr_deferred || c->nr_early ||
		    r->cpu[cpu].ipi_left)
			return false;
	}
	return true;
}

static bool thread_step(struct lit_run *r, u32 cpu)
{
	const struct lit_insn *i = insn_of(r, cpu);

	if (is_access(i))
		return access_step(r, cpu, i);
	switch (i->op) {
	case LIT_DSB:
		tell(r, cpu, "fence, with which its invalidations are complete");
		xweak_complete(r->w, cpu, i->local);
		break;
	case LIT_INVLPG:
	case LIT_FLUSH:
		invalidate(r, cpu, i, "invalidates");
		break;
	case LIT_IPI:
		return ipi_step(r, cpu);
	default:
		XASSERT(!"an instruction that is no step");
	}
	r->cpu[cpu].pc++;
	return true;
}

bool lit_step(struct lit_run *r, struct lit_agent a)
{
	const struct lit_loc entry = { LIT_ENTRY_AT, a.i, 0 };
	bool ok = true;

	switch (a.kind) {
	case LIT_THREAD:
		ok = thread_step(r, a.cpu);
		break;
	case LIT_DRAIN:
		xmem_drain_one(r->w, a.cpu, a.i);
		break;
	case LIT_DEFERRED:
		ok = xupdate_deferred(r->w, a.cpu, a.i);
		break;
	case LIT_EARLY_LOAD:
	case LIT_EARLY_STORE:
		ok = xupdate_early(r->w, a.cpu, lit_offset(r->m, &entry),
				   a.kind == LIT_EARLY_STORE);
		break;
	case LIT_SPONTANEOUS:
		ok = xupdate_spontaneous(r->w, lit_offset(r->m, &entry));
		break;
	default:
		ok = interrupt(r, a.cpu, a.i);
	}
	if (!ok)
		return false;
	if (a.kind != LIT_SPONTANEOUS)
		run_quiet(r, a.cpu);
	for (u32 i = 0; i < r->t->nr_threads; i++)
		if (lost(r, i))
			return false;
	return true;
}
