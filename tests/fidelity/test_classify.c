// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The classifier of the counting plugin, against encodings that binutils assembled,
 * and the rule that tells barriers of a flush from others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fidelity/barrier.h"
#include "fidelity/classify.h"
#include "fidelity/marker.h"

#define KERNEL_VA 0xffff800008000000ull
#define USER_VA 0x401000ull

struct encoding {
	const char *text;
	enum insn_kind kind;
	uint8_t len;
	uint8_t bytes[15];
};

#define B(...) sizeof((uint8_t[]){ __VA_ARGS__ }), { __VA_ARGS__ }

static void check(enum guest_arch arch, const struct encoding *e, uint64_t va)
{
	struct insn_class got = classify(arch, e->bytes, e->len, va);

	if (got.kind != e->kind)
		fail_msg("%s: kind %d, not %d", e->text, got.kind, e->kind);
}

/* A 32-bit instruction as it lies in memory. */
static struct insn_class classify_word(enum guest_arch arch, uint32_t insn,
				       uint64_t va)
{
	uint8_t b[4] = { insn, insn >> 8, insn >> 16, insn >> 24 };

	return classify(arch, b, sizeof(b), va);
}

static const struct encoding x86[] = {
	{ "invlpg (%rdi)", INSN_INVLPG, B(0x0f, 0x01, 0x3f) },
	{ "invlpg (%r12)", INSN_INVLPG, B(0x41, 0x0f, 0x01, 0x3c, 0x24) },
	{ "invlpg 0x12345678(%rax,%rcx,8)", INSN_INVLPG,
	  B(0x0f, 0x01, 0xbc, 0xc8, 0x78, 0x56, 0x34, 0x12) },
	{ "invpcid (%rsp),%rax", INSN_INVPCID, B(0x66, 0x0f, 0x38, 0x82, 0x04, 0x24) },
	{ "invpcid (%r9),%r10", INSN_INVPCID, B(0x66, 0x45, 0x0f, 0x38, 0x82, 0x11) },
	{ "mov %rax,%cr3", INSN_CR3, B(0x0f, 0x22, 0xd8) },
	{ "mov %r15,%cr3", INSN_CR3, B(0x41, 0x0f, 0x22, 0xdf) },
	{ "mov %rdi,%cr4", INSN_CR4, B(0x0f, 0x22, 0xe7) },
	{ "invlpgb", INSN_INVLPGB, B(0x0f, 0x01, 0xfe) },
	{ "tlbsync", INSN_X86_TLBSYNC, B(0x0f, 0x01, 0xff) },
	{ "mov %rdi,%cr8", INSN_NONE, B(0x44, 0x0f, 0x22, 0xc7) },
	{ "mov %rdi,%cr0", INSN_NONE, B(0x0f, 0x22, 0xc7) },
	{ "mov %cr3,%rax", INSN_NONE, B(0x0f, 0x20, 0xd8) },
	{ "swapgs", INSN_NONE, B(0x0f, 0x01, 0xf8) },
	{ "rdtscp", INSN_NONE, B(0x0f, 0x01, 0xf9) },
	{ "lgdt (%rax)", INSN_NONE, B(0x0f, 0x01, 0x10) },
	{ "pshufb %xmm1,%xmm0", INSN_NONE, B(0x66, 0x0f, 0x38, 0x00, 0xc1) },
	{ "the same without 66 is no INVPCID", INSN_NONE,
	  B(0x0f, 0x38, 0x82, 0x04, 0x24) },
	{ "nopl (%rax)", INSN_NONE, B(0x0f, 0x1f, 0x00) },
	{ "nopl 0x0(%rax,%rax,1)", INSN_NONE,
	  B(0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00) },
	{ "ret", INSN_NONE, B(0xc3) },
	{ "add %eax,%eax", INSN_NONE, B(0x01, 0xc0) },
};

static void test_x86(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(x86) / sizeof(x86[0]); i++)
		check(GUEST_X86, &x86[i], KERNEL_VA);
}

