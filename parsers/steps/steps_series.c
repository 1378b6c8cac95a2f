/* SPDX-License-Identifier: Apache-2.0 */
/* One figure of memory along the steps. */
#include "parsers/steps/steps_series.h"

#include <string.h>

/* A step that falls by no more than this belongs to another process that is a little slower. */
#define STEP_DISORDER 2

/* Share of the figure below which the memory of a program has been given back. */
#define RESTART_SHARE 0.9

/* Share of the highest figure above which a decrease counts as a fall. */
#define FALL_SHARE 0.05

/* The state before the first change of a course. */
static const struct wo_steps_change no_change = {.step = WO_STEPS_UNKNOWN};

static void begin(struct wo_steps_series *series, const struct wo_steps_reading *reading, double bytes) {
  series->count = 0;
  series->wraps = series->falls = 0;
  series->first = series->lowest = series->highest = bytes;
  series->half = 0;
  series->step_first = series->step_highest = reading->step;
  series->step_last = series->epoch_last = WO_STEPS_UNKNOWN;
  series->x = 0;
  series->warm_low = series->warm_high = WO_STEPS_UNKNOWN;
  series->jump = series->fall = no_change;
  wo_trend_begin(&series->trend);
}

/* The meaning of a step that is not after the last one. */
enum turn { TURN_NONE, TURN_DISORDER, TURN_WRAP, TURN_RESTART };

static enum turn turn_of(const struct wo_steps_series *series, const struct wo_steps_reading *reading, double bytes) {
  const bool is_back = reading->step >= 0 && series->step_last >= 0 && reading->step < series->step_last;
  const bool has_epochs = reading->epoch >= 0 && series->epoch_last >= 0;
  if (!is_back && !(has_epochs && reading->epoch < series->epoch_last)) return TURN_NONE;
  if (has_epochs && reading->epoch != series->epoch_last) return reading->epoch > series->epoch_last ? TURN_WRAP : TURN_RESTART;
  const bool is_given_back =
      series->role == WO_STEPS_FREE ? bytes * RESTART_SHARE > series->last : bytes < series->last * RESTART_SHARE;
  if (is_given_back) return TURN_RESTART;
  return series->step_last - reading->step <= STEP_DISORDER ? TURN_DISORDER : TURN_WRAP;
}

/* Moves x on. Steps that are far apart or begin anew count as one. */
static void move_on(struct wo_steps_series *series, const struct wo_steps_reading *reading, enum turn turn) {
  if (series->count == 0 || reading->step < 0 || series->step_last < 0 || turn == TURN_WRAP) {
    series->x += 1;
  } else if (turn == TURN_NONE) {
    series->x += reading->step - series->step_last;
  }
  if (turn == TURN_WRAP) series->wraps++;
  if (turn == TURN_DISORDER) return;
  series->step_last = reading->step;
  series->epoch_last = reading->epoch;
}

/* Compares with the print before. */
static void note_change(struct wo_steps_series *series, const struct wo_steps_reading *reading, double bytes, uint64_t line) {
  const double rise = bytes - series->last;
  const struct wo_steps_change change = {
      .bytes = rise < 0 ? -rise : rise, .from = series->last, .step = reading->step, .line = line};
  if (series->warm_low < 0) {
    series->warm_low = series->warm_high = series->last;
  }
  if (bytes < series->warm_low) series->warm_low = bytes;
  if (bytes > series->warm_high) series->warm_high = bytes;
  if (rise > series->jump.bytes) series->jump = change;
  if (-rise > series->fall.bytes) series->fall = change;
  if (-rise > FALL_SHARE * series->highest) series->falls++;
}

static void keep_place(struct wo_steps_series *series, const struct wo_steps_place *place) {
  if (series->count == 0) series->line_first = place->line;
  series->line_last = place->line;
  series->byte_last = place->byte;
  series->length_last = place->text.len;
  series->text_len = place->text.len < sizeof series->text ? place->text.len : sizeof series->text;
  if (series->text_len > 0) memcpy(series->text, place->text.ptr, series->text_len);
}

void wo_steps_series_add(struct wo_steps_series *series, const struct wo_steps_reading *reading,
                         const struct wo_steps_place *place) {
  const double bytes = reading->bytes[series->role];
  enum turn turn = TURN_NONE;
  if (series->count > 0) turn = turn_of(series, reading, bytes);
  if (turn == TURN_RESTART) series->restarts++;
  if (series->count == 0 || turn == TURN_RESTART) begin(series, reading, bytes);
  move_on(series, reading, turn);
  if (series->count >= WO_STEPS_WARM_UP) note_change(series, reading, bytes, place->line);
  if (bytes < series->lowest) series->lowest = bytes;
  if (bytes > series->highest) {
    series->highest = bytes;
    series->step_highest = reading->step;
  }
  if (reading->half_bytes[series->role] > series->half) series->half = reading->half_bytes[series->role];
  keep_place(series, place);
  series->last = bytes;
  series->count++;
  wo_trend_add(&series->trend, bytes, -1, series->x, false);
}

/* After the warm-up, where enough points are left for a slope. A full point of several prints holds all of it. */
static struct wo_trend_span span_of(const struct wo_steps_series *series) {
  enum { LEAST = 20 };
  const size_t warm_up = series->trend.stride > 1 ? 1 : WO_STEPS_WARM_UP;
  return (struct wo_trend_span){series->trend.count < LEAST ? 0 : warm_up, series->trend.count};
}

bool wo_steps_series_slope(const struct wo_steps_series *series, struct wo_interval *ret_bytes_per_step) {
  return wo_trend_slope(&series->trend, span_of(series), true, ret_bytes_per_step);
}

bool wo_steps_series_late_rise(const struct wo_steps_series *series, double *ret_bytes) {
  return wo_trend_late_rise(&series->trend, span_of(series), ret_bytes);
}
