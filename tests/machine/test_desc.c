// SPDX-License-Identifier: GPL-2.0-or-later
/* Machine files: numbers, good files, and one line for each kind of bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/desc_yaml.h"
#include "machine/nearest.h"

static const char *source_dir(void)
{
	const char *src = getenv("SRC");

	return src ? src : ".";
}

static void test_decimal(void **state)
{
	static const struct {
		const char *s;
		u64 scale;
		int ret;
		u64 value;
	} cases[] = {
		{ "0.305", 1000000, 0, 305000 },
		{ "0", 1000, 0, 0 },
		{ "1", 1, 0, 1 },
		{ "1.0", 1, 0, 1 },
		{ "12.000000", 1000, 0, 12000 },
		{ "0.001", 1000, 0, 1 },
		{ "0.0010", 1000, 0, 1 },
		{ "0.0001", 1000, -2, 0 },
		{ "0.00001", 1000, -2, 0 },
		{ "1.5", 1, -2, 0 },
		{ "1.05", 1, -2, 0 },
		{ "18446744073709551615", 1, 0, UINT64_MAX },
		{ "18446744073709551616", 1, -3, 0 },
		{ "18446744073709551615", 10, -3, 0 },
		{ "", 1, -1, 0 },
		{ ".5", 10, -1, 0 },
		{ "5.", 10, -1, 0 },
		{ "1.2.3", 1000, -1, 0 },
		{ "-1", 1, -1, 0 },
		{ "1e3", 1, -1, 0 },
		{ " 1", 1, -1, 0 },
	};

	(void)state;
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u64 value = 0;
		int ret = parse_decimal(cases[i].s, cases[i].scale, &value);

		if (ret != cases[i].ret || (!ret && value != cases[i].value))
			fail_msg("\"%s\" x %" PRIu64 ": %d, %" PRIu64, cases[i].s,
				 cases[i].scale, ret, value);
	}
}

static void test_size(void **state)
{
	static const struct {
		const char *s;
		int ret;
		u64 value;
	} cases[] = {
		{ "512", 0, 512 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "16M", 0, 16 << 20 },
		{ "98G", 0, 98ULL << 30 },
		{ "1T", 0, 1ULL << 40 },
		{ "0x200000000000", 0, 0x200000000000 },
		{ "0x10K", 0, 16384 },
		{ "010", 0, 10 },
		{ "16MB", -1, 0 },
		{ "M", -1, 0 },
		{ "", -1, 0 },
		{ "-1", -1, 0 },
		{ "+1", -1, 0 },
		{ "1.5G", -1, 0 },
		{ "16777216T", -1, 0 },
		{ "99999999999999999999", -1, 0 },
	};

	(void)state;
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u64 value = 0;
		int ret = parse_size(cases[i].s, &value);

		if (ret != cases[i].ret || (!ret && value != cases[i].value))
			fail_msg("\"%s\": %d, %" PRIu64, cases[i].s, ret, value);
	}
}

static void test_nearest(void **state)
{
	struct nearest near = { .name = "fullm" };

	(void)state;
	nearest_offer(&near, "ignore");
	nearest_offer(&near, "fullmm_tables");
	nearest_offer(&near, "fullmm");
	nearest_offer(&near, "fullm_");
	assert_string_equal(near.best, "fullmm");
	assert_int_equal(edit_distance("same", "same"), 0);
	assert_int_equal(edit_distance("", "abc"), 3);
	assert_int_equal(edit_distance("abc", ""), 6);
	assert_int_equal(edit_distance("mmap9", "mmap8"), 2);
}

static char *read_machine(const char *name)
{
	char path[4096];
	char *text = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(text);
	snprintf(path, sizeof(path), "%s/machines/%s.yaml", source_dir(), name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

/* text with the first `from` replaced; free() it. */
static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	size_t size = strlen(text) + strlen(to) + 1;
	char *out = malloc(size);

	if (!at)
		fail_msg("\"%s\" is not in the file", from);
	assert_non_null(out);
	snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	return out;
}

