// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a witness file: either a witness, which is then written and read back the
 * same, or one line of error. For libFuzzer:
 *
 *	clang -g -DFUZZ -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Iinclude -Ibuild/include -I. \
 *		-DTLBLAB_VERSION='"fuzz"' tests/fuzz/fuzz_witness.c explore/witness.c \
 *		-ljansson -o fuzz && ./fuzz tests/fuzz/corpus/witness
 *
 * A witness carries checksums, which a fuzzer would hardly ever get right. So each input
 * that only they reject is also tried with the right ones.
 */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlblab/machine_abi.h>

#include "explore/witness.h"
#include "fuzz.h"

/* witness.c needs these of the search; here they are alone. */
#ifndef FUZZ_WITH_SEARCH
void choices_add(struct xchoices *c, u16 value);
void choices_add(struct xchoices *c, u16 value)
{
	if (c->n == c->size) {
		c->size = c->size ? 2 * c->size : 256;
		c->value = realloc(c->value, c->size * sizeof(*c->value));
		assert(c->value);
	}
	c->value[c->n++] = value;
}

void xverdict_free(struct xverdict *verdict)
{
	free(verdict->choices.value);
	memset(&verdict->choices, 0, sizeof(verdict->choices));
}
#endif

static void check_witness(struct witness *w)
{
	char error[256] = "", id[2][WITNESS_ID_SIZE], *text = witness_text(w);
	struct witness again;

	assert(w->verdict.found && w->verdict.result.rule != XRULE_NONE);
	assert(witness_parse(text, strlen(text), "again", &again, error, sizeof(error)));
	assert(witness_fits(w, "again", &again, error, sizeof(error)));
	witness_id(w, id[0]);
	witness_id(&again, id[1]);
	assert(!strcmp(id[0], id[1]));
	witness_free(&again);
	free(text);
}

/* True when it was a witness; else *id_wanted says which id would have been right. */
static bool try_text(const char *data, size_t size, char *error, size_t error_size)
{
	struct witness w;

	if (witness_parse(data, size, "fuzz", &w, error, error_size)) {
		check_witness(&w);
		witness_free(&w);
		return true;
	}
	assert(!strncmp(error, "fuzz:", 5) && !strchr(error, '\n'));
	assert(!w.file && !w.knob && !w.verdict.choices.value);
	return false;
}

/* Put right what is only a checksum, and try again. */
static void try_mended(const char *data, size_t size)
{
	json_t *json = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL), *source;
	static const char changed[] = "fuzz: was changed: its id would be ";
	char error[256] = "", hash[17], *text;
	const char *would_be;

	if (!json)
		return;
	source = json_object_get(json, "source");
	if (json_is_string(source)) {
		const char *s = json_string_value(source);

		snprintf(hash, sizeof(hash), "%016llx",
			 (unsigned long long)witness_hash(s, strlen(s)));
		json_object_set_new(json, "source_hash", json_string(hash));
	}
	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)TLBLAB_ABI);
	json_object_set_new(json, "abi", json_string(hash));
	text = json_dumps(json, 0);
	if (text && !try_text(text, strlen(text), error, sizeof(error))) {
		would_be = error + strlen(changed);
		if (!strncmp(error, changed, strlen(changed))) {
			json_object_set_new(json, "id",
					    json_stringn(would_be, WITNESS_ID_SIZE - 1));
			free(text);
			text = json_dumps(json, 0);
			assert(try_text(text, strlen(text), error, sizeof(error)));
		}
	}
	free(text);
	json_decref(json);
}

void fuzz_witness(const uint8_t *data, size_t size)
{
	char error[256] = "";

	if (!try_text((const char *)data, size, error, sizeof(error)))
		try_mended((const char *)data, size);
}

FUZZ_TARGET(fuzz_witness)
