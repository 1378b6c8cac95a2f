/* SPDX-License-Identifier: Apache-2.0 */
/* The course of one figure of memory over the steps of one rank, of any length in bounded memory: the first and the last figure,
 * the extremes, the largest rise and fall between neighbours, and the points for a slope
 * (parsers/formats/common/monitor_trend.h).
 *
 * A program that starts again begins a new course: only the last one is kept, and how many there were. Pure. */
#ifndef WO_STEPS_SERIES_H
#define WO_STEPS_SERIES_H

#include "parsers/formats/common/monitor_trend.h"
#include "parsers/steps/steps_form.h"

/* Prints at the beginning whose changes are those of starting up (optimizer states, tuned kernels): they count as no jump. */
#define WO_STEPS_WARM_UP 3

/* Bytes of a line that are kept with its evidence. */
#define WO_STEPS_TEXT_BYTES 256

/* A change between two neighbouring prints. */
struct wo_steps_change {
  double bytes; /* at or above zero */
  double from;
  double step; /* of the later one, or WO_STEPS_UNKNOWN */
  uint64_t line;
};

struct wo_steps_series {
  enum wo_steps_role role;
  int32_t rank; /* or -1 */
  int32_t gpu;  /* or -1 */
  bool is_local_rank;
  bool is_epoch; /* what counts as step is an epoch */
  uint64_t count;
  uint64_t restarts; /* courses before this one */
  uint64_t wraps;    /* how often the step began anew with memory going on: at each epoch */
  double first, last, lowest, highest;
  double half; /* of the last printed digit */
  double step_first, step_last, step_highest;
  double epoch_last;
  double x;                   /* steps since the course began, from 1; prints if no step is shown */
  double warm_low, warm_high; /* extremes after the warm-up; of no print at first */
  struct wo_steps_change jump;
  struct wo_steps_change fall;
  uint64_t falls; /* by more than a twentieth of the highest figure */
  struct wo_trend trend;
  uint64_t line_first, line_last;
  uint64_t byte_last; /* of the last line, and the text that is shown of it */
  size_t length_last;
  size_t text_len;
  char text[WO_STEPS_TEXT_BYTES];
};

/* Where a line is, and its bytes. */
struct wo_steps_place {
  uint64_t line;
  uint64_t byte;
  struct wo_view text;
};

/* Adds a line's figure of series->role, which must be known. */
void wo_steps_series_add(struct wo_steps_series *series, const struct wo_steps_reading *reading,
                         const struct wo_steps_place *place);

/* Writes a series, or reads one into zeroed memory. */
void wo_steps_series_keep(struct wo_steps_series *series, struct wo_keep *keep);

/* Bytes per step (per print if no step is shown): `mid` by least squares, `lo` and `hi` of its 95 % interval. False with fewer
 * than three points. */
bool wo_steps_series_slope(const struct wo_steps_series *series, struct wo_interval *ret_bytes_per_step);

/* By how many bytes the figure rose at least in the second half of the course; 0 when no rise is sure. False when it is too
 * short. */
bool wo_steps_series_late_rise(const struct wo_steps_series *series, double *ret_bytes);

#endif
