#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What follows the emulation in `make fidelity`: the join of console and plugin, and
# the table, with a tlblab that answers what we tell it. $COMPARE is the built
# fidelity/compare, $SRC the tree.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

ok()
{
	echo "ok - $1"
}

not_ok()
{
	echo "not ok - $1"
	status=1
}

# has TEXT REGEXP: the text has a line that matches.
has()
{
	echo "$1" | grep -qE "$2"
}

join()
{
	awk -f "$SRC/fidelity/join.awk" -v machine=qemu-x86-max -v version=6.1.9-1 \
		"$tmp/console" "$tmp/plugin" 2>/dev/null
}

good_inputs()
{
	# The kernel's words on our line, and a serial console's line ends.
	printf 'SeaBIOS\r\n[ 1.0] x fidelity: window 0 mmap8 1 1 4 0\r\n' >"$tmp/console"
	printf 'fidelity: window 1 mmap8 4 1 8 49\r\nfidelity: done\r\n' >>"$tmp/console"
	cat >"$tmp/plugin" <<-END
	count 0 invlpg 4 2 8 0 2 2
	count 0 cr3 4 0 1 1 0 1
	count 1 invlpg 8 8 63 1 7 8
	end
	END
}

test_join()
{
	good_inputs
	join >"$tmp/counts.tsv" || { not_ok "join"; return; }
	cat >"$tmp/expected" <<-END
	qemu-x86-max	6.1.9-1	mmap8	1	1	4	invlpg	2	8	0	2	2
	qemu-x86-max	6.1.9-1	mmap8	1	1	4	cr3	0	1	1	0	1
	qemu-x86-max	6.1.9-1	mmap8	1	1	4	ipi	0	0	-	-	-
	qemu-x86-max	6.1.9-1	mmap8	4	1	8	invlpg	8	63	1	7	8
	qemu-x86-max	6.1.9-1	mmap8	4	1	8	ipi	6	49	-	-	-
	END
	if cmp -s "$tmp/counts.tsv" "$tmp/expected"; then
		ok "console and plugin join"
	else
		not_ok "console and plugin join"
		diff "$tmp/expected" "$tmp/counts.tsv"
	fi
}

# refuses NAME SED-SCRIPT FILE: the join fails once FILE is so edited.
refuses()
{
	good_inputs
	sed -i "$2" "$tmp/$3"
	if join >/dev/null; then
		not_ok "refused: $1"
	else
		ok "refused: $1"
	fi
}

# A tlblab that answers with $1 as metrics, or refuses with exit status $2; asked for twice as
# many iterations it answers with $3.
fake_tlblab()
{
	cat >"$tmp/tlblab" <<-END
	#!/bin/sh
	echo "\$*" >>"$tmp/calls"
	[ -z "$2" ] || { echo "tlblab: no such machine" >&2; exit $2; }
	case "\$*" in
	*"-t 4"*) echo '{"columns":[{"metrics":{"flush.invlpg":{"mean":64},"flush.ipi":{"mean":48}}}]}' ;;
	*iterations=8*) echo '{"columns":[{"metrics":{${3:-}}}]}' ;;
	*) echo '{"columns":[{"metrics":{$1}}]}' ;;
	esac
	END
	chmod +x "$tmp/tlblab"
	: >"$tmp/calls"
}

# compared NAME STATUS REGEXP...: exit status and lines of the table.
compared()
{
	name=$1 expected=$2
	shift 2
	text=$("$COMPARE" "$tmp/counts.tsv" "$tmp/tlblab" "$tmp/explained" 2>&1)
	got=$?
	[ $got = "$expected" ] || { not_ok "$name: exit status $got"; echo "$text"; return; }
	if [ $got != 2 ] && has "$text" '^.{80}'; then
		not_ok "$name: a line of 80 columns or more"
		return
	fi
	for regexp; do
		has "$text" "$regexp" || { not_ok "$name: no $regexp"; echo "$text"; return; }
	done
	ok "$name"
}

