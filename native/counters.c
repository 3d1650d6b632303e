// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <tracefs.h>

#include "native/counters.h"

/* Others may have so much of the machine before we call it loaded. */
#define LOADED_PCT 5

static void __attribute__((format(printf, 2, 3)))
note(struct counters *c, const char *fmt, ...)
{
	size_t used = strlen(c->note);
	va_list ap;

	if (used && used + 2 < sizeof(c->note)) {
		strcpy(c->note + used, "; ");
		used += 2;
	}
	va_start(ap, fmt);
	vsnprintf(c->note + used, sizeof(c->note) - used, fmt, ap);
	va_end(ap);
}

/* Counts this process and the threads it creates, from its opening on. */
static int open_event(struct counters *c, struct perf_event_attr *attr,
		      const char *name)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->inherit = 1;
	if (c->n == COUNTERS_MAX)
		return -ENOSPC;
	fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	c->fd[c->n] = fd;
	c->name[c->n] = name;
	c->n++;
	return 0;
}

/* By the names that libpfm4 has for perf's own; rusage knows faults and switches. */
static void open_perf(struct counters *c)
{
	static const struct {
		const char *event, *metric;
	} events[] = {
		{ "PERF_COUNT_HW_CACHE_DTLB:READ:MISS", "perf.dtlb_load_misses" },
		{ "PERF_COUNT_HW_CACHE_DTLB:WRITE:MISS", "perf.dtlb_store_misses" },
	};
	int denied = 0, absent = 0;

	if (pfm_initialize() != PFM_SUCCESS) {
		note(c, "no perf events: libpfm does not know this CPU");
		return;
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct perf_event_attr attr = { 0 };
		pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
		int ret;

		if (pfm_get_os_event_encoding(events[i].event, PFM_PLM0 | PFM_PLM3,
					      PFM_OS_PERF_EVENT_EXT,
					      &arg) != PFM_SUCCESS) {
			absent++;
			continue;
		}
		ret = open_event(c, &attr, events[i].metric);
		denied += ret == -EACCES || ret == -EPERM;
		absent += ret && ret != -EACCES && ret != -EPERM;
	}
	if (denied)
		note(c, "no dTLB miss counts: sysctl kernel.perf_event_paranoid=1, or run as root");
	if (absent)
		note(c, "no dTLB miss counts: this host shows no hardware counters (a guest without a virtual PMU?)");
}

static long tracepoint_id(const char *system, const char *event)
{
	char *text = tracefs_event_file_read(NULL, system, event, "id", NULL);
	long id = text ? strtol(text, NULL, 10) : -1;

	free(text);
	return id > 0 ? id : -1;
}

void counters_open(struct counters *c)
{
	memset(c, 0, sizeof(*c));
	open_perf(c);
}

/* The kernel's own count of flushes; it fires on x86 only. */
bool counters_open_trace(struct counters *c)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	long id;
	int ret;

	memset(c, 0, sizeof(*c));
	if (geteuid()) {
		note(c, "no tlb:tlb_flush count: run as root");
		return false;
	}
	if (!tracefs_tracing_dir()) {
		note(c, "no tlb:tlb_flush count: mount -t tracefs nodev /sys/kernel/tracing");
		return false;
	}
	id = tracepoint_id("tlb", "tlb_flush");
	if (id < 0) {
		note(c, "no tlb:tlb_flush count: this kernel has no such tracepoint");
		return false;
	}
	attr.config = (u64)id;
	ret = open_event(c, &attr, "trace.tlb_flush");
	if (ret)
		note(c, "no tlb:tlb_flush count (%s): sysctl kernel.perf_event_paranoid=-1",
		     strerror(-ret));
	return !ret;
}

/* "TLB:  2698  2006  TLB shootdowns" on x86; other architectures have no row. */
static void sample_shootdowns(struct host_sample *s)
{
	FILE *f = fopen("/proc/interrupts", "re");
	char *line = NULL, *p, *end;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		p = line + strspn(line, " ");
		if (strncmp(p, "TLB:", 4))
			continue;
		s->shootdowns_known = true;
		for (p += 4;; p = end) {
			u64 n = strtoull(p, &end, 10);

			if (end == p)
				break;
			s->shootdowns += n;
		}
	}
	free(line);
	if (f)
		fclose(f);
}

/* First line of /proc/stat: user nice system idle iowait irq softirq steal. */
static void sample_busy(struct host_sample *s)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long v[8];

	if (!f)
		return;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1],
		   &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) == 8) {
		s->busy_known = true;
		s->busy_ticks = v[0] + v[1] + v[2] + v[5] + v[6];
		s->steal_ticks = v[7];
	}
	fclose(f);
}

static void sample(struct host_sample *s)
{
	memset(s, 0, sizeof(*s));
	sample_shootdowns(s);
	sample_busy(s);
}

/*
 * Events count from their opening on, and the window is a difference: enabling
 * one would reach only the thread that opened it. Threads created since are
 * summed into what is read.
 */
static void read_values(struct counters *c, u64 *value)
{
	for (u32 i = 0; i < c->n; i++)
		if (read(c->fd[i], &value[i], sizeof(value[i])) != sizeof(value[i]))
			value[i] = 0;
}

void counters_begin(struct counters *c)
{
	sample(&c->before);
	read_values(c, c->value);
}

void counters_end(struct counters *c)
{
	u64 now[COUNTERS_MAX] = { 0 };

	read_values(c, now);
	for (u32 i = 0; i < c->n; i++)
		c->value[i] = now[i] - c->value[i];
	sample(&c->after);
}

static void report_load(struct counters *c, double real_s, double own_s)
{
	double tick = (double)sysconf(_SC_CLK_TCK);
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double others, steal;

	if (!c->before.busy_known || !c->after.busy_known || real_s < 0.1)
		return;
	others = (double)(c->after.busy_ticks - c->before.busy_ticks) / tick - own_s;
	steal = (double)(c->after.steal_ticks - c->before.steal_ticks) / tick;
	if (others * 100 > LOADED_PCT * real_s * cpus)
		note(c, "the host was loaded: others used %.0f %% of its CPUs; remote costs shrink when threads do not run at the same time",
		     others * 100 / (real_s * cpus));
	if (steal * 100 > LOADED_PCT * real_s * cpus)
		note(c, "the hypervisor took %.0f %% of the CPUs",
		     steal * 100 / (real_s * cpus));
}

void counters_report(struct counters *c, double real_s, double own_s,
		     struct metrics *ms)
{
	for (u32 i = 0; i < c->n; i++)
		metrics_set(ms, c->name[i], (double)c->value[i]);
	if (c->before.shootdowns_known && c->after.shootdowns_known)
		metrics_set(ms, "irq.tlb_shootdowns",
			    (double)(c->after.shootdowns - c->before.shootdowns));
	else
		note(c, "no TLB row in /proc/interrupts: this architecture broadcasts");
	report_load(c, real_s, own_s);
}

void counters_note(const struct counters *c, struct metrics *ms)
{
	size_t used = strlen(ms->note);

	if (c->note[0])
		snprintf(ms->note + used, sizeof(ms->note) - used, "%s%s",
			 used ? "; " : "", c->note);
}

void counters_close(struct counters *c)
{
	for (u32 i = 0; i < c->n; i++)
		close(c->fd[i]);
	c->n = 0;
}
