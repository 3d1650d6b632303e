// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mutation of our own core: leave out each fence, invalidation, lock, interrupt
 * section, IPI and atomic of core/ in turn, and see whether a scenario notices.
 *
 *	mutate [-b SECONDS] [-j JOBS] [-s NAME]... [-k TEXT] [-H FILE]... [-o FILE] [-nv]
 *	       [SITE...]
 *
 * Every scenario of scenarios/ that expects `pass` is a case, once per architecture and
 * set of knobs. A site counts as caught if any case ends in a violation without it on any
 * architecture that has it; one that no case reaches is not caught. Sites of
 * tests/mutate/equivalent.txt are counted apart.
 *
 * First all cases run as they are (which must be clean), to see which sites they reach.
 * Then each mutant is a process of its own, JOBS at a time. It goes through the stages
 * below, each with all cases that reach its site: most mutants die in the first
 * executions of some case, so every case is tried briefly before any is tried
 * thoroughly. One that crashes us or never ends is caught, too, and is told apart.
 *
 *	-b	seconds for a mutant that nothing catches; the last stage shares them out
 *	-s	only scenarios of that name; SITE ("mmu_gather.c:120"): only those sites
 *	-k	only sites in whose line of the report TEXT occurs ("core/numa.c", "irq")
 *	-H	a file that remembers by which case each site was caught: that one is tried
 *		first. It saves time and decides nothing: what was caught is caught anew.
 *		Of several the last one is written, after a run of everything
 *	-o	write the report there as well, as markdown
 *	-n	stop after the first part: which sites are reached?
 *
 * Exit status 1 if less than 90 % of the sites that count are caught, or a case
 * fails as it is.
 */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

#define MAX_CASES 1024
#define MAX_SEEN 1024	/* sites that can be left out, of one case */
#define MAX_NAMES 64
#define GOAL_PCT 90

/* In memory that all processes share: the case's own process fills in what it found. */
struct mutant_case {
	const struct scenario *sc;
	const struct core *core;
	enum xarch arch;
	u32 nr_expect;			/* which of the scenario's expectations */
	s64 *knobs;
	bool left_out, told;		/* not clean as it is; and that was said */
	bool complete;
	u32 bound, nr_seen;
	const struct mach_site *seen[MAX_SEEN];	/* sites that it reaches */
	unsigned long long schedules;
	double seconds;			/* of its search as it is */
	char detail[XDETAIL_MAX];
};

/*
 * How a case is searched. Stages without seconds share what is left of a mutant's time: half of
 * it each but for the last, which has all.
 */
struct stage {
	enum xstrategy strategy;
	u32 bound;
	u64 schedules;
	double seconds;
};

static const struct stage as_it_is[] = {
	{ XSTRATEGY_RANDOM, 0, 300, 0.7 },
	{ XSTRATEGY_PCT, 3, 0, 0.3 },
	{ XSTRATEGY_SYSTEMATIC, 1, 0, 0.6 },
};

static const struct stage stages[] = {
	{ XSTRATEGY_RANDOM, 0, 300, 0.1 },
	{ XSTRATEGY_SYSTEMATIC, 1, 0, 0.2 },
	{ XSTRATEGY_PCT, 3, 3000, 0.3 },
	{ XSTRATEGY_RANDOM, 0, 0, 0 },
	{ XSTRATEGY_SYSTEMATIC, 3, 0, 0 },
};
#define NR_STAGES (sizeof(stages) / sizeof(*stages))
#define HINT_S 2	/* of a stage without seconds, for the case that caught it before */

enum fate { FATE_PENDING, FATE_CAUGHT, FATE_CRASHED, FATE_HUNG, FATE_MISSED,
	    FATE_UNREACHED };

/* In shared memory: its process fills in the fate. */
struct mutant {
	struct source_site *site;
	enum fate fate;
	u32 nr_case;
	enum xrule rule;
	u32 nr_reach;			/* cases that reach it */
	double seconds;
	s32 hint;			/* the case that caught it before, or -1 */
};

