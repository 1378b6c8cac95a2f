/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a call as words of a command line, for commands that a report proposes. */
#ifndef WO_INPUTS_H
#define WO_INPUTS_H

#include "parsers/base/arena.h"
#include "parsers/base/view.h"

/* "a.err run.sh", quoted for the shell; "logs/4711/" and "*" where the words are all files of a folder that the shell shows, so
 * that the command stays short. Empty for standard input, for no words, and where a name cannot be shown. Lives in the arena. */
struct wo_view wo_show_inputs(char **words, size_t count, struct wo_arena *arena);

#endif
