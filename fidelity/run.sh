#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Boots Debian's stock kernels under emulation, counts the invalidation instructions
# that they execute in our workloads, and prints counted beside predicted.
#
#	fidelity/run.sh [-n ITERATIONS] [-c] [-a] [BUILD [MACHINE...]]
#
#	-n N	iterations of a thread (200)
#	-c	compare only: use the counts of the last run, boot nothing
#	-a	also print barriers of no flush, and kinds that only now and then occur
#	BUILD	where build/tlblab is (build); all our files are in BUILD/fidelity
#	MACHINE	tlblab's names; default: all of the table below
#
# Leaves BUILD/fidelity/counts.tsv (see docs/fidelity.md). Needs no root, once
# scripts/fidelity-setup.sh has been there. Exit 0: all predictions met, or none
# was to be had; 1: a prediction differs; 2: something could not be run.
set -eu

SRC=$(cd "$(dirname "$0")" && pwd)

# machine, architecture, QEMU's -cpu, more kernel arguments
MACHINES='
qemu-x86-max	x86	max
qemu-arm64-max	arm64	max,pauth-impdef=on
qemu-arm64-n1	arm64	neoverse-n1
qemu-arm64-a72	arm64	cortex-a72	kpti=1
qemu-power9	powerpc	POWER9
qemu-power10	powerpc	POWER10
'
TAB=$(printf '\t')

die()
{
	echo "fidelity: $*" >&2
	exit 2
}

# ------------------------------------------------------------------- build

# build_one OUT COMPILER ARGUMENTS...: unless OUT is newer than all sources.
build_one()
{
	out=$BIN/$1
	shift
	if [ -e "$out" ] && [ -z "$(find "$SRC" -newer "$out" -name '*.[ch]')" ]; then
		return 0
	fi
	(cd "$SRC" && "$@" -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$out")
}

build_all()
{
	mkdir -p "$BIN"
	build_one plugin.so gcc -fPIC -shared -fvisibility=hidden \
		plugin.c classify.c barrier.c
	build_one initramfs gcc initramfs.c cpio.c
	build_one init-x86 x86_64-linux-gnu-gcc -static -pthread init.c
	build_one init-arm64 aarch64-linux-gnu-gcc -static -pthread init.c
	build_one init-powerpc powerpc64le-linux-gnu-gcc -static -pthread init.c
	for arch in x86 arm64 powerpc; do
		"$BIN/initramfs" "$BIN/init-$arch" "$BIN/initramfs-$arch"
	done
}

# -------------------------------------------------------------------- boot

# qemu ARCH CPU ARGUMENTS PLUGIN-OUTPUT: one host thread for all vCPUs; with
# more, a run takes up to ten times longer and the plugin would not be sound.
qemu()
{
	case $1 in
	x86)	emulator=qemu-system-x86_64 board=q35 console=ttyS0 ;;
	arm64)	emulator=qemu-system-aarch64 board=virt,gic-version=3 console=ttyAMA0 ;;
	powerpc) emulator=qemu-system-ppc64 board=pseries console=hvc0 ;;
	esac
	timeout --foreground $((120 + ITERATIONS)) "$emulator" -M "$board" -cpu "$2" \
		-accel tcg,thread=single -smp 4 -m 2G -nographic -no-reboot -nic none \
		-kernel "$CACHE/kernel/$1/vmlinuz" -initrd "$BIN/initramfs-$1" \
		-append "console=$console panic=-1 nokaslr quiet $3" \
		-plugin "$BIN/plugin.so,out=$4" </dev/null
}

# count_machine MACHINE ARCH CPU ARGUMENTS
count_machine()
{
	raw=$CACHE/raw/$1
	kernel=$CACHE/kernel/$2
	[ -s "$kernel/version" ] || die "no kernel for $2: run scripts/fidelity-setup.sh"
	version=$(cat "$kernel/version")
	start=$(date +%s)
	mkdir -p "$CACHE/raw" "$CACHE/counts"
	rm -f "$CACHE/counts/$1.tsv"
	qemu "$2" "$3" "${4:-} fidelity_iterations=$ITERATIONS" "$raw.plugin" \
		>"$raw.log" 2>&1 || die "$1: QEMU failed; see $raw.log"
	! grep 'fidelity: failed' "$raw.log" >&2 || die "$1: the guest failed; see $raw.log"
	grep -q "fidelity: kernel .*Debian $version" "$raw.log" ||
		die "$1: the guest is no Debian $version; see $raw.log"
	awk -f "$SRC/join.awk" -v machine="$1" -v version="$version" \
		"$raw.log" "$raw.plugin" >"$raw.tsv" ||
		die "$1: the counts are not whole; see $raw.log and $raw.plugin"
	mv "$raw.tsv" "$CACHE/counts/$1.tsv"
	echo "fidelity: $1, Linux $version: booted and counted in" \
		"$(($(date +%s) - start)) s" >&2
}

count_all()
{
	echo "$MACHINES" | while IFS=$TAB read -r machine arch cpu arguments; do
		[ -n "$machine" ] || continue
		wanted "$machine" || continue
		count_machine "$machine" "$arch" "$cpu" "$arguments"
	done
}

# ----------------------------------------------------------------- compare

wanted()
{
	case " $WANTED " in
	"  " | *" $1 "*) return 0 ;;
	*) return 1 ;;
	esac
}

known()
{
	case "$MACHINES" in
	*"
$1$TAB"*) return 0 ;;
	*) return 1 ;;
	esac
}

gather_counts()
{
	{
		printf '# machine\tkernel\tworkload\tthreads\ttouch\titerations\t'
		printf 'kind\tmedian\ttotal\todd\tmin\tmax\n'
		echo "$MACHINES" | while IFS=$TAB read -r machine rest; do
			[ -n "$machine" ] || continue
			wanted "$machine" || continue
			[ -s "$CACHE/counts/$machine.tsv" ] ||
				die "no counts of $machine: run without -c"
			cat "$CACHE/counts/$machine.tsv"
		done
	} >"$CACHE/counts.tsv.new"
	mv "$CACHE/counts.tsv.new" "$CACHE/counts.tsv"
}

ITERATIONS=200 boot=1 all=
while getopts n:ca option; do
	case $option in
	n) ITERATIONS=$OPTARG ;;
	c) boot= ;;
	a) all=-a ;;
	*) die "usage: fidelity/run.sh [-n ITERATIONS] [-c] [-a] [BUILD [MACHINE...]]" ;;
	esac
done
shift $((OPTIND - 1))
# The plugin keeps 65536 iterations of a window, which four threads make.
case $ITERATIONS in
'' | 0* | *[!0-9]* | ??????*) ITERATIONS=0 ;;
esac
if [ "$ITERATIONS" -lt 1 ] || [ "$ITERATIONS" -gt 16384 ]; then
	die "-n: a number from 1 to 16384 was expected"
fi
BUILD=${1:-build}
[ $# -eq 0 ] || shift
WANTED=$*
for machine in $WANTED; do
	known "$machine" || die "$machine: unknown machine; known are:" \
		"$(echo "$MACHINES" | cut -f 1 | xargs)"
done
mkdir -p "$BUILD/fidelity"
CACHE=$(cd "$BUILD/fidelity" && pwd)
BIN=$CACHE/bin

mkdir -p "$BIN"
trap 'rm -f "$CACHE/counts.tsv.new"' EXIT
build_one compare gcc compare.c classify.c -ljansson -lm
if [ -n "$boot" ]; then
	build_all
	count_all
fi
gather_counts
"$BIN/compare" $all "$CACHE/counts.tsv" "$BUILD/tlblab"
