// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/calibrate.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/core.h"
#include "cli/knobs.h"
#include "cli/output.h"
#include "cli/params.h"
#include "native/hostload.h"

enum { KEY_FORCE = 256, KEY_ROUNDS };

#define ROUNDS_DEFAULT 12

struct calibrate_args {
	const char *output;
	u32 rounds;
	bool force;
};

bool calibrate_quiet(bool force, const char *when)
{
	struct hostload load;
	char why[160];

	if (!hostload_sample(&load))
		die("cannot tell whether this host is loaded: no /proc/stat");
	if (hostload_verdict(&load, why, sizeof(why)))
		return true;
	if (!force)
		die("this host is loaded%s: %s. Remote costs would vanish: a CPU that would "
		    "be interrupted runs somebody else (--force measures all the same)",
		    when, why);
	fprintf(stderr, "tlblab: this host is loaded%s: %s\n", when, why);
	return false;
}

struct calibration *calibrate_host(u32 rounds, bool force, struct core *core)
{
	struct calibration *c = zalloc(1, sizeof(*c));
	s64 *knobs = zalloc(TLBLAB_MAX_KNOBS, sizeof(*knobs));
	char error[512] = "";

	c->desc = zalloc(1, sizeof(*c->desc));
	if (!core_load_arch(core, "x86"))
		die("no core for x86 beside this program or in its library folder");
	if (!host_describe(&c->host, core->module->eras, error, sizeof(error)))
		die("%s", error);
	c->forced = !calibrate_quiet(force, "");
	if (!calibration_init(c, error, sizeof(error)))
		die("%s", error);
	knobs_resolve(core, era_find(core->module, c->host.era), c->desc, knobs);
	c->core = core->module;
	c->knobs = knobs;
	if (!calibrate_measure(c, rounds, probe_natively, NULL, error, sizeof(error)))
		die("%s", error);
	c->forced |= !calibrate_quiet(force, " now");
	if (!calibrate_solve(c, error, sizeof(error)))
		die("%s", error);
	return c;
}

void calibrate_table(const struct calibration *c, FILE *out)
{
	fprintf(out, "%s, Linux %s, era %s%s%s\n\n%-32s %12s %12s   %s\n", c->host.topology,
		c->host.release, c->host.era, c->host.note[0] ? "; " : "", c->host.note,
		"ns for each", "measured", "model", "so was chosen");
	for (u32 i = 0; calibrate_probes[i].name; i++) {
		const struct calibrate_probe *p = &calibrate_probes[i];
		const struct probe_time *t = &c->time[i];

		if (!t->known)
			continue;
		fprintf(out, "%-32s %12.1f %12.1f  ", p->name, 1e9 * t->mid, 1e9 * t->model);
		for (u32 k = 0; k < CALIBRATE_MAX_SINKS && p->sinks[k]; k++)
			fprintf(out, " %s", p->sinks[k]);
		fprintf(out, "%s\n", t->floored ? " (nothing left for it)" : "");
	}
}

/* ---- the command ---- */

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write the machine file there, NAME.yaml", 0 },
	{ "rounds", KEY_ROUNDS, "N", 0, "measurements of each loop (12)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "measure on a loaded host, too; the file says so", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct calibrate_args *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case KEY_ROUNDS:
		a->rounds = (u32)parse_number(arg, 4, CALIBRATE_MAX_ROUNDS, "--rounds");
		return 0;
	case KEY_FORCE:
		a->force = true;
		return 0;
	case ARGP_KEY_ARG:
		die("calibrate takes no argument, but \"%s\" was given", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A machine is called as its file. */
static void name_after(struct host *h, const char *path)
{
	const char *base = strrchr(path, '/');
	size_t len;

	base = base ? base + 1 : path;
	len = strlen(base);
	if (len < 6 || strcmp(base + len - 5, ".yaml") || len - 5 >= sizeof(h->name))
		die("-o %s: expected a name that ends in .yaml", path);
	snprintf(h->name, sizeof(h->name), "%.*s", (int)(len - 5), base);
}

int cmd_calibrate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Measure what this host costs and write it as a machine file, with the "
		       "era of its kernel. Prints what was measured; without -o, the file.",
	};
	struct calibrate_args args = { .rounds = ROUNDS_DEFAULT };
	struct calibration *c;
	struct output out;
	struct core core;
	struct host name;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (args.output)
		name_after(&name, args.output);
	output_check(args.output);
	c = calibrate_host(args.rounds, args.force, &core);
	if (args.output) {
		name_after(&c->host, args.output);
		calibrate_table(c, stdout);
	}
	output_open(&out, args.output);
	calibration_write(c, out.f);
	output_close(&out);
	free(c->desc);
	free((void *)c->knobs);
	free(c);
	return EXIT_CLEAN;
}
