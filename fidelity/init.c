// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /init of the guests, one static program for all architectures: runs the
 * workloads of the table below, tells the plugin by markers where each begins
 * and ends, says on the console what ran, and powers off.
 *
 * The shape of a run decides its counts, so it is fixed. A forked child is the
 * process under test, and its main thread is worker 0; the other workers are its
 * threads; worker i is pinned to CPU i. The window opens when all have arrived and
 * closes when all have finished; creation and exit lie outside. Whoever waits,
 * spins in user mode. The hint has nothing else mapped within a TiB: a page table
 * that is freed widens the range of a flush to where the table's own span begins,
 * so another address gives other counts.
 *
 * On the console, one line per window:
 *
 *	fidelity: window N WORKLOAD THREADS TOUCH ITERATIONS IPI
 *
 * with ITERATIONS of all threads together, and IPI the number of TLB shootdowns
 * that /proc/interrupts saw in the window, "-" where it has no such row (only
 * x86 has; on arm64 the plugin sees IPIs sent). "fidelity: done" ends the run; "fidelity: failed ..." names
 * what went wrong. The kernel's command line may set fidelity_iterations=N.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/swap.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marker.h"

#define HINT		((void *)0x200000000000)
#define MAPPING_SIZE	(16ul << 20)
#define HUGE		(2ul << 20)
#define AWAY		(1ul << 30)	/* where mremap moves to, from the hint on */
#define THREADS_MAX	4

/* ------------------------------------------------------------ architecture */

#if defined(__x86_64__)
#define INTERRUPT_ROW "TLB shootdowns"
#define emit_marker(op, n)                                                      \
	asm volatile("nopl %c0(%%rax)" : : "i"(MARKER_X86_DISP | MARKER(op, n)) \
		     : "memory")
static inline void relax(void)
{
	asm volatile("pause" : : : "memory");
}
/* fork(), and _exit(0) in the child, which must not touch its stack: the child's pid. */
static inline long fork_and_exit(void)
{
	long ret;

	asm volatile("syscall\n\t"
		     "test %%eax, %%eax\n\t"
		     "jnz 1f\n\t"
		     "mov $60, %%eax\n\t"
		     "xor %%edi, %%edi\n\t"
		     "syscall\n"
		     "1:"
		     : "=a"(ret)
		     : "a"(57)
		     : "rcx", "r11", "rdi", "memory");
	return ret;
}
#elif defined(__aarch64__)
#define INTERRUPT_ROW ""
#define emit_marker(op, n)                                                      \
	asm volatile("movz xzr, %0" : : "i"(MARKER(op, n)) : "memory")
static inline void relax(void)
{
	asm volatile("yield" : : : "memory");
}
static inline long fork_and_exit(void)
{
	register long x0 asm("x0") = 17;	/* SIGCHLD */
	register long x1 asm("x1") = 0;
	register long x2 asm("x2") = 0;
	register long x3 asm("x3") = 0;
	register long x4 asm("x4") = 0;
	register long x8 asm("x8") = 220;	/* clone */

	asm volatile("svc #0\n\t"
		     "cbnz x0, 1f\n\t"
		     "mov x8, #93\n\t"
		     "svc #0\n"
		     "1:"
		     : "+r"(x0), "+r"(x8)
		     : "r"(x1), "r"(x2), "r"(x3), "r"(x4)
		     : "memory", "cc");
	return x0;
}
#elif defined(__powerpc64__)
#define INTERRUPT_ROW ""
#define emit_marker(op, n)                                                      \
	asm volatile("lis 0, %0" : : "i"(MARKER(op, n)) : "r0", "memory")
static inline void relax(void)
{
	asm volatile("or 27, 27, 27" : : : "memory");
}
static inline long fork_and_exit(void)
{
	register long r0 asm("r0") = 2;		/* fork */
	register long r3 asm("r3");

	asm volatile("sc\n\t"
		     "bns 2f\n\t"
		     "neg 3, 3\n"
		     "2:\tcmpdi 3, 0\n\t"
		     "bne 1f\n\t"
		     "li 0, 1\n\t"
		     "li 3, 0\n\t"
		     "sc\n"
		     "1:"
		     : "+r"(r0), "=r"(r3)
		     :
		     : "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12",
		       "cr0", "ctr", "memory");
	return r3;
}
#else
#error "no marker instruction for this architecture"
#endif

