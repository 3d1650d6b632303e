// SPDX-License-Identifier: GPL-2.0-or-later
/* Where machine files are, and numbers as people write them. */
#include "machine/desc_parts.h"
#include "machine/nearest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_SIZE_MAX (1 << 20)
#define NAMES_MAX 256

int parse_size(const char *s, u64 *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;
	u32 shift = 0;

	if (!isdigit((unsigned char)*s))
		return -1;
	errno = 0;
	*bytes = strtoull(s, &end, s[0] == '0' && (s[1] | 0x20) == 'x' ? 16 : 10);
	if (errno)
		return -1;
	if (*end) {
		suffix = strchr(suffixes, toupper((unsigned char)*end));
		if (!suffix || end[1])
			return -1;
		shift = 10 * (suffix - suffixes + 1);
	}
	if (*bytes > UINT64_MAX >> shift)
		return -1;
	*bytes <<= shift;
	return 0;
}

int parse_decimal(const char *s, u64 scale, u64 *result)
{
	const char *p = s;
	bool fraction = false;
	u64 unit = scale;
	u64 sum = 0;

	/* Digits before the point weigh scale, each one after it a tenth more. */
	if (!isdigit((unsigned char)*p))
		return -1;
	for (; *p; p++) {
		u64 digit = *p - '0';

		if (*p == '.' && !fraction && isdigit((unsigned char)p[1])) {
			fraction = true;
			continue;
		}
		if (!isdigit((unsigned char)*p))
			return -1;
		if (fraction) {
			if (digit && (!unit || unit % 10))
				return -2;
			unit /= 10;
			digit *= unit;
		} else {
			if (__builtin_mul_overflow(sum, 10, &sum) ||
			    __builtin_mul_overflow(digit, scale, &digit))
				return -3;
		}
		if (__builtin_add_overflow(sum, digit, &sum))
			return -3;
	}
	*result = sum;
	return 0;
}

u32 machine_desc_dirs(char dirs[MACHINE_DIRS_MAX][MACHINE_PATH_MAX])
{
	const char *env = getenv("TLBLAB_MACHINES");
	char exe[MACHINE_PATH_MAX];
	char *slash;
	ssize_t len;
	u32 n = 0;

	if (env && *env)
		snprintf(dirs[n++], MACHINE_PATH_MAX, "%s", env);
	len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (len > 0) {
		exe[len] = 0;
		slash = strrchr(exe, '/');
		*slash = 0;
		/* build/tlblab: machines/ lies beside build/. */
		if ((size_t)len < sizeof(exe) - 16)
			snprintf(dirs[n++], MACHINE_PATH_MAX, "%.4000s/../machines",
				 exe);
	}
#ifdef TLBLAB_DATADIR
	snprintf(dirs[n++], MACHINE_PATH_MAX, "%s", TLBLAB_DATADIR "/machines");
#endif
	return n;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool name_known(char *const *names, u32 n, const char *name, size_t len)
{
	for (u32 i = 0; i < n; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return true;
	return false;
}

static u32 list_dir(const char *dir, char **names, u32 n, u32 max)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	if (!d)
		return n;
	while ((entry = readdir(d)) && n < max) {
		size_t len = strlen(entry->d_name);

		if (len <= 5 || strcmp(entry->d_name + len - 5, ".yaml"))
			continue;
		if (name_known(names, n, entry->d_name, len - 5))
			continue;
		names[n] = strndup(entry->d_name, len - 5);
		if (!names[n++])
			abort();
	}
	closedir(d);
	return n;
}

u32 machine_desc_list(char **names, u32 max)
{
	char dirs[MACHINE_DIRS_MAX][MACHINE_PATH_MAX];
	u32 nr_dirs = machine_desc_dirs(dirs);
	u32 n = 0;

	for (u32 i = 0; i < nr_dirs; i++)
		n = list_dir(dirs[i], names, n, max);
	qsort(names, n, sizeof(*names), compare_names);
	return n;
}

static int no_such_machine(const char *name, char *error, size_t error_size)
{
	char *names[NAMES_MAX];
	u32 n = machine_desc_list(names, NAMES_MAX);
	struct nearest near = { .name = name };

	for (u32 i = 0; i < n; i++)
		nearest_offer(&near, names[i]);
	nearest_offer(&near, "native");
	snprintf(error, error_size, "no machine \"%s\"; the nearest is \"%s\"",
		 name, near.best);
	for (u32 i = 0; i < n; i++)
		free(names[i]);
	return -1;
}

/* The path of a machine file. Returns 0 if there is such a file. */
static int find_file(const char *name, char *path)
{
	char dirs[MACHINE_DIRS_MAX][MACHINE_PATH_MAX];
	u32 nr_dirs = machine_desc_dirs(dirs);

	for (u32 i = 0; i < nr_dirs; i++) {
		snprintf(path, MACHINE_PATH_MAX, "%.3800s/%.200s.yaml", dirs[i],
			 name);
		if (!access(path, R_OK))
			return 0;
	}
	return -1;
}

static bool is_path(const char *name)
{
	size_t len = strlen(name);

	return strchr(name, '/') ||
	       (len > 5 && !strcmp(name + len - 5, ".yaml"));
}

int machine_desc_load(const char *name, struct machine_desc *desc,
		      char *error, size_t error_size)
{
	char path[MACHINE_PATH_MAX];
	size_t size;
	char *text;
	FILE *f;
	int ret;

	if (is_path(name))
		snprintf(path, sizeof(path), "%s", name);
	else if (find_file(name, path))
		return no_such_machine(name, error, error_size);
	text = malloc(FILE_SIZE_MAX);
	if (!text)
		abort();
	errno = 0;
	f = fopen(path, "r");
	size = f ? fread(text, 1, FILE_SIZE_MAX, f) : 0;
	if (!f || ferror(f) || size == FILE_SIZE_MAX) {
		snprintf(error, error_size, "%s: %s", path,
			 errno ? strerror(errno) : "too large for a machine file");
		ret = -1;
	} else {
		ret = machine_desc_parse(text, size, path, desc, error, error_size);
	}
	if (f)
		fclose(f);
	free(text);
	return ret;
}
