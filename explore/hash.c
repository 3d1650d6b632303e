/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal state as a number: the newest value of every shared word that
 * changed, frames still in use only, and what each thread has read in user mode.
 * The order of writes to different words does not matter.
 */
#include "world.h"

u64 xhash_state(struct xworld *w)
{
	struct xarena *a = w->a;
	u64 sum = 0;

	for (u32 i = 0; i < a->nr_words; i++) {
		const struct xword *word = &a->word[i];
		u64 val;

		if (word->frame && !a->frame[word->frame].used)
			continue;
		val = xmem_read(w, word->off, word->size);
		if (val == a->msg[word->first].val)
			continue;
		/* A pointer into the world, wherever that lies. */
		if (val - w->base < XARENA_SIZE)
			val = val - w->base + XBASE;
		sum += xmix(xmix(word->off) ^ val);
	}
	for (u32 i = 0; i < XTHR_IDLE; i++)
		sum += xmix(a->thr[i].results + i);
	return sum;
}
