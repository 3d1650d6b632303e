#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test.sh BUILD-FOLDER: run all tests; the last line is "N passed, N failed".
#
# A case is what cmocka announces with [ RUN ], or a line "ok ..." or "not ok ..."
# of a script; a program that announces none is one case. A program that fails
# without a failing case (it crashed, it hung) adds a failed one. Exit 1 if any failed.
# With SANITIZE in the environment tests may take four times as long.
set -eu
build=$1
status=0
slower=1
[ -z "${SANITIZE-}" ] || slower=4
rm -f "$build/meson-logs/testlog.txt"	# or an old run's would be counted
meson test -C "$build" --no-rebuild --print-errorlogs --quiet \
	--timeout-multiplier $slower >"$build/test.out" 2>&1 ||
	status=$?
log=$build/meson-logs/testlog.txt
grep -vE '^(ninja:|Full log|$)' "$build/test.out" || true
[ -f "$log" ] || { echo "0 passed, 1 failed"; exit 1; }

awk '
function finish()
{
	if (!seen)
		return
	failed = run - ok - skipped + bad
	if (!run && !ok && !bad && !skipped) {
		if (result ~ /exit status 0|OK/ ) ok = 1
		else if (result ~ /77/) skipped = 1
	}
	if (failed <= 0)
		failed = (result ~ /exit status (0|77)($|[^0-9])/) ? 0 : 1
	passed_all += ok
	failed_all += failed
	skipped_all += skipped
	run = ok = skipped = bad = 0
	result = ""
}
/^=+ [0-9]+\/[0-9]+ =+$/	{ finish(); seen = 1; counts = 0; next }
/^result: /			{ result = result $0; next }
/^-+ std(out|err) -+$/		{ counts = /stdout/; next }
!counts				{ next }
/^\[ RUN      \]/		{ run++; next }
/^\[       OK \]/		{ ok++; next }
/^\[  SKIPPED \] /		{ skipped++; next }
/^ok .*# SKIP/			{ skipped++; next }
/^ok /				{ ok++; next }
/^not ok /			{ bad++; next }
END {
	finish()
	if (skipped_all)
		printf "%d skipped\n", skipped_all
	printf "%d passed, %d failed\n", passed_all, failed_all
	exit failed_all || !passed_all
}' "$log" || status=1
exit $status