/* The window's number is part of the instruction: one instruction for each. */
#define WINDOWS_MAX 64
#define WINDOWS_8(X, n)                                                         \
	X(n) X(n + 1) X(n + 2) X(n + 3) X(n + 4) X(n + 5) X(n + 6) X(n + 7)
#define WINDOWS(X)                                                              \
	WINDOWS_8(X, 0) WINDOWS_8(X, 8) WINDOWS_8(X, 16) WINDOWS_8(X, 24)       \
	WINDOWS_8(X, 32) WINDOWS_8(X, 40) WINDOWS_8(X, 48) WINDOWS_8(X, 56)

#define MARK_CASE_OPEN(n)  case n: emit_marker(MARKER_OPEN, n); break;
#define MARK_CASE_LAP(n)   case n: emit_marker(MARKER_LAP, n); break;
#define MARK_CASE_CLOSE(n) case n: emit_marker(MARKER_CLOSE, n); break;

static void mark_open(unsigned int window)
{
	switch (window) { WINDOWS(MARK_CASE_OPEN) }
}

static void mark_lap(unsigned int window)
{
	switch (window) { WINDOWS(MARK_CASE_LAP) }
}

static void mark_close(unsigned int window)
{
	switch (window) { WINDOWS(MARK_CASE_CLOSE) }
}

/* --------------------------------------------------------------- workloads */

struct run;

/*
 * Of tlblab's mm-step, unless it is mmap8 or dontneed; its operations are workload/mm_step.c's,
 * call by call.
 */
struct workload {
	const char *name;
	unsigned int threads;
	unsigned int touch;	/* pages; huge pages where huge */
	bool kept, shared, huge;	/* its mapping */
	/* Once all threads are there, before the window; may be NULL. */
	void (*settle)(struct run *r);
	void (*iteration)(struct run *r);
};

/* One process under test. All words are shared by its threads. */
struct run {
	const struct workload *workload;
	unsigned int window;
	unsigned int iterations;	/* of each thread */
	unsigned int arrived, finished;
	unsigned int turn;		/* the worker whose turn it is */
	bool opened, closed;
};

