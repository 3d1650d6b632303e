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
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marker.h"

#define HINT		((void *)0x200000000000)
#define MAPPING_SIZE	(16ul << 20)
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
#elif defined(__aarch64__)
#define INTERRUPT_ROW ""
#define emit_marker(op, n)                                                      \
	asm volatile("movz xzr, %0" : : "i"(MARKER(op, n)) : "memory")
static inline void relax(void)
{
	asm volatile("yield" : : : "memory");
}
#elif defined(__powerpc64__)
#define INTERRUPT_ROW ""
#define emit_marker(op, n)                                                      \
	asm volatile("lis 0, %0" : : "i"(MARKER(op, n)) : "r0", "memory")
static inline void relax(void)
{
	asm volatile("or 27, 27, 27" : : : "memory");
}
#else
#error "no marker instruction for this architecture"
#endif

/* The window's number is part of the instruction: one instruction for each. */
#define WINDOWS_MAX 24
#define WINDOWS(X)                                                              \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)           \
	X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

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

struct workload {
	const char *name;	/* tlblab's */
	unsigned int threads;
	unsigned int touch;	/* pages */
	/* Once per process, outside the window; may be NULL. */
	void (*prepare)(struct run *r);
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
	char *mapping;			/* dontneed's */
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

static char *map_at_hint(void)
{
	char *p = mmap(HINT, MAPPING_SIZE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p != HINT)
		die("mmap gave %p", p);
	return p;
}

static void mmap8(struct run *r)
{
	char *p = map_at_hint();

	(void)r;
	*(volatile char *)p = 'a';
	if (madvise(p, MAPPING_SIZE, MADV_DONTNEED))
		die("madvise");
	if (munmap(p, MAPPING_SIZE))
		die("munmap");
}

static void dontneed_prepare(struct run *r)
{
	r->mapping = map_at_hint();
}

static void dontneed(struct run *r)
{
	unsigned long page = sysconf(_SC_PAGESIZE);
	unsigned int i;

	for (i = 0; i < r->workload->touch; i++)
		((volatile char *)r->mapping)[i * page] = 'a';
	if (madvise(r->mapping, MAPPING_SIZE, MADV_DONTNEED))
		die("madvise");
}

#define MMAP8(threads_) { "mmap8", threads_, 1, NULL, mmap8 }
#define DONTNEED(touch_) { "dontneed", 1, touch_, dontneed_prepare, dontneed }

static const struct workload workloads[] = {
	MMAP8(1),
	MMAP8(4),
	DONTNEED(1),
	DONTNEED(2),
	DONTNEED(3),
	DONTNEED(8),
	DONTNEED(9),
	DONTNEED(33),
	DONTNEED(34),
	DONTNEED(35),
	DONTNEED(64),
	DONTNEED(65),
	DONTNEED(128),
	DONTNEED(512),
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

	pin(0);
	if (w->prepare)
		w->prepare(r);
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
		.iterations = iterations,
	};
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		run_process(&r);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (status)
		printf("fidelity: failed window %u: status 0x%x\n", window, status);
	return !status;
}

static void run_all(unsigned int iterations)
{
	unsigned long pages = MAPPING_SIZE / sysconf(_SC_PAGESIZE);
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

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (mount("proc", "/proc", "proc", 0, NULL))
		printf("fidelity: failed mount /proc: %s\n", strerror(errno));
	else if (uname(&u))
		printf("fidelity: failed uname: %s\n", strerror(errno));
	else {
		printf("fidelity: kernel %s %s\n", u.release, u.version);
		run_all(iterations);
	}
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
