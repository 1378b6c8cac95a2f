/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that programs print beside their training steps, of one input: the forms that its lines have, a series for each rank and
 * meaning, and the evidence made of them at the end. Most of a training log may be such lines, so they come by the scanner's
 * short way; lines that come by the usual way give the same evidence, because both end in `take`. And tables of YOLO:
 *
 *         Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
 *         1/100      12.3G      1.234      2.345      1.456         32        640: 100%|####| 8/8
 *
 * A row of such a table is one progress bar, drawn again and again; the first one after its names is read, and the names come
 * again at each epoch. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/exchange/curve.h"
#include "parsers/scan/format.h"
#include "parsers/steps/steps_series.h"

/* Prints below which a series says nothing. */
#define PRINTS_MIN 3

struct steps {
  struct wo_steps_form *forms[WO_LIMIT_STEPS_FORMS]; /* the one that was met last comes first */
  size_t form_count;
  struct {
    struct wo_steps_series *series;
    const struct wo_pattern *pattern;
  } rows[WO_LIMIT_STEPS_SERIES];
  size_t row_count;
  size_t cursor;        /* of the row that was found last: ranks and figures come in the same order again and again */
  uint64_t dropped;     /* figures without room for a series of their own */
  uint64_t unread;      /* lines that were too long, or had too many numbers */
  uint64_t next_offset; /* just after the start of the last line that was taken */
  size_t first_new;     /* row that this line began; row_count: none */
};

static const struct wo_follower follower;

/* ---- Forms ---- */

/* Moves the form at `index` to the front: most logs have one or two, and the others are met in turns. */
static const struct wo_steps_form *to_front(struct steps *steps, size_t index) {
  struct wo_steps_form *const form = steps->forms[index];
  if (index == 0) return form;
  memmove(&steps->forms[1], &steps->forms[0], index * sizeof steps->forms[0]);
  steps->forms[0] = form;
  return form;
}

/* Makes a form of the line in the place of the one that was not met for longest. NULL when the line has none, or memory is out.
 */
static const struct wo_steps_form *learn(struct steps *steps, struct wo_view line, struct wo_event_store *store) {
  size_t index = steps->form_count;
  if (index == WO_LIMIT_STEPS_FORMS) {
    index--;
  } else if (steps->forms[index] == NULL) {
    steps->forms[index] = malloc(sizeof *steps->forms[index]);
    if (steps->forms[index] == NULL) store->is_out_of_memory = true;
    if (steps->forms[index] == NULL) return NULL;
  }
  if (index < steps->form_count) steps->form_count--;
  if (!wo_steps_form_make(line, steps->forms[index])) {
    steps->unread += steps->forms[index]->part_count == WO_LIMIT_STEPS_NUMBERS;
    return NULL;
  }
  steps->form_count = index + 1;
  return to_front(steps, index);
}

/* The form of the line, and the figures of the line. NULL when it has none. */
static const struct wo_steps_form *read_line(struct steps *steps, struct wo_view line, struct wo_steps_reading *reading,
                                             struct wo_event_store *store) {
  for (size_t i = 0; i < steps->form_count; i++) {
    if (wo_steps_form_match(steps->forms[i], line, reading) == line.len) return to_front(steps, i);
  }
  const struct wo_steps_form *const form = learn(steps, line, store);
  return form != NULL && wo_steps_form_match(form, line, reading) == line.len ? form : NULL;
}

/* ---- Series ---- */

static bool is_series_of(const struct wo_steps_series *series, const struct wo_steps_reading *reading, enum wo_steps_role role) {
  return series->role == role && series->rank == reading->rank && series->gpu == reading->gpu;
}

/* The series of a figure; a new one is made. NULL when there are too many, or no memory. */
static struct wo_steps_series *find_series(struct steps *steps, const struct wo_pattern *pattern,
                                           const struct wo_steps_form *form, const struct wo_steps_reading *reading,
                                           enum wo_steps_role role, struct wo_event_store *store) {
  for (size_t i = 1; i <= steps->row_count; i++) {
    const size_t index = (steps->cursor + i) % steps->row_count;
    if (!is_series_of(steps->rows[index].series, reading, role)) continue;
    steps->cursor = index;
    return steps->rows[index].series;
  }
  if (steps->row_count == WO_LIMIT_STEPS_SERIES) {
    steps->dropped++;
    return NULL;
  }
  struct wo_steps_series *const series = calloc(1, sizeof *series);
  if (series == NULL) store->is_out_of_memory = true;
  if (series == NULL) return NULL;
  series->role = role;
  series->rank = reading->rank;
  series->gpu = reading->gpu;
  series->is_local_rank = form != NULL && form->is_local_rank;
  series->is_epoch = form == NULL || form->is_epoch;
  steps->cursor = steps->row_count;
  steps->rows[steps->row_count].series = series;
  steps->rows[steps->row_count++].pattern = pattern;
  return series;
}

