// SPDX-License-Identifier: GPL-2.0-or-later
/* What a scenario file may say, and the exact line for each thing that it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"

static const char example[] =
	"# two zappers of one page\n"
	"arch: x86, arm64, powerpc\n"
	"init:  A = mmap(NULL, 4K, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS); "
	"store(A, 1)\n"
	"cpu0:  madvise(A, 4K, MADV_DONTNEED)\n"
	"cpu1:  madvise(A, 4K, MADV_DONTNEED); r = load(A); assert(r == 0)\n"
	"expect: violation STALE-READ  with mmu_gather.nested=ignore\n"
	"expect: pass\n";

static struct scenario *parse(const char *text)
{
	char error[256] = "";
	struct scenario *sc = scenario_parse(text, strlen(text), "dir/t.tlb", error,
					     sizeof(error));

	if (!sc)
		print_error("%s\n", error);
	assert_non_null(sc);
	return sc;
}

static void test_example(void **state)
{
	struct scenario *sc = parse(example);

	(void)state;
	assert_string_equal(sc->name, "t");
	assert_int_equal(sc->archs, SC_ARCHS);
	assert_int_equal(sc->nr_cpus, 2);
	assert_int_equal(sc->nr_threads, 2);
	assert_int_equal(sc->init.nr_ops, 2);
	assert_string_equal(sc->init.var[0], "A");
	assert_string_equal(sc->thread[1].name, "cpu1");
	assert_int_equal(sc->thread[1].nr_ops, 3);
	assert_int_equal(sc->thread[1].op[1].call, SC_LOAD);
	assert_string_equal(sc->thread[1].op[1].text, "r = load(A)");
	assert_int_equal(sc->thread[1].op[1].pos.line, 5);
	assert_int_equal(sc->thread[1].op[1].pos.column, 39);
	assert_int_equal(sc->nr_expects, 2);
	assert_true(sc->expect[0].violation);
	assert_int_equal(sc->expect[0].rule, XRULE_STALE_READ);
	assert_int_equal(sc->expect[0].with.n, 1);
	assert_string_equal(sc->expect[0].with.set[0].name, "mmu_gather.nested");
	assert_string_equal(sc->expect[0].with.set[0].value, "ignore");
	assert_false(sc->expect[1].violation);
	scenario_free(sc);
}

/* Lines that are right by themselves, after A was mapped. */
static const char *const good[] = {
	"cpu0: load(A)",
	"cpu0: load(A);",
	"cpu0 : load ( A + 4K ) # comment",
	"cpu0:load(A);store(A,1);r=load(A);assert(r==1||!(r<-1&&r>=0x10))",
	"cpu0: load(A)\n\n#\n   \ncpu0: store(A, -1)\r\n",
	"cpu7: exit()",
	"cpu0.a: load(A)\ncpu0.b: load(A)\ncpu0: load(A)\ncpu0.a: store(A, 1)",
	"init: fork(cpu1)\ninit: load(A)\ncpu1: load(A)",
	"cpu0: r = fork(cpu0.child); yield()\ncpu0.child: exit()",
	"cpu0: mremap(A, 4K, 8K, MREMAP_MAYMOVE); gup_fast(A, 2, FOLL_WRITE); pte_lookup(A)",
	"cpu0: r = gup_write(A, 1); assert(r == 0); r = gup_write(A + 8, 2, FOLL_FORCE)",
	"cpu0: madvise(A, 2M, MADV_HUGEPAGE); madvise(A, 2M, MADV_COLLAPSE)",
	"frames: 64\ncpu0: load(A)",
	"cpu0: exit(0)",
	("cpu0: B = mmap(A + 2M, 4096, PROT_NONE, MAP_SHARED|MAP_ANONYMOUS|MAP_FIXED, "
		"-1, 0); munmap(B, 4096)"),
	"cpu0: r = load(A); assert(r == SIGSEGV)",
	"cpu0: r = munmap(A, 4K); assert(r == -EINVAL)",
	"cpu0: load(A)\nfinal: r = load(A); assert(r == 2)",
	"cpus: 4\ncpu0: load(A)",
	"nodes: 8\nresched: 2\ncpu0: load(A)",
	"init: tick(1000, 1000)\ncpu0: tick(2000, 1000)\nfinal: tick(3000, 0)",
	"era: 5.2-rc2\ncpu0: load(A)",
	"features: x86.pcid=off, arm64.asid_bits=8\ncpu0: load(A)",
	"cpu0: load(A)\nexpect: violation",
	"cpu0: load(A)\nexpect: violation on arm64 with mmu_gather.nested=fullmm",
	"cpu0: load(A)\nexpect: pass on x86, arm64",
	"cpu0: load(A)\nexpect: violation WALK-FREED with a.b=c, d.e=-1",
	"cpu0: load(A)",
	"cpu1: load(A)\ncpu0: load(A)\ncpu1: load(A)",
	"cpu0: load((A + 4K) * 1)",
	"cpu0: load(0xffffffffff8)",
};