static double budget_s = 40;
static u32 jobs = 2;
static bool verbose, only_reach;
static const char *hints_path[4], *report_path, *site_part;
static u32 nr_hints_paths;
static const char *scenario_names[MAX_NAMES];
static u32 nr_scenario_names;

static struct core cores[3];
static u32 nr_cores;
static struct mutant_case *cases;
static u32 nr_cases;
static struct mutant *mutants;
static u32 nr_mutants;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *shared_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("%s", strerror(errno));
	return p;
}

/* ---- cases ---- */

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

static void add_case(const struct scenario *sc, const struct core *core,
		     enum xarch arch, u32 nr_expect)
{
	const struct sc_expect *e = sc->nr_expects ? &sc->expect[nr_expect] : NULL;

	if (nr_cases == MAX_CASES)
		die("more than %d cases", MAX_CASES);
	cases[nr_cases].sc = sc;
	cases[nr_cases].core = core;
	cases[nr_cases].arch = arch;
	cases[nr_cases].nr_expect = nr_expect;
	cases[nr_cases++].knobs = knobs_for(sc, core, arch, e);
}

/* An expectation with another architecture's knobs is for that one (tlblab-scenario(5)). */
static bool counts_for(const struct sc_expect *e, enum xarch arch)
{
	for (u32 i = 0; i < e->with.n; i++)
		if (sc_of_another_arch(arch, e->with.set[i].name))
			return false;
	return !e->violation && (e->archs & 1U << arch);
}

static void add_scenario(const struct scenario *sc, const struct core *core,
			 enum xarch arch)
{
	if (!(sc->archs & 1U << arch))
		return;
	if (!sc->nr_expects)
		add_case(sc, core, arch, 0);
	for (u32 i = 0; i < sc->nr_expects; i++)
		if (counts_for(&sc->expect[i], arch))
			add_case(sc, core, arch, i);
}

static bool scenario_wanted(const struct scenario *sc)
{
	for (u32 i = 0; i < nr_scenario_names; i++)
		if (!strcmp(scenario_names[i], sc->name))
			return true;
	return !nr_scenario_names;
}

static void make_cases(const char *tree)
{
	char pattern[1000], error[400];
	glob_t g;

	cases = shared_alloc(MAX_CASES * sizeof(*cases));
	snprintf(pattern, sizeof(pattern), "%s/scenarios/*.tlb", tree);
	if (glob(pattern, 0, NULL, &g))
		die("%s: no scenarios", pattern);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct scenario *sc = scenario_load(g.gl_pathv[i], error, sizeof(error));

		if (!sc)
			die("%s", error);
		if (!scenario_wanted(sc))
			continue;
		for (u32 k = 0; k < nr_cores; k++)
			for (u32 a = XARCH_X86; a <= XARCH_POWERPC; a++)
				if (!strcmp(cores[k].module->arch, sc_arch_names[a]))
					add_scenario(sc, &cores[k], a);
	}
	globfree(&g);
}

/* ---- a search ---- */

struct world {
	struct sc_program *program;
	struct xworld *w;
};

static void world_close(struct world *x)
{
	if (x->w)
		xworld_destroy(x->w);
	sc_program_free(x->program);
}

/* Without the site (NULL: with all) from boot on. False: boot or init does not get through. */
static bool world_open(struct world *x, const struct mutant_case *c,
		       const struct mach_site *skip)
{
	struct xprogram prog;
	char error[400] = "";

	x->program = scenario_program(c->sc, c->arch, c->core->module, c->knobs);
	if (!x->program)
		die("%s: no program", c->sc->path);
	prog = *sc_xprogram(x->program);
	prog.skip = skip;
	x->w = xworld_create(&prog, error, sizeof(error));
	if (x->w && sc_program_ready(x->program, error, sizeof(error)))
		return true;
	if (!skip)
		die("%s: %s", c->sc->path, error);
	return false;
}