/* For pictures. The steps of a course go on where the printed number begins anew. */
static void keep_figure(struct wo_event_store *store, const struct wo_steps_series *series,
                        const struct wo_steps_reading *reading, uint64_t restarts) {
  const struct wo_curve_key key = {
      .source = &follower, .name = wo_steps_role_name(series->role), .card = series->gpu, .rank = series->rank};
  const struct wo_curve_point point = {.x = series->x, .at = reading->step, .bytes = series->last};
  if (store->curves == NULL) return;
  if (series->restarts > restarts) wo_curve_restart(store->curves, key);
  wo_curve_add(store->curves, key, point);
}

/* Adds the figures of a line. */
static void add(struct steps *steps, const struct wo_pattern *pattern, const struct wo_steps_form *form,
                const struct wo_steps_reading *reading, const struct wo_steps_place *place, struct wo_event_store *store) {
  for (size_t role = 0; role < WO_STEPS_ROLE_COUNT_; role++) {
    if (reading->bytes[role] < 0) continue;
    struct wo_steps_series *const series = find_series(steps, pattern, form, reading, (enum wo_steps_role)role, store);
    if (series == NULL) continue;
    const uint64_t restarts = series->restarts;
    wo_steps_series_add(series, reading, place);
    keep_figure(store, series, reading, restarts);
  }
}

/* ---- Lines ---- */

static void note_line(struct steps *steps, uint64_t offset) {
  steps->next_offset = offset + 1;
  steps->first_new = steps->row_count;
}

/* The series that a line began are evidence of the first pattern in the packs, whichever literal was found first. The patterns of
 * a set are in one array. */
static void match_again(struct wo_scan *scan, const struct wo_pattern *pattern) {
  struct steps *const steps = wo_scan_follow(scan, &follower);
  for (size_t i = steps ? steps->first_new : 0; steps && i < steps->row_count; i++) {
    if (pattern < steps->rows[i].pattern) steps->rows[i].pattern = pattern;
  }
}

/* The line may be the last one that was taken; then nothing is left to do. */
static void take(struct wo_scan *scan, const struct wo_pattern *pattern, struct wo_view line, uint64_t number, uint64_t offset) {
  struct steps *const steps = wo_scan_follow(scan, &follower);
  struct wo_steps_reading reading;
  if (!steps) return;
  if (offset + 1 == steps->next_offset) match_again(scan, pattern);
  if (offset < steps->next_offset) return;
  note_line(steps, offset);
  if (line.len > WO_LIMIT_STEPS_LINE_BYTES) {
    steps->unread++;
    return;
  }
  struct wo_event_store *const store = wo_scan_store(scan);
  const struct wo_steps_form *const form = read_line(steps, line, &reading, store);
  const struct wo_steps_place place = {.line = number, .byte = offset, .text = line};
  if (form && form->is_sample) add(steps, pattern, form, &reading, &place, store);
}

/* Two forms are tried, because figures may alternate between two units or two counts of digits. */
static size_t take_like(struct wo_scan *scan, const struct wo_pattern *pattern, struct wo_view text, size_t hit, uint64_t number,
                        uint64_t offset) {
  enum { TRIED = 2 };
  struct steps *const steps = wo_scan_follow(scan, &follower);
  struct wo_steps_reading reading;
  if (!steps || offset < steps->next_offset) return 0;
  for (size_t i = 0; i < steps->form_count && i < TRIED; i++) {
    const size_t len = wo_steps_form_match(steps->forms[i], text, &reading);
    if (len == WO_NOT_FOUND || len >= text.len || len <= hit || len > WO_LIMIT_STEPS_LINE_BYTES) continue;
    const struct wo_steps_form *const form = to_front(steps, i);
    const struct wo_steps_place place = {.line = number, .byte = offset, .text = {text.ptr, len}};
    note_line(steps, offset);
    if (form->is_sample) add(steps, pattern, form, &reading, &place, wo_scan_store(scan));
    return len;
  }
  return 0;
}

/* ---- Evidence ---- */

/* One event being filled. */
struct target {
  struct wo_event_store *store;
  struct wo_event *event;
};

