/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fuzz targets: any bytes as one kind of file. Each takes what it is given or says
 * one line of error, and asserts that what it took keeps its promises. For libFuzzer each is
 * compiled with -DFUZZ, alone (its head says how); test_replay.c has them all.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

void fuzz_litmus(const uint8_t *data, size_t size);
void fuzz_machine_yaml(const uint8_t *data, size_t size);
void fuzz_scenario(const uint8_t *data, size_t size);
void fuzz_witness(const uint8_t *data, size_t size);

#ifdef FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#define FUZZ_TARGET(target)						\
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)	\
	{								\
		target(data, size);					\
		return 0;						\
	}
#else
#define FUZZ_TARGET(target)
#endif

#endif
