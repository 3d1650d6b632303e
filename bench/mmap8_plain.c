// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loop of mmap8 as anyone would write it, without tlblab: what
 * `tlblab run mmap8 -m native` is measured against (bench/native.sh).
 *
 *	mmap8_plain [THREADS [ITERATIONS [SIZE]]]	prints elapsed seconds
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static pthread_barrier_t line;
static size_t size = 16 << 20;
static long iterations = 100000;
static char *hint;

static void *worker(void *arg)
{
	pthread_barrier_wait(&line);
	for (long i = 0; i < iterations; i++) {
		char *p = mmap(hint, size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			exit(2);
		*(volatile char *)p = 1;
		if (madvise(p, size, MADV_DONTNEED) || munmap(p, size))
			exit(2);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 16;
	pthread_t thread[256];
	struct timespec a, b;

	if (argc > 2)
		iterations = atol(argv[2]);
	if (argc > 3)
		size = strtoul(argv[3], NULL, 0);
	if (threads < 1 || threads > 256 || iterations < 1)
		return 2;
	hint = mmap(NULL, 2UL << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hint == MAP_FAILED)
		return 2;
	munmap(hint, 2UL << 30);
	hint += 1UL << 30;
	pthread_barrier_init(&line, NULL, (unsigned int)threads);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, worker, NULL))
			return 2;
	clock_gettime(CLOCK_MONOTONIC, &a);
	worker(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.6f\n", (double)(b.tv_sec - a.tv_sec) +
	       (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	return 0;
}
