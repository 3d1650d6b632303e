#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `tlblab check' and `tlblab replay' as a user meets them: bad input, verdicts, exit
# statuses, formats, witnesses.
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
TLBLAB=${TLBLAB:-$SRC/build/tlblab}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME="$tmp/cache"
status=0

# said NAME: whether the last test held is in $good.
said()
{
	if [ "$good" ]; then
		echo "ok - $1"
	else
		sed 's/^/# /' "$tmp/out" "$tmp/err"
		echo "not ok - $1"
		status=1
	fi
}

# run STATUS ARGUMENTS...
run()
{
	wanted=$1
	shift
	rc=0
	"$TLBLAB" "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
	good=
	[ $rc -ne "$wanted" ] || good=1
	[ $rc -eq "$wanted" ] || echo "# exit status $rc, not $wanted"
}

# bad 'LINE' ARGUMENTS...: status 2, nothing on standard output, one line on standard
# error; LINE is a shell pattern.
bad()
{
	expected=$1
	shift
	run 2 "$@"
	[ ! -s "$tmp/out" ] || good=
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || good=
	# shellcheck disable=SC2254 # a pattern is meant
	case $(cat "$tmp/err") in
	$expected) ;;
	*) good= ; echo "# expected: $expected" ;;
	esac
	said "$*"
}

# file NAME LINE...: a scenario of two threads.
file()
{
	f=$tmp/$1.tlb
	shift
	{
		echo 'arch: x86'
		echo 'init: A = mmap(NULL, 4K, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS)'
		printf '%s\n' "$@"
	} >"$f"
}

bad 'tlblab: check what? *' check
bad 'tlblab: ./nowhere.tlb: No such file or directory' check ./nowhere.tlb
mkdir "$tmp/none"
bad "tlblab: $tmp/none: no scenario (\*.tlb) and no model (\*.c) in this folder" check "$tmp/none"
bad 'tlblab: no architecture "x68"; the nearest is "x86"' check -a x68 .
bad 'tlblab: no strategy "pc"; the nearest is "pct"' check --strategy pc .
bad 'tlblab: no format "csv"; the nearest is *' check -f csv .
bad 'tlblab: "knob" is not KNOB=VALUE' check -s knob .
bad 'tlblab: -s a.b is given twice' check -s a.b=1 -s a.b=2 .
bad 'tlblab: --budget: expected seconds such as 0.5, not "0"' check --budget 0 .
bad 'tlblab: --bound: expected a number from 0 to 1000, not "-1"' check --bound -1 .
bad 'tlblab: --witness /nowhere/w: No such file or directory' \
	check --witness /nowhere/w "$SRC/scenarios"

file call 'cpu0: lod(A)'
bad "tlblab: $f:3:7: there is no call \"lod\"; the nearest is \"load\"" check "$f"
file knob 'cpu0: load(A)' 'expect: pass with mmu_gather.nestd=ignore'
bad "tlblab: $f:4:19: there is no knob \"mmu_gather.nestd\" on x86; the nearest is \"mmu_gather.nested\"" \
	check "$f"
file value 'cpu0: load(A)' 'expect: pass with mmu_gather.nested=ignor'
bad "tlblab: $f:4:19: mmu_gather.nested has no value \"ignor\"; the nearest is \"ignore\" of *" \
	check "$f"
file feature 'features: mmu_gather.nested=ignore' 'cpu0: load(A)'
bad "tlblab: $f:3:11: mmu_gather.nested is a policy; features are what hardware has" \
	check "$f"
file era 'era: 5.2-rc' 'cpu0: load(A)'
bad "tlblab: $f:3:6: there is no era \"5.2-rc\"; the nearest is \"5.2-rc2\"" check "$f"
file good 'cpu0: load(A)'
bad 'tlblab: no era "5.2-rc"; the nearest is "5.2-rc2"' check --era 5.2-rc "$f"
bad 'tlblab: no knob "mm.rwsm" on x86; the nearest is "mm.rwsem"' \
	check -s mm.rwsm=xadd "$f"
bad 'tlblab: -s arm64.ttl: no check is on that architecture' check -s arm64.ttl=on "$f"
bad 'tlblab: no file has a check for the architectures of -a' check -a arm64 "$f"
file init 'init: munmap(A + 1, 4K)' 'cpu0: load(A)'
bad "tlblab: $f: init: munmap(A + 1, 4K) = -22" check "$f"
file range 'cpu0: load(A + 0x7fffffff0000)'
bad "tlblab: $f:3:14: expected an address below 0x800000000000, the end of user space on x86, not *" \
	check "$f"

bad 'tlblab: replay what? *' replay
bad 'tlblab: replay takes one witness' replay a b
bad 'tlblab: ./nowhere: No such file or directory' replay ./nowhere
bad 'tlblab: no violation with the id 0123456789 is kept here (*/witness/0123456789.json)' \
	replay 0123456789