static void die(const char *format, ...)
{
	va_list args;

	printf("fidelity: failed ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(": %s\n", strerror(errno));
	exit(1);
}

static unsigned long page_size;

/* What several threads do must not be in their stacks, as it would be faulted in there. */
static void map_at_hint(struct run *r)
{
	char *p = mmap(HINT, MAPPING_SIZE, PROT_READ | PROT_WRITE,
		       (r->workload->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS,
		       -1, 0);

	if (p != HINT)
		die("mmap gave %p", p);
	if (r->workload->huge && madvise(p, MAPPING_SIZE, MADV_HUGEPAGE))
		die("MADV_HUGEPAGE");
}

static void unmap(void)
{
	if (munmap(HINT, MAPPING_SIZE))
		die("munmap");
}

static void dontneed_all(void)
{
	if (madvise(HINT, MAPPING_SIZE, MADV_DONTNEED))
		die("MADV_DONTNEED");
}

static void touch(struct run *r, bool write)
{
	unsigned long step = r->workload->huge ? HUGE : page_size;
	volatile char *p = HINT;
	unsigned int i;

	for (i = 0; i < r->workload->touch; i++) {
		if (write)
			p[i * step] = 'a';
		else
			(void)p[i * step];
	}
}

static void mmap8(struct run *r)
{
	map_at_hint(r);
	touch(r, true);
	dontneed_all();
	unmap();
}

static void step_unmap(struct run *r)
{
	map_at_hint(r);
	touch(r, true);
	unmap();
}

static void step_unmap_clean(struct run *r)
{
	map_at_hint(r);
	touch(r, false);
	unmap();
}

static void step_dontneed(struct run *r)
{
	touch(r, true);
	dontneed_all();
}

static void step_mprotect(struct run *r)
{
	touch(r, true);
	if (mprotect(HINT, MAPPING_SIZE, PROT_READ) ||
	    mprotect(HINT, MAPPING_SIZE, PROT_READ | PROT_WRITE))
		die("mprotect");
}

static void step_mremap(struct run *r)
{
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	char *away = (char *)HINT + AWAY;

	touch(r, true);
	if (mremap(HINT, MAPPING_SIZE, MAPPING_SIZE, flags, away) != away ||
	    mremap(away, MAPPING_SIZE, MAPPING_SIZE, flags, HINT) != HINT)
		die("mremap");
}

/*
 * The child touches no memory but its text, and does not get what is ours beside the mapping
 * (settle_fork): all that it shares with us, then, is the mapping, as in mm-step.
 */
static void step_fork(struct run *r)
{
	int status;
	long pid;

	touch(r, true);
	pid = fork_and_exit();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("fork");
}

static void step_pageout(struct run *r)
{
	touch(r, false);
	if (madvise(HINT, r->workload->touch * page_size, MADV_PAGEOUT))
		die("MADV_PAGEOUT");
}

#define MIGRATE_MAX 64

static void move_pages_to(struct run *r, int node)
{
	static void *pages[MIGRATE_MAX];
	static int nodes[MIGRATE_MAX], status[MIGRATE_MAX];
	unsigned int i, n = r->workload->touch;

	for (i = 0; i < n; i++) {
		pages[i] = (char *)HINT + i * page_size;
		nodes[i] = node;
	}
	if (syscall(SYS_move_pages, 0, n, pages, nodes, status, 2 /* MPOL_MF_MOVE */))
		die("move_pages to node %d", node);
	for (i = 0; i < n; i++)
		if (status[i] != node)
			die("page %u went to node %d", i, status[i]);
}

static void step_migrate(struct run *r)
{
	touch(r, true);
	move_pages_to(r, 1);
	move_pages_to(r, 0);
}

/* A counter of /proc/vmstat, read without allocating. */
static unsigned long vmstat(const char *name)
{
	static char text[1 << 14];
	static int fd = -1;
	ssize_t n;
	char *p;

	if (fd < 0)
		fd = open("/proc/vmstat", O_RDONLY);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	p = strstr(text, name);
	if (!p)
		die("/proc/vmstat has no %s", name);
	return strtoul(p + strlen(name), NULL, 10);
}

/* MPOL_BIND to node 0, which keeps the scan of NUMA balancing away; or MPOL_DEFAULT again. */
static void bind_node_0(unsigned long begin, unsigned long len, bool bind)
{
	unsigned long node = 1;

	if (syscall(SYS_mbind, begin, len, bind ? 2 : 0, bind ? &node : NULL,
		    bind ? 8 * sizeof(node) : 0, 0))
		die("mbind");
}

/* The scan marks when it likes: we let it, and write until all pages were marked. */
static void step_numa(struct run *r)
{
	unsigned long target = vmstat("numa_hint_faults ") + r->workload->touch;

	bind_node_0((unsigned long)HINT, MAPPING_SIZE, false);
	while (vmstat("numa_hint_faults ") < target)
		touch(r, true);
	bind_node_0((unsigned long)HINT, MAPPING_SIZE, true);
}

/* ----------------------------------------------------------- preparations */

static void write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die("%s", path);
	close(fd);
}

/* call(begin, len) for each writable mapping of ours but the one at the hint. */
static void for_each_other(void (*call)(unsigned long begin, unsigned long len))
{
	static char text[1 << 14];
	unsigned long begin, end;
	char *line = text, rights[8];
	int fd = open("/proc/self/maps", O_RDONLY);
	ssize_t n, len = 0;

	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += n;
	close(fd);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 &&
		    rights[1] == 'w' && begin != (unsigned long)HINT)
			call(begin, end - begin);
}

