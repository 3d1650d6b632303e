/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System V segments on a core: pages outlive the mappings, mappings outlive the number,
 * and everything comes back in the end.
 */
#include "mm_model.h"

#define AT (1UL << 37)
#define SIZE (4UL << 20)

struct shm_run {
	bool calls;		/* false: what an empty run leaves */
	u32 step;		/* of the first that went wrong; 0: none */
	u64 pages_attached, pages_kept;
	struct machine *m;
};

static const struct core_syscalls *sys(void)
{
	return &tlblab_core(machine_timed_ops())->sys;
}

static bool touch(u64 addr, u64 size)
{
	u64 val = 1;

	for (u64 off = 0; off < size; off += PAGE_SIZE)
		if (mach_env()->ops->user_access(addr + off, true, &val))
			return false;
	return true;
}

static bool mapped(u64 addr)
{
	u64 val;

	return !mach_env()->ops->user_access(addr, false, &val);
}

#define STEP(r, cond)                                                           \
	do {                                                                    \
		if (!(cond)) {                                                  \
			(r)->step = __LINE__;                                   \
			return;                                                 \
		}                                                               \
	} while (0)

static void refusals(struct shm_run *r, s64 id)
{
	STEP(r, sys()->shmget(0) == -EINVAL);
	STEP(r, sys()->shmget(~0UL) == -EINVAL);
	STEP(r, sys()->shmat(id + 1, AT) == -EINVAL);
	STEP(r, sys()->shmat(-1, AT) == -EINVAL);
	STEP(r, sys()->shmat(id, AT + 1) == -EINVAL);
	STEP(r, sys()->shmdt(AT) == -EINVAL);
	STEP(r, sys()->shmdt(AT + 1) == -EINVAL);
	STEP(r, sys()->shm_rmid(id + 1) == -EINVAL);
}

/* Twice at a time; over each other not; what munmap has cut, shmdt takes the rest of. */
static void attaches(struct shm_run *r, s64 id)
{
	s64 other;

	STEP(r, sys()->shmat(id, AT) == (s64)AT);
	STEP(r, sys()->shmat(id, AT + PAGE_SIZE) == -EINVAL);
	STEP(r, touch(AT, SIZE));
	r->pages_attached = machine_frames_in_use(r->m);
	other = sys()->shmat(id, 0);
	STEP(r, other > 0 && (u64)other != AT);
	/* The same pages: nothing is allocated but tables. */
	STEP(r, touch((u64)other, SIZE));
	STEP(r, machine_frames_in_use(r->m) < r->pages_attached + SIZE / PAGE_SIZE);
	STEP(r, !sys()->shmdt((u64)other) && !mapped((u64)other) && mapped(AT));
	STEP(r, !sys()->munmap(AT + SIZE / 2, PAGE_SIZE));
	STEP(r, sys()->shmdt(AT + PAGE_SIZE) == -EINVAL);
	/* Between the parts, what is not the segment's stays. */
	STEP(r, sys()->mmap(AT + SIZE / 2, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			    MAP_FIXED) == (s64)(AT + SIZE / 2));
	STEP(r, !sys()->shmdt(AT));
	STEP(r, !mapped(AT) && mapped(AT + SIZE / 2) && !mapped(AT + SIZE - PAGE_SIZE));
	STEP(r, sys()->shmdt(AT) == -EINVAL);
	STEP(r, !sys()->munmap(AT + SIZE / 2, PAGE_SIZE));
	r->pages_kept = machine_frames_in_use(r->m);
}

/* The number goes first; the mapping goes on; the pages go with it. */
static void removal(struct shm_run *r, s64 id)
{
	STEP(r, sys()->shmat(id, AT) == (s64)AT);
	STEP(r, !sys()->shm_rmid(id));
	STEP(r, sys()->shm_rmid(id) == -EINVAL);
	STEP(r, sys()->shmat(id, 0) == -EINVAL);
	STEP(r, touch(AT, SIZE));
	STEP(r, machine_frames_in_use(r->m) >= r->pages_kept);
	STEP(r, !sys()->shmdt(AT));
	/* Some tables may still wait for a grace period. */
	STEP(r, machine_frames_in_use(r->m) + SIZE / PAGE_SIZE <= r->pages_kept + 8);
}

static void shm_main(void *arg)
{
	struct shm_run *r = arg;
	s64 id;

	if (r->calls) {
		id = sys()->shmget(SIZE - 1);
		if (id < 0)
			r->step = __LINE__;
		if (!r->step)
			refusals(r, id);
		if (!r->step)
			attaches(r, id);
		if (!r->step)
			removal(r, id);
	}
	sys()->exit();
}

static void test_segments(void **state)
{
	static struct machine_desc desc;
	const char *machine = !strcmp(TEST_ARCH, "x86") ? "qemu-x86-max" :
			      !strcmp(TEST_ARCH, "arm64") ? "arm64-46" : "power10-105";
	struct core core = { .module = tlblab_core(machine_timed_ops()) };
	u64 first[TLBLAB_MAX_CPUS / 64] = { 1 }, frames[2], objects[2];
	s64 knobs[TLBLAB_MAX_KNOBS];
	char error[256] = "";

	(void)state;
	lab_machine(machine, &desc);
	desc.memory_bytes = (u64)MAX_FRAMES << desc.page_shift;
	knobs_resolve(&core, era_find(core.module, "6.12"), &desc, knobs);
	for (u32 i = 0; i < 2; i++) {
		struct shm_run r = { .calls = i };

		r.m = machine_create(&desc, core.module, knobs, 1, error, sizeof(error));
		if (!r.m)
			fail_msg("%s", error);
		assert_int_equal(machine_run(r.m, shm_main, &r, first), 0);
		if (r.step)
			fail_msg("line %u", r.step);
		frames[i] = machine_frames_in_use(r.m);
		objects[i] = machine_kalloc_in_use(r.m);
		machine_destroy(r.m);
	}
	assert_int_equal(frames[0], frames[1]);
	assert_int_equal(objects[0], objects[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments),
	};

	return cmocka_run_group_tests_name("shm " TEST_ARCH, tests, NULL, NULL);
}
