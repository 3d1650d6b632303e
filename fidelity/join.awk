# SPDX-License-Identifier: GPL-2.0-or-later
#
# awk -f join.awk -v machine=M -v version=V CONSOLE PLUGIN
#
# Joins what /init said on the console with what the plugin counted to rows of
# counts.tsv (docs/fidelity.md). Exit 1, and why on stderr, if the two disagree or
# either is not whole.

function fail(why)
{
	print why > "/dev/stderr"
	failed = 1
	exit 1
}

BEGIN {
	OFS = "\t"
	windows = 0
}

# The console: fidelity: window N WORKLOAD THREADS TOUCH ITERATIONS IPI. The
# kernel may have written before it on the line.
FILENAME == ARGV[1] {
	sub(/\r$/, "")
	if (match($0, /fidelity: done/))
		done = 1
	if (!match($0, /fidelity: window /))
		next
	split(substr($0, RSTART + RLENGTH), f, " ")
	if (f[1] != windows)
		fail("window " f[1] " came after " windows " windows")
	head[windows] = machine OFS version OFS f[2] OFS f[3] OFS f[4] OFS f[5]
	laps[windows] = f[5]
	ipi[windows] = f[6]
	windows++
	next
}

# The plugin: count N KIND LAPS MEDIAN TOTAL ODD MIN MAX
$1 == "count" {
	if (!($2 in laps) || $4 != laps[$2])
		fail("window " $2 ": " $4 " iterations, not " laps[$2] + 0)
	row[$2] = row[$2] head[$2] OFS $3 OFS $5 OFS $6 OFS $7 OFS $8 OFS $9 "\n"
	next
}
$1 == "end" { whole = 1; next }
{ fail("plugin: " $0) }

END {
	if (failed)
		exit 1
	if (!done)
		fail("the guest did not reach its end")
	if (!whole)
		fail("the plugin's file is not whole")
	for (w = 0; w < windows; w++) {
		printf "%s", row[w]
		# Known for the window as a whole only: the mean, rounded.
		if (ipi[w] != "-")
			print head[w], "ipi", int(ipi[w] / laps[w] + 0.5), ipi[w],
				"-", "-", "-"
	}
}
