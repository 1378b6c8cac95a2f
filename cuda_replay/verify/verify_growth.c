/* SPDX-License-Identifier: Apache-2.0 */
/* Growth against the margin. See verify_growth.h. */
#include "cuda_replay/verify/verify_growth.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "parsers/base/units.h"

/* After so many steps a growth does not matter. */
#define STEPS_MOST 1e6

/* What the changed program keeps of each step. */
struct rate {
  double low_bytes, high_bytes;
};

/* What is kept grows with an axis at most as fast as the scores of attention do with the length, and with the micro-batch at most
 * in proportion; or it does not depend on it. */
static void scale(struct rate *rate, struct wo_scale_axis axis, double exponent) {
  if (axis.from == 0) return;
  const double ratio = pow((double)axis.to / axis.from, exponent);
  rate->low_bytes *= fmin(1, ratio);
  rate->high_bytes *= fmax(1, ratio);
}

/* Of each pass or of each step. */
static void repeat(struct rate *rate, double passes) {
  rate->low_bytes *= fmin(1, passes);
  rate->high_bytes *= fmax(1, passes);
}

static struct rate rate_of(const struct wo_verify_subject *subject, const struct wo_change *change) {
  const double recorded = (double)subject->completed.growth.step_bytes;
  struct rate rate = {recorded, recorded};
  if (!change) return rate;
  scale(&rate, change->scale.axes[WO_AXIS_MICRO_BATCH], 1);
  scale(&rate, change->scale.axes[WO_AXIS_SEQ_LEN], 2);
  for (size_t i = 0; i < change->transform_count; i++) {
    const bool is_accumulation = wo_transform_is_accumulation(change->transforms[i].transform);
    const uint32_t from = change->transforms[i].from > 0 ? change->transforms[i].from : 1;
    if (is_accumulation)
      repeat(&rate, (double)change->transforms[i].amount / from);
    else
      rate.low_bytes = 0; /* it may be what the transform saves */
  }
  return rate;
}

/* The whole steps behind the last recorded one for which the margin is enough. */
static double steps_of(double margin_bytes, double step_bytes) {
  return step_bytes > 0 ? fmin(floor(margin_bytes / step_bytes), STEPS_MOST) : STEPS_MOST;
}

/* The step up to which it fits; the change makes that a range. */
static void say_until(const struct wo_verify_subject *subject, double from, double to, struct wo_verify_result *result) {
  const double step_bytes = (double)subject->completed.growth.step_bytes;
  if (to - from > STEPS_MOST / 2)
    snprintf(result->why, sizeof result->why,
             "every step kept %s more: it may fit until step %.0f only, as long as that is not mended", WO_BYTES_TEXT(step_bytes),
             from);
  else if (to > from)
    snprintf(result->why, sizeof result->why,
             "every step kept %s more: it fits until one of the steps %.0f to %.0f, as long as that is not mended",
             WO_BYTES_TEXT(step_bytes), from, to);
  else
    snprintf(result->why, sizeof result->why,
             "every step keeps %s more: it fits until step %.0f or so, as long as that is not mended", WO_BYTES_TEXT(step_bytes),
             from);
}

/* What the recorded steps kept is replayed as it was, since nothing shows how it grows: the changed program may keep less of it.
 */
static double unscaled_bytes(const struct wo_verify_subject *subject, struct rate rate) {
  const struct wo_step_growth *const growth = &subject->completed.growth;
  return (double)growth->whole_steps * fmax(0, (double)growth->step_bytes - rate.low_bytes);
}

/* A log's total is often that of an epoch, and then a job has more steps: what fails before it fails. */
static void judge_rate(const struct wo_verify_subject *subject, struct rate rate, struct wo_verify_result *result) {
  const double high_margin = fmax((double)result->margin_bytes, 0);
  const double low_margin =
      high_margin + (double)(result->reserved_hi_bytes - result->reserved_lo_bytes) + unscaled_bytes(subject, rate);
  const double begin =
      wo_verify_is_of_another_run(subject) ? (double)subject->completed.growth.whole_steps : subject->failed_step;
  const double from = begin + steps_of(high_margin, rate.high_bytes), to = begin + steps_of(low_margin, rate.low_bytes);
  if (from - begin >= STEPS_MOST) return;
  result->fit = subject->step_total > to ? WO_VERIFY_NO : WO_VERIFY_UNSURE;
  say_until(subject, from, to, result);
}

void wo_verify_apply_growth(const struct wo_verify_subject *subject, const struct wo_change *change,
                            struct wo_verify_result *result) {
  assert(subject && result);
  if (result->fit != WO_VERIFY_YES) return;
  if (subject->completed.growth.step_bytes > 0) {
    judge_rate(subject, rate_of(subject, change), result);
  } else if (subject->grows_in_log && !subject->completed.growth.is_shown) {
    result->fit = WO_VERIFY_UNSURE;
    snprintf(result->why, sizeof result->why,
             "the log shows memory that grows from step to step, and the recording does not show by how much: record at least "
             "four steps");
  }
}
