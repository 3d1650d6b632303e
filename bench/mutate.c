// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mutation of our own core: leave out each fence, invalidation, lock, interrupt
 * section, IPI and atomic of core/ in turn, and see whether a scenario notices.
 *
 *	mutate [-b SECONDS] [-c CASE-SECONDS] [-j JOBS] [-v] [SITE...]
 *
 * Every scenario of scenarios/ that expects `pass` is a case, once per architecture and
 * set of knobs. A site counts as caught if any case ends in a violation without it on any
 * architecture that has it; one that no case reaches is not caught. Sites of
 * tests/mutate/equivalent.txt are counted apart. SITE ("mmu_gather.c:120") restricts the
 * run to those.
 *
 * Each mutant is a process of its own (JOBS at a time, -b seconds for each, -c for one
 * case): one that crashes us or never ends is caught, too, and is told apart. Exit
 * status 1 if less than 90 % of the sites that count are caught, or a case fails as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/core.h"
#include "cli/knobs.h"
#include "cli/sites.h"
#include "explore/model.h"
#include "scenario/scenario.h"

#define MAX_CASES 512
#define MAX_SITES 4096
#define GOAL_PCT 90
#define BRIEF 10	/* a first look takes that part of a case's seconds */

struct mutant_case {
	const struct scenario *sc;
	const struct core *core;
	enum xarch arch;
	s64 *knobs;
	u32 nr_seen;
	const struct mach_site **seen;	/* sites that it reaches */
	double seconds;			/* of its search without mutation */
};

enum fate { FATE_PENDING, FATE_CAUGHT, FATE_CRASHED, FATE_HUNG, FATE_MISSED,
	    FATE_UNREACHED };

/* What a mutant's process says before it ends. */
struct report {
	enum fate fate;
	u32 nr_case;
	enum xrule rule;
};

struct mutant {
	struct source_site *site;
	struct report report;
	pid_t pid;
	int pipe;
};

static double budget_s = 60, case_budget_s = 3;
static u32 jobs = 2;
static bool verbose;

static struct core cores[3];
static u32 nr_cores;
static struct mutant_case cases[MAX_CASES];
static u32 nr_cases, nr_left_out;

/* ---- cases ---- */

static bool search(const struct mutant_case *c, const struct mach_site *skip,
		   double seconds, struct xverdict *v, struct mutant_case *note)
{
	const struct xsearch how = {
		.strategy = XSTRATEGY_SYSTEMATIC, .max_bound = 2, .budget_s = seconds,
		.workers = 1, .reduce = true,
	};
	struct sc_program *p;
	struct xworld *w;
	char error[400] = "";

	memset(v, 0, sizeof(*v));
	p = scenario_program(c->sc, c->arch, c->core->module, c->knobs);
	w = p ? xworld_create(sc_xprogram(p), error, sizeof(error)) : NULL;
	if (!w)
		die("%s: %s", c->sc->path, error);
	xworld_skip_site(w, skip);
	xsearch_run(w, &how, v);
	if (note) {
		note->seen = zalloc(MAX_SITES, sizeof(*note->seen));
		note->nr_seen = xworld_sites(w, note->seen, MAX_SITES);
	}
	xworld_destroy(w);
	sc_program_free(p);
	return v->found;
}

static void set_knob(const struct core *core, const struct sc_setting *s, s64 *knobs)
{
	int i = knobs_index(core->module, s->name);

	if (i < 0)
		die("scenario sets %s, which is no knob of %s", s->name,
		    core->module->arch);
	knobs[i] = knob_parse(core->module->knobs[i], s->value, "scenario");
}

static s64 *knobs_for(const struct scenario *sc, const struct core *core,
		      enum xarch arch, const struct sc_expect *e)
{
	/* No machine file: hardware is as its knobs' defaults say. */
	static const struct machine_desc no_machine;
	s64 *knobs = zalloc(TLBLAB_MAX_KNOBS, sizeof(*knobs));
	const struct sc_settings *from[] = { &sc->features, e ? &e->with : NULL };

	knobs_resolve(core, sc->era[0] ? era_find(core->module, sc->era) : NULL,
		      &no_machine, knobs);
	/* As `tlblab check` has it: a process table that fits. */
	if (arch == XARCH_POWERPC)
		knobs[knobs_index(core->module, "powerpc.pid_bits")] = 8;
	for (u32 k = 0; k < 2; k++)
		for (u32 i = 0; from[k] && i < from[k]->n; i++)
			if (!sc_of_another_arch(arch, from[k]->set[i].name))
				set_knob(core, &from[k]->set[i], knobs);
	return knobs;
}

/* Its search without mutation: it must be clean, and shows the sites reached. */
static void add_case(const struct scenario *sc, const struct core *core,
		     enum xarch arch, const struct sc_expect *e)
{
	struct mutant_case *c = &cases[nr_cases];
	struct xverdict v;