static void no_fork(unsigned long begin, unsigned long len)
{
	if (madvise((void *)begin, len, MADV_DONTFORK))
		die("MADV_DONTFORK");
}

static void settle_fork(struct run *r)
{
	(void)r;
	for_each_other(no_fork);
}

static void no_scan(unsigned long begin, unsigned long len)
{
	bind_node_0(begin, len, true);
}

/*
 * A scan leaves pages alone that have another reference, and new ones wait with one in their
 * CPU's LRU batch: munmap drains it.
 */
static void settle_numa(struct run *r)
{
	void *p;

	touch(r, true);
	p = mmap(NULL, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || munmap(p, page_size))
		die("munmap");
	for_each_other(no_scan);
	no_scan((unsigned long)HINT, MAPPING_SIZE);
	write_file("/proc/sys/kernel/numa_balancing", "1");
}

#define MMAP8(threads_)                                                         \
	{ "mmap8", threads_, 1, false, true, false, NULL, mmap8 }
#define DONTNEED(touch_)                                                        \
	{ "dontneed", 1, touch_, true, true, false, NULL, step_dontneed }
#define KEPT(name_, threads_, touch_, call)                                     \
	{ name_, threads_, touch_, true, false, false, NULL, call }
#define MADE(name_, threads_, touch_, shared_, call)                            \
	{ name_, threads_, touch_, false, shared_, false, NULL, call }
#define UNMAP(t, n)		MADE("unmap", t, n, true, step_unmap)
#define UNMAP_PRIVATE(t, n)	MADE("unmap-private", t, n, false, step_unmap)
#define UNMAP_CLEAN(t, n)	MADE("unmap-clean", t, n, false, step_unmap_clean)
#define DONTNEED_PRIVATE(t, n)	KEPT("dontneed-private", t, n, step_dontneed)
#define MPROTECT(t, n)		KEPT("mprotect", t, n, step_mprotect)
#define MREMAP(t, n)		KEPT("mremap", t, n, step_mremap)
#define MIGRATE(t, n)		KEPT("migrate", t, n, step_migrate)
#define FORK(t, n)                                                              \
	{ "fork", t, n, true, false, false, settle_fork, step_fork }
#define PAGEOUT(t, n)                                                           \
	{ "pageout", t, n, true, true, false, NULL, step_pageout }
#define NUMA(t, n)                                                              \
	{ "numa", t, n, true, false, false, settle_numa, step_numa }
#define HUGE_UNMAP(t, n)                                                        \
	{ "huge-unmap", t, n, false, false, true, NULL, step_unmap }
#define HUGE_DONTNEED(t, n)                                                     \
	{ "huge-dontneed", t, n, true, false, true, NULL, step_dontneed }
#define HUGE_MPROTECT(t, n)                                                     \
	{ "huge-mprotect", t, n, true, false, true, NULL, step_mprotect }

static const struct workload workloads[] = {
	MMAP8(1), MMAP8(4),
	DONTNEED(1), DONTNEED(2), DONTNEED(3), DONTNEED(8), DONTNEED(9),
	DONTNEED(33), DONTNEED(34), DONTNEED(35), DONTNEED(64), DONTNEED(65),
	DONTNEED(128), DONTNEED(512),
	UNMAP(1, 1), UNMAP(1, 32), UNMAP(1, 33), UNMAP(1, 34), UNMAP(4, 1), UNMAP(4, 34),
	UNMAP_PRIVATE(1, 1), UNMAP_PRIVATE(1, 33), UNMAP_PRIVATE(1, 34), UNMAP_PRIVATE(4, 8),
	UNMAP_CLEAN(1, 8), UNMAP_CLEAN(4, 8),
	DONTNEED_PRIVATE(1, 33), DONTNEED_PRIVATE(1, 34), DONTNEED_PRIVATE(4, 8),
	DONTNEED_PRIVATE(4, 34),
	MPROTECT(1, 1), MPROTECT(1, 33), MPROTECT(1, 34), MPROTECT(4, 8), MPROTECT(4, 34),
	MREMAP(1, 1), MREMAP(1, 33), MREMAP(1, 34), MREMAP(4, 8),
	FORK(1, 1), FORK(1, 34), FORK(4, 8),
	HUGE_UNMAP(1, 1), HUGE_UNMAP(1, 4), HUGE_UNMAP(4, 1),
	HUGE_DONTNEED(1, 1), HUGE_DONTNEED(4, 1),
	HUGE_MPROTECT(1, 1), HUGE_MPROTECT(1, 4), HUGE_MPROTECT(4, 1),
	PAGEOUT(1, 1), PAGEOUT(1, 32), PAGEOUT(4, 8), PAGEOUT(4, 32),
	MIGRATE(1, 1), MIGRATE(1, 32), MIGRATE(4, 8),
	NUMA(4, 8),
};

