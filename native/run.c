// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A workload on the host's kernel: struct wl_ops bound to threads and system
 * calls. Each operation is the bare system call; what the loop of a benchmark
 * costs beyond it is an indirect call.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "native/counters.h"
#include "workload/common.h"
#include "workload/figures.h"
#include "workload/run.h"

/* Looks at a word before the CPU is offered to others. */
#define SPINS_BEFORE_YIELD 1000

#define MAX_PROCESSES 256

/* Of alloc(): shared with the processes that a workload creates. */
struct native_mem {
	struct native_mem *next;
	size_t bytes;
	char pad[64 - sizeof(struct native_mem *) - sizeof(size_t)];
};

/* A segment, and the attach of ours that keeps it. */
struct native_shm {
	struct native_shm *next;
	int id;
	void *kept;
};

struct native_thread {
	pthread_t thread;
	pid_t pid;		/* of a process; 0: a thread */
	void (*fn)(struct wl *w, void *arg);
	void *arg;
	struct wl *w;
};

struct native {
	struct wl w __wl_line;
	const struct run_setup *setup;
	cpu_set_t allowed;
	u32 sleepers __wl_line;	/* shared: threads in wait_word() */
	pthread_mutex_t lock;
	struct native_mem *mem;		/* lock */
	struct native_shm *shm;		/* lock */
	u64 chain_base;			/* atomic, to write lock: the set whose chain is built */
	u64 chase_loads;		/* atomic */
	pid_t main;			/* const */
	/*
	 * Main's, before the window. Here, and not in what alloc() gives: a process has only what
	 * was mapped before it was created.
	 */
	u32 processes;
	pid_t pid[MAX_PROCESSES];
	u64 opened_cpu_ns;		/* of main and the processes, when there are any */
	u64 closed_cpu_ns;
	struct counters counters;
	struct figures figures;
	struct timespec opened, closed;
	struct rusage usage_opened, usage_closed;
};

static struct native *native_of(struct wl *w)
{
	return w->binding;
}

/* ------------------------------------------------------------ system calls */

static s64 native_mmap(struct wl *w, u64 addr, u64 len, u32 prot, u32 flags)
{
	void *p = mmap((void *)(uintptr_t)addr, len, (int)prot, (int)flags, -1, 0);

	(void)w;
	return p == MAP_FAILED ? -errno : (s64)(uintptr_t)p;
}

static s64 native_munmap(struct wl *w, u64 addr, u64 len)
{
	(void)w;
	return munmap((void *)(uintptr_t)addr, len) ? -errno : 0;
}

static s64 native_mprotect(struct wl *w, u64 addr, u64 len, u32 prot)
{
	(void)w;
	return mprotect((void *)(uintptr_t)addr, len, (int)prot) ? -errno : 0;
}

static s64 native_madvise(struct wl *w, u64 addr, u64 len, u32 advice)
{
	(void)w;
	return madvise((void *)(uintptr_t)addr, len, (int)advice) ? -errno : 0;
}

static s64 native_mremap(struct wl *w, u64 addr, u64 old_len, u64 new_len, u32 flags,
			 u64 new_addr)
{
	void *p = mremap((void *)(uintptr_t)addr, old_len, new_len, (int)flags,
			 (void *)(uintptr_t)new_addr);

	(void)w;
	return p == MAP_FAILED ? -errno : 0;
}

static s64 native_numa_hint(struct wl *w, u64 addr, u64 len)
{
	(void)w;
	(void)addr;
	(void)len;
	return -ENOSYS;
}

static s64 native_reclaim(struct wl *w, u64 addr, u64 len)
{
	(void)w;
	(void)addr;
	(void)len;
	return -ENOSYS;
}

/* In pieces, as callers do: the arrays of one call are on the stack. */
#define MOVE_PAGES 512