/* A file is changed in one place; the one line must end so. */
static const struct {
	const char *from, *to, *expected;
} bad_files[] = {
	{ "dvm_va:", "dvm_vaa:", "costs.dvm_vaa: unknown key; the nearest is \"dvm_va\"" },
	{ "arch: arm64", "arhc: arm64", "arhc: unknown key; the nearest is \"arch\"" },
	{ "ways: 64", "weys: 64", "tlb.l1.weys: unknown key; the nearest is \"ways\"" },
	{ "{knob: arm64.ttl, value", "{nob: arm64.ttl, value",
	  "features.2.nob: unknown key; the nearest is \"knob\"" },
	{ "arch: arm64", "arch: arm32", "arch: expected x86, arm64 or powerpc, not \"arm32\"" },
	{ "arch: arm64", "arch: x86", "page_shift: expected 12 on x86, not 16" },
	{ "page_shift: 16", "page_shift: 14", "page_shift: expected 12 or 16, not 14" },
	{ "page_shift: 16", "page_shift: big", "page_shift: expected a whole number" },
	{ "page_shift: 16\n", "", "page_shift: missing; every machine has one" },
	{ "va_bits: 48", "va_bits: 64", "va_bits: expected 36 to 56, not 64" },
	{ "asid_bits: 16", "asid_bits: 12", "asid_bits: expected 8 or 16 on arm64" },
	{ "memory: 98G", "memory: 98 GB", "memory: expected a size such as 98G" },
	{ "memory: 98G", "memory: 98", "memory: expected whole pages, 16M to 64T" },
	{ "core:46", "core:4600", "topology: expected counts from 1 to the limit of CPUs" },
	{ "core:46", "core:46 core:46",
	  "topology: expected no more CPUs than the limit (limits.h)" },
	{ "package:1 core:46 pu:1", "46 CPUs", "topology: expected an hwloc synthetic "
	  "topology or an lstopo XML file, not \"46 CPUs\"" },
	{ "package:1 core:46 pu:1", "nowhere.xml", "topology: expected an hwloc "
	  "synthetic topology or an lstopo XML file, not \"nowhere.xml\"" },
	{ "sets: 128", "sets: 100", "tlb.l2.sets: expected a power of two up to 65536 "
	  "(0 sets and 0 ways: no such TLB)" },
	{ "ways: 64", "ways: 0", "tlb.l1.sets: expected a power of two up to 65536 "
	  "(0 sets and 0 ways: no such TLB)" },
	{ "[64, 16, 4]", "[64, 16, 4, 1, 1, 1]", "walk_cache.entries: expected 1 to 4 entries" },
	{ "[64, 16, 4]", "64", "walk_cache.entries: expected a sequence ([a, b])" },
	{ "{value: 0.305, unit: us", "{value: 0.3051234, unit: us",
	  "costs.dvm_va.value: finer than a picosecond" },
	{ "{value: 0.305, unit: us", "{value: fast, unit: us",
	  "costs.dvm_va.value: expected a decimal number such as 0.305" },
	{ "{value: 0.305, unit: us", "{value: 0.5, unit: us",
	  "costs.dvm_va.range: expected lowest <= value <= highest" },
	{ "{value: 0.305, unit: us", "{value: 0.305, unit: min",
	  "costs.dvm_va.unit: expected one of ps, ns, us, ms, s, cycles, not \"min\"" },
	{ "{value: 0.305, unit: us", "{value: 700, unit: cycles",
	  "costs.dvm_va.ghz: missing; cycles need it" },
	{ "{value: 0.305, unit: us", "{value: 0.305, unit: us, ghz: 2",
	  "costs.dvm_va.ghz: only cycles have one" },
	{ "kind: fitted, range: [0.28, 0.44], group: sigma", "kind: fitted, range: [0.28, 0.44]",
	  "costs.dvm_va.group: missing; fitted costs name what was fitted together" },
	{ "kind: fitted, range: [0.28, 0.44], group: sigma", "kind: estimate",
	  "costs.dvm_va.range: missing; only published costs have none" },
	{ "kind: fitted, range: [0.28, 0.44], group: sigma",
	  "kind: published, range: [0.28, 0.44]",
	  "costs.dvm_va.range: published costs have none" },
	{ "kind: fitted, range: [0.28, 0.44], group: sigma",
	  "kind: estimate, range: [0.28, 0.44], group: sigma",
	  "costs.dvm_va.group: only fitted costs have one" },
	{ "kind: fitted, range: [0.28, 0.44], group: sigma", "kind: guess",
	  "costs.dvm_va.kind: expected one of published, derived, fitted, estimate, measured, "
	  "not \"guess\"" },
	{ "  dvm_va: {", "  cr3: {", "costs.cr3: arm64 has no such cost" },
	{ "  dvm_va: {", "  line_smt: {", "costs.dvm_va: missing; arm64 machines of this "
	  "topology charge it" },
	{ "jitter_pct: 30", "jitter_pct: 300", "jitter_pct: expected 0 to 90, not 300" },
	{ "jitter_pct: 30", "jitter_pct: 30\nwake_jitter_pct: 101",
	  "wake_jitter_pct: expected 0 to 100, not 101" },
	{ "name: arm64-46", "name: arm64-46\nname: again", "name: given twice" },
	{ "{knob: arm64.ttl, value: off, kind: estimate", "{knob: arm64.tlbirange, value: off, kind: estimate",
	  "features: arm64.tlbirange is given twice" },
};