static void search(struct xworld *w, const struct stage *s, double seconds,
		   struct xverdict *v)
{
	const struct xsearch how = {
		.strategy = s->strategy, .max_bound = s->bound, .budget_s = seconds,
		.max_schedules = s->schedules, .seed = 1, .workers = 1, .reduce = true,
	};

	memset(v, 0, sizeof(*v));
	xsearch_run(w, &how, v);
}

/* ---- processes ---- */

static pid_t start(void (*run)(u32 i), u32 i, double seconds)
{
	pid_t pid = fork();

	if (pid < 0)
		die("%s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What a crash says is of no interest here. */
	if (freopen("/dev/null", "w", stderr) == NULL)
		_exit(EXIT_INPUT);
	/* A search keeps its budget, unless an execution never ends. */
	signal(SIGALRM, SIG_DFL);
	alarm((unsigned int)seconds);
	run(i);
	_exit(EXIT_CLEAN);
}

/* run(0 ... n - 1), each in a process, jobs at a time; ended(i, status) here. */
static void run_all(u32 n, void (*run)(u32 i), double seconds,
		    void (*ended)(u32 i, int status))
{
	pid_t *pids = zalloc(n + 1, sizeof(*pids));
	u32 next = 0, running = 0;

	fflush(stdout);
	for (u32 done = 0; done < n; done++) {
		int status;
		pid_t pid;

		for (; running < jobs && next < n; running++, next++)
			pids[next] = start(run, next, seconds);
		pid = wait(&status);
		running--;
		for (u32 i = 0; i < next; i++)
			if (pids[i] == pid)
				ended(i, status);
		if (isatty(2))
			fprintf(stderr, "\r%u of %u ", done + 1, n);
	}
	if (isatty(2))
		fprintf(stderr, "\r\033[K");
	free(pids);
}

/* ---- a case as it is ---- */

static void note_sites(struct mutant_case *c, struct xworld *w)
{
	static const struct mach_site *all[8192];
	u32 n = xworld_sites(w, all, 8192);

	for (u32 i = 0; i < n; i++)
		if (site_kind_name(all[i]->kind) && c->nr_seen < MAX_SEEN)
			c->seen[c->nr_seen++] = all[i];
}

static void run_case(u32 i)
{
	struct mutant_case *c = &cases[i];
	struct world x;
	double t = now();

	world_open(&x, c, NULL);
	for (u32 s = 0; s < sizeof(as_it_is) / sizeof(*as_it_is) && !c->left_out; s++) {
		struct xverdict v;

		search(x.w, &as_it_is[s], as_it_is[s].seconds, &v);
		c->schedules += v.schedules;
		c->complete = v.complete;
		c->bound = v.bound;
		if (v.found) {
			snprintf(c->detail, sizeof(c->detail), "%s", v.result.detail);
			c->left_out = true;
		}
		xverdict_free(&v);
	}
	c->seconds = now() - t;
	note_sites(c, x.w);
	world_close(&x);
}

static void case_ended(u32 i, int status)
{
	struct mutant_case *c = &cases[i];

	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_CLEAN) {
		snprintf(c->detail, sizeof(c->detail), "it crashed, or did not end");
		c->left_out = true;
	}
	c->told = c->left_out;
	if (c->left_out)
		printf("%s on %s (expectation %u) is not clean as it is, and left out: %s\n",
		       c->sc->path, c->core->module->arch, c->nr_expect + 1, c->detail);
	else if (verbose)
		printf("%-28s %-8s %2u %8llu schedules %7.3f s, %4u sites%s\n", c->sc->name,
		       c->core->module->arch, c->nr_expect + 1, c->schedules, c->seconds,
		       c->nr_seen, c->complete ? "" : ", not complete");
	fflush(stdout);
}