static void test_good(void **state)
{
	char text[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), "init: A = mmap(NULL, 4K, PROT_READ, "
			 "MAP_PRIVATE|MAP_ANONYMOUS)\n%s", good[i]);
		scenario_free(parse(text));
	}
}

/* The first line is line 2: line 1 sets A. The answer follows "t.tlb:". */
static const struct {
	const char *text, *error;
} bad[] = {
	{ "", "2:1: expected a line of a CPU, such as \"cpu0: load(A)\"" },
	{ "cpu0: lod(A)", "2:7: there is no call \"lod\"; the nearest is \"load\"" },
	{ "cpu0: compact()", "2:7: there is no call \"compact\"; the nearest is "
		"*" },
	{ "cpu0: load(B)", "2:12: expected a variable of cpu0 or init, or a flag, not "
		"\"B\"; the nearest is \"A\"" },
	{ "cpu0: madvise(A, 4K, MADV_DONTNED)", "2:22: expected a variable of cpu0 or "
		"init, or a flag, not \"MADV_DONTNED\"; the nearest is "
		"\"MADV_DONTNEED\"" },
	{ "cpu0: madvise(A, 4K)", "2:20: expected 3 arguments of madvise, not 2" },
	{ "cpu0: madvise(A, 4K, PROT_READ)", "2:22: expected MADV_* advice, not "
		"PROT_READ" },
	{ "cpu0: munmap(A, 4K, 1)", "2:19: expected \")\" after 2 arguments of munmap, "
		"not \",\"" },
	{ "cpu0: load()", "2:12: expected 1 argument of load, not 0" },
	{ "init: fork(\ncpu1: load(A)", "2:12: expected cpu0 to cpu7, not the end of the line" },
	{ "cpu0: mmap(A)", "2:13: expected at least 4 arguments of mmap, not 1" },
	{ "cpu0: load(A", "2:13: expected \")\" after 1 argument of load, not the end of "
		"the file" },
	{ "cpu0: load A", "2:12: expected \"(\", not \"A\"" },
	{ "cpu0: load(A) store(A, 1)", "2:15: expected \";\" or the end of the line, "
		"not \"store\"" },
	{ "cpu0: load(A);; load(A)", "2:15: expected a call, not \";\"" },
	{ "cpu0: 4K = load(A)", "2:7: expected a call, not \"4K\"" },
	{ "cpu0: NULL = load(A)", "2:7: expected a variable, not the name of a flag" },
	{ "cpu0: A = load(A)", "2:7: expected a variable of cpu0: A is set by init, and "
		"constant since" },
	{ "cpu0: r = assert(1)", "2:7: expected no variable: assert gives no value" },
	{ "cpu0: r = 1", "2:11: expected a call, not \"1\"" },
	{ "cpu0: r = load(r)", "2:16: expected a variable of cpu0 or init, or a flag, "
		"not \"r\"; the nearest is \"A\"" },
	{ "cpu0: load(A)\ncpu1: r = load(A)\ncpu2: assert(r == 0)", "4:14: expected a "
		"variable of cpu2 or init, or a flag, not \"r\"; the nearest is \"A\"" },
	{ "cpu0: load(4KB)", "2:12: expected a number, a variable or a flag, not "
		"\"4KB\"" },
	{ "cpu0: load(99999999999999999999)", "2:12: expected a number, a variable or a "
		"flag, not \"99999999999999999999\"" },
	{ "cpu0: load(0x1000000000000)", "2:12: expected an address below "
		"0x1000000000000, not 0x1000000000000" },
	{ "cpu0: munmap(A, -1)", "2:17: expected a length below 0x1000000000000, not "
		"0xffffffffffffffff" },
	{ "cpu0: load(4)", "2:12: expected an address that is a multiple of 8, not 0x4" },
	{ "cpu0: mmap(NULL, 4K, PROT_READ, MAP_PRIVATE, 3)", "2:46: expected -1, since "
		"there are no files" },
	{ "cpu0: mmap(NULL, 4K, 8, MAP_PRIVATE)", "2:22: expected PROT_* flags, not 0x8" },
	{ "cpu8: load(A)", "2:1: expected cpu0 to cpu7, not \"cpu8\"" },
	{ "cpu0.: load(A)", "2:6: expected a name of 1 to 14 letters or digits after "
		"\".\", not \":\"" },
	{ "cpu0.a.b: load(A)", "2:9: expected a name of 1 to 14 letters or digits after "
		"\".\", not \":\"" },
	{ "cpu0: fork(A)\ncpu1: load(A)", "2:12: expected cpu0 to cpu7, not \"A\"" },
	{ "cpu0: fork(cpu0)", "2:12: expected another thread, not cpu0 itself" },
	{ "cpu0: fork(cpu1)", "2:12: expected an operation in cpu1" },
	{ "cpu0: load(A)\nfinal: fork(cpu1)\ncpu1: load(A)",
		"3:8: expected no fork() in final: it runs alone" },
	{ "cpu0: mremap(A, 4K, 4K, MAP_FIXED)",
		"2:25: expected MREMAP_* flags, not MAP_FIXED" },
	{ "cpu0: r = yield()", "2:7: expected no variable: yield gives no value" },
	{ "frames: 4\ncpu0: load(A)", "2:9: expected a number of page frames from 16 to 1536" },
	{ "cpu0: load(A)\ncpu0.1: load(A)\ncpu0.2: load(A)\ncpu0.3: load(A)\n"
		"cpu0.4: load(A)\ncpu0.5: load(A)\ncpu0.6: load(A)\ncpu0.7: load(A)\n"
		"cpu0.8: load(A)", "10:1: expected at most 8 threads" },
	{ "cpu0: load(A)\ncpu1:", "3:6: expected an operation in cpu1" },
	{ "cpuu0: load(A)", "2:1: there is no line \"cpuu0:\"; the nearest is \"cpu0:\"" },
	{ "expct: pass", "2:1: there is no line \"expct:\"; the nearest is \"expect:\"" },
	{ "cpu0 load(A)", "2:6: expected \":\", not \"load\"" },
	{ ": load(A)", "2:1: expected a line such as \"cpu0: load(A)\", not \":\"" },
	{ "cpu0: load(A)\ninit: load(A)", "3:1: expected \"init:\" before the first CPU" },
	{ "arch: x68", "2:7: there is no architecture \"x68\"; the nearest is \"x86\"" },
	{ "arch: x86,", "2:11: expected x86, arm64 or powerpc, not the end of the file" },
	{ "arch: x86\narch: arm64", "3:1: expected one line \"arch:\" only" },
	{ "expect: fail", "2:9: expected \"pass\" or \"violation\", not \"fail\"" },
	{ "expect: violation STALE", "2:19: there is no rule \"STALE\"; the nearest is "
		"\"STALE-READ\"" },
	{ "expect: pass with", "2:18: expected KNOB=VALUE, not the end of the file" },
	{ "expect: pass with a", "2:20: expected \"=\" after the knob's name, not the end "
		"of the file" },
	{ "expect: pass with a=", "2:21: expected the knob's value, not the end of the "
		"file" },
	{ "expect: pass with a=1, a=2", "2:24: expected a only once" },
	{ "expect: pass now", "2:14: expected the end of the line, not \"now\"" },
	{ "cpus: 9", "2:7: expected a number of CPUs from 1 to 8" },
	{ "nodes: 9", "2:8: expected a number of nodes from 1 to 8" },
	{ "resched: 9", "2:10: expected a number of preemptions from 0 to 8" },
	{ "nodes: 0", "2:8: expected a number of nodes from 1 to 8" },
	{ "cpu0: r = tick(1, 1)", "2:7: expected no variable: tick gives no value" },
	{ "cpu0: tick(1)", "2:13: expected 2 arguments of tick, not 1" },
	{ "cpu0: load(A)\x01", "2:14: expected \";\" or the end of the line, not the byte "
		"0x01" },
	{ "cpu0: load(A) # \xc3\x28", "2:17: expected UTF-8 text, not the byte 0xc3" },
	{ "# \xc3\xa4\ncpu0: load(\xc3\xa4)", "3:12: expected a number, a variable or a "
		"flag, not the byte 0xc3" },
	{ "cpu0: load(A) & 1", "2:15: expected \";\" or the end of the line, not \"&\"" },
	{ "cpu0: load(A + )", "2:16: expected a number, a variable or a flag, not \")\"" },
	{ "cpu0: load((A)", "2:15: expected \")\" after 1 argument of load, not the end of "
		"the file" },
};