/* -------------------------------------------------------------- interrupts */

/*
 * The sum over CPUs of INTERRUPT_ROW in /proc/interrupts; -1: no such row. Reads
 * into static memory: no allocation may unmap anything near a window.
 */
static long count_interrupts(void)
{
	static char text[1 << 16];
	char *row, *next;
	ssize_t n, len = 0;
	long sum = 0, value;
	int fd;

	if (!INTERRUPT_ROW[0])
		return -1;
	fd = open("/proc/interrupts", O_RDONLY);
	if (fd < 0)
		die("/proc/interrupts");
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += n;
	close(fd);
	text[len] = 0;
	row = strstr(text, INTERRUPT_ROW);
	if (!row)
		return -1;
	while (row > text && row[-1] != '\n')
		row--;
	row = strchr(row, ':') + 1;
	for (;; row = next) {
		value = strtol(row, &next, 10);
		if (next == row)
			return sum;
		sum += value;
	}
}

/* ----------------------------------------------------------------- workers */

#define load(p)		__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define increment(p)	__atomic_add_fetch((p), 1, __ATOMIC_ACQ_REL)

struct worker {
	struct run *run;
	unsigned int index;
	pthread_t thread;
};

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot pin to CPU %u", cpu);
}

/* Threads take strict turns: of each iteration only one system call runs. */
static void iterate(struct run *r, unsigned int index)
{
	unsigned int i, n = r->workload->threads;

	for (i = 0; i < r->iterations; i++) {
		while (load(&r->turn) != index)
			relax();
		r->workload->iteration(r);
		mark_lap(r->window);
		store(&r->turn, (index + 1) % n);
	}
}

static void *other_worker(void *arg)
{
	struct worker *w = arg;
	struct run *r = w->run;

	pin(w->index);
	increment(&r->arrived);
	while (!load(&r->opened))
		relax();
	iterate(r, w->index);
	increment(&r->finished);
	while (!load(&r->closed))
		relax();
	return NULL;
}

/* Worker 0 alone opens and closes; returns the interrupts in between. */
static long first_worker(struct run *r)
{
	long before, after;

	while (load(&r->arrived) != r->workload->threads - 1)
		relax();
	if (r->workload->settle)
		r->workload->settle(r);
	before = count_interrupts();
	mark_open(r->window);
	store(&r->opened, true);
	iterate(r, 0);
	while (load(&r->finished) != r->workload->threads - 1)
		relax();
	mark_close(r->window);
	after = count_interrupts();
	store(&r->closed, true);
	return before < 0 ? -1 : after - before;
}

static void run_process(struct run *r)
{
	const struct workload *w = r->workload;
	struct worker workers[THREADS_MAX];
	unsigned int i;
	long interrupts;

	if (w->kept)
		map_at_hint(r);
	for (i = 1; i < w->threads; i++) {
		workers[i] = (struct worker){ .run = r, .index = i };
		if (pthread_create(&workers[i].thread, NULL, other_worker,
				   &workers[i]))
			die("pthread_create");
	}
	interrupts = first_worker(r);
	for (i = 1; i < w->threads; i++)
		pthread_join(workers[i].thread, NULL);
	printf("fidelity: window %u %s %u %u %u ", r->window, w->name,
	       w->threads, w->touch, r->iterations * w->threads);
	if (interrupts < 0)
		printf("-\n");
	else
		printf("%ld\n", interrupts);
}