static void set(const struct target *to, enum wo_field_id id, double value) {
  wo_event_set_exact(to->store, to->event, id, value);
}

/* A printed figure stands for all that are printed so. Where these are less than a byte apart ("1.234567890123 GB"), the whole
 * byte next to it is one of them. */
static void set_bytes(const struct target *to, enum wo_field_id id, double value, double half) {
  const double whole = (double)(int64_t)(value + 0.5);
  const double lo = value - half < whole ? value - half : whole;
  const double hi = value + half > whole ? value + half : whole;
  wo_event_set_number(to->store, to->event, id, (struct wo_interval){.lo = lo, .mid = whole, .hi = hi});
}

static void set_step(const struct target *to, enum wo_field_id id, double step) {
  if (step >= 0) set(to, id, step);
}

static void set_course(const struct target *to, const struct wo_steps_series *series) {
  struct wo_interval slope;
  double rise = 0;
  if (wo_steps_series_slope(series, &slope))
    wo_event_set_number(to->store, to->event, WO_FIELD_SLOPE_BYTES_PER_STEP, wo_trend_whole(slope));
  if (wo_steps_series_late_rise(series, &rise)) set(to, WO_FIELD_LATE_RISE_BYTES, wo_trend_rounded(rise, 1));
  if (series->warm_low < 0) return;
  set(to, WO_FIELD_SPREAD_BYTES, wo_trend_rounded(series->warm_high - series->warm_low, 1));
  if (series->fall.bytes > 0) set(to, WO_FIELD_FALL_BYTES, wo_trend_rounded(series->fall.bytes, 1));
  set(to, WO_FIELD_FALL_COUNT, (double)series->falls);
  if (series->jump.bytes <= 0) return;
  set(to, WO_FIELD_JUMP_BYTES, wo_trend_rounded(series->jump.bytes, 1));
  set(to, WO_FIELD_JUMP_FROM_BYTES, wo_trend_rounded(series->jump.from, 1));
  set(to, WO_FIELD_JUMP_LINE, (double)series->jump.line);
  set_step(to, WO_FIELD_JUMP_STEP, series->jump.step);
}

static void fill(const struct target *to, const struct wo_steps_series *series) {
  wo_event_set_text(to->store, to->event, WO_FIELD_NAME, wo_view_of(wo_steps_role_name(series->role)));
  if (series->gpu >= 0) set(to, WO_FIELD_GPU, series->gpu);
  set(to, WO_FIELD_SAMPLES, (double)series->count);
  set_step(to, WO_FIELD_STEP_FIRST, series->step_first);
  set_step(to, WO_FIELD_STEP, series->step_last);
  set_step(to, WO_FIELD_STEP_PEAK, series->step_highest);
  if (series->step_last >= 0) {
    wo_event_set_text(to->store, to->event, WO_FIELD_STEP_UNIT, series->is_epoch ? WO_VIEW("epoch") : WO_VIEW("step"));
  }
  set_bytes(to, WO_FIELD_FIRST_BYTES, series->first, series->half);
  set_bytes(to, WO_FIELD_LAST_BYTES, series->last, series->half);
  set_bytes(to, WO_FIELD_PEAK_BYTES, series->highest, series->half);
  set_bytes(to, WO_FIELD_LOWEST_BYTES, series->lowest, series->half);
  set(to, WO_FIELD_LINE_FIRST, (double)series->line_first);
  set(to, WO_FIELD_RESTART_COUNT, (double)series->restarts);
  set(to, WO_FIELD_WRAP_COUNT, (double)series->wraps);
  set_course(to, series);
}

/* The last line is the one to show: a failure comes after it. */
static void emit(struct wo_scan *scan, const struct wo_steps_series *series, const struct wo_pattern *pattern) {
  struct wo_line line;
  if (series->count < PRINTS_MIN) return;
  wo_scan_make_line(scan, (struct wo_view){series->text, series->text_len}, series->line_last, series->byte_last, &line);
  line.offset = series->byte_last; /* a label in front of it belongs to the place */
  struct wo_event *const event = wo_scan_add_event(scan, &line, pattern, WO_KIND_MEMORY_STEPS, 0, series->length_last);
  if (event == NULL) return;
  event->is_quoted = false;
  if (series->rank >= 0) {
    event->rank = series->rank;
    event->is_local_rank = series->is_local_rank;
  }
  fill(&(struct target){wo_scan_store(scan), event}, series);
}

