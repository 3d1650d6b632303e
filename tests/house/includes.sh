#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# core/ includes only core/, <tlblab/...> and what a freestanding compiler has;
# machine/ includes nothing of core/.
. "$(dirname "$0")/checks"

# "file include" for each #include under folder $1
includes()
{
	find "$1" -name '*.[chS]' | sort | xargs -r sed -n -s \
		-e 's/^[ \t]*#[ \t]*include[ \t]*\(["<][^">]*[">]\).*/\1/' -e 'T' -e 'F;p' |
		paste -d' ' - -
}

# $1: a core/ folder
core_includes()
{
	includes "$1" | while read -r file what; do
		name=${what#?}
		name=${name%?}
		case $what in
		'<stdint.h>' | '<stddef.h>' | '<stdbool.h>' | '<stdarg.h>' | '<limits.h>') continue ;;
		'<tlblab/'*) continue ;;
		'<'* | *'../../'*) echo "$file: $what"; continue ;;
		esac
		for dir in "$(dirname "$file")" "$1" "$1"/arch "$1"/arch/*; do
			[ ! -f "$dir/$name" ] || continue 2
		done
		echo "$file: $what is not in core/"
	done
}

# $1: the tree
machine_includes()
{
	includes "$1/machine" | while read -r file what; do
		name=${what#?}
		name=${name%?}
		case $what in
		'"core/'* | '"../core/'* | *'../../'* | '<core/'*) echo "$file: $what"; continue ;;
		'<'*) continue ;;
		esac
		for dir in "$(dirname "$file")" "$1" "$1/include"; do
			[ ! -f "$dir/$name" ] || continue 2
		done
		echo "$file: $what is neither in machine/ nor in the tree"
	done
}

mkdir -p "$plant/core/mm" "$plant/machine" "$plant/report"
echo '#include <stdio.h>' >"$plant/core/mm/a.c"
expect_some "core/ includes libc" core_includes "$plant/core"
echo '#include "report/x.h"' >"$plant/core/mm/a.c"
expect_some "core/ includes another folder" core_includes "$plant/core"
echo '#include "core/kernel.h"' >"$plant/machine/a.c"
expect_some "machine/ includes core/" machine_includes "$plant"

cd "$SRC"
expect_none "core/ includes only core/ and <tlblab/>" core_includes core
expect_none "machine/ includes nothing of core/" machine_includes .
exit $status
