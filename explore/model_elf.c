// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writable statics of a model would carry values from one execution into the next.
 * Find the first by its name in the object's symbol table.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model_internal.h"

struct object {
	const char *data;
	size_t size;
	const Elf64_Ehdr *eh;
	const Elf64_Shdr *sh;
};

static bool inside(const struct object *o, u64 offset, u64 size)
{
	return offset <= o->size && size <= o->size - offset;
}

static bool open_headers(struct object *o)
{
	if (o->size < sizeof(*o->eh))
		return false;
	o->eh = (const void *)o->data;
	if (memcmp(o->eh->e_ident, ELFMAG, SELFMAG) ||
	    o->eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    o->eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    !inside(o, o->eh->e_shoff, (u64)o->eh->e_shnum * sizeof(Elf64_Shdr)) ||
	    o->eh->e_shstrndx >= o->eh->e_shnum)
		return false;
	o->sh = (const void *)(o->data + o->eh->e_shoff);
	return true;
}

/* A string of string table section s, or "". */
static const char *string(const struct object *o, u32 s, u32 at)
{
	const Elf64_Shdr *sh = &o->sh[s];

	if (s >= o->eh->e_shnum || !inside(o, sh->sh_offset, sh->sh_size) ||
	    at >= sh->sh_size || o->data[sh->sh_offset + sh->sh_size - 1])
		return "";
	return o->data + sh->sh_offset + at;
}

/* .data and .bss; not what the loader alone writes. */
static bool is_writable(const struct object *o, u32 s)
{
	static const char *const loaders[] = {
		".data.rel.ro", ".dynamic", ".got", ".init_array", ".fini_array",
	};
	const char *name;

	if (s >= o->eh->e_shnum || !(o->sh[s].sh_flags & SHF_WRITE))
		return false;
	name = string(o, o->eh->e_shstrndx, o->sh[s].sh_name);
	for (u32 i = 0; i < sizeof(loaders) / sizeof(*loaders); i++)
		if (!strncmp(name, loaders[i], strlen(loaders[i])))
			return false;
	return true;
}

/* The first writable variable of a symbol table, or NULL. */
static const char *find_variable(const struct object *o, const Elf64_Shdr *table)
{
	const Elf64_Sym *sym = (const void *)(o->data + table->sh_offset);
	u64 n = table->sh_size / sizeof(*sym);

	if (!inside(o, table->sh_offset, table->sh_size))
		return NULL;
	for (u64 i = 0; i < n; i++)
		if (ELF64_ST_TYPE(sym[i].st_info) == STT_OBJECT && sym[i].st_size &&
		    is_writable(o, sym[i].st_shndx))
			return string(o, table->sh_link, sym[i].st_name);
	return NULL;
}

static bool check(const struct object *o, const char *path, char *error,
		  size_t error_size)
{
	const char *name = NULL;

	for (u32 s = 0; !name && s < o->eh->e_shnum; s++)
		if (o->sh[s].sh_type == SHT_SYMTAB)
			name = find_variable(o, &o->sh[s]);
	if (name)
		snprintf(error, error_size,
			 "%s: '%s' is a writable static variable; a model keeps what it "
			 "changes in check_state()", path, name);
	return !name;
}

bool model_no_statics(const char *so, const char *path, char *error,
		      size_t error_size)
{
	struct object o = { .data = MAP_FAILED };
	int fd = open(so, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool ok;

	if (fd >= 0 && !fstat(fd, &st)) {
		o.size = (size_t)st.st_size;
		o.data = mmap(NULL, o.size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	if (o.data == MAP_FAILED || !open_headers(&o)) {
		snprintf(error, error_size, "%s: not a 64-bit ELF object", path);
		ok = false;
	} else {
		ok = check(&o, path, error, error_size);
	}
	if (o.data != MAP_FAILED)
		munmap((void *)o.data, o.size);
	return ok;
}