static void test_bad_files(void **state)
{
	struct machine_desc *desc = calloc(1, sizeof(*desc));
	char *text = read_machine("../tests/machine/base");

	(void)state;
	assert_non_null(desc);
	for (u32 i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++) {
		char *bad = replaced(text, bad_files[i].from, bad_files[i].to);
		char error[512] = "";
		const char *said;
		u32 line, column;

		if (!machine_desc_parse(bad, strlen(bad), "m.yaml", desc, error,
					sizeof(error)))
			fail_msg("accepted: %s", bad_files[i].to);
		if (sscanf(error, "m.yaml:%u:%u:", &line, &column) != 2)
			fail_msg("no place in \"%s\"", error);
		said = strchr(error, ' ') + 1;
		if (strcmp(said, bad_files[i].expected))
			fail_msg("\"%s\"\nexpected \"%s\"", said,
				 bad_files[i].expected);
		free(bad);
	}
	free(text);
	free(desc);
}

/* The place is that of the key itself, also where libcyaml names a neighbour. */
static void test_places(void **state)
{
	struct machine_desc *desc = calloc(1, sizeof(*desc));
	char *text = read_machine("../tests/machine/base"), *bad;
	char error[512], expected[64];
	u32 line = 1;

	(void)state;
	assert_non_null(desc);
	for (const char *p = text; p < strstr(text, "  dvm_va:"); p++)
		line += *p == '\n';
	snprintf(expected, sizeof(expected), "m.yaml:%u:3: ", line);
	bad = replaced(text, "  dvm_va:", "  dvm_vaa:");
	assert_int_equal(machine_desc_parse(bad, strlen(bad), "m.yaml", desc,
					    error, sizeof(error)), -1);
	assert_memory_equal(error, expected, strlen(expected));
	free(bad);

	assert_int_equal(machine_desc_parse("", 0, "m.yaml", desc, error,
					    sizeof(error)), -1);
	assert_string_equal(error, "m.yaml:1:1: expected a machine, found nothing");
	assert_int_equal(machine_desc_parse("a: [1\nb: 2\n", 11, "m.yaml", desc,
					    error, sizeof(error)), -1);
	assert_memory_equal(error, "m.yaml:2:", 9);
	free(text);
	free(desc);
}

/* All that come with tlblab load, under the name of their file. */
static void test_machines_load(void **state)
{
	static const struct {
		const char *name;
		u32 cpus, nodes, packages;
	} cases[] = {
		{ "arm64-46", 46, 1, 1 },
		{ "kunpeng920", 128, 4, 2 },
		{ "snapdragon888", 8, 1, 1 },
		{ "x86-2s", 80, 2, 2 },
		{ "qemu-x86-max", 8, 2, 1 },
		{ "qemu-arm64-max", 8, 2, 1 },
		{ "qemu-arm64-n1", 8, 2, 1 },
		{ "qemu-arm64-a72", 8, 2, 1 },
		{ "big-1024", 1024, 8, 8 },
	};
	struct machine_desc *desc = calloc(1, sizeof(*desc));
	char *names[64], error[512], dir[4096];
	u32 n;

	(void)state;
	assert_non_null(desc);
	snprintf(dir, sizeof(dir), "%s/machines", source_dir());
	setenv("TLBLAB_MACHINES", dir, 1);
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (machine_desc_load(cases[i].name, desc, error, sizeof(error)))
			fail_msg("%s", error);
		assert_string_equal(desc->name, cases[i].name);
		assert_int_equal(desc->nr_cpus, cases[i].cpus);
		assert_int_equal(desc->nr_nodes, cases[i].nodes);
		assert_int_equal(desc->nr_packages, cases[i].packages);
	}
	n = machine_desc_list(names, 64);
	assert_true(n >= sizeof(cases) / sizeof(cases[0]));
	for (u32 i = 0; i < n; i++) {
		if (machine_desc_load(names[i], desc, error, sizeof(error)))
			fail_msg("%s", error);
		assert_string_equal(desc->name, names[i]);
		free(names[i]);
	}
	assert_int_equal(machine_desc_load("arm64-64", desc, error,
					   sizeof(error)), -1);
	assert_string_equal(error, "no machine \"arm64-64\"; the nearest is \"arm64-46\"");
	free(desc);
}

