// SPDX-License-Identifier: GPL-2.0-or-later
#include "barrier.h"

static bool is_tlbi(enum insn_kind kind)
{
	return kind >= INSN_VMALLE1IS && kind <= INSN_TLBI_OTHER;
}

static bool is_local_tlbi(enum insn_kind kind)
{
	return kind >= INSN_VMALLE1 && kind <= INSN_VAALE1;
}

static enum insn_kind elsewhere(enum insn_kind kind)
{
	return kind == INSN_DSB_ISHST ? INSN_DSB_ISHST_ELSE : INSN_DSB_ELSE;
}

int barrier_user(struct barrier_state *s, enum insn_kind count[1])
{
	if (!s->store_pending)
		return 0;
	s->store_pending = false;
	count[0] = elsewhere(s->store_kind);
	return 1;
}

static int step_tlbi(struct barrier_state *s, enum insn_kind kind,
		     enum insn_kind count[2])
{
	int n = 0;

	if (is_local_tlbi(kind))
		s->local_pending = true;
	else
		s->broadcast_pending = true;
	if (s->store_pending)
		count[n++] = s->store_kind;
	s->store_pending = false;
	count[n++] = kind;
	return n;
}

int barrier_step(struct barrier_state *s, enum insn_kind kind,
		 enum insn_kind count[2])
{
	int n;

	if (is_tlbi(kind))
		return step_tlbi(s, kind, count);
	switch (kind) {
	case INSN_DSB_ISHST:
	case INSN_DSB_NSHST:
		n = barrier_user(s, count);
		s->store_pending = true;
		s->store_kind = kind;
		return n;
	case INSN_DSB_ISH:
		count[0] = s->broadcast_pending ? kind : INSN_DSB_ELSE;
		s->broadcast_pending = false;
		return 1;
	case INSN_DSB_NSH:
		count[0] = s->local_pending ? kind : INSN_DSB_ELSE;
		s->local_pending = false;
		return 1;
	default:
		count[0] = kind;
		return 1;
	}
}
