/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lists of tests/mutate/ name sites that there are: `make mutate` takes an hour, and a
 * function that was renamed would be noticed there alone.
 */
#include "cli/core.h"
#include "cli/sites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct sites sites;

static const char *tree(void)
{
	const char *src = getenv("SRC");

	return src ? src : ".";
}

static int find_sites(void **state)
{
	static const char *const archs[] = { "x86", "arm64", "powerpc" };
	static struct core cores[3];
	char error[400];

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		if (!core_load_arch(&cores[i], archs[i]))
			return -1;
		if (!sites_add_module(&sites, i, cores[i].module, error, sizeof(error))) {
			print_error("%s\n", error);
			return -1;
		}
	}
	sites_finish(&sites, tree());
	return 0;
}

static int free_sites(void **state)
{
	(void)state;
	sites_free(&sites);
	return 0;
}

static void test_equivalent(void **state)
{
	char path[1000], error[400] = "";
	bool ok;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/mutate/equivalent.txt", tree());
	ok = sites_read_equivalent(&sites, path, error, sizeof(error));
	assert_string_equal(error, "");
	assert_true(ok);
}

/* Is it noticed? Each line by itself, as the whole file. */
static void test_unknown(void **state)
{
	static const char *const bad[] = {
		"core/mm/rmap.c:no_such_function:lock\tan argument\n",
		"core/mm/no_such_file.c:page_get_anon_vma:rcu\tan argument\n",
		"core/mm/rmap.c:page_get_anon_vma:rcu#2\tan argument\n",
		"core/mm/rmap.c:page_get_anon_vma:lock\tan argument\n",
		"core/mm/rmap.c:page_get_anon_vma:rcu\n",
	};
	char path[] = "/tmp/test_sites.XXXXXX", error[400];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (u32 i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bad[i], strlen(bad[i]), 0), strlen(bad[i]));
		error[0] = 0;
		assert_false(sites_read_equivalent(&sites, path, error, sizeof(error)));
		assert_non_null(strstr(error, path));
	}
	close(fd);
	unlink(path);
}

static bool has_site(const char *file, const char *func, const char *kind, u32 nth)
{
	for (u32 i = 0; i < sites.n; i++) {
		const struct source_site *s = &sites.site[i];

		if (!strcmp(s->file, file) && !strcmp(s->func, func) && s->nth == nth &&
		    !strcmp(site_kind_name(s->kind), kind))
			return true;
	}
	return false;
}

static void test_hints(void **state)
{
	char path[1000], file[80], func[80], kind[20], name[80], arch[20];
	u32 nth, nr, lines = 0;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/mutate/hints.txt", tree());
	f = fopen(path, "r");
	assert_non_null(f);
	while (fscanf(f, "%79s %79s %19s %u %79s %19s %u", file, func, kind, &nth, name, arch,
		      &nr) == 7) {
		if (!has_site(file, func, kind, nth))
			fail_msg("%s has no %s#%u in %s()", file, kind, nth, func);
		snprintf(path, sizeof(path), "%s/scenarios/%s.tlb", tree(), name);
		assert_int_equal(access(path, R_OK), 0);
		lines++;
	}
	assert_true(feof(f) && lines > 0);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equivalent),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hints),
	};

	return cmocka_run_group_tests(tests, find_sites, free_sites);
}
