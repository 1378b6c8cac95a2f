/* SPDX-License-Identifier: Apache-2.0 */
/* A pager for texts that are longer than the terminal. */
#ifndef WO_PAGER_H
#define WO_PAGER_H

#include <sys/types.h>

#include "parsers/base/command/command.h"

/* A pager that runs behind standard output; {0}: none. */
struct wo_pager {
  pid_t process;
};

/* Puts a pager between standard output and the terminal, where there is one and the call writes a long text to it: -v, or a
 * command whose texts are long (struct wo_command, is_long). WHYOOM_PAGER names it, else PAGER, else less; the empty name and cat
 * mean none. As with git, less gets the options FRX, by which a text that fits the terminal is just written, unless LESS is set.
 * To be called before the sandbox is entered, and after the style of the call is known; without effect where a process cannot be
 * made. */
void wo_pager_start(const struct wo_call *call, struct wo_pager *ret_pager);

/* Ends the output and waits until the reader has left the pager. */
void wo_pager_end(struct wo_pager *pager);

#endif
