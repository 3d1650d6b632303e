// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a scenario does to the machine under it: every call, its arguments, what
 * becomes of its value, and what is promised to the oracle. Core, machine and
 * oracle are fakes that write down what they are asked.
 */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "scenario/scenario.h"

/* ----------------------------------------------------------------- fakes */

static char said[4000];		/* what was asked of the fakes */
static u64 dropped;		/* operations of the running thread */
static u64 memory[4];		/* of pages 0x10000, 0x11000, ... */
static bool mapped = true;
static ucontext_t test_context, machine_context;
static void *machine_stack;

__attribute__((format(printf, 1, 2)))
static void say(const char *fmt, ...)
{
	size_t len = strlen(said);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said + len, sizeof(said) - len, fmt, ap);
	va_end(ap);
}

bool xop_begin(u32 op)
{
	return !(dropped >> op & 1);
}

void xop_end(u32 op)
{
	(void)op;
}

/* Leaves the thread, as the world does. */
void xassert_fail(const char *what)
{
	say("FAILED %s\n", what);
	setcontext(&test_context);
	abort();
}

void xpromise_unmapped(u64 start, u64 end)
{
	say("unmapped %lx-%lx\n", start, end);
}

void xpromise_readonly(u64 start, u64 end)
{
	say("readonly %lx-%lx\n", start, end);
}

s64 xfork(u32 thread)
{
	say("fork %u\n", thread);
	return 7;
}

s64 xclone(u32 thread)
{
	say("clone %u\n", thread);
	return 8;
}

static s64 fake_shmget(u64 size)
{
	say("shmget %lx\n", size);
	return 5;
}

static s64 fake_shmat(s64 id, u64 addr)
{
	say("shmat %ld %lx\n", id, addr);
	return (s64)addr;
}

static s64 fake_shmdt(u64 addr)
{
	say("shmdt %lx\n", addr);
	return 0;
}

static s64 fake_shm_rmid(s64 id)
{
	say("shm_rmid %ld\n", id);
	return 0;
}

void xyield(void)
{
	say("yield\n");
}

static s64 fake_mremap(u64 addr, u64 old_len, u64 new_len, u32 flags, u64 new_addr)
{
	say("mremap %lx %lx %lx %x %lx\n", addr, old_len, new_len, flags, new_addr);
	return flags & 2 ? (s64)new_addr : (s64)addr;
}

static s64 fake_gup(u64 addr, u32 n, bool write)
{
	say("gup %lx %u %d\n", addr, n, write);
	return n;
}

static s64 fake_ioremap(u64 off, u64 len)
{
	say("ioremap %lx %lx\n", off, len);
	return 0;
}

static s64 fake_iounmap(u64 off, u64 len)
{
	say("iounmap %lx %lx\n", off, len);
	return 0;
}

static s64 fake_drop_caches(void)
{
	say("drop_caches\n");
	return 0;
}

static s64 fake_gup_write(u64 addr, u64 val, bool force)
{
	say("gup_write %lx %lu %d\n", addr, val, force);
	return 0;
}

static void fake_tick(u64 now_ms, u64 ran_ms)
{
	say("tick %lu %lu\n", now_ms, ran_ms);
}

static s64 fake_lookup(u64 addr)
{
	say("lookup %lx\n", addr);
	return 1;
}

static s64 fake_mmap(u64 addr, u64 len, u32 prot, u32 flags)
{
	say("mmap %lx %lx %x %x\n", addr, len, prot, flags);
	return addr ? addr : 0x10000;
}

static s64 fake_munmap(u64 addr, u64 len)
{
	say("munmap %lx %lx\n", addr, len);
	return addr % 4096 ? -22 : 0;
}

static s64 fake_mprotect(u64 addr, u64 len, u32 prot)
{
	say("mprotect %lx %lx %x\n", addr, len, prot);
	return 0;
}

static s64 fake_madvise(u64 addr, u64 len, u32 advice)
{
	say("madvise %lx %lx %u\n", addr, len, advice);
	return 0;
}

__attribute__((noreturn))
static void fake_exit(void)
{
	say("exit\n");
	setcontext(&test_context);
	abort();
}

