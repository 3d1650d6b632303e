// SPDX-License-Identifier: GPL-2.0-or-later
/* Witness files: what is written is read; what is broken is refused in one line. */
#include "explore/search.h"
#include "explore/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct witness_setting settings[] = {
	{ (char *)"mmu_gather.nested", (char *)"ignore" },
	{ (char *)"x86.pcid", (char *)"on" },
};

static struct witness sample(void)
{
	struct witness w = {
		.file = (char *)"b2.tlb", .program = (char *)"b2",
		.source = (char *)"cpu0: madvise(A, 4K)\n\"caf\xc3\xa9\"\n", .arch = (char *)"x86",
		.core = 0x0123456789abcdefULL, .knob = settings, .nr_knobs = 2,
	};

	w.verdict.found = true;
	w.verdict.bound = 1;
	w.verdict.result.rule = XRULE_STALE_READ;
	w.verdict.dropped[1] = 1ULL << 63 | 2;
	for (u16 i = 0; i < 300; i++)
		choices_add(&w.verdict.choices, i % 7 ? 8 : 65535);
	return w;
}

static void assert_same(const struct witness *a, const struct witness *b)
{
	assert_string_equal(a->file, b->file);
	assert_string_equal(a->program, b->program);
	assert_string_equal(a->source, b->source);
	assert_string_equal(a->arch, b->arch);
	assert_true(a->core == b->core);
	assert_int_equal(a->nr_knobs, b->nr_knobs);
	assert_int_equal(a->verdict.bound, b->verdict.bound);
	assert_int_equal(a->verdict.result.rule, b->verdict.result.rule);
	assert_memory_equal(a->verdict.dropped, b->verdict.dropped,
			    sizeof(a->verdict.dropped));
	assert_int_equal(a->verdict.choices.n, b->verdict.choices.n);
	assert_memory_equal(a->verdict.choices.value, b->verdict.choices.value,
			    a->verdict.choices.n * 2);
}

static void test_round_trip(void **state)
{
	char path[] = "/tmp/tlblab-witness-XXXXXX", error[256] = "";
	char id[2][WITNESS_ID_SIZE];
	struct witness w = sample(), back;

	(void)state;
	close(mkstemp(path));
	assert_true(witness_write(path, &w, error, sizeof(error)));
	assert_true(witness_read(path, &back, error, sizeof(error)));
	assert_true(back.verdict.found);
	assert_same(&w, &back);
	assert_true(witness_fits(&back, path, &w, error, sizeof(error)));
	witness_id(&w, id[0]);
	witness_id(&back, id[1]);
	assert_string_equal(id[0], id[1]);
	assert_int_equal(strlen(id[0]), 10);
	/* Another execution has another id. */
	back.verdict.choices.value[5]++;
	witness_id(&back, id[1]);
	assert_string_not_equal(id[0], id[1]);
	witness_free(&back);
	xverdict_free(&w.verdict);
	unlink(path);
}

static void refused(const struct witness *w, const struct witness *now, const char *what)
{
	char error[256] = "";

	assert_false(witness_fits(w, "f.json", now, error, sizeof(error)));
	assert_true(!strncmp(error, "f.json: ", 8));
	if (!strstr(error, what))
		fail_msg("\"%s\" does not say \"%s\"", error, what);
}

static void test_other(void **state)
{
	struct witness_setting other[] = { settings[0], { (char *)"x86.pcid", (char *)"off" } };
	struct witness w = sample(), now;

	(void)state;
	now = w;
	now.core++;
	refused(&w, &now, "another core");
	now = w;
	now.source = (char *)"";
	refused(&w, &now, "another text");
	now = w;
	now.arch = (char *)"arm64";
	refused(&w, &now, "made for x86");
	now = w;
	now.knob = other;
	refused(&w, &now, "x86.pcid=on, not off");
	now.nr_knobs = 1;
	refused(&w, &now, "2 knobs");
	xverdict_free(&w.verdict);
}

