#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# ninja.sh BUILD ARGUMENT...: ninja there, which says nothing when there is nothing to do;
# --quiet alone says even that.
build=$1
shift
exec 4>&1
status=$({
	{
		ninja -C "$build" "$@" 3>&-
		echo $? >&3
	} | sed '/^ninja: no work to do\.$/d' >&4
} 3>&1)
exit "$status"
