#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/refill.md is what bench/refill prints: its text, its headings and, of each table,
# the row of one P.
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$SRC/build}
export TLBLAB_MACHINES="$SRC/machines" TLBLAB_CORES="$BUILD"
UNITS=4 P=1024
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# rows P: without the other rows, and what is said of a table as a whole.
rows()
{
	awk -v p="$1" '
		/^\| [0-9]/ && $2 != p		{ next }
		/^Dropping everything \(/	{ getline; next }
		{ print }'
}

"$BUILD/bench/refill" $UNITS $P >"$tmp/printed"
rows $P <"$SRC/docs/refill.md" >"$tmp/shown"
if ! [ "$(grep -c "^| $P |" "$tmp/shown")" -ge 24 ]; then
	echo "not ok - docs/refill.md has a row of $P in each table"
	exit 1
fi
if diff "$tmp/shown" "$tmp/printed" >"$tmp/diff"; then
	echo "ok - docs/refill.md: its text, and each table's row of $P"
else
	echo "not ok - docs/refill.md: its text, and each table's row of $P"
	sed 's/^/# /' "$tmp/diff"
	echo "# again: build/bench/refill >docs/refill.md"
	exit 1
fi