static int fake_access(u64 va, bool write, u64 *val)
{
	if (!mapped || va < 0x10000 || va >= 0x14000)
		return MACH_SIGSEGV;
	if (write)
		memory[(va - 0x10000) >> 12] = *val;
	else
		*val = memory[(va - 0x10000) >> 12];
	say("%s %lx %lu\n", write ? "store" : "load", va, *val);
	return 0;
}

static const struct mach_ops fake_ops = { .user_access = fake_access };

static const char *const on_off[] = { "off", "on", NULL };
static const struct knob pcid = {
	.name = "x86.pcid", .values = on_off, .def = 1, .max = 1, .kind = KNOB_HW,
};
static const struct knob bits = {
	.name = "x86.bits", .def = 7, .max = 9, .kind = KNOB_HW,
};
static const struct knob policy = {
	.name = "a.policy", .values = on_off, .max = 1, .kind = KNOB_POLICY,
};
static const struct knob *const fake_knobs[] = { &pcid, &policy, &bits, NULL };

static const struct core_module fake_core = {
	.arch = "x86", .knobs = fake_knobs, .tick = fake_tick,
	.sys = {
		.mmap = fake_mmap, .munmap = fake_munmap,
		.mprotect = fake_mprotect, .madvise = fake_madvise,
		.mremap = fake_mremap, .gup_fast = fake_gup, .gup_write = fake_gup_write,
		.drop_caches = fake_drop_caches,
		.ioremap = fake_ioremap, .iounmap = fake_iounmap,
		.pte_lookup = fake_lookup,
		.shmget = fake_shmget, .shmat = fake_shmat, .shmdt = fake_shmdt,
		.shm_rmid = fake_shm_rmid,
		.exit = fake_exit,
	},
};

/* ------------------------------------------------------------------ running */

static void (*run_fn)(void *arg);
static void *run_arg;

static void on_machine(void)
{
	run_fn(run_arg);
}

/* fn(arg) on a stack whose base is a struct mach_env. */
static void run(void (*fn)(void *arg), void *arg)
{
	struct mach_env *env = machine_stack;

	run_fn = fn;
	run_arg = arg;
	env->ops = &fake_ops;
	getcontext(&machine_context);
	machine_context.uc_stack.ss_sp = machine_stack;
	machine_context.uc_stack.ss_size = MACH_STACK_SIZE;
	machine_context.uc_link = &test_context;
	makecontext(&machine_context, on_machine, 0);
	swapcontext(&test_context, &machine_context);
}

static struct scenario *sc;
static struct sc_program *program;

/* Makes the program and runs its init. */
static void begin(const char *text)
{
	static const s64 knobs[] = { 1, 0, 7 };
	char error[256];

	said[0] = 0;
	dropped = 0;
	mapped = true;
	memset(memory, 0, sizeof(memory));
	sc = scenario_parse(text, strlen(text), "t.tlb", error, sizeof(error));
	if (!sc)
		print_error("%s\n", error);
	assert_non_null(sc);
	program = scenario_program(sc, XARCH_X86, &fake_core, knobs);
	assert_non_null(program);
	run(sc_xprogram(program)->init, sc_xprogram(program)->arg);
}

static void run_thread(u32 t)
{
	const struct xthread *th = &sc_xprogram(program)->thread[t];

	run(th->fn, th->arg);
}

/* All that was said since. */
static void end(const char *expected)
{
	if (strcmp(said, expected))
		print_error("said:\n%s", said);
	assert_string_equal(said, expected);
	sc_program_free(program);
	scenario_free(sc);
}

#define INIT "init: A = mmap(NULL, 16K, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS)\n"
#define INIT_SAID "mmap 0 4000 3 22\n"

static void test_calls(void **state)
{
	(void)state;
	begin(INIT "cpu0: store(A + 4K, 6 * 7); r = load(A + 4K); assert(r == 42)\n"
	      "cpu0: B = mmap(0x20000, 1, PROT_NONE, MAP_SHARED|MAP_FIXED|MAP_ANONYMOUS)\n"
	      "cpu0: madvise(B + 4K, 2*4K, MADV_DONTNEED); r = munmap(B + 1, 4K)\n"
	      "cpu0: assert(r == -EINVAL); exit(); load(A)\n");
	run_thread(0);
	end(INIT_SAID "store 11000 42\nload 11000 42\n"
	    "mmap 20000 1 0 31\n"
	    "madvise 21000 2000 4\nunmapped 21000-23000\n"
	    "munmap 20001 1000\nexit\n");
}

