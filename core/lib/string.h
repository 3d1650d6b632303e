/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The four functions that a compiler may call on its own. */
#ifndef CORE_LIB_STRING_H
#define CORE_LIB_STRING_H

#include <tlblab/types.h>

void *memcpy(void *dest, const void *src, size_t n);
void *memmove(void *dest, const void *src, size_t n);
void *memset(void *s, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

#endif
