// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/sites.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const kind_name[] = {
	[MACH_SITE_RMW] = "rmw",
	[MACH_SITE_FENCE] = "fence",
	[MACH_SITE_LOCK] = "lock",
	[MACH_SITE_IRQ] = "irq",
	[MACH_SITE_IPI] = "ipi",
	[MACH_SITE_RCU] = "rcu",
	[MACH_SITE_INSN] = "insn",
};

/* An unlock goes with its lock. */
const char *site_kind_name(u32 kind)
{
	return kind < sizeof(kind_name) / sizeof(*kind_name) ? kind_name[kind] : NULL;
}

static struct source_site *find(struct sites *s, const char *file,
				const struct mach_site *m)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->site[i].line == m->line && s->site[i].kind == m->kind &&
		    !strcmp(s->site[i].file, file))
			return &s->site[i];
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 256;
		s->site = realloc(s->site, s->size * sizeof(*s->site));
		if (!s->site)
			die("out of memory");
	}
	memset(&s->site[s->n], 0, sizeof(s->site[0]));
	snprintf(s->site[s->n].file, sizeof(s->site[0].file), "%s", file);
	snprintf(s->site[s->n].func, sizeof(s->site[0].func), "%s", m->func);
	s->site[s->n].line = m->line;
	s->site[s->n].kind = m->kind;
	return &s->site[s->n++];
}

static void add(struct sites *s, u32 arch, const struct mach_site *m)
{
	const char *file = strstr(m->file, "core/");
	struct source_site *site;

	if (!site_kind_name(m->kind))
		return;
	site = find(s, file ? file : m->file, m);
	if (site->nr_copies == SITES_MAX_COPIES)
		die("%s:%u is in too many objects", site->file, site->line);
	site->copy[site->nr_copies].arch = arch;
	site->copy[site->nr_copies++].site = m;
}

/* Symbols "mach_site_", "mach_site_.12" (gcc), "f.mach_site_" (clang). */
static u32 add_symbols(struct sites *s, u32 arch, const char *elf, const char *base)
{
	const Elf64_Ehdr *eh = (const void *)elf;
	const Elf64_Shdr *sh = (const void *)(elf + eh->e_shoff);
	u32 n = 0;

	for (u32 i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(elf + sh[i].sh_offset);
		const char *names;

		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		names = elf + sh[sh[i].sh_link].sh_offset;
		for (u64 k = 0; k < sh[i].sh_size / sizeof(*sym); k++) {
			if (ELF64_ST_TYPE(sym[k].st_info) != STT_OBJECT ||
			    !strstr(names + sym[k].st_name, "mach_site_"))
				continue;
			add(s, arch, (const void *)(base + sym[k].st_value));
			n++;
		}
	}
	return n;
}

bool sites_add_module(struct sites *s, u32 arch, const struct core_module *module,
		      char *error, size_t error_size)
{
	struct stat st;
	Dl_info info;
	const char *elf = MAP_FAILED;
	u32 n = 0;
	int fd;

	if (!dladdr(module, &info)) {
		snprintf(error, error_size, "the core of %s is not a module", module->arch);
		return false;
	}
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st))
		elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (elf != MAP_FAILED) {
		n = add_symbols(s, arch, elf, info.dli_fbase);
		munmap((void *)elf, (size_t)st.st_size);
	}
	if (!n)
		snprintf(error, error_size, "%s: no symbols of sites; was it stripped?",
			 info.dli_fname);
	return n;
}

static int by_place(const void *a, const void *b)
{
	const struct source_site *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	if (c)
		return c;
	return x->line != y->line ? (x->line > y->line) - (x->line < y->line) :
				    (x->kind > y->kind) - (x->kind < y->kind);
}

static bool source_line(const char *tree, const struct source_site *site, char *text,
			size_t size)
{
	char path[1000];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tree, site->file);
	f = fopen(path, "r");
	for (u32 line = 0; f && line < site->line; line++)
		found = fgets(text, (int)size, f);
	if (f)
		fclose(f);
	return found;
}

static bool is_second_half(const char *tree, const struct source_site *site)
{
	char text[300];

	return (site->kind == MACH_SITE_IRQ || site->kind == MACH_SITE_RCU) &&
	       source_line(tree, site, text, sizeof(text)) &&
	       (strstr(text, "irq_restore") || strstr(text, "irqrestore") ||
		strstr(text, "end_lockless_pgtbl_walk") ||
		strstr(text, "rcu_read_unlock") || strstr(text, "call_rcu"));
}

void sites_finish(struct sites *s, const char *tree)
{
	u32 n = 0;

	for (u32 i = 0; i < s->n; i++)
		if (!is_second_half(tree, &s->site[i]))
			s->site[n++] = s->site[i];
	s->n = n;
	qsort(s->site, s->n, sizeof(*s->site), by_place);
	for (u32 i = 0; i < s->n; i++) {
		s->site[i].nth = 1;
		for (u32 k = 0; k < i; k++)
			if (s->site[k].kind == s->site[i].kind &&
			    !strcmp(s->site[k].file, s->site[i].file) &&
			    !strcmp(s->site[k].func, s->site[i].func))
				s->site[i].nth++;
	}
}

/* One line of the file: how many sites it fits. */
static u32 mark(struct sites *s, const char *file, const char *func, const char *kind,
		u32 nth, const char *argument)
{
	u32 n = 0;

	for (u32 i = 0; i < s->n; i++) {
		struct source_site *site = &s->site[i];

		if (strcmp(site->file, file) || strcmp(site->func, func) ||
		    strcmp(site_kind_name(site->kind), kind) ||
		    (nth && nth != site->nth))
			continue;
		site->equivalent = strdup(argument);
		n++;
	}
	return n;
}

bool sites_read_equivalent(struct sites *s, const char *path, char *error,
			   size_t error_size)
{
	char line[1000], file[200], func[200], kind[20], argument[800];
	FILE *f = fopen(path, "r");
	u32 nr = 0, nth, end;

	if (!f) {
		snprintf(error, error_size, "%s: cannot be read", path);
		return false;
	}
	error[0] = '\0';
	while (!error[0] && fgets(line, sizeof(line), f)) {
		nr++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		nth = end = 0;
		if (sscanf(line, "%199[^:]:%199[^:]:%19[a-z]%n", file, func, kind,
			   (int *)&end) != 3 ||
		    (line[end] == '#' && sscanf(line + end, "#%u %799[^\n]", &nth,
						argument) != 2) ||
		    (line[end] != '#' && sscanf(line + end, " %799[^\n]", argument) != 1))
			snprintf(error, error_size,
				 "%s:%u: expected FILE:FUNCTION:KIND[#N] ARGUMENT", path, nr);
		else if (!mark(s, file, func, kind, nth, argument))
			snprintf(error, error_size, "%s:%u: there is no such site", path, nr);
	}
	fclose(f);
	return !error[0];
}

void sites_free(struct sites *s)
{
	for (u32 i = 0; i < s->n; i++)
		free((void *)s->site[i].equivalent);
	free(s->site);
}