/* The quick ones first, and those that were left out last. */
static int by_seconds(const void *a, const void *b)
{
	const struct mutant_case *x = a, *y = b;

	if (x->left_out != y->left_out)
		return x->left_out - y->left_out;
	return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* ---- a mutant ---- */

/* The copies of a site that a case reaches: inline functions have one per object. */
static u32 copies_reached(const struct mutant_case *c, const struct source_site *site,
			  const struct mach_site **copy)
{
	u32 n = 0;

	for (u32 i = 0; i < site->nr_copies; i++)
		for (u32 k = 0; k < c->nr_seen && !c->left_out; k++)
			if (c->seen[k] == site->copy[i].site)
				copy[n++] = c->seen[k];
	return n;
}

/*
 * The same search with nothing left out: is that clean? What is wrong with the case as it is
 * (a step limit that is too low, say), and was not met when it ran first, must not count.
 */
static bool control(u32 nr, const struct stage *s, double seconds)
{
	struct mutant_case *c = &cases[nr];
	struct xverdict v;
	struct world x;

	world_open(&x, c, NULL);
	search(x.w, s, seconds, &v);
	if (v.found) {
		snprintf(c->detail, sizeof(c->detail), "%s", v.result.detail);
		c->left_out = true;
	}
	xverdict_free(&v);
	world_close(&x);
	return !c->left_out;
}

/* One stage of one case, without this copy of the site. True: something breaks. */
static bool try_copy(struct mutant *m, u32 nr, const struct mach_site *copy,
		     const struct stage *s, double seconds)
{
	double t = now();
	bool found = true;
	struct world x;

	m->rule = XRULE_NONE;
	if (world_open(&x, &cases[nr], copy)) {
		struct xverdict v;

		search(x.w, s, seconds, &v);
		found = v.found;
		m->rule = v.result.rule;
		xverdict_free(&v);
	}
	world_close(&x);
	/* As long again as it took, and some more, for the host's speed varies. */
	return found && control(nr, s, 1.5 * (now() - t) + 0.1);
}

/* One stage of one case, without each copy of the site in turn. True: caught. */
static bool try_case(struct mutant *m, u32 nr, const struct stage *s, double seconds)
{
	const struct mach_site *copy[SITES_MAX_COPIES];
	u32 n = copies_reached(&cases[nr], m->site, copy);

	for (u32 i = 0; i < n; i++)
		if (try_copy(m, nr, copy[i], s, seconds / n)) {
			m->nr_case = nr;
			m->fate = FATE_CAUGHT;
			return true;
		}
	return false;
}

/* All cases that reach it, stage by stage. */
static void try_mutant(struct mutant *m, double end)
{
	const struct mach_site *copy[SITES_MAX_COPIES];

	for (u32 s = 0; s < NR_STAGES; s++) {
		double until = s == NR_STAGES - 1 ? end : (now() + end) / 2;
		u32 left = m->nr_reach;

		for (u32 i = 0; i < nr_cases && now() < until; i++) {
			double seconds = stages[s].seconds;

			if (!copies_reached(&cases[i], m->site, copy))
				continue;
			if (!seconds)
				seconds = (until - now()) / left;
			left--;
			if (try_case(m, i, &stages[s], seconds))
				return;
		}
	}
}

/* What is said to change nothing is not searched for long. */
#define EQUIVALENT_S 3

static void run_mutant(u32 i)
{
	struct mutant *m = &mutants[i];
	double t = now();
	bool caught = false;

	if (!m->nr_reach) {
		m->fate = FATE_UNREACHED;
		return;
	}
	for (u32 s = 0; s < NR_STAGES && m->hint >= 0 && !caught; s++)
		caught = try_case(m, (u32)m->hint, &stages[s],
				  stages[s].seconds > 0 ? stages[s].seconds : HINT_S);
	if (!caught)
		try_mutant(m, t + (m->site->equivalent ? EQUIVALENT_S : budget_s));
	if (m->fate == FATE_PENDING)
		m->fate = FATE_MISSED;
	m->seconds = now() - t;
}

static bool noticed(const struct mutant *m)
{
	return m->fate == FATE_CAUGHT || m->fate == FATE_CRASHED || m->fate == FATE_HUNG;
}

static void site_text(const struct source_site *s, char *text, size_t size)
{
	snprintf(text, size, "%s:%u %s() %s#%u", s->file, s->line, s->func,
		 site_kind_name(s->kind), s->nth);
}

static void fate_text(const struct mutant *m, char *text, size_t size)
{
	static const char *const what[] = {
		[FATE_CRASHED] = "caught: the machine crashed",
		[FATE_HUNG] = "caught: it did not end",
		[FATE_MISSED] = "reached, not caught",
		[FATE_UNREACHED] = "not reached",
	};

	if (m->fate == FATE_CAUGHT)
		snprintf(text, size, "caught: %s in %s on %s",
			 m->rule == XRULE_NONE ? "init fails" : xmodel_rule_name(m->rule),
			 cases[m->nr_case].sc->name, cases[m->nr_case].core->module->arch);
	else
		snprintf(text, size, "%s", what[m->fate]);
}

static void mutant_ended(u32 i, int status)
{
	struct mutant *m = &mutants[i];
	char site[250], fate[200];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		m->fate = FATE_HUNG;
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_CLEAN)
		m->fate = FATE_CRASHED;
	for (u32 k = 0; k < nr_cases; k++)
		if (cases[k].left_out && !cases[k].told) {
			cases[k].told = true;
			printf("%s on %s (expectation %u) is not clean as it is: %s\n",
			       cases[k].sc->path, cases[k].core->module->arch,
			       cases[k].nr_expect + 1, cases[k].detail);
		}
	if (!verbose)
		return;
	site_text(m->site, site, sizeof(site));
	fate_text(m, fate, sizeof(fate));
	printf("%s: %s (%u cases, %.1f s)\n", site, fate, m->nr_reach, m->seconds);
	fflush(stdout);
}

