#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# mutate.sh BUILD [OPTION...] [SITE...]: leave out each fence, invalidation, lock and atomic of
# core/ in turn; bench/mutate.c says more.
set -eu
build=$(realpath "$1")
shift
SRC=$(realpath "$(dirname "$0")/..")
export SRC TLBLAB_CORES="$build"
exec "$build/bench/mutate" "$@"
