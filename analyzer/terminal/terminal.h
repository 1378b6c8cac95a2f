/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of a call: how wide it is, what it shows, and a pager for texts that are longer than it. */
#ifndef WO_TERMINAL_H
#define WO_TERMINAL_H

#include "parsers/base/command/command.h"

/* How text is laid out: the command line wins over the environment, that over the terminal. Colours are for a terminal unless
 * --color or FORCE_COLOR says otherwise, and never where NO_COLOR is set without them (no-color.org), in a terminal that is
 * called dumb, or in a file of --output. Characters beyond ASCII are for terminals only, since a pipe's reader is unknown. */
struct wo_text_style wo_terminal_style(const struct wo_call *call);

/* An environment variable; NULL for one that is not set or empty. */
const char *wo_terminal_variable(const char *name);

#endif
