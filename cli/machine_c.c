// SPDX-License-Identifier: GPL-2.0-or-later
/* Hidden: a machine file as C, for builds that have no YAML reader. */
#include "cli/cli.h"
#include "machine/desc_yaml.h"

#include <stdio.h>
#include <stdlib.h>

int cmd_machine_c(int argc, char **argv)
{
	struct machine_desc *desc = zalloc(1, sizeof(*desc));
	char error[512];

	if (argc != 2 || argv[1][0] == '-')
		die("usage: tlblab machine-c MACHINE");
	if (machine_desc_load(argv[1], desc, error, sizeof(error)))
		die("%s", error);
	machine_desc_print_c(desc, "machine_desc_builtin", stdout);
	free(desc);
	return EXIT_CLEAN;
}
