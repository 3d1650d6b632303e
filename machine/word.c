/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared words. The host's memory is the truth; what is kept beside it is which
 * CPU has each cache line, since when, and who watches it.
 *
 * A line is a server: a write by another CPU than its owner waits until
 * the transfers before it are done, then for its own. A read of a line that
 * another CPU has written since this CPU read it pays one transfer.
 *
 * Which words share a line must not depend on a compiler's or a C library's
 * choices. In the core's own memory (kalloc) lines are the 64 bytes of the address; a
 * thread's stack is one line; a word anywhere else is a line of its own. Words in
 * physical memory (page tables) have no line: they cost a hit.
 */
#include <stdlib.h>

#include "internal.h"

#define ARENA_LINES (ARENA_BYTES / 64)

static void foreign_grow(struct machine *m)
{
	u32 size = m->foreign_size ? m->foreign_size * 2 : 1024;
	struct foreign_slot *old = m->foreign, *slot;

	m->foreign = calloc(size, sizeof(*m->foreign));
	MACH_ASSERT(m->foreign);
	for (u32 i = 0; i < m->foreign_size; i++) {
		if (!old[i].word)
			continue;
		slot = &m->foreign[old[i].word * 0x9e3779b97f4a7c15ULL >> 32 & (size - 1)];
		while (slot->word)
			slot = slot + 1 == m->foreign + size ? m->foreign : slot + 1;
		*slot = old[i];
	}
	m->foreign_size = size;
	free(old);
}

static __attribute__((noinline)) struct line *
foreign_line(struct machine *m, const void *addr)
{
	u64 word = (u64)(uintptr_t)addr >> 3;
	struct foreign_slot *slot;

	if (m->nr_foreign * 2 >= m->foreign_size)
		foreign_grow(m);
	slot = &m->foreign[word * 0x9e3779b97f4a7c15ULL >> 32 &
			   (m->foreign_size - 1)];
	while (slot->word && slot->word != word)
		slot = slot + 1 == m->foreign + m->foreign_size ? m->foreign :
								  slot + 1;
	if (!slot->word) {
		MACH_ASSERT(m->nr_foreign < FOREIGN_LINES);
		slot->word = word;
		slot->line = ARENA_LINES + NR_STACKS + m->nr_foreign++;
	}
	return &m->lines[slot->line];
}

/* NULL: in physical memory. */
static inline struct line *line_of(struct machine *m, const void *addr)
{
	u64 off = (u64)((uintptr_t)addr - (uintptr_t)m->arena);

	if (likely(off < ARENA_BYTES))
		return &m->lines[off / 64];
	off = (u64)((uintptr_t)addr - (uintptr_t)m->phys);
	if (likely(off < m->phys_bytes))
		return NULL;
	off = (u64)((uintptr_t)addr - (uintptr_t)m->stacks);
	if (off < NR_STACKS * MACH_STACK_SIZE)
		return &m->lines[ARENA_LINES + off / MACH_STACK_SIZE];
	return foreign_line(m, addr);
}

static inline struct read_entry *read_slot(struct cpu *c, u32 index)
{
	return &c->read_cache[index * 0x9e3779b1u >> 24];
}

static inline void line_seen(struct cpu *c, const struct line *line)
{
	u32 index = line - c->m->lines;
	struct read_entry *e = read_slot(c, index);

	e->line = index + 1;
	e->version = line->version;
}

/* This CPU reads the line: a transfer, unless it has it. */
static inline void line_read(struct cpu *c, struct line *line)
{
	u32 index = line - c->m->lines;
	struct read_entry *e = read_slot(c, index);
	u64 start = c->clock;

	if (!line->owner || line->owner == c->id + 1 ||
	    (e->line == index + 1 && e->version == line->version))
		return;
	if (start < line->free_at)
		start = line->free_at;
	cpu_advance(c, start - c->clock +
		    line_transfer(c->m, line->owner - 1, c->id),
		    MACH_ACCT_ATOMIC);
	line_seen(c, line);
}

/* This CPU gets the line to write; local_ps is charged if it has it. */
static inline void line_own(struct cpu *c, struct line *line, u64 local_ps, u32 acct)
{
	u64 start = c->clock;

	if (!line->owner || line->owner == c->id + 1) {
		cpu_advance(c, local_ps, acct);
	} else {
		if (start < line->free_at)
			start = line->free_at;
		cpu_advance(c, start - c->clock +
			    line_transfer(c->m, line->owner - 1, c->id),
			    MACH_ACCT_ATOMIC);
	}
	line->owner = c->id + 1;
	line->version++;
	line->free_at = c->clock;
}

