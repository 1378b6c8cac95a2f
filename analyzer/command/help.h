/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about the commands, laid out from their tables: help texts, parts of the manual, completions for shells. */
#ifndef WO_HELP_H
#define WO_HELP_H

#include "parsers/base/command/command.h"

/* Adds the help text of a command: usage, purpose, options, exit status, examples, its page of the manual. The text of the first
 * command also has the usage of all others. */
void wo_help_add(const struct wo_command *command, struct wo_commands commands, struct wo_text *out);

/* The parts of a command's manual page that come from its table. */
#define WO_MANUAL_PARTS "name|synopsis|options|examples"

/* Adds such a part with the macros of man(7), without its heading; `part` is a place in WO_MANUAL_PARTS, from 0. */
void wo_help_add_manual(const struct wo_command *command, struct wo_commands commands, int part, struct wo_text *out);

/* The shells that have a completion script. */
#define WO_SHELLS "bash|zsh|fish"

/* Adds the script that makes a shell complete the command line; `shell` is a place in WO_SHELLS, from 0. */
void wo_completion_add(int shell, struct wo_text *out);

/* `words` are those after the program's name, the last one unfinished (it may be empty). Adds a line "word TAB text" for each
 * word that may replace it; nothing if only files may. */
void wo_completion_offer(struct wo_commands commands, char *const *words, size_t count, struct wo_text *out);

/* A line about an option, without the end of its sentence: its `about`, else the beginning of its help. */
struct wo_view wo_help_about(const struct wo_option *option);

#endif