/* ---- hints ---- */

static s32 case_find(const char *name, const char *arch, u32 nr_expect)
{
	for (u32 i = 0; i < nr_cases; i++)
		if (!strcmp(cases[i].sc->name, name) && cases[i].nr_expect == nr_expect &&
		    !strcmp(cases[i].core->module->arch, arch))
			return (s32)i;
	return -1;
}

/* FILE FUNCTION KIND NTH SCENARIO ARCH EXPECTATION; what fits nothing is passed over. */
static void hints_read(const char *path)
{
	char file[80], func[80], kind[20], name[80], arch[20];
	FILE *f = fopen(path, "r");
	u32 nth, nr;

	while (f && fscanf(f, "%79s %79s %19s %u %79s %19s %u", file, func, kind, &nth, name,
			   arch, &nr) == 7)
		for (u32 i = 0; i < nr_mutants; i++) {
			const struct source_site *s = mutants[i].site;

			if (!strcmp(s->file, file) && !strcmp(s->func, func) &&
			    !strcmp(site_kind_name(s->kind), kind) && s->nth == nth)
				mutants[i].hint = case_find(name, arch, nr);
		}
	if (f)
		fclose(f);
}

/* Only after a run of everything: others would forget the rest. */
static void hints_write(void)
{
	FILE *f = nr_hints_paths ? fopen(hints_path[nr_hints_paths - 1], "w") : NULL;

	for (u32 i = 0; f && i < nr_mutants; i++) {
		const struct source_site *s = mutants[i].site;
		const struct mutant_case *c = &cases[mutants[i].nr_case];

		if (mutants[i].fate == FATE_CAUGHT)
			fprintf(f, "%s %s %s %u %s %s %u\n", s->file, s->func,
				site_kind_name(s->kind), s->nth, c->sc->name,
				c->core->module->arch, c->nr_expect);
	}
	if (f)
		fclose(f);
}

/* ---- the report ---- */

