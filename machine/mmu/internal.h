/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MMU's inside.
 *
 *	mmu.c	 create, translate, dispatch, queries
 *	tlb.c	 associative arrays; what a CPU holds of a context (a view)
 *	log.c	 contexts and their logs of broadcast invalidations
 *	walk.c	 the walker, for any radix table
 *	chase.c	 the pointer chase
 *	x86.c arm64.c powerpc.c	what an architecture adds: struct mmu_arch. Another
 *		 architecture is another such file and a line in mmu.c.
 *
 * Levels are counted from the leaves here, and called heights: height 0
 * is a last-level entry (a base page), height 1 the level above (a table, or a
 * 2 MiB page on x86). Arm's level is (3 - height).
 *
 * Dropping a whole context is O(1): its view gets a new tag, and entries
 * with the old tag are dead where they lie. Tags are never used twice on a CPU.
 *
 * Invariants, for each view v and array id:
 *   v->live[id] is the number of entries of that array whose tag is v's;
 *   nr_tlb and nr_walk are their sums; [lo, hi] covers the virtual addresses of
 *   all TLB entries, and heights has the bit of each one's height;
 *   array.nr_idle counts the entries that no view has (free or dead).
 */
#ifndef TLBLAB_MMU_INTERNAL_H
#define TLBLAB_MMU_INTERNAL_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../mark.h"
#include "mmu.h"

#define MMU_HEIGHTS TLBLAB_MAX_PT_LEVELS

enum { MMU_L1, MMU_L1_HUGE, MMU_L2, MMU_NR_TLBS };
/* The walk cache of a height from 1 on. */
#define MMU_WALK(height) (MMU_NR_TLBS + (height) - 1)
#define MMU_NR_ARRAYS MMU_WALK(MMU_HEIGHTS)

#define MMU_NIL (~0u)

#define MMU_PERM_USER	0x1
#define MMU_PERM_WRITE	0x2
#define MMU_PERM_ALL	0x3

#define mmu_unlikely(x) __builtin_expect(!!(x), 0)

struct mmu_entry {
	u64 key;	/* mmu_key(): page number and height */
	u32 tag;	/* of the view when filled; 0: free */
	u32 ctx;
	u64 pa;		/* of the page, or of the table pointed to */
	u64 word_pa;	/* the table entry that it came from */
	u32 chain;	/* next in hash bucket, index + 1 */
	u32 older, newer; /* in its set, by use */
	u32 set;	/* const */
	u8 height;
	u8 perm;	/* of all levels together */
	u8 dirty;	/* a write needs no update of the table entry */
} __attribute__((aligned(64)));

struct mmu_array {
	u32 sets, ways, n; /* n = sets * ways; 0: absent */
	bool pow2;	/* sets is a power of two */
	u32 nr_idle;
	u32 hash_shift;
	struct mmu_entry *e;	/* allocated at the first fill */
	u32 *bucket;		/* index + 1 */
	struct mmu_set {
		u32 mru, lru;
	} *set;
};

/* What one CPU holds of one context. Exists while the CPU may hold any. */
struct mmu_view {
	struct mmu_ctx *ctx;
	struct mmu_view *next;	/* of this CPU */
	u64 seq;		/* of the first record not yet applied */
	u32 tag, walk_tag;
	u32 nr_tlb, nr_walk;
	u64 lo, hi;		/* first and last byte; lo > hi: none */
	u32 heights;
	u32 live[MMU_NR_ARRAYS];
};

/* One broadcast invalidation, or a run of contiguous ones at one time. */
struct mmu_record {
	u64 time_ps;
	u64 start, last;	/* first and last byte; all of it if 0, ~0 */
	bool leaf_only;		/* leaves walk caches alone */
	bool walk_all;		/* drops them whatever the address */
	s8 ttl;			/* height of the leaf, or -1: no hint */
};

struct mmu_ctx {
	u32 id;
	u32 nr_views;
	u64 seq;		/* of the next record */
	u64 oldest;		/* no view needs a record before this one */
	u32 cap;		/* of ring; power of two */
	bool open;		/* the newest record may still grow */
	struct mmu_record *ring;
	struct mmu_view *view[]; /* [nr_cpus]; NULL: cannot hold any */
};

/* An invalidation, decoded. */
struct mmu_op {
	struct mmu_record rec;
	u32 ctx;
	bool all_ctx;		/* whatever the context */
	bool global;		/* global entries too */
	bool none;		/* nothing need be dropped */
};

/* The same chase, observed over time: see chase.c. */
struct mmu_chase_state {
	/* Which chase, and where it stands. */
	const u32 *next;
	u64 va;
	u32 nr_pages, page_shift, pos;
	u32 tag;
	u64 end_ps;		/* evaluated up to here */
	/* Rest of the load in flight. */
	u64 left_walk_ps, left_user_ps;
	u32 left_fault;
	u64 left_va;
	/* Loads and cycles since the TLBs last changed from outside. */
	u32 in_cycle, cycles;
	u32 walk_cycles;	/* cycles since a walk cache or table did */
	struct mmu_stats start;	/* counters when this cycle began */
	struct mmu_stats last;	/* what the last full cycle added to them */
	u64 lo, hi;		/* first and last byte of the chase's pages */
	u64 ops_seen;		/* broadcasts that were charged, up to end_ps */
	u64 debt_ps;		/* stolen, but not yet taken from an interval */
};

