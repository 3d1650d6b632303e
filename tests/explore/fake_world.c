// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_thread {
	u32 pc;
	u8 acc, log;		/* log: all loads, so that they show in the state */
	u8 irqs_off, pending;	/* pending: what an interrupt will add */
	u8 irq_log;
	u8 in_irq;		/* its second step is to come; the thread waits */
	u8 head, tail;
	struct {
		u8 word, value;
	} buffer[FAKE_BUFFER];
};

struct fake_state {
	u8 word[FAKE_WORDS];
	u8 lock[FAKE_LOCKS];	/* 0, or thread + 1 */
	struct fake_thread thread[XMAX_THREADS];
	u32 steps;
};

struct xworld {
	const struct fake *fake;
	struct xprogram program;
	u64 dropped[XMAX_THREADS];
	u32 step_limit;
	struct fake_state s;
	const struct xchooser *chooser;
	struct xresult *result;
	struct xevent *events;
	u32 *nr_events, room;
};

u32 xagent_id(u32 kind, u32 index)
{
	return kind * XMAX_CPUS + index;
}

void fake_program(struct xprogram *program, const struct fake *fake)
{
	memset(program, 0, sizeof(*program));
	program->name = "fake";
	program->nr_cpus = fake->nr_threads;
	program->nr_threads = fake->nr_threads;
	program->arg = (void *)(uintptr_t)fake;
	for (u32 t = 0; t < fake->nr_threads; t++) {
		program->thread[t].name = "thread";
		program->thread[t].cpu = t;
		for (u32 i = 0; i < fake->thread[t].n; i++)
			if (fake->thread[t].insn[i].in >= program->thread[t].nr_ops)
				program->thread[t].nr_ops = fake->thread[t].insn[i].in + 1U;
	}
}

struct xworld *xworld_create(const struct xprogram *program, char *error, size_t error_size)
{
	struct xworld *w = calloc(1, sizeof(*w));

	(void)error;
	(void)error_size;
	assert(w);
	w->program = *program;
	w->fake = program->arg;
	w->step_limit = 10000;
	return w;
}

void xworld_destroy(struct xworld *w)
{
	free(w);
}

const struct xprogram *xworld_program(const struct xworld *w)
{
	return &w->program;
}

void xworld_drop_ops(struct xworld *w, const u64 mask[XMAX_THREADS])
{
	memcpy(w->dropped, mask, sizeof(w->dropped));
}

void xworld_set_step_limit(struct xworld *w, u32 steps)
{
	w->step_limit = steps;
}

/* ---- enabled agents ---- */

static const struct fake_insn *next_insn(const struct xworld *w, u32 t)
{
	const struct fake_thread *th = &w->s.thread[t];

	return th->pc < w->fake->thread[t].n ? &w->fake->thread[t].insn[th->pc] : NULL;
}

/* What the thread sees: its own buffered store, or memory. */
static u8 see(const struct xworld *w, u32 t, u32 word)
{
	const struct fake_thread *th = &w->s.thread[t];

	for (u32 i = th->tail; i-- > th->head;)
		if (th->buffer[i % FAKE_BUFFER].word == word)
			return th->buffer[i % FAKE_BUFFER].value;
	return w->s.word[word];
}

#define IRQS_OFF 64

static void touch(struct xstep *st, u32 cls, u32 id, bool write)
{
	st->obj[st->nr_obj++] = (struct xobj){
		.cls = cls, .write = write, .check = cls == XOBJ_MODE, .id = id,
	};
}

/* Waits for the thread's own drains; what XOBJ_BCAST stands for here. */
static bool needs_empty(u8 op)
{
	return op == FAKE_ADD || op == FAKE_LOCK || op == FAKE_UNLOCK || op == FAKE_FENCE ||
	       op == FAKE_IRQ;
}

