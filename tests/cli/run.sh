#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `run` promises: same seed, same bytes; columns and rows; whole output files;
# an end by Ctrl-C that keeps what was found.
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

variants=mmu_gather.nested=force_range_tables,fullmm_tables
run()
{
	"$TLBLAB" run mmap8 -m arm64-46 --era 5.2-rc2 -p iterations=20 -s $variants "$@"
}

without_wall()
{
	sed '/"wall_s"/,/}/d' "$1"
}

same_bytes()
{
	run -r 2 -f json >"$tmp/a" && run -r 2 -f json >"$tmp/b"
	without_wall "$tmp/a" >"$tmp/a1"
	without_wall "$tmp/b" >"$tmp/b1"
	grep -q '"flush.tlbi_vae1is"' "$tmp/a1" && cmp "$tmp/a1" "$tmp/b1"
}
check "the same seed gives the same bytes" same_bytes

seed_matters()
{
	run -r 2 --seed 99 -f json >"$tmp/c"
	[ "$(grep '"digest"' "$tmp/a")" != "$(grep '"digest"' "$tmp/c")" ]
}
check "another seed gives another digest" seed_matters

text_form()
{
	run -r 2 >"$tmp/text"
	head -1 "$tmp/text" | grep -q '^workload  mmap8, 16 threads, iterations=20$' &&
		grep -q '^machine   arm64-46: ' "$tmp/text" &&
		grep -q '^mmu_gather.nested  *force_range_tables  *fullmm_tables$' "$tmp/text" &&
		grep -q '^real_s  *[0-9.]*  *[0-9.]*  *(-[0-9.]*%)$' "$tmp/text" &&
		grep -q '^note  scaled: 20 iterations a thread instead of 100000' "$tmp/text" &&
		[ "$(awk 'length > 79' "$tmp/text" | wc -l)" -eq 0 ]
}
check "the table has its parts, under 80 columns" text_form

ranges_paired()
{
	run -r 5 --ranges >"$tmp/ranges" &&
		grep -q '^real_s  *fullmm_tables: .* over 5 draws: differs$' "$tmp/ranges"
}
check "--ranges says whether columns differ" ranges_paired

output_whole()
{
	echo old >"$tmp/out"
	run -r 1 -f csv -o "$tmp/out" && head -1 "$tmp/out" | grep -q '^workload,' &&
		[ -z "$(find "$tmp" -name 'out.tmp*')" ]
}
check "-o replaces a file whole" output_whole

# To rename over it would replace the pipe (or, for root, /dev/null).
output_pipe()
{
	mkfifo "$tmp/pipe"
	cat "$tmp/pipe" >"$tmp/piped" &
	reader=$!
	run -r 1 -f csv -o "$tmp/pipe" && wait $reader && [ -p "$tmp/pipe" ] &&
		head -1 "$tmp/piped" | grep -q '^workload,'
}
check "-o writes to what is no file" output_pipe

killed()
{
	echo old >"$tmp/out"
	"$TLBLAB" run mmap8 -m arm64-46 -r 100 -o "$tmp/out" &
	pid=$!
	sleep 1
	kill -KILL $pid
	! wait $pid
	[ "$(cat "$tmp/out")" = old ]
}
check "a killed run leaves the output file as it was" killed

# Rows of 0.1 ms, of which the last is what remained; the same bytes again.
intervals()
{
	run -r 1 --interval 0.0001 >"$tmp/rows" && run -r 1 --interval 0.0001 -f csv >"$tmp/csv1" &&
		run -r 1 --interval 0.0001 -f csv >"$tmp/csv2" &&
		[ "$(grep -c '^intervals of .*, run 1$' "$tmp/rows")" -eq 2 ] &&
		[ "$(grep -cE '^     0\.000[1-3]00( +[0-9.]+){4}$' "$tmp/rows")" -eq 6 ] &&
		grep -q ',interval\.1\.0\.000200\.tlbi,1,[0-9]*,0$' "$tmp/csv1" &&
		[ "$(awk 'length > 79' "$tmp/rows" | wc -l)" -eq 0 ] &&
		[ "$(grep -v wall_s "$tmp/csv1")" = "$(grep -v wall_s "$tmp/csv2")" ]
}
check "--interval prints rows" intervals

# The handler is there as soon as the first run has begun; the whole would take hours.
interrupted()
{
	"$TLBLAB" run mmap8 -m arm64-46 -r 100 -f json >"$tmp/int" &
	pid=$!
	sleep 2
	# A script's background jobs ignore INT; TERM is handled alike.
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	[ $rc -eq 0 ] && grep -q '"partial": true' "$tmp/int" &&
		grep -q '"real_s"' "$tmp/int"
}
check "an interrupted run prints what it has" interrupted

columns()
{
	run -r 1 -p touch=1,2 -f csv >"$tmp/columns" &&
		[ "$(cut -d, -f5-6 "$tmp/columns" | grep -c 'touch=')" -gt 4 ] &&
		[ "$(grep -c ',real_s,' "$tmp/columns")" -eq 4 ]
}
check "values of several names are combined" columns

lists()
{
	"$TLBLAB" list machines | grep -q '^arm64-46 ' &&
		"$TLBLAB" list workloads | grep -q '^mmap8$' &&
		"$TLBLAB" list eras | grep -q '^6.12 ' &&
		"$TLBLAB" list knobs | grep -q '^mmu_gather.nested = fullmm_tables' &&
		"$TLBLAB" list scenarios | grep -q '^two-zappers.tlb  *Two zappers of one page' &&
		"$TLBLAB" list models | grep -q '^gup-collapse.c  *gup_fast keeps a page' &&
		"$TLBLAB" list | grep -q '^knobs:$' &&
		"$TLBLAB" help run | grep -q -- '--ranges' &&
		"$TLBLAB" --version | grep -q '^tlblab [0-9]'
}
check "list and help" lists
exit $status
