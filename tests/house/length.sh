#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# No function is longer than 80 lines, its braces included.
. "$(dirname "$0")/checks"

too_long()
{
	(cd "$1" && find . -path './build*' -prune -o -name '*.[ch]' -print | sort |
	xargs -r awk '
	FNR == 1	{ start = 0 }
	/^{/		{ start = FNR }
	/^}/ && start {
		if (FNR - start + 1 > 80)
			printf "%s:%d: %d lines\n", FILENAME, start, FNR - start + 1
		start = 0
	}')
}

{ echo 'int f(void)'; echo '{'; seq 79 | sed 's/.*/;/'; echo '}'; } >"$plant/a.c"
expect_some "81 lines" too_long "$plant"
expect_none "no function is longer than 80 lines" too_long "$SRC"
exit $status
