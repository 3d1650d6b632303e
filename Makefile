# SPDX-License-Identifier: GPL-2.0-or-later
#
#	make build	build only; needs what scripts/packages lists
#	make demo	set up, build, show (FULL=1: at the thread's full size)
#	make test	set up, build, run all tests
#	make bench	the figures of docs/validation.md that take time
#	make bench-peers	how fast, beside other tools: Valgrind, QEMU, SPIN
#	make fidelity	counts beside real kernels under emulation
#	make mutate	leave out each site of core/ in turn: which does no scenario catch?
#	make litmus-diff	generated litmus tests beside another implementation; PROTOTYPE=DIR
#	make validation	docs/validation.md again, from these commands
#	make install	DESTDIR=, prefix=
#	make core	ARCH=arm64 SRC=DIR OUT=x.so: a module from a copy of core/
#	make clean
#
# SANITIZE=1 builds with ASan and UBSan, CC=clang with clang, each in a folder of
# its own; B= names another.

ifeq ($(origin CC),default)
CC = gcc
endif
prefix ?= /usr/local
DESTDIR ?=

B ?= build$(if $(filter-out gcc cc,$(CC)),-$(notdir $(CC)))$(if $(SANITIZE),-sanitize)

export CC SANITIZE

.PHONY: build demo test bench bench-peers fidelity mutate litmus-diff validation install core
.PHONY: clean setup configure

build: configure
	@scripts/ninja.sh $(B) $(if $(V),-v,--quiet) for-build

setup:
	@scripts/setup.sh

configure:
	@scripts/configure.sh $(B) $(prefix)

# In turn: nothing can be configured before it is installed.
demo: setup
	@$(MAKE) --no-print-directory build
	@scripts/demo.sh $(B) $(FULL)

test: setup
	@$(MAKE) --no-print-directory build
	@scripts/ninja.sh $(B) --quiet for-tests
	@scripts/test.sh $(B)

bench: build
	@scripts/ninja.sh $(B) --quiet for-bench
	@bench/run.sh $(B)

bench-peers: build
	@bench/peers.sh $(B)

fidelity: build
	@scripts/fidelity-setup.sh $(B)/fidelity
	@fidelity/run.sh $(B)

mutate: build
	@scripts/ninja.sh $(B) --quiet for-bench
	@scripts/mutate.sh $(B)

litmus-diff: build
	@scripts/ninja.sh $(B) --quiet bench/litmus_diff
	@scripts/litmus-diff.sh $(B) $(PROTOTYPE)

validation: build
	@scripts/ninja.sh $(B) --quiet for-bench for-tests
	@scripts/validation.sh $(B) >$(B)/validation.md && mv $(B)/validation.md docs/validation.md

install: build
	@DESTDIR=$(DESTDIR) meson install -C $(B) --no-rebuild --quiet

core:
	@scripts/build-core.sh $(ARCH) $(SRC) $(OUT)

clean:
	rm -rf build build-clang build-sanitize build-clang-sanitize