echo '{' >"$tmp/w.json"
bad "tlblab: $tmp/w.json: 2:0: not a witness: *" replay "$tmp/w.json"
echo '{}' >"$tmp/w.json"
bad "tlblab: $tmp/w.json: not a witness: *" \
	replay "$tmp/w.json"

# Verdicts.
file pass 'cpu0: store(A, 1)' 'cpu1: r = load(A + 4K); assert(r == SIGSEGV)'
run 0 check "$f"
grep -q '^pass, x86: pass (complete to 2 preemptions; [0-9]* schedules in ' "$tmp/out" || good=
! grep -q exhaustive "$tmp/out" || good=
[ ! -s "$tmp/err" ] || good=
said 'a scenario that passes, with its bound'
run 0 check --bound 0 "$f"
grep -q '^pass, x86: pass (complete to 0 preemptions;' "$tmp/out" || good=
said 'another bound'
run 1 check --strategy random --budget 0.3 "$f"
grep -q '^pass, x86: inconclusive; EXPECTED pass (random: the budget ended after ' "$tmp/out" ||
	good=
said 'a search by chance proves nothing'

file fail 'cpu0: r = load(A); assert(r == 0)' 'cpu1: store(A, 1)' 'cpu1: load(A)'
run 1 check --witness "$tmp/w.json" "$f"
grep -q '^fail, x86: violation ASSERT; EXPECTED pass (' "$tmp/out" || good=
id=$(sed -n 's/.*tlblab replay \([0-9a-z]\{10\}\)$/\1/p' "$tmp/out")
[ -n "$id" ] && [ -f "$XDG_CACHE_HOME/tlblab/witness/$id.json" ] || good=
[ "$(grep -c '^    ' "$tmp/out")" -le 26 ] || good=
said 'a violation has a story, an id and a witness'
file any 'cpu0: r = load(A); assert(r == 0)' 'cpu1: store(A, 1)' 'expect: violation'
run 0 check "$f"
said 'a violation that is expected'
file other 'cpu0: r = load(A); assert(r == 0)' 'cpu1: store(A, 1)' \
	'expect: violation STALE-READ'
run 1 check "$f"
grep -q 'violation ASSERT; EXPECTED violation STALE-READ' "$tmp/out" || good=
said 'another violation than is expected'

# Replay.
run 0 replay "$id"
cp "$tmp/out" "$tmp/first"
tail -1 "$tmp/out" | grep -q '^ASSERT: ' || good=
said 'replay by id ends in the same violation'
run 0 replay "$tmp/w.json"
cmp -s "$tmp/out" "$tmp/first" || good=
said 'replay by file, and the same every time'
# Changed by hand; then with an id that says so, as of another core.
sed 's/"core": "[0-9a-f]*"/"core": "0123456789abcdef"/' "$tmp/w.json" >"$tmp/core.json"
bad "tlblab: $tmp/core.json: was changed: its id would be *, not $id" \
	replay "$tmp/core.json"
changed=$(sed -n 's/.*its id would be \([0-9a-z]*\), not .*/\1/p' "$tmp/err")
sed "s/\"id\": \"$id\"/\"id\": \"$changed\"/" "$tmp/core.json" >"$tmp/other.json"
bad "tlblab: $tmp/other.json: made with another core: *" replay "$tmp/other.json"

# Formats.
run 1 check -f ktap "$tmp/pass.tlb" "$tmp/fail.tlb" "$tmp/any.tlb"
[ "$(sed -n 1,2p "$tmp/out")" = "KTAP version 1
1..3" ] || good=
[ "$(grep -v '^#' "$tmp/out" | sed 1,2d)" = "ok 1 pass, x86
not ok 2 fail, x86
ok 3 any, x86" ] || good=
said 'KTAP'
run 1 check -f json "$tmp/pass.tlb" "$tmp/fail.tlb"
if command -v python3 >/dev/null; then
	python3 - "$tmp/out" <<-'EOP' || good=
	import json, sys
	r = json.load(open(sys.argv[1]))
	assert r["tool"] == "tlblab"
	a, b = r["results"]
	assert list(a) == ["scenario", "arch", "era", "knobs", "expected", "verdict",
		"rule", "bound", "complete", "schedules", "seconds", "id", "story"]
	assert a["verdict"] == "pass" and a["complete"] and a["bound"] == 2
	assert a["rule"] is None and a["id"] is None and a["story"] == []
	assert b["verdict"] == "violation" and b["rule"] == "ASSERT"
	assert len(b["id"]) == 10 and 0 < len(b["story"]) <= 25
	EOP
fi
said 'JSON'
exit $status
