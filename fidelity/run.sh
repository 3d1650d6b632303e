#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Boots Debian's stock kernels under emulation, counts the invalidation instructions
# that they execute in our workloads, and prints counted beside predicted.
#
#	fidelity/run.sh [-n ITERATIONS] [-c] [-a | -s] [BUILD [MACHINE...]]
#
#	-n N	iterations of a thread (50)
#	-c	compare only: use the counts of the last run, boot nothing
#	-a	also print barriers of no flush, and kinds that only now and then occur
#	-s	a matrix of workloads, machines and eras instead of the figures
#	BUILD	where build/tlblab is (build); all our files are in BUILD/fidelity
#	MACHINE	tlblab's names; default: all of the table below
#
# Leaves BUILD/fidelity/counts.tsv (see docs/fidelity.md). Needs no root, once
# scripts/fidelity-setup.sh has been there. Exit 0: all predictions met, or none
# was to be had; 1: a prediction differs; 2: something could not be run.
set -eu

SRC=$(cd "$(dirname "$0")" && pwd)

# machine, kernel series, architecture, QEMU's -cpu, more kernel arguments
MACHINES='
qemu-x86-max	6.1	x86	max
qemu-arm64-max	6.1	arm64	max,pauth-impdef=on
qemu-arm64-n1	6.1	arm64	neoverse-n1
qemu-arm64-a72	6.1	arm64	cortex-a72	kpti=1
qemu-power9	6.1	powerpc	POWER9
qemu-power10	6.1	powerpc	POWER10
qemu-x86-max	6.12	x86	max
qemu-arm64-max	6.12	arm64	max,pauth-impdef=on
qemu-arm64-n1	6.12	arm64	neoverse-n1
qemu-arm64-a72	6.12	arm64	cortex-a72	kpti=1
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
	for kernel in "$CACHE"/kernel/*/*/; do
		arch=$(basename "$kernel") series=$(basename "$(dirname "$kernel")")
		"$BIN/initramfs" "$BIN/init-$arch" "$BIN/initramfs-$series-$arch" \
			"$kernel"modules/*.ko
	done
}

# -------------------------------------------------------------------- boot

# For /init: a child without a stack (its fork) has none that the kernel could write to.
NO_RSEQ=GLIBC_TUNABLES=glibc.pthread.rseq=0

# qemu ARCH CPU ARGUMENTS PLUGIN-OUTPUT SERIES: one host thread for all vCPUs; with
# more, a run takes up to ten times longer and the plugin would not be sound. Node 1 has
# memory only: where pages are moved to.
qemu()
{
	case $1 in
	x86)	emulator=qemu-system-x86_64 board=q35 console=ttyS0 ;;
	arm64)	emulator=qemu-system-aarch64 board=virt,gic-version=3 console=ttyAMA0 ;;
	powerpc) emulator=qemu-system-ppc64 board=pseries console=hvc0 ;;
	esac
	timeout --foreground $((300 + 2 * ITERATIONS)) "$emulator" -M "$board" -cpu "$2" \
		-accel tcg,thread=single -smp 4 -m 2G -nographic -no-reboot -nic none \
		-object memory-backend-ram,id=m0,size=1G \
		-object memory-backend-ram,id=m1,size=1G \
		-numa node,nodeid=0,cpus=0-3,memdev=m0 -numa node,nodeid=1,memdev=m1 \
		-kernel "$CACHE/kernel/$5/$1/vmlinuz" -initrd "$BIN/initramfs-$5-$1" \
		-append "console=$console panic=-1 nokaslr quiet $3 $NO_RSEQ" \
		-plugin "$BIN/plugin.so,out=$4" </dev/null
}

# count_machine MACHINE SERIES ARCH CPU ARGUMENTS
count_machine()
{
	raw=$CACHE/raw/$1-$2
	kernel=$CACHE/kernel/$2/$3
	[ -s "$kernel/version" ] || die "no kernel $2 for $3: run scripts/fidelity-setup.sh"
	version=$(cat "$kernel/version")
	start=$(date +%s)
	mkdir -p "$CACHE/raw" "$CACHE/counts"
	rm -f "$CACHE/counts/$1-$2.tsv"
	qemu "$3" "$4" "${5:-} fidelity_iterations=$ITERATIONS" "$raw.plugin" "$2" \
		>"$raw.log" 2>&1 || die "$1: QEMU failed; see $raw.log"
	! grep 'fidelity: failed' "$raw.log" >&2 || die "$1: the guest failed; see $raw.log"
	grep -q "fidelity: kernel .*Debian $version" "$raw.log" ||
		die "$1: the guest is no Debian $version; see $raw.log"
	awk -f "$SRC/join.awk" -v machine="$1" -v version="$version" \
		"$raw.log" "$raw.plugin" >"$raw.tsv" ||
		die "$1: the counts are not whole; see $raw.log and $raw.plugin"
	mv "$raw.tsv" "$CACHE/counts/$1-$2.tsv"
	echo "fidelity: $1, Linux $version: booted and counted in" \
		"$(($(date +%s) - start)) s" >&2
}

count_all()
{
	echo "$MACHINES" | while IFS=$TAB read -r machine series arch cpu arguments; do
		[ -n "$machine" ] || continue
		wanted "$machine" || continue
		count_machine "$machine" "$series" "$arch" "$cpu" "$arguments"
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
		echo "$MACHINES" | while IFS=$TAB read -r machine series rest; do
			[ -n "$machine" ] || continue
			wanted "$machine" || continue
			[ -s "$CACHE/counts/$machine-$series.tsv" ] ||
				die "no counts of $machine, $series: run without -c"
			cat "$CACHE/counts/$machine-$series.tsv"
		done
	} >"$CACHE/counts.tsv.new"
	mv "$CACHE/counts.tsv.new" "$CACHE/counts.tsv"
}

ITERATIONS=50 boot=1 all=
while getopts n:cas option; do
	case $option in
	n) ITERATIONS=$OPTARG ;;
	c) boot= ;;
	a | s) all=-$option ;;
	*) die "usage: fidelity/run.sh [-n ITERATIONS] [-c] [-a | -s] [BUILD [MACHINE...]]" ;;
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
		"$(echo "$MACHINES" | cut -f 1 | sort -u | xargs)"
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
"$BIN/compare" $all "$CACHE/counts.tsv" "$BUILD/tlblab" "$SRC/explained"
