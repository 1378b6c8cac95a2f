/* SPDX-License-Identifier: Apache-2.0 */
/* How the program ends: the same numbers for every command (docs/man/, EXIT STATUS). */
#ifndef WO_EXIT_CODE_H
#define WO_EXIT_CODE_H

enum wo_exit {
  WO_EXIT_FINE = 0,          /* nothing wrong was found; it fits */
  WO_EXIT_FAILURE_FOUND = 1, /* a failure was diagnosed; it does not fit, or is not as recorded; a rule is wrong */
  WO_EXIT_ERROR = 2,         /* wrong usage, or something could not be read or written; the rest is reported */
  WO_EXIT_NOT_PROVEN = 3,    /* (replay, verify) too little is known, or too little is left to spare */
  WO_EXIT_CANNOT_RUN = 126,  /* (record) the command cannot be run; as env(1) */
  WO_EXIT_NOT_FOUND = 127    /* (record) there is no such command */
};

#endif
