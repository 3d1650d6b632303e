/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory: stacks, physical frames and the core's own objects, in one reservation
 * that costs the host only the pages touched.
 *
 * Frames. Memory is split evenly over the nodes. Each node has, per order, a
 * stack of free blocks; a block of an order that has none is split off a larger
 * one, and failing that cut from memory that was never used. Blocks
 * are not merged again: sizes in use are few, and a test may rely on the order.
 * Frame 0 is never given out.
 *
 * Contents. Only frames that were allocated with MACH_GFP_TABLE are ever written
 * by anybody; data frames have no contents in timed mode. So a frame is
 * known to be zero when it was never a table, or was freed as MACH_FREE_ZEROED,
 * and need not be cleared again.
 *
 * Objects. Powers of two from 16 bytes on, cut from one arena, and a stack of
 * free ones per size. Their addresses relative to the arena depend on nothing
 * but the order of calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#if defined(TLBLAB_DEBUG) || defined(CORO_ASAN)
#define CHECK_ZERO 1
#else
#define CHECK_ZERO 0
#endif

#define FRAME_USED	0x1
#define FRAME_ZERO	0x2	/* known zero */
#define FRAME_TABLE	0x4
#define FRAME_FREE	0x8	/* first of a block on a free list */
#define FRAME_ORDER	4	/* shift */

