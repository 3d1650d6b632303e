#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# native.sh BUILD [PAIRS [ITERATIONS]]: what the tool costs a native run. mmap8
# with one thread through `tlblab run -m native` and as a plain C program, in turn,
# and the ratio of the two, per pair. The median is what counts: the target is
# below 1.02.
set -eu
export LC_ALL=C
build=$1 pairs=${2:-61} iterations=${3:-5000}

# Both on one CPU, the last: where a thread runs says more than which program it is.
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')

ours()
{
	taskset -c "$cpu" "$build/tlblab" run mmap8 -m native -t 1 -p "iterations=$iterations" -r 1 -f json |
		tr -d ' \n' | sed -n 's/.*"real_s":{"mean":\([0-9.e+-]*\).*/\1/p'
}

plain()
{
	taskset -c "$cpu" "$build/bench/mmap8_plain" 1 "$iterations"
}

echo "native: mmap8 -t 1, $iterations iterations, $pairs pairs, interleaved"
ours >/dev/null
plain >/dev/null
for i in $(seq "$pairs"); do
	# Who goes first changes from pair to pair.
	if [ $((i % 2)) = 0 ]; then
		a=$(ours) b=$(plain)
	else
		b=$(plain) a=$(ours)
	fi
	echo "$a $b"
done | awk '{ printf "%.6f %.6f %.4f\n", $1, $2, $1 / $2 }' | sort -k3,3n | awk '
	{ ratio[NR] = $3; ours += $1; plain += $2 }
	END {
		m = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
		printf "  tlblab %.4f s, plain C %.4f s (means)\n", ours / NR, plain / NR
		printf "  ratio: median %.4f, quartiles %.4f %.4f\n", m,
			ratio[int((NR + 3) / 4)], ratio[int((3 * NR + 3) / 4)]
	}'