/* No byte after the end decides: the same bytes, cut short, are nothing. */
static void test_x86_truncated(void **state)
{
	const uint8_t invlpg[] = { 0x0f, 0x01, 0x3f };
	const uint8_t prefixes[] = { 0x66, 0x66, 0x48 };
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(invlpg); len++)
		assert_int_equal(classify(GUEST_X86, invlpg, len, 0).kind, INSN_NONE);
	for (len = 0; len <= sizeof(prefixes); len++)
		assert_int_equal(classify(GUEST_X86, prefixes, len, 0).kind, INSN_NONE);
}

struct word {
	const char *text;
	uint32_t insn;
	enum insn_kind kind;
};

static void check_words(enum guest_arch arch, const struct word *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct insn_class got = classify_word(arch, w[i].insn, KERNEL_VA);

		if (got.kind != w[i].kind)
			fail_msg("%s: kind %d, not %d", w[i].text, got.kind, w[i].kind);
	}
}

static const struct word arm64[] = {
	{ "tlbi vmalle1is", 0xd508831f, INSN_VMALLE1IS },
	{ "tlbi vae1is, x5", 0xd5088325, INSN_VAE1IS },
	{ "tlbi aside1is, x5", 0xd5088345, INSN_ASIDE1IS },
	{ "tlbi vaae1is, x5", 0xd5088365, INSN_VAAE1IS },
	{ "tlbi vale1is, xzr", 0xd50883bf, INSN_VALE1IS },
	{ "tlbi vaale1is, x5", 0xd50883e5, INSN_VAALE1IS },
	{ "tlbi rvae1is, x1", 0xd5088221, INSN_RVAE1IS },
	{ "tlbi rvale1is, x1", 0xd50882a1, INSN_RVALE1IS },
	{ "tlbi vmalle1", 0xd508871f, INSN_VMALLE1 },
	{ "tlbi vae1, x0", 0xd5088720, INSN_VAE1 },
	{ "tlbi vale1, x0", 0xd50887a0, INSN_VALE1 },
	{ "tlbi aside1, x0", 0xd5088740, INSN_ASIDE1 },
	{ "tlbi vae1os, x0", 0xd5088120, INSN_TLBI_OTHER },
	{ "tlbi rvae1, x0", 0xd5088620, INSN_TLBI_OTHER },
	{ "tlbi alle2", 0xd50c871f, INSN_TLBI_OTHER },
	{ "tlbi ipas2e1is, x0", 0xd50c8020, INSN_TLBI_OTHER },
	{ "dsb ish", 0xd5033b9f, INSN_DSB_ISH },
	{ "dsb ishst", 0xd5033a9f, INSN_DSB_ISHST },
	{ "dsb nsh", 0xd503379f, INSN_DSB_NSH },
	{ "dsb nshst", 0xd503369f, INSN_DSB_NSHST },
	{ "dsb sy", 0xd5033f9f, INSN_DSB_ELSE },
	{ "dsb st", 0xd5033e9f, INSN_DSB_ELSE },
	{ "dsb ishld", 0xd503399f, INSN_DSB_ELSE },
	{ "ssbb", 0xd503309f, INSN_NONE },
	{ "pssbb", 0xd503349f, INSN_NONE },
	{ "dmb ish", 0xd5033bbf, INSN_NONE },
	{ "isb", 0xd5033fdf, INSN_NONE },
	{ "dc zva, x0", 0xd50b7420, INSN_NONE },
	{ "ic ialluis", 0xd508711f, INSN_NONE },
	{ "at s1e1r, x0", 0xd5087800, INSN_NONE },
	{ "msr ttbr0_el1, x0", 0xd5182000, INSN_NONE },
	{ "msr icc_sgi1r_el1, x7", 0xd518cba7, INSN_SGI },
	{ "mov x1, #0x5102", 0xd28a2041, INSN_NONE },
	{ "nop", 0xd503201f, INSN_NONE },
};

static void test_arm64(void **state)
{
	(void)state;
	check_words(GUEST_ARM64, arm64, sizeof(arm64) / sizeof(arm64[0]));
}