static s64 native_move_pages(struct wl *w, u64 addr, u64 nr_pages, s32 node)
{
	void *page[MOVE_PAGES];
	int nodes[MOVE_PAGES], status[MOVE_PAGES];
	s64 left = 0;

	if (node < 0)
		return -ENOSYS;
	for (u64 done = 0; done < nr_pages;) {
		u64 n = nr_pages - done < MOVE_PAGES ? nr_pages - done : MOVE_PAGES;

		for (u64 i = 0; i < n; i++) {
			page[i] = (void *)(uintptr_t)(addr + (done + i) * w->page_size);
			nodes[i] = node;
		}
		if (syscall(SYS_move_pages, 0, n, page, nodes, status, 2 /* MPOL_MF_MOVE */) < 0)
			return -errno;
		for (u64 i = 0; i < n; i++)
			left += status[i] != node;
		done += n;
	}
	return left;
}

static s64 native_set_mempolicy(struct wl *w, s32 node)
{
	unsigned long mask = node < 0 ? 0 : 1UL << node;

	(void)w;
	/* MPOL_BIND, MPOL_DEFAULT */
	if (syscall(SYS_set_mempolicy, node < 0 ? 0 : 2, node < 0 ? NULL : &mask,
		    node < 0 ? 0 : 8 * sizeof(mask)) < 0)
		return -errno;
	return 0;
}

static int native_sweep(struct wl *w, u64 addr, u64 len, bool write)
{
	const volatile u64 *p = (const volatile u64 *)(uintptr_t)addr;

	(void)w;
	if (write) {
		memset((void *)(uintptr_t)addr, 0, len);
		return 0;
	}
	for (u64 i = 0; i < len / sizeof(*p); i++)
		(void)p[i];
	return 0;
}

/* Waking nobody on a word that may be shared: the kernel takes its page to tell. */
static s64 native_gup_fast(struct wl *w, u64 addr, u32 nr_pages)
{
	(void)w;
	for (u32 i = 0; i < nr_pages; i++)
		if (syscall(SYS_futex, addr, FUTEX_WAKE, 1, NULL, NULL, 0) < 0)
			return -errno;
	return nr_pages;
}

static s64 native_pte_lookup(struct wl *w, u64 addr)
{
	(void)w;
	(void)addr;
	return -ENOSYS;
}

static s64 native_shmat(struct wl *w, s64 id, u64 addr)
{
	void *p = shmat((int)id, (void *)(uintptr_t)addr, 0);

	(void)w;
	return p == (void *)-1 ? -errno : (s64)(uintptr_t)p;
}

static s64 native_shmdt(struct wl *w, u64 addr)
{
	(void)w;
	return shmdt((void *)(uintptr_t)addr) ? -errno : 0;
}

static int native_store(struct wl *w, u64 addr, u8 val)
{
	(void)w;
	*(volatile u8 *)(uintptr_t)addr = val;
	return 0;
}

static int native_load(struct wl *w, u64 addr, u8 *val)
{
	(void)w;
	*val = *(volatile u8 *)(uintptr_t)addr;
	return 0;
}

static int native_copy(struct wl *w, u64 to, u64 from, u64 len)
{
	(void)w;
	memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, len);
	return 0;
}

/* ---------------------------------------------------------------- chasing */

/* Zeroed. Nothing is cheaper to fault than what is there: all of it is, at once. */
static void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *native_alloc(struct wl *w, size_t size)
{
	struct native *n = native_of(w);
	size_t bytes = sizeof(struct native_mem) + size;
	struct native_mem *mem = shared_memory(bytes);

	if (!mem) {
		fprintf(stderr, "tlblab: out of memory\n");
		exit(2);
	}
	mem->bytes = bytes;
	pthread_mutex_lock(&n->lock);
	mem->next = n->mem;
	n->mem = mem;
	pthread_mutex_unlock(&n->lock);
	return mem + 1;
}

static void **chase_slot(u64 base, u32 i, u32 lines, u32 page_size)
{
	return (void **)(uintptr_t)(base + wl_chase_offset(i, lines, page_size));
}

