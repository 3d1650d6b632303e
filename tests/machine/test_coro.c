/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks and switches: values survive, environments are found, guards hold. */
#include "tcore.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 32

struct ring {
	struct coro host, co[N];
	u32 order[N * 3], n;
	u64 sums[N];
};

static struct ring ring;

/* Callee-saved registers and locals must survive switches. */
static void member(void *arg)
{
	u32 i;
	u64 a, b, c, d, e, f;

	coro_started();
	i = (u32)(uintptr_t)arg;
	a = i + 1, b = a * 3, c = b * 5, d = c * 7, e = d * 11, f = e * 13;
	for (u32 round = 0; round < 3; round++) {
		ring.order[ring.n++] = i;
		coro_switch(&ring.co[i], i + 1 < N ? &ring.co[i + 1] : &ring.host);
		a++, b++, c++, d++, e++, f++;
		ring.sums[i] = a + b + c + d + e + f;
	}
	coro_leave(&ring.co[i], i + 1 < N ? &ring.co[i + 1] : &ring.host);
}

static void test_switch(void **state)
{
	char *stacks = aligned_alloc(4096, N * 65536);

	(void)state;
	assert_non_null(stacks);
	coro_init_host(&ring.host);
	for (u32 i = 0; i < N; i++)
		coro_init(&ring.co[i], stacks + i * 65536, 65536, member,
			  (void *)(uintptr_t)i);
	for (u32 round = 0; round < 4; round++)
		coro_switch(&ring.host, &ring.co[0]);
	assert_int_equal(ring.n, 3 * N);
	for (u32 i = 0; i < 3 * N; i++)
		assert_int_equal(ring.order[i], i % N);
	for (u32 i = 0; i < N; i++)
		assert_int_equal(ring.sums[i], 18 + (i + 1) *
				 (1 + 3 + 15 + 105 + 1155 + 15015));
	free(stacks);
}

struct env_seen {
	bool ok;
	u32 tid;
};

static __attribute__((noinline)) bool env_deep(u32 depth, struct mach_env *env)
{
	volatile char pad[3000];

	pad[0] = depth;
	return mach_env() == env && env->magic == MACH_ENV_MAGIC &&
	       (!depth || env_deep(depth - 1, env)) && pad[0] == (char)depth;
}

static void look_at_env(void *arg)
{
	struct env_seen *seen = arg;
	struct mach_env *env = mach_env();

	seen->ok = env_deep(50, env) && env->cpu == 0 && env->nr_cpus == 2 &&
		   env->tid != 0 && env->ops == machine_timed_ops() &&
		   env->nr_frames == 1u << 18 && env->page_shift == 12;
}

static void test_env(void **state)
{
	struct env_seen seen = { 0 };

	(void)state;
	trun(2, look_at_env, &seen);
	assert_true(seen.ok);
}

static __attribute__((noinline)) u64 too_deep(u64 depth)
{
	volatile char pad[1000];

	pad[0] = depth;
	return depth ? too_deep(depth - 1) + pad[0] : 0;
}

static void overflow(void *arg)
{
	*(volatile u64 *)arg = too_deep(1000000);
}

/* A stack that overflows meets the guard, not its own environment. */
static void test_guard(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		u64 x;

		signal(SIGSEGV, SIG_DFL);
		fclose(stderr);
		trun(2, overflow, &x);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A sanitizer turns the signal into an exit of its own. */
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV :
					  WEXITSTATUS(status) != 0);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void many_threads(void *arg)
{
	u32 *stacks = arg;

	for (u32 i = 0; i < 10000; i++) {
		tspawn(nothing, NULL, 1);
		mach_env()->ops->user_run(100 * US);
	}
	*stacks = mach_env()->machine->nr_stacks;
}

/* Stacks and thread numbers of threads that ended are used again. */
static void test_reuse(void **state)
{
	u32 stacks = 0;

	(void)state;
	trun(2, many_threads, &stacks);
	assert_in_range(stacks, 4, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_reuse),
	};

	return cmocka_run_group_tests_name("coro", tests, NULL, NULL);
}
