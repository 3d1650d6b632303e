#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make fidelity` needs: QEMU's system emulators, cross compilers, and Debian's
# stock kernels: 6.1 for amd64, arm64 and ppc64el, 6.12 for amd64 and arm64.
#
#	scripts/fidelity-setup.sh [CACHE]		default: build/fidelity
#
# Packages come from the host's apt (sudo when not root). Kernels are fetched as an ordinary
# user with an apt state of their own under CACHE, so that the host's apt learns nothing of
# foreign architectures; only their boot/ is kept, and zram with what it depends on, which
# is what swap goes to, in the order of loading:
#
#	CACHE/kernel/SERIES/ARCH/{vmlinuz,config,package,version,modules/N.ko}
#		SERIES: 6.1 6.12	ARCH: x86 arm64 powerpc
#
# Does nothing, quickly, when all is there. FIDELITY_REFRESH=1 fetches kernels again,
# FIDELITY_MIRROR=URL names another mirror, FIDELITY_VERSION=6.1.0-50 asks for
# linux-image-6.1.0-50 instead of the newest of 6.1. Exit 2: something is missing, and what.
set -eu

CACHE=${1:-build/fidelity}
MIRROR=${FIDELITY_MIRROR:-http://deb.debian.org}
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
SUITE=bookworm

die()
{
	echo "fidelity-setup: $*" >&2
	exit 2
}

# ---------------------------------------------------------------- packages

# file or command that shows it is there : package
NEEDED="
gcc:gcc
qemu-system-x86_64:qemu-system-x86
qemu-system-aarch64:qemu-system-arm
qemu-system-ppc64:qemu-system-ppc
aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu
powerpc64le-linux-gnu-gcc:gcc-powerpc64le-linux-gnu
/usr/aarch64-linux-gnu/lib/libc.a:libc6-dev-arm64-cross
/usr/powerpc64le-linux-gnu/lib/libc.a:libc6-dev-ppc64el-cross
/usr/lib/x86_64-linux-gnu/libc.a:libc6-dev
/usr/lib/x86_64-linux-gnu/libjansson.so:libjansson-dev
dpkg-deb:dpkg
xz:xz-utils
$KEYRING:debian-archive-keyring
"

missing_packages()
{
	for pair in $NEEDED; do
		case $pair in
		/*) [ -e "${pair%%:*}" ] || echo "${pair##*:}" ;;
		*) command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}" ;;
		esac
	done
}

install_packages()
{
	missing=$(missing_packages | tr '\n' ' ')
	[ -n "$missing" ] || return 0

	if [ "$(id -u)" = 0 ]; then
		sudo=
	elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
		sudo=sudo
	else
		die "may not install packages; as root: apt-get install $missing"
	fi
	echo "fidelity-setup: installing $missing"
	$sudo apt-get update -q >/dev/null || true
	# shellcheck disable=SC2086 # words of a list
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
		--no-install-recommends $missing >/dev/null ||
		die "apt-get install failed; needed: $missing"
	missing=$(missing_packages | tr '\n' ' ')
	[ -z "$missing" ] || die "still missing after installing: $missing"
}

# ----------------------------------------------------------------- kernels

# private_apt TOOL ARGS...: apt for $debarch with its own state.
private_apt()
{
	tool=$1
	shift
	"$tool" -q \
		-o APT::Architecture="$debarch" -o APT::Architectures="$debarch" \
		-o APT::Sandbox::User= -o Acquire::Languages=none \
		-o Dir::State="$state/state" -o Dir::State::status="$state/status" \
		-o Dir::Cache="$state/cache" \
		-o Dir::Etc::sourcelist="$state/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		"$@"
}

make_apt_state()
{
	mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial"
	: >"$state/status"
	cat >"$state/sources.list" <<-END
	deb [signed-by=$KEYRING] $MIRROR/debian $SUITE main
	deb [signed-by=$KEYRING] $MIRROR/debian-security $SUITE-security main
	END
}

# A mirror in the middle of its sync has lists that contradict each other: try
# again, then make do with the lists that could be read.
update_lists()
{
	for pause in 5 10 0; do
		private_apt apt-get update >"$state/update.log" 2>&1 && return
		sleep $pause
	done
	echo "fidelity-setup: some of Debian's $debarch lists could not be read:" >&2
	grep '^E:' "$state/update.log" | head -n 3 >&2
}

# module NAME: NAME.ko and, before it, what it depends on, numbered into $1/modules.
# A kernel's image may hold some of them itself.
keep_module()
{
	file=$(find lib/modules -name "$2.ko*" -o -name "$(echo "$2" | tr _ -).ko*" | head -n 1)
	[ -n "$file" ] || return 0
	case $file in
	*.xz)	xz -d -k "$file" && file=${file%.xz} ;;
	esac
	for needed in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr , ' '); do
		keep_module "$1" "$needed"
	done
	file=$(find lib/modules -name "$2.ko" -o -name "$(echo "$2" | tr _ -).ko" | head -n 1)
	n=$(find "$1/modules" -name '*.ko' | wc -l)
	# One that several depend on is there already.
	for kept in "$1"/modules/*.ko; do
		! cmp -s "$file" "$kept" || return 0
	done
	cp "$file" "$1/modules/$n.ko"
}

# unpack_kernel NEW: download $package, keep its boot/ and zram in NEW.
unpack_kernel()
(
	mkdir -p "$1/deb" "$1/modules"
	cd "$1/deb"
	private_apt apt-get download "$package" >/dev/null ||
		die "cannot download $package"
	dpkg-deb -x ./*.deb . || die "cannot unpack $package"
	keep_module "$1" zram
	[ -e "$1/modules/0.ko" ] || die "$package has no zram"
	mv boot/vmlinu[xz]-* ../vmlinuz
	mv boot/config-* ../config
	echo "$package" >../package
	dpkg-deb -f ./*.deb Version >../version
	rm -rf ../deb
)

# newest_package: the newest linux-image-$series.*-$flavour, or the one that was asked for.
newest_package()
{
	private_apt apt-cache pkgnames "linux-image-$series." | sed 's/^linux-image-//' |
		grep -E "^${series}\\.[0-9]+[-+][a-z0-9]+-$flavour\$" | sort -V |
		case ${FIDELITY_VERSION:-} in
		"$series".*) grep -x "$FIDELITY_VERSION-$flavour" ;;
		*) tail -n 1 ;;
		esac
}

# fetch_kernel SERIES ARCH DEBARCH FLAVOUR. CACHE/kernel/SERIES/ARCH appears at once, whole, or
# not at all.
fetch_kernel()
{
	series=$1 arch=$2 debarch=$3 flavour=$4
	dest=$CACHE/kernel/$series/$arch
	state=$CACHE/apt/$debarch

	if [ -s "$dest/version" ] && [ -z "${FIDELITY_REFRESH:-}" ]; then
		return 0
	fi
	echo "fidelity-setup: fetching the $debarch kernel, $series"
	make_apt_state
	update_lists
	package=$(newest_package)
	[ -n "$package" ] || die "$MIRROR has no linux-image-$series.*-$flavour"
	package=linux-image-$package

	rm -rf "$dest.new"
	unpack_kernel "$dest.new"
	rm -rf "$dest" "$state"
	mv "$dest.new" "$dest"
}

[ "$(uname -m)" = x86_64 ] || die "written for an x86-64 host"
mkdir -p "$CACHE"
CACHE=$(cd "$CACHE" && pwd)
install_packages
fetch_kernel 6.1 x86 amd64 amd64-unsigned
fetch_kernel 6.1 arm64 arm64 arm64-unsigned
fetch_kernel 6.1 powerpc ppc64el powerpc64le
fetch_kernel 6.12 x86 amd64 amd64-unsigned
fetch_kernel 6.12 arm64 arm64 arm64-unsigned
for kernel in "$CACHE"/kernel/*/*/package; do
	dir=$(dirname "$kernel")
	echo "fidelity-setup: $(basename "$dir") $(cat "$kernel") $(cat "$dir/version")"
done