struct tally {
	u32 total, caught, missed, unreached, equivalent, left_out;
};

static struct tally tally(void)
{
	struct tally t = { 0 };

	for (u32 i = 0; i < nr_cases; i++)
		t.left_out += cases[i].left_out;
	for (u32 i = 0; i < nr_mutants; i++) {
		const struct mutant *m = &mutants[i];

		if (m->site->equivalent) {
			t.equivalent++;
			continue;
		}
		t.total++;
		t.caught += noticed(m);
		t.missed += m->fate == FATE_MISSED;
		t.unreached += m->fate == FATE_UNREACHED;
	}
	return t;
}

static void print_fate(FILE *f, enum fate fate, bool equivalent, const char *title)
{
	bool any = false;

	for (u32 i = 0; i < nr_mutants; i++) {
		const struct mutant *m = &mutants[i];
		char site[250], what[200];

		if (m->fate != fate || !m->site->equivalent == equivalent)
			continue;
		if (!any)
			fprintf(f, "\n## %s\n\n", title);
		any = true;
		site_text(m->site, site, sizeof(site));
		fate_text(m, what, sizeof(what));
		if (equivalent)
			fprintf(f, "- %s: %s%s\n", site, m->site->equivalent,
				noticed(m) ? " (AND WAS CAUGHT)" : "");
		else if (fate == FATE_CAUGHT)
			fprintf(f, "- %s %s\n", site, what);
		else
			fprintf(f, "- %s\n", site);
	}
}

static void report(FILE *f)
{
	struct tally t = tally();

	fprintf(f, "# Mutation of core/\n\n"
		"Made by `make mutate` in one run; bench/mutate.c says how. Each fence, "
		"invalidation, lock,\ninterrupt section, IPI and atomic of core/ was left out "
		"in turn, and %u cases (a scenario of\nscenarios/ on an architecture with a set "
		"of knobs) were searched for what breaks.\n\n"
		"| sites | |\n|---|---|\n| that count | %u |\n| caught | %u (%u %%) |\n"
		"| reached, not caught | %u |\n| not reached | %u |\n"
		"| more that change nothing (tests/mutate/equivalent.txt) | %u |\n",
		nr_cases - t.left_out, t.total, t.caught,
		t.total ? 100 * t.caught / t.total : 0, t.missed, t.unreached, t.equivalent);
	for (u32 i = 0; i < nr_cases; i++)
		if (cases[i].left_out)
			fprintf(f, "\nLeft out, not clean as it is: %s on %s, expectation %u.\n",
				cases[i].sc->name, cases[i].core->module->arch,
				cases[i].nr_expect + 1);
	print_fate(f, FATE_MISSED, false, "Reached, and not caught by any scenario");
	print_fate(f, FATE_UNREACHED, false, "Not reached by any scenario");
	print_fate(f, FATE_CRASHED, false, "Caught by a crash of the machine");
	print_fate(f, FATE_HUNG, false, "Caught by not ending");
	print_fate(f, FATE_CAUGHT, false, "Caught");
	for (enum fate x = FATE_CAUGHT; x <= FATE_UNREACHED; x++)
		print_fate(f, x, true,
			   x == FATE_MISSED ? "Change nothing, and reached" :
			   x == FATE_UNREACHED ? "Change nothing, and not reached" :
						 "Said to change nothing, and caught");
}

static int summary(void)
{
	struct tally t = tally();

	report(stdout);
	if (report_path) {
		FILE *f = fopen(report_path, "w");

		if (!f)
			die("%s: %s", report_path, strerror(errno));
		report(f);
		fclose(f);
	}
	printf("\n%u of %u sites caught, %u %%; %u reached and not caught, %u not reached; "
	       "%u more change nothing; %u cases\n", t.caught, t.total,
	       t.total ? 100 * t.caught / t.total : 0, t.missed, t.unreached, t.equivalent,
	       nr_cases);
	return t.total && 100 * t.caught >= GOAL_PCT * t.total && !t.left_out ?
		       EXIT_CLEAN : EXIT_EXPECTATION;
}