static void test_bad(void **state)
{
	char text[1000], error[256];
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *want = bad[i].error;
		size_t len = strcspn(want, "*");
		struct scenario *sc;

		snprintf(text, sizeof(text), "init: A = mmap(NULL, 4K, PROT_READ, "
			 "MAP_PRIVATE|MAP_ANONYMOUS)\n%s", bad[i].text);
		memset(error, 0, sizeof(error));
		sc = scenario_parse(text, strlen(text), "t.tlb", error, sizeof(error));
		if (!sc && !strncmp(error, "t.tlb:", 6) &&
		    !strncmp(error + 6, want, len + !want[len]))
			continue;
		print_error("%s\n    said: %s\n    not:  t.tlb:%s\n", bad[i].text,
			    sc ? "nothing" : error, want);
		scenario_free(sc);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* Limits are errors and not overruns. */
static void test_limits(void **state)
{
	char *text = malloc(SC_MAX_BYTES + 100), error[256], *at = text;
	struct scenario *sc;

	(void)state;
	at += sprintf(at, "cpu0: load(0)");
	for (u32 i = 0; i < XMAX_OPS; i++)
		at += sprintf(at, "; load(0)");
	assert_null(scenario_parse(text, strlen(text), "t", error, sizeof(error)));
	assert_string_equal(error, "t:1:583: expected at most 64 operations in cpu0");

	at = text + sprintf(text, "cpu0: load(");
	for (u32 i = 0; i < 40; i++)
		at += sprintf(at, "(");
	assert_null(scenario_parse(text, strlen(text), "t", error, sizeof(error)));
	assert_string_equal(error, "t:1:44: expected at most 32 levels of parentheses "
			    "and signs");

	at = text + sprintf(text, "cpu0: load(0");
	for (u32 i = 0; i < SC_MAX_NODES; i++)
		at += sprintf(at, "+0");
	assert_null(scenario_parse(text, strlen(text), "t", error, sizeof(error)));
	assert_non_null(strstr(error, "expected at most 4096 terms in a file"));

	at = text + sprintf(text, "cpu0: ");
	for (u32 i = 0; i <= SC_MAX_VARS; i++)
		at += sprintf(at, "v%u = load(0);", i);
	assert_null(scenario_parse(text, strlen(text), "t", error, sizeof(error)));
	assert_non_null(strstr(error, "expected at most 16 variables in cpu0"));

	at = text + sprintf(text, "cpu0: load(0)\n");
	for (u32 i = 0; i <= SC_MAX_EXPECTS; i++)
		at += sprintf(at, "expect: pass\n");
	assert_null(scenario_parse(text, strlen(text), "t", error, sizeof(error)));
	assert_string_equal(error, "t:34:1: expected at most 32 expectations");

	memset(text, '\n', SC_MAX_BYTES + 1);
	assert_null(scenario_parse(text, SC_MAX_BYTES + 1, "t", error, sizeof(error)));
	assert_string_equal(error, "t: expected at most 262144 bytes");
	memcpy(text, "cpu0: load(0)", 13);
	sc = scenario_parse(text, SC_MAX_BYTES, "t", error, sizeof(error));
	assert_non_null(sc);
	scenario_free(sc);
	free(text);
}

/* An operation's text is an operation: the same one. */
static void test_round_trip(void **state)
{
	struct scenario *one = parse(example), *two;
	char text[4000], *at = text;

	(void)state;
	at += sprintf(at, "init: ");
	for (u32 i = 0; i < one->init.nr_ops; i++)
		at += sprintf(at, "%s;", one->init.op[i].text);
	for (u32 t = 0; t < one->nr_threads; t++)
		for (u32 i = 0; i < one->thread[t].nr_ops; i++)
			at += sprintf(at, "\n%s: %s", one->thread[t].name,
				      one->thread[t].op[i].text);
	two = parse(text);
	assert_int_equal(one->nr_threads, two->nr_threads);
	assert_int_equal(one->nr_nodes, two->nr_nodes);
	for (u32 t = 0; t < one->nr_threads; t++) {
		const struct sc_thread *a = &one->thread[t], *b = &two->thread[t];

		assert_int_equal(a->nr_ops, b->nr_ops);
		for (u32 i = 0; i < a->nr_ops; i++) {
			assert_string_equal(a->op[i].text, b->op[i].text);
			assert_int_equal(a->op[i].call, b->op[i].call);
			assert_int_equal(a->op[i].result, b->op[i].result);
			assert_int_equal(a->op[i].nr_args, b->op[i].nr_args);
			assert_memory_equal(a->op[i].arg, b->op[i].arg,
					    sizeof(a->op[i].arg));
		}
	}
	scenario_free(one);
	scenario_free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