struct mmu_cpu {
	struct mmu *mmu;
	u32 id;
	u32 next_tag;
	u64 now_ps;		/* of the call being served */
	struct mmu_view *cur;	/* NULL until a root is loaded */
	struct mmu_view *views;	/* all, cur included */
	u64 root;		/* of the tables of cur */
	bool chasing;		/* the last call for this CPU was mmu_chase() */
	struct mmu_array array[MMU_NR_ARRAYS];
	struct mmu_stats stats;
	struct mmu_chase_state chase;
};

/* A table entry, decoded. */
enum mmu_word_kind { MMU_WORD_NONE, MMU_WORD_TABLE, MMU_WORD_LEAF, MMU_WORD_BAD };

struct mmu_word {
	enum mmu_word_kind kind;
	u8 perm;
	bool global;
	bool dirty;	/* leaf: a write needs no update */
	bool usable;	/* leaf: false is an access-flag fault */
	bool accessed;	/* leaf: the flag is set; only then it may be cached */
	u64 pa;
};

struct mmu_arch {
	const char *name;
	/* A fault drops what is cached for its address. */
	bool fault_drops;
	/* Tables are read again before a cached entry may refuse. */
	bool refetch;
	/* Log2 of the entries of a table of a height; NULL: all fill a page. */
	u32 (*index_bits)(const struct mmu *mmu, u32 height);
	/* Sets up mmu->nr_levels and features. */
	void (*init)(struct mmu *mmu);
	void (*decode)(const struct mmu *mmu, u64 word, u32 height,
		       struct mmu_word *w);
	/* The word after hardware marked it used (and written, if a leaf). */
	u64 (*mark_used)(const struct mmu *mmu, u64 word,
			 const struct mmu_word *w, bool write);
	void (*insn)(struct mmu_cpu *cpu, u64 now_ps, u32 insn, u64 a, u64 b,
		     u32 c);
	/* Decodes a broadcast; false: not an instruction that broadcasts. */
	bool (*broadcast)(const struct mmu *mmu, u32 insn, u64 a, u64 b, u32 c,
			  struct mmu_op *op);
	/* What a adds for the next base page, if such ops can be merged; or 0. */
	u64 (*next_page)(const struct mmu *mmu, u32 insn);
};

extern const struct mmu_arch mmu_arch_x86, mmu_arch_arm64, mmu_arch_powerpc;

/* Cumulated broadcasts at a time, for HW_DVM_SNOOP. */
#define MMU_HISTORY 1024
struct mmu_history {
	u64 time_ps, ops;	/* ops: after those at time_ps */
};

struct mmu {
	const struct machine_desc *desc;
	const struct mmu_arch *arch;
	char *phys_base;
	u64 memory_bytes;
	u32 nr_cpus;
	u32 nr_levels;
	u32 page_shift;
	u32 shift[MMU_HEIGHTS];	/* of what an entry of a height maps */
	u64 index_mask[MMU_HEIGHTS]; /* of a table whose entries have a height */
	u64 access_ps, tlb_l2_ps, walk_base_ps, walk_level_ps, snoop_ps;
	bool pcid, invpcid, invlpgb, hafdbs, has_ttl, tlbirange, isa31;
	u32 hcall_ceiling;	/* const: POWER's hypervisor */
	u64 prtb;		/* POWER: the process table; 0: none yet */
	u64 prtb_entries;
	bool closed_form;

	u32 nr_ctx;		/* contexts; the global one comes after them */
	struct mmu_ctx **ctx;	/* [nr_ctx + 1], allocated at first use */
	u32 *used, nr_used;	/* those allocated, in order of first use */

	u64 last_broadcast_ps;
	u64 nr_ops, nr_records;
	struct mmu_history history[MMU_HISTORY];
	u64 nr_history;
	/* The newest record of an even and an odd context, to be extended by
	 * the next page (arm64 with KPTI alternates between the two). */
	struct mmu_merge {
		struct mmu_ctx *ctx;	/* NULL: none */
		u64 seq, time_ps, next_a, step;
		u32 insn, from;
	} merge[2];

	struct mmu_cpu *cpu;	/* [nr_cpus] */
};

static inline u64 mmu_key(const struct mmu *mmu, u64 va, u32 height)
{
	return va >> mmu->shift[height] << 3 | height;
}

static inline u64 mmu_entry_va(const struct mmu *mmu, const struct mmu_entry *e)
{
	return e->key >> 3 << mmu->shift[e->height];
}

static inline u64 mmu_entry_last(const struct mmu *mmu,
				 const struct mmu_entry *e)
{
	return mmu_entry_va(mmu, e) + (1ULL << mmu->shift[e->height]) - 1;
}

