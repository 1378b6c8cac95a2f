/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of a measured run on a reconstructed pattern. See verify_measured.h. */
#include "cuda_replay/verify/verify_measured.h"

#include <assert.h>
#include <stdio.h>

#include "parsers/base/units.h"

/* A process holds at most this much outside PyTorch, if the log does not show it. */
#define CONTEXT_BYTES_MAX (0.625 * WO_GIB)

/* The part of the card's used memory that PyTorch holds. */
static struct wo_interval without_context(const struct wo_verify_subject *subject, struct wo_interval used_bytes) {
  const bool is_known = subject->sizes->non_pytorch_bytes >= 0;
  used_bytes.lo -= is_known ? subject->sizes->non_pytorch_bytes : CONTEXT_BYTES_MAX;
  used_bytes.hi -= is_known ? subject->sizes->non_pytorch_bytes : 0;
  if (used_bytes.lo < 0) used_bytes.lo = 0;
  if (used_bytes.hi < used_bytes.lo) used_bytes.hi = used_bytes.lo;
  return used_bytes;
}

/* A log may name any batch and any length: their results are limited to values that margins can express. NaN becomes the largest.
 */
#define BYTES_MAX 0x1p62

static uint64_t whole_bytes(double bytes) {
  return bytes < BYTES_MAX ? (uint64_t)bytes : (uint64_t)BYTES_MAX;
}

/* The value of an axis under the change. */
static double setting(const struct wo_change *change, enum wo_scale_axis_id axis, double own) {
  const bool is_scaled = change && change->has_scale && change->scale.axes[axis].to > 0;
  return is_scaled ? change->scale.axes[axis].to : own;
}

static void judge(const struct wo_verify_subject *subject, struct wo_verify_result *result) {
  const uint64_t capacity = subject->capacity_bytes;
  result->margin_bytes = (int64_t)capacity - (int64_t)result->reserved_hi_bytes;
  if (result->reserved_hi_bytes <= wo_verify_sure_bytes(subject)) {
    result->fit = WO_VERIFY_YES;
    result->why[0] = '\0';
    return;
  }
  result->fit = result->reserved_lo_bytes > capacity ? WO_VERIFY_NO : WO_VERIFY_UNSURE;
  snprintf(result->why, sizeof result->why, "a run that was measured held %s at micro-batch %.0f",
           WO_BYTES_TEXT(subject->sizes->measured.peak_bytes), subject->sizes->measured.micro_batch);
}

bool wo_verify_apply_measured(const struct wo_verify_subject *subject, const struct wo_change *change,
                              struct wo_verify_result *result) {
  assert(subject && result);
  const struct wo_job_sizes *const sizes = subject->sizes;
  if (!sizes || sizes->measured.micro_batch < 1 || subject->capacity_bytes == 0 || result->fit == WO_VERIFY_UNTRIED) return false;
  const struct wo_measured_run *const run = &sizes->measured;
  if (change && !wo_change_is_of_sizes(change)) return false;
  const double micro_batch = setting(change, WO_AXIS_MICRO_BATCH, sizes->micro_batch);
  const double seq_len = setting(change, WO_AXIS_SEQ_LEN, sizes->seq_len);
  if (!(micro_batch >= 1)) return false;
  const bool has_lengths = run->seq_len > 0 && seq_len > 0;
  const bool is_covered = micro_batch <= run->micro_batch && (!has_lengths || seq_len <= run->seq_len);
  const struct wo_interval used = without_context(subject, wo_measured_run_predict(run, micro_batch, has_lengths ? seq_len : 0));
  const uint64_t lo = whole_bytes(used.lo), hi = whole_bytes(used.hi);
  if (!is_covered && result->fit == WO_VERIFY_NO) return true;
  if (is_covered || result->reserved_hi_bytes < hi) result->reserved_hi_bytes = hi;
  if (result->reserved_lo_bytes < lo) result->reserved_lo_bytes = lo;
  if (result->reserved_lo_bytes > result->reserved_hi_bytes) result->reserved_lo_bytes = result->reserved_hi_bytes;
  judge(subject, result);
  return true;
}

/* ---- Without one ---- */

/* Of 56 patterns reconstructed from messages of real programs (docs/training.md), by the step that failed: with a whole step
 * before it they needed 0.79 to 1.33 times what the pattern needs; in the first step, whose rest and whose states nobody has
 * seen, up to 1.8 times. */
#define NEED_LEAST 0.75
#define NEED_MOST 1.35
#define NEED_MOST_FIRST 2.0

void wo_verify_widen_reconstructed(const struct wo_verify_subject *subject, const struct wo_change *change,
                                   struct wo_verify_result *result) {
  assert(subject && result);
  if (!subject->sizes || subject->is_lower_bound || !change || !wo_change_alters_program(change)) return;
  if (result->fit == WO_VERIFY_UNTRIED || subject->capacity_bytes == 0) return;
  const bool is_first = !(subject->sizes->step >= 2);
  result->reserved_lo_bytes = whole_bytes((double)result->reserved_lo_bytes * NEED_LEAST);
  result->reserved_hi_bytes = whole_bytes((double)result->reserved_hi_bytes * (is_first ? NEED_MOST_FIRST : NEED_MOST));
  result->margin_bytes = (int64_t)subject->capacity_bytes - (int64_t)result->reserved_hi_bytes;
  result->why[0] = '\0';
  result->fit = WO_VERIFY_YES;
  if (result->reserved_hi_bytes <= wo_verify_sure_bytes(subject)) return;
  result->fit = result->reserved_lo_bytes > subject->capacity_bytes ? WO_VERIFY_NO : WO_VERIFY_UNSURE;
  if (result->fit == WO_VERIFY_UNSURE)
    snprintf(result->why, sizeof result->why, "%s",
             is_first ? "nothing is known of what comes behind a failure in the first step"
                      : "the log does not show the rest of the step");
}
