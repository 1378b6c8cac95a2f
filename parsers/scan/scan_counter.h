/* SPDX-License-Identifier: Apache-2.0 */
/* How far a log that just stops had come, by numbers out of a total that grow from line to line. Only the scanner includes this.
 * Pure; any thread. */
#ifndef WO_SCAN_COUNTER_H
#define WO_SCAN_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/view.h"

enum {
  WO_SCAN_COUNTERS = 4,       /* numbers of one line that are followed */
  WO_SCAN_COUNTER_LAST = 3,   /* lines from the end in which the newest must be */
  WO_SCAN_COUNTER_EARLIER = 2 /* smaller ones that a series must have above it */
};

/* A number out of a total, in the lines that have the same total, walked upwards. */
struct wo_counter_series {
  uint64_t step, total; /* the newest */
  uint64_t earliest;    /* the smallest so far */
  uint64_t stride;      /* the largest difference between two of them */
  uint64_t highest;     /* above the newest: how far an earlier round went */
  int earlier;          /* smaller ones found above */
};

/* Starts with all zeros. */
struct wo_counter {
  struct wo_counter_series items[WO_SCAN_COUNTERS];
  size_t count;
  int lines;
};

/* Looks at the next line, upwards from the end of the log. */
void wo__counter_look(struct wo_counter *counter, struct wo_view line);

/* A series that had further to go when the log stopped: another stride would not have reached its total, or not what a round
 * above reached. NULL if there is none. */
const struct wo_counter_series *wo__counter_unfinished(const struct wo_counter *counter);

#endif
