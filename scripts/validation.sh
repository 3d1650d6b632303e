#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# validation.sh BUILD [quick]: docs/validation.md, on standard output. Each section is what
# a command printed that anyone can run; the command stands above it. It takes some
# minutes of an idle host; quick: a minute, with short runs. ONLY="published counts" makes these
# sections anew and keeps the others as docs/validation.md has them: s0 overflush bug published host
# counts determinism speed native peers.
#
# Needs what `make bench` builds. Counts need the results of `make fidelity`, digests
# of other compilers what `make test` builds; what is not there is said to be missing.
set -eu
export LC_ALL=C
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
export TLBLAB_MACHINES="$PWD/machines" TLBLAB_CORES="$build"
if [ -n "${2-}" ]; then
	s0='2000 1' overflush='40 2' native='5 1000'
else
	s0='' overflush='' native=''
fi

# Not `exit 1` alone: half a document must not pass for one.
fail()
{
	echo "validation: $*" >&2
	exit 1
}

# show COMMAND...: as it would be typed here, and what it printed. Any status passes that
# $may names.
may=0
show()
{
	echo '```'
	echo "\$ $*" | sed "s,$build,build,g"
	rc=0
	"$@" 2>&1 || rc=$?
	echo '```'
	echo
	case " $may " in
	*" $rc "*) ;;
	*) fail "exit status $rc: $*" ;;
	esac
}

host()
{
	echo "$(nproc) CPUs ($(uname -m)), Linux $(uname -r | sed 's/-.*//'), $(
		${CC:-gcc} --version | sed '1!d; s/ (.*) / /')"
}

determinism()
{
	set -- mmap8 threads=16 iterations=40
	for arch in arm64 x86 powerpc; do
		want=$("$build/tools/digest-$arch" "$@" | sed 1q) || fail "digest-$arch"
		printf '%-8s %-22s %s\n' $arch "compiler of the build" "$want"
		for by in other aarch64; do
			file=$build/tools/digest-$by-$arch
			run=
			[ $by != aarch64 ] || run=qemu-aarch64-static
			if ! [ -x "$file" ] || { [ -n "$run" ] && ! command -v $run >/dev/null; }; then
				got="(not built here)"
			else
				got=$($run "$file" "$@" | sed 1q)
				[ "$got" = "$want" ] || got="$got DIFFERS"
			fi
			case $by in
			other) what="the other compiler" ;;
			aarch64) what="aarch64, qemu-user" ;;
			esac
			printf '%-8s %-22s %s\n' $arch "$what" "$got"
		done
	done
}

s0()
{
	# shellcheck disable=SC2086 # words
	show "$build/bench/s0" $s0
}

overflush()
{
	# shellcheck disable=SC2086
	show "$build/bench/overflush" $overflush
	if [ -x "$build/bench/power_ceiling" ]; then
		echo "On POWER9, below and above its ceiling:"
		echo
		show "$build/bench/power_ceiling"
	fi
}

bug()
{
	cat <<-'EOF'
	`hung` is the share of runs that one access never got out of.

	EOF
	all=mmu_gather.nested=ignore,force_range,no_reset,force_range_tables,fullmm,fullmm_tables
	for test in end levels; do
		echo "mmu_gather.flush_test=$test:"
		echo
		echo '```'
		"$build/tlblab" run mmap5 -m arm64-46 --era 5.2-rc2 -p rounds=50 -p limit=3000 \
			-r 5 -s mmu_gather.flush_test=$test -s $all -f csv | awk -F'"?,"?' '
			{ sub(/.*mmu_gather.nested=/, "", $5) }
			$6 == "hung" || $6 == "ops" || $6 == "flush.tlbi_aside1is" {
				if (!($5 in seen)) order[++n] = $5
				seen[$5] = 1
				value[$5, $6] = $(NF - 1)
			}
			END {
				printf "%-20s %6s %8s %12s\n", "nested", "hung", "rounds",
					"ASIDE1IS/rd"
				for (i = 1; i <= n; i++) {
					v = order[i]
					printf "%-20s %6.2f %8.1f %12.2f\n", v,
						value[v, "hung"], value[v, "ops"],
						value[v, "flush.tlbi_aside1is"] / value[v, "ops"]
				}
				exit n != 6
			}' || fail "mmap5, $test"
		echo '```'
		echo
	done
}

