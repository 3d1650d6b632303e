/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames and objects, against a model, under random allocation and freeing. */
#include "tcore.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 500
#define FRAMES (1u << 18)	/* of tdesc()'s 1 GiB */

struct block {
	u64 pfn;
	u32 order, flags;
	s32 node;
};

struct state {
	struct block block[BLOCKS];
	u8 owner[FRAMES];	/* model: frame is in use */
	u32 n;
	const char *wrong;
	u64 total;
};

#define CHECK(s, cond)                                                          \
	do {                                                                    \
		if (!(cond) && !(s)->wrong)                                     \
			(s)->wrong = #cond;                                     \
	} while (0)

static bool all_zero(u64 pfn, u32 order)
{
	const u64 *p = (const u64 *)(mach_env()->phys_base + (pfn << 12));

	for (u32 i = 0; i < 512u << order; i++)
		if (p[i])
			return false;
	return true;
}

static void take(struct state *s, u64 *rng)
{
	struct block *b = &s->block[s->n];

	b->order = random_below(rng, 10) ? random_below(rng, 3) :
					   random_below(rng, 10);
	b->node = random_below(rng, 3) - 1;
	b->flags = (random_below(rng, 2) ? MACH_GFP_TABLE : 0) |
		   (random_below(rng, 2) ? MACH_GFP_ZERO : 0);
	b->pfn = mach_alloc_frames(b->order, b->node, b->flags);
	CHECK(s, b->pfn != MACH_NO_FRAME && b->pfn + (1 << b->order) <= FRAMES);
	CHECK(s, !(b->pfn & ((1 << b->order) - 1)));
	CHECK(s, mach_frame_node(b->pfn) == (u32)(b->node < 0 ? 0 : b->node));
	for (u32 i = 0; i < 1u << b->order; i++) {
		CHECK(s, !s->owner[b->pfn + i]);
		s->owner[b->pfn + i] = 1;
	}
	if (b->flags & MACH_GFP_ZERO)
		CHECK(s, all_zero(b->pfn, b->order));
	if (b->flags & MACH_GFP_TABLE)
		*(u64 *)(mach_env()->phys_base + (b->pfn << 12)) = 0x5a;
	s->total += 1ULL << b->order;
	s->n++;
}

static void give(struct state *s, u64 *rng)
{
	u32 i = random_below(rng, s->n);
	struct block b = s->block[i];
	u32 flags = 0;

	if (b.flags & MACH_GFP_TABLE && random_below(rng, 2)) {
		/* As a page table whose entries were all cleared. */
		memset(mach_env()->phys_base + (b.pfn << 12), 0, 4096ULL << b.order);
		flags = MACH_FREE_ZEROED;
	}
	for (u32 k = 0; k < 1u << b.order; k++)
		s->owner[b.pfn + k] = 0;
	mach_free_frames(b.pfn, b.order, flags);
	s->total -= 1ULL << b.order;
	s->block[i] = s->block[--s->n];
}

static void frames_main(void *arg)
{
	struct state *s = arg;
	u64 rng = 42;

	for (u32 step = 0; step < 20000; step++) {
		if (s->n < BLOCKS && (!s->n || random_below(&rng, 100) < 52))
			take(s, &rng);
		else
			give(s, &rng);
		CHECK(s, machine_frames_in_use(mach_env()->machine) == s->total);
	}
	while (s->n)
		give(s, &rng);
	CHECK(s, machine_frames_in_use(mach_env()->machine) == 0);
}

static void run_checked(void (*fn)(void *arg))
{
	struct state *s = calloc(1, sizeof(*s));

	trun(4, fn, s);
	if (s->wrong)
		fail_msg("%s", s->wrong);
	free(s);
}

static void test_frames(void **state)
{
	(void)state;
	run_checked(frames_main);
}

static void lifo_main(void *arg)
{
	struct state *s = arg;
	u64 a = mach_alloc_frames(0, 0, 0), b = mach_alloc_frames(0, 0, 0);

	CHECK(s, a == 1);	/* frame 0 is never given out */
	mach_free_frames(a, 0, 0);
	mach_free_frames(b, 0, 0);
	CHECK(s, mach_alloc_frames(0, 0, 0) == b);
	CHECK(s, mach_alloc_frames(0, 0, 0) == a);
}

static void test_lifo(void **state)
{
	(void)state;
	run_checked(lifo_main);
}

static void exhaust_main(void *arg)
{
	struct state *s = arg;
	u64 n = 0;

	while (mach_alloc_frames(0, 1, MACH_GFP_ATOMIC) != MACH_NO_FRAME)
		n++;
	/* Every frame but 0, those of the other node included. */
	CHECK(s, n == FRAMES - 1);
	CHECK(s, mach_alloc_frames(3, 0, 0) == MACH_NO_FRAME);
}

static void test_exhaust(void **state)
{
	(void)state;
	run_checked(exhaust_main);
}

static void double_free(void *arg)
{
	u64 pfn = mach_alloc_frames(1, 0, 0);

	(void)arg;
	mach_free_frames(pfn, 1, 0);
	mach_free_frames(pfn, 1, 0);
}

static void wrong_order(void *arg)
{
	(void)arg;
	mach_free_frames(mach_alloc_frames(1, 0, 0), 0, 0);
}

static int exit_status(void (*fn)(void *arg))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fclose(stderr);
		trun(2, fn, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_misuse(void **state)
{
	(void)state;
	assert_int_equal(exit_status(double_free), 3);
	assert_int_equal(exit_status(wrong_order), 3);
}

static void objects_main(void *arg)
{
	struct state *s = arg;
	struct machine *m = mach_env()->machine;
	u64 before = machine_kalloc_in_use(m), rng = 7;
	struct {
		u8 *p;
		size_t size;
	} obj[100] = { 0 };

	for (u32 step = 0; step < 20000; step++) {
		u32 i = random_below(&rng, 100);

		if (obj[i].p) {
			for (size_t k = 0; k < obj[i].size; k++)
				CHECK(s, obj[i].p[k] == i + 1);
			mach_kfree(obj[i].p, obj[i].size);
			obj[i].p = NULL;
			continue;
		}
		obj[i].size = 1 + random_below(&rng, random_below(&rng, 8) ?
						     200 : 9000);
		obj[i].p = mach_kalloc(obj[i].size, 0);
		CHECK(s, !((uintptr_t)obj[i].p & (obj[i].size > 32 ? 63 : 15)));
		for (size_t k = 0; k < obj[i].size; k++)
			CHECK(s, !obj[i].p[k]);
		memset(obj[i].p, i + 1, obj[i].size);
	}
	for (u32 i = 0; i < 100; i++)
		mach_kfree(obj[i].p, obj[i].p ? obj[i].size : 1);
	CHECK(s, machine_kalloc_in_use(m) == before);
}

static void test_objects(void **state)
{
	(void)state;
	run_checked(objects_main);
}

static void large_main(void *arg)
{
	struct state *s = arg;
	u8 *p = mach_kalloc(3ULL << 30, 0);

	/* Large objects cost the host only the pages touched. */
	p[0] = p[(3ULL << 30) - 1] = 1;
	CHECK(s, p[1ULL << 30] == 0);
	mach_kfree(p, 3ULL << 30);
}

static void test_large(void **state)
{
	(void)state;
	run_checked(large_main);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_lifo),
		cmocka_unit_test(test_exhaust),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
