// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stories call the words of this core's objects: core_module.objects. Only a
 * machine that tells stories reads it. A field that is not listed reads as the one before
 * it, plus a distance.
 */
#include "core.h"

#include "mm/rmap.h"
#include "mm/swap.h"

#define FIELD(type, field) { #field, offsetof(struct type, field) }

static const struct core_field mm_fields[] = {
	FIELD(mm_struct, mmap_lock.count), FIELD(mm_struct, mmap_lock.owner),
	FIELD(mm_struct, mmap_lock.osq), FIELD(mm_struct, mmap_lock.wait_lock),
	FIELD(mm_struct, mm_lock_seq), FIELD(mm_struct, areas_seq), FIELD(mm_struct, areas),
	FIELD(mm_struct, mm_users), FIELD(mm_struct, mm_count),
	FIELD(mm_struct, tlb_flush_pending), FIELD(mm_struct, tlb_flush_batched),
	FIELD(mm_struct, pgtables_bytes),
	FIELD(mm_struct, page_table_lock), FIELD(mm_struct, context),
	FIELD(mm_struct, cpu_bitmap), FIELD(mm_struct, write_protect_seq),
	FIELD(mm_struct, has_pinned), FIELD(mm_struct, huge_zero), { NULL, 0 },
};

static const struct core_field vma_fields[] = {
	FIELD(vm_area_struct, vm_start), FIELD(vm_area_struct, anon_vma),
	FIELD(vm_area_struct, vm_lock_seq),
	FIELD(vm_area_struct, vm_lock.count), FIELD(vm_area_struct, vm_lock.owner),
	FIELD(vm_area_struct, vm_lock.osq), FIELD(vm_area_struct, vm_lock.wait_lock),
	{ NULL, 0 },
};

static const struct core_field page_fields[] = {
	FIELD(page, _refcount), FIELD(page, _mapcount), FIELD(page, flags),
	FIELD(page, index), FIELD(page, mapping), FIELD(page, ptl), { NULL, 0 },
};

static const struct core_field file_fields[] = {
	FIELD(address_space, i_pages_lock), FIELD(address_space, i_pages),
	FIELD(address_space, refs), FIELD(address_space, i_mmap_lock.word), { NULL, 0 },
};

static const struct core_field anon_vma_fields[] = {
	FIELD(anon_vma, lock.word), FIELD(anon_vma, refcount), { NULL, 0 },
};

static const struct core_field swap_fields[] = {
	FIELD(swap_info, lock), { NULL, 0 },
};

static const struct core_field task_fields[] = {
	FIELD(task_struct, mm), FIELD(task_struct, on_cpu), FIELD(task_struct, cpu),
	{ NULL, 0 },
};

static const struct core_field cpu_fields[] = {
	FIELD(core_cpu, idle), FIELD(core_cpu, stat), FIELD(core_cpu, arch),
	FIELD(core_cpu, osq.next), FIELD(core_cpu, osq.prev), FIELD(core_cpu, osq.locked),
	{ NULL, 0 },
};

static const struct core_field kernel_fields[] = {
	FIELD(kernel, knobs), FIELD(kernel, geo), FIELD(kernel, page_wait),
	FIELD(kernel, arch), FIELD(kernel, huge_zero_lock),
	FIELD(kernel, huge_zero_refcount), FIELD(kernel, huge_zero_pfn), { NULL, 0 },
};

const struct core_object core_objects[] = {
	{ "mm_alloc", "mm", sizeof(struct mm_struct), mm_fields },
	{ "vm_area_alloc", "vma", sizeof(struct vm_area_struct), vma_fields },
	{ "page_init", "page", sizeof(struct page), page_fields },
	{ "shmem_file_setup", "file", sizeof(struct address_space), file_fields },
	{ "anon_vma_prepare", "anon_vma", sizeof(struct anon_vma), anon_vma_fields },
	{ "swap_init", "swap", sizeof(struct swap_info), swap_fields },
	{ "task_alloc", "task", sizeof(struct task_struct), task_fields },
	{ "idle_init", "idle", sizeof(struct task_struct), task_fields },
	{ "boot", "cpu", sizeof(struct core_cpu), cpu_fields },
	{ "core_boot", "kernel", sizeof(struct kernel), kernel_fields },
	{ NULL, NULL, 0, NULL },
};
