#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# peers.sh BUILD [ROUNDS [LOADS]]: how fast, beside what somebody could take instead.
#
# 1. Accesses per second on one trace, a pointer chase over 4096 pages: simulated here (each
#    load through the model's TLBs and walker); Valgrind's lackey, which writes the
#    addresses; QEMU's user mode with a plugin that keeps a TLB of pages. Their time is
#    less that of a run without loads.
# 2. A shootdown, all interleavings: `tlblab check` on the kernel's code, and SPIN on a model of
#    it written by hand. What one calls a schedule the other has no word for: SPIN's
#    transitions divided by its depth are the nearest, executions of full length.
#
# Turn about, ROUNDS times (5); medians. Nothing else should run. Installs what it needs.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
build=$1 rounds=${2:-5} loads=${3:-10000000}
export TLBLAB_MACHINES="$PWD/machines" TLBLAB_CORES="$PWD/$build"
case $build in /*) TLBLAB_CORES=$build ;; esac
dir=$build/peers
pages=4096
scenario=scenarios/madvise-toucher.tlb
budget=2

die()
{
	echo "bench-peers: $*" >&2
	exit 2
}

setup()
{
	missing=
	for p in valgrind spin qemu-user; do
		dpkg-query -W -f '${db:Status-Status}' $p 2>/dev/null | grep -qx installed ||
			missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	sudo=
	[ "$(id -u)" = 0 ] || sudo="sudo -n"
	$sudo apt-get update -qq >/dev/null || true
	# shellcheck disable=SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
		--no-install-recommends $missing >/dev/null 2>&1 ||
		die "please install:$missing"
}

make_all()
{
	mkdir -p "$dir"
	${CC:-gcc} -O2 -I. -Iinclude -o "$dir/trace" bench/peers/trace.c
	${CC:-gcc} -O2 -fPIC -shared -o "$dir/count.so" bench/peers/count.c
	(cd "$dir" && spin -a "$OLDPWD/bench/peers/shootdown.pml" >/dev/null &&
		${CC:-gcc} -O2 -DSAFETY -w -o pan pan.c) || die "spin failed"
}

# seconds COMMAND...: CPU time of the command, user and system.
seconds()
{
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>/dev/null' - "$@" 2>&1 |
		awk '{ printf "%.3f", $1 + $2 }'
}

# rate LOADS WITH WITHOUT: per second.
rate()
{
	awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%.0f", n / (a > b ? a - b : 1e-3) }'
}

ours()
{
	seconds "$build/tlblab" run probe -m x86-2s -p what=chase -p pages=$pages \
		-p "iterations=$1" -r 1
}

one_round()
{
	# Lackey is slowest: fewer loads.
	few=$((loads / 20))
	echo "tlblab $(rate "$loads" "$(ours "$loads")" "$(ours 1)")"
	echo "lackey $(rate "$few" \
		"$(seconds valgrind --tool=lackey --trace-mem=yes "$dir/trace" $pages "$few")" \
		"$(seconds valgrind --tool=lackey --trace-mem=yes "$dir/trace" $pages 0)")"
	echo "qemu $(rate "$loads" \
		"$(seconds qemu-x86_64 -plugin "$dir/count.so" "$dir/trace" $pages "$loads")" \
		"$(seconds qemu-x86_64 -plugin "$dir/count.so" "$dir/trace" $pages 0)")"
	"$build/tlblab" check $scenario -a x86 --jobs 1 --budget $budget 2>&1 |
		sed -n 's/.*[ (]\([0-9]*\) schedules in \([0-9.]*\) s.*/\1 \2/p' |
		awk '{ n += $1; s += $2 } END { if (s) printf "schedules %.0f\n", n / s }' || true
	(cd "$dir" && ./pan -m1000 -w12) | awk '
		/errors: [1-9]/ { print "spin_errors", $0; exit }
		/depth reached/ { depth = $6 + 0 }
		/states, stored/ { states = $1 }
		/transitions \(/ { transitions = $1 }
		/elapsed time/ { s = $4 }
		END {
			print "spin_states", states; print "spin_depth", depth
			print "spin_transitions", transitions; print "spin_s", s
		}'
	# Too short for its own clock: many times.
	n=50
	t=$(seconds sh -c "cd '$dir' && for i in \$(seq $n); do ./pan -m1000 -w12; done")
	echo "spin_run $(awk -v t="$t" -v n=$n 'BEGIN { printf "%.4f", t / n }')"
}

setup
make_all
for i in $(seq "$rounds"); do
	one_round
done | sort -k1,1 -k2,2n | awk -v rounds="$rounds" -v pages=$pages -v load="$(cut -d' ' -f1 /proc/loadavg)" '
	{ v[$1, ++n[$1]] = $2 }
	function med(k) { return n[k] ? v[k, int((n[k] + 1) / 2)] : 0 }
	END {
		if (n["spin_errors"]) { print "bench-peers: the SPIN model has an error"; exit 2 }
		printf "peers: medians of %d rounds, turn about; load average before: %s\n\n", rounds, load
		printf "accesses per second, pointer chase over %d pages\n", pages
		printf "  %-52s %12.0f\n", "tlblab, each load through TLBs and page tables", med("tlblab")
		printf "  %-52s %12.0f  %6.2f\n", "valgrind --tool=lackey --trace-mem (addresses only)", med("lackey"), med("tlblab") / med("lackey")
		printf "  %-52s %12.0f  %6.2f\n", "qemu-x86_64 and a plugin with a TLB of pages", med("qemu"), med("tlblab") / med("qemu")
		printf "  (right: tlblab over it)\n\n"
		printf "a shootdown beside a toucher, on one CPU\n"
		printf "  %-52s %12.0f\n", "tlblab check: schedules per second, kernel code", med("schedules")
		t = med("spin_run")
		if (t > 0 && med("spin_depth") > 0)
			printf "  %-52s %12.0f\n", "spin: executions of full length per second, a model", med("spin_transitions") / med("spin_depth") / t
		printf "  %-52s %12.0f\n", "spin: states of the model, which are all it has", med("spin_states")
		printf "  %-52s %12.2f\n", "spin: ms for all of it, process included", 1000 * t
	}'
