#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Which files are compiled into what: the one list that the build, `make core`
# and the tests of the house share. A new file in one of these folders is built.
#
#	sources.sh core ARCH [DIR]	of a core; DIR is a copy of core/
#	sources.sh tool CPU		of the tool: all but the cores; CPU of its host
#	sources.sh check		exploration and scenarios
#	sources.sh digest CPU		what the digest tool needs, no libraries
#	sources.sh tests		test programs and scripts
#	sources.sh test-helpers		what is linked into a folder's test programs
#	sources.sh bench		programs of `make bench`
set -eu
export LC_ALL=C
[ $# -lt 3 ] || copy=$(realpath "$3")
cd "$(dirname "$0")/.."

files()
{
	for f in "$@"; do
		[ ! -f "$f" ] || echo "$f"
	done
}

# One switch is assembled: that of the host, or none.
machine()
{
	files machine/*.c machine/mmu/*.c
	files "machine/coro_$1.S"
}

case ${1-} in
core)
	dir=${copy-core}
	files "$dir"/*.c "$dir"/mm/*.c "$dir"/lib/*.c "$dir"/arch/"$2"/*.c
	;;
tool)
	files cli/*.c report/*.c workload/*.c native/*.c
	machine "$2"
	;;
check)
	files explore/*.c scenario/*.c litmus/*.c
	;;
digest)
	# Reading YAML and topology needs libraries, and the host's kernel has no
	# place in a simulation.
	files workload/*.c
	machine "$2" | grep -v '^machine/desc_'
	;;
tests)
	files tests/*/test_*.c tests/*/*.sh
	;;
test-helpers)
	files tests/*/*.c | grep -v '/test_[^/]*$' || true
	;;
bench)
	files bench/*.c | grep -vxE 'bench/(lab|mmap8_plain)\.c' || true
	;;
*)
	echo "sources.sh: core ARCH [DIR] | tool CPU | check | digest CPU | tests | test-helpers | bench" >&2
	exit 2
	;;
esac