/* Numbering, and figures through every unit, of one that has SMT. */
static void test_values(void **state)
{
	struct machine_desc *d = calloc(1, sizeof(*d));
	char *text = read_machine("x86-2s");
	char error[512] = "";

	(void)state;
	assert_non_null(d);
	if (machine_desc_parse(text, strlen(text), "m.yaml", d, error,
			       sizeof(error)))
		fail_msg("%s", error);
	for (u32 i = 0; i < 80; i++) {
		assert_int_equal(d->place[i].smt, i / 40);
		assert_int_equal(d->place[i].core, i % 40);
		assert_int_equal(d->place[i].package, i % 40 / 20);
		assert_int_equal(d->place[i].node, i % 40 / 20);
	}
	/* 175 and 96 cycles at 2.4 GHz; 0.22 us; 8 ms. */
	assert_int_equal(d->hw_cost[HW_INVPCID].ps, 72917);
	assert_int_equal(d->hw_cost[HW_INVPCID].lo_ps, 41667);
	assert_int_equal(d->hw_cost[HW_CR3].ps, 40000);
	assert_int_equal(d->hw_cost[HW_CR3].kind, COST_PUBLISHED);
	assert_int_equal(d->hw_cost[HW_CR3].hi_ps, 40000);
	assert_int_equal(d->hw_cost[HW_IPI_SEND_TARGET].ps, 220000);
	assert_int_equal(d->hw_cost[HW_RCU_GRACE].ps, 8000000000);
	assert_int_equal(d->hw_cost[HW_DVM_VA].given, 0);
	assert_int_equal(d->l2.sets * d->l2.ways, 1536);
	assert_int_equal(d->walk_cache[0], 0);
	assert_int_equal(d->walk_cache[1], 32);
	assert_int_equal(d->memory_bytes, 64ULL << 30);
	free(text);
	free(d);
}

/* Six fitted groups on arm64-46, no more (what may be fitted to S0). */
static void test_groups(void **state)
{
	static const char *const expected[] = {
		"write", "read", "off_lock", "sleep_cpu", "latency", "sigma",
	};
	struct machine_desc *d = calloc(1, sizeof(*d));
	char *text = read_machine("arm64-46");
	char error[512] = "";
	u32 n = 0;

	(void)state;
	assert_non_null(d);
	if (machine_desc_parse(text, strlen(text), "m.yaml", d, error,
			       sizeof(error)))
		fail_msg("%s", error);
	for (u32 g = 1; g < 8; g++) {
		bool known = false;

		for (u32 i = 0; i < 6; i++)
			known |= !strcmp(d->group[g], expected[i]);
		assert_int_equal(known, d->group[g][0] != 0);
		n += known;
	}
	assert_int_equal(n, 6);
	assert_string_equal(d->group[d->hw_cost[HW_DVM_VA].group], "sigma");
	free(text);
	free(d);
}

/* An lstopo file lies beside the machine file. */
static void test_xml(void **state)
{
	static const char xml[] =
		"<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\">"
		"<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" "
		"cpuset=\"0x3\" complete_cpuset=\"0x3\" allowed_cpuset=\"0x3\" "
		"nodeset=\"0x1\" complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\">"
		"<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" "
		"complete_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
		"local_memory=\"1073741824\"/>"
		"<object type=\"Core\" os_index=\"0\" cpuset=\"0x3\" "
		"complete_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\">"
		"<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" "
		"complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\"/>"
		"<object type=\"PU\" os_index=\"1\" cpuset=\"0x2\" "
		"complete_cpuset=\"0x2\" nodeset=\"0x1\" complete_nodeset=\"0x1\"/>"
		"</object></object></topology>";
	struct machine_desc *d = calloc(1, sizeof(*d));
	char *text = read_machine("x86-2s"), *changed;
	char dir[] = "/tmp/test_desc.XXXXXX", path[64], error[512] = "";
	FILE *f;

	(void)state;
	assert_non_null(d);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/two.xml", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(xml, f);
	fclose(f);
	changed = replaced(text, "package:2 numa:1 core:20 pu:2", "two.xml");
	snprintf(error, sizeof(error), "%s/m.yaml", dir);
	if (machine_desc_parse(changed, strlen(changed), error, d, error + 64,
			       sizeof(error) - 64))
		fail_msg("%s", error + 64);
	assert_int_equal(d->nr_cpus, 2);
	assert_int_equal(d->place[1].smt, 1);
	assert_int_equal(d->place[1].core, 0);
	unlink(path);
	rmdir(dir);
	free(changed);
	free(text);
	free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_machines_load),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_xml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