	if (nr_cases == MAX_CASES)
		die("more than %d cases", MAX_CASES);
	*c = (struct mutant_case){
		.sc = sc, .core = core, .arch = arch,
		.knobs = knobs_for(sc, core, arch, e),
	};
	if (search(c, NULL, case_budget_s, &v, c)) {
		printf("%s on %s is not clean without mutation, and left out: %s\n", sc->path,
		       core->module->arch, v.result.detail);
		nr_left_out++;
		xverdict_free(&v);
		return;
	}
	c->seconds = v.seconds;
	if (verbose)
		printf("%-32s %-8s %8llu schedules %7.3f s, %4u sites%s\n", sc->name,
		       core->module->arch, (unsigned long long)v.schedules, v.seconds,
		       c->nr_seen, v.complete ? "" : ", not complete");
	xverdict_free(&v);
	nr_cases++;
}

static void add_scenario(const struct scenario *sc, const struct core *core,
			 enum xarch arch)
{
	if (!(sc->archs & 1U << arch))
		return;
	if (!sc->nr_expects)
		add_case(sc, core, arch, NULL);
	for (u32 i = 0; i < sc->nr_expects; i++)
		if (!sc->expect[i].violation && (sc->expect[i].archs & 1U << arch))
			add_case(sc, core, arch, &sc->expect[i]);
}

static int by_seconds(const void *a, const void *b)
{
	const struct mutant_case *x = a, *y = b;

	return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static void make_cases(const char *tree)
{
	char pattern[1000], error[400];
	glob_t g;

	for (u32 a = 0; a < 3; a++)
		if (core_load_arch(&cores[nr_cores], core_archs[a]))
			nr_cores++;
	snprintf(pattern, sizeof(pattern), "%s/scenarios/*.tlb", tree);
	if (glob(pattern, 0, NULL, &g))
		die("%s: no scenarios", pattern);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct scenario *sc = scenario_load(g.gl_pathv[i], error, sizeof(error));

		if (!sc)
			die("%s", error);
		for (u32 k = 0; k < nr_cores; k++)
			for (u32 a = XARCH_X86; a <= XARCH_POWERPC; a++)
				if (!strcmp(cores[k].module->arch, sc_arch_names[a]))
					add_scenario(sc, &cores[k], a);
	}
	globfree(&g);
	/* The quick ones first. */
	qsort(cases, nr_cases, sizeof(*cases), by_seconds);
}

/* ---- one mutant, in its process ---- */

/* The copy of a site that a case reaches, or NULL. */
static const struct mach_site *reached(const struct mutant_case *c,
				       const struct source_site *site)
{
	for (u32 i = 0; i < site->nr_copies; i++)
		for (u32 k = 0; k < c->nr_seen; k++)
			if (c->seen[k] == site->copy[i].site)
				return c->seen[k];
	return NULL;
}

/* Every case that reaches the site, for so many seconds each. True: caught. */
static bool try_cases(const struct source_site *site, struct report *r, double seconds,
		      time_t end)
{
	for (u32 i = 0; i < nr_cases && time(NULL) <= end; i++) {
		const struct mach_site *skip = reached(&cases[i], site);
		struct xverdict v;

		if (!skip)
			continue;
		r->fate = FATE_MISSED;
		if (!search(&cases[i], skip, seconds, &v, NULL))
			continue;
		r->fate = FATE_CAUGHT;
		r->nr_case = i;
		r->rule = v.result.rule;
		return true;
	}
	return false;
}

/* All of them briefly before any of them thoroughly: most mutants die at once, somewhere. */
static void try_mutant(const struct source_site *site, struct report *r)
{
	time_t end = time(NULL) + (time_t)budget_s;

	r->fate = FATE_UNREACHED;
	if (!try_cases(site, r, case_budget_s / BRIEF, end))
		try_cases(site, r, case_budget_s, end);
}

static void start(struct mutant *m)
{
	int fd[2];

	if (pipe(fd) || (m->pid = fork()) < 0)
		die("%s", strerror(errno));
	if (m->pid) {
		close(fd[1]);
		m->pipe = fd[0];
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What a crash says is of no interest here. */
	if (freopen("/dev/null", "w", stderr) == NULL)
		_exit(EXIT_INPUT);
	/* A search keeps its budget, unless an execution never ends. */
	signal(SIGALRM, SIG_DFL);
	alarm((unsigned int)(budget_s + 2 * case_budget_s) + 2);
	try_mutant(m->site, &m->report);
	if (write(fd[1], &m->report, sizeof(m->report)) != sizeof(m->report))
		_exit(EXIT_INPUT);
	_exit(EXIT_CLEAN);
}

static void finish(struct mutant *m, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		m->report.fate = FATE_HUNG;
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_CLEAN ||
		 read(m->pipe, &m->report, sizeof(m->report)) != sizeof(m->report))
		m->report.fate = FATE_CRASHED;
	close(m->pipe);
	m->pid = 0;
}