/* ---- all of it ---- */

/* "mmu_gather.c:120", as the end of a site's place. */
static bool wanted(const struct source_site *s, char **names, int n)
{
	char place[120], text[250];

	site_text(s, text, sizeof(text));
	if (site_part && !strstr(text, site_part))
		return false;
	snprintf(place, sizeof(place), "/%s:%u", s->file, s->line);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(place), want = strlen(names[i]);

		if (want < len && !strcmp(place + len - want, names[i]) &&
		    place[len - want - 1] == '/')
			return true;
	}
	return !n;
}

static void make_mutants(struct sites *sites, char **names, int nr_names)
{
	const struct mach_site *copy[SITES_MAX_COPIES];

	mutants = shared_alloc((sites->n + 1) * sizeof(*mutants));
	for (u32 i = 0; i < sites->n; i++) {
		struct mutant *m = &mutants[nr_mutants];

		if (!wanted(&sites->site[i], names, nr_names))
			continue;
		m->site = &sites->site[i];
		m->hint = -1;
		for (u32 k = 0; k < nr_cases; k++)
			m->nr_reach += copies_reached(&cases[k], m->site, copy) > 0;
		nr_mutants++;
	}
}

static void find_sites(struct sites *sites, const char *tree)
{
	char path[1000], error[400];

	for (u32 i = 0; i < nr_cores; i++)
		if (!sites_add_module(sites, i, cores[i].module, error, sizeof(error)))
			die("%s", error);
	sites_finish(sites, tree);
	snprintf(path, sizeof(path), "%s/tests/mutate/equivalent.txt", tree);
	if (!sites_read_equivalent(sites, path, error, sizeof(error)))
		die("%s", error);
}

static int mutate(const char *tree, char **names, int nr_names)
{
	struct sites sites = { 0 };

	for (u32 a = 0; a < 3; a++)
		if (core_load_arch(&cores[nr_cores], core_archs[a]))
			nr_cores++;
	find_sites(&sites, tree);
	make_cases(tree);
	run_all(nr_cases, run_case, 60, case_ended);
	qsort(cases, nr_cases, sizeof(*cases), by_seconds);
	make_mutants(&sites, names, nr_names);
	if (only_reach) {
		for (u32 i = 0; i < nr_mutants; i++)
			mutants[i].fate = mutants[i].nr_reach ? FATE_MISSED : FATE_UNREACHED;
		return summary();
	}
	for (u32 i = 0; i < nr_hints_paths; i++)
		hints_read(hints_path[i]);
	run_all(nr_mutants, run_mutant, 2 * budget_s + 60, mutant_ended);
	if (!nr_names && !nr_scenario_names && !site_part)
		hints_write();
	return summary();
}

int main(int argc, char **argv)
{
	const char *src = getenv("SRC");
	int c;

	while ((c = getopt(argc, argv, "b:j:s:k:H:o:nv")) != -1) {
		switch (c) {
		case 'b':
			budget_s = atof(optarg);
			break;
		case 'j':
			jobs = (u32)atoi(optarg);
			break;
		case 's':
			if (nr_scenario_names == MAX_NAMES)
				die("mutate: too many -s");
			scenario_names[nr_scenario_names++] = optarg;
			break;
		case 'k':
			site_part = optarg;
			break;
		case 'H':
			if (nr_hints_paths == sizeof(hints_path) / sizeof(*hints_path))
				die("mutate: too many -H");
			hints_path[nr_hints_paths++] = optarg;
			break;
		case 'o':
			report_path = optarg;
			break;
		case 'n':
			only_reach = true;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return EXIT_INPUT;
		}
	}
	if (budget_s < 1 || !jobs)
		die("mutate: -b takes seconds, -j a number of processes");
	return mutate(src ? src : ".", argv + optind, argc - optind);
}