static bool thread_step(const struct xworld *w, u32 t, struct xstep *st)
{
	const struct fake_insn *in = next_insn(w, t);
	const struct fake_thread *th = &w->s.thread[t];
	bool empty = th->head == th->tail, buffered = w->fake->drains;

	if (!in || th->in_irq)
		return false;
	if (buffered && needs_empty(in->op))
		touch(st, XOBJ_BCAST, t, false);
	switch ((enum fake_op)in->op) {
	case FAKE_LOAD:
		touch(st, XOBJ_WORD, in->a, false);
		return true;
	case FAKE_STORE:
	case FAKE_PUT:
		/* In the buffer, it keeps an interrupt from being taken. */
		touch(st, buffered ? XOBJ_MODE : XOBJ_WORD, buffered ? t : in->a, !buffered);
		return th->tail - th->head < FAKE_BUFFER;
	case FAKE_ADD:
		touch(st, XOBJ_WORD, in->a, true);
		return empty;
	case FAKE_LOCK:
		touch(st, XOBJ_LOCK, in->a, true);
		return empty && !w->s.lock[in->a];
	case FAKE_UNLOCK:
		touch(st, XOBJ_LOCK, in->a, true);
		return empty;
	case FAKE_WAIT:
		touch(st, XOBJ_WORD, in->a, false);
		return see(w, t, in->a) != in->b;
	case FAKE_FENCE:
		return empty;
	case FAKE_IRQ:
		touch(st, XOBJ_IRQ, in->a, true);
		return empty;
	case FAKE_CLI:
	case FAKE_STI:
		touch(st, XOBJ_MODE, IRQS_OFF + t, true);
		return true;
	case FAKE_CHOOSE:
	case FAKE_IF:
	case FAKE_FAIL:
	case FAKE_NOP:
		return true;
	}
	abort();
}

/* Handlers never wait. */
bool xworld_parked(struct xworld *w, u32 cpu, bool handler, struct xstep *step)
{
	struct fake_thread *th = &w->s.thread[cpu];
	u8 in_irq = th->in_irq;

	*step = (struct xstep){ .agent_kind = handler ? XAGENT_IRQ : XAGENT_THREAD,
				.agent_index = (u16)cpu, .cpu = (u8)cpu };
	if (handler)
		return in_irq;
	th->in_irq = 0;
	thread_step(w, cpu, step);
	th->in_irq = in_irq;
	return next_insn(w, cpu);
}

static u32 enabled_agents(const struct xworld *w, struct xstep *st)
{
	u32 n = 0;

	for (u32 t = 0; t < w->fake->nr_threads; t++) {
		st[n] = (struct xstep){ .agent_kind = XAGENT_THREAD, .agent_index = (u16)t,
					.cpu = (u8)t };
		n += thread_step(w, t, &st[n]);
	}
	for (u32 t = 0; t < w->fake->nr_threads; t++) {
		const struct fake_thread *th = &w->s.thread[t];

		if (th->head == th->tail)
			continue;
		st[n] = (struct xstep){ .agent_kind = XAGENT_DRAIN, .agent_index = (u16)t,
					.cpu = (u8)t, .handler = th->in_irq };
		touch(&st[n], XOBJ_BCAST, t, true);
		touch(&st[n++], XOBJ_WORD, th->buffer[th->head % FAKE_BUFFER].word, true);
	}
	for (u32 t = 0; t < w->fake->nr_threads; t++) {
		const struct fake_thread *th = &w->s.thread[t];

		/* Taking one serialises. */
		if (!th->in_irq &&
		    (!th->pending || th->irqs_off || th->head != th->tail))
			continue;
		st[n] = (struct xstep){ .agent_kind = XAGENT_IRQ, .agent_index = (u16)t,
					.cpu = (u8)t, .handler = th->in_irq };
		touch(&st[n], th->in_irq ? XOBJ_WORD : XOBJ_IRQ, t, !th->in_irq);
		if (!th->in_irq) {
			touch(&st[n], XOBJ_MODE, t, true);
			touch(&st[n], XOBJ_MODE, IRQS_OFF + t, false);
		}
		touch(&st[n++], XOBJ_WORD, 0, true);
	}
	return n;
}

/* ---- steps ---- */

