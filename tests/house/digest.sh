#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Same seed, same figures: by gcc, by clang, and by a static aarch64 build under
# qemu-user. Another seed: other figures.
. "$(dirname "$0")/checks"

# run FILE WORKLOAD ARGS...
run()
{
	file=$1
	shift
	case $file in
	*aarch64*) qemu-aarch64-static "$file" "$@" ;;
	*) "$file" "$@" ;;
	esac
}

# compare NAME ARCH WORKLOAD ARGS...
compare()
{
	name=$1 arch=$2
	shift 2
	run "$BUILD/tools/digest-$arch" "$@" >"$plant/want" || {
		echo "not ok - $name runs"
		status=1
		return
	}
	for by in other aarch64; do
		file=$BUILD/tools/digest-$by-$arch
		if [ ! -x "$file" ]; then
			echo "ok - $name, $by compiler # SKIP not there"
			continue
		fi
		run "$file" "$@" >"$plant/got" || true
		if cmp -s "$plant/want" "$plant/got"; then
			echo "ok - $name, $by compiler"
		else
			diff "$plant/want" "$plant/got" | head -n 6 | sed 's/^/# /'
			echo "not ok - $name, $by compiler"
			status=1
		fi
	done
	run "$BUILD/tools/digest-$arch" "$@" seed=2 >"$plant/got"
	expect_some "$name, another seed" cmp "$plant/want" "$plant/got"
}

for arch in x86 arm64 powerpc; do
	compare "mmap8 on $arch" "$arch" mmap8 threads=16 iterations=40
	compare "mmap8 with chasers on $arch" "$arch" mmap8 threads=4 iterations=40 \
		chasers=2 chase=200 touch=16
	compare "dontneed on $arch" "$arch" dontneed threads=2 iterations=40 touch=40
	compare "ebizzy on $arch" "$arch" ebizzy threads=6 iterations=3 chunks=2 alloc=1
done
exit $status