/* Where a leaf of a height goes first. */
static inline u32 mmu_l1_of(const struct mmu_cpu *c, u32 height)
{
	return height && c->array[MMU_L1_HUGE].n ? MMU_L1_HUGE : MMU_L1;
}

/* tlb.c */
bool mmu_feature(const struct machine_desc *desc, const char *name);
u32 mmu_feature_number(const struct machine_desc *desc, const char *name, u32 def);
void mmu_array_init(struct mmu_array *a, u32 sets, u32 ways);
void mmu_array_free(struct mmu_array *a);
struct mmu_entry *mmu_insert(struct mmu_cpu *c, u32 id, struct mmu_view *v,
			     const struct mmu_entry *what);
void mmu_drop_key(struct mmu_cpu *c, struct mmu_view *v, u64 key);
void mmu_drop_in(struct mmu_cpu *c, u32 id, struct mmu_view *v, u64 key);
void mmu_drop_tlb(struct mmu_cpu *c, struct mmu_view *v, u64 start, u64 last,
		  int ttl);
void mmu_drop_walk(struct mmu_cpu *c, struct mmu_view *v, u64 start, u64 last,
		   int ttl);
void mmu_drop_walk_all(struct mmu_cpu *c, struct mmu_view *v);
void mmu_drop_all(struct mmu_cpu *c, struct mmu_view *v);
bool mmu_entry_alive(const struct mmu_cpu *c, const struct mmu_entry *e);

static inline u64 mmu_hash(const struct mmu_array *a, u64 key, u32 tag)
{
	return ((key ^ (u64)tag << 24) * 0x9e3779b97f4a7c15ULL) >> a->hash_shift;
}

static inline struct mmu_entry *mmu_find(const struct mmu_array *a, u64 key,
					 u32 tag)
{
	u32 i = a->bucket[mmu_hash(a, key, tag)];

	for (; i; i = a->e[i - 1].chain) {
		struct mmu_entry *e = &a->e[i - 1];

		if (e->key == key && e->tag == tag)
			return e;
	}
	return NULL;
}

/* Make e the most recently used of its set. */
static inline void mmu_touch(struct mmu_array *a, struct mmu_entry *e)
{
	u32 i = (u32)(e - a->e);
	struct mmu_set *s = &a->set[e->set];

	if (e->newer == MMU_NIL)
		return;
	a->e[e->newer].older = e->older;
	if (e->older != MMU_NIL)
		a->e[e->older].newer = e->newer;
	else
		s->lru = e->newer;
	e->newer = MMU_NIL;
	e->older = s->mru;
	a->e[s->mru].newer = i;
	s->mru = i;
}

/*
 * The common case of an access: a base page in L1 (or whatever single size this
 * context has). Returns NULL if it is anything else.
 */
static inline struct mmu_entry *mmu_hit_l1(struct mmu_cpu *c, u64 va, u8 need)
{
	struct mmu_view *v = c->cur;
	struct mmu_entry *e;
	u32 h, id;

	if (mmu_unlikely(!v->heights || (v->heights & (v->heights - 1))))
		return NULL;
	h = (u32)__builtin_ctz(v->heights);
	id = mmu_l1_of(c, h);
	if (!v->live[id])
		return NULL;
	e = mmu_find(&c->array[id], mmu_key(c->mmu, va, h), v->tag);
	if (!e || (e->perm & need) != need)
		return NULL;
	mmu_touch(&c->array[id], e);
	c->stats.hit_l1++;
	return e;
}

/* log.c */
struct mmu_view *mmu_view_get(struct mmu_cpu *c, u32 ctx, u64 now_ps);
struct mmu_view *mmu_view_of(const struct mmu_cpu *c, u32 ctx);
void mmu_view_release(struct mmu_cpu *c, struct mmu_view *v);
void mmu_pull_slow(struct mmu_cpu *c, struct mmu_view *v, u64 now_ps);
void mmu_apply(struct mmu_cpu *c, struct mmu_view *v,
	       const struct mmu_record *rec);
void mmu_apply_local(struct mmu_cpu *c, u64 now_ps, const struct mmu_op *op);
u64 mmu_ops_at(const struct mmu *mmu, u64 time_ps);

/* Apply every record of v's context that is not later than now_ps. */
static inline void mmu_pull(struct mmu_cpu *c, struct mmu_view *v, u64 now_ps)
{
	if (v->seq != v->ctx->seq)
		mmu_pull_slow(c, v, now_ps);
}

/* walk.c */
struct mmu_walk {
	struct mmu_entry leaf;	/* what to cache, or use once */
	bool cacheable, global;
	u32 levels;		/* table words read */
};
u32 mmu_walk(struct mmu_cpu *c, u64 va, bool write, struct mmu_walk *w);

/* mmu.c: one access in the loaded context, with nothing pending. */
void mmu_access(struct mmu_cpu *c, u64 va, bool write, struct mmu_xlate *x);
void mmu_load_root(struct mmu_cpu *c, u64 root, u32 ctx, u64 now_ps);

#endif
