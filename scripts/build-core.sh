#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# build-core.sh ARCH DIR OUT: build a core module from DIR, a copy of core/,
# against this tree's seam. `make core ARCH=arm64 SRC=DIR OUT=patched.so`.
# CC chooses the compiler. Flags are those of the build: scripts/core-cflags.
set -eu

[ $# = 3 ] || { echo "build-core.sh: ARCH DIR OUT expected" >&2; exit 2; }
arch=$1 dir=$2 out=$3
top=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-gcc}

[ -d "$dir/arch/$arch" ] || {
	echo "build-core.sh: $dir/arch/$arch: no such folder (DIR is a copy of core/)" >&2
	exit 2
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/include/tlblab"
"$top/scripts/machine-abi.sh" "$top/include/tlblab" >"$tmp/include/tlblab/machine_abi.h"

flags="-fPIC $(tr '\n' ' ' <"$top/scripts/core-cflags")
       -I$dir -I$dir/arch/$arch -I$dir/arch -I$top/include -I$tmp/include"
for flag in -fno-tree-loop-distribute-patterns -mno-outline-atomics; do
	if echo 'int x;' | $cc -Werror $flag -xc -c -o "$tmp/probe" - 2>/dev/null; then
		flags="$flags $flag"
	fi
done

"$top/scripts/sources.sh" core "$arch" "$dir" |
	xargs -P "$(nproc)" -I FILE sh -c \
		'o=$(echo "$1" | tr / _); shift; exec "$@" -c -o "$0/$o.o"' \
		"$tmp" FILE $cc $flags FILE
$cc -shared -nostdlib -Wl,--no-undefined -Wl,-z,noexecstack -o "$out" "$tmp"/*.o
