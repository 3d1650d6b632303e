// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/point.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/core.h"
#include "cli/knobs.h"
#include "cli/params.h"

#define MAX_CORES 4
#define ENTRIES(a) ((u32)(sizeof(a) / sizeof((a)[0])))

const struct core *point_core(const char *arch)
{
	static struct core core[MAX_CORES];
	static u32 nr;

	for (u32 i = 0; i < nr; i++)
		if (!strcmp(core[i].module->arch, arch))
			return &core[i];
	if (nr == MAX_CORES || !core_load_arch(&core[nr], arch))
		die("no core for %s beside this program or in its library folder", arch);
	return &core[nr++];
}

const char *point_split(const char *setting, char name[64])
{
	const char *eq = strchr(setting, '=');

	if (!eq || (size_t)(eq - setting) >= 64)
		die("%s: expected NAME=VALUE", setting);
	memcpy(name, setting, (size_t)(eq - setting));
	name[eq - setting] = 0;
	return eq + 1;
}

static struct run_setup setup_of(const struct point *p)
{
	struct run_setup s = {
		.workload = workload_find(p->workload), .threads = p->threads, .pin = p->pin,
		.seed = 1, .bare = true,
	};
	char name[64];

	for (u32 i = 0; i < params_count(s.workload); i++)
		s.param[i] = s.workload->params[i].def;
	for (u32 i = 0; i < ENTRIES(p->params) && p->params[i]; i++) {
		const char *value = point_split(p->params[i], name);
		u32 k = param_find(s.workload, name);

		s.param[k] = param_parse(&s.workload->params[k], value);
	}
	return s;
}

void point_simulate(const struct point *p, const struct machine_desc *desc, u64 seed,
		    struct metrics *ms)
{
	const struct core *core = point_core(desc->arch);
	struct run_setup s = setup_of(p);
	char name[64], error[512] = "";
	s64 knobs[TLBLAB_MAX_KNOBS];

	knobs_resolve(core, era_find(core->module, p->era), desc, knobs);
	for (u32 i = 0; i < ENTRIES(p->set) && p->set[i]; i++) {
		const char *value = point_split(p->set[i], name);
		u32 k = knobs_find(core->module, name);

		knobs[k] = knob_parse(core->module->knobs[k], value, p->workload);
	}
	s.seed = seed;
	s.desc = desc;
	s.core = core->module;
	s.knobs = knobs;
	if (run_simulated(&s, ms, error, sizeof(error)) != RUN_OK)
		die("%s on %s: %s", p->workload, desc->name, error[0] ? error : ms->note);
}

void point_native(const struct point *p, struct metrics *ms)
{
	struct run_setup s = setup_of(p);
	char error[512] = "";

	if (run_native(&s, ms, error, sizeof(error)) != RUN_OK)
		die("%s: %s", p->workload, error);
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool point_equal(const struct point *a, const struct point *b)
{
	if (!same(a->workload, b->workload) || !same(a->era, b->era) ||
	    a->threads != b->threads || a->pin != b->pin)
		return false;
	for (u32 i = 0; i < ENTRIES(a->set); i++)
		if (!same(a->set[i], b->set[i]))
			return false;
	for (u32 i = 0; i < ENTRIES(a->params); i++)
		if (!same(a->params[i], b->params[i]))
			return false;
	return true;
}

double point_metric(const struct metrics *ms, const char *name)
{
	for (u32 i = 0; i < ms->n; i++)
		if (!strcmp(ms->m[i].name, name))
			return ms->m[i].value;
	return 0;
}
