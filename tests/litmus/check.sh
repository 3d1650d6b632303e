#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `tlblab check' on litmus tests as a user meets it: herd's report, folders with kinds,
# exit statuses, bad input.
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
TLBLAB=${TLBLAB:-$SRC/build/tlblab}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# run NAME STATUS PATTERN ARGUMENTS...: exit status, and a line of the output that matches.
run()
{
	name=$1 wanted=$2 pattern=$3
	shift 3
	rc=0
	"$TLBLAB" check "$@" >"$tmp/out" 2>&1 || rc=$?
	if [ $rc -eq "$wanted" ] && grep -qxE "$pattern" "$tmp/out"; then
		echo "ok - $name"
	else
		sed 's/^/# /' "$tmp/out"
		echo "not ok - $name: exit status $rc, not $wanted, or no line $pattern"
		status=1
	fi
}

x86=$SRC/models/litmus-x86
run "herd's report: states" 0 "States 4" "$x86/SB.litmus"
run "herd's report: a state" 0 "0:RAX=0; 1:RAX=0;" "$x86/SB.litmus"
run "herd's report: observation" 0 "Observation SB Sometimes 1 3" "$x86/SB.litmus"
run "herd's report: Ok" 0 "Ok" "$x86/SB.litmus"
run "a story" 0 "How it ends in .*" -v "$x86/remap.litmus"
run "a story's line" 0 " *P0 +MOV EAX,\[x\] +loads x : 1, translated by .*, which is stale" \
	-v "$x86/remap.litmus"
run "a folder" 0 "[0-9]+ tests, [0-9]+ with an expected kind: 0 of [0-9]+ forbidden reached, 0 of [0-9]+ required missed, .*\(100\.0 %\); 0 unsupported, 0 unfinished" "$x86"

mkdir "$tmp/wrong" "$tmp/missed" "$tmp/lacking" "$tmp/bad"
cp "$x86/SB.litmus" "$tmp/wrong"
echo "SB Forbidden" >"$tmp/wrong/kinds.txt"
run "forbidden, and reached" 1 "Observation SB Sometimes 1 3 WRONG: it is Forbidden" "$tmp/wrong"
cp "$x86/SB.litmus" "$tmp/missed"
echo "SB Required" >"$tmp/missed/kinds.txt"
run "required, and missed" 1 ".* 1 of 1 required missed.*" "$tmp/missed"
printf 'AArch64 lacking\n{}\nP0;\nIC IVAU,X1;\nexists (true)\n' >"$tmp/lacking/a.litmus"
run "unsupported is said" 0 "Unsupported lacking: .*/a.litmus:4:1: the instruction IC IVAU,X1" \
	"$tmp/lacking"
run "and counted" 0 "1 tests, 0 with .* 1 unsupported, 0 unfinished" "$tmp/lacking"
printf 'AArch64 bad\n{}\nP0;\nLDR X1,X2;\n' >"$tmp/bad/a.litmus"
run "no test" 2 "tlblab: .*/a.litmus:4:8: expected \"\[\", not \"X2\"" "$tmp/bad/a.litmus"
echo "SB Perhaps" >"$tmp/wrong/kinds.txt"
run "no kind" 2 "tlblab: .*/kinds.txt:1: expected NAME and Allowed, Forbidden or Required" \
	"$tmp/wrong"
run "no such file" 2 "tlblab: .*/none.litmus: No such file or directory" "$tmp/none.litmus"
run "two kinds of files" 2 "tlblab: litmus tests and other files are checked apart" \
	"$x86" "$SRC/scenarios/two-zappers.tlb"
run "text only" 2 "tlblab: litmus tests are reported as text only" -f json "$x86"
exit $status