static inline u64 peek(const void *addr, u32 size)
{
	return size == 8 ? __atomic_load_n((const u64 *)addr, __ATOMIC_RELAXED) :
			   __atomic_load_n((const u32 *)addr, __ATOMIC_RELAXED);
}

static inline void poke(void *addr, u32 size, u64 val)
{
	if (size == 8)
		__atomic_store_n((u64 *)addr, val, __ATOMIC_RELAXED);
	else
		__atomic_store_n((u32 *)addr, val, __ATOMIC_RELAXED);
}

/* A watched word has changed: its watchers see it one transfer later. */
static __attribute__((noinline)) void
line_notify(struct cpu *c, struct line *line, const void *addr)
{
	for (struct watcher *w = line->watchers; w; w = w->next)
		if (w->addr == addr)
			cpu_kick(w->cpu, w->wait, c->clock +
				 line_transfer(c->m, c->id, w->cpu->id));
}

static inline u64 read_now(struct cpu *c, const void *addr, u32 size)
{
	struct line *line = line_of(c->m, addr);
	u64 val = peek(addr, size);

	cpu_advance(c, hw_cost(c->m, HW_LOAD), c->ctx_acct);
	if (line)
		line_read(c, line);
	return val;
}

u64 word_read(struct cpu *c, const void *addr, u32 size)
{
	return read_now(c, addr, size);
}

static __attribute__((noinline)) u64
load_later(struct cpu *c, const void *addr, u32 size)
{
	cpu_sync_here(c, c->m->lookahead);
	return read_now(c, addr, size);
}

u64 word_load(const void *addr, u32 size, u32 order, const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)order;
	(void)site;
	if (cpu_is_ahead_load(c))
		return load_later(c, addr, size);
	return read_now(c, addr, size);
}

static inline void store_now(struct cpu *c, void *addr, u32 size, u64 val)
{
	struct line *line = line_of(c->m, addr);
	u64 store_ps = hw_cost(c->m, HW_STORE), old;

	if (!line) {
		poke(addr, size, val);
		cpu_advance(c, store_ps, c->ctx_acct);
		return;
	}
	if (likely(!line->watchers)) {
		poke(addr, size, val);
		line_own(c, line, store_ps, c->ctx_acct);
		return;
	}
	old = peek(addr, size);
	poke(addr, size, val);
	line_own(c, line, store_ps, c->ctx_acct);
	if (peek(addr, size) != old)
		line_notify(c, line, addr);
}

static __attribute__((noinline)) void
store_later(struct cpu *c, void *addr, u32 size, u64 val)
{
	cpu_sync_here(c, 0);
	store_now(c, addr, size, val);
}

void word_store(void *addr, u32 size, u64 val, u32 order,
		const struct mach_site *site)
{
	struct cpu *c = this_cpu();

	(void)order;
	(void)site;
	if (cpu_is_ahead(c))
		store_later(c, addr, size, val);
	else
		store_now(c, addr, size, val);
}

static inline u64 combine(u32 op, u64 old, u64 arg, u64 expected)
{
	switch (op) {
	case MACH_XCHG: return arg;
	case MACH_CMPXCHG: return old == expected ? arg : old;
	case MACH_ADD: return old + arg;
	case MACH_AND: return old & arg;
	case MACH_OR: return old | arg;
	case MACH_ADD_UNLESS: return old == expected ? old : old + arg;
	}
	MACH_PANIC("unknown read-modify-write");
}

struct rmw {
	u32 op;
	u64 arg, expected;
};

static inline u64 rmw_now(struct cpu *c, void *addr, u32 size, struct rmw rmw)
{
	struct line *line = line_of(c->m, addr);
	u64 mask = size == 8 ? ~0ULL : 0xffffffffULL;
	u64 old = peek(addr, size), val;

	val = combine(rmw.op, old, rmw.arg, rmw.expected & mask) & mask;
	poke(addr, size, val);
	if (!line) {
		cpu_advance(c, hw_cost(c->m, HW_ATOMIC_LOCAL), MACH_ACCT_ATOMIC);
		return old;
	}
	line_own(c, line, hw_cost(c->m, HW_ATOMIC_LOCAL), MACH_ACCT_ATOMIC);
	if (unlikely(line->watchers) && val != old)
		line_notify(c, line, addr);
	return old;
}

static __attribute__((noinline)) u64
rmw_later(struct cpu *c, void *addr, u32 size, struct rmw rmw)
{
	cpu_sync_here(c, 0);
	return rmw_now(c, addr, size, rmw);
}

