// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A state, as bytes: two states with the same bytes go on in the same ways. Written
 * field by field, in one function for both directions, so that what is kept is what
 * is brought back, and no padding makes two states differ. What cannot change (the
 * upper levels' entries on arm64, unused CPUs) is left out.
 */
#include "litmus/run.h"

struct io {
	u8 *at;
	bool save;
};

static void io_bytes(struct io *io, void *field, size_t size)
{
	if (io->save)
		memcpy(io->at, field, size);
	else
		memcpy(field, io->at, size);
	io->at += size;
}

#define IO(io, field) io_bytes(io, &(field), sizeof(field))

static void io_store(struct io *io, struct xstore *s)
{
	IO(io, s->val);
	IO(io, s->off);
	IO(io, s->size);
	IO(io, s->kind);
	IO(io, s->site);
	IO(io, s->frame);
	IO(io, s->gen);
	IO(io, s->va);
	IO(io, s->nr_via);
	IO(io, s->via);
	IO(io, s->view);
}

static void io_updates(struct io *io, struct xupdate *u, u8 *n)
{
	IO(io, *n);
	for (u32 i = 0; i < *n; i++) {
		IO(io, u[i].off);
		IO(io, u[i].ts);
		IO(io, u[i].val);
		IO(io, u[i].msg);
	}
}

static void io_tlbi(struct io *io, struct xtlbi *k)
{
	IO(io, k->t);
	IO(io, k->d);
	IO(io, k->ctx);
	IO(io, k->cpu);
	IO(io, k->local);
	IO(io, k->stage);
	IO(io, k->tlb);
	IO(io, k->walk);
	IO(io, k->height);
	IO(io, k->start);
	IO(io, k->last);
	IO(io, k->classes);
}

static void io_log(struct io *io, struct xlog *l)
{
	IO(io, l->time);
	IO(io, l->kind);
	IO(io, l->root_gen);
	IO(io, l->root);
	IO(io, l->ctx);
	IO(io, l->va);
}

static void io_msg(struct io *io, struct xmsg *m)
{
	IO(io, m->val);
	IO(io, m->ts);
	IO(io, m->tw);
	IO(io, m->word);
	IO(io, m->next);
	IO(io, m->prev);
	IO(io, m->table_gen);
	IO(io, m->gen);
	IO(io, m->cpu);
	IO(io, m->freed);
	IO(io, m->site);
}

static void io_word(struct io *io, const struct lit_run *r, struct xword *word)
{
	IO(io, word->first);
	IO(io, word->last);
	if (!r->w->weak)
		return;
	IO(io, word->fwd_rmw);
	for (u32 i = 0; i < r->t->nr_threads; i++) {
		IO(io, word->coh[i]);
		IO(io, word->fwd_ts[i]);
		IO(io, word->fwd_view[i]);
	}
}

static void io_cpu(struct io *io, const struct lit_run *r, struct lit_cpu *c, u32 cpu)
{
	IO(io, c->pc);
	IO(io, c->done);
	IO(io, c->retry);
	IO(io, c->nr_faults);
	IO(io, c->waiting);
	IO(io, c->ipi_left);
	IO(io, c->ex_ts);
	IO(io, c->ex_off);
	for (u32 used = r->t->thread[cpu].used; used; used &= used - 1) {
		struct lit_reg *reg = &c->reg[__builtin_ctz(used)];

		IO(io, reg->val);
		IO(io, reg->view);
		IO(io, reg->pick);
	}
	IO(io, c->flags.val);
	IO(io, c->flags.pick);
	for (u32 i = 0; i < c->nr_faults; i++) {
		IO(io, c->fault[i].insn);
		IO(io, c->fault[i].page);
		IO(io, c->fault[i].type);
	}
}

static void io_world_cpu(struct io *io, struct xworld *w, u32 cpu)
{
	struct xcpu *c = &w->a->cpu[cpu];

	io_bytes(io, &c->v, offsetof(struct xviews, dep));
	IO(io, c->nr_sb);
	for (u32 i = 0; i < c->nr_sb; i++)
		io_store(io, &c->sb[i]);
	io_updates(io, c->deferred, &c->nr_deferred);
	io_updates(io, c->early, &c->nr_early);
	if (w->weak)
		return;
	IO(io, c->nr_log);
	for (u32 i = 0; i < c->nr_log; i++)
		io_log(io, &w->a->log[cpu][i]);
}

static void io_state(struct io *io, struct lit_run *r)
{
	struct xarena *a = r->w->a;
	/* x86 tests change entries of the upper levels. */
	u32 words = r->w->weak ? r->m->nr_words : 0, msgs = r->w->weak ? r->m->nr_msgs : 0;

	IO(io, a->now);
	IO(io, a->nr_msgs);
	IO(io, a->nr_tlbi);
	for (u32 i = words; i < a->nr_words; i++)
		io_word(io, r, &a->word[i]);
	for (u32 i = msgs; i < a->nr_msgs; i++)
		io_msg(io, &a->msg[i]);
	for (u32 i = 0; i < a->nr_tlbi; i++)
		io_tlbi(io, &a->tlbi[i]);
	for (u32 i = 0; i < r->t->nr_threads; i++) {
		io_cpu(io, r, &r->cpu[i], i);
		io_world_cpu(io, r->w, i);
	}
}

u32 lit_save(const struct lit_run *r, u8 buf[LIT_STATE_MAX])
{
	struct io io = { .at = buf, .save = true };

	/* Only read, when saving. */
	io_state(&io, (struct lit_run *)(uintptr_t)r);
	XASSERT(io.at - buf <= LIT_STATE_MAX);
	return (u32)(io.at - buf);
}

void lit_restore(struct lit_run *r, const u8 *buf)
{
	struct io io = { .at = (u8 *)(uintptr_t)buf };

	io_state(&io, r);
}
