#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo.sh BUILD [FULL]: the table of the 2019 thread, simulated, and the same loop
# on this host. 5,000 iterations a thread; with FULL the thread's 100,000.
set -eu
tlblab=$1/tlblab
if [ -n "${2-}" ]; then
	iterations=100000 host=20000
	scale="at full size: 16 threads x 100,000 iterations"
else
	iterations=5000 host=2000
	scale="scaled: 5,000 of the thread's 100,000 iterations a thread, so times are 1/20"
fi

show()
{
	echo "\$ tlblab $*"
	"$tlblab" "$@"
	echo
}

cat <<EOF
mmap8 on the 46-CPU arm64 server of the 2019 thread "mm: mmu_gather: remove
__tlb_reset_range() for force flush": its second version (a ranged flush) beside
the third, which landed (the whole mm).
$scale.
Published, means of 5 runs: real 153.8 -> 46.9 s, sys 962.6 -> 107.7 s.

EOF
show run mmap8 -m arm64-46 --era 5.2-rc2 \
	-s mmu_gather.nested=force_range_tables,fullmm_tables -p "iterations=$iterations"
echo "The same loop through this host's own kernel."
echo
show run mmap8 -m native -t "$(nproc)" -p "iterations=$host"