u64 word_rmw(void *addr, u32 size, u32 op, u64 arg, u64 expected, u32 order,
	     const struct mach_site *site)
{
	struct rmw rmw = { op, arg, expected };
	struct cpu *c = this_cpu();

	(void)order;
	(void)site;
	if (cpu_is_ahead(c))
		return rmw_later(c, addr, size, rmw);
	return rmw_now(c, addr, size, rmw);
}

/* Plain loads: nobody else runs meanwhile. */
static u32 zeros_at(const u64 *p, u32 n)
{
	u32 i = 0;

	while (i + 8 <= n && !(p[i] | p[i + 1] | p[i + 2] | p[i + 3] |
			       p[i + 4] | p[i + 5] | p[i + 6] | p[i + 7]))
		i += 8;
	while (i < n && !p[i])
		i++;
	return i;
}

u32 word_scan_zero(const u64 *addr, u32 n, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	u32 i;

	(void)site;
	cpu_sync_load(c);
	i = zeros_at(addr, n);
	cpu_advance(c, hw_cost(c->m, HW_SCAN) * (i < n ? i + 1 : i), c->ctx_acct);
	return i;
}

/* ---- waiting for a word to change ---- */

void word_watch(struct cpu *c, struct watcher *watcher, const void *addr,
		struct wait *w)
{
	struct line *line = line_of(c->m, addr);

	MACH_ASSERT(line);
	*watcher = (struct watcher){
		.cpu = c, .wait = w, .addr = addr, .prev = line->last_watcher,
	};
	if (watcher->prev)
		watcher->prev->next = watcher;
	else
		line->watchers = watcher;
	line->last_watcher = watcher;
}

void word_unwatch(struct machine *m, struct watcher *watcher)
{
	struct line *line = line_of(m, watcher->addr);

	if (watcher->prev)
		watcher->prev->next = watcher->next;
	else
		line->watchers = watcher->next;
	if (watcher->next)
		watcher->next->prev = watcher->prev;
	else
		line->last_watcher = watcher->prev;
	/* It came with the transfer that ended the wait. */
	if (watcher->wait->kicked)
		line_seen(watcher->cpu, line);
}

/* The first watched word that has changed, or -1. */
static int first_changed(struct cpu *c, const struct mach_watch *watch, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (word_read(c, watch[i].addr, watch[i].size) != watch[i].old)
			return i;
	return -1;
}

/* One wait; true if an interrupt ended it. */
static bool watch_once(struct cpu *c, const struct mach_watch *watch, u32 n,
		       u32 acct)
{
	struct watcher watcher[MACH_MAX_WATCH];
	struct wait w = { .until = NEVER, .acct = acct, .irqs = true };
	bool interrupted;

	for (u32 i = 0; i < n; i++)
		word_watch(c, &watcher[i], watch[i].addr, &w);
	interrupted = cpu_wait(c, &w);
	for (u32 i = 0; i < n; i++)
		word_unwatch(c->m, &watcher[i]);
	return interrupted;
}

int word_wait_change(const struct mach_watch *watch, u32 n,
		     const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct thread *t = this_thread();
	int changed;

	MACH_ASSERT(n && n <= MACH_MAX_WATCH);
	for (;;) {
		cpu_sync(c);
		changed = first_changed(c, watch, n);
		if (changed >= 0 || c->need_resched)
			return changed;
		/* Reading took time: somebody may have come in between. */
		cpu_sync(c);
		for (u32 i = 0; i < n; i++)
			if (peek(watch[i].addr, watch[i].size) != watch[i].old)
				return i;
		t->site = site;
		if (watch_once(c, watch, n, MACH_ACCT_LOCK_WAIT)) {
			t->site = NULL;
			return -1;
		}
		t->site = NULL;
	}
}

void word_user_wait_change(const struct mach_watch *watch, u32 n)
{
	static const struct mach_site site = { "user mode", "spin", 0, MACH_SITE_WAIT };
	struct thread *t = this_thread();

	MACH_ASSERT(n && n <= MACH_MAX_WATCH);
	for (;;) {
		struct cpu *c;

		sched_preempt_point(t->cpu);
		c = t->cpu;
		cpu_sync(c);
		if (first_changed(c, watch, n) >= 0)
			return;
		cpu_sync(c);
		for (u32 i = 0; i < n; i++)
			if (peek(watch[i].addr, watch[i].size) != watch[i].old)
				return;
		if (c->need_resched)
			continue;
		t->site = &site;
		watch_once(c, watch, n, MACH_ACCT_USER);
		t->site = NULL;
	}
}
