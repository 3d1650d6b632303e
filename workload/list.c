// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/common.h"

const struct workload *const workloads[] = {
	&workload_mmap8,
	&workload_dontneed,
	&workload_mmap5,
	&workload_ebizzy,
	&workload_munmap_thp,
	&workload_shm_attach,
	&workload_tlb_flush2,
	&workload_probe,
	&workload_pageout,
	&workload_page_migrate,
	&workload_numa01,
	&workload_numa01_threadlocal,
	&workload_numa02,
	&workload_numa02_smt,
	&workload_xfs_repair,
	&workload_mm_step,
	NULL,
};
