#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# litmus-diff.sh BUILD [PROTOTYPE]: generated litmus tests, here and by the prototype of
# reference/arm64-mmu-model.md, whose folder PROTOTYPE is (one ex.cpp); sets of final states
# compared. NUMBER= and SEED= choose other tests.
set -eu
cd "$(dirname "$0")/.."
build=$1
prototype=${2:-../shared/tools/vmsa-prototype}
if [ ! -f "$prototype/ex.cpp" ]; then
	echo "litmus-diff: skipped: there is no $prototype/ex.cpp (PROTOTYPE= names its folder)"
	exit 0
fi
tests=$(mktemp -d)
trap 'rm -rf "$tests"' EXIT
[ "$build/vmsa" -nt "$prototype/ex.cpp" ] ||
	${CXX:-g++} -std=c++17 -O2 -w -o "$build/vmsa" "$prototype/ex.cpp"
"$build/bench/litmus_diff" "$build/vmsa" "$tests" "${NUMBER:-6000}" "${SEED:-1}"
