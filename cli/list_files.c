// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scenarios and models that come with tlblab: each in a line, which is the beginning of a
 * scenario's first comment, or what a model says of itself (.what).
 */
#include "cli/cli.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define TEXT_MAX 65536
#define LINE_MAX_COLUMNS 76

/* Beside the folder of the command (build/tlblab), or where it is installed. */
static bool find_files(const char *folder, const char *pattern, glob_t *found)
{
	char exe[PATH_SIZE], path[PATH_SIZE + 64];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (len > 0) {
		exe[len] = 0;
		slash = strrchr(exe, '/');
		*slash = 0;
		snprintf(path, sizeof(path), "%.3900s/../%s/%s", exe, folder, pattern);
		if (!glob(path, 0, NULL, found))
			return true;
	}
	snprintf(path, sizeof(path), "%s/%s/%s", TLBLAB_DATADIR, folder, pattern);
	return !glob(path, 0, NULL, found);
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = zalloc(TEXT_MAX + 1, 1);

	if (f) {
		size_t n = fread(text, 1, TEXT_MAX, f);

		text[n] = 0;
		fclose(f);
	}
	return text;
}

/* One blank between words, to the end of the first sentence, or "..." where it is cut. */
static void print_sentence(const char *name, const char *text, size_t len)
{
	char line[LINE_MAX_COLUMNS + 4];
	size_t n = 0;
	bool whole = false;

	for (size_t i = 0; i < len && n < LINE_MAX_COLUMNS && !whole; i++) {
		char c = text[i] == '\n' || text[i] == '\t' || text[i] == '#' ? ' ' : text[i];

		if (c == ' ' && (!n || line[n - 1] == ' '))
			continue;
		line[n++] = c;
		whole = c == '.' && (i + 1 == len || strchr(" \n", text[i + 1]));
		whole |= i + 1 == len;
	}
	line[n] = 0;
	if (!whole && strrchr(line, ' '))
		strcpy(strrchr(line, ' '), "...");
	printf("%-26s %s\n", name, line);
}

static void list_scenario(const char *name, const char *text)
{
	const char *end = text;

	while (*end == '#') {
		end = strchr(end, '\n');
		if (!end)
			return;
		end++;
	}
	print_sentence(name, text, (size_t)(end - text));
}

static void list_model(const char *name, const char *text)
{
	const char *what = strstr(text, ".what = \""), *end;

	if (!what)
		return;
	what += strlen(".what = \"");
	end = strchr(what, '"');
	if (end)
		print_sentence(name, what, (size_t)(end - what));
}

static void list_files(const char *folder, const char *pattern,
		       void (*list)(const char *name, const char *text))
{
	glob_t found;

	if (!find_files(folder, pattern, &found))
		die("there is no folder of %s", folder);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *slash = strrchr(found.gl_pathv[i], '/');
		char *text = read_text(found.gl_pathv[i]);

		list(slash ? slash + 1 : found.gl_pathv[i], text);
		free(text);
	}
	globfree(&found);
}

void list_scenarios(void)
{
	list_files("scenarios", "*.tlb", list_scenario);
}

void list_models(void)
{
	list_files("models", "*.c", list_model);
}