static void run_all(struct mutant *mutants, u32 n)
{
	u32 next = 0, running = 0, done = 0;

	while (done < n) {
		int status;
		pid_t pid;

		while (running < jobs && next < n) {
			start(&mutants[next++]);
			running++;
		}
		pid = wait(&status);
		for (u32 i = 0; i < next; i++)
			if (mutants[i].pid == pid)
				finish(&mutants[i], status);
		running--;
		done++;
		if (isatty(2))
			fprintf(stderr, "\r%u of %u ", done, n);
	}
	if (isatty(2))
		fprintf(stderr, "\r\033[K");
}

/* ---- the report ---- */

static void print_site(const struct source_site *s, const char *what)
{
	printf("  %s:%u %s() %s#%u%s%s\n", s->file, s->line, s->func,
	       site_kind_name(s->kind), s->nth, what[0] ? ": " : "", what);
}

static void print_fate(const struct mutant *mutants, u32 n, enum fate fate,
		       const char *title)
{
	u32 count = 0;

	for (u32 i = 0; i < n; i++)
		count += mutants[i].report.fate == fate && !mutants[i].site->equivalent;
	if (!count)
		return;
	printf("%s (%u):\n", title, count);
	for (u32 i = 0; i < n; i++)
		if (mutants[i].report.fate == fate && !mutants[i].site->equivalent)
			print_site(mutants[i].site, "");
}

static void print_caught(const struct mutant *mutants, u32 n)
{
	printf("caught:\n");
	for (u32 i = 0; i < n; i++) {
		const struct report *r = &mutants[i].report;
		char what[200];

		if (r->fate != FATE_CAUGHT)
			continue;
		snprintf(what, sizeof(what), "%s in %s on %s", xmodel_rule_name(r->rule),
			 cases[r->nr_case].sc->name,
			 cases[r->nr_case].core->module->arch);
		print_site(mutants[i].site, what);
	}
}

static int summary(const struct mutant *mutants, u32 n)
{
	u32 total = 0, caught = 0, equivalent = 0;

	for (u32 i = 0; i < n; i++) {
		enum fate fate = mutants[i].report.fate;
		bool noticed = fate == FATE_CAUGHT || fate == FATE_CRASHED ||
			       fate == FATE_HUNG;

		if (mutants[i].site->equivalent) {
			equivalent++;
			if (noticed)
				print_site(mutants[i].site,
					   "is listed as equivalent, and was caught");
			continue;
		}
		total++;
		caught += noticed;
	}
	printf("%u of %u sites caught, %u %%; %u more change nothing; %u cases\n", caught,
	       total, total ? 100 * caught / total : 0, equivalent, nr_cases);
	return total && 100 * caught >= GOAL_PCT * total && !nr_left_out ?
		       EXIT_CLEAN : EXIT_EXPECTATION;
}

/* "mmu_gather.c:120", as the end of a site's place. */
static bool wanted(const struct source_site *s, char **names, int n)
{
	char place[120];

	snprintf(place, sizeof(place), "/%s:%u", s->file, s->line);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(place), want = strlen(names[i]);

		if (want < len && !strcmp(place + len - want, names[i]) &&
		    place[len - want - 1] == '/')
			return true;
	}
	return !n;
}

static int mutate(const char *tree, char **names, int nr_names)
{
	struct sites sites = { 0 };
	struct mutant *mutants;
	char path[1000], error[400];
	u32 n = 0;

	make_cases(tree);
	for (u32 i = 0; i < nr_cores; i++)
		if (!sites_add_module(&sites, i, cores[i].module, error, sizeof(error)))
			die("%s", error);
	sites_finish(&sites, tree);
	snprintf(path, sizeof(path), "%s/tests/mutate/equivalent.txt", tree);
	if (!sites_read_equivalent(&sites, path, error, sizeof(error)))
		die("%s", error);
	mutants = zalloc(sites.n, sizeof(*mutants));
	for (u32 i = 0; i < sites.n; i++)
		if (wanted(&sites.site[i], names, nr_names))
			mutants[n++].site = &sites.site[i];
	fflush(stdout);
	run_all(mutants, n);
	if (verbose)
		print_caught(mutants, n);
	print_fate(mutants, n, FATE_CRASHED, "caught by a crash of the machine");
	print_fate(mutants, n, FATE_HUNG, "caught by not ending");
	print_fate(mutants, n, FATE_MISSED, "reached, and not caught by any scenario");
	print_fate(mutants, n, FATE_UNREACHED, "not reached by any scenario");
	return summary(mutants, n);
}

int main(int argc, char **argv)
{
	const char *src = getenv("SRC");
	int c;

	while ((c = getopt(argc, argv, "b:c:j:v")) != -1) {
		switch (c) {
		case 'b':
			budget_s = atof(optarg);
			break;
		case 'c':
			case_budget_s = atof(optarg);
			break;
		case 'j':
			jobs = (u32)atoi(optarg);
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return EXIT_INPUT;
		}
	}
	if (budget_s < 1 || case_budget_s <= 0 || !jobs)
		die("mutate: -b and -c take seconds, -j a number of processes");
	return mutate(src ? src : ".", argv + optind, argc - optind);
}
