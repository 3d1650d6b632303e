// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs for benchmarks and tests; lab.h has the contract. */
#include <string.h>
#include <sys/resource.h>

#include "bench/lab.h"
#include "cli/cli.h"
#include "cli/core.h"
#include "cli/knobs.h"
#include "cli/params.h"
#include "cli/point.h"
#include "machine/desc_yaml.h"

void lab_machine(const char *name, struct machine_desc *desc)
{
	char error[512];

	if (machine_desc_load(name, desc, error, sizeof(error)))
		die("%s", error);
}

void lab_run_on(const struct lab_point *p, const struct machine_desc *desc,
		struct metrics *ms)
{
	const struct core *core = point_core(desc->arch);
	const struct workload *workload = workload_find(p->workload);
	struct run_setup setup = {
		.workload = workload, .threads = p->threads, .pin = p->pin,
		.seed = p->seed, .desc = desc, .core = core->module,
	};
	s64 knobs[TLBLAB_MAX_KNOBS];
	char name[64], error[512] = "";

	knobs_resolve(core, era_find(core->module, p->era), desc, knobs);
	for (u32 i = 0; p->set && p->set[i]; i++) {
		const char *value = point_split(p->set[i], name);
		u32 k = knobs_find(core->module, name);

		knobs[k] = knob_parse(core->module->knobs[k], value, "bench");
	}
	setup.knobs = knobs;
	for (u32 i = 0; i < params_count(workload); i++)
		setup.param[i] = workload->params[i].def;
	for (u32 i = 0; p->params && p->params[i]; i++) {
		const char *value = point_split(p->params[i], name);
		u32 k = param_find(workload, name);

		setup.param[k] = param_parse(&workload->params[k], value);
	}
	memset(ms, 0, sizeof(*ms));
	if (run_simulated(&setup, ms, error, sizeof(error)) != RUN_OK)
		die("%s on %s: %s", p->workload, desc->name, error[0] ? error : ms->note);
}

void lab_run(const struct lab_point *p, struct metrics *ms)
{
	static struct machine_desc desc;

	if (strcmp(desc.name, p->machine))
		lab_machine(p->machine, &desc);
	lab_run_on(p, &desc, ms);
}

double lab_get(const struct metrics *ms, const char *name)
{
	for (u32 i = 0; i < ms->n; i++)
		if (!strcmp(ms->m[i].name, name))
			return ms->m[i].value;
	return 0;
}

static struct rusage usage_of(int who)
{
	struct rusage ru = { 0 };

	getrusage(who, &ru);
	return ru;
}

static struct rusage usage(void)
{
	return usage_of(RUSAGE_SELF);
}

static double timeval_s(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

double lab_cpu_s(void)
{
	struct rusage ru = usage();

	return timeval_s(ru.ru_utime) + timeval_s(ru.ru_stime);
}

double lab_all_cpu_s(void)
{
	struct rusage ru = usage_of(RUSAGE_CHILDREN);

	return lab_cpu_s() + timeval_s(ru.ru_utime) + timeval_s(ru.ru_stime);
}

/* ru_maxrss is in KiB. */
double lab_peak_mib(void)
{
	return (double)usage().ru_maxrss / 1024;
}