static void test_assert(void **state)
{
	(void)state;
	begin(INIT "cpu0: r = load(A); assert(r == 1 || A != A)\n");
	run_thread(0);
	end(INIT_SAID "load 10000 0\n"
	    "FAILED assert(r == 1 || A != A), where r = 0, A = 0x10000, "
	    "A = 0x10000\n");
}

static void test_signals(void **state)
{
	(void)state;
	begin(INIT "cpu0: r = load(A + 1M); assert(r == SIGSEGV); "
	      "r = store(0x7fffffff0000, 1); assert(r == SIGSEGV); r = store(A, 1); "
	      "assert(r == 0)\n");
	run_thread(0);
	end(INIT_SAID "store 10000 1\n");
}

/* What depends on a dropped operation is dropped with it. */
static void test_dropped(void **state)
{
	(void)state;
	begin(INIT "cpu0: r = load(A); assert(r == 1); store(A + r * 4K, 1); store(A, 2)\n");
	dropped = 1;
	run_thread(0);
	end(INIT_SAID "store 10000 2\n");
}

static void test_final(void **state)
{
	(void)state;
	begin(INIT "cpu0: store(A, 1)\nfinal: r = load(A); assert(r == 2)\n");
	run_thread(0);
	run(sc_xprogram(program)->final, sc_xprogram(program)->arg);
	end(INIT_SAID "store 10000 1\nload 10000 1\n"
	    "FAILED assert(r == 2), where r = 1\n");
}

static void test_promises(void **state)
{
	(void)state;
	begin(INIT "cpu0: mprotect(A, 1, PROT_READ); mprotect(A, 4K, PROT_READ|PROT_WRITE); "
	      "mprotect(A, 4K, PROT_NONE); munmap(A, 4K)\n");
	run_thread(0);
	end(INIT_SAID
	    "mprotect 10000 1 1\nreadonly 10000-11000\n"
	    "mprotect 10000 1000 3\n"
	    "mprotect 10000 1000 0\nunmapped 10000-11000\n"
	    "munmap 10000 1000\nunmapped 10000-11000\n");
}

static void test_new_calls(void **state)
{
	(void)state;
	begin(INIT "init: B = mmap(NULL, 4K, PROT_READ, MAP_SHARED|MAP_ANONYMOUS); fork(cpu1)\n"
	      "cpu0: mremap(A, 8K, 4K, 0); madvise(A, 2M, MADV_HUGEPAGE)\n"
	      "cpu0: r = mremap(A, 4K, 4K, MREMAP_MAYMOVE|MREMAP_FIXED, 0x20000)\n"
	      "cpu0: assert(r == 0x20000); yield(); gup_fast(A); gup_fast(A, 3, FOLL_WRITE)\n"
	      "cpu0: gup_write(A, 5); gup_write(A + 8, 6, FOLL_FORCE); drop_caches()\n"
	      "cpu0: ioremap(0, 2M); iounmap(4K, 8K)\n"
	      "cpu0: r = pte_lookup(A); assert(r == 1); r = fork(cpu0.b); assert(r == 7)\n"
	      "cpu0.b: load(A)\ncpu1: load(A)\n");
	assert_true(sc_xprogram(program)->thread[0].forked);
	assert_false(sc_xprogram(program)->thread[1].forked);
	assert_string_equal(sc_xprogram(program)->thread[2].name, "cpu0.b");
	assert_int_equal(sc_xprogram(program)->thread[2].cpu, 0);
	assert_int_equal(sc_xprogram(program)->nr_frames, 1536);
	run_thread(1);
	end(INIT_SAID "mmap 0 1000 1 21\nfork 0\n"
	    "mremap 10000 2000 1000 0 0\nunmapped 11000-12000\n"
	    "madvise 10000 200000 14\n"
	    "mremap 10000 1000 1000 3 20000\nunmapped 10000-11000\nunmapped 20000-21000\n"
	    "yield\ngup 10000 1 0\ngup 10000 3 1\ngup_write 10000 5 0\ngup_write 10008 6 1\ndrop_caches\nioremap 0 200000\niounmap 1000 2000\nlookup 10000\n"
	    "fork 2\nreadonly 10000-14000\n");
}

