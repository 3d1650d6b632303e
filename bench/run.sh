#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh BUILD: the benchmarks, one after the other. Each program of bench/ prints a
# table with a heading of its own; native.sh is last, since it measures this host.
# fit_s0 is no benchmark: it finds the costs of machines/arm64-46.yaml, in minutes. Nor is
# mutate and litmus_diff, which have targets of their own.
set -eu
build=$1
cd "$(dirname "$0")/.."
export TLBLAB_MACHINES="$PWD/machines"
export TLBLAB_CORES="$PWD/$build"

for f in $(scripts/sources.sh bench); do
	name=$(basename "$f" .c)
	case $name in fit_s0 | mutate | litmus_diff) continue ;; esac
	echo
	"$build/bench/$name"
done
echo
bench/native.sh "$build"