/* Each line holds the address of the next: once per set, by the first to come. */
static void native_build_chain(struct wl *w, u64 base, u32 nr_pages, u32 lines)
{
	struct native *n = native_of(w);
	u32 nr = nr_pages * lines, *next;

	if (__atomic_load_n(&n->chain_base, __ATOMIC_ACQUIRE) == base)
		return;
	next = native_alloc(w, nr * sizeof(*next));
	wl_cycle(next, nr);
	pthread_mutex_lock(&n->lock);
	if (n->chain_base != base) {
		for (u32 i = 0; i < nr; i++)
			*chase_slot(base, i, lines, w->page_size) =
				chase_slot(base, next[i], lines, w->page_size);
		__atomic_store_n(&n->chain_base, base, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&n->lock);
}

static int native_chase(struct wl *w, u64 base, u32 nr_pages, const u32 *stop,
			u64 *loads)
{
	void **p = chase_slot(base, 0, 1, w->page_size);
	u64 done = 0;

	native_build_chain(w, base, nr_pages, 1);
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		for (u32 i = 0; i < 64; i++)
			p = *(void **volatile *)p;
		done += 64;
	}
	*loads += done;
	__atomic_fetch_add(&native_of(w)->chase_loads, done, __ATOMIC_RELAXED);
	return 0;
}

/* ------------------------------------------------- segments that are made */

/*
 * A segment outlives its process, even one that is killed. Marked for removal while we are
 * attached it goes with us, and until then Linux lets it be attached again. Our own attach is
 * never touched, so it has no entries that a flush could be for.
 */
static s64 native_shmget(struct wl *w, u64 size)
{
	struct native *n = native_of(w);
	struct native_shm *shm = native_alloc(w, sizeof(*shm));

	shm->id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	if (shm->id < 0)
		return -errno;
	shm->kept = shmat(shm->id, NULL, 0);
	if (shmctl(shm->id, IPC_RMID, NULL) || shm->kept == (void *)-1)
		return -errno;
	pthread_mutex_lock(&n->lock);
	shm->next = n->shm;
	n->shm = shm;
	pthread_mutex_unlock(&n->lock);
	return shm->id;
}

static s64 native_shm_rmid(struct wl *w, s64 id)
{
	struct native *n = native_of(w);
	struct native_shm **pos, *shm;

	pthread_mutex_lock(&n->lock);
	for (pos = &n->shm; *pos && (*pos)->id != id;)
		pos = &(*pos)->next;
	shm = *pos;
	if (shm)
		*pos = shm->next;
	pthread_mutex_unlock(&n->lock);
	return !shm ? -EINVAL : shmdt(shm->kept) ? -errno : 0;
}

static int native_chase_for(struct wl *w, u64 base, u32 nr_pages, u32 lines, u64 nr_loads)
{
	void **p = chase_slot(base, 0, lines, w->page_size);

	native_build_chain(w, base, nr_pages, lines);
	for (u64 done = 0; done < nr_loads; done += 64)
		for (u32 i = 0; i < 64; i++)
			p = *(void **volatile *)p;
	return 0;
}

/* ---------------------------------------------------------- shared words */

/* Words of threads are found faster when the kernel knows that no process has them, too. */
static long futex(struct wl *w, const u32 *word, int op, u32 val)
{
	if (!native_of(w)->processes)
		op |= FUTEX_PRIVATE_FLAG;
	return syscall(SYS_futex, word, op, val, NULL, NULL, 0);
}

/*
 * A sleeper counts itself, then looks at the word; who changes the word looks
 * at the count after. Both sides are sequentially consistent, so one of them sees
 * the other, and the futex checks the word once more.
 */
static void native_wake(struct wl *w, u32 *word)
{
	if (__atomic_load_n(&native_of(w)->sleepers, __ATOMIC_SEQ_CST))
		futex(w, word, FUTEX_WAKE, INT32_MAX);
}

static void native_set_word(struct wl *w, u32 *word, u32 val)
{
	__atomic_store_n(word, val, __ATOMIC_SEQ_CST);
	native_wake(w, word);
}

static u32 native_add_word(struct wl *w, u32 *word, u32 n)
{
	u32 val = __atomic_add_fetch(word, n, __ATOMIC_SEQ_CST);

	native_wake(w, word);
	return val;
}

static u32 native_get_word(struct wl *w, const u32 *word)
{
	(void)w;
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void native_wait_word(struct wl *w, u32 *word, u32 val)
{
	struct native *n = native_of(w);
	u32 now;

	__atomic_fetch_add(&n->sleepers, 1, __ATOMIC_SEQ_CST);
	while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) != val)
		futex(w, word, FUTEX_WAIT, now);
	__atomic_fetch_sub(&n->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void native_spin_until(struct wl *w, const u32 *word, u32 val)
{
	u32 spins = 0;

	(void)w;
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != val) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
		if (++spins % SPINS_BEFORE_YIELD == 0)
			sched_yield();
	}
}

