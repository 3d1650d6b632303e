// SPDX-License-Identifier: GPL-2.0-or-later
#include "native/hostload.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_NS	400000000L
#define SPIN_NS		250000000ULL
/* A spinner that sees no more of its clock for so long was not running. */
#define GAP_NS		20000ULL

bool hostload_parse_stat(const char *text, struct cpu_ticks *t)
{
	u64 user, nice, system, idle, iowait = 0, irq = 0, softirq = 0, steal = 0;
	int n = sscanf(text, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %" SCNu64 " %" SCNu64, &user, &nice, &system, &idle,
		       &iowait, &irq, &softirq, &steal);

	if (n < 4)
		return false;
	t->steal = steal;
	t->busy = user + nice + system + irq + softirq;
	t->total = t->busy + t->steal + idle + iowait;
	return true;
}

void hostload_between(const struct cpu_ticks *a, const struct cpu_ticks *b,
		      struct hostload *load)
{
	double total = (double)(b->total - a->total);

	load->busy_pct = total > 0 ? 100 * (double)(b->busy - a->busy) / total : 0;
	load->steal_pct = total > 0 ? 100 * (double)(b->steal - a->steal) / total : 0;
}

static bool read_stat(struct cpu_ticks *t)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[512];
	bool ok = f && fgets(line, sizeof(line), f) && hostload_parse_stat(line, t);

	if (f)
		fclose(f);
	return ok;
}

/* ---- spinners ---- */

struct spinner {
	pthread_t thread;
	u32 cpu;
	u64 lost_ns, spun_ns;
};

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static void *spin(void *arg)
{
	struct spinner *s = arg;
	u64 begin = now_ns(), last = begin, now;

	do {
		now = now_ns();
		if (now - last >= GAP_NS)
			s->lost_ns += now - last;
		last = now;
	} while (now - begin < SPIN_NS);
	s->spun_ns = now - begin;
	return NULL;
}

static bool start(struct spinner *s, u32 cpu)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int ret;

	*s = (struct spinner){ .cpu = cpu };
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	ret = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!ret)
		ret = pthread_create(&s->thread, &attr, spin, s);
	pthread_attr_destroy(&attr);
	return !ret;
}

static bool spin_all(struct hostload *load)
{
	static struct spinner s[CPU_SETSIZE];
	cpu_set_t allowed;
	u32 n = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return false;
	for (u32 cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && start(&s[n], cpu))
			n++;
	for (u32 i = 0; i < n; i++) {
		double lost;

		pthread_join(s[i].thread, NULL);
		lost = 100 * (double)s[i].lost_ns / (double)s[i].spun_ns;
		if (lost > load->lost_pct) {
			load->lost_pct = lost;
			load->lost_cpu = s[i].cpu;
		}
	}
	load->cpus = n;
	return n;
}

bool hostload_sample(struct hostload *load)
{
	struct timespec pause = { .tv_nsec = SLEEP_NS };
	struct cpu_ticks a, b;

	memset(load, 0, sizeof(*load));
	if (!read_stat(&a))
		return false;
	nanosleep(&pause, NULL);
	if (!read_stat(&b))
		return false;
	hostload_between(&a, &b, load);
	return spin_all(load);
}

bool hostload_verdict(const struct hostload *load, char *why, size_t size)
{
	why[0] = 0;
	if (load->steal_pct > HOSTLOAD_STEAL_PCT)
		snprintf(why, size, "the hypervisor kept %.0f %% of the CPUs",
			 load->steal_pct);
	else if (load->busy_pct > HOSTLOAD_BUSY_PCT)
		snprintf(why, size, "others use %.0f %% of the CPUs", load->busy_pct);
	else if (load->lost_pct > HOSTLOAD_LOST_PCT)
		snprintf(why, size, "a thread alone on CPU %u lost %.0f %% of its time",
			 load->lost_cpu, load->lost_pct);
	return !why[0];
}
