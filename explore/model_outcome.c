// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The set of final states that executions reported. Workers are processes, so it
 * lies in shared memory: a hash table with open addressing whose slots are claimed by
 * compare-and-exchange and never given back before a reset.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model_internal.h"

enum { SLOT_EMPTY, SLOT_WRITING, SLOT_FULL };

struct model_outcomes *model_outcomes_new(void)
{
	void *p = mmap(NULL, sizeof(struct model_outcomes),
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void model_outcomes_free(struct model_outcomes *o)
{
	if (o)
		munmap(o, sizeof(*o));
}

static u32 hash(const char *s)
{
	u32 h = 2166136261u;

	while (*s)
		h = (h ^ (u8)*s++) * 16777619u;
	return h;
}

/* True when the slot holds text, before or after this call. */
static bool put(struct model_outcomes *o, u32 i, const char *text)
{
	u32 empty = SLOT_EMPTY;

	if (__atomic_compare_exchange_n(&o->slot[i].state, &empty, SLOT_WRITING,
					false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		snprintf(o->slot[i].text, CHECK_OUTCOME_MAX, "%s", text);
		__atomic_store_n(&o->slot[i].state, SLOT_FULL, __ATOMIC_RELEASE);
		return true;
	}
	/* Another worker fills it: a few stores away. */
	while (__atomic_load_n(&o->slot[i].state, __ATOMIC_ACQUIRE) != SLOT_FULL)
		;
	return !strcmp(o->slot[i].text, text);
}

u32 model_outcome_add(struct model_outcomes *o, const char *fmt, va_list args)
{
	char text[CHECK_OUTCOME_MAX];
	u32 h;

	vsnprintf(text, sizeof(text), fmt, args);
	h = hash(text);
	for (u32 i = 0; i < MODEL_MAX_OUTCOMES; i++)
		if (put(o, (h + i) % MODEL_MAX_OUTCOMES, text))
			return h;
	__atomic_store_n(&o->overflow, 1, __ATOMIC_RELAXED);
	return h;
}

void xmodel_reset_outcomes(struct xmodel *m)
{
	memset(m->outcomes, 0, sizeof(*m->outcomes));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

u32 xmodel_outcomes(struct xmodel *m, const char **text, u32 max)
{
	u32 n = 0;

	for (u32 i = 0; i < MODEL_MAX_OUTCOMES && n < max; i++)
		if (m->outcomes->slot[i].state == SLOT_FULL)
			text[n++] = m->outcomes->slot[i].text;
	qsort(text, n, sizeof(*text), by_text);
	return n;
}

/* Is a row about this outcome, with the options of the program made last? */
static bool applies(const struct xmodel *m, const struct check_allowed *o)
{
	s64 values[CHECK_MAX_OPTIONS];
	char error[200];

	if (!o->with)
		return true;
	memcpy(values, m->values + 1, sizeof(values));
	return xmodel_parse_options(m->info, o->with, values, error, sizeof(error)) &&
	       !memcmp(values, m->values + 1, sizeof(values));
}

static bool allowed(const struct xmodel *m, const char *text)
{
	const struct check_allowed *o = m->info->outcome;

	for (u32 i = 0; i < CHECK_MAX_OUTCOMES && o[i].text; i++)
		if (!strcmp(o[i].text, text) && applies(m, &o[i]) &&
		    (o[i].allowed & XMODEL_ARCH_BIT(m->arch)))
			return true;
	return false;
}

static bool met(const char *const *text, u32 n, const char *want)
{
	for (u32 i = 0; i < n; i++)
		if (!strcmp(text[i], want))
			return true;
	return false;
}

bool xmodel_check_outcomes(struct xmodel *m, bool complete, char *error,
			   size_t error_size)
{
	const struct check_allowed *o = m->info->outcome;
	const char *text[MODEL_MAX_OUTCOMES];
	u32 n = xmodel_outcomes(m, text, MODEL_MAX_OUTCOMES);

	if (!o[0].text)
		return true;
	if (m->outcomes->overflow) {
		snprintf(error, error_size, "more than %d outcomes",
			 MODEL_MAX_OUTCOMES);
		return false;
	}
	for (u32 i = 0; i < n; i++) {
		if (allowed(m, text[i]))
			continue;
		snprintf(error, error_size, "outcome '%s' is reached, and not allowed",
			 text[i]);
		return false;
	}
	for (u32 i = 0; complete && i < CHECK_MAX_OUTCOMES && o[i].text; i++) {
		if (!allowed(m, o[i].text) || met(text, n, o[i].text))
			continue;
		snprintf(error, error_size, "outcome '%s' is allowed, and never reached",
			 o[i].text);
		return false;
	}
	return true;
}
