// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A TCG plugin that counts the TLB-invalidation instructions a guest executes.
 *
 *	qemu-system-... -accel tcg,thread=single -plugin plugin.so,out=FILE
 *
 * Each instruction is classified when it is translated; executing one that is
 * counted adds one to its kind. The guest's markers (marker.h) open a window, end
 * an iteration (a "lap") and close the window. At exit FILE gets, for each window
 * and each kind seen in it:
 *
 *	count WINDOW KIND LAPS MEDIAN TOTAL ODD MIN MAX
 *
 * where LAPS is the number of laps, MEDIAN the median count of a lap, TOTAL all
 * from opening to closing (what follows the last lap included), and ODD how many
 * laps are not at the median. A last line "end" says that the file is whole;
 * lines "error ..." say that the markers came in an impossible order.
 *
 * Needs thread=single: all vCPUs then run in one host thread, so that nothing
 * here is shared, and a lap of one vCPU is a point in time for all.
 *
 * Debian's QEMU 7.2 has the plugin interface but not its header; what we use of
 * version 1 of the interface is declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barrier.h"
#include "classify.h"
#include "marker.h"

/* ------------------------------------------------ the plugin interface, v1 */

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*insn_exec_cb)(unsigned int vcpu, void *arg);
typedef void (*atexit_cb)(qemu_plugin_id_t id, void *arg);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    insn_exec_cb cb,
					    enum qemu_plugin_cb_flags flags,
					    void *arg);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, atexit_cb cb, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			       int argc, char **argv);

/* ------------------------------------------------------------------- state */

#define LAPS_MAX 65536
#define VCPUS_MAX 64

static enum guest_arch arch;
static FILE *out;
static bool window_is_open;
static unsigned int window;		/* the open one, or the next to open */
static uint64_t count[INSN_NR_KINDS];	/* since the window opened */
static uint64_t at_lap[INSN_NR_KINDS];	/* count[] when the last lap ended */
static uint32_t nr_laps;
static struct barrier_state barriers[VCPUS_MAX];
static uint32_t *laps[INSN_NR_KINDS];	/* [LAPS_MAX] each, once a kind was seen */

/* --------------------------------------------------------------- reporting */

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void report_kind(enum insn_kind kind)
{
	uint32_t *lap = laps[kind];
	uint32_t i, median = 0, odd = 0, least = 0, most = 0;

	if (nr_laps && lap) {
		qsort(lap, nr_laps, sizeof(*lap), compare_u32);
		median = lap[(nr_laps - 1) / 2];
		least = lap[0];
		most = lap[nr_laps - 1];
		for (i = 0; i < nr_laps; i++)
			odd += lap[i] != median;
	}
	fprintf(out, "count %u %s %u %u %" PRIu64 " %u %u %u\n", window,
		insn_kind_name(kind), nr_laps, median, count[kind], odd, least,
		most);
}

/* ----------------------------------------------------------------- windows */

static void window_open(void)
{
	int kind;

	window_is_open = true;
	nr_laps = 0;
	memset(count, 0, sizeof(count));
	memset(at_lap, 0, sizeof(at_lap));
	for (kind = 0; kind < INSN_NR_KINDS; kind++)
		if (laps[kind])
			memset(laps[kind], 0, LAPS_MAX * sizeof(*laps[kind]));
}

static void window_lap(void)
{
	int kind;

	if (nr_laps == LAPS_MAX) {
		fprintf(out, "error window %u has more than %d laps\n", window,
			LAPS_MAX);
		return;
	}
	for (kind = 0; kind < INSN_NR_KINDS; kind++) {
		if (count[kind] == at_lap[kind])
			continue;
		if (!laps[kind])
			laps[kind] = calloc(LAPS_MAX, sizeof(*laps[kind]));
		if (!laps[kind])
			abort();
		laps[kind][nr_laps] = count[kind] - at_lap[kind];
		at_lap[kind] = count[kind];
	}
	nr_laps++;
}

static void window_close(void)
{
	int kind;

	for (kind = 0; kind < INSN_NR_KINDS; kind++)
		if (count[kind])
			report_kind(kind);
	window_is_open = false;
	window++;
}

static void count_all(int n, const enum insn_kind *kinds)
{
	int i;

	for (i = 0; window_is_open && i < n; i++)
		count[kinds[i]]++;
}

static void on_marker(unsigned int vcpu, void *arg)
{
	unsigned int marker = (uintptr_t)arg;
	unsigned int op = MARKER_OP(marker);
	enum insn_kind kind;

	count_all(barrier_user(&barriers[vcpu], &kind), &kind);
	if (MARKER_WINDOW(marker) != (window & 0xff) ||
	    window_is_open != (op != MARKER_OPEN)) {
		fprintf(out, "error marker 0x%x while window %u is %s\n", marker,
			window, window_is_open ? "open" : "closed");
		return;
	}
	if (op == MARKER_OPEN)
		window_open();
	else if (op == MARKER_LAP)
		window_lap();
	else
		window_close();
}

static void on_counted(unsigned int vcpu, void *arg)
{
	enum insn_kind kinds[2];

	count_all(barrier_step(&barriers[vcpu], (uintptr_t)arg, kinds), kinds);
}

/* -------------------------------------------------------------- the plugin */

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct insn_class class =
			classify(arch, qemu_plugin_insn_data(insn),
				 qemu_plugin_insn_size(insn),
				 qemu_plugin_insn_vaddr(insn));

		if (class.kind == INSN_NONE)
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, class.kind == INSN_MARKER ? on_marker : on_counted,
			QEMU_PLUGIN_CB_NO_REGS,
			(void *)(uintptr_t)(class.kind == INSN_MARKER ?
						    class.marker :
						    (unsigned int)class.kind));
	}
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *arg)
{
	(void)id;
	(void)arg;
	if (window_is_open)
		fprintf(out, "error window %u was never closed\n", window);
	fprintf(out, "end\n");
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv)
{
	const char *path = NULL;
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
	arch = guest_arch_of(info->target_name);
	if (!path || arch == GUEST_NR_ARCHS || !info->system_emulation ||
	    info->system.max_vcpus > VCPUS_MAX) {
		fprintf(stderr, "fidelity plugin: needs out=FILE and system "
			"emulation of x86_64, aarch64 or ppc64, up to %d vCPUs\n",
			VCPUS_MAX);
		return -1;
	}
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
