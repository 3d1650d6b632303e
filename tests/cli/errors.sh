#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Bad input: exit status 2, nothing on standard output, and one line on standard
# error, which is given here.
set -eu
export LC_ALL=C
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
TLBLAB=${TLBLAB:-$SRC/build/tlblab}
export TLBLAB_MACHINES="$SRC/machines"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# bad 'LINE' ARGUMENTS...: LINE is a shell pattern.
bad()
{
	expected=$1
	shift
	rc=0
	"$TLBLAB" "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
	said=$(cat "$tmp/err")
	good=1
	[ $rc -eq 2 ] || good=
	[ ! -s "$tmp/out" ] || good=
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || good=
	# shellcheck disable=SC2254 # a pattern is meant
	case $said in
	$expected) ;;
	*) good= ;;
	esac
	if [ "$good" ]; then
		echo "ok - $*"
	else
		echo "# exit status $rc, said: $said"
		echo "# expected: $expected"
		echo "not ok - $*"
		status=1
	fi
}

bad 'tlblab: no command "rnu"; the nearest is "run"' rnu
bad 'tlblab: no command "lst"; the nearest is "list"' help lst
bad 'tlblab: nothing to list under "machine"; the nearest is "machines"' list machine
bad 'tlblab: run what? *' run
bad 'tlblab: calibrate takes no argument, but "it" was given' calibrate it
bad 'tlblab: -o host: expected a name that ends in .yaml' calibrate -o host
bad 'tlblab: no section "S99" of published figures' validate S99
bad 'tlblab: no workload "mmap9"; the nearest is "mmap8"' run mmap9
bad 'tlblab: run takes one workload, not also "mmap5"' run mmap8 mmap5
bad 'tlblab: no machine "arm64-64"; the nearest is "arm64-46"' run mmap8 -m arm64-64
bad 'tlblab: no machine "nativ"; the nearest is "native"' run mmap8 -m nativ
bad 'tlblab: ./nowhere.yaml: No such file or directory' run mmap8 -m ./nowhere.yaml
bad 'tlblab: no era "5.2-rc"; the nearest is "5.2-rc2"' run mmap8 -m arm64-46 --era 5.2-rc
bad 'tlblab: no knob "mmu_gather.nestd" on arm64; the nearest is "mmu_gather.nested"' \
	run mmap8 -m arm64-46 -s mmu_gather.nestd=ignore
bad 'tlblab: no knob "x86.pcid" on arm64; the nearest is "*"' \
	run mmap8 -m arm64-46 -s x86.pcid=on
bad 'tlblab: -s: mmu_gather.nested has no value "fullm"; the nearest is "fullmm" of *' \
	run mmap8 -m arm64-46 -s mmu_gather.nested=fullm
bad 'tlblab: -s: x86.tlb_single_page_flush_ceiling takes a number from 0 to *, not "-1"' \
	run mmap8 -m x86-2s -s x86.tlb_single_page_flush_ceiling=-1
bad 'tlblab: "mmu_gather.nested" is not KNOB=VALUE' \
	run mmap8 -m arm64-46 -s mmu_gather.nested
bad 'tlblab: mmu_gather.nested: an empty value' \
	run mmap8 -m arm64-46 -s mmu_gather.nested=ignore,
bad 'tlblab: mmu_gather.nested: the value ignore is given twice' \
	run mmap8 -m arm64-46 -s mmu_gather.nested=ignore,ignore
bad 'tlblab: mmu_gather.nested is given twice' \
	run mmap8 -m arm64-46 -s mmu_gather.nested=ignore -s mmu_gather.nested=fullmm
bad 'tlblab: -s mmu_gather.nested: the host*' run mmap8 -s mmu_gather.nested=ignore
bad 'tlblab: --era 6.1: the host*' run mmap8 --era 6.1
bad 'tlblab: --ranges: this host*' run mmap8 --ranges
bad 'tlblab: no parameter "iteration" of mmap8; the nearest is "iterations"' \
	run mmap8 -p iteration=5
bad 'tlblab: -p order has no value "turn"; the nearest is "turns"' run mmap8 -p order=turn
bad 'tlblab: -p iterations takes a number from 1 to *, not "0"' run mmap8 -p iterations=0
bad 'tlblab: -p size takes a size from 4K to 1T, not "16MB"' run mmap8 -p size=16MB
bad 'tlblab: --threads: expected a number from 1 to 4096, not "0"' run mmap8 -t 0
bad 'tlblab: --threads: expected a number from 1 to 4096, not "5000"' run mmap8 -t 5000
bad 'tlblab: --pin: 9 threads need as many CPUs; snapdragon888 has 8' \
	run mmap8 -m snapdragon888 --pin -t 9
