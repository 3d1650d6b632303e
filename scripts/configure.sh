#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# configure.sh BUILD-FOLDER PREFIX: configure it, or configure it again when the
# list of source files or the prefix is another. CC and SANITIZE come from make.
set -eu
cd "$(dirname "$0")/.."

build=$1 prefix=$2
options="-Dprefix=$prefix"
[ -z "${SANITIZE-}" ] || options="$options -Db_sanitize=address,undefined"

now=$(
	echo "$options"
	for what in 'core x86' 'core arm64' 'tool x86_64' check tests test-helpers bench; do
		scripts/sources.sh $what
	done
	ls machines docs tests/*/meson.build 2>/dev/null || true
)

again=
if [ -f "$build/build.ninja" ]; then
	[ "$now" != "$(cat "$build/sources.list" 2>/dev/null)" ] || exit 0
	again=--reconfigure
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
meson setup $again $options "$build" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 2
}
echo "$now" >"$build/sources.list"
