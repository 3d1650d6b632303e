#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Install what a build and its tests need and this machine lacks, from apt.
# Quiet and quick when nothing is missing. The names are in scripts/packages.
# Exit 2, with one message that names the packages, when it may not install.
set -eu
export LC_ALL=C

list=$(dirname "$0")/packages

if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "setup: not a Debian system; needed are the equivalents of:" \
	     "$(tr '\n' ' ' <"$list")" >&2
	exit 0
fi

have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(cat "$list") \
       2>/dev/null | sed -n 's/^installed //p' || true)
missing=$({ printf "%s\n" "$have" "$have"; cat "$list"; } | sort | uniq -u)
[ -n "$missing" ] || exit 0
missing=$(echo $missing)

refuse()
{
	echo "setup: $1; please install: $missing" >&2
	exit 2
}

if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
	as_root=sudo
else
	refuse "not root and no sudo"
fi

echo "setup: installing $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120"
if ! $apt update >"$log" 2>&1 ||
   ! $apt install --no-install-recommends -y $missing >"$log" 2>&1; then
	tail -n 5 "$log" >&2
	refuse "apt-get failed"
fi
