/* SPDX-License-Identifier: Apache-2.0 */
/* Signals, however a log tells of them: by name, in the words of strsignal, by number, or in an exit code. Numbers are those of
 * Linux. Pure; any thread. */
#ifndef WO_SIGNAL_H
#define WO_SIGNAL_H

#include "parsers/event/event.h"

enum wo_signal {
  WO_SIGNAL_NONE = 0, /* none, or one that nothing here knows */
  WO_SIGNAL_HUP = 1,
  WO_SIGNAL_INT = 2,
  WO_SIGNAL_QUIT = 3,
  WO_SIGNAL_ILL = 4,
  WO_SIGNAL_ABRT = 6,
  WO_SIGNAL_BUS = 7,
  WO_SIGNAL_FPE = 8,
  WO_SIGNAL_KILL = 9,
  WO_SIGNAL_USR1 = 10,
  WO_SIGNAL_SEGV = 11,
  WO_SIGNAL_USR2 = 12,
  WO_SIGNAL_TERM = 15
};

/* Of "Segmentation fault (core dumped)", "SIGTERM", "KILL" or "9". */
enum wo_signal wo_signal_of_text(struct wo_view text);

/* Of an exit code. Launchers print a signal as a negative code, shells as 128 and its number, PBS as 256 and its number; Windows
 * has codes of its own. Other codes come from the program itself. */
enum wo_signal wo_signal_of_code(double code);

/* The signal that an event reports, in its field "signal" or else in its exit code. */
enum wo_signal wo_signal_of(const struct wo_event *event);

/* "SIGKILL"; NULL for WO_SIGNAL_NONE. Static. */
const char *wo_signal_name(enum wo_signal signal);

#endif
