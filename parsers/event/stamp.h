/* SPDX-License-Identifier: Apache-2.0 */
/* A time as a line shows it, and which other times it can be compared to. */
#ifndef WO_STAMP_H
#define WO_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* The clock that a stamp's numbers come from. Stamps of different clocks cannot be compared directly. */
enum wo_clock {
  WO_CLOCK_NONE,    /* no stamp */
  WO_CLOCK_LOCAL,   /* date and time without a zone: nanoseconds since 1970 as if it were UTC */
  WO_CLOCK_UTC,     /* date, time and zone: nanoseconds since 1970 */
  WO_CLOCK_YEARLESS /* month, day and time: nanoseconds as if the year were 2000 */
};

/* All zero is no stamp. */
struct wo_stamp {
  enum wo_clock clock;
  bool is_inherited; /* of an earlier line of the same writer: the line itself is not earlier than this */
  int64_t time_ns;   /* a whole second where none was printed finer */
};

#endif
