/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts from CPU to CPU that carry a function. Each target gets its own
 * event at its own time: the sender writes them out one after the other.
 */
#include <stdlib.h>

#include "internal.h"

#define IRQ_CHUNK 256

struct irq *irq_of_event(struct machine *m, u32 event)
{
	u32 i = event - EVENT_IRQ(m);

	return &m->irq_chunk[i / IRQ_CHUNK][i % IRQ_CHUNK];
}

static void grow(struct machine *m)
{
	u32 n = m->nr_irqs / IRQ_CHUNK, first = EVENT_IRQ(m) + m->nr_irqs;
	struct irq *chunk = calloc(IRQ_CHUNK, sizeof(*chunk));

	m->irq_chunk = realloc(m->irq_chunk, (n + 1) * sizeof(*m->irq_chunk));
	MACH_ASSERT(chunk && m->irq_chunk);
	m->irq_chunk[n] = chunk;
	for (u32 i = IRQ_CHUNK; i-- > 0;) {
		chunk[i].event = first + i;
		chunk[i].next = m->irq_free;
		m->irq_free = &chunk[i];
	}
	m->nr_irqs += IRQ_CHUNK;
	clock_grow(&m->clock, first + IRQ_CHUNK);
}

struct irq *irq_alloc(struct machine *m)
{
	struct irq *irq;

	if (!m->irq_free)
		grow(m);
	irq = m->irq_free;
	m->irq_free = irq->next;
	m->irqs_busy++;
	return irq;
}

void irq_release(struct machine *m, struct irq *irq)
{
	irq->next = m->irq_free;
	m->irq_free = irq;
	m->irqs_busy--;
}

static struct ipi_call *call_alloc(struct machine *m)
{
	struct ipi_call *call = m->call_free;

	if (call)
		m->call_free = call->next;
	else
		call = malloc(sizeof(*call));
	MACH_ASSERT(call);
	return call;
}

static void call_release(struct machine *m, struct ipi_call *call)
{
	call->next = m->call_free;
	m->call_free = call;
}

void ipi_destroy(struct machine *m)
{
	struct ipi_call *call;

	while ((call = m->call_free)) {
		m->call_free = call->next;
		free(call);
	}
	for (u32 i = 0; i < m->nr_irqs / IRQ_CHUNK; i++)
		free(m->irq_chunk[i]);
	free(m->irq_chunk);
}

static void send_one(struct cpu *c, struct ipi_call *call, u32 target)
{
	struct machine *m = c->m;
	struct cpu *to = &m->cpu[target];
	struct irq *irq = irq_alloc(m);
	u64 latency = hw_cost(m, c->place.package == to->place.package ?
			      HW_IPI_NEAR : HW_IPI_FAR);

	if (to->cur == to->idle)
		latency += hw_cost(m, HW_IPI_IDLE);
	cpu_advance(c, hw_cost(m, HW_IPI_SEND_TARGET), MACH_ACCT_IPI_SEND);
	irq->kind = IRQ_CALL;
	irq->cpu = target;
	irq->call = call;
	irq->queued = false;
	irq->time = c->clock + latency;
	clock_push(&m->clock, irq->event, irq->time);
	call->pending++;
	m->stats.ipi++;
}

static void wait_for_all(struct cpu *c, struct ipi_call *call,
			 const struct mach_site *site)
{
	struct thread *t = this_thread();
	struct wait w = {
		.until = NEVER, .acct = MACH_ACCT_IPI_WAIT, .irqs = true,
	};

	call->wait = &w;
	t->site = site;
	/* Takes interrupts meanwhile: the targets may be sending to us. */
	cpu_wait_due(c, &w);
	t->site = NULL;
	MACH_ASSERT(!call->pending);
	call_release(c->m, call);
}

void ipi_send(const u64 *mask, void (*func)(void *info), void *info, bool wait,
	      const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;
	struct ipi_call *call = NULL;

	cpu_sync(c);
	for (u32 w = 0; w < m->words; w++) {
		u64 bits = mask[w];

		if (w == c->id / 64)
			bits &= ~(1ULL << (c->id % 64));
		for (; bits; bits &= bits - 1) {
			u32 target = w * 64 + __builtin_ctzll(bits);

			MACH_ASSERT(target < m->nr_cpus);
			if (!call) {
				call = call_alloc(m);
				*call = (struct ipi_call){
					.func = func, .info = info,
					.sender = c->id,
				};
				cpu_advance(c, hw_cost(m, HW_IPI_SEND_BASE),
					    MACH_ACCT_IPI_SEND);
			}
			send_one(c, call, target);
		}
	}
	if (call && wait)
		wait_for_all(c, call, site);
}

/* The handler's part, on the target. */
void ipi_run(struct cpu *c, struct irq *irq)
{
	struct ipi_call *call = irq->call;
	u64 seen;

	irq_release(c->m, irq);
	call->func(call->info);
	/*
	 * Acknowledge. Not synchronised: this CPU may be ahead, but says when,
	 * and the sender goes on at the latest of those times.
	 */
	seen = c->clock + line_transfer(c->m, c->id, call->sender);
	if (seen > call->done_at)
		call->done_at = seen;
	if (--call->pending)
		return;
	if (call->wait)
		cpu_kick(&c->m->cpu[call->sender], call->wait, call->done_at);
	else
		call_release(c->m, call);
}