static void *reserve(u64 bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* A huge page of the host would make one touched word cost 2 MiB. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static void split_nodes(struct machine *m)
{
	u32 n = m->desc->nr_nodes ? m->desc->nr_nodes : 1;
	u64 per_node = m->nr_frames / n;

	for (u32 i = 0; i < n; i++) {
		m->node[i].first = m->node[i].fresh = i * per_node;
		m->node[i].end = (i + 1) * per_node;
	}
	m->node[0].fresh = 1;
}

bool mem_create(struct machine *m, char *error, size_t error_size)
{
	u64 stacks = NR_STACKS * MACH_STACK_SIZE;
	u64 lines = ARENA_BYTES / 64 + NR_STACKS + FOREIGN_LINES;

	m->nr_frames = m->desc->memory_bytes >> m->desc->page_shift;
	m->phys_bytes = m->nr_frames << m->desc->page_shift;
	if (m->nr_frames < 2 || m->nr_frames > UINT32_MAX - 1) {
		snprintf(error, error_size, "machine %s: %llu frames of memory "
			 "cannot be simulated", m->desc->name,
			 (unsigned long long)m->nr_frames);
		return false;
	}
	m->region_bytes = stacks + m->phys_bytes + ARENA_BYTES + 2 * MACH_STACK_SIZE;
	m->region = reserve(m->region_bytes);
	m->lines = reserve(lines * sizeof(*m->lines));
	m->frame_state = reserve(m->nr_frames);
	m->frame_next = reserve(m->nr_frames * sizeof(*m->frame_next));
	if (!m->region || !m->lines || !m->frame_state || !m->frame_next) {
		snprintf(error, error_size, "the host has no %llu GiB of address "
			 "space for machine %s",
			 (unsigned long long)(m->region_bytes >> 30),
			 m->desc->name);
		return false;
	}
	m->stacks = (char *)(((uintptr_t)m->region + MACH_STACK_SIZE - 1) &
			     ~(MACH_STACK_SIZE - 1));
	m->phys = m->stacks + stacks;
	m->arena = (char *)(((uintptr_t)m->phys + m->phys_bytes +
			     MACH_STACK_SIZE - 1) & ~(MACH_STACK_SIZE - 1));
	split_nodes(m);
	return true;
}

void mem_destroy(struct machine *m)
{
	if (m->region)
		munmap(m->region, m->region_bytes);
	if (m->lines)
		munmap(m->lines, (ARENA_BYTES / 64 + NR_STACKS + FOREIGN_LINES) *
		       sizeof(*m->lines));
	if (m->frame_state)
		munmap(m->frame_state, m->nr_frames);
	if (m->frame_next)
		munmap(m->frame_next, m->nr_frames * sizeof(*m->frame_next));
	free(m->foreign);
}

/* ---- stacks ---- */

struct thread *thread_new(struct machine *m, void (*entry)(void *arg))
{
	u64 page = sysconf(_SC_PAGESIZE), colour;
	struct thread *t = m->stack_free;

	if (t) {
		m->stack_free = t->next;
	} else {
		if (m->nr_stacks == NR_STACKS)
			return NULL;
		t = (void *)(m->stacks + m->nr_stacks++ * MACH_STACK_SIZE);
		if (mprotect((char *)t + page, page, PROT_NONE))
			MACH_PANIC("no guard page for a stack");
	}
	memset(t, 0, sizeof(*t));
	t->env = (struct mach_env){
		.magic = MACH_ENV_MAGIC,
		.ops = machine_timed_ops(),
		.machine = m,
		.core = m->core_root,
		.phys_base = m->phys,
		.nr_cpus = m->nr_cpus,
		.nr_nodes = m->desc->nr_nodes ? m->desc->nr_nodes : 1,
		.page_shift = m->desc->page_shift,
		.nr_frames = m->nr_frames,
	};
	/* Tops of stacks at different places in a page: see struct cpu's coro. */
	colour = ((char *)t - m->stacks) / MACH_STACK_SIZE % 32 * 128;
	coro_init(&t->coro, (char *)t + 2 * page,
		  MACH_STACK_SIZE - 2 * page - colour, entry, t);
	return t;
}

/* ---- frames ---- */

static void block_push(struct machine *m, struct node_mem *node, u64 pfn,
		       u32 order, u8 zero)
{
	m->frame_state[pfn] = FRAME_FREE | zero | order << FRAME_ORDER;
	m->frame_next[pfn] = node->free[order];
	node->free[order] = pfn + 1;
}

static u64 block_pop(struct machine *m, struct node_mem *node, u32 order)
{
	u64 pfn = node->free[order] - 1;

	MACH_ASSERT(m->frame_state[pfn] & FRAME_FREE);
	node->free[order] = m->frame_next[pfn];
	return pfn;
}

/* A block of memory that was never used; what alignment skips becomes free. */
static u64 cut_fresh(struct machine *m, struct node_mem *node, u32 order)
{
	u64 size = 1ULL << order;
	u64 pfn = (node->fresh + size - 1) & ~(size - 1);

	if (pfn + size > node->end)
		return MACH_NO_FRAME;
	while (node->fresh < pfn) {
		u32 skip = __builtin_ctzll(node->fresh);

		block_push(m, node, node->fresh, skip, FRAME_ZERO);
		node->fresh += 1ULL << skip;
	}
	node->fresh = pfn + size;
	m->frame_state[pfn] = FRAME_ZERO;
	return pfn;
}

static u64 take_block(struct machine *m, struct node_mem *node, u32 order)
{
	for (u32 o = order; o < 16; o++) {
		u64 pfn;
		u8 zero;

		if (!node->free[o])
			continue;
		pfn = block_pop(m, node, o);
		zero = m->frame_state[pfn] & FRAME_ZERO;
		while (o-- > order)
			block_push(m, node, pfn + (1ULL << o), o, zero);
		m->frame_state[pfn] = zero;
		return pfn;
	}
	return cut_fresh(m, node, order);
}

#if CHECK_ZERO
static void check_zero(struct machine *m, u64 pfn, u32 order)
{
	const u64 *p = (const u64 *)(m->phys + (pfn << m->desc->page_shift));
	u64 n = 1ULL << (order + m->desc->page_shift) >> 3;

	for (u64 i = 0; i < n; i++)
		if (p[i])
			MACH_PANIC("a frame that should be zero is not");
}
#else
static inline void check_zero(struct machine *m, u64 pfn, u32 order)
{
	(void)m;
	(void)pfn;
	(void)order;
}
#endif

u64 mem_alloc_frames(u32 order, s32 node, u32 gfp, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;
	u32 n = m->desc->nr_nodes ? m->desc->nr_nodes : 1;
	u32 first = node < 0 ? c->place.node : (u32)node;
	u64 pfn = MACH_NO_FRAME;

	(void)site;
	MACH_ASSERT(order < 16 && first < n);
	for (u32 i = 0; i < n && pfn == MACH_NO_FRAME; i++)
		pfn = take_block(m, &m->node[(first + i) % n], order);
	if (pfn == MACH_NO_FRAME)
		return pfn;
	if (gfp & MACH_GFP_ZERO) {
		if (!(m->frame_state[pfn] & FRAME_ZERO))
			memset(m->phys + (pfn << m->desc->page_shift), 0,
			       1ULL << (order + m->desc->page_shift));
		m->frame_state[pfn] |= FRAME_ZERO;
	}
	m->frame_state[pfn] = (m->frame_state[pfn] & FRAME_ZERO) | FRAME_USED |
			      (gfp & MACH_GFP_TABLE ? FRAME_TABLE : 0) |
			      order << FRAME_ORDER;
	m->frames_in_use += 1ULL << order;
	return pfn;
}

void mem_free_frames(u64 pfn, u32 order, u32 flags, const struct mach_site *site)
{
	struct machine *m = this_cpu()->m;
	u8 state, zero;

	MACH_ASSERT(pfn < m->nr_frames);
	state = m->frame_state[pfn];
	if (!(state & FRAME_USED) || state >> FRAME_ORDER != order)
		machine_panic("free of a block that is not in use", site->file,
			      site->line, site->func);
	zero = state & FRAME_TABLE ? 0 : state & FRAME_ZERO;
	if (flags & MACH_FREE_ZEROED)
		zero = FRAME_ZERO;
	if (zero)
		check_zero(m, pfn, order);
	m->frames_in_use -= 1ULL << order;
	block_push(m, &m->node[mem_frame_node(pfn)], pfn, order, zero);
}

u32 mem_cpu_node(u32 cpu)
{
	return this_cpu()->m->cpu[cpu].place.node;
}

u32 mem_frame_node(u64 pfn)
{
	struct machine *m = this_cpu()->m;
	u32 n = m->desc->nr_nodes ? m->desc->nr_nodes : 1;
	u32 node = pfn / (m->nr_frames / n);

	/* What does not divide evenly belongs to nobody, so is never asked. */
	MACH_ASSERT(node < n);
	return node;
}

/* Data frames have no contents; the time is a named cost. */
void mem_copy_frame(u64 to, u64 from, const struct mach_site *site)
{
	struct cpu *c = this_cpu();
	struct machine *m = c->m;
	u32 shift = m->desc->page_shift;

	(void)site;
	MACH_ASSERT(to < m->nr_frames && from < m->nr_frames);
	/* Where sweeps have costs, copying gets its share of memory, too. */
	if (hw_cost(m, HW_MEM_LOCAL))
		cpu_advance(c, memory_ps(c, from << shift, 1) + memory_ps(c, to << shift, 1),
			    MACH_ACCT_COPY);
}

/* It has none, and what a device does takes no CPU's time. */
void mem_frame_store(u64 pfn, u32 offset, u64 val, const struct mach_site *site)
{
	struct machine *m = this_cpu()->m;

	(void)val;
	(void)site;
	MACH_ASSERT(pfn < m->nr_frames && offset < 1U << m->desc->page_shift);
}

u64 machine_frames_in_use(const struct machine *m)
{
	return m->frames_in_use;
}

/* ---- the core's own objects ---- */

static u32 size_class(size_t size)
{
	return size <= 16 ? 0 : 60 - __builtin_clzll(size - 1);
}

void *mem_kalloc(size_t size, u32 gfp, const struct mach_site *site)
{
	struct machine *m = this_cpu()->m;
	u32 cls = size_class(size);
	u64 bytes = 16ULL << cls, align = bytes < 4096 ? bytes : 4096;
	void *p;

	(void)gfp;
	MACH_ASSERT(size && cls < ARENA_CLASSES);
	m->kalloc_in_use += bytes;
	p = m->kfree_list[cls];
	if (p) {
		m->kfree_list[cls] = *(void **)p;
		return memset(p, 0, size);
	}
	/* A large one needs no more than its pages: it starts out zero. */
	m->arena_used = (m->arena_used + align - 1) & ~(align - 1);
	if (m->arena_used + bytes > ARENA_BYTES)
		machine_panic("out of memory for the core's objects",
			      site->file, site->line, site->func);
	p = m->arena + m->arena_used;
	m->arena_used += bytes;
	return p;
}

void mem_kfree(void *p, size_t size, const struct mach_site *site)
{
	struct machine *m = this_cpu()->m;
	u32 cls = size_class(size);

	if (!p)
		return;
	if ((u64)((char *)p - m->arena) >= ARENA_BYTES)
		machine_panic("kfree of what kalloc did not give", site->file,
			      site->line, site->func);
	m->kalloc_in_use -= 16ULL << cls;
	*(void **)p = m->kfree_list[cls];
	m->kfree_list[cls] = p;
}

u64 machine_kalloc_in_use(const struct machine *m)
{
	return m->kalloc_in_use;
}
