#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every source file says its licence in its first two lines.
. "$(dirname "$0")/checks"

unlicensed()
{
	(cd "$1" && find . -path './build*' -prune -o -path './.git' -prune -o -type f \
		\( -name '*.[chS]' -o -name '*.sh' -o -name meson.build -o -name Makefile \
		   -o -name '*.yaml' \) -print | sort |
	while read -r file; do
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' ||
			echo "$file"
	done)
}

echo 'int x;' >"$plant/a.c"
expect_some "no licence" unlicensed "$plant"
expect_none "every file says its licence" unlicensed "$SRC"
exit $status
