#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# build-digest.sh CC CPU ARCH MACHINE.c ABI-INCLUDE OUT: tools/digest by another
# compiler, statically, to run on CPU (see tools/meson.build). Needs only libc.
set -eu
cc=$1 cpu=$2 arch=$3
machine_c=$(realpath "$4") abi=$(realpath "$5") out=$(realpath -m "$6")
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

common="-Iinclude -I$abi"
flags="-std=gnu17 -O2 -Wall -Wextra -Werror -ffp-contract=off -D_GNU_SOURCE
       -fno-strict-aliasing -fno-omit-frame-pointer"
core_flags=$(tr '\n' ' ' <scripts/core-cflags)
for flag in -fno-tree-loop-distribute-patterns -mno-outline-atomics; do
	if echo 'int x;' | "$cc" -Werror $flag -xc -c -o "$tmp/probe" - 2>/dev/null; then
		core_flags="$core_flags $flag"
	fi
done

# compile FLAGS... <list of files
compile()
{
	xargs -P 2 -I FILE sh -c \
		'o=$(echo "$1" | tr / _); shift; exec "$@" -o "$0/$o.o"' \
		"$tmp" FILE "$cc" "$@" -c FILE
}

{ scripts/sources.sh digest "$cpu"; echo tools/digest.c; echo "$machine_c"; } |
	compile $flags $common -I.
scripts/sources.sh core "$arch" |
	compile $core_flags $common -Icore "-Icore/arch/$arch" -Icore/arch
"$cc" -static -Wl,-z,noexecstack -o "$out" "$tmp"/*.o
