#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo.sh BUILD [FULL]: the two tables of the 2019 thread, simulated, and the same
# loop on this host. 5,000 iterations a thread; with FULL the thread's 100,000.
set -eu
tlblab=$1/tlblab
if [ -n "${2-}" ]; then
	iterations=100000 host=20000
	scale="At full size: 16 threads x 100,000 iterations."
else
	iterations=5000 host=2000
	scale="Scaled: 5,000 of the thread's 100,000 iterations, so times are 1/20."
fi

# The command as one would type it, in lines under 80 columns.
show()
{
	line="\$ tlblab" option=
	for word in "$@"; do
		case $word in
		-*) option="$word " && continue ;;
		esac
		word=$option$word option=
		if [ $((${#line} + ${#word})) -gt 76 ]; then
			echo "$line \\"
			line="      $word"
		else
			line="$line $word"
		fi
	done
	echo "$line"
	"$tlblab" "$@"
	echo
}

s0()
{
	show run mmap8 -m "$1" --era 5.2-rc2 -s "mmu_gather.nested=$2,fullmm_tables" \
		-p "iterations=$iterations"
}

cat <<EOT
1. mmap8 on the 46-CPU arm64 server of the 2019 thread "mm: mmu_gather: remove
__tlb_reset_range() for force flush": its second version (a ranged flush)
beside the third, which landed (the whole mm).
$scale
Published, means of 5 runs: real 153.8 -> 46.9 s, sys 962.6 -> 107.7 s.

EOT
s0 arm64-46 force_range_tables
cat <<EOT
2. The same thread's POWER9: mainline of then beside the third version.
$scale
Published, means of 10 runs (sd): real 37.38 (2.78) -> 37.12 (2.11) s,
user 1.42 -> 1.55 s, sys 54.66 -> 55.70 s: no difference.
It can show none: 16 MiB are 256 pages of 64K, above the ceiling of 33, so that
both variants flush the whole PID. bench/power_ceiling has the sizes below.

EOT
s0 power9-8335gth force_range
echo "3. The same loop through this host's own kernel."
echo
show run mmap8 -m native -t "$(nproc)" -p "iterations=$host"
