/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `tlblab list scenarios|models`: one line for each file; dies if there are none. */
#ifndef TLBLAB_CLI_LIST_FILES_H
#define TLBLAB_CLI_LIST_FILES_H

void list_scenarios(void);
void list_models(void);

#endif
