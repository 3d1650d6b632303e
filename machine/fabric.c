/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue for broadcast invalidations: one server for the whole machine, shared
 * equally among the CPUs that have a request in progress.
 *
 * With n requests in progress each gets 1/n of the server. Virtual time advances
 * by 1/n per unit of real time, so a request that arrives at virtual time v with
 * service s is served at v + s, whoever comes and goes: arrival and
 * departure cost one heap operation. Virtual time is kept in units of 2^-16 ps and
 * rounded up at each change of n, hence at most 2^-16 ps early for each; it starts
 * again from zero whenever the server idles.
 *
 * A CPU has its own speed limit besides (min_done): its operations go out one
 * at a time, so its request is never complete sooner than they have gone out. That
 * does not slow the server for others.
 */
#include <stdlib.h>

#include "internal.h"

void fabric_init(struct fabric *f, u32 nr_cpus)
{
	memset(f, 0, sizeof(*f));
	f->heap = calloc(nr_cpus, sizeof(*f->heap));
}

void fabric_destroy(struct fabric *f)
{
	free(f->heap);
}

static void advance(struct fabric *f, u64 now)
{
	MACH_ASSERT(now >= f->last);
	if (f->nr)
		f->vtime += (((now - f->last) << FABRIC_SHIFT) + f->nr - 1) / f->nr;
	else
		f->vtime = 0;
	f->last = now;
}

static bool sooner(const struct fabric_req *a, const struct fabric_req *b)
{
	return a->vfinish < b->vfinish ||
	       (a->vfinish == b->vfinish && a->seq < b->seq);
}

void fabric_add(struct fabric *f, u64 now, u32 cpu, u64 service_ps, u64 min_done)
{
	struct fabric_req req = { .cpu = cpu, .min_done = min_done };
	u32 i;

	advance(f, now);
	req.vfinish = f->vtime + (service_ps << FABRIC_SHIFT);
	req.seq = f->seq++;
	MACH_ASSERT(service_ps < 1ULL << 40 && req.vfinish >= f->vtime);
	for (i = f->nr++; i && sooner(&req, &f->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = req;
}

u64 fabric_next(const struct fabric *f)
{
	unsigned __int128 left;

	if (!f->nr)
		return NEVER;
	if (f->heap[0].vfinish <= f->vtime)
		return f->last;
	left = (unsigned __int128)(f->heap[0].vfinish - f->vtime) * f->nr;
	return f->last + (u64)((left + (1 << FABRIC_SHIFT) - 1) >> FABRIC_SHIFT);
}

bool fabric_take(struct fabric *f, u64 now, u32 *cpu, u64 *done)
{
	struct fabric_req last;
	u32 i = 0, child;

	advance(f, now);
	if (!f->nr || f->heap[0].vfinish > f->vtime)
		return false;
	*cpu = f->heap[0].cpu;
	*done = f->heap[0].min_done > now ? f->heap[0].min_done : now;
	last = f->heap[--f->nr];
	while ((child = 2 * i + 1) < f->nr) {
		if (child + 1 < f->nr &&
		    sooner(&f->heap[child + 1], &f->heap[child]))
			child++;
		if (!sooner(&f->heap[child], &last))
			break;
		f->heap[i] = f->heap[child];
		i = child;
	}
	f->heap[i] = last;
	return true;
}
