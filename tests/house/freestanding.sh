#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each core, compiled freestanding for three hosts and linked with ld -r, needs
# nothing but memcpy and its kin, and has no writable data.
. "$(dirname "$0")/checks"

allowed='memcpy|memset|memmove|memcmp|\.TOC\.|_GLOBAL_OFFSET_TABLE_'

# undefined PREFIX OBJECT, writable PREFIX OBJECT
undefined()
{
	"$1nm" -u "$2" | awk '{ print $NF }' | grep -vxE "$allowed"
}

writable()
{
	"$1size" -A "$2" | awk '
		$1 ~ /^\.(data|bss|tdata|tbss|sdata|sbss)(\.|$)/ &&
		$1 !~ /^\.data\.rel\.ro/ && $2 > 0 { print $1, $2, "bytes" }'
	"$1nm" "$2" | awk '$2 == "C" { print $3, "is common" }'
}

# compile PREFIX ARCH DIR OUT
compile()
{
	local objects=$plant/obj flags
	rm -rf "$objects"
	mkdir -p "$objects"
	flags="-fPIC $(tr '\n' ' ' <"$SRC/scripts/core-cflags") -I$3 -I$3/arch/$2 -I$3/arch
	       -I$SRC/include -I$plant/include"
	[ "$1" != aarch64-linux-gnu- ] || flags="$flags -mno-outline-atomics"
	"$SRC/scripts/sources.sh" core "$2" "$3" |
		xargs -P 2 -I FILE sh -c \
			'o=$(echo "$1" | tr / _); shift; exec "$@" -o "$0/$o.o"' \
			"$objects" FILE "$1gcc" $flags -fno-tree-loop-distribute-patterns -c FILE &&
		"$1ld" -r -o "$4" "$objects"/*.o
}

mkdir -p "$plant/include/tlblab" "$plant/core/arch/x86"
"$SRC/scripts/machine-abi.sh" "$SRC/include/tlblab" >"$plant/include/tlblab/machine_abi.h"
cat >"$plant/core/a.c" <<EOF
int printf(const char *, ...);
int counter;
int f(void);
int f(void)
{
	return printf("%d", counter++);
}
EOF
compile "" x86 "$plant/core" "$plant/bad.o"
expect_some "a call of libc" undefined "" "$plant/bad.o"
expect_some "a writable variable" writable "" "$plant/bad.o"

for target in x86_64-linux-gnu- aarch64-linux-gnu- powerpc64le-linux-gnu-; do
	for arch in x86 arm64 powerpc; do
		name="core/ for $arch on ${target%-linux-gnu-}"
		if ! command -v "${target}gcc" >/dev/null; then
			echo "ok - $name # SKIP no ${target}gcc"
			continue
		fi
		if ! compile "$target" "$arch" "$SRC/core" "$plant/core.o"; then
			echo "not ok - $name compiles"
			status=1
			continue
		fi
		expect_none "$name imports nothing" undefined "$target" "$plant/core.o"
		expect_none "$name has no writable data" writable "$target" "$plant/core.o"
	done
done
exit $status