static const struct word power[] = {
	{ "tlbie 4,5,0,1,1", 0x7ca32264, INSN_TLBIE_RIC0 },
	{ "tlbie 4,5,1,1,1", 0x7ca72264, INSN_TLBIE_RIC1 },
	{ "tlbie 4,5,2,1,1", 0x7cab2264, INSN_TLBIE_RIC2 },
	{ "tlbie 4,5,3,1,1", 0x7caf2264, INSN_TLBIE_RIC3 },
	{ "tlbie 4,5,2,0,1", 0x7ca92264, INSN_TLBIE_OTHER },
	{ "tlbie 4,5", 0x7ca02264, INSN_TLBIE_OTHER },
	{ "tlbiel 4,5,0,1,1", 0x7ca32224, INSN_TLBIEL_RIC0 },
	{ "tlbiel 4,5,1,1,1", 0x7ca72224, INSN_TLBIEL_RIC1 },
	{ "tlbiel 4,5,2,1,1", 0x7cab2224, INSN_TLBIEL_RIC2 },
	{ "tlbiel 4,5,2,0,1", 0x7ca92224, INSN_TLBIEL_OTHER },
	{ "tlbsync", 0x7c00046c, INSN_PPC_TLBSYNC },
	{ "ptesync", 0x7c4004ac, INSN_PTESYNC },
	{ "hwsync", 0x7c0004ac, INSN_NONE },
	{ "lwsync", 0x7c2004ac, INSN_NONE },
	{ "eieio", 0x7c0006ac, INSN_NONE },
	{ "slbia", 0x7c0003e4, INSN_NONE },
	{ "lis r1,20738", 0x3c205102, INSN_NONE },
	{ "li r0,20738", 0x38005102, INSN_NONE },
};

static void test_power(void **state)
{
	(void)state;
	check_words(GUEST_POWERPC, power, sizeof(power) / sizeof(power[0]));
}

/* ----------------------------------------------------------------- markers */

static const struct {
	enum guest_arch arch;
	uint8_t len, bytes[7];
} lap_of_window_2[] = {
	/* nopl 0x7b1a5202(%rax); movz xzr, #0x5202; lis r0, 0x5202 */
	{ GUEST_X86, 7, { 0x0f, 0x1f, 0x80, 0x02, 0x52, 0x1a, 0x7b } },
	{ GUEST_ARM64, 4, { 0x5f, 0x40, 0x8a, 0xd2 } },
	{ GUEST_POWERPC, 4, { 0x02, 0x52, 0x00, 0x3c } },
};

static void test_markers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct insn_class got =
			classify(lap_of_window_2[i].arch, lap_of_window_2[i].bytes,
				 lap_of_window_2[i].len, USER_VA);

		assert_int_equal(got.kind, INSN_MARKER);
		assert_int_equal(got.marker, MARKER(MARKER_LAP, 2));
		assert_int_equal(MARKER_OP(got.marker), MARKER_LAP);
		assert_int_equal(MARKER_WINDOW(got.marker), 2);
		/* The kernel executes none. */
		got = classify(lap_of_window_2[i].arch, lap_of_window_2[i].bytes,
			       lap_of_window_2[i].len, KERNEL_VA);
		assert_int_equal(got.kind, INSN_NONE);
	}
}

/* Values that name no operation are somebody else's instructions. */
static void test_not_markers(void **state)
{
	static const uint16_t values[] = { 0x5000, 0x5402, 0x5f00, 0x4102, 0x0102 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint32_t v = values[i];
		uint8_t nopl[7] = { 0x0f, 0x1f, 0x80, v, v >> 8, 0x1a, 0x7b };

		assert_int_equal(classify(GUEST_X86, nopl, 7, USER_VA).kind, INSN_NONE);
		assert_int_equal(classify_word(GUEST_ARM64, MARKER_ARM64_BASE | v << 5,
					       USER_VA).kind, INSN_NONE);
		assert_int_equal(classify_word(GUEST_POWERPC, MARKER_POWERPC_BASE | v,
					       USER_VA).kind, INSN_NONE);
	}
}

/* ---------------------------------------------------------------- barriers */

/* Runs kinds through one CPU, counts them, and returns to user mode at the end. */
static void run_barriers(const enum insn_kind *kinds, int n,
			 unsigned int count[INSN_NR_KINDS])
{
	struct barrier_state s = { 0 };
	enum insn_kind now[2];
	int i, k, m;

	for (i = 0; i < INSN_NR_KINDS; i++)
		count[i] = 0;
	for (i = 0; i < n; i++) {
		m = barrier_step(&s, kinds[i], now);
		assert_in_range(m, 0, 2);
		for (k = 0; k < m; k++)
			count[now[k]]++;
	}
	m = barrier_user(&s, now);
	if (m)
		count[now[0]]++;
	assert_int_equal(barrier_user(&s, now), 0);
}