static void violate(struct xworld *w, enum xrule rule, const char *what)
{
	w->result->outcome = XOUT_VIOLATION;
	w->result->rule = rule;
	snprintf(w->result->detail, sizeof(w->result->detail), "%s", what);
}

static void store(struct xworld *w, u32 t, u8 word, u8 value)
{
	struct fake_thread *th = &w->s.thread[t];

	if (!w->fake->drains) {
		w->s.word[word] = value;
		return;
	}
	th->buffer[th->tail % FAKE_BUFFER].word = word;
	th->buffer[th->tail++ % FAKE_BUFFER].value = value;
}

static void exec_insn(struct xworld *w, u32 t, const struct fake_insn *in)
{
	struct fake_thread *th = &w->s.thread[t];

	switch ((enum fake_op)in->op) {
	case FAKE_LOAD:
		th->acc = see(w, t, in->a);
		th->log = (u8)(th->log * 5 + th->acc + 1);
		break;
	case FAKE_STORE:
		store(w, t, in->a, in->b);
		break;
	case FAKE_PUT:
		store(w, t, in->a, (u8)(th->acc + in->b));
		break;
	case FAKE_ADD:
		th->acc = w->s.word[in->a];
		w->s.word[in->a] = (u8)(w->s.word[in->a] + in->b);
		th->log = (u8)(th->log * 5 + th->acc + 1);
		break;
	case FAKE_LOCK:
		w->s.lock[in->a] = (u8)(t + 1);
		break;
	case FAKE_UNLOCK:
		w->s.lock[in->a] = 0;
		break;
	case FAKE_CHOOSE:
		th->acc = (u8)w->chooser->choose(w->chooser->ctx,
						 in->b ? XCHOICE_ALLOC : XCHOICE_MESSAGE, in->a);
		th->log = (u8)(th->log * 5 + th->acc + 1);
		break;
	case FAKE_IRQ:
		w->s.thread[in->a].pending = (u8)(w->s.thread[in->a].pending + in->b);
		break;
	case FAKE_CLI:
	case FAKE_STI:
		th->irqs_off = in->op == FAKE_CLI;
		break;
	case FAKE_IF:
		if (th->acc != in->a)
			th->pc += in->b;
		break;
	case FAKE_FAIL:
		if (th->acc == in->a)
			violate(w, XRULE_ASSERT, "FAIL");
		break;
	case FAKE_WAIT:
	case FAKE_FENCE:
	case FAKE_NOP:
		break;
	}
}

static void tell(struct xworld *w, const struct xstep *st, const char *text)
{
	struct xevent *ev;

	if (!w->events || *w->nr_events == w->room)
		return;
	ev = &w->events[(*w->nr_events)++];
	*ev = (struct xevent){ w->s.steps, st->agent_kind, st->agent_index,
			       st->agent_index, NULL, "" };
	snprintf(ev->text, sizeof(ev->text), "%s", text);
}

/* Dropped instructions go by without a step. */
static void skip_dropped(struct xworld *w)
{
	for (u32 t = 0; t < w->fake->nr_threads; t++) {
		const struct fake_insn *in;

		while ((in = next_insn(w, t)) && (w->dropped[t] >> in->in & 1))
			w->s.thread[t].pc++;
	}
}

static void exec_step(struct xworld *w, const struct xstep *st)
{
	static const char *const name[] = { "load", "store", "put", "add", "lock",
		"unlock", "wait", "fence", "choose", "irq", "cli", "sti", "if",
		"fail", "nop" };
	u32 t = st->agent_index;
	struct fake_thread *th = &w->s.thread[t];
	const struct fake_insn *in;

	switch (st->agent_kind) {
	case XAGENT_THREAD:
		in = next_insn(w, t);
		tell(w, st, name[in->op]);
		th->pc++;
		exec_insn(w, t, in);
		break;
	case XAGENT_DRAIN:
		tell(w, st, "a buffered store reaches memory");
		w->s.word[th->buffer[th->head % FAKE_BUFFER].word] =
			th->buffer[th->head % FAKE_BUFFER].value;
		th->head++;
		break;
	case XAGENT_IRQ:
		tell(w, st, "interrupt");
		th->in_irq = !th->in_irq;
		if (th->in_irq) {
			w->s.word[0] = (u8)(w->s.word[0] * 2 + th->pending);
			th->pending = 0;
		} else {
			w->s.word[0] = (u8)(w->s.word[0] * 2);
			th->irq_log = (u8)(th->irq_log * 5 + w->s.word[t] + 1);
		}
		break;
	default:
		abort();
	}
	w->s.steps++;
}

