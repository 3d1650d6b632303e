#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# mutate.sh BUILD [OPTION...] [SITE...]: leave out each fence, invalidation, lock and atomic of
# core/ in turn; bench/mutate.c says more. A run of all sites writes docs/mutation.md, and
# remembers in BUILD what caught each.
set -eu
build=$(realpath "$1")
shift
SRC=$(realpath "$(dirname "$0")/..")
export SRC TLBLAB_CORES="$build"
[ $# -gt 0 ] || set -- -j "$(nproc)" -H "$SRC/tests/mutate/hints.txt" \
	-H "$build/mutate.hints" -o "$SRC/docs/mutation.md"
exec "$build/bench/mutate" "$@"
