/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module's own mem*, so that it imports nothing. Word by word; a compiler
 * must not take the loops for what they are and call the function itself
 * (-fno-builtin does not forbid it: -fno-tree-loop-distribute-patterns and
 * the barrier do).
 */
#include "lib/string.h"

typedef u64 __attribute__((may_alias, aligned(1))) word;

#define barrier() __asm__ volatile("" ::: "memory")

void *memcpy(void *dest, const void *src, size_t n)
{
	return memmove(dest, src, n);
}

static void copy_up(char *d, const char *s, size_t n)
{
	for (; n >= 8; d += 8, s += 8, n -= 8) {
		*(word *)d = *(const word *)s;
		barrier();
	}
	for (; n; n--) {
		*d++ = *s++;
		barrier();
	}
}

static void copy_down(char *d, const char *s, size_t n)
{
	for (; n >= 8; n -= 8) {
		*(word *)(d + n - 8) = *(const word *)(s + n - 8);
		barrier();
	}
	for (; n; n--) {
		d[n - 1] = s[n - 1];
		barrier();
	}
}

void *memmove(void *dest, const void *src, size_t n)
{
	if ((uintptr_t)dest - (uintptr_t)src >= n)
		copy_up(dest, src, n);
	else
		copy_down(dest, src, n);
	return dest;
}

void *memset(void *s, int c, size_t n)
{
	u64 v = (u8)c * 0x0101010101010101ULL;
	char *p = s;

	for (; n >= 8; p += 8, n -= 8) {
		*(word *)p = v;
		barrier();
	}
	for (; n; n--) {
		*p++ = (char)c;
		barrier();
	}
	return s;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}