static u64 state_hash(const struct xworld *w)
{
	u64 h = 0xcbf29ce484222325ULL;

	for (u32 i = 0; i < FAKE_WORDS; i++)
		h = (h ^ w->s.word[i]) * 0x100000001b3ULL;
	for (u32 t = 0; t < w->fake->nr_threads; t++) {
		h = (h ^ w->s.thread[t].acc) * 0x100000001b3ULL;
		h = (h ^ w->s.thread[t].log) * 0x100000001b3ULL;
		h = (h ^ w->s.thread[t].irq_log) * 0x100000001b3ULL;
		h = (h ^ w->s.thread[t].pc) * 0x100000001b3ULL;
	}
	return h;
}

static bool finished(const struct xworld *w)
{
	for (u32 t = 0; t < w->fake->nr_threads; t++)
		if (next_insn(w, t))
			return false;
	return true;
}

/* Which of the enabled agents moves, if that is known; else n. */
static u32 repeat(const struct xchooser *chooser, const struct xstep *st, u32 n)
{
	u32 agent = chooser->repeat ? chooser->repeat(chooser->ctx) : XREPEAT_ASK, i = n;

	if (agent == XREPEAT_ASK)
		return n;
	for (i = 0; i < n; i++)
		if (xagent_id(st[i].agent_kind, st[i].agent_index) == agent)
			break;
	assert(i < n);
	return i;
}

void xworld_run(struct xworld *w, const struct xchooser *chooser, struct xresult *result,
		struct xevent *events, u32 *nr_events)
{
	struct xstep st[3 * XMAX_THREADS];
	u32 n, i, last = ~0U, running;

	memset(&w->s, 0, sizeof(w->s));
	memset(result, 0, sizeof(*result));
	w->chooser = chooser;
	w->result = result;
	w->events = events;
	w->nr_events = nr_events;
	w->room = nr_events ? *nr_events : 0;
	if (nr_events)
		*nr_events = 0;
	while (result->outcome == XOUT_PASS) {
		skip_dropped(w);
		n = enabled_agents(w, st);
		if (!n) {
			if (!finished(w))
				violate(w, XRULE_DEADLOCK, "nobody can move");
			break;
		}
		for (running = 0; running < n; running++)
			if (xagent_id(st[running].agent_kind, st[running].agent_index) == last)
				break;
		i = repeat(chooser, st, n);
		if (i == n)
			i = chooser->pick(chooser->ctx, st, n, running);
		if (i == XPICK_STOP) {
			result->outcome = XOUT_STOPPED;
			break;
		}
		assert(i < n);
		last = xagent_id(st[i].agent_kind, st[i].agent_index);
		exec_step(w, &st[i]);
		if (w->s.steps == w->step_limit && result->outcome == XOUT_PASS)
			violate(w, XRULE_LIVELOCK, "too many steps");
	}
	result->steps = w->s.steps;
	result->state_hash = state_hash(w);
}

/* It keeps no states. */
bool xworld_keeps(const struct xworld *w)
{
	(void)w;
	return false;
}

void xworld_resume(struct xworld *w, const struct xchooser *chooser, struct xresult *result)
{
	(void)w;
	(void)chooser;
	(void)result;
	abort();
}

size_t xworld_kept_size(const struct xworld *w)
{
	(void)w;
	return 0;
}

void xworld_forget(struct xworld *w, u32 i)
{
	(void)w;
	(void)i;
	abort();
}
