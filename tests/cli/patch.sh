#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The way of somebody with a patch: copy core/, change one line of a flush, build that
# (in less than 10 s of CPU time, so less than 10 s on any idle machine), run both
# as columns, see them differ. And a module of another seam is refused.
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
TLBLAB=${TLBLAB:-$SRC/build/tlblab}
BUILD=${BUILD:-$SRC/build}
export TLBLAB_MACHINES="$SRC/machines"
unset MAKEFLAGS MAKELEVEL MFLAGS
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

check()
{
	name=$1
	shift
	if "$@"; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		status=1
	fi
}

# Of all children waited for so far, in seconds, rounded down: "0m1.23s 0m0.4s"
# is the second line of times(1).
cpu_seconds()
{
	times | awk 'NR == 2 {
		for (i = 1; i <= 2; i++) {
			split($i, t, /[ms]/)
			sum += 60 * t[1] + t[2]
		}
		print int(sum)
	}'
}

# patched ARCH FILE SED: the change is one line.
patched()
{
	copy=$tmp/core-$1
	cp -r "$SRC/core" "$copy"
	sed -i "$3" "$copy/arch/$1/$2"
	[ "$(diff "$SRC/core/arch/$1/$2" "$copy/arch/$1/$2" | grep -c '^>')" -eq 1 ] ||
		return 1
	before=$(cpu_seconds)
	make --no-print-directory -C "$SRC" core ARCH="$1" SRC="$copy" OUT="$tmp/$1.so" ||
		return 1
	[ $(($(cpu_seconds) - before)) -lt 10 ]
}

# both ARCH ARGUMENTS...: base and patched as columns, into $tmp/ARCH.csv.
both()
{
	arch=$1
	shift
	"$TLBLAB" run dontneed --pin -p hint=0x200000000000 -p iterations=20 -r 1 \
		-f csv "$@" --core "base=$BUILD/tlblab-core-$arch.so" \
		--core "patched=$tmp/$arch.so" >"$tmp/$arch.csv"
}

# per_op ARCH COLUMN METRIC
per_op()
{
	awk -F, -v column="$2" -v metric="$3" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	index($0, column) && $(at["metric"]) == metric { value = $(at["mean"]) }
	index($0, column) && $(at["metric"]) == "ops" { ops = $(at["mean"]) }
	END { printf "%.2f", value / ops }' "$tmp/$1.csv"
}

# expect ARCH METRIC BASE PATCHED, both per operation
expect()
{
	[ "$(per_op "$1" base "$2")" = "$3" ] && [ "$(per_op "$1" patched "$2")" = "$4" ] && return
	echo "# $2: $(per_op "$1" base "$2"), $(per_op "$1" patched "$2"), not $3, $4"
	return 1
}

check "arm64: one line is changed and built" patched arm64 tlb.c \
	's/size >= kernel()->geo.ptrs_per_pte \* stride/size >= 64 * stride/'
check "arm64: both run" both arm64 -m arm64-46 -p touch=200
check "arm64: 200 pages one by one, or all at once" eval \
	'expect arm64 flush.tlbi_vale1is 200.00 0.00 && expect arm64 flush.tlbi_aside1is 0.00 1.00'

check "x86: one line is changed and built" patched x86 tlb.c \
	's/KNOB_POLICY, 33, 0, 1 << 20/KNOB_POLICY, 8, 0, 1 << 20/'
check "x86: both run" both x86 -m qemu-x86-max -p touch=16
check "x86: 16 pages one by one, or all at once" eval \
	'expect x86 flush.invlpg 16.00 0.00 && expect x86 flush.cr3 0.00 1.00'

check "powerpc: one line is changed and built" patched powerpc tlb.c \
	's/POWER9_TLB_SETS_RADIX \* 2, 0/8, 0/'
check "powerpc: both run" both powerpc -m qemu-power9 -p touch=16
check "powerpc: 16 pages one by one, or all 128 classes" eval \
	'expect powerpc flush.tlbiel_ric0 16.00 128.00 && expect powerpc flush.ptesync 2.00 2.00'

# A tree whose seam has one more account builds a core; this tlblab refuses it and
# says both hashes.
other_seam()
{
	mkdir "$tmp/tree"
	cp -r "$SRC/core" "$SRC/include" "$SRC/scripts" "$SRC/Makefile" "$tmp/tree"
	sed -i 's/^	X(IDLE, idle)/	X(SPARE, spare) X(IDLE, idle)/' \
		"$tmp/tree/include/tlblab/machine.h"
	make --no-print-directory -C "$tmp/tree" core ARCH=arm64 SRC=core \
		OUT="$tmp/other.so" || return 1
	for dir in "$SRC" "$tmp/tree"; do
		bash "$SRC/scripts/machine-abi.sh" "$dir/include/tlblab" |
			sed -n 's/.*TLBLAB_ABI 0x\([0-9a-f]*\)ULL/\1/p'
	done >"$tmp/hashes"
	rc=0
	"$TLBLAB" run mmap8 -m arm64-46 --core other="$tmp/other.so" >"$tmp/out" \
		2>"$tmp/err" || rc=$?
	[ $rc -eq 2 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
		[ "$(sort -u "$tmp/hashes" | wc -l)" -eq 2 ] &&
		grep -q "ABI is $(sed -n 2p "$tmp/hashes"), this tlblab's is $(sed -n 1p "$tmp/hashes")" \
			"$tmp/err"
}
check "a core for another seam is refused with both hashes" other_seam

no_copy()
{
	rc=0
	make --no-print-directory -C "$SRC" core ARCH=arm64 SRC="$tmp/nowhere" \
		OUT="$tmp/none.so" 2>"$tmp/err" || rc=$?
	[ $rc -ne 0 ] && grep -q 'DIR is a copy of core/' "$tmp/err" && [ ! -e "$tmp/none.so" ]
}
check "what is no copy of core/ is refused" no_copy
exit $status