static void test_shm_and_clone(void **state)
{
	(void)state;
	begin(INIT "init: s = shmget(8K); clone(cpu1)\n"
	      "cpu0: r = shmat(s, 0x20000); assert(r == 0x20000); shmdt(r); shm_rmid(s)\n"
	      "cpu0: r = clone(cpu0.b); assert(r == 8)\n"
	      "cpu0.b: load(A)\ncpu1: load(A)\n");
	assert_true(sc_xprogram(program)->thread[0].forked);
	assert_true(sc_xprogram(program)->thread[2].forked);
	run_thread(1);
	end(INIT_SAID "shmget 2000\nclone 0\nshmat 5 20000\nshmdt 20000\nshm_rmid 5\n"
	    "clone 2\n");
}

static void test_tick(void **state)
{
	(void)state;
	begin(INIT "init: tick(1000, 999)\ncpu0: tick(2000, 500)\n");
	run_thread(0);
	end(INIT_SAID "tick 1000 999\ntick 2000 500\n");
}

static void test_program_facts(void **state)
{
	const struct xprogram *x;

	(void)state;
	begin("cpus: 3\nnodes: 2\nresched: 1\n" INIT "cpu1: load(A)\ncpu0: load(A); load(A)\n");
	x = sc_xprogram(program);
	assert_int_equal(x->nr_cpus, 3);
	assert_int_equal(x->nr_nodes, 2);
	assert_int_equal(x->nr_resched, 1);
	assert_int_equal(x->nr_threads, 2);
	assert_int_equal(x->thread[0].cpu, 1);
	assert_int_equal(x->thread[1].nr_ops, 2);
	assert_null(x->final);
	assert_string_equal(x->op_text(x->arg, 1, 1), "load(A)");
	assert_string_equal(x->features[0][0], "x86.pcid");
	assert_string_equal(x->features[0][1], "on");
	assert_string_equal(x->features[1][0], "x86.bits");
	assert_string_equal(x->features[1][1], "7");
	assert_null(x->features[2][0]);
	end(INIT_SAID);
}

static void expect_unready(const char *text, const char *expected)
{
	char error[256] = "";

	begin(text);
	assert_false(sc_program_ready(program, error, sizeof(error)));
	assert_string_equal(error, expected);
	sc_program_free(program);
	scenario_free(sc);
}

static void test_ready(void **state)
{
	char error[256];

	(void)state;
	begin(INIT "cpu0: load(A + 0x7ffffffeff00)\n");
	assert_true(sc_program_ready(program, error, sizeof(error)));
	end(INIT_SAID);
	expect_unready(INIT "cpu0: load(A + 0x7fffffff0000)\n",
		       "t.tlb:2:14: expected an address below 0x800000000000, the end "
		       "of user space on x86, not 0x800000000000");
	expect_unready(INIT "cpu0: store(A + 4, 1)\n",
		       "t.tlb:2:15: expected an address that is a multiple of 8, not "
		       "0x10004");
	expect_unready("init: munmap(1, 4K)\ncpu0: load(0)\n",
		       "t.tlb: init: munmap(1, 4K) = -22");
	expect_unready("init: load(NULL)\ncpu0: load(0)\n",
		       "t.tlb: init: load(NULL) = SIGSEGV");
	expect_unready(INIT "init: assert(A == 1)\ncpu0: load(0)\n",
		       "t.tlb: init: assert(A == 1), where A = 0x10000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_assert),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_final),
		cmocka_unit_test(test_promises),
		cmocka_unit_test(test_new_calls),
		cmocka_unit_test(test_shm_and_clone),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_program_facts),
		cmocka_unit_test(test_ready),
	};

	machine_stack = aligned_alloc(MACH_STACK_SIZE, MACH_STACK_SIZE);
	assert(machine_stack);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
