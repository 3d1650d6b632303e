// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_S 0.2
#define LINE_WIDTH 78

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_start(struct progress *p, u32 total_runs)
{
	*p = (struct progress){
		.on = isatty(STDERR_FILENO), .total = total_runs,
		.all_began_s = now_s(),
	};
}

void progress_run_begin(struct progress *p, const char *label)
{
	p->label = label;
	p->run_began_s = now_s();
	if (p->on)
		progress_tick(p, 0);
}

/* Time left, by the mean of the runs that have ended. */
static void left_text(const struct progress *p, double now, char *buf, size_t size)
{
	double mean, left;

	if (!p->done) {
		snprintf(buf, size, "time left unknown");
		return;
	}
	mean = (p->run_began_s - p->all_began_s) / p->done;
	left = mean * (p->total - p->done) - (now - p->run_began_s);
	snprintf(buf, size, "about %.0f s left", left > 0 ? left : 0);
}

void progress_tick(void *arg, u64 simulated_ps)
{
	struct progress *p = arg;
	double now, run_s, simulated_s = (double)simulated_ps / 1e12;
	char line[160], left[40], rate[64] = "";

	if (!p->on)
		return;
	now = now_s();
	if (simulated_ps && now - p->drawn_s < REDRAW_S)
		return;
	p->drawn_s = now;
	run_s = now - p->run_began_s;
	if (simulated_ps && run_s > 0)
		snprintf(rate, sizeof(rate), "%.2f s simulated at %.3g x real time, ",
			 simulated_s, simulated_s / run_s);
	left_text(p, now, left, sizeof(left));
	snprintf(line, sizeof(line), "run %u of %u (%.24s): %s%s", p->done + 1,
		 p->total, p->label, rate, left);
	fprintf(stderr, "\r%-*.*s", LINE_WIDTH, LINE_WIDTH, line);
}

void progress_run_end(struct progress *p)
{
	p->done++;
}

void progress_stop(struct progress *p)
{
	if (p->on)
		fprintf(stderr, "\r%*s\r", LINE_WIDTH, "");
}
