// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

void output_check(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char dir[4096] = ".";
	struct stat st;

	if (!path)
		return;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path);
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return;
	if (access(dir, W_OK))
		die("-o %s: %s", path, strerror(errno));
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		die("-o %s: %s", path, strerror(EISDIR));
}

void output_open(struct output *o, const char *path)
{
	struct stat st;

	*o = (struct output){ .f = stdout, .path = path };
	if (!path)
		return;
	o->renames = stat(path, &st) || S_ISREG(st.st_mode);
	if (o->renames)
		snprintf(o->temp, sizeof(o->temp), "%.4000s.tmp.%ld", path,
			 (long)getpid());
	else
		snprintf(o->temp, sizeof(o->temp), "%s", path);
	o->f = fopen(o->temp, "w");
	if (!o->f)
		die("-o %s: %s", o->temp, strerror(errno));
}

void output_close(struct output *o)
{
	bool bad = fflush(o->f) || ferror(o->f);
	int err = errno;

	if (!o->path) {
		if (bad)
			die("standard output: %s", strerror(err));
		return;
	}
	if (fclose(o->f) && !bad) {
		bad = true;
		err = errno;
	}
	if (!bad && (!o->renames || !rename(o->temp, o->path)))
		return;
	if (!bad)
		err = errno;
	if (o->renames)
		unlink(o->temp);
	die("-o %s: %s", o->path, strerror(err));
}
