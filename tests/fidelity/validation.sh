#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/validation.md is made by a script, from commands that take minutes. Is it still what
# they print? Two cheap parts of it, which are the same on any host: figures of short simulated
# runs, and the matrix of the counts that are kept, to which this holds the model as well.
set -u
doc=$SRC/docs/validation.md
status=0

# current NAME COMMAND...: each line of figures that it prints stands in the document.
current()
{
	name=$1
	shift
	out=$("$@") || { echo "not ok - $name: exit status $?"; status=1; }
	text=$(echo "$out" | grep -E '[0-9]\.[0-9]{3} [fp] |^[a-z0-9-]+ ([0-9]+, )?[0-9]+ +[=a-z!.]( |$)') ||
		{ echo "not ok - $name: no figures"; status=1; return; }
	missing=$(echo "$text" | while IFS= read -r line; do
		grep -qxF -e "$line" "$doc" || echo "$line"
	done)
	if [ -z "$missing" ]; then
		echo "ok - $name"
	else
		echo "not ok - $name: docs/validation.md lacks, so ONLY='published counts' make validation:"
		echo "$missing"
		status=1
	fi
}

current "published figures are current" "$TLBLAB" validate POWER9 x86
current "counts are current" "$COMPARE" -s "$SRC/tests/fidelity/counts.tsv" "$TLBLAB" \
	"$SRC/fidelity/explained"
exit $status