static void emit_all(struct wo_scan *scan, void *state) {
  const struct steps *const steps = state;
  for (size_t i = 0; i < steps->row_count; i++) emit(scan, steps->rows[i].series, steps->rows[i].pattern);
  wo_scan_store(scan)->dropped += steps->dropped;
  wo_scan_note_cap(scan, WO_CAP_STEPS, steps->unread);
}

static void done(void *state) {
  const struct steps *const steps = state;
  for (size_t i = 0; i < WO_LIMIT_STEPS_FORMS; i++) free(steps->forms[i]);
  for (size_t i = 0; i < steps->row_count; i++) free(steps->rows[i].series);
}

/* ---- Going on another time ---- */

static void keep_forms(struct steps *steps, struct wo_keep *keep) {
  size_t count = steps->form_count;
  wo_keep_size(keep, &count, WO_LIMIT_STEPS_FORMS);
  for (size_t i = 0; i < count && !keep->is_bad; i++) {
    if (wo_keep_is_reading(keep)) steps->forms[i] = calloc(1, sizeof *steps->forms[i]);
    if (!steps->forms[i]) {
      wo_keep_fail(keep);
      return;
    }
    wo_steps_form_keep(steps->forms[i], keep);
  }
  steps->form_count = count;
}

static void keep_rows(struct wo_scan *scan, struct steps *steps, struct wo_keep *keep) {
  size_t count = steps->row_count;
  wo_keep_size(keep, &count, WO_LIMIT_STEPS_SERIES);
  for (size_t i = 0; i < count && !keep->is_bad; i++) {
    if (wo_keep_is_reading(keep)) steps->rows[i].series = calloc(1, sizeof *steps->rows[i].series);
    if (!steps->rows[i].series) {
      wo_keep_fail(keep);
      return;
    }
    if (wo_keep_is_reading(keep)) steps->row_count = i + 1; /* it is to be released */
    wo_scan_keep_pattern(scan, keep, &steps->rows[i].pattern);
    wo_steps_series_keep(steps->rows[i].series, keep);
  }
}

static void keep_steps(struct wo_scan *scan, void *state, struct wo_keep *keep) {
  struct steps *const steps = state;
  keep_forms(steps, keep);
  keep_rows(scan, steps, keep);
  wo_keep_size(keep, &steps->cursor, WO_LIMIT_STEPS_SERIES);
  wo_keep_number(keep, &steps->dropped, UINT64_MAX);
  wo_keep_number(keep, &steps->unread, UINT64_MAX);
  wo_keep_number(keep, &steps->next_offset, UINT64_MAX);
  wo_keep_size(keep, &steps->first_new, WO_LIMIT_STEPS_SERIES);
}

static const struct wo_follower follower = {
    .state_bytes = sizeof(struct steps), .emit = emit_all, .done = done, .keep = keep_steps};

/* ---- The readers ---- */

static const struct wo_short_way short_way = {.take = take, .take_like = take_like, .match_again = match_again};

/* Lines that another pattern matches too come this way. */
static enum wo_more begin_steps(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  take(open->scan, open->pattern, open->line->raw, open->line->number, open->line->offset);
  return WO_MORE_NO;
}

const struct wo_format wo__format_steps = {
    .name = "steps", .follower = &follower, .short_way = &short_way, .is_of_line = true, .begin = begin_steps};

struct table {
  int strange; /* lines after the names */
};

/* Lines between the names and the first row: a bar that has no figures yet. */
#define STRANGE_MAX 4

static enum wo_more begin_table(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  (void)open;
  return wo_view_starts(wo_view_trim_start(open->line->text), "Epoch") ? WO_MORE_YES : WO_MORE_NO;
}

static enum wo_more feed_table(struct wo_open *open) {
  struct table *const own = open->state;
  struct wo_steps_reading reading;
  if (wo_steps_read_yolo(open->line->text, &reading)) {
    const struct wo_steps_place place = {.line = open->line->number, .byte = open->line->offset, .text = open->line->raw};
    struct steps *const steps = wo_scan_follow(open->scan, &follower);
    if (steps) add(steps, open->pattern, NULL, &reading, &place, open->store);
    if (steps) steps->first_new = steps->row_count;
    return WO_MORE_NO;
  }
  return ++own->strange > STRANGE_MAX ? WO_MORE_NO : WO_MORE_YES;
}

const struct wo_format wo__format_steps_table = {
    .name = "steps_table", .state_bytes = sizeof(struct table), .follower = &follower, .begin = begin_table, .feed = feed_table};
