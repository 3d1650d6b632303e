// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin for QEMU's user mode that sees the address of each data access and keeps the
 * pages in a direct-mapped TLB of 1536 entries: the least that somebody would do who
 * wants TLB misses of a program. Prints accesses and misses at exit.
 *
 * Debian's QEMU 7.2 has the plugin interface but not its header; what we use of
 * version 1 of the interface is declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info qemu_info_t;

enum { CB_NO_REGS };
enum { MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
	void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
	void (*cb)(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data),
	int flags, int rw, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
	void (*cb)(qemu_plugin_id_t id, void *data), void *data);

EXPORT int qemu_plugin_version = 1;

#define ENTRIES 1536

static uint64_t tlb[ENTRIES], accesses, misses;

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	uint64_t page = vaddr >> 12, *entry = &tlb[page % ENTRIES];

	(void)cpu, (void)info, (void)data;
	accesses++;
	if (*entry != page) {
		*entry = page;
		misses++;
	}
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < n; i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
						 CB_NO_REGS, MEM_RW, NULL);
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	fprintf(stderr, "accesses %" PRIu64 " misses %" PRIu64 "\n", accesses, misses);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			       char **argv);

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
			       char **argv)
{
	(void)info, (void)argc, (void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