/* -------------------------------------------------------------------- init */

static bool run_workload(const struct workload *w, unsigned int window,
			 unsigned int iterations)
{
	struct run r = {
		.workload = w,
		.window = window,
		/* A scan comes after 32 times the run time of the last, at the earliest. */
		.iterations = strcmp(w->name, "numa") ? iterations : (iterations + 9) / 10,
	};
	int status;
	pid_t pid;

	/* Else the process would leave a CPU in its mask where it was before it pinned itself. */
	pin(0);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		run_process(&r);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (!strcmp(w->name, "numa"))
		write_file("/proc/sys/kernel/numa_balancing", "0");
	if (status)
		printf("fidelity: failed window %u: status 0x%x\n", window, status);
	return !status;
}

/* What mkswap(8) writes: a header of one page, whose last ten bytes are a magic. */
static void make_swap(const char *path, unsigned long size)
{
	static union {
		char bytes[1 << 16];
		struct {
			char boot[1024];
			uint32_t version, last_page, nr_bad;
		} info;
	} head;
	int fd = open(path, O_RDWR);

	head.info.version = 1;
	head.info.last_page = size / page_size - 1;
	memcpy(head.bytes + page_size - 10, "SWAPSPACE2", 10);
	if (fd < 0 || write(fd, head.bytes, page_size) != (ssize_t)page_size || fsync(fd))
		die("%s", path);
	close(fd);
}

/* zram's modules, in order, and swap on it. */
static void swap_on(void)
{
	char path[32];
	unsigned int i;
	int fd;

	for (i = 0;; i++) {
		snprintf(path, sizeof(path), "/modules/%u.ko", i);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			break;
		if (syscall(SYS_finit_module, fd, "", 0))
			die("%s", path);
		close(fd);
	}
	write_file("/sys/block/zram0/disksize", "64M");
	make_swap("/dev/zram0", 64ul << 20);
	if (swapon("/dev/zram0", 0))
		die("swapon");
}

/*
 * Huge pages where they are asked for, and made by faults only; scans of NUMA balancing
 * as often as may be, once it is on.
 */
static void set_up(void)
{
	static const char balancing[] = "/sys/kernel/debug/sched/numa_balancing/";
	static const char *const values[][2] = {
		{ "scan_size_mb", "16" }, { "scan_delay_ms", "5" },
		{ "scan_period_min_ms", "10" }, { "scan_period_max_ms", "10" },
	};
	char path[128];
	unsigned int i;

	write_file("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	write_file("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
		   "100000000");
	write_file("/proc/sys/kernel/numa_balancing", "0");
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", balancing, values[i][0]);
		write_file(path, values[i][1]);
	}
	swap_on();
}

static void mount_one(const char *type, const char *path)
{
	if (mount(type, path, type, 0, NULL))
		die("mount %s", path);
}

static void run_all(unsigned int iterations)
{
	unsigned long pages = MAPPING_SIZE / page_size;
	unsigned int i, window = 0;

	_Static_assert(sizeof(workloads) / sizeof(workloads[0]) <= WINDOWS_MAX,
		       "more workloads than marker numbers");
	for (i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
		if (workloads[i].touch > pages)
			continue;
		if (!run_workload(&workloads[i], window++, iterations))
			return;
	}
	printf("fidelity: done\n");
}

int main(void)
{
	const char *wanted = getenv("fidelity_iterations");
	unsigned int iterations = wanted ? atoi(wanted) : 200;
	struct utsname u;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	page_size = sysconf(_SC_PAGESIZE);
	/* What fails here ends a child of ours, so that the power goes off in any case. */
	pid = fork();
	if (!pid) {
		mount_one("proc", "/proc");
		mount_one("sysfs", "/sys");
		mount_one("debugfs", "/sys/kernel/debug");
		mount_one("devtmpfs", "/dev");
		if (uname(&u))
			die("uname");
		printf("fidelity: kernel %s %s\n", u.release, u.version);
		set_up();
		run_all(iterations);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
