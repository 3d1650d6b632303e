#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each command that README.md and docs/threads.md show must work. They are taken from
# the text (```sh blocks; in README.md also what is indented by four spaces), scaled
# down, and run. Scaling:
#
#	run W ...		one run instead of three, unless it says -r; -r and
#				iterations= and rounds= shrink to the sizes below
#	... --ranges		five runs, the least it takes
#	check ...		no less time for being slow: loaded hosts, sanitizers
#	patched=FILE		the module that base= names stands in
#	build/			the build folder under test
#
# Not run: what changes or builds a copy of the tree, and make (SKIP below).
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$SRC/build}
export TLBLAB_MACHINES="$SRC/machines" TLBLAB_CORES="$BUILD"
SKIP='^(make |cp -r core |sed -i |\$EDITOR )'
ITERATIONS=40 ROUNDS=5 RUNS_MAX=2 BUDGET=240
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# commands FILE INDENTED: one command a line, continuation lines joined.
commands()
{
	awk -v indented="$2" '
		/^```/		{ fenced = !fenced; sh = fenced && $0 == "```sh"; next }
		fenced && !sh	{ next }
		sh		{ text = $0 }
		!fenced		{ if (!indented || !sub(/^    /, "")) next; text = $0 }
		text ~ /^[ \t]*(#|$)/ { next }
		{
			sub(/^[ \t]+/, "", text)
			line = line text
			if (sub(/\\$/, "", line))
				next
			print line
			line = ""
		}' "$1"
}

scale()
{
	awk -v iterations=$ITERATIONS -v rounds=$ROUNDS -v runs=$RUNS_MAX -v build="$BUILD/" \
		-v budget=$BUDGET '
	function cap(name, most,	value)
	{
		if (match($0, name "[0-9]+")) {
			value = substr($0, RSTART + length(name), RLENGTH - length(name))
			if (value + 0 > most)
				$0 = substr($0, 1, RSTART - 1) name most substr($0, RSTART + RLENGTH)
			return 1
		}
		return 0
	}
	{
		gsub(/(^|[ =])build\//, "&\001")
		gsub(/build\/\001/, build)
		if (match($0, /base=[^ ]*/)) {
			base = substr($0, RSTART + 5, RLENGTH - 5)
			gsub(/patched=[^ ]*/, "patched=" base)
		}
		if (/ check / && !/ --budget/)
			$0 = $0 " --budget " budget
		if (match($0, / run [a-z0-9-]+/)) {
			head = substr($0, 1, RSTART + RLENGTH - 1)
			workload = substr($0, RSTART + 5, RLENGTH - 5)
			$0 = substr($0, RSTART + RLENGTH)
			ranges = / --ranges/
			if (!cap("-r ", ranges ? 5 : runs))
				head = head " -r " (ranges ? 5 : 1)
			if (workload == "mmap5") {
				if (!cap("rounds=", rounds))
					head = head " -p rounds=" rounds
			} else if (workload != "munmap-thp") {	# has none
				# 4096 pages each, there and back.
				n = workload == "page-migrate" ? 2 : iterations
				if (!cap("iterations=", n))
					head = head " -p iterations=" n
			}
			$0 = head $0
		}
		print
	}'
}

cd "$SRC"
for file in README.md docs/threads.md; do
	indented=
	[ $file != README.md ] || indented=1
	commands $file "$indented" | { grep -vE "$SKIP" || true; } >"$tmp/shown"
	scale <"$tmp/shown" >"$tmp/scaled"
	if ! [ -s "$tmp/shown" ]; then
		echo "not ok - $file shows no command"
		status=1
		continue
	fi
	paste -d '\n' "$tmp/shown" "$tmp/scaled" >"$tmp/both"
	while IFS= read -r shown && IFS= read -r scaled; do
		rc=0
		timeout $((BUDGET + 10)) sh -c "$scaled" >"$tmp/out" 2>&1 </dev/null || rc=$?
		if [ $rc -eq 0 ] && [ -s "$tmp/out" ]; then
			echo "ok - $file: $shown"
		else
			echo "not ok - $file: $shown"
			echo "# as: $scaled"
			echo "# exit status $rc"
			sed 's/^/# /' "$tmp/out"
			status=1
		fi
	done <"$tmp/both"
done
exit $status