published()
{
	echo 'The autonuma programs are medians of five seeds, all else is one run. numa01 is chance even so: six'
	echo 'seeds of 3.19 take 725 to 1186 s, and only what rc1 does stands out (docs/threads.md, S3).'
	echo
	show "$build/tlblab" validate
	show "$build/tlblab" validate --ranges
	cat <<-'EOF'
	Of LATR's larger machine only the number of sockets and cores is known; x86-8s120 has the costs of two sockets,
	and comes to a third of what was published. What an interrupt takes that crosses more than one link has no
	source. The 6 us of 16 CPUs and the guest's figures are what those machines' interrupt costs were derived from.

	Published figures that have no row:

	- *ThunderX2, Himeno beside a core that loops mprotect: -23 % (Qi Fuli).* What a TLBI takes from a CPU that obeys
	  it (`dvm_snoop`) has no other source than this figure, nor is the number of TLBIs a second published:
	  a row would be fitted to itself. The cost is 0 on all machines, with a range up to 150 ns.
	- *ThunderX2, 112 CPUs, IPIs to one and to all (Norov).* Given as multiples of a dry run whose time is not
	  published; and nothing of the arm64 core interrupts other CPUs and does no more, since its flushes are TLBIs.
	- *Range TLBIs on an FPGA, 16 to 512 pages (Zhenyu Ye).* Neither the unit, the clock, the number of CPUs nor the
	  program is published. What can be drawn from it without them, that a TLBI more costs 0.05 of a flush, is where
	  `tlbi_rate` of kunpeng920 is from, so there it predicts nothing. That the range form takes the same for all sizes is
	  arithmetic: each of them is one instruction (tests/core/tlbflush_arm64.c counts them).

	EOF
}

# On a loaded host it refuses, and that is what is shown.
this_host()
{
	may='0 2'
	show "$build/tlblab" validate --native
	may=0
}

counts()
{
	if [ ! -f "$build/fidelity/counts.tsv" ]; then
		echo 'No counts here yet: `make fidelity` makes them. tests/fidelity/counts.tsv has'
		echo 'those that the model is held to.'
		echo
		return
	fi
	may='0 1'
	show fidelity/run.sh -c -s "$build"
	may=0
}

digests()
{
	echo 'Digest of the integers of one run (mmap8, 16 threads, 40 iterations), by build.'
	echo
	echo '```'
	determinism
	echo '```'
	echo
}

speed()
{
	show "$build/bench/machine_events"
}

native()
{
	# shellcheck disable=SC2086
	show bench/native.sh "$build" $native
}

# It installs what it needs, which making a document should not.
peers()
{
	if ! command -v valgrind >/dev/null || ! command -v spin >/dev/null; then
		echo 'Not here: `make bench-peers` installs what it needs, and can be run alone.'
		echo
		return
	fi
	echo 'Accesses are counted by CPU time, schedules by the clock: on a loaded host these are fewer.'
	echo
	show bench/peers.sh "$build"
}

# section NAME FUNCTION TITLE: made anew, or, if ONLY does not name it, as it was.
section()
{
	case " ${ONLY:-$1} " in
	*" $1 "*)
		echo "## $3"
		echo
		"$2"
		;;
	*)
		awk -v title="## $3" '/^## / { on = $0 == title } on { print; n++ } END { exit !n }' \
			docs/validation.md || fail "docs/validation.md has no section $3 to keep"
		;;
	esac
}

cat <<EOF
# What was measured

Made by \`make validation\` (scripts/validation.sh); do not edit.
Host: $(host).
Simulated figures are the same on any host; host times, and the sections on this host, on speed and on
native runs, are not.

A figure that costs were fitted to is not predicted by the model, and is marked so.

EOF
section s0 s0 "Thread S0: fitted and predicted"
section overflush overflush "Over-flush: what a live working set loses"
section bug bug "The bug: who hangs, and on which test"
section published published "Published figures, all of them"
section host this_host "This host beside a model of it"
section counts counts "Counts beside real kernels"
section determinism digests "Determinism"
section speed speed "Speed and memory of the simulator"
section native native "Native runs beside the same loop in plain C"
section peers peers "Speed beside other tools"
