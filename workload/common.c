// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload/common.h"

#define GIB (1ULL << 30)

/*
 * In w->finished. Not w->failed: somebody who was released and failed at once
 * must not send home those who have yet to look.
 */
#define CALLED_OFF (1U << 31)

void wl_start(struct wl *w, u32 participants)
{
	const struct wl_ops *ops = w->ops;

	if (ops->add_word(w, &w->arrived, 1) == participants) {
		ops->window_open(w);
		ops->set_word(w, &w->started, 1);
	} else {
		ops->spin_until(w, &w->started, 1);
	}
}

void wl_finish(struct wl *w, u32 participants)
{
	const struct wl_ops *ops = w->ops;

	if (ops->add_word(w, &w->finished, 1) == participants) {
		ops->window_close(w);
		ops->set_word(w, &w->arrived, 0);
	}
}

bool wl_line_up(struct wl *w, u32 participants)
{
	wl_start(w, participants);
	return !(w->ops->get_word(w, &w->finished) & CALLED_OFF);
}

void wl_call_off(struct wl *w)
{
	w->ops->set_word(w, &w->finished, CALLED_OFF);
	w->ops->set_word(w, &w->started, 1);
}

void wl_wait_closed(struct wl *w)
{
	w->ops->wait_word(w, &w->arrived, 0);
}

void wl_spin_closed(struct wl *w)
{
	w->ops->spin_until(w, &w->arrived, 0);
}

void wl_fail(struct wl *w, const char *what, int err)
{
	int none = 0;

	/* Whatever fails because the run is being stopped is no failure. */
	if (w->ops->stopping(w))
		return;
	if (__atomic_compare_exchange_n(&w->failed, &none, err ? err : -1, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		w->failed_what = what;
}

bool wl_mmap(struct wl *w, u64 hint, u64 size, u32 flags, u64 *addr)
{
	s64 ret = w->ops->mmap(w, hint, size, WL_RW, flags);

	if (ret < 0) {
		wl_fail(w, "mmap", (int)-ret);
		return false;
	}
	*addr = (u64)ret;
	return true;
}

bool wl_munmap(struct wl *w, u64 addr, u64 size)
{
	s64 ret = w->ops->munmap(w, addr, size);

	if (ret < 0)
		wl_fail(w, "munmap", (int)-ret);
	return ret >= 0;
}

bool wl_dontneed(struct wl *w, u64 addr, u64 size)
{
	s64 ret = w->ops->madvise(w, addr, size, WL_MADV_DONTNEED);

	if (ret < 0)
		wl_fail(w, "madvise", (int)-ret);
	return ret >= 0;
}

bool wl_touch(struct wl *w, u64 addr, u64 size, u64 step)
{
	for (u64 off = 0; off < size; off += step) {
		int sig = w->ops->store(w, addr + off, 1);

		if (sig) {
			wl_fail(w, "store", sig);
			return false;
		}
	}
	return true;
}

u64 wl_hint(struct wl *w, u64 given)
{
	s64 base;

	if (given)
		return given;
	/* Never touched: without rights it asks no promise of memory. */
	base = w->ops->mmap(w, 0, 2 * GIB, WL_PROT_NONE, WL_PRIVATE_ANON);
	if (base < 0) {
		wl_fail(w, "mmap of 2 GiB", (int)-base);
		return 0;
	}
	if (!wl_munmap(w, (u64)base, 2 * GIB))
		return 0;
	return (u64)base + GIB;
}

s32 wl_cpu(const struct wl *w, u32 i)
{
	return w->pin ? (s32)(i % w->nr_cpus) : -1;
}

bool wl_spawn(struct wl *w, void (*fn)(struct wl *, void *), void *arg, u32 i,
	      s64 *thread)
{
	*thread = w->ops->thread_create(w, fn, arg, wl_cpu(w, i));
	if (*thread < 0)
		wl_fail(w, "creating a thread", (int)-*thread);
	return *thread >= 0;
}

bool wl_spawn_process(struct wl *w, void (*fn)(struct wl *, void *), void *arg, u32 i,
		      s64 *process)
{
	*process = w->ops->process_create(w, fn, arg, wl_cpu(w, i));
	if (*process < 0)
		wl_fail(w, "creating a process", (int)-*process);
	return *process >= 0;
}

u64 wl_param_by_name(const struct wl *w, const char *name, u64 def)
{
	const struct wl_param *p = w->workload->params;

	for (u32 i = 0; p[i].name; i++)
		if (!__builtin_strcmp(p[i].name, name))
			return w->param[i];
	return def;
}