bad 'tlblab: -p size=16G is more than the memory of snapdragon888 (8.0 GiB)' \
	run mmap8 -m snapdragon888 -p size=16G
bad 'tlblab: mmap8: *' run mmap8 -m arm64-46 -p chasers=4000 -p chase=10 -t 4000
bad 'tlblab: more than 16 columns' run mmap8 -m arm64-46 \
	-s mmu_gather.nested=ignore,force_range,no_reset,fullmm,fullmm_tables \
	-p touch=1,2,3,4
bad 'tlblab: --runs: expected a number from 1 to 10000, not "many"' run mmap8 -r many
bad 'tlblab: --interval: expected seconds such as 0.5, 0.0001 at least, not "0"' run mmap8 --interval 0
bad 'tlblab: --interval: on this host, `perf stat -I'"'"' does it; name a machine (-m)' run mmap8 --interval 1
bad 'tlblab: --time-limit: expected seconds such as 0.5, not "0"' run mmap8 --time-limit 0
bad 'tlblab: no format "xml"; there are text, json, csv' run mmap8 -f xml
bad 'tlblab: -o /nowhere/out: No such file or directory' run mmap8 -o /nowhere/out
bad 'tlblab: core x: ./nowhere.so: *No such file or directory' \
	run mmap8 -m arm64-46 --core x=nowhere.so

# Files that are there, but wrong.
sed 's/^  dvm_va:/  dvm_vaa:/' "$SRC/machines/arm64-46.yaml" >"$tmp/key.yaml"
line=$(grep -n '^  dvm_vaa:' "$tmp/key.yaml" | cut -d: -f1)
bad "tlblab: $tmp/key.yaml:$line:3: costs.dvm_vaa: unknown key; the nearest is \"dvm_va\"" \
	run mmap8 -m "$tmp/key.yaml"
sed 's/knob: arm64.ttl/knob: arm64.tll/' "$SRC/machines/arm64-46.yaml" >"$tmp/feature.yaml"
bad 'tlblab: machine arm64-46: no feature "arm64.tll" on arm64; the nearest is "arm64.ttl"' \
	run mmap8 -m "$tmp/feature.yaml"
sed 's/knob: arm64.ttl, value: off/knob: mmu_gather.nested, value: ignore/' \
	"$SRC/machines/arm64-46.yaml" >"$tmp/policy.yaml"
bad 'tlblab: machine arm64-46: mmu_gather.nested is a policy; *' \
	run mmap8 -m "$tmp/policy.yaml"

if command -v "${CC:-cc}" >"$tmp/out"; then
	echo 'int not_a_core;' >"$tmp/a.c"
	"${CC:-cc}" -shared -fPIC -o "$tmp/a.so" "$tmp/a.c"
	bad "tlblab: core x: $tmp/a.so is not a core: it does not export tlblab_core" \
		run mmap8 -m arm64-46 --core x="$tmp/a.so"
	cat >"$tmp/b.c" <<'EOF'
#include <tlblab/machine.h>
__attribute__((visibility("default")))
const struct core_module *tlblab_core(const struct mach_ops *ops)
{
	static const struct core_module old = { .abi = 0x123, .arch = "arm64" };

	return ops ? &old : 0;
}
EOF
	"${CC:-cc}" -shared -fPIC -I"$SRC/include" -o "$tmp/b.so" "$tmp/b.c"
	bad "tlblab: core x: $tmp/b.so was built for another machine.h: its ABI is 0000000000000123, this tlblab's is ????????????????" \
		run mmap8 -m arm64-46 --core x="$tmp/b.so"
fi

# A full disk: a report that nobody received is no success, whatever it said.
full()
{
	rc=0
	"$TLBLAB" "$@" >/dev/full 2>"$tmp/err" || rc=$?
	if [ $rc -eq 2 ] && grep -qx 'tlblab: standard output: .*' "$tmp/err" &&
	   [ "$(wc -l <"$tmp/err")" -eq 1 ]; then
		echo "ok - full disk: $*"
	else
		echo "# exit status $rc, said: $(cat "$tmp/err")"
		echo "not ok - full disk: $*"
		status=1
	fi
}
full list knobs
full list machines
full check --budget 1 "$SRC/scenarios/munmap-toucher.tlb"
full run mmap8 -m arm64-46 -p iterations=2
full run mmap8 -m arm64-46 -p iterations=2 -f json
exit $status
