/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of steps. See verify_lengths.h. */
#include "cuda_replay/verify/verify_lengths.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "parsers/base/units.h"

/* A message prints a size in hundredths, and an entry may hold the rounded one. */
#define SAME_REQUEST_SHARE 0.01

/* Whether the log shows that the refused request is one of a step of full length: it is that of the recording. */
static bool has_full_request(const struct wo_verify_subject *subject, const struct wo_job_sizes *sizes) {
  const struct wo_step_completion *const completed = &subject->completed;
  if (!completed->is_made || !sizes->is_full_length || !(sizes->tried_bytes > 0)) return false;
  const uint32_t refused = subject->pattern.requests.items[completed->refused].subject;
  const double ratio = (double)subject->pattern.instances.items[refused].size_bytes / sizes->tried_bytes;
  return ratio > 1 - SAME_REQUEST_SHARE && ratio < 1 + SAME_REQUEST_SHARE;
}

/* The size of an axis in the recorded run. */
static uint32_t recorded_size(const struct wo_verify_subject *subject, enum wo_scale_axis_id axis, uint32_t own) {
  const uint32_t recorded = subject->recorded_at.axes[axis].from;
  return recorded > 0 ? recorded : own;
}

void wo_verify_note_lengths(struct wo_verify_subject *subject, const struct wo_job_sizes *sizes) {
  assert(subject);
  const uint32_t limit = recorded_size(subject, WO_AXIS_SEQ_LEN, subject->seq_len), first = subject->completed.pass_first;
  const uint32_t batch = recorded_size(subject, WO_AXIS_MICRO_BATCH, subject->micro_batch);
  subject->has_other_batch =
      subject->is_open && wo_scale_has_other_batch(&subject->pattern, &subject->classes, first, batch, limit);
  subject->is_largest_step = false;
  if (!subject->completed.varies) return;
  subject->longest = wo_scale_find_length(&subject->pattern, &subject->classes, first, batch, limit);
  const bool has_full_length = limit > 0 && subject->longest.seq_len == limit;
  subject->is_largest_step = has_full_length || (sizes && has_full_request(subject, sizes));
}

bool wo_verify_has_longer_steps(const struct wo_verify_subject *subject) {
  return subject->completed.varies && !subject->is_largest_step;
}

bool wo_verify_lengthen(const struct wo_verify_subject *subject, const struct wo_change *change, struct wo_change *ret_change) {
  assert(subject && ret_change);
  *ret_change = change ? *change : (struct wo_change){0};
  struct wo_scale_axis *const batch = &ret_change->scale.axes[WO_AXIS_MICRO_BATCH];
  struct wo_scale_axis *const length = &ret_change->scale.axes[WO_AXIS_SEQ_LEN];
  const uint32_t recorded_batch = recorded_size(subject, WO_AXIS_MICRO_BATCH, subject->micro_batch);
  const uint32_t limit = length->to > 0 ? length->to : subject->seq_len;
  if (subject->longest.seq_len == 0 || limit == 0) return false;
  if (batch->from == 0) *batch = (struct wo_scale_axis){recorded_batch, recorded_batch};
  *length = (struct wo_scale_axis){subject->longest.seq_len, limit};
  ret_change->scale.length_first = subject->longest.first;
  ret_change->scale.length_end = subject->longest.end;
  ret_change->has_scale = true;
  return true;
}

void wo_verify_join_longer(const struct wo_verify_subject *subject, const struct wo_verify_result *longest,
                           struct wo_verify_result *result) {
  assert(subject && longest && result);
  if (longest->fit == WO_VERIFY_YES) {
    *result = *longest;
    return;
  }
  const char *const fits = subject->completed.is_made ? "it fits for the step that failed" : "it fits for the recorded steps";
  result->fit = WO_VERIFY_UNSURE;
  if (longest->fit == WO_VERIFY_UNTRIED || longest->reserved_hi_bytes == 0)
    snprintf(result->why, sizeof result->why, "%s, but steps differ in size: record the largest step", fits);
  else
    snprintf(result->why, sizeof result->why, "%s, but one of the full length would need up to %s: record the largest step", fits,
             WO_BYTES_TEXT((double)longest->reserved_hi_bytes));
}

void wo_verify_heed_length(const struct wo_verify_subject *subject, const struct wo_change *change,
                           struct wo_verify_result *result) {
  assert(subject && result);
  if (result->fit != WO_VERIFY_YES || !change || subject->recording->format == WO_TRACE_FORMAT_RECONSTRUCTED) return;
  const struct wo_scale_axis length = change->scale.axes[WO_AXIS_SEQ_LEN];
  const struct wo_scale_axis batch = change->scale.axes[WO_AXIS_MICRO_BATCH];
  const uint32_t micro_batch = batch.from > 0 ? batch.from : subject->micro_batch;
  if (length.from == length.to || wo_scale_has_length(&subject->pattern, &subject->classes, micro_batch, length.from)) return;
  result->fit = WO_VERIFY_UNSURE;
  if (micro_batch == 0)
    snprintf(result->why, sizeof result->why,
             "the micro-batch is not known, so that nothing shows whether the length is what fills the memory");
  else
    snprintf(result->why, sizeof result->why,
             "no tensor of the recording has micro-batch %" PRIu32 " x length %" PRIu32
             " tokens, so that the length may not be what fills the memory",
             micro_batch, length.from);
}