/* ---------------------------------------------------------------- threads */

static void *native_trampoline(void *arg)
{
	struct native_thread *t = arg;

	t->fn(t->w, t->arg);
	return NULL;
}

/* The cpu'th of those that we may use. */
static void pin_set(const struct native *n, u32 cpu, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (u32 i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &n->allowed) || cpu--)
			continue;
		CPU_SET(i, set);
		return;
	}
}

static s64 native_thread_create(struct wl *w, void (*fn)(struct wl *, void *),
				void *arg, s32 cpu)
{
	struct native_thread *t = native_alloc(w, sizeof(*t));
	pthread_attr_t attr;
	cpu_set_t set = native_of(w)->allowed;
	int ret;

	t->fn = fn;
	t->arg = arg;
	t->w = w;
	if (cpu >= 0)
		pin_set(native_of(w), (u32)cpu, &set);
	pthread_attr_init(&attr);
	ret = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!ret)
		ret = pthread_create(&t->thread, &attr, native_trampoline, t);
	pthread_attr_destroy(&attr);
	return ret ? -ret : (s64)(uintptr_t)t;
}

static int native_thread_join(struct wl *w, s64 thread)
{
	struct native_thread *t = (struct native_thread *)(uintptr_t)thread;
	int status;

	if (!t->pid)
		return -pthread_join(t->thread, NULL);
	while (waitpid(t->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		wl_fail(w, "a process", WIFSIGNALED(status) ? WTERMSIG(status) : EPERM);
	return 0;
}

/* The child leaves by _exit(): what the tool would do at its end is not the child's to do. */
static s64 native_process_create(struct wl *w, void (*fn)(struct wl *, void *), void *arg,
				 s32 cpu)
{
	struct native *n = native_of(w);
	struct native_thread *t = native_alloc(w, sizeof(*t));	/* shared with the child */
	cpu_set_t set = n->allowed;
	pid_t pid;

	if (cpu >= 0)
		pin_set(n, (u32)cpu, &set);
	/* Before the child begins to wait for words: futex(). */
	if (n->processes == MAX_PROCESSES)
		return -EAGAIN;
	n->processes++;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		n->processes--;
		return -errno;
	}
	if (!pid) {
		sched_setaffinity(0, sizeof(set), &set);
		fn(w, arg);
		_exit(0);
	}
	n->pid[n->processes - 1] = pid;
	t->pid = pid;
	return (s64)(uintptr_t)t;
}

static void native_loop_cost(struct wl *w)
{
	(void)w;
}

static u64 native_now_ps(struct wl *w)
{
	struct timespec t;

	(void)w;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((u64)t.tv_sec * 1000000000ULL + (u64)t.tv_nsec) * 1000;
}

static void native_compute(struct wl *w, u64 ns)
{
	u64 start = native_now_ps(w);

	while (native_now_ps(w) - start < ns * 1000)
		;
}

/* ----------------------------------------------------------------- window */

static u64 process_cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* Whoever opens or closes the window reads the clocks of all: rusage has its own only. */
static u64 all_cpu_ns(const struct native *n)
{
	u64 sum = 0;

	for (u32 i = 0; i < n->processes; i++)
		sum += process_cpu_ns(n->pid[i]);
	return sum + process_cpu_ns(n->main);
}

/* Counters are of this process; another may be the one that opens or closes the window. */
static bool counting(const struct native *n)
{
	return !n->setup->bare && !n->processes;
}

/* The clock is read last at the opening and first at the end. */
static void native_window_open(struct wl *w)
{
	struct native *n = native_of(w);

	if (counting(n))
		counters_begin(&n->counters);
	getrusage(RUSAGE_SELF, &n->usage_opened);
	n->opened_cpu_ns = all_cpu_ns(n);
	clock_gettime(CLOCK_MONOTONIC, &n->opened);
}

static void native_window_close(struct wl *w)
{
	struct native *n = native_of(w);

	clock_gettime(CLOCK_MONOTONIC, &n->closed);
	n->closed_cpu_ns = all_cpu_ns(n);
	getrusage(RUSAGE_SELF, &n->usage_closed);
	if (counting(n))
		counters_end(&n->counters);
}

static bool native_stopping(struct wl *w)
{
	const volatile int *stop = native_of(w)->setup->stop;

	return stop && *stop;
}

static void native_report(struct wl *w, const char *name, double value)
{
	figures_add(&native_of(w)->figures, name, value);
}

static void native_report_timed(struct wl *w, const char *name, enum wl_timed kind,
				double n)
{
	figures_add_timed(&native_of(w)->figures, name, kind, n);
}

static const struct wl_ops native_ops = {
	.mmap = native_mmap,
	.munmap = native_munmap,
	.mprotect = native_mprotect,
	.madvise = native_madvise,
	.gup_fast = native_gup_fast,
	.pte_lookup = native_pte_lookup,
	.shmget = native_shmget,
	.shmat = native_shmat,
	.shmdt = native_shmdt,
	.shm_rmid = native_shm_rmid,
	.store = native_store,
	.load = native_load,
	.copy = native_copy,
	.chase = native_chase,
	.chase_for = native_chase_for,
	.reclaim = native_reclaim,
	.move_pages = native_move_pages,
	.mremap = native_mremap,
	.numa_hint = native_numa_hint,
	.set_mempolicy = native_set_mempolicy,
	.sweep = native_sweep,
	.thread_create = native_thread_create,
	.thread_join = native_thread_join,
	.process_create = native_process_create,
	.spin_until = native_spin_until,
	.set_word = native_set_word,
	.add_word = native_add_word,
	.get_word = native_get_word,
	.wait_word = native_wait_word,
	.loop_cost = native_loop_cost,
	.compute = native_compute,
	.alloc = native_alloc,
	.window_open = native_window_open,
	.window_close = native_window_close,
	.stopping = native_stopping,
	.now_ps = native_now_ps,
	.report = native_report,
	.report_timed = native_report_timed,
};

/* -------------------------------------------------------------------- run */

static double since(const struct timespec *a, const struct timespec *b)
{
	return (double)(b->tv_sec - a->tv_sec) +
	       (double)(b->tv_nsec - a->tv_nsec) / 1e9;
}

static double between(const struct timeval *a, const struct timeval *b)
{
	return (double)(b->tv_sec - a->tv_sec) +
	       (double)(b->tv_usec - a->tv_usec) / 1e6;
}

static void native_metrics(struct native *n, struct metrics *ms)
{
	const struct rusage *a = &n->usage_opened, *b = &n->usage_closed;
	double real_s = since(&n->opened, &n->closed);
	double user_s = between(&a->ru_utime, &b->ru_utime);
	double sys_s = between(&a->ru_stime, &b->ru_stime);
	double own_s = user_s + sys_s;

	metrics_set(ms, "real_s", real_s);
	if (n->processes) {
		/* The sum is known, its parts are not. */
		own_s = (double)(n->closed_cpu_ns - n->opened_cpu_ns) / 1e9;
		metrics_set(ms, "cpu_s", own_s);
	} else if (n->setup->bare) {
		metrics_set(ms, "cpu_s",
			    (double)(n->closed_cpu_ns - n->opened_cpu_ns) / 1e9);
	} else {
		metrics_set(ms, "user_s", user_s);
		metrics_set(ms, "sys_s", sys_s);
	}
	metrics_set(ms, "ops", (double)n->w.ops_done);
	if (real_s > 0) {
		metrics_set(ms, "ops_per_s", (double)n->w.ops_done / real_s);
		if (n->chase_loads)
			metrics_set(ms, "chase_loads_per_s",
				    (double)n->chase_loads / real_s);
	}
	figures_set(&n->figures, real_s, ms);
	if (!n->processes && !n->setup->bare) {
		metrics_set(ms, "rusage.minor_faults",
			    (double)(b->ru_minflt - a->ru_minflt));
		metrics_set(ms, "rusage.voluntary_switches",
			    (double)(b->ru_nvcsw - a->ru_nvcsw));
		metrics_set(ms, "rusage.involuntary_switches",
			    (double)(b->ru_nivcsw - a->ru_nivcsw));
	}
	if (counting(n))
		counters_report(&n->counters, real_s, own_s, ms);
}

static struct native *native_create(const struct run_setup *setup)
{
	struct native *n = shared_memory(sizeof(*n));
	pthread_mutexattr_t attr;

	if (!n)
		return NULL;
	n->setup = setup;
	n->main = getpid();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&n->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	if (sched_getaffinity(0, sizeof(n->allowed), &n->allowed))
		CPU_SET(0, &n->allowed);
	n->w.ops = &native_ops;
	n->w.workload = setup->workload;
	memcpy(n->w.param, setup->param, sizeof(n->w.param));
	n->w.threads = setup->threads;
	n->w.nr_cpus = (u32)CPU_COUNT(&n->allowed);
	n->w.page_size = (u32)sysconf(_SC_PAGESIZE);
	n->w.pin = setup->pin;
	n->w.binding = n;
	return n;
}

static void native_destroy(struct native *n)
{
	while (n->mem) {
		struct native_mem *mem = n->mem;

		n->mem = mem->next;
		munmap(mem, mem->bytes);
	}
	pthread_mutex_destroy(&n->lock);
	munmap(n, sizeof(*n));
}

/* The calling thread is the main one, worker 0, pinned as the others are. */
static void native_run_main(struct native *n)
{
	cpu_set_t set;

	if (n->setup->pin) {
		pin_set(n, 0, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	n->setup->workload->main(&n->w);
	if (n->setup->pin)
		sched_setaffinity(0, sizeof(n->allowed), &n->allowed);
}

static enum run_status native_outcome(struct native *n, char *error,
				      size_t error_size)
{
	if (native_stopping(&n->w))
		return RUN_STOPPED;
	if (!n->w.failed)
		return RUN_OK;
	snprintf(error, error_size, "%s: %s failed: %s", n->w.workload->name,
		 n->w.failed_what, strerror(n->w.failed));
	return RUN_FAILED;
}

/* The pass that is timed. */
static enum run_status native_timed(const struct run_setup *setup,
				    struct metrics *metrics,
				    char *error, size_t error_size)
{
	struct native *n = native_create(setup);
	enum run_status status;

	if (!n) {
		snprintf(error, error_size, "out of memory");
		return RUN_FAILED;
	}
	if (!setup->bare)
		counters_open(&n->counters);
	native_run_main(n);
	status = native_outcome(n, error, error_size);
	if (status != RUN_FAILED)
		native_metrics(n, metrics);
	counters_note(&n->counters, metrics);
	counters_close(&n->counters);
	native_destroy(n);
	return status;
}

/* Iterations of the pass that counts: enough for a mean, few beside the first. */
static void shorten(struct run_setup *setup)
{
	const struct wl_param *p = setup->workload->params;

	for (u32 i = 0; p[i].name; i++) {
		u64 *v = &setup->param[i];

		if (!strcmp(p[i].name, "iterations") && *v > 1000)
			*v = *v / 10 > 1000 ? *v / 10 : 1000;
	}
}

/*
 * The pass that counts flushes with the tracepoint, since that costs time: a
 * count per operation, which may be had from fewer of them.
 */
static void native_counted(const struct run_setup *setup, struct metrics *metrics)
{
	struct run_setup shorter = *setup;
	struct native *n;

	shorten(&shorter);
	n = native_create(&shorter);
	if (!n)
		return;
	if (counters_open_trace(&n->counters)) {
		native_run_main(n);
		if (counting(n) && !native_stopping(&n->w) && !n->w.failed && n->w.ops_done)
			metrics_set(metrics, "trace.tlb_flush_per_op",
				    (double)n->counters.value[0] /
				    (double)n->w.ops_done);
	}
	counters_note(&n->counters, metrics);
	counters_close(&n->counters);
	native_destroy(n);
}

enum run_status run_native(const struct run_setup *setup, struct metrics *metrics,
			   char *error, size_t error_size)
{
	struct timespec t0, t1;
	enum run_status status;

	memset(metrics, 0, sizeof(*metrics));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	status = native_timed(setup, metrics, error, error_size);
	if (status == RUN_OK && !setup->bare)
		native_counted(setup, metrics);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (status != RUN_FAILED)
		metrics_set(metrics, "wall_s", since(&t0, &t1));
	return status;
}
