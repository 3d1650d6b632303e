// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/desc_parts.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 16

struct level {
	u32 path_len;		/* of the container's own path */
	bool mapping;
	bool value_next;	/* mapping: a key was read */
	u32 index;		/* sequence: entries so far */
};

struct walk {
	struct yaml_places *places;
	char path[YAML_PATH_MAX];
	struct level level[DEPTH_MAX];
	u32 depth;
};

static void place_add(struct yaml_places *p, const char *path,
		      const yaml_mark_t *mark)
{
	struct yaml_place *place;

	if (p->n == p->size) {
		p->size = p->size ? 2 * p->size : 256;
		p->place = realloc(p->place, p->size * sizeof(*p->place));
		if (!p->place)
			abort();
	}
	place = &p->place[p->n++];
	memcpy(place->path, path, YAML_PATH_MAX);
	place->line = mark->line + 1;
	place->column = mark->column + 1;
}

/* Cut the path back to the container's and append one name. */
static void path_set(struct walk *w, const char *name)
{
	u32 len = w->depth ? w->level[w->depth - 1].path_len : 0;

	snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "." : "",
		 name);
}

/* A node begins: a key is noted where it stands, an entry at its value. */
static void node_begin(struct walk *w, const yaml_event_t *ev)
{
	struct level *l = w->depth ? &w->level[w->depth - 1] : NULL;
	char number[16];

	if (!l)
		return;
	if (!l->mapping) {
		snprintf(number, sizeof(number), "%u", ++l->index);
		path_set(w, number);
		place_add(w->places, w->path, &ev->start_mark);
	} else if (l->value_next) {
		l->value_next = false;
	} else {
		path_set(w, ev->type == YAML_SCALAR_EVENT ?
				    (const char *)ev->data.scalar.value : "?");
		place_add(w->places, w->path, &ev->start_mark);
		l->value_next = true;
	}
}

static bool container_begin(struct walk *w, bool mapping)
{
	if (w->depth == DEPTH_MAX)
		return false;
	w->level[w->depth++] = (struct level){
		.path_len = strlen(w->path), .mapping = mapping,
	};
	return true;
}

static bool walk_event(struct walk *w, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
		node_begin(w, ev);
		return true;
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		node_begin(w, ev);
		return container_begin(w, ev->type == YAML_MAPPING_START_EVENT);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		w->depth--;
		w->path[w->level[w->depth].path_len] = 0;
		return true;
	default:
		return true;
	}
}

int yaml_places_read(struct yaml_places *p, const char *text, size_t size,
		     char *error, size_t error_size)
{
	struct walk w = { .places = p };
	yaml_parser_t parser;
	yaml_event_t ev;
	bool done = false;
	int ret = 0;

	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	while (!done && !ret) {
		if (!yaml_parser_parse(&parser, &ev)) {
			snprintf(error, error_size, "%zu:%zu: not YAML: %s",
				 parser.problem_mark.line + 1,
				 parser.problem_mark.column + 1,
				 parser.problem ? parser.problem : "syntax");
			ret = -1;
			break;
		}
		done = ev.type == YAML_STREAM_END_EVENT;
		if (!walk_event(&w, &ev)) {
			snprintf(error, error_size, "%zu:%zu: nested too deeply",
				 ev.start_mark.line + 1, ev.start_mark.column + 1);
			ret = -1;
		}
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&parser);
	return ret;
}

void yaml_places_free(struct yaml_places *p)
{
	free(p->place);
	*p = (struct yaml_places){ 0 };
}

const struct yaml_place *yaml_places_find(const struct yaml_places *p,
					  const char *path)
{
	static const struct yaml_place start = { .line = 1, .column = 1 };
	char parent[YAML_PATH_MAX];
	char *dot;

	snprintf(parent, sizeof(parent), "%s", path);
	for (;;) {
		/* The last one: of a repeated key, that is the culprit. */
		for (u32 i = p->n; i-- > 0;)
			if (!strcmp(p->place[i].path, parent))
				return &p->place[i];
		dot = strrchr(parent, '.');
		if (!dot)
			return &start;
		*dot = 0;
	}
}