#define RUN(count, ...)                                                         \
	run_barriers((enum insn_kind[]){ __VA_ARGS__ },                         \
		     sizeof((enum insn_kind[]){ __VA_ARGS__ }) /                \
			     sizeof(enum insn_kind), count)

static void test_flush_with_table_stores(void **state)
{
	unsigned int count[INSN_NR_KINDS];

	(void)state;
	/* set_pud, set_pmd, flush with the repeat-TLBI erratum, set_pgd. */
	RUN(count, INSN_DSB_ISHST, INSN_DSB_ISHST, INSN_DSB_ISHST, INSN_VALE1IS,
	    INSN_DSB_ISH, INSN_VALE1IS, INSN_DSB_ISH, INSN_DSB_ISHST);
	assert_int_equal(count[INSN_DSB_ISHST], 1);
	assert_int_equal(count[INSN_DSB_ISHST_ELSE], 3);
	assert_int_equal(count[INSN_VALE1IS], 2);
	assert_int_equal(count[INSN_DSB_ISH], 2);
	assert_int_equal(count[INSN_DSB_ELSE], 0);
}

static void test_barriers_of_no_flush(void **state)
{
	unsigned int count[INSN_NR_KINDS];

	(void)state;
	/* A context switch, and Spectre-BHB's DSB NSH amid a broadcast flush. */
	RUN(count, INSN_DSB_ISH, INSN_DSB_ISHST, INSN_RVAE1IS, INSN_DSB_NSH,
	    INSN_DSB_ISH, INSN_DSB_ISH);
	assert_int_equal(count[INSN_DSB_ISH], 1);
	assert_int_equal(count[INSN_DSB_NSH], 0);
	assert_int_equal(count[INSN_DSB_ISHST], 1);
	assert_int_equal(count[INSN_DSB_ELSE], 3);
}

static void test_local_flush(void **state)
{
	unsigned int count[INSN_NR_KINDS];

	(void)state;
	RUN(count, INSN_DSB_NSHST, INSN_VMALLE1, INSN_DSB_ISH, INSN_DSB_NSH);
	assert_int_equal(count[INSN_DSB_NSHST], 1);
	assert_int_equal(count[INSN_VMALLE1], 1);
	assert_int_equal(count[INSN_DSB_NSH], 1);
	assert_int_equal(count[INSN_DSB_ISH], 0);
	assert_int_equal(count[INSN_DSB_ELSE], 1);
}

static void test_other_kinds_pass(void **state)
{
	static const enum insn_kind kinds[] = { INSN_INVLPG, INSN_CR3, INSN_PTESYNC,
						INSN_TLBIE_RIC0, INSN_SGI,
						INSN_PPC_TLBSYNC };
	unsigned int count[INSN_NR_KINDS];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		run_barriers(&kinds[i], 1, count);
		assert_int_equal(count[kinds[i]], 1);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(insn_kind_name(INSN_VALE1IS), "tlbi_vale1is");
	assert_string_equal(insn_kind_name(INSN_TLBIEL_RIC0 + 1), "tlbiel_ric1");
	assert_string_equal(insn_kind_name(INSN_X86_TLBSYNC), "tlbsync");
	assert_string_equal(insn_kind_name(INSN_NR_KINDS - 1), "ptesync");
	assert_int_equal(guest_arch_of("x86_64"), GUEST_X86);
	assert_int_equal(guest_arch_of("aarch64"), GUEST_ARM64);
	assert_int_equal(guest_arch_of("ppc64"), GUEST_POWERPC);
	assert_int_equal(guest_arch_of("riscv64"), GUEST_NR_ARCHS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_x86_truncated),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_not_markers),
		cmocka_unit_test(test_flush_with_table_stores),
		cmocka_unit_test(test_barriers_of_no_flush),
		cmocka_unit_test(test_local_flush),
		cmocka_unit_test(test_other_kinds_pass),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
