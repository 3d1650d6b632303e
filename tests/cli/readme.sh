#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every command that README.md shows works: what stands indented by four spaces, in
# order. Scaled, so that it takes seconds: iterations=N becomes iterations=10, and runs 1.
# `make demo`, `make test` and `make fidelity` install or boot things; of them
# make itself says whether it knows what to do. Every file that it names is there.
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
ran=0

# The lines, those that end with a backslash joined with the next.
commands()
{
	awk '/^    / {
		sub(/^ */, "")
		more = sub(/ *\\$/, "")
		line = line (line ? " " : "") $0
		if (more) next
		print line
		line = ""
	}' "$SRC/README.md"
}

# Ours, not the installed or another build's; /tmp is ours, too.
here()
{
	echo "$1" | sed -e "s| #.*||" -e "s|/tmp/|$tmp/|g" \
		-e "s|=build/|=$BUILD/|g" -e "s|^build/tlblab run|$TLBLAB run -r 1|" \
		-e "s|^build/tlblab|$TLBLAB|" -e 's|iterations=[0-9]*|iterations=10|g' \
		-e 's/^make \(demo\|test\|fidelity\) *$/make -n \1/' \
		-e 's/^make/make --no-print-directory/'
}

commands >"$tmp/commands"
while read -r shown; do
	command=$(here "$shown")
	ran=$((ran + 1))
	if (cd "$SRC" && sh -euc "$command") >"$tmp/out" 2>&1; then
		echo "ok - $shown"
	else
		sed 's/^/# /' "$tmp/out"
		echo "not ok - $shown"
		status=1
	fi
done <"$tmp/commands"

if [ "$ran" -ge 10 ]; then
	echo "ok - it shows commands"
else
	echo "not ok - it shows commands: only $ran were found"
	status=1
fi

if [ -n "$(diff -r "$SRC/core" "$tmp/mycore")" ]; then
	echo "ok - its edit changes the core"
else
	echo "not ok - its edit changes the core"
	status=1
fi

missing=$(sed -n 's/^- \([a-z][^ :]*\): .*/\1/p' "$SRC/README.md" |
	while read -r file; do [ -e "$SRC/$file" ] || echo "$file"; done)
if [ -z "$missing" ]; then
	echo "ok - the files that it names are there"
else
	echo "not ok - the files that it names are there:" $missing
	status=1
fi
exit $status
