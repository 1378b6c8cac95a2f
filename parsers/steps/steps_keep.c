/* SPDX-License-Identifier: Apache-2.0 */
/* Forms and series as bytes, so that a log is read on another time. What is read is a form or a series as lines could have made
 * it, as far as their readers rely on it. */
#include "parsers/steps/steps_series.h"

/* Above every figure of a card, and above every step that is read. */
#define BYTES_MOST 1e16
#define STEP_MOST 1e35

/* ---- Forms ---- */

static void keep_part(struct wo_steps_part *part, struct wo_keep *keep) {
  size_t text_len = part->text_len, use = part->use, role = part->role;
  wo_keep_size(keep, &text_len, WO_LIMIT_STEPS_LINE_BYTES);
  wo_keep_size(keep, &use, WO_STEPS_USE_COUNT - 1);
  wo_keep_size(keep, &role, WO_STEPS_ROLE_COUNT_ - 1);
  wo_keep_flag(keep, &part->is_bar);
  wo_keep_flag(keep, &part->takes_sign);
  wo_keep_flag(keep, &part->is_bare);
  wo_keep_double(keep, &part->scale, 0, BYTES_MOST);
  part->text_len = (uint16_t)text_len;
  part->use = (uint8_t)use;
  part->role = (uint8_t)role;
}

/* The texts between the numbers are as long as all of them together say. */
void wo_steps_form_keep(struct wo_steps_form *form, struct wo_keep *keep) {
  size_t len = 0;
  wo_keep_flag(keep, &form->is_sample);
  wo_keep_flag(keep, &form->is_local_rank);
  wo_keep_flag(keep, &form->is_epoch);
  wo_keep_size(keep, &form->part_count, WO_LIMIT_STEPS_NUMBERS);
  wo_keep_size(keep, &form->text_len, WO_LIMIT_STEPS_LINE_BYTES);
  wo_keep_size(keep, &form->tail_len, WO_LIMIT_STEPS_LINE_BYTES);
  wo_keep_bytes(keep, form->text, form->text_len);
  for (size_t i = 0; i < form->part_count; i++) {
    keep_part(&form->parts[i], keep);
    len += form->parts[i].text_len;
  }
  if (form->part_count == 0 || len + form->tail_len != form->text_len) wo_keep_fail(keep);
}

/* ---- Series ---- */

static void keep_size_of_memory(struct wo_keep *keep, double *bytes) {
  wo_keep_double(keep, bytes, WO_STEPS_UNKNOWN, BYTES_MOST);
}

static void keep_step(struct wo_keep *keep, double *step) {
  wo_keep_double(keep, step, WO_STEPS_UNKNOWN, STEP_MOST);
}

static void keep_change(struct wo_steps_change *change, struct wo_keep *keep) {
  keep_size_of_memory(keep, &change->bytes);
  keep_size_of_memory(keep, &change->from);
  keep_step(keep, &change->step);
  wo_keep_number(keep, &change->line, UINT64_MAX);
}

static void keep_label(struct wo_steps_series *series, struct wo_keep *keep) {
  size_t role = (size_t)series->role;
  wo_keep_size(keep, &role, WO_STEPS_ROLE_COUNT_ - 1);
  series->role = (enum wo_steps_role)role;
  wo_keep_int(keep, &series->rank, -1, WO_STEPS_LABEL_MAX);
  wo_keep_int(keep, &series->gpu, -1, WO_STEPS_LABEL_MAX);
  wo_keep_flag(keep, &series->is_local_rank);
  wo_keep_flag(keep, &series->is_epoch);
}

static void keep_figures(struct wo_steps_series *series, struct wo_keep *keep) {
  keep_size_of_memory(keep, &series->first);
  keep_size_of_memory(keep, &series->last);
  keep_size_of_memory(keep, &series->lowest);
  keep_size_of_memory(keep, &series->highest);
  keep_size_of_memory(keep, &series->half);
  keep_step(keep, &series->step_first);
  keep_step(keep, &series->step_last);
  keep_step(keep, &series->step_highest);
  keep_step(keep, &series->epoch_last);
  wo_keep_double(keep, &series->x, 0, STEP_MOST);
  keep_size_of_memory(keep, &series->warm_low);
  keep_size_of_memory(keep, &series->warm_high);
}

void wo_steps_series_keep(struct wo_steps_series *series, struct wo_keep *keep) {
  keep_label(series, keep);
  wo_keep_number(keep, &series->count, UINT64_MAX / 2);
  wo_keep_number(keep, &series->restarts, UINT64_MAX / 2);
  wo_keep_number(keep, &series->wraps, UINT64_MAX / 2);
  keep_figures(series, keep);
  keep_change(&series->jump, keep);
  keep_change(&series->fall, keep);
  wo_keep_number(keep, &series->falls, UINT64_MAX / 2);
  wo_trend_keep(&series->trend, keep);
  wo_keep_number(keep, &series->line_first, UINT64_MAX);
  wo_keep_number(keep, &series->line_last, UINT64_MAX);
  wo_keep_number(keep, &series->byte_last, UINT64_MAX / 4);
  wo_keep_size(keep, &series->length_last, WO_LIMIT_LINE_BYTES);
  wo_keep_size(keep, &series->text_len, sizeof series->text);
  wo_keep_bytes(keep, series->text, series->text_len);
}