/* Each: replace `from` in a good file by `to`; the error says `what`. */
static const struct {
	const char *from, *to, *what;
} broken[] = {
	{ "{", "", "not a witness" },
	{ "{", "[", "not a witness" },
	{ "\"tool\": \"tlblab\"", "\"tool\": \"lab\"", "\"tool\": \"tlblab\" is expected" },
	{ "\"tool\": \"tlblab\"", "\"tool\": 7", "\"tool\": \"tlblab\" is expected" },
	{ "\"abi\": \"", "\"abi\": \"x", "16 hexadecimal digits" },
	{ "\"core\": \"0123456789abcdef\"", "\"core\": 7", "\"core\": a string" },
	{ "\"core\": \"0123456789abcdef\"", "\"core\": \"0123456789ABCDEF\"", "hexadecimal" },
	{ "\"rule\": \"STALE-READ\"", "\"rule\": \"none\"", "is no rule" },
	{ "\"rule\": \"STALE-READ\"", "\"rule\": \"STALE\\nREAD\"", "is no rule" },
	{ "\"rule\": \"STALE-READ\"", "\"rule\": \"STALE\\u0000\"", "not a witness" },
	{ "\"bound\": 1", "\"bound\": -7", "\"bound\": a number" },
	{ "\"bound\": 1", "\"bound\": 1.5", "\"bound\": a number" },
	{ "\"dropped\": [", "\"dropped\": [\"0000000000000000\",", "\"dropped\": a list of 8" },
	{ "\"dropped\": [", "\"dropped\": [7],\"x\": [", "\"dropped\"" },
	{ "\"knobs\": {", "\"knobs\": 3, \"x\": {", "\"knobs\": an object" },
	{ "\"on\"", "false", "\"knobs\": a string" },
	{ "\"choices\": \"65535", "\"choices\": \"65536", "\"choices\": \"8 0 9*4\"" },
	{ "\"choices\": \"65535", "\"choices\": \"-1", "\"choices\": \"8 0 9*4\"" },
	{ "\"choices\": \"65535", "\"choices\": \"1*", "\"choices\": \"8 0 9*4\"" },
	{ "\"choices\": \"65535", "\"choices\": \"1*0 ", "\"choices\": \"8 0 9*4\"" },
	{ "\"choices\": \"65535", "\"choices\": \"1*99999999999999999999 ", "8 0 9*4" },
	{ "\"choices\": \"65535", "\"choices\": \" 65535", "8 0 9*4" },
	{ "\"choices\": \"65535", "\"choices\": \"1 65535", "its id would be" },
	{ "\"arch\": \"x86\"", "\"arch\": \"arm64\"", "its id would be" },
	{ "madvise", "munmap", "\"source\" was changed" },
	{ "\"id\": \"", "\"id\": \"x", "was changed" },
	{ "\"file\": ", "\"file\": 3, \"y\": ", "\"file\": a string" },
};

static char *replace(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *out = calloc(1, strlen(text) + strlen(to) + 1);

	assert_non_null(at);
	memcpy(out, text, (size_t)(at - text));
	strcat(out, to);
	strcat(out, at + strlen(from));
	return out;
}

static void test_malformed(void **state)
{
	struct witness w = sample(), back;
	char *text = witness_text(&w), error[256];

	(void)state;
	for (u32 i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char *bad;

		bad = replace(text, broken[i].from, broken[i].to);
		error[0] = 0;
		if (witness_parse(bad, strlen(bad), "w.json", &back, error, sizeof(error)))
			fail_msg("accepted: %s", broken[i].to);
		assert_true(!strncmp(error, "w.json:", 7));
		assert_null(strchr(error, '\n'));
		if (!strstr(error, broken[i].what))
			fail_msg("\"%s\" does not say \"%s\"", error, broken[i].what);
		free(bad);
	}
	/* Cut anywhere. */
	for (size_t n = 0; n < strlen(text); n += 7)
		assert_false(witness_parse(text, n, "w.json", &back, error, sizeof(error)));
	free(text);
	assert_false(witness_read("/nowhere/w.json", &back, error, sizeof(error)));
	assert_string_equal(error, "/nowhere/w.json: No such file or directory");
	assert_false(witness_write("/nowhere/w.json", &w, error, sizeof(error)));
	assert_string_equal(error, "/nowhere/w.json: No such file or directory");
	xverdict_free(&w.verdict);
}

static void test_hash(void **state)
{
	char error[256] = "", path[] = "/tmp/tlblab-witness-XXXXXX";
	int fd = mkstemp(path);
	u64 hash;

	(void)state;
	/* FNV-1a's published test values. */
	assert_true(witness_hash("", 0) == 0xcbf29ce484222325ULL);
	assert_true(witness_hash("foobar", 6) == 0x85944171f73967e8ULL);
	assert_int_equal(write(fd, "foobar", 6), 6);
	close(fd);
	assert_true(witness_hash_file(path, &hash, error, sizeof(error)));
	assert_true(hash == 0x85944171f73967e8ULL);
	unlink(path);
	assert_false(witness_hash_file(path, &hash, error, sizeof(error)));
	assert_non_null(strstr(error, "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests_name("witness", tests, NULL, NULL);
}