: >"$tmp/explained"
test_join
refuses "a guest that did not finish" '/done/d' console
refuses "a plugin file without its end" '/^end/d' plugin
refuses "a plugin's error" '1i error marker 0x5100' plugin
refuses "other iterations than were run" 's/^count 1 invlpg 8/count 1 invlpg 7/' plugin
refuses "a window that was not announced" '/window 1/d' console

good_inputs
join >"$tmp/counts.tsv"
fake_tlblab '"flush.invlpg":{"mean":8},"real_s":{"mean":3}' ''
compared "all predictions met" 0 \
	'^mmap8 1 +qemu-x86-max +6.1 +invlpg +2 +2 +0$' \
	'^mmap8 4 +qemu-x86-max +6.1 +invlpg +8 +8 +0$' '^ +ipi +6 +6 +0$' \
	'^3 figures compared, 0 differ, 0 of them' '^2 of 2 cells .* exact: 100.0 %$' '^    cr3 \+1 in 1$' '^    invlpg -1 in 1, ipi \+1$'
if grep -qx 'run mmap8 -m qemu-x86-max --era 6.1 -t 4 -r 1 -f json -p hint=0x200000000000 -p iterations=2 -p touch=1 -p order=turns --pin' "$tmp/calls"; then
	ok "tlblab is asked for the same run"
else
	not_ok "tlblab is asked for the same run"
	cat "$tmp/calls"
fi
fake_tlblab '"flush.invlpg":{"mean":9}' '' '"flush.invlpg":{"mean":17}'
compared "a first iteration that is unlike the others" 0 '^mmap8 1 .* invlpg +2 +2 +0$'
fake_tlblab '"flush.invlpg":{"mean":9},"flush.cr3_noflush":{"mean":4},"flush.mtpid":{"mean":1}' '' \
	'"flush.invlpg":{"mean":18}'
compared "predictions that differ" 1 '^mmap8 1 .* invlpg +2 +2.25 +0.25$' \
	'^ +cr3 +0 +1 +1$' '^4 figures compared, 2 differ, 2 of them' \
	'^1 of 2 cells .* exact: 50.0 %$' \
	'^  qemu-x86-max: predicts mtpid, which nothing counts$'
printf 'mmap8 1\tqemu-x86-*\t6.1\t*\tthe moon\n' >"$tmp/explained"
compared "differences that are explained" 0 '^mmap8 1 .* invlpg +2 +2.25 +0.25a$' \
	'^ +cr3 +0 +1 +1a$' '^4 figures compared, 2 differ, 0 of them' '^a: +the moon$'
text=$("$COMPARE" -s "$tmp/counts.tsv" "$tmp/tlblab" "$tmp/explained" 2>&1)
if has "$text" '^mmap8 1 +a$' && has "$text" '^mmap8 4 +=$' && ! has "$text" invlpg; then
	ok "a matrix"
else
	not_ok "a matrix"
	echo "$text"
fi
printf 'mmap8 1\tqemu-x86-*\t6.12\t*\tthe moon\n' >"$tmp/explained"
compared "an explanation of another era" 1 '^4 figures compared, 2 differ, 2 of them'
printf 'mmap8 1\tqemu-x86-*\n' >"$tmp/explained"
compared "a bad line of explanations" 2 'five columns were expected'
: >"$tmp/explained"
fake_tlblab '' 2
compared "a machine that tlblab does not know" 0 'invlpg +2 +- +-$' \
	'^0 figures compared, 0 differ, 0 of them' '^  qemu-x86-max: tlblab: no such machine$'
fake_tlblab '' 3
compared "a bug of tlblab" 2 'exit status 3'
rm "$tmp/tlblab"
compared "no tlblab" 0 'invlpg +2 +- +-$' 'tlblab is not there'
echo 'qemu-x86-max	6.1	mmap8	1	x' >"$tmp/counts.tsv"
compared "a bad counts file" 2 'counts.tsv:1: 12 columns were expected'
echo '# nothing' >"$tmp/counts.tsv"
compared "no counts" 2 'counts.tsv: no counts in it'
exit $status
