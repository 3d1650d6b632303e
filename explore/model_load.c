// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a C file to a loaded model: the host's cc ($CC, or cc) makes a shared object in
 * a folder of its own, which is gone again once it is loaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model_internal.h"

extern char **environ;

/* ---- compiling ---- */

/* Runs argv with its output in the file log. Its status, or -1. */
static int run(char *const argv[], const char *log)
{
	posix_spawn_file_actions_t fa;
	int status = -1;
	pid_t pid;

	if (posix_spawn_file_actions_init(&fa))
		return -1;
	posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_TRUNC,
					 0600);
	posix_spawn_file_actions_adddup2(&fa, 1, 2);
	if (!posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	else
		status = -1;
	posix_spawn_file_actions_destroy(&fa);
	return status;
}

static void read_text(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	if (f)
		fclose(f);
}

static bool compile(const char *path, const char *include, const char *so,
		    const char *log, char *error, size_t error_size)
{
	char *const argv[] = {
		"sh", "-c", "exec ${CC:-cc} \"$@\"", "cc", "-std=gnu17", "-O1", "-g",
		"-fPIC", "-shared", "-nostartfiles", "-fno-strict-aliasing",
		"-fno-omit-frame-pointer", "-Werror=implicit-function-declaration",
		"-Werror=int-conversion", "-Werror=incompatible-pointer-types",
		"-Wl,-z,now", "-Wl,-z,noexecstack", "-I", (char *)include,
		"-o", (char *)so, (char *)path, NULL,
	};
	int status = run(argv, log);

	if (!status)
		return true;
	read_text(log, error, error_size);
	if (status < 0 || !error[0])
		snprintf(error, error_size, "%s: cannot run the compiler", path);
	return false;
}

/* ---- loading ---- */

static bool valid(const struct check_model *info, const char *path, char *error,
		  size_t error_size)
{
	const char *what = NULL;

	if (info->layout != CHECK_LAYOUT)
		what = "was compiled with another version of tlblab/check.h";
	else if (!info->cpus || info->cpus > XMAX_CPUS)
		what = ".cpus must be between 1 and 8";
	else if (!(info->arch & CHECK_ALL_ARCHS) || (info->arch & ~CHECK_ALL_ARCHS))
		what = ".arch must be a set of CHECK_X86, CHECK_ARM64, CHECK_POWERPC";
	else if (!info->thread[0].name)
		what = "has no .thread";
	for (u32 i = 0; !what && i < CHECK_MAX_THREADS && info->thread[i].name; i++)
		if (info->thread[i].cpu >= info->cpus)
			what = "a thread's CPU is not below .cpus";
		else if (!info->thread[i].op[0].fn)
			what = "a thread has no operation";
	if (what)
		snprintf(error, error_size, "%s: %s", path, what);
	return !what;
}

static bool open_object(struct xmodel *m, const char *so, const char *path,
			char *error, size_t error_size)
{
	/* RTLD_NOW: nothing is bound while an execution runs. */
	m->handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
	if (!m->handle) {
		snprintf(error, error_size, "%s: %s", path, dlerror());
		return false;
	}
	m->info = dlsym(m->handle, "check_model");
	if (!m->info) {
		snprintf(error, error_size,
			 "%s: no CHECK_MODEL(); is it a model?", path);
		return false;
	}
	return valid(m->info, path, error, error_size) &&
	       model_no_statics(so, path, error, error_size);
}

static bool build_and_open(struct xmodel *m, const char *path, const char *include,
			   char *error, size_t error_size)
{
	const char *tmp = getenv("TMPDIR");
	char dir[PATH_MAX / 2], so[PATH_MAX], log[PATH_MAX];
	bool ok;

	if (access(path, R_OK)) {
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
		return false;
	}
	snprintf(dir, sizeof(dir), "%s/tlblab-model-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir)) {
		snprintf(error, error_size, "%s: %s", dir, strerror(errno));
		return false;
	}
	snprintf(so, sizeof(so), "%s/model.so", dir);
	snprintf(log, sizeof(log), "%s/log", dir);
	ok = compile(path, include, so, log, error, error_size) &&
	     open_object(m, so, path, error, error_size);
	unlink(so);
	unlink(log);
	rmdir(dir);
	return ok;
}

struct xmodel *xmodel_load(const char *path, const char *include, char *error,
			   size_t error_size)
{
	struct xmodel *m = calloc(1, sizeof(*m));
	size_t len = strlen(path);
	bool ok;

	if (m)
		m->outcomes = model_outcomes_new();
	if (!m || !m->outcomes) {
		snprintf(error, error_size, "out of memory");
		free(m);
		return NULL;
	}
	if (len > 3 && !strcmp(path + len - 3, ".so"))
		ok = open_object(m, path, path, error, error_size);
	else
		ok = build_and_open(m, path, include, error, error_size);
	if (!ok) {
		xmodel_free(m);
		return NULL;
	}
	model_crash_watch(m);
	return m;
}

void xmodel_free(struct xmodel *m)
{
	if (!m)
		return;
	model_crash_unwatch(m);
	model_outcomes_free(m->outcomes);
	if (m->handle)
		dlclose(m->handle);
	free(m);
}
