#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every bug that scenarios/ expects is found, and fast, on every architecture; and the
# fixes that are small enough are clean to preemption bound 2. (The others: make bench.)
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
TLBLAB=${TLBLAB:-$SRC/build/tlblab}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME="$tmp/cache"
# Of each check; a bug is found in milliseconds. It is for loaded and sanitized hosts.
BUDGET=${SANITIZED:+20}
BUDGET=${BUDGET:-5}
SMALL='mprotect-writer table-batch ttl-freed-tables zap-shared'
status=0

# check NAME ARGUMENTS...: all as expected?
check()
{
	name=$1
	shift
	if "$TLBLAB" check -f ktap "$@" >"$tmp/out" 2>&1; then
		echo "ok - $name"
	else
		sed 's/^/# /' "$tmp/out"
		echo "not ok - $name"
		status=1
	fi
}

# A copy of each scenario with nothing but its expected violations.
mkdir "$tmp/bugs"
for f in "$SRC"/scenarios/*.tlb; do
	grep -q '^expect: violation' "$f" || continue
	grep -v '^expect: pass' "$f" >"$tmp/bugs/$(basename "$f")"
done
for f in "$tmp"/bugs/*.tlb; do
	for arch in x86 arm64 powerpc; do
		# An architecture on which it is right has nothing to find.
		"$TLBLAB" check -a $arch -f ktap --bound 0 --budget 0.01 "$f" \
			>"$tmp/out" 2>&1 || true
		grep -q 'expected violation' "$tmp/out" || continue
		check "$(basename "$f" .tlb), $arch: the bugs are found" \
			-a $arch --budget $BUDGET "$f"
	done
done
for name in $SMALL; do
	check "$name: complete" --budget $((BUDGET * 4)) "$SRC/scenarios/$name.tlb"
done
exit $status
