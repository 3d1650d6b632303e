#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Thread S0's bug, as a user sees it: mmap5 hangs at force_range and not at
# fullmm_tables; a run that can never end is ended, and says so; --time-limit.
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
TLBLAB=${TLBLAB:-$SRC/build/tlblab}
export TLBLAB_MACHINES="$SRC/machines"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

check()
{
	name=$1
	shift
	if "$@"; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		status=1
	fi
}

# figure FILE NAME: the mean of a metric in a CSV of one column.
figure()
{
	awk -F, -v name="$2" '$6 == name { print $8 }' "$1"
}

# is VALUE TEST-IN-AWK: of x; false when there is no value.
is()
{
	[ -n "$1" ] && awk -v x="$1" "BEGIN { exit !($2) }"
}

mmap5()
{
	timeout 100 "$TLBLAB" run mmap5 -m arm64-46 --era 5.2-rc2 -r 1 -f csv "$@"
}

# A million faults in a row of one access: no seed is spared in 200 rounds.
hangs()
{
	for seed in 1 2 3; do
		mmap5 -s mmu_gather.nested=force_range --seed $seed -p rounds=200 \
			-p limit=20000 >"$tmp/bad" || return 1
		is "$(figure "$tmp/bad" hung)" 'x == 1' || return 1
		is "$(figure "$tmp/bad" ops)" 'x < 200' || return 1
		is "$(figure "$tmp/bad" faults_per_s)" 'x > 100000' || return 1
	done
}
check "mmap5 hangs at force_range, seeds 1 to 3" hangs

hangs_not()
{
	for seed in 1 2 3; do
		mmap5 -s mmu_gather.nested=fullmm_tables --seed $seed -p rounds=200 \
			-p limit=20000 >"$tmp/good" || return 1
		is "$(figure "$tmp/good" hung)" 'x == 0' || return 1
		is "$(figure "$tmp/good" ops)" 'x == 200' || return 1
		# A fault an iteration, and one for the other thread's stack.
		is "$(figure "$tmp/good" vmstat.pgfault)" 'x <= 200 * 502' || return 1
	done
}
check "mmap5 does not at fullmm_tables, seeds 1 to 3" hangs_not

same_seed()
{
	mmap5 -s mmu_gather.nested=force_range --seed 3 -p rounds=200 -p limit=20000 |
		grep -v ',wall_s,' >"$tmp/again"
	grep -v ',wall_s,' "$tmp/bad" | cmp -s - "$tmp/again"
}
check "the same seed hangs at the same fault" same_seed

# Era 5.2-rc2's own answer is force_range: mmap8 has no limit of its own.
stuck()
{
	timeout 100 "$TLBLAB" run mmap8 -m arm64-46 --era 5.2-rc2 -r 1 -p iterations=2000 \
		>"$tmp/stuck" &&
		grep -q '^PARTIAL ' "$tmp/stuck" &&
		tr '\n' ' ' <"$tmp/stuck" | tr -s ' ' |
			grep -q 'note stuck: CPU [0-9]* faulted 1000000 times in a row at 0x'
}
check "mmap8 at era 5.2-rc2 ends as stuck, and says so" stuck

stuck_not()
{
	timeout 100 "$TLBLAB" run mmap8 -m arm64-46 --era 5.2-rc2 -r 1 -p iterations=500 \
		-s mmu_gather.nested=fullmm_tables >"$tmp/fine" &&
		! grep -qE '^PARTIAL |stuck' "$tmp/fine"
}
check "mmap8 with the fix does not" stuck_not

# At its full size this would take a minute of the host: 47 s simulated.
limit()
{
	"$TLBLAB" run mmap8 -m arm64-46 --era 5.2-rc2 -r 2 --time-limit 0.05 -f json \
		-s mmu_gather.nested=fullmm_tables >"$tmp/limit" || return 1
	tr -d ' \n' <"$tmp/limit" >"$tmp/limit1"
	grep -q '"partial":true' "$tmp/limit1" || return 1
	grep -q 'timelimitendedrunsof' "$tmp/limit1" || return 1
	real=$(sed 's/.*"real_s":{"mean":\([0-9.e+-]*\).*/\1/' "$tmp/limit1")
	ops=$(sed 's/.*"ops":{"mean":\([0-9.e+-]*\).*/\1/' "$tmp/limit1")
	is "$real" 'x > 0.0499 && x < 0.0501' && is "$ops" 'x > 0 && x < 1600000'
}
check "--time-limit ends a run after so much measured time" limit
exit $status
